"""Content, as views see it: the documents live at an instant, reached through verbs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache, cached_property
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import orjson

from vitrine.content import geo
from vitrine.content.yaml import Json
from vitrine.problems import Pointer

FORMAT = 1
"""Of content.json; a reader refuses a higher one."""

DAYS_SHOWN = 21
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
STORE_NUMBERS = ("storeId", "storeNumber", "locationNumber")
NEVER = "1970-01-01T00:00:00.000+00:00"
BEGINNING, END = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@dataclass(slots=True)
class Layer:
    """One file's share in a document: its path, the document's number in a list or feed, and what it says.

    Not frozen, for there are as many as documents, and a frozen one takes three times as long to make.
    """

    path: str
    index: int | None
    value: Json


Buffer = bytes | memoryview


class Document(NamedTuple):
    """One document: its layers, the deepest base first, and what they make together.

    ``text``: all of it as JSON, where ``value`` may lack what its kind only shows.
    """

    kind: str
    value: dict[str, Any]
    layers: tuple[Layer, ...]
    text: Buffer | None = None


@dataclass(slots=True)
class Documents:
    """All documents of a content folder, by kind, in the order of their files."""

    site: Document
    app: list[Document] = field(default_factory=list)
    store: list[Document] = field(default_factory=list)
    event: list[Document] = field(default_factory=list)
    promotion: list[Document] = field(default_factory=list)
    catalog: Any = None
    """The checked `content.catalog.Catalog`, where there is one."""

    @property
    def zone(self) -> ZoneInfo:
        return zone(self.site.value["time_zone"])


# -- time --------------------------------------------------------------------------------------------------------


@cache
def zone(name: str) -> ZoneInfo:
    """A time zone, from the tzdata package alone, so that a build means the same on every host. Raises ValueError."""
    from importlib import resources

    parts = name.split("/")
    try:
        file = resources.files("tzdata.zoneinfo").joinpath(*parts)
        with file.open("rb") as stream:
            return ZoneInfo.from_file(stream, key=name)
    except (OSError, ValueError, ModuleNotFoundError) as error:
        raise ValueError(f"the time zone {name!r} does not exist") from error


def local_time(text: str, where: ZoneInfo) -> datetime:
    """`YYYY-MM-DD HH:MM` of a zone → an instant. A time that occurs twice is the first of them.

    Raises ValueError for a day that does not exist, or a time that the clock jumps over.
    """
    naive = datetime.strptime(text, "%Y-%m-%d %H:%M")
    instant = naive.replace(tzinfo=where).astimezone(UTC)
    if instant.astimezone(where).replace(tzinfo=None) != naive:
        raise ValueError(f"{text} does not exist in {where.key}: the clock jumps over it")
    return instant


def first_instant(day: date, where: ZoneInfo) -> datetime:
    """When a day begins (where the clock jumps over midnight: at the jump)."""
    return datetime(day.year, day.month, day.day, tzinfo=where).astimezone(UTC)


def instant(text: str, where: ZoneInfo, *, ends: bool = False) -> datetime:
    """RFC 3339, `YYYY-MM-DD HH:MM` of the zone, or a day: its first instant, or with ``ends`` the next day's.

    Raises ValueError for what does not exist.
    """
    if "T" in text:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError(f"{text} has no offset, which tells the zone")
        return moment.astimezone(UTC)
    if " " in text:
        return local_time(text, where)
    return first_instant(date.fromisoformat(text) + timedelta(days=1 if ends else 0), where)


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open stretch of time."""

    start: datetime = BEGINNING
    end: datetime = END

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    def overlaps(self, other: "Window") -> bool:
        return self.start < other.end and other.start < self.end


ALWAYS = Window()


def window(document: Document, where: ZoneInfo) -> Window:
    """When a document is live (`publish`). Raises ValueError for what does not exist."""
    publish = document.value.get("publish")
    if not publish:
        return ALWAYS
    start, end = publish.get("from"), publish.get("until")
    return Window(
        instant(start, where) if start else BEGINNING,
        instant(end, where, ends=True) if end else END,
    )


# -- content at an instant ---------------------------------------------------------------------------------------


def boundaries(documents: Documents) -> list[datetime]:
    """Every instant at which a publish window opens or closes, in order."""
    found = set()
    for document in (*documents.store, *documents.event, *documents.promotion):
        if "publish" in document.value:
            live_in = window(document, documents.zone)
            found |= {live_in.start, live_in.end}
    return sorted(found - {BEGINNING, END})


def published(documents: Documents, moment: datetime) -> str:
    """The latest publish boundary at or before ``moment``, as the catalog's answers tell it; NEVER if there is none."""
    past = [boundary for boundary in boundaries(documents) if boundary <= moment]
    return past[-1].isoformat(timespec="milliseconds") if past else NEVER


def interval(documents: Documents, moment: datetime) -> Window:
    """The longest stretch around ``moment`` in which the content stays as it is.

    Besides the publish windows a week's end is a boundary, for the opening hours begin with its Monday.
    """
    start, end = _week(documents.zone, moment)
    for boundary in boundaries(documents):
        if boundary <= moment:
            start = max(start, boundary)
        else:
            end = min(end, boundary)
    return Window(start, end)


def _week(where: ZoneInfo, moment: datetime) -> tuple[datetime, datetime]:
    monday = _monday(where, moment)
    return first_instant(monday, where), first_instant(monday + timedelta(days=7), where)


def _monday(where: ZoneInfo, moment: datetime) -> date:
    today = moment.astimezone(where).date()
    return today - timedelta(days=today.weekday())


def live(documents: Documents, moment: datetime, *, packed: bool = False) -> "Content":
    """What is live at ``moment``, as a plain value: nothing in it tells when it was made.

    ``packed``: events stay JSON, and are read from it by whoever walks along them. No part of an answer that is made
    from one may be known again by its Python id.
    """
    where = documents.zone

    def of(kind: Iterable[Document], key: str) -> list[Document]:
        found = [document for document in kind if "publish" not in document.value or moment in window(document, where)]
        return sorted(found, key=lambda document: document.value[key])

    def rendered(kind: Iterable[Document], key: str) -> list[Json]:
        return list(map(_rendered, of(kind, key)))

    events = of(documents.event, "id")
    texts = [_text(event) for event in events] if packed else []
    content = Content(
        {
            "format": FORMAT,
            "monday": _monday(where, moment).isoformat(),
            "published": published(documents, moment),
            "site": documents.site.value,
            "apps": rendered(documents.app, "name"),
            "stores": rendered(documents.store, "locationNumber"),
            "events": Packed(texts) if packed else [_rendered(event) for event in events],
            "promotions": rendered(documents.promotion, "promoId"),
        }
    )
    if packed:
        content.place(zip((event.value for event in events), texts, strict=True))
    return content


def _rendered(document: Document) -> Json:
    """All of a document but its window."""
    value = document.value if document.text is None else orjson.loads(document.text)
    return {key: item for key, item in value.items() if key != "publish"} if "publish" in value else value


def _text(document: Document) -> Buffer:
    """The same as JSON."""
    if document.text is None or "publish" in document.value:
        return orjson.dumps(_rendered(document))
    return document.text


_GAP_TEXT = b"\0"
_GAP = orjson.Fragment(_GAP_TEXT)
"""Stands for the number in a part while that is encoded: a byte that JSON text cannot hold."""

Text = tuple[orjson.Fragment, bytes, bytes]
"""A part in JSON: the whole of what stands before its gap, the same as bytes, and what stands after it."""


class Texts:
    """Parts of answers in JSON, by what they are made of; at ``LIMIT`` bytes all are forgotten."""

    LIMIT = 24 * 1024 * 1024

    def __init__(self) -> None:
        self.known: dict[tuple[Any, ...], Text] = {}
        self._size = 0

    def keep(self, key: tuple[Any, ...], value: Json) -> Text:
        # partition copies what it finds: orjson's own bytes lie in buffers of several times their length
        before, _, after = (orjson.dumps(value) + _GAP_TEXT).partition(_GAP_TEXT)
        after = after.removesuffix(_GAP_TEXT)
        self._size += len(before) + len(after) + 300  # the key and the objects
        if self._size > self.LIMIT:
            self.known.clear()
            self._size = 0
        text = self.known[key] = (orjson.Fragment(before), before, after)
        return text


class Packed(Sequence[Json]):
    """Documents that are read anew from their JSON by whoever walks along them.

    For forked processes: they share bytes, while each Python object that they look at is copied for them.
    """

    def __init__(self, texts: Sequence[Buffer]) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Json]:
        return iter(orjson.loads(self.encode()))

    def encode(self) -> bytes:
        """All of them as JSON."""
        return b"[%b]" % b",".join(self.texts)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]


class Content:
    """The live documents. ``value`` is what content.json holds; views use the verbs and never look into it."""

    def __init__(self, value: Json, places: Any = None) -> None:
        self.value = value
        self._texts = Texts()
        self.places = places
        """The port Places (interface.ports), where there is one."""
        self.catalog: Any = None
        """The port Catalog, where the release has a catalog."""

    def encode(self) -> bytes:
        """The bytes of content.json: a line a document, so that two of them are compared line by line."""
        pieces: list[Buffer] = []
        for key, part in self.value.items():
            pieces.append(b'%b"%b":' % (b",\n" if pieces else b"{", key.encode()))
            if not isinstance(part, list | Packed):
                pieces.append(orjson.dumps(part))
                continue
            pieces.append(b"[\n")
            for number, text in enumerate(part.texts if isinstance(part, Packed) else map(orjson.dumps, part)):
                pieces += (b",\n", text) if number else (text,)
            pieces.append(b"\n]")
        pieces.append(b"}\n")
        return b"".join(pieces)

    def setting(self, name: str) -> Json:
        """An entry of site.yaml, or None."""
        return self.value["site"].get(name)

    def lifetime(self, operation: str) -> int:
        """Seconds for which an answer of the operation may be kept."""
        lifetimes: Mapping[str, Mapping[str, int]] = self.value["site"]["lifetimes"]
        return lifetimes.get(operation, lifetimes["default"])["maxAge"]

    def applications(self) -> Sequence[str]:
        return list(self._apps)

    def application(self, name: str) -> Json:
        """One application's document. Raises KeyError."""
        return self._apps[name]

    def stores(self) -> Sequence[Json]:
        """All stores, by location number."""
        stores: list[Json] = self.value["stores"]
        return stores

    def store(self, number: str, value: int) -> Json | None:
        """The store whose ``number`` (storeId, storeNumber or locationNumber) is ``value``."""
        return self._stores[number].get(value)

    def near(self, latitude: float, longitude: float, radius: float) -> list[tuple[float, Json]]:
        """The stores within ``radius`` miles of a point, each after its distance: nearest first, then by number.

        Distances are told in hundredths of a mile.
        """
        return self._grid.near(latitude, longitude, radius)

    def events(self, location: int) -> Sequence[Json]:
        """The events at the store with this location number, by start and id."""
        return self._events.get(location, ())

    def has_events(self, location: int) -> bool:
        """Whether there are any; who asks no more has read no event."""
        return location in self._events

    def promotions(self) -> Sequence[Json]:
        """All promotions, by id."""
        promotions: list[Json] = self.value["promotions"]
        return promotions

    def published(self) -> str:
        """When content last came or went by a publish window, at the build's instant (wire shapes §1, querydate)."""
        found: str = self.value.get("published", NEVER)
        return found

    def promotion(self, id: int) -> Json | None:
        """The promotion with this id, or None."""
        return self._promotions.get(id)

    def days(self) -> Sequence[tuple[str, str]]:
        """The days for which opening hours are told, each with its weekday's name."""
        return self._days

    def part(self, make: Callable[..., Json], *documents: Json) -> Json:
        """A part of an answer, which goes into it as it is: ``make(self, *documents)``. Subclasses keep it.

        ``make`` is a function of a module, and reads nothing but this content and the documents, which are its own.
        """
        return make(self, *documents)

    def parts(self, make: Callable[..., Json], documents: Sequence[Json], between: Sequence[float]) -> Json:
        """A list of parts, each with a number that differs from answer to answer: ``make(self, document, number)``.

        ``make`` does nothing with the number but put it into the part, once.
        """
        return [make(self, document, number) for document, number in zip(documents, between, strict=True)]

    def decoded(self, data: bytes, more: Json = None) -> Json:
        """What some JSON says; ``more``: further members of the object."""
        return orjson.loads(data) if more is None else orjson.loads(data) | more

    def encoded(self, data: bytes, more: Json = None) -> Json:
        """The same as a part of an answer, which goes into it as it is."""
        return self.decoded(data, more)

    @cached_property
    def _grid(self) -> geo.Grid:
        places = ((store["location"], store) for store in self.value["stores"])
        return geo.Grid((at["latitude"], at["longitude"], store["locationNumber"], store) for at, store in places)

    @cached_property
    def _apps(self) -> dict[str, Json]:
        return {app["name"]: app for app in self.value["apps"]}

    @cached_property
    def _stores(self) -> dict[str, dict[int, Json]]:
        return {number: {store[number]: store for store in self.value["stores"]} for number in STORE_NUMBERS}

    @cached_property
    def _promotions(self) -> dict[int, Json]:
        return {promotion["promoId"]: promotion for promotion in self.value["promotions"]}

    @cached_property
    def _events(self) -> Mapping[int, Sequence[Json]]:
        return self._by_location((event, event) for event in self.value["events"])

    def place(self, events: Iterable[tuple[Json, Buffer]]) -> None:
        """Events are read from their JSON from now on: each after what tells when and where it takes place."""
        self._events = {location: Packed(texts) for location, texts in self._by_location(events).items()}

    def _by_location(self, events: Iterable[tuple[Json, Any]]) -> dict[int, list[Any]]:
        """What stands for each event, by the location numbers of its live stores. ``events`` come by id."""
        at: dict[int, list[Any]] = {}
        location_of = {
            number: {value: store["locationNumber"] for value, store in stores.items()}
            for number, stores in self._stores.items()
        }
        for event, standing in sorted(events, key=lambda pair: pair[0]["start"]):
            found = [location_of[number].get(value) for number, values in event["stores"].items() for value in values]
            for location in found if len(found) == 1 else set(found):  # a store may be named by two of its numbers
                if location is not None:
                    at.setdefault(location, []).append(standing)
        return at

    @cached_property
    def _days(self) -> list[tuple[str, str]]:
        monday = date.fromisoformat(self.value["monday"])
        days = (monday + timedelta(days=number) for number in range(DAYS_SHOWN))
        return [(day.isoformat(), WEEKDAYS[day.weekday()]) for day in days]


class InJson(Content):
    """The same content for an answer in JSON: its parts are text already, each encoded once.

    A live answer of ten events takes a third of the time so, and the texts a fifth of the memory of the values.
    """

    def __init__(self, content: Content) -> None:
        self.__dict__ = content.__dict__  # the same documents, indexes and texts; made for one answer

    def part(self, make: Callable[..., Json], *documents: Json) -> Json:
        key = (make, *map(id, documents))
        text = self._texts.known.get(key) or self._texts.keep(key, make(self, *documents))
        return text[0]

    def parts(self, make: Callable[..., Json], documents: Sequence[Json], between: Sequence[float]) -> Json:
        known = self._texts.known
        pieces: list[bytes] = []  # joined once: a Fragment each would be copied twice
        for document, number in zip(documents, orjson.dumps(between)[1:-1].split(b","), strict=False):
            key = (make, None, id(document))
            text = known.get(key) or self._texts.keep(key, make(self, document, _GAP))
            pieces += (b",", text[1], number, text[2])
        pieces[:1] = (b"[",)
        pieces.append(b"]")
        return orjson.Fragment(b"".join(pieces))

    def encoded(self, data: bytes, more: Json = None) -> Json:
        return orjson.Fragment(data if more is None else b"%b,%b" % (data[:-1], orjson.dumps(more)[1:]))


def at(value: Json, pointer: Pointer) -> Json:
    """The part of ``value`` that ``pointer`` leads to. Raises KeyError or IndexError."""
    for step in pointer:
        if isinstance(value, dict) if isinstance(step, str) else isinstance(value, list):
            value = value[step]
        else:
            raise KeyError(step)
    return value
