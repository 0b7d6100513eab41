"""Retires a document: ends its publish window, and what cannot be live without it.

How this works: the end is put into the documents in memory, and the rules of a check
look at them. Where a document would be live while nothing that it names is, it gets the
same end, and the rules look again, until they find nothing. A document that also names
something that stays is left as it is, since nothing is wrong with it. Only then are the
files' texts edited (`window_text`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Document, Documents
from shopwindow.content.documents.finding import Finding
from shopwindow.content.editing import window_text
from shopwindow.content.editing.window_text import Unwritable
from shopwindow.content.kinds import SITE, Kind, Rule, titled
from shopwindow.content.lookup.shelf import Shelf, with_id
from shopwindow.content.lookup.uses import names_of_target, naming, uses_of_document
from shopwindow.content.reading import yaml
from shopwindow.content.reading.text import FileEdit
from shopwindow.content.reading.yaml import Malformed
from shopwindow.content.rules import engine_rules
from shopwindow.content.rules.case import Case
from shopwindow.problems import Failure, Misuse, cut, number_of

LIVE = "reference.live"
"""The rule that a document is live no longer than what it names."""


@dataclass(frozen=True)
class Retirement:
    """What ends a document. ``notes`` are sentences: what else ends, and what stays."""

    edits: tuple[FileEdit, ...]
    notes: tuple[str, ...]


@dataclass
class _Ends:
    """The documents with the ends that they get. ``ends``: those, by their place."""

    shelf: Shelf
    kinds: Sequence[Kind]
    until: str
    end: datetime
    ends: dict[tuple[str, int | None], Document] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> Mapping[str, Kind]:
        return {kind.name: kind for kind in self.kinds}

    @property
    def documents(self) -> Documents:
        """All documents, with the new ends."""
        there = self.shelf.documents
        by_kind = {
            name: [self.ends.get(_place(document), document) for document in documents]
            for name, documents in there.by_kind.items()
        }
        return replace(there, by_kind=by_kind)

    def add(self, document: Document) -> None:
        publish = {**document.value.get("publish", {}), "until": self.until}
        value = {**document.value, "publish": publish}
        self.ends[_place(document)] = document._replace(value=value)

    def names(self, document: Document) -> str:
        """Return what a sentence calls a document: event 520005, The Groom's Fitting."""
        kind = self.by_name[document.kind]
        id, title = kind.id(document.value), titled(kind, document.value)
        return f"{kind.name} {id}" + (f", {cut(title)}" if title != id else "")


def _place(document: Document) -> tuple[str, int | None]:
    layer = document.own
    return layer.path, layer.index


def retirement(
    shelf: Shelf,
    kinds: Sequence[Kind],
    across: Sequence[Rule],
    kind: Kind,
    id: str,
    on: str,
    now: datetime,
) -> Retirement:
    """Return the edits that end a document, and what cannot be live without it.

    Args:
        shelf: a content folder without a problem.
        kinds: all of them.
        across: the rules across kinds, which must find nothing afterwards.
        kind: that of the document.
        id: one of its ids.
        on: its last day, or the instant at which it ends.
        now: before which it cannot end.

    Raises:
        Misuse: for what cannot be meant, or cannot be done without a person's choice.
        Failure: for a file that has to be edited by hand.
    """
    if kind.streamed or not kind.scheduled:
        reason = (
            "its documents come in feeds, which are not edited here"
            if kind.streamed
            else "it has no publish window"
        )
        raise Misuse("", f"no {kind.name} can be retired: {reason}")
    documents = [held.document for held in with_id(shelf, kind, id)]
    plan = _Ends(shelf, kinds, on, _end(shelf, on, now))
    for document in _ending(plan, documents, f"{kind.name} {id}"):
        plan.add(document)
    also = list(_followers(plan, across, kind, documents))
    edits = tuple(_edits(plan))
    return Retirement(edits, tuple(_notes(plan, kind, id, documents, also)))


def _end(shelf: Shelf, on: str, now: datetime) -> datetime:
    """Return the instant at which the window ends. Raises Misuse."""
    if not shelf.schemas.valid("publish.json", {"until": on}):
        raise Misuse(
            "on", f"{cut(on)!r} is no day and no instant; {schedule.WINDOW_FORMS}"
        )
    end = schedule.moment_of(on, shelf.documents.zone, "on", ends=True)
    if end <= now:
        raise Misuse("on", f"{on} is past; a document can be retired from today on")
    return end


def _ending(
    plan: _Ends, documents: Iterable[Document], name: str
) -> Iterator[Document]:
    """Yield the documents of one id that are live at the end. Raises Misuse where none
    is, or one comes later.
    """
    zone = plan.shelf.documents.zone
    is_any = False
    ended = ""
    for document in documents:
        window = schedule.window(document.value, zone)
        publish = document.value.get("publish", {})
        if window.start >= plan.end:
            raise Misuse(
                "on", f"{name} goes live on {publish['from']}, after {plan.until}"
            )
        if window.end <= plan.end:
            ended = str(publish["until"])
            continue
        is_any = True
        yield document
    if not is_any:
        raise Misuse("on", f"{name} ends already, on {ended}")


def _followers(
    plan: _Ends, across: Sequence[Rule], kind: Kind, retired: Sequence[Document]
) -> Iterator[Document]:
    """Yield the documents that get the same end, and put it into the plan.

    Raises Misuse where an end does not mend what the rules find.
    """
    while True:
        case = Case(plan.documents, plan.kinds)
        findings = list(engine_rules.findings(case, across))
        if not findings:
            return
        for document, finding in findings:
            reason = _needs_a_person(plan, case, document, finding)
            if reason:
                names = f"{kind.name} {retired[0].value[str(kind.identity)]}"
                raise Misuse("", f"{names} cannot be retired on {plan.until}: {reason}")
            if _place(document) not in plan.ends:
                plan.add(document)
                yield document


def _needs_a_person(
    plan: _Ends, case: Case, document: Document, finding: Finding
) -> str:
    """Return why a document cannot simply get the same end, or empty text."""
    name, path = plan.names(document), document.own.path
    if finding.rule != LIVE or _place(document) in plan.ends:
        return f"{path}: {name}: {finding.found}"
    window = case.window(document)
    if window and window.start >= plan.end:
        begins = document.value["publish"]["from"]
        return (
            f"{name} in {path} goes live on {begins}, when nothing that it names is "
            "live; move or delete it first"
        )
    later = [
        target
        for target in _named_by(plan, document)
        if (its_window := case.window(target)) and its_window.end > plan.end
    ]
    if later:
        return (
            f"{name} in {path} also names {plan.names(later[0])}, which is not live "
            "then; give each a document of its own first"
        )
    return ""


def _named_by(plan: _Ends, document: Document) -> Iterator[Document]:
    """Yield the documents that a document names."""
    documents, kind = plan.documents, plan.by_name[document.kind]
    for target in plan.kinds:
        if any(reference.kind == target.name for reference in kind.references):
            for other in documents.of(target.name):
                names = names_of_target(kind, target, [other.value])
                if any(True for _ in naming(document.value, names)):
                    yield other


# -- files -----------------------------------------------------------------------------


def _edits(plan: _Ends) -> Iterator[FileEdit]:
    """Yield the change of each file. Raises Failure for one that is edited by hand."""
    by_path: dict[str, list[int | None]] = {}
    for path, index in plan.ends:
        by_path.setdefault(path, []).append(index)
    for path, indexes in sorted(by_path.items()):
        before = (plan.shelf.folder / path).read_bytes()
        try:
            if path.endswith(".jsonl"):
                raise Unwritable("it is a feed, whose source is edited instead")
            text = yaml.decode(before)
            for index in indexes:
                document = () if index is None else (index,)
                text = window_text.with_end(text, document, plan.until)
        except (Unwritable, Malformed) as reason:
            found = reason.found if isinstance(reason, Malformed) else str(reason)
            raise Failure(
                f"{path} has to be edited by hand: {found}; nothing was written"
            ) from None
        yield FileEdit.of_text(path, before, text)


# -- what is said ----------------------------------------------------------------------


def _notes(
    plan: _Ends,
    kind: Kind,
    id: str,
    retired: Sequence[Document],
    also: Iterable[Document],
) -> Iterator[str]:
    """Yield what else ends, and what is left as it is."""
    ending = {_place(document) for document in retired}
    for document in also:
        ending.add(_place(document))
        yield f"{plan.names(document)} ends with it: nothing else that it names is live"
    uses = uses_of_document(plan.shelf, plan.kinds, kind, id)
    ids = {
        (document.kind, plan.by_name[document.kind].id(document.value))
        for document in plan.ends.values()
    }
    named_groups = [use.pointer for use in uses.places if use.kind == SITE.name]
    if named_groups:
        listed = ", ".join(named_groups)
        yield (
            f"it stays in {listed} of site.yaml: documents that name the group are "
            f"shown at its live {kind.name}s"
        )
    stay = {(use.kind, use.id) for use in uses.places if use.kind != SITE.name} - ids
    if stay:
        documents = number_of(len(stay), "document")
        verb = "names" if len(stay) == 1 else "name"
        yield f"{documents} more {verb} it, and nothing is wrong with that: no change"
    if uses.feeds:
        feeds = replace(uses, places=())
        yield f"{feeds.counts} name it, and nothing is wrong with that: no change"
