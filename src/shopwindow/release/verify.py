"""Compares every file of a release with what was built: its bytes, its time and its
mode.

This is the thorough check, which `shopwindow verify` and an activation run. A service
checks less before it serves a release, and faster: see `intact`.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any

from shopwindow.interface.index import Index
from shopwindow.interface.validators import modified
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.recorded_digests import index_note
from shopwindow.release.releases import Releases
from shopwindow.release.stage import FILE_MODE

OTHER_TIME = "another modification time than its bytes give; its ETag would differ"
OTHER_MODE = "mode "


def verify(releases: Releases, id: str, indexes: Sequence[Index] = ()) -> list[str]:
    """Return a line for each file of a release that is not as it was built; none where
    it is.

    ``indexes``: whose rows are compared with the manifest, beside their bytes.
    The digest of an index stands in build.json, by its name, which is that of its file
    without the extension (`interface.index`).
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

    listed, note = releases.manifest(id), releases.note(id)
    served = {f"files/{path}": entry["sha256"] for path, entry in listed.files.items()}
    private = {
        path: entry.get("sha256") or index_note(note, Path(path).stem).get("sha256")
        for path, entry in listed.private.items()
    }
    built = [*sorted(served.items()), *private.items(), ("manifest.json", id)]

    faults = ((path, _fault(folder, path, digest)) for path, digest in built)
    lines = [f"{path}: {fault}" for path, fault in faults if fault]
    if not note:
        lines.append("build.json: missing, or not what a build wrote")
    lines += [
        f"build.json: does not tell the digest of {path}"
        for path, digest in private.items()
        if digest is None
    ]
    unlisted = set(_paths_below_files(folder)) - served.keys()
    lines += [f"{path}: not in the manifest" for path in sorted(unlisted)]
    lines += index_faults(folder, listed.private, indexes)
    return lines


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


def _fault(release: Path, path: str, digest: str | None) -> str:
    """Return what is wrong with a file that was built; empty where it is intact.

    ``digest``: SHA-256 (hex) of its bytes; None where nobody recorded it.
    """
    try:
        status = os.lstat(release / path)
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        with open(release / path, "rb") as file:
            actual = file_digest(file, "sha256").digest()
    except OSError as error:
        return error.strerror or str(error)
    if digest is not None and actual.hex() != digest:
        return "not the bytes that were built"
    if path.startswith("files/") and int(status.st_mtime) != modified(actual):
        return OTHER_TIME
    mode = stat.S_IMODE(status.st_mode)
    return "" if mode == FILE_MODE else f"{OTHER_MODE}{mode:04o}, not {FILE_MODE:04o}"


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
