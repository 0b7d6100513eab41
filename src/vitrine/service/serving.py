"""The release being served: loaded beside the one before, swapped in one assignment."""

import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from vitrine.content.listing import shipped
from vitrine.content.model import Content
from vitrine.content.schema import Schemas
from vitrine.interface.answer import Response, vary
from vitrine.interface.formats import negotiate
from vitrine.problems import Failure
from vitrine.release.changes import content_of
from vitrine.release.publish import Releases
from vitrine.service.clients import Clients
from vitrine.service.places import ZipCodes
from vitrine.service.refresh import refresh_status

POLL_SECONDS = 0.25
RETRY_SECONDS = 2.0
"""Between two tries of a release that cannot be loaded: it may be a copy that is not yet whole."""

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
    """Answers of one release, the oldest forgotten when ``limit`` bytes are reached; 0 keeps none."""

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
    """A question with the format that its Accept asks for: of all that clients write there, nothing else counts."""
    path, query, accept, application = question
    format = negotiate(accept)
    return path, query, format.name if format else None, application


def _size(question: Question, done: Exchange) -> int:
    return len(done.response.body) + sys.getsizeof(question[0]) + sys.getsizeof(question[1]) + 500


@dataclass(frozen=True)
class Serving:
    """What requests are answered from. A request takes it once and keeps to it, whatever is switched meanwhile."""

    id: str
    content: Content
    schemas: Schemas
    memo: Memo = field(default_factory=lambda: Memo(MEMO_BYTES))
    loaded: float = field(default_factory=time.time)
    status: Callable[[], dict[str, Any]] = dict
    """Of the build that made it (service.refresh)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "clients", Clients(self.content))
        base, order = urlsplit(self.content.setting("base_url")), urlsplit(self.content.setting("order_base_url"))
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
        """Which of the two URLs a request may have come to: whether it is the order host's, and its path.

        The Host header tells them apart. Where both have one host nothing does but what lies below them.
        """
        if not self.order_host:
            return (False, self.base_path), (True, self.order_path)
        return ((True, self.order_path),) if self.on_order_host(host) else ((False, self.base_path),)


@lru_cache(maxsize=256)
def _host(text: str) -> str:
    """A host without case, the port that its scheme implies and the dot that may end it."""
    return text.lower().removesuffix(":80").removesuffix(":443").removesuffix(".")


def load(out: Path, schemas: Schemas, memo_bytes: int = MEMO_BYTES) -> Serving:
    """The current release of an output directory. Raises Failure."""
    releases = Releases(out)
    id = releases.find("current")
    content = content_of(releases.path(id))
    content.places = ZipCodes()
    content.events(0)  # the indexes, before a request waits for them
    content.near(0, 0, 1)
    return Serving(id, content, schemas, Memo(memo_bytes), status=partial(refresh_status, releases, id))


class Watch:
    """Follows ``current``: a thread looks where it leads, four times a second, and loads what is new.

    Calling it gives the release being served, or None before there is one. ``report`` is told in a line what cannot be
    loaded, and ``tell`` what is served and why nothing newer, both where that is new.
    """

    def __init__(
        self,
        out: Path,
        memo_bytes: int = MEMO_BYTES,
        report: Callable[[str], None] | None = None,
        tell: Callable[[Serving | None, str], None] | None = None,
    ) -> None:
        self._out = out
        self._memo_bytes = memo_bytes
        self._report = report or _to_stderr
        self._tell = tell or (lambda serving, fault: None)
        self._schemas = shipped_schemas()
        self._serving: Serving | None = None
        self._told: tuple[str, str] | None = None
        self._failed: str | None = None
        self._again = 0.0
        self._follow()
        self._start()
        os.register_at_fork(after_in_child=self._start)  # a thread does not survive a fork

    def __call__(self) -> Serving | None:
        return self._serving

    def _start(self) -> None:
        threading.Thread(target=self._run, name="release-watch", daemon=True).start()

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(POLL_SECONDS):
            self._follow()

    def _follow(self) -> None:
        """Load the current release if it is another than the one served; keep the old one while that fails."""
        id, fault = None, ""
        try:
            id = Releases(self._out).current()
            if id and (self._serving is None or id != self._serving.id):
                if id == self._failed and time.monotonic() < self._again:
                    return
                self._serving = load(self._out, self._schemas, self._memo_bytes)
                gc.unfreeze()  # what was served before is garbage, too
                gc.collect()
                gc.freeze()  # a release is never garbage piece by piece
        except Exception as error:  # whatever is wrong with a release, the next one shall be followed
            fault = str(error) if isinstance(error, Failure) else f"{type(error).__name__}: {error}"
            self._failed, self._again = id, time.monotonic() + RETRY_SECONDS
        told = (self._serving.id if self._serving else "", fault)
        if told != self._told:
            self._told = told
            self._tell(self._serving, fault)
            if fault:
                stays = "the old one stays" if self._serving else "there is none yet"
                self._report(f"vitrine: the release that current leads to cannot be loaded, {stays}: {fault}")


def _to_stderr(line: str) -> None:
    with suppress(OSError):  # where nobody reads it any more, releases are followed all the same
        print(line, file=sys.stderr, flush=True)
