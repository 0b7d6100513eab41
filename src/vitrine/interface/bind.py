"""All operations, and the way from a request to the Call that it asks for."""

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl

from vitrine.interface import categories, events, pickup, products, promotions, search, stores, utility
from vitrine.interface.call import Call, Request, make
from vitrine.interface.formats import FORMATS, JSON, negotiate
from vitrine.interface.operation import Operation
from vitrine.problems import Fault, Refusal

OPERATIONS: tuple[Operation, ...] = (
    *utility.OPERATIONS,
    *events.OPERATIONS,
    *stores.OPERATIONS,
    *promotions.OPERATIONS,
    *categories.OPERATIONS,
    *products.OPERATIONS,
    *search.OPERATIONS,
    *pickup.OPERATIONS,
)


METHODS = ("GET", "HEAD", "OPTIONS")
"""Every method that some path answers."""


Routed = tuple[Operation, dict[str, str]]
"""An operation, and the texts of its path's parameters."""


def bind(request: Request, application: str | None, routed: Routed | None = None) -> Call:
    """The one Call that a request asks for, whichever way it is spelt. Raises Refusal, with every fault.

    ``bind(call.request(), call.application) == call`` for every Call. ``routed``: what ``route`` said, if it was asked.
    """
    operation, texts = routed or route(request)
    format = negotiate(request.headers.get("accept"))
    if format is None:
        allowed = " or ".join(candidate.media_type for candidate in FORMATS)
        found = request.headers["accept"][:100]
        raise Refusal("not_acceptable", (Fault("Accept", f"must admit {allowed}, not {found!r}"),))
    faults: list[Fault] = []
    texts = texts | _query(operation, request.query, faults)
    arguments = {}
    for name in _ordered(operation, texts):
        try:
            arguments[name] = operation.kind(name).parse(texts[name])
        except ValueError as error:
            faults.append(Fault(name, str(error)))
    faults += [Fault("", fault) for rule in operation.rules if (fault := rule.fault(texts, arguments))]
    if "callback" in arguments and format is not JSON:
        faults.append(Fault("callback", f"can be had as {JSON.media_type} only, not as {format.media_type}"))
    if faults:
        raise Refusal("invalid", tuple(faults))
    return make(operation, format, arguments, application)


def route(request: Request, operations: Iterable[Operation] = OPERATIONS) -> Routed:
    """The operation of a path, and the path's parameters. A literal segment wins over a parameter. Raises Refusal."""
    path = request.path.removesuffix("/")
    matching: list[Routed] = [
        (operation, {}) for operation in operations if operation.path == path and not operation.in_path
    ]
    if not matching:
        matching = _with_parameters(path, operations)
    for operation, found in matching:
        if request.method in (operation.method, "HEAD" if operation.method == "GET" else ""):
            return operation, found
    known = {operation.method for operation, _ in matching} | {"OPTIONS"}
    methods = sorted(known | {"HEAD"} if "GET" in known else known)
    fault = Fault("", f"the method must be {', '.join(methods)}, not {request.method}")
    raise Refusal("method", (fault,), (("Allow", ", ".join(methods)),))


def _with_parameters(path: str, operations: Iterable[Operation]) -> list[Routed]:
    """The operations that a path may be of, with the fewest parameters in it. Raises Refusal."""
    matching = [(operation, found) for operation in operations if (found := _match(operation, path)) is not None]
    if not matching:
        raise Refusal("no_mapping", (Fault("", "the path is not one of the interface"),))
    fewest = min(len(found) for _, found in matching)
    return [(operation, found) for operation, found in matching if len(found) == fewest]


def _match(operation: Operation, path: str) -> dict[str, str] | None:
    """The parameters of a path that is the operation's."""
    if not operation.in_path:
        return {} if path == operation.path else None
    pattern, segments = operation.path.split("/"), path.split("/")
    if len(pattern) != len(segments):
        return None
    found = {}
    for part, segment in zip(pattern, segments, strict=True):
        if part.startswith("{"):
            found[part[1:-1]] = segment
        elif part != segment:
            return None
    return found


def _query(operation: Operation, query: str, faults: list[Fault]) -> dict[str, str]:
    """The query's known parameters; one given twice is a fault, an unknown one is ignored."""
    texts: dict[str, str] = {}
    for name, text in _pairs(query):
        if not operation.knows(name):
            continue
        if name in texts:
            faults.append(Fault(name, "is given more than once"))
        texts[name] = text
    return texts


def _ordered(operation: Operation, texts: Mapping[str, str]) -> list[str]:
    """The names that were given, in the operation's declared order; others by name."""
    named = [parameter.name for parameter in operation.parameters if parameter.name in texts]
    return named if operation.others is None else named + sorted(set(texts) - set(named))


def _pairs(query: str) -> list[tuple[str, str]]:
    """Names and texts, decoded. Most queries need no decoding, and parse_qsl takes 5 µs to find that out."""
    if "%" in query or "+" in query:
        return parse_qsl(query, keep_blank_values=True)
    parted = (part.partition("=") for part in query.split("&") if part)
    return [(name, text) for name, _, text in parted]
