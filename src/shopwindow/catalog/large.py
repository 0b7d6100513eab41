"""The catalog's records of which there may be millions, checked side by side in bounded
memory.
"""

from __future__ import annotations  # array[int]

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from shopwindow.catalog import rules
from shopwindow.catalog.columns import ColumnWriter, NumberColumns, Segments
from shopwindow.catalog.entries import RecordEntry, RecordPlaces, entries_of, twice
from shopwindow.catalog.pieces import (
    CheckedBy,
    NumberedLine,
    Numbers,
    Pieces,
    cut,
    digest_of,
    save,
)
from shopwindow.catalog.rules import Referable
from shopwindow.content import documents
from shopwindow.content.documents import Document
from shopwindow.content.feeds import FeedReport, Unstreamed
from shopwindow.content.finding import Finding
from shopwindow.content.processes import processors, shared
from shopwindow.content.records import FeedBlock, FeedLines
from shopwindow.content.scratch import scratch
from shopwindow.problems import Pointer, Problem

PIECES = "catalog-pieces"
"""The file beside the one that says that all is as it was."""


@dataclass
class _CheckedBlock:
    """What a process tells of a block; the places of its problems count from the
    block's first line.
    """

    told: FeedReport
    lines: int


@dataclass(frozen=True)
class _Disagreement:
    """Numbers of a column that are at fault: ``finding`` is what to say of each, if
    anything.

    ``once``: they occur twice, and nothing is to be said of the first time.
    """

    column: str
    bad: set[int]
    finding: Callable[[RecordEntry, int, Pointer], Finding | None]
    once: bool = False


class Large:
    """One check of all records of which there may be millions: first each by itself,
    then what they say of others.
    """

    def __init__(
        self,
        blocks: list[FeedBlock],
        around: Unstreamed,
        known: Referable,
        told: FeedReport,
    ) -> None:
        self.blocks, self.around, self.known, self.told = blocks, around, known, told
        self.before: list[int] = []
        self.places = RecordPlaces(around.folder)
        ids = (known.categories, known.promotions, known.stores)
        self.checked = CheckedBy(f"{around.program} {around.schemas.digest}", ids)
        self.kept = around.cached and around.cached.with_name(PIECES)
        self.pieces = Pieces(rules.ALL_COLUMNS, self.kept, self.checked)

    def check(self) -> None:
        with scratch() as folder:
            columns = NumberColumns(folder, self._read(folder))
            self._promotions(columns)
            disagreements = [each for each in self._disagreements(columns) if each.bad]
            if disagreements:
                self._look_again(columns, disagreements)

    # -- each by itself

    def _read(self, folder: Path) -> list[Segments]:
        """Every block read and checked by some process."""
        if not self.blocks:
            return []
        jobs = max(1, min(self.around.jobs or processors(), len(self.blocks)))
        numbers = range(len(self.blocks))

        def work(mine: Sequence[int]) -> Iterator[tuple[_CheckedBlock, Segments]]:
            """Each block's answer; with the last one, which columns this process has
            written.
            """
            writer, left = ColumnWriter(folder, mine[0]), self.around.limit
            with open(folder / f"pieces.{mine[0]}", "wb") as sound:
                for number in mine:
                    answer = self._block(self.blocks[number], writer, sound, left)
                    left -= len(answer.told.problems)
                    writer.close_block(number)
                    if number == mine[-1]:
                        writer.close()
                    yield answer, writer.segments if number == mine[-1] else []

        answers: list[_CheckedBlock] = []
        written: list[Segments] = []
        with shared(work, numbers, jobs) as results:
            for answer, segments in results:
                answers.append(answer)
                written.append(segments)
                if self.around.progress:
                    self.around.progress(len(answers), len(self.blocks))
        if self.kept:
            save(
                self.kept,
                self.checked,
                [folder / f"pieces.{number}" for number in range(jobs)],
            )
        self._gather(answers)
        return [next(filter(None, written[number::jobs]), []) for number in range(jobs)]

    def _block(
        self, block: FeedBlock, writer: ColumnWriter, sound: BinaryIO, limit: int
    ) -> _CheckedBlock:
        """One block's records, each checked by itself; what they say of others goes
        into the columns.

        Pieces that are known are not looked at; what is ``sound`` is kept.
        """
        told, lines = (
            FeedReport(),
            FeedLines(self.around.folder, block, self.around.unpacked),
        )
        for piece in cut(lines) if block.source.is_feed else ([],):
            digest = (
                digest_of(block.source.kind.name, piece)
                if self.kept and piece
                else None
            )
            numbers = self.pieces.numbers(digest)
            if numbers is None:
                before = told.extent()
                numbers = self._piece(block, piece, told, limit)
                digest = digest if told.extent() == before else None
            if digest:
                self.pieces.keep(sound, digest, numbers)
            for column, values in numbers.items():
                writer.extend(column, values)
        return _CheckedBlock(told, lines.count)

    def _piece(
        self,
        block: FeedBlock,
        piece: Sequence[NumberedLine],
        told: FeedReport,
        limit: int,
    ) -> Numbers:
        """Some records checked; what they say of others."""
        kind = block.source.kind.name
        numbers: dict[str, array[int]] = defaultdict(partial(array, "q"))
        for entry in entries_of(
            block, self.around, told, piece, lambda: len(told.problems) >= limit
        ):
            trust, value = entry.sound, entry.value
            found = (*entry.found, *rules.findings(kind, value, trust, self.known))
            if found and len(told.problems) >= limit:
                told.more += len(found)
            elif found:
                told.add(self.places.problem(entry, finding) for finding in found)
            if entry.found:
                told.lost.update(rules.unsaid(kind, trust))
            for column, number, _ in rules.values(kind, value, trust):
                numbers[column].append(number)
        return numbers

    def _gather(self, answers: Sequence[_CheckedBlock]) -> None:
        """What the processes told, with lines that count from the beginning of their
        files.
        """
        line = 0
        for number, block in enumerate(self.blocks):
            line = 0 if block.start == 0 else line
            self.before.append(line)
            told = answers[number].told
            self.told.add(_moved(problem, line) for problem in told.problems)
            self.told.more += told.more
            self.told.at_least |= told.at_least
            self.told.lost |= told.lost
            line += answers[number].lines

    # -- what they say of others

    def _promotions(self, columns: NumberColumns) -> None:
        """The products and categories that promotions name exist."""
        if rules.PRODUCT not in self.told.lost:
            documents = self.around.case.having("promotion", ("products",))
            wanted = {
                id
                for document in documents
                for id in document.value.get("products", ())
            }
            self._unknown(
                documents, "products", "product", columns.absent(wanted, rules.PRODUCT)
            )
        if self.known.categories is not None:
            documents = self.around.case.having("promotion", ("categoryIds",))
            wanted = {
                id
                for document in documents
                for id in document.value.get("categoryIds", ())
            }
            self._unknown(
                documents, "categoryIds", "category", wanted - self.known.categories
            )

    def _unknown(
        self, documents: Sequence[Document], part: str, kind: str, missing: set[int]
    ) -> None:
        for document in documents if missing else ():
            for index, id in enumerate(document.value.get(part, ())):
                if id in missing:
                    self.told.findings.append(
                        (document, rules.unknown((part, index), kind, "id", id, ()))
                    )

    def _disagreements(self, columns: NumberColumns) -> Iterator[_Disagreement]:
        limit = max(MAX_LOOKED_FOR, self.around.limit)
        for column, (name, kind) in rules.UNIQUE.items():
            bad = columns.twice(column, limit)
            yield _Disagreement(
                column, bad, partial(self._again, {}, kind, name), once=True
            )
        if rules.PRODUCT not in self.told.lost:
            bad = columns.missing([rules.PRODUCT_NAMED], rules.PRODUCT, limit)
            yield _Disagreement(rules.PRODUCT_NAMED, bad, _no_product)
        if rules.UPC not in self.told.lost:
            bad = columns.missing([rules.INVENTORY], rules.UPC, limit)
            yield _Disagreement(rules.INVENTORY, bad, _no_upc)
        rings = _rings(columns)
        yield _Disagreement(
            rules.MEMBER, {member for _, member in rings}, partial(_in_ring, rings)
        )

    def _again(
        self,
        first: dict[Any, str],
        kind: str,
        name: str,
        entry: RecordEntry,
        number: int,
        pointer: Pointer,
    ) -> Finding | None:
        """What is said of the second use of a value, and of the following ones."""
        value = documents.at(entry.value, pointer)
        key = int(value) if name == "UPC" else value
        if key in first:
            return twice(kind, name, value, pointer, first[key])
        first[key] = self.places.shown(entry, pointer)
        return None

    def _look_again(
        self, columns: NumberColumns, disagreements: Sequence[_Disagreement]
    ) -> None:
        """Find the places of the numbers at fault: only the blocks that hold one are
        read, until there is enough.
        """
        counts: Counter[int] = Counter()
        for each in disagreements:
            counts.update(columns.where(each.column, each.bad))
            self.told.at_least |= len(each.bad) >= max(
                MAX_LOOKED_FOR, self.around.limit
            )
        expected = counts.total() - sum(
            len(each.bad) for each in disagreements if each.once
        )
        by_column: dict[str, list[_Disagreement]] = defaultdict(list)
        for each in disagreements:
            by_column[each.column].append(each)
        found = 0
        for number in sorted(counts):
            if found >= self.around.limit:
                break
            for entry in self._entries_again(number):
                for column, value, pointer in rules.values(
                    entry.source.kind.name, entry.value, entry.sound
                ):
                    for each in by_column.get(column, ()):
                        if value in each.bad and (
                            finding := each.finding(entry, value, pointer)
                        ):
                            found += 1
                            self.told.add([self.places.problem(entry, finding)])
        self.told.more += max(0, expected - found)

    def _entries_again(self, number: int) -> Iterator[RecordEntry]:
        """The records of a block, their lines counted from the beginning of the file."""
        block, before = self.blocks[number], self.before[number]
        lines = FeedLines(self.around.folder, block, self.around.unpacked)
        for entry in entries_of(block, self.around, FeedReport(), lines, lambda: False):
            yield (
                entry
                if entry.line is None
                else replace(entry, line=entry.line + before)
            )


MAX_LOOKED_FOR = 100_000
"""So many numbers at fault are looked for in each column, if fewer problems are to be
shown.
"""


def _moved(problem: Problem, lines: int) -> Problem:
    place = problem.place
    if place is None or lines == 0:
        return problem
    return replace(
        problem,
        place=replace(place, line=place.line + lines, end_line=place.end_line + lines),
    )


def _no_product(entry: RecordEntry, number: int, pointer: Pointer) -> Finding:
    return rules.unknown(pointer, "product", "id", number, ())


def _no_upc(entry: RecordEntry, number: int, pointer: Pointer) -> Finding:
    return rules.unknown(pointer, "product", "UPC", entry.value["upc"], ())


Edge = tuple[int, int]
"""A collection and one of its members."""


def _rings(columns: NumberColumns) -> set[Edge]:
    """The memberships by which a collection stands within itself."""
    owners = {owner for run in columns.values(rules.COLLECTION) for owner in run}
    members: dict[int, set[int]] = defaultdict(set)
    for owner_run, member_run in zip(
        columns.values(rules.COLLECTION), columns.values(rules.MEMBER), strict=True
    ):
        for owner, member in zip(owner_run, member_run, strict=True):
            if member in owners:
                members[owner].add(member)
    while leaves := {
        leaf for held in members.values() for leaf in held if leaf not in members
    }:
        for owner in [owner for owner, held in members.items() if held & leaves]:
            members[owner] -= leaves
            if not members[owner]:
                del members[owner]
    return {
        (owner, member)
        for owner, held in members.items()
        for member in held
        if _leads(member, owner, members)
    }


def _leads(start: int, end: int, members: Mapping[int, set[int]]) -> bool:
    """Whether a collection holds another, or something that does."""
    seen, left = {start}, [start]
    while left:
        held = left.pop()
        if held == end:
            return True
        left += members.get(held, set()) - seen
        seen |= members.get(held, set())
    return False


def _in_ring(
    rings: set[Edge], entry: RecordEntry, number: int, pointer: Pointer
) -> Finding | None:
    owner = entry.value["id"]
    if (owner, number) not in rings:
        return None
    by_way = "" if owner == number else f", by way of its member {number}"
    return Finding(
        "product.ring",
        pointer,
        f"the collection {owner} stands within itself{by_way}",
        "other products",
    )
