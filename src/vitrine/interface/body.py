"""The body of a request → a checked JSON value, every place of its schema's one type (wire shapes §1)."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import orjson

from vitrine.content.characters import not_xml
from vitrine.content.model import Content
from vitrine.content.schema import LAYOUTS, Finding, Schemas, Shape
from vitrine.content.yaml import Json
from vitrine.interface.call import Request
from vitrine.interface.formats import FORMATS, JSON, MEDIA_TYPES, Format, Undecodable
from vitrine.interface.operation import Cookie, Operation
from vitrine.problems import Fault, Refusal, pointer_text


class Bodies(NamedTuple):
    """What reading a body takes: the schemas, and the content whose site.yaml names cookies."""

    schemas: Schemas
    content: Content


def read(request: Request, operation: Operation, bodies: Bodies, faults: list[Fault]) -> Json:
    """The body of a request for an operation that has one; what is wrong with it is added to ``faults``.

    None where it may be missing and is. Raises Refusal for a Content-Type that is neither JSON nor XML.
    """
    shape = bodies.schemas.shape(operation.request_schema)
    value: Json = {}
    if not request.body and operation.body_optional:
        return None
    if request.body or "content-type" in request.headers:
        format = _format(request.headers.get("content-type"))
        try:
            value = _decoded(request.body, format, shape) if request.body else {}
        except Undecodable as error:
            faults.append(Fault("body", _cut(str(error))))
            return None
    if not isinstance(value, dict):
        faults.append(Fault("body", "must be an object"))
        return None
    if operation.cookie:
        value = {**_cookie(operation.cookie, request, bodies.content), **value}
    if not value and not request.body:
        faults.append(Fault("body", f"is missing; it holds {', '.join(shape.properties)}"))
        return None
    value = coerced(value, shape)
    found = [_fault(finding) for finding in bodies.schemas.findings(operation.request_schema, value, MOST)]
    found += islice(_barred(value, shape), MOST)
    faults += found[:MOST]
    if len(found) >= MOST:
        faults.append(Fault("body", f"has more faults; the first {MOST} are named"))
    return value


MOST = 50
"""Faults of one body that are looked for: it takes a thousand times longer to say what is wrong than to see it."""


def _barred(value: Json, shape: Shape) -> Iterator[Fault]:
    """The texts that hold what XML cannot, but for those that may."""
    for pointer, found, _ in not_xml(value):
        place = shape.at(pointer)
        if place is None or not place.keyword("x-any-character"):
            yield Fault(_cut(pointer_text(pointer)), f"{found}, in JSON neither")


def _cut(text: str) -> str:
    """What is said of a body does not repeat it: a name in it may be as long as all of it."""
    return text if len(text) <= 200 else f"{text[:199]}…"


def _format(content_type: str | None) -> Format:
    """The format of a body, by its Content-Type without case; UTF-8 is the only charset. Raises Refusal."""
    media_type, _, rest = (content_type or "").partition(";")
    found = next((format for format in FORMATS if format.media_type == media_type.strip().lower()), None)
    charset = rest.lower().partition("charset=")[2].partition(";")[0].strip(' "')
    if found is None or charset not in ("", "utf-8", "utf8"):
        shown = (content_type or "nothing")[:100]
        raise Refusal("media_type", (Fault("Content-Type", f"must be {MEDIA_TYPES}, in UTF-8, not {shown}"),))
    return found


def _decoded(data: bytes, format: Format, shape: Shape) -> Json:
    """A body's value. Raises Undecodable: for JSON also where readers read differently.

    That is at a key that stands twice, and at a whole number of which many, orjson too, keep but the first digits.
    """
    value = format.read(data, shape)
    if format is JSON:
        try:
            json.loads(data, object_pairs_hook=_each_once, parse_int=_exact)
        except RecursionError:
            raise Undecodable("nested too deep to be read") from None
    return value


def _each_once(pairs: list[tuple[str, Json]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise Undecodable(f"the key {name[:40]!r} stands in one object twice")
        seen.add(name)


def _exact(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**64:
        raise Undecodable(f"the number {text[:40]} has more digits than readers keep; it may be sent as text")
    return number


def coerced(value: Json, shape: Shape | None) -> Json:
    """The value with every place of its one type, where the schema admits another spelling of it.

    ``x-textual``: an integer that may come as text; ``x-numeric``: text that may come as a whole number;
    ``x-single``: an array whose only item may stand alone.
    """
    if shape is None:
        return value
    if shape.keyword("x-single") and isinstance(value, dict):
        value = [value]
    if isinstance(value, dict):
        return {key: coerced(item, shape.property(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [coerced(item, shape.items) for item in value]
    if shape.keyword("x-textual") and isinstance(value, str) and value.isascii() and value.isdecimal():
        return int(value) if len(value) <= 16 else value
    if shape.keyword("x-numeric") and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


def _cookie(cookie: Cookie, request: Request, content: Content) -> dict[str, Json]:
    """What a cookie gives of the body. Of two of one name it is the first (RFC 6265 §5.4): its path fits best.

    The header is taken apart by hand: the standard library's reader gives up at the first cookie that is not as it
    should be, whoever has set it.
    """
    name = content.setting(cookie.setting)
    for part in request.headers.get("cookie", "").split(";"):
        key, _, text = part.partition("=")
        if key.strip() == name:
            return {cookie.property: text.strip().removeprefix('"').removesuffix('"')}
    return {}


def _fault(finding: Finding) -> Fault:
    if finding.missing is not None:
        return Fault(_cut(pointer_text((*finding.pointer, finding.missing))), "is missing")
    found, allowed = _cut(finding.found), finding.allowed
    for layout in LAYOUTS.values():
        allowed = allowed.removesuffix(f": {layout}")
    return Fault(_cut(pointer_text(finding.pointer)), f"{found}; allowed: {_cut(allowed)}" if allowed else found)


def encoded(value: Json) -> bytes:
    """A value as JSON in one spelling: what tells whether two bodies are the same."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
