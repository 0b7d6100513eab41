"""Kinds of parameter that say when: days and instants.

Their values are texts that compare as times do.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime

from shopwindow.interface.declaring.kinds import ParameterKind, Schema, refused


@dataclass(frozen=True)
class Day(ParameterKind):
    """A calendar day as YYYY-MM-DD.

    The value is that text, because the days of events are compared as texts.
    """

    def parse(self, text: str) -> str:
        return _existing(text, "as YYYY-MM-DD", text)

    def schema(self) -> Schema:
        return {"type": "string", "format": "date"}


def _existing(day: str, form: str, text: str) -> str:
    """Return a day as YYYY-MM-DD. Raises ValueError where it does not exist.

    ``text``: as it was written, and ``form``: how it is to be written.
    """
    try:
        if date.fromisoformat(day).isoformat() == day:  # not 20260131, nor 2026-W05-6
            return day
    except ValueError:
        pass
    raise refused(f"must be a day that exists, {form}", text)


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


_MONTH_NUMBERS = {
    name: number
    for number, month in enumerate(_MONTHS, 1)
    for name in (month, month[:3])
} | {"Sept": 9}
"""The number of a month by its names: the full one, and the one of three letters."""


@dataclass(frozen=True)
class TextualDay(ParameterKind):
    """A calendar day such as `Jun 21, 2013` (interface 4.5).

    Full names of months and a missing comma are accepted. The value is YYYY-MM-DD.
    """

    def parse(self, text: str) -> str:
        match = re.fullmatch(
            r"\s*([A-Za-z]{3,9})\.?[\s,]+([0-9]{1,2})[\s,]+([0-9]{4})\s*",
            text,
            re.ASCII,
        )
        day = ""
        if match:
            month = _MONTH_NUMBERS.get(match[1].capitalize(), 0)
            day = f"{match[3]}-{month:02}-{match[2]:0>2}"
        return _existing(day, "such as Jun 21, 2013", text)

    def format(self, value: str) -> str:
        year, month, day = map(int, value.split("-"))
        return f"{_MONTHS[month - 1][:3]} {day}, {year:04}"

    def schema(self) -> Schema:
        return {"type": "string", "pattern": "^[A-Z][a-z]{2} [0-9]{1,2}, [0-9]{4}$"}


_INSTANT_PATTERN = re.compile(
    r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?(Z|[+ -][0-9]{2}:?[0-9]{2}))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Instant(ParameterKind):
    """An instant with its offset (ISO 8601), in the years 1000 to 2999.

    The value is a text in UTC with milliseconds; smaller fractions are cut off. With
    ``days`` a day without a time is accepted and stands for its first instant in UTC. A
    space is read as `+`, because a query decodes to a space where a client did not
    percent-encode the plus sign.
    """

    days: bool = False

    def parse(self, text: str) -> str:
        text = text.strip()
        upper = text.upper()
        try:
            if _INSTANT_PATTERN.fullmatch(upper) and (self.days or "T" in upper):
                moment = datetime.fromisoformat(upper.replace(" ", "+"))
                if moment.tzinfo is None:
                    moment = moment.replace(tzinfo=UTC)
                moment = moment.astimezone(UTC)
                if 1000 <= moment.year < 3000:  # the offset may have moved it out
                    milliseconds = moment.microsecond // 1000
                    seconds = moment.strftime("%Y-%m-%dT%H:%M:%S")
                    return f"{seconds}.{milliseconds:03}Z"
        except (ValueError, OverflowError):
            pass
        allowed = "a day or an instant" if self.days else "an instant"
        raise refused(f"must be {allowed}, such as 2026-11-27T06:00:00-05:00", text)

    def schema(self) -> Schema:
        if self.days:
            # a format for each would be two types, which no client of Java's has
            return {
                "type": "string",
                "pattern": "^[12][0-9]{3}-[0-9]{2}-[0-9]{2}(T.+)?$",
            }
        return {"type": "string", "format": "date-time"}
