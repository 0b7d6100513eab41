"""The marks of a feed: up to which moment of another system each of its states goes.

`products.jsonl` has its marks in `.products.jsonl.marks`, a line for each state that it
was ever in: the mark, and the SHA-256 of the file. A folder of files, `inventory/`, has
them beside it, in `.inventory.marks`. The state that a feed is in now is looked up by
its bytes. So a feed that somebody edited has no mark, and one that was put back
has its former one.

Lines are only ever added, and a line is on the disk before its feed is: whoever is
killed in between leaves the former feed with its former mark. The file is also the lock
between two commands that change one feed.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from shopwindow.catalog.feed_files import FeedFiles
from shopwindow.problems import Failure


@dataclass(frozen=True)
class FeedMarks:
    """The marks of one feed. ``feed``: the file, or the folder of files."""

    feed: Path

    @property
    def files(self) -> FeedFiles:
        return FeedFiles(self.feed)

    @property
    def file(self) -> Path:
        """Where they stand: hidden, so that no check takes it for documents."""
        return self.feed.with_name(f".{self.feed.name}.marks")

    def current(self) -> tuple[str, ...]:
        """Return the marks of the state that the feed is in, the newest last.

        There are several where nothing changed from one mark to another. Raises OSError.
        """
        digest = self.files.digest()
        return tuple(mark for mark, of in self._lines() if of == digest)

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Yield marks and digests; a line that a crash cut off is passed over."""
        lines = self.file.read_bytes().splitlines() if self.file.exists() else []
        for line in lines:
            try:
                entry = orjson.loads(line)
                yield entry["mark"], entry["sha256"]
            except (ValueError, KeyError, TypeError):
                continue

    def add(self, mark: str, digest: str) -> None:
        """Record that the state with this digest goes up to a mark. Raises OSError."""
        line = orjson.dumps({"mark": mark, "sha256": digest})
        with open(self.file, "ab") as file:
            # The line break in front ends a line that a crash cut off.
            file.write(b"\n" + line + b"\n")
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one that changes the feed. Raises Failure where another does.

        A file of a folder may have marks, too: whoever changes the folder then keeps
        others from that file.
        """
        with ExitStack() as locks:
            for path in (self.file, *self.feed.rglob(".*.marks")):
                file = locks.enter_context(open(path, "ab"))
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise Failure(
                        f"{self.feed}: another command changes it; try again when it has ended"
                    ) from None
            yield
