"""What happens when: all that goes live, ends, starts or expires, and where nothing
does.

Everything follows from the kinds: publish windows of scheduled kinds, and the dates
that a kind names itself (Kind.dates). A date on the clocks of stores in several zones
happens several times.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Documents
from shopwindow.content.documents.schedule import ALWAYS, BEGINNING, END, Window
from shopwindow.content.documents.zones import Zones
from shopwindow.content.kinds import Kind, titled

GOES_LIVE, GOES_OFF = "goes live", "goes off"
"""Labels of the two ends of a publish window."""


@dataclass(frozen=True, order=True)
class Happening:
    """One thing that happens to one document at ``moment``, which people there read on
    the clocks of ``zone``.

    ``label`` says what: "goes live", "goes off", or the label of one of its kind's
    dates.
    """

    moment: datetime
    kind: str
    id: str
    title: str
    label: str
    zone: str


@dataclass(frozen=True, order=True)
class Stretch:
    """A stretch of time in which all documents of a kind are off (``ids`` is empty), or
    in which several that have a publish window are live at once.
    """

    start: datetime
    end: datetime
    kind: str
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Calendar:
    """What happens between two instants.

    ``happenings``, ``gaps`` and ``overlaps`` are in order of time; stretches are cut
    off at the two instants. ``last`` is the last thing that happens ever, also beyond
    them; None where nothing is scheduled at all.
    """

    start: datetime
    end: datetime
    happenings: Sequence[Happening]
    gaps: Sequence[Stretch]
    overlaps: Sequence[Stretch]
    last: Happening | None


def calendar(
    documents: Documents, kinds: Iterable[Kind], start: datetime, end: datetime
) -> Calendar:
    """Return what happens from ``start`` (inclusive) to ``end`` (exclusive)."""
    scheduled = [kind for kind in kinds if not kind.streamed]
    everything = sorted(
        happening
        for kind in scheduled
        for happening in _happenings(documents, kind, scheduled)
    )
    between = Window(start, end)
    stretches = [
        part for kind in scheduled for part in _stretches(documents, kind, between)
    ]
    return Calendar(
        start,
        end,
        [happening for happening in everything if happening.moment in between],
        sorted(part for part in stretches if not part.ids),
        sorted(part for part in stretches if part.ids),
        everything[-1] if everything else None,
    )


def _happenings(
    documents: Documents, kind: Kind, kinds: Sequence[Kind]
) -> Iterator[Happening]:
    site = documents.zone
    zones = Zones(kind, kinds, documents.of)
    for document in documents.of(kind.name):
        yield from _window_ends(kind, document.value, site)
        if kind.dates is not None:
            name, title = identity(kind, document.value), titled(kind, document.value)
            for zone in zones.of(document.value, site):
                for label, moment in kind.dates(document.value, zone):
                    yield Happening(moment, kind.name, name, title, label, zone.key)


def _window_ends(
    kind: Kind, value: dict[str, Any], site: ZoneInfo
) -> Iterator[Happening]:
    name, title = identity(kind, value), titled(kind, value)
    window = schedule.window(value, site)
    for moment, label in ((window.start, GOES_LIVE), (window.end, GOES_OFF)):
        if moment not in (BEGINNING, END):
            yield Happening(moment, kind.name, name, title, label, site.key)


def upcoming(
    documents: Documents, kinds: Iterable[Kind], start: datetime, end: datetime
) -> list[Happening]:
    """Return what goes live and off after ``start`` and before ``end``, in order."""
    return sorted(
        happening
        for kind in kinds
        if not kind.streamed
        for document in documents.of(kind.name)
        for happening in _window_ends(kind, document.value, documents.zone)
        if start < happening.moment < end
    )


def identity(kind: Kind, value: Mapping[str, Any]) -> str:
    """Return what identifies a document, as text; empty for a kind without ids."""
    return str(value[kind.identity]) if kind.identity else ""


# -- stretches of nothing, and of several at once --------------------------------------


def _stretches(documents: Documents, kind: Kind, between: Window) -> Iterator[Stretch]:
    """Yield the gaps and overlaps of a kind.

    Only a kind whose documents all have windows has gaps: else something is always
    live. Only documents with windows overlap.
    """
    windows = [
        (
            identity(kind, document.value),
            schedule.window(document.value, documents.zone),
        )
        for document in documents.of(kind.name)
        if kind.scheduled
    ]
    bounded = [(id, window) for id, window in windows if window != ALWAYS]
    if not bounded:
        return
    moments = {between.start, between.end}
    moments |= {
        moment for _, window in bounded for moment in (window.start, window.end)
    }
    inside = sorted(
        moment for moment in moments if between.start <= moment <= between.end
    )
    always = len(bounded) < len(windows)
    for start, end in pairwise(inside):
        live = tuple(sorted(id for id, window in bounded if start in window))
        if len(live) > 1 or (not live and not always):
            yield Stretch(start, end, kind.name, live)
