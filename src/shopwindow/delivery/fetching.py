"""Fetches a release into a staging directory: what this host has is linked or copied,
and the rest is read from the source.

Nothing can be read in `releases/` before all of it is here and every byte was compared
with its digest, those too that this host already had. The release id is the digest of
manifest.json, which has the digests of all files but build.json and an index. build.json
has the digest of the index's bytes; its own stands in the source's list of chunks. The
manifest has the digest of the index's rows, which is computed from the file.

The directory outlasts a failure. The next attempt compares what lies there with its
digests, too, and fetches the rest.

What comes from a source is bounded: the size of everything is known before it is read,
and a source that sends more is interrupted.
"""

import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson

from shopwindow.content.reading.processes import Progress
from shopwindow.delivery import layout
from shopwindow.delivery.bucket import Bucket, StoreFailure, concurrently
from shopwindow.delivery.chunks import Chunk, cut
from shopwindow.delivery.layout import BUILD_PART, MANIFEST_PART, Published
from shopwindow.interface.declaring.index import Index
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.manifest import ManifestLines, NewerFormat
from shopwindow.release.releases import Releases, private_digest
from shopwindow.release.stage import Stage, has_bytes
from shopwindow.release.verify import index_faults

MANIFEST_BYTES = 256 * 1024 * 1024
"""Bytes of a manifest: that of 200,000 files, the most that a build writes by itself,
has 60 MB. It is read into memory.
"""

_SAFE_PATH = re.compile(
    r"(?!\.\.?(?:/|$))[^/\0]{1,255}(?:/(?!\.\.?(?:/|$))[^/\0]{1,255})*"
)
"""A path that stays below the folder that it is relative to."""


class PullFault(Failure):
    """Why a release was not pulled. ``kind`` is a key of `pull_notes.FAULT_KINDS`."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@contextmanager
def faults(kind: str) -> Iterator[None]:
    """Raise a Failure within as a PullFault of this kind, unless it has one."""
    try:
        yield
    except PullFault:
        raise
    except Failure as failure:
        kinds = {NewerFormat: "newer", StoreFailure: "source"}
        raise PullFault(kinds.get(type(failure), kind), str(failure)) from None


def fetch(
    bucket: Bucket,
    release: Published,
    releases: Releases,
    before: str | None,
    stage: Stage,
    indexes: Sequence[Index] = (),
    progress: Progress | None = None,
) -> list[int]:
    """Stage a release, of whose files those of the release ``before`` are taken over;
    return how many bytes each request returned.

    ``stage`` may have what an earlier attempt left. ``indexes``: whose rows are compared
    with the release id. ``progress`` is called with how many objects are here, and of
    how many. Raises Failure where something is not what it must be; OSError where this
    host refuses it.
    """
    id = release.id
    folder, lines = _at_hand(releases, before, id)
    if layout.size_of(release.parts[MANIFEST_PART]) > MANIFEST_BYTES:
        raise Failure(
            f"the manifest of release {id[:12]} has more than {MANIFEST_BYTES:,} bytes, "
            "which are the most that are read"
        )
    _require_room(releases.out, _lacking(stage, release))

    def fetch_one(name: str) -> list[int]:
        here = cut(folder / name) if folder else []
        part, path = release.parts[name], Path(stage.path(name))
        return fetch_part(bucket, part, path, here, progress)

    fetched = fetch_one(MANIFEST_PART)
    data = Path(stage.path(MANIFEST_PART)).read_bytes()
    stage.seal(MANIFEST_PART)
    listed = manifest.lines_of(data, id, bucket.where)
    sizes, paths = _files(listed, id)
    _require_parts(release, listed, indexes)
    stage.keep_only({*release.parts, *(first for first, *_ in paths.values())})

    others = sorted({*listed.private, BUILD_PART})
    for name in others:
        fetched += fetch_one(name)
    digests = {name: stage.seal(name) for name in others}
    _require_built(listed, digests, stage, id)
    for line in index_faults(stage.folder, listed.private, indexes):
        raise Failure(f"release {id[:12]}: {line}")

    at_hand = {manifest.digest_of(line): path for path, line in lines.items()}
    missing = [
        digest
        for digest, (first, *_) in paths.items()
        if not stage.has(first, digest)
        and not (
            digest in at_hand
            and _is_taken(stage, first, f"{folder}/files/{at_hand[digest]}", digest)
        )
    ]
    _require_room(releases.out, sum(sizes[digest] for digest in missing))

    def fetch_file(digest: str) -> int:
        _fetch_object(bucket, digest, sizes[digest], stage, paths[digest][0])
        return sizes[digest]

    fetched += concurrently(fetch_file, missing, progress)
    for first, *equal in paths.values():
        for path in equal:
            stage.link(path, first)
    return fetched


def _at_hand(
    releases: Releases, before: str | None, id: str
) -> tuple[Path | None, Mapping[str, bytes]]:
    """Return the folder of what a release may be made from, and the lines of its
    manifest: the release ``before``, unless it is the same one, which is damaged then.
    """
    with suppress(Failure):  # a damaged manifest
        if before is not None and before != id and releases.complete(before):
            return releases.path(before), releases.lines(before).files
    return None, {}


def _is_taken(stage: Stage, name: str, path: str, digest: str) -> bool:
    """Link a file of this host that still has this digest; return whether that is so."""
    with suppress(OSError, Failure):
        if has_bytes(path, digest):
            stage.take(name, path, digest)
            return True
    return False


def _fetch_object(
    bucket: Bucket, digest: str, size: int, stage: Stage, name: str
) -> None:
    """Stage an object as a file, of which no more than ``size`` bytes are read. It may
    be larger than the memory.
    """
    key, path = layout.object_key(digest), Path(stage.path(name))

    def read() -> str | None:
        bits = bucket.stream(key)
        if bits is None:
            return None
        path.unlink(missing_ok=True)  # of the reading before
        with open(path, "xb") as file:
            for bit in bits:
                file.write(bit)
                if file.tell() > size:
                    break
        return stage.seal(name)

    bucket.intact(key, read, digest.__eq__)


# -- parts -----------------------------------------------------------------------------


def fetch_part(
    bucket: Bucket,
    part: Sequence[Chunk],
    path: Path,
    here: Sequence[Chunk] = (),
    progress: Progress | None = None,
) -> list[int]:
    """Write a part to a file, of which an interrupted pull may have written some; return
    how many bytes each request returned.

    Chunks ``here``, of a file of this host, are copied; of the others those that lie
    side by side are one request. ``progress`` is called with how many requests are done,
    and of how many. Raises Failure and OSError.
    """
    at_hand = {chunk.digest: chunk for chunk in here}
    with suppress(FileNotFoundError):
        path.chmod(0o644)  # it may be sealed
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b", buffering=0) as file:
        number, position = file.fileno(), 0
        positions: dict[Chunk, list[int]] = defaultdict(list)
        for chunk in part:
            if not chunk.has_bytes(os.pread(number, chunk.size, position)):
                held = at_hand.get(chunk.digest)
                data = held.read() if held else b""
                if chunk.has_bytes(data):
                    os.pwrite(number, data, position)
                else:
                    positions[chunk].append(position)
            position += chunk.size
        os.ftruncate(number, position)

        def fetch(span: Sequence[Chunk]) -> int:
            pieces = layout.read_span(bucket, span)
            for chunk in span:
                for place in positions[chunk]:
                    os.pwrite(number, pieces[chunk.digest], place)
            return layout.size_of(span)

        return concurrently(fetch, layout.spans(positions), progress)


# -- what may come ---------------------------------------------------------------------


def _require_room(out: Path, needed: int) -> None:
    free = shutil.disk_usage(out).free
    if needed > free:
        raise PullFault(
            "host",
            f"{out}: the release needs {needed / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB "
            "are free; `shopwindow prune --keep N`, or a larger disk",
        )


def _lacking(stage: Stage, release: Published) -> int:
    """Return how many bytes parts will take on the disk beside what is staged."""
    lacking = 0
    for name, part in release.parts.items():
        written = 0
        with suppress(FileNotFoundError):
            written = os.stat(stage.path(name)).st_blocks * 512  # as stat(2) counts
        lacking += max(0, layout.size_of(part) - written)
    return lacking


def _require_parts(
    release: Published, listed: ManifestLines, indexes: Sequence[Index]
) -> None:
    """Raise Failure where a source lists other parts than the manifest, and NewerFormat
    where an index is of a later program.
    """
    if release.parts.keys() != {MANIFEST_PART, BUILD_PART, *listed.private}:
        raise Failure(
            f"{layout.release_key(release.id)} names other files than its manifest"
        )
    for index in indexes:
        format = listed.private.get(index.file, {}).get("format", index.format)
        if format > index.format:
            raise NewerFormat(
                f"release {release.id[:12]}: {index.file} has format {format}; this program "
                f"reads up to {index.format}: update it"
            )


def _files(
    listed: ManifestLines, id: str
) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Return digest → size of the files of a manifest, and digest → their names in the
    release.

    Builds take its lines as they are; this one comes from elsewhere. Raises Failure
    where a line is not what a build writes, or its path leads out of the release.
    """
    sizes: dict[str, int] = {}
    paths: dict[str, list[str]] = defaultdict(list)
    for path, line in listed.files.items():
        try:
            entry = orjson.loads(line)
            stated = entry["path"], layout.count(entry["size"]), entry["sha256"]
            read = path, manifest.size_of(line), manifest.digest_of(line)
            if stated != read or not layout.is_digest(stated[2]):
                raise ValueError("its entries are out of order")
            if not _SAFE_PATH.fullmatch(path):
                raise ValueError("its path leads elsewhere")
        except (ValueError, KeyError, TypeError) as error:
            raise Failure(
                f"release {id[:12]}: {path!r} in its manifest is not what a build "
                f"writes: {error}"
            ) from None
        sizes[stated[2]] = stated[1]
        paths[stated[2]].append(f"files/{path}")
    return sizes, paths


def _require_built(
    listed: ManifestLines, digests: Mapping[str, str], stage: Stage, id: str
) -> None:
    """Compare the staged parts with what the manifest and build.json say of them.

    ``digests``: those of the parts, by name.
    """
    try:
        note = orjson.loads(Path(stage.path(BUILD_PART)).read_bytes())
        layout.instant(note["built"])
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(f"release {id[:12]}: {BUILD_PART}: {error}") from None
    for name, entry in listed.private.items():
        stated = private_digest(name, entry, note)
        if digests[name] != stated:
            raise Failure(
                f"release {id[:12]}: {name} has not the bytes that were built"
            )
