"""The kinds of the catalog with few records: categories, brands, synonyms.

All of their records are in memory at once, so that they can be compared directly.
"""

from collections.abc import Iterable, Iterator, Sequence
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
        # By the id of a category, and of an id that stands twice by its first one: the id
        # of the category above it; and where it names that one, if it does.
        self._above: dict[int, int] = {}
        self._parents: dict[int, RecordUse] = {}
        self._overrides: list[RecordUse] = []

        ids = once("category", "id", list(self._walk(entries)), self._places, report)
        are_all_known = "category" not in report.lost and all(map(_has_ids, entries))
        self.ids = frozenset(ids) if are_all_known else None

        self._check_references()
        for id, use in ids.items():
            self._check_line(id, use)

    def _walk(self, entries: Sequence[RecordEntry]) -> Iterator[RecordUse]:
        """Yield the place of each id, and note each category on the way."""
        for entry in entries:
            ids: dict[Pointer, int] = {}
            for pointer, category in rules.inside(entry.value):
                if entry.sound((*pointer, "id")):
                    outer = ids.get(pointer[:-2])  # without "categories" and the index
                    ids[pointer] = category["id"]
                    self._note(entry, pointer, category, outer)
                    yield entry, (*pointer, "id"), category["id"]

    def _note(
        self, entry: RecordEntry, pointer: Pointer, category: Json, outer: int | None
    ) -> None:
        """Note a category without those within it, and what it refers to.

        ``outer``: the id of the category that it stands within.
        """
        flat = {key: value for key, value in category.items() if key != "categories"}
        parent = (*pointer, "parent")
        if outer is not None:
            flat["parent"] = outer
            self._above.setdefault(category["id"], outer)
        elif "parent" in category and entry.sound(parent):
            self._above.setdefault(category["id"], category["parent"])
            use = entry, parent, category["parent"]
            self._parents.setdefault(category["id"], use)

        override = (*pointer, "overrideCategoryId")
        if "overrideCategoryId" in category and entry.sound(override):
            self._overrides.append((entry, override, category["overrideCategoryId"]))
        self.flat.append(flat)

    def _check_references(self) -> None:
        """Check that parents and overriding categories exist."""
        if self.ids is None:
            return
        for entry, pointer, id in (*self._parents.values(), *self._overrides):
            if id not in self.ids:
                self._add(entry, rules.unknown(pointer, "category", "id", id, self.ids))

    def _check_line(self, id: int, use: RecordUse) -> None:
        """Check that a category stands neither within itself, by way of its parents, nor
        too deep.

        Of those too deep only the ones by one level are reported: what is below them
        follows, and what stands below a ring has no level.
        """
        line, above = self._line(id)
        entry, pointer, _ = self._parents.get(id, use)
        too_deep = rules.MAX_CATEGORY_DEPTH + 1
        if above == id and id in self._parents:
            others = ", ".join(map(str, line[1:]))
            by_way = f", by way of {others}" if others else ""
            finding = Finding(
                "category.ring",
                pointer,
                f"the category {id} stands within itself{by_way}",
                "a category outside of it, or no parent",
            )
            self._add(entry, finding)
        elif above is None and len(line) == too_deep:
            finding = Finding(
                "category.depth",
                pointer,
                f"the category {id} stands {too_deep} levels deep",
                f"at most {rules.MAX_CATEGORY_DEPTH} levels",
            )
            self._add(entry, finding)

    def _add(self, entry: RecordEntry, finding: Finding) -> None:
        self._report.add([self._places.problem(entry, finding)])

    def _line(self, id: int) -> tuple[list[int], int | None]:
        """Return a category and those above it, and what is above the last one: None, or
        one of these categories, where they stand within each other.
        """
        line = {id: None}  # in order, and quick to search: a faulty one may be long
        above = self._above.get(id)
        while above is not None and above not in line:
            line[above] = None
            above = self._above.get(above)
        return list(line), above


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
