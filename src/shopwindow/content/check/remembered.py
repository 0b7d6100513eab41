"""What each file of a content folder held when it was last read: in memory, and between
runs in the parse cache, a file.

For whoever checks the same folder again: only files that changed are read again. What
is remembered is a file by itself; everything that follows from several files is checked
each time, so that the outcome is that of any other check.

The parse cache is one JSON line for its key and a check sum, and one for each file. Only
plain files are in it (`Parsed.is_plain`). Nothing depends on it but speed; deleting it
is safe.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

from shopwindow.content.check.tree import Parsed
from shopwindow.content.reading.listing import RACY_NS, UNREADABLE, Source

ReadFresh = Callable[[list[Source]], list[Parsed]]
"""Reads files, and returns them in their order."""


@dataclass(slots=True)
class RememberedFiles:
    """The files that were read, as of one state of everything that their meaning
    depends on.

    ``cached``: the file of the parse cache; None: they are in memory alone. ``key``
    stands for that state: the program, the schemas, and the names that site.yaml gives
    to expressions. ``files`` holds what was read by path. ``contracts`` is of whoever
    holds the content to contracts: a state of its own, and records of what their
    answers have read.
    """

    cached: Path | None = None
    key: str = ""
    files: dict[str, Parsed] = field(default_factory=dict)
    contracts: tuple[list[str], list[bytes]] = ([], [])

    def read(
        self, sources: Sequence[Source], key: str, fresh: ReadFresh
    ) -> list[Parsed]:
        """Return the files in the order of ``sources``; ``fresh`` reads those that
        changed.

        A file has not changed while its size, time and inode are the same. One that was
        written just before it was read is not remembered: it may then change again
        without a new time. Nor is one that could not be read: who may read a file can
        change without a new time.
        """
        if key != self.key:
            self.key, self.files = key, {}
            by_path = {source.path: source for source in sources}
            with suppress(OSError, ValueError, LookupError, TypeError):
                self.files = dict(self._stored(by_path))
        known = {
            source.path: self.files[source.path]
            for source in sources
            if source.path in self.files
            and _state(self.files[source.path].source) == _state(source)
        }
        started = time.time_ns()
        changed = [source for source in sources if source.path not in known]
        read = {parsed.source.path: parsed for parsed in fresh(changed)}
        settled = {
            path: parsed
            for path, parsed in read.items()
            if parsed.source.changed < started - RACY_NS
            and not any(problem.rule == UNREADABLE for problem in parsed.problems)
        }
        is_other = bool(settled) or len(known) < len(self.files)
        self.files = known | settled
        if self.cached and is_other:
            self._store(self.cached)
        return [known.get(source.path) or read[source.path] for source in sources]

    def _stored(self, sources: dict[str, Source]) -> Iterator[tuple[str, Parsed]]:
        """Yield the files of the parse cache that are among the sources, by path."""
        if self.cached is None:
            return
        head, _, content = self.cached.read_bytes().partition(b"\n")
        if orjson.loads(head) != [self.key, crc32(content)]:
            return
        for line in content.splitlines():
            state, listed, documents = orjson.loads(line)
            source = sources.get(state[0])
            if source is not None and _state(source) == state:
                yield source.path, Parsed(source, listed, documents)

    def _store(self, path: Path) -> None:
        """Write the parse cache. Where that cannot be, the next check is slower."""
        content = b"\n".join(
            orjson.dumps([_state(file.source), file.listed, file.documents])
            for file in self.files.values()
            if file.is_plain
        )
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            head = orjson.dumps([self.key, crc32(content)])
            draft.write_bytes(head + b"\n" + content)
            draft.replace(path)
        with suppress(OSError):
            draft.unlink()


def _state(source: Source) -> list[Any]:
    """Return what changes whenever the file does."""
    return [source.path, source.size, source.changed, source.inode]
