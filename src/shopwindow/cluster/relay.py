"""Through what a builder and its workers pass bytes on: a folder that all of them see,
or objects at a target.

Either takes only what is new. Every name is given once, what was written carries a
digest, and nothing is replaced: a task that is lost, or done by two workers, leaves
bytes that nobody reads, and all of them are removed at the end of the run. So nothing
depends on how soon a network file system or a store shows a change.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Protocol

from shopwindow.content.executor import own_name
from shopwindow.problems import Failure

PASSED_BYTES = 1024 * 1024
"""Bytes that are read of a file at a time. Larger or smaller numbers work as well."""


@dataclass(frozen=True)
class Written:
    """Bytes that were passed on: their name within the run, and their digest (SHA-256,
    hex).
    """

    name: str
    digest: str


class RunObjects(Protocol):
    """Objects by key at a target, which is handed in.

    It is a value: workers get it pickled, and reach the target with credentials of
    their own. Every method raises Failure where the store refuses it.
    """

    @property
    def where(self) -> str:
        """What messages call the target."""

    def read(self, key: str) -> bytes | None:
        """Return a small object, or None; give up soon where nobody answers."""

    def stream(self, key: str) -> Iterator[bytes] | None:
        """Return the bytes of an object bit by bit; None where there is none."""

    def create(self, key: str, body: bytes | Path) -> None:
        """Store bytes, or a file, under a key that nobody else uses."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects. One that does not exist is no mistake."""

    def folders(self) -> list[str]:
        """Return what stands before the first slash of the keys, each once."""

    def listing(self, prefix: str) -> Iterator[tuple[str, datetime]]:
        """Yield the keys below a prefix, and when each was stored, by the store's
        clock.
        """


class Relay(Protocol):
    """What a run passes its bytes through."""

    @property
    def where(self) -> str:
        """What messages call it."""

    def create(self, name: str, data: bytes) -> Written:
        """Write bytes under a name that nobody else gives. Raises OSError, Failure."""

    def probe(self, name: str) -> bytes | None:
        """Return the few bytes of a name, or None; give up soon where nobody answers.

        Raises OSError, Failure.
        """

    def stream(self, name: str) -> Iterator[bytes] | None:
        """Return the bytes of a name bit by bit; None where there are none."""

    def delete(self, name: str) -> None:
        """Delete what was read."""


@dataclass(frozen=True)
class SharedFolder:
    """A Relay that is a folder, which everybody sees under this path."""

    folder: str

    @property
    def where(self) -> str:
        return self.folder

    def create(self, name: str, data: bytes) -> Written:
        with open(Path(self.folder, name), "xb") as file:
            file.write(data)
        return Written(name, sha256(data).hexdigest())

    def probe(self, name: str) -> bytes | None:
        path = Path(self.folder, name)
        return path.read_bytes() if path.exists() else None

    def stream(self, name: str) -> Iterator[bytes] | None:
        path = Path(self.folder, name)
        return bits_of(path) if path.exists() else None

    def delete(self, name: str) -> None:
        Path(self.folder, name).unlink(missing_ok=True)


@dataclass(frozen=True)
class ObjectPrefix:
    """A Relay of the objects below a prefix, which is the run's own."""

    objects: RunObjects
    run: str

    @property
    def where(self) -> str:
        return f"{self.objects.where}/{self.run}"

    def key(self, name: str) -> str:
        """Return the key of a name of this run."""
        return f"{self.run}/{name}"

    def create(self, name: str, data: bytes) -> Written:
        self.objects.create(self.key(name), data)
        return Written(name, sha256(data).hexdigest())

    def create_file(self, path: Path) -> Written:
        """Store the bytes of a file under a name of their own."""
        with open(path, "rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        written = Written(own_name(), digest)
        self.objects.create(self.key(written.name), path)
        return written

    def probe(self, name: str) -> bytes | None:
        return self.objects.read(self.key(name))

    def stream(self, name: str) -> Iterator[bytes] | None:
        return self.objects.stream(self.key(name))

    def delete(self, name: str) -> None:
        self.objects.delete([self.key(name)])


def bits_of(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, some at a time."""
    with open(path, "rb") as file:
        while bit := file.read(PASSED_BYTES):
            yield bit


def read(relay: Relay, written: Written) -> bytes:
    """Return the bytes of a name.

    Raises Failure where they are not those that were written.
    """
    data = b"".join(relay.stream(written.name) or ())
    if sha256(data).hexdigest() != written.digest:
        raise Failure(_not_what_was_written(relay, written))
    return data


def fetch(relay: Relay, written: Written, path: Path) -> None:
    """Write the bytes of a name to a file, which appears when all of it is there.

    Raises Failure where they are not those that were written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(own_name())
    digest = sha256()
    try:
        with open(draft, "xb") as file:
            for bit in relay.stream(written.name) or ():
                digest.update(bit)
                file.write(bit)
        if digest.hexdigest() != written.digest:
            raise Failure(_not_what_was_written(relay, written))
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _not_what_was_written(relay: Relay, written: Written) -> str:
    return (
        f"{relay.where}/{written.name}: is not what was written there; does every "
        "worker see the same there, and at once?"
    )
