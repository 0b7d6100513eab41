"""What lies at a target, and under which names.

```
objects/<2 digits>/<sha256>    bytes, by their digest: immutable, shared by all releases
objects/clock                  written again to learn the store's time (`pointer`)
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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any

import orjson

from shopwindow.delivery.bucket import Bucket, concurrently
from shopwindow.delivery.chunks import Chunk, groups
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.manifest import ManifestLines, NewerFormat

LISTING_FORMAT = 1
"""The format of `releases/<id>/manifest.json`, which it states."""

POINTER = "current.json"
RELEASES = "releases/"
OBJECTS = "objects/"
METADATA = "metadata/"
TIMESTAMP = f"{METADATA}timestamp.json"
CLOCK = f"{OBJECTS}clock"

MANIFEST_PART, BUILD_PART = "manifest.json", "build.json"

SPAN_BYTES = 2 * 1024 * 1024
"""Bytes of one request for chunks that lie side by side. With all connections at work
64 MB are in memory, and 580 MB take 280 requests.
"""

LARGEST_CHUNK = 8 * 1024 * 1024
"""Bytes that a chunk may have for a reader, who holds dozens in memory: twice those
after which a publisher ends one (`chunks`), since a line stays in one piece.
"""

_DIGEST = re.compile("[0-9a-f]{64}")
_PART_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


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
    parts: Mapping[str, Sequence[Chunk]]


def size_of(part: Sequence[Chunk]) -> int:
    """Return the bytes of a file of a release from its chunks."""
    return sum(chunk.size for chunk in part)


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
        for chunk in part:
            number = numbers.setdefault(chunk.holder, len(numbers))
            rows.append([chunk.digest, chunk.size, number, chunk.offset])
        parts[name] = {"size": size_of(part), "chunks": rows}
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
            _part_name(name): tuple(
                _chunk(own, size, objects[number], offset)
                for own, size, number, offset in part["chunks"]
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


def _chunk(own: Any, size: Any, object: str, offset: Any) -> Chunk:
    """Return a chunk. Raises ValueError or TypeError where it cannot be one."""
    if not 0 < count(size) <= LARGEST_CHUNK:
        raise ValueError(f"a chunk of {size} bytes")
    return Chunk(digest(own), size, object, count(offset))


def lacking(error: Exception) -> str:
    """Return what is wrong with a JSON value that cannot be decoded, for a message."""
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


# -- what a target holds ---------------------------------------------------------------


def ids(bucket: Bucket) -> list[str]:
    """Return the ids of the releases at a target, sorted.

    Of one that was not sent to the end the listing shows nothing, since its manifest is
    created last.
    """
    keys = (item.key for item in bucket.listing(RELEASES))
    return sorted({key.split("/")[1] for key in keys})


def published(bucket: Bucket, id: str) -> Published:
    """Return what a target says of a release. Raises Failure where it has none."""
    found = published_or_none(bucket, id)
    if found is None:
        raise Failure(
            f"{bucket.where}: {release_key(id)} is gone; publish a release again"
        )
    return found


def published_or_none(bucket: Bucket, id: str) -> Published | None:
    """Return what a target says of a release; None where it says nothing."""
    stored = bucket.read(release_key(id))
    return decode(stored.data, id, bucket.where) if stored else None


def present(bucket: Bucket) -> set[str]:
    """Return the digests of all objects at a target."""
    return {item.key.rpartition("/")[2] for item in bucket.listing(OBJECTS)}


def lines(
    bucket: Bucket, release: Published, at_hand: dict[str, bytes]
) -> ManifestLines:
    """Return the lines of a release's manifest.

    ``at_hand``: chunks by their digest, which need not be read from the target; those
    that are read are added. Raises Failure where the target does not have what the
    release consists of.
    """
    chunks = release.parts[MANIFEST_PART]
    absent = {c.digest: c for c in chunks if c.digest not in at_hand}
    for pieces in concurrently(partial(read_span, bucket), spans(absent.values())):
        at_hand |= pieces
    data = b"".join(at_hand[chunk.digest] for chunk in chunks)
    return manifest.lines_of(data, release.id, bucket.where)


def spans(chunks: Iterable[Chunk]) -> list[list[Chunk]]:
    """Return chunks in groups that lie side by side in an object: one request each."""
    return groups(sorted(chunks, key=_place), SPAN_BYTES, adjacent=True)


def read_span(bucket: Bucket, span: Sequence[Chunk]) -> dict[str, bytes]:
    """Return the bytes of the chunks of a span, by their digests. Raises Failure where
    these are gone or not what was sent.
    """
    key, start = object_key(span[0].holder), span[0].offset

    def read() -> dict[str, bytes] | None:
        data = bucket.read_range(key, start, size_of(span))
        if data is None:
            return None
        places = [(chunk.digest, chunk.offset - start, chunk.size) for chunk in span]
        return {digest: data[place : place + size] for digest, place, size in places}

    def is_intact(pieces: Mapping[str, bytes]) -> bool:
        return all(chunk.has_bytes(pieces[chunk.digest]) for chunk in span)

    return bucket.intact(key, read, is_intact)


def _place(chunk: Chunk) -> tuple[str, int]:
    return chunk.holder, chunk.offset


def fault(bucket: Bucket, digest: str) -> str:
    """Return what is wrong with the object of this digest, as a line; empty: nothing."""
    key = object_key(digest)
    bits = bucket.stream(key)
    if bits is None:
        return f"{key}: missing"
    actual = sha256()
    for bit in bits:
        actual.update(bit)
    return "" if actual.hexdigest() == digest else f"{key}: not what was sent"


def objects(bucket: Bucket, release: Published, at_hand: dict[str, bytes]) -> set[str]:
    """Return the digests of all objects that a release consists of.

    ``at_hand`` is as for `lines`. Raises Failure as that does.
    """
    listed = lines(bucket, release, at_hand).files.values()
    return {manifest.digest_of(line) for line in listed} | holding(release)


def holding(release: Published) -> set[str]:
    """Return the digests of the objects that hold the chunks of a release's parts."""
    return {chunk.holder for part in release.parts.values() for chunk in part}
