"""Signs what is current at a target, as The Update Framework has it.

```
metadata/1.root.json, …        which keys sign what; each signed by the one before
metadata/7.targets.json        the current release: the digest of what lists its objects
metadata/9.snapshot.json       which of the targets is current
metadata/timestamp.json        which of the snapshots is current; the only one replaced
```

The one target is `releases/<id>/manifest.json`. It has the digests of all chunks of a
release, of its manifest and of a catalog's index as well, and the manifest has those of
all files: so every byte that a host reads follows from one signature.

Numbered files are created, never overwritten. A publisher that was killed leaves some
that no timestamp names, and the next one takes the next number. The timestamp is
replaced on condition that it is still the one that was read. It moves after
`current.json`, in which pins, prunes and competing publishers are decided; whoever was
killed in between, is finished by the next run of `publish`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

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

from shopwindow.delivery import layout, pointer, roots
from shopwindow.delivery.bucket import Bucket, Headers, Version
from shopwindow.delivery.keys import ID_DIGITS, VARIABLE, KeySource
from shopwindow.delivery.publishing import CLOCKS_DIFFER
from shopwindow.delivery.roots import DUE, LIFETIMES, ROOT, RootMetadata
from shopwindow.problems import Failure

NUMBERED = Headers("application/json", "public, max-age=31536000, immutable")
REPLACED = Headers("application/json", "no-cache")

SIGNED = "x-shopwindow-signed"
"""The property of a timestamp with the instant of its signature: with it a host whose
clock is slow notices that.
"""

ABANDONED = 1000
"""Numbers in a row that publishers may have used without finishing. More are no
accident.
"""

ATTEMPTS = 10
"""How often somebody else may replace the timestamp meanwhile. A shop has a few
publishers, and each of them replaces it once.
"""

SEARCHED = 200
"""Versions of the targets in which an earlier release is looked for: those of a month
at six releases a day.
"""

DIGITS = 9
"""Digits of a file's number at most: of more, no publisher has counted."""


@dataclass(frozen=True)
class Signing:
    """The keys of a shop, which sign at a target.

    ``folder``: has the versions of the root. ``source``: has the private keys.
    ``clock`` returns the present instant.
    """

    folder: Path
    source: KeySource
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass(frozen=True)
class Signature:
    """What was signed.

    ``id``: the release that the metadata names. ``targets``: the number of its targets,
    which a host may be given as the lowest. ``changed``: something was signed. ``due``:
    roles that should have been signed, and for which there is no key.
    """

    id: str
    targets: int
    changed: bool
    due: tuple[str, ...] = ()


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


# -- reading what is there -------------------------------------------------------------

Part = TypeVar("Part", Timestamp, Snapshot, Targets)


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
    bucket: Bucket, meta: MetaFile, kind: type[Part], root: Root
) -> Metadata[Part] | None:
    """Return the metadata that other metadata names; None where it is not so."""
    stored = bucket.read(_key(kind.type, meta.version))
    try:
        if stored is not None:
            meta.verify_length_and_hashes(stored.data)
            return _verified(stored.data, kind, root)
    except RepositoryError:
        pass
    return None


def _verified(data: bytes, kind: type[Part], root: Root) -> Metadata[Part] | None:
    """Return metadata; None where it is of another kind, or not signed by its keys."""
    try:
        metadata: Metadata[Part] = Metadata.from_bytes(data)
        if not isinstance(metadata.signed, kind):
            return None
        payload = metadata.signed_bytes
        root.verify_delegate(kind.type, payload, metadata.signatures)
        return metadata
    except (DeserializationError, RepositoryError, ValueError):
        return None


def _key(role: str, version: int) -> str:
    return f"{layout.METADATA}{version}.{role}.json"


def spared(bucket: Bucket) -> set[str]:
    """Return the releases that the metadata at a target names: whoever deletes others
    leaves them alone. Signatures are not verified for that.
    """
    try:
        there = bucket.read(layout.TIMESTAMP)
        if there is None:
            return set()
        number = Metadata[Timestamp].from_bytes(there.data).signed.snapshot_meta.version
        there = bucket.read(_key(Snapshot.type, number))
        if there is None:
            return set()
        meta = Metadata[Snapshot].from_bytes(there.data).signed.meta
        there = bucket.read(_key(Targets.type, meta["targets.json"].version))
        if there is None:
            return set()
        named = Metadata[Targets].from_bytes(there.data).signed.targets
        return {id_of(target) for target in named.values()}
    except (
        DeserializationError,
        RepositoryError,
        ValueError,
        KeyError,
        AttributeError,
    ):
        return set()  # nobody can follow it


def proven(bucket: Bucket, root: Root, present: Chain, id: str) -> TargetFile | None:
    """Return the digest and size of what lists a release, as it was signed earlier.

    Only keys of today count. None: no targets that are there name the release.
    """
    role = Targets.type
    there = present.targets
    newest = there.signed.version if there else _highest(bucket, role)
    path = layout.release_key(id)
    for version in range(newest, max(0, newest - SEARCHED), -1):
        stored = bucket.read(_key(role, version))
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


# -- before anything changes -----------------------------------------------------------


def ready(
    bucket: Bucket, signing: Signing, roles: tuple[str, ...] = roots.ROLES[1:]
) -> Chain:
    """Return what is signed at a target, where these keys can go on from it.

    Raises Failure where a key is missing for one of ``roles``, the root has expired or
    is not the one of the target, or a clock is wrong.
    """
    root, now = roots.read(signing.folder), signing.clock()
    path = signing.folder / ROOT
    if root.signed.expires <= now:
        raise Failure(
            f"{path}: has expired, at {_text(root.signed.expires)}, if this machine's "
            f"clock is right, which says {_text(now)}; `shopwindow keys sign "
            f"{signing.folder} --renew` begins the next one"
        )
    for role in roles:
        _require_signers(root.signed, role, signing)
    _require_root(bucket, root, signing.folder)
    present = chain(bucket, root.signed)
    if present.timestamp:
        signed = signed_at(present.timestamp.signed)
        if signed is not None and signed - now > CLOCKS_DIFFER:
            raise Failure(
                f"{bucket.where}: was signed at {_text(signed)}, and this machine's clock "
                f"says {_text(now)}: one of the two clocks is wrong; set it first"
            )
    return present


def signed_at(timestamp: Timestamp) -> datetime | None:
    """Return when a timestamp was signed, by its publisher's clock; None: unknown."""
    text = timestamp.unrecognized_fields.get(SIGNED)
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return moment if moment is None or moment.tzinfo else None


def _text(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%MZ}"


def _signers(root: Root, role: str, signing: Signing) -> list[Any]:
    keys = [root.get_key(id) for id in root.roles[role].keyids]
    return [one for key in keys if (one := signing.source.signer(role, key))]


def _require_signers(root: Root, role: str, signing: Signing) -> None:
    if len(_signers(root, role, signing)) < root.roles[role].threshold:
        ids = ", ".join(id[:ID_DIGITS] for id in root.roles[role].keyids)
        raise Failure(
            f"{signing.source.folder}: the private key {ids} of {role} is neither here nor "
            f"in {VARIABLE}{role.upper()}, and --key-command has none; nothing was changed"
        )


def _require_root(bucket: Bucket, root: RootMetadata, folder: Path) -> None:
    """Raise Failure where a target has another root than a folder, or a newer one."""
    version = root.signed.version
    for number in (version + 1, version, version - 1):
        stored = bucket.read(_key(Root.type, number))
        if stored is None:
            continue
        if number > version:
            key = _key(Root.type, number)
            raise Failure(
                f"{bucket.where}: {key} is newer than {folder / ROOT}; update the folder "
                "of the keys, or delete that object if nobody has signed it"
            )
        if stored.data != (folder / f"{number}.{ROOT}").read_bytes():
            raise Failure(
                f"{bucket.where}: was signed with other keys than those of {folder}; use "
                "its folder, or publish to another prefix"
            )
        return


# -- signing ---------------------------------------------------------------------------


def sign(bucket: Bucket, signing: Signing, target: TargetFile) -> Signature:
    """Let the metadata of a target name a release, if `current.json` does.

    ``target``: what lists its objects; its bytes have been compared with the release.
    Raises Failure.
    """
    id = id_of(target)

    def wanted(present: Chain) -> TargetFile:
        read = pointer.read(bucket).pointer
        if read is None or read.id != id:
            raise Failure(
                f"{bucket.where}: somebody else made another release current meanwhile, "
                f"and {id[:12]} was not signed; look at --list, and run it again"
            )
        return target

    return _replace(bucket, signing, wanted, renew=False)


def renew(bucket: Bucket, signing: Signing) -> Signature:
    """Sign the timestamp of a target again, and what else is due and has a key here.

    Raises Failure.
    """

    def wanted(present: Chain) -> TargetFile:
        if present.target is None:
            raise Failure(
                f"{bucket.where}: has nothing that these keys have signed; "
                "`shopwindow publish TARGET --keys DIR` signs the current release"
            )
        return present.target

    return _replace(bucket, signing, wanted, renew=True)


def _replace(
    bucket: Bucket,
    signing: Signing,
    wanted: Callable[[Chain], TargetFile],
    *,
    renew: bool,
) -> Signature:
    root = roots.read(signing.folder)
    for _ in range(ATTEMPTS):
        present = chain(bucket, root.signed)
        target = wanted(present)
        writer = _Writer(bucket, signing, root.signed, signing.clock())
        targets = writer.targets(present, target)
        snapshot = writer.snapshot(present, targets)
        timestamp = writer.timestamp(present, snapshot, renew=renew)
        signature = Signature(
            id_of(target),
            targets.signed.version,
            timestamp is not present.timestamp,
            tuple(writer.due),
        )
        _send_roots(bucket, root, signing.folder)
        if timestamp is present.timestamp:
            return signature
        data = timestamp.to_bytes()
        if bucket.replace(layout.TIMESTAMP, data, REPLACED, present.version):
            return signature
        again = bucket.read(layout.TIMESTAMP)
        if again is not None and again.data == data:
            return signature  # the answer was lost on the way
    raise Failure(
        f"{bucket.where}: others replace {layout.TIMESTAMP} all the time; run it again"
    )


def _send_roots(bucket: Bucket, root: RootMetadata, folder: Path) -> None:
    """Create the versions of the root that a target lacks, the oldest first.

    They come right before the timestamp: with a new root, what a revoked key has signed
    is good no more.
    """
    lacking = []
    for number in range(root.signed.version, 0, -1):
        path = folder / f"{number}.{ROOT}"
        if not path.exists() or bucket.read(_key(Root.type, number)) is not None:
            break
        lacking.append((number, path.read_bytes()))
    for number, data in reversed(lacking):
        bucket.create(_key(Root.type, number), data, NUMBERED)


@dataclass(frozen=True)
class _Writer:
    """Makes and signs metadata, and creates what is numbered.

    ``now``: the instant. ``due``: roles that were due, and for which there is no key.
    """

    bucket: Bucket
    signing: Signing
    root: Root
    now: datetime
    due: list[str] = field(default_factory=list)

    def targets(self, present: Chain, target: TargetFile) -> Metadata[Targets]:
        """Return targets that name one target: those that there are, or new ones."""
        there = present.targets
        if there is not None and present.target == target and self._lasts(there):
            return there
        signed = Targets(expires=self._expiry("targets"), targets={target.path: target})
        return self._created(signed, there)

    def snapshot(
        self, present: Chain, targets: Metadata[Targets]
    ) -> Metadata[Snapshot]:
        """Return a snapshot that names these targets: the one there, or a new one."""
        there = present.snapshot
        if there is not None and targets is present.targets and self._lasts(there):
            return there
        meta = {"targets.json": _meta(targets)}
        signed = Snapshot(expires=self._expiry("snapshot"), meta=meta)
        return self._created(signed, there)

    def timestamp(
        self, present: Chain, snapshot: Metadata[Snapshot], *, renew: bool
    ) -> Metadata[Timestamp]:
        """Return a timestamp that names this snapshot: the one there, or a new one."""
        there = present.timestamp
        is_same = there is not None and snapshot is present.snapshot
        if there is not None and is_same and not renew and self._lasts(there):
            return there
        signed = Timestamp(
            version=there.signed.version + 1 if there else 1,
            expires=self._expiry("timestamp"),
            snapshot_meta=_meta(snapshot),
            unrecognized_fields={SIGNED: self.now.isoformat(timespec="seconds")},
        )
        return self._signed(signed)

    def _expiry(self, role: str) -> datetime:
        return (self.now + LIFETIMES[role]).replace(microsecond=0)

    def _lasts(self, metadata: Metadata[Part]) -> bool:
        """Return whether metadata need not be signed again, or cannot be."""
        role = metadata.signed.type
        if metadata.signed.expires - self.now >= DUE[role]:
            return True
        if len(_signers(self.root, role, self.signing)) >= self._threshold(role):
            return False
        self.due.append(role)
        return True

    def _threshold(self, role: str) -> int:
        return self.root.roles[role].threshold

    def _created(self, signed: Part, there: Metadata[Part] | None) -> Metadata[Part]:
        """Sign metadata, and create it under the next number that is free."""
        role = signed.type
        last = there.signed.version if there else _highest(self.bucket, role)
        for version in range(last + 1, last + 1 + ABANDONED):
            signed.version = version
            metadata = self._signed(signed)
            data = metadata.to_bytes()
            if self.bucket.create(_key(role, version), data, NUMBERED):
                return metadata
        raise Failure(
            f"{self.bucket.where}: {ABANDONED} numbers from {_key(role, last + 1)} on are "
            "taken, and none of those files is current; look who writes there"
        )

    def _signed(self, signed: Part) -> Metadata[Part]:
        role = signed.type
        _require_signers(self.root, role, self.signing)
        metadata = Metadata(signed)
        for signer in _signers(self.root, role, self.signing):
            metadata.sign(signer, append=True)
        return metadata


def _meta(metadata: Metadata[Part]) -> MetaFile:
    """Return what names metadata: its version, its size and its digest."""
    return MetaFile.from_data(metadata.signed.version, metadata.to_bytes(), ["sha256"])


def _highest(bucket: Bucket, role: str) -> int:
    """Return the highest number of a role's files, whoever wrote them."""
    name = re.compile(rf"([1-9][0-9]{{0,{DIGITS - 1}}})\.{role}\.json")
    matches = map(name.fullmatch, bucket.folders(layout.METADATA))
    return max((int(match[1]) for match in matches if match), default=0)
