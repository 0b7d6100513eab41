"""What lies at a target, and under which names.

```
objects/<2 digits>/<sha256>    bytes, by their digest: immutable, shared by all releases
releases/<id>/manifest.json    which objects a release consists of; created last
current.json                   which release is current (`pointer`)
metadata/                      signatures of that, where somebody signs (`signing`)
```

A release has two sorts of files. Those below files/ are one object each. The others,
its parts, are the manifest that lists these, content.json, an index and build.json.
Parts are large, and a small change of the content changes a little of each: of a
manifest of 6 MB, one event changes ten lines. So a part is cut into chunks (`chunks`).
A release consists of the chunks of earlier ones and of new ones, and the new chunks of
a release lie one after the other in an object: a request for each would be too many.
`releases/<id>/manifest.json` says for every part which chunks it is and where they lie.
The release id is the digest of the part `manifest.json`, here as in an output directory.

Whoever finds `releases/<id>/manifest.json` may rely on every object of the release.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from shopwindow.problems import Failure
from shopwindow.release.manifest import NewerFormat

LISTING_FORMAT = 1
"""The format of `releases/<id>/manifest.json`, which it states."""

POINTER = "current.json"
RELEASES = "releases/"
OBJECTS = "objects/"
METADATA = "metadata/"
TIMESTAMP = f"{METADATA}timestamp.json"

MANIFEST_PART, BUILD_PART = "manifest.json", "build.json"

LARGEST_CHUNK = 8 * 1024 * 1024
"""Bytes that a chunk may have for a reader, who holds dozens in memory: twice those
after which a publisher ends one (`chunks`), since a line stays in one piece.
"""

_DIGEST = re.compile("[0-9a-f]{64}")
_PART_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True)
class PartChunk:
    """A piece of a part: its own digest (SHA-256, hex) and its size in bytes; the
    digest of the object that holds it, and where in that it begins.
    """

    digest: str
    size: int
    object: str
    offset: int


@dataclass(frozen=True)
class ReleasePart:
    """A file of a release that is not below files/: its chunks, in order."""

    chunks: Sequence[PartChunk]

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return sum(chunk.size for chunk in self.chunks)


@dataclass(frozen=True)
class Published:
    """What `releases/<id>/manifest.json` says.

    ``built``: the instant (RFC 3339) of the build. ``files`` and ``size``: how many
    files there are below files/, and their bytes, equal ones counted once.
    """

    id: str
    built: str
    files: int
    size: int
    parts: Mapping[str, ReleasePart]


def object_key(digest: str) -> str:
    """Return the name of the object with this digest (SHA-256, hex)."""
    return f"{OBJECTS}{digest[:2]}/{digest}"


def release_key(id: str) -> str:
    """Return the name of what lists the objects of a release."""
    return f"{RELEASES}{id}/manifest.json"


def encode(published: Published) -> bytes:
    """Return the bytes of `releases/<id>/manifest.json`.

    A chunk is a list: its digest, its size, the number of its object in `objects`, and
    its offset there.
    """
    numbers: dict[str, int] = {}
    parts = {}
    for name, part in published.parts.items():
        rows = []
        for chunk in part.chunks:
            number = numbers.setdefault(chunk.object, len(numbers))
            rows.append([chunk.digest, chunk.size, number, chunk.offset])
        parts[name] = {"size": part.size, "chunks": rows}
    value = {
        "format": LISTING_FORMAT,
        "id": published.id,
        "built": published.built,
        "files": published.files,
        "size": published.size,
        "parts": parts,
        "objects": list(numbers),
    }
    return orjson.dumps(value) + b"\n"


def decode(data: bytes, id: str, where: object) -> Published:
    """Return what `releases/<id>/manifest.json` says.

    ``where`` names the target in messages. Raises Failure where the bytes are of a
    later program, or not of this release.
    """
    try:
        value: Any = orjson.loads(data)
        if value["format"] > LISTING_FORMAT:
            raise NewerFormat(
                f"{where}: {release_key(id)} has format {value['format']}; "
                f"this program reads up to {LISTING_FORMAT}: update it"
            )
        if value["id"] != id:
            raise ValueError("it is of another release")
        objects = [digest(one) for one in value["objects"]]
        parts = {
            _part_name(name): ReleasePart(
                tuple(
                    _chunk(own, size, objects[number], offset)
                    for own, size, number, offset in part["chunks"]
                )
            )
            for name, part in value["parts"].items()
        }
        if MANIFEST_PART not in parts:
            raise ValueError("it names no manifest")
        counts = count(value["files"]), count(value["size"])
        return Published(id, instant(value["built"]), *counts, parts)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise Failure(
            f"{where}: {release_key(id)} is not what a publisher writes ({lacking(error)}); "
            "publish to another prefix"
        ) from None


def is_digest(text: str) -> bool:
    """Return whether a text is a SHA-256 in hex, as ids and digests are."""
    return _DIGEST.fullmatch(text) is not None


# -- what a JSON value must be: each returns it, or raises ValueError or TypeError ------


def digest(value: Any) -> str:
    """Return a SHA-256 in hex, as ids and digests are."""
    if not is_digest(value):
        raise ValueError(f"{value[:80]!r} is no digest")
    return str(value)


def instant(value: Any) -> str:
    """Return an instant with its offset (RFC 3339)."""
    if datetime.fromisoformat(value).tzinfo is None:
        raise ValueError(f"{value!r} has no offset")
    return str(value)


def count(value: Any) -> int:
    """Return a number of something."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{str(value)[:80]} is no number of anything")
    return value


def _part_name(name: str) -> str:
    """Return the name of a part, which becomes that of a file. Raises ValueError."""
    if not _PART_NAME.fullmatch(name) or name == "files":
        raise ValueError(f"{name!r} is no name of a part")
    return name


def _chunk(own: Any, size: Any, object: str, offset: Any) -> PartChunk:
    """Return a chunk. Raises ValueError or TypeError where it cannot be one."""
    if not 0 < count(size) <= LARGEST_CHUNK:
        raise ValueError(f"a chunk of {size} bytes")
    return PartChunk(digest(own), size, object, count(offset))


def lacking(error: Exception) -> str:
    """Return what is wrong with a JSON value that cannot be decoded, for a message."""
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)
