"""The releases that there are: which one is current, since when, who activated it and
why.
"""

from pathlib import Path
from typing import Any

from shopwindow import library
from shopwindow.content.documents.schedule import END
from shopwindow.preview.visit import Page, Visit
from shopwindow.problems import Failure
from shopwindow.release.releases import Releases

HISTORY_SHOWN = 50
"""Activations that the page lists: some weeks of a busy shop."""


def page(visit: Visit) -> Page:
    """Return the page of all releases and activations. Nothing can be activated from
    it.
    """
    out = visit.workspace.out
    values: dict[str, Any] = {"out": out, "releases": [], "history": [], "failure": ""}
    try:
        values["releases"] = library.releases(out)
        values["history"] = list(reversed(Releases(out).history()))[:HISTORY_SHOWN]
    except (Failure, OSError) as failure:
        values["failure"] = str(failure)
    values["current"] = next(
        (each for each in values["releases"] if each.current), None
    )
    values["next_change"] = _next_change(out) if values["current"] else None
    values["back"] = _back(out) if values["current"] else None
    return Page("releases.html", "Releases", values)


def _next_change(out: Path) -> str | None:
    """Return when the current content would give another release; None for never, or
    where the manifest cannot be read.
    """
    releases = Releases(out)
    try:
        instant = releases.manifest(str(releases.current())).next_change
    except Failure:
        return None
    return None if instant.startswith(str(END.year)) else instant


def _back(out: Path) -> str | None:
    """Return the id of the release that `rollback` would activate; None where there is
    none.
    """
    try:
        return Releases(out).to_roll_back_to()
    except Failure:
        return None
