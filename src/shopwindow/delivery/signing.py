"""Signs what is current at a target, as The Update Framework has it.

The one target is `releases/<id>/manifest.json`. It has the digests of all chunks of a
release, of its manifest and of a catalog's index as well, and the manifest has those of
all files: so every byte that a host reads follows from one signature.

Numbered files are created, never overwritten. A publisher that was killed leaves some
that no timestamp names, and the next one takes the next number. The timestamp is
replaced on condition that it is still the one that was read. It moves after
`current.json`, in which pins, prunes and competing publishers are decided; whoever was
killed in between, is finished by the next run of `publish`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tuf.api.metadata import (
    Metadata,
    MetaFile,
    Root,
    Snapshot,
    TargetFile,
    Targets,
    Timestamp,
)

from shopwindow.delivery import layout, pointer, roots
from shopwindow.delivery.bucket import Bucket, Headers
from shopwindow.delivery.keys import KEY_ID_DIGITS, KEY_VARIABLE, KeySource
from shopwindow.delivery.publishing import CLOCKS_DIFFER, overtaken, require_right_clock
from shopwindow.delivery.roles import ROLES, due_before
from shopwindow.delivery.roots import ROOT, RootMetadata
from shopwindow.delivery.signed_metadata import (
    SIGNED_AT,
    Chain,
    SignedPart,
    chain,
    id_of,
    metadata_key,
    numbers,
    signed_at,
)
from shopwindow.problems import Failure

NUMBERED = Headers("application/json", "public, max-age=31536000, immutable")
REPLACED = Headers("application/json", "no-cache")

ABANDONED = 1000
"""Numbers in a row that publishers may have used without finishing. More are no
accident.
"""

REPLACEMENTS = 10
"""How often somebody else may replace the timestamp meanwhile. A shop has a few
publishers, and each of them replaces it once.
"""


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


# -- before anything changes -----------------------------------------------------------


def ready(
    bucket: Bucket,
    signing: Signing,
    roles: tuple[str, ...] = ROLES[1:],
    *,
    force: bool = False,
) -> Chain:
    """Return what is signed at a target, where these keys can go on from it.

    ``force``: also where it was signed in the future, because a publisher's clock was
    wrong. Raises Failure where a key is missing for one of ``roles``, the root has
    expired or is not the one of the target, or a clock is wrong.
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
    if present.timestamp and not force:
        _require_past(bucket, present.timestamp.signed, now)
    require_right_clock(bucket, now)
    return present


def _require_past(bucket: Bucket, timestamp: Timestamp, now: datetime) -> None:
    """Raise Failure where a timestamp was signed in the future, by this clock."""
    signed = signed_at(timestamp)
    if signed is not None and signed - now > CLOCKS_DIFFER:
        raise Failure(
            f"{bucket.where}: was signed at {_text(signed)}, and this machine's clock "
            f"says {_text(now)}; set this machine's clock. If it is right, that of the last "
            "publisher was wrong: --force signs all the same"
        )


def _text(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%MZ}"


def _signers(root: Root, role: str, signing: Signing) -> list[Any]:
    keys = [root.get_key(id) for id in root.roles[role].keyids]
    return [one for key in keys if (one := signing.source.signer(role, key))]


def _require_signers(root: Root, role: str, signing: Signing) -> None:
    if len(_signers(root, role, signing)) < root.roles[role].threshold:
        ids = ", ".join(id[:KEY_ID_DIGITS] for id in root.roles[role].keyids)
        raise Failure(
            f"{signing.source.folder}: the private key {ids} of {role} is neither here nor "
            f"in {KEY_VARIABLE}{role.upper()}, and --key-command has none; nothing was changed"
        )


def _require_root(bucket: Bucket, root: RootMetadata, folder: Path) -> None:
    """Raise Failure where a target has another root than a folder, or a newer one.

    The folder needs every version that the target lacks: hosts follow one by one.
    """
    version = root.signed.version
    newer = metadata_key(Root.type, version + 1)
    if bucket.read(newer) is not None:
        raise Failure(
            f"{bucket.where}: {newer} is newer than {folder / ROOT}; update the folder of "
            "the keys, or delete that object if nobody has signed it"
        )
    for number in range(version, 0, -1):
        path = folder / f"{number}.{ROOT}"
        if not path.exists():
            raise Failure(
                f"{path}: missing, and hosts follow the root version by version; copy all "
                "public files of the folder of the keys"
            )
        stored = bucket.read(metadata_key(Root.type, number))
        if stored is None:
            continue
        if stored.data != path.read_bytes():
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
            raise Failure(overtaken(bucket.where, id, read, "was not signed"))
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
    for _ in range(REPLACEMENTS):
        present = chain(bucket, root.signed)
        target = wanted(present)
        writer = _MetadataWriter(bucket, signing, root.signed, signing.clock())
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
        if (
            not path.exists()
            or bucket.read(metadata_key(Root.type, number)) is not None
        ):
            break
        lacking.append((number, path.read_bytes()))
    for number, data in reversed(lacking):
        bucket.create(metadata_key(Root.type, number), data, NUMBERED)


@dataclass(frozen=True)
class _MetadataWriter:
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
            unrecognized_fields={SIGNED_AT: self.now.isoformat(timespec="seconds")},
        )
        return self._signed(signed)

    def _expiry(self, role: str) -> datetime:
        return roots.expiry(self.root, role, self.now)

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
        if len(_signers(self.root, role, self.signing)) >= self._threshold(role):
            return False
        self.due.append(role)
        return True

    def _threshold(self, role: str) -> int:
        return self.root.roles[role].threshold

    def _created(
        self, signed: SignedPart, there: Metadata[SignedPart] | None
    ) -> Metadata[SignedPart]:
        """Sign metadata, and create it under the next number that is free."""
        role = signed.type
        last = there.signed.version if there else self._highest(role)
        for version in range(last + 1, last + 1 + ABANDONED):
            signed.version = version
            metadata = self._signed(signed)
            data = metadata.to_bytes()
            if self.bucket.create(metadata_key(role, version), data, NUMBERED):
                return metadata
        raise Failure(
            f"{self.bucket.where}: {ABANDONED} numbers from {metadata_key(role, last + 1)} on are "
            "taken, and none of those files is current; look who writes there"
        )

    def _highest(self, role: str) -> int:
        return max(numbers(self.bucket, role), default=0)

    def _signed(self, signed: SignedPart) -> Metadata[SignedPart]:
        role = signed.type
        _require_signers(self.root, role, self.signing)
        metadata = Metadata(signed)
        for signer in _signers(self.root, role, self.signing):
            metadata.sign(signer, append=True)
        return metadata


def _meta(metadata: Metadata[SignedPart]) -> MetaFile:
    """Return what names metadata: its version, its size and its digest."""
    return MetaFile.from_data(metadata.signed.version, metadata.to_bytes(), ["sha256"])
