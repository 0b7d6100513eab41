"""Signs what is current at a target, as The Update Framework has it.

```
metadata/1.root.json, …        which keys sign what; each signed by the one before
metadata/7.targets.json        the digests of what lists the objects of each release, and
                               the chain of those that hosts are to serve
metadata/9.snapshot.json       which of the targets is current
metadata/timestamp.json        which of the snapshots is current; the only one replaced
```

What lists a release has the digests of its chunks and of its manifest, and the manifest
has those of all files: so every byte that a host reads follows from one signature. The
targets name earlier releases, too, so that a rollback leads to none that nobody signed.

Numbered files are created, never overwritten. A publisher that was killed leaves some
that no timestamp names, and the next one takes the next number. The timestamp is
replaced on condition that it is still the one that was read. It moves after
`current.json`, in which pins, prunes and competing publishers are decided; whoever was
killed in between, is finished by the next run of `publish`.

Hosts read it by the library's client (`verifying`), which trusts nothing else.
"""

import re
from collections.abc import Callable, Mapping, Sequence
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
from shopwindow.delivery.bucket import Bucket, Headers, Stored, Version
from shopwindow.delivery.keys import KEY_ID_DIGITS, KEY_VARIABLE, KeySource
from shopwindow.delivery.pointer import CLOCKS_DIFFER, POINTER_HEADERS
from shopwindow.delivery.roots import ROLES, ROOT, RootMetadata, due_before
from shopwindow.problems import Failure
from shopwindow.release.chain import Chain, as_json, chain_of

NUMBERED = Headers("application/json", "public, max-age=31536000, immutable")

SIGNED_AT = "x-shopwindow-signed"
"""The property of a timestamp with the instant of its signature: with it a host whose
clock is slow notices that.
"""

CHAIN = "x-shopwindow-chain"
"""The property of targets with the chain of releases that hosts are to serve."""

EVER = "0001-01-01T00:00:00+00:00"
"""Since when the one release is in force that targets of 0.2.0 list."""

SEARCHED = 20
"""Numbers of targets that are looked at: publishers that were killed leave a few."""

ABANDONED = 1000
"""Numbers in a row that publishers may have used without finishing. More are no
accident.
"""

REPLACEMENTS = 10
"""How often somebody else may replace the timestamp meanwhile. A shop has a few
publishers, and each of them replaces it once.
"""

SignedListing = TargetFile
"""The digest and size of what lists a release at a target."""

SignedPart = TypeVar("SignedPart", Timestamp, Snapshot, Targets)


# -- what is signed at a target --------------------------------------------------------


@dataclass(frozen=True)
class SignedMetadata:
    """The metadata at a target, from the timestamp on.

    ``version``: of the timestamp's object, whoever signed it; None: there is none. A
    part is None where it is missing or not signed by the keys of today, and what it
    leads to then, too. ``listings``: name → digest and size of what lists a
    release, as the last targets have it that the keys of today have signed.
    """

    version: Version | None
    timestamp: Metadata[Timestamp] | None = None
    snapshot: Metadata[Snapshot] | None = None
    targets: Metadata[Targets] | None = None
    listings: Mapping[str, TargetFile] = field(default_factory=dict)

    @property
    def chain(self) -> Chain | None:
        """The releases that hosts are to serve."""
        return chain_in(self.targets.signed) if self.targets else None


def chain_in(targets: Targets) -> Chain | None:
    """Return the releases that hosts are to serve; None where targets name none, or one
    that they do not list.
    """
    said = targets.unrecognized_fields.get(CHAIN)
    if (
        said is None and len(targets.targets) == 1
    ):  # of 0.2.0: it listed the current one
        (path,) = targets.targets
        id = path.removeprefix(layout.RELEASES).partition("/")[0]
        said = [{"id": id, "from": EVER}]
    try:
        chain = chain_of(said)
    except (ValueError, KeyError, TypeError):
        return None
    ids = [link.id for link in chain.links]
    listed = [layout.release_key(id) in targets.targets for id in ids]
    return chain if all(listed) and all(map(layout.is_digest, ids)) else None


def read_metadata(bucket: Bucket, root: Root | None) -> SignedMetadata:
    """Return the metadata at a target that the keys of a root have signed.

    ``root`` None: nobody asks who has signed it, as for a prune, which spares too much
    at worst.
    """
    stored = bucket.read(layout.TIMESTAMP)
    if stored is None:
        return SignedMetadata(None)
    timestamp = _verified(stored.data, Timestamp, root)
    meta = timestamp.signed.snapshot_meta if timestamp else None
    snapshot = _linked(bucket, meta, Snapshot, root)
    meta = snapshot.signed.meta.get("targets.json") if snapshot else None
    targets = _linked(bucket, meta, Targets, root)
    last: Metadata[Targets] | None = targets
    if last is None and root is not None:
        last = _last_targets(bucket, root)
    listings = last.signed.targets if last else {}
    return SignedMetadata(stored.version, timestamp, snapshot, targets, listings)


def _last_targets(bucket: Bucket, root: Root) -> Metadata[Targets] | None:
    """Return the last targets that the keys of today have signed, although no timestamp
    leads to them: another key was replaced.
    """
    for number in sorted(_numbers(bucket, Targets.type), reverse=True)[:SEARCHED]:
        stored = bucket.read(metadata_key(Targets.type, number))
        targets = _verified(stored.data, Targets, root) if stored else None
        if targets:
            return targets
    return None


def _linked(
    bucket: Bucket, meta: MetaFile | None, kind: type[SignedPart], root: Root | None
) -> Metadata[SignedPart] | None:
    """Return the metadata that other metadata names; None where it is not so."""
    stored = meta and bucket.read(metadata_key(kind.type, meta.version))
    try:
        if meta and stored:
            meta.verify_length_and_hashes(stored.data)
            return _verified(stored.data, kind, root)
    except RepositoryError:
        pass
    return None


def _verified(
    data: bytes, kind: type[SignedPart], root: Root | None
) -> Metadata[SignedPart] | None:
    """Return metadata; None where it is of another kind, or not signed by its keys."""
    try:
        metadata: Metadata[SignedPart] = Metadata.from_bytes(data)
        if not isinstance(metadata.signed, kind):
            return None
        if root:
            payload = metadata.signed_bytes
            root.verify_delegate(kind.type, payload, metadata.signatures)
        return metadata
    except (DeserializationError, RepositoryError, ValueError):
        return None


def metadata_key(role: str, number: int) -> str:
    """Return the name of a role's numbered file at a target."""
    return f"{layout.METADATA}{number}.{role}.json"


def _numbers(bucket: Bucket, role: str) -> list[int]:
    """Return the numbers of a role's files at a target, whoever wrote them."""
    names = re.compile(rf"{layout.METADATA}([1-9][0-9]{{0,8}})\.{role}\.json")
    keys = (item.key for item in bucket.listing(layout.METADATA))
    return [int(match[1]) for match in map(names.fullmatch, keys) if match]


def signed_at(timestamp: Timestamp) -> datetime | None:
    """Return when a timestamp was signed, by its publisher's clock; None: unknown."""
    said: Any = timestamp.unrecognized_fields.get(SIGNED_AT)
    try:
        return datetime.fromisoformat(layout.instant(said))
    except (ValueError, TypeError):
        return None


def ends(bucket: Bucket, root: Root) -> dict[str, tuple[int, datetime]]:
    """Return role → number and end of what is signed at a target.

    Raises Failure where nothing there is signed by the keys of a root.
    """
    present = read_metadata(bucket, root)
    if present.targets is None:
        raise Failure(
            f"{bucket.where}: has no whole metadata that these keys have signed; publish "
            "with --keys"
        )
    parts = (present.timestamp, present.snapshot, present.targets)
    return {
        part.signed.type: (part.signed.version, part.signed.expires)
        for part in parts
        if part is not None
    }


def listed(path: str, stored: Stored | None) -> SignedListing | None:
    """Return the digest and size of what lists a release at a target."""
    return TargetFile.from_data(path, stored.data, ["sha256"]) if stored else None


def faults(bucket: Bucket, id: str, folder: Path) -> list[str]:
    """Return a line for each signature of a release at a target that is not as it
    should be; of one of the chain, also for those of the others of it.

    ``folder``: has the root; private keys are not needed. Raises Failure where it has
    none.
    """
    present = read_metadata(bucket, roots.read(folder).signed)
    current = pointer.required(bucket).chain
    now, signed = datetime.now(UTC), present.chain
    ids = [link.id for link in current.remaining(now).links]
    is_current, lines = id in ids, []
    for path in map(layout.release_key, ids if is_current else [id]):
        if path not in present.listings:
            lines.append(f"{path}: no metadata that these keys have signed names it")
        elif present.listings[path] != listed(path, bucket.read(path)):
            lines.append(f"{path}: not what was signed")
    if is_current and not (signed and current.continues(signed, now)):
        lines.append(
            f"{layout.TIMESTAMP}: does not lead to the current release; `shopwindow "
            f"publish TARGET --keys {folder}` signs it"
        )
    return lines


# -- before anything changes -----------------------------------------------------------


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

    ``id``: the release that the metadata lets be in force now. ``targets``: the number
    of its targets, which a host may be given as the lowest. ``changed``: something was
    signed. ``due``: roles that should have been signed, and for which there is no key.
    """

    id: str
    targets: int
    changed: bool
    due: tuple[str, ...] = ()


def ready(
    bucket: Bucket,
    signing: Signing,
    roles: tuple[str, ...] = ROLES[1:],
    *,
    force: bool = False,
) -> SignedMetadata:
    """Return what is signed at a target, where these keys can go on from it.

    Learning the store's time writes an object (`pointer.require_right_clock`), so who
    calls this has read the pointer, which refuses a place that is no target.

    ``force``: also where it was signed in the future, because a publisher's clock was
    wrong. Raises Failure where a key is missing for one of ``roles``, the root has
    expired or is not the one of the target, or a clock is wrong.
    """
    root, now = roots.read(signing.folder), signing.clock()
    path = signing.folder / ROOT
    if root.signed.expires <= now:
        raise Failure(
            f"{path}: has expired, at {minute_of(root.signed.expires)}, if this machine's "
            f"clock is right, which says {minute_of(now)}; `shopwindow keys sign "
            f"{signing.folder} --renew` begins the next one"
        )
    for role in roles:
        _signers(root.signed, role, signing)
    _lacking_roots(bucket, root, signing.folder)
    present = read_metadata(bucket, root.signed)
    signed = signed_at(present.timestamp.signed) if present.timestamp else None
    if not force and signed is not None and signed - now > CLOCKS_DIFFER:
        raise Failure(
            f"{bucket.where}: was signed at {minute_of(signed)}, and this machine's clock "
            f"says {minute_of(now)}; set this machine's clock. If it is right, that of the last "
            "publisher was wrong: `shopwindow publish TARGET --renew --force` signs anew"
        )
    pointer.require_right_clock(bucket, now)
    return present


def ends_of_next(signing: Signing) -> datetime:
    """Return when a timestamp ends that is signed now. Raises Failure without a root."""
    root = roots.read(signing.folder).signed
    return roots.expiry(root, Timestamp.type, signing.clock())


def minute_of(moment: datetime) -> str:
    """Return an instant for a message."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%MZ}"


def _signers(root: Root, role: str, signing: Signing) -> list[Any]:
    """Return what signs for a role. Raises Failure where that is not enough."""
    keys = [root.get_key(id) for id in root.roles[role].keyids]
    signers = [one for key in keys if (one := signing.source.signer(role, key))]
    if len(signers) < root.roles[role].threshold:
        ids = ", ".join(key.keyid[:KEY_ID_DIGITS] for key in keys)
        raise Failure(
            f"{signing.source.folder}: the private key {ids} of {role} is neither here nor "
            f"in {KEY_VARIABLE}{role.upper()}; nothing was changed"
        )
    return signers


def _lacking_roots(
    bucket: Bucket, root: RootMetadata, folder: Path
) -> list[tuple[str, bytes]]:
    """Return the versions of the root that a target lacks, the newest first: their names
    and bytes.

    Raises Failure where a target has another root than a folder, or a newer one. The
    folder needs every version that the target lacks: hosts follow one by one.
    """
    version = root.signed.version
    newer = metadata_key(Root.type, version + 1)
    if bucket.read(newer) is not None:
        raise Failure(
            f"{bucket.where}: {newer} is newer than {folder / ROOT}; update the folder of "
            "the keys, or delete that object if nobody has signed it"
        )
    lacking = []
    for number in range(version, 0, -1):
        path, key = folder / f"{number}.{ROOT}", metadata_key(Root.type, number)
        if not path.exists():
            raise Failure(
                f"{path}: missing, and hosts follow the root version by version; copy all "
                "public files of the folder of the keys"
            )
        stored, data = bucket.read(key), path.read_bytes()
        if stored is not None and stored.data != data:
            raise Failure(
                f"{bucket.where}: was signed with other keys than those of {folder}; use "
                "its folder, or publish to another prefix"
            )
        if stored is not None:
            break
        lacking.append((key, data))
    return lacking


# -- signing ---------------------------------------------------------------------------


def sign(
    bucket: Bucket,
    signing: Signing,
    chain: Chain | None = None,
    listed: Sequence[SignedListing] = (),
) -> Signature:
    """Let the metadata of a target name a chain as current, if `current.json` does.

    ``listed``: what lists the objects of each of its releases; its bytes have been
    compared with the release. Chain None: what is named stays so; the timestamp is
    signed again, and what else is due and has a key here. Raises Failure.
    """
    root = roots.read(signing.folder)
    for _ in range(REPLACEMENTS):
        present = read_metadata(bucket, root.signed)
        there = present.targets
        now = signing.clock()
        if chain:
            current = pointer.read(bucket)
            if current is None or not current.chain.continues(chain, now):
                id = chain.in_force(now).id
                raise Failure(
                    pointer.overtaken(bucket.where, id, current, "was not signed")
                )
            said: dict[str, Any] = {CHAIN: as_json(chain)}
            listings = _listings(bucket, present, listed)
        elif there:
            said = there.signed.unrecognized_fields
            listings = there.signed.targets
        else:
            raise Failure(
                f"{bucket.where}: has nothing that these keys have signed; "
                "`shopwindow publish TARGET --keys DIR` signs the current release"
            )
        writer = _Writer(bucket, signing, root.signed, now)
        is_same = there is not None and (listings, said) == (
            there.signed.targets,
            there.signed.unrecognized_fields,
        )
        made = Targets(targets=listings, unrecognized_fields=said)
        targets = writer.signed(there, made, is_same)
        named = Snapshot(meta={"targets.json": _meta(targets)})
        snapshot = writer.signed(present.snapshot, named, targets is there)
        led_to = Timestamp(
            snapshot_meta=_meta(snapshot),
            unrecognized_fields={SIGNED_AT: now.isoformat(timespec="seconds")},
        )
        is_same = snapshot is present.snapshot and chain is not None
        timestamp = writer.signed(present.timestamp, led_to, is_same)
        changed = timestamp is not present.timestamp
        signed = chain_in(targets.signed)
        id = signed.in_force(now).id if signed else ""
        signature = Signature(id, targets.signed.version, changed, tuple(writer.due))
        # Right before the timestamp: with a new root, what a revoked key has signed is
        # good no more.
        for key, data in reversed(_lacking_roots(bucket, root, signing.folder)):
            bucket.create(key, data, NUMBERED)
        if not changed:
            return signature
        data = timestamp.to_bytes()
        if bucket.replace(layout.TIMESTAMP, data, POINTER_HEADERS, present.version):
            return signature
        again = bucket.read(layout.TIMESTAMP)
        if again is not None and again.data == data:
            return signature  # the answer was lost on the way
    raise Failure(
        f"{bucket.where}: others replace {layout.TIMESTAMP} all the time; run it again"
    )


def _listings(
    bucket: Bucket, present: SignedMetadata, listed: Sequence[SignedListing]
) -> dict[str, SignedListing]:
    """Return what lists the releases of a target, with some more, by its name; without
    those that were pruned.
    """
    there = set(map(layout.release_key, layout.ids(bucket)))
    kept = {path: one for path, one in present.listings.items() if path in there}
    return kept | {one.path: one for one in listed}


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

    def signed(
        self,
        there: Metadata[SignedPart] | None,
        part: SignedPart,
        is_same: bool,
    ) -> Metadata[SignedPart]:
        """Return metadata: what there is, where it ``is_same`` and lasts; or ``part``.

        A timestamp gets the next number; what is numbered, the next that is free.
        """
        if there is not None and is_same and self._lasts(there):
            return there
        role = part.type
        part.expires = roots.expiry(self.root, role, self.now)
        last = there.signed.version if there else 0
        if role == Timestamp.type:
            part.version = last + 1
            return self._with_signatures(part)
        if not there:
            last = max(_numbers(self.bucket, role), default=0)
        for part.version in range(last + 1, last + 1 + ABANDONED):
            metadata = self._with_signatures(part)
            key = metadata_key(role, part.version)
            if self.bucket.create(key, metadata.to_bytes(), NUMBERED):
                return metadata
        raise Failure(
            f"{self.bucket.where}: {ABANDONED} numbers from {metadata_key(role, last + 1)} on are "
            "taken, and none of those files is current; look who writes there"
        )

    def _lasts(self, metadata: Metadata[SignedPart]) -> bool:
        """Return whether metadata need not be signed again, or cannot be.

        It has to be where it ends soon, and where it ends later than the root allows
        by now, because somebody has shortened a lifetime.
        """
        role = metadata.signed.type
        lifetime = roots.lifetime(self.root, role)
        remaining = metadata.signed.expires - self.now
        if due_before(role, lifetime) <= remaining <= lifetime + CLOCKS_DIFFER:
            return True
        try:
            _signers(self.root, role, self.signing)
        except Failure:
            self.due.append(role)
            return True
        return False

    def _with_signatures(self, part: SignedPart) -> Metadata[SignedPart]:
        metadata = Metadata(part)
        for signer in _signers(self.root, part.type, self.signing):
            metadata.sign(signer, append=True)
        return metadata


def _meta(metadata: Metadata[SignedPart]) -> MetaFile:
    """Return what names metadata: its version, its size and its digest."""
    return MetaFile.from_data(metadata.signed.version, metadata.to_bytes(), ["sha256"])
