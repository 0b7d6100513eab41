"""Limits of so many times in so many seconds, and what a client is counted by. The
engine's own table.

How this works. Actions count what they admit, such as wrong codes and mails. A row
holds the times that were counted last of one thing, as many as the limit: a window that
slides. So counting is exact, in whatever process and on whatever host the action runs.
A rate of which thousands are admitted would make long rows; `service.database.rates` is
for those. The database must not reveal mail addresses, network addresses and devices,
so a row has a keyed digest of what it counts.

An IPv4 address is counted by itself. An IPv6 address is counted twice, by its /64 and
by its /48. All addresses of a /64 belong to one customer (RFC 4291 §2.5.1), so counting
single addresses would limit nobody. A site may get a /48 (RFC 6177 §2), which contains
65,536 such networks. But a /48 may also be a part of a mobile carrier's network, with
another customer in each /64, so its limit is more generous.
"""

import hmac
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from ipaddress import ip_address, ip_network
from math import ceil
from typing import NamedTuple

from shopwindow.interface.declaring.operation import Moment
from shopwindow.interface.declaring.table import (
    Aging,
    Session,
    Table,
    microseconds,
    written,
)

COUNTED_FOR = timedelta(days=31)
"""After so long a row is pruned. That is longer than any window: site.yaml sets 43,200
minutes (30 days) at most.
"""


NETWORK_TIMES = 8
"""How many times the limit of a /64 a /48 may use.

It is enough for a carrier's customers, and too little for a client that takes one /64
after another.
"""


class Origin(NamedTuple):
    """An address or a network that something is counted by.

    ``name`` is its canonical text. ``times`` is how many times the limit of a single
    address it may use.
    """

    name: str
    times: int


# Parsing takes 3 µs, and the requests of one customer follow each other.
@lru_cache(maxsize=1024)
def origins(address: str) -> Sequence[Origin]:
    """Return what an address is counted by, the narrowest first.

    ``address`` is one of IPv4 or IPv6, with or without a zone. Any other text, such as
    the empty one, is counted by itself.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return (Origin(address, 1),)
    mapped = parsed.ipv4_mapped if parsed.version == 6 else parsed
    if mapped is not None:
        return (Origin(str(mapped), 1),)
    network = ip_network((parsed, 64), strict=False)
    site = ip_network((parsed, 48), strict=False)
    return Origin(str(network), 1), Origin(str(site), NETWORK_TIMES)


def keyed(text: str, secret: bytes) -> str:
    """Return the digest that is stored instead of a text.

    Whoever has the database but not the secret cannot find a text by trial. Digests of
    single-use codes use the same secret, and are never equal to one of these: a code
    has no lower-case letter, and the text that is digested here begins with some.
    """
    data = b"counted: " + text.encode("utf-8", "surrogatepass")
    return hmac.new(secret, data, sha256).hexdigest()


class Limit(NamedTuple):
    """How many times something is admitted in so many seconds.

    ``counted`` says what it is, such as `share sender ann@mail.example`.
    """

    counted: str
    most: int
    seconds: int


class Limits:
    """The limits within one transaction, at a Moment."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def key(self, random: Callable[[int], bytes]) -> bytes:
        """Return the database's own key of digests, for services that have no secret.

        It is drawn from ``random``, a source of so many bytes, when it is first needed.
        """
        rows = self._run("SELECT value FROM digest_keys WHERE id = 1")
        if not rows:
            sql = "INSERT INTO digest_keys (id, value) VALUES (1, ?) RETURNING value"
            rows = self._run(sql, random(32).hex())
        return bytes.fromhex(rows[0][0])

    def number(self, limit: Limit, moment: Moment) -> int:
        """Return how many were counted in the last seconds, whatever the limit is."""
        name = self._name(limit, moment)
        return len(self._times(name, limit, moment.now))

    def wait(self, limit: Limit, moment: Moment) -> int:
        """Return in how many seconds another one is admitted; 0 where it is now. Count
        nothing.
        """
        name = self._name(limit, moment)
        return _wait(self._times(name, limit, moment.now), limit, moment.now)

    def count(self, limit: Limit, moment: Moment) -> int:
        """Count one and return 0; or count none, and return in how many seconds another
        one is admitted.
        """
        name = self._name(limit, moment)
        times = self._times(name, limit, moment.now)
        if wait := _wait(times, limit, moment.now):
            return wait
        last = [*times, _milliseconds(moment.now)][-limit.most :]
        self._run(
            "INSERT INTO limits (name, times, at) VALUES (?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET times = excluded.times, at = excluded.at",
            name,
            " ".join(map(str, last)),
            written(moment.now),
        )
        return 0

    def _times(self, name: str, limit: Limit, at: datetime) -> list[int]:
        """Those of a row's times (milliseconds) that lie in the last seconds."""
        rows = self._run("SELECT times FROM limits WHERE name = ?", name)
        times = rows[0][0].split() if rows else []
        since = _milliseconds(at) - limit.seconds * 1000
        return [time for time in map(int, times) if time > since]

    def _name(self, limit: Limit, moment: Moment) -> str:
        """Return the digest by which this database counts something.

        The key is the service's secret, or without one a key that the database stores.
        """
        return keyed(limit.counted, moment.secret or self.key(moment.random))


def _wait(times: list[int], limit: Limit, at: datetime) -> int:
    """In how many seconds another one is admitted, 0 for now, by the times that count."""
    if len(times) < limit.most:
        return 0
    admitted_at = times[-limit.most] + limit.seconds * 1000
    return max(1, ceil((admitted_at - _milliseconds(at)) / 1000))


def _milliseconds(at: datetime) -> int:
    return microseconds(at) // 1000


LIMITS = Table(
    name="limits",
    steps=(
        """
        -- What is admitted so many times in so many seconds. `times`: when it was admitted
        -- last, as milliseconds since 1970.
        CREATE TABLE limits (
            name TEXT NOT NULL PRIMARY KEY,
            times TEXT NOT NULL,
            at TEXT NOT NULL
        );
        CREATE INDEX limits_at ON limits (at);
        """,
        """
        -- The key of digests for services that have no secret of their own: one row at most.
        CREATE TABLE digest_keys (
            id INTEGER NOT NULL PRIMARY KEY,
            value TEXT NOT NULL
        );
        -- Before this step attempts were counted under digests without a key, on which
        -- anybody could try mail addresses, and under network addresses as they are. Counting
        -- begins again.
        DELETE FROM limits;
        """,
    ),
    verbs=Limits,
    aging=(Aging("limits", "at", COUNTED_FOR, called="counted attempts"),),
)
