"""What only the running service knows, as operations of `FromRunning` are handed it.
The service implements it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class LogKeeping:
    """How a log is stored.

    ``durable``: lines are on the disk before they are acknowledged; otherwise the
    operating system has them. A new file is begun before one grows above ``max_bytes``,
    and once it is ``max_seconds`` old.
    """

    durable: bool = True
    max_bytes: int = 64 << 20
    max_seconds: int = 24 * 3600


class LogWriter(Protocol):
    """A log that operations append lines to."""

    def write(self, lines: Sequence[str], keeping: LogKeeping) -> None:
        """Append lines; they are stored when this returns. Raises Refusal where they
        cannot be stored.
        """
        ...

    def count_refused(self, application: str, reason: str, number: int) -> None:
        """Count lines that an operation did not admit. ``reason`` is a word of the
        operation's, for metrics.
        """
        ...


class Running(Protocol):
    """What only the running service knows."""

    @property
    def log(self) -> LogWriter:
        """The service's log. Raises Refusal where it has none."""
        ...

    def status(self) -> dict[str, Any]:
        """Return the build of the release being served: jobName, startTime, endTime,
        status (wire shapes §2).
        """
        ...
