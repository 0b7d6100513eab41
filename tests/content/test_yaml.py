"""Facts about reading YAML as JSON: which texts have which value, and what is said of those that have none."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.content import MARK, marks
from shopwindow.content.reading import yaml
from shopwindow.content.reading.yaml import Malformed, Spot
from shopwindow.problems import Place

VALUES: list[tuple[str, Any]] = [
    ("a: null", {"a": None}),
    ("a: [true, false]", {"a": [True, False]}),
    ("[0, -1, 12, 1.5, -0.25, 1e3, 1E-2]", [0, -1, 12, 1.5, -0.25, 1000.0, 0.01]),
    ("[999999999999999999, -999999999999999999]", [999999999999999999, -999999999999999999]),
    # what YAML 1.1 would read as something else is text
    ("[02134, 007, 0x1F, 0o17, 1_000, +1, .5, 1.]", ["02134", "007", "0x1F", "0o17", "1_000", "+1", ".5", "1."]),
    (
        "[TRUE, True, yes, NO, on, Off, y, NULL, Null, ~]",
        ["TRUE", "True", "yes", "NO", "on", "Off", "y", "NULL", "Null", "~"],
    ),
    ("[.inf, -.inf, .nan, NaN, Infinity]", [".inf", "-.inf", ".nan", "NaN", "Infinity"]),
    ("[10:30, 2013-06-21, 2026-11-27 06:00, 1:2:3]", ["10:30", "2013-06-21", "2026-11-27 06:00", "1:2:3"]),
    ("[=, <<]", ["=", "<<"]),
    ("'<<': {a: 1}", {"<<": {"a": 1}}),
    ("a:", {"a": ""}),
    ("- \n-", ["", ""]),
    ("\"1\": '2'", {"1": "2"}),
    ("'true': \"null\"", {"true": "null"}),
    ("a: |\n  b\n   c\n", {"a": "b\n c\n"}),
    ("a: |-\n  1\n", {"a": "1"}),
    ("a: >-\n  b\n  c\n\n  d\n", {"a": "b c\nd"}),
    ("a: b\n  c", {"a": "b c"}),
    ("a: 'b\n\n  c'", {"a": "b\nc"}),
    ('"\\x41\\u00e9\\U0001F381\\t\\""', 'Aé🎁\t"'),
    ("'it''s'", "it's"),
    ("a: b#c # d", {"a": "b#c"}),
    ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
    ("&k a: 1\nb: {*k : 2}", {"a": 1, "b": {"a": 2}}),
    ("__proto__: {constructor: 1}", {"__proto__": {"constructor": 1}}),
    ("? a\n: b", {"a": "b"}),
    ("{a, b: }", {"a": "", "b": ""}),
    ("--- a\n...\n", "a"),
    ("%YAML 1.2\n---\na", "a"),
    ("\ufeffa: 1", {"a": 1}),
    ("a: b\r\nc: d\r\n", {"a": "b", "c": "d"}),
    ("ключ: 値", {"ключ": "値"}),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_only_what_json_has_is_no_text(text: str, value: Any) -> None:
    assert yaml.load(text) == value
    assert json.dumps(yaml.load(text)) == json.dumps(value)  # 1 is not true, nor 1.0


COLON = "one `key: value` a line, indented like its neighbors; text that holds a colon and a space in quotes"
ENTRY = "the first `- ` on a line of its own below its key; text that begins with a hyphen and a space in quotes"
KEYS = "the same indentation for all keys of a block"
AFTER = "nothing after a closing quote or bracket; a quote within single quotes twice: 'it''s'"
ALONE = "one document a file, its keys at the same indentation"
SPACES = "spaces for indentation"
QUOTES = "such text in quotes"
SLASHES = "two backslashes for one; or single quotes, in which a backslash is only itself"
DIGITS = "at most 18 digits; text in quotes"
PRINTABLE = "printable text; other characters as escapes in double quotes"
NO_TAGS = "no tags; text that begins with ! in quotes"
CLOSING = "a closing quote like the opening one"
SPACED = "`key: value`; text that holds a colon in quotes"
NO_SPACE = "a colon without a space after it"
MERGE = "the keys themselves; for applications, `extends`"
FURTHER = "a key that is indented further than the one above it"
INDENTED = "the same indentation for all keys of a block; text that holds a colon and a space in quotes"
LATE = CLOSING + "; a quote within single quotes twice: 'it''s'"
CONFLICT = "a mark of git's: two versions of these lines are in conflict"
ONE_VERSION = "one of them, without the lines that begin with <<<<<<<, ======= and >>>>>>>"
BLOCK = "the text of a block on the lines below; " + QUOTES

# The text, with a mark where the fault is; the rule, what is found, what is allowed.
REFUSED: list[tuple[str, str, str, str]] = [
    # syntax
    ("a: b‸: c", "yaml.syntax", "a colon and a space stand within a text", COLON),
    ("a: 1\n  ‸b: 2", "yaml.syntax", FURTHER, INDENTED),
    ("- a: 1\n   ‸b: 2", "yaml.syntax", FURTHER, INDENTED),
    ("a:\n  b: c\n   ‸d: 2\n  e: 3", "yaml.syntax", FURTHER, INDENTED),
    ("a: b\n  c d‸: 2", "yaml.syntax", "a colon and a space stand within a text", COLON),
    ("a: 1\n‸b\nc: 2", "yaml.syntax", "a key without a colon", "`key: value`"),
    ("a:\n  b: 1\n  ‸c\nd: 2", "yaml.syntax", "a key without a colon", "`key: value`"),
    ("a:\n  b: 1\n ‸c: 2", "yaml.syntax", "this line does not fit into the block around it", KEYS),
    ("a:\n- b\n‸c", "yaml.syntax", "a key without a colon", "`key: value`"),
    ("a: 1\n‸b:2\nc: 3", "yaml.syntax", NO_SPACE, SPACED),
    ("a: 1\n‸b:\u00a02\nc: 3", "yaml.syntax", NO_SPACE, SPACED),
    ("a: 1\n‸http://b\nc: 3", "yaml.syntax", "a key without a colon", "`key: value`"),
    # such a line makes one text with those below it: the colon that ends it is not at fault
    ("# x\n\n‸a:1\nb: 2", "yaml.syntax", NO_SPACE, SPACED),
    ("‸a 1\n\nb: 2", "yaml.syntax", "a key without a colon", "`key: value`"),
    ("- a: 1\n- ‸a:1\n  b: 2", "yaml.syntax", NO_SPACE, SPACED),
    ("a:\n  ‸b:1\n  c 2\n  d: 3", "yaml.syntax", NO_SPACE, SPACED),
    ("a: b\n  c\n  d‸: e", "yaml.syntax", "a colon and a space stand within a text", COLON),
    (
        "- a\n‸b: c",
        "yaml.syntax",
        "this line does not fit into the list around it",
        "each entry of a list begins with `- ` at the same indentation",
    ),
    ("  a: 1\n‸b: 2", "yaml.syntax", "this line does not belong to the document above it", ALONE),
    ("a: ‸- b", "yaml.syntax", "a list entry stands where no list can be", ENTRY),
    ("a: 'it'‸s'", "yaml.syntax", "something follows the end of the value", AFTER),
    ('a: "b" ‸c', "yaml.syntax", "something follows the end of the value", AFTER),
    (
        "a: ‸'tis\nb: c\nd: 'e' it's",
        "yaml.quote",
        "quoted text is not closed: the next quote is in line 3",
        CLOSING,
    ),
    (
        'a: "b"\nc: ‸"d \\"e\\"\nf: "g"\n',
        "yaml.quote",
        "quoted text is not closed: the next quote is in line 3",
        CLOSING,
    ),
    ("a: 'b\n  ''c'\nd: 'it''s' ‸e", "yaml.syntax", "something follows the end of the value", AFTER),
    ("{a: 1}‸}", "yaml.syntax", "something follows the end of the value", AFTER),
    (
        "a: ‸'b\n  c 'd'\ne: 'f'\n",
        "yaml.quote",
        "quoted text that begins here ends in line 2, and something follows it",
        LATE,
    ),
    ("a: ‸'b\nc: d", "yaml.quote", "quoted text is not closed", CLOSING),
    ('a: 1\nb: ‸"c\n\nd: e\n', "yaml.quote", "quoted text is not closed", CLOSING),
    ("a: ‸'b\n---\nc'", "yaml.quote", "quoted text is not closed", CLOSING),
    ("a: ‸[b, c\nd: e", "yaml.syntax", "a list in brackets is not closed", "`[a, b]`"),
    ("a: ‸{b: c\nd: e", "yaml.syntax", "an object in braces is not closed", "`{a: 1, b: 2}`"),
    ("a: ‸[b,", "yaml.syntax", "a list in brackets is not closed", "`[a, b]`"),
    ("a: [b, ‸{c: d,\n\n", "yaml.syntax", "an object in braces is not closed", "`{a: 1, b: 2}`"),
    ("a: 1\n‸<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> x\n", "yaml.syntax", CONFLICT, ONE_VERSION),
    ("‸<<<<<<< HEAD\na: 2\n=======\na: 3\n>>>>>>> x\n", "yaml.syntax", CONFLICT, ONE_VERSION),
    (
        "a: 'b'\n‸\ufeffc: d",
        "yaml.syntax",
        "a byte order mark (U+FEFF), which no editor shows",
        "none, or one at the beginning of the file",
    ),
    (
        "a: ['b' ‸'c']",
        "yaml.syntax",
        "a list in brackets goes on without a comma, or is not closed",
        "`[a, b]`",
    ),
    (
        "a: {b: 'c' ‸d: e}",
        "yaml.syntax",
        "an object in braces goes on without a comma, or is not closed",
        "`{a: 1, b: 2}`",
    ),
    ("a: {b: c‸[], d: e}", "yaml.syntax", "a text with [ in it, within brackets or braces", QUOTES),
    ("a: [b‸{c}]", "yaml.syntax", "a text with { in it, within brackets or braces", QUOTES),
    ("a: ['b'‸['c']]", "yaml.syntax", "a list in brackets goes on without a comma, or is not closed", "`[a, b]`"),
    (
        "a: [b‸:, c]",
        "yaml.syntax",
        "a colon without a space, within brackets or braces",
        "`key: value`; text that holds a colon in quotes",
    ),
    ("a: [‸, b]", "yaml.syntax", "a value is missing before ','", "a value; text with ',' in quotes"),
    ("a: ‸]", "yaml.syntax", "a value is missing before ']'", "a value; text with ']' in quotes"),
    ("‸\ta: 1", "yaml.syntax", "a tab in the indentation", SPACES),
    ("a:\n‸\tb: 1", "yaml.syntax", "a tab in the indentation", SPACES),
    ("a: 1\n‸\tb: 2", "yaml.syntax", "a tab in the indentation", SPACES),
    ("a: |\n‸\tb", "yaml.syntax", "a tab in the indentation", SPACES),
    ("a: ‸@home", "yaml.syntax", "a text that begins with @", QUOTES),
    ("a: ‸`b`", "yaml.syntax", "a text that begins with `", QUOTES),
    ("a: ‸%b", "yaml.syntax", "a text that begins with %", QUOTES),
    ("a: ‸*New* shoes", "yaml.syntax", "a text that begins with *", QUOTES),
    ("a: ‸& more", "yaml.syntax", "a text that begins with &", QUOTES),
    ("a: ‸? b", "yaml.syntax", "a text that begins with ?", QUOTES),
    ("a: ‸> b", "yaml.syntax", "a text that begins with >", BLOCK),
    ("a: ‸|x", "yaml.syntax", "a text that begins with |", BLOCK),
    ("‸%FOO\n---\na", "yaml.syntax", "a text that begins with %", QUOTES),
    ("a: ‸!<b", "yaml.syntax", "a text that begins with !", QUOTES),
    ('a: "C:‸\\dir"', "yaml.syntax", "a backslash in double quotes before a character that needs none", SLASHES),
    (
        'a: "\\u‸12"',
        "yaml.syntax",
        "an escape without its hexadecimal digits",
        "\\x and two digits, \\u and four, \\U and eight; two backslashes for one",
    ),
    (
        'a: "\\u‸d800"',
        "yaml.syntax",
        "an escape that is no character (a lone surrogate)",
        "the character itself, or \\U and its eight digits",
    ),
    (
        'a: "\\u‸D83D\\uDE00"',
        "yaml.syntax",
        "an escape in two halves, which only JSON has",
        "the character itself, or \\U0001F600",
    ),
    # what is YAML, and no JSON value
    ("a: 1\n‸a: 2", "yaml.duplicate", "the key 'a' a second time", "each key once"),
    ("{'a': 1, ‸a: 2}", "yaml.duplicate", "the key 'a' a second time", "each key once"),
    ("a: ‸!!str b", "yaml.tag", "the tag !!str", NO_TAGS),
    ("a: ‸!b c", "yaml.tag", "the tag !b", NO_TAGS),
    ("‸! a", "yaml.tag", "the tag !", NO_TAGS),
    ("‸!!map {a: 1}", "yaml.tag", "the tag !!map", NO_TAGS),
    ("‸!!str a: 1", "yaml.tag", "the tag !!str", NO_TAGS),
    ("a\n‸---\nb", "yaml.second", "a second document begins here", "one document a file, or a list"),
    ("‸1: 2", "yaml.key", "the key 1 is not text", "text as a key, in quotes"),
    ("a: {‸true: 2}", "yaml.key", "the key true is not text", "text as a key, in quotes"),
    ("a: &x 1\nb: {‸*x : 2}", "yaml.key", "the key by alias is not text", "text as a key, in quotes"),
    ("a: &x {b: 1}\nc: {‸<<: *x, d: 1}", "yaml.key", "the merge key <<, which is not read here", MERGE),
    ("? ‸[a]\n: b", "yaml.key", "a list or an object as a key", "text as a key"),
    (
        "a:\n  ‸{{ base_url }}: b",
        "yaml.key",
        "text that begins with '{{', without quotes",
        'quotes around it, as in "{{ base_url }}/logo.png"',
    ),
    (
        "url: ‸{{ base_url }}/logo.png",
        "yaml.key",
        "text that begins with '{{', without quotes",
        'quotes around it, as in "{{ base_url }}/logo.png"',
    ),
    ("‸1234567890123456789", "yaml.number", "the number 1234567890123456789 is too large", DIGITS),
    ("a: [‸1e400]", "yaml.number", "the number 1e400 is too large", DIGITS),
    (
        "id: ‸1" + "0" * 400,
        "yaml.number",
        "the number 10000000000000000000… (401 characters) is too large",
        DIGITS,
    ),
    (
        "a: ‸*x",
        "yaml.alias",
        "the alias *x without an anchor before it",
        "text that begins with * in quotes; &x first where an alias is meant",
    ),
    ("&x [‸*x]", "yaml.alias", "the alias *x holds itself", "values that end"),
    ("‸", "yaml.empty", "the file holds no document", "one document or a list"),
    ("‸# a comment\n\n", "yaml.empty", "the file holds no document", "one document or a list"),
    # characters
    ("a: 1\nb: c‸\x00", "yaml.character", "the character U+0000", PRINTABLE),
    ("a: 'b‸\x1b[31m'", "yaml.character", "the character U+001B", PRINTABLE),
    ("a: 1\r\nb: ‸\x7f", "yaml.character", "the character U+007F", PRINTABLE),
    ("a: 1\r\rb: ‸\ufffe", "yaml.character", "the character U+FFFE", PRINTABLE),
    ("a: b‸\x85c", "yaml.character", "the character U+0085, an invisible line end", PRINTABLE),
    ("a: |\n  b‸\u2028  c", "yaml.character", "the character U+2028, an invisible line end", PRINTABLE),
    ("a: 'b‸\u2029c'", "yaml.character", "the character U+2029, an invisible line end", PRINTABLE),
]


@pytest.mark.parametrize(("text", "rule", "what", "allowed"), REFUSED, ids=[repr(text)[:50] for text, *_ in REFUSED])
def test_a_text_without_a_value_is_refused_where_an_editor_must_look(
    text: str, rule: str, what: str, allowed: str
) -> None:
    (expected,) = marks(text.replace("\r\n", "\n").replace("\r", "\n"))
    with pytest.raises(Malformed) as caught:
        yaml.load(text.replace(MARK, ""))
    fault = caught.value
    assert (fault.rule, fault.found, fault.allowed) == (rule, what, allowed)
    assert (fault.place.line, fault.place.column) == expected


@pytest.mark.parametrize(
    ("text", "pointer", "place"),
    [
        ("- a: {b: 1e999}", (0, "a", "b"), Place(1, 10, 1, 15)),
        ("a:\n  - b: 1\n    b: 2", ("a", 0, "b"), Place(3, 5, 3, 6)),
        ("a: [0, !x 1]", ("a", 1), Place(1, 8, 1, 12)),
        ("a: {b: *c}", ("a", "b"), Place(1, 8, 1, 10)),
        ("a: [{1: 2}]", ("a", 0, "1"), Place(1, 6, 1, 7)),
    ],
)
def test_a_fault_names_the_way_to_it(text: str, pointer: tuple[str | int, ...], place: Place) -> None:
    with pytest.raises(Malformed) as caught:
        yaml.load(text)
    assert (caught.value.pointer, caught.value.place) == (pointer, place)


def refusal(text: str) -> Malformed | None:
    """Why a text is refused; None where it has a value."""
    try:
        json.dumps(yaml.load(text))
    except Malformed as fault:
        return fault
    return None


def refused_by(text: str) -> str | None:
    fault = refusal(text)
    return fault.rule if fault else None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[" * 65 + "]" * 65, None),
        ("[" * 66 + "]" * 66, "yaml.depth"),
        ("[" * 100_000, "yaml.depth"),
        ("{a: " * 100_000, "yaml.depth"),
        ("- " * 100_000, "yaml.depth"),
        ("\n".join(" " * depth + "a:" for depth in range(64)), None),
        ("\n".join(" " * depth + "a:" for depth in range(65)), "yaml.depth"),
        # an alias is as deep as what it stands for
        ("- &a " + "[" * 40 + "]" * 40 + "\n- " + "[" * 24 + "*a" + "]" * 24, None),
        ("- &a " + "[" * 40 + "]" * 40 + "\n- " + "[" * 25 + "*a" + "]" * 25, "yaml.depth"),
        ("\n".join(["- &a0 []", *(f"- &a{n} [*a{n - 1}]" for n in range(1, 64))]), None),
        ("\n".join(["- &a0 []", *(f"- &a{n} [*a{n - 1}]" for n in range(1, 65))]), "yaml.depth"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_text_is_at_most_64_levels_deep(text: str, rule: str | None) -> None:
    assert refused_by(text) == rule


@pytest.mark.parametrize("begun", ["{{ ", "[{", "- ? ", "? "])
def test_a_key_that_is_no_text_is_not_read_however_deep_it_is(begun: str) -> None:
    assert refused_by(begun * 20) == "yaml.key"
    assert refused_by(begun * 100_000) in ("yaml.key", "yaml.depth")  # by how far libyaml's version reads ahead


def laughs(levels: int) -> str:
    """Ten times as many values with each level."""
    return "\n".join(["a0: &a0 x", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels))])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (laughs(5), None),
        (laughs(6), "yaml.alias"),
        (laughs(60), "yaml.alias"),
        ("- &a [" + "x, " * 999 + "]\n" + "- *a\n" * 99, None),
        ("- &a [" + "x, " * 999 + "]\n" + "- *a\n" * 101, "yaml.alias"),
        # long texts and keys weigh more than short ones
        ("- &a " + "x" * 6400 + "\n" + "- *a\n" * 990, None),
        ("- &a " + "x" * 6400 + "\n" + "- *a\n" * 1000, "yaml.alias"),
        ("- &a ['" + "x" * 640_000 + "']\n" + "- *a\n" * 11, "yaml.alias"),
        ("- &a {? " + "x" * 640_000 + " : 1}\n" + "- *a\n" * 11, "yaml.alias"),
        ("? &k " + "x" * 640_000 + "\n: [" + "{*k : 1}," * 11 + "]", "yaml.alias"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_aliases_unfold_to_a_bounded_size(text: str, rule: str | None) -> None:
    assert refused_by(text) == rule


@pytest.mark.parametrize(
    ("data", "text"),
    [(b"", ""), (b"\xef\xbb\xbfa", "a"), ("é🎁".encode(), "é🎁"), (b"\xed\x9f\xbf", "\ud7ff")],
)
def test_a_file_is_utf_8_with_or_without_a_byte_order_mark(data: bytes, text: str) -> None:
    assert yaml.decode(data) == text


@pytest.mark.parametrize(
    ("data", "found", "line", "column"),
    [
        (b"\xff", "the byte 0xFF is not UTF-8 text; in Windows-1252 it is ÿ", 1, 1),
        ("a: 1\nné: ".encode() + b"\xe9t\xe9", "the byte 0xE9 is not UTF-8 text; in Windows-1252 it is é", 2, 5),
        (b"a\r\nb\xc3", "the byte 0xC3 is not UTF-8 text; in Windows-1252 it is Ã", 2, 2),
        (b"a\r\rb\xc3", "the byte 0xC3 is not UTF-8 text; in Windows-1252 it is Ã", 3, 2),
        (b"\xef\xbb\xbfab\xc3", "the byte 0xC3 is not UTF-8 text; in Windows-1252 it is Ã", 1, 3),
        (b"\xed\xa0\x80", "the byte 0xED is not UTF-8 text; in Windows-1252 it is í", 1, 1),  # a surrogate
        (b"a: \x81", "the byte 0x81 is not UTF-8 text", 1, 4),
        (b"\xff\xfea\x00", "UTF-16 text, not UTF-8", 1, 1),
        (b"\xfe\xff\x00a", "UTF-16 text, not UTF-8", 1, 1),
        (bytes(range(0x80, 0x100)), "the byte 0x80 is not UTF-8 text; in Windows-1252 it is €", 1, 1),
    ],
)
def test_text_that_is_not_utf_8_is_refused_at_its_place(data: bytes, found: str, line: int, column: int) -> None:
    with pytest.raises(Malformed) as caught:
        yaml.decode(data)
    fault = caught.value
    assert (fault.rule, fault.found) == ("yaml.encoding", found)
    assert fault.allowed == "text in UTF-8; choose UTF-8 where you save the file"
    assert fault.place == Place(line, column, line, column + 1)


def test_every_value_and_key_has_its_place() -> None:
    text = "a: 1\n'b c':\n  - x: |\n      y\n  - [1,\n     {z: é🎁, w: q}]\nd: &e\ne: *e\n"
    assert yaml.locate(text) == {
        (): Spot(Place(1, 1, 9, 1)),
        ("a",): Spot(Place(1, 4, 1, 5), Place(1, 1, 1, 2)),
        ("b c",): Spot(Place(3, 3, 7, 1), Place(2, 1, 2, 6)),
        ("b c", 0): Spot(Place(3, 5, 5, 3)),
        ("b c", 0, "x"): Spot(Place(3, 8, 5, 1), Place(3, 5, 3, 6)),
        ("b c", 1): Spot(Place(5, 5, 6, 20)),
        ("b c", 1, 0): Spot(Place(5, 6, 5, 7)),
        ("b c", 1, 1): Spot(Place(6, 6, 6, 19)),
        ("b c", 1, 1, "z"): Spot(Place(6, 10, 6, 12), Place(6, 7, 6, 8)),
        ("b c", 1, 1, "w"): Spot(Place(6, 17, 6, 18), Place(6, 14, 6, 15)),
        ("d",): Spot(Place(7, 4, 7, 6), Place(7, 1, 7, 2)),
        ("e",): Spot(Place(8, 4, 8, 6), Place(8, 1, 8, 2)),
    }


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(end: str) -> None:
    text = end.join(["a: 1", "", "b:", "  - c", ""])
    assert yaml.locate(text)["b", 0] == Spot(Place(4, 5, 4, 6))
    assert yaml.load(text) == {"a": 1, "b": ["c"]}


# -- for every text ----------------------------------------------------------------------------------------------

characters = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029\ufffe\uffff")
texts = st.text(characters, max_size=20)
numbers = st.integers(-(10**17), 10**17) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=20)


def pointers(value: Any, pointer: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    parts: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {pointer}.union(*(pointers(part, (*pointer, step)) for step, part in parts))


@given(values)
def test_json_is_yaml(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert json.dumps(yaml.load(text), ensure_ascii=False) == text


@given(values, st.sampled_from([None, 1]))
def test_there_is_a_place_for_each_value_and_for_nothing_else(value: Any, indent: int | None) -> None:
    assert yaml.locate(json.dumps(value, ensure_ascii=False, indent=indent)).keys() == pointers(value)


@given(st.text(st.sampled_from("ab1: -?,[]{}&*!|>%@`'\"\\#~\t\n\r\x00\x85\u2028\ufeffé🎁"), max_size=40))
def test_any_text_has_a_value_or_a_fault_in_one_of_its_lines(text: str) -> None:
    lines = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    if fault := refusal(text):
        assert 1 <= fault.place.line <= lines + 1
        assert fault.place.column >= 1


@pytest.mark.parametrize(
    "text", ["[" * 1500, "a: 1\na: 2\nb: " + "{a: " * 1500, "- " * 1500 + "x"], ids=["[", "{", "-"]
)
def test_what_is_deeper_than_libyaml_reads_is_too_deep_by_our_own_limit(text: str) -> None:
    with pytest.raises(Malformed) as caught:
        yaml.load(text)
    fault = caught.value
    assert [one.rule for one in (fault, *fault.more)][-1] == "yaml.depth"
    assert len({(one.rule, one.place) for one in (fault, *fault.more)}) == len((fault, *fault.more))
