"""A connection to PostgreSQL: its parameters, a watch over a server that falls silent,
and the server's time without a query each time.

How the time works. Hosts that share a database may disagree about the time, so whatever
they count, lease or store together goes by the server's clock. Each new connection asks
the server for its time once. From then on the host's monotonic clock is added, which
nobody can set. Connections are replaced within the hour (postgresql.MAX_AGE_SECONDS),
and in an hour such a clock drifts by less than 0.2 s.
"""

import time
from collections.abc import Generator
from datetime import UTC, datetime
from typing import Any

import psycopg

from shopwindow.interface.declaring.table import Row
from shopwindow.service import journal
from shopwindow.service.database.engine import DATABASE_SECONDS

SERVER_SILENCE_SECONDS = DATABASE_SECONDS + 1.0
"""How long a server may send nothing before its connection is closed. A server that is
at work has reported by then that a statement took too long (statement_timeout, 10 s).
"""

LIBPQ: dict[str, Any] = {
    "application_name": "shopwindow",
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""Connection parameters (libpq's manual, 34.1.2). A host that is gone is noticed after
10 + 3 * 3 s on an idle connection, and after 15 s (milliseconds here) where something
was sent.
"""

CONFIGURE = """
SELECT set_config('statement_timeout', '10s', false),
    set_config('idle_in_transaction_session_timeout', '10s', false),
    set_config(
        'synchronous_commit', greatest('on', current_setting('synchronous_commit')), false
    ),
    clock_timestamp()
"""
"""What each connection sets, whatever the server's defaults are; and the server's time.

No request waits for a lock for ever, and a host that stops or vanishes in the middle of
its turn, which all others wait for, loses it. A response promises that a write is
durable: by the alphabet `off` and `local` come before `on`, and those after it wait for
a standby, too.
"""

MAX_CLOCK_DIFFERENCE = 1.0
"""A host whose clock is further off, in seconds, reports it. NTP leaves far less, and
every limit and every lease lasts far longer.
"""


class WatchedConnection(psycopg.Connection[Row]):
    """A connection that is closed when its server falls silent.

    A server that is stopped, or hangs, ends no statement by statement_timeout, and its
    kernel keeps TCP alive. So the connection watches the bytes that arrive while an
    answer is expected. ``opened``: when it was opened (time.monotonic).
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.opened = time.monotonic()

    def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **named: Any) -> Any:
        """Wait as psycopg does, with a watch. All traffic with the server comes here."""
        return super().wait(self._watched(gen), *arguments, **named)

    def _watched(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Do what ``gen`` does, until the server is silent for too long.

        psycopg resumes the generator when its socket is ready. It also does so after
        every tenth of a second without anything ready; then this looks at the time.
        """
        try:
            wanted = next(gen)
            until = time.monotonic() + SERVER_SILENCE_SECONDS
            while True:
                ready = yield wanted
                if ready:
                    until = time.monotonic() + SERVER_SILENCE_SECONDS
                elif time.monotonic() >= until:
                    gen.close()
                    self.close()
                    raise psycopg.OperationalError(
                        f"the server has said nothing for {SERVER_SILENCE_SECONDS:g} s"
                    )
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value


class ServerClock:
    """Tells the time of a database's server."""

    def __init__(self) -> None:
        # the server's time (since 1970) at the zero of this host's monotonic clock
        self._zero: float | None = None
        self._has_reported = False

    def now(self) -> datetime:
        """Return the server's time (UTC); this host's, before the server's has arrived."""
        zero = self._zero
        seconds = time.time() if zero is None else zero + time.monotonic()
        return datetime.fromtimestamp(seconds, UTC)

    def set(self, server: datetime, sent: float) -> None:
        """Take over the server's time, which has just arrived.

        ``sent`` is the time.monotonic() at which the query was sent. The server read
        its clock somewhere in between: half-way is what counts.

        A host that is off by more than MAX_CLOCK_DIFFERENCE is a line of the log, once.
        """
        arrived = time.monotonic()
        self._zero = server.timestamp() - (sent + arrived) / 2

        difference = time.time() - self._zero - arrived
        is_large = abs(difference) - (arrived - sent) > MAX_CLOCK_DIFFERENCE
        if is_large and not self._has_reported:
            self._has_reported = True
            side = "ahead of" if difference > 0 else "behind"
            journal.error(
                "clock",
                f"the clock of this host is {abs(difference):.1f} s {side} the"
                " database's; limits, mails and stored answers go by the database's; set this host's by NTP",
            )
