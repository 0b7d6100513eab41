"""An index of the working tree, built in the background and stored below a cache
folder.

How this works: a page asks for the index of the documents that it shows. Their state, a
digest, is the name of the file. Where the file is there, the page gets it opened. Where
it is not, one thread builds it, and pages show something else meanwhile; they ask again
a second later. Nobody waits, and documents that change while a build runs are built by
the next one.

The name also has a digest of the file's bytes, which are compared before anything reads
them. A damaged file is deleted and built again, and the page says so. So is one that is
damaged later, once a page has met that (`discard`).
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import file_digest
from pathlib import Path
from typing import Any

from shopwindow.content.documents.documents import Content
from shopwindow.interface.declaring.index import Index
from shopwindow.problems import Failure
from shopwindow.release.indexes import index_state

FILES_KEPT = 3
"""Indexes of one content folder below the cache: of the last changes, which an editor
takes back and makes again.
"""

NAME_DIGITS = 20
"""Of a digest, in the name of a file: 80 bits tell apart the states of one folder."""


@dataclass(frozen=True)
class IndexOfTree:
    """The index of the working tree: opened, or what became of it.

    ``file``: where it is, for those who open it in their own way. ``is_building``: ask
    again soon. ``is_large``: it is built only on request. ``was_damaged``: it has been
    built again, because a file of the cache was damaged.
    ``failure`` says in a sentence why there is none.
    """

    opened: Any = None
    file: Path | None = None
    is_building: bool = False
    is_large: bool = False
    was_damaged: bool = False
    failure: str = ""


class IndexBuilds:
    """Builds one index in the background, one state after another.

    ``folder``: where the files go.
    """

    def __init__(self, index: Index, folder: Path) -> None:
        self.index, self.folder = index, folder
        self._lock = threading.Lock()
        self._building = self._was_damaged = False
        self._outcomes: dict[str, IndexOfTree] = {}

    def of(
        self,
        feeds: Any,
        content: Content,
        program: str,
        is_large: Callable[[Any], bool],
        *,
        requested: bool,
    ) -> IndexOfTree:
        """Return the index of these feeds, which is built from now on where it is not
        there.

        ``is_large`` says of the feeds whether a build takes so long that somebody has to
        ask for it. ``requested``: somebody did, or asked once more after a failure.
        """
        try:
            state = index_state(self.index, feeds, content, program)
        except OSError as error:  # a file was removed since the check
            return IndexOfTree(failure=self._sentence(error))
        key = state[:NAME_DIGITS]
        with self._lock:
            outcome = self._outcomes.get(key)
            if outcome is not None and (outcome.opened or not requested):
                return outcome
            if not self._building:
                self._building = True
                waits = None if requested else is_large
                build = partial(self._built, feeds, content, key, waits)
                work = partial(self._work, key, build)
                threading.Thread(target=work, daemon=True).start()
        return IndexOfTree(is_building=True)

    def discard(self, file: Path) -> None:
        """Delete a file of the cache that has turned out to be damaged; it is built again
        when it is asked for.
        """
        with self._lock:
            self._outcomes, self._was_damaged = {}, True
            file.unlink(missing_ok=True)

    def _work(self, key: str, build: Callable[[], IndexOfTree]) -> None:
        outcomes: dict[str, IndexOfTree] = {}
        try:
            outcomes[key] = build()
        except Failure as failure:
            outcomes[key] = IndexOfTree(failure=str(failure))
        except OSError as error:
            outcomes[key] = IndexOfTree(failure=self._sentence(error))
        finally:  # after a fault of ours, too, the next page may start a build
            with self._lock:
                self._outcomes = outcomes
                self._building = False

    def _sentence(self, error: OSError) -> str:
        where = f" ({error.filename})" if error.filename else ""
        return f"The {self.index.name} cannot be built: {error.strerror}{where}"

    def _built(
        self,
        feeds: Any,
        content: Content,
        key: str,
        is_large: Callable[[Any], bool] | None,
    ) -> IndexOfTree:
        for path in self.folder.glob(f"{key}-*.index"):
            opened = self._opened(path)
            if opened is not None:
                os.utime(path)
                return IndexOfTree(opened, path)

        # Somebody has asked for one that was damaged.
        if is_large and not self._was_damaged and is_large(feeds):
            return IndexOfTree(is_large=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = self.folder / f"{key}.{os.getpid()}.draft"
        try:
            # A page's process has threads, which a forked one would lack.
            self.index.build(feeds, content, draft, jobs=1)
            path = self.folder / f"{key}-{_digest(draft)}.index"
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        was_damaged, self._was_damaged = self._was_damaged, False
        self._forget_old()
        return IndexOfTree(self.index.open(path), path, was_damaged=was_damaged)

    def _opened(self, path: Path) -> Any:
        """Return the index in a file of the cache; None where it is damaged, and
        deleted, or not there.
        """
        try:
            if path.stem.endswith(f"-{_digest(path)}"):
                return self.index.open(path)
        except FileNotFoundError:  # another preview of the folder deleted it
            return None
        except Failure:
            pass
        self._was_damaged = True
        path.unlink(missing_ok=True)
        return None

    def _forget_old(self) -> None:
        """Delete all files of the cache but the newest."""
        # Another preview of the folder may delete one meanwhile.
        with suppress(OSError):
            files = list(self.folder.glob("*.index"))
            files.sort(key=lambda file: file.stat().st_mtime_ns)
            for file in files[:-FILES_KEPT]:
                file.unlink()


def _digest(path: Path) -> str:
    """Return the first digits of a file's SHA-256. Raises OSError."""
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()[:NAME_DIGITS]
