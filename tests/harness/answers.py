"""Answers as a client reads them: JSON, and XML with the types that the schema gives it."""

from typing import Any

import orjson
from lxml import etree

from harness.content import Shape
from shopwindow.interface.fields import Mask
from shopwindow.interface.formats import GENERAL_ROOT, JSON, Format, root_name

Json = Any
NUMBERS = {"boolean": (bool,), "integer": (int,), "number": (int, float)}


def decoded(format: Format, data: bytes, shape: Shape, items: tuple[str, ...] = (), mask: Mask | None = None) -> Json:
    """The value of an answer, of which ``mask`` has selected fields of the items that ``items`` leads to.

    XML is as the interface promises it: no attributes, comments or text beside elements, each type as in JSON.
    """
    if format is JSON:
        return orjson.loads(data)
    root, name = etree.fromstring(data), root_name(shape)
    assert root.tag == name
    if name == GENERAL_ROOT:
        return _value(root, shape, items, mask)
    inner = shape.property(name)
    assert inner
    return {name: _value(root, inner, items[1:], mask)}


def _value(element: etree._Element, shape: Shape, items: tuple[str, ...], mask: Mask | None) -> Json:
    assert not element.attrib
    if shape.type == "object":
        return _object(element, shape, items, mask)
    assert len(element) == 0
    text = element.text or ""
    if shape.type == "string":
        return text
    value = orjson.loads(text)
    assert value.__class__ in NUMBERS[shape.type]
    return value


def _object(element: etree._Element, shape: Shape, items: tuple[str, ...], mask: Mask | None) -> dict[str, Json]:
    value: dict[str, Json] = {}
    fields = dict(mask) if mask is not None and not items else None
    assert not (element.text or "").strip()
    for child in element:
        name = str(child.tag)
        inner = shape.property(name)
        assert inner
        assert not (child.tail or "").strip()
        below: tuple[tuple[str, ...], Mask | None] = (), None
        if fields is not None:
            below = (), fields.get(name)
        elif items[:1] == (name,):
            below = items[1:], mask
        if inner.type == "array":
            assert inner.items
            value.setdefault(name, []).append(_value(child, inner.items, *below))
        else:
            assert name not in value
            value[name] = _value(child, inner, *below)
    for name in shape.required:  # XML has no element for an empty list
        required = shape.property(name)
        is_list = required is not None and required.type == "array"
        if is_list and name not in value and (fields is None or name in fields):
            value[name] = []
    return value
