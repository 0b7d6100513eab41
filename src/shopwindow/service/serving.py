"""The release being served: it is loaded beside the previous one, then replaces it.

How this works. A ``Watch`` follows the link ``current`` in a thread. It loads a new release
completely before it assigns it, in one assignment, so a request sees one release or the other
and never a part of each. A release that cannot be loaded, or whose indexes turn out to be
damaged, is rejected: the last good one stays or comes back, and the rejected one is tried again
once its files have changed.
"""

import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from shopwindow.content.documents import Content
from shopwindow.content.listing import shipped
from shopwindow.content.schema import Schemas
from shopwindow.interface.answer import Response, vary
from shopwindow.interface.collections import schemas_with
from shopwindow.interface.formats import negotiate
from shopwindow.interface.interface import Interface
from shopwindow.interface.loading import program_schemas
from shopwindow.problems import Failure
from shopwindow.release.changes import content_of
from shopwindow.release.intact import require_intact, signature
from shopwindow.release.publish import Releases
from shopwindow.release.stored import interface_of
from shopwindow.service import journal
from shopwindow.service.clients import Clients
from shopwindow.service.refresh import refresh_status

FOLLOW_SECONDS = 0.25
"""Between two looks at ``current``. A look is one readlink, and within a second after
`activate` all workers serve the release.
"""

RETRY_SECONDS = 2.0
"""Between two tries of a release that cannot be loaded: a copy of it may still be at work."""

RETRY_FACTOR = 10
"""The pause after such a try is at least this many times as long as the try. Reading a large
catalog takes seconds, and retries then take a tenth of one processor at most.
"""

CACHE_BYTES = 32 * 1024 * 1024
"""Memory that a worker may use for responses, unless `serve --memo` says otherwise."""

ENTRY_BYTES = 500
"""What an entry of the cache takes beside its body and its two texts, about: tuples, headers,
the dictionary's share.
"""


@cache
def shipped_schemas() -> Schemas:
    """The program's own schemas, read once a process."""
    return Schemas([shipped("schemas")])


class Exchange(NamedTuple):
    """A response, with the names that the access log and the metrics give to its request."""

    response: Response
    operation: str = "none"
    """The operation's name; `none` where no operation was reached."""
    application: str | None = None
    """The client application's name; None without a valid API key."""


CacheKey = tuple[str, str, str | None, str | None]
"""Path, query, Accept and application: all that a response from content depends on."""


class ResponseCache:
    """Responses of one release, by what was requested.

    Above ``limit`` bytes the oldest entries are dropped; 0 stores nothing. Reading needs no
    lock: a dictionary's ``get`` is atomic.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._entries: dict[CacheKey, Exchange] = {}
        self._lock = threading.Lock()

    def get(self, key: CacheKey) -> Exchange | None:
        """Return the response to an equal request, or None if there is none in the cache."""
        return self._entries.get(_normalized(key))

    def add(self, key: CacheKey, result: Exchange) -> None:
        """Store a response, unless it alone would take a sixteenth of the cache."""
        if not self._limit:
            return

        key = _normalized(key)
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


def _normalized(key: CacheKey) -> CacheKey:
    """Return the key with the format in place of Accept: nothing else of that header counts."""
    path, query, accept, application = key
    format = negotiate(accept)
    return path, query, format.name if format else None, application


def _entry_size(key: CacheKey, result: Exchange) -> int:
    """Return the bytes that an entry takes, about."""
    path, query, _, _ = key
    body = result.response.body
    return len(body) + sys.getsizeof(path) + sys.getsizeof(query) + ENTRY_BYTES


ReportDamage = Callable[[str], None]
"""Takes the reason why a release cannot be served any longer."""


def _ignore_damage(reason: str) -> None:
    """Do nothing: without a Watch there is no other release to serve."""


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
    cache: ResponseCache = field(default_factory=lambda: ResponseCache(CACHE_BYTES))
    loaded: float = field(default_factory=time.time)
    """When it was loaded, in seconds since 1970."""
    status: Callable[[], dict[str, Any]] = dict
    """Returns how the last build ended (service.refresh)."""
    report_damage: ReportDamage = _ignore_damage
    """To be called where an index of the release cannot be read."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "clients", Clients(self.interface, self.content))
        base = urlsplit(self.content.setting("base_url"))
        order = urlsplit(self.content.setting("order_base_url"))
        object.__setattr__(self, "base_path", unquote(base.path).strip("/"))
        object.__setattr__(self, "order_path", unquote(order.path).strip("/"))

        base_host, order_host = _host(base.netloc), _host(order.netloc)
        object.__setattr__(self, "order_host", order_host if order_host != base_host else "")
        object.__setattr__(self, "vary", vary(self.content))
        object.__setattr__(self, "origins", frozenset(self.content.setting("origins") or ()))

    clients: Clients = field(init=False)
    base_path: str = field(init=False)
    order_path: str = field(init=False)
    order_host: str = field(init=False)
    """The host of ``order_base_url``; empty where ``base_url`` has the same host."""
    vary: str = field(init=False)
    origins: frozenset[str] = field(init=False)

    def on_order_host(self, host: str | None) -> bool:
        """Return whether a Host header names the order host and not the base host."""
        return host is not None and self.order_host != "" and _host(host) == self.order_host

    def urls(self, host: str | None) -> tuple[tuple[bool, str], ...]:
        """Return the URLs that a request may have come to: (is it the order URL, its path).

        The Host header tells base URL and order URL apart. Where both have one host it does
        not, and both are returned: only the paths below them differ.
        """
        base = False, self.base_path
        order = True, self.order_path
        if not self.order_host:
            return base, order
        return (order,) if self.on_order_host(host) else (base,)


@lru_cache(maxsize=256)
def _host(text: str) -> str:
    """Return a host in lower case, without its scheme's own port and without a final dot."""
    return text.lower().removesuffix(":80").removesuffix(":443").removesuffix(".")


def load(
    out: Path, interface: Interface, schemas: Schemas, cache_bytes: int = CACHE_BYTES
) -> Serving:
    """Load the current release of an output directory. Raises Failure."""
    releases = Releases(out)
    return _load(releases, releases.find("current"), interface, schemas, cache_bytes)


def _load(
    releases: Releases,
    id: str,
    interface: Interface,
    schemas: Schemas,
    cache_bytes: int,
    report_damage: ReportDamage = _ignore_damage,
) -> Serving:
    """Load a release. What its interface derives is computed now, not by the first request.

    Raises Failure.
    """
    interface = interface_of(releases.path(id), interface)
    content = content_of(releases.path(id), interface)
    for derive in interface.derived:
        content.derived_whole(derive)
    status = partial(refresh_status, releases, id)
    schemas = schemas_with(schemas, interface)
    return Serving(
        id,
        interface,
        content,
        schemas,
        ResponseCache(cache_bytes),
        status=status,
        report_damage=report_damage,
    )


class Watch:
    """Follows ``current`` in a thread, four times a second, and loads each new release.

    Calling it returns the release being served, or None before there is one.

    A release is served once all its files are intact on this host (release.intact). One that
    is not is looked at again until it is. One whose index turns out to be damaged while it is
    served is rejected, and the last good release is served instead.

    ``report`` takes a sentence for the log when no release, or not the current one, can be
    served. ``on_change`` takes the release being served and the reason why nothing newer is
    (or an empty text), when either of them changes. ``on_failure`` is called for each release
    that could not be loaded or was rejected.
    """

    def __init__(
        self,
        out: Path,
        interface: Interface,
        cache_bytes: int = CACHE_BYTES,
        report: Callable[[str], None] | None = None,
        on_change: Callable[[Serving | None, str], None] | None = None,
        on_failure: Callable[[], None] | None = None,
    ) -> None:
        self._releases = Releases(out)
        self._interface = interface
        self._cache_bytes = cache_bytes
        self._report = report or partial(journal.error, "release_not_served")
        self._on_change = on_change or (lambda serving, fault: None)
        self._on_failure = on_failure or (lambda: None)
        self._schemas = program_schemas(interface)
        self._serving: Serving | None = None
        self._announced: tuple[str, str] | None = None
        self._failed: tuple[str | None, str] = None, ""
        self._retry_at = 0.0
        self._rejected: dict[str, _Rejected] = {}
        self._follow()
        self._start()
        os.register_at_fork(after_in_child=self._start)  # a thread does not survive a fork

    def __call__(self) -> Serving | None:
        return self._serving

    def _start(self) -> None:
        self._wake = threading.Event()
        threading.Thread(target=self._run, name="release-watch", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._wake.wait(FOLLOW_SECONDS)
            self._wake.clear()
            try:
                self._follow()
            except Exception as error:  # a fault of ours must not end this thread
                journal.failure(error)

    def _follow(self) -> None:
        """Serve the current release if another one is served. While that fails, change nothing."""
        id, fault, started = None, "", time.monotonic()
        try:
            id = self._releases.current()
            rejected = self._rejected.get(id or "")
            if rejected and rejected.signature == self._signature(rejected.id):
                fault = rejected.reason
                if self._serving is None or self._serving.id == rejected.id:
                    self._fall_back(rejected.id)
            elif id and (self._serving is None or id != self._serving.id or rejected):
                if id == self._failed[0] and time.monotonic() < self._retry_at:
                    return
                self._serve(id)
        except Exception as error:
            # of any kind: whatever is wrong with this release, the next one must be followed
            fault = (
                str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
            )
            if (id, fault) != self._failed:
                self._on_failure()
            self._failed = id, fault

            now = time.monotonic()
            self._retry_at = now + max(RETRY_SECONDS, RETRY_FACTOR * (now - started))
            if self._serving is None and id:
                self._fall_back(id)
        self._announce(fault)

    def _serve(self, id: str) -> None:
        """Load a release and serve it.

        Raises whatever prevents that; Failure where the release is not intact.
        """
        previous = self._serving.id if self._serving else None
        require_intact(self._releases, id, self._interface.indexes, previous)
        self._serving = _load(
            self._releases,
            id,
            self._interface,
            self._schemas,
            self._cache_bytes,
            partial(self._reject, id),
        )
        self._rejected.pop(id, None)
        gc.unfreeze()  # so that the release that was served until now is collected, too
        gc.collect()
        gc.freeze()  # no collection looks at the objects of this release again

    def _fall_back(self, bad: str) -> None:
        """Serve the last release that was current before ``bad`` and can be served.

        Where none can, the one being served stays.
        """
        history = [line["id"] for line in reversed(self._releases.history())]
        candidates = set(self._releases.ids()) - self._rejected.keys() - {bad}
        for id in dict.fromkeys(history):
            if id not in candidates:
                continue
            try:
                self._serve(id)
                break
            except Exception as error:  # this one is not good either
                self._rejected[id] = _Rejected(id, self._signature(id), str(error))

    def _reject(self, id: str, reason: str) -> None:
        """Stop serving a release whose index a request could not read.

        The watch wakes up at once and serves the last good release.
        """
        if id not in self._rejected:
            self._on_failure()
            fault = f"an index of it is damaged: {reason}"
            self._rejected[id] = _Rejected(id, self._signature(id), fault)
            self._wake.set()

    def _signature(self, id: str) -> tuple[Any, ...]:
        return signature(self._releases, id, self._interface.indexes)

    def _announce(self, fault: str) -> None:
        """Report the release being served and why nothing newer is, unless both are the same."""
        news = (self._serving.id if self._serving else "", fault)
        if news == self._announced:
            return

        self._announced = news
        self._on_change(self._serving, fault)
        if fault:
            instead = (
                f"{self._serving.id[:12]} is served" if self._serving else "there is none yet"
            )
            self._report(
                f"the release that current leads to cannot be served, {instead}: {fault}"
            )
        elif self._serving is None:
            self._report(
                f"there is no release yet in {self._releases.out}: reads are answered 503 until one is built"
            )


@dataclass(frozen=True)
class _Rejected:
    """A release that is not served any longer."""

    id: str
    signature: tuple[Any, ...]
    """Of its indexes' files when it was rejected (release.intact.signature)."""
    reason: str
