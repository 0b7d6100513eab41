"""The catalog's records of which there are few, all held at once: categories, brands, synonyms."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from vitrine.content import catalog_rules as rules
from vitrine.content import records
from vitrine.content.catalog_entries import Around, Entry, Places, Told, entries_of, twice
from vitrine.content.catalog_rules import Known
from vitrine.content.listing import Source
from vitrine.content.records import Lines
from vitrine.content.schema import Finding
from vitrine.content.yaml import Json
from vitrine.problems import Pointer


def small_of(sources: Sequence[Source], around: Around, told: Told) -> list[Entry]:
    """All records of a kind of which there are few, each checked by itself."""
    places, entries, known = Places(around.folder), [], Known(None, None, None)
    for block in records.blocks(sources, shared=False):
        lines = Lines(around.folder, block)
        for entry in entries_of(block, around, told, lines, lambda: False):
            entries.append(entry)
            found = (*entry.found, *rules.findings(entry.source.kind.name, entry.value, entry.sound, known))
            told.note(places.problem(entry, finding) for finding in found)
    return entries


Use = tuple[Entry, Pointer, Any]
"""Where a value is used."""


def once(kind: str, name: str, uses: Iterable[Use], places: Places, told: Told) -> dict[Any, Use]:
    """Each value at most once; value → its first use."""
    first: dict[Any, Use] = {}
    for entry, pointer, value in uses:
        before = first.setdefault(value, (entry, pointer, value))
        if before[:2] != (entry, pointer):
            told.note([places.problem(entry, twice(kind, name, value, pointer, places.shown(*before[:2])))])
    return first


class Categories:
    """All categories: ``flat`` as `Catalog` has them, and their ``ids``, or None where some are not known."""

    def __init__(self, entries: Sequence[Entry], around: Around, told: Told) -> None:
        self._places, self._told = Places(around.folder), told
        self.flat: list[Json] = []
        self._parents: dict[int, tuple[Entry, Pointer, int]] = {}
        self._overrides: list[Use] = []
        uses = list(self._walk(entries))
        ids = once("category", "id", uses, self._places, told)
        complete = "category" not in told.lost and all(map(_ids_known, entries))
        self.ids = frozenset(ids) if complete else None
        if self.ids is not None:
            for entry, pointer, parent in (*self._parents.values(), *self._overrides):
                if parent not in self.ids:
                    self._say(entry, rules.unknown(pointer, "category", "id", parent, self.ids))
        for id in self._parents:
            if ring := self._ring(id):
                entry, pointer, _ = self._parents[id]
                way = ", ".join(map(str, ring[1:]))
                found = f"the category {id} stands within itself" + (f", by way of {way}" if way else "")
                self._say(entry, Finding("category.ring", pointer, found, "a category outside of it, or no parent"))
        for id, (entry, pointer, _) in ids.items():
            if self._depth(id) == rules.MAX_DEPTH + 1:  # those below it follow from it
                where = self._parents[id][1] if id in self._parents else pointer
                found = f"the category {id} stands {rules.MAX_DEPTH + 1} levels deep"
                self._say(entry, Finding("category.depth", where, found, f"at most {rules.MAX_DEPTH} levels"))

    def _walk(self, entries: Sequence[Entry]) -> Iterator[Use]:
        """Where each id stands; the flat categories and their parents are noted on the way."""
        for entry in entries:
            if not isinstance(entry.value, dict):
                continue
            outer: dict[Pointer, int] = {}
            for pointer, category in (((), entry.value), *rules.inside(entry.value)):
                if not entry.sound((*pointer, "id")):
                    continue
                outer[pointer] = category["id"]
                own = {key: value for key, value in category.items() if key != "categories"}
                if pointer[:-2] in outer and pointer:
                    own["parent"] = outer[pointer[:-2]]
                elif "parent" in category and entry.sound((*pointer, "parent")):
                    self._parents.setdefault(category["id"], (entry, (*pointer, "parent"), category["parent"]))
                if "overrideCategoryId" in category and entry.sound((*pointer, "overrideCategoryId")):
                    self._overrides.append((entry, (*pointer, "overrideCategoryId"), category["overrideCategoryId"]))
                self.flat.append(own)
                yield entry, (*pointer, "id"), category["id"]

    def _say(self, entry: Entry, finding: Finding) -> None:
        self._told.note([self._places.problem(entry, finding)])

    def _depth(self, id: int) -> int:
        """At which level a category stands, the first being 1; 0 within a ring."""
        way: list[int] = []
        step: int | None = id
        while step is not None and len(way) <= rules.MAX_DEPTH:
            if step in way:
                return 0
            way.append(step)
            step = self._parent(step)
        return len(way) + (step is not None)

    def _ring(self, id: int) -> list[int]:
        """The categories from this one to itself by way of its parents, if it is among them."""
        way = [id]
        while (step := self._parent(way[-1])) is not None and step not in way:
            way.append(step)
        return way if step == id else []

    def _parent(self, id: int) -> int | None:
        return self._above.get(id)

    @cached_property
    def _above(self) -> dict[int, int | None]:
        return {category["id"]: category.get("parent") for category in self.flat}


def _ids_known(entry: Entry) -> bool:
    """Whether the schema has nothing to say about the ids of a category and of those within it, or where they are."""
    places = (f.pointer if f.missing is None else (*f.pointer, f.missing) for f in entry.found)
    return all(place and place[-1] not in ("id", "categories") and isinstance(place[-1], str) for place in places)
