"""A Call becomes a Response; so does a Refusal, by one table of codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from vitrine.content.model import Content, InJson
from vitrine.content.schema import Schemas
from vitrine.content.yaml import Json
from vitrine.interface.call import Call
from vitrine.interface.fields import Mask, select
from vitrine.interface.formats import JSON, Format, sayable
from vitrine.interface.operation import FromContent, Operation, Outcome
from vitrine.problems import Refusal


@dataclass(frozen=True)
class Code:
    """A row of the table: the HTTP status, the errorCode in the body and its message (wire shapes §1)."""

    status: int
    error_code: int
    message: str


CODES = {
    "invalid": Code(400, 400, "The request is not valid"),
    "no_key": Code(401, 401, "The API key is missing or unknown"),
    "no_data": Code(404, 409, "No data for search criteria"),
    "no_mapping": Code(404, 101, "There is no mapping for request"),
    "method": Code(405, 102, "The method is not allowed for this path"),
    "not_acceptable": Code(406, 103, "None of the accepted formats is available"),
    "too_large": Code(413, 104, "The body is too large"),
    "media_type": Code(415, 106, "The body's Content-Type is missing or not supported"),
    "uri_too_long": Code(414, 105, "The address is too long"),
    "not_found": Code(404, 409, "No data for search criteria"),
    "precondition": Code(412, 412, "It was changed meanwhile"),
    "repeated_otherwise": Code(422, 422, "The Idempotency-Key was used for another request"),
    "too_many": Code(429, 429, "Too many requests"),
    "internal": Code(500, 500, "The service failed"),
    "bad_gateway": Code(502, 201, "The service could not be reached"),
    "unavailable": Code(503, 202, "The service is not available"),
    "timeout": Code(504, 203, "The service did not answer in time"),
}
KEY_HEADER = "x-svc-webservice-client-id"
VARY = ("Accept", "Accept-Encoding", KEY_HEADER)
ERROR_SCHEMA = "responses/error.json"
FAILURE_SCHEMA = "responses/supc_failure.json"


class Response(NamedTuple):
    """An answer. ``lifetime``: seconds for which it may be kept; None: not at all."""

    status: int
    media_type: str
    body: bytes
    lifetime: int | None = None
    headers: tuple[tuple[str, str], ...] = ()


def answer(call: Call, content: Content, schemas: Schemas) -> Response:
    """The answer to a Call, from content alone."""
    masked = any(name == "_fields" for name, _ in call.arguments)
    value = value_of(call, InJson(content) if call.format is JSON and not masked else content)
    return respond(call, value, content, schemas)


def value_of(call: Call, content: Content) -> Json:
    """The answer as a JSON value, before it takes a format."""
    source = call.operation.source
    if not isinstance(source, FromContent):
        raise TypeError(f"{call.operation.name} is not answered from content")
    return source.view(content, call)


def respond(call: Call, value: Json, content: Content, schemas: Schemas) -> Response:
    """A value in the format that the Call asks for: only the fields that it asks for, to the function that it names."""
    return _respond(call, value, schemas, content.lifetime(call.operation.name))


def respond_to_action(call: Call, outcome: Outcome, schemas: Schemas) -> Response:
    """What came of an action in the format that the Call asks for: nobody may keep it. Raises its Refusal."""
    if outcome.refusal:
        raise outcome.refusal
    response = _respond(call, outcome.value, schemas, None)
    return response if outcome.etag is None else response._replace(headers=(*response.headers, ("ETag", outcome.etag)))


def _respond(call: Call, value: Json, schemas: Schemas, lifetime: int | None) -> Response:
    given = dict(call.arguments)
    if mask := given.get("_fields"):
        value = _masked(value, call.operation.items, mask)
    body = call.format.encode(value, schemas.shape(call.operation.schema))
    if callback := given.get("callback"):
        script = f"{JAVASCRIPT}; charset=utf-8"  # or it is read in the encoding of the page
        return Response(200, script, _jsonp(callback, body), lifetime, (("X-Content-Type-Options", "nosniff"),))
    return Response(200, call.format.media_type, body, lifetime)


JAVASCRIPT = "application/javascript"


def _jsonp(callback: str, body: bytes) -> bytes:
    """JSON as a function's argument. The comment keeps the body from beginning with what the client chose."""
    for char in "\u2028\u2029":  # line ends in JavaScript before ES2019, text in JSON
        body = body.replace(char.encode(), f"\\u{ord(char):04x}".encode())
    return b"/**/" + callback.encode() + b"(" + body + b");"


def _masked(value: Json, items: tuple[str, ...], mask: Mask) -> Json:
    """The mask applied to each item; the envelope stays (interface 4.4)."""
    if not items:
        return [select(item, mask) for item in value]
    name, *rest = items
    return {key: _masked(part, tuple(rest), mask) if key == name else part for key, part in value.items()}


def refuse(refusal: Refusal, format: Format, schemas: Schemas, operation: Operation | None = None) -> Response:
    """A Refusal in the general error form, or in that of single-use codes for an operation which has it."""
    code = CODES[refusal.code]
    details = [sayable(str(fault)) for fault in refusal.faults] or [code.message]
    if operation is not None and operation.own_failures:
        return _fail(code, details, format, schemas, refusal.headers)
    value = {"errorCode": code.error_code, "message": code.message, "errorDetail": details, "success": False}
    body = format.encode(value, schemas.shape(ERROR_SCHEMA))
    return Response(code.status, format.media_type, body, headers=refusal.headers)


def _fail(
    code: Code, details: Sequence[str], format: Format, schemas: Schemas, headers: tuple[tuple[str, str], ...]
) -> Response:
    """The form of single-use codes: the errorCode is the HTTP status (wire shapes §5)."""
    status = min(code.status, 500)
    reason = "SYSTEM_ERROR" if status == 500 else "; ".join(details)
    value = {"success": False, "errorMessage": f"Error processing request: {reason}", "errorCode": status}
    body = format.encode(value, schemas.shape(FAILURE_SCHEMA))
    return Response(status, format.media_type, body, headers=headers)


@cache
def cache_control(lifetime: int | None) -> str:
    """The one Cache-Control of an operation's answers, in file, edge and service alike."""
    return "no-store" if lifetime is None else f"max-age={lifetime}"


def vary(content: Content) -> str:
    """What the answer to a read depends on; on Origin only where web pages are admitted (design 4, Caching)."""
    return ", ".join((*VARY, "Origin") if content.setting("origins") else VARY)
