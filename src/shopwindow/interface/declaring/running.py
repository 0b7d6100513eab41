"""The log that operations append lines to (`operation.Moment.log`).

The service implements the protocol. It stands here because operations need it and must
not import the service.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

LOG_MEGABYTES, LOG_HOURS = 64, 24
"""How large and how old a file of a log becomes, unless something else is said."""


@dataclass(frozen=True)
class LogKeeping:
    """How a log is stored.

    With ``durable``, lines are on the disk before they are acknowledged; otherwise the
    operating system has them and may lose them when power fails. A new file begins
    before one grows above ``max_bytes``, and once one is ``max_seconds`` old.
    """

    durable: bool = True
    max_bytes: int = LOG_MEGABYTES << 20
    max_seconds: int = LOG_HOURS * 3600


class LogWriter(Protocol):
    """A log that operations append lines to."""

    def write(self, lines: Sequence[str], keeping: LogKeeping) -> None:
        """Append lines, which are stored when this returns.

        Raises Refusal where they cannot be stored.
        """

    def count_refused(self, application: str, reason: str, number: int) -> None:
        """Count lines that an operation refused.

        ``reason`` is a word that the operation chooses, for metrics.
        """
