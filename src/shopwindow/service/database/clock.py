"""The time of a database's server, known without asking for it each time.

Hosts that share a database may disagree about the time; whatever they count, lease or store
together goes by the server's. Each new connection brings the server's time along. From then on
the host's monotonic clock counts, which nobody sets; a pool renews its connections within the
hour, in which such a clock drifts by less than 0.2 s.
"""

import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

TOLERATED = timedelta(seconds=1)
"""So far a host may be off before it says so: far more than NTP leaves, far less than any limit
or lease lasts.
"""


class ServerClock:
    """Tells the server's time.

    Args:
        host: this host's time, in seconds since 1970.
    """

    def __init__(self, host: Callable[[], float] = time.time) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._known: tuple[datetime, float] | None = None
        self._has_said = False

    @property
    def is_set(self) -> bool:
        """Whether the server has told its time."""
        return self._known is not None

    def now(self) -> datetime:
        """The server's time (UTC); the host's before the server has told its own."""
        known = self._known
        if known is None:
            return datetime.fromtimestamp(self._host(), UTC)
        server, at = known
        return server + timedelta(seconds=time.monotonic() - at)

    def set(self, server: datetime, asked: float) -> None:
        """Take over the server's time, which was asked for at ``asked`` (time.monotonic) and
        has just come.

        A host that is off by more than a second says so, once.
        """
        arrived = time.monotonic()
        self._known = server.astimezone(UTC) + timedelta(seconds=(arrived - asked) / 2), arrived
        off = datetime.fromtimestamp(self._host(), UTC) - self.now()
        with self._lock:
            if abs(off) - timedelta(seconds=arrived - asked) <= TOLERATED or self._has_said:
                return
            self._has_said = True
        side = "ahead of" if off > timedelta(0) else "behind"
        print(
            f"shopwindow: the clock of this host is {abs(off).total_seconds():.1f} s {side} the database's; limits,"
            " mails and stored answers go by the database's; set this host's by NTP",
            file=sys.stderr,
            flush=True,
        )
