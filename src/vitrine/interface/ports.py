"""What views and actions need and do not make themselves: the protocols, implemented above this package."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from vitrine.content.yaml import Json

Point = tuple[float, float]
"""Latitude and longitude in degrees."""


class Places(Protocol):
    """Where zip codes, cities, counties and states are; None for what is not known."""

    def find_zip(self, code: str) -> Point | None: ...

    def find_city(self, city: str, state: str | None) -> Point | None: ...

    def find_county(self, county: str, state: str | None) -> Point | None: ...

    def find_state(self, state: str) -> Point | None: ...


# -- the store: the shop's verbs, in one transaction ---------------------------------------------------------------


class Consents(Protocol):
    """Who wants to be written to: the current choice of each application and device, and every choice before it."""

    def record(self, application: str, device: str, choice: str, user: str | None, at: datetime, key: str) -> None:
        """Note a choice, IN or OUT. ``key`` is unguessable and unique."""
        ...


@dataclass(frozen=True)
class SingleUseCode:
    """What is known of a code: its promotion, and the order and reservation that have won it, if any."""

    promotion: int
    order: str | None = None
    reservation: str | None = None


@dataclass(frozen=True)
class Issue:
    """The codes of a promotion: how many there are and how many are used, and when; times are UTC, as ISO 8601."""

    promotion: int
    issued: int
    used: int
    first_issued: str
    last_issued: str
    first_used: str | None
    last_used: str | None


class Codes(Protocol):
    """Single-use codes, known by their digests alone."""

    def mark(self) -> str | None:
        """What tells the secret that the digests were made with; None before there are any."""
        ...

    def find(self, digest: str) -> SingleUseCode | None: ...

    def use(self, digest: str, order: str, reservation: str, application: str, at: datetime) -> bool:
        """Whether the code was free, and is now this order's: of all who try, one is told so."""
        ...


@dataclass(frozen=True)
class Line:
    """An item of a bag."""

    sequence: int
    upc: int
    quantity: int


@dataclass(frozen=True)
class Bag:
    """A bag. Its lines stand by sequence number; ``last`` is the highest that a line of it ever had."""

    guid: str
    id: int
    user: int
    revision: int
    last: int = 0
    lines: tuple[Line, ...] = ()


class Bags(Protocol):
    """Shopping bags, each with its guest user, each of one application alone."""

    def make(self, application: str, guid: str, bag: int, user: int, at: datetime) -> Bag | None:
        """A new bag, empty; None where one of its numbers is another's."""
        ...

    def find(self, application: str, name: str, value: Any) -> Bag | None:
        """The bag by `bagGuid`, `bagId` or `userId`, if it is the application's."""
        ...

    def take(self, bag: Bag, at: datetime) -> Bag | None:
        """The bag as it is now, at its next revision; until the transaction ends nobody else changes it."""
        ...

    def put(self, bag: Bag, lines: Iterable[Line]) -> Bag:
        """A bag that was taken, with these lines and no others."""
        ...


class Limits(Protocol):
    """So many times in a while, by name."""

    def wait(self, name: str, limit: int, seconds: int, at: datetime) -> int:
        """Seconds until another one is admitted; 0: it is now."""
        ...

    def count(self, name: str, limit: int, seconds: int, at: datetime) -> int:
        """Count one and return 0, or count none and return the seconds until another one is admitted."""
        ...


class Outbox(Protocol):
    """Mail that is promised with the transaction, and sent after it."""

    def add(self, id: str, recipient: str, document: Json, at: datetime) -> None:
        """A mail to one recipient, made of a document when it is sent. ``id`` is unguessable and unique."""
        ...


class Store(Protocol):
    """What actions do in one transaction: all of it is kept, or nothing."""

    @property
    def consents(self) -> Consents: ...

    @property
    def codes(self) -> Codes: ...

    @property
    def bags(self) -> Bags: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def outbox(self) -> Outbox: ...


# -- the running service -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogKeeping:
    """How the mobile log is kept: brought to disk before it is acknowledged (``durable``), or handed to the operating
    system; a new file is begun before one grows above ``max_bytes``, and once it is ``max_seconds`` old."""

    durable: bool = True
    max_bytes: int = 64 << 20
    max_seconds: int = 24 * 3600


class LogWriter(Protocol):
    """The mobile log."""

    def write(self, lines: Sequence[str], keeping: LogKeeping) -> None:
        """Append lines; they are kept when this returns. Raises Refusal where they cannot be kept."""
        ...

    def count_refused(self, application: str, reason: str, number: int) -> None:
        """Note entries that the application's loggingInfo does not admit, and why: disabled, count or level."""
        ...


class Running(Protocol):
    """What only the running service knows."""

    @property
    def log(self) -> LogWriter: ...

    def status(self) -> dict[str, Any]:
        """The build of the release being served: jobName, startTime, endTime, status (wire shapes §2)."""
        ...
