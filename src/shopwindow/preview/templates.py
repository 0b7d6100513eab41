"""The templates of pages, and how they write times, amounts and values."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shopwindow.content.documents import schedule
from shopwindow.content.reading.listing import shipped
from shopwindow.content.reading.scalars import quoted
from shopwindow.problems import place_words, sentence

MAX_HINT = 50
"""Characters beside a folded object: with its name in front they are one line."""


def environment() -> Environment:
    """Return what draws the templates below templates/preview; everything is escaped.

    `diff` has one there, too.
    """
    templates = Environment(
        loader=FileSystemLoader(shipped("templates") / "preview"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "when": when,
        "day": day,
        "clock": clock,
        "time": time_of_day,
        "time_there": time_there,
        "moment": datetime.fromisoformat,
        "field": field,
        "json": quoted,
        "hint": hint,
        "dollars": dollars,
        "place_words": place_words,
        "sentence": sentence,
    }
    return templates


def when(moment: datetime, zone: ZoneInfo) -> str:
    """Return an instant on a zone's clocks, as people write it: Fri 27 Nov 2026, 6:00
    AM EST.
    """
    shown = f"{day(moment, zone)}, {time_of_day(moment, zone)}"
    return f"{shown} {moment.astimezone(zone).tzname()}"


def day(moment: datetime, zone: ZoneInfo) -> str:
    """Return the day of an instant on a zone's clocks: Fri 27 Nov 2026."""
    local = moment.astimezone(zone)
    return f"{local:%a} {local.day} {local:%b %Y}"


def clock(moment: datetime, zone: ZoneInfo) -> str:
    """Return the time of an instant on a zone's clocks, with seconds: 6:00:05 AM."""
    local = moment.astimezone(zone)
    return f"{local.hour % 12 or 12}:{local:%M:%S %p}"


def field(moment: datetime, zone: ZoneInfo) -> str:
    """Return an instant as a field for date and time has it: 2026-11-27T06:00."""
    return f"{moment.astimezone(zone):%Y-%m-%dT%H:%M}"


def time_of_day(moment: datetime, zone: ZoneInfo) -> str:
    """Return the time of an instant on a zone's clocks: 6:00 AM."""
    local = moment.astimezone(zone)
    return f"{local.hour % 12 or 12}:{local:%M %p}"


def dollars(amount: float) -> str:
    """Return an amount as people write it: $1,398.00."""
    return f"${amount:,.2f}"


def hint(value: Mapping[str, Any]) -> str:
    """Return what a folded object shows of itself: its name, else its first value.

    A name is the first member that is called so or ends so, such as eventName.
    """
    texts = {
        name: str(part)
        for name, part in value.items()
        if isinstance(part, str | int | float)
    }
    named = (name for name in texts if name.lower().endswith(("name", "title")))
    shown = next(named, next(iter(texts), None))
    if shown is None:
        return f"{len(value)}"
    text = texts[shown]
    return text if len(text) <= MAX_HINT else f"{text[: MAX_HINT - 1]}…"


def time_there(moment: datetime, zone: str) -> str:
    """Return the time of an instant on the clocks of a zone that is not the page's:
    6:00 AM MST.
    """
    where = schedule.zone(zone)
    return f"{time_of_day(moment, where)} {moment.astimezone(where).tzname()}"
