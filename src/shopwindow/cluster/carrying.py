"""How work travels with the files that it reads, and comes back with those it writes.

Work and items name files by paths. Where workers share a file system with the builder,
a path means the same to all. Where they share nothing but a target's objects, the files
are carried: the builder stores each once, a worker fetches it once, below a folder of
its own (`Workplace`), and the paths in what it unpickles lead there. The builder knows
what to carry from what it pickles (`content.executor.Work`). What work writes into the
run's folder is carried back, and stays stored: the next stage may read it.
"""

import io
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cloudpickle import CloudPickler

from shopwindow.cluster.relay import ObjectPrefix, Relay, Written, fetch
from shopwindow.content.listing import Source, below

AS_IT_IS, MOVED, MOVED_FOLDER = range(3)
"""What a path in pickled work is where it is unpickled: the same path; one below the
folder of a Workplace; a folder there, which exists.
"""


@dataclass(frozen=True)
class Carried:
    """A file that is carried: its path at the builder, and its bytes."""

    path: str
    written: Written


Packed = tuple[bytes, tuple[Carried, ...]]
"""Something pickled, and the files that it names."""

_StoredState = tuple[str, int, int, int]
"""The path of a file, and what tells that it has changed."""


@dataclass
class Packer:
    """Pickles what workers get, and stores the files that it names.

    ``folder``: the run's. ``read``: folders with feeds. ``objects``: where files are
    stored; None: workers see them under their own paths.
    """

    folder: Path
    read: Sequence[Path]
    objects: ObjectPrefix | None
    _stored: dict[_StoredState, Carried] = field(default_factory=dict)

    def pack(self, value: Any, *, with_feeds: bool = False) -> Packed:
        """Return a value in pickle, and its files, stored. Raises OSError, Failure.

        ``with_feeds``: the files of its Sources are among them. Work may have those of
        all feeds, where its items have those that are read.
        """
        stream = io.BytesIO()
        pickler = _Pickler(stream, self, with_feeds=with_feeds)
        pickler.dump(value)
        if self.objects is None:
            return stream.getvalue(), ()
        files = tuple(
            self._carried(self.objects, path) for path in sorted(pickler.files)
        )
        return stream.getvalue(), files

    def take(self, files: Sequence[Carried]) -> None:
        """Fetch files that a worker has written. Raises OSError, Failure."""
        if self.objects is None:
            return  # they are here
        for carried in files:
            path = Path(carried.path)
            fetch(self.objects, carried.written, path)
            self._stored[_state_of(path)] = carried

    def sort_of(self, path: Path) -> int:
        """Return what a path is where it is unpickled."""
        carried = (self.folder, *self.read)
        if self.objects is None:
            return AS_IT_IS
        if not path.is_file() and not any(map(path.is_relative_to, carried)):
            return AS_IT_IS
        return MOVED_FOLDER if path.is_dir() else MOVED

    def _carried(self, objects: ObjectPrefix, path: Path) -> Carried:
        """Return a file, stored once as long as it does not change."""
        state = _state_of(path)
        if state not in self._stored:
            self._stored[state] = Carried(str(path), objects.create_file(path))
        return self._stored[state]


def _state_of(path: Path) -> _StoredState:
    status = path.stat()
    return str(path), status.st_size, status.st_mtime_ns, status.st_ino


class _Pickler(CloudPickler):  # type: ignore[misc]
    """A pickler that makes paths absolute, and collects the ``files`` to carry."""

    def __init__(self, stream: io.BytesIO, packer: Packer, *, with_feeds: bool) -> None:
        super().__init__(stream)
        self._packer, self._with_feeds = packer, with_feeds
        self.files: set[Path] = set()

    def persistent_id(self, value: Any) -> tuple[str, int] | None:
        if self._with_feeds and isinstance(value, Source):
            feeds = (folder / value.path for folder in self._packer.read)
            self.files.update(path for path in feeds if path.is_file())
        if not isinstance(value, Path):
            return None
        path = value.absolute()
        if path.is_file():
            self.files.add(path)
        elif path.is_relative_to(self._packer.folder):
            self.files.update(path / name for name in below(path))
        return str(path), self._packer.sort_of(path)


class Workplace:
    """Where a worker has the files of a run, below ``root``.

    ``root`` None: it sees those of the builder, and nothing is carried.
    """

    def __init__(self, relay: Relay, folder: str, root: Path | None) -> None:
        """``folder``: the run's, at the builder."""
        self._relay, self._folder, self._root = relay, folder, root
        self._digests: dict[str, str] = {}
        """The digest of each file that is here, by its path at the builder."""

    def bring(self, files: Sequence[Carried]) -> None:
        """Fetch files that are not here yet. Raises OSError, Failure."""
        for carried in files:
            if self._digests.get(carried.path) != carried.written.digest:
                fetch(self._relay, carried.written, self._here(carried.path))
                self._digests[carried.path] = carried.written.digest

    def unpack(self, data: bytes) -> Any:
        """Return what was pickled, with paths that lead to the files here."""
        return _Unpickler(io.BytesIO(data), self).load()

    def path(self, text: str, sort: int) -> Path:
        """Return a path here, by what it is at the builder."""
        if sort == AS_IT_IS or self._root is None:
            return Path(text)
        path = self._here(text)
        folder = path if sort == MOVED_FOLDER else path.parent
        folder.mkdir(parents=True, exist_ok=True)
        return path

    def send(self, objects: ObjectPrefix) -> tuple[Carried, ...]:
        """Store the files that work has written here."""
        return tuple(
            Carried(name, objects.create_file(path)) for name, path in self._created()
        )

    def clear(self) -> None:
        """Delete the files that work has written here: nobody reads them here."""
        for _, path in self._created():
            path.unlink(missing_ok=True)

    def _created(self) -> Iterator[tuple[str, Path]]:
        """Yield the paths, at the builder and here, of files that work has written."""
        if self._root is None:
            return
        folder = self._here(self._folder)
        for below_folder in below(folder):
            name = f"{self._folder}/{below_folder}"
            if name not in self._digests:
                yield name, folder / below_folder

    def _here(self, path: str) -> Path:
        """Return a path below the root: the builder's, as if that were `/`."""
        return Path(f"{self._root}{path}")


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, workplace: Workplace) -> None:
        super().__init__(stream)
        self._workplace = workplace

    def persistent_load(self, pid: tuple[str, int]) -> Path:
        return self._workplace.path(*pid)
