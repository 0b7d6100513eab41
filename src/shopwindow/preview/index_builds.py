"""An index of the working tree, built in the background and stored below a cache
folder.

How this works: a page asks for the index of the documents that it shows. Their state, a
digest, is the name of the file. Where the file is there, the page gets it opened. Where
it is not, one thread builds it, and pages show something else meanwhile; they ask again
a second later. Nobody waits, and documents that change while a build runs are built by
the next one, which starts from the file of the one before.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shopwindow.content.documents import Content
from shopwindow.content.executor import Processes
from shopwindow.interface.index import Index
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
    again soon. ``is_large``: it is built only on request.
    ``failure`` says in a sentence why there is none.
    """

    opened: Any = None
    file: Path | None = None
    is_building: bool = False
    is_large: bool = False
    failure: str = ""


class IndexBuilds:
    """Builds one index in the background, one state after another.

    ``folder``: where the files go. ``is_large`` says of what the index's check returned
    whether a build takes so long that somebody has to ask for it.
    """

    def __init__(
        self, index: Index, folder: Path, is_large: Callable[[Any], bool]
    ) -> None:
        self.index, self.folder, self._is_large = index, folder, is_large
        self._lock = threading.Lock()
        self._building = False
        self._outcomes: dict[str, IndexOfTree] = {}

    def of(
        self, feeds: Any, content: Content, program: str, *, requested: bool
    ) -> IndexOfTree:
        """Return the index of these feeds, which is built from now on where it is not
        there.

        ``requested``: somebody asked for it, however large it is, or once more after a
        failure.
        """
        try:
            beside, state = index_state(self.index, feeds, content, program)
        except OSError as error:  # a file was removed since the check
            return IndexOfTree(failure=self._sentence(error))
        path = self.folder / f"{beside[:NAME_DIGITS]}-{state[:NAME_DIGITS]}.index"
        with self._lock:
            outcome = self._outcomes.get(path.name)
            if outcome is not None and (outcome.opened or not requested):
                return outcome
            if not self._building:
                self._building = True
                work = (feeds, content, path, requested)
                threading.Thread(target=self._work, args=work, daemon=True).start()
        return IndexOfTree(is_building=True)

    def _work(self, feeds: Any, content: Content, path: Path, requested: bool) -> None:
        try:
            outcome = self._built(feeds, content, path, requested=requested)
        except Failure as failure:
            outcome = IndexOfTree(failure=str(failure))
        except OSError as error:
            outcome = IndexOfTree(failure=self._sentence(error))
        with self._lock:
            self._outcomes = {path.name: outcome}
            self._building = False

    def _sentence(self, error: OSError) -> str:
        where = f" ({error.filename})" if error.filename else ""
        return f"The {self.index.name} cannot be built: {error.strerror}{where}"

    def _built(
        self, feeds: Any, content: Content, path: Path, *, requested: bool
    ) -> IndexOfTree:
        opened = self._opened(path)
        if opened is None:
            if not requested and self._is_large(feeds):
                return IndexOfTree(is_large=True)
            self.folder.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(f".{os.getpid()}.draft")
            try:
                # A page's process has threads, which a forked one would lack.
                self.index.build(feeds, content, draft, self._start(path), Processes(1))
                os.replace(draft, path)
            finally:
                draft.unlink(missing_ok=True)
            opened = self.index.open(path)
        os.utime(path)
        self._forget_old()
        return IndexOfTree(opened, path)

    def _opened(self, path: Path) -> Any:
        """Return the index in a file of the cache; None where there is none, or a
        damaged one, which is deleted.
        """
        if not path.is_file():
            return None
        try:
            return self.index.open(path)
        except Failure:
            path.unlink(missing_ok=True)
            return None

    def _start(self, path: Path) -> Path | None:
        """Return the newest file that was built from the same things beside its feeds,
        and is not damaged.
        """
        beside = path.name.partition("-")[0]
        of_same = (file for file in self._files() if file.name.startswith(beside))
        return next((file for file in of_same if self._opened(file) is not None), None)

    def _forget_old(self) -> None:
        for file in self._files()[FILES_KEPT:]:
            with suppress(OSError):  # another preview of the folder deleted it
                file.unlink()

    def _files(self) -> list[Path]:
        """Return the files of the cache, the newest first."""
        dated = []
        for file in self.folder.glob("*.index"):
            with suppress(OSError):
                dated.append((file.stat().st_mtime_ns, file))
        return [file for _, file in sorted(dated, reverse=True)]
