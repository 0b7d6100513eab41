"""Which signed metadata at a target is needed, whoever signed it.

Whoever prunes needs no keys, so nothing is verified here: a file that nobody has signed
is spared at worst.
"""

import re
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Metadata, Snapshot, Targets, Timestamp
from tuf.api.serialization import DeserializationError

from shopwindow.delivery import layout
from shopwindow.delivery.bucket import Bucket
from shopwindow.delivery.connections import concurrently
from shopwindow.delivery.signed_metadata import id_of, metadata_key
from shopwindow.problems import Failure

_PRUNED = re.compile(rf"{layout.METADATA}[1-9][0-9]*\.(targets|snapshot)\.json")
"""What may be pruned. The root's versions stay for ever: a host that was given the
first one follows them all.
"""

_Role = TypeVar("_Role", Timestamp, Snapshot, Targets)


@dataclass(frozen=True)
class Followed:
    """Where the timestamp of a target leads.

    ``keys``: the names of its snapshot and its targets. ``releases``: the ids that
    these targets name.
    """

    keys: Set[str]
    releases: Set[str]


def followed(bucket: Bucket) -> Followed | None:
    """Return where the timestamp leads; None where nobody can follow it."""
    timestamp = _decoded(bucket, layout.TIMESTAMP, Timestamp)
    if timestamp is None:
        return None
    snapshot_key = metadata_key(Snapshot.type, timestamp.snapshot_meta.version)
    snapshot = _decoded(bucket, snapshot_key, Snapshot)
    if snapshot is None:
        return None
    targets_key = _next(snapshot)
    targets = _decoded(bucket, targets_key, Targets)
    if targets is None:
        return None
    return Followed({snapshot_key, targets_key}, _releases(targets))


def superfluous(
    bucket: Bucket, present: Followed, kept: Set[str], before: datetime
) -> list[str]:
    """Return the names of the metadata at a target that nobody needs any more.

    ``present``: what counts today, and stays. ``kept``: ids of the releases that stay.
    What leads to one of them stays, too: a host may be about to read it, where the
    release was current until a moment ago, and a rollback needs the signature. So does
    what was stored after ``before``: its publisher may be about to let the timestamp
    name it.
    """
    there = {
        item.key: item.modified
        for item in bucket.listing(layout.METADATA)
        if _PRUNED.fullmatch(item.key)
    }
    old = [key for key in there if there[key] < before and key not in present.keys]

    def names_none(key: str) -> bool:
        targets = _decoded(bucket, key, Targets)
        return targets is None or kept.isdisjoint(_releases(targets))

    gone = _chosen(names_none, (key for key in old if "targets" in key))

    def leads_nowhere(key: str) -> bool:
        snapshot = _decoded(bucket, key, Snapshot)
        following = None if snapshot is None else _next(snapshot)
        return following not in there or following in gone

    leading = _chosen(leads_nowhere, (key for key in old if "snapshot" in key))
    return sorted(leading) + sorted(gone)  # nothing leads to what is gone already


def _chosen(test: Callable[[str], bool], keys: Iterable[str]) -> set[str]:
    """Return the keys that pass a test, which reads an object each."""
    passed = concurrently(lambda key: key if test(key) else None, list(keys))
    return set(filter(None, passed))


def _decoded(bucket: Bucket, key: str, kind: type[_Role]) -> _Role | None:
    """Return what an object says; None where it is missing or of another kind."""
    stored = bucket.read(key)
    if stored is None:
        return None
    try:
        signed = Metadata[_Role].from_bytes(stored.data).signed
    except (DeserializationError, RepositoryError, ValueError):
        return None
    return signed if isinstance(signed, kind) else None


def _next(snapshot: Snapshot) -> str:
    """Return the name of the targets that a snapshot names."""
    meta = snapshot.meta.get("targets.json")
    return metadata_key(Targets.type, meta.version if meta else 0)


def _releases(targets: Targets) -> set[str]:
    """Return the ids of the releases that targets name; there is one, as we sign."""
    ids = set()
    for target in targets.targets.values():
        try:
            ids.add(id_of(target))
        except Failure:  # not a release, so nothing is spared for it
            continue
    return ids
