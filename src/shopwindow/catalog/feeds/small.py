"""The kinds of the catalog with few records: categories, brands, synonyms.

All of their records are in memory at once, so that they can be compared directly.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from shopwindow.catalog.feeds import rules
from shopwindow.catalog.feeds.entries import (
    RecordEntry,
    RecordPlaces,
    repeated,
)
from shopwindow.catalog.feeds.record_check import RecordCheck
from shopwindow.content.check.feeds import FeedReport, RecordBasis
from shopwindow.content.check.records import FeedBatch, FeedLines
from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.yaml import Json
from shopwindow.problems import Pointer


def small_of(
    sources: Sequence[Source], basis: RecordBasis, report: FeedReport
) -> list[RecordEntry]:
    """Return all records of some files, each checked by itself.

    They refer to nothing but each other, which is checked later.
    """
    check = RecordCheck(basis, {})
    entries: list[RecordEntry] = []
    for batch in map(FeedBatch, sources):
        lines = FeedLines(basis.folder, batch)
        entries += check.entries(batch, lines, report, basis.limit)
    return entries


RecordUse = tuple[RecordEntry, Pointer, Any]
"""A record, a place in it, and the value that stands there."""


def once(
    kind: str,
    name: str,
    uses: Iterable[RecordUse],
    places: RecordPlaces,
    report: FeedReport,
) -> dict[Any, RecordUse]:
    """Report each value that is used more than once. Return the first uses, by value.

    ``kind`` and ``name`` say in messages what the value is: the id of a category.
    """
    first_uses: dict[Any, RecordUse] = {}
    for entry, pointer, value in uses:
        first_entry, first_pointer, _ = first_uses.setdefault(
            value, (entry, pointer, value)
        )
        if (first_entry, first_pointer) != (entry, pointer):
            where = places.shown(first_entry, first_pointer)
            finding = repeated(kind, name, value, pointer, where)
            report.add([places.problem(entry, finding)])
    return first_uses


class Categories:
    """All categories of a catalog, checked as a tree.

    A category stands within another, or names it as its `parent`. Attributes:

        flat: the categories in their order, each with its `parent` and without those
            within it, as `Feeds` has them.
        ids: their ids; None: not all are known, because a file or an id is at fault.
    """

    def __init__(
        self, entries: Sequence[RecordEntry], places: RecordPlaces, report: FeedReport
    ) -> None:
        self._places, self._report = places, report
        self.flat: list[Json] = []
        self._parents: dict[int, RecordUse] = {}
        self._overrides: list[RecordUse] = []

        ids = once("category", "id", list(self._walk(entries)), self._places, report)
        are_all_known = "category" not in report.lost and all(map(_has_ids, entries))
        self.ids = frozenset(ids) if are_all_known else None

        self._check_references()
        self._check_rings()
        self._check_depths(ids)

    def _walk(self, entries: Sequence[RecordEntry]) -> Iterator[RecordUse]:
        """Yield the place of each id, and collect the flat categories on the way."""
        for entry in entries:
            if not isinstance(entry.value, dict):
                continue
            ids: dict[Pointer, int] = {}
            for pointer, category in (((), entry.value), *rules.inside(entry.value)):
                if not entry.sound((*pointer, "id")):
                    continue
                id = ids[pointer] = category["id"]
                self.flat.append(self._flat(entry, pointer, category, ids))
                yield entry, (*pointer, "id"), id

    def _flat(
        self,
        entry: RecordEntry,
        pointer: Pointer,
        category: Json,
        ids: dict[Pointer, int],
    ) -> Json:
        """Return a category without those within it, and note what it refers to.

        ``ids`` are those of the categories around it, by their places.
        """
        flat = {key: value for key, value in category.items() if key != "categories"}
        outer = pointer[:-2]  # without "categories" and the index
        if pointer and outer in ids:
            flat["parent"] = ids[outer]
        elif "parent" in category and entry.sound((*pointer, "parent")):
            use = entry, (*pointer, "parent"), category["parent"]
            self._parents.setdefault(category["id"], use)

        override = (*pointer, "overrideCategoryId")
        if "overrideCategoryId" in category and entry.sound(override):
            self._overrides.append((entry, override, category["overrideCategoryId"]))
        return flat

    def _check_references(self) -> None:
        """Check that parents and overriding categories exist."""
        if self.ids is None:
            return
        for entry, pointer, id in (*self._parents.values(), *self._overrides):
            if id not in self.ids:
                self._add(entry, rules.unknown(pointer, "category", "id", id, self.ids))

    def _check_rings(self) -> None:
        """Check that no category stands within itself, by way of its parents."""
        for id, (entry, pointer, _) in self._parents.items():
            line, parent = self._line(id)
            if parent != id:
                continue
            others = ", ".join(map(str, line[1:]))
            by_way = f", by way of {others}" if others else ""
            finding = Finding(
                "category.ring",
                pointer,
                f"the category {id} stands within itself{by_way}",
                "a category outside of it, or no parent",
            )
            self._add(entry, finding)

    def _check_depths(self, ids: dict[Any, RecordUse]) -> None:
        """Check that no category stands too deep.

        Only those one level too deep are reported: what is below them follows, and what
        stands below a ring has no level.
        """
        too_deep = rules.MAX_CATEGORY_DEPTH + 1
        for id, (entry, pointer, _) in ids.items():
            line, parent = self._line(id)
            if len(line) != too_deep or parent is not None:
                continue
            finding = Finding(
                "category.depth",
                self._parents[id][1] if id in self._parents else pointer,
                f"the category {id} stands {too_deep} levels deep",
                f"at most {rules.MAX_CATEGORY_DEPTH} levels",
            )
            self._add(entry, finding)

    def _add(self, entry: RecordEntry, finding: Finding) -> None:
        self._report.add([self._places.problem(entry, finding)])

    def _line(self, id: int) -> tuple[list[int], int | None]:
        """Return a category and those above it, and the parent of the last one: None, or
        one of these categories, where they stand within each other.
        """
        line = [id]
        while (parent := self._parent_ids.get(line[-1])) is not None:
            if parent in line:
                break
            line.append(parent)
        return line, parent

    @cached_property
    def _parent_ids(self) -> dict[int, int | None]:
        return {category["id"]: category.get("parent") for category in self.flat}


def _has_ids(entry: RecordEntry) -> bool:
    """Return whether the ids of a category and of those within it are all known.

    They are not if the schema finds something wrong with an id, with a list of
    categories, or with an item of such a list.
    """
    for finding in entry.findings:
        place = finding.pointer
        if finding.missing is not None:
            place = (*place, finding.missing)
        if not place or place[-1] in ("id", "categories") or isinstance(place[-1], int):
            return False
    return True
