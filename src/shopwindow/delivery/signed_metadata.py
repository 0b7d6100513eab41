"""Reads the signed metadata of a target, as publishers do who go on from it.

```
metadata/1.root.json, …        which keys sign what; each signed by the one before
metadata/7.targets.json        the current release: the digest of what lists its objects
metadata/9.snapshot.json       which of the targets is current
metadata/timestamp.json        which of the snapshots is current; the only one replaced
```

Hosts read it by the library's client (`verifying`), which trusts nothing else.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import (
    Metadata,
    MetaFile,
    Root,
    Snapshot,
    TargetFile,
    Targets,
    Timestamp,
)
from tuf.api.serialization import DeserializationError

from shopwindow.delivery import layout
from shopwindow.delivery.bucket import Bucket, Version
from shopwindow.problems import Failure

SIGNED_AT = "x-shopwindow-signed"
"""The property of a timestamp with the instant of its signature: with it a host whose
clock is slow notices that.
"""

SEARCHED = 200
"""Versions of the targets in which an earlier release is looked for: those of a month
at six releases a day.
"""

NUMBER_DIGITS = 9
"""Digits of a file's number at most: of more, no publisher has counted."""

_NUMBERED_NAME = re.compile(rf"([1-9][0-9]{{0,{NUMBER_DIGITS - 1}}})\.([a-z]+)\.json")

SignedPart = TypeVar("SignedPart", Timestamp, Snapshot, Targets)


@dataclass(frozen=True)
class Chain:
    """The metadata at a target that the keys of today have signed.

    ``version``: of the timestamp's object, whoever signed it; None: there is none. A
    part is None where it is missing or not signed so, and what it leads to then, too.
    """

    version: Version | None
    timestamp: Metadata[Timestamp] | None = None
    snapshot: Metadata[Snapshot] | None = None
    targets: Metadata[Targets] | None = None

    @property
    def target(self) -> TargetFile | None:
        """The one target: what lists the objects of the current release."""
        if self.targets is None:
            return None
        return next(iter(self.targets.signed.targets.values()), None)


def id_of(target: TargetFile) -> str:
    """Return the id of the release that a target is of. Raises Failure."""
    id = target.path.removeprefix(layout.RELEASES).partition("/")[0]
    if target.path != layout.release_key(id) or not layout.is_digest(id):
        raise Failure(f"{target.path[:200]!r}: is signed, and is no release")
    return id


def metadata_key(role: str, number: int) -> str:
    """Return the name of a role's numbered file at a target."""
    return f"{layout.METADATA}{number}.{role}.json"


def numbers(bucket: Bucket, role: str) -> list[int]:
    """Return the numbers of a role's files, the highest first, whoever wrote them."""
    matches = map(_NUMBERED_NAME.fullmatch, bucket.folders(layout.METADATA))
    listed = [int(match[1]) for match in matches if match and match[2] == role]
    return sorted(listed, reverse=True)


def signed_at(timestamp: Timestamp) -> datetime | None:
    """Return when a timestamp was signed, by its publisher's clock; None: unknown."""
    text = timestamp.unrecognized_fields.get(SIGNED_AT)
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return moment if moment is None or moment.tzinfo else None


# -- what the keys of today have signed ------------------------------------------------


def chain(bucket: Bucket, root: Root) -> Chain:
    """Return the metadata at a target that the keys of a root have signed."""
    stored = bucket.read(layout.TIMESTAMP)
    if stored is None:
        return Chain(None)
    timestamp = _verified(stored.data, Timestamp, root)
    if timestamp is None:
        return Chain(stored.version)
    meta = timestamp.signed.snapshot_meta
    snapshot = _linked(bucket, meta, Snapshot, root)
    if snapshot is None:
        return Chain(stored.version, timestamp)
    targets = _linked(bucket, snapshot.signed.meta["targets.json"], Targets, root)
    return Chain(stored.version, timestamp, snapshot, targets)


def _linked(
    bucket: Bucket, meta: MetaFile, kind: type[SignedPart], root: Root
) -> Metadata[SignedPart] | None:
    """Return the metadata that other metadata names; None where it is not so."""
    stored = bucket.read(metadata_key(kind.type, meta.version))
    try:
        if stored is not None:
            meta.verify_length_and_hashes(stored.data)
            return _verified(stored.data, kind, root)
    except RepositoryError:
        pass
    return None


def _verified(
    data: bytes, kind: type[SignedPart], root: Root
) -> Metadata[SignedPart] | None:
    """Return metadata; None where it is of another kind, or not signed by its keys."""
    try:
        metadata: Metadata[SignedPart] = Metadata.from_bytes(data)
        if not isinstance(metadata.signed, kind):
            return None
        payload = metadata.signed_bytes
        root.verify_delegate(kind.type, payload, metadata.signatures)
        return metadata
    except (DeserializationError, RepositoryError, ValueError):
        return None


def proven(bucket: Bucket, root: Root, present: Chain, id: str) -> TargetFile | None:
    """Return the digest and size of what lists a release, as it was signed earlier.

    Only keys of today count. None: no targets that are there name the release.
    """
    path, there = layout.release_key(id), present.targets
    if there is not None and path in there.signed.targets:
        return there.signed.targets[path]
    highest = there.signed.version if there else None
    listed = numbers(bucket, Targets.type)
    earlier = [one for one in listed if highest is None or one < highest]
    for number in earlier[:SEARCHED]:
        stored = bucket.read(metadata_key(Targets.type, number))
        targets = _verified(stored.data, Targets, root) if stored else None
        if targets is not None and path in targets.signed.targets:
            return targets.signed.targets[path]
    return None


def ends(bucket: Bucket, root: Root) -> dict[str, tuple[int, datetime]]:
    """Return role → number and end of what is signed at a target.

    Raises Failure where nothing there is signed by the keys of a root.
    """
    present = chain(bucket, root)
    parts = (present.timestamp, present.snapshot, present.targets)
    if None in parts:
        raise Failure(
            f"{bucket.where}: has no whole metadata that these keys have signed; publish "
            "with --keys"
        )
    return {
        part.signed.type: (part.signed.version, part.signed.expires)
        for part in parts
        if part is not None
    }
