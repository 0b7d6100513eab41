"""The catalog's records of which there are few, all held at once: categories, brands,
synonyms.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from shopwindow.catalog import rules
from shopwindow.catalog.entries import RecordEntry, RecordPlaces, entries_of, twice
from shopwindow.catalog.rules import Referable
from shopwindow.content import records
from shopwindow.content.feeds import FeedReport, Unstreamed
from shopwindow.content.finding import Finding
from shopwindow.content.listing import Source
from shopwindow.content.records import FeedLines
from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer


def small_of(
    sources: Sequence[Source], around: Unstreamed, told: FeedReport
) -> list[RecordEntry]:
    """All records of a kind of which there are few, each checked by itself."""
    places, entries, known = (
        RecordPlaces(around.folder),
        [],
        Referable(None, None, None),
    )
    for block in records.blocks(sources, shared=False):
        lines = FeedLines(around.folder, block, around.unpacked)
        for entry in entries_of(block, around, told, lines, lambda: False):
            entries.append(entry)
            found = (
                *entry.found,
                *rules.findings(
                    entry.source.kind.name, entry.value, entry.sound, known
                ),
            )
            told.add(places.problem(entry, finding) for finding in found)
    return entries


RecordUse = tuple[RecordEntry, Pointer, Any]
"""Where a value is used."""


def once(
    kind: str,
    name: str,
    uses: Iterable[RecordUse],
    places: RecordPlaces,
    told: FeedReport,
) -> dict[Any, RecordUse]:
    """Each value at most once; value → its first use."""
    first: dict[Any, RecordUse] = {}
    for entry, pointer, value in uses:
        before = first.setdefault(value, (entry, pointer, value))
        if before[:2] != (entry, pointer):
            told.add(
                [
                    places.problem(
                        entry,
                        twice(kind, name, value, pointer, places.shown(*before[:2])),
                    )
                ]
            )
    return first


class Categories:
    """All categories: ``flat`` as `Catalog` has them, and their ``ids``, or None where
    some are not known.
    """

    def __init__(
        self, entries: Sequence[RecordEntry], around: Unstreamed, told: FeedReport
    ) -> None:
        self._places, self._told = RecordPlaces(around.folder), told
        self.flat: list[Json] = []
        self._parents: dict[int, tuple[RecordEntry, Pointer, int]] = {}
        self._overrides: list[RecordUse] = []
        uses = list(self._walk(entries))
        ids = once("category", "id", uses, self._places, told)
        complete = "category" not in told.lost and all(map(_ids_known, entries))
        self.ids = frozenset(ids) if complete else None
        if self.ids is not None:
            for entry, pointer, parent in (*self._parents.values(), *self._overrides):
                if parent not in self.ids:
                    self._say(
                        entry,
                        rules.unknown(pointer, "category", "id", parent, self.ids),
                    )
        for id in self._parents:
            if ring := self._ring(id):
                entry, pointer, _ = self._parents[id]
                way = ", ".join(map(str, ring[1:]))
                found = f"the category {id} stands within itself" + (
                    f", by way of {way}" if way else ""
                )
                self._say(
                    entry,
                    Finding(
                        "category.ring",
                        pointer,
                        found,
                        "a category outside of it, or no parent",
                    ),
                )
        for id, (entry, pointer, _) in ids.items():
            if (
                self._depth(id) == rules.MAX_CATEGORY_DEPTH + 1
            ):  # those below it follow from it
                where = self._parents[id][1] if id in self._parents else pointer
                found = f"the category {id} stands {rules.MAX_CATEGORY_DEPTH + 1} levels deep"
                self._say(
                    entry,
                    Finding(
                        "category.depth",
                        where,
                        found,
                        f"at most {rules.MAX_CATEGORY_DEPTH} levels",
                    ),
                )

    def _walk(self, entries: Sequence[RecordEntry]) -> Iterator[RecordUse]:
        """Where each id stands; the flat categories and their parents are noted on the
        way.
        """
        for entry in entries:
            if not isinstance(entry.value, dict):
                continue
            outer: dict[Pointer, int] = {}
            for pointer, category in (((), entry.value), *rules.inside(entry.value)):
                if not entry.sound((*pointer, "id")):
                    continue
                outer[pointer] = category["id"]
                own = {
                    key: value for key, value in category.items() if key != "categories"
                }
                if pointer[:-2] in outer and pointer:
                    own["parent"] = outer[pointer[:-2]]
                elif "parent" in category and entry.sound((*pointer, "parent")):
                    self._parents.setdefault(
                        category["id"],
                        (entry, (*pointer, "parent"), category["parent"]),
                    )
                if "overrideCategoryId" in category and entry.sound(
                    (*pointer, "overrideCategoryId")
                ):
                    self._overrides.append(
                        (
                            entry,
                            (*pointer, "overrideCategoryId"),
                            category["overrideCategoryId"],
                        )
                    )
                self.flat.append(own)
                yield entry, (*pointer, "id"), category["id"]

    def _say(self, entry: RecordEntry, finding: Finding) -> None:
        self._told.add([self._places.problem(entry, finding)])

    def _depth(self, id: int) -> int:
        """At which level a category stands, the first being 1; 0 within a ring."""
        way: list[int] = []
        step: int | None = id
        while step is not None and len(way) <= rules.MAX_CATEGORY_DEPTH:
            if step in way:
                return 0
            way.append(step)
            step = self._parent(step)
        return len(way) + (step is not None)

    def _ring(self, id: int) -> list[int]:
        """The categories from this one to itself by way of its parents, if it is among
        them.
        """
        way = [id]
        while (step := self._parent(way[-1])) is not None and step not in way:
            way.append(step)
        return way if step == id else []

    def _parent(self, id: int) -> int | None:
        return self._above.get(id)

    @cached_property
    def _above(self) -> dict[int, int | None]:
        return {category["id"]: category.get("parent") for category in self.flat}


def _ids_known(entry: RecordEntry) -> bool:
    """Whether the schema has nothing to say about the ids of a category and of those
    within it, or where they are.
    """
    places = (
        f.pointer if f.missing is None else (*f.pointer, f.missing) for f in entry.found
    )
    return all(
        place and place[-1] not in ("id", "categories") and isinstance(place[-1], str)
        for place in places
    )
