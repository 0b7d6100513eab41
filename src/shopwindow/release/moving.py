"""Moves `current` along its chain: to the next release once its instant has come.

One process of a host does that, `activate --follow`, or `pull --follow` where there is
a target. It needs nothing but the host's clock. So a clock that may be wrong moves
nothing: one that reads earlier than when the chain was made, or that jumps by more than
a day. A target whose Date agrees with it, or an operator who activates a release, ends
the doubt.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shopwindow.problems import Failure
from shopwindow.release import notes
from shopwindow.release.edge_notes import stale_edges
from shopwindow.release.history import Activation
from shopwindow.release.releases import Releases

LOOK_SECONDS = 0.25
"""Between two looks. A release becomes current within a second of its instant, and a
look costs two calls of the system.
"""

RETRY_SECONDS = 2.0
"""Between two looks while nothing can be moved, such as on a full disk."""

MOVED_SECONDS = 10.0
"""How long a move may take before it is a failed check: it takes one."""

JUMP = timedelta(days=1)
"""What a clock may be set by at once. Daylight saving, wrong zones and leap seconds are
less; a host whose clock has lost its battery is off by years.
"""

AGREEMENT = timedelta(minutes=1)
"""How far the time of a target may be from the host's: a Date has whole seconds, and an
answer may take some.
"""

MOVING = "moving.json"
"""The note of whoever moves the link: what keeps it from moving, or nothing."""

TargetTime = Callable[[], datetime | None]
"""Returns the time by the target's clock; None where it has not answered."""


def _now() -> datetime:
    return datetime.now(UTC)


def _elapsed() -> float:
    """Return seconds that no setting of the clock changes, and that pass during sleep."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class TargetClock:
    """The clock of a target. Called, it returns the time there, as it follows from the
    last answer and the seconds since; None before the first.

    ``ask_target`` asks, and may take seconds. So whoever moves the link only calls the
    clock, and who fetches lets it ask.
    """

    def __init__(self, ask_target: TargetTime) -> None:
        self._ask_target = ask_target
        self._answer: tuple[datetime, float] | None = None

    def __call__(self) -> datetime | None:
        if self._answer is None:
            return None
        answer, at = self._answer
        return answer + timedelta(seconds=_elapsed() - at)

    def ask(self) -> None:
        """Ask for the time, unless this host's clock agrees with the last answer."""
        expected = self()
        if expected is not None and abs(expected - _now()) <= AGREEMENT:
            return
        if answer := self._ask_target():
            self._answer = answer, _elapsed()


@dataclass(frozen=True)
class Log:
    """What takes a sentence for the log: of what goes well, and of what does not."""

    inform: Callable[[str], None]
    report: Callable[[str], None]


def behind(releases: Releases, now: datetime) -> str:
    """Return why the release in force is not the current one; empty where it is.

    A service asks this, which follows `current` and moves nothing.
    """
    chain = releases.chain()
    if len(chain.links) < 2:
        return ""
    if fault := notes.read(releases.out / MOVING).get("fault"):
        return str(fault)
    if not chain.is_due(now - timedelta(seconds=MOVED_SECONDS)):
        return ""
    due = chain.in_force(now)
    return (
        f"release {due.id[:12]} is in force since {due.start.isoformat()}, and not "
        "current: does `activate --follow` or `pull --follow` run, and what is in its log?"
    )


class Mover:
    """Moves the link of an output directory, one look after the other.

    ``clock`` returns the time, and ``elapsed`` seconds that no setting of the clock
    changes.
    """

    def __init__(
        self,
        releases: Releases,
        target_time: TargetTime = lambda: None,
        clock: Callable[[], datetime] = _now,
        elapsed: Callable[[], float] = _elapsed,
    ) -> None:
        self._releases = releases
        self._target_time = target_time
        self._clock = clock
        self._elapsed = elapsed
        self._seen = clock(), elapsed()
        self._jump = ""
        self._line_at_jump: Activation = {}

    def look(self) -> str | None:
        """Make the release in force the current one; return its id where that moved the
        link.

        Raises Failure where the clock is in doubt, or the release cannot be made
        current.
        """
        now = self._clock()
        line = self._releases.last_about(self._releases.current())
        self._notice_jump(now, line)
        chain = self._releases.chain()
        if len(chain.links) < 2:
            return None
        if doubt := self._doubt(now, line):
            until = "nothing moves until the target's clock agrees, or `shopwindow activate`"
            raise Failure(f"{doubt}; {until}")
        return self._releases.move_ahead(now) if chain.is_due(now) else None

    def _notice_jump(self, now: datetime, line: Activation) -> None:
        """Compare the clock with the seconds that have passed since the last look.

        ``line``: the history's last one about the current release. An operator who has
        activated one since has seen the clock.
        """
        (then, before), elapsed = self._seen, self._elapsed()
        self._seen = now, elapsed
        jump = now - then - timedelta(seconds=elapsed - before)
        if abs(jump) > JUMP:
            self._jump = f"this host's clock has jumped by {jump / JUMP:+.1f} days"
            self._line_at_jump = line
        elif line != self._line_at_jump and line.get("action") == "activate":
            self._jump = ""

    def _doubt(self, now: datetime, line: Activation) -> str:
        """Return why the clock may be wrong; empty where nothing says so."""
        if target := self._target_time():
            apart = abs(target - now)
            if apart <= AGREEMENT:
                self._jump = ""
                return ""
            if apart > JUMP:
                return "this host's clock and the target's are more than a day apart"
        made = line["when"]
        if now < datetime.fromisoformat(made):
            return (
                f"this host's clock reads earlier than {made}, when the chain was made"
            )
        return self._jump


def follow(
    releases: Releases,
    log: Log,
    stopped: threading.Event,
    target_time: TargetTime = lambda: None,
) -> None:
    """Move ``current`` along its chain until ``stopped`` is set.

    What goes wrong, whatever it is, is reported once, and never raised. A note has it
    meanwhile, for the service's check.
    """
    mover = Mover(releases, target_time)
    reported: str | None = None
    while not stopped.is_set():
        fault = ""
        try:
            if moved := mover.look():
                log.inform(f"release {moved[:12]} is current: its instant has come")
                for edge in stale_edges(releases, moved):
                    log.report(edge.again)
        except Failure as failure:
            fault = str(failure)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        if fault != reported:
            if fault:
                log.report(fault)
            elif reported:
                log.inform("the releases that follow are followed again")
            with suppress(OSError):
                notes.write(releases.out / MOVING, {"fault": fault})
        reported = fault
        stopped.wait(RETRY_SECONDS if fault else LOOK_SECONDS)
    with suppress(OSError):
        (releases.out / MOVING).unlink()


@contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """Yield what SIGTERM and SIGINT set."""
    stopped = threading.Event()
    numbers = (signal.SIGTERM, signal.SIGINT)

    def stop(*_: object) -> None:
        # In a thread of its own: this one may be inside `stopped.wait`, and hold the
        # lock that `set` takes.
        threading.Thread(target=stopped.set, daemon=True).start()

    previous = [signal.signal(number, stop) for number in numbers]
    try:
        yield stopped
    finally:
        for number, handler in zip(numbers, previous, strict=True):
            signal.signal(number, handler)
