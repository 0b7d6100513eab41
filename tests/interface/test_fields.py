"""Masks of fields: one grammar, one spelling, and what they keep."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interface.test_bind import MASKS
from shopwindow.interface import fields
from shopwindow.interface.fields import Mask

READ: dict[str, Mask] = {
    "id": (("id", None),),
    "name,id": (("id", None), ("name", None)),
    "id,id": (("id", None),),
    " id ,\tname\n": (("id", None), ("name", None)),
    "a(b)": (("a", (("b", None),)),),
    "a (b ( c ) , d)": (("a", (("b", (("c", None),)), ("d", None))),),
    "attributes(attribute(name)),id": (("attributes", (("attribute", (("name", None),)),)), ("id", None)),
    "_a.b-c9": (("_a.b-c9", None),),
    # of what is named twice, all that either keeps
    "a(b),a(c)": (("a", (("b", None), ("c", None))),),
    "a(b),a": (("a", None),),
    "a,a(b)": (("a", None),),
    "a(b(c)),a(b(d),e)": (("a", (("b", (("c", None), ("d", None))), ("e", None))),),
    "a(b(c)),a(b)": (("a", (("b", None),)),),
    "a(b(c(d(e(f(g(h)))))))": (("a", (("b", (("c", (("d", (("e", (("f", (("g", (("h", None),)),)),)),)),)),)),)),),
}
WRITE = "write names as id,attributes(attribute(name))"
REFUSED = {
    "": f"lacks a name at the end; {WRITE}",
    "  ": f"lacks a name at the end; {WRITE}",
    ",": f"lacks a name at character 1; {WRITE}",
    "a,": f"lacks a name at the end; {WRITE}",
    ",a": f"lacks a name at character 1; {WRITE}",
    "a,,b": f"lacks a name at character 3; {WRITE}",
    "(a)": f"lacks a name at character 1; {WRITE}",
    "a()": f"lacks a name at character 3; {WRITE}",
    "a(b,)": f"lacks a name at character 5; {WRITE}",
    "a(": f"lacks a name at the end; {WRITE}",
    "a(b": "lacks a closing parenthesis at the end",
    "a(b(c)": "lacks a closing parenthesis at the end",
    "a)": "has a closing parenthesis too many at character 2",
    "a(b))": "has a closing parenthesis too many at character 5",
    "a(b)c": "lacks a comma at character 5",
    "a b": "lacks a comma at character 3",
    "a(b)(c)": "lacks a comma at character 5",
    "a;b": "must be names, commas and parentheses, not ';b'",
    "*": "must be names, commas and parentheses, not '*'",
    "a/b": "must be names, commas and parentheses, not '/b'",
    "9": "must be names, commas and parentheses, not '9'",
    "\u00e9": "must be names, commas and parentheses, not '\u00e9'",
    "a\x00": r"must be names, commas and parentheses, not '\x00'",
    "a(b(c(d(e(f(g(h(i))))))))": "must be nested at most 8 deep",
    "(" * 1000: f"lacks a name at character 1; {WRITE}",
    "a(" * 500: "must be nested at most 8 deep",
    "a" * 1001: "must be at most 1000 characters, not 1001",
}


@pytest.mark.parametrize("text", READ)
def test_a_mask_is_read(text: str) -> None:
    assert fields.parse(text) == READ[text]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text[:30]))
def test_what_is_no_mask_is_refused_with_the_place(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(REFUSED[text])}$"):
        fields.parse(text)


@given(MASKS)
def test_a_mask_has_one_spelling(mask: Mask) -> None:
    text = fields.format(mask)
    assert (fields.parse(text), fields.format(fields.parse(text))) == (mask, text)


@given(st.text("ab_(), \t9.", max_size=40))
def test_any_text_is_a_mask_or_refused(text: str) -> None:
    try:
        mask = fields.parse(text)
    except ValueError:
        return
    assert fields.parse(fields.format(mask)) == mask


ITEM: Any = {
    "id": 1,
    "text": "t",
    "texts": ["t", "u"],
    "none": [],
    "object": {"a": 1, "b": {"c": 2, "d": 3}},
    "list": [{"a": 1, "b": 2}, {"b": 3}],
}
KEPT: dict[str, Any] = {
    "id": {"id": 1},
    "texts(a),id": {"id": 1},
    "text,id": {"id": 1, "text": "t"},
    "missing": {},
    "none": {"none": []},
    "none(a)": {"none": []},
    "id(a)": {},
    "text(a),id": {"id": 1},
    "object": {"object": {"a": 1, "b": {"c": 2, "d": 3}}},
    "object(a)": {"object": {"a": 1}},
    "object(b(d))": {"object": {"b": {"d": 3}}},
    "object(missing)": {"object": {}},
    "list": {"list": [{"a": 1, "b": 2}, {"b": 3}]},
    "list(a)": {"list": [{"a": 1}, {}]},
    "list,object(a),missing(a(b))": {"object": {"a": 1}, "list": [{"a": 1, "b": 2}, {"b": 3}]},
}


@pytest.mark.parametrize("text", KEPT)
def test_a_mask_keeps(text: str) -> None:
    kept = fields.select(ITEM, fields.parse(text))
    assert (kept, list(kept)) == (KEPT[text], list(KEPT[text]))


def test_an_item_is_not_changed_by_a_mask() -> None:
    before = repr(ITEM)
    fields.select(ITEM, fields.parse("object(b(c)),list(a)"))
    assert repr(ITEM) == before
