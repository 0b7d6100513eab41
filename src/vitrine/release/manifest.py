"""The manifest: every file of a release, and what makes the release id; the difference of two of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from vitrine.problems import Failure

FORMAT = 1


class Damaged(Failure):
    """A manifest that is not the one that was built, or is none."""


Entry = dict[str, Any]
"""A file: path, url, operation, application (where the answer depends on it), arguments (canonical texts),
mediaType, lifetime (seconds), size (bytes), sha256 (hex)."""

_HEAD = b'{"format":%d,"files":[\n' % FORMAT


@dataclass(frozen=True)
class Manifest:
    """``files`` is what lies under files/, by path; ``private`` the digests of what else makes the release.

    ``next_change``: the instant (RFC 3339) at which the same content would give another release.
    ``edge``: a digest of what the edge's configuration is made from.
    """

    files: Mapping[str, Entry]
    private: Mapping[str, Mapping[str, Any]]
    next_change: str
    edge: str


def encode(lines: Mapping[str, bytes], private: Mapping[str, Any], next_change: str, edge: str) -> bytes:
    """The bytes of manifest.json: files by path, one a line. ``lines``: path → the entry as JSON."""
    files = b",\n".join(map(lines.__getitem__, sorted(lines)))
    rest = orjson.dumps({"private": private, "nextChange": next_change, "edge": edge})
    return b"%b%b\n],%b}\n" % (_HEAD, files, rest[1:-1])


def release_id(data: bytes) -> str:
    """The id of the release with these bytes as its manifest."""
    return sha256(data).hexdigest()


def read(path: Path, id: str | None = None) -> Manifest:
    """A manifest from its file. Raises Failure where it is none, of a later program, or another than that of ``id``."""
    try:
        data = path.read_bytes()
        if id is not None and release_id(data) != id:
            raise Damaged(f"{path}: not the manifest of release {id[:12]}; it was changed since it was built")
        value = orjson.loads(data)
        if value["format"] > FORMAT:
            raise Failure(
                f"{path}: a manifest of format {value['format']}; this program reads up to {FORMAT}: update it"
            )
        files = {entry["path"]: entry for entry in value["files"]}
        return Manifest(files, value["private"], value["nextChange"], value["edge"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{path}: cannot be read as a manifest: {error}") from None


# -- by its lines ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lines:
    """A manifest whose entries are left as they are written: path → its line, in order."""

    files: Mapping[str, bytes]
    private: Mapping[str, Mapping[str, Any]]
    edge: str


def read_lines(path: Path, id: str) -> Lines:
    """The lines of the manifest of a release. Raises Failure where it is not what `encode` wrote for this id."""
    try:
        data = path.read_bytes()
        head, end = len(_HEAD), data.rindex(b"\n],")
        if release_id(data) != id or data[:head] != _HEAD:
            raise Failure(f"{path}: not the manifest of release {id[:12]}")
        rest = orjson.loads(b"{" + data[end + 3 :])
        lines = data[head:end].split(b",\n") if head < end else []
        return Lines({path_of(line): line for line in lines}, rest["private"], rest["edge"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(f"{path}: cannot be read as a manifest: {error}") from None


def path_of(line: bytes) -> str:
    """The path that a line begins with; file names need no escapes."""
    return line[9 : line.index(b'"', 9)].decode()


def digest_of(line: bytes) -> str:
    """The SHA-256 (hex) that a line ends with."""
    return line[-66:-2].decode()


def size_of(line: bytes) -> int:
    """The size, which stands before it."""
    return int(line[line.rindex(b":", 0, -68) + 1 : -77])


@dataclass(frozen=True)
class Difference:
    """Paths that a release has and the one before has not, that differ, and that are gone."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return self.added + self.changed + self.removed


def difference(old: Mapping[str, Entry], new: Mapping[str, Entry]) -> Difference:
    """What changed between the files of two releases, sorted: their bytes, or how long and as what they may be kept."""
    return Difference(
        tuple(sorted(new.keys() - old.keys())),
        tuple(sorted(path for path in new.keys() & old.keys() if _kept_as(new[path]) != _kept_as(old[path]))),
        tuple(sorted(old.keys() - new.keys())),
    )


def _kept_as(entry: Entry) -> tuple[object, ...]:
    """What a cache keeps of a file."""
    return entry["sha256"], entry["url"], entry["mediaType"], entry["lifetime"]
