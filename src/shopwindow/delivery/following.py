"""Follows a source: looks again and again which releases are current, and pulls them. A
thread beside that moves `current` along what was pulled, so that no fetching and no
source that is away delays an instant (`moving`).

A look is one conditional request, as long as nothing has changed. Hosts that were
started together look at different times, because chance shortens or lengthens each
pause. While attempts fail, the pauses grow, and whatever was served is served on.
"""

import random
import threading
from collections.abc import Sequence

from shopwindow.delivery.pulling import Pulled, ReleaseSource, pull
from shopwindow.interface.declaring.index import Index
from shopwindow.problems import Failure, number_of
from shopwindow.release import moving
from shopwindow.release.edge_notes import stale_edges
from shopwindow.release.moving import Log, TargetClock
from shopwindow.release.releases import Releases

PAUSE_JITTER = 0.2
"""The part of a pause that chance adds or takes."""

LONGEST_PAUSE_SECONDS = 300.0
"""Between two attempts while they fail: the pauses double until then. A source that is
back is noticed within five minutes.
"""


class _Stopped(BaseException):
    """A signal has come while a release was fetched."""


def follow(
    source: ReleaseSource,
    releases: Releases,
    *,
    indexes: Sequence[Index] = (),
    every: float,
    keep: int,
    log: Log,
    stopped: threading.Event,
) -> None:
    """Pull what a source has, every ``every`` seconds, and move ``current`` along it,
    until ``stopped`` is set.

    ``indexes`` are as for `pull`. ``keep``: how many of the newest releases stay. What
    goes wrong, whatever it is, is reported and recorded, and never raised.
    """
    last: Pulled | None = None
    reported, failures = "", 0

    def go_on(done: int, total: int) -> None:
        if stopped.is_set():
            raise _Stopped

    clock = TargetClock(source.bucket.time)
    mover = threading.Thread(
        target=moving.follow, args=(Releases(releases.out), log, stopped, clock)
    )
    mover.start()
    log.inform(f"following {source.bucket.where}, every {every:g} s")
    while not stopped.is_set():
        try:
            done = pull(
                source,
                releases,
                indexes=indexes,
                last=last,
                keep=keep,
                progress=go_on,
            )
            _inform(log, releases, done, last)
            last = done
            clock.ask()
            if reported:
                log.inform(f"{source.bucket.where} is followed again")
            reported, failures = "", 0
        except _Stopped:
            break
        except Exception as error:
            failures += 1
            fault = _worded(error)
            if fault != reported:
                log.report(f"{fault}; {_served(releases)}")
            reported = fault
        stopped.wait(pause(every, failures))
    mover.join()


def pause(every: float, failures: int) -> float:
    """Return the seconds until the next attempt, after so many failures in a row."""
    longest = max(every, LONGEST_PAUSE_SECONDS)
    doublings = min(failures, 20)  # from a tenth of a second on, that is beyond any
    seconds: float = min(every * 2**doublings, longest)
    return seconds * random.uniform(1 - PAUSE_JITTER, 1 + PAUSE_JITTER)


def _inform(log: Log, releases: Releases, done: Pulled, last: Pulled | None) -> None:
    id, fetched = done.id[:12], done.fetched
    if done.activated:
        size = f"{number_of(len(fetched), 'object')}, {sum(fetched) / 1024:,.0f} KiB"
        log.inform(f"release {id} is current; fetched {size}")
        for edge in stale_edges(releases, done.id):
            log.report(edge.again)
    elif done.pinned and (last is None or last.id != done.id):
        log.report(f"release {id} is here, but this host is pinned; unpin it")


def _worded(error: Exception) -> str:
    """Return what to report of an attempt; of a fault of this program, its class, too."""
    if isinstance(error, Failure):
        return str(error)
    return f"{type(error).__name__}: {error}; `shopwindow pull` once shows where"


def _served(releases: Releases) -> str:
    try:
        current = releases.current()
    except Failure as failure:
        return str(failure)
    return f"{current[:12]} stays current" if current else "there is no release yet"
