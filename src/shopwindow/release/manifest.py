"""The manifest lists every file of a release with its digest; the digest of its own
bytes is the release id.

It is JSON with an entry a line. Builds and checks of a whole release take the lines as
they are (`read_lines`), since to decode 100,000 entries would take longer than to
compare them. `path_of`, `digest_of` and `size_of` therefore count on where `encode` and
`prerender` put these three: the path first, then at the end the size and the digest.
Change the order of an entry, and change all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from shopwindow.problems import Failure

CONTENT_FILE = "content.json"
"""The documents that a release was built from, beside files/."""

MANIFEST_FORMAT = 1
"""The format of manifest.json, which it states. A reader refuses a higher one."""


class Damaged(Failure):
    """A manifest that is not the one that was built, or is none."""


class NewerFormat(Failure):
    """What a later program wrote."""


ManifestEntry = dict[str, Any]
"""A file: path, url, operation, application (where the answer depends on it), arguments
(canonical texts), mediaType, lifetime (seconds), size (bytes), sha256 (hex).
"""

_MANIFEST_HEAD = b'{"format":%d,"files":[\n' % MANIFEST_FORMAT


@dataclass(frozen=True)
class Manifest:
    """What a manifest says.

    ``files``: the entries of files below files/, by path. ``private``: those of the
    other files, by path. ``next_change``: the instant at which the same content would
    give another release. ``edge``: a digest of what the edge's configuration follows
    from.
    """

    files: Mapping[str, ManifestEntry]
    private: Mapping[str, Mapping[str, Any]]
    next_change: datetime
    edge: str


def encode(
    lines: Mapping[str, bytes], private: Mapping[str, Any], next_change: str, edge: str
) -> bytes:
    """Return the bytes of manifest.json: files sorted by path, one a line.

    ``lines``: path → the entry as JSON.
    """
    files = b",\n".join(map(lines.__getitem__, sorted(lines)))
    rest = orjson.dumps({"private": private, "nextChange": next_change, "edge": edge})
    return b"%b%b\n],%b}\n" % (_MANIFEST_HEAD, files, rest[1:-1])


def release_id(data: bytes) -> str:
    """Return the id of the release with these bytes as its manifest."""
    return sha256(data).hexdigest()


def read(path: Path, id: str | None = None) -> Manifest:
    """Read a manifest.

    Raises Damaged where it is none, or not that of the release ``id``, and Failure
    where it is of a later program.
    """
    try:
        data = path.read_bytes()
        if id is not None and release_id(data) != id:
            raise Damaged(
                f"{path}: not the manifest of release {id[:12]}; it was changed since it was built"
            )
        value = orjson.loads(data)
        if value["format"] > MANIFEST_FORMAT:
            raise NewerFormat(
                f"{path}: a manifest of format {value['format']}; this program reads up to {MANIFEST_FORMAT}: update it"
            )
        files = {entry["path"]: entry for entry in value["files"]}
        return _manifest(files, value)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{path}: cannot be read as a manifest: {error}") from None


def read_without_files(path: Path) -> Manifest:
    """Read what follows the list of files in a manifest; ``files`` is empty.

    The list is not decoded: it may have many thousands of lines. Raises Damaged.
    """
    try:
        data = path.read_bytes()
        after_files = data[data.rindex(b'"private"') :]
        return _manifest({}, orjson.loads(b"{" + after_files))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{path}: cannot be read as a manifest: {error}") from None


def _manifest(files: Mapping[str, ManifestEntry], rest: Mapping[str, Any]) -> Manifest:
    """Return a manifest. Raises ValueError, KeyError or TypeError."""
    next_change = datetime.fromisoformat(rest["nextChange"])
    return Manifest(files, rest["private"], next_change, rest["edge"])


# -- by its lines ----------------------------------------------------------------------


@dataclass(frozen=True)
class ManifestLines:
    """A manifest whose entries stay bytes. ``files``: path → its line, in order."""

    files: Mapping[str, bytes]
    private: Mapping[str, Mapping[str, Any]]
    edge: str


def read_lines(path: Path, id: str) -> ManifestLines:
    """Read the lines of a release's manifest.

    Raises Failure where it is not the one that `encode` returned for this id.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Failure(f"{path}: cannot be read as a manifest: {error}") from None
    return lines_of(data, id, path)


def lines_of(data: bytes, id: str, where: object) -> ManifestLines:
    """Return the lines of a manifest's bytes. ``where`` names them in messages.

    Raises Failure where they are not what `encode` returned for this id.
    """
    try:
        head, end = len(_MANIFEST_HEAD), data.rindex(b"\n],")
        if release_id(data) != id:
            raise Failure(f"{where}: not the manifest of release {id[:12]}")
        if data[:head] != _MANIFEST_HEAD:
            raise NewerFormat(
                f"{where}: the manifest of release {id[:12]} is not of format "
                f"{MANIFEST_FORMAT}, the one that this program reads: update it"
            )
        rest = orjson.loads(b"{" + data[end + 3 :])
        private, edge = rest["private"], rest["edge"]
        if not all(map(_is_private_entry, private.values())) or not isinstance(
            edge, str
        ):
            raise ValueError("not what a build writes")
        lines = data[head:end].split(b",\n") if head < end else []
        return ManifestLines({path_of(line): line for line in lines}, private, edge)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(f"{where}: cannot be read as a manifest: {error}") from None


def _is_private_entry(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("format", 0), int)


def path_of(line: bytes) -> str:
    """Return the path that a line begins with; file names need no escapes."""
    return line[9 : line.index(b'"', 9)].decode()


def digest_of(line: bytes) -> str:
    """Return the SHA-256 (hex) that a line ends with."""
    return line[-66:-2].decode()


def size_of(line: bytes) -> int:
    """Return the size in bytes, which stands before the digest."""
    return int(line[line.rindex(b":", 0, -68) + 1 : -77])


@dataclass(frozen=True)
class ChangedFiles:
    """Paths that only the new release has, that differ, and that only the old one has."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return self.added + self.changed + self.removed


def difference(
    old: Mapping[str, ManifestEntry], new: Mapping[str, ManifestEntry]
) -> ChangedFiles:
    """Return what changed between the files of two releases, sorted by path.

    A file has changed where its bytes differ, or its URL, media type or lifetime:
    caches then hold something else than they should.
    """
    added = new.keys() - old.keys()
    removed = old.keys() - new.keys()
    both = new.keys() & old.keys()
    changed = [path for path in both if _cached_as(new[path]) != _cached_as(old[path])]
    return ChangedFiles(
        tuple(sorted(added)), tuple(sorted(changed)), tuple(sorted(removed))
    )


def _cached_as(entry: ManifestEntry) -> tuple[object, ...]:
    """Return what a cache holds of a file."""
    return entry["sha256"], entry["url"], entry["mediaType"], entry["lifetime"]
