"""A Visit is one request for a page: the snapshot it sees, and the bar's choices.

The bar stands above every page. In it a person chooses an instant, a zone, an
application and a format, which are parameters of the query. Links carry them from page
to page (`Visit.link`). A choice that cannot be used counts as none, so that a page is
shown for any query.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

from shopwindow.content.check.places import Files
from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Content, Document, Documents
from shopwindow.interface.declaring.interface import Interface
from shopwindow.preview.drawing import Stay, places, state_of
from shopwindow.preview.workspace import Baseline, Released, Snapshot, Workspace
from shopwindow.problems import Failure, Misuse, Pointer
from shopwindow.release.releases import Releases

DAYS_AHEAD = 90
"""Days that the bar's slider covers."""

ZONES = (
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Phoenix",
    "America/Los_Angeles",
    "America/Anchorage",
    "Pacific/Honolulu",
    "UTC",
)
"""Zones of stores with US addresses, and the one that logs have."""

CHOICES = ("at", "day", "zone", "app", "as")
"""Parameters of the query that the bar sets, and every link carries on."""


@dataclass(frozen=True)
class Mark:
    """A boundary on the slider.

    ``percent``: how far along the slider it stands, from 0 to 100. ``ahead``: the release
    that was built ahead for it, or why none was; else empty.
    """

    moment: datetime
    percent: float
    ahead: str


@dataclass
class Visit:
    """A request, with what page functions and templates need to draw the page.

    ``snapshot``: the state of the folder that the whole page shows. ``path``: the
    page's. ``query``: the parameters. ``values``: the variable parts of the path.
    ``form_token``: goes into each form that writes; empty: nothing may be written.
    ``is_static``: the page becomes a file, which nobody answers for.
    """

    workspace: Workspace
    snapshot: Snapshot
    path: str
    query: Mapping[str, str]
    values: Mapping[str, str] = field(default_factory=dict)
    form_token: str = ""
    is_static: ClassVar[bool] = False
    choices: ClassVar[tuple[str, ...]] = CHOICES
    days_ahead: ClassVar[int] = DAYS_AHEAD

    @property
    def interface(self) -> Interface:
        return self.snapshot.interface

    @property
    def documents(self) -> Documents:
        return self.snapshot.documents

    # -- the bar -----------------------------------------------------------------------

    @cached_property
    def site_zone(self) -> ZoneInfo:
        return self.documents.zone

    @cached_property
    def zone(self) -> ZoneInfo:
        """The zone in which times are shown: the one chosen, else the site's."""
        name = self.query.get("zone", "")
        try:
            return schedule.zone(name) if name else self.site_zone
        except ValueError:
            return self.site_zone

    @cached_property
    def now(self) -> datetime:
        return datetime.now(UTC).replace(microsecond=0)

    @cached_property
    def moment(self) -> datetime:
        """The instant whose content is shown: the one chosen, else now.

        ``at`` comes before ``day``, which counts days from today; the slider sends it.
        """
        text = self.query.get("at", "").strip()
        if not text:
            return self._moment_of_slider
        try:
            return self.instant(text)
        except Misuse:
            return self.now

    def instant(self, text: str) -> datetime:
        """Return the instant that a text names: as a field for date and time sends it,
        `2026-11-27T09:00`, on the clocks of the chosen zone; or in any other form that
        `--at` takes. Raises Misuse for any other, as `--at` does.
        """
        if len(text) == len("2026-11-27T09:00") and text[10] == "T":
            text = text.replace("T", " ")
        return schedule.moment_of(text, self.zone)

    @property
    def _moment_of_slider(self) -> datetime:
        """The beginning of the day that the slider chose, else now."""
        days = number(self.query.get("day", ""))
        if not 0 < days <= DAYS_AHEAD:
            return self.now
        return self._midnight(days)

    def _midnight(self, days: int) -> datetime:
        """Return the beginning of a day on the chosen zone's clocks, counted from today."""
        day = self.now.astimezone(self.zone).date() + timedelta(days=days)
        return schedule.first_instant(day, self.zone)

    @property
    def day(self) -> date:
        """The day of that instant on the clocks of the chosen zone."""
        return self.moment.astimezone(self.zone).date()

    @property
    def is_now(self) -> bool:
        return self.moment == self.now

    @property
    def misread(self) -> str:
        """A sentence about an ``at`` that is no date and time; mostly empty."""
        text = self.query.get("at", "").strip()
        if text and self.is_now:
            return f"{text} is no date and time in {self.zone.key}; this is now."
        return ""

    @cached_property
    def words(self) -> list[str]:
        """What a search of the page, ``q``, has to find."""
        return self.query.get("q", "").casefold().split()

    @cached_property
    def format(self) -> str:
        return "xml" if self.query.get("as") == "xml" else "json"

    @cached_property
    def applications(self) -> list[str]:
        return self.interface.application_names(self.content)

    @cached_property
    def app(self) -> str | None:
        """The application whose responses are shown: the one chosen, else the first."""
        chosen = self.query.get("app", "")
        if chosen in self.applications:
            return chosen
        return next(iter(self.applications), None)

    @cached_property
    def slider_start(self) -> datetime:
        """The beginning of today on the chosen zone's clocks."""
        return self._midnight(0)

    @cached_property
    def marks(self) -> list[Mark]:
        """The boundaries within the days that the slider covers."""
        start, length = self.slider_start, timedelta(days=DAYS_AHEAD)
        ahead = self._ahead()
        return [
            Mark(moment, self.percent(moment), ahead.get(moment, ""))
            for moment in self.snapshot.boundaries
            if start <= moment <= start + length
        ]

    def _ahead(self) -> dict[datetime, str]:
        """Return what marks say of the chain of releases, by instant."""
        releases = Releases(self.workspace.out)
        ahead: dict[datetime, str] = {}
        with suppress(Failure):
            links = releases.chain().links
            for link in links[1:]:
                ahead[link.start] = f"release {link.id[:12]}, built ahead"
            if cut := releases.cut():
                ahead[releases.next_change(links[-1].id)] = cut
        return ahead

    @property
    def slider_value(self) -> int:
        """Whole days from the start of the slider to the chosen instant."""
        days = (self.moment - self.slider_start).days
        return min(max(days, 0), DAYS_AHEAD)

    def percent(self, moment: datetime) -> float:
        """Return how far along the slider an instant stands, from 0 to 100."""
        passed = (moment - self.slider_start) / timedelta(days=DAYS_AHEAD)
        return round(100 * min(max(passed, 0), 1), 2)

    @cached_property
    def zones(self) -> list[str]:
        """The zones to choose from: the site's, those of the United States, and UTC."""
        return list(dict.fromkeys((self.site_zone.key, *ZONES, self.zone.key)))

    # -- what pages read ---------------------------------------------------------------

    @cached_property
    def content(self) -> Content:
        """The documents that are live at the chosen instant."""
        return self.snapshot.content(self.moment)

    @cached_property
    def released(self) -> Released | None:
        """The current release; None where there is none, or where it cannot be read."""
        try:
            return self.workspace.released()
        except Failure:
            return None

    @cached_property
    def baseline(self) -> Baseline | None:
        """What values are compared with: the revision of ``--against``, else the
        current release; None where there is neither.
        """
        return self.workspace.baseline(self.moment)

    def stay(self, value: dict[str, Any]) -> Stay:
        """Return when a document is live by its publish window, as of the chosen instant."""
        window = schedule.window(value, self.site_zone)
        return Stay(window, state_of(window, self.moment))

    @cached_property
    def files(self) -> Files:
        sources = {source.path: source for source in self.snapshot.checked.sources}
        return Files(self.workspace.folder, sources)

    def editor(self, path: str, line: int) -> str:
        """Return the address that opens a file of the content folder in VS Code."""
        file = (self.workspace.folder / path).absolute()
        return f"vscode://file{quote(str(file))}:{max(line, 1)}"

    def line_of(self, document: Document, pointer: Pointer) -> str:
        """Return the address that opens the line of a document's value in VS Code."""
        return self.editor(*places(document, pointer, self.files)[0])

    def link(self, path: str, **more: Any) -> str:
        """Return the address of another page, with the bar's choices."""
        chosen = {name: self.query.get(name) for name in CHOICES}
        return _address(path, {**chosen, **more})

    def here(self, **more: Any) -> str:
        """Return the address of this page with other parameters."""
        return _address(self.path, {**self.query, **more})


def number(text: str) -> int:
    """Return the number that a parameter of the query names, or 0."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _address(path: str, parameters: Mapping[str, Any]) -> str:
    """Return the address of a page; a parameter that is None or empty is left out."""
    stated = {
        name: str(value)
        for name, value in parameters.items()
        if value not in (None, "")
    }
    query = f"?{urlencode(stated)}" if stated else ""
    return quote(path) + query


@dataclass(frozen=True)
class Page:
    """What a page function returns: a template below templates/preview, and its values."""

    template: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
