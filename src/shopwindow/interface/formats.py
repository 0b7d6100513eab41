"""The formats of responses (interface W1), and which one a request gets.

JSON and XML are encodings of one JSON value. In XML a key becomes an element, and an
array repeats its element; the schema decides only the name of the root. XML has no
types and no arrays, so reading a request takes a Shape, which is what a schema says of
types.
"""

import gc
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from shopwindow.content.reading.yaml import BYTE_ORDER_MARK, Json
from shopwindow.content.schemas.shape import Shape

GENERAL_ROOT = "response"
"""The root element of an answer that is not one object with a name (`root_name`)."""

_XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
"""The namespace of attributes by which libraries note an element's type, or that it is
nil, as lxml writes it before their names.
"""

_XML_SPACE = " \t\r\n"
"""White space of XML 1.0 §2.3."""


class Undecodable(ValueError):
    """A request's body does not follow the format, or its value lacks the shape."""


@dataclass(frozen=True)
class Format:
    """A format of responses and request bodies.

    ``encode(value, shape)`` returns the bytes of a response. ``read(bytes, shape)``
    returns the value of a request's body, in which a text may still stand where another
    type is required: the check of the body reports that. It raises Undecodable.
    """

    name: str
    media_type: str
    encode: Callable[[Json, Shape], bytes]
    read: Callable[[bytes, Shape], Json]

    @property
    def extension(self) -> str:
        return f".{self.name}"


# -- JSON ------------------------------------------------------------------------------


def _json(value: Json, shape: Shape) -> bytes:
    return orjson.dumps(value)


def _from_json(data: bytes, shape: Shape) -> Json:
    """Return the value of a request's JSON body.

    A byte order mark before it means nothing (RFC 8259 §8.1); writers of Windows put it
    there.

    No garbage is collected meanwhile. Otherwise Python walks over what is read again
    and again: five sixths of the time that 1 MB of nested lists takes.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        return orjson.loads(data.removeprefix(BYTE_ORDER_MARK))
    except orjson.JSONDecodeError as error:
        raise Undecodable(f"no JSON: {error}") from None
    finally:
        if is_collecting:
            gc.enable()


# -- XML -------------------------------------------------------------------------------


def root_name(shape: Shape) -> str:
    """Return the name of the root element.

    It is the schema's only property if that is an object, else GENERAL_ROOT.
    """
    names = shape.properties
    only = shape.property(names[0]) if len(names) == 1 else None
    if only is not None and only.type == "object":
        return names[0]
    return GENERAL_ROOT


def _xml(value: Json, shape: Shape) -> bytes:
    """Encode a value as XML.

    Writing text takes half of the time that a tree of lxml takes. A test compares the
    bytes of both.
    """
    name = root_name(shape)
    parts = ["<?xml version='1.0' encoding='UTF-8'?>\n"]
    _object(name, value if name == GENERAL_ROOT else value[name], parts)
    return "".join(parts).encode()


_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
"""What XML requires in text (XML 1.0 §2.4 and §2.11).

A reader turns a raw carriage return into a line feed.
"""

_NOT_XML_TEXT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def sayable(text: str) -> str:
    """Return a client's text in a form that a response of either format can repeat.

    U+FFFD replaces the characters that XML cannot hold (XML 1.0 §2.2). JSON could hold
    them, but both formats shall have the same value.
    """
    return _NOT_XML_TEXT.sub("\ufffd", text)


def _object(name: str, value: dict[str, Json], parts: list[str]) -> None:
    """Append an element with a child for each key, in order.

    An array repeats its element. An element without children is written as `<x/>`.
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
    """Return the element of a text, a number, a boolean or null."""
    if value.__class__ is str:
        if "&" in value or "<" in value or ">" in value or "\r" in value:
            value = value.translate(_ESCAPES)
    elif value.__class__ is not int:
        value = orjson.dumps(value).decode()  # a number has the same digits as in JSON
    return f"<{name}>{value}</{name}>"


def _from_xml(data: bytes, shape: Shape) -> Json:
    """Return the value of a request's XML body.

    The root element is the schema's only property, where that is an object or a list, or
    an element of any name that contains all properties. Comments, processing instructions and attributes of `xsi`
    mean nothing (interface W1.4): libraries add them by themselves.
    """
    root = _tree(data)
    only = shape.property(_local(root.tag)) if len(shape.properties) == 1 else None
    if only is not None and only.type in ("object", "array"):
        return _properties([root], shape, "the body")
    return _read(root, shape)


def _tree(data: bytes) -> Any:
    """Parse XML and return its root element.

    Raises Undecodable where the text is no XML, or has a document type declaration.
    """
    from lxml import etree

    # UTF-8 is the only encoding, whatever the XML declaration says (RFC 7303 §3).
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        remove_blank_text=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root: Any = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise Undecodable(f"no XML: {error.msg}") from None
    if root.getroottree().docinfo.doctype:
        raise Undecodable("a document type declaration, which is not allowed")
    return root


def _local(tag: str) -> str:
    """Return a tag without its namespace.

    `xmlns` is allowed and means nothing (interface W1.4).
    """
    return tag.rpartition("}")[2]


def _read(element: Any, shape: Shape) -> Json:
    """Return the value of an element by its shape."""
    if any(not name.startswith(_XSI) for name in element.attrib):
        raise Undecodable(f"<{element.tag}> has attributes, which are not allowed")
    if shape.type == "object":
        around = (element.text, *(child.tail for child in element))
        if any(text and text.strip(_XML_SPACE) for text in around):
            raise Undecodable(f"<{element.tag}> holds text beside elements")
        return _properties(element, shape, f"<{element.tag}>")
    if len(element):
        raise Undecodable(
            f"<{element.tag}> holds elements where {shape.type} is expected"
        )
    text = element.text or ""
    return text if shape.type == "string" else _scalar(text, shape.type)


def _scalar(text: str, kind: str) -> Json:
    """Return the boolean or number that a text stands for; ``kind`` is its type. A text
    that is none stays.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    allowed = {"boolean": (bool,), "integer": (int,), "number": (int, float)}[kind]
    is_allowed = value.__class__ in allowed  # True is an int, too, by isinstance
    return value if is_allowed else text


def _properties(elements: Iterable[Any], shape: Shape, where: str) -> dict[str, Json]:
    """Return the object whose properties are elements. ``where``: what holds them.

    More items of an array than the schema allows are not read.
    """
    value: dict[str, Json] = {}
    for element in elements:
        name = _local(element.tag)
        inner = shape.property(name)
        if inner is None:
            raise Undecodable(f"{where} holds <{name}>, which is not known here")
        if inner.type == "array":
            listed = value.setdefault(name, [])
            if inner.items is None:
                continue
            most = inner.keyword("maxItems")
            if most is not None and len(listed) == most:
                raise Undecodable(f"{where} holds more than {most} of <{name}>")
            listed.append(_read(element, inner.items))
        elif name in value:
            raise Undecodable(f"{where} holds <{name}> twice")
        else:
            value[name] = _read(element, inner)
    return value


JSON = Format("json", "application/json", _json, _from_json)
XML = Format("xml", "application/xml", _xml, _from_xml)
RESPONSE_FORMATS = (JSON, XML)
MEDIA_TYPES = " or ".join(format.media_type for format in RESPONSE_FORMATS)

SCRIPTS = ("application/javascript", "text/javascript", "application/x-javascript")
"""What clients call JSON that is the argument of a function: the first is sent. RFC 9239
has all three.
"""

TEXT_XML = "text/xml"
"""What clients call XML beside its own media type (RFC 7303 §9.2)."""

REQUEST_FORMATS: Mapping[str, Format] = {
    **{format.media_type: format for format in RESPONSE_FORMATS},
    TEXT_XML: XML,
}
"""The formats of bodies by their media types."""

# -- for people to read ----------------------------------------------------------------


def indented(body: bytes, media_type: str) -> str:
    """Return the text of an encoded response, indented, with a line for each value.

    A body of another media type, such as JSONP, is returned unchanged.
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


# -- which of them a request accepts ---------------------------------------------------

_HTTP_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PARAMETER = rf"\s*;(?:\s*({_HTTP_TOKEN})=({_HTTP_TOKEN}|{_QUOTED}))?"
"""A parameter of a media range, or a semicolon alone (RFC 9110 §5.6.6).

Each space can be matched in one way only. So no header, however long, makes the regular
expression backtrack.
"""
MEDIA_RANGE = rf"\*|{_HTTP_TOKEN}/{_HTTP_TOKEN}"
"""A media range (RFC 9110 §12.5.1); Java sends `*; q=.2`, which means `*/*`."""
CODING = _HTTP_TOKEN
"""A content coding, `identity` or `*` (RFC 9110 §12.5.3)."""
_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?|\.[0-9]{1,3}", re.ASCII)
"""A weight (RFC 9110 §12.4.2), or one such as Java's `.2`."""


class AcceptedFormats(NamedTuple):
    """What an Accept header gets.

    Attributes:
        answer: the format of an answer; None: the header admits neither.
        script: the format of an answer that calls a function with its JSON; None: the
            header admits neither.
        name: of both, as in `json xml`; equal names get the same answers.
    """

    answer: Format | None
    script: Format | None
    name: str

    @property
    def refusal(self) -> Format:
        """The format of a refusal: a client that admits neither gets JSON."""
        return self.answer or JSON


@lru_cache(maxsize=256)
def accepted_formats(accept: str | None) -> AcceptedFormats:
    """Return what an Accept header prefers (RFC 9110 §12.5.1); None: there is no such
    header.

    The answer is JSON where the header is missing, malformed or `*/*`, or weighs both
    formats equally. A range that admits scripts admits JSON that a function is called with. The
    cache pays because clients send the same few headers again and again.
    """
    ranges = weights_in(accept, MEDIA_RANGE) or {"*": 1.0}
    weights = {
        format: _weight(format.media_type, ranges) for format in RESPONSE_FORMATS
    }
    # by its other name alone: text/* asks for a page
    weights[XML] = max(weights[XML], ranges.get(TEXT_XML, 0))
    answer = _heaviest(weights)
    of_scripts = [_weight(media_type, ranges) for media_type in SCRIPTS]
    script = _heaviest({**weights, JSON: max(weights[JSON], *of_scripts)})
    names = [format.name if format else "-" for format in (answer, script)]
    return AcceptedFormats(answer, script, " ".join(names))


def _heaviest(weights: Mapping[Format, float]) -> Format | None:
    """Return the format that weighs most, the first of several; None where none does."""
    format = max(weights, key=weights.__getitem__)
    return format if weights[format] else None


def _weight(media_type: str, ranges: Mapping[str, float]) -> float:
    """Return the weight of the most specific range that matches a media type. Some
    clients send `*/xml`, which HTTP does not have.
    """
    kind, subtype = media_type.split("/")
    matching = (media_type, f"{kind}/*", f"*/{subtype}", "*/*", "*")
    return next((ranges[each] for each in matching if each in ranges), 0.0)


def weights_in(header: str | None, names: str) -> dict[str, float]:
    """Return the weights of what a header lists (RFC 9110 §12.4.2), by their names in
    lower case. There are none where the header is missing or malformed.

    ``names``: MEDIA_RANGE or CODING.
    """
    weights: dict[str, float] = {}
    for part in map(str.strip, _split(header or "")):
        if not part:
            continue
        match = re.fullmatch(rf"({names})((?:{_PARAMETER})*)", part, re.ASCII)
        if match is None:
            return {}
        weight = 1.0
        for name, value in re.findall(_PARAMETER, match[2], re.ASCII):
            if name.lower() == "q":
                if not _QUALITY.fullmatch(value):
                    return {}
                weight = float(value)
        listed = match[1].lower()
        weights[listed] = max(weight, weights.get(listed, 0))
    return weights


def _split(accept: str) -> list[str]:
    """Split a header at its commas, except those in quotes."""
    return re.findall(r'(?:[^,"]|"(?:[^"\\]|\\.)*"?)+', accept)
