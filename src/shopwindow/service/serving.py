"""What requests are answered from: a loaded release, and a cache of its responses.

`Serving` is an immutable value. When another release is activated, a new value takes
its place (service.watch), and its cache is empty.
"""

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.listing import shipped
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.answering.answer import Response, vary
from shopwindow.interface.declaring.collections import schemas_with
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.operation import Operation
from shopwindow.interface.declaring.routes import Routed, Routes, no_mapping
from shopwindow.interface.request import Request
from shopwindow.release.changes import opened
from shopwindow.release.releases import Releases
from shopwindow.service.codings import Accepted
from shopwindow.service.documentation import Describe, documentation
from shopwindow.service.refresh import refresh_status

CACHE_BYTES = 32 * 1024 * 1024
"""Memory that a worker may use for responses: 9,000 of 3 KB each. Workers share none of
it, and one takes 116 MiB without it.
"""

ENTRY_BYTES = 500
"""What an entry of the cache takes beside its body and its two texts, about: tuples,
headers, the dictionary's share.
"""


@cache
def shipped_schemas() -> Schemas:
    """The program's own schemas, read once a process."""
    return Schemas(shipped("schemas"))


class Exchange(NamedTuple):
    """A response, with the names that the access log and the metrics give to its
    request.
    """

    response: Response
    operation: str = "none"
    """The operation's name; `none` where no operation was reached."""
    application: str | None = None
    """The client application's name; None without a valid API key."""
    ignored: tuple[str, ...] = ()
    """Names of parameters that look like filters and are none."""
    refused: int | None = None
    """The status of a refusal that was sent with 200, to a callback."""


class CacheKey(NamedTuple):
    """All that a response from content depends on, with the form in which it is sent.

    ``formats`` is what counts of Accept (`AcceptedFormats.name`), and ``codings`` what
    counts of Accept-Encoding.
    """

    path: str
    query: str
    formats: str
    application: str | None
    codings: Accepted = Accepted(None)


class ResponseCache:
    """Responses of one release, by what was requested, each in the forms that clients
    were sent.

    Above ``limit`` bytes the oldest entries are dropped. Reading needs no lock: a
    dictionary's ``get`` is atomic.
    """

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit = limit
        self._size = 0
        self._entries: dict[CacheKey, Exchange] = {}
        self._lock = threading.Lock()

    def get(self, key: CacheKey | None) -> Exchange | None:
        """Return the response to an equal request, or None if there is none in the
        cache, as without a key.
        """
        return self._entries.get(key) if key else None

    def add(self, key: CacheKey, result: Exchange) -> None:
        """Store a response, unless it alone would take a sixteenth of the cache."""
        size = _entry_size(key, result)
        if size > self._limit // 16:
            return

        with self._lock:
            if key not in self._entries:
                self._entries[key] = result
                self._size += size
            while self._size > self._limit:
                oldest = next(iter(self._entries))
                self._size -= _entry_size(oldest, self._entries.pop(oldest))


def _entry_size(key: CacheKey, result: Exchange) -> int:
    """Return the bytes that an entry takes, about."""
    body = result.response.body
    return len(body) + sys.getsizeof(key.path) + sys.getsizeof(key.query) + ENTRY_BYTES


class Base(NamedTuple):
    """A base URL: its host, and what the paths below it begin with: nothing, or all up
    to a slash, unquoted.
    """

    host: str
    prefix: str


def _base(url: str) -> Base:
    parts = urlsplit(url)
    prefix = f"{unquote(parts.path).strip('/')}/".removeprefix("/")
    return Base(_host(parts.netloc), prefix)


@lru_cache(maxsize=256)
def _host(text: str) -> str:
    """Return a host in lower case, without its scheme's own port and without a final
    dot.
    """
    return text.lower().removesuffix(":80").removesuffix(":443").removesuffix(".")


@dataclass(frozen=True)
class Serving:
    """A loaded release, from which requests are answered.

    A request takes it once and uses it to the end, whatever is activated meanwhile.
    """

    id: str
    """The release's id, as in `releases/<id>`."""
    interface: Interface
    """The interface, with the collections that the release declares."""
    content: Content
    schemas: Schemas
    next_change: float
    """When its content changes by itself, in seconds since 1970."""
    status: Callable[[], dict[str, Any]]
    """Returns how the last build ended (service.refresh)."""
    report_damage: Callable[[str], object]
    """Takes the reason why an index of the release cannot be read."""
    cache: ResponseCache = field(default_factory=ResponseCache)
    clock: Callable[[], float] = time.time
    """Returns the time, in seconds since 1970."""
    loaded: float = field(default_factory=time.time)
    """When it was loaded, in seconds since 1970."""
    describe: Describe | None = None
    """Prints the OpenAPI document; None: the service has no documentation."""

    def __post_init__(self) -> None:
        """Compute now what every request needs: a release that lacks it is not served."""
        _ = (
            self.names_by_digest,
            self.routes,
            self.vary,
            self.origins,
        )

    @cached_property
    def names_by_digest(self) -> Mapping[str, str]:
        """The names of the client applications, by the digests of their API keys. A
        release has no keys, only these digests.
        """
        return {
            digest: name
            for name, digests in self.interface.keys(self.content).items()
            for digest in digests
        }

    def application_of(self, key: str | None) -> str | None:
        """Return the name of the application that an API key belongs to; None for a
        missing or unknown key.
        """
        if not key:
            return None
        digest = sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
        return self.names_by_digest.get(digest)

    @cached_property
    def base(self) -> Base:
        """The ``base_url``."""
        return _base(self.content.setting("base_url"))

    @cached_property
    def order_base(self) -> Base:
        """The ``order_base_url``."""
        return _base(self.content.setting("order_base_url"))

    @cached_property
    def routes(self) -> Routes:
        """Its operations, and the pages of its documentation, by their whole paths."""
        operations = *self.interface.operations, *self.pages
        return Routes(operations, self.base.prefix, self.order_base.prefix)

    @cached_property
    def vary(self) -> str:
        """The names of the headers on which responses depend."""
        return vary(self.content, self.interface.applications)

    @cached_property
    def origins(self) -> frozenset[str]:
        """The origins whose pages may read responses."""
        return frozenset(self.content.setting("origins") or ())

    @cached_property
    def pages(self) -> Sequence[Operation]:
        """Those that describe the interface; none where the service has none."""
        if self.describe is None:
            return ()
        describe = partial(self.describe, self.interface, self.content, self.schemas)
        varies = "Accept-Encoding, Origin" if self.origins else "Accept-Encoding"
        return documentation(self.interface, describe, self.base.prefix, varies)

    def on_order_host(self, host: str | None) -> bool | None:
        """Return whether a Host header names the order host and not the base host; None
        where both are one.
        """
        order_host = self.order_base.host
        return _host(host or "") == order_host if order_host != self.base.host else None

    def operations(self, request: Request) -> Sequence[Routed]:
        """Return the operations of a request's path, whatever their methods.

        Where both base URLs have one host and paths inside each other, they are those
        of the first one that has any there. Raises Refusal where there are none. The
        address at which the service listens is no order host, so whoever tries an
        operation of the order host there learns which Host header to send.
        """
        path, base = request.path, self.base.prefix
        on_order_host = self.on_order_host(request.headers.get("host"))
        operations = self.routes.of(path, on_order_host)
        if operations:
            return operations

        elsewhere = self.routes.of(path, True)
        if path.startswith(base):
            elsewhere += self.interface.routes.of(path.removeprefix(base), True)
        is_elsewhere = elsewhere and on_order_host is False
        raise no_mapping(self.order_base.host if is_elsewhere else "")


def load_release(
    releases: Releases,
    id: str,
    interface: Interface,
    schemas: Schemas,
    report_damage: Callable[[str], object],
    describe: Describe | None = None,
) -> Serving:
    """Load a release. What its interface derives is computed now, not by the first
    request.

    Raises Failure.
    """
    release = opened(releases.path(id), interface)
    interface, content = release.interface, release.content
    for derive in interface.derived:
        content.derived_whole(derive)
    return Serving(
        id=id,
        interface=interface,
        content=content,
        schemas=schemas_with(schemas, interface),
        next_change=releases.next_change(id).timestamp(),
        status=partial(refresh_status, releases, id),
        report_damage=report_damage,
        describe=describe,
    )
