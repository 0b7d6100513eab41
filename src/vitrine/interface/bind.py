"""All operations, and the way from a request to the Call that it asks for."""

from collections.abc import Iterable
from urllib.parse import parse_qsl

from vitrine.interface import (
    bags,
    categories,
    events,
    mobilelog,
    orders,
    pickup,
    products,
    promotions,
    search,
    sharing,
    status,
    stores,
    utility,
)
from vitrine.interface.body import Bodies, read
from vitrine.interface.call import Call, Request, of_ordered
from vitrine.interface.formats import JSON, MEDIA_TYPES, negotiate
from vitrine.interface.operation import Operation
from vitrine.problems import Fault, Refusal

OPERATIONS: tuple[Operation, ...] = (
    *utility.OPERATIONS,
    *mobilelog.OPERATIONS,
    *events.OPERATIONS,
    *stores.OPERATIONS,
    *promotions.OPERATIONS,
    *sharing.OPERATIONS,
    *orders.OPERATIONS,
    *bags.OPERATIONS,
    *categories.OPERATIONS,
    *products.OPERATIONS,
    *search.OPERATIONS,
    *pickup.OPERATIONS,
    *status.OPERATIONS,
)


METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
"""Every method that some path answers."""


Routed = tuple[Operation, dict[str, str]]
"""An operation, and the texts of its path's parameters."""


def bind(request: Request, application: str | None, routed: Routed | None = None, bodies: Bodies | None = None) -> Call:
    """The one Call that a request asks for, whichever way it is spelt. Raises Refusal, with every fault.

    ``bind(call.request(), call.application) == call`` for every Call. ``routed``: what ``route`` said, if it was asked.
    ``bodies``: what it takes to read a body; only reads can be bound without it.
    """
    operation, texts = routed or route(request)
    format = negotiate(request.headers.get("accept"))
    if format is None:
        found = request.headers["accept"][:100]
        raise Refusal("not_acceptable", (Fault("Accept", f"must admit {MEDIA_TYPES}, not {found!r}"),))
    faults: list[Fault] = []
    texts = texts | _query(operation, request.query, faults)
    arguments = {}
    for name in operation.ordered(texts):
        try:
            arguments[name] = operation.kind(name).parse(texts[name])
        except ValueError as error:
            faults.append(Fault(name, str(error)))
    faults += [Fault("", fault) for rule in operation.rules if (fault := rule.fault(texts, arguments))]
    if "callback" in arguments and format is not JSON:
        faults.append(Fault("callback", f"can be had as {JSON.media_type} only, not as {format.media_type}"))
    body = read(request, operation, bodies, faults) if operation.body and bodies else None
    if faults:
        raise Refusal("invalid", tuple(faults))
    return of_ordered(operation, format, arguments, application, body, request.headers.get("if-match"))


class Routes:
    """Where the paths of some operations lead."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._literal: dict[tuple[bool, str], list[Routed]] = {}
        self._patterns: dict[tuple[bool, int], list[tuple[Operation, list[str]]]] = {}
        for operation in operations:
            if operation.in_path:
                segments = operation.path.split("/")
                self._patterns.setdefault((operation.order_host, len(segments)), []).append((operation, segments))
            else:
                self._literal.setdefault((operation.order_host, operation.path), []).append((operation, {}))

    def of(self, path: str, order_host: bool | None) -> list[Routed]:
        """The operations of a path, whatever their methods. A literal segment wins over a parameter."""
        if order_host is None:
            return self.of(path, False) or self.of(path, True)
        return self._literal.get((order_host, path)) or self._with_parameters(path.split("/"), order_host)

    def _with_parameters(self, segments: list[str], order_host: bool) -> list[Routed]:
        """The operations that a path may be of, with the fewest parameters in it."""
        candidates = self._patterns.get((order_host, len(segments)), ())
        matching = [
            (operation, found) for operation, pattern in candidates if (found := _match(pattern, segments)) is not None
        ]
        fewest = min((len(found) for _, found in matching), default=0)
        return [(operation, found) for operation, found in matching if len(found) == fewest]


def _match(pattern: list[str], segments: list[str]) -> dict[str, str] | None:
    """The parameters in a path that follows the pattern."""
    found = {}
    for part, segment in zip(pattern, segments, strict=True):
        if part.startswith("{"):
            found[part[1:-1]] = segment
        elif part != segment:
            return None
    return found


ROUTES = Routes(OPERATIONS)


def route(request: Request, routes: Routes = ROUTES, *, order_host: bool | None = None) -> Routed:
    """The operation of a path and method, and the path's parameters. Raises Refusal.

    ``order_host``: whether the request came to the order host, which serves operations of its own; None: to either.
    """
    matching = routes.of(request.path.removesuffix("/"), order_host)
    if not matching:
        raise Refusal("no_mapping", (Fault("", "the path is not one of the interface"),))
    for operation, found in matching:
        if request.method in operation.methods:
            return operation, found
    methods = sorted({method for operation, _ in matching for method in operation.methods} | {"OPTIONS"})
    fault = Fault("", f"the method must be {', '.join(methods)}, not {request.method}")
    raise Refusal("method", (fault,), (("Allow", ", ".join(methods)),))


def owner(request: Request, order_host: bool | None = None) -> Operation | None:
    """The operation that a path is of, whatever the method; None where there is none, or several."""
    found = ROUTES.of(request.path.removesuffix("/"), order_host)
    return found[0][0] if len(found) == 1 else None


def _query(operation: Operation, query: str, faults: list[Fault]) -> dict[str, str]:
    """The query's known parameters; one given twice is a fault, an unknown one is ignored."""
    texts: dict[str, str] = {}
    listed = operation.in_query
    for name, text in _pairs(query):
        if name not in listed and not operation.knows(name):
            continue
        if name in texts:
            faults.append(Fault(name, "is given more than once"))
        texts[name] = text
    return texts


def _pairs(query: str) -> list[tuple[str, str]]:
    """Names and texts, decoded. Most queries need no decoding, and parse_qsl takes 5 µs to find that out."""
    if "%" in query or "+" in query:
        return parse_qsl(query, keep_blank_values=True)
    return [(name, text) for part in query.split("&") if part for name, _, text in (part.partition("="),)]
