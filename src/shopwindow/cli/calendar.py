"""`calendar`: what happens when, as lines, JSON or iCalendar."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click
import orjson

from shopwindow import library
from shopwindow.cli.options import CONTENT_DIR, format_option

if TYPE_CHECKING:
    from shopwindow.content.lookup.calendar import Calendar, Happening, Stretch


@click.command()
@CONTENT_DIR
@click.option(
    "--from", "start", metavar="INSTANT", help="The first instant; default: now."
)
@click.option("--to", "end", metavar="INSTANT", help="The end; default: 90 days later.")
@format_option(
    ["text", "json", "ics"], "Lines, JSON, or iCalendar for a calendar program."
)
def calendar(content: Path, start: str | None, end: str | None, form: str) -> None:
    """List what goes live, ends, starts and expires, and where nothing is live."""
    from shopwindow.cli.steps import opened

    looked_into = opened(content)
    listed = library.calendar(looked_into, start=start, end=end)
    zone = looked_into.documents.zone
    if form == "ics":
        click.echo(_ics(listed), nl=False)
    elif form == "json":
        click.echo(orjson.dumps(listed, option=orjson.OPT_INDENT_2))
    else:
        click.echo("\n".join(_lines(listed, zone)))


def _lines(listed: Calendar, zone: ZoneInfo) -> Iterator[str]:
    for happening in listed.happenings:
        where = ZoneInfo(happening.zone)
        named = f"{happening.kind} {happening.id}".rstrip()
        yield f"{_shown(happening.moment, where)}  {named} {happening.label}: {happening.title}"
    for gap in listed.gaps:
        yield f"no {gap.kind} is live {_stretch(gap, zone)}"
    for overlap in listed.overlaps:
        together = ", ".join(overlap.ids)
        yield f"{overlap.kind} {together} are live together {_stretch(overlap, zone)}"
    if listed.last is None:
        yield "nothing is scheduled"
    else:
        if listed.end <= listed.last.moment:
            yield f"more is scheduled from {_shown(listed.end, zone)} on: --to lists it"
        yield f"nothing is scheduled after {_shown(listed.last.moment, zone)}"


def _stretch(stretch: Stretch, zone: ZoneInfo) -> str:
    return f"from {_shown(stretch.start, zone)} to {_shown(stretch.end, zone)}"


def _shown(moment: datetime, zone: ZoneInfo) -> str:
    """Return an instant on a zone's clocks: 2026-11-27 06:00 EST."""
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M %Z}"


def _ics(listed: Calendar) -> bytes:
    """Return an iCalendar object (RFC 5545) with an event for each happening."""
    import icalendar  # 60 ms, which the other formats do not need

    written = icalendar.Calendar()
    written.add("prodid", "-//shopwindow//calendar//EN")
    written.add("version", "2.0")
    for happening in listed.happenings:
        written.add_component(_event(happening))
    return bytes(written.to_ical())


def _event(happening: Happening) -> Any:
    import icalendar

    event = icalendar.Event()
    moment = happening.moment.astimezone(UTC)
    parts = (happening.kind, happening.id, happening.label, happening.zone)
    uid = "-".join(part.replace(" ", "-").replace("/", "-") for part in parts if part)
    event.add("uid", f"{uid}@shopwindow")
    event.add("dtstamp", moment)
    event.add("dtstart", moment)
    event.add("summary", f"{happening.title}: {happening.label}")
    event.add(
        "description", f"{happening.kind} {happening.id} {happening.label}".strip()
    )
    return event
