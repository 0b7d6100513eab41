"""Facts about feeds: a line is one JSON value, as strict as YAML is here, and every value has its place."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.test_yaml import pointers, values
from harness.content import MARK, marks
from shopwindow.content.reading import feed
from shopwindow.content.reading.yaml import Malformed, Spot
from shopwindow.problems import Place

VALUES: list[tuple[bytes, Any]] = [
    (b'{"a": 1, "b": [true, null, -0.5, "x"]}\n', {"a": 1, "b": [True, None, -0.5, "x"]}),
    (b' \t{"a":"{{ www }}"} \r\n', {"a": "{{ www }}"}),
    (b'\xef\xbb\xbf{"\xc3\xa9": "\\u00e9\\ud83c\\udf81"}', {"é": "é🎁"}),
    (b'{"__proto__": {}}', {"__proto__": {}}),
    (b'{"a":": ","b":"\\":","c":"x\\\\"}', {"a": ": ", "b": '":', "c": "x\\"}),
    (b'{"a" :1,"b":[1.50,-0,1e2,0.1234567890123456789]}', {"a": 1, "b": [1.5, 0, 100.0, 0.1234567890123456789]}),
    (b"999999999999999999", 999999999999999999),
    (b"[" * 65 + b"]" * 65, json.loads("[" * 65 + "]" * 65)),
    (b"[" + b"{}," * 99 + b"{}]", [{}] * 100),
]


@pytest.mark.parametrize(("line", "value"), VALUES, ids=repr)
def test_a_line_is_a_json_value(line: bytes, value: Any) -> None:
    assert json.dumps(feed.load(line, 1)) == json.dumps(value)


@given(values, st.booleans())
def test_whatever_is_json_is_read_and_located(value: Any, ascii_only: bool) -> None:
    line = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert json.dumps(feed.load(line, 1)) == json.dumps(value)
    assert feed.locate(line, 1).keys() == pointers(value)


DIGITS = "at most 18 digits; text in quotes"
SURROGATE = "a lone surrogate, which is no character"
DEEP = "nested more than 64 levels deep"

REFUSED: list[tuple[str, str, str, str]] = [
    ('{"a": 1, ‸"a": 2}', "yaml.duplicate", "the key 'a' a second time", "each key once"),
    ('{"a": {"b": 1, "c": [{"b": 1, ‸"b": 1}]}}', "yaml.duplicate", "the key 'b' a second time", "each key once"),
    ('{"a":1,‸"a":2,"b":":x"}', "yaml.duplicate", "the key 'a' a second time", "each key once"),
    ('{"a" :1,‸"a" :2,"b":": x"}', "yaml.duplicate", "the key 'a' a second time", "each key once"),
    ('{"a" : 1,‸"a"\t: 2,"b":": x"}', "yaml.duplicate", "the key 'a' a second time", "each key once"),
    ('{"a": ‸1e999}', "yaml.number", "the number 1e999 is too large", DIGITS),
    ('{"a": ‸-1234567890123456789}', "yaml.number", "the number -1234567890123456789 is too large", DIGITS),
    ("[‸1" + "0" * 400 + "]", "yaml.number", "the number 10000000000000000000… (401 characters) is too large", DIGITS),
    ('{"a": ‸NaN}', "feed.syntax", "NaN, which is not JSON", "JSON's numbers"),
    ("[‸-Infinity]", "feed.syntax", "-Infinity, which is not JSON", "JSON's numbers"),
    ("[‸NaNs]", "feed.syntax", "NaNs, which is not JSON", "JSON's numbers"),
    ('{"a": ‸1e999"x"}', "yaml.number", "the number 1e999 is too large", DIGITS),
    ('  {"é": ‸"\\ud800"}', "yaml.surrogate", SURROGATE, "whole characters"),
    ('{‸"\\udc00": 1}', "yaml.surrogate", SURROGATE, "whole characters"),
    ("[" * 65 + "‸[" + "]" * 66, "yaml.depth", DEEP, "fewer levels"),
    ('{"a":' * 65 + "‸[]" + "}" * 65, "yaml.depth", DEEP, "fewer levels"),
    ("[" * 65 + "‸[" + "[" * 99_934, "yaml.depth", DEEP, "fewer levels"),
]


@pytest.mark.parametrize(("text", "rule", "what", "allowed"), REFUSED, ids=[repr(text)[:50] for text, *_ in REFUSED])
def test_what_is_json_and_not_for_us_is_refused_at_its_place(text: str, rule: str, what: str, allowed: str) -> None:
    ((_, column),) = marks(text)
    with pytest.raises(Malformed) as caught:
        feed.load(text.replace(MARK, "").encode(), 7)
    fault = caught.value
    assert (fault.rule, fault.found, fault.allowed) == (rule, what, allowed)
    assert (fault.place.line, fault.place.column) == (7, column)


@pytest.mark.parametrize(
    "text",
    ["‸", '{"a" ‸1}', '{"a": ‸tru}', '{"a": 1}‸x', '  {"a": 1} ‸{}', "‸'a'", '{"a": "b‸\tc"}', "‸\x00", '{"a": ‸"b'],
)
def test_what_is_no_json_is_refused_at_its_place(text: str) -> None:
    ((_, column),) = marks(text)
    with pytest.raises(Malformed) as caught:
        feed.load(text.replace(MARK, "").encode(), 7)
    fault = caught.value
    assert (fault.rule, fault.allowed) == ("feed.syntax", "one JSON object a line")
    assert fault.place == Place(7, column, 7, column + 1)


def test_a_byte_that_is_not_utf_8_is_refused_at_its_place() -> None:
    with pytest.raises(Malformed) as caught:
        feed.load('{"é": "'.encode() + b'\xff"}', 7)
    assert (caught.value.rule, caught.value.found) == (
        "yaml.encoding",
        "the byte 0xFF is not UTF-8 text; in Windows-1252 it is ÿ",
    )
    assert caught.value.place == Place(7, 8, 7, 9)


def test_every_value_and_key_has_its_place() -> None:
    line = '  {"a": [1, {"é\\"🎁": "x\\u0041"}], "b": null}\r\n'.encode()
    assert feed.locate(line, 3) == {
        (): Spot(Place(3, 3, 3, 45)),
        ("a",): Spot(Place(3, 9, 3, 33), Place(3, 4, 3, 7)),
        ("a", 0): Spot(Place(3, 10, 3, 11)),
        ("a", 1): Spot(Place(3, 13, 3, 32)),
        ("a", 1, 'é"🎁'): Spot(Place(3, 22, 3, 31), Place(3, 14, 3, 20)),
        ("b",): Spot(Place(3, 40, 3, 44), Place(3, 35, 3, 38)),
    }


def refusal(line: bytes) -> Malformed | None:
    try:
        json.dumps(feed.load(line, 7))
    except Malformed as fault:
        return fault
    return None


@given(
    st.binary(max_size=60) | st.text(st.sampled_from('{}[]":,\\u0d81 -.eNatrul\x00é🎁'), max_size=40).map(str.encode)
)
def test_any_line_has_a_value_or_a_fault_in_it(line: bytes) -> None:
    if fault := refusal(line):
        assert fault.place.line == 7
        assert fault.place.column >= 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{a: 1}", "a key in double quotes is missing here"),
        ('{"a" 1}', "a colon is missing here"),
        ('{"a": 1 "b": 2}', "a comma, or the end of the list or object, is missing here"),
        ('{"a": }', "a value is missing here"),
        ('{"a": 1}x', "something stands after the object"),
        ('{"a": "x', "a text without its closing quote"),
        ('{"a": "\x01"}', "a control character in a text"),
        ('{"a": "\\q"}', "a backslash before what it cannot stand before"),
        ('{"a": "\\u12"}', "\\u without four hexadecimal digits"),
    ],
)
def test_what_is_no_json_is_said_in_an_editors_words(line: str, said: str) -> None:
    with pytest.raises(Malformed) as raised:
        feed.load(line.encode(), 1)
    assert raised.value.found == f"no JSON: {said}"
