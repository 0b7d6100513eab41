"""Reads back what a target holds: which releases there are, and their manifests."""

from hashlib import sha256

from shopwindow.delivery import layout
from shopwindow.delivery.bucket import Bucket
from shopwindow.delivery.connections import concurrently
from shopwindow.delivery.layout import MANIFEST_PART, PartChunk, Published
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.manifest import ManifestLines
from shopwindow.release.releases import MIN_ID_DIGITS


def ids(bucket: Bucket) -> list[str]:
    """Return the ids of the releases at a target, sorted.

    Of one that was not sent to the end the listing shows nothing, since its manifest is
    created last.
    """
    return bucket.folders(layout.RELEASES)


def find(bucket: Bucket, start: str) -> str:
    """Return the id at a target that begins so. Raises Failure, as `Releases.find`."""
    if len(start) < MIN_ID_DIGITS:
        raise Failure(
            f"{start!r}: an id needs at least {MIN_ID_DIGITS} digits; `--list` lists them"
        )
    matching = [id for id in ids(bucket) if id.startswith(start.lower())]
    if len(matching) != 1:
        what = "several releases begin so" if matching else "no release has this id"
        raise Failure(f"{bucket.where}: {start!r}: {what}; `--list` lists them")
    return matching[0]


def published(bucket: Bucket, id: str) -> Published:
    """Return what a target says of a release. Raises Failure where it has none."""
    stored = bucket.read(layout.release_key(id))
    if stored is None:
        raise Failure(
            f"{bucket.where}: {layout.release_key(id)} is gone; publish a release again"
        )
    return layout.decode(stored.data, id, bucket.where)


def present(bucket: Bucket) -> set[str]:
    """Return the digests of all objects at a target."""
    return {item.key.rpartition("/")[2] for item in bucket.listing(layout.OBJECTS)}


def lines(
    bucket: Bucket, release: Published, at_hand: dict[str, bytes]
) -> ManifestLines:
    """Return the lines of a release's manifest.

    ``at_hand``: chunks by their digest, which need not be read from the target; those
    that are read are added. Raises Failure where the target does not have what the
    release consists of.
    """
    chunks = release.parts[MANIFEST_PART].chunks
    absent = {c.digest: c for c in chunks if c.digest not in at_hand}

    def fetch(chunk: PartChunk) -> tuple[str, bytes]:
        return chunk.digest, read_chunk(bucket, chunk)

    at_hand.update(concurrently(fetch, list(absent.values())))
    data = b"".join(at_hand[chunk.digest] for chunk in chunks)
    return manifest.lines_of(data, release.id, bucket.where)


def read_chunk(bucket: Bucket, chunk: PartChunk) -> bytes:
    """Return a chunk. Raises Failure where it is gone or not what was sent."""
    key = layout.object_key(chunk.object)
    data = bucket.read_range(key, chunk.offset, chunk.size)
    if data is None or sha256(data).hexdigest() != chunk.digest:
        what = "gone" if data is None else "not what was sent"
        raise Failure(f"{bucket.where}: {key} is {what}; `--verify` lists what else is")
    return data


def fault(bucket: Bucket, key: str, digest: str) -> str:
    """Return what is wrong with an object of this digest, as a line; empty: nothing."""
    bits = bucket.stream(key)
    if bits is None:
        return f"{key}: missing"
    actual = sha256()
    for bit in bits:
        actual.update(bit)
    return "" if actual.hexdigest() == digest else f"{key}: not what was sent"


def objects(release: Published, listed: ManifestLines) -> set[str]:
    """Return the digests of all objects that a release consists of."""
    served = {manifest.digest_of(line) for line in listed.files.values()}
    return served | holding(release)


def holding(release: Published) -> set[str]:
    """Return the digests of the objects that hold the chunks of a release's parts."""
    return {chunk.object for part in release.parts.values() for chunk in part.chunks}
