"""A Call becomes a Response, and so does a Refusal.

A Call is answered in four steps: the view returns a value, the mask (`_fields`) selects
from it, the format encodes it, and JSONP wraps the result. The build and the service
both take these steps here, so a file and a dynamic response have the same bytes.

A Refusal is answered by a table of codes, in the general error form. An operation may
have a form of failures of its own instead.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.declaring.operation import (
    Call,
    FromContent,
    Operation,
    Outcome,
)
from shopwindow.interface.fields import Mask, select
from shopwindow.interface.formats import SCRIPTS, Format, sayable
from shopwindow.problems import SERVICE, Fault, Refusal


class Code(NamedTuple):
    """A row of the table of refusals (interface W1.9).

    ``status``: of HTTP. ``error_code`` and ``message``: what the body says.
    """

    status: int
    error_code: int
    message: str


ERROR_CODES = {
    "invalid": Code(400, 400, "The request is not valid"),
    "no_key": Code(401, 401, "The API key is missing or unknown"),
    "no_data": Code(404, 409, "No data for search criteria"),
    "no_mapping": Code(404, 101, "There is no mapping for request"),
    "method": Code(405, 102, "The method is not allowed for this path"),
    "not_acceptable": Code(406, 103, "None of the accepted formats is available"),
    "too_large": Code(413, 104, "The body is too large"),
    "media_type": Code(415, 106, "The body's Content-Type is missing or not supported"),
    "uri_too_long": Code(414, 105, "The address is too long"),
    "slow": Code(408, 408, "The request took too long to arrive"),
    "precondition": Code(412, 412, "It was changed meanwhile"),
    "repeated_otherwise": Code(
        422, 422, "The Idempotency-Key was used for another request"
    ),
    "too_many": Code(429, 429, "Too many requests"),
    "internal": Code(500, 500, "The service failed"),
    "bad_gateway": Code(502, 201, "The service could not be reached"),
    "unavailable": Code(503, 202, "The service is not available"),
    "timeout": Code(504, 203, "The service did not answer in time"),
}
API_KEY_HEADER = "x-svc-webservice-client-id"
VARY = "Accept, Accept-Encoding"
CHALLENGE = ("WWW-Authenticate", f'ApiKey header="{API_KEY_HEADER}"')
"""What a 401 must say (RFC 9110 §11.6.1). No scheme is registered for keys in a header;
this one names the header.
"""
REPLAYED_HEADER = "Idempotent-Replayed"
"""Marks a stored answer to a repeated request. The draft of the Idempotency-Key header
names no mark; Stripe and others send this one.
"""
ERROR_SCHEMA = "responses/error.json"
FAILURE_SCHEMA = "responses/supc_failure.json"


class Response(NamedTuple):
    """What a client gets.

    ``lifetime``: seconds for which caches may store it; None: not at all.
    """

    status: int
    media_type: str
    body: bytes
    lifetime: int | None = None
    headers: tuple[tuple[str, str], ...] = ()


def answer(call: Call, content: Content, schemas: Schemas) -> Response:
    """Return the response to a Call that content alone answers."""
    return respond(call, value_of(call, content), content, schemas)


def value_of(call: Call, content: Content) -> Json:
    """Return the answer to a Call as a JSON value, before a format encodes it."""
    source = call.operation.source
    if not isinstance(source, FromContent):
        raise TypeError(f"{call.operation.name} is not answered from content")
    return source.view(content, call)


def respond(
    call: Call, value: Json, content: Content | None, schemas: Schemas
) -> Response:
    """Encode a value for a Call: the fields of its mask, in its format and JSONP
    callback. ``content`` says how long caches may store it; None: not at all.
    """
    operation, value = call.operation, selected(call, value)
    body = call.format.encode(value, schemas.shape(operation.schema))
    lifetime = None
    if content:
        lifetime = content.lifetime(operation.name, operation.lifetime)
    if callback := dict(call.arguments).get("callback"):
        return _script(callback, body, lifetime)
    return Response(200, call.format.media_type, body, lifetime)


def respond_to_action(call: Call, outcome: Outcome, schemas: Schemas) -> Response:
    """Encode the outcome of an action, which no cache may store. Raises the outcome's
    Refusal.
    """
    if outcome.refusal:
        raise outcome.refusal
    response = respond(call, outcome.value, None, schemas)
    headers = response.headers
    if outcome.etag is not None:
        headers += (("ETag", outcome.etag),)
    if outcome.is_replayed:
        headers += ((REPLAYED_HEADER, "true"),)
    return response._replace(headers=headers)


def selected(call: Call, value: Json) -> Json:
    """Return what a Call's mask (`_fields`) selects of its answer; all without one."""
    mask = dict(call.arguments).get("_fields")
    return _masked(value, call.operation.items, mask) if mask else value


def _script(
    callback: str,
    body: bytes,
    lifetime: int | None,
    headers: tuple[tuple[str, str], ...] = (),
) -> Response:
    """Return JSON as a script that calls a function with it. Its status is 200: a
    browser runs no script of another status.
    """
    for char in "\u2028\u2029":  # line ends in JavaScript before ES2019, text in JSON
        body = body.replace(char.encode(), f"\\u{ord(char):04x}".encode())
    # A comment comes first, so that no client chooses the first bytes of a response.
    script = b"/**/" + callback.encode() + b"(" + body + b");"
    # Without a charset, a browser assumes the encoding of the page.
    media_type = f"{SCRIPTS[0]}; charset=utf-8"
    headers = (("X-Content-Type-Options", "nosniff"), *headers)
    return Response(200, media_type, script, lifetime, headers)


def _masked(value: Json, items: Sequence[str], mask: Mask) -> Json:
    """Apply a mask to the items of an answer; the envelope stays (interface 4.4).

    ``items``: the properties that lead to the list of items; empty: it is ``value``.
    """
    if not items:
        return [select(item, mask) for item in value]
    name, *rest = items
    return {**value, name: _masked(value[name], rest, mask)} if name in value else value


def refuse(
    refusal: Refusal,
    format: Format,
    schemas: Schemas,
    operation: Operation | None = None,
    callback: str | None = None,
) -> Response:
    """Encode a Refusal.

    ``operation``: the one that was called, whose own form of failures is used where it
    has one. None: it is unknown, and the general error form is used. ``callback``: the
    function that gets the Refusal, in JSON; then the status is 200.
    """
    code = ERROR_CODES[refusal.code]
    faults = refusal.faults or (Fault(SERVICE, code.message),)
    details = [sayable(str(fault)) for fault in faults]
    if operation is not None and operation.own_failures:
        status, schema = min(code.status, 500), FAILURE_SCHEMA
        value = _own_failure(status, details)
    else:
        status, schema = code.status, ERROR_SCHEMA
        value = {
            "errorCode": code.error_code,
            "message": code.message,
            "errorDetail": details,
            "success": False,
        }
    body = format.encode(value, schemas.shape(schema))
    if callback:
        return _script(callback, body, None, refusal.headers)
    return Response(status, format.media_type, body, headers=refusal.headers)


def _own_failure(status: int, details: Sequence[str]) -> Json:
    """Return a refusal in the form of single-use codes (interface W5.1).

    Its errorCode is the HTTP status. It knows no status above 500, and says nothing
    about the reasons of a 500.
    """
    reason = "SYSTEM_ERROR" if status == 500 else "; ".join(details)
    return {
        "success": False,
        "errorMessage": f"Error processing request: {reason}",
        "errorCode": status,
    }


def no_key() -> Refusal:
    """Return the Refusal of a request without a valid API key, the same for every path."""
    fault = Fault(
        API_KEY_HEADER,
        "is missing, or holds no key that is in use; allowed: the API key of an application",
    )
    return Refusal("no_key", fault, headers=(CHALLENGE,))


@cache
def cache_control(lifetime: int | None, stale: int | None = None) -> str:
    """Return the Cache-Control of responses; the edge and the service send the same.

    ``stale``: seconds beyond the lifetime for which a cache may send a response while it
    fetches another, or cannot (RFC 5861); site.yaml's `stale` says so for reads.
    """
    if lifetime is None:
        return "no-store"
    text = f"max-age={lifetime}"
    if stale:
        text += f", stale-while-revalidate={stale}, stale-if-error={stale}"
    return text


def vary(content: Content, applications: str | None) -> str:
    """Return the Vary header of reads.

    It names the header of the key only in an interface that has ``applications``, where
    a request without a key is refused. It names Origin only where site.yaml admits web
    pages of other origins.
    """
    names = [VARY]
    if applications:
        names.append(API_KEY_HEADER)
    if content.setting("origins"):
        names.append("Origin")
    return ", ".join(names)


def refused(refusal: Refusal) -> str:
    """Return the end of a sentence about a request that is refused."""
    code = ERROR_CODES[refusal.code]
    faults = "; ".join(map(str, refusal.faults)) or code.message
    return f"is refused with {code.status}: {faults}"
