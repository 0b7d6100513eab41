"""The root of trust of a shop: which keys sign what, as a folder of versions.

```
root.json                     the newest version, which hosts are given
1.root.json, 2.root.json, …   every version; each is signed by the keys of the one before
draft.root.json               the next version, until enough root keys have signed it
ROLE-ID.pem                   private keys (`keys`); a .gitignore names them
```

A version says as well how many keys of each role have to sign, and for how many days a
signature is good. Everything but the private keys is public, and may lie in the
content's repository. A host that trusts any version follows to the newest, since every
version is signed by the root keys of its predecessor as well as by its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Metadata, Root
from tuf.api.serialization import DeserializationError

from shopwindow.content.reading.files import replace_file
from shopwindow.delivery.keys import KEY_ID_DIGITS, KeySource, create, key_path
from shopwindow.problems import Failure, Misuse

ROOT, DRAFT, IGNORED = "root.json", "draft.root.json", ".gitignore"

PUBLIC = 0o644
"""The mode of every file but private keys: it may lie in a repository."""

ROOT_BYTES = 512_000
"""Bytes of a root version at most, as for clients of The Update Framework."""

ROLE_DAYS = "x-shopwindow-days"
"""The property of a root with role → days for which the role's signatures are good,
where that is not the default. So it is the holders of root keys who decide on it.
"""

ROLES = ("root", "targets", "snapshot", "timestamp")
"""Each signs which of the one after it counts; the root signs which keys they have."""

THRESHOLDS = ("root", "targets")
"""Roles of which several keys may have to sign. People sign these; the others are a
program's, and whoever steals one of its keys finds all of them.
"""

DEFAULT_DAYS = {
    # Somebody fetches the sticks once a year anyway, and notices a broken one.
    "root": 365,
    # A shop that publishes nothing for a quarter of a year should be asked why.
    "targets": 90,
    # It moves with the targets, but a renewal job has its key, too: a month without
    # that job and without a release is an accident.
    "snapshot": 30,
    # An attacker who holds back a release can do so for three days at most. A job
    # that fails on a Friday evening is mended on Monday.
    "timestamp": 3,
}
"""Days for which a role's signature is good, unless the root says otherwise."""

MOST_DAYS = 3650
"""Ten years. A key that signs for longer has no end that anybody will live to renew."""

_DUE = {
    "root": timedelta(days=60),
    "targets": timedelta(days=45),
    "snapshot": timedelta(days=15),
    "timestamp": timedelta(days=1),
}
"""How long before its end a signature is due. Two people need time to meet; the others
are renewed by a program, which may fail for a while before anybody notices.
"""


def due_before(role: str, lifetime: timedelta) -> timedelta:
    """Return how long before its end a role's signature is due: after half of its
    ``lifetime`` at the earliest.
    """
    return min(_DUE[role], lifetime / 2)


RootMetadata = Metadata[Root]


@dataclass(frozen=True)
class KeyChange:
    """What a command has done to the root.

    ``version``: of the root that was begun or signed. ``missing``: signatures that it
    still lacks, as sentences; none: it is in force. ``created``: private keys that were
    written. ``replaced``: ids of keys that sign nothing any more.
    """

    version: int
    missing: Sequence[str] = ()
    created: Sequence[Path] = ()
    replaced: Sequence[str] = ()


def read(folder: Path, name: str = ROOT) -> RootMetadata:
    """Return a version of the root. Raises Failure where it is none."""
    path = folder / name
    try:
        with open(path, "rb") as file:
            return decode(file.read(ROOT_BYTES), str(path))
    except FileNotFoundError:
        raise Failure(
            f"{path}: missing; `shopwindow keys init {folder}` makes keys, or copy the "
            "folder that has them"
        ) from None


def decode(data: bytes, where: str) -> RootMetadata:
    """Return the root in a file. Raises Failure where it is none, or not signed."""
    try:
        root = Metadata[Root].from_bytes(data)
        if root.signed.type != Root.type:
            raise Failure(f"{where}: is signed metadata, but of {root.signed.type}")
        return root
    except (DeserializationError, RepositoryError, ValueError, AttributeError):
        raise Failure(f"{where}: is no root.json, as `keys init` writes it") from None


def lifetime(root: Root, role: str) -> timedelta:
    """Return for how long a role's signature is good. Raises Failure where the root
    says something that is no number of days.
    """
    stated: Any = root.unrecognized_fields.get(ROLE_DAYS, {})
    days = stated.get(role, DEFAULT_DAYS[role]) if isinstance(stated, dict) else stated
    if not isinstance(days, int) or not 0 < days <= MOST_DAYS:
        raise Failure(
            f"root.json: {ROLE_DAYS} has {str(days)[:40]} for {role}; a signature is good for "
            f"1 to {MOST_DAYS} days: shopwindow keys rotate DIR {role} --expires DAYS"
        )
    return timedelta(days=days)


def expiry(root: Root, role: str, moment: datetime) -> datetime:
    """Return when a signature of a role ends that is made at a moment."""
    return (moment + lifetime(root, role)).replace(microsecond=0)


def init(
    folder: Path,
    *,
    keys: int,
    threshold: int,
    passphrase: str,
    moment: datetime,
) -> KeyChange:
    """Make a root of trust with one key for each role, and several for the root.

    ``threshold``: how many of the root's ``keys`` have to sign a change. A passphrase
    that is not empty encrypts the root's keys. Raises Misuse, Failure.
    """
    _require_enough(keys, threshold)
    root = Root()
    root.expires = expiry(root, "root", moment)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if (folder / ROOT).exists() or any(folder.glob("*.pem")):
        raise Failure(
            f"{folder}: has keys already, and nothing was changed; `shopwindow keys "
            "rotate` replaces one"
        )
    created: list[Path] = []
    for role in ROLES:
        number = keys if role == "root" else 1
        created += [_add_key(folder, root, role, passphrase) for _ in range(number)]
    root.roles["root"].threshold = threshold
    source = KeySource(folder, {}, ask=lambda _: passphrase)
    replace_file(folder / IGNORED, b"*.pem\n", PUBLIC)
    first = Metadata(root)
    return replace(_signed(folder, first, first, source), created=created)


def change(
    folder: Path,
    role: str,
    source: KeySource,
    *,
    add: bool = False,
    remove: str | None = None,
    threshold: int | None = None,
    days: int | None = None,
    passphrase: str = "",
    moment: datetime,
) -> KeyChange:
    """Change what the next version of the root says of a role.

    ``add``: it gets a new key. ``remove``: the beginning of the id of a key that it
    loses; empty: the only one. ``threshold``: how many keys of THRESHOLDS have to sign.
    ``days``: for how many days a signature is good. Signs with the root keys that there
    are; more may sign later. Raises Misuse, Failure.
    """
    if threshold and role not in THRESHOLDS:
        raise Misuse(
            "threshold",
            f"one key of {role} signs; it is for {' and '.join(THRESHOLDS)}",
        )
    present, draft = read(folder), _begun(folder, moment)
    root = draft.signed
    removed = [] if remove is None else [_chosen(root, role, remove)]
    needed = threshold or root.roles[role].threshold
    _require_enough(len(root.roles[role].keyids) + add - len(removed), needed)
    if days is not None:
        root.unrecognized_fields.setdefault(ROLE_DAYS, {})[role] = days
        root.expires = expiry(root, "root", moment)
    created = []
    if add:
        # Before anything names the key: killed in between, this leaves one file more.
        created.append(_add_key(folder, root, role, passphrase))
    for id in removed:
        root.revoke_key(id, role)
    root.roles[role].threshold = needed
    draft.signatures.clear()
    done = _signed(folder, present, draft, source)
    return replace(done, created=created, replaced=removed)


def _add_key(folder: Path, root: Root, role: str, passphrase: str) -> Path:
    """Give a role a new key, and return its file. A passphrase encrypts a root key."""
    key = create(folder, role, passphrase if role == "root" else "")
    root.add_key(key, role)
    return key_path(folder, role, key.keyid)


def _require_enough(keys: int, threshold: int) -> None:
    """Raise Misuse where a role has fewer keys than have to sign."""
    if not 0 < threshold <= keys:
        raise Misuse("threshold", f"{threshold} of {keys} keys cannot sign")


def sign(
    folder: Path, source: KeySource, *, renew: bool = False, moment: datetime
) -> KeyChange:
    """Sign the next version of the root with the root keys that there are.

    ``renew``: begin one that only lasts longer, where none has been begun. Raises
    Failure.
    """
    if not renew and not (folder / DRAFT).exists():
        raise Failure(
            f"{folder}: nothing is to be signed; --renew begins a root that lasts longer, "
            "`keys rotate` one with another key"
        )
    return _signed(folder, read(folder), _begun(folder, moment), source)


def _begun(folder: Path, moment: datetime) -> RootMetadata:
    """Return the next version of the root, as begun, or a copy of the present one."""
    if (folder / DRAFT).exists():
        return read(folder, DRAFT)
    draft = read(folder)
    draft.signed.version += 1
    draft.signed.expires = expiry(draft.signed, "root", moment)
    draft.signatures.clear()
    return draft


def _chosen(root: Root, role: str, start: str) -> str:
    """Return the id of the key that a person means. Raises Misuse."""
    ids = root.roles[role].keyids
    matching = [id for id in ids if id.startswith(start)]
    if len(matching) != 1:
        listed = ", ".join(id[:KEY_ID_DIGITS] for id in ids)
        raise Misuse("key", f"names the key that is replaced; {role} has {listed}")
    return matching[0]


def _signed(
    folder: Path, present: RootMetadata, draft: RootMetadata, source: KeySource
) -> KeyChange:
    """Sign a draft; put it in force where that suffices, and write it where not.

    ``present``: the version before; of the first one, that itself.
    """
    missing = _sign(draft, present, source)
    version = draft.signed.version
    if missing:
        replace_file(folder / DRAFT, draft.to_bytes(), PUBLIC)
        return KeyChange(version, missing)
    for name in (f"{version}.{ROOT}", ROOT):
        replace_file(folder / name, draft.to_bytes(), PUBLIC)
    (folder / DRAFT).unlink(missing_ok=True)
    return KeyChange(version)


def _sign(draft: RootMetadata, present: RootMetadata, source: KeySource) -> list[str]:
    """Add the signatures that can be made; return what is missing, as sentences."""
    roots = [present.signed, draft.signed]
    for root in roots:
        for id in root.roles["root"].keyids:
            signer = source.signer("root", root.get_key(id))
            if signer is not None:
                draft.sign(signer, append=True)
    missing = []
    payload = draft.signed_bytes
    for root in roots:
        result = root.get_verification_result("root", payload, draft.signatures)
        if not result:
            absent = ", ".join(sorted(id[:KEY_ID_DIGITS] for id in result.unsigned))
            count = result.threshold - len(result.signed)
            missing.append(f"{count} of the root keys {absent}")
    return list(dict.fromkeys(missing))


# -- what is due -----------------------------------------------------------------------


@dataclass(frozen=True)
class RoleStatus:
    """What is to be said of a role.

    ``lifetime``: of its signatures. ``keys``: id → where its private half is, or empty.
    ``expires``: None where nothing was read that has an end. ``due``: what has to be
    done, as a sentence, or empty.
    """

    role: str
    version: int | None
    threshold: int
    lifetime: timedelta
    keys: Mapping[str, str]
    expires: datetime | None
    due: str


def status(
    folder: Path, ends: Mapping[str, tuple[int, datetime]], moment: datetime
) -> list[RoleStatus]:
    """Return what is to be said of each role.

    ``ends``: role → version and end of what lies at a target; empty: none was read.
    """
    root = read(folder).signed
    ends = {"root": (root.version, root.expires), **ends}
    listed = []
    for role in ROLES:
        keys = {}
        for id in root.roles[role].keyids:
            path = key_path(folder, role, id)
            keys[id] = path.name if path.exists() else ""
        version, expires = ends.get(role, (None, None))
        lasts, due = lifetime(root, role), ""
        if expires is not None and expires - moment < due_before(role, lasts):
            what = "has expired" if expires <= moment else "expires soon"
            renews = f"publish TARGET --keys {folder}"
            if role == "root":
                renews = f"keys sign {folder}"
            due = f"{what}: shopwindow {renews} --renew"
        elif role == "root" and (folder / DRAFT).exists():
            due = f"{DRAFT} waits for signatures: shopwindow keys sign {folder}"
        threshold = root.roles[role].threshold
        listed.append(
            RoleStatus(role, version, threshold, lasts, keys, expires=expires, due=due)
        )
    return listed
