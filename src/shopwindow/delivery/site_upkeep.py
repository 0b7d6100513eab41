"""Looks after a site: which release its files are of, and whether they still are."""

from shopwindow.content.processes import Progress
from shopwindow.delivery import pointer, released
from shopwindow.delivery.activation import require_pointer
from shopwindow.delivery.bucket import Bucket
from shopwindow.delivery.connections import concurrently
from shopwindow.delivery.pointer import SITE, TargetPointer
from shopwindow.delivery.site_layout import lines
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.releases import Release


def listing(bucket: Bucket) -> list[Release]:
    """Return the release of a site; nothing where the first is not whole yet."""
    present = pointer.read(bucket, SITE).pointer
    if present is None or not present.id:
        return []
    files = lines(bucket, present.id).files.values()
    sizes = {manifest.digest_of(line): manifest.size_of(line) for line in files}
    size = sum(sizes.values())
    return [Release(present.id, present.built, len(files), size, True, False)]


def verify(bucket: Bucket, progress: Progress | None = None) -> tuple[str, list[str]]:
    """Return the id of a site's release, and a line for each file that is not as it was
    sent. Every file is read.

    Raises Failure while files of two releases may lie there.
    """
    present = _whole(bucket)
    files = lines(bucket, present.id).files

    def fault(path: str) -> str:
        return released.fault(bucket, path, manifest.digest_of(files[path]))

    faults = concurrently(fault, list(files), progress)
    return present.id, sorted(filter(None, faults))


def _whole(bucket: Bucket) -> TargetPointer:
    present = require_pointer(bucket, pointer.read(bucket, SITE).pointer)
    if present.begun:
        raise Failure(
            f"{bucket.where}: a publication has begun and not ended, so files of two "
            "releases may lie there; publish again, and verify then"
        )
    return present
