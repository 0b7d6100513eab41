"""Looks after a target: lists its releases, compares them, rolls back, pins, deletes old
ones.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice

from shopwindow.content.reading.processes import Progress
from shopwindow.delivery import layout, pointer, signing
from shopwindow.delivery.bucket import DELETED_AT_ONCE, Bucket, concurrently
from shopwindow.delivery.layout import (
    OBJECTS,
    POINTER,
    RELEASES,
    object_key,
    release_key,
)
from shopwindow.delivery.pointer import TargetPointer
from shopwindow.delivery.signing import Signature, Signing
from shopwindow.problems import Failure, number_of
from shopwindow.release import history
from shopwindow.release.chain import Chain, Link
from shopwindow.release.manifest import digest_of
from shopwindow.release.releases import Release, id_of

SPARED = timedelta(days=1)
"""How long `prune` leaves alone what was sent, or was current: hosts that pull and
caches may be behind by hours, and a publisher may have been at work as long.
"""

PRUNES_FOR = 600.0
"""Seconds after which `prune` stops. Publishers wait for PRUNING_LASTS, which is half
as long again, and then take the one who prunes for killed.
"""


def listing(bucket: Bucket) -> list[Release]:
    """Return the releases of a target: those that follow, the last one first, then the
    others, the newest build first.
    """
    present = pointer.read(bucket)
    now = datetime.now(UTC)
    current = present.id(now) if present else None
    ahead = present.chain.remaining(now).links[1:] if present else ()
    starts = {link.id: link.start.isoformat() for link in ahead}

    def listed(id: str) -> Release:
        release = layout.published(bucket, id)
        is_current = id == current
        return Release(
            id,
            release.built,
            release.files,
            release.size,
            current=is_current,
            pinned=is_current and present is not None and present.pinned,
            start=starts.get(id, ""),
        )

    releases = concurrently(listed, layout.ids(bucket))
    return sorted(
        releases, key=lambda one: (one.start, one.built, one.id), reverse=True
    )


def named(bucket: Bucket, present: TargetPointer, id: str) -> str:
    """Return the release that is meant: by the beginning of its id, as "current", or as
    "previous", the one that was current before it. Raises Failure.
    """
    now = datetime.now(UTC)
    current = present.id(now)
    if id == "current":
        return current
    if id != "previous":
        return id_of(id, layout.ids(bucket))
    previous = history.before(present.activations(now), current)
    if previous is None:
        raise Failure(
            f"{bucket.where}: the history names no release that was current before "
            f"{current[:12]}; `shopwindow releases --target` lists what there is"
        )
    return id_of(previous, layout.ids(bucket))


def verify(
    bucket: Bucket, id: str = "current", progress: Progress | None = None
) -> tuple[list[str], list[str]]:
    """Return a release, and a line for each of its objects that is not as it was sent;
    with the current release those that follow it, too.

    ``id`` is what `named` takes. Every object is read, once. Raises Failure.
    """
    present = pointer.required(bucket)
    ids, now = [named(bucket, present, id)], datetime.now(UTC)
    if ids == [present.id(now)]:
        ids += [link.id for link in present.chain.remaining(now).links[1:]]
    releases = [layout.published(bucket, id) for id in ids]

    fault = partial(layout.fault, bucket)
    holding = set[str]().union(*map(layout.holding, releases))
    faults = concurrently(fault, list(holding))
    if not any(faults):  # only then can the manifests be read
        chunks: dict[str, bytes] = {}
        listed = [layout.lines(bucket, release, chunks) for release in releases]
        served = {digest_of(line) for one in listed for line in one.files.values()}
        faults += concurrently(fault, sorted(served - holding), progress)
    return ids, sorted(filter(None, faults))


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
    """Delete releases of a target, and the objects that no other needs.

    The newest ``keep`` stay, those of the chain, those whose URLs are still to be purged,
    and what was sent or was current within a day, by the store's clock. So does what the
    metadata names as current, whoever has signed that: what nobody verifies may only
    spare. Metadata itself stays, 10 KB a publication. The pointer says meanwhile that
    somebody prunes, and no publisher moves it. Raises Failure.
    """
    started = time.monotonic()
    present = _mark(bucket, datetime.now(UTC).isoformat(timespec="microseconds"))
    try:
        # The ages of objects are by the store's clock: this machine's may be wrong.
        stored = bucket.read(POINTER)
        if stored is None:
            raise Failure(f"{bucket.where}: somebody deleted {POINTER} meanwhile")
        now = stored.modified
        sent = {
            item.key.split("/")[1]: item.modified for item in bucket.listing(RELEASES)
        }
        if present.id(now) not in sent:
            raise Failure(
                f"{bucket.where}: the store does not list the current release, so nothing "
                "is deleted by its listing; look at it, or run it again later"
            )

        newest = sorted(sent, key=lambda id: (sent[id], id), reverse=True)
        signed = signing.read_metadata(bucket, None).chain
        spared = {*newest[:keep], *_spared(present, now)}
        spared |= {link.id for link in signed.links} if signed else set()
        spared |= {id for id in sent if now - sent[id] < SPARED}
        deleted = [id for id in newest if id not in spared]
        kept = [id for id in newest if id in spared]

        bucket.delete([release_key(id) for id in deleted])
        needed = _needed(bucket, kept)
        unneeded = (
            item.key
            for item in bucket.listing(OBJECTS)
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
        present = pointer.required(bucket)
        if before is None:
            pointer.require_nobody_prunes(bucket, present)
        elif present.pruning != before:
            return present
        marked = replace(present, pruning=since)
        if pointer.move(bucket, present, marked):
            return marked


def _spared(present: TargetPointer, now: datetime) -> Iterator[str]:
    """Yield the releases of the chain, those still to be purged, and those that were
    current lately.
    """
    yield from (link.id for link in present.chain.links)
    yield from present.unpurged
    for entry in present.history:
        if now - datetime.fromisoformat(entry["when"]) < SPARED:
            yield from filter(None, (entry["id"], entry["from"]))


def _needed(bucket: Bucket, ids: Iterable[str]) -> set[str]:
    """Return the digests of all objects of some releases. Chunks are read once."""
    chunks: dict[str, bytes] = {}
    needed: set[str] = set()
    for id in ids:
        needed |= layout.objects(bucket, layout.published(bucket, id), chunks)
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


# -- roll back, pin --------------------------------------------------------------------

LISTED_OBJECTS = 3
"""Missing objects that the refusal of a rollback names; `verify` lists all."""


@dataclass(frozen=True)
class MovedPointer:
    """What the pointer was moved to, and from."""

    id: str
    previous: str
    signature: Signature | None = None


def activate(
    bucket: Bucket,
    id: str | None,
    reason: str = "",
    *,
    pin: bool,
    purges: bool = False,
    signs: Signing | None = None,
) -> MovedPointer:
    """Make a release of a target the current one there, and pin or unpin it.

    No release follows it, unless the current one is only unpinned. ``id`` is what
    `named` takes; None: the newest of the history that was never rolled back from.
    ``purges`` is as for `publish`. ``signs``: who signs that; then also refused where no
    signature of today's keys names the release. Raises Failure where there is no such
    release, or objects of it are gone; then nothing has changed.
    """
    # Before anything is written: the address may be a wrong one.
    present = pointer.required(bucket)
    signed = signing.ready(bucket, signs) if signs else None
    pointer.require_nobody_prunes(bucket, present)
    now = datetime.now(UTC)
    previous, chosen = present.id(now), present.to_roll_back_to(now)
    if id:
        chosen = named(bucket, present, id)
    if chosen is None:
        raise Failure(
            f"{bucket.where}: the history names no release to roll back to; "
            "`shopwindow releases` lists what there is"
        )
    if signed and release_key(chosen) not in signed.listings:
        raise Failure(
            f"{bucket.where}: no metadata that today's keys have signed names release "
            f"{chosen[:12]}, so it may be anybody's, and nothing was changed; build it "
            "again, and publish it with --force"
        )
    if chosen != previous:
        _require_complete(bucket, chosen)
    action = "rollback" if pin else "activate"
    chain = Chain((Link(chosen, now),))
    if id == "current" and not pin:
        chain = present.chain.remaining(now)
    moved = pointer.moved(
        present,
        chain,
        "",
        now=now,
        action=action,
        reason=reason or action,
        pin=pin,
        purges=purges,
    )
    if not pointer.move(bucket, present, moved):
        raise Failure(
            f"{bucket.where}: somebody moved {POINTER} meanwhile, and nothing "
            "was changed; look at `shopwindow releases`, and run it again"
        )
    done = MovedPointer(chosen, previous)
    if not signs or not signed:
        return done
    listed = [signed.listings[release_key(chosen)]]
    return replace(done, signature=signing.sign(bucket, signs, chain, listed))


def _require_complete(bucket: Bucket, id: str) -> None:
    """Raise Failure where an object of a release is missing, by the target's listing."""
    release = layout.published(bucket, id)
    wanted = layout.objects(bucket, release, {})
    missing = sorted(wanted - layout.present(bucket))
    if missing:
        names = ", ".join(map(object_key, missing[:LISTED_OBJECTS]))
        raise Failure(
            f"{bucket.where}: release {id[:12]} lacks {number_of(len(missing), 'object')}, "
            f"and nothing was changed: {names}"
        )
