"""YAML that libyaml reads as something else than YAML 1.2 does, or that is none, is refused at its place."""

from typing import Any

import pytest

from shopwindow.content import yaml
from shopwindow.content.yaml import Malformed

COMMENT = "a comment without a space before it"
QUESTION = "text that begins with ?, in brackets or braces"
HYPHEN = "a hyphen alone, in brackets or braces"
ANCHOR = "a character directly behind the name of an anchor or alias"
OUTDENTED = "a line within brackets, braces or quotes that is not indented"
SPACES = "a block text that ends with spaces and no line end"
EMPTY = "empty lines with more spaces than the text below them"

# A text, and the line, column, pointer and words of its one fault.
REFUSED: list[tuple[str, str, tuple[str | int, ...], str]] = [
    # what libyaml reads as another value
    ("name: &b:c d\n", "1:7", ("name",), ANCHOR),
    ("- &b?c d\n", "1:3", (0,), ANCHOR),
    ("{?foo: bar}\n", "1:2", (), QUESTION),
    ("a: {b: 1, ?foo: bar}\n", "1:11", ("a",), QUESTION),
    ("[?x]\n", "1:2", (0,), QUESTION),
    ("[a, ?x: y]\n", "1:5", (1,), QUESTION),
    ("a: |\n  x\n   ", "1:4", (), SPACES),
    ("a: >\n  x\n\n ", "1:4", (), SPACES),
    ("- |+\n   ", "1:3", (), SPACES),
    ("a: |\r\n  x\r\n   ", "1:4", (), SPACES),
    # lines in brackets that are not indented, or by a tab
    ("list: [one,\ntwo]\n", "2:1", ("list", 1), OUTDENTED),
    ("- a: {b: 1,\n  c: 2}\n", "2:3", (0, "a"), OUTDENTED),
    ("- [\n\tone, two]\n", "2:2", (0, 0), OUTDENTED),
    # a comment directly behind something
    ("[ one, two ]#three\n", "1:13", (), COMMENT),
    ("[ one, #two\n two,#three\n]\n", "2:6", (2,), COMMENT),
    ("{one: two}#three", "1:11", (), COMMENT),
    ('name: "value"#more\n', "1:14", (), COMMENT),
    ("name: 'value'#more\nother: 1\n", "1:14", (), COMMENT),
    ("text: >#more\n  below\n", "1:8", ("text",), COMMENT),
    ("text: |-#more\n  below\n", "1:9", ("text",), COMMENT),
    ("%YAML 1.1#more\n---\na: b\n", "1:10", (), COMMENT),
    # hyphens alone in brackets
    ("[-]\n", "1:2", (0,), HYPHEN),
    ("- [a, - , b]\n", "", (), ""),  # libyaml refuses that itself
    ("a: {-: 1}\n", "1:5", ("a",), HYPHEN),
    # lines in quotes that are not indented, or by a tab
    ('name: "one\ntwo"\n', "2:1", ("name",), OUTDENTED),
    ("name: 'one\n\n\ttwo'\n", "3:1", ("name",), OUTDENTED),
    ('- name: "one\n  two"\n', "2:3", (0, "name"), OUTDENTED),
    # empty lines
    ("text: >\n \n   \n # no text\n", "3:1", ("text",), EMPTY),
]


def malformed(text: str) -> Malformed:
    with pytest.raises(Malformed) as raised:
        yaml.load(text)
    return raised.value


@pytest.mark.parametrize(("text", "place", "pointer", "words"), REFUSED, ids=[repr(text) for text, *_ in REFUSED])
def test_what_yaml_1_2_does_not_read_so_is_refused_at_its_place(
    text: str, place: str, pointer: tuple[str | int, ...], words: str
) -> None:
    fault = malformed(text)
    if not words:
        assert fault.rule == "yaml.syntax"
        return
    assert (fault.rule, fault.found, fault.more) == ("yaml.strict", words, ())
    assert (f"{fault.place.line}:{fault.place.column}", fault.pointer) == (place, pointer)
    assert fault.allowed
    assert fault.value is not None


def test_two_hyphens_are_two_faults() -> None:
    fault = malformed("- [-, -]\n")
    assert [(each.found, each.pointer) for each in (fault, *fault.more)] == [(HYPHEN, (0, 0)), (HYPHEN, (0, 1))]


# Texts with the same signs, of which nothing is wrong.
READ: list[tuple[str, Any]] = [
    ("color: '#fff'\n", {"color": "#fff"}),
    ("- a #b\n- 'c' # d\n- [e] # f\n- g#h\n", ["a", "c", ["e"], "g#h"]),
    ("url: https://a.example/?b=c#d\nmore: [https://a.example/?b#c]\n", None),
    ("[a, b # c\n ]\n", ["a", "b"]),
    ("a: [\n  b, # c\n  # d\n  e,\n]\n", {"a": ["b", "e"]}),
    ("a: {\n  b: 1\n}\nc: 2\n", {"a": {"b": 1}, "c": 2}),
    ("[\na,\nb\n]\n", ["a", "b"]),
    ("- [a,\n b]\n", [["a", "b"]]),
    ("? a\n: b\n", {"a": "b"}),
    ("{? a : b}\n", {"a": "b"}),
    ("[a?b, 'c?', d? ]\n", ["a?b", "c?", "d?"]),
    ("a: &x b\nc: *x\nd: [&y e, *y]\nf: {g: *y}\n", {"a": "b", "c": "b", "d": ["e", "e"], "f": {"g": "e"}}),
    ("&a\nb: [1,\n 2]\n", {"b": [1, 2]}),
    ("- &a\n  b: 'c\n\n   d'\n", [{"b": "c\nd"}]),
    ('a: "b\n  c"\n', {"a": "b c"}),
    ('"a\nb"\n', "a b"),
    ("a:\n- 'b\n  c'\n", {"a": ["b c"]}),
    ("[--, -1, -a, '-']\n", ["--", -1, "-a", "-"]),
    ("a: |\n  x\n  ", None),
    ("a: |\n  x\n", {"a": "x\n"}),
    ("a: |\n  x", {"a": "x"}),
    ("a: |\n  x\nb: y\n  ", {"a": "x\n", "b": "y"}),
    ("a: |\n\n  x\n", {"a": "\nx\n"}),
    ("a: >\n \n  x\n # c\n", {"a": "\nx\n"}),
    ("a: |2\n   \n   x\n", {"a": " \n x\n"}),
    ("a: | # comment\n  x # no comment\n", {"a": "x # no comment\n"}),
    ("a: |\n  'x'#y\n  [-]\n  {?z}\nb: '[-]#'\n", {"a": "'x'#y\n[-]\n{?z}\n", "b": "[-]#"}),
    ("%YAML 1.1 # comment\n---\na: b\n", {"a": "b"}),
    ('{"a":1}\n', {"a": 1}),
]


@pytest.mark.parametrize(("text", "value"), READ, ids=[repr(text) for text, _ in READ])
def test_what_looks_alike_is_read(text: str, value: Any) -> None:
    if value is None and text.endswith("x\n  "):
        assert malformed(text).found == SPACES  # though its value would be the same
    elif value is None:
        assert yaml.load(text)["url"] == "https://a.example/?b=c#d"
    else:
        assert yaml.load(text) == value


def test_a_fault_of_this_kind_is_told_beside_others() -> None:
    fault = malformed("a: [-]\nb: 99999999999999999999\n")
    assert sorted(each.rule for each in (fault, *fault.more)) == ["yaml.number", "yaml.strict"]
