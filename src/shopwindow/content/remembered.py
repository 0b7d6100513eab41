"""What each file of a content folder held when it was last read, in memory.

For a program that checks the same folder again and again, such as the preview: only
files that changed are read again. What is remembered is a file by itself; everything
that follows from several files is checked each time, so that the outcome is that of any
other check.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from shopwindow.content.listing import RACY_NS, UNREADABLE, Source
from shopwindow.content.tree import Parsed

ReadFresh = Callable[[list[Source]], list[Parsed]]
"""Reads files, and returns them in their order."""


@dataclass(slots=True)
class RememberedFiles:
    """The files that were read, as of one state of everything that their meaning
    depends on.

    ``key`` stands for that state: the schemas, and the names that site.yaml gives to
    expressions. ``files`` holds what was read by path, with the time at which reading
    began, in nanoseconds since the epoch. ``contracts`` is of whoever holds the content
    to contracts: a state of its own, and records of what their answers have read.
    """

    key: str = ""
    files: dict[str, tuple[Parsed, int]] = field(default_factory=dict)
    contracts: tuple[list[str], list[bytes]] = ([], [])

    def read(
        self, sources: Sequence[Source], key: str, fresh: ReadFresh
    ) -> list[Parsed]:
        """Return the files in the order of ``sources``; ``fresh`` reads those that
        changed.

        A file has not changed while its size, time and inode are the same, unless it
        was written just before it was read: it may then change again without a new
        time.
        """
        if key != self.key:
            self.key, self.files = key, {}
        changed = [source for source in sources if not self._holds(source)]
        started = time.time_ns()
        read = {parsed.source.path: (parsed, started) for parsed in fresh(changed)}
        paths = [source.path for source in sources]
        self.files = {path: read.get(path) or self.files[path] for path in paths}
        return [self.files[path][0] for path in paths]

    def _holds(self, source: Source) -> bool:
        if source.path not in self.files:
            return False
        parsed, started = self.files[source.path]
        if any(problem.rule == UNREADABLE for problem in parsed.problems):
            return False  # who may read a file can change without a new time
        before = parsed.source
        same = (before.size, before.changed, before.inode) == (
            source.size,
            source.changed,
            source.inode,
        )
        return same and source.changed < started - RACY_NS
