"""Fetches a release into a staging directory: what this host has is linked or copied,
and the rest is read from the source.

Nothing can be read in `releases/` before all of it is here and every byte was compared
with its digest, those too that this host already had. The release id is the digest of
manifest.json, which has the digests of all files but build.json; that has the digest
of an index, and its own stands in the source's list of chunks.

What comes from a source is bounded: the size of everything is known before it is read,
and a source that sends more is interrupted.
"""

import os
import re
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import orjson

from shopwindow.content.processes import Progress
from shopwindow.delivery import layout
from shopwindow.delivery.bucket import Bucket
from shopwindow.delivery.chunks import chunks, stretches
from shopwindow.delivery.connections import concurrently
from shopwindow.delivery.layout import BUILD_PART, MANIFEST_PART, Chunk, Part
from shopwindow.delivery.outgoing import LINES
from shopwindow.delivery.source import PullFault, Source, faults
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.manifest import ManifestLines
from shopwindow.release.publish import Releases, index_note
from shopwindow.release.stage import Stage

MANIFEST_BYTES = 256 * 1024 * 1024
"""Bytes of a manifest: that of 200,000 files, the most that a build writes by itself,
has 60 MB. It is read into memory.
"""

SPAN_BYTES = 2 * 1024 * 1024
"""Bytes of one request for chunks that lie side by side. With all connections at work
64 MB are in memory, and 580 MB take 280 requests.
"""

ATTEMPTS = 4
"""How often bytes are asked for that come shortened or changed. A request that fails or
breaks off is repeated by the library (`bucket`). Of a source that spoils every fifth
answer, one object in 600 fails, and then the next attempt of a host goes on.
"""

ATTEMPT_SECONDS = 0.2
"""The pause before the second attempt; it doubles."""

_SEGMENT = re.compile(r"[^/\0]{1,255}")


@dataclass(frozen=True)
class Fetched:
    """What was read from a source: requests, and the bytes that they returned."""

    requests: int = 0
    size: int = 0


def fetch(
    source: Source,
    id: str,
    releases: Releases,
    stage: Stage,
    progress: Progress | None = None,
) -> Fetched:
    """Stage a release, of whose files those of the current one are taken over.

    ``progress`` is called with how many objects are here, and of how many. Raises
    PullFault; OSError where this host refuses it.
    """
    with faults("damaged"):
        release = source.published(id)
        at_hand = _at_hand(releases, id)
        _require_manifest(release.parts[MANIFEST_PART], id)
        _require_space(releases.out, sum(part.size for part in release.parts.values()))

        _, first = _fetch_part(
            source, MANIFEST_PART, release.parts, at_hand, stage, progress
        )
        data = Path(stage.path(MANIFEST_PART)).read_bytes()
        listed = manifest.lines_of(data, id, source.bucket.where)
        sizes = _sizes(listed, id)
        others = {*listed.private, BUILD_PART}
        if release.parts.keys() != {MANIFEST_PART, *others}:
            raise Failure(
                f"{layout.release_key(id)} names other files than its manifest"
            )
        parts = {
            name: _fetch_part(source, name, release.parts, at_hand, stage, progress)
            for name in sorted(others)
        }
        digests = {name: digest for name, (digest, _) in parts.items()}
        _require_parts(listed, digests, stage, id)
        files = _fetch_files(source, listed, sizes, at_hand, stage, progress)
        fetched = [first, files, *(one for _, one in parts.values())]
        return Fetched(
            sum(one.requests for one in fetched), sum(one.size for one in fetched)
        )


# -- what this host has ----------------------------------------------------------------


@dataclass(frozen=True)
class _AtHand:
    """The current release of this host: its folder, and the lines of its manifest."""

    folder: Path
    lines: Mapping[str, bytes]

    def paths(self) -> dict[str, Path]:
        """Return digest → a file below files/ that was built with it."""
        return {
            manifest.digest_of(line): self.folder / "files" / path
            for path, line in self.lines.items()
        }

    def chunks(self, name: str) -> dict[str, tuple[int, int]]:
        """Return digest → where a chunk of the part ``name`` begins, and its size."""
        path = self.folder / name
        placed = {}
        try:
            if name in LINES:
                offset = 0
                for chunk in chunks(path.read_bytes()):
                    placed[sha256(chunk).hexdigest()] = offset, len(chunk)
                    offset += len(chunk)
                return placed
            with open(path, "rb") as file:
                for offset, size in stretches(path.stat().st_size):
                    placed[sha256(file.read(size)).hexdigest()] = offset, size
        except OSError:  # it has none, or the disk lost it
            return placed
        return placed


def _at_hand(releases: Releases, id: str) -> _AtHand:
    """Return what a release may be made from; nothing where that is the same one,
    which is fetched again because it is damaged.
    """
    current = releases.current()
    if current is None or current == id or not releases.complete(current):
        return _AtHand(releases.out / "none", {})
    try:
        return _AtHand(releases.path(current), releases.lines(current).files)
    except Failure:  # a damaged manifest
        return _AtHand(releases.out / "none", {})


# -- what may come ---------------------------------------------------------------------


def _require_manifest(part: Part, id: str) -> None:
    if part.size > MANIFEST_BYTES:
        raise Failure(
            f"the manifest of release {id[:12]} has {part.size:,} bytes, "
            f"and {MANIFEST_BYTES:,} are the most that are read"
        )


def _require_space(out: Path, needed: int) -> None:
    free = shutil.disk_usage(out).free
    if needed > free:
        raise PullFault(
            "host",
            f"{out}: the release needs {needed / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB "
            "are free; `shopwindow prune --keep N`, or a larger disk",
        )


def _sizes(listed: ManifestLines, id: str) -> dict[str, int]:
    """Return digest → size of the files of a manifest.

    Builds take its lines as they are; this one comes from elsewhere. Raises Failure
    where a line is not what a build writes, or its path leads out of the release.
    """
    sizes: dict[str, int] = {}
    for path, line in listed.files.items():
        try:
            entry: Any = orjson.loads(line)
            stated = entry["path"], entry["size"], entry["sha256"]
            read = path, manifest.size_of(line), manifest.digest_of(line)
            if stated != read or not layout.is_digest(stated[2]):
                raise ValueError("its entries are out of order")
            if not _is_safe(path):
                raise ValueError("its path leads elsewhere")
        except (ValueError, KeyError, TypeError) as error:
            raise Failure(
                f"release {id[:12]}: {path!r} in its manifest is not what a build "
                f"writes: {error}"
            ) from None
        sizes[stated[2]] = stated[1]
    return sizes


def _is_safe(path: str) -> bool:
    """Return whether a path stays below the folder that it is relative to."""
    segments = path.split("/")
    return all(
        _SEGMENT.fullmatch(segment) and segment not in (".", "..")
        for segment in segments
    )


def _require_parts(
    listed: ManifestLines, digests: Mapping[str, str], stage: Stage, id: str
) -> None:
    """Compare the staged parts with what the manifest and build.json say of them.

    ``digests``: those of the parts, by name.
    """
    try:
        note = orjson.loads(Path(stage.path(BUILD_PART)).read_bytes())
        if not isinstance(note, dict) or not isinstance(note["built"], str):
            raise ValueError("not what a build writes")
    except (ValueError, KeyError) as error:
        raise Failure(f"release {id[:12]}: {BUILD_PART}: {error}") from None
    for name, entry in listed.private.items():
        stated = entry.get("sha256") or index_note(note, Path(name).stem).get("sha256")
        if digests[name] != stated:
            raise Failure(
                f"release {id[:12]}: {name} has not the bytes that were built"
            )


# -- parts, by chunks ------------------------------------------------------------------


@dataclass(frozen=True)
class _Span:
    """Chunks that lie side by side in an object, and where each goes in the part."""

    object: str
    offset: int
    placed: Sequence[tuple[int, Chunk]]

    @property
    def size(self) -> int:
        return sum(chunk.size for _, chunk in self.placed)


def _fetch_part(
    source: Source,
    name: str,
    parts: Mapping[str, Part],
    at_hand: _AtHand,
    stage: Stage,
    progress: Progress | None,
) -> tuple[str, Fetched]:
    """Stage a part: its chunks from this host's file of that name, or the source.

    Returns the digest of the whole, too.
    """
    here = at_hand.chunks(name)
    missing = []
    with open(stage.path(name), "xb", buffering=0) as file:
        position = 0
        for chunk in parts[name].chunks:
            if here.get(chunk.digest, (0, 0))[1] != chunk.size:
                missing.append((position, chunk))
            position += chunk.size
        _copy(file.fileno(), at_hand.folder / name, here, parts[name])
        spans = list(_spans(missing))

        def read(span: _Span) -> int:
            data = _span(source.bucket, span)
            for position, chunk in span.placed:
                start = chunk.offset - span.offset
                os.pwrite(file.fileno(), data[start : start + chunk.size], position)
            return span.size

        sizes = concurrently(read, spans, progress)
    return stage.seal(name), Fetched(len(sizes), sum(sizes))


def _copy(
    target: int, source: Path, here: Mapping[str, tuple[int, int]], part: Part
) -> None:
    """Copy the chunks of a part that a file of this host has. Raises OSError."""
    if not here:
        return
    with open(source, "rb") as file:
        position = 0
        for chunk in part.chunks:
            offset, size = here.get(chunk.digest, (0, 0))
            if size == chunk.size:
                os.pwrite(target, os.pread(file.fileno(), size, offset), position)
            position += chunk.size


def _spans(missing: Sequence[tuple[int, Chunk]]) -> Iterator[_Span]:
    """Yield the requests for some chunks: those side by side are asked for together."""
    by_place = sorted(missing, key=lambda one: (one[1].object, one[1].offset))
    group: list[tuple[int, Chunk]] = []
    size = 0
    for position, chunk in by_place:
        if group:
            last = group[-1][1]
            is_next = (last.object, last.offset + last.size) == (
                chunk.object,
                chunk.offset,
            )
            if not is_next or size + chunk.size > SPAN_BYTES:
                yield _Span(group[0][1].object, group[0][1].offset, group)
                group, size = [], 0
        group.append((position, chunk))
        size += chunk.size
    if group:
        yield _Span(group[0][1].object, group[0][1].offset, group)


def _span(bucket: Bucket, span: _Span) -> bytes:
    key = layout.object_key(span.object)

    def is_right(data: bytes) -> bool:
        starts = [(chunk.offset - span.offset, chunk) for _, chunk in span.placed]
        return all(
            sha256(data[start : start + chunk.size]).hexdigest() == chunk.digest
            for start, chunk in starts
        )

    return _read(
        bucket, key, lambda: bucket.read_range(key, span.offset, span.size), is_right
    )


# -- files -----------------------------------------------------------------------------


def _fetch_files(
    source: Source,
    listed: ManifestLines,
    sizes: Mapping[str, int],
    at_hand: _AtHand,
    stage: Stage,
    progress: Progress | None,
) -> Fetched:
    """Stage the files below files/: links to those of this host, others fetched."""
    paths: dict[str, list[str]] = defaultdict(list)
    for path, line in listed.files.items():
        paths[manifest.digest_of(line)].append(f"files/{path}")
    here = at_hand.paths()
    missing = []
    for digest, names in paths.items():
        if digest in here and _is(here[digest], digest):
            try:
                stage.take(names[0], str(here[digest]), digest)
                continue
            except Failure:  # its time was changed
                pass
        missing.append(digest)
    _require_space(stage.folder, sum(sizes[digest] for digest in missing))

    def read(digest: str) -> int:
        data = _object(source.bucket, digest, sizes[digest])
        stage.write(paths[digest][0], data, digest)
        return len(data)

    fetched = concurrently(read, missing, progress)
    for names in paths.values():
        for name in names[1:]:
            stage.link(name, names[0])
    return Fetched(len(fetched), sum(fetched))


def _is(path: Path, digest: str) -> bool:
    """Return whether a file of this host still has this digest."""
    try:
        with open(path, "rb") as file:
            return file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False


def _object(bucket: Bucket, digest: str, size: int) -> bytes:
    key = layout.object_key(digest)

    def read() -> bytes | None:
        bits = bucket.stream(key)
        if bits is None:
            return None
        data = bytearray()
        for bit in bits:
            data += bit
            if len(data) > size:
                break
        return bytes(data)

    return _read(bucket, key, read, lambda data: sha256(data).hexdigest() == digest)


def _read(
    bucket: Bucket,
    key: str,
    read: Callable[[], bytes | None],
    is_right: Callable[[bytes], bool],
) -> bytes:
    """Return bytes of an object that are right, after several attempts at most."""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(ATTEMPT_SECONDS * 2 ** (attempt - 1))
        with faults("source"):
            data = read()
        if data is None:
            raise PullFault("damaged", f"{bucket.where}: {key} is missing")
        if is_right(data):
            return data
    raise PullFault("damaged", f"{bucket.where}: {key} is not what was sent")
