"""What would change: the working tree beside the current release, a git revision, or
another instant.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from shopwindow.content.check.places import stated_at
from shopwindow.content.documents.documents import Content, Document
from shopwindow.content.documents.schedule import PUBLISHED
from shopwindow.content.kinds import titled
from shopwindow.preview.drawing import StatedAt, places, text_of
from shopwindow.preview.visit import Page, Visit
from shopwindow.problems import Failure, Misuse, Pointer, place_words
from shopwindow.release.changes import Leaf, clock_titles, differences
from shopwindow.release.documents_read import SITE_DOCUMENT
from shopwindow.release.purging import Purge
from shopwindow.release.waiting import Waiting, edited, waiting

MAX_DOCUMENTS = 200
"""Documents that the page shows with their values; of more, only their number."""

MAX_URLS = 500
"""URLs to purge that the page lists; of more, only their number."""

_INSTANT = re.compile(r"\d{4}-\d\d?-\d\d?([T ].*)?")
"""What is meant as a date: it is no name of a git revision that anybody uses."""


@dataclass(frozen=True)
class Value:
    """One value that differs, and what says so. A side that does not have it is None.

    ``place`` says in words where it is.
    """

    place: str
    before: str | None
    after: str | None
    cause: StatedAt | None


@dataclass(frozen=True)
class Changed:
    """A document that differs: what happened to it, its values, and the files that
    cause it.

    ``what`` is appears, disappears or changes. ``has_card``: the working tree has the
    document.
    """

    kind: str
    id: str
    title: str
    what: str
    values: tuple[Value, ...]
    causes: tuple[StatedAt, ...]
    has_card: bool


@dataclass(frozen=True)
class Other:
    """What the working tree is compared with.

    ``words`` say what it is. ``failure``: why there is nothing, as a sentence; else empty.
    ``is_release``: it is the current release, of which caches hold answers. ``moment``: it
    is the same files at this instant; None: it is not.
    """

    content: Content | None = None
    words: str = ""
    failure: str = ""
    is_release: bool = False
    moment: datetime | None = None


@dataclass(frozen=True)
class Since:
    """What differs from something else: the first documents, and how many in all.
    ``unseen``: what `_edited_unseen` returns.
    """

    other: Other
    documents: Sequence[Changed]
    count: int
    unseen: Sequence[Waiting]


def page(visit: Visit) -> Page:
    """Return what differs at the chosen instant. Parameter: ``with`` is `release`; an
    instant as a field for date and time sends it; or a git revision. The default is the
    revision of ``--against``, else the release.
    """
    text = visit.query.get("with", "").strip() or visit.workspace.against
    since = compared(visit, text, MAX_DOCUMENTS)
    other = since.other
    purge: Purge | None = None
    if other.is_release and since.count:
        purge = visit.workspace.purge(visit.snapshot, visit.moment)
    is_instant = bool(_INSTANT.fullmatch(text))
    values: dict[str, Any] = {
        "since": since,
        "instants": sorted((other.moment, visit.moment)) if other.moment else (),
        "instant": text if is_instant else "",
        "revision": "" if is_instant or text == "release" else text,
        "purge": purge,
        "urls": purge.urls[:MAX_URLS] if purge else (),
    }
    return Page("compare.html", "Compare", values)


def compared(visit: Visit, text: str, most: int) -> Since:
    """Return what differs at the chosen instant from what ``text`` names, as a page's
    ``with`` does; at most ``most`` documents with their values.
    """
    other = _other(visit, text)
    leaves = _differing(visit, other)
    documents = [
        _document(visit, *named, changes)
        for named, changes in islice(leaves.items(), most)
    ]
    return Since(other, documents, len(leaves), _edited_unseen(visit, other))


def _edited_unseen(visit: Visit, other: Other) -> list[Waiting]:
    """Return the documents that were edited since the release was built, and that
    neither it nor the chosen instant shows.
    """
    released, documents = visit.released, visit.documents
    if not (other.is_release and released):
        return []
    kinds, built = visit.interface.kinds, released.note.get("at")
    moment = datetime.fromisoformat(built) if built else visit.moment
    hidden = {one.digest for one in waiting(documents, kinds, moment)}
    later = edited(waiting(documents, kinds, visit.moment), released.note)
    return [one for one in later if one.digest in hidden]


def _other(visit: Visit, text: str) -> Other:
    """Return what to compare with, or why there is nothing."""
    if _INSTANT.fullmatch(text):
        return _instant(visit, text)
    try:
        if text and text != "release":
            revision = visit.workspace.revision(text)
            content = revision.content(visit.moment)
            return Other(content, f"{text}, commit {revision.commit[:12]}")
        released = visit.workspace.released()
    except Failure as failure:
        return Other(failure=f"{failure}.")
    if released is None:
        return Other(failure="There is no current release to compare with.")
    return Other(released.content, f"release {released.id[:12]}", is_release=True)


def _instant(visit: Visit, text: str) -> Other:
    """Return the same files at another instant."""
    try:
        moment = visit.instant(text)
    except Misuse:
        return Other(failure=f"{text} is no date and time in {visit.zone.key}.")
    content = visit.snapshot.content(moment)
    return Other(content, "the same files at another instant", moment=moment)


def _differing(visit: Visit, other: Other) -> dict[tuple[str, str], list[Leaf]]:
    """Return kind and identity of each document that differs → its values that do; none
    where there is nothing to compare.

    The latest publish boundary is left out: it moves with every document that comes or
    goes, and no editor writes it.
    """
    leaves: dict[tuple[str, str], list[Leaf]] = defaultdict(list)
    before, after = other.content, visit.content
    if before is None or not visit.snapshot.good_at:
        return leaves
    # of two instants the earlier one is before, whichever was chosen
    if other.moment is not None and other.moment > visit.moment:
        before, after = after, before
    boundary = (clock_titles(visit.interface)[PUBLISHED],)
    for named, leaf in differences(before, after, visit.interface):
        if (named, leaf[0]) != (SITE_DOCUMENT, boundary):
            leaves[named].append(leaf)
    return leaves


def _document(visit: Visit, kind: str, id: str, leaves: Sequence[Leaf]) -> Changed:
    """Return a document that differs, with every value that does."""
    document = visit.snapshot.by_id.get((kind, id))
    if kind == "site":
        document = visit.documents.site
    pointer, old, new = leaves[0]
    what = "changes"
    values: tuple[Value, ...] = ()
    if pointer == () and (old is None or new is None):
        what = "appears" if old is None else "disappears"
        causes = [_cause(visit, document, ("publish",))]
    else:
        values = tuple(_value(visit, document, leaf) for leaf in leaves)
        causes = [value.cause for value in values]
    stated = [*dict.fromkeys(cause for cause in causes if cause)]
    if document and not stated:
        stated = [StatedAt(document.own.path, visit.files.line(document))]
    title = _title(visit, kind, id, old if new is None else new, document)
    has_card = kind != "site" and document is not None
    return Changed(
        kind=kind,
        id=id,
        title=title,
        what=what,
        values=values,
        causes=tuple(stated),
        has_card=has_card,
    )


def _value(visit: Visit, document: Document | None, leaf: Leaf) -> Value:
    pointer, old, new = leaf
    # A value that is gone was removed from the object around it.
    cause = _cause(visit, document, pointer) if new is not None else None
    return Value(place_words(pointer), _shown(old), _shown(new), cause)


def _cause(
    visit: Visit, document: Document | None, pointer: Pointer
) -> StatedAt | None:
    """Return the place that states the value now; None where none does."""
    if document is None or stated_at(document, pointer) != pointer:
        return None
    return places(document, pointer, visit.files)[0]


def _shown(value: Any) -> str | None:
    return None if value is None else text_of(value)


def _title(
    visit: Visit, kind: str, id: str, value: Any, document: Document | None
) -> str:
    described = visit.interface.kind.get(kind)
    whole = document.value if document else value
    return titled(described, whole) if described and isinstance(whole, dict) else id
