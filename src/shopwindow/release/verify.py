"""Compares the files of a release with what was built.

`verify` is the thorough check, which the command and an activation run: every file's
bytes, time and mode, and nothing beside them. `require_intact` is what a service does
before it serves a release, which may come by a copy that is still at work or was cut
off: sizes, and the bytes of files that are new to this host. A file that the previous
release shares (builds and copies link what did not change) was compared when that came.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from shopwindow.interface.answering.validators import modified
from shopwindow.interface.declaring.index import Index
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.manifest import ManifestLines
from shopwindow.release.releases import Releases, private_digest
from shopwindow.release.stage import FILE_MODE, has_bytes

OTHER_BYTES = "not the bytes that were built"
OTHER_TIME = "another modification time than its bytes give; its ETag would differ"
NO_DIGEST = "build.json has no digest of it"
NOTE_MISSING = "build.json: missing, or not what a build wrote"

MAX_LISTED_FAULTS = 3
"""Faults that a refusal to serve lists: a release that is still being copied lacks
thousands of files.
"""

Identity = tuple[int, int, str | None]
"""A file's device, its inode there, and the digest that was recorded for it."""

Built = tuple[str, int | None, str | None]
"""A file of a release: its path, the size and the SHA-256 (hex) that were recorded."""


def verify(releases: Releases, id: str, indexes: Sequence[Index] = ()) -> list[str]:
    """Return a line for each file of a release that is not as it was built; none where
    it is.

    ``indexes``: whose rows are compared with the manifest, beside their bytes.
    """
    folder = releases.path(id)
    try:
        data = (folder / "manifest.json").read_bytes()
    except OSError as error:
        return [f"manifest.json: {error.strerror}"]
    if manifest.release_id(data) != id:
        return ["manifest.json: not the one of this id"]
    if not releases.complete(id):
        return ["files/: not here, only the manifest is"]

    listed = manifest.lines_of(data, id, folder / "manifest.json")
    built = [*_built(releases, id, listed), ("manifest.json", len(data), id)]
    lines = []
    compared: set[Identity] = set()
    for path, size, digest in built:
        file = folder / path
        fault = _fault(file, size, digest, compared)
        fault = fault or _other_status(file, path, digest or "")
        if fault:
            lines.append(f"{path}: {fault}")
    if not releases.note(id):
        lines.append(NOTE_MISSING)
    unlisted = set(_paths_below_files(folder)) - {path for path, _, _ in built}
    lines += [f"{path}: not in the manifest" for path in sorted(unlisted)]
    lines += index_faults(folder, listed.private, indexes)
    return lines


def require_intact(releases: Releases, id: str, previous: str | None = None) -> None:
    """Compare a release's files with its manifest, as a service does before serving it.

    ``previous``: the id of a release that was intact; None: of none. Raises Failure,
    with the first faults, where a file is missing, cut off or not what was built.
    """
    found = _new_faults(releases, id, previous)
    faults = list(islice(found, MAX_LISTED_FAULTS + 1))
    if faults:
        more = "; and more" if len(faults) > MAX_LISTED_FAULTS else ""
        listed = "; ".join(faults[:MAX_LISTED_FAULTS])
        raise Failure(f"release {id[:12]} is not complete on this host: {listed}{more}")


def index_faults(
    folder: Path,
    private: Mapping[str, Mapping[str, Any]],
    indexes: Sequence[Index],
) -> Iterator[str]:
    """Yield a line for each index of a release whose rows its manifest does not name.

    ``private``: its entries in the manifest, by file. An index of another format cannot
    be read by this program, and is left out.
    """
    for index in indexes:
        entry = private.get(index.file, {})
        if entry.get("format") != index.format:
            continue
        path = folder / index.file
        try:
            rows = index.rows(path)
        except Failure as failure:
            yield f"{index.file}: {str(failure).removeprefix(f'{path}: ')}"
            continue
        if rows != entry.get("rows"):
            yield f"{index.file}: not the rows that the release id covers"


def _built(releases: Releases, id: str, listed: ManifestLines) -> Iterator[Built]:
    """Yield the files of a release, as its manifest and its build.json record them."""
    for path, line in sorted(listed.files.items()):
        yield f"files/{path}", manifest.size_of(line), manifest.digest_of(line)
    note = releases.note(id)
    for path, entry in listed.private.items():
        yield path, entry.get("size"), private_digest(path, entry, note)


def _fault(
    file: Path, size: int | None, digest: str | None, compared: set[Identity]
) -> str:
    """Return what is wrong with a file's bytes; empty where nothing is.

    The size is not compared where it was not recorded, nor are the bytes of a file that
    is one of ``compared``: it may have several names. What is intact is added to these.
    """
    try:
        status = os.lstat(file)
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        if size is not None and status.st_size != size:
            return OTHER_BYTES
        if digest is None:
            return NO_DIGEST
        identity = status.st_dev, status.st_ino, digest
        if identity not in compared:
            if not has_bytes(file, digest):
                return OTHER_BYTES
            compared.add(identity)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _other_status(file: Path, path: str, digest: str) -> str:
    """Return how an intact file's time or mode differs; empty where neither does."""
    status = os.lstat(file)
    is_served = path.startswith("files/")
    if is_served and int(status.st_mtime) != modified(bytes.fromhex(digest)):
        return OTHER_TIME
    mode = stat.S_IMODE(status.st_mode)
    return "" if mode == FILE_MODE else f"mode {mode:04o}, not {FILE_MODE:04o}"


def _new_faults(releases: Releases, id: str, previous: str | None) -> Iterator[str]:
    """Yield the faults of a release; of files that were compared before, only sizes are
    looked at.
    """
    compared: set[Identity] = set()
    if previous is not None:
        with suppress(Failure):
            compared.update(_identities(releases, previous))
    for path, size, digest in _built(releases, id, releases.lines(id)):
        if fault := _fault(releases.path(id) / path, size, digest, compared):
            yield f"{path}: {fault}"


def _identities(releases: Releases, id: str) -> Iterator[Identity]:
    """Yield which files a release consists of, of those that are here."""
    for path, _, digest in _built(releases, id, releases.lines(id)):
        with suppress(OSError):
            status = os.lstat(releases.path(id) / path)
            yield status.st_dev, status.st_ino, digest


def _paths_below_files(release: Path) -> Iterator[str]:
    """Yield the paths below a release's files/ that are no directories.

    A link to a directory counts as no directory: a build never writes one.
    """
    start = len(str(release)) + 1
    for folder, subfolders, names in os.walk(release):
        links = [name for name in subfolders if os.path.islink(f"{folder}/{name}")]
        for name in (*names, *links):
            path = f"{folder}/{name}"[start:]
            if path.startswith("files/") or path == "files":
                yield path
