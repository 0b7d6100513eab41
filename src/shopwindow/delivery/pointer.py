"""current.json at a target: which release is current when, and what else must move with
it.

It is the one object that publishers replace, each time on condition that nobody else
has since they read it. So whatever has to be decided together, stands in it: the chain
of releases with the instants from which they are in force, its pin, the last
activations, releases whose URLs are still to be purged, and that somebody is pruning.

Which release is current follows from the chain and the time, and stands nowhere else.
So a release of the chain becomes current without anybody's help.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import orjson

from shopwindow.delivery import layout
from shopwindow.delivery.bucket import Bucket, Headers, Stored, Version
from shopwindow.problems import Failure
from shopwindow.release import history
from shopwindow.release.chain import Chain, Link, as_json, chain_of
from shopwindow.release.history import Activation
from shopwindow.release.manifest import NewerFormat

POINTER_FORMAT = 2
"""The format of current.json, which it states. Format 1 named one release, as ``id``."""

HISTORY = 20
"""Activations that the pointer lists: enough to roll back from, and few enough that a
host which asks for the pointer every second reads 7 KB at most.
"""

PRUNING_LASTS = timedelta(minutes=15)
"""How long a publisher believes that somebody is pruning, who may have been killed.
Whoever prunes stops well before (`upkeep.PRUNES_FOR`).
"""

CLOCKS_DIFFER = timedelta(minutes=10)
"""How far in the future a build may lie: clocks of machines that nobody sets differ by
minutes. What is further would refuse every build of other machines for as long.
"""

POINTER_HEADERS = Headers("application/json", "no-cache")


@dataclass(frozen=True)
class TargetPointer:
    """What current.json says.

    ``switched``: when the chain was put there. ``built``: the latest build that was
    current. Both are RFC 3339. ``unpurged``: ids of releases before those of the chain
    that caches may still hold, the oldest first. ``pruning``: since when somebody is
    pruning; empty: nobody is. ``history``: the last activations, the oldest first, as in
    history.jsonl. ``version``: of the object that it was read from, which does not say
    so itself.
    """

    chain: Chain
    switched: str
    built: str
    pinned: bool = False
    unpurged: tuple[str, ...] = ()
    pruning: str = ""
    history: tuple[Activation, ...] = ()
    version: Version = field(default_factory=dict, compare=False)

    def id(self, now: datetime) -> str:
        """Return the release that is in force at an instant."""
        return self.chain.in_force(now).id

    def served(self, now: datetime) -> tuple[str, ...]:
        """Return the releases that caches may hold, the oldest first: what nobody has
        purged yet, and those of the chain until the one in force.
        """
        return (*self.unpurged, *(link.id for link in self.chain.begun(now)))

    def activations(self, now: datetime) -> tuple[Activation, ...]:
        """Return the history, and what has become current by the chain alone."""
        moves = [
            history.activation(
                link.start, link.id, before.id, "its instant", "ahead", by="the chain"
            )
            for before, link in pairwise(self.chain.begun(now))
        ]
        return (*self.history, *moves)

    def to_roll_back_to(self, now: datetime) -> str | None:
        """Return the newest release of the history that was never rolled back from."""
        return history.to_roll_back_to(self.activations(now), self.id(now))


def moved(
    present: TargetPointer | None,
    chain: Chain,
    built: str,
    *,
    now: datetime,
    action: str,
    reason: str,
    pin: bool,
    purges: bool,
) -> TargetPointer:
    """Return the pointer after an activation, which goes into the history.

    ``present``: the pointer of before. ``chain`` begins with the release in force.
    ``built`` is a build's instant; the latest of all is kept, so that after a rollback
    no build returns that is older than what was rolled back. ``purges``: somebody
    purges, so the releases of before are listed as still to be purged. Where nobody
    does, only a list that somebody has begun is continued.
    """
    id = chain.links[0].id
    previous = present.id(now) if present else None
    unpurged: tuple[str, ...] = ()
    if present and (purges or present.unpurged):
        served = present.served(now)
        unpurged = served if previous != id else served[:-1]
    # With microseconds, so that no two publishers write the same pointer.
    entry = history.activation(
        now, id, previous, reason, action, precision="microseconds"
    )
    return TargetPointer(
        chain=chain,
        switched=str(entry["when"]),
        built=max(present.built, built) if present else built,
        pinned=pin,
        unpurged=unpurged,
        history=(*(present.activations(now) if present else ()), entry)[-HISTORY:],
    )


def read(bucket: Bucket) -> TargetPointer | None:
    """Return the pointer of a target; None where there is none.

    Raises Failure where it is of a later program, or none; and where there is no
    pointer, but something that no publisher wrote.
    """
    stored = bucket.read(layout.POINTER)
    if stored is not None:
        return _decode(stored, bucket.where)
    ours = (layout.OBJECTS, layout.RELEASES, layout.METADATA)
    for item in bucket.listing(""):
        if not item.key.startswith(ours):
            raise Failure(
                f"{bucket.where}: holds something else ({item.key.partition('/')[0]}); "
                "publish to a prefix of its own"
            )
    return None


def required(bucket: Bucket) -> TargetPointer:
    """Return the pointer. Raises Failure where nothing was published yet."""
    present = read(bucket)
    if present is None:
        raise Failure(f"{bucket.where}: nothing was published there yet")
    return present


def _decode(stored: Stored, where: str) -> TargetPointer:
    try:
        value = orjson.loads(stored.data)
        if value["format"] > POINTER_FORMAT:
            raise NewerFormat(
                f"{where}: {layout.POINTER} has format {value['format']}; "
                f"this program reads up to {POINTER_FORMAT}: update it"
            )
        if "layout" in value:
            raise ValueError("it is of a site, which this program no longer publishes")
        return TargetPointer(
            chain=_chain(value),
            switched=layout.instant(value["switched"]),
            built=layout.instant(value["built"]),
            pinned=_flag(value.get("pinned", False)),
            unpurged=tuple(map(layout.digest, value.get("unpurged", ()))),
            pruning=layout.instant(value["pruning"]) if "pruning" in value else "",
            history=tuple(map(_activation, value.get("history", ()))),
            version=stored.version,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(
            f"{where}: {layout.POINTER} is not what a publisher writes ({layout.lacking(error)}); "
            "publish to a prefix of its own"
        ) from None


def _chain(value: Any) -> Chain:
    """Return the chain of a pointer. Raises ValueError, KeyError or TypeError."""
    if value["format"] < POINTER_FORMAT:
        since = datetime.fromisoformat(value["switched"])
        chain = Chain((Link(value["id"], since),))
    else:
        chain = chain_of(value["chain"])
    for link in chain.links:
        layout.digest(link.id)
    return chain


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{str(value)[:80]} is neither true nor false")
    return value


def _activation(value: Any) -> Activation:
    """Return an entry of the history. Raises ValueError, KeyError or TypeError."""
    layout.instant(value["when"])
    layout.digest(value["id"])
    if value["from"] is not None:
        layout.digest(value["from"])
    if not isinstance(value["who"], str):
        raise ValueError("its history has an entry of nobody")
    return dict(value)


def _encode(pointer: TargetPointer) -> bytes:
    entries = {"format": POINTER_FORMAT, **vars(pointer)}
    entries["chain"] = as_json(pointer.chain)
    del entries["version"]
    value = {name: entry for name, entry in entries.items() if entry}
    return orjson.dumps(value) + b"\n"


def move(bucket: Bucket, present: TargetPointer | None, pointer: TargetPointer) -> bool:
    """Replace the pointer, if it is still the one that was read.

    ``present``: that one; None: there was none. Returns False where somebody else was
    faster. A request that the network lost may have arrived: then the pointer is ours
    already.
    """
    data, version = _encode(pointer), present.version if present else None
    if bucket.replace(layout.POINTER, data, POINTER_HEADERS, version):
        return True
    stored = bucket.read(layout.POINTER)
    return stored is not None and stored.data == data


def require_nobody_prunes(bucket: Bucket, present: TargetPointer | None) -> None:
    """Raise Failure while somebody deletes objects of this target."""
    since = present.pruning if present else ""
    if since and datetime.now(UTC) - datetime.fromisoformat(since) < PRUNING_LASTS:
        raise Failure(
            f"{bucket.where}: somebody has been pruning since {since[:19]}Z; "
            "run it again when that is done"
        )


def require_right_clock(bucket: Bucket, now: datetime) -> None:
    """Raise Failure where the clock at a target says something else than this one.

    What is published in the future, others take for the newest until then, and what is
    signed in the future, hosts refuse. The store's time is that which it gives an object
    which is written for that. S3 refuses the requests of a clock that is wrong.
    """
    if bucket.where.startswith("s3://"):
        return
    bucket.overwrite(layout.CLOCK, b"", POINTER_HEADERS)
    stored = bucket.read(layout.CLOCK)
    if stored is not None and abs(stored.modified - now) > CLOCKS_DIFFER:
        raise Failure(
            f"{bucket.where}: the clock there says {stored.modified:%Y-%m-%d %H:%MZ}, and "
            f"this machine's {now:%Y-%m-%d %H:%MZ}, so nothing was changed; set the one "
            "that is wrong"
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
    current = present.id(datetime.now(UTC))
    return (
        f"{where}: {by} was faster, and {current[:12]} is current; {id[:12]} {state}. "
        "If the current one lacks your change, build again, which takes the newest "
        "content, and publish that"
    )
