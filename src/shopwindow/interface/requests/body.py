"""The body of a request → a checked JSON value (interface W1).

A body may be JSON or XML, and its values may be texts where numbers are meant. The
value that `read` returns has at every place the one type of its schema.

The order keeps a hostile body cheap: 1 MB of a wrong shape takes 0.2 s of processor time
at most. What is no object is refused first, then too many items, names or levels, since
explaining what is wrong takes a thousand times longer than deciding whether something
is. Then the value is brought to its schema's types (`coerced`), and checked
by the schema. Last come characters that XML cannot hold. All faults of a body are
returned together, up to MAX_BODY_FAULTS.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import orjson

from shopwindow.content.documents.characters import may_break_xml, not_xml
from shopwindow.content.documents.documents import Content
from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.content.schemas.shape import Shape
from shopwindow.content.schemas.wording import LAYOUTS
from shopwindow.interface.declaring.kinds import in_any_case
from shopwindow.interface.declaring.operation import Cookie, Operation
from shopwindow.interface.formats import (
    JSON,
    MEDIA_TYPES,
    REQUEST_FORMATS,
    Format,
    Undecodable,
)
from shopwindow.interface.request import Request
from shopwindow.problems import Fault, Pointer, Refusal, pointer_text

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
"""Items and names in lists and objects that the schema does not allow, in a whole body.
Such a body is refused in any case; up to so many of them that is explained.
"""


class Bodies(NamedTuple):
    """What reading a body needs beside the request.

    ``content``: its site.yaml names the cookies.
    """

    schemas: Schemas
    content: Content


def read(
    request: Request, operation: Operation, bodies: Bodies, faults: list[Fault]
) -> Json:
    """Return the body of a request for an operation that has one.

    Returns None where it is missing and may be, or cannot be read. What is wrong with
    it is added to ``faults``. Raises Refusal for a Content-Type that is neither JSON
    nor XML.
    """
    shape = bodies.schemas.shape(operation.request_schema)
    if not request.body and operation.body_optional:
        return None
    value: Json = {}
    if request.body or "content-type" in request.headers:
        format = body_format(request.headers.get("content-type"))
        decoded = _decoded(request.body, format, shape) if request.body else {}
        if isinstance(decoded, Fault):
            faults.append(decoded)
            return None
        value = decoded
    if operation.cookie:
        by_cookie = _cookie(operation.cookie, request, bodies.content)
        value |= {name: text for name, text in by_cookie.items() if not value.get(name)}
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


def _decoded(data: bytes, format: Format, shape: Shape) -> dict[str, Json] | Fault:
    """Return the object that a body holds, or why nobody looks at what it holds.

    The type of the whole body is first, and then come lengths. Only then do readers
    walk over the elements: each walk over 340,000 empty objects takes 0.2 s or more of
    processor time.
    """
    try:
        value = format.read(data, shape)
        if not isinstance(value, dict):
            return Fault("body", "must be an object")
        if excess := _excess(value, shape):
            return excess
        if format is JSON:
            _unambiguous(data)
    except Undecodable as error:
        return Fault("body", _cut(str(error)))
    return value


def _excess(value: dict[str, Json], shape: Shape) -> Fault | None:
    """Return a fault for too many items of a list, names of an object, or levels.

    A list or an object where the schema has something else is refused in any case. So
    is what it holds, of which MORE_ITEMS are looked at in the whole body.
    """
    spare = MORE_ITEMS
    places: list[tuple[Pointer, Json, Shape | None]] = [((), value, shape)]
    while places:
        pointer, part, place = places.pop()
        is_list, size = isinstance(part, list), len(part)
        if place and not is_list and place.keyword("x-single"):
            place = place.items
        if size and len(pointer) >= MAX_LEVELS:
            return Fault(
                "body", f"goes deeper than {MAX_LEVELS} levels of objects and lists"
            )
        if place is None or not _allows(place, "array" if is_list else "object"):
            spare -= size
            if spare < 0:
                seen = (
                    f"a list of {size:,}" if is_list else f"an object of {size:,} keys"
                )
                return Fault(_where(pointer), f"{seen} is not allowed here")
        elif is_list:
            most = place.keyword("maxItems")
            if isinstance(most, int) and size > most:
                return Fault(
                    _where(pointer),
                    f"a list of {size:,} is too long; allowed: at most {most}",
                )
        elif size > (most := len(place.properties) + MORE_NAMES):
            return Fault(
                _where(pointer),
                f"an object of {size:,} keys is too large; allowed: at most {most}",
            )
        members = enumerate(part) if is_list else part.items()
        places += [
            ((*pointer, key), inner, _below(place, key))
            for key, inner in members
            if inner and isinstance(inner, (dict, list))
        ]
    return None


def _where(pointer: Pointer) -> str:
    """Return a place in a body in words, or `body` for all of it."""
    return _cut(pointer_text(pointer)) or "body"


def _allows(place: Shape, kind: str) -> bool:
    """Return whether a place may have a value of a JSON type."""
    kinds = place.keyword("type")  # a text, or a list of texts
    return kinds is None or kind in kinds


def _below(place: Shape | None, key: str | int) -> Shape | None:
    """Return the place of an item or of a property, if the schema has one."""
    return place.at((key,)) if place else None


def _findings(value: Json, name: str, shape: Shape, schemas: Schemas) -> list[Finding]:
    """Return at most MAX_BODY_FAULTS findings of the schema ``name`` in a body.

    jsonschema explains, and walks past every right item to the next wrong one 100 times
    slower than the validator that only decides. So that validator first picks
    MAX_BODY_FAULTS wrong items of each long list. jsonschema then sees a body with only
    these items, and its findings are moved to the items' own places.

    Where a long list has no wrong item by itself, the list as a whole is wrong; then
    jsonschema sees all of the body.
    """
    is_valid = schemas.checker(name)
    if not isinstance(value, dict) or is_valid(value):
        return schemas.findings(name, value, MAX_BODY_FAULTS)
    shorter, places = dict(value), {}
    for key, items in value.items():
        if isinstance(items, list) and len(items) > MAX_BODY_FAULTS:
            wrong = _wrong(value, key, is_valid)
            places[key] = list(islice(wrong, MAX_BODY_FAULTS))
            shorter[key] = [items[index] for index in places[key]]
    if not all(places.values()):
        return schemas.findings(name, value, MAX_BODY_FAULTS)
    findings = schemas.findings(name, shorter, MAX_BODY_FAULTS)
    return [_moved(finding, places) for finding in findings]


def _wrong(
    value: dict[str, Json], key: str, is_valid: Callable[[Json], bool]
) -> Iterator[int]:
    """Yield the numbers of the items that are not valid by themselves.

    ``key``: of the list in the body. So many items at a time are checked that valid
    ones cost little.
    """
    items = value[key]
    for start in range(0, len(items), MAX_BODY_FAULTS):
        some = items[start : start + MAX_BODY_FAULTS]
        if is_valid({**value, key: some}):
            continue
        for index, item in enumerate(some, start):
            if not is_valid({**value, key: [item]}):
                yield index


def _moved(finding: Finding, places: Mapping[str, list[int]]) -> Finding:
    """Return a finding in a shortened list at the item's place in the whole list.

    ``places``: property → the items' numbers in the whole list.
    """
    match finding.pointer:
        case (str(key), int(index), *rest) if key in places:
            return replace(finding, pointer=(key, places[key][index], *rest))
    return finding


def _barred(value: Json, shape: Shape) -> Iterator[Fault]:
    """Yield a fault for each text with a character that XML cannot hold.

    Properties with ``x-any-character`` may have such.
    """
    if not may_break_xml(encoded(value)):
        return
    for finding in not_xml(value):
        place = shape.at(finding.pointer)
        if place is None or not place.keyword("x-any-character"):
            where = _cut(pointer_text(finding.pointer))
            yield Fault(where, f"{finding.found}, in JSON neither")


def _cut(text: str) -> str:
    """Return a text of at most 200 characters for a message.

    A name in a body may be as long as the body, and a message must not repeat that.
    """
    return text if len(text) <= 200 else f"{text[:199]}…"


def body_format(content_type: str | None) -> Format:
    """Return the format of a body by its Content-Type, whose case does not matter.

    Raises Refusal for any other media type, and for a charset that is not UTF-8.
    """
    media_type, _, rest = (content_type or "").partition(";")
    media_type = media_type.strip().lower()
    format = REQUEST_FORMATS.get(media_type)
    charset = rest.lower().partition("charset=")[2].partition(";")[0].strip(' "')
    if format is None or charset not in ("", "utf-8", "utf8"):
        shown = (content_type or "nothing")[:100]
        raise Refusal(
            "media_type",
            (Fault("Content-Type", f"must be {MEDIA_TYPES}, in UTF-8, not {shown}"),),
        )
    return format


def _unambiguous(data: bytes) -> None:
    """Raise Undecodable for JSON that different readers understand differently.

    That is a key that stands twice, or a whole number of which many readers, orjson
    among them, keep only the first digits.
    """
    try:
        json.loads(data, object_pairs_hook=_each_once, parse_int=_exact)
    except RecursionError:
        raise Undecodable("nested too deep to be read") from None


def _each_once(pairs: list[tuple[str, Json]]) -> None:
    """Raise Undecodable where an object has a key twice."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise Undecodable(f"the key {name[:40]!r} stands in one object twice")
        seen.add(name)


def _exact(text: str) -> int:
    """Return a whole number; raise Undecodable where it needs more than 64 bits."""
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**64:
        raise Undecodable(
            f"the number {text[:40]} has more digits than readers keep; it may be sent as text"
        )
    return number


def coerced(value: Json, shape: Shape | None) -> Json:
    """Return a value in which each spelling that a schema admits has become its type.

    The schema's keywords say which: ``x-textual``: an integer that may come as text;
    ``x-numeric``: text that may come as a whole number; ``x-single``: an array whose
    only item may stand alone; ``enum``: words in any case. A property with
    ``x-ignored`` is left out, and so is an empty text that is not required. Any other
    value stays as it is, for the schema to check.
    """
    if shape is None:
        return value
    if isinstance(value, dict) and shape.keyword("x-single"):
        value = [value]
    if isinstance(value, dict):
        return {
            key: coerced(item, shape.property(key))
            for key, item in value.items()
            if not _is_absent(key, item, shape)
        }
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
    words = shape.keyword("enum")
    if words and isinstance(value, str):
        texts = [word for word in words if isinstance(word, str)]
        return in_any_case(value, texts) or value
    return value


def _is_absent(name: str, value: Json, shape: Shape) -> bool:
    """Return whether a property of an object counts as if it were not there."""
    place = shape.property(name)
    if place is None:  # the check names what is not known here
        return False
    is_empty = value == "" and name not in shape.required
    return is_empty or bool(place.keyword("x-ignored"))


def _cookie(cookie: Cookie, request: Request, content: Content) -> dict[str, Json]:
    """Return the property of the body that a cookie holds; empty without the cookie.

    Of two cookies of one name it is the first, whose path fits best (RFC 6265 §5.4).
    The header is split here, because the standard library's reader gives up at the
    first malformed cookie, whoever has set it.
    """
    name = content.setting(cookie.setting)
    for part in request.headers.get("cookie", "").split(";"):
        key, _, text = part.partition("=")
        if key.strip() == name:
            return {cookie.property: text.strip().removeprefix('"').removesuffix('"')}
    return {}


def _fault(finding: Finding) -> Fault:
    """Return a schema's finding as a fault, in a client's words."""
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
    """Return a value as JSON in one spelling: equal bodies have equal bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
