"""The memory of a content folder: what its files held when they were last read, and that
nothing was wrong with them.

How this works. Every command opens the same memory, a folder in the cache of the user,
so a file is parsed and held to its schema once, whoever needs it next. Three things are
in it:

- What each file says by itself, while its size, time and inode are the same.
- Notes: digests of states in which nothing was wrong. What follows from several files,
  such as references and unique ids, is looked at again only in another state.
- Files of others, such as what contracts have read.

All of it holds for one program, its schemas and the names that site.yaml gives to
expressions; with others it is forgotten. Nothing depends on it but speed: deleting it is
safe, and where it cannot be read or written, everything is read again.

Files are replaced by a rename, and have a check sum. So two commands at once, or one that
is killed, leave a memory that is intact, be it that of the one or of the other.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import get_ident
from typing import Any
from zlib import crc32

import orjson

from shopwindow.content.check.tree import Parsed
from shopwindow.content.reading.listing import RACY_NS, UNREADABLE, Source

ReadFresh = Callable[[list[Source]], list[Parsed]]
"""Reads files, and returns them in their order."""

FILES, SOUND = "files", "sound"
"""The file of what was read, and the note of the content in which nothing was wrong."""

STORED_AGAIN = 100
"""Once one file in so many is another one, all are stored again. To read a hundredth
again takes half as long as to write 10,000 files.
"""

DRAFT_SECONDS = 3600
"""After this time nobody writes a draft any more: whoever began it was killed."""


@dataclass(slots=True)
class Memory:
    """What is remembered of one content folder.

    ``folder``: where it is between runs; None: it ends with this process. ``program``: a
    digest of the program that reads the content.
    """

    folder: Path | None = None
    program: str = ""
    _key: str = ""
    _files: dict[str, Parsed] = field(default_factory=dict)
    _unstored: int = 0
    _notes: dict[str, str] = field(default_factory=dict)

    def file(self, name: str) -> Path | None:
        """Return where a file of this name would be; None where nothing is stored."""
        return self.folder / name if self.folder else None

    # -- files -------------------------------------------------------------------------

    def read(
        self, sources: Sequence[Source], key: str, fresh: ReadFresh
    ) -> list[Parsed]:
        """Return the files in the order of ``sources``; ``fresh`` reads those that
        changed.

        ``key`` stands for everything that the meaning of a file depends on.

        A file has not changed while its size, time and inode are the same. One that was
        written just before it was read is not remembered: it may then change again
        without a new time. Nor is one that could not be read: who may read a file can
        change without a new time.
        """
        if key != self._key:
            self._recall(key, sources)
        before = self._files  # a thread of the preview may remember others meanwhile
        known = {
            source.path: parsed
            for source in sources
            if (parsed := before.get(source.path))
            and (parsed.source is source or parsed.source.state == source.state)
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
        self._unstored += len(settled) + len(before) - len(known)
        self._files = known | settled
        if self._unstored * STORED_AGAIN > len(self._files):
            self._store()
        return [known.get(source.path) or read[source.path] for source in sources]

    def _recall(self, key: str, sources: Sequence[Source]) -> None:
        """Take the files that were stored under a key; none where it is another one."""
        self._key, self._files, self._unstored = key, {}, 0
        by_path = {source.path: source for source in sources}
        with suppress(OSError, ValueError, LookupError, TypeError):
            self._files = dict(self._stored(by_path))

    def _stored(self, sources: dict[str, Source]) -> Iterator[tuple[str, Parsed]]:
        """Yield the stored files that are among the sources, by path."""
        path = self.file(FILES)
        if path is None:
            return
        with path.open("rb") as file:
            head, content = file.readline(), file.read()
        if orjson.loads(head) != [self._key, crc32(content)]:
            return
        for state, listed, documents in orjson.loads(content):
            source = sources.get(state[0])
            if source is not None and source.state == state:
                yield source.path, Parsed(source, listed, documents)

    def _store(self) -> None:
        """Store the files of which nothing is to be said but their documents: one JSON
        line for the key and a check sum, and one for all files.
        """
        plain = [
            (file.source.state, file.listed, file.documents)
            for file in self._files.values()
            if file.is_plain
        ]
        content = orjson.dumps(plain)
        head = orjson.dumps([self._key, crc32(content)])
        self._write(FILES, head + b"\n" + content)
        self._unstored = 0

    # -- notes -------------------------------------------------------------------------

    def noted(self, name: str) -> str:
        """Return the state that was noted last under a name, or empty text."""
        path = self.file(name)
        if name not in self._notes and path:
            with suppress(OSError, ValueError):
                self._notes[name] = path.read_text(encoding="ascii")
        return self._notes.get(name, "")

    def note(self, name: str, state: str) -> None:
        """Note a state in which nothing was wrong; an empty one is none."""
        if state and state != self.noted(name):
            self._notes[name] = state
            self._write(name, state.encode("ascii"))

    def draft(self, name: str) -> Path | None:
        """Return where a file of this name is to be written, before it is renamed; None
        where nothing can be stored.

        Drafts that a process left which was killed are deleted.
        """
        path = self.file(name)
        if path is None:
            return None
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            for left in path.parent.glob(f"{name}.*"):
                if _is_left(left):
                    left.unlink()
        except OSError:
            return None
        return path.with_name(f"{name}.{os.getpid()}-{get_ident()}")

    def _write(self, name: str, data: bytes) -> None:
        """Write a file of the memory. Where that cannot be, the next check is slower."""
        draft = self.draft(name)
        if draft is None:
            return
        with suppress(OSError):
            draft.write_bytes(data)
            draft.replace(draft.with_name(name))
        with suppress(OSError):
            draft.unlink()


def _is_left(draft: Path) -> bool:
    """Return whether nobody writes a draft any more: its process is gone, or it is old.

    A process of another container is taken for gone: it then does without the memory.
    """
    try:
        os.kill(int(draft.suffix[1:].partition("-")[0]), 0)
    except ProcessLookupError:
        return True
    except (ValueError, OSError):
        pass
    return draft.stat().st_mtime < time.time() - DRAFT_SECONDS


def state_of(sources: Iterable[Source], read_at: int, *beside: Any) -> str:
    """Return a digest of the state of files, and of JSON values beside them.

    ``read_at``: when reading them began, in nanoseconds since the epoch. The state is
    empty where a file was changed just before: another change could have the same one.
    """
    listed = list(sources)
    if any(source.changed >= read_at - RACY_NS for source in listed):
        return ""
    states = [source.state for source in listed]
    return sha256(orjson.dumps([states, beside])).hexdigest()
