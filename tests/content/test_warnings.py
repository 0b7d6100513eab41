"""Facts about warnings: what `check` takes for a mistake and lets pass, and what it takes for none.

Each case is an edit of the smallest valid tree; the mark says where the warning stands.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.content import (
    EVENT,
    ROOT,
    STORE,
    Document,
    Memory,
    check,
    edit,
    found,
    unmark,
    warned,
    warnings,
    write_files,
)
from harness.program import Schemas
from shopwindow import library
from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import Rule
from shopwindow.content.reading import slips
from shopwindow.content.rules import open_maps
from shopwindow.problems import Level, sentence
from shopwindow.shop import INTERFACE

AT: dict[str, Any] = {"at": "2026-11-24 12:00"}
"""Before the event and the promotion of the smallest tree."""

ONE = {"site": "site.yaml", **{kind: f"{kind}s/one.yaml" for kind in ("app", "store", "event", "promotion")}}
NAME = "name: Opening"
ATTRIBUTES = "\nattributes: {"
HOURS = "  monday: {open: 10:00, close: 20:00}\n  friday: {open: 09:00, close: 21:00}\n"
PUBLISH = "\npublish: {"
PROMOTES = "description: Half off."
RUNS = "\neffective: 2026-11-01\nexpiry: 2026-12-31\n"
COUPON_ENDS = "\n  expiry: 2026-12-31\n"

LISTENERS: list[set[str]] = []
"""Who wants to know which files this process opens."""


@contextmanager
def opened_files() -> Iterator[set[str]]:
    """The paths of the files that are opened meanwhile; Python says of each when it opens one (PEP 578)."""
    opened: set[str] = set()
    LISTENERS.append(opened)
    yield opened
    LISTENERS.remove(opened)


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        for opened in LISTENERS:
            opened.add(str(arguments[0]))


sys.addaudithook(_listen)

# The kind of document, what stands there, what to put instead, and what is warned of at each mark: rule and pointer.
# Without a mark nothing is.
CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    # curly quotes
    ("event", NAME, "name: ‸“Opening”", ("text.quotes name",)),
    ("event", NAME, "name: ‸‘Opening’", ("text.quotes name",)),
    ("event", NAME, "name: ‸„Opening“", ("text.quotes name",)),
    ("event", NAME, "name: ‸“Opening”  # a comment", ("text.quotes name",)),
    ("event", NAME, 'name: "“Opening”"', ()),
    ("event", NAME, "name: '“Opening”'", ()),
    ("event", NAME, "name: |-\n  “Opening”", ()),
    ("event", NAME, "name: “Fa la la” sing-along", ()),
    ("event", NAME, "name: “Fa” and “la”", ()),
    ("event", NAME, "name: The Larkspur’s ‘best’ sing-along", ()),
    ("event", NAME, "name: ’Tis the season", ()),
    ("event", NAME, "name: ‸See https://www.example/a”b now", ("text.quotes name",)),
    ("event", NAME, "name: see “https://www.example/a” now", ()),
    ("event", NAME, "name: ‸<a href=”x”>Here</a>", ("text.quotes name",)),
    # characters that nobody sees
    ("event", NAME, "name: ‸Open\u200bing", ("text.invisible name",)),
    ("event", NAME, 'name: ‸"Open\u00ading"', ("text.invisible name",)),
    ("event", NAME, "name: ‸|-\n  Open\u2060ing", ("text.invisible name",)),
    ("event", NAME, "name: ‸Open\u200ding", ("text.invisible name",)),
    ("event", NAME, "name: ‸\u202eOpening", ("text.invisible name",)),
    ("event", NAME, 'name: "Open\\u200bing"', ()),
    ("event", NAME, "name: Family 👩\u200d👩\u200d👧 day", ()),
    ("event", NAME, "name: می\u200cخواهم", ()),
    ("event", NAME, "name: Opening  # a\u200bb", ()),
    # spaces that look like another
    ("event", NAME, "name: ‸\u00a0Opening", ("text.invisible name",)),
    ("event", NAME, 'name: ‸"Opening\u00a0"', ("text.invisible name",)),
    ("event", NAME, "name: ‸GRAND\u00a0OPENING", ("text.invisible name",)),
    ("event", NAME, "name: Opening at 10\u00a0a.m.", ()),
    # text cut at ` #`
    ("event", NAME, "name: Save $5 ‸#1 deal", ("text.comment name",)),
    ("event", NAME, "name: Opening ‸#winter", ("text.comment name",)),
    ("event", NAME, "name: Opening\n  day ‸#winter", ("text.comment name",)),
    ("event", NAME, "name: Opening # winter", ()),
    ("event", NAME, "name: Opening  #", ()),
    ("event", NAME, "name: Opening  #----", ()),
    ("event", NAME, "name: Opening#1", ()),
    ("event", NAME, 'name: "Opening #1"', ()),
    ("event", NAME, 'name: "Opening" #winter', ()),
    ("event", NAME, f"{NAME}\n#links: none", ()),
    ("event", NAME, f"{NAME}\n  #links: none", ()),
    ("event", "id: 5\n", "id: 5 #first\n", ()),
    # text taken for an anchor
    ("event", NAME, "name: ‸&x The Opening", ("text.anchor name",)),
    ("event", NAME, "name: ‸&x 'The Opening'", ("text.anchor name",)),
    ("event", f"{NAME}\nshortDesc: The doors open.", "name: &x The Opening\nshortDesc: *x", ()),
    ("event", NAME, "name: Larkspur & Vane", ()),
    ("event", NAME, "name: '&x The Opening'", ()),
    ("store", "hours:\n", "hours: &week\n", ()),
    # names in open maps
    ("store", "\nhours:", f"{ATTRIBUTES}‸SL_BRIDALS: [TRUE]}}\nhours:", ("name.near attributes/SL_BRIDALS",)),
    ("store", "\nhours:", f"{ATTRIBUTES}‸sl_bridal: [TRUE]}}\nhours:", ("name.near attributes/sl_bridal",)),
    ("store", "\nhours:", f"{ATTRIBUTES}‸SLBRIDAL: [TRUE]}}\nhours:", ("name.near attributes/SLBRIDAL",)),
    ("store", "\nhours:", f"{ATTRIBUTES}‸SL_RESTUARANTS: [TRUE]}}\nhours:", ("name.near attributes/SL_RESTUARANTS",)),
    ("store", "\nhours:", f"{ATTRIBUTES}SL_BRIDAL: [TRUE]}}\nhours:", ()),
    ("store", "\nhours:", f"{ATTRIBUTES}SL_SHOES: [TRUE], SL_SPA: [TRUE], FLOORS: ['3']}}\nhours:", ()),
    ("event", NAME, f"{NAME}{ATTRIBUTES}‸EVENT_DETAIL_ENABLE: [TRUE]}}", ("name.near attributes/EVENT_DETAIL_ENABLE",)),
    ("event", NAME, f"{NAME}{ATTRIBUTES}EVENT_DETAIL_PAGE: [a], START_DATE: [b], LONG_DESC: [c]}}", ()),
    # windows
    ("event", NAME, f"{NAME}{PUBLISH}until: ‸2026-11-23}}", ("window.past publish/until",)),
    ("event", NAME, f"{NAME}{PUBLISH}from: 2026-11-01, until: ‸2026-11-24 12:00}}", ("window.past publish/until",)),
    ("event", NAME, f"{NAME}{PUBLISH}until: 2026-11-24 12:01}}", ()),
    ("event", NAME, f"{NAME}{PUBLISH}until: 2026-11-24}}", ()),
    ("event", NAME, f"{NAME}{PUBLISH}from: 2026-11-01}}", ()),
    # events at their stores: a day that is over there, a day on which they are closed
    ("event", NAME, f"{NAME}{PUBLISH}from: ‸2026-11-28}}", ("event.late publish/from",)),
    ("event", NAME, f"{NAME}{PUBLISH}from: ‸2026-11-27 12:00}}", ("event.late publish/from",)),
    ("event", NAME, f"{NAME}{PUBLISH}from: 2026-11-27 11:59}}", ()),
    ("event", "start: 2026-11-27", "start: 2026-11-26", ()),
    ("store", HOURS, "  monday: {open: 10:00, close: 20:00}\n", ("@events/one.yaml:6:8 event.closed start",)),
    ("store", HOURS, f"{HOURS}exceptions: [{{date: 2026-11-27}}]\n", ("@events/one.yaml:6:8 event.closed start",)),
    # promotions that are live at the wrong time, coupons that end too soon
    ("promotion", PROMOTES, f"{PROMOTES}{PUBLISH}until: ‸2027-01-01}}", ("promotion.expired publish/until",)),
    ("promotion", PROMOTES, f"{PROMOTES}{PUBLISH}until: ‸2027-01-01 00:01}}", ("promotion.expired publish/until",)),
    ("promotion", PROMOTES, f"{PROMOTES}{PUBLISH}until: 2027-01-01 00:00}}", ()),
    ("promotion", PROMOTES, f"{PROMOTES}{PUBLISH}until: 2026-12-31}}", ()),
    ("promotion", PROMOTES, f"{PROMOTES}{PUBLISH}from: 2026-11-01}}", ()),
    ("promotion", RUNS, "\neffective: 2026-11-01\nexpiry: ‸2026-11-23\n", ("promotion.expired expiry",)),
    ("promotion", RUNS, "\neffective: 2026-11-01\nexpiry: 2026-11-24\n", ()),
    ("promotion", RUNS, f"\neffective: 2026-12-01{PUBLISH}until: ‸2026-11-30}}\n", ("promotion.early publish/until",)),
    ("promotion", RUNS, f"\neffective: 2026-12-01{PUBLISH}until: 2026-12-01 00:01}}\n", ()),
    ("promotion", COUPON_ENDS, "\n  expiry: ‸2026-12-30\n", ("promotion.coupon coupon/expiry",)),
    ("promotion", COUPON_ENDS, "\n  expiry: 2027-01-31\n", ()),
    ("promotion", "\nexpiry: 2026-12-31\n", "\n", ()),
    # stores in another place than their address
    ("store", "longitude: -71.06", "longitude: ‸71.06", ("store.state location/longitude",)),
    ("store", "location: {latitude: 42.36", "location: ‸{latitude: 24.36", ("store.state location",)),
    ("store", "location: {latitude: 42.36, longitude: -71.06}", "location: {latitude: 42.9, longitude: -69.8}", ()),
    ("store", HOURS, "  {}\nexceptions: [{date: 2026-11-27, open: 10:00, close: 12:00}]\n", ()),
    ("store", HOURS, "  saturday: {open: 10:00, close: 20:00}\n", ("@events/one.yaml:6:8 event.closed start",)),
]


@pytest.mark.parametrize(("kind", "old", "new", "expected"), CASES, ids=[f"{case[0]}-{case[2]!r}" for case in CASES])
def test_a_mistake_that_stops_nothing_is_a_warning(
    minimal: Path, schemas: Schemas, kind: str, old: str, new: str, expected: tuple[str, ...]
) -> None:
    places = edit(minimal, (ONE[kind], old, new))
    elsewhere = [each[1:] for each in expected if each.startswith("@")]
    here = [f"{place} {each}" for place, each in zip(places, expected, strict=False) if each[0] != "@"]
    assert found(minimal, schemas, **AT) == []
    assert warned(minimal, schemas, **AT) == [*here, *elsewhere]


def test_a_slip_in_site_yaml_and_in_a_base_is_a_warning(minimal: Path, schemas: Schemas) -> None:
    app = (minimal / "apps/one.yaml").read_text()
    head, config = app.split("config:", 1)
    base = "config:" + config.replace("noNetworkError: Offline.", "noNetworkError: ‸“Offline.”")
    write_files(minimal, {"apps/_a.yaml": base, "apps/one.yaml": f"{head}extends: _a.yaml\n"})
    places = unmark(minimal, "apps/_a.yaml")
    places += edit(minimal, ("site.yaml", "www: https://www.example", "www: https://www.example ‸#home"))
    assert warned(minimal, schemas, **AT) == [
        f"{places[0]} text.quotes config/errorMessages/noNetworkError",
        f"{places[1]} text.comment names/www",
    ]
    assert warnings(minimal, schemas, **AT)[0].used_by == ("apps/one.yaml",)


def test_a_warning_says_what_is_left_and_what_was_meant(minimal: Path, schemas: Schemas) -> None:
    edit(
        minimal,
        ("events/one.yaml", NAME, "name: Save $5 #1 deal\nattributes: {EVENT_DETAIL_ENABLE: [TRUE]}"),
        ("events/one.yaml", "The doors open.", "&doors"),
    )
    comment, near, anchor = (sentence(warning) for warning in warnings(minimal, schemas, **AT)[:3])
    assert comment.startswith("name: '#1 deal' is read as a comment: the value is 'Save $5' (Name of the event")
    assert near.startswith("attributes/EVENT_DETAIL_ENABLE: 'EVENT_DETAIL_ENABLE' is a name of your own, and nearly ")
    assert near.endswith("; did you mean EVENT_DETAIL_ENABLED?")
    assert "shortDesc: '&doors' is read as a name for the value" in anchor


def test_a_property_of_a_schema_of_ones_own_is_known(minimal: Path) -> None:
    schema = json.loads((ROOT / "schemas/store.json").read_text())
    schema["properties"]["names"] = {"description": "Other names.", "type": "string"}
    schema["properties"]["attributes"]["properties"]["SL_BRIDALS"] = {"description": "Salons.", "type": "array"}
    write_files(minimal, {"schemas/store.json": json.dumps(schema)})
    edit(minimal, ("stores/one.yaml", "\nhours:", f"\nnames: a{ATTRIBUTES}SL_BRIDALS: [TRUE]}}\nhours:"))
    assert library.check(INTERFACE, minimal, at=AT["at"]).warnings == []
    edit(minimal, ("stores/one.yaml", "SL_BRIDALS", "SL_VISITORS"))
    assert [warning.nearest for warning in library.check(INTERFACE, minimal, at=AT["at"]).warnings] == ["SL_VISITOR"]


# -- names that many documents use -------------------------------------------------------------------------------


def stores(count: int, attributes: str, last: str) -> str:
    """Stores with the same attributes, and one more with others."""
    texts = []
    for number in range(1, count + 2):
        own = attributes if number <= count else last
        text = STORE.replace("storeId: 1\n", f"storeId: {number}\n").replace("Number: 10", f"Number: {number}0")
        texts.append(f"{text}attributes: {{{own}: [TRUE]}}\n")
    return "".join("- " + text.rstrip().replace("\n", "\n  ") + "\n" for text in texts)


@pytest.mark.parametrize(
    ("common", "count", "odd", "expected"),
    [
        ("HAS_SALON", open_maps.MANY, "HAS_SALOON", True),
        ("HAS_SALON", open_maps.MANY, "HAS_SLAON", True),
        ("HAS_SALON", open_maps.MANY - 1, "HAS_SALOON", False),
        ("FLOOR_1", open_maps.MANY, "FLOOR_2", False),
        ("HAS_SALON", open_maps.MANY, "HAS_SHOP", False),
        ("SPA", open_maps.MANY, "SPO", False),
    ],
)
def test_a_name_in_one_document_that_is_like_that_of_many_is_a_warning(
    minimal: Path, schemas: Schemas, common: str, count: int, odd: str, expected: bool
) -> None:
    write_files(minimal, {"stores/one.yaml": stores(count, common, odd)})
    told = [warning for warning in warnings(minimal, schemas, **AT) if warning.rule == "name.near"]
    assert [(warning.nearest, warning.pointer) for warning in told] == (
        [(common, (count, "attributes", odd))] if expected else []
    )


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("SL_BRIDALS", "SL_BRIDAL", True),
        ("SL_BRDIAL", "SL_BRIDAL", True),
        ("Sl-Bridal", "SL_BRIDAL", True),
        ("id", "ID", True),
        ("BOPS_ELIGIBILTIES", "BOPS_ELIGIBILITY", False),
        ("BOPS_ELEGIBILTY", "BOPS_ELIGIBILITY", True),
        ("SHAPE", "SHADE", True),
        ("SIZE", "SIDE", False),
        ("IMAGE_10", "IMAGE_100", False),
        ("START_TIME", "END_TIME", False),
    ],
)
def test_names_are_near_by_a_letter_or_two_of_long_ones(one: str, other: str, near: bool) -> None:
    assert open_maps.is_near(one, other, 2) is near
    assert open_maps.is_near(other, one, 2) is near


# -- categories of promotions ------------------------------------------------------------------------------------


def test_a_category_of_a_promotion_has_a_name_of_the_catalog(minimal: Path, schemas: Schemas) -> None:
    assert warned(minimal, schemas, **AT) == []  # without a catalog
    category = "{id: 2, name: Shoes, url: 'https://www.example/2'}"
    men = "- {id: 1, name: Men, url: 'https://www.example/1', categories: [" + category + "]}\n"
    write_files(minimal, {"catalog/categories.yaml": men})
    assert (found(minimal, schemas, **AT), warned(minimal, schemas, **AT)) == ([], [])
    (place,) = edit(minimal, ("promotions/one.yaml", "[Men]", "[Men, ‸Mens, Shoes]"))
    (warning,) = warnings(minimal, schemas, **AT)
    assert warned(minimal, schemas, **AT) == [f"{place} promotion.category categories/1"]
    assert warning.nearest == "Men"


# -- documents that nobody has filled in ------------------------------------------------------------------------


def test_a_document_that_new_wrote_is_a_warning_until_its_line_is_deleted(minimal: Path, schemas: Schemas) -> None:
    new = {kind: library.new(INTERFACE, minimal, kind, "Ten percent") for kind in ("event", "promotion", "product")}
    lines = {
        path.relative_to(minimal).as_posix(): path.read_text(encoding="utf-8").splitlines() for path in new.values()
    }
    marked = [
        f"{path}:{number}:1 text.skeleton"
        for path, text in sorted(lines.items())
        for number, line in enumerate(text, 1)
        if line.startswith("# Fill in what follows")
    ]
    assert len(marked) == 3
    assert [line for line in warned(minimal, schemas, **AT) if "skeleton" in line] == marked
    for path, text in lines.items():
        write_files(minimal, {path: "\n".join(line for line in text if not line.startswith("# Fill in")) + "\n"})
    assert [line for line in warned(minimal, schemas, **AT) if "skeleton" in line] == []


def test_a_promotion_of_which_only_the_day_has_come_is_expired_from_then_on(minimal: Path, schemas: Schemas) -> None:
    at = {day: warned(minimal, schemas, at=day) for day in ("2026-12-31 23:59", "2027-01-01")}
    assert at["2026-12-31 23:59"] == []
    assert at["2027-01-01"] == ["promotions/one.yaml:7:9 promotion.expired expiry"]


# -- silence -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("# shopwindow: allow text.quotes", []),
        ("#shopwindow: allow text.quotes", []),
        ("# shopwindow: allow text.quotes, text.invisible - the brand is written so", []),
        ("# shopwindow: allow text.invisible", ["text.quotes"]),
        ("# shopwindow: allow", ["text.invisible", "text.quotes"]),
        ("# allow text.quotes", ["text.invisible", "text.quotes"]),
    ],
)
def test_a_comment_on_the_line_silences_the_rules_that_it_names(
    minimal: Path, schemas: Schemas, comment: str, left: list[str]
) -> None:
    odd = "\u200b" if "invisible" in comment or len(left) == 2 else ""
    edit(minimal, ("events/one.yaml", NAME, f"name: “Open{odd}ing”  {comment}"))
    assert [warning.rule for warning in warnings(minimal, schemas, **AT)] == left


def test_a_comment_silences_warnings_of_rules_too_and_no_problem(minimal: Path, schemas: Schemas) -> None:
    allowed = "until: 2026-11-23}  # shopwindow: allow window.past, schema.type"
    edit(minimal, ("events/one.yaml", NAME, f"{NAME}\npublish: {{{allowed}"))
    assert (found(minimal, schemas, **AT), warned(minimal, schemas, **AT)) == ([], [])
    edit(minimal, ("events/one.yaml", NAME, "name: 5  # shopwindow: allow schema.type"))
    assert found(minimal, schemas, **AT) == ["events/one.yaml:4:7 schema.type name"]


def test_a_comment_that_silences_nothing_is_a_warning_where_that_is_certain(minimal: Path, schemas: Schemas) -> None:
    comment = "# shopwindow: allow {}"
    certain = ("text.quotes", "name.near")
    (place, *_) = edit(minimal, ("events/one.yaml", NAME, f"{NAME}  ‸{comment.format(', '.join(certain))}"))
    assert warned(minimal, schemas, **AT) == [f"{place} allow.unused"] * 2
    edit(minimal, ("events/one.yaml", ", ".join(certain), "window.past, app.configVersion"))
    assert warned(minimal, schemas, **AT) == []


# -- caches ------------------------------------------------------------------------------------------------------

MANY_FILES = {f"events/{number}.yaml": EVENT.replace("id: 5", f"id: {number}") for number in range(10, 90)}


@pytest.mark.parametrize("jobs", [1, 2])
def test_warnings_are_the_same_from_a_cold_and_a_warm_cache(
    minimal: Path, schemas: Schemas, tmp_path: Path, jobs: int
) -> None:
    write_files(minimal, MANY_FILES)
    for number, slip in enumerate(
        ("“Opening”", "Open\u200bing", "Opening #1", "&x Opening", "“A”  # shopwindow: allow text.quotes")
    ):
        edit(minimal, (f"events/{20 + number}.yaml", NAME, f"name: {slip}"))
    edit(minimal, ("events/30.yaml", NAME, f"{NAME}\npublish: {{until: 2026-11-01}}"))
    then = time.time() - 10
    for file in minimal.rglob("*.yaml"):
        os.utime(file, (then, then))
    cold = warned(minimal, schemas, jobs=jobs, **AT)
    rules = ["text.quotes", "text.invisible", "text.comment", "text.anchor", "window.past"]
    assert [line.split(" ")[1] for line in cold] == rules
    one_process = AT | {"jobs": jobs, "memory": Memory()}
    assert [warned(minimal, schemas, **one_process) for _ in range(3)] == [cold] * 3
    for _ in range(3):
        another = AT | {"jobs": jobs, "memory": Memory(tmp_path / "memory")}
        assert warned(minimal, schemas, **another) == cold


def test_a_warm_check_reads_no_file_without_slips(minimal: Path, schemas: Schemas, tmp_path: Path) -> None:
    write_files(minimal, MANY_FILES)
    edit(minimal, ("events/20.yaml", NAME, "name: “Opening”"))
    then = time.time() - 10
    for file in minimal.rglob("*.yaml"):
        os.utime(file, (then, then))
    first, second = (AT | {"jobs": 1, "memory": Memory(tmp_path / "memory")} for _ in range(2))
    cold = warned(minimal, schemas, **first)
    with opened_files() as opened:
        assert warned(minimal, schemas, **second) == cold
    read = {os.path.relpath(path, minimal) for path in opened if path.endswith(".yaml")}
    assert read == {"site.yaml", "events/20.yaml", "apps/one.yaml"}  # of the app, where it says TBD


# -- limits and other interfaces ---------------------------------------------------------------------------------


def test_no_more_warnings_are_listed_than_problems(minimal: Path, schemas: Schemas) -> None:
    write_files(minimal, {path: text.replace(NAME, "name: “Opening”") for path, text in MANY_FILES.items()})
    outcome = check(minimal, schemas, INTERFACE, most=3, **AT)
    assert (len(outcome.warnings), outcome.more_warnings, outcome.problems) == (3, len(MANY_FILES) - 3, [])
    assert outcome.documents is not None


def test_an_interface_warns_by_rules_of_its_own(minimal: Path, schemas: Schemas) -> None:
    def short_names(case: Any) -> Any:
        for event in case.having("event"):
            yield event, Finding("event.short", ("name",), "a short name", "a longer one")

    rule = Rule(("event.short",), short_names, Level.WARNING)
    outcome = check(minimal, schemas, replace(INTERFACE, rules=(rule,)), **AT)
    assert [(warning.rule, warning.level) for warning in outcome.warnings] == [("event.short", "warning")]
    assert [type(document) for document in outcome.documents.of("event")] == [Document] if outcome.documents else False
    misnamed = replace(INTERFACE, rules=(replace(rule, names=("event.late", "event.long")),))
    with pytest.raises(ValueError, match=r"^event\.short is none of event\.late, event\.long$"):
        check(minimal, schemas, misnamed, **AT)


def test_a_window_is_past_by_now_unless_another_instant_is_named(sample: Path) -> None:
    past = {at: len(library.check(INTERFACE, sample, at=at).warnings) for at in ("2026-11-22", "2100-01-01")}
    assert past["2026-11-22"] == 0
    assert past["2100-01-01"] > 0


def test_the_sample_has_no_slip(sample: Path) -> None:
    checked = library.check(INTERFACE, sample, at="2026-11-22")
    assert [sentence(warning) for warning in checked.warnings] == []


def test_every_warning_of_a_text_is_in_the_documents() -> None:
    page = (Path(__file__).parents[2] / "docs/editors/warnings.md").read_text()
    rules = {pointer.split(" ")[-2] for case in CASES for pointer in (f"x {each}" for each in case[3])}
    rules |= {
        *slips.RULES,
        open_maps.NEAR_NAME,
        "promotion.category",
        "app.configVersion",
        "against.unread",
        "ahead.unbuilt",
        "allow.unused",
    }
    assert [rule for rule in sorted(rules) if f"`{rule}`" not in page] == []
