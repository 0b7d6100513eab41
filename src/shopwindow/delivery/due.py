"""What is to be said of the roles of a shop, and what has to be done for them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from tuf.api.metadata import Root

from shopwindow.delivery import roots
from shopwindow.delivery.keys import key_path
from shopwindow.delivery.roles import ROLES, due_before


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
    root = roots.read(folder)
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
    lasts = roots.lifetime(root, role)
    if expires is not None and expires - moment < due_before(role, lasts):
        what = "has expired" if expires <= moment else "expires soon"
        due = f"{what}: {_REMEDIES[role](folder)}"
    if role == "root" and (folder / roots.DRAFT).exists():
        waits = f"{roots.DRAFT} waits for signatures: shopwindow keys sign {folder}"
        due = due or waits
    threshold = root.roles[role].threshold
    return RoleStatus(role, version, threshold, lasts, keys, expires, due)


_REMEDIES: Mapping[str, Callable[[Path], str]] = {
    "root": lambda folder: f"shopwindow keys sign {folder} --renew",
    **dict.fromkeys(
        ROLES[1:], lambda folder: f"shopwindow publish TARGET --keys {folder} --renew"
    ),
}
