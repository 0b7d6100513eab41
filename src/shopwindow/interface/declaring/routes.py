"""From a request's path and method to the operation.

No other module compares paths.
"""

from collections.abc import Iterable

from shopwindow.interface.declaring.operation import Operation
from shopwindow.interface.request import Request
from shopwindow.problems import Fault, Refusal

METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
"""Every method that an operation may have."""

DOCUMENT_PATH, DOCS_PATH = "openapi.json", "docs"
"""Paths below the base URL of what describes the interface: a document for programs and
a page for people.
"""

REDOC_PATH, NOTICES_PATH = (
    "docs/redoc.standalone.js",
    "docs/redoc.standalone.js.LICENSE.txt",
)
"""Paths of the program that draws the page, and of its licenses."""

OPEN_PATHS = (DOCUMENT_PATH, DOCS_PATH, REDOC_PATH, NOTICES_PATH)
"""Paths that the service answers without a key, unless an operation has such a path."""


def no_mapping(order_host: str = "") -> Refusal:
    """Return the Refusal of a path that no operation has at the host of a request.

    ``order_host``: the host that has it, as a Host header names it; empty: none has.
    """
    found = "is not one of the interface"
    if order_host:
        found = (
            f"is one of the order host's (order_base_url in site.yaml); "
            f"send it there, with the header Host: {order_host}"
        )
    return Refusal("no_mapping", Fault("path", found))


Routed = tuple[Operation, dict[str, str]]
"""An operation, and the texts of its path's parameters."""


def methods(operations: Iterable[Routed]) -> str:
    """Return the methods of a path that has these operations, as `Allow` lists them."""
    return ", ".join(
        sorted({"OPTIONS"}.union(*(operation.methods for operation, _ in operations)))
    )


def with_method(operations: Iterable[Routed], method: str) -> Routed:
    """Return the operation of a path that has a method. Raises Refusal."""
    for routed in operations:
        if method in routed[0].methods:
            return routed

    allowed = methods(operations)
    fault = Fault("method", f"must be {allowed}, not {method}")
    raise Refusal("method", fault, headers=(("Allow", allowed),))


class Routes:
    """Operations by their paths.

    Paths without parameters are looked up as they are. A path that is none of these is
    compared with the patterns that have as many segments. Where several match, those
    with the fewest parameters win, so that a literal segment takes precedence over a
    parameter.

    Args:
        operations: that are looked up.
        base: what the paths of those begin with that the base URL has.
        order_base: likewise of the order host's.
    """

    def __init__(
        self, operations: Iterable[Operation], base: str = "", order_base: str = ""
    ) -> None:
        self._bases = base, order_base
        self._patterns: dict[
            tuple[bool, str | int], list[tuple[Operation, list[str]]]
        ] = {}
        for operation in operations:
            segments = operation.path.split("/")
            place = len(segments) if operation.in_path else operation.path
            key = operation.order_host, place
            self._patterns.setdefault(key, []).append((operation, segments))

    def of(self, path: str, order_host: bool | None) -> list[Routed]:
        """Return the operations of a path, whatever their methods. A slash at its end
        makes no difference (interface W1.6).

        ``order_host``: whether the request came to the order host, which serves
        operations of its own; None: either host.
        """
        if order_host is None:
            return self.of(path, False) or self.of(path, True)
        base = self._bases[order_host]
        if not path.startswith(base):
            return []
        path = path.removeprefix(base).removesuffix("/")
        literal = self._patterns.get((order_host, path))
        if literal:
            return [(operation, {}) for operation, _ in literal]
        segments = path.split("/")
        matching = [
            (operation, texts)
            for operation, pattern in self._patterns.get(
                (order_host, len(segments)), ()
            )
            if (texts := _match(pattern, segments)) is not None
        ]
        fewest = min((len(texts) for _, texts in matching), default=0)
        return [
            (operation, texts) for operation, texts in matching if len(texts) == fewest
        ]

    def route(self, request: Request) -> Routed:
        """Return the operation of a request to either host, and the texts of its path's
        parameters.

        Raises Refusal where no operation has the path, or none of those has the method.
        """
        matching = self.of(request.path, None)
        if not matching:
            raise no_mapping()
        return with_method(matching, request.method)

    @property
    def open_paths(self) -> tuple[str, ...]:
        """The OPEN_PATHS that no operation has."""
        return tuple(path for path in OPEN_PATHS if not self.of(path, False))


def _match(pattern: list[str], segments: list[str]) -> dict[str, str] | None:
    """Return the texts of a path's parameters; None where it does not match."""
    texts = {}
    for part, segment in zip(pattern, segments, strict=True):
        if part.startswith("{"):
            texts[part[1:-1]] = segment
        elif part != segment:
            return None
    return texts
