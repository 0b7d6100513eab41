"""A content folder → checked documents, or everything that is wrong with them.

1. The folder is listed; files that no kind claims are problems (`listing`).
2. site.yaml is read first, since its names stand in the expressions of the others
   (`site`).
3. Several processes read the other files and check each document by itself (`tree`).
4. Layered documents are merged with their bases, and checked then (`layers`).
5. Groups and other forms that stand for something become what they mean (`resolving`).
6. Rules look at all documents together, and indexes at the streamed ones (`rules`,
   `feeds`).
7. What was found is traced to places in files, sorted and described (`locating`).

A fault never ends the check. It goes on with what is sound, so that an editor sees all
problems at once, and leaves out what would only follow from a problem that is reported
already. Four words keep these apart:

- A finding is something wrong at a value of a document. Several may become one problem.
- A problem is what the editor reads: something wrong at a place of a file. A warning
  has the same form, and leaves the documents as sound as they are.
- A flaw is where the YAML of a file is at fault, though its other values could be read.
  It is a problem already, so findings at the same value are left out.
- A broken document has a finding or a flaw. Rules do not see it among the valid ones.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import orjson

from shopwindow.content import (
    cache,
    expressions,
    gone,
    lines,
    listing,
    open_maps,
    rules,
    schedule,
    site,
    slips,
    tree,
)
from shopwindow.content.allowances import AllowComment, allowances, unsilenced
from shopwindow.content.case import Case
from shopwindow.content.characters import XML_TEXT, not_xml
from shopwindow.content.documents import Document, Documents, Layer
from shopwindow.content.executor import Executor, Processes
from shopwindow.content.feeds import FeedReport, Feeds, Unstreamed
from shopwindow.content.finding import Finding
from shopwindow.content.kinds import SITE, Kind
from shopwindow.content.layers import Assembly, Forgotten, assemble, origin
from shopwindow.content.listing import Source
from shopwindow.content.locating import Locator
from shopwindow.content.open_maps import near_names
from shopwindow.content.processes import Progress
from shopwindow.content.records import MAX_UNPACKED_BYTES
from shopwindow.content.remembered import RememberedFiles
from shopwindow.content.resolving import resolved
from shopwindow.content.schema import Schemas
from shopwindow.content.tree import Parsed
from shopwindow.content.yaml import Json, Malformed
from shopwindow.problems import Absent, Level, Place, Pointer, Problem

MAX_PROBLEMS = 1000
"""Problems that are listed one by one, unless an option asks for more. Nobody reads
more of them, and one mistake in a feed can be a million problems.
"""


@dataclass
class Checked:
    """The outcome of a check.

    ``documents``: None where there is a problem. ``problems``: sorted by place.
    ``placeholders``: file, place and pointer of values that still say TBD. ``sources``:
    the files that were read. ``more``: how many problems there are besides those
    listed; ``at_least``: there may be even more than that. ``warnings``: sorted by
    place, each a Problem of that level; ``more_warnings``: how many are not listed.
    """

    documents: Documents | None
    problems: list[Problem]
    placeholders: list[tuple[str, Place | None, Pointer]] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    more: int = 0
    at_least: bool = False
    warnings: list[Problem] = field(default_factory=list)
    more_warnings: int = 0


@dataclass
class CheckOptions:
    """How to check.

    ``jobs``: how many processes share the work; None: one a processor. ``executor``:
    who shares the work on the streamed kinds; None: these processes. ``cached``: the
    file of the parse cache; ``program``: the digest of this program, without which the
    cache is void. ``remembered``: what an earlier check of this folder has read, used
    instead of the cache. ``released``: kind → identity → document of a release to
    compare with; None: of none. ``most``: how many problems are listed one by one.
    ``unpacked``: bytes that a compressed feed may hold. ``unsaved``: path → bytes that
    a YAML file would hold if they were written. ``problems``: those of
    `collections.yaml`; ``unread``: the folders of collections that are declared with
    faults. ``at``: the instant at which a window counts as past, as
    `schedule.moment_of` reads it.
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
    remembered: RememberedFiles | None = None
    unsaved: Mapping[str, bytes] = field(default_factory=dict)
    at: str | None = None
    executor: Executor | None = None


class Checkable(Protocol):
    """What a check needs of an Interface.

    ``rules``: those across kinds; ``warnings``: rules that warn. ``indexes``: they
    check the streamed kinds.
    ``cached``: the names of the operations that site.yaml's `lifetimes` may name.
    """

    @property
    def kinds(self) -> tuple[Kind, ...]: ...

    @property
    def warnings(self) -> tuple[Callable[[Case], rules.RuleFindings], ...]: ...

    @property
    def rules(self) -> tuple[Callable[[Case], rules.RuleFindings], ...]: ...

    @property
    def indexes(self) -> tuple[Feeds, ...]: ...

    @property
    def cached(self) -> Collection[str]: ...


def check(
    folder: Path,
    schemas: Schemas,
    interface: Checkable,
    options: CheckOptions | None = None,
) -> Checked:
    """Read everything below ``folder``, and return its documents or all that is wrong
    with it.

    ``interface`` is an Interface; a Checkable is what a check needs of it.
    """
    return _Check(folder, schemas, interface, options or CheckOptions()).run()


class _Check:
    """One check: what has been read, and what has been found, so far."""

    def __init__(
        self,
        folder: Path,
        schemas: Schemas,
        interface: Checkable,
        options: CheckOptions,
    ) -> None:
        self.folder = folder
        self.schemas = schemas
        self.interface = interface
        self.options = options
        self.kinds = {kind.name: kind for kind in (SITE, *interface.kinds)}
        listed, unusable = listing.scan(folder, interface.kinds, options.unread)
        self.sources = [
            source.with_unsaved(options.unsaved[source.path])
            if source.path in options.unsaved
            else source
            for source in listed
        ]
        self.problems = [*schemas.problems, *options.problems, *unusable]
        self.by_path = {source.path: source for source in self.sources}
        self.locator = Locator(folder, self.sources, schemas)
        self.findings: list[tuple[Document, Finding]] = []
        # Paths of files of which documents are missing: nothing may be concluded from
        # the absence of a document of their kinds.
        self.unreadable: set[str] = set()
        # Slips in texts, and by path the comments that silence warnings.
        self.slips: list[Problem] = []
        self.allowed: dict[str, list[AllowComment]] = {}
        # Documents with their findings and flaws.
        self.broken: list[tuple[Document, list[Finding]]] = []

    def run(self) -> Checked:
        site_document, names = self._site()
        documents = self._documents(site_document, self._read(names))
        incomplete = frozenset(self.by_path[path].kind.name for path in self.unreadable)
        read = Case(documents, self.interface.kinds, self.broken, incomplete)
        case = resolved(read)
        documents = case.documents

        self.findings += rules.findings(case, self.interface.rules)
        self.findings += rules.lifetimes(case, self.interface.cached)
        reports = [
            self._streamed(index, documents, names, case)
            for index in self.interface.indexes
        ]
        for report in reports:
            self.findings += report.findings
        problems = [
            *map(self.locator.with_users, self.problems),
            *self.locator.problems(self.findings),
            *(problem for report in reports for problem in report.problems),
            *(
                problem
                for report in reports
                for problem in lines.problems_of(report.groups.values())
            ),
        ]
        feeds = {
            path: source.kind.name
            for path, source in self.by_path.items()
            if path.endswith(".jsonl") and not source.kind.streamed
        }
        problems = lines.grouped(problems, feeds)
        problems, unlisted = self._grouped(problems, reports, case)
        problems.sort(key=Problem.order)
        listed = problems[: self.options.most]
        warnings = self._warnings(case, reports, is_sound=not problems)
        return Checked(
            documents=None if listed else documents,
            problems=[self.locator.described(problem) for problem in listed],
            placeholders=self.locator.placeholders(case),
            sources=self.sources,
            more=len(problems)
            - len(listed)
            + unlisted
            + sum(report.more for report in reports),
            at_least=any(report.at_least for report in reports),
            warnings=[
                self.locator.described(warning)
                for warning in warnings[: self.options.most]
            ],
            more_warnings=max(0, len(warnings) - self.options.most),
        )

    def _warnings(
        self, case: Case, reports: Iterable[FeedReport], *, is_sound: bool
    ) -> list[Problem]:
        """Return what is probably a mistake and stops nothing, sorted by place.

        ``is_sound``: there are no problems. Where there are, rules leave out parts of
        documents, and comments may seem to silence nothing.
        """
        findings = list(
            rules.warnings(case, self._moment(case), self.interface.warnings)
        )
        findings += near_names(case, self.schemas)
        if self.options.released is not None:
            findings += rules.revised(case, self.options.released)
        for report in reports:
            findings += report.warnings
        warnings = [
            *map(self.locator.with_users, self.slips),
            *self.locator.problems(findings, Level.WARNING),
        ]
        lasting = (*slips.RULES, open_maps.NEAR_NAME) if is_sound else ()
        left = unsilenced(warnings, self.allowed, lasting)
        return sorted(left, key=Problem.order)

    def _moment(self, case: Case) -> datetime | None:
        """Return the instant of this check; None where there is no time zone to read it
        in.
        """
        return schedule.moment_of(self.options.at, case.zone) if case.zone else None

    def _grouped(
        self, problems: list[Problem], reports: Sequence[FeedReport], case: Case
    ) -> tuple[list[Problem], int]:
        """Return the problems with what is named and absent as one each, and how many
        are not listed.
        """
        unlisted: Counter[tuple[Absent, str]] = Counter()
        for report in reports:
            unlisted.update(report.unlisted)
        if not any(problem.absent for problem in problems):
            return problems, unlisted.total()
        kinds = [kind for kind in self.interface.kinds if not kind.streamed]
        former = [
            *gone.of_release(self.options.released or {}, kinds),
            *gone.of_last_commit(self.folder, self.interface.kinds),
        ]
        present = {
            (kind.name, id, str(document.value.get(id)))
            for kind in kinds
            for document in case.having(kind.name)
            if isinstance(document.value, dict)
            for id in kind.ids
        }
        missed = {problem.absent for problem in problems}
        deleted = [
            was
            for was in former
            if (
                # Which streamed documents there are, only their index's check knows.
                missed.intersection(was.identities())
                if was.kind.streamed
                else present.isdisjoint(was.absent())
            )
        ]
        return gone.grouped(problems, unlisted, deleted, self.by_path)

    # -- reading -----------------------------------------------------------------------

    def _site(self) -> tuple[Document, expressions.Names | None]:
        """Return the document of site.yaml, and the names that other files may use.

        Where the file has faults, the document is empty, and the names are those that
        have no part in the faults. The names are None where the faults hide which names
        there are.
        """
        source = self.by_path.get("site.yaml")
        empty = Document("site", {}, ())
        if source is None:
            return empty, None
        try:
            file_text = tree.text_of(self.folder, source)
            value, yaml_faults = tree.loaded(file_text)
        except Malformed as first:
            faults = (first, *first.more)
            self.problems += [tree.malformed("site.yaml", fault) for fault in faults]
            return empty, None

        self.allowed["site.yaml"] = allowances(file_text)
        if not yaml_faults:
            self.slips += tree.slips_in("site.yaml", file_text)
        # The first rendering serves to find the faults.
        rendered, _, _ = site.render(value, frozenset())
        document = Document("site", rendered, (Layer("site.yaml", None, rendered),))
        findings = self._explained(document)
        findings += [
            Finding("text.xml", pointer, found, XML_TEXT, on_key=on_key)
            for pointer, found, on_key in not_xml(rendered)
        ]
        self.problems += [tree.malformed("site.yaml", fault) for fault in yaml_faults]
        flaws = [Finding(fault.rule, fault.pointer, "") for fault in yaml_faults]
        self.locator.flaws["site.yaml", None] = flaws

        # The second one leaves out the names that are at fault, and so shows which
        # texts cannot be rendered because they use such a name.
        bad_names = site.names_at_fault(value, [*findings, *flaws])
        _, names, unrendered = site.render(value, bad_names or frozenset())
        self.locator.unrendered["site.yaml"] = {text.pointer for text in unrendered}
        for text in unrendered:
            fault = text.fault
            # Where nobody knows the names, an unknown one is no mistake.
            unknowable = bad_names is None and fault.absent
            if not text.reported and not unknowable:
                findings.append(
                    Finding(
                        "expression",
                        text.pointer,
                        fault.found,
                        fault.allowed,
                        "",
                        fault.nearest,
                        absent=fault.absent,
                    )
                )
        self.findings += [(document, finding) for finding in findings]
        if findings or flaws:
            self.broken.append((document, [*findings, *flaws]))
            document = empty
        else:
            document = Document("site", site.completed(rendered), document.layers)
        return document, None if bad_names is None else names

    def _read(self, names: expressions.Names | None) -> list[Parsed]:
        """Read every other file, or take it from what an earlier check has stored.

        A stored file is valid for one program, one set of schemas and one set of names;
        ``key`` stands for these. Without names no expression can be evaluated, so
        nothing is stored then; the files' YAML is still checked.
        """
        sources = [
            source
            for source in self.sources
            if source.kind is not SITE and not source.kind.streamed
        ]
        path, remembered = self.options.cached, self.options.remembered
        if names is None:
            return self._read_files(sources, names)
        state = [self.options.program, self.schemas.digest, sorted(names.items())]
        key = sha256(orjson.dumps(state)).hexdigest()
        if remembered is not None:
            return remembered.read(
                sources, key, lambda files: self._read_files(files, names)
            )
        if path is None:
            return self._read_files(sources, names)

        started = time.time_ns()
        cached = cache.load(path, key, sources)
        with cache.adding(path, key, started, new_file=cached is None) as store:
            if not cached:
                return self._read_files(sources, names, store)
            changed = [source for source in sources if source.path not in cached]
            for parsed in self._read_files(changed, names, store):
                cached[parsed.source.path] = parsed
        return [cached[source.path] for source in sources]

    def _read_files(
        self,
        sources: list[Source],
        names: expressions.Names | None,
        store: tree.StoreFiles = lambda files: None,
    ) -> list[Parsed]:
        jobs, progress = self.options.jobs, self.options.progress
        return tree.read(
            self.folder, sources, names, self.schemas, jobs, progress, store
        )

    def _streamed(
        self,
        index: Feeds,
        documents: Documents,
        names: expressions.Names | None,
        case: Case,
    ) -> FeedReport:
        """Let an index check its streamed kinds, and return its report.

        Where it can be built, its feeds are added to the documents.
        """
        kinds = {kind.name for kind in index.kinds}
        options = self.options
        beside = Unstreamed(
            self.folder,
            self.schemas,
            names,
            case,
            options.most,
            options.executor or Processes(options.jobs),
            options.progress,
            options.cached and options.cached.with_name(index.name),
            options.program,
            options.unpacked,
        )
        sources = [source for source in self.sources if source.kind.name in kinds]
        feeds, report = index.check(sources, beside)
        if feeds is not None:
            documents.feeds[index.name] = feeds
        return report

    # -- documents ---------------------------------------------------------------------

    def _documents(
        self, site_document: Document, parsed: Iterable[Parsed]
    ) -> Documents:
        """Return the valid documents, and add the others to ``broken``.

        Layered documents come last: they need the bases of all files.
        """
        documents = Documents(site_document)
        layers: dict[str, list[Layer]] = defaultdict(list)
        bases: dict[str, dict[str, Layer]] = defaultdict(dict)
        for file in parsed:
            path, kind = file.source.path, file.source.kind
            self.problems += file.problems
            self.slips += file.warnings
            if file.allowed:
                self.allowed[path] = file.allowed
            if file.lost:
                self.unreadable.add(path)
            if file.unrendered:
                self.locator.unrendered[path] = set(file.unrendered)
            for number, flaws in file.flaws().items():
                self.locator.flaws[path, number] = flaws

            if file.source.is_base:
                self._add_base(file, bases[kind.name])
                continue
            for number, value in enumerate(file.documents):
                layer = Layer(path, number if file.listed else None, value)
                if kind.layered:
                    layers[kind.name].append(layer)
                    continue
                valid = documents.of(kind.name)
                document = Document(kind.name, value, (layer,))
                if file.valid:
                    valid.append(document)
                else:
                    self._sort_out(document, self._explained(document), valid)
        for kind in self.interface.kinds:
            if kind.layered:
                self._merge(
                    kind, layers[kind.name], bases[kind.name], documents.of(kind.name)
                )
        return documents

    def _add_base(self, file: Parsed, bases: dict[str, Layer]) -> None:
        """Add the base that a file holds, by its path. A base must be one object."""
        path = file.source.path
        if file.lost:
            return
        if not file.listed and isinstance(file.documents[0], dict):
            bases[path] = Layer(path, None, file.documents[0])
            return
        found, start = "a base that is no object", Place(1, 1, 1, 2)
        self.problems.append(
            Problem("extends.base", path, found, start, allowed="one object")
        )
        self.unreadable.add(path)

    def _explained(self, document: Document) -> list[Finding]:
        """Return what the schema finds in a document.

        Messages repeat numbers as the editor wrote them: 7.10, where the value is 7.1.
        """

        def written(pointer: Pointer) -> str | None:
            layer, at = origin(document, Finding("", pointer, ""))
            in_file = at if layer.index is None else (layer.index, *at)
            return self.locator.written(layer.path).number(in_file)

        schema = self.kinds[document.kind].schema
        return self.schemas.findings(schema, document.value, written=written)

    def _sort_out(
        self, document: Document, findings: list[Finding], valid: list[Document]
    ) -> None:
        """Add a document to the valid ones, or with what is wrong to the broken ones."""
        if len(findings) > 1 and len(document.layers) == 1:
            findings = self._of_another_kind(document, findings)
        self.findings += [(document, finding) for finding in findings]
        wrong = [*findings, *self.locator.flaws_of(document)]
        if wrong:
            self.broken.append((document, wrong))
        else:
            valid.append(document)

    def _of_another_kind(
        self, document: Document, findings: list[Finding]
    ) -> list[Finding]:
        """Return the findings in a document, or one where it stands in the folder of
        another kind.
        """
        mine = self.kinds[document.kind]
        for kind in self.interface.kinds:
            is_other = kind.schema != mine.schema and kind.name != mine.name
            if is_other and self.schemas.valid(kind.schema, document.value):
                found = f"this is a document of the kind {kind.name}"
                allowed = f"the kind {mine.name} below {mine.folder}/"
                wrong = Finding(
                    "tree.kind", (), found, f"{allowed}; this one below {kind.folder}/"
                )
                return [wrong, *(replace(one, follows=True) for one in findings)]
        return findings

    def _merge(
        self,
        kind: Kind,
        layers: list[Layer],
        bases: dict[str, Layer],
        valid: list[Document],
    ) -> None:
        """Merge the documents of a layered kind with their bases, and check all of them.

        The bases are checked by themselves, too. A base alone, or a document without
        one of its bases, need not be complete, so what is missing is not reported.
        """
        unreadable = frozenset(
            path
            for path in self.unreadable
            if self.by_path[path].kind.name == kind.name
        )
        assembly = assemble(kind.name, layers, bases, unreadable)
        forgotten = Forgotten(assembly, bases)
        self.locator.users.update(assembly.users)
        for document in assembly.documents:
            findings = forgotten.united(document, self._explained(document))
            self._sort_out(document, findings, valid)
        for layer, finding in assembly.findings:
            if layer not in forgotten.bases:
                document = Document(kind.name, layer.value, (layer,))
                self.findings.append((document, finding))
        for document in assembly.partial:
            findings = self._explained(document)
            self._report_incomplete(document, findings, assembly)
            self.broken.append(
                (document, [*findings, *self.locator.flaws_of(document)])
            )
        for document, filled in assembly.bases:
            # Explaining is slow, and would find something in nearly every base alone.
            if not self.schemas.valid(kind.schema, filled):
                self._report_incomplete(document, self._explained(document), assembly)

    def _report_incomplete(
        self, document: Document, findings: list[Finding], assembly: Assembly
    ) -> None:
        """Report the findings of an incomplete document, except what is missing.

        Where `assemble` has reported the document's `extends` already, the schema's
        finding about it is left out.
        """
        layer = document.layers[-1]
        extends_reported = any(
            finding.pointer == ("extends",)
            for other, finding in assembly.findings
            if other is layer
        )
        self.findings += [
            (document, finding)
            for finding in findings
            if finding.missing is None
            and not (extends_reported and finding.pointer == ("extends",))
        ]
