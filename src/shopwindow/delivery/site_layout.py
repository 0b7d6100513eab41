"""Publishes the files of a release under their own paths, for plain static hosting.

Such a host reads no pointer and maps no digests: what lies at a path is what it serves.
So files are overwritten one by one, and meanwhile a reader may meet two releases. What
can be kept is that the next run ends what a killed one began. For that, the pointer
lists the releases of which files may lie there, before the first file is sent:

1. `manifests/<id>.json.gz` is created: which files the release has.
2. The pointer lists the release as begun.
3. Files are sent that differ from the current release's or from any begun one's; files
   that only these have are deleted.
4. The pointer leads to the release, and lists nothing as begun. Manifests of earlier
   releases are deleted, but for those that are needed to purge.
"""

import gzip
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from shopwindow.content.processes import Progress
from shopwindow.delivery import pointer
from shopwindow.delivery.bucket import Bucket, size_of
from shopwindow.delivery.connections import concurrently
from shopwindow.delivery.outgoing import PRIVATE_HEADERS, Object, Outgoing, headers
from shopwindow.delivery.pointer import SITE, TargetPointer
from shopwindow.delivery.publishing import (
    BY_DEFAULT,
    Publication,
    PublishOptions,
    require_newer,
    with_unpurged,
)
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.manifest import ManifestLines

SENDING_LASTS = timedelta(minutes=10)
"""How long a publisher believes that another one is at work, who may have been killed.
18,800 files take a minute or two.
"""


def manifest_key(id: str) -> str:
    """Return the name of the manifest of a release.

    It is that of the output directory, compressed: 1 MB in place of 6, twice for each
    change.
    """
    return f"manifests/{id}.json.gz"


def lines(bucket: Bucket, id: str) -> ManifestLines:
    """Return the lines of the manifest of a release that was published as a site."""
    stored = bucket.read(manifest_key(id))
    if stored is None:
        raise Failure(
            f"{bucket.where}: {manifest_key(id)} is gone; publish to another prefix"
        )
    try:
        data = gzip.decompress(stored.data)
    except (OSError, EOFError, zlib.error) as error:
        raise Failure(f"{bucket.where}: {manifest_key(id)}: {error}") from None
    return manifest.lines_of(data, id, bucket.where)


def publish_site(
    release: Outgoing,
    bucket: Bucket,
    options: PublishOptions = BY_DEFAULT,
) -> Publication:
    """Send the files of a release to their paths at a target.

    With ``options.force`` also where a newer build is current, or another publisher
    seems to be at work; of the release that is current, every file again. Raises
    Failure; then files of both releases may lie there, until a publication ends.
    """
    read = pointer.read(bucket, SITE)
    present = read.pointer
    _require_nobody_sends(bucket, present, force=options.force)
    require_newer(release, present, bucket.where, force=options.force)
    previous = present.id if present and present.id else None
    if present and previous == release.id and not present.begun and not options.force:
        return Publication(release.id, 0, 0, previous, False, False)

    listing = gzip.compress(release.manifest_bytes(), mtime=0)
    bucket.create(manifest_key(release.id), listing, PRIVATE_HEADERS)
    now = datetime.now(UTC)
    start = present or TargetPointer("", "", "", layout=SITE)
    begun = tuple(dict.fromkeys((*start.begun, release.id)))
    sending = replace(
        start, begun=begun, sending=now.isoformat(timespec="microseconds")
    )
    if not pointer.move(bucket, read.version, sending):
        raise Failure(_at_work(bucket))

    earlier = [id for id in (previous, *start.begun) if id and id != release.id]
    there = [lines(bucket, id).files for id in earlier]
    sizes = _send(release, bucket, there, options.progress)

    entry = pointer.activation(now, release.id, previous, options.reason, "publish")
    moved = sending.moved(release.id, release.last_built, entry, pin=False)
    moved = with_unpurged(moved, previous, purges=options.purges)
    version = pointer.read(bucket, SITE)
    if version.pointer != sending or not pointer.move(
        bucket, version.version, replace(moved, begun=(), sending="")
    ):
        raise Failure(_at_work(bucket))
    bucket.delete(manifest_key(id) for id in earlier if id not in moved.unpurged)
    return Publication(release.id, len(sizes), sum(sizes), previous, True, False)


def _send(
    release: Outgoing,
    bucket: Bucket,
    there: Sequence[Mapping[str, bytes]],
    progress: Progress | None,
) -> list[int]:
    """Send the files that may differ from what is there, and delete those that no
    longer exist; return the sizes of those sent.

    ``there``: the lines of the releases of which files may lie there; none: nothing is.
    """
    files = release.lines.files
    differing = [
        path
        for path, line in files.items()
        if not there or any(lines.get(path) != line for lines in there)
    ]

    def send(path: str) -> int:
        line = files[path]
        digest = manifest.digest_of(line)
        body = Object(digest, release.path(path), headers(line)).checked()
        bucket.overwrite(path, body, headers(line))
        return size_of(body)

    sizes = concurrently(send, differing, progress)
    bucket.delete(sorted(set().union(*there) - files.keys()))
    return sizes


def _require_nobody_sends(
    bucket: Bucket, present: TargetPointer | None, *, force: bool
) -> None:
    """Raise Failure while another publisher seems to be at work."""
    since = present.sending if present else ""
    if not since or force:
        return
    if datetime.now(UTC) - datetime.fromisoformat(since) < SENDING_LASTS:
        raise Failure(
            f"{bucket.where}: somebody has been publishing since {since[:19]}Z; run it "
            "again when that is done, or with --force where it was killed"
        )


def _at_work(bucket: Bucket) -> str:
    return (
        f"{bucket.where}: another publisher is at work, too; run it again, so that no "
        "files of two releases stay there, and see that one runs at a time"
    )
