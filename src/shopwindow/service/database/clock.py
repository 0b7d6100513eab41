"""The time of a database's server, without a query each time.

How this works. Hosts that share a database may disagree about the time, so whatever
they count, lease or store together goes by the server's clock. Each new connection asks
the server for its time once. From then on the host's monotonic clock is added, which
nobody can set. Connections are replaced within the hour (postgresql.MAX_AGE_SECONDS),
and in an hour such a clock drifts by less than 0.2 s.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from shopwindow.service import journal

MAX_CLOCK_DIFFERENCE = timedelta(seconds=1)
"""A host whose clock is further off reports it. NTP leaves far less, and every limit
and every lease lasts far longer.
"""


class ServerClock:
    """Tells the time of a database's server.

    ``host`` returns this host's time, in seconds since 1970.
    """

    def __init__(self, host: Callable[[], float] = time.time) -> None:
        self._host = host
        # the server's time, and the monotonic time of this host at that instant
        self._synchronized: tuple[datetime, float] | None = None
        self._has_reported = False

    def now(self) -> datetime:
        """Return the server's time (UTC); this host's, before the server's has arrived."""
        synchronized = self._synchronized
        if synchronized is None:
            return datetime.fromtimestamp(self._host(), UTC)
        server, arrived = synchronized
        return server + timedelta(seconds=time.monotonic() - arrived)

    def set(self, server: datetime, sent: float) -> None:
        """Take over the server's time, which has just arrived.

        ``sent`` is the time.monotonic() at which the query was sent. Half of the time
        since then is added, for the server read its clock somewhere in between.

        A host that is off by more than MAX_CLOCK_DIFFERENCE is a line of the log, once.
        """
        arrived = time.monotonic()
        round_trip = timedelta(seconds=arrived - sent)
        self._synchronized = server.astimezone(UTC) + round_trip / 2, arrived

        difference = datetime.fromtimestamp(self._host(), UTC) - self.now()
        is_large = abs(difference) - round_trip > MAX_CLOCK_DIFFERENCE
        if is_large and not self._has_reported:
            self._has_reported = True
            self._report(difference)

    def _report(self, difference: timedelta) -> None:
        side = "ahead of" if difference > timedelta(0) else "behind"
        seconds = abs(difference).total_seconds()
        journal.error(
            "clock",
            f"the clock of this host is {seconds:.1f} s {side} the database's; limits,"
            " mails and stored answers go by the database's; set this host's by NTP",
        )
