"""Looks after a target: lists its releases, compares them, deletes old ones."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice

from shopwindow.content.processes import Progress
from shopwindow.content.scratch import scratch
from shopwindow.delivery import layout, pointer, released
from shopwindow.delivery.activation import require_pointer
from shopwindow.delivery.at_hand import AtHand
from shopwindow.delivery.bucket import DELETED_AT_ONCE, Bucket
from shopwindow.delivery.connections import concurrently
from shopwindow.delivery.layout import Published
from shopwindow.delivery.parts import fetch_part
from shopwindow.delivery.pointer import TargetPointer
from shopwindow.delivery.publishing import require_nobody_prunes
from shopwindow.delivery.signed_upkeep import followed, superfluous
from shopwindow.interface.index import Index
from shopwindow.problems import Failure
from shopwindow.release.manifest import ManifestLines
from shopwindow.release.releases import Release
from shopwindow.release.verify import index_faults

SPARED = timedelta(days=1)
"""How long `prune` leaves alone what was sent, or was current: hosts that pull and
caches may be behind by hours, and a publisher may have been at work as long.
"""

PRUNES_FOR = 600.0
"""Seconds after which `prune` stops. Publishers wait for PRUNING_LASTS, which is half
as long again, and then take the one who prunes for killed.
"""


def listing(bucket: Bucket) -> list[Release]:
    """Return the releases of a target, the newest build first."""
    read = pointer.read(bucket)
    present = read.pointer

    def listed(id: str) -> Release:
        release = released.published(bucket, id)
        is_current = present is not None and present.id == id
        is_pinned = is_current and present is not None and present.pinned
        return Release(
            id, release.built, release.files, release.size, is_current, is_pinned
        )

    releases = concurrently(listed, released.ids(bucket))
    return sorted(releases, key=lambda one: (one.built, one.id), reverse=True)


def verify(
    bucket: Bucket,
    id: str | None = None,
    indexes: Sequence[Index] = (),
    progress: Progress | None = None,
) -> tuple[str, list[str]]:
    """Return a release's id, and a line for each of its objects that is not as it was
    sent.

    ``id`` is the beginning of an id; None: the current one. Every object is read.
    ``indexes``: whose rows are compared with the manifest, where all objects are right.
    """
    current = require_pointer(bucket, pointer.read(bucket).pointer).id
    chosen = released.find(bucket, id) if id else current
    release = released.published(bucket, chosen)

    def fault(digest: str) -> str:
        return released.fault(bucket, layout.object_key(digest), digest)

    holding = released.holding(release)
    faults = concurrently(fault, sorted(holding))
    if not any(faults):  # only then can the manifest be read
        listed = released.lines(bucket, release, {})
        others = sorted(released.objects(release, listed) - holding)
        faults += concurrently(fault, others, progress)
    if not any(faults):
        faults += _index_faults(bucket, release, listed, indexes)
    return chosen, sorted(filter(None, faults))


def _index_faults(
    bucket: Bucket,
    release: Published,
    listed: ManifestLines,
    indexes: Sequence[Index],
) -> list[str]:
    """Return a line for each index of a release whose rows its manifest does not name.

    An index is fetched to this machine's folder for temporary files, as a whole.
    """
    there = [index for index in indexes if index.file in listed.private]
    if not there:
        return []
    with scratch() as folder:
        for index in there:
            part = release.parts[index.file]
            fetch_part(bucket, part, folder / index.file, AtHand())
        return list(index_faults(folder, listed.private, there))


@dataclass(frozen=True)
class Pruned:
    """What `prune` deleted, and how many releases are left. ``ended``: it had the time
    to delete everything.
    """

    deleted: Sequence[str]
    remaining: int
    objects: int
    ended: bool


def prune(bucket: Bucket, keep: int) -> Pruned:
    """Delete releases of a target, and the objects and metadata that no other needs.

    The newest ``keep`` stay, the current one, those whose URLs are still to be purged,
    and what was sent or was current within a day, by the store's clock. The pointer
    says meanwhile that somebody prunes, and no publisher moves it. Raises Failure.
    """
    started = time.monotonic()
    present = _mark(bucket, datetime.now(UTC).isoformat(timespec="microseconds"))
    try:
        now = _clock(bucket)
        sent = {
            item.key.split("/")[1]: item.modified
            for item in bucket.listing(layout.RELEASES)
        }
        if present.id not in sent:
            raise Failure(
                f"{bucket.where}: the store does not list the current release, so nothing "
                "is deleted by its listing; look at it, or run it again later"
            )

        def recency(id: str) -> tuple[datetime, bool, str]:
            # a store's clock may count whole seconds; of one second's, the current one
            return sent[id], id == present.id, id

        newest = sorted(sent, key=recency, reverse=True)
        signed = followed(bucket)
        spared = {*newest[:keep], *_spared(present, now)}
        spared |= signed.releases if signed else set()
        spared |= {id for id in sent if now - sent[id] < SPARED}
        deleted = [id for id in newest if id not in spared]
        kept = [id for id in newest if id in spared]

        if signed:
            bucket.delete(superfluous(bucket, signed, set(kept), now - SPARED))
        bucket.delete(map(layout.release_key, deleted))
        needed = _needed(bucket, kept)
        unneeded = (
            item.key
            for item in bucket.listing(layout.OBJECTS)
            if item.key.rpartition("/")[2] not in needed
            and now - item.modified >= SPARED
        )
        count, ended = _delete(bucket, unneeded, started + PRUNES_FOR)
    finally:
        _mark(bucket, "", present.pruning)
    return Pruned(deleted, len(kept), count, ended)


def _mark(bucket: Bucket, since: str, before: str | None = None) -> TargetPointer:
    """Let the pointer say since when somebody prunes; empty: nobody does. Return it.

    ``before``: do so only while it says this, because that is ours.
    """
    while True:
        read = pointer.read(bucket)
        present = require_pointer(bucket, read.pointer)
        if before is None:
            require_nobody_prunes(bucket, read)
        elif present.pruning != before:
            return present
        marked = replace(present, pruning=since)
        if pointer.move(bucket, read.version, marked):
            return marked


def _clock(bucket: Bucket) -> datetime:
    """Return the store's time, from the pointer that it has just stored.

    This machine's clock may be wrong, and the ages of objects are by the store's.
    """
    stored = bucket.read(layout.POINTER)
    if stored is None:
        raise Failure(f"{bucket.where}: somebody deleted {layout.POINTER} meanwhile")
    return stored.modified


def _spared(present: TargetPointer, now: datetime) -> Iterator[str]:
    """Yield the releases that are current, still to be purged, or were current lately."""
    yield present.id
    yield from present.unpurged
    for entry in present.history:
        if now - datetime.fromisoformat(entry["when"]) < SPARED:
            yield from filter(None, (entry["id"], entry["from"]))


def _needed(bucket: Bucket, ids: Iterable[str]) -> set[str]:
    """Return the digests of all objects of some releases. Chunks are read once."""
    chunks: dict[str, bytes] = {}
    needed: set[str] = set()
    for id in ids:
        release = released.published(bucket, id)
        listed = released.lines(bucket, release, chunks)
        needed |= released.objects(release, listed)
    return needed


def _delete(bucket: Bucket, keys: Iterator[str], deadline: float) -> tuple[int, bool]:
    """Delete objects until the deadline; return how many, and whether those were all."""
    count = 0
    while batch := list(islice(keys, DELETED_AT_ONCE)):
        if time.monotonic() > deadline:
            return count, False
        bucket.delete(batch)
        count += len(batch)
    return count, True
