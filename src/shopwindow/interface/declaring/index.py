"""An Index is one file of a release that holds the documents of streamed kinds.

There may be millions of these, too many for content.json; views read them from the
index. The engine decides when an index is built, linked or opened (release.indexes).
What its file contains, and how it is read, only the index decides.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from shopwindow.content.check.feeds import Feeds
from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.processes import Progress
from shopwindow.content.reading.yaml import Json

HandedOut = Callable[[str, str], None]
"""Called with kind and identity of each document that an opened index returns.

A build records so which documents an answer depends on.
"""

BROUGHT_BACK = (
    "`shopwindow build --no-cache` writes it again; "
    "where releases are pulled, `shopwindow pull SOURCE` fetches it again"
)
"""What to do about an index's file that is lost or cannot be read, for the end of a
sentence.
"""


class OpenedByParts(Protocol):
    """What an opened index may offer, so that a change of one part of it leaves the
    answers that a build has rendered from others.

    Without it, an answer that asks an index counts as a reader of the whole file.
    """

    def following(self, report: Callable[[str], None]) -> Any:
        """Return what views may ask in its stead.

        It calls ``report`` with the name of each part that it returns something of,
        whether that exists or not; with an empty name where it is the whole index.
        """

    def part_digest(self, part: str) -> str:
        """Return a digest of the part with this name.

        Equal ones in two indexes of one program mean equal answers. Raises KeyError
        where it is the name of no part.
        """


class Index(Feeds, Protocol):
    """What the engine requires of an index, beside what its check does.

    `shopwindow.catalog.catalog_index.CATALOG` is the department store's. Where a method takes
    ``feeds``, that is what `check` returned; ``opened`` is what `open` returned.
    """

    @property
    def file(self) -> str:
        """The name of its file in a release: ``name`` with an extension."""

    @property
    def format(self) -> int:
        """The number of the file's format.

        A file of another format is not opened, and none is built from it.
        """

    def digest(self, feeds: Any) -> str:
        """Return a digest of what documents follow from, the same on any machine: of the
        contents of the files, and of the names where expressions may use them.
        """

    def beside(self, content: Content) -> Json:
        """Return what the index is built from beside the documents of its kinds.

        These are settings and documents of other kinds.
        """

    def build(
        self,
        feeds: Any,
        content: Content,
        path: Path,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> str:
        """Write the file, and return the digest of its rows.

        The release id covers that digest. ``jobs``: how many processes share the work;
        None: one for each processor. Raises Failure, or OSError for a full disk.
        """

    def rows(self, path: Path) -> str:
        """Return the digest of a file's rows, computed from the file alone.

        It is what `build` returned for the file, so that a file from elsewhere can be
        compared with the release id. The file is of this format. Raises Failure where
        it cannot be read, or its documents are not those that its rows name.
        """

    def open(self, path: Path, handed_out: HandedOut | None = None) -> Any:
        """Return what `content.index(name)` returns to views.

        Raises Failure where the file is not one of this index.
        """

    def probe(self, opened: Any) -> None:
        """Read a little from an opened index, to see whether it can be read.

        Raises what reading raises.
        """

    def differences(self, old: Any, new: Any) -> Iterator[tuple[str, str]]:
        """Yield kind and identity of the documents that differ between two indexes.

        ``old`` and ``new`` are opened indexes; None: a release has no such file.
        """

    def document(self, opened: Any, kind: str, identity: str) -> Json | None:
        """Return a document as the index holds it, or None."""
