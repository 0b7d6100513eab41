"""YAML that libyaml reads as another value than YAML 1.2 does is refused at its place."""

from typing import Any

import pytest

from shopwindow.content.reading import yaml
from shopwindow.content.reading.yaml import Malformed

QUESTION = "text that begins with ?, in brackets or braces"
ANCHOR = "a character directly behind the name of an anchor"

# A text, and the line, column, pointer and words of its one fault.
REFUSED: list[tuple[str, str, tuple[str | int, ...], str]] = [
    ("name: &b:c d\n", "1:7", ("name",), ANCHOR),
    ("- &b?c d\n", "1:3", (0,), ANCHOR),
    ("&b:c d: 1\n", "1:1", (":c d",), ANCHOR),
    ("{?foo: bar}\n", "1:3", (), QUESTION),
    ("a: {b: 1, ?foo: bar}\n", "1:12", ("a",), QUESTION),
    ("[?x]\n", "1:3", (0,), QUESTION),
    ("[a, ?x: y]\n", "1:6", (1,), QUESTION),
]


def malformed(text: str) -> Malformed:
    with pytest.raises(Malformed) as raised:
        yaml.load(text)
    return raised.value


@pytest.mark.parametrize(("text", "place", "pointer", "words"), REFUSED, ids=[repr(text) for text, *_ in REFUSED])
def test_what_yaml_1_2_reads_as_another_value_is_refused_at_its_place(
    text: str, place: str, pointer: tuple[str | int, ...], words: str
) -> None:
    fault = malformed(text)
    assert (fault.rule, fault.found, fault.more) == ("yaml.strict", words, ())
    assert (f"{fault.place.line}:{fault.place.column}", fault.pointer) == (place, pointer)
    assert fault.allowed
    assert fault.value is not None


# What YAML 1.2 refuses and nobody could mean another value by, and its value.
READ_AS_MEANT: list[tuple[str, Any]] = [
    # lines in brackets or quotes that are not indented, or by a tab
    ("list: [one,\ntwo]\n", {"list": ["one", "two"]}),
    ("- a: {b: 1,\n  c: 2}\n", [{"a": {"b": 1, "c": 2}}]),
    ("- [\n\tone, two]\n", [["one", "two"]]),
    ('name: "one\ntwo"\n', {"name": "one two"}),
    ("name: 'one\n\n\ttwo'\n", {"name": "one\ntwo"}),
    ('- name: "one\n  two"\n', [{"name": "one two"}]),
    # a comment directly behind something
    ("[ one, two ]#three\n", ["one", "two"]),
    ("[ one, #two\n two,#three\n]\n", ["one", "two"]),
    ("{one: two}#three", {"one": "two"}),
    ('name: "value"#more\n', {"name": "value"}),
    ("name: 'value'#more\nother: 1\n", {"name": "value", "other": 1}),
    ("text: >#more\n  below\n", {"text": "below\n"}),
    ("text: |-#more\n  below\n", {"text": "below"}),
    ("%YAML 1.1#more\n---\na: b\n", {"a": "b"}),
    # a hyphen alone, in brackets
    ("[-]\n", ["-"]),
    ("a: {-: 1}\n", {"a": {"-": 1}}),
    # empty lines with more spaces than the text below them
    ("text: >\n \n   \n # no text\n", {"text": ""}),
]


@pytest.mark.parametrize(("text", "value"), READ_AS_MEANT, ids=[repr(text) for text, _ in READ_AS_MEANT])
def test_what_can_have_one_meaning_alone_is_read_so(text: str, value: Any) -> None:
    assert yaml.load(text) == value


# Texts with the same signs, of which nothing is wrong.
READ: list[tuple[str, Any]] = [
    ("color: '#fff'\n", {"color": "#fff"}),
    ("- a #b\n- 'c' # d\n- [e] # f\n- g#h\n", ["a", "c", ["e"], "g#h"]),
    (
        "url: https://a.example/?b=c#d\nmore: [https://a.example/?b#c]\n",
        {"url": "https://a.example/?b=c#d", "more": ["https://a.example/?b#c"]},
    ),
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
    ("a: |\n  x\n  ", {"a": "x\n"}),
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
    assert yaml.load(text) == value


def test_a_fault_of_this_kind_is_reported_beside_others() -> None:
    fault = malformed("a: [?b]\nb: 99999999999999999999\n")
    assert sorted(each.rule for each in (fault, *fault.more)) == ["yaml.number", "yaml.strict"]
