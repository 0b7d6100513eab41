"""The releases that there are: which one is current, since when, who activated it and
why, and which ones follow it.
"""

from contextlib import suppress
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

    ``next_change``: when the current content would give another release; None for never,
    or where the manifest cannot be read. ``cut``: why nothing follows the last release of
    the chain. ``back``: the release that `rollback` would activate; None where there is
    none.
    """
    out = visit.workspace.out
    releases = Releases(out)
    values: dict[str, Any] = {"out": out, "releases": [], "history": [], "failure": ""}
    values |= {"current": None, "next_change": None, "cut": "", "back": None}
    try:
        values["releases"] = library.releases(out)
        values["history"] = list(reversed(releases.history()))[:HISTORY_SHOWN]
    except (Failure, OSError) as failure:
        values["failure"] = str(failure)
    for release in values["releases"]:
        if release.current:
            values |= {"current": release, "cut": releases.cut()}
            with suppress(Failure):
                instant = releases.next_change(release.id)
                if instant.year != END.year:
                    values["next_change"] = instant
            with suppress(Failure):
                values["back"] = releases.to_roll_back_to()
    return Page("releases.html", "Releases", values)
