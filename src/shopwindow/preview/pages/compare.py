"""What would change: the working tree beside the current release, or beside another
instant.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shopwindow.content import schedule
from shopwindow.content.documents import Content
from shopwindow.content.kinds import titled
from shopwindow.preview.drawing import text_of
from shopwindow.preview.visit import Page, Visit
from shopwindow.problems import Failure, pointer_text
from shopwindow.release.changes import differences

MAX_DOCUMENTS = 200
"""Documents that the page shows with their values; of more, only their number."""


@dataclass(frozen=True)
class Value:
    """One value that differs. A side that does not have it is None."""

    pointer: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Changed:
    """A document that differs: what happened to it, its values, and the file that says
    so now.

    ``what`` is appears, disappears or changes.
    """

    kind: str
    id: str
    title: str
    what: str
    values: tuple[Value, ...]
    path: str = ""
    line: int = 0


def page(visit: Visit) -> Page:
    """Return what differs at the chosen instant. Parameter: ``with`` is `release`, the
    default, or an instant as a field for date and time sends it.
    """
    other, words, failure = _other(visit)
    changed: list[Changed] = []
    if other is not None and visit.content is not None:
        changed = _changed(visit, other, visit.content)
    values: dict[str, Any] = {
        "words": words,
        "failure": failure,
        "changed": changed[:MAX_DOCUMENTS],
        "count": len(changed),
        "instant": visit.query.get("with", ""),
    }
    return Page("compare.html", "Compare", values)


def _other(visit: Visit) -> tuple[Content | None, str, str]:
    """Return the content to compare with, what it is, and why there is none."""
    text = visit.query.get("with", "").strip()
    if text and text != "release":
        try:
            moment = schedule.instant(text.replace("T", " "), visit.zone)
        except (ValueError, OverflowError):
            return None, "", f"{text} is no date and time in {visit.zone.key}."
        return (
            visit.workspace.content(visit.snapshot, moment),
            _instant(moment, visit),
            "",
        )
    try:
        released = visit.workspace.released()
    except Failure as failure:
        return None, "", str(failure)
    if released is None:
        return None, "", "There is no current release to compare with."
    return released.content, f"release {released.id[:12]}", ""


def _instant(moment: datetime, visit: Visit) -> str:
    local = moment.astimezone(visit.zone)
    return f"the same files at {local:%Y-%m-%d %H:%M %Z}"


def _changed(visit: Visit, before: Content, after: Content) -> list[Changed]:
    leaves = defaultdict(list)
    for named, leaf in differences(before, after, visit.snapshot.interface):
        leaves[named].append(leaf)
    changed = []
    for (kind, id), values in leaves.items():
        pointer, old, new = values[0]
        what = "changes"
        if pointer == () and (old is None or new is None):
            what = "appears" if old is None else "disappears"
        shown = tuple(
            Value(pointer_text(pointer), _shown(old), _shown(new))
            for pointer, old, new in values
        )
        path, line = _file(visit, kind, id)
        title = _title(visit, kind, id, new if what == "appears" else old)
        changed.append(
            Changed(
                kind, id, title, what, () if what != "changes" else shown, path, line
            )
        )
    return changed


def _shown(value: Any) -> str | None:
    return None if value is None else text_of(value)


def _file(visit: Visit, kind: str, id: str) -> tuple[str, int]:
    """Return the file and line of a document of the working tree; empty for one that is
    gone.
    """
    if kind == "site":
        return "site.yaml", 1
    document = visit.snapshot.by_id.get(kind, {}).get(id)
    return (
        (document.layers[-1].path, visit.files.line(document)) if document else ("", 0)
    )


def _title(visit: Visit, kind: str, id: str, value: Any) -> str:
    known = visit.snapshot.interface.kind.get(kind)
    document = visit.snapshot.by_id.get(kind, {}).get(id)
    whole = document.value if document else value
    return titled(known, whole) if known and isinstance(whole, dict) else id
