"""Rules about references: what they name exists, and is live as long as who names it."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.content.documents import groups
from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.finding import Finding, listed
from shopwindow.content.documents.schedule import ALWAYS, BEGINNING, Window
from shopwindow.content.kinds import EACH, KEY, Kind, Reference, Selection, values_at
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.did_you_mean import nearest
from shopwindow.problems import Pointer

Targets = Callable[[str, str], tuple[Mapping[Any, list[Window]], bool]]
"""Returns the windows of the documents of a kind, by the value of one property, and
whether these are all values.
"""


def _targets(case: Case, kind: str, name: str) -> tuple[dict[Any, list[Window]], bool]:
    windows: dict[Any, list[Window]] = defaultdict(list)
    for document in case.having(kind, (name,)):
        windows[document.value[name]].append(case.window(document) or ALWAYS)
    return windows, case.is_complete(kind, (name,))


def references(case: Case) -> RuleFindings:
    """Check that references name documents that exist, and are live as long as the
    referrer.

    For a document with several references to one kind, one of them must be live at any
    time. A document that names a group is for whichever members are live: it must only
    meet one of them at some time.
    """
    targets = cache(partial(_targets, case))
    for kind in case.kinds:
        by_target: dict[str, list[Reference]] = defaultdict(list)
        for reference in kind.references:
            if reference.kind in case.by_name and KEY not in reference.pointer:
                by_target[reference.kind].append(reference)
        for name, together in by_target.items():
            target = case.by_name[name]
            for document in case.having(kind.name):
                yield from _of_document(
                    case, document, target, together, kind.selections, targets
                )


def _of_document(
    case: Case,
    document: Document,
    target: Kind,
    references: list[Reference],
    selections: Sequence[Selection],
    targets: Targets,
) -> RuleFindings:
    """Check all references of one document to one kind."""
    windows: list[Window] = []
    intact = True
    for reference in references:
        name = reference.compared_with(target)
        there, are_all = targets(target.name, name)
        if not case.sound(document, _fixed(reference.pointer)):
            intact = False
        for pointer, value in values_at(document.value, reference.pointer):
            if not case.sound(document, pointer):
                continue
            if value in there:
                windows += there[value]
                continue
            intact = False
            if are_all:
                names = [other.compared_with(target) for other in references]
                having = [one for one in names if value in targets(target.name, one)[0]]
                yield document, absent(pointer, target, name, value, there, having)

    live = case.window(document)
    if not live or not windows:
        return
    place = _fixed(references[0].pointer)[:1]
    if groups.by_group(document, selections, target.name):
        finding = _never_meets(document, target, live, windows, place)
    else:
        gap = _uncovered(live, windows) if intact else None
        finding = _alone_from(gap, case.zone, document, target, place) if gap else None
    if finding:
        yield document, finding


def absent(
    pointer: Pointer,
    target: Kind,
    name: str,
    value: Any,
    there: Collection[Any],
    having: Sequence[str] = (),
) -> Finding:
    """Return the finding about a value that no document of the target has there.

    ``name``: the property that is compared; ``there``: what documents have.
    ``having``: other properties that a document has with this value. One of them is
    meant, and no other value.
    """
    elsewhere = f", but one has the {having[0]} {value}" if having else ""
    return Finding(
        "reference",
        pointer,
        f"no {target.name} has the {name} {value}{elsewhere}",
        _identities(target, name, there),
        nearest="" if having else nearest(str(value), map(str, there)),
        absent=(target.name, name, str(value)),
    )


def _identities(kind: Kind, name: str, there: Collection[Any]) -> str:
    """Return what may name a document: the names that there are, or its ``name``."""
    if there and all(isinstance(value, str) for value in there):
        return listed(sorted(there))
    return f"the {name} of a {kind.name}"


def _never_meets(
    document: Document,
    target: Kind,
    live: Window,
    windows: Iterable[Window],
    place: Pointer,
) -> Finding | None:
    """Return the finding about a document that no member of its group ever meets."""
    if any(live.overlaps(window) for window in windows):
        return None
    found = f"while the {document.kind} is live, none of its {target.name}s ever is"
    allowed = f"a publish window that meets one of its {target.name}s'"
    return Finding("reference.live", place, found, allowed)


def _alone_from(
    gap: datetime,
    zone: ZoneInfo | None,
    document: Document,
    target: Kind,
    place: Pointer,
) -> Finding:
    """Return the finding about a document that is live without any of its targets, from
    an instant on.
    """
    since = "the beginning"
    if gap != BEGINNING:
        since = gap.astimezone(zone).strftime("%Y-%m-%d %H:%M")
    found = (
        f"from {since} the {document.kind} is live while none of its {target.name}s is"
    )
    allowed = f"a publish window within those of its {target.name}s"
    return Finding("reference.live", place, found, allowed)


def _fixed(pointer: Pointer) -> Pointer:
    """Return the part of a reference's pointer before its first EACH."""
    return pointer[: pointer.index(EACH)] if EACH in pointer else pointer


def _uncovered(whole: Window, parts: list[Window]) -> datetime | None:
    """Return the first instant of ``whole`` that none of the parts covers, or None."""
    reached = whole.start
    for part in sorted(parts, key=lambda part: part.start):
        if part.start > reached:
            break
        reached = max(reached, part.end)
    return reached if reached < whole.end else None
