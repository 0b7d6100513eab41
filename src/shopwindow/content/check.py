"""A content folder → checked documents, or everything that is wrong with them."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import orjson

from shopwindow.content import cache, expressions, listing, rules, site, tree, yaml
from shopwindow.content.case import Case
from shopwindow.content.characters import XML_TEXT, not_xml
from shopwindow.content.documents import Document, Documents, Layer
from shopwindow.content.feeds import FeedReport, Feeds, Unstreamed
from shopwindow.content.kinds import SITE, Kind
from shopwindow.content.layers import Assembly, assemble, origin
from shopwindow.content.listing import Source
from shopwindow.content.processes import Progress
from shopwindow.content.records import MAX_UNPACKED_BYTES
from shopwindow.content.remembered import Remembered
from shopwindow.content.schema import NOTHING, Finding, Schemas
from shopwindow.content.tree import Parsed
from shopwindow.content.written import WrittenLines, of_file
from shopwindow.content.yaml import Json, Malformed
from shopwindow.problems import Place, Pointer, Problem

MAX_PROBLEMS = 1000
"""Problems that are told one by one, unless someone asks for more of them."""


@dataclass
class Checked:
    """The outcome of a check: the documents where nothing is wrong, else the problems, sorted
    by place.

    ``placeholders`` are the values that still say TBD: file, place and pointer; ``sources`` the
    files that were read. ``more``: how many problems there are besides those listed;
    ``at_least``: perhaps even more than that.
    """

    documents: Documents | None
    problems: list[Problem]
    placeholders: list[tuple[str, Place | None, Pointer]] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    more: int = 0
    at_least: bool = False


@dataclass
class CheckOptions:
    """How to check. ``cached``: the file of the parse cache, with the digest of the program
    that wrote it. ``remembered``: what an earlier check of this folder read, instead of the cache.

    ``most``: how many problems are listed one by one. ``unpacked``: bytes that a feed may hold.
    ``problems``: those of `collections.yaml`, and ``unread`` the folders of collections that
    are declared with faults.
    """

    jobs: int | None = None
    progress: Progress | None = None
    cached: Path | None = None
    program: str = ""
    released: Mapping[str, Mapping[Any, Json]] | None = None
    most: int = MAX_PROBLEMS
    unpacked: int = MAX_UNPACKED_BYTES
    problems: Sequence[Problem] = ()
    unread: Sequence[str] = ()
    remembered: Remembered | None = None


class Checkable(Protocol):
    """What a check follows: the kinds of documents, the rules across kinds, who checks streamed
    kinds, and the operations whose responses caches keep.
    """

    @property
    def kinds(self) -> tuple[Kind, ...]: ...

    @property
    def rules(self) -> tuple[Callable[[Case], rules.RuleFindings], ...]: ...

    @property
    def indexes(self) -> tuple[Feeds, ...]: ...

    @property
    def cached(self) -> Collection[str]: ...


def check(
    folder: Path, schemas: Schemas, interface: Checkable, options: CheckOptions | None = None
) -> Checked:
    """Read everything below ``folder`` and report everything that is wrong with it.

    ``interface`` is an Interface, of which only kinds, rules, indexes and what caches keep are
    looked at.
    """
    return _Check(folder, schemas, interface, options or CheckOptions()).run()


class _Check:
    """One run: what has been read, and what has been found so far."""

    def __init__(
        self, folder: Path, schemas: Schemas, interface: Checkable, options: CheckOptions
    ) -> None:
        self.folder, self.schemas, self.interface, self.options = (
            folder,
            schemas,
            interface,
            options,
        )
        self.kinds = {kind.name: kind for kind in (SITE, *interface.kinds)}
        self.sources, self.problems = listing.scan(folder, interface.kinds, self.options.unread)
        self.problems = [*schemas.problems, *self.options.problems, *self.problems]
        self.by_path = {source.path: source for source in self.sources}
        self.findings: list[tuple[Document, Finding]] = []
        self.unreadable: set[str] = set()
        self.unrendered: dict[str, set[Pointer]] = {}
        self.flaws: dict[tuple[str, int | None], list[Finding]] = {}
        self.broken: list[tuple[Document, list[Finding]]] = []
        self.users: dict[str, set[str]] = {}
        self.spots: dict[str, dict[Pointer, yaml.Spot]] = {}
        self.written: dict[str, WrittenLines] = {}

    def run(self) -> Checked:
        own, names = self._site()
        parsed = self._read(names)
        documents = self._documents(own, parsed)
        unknown = frozenset(self.by_path[path].kind.name for path in self.unreadable)
        case = Case(documents, self.interface.kinds, self.broken, unknown)
        self.findings += rules.findings(case, self.interface.rules)
        self.findings += rules.lifetimes(case, self.interface.cached)
        reports = [
            self._streamed(index, documents, names, case) for index in self.interface.indexes
        ]
        self.findings += [finding for report in reports for finding in report.findings]
        if self.options.released is not None:
            self.findings += rules.revised(case, self.options.released)
        placeholders = self._noticed(case)
        self.problems = [
            self._with_users(problem) for problem in self.problems
        ] + self._located()
        found = [
            *self.problems,
            *(problem for report in reports for problem in report.problems),
        ]
        problems = sorted(found, key=Problem.order)
        shown, rest = problems[: self.options.most], problems[self.options.most :]
        more = len(rest) + sum(report.more for report in reports)
        described = [self._described(problem) for problem in shown]
        at_least = any(report.at_least for report in reports)
        return Checked(
            None if shown else documents, described, placeholders, self.sources, more, at_least
        )

    # -- reading -------------------------------------------------------------------------------

    def _site(self) -> tuple[Document, expressions.Names | None]:
        """site.yaml, and the names it gives to the others: what can be had of them, even where
        it has faults.
        """
        source = self.by_path.get("site.yaml")
        nothing = Document("site", {}, ())
        if source is None:
            return nothing, None
        try:
            text = tree.text_of(self.folder, source)
            value, faulty = tree.loaded(text)
        except Malformed as fault:
            self.problems += [
                tree.malformed("site.yaml", each) for each in (fault, *fault.more)
            ]
            return nothing, None
        rendered, _, _ = site.render(value, frozenset())
        document = Document("site", rendered, (Layer("site.yaml", None, rendered),))
        found = self._found(document)
        struck = not_xml(rendered)
        found += [
            Finding("text.xml", where, said, XML_TEXT, on_key=on_key)
            for where, said, on_key in struck
        ]
        self.problems += [tree.malformed("site.yaml", fault) for fault in faulty]
        flaws = self.flaws["site.yaml", None] = [
            Finding(fault.rule, fault.pointer, "") for fault in faulty
        ]
        bad = site.names_at_fault(value, [*found, *flaws])
        _, names, faults = site.render(value, bad or frozenset())
        self.unrendered["site.yaml"] = {unrendered.pointer for unrendered in faults}
        for unrendered in faults:
            why = unrendered.fault
            finding = Finding(
                "expression", unrendered.pointer, why.found, why.allowed, "", why.nearest
            )
            found += [finding] * (not unrendered.reported)
        self.findings += [(document, finding) for finding in found]
        if found or flaws:
            self.broken.append((document, [*found, *flaws]))
        return (nothing if found or flaws else document), (None if bad is None else names)

    def _read(self, names: expressions.Names | None) -> list[Parsed]:
        """Every other file, from the cache where it stands there unchanged."""
        wanted = [
            source
            for source in self.sources
            if source.kind is not SITE and not source.kind.streamed
        ]
        path, remembered = self.options.cached, self.options.remembered
        if names is None or not (path or remembered is not None):
            # without names no expression can be read; the files' YAML still can
            return self._fresh(wanted, names)
        key = sha256(
            orjson.dumps([self.options.program, self.schemas.digest, sorted(names.items())])
        ).hexdigest()
        if remembered is not None:
            return remembered.read(wanted, key, lambda files: self._fresh(files, names))
        assert path is not None  # nosec B101 # for the type checker: one of the two is there
        started = time.time_ns()
        known = cache.load(path, key, wanted)
        with cache.adding(path, key, started, anew=known is None) as keep:
            if not known:
                return self._fresh(wanted, names, keep)
            rest = [source for source in wanted if source.path not in known]
            known.update(
                (parsed.source.path, parsed) for parsed in self._fresh(rest, names, keep)
            )
        return [known[source.path] for source in wanted]

    def _fresh(
        self,
        sources: list[Source],
        names: expressions.Names | None,
        keep: tree.Keep = lambda files: None,
    ) -> list[Parsed]:
        jobs, progress = self.options.jobs, self.options.progress
        return tree.read(self.folder, sources, names, self.schemas, jobs, progress, keep)

    def _streamed(
        self, index: Feeds, documents: Documents, names: expressions.Names | None, case: Case
    ) -> FeedReport:
        """Have an index check its streamed kinds, and keep for the build what it is built from."""
        kinds = {kind.name for kind in index.kinds}
        options = self.options
        beside = Unstreamed(
            self.folder,
            self.schemas,
            names,
            case,
            options.most,
            options.jobs,
            options.progress,
            options.cached and options.cached.with_name(index.name),
            options.program,
            options.unpacked,
        )
        sources = [source for source in self.sources if source.kind.name in kinds]
        value, report = index.check(sources, beside)
        if value is not None:
            documents.feeds[index.name] = value
        return report

    def _documents(self, own: Document, parsed: Iterable[Parsed]) -> Documents:
        """The valid documents; the others' findings are noted."""
        documents = Documents(own)
        layers: dict[str, list[Layer]] = defaultdict(list)
        bases: dict[str, dict[str, Layer]] = defaultdict(dict)
        for file in parsed:
            path, kind = file.source.path, file.source.kind
            self.problems += file.problems
            if file.lost:
                self.unreadable.add(path)
            if file.unrendered:
                self.unrendered[path] = set(file.unrendered)
            if file.flawed:
                self.flaws.update(
                    ((path, number), found) for number, found in file.flaws().items()
                )
            values = file.documents
            if kind.layered:
                self._layers(file, values, layers[kind.name], bases[kind.name])
                continue
            valid = documents.of(kind.name)
            for number, value in enumerate(values):
                layer = Layer(path, number if file.listed else None, value)
                document = Document(kind.name, value, (layer,))
                if file.valid:
                    valid.append(document)
                else:
                    self._sort_out(document, self._found(document), valid)
        for kind in self.interface.kinds:
            if kind.layered:
                self._merged(kind, layers[kind.name], bases[kind.name], documents.of(kind.name))
        return documents

    def _found(self, document: Document) -> list[Finding]:
        """What the schema finds in a document, its numbers as they are written."""

        def written(pointer: Pointer) -> str | None:
            layer, at = origin(document, Finding("", pointer, ""))
            return self._written(layer.path).number(
                at if layer.index is None else (layer.index, *at)
            )

        return self.schemas.findings(
            self.kinds[document.kind].schema, document.value, written=written
        )

    def _sort_out(
        self, document: Document, found: list[Finding], valid: list[Document]
    ) -> None:
        """A document goes to the valid ones, or with its findings to the broken ones."""
        self.findings += [(document, finding) for finding in found]
        if unsound := [*found, *self._flaws(document)]:
            self.broken.append((document, unsound))
        else:
            valid.append(document)

    def _flaws(self, document: Document) -> list[Finding]:
        """Where the YAML of a document's layers has faults."""
        return [
            flaw
            for layer in document.layers
            for flaw in self.flaws.get((layer.path, layer.index), ())
        ]

    def _merged(
        self, kind: Kind, layers: list[Layer], bases: dict[str, Layer], valid: list[Document]
    ) -> None:
        """Merge the documents of a layered kind with their bases and check them, and each base
        alone.

        Of a base, and where one is lacking, nothing is reported as missing: what builds on it
        may have it.
        """
        unreadable = frozenset(
            path for path in self.unreadable if self.by_path[path].kind.name == kind.name
        )
        assembly = assemble(kind.name, layers, bases, unreadable)
        for path, users in assembly.users.items():
            self.users[path] = users
        self.findings += [
            (Document(kind.name, layer.value, (layer,)), finding)
            for layer, finding in assembly.findings
        ]
        for document in assembly.documents:
            self._sort_out(document, self._found(document), valid)
        for document in assembly.partial:
            found = self._found(document)
            self._say(document, found, assembly)
            self.broken.append((document, [*found, *self._flaws(document)]))
        for document, whole in assembly.bases:
            if not self.schemas.valid(
                kind.schema, whole
            ):  # explaining is slow, and a base alone is never whole
                self._say(document, self._found(document), assembly)

    def _say(self, document: Document, found: list[Finding], assembly: Assembly) -> None:
        """What is found in a document that is not whole, but for what is missing and what
        `extends` was told of.
        """
        told = {
            finding.pointer
            for layer, finding in assembly.findings
            if layer is document.layers[-1]
        }
        self.findings += [
            (document, finding)
            for finding in found
            if finding.missing is None
            and not (finding.pointer == ("extends",) and ("extends",) in told)
        ]

    def _layers(
        self, file: Parsed, values: list[Json], layers: list[Layer], bases: dict[str, Layer]
    ) -> None:
        """Take in the layers of one file of a layered kind: a base, or documents."""
        path = file.source.path
        if file.source.is_base and file.lost:
            return
        if file.source.is_base and (file.listed or not isinstance(values[0], dict)):
            start = Place(1, 1, 1, 2)
            self.problems.append(
                Problem(
                    "extends.base",
                    path,
                    "a base that is no object",
                    start,
                    allowed="one object",
                )
            )
            self.unreadable.add(path)
        elif file.source.is_base:
            bases[path] = Layer(path, None, values[0])
        else:
            layers += [
                Layer(path, number if file.listed else None, value)
                for number, value in enumerate(values)
            ]

    # -- where it is ---------------------------------------------------------------------------

    def _located(self) -> list[Problem]:
        """The findings as problems, each once, at their places; a base's with the files that
        build on it.
        """
        by_file: dict[str, list[tuple[Document, Layer, Pointer, Finding]]] = defaultdict(list)
        for document, finding in self.findings:
            layer, pointer = origin(document, finding)
            by_file[layer.path].append((document, layer, pointer, finding))
        problems: dict[Problem, set[str]] = defaultdict(set)
        for path, entries in by_file.items():
            spots = self._spots(path)
            for document, layer, pointer, finding in entries:
                whole = pointer if layer.index is None else (layer.index, *pointer)
                if whole in self.unrendered.get(path, ()) and finding.rule != "expression":
                    continue
                if any(tree.follows(finding.pointer, flaw) for flaw in self._flaws(document)):
                    continue
                spot = yaml.spot(spots, whole)
                place = (
                    (spot.key if finding.on_key and spot.key else spot.value) if spot else None
                )
                shown = (
                    finding.pointer if layer.index is None else (layer.index, *finding.pointer)
                )
                found = finding.found + self._line(finding)
                if found == NOTHING and expressions.EXPRESSION_START in self._written(
                    path
                ).text(whole):
                    found = "the expression gives nothing"
                problem = Problem(
                    finding.rule,
                    path,
                    found,
                    place,
                    shown,
                    finding.allowed,
                    finding.about,
                    finding.nearest,
                )
                problems[problem] |= {document.layers[-1].path} - {path}
        return [
            replace(problem, used_by=tuple(sorted(users)))
            if users
            else self._with_users(problem)
            for problem, users in problems.items()
        ]

    def _noticed(self, case: Case) -> list[tuple[str, Place | None, Pointer]]:
        """Return where the kinds' notices point at, each place once, in the file that says so."""
        said = [origin(document, finding) for document, finding in rules.noticed(case)]
        whole = [
            (layer.path, where if layer.index is None else (layer.index, *where))
            for layer, where in said
        ]
        spots = [(path, at, self._spots(path).get(at)) for path, at in dict.fromkeys(whole)]
        return [(path, spot.value if spot else None, at) for path, at, spot in spots]

    def _with_users(self, problem: Problem) -> Problem:
        """What is wrong with a base itself concerns every file that builds on it."""
        return replace(
            problem, used_by=tuple(sorted(self.users.get(problem.path, set()) - {problem.path}))
        )

    def _described(self, problem: Problem) -> Problem:
        """With what the schema says of the property, where the finding does not say it itself."""
        source, pointer = self.by_path.get(problem.path), problem.pointer
        if problem.about or source is None:
            return problem
        in_document = pointer[1:] if pointer and isinstance(pointer[0], int) else pointer
        return replace(problem, about=self.schemas.about(source.kind.schema, in_document))

    def _line(self, finding: Finding) -> str:
        """The line of the other place that a finding names, as it is written after its file."""
        if finding.beside is None:
            return ""
        path, index, pointer = finding.beside
        spot = self._spots(path).get(pointer if index is None else (index, *pointer))
        return f":{spot.value.line}" if spot else ""

    def _spots(self, path: str) -> dict[Pointer, yaml.Spot]:
        if path not in self.spots:
            try:
                self.spots[path] = tree.spots_of(self.folder, self.by_path[path])
            except (Malformed, OSError):  # changed since it was read
                self.spots[path] = {}
        return self.spots[path]

    def _written(self, path: str) -> WrittenLines:
        if path not in self.written:
            self.written[path] = of_file(self.folder, self.by_path[path], self._spots(path))
        return self.written[path]
