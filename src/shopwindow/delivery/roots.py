"""The root of trust of a shop: which keys sign what, as a folder of versions.

```
root.json                     the newest version, which hosts are given
1.root.json, 2.root.json, …   every version; each is signed by the keys of the one before
draft.root.json               the next version, until enough root keys have signed it
ROLE-ID.pem                   private keys (`keys`); a .gitignore names them
```

Everything but the private keys is public, and may lie in the content's repository. A
host that trusts any version follows to the newest, since every version is signed by
the root keys of its predecessor as well as by its own.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Metadata, Root
from tuf.api.serialization import DeserializationError

from shopwindow.delivery.keys import ID_DIGITS, KeySource, create, key_path
from shopwindow.problems import Failure, Misuse

ROLES = ("root", "targets", "snapshot", "timestamp")

LIFETIMES = {
    # Somebody fetches the sticks once a year anyway, and notices a broken one.
    "root": timedelta(days=365),
    # A shop that publishes nothing for a quarter of a year should be asked why.
    "targets": timedelta(days=90),
    # The publisher renews it with every release, and in between by itself.
    "snapshot": timedelta(days=30),
    # An attacker who holds back a release can do so for three days at most. A job
    # that fails on a Friday evening is mended on Monday.
    "timestamp": timedelta(days=3),
}
"""How long a role's signature is good for."""

DUE = {
    "root": timedelta(days=60),
    "targets": timedelta(days=45),
    "snapshot": timedelta(days=15),
    "timestamp": timedelta(days=1),
}
"""How long before it ends it is due. Two people need time to meet; the others are
renewed by a program, at half of their time, and the timestamp daily.
"""

ROOT, DRAFT, IGNORED = "root.json", "draft.root.json", ".gitignore"

ROOT_BYTES = 512_000
"""Bytes of a root version at most, as for clients of The Update Framework."""

RootMetadata = Metadata[Root]


@dataclass(frozen=True)
class Change:
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


def init(
    folder: Path, *, keys: int, threshold: int, passphrase: str, moment: datetime
) -> Change:
    """Make a root of trust with one key for each role, and several for the root.

    ``threshold``: how many of the root's ``keys`` have to sign a change. A passphrase
    that is not empty encrypts the root's keys. Raises Misuse, Failure.
    """
    if threshold > keys:
        raise Misuse("threshold", f"{threshold} of {keys} keys cannot sign")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if (folder / ROOT).exists() or any(folder.glob("*.pem")):
        raise Failure(
            f"{folder}: has keys already, and nothing was changed; `shopwindow keys "
            "rotate` replaces one"
        )
    root = Root(expires=_expiry("root", moment))
    created = []
    for role in ROLES:
        for _ in range(keys if role == "root" else 1):
            secret = passphrase if role == "root" else ""
            key = create(folder, role, secret)
            root.add_key(key, role)
            created.append(key_path(folder, role, key.keyid))
    root.roles["root"].threshold = threshold
    source = KeySource(folder, {}, ask=lambda _: passphrase)
    metadata = Metadata(root)
    _sign(metadata, None, source)
    _write(folder, IGNORED, b"*.pem\n")
    _publish(folder, metadata)
    return Change(1, created=created)


def rotate(
    folder: Path,
    role: str,
    source: KeySource,
    *,
    old: str = "",
    passphrase: str = "",
    moment: datetime,
) -> Change:
    """Replace a key of a role by a new one, in the next version of the root.

    ``old``: the beginning of the id of the key that is replaced; it may be empty where
    the role has only one. Signs with the root keys that there are; more may sign later.
    Raises Failure.
    """
    present, draft = read(folder), _begun(folder, moment)
    replaced = _chosen(draft.signed, role, old)
    # The key is written before anything names it: killed in between, it is a file more.
    key = create(folder, role, passphrase if role == "root" else "")
    draft.signed.revoke_key(replaced, role)
    draft.signed.add_key(key, role)
    draft.signatures.clear()
    change = _signed(folder, present, draft, source)
    path = key_path(folder, role, key.keyid)
    return Change(change.version, change.missing, [path], [replaced])


def sign(
    folder: Path, source: KeySource, *, renew: bool = False, moment: datetime
) -> Change:
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
    draft.signed.expires = _expiry("root", moment)
    draft.signatures.clear()
    return draft


def _expiry(role: str, moment: datetime) -> datetime:
    return (moment + LIFETIMES[role]).replace(microsecond=0)


def _chosen(root: Root, role: str, start: str) -> str:
    """Return the id of the key that a person means. Raises Misuse."""
    ids = root.roles[role].keyids
    matching = [id for id in ids if id.startswith(start)]
    if len(matching) != 1:
        listed = ", ".join(id[:ID_DIGITS] for id in ids)
        raise Misuse("key", f"names the key that is replaced; {role} has {listed}")
    return matching[0]


def _signed(
    folder: Path, present: RootMetadata, draft: RootMetadata, source: KeySource
) -> Change:
    """Sign a draft; put it in force where that suffices, and write it where not."""
    missing = _sign(draft, present, source)
    version = draft.signed.version
    if missing:
        _write(folder, DRAFT, draft.to_bytes())
        return Change(version, missing)
    _publish(folder, draft)
    with suppress(FileNotFoundError):
        os.unlink(folder / DRAFT)
    return Change(version)


def _sign(
    draft: RootMetadata, present: RootMetadata | None, source: KeySource
) -> list[str]:
    """Add the signatures that can be made; return what is missing, as sentences."""
    roots = [draft.signed] if present is None else [present.signed, draft.signed]
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
            absent = ", ".join(sorted(id[:ID_DIGITS] for id in result.unsigned))
            count = result.threshold - len(result.signed)
            missing.append(f"{count} of the root keys {absent}")
    return list(dict.fromkeys(missing))


def _publish(folder: Path, root: RootMetadata) -> None:
    data = root.to_bytes()
    _write(folder, f"{root.signed.version}.{ROOT}", data)
    _write(folder, ROOT, data)


def _write(folder: Path, name: str, data: bytes) -> None:
    draft = folder / f".{name}-{os.getpid()}"
    try:
        with open(draft, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, folder / name)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)


# -- what is due -----------------------------------------------------------------------


@dataclass(frozen=True)
class RoleStatus:
    """What is to be said of a role.

    ``keys``: id → where its private half is, or empty. ``expires``: None where nothing
    was read that has an end. ``due``: what has to be done, as a sentence, or empty.
    """

    role: str
    version: int | None
    threshold: int
    keys: Mapping[str, str]
    expires: datetime | None
    due: str


def status(
    folder: Path, ends: Mapping[str, tuple[int, datetime]], moment: datetime
) -> list[RoleStatus]:
    """Return what is to be said of each role.

    ``ends``: role → version and end of what lies at a target; empty: none was read.
    """
    root = read(folder)
    ends = {"root": (root.signed.version, root.signed.expires), **ends}
    return [_role(folder, root.signed, role, ends.get(role), moment) for role in ROLES]


def _role(
    folder: Path,
    root: Root,
    role: str,
    end: tuple[int, datetime] | None,
    moment: datetime,
) -> RoleStatus:
    ids = root.roles[role].keyids
    paths = {id: key_path(folder, role, id) for id in ids}
    keys = {id: path.name if path.exists() else "" for id, path in paths.items()}
    version, expires = end or (None, None)
    due = ""
    if expires is not None and expires - moment < DUE[role]:
        what = "has expired" if expires <= moment else "expires soon"
        due = f"{what}: {_REMEDIES[role](folder)}"
    if role == "root" and (folder / DRAFT).exists():
        due = due or f"{DRAFT} waits for signatures: shopwindow keys sign {folder}"
    threshold = root.roles[role].threshold
    return RoleStatus(role, version, threshold, keys, expires, due)


_REMEDIES: Mapping[str, Callable[[Path], str]] = {
    "root": lambda folder: f"shopwindow keys sign {folder} --renew",
    **dict.fromkeys(
        ROLES[1:], lambda folder: f"shopwindow publish TARGET --keys {folder} --renew"
    ),
}
