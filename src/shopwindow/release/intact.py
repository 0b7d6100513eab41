"""Checks that a release is intact on this host: a service does so before it serves it.

A release may come by a copy that is still at work, or that was cut off. The sizes of
all files are compared, at the cost of a system call each. Digests are compared only for
files that are new to the host: a file that the previous release shares (builds and
copies link what did not change) was compared when that release came. `verify` compares
everything.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import file_digest
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shopwindow.interface.index import Index
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.manifest import ManifestLines
from shopwindow.release.recorded_digests import index_note
from shopwindow.release.releases import Releases

MAX_LISTED_FAULTS = 3
"""Faults that a message lists: a release that is still being copied lacks thousands of
files.
"""

Inode = tuple[int, int]
"""A file's device and its inode there."""


def require_intact(
    releases: Releases, id: str, indexes: Sequence[Index], previous: str | None = None
) -> None:
    """Compare a release's files with its manifest.

    ``previous``: the id of a release that was intact; None: of none. Raises Failure,
    with the first faults, where a file is missing, cut off or not what was built.
    """
    faults = list(
        islice(_faults(releases, id, indexes, previous), MAX_LISTED_FAULTS + 1)
    )
    if faults:
        more = "; and more" if len(faults) > MAX_LISTED_FAULTS else ""
        raise Failure(
            f"release {id[:12]} is not complete on this host: {'; '.join(faults[:MAX_LISTED_FAULTS])}{more}"
        )


def signature(releases: Releases, id: str, indexes: Sequence[Index]) -> tuple[Any, ...]:
    """Return device, inode, size and time of every index's file.

    Two results are equal until one of the files is replaced.
    """
    signatures: list[tuple[int, ...]] = []
    for index in indexes:
        with suppress(OSError):
            status = os.stat(releases.path(id) / index.file)
            signatures.append(
                (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            )
    return tuple(signatures)


def _faults(
    releases: Releases, id: str, indexes: Sequence[Index], previous: str | None
) -> Iterator[str]:
    folder, listed, note = releases.path(id), releases.lines(id), releases.note(id)
    built = {
        index.file: index_note(note, index.name).get("sha256") for index in indexes
    }
    yield from _private_faults(folder, listed.private, built)
    previous_folder, previous_lines = _previous(releases, previous)
    checked: set[Inode] = set()
    for path, line in listed.files.items():
        file = folder / "files" / path
        size, digest = manifest.size_of(line), manifest.digest_of(line)
        try:
            status = os.stat(file)
            inode = status.st_dev, status.st_ino
            if status.st_size != size:
                yield f"files/{path} has {status.st_size:,} of {size:,} bytes"
                continue
            previous_file = f"{previous_folder}/files/{path}"
            if inode in checked or _is_shared(
                inode, previous_file, previous_lines.get(path), digest
            ):
                continue
            if _digest(file) != digest:
                yield f"files/{path} has not the bytes that were built"
            checked.add(inode)
        except OSError as error:
            yield f"files/{path}: {error.strerror}"


def _previous(releases: Releases, id: str | None) -> tuple[Path, Mapping[str, bytes]]:
    """Return the folder of the previous release, and the lines of its manifest.

    There are no lines where it is missing or damaged.
    """
    if id is None:
        return releases.folder, {}
    try:
        listed: ManifestLines = releases.lines(id)
    except Failure:
        return releases.folder, {}
    return releases.path(id), listed.files


def _is_shared(inode: Inode, path: str, line: bytes | None, digest: str) -> bool:
    """Return whether the previous release has this very file under the same name and
    digest.
    """
    if line is None or manifest.digest_of(line) != digest:
        return False
    try:
        status = os.stat(path)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == inode


def _private_faults(
    folder: Path,
    private: Mapping[str, Mapping[str, Any]],
    built: Mapping[str, str | None],
) -> Iterator[str]:
    """Yield what is wrong with content.json and the indexes.

    The digest of an index, in ``built``, stands in build.json: its bytes depend on the
    SQLite that wrote it. Without one, SQLite itself looks whether the file is in order.
    """
    for name, entry in private.items():
        digest = entry.get("sha256") or built.get(name)
        path = folder / name
        try:
            size = os.stat(path).st_size
            if "size" in entry and size != entry["size"]:
                yield f"{name} has {size:,} of {entry['size']:,} bytes"
            elif digest is not None and _digest(path) != digest:
                yield f"{name} has not the bytes that were built"
            elif digest is None and (fault := _disorder(path)):
                yield f"{name}: {fault}"
        except OSError as error:
            yield f"{name}: {error.strerror}"


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _disorder(path: Path) -> str:
    """Return what SQLite finds wrong with a file; empty where it is in order."""
    try:
        with closing(
            sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)
        ) as connection:
            ((result,),) = connection.execute("PRAGMA quick_check(1)")
    except sqlite3.Error as error:
        return str(error)
    return "" if result == "ok" else str(result)
