"""A content folder → checked documents, or everything that is wrong with them.

1. The folder is listed; files that no kind claims are problems (`listing`).
2. site.yaml is read first, since its names stand in the expressions of the others
   (`site`).
3. Several processes read the other files and check each document by itself (`tree`).
4. Layered documents are merged with their bases, and checked then (`layers`). What
   steps 2 to 4 read stands in a `FolderReading` (`folder_reading`).
5. Groups and other forms that stand for something become what they mean (`resolving`).
6. Rules look at all documents together, and indexes at the streamed ones (`engine_rules`,
   `feeds`).
7. What was found is traced to places in files, sorted and described (`locating`).

A fault never ends the check. It goes on with what is sound, so that an editor sees all
problems at once, and leaves out what would only follow from a problem that is reported
already. Four words keep these apart:

- A finding is something wrong at a value of a document. Several may become one problem.
- A problem is what the editor reads: something wrong at a place of a file. A warning
  has the same form, and leaves the documents as sound as they are.
- A flaw is where the YAML of a file is at fault, or an expression in it, though its
  other values could be read. It is a problem already, so findings at the same value are
  left out.
- A broken document has a finding or a flaw. Rules do not see it among the valid ones.
"""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import orjson

from shopwindow.content.check import gone, tree
from shopwindow.content.check.feeds import FeedReport, Feeds, RecordBasis
from shopwindow.content.check.folder_reading import FolderReading
from shopwindow.content.check.memory import SOUND, Memory, state_of
from shopwindow.content.check.tree import Parsed
from shopwindow.content.documents import expressions, schedule
from shopwindow.content.documents.documents import Documents
from shopwindow.content.kinds import SITE, Kind, Rule
from shopwindow.content.reading import listing, slips
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.processes import Progress
from shopwindow.content.reading.text import text_of
from shopwindow.content.reading.yaml import Json, Malformed
from shopwindow.content.rules import engine_rules, open_maps
from shopwindow.content.rules.allowances import unsilenced
from shopwindow.content.rules.case import Case
from shopwindow.content.rules.resolving import resolved
from shopwindow.content.schemas import lines
from shopwindow.content.schemas.schema import Schemas
from shopwindow.problems import Absent, Level, Place, Pointer, Problem

MAX_PROBLEMS = 1000
"""Problems that are listed one by one. Nobody reads more of them, and one mistake in a
feed can be a million problems.
"""


LARGEST_SKELETON = 64 * 1024
"""Bytes of a file of a streamed kind that may be one of `new`: of our kinds it writes
at most 8 KiB. Larger files are not read for that alone.
"""


@dataclass
class Checked:
    """The outcome of a check.

    ``documents``: None where there is a problem. ``problems``: sorted by place.
    ``placeholders``: file, place and pointer of values that still say TBD. ``sources``:
    the files that were read. ``more``: how many problems there are besides those
    listed; ``at_least``: there may be even more than that. ``warnings``: sorted by
    place, each a Problem of that level; ``more_warnings``: how many are not listed.
    ``state``: a digest of all that the problems follow from; empty where a file was
    changed just before it was read.
    """

    documents: Documents | None
    problems: list[Problem]
    placeholders: list[tuple[str, Place | None, Pointer]] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    more: int = 0
    at_least: bool = False
    warnings: list[Problem] = field(default_factory=list)
    more_warnings: int = 0
    state: str = ""


class Checkable(Protocol):
    """What a check needs of an Interface.

    ``rules``: those across kinds. ``indexes``: they check the streamed kinds.
    ``cached``: the names of the operations that site.yaml's `lifetimes` may name.
    """

    @property
    def kinds(self) -> tuple[Kind, ...]: ...

    @property
    def rules(self) -> tuple[Rule, ...]: ...

    @property
    def indexes(self) -> tuple[Feeds, ...]: ...

    @property
    def cached(self) -> Collection[str]: ...


class Prepared(Protocol):
    """What a check holds a folder to: an Interface with the collections of the folder.

    ``problems``: those of `collections.yaml`; ``unread``: the folders of collections
    that are declared with faults.
    """

    @property
    def interface(self) -> Checkable: ...

    @property
    def schemas(self) -> Schemas: ...

    @property
    def problems(self) -> Sequence[Problem]: ...

    @property
    def unread(self) -> Sequence[str]: ...


@dataclass
class Check:
    """One check: how it is done, what it reads, and what follows from all of it.

    ``folder``: the content folder. ``declared``: what it is held to. ``progress`` is
    called now and then while the work goes on. ``jobs``: how many processes share the
    work; None: one a processor. ``memory``: what earlier checks of this folder have
    read. ``warns``: look for warnings and notices, too; it takes longer than all else.
    ``released``: kind → identity → document of a release to compare with; None: of
    none. ``most``: how many problems are listed one by one. ``over``: files that are
    read in place of the folder's, or beside them. ``at``: the instant at which a window
    counts as past, as `schedule.moment_of` reads it.
    """

    folder: Path
    declared: Prepared
    _: KW_ONLY
    jobs: int | None = None
    progress: Progress | None = None
    memory: Memory = field(default_factory=Memory)
    warns: bool = True
    released: Mapping[str, Mapping[Any, Json]] | None = None
    most: int = MAX_PROBLEMS
    over: Sequence[Source] = ()
    at: str | None = None

    def __post_init__(self) -> None:
        declared, self.read_at, self.key = self.declared, time.time_ns(), ""
        self.interface, self.schemas = declared.interface, declared.schemas
        self.rules = (
            *self.interface.rules,
            engine_rules.lifetimes(self.interface.cached),
            open_maps.near_names(self.schemas),
        )
        kinds = self.interface.kinds
        listed, unusable = listing.scan(self.folder, kinds, declared.unread)
        self.by_path = {source.path: source for source in (*listed, *self.over)}
        self.sources = list(self.by_path.values())
        self.reading = FolderReading(self.folder, self.by_path, kinds, self.schemas)
        self.reading.problems += (
            *self.schemas.problems,
            *declared.problems,
            *unusable,
        )
        self.locator = self.reading.locator

    def run(self) -> Checked:
        """Return the documents of the folder, or all that is wrong with it."""
        reading, kinds = self.reading, self.interface.kinds
        site_document, names = reading.site()
        documents = reading.documents(site_document, names, self.read(names))
        read = Case(documents, kinds, reading.broken, reading.incomplete_kinds)
        case = resolved(read)
        state = self._state()
        if not state or state != self.memory.noted(SOUND):
            reading.findings += engine_rules.findings(case, self.rules)
        reports = [
            self._streamed(index, names, case) for index in self.interface.indexes
        ]
        problems, unlisted = self._problems(case, reports)
        most = self.most
        more = sum(report.more for report in reports) + unlisted
        checked = Checked(
            documents=None if problems[:most] else case.documents,
            problems=[self.locator.described(problem) for problem in problems[:most]],
            sources=self.sources,
            more=max(0, len(problems) - most) + more,
            at_least=reading.at_least or any(report.at_least for report in reports),
            state=state,
        )
        if self.warns:
            warnings = self._warnings(case, reports, is_sound=not problems)
            checked.warnings = [
                self.locator.described(warning) for warning in warnings[:most]
            ]
            checked.more_warnings = max(0, len(warnings) - most)
            checked.placeholders = self.locator.placeholders(case)
        return checked

    def _state(self) -> str:
        """Return a digest of everything that the problems of this folder follow from."""
        if not self.key:
            return ""
        files = [*self.sources, *listing.own_files(self.folder)]
        return state_of(files, self.read_at, self.key)

    # -- reading -----------------------------------------------------------------------

    def files(self) -> list[Parsed]:
        """Return what the files of documents hold that are not streamed, whatever is
        wrong with them.
        """
        return self.read(self.reading.site()[1])

    def read(self, names: expressions.Names | None) -> list[Parsed]:
        """Read every other file, or remember what an earlier check has read.

        That holds for one program, one set of schemas and one set of names; ``key``
        stands for these. Without names no expression can be evaluated, so
        nothing is remembered then; the files' YAML is still checked.
        """
        sources = [
            source
            for source in self.sources
            if source.kind is not SITE and not source.kind.streamed
        ]

        def fresh(files: list[Source]) -> list[Parsed]:
            return tree.read(
                self.folder, files, names, self.schemas, self.jobs, self.progress
            )

        if names is None:
            return fresh(sources)
        state = [self.memory.program, self.schemas.digest, sorted(names.items())]
        self.key = sha256(orjson.dumps(state)).hexdigest()
        return self.memory.read(sources, self.key, fresh)

    def _streamed(
        self, index: Feeds, names: expressions.Names | None, case: Case
    ) -> FeedReport:
        """Let an index check its streamed kinds, and return its report.

        Where it can be built, its feeds are added to the documents.
        """
        kinds = {kind.name for kind in index.kinds}
        sources = [source for source in self.sources if source.kind.name in kinds]
        feeds, report = index.check(
            sources,
            RecordBasis(self.folder, self.schemas, names, self.most),
            case,
            memory=self.memory,
            jobs=self.jobs,
            progress=self.progress,
        )
        if feeds is not None:
            case.documents.feeds[index.name] = feeds
        return report

    # -- reporting ---------------------------------------------------------------------

    def _problems(
        self, case: Case, reports: Sequence[FeedReport]
    ) -> tuple[list[Problem], int]:
        """Return all problems, sorted by place, and how many are not listed by a
        report.
        """
        findings = list(self.reading.findings)
        for report in reports:
            findings += report.findings
        problems = [
            *map(self.locator.with_users, self.reading.problems),
            *self.locator.problems(findings),
        ]
        for report in reports:
            problems += report.problems
            problems += lines.problems_of(report.groups.values())
        feeds = {
            path: source.kind.name
            for path, source in self.by_path.items()
            if not source.kind.streamed
        }
        problems = lines.grouped(problems, feeds, self.reading.recognized)
        problems, unlisted = self._grouped(problems, reports, case)
        return sorted(problems, key=Problem.order), unlisted

    def _warnings(
        self, case: Case, reports: Iterable[FeedReport], *, is_sound: bool
    ) -> list[Problem]:
        """Return what is probably a mistake and stops nothing, sorted by place.

        ``is_sound``: there are no problems. Where there are, rules leave out parts of
        documents, and comments may seem to silence nothing.
        """
        case.moment = schedule.moment_of(self.at, case.zone) if case.zone else None
        case.released = self.released or {}
        findings = list(engine_rules.findings(case, self.rules, Level.WARNING))
        for report in reports:
            findings += report.warnings
        warnings = [
            *map(self.locator.with_users, self.reading.slips),
            *self._streamed_skeletons(),
            *self.locator.problems(findings, Level.WARNING),
        ]
        lasting = (*slips.RULES, open_maps.NEAR_NAME) if is_sound else ()
        left = unsilenced(warnings, self.reading.allowed, lasting)
        return gone.united(sorted(left, key=Problem.order))

    def _streamed_skeletons(self) -> Iterator[Problem]:
        """Yield a warning for each file of a streamed kind that is as `new` wrote it.

        Nothing else of these texts is looked at, for programs write most of them.
        """
        for source in self.sources:
            is_small = source.size <= LARGEST_SKELETON
            if source.kind.streamed and not source.is_feed and is_small:
                with suppress(Malformed):  # a problem already
                    yield from slips.skeleton(
                        source.path, text_of(self.folder, source).text
                    )

    def _grouped(
        self, problems: list[Problem], reports: Sequence[FeedReport], case: Case
    ) -> tuple[list[Problem], int]:
        """Return the problems with what is named and absent as one each, and how many
        are not listed.
        """
        unlisted: Counter[tuple[Absent, str]] = Counter()
        for report in reports:
            unlisted.update(report.unlisted)
        missed = {problem.absent for problem in problems} - {None}
        if not missed:
            return problems, unlisted.total()
        deleted = self._deleted(case, missed)
        return gone.grouped(problems, unlisted, deleted, self.by_path)

    def _deleted(
        self, case: Case, missed: set[Absent | None]
    ) -> list[gone.FormerDocument]:
        """Return documents of the release or the last commit that are no more.

        ``missed``: what is named and absent. Which streamed documents there are, only
        their index's check knows, so of these the missed ones count as deleted.
        """
        kinds = [kind for kind in self.interface.kinds if not kind.streamed]
        present = {
            (kind.name, id, str(document.value.get(id)))
            for kind in kinds
            for document in case.having(kind.name)
            if isinstance(document.value, dict)
            for id in kind.ids
        }
        former = [
            *gone.of_release(self.released or {}, kinds),
            *gone.of_last_commit(self.folder, self.interface.kinds),
        ]
        return [
            was
            for was in former
            if (
                missed.intersection(was.identities())
                if was.kind.streamed
                else present.isdisjoint(was.absent())
            )
        ]
