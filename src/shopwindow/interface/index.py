"""An Index: one file of a release, built from streamed kinds, that views ask for what
content.json cannot hold.

The engine decides when an index is built, linked or opened (release.indexes); what is
in its file, and how it answers, is the index's own affair.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from shopwindow.content.documents import Content
from shopwindow.content.feeds import FeedReport, Unstreamed
from shopwindow.content.kinds import Kind
from shopwindow.content.listing import Source
from shopwindow.content.processes import Progress
from shopwindow.content.yaml import Json

HandedOut = Callable[[str, str], None]
"""Called with the kind and the identity of each document that an opened index returns.
"""


class Index(Protocol):
    """What the engine asks of an index; `shopwindow.catalog.index.CATALOG` is the
    department store's.
    """

    @property
    def name(self) -> str:
        """By which views ask for it: `content.index(name)`."""
        ...

    @property
    def file(self) -> str:
        """The name of its file in a release: its own name with an extension."""
        ...

    @property
    def format(self) -> int:
        """The format of that file. One of another format is not built upon, and not
        opened.
        """
        ...

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The streamed kinds that it holds; what is referred to comes before what
        refers to it.
        """
        ...

    def check(
        self, sources: Sequence[Source], beside: Unstreamed
    ) -> tuple[Any, FeedReport]:
        """Check the files of its kinds.

        Returns what `build` is given as ``feeds``, None where there is nothing to build
        or something is wrong, and the problems.
        """
        ...

    def digest(self, feeds: Any) -> str:
        """Return a digest of the files themselves, the same on any machine."""
        ...

    def beside(self, feeds: Any, content: Content) -> Json:
        """Return what the index is built from beside those files: settings, documents
        of other kinds, names.
        """
        ...

    def build(
        self,
        feeds: Any,
        content: Content,
        path: Path,
        previous: Path | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> str:
        """Write the file, and return the digest of its rows, which the release id
        covers.

        ``previous`` is an intact file of this format, built from the same things beside
        its files: what they leave as it was may be taken from it. The bytes are those
        of a file that is built without it. Raises Failure, or OSError for a full disk.
        """
        ...

    def open(self, path: Path, handed_out: HandedOut | None = None) -> Any:
        """Return what `content.index(name)` gives to views. Raises Failure where the
        file is no such index.
        """
        ...

    def probe(self, opened: Any) -> None:
        """Read a little from an opened index, as a check of whether it can be read.
        Raises what reading raises.
        """
        ...

    def differences(self, old: Any, new: Any) -> Iterator[tuple[str, str]]:
        """Yield kind and identity of the documents that differ between two opened
        indexes; None: there was none.
        """
        ...

    def document(self, opened: Any, kind: str, identity: str) -> Json | None:
        """Return a document as the index holds it, or None."""
        ...
