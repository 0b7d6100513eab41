"""The formats of responses, JSON and XML (wire shapes §1), and which of them a request
accepts.

Both are encodings of one JSON value. XML has no types and no arrays, so a schema's
Shape decides how it is read back. Encoding needs the schema only for the root's name:
keys become elements, and an array repeats its element.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import orjson

from shopwindow.content.shape import Shape
from shopwindow.content.yaml import Json
from shopwindow.interface.fields import Mask

GENERAL_ROOT = "response"
Path = tuple[str, ...]
_XML_SPACE = " \t\r\n"
"""White space of XML 1.0 §2.3."""


class Undecodable(ValueError):
    """Bytes that are not a document of the format, or not of the shape."""


@dataclass(frozen=True)
class Format:
    """A format. ``encode(value, shape)`` returns bytes; ``decode(bytes, shape, items,
    mask)`` returns their value.

    ``items`` and ``mask`` say which fields of which items a masked response has
    (Operation.items, `_fields`). ``read(bytes, shape)`` returns the value of a
    request's body, whose text may still be of the wrong type. ``decode`` and ``read``
    raise Undecodable.
    """

    name: str
    media_type: str
    encode: Callable[[Json, Shape], bytes]
    decode: "Decode"
    read: Callable[[bytes, Shape], Json]

    @property
    def extension(self) -> str:
        return f".{self.name}"


class Decode(Protocol):
    def __call__(
        self, data: bytes, shape: Shape, items: Path = (), mask: Mask | None = None
    ) -> Json: ...


# -- JSON ------------------------------------------------------------------------------


def _json(value: Json, shape: Shape) -> bytes:
    return orjson.dumps(value)


def _from_json(
    data: bytes, shape: Shape, items: Path = (), mask: Mask | None = None
) -> Json:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise Undecodable(f"no JSON: {error}") from None


# -- XML -------------------------------------------------------------------------------


def root_name(shape: Shape) -> str:
    """Return the name of the root element: the schema's only property if that is an
    object, else ``response``.
    """
    names = shape.properties
    if (
        len(names) == 1
        and (only := shape.property(names[0])) is not None
        and only.type == "object"
    ):
        return names[0]
    return GENERAL_ROOT


def _xml(value: Json, shape: Shape) -> bytes:
    """Encode a value as XML text. That takes half of the time of a tree of lxml; a test
    compares the bytes.
    """
    name = root_name(shape)
    parts = ["<?xml version='1.0' encoding='UTF-8'?>\n"]
    _object(name, value if name == GENERAL_ROOT else value[name], parts)
    return "".join(parts).encode()


# What XML 1.0 §2.4 and §2.11 ask for in text; a reader would make a line feed of a raw
# carriage return.
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})


_UNSAYABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def sayable(text: str) -> str:
    """Return a client's text as a response may repeat it: U+FFFD stands for what XML
    cannot hold (XML 1.0 §2.2).

    JSON could hold it, but both formats shall say the same.
    """
    return _UNSAYABLE.sub("\ufffd", text)


def _object(name: str, value: dict[str, Json], parts: list[str]) -> None:
    """Add an element with a child a key, in order; an array repeats its element; `<x/>`
    where there is no child.
    """
    start, add = len(parts), parts.append
    add(f"<{name}>")
    for key, item in value.items():
        if item.__class__ is list:
            for part in item:
                if part.__class__ is dict:
                    _object(key, part, parts)
                else:
                    add(_leaf(key, part))
        elif item.__class__ is dict:
            _object(key, item, parts)
        else:
            add(_leaf(key, item))
    if len(parts) > start + 1:
        add(f"</{name}>")
    else:
        parts[start] = f"<{name}/>"


def _leaf(name: str, value: Json) -> str:
    if value.__class__ is str:
        if "&" in value or "<" in value or ">" in value or "\r" in value:
            value = value.translate(_ESCAPES)
    elif value.__class__ is not int:
        value = orjson.dumps(value).decode()  # the very digits of the JSON form
    return f"<{name}>{value}</{name}>"


def _from_xml(
    data: bytes, shape: Shape, items: Path = (), mask: Mask | None = None
) -> Json:
    root, name = _tree(data), root_name(shape)
    if _local(root.tag) != name:
        raise Undecodable(f"the root element is <{_local(root.tag)}>, not <{name}>")
    if name == GENERAL_ROOT:
        return _read(root, shape, items, mask)
    inner = shape.property(name)
    return {name: _read(root, inner, items[1:], mask)} if inner else {}


def _request_from_xml(data: bytes, shape: Shape) -> Json:
    """Read the XML body of a request. Its root is the schema's only property, or an
    element of any name around all.
    """
    root, names = _tree(data), shape.properties
    inner = shape.property(names[0]) if len(names) == 1 else None
    if (
        inner is None
        or _local(root.tag) != names[0]
        or inner.type not in ("object", "array")
    ):
        return _read(root, shape, (), None, strict=False)
    if inner.type == "object":
        return {names[0]: _read(root, inner, (), None, strict=False)}
    return {
        names[0]: [_read(root, inner.items, (), None, strict=False)]
        if inner.items
        else []
    }


def _tree(data: bytes) -> Any:
    """Parse XML and return its root element. Raises Undecodable, for a document type
    declaration too.
    """
    from lxml import etree

    parser = etree.XMLParser(  # what a document declares says nothing here: UTF-8 is the only charset (RFC 7303 §3)
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        remove_blank_text=False,
    )
    try:
        root: Any = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise Undecodable(f"no XML: {error.msg}") from None
    if root.getroottree().docinfo.doctype:
        raise Undecodable("a document type declaration, which is not allowed")
    for _ in (*root.itersiblings(preceding=True), *root.itersiblings()):
        raise Undecodable(
            "a comment or a processing instruction beside the root element, which is not allowed"
        )
    return root


def _local(tag: str) -> str:
    """Return a tag without its namespace: `xmlns` is allowed and means nothing (wire
    shapes §1).
    """
    return tag.rpartition("}")[2]


def _read(
    element: Any, shape: Shape, items: Path, mask: Mask | None, *, strict: bool = True
) -> Json:
    """Return an element's value by its shape. Once ``items`` is empty, ``mask``
    applies.

    ``strict`` False: text of another type than the shape's stays text, and no empty
    array is added.
    """
    if element.attrib:
        raise Undecodable(f"<{element.tag}> has attributes, which are not allowed")
    if shape.type == "object":
        return _read_object(element, shape, items, mask, strict=strict)
    if len(element):
        raise Undecodable(
            f"<{element.tag}> holds elements or comments where {shape.type} is expected"
        )
    text = element.text or ""
    return (
        text
        if shape.type == "string"
        else _scalar(text, shape.type, element.tag, strict=strict)
    )


def _scalar(text: str, kind: str, tag: str, *, strict: bool) -> Json:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = None
    fits = {"boolean": (bool,), "integer": (int,), "number": (int, float)}[kind]
    if (
        value is None
        or (isinstance(value, bool) and kind != "boolean")
        or not isinstance(value, fits)
    ):
        if not strict:
            return text
        raise Undecodable(f"<{tag}> holds {text[:40]!r}, not {kind}")
    return value


def _read_object(
    element: Any, shape: Shape, items: Path, mask: Mask | None, *, strict: bool
) -> dict[str, Json]:
    if (element.text or "").strip(_XML_SPACE):
        raise Undecodable(f"<{element.tag}> holds text beside elements")
    value: dict[str, Json] = {}
    kept = dict(mask) if mask is not None and not items else None
    for child in element:
        if not isinstance(child.tag, str):
            raise Undecodable(
                f"<{element.tag}> holds a comment or a processing instruction"
            )
        if (child.tail or "").strip(_XML_SPACE):
            raise Undecodable(f"<{element.tag}> holds text beside elements")
        name = _local(child.tag)
        inner = shape.property(name)
        if inner is None:
            raise Undecodable(
                f"<{element.tag}> holds <{name}>, which is not known here"
            )
        below: tuple[Path, Mask | None] = (
            (),
            kept.get(name) if kept is not None else None,
        )
        if items[:1] == (name,):
            below = (items[1:], mask)
        if inner.type == "array":
            if inner.items is not None:
                value.setdefault(name, []).append(
                    _read(child, inner.items, *below, strict=strict)
                )
        elif name in value:
            raise Undecodable(f"<{element.tag}> holds <{name}> twice")
        else:
            value[name] = _read(child, inner, *below, strict=strict)
    for name in (
        shape.required if strict else ()
    ):  # an empty array that the schema requires has no element
        required = shape.property(name)
        missing = name not in value and (kept is None or name in kept)
        if missing and required is not None and required.type == "array":
            value[name] = []
    return value


JSON = Format("json", "application/json", _json, _from_json, _from_json)
XML = Format("xml", "application/xml", _xml, _from_xml, _request_from_xml)
RESPONSE_FORMATS = (JSON, XML)
MEDIA_TYPES = " or ".join(format.media_type for format in RESPONSE_FORMATS)

# -- for people to read ----------------------------------------------------------------


def indented(body: bytes, media_type: str) -> str:
    """Return the text of an encoded response, with a line for each value.

    A body of another media type, such as JSONP, is returned as it is.
    """
    if media_type == JSON.media_type:
        return orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2).decode()
    if media_type == XML.media_type:
        from lxml import etree

        parser = etree.XMLParser(remove_blank_text=True, resolve_entities=False)
        root = etree.fromstring(body, parser)
        written: bytes = etree.tostring(
            root, pretty_print=True, xml_declaration=True, encoding="UTF-8"
        )
        return written.decode()
    return body.decode()


# -- which of them ---------------------------------------------------------------------

_HTTP_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PARAMETER = rf"\s*;(?:\s*({_HTTP_TOKEN})=({_HTTP_TOKEN}|{_QUOTED}))?"
"""There is one way to read each space, so that no text makes the expression try again
and again.
"""
_MEDIA_RANGE = re.compile(
    rf"({_HTTP_TOKEN})/({_HTTP_TOKEN})((?:{_PARAMETER})*)", re.ASCII
)
_QUALITY = re.compile(
    r"0(\.[0-9]{0,3})?|1(\.0{0,3})?|\.[0-9]{1,3}", re.ASCII
)  # `q=.2` is Java's


@lru_cache(maxsize=256)
def negotiate(accept: str | None) -> Format | None:
    """Return the format that an Accept header asks for; None where it admits neither
    (RFC 9110 §12.5.1).

    Missing, malformed or `*/*`: JSON, and JSON where both are equally welcome.
    """
    ranges = _ranges(accept)
    if not ranges:
        return JSON
    best: tuple[float, Format] | None = None
    for candidate in RESPONSE_FORMATS:
        quality = _quality(candidate, ranges)
        if quality > 0 and (best is None or quality > best[0]):
            best = (quality, candidate)
    return best[1] if best else None


def _quality(candidate: Format, ranges: list[tuple[str, str, float]]) -> float:
    """Return the weight of the most specific range that matches a format."""
    kind, _, subtype = candidate.media_type.partition("/")
    matching = [
        ((range_kind != "*") + (range_subtype != "*"), quality)
        for range_kind, range_subtype, quality in ranges
        if range_kind in ("*", kind) and range_subtype in ("*", subtype)
    ]
    return max(matching)[1] if matching else 0.0


def _ranges(accept: str | None) -> list[tuple[str, str, float]]:
    """Return the media ranges of an Accept header in lower case; none where it is
    missing or malformed.
    """
    ranges = []
    for part in _split(accept or ""):
        match = _MEDIA_RANGE.fullmatch(part.strip())
        if (
            match is None and part.strip().partition(";")[0].strip() == "*"
        ):  # `*; q=.2` is Java's, and means */*
            match = _MEDIA_RANGE.fullmatch(part.strip().replace("*", "*/*", 1))
        if match is None:
            if part.strip():
                return []
            continue
        quality = 1.0
        for name, value in re.findall(_PARAMETER, match[3], re.ASCII):
            if name.lower() == "q":
                if not _QUALITY.fullmatch(value):
                    return []
                quality = float(value)
        ranges.append((match[1].lower(), match[2].lower(), quality))
    return ranges


def _split(accept: str) -> list[str]:
    return re.findall(r'(?:[^,"]|"(?:[^"\\]|\\.)*"?)+', accept)
