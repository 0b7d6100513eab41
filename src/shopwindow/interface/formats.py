"""The formats of responses (interface W1), and which one a request gets.

JSON and XML are encodings of one JSON value. In XML a key becomes an element, and an
array repeats its element; the schema decides only the name of the root. XML has no
types and no arrays, so reading it back takes a Shape, which is what a schema says of
types.
"""

import gc
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import orjson

from shopwindow.content.reading.yaml import BYTE_ORDER_MARK, Json
from shopwindow.content.schemas.shape import Shape
from shopwindow.interface.fields import Mask

GENERAL_ROOT = "response"
"""The root element of an answer that is not one object with a name (`root_name`)."""

Path = tuple[str, ...]
"""Keys from the root of a value to its items, as Operation.items has them."""

_XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
"""The namespace of attributes by which libraries note an element's type, or that it is
nil, as lxml writes it before their names.
"""

_XML_SPACE = " \t\r\n"
"""White space of XML 1.0 §2.3."""


class Undecodable(ValueError):
    """Bytes do not follow the format, or their value does not have the shape."""


@dataclass(frozen=True)
class Format:
    """A format of responses and request bodies.

    ``encode(value, shape)`` returns the bytes of a response. ``decode(bytes, shape,
    items, mask)`` returns their value; ``items`` and ``mask`` say which fields of which
    items a masked response has (Operation.items, `_fields`). ``read(bytes, shape)``
    returns the value of a request's body, in which a text may still stand where another
    type is required: the check of the body reports that. ``decode`` and ``read`` raise
    Undecodable.
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
    """The type of Format.decode."""

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


def _request_from_json(data: bytes, shape: Shape) -> Json:
    """Return the value of a request's JSON body.

    A byte order mark before it means nothing (RFC 8259 §8.1); writers of Windows put it
    there.

    No garbage is collected meanwhile. Otherwise Python walks over what is read again
    and again: five sixths of the time that 1 MB of nested lists takes.
    """
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        return _from_json(data.removeprefix(BYTE_ORDER_MARK), shape)
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
    """Return the value of a request's XML body.

    The root element is the schema's only property, or an element of any name that
    contains all properties. Comments, processing instructions and attributes of `xsi`
    mean nothing (interface W1.4): libraries add them by themselves.
    """
    root, names = _tree(data, strict=False), shape.properties
    inner = shape.property(names[0]) if len(names) == 1 else None
    if inner is None or _local(root.tag) != names[0]:
        return _read(root, shape, (), None, strict=False)
    if inner.type == "object":
        return {names[0]: _read(root, inner, (), None, strict=False)}
    if inner.type != "array":
        return _read(root, shape, (), None, strict=False)
    if inner.items is None:
        return {names[0]: []}
    return {names[0]: [_read(root, inner.items, (), None, strict=False)]}


def _tree(data: bytes, *, strict: bool = True) -> Any:
    """Parse XML and return its root element.

    With ``strict`` False, comments and processing instructions are left out. Raises
    Undecodable where the text is no XML, has a document type declaration, or has a
    comment or a processing instruction beside the root.
    """
    from lxml import etree

    # UTF-8 is the only encoding, whatever the XML declaration says (RFC 7303 §3).
    parser = etree.XMLParser(
        encoding="utf-8",
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        remove_blank_text=False,
        remove_comments=not strict,
        remove_pis=not strict,
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
    """Return a tag without its namespace.

    `xmlns` is allowed and means nothing (interface W1.4).
    """
    return tag.rpartition("}")[2]


def _read(
    element: Any, shape: Shape, items: Path, mask: Mask | None, *, strict: bool = True
) -> Json:
    """Return the value of an element by its shape.

    ``items`` is what remains of the path to the items; once it is empty, ``mask``
    applies. With ``strict`` False, text that is not of the shape's type stays text, no
    empty array is added, and attributes of `xsi` are ignored; more items than the
    schema allows are not read.
    """
    attributes = element.attrib
    if attributes and not strict:
        attributes = [name for name in attributes if not name.startswith(_XSI)]
    if attributes:
        raise Undecodable(f"<{element.tag}> has attributes, which are not allowed")
    if shape.type == "object":
        return _read_object(element, shape, items, mask, strict=strict)
    if len(element):
        raise Undecodable(
            f"<{element.tag}> holds elements or comments where {shape.type} is expected"
        )
    text = element.text or ""
    if shape.type == "string":
        return text
    return _scalar(text, shape.type, element.tag, strict=strict)


def _scalar(text: str, kind: str, tag: str, *, strict: bool) -> Json:
    """Return the boolean or number that a text stands for; ``kind`` is its type."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = None
    allowed = {"boolean": (bool,), "integer": (int,), "number": (int, float)}[kind]
    is_allowed = value.__class__ in allowed  # True is an int, too, by isinstance
    if is_allowed:
        return value
    if not strict:
        return text
    raise Undecodable(f"<{tag}> holds {text[:40]!r}, not {kind}")


def _read_object(
    element: Any, shape: Shape, items: Path, mask: Mask | None, *, strict: bool
) -> dict[str, Json]:
    if (element.text or "").strip(_XML_SPACE):
        raise Undecodable(f"<{element.tag}> holds text beside elements")
    value: dict[str, Json] = {}
    fields = dict(mask) if mask is not None and not items else None
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
        below: tuple[Path, Mask | None] = (), None
        if fields is not None:
            below = (), fields.get(name)
        elif items[:1] == (name,):
            below = items[1:], mask
        if inner.type == "array":
            if inner.items is not None:
                listed = value.setdefault(name, [])
                most = None if strict else inner.keyword("maxItems")
                if most is not None and len(listed) == most:
                    raise Undecodable(
                        f"<{element.tag}> holds more than {most} of <{name}>"
                    )
                listed.append(_read(child, inner.items, *below, strict=strict))
        elif name in value:
            raise Undecodable(f"<{element.tag}> holds <{name}> twice")
        else:
            value[name] = _read(child, inner, *below, strict=strict)
    if strict:
        _add_empty_arrays(value, shape, fields)
    return value


def _add_empty_arrays(
    value: dict[str, Json], shape: Shape, fields: Mapping[str, Any] | None
) -> None:
    """Add the empty arrays that a schema requires, for which XML has no element.

    ``fields``: those that a mask selects; None: there is no mask.
    """
    for name in shape.required:
        required = shape.property(name)
        missing = name not in value and (fields is None or name in fields)
        if missing and required is not None and required.type == "array":
            value[name] = []


JSON = Format("json", "application/json", _json, _from_json, _request_from_json)
XML = Format("xml", "application/xml", _xml, _from_xml, _request_from_xml)
RESPONSE_FORMATS = (JSON, XML)
MEDIA_TYPES = " or ".join(format.media_type for format in RESPONSE_FORMATS)

SCRIPTS = ("application/javascript", "text/javascript", "application/x-javascript")
"""What clients call JSON that is the argument of a function: the first is sent. RFC 9239
has all three.
"""

REQUEST_FORMATS: Mapping[str, Format] = {
    **{format.media_type: format for format in RESPONSE_FORMATS},
    "text/xml": XML,  # RFC 7303 §9.2: an alias
}
"""The formats of bodies by their media types."""

OTHER_XML = ["text", "xml"]
"""What clients call XML beside its own media type (RFC 7303 §9.2)."""

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
_MEDIA_RANGE = re.compile(
    rf"({_HTTP_TOKEN})/({_HTTP_TOKEN})((?:{_PARAMETER})*)", re.ASCII
)
_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?|\.[0-9]{1,3}", re.ASCII)
"""The weight of a media range (RFC 9110 §12.4.2), or one such as Java's `.2`."""


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
    """Return what an Accept header gets; None: there is no such header.

    The cache pays because clients send the same few headers again and again.
    """
    formats = negotiate(accept), negotiate(accept, script=True)
    name = " ".join(format.name if format else "-" for format in formats)
    return AcceptedFormats(*formats, name)


def negotiate(accept: str | None, *, script: bool = False) -> Format | None:
    """Return the format that an Accept header prefers (RFC 9110 §12.5.1).

    It is JSON where the header is missing, malformed or `*/*`, or weighs both formats
    equally. Returns None where the header admits neither. ``script``: the answer calls
    a function with its JSON, so a range that admits scripts admits JSON.
    """
    ranges = _ranges(accept)
    if not ranges:
        return JSON
    best: tuple[float, Format] | None = None
    for candidate in RESPONSE_FORMATS:
        quality = _quality(candidate.media_type, ranges)
        if candidate is XML:  # by its other name alone: text/* asks for a page
            weights = [weight for *name, weight in ranges if name == OTHER_XML]
            quality = max([quality, *weights])
        if script and candidate is JSON:
            of_scripts = [_quality(media_type, ranges) for media_type in SCRIPTS]
            quality = max(quality, *of_scripts)
        if quality > 0 and (best is None or quality > best[0]):
            best = (quality, candidate)
    return best[1] if best else None


def _quality(media_type: str, ranges: list[tuple[str, str, float]]) -> float:
    """Return the weight of the most specific range that matches a media type."""
    kind, _, subtype = media_type.partition("/")
    matching: list[tuple[int, float]] = []
    for range_kind, range_subtype, quality in ranges:
        if range_kind in ("*", kind) and range_subtype in ("*", subtype):
            specificity = (range_kind != "*") + (range_subtype != "*")
            matching.append((specificity, quality))
    return max(matching)[1] if matching else 0.0


def _ranges(accept: str | None) -> list[tuple[str, str, float]]:
    """Return the media ranges of an Accept header: type, subtype and weight.

    They are in lower case. There are none where the header is missing or malformed.
    """
    ranges = []
    for part in map(str.strip, _split(accept or "")):
        if not part:
            continue
        is_star = part.partition(";")[0].strip() == "*"
        if is_star:  # Java sends `*; q=.2`, which means `*/*`
            part = part.replace("*", "*/*", 1)
        match = _MEDIA_RANGE.fullmatch(part)
        if match is None:
            return []
        quality = 1.0
        for name, value in re.findall(_PARAMETER, match[3], re.ASCII):
            if name.lower() == "q":
                if not _QUALITY.fullmatch(value):
                    return []
                quality = float(value)
        ranges.append((match[1].lower(), match[2].lower(), quality))
    return ranges


def _split(accept: str) -> list[str]:
    """Split a header at its commas, except those in quotes."""
    return re.findall(r'(?:[^,"]|"(?:[^"\\]|\\.)*"?)+', accept)
