"""What views and actions need and do not make themselves: the protocols, implemented above this package."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

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


class Store(Protocol):
    """What actions do in one transaction: all of it is kept, or nothing."""

    @property
    def consents(self) -> Consents: ...


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
