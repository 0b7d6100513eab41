"""Follows the link ``current`` and loads each new release beside the one being served.

How this works. A thread looks four times a second where ``current`` leads. It loads a
new release completely, and then assigns it in one assignment, so a request sees one
release or the other and never a part of each.

A release that cannot be loaded is tried again and again; the one being served stays
until that succeeds, and a service that starts takes the last one that can be loaded.
Where an index turns out to be damaged while its release is served, what the index
answers is a 503, and the release is loaded again as soon as it is intact.
"""

import gc
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.loading import program_schemas
from shopwindow.problems import Failure
from shopwindow.release.releases import Releases
from shopwindow.release.verify import require_intact
from shopwindow.service import journal, metrics
from shopwindow.service.documentation import Describe
from shopwindow.service.serving import Serving, load_release

FOLLOW_SECONDS = 0.25
"""Between two looks at ``current``. A look is one readlink, and a new release is
noticed well within a second.
"""

RETRY_SECONDS = 2.0
"""Between two tries of a release that cannot be loaded: a copy of it may still be at
work.
"""

RETRY_FACTOR = 10
"""The pause after such a try is at least this many times as long as the try. Reading a
large catalog takes seconds, and retries then take a tenth of one processor at most.
"""


class Watch:
    """Follows ``current`` in a thread, four times a second, and loads each new release.

    Calling it returns the release being served, or None before there is one.

    A release is served once all its files are intact on this host (release.verify). One
    that is not is looked at again until it is.

    ``report`` takes a sentence for the log when no release, or not the current one, can
    be served. ``describe`` prints the OpenAPI document of a release; None: there is no
    documentation. The metrics have what is served, and count each release that could
    not be loaded or is damaged.
    """

    def __init__(
        self,
        out: Path,
        interface: Interface,
        report: Callable[[str], None] | None = None,
        describe: Describe | None = None,
    ) -> None:
        self._releases = releases = Releases(out)
        self._report = report or partial(journal.error, "release_not_served")
        self._load = partial(
            load_release,
            releases=releases,
            interface=interface,
            schemas=program_schemas(interface),
            describe=describe,
        )
        self._serving: Serving | None = None
        self._damage = ""  # what is wrong with an index of the release being served
        # the release being served, the current one, and why that is not served
        self._announced: tuple[str, str | None, str] = ("", "", "")
        self._retry_at = 0.0  # when the current one may be loaded again
        self._follow()
        self._start()
        # a thread does not survive a fork
        os.register_at_fork(after_in_child=self._start)

    def __call__(self) -> Serving | None:
        return self._serving

    def fault(self) -> str:
        """Return why nothing newer is served; empty: there is nothing newer."""
        return self._announced[-1]

    def _start(self) -> None:
        threading.Thread(target=self._run, name="release-watch", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(FOLLOW_SECONDS)
            try:
                self._follow()
            except Exception as error:  # a fault of ours must not end this thread
                journal.failure(error)

    def _follow(self) -> None:
        """Serve the current release if another one is served. While that fails, change
        nothing.
        """
        id, fault = None, ""
        try:
            id = self._releases.current()
            is_served = self._serving is not None and id == self._serving.id
            fault = self._damage if is_served else ""
            if id and (fault or not is_served):
                is_new = id != self._announced[1]
                if is_new or time.monotonic() >= self._retry_at:
                    self._serve(id)
                    fault = ""
                elif not is_served:
                    return
        except Exception as error:
            # of any kind: whatever is wrong with this release, the next one must be
            # followed
            is_ours = isinstance(error, Failure)
            words = str(error) if is_ours else f"{type(error).__name__}: {error}"
            fault = fault or words
            if self._serving is None and id:
                self._serve_earlier(id)
        self._announce(id, fault)

    def _serve(self, id: str) -> None:
        """Load a release and serve it, and load it no more for a while.

        Raises whatever prevents that; Failure where the release is not intact.
        """
        previous = self._serving.id if self._serving else None
        started = time.monotonic()
        try:
            # what replaces a damaged file is compared, too
            require_intact(self._releases, id, previous if previous != id else None)
            serving = self._load(id=id, report_damage=partial(self._note_damage, id))
        finally:
            now = time.monotonic()
            self._retry_at = now + max(RETRY_SECONDS, RETRY_FACTOR * (now - started))
        self._damage = ""
        self._serving = serving
        gc.unfreeze()  # so that the release that was served until now is collected, too
        gc.collect()
        gc.freeze()  # no collection looks at the objects of this release again

    def _serve_earlier(self, bad: str) -> None:
        """Serve the last release that was current before ``bad`` and can be loaded, if
        there is one.
        """
        history = reversed(self._releases.history())
        for id in dict.fromkeys(line["id"] for line in history):
            with suppress(Exception):  # this one is not good either
                if id != bad:
                    self._serve(id)
                    break

    def _note_damage(self, id: str, reason: str) -> None:
        """Note that a request could not read an index of a release."""
        if self._serving and self._serving.id == id and not self._damage:
            self._damage = f"an index of release {id[:12]} is damaged: {reason}"
            metrics.count_load_failure()  # also where the next try finds it intact

    def _announce(self, id: str | None, fault: str) -> None:
        """Report the release being served, the current one, and why that is not served,
        unless all three are as before.
        """
        news = (self._serving.id if self._serving else "", id, fault)
        if news == self._announced:
            return

        self._announced = news
        metrics.record_release(self._serving, fault)
        if fault and fault == self._damage:
            self._report(f"{fault}; what it answers is a 503 until it is replaced")
        elif fault:
            metrics.count_load_failure()
            instead = "there is none yet"
            if self._serving:
                instead = f"{self._serving.id[:12]} is served"
            self._report(
                f"the release that current leads to cannot be served, {instead}: {fault}"
            )
        elif self._serving is None:
            self._report(
                f"there is no release yet in {self._releases.out}: reads are answered 503"
                f" until `shopwindow build --out {self._releases.out}` makes one"
            )
