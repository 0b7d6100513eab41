"""What verbs run their SQL on, whichever engine it is."""

from datetime import UTC, datetime
from typing import Any, Protocol

Row = tuple[Any, ...]


class Session(Protocol):
    """An open transaction."""

    def run(self, sql: str, *values: Any) -> list[Row]:
        """The rows of one statement, none where it gives none. ``?`` stands for each value, on either engine."""
        ...


def written(moment: datetime) -> str:
    """An instant as it is stored: UTC, ISO 8601 with milliseconds; such texts sort by time."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
