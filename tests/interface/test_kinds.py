"""Kinds of parameter: what they read, how they write it, what they refuse."""

import re
from typing import Any

import pytest

from harness.answers import decoded
from harness.program import Schemas
from shopwindow.catalog.operations.parameters import FacetValues, IdsSelected, IdsWithMask, Phrase, Ranges, ZipCode
from shopwindow.interface.answering.answer import refuse
from shopwindow.interface.declaring.kinds import (
    MAX_ID,
    Callback,
    Count,
    Day,
    Ids,
    Instant,
    Number,
    ParameterKind,
    Radius,
    Text,
    TextualDay,
    Word,
    Words,
)
from shopwindow.interface.formats import RESPONSE_FORMATS
from shopwindow.problems import Fault, Refusal

SINCE = Instant(days=True)

SELECTED = IdsSelected(("productdetails", "upcs"))
LATITUDE, RADIUS, WORDS = Number(-90, 90), Radius(200), Words(("BOPS", "BRIDAL", "MATTRESS"))

READ: list[tuple[ParameterKind, str, Any, str]] = [  # kind, text, value, the one text of the value
    (Ids(), "7", (7,), "7"),
    (Ids(), "9,7,9,08", (7, 8, 9), "7,8,9"),
    (Ids(), " 7 ,\t8 ", (7, 8), "7,8"),
    (Ids(), "9007199254740991", (MAX_ID,), "9007199254740991"),
    (Ids(), "0" * 8000 + "7", (7,), "7"),
    (Ids(2), "2,1,2,1,2,1", (1, 2), "1,2"),
    (WORDS, "MATTRESS,BOPS,MATTRESS", ("BOPS", "MATTRESS"), "BOPS,MATTRESS"),
    (WORDS, " BRIDAL ", ("BRIDAL",), "BRIDAL"),
    (Word(("Y", "N")), "Y", "Y", "Y"),
    (Day(), "2024-02-29", "2024-02-29", "2024-02-29"),
    (Day(), "0001-01-01", "0001-01-01", "0001-01-01"),
    (TextualDay(), "Jun 21, 2013", "2013-06-21", "Jun 21, 2013"),
    (TextualDay(), "june 1 2013", "2013-06-01", "Jun 1, 2013"),
    (TextualDay(), "SEPT. 09 ,2013", "2013-09-09", "Sep 9, 2013"),
    (TextualDay(), "Feb,29,2024", "2024-02-29", "Feb 29, 2024"),
    (TextualDay(), "May 1, 0099", "0099-05-01", "May 1, 0099"),
    (LATITUDE, "42.350", 42.35, "42.35"),
    (LATITUDE, "-090.000", -90.0, "-90"),
    (LATITUDE, "-0.0", 0.0, "0"),
    (LATITUDE, "0.000000000000001", 1e-15, "0.000000000000001"),
    (LATITUDE, "1.000000000000001", 1.000000000000001, "1.000000000000001"),
    (RADIUS, "M200", 200.0, "M200"),
    (RADIUS, "M025.50", 25.5, "M25.5"),
    (RADIUS, "M0.00001", 0.00001, "M0.00001"),
    (Count(), "05", 5, "5"),
    (Count(10), "10", 10, "10"),
    (Text(), "  Boston, MA ", "Boston, MA", "Boston, MA"),
    (Text(3), "\u6771\u4eac\U0001f370", "\u6771\u4eac\U0001f370", "\u6771\u4eac\U0001f370"),
    (Callback(), "$.a_1.B", "$.a_1.B", "$.a_1.B"),
    (Callback(), "_" * 128, "_" * 128, "_" * 128),
    (SELECTED, "9,7,07", IdsWithMask((7, 9)), "7,9"),
    (SELECTED, "7(upcs)", IdsWithMask((7,), (("upcs", None),)), "7(upcs)"),
    (
        SELECTED,
        " 9, 7(UPCs,ProductDetails(Price, summary)) ",
        IdsWithMask((7, 9), (("productdetails", (("price", None), ("summary", None))), ("upcs", None))),
        "7,9(productdetails(price,summary),upcs)",
    ),
    (FacetValues(), "PINK", ("PINK",), "PINK"),
    (FacetValues(), "[PINK]", ("PINK",), "PINK"),
    (FacetValues(), " Smith, Jones & Co ", ("Smith, Jones & Co",), "Smith, Jones & Co"),
    (FacetValues(), "[YELLOW, PINK,YELLOW]", ("PINK", "YELLOW"), "[PINK,YELLOW]"),
    (FacetValues(), "[[x]]", ("[x]",), "[[x]]"),
    (FacetValues(), "[a", ("[a",), "[a"),
    (Ranges(), "[0TO50]", ((0.0, 50.0),), "[0TO50]"),
    (Ranges(), "*TO50.00", ((None, 50.0),), "[*TO50]"),
    (Ranges(), "[ 500 TO * ]", ((500.0, None),), "[500TO*]"),
    (Ranges(), "[100TO*,*TO9.5,0TO49.99]", ((None, 9.5), (0.0, 49.99), (100.0, None)), "[*TO9.5,0TO49.99,100TO*]"),
    (Ranges(), "[*TO*]", ((None, None),), "[*TO*]"),
    (Phrase(), "  red \t shoes\n", "red shoes", "red shoes"),
    (Phrase(), "a\x00b\ud800", "a\ufffdb\ufffd", "a\ufffdb\ufffd"),
    (Phrase(), '"red" OR * NEAR(', '"red" OR * NEAR(', '"red" OR * NEAR('),
    (SINCE, "2026-11-24", "2026-11-24T00:00:00.000Z", "2026-11-24T00:00:00.000Z"),
    (SINCE, "2026-11-24T01:30:00+01:00", "2026-11-24T00:30:00.000Z", "2026-11-24T00:30:00.000Z"),
    (SINCE, "2026-11-24T01:30 01:00", "2026-11-24T00:30:00.000Z", "2026-11-24T00:30:00.000Z"),
    (SINCE, " 2026-11-24T00:30:00.123456Z", "2026-11-24T00:30:00.123Z", "2026-11-24T00:30:00.123Z"),
    (SINCE, "2026-11-24T00:30:00.123999999Z", "2026-11-24T00:30:00.123Z", "2026-11-24T00:30:00.123Z"),
    (SINCE, "2026-11-24t01:30:00z", "2026-11-24T01:30:00.000Z", "2026-11-24T01:30:00.000Z"),
    (SINCE, "1000-01-01", "1000-01-01T00:00:00.000Z", "1000-01-01T00:00:00.000Z"),
    (SINCE, "2999-12-31T23:59:59.999Z", "2999-12-31T23:59:59.999Z", "2999-12-31T23:59:59.999Z"),
    (ZipCode(), "02116", "02116", "02116"),
    (ZipCode(), " 2116 ", "02116", "02116"),
    (ZipCode(), "02116-1234", "02116", "02116"),
    (ZipCode(), "021161234", "02116", "02116"),
]


@pytest.mark.parametrize(("kind", "text", "value", "written"), READ)
def test_a_kind_reads_many_texts_and_writes_one(kind: ParameterKind, text: str, value: Any, written: str) -> None:
    read = kind.parse(text)
    assert (read, repr(read), kind.format(read), kind.parse(written)) == (value, repr(value), written, value)


REFUSED: list[tuple[ParameterKind, str]] = [
    *(
        (Ids(), text)
        for text in ("", ",", "1,", "0", "00", "-1", "+1", "1.5", "1e3", "0x1", "1_000", "\u0661", "9007199254740992")
    ),
    (Ids(2), "1,2,3"),
    *((WORDS, text) for text in ("", "bop", "BOPS,", "BOPS;BRIDAL", "POOL")),
    *((Word(("Y", "N")), text) for text in ("", "yes", "Y,N", " Y")),
    *(
        (Day(), text)
        for text in (
            "",
            "2023-02-29",
            "2023-1-1",
            "20230101",
            "2023-01-01T00:00",
            " 2023-01-01",
            "2023-W01-1",
            "\u0662023-01-01",
        )
    ),
    *(
        (TextualDay(), text)
        for text in ("", "2013-06-21", "Jun 2013", "Ju 21, 2013", "Juni 21, 2013", "Jun 31, 2013", "Jun 21, 13")
    ),
    *(
        (TextualDay(), text)
        for text in ("21 Jun 2013", "Jun 21, 0000", "Jun 021, 2013", "Jun 21, 20133", "Jun21,2013", "Feb 29, 2023")
    ),
    *(
        (LATITUDE, text)
        for text in (
            "",
            "90.1",
            "-90.0001",
            "91",
            "1e1",
            "nan",
            "inf",
            "1.",
            ".5",
            "+1",
            "1,5",
            "0x1",
            "1_0",
            "9" * 400,
        )
    ),
    *(
        (RADIUS, text)
        for text in ("", "M", "M0", "M0.0", "M200.0001", "M201", "200", "m5", "M-5", "M1e2", "M 5", "5M", "M\u0665")
    ),
    *((Count(), text) for text in ("", "0", "-1", "1.0", "ten", "9007199254740992", "9" * 5000)),
    (Count(10), "11"),
    *((Text(3), text) for text in ("", "   ", "four")),
    *(
        (Callback(), text)
        for text in ("", "1a", "a-b", "a b", "a.", ".a", "a..b", "a()", "a[0]", "caf\u00e9", "a\n", "_" * 129)
    ),
    *((FacetValues(), text) for text in ("", " ", "[]", "[ ]", "[,]", "[a,]", "[a,,b]", "x" * 1001)),
    (FacetValues(), f"[{','.join(map(str, range(101)))}]"),
    *(
        (Ranges(), text)
        for text in ("", "[]", "[TO]", "50", "[50]", "[0-50]", "[0TO50", "0TO50]", "[0to50]", "[0TO1e3]")
    ),
    *((Ranges(), text) for text in ("[-1TO5]", "[0TO1.234]", "[0TO50,]", "[50TO20]", "[0TO\u0665]", "[1_0TO20]")),
    *((Phrase(), text) for text in ("", "  \t\n", "x" * 1001)),
    *(
        (Instant(days=True), text)
        for text in ("", "now", "2026-02-30", "20261124", "2026-11-24T10:00:00", "2026-11-24T25:00Z")
    ),
    *(
        (Instant(days=True), text)
        for text in ("0999-11-24", "2026-11-24T10:00:00+24:00", "2026-W48", "2026-11-24 10:00")
    ),
    *(
        (Instant(), text)
        for text in (
            "1000-01-01T00:00:00+23:59",
            "2999-12-31T23:59:59-01:00",
            "2026-12-31T23:59:60Z",
            "2026-11-24T10:00:00.1234567890Z",
            "2026-11-24",
        )
    ),
    *(
        (ZipCode(), text)
        for text in ("", "21", "021166", "02116-12", "2116-1234", "ABCDE", "\u0660\u0662\u0661\u0661\u0666")
    ),
]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "must be whole numbers from 1 to 9007199254740991, separated by commas, not ''"),
        ("x(upcs)", "must be whole numbers from 1 to 9007199254740991, separated by commas, not 'x'"),
        ("7,(upcs)", "must be whole numbers from 1 to 9007199254740991, separated by commas, not ''"),
        ("7(upcs", "lacks a closing parenthesis at the end"),
        ("7()", "lacks a name at the end; write names as id,attributes(attribute(name))"),
        ("7(upcs)(upcs)", "has a closing parenthesis too many at character 5"),
        ("7(upc)", "may select productdetails, upcs, not 'upc'; did you mean upcs?"),
    ],
)
def test_a_selector_that_is_none_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=r"^\w") as raised:
        SELECTED.parse(text)
    assert str(raised.value) == fault


@pytest.mark.parametrize(("kind", "text"), REFUSED, ids=lambda part: repr(part)[:40])
def test_a_kind_refuses_and_says_what_is_allowed(kind: ParameterKind, text: str) -> None:
    with pytest.raises(ValueError, match=r"^must be ") as raised:
        kind.parse(text)
    assert len(str(raised.value)) < 300


def test_a_pattern_in_a_schema_admits_what_the_kind_writes() -> None:
    odd = []
    for kind, _, _, written in READ:
        pattern = kind.schema().get("pattern")
        if pattern and not re.search(pattern, written):
            odd.append(written)
    assert odd == []


def test_what_may_be_a_day_or_an_instant_is_told_as_one_type() -> None:
    either = {"type": "string", "pattern": "^[12][0-9]{3}-[0-9]{2}-[0-9]{2}(T.+)?$"}
    assert (SINCE.schema(), Instant().schema()) == (either, {"type": "string", "format": "date-time"})


@pytest.mark.parametrize("char", ["\x00", "\x08", "\x0b", "\x1f", "\ud800", "\ufffe", "\uffff"])
def test_what_xml_cannot_hold_is_told_as_a_replacement_in_both_formats(char: str, schemas: Schemas) -> None:
    refusal = Refusal("invalid", Fault("x", f"must be a, not {char}"), Fault("y", "\t\n\r\x85\u2028 \U0010ffff"))
    shape = schemas.shape("responses/error.json")
    told = [decoded(format, refuse(refusal, format, schemas).body, shape) for format in RESPONSE_FORMATS]
    details = ["x: must be a, not \ufffd", "y: \t\n\r\x85\u2028 \U0010ffff"]
    assert [each["errorDetail"] for each in told] == [details, details]
