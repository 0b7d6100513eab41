"""What the check of streamed kinds is given, and what it returns: the seam between a
content folder and its indexes.

There may be millions of streamed documents, so only an index reads them. It is handed
everything else that is known about the folder, and reports problems without holding
more of them than will be listed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from shopwindow.content import expressions
from shopwindow.content.case import Case
from shopwindow.content.documents import Document
from shopwindow.content.finding import Finding
from shopwindow.content.kinds import Kind
from shopwindow.content.listing import Source
from shopwindow.content.processes import Progress
from shopwindow.content.records import MAX_UNPACKED_BYTES
from shopwindow.content.schema import Schemas
from shopwindow.problems import Problem


@dataclass(frozen=True)
class Unstreamed:
    """What there is in a content folder beside its streamed documents.

    ``names`` are those of site.yaml, which expressions use; None where site.yaml cannot
    give them. ``case`` holds the other documents. ``limit`` is the number of problems
    that are listed with their places. ``cached`` is the file that remembers what had no
    problem the last time, as checked by the program with the digest ``program``.
    ``unpacked`` is the number of bytes that a compressed feed may hold.
    """

    folder: Path
    schemas: Schemas
    names: expressions.Names | None
    case: Case
    limit: int
    jobs: int | None = None
    progress: Progress | None = None
    cached: Path | None = None
    program: str = ""
    unpacked: int = MAX_UNPACKED_BYTES

    def ids(self, kind: str, name: str) -> frozenset[int] | None:
        """Return the values of a property among all documents of a kind; None where not
        all of them can be known.
        """
        documents = self.case.having(kind, (name,))
        complete = kind not in self.case.unknown and len(documents) == len(
            self.case.having(kind)
        )
        return (
            frozenset(document.value[name] for document in documents)
            if complete
            else None
        )


@dataclass
class FeedReport:
    """What a check of streamed documents reports.

    ``more`` counts the problems beside those listed; ``at_least``: there may be even
    more than that. ``findings`` are about documents that are not streamed. ``lost``
    names the columns of which values are missing.
    """

    problems: dict[Problem, None] = field(default_factory=dict)
    findings: list[tuple[Document, Finding]] = field(default_factory=list)
    more: int = 0
    at_least: bool = False
    lost: set[str] = field(default_factory=set)

    def extent(self) -> tuple[int, int, int]:
        """Return what grows with everything that is reported."""
        return len(self.problems), self.more, len(self.lost)

    def add(self, problems: Iterable[Problem | None]) -> None:
        """Take in problems, each once."""
        self.problems.update(
            (problem, None) for problem in problems if problem is not None
        )


class Feeds(Protocol):
    """Whoever checks streamed kinds: an index of the Interface."""

    @property
    def name(self) -> str: ...

    @property
    def kinds(self) -> tuple[Kind, ...]: ...

    def check(
        self, sources: Sequence[Source], around: Unstreamed
    ) -> tuple[Any, FeedReport]:
        """Return what the index is built from, None where there is nothing or something
        is wrong; and the problems.
        """
        ...
