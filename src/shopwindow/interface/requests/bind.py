"""From a request to the one Call that it asks for, whichever way it is spelled.

The order is route, Accept, parameters, the rules between them, body. An unknown path,
an Accept without JSON and XML, or a body's wrong Content-Type refuses the request at
once. Faults of parameters and of the body are collected, so that a client sees all of
them in one refusal. Each names the parameter, header or property that it is about.

A parameter of the query without a text, as in `zipCode=`, is absent: forms and URL
builders send every field, filled in or not. A list may come as one text with commas,
as many parameters of one name, or as both: generated clients repeat the name, because
that is how OpenAPI's `explode` is by default, and several know no other form.
"""

from dataclasses import replace
from urllib.parse import parse_qsl

from shopwindow.content.documents.documents import Content
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.kinds import check_size, is_list
from shopwindow.interface.declaring.operation import CALLBACK, Call, Operation
from shopwindow.interface.declaring.routes import Routed
from shopwindow.interface.formats import (
    JSON,
    MEDIA_TYPES,
    Format,
    accepted_formats,
)
from shopwindow.interface.request import Request, unreadable
from shopwindow.interface.requests.body import body_format, read
from shopwindow.problems import Fault, Refusal


def bind(
    request: Request,
    application: str | None,
    interface: Interface,
    routed: Routed | None = None,
    content: Content | None = None,
    schemas: Schemas | None = None,
) -> Call:
    """Return the one Call that a request asks for, whichever way it is spelled.

    Binding the canonical spelling of a Call (``call.target``) returns an equal Call.
    ``application``: whose API key was sent. ``routed``: the result of ``route``, where
    it was called already. ``content``: knows which of `Operation.others` exist, and
    what a cookie is called; without it, all exist, and no cookie is read. ``schemas``:
    say what a body is; without them, none is read. Raises Refusal, with every fault.
    """
    operation, texts = routed or interface.routes.route(request)
    format = _acceptable(request, operation)
    faults: list[Fault] = []
    in_query, ignored = _query(operation, request.query, content, faults)
    texts = texts | in_query

    arguments = {}
    for name in operation.ordered(texts):
        try:
            kind = operation.kind(name)
            check_size(kind, texts[name])
            arguments[name] = kind.parse(texts[name])
        except ValueError as error:
            arguments[name] = None
            faults.append(Fault(name, str(error)))

    faults += [fault for rule in operation.rules if (fault := rule.fault(arguments))]
    if arguments.get("callback") and format is not JSON:
        faults.append(
            Fault(
                "callback",
                f"can be had as {JSON.media_type} only, not as {format.media_type}",
            )
        )

    body = None
    if operation.body and schemas:
        body = read(request, operation, schemas, content, faults)
    if faults:
        raise Refusal("invalid", *faults)
    if_match = request.headers.get("if-match")
    call = operation.call(format, arguments, application, body, if_match)
    return replace(call, ignored=ignored) if ignored else call


def admit(request: Request, operation: Operation) -> None:
    """Raise the Refusal that `bind` would raise, where the head alone decides it.

    So nobody waits for a body only to refuse it. Accept must admit JSON or XML, and the
    Content-Type of a body that the operation reads must be one of them.
    """
    _acceptable(request, operation)
    has_type = "content-type" in request.headers and not operation.body_optional
    if operation.body and (request.length or has_type):
        body_format(request.headers.get("content-type"))


def callback_of(operation: Operation, query: str) -> str | None:
    """Return the valid `callback` that a query names; None without one.

    None is returned for an operation that has no such parameter, too.
    """
    if CALLBACK.name not in operation.named or CALLBACK.name not in query:
        return None
    texts = [text for name, text in _pairs(query) if name == CALLBACK.name and text]
    try:
        return CALLBACK.kind.parse(texts[0]) if len(texts) == 1 else None
    except ValueError:
        return None


def _acceptable(request: Request, operation: Operation) -> Format:
    """Return the format that a request asks for. Raises Refusal.

    With a callback the answer is a script, so a header that admits scripts is met.
    """
    formats = accepted_formats(request.headers.get("accept"))
    format = formats.answer
    if format is not JSON and callback_of(operation, request.query):
        format = formats.script
    if format is None:
        accept = request.headers["accept"][:100]
        raise Refusal(
            "not_acceptable",
            Fault("Accept", f"must admit {MEDIA_TYPES}, not {accept!r}"),
        )
    return format


def _query(
    operation: Operation, query: str, content: Content | None, faults: list[Fault]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the texts of the operation's parameters in a query, and the names in it
    that only `Operation.others` admits and the content does not know.

    A list that stands there several times is one list. Any other parameter that does is
    a fault, and so is an escape that cannot be read, wherever it stands. A parameter of
    another name is ignored, and so is one without a text.
    """
    fault = unreadable("query", query)
    if fault:
        faults.append(fault)
    texts: dict[str, str] = {}
    ignored: dict[str, None] = {}
    others = operation.others
    for name, text in _pairs(query):
        if not text or not operation.knows(name):
            continue
        is_listed = name in operation.named
        if others and content and not (is_listed or others.exists(content, name)):
            ignored[name] = None
            continue
        if name in texts and is_list(operation.kind(name)):
            text = f"{texts[name]},{text}"
        elif name in texts:
            faults.append(Fault(name, "is given more than once"))
        texts[name] = text
    return texts, tuple(ignored)


def _pairs(query: str) -> list[tuple[str, str]]:
    """Return names and texts of a query, decoded.

    Most queries need no decoding, and parse_qsl would take 5 µs to find that out.
    """
    if "%" in query or "+" in query:
        return parse_qsl(query, keep_blank_values=True)
    pairs = []
    for part in filter(None, query.split("&")):
        name, _, text = part.partition("=")
        pairs.append((name, text))
    return pairs
