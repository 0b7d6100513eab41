"""The body of a request → a checked JSON value (interface W1).

A body may be JSON or XML, and its values may be texts where numbers are meant. The
value that `read` returns has at every place the one type of its schema.

The order keeps a hostile body cheap: 1 MB of a wrong shape takes 0.2 s of processor time
at most. What is no object is refused first. Then one walk over the body refuses too many
items, names or levels, since explaining what is wrong takes a thousand times longer than
deciding whether something is; the same walk brings each value to its schema's type. Then
the schema checks it. Last come characters that XML cannot hold. All faults of a body are
returned together, up to MAX_BODY_FAULTS.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice

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
from shopwindow.problems import Fault, Pointer, Refusal, cut, pointer_text

MAX_BODY_FAULTS = 50
"""Faults of one body that are looked for, since to explain takes a thousand times
longer than to decide.
"""

MAX_LEVELS = 16
"""Levels of objects and lists. No schema of a body goes beyond four."""

MORE_NAMES = 50
"""Names of an object beyond those that its schema lists. Up to so many, each is named.
"""

_shortened = partial(cut, limit=200)
"""A text for a message, which must not repeat a name that is as long as the body."""

MORE_ITEMS = 1000
"""Items and names in lists and objects that the schema does not allow, in a whole body.
Such a body is refused in any case; up to so many of them that is explained.
"""


def read(
    request: Request,
    operation: Operation,
    schemas: Schemas,
    content: Content | None,
    faults: list[Fault],
) -> Json:
    """Return the body of a request for an operation that has one.

    ``content``: its site.yaml names the cookies; without it, none is read.

    Returns None where it is missing and may be, or cannot be read. What is wrong with
    it is added to ``faults``. Raises Refusal for a Content-Type that is neither JSON
    nor XML.
    """
    if not request.body and operation.body_optional:
        return None
    shape = schemas.shape(operation.request_schema)
    format = JSON
    if request.body or "content-type" in request.headers:
        format = body_format(request.headers.get("content-type"))
    by_cookie = _cookie(operation.cookie, request, content)
    if not request.body and not by_cookie:
        names = ", ".join(shape.properties)
        faults.append(Fault("body", f"is missing; it holds {names}"))
        return None

    try:
        value = _decoded(request.body, format, shape, by_cookie)
    except Unreadable as error:
        faults.append(error.fault)
        return None
    findings = _findings(value, operation.request_schema, shape, schemas)
    barred = islice(_barred(value, shape), MAX_BODY_FAULTS)
    body_faults = [*map(_fault, findings), *barred]
    faults += body_faults[:MAX_BODY_FAULTS]
    if len(body_faults) >= MAX_BODY_FAULTS:
        faults.append(
            Fault("body", f"has more faults; the first {MAX_BODY_FAULTS} are named")
        )
    return value


class Unreadable(Exception):
    """A body that nobody looks at any further, with the one fault that says why."""

    def __init__(self, found: str, pointer: Pointer = ()) -> None:
        self.fault = Fault(
            _shortened(pointer_text(pointer)) or "body", _shortened(found)
        )


def _decoded(
    data: bytes, format: Format, shape: Shape, by_cookie: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the object that a body and a cookie hold, every value of its one type.

    Raises Unreadable. JSON is read again last, since each walk over 340,000 empty
    objects takes 0.2 s or more of processor time.
    """
    try:
        value = format.read(data, shape) if data else {}
    except Undecodable as error:
        raise Unreadable(str(error)) from None
    if not isinstance(value, dict):
        raise Unreadable("must be an object")
    value |= {name: text for name, text in by_cookie.items() if not value.get(name)}
    typed: dict[str, Json] = _Walk().typed(value, shape, ())
    if data and format is JSON:
        _require_unambiguous(data)
    return typed


class _Walk:
    """The one walk over a body. Nothing in it is too long, too large or too deep, and
    each spelling that the schema admits becomes the one type of its place.

    A list or an object where the schema has something else is refused in any case. So
    is what it holds, of which MORE_ITEMS are looked at in the whole body.
    """

    def __init__(self) -> None:
        self._spare = MORE_ITEMS

    def typed(self, value: Json, place: Shape | None, pointer: Pointer) -> Json:
        """Return the value at a place of the body. Raises Unreadable.

        The schema's keywords say what is admitted: ``x-single``: an array whose only
        item may stand alone. A property with ``x-ignored`` is left out, and so is an
        empty text that is not required. `_scalar` says the rest.
        """
        if isinstance(value, dict) and place and place.keyword("x-single"):
            value = [value]
        if isinstance(value, (dict, list)):
            self._bound(value, place, pointer)
        if isinstance(value, list):
            inner = place and place.items
            return [
                self.typed(item, inner, (*pointer, number))
                for number, item in enumerate(value)
            ]
        if isinstance(value, dict):
            return {
                key: self.typed(item, place and place.property(key), (*pointer, key))
                for key, item in value.items()
                if not _is_absent(key, item, place)
            }
        return _scalar(value, place) if place else value

    def _bound(
        self, value: dict[str, Json] | list[Json], place: Shape | None, pointer: Pointer
    ) -> None:
        """Raise Unreadable for a list or an object with too much in it."""
        is_list, size = isinstance(value, list), len(value)
        if size and len(pointer) >= MAX_LEVELS:
            raise Unreadable(
                f"goes deeper than {MAX_LEVELS} levels of objects and lists"
            )
        found = f"a list of {size:,}" if is_list else f"an object of {size:,} keys"
        types = place.keyword("type") if place else ()  # a text, or a list of texts
        kind = "array" if is_list else "object"
        if place is None or (types is not None and kind not in types):
            self._spare -= size
            if self._spare < 0:
                raise Unreadable(f"{found} is not allowed here", pointer)
            return
        most = len(place.properties) + MORE_NAMES
        if is_list:
            most = place.keyword("maxItems") or size
        if size > most:
            raise Unreadable(f"{found} is too large; allowed: at most {most}", pointer)


def _is_absent(name: str, value: Json, place: Shape | None) -> bool:
    """Return whether a property counts as if it were not there; ``place``: that of the
    object around it.
    """
    inner = place and place.property(name)
    if place is None or inner is None:  # the check names what is not known here
        return False
    is_empty = value == "" and name not in place.required
    return is_empty or bool(inner.keyword("x-ignored"))


def _scalar(value: Json, place: Shape) -> Json:
    """Return a text or a number as the type of its place, where the schema admits it.

    ``x-textual``: an integer that may come as text; ``x-numeric``: text that may come
    as a whole number; ``enum``: words in any case. Any other value stays as it is, for
    the schema to check.
    """
    if isinstance(value, str):
        if place.keyword("x-textual") and value.isascii() and value.isdecimal():
            return int(value) if len(value) <= 16 else value
        words = place.keyword("enum") or ()
        texts = [word for word in words if isinstance(word, str)]
        return in_any_case(value, texts) or value
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_whole and place.keyword("x-numeric") else value


def _findings(
    value: dict[str, Json], name: str, shape: Shape, schemas: Schemas
) -> list[Finding]:
    """Return at most MAX_BODY_FAULTS findings of the schema ``name`` in a body.

    Whoever explains, explains all that is wrong: a second for 16,000 wrong entries of
    the mobile log. So a long list ends for it at the last item that is explained.
    """
    shorter = dict(value)
    for key, items in () if schemas.valid(name, value) else value.items():
        place = shape.at((key, 0))
        if place and isinstance(items, list):
            wrong = (end for end, item in enumerate(items, 1) if not place.admits(item))
            last = next(islice(wrong, MAX_BODY_FAULTS - 1, None), len(items))
            shorter[key] = items[:last]
    return schemas.findings(name, shorter, MAX_BODY_FAULTS)


def _barred(value: Json, shape: Shape) -> Iterator[Fault]:
    """Yield a fault for each text with a character that XML cannot hold.

    Properties with ``x-any-character`` may have such.
    """
    if not may_break_xml(encoded(value)):
        return
    for finding in not_xml(value):
        place = shape.at(finding.pointer)
        if place is None or not place.keyword("x-any-character"):
            where = _shortened(pointer_text(finding.pointer))
            yield Fault(where, f"{finding.found}, in JSON neither")


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
            Fault("Content-Type", f"must be {MEDIA_TYPES}, in UTF-8, not {shown}"),
        )
    return format


def _require_unambiguous(data: bytes) -> None:
    """Raise Unreadable for JSON that different readers understand differently.

    That is a key that stands twice, or a whole number of which many readers, orjson
    among them, keep only the first digits.
    """
    try:
        json.loads(data, object_pairs_hook=_each_once, parse_int=_exact)
    except RecursionError:
        raise Unreadable("nested too deep to be read") from None


def _each_once(pairs: list[tuple[str, Json]]) -> None:
    """Raise Unreadable where an object has a key twice."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise Unreadable(f"the key {name[:40]!r} stands in one object twice")
        seen.add(name)


def _exact(text: str) -> int:
    """Return a whole number; raise Unreadable where it needs more than 64 bits."""
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**64:
        raise Unreadable(
            f"the number {text[:40]} has more digits than readers keep; it may be sent as text"
        )
    return number


def _cookie(
    cookie: Cookie | None, request: Request, content: Content | None
) -> dict[str, Json]:
    """Return the property of the body that a cookie holds; empty without the cookie.

    Of two cookies of one name it is the first, whose path fits best (RFC 6265 §5.4).
    The header is split here, because the standard library's reader gives up at the
    first malformed cookie, whoever has set it.
    """
    if cookie is None or content is None:
        return {}
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
            _shortened(pointer_text((*finding.pointer, finding.missing))), "is missing"
        )
    found, allowed = _shortened(finding.found), finding.allowed
    for layout in LAYOUTS.values():
        allowed = allowed.removesuffix(f": {layout}")
    return Fault(
        _shortened(pointer_text(finding.pointer)),
        f"{found}; allowed: {_shortened(allowed)}" if allowed else found,
    )


def encoded(value: Json) -> bytes:
    """Return a value as JSON in one spelling: equal bodies have equal bytes."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
