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
from collections.abc import Mapping, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import orjson

from shopwindow.content.processes import Progress
from shopwindow.delivery import layout
from shopwindow.delivery.at_hand import AtHand, at_hand
from shopwindow.delivery.bucket import Bucket
from shopwindow.delivery.connections import concurrently
from shopwindow.delivery.layout import BUILD_PART, MANIFEST_PART, Published, ReleasePart
from shopwindow.delivery.parts import fetch_part
from shopwindow.delivery.reading import Fetched, read_right
from shopwindow.delivery.source import PullFault, ReleaseSource, faults
from shopwindow.interface.index import Index
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.manifest import ManifestLines
from shopwindow.release.recorded_digests import index_note
from shopwindow.release.releases import Releases
from shopwindow.release.stage import Stage
from shopwindow.release.verify import index_faults

MANIFEST_BYTES = 256 * 1024 * 1024
"""Bytes of a manifest: that of 200,000 files, the most that a build writes by itself,
has 60 MB. It is read into memory.
"""

_SEGMENT = re.compile(r"[^/\0]{1,255}")


def fetch(
    source: ReleaseSource,
    id: str,
    releases: Releases,
    stage: Stage,
    indexes: Sequence[Index] = (),
    progress: Progress | None = None,
) -> Fetched:
    """Stage a release, of whose files those of the current one are taken over.

    ``stage`` may have what an earlier attempt left. ``indexes``: whose rows are compared
    with the release id. ``progress`` is called with how many objects are here, and of
    how many. Raises PullFault; OSError where this host refuses it.
    """
    with faults("damaged"):
        release = source.published(id)
        here = at_hand(releases, id)
        _require_manifest(release.parts[MANIFEST_PART], id)
        _require_room(releases.out, _lacking(stage, release.parts))

        def fetch_one(name: str) -> Fetched:
            part, path = release.parts[name], Path(stage.path(name))
            return fetch_part(source.bucket, part, path, here, progress)

        fetched = fetch_one(MANIFEST_PART)
        data = Path(stage.path(MANIFEST_PART)).read_bytes()
        stage.seal(MANIFEST_PART)
        listed = manifest.lines_of(data, id, source.bucket.where)
        sizes = _sizes(listed, id)
        _require_same_parts(release, listed)
        _require_formats(listed, indexes, id)
        paths = _paths(listed)
        stage.keep_only({*release.parts, *(first for first, *_ in paths.values())})

        others = sorted({*listed.private, BUILD_PART})
        fetched = sum(map(fetch_one, others), fetched)
        digests = {name: stage.seal(name) for name in others}
        _require_parts(listed, digests, stage, id)
        for line in index_faults(stage.folder, listed.private, indexes):
            raise Failure(f"release {id[:12]}: {line}")

        missing = _missing(paths, here, stage)
        _require_room(releases.out, sum(sizes[digest] for digest in missing))

        def fetch_file(digest: str) -> Fetched:
            data = _object(source.bucket, digest, sizes[digest])
            stage.write(paths[digest][0], data, digest)
            return Fetched(1, len(data))

        fetched = sum(concurrently(fetch_file, missing, progress), fetched)
        for first, *equal in paths.values():
            for path in equal:
                stage.link(path, first)
        return fetched


# -- what may come ---------------------------------------------------------------------


def _require_manifest(part: ReleasePart, id: str) -> None:
    if part.size > MANIFEST_BYTES:
        raise Failure(
            f"the manifest of release {id[:12]} has {part.size:,} bytes, "
            f"and {MANIFEST_BYTES:,} are the most that are read"
        )


def _require_room(out: Path, needed: int) -> None:
    free = shutil.disk_usage(out).free
    if needed > free:
        raise PullFault(
            "host",
            f"{out}: the release needs {needed / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB "
            "are free; `shopwindow prune --keep N`, or a larger disk",
        )


def _require_same_parts(release: Published, listed: ManifestLines) -> None:
    """Raise Failure where a source lists other parts than the manifest."""
    if release.parts.keys() != {MANIFEST_PART, BUILD_PART, *listed.private}:
        raise Failure(
            f"{layout.release_key(release.id)} names other files than its manifest"
        )


def _require_formats(listed: ManifestLines, indexes: Sequence[Index], id: str) -> None:
    """Raise PullFault where an index is of a later program."""
    for index in indexes:
        format = listed.private.get(index.file, {}).get("format", index.format)
        if format > index.format:
            raise PullFault(
                "newer",
                f"release {id[:12]}: {index.file} has format {format}; this program reads "
                f"up to {index.format}: update it",
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
            stated = entry["path"], layout.count(entry["size"]), entry["sha256"]
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
        layout.instant(note["built"])
    except (ValueError, KeyError, TypeError) as error:
        raise Failure(f"release {id[:12]}: {BUILD_PART}: {error}") from None
    for name, entry in listed.private.items():
        stated = entry.get("sha256") or index_note(note, Path(name).stem).get("sha256")
        if digests[name] != stated:
            raise Failure(
                f"release {id[:12]}: {name} has not the bytes that were built"
            )


def _lacking(stage: Stage, parts: Mapping[str, ReleasePart]) -> int:
    """Return how many bytes parts will take on the disk beside what is staged."""
    lacking = 0
    for name, part in parts.items():
        try:
            written = os.stat(stage.path(name)).st_blocks * 512  # as stat(2) counts
        except FileNotFoundError:
            written = 0
        lacking += max(0, part.size - written)
    return lacking


# -- files -----------------------------------------------------------------------------


def _paths(listed: ManifestLines) -> dict[str, list[str]]:
    """Return digest → the files of a release that have it, by their names in it."""
    paths: dict[str, list[str]] = defaultdict(list)
    for path, line in listed.files.items():
        paths[manifest.digest_of(line)].append(f"files/{path}")
    return paths


def _missing(
    paths: Mapping[str, Sequence[str]], here: AtHand, stage: Stage
) -> list[str]:
    """Link what this host has of some files; return the digests of the others."""
    at_hand = here.paths()
    missing = []
    for digest, names in paths.items():
        if stage.has(names[0], digest):
            continue
        if digest in at_hand and _is(at_hand[digest], digest):
            try:
                stage.take(names[0], str(at_hand[digest]), digest)
                continue
            except Failure:  # its time was changed
                pass
        missing.append(digest)
    return missing


def _is(path: Path, digest: str) -> bool:
    """Return whether a file of this host still has this digest."""
    try:
        with open(path, "rb") as file:
            return file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False


def _object(bucket: Bucket, digest: str, size: int) -> bytes:
    """Return the bytes of an object, of which no more than ``size`` are read."""
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

    return read_right(
        bucket, key, read, lambda data: sha256(data).hexdigest() == digest
    )
