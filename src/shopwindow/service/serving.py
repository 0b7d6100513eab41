"""The release being served: loaded beside the one before, swapped in one assignment."""

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

POLL_SECONDS = 0.25
RETRY_SECONDS = 2.0
"""Between two tries of a release that cannot be loaded: it may be a copy that is still at work.
"""

RETRY_FACTOR = 10
"""How many times as long as such a try the pause after it is, at least: reading a large catalog
again takes seconds.
"""

MEMO_BYTES = 32 * 1024 * 1024


@cache
def shipped_schemas() -> Schemas:
    """The program's own schemas, read once a process."""
    return Schemas([shipped("schemas")])


class Exchange(NamedTuple):
    """A response, with what the access log and the metrics say of it."""

    response: Response
    operation: str = "none"
    application: str | None = None


Question = tuple[str, str, str | None, str | None]
"""Path, query, Accept and application: what an answer from content depends on."""


class Memo:
    """Answers of one release, the oldest forgotten when ``limit`` bytes are reached; 0 keeps
    none.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._known: dict[Question, Exchange] = {}
        self._lock = threading.Lock()

    def get(self, question: Question) -> Exchange | None:
        """What was answered before, if it is known."""
        return self._known.get(_in_short(question))

    def keep(self, question: Question, done: Exchange) -> None:
        if not self._limit:
            return
        question = _in_short(question)
        size = _size(question, done)
        if size > self._limit // 16:
            return
        with self._lock:
            if question not in self._known:
                self._known[question] = done
                self._size += size
            while self._size > self._limit:
                oldest = next(iter(self._known))
                self._size -= _size(oldest, self._known.pop(oldest))


def _in_short(question: Question) -> Question:
    """A question with the format that its Accept asks for: of all that clients write there,
    nothing else counts.
    """
    path, query, accept, application = question
    format = negotiate(accept)
    return path, query, format.name if format else None, application


def _size(question: Question, done: Exchange) -> int:
    return (
        len(done.response.body) + sys.getsizeof(question[0]) + sys.getsizeof(question[1]) + 500
    )


Leave = Callable[[str], None]
"""Takes the reason for which a release cannot be served any more."""


def _stay(reason: str) -> None:
    """There is no other release to serve."""


@dataclass(frozen=True)
class Serving:
    """What requests are answered from. A request takes it once and keeps to it, whatever is
    switched meanwhile.
    """

    id: str
    interface: Interface
    content: Content
    schemas: Schemas
    memo: Memo = field(default_factory=lambda: Memo(MEMO_BYTES))
    loaded: float = field(default_factory=time.time)
    status: Callable[[], dict[str, Any]] = dict
    """Of the build that made it (service.refresh)."""
    leave: Leave = _stay

    def __post_init__(self) -> None:
        object.__setattr__(self, "clients", Clients(self.interface, self.content))
        base, order = (
            urlsplit(self.content.setting("base_url")),
            urlsplit(self.content.setting("order_base_url")),
        )
        object.__setattr__(self, "base_path", unquote(base.path).strip("/"))
        object.__setattr__(self, "order_path", unquote(order.path).strip("/"))
        hosts = _host(base.netloc), _host(order.netloc)
        object.__setattr__(self, "order_host", hosts[1] if hosts[0] != hosts[1] else "")
        object.__setattr__(self, "vary", vary(self.content))
        object.__setattr__(self, "origins", frozenset(self.content.setting("origins") or ()))

    clients: Clients = field(init=False)
    base_path: str = field(init=False)
    order_path: str = field(init=False)
    order_host: str = field(init=False)
    vary: str = field(init=False)
    origins: frozenset[str] = field(init=False)

    def on_order_host(self, host: str | None) -> bool:
        """Whether a Host header names the order host, where that is another than the base host."""
        return host is not None and self.order_host != "" and _host(host) == self.order_host

    def urls(self, host: str | None) -> tuple[tuple[bool, str], ...]:
        """Which of the two URLs a request may have come to: whether it is the order host's, and
        its path.

        The Host header tells them apart. Where both have one host nothing does but what lies
        below them.
        """
        if not self.order_host:
            return (False, self.base_path), (True, self.order_path)
        return (
            ((True, self.order_path),)
            if self.on_order_host(host)
            else ((False, self.base_path),)
        )


@lru_cache(maxsize=256)
def _host(text: str) -> str:
    """A host without case, the port that its scheme implies and the dot that may end it."""
    return text.lower().removesuffix(":80").removesuffix(":443").removesuffix(".")


def load(
    out: Path, interface: Interface, schemas: Schemas, memo_bytes: int = MEMO_BYTES
) -> Serving:
    """The current release of an output directory. Raises Failure."""
    releases = Releases(out)
    return _loaded(releases, releases.find("current"), interface, schemas, memo_bytes)


def _loaded(
    releases: Releases,
    id: str,
    interface: Interface,
    schemas: Schemas,
    memo_bytes: int,
    leave: Leave | None = None,
) -> Serving:
    """A release, ready to be served. Raises Failure."""
    interface = interface_of(releases.path(id), interface)
    content = content_of(releases.path(id), interface)
    for derive in interface.derived:  # before a request waits for them
        content.derived_whole(derive)
    status = partial(refresh_status, releases, id)
    schemas = schemas_with(schemas, interface)
    return Serving(
        id, interface, content, schemas, Memo(memo_bytes), status=status, leave=leave or _stay
    )


class Watch:
    """Follows ``current``: a thread looks where it leads, four times a second, and loads what
    is new.

    Calling it gives the release being served, or None before there is one. A release is served
    once it is intact on this host (release.intact), and is looked at again until it is. One of
    whose indexes turns out to be damaged is left for the last good one. ``report`` takes a line
    about what cannot be served, ``tell`` what is served and why nothing newer, both where that
    is new; ``failed`` is called for each release that could not be loaded or had to be left.
    """

    def __init__(
        self,
        out: Path,
        interface: Interface,
        memo_bytes: int = MEMO_BYTES,
        report: Callable[[str], None] | None = None,
        tell: Callable[[Serving | None, str], None] | None = None,
        failed: Callable[[], None] | None = None,
    ) -> None:
        self._releases = Releases(out)
        self._interface = interface
        self._memo_bytes = memo_bytes
        self._report = report or partial(journal.error, "release_not_served")
        self._tell = tell or (lambda serving, fault: None)
        self._count_failure = failed or (lambda: None)
        self._schemas = program_schemas(interface)
        self._serving: Serving | None = None
        self._told: tuple[str, str] | None = None
        self._failed: tuple[str | None, str] = None, ""
        self._again = 0.0
        self._left: dict[str, _Left] = {}
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
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()
            try:
                self._follow()
            except Exception as error:  # a fault of ours, which must not end the following
                journal.failure(error)

    def _follow(self) -> None:
        """Serve the current release if it is another than the one served; keep that one while
        this fails.
        """
        id, fault, started = None, "", time.monotonic()
        try:
            id = self._releases.current()
            left = self._left.get(id or "")
            if left and left.signature == signature(
                self._releases, left.id, self._interface.indexes
            ):
                fault = left.reason
                if self._serving is None or self._serving.id == left.id:
                    self._fall_back(left.id)
            elif id and (self._serving is None or id != self._serving.id or left):
                if id == self._failed[0] and time.monotonic() < self._again:
                    return
                self._serve(id)
        except (
            Exception
        ) as error:  # whatever is wrong with a release, the next one shall be followed
            fault = (
                str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
            )
            if (id, fault) != self._failed:
                self._count_failure()
            now = time.monotonic()
            pause = max(RETRY_SECONDS, RETRY_FACTOR * (now - started))
            self._failed, self._again = (id, fault), now + pause
            if self._serving is None and id:
                self._fall_back(id)
        self._say(fault)

    def _serve(self, id: str) -> None:
        """Load a release and serve it. Raises whatever keeps it from being loaded, Failure
        where it is not intact.
        """
        previous = self._serving.id if self._serving else None
        require_intact(self._releases, id, self._interface.indexes, previous)
        leave = partial(self._leave, id)
        self._serving = _loaded(
            self._releases, id, self._interface, self._schemas, self._memo_bytes, leave
        )
        self._left.pop(id, None)
        gc.unfreeze()  # what was served before is garbage, too
        gc.collect()
        gc.freeze()  # a release is never garbage piece by piece

    def _fall_back(self, bad: str) -> None:
        """Serve the last release that was current before ``bad`` and can be; what is served
        stays where none can.
        """
        history = [line["id"] for line in reversed(self._releases.history())]
        there = set(self._releases.ids()) - self._left.keys() - {bad}
        for id in dict.fromkeys(history):
            if id not in there:
                continue
            try:
                self._serve(id)
                break
            except Exception as error:  # it is not good either
                self._left[id] = _Left(
                    id, signature(self._releases, id, self._interface.indexes), str(error)
                )

    def _leave(self, id: str, reason: str) -> None:
        """A request could not read an index of a release: serve the last good one, from a
        quarter second on.
        """
        if id not in self._left:
            self._count_failure()
            self._left[id] = _Left(
                id,
                signature(self._releases, id, self._interface.indexes),
                f"an index of it is damaged: {reason}",
            )
            self._wake.set()

    def _say(self, fault: str) -> None:
        told = (self._serving.id if self._serving else "", fault)
        if told == self._told:
            return
        self._told = told
        self._tell(self._serving, fault)
        if fault:
            stays = (
                f"{self._serving.id[:12]} is served" if self._serving else "there is none yet"
            )
            self._report(
                f"the release that current leads to cannot be served, {stays}: {fault}"
            )
        elif self._serving is None:
            self._report(
                f"there is no release yet in {self._releases.out}: reads are answered 503 until one is built"
            )


@dataclass(frozen=True)
class _Left:
    """A release that is not served any more, why, and what its indexes' files were like
    (release.intact.signature).
    """

    id: str
    signature: tuple[Any, ...]
    reason: str
