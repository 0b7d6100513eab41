"""A content folder → checked documents, or everything that is wrong with them."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from vitrine.content import cache, expressions, listing, rules, site, tree, yaml
from vitrine.content.case import Case
from vitrine.content.characters import XML_TEXT, not_xml
from vitrine.content.layers import Assembly, assemble, origin
from vitrine.content.listing import CATALOG, KINDS, SITE, Source
from vitrine.content.model import Document, Documents, Layer
from vitrine.content.processes import Progress
from vitrine.content.schema import NOTHING, Finding, Schemas
from vitrine.content.tree import Parsed
from vitrine.content.written import Written, of_file
from vitrine.content.yaml import Json, Malformed
from vitrine.problems import Place, Pointer, Problem

if TYPE_CHECKING:
    from vitrine.content.catalog_entries import Told

_KINDS, _CATALOG = frozenset(KINDS), frozenset(CATALOG)  # in which one of ten thousand files is found sooner
MOST = 1000
"""Problems that are told one by one, unless someone asks for more of them."""


@dataclass
class Checked:
    """The outcome of a check: the documents where nothing is wrong, else the problems, sorted by place.

    ``placeholders`` are the values that still say TBD: file, place and pointer; ``sources`` the files that were read.
    ``more``: how many problems there are besides those listed; ``at_least``: perhaps even more than that.
    """

    documents: Documents | None
    problems: list[Problem]
    placeholders: list[tuple[str, Place | None, Pointer]] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    more: int = 0
    at_least: bool = False


Scanned = tuple[list[Source], list[Problem]]
"""What `listing.scan` says of a folder."""


@dataclass
class Options:
    """How to check. ``cached``: the file of the parse cache, with the digest of the program that wrote it.

    ``scanned`` gives what `listing.scan` says of the folder, where somebody asked it already. ``most``: how many
    problems are told one by one. ``meanwhile`` is called once with the files, while other processes read
    them.
    """

    jobs: int | None = None
    progress: Progress | None = None
    cached: Path | None = None
    program: str = ""
    released: Mapping[str, Json] | None = None
    scanned: Callable[[], Scanned] | None = None
    most: int = MOST
    meanwhile: Callable[[list[Source]], object] = lambda sources: None


def check(folder: Path, schemas: Schemas, options: Options | None = None) -> Checked:
    """Read everything below ``folder`` and say everything that is wrong with it."""
    return _Check(folder, schemas, options or Options()).run()


class _Check:
    """One run: what has been read, and what has been found so far."""

    def __init__(self, folder: Path, schemas: Schemas, options: Options) -> None:
        self.folder, self.schemas, self.options = folder, schemas, options
        schemas.validator(SITE.schema)  # which imports a library, as the next line does: there is time for that now,
        yaml.libyaml()  # while another process lists the folder
        self.sources, self.problems = options.scanned() if options.scanned else listing.scan(folder)
        self.by_path = {source.path: source for source in self.sources}
        self.findings: list[tuple[Document, Finding]] = []
        self.unreadable: set[str] = set()
        self.unrendered: dict[str, set[Pointer]] = {}
        self.flaws: dict[tuple[str, int | None], list[Finding]] = {}
        self.broken: list[tuple[Document, list[Finding]]] = []
        self.users: Mapping[str, set[str]] = {}
        self.spots: dict[str, dict[Pointer, yaml.Spot]] = {}
        self.written: dict[str, Written] = {}

    def run(self) -> Checked:
        own, names = self._site()
        parsed = self._read(names)
        documents = self._documents(own, parsed)
        unknown = frozenset(self.by_path[path].kind.name for path in self.unreadable)
        case = Case(documents, self.broken, unknown)
        self.findings += rules.findings(case)
        told = self._catalog(documents, names, case)
        self.findings += told.findings
        placeholders = self._placeholders(documents)
        if self.options.released is not None:
            self.findings += rules.unbumped(case, self.options.released)
        self.problems = [self._with_users(problem) for problem in self.problems] + self._located()
        problems = sorted([*self.problems, *told.problems], key=Problem.order)
        shown, more = problems[: self.options.most], told.more + len(problems[self.options.most :])
        shown = [self._described(problem) for problem in shown]
        return Checked(None if shown else documents, shown, placeholders, self.sources, more, told.at_least)

    # -- reading ---------------------------------------------------------------------------------------------

    def _site(self) -> tuple[Document, expressions.Names | None]:
        """site.yaml, and the names it gives to the others: what can be had of them, even where it has faults."""
        source = self.by_path.get("site.yaml")
        nothing = Document("site", {}, ())
        if source is None:
            return nothing, None
        try:
            text = tree.text_of(self.folder, source)
            value, faulty = tree.loaded(text)
        except Malformed as fault:
            self.problems += [tree.malformed("site.yaml", each) for each in (fault, *fault.more)]
            return nothing, None
        rendered, _, _ = site.render(value, frozenset())
        document = Document("site", rendered, (Layer("site.yaml", None, rendered),))
        found = self._found(document)
        struck = not_xml(rendered)
        found += [Finding("text.xml", where, said, XML_TEXT, on_key=on_key) for where, said, on_key in struck]
        self.problems += [tree.malformed("site.yaml", fault) for fault in faulty]
        flaws = self.flaws["site.yaml", None] = [Finding(fault.rule, fault.pointer, "") for fault in faulty]
        bad = site.names_at_fault(value, [*found, *flaws])
        _, names, faults = site.render(value, bad or frozenset())
        self.unrendered["site.yaml"] = {unrendered.pointer for unrendered in faults}
        for unrendered in faults:
            why = unrendered.fault
            finding = Finding("expression", unrendered.pointer, why.found, why.allowed, "", why.nearest)
            found += [finding] * (not unrendered.told)
        self.findings += [(document, finding) for finding in found]
        if found or flaws:
            self.broken.append((document, [*found, *flaws]))
        return (nothing if found or flaws else document), (None if bad is None else names)

    def _read(self, names: expressions.Names | None) -> list[Parsed]:
        """Every other file, from the cache where it stands there unchanged."""
        wanted = [source for source in self.sources if source.kind in _KINDS]
        path = self.options.cached
        if names is None or path is None:  # without names no expression can be read; the files' YAML still can
            return self._fresh(wanted, names)
        key = sha256(orjson.dumps([self.options.program, self.schemas.digest, sorted(names.items())])).hexdigest()
        started = time.time_ns()
        known = cache.load(path, key, wanted)
        with cache.adding(path, key, started, anew=known is None) as keep:
            if not known:
                return self._fresh(wanted, names, keep)
            rest = [source for source in wanted if source.path not in known]
            known.update((parsed.source.path, parsed) for parsed in self._fresh(rest, names, keep))
        return [known[source.path] for source in wanted]

    def _fresh(
        self, sources: list[Source], names: expressions.Names | None, keep: cache.Keep = lambda files: None
    ) -> list[Parsed]:
        jobs, progress = self.options.jobs, self.options.progress

        def meanwhile() -> None:
            import vitrine.content.catalog  # noqa: F401  # which takes its time, and is needed later

            self.options.meanwhile(self.sources)

        return tree.read(self.folder, sources, names, self.schemas, jobs, progress, meanwhile, keep)

    def _catalog(self, documents: Documents, names: expressions.Names | None, case: Case) -> "Told":
        """The catalog, if there is one, goes to the documents; everything that is wrong with it."""
        from vitrine.content import catalog
        from vitrine.content.catalog_entries import Around

        options = self.options
        around = Around(
            self.folder,
            self.schemas,
            names,
            case,
            options.most,
            options.jobs,
            options.progress,
            options.cached and options.cached.with_name("catalog"),
            options.program,
        )
        documents.catalog, told = catalog.check([source for source in self.sources if source.kind in _CATALOG], around)
        return told

    def _documents(self, own: Document, parsed: Iterable[Parsed]) -> Documents:
        """The valid documents; the others' findings are noted."""
        documents = Documents(own)
        layers: list[Layer] = []
        bases: dict[str, Layer] = {}
        for file in parsed:
            path, kind = file.source.path, file.source.kind
            self.problems += file.problems
            if file.lost:
                self.unreadable.add(path)
            if file.unrendered:
                self.unrendered[path] = set(file.unrendered)
            if file.flawed:
                self.flaws.update(((path, number), found) for number, found in file.flaws().items())
            values = file.documents
            if kind.name == "app":
                self._application_layers(file, values, layers, bases)
                continue
            valid = getattr(documents, kind.name)
            for number, value in enumerate(values):
                layer = Layer(path, number if file.listed else None, value)
                document = Document(kind.name, value, (layer,), file.text if kind.shown else None)
                if file.valid:
                    valid.append(document)
                else:
                    self._sort_out(document, self._found(document), valid)
        self._applications(layers, bases, documents.app)
        return documents

    def _found(self, document: Document) -> list[Finding]:
        """What the schema finds in a document, its numbers as they are written."""

        def written(pointer: Pointer) -> str | None:
            layer, at = origin(document, Finding("", pointer, ""))
            return self._written(layer.path).number(at if layer.index is None else (layer.index, *at))

        return self.schemas.findings(f"{document.kind}.json", document.value, written=written)

    def _sort_out(self, document: Document, found: list[Finding], valid: list[Document]) -> None:
        """A document goes to the valid ones, or with its findings to the broken ones."""
        self.findings += [(document, finding) for finding in found]
        if unsound := [*found, *self._flaws(document)]:
            self.broken.append((document, unsound))
        else:
            valid.append(document)

    def _flaws(self, document: Document) -> list[Finding]:
        """Where the YAML of a document's layers has faults."""
        return [flaw for layer in document.layers for flaw in self.flaws.get((layer.path, layer.index), ())]

    def _applications(self, layers: list[Layer], bases: dict[str, Layer], valid: list[Document]) -> None:
        """The applications put together and checked, and each base alone.

        Of a base, and where one is lacking, nothing is said of what is missing.
        """
        unreadable = frozenset(path for path in self.unreadable if self.by_path[path].kind.name == "app")
        assembly = assemble(layers, bases, unreadable)
        self.users = assembly.users
        self.findings += [(Document("app", layer.value, (layer,)), finding) for layer, finding in assembly.findings]
        for document in assembly.documents:
            self._sort_out(document, self._found(document), valid)
        for document in assembly.partial:
            found = self._found(document)
            self._say(document, found, assembly)
            self.broken.append((document, [*found, *self._flaws(document)]))
        for document, whole in assembly.bases:
            if not self.schemas.valid("app.json", whole):  # it always lacks something, and to say what takes its time
                self._say(document, self._found(document), assembly)

    def _say(self, document: Document, found: list[Finding], assembly: Assembly) -> None:
        """What is found in a document that is not whole, but for what is missing and what `extends` was told of."""
        told = {finding.pointer for layer, finding in assembly.findings if layer is document.layers[-1]}
        self.findings += [
            (document, finding)
            for finding in found
            if finding.missing is None and not (finding.pointer == ("extends",) and ("extends",) in told)
        ]

    def _application_layers(
        self, file: Parsed, values: list[Json], layers: list[Layer], bases: dict[str, Layer]
    ) -> None:
        path = file.source.path
        if file.source.is_base and file.lost:
            return
        if file.source.is_base and (file.listed or not isinstance(values[0], dict)):
            start = Place(1, 1, 1, 2)
            self.problems.append(Problem("extends.base", path, "a base that is no object", start, allowed="one object"))
            self.unreadable.add(path)
        elif file.source.is_base:
            bases[path] = Layer(path, None, values[0])
        else:
            layers += [Layer(path, number if file.listed else None, value) for number, value in enumerate(values)]

    # -- where it is -----------------------------------------------------------------------------------------

    def _located(self) -> list[Problem]:
        """The findings as problems, each once, at their places; a base's with the files that build on it."""
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
                place = (spot.key if finding.on_key and spot.key else spot.value) if spot else None
                shown = finding.pointer if layer.index is None else (layer.index, *finding.pointer)
                found = finding.found + self._line(finding)
                if found == NOTHING and expressions.OPENING in self._written(path).text(whole):
                    found = "the expression gives nothing"
                problem = Problem(
                    finding.rule, path, found, place, shown, finding.allowed, finding.about, finding.nearest
                )
                problems[problem] |= {document.layers[-1].path} - {path}
        return [
            replace(problem, used_by=tuple(sorted(users))) if users else self._with_users(problem)
            for problem, users in problems.items()
        ]

    def _placeholders(self, documents: Documents) -> list[tuple[str, Place | None, Pointer]]:
        """The values that still say TBD, each once, in the file that says so."""
        said = [origin(document, Finding("TBD", where, "")) for document, where in rules.placeholders(documents)]
        whole = [(layer.path, where if layer.index is None else (layer.index, *where)) for layer, where in said]
        spots = [(path, at, self._spots(path).get(at)) for path, at in dict.fromkeys(whole)]
        return [(path, spot.value if spot else None, at) for path, at, spot in spots]

    def _with_users(self, problem: Problem) -> Problem:
        """What is wrong with a base itself concerns every file that builds on it."""
        return replace(problem, used_by=tuple(sorted(self.users.get(problem.path, set()) - {problem.path})))

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

    def _written(self, path: str) -> Written:
        if path not in self.written:
            self.written[path] = of_file(self.folder, self.by_path[path], self._spots(path))
        return self.written[path]
