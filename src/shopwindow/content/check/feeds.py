"""How streamed kinds are checked: the seam between a content folder and its indexes.

There may be millions of streamed documents, so only an index reads them. Its check
is handed what streamed documents are read with, and a Case of all others. It returns a
FeedReport, which holds no more problems than will be listed and counts the others.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from shopwindow.content.check.memory import Memory
from shopwindow.content.documents import expressions
from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import Kind
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.processes import Progress
from shopwindow.content.rules.case import Case
from shopwindow.content.schemas.lines import LineCause, LineGroup, LineGroups
from shopwindow.content.schemas.schema import Schemas
from shopwindow.problems import Absent, Problem

MAX_GROUPS = 1000
"""Causes of faulty lines that are told apart, in a part of the feeds: as many as problems
are listed. A feed may have an unknown key of its own in every line.
"""


@dataclass(frozen=True)
class RecordBasis:
    """What every streamed document of a content folder is read and checked with.

    ``names`` are those of site.yaml, which expressions use; None where site.yaml gives
    none. ``limit`` is the number of problems that are listed with their places.
    """

    folder: Path
    schemas: Schemas
    names: expressions.Names | None
    limit: int


@dataclass
class FeedReport:
    """What a check of streamed documents reports.

    ``problems`` are listed, in the order of its keys. ``groups`` are lines of feeds by
    what is wrong with them: each is one problem. ``more`` counts the others;
    ``at_least``: there may be even more of them. Not among them are lines that name what
    is absent: ``unlisted`` counts those, by what that is and the path of the feed, for
    they are one problem together (`gone`). ``findings`` are about documents that
    are not streamed, and so are ``warnings``. ``lost`` names the columns of which some values could not be read,
    so that nothing follows from a value that is missing there.
    """

    problems: dict[Problem, None] = field(default_factory=dict)
    groups: LineGroups = field(default_factory=dict)
    findings: list[tuple[Document, Finding]] = field(default_factory=list)
    warnings: list[tuple[Document, Finding]] = field(default_factory=list)
    more: int = 0
    unlisted: Counter[tuple[Absent, str]] = field(default_factory=Counter)
    at_least: bool = False
    lost: set[str] = field(default_factory=set)

    @property
    def has_problems(self) -> bool:
        """Whether anything was reported that is no warning."""
        counted = self.more or self.unlisted or self.groups or self.lost
        return bool(self.problems or self.findings or counted)

    def add(self, problems: Iterable[Problem | None]) -> None:
        """Add problems to the list, each once; None among them is skipped."""
        present = [problem for problem in problems if problem is not None]
        self.problems.update(dict.fromkeys(present))

    def add_line(
        self,
        path: str,
        cause: LineCause,
        problems: Iterable[Problem | None] = (),
        count: int = 1,
    ) -> None:
        """Count lines of a feed with what is wrong with them: one, or ``count``.

        ``problems``: those of the line, if it is an example. Of more than MAX_GROUPS
        causes the further ones are only counted, as problems.
        """
        group = self.groups.get(cause)
        if group is None:
            if len(self.groups) >= MAX_GROUPS:
                self.more += count
                return
            group = self.groups[cause] = LineGroup()
        group.problems += [problem for problem in problems if problem is not None]
        group.lines[path] += count

    def add_unlisted(self, absent: Absent, path: str, count: int = 1) -> None:
        """Count documents that name what is absent.

        Of more than MAX_GROUPS values the further ones of a kind are counted together.
        """
        if len(self.unlisted) >= MAX_GROUPS and (absent, path) not in self.unlisted:
            absent = (*absent[:2], "")
        self.unlisted[absent, path] += count


class Feeds(Protocol):
    """What the check needs of an Index: `interface.declaring.index.Index` has more."""

    @property
    def name(self) -> str:
        """The name by which views get it: `content.index(name)`."""
        ...

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The streamed kinds that it holds.

        A kind comes after those that its documents refer to.
        """
        ...

    def check(
        self,
        sources: Sequence[Source],
        basis: RecordBasis,
        case: Case,
        *,
        memory: Memory,
        jobs: int | None,
        progress: Progress | None,
    ) -> tuple[Any, FeedReport]:
        """Check the files of the index's kinds.

        Returns what the index is built from, and the report. The former is None where
        there are no files, or where there is a problem.

        Args:
            sources: the files.
            basis: what each of their documents is read with.
            case: the documents that are not streamed.
            memory: that of the folder, in which an index notes the state of its feeds
                once there was no problem.
            jobs: how many processes share the work; None: one a processor.
            progress: called now and then while the work goes on.
        """
        ...
