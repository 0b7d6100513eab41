"""Problems, Compare and Calendar as files, which a pull request's pipeline attaches.

The pages are those of the preview, in a layout without scripts and without the bar.
What they link to beyond these files does not exist there, so such links become text.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

from shopwindow.preview.application import STATIC
from shopwindow.preview.pages import calendar, compare, problems
from shopwindow.preview.templates import environment
from shopwindow.preview.visit import Visit
from shopwindow.preview.workspace import Workspace

MONTHS_WRITTEN = 3
"""Months of the calendar that are written: the season that the bar's slider covers."""

EXPORT_MENU = (
    ("index.html", "Problems"),
    ("compare.html", "Compare"),
    ("calendar.html", "Calendar"),
)

_LINK = re.compile(r'<a\b([^>]*?) ?href="([^"]*)"([^>]*)>(.*?)</a>', re.DOTALL)
"""A link of a page. Values of attributes are escaped, so none holds an end of a tag."""


@dataclass
class StaticVisit(Visit):
    """A page that becomes the file ``file``. ``months`` are the files of the calendar by
    month.
    """

    file: str = ""
    months: Mapping[str, str] = field(default_factory=dict)
    is_static: ClassVar[bool] = True

    def here(self, **more: Any) -> str:
        """Return the file of this page for another month; nothing where there is none."""
        return self.months.get(more.get("month", ""), "")


def export(workspace: Workspace, folder: Path) -> list[Path]:
    """Write the pages into a folder, which is created where it is missing; return the
    files.
    """
    months = _months(workspace)
    pages = [
        ("index.html", problems.problems, {}),
        ("compare.html", compare.page, {}),
        *((file, calendar.page, {"month": month}) for month, file in months.items()),
    ]
    templates = environment()
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for file, draw, query in pages:
        visit = StaticVisit(
            workspace, workspace.snapshot, "", query, file=file, months=months
        )
        page = draw(visit)
        text = templates.get_template(page.template).render(
            **page.values,
            layout="exported.html",
            page_title=page.title,
            visit=visit,
            snapshot=visit.snapshot,
            menu=EXPORT_MENU,
        )
        path = folder / file
        path.write_text(_LINK.sub(_kept, text), encoding="utf-8")
        written.append(path)
    shutil.copyfile(STATIC / "style.css", folder / "style.css")
    return [*written, folder / "style.css"]


def _months(workspace: Workspace) -> dict[str, str]:
    """Return the months to write and their files, from this one on."""
    visit = Visit(workspace, workspace.snapshot, "", {})
    month: date = visit.day.replace(day=1)
    files = {}
    for number in range(MONTHS_WRITTEN):
        name = f"{month:%Y-%m}"
        files[name] = f"calendar-{name}.html" if number else "calendar.html"
        month = calendar.next_month(month)
    return files


def _kept(link: re.Match[str]) -> str:
    """Return a link to one of the files, or to a place in its page; of any other the
    text.
    """
    before, target, after, text = link.groups()
    leads_out = target.startswith(("/", "vscode:"))
    return f"<span{before}{after}>{text}</span>" if leads_out else link.group()
