"""The catalog's documents: read as streams, checked side by side in bounded memory, and handed out as streams."""

import os
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from vitrine.content import catalog_rules as rules
from vitrine.content import expressions, feed, model, records, tree, yaml
from vitrine.content.case import Case, sound
from vitrine.content.catalog_rules import Known, Sound
from vitrine.content.characters import XML_TEXT, not_xml
from vitrine.content.columns import Columns, Segments, Writer
from vitrine.content.listing import CATALOG, RACY_NS, Kind, Source
from vitrine.content.model import Document
from vitrine.content.processes import Ended, Progress, counted, processors, share, turns
from vitrine.content.records import Block, Lines, Records
from vitrine.content.schema import Finding, Schemas
from vitrine.content.yaml import Json, Malformed
from vitrine.problems import Failure, Place, Pointer, Problem

SMALL = ("category", "brand", "synonym")
"""Kinds of which there are few enough to be held in memory, all at once."""


@dataclass(frozen=True)
class Catalog:
    """A checked catalog. ``categories`` is flat: each with its `parent` and without those inside it, in their order.

    ``names``: what the expressions in its YAML files were evaluated with.
    """

    folder: Path
    sources: tuple[Source, ...]
    categories: list[Json]
    brands: list[Json]
    products: Records
    inventory: Records
    reviews: Records
    recommendations: Records
    synonyms: list[list[str]]
    names: Mapping[str, str | None]

    def digest(self) -> str:
        """A digest of the files themselves, the same on any machine."""
        digest = sha256()
        for source in self.sources:
            digest.update(f"{source.path}\0{source.size}\0".encode())
            with open(self.folder / source.path, "rb") as file:
                while data := file.read(1 << 20):
                    digest.update(data)
        return digest.hexdigest()


@dataclass(frozen=True)
class Around:
    """What is around the catalog: the folder, the schemas, the names (None where site.yaml cannot give them), and the
    other documents. ``limit``: of how many problems the places are looked for. ``noted``: the file that says what was
    without fault the last time, by the program with the digest ``program``.
    """

    folder: Path
    schemas: Schemas
    names: expressions.Names | None
    case: Case
    limit: int
    jobs: int | None = None
    progress: Progress | None = None
    noted: Path | None = None
    program: str = ""

    def ids(self, kind: str, name: str) -> frozenset[int] | None:
        """The numbers of a kind of document; None where not all of them are known."""
        documents = self.case.having(kind, (name,))
        known = kind not in self.case.unknown and len(documents) == len(self.case.having(kind))
        return frozenset(document.value[name] for document in documents) if known else None


@dataclass
class Told:
    """What a check found. ``more``: how many problems there are besides; ``at_least``: perhaps even more than that.

    ``findings`` are about other documents. ``lost``: the columns of which numbers are missing.
    """

    problems: dict[Problem, None] = field(default_factory=dict)
    findings: list[tuple[Document, Finding]] = field(default_factory=list)
    more: int = 0
    at_least: bool = False
    lost: set[str] = field(default_factory=set)

    def note(self, problems: Iterable[Problem | None]) -> None:
        self.problems.update((problem, None) for problem in problems if problem is not None)


def check(sources: Sequence[Source], around: Around) -> tuple[Catalog | None, Told]:
    """Everything that is wrong with the catalog; the catalog itself where there is one, and nothing wrong with it.

    Where nothing was wrong the last time, and all is as it was, the long feeds are not read again.
    """
    of_kind: dict[str, list[Source]] = {kind.name: [] for kind in CATALOG}
    for source in sources:
        of_kind[source.kind.name].append(source)
    told = Told()
    entries = _small(of_kind["category"], around, told)
    categories = _Categories(entries, around, told)
    brands = _small(of_kind["brand"], around, told)
    for name in ("name", "id"):
        uses = ((entry, (name,), entry.value[name]) for entry in brands if entry.sound((name,)))
        _once("brand", name, uses, _Places(around.folder), told)
    synonyms = _small(of_kind["synonym"], around, told)
    _settings(sources, around, told)
    stores = around.ids("store", "locationNumber")
    numbers = None if stores is None else frozenset(map(str, stores))
    known = Known(categories.ids, around.ids("promotion", "promoId"), numbers)
    large = [source for kind in CATALOG if kind.name not in SMALL for source in of_kind[kind.name]]
    state = _state(sources, around, known) if around.noted else ""
    if not (state and _noted(around) == state):
        _Large(records.blocks(large), around, known, told).check()
    if not sources or told.problems or told.findings or told.more or around.names is None:
        return None, told
    if state:
        _note(around, state)
    streams = {kind: Records(around.folder, of_kind[kind], around.names) for kind in of_kind}
    catalog = Catalog(
        around.folder,
        tuple(sources),
        categories.flat,
        [entry.value for entry in brands],
        streams["product"],
        streams["inventory"],
        streams["review"],
        streams["recommendation"],
        [entry.value for entry in synonyms],
        around.names,
    )
    return catalog, told


def _state(sources: Sequence[Source], around: Around, known: Known) -> str:
    """A digest of everything that the check of the long feeds reads; empty where a file was changed just now."""
    if any(source.changed >= time.time_ns() - RACY_NS for source in sources):
        return ""
    files = [(source.path, source.size, source.changed, source.inode) for source in sources]
    promotions = [
        [each.value.get(part) for part in ("products", "categoryIds")] for each in around.case.having("promotion")
    ]
    others = [known.categories, known.promotions, known.stores]
    ids = [None if each is None else sorted(map(str, each)) for each in others]
    rest = [around.program, around.schemas.digest, sorted((around.names or {}).items())]
    return sha256(orjson.dumps([files, promotions, ids, rest])).hexdigest()


def _noted(around: Around) -> str:
    try:
        return around.noted.read_text(encoding="ascii") if around.noted else ""
    except (OSError, ValueError):
        return ""


def _note(around: Around, state: str) -> None:
    """Keep what was found without fault; where that cannot be kept, the next check reads it again."""
    if around.noted:
        draft = around.noted.with_name(f"{around.noted.name}.{os.getpid()}")
        with suppress(OSError):
            around.noted.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(state, encoding="ascii")
            os.replace(draft, around.noted)


def _settings(sources: Sequence[Source], around: Around, told: Told) -> None:
    """Where there are products, site.yaml says where their pages and images are."""
    for site in around.case.having("site", ("catalog",)):
        if "catalog" not in site.value and any(source.kind.name == "product" for source in sources):
            found = "'catalog' is missing, and there are products"
            allowed = "image_url and product_url below it: where the images and the pages of products are"
            told.findings.append((site, Finding("site.catalog", (), found, allowed, on_key=True, missing="catalog")))


# -- records, one by one -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Entry:
    """A record as its file holds it: its line, or its number in a list; and what its schema finds.

    ``line`` counts from the first line of its block.
    """

    source: Source
    value: Json
    line: int | None
    text: bytes
    index: int | None
    found: tuple[Finding, ...]
    unrendered: frozenset[Pointer] = frozenset()

    @property
    def sound(self) -> Sound:
        return partial(sound, self.found) if self.found else _always


def _always(pointer: Pointer) -> bool:
    return True


def _entries(block: Block, around: Around, told: Told, lines: Lines, full: Callable[[], bool]) -> Iterator[_Entry]:
    """The records of a block; what cannot be read is a problem. Once it is ``full``, faults are only counted."""
    if not block.source.is_feed:
        yield from _of_yaml(block.source, around, told)
        return
    kind = block.source.kind
    valid = around.schemas.validator(kind.schema).is_valid
    for line, text in lines:
        try:
            if isinstance(text, Malformed):
                raise text
            value = feed.load(text, line)
        except Malformed as fault:
            _lose(kind, told)
            if full():
                told.more += 1
            else:
                told.note([tree.malformed(block.source.path, fault)])
            continue
        found: tuple[Finding, ...] = ()
        if not valid(value) or tree.doubtful(orjson.dumps(value)):
            if full():
                told.more, told.at_least = told.more + 1, True
                _lose(kind, told)
                continue
            found = _found(kind, value, around.schemas)
        yield _Entry(block.source, value, line, text, None, found)


def _found(kind: Kind, value: Json, schemas: Schemas) -> tuple[Finding, ...]:
    struck = [Finding("text.xml", at, said, XML_TEXT, on_key=on_key) for at, said, on_key in not_xml(value)]
    return (*schemas.findings(kind.schema, value), *struck)


def _of_yaml(source: Source, around: Around, told: Told) -> Iterator[_Entry]:
    parsed = tree.read_one(around.folder, source, around.names, around.schemas)
    told.note(parsed.problems)
    if parsed.lost:
        _lose(source.kind, told)
    unrendered = frozenset(parsed.unrendered)
    for index, value in enumerate(parsed.documents()):
        found = () if parsed.valid else tuple(around.schemas.findings(source.kind.schema, value))
        yield _Entry(source, value, None, b"", index if parsed.listed else None, found, unrendered)


def _lose(kind: Kind, told: Told) -> None:
    """Nothing is known of one record of a kind."""
    told.lost |= {kind.name, rules.UPC} if kind.name == "product" else {kind.name}


class _Places:
    """Where the parts of records stand; of the YAML file that was asked for last, all places are kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: tuple[Source, Mapping[Pointer, yaml.Spot]] | None = None

    def problem(self, entry: _Entry, finding: Finding) -> Problem | None:
        """A finding as a problem at its place; none where an expression without a value is the cause."""
        whole = finding.pointer if entry.index is None else (entry.index, *finding.pointer)
        if whole in entry.unrendered:
            return None
        place = self.place(entry, finding.pointer, on_key=finding.on_key)
        words = finding.allowed, finding.about, finding.nearest
        return Problem(finding.rule, entry.source.path, finding.found, place, whole, *words)

    def place(self, entry: _Entry, pointer: Pointer, *, on_key: bool = False) -> Place | None:
        if entry.line is not None:
            spots: Mapping[Pointer, yaml.Spot] = feed.locate(entry.text, entry.line)
            whole = pointer
        else:
            spots = self._spots(entry.source)
            whole = pointer if entry.index is None else (entry.index, *pointer)
        spot = spots.get(whole) or spots.get(whole[:-1])
        return (spot.key if on_key and spot.key else spot.value) if spot else None

    def shown(self, entry: _Entry, pointer: Pointer) -> str:
        """A place as other findings name it: `path:line`."""
        place = self.place(entry, pointer)
        return f"{entry.source.path}:{place.line}" if place else entry.source.path

    def _spots(self, source: Source) -> Mapping[Pointer, yaml.Spot]:
        if self._file is None or self._file[0] != source:
            try:
                self._file = source, tree.spots_of(self._folder, source)
            except (Malformed, OSError):  # changed since it was read
                self._file = source, {}
        return self._file[1]


# -- categories and brands ---------------------------------------------------------------------------------------


def _small(sources: Sequence[Source], around: Around, told: Told) -> list[_Entry]:
    """All records of a kind of which there are few, each checked by itself."""
    places, entries, known = _Places(around.folder), [], Known(None, None, None)
    for block in records.blocks(sources, shared=False):
        lines = Lines(around.folder, block)
        for entry in _entries(block, around, told, lines, lambda: False):
            entries.append(entry)
            found = (*entry.found, *rules.findings(entry.source.kind.name, entry.value, entry.sound, known))
            told.note(places.problem(entry, finding) for finding in found)
    return entries


Use = tuple[_Entry, Pointer, Any]
"""Where a value is used."""


def _once(kind: str, name: str, uses: Iterable[Use], places: _Places, told: Told) -> dict[Any, Use]:
    """Each value at most once; value → its first use."""
    first: dict[Any, Use] = {}
    for entry, pointer, value in uses:
        before = first.setdefault(value, (entry, pointer, value))
        if before[:2] != (entry, pointer):
            told.note([places.problem(entry, _twice(kind, name, value, pointer, places.shown(*before[:2])))])
    return first


def _twice(kind: str, name: str, value: Any, pointer: Pointer, where: str) -> Finding:
    return Finding("unique", pointer, f"the {name} {value} is also that of the {kind} in {where}", "each once")


class _Categories:
    """All categories: ``flat`` as `Catalog` has them, and their ``ids``, or None where some are not known."""

    def __init__(self, entries: Sequence[_Entry], around: Around, told: Told) -> None:
        self._places, self._told = _Places(around.folder), told
        self.flat: list[Json] = []
        self._parents: dict[int, tuple[_Entry, Pointer, int]] = {}
        self._overrides: list[Use] = []
        uses = list(self._walk(entries))
        ids = _once("category", "id", uses, self._places, told)
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

    def _walk(self, entries: Sequence[_Entry]) -> Iterator[Use]:
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

    def _say(self, entry: _Entry, finding: Finding) -> None:
        self._told.note([self._places.problem(entry, finding)])

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


def _ids_known(entry: _Entry) -> bool:
    """Whether the schema has nothing to say about the ids of a category and of those within it, or where they are."""
    places = (f.pointer if f.missing is None else (*f.pointer, f.missing) for f in entry.found)
    return all(place and place[-1] not in ("id", "categories") and isinstance(place[-1], str) for place in places)


# -- products, inventory, reviews and recommendations ------------------------------------------------------------


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
    finding: Callable[[_Entry, int, Pointer], Finding | None]
    once: bool = False


class _Large:
    """One check of all records of which there may be millions: first each by itself, then what they say of others."""

    def __init__(self, blocks: list[Block], around: Around, known: Known, told: Told) -> None:
        self.blocks, self.around, self.known, self.told = blocks, around, known, told
        self.before: list[int] = []
        self.places = _Places(around.folder)

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
                for block in (block for run in take() for block in run):
                    answers[block] = self._block(self.blocks[block], writer, left)
                    left -= len(answers[block].told.problems)
                    writer.close_block(block)
                    step()
                writer.close()
                return answers, writer.segments

            try:
                results = share(work, jobs, counted(self.around.progress, len(self.blocks)))
            except Ended as error:
                raise Failure(str(error)) from None
        self._gather({block: answer for answers, _ in results for block, answer in answers.items()})
        return [segments for _, segments in results]

    def _block(self, block: Block, writer: Writer, limit: int) -> _Block:
        """One block's records, each checked by itself; what they say of others goes into the columns."""
        told, kind = Told(), block.source.kind.name
        lines = Lines(self.around.folder, block)
        for entry in _entries(block, self.around, told, lines, lambda: len(told.problems) >= limit):
            trust, value = entry.sound, entry.value
            found = (*entry.found, *rules.findings(kind, value, trust, self.known))
            if found and len(told.problems) >= limit:
                told.more += len(found)
            elif found:
                told.note(self.places.problem(entry, finding) for finding in found)
            if entry.found:
                told.lost.update(rules.unsaid(kind, trust))
            for column, number, _ in rules.values(kind, value, trust):
                writer.add(column, number)
        return _Block(told, lines.count)

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
        self, first: dict[Any, str], kind: str, name: str, entry: _Entry, number: int, pointer: Pointer
    ) -> Finding | None:
        """What is said of the second use of a value, and of the following ones."""
        value = model.at(entry.value, pointer)
        key = int(value) if name == "UPC" else value
        if key in first:
            return _twice(kind, name, value, pointer, first[key])
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

    def _entries_again(self, number: int) -> Iterator[_Entry]:
        """The records of a block, their lines counted from the beginning of the file."""
        block, before = self.blocks[number], self.before[number]
        for entry in _entries(block, self.around, Told(), Lines(self.around.folder, block), lambda: False):
            yield entry if entry.line is None else replace(entry, line=entry.line + before)


MANY = 100_000
"""So many numbers at fault are looked for in each column, if fewer problems are to be shown."""


def _moved(problem: Problem, lines: int) -> Problem:
    place = problem.place
    if place is None or lines == 0:
        return problem
    return replace(problem, place=replace(place, line=place.line + lines, end_line=place.end_line + lines))


def _no_product(entry: _Entry, number: int, pointer: Pointer) -> Finding:
    return rules.unknown(pointer, "product", "id", number, ())


def _no_upc(entry: _Entry, number: int, pointer: Pointer) -> Finding:
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


def _in_ring(rings: set[Edge], entry: _Entry, number: int, pointer: Pointer) -> Finding | None:
    owner = entry.value["id"]
    if (owner, number) not in rings:
        return None
    by_way = "" if owner == number else f", by way of its member {number}"
    return Finding("product.ring", pointer, f"the collection {owner} stands within itself{by_way}", "other products")
