"""Moves the pointer of a target to a release that is there, and pins and unpins it."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from shopwindow.delivery import layout, pointer, released
from shopwindow.delivery.bucket import Bucket, Version
from shopwindow.delivery.pointer import TargetPointer
from shopwindow.delivery.publishing import require_nobody_prunes, with_unpurged
from shopwindow.problems import Failure, number_of
from shopwindow.release.history import Activation

LISTED_OBJECTS = 3
"""Missing objects that the refusal of a rollback names; `--verify` lists all."""


@dataclass(frozen=True)
class MovedPointer:
    """What the pointer was moved to, and from."""

    id: str
    previous: str


def roll_back(
    bucket: Bucket, id: str | None, reason: str = "", *, purges: bool = False
) -> MovedPointer:
    """Make an earlier release of a target the current one there, and pin it.

    ``id`` is the beginning of an id; None: the newest of the history that was never
    rolled back from. ``purges`` is as for `publish`. Raises Failure where there is no
    such release, or objects of it are gone; then nothing has changed.
    """
    present, version = _present(bucket)
    chosen = released.find(bucket, id) if id else present.to_roll_back_to()
    if chosen is None:
        raise Failure(
            f"{bucket.where}: the history names no release to roll back to; "
            "`--list` lists what there is"
        )
    _require_complete(bucket, chosen)
    entry = _entry(present, chosen, reason or "rollback", "rollback")
    moved = present.moved(chosen, "", entry, pin=True)
    moved = with_unpurged(moved, present.id, purges=purges)
    _move(bucket, version, moved)
    return MovedPointer(chosen, present.id)


def pin(bucket: Bucket, reason: str = "") -> str:
    """Pin a target to the release that is current there; return its id."""
    present, version = _present(bucket)
    entry = _entry(present, present.id, reason or "pin", "pin")
    _move(bucket, version, present.moved(present.id, "", entry, pin=True))
    return present.id


def unpin(bucket: Bucket, reason: str = "") -> str:
    """Let the next publication move the pointer again; return the current id."""
    present, version = _present(bucket)
    entry = _entry(present, present.id, reason or "unpin", "unpin")
    _move(bucket, version, present.moved(present.id, "", entry, pin=False))
    return present.id


def _present(bucket: Bucket) -> tuple[TargetPointer, Version | None]:
    read = pointer.read(bucket)
    require_nobody_prunes(bucket, read)
    return require_pointer(bucket, read.pointer), read.version


def require_pointer(bucket: Bucket, present: TargetPointer | None) -> TargetPointer:
    """Return the pointer. Raises Failure where nothing was published yet."""
    if present is None:
        raise Failure(f"{bucket.where}: nothing was published there yet")
    return present


def _entry(present: TargetPointer, id: str, why: str, action: str) -> Activation:
    moment = datetime.now(UTC)
    return pointer.activation(moment, id, present.id, why, action)


def _move(bucket: Bucket, version: Version | None, moved: TargetPointer) -> None:
    # Whoever finished a killed prune's work may have left its mark.
    if not pointer.move(bucket, version, replace(moved, pruning="")):
        raise Failure(
            f"{bucket.where}: somebody moved {layout.POINTER} meanwhile, and nothing "
            "was changed; look at --list, and run it again"
        )


def _require_complete(bucket: Bucket, id: str) -> None:
    """Raise Failure where an object of a release is missing, by the target's listing."""
    release = released.published(bucket, id)
    wanted = released.objects(release, released.lines(bucket, release, {}))
    missing = sorted(wanted - released.present(bucket))
    if missing:
        names = ", ".join(map(layout.object_key, missing[:LISTED_OBJECTS]))
        raise Failure(
            f"{bucket.where}: release {id[:12]} lacks {number_of(len(missing), 'object')}, "
            f"and nothing was changed: {names}"
        )
