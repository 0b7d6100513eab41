"""Documents as editors wrote them, and Content: those that are live at one instant, as
views see them.

Documents are plain JSON values that nobody changes. Content returns them by kind and by
identity; whatever else a view needs is derived from them by a named function, once for
each Content. Nothing in a Content depends on when it was created: equal live documents
give equal answers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

import orjson

from shopwindow.content.documents import schedule
from shopwindow.content.documents.schedule import BEGINNING, END, PUBLISHED, Clock
from shopwindow.content.kinds import Kind
from shopwindow.content.reading.yaml import Json
from shopwindow.problems import Pointer

CONTENT_FORMAT = 2
"""The format of content.json. A reader refuses any other."""

NOT_RELEASED = ("targets", "max_files")
"""Entries of site.yaml that no answer shows, and that a release does not hold: where it
is published must not change what it is, nor how large it might have been.
"""

TableKey = TypeVar("TableKey")
TableValue = TypeVar("TableValue")


@dataclass(slots=True)
class Layer:
    """One file's share in a document.

    ``path``: the file's. ``index``: the document's number where the file is a list or a
    feed. ``value``: what the file says.

    Not a frozen dataclass: there are as many layers as documents, and a frozen one
    takes three times as long to create.
    """

    path: str
    index: int | None
    value: Json

    def in_file(self, pointer: Pointer) -> Pointer:
        """Return a pointer within the document as one within the file."""
        return pointer if self.index is None else (self.index, *pointer)


class Document(NamedTuple):
    """One document: its kind's name, its value, and the layers that it is merged from.

    The deepest base is the first layer.
    """

    kind: str
    value: dict[str, Any]
    layers: tuple[Layer, ...]

    @property
    def own(self) -> Layer:
        """The layer of the file that the document stands in, which wins over bases."""
        return self.layers[-1]


@dataclass(slots=True)
class Documents:
    """All documents of a content folder that are not streamed.

    ``by_kind``: those except site.yaml, by the names of their kinds. ``feeds``: by the
    name of an index, what its check returned and it is built from; streamed documents
    are read there. ``names``: those of site.yaml, for the expressions of other files.
    """

    site: Document
    by_kind: dict[str, list[Document]] = field(default_factory=dict)
    feeds: dict[str, Any] = field(default_factory=dict)
    names: Mapping[str, str | None] = field(default_factory=dict)

    def of(self, kind: str) -> list[Document]:
        """Return the documents of a kind, in the order of their files."""
        return self.by_kind.setdefault(kind, [])

    @property
    def zone(self) -> ZoneInfo:
        """The site's time zone, in which publish windows are read."""
        return schedule.zone(self.site.value["time_zone"])


class Content:
    """The documents that are live at one instant, as views see them.

    ``site``: all of site.yaml. ``clocks``: the values of all clocks, by their names.
    ``kinds`` are those of the Interface, by their names; a kind of which there is no
    document is empty. ``indexes`` holds what the Interface's indexes opened, by their
    names.
    """

    def __init__(
        self,
        site: Mapping[str, Any],
        clocks: Mapping[str, str],
        documents: Mapping[str, Sequence[Json]],
        kinds: Iterable[Kind],
        indexes: Mapping[str, Any] | None = None,
    ) -> None:
        self.site = site
        self.clocks = clocks
        self.kinds = {kind.name: kind for kind in kinds}
        self._documents = documents
        self._indexes = dict(indexes or {})
        self._by_value: dict[tuple[str, str], Mapping[Any, Json]] = {}
        self._derived: dict[Callable[..., Any], Any] = {}

    # -- what views read ---------------------------------------------------------------

    def setting(self, name: str) -> Json:
        """Return an entry of site.yaml, or None."""
        return self.site.get(name)

    def lifetime(self, operation: str, declared: int | None = None) -> int:
        """Return the seconds for which caches may keep an answer of the operation.

        site.yaml says so; where it does not name the operation, ``declared`` counts,
        and without that the default.
        """
        lifetimes: Mapping[str, Mapping[str, int]] = self.site["lifetimes"]
        if declared is not None and operation not in lifetimes:
            return declared
        return lifetimes.get(operation, lifetimes["default"])["maxAge"]

    def documents(self, kind: str) -> Sequence[Json]:
        """Return every live document of a kind, in the kind's order."""
        return self._documents.get(kind, ())

    def document(self, kind: str, name: str, value: Any) -> Json | None:
        """Return the live document of a kind with this value of ``name``, or None.

        ``name`` is one of the kind's ids.
        """
        key = kind, name
        if key not in self._by_value:
            self._by_value[key] = {
                document[name]: document for document in self.documents(kind)
            }
        return self._by_value[key].get(value)

    def derived(
        self, derive: Callable[["Content"], Mapping[TableKey, TableValue]]
    ) -> Mapping[TableKey, TableValue]:
        """Return the table that ``derive`` computes from this content, once.

        ``derive`` must be a named function of a module, by which reads are recorded.
        The table's values are documents, lists of documents, or other JSON values.
        """
        table: Mapping[TableKey, TableValue] = self.derived_whole(derive)
        return table

    def derived_whole(self, derive: Callable[["Content"], TableValue]) -> TableValue:
        """Return what ``derive`` computes from this content, once.

        Whoever uses it counts as a reader of all that it was computed from.
        """
        if derive not in self._derived:
            self._derived[derive] = derive(self)
        value: TableValue = self._derived[derive]
        return value

    def clock(self, name: str) -> str:
        """Return the value of a clock at the instant of the build."""
        return self.clocks[name]

    def index(self, name: str) -> Any:
        """Return what an index opened, or None where the content has no documents for
        it.
        """
        return self._indexes.get(name)

    # -- what the engine does with it --------------------------------------------------

    def with_indexes(self, indexes: Mapping[str, Any]) -> "Content":
        """Return the same content, answering from these indexes."""
        return Content(
            self.site, self.clocks, self._documents, self.kinds.values(), indexes
        )

    def identities(self, kind: str) -> list[Any]:
        """Return what identifies each live document of a kind, in the kind's order.

        A kind that this content does not have is empty: where two releases are
        compared, one of them may lack a collection.
        """
        if kind not in self.kinds:
            return []
        named = self.kinds[kind].named
        return [named(document) for document in self.documents(kind)]

    def encode(self) -> bytes:
        """Return the bytes of content.json.

        Each document has a line of its own, so that two files can be compared line by
        line.
        """
        return b"".join(self._lines())

    def _lines(self) -> Iterator[bytes]:
        yield b'{"format":%d,\n' % CONTENT_FORMAT
        yield b'"site":%b,\n' % orjson.dumps(self.site)
        yield b'"clocks":{'
        yield b",".join(
            b"\n%b:%b" % (orjson.dumps(name), orjson.dumps(self.clocks[name]))
            for name in self.clocks
        )
        yield b'},\n"documents":{'
        for number, kind in enumerate(self._documents):
            yield b"%b\n%b:[" % (b"," if number else b"", orjson.dumps(kind))
            yield b",".join(
                b"\n" + orjson.dumps(document) for document in self._documents[kind]
            )
            yield b"]"
        yield b"}}\n"


def live(
    documents: Documents,
    moment: datetime,
    kinds: Sequence[Kind],
    clocks: Sequence[Clock],
) -> Content:
    """Return what is live at ``moment``. Publish windows are applied here and nowhere
    else.
    """
    zone = documents.zone
    values = {clock.name: clock.value(zone, moment) for clock in clocks}
    values[PUBLISHED] = schedule.published(boundaries(documents, kinds), moment)
    by_kind = {}
    for kind in kinds:
        if not kind.streamed:
            live_ones = [
                document
                for document in documents.of(kind.name)
                if moment in schedule.window(document.value, zone)
            ]
            by_kind[kind.name] = sorted(map(unscheduled, live_ones), key=kind.place)
    site = {
        name: entry
        for name, entry in documents.site.value.items()
        if name not in NOT_RELEASED
    }
    return Content(site, values, by_kind, kinds)


def unscheduled(document: Document) -> Json:
    """Return what a document says beside its publish window."""
    if "publish" not in document.value:
        return document.value
    return {name: part for name, part in document.value.items() if name != "publish"}


def boundaries(documents: Documents, kinds: Iterable[Kind]) -> list[datetime]:
    """Return every instant at which a document of any scheduled kind comes or goes, in
    order.
    """
    zone = documents.zone
    windows = [
        schedule.window(document.value, zone)
        for kind in kinds
        if kind.scheduled and not kind.streamed
        for document in documents.of(kind.name)
        if "publish" in document.value
    ]
    starts, ends = (one.start for one in windows), (one.end for one in windows)
    return sorted({*starts, *ends} - {BEGINNING, END})


def decode(value: Mapping[str, Any], kinds: Sequence[Kind]) -> Content:
    """Return the Content of a content.json.

    Raises ValueError where another version of this program wrote it in a format of its
    own, and KeyError or TypeError where it is no content.json.
    """
    if value["format"] != CONTENT_FORMAT:
        raise ValueError(
            f"content of format {value['format']}, and this program reads {CONTENT_FORMAT}:"
            " build the release again with this version"
        )
    return Content(value["site"], value["clocks"], value["documents"], kinds)
