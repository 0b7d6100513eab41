"""The body of a request → a checked JSON value (wire shapes §1).

A body may be JSON or XML, and its values may be texts where numbers are meant. What
comes out has at every place the one type of its schema, and all faults are found at
once. Whoever sends a body need not be a customer, so its size in items, names and
levels is refused before anything is explained: explaining takes a thousand times longer
than deciding.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import orjson

from shopwindow.content.characters import not_xml
from shopwindow.content.documents import Content
from shopwindow.content.finding import Finding
from shopwindow.content.schema import Schemas
from shopwindow.content.shape import Shape
from shopwindow.content.wording import LAYOUTS
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Request
from shopwindow.interface.formats import (
    JSON,
    MEDIA_TYPES,
    RESPONSE_FORMATS,
    Format,
    Undecodable,
)
from shopwindow.interface.operation import Cookie, Operation
from shopwindow.problems import Fault, Pointer, Refusal, pointer_text


class Bodies(NamedTuple):
    """What reading a body takes: the schemas, and the content whose site.yaml names
    cookies.
    """

    schemas: Schemas
    content: Content


def read(
    request: Request, operation: Operation, bodies: Bodies, faults: list[Fault]
) -> Json:
    """Return the body of a request for an operation that has one.

    None where it is missing and may be. What is wrong with it is added to ``faults``.
    Raises Refusal for a Content-Type that is neither JSON nor XML.
    """
    shape = bodies.schemas.shape(operation.request_schema)
    value: Json = {}
    excess: Fault | None = None
    if not request.body and operation.body_optional:
        return None
    if request.body or "content-type" in request.headers:
        format = body_format(request.headers.get("content-type"))
        try:
            value = format.read(request.body, shape) if request.body else {}
            excess = _excess(value, shape)
            if format is JSON and request.body and not excess:
                _unambiguous(request.body)
        except Undecodable as error:
            faults.append(Fault("body", _cut(str(error))))
            return None
    if not isinstance(value, dict):
        faults.append(Fault("body", "must be an object"))
        return None
    if excess:
        faults.append(excess)
        return None
    if operation.cookie:
        value = {**_cookie(operation.cookie, request, bodies.content), **value}
    if not value and not request.body:
        faults.append(
            Fault("body", f"is missing; it holds {', '.join(shape.properties)}")
        )
        return None
    value = coerced(value, shape)
    findings = _findings(value, operation.request_schema, shape, bodies.schemas)
    body_faults = list(map(_fault, findings))
    if len(body_faults) < MAX_BODY_FAULTS:
        body_faults += islice(_barred(value, shape), MAX_BODY_FAULTS)
    faults += body_faults[:MAX_BODY_FAULTS]
    if len(body_faults) >= MAX_BODY_FAULTS:
        faults.append(
            Fault("body", f"has more faults; the first {MAX_BODY_FAULTS} are named")
        )
    return value


MAX_BODY_FAULTS = 50
"""Faults of one body that are looked for, since to explain takes a thousand times
longer than to decide.
"""

MAX_LEVELS = 16
"""Levels of objects and lists. No schema of a body goes beyond four."""

MORE_NAMES = 50
"""Names of an object beyond those that its schema lists. Up to so many, each is named.
"""

MORE_ITEMS = 1000
"""Items of a list where the schema knows none. It is refused in any case; up to so many
items that is explained.
"""


def _excess(value: Json, shape: Shape) -> Fault | None:
    """Return what there are too many of in a body: items of a list, names of an object,
    levels.

    This comes before anything is explained. Otherwise each of 41,000 items in a bag
    would be explained, which takes 1.5 s of processor time, though their number refuses
    them already.
    """
    places: list[tuple[Pointer, Json, Shape | None]] = [((), value, shape)]
    while places:
        pointer, part, place = places.pop()
        size, most = 0, 0
        if isinstance(part, list):
            limit = place.keyword("maxItems") if place else MORE_ITEMS
            size, most = len(part), limit if isinstance(limit, int) else len(part)
        elif isinstance(part, dict):
            size, most = len(part), len(place.properties if place else ()) + MORE_NAMES
        if size > most:
            seen = (
                f"a list of {size:,} is too long"
                if isinstance(part, list)
                else f"an object of {size:,} keys is too large"
            )
            return Fault(
                _cut(pointer_text(pointer)) or "body",
                f"{seen}; allowed: at most {most}",
            )
        if size and len(pointer) >= MAX_LEVELS:
            return Fault(
                "body", f"goes deeper than {MAX_LEVELS} levels of objects and lists"
            )
        if isinstance(part, dict):
            places += [
                ((*pointer, name), inner, place.property(name) if place else None)
                for name, inner in part.items()
                if isinstance(inner, (dict, list))
            ]
        elif isinstance(part, list):
            items = place.items if place else None
            places += [
                ((*pointer, index), inner, items)
                for index, inner in enumerate(part)
                if isinstance(inner, (dict, list))
            ]
    return None


def _findings(value: Json, name: str, shape: Shape, schemas: Schemas) -> list[Finding]:
    """What the schema ``name`` says is wrong with a body, MOST of it.

    jsonschema walks past every right item to the next wrong one, 100 times slower than
    the validator that only decides. So that one picks MOST wrong items of a long list,
    and only these are explained, at their own places.
    """
    if not isinstance(value, dict) or schemas.valid(name, value):
        return schemas.findings(name, value, MAX_BODY_FAULTS)
    shorter, places = dict(value), {}
    for key, items in value.items():
        if isinstance(items, list) and len(items) > MAX_BODY_FAULTS:
            wrong = (
                index
                for index, item in enumerate(items)
                if not schemas.valid(name, {**value, key: [item]})
            )
            places[key] = list(islice(wrong, MAX_BODY_FAULTS))
            shorter[key] = [items[index] for index in places[key]]
    found = (
        schemas.findings(name, shorter, MAX_BODY_FAULTS)
        if all(places.values())
        else schemas.findings(name, value, MAX_BODY_FAULTS)
    )
    return (
        [_moved(finding, places) for finding in found]
        if all(places.values())
        else found
    )


def _moved(finding: Finding, places: Mapping[str, list[int]]) -> Finding:
    """A finding about an item of a shortened list, at the item's place in the whole
    list.
    """
    match finding.pointer:
        case (str(key), int(index), *rest) if key in places:
            return replace(finding, pointer=(key, places[key][index], *rest))
    return finding


def _barred(value: Json, shape: Shape) -> Iterator[Fault]:
    """The texts that hold what XML cannot, but for those that may."""
    for pointer, found, _ in not_xml(value):
        place = shape.at(pointer)
        if place is None or not place.keyword("x-any-character"):
            yield Fault(_cut(pointer_text(pointer)), f"{found}, in JSON neither")


def _cut(text: str) -> str:
    """What is said of a body does not repeat it: a name in it may be as long as all of
    it.
    """
    return text if len(text) <= 200 else f"{text[:199]}…"


def body_format(content_type: str | None) -> Format:
    """The format of a body, by its Content-Type without case; UTF-8 is the only
    charset. Raises Refusal.
    """
    media_type, _, rest = (content_type or "").partition(";")
    found = next(
        (
            format
            for format in RESPONSE_FORMATS
            if format.media_type == media_type.strip().lower()
        ),
        None,
    )
    charset = rest.lower().partition("charset=")[2].partition(";")[0].strip(' "')
    if found is None or charset not in ("", "utf-8", "utf8"):
        shown = (content_type or "nothing")[:100]
        raise Refusal(
            "media_type",
            (Fault("Content-Type", f"must be {MEDIA_TYPES}, in UTF-8, not {shown}"),),
        )
    return found


def _unambiguous(data: bytes) -> None:
    """Raises Undecodable for JSON that readers read differently.

    That is at a key that stands twice, and at a whole number of which many, orjson too,
    keep but the first digits.
    """
    try:
        json.loads(data, object_pairs_hook=_each_once, parse_int=_exact)
    except RecursionError:
        raise Undecodable("nested too deep to be read") from None


def _each_once(pairs: list[tuple[str, Json]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise Undecodable(f"the key {name[:40]!r} stands in one object twice")
        seen.add(name)


def _exact(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**64:
        raise Undecodable(
            f"the number {text[:40]} has more digits than readers keep; it may be sent as text"
        )
    return number


def coerced(value: Json, shape: Shape | None) -> Json:
    """The value with every place of its one type, where the schema admits another
    spelling of it.

    ``x-textual``: an integer that may come as text; ``x-numeric``: text that may come
    as a whole number; ``x-single``: an array whose only item may stand alone.
    """
    if shape is None:
        return value
    if shape.keyword("x-single") and isinstance(value, dict):
        value = [value]
    if isinstance(value, dict):
        return {key: coerced(item, shape.property(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [coerced(item, shape.items) for item in value]
    if (
        shape.keyword("x-textual")
        and isinstance(value, str)
        and value.isascii()
        and value.isdecimal()
    ):
        return int(value) if len(value) <= 16 else value
    if (
        shape.keyword("x-numeric")
        and isinstance(value, int)
        and not isinstance(value, bool)
    ):
        return str(value)
    return value


def _cookie(cookie: Cookie, request: Request, content: Content) -> dict[str, Json]:
    """What a cookie gives of the body. Of two of one name it is the first (RFC 6265
    §5.4): its path fits best.

    The header is taken apart by hand: the standard library's reader gives up at the
    first cookie that is not as it should be, whoever has set it.
    """
    name = content.setting(cookie.setting)
    for part in request.headers.get("cookie", "").split(";"):
        key, _, text = part.partition("=")
        if key.strip() == name:
            return {cookie.property: text.strip().removeprefix('"').removesuffix('"')}
    return {}


def _fault(finding: Finding) -> Fault:
    if finding.missing is not None:
        return Fault(
            _cut(pointer_text((*finding.pointer, finding.missing))), "is missing"
        )
    found, allowed = _cut(finding.found), finding.allowed
    for layout in LAYOUTS.values():
        allowed = allowed.removesuffix(f": {layout}")
    return Fault(
        _cut(pointer_text(finding.pointer)),
        f"{found}; allowed: {_cut(allowed)}" if allowed else found,
    )


def encoded(value: Json) -> bytes:
    """A value as JSON in one spelling: what tells whether two bodies are the same."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
