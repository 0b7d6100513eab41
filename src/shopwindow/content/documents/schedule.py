"""When documents are live: time zones, instants, publish windows, clocks, boundaries.

Publish windows are applied once, at the instant of the build. They are half-open: a
document is live from the start of its window on, and no longer at the end. A boundary
is an instant at which a window opens or closes, or at which a clock changes its value.
Between two boundaries, builds of the same files write the same release.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.did_you_mean import nearest
from shopwindow.problems import Misuse

BEGINNING = datetime.min.replace(tzinfo=UTC)
"""The start of a window that has none."""

END = datetime.max.replace(tzinfo=UTC)
"""The end of a window that has none."""

NEVER = "1970-01-01T00:00:00.000+00:00"
"""The latest publish boundary where there is none (interface W1.10, `querydate`)."""

PUBLISHED = "published"
"""The name of the engine's own clock, whose value is what `published` returns."""


WRITTEN = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?: (?P<clock>[0-9]{1,2}:[0-9]{2}))?"
    r"(?: (?P<zone>[A-Za-z][A-Za-z0-9_+/-]*))?"
)
"""An instant as editors write it: a day, perhaps a time of day, perhaps a zone."""

_LOCAL = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2} ([01]?[0-9]|2[0-3]):[0-9]{2}")

_ONE_DIGIT_HOUR = re.compile(
    r"((?:[0-9]{4}-[0-9]{2}-[0-9]{2} )?)([0-9]:[0-5][0-9](?: .*)?)"
)


class OccursTwice(ValueError):
    """A local time occurs twice, for the clock goes back.

    ``first`` and ``second`` are the instants that it may mean, as RFC 3339.
    """

    def __init__(self, text: str, first: datetime, second: datetime) -> None:
        super().__init__(f"{text} occurs twice in {first.tzinfo}: the clock goes back")
        self.first, self.second = first.isoformat(), second.isoformat()


def full_clock(text: str) -> str:
    """Return a time of day, or a day and a time, with two digits for the hour.

    `9:00` becomes `09:00`, and `2026-11-27 9:00` becomes `2026-11-27 09:00`. Any other
    text is returned as it is.
    """
    match = _ONE_DIGIT_HOUR.fullmatch(text)
    return f"{match[1]}0{match[2]}" if match else text


def zone_name(text: str) -> str:
    """Return the zone that a written instant names; empty where it names none."""
    match = WRITTEN.fullmatch(text)
    return match["zone"] or "" if match else ""


US_LETTERS = {
    letters: place
    for place, all_letters in (
        ("America/New_York", "ET EST EDT EASTERN"),
        ("America/Chicago", "CT CST CDT CENTRAL"),
        ("America/Denver", "MT MST MDT MOUNTAIN"),
        ("America/Los_Angeles", "PT PST PDT PACIFIC"),
    )
    for letters in all_letters.split()
}
"""Letters by which people in the United States call a zone → its name. The IANA database has
EST and MST too, for a clock that stays at standard time all year.
"""


@cache
def zone_names() -> tuple[str, ...]:
    """Return the names of all time zones of the IANA database."""
    names = resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8")
    return tuple(names.split())


def nearest_zone(name: str, others: Iterable[str] = ()) -> str:
    """Return the zone, or one of some other words, that ``name`` may stand for.

    People know a zone by its city, or in the United States by its letters. Empty where
    nothing is like it.
    """
    if place := US_LETTERS.get(name.upper()):
        return place
    places = [place for place in zone_names() if "/" in place]
    word = name.casefold()
    for place in places:
        if word in (place.casefold(), place.rpartition("/")[2].casefold()):
            return place
    return nearest(name, [*places, *others])


@cache
def zone(name: str) -> ZoneInfo:
    """Return a time zone by its IANA name.

    It comes from the tzdata package, never from the host, so that a build does the same
    on every host. Raises ValueError where there is no such zone, and for US_LETTERS.
    """
    try:
        file = resources.files("tzdata.zoneinfo").joinpath(*name.split("/"))
        with file.open("rb") as stream:
            there = ZoneInfo.from_file(stream, key=name)
    except (OSError, ValueError, ModuleNotFoundError) as error:
        raise ValueError(f"the time zone {name!r} does not exist") from error
    if name in US_LETTERS:
        raise ValueError(f"{name} is never set to daylight saving time")
    return there


def local_time(text: str, where: ZoneInfo, *, once: bool = False) -> datetime:
    """Return the instant of a text `YYYY-MM-DD HH:MM`, on the clocks of a zone.

    A time that occurs twice, when clocks go back, is the first of the two, which is a
    rule that content has relied on. With ``once`` it raises OccursTwice. Raises
    ValueError for a day that does not exist, and for a time that the clocks jump over.
    """
    naive = _on_clocks(text)
    first = naive.replace(tzinfo=where)
    moment = first.astimezone(UTC)
    if moment.astimezone(where).replace(tzinfo=None) != naive:
        raise ValueError(
            f"{text} does not exist in {where.key}: the clock jumps over it"
        )
    second = first.replace(fold=1)
    if once and moment < second.astimezone(UTC):
        raise OccursTwice(text, first, second)
    return moment


def _on_clocks(text: str) -> datetime:
    """Return the day and time that clocks show. Raises ValueError where there is none."""
    if _LOCAL.fullmatch(text):
        with suppress(ValueError):
            return datetime.fromisoformat(full_clock(text))
    raise ValueError(f"{text!r} does not exist in the calendar")


def first_instant(day: date, where: ZoneInfo) -> datetime:
    """Return the instant at which a day begins in a zone.

    Where the clocks jump over midnight, that is the instant of the jump.
    """
    return datetime(day.year, day.month, day.day, tzinfo=where).astimezone(UTC)


def instant(text: str, where: ZoneInfo, *, ends: bool = False) -> datetime:
    """Return the instant that an editor wrote.

    ``text`` is RFC 3339 with an offset, or a day, or a day and a time. These two may
    name the zone on whose clocks they are read; by default it is ``where``. A day
    stands for its first instant. With ``ends`` it stands for the first instant of the
    next day, because the last day of a window belongs to the window.

    Raises ValueError for what does not exist, and OccursTwice for a time that does so
    in a zone that ``text`` names.
    """
    written = WRITTEN.fullmatch(text)
    try:
        moment = datetime.fromisoformat(written["day"] if written else text)
    except ValueError:
        raise ValueError(f"{text!r} does not exist in the calendar") from None
    if written is None:
        if moment.tzinfo is None:
            raise ValueError(f"{text} has no offset, which names the zone")
        return moment.astimezone(UTC)
    named = written["zone"]
    if named:
        where = zone(named)
    if written["clock"]:
        local = f"{written['day']} {written['clock']}"
        # Who names a zone means one instant.
        return local_time(local, where, once=bool(named))
    day = moment.date()
    return first_instant(day + timedelta(days=1) if ends else day, where)


WINDOW_FORMS = (
    "write 2026-11-27, 2026-11-27 06:00, 2026-11-27 06:00 America/Los_Angeles or "
    "2026-11-27T06:00:00-05:00"
)
"""How an instant may be written."""


def misread(text: str, error: Exception) -> str:
    """Return why a text is no instant, and what to write instead."""
    if isinstance(error, OccursTwice):
        return f"{error}; write {error.first} or {error.second}"
    name = zone_name(text)
    close = nearest_zone(name) if name in str(error) else ""
    return f"{error}; did you mean {close}?" if close else f"{error}; {WINDOW_FORMS}"


def moment_of(
    at: str | None, where: ZoneInfo, option: str = "at", *, ends: bool = False
) -> datetime:
    """Return the instant that an option names.

    ``at`` is RFC 3339, or a local time or a day, in the zone ``where`` or in one that
    stands behind it; None is now, in whole seconds. ``ends`` is as for `instant`.
    Raises Misuse for any other text. It does so, too, for the first and the last year
    that Python has, since the weeks around an instant must exist.
    """
    if at is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        moment = instant(at, where, ends=ends)
        if not MINYEAR < moment.year < MAXYEAR:
            raise ValueError(
                f"must be after the year {MINYEAR} and before the year {MAXYEAR}"
            )
        return moment
    except (ValueError, OverflowError) as error:
        raise Misuse(option, f"{at}: {misread(at, error)}") from None


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open interval of time: ``start`` belongs to it, ``end`` does not."""

    start: datetime = BEGINNING
    end: datetime = END

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    def overlaps(self, other: "Window") -> bool:
        """Return whether some instant lies in both."""
        return self.start < other.end and other.start < self.end


ALWAYS = Window()


def window(value: Mapping[str, Any], where: ZoneInfo) -> Window:
    """Return when a document is live, by its `publish`.

    Raises ValueError for an instant that does not exist.
    """
    publish = value.get("publish")
    if not publish:
        return ALWAYS
    start, end = publish.get("from"), publish.get("until")
    return Window(
        instant(start, where) if start else BEGINNING,
        instant(end, where, ends=True) if end else END,
    )


@dataclass(frozen=True)
class Clock:
    """A value that follows from the instant of the build.

    The week of the opening hours is one. ``value(zone, instant)`` is text for
    content.json; ``until(zone, instant)`` is the instant at which it changes next,
    which is a boundary. ``title`` is what `diff` calls it.
    """

    name: str
    value: Callable[[ZoneInfo, datetime], str]
    until: Callable[[ZoneInfo, datetime], datetime]
    title: str


def published(moments: Iterable[datetime], moment: datetime) -> str:
    """Return the latest of some boundaries at or before an instant, as text.

    The text is ISO 8601 with milliseconds; NEVER where there is no such boundary.
    """
    past = [boundary for boundary in moments if boundary <= moment]
    return max(past).isoformat(timespec="milliseconds") if past else NEVER


def next_change(
    moments: Iterable[datetime],
    clocks: Iterable[Clock],
    where: ZoneInfo,
    moment: datetime,
) -> datetime:
    """Return when a build of the same files would first differ from one at ``moment``.

    Returns END where it never will.
    """
    future = [boundary for boundary in moments if boundary > moment]
    future += [clock.until(where, moment) for clock in clocks]
    return min(future, default=END)
