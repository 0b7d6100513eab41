"""Publishes a release: sends what a target lacks, then lets its pointer lead to it.

The order is what makes it safe to kill:

1. The pointer is read, and its version remembered.
2. The objects are sent that the current release of the target does not name. Each is
   created, never overwritten; that one exists is as good.
3. `releases/<id>/manifest.json` is created. From now on the release is whole.
4. The pointer is replaced, if it is still the version of step 1.

Killed before step 4, the next run finds the objects there. The condition of step 4
covers more than a second publisher: whoever prunes replaces the pointer first, so no
object can have been deleted between steps 2 and 4 without step 4 failing.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from shopwindow.content.processes import Progress
from shopwindow.delivery import layout, pointer, released
from shopwindow.delivery.bucket import Bucket, Headers, size_of
from shopwindow.delivery.bundles import bundled
from shopwindow.delivery.connections import concurrently
from shopwindow.delivery.layout import PartChunk
from shopwindow.delivery.outgoing import PRIVATE_HEADERS, Object, Outgoing
from shopwindow.delivery.pointer import ReadPointer, TargetPointer
from shopwindow.problems import Failure

PRUNING_LASTS = timedelta(minutes=15)
"""How long a publisher believes that somebody is pruning, who may have been killed.
Whoever prunes stops well before (`upkeep.PRUNES_FOR`).
"""

CLOCKS_DIFFER = timedelta(minutes=10)
"""How far in the future a build may lie: clocks of machines that nobody sets differ by
minutes. What is further would refuse every build of other machines for as long.
"""

MANIFEST_HEADERS = Headers("application/json", PRIVATE_HEADERS.cache_control)


@dataclass(frozen=True)
class PublishOptions:
    """How to publish.

    ``reason``: goes into the history. ``force``: also where that would be refused; each
    way of publishing says what for. ``purges``: somebody will purge, so the pointer
    shall list what is to be purged. ``progress`` is called with how many objects or
    files are sent, and of how many.
    """

    reason: str = "publish"
    force: bool = False
    purges: bool = False
    progress: Progress | None = None


BY_DEFAULT = PublishOptions()
"""For whoever has no wishes."""


@dataclass(frozen=True)
class Publication:
    """What `publish` did.

    ``sent`` and ``size``: objects that were created, and their bytes. ``previous``: the
    release that was current before, if any. ``activated``: the pointer has moved.
    ``pinned``: it has not, since it is pinned at ``previous``.
    """

    id: str
    sent: int
    size: int
    previous: str | None
    activated: bool
    pinned: bool


def publish(
    release: Outgoing,
    bucket: Bucket,
    options: PublishOptions = BY_DEFAULT,
) -> Publication:
    """Send a release to a target, and make it the current one there.

    With ``options.force`` also where a newer build is current. Raises Failure, after
    which the pointer is as it was or as another publisher has set it.
    """
    start = pointer.read(bucket)
    sent = size = 0
    while True:
        require_nobody_prunes(bucket, start)
        require_newer(release, start.pointer, bucket.where, force=options.force)
        created = send(release, bucket, start.pointer, options.progress)
        sent, size = sent + len(created), size + sum(created)
        present = start.pointer
        previous = present.id if present else None
        is_current = previous == release.id
        if present and (is_current or present.pinned):
            pinned = present.pinned and not is_current
            return Publication(release.id, sent, size, previous, False, pinned)

        next_pointer = _next(present, release, options)
        if pointer.move(bucket, start.version, next_pointer):
            return Publication(release.id, sent, size, previous, True, False)
        again = pointer.read(bucket)
        if again.pointer is None or again.pointer.id not in (previous, release.id):
            state = "is there, but not activated"
            raise Failure(overtaken(bucket.where, release.id, again.pointer, state))
        start = again  # pinned, pruned or purged meanwhile: from the start


def _next(
    present: TargetPointer | None, release: Outgoing, options: PublishOptions
) -> TargetPointer:
    """Return the pointer that leads to a release."""
    previous = present.id if present else None
    moment = datetime.now(UTC)
    entry = pointer.activation(moment, release.id, previous, options.reason, "publish")
    start = present or TargetPointer("", "", "")
    moved = start.moved(release.id, release.last_built, entry, pin=False)
    moved = replace(moved, pruning="")
    return with_unpurged(moved, previous, purges=options.purges)


def with_unpurged(
    moved: TargetPointer, previous: str | None, *, purges: bool
) -> TargetPointer:
    """Return a pointer that lists the previous release as still to be purged.

    Where nobody purges, only a list that somebody has begun is continued.
    """
    if previous is None or not (purges or moved.unpurged):
        return moved
    return replace(moved, unpurged=(*moved.unpurged, previous))


def require_nobody_prunes(bucket: Bucket, read: ReadPointer) -> None:
    """Raise Failure while somebody deletes objects of this target."""
    since = read.pointer.pruning if read.pointer else ""
    if since and datetime.now(UTC) - datetime.fromisoformat(since) < PRUNING_LASTS:
        raise Failure(
            f"{bucket.where}: somebody has been pruning since {since[:19]}Z; "
            "run it again when that is done"
        )


def require_unsigned(bucket: Bucket) -> None:
    """Raise Failure where hosts follow signatures, which would not move."""
    if bucket.read_range(layout.TIMESTAMP, 0, 1) is not None:
        raise Failure(
            f"{bucket.where}: is signed, so hosts with a root would not follow; say --keys "
            f"DIR. To end that, delete what is below {layout.METADATA} there"
        )


def require_right_clock(bucket: Bucket, now: datetime) -> None:
    """Raise Failure where the clock at a target says something else than this one.

    What is published in the future, others take for the newest until then, and what is
    signed in the future, hosts refuse.
    """
    there = bucket.clock()
    if there is not None and abs(there - now) > CLOCKS_DIFFER:
        raise Failure(
            f"{bucket.where}: the clock there says {there:%Y-%m-%d %H:%MZ}, and this "
            f"machine's {now:%Y-%m-%d %H:%MZ}, so nothing was changed; set the one that is "
            "wrong"
        )


def require_newer(
    release: Outgoing, present: TargetPointer | None, where: str, *, force: bool
) -> None:
    """Raise Failure where a release is older than what is current at the target."""
    built, now = datetime.fromisoformat(release.last_built), datetime.now(UTC)
    if built - now > CLOCKS_DIFFER:
        raise Failure(
            f"release {release.id[:12]} was built at {release.last_built[:19]}Z, which is in "
            "the future: set this machine's clock, and build again"
        )
    if present is None or force or present.id == release.id or present.pinned:
        return
    if built < datetime.fromisoformat(present.built):
        raise Failure(
            f"{where}: a newer build is current, {present.id[:12]} of "
            f"{present.built[:19]}Z; release {release.id[:12]} is of "
            f"{release.last_built[:19]}Z. Publish it with --force, or go back with --rollback"
        )


def overtaken(where: str, id: str, present: TargetPointer | None, state: str) -> str:
    """Return what happened where another publisher was faster.

    ``state``: what became of this one's release. Nobody tries again from here. The
    release was built before the other one was current, perhaps from older content, and
    only another build knows the newest.
    """
    if present is None:
        return f"{where}: somebody deleted {layout.POINTER} meanwhile; run it again"
    by = present.history[-1]["who"] if present.history else "another publisher"
    return (
        f"{where}: {by} was faster, and {present.id[:12]} is current; {id[:12]} {state}. "
        "If the current one lacks your change, build again, which takes the newest "
        "content, and publish that"
    )


# -- sending ---------------------------------------------------------------------------


def send(
    release: Outgoing,
    bucket: Bucket,
    present: TargetPointer | None,
    progress: Progress | None = None,
) -> list[int]:
    """Create what a release consists of; return the size of each object created.

    ``present``: what is current at the target, whose objects are there.
    """
    key = layout.release_key(release.id)
    if bucket.read(key) is not None:
        return []
    there = _there(release, bucket, present)
    published, bundles = bundled(release, there.chunks)
    objects = {**release.files, **bundles}
    missing = [item for item in objects.values() if item.digest not in there.objects]

    def create(item: Object) -> int | None:
        body = item.checked()
        name = layout.object_key(item.digest)
        return size_of(body) if bucket.create(name, body, item.headers) else None

    sizes = concurrently(create, missing, progress)
    listing = layout.encode(published)
    if bucket.create(key, listing, MANIFEST_HEADERS):
        sizes.append(len(listing))
    return [size for size in sizes if size is not None]


@dataclass(frozen=True)
class _There:
    """What a target has: the digests of objects, and chunks by their digest."""

    objects: Set[str]
    chunks: Mapping[str, PartChunk]


def _there(release: Outgoing, bucket: Bucket, present: TargetPointer | None) -> _There:
    """Return what the current release of a target consists of.

    Most chunks of its manifest are those of ours; only the others are read. Where none
    is current, a killed run may have left objects, which are listed; so they are where
    somebody deleted the list of the current release, to have it sent again.
    """
    stored = bucket.read(layout.release_key(present.id)) if present else None
    if present is None or stored is None:
        return _There(released.present(bucket), {})
    current = layout.decode(stored.data, present.id, bucket.where)
    at_hand = {
        piece.digest: piece.body
        for piece in release.parts[layout.MANIFEST_PART]
        if isinstance(piece.body, bytes)
    }
    lines = released.lines(bucket, current, at_hand)
    chunks = [chunk for part in current.parts.values() for chunk in part.chunks]
    return _There(
        released.objects(current, lines), {chunk.digest: chunk for chunk in chunks}
    )
