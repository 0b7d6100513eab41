"""Pages of any kind of document, drawn from what its Kind says: a list with search, and
a card.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.zones import Zones
from shopwindow.content.kinds import Kind, titled
from shopwindow.content.lookup.uses import names_of_target, naming
from shopwindow.preview import drawing
from shopwindow.preview.visit import Page, Visit, number

Entry = TypeVar("Entry")

PER_PAGE = 100
"""Documents on one page of a list: a screen or two to scroll, drawn in a few
milliseconds.
"""


@dataclass(frozen=True)
class ListedDocument:
    """A document in a list."""

    id: str
    title: str
    stay: drawing.Stay
    path: str


def listing(visit: Visit) -> Page | None:
    """Return the list of a kind's documents; None for a kind that there is not.

    Parameters: ``q`` finds words in titles, identities and files; ``state`` is live, to
    come or ended; ``page`` counts from 1.
    """
    kind = visit.interface.kind.get(visit.values["kind"])
    if kind is None or kind.streamed:
        return None
    words, state = visit.words, visit.query.get("state", "")
    entries = [
        entry
        for entry in _entries(visit, kind)
        if state in ("", entry.stay.state)
        and has_words(words, f"{entry.id} {entry.title} {entry.path}")
    ]
    entries.sort(key=lambda entry: not has_words(words, entry.title))
    shown, values = paged(visit, entries)
    values |= {"kind": kind, "entries": shown, "state": state}
    return Page("listing.html", plural(kind), values)


def paged(
    visit: Visit, entries: Sequence[Entry]
) -> tuple[Sequence[Entry], dict[str, Any]]:
    """Return the entries of a list that are on the chosen page, and what its template
    says of the others.
    """
    pages = max(1, -(-len(entries) // PER_PAGE))
    page = min(max(1, number(visit.query.get("page", "1"))), pages)
    values = {
        "count": len(entries),
        "page": page,
        "pages": pages,
        "q": visit.query.get("q", ""),
    }
    return entries[(page - 1) * PER_PAGE : page * PER_PAGE], values


def has_words(words: Iterable[str], text: str) -> bool:
    """Return whether a text has all words of a search. Results whose name has them come
    first.
    """
    return all(word in text.casefold() for word in words)


def plural(kind: Kind) -> str:
    """Return what a list of a kind's documents is called: the name of its folder."""
    return kind.folder.rpartition("/")[2].replace("-", " ").capitalize()


def _entries(visit: Visit, kind: Kind) -> Iterator[ListedDocument]:
    documents = visit.documents.of(kind.name)
    for document in sorted(documents, key=lambda document: kind.place(document.value)):
        yield ListedDocument(
            id=str(kind.named(document.value)) if kind.is_named else "",
            title=titled(kind, document.value),
            stay=visit.stay(document.value),
            path=document.own.path,
        )


def card(visit: Visit) -> Page | None:
    """Return the page of one document; None where there is none of this kind and
    identity.
    """
    id = visit.values["id"]
    document = visit.snapshot.by_id.get((visit.values["kind"], id))
    if document is None:
        return None
    kind, released = visit.interface.kind[document.kind], None
    if visit.baseline:
        named = kind.named(document.value)
        released = visit.baseline.document(kind.name, named)
    values = {
        "kind": kind,
        "id": id,
        "stay": visit.stay(document.value),
        "dates": dates(kind, document, visit),
        "rows": drawing.rows(
            document, kind, visit.files, released, visit.snapshot.declared.schemas
        ),
        "path": document.own.path,
        "line": visit.files.line(document),
        "bases": [layer.path for layer in document.layers[:-1]],
        "users": list(_users(visit, kind, document)),
    }
    return Page("card.html", titled(kind, document.value), values)


def dates(
    kind: Kind, document: Document, visit: Visit
) -> list[tuple[str, datetime, str]]:
    """Return the dates that a document has beside its window: a label, an instant and
    the zone on whose clocks it is, once for each of its zones.
    """
    documents = visit.documents
    if kind.dates is None:
        return []
    zones = Zones(kind, visit.interface.kinds, documents.of)
    listed = {
        (label, moment): zone.key
        for zone in zones.of(document.value, documents.zone)
        for label, moment in kind.dates(document.value, zone)
    }
    return sorted(
        ((*date, zone) for date, zone in listed.items()), key=lambda date: date[1]
    )


def _users(visit: Visit, kind: Kind, target: Document) -> Iterator[dict[str, Any]]:
    """Yield the documents that name a document, by the references of all kinds."""
    documents = visit.documents
    if kind.identity is None:
        return
    for other in visit.interface.kinds:
        names = names_of_target(other, kind, [target.value])
        if not names or not other.is_named:
            continue
        for document in documents.of(other.name):
            if any(True for _ in naming(document.value, names)):
                yield {
                    "kind": other.name,
                    "id": str(other.named(document.value)),
                    "title": titled(other, document.value),
                }
