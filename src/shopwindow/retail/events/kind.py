"""What editors write about a store event (interface 2.4, 2.5)."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.content.case import Case
from shopwindow.content.documents import Document
from shopwindow.content.finding import Finding
from shopwindow.content.kinds import EACH, Kind, Reference, Selection
from shopwindow.content.schedule import local_time
from shopwindow.retail.storefront import STORE_NUMBERS


def times(case: Case, event: Document) -> Iterator[Finding]:
    """The start and the finish exist, and the finish comes after the start.

    Both are `YYYY-MM-DD HH:MM`, so text compares as time does.
    """
    sound = [name for name in ("start", "finish") if case.sound(event, (name,))]
    exist = True
    for name in sound:
        text = event.value[name]
        try:
            datetime.fromisoformat(text)
        except ValueError:
            exist = False
            yield Finding(
                "time.exists",
                (name,),
                f"{text!r} does not exist in the calendar",
                "a day that exists",
            )
    if len(sound) < 2 or not exist:
        return

    start, finish = event.value["start"], event.value["finish"]
    if start >= finish:
        yield Finding(
            "time.order",
            ("finish",),
            f"finish {finish} is not after start {start}",
            "a later time",
        )


def dates(event: Mapping[str, Any], zone: ZoneInfo) -> Iterator[tuple[str, datetime]]:
    """Yield when an event begins and ends, as (label, instant), for the calendar."""
    yield "starts", local_time(event["start"], zone)
    yield "ends", local_time(event["finish"], zone)


EVENT = Kind(
    name="event",
    folder="events",
    schema="event.json",
    ids=("id",),
    title=("name",),
    references=tuple(
        Reference(("stores", number, EACH), "store", number) for number in STORE_NUMBERS
    ),
    dates=dates,
    clocks=(("start",), ("finish",)),
    selections=(Selection(("stores",), "store"),),
    rules=(times,),
)
