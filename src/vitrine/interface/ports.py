"""What views and actions need and do not make themselves: the protocols, implemented above this package."""

from collections.abc import Sequence
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


class LogWriter(Protocol):
    """The mobile log."""

    def write(self, lines: Sequence[str]) -> None:
        """Append lines; they are kept when this returns. Raises Refusal where they cannot be kept."""
        ...

    def count_refused(self, application: str, number: int) -> None:
        """Note entries that the application's loggingInfo does not admit."""
        ...


class Running(Protocol):
    """What only the running service knows."""

    @property
    def log(self) -> LogWriter: ...

    def status(self) -> dict[str, Any]:
        """The build of the release being served: jobName, startTime, endTime, status (wire shapes §2)."""
        ...
