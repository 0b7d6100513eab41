"""The catalog's records of which there may be millions, checked side by side in bounded memory."""

from __future__ import annotations  # array[int]

import tempfile
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from vitrine.content import catalog_rules as rules
from vitrine.content import model
from vitrine.content.catalog_entries import Around, Entry, Places, Told, entries_of, twice
from vitrine.content.catalog_rules import Known
from vitrine.content.columns import Columns, Segments, Writer
from vitrine.content.model import Document
from vitrine.content.pieces import Checked, Line, Numbers, Pieces, cut, digest_of, save
from vitrine.content.processes import counted, processors, share, turns
from vitrine.content.records import Block, Lines
from vitrine.content.schema import Finding
from vitrine.problems import Pointer, Problem

PIECES = "catalog-pieces"
"""The file beside the one that says that all is as it was."""


@dataclass
class _Block:
    """What a process tells of a block; the places of its problems count from the block's first line."""

    told: Told
    lines: int


@dataclass(frozen=True)
class _Disagreement:
    """Numbers of a column that are at fault: ``finding`` is what to say of each, if anything.

    ``once``: they occur twice, and nothing is to be said of the first time.
    """

    column: str
    bad: set[int]
    finding: Callable[[Entry, int, Pointer], Finding | None]
    once: bool = False


class Large:
    """One check of all records of which there may be millions: first each by itself, then what they say of others."""

    def __init__(self, blocks: list[Block], around: Around, known: Known, told: Told) -> None:
        self.blocks, self.around, self.known, self.told = blocks, around, known, told
        self.before: list[int] = []
        self.places = Places(around.folder)
        ids = (known.categories, known.promotions, known.stores)
        self.checked = Checked(f"{around.program} {around.schemas.digest}", ids)
        self.kept = around.noted and around.noted.with_name(PIECES)
        self.pieces = Pieces(rules.COLUMNS, self.kept, self.checked)

    def check(self) -> None:
        with tempfile.TemporaryDirectory(prefix="vitrine-") as name:
            folder = Path(name)
            columns = Columns(folder, self._read(folder))
            self._promotions(columns)
            disagreements = [each for each in self._disagreements(columns) if each.bad]
            if disagreements:
                self._look_again(columns, disagreements)

    # -- each by itself

    def _read(self, folder: Path) -> list[Segments]:
        """Every block read and checked by some process."""
        jobs = max(1, min(self.around.jobs or processors(), len(self.blocks)))
        numbers = range(len(self.blocks))
        with turns(numbers, 1) as take:

            def work(number: int, step: Callable[[], None]) -> tuple[dict[int, _Block], Segments]:
                writer, answers = Writer(folder, number), {}
                left = self.around.limit
                with open(folder / f"pieces.{number}", "wb") as sound:
                    for block in (block for run in take() for block in run):
                        answers[block] = self._block(self.blocks[block], writer, sound, left)
                        left -= len(answers[block].told.problems)
                        writer.close_block(block)
                        step()
                writer.close()
                return answers, writer.segments

            results = share(work, jobs, counted(self.around.progress, len(self.blocks)))
        if self.kept:
            save(self.kept, self.checked, [folder / f"pieces.{number}" for number in range(jobs)])
        self._gather({block: answer for answers, _ in results for block, answer in answers.items()})
        return [segments for _, segments in results]

    def _block(self, block: Block, writer: Writer, sound: BinaryIO, limit: int) -> _Block:
        """One block's records, each checked by itself; what they say of others goes into the columns.

        Pieces that are known are not looked at; what is ``sound`` is noted.
        """
        told, lines = Told(), Lines(self.around.folder, block)
        for piece in cut(lines) if block.source.is_feed else ([],):
            digest = digest_of(block.source.kind.name, piece) if self.kept and piece else None
            numbers = self.pieces.numbers(digest)
            if numbers is None:
                before = told.extent()
                numbers = self._piece(block, piece, told, limit)
                digest = digest if told.extent() == before else None
            if digest:
                self.pieces.keep(sound, digest, numbers)
            for column, values in numbers.items():
                writer.extend(column, values)
        return _Block(told, lines.count)

    def _piece(self, block: Block, piece: Sequence[Line], told: Told, limit: int) -> Numbers:
        """Some records checked; what they say of others."""
        kind = block.source.kind.name
        numbers: dict[str, array[int]] = defaultdict(partial(array, "q"))
        for entry in entries_of(block, self.around, told, piece, lambda: len(told.problems) >= limit):
            trust, value = entry.sound, entry.value
            found = (*entry.found, *rules.findings(kind, value, trust, self.known))
            if found and len(told.problems) >= limit:
                told.more += len(found)
            elif found:
                told.note(self.places.problem(entry, finding) for finding in found)
            if entry.found:
                told.lost.update(rules.unsaid(kind, trust))
            for column, number, _ in rules.values(kind, value, trust):
                numbers[column].append(number)
        return numbers

    def _gather(self, answers: Mapping[int, _Block]) -> None:
        """What the processes told, with lines that count from the beginning of their files."""
        line = 0
        for number, block in enumerate(self.blocks):
            line = 0 if block.start == 0 else line
            self.before.append(line)
            told = answers[number].told
            self.told.note(_moved(problem, line) for problem in told.problems)
            self.told.more += told.more
            self.told.at_least |= told.at_least
            self.told.lost |= told.lost
            line += answers[number].lines

    # -- what they say of others

    def _promotions(self, columns: Columns) -> None:
        """The products and categories that promotions name exist."""
        if rules.PRODUCT not in self.told.lost:
            documents = self.around.case.having("promotion", ("products",))
            wanted = {id for document in documents for id in document.value.get("products", ())}
            self._unknown(documents, "products", "product", columns.absent(wanted, rules.PRODUCT))
        if self.known.categories is not None:
            documents = self.around.case.having("promotion", ("categoryIds",))
            wanted = {id for document in documents for id in document.value.get("categoryIds", ())}
            self._unknown(documents, "categoryIds", "category", wanted - self.known.categories)

    def _unknown(self, documents: Sequence[Document], part: str, kind: str, missing: set[int]) -> None:
        for document in documents if missing else ():
            for index, id in enumerate(document.value.get(part, ())):
                if id in missing:
                    self.told.findings.append((document, rules.unknown((part, index), kind, "id", id, ())))

    def _disagreements(self, columns: Columns) -> Iterator[_Disagreement]:
        limit = max(MANY, self.around.limit)
        for column, (name, kind) in rules.UNIQUE.items():
            bad = columns.twice(column, limit)
            yield _Disagreement(column, bad, partial(self._again, {}, kind, name), once=True)
        if rules.PRODUCT not in self.told.lost:
            bad = columns.missing([rules.PRODUCT_NAMED], rules.PRODUCT, limit)
            yield _Disagreement(rules.PRODUCT_NAMED, bad, _no_product)
        if rules.UPC not in self.told.lost:
            bad = columns.missing([rules.INVENTORY], rules.UPC, limit)
            yield _Disagreement(rules.INVENTORY, bad, _no_upc)
        rings = _rings(columns)
        yield _Disagreement(rules.MEMBER, {member for _, member in rings}, partial(_in_ring, rings))

    def _again(
        self, first: dict[Any, str], kind: str, name: str, entry: Entry, number: int, pointer: Pointer
    ) -> Finding | None:
        """What is said of the second use of a value, and of the following ones."""
        value = model.at(entry.value, pointer)
        key = int(value) if name == "UPC" else value
        if key in first:
            return twice(kind, name, value, pointer, first[key])
        first[key] = self.places.shown(entry, pointer)
        return None

    def _look_again(self, columns: Columns, disagreements: Sequence[_Disagreement]) -> None:
        """Find the places of the numbers at fault: only the blocks that hold one are read, until there is enough."""
        counts: Counter[int] = Counter()
        for each in disagreements:
            counts.update(columns.where(each.column, each.bad))
            self.told.at_least |= len(each.bad) >= max(MANY, self.around.limit)
        expected = counts.total() - sum(len(each.bad) for each in disagreements if each.once)
        by_column: dict[str, list[_Disagreement]] = defaultdict(list)
        for each in disagreements:
            by_column[each.column].append(each)
        found = 0
        for number in sorted(counts):
            if found >= self.around.limit:
                break
            for entry in self._entries_again(number):
                for column, value, pointer in rules.values(entry.source.kind.name, entry.value, entry.sound):
                    for each in by_column.get(column, ()):
                        if value in each.bad and (finding := each.finding(entry, value, pointer)):
                            found += 1
                            self.told.note([self.places.problem(entry, finding)])
        self.told.more += max(0, expected - found)

    def _entries_again(self, number: int) -> Iterator[Entry]:
        """The records of a block, their lines counted from the beginning of the file."""
        block, before = self.blocks[number], self.before[number]
        for entry in entries_of(block, self.around, Told(), Lines(self.around.folder, block), lambda: False):
            yield entry if entry.line is None else replace(entry, line=entry.line + before)


MANY = 100_000
"""So many numbers at fault are looked for in each column, if fewer problems are to be shown."""


def _moved(problem: Problem, lines: int) -> Problem:
    place = problem.place
    if place is None or lines == 0:
        return problem
    return replace(problem, place=replace(place, line=place.line + lines, end_line=place.end_line + lines))


def _no_product(entry: Entry, number: int, pointer: Pointer) -> Finding:
    return rules.unknown(pointer, "product", "id", number, ())


def _no_upc(entry: Entry, number: int, pointer: Pointer) -> Finding:
    return rules.unknown(pointer, "product", "UPC", entry.value["upc"], ())


Edge = tuple[int, int]
"""A collection and one of its members."""


def _rings(columns: Columns) -> set[Edge]:
    """The memberships by which a collection stands within itself."""
    owners = {owner for run in columns.values(rules.COLLECTION) for owner in run}
    members: dict[int, set[int]] = defaultdict(set)
    for owner_run, member_run in zip(columns.values(rules.COLLECTION), columns.values(rules.MEMBER), strict=True):
        for owner, member in zip(owner_run, member_run, strict=True):
            if member in owners:
                members[owner].add(member)
    while leaves := {leaf for held in members.values() for leaf in held if leaf not in members}:
        for owner in [owner for owner, held in members.items() if held & leaves]:
            members[owner] -= leaves
            if not members[owner]:
                del members[owner]
    return {(owner, member) for owner, held in members.items() for member in held if _leads(member, owner, members)}


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


def _in_ring(rings: set[Edge], entry: Entry, number: int, pointer: Pointer) -> Finding | None:
    owner = entry.value["id"]
    if (owner, number) not in rings:
        return None
    by_way = "" if owner == number else f", by way of its member {number}"
    return Finding("product.ring", pointer, f"the collection {owner} stands within itself{by_way}", "other products")
