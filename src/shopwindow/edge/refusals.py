"""How the operations refuse: the responses of the OpenAPI document that are no answers.

Statuses whose words are the same everywhere are components, described once. An operation
has its own 400, and its own 404 where an id may be unknown: their example is what this
release says to such a request. An operation that finds something for every request has
no 404.
"""

from collections.abc import Iterator, Mapping, Sequence

import orjson

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.edge import samples
from shopwindow.edge.components import Components
from shopwindow.interface.answering.answer import (
    ERROR_CODES,
    ERROR_SCHEMA,
    FAILURE_SCHEMA,
    no_key,
    refuse,
)
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.operation import Operation
from shopwindow.interface.formats import JSON, MEDIA_TYPES
from shopwindow.problems import Fault, Refusal

_OF_OPERATIONS = ("invalid", "no_data")
"""The codes whose words depend on the operation."""


def header(about: str, type: str = "string") -> Json:
    """Describe a header of a response."""
    return {"description": about, "schema": {"type": type}}


REQUEST_ID = {
    "X-Request-Id": header(
        "The request's own where it is sane, else one of the service's; its log has it."
    )
}
_RETRY_AFTER = {"Retry-After": header("Seconds after which to come again.", "integer")}
_CHALLENGE = {"WWW-Authenticate": header("The header that holds the API key.")}
_HEADERS = {
    "no_key": _CHALLENGE,
    "too_many": _RETRY_AFTER,
    "unavailable": _RETRY_AFTER,
}
"""The headers of a refusal beside the request's id."""

_HEAD_TOO_LARGE = "431"
"""The status of a request whose headers are too large or too many."""

_REFUSED_HEAD = {
    "description": "The headers are too large or too many. The HTTP server refuses them"
    " before the service reads anything, so there is no body. Behind nginx it is a 400."
}

_FAULTS: Mapping[str, Sequence[Fault]] = {
    "no_key": no_key().faults,
    "not_acceptable": (Fault("Accept", f"must admit {MEDIA_TYPES}, not 'text/html'"),),
    "too_large": (Fault("body", "must have at most 1048576 bytes"),),
    "uri_too_long": (Fault("query", "must have at most 8192 bytes, not 8193"),),
    "media_type": (Fault("Content-Type", f"must be {MEDIA_TYPES}; it is missing"),),
    "slow": (Fault("body", "did not arrive within 14 s; it may be sent again"),),
    "precondition": (Fault("If-Match", 'is "x-1", but it is at "x-2"'),),
    "repeated_otherwise": (Fault("Idempotency-Key", "was used for another request"),),
    "too_many": (Fault("rate", "at most 300 requests from one address in 10 minutes"),),
}
"""What a refusal names, by its code. The other codes are the service's own faults."""


class Refusals:
    """The refusals of an interface's operations.

    ``shared``: the components that have been referred to so far, by name.
    """

    def __init__(
        self, interface: Interface, content: Content, components: Components
    ) -> None:
        self.shared: dict[str, Json] = {"head_too_large": _REFUSED_HEAD}
        self._interface = interface
        self._content = content
        self._components = components

    def of(self, operation: Operation) -> dict[str, Json]:
        """Return status → response of all that refuses an operation's requests."""
        responses = {}
        for code in self._codes(operation):
            own = self._own(code, operation)
            status = ERROR_CODES[code].status
            if operation.own_failures:
                status = min(status, 500)
            if own:
                responses[str(status)] = self._described(code, own, operation)
            elif code != "no_data":
                general = [Refusal(code, *_FAULTS.get(code, ()))]
                self.shared[code] = self._described(code, general, None)
                responses[str(status)] = _reference(code)
        return {**responses, _HEAD_TOO_LARGE: _reference("head_too_large")}

    def _codes(self, operation: Operation) -> Iterator[str]:
        """Yield the codes by which an operation may refuse a request.

        A path and a method that are not an operation's are none of its refusals.
        """
        has_body = operation.body is not None
        applies = {
            "invalid": True,
            "no_key": self._interface.applications is not None,
            "no_data": not operation.own_failures,
            "not_acceptable": True,
            "slow": has_body,
            "precondition": operation.tagged,
            "too_large": has_body,
            "uri_too_long": True,
            "media_type": has_body,
            "repeated_otherwise": operation.method == "POST",
            "too_many": operation.allowance is not None,
            "internal": True,
            "unavailable": True,
        }
        return (code for code, does_apply in applies.items() if does_apply)

    def _own(self, code: str, operation: Operation) -> list[Refusal]:
        """Return the refusals with a code whose words or form are the operation's own."""
        if operation.own_failures:
            reasons = [
                reason for each, reason in operation.own_failures if each == code
            ]
            faults = [Fault("", reason) for reason in reasons] or _FAULTS.get(code, ())
            return [Refusal(code, fault) for fault in faults] or [Refusal(code)]
        if code not in _OF_OPERATIONS:
            return []
        if code == "no_data" and operation.missing:
            return [Refusal(code, operation.missing)]
        schemas = self._components.files
        met = samples.refusal(code, self._interface, operation, self._content, schemas)
        return [met] if met else []

    def _described(
        self, code: str, refusals: Sequence[Refusal], operation: Operation | None
    ) -> Json:
        """Return the response to some refusals with one code, each as an example."""
        has_own_form = operation is not None and operation.own_failures
        media = self._components.media(FAILURE_SCHEMA if has_own_form else ERROR_SCHEMA)
        schemas = self._components.files
        bodies = [refuse(each, JSON, schemas, operation).body for each in refusals]
        examples = {
            name: {"value": orjson.loads(body)}
            for name, body in zip(_names(code, refusals), bodies, strict=True)
        }
        json = {"schema": media[JSON.media_type]["schema"], "examples": examples}
        return {
            "description": ERROR_CODES[code].message,
            "headers": {**REQUEST_ID, **_HEADERS.get(code, {})},
            "content": {**media, JSON.media_type: json},
        }


def _names(code: str, refusals: Sequence[Refusal]) -> Sequence[str]:
    """Return what the examples of some refusals are called: their reasons, or the code."""
    if len(refusals) == 1:
        return [code]
    return [refusal.faults[0].message for refusal in refusals]


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/responses/{name}"}
