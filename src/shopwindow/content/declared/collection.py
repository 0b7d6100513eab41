"""Collections: kinds that a content folder declares for itself in `collections.yaml`,
without any Python.

A collection says where its documents are, what identifies one, and what is served of
them. It becomes a Kind like any other, so publish windows, boundaries, uniqueness,
differences and the preview hold for it, too. A release stores its collections with
their schemas, so that a service needs no content folder to answer from a release.

How a declaration is read stands in `declarations`; what its schema must keep, in
`collection_schemas`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import orjson

from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import Kind, Rule
from shopwindow.content.reading.yaml import Json
from shopwindow.content.rules.case import Case

COLLECTIONS_FORMAT = 1
"""The format of the file in a release that stores collections. A reader refuses a
higher one.
"""

TITLE_PROPERTIES = ("title", "name", "headline", "label")
"""Properties by which people call a document. The first of them that a schema has is
its title.
"""

LARGEST_ID = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact (RFC 8259 §6)."""

LONGEST_ID = 100
"""Characters of an id. A hundred ids of this length fit into the longest address that
the service reads.
"""

_TEXT_ID = re.compile(rf"[^\s,/](?:[^,/\x00-\x1f]{{0,{LONGEST_ID - 2}}}[^\s,/])?")


@dataclass(frozen=True, eq=False)
class Collection:
    """Which documents a collection has, and what is served of them.

    ``id``: the property that identifies a document. ``path``: that of the list;
    ``/{id}`` below it serves single documents. ``schema``: that of a document as it is
    served, with all references written out. ``filters``: properties that a query may
    narrow the list by. ``order``: properties that the list is sorted by; (): the id.
    ``lifetime``: seconds; None: site.yaml's default.
    """

    name: str
    folder: str
    id: str
    path: str
    schema: Mapping[str, Any]
    filters: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    lifetime: int | None = None

    @property
    def key(self) -> str:
        """The key of the list in answers: the last segment of the path."""
        return self.path.rpartition("/")[2]

    @property
    def written_schema(self) -> str:
        """The file name of the schema of a document as editors write it."""
        return f"collections/{self.name}.json"

    @cached_property
    def kind(self) -> Kind:
        """The kind of its documents."""
        properties = self.schema["properties"]
        title = next(((name,) for name in TITLE_PROPERTIES if name in properties), None)
        order = self.order or (self.id,)
        return Kind(
            name=self.name,
            folder=self.folder,
            schema=self.written_schema,
            ids=(self.id,),
            order=order if self.id in order else (*order, self.id),
            title=title,
            rules=(Rule(("collection.id",), self._id_in_an_address),),
        )

    def _id_in_an_address(self, case: Case, document: Document) -> Iterator[Finding]:
        """Yield a finding where an id cannot stand in a path."""
        if not case.sound(document, (self.id,)):
            return
        value = document.value[self.id]
        if isinstance(value, int) and not 1 <= value <= LARGEST_ID:
            yield Finding(
                "collection.id",
                (self.id,),
                f"no request can name the id {value}",
                f"1 to {LARGEST_ID}",
            )
        elif isinstance(value, str) and (
            not _TEXT_ID.fullmatch(value) or value in (".", "..")
        ):
            allowed = f"at most {LONGEST_ID} characters without comma and slash, and no space at either end"
            yield Finding(
                "collection.id",
                (self.id,),
                f"{value!r} cannot stand in a path",
                allowed,
            )

    def choices(self, documents: Iterable[Mapping[str, Any]], name: str) -> list[str]:
        """Return the texts that the property ``name`` may be compared with.

        Where the property is an enum, all of it; else what ``documents`` hold, in
        order.
        """
        shape = self.schema["properties"][name]
        shape = shape.get("items", shape)
        if "enum" in shape:
            return list(dict.fromkeys(map(text_of, shape["enum"])))
        return sorted(
            {text for document in documents for text in texts_of(document.get(name))}
        )


def text_of(value: Json) -> str:
    """Return a scalar as a query writes it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def texts_of(value: Json) -> list[str]:
    """Return the texts that a filter compares with: of an array's items, or of the one
    value.

    There are none for None.
    """
    values = value if isinstance(value, list) else [value]
    return [text_of(one) for one in values if one is not None]


def encode(collections: Iterable[Collection]) -> bytes:
    """Return the bytes of the file that stores collections in a release."""
    stored = [asdict(collection) for collection in collections]
    return orjson.dumps({"format": COLLECTIONS_FORMAT, "collections": stored}) + b"\n"


def decode(data: bytes) -> tuple[Collection, ...]:
    """Return the collections that `encode` stored.

    Raises ValueError, KeyError or TypeError where the bytes are no such file.
    """
    value = orjson.loads(data)
    if value["format"] > COLLECTIONS_FORMAT:
        raise ValueError(
            f"collections of format {value['format']}; this program reads up to {COLLECTIONS_FORMAT}: update it"
        )
    return tuple(
        Collection(
            **{**each, "filters": tuple(each["filters"]), "order": tuple(each["order"])}
        )
        for each in value["collections"]
    )


def by_id(name: str) -> str:
    """Return the name of the operation that serves single documents of a collection."""
    return f"{name}_by_id"
