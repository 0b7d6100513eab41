"""The manifest lists every file of a release with its digest; the digest of its own
bytes is the release id.

It is JSON with an entry a line. Whoever reads one gets the lines as they are, since to
decode 100,000 entries would take longer than to compare them. `path_of`, `digest_of`
and `size_of` therefore count on where `encode` and `prerender` put these three: the
path first, then at the end the size and the digest. Change the order of an entry, and
change all of them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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

_MANIFEST_HEAD = b'{"format":%d,"files":[\n'
_AFTER_FILES = b"\n],"


@dataclass(frozen=True)
class ManifestLines:
    """What a manifest says; its entries stay bytes.

    ``files``: path below files/ → its line, in order. ``private``: the entries of the
    other files, by path. ``next_change``: the instant at which the same content would
    give another release. ``edge``: a digest of what the edge's configuration follows
    from.
    """

    files: Mapping[str, bytes]
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
    head = _MANIFEST_HEAD % MANIFEST_FORMAT
    return b"%b%b%b%b}\n" % (head, files, _AFTER_FILES, rest[1:-1])


def release_id(data: bytes) -> str:
    """Return the id of the release with these bytes as its manifest."""
    return sha256(data).hexdigest()


def read_lines(path: Path, id: str) -> ManifestLines:
    """Read the manifest of a release. Raises as `lines_of` does."""
    with _damage_reported(path):
        data = path.read_bytes()
    return lines_of(data, id, path)


def read_without_files(path: Path) -> ManifestLines:
    """Read what follows the list of files in a manifest; ``files`` is empty. Raises
    Damaged.
    """
    with _damage_reported(path):
        data = path.read_bytes()
        return _with_rest({}, data, data.rindex(_AFTER_FILES))


def lines_of(data: bytes, id: str, where: object) -> ManifestLines:
    """Return what a manifest's bytes say. ``where`` names them in messages.

    Raises Damaged where they are not what `encode` returned for this id, and
    NewerFormat where a later program wrote them.
    """
    with _damage_reported(where):
        if release_id(data) != id:
            raise Damaged(
                f"{where}: not the manifest of release {id[:12]}; it was changed since it was built"
            )
        head, end = data.index(b"\n") + 1, data.rindex(_AFTER_FILES)
        format = orjson.loads(data[:head] + b"]}")["format"]
        if format > MANIFEST_FORMAT:
            raise NewerFormat(
                f"{where}: a manifest of format {format}; this program reads up to {MANIFEST_FORMAT}: update it"
            )
        lines = data[head:end].split(b",\n") if head < end else []
        return _with_rest({path_of(line): line for line in lines}, data, end)


@contextmanager
def _damage_reported(where: object) -> Iterator[None]:
    """Raise Damaged where what is read within is no manifest."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"{where}: cannot be read as a manifest: {error}") from None


def _with_rest(files: Mapping[str, bytes], data: bytes, end: int) -> ManifestLines:
    """Return a manifest with what follows its list of files, which ends at ``end``."""
    rest = orjson.loads(b"{" + data[end + len(_AFTER_FILES) :])
    private, edge = rest["private"], rest["edge"]
    entries_fit = all(map(_is_private_entry, private.values()))
    if not entries_fit or not isinstance(edge, str):
        raise ValueError("not what a build writes")
    next_change = datetime.fromisoformat(rest["nextChange"])
    return ManifestLines(files, private, next_change, edge)


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


def differing(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> list[str]:
    """Return the paths of the files that differ between two releases, sorted.

    ``old`` and ``new``: path → line. A line says all that a cache holds of a file.
    """
    paths = old.keys() | new.keys()
    return sorted(path for path in paths if old.get(path) != new.get(path))


def differing_urls(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> set[str]:
    """Return the URLs of the files that differ, which caches must drop."""
    return {
        orjson.loads(files[path])["url"]
        for path in differing(old, new)
        for files in (old, new)
        if path in files
    }
