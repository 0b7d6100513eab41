"""What happens when: all that goes live, ends, starts or expires, and where nothing
does.

Everything follows from the kinds: publish windows of scheduled kinds, and the dates
that a kind names itself (Kind.dates). A date on the clocks of stores in several zones
happens several times.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Documents
from shopwindow.content.documents.schedule import ALWAYS, BEGINNING, Window
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
    them; None where nothing is scheduled at all, or nobody looked beyond them.
    """

    start: datetime
    end: datetime
    happenings: Sequence[Happening]
    gaps: Sequence[Stretch]
    overlaps: Sequence[Stretch]
    last: Happening | None


def calendar(
    documents: Documents,
    kinds: Sequence[Kind],
    start: datetime,
    end: datetime,
    *,
    looks_beyond: bool = True,
) -> Calendar:
    """Return what happens from ``start`` (inclusive) to ``end`` (exclusive).

    ``looks_beyond``: look for the last thing of all, too, which takes as long again.
    """
    between = Window(start, end)
    everything = _happenings(documents, kinds, ALWAYS) if looks_beyond else ()
    stretches = [
        part for kind in kinds for part in _stretches(documents, kind, between)
    ]
    return Calendar(
        start,
        end,
        sorted(_happenings(documents, kinds, between)),
        sorted(part for part in stretches if not part.ids),
        sorted(part for part in stretches if part.ids),
        max(everything, default=None),
    )


def upcoming(
    documents: Documents, kinds: Iterable[Kind], start: datetime, end: datetime
) -> list[Happening]:
    """Return what goes live and off after ``start`` and before ``end``, in order."""
    undated = [replace(kind, dates=None) for kind in kinds]
    listed = _happenings(documents, undated, Window(start, end))
    return sorted(one for one in listed if one.moment > start)


def _happenings(
    documents: Documents, kinds: Sequence[Kind], between: Window
) -> Iterator[Happening]:
    """Yield what happens between two instants, in no order."""
    for kind in kinds:
        zones = Zones(kind, kinds, documents.of)
        for document in documents.of(kind.name):
            value = document.value
            for moment, label, zone in _moments(kind, value, documents.zone, zones):
                if moment in between and moment != BEGINNING:
                    name, title = kind.id(value), titled(kind, value)
                    yield Happening(moment, kind.name, name, title, label, zone.key)


def _moments(
    kind: Kind, value: dict[str, Any], site: ZoneInfo, zones: Zones
) -> Iterator[tuple[datetime, str, ZoneInfo]]:
    """Yield the ends of a document's window, also those that it has not, and its dates."""
    window = schedule.window(value, site)
    yield window.start, GOES_LIVE, site
    yield window.end, GOES_OFF, site
    if kind.dates is not None:
        for zone in zones.of(value, site):
            for label, moment in kind.dates(value, zone):
                yield moment, label, zone


# -- stretches of nothing, and of several at once --------------------------------------


def _stretches(documents: Documents, kind: Kind, between: Window) -> Iterator[Stretch]:
    """Yield the gaps and overlaps of a kind.

    Only a kind whose documents all have windows has gaps: else something is always
    live. Only documents with windows overlap.
    """
    windows = [
        (
            kind.id(document.value),
            schedule.window(document.value, documents.zone),
        )
        for document in documents.of(kind.name)
        if kind.scheduled
    ]
    bounded = [(id, window) for id, window in windows if window != ALWAYS]
    if not bounded:
        return
    near = [one for one in bounded if one[1].overlaps(between)]
    moments = {between.start, between.end}
    for _, window in near:
        moments |= {max(between.start, window.start), min(between.end, window.end)}
    always = len(bounded) < len(windows)
    for start, end in pairwise(sorted(moments)):
        live = tuple(sorted(id for id, window in near if start in window))
        if len(live) > 1 or (not live and not always):
            yield Stretch(start, end, kind.name, live)
