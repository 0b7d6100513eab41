"""A BuildOrder says what to build: every step of a build takes what it needs from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shopwindow.content.documents.documents import Content, Documents
from shopwindow.content.reading.processes import Steps
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.declaring.index import HandedOut
from shopwindow.interface.declaring.interface import Interface

OpenIndexes = Callable[[HandedOut | None], Mapping[str, Any]]
"""Returns the indexes by their names; they report the documents that they hand out."""


@dataclass(frozen=True)
class Asking:
    """What requests are answered from: those of ``documents`` that are live, as
    ``content``. ``opened`` opens their indexes.
    """

    interface: Interface
    documents: Documents
    content: Content
    opened: OpenIndexes

    def indexed(self) -> Content:
        """Return the content, which answers from the indexes."""
        return self.content.with_indexes(self.opened(None))


@dataclass(frozen=True)
class BuildInputs:
    """What a release is built from, at any instant. ``program``: a digest of this
    program.
    """

    interface: Interface
    documents: Documents
    schemas: Schemas
    program: str

    @property
    def built_by(self) -> tuple[str, str]:
        """The digests of the program and of the schemas, on which every answer depends."""
        return self.program, self.schemas.digest


@dataclass(frozen=True, kw_only=True)
class BuildOrder:
    """What to build, and how.

    ``moment``: the instant at which documents must be live. ``jobs``: how many processes
    share the work; None: one a processor. ``steps`` follows the build: "indexing" counts
    products, "rendering" answers and reused files. ``accept`` looks at what answers would
    be rendered from, and at the digests of its indexes, before any is, and raises what
    ends the build. ``edge`` returns the digest of the edge's configuration. ``note``:
    what else build.json shall say. ``fresh``: take nothing over from the previous
    release.
    """

    inputs: BuildInputs
    moment: datetime
    jobs: int | None
    steps: Steps
    accept: Callable[[Asking, Mapping[str, str]], None]
    edge: Callable[[Content], str] = lambda live: ""
    note: Mapping[str, Any] = field(default_factory=dict)
    fresh: bool = False
