"""current.json: which release is current, for hosts without links, and whether it is
pinned.
"""

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson

from shopwindow.problems import Failure

POINTER_FORMAT = 1
"""The format of current.json, which it states."""


@dataclass(frozen=True)
class Current:
    """What current.json says: the id, and whether it stays until someone activates
    another.
    """

    id: str
    pinned: bool


def read(path: Path, *, link: Path) -> Current | None:
    """Return what current.json says; None where there is none.

    Where it is damaged, the link decides, and the outcome is None, too. Raises Failure
    where there is no link, or current.json is of a later program.
    """
    try:
        value = orjson.loads(path.read_bytes())
        if value["format"] > POINTER_FORMAT:
            raise Failure(
                f"{path}: format {value['format']}; "
                f"this program reads up to {POINTER_FORMAT}: update it"
            )
        return Current(str(value["id"]), bool(value.get("pinned", False)))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        if link.is_symlink():
            return None  # `Releases.reconcile` writes the file again
        raise Failure(
            f"{path}: cannot be read ({error}), and it alone knows what is pinned; mend it"
        ) from None


def write(path: Path, current: Current, moment: datetime) -> None:
    """Write current.json to disk. Raises OSError."""
    value = {
        "format": POINTER_FORMAT,
        "id": current.id,
        "switched": moment.isoformat(timespec="seconds"),
    }
    if current.pinned:
        value["pinned"] = True
    with open(path, "wb") as file:
        file.write(orjson.dumps(value) + b"\n")
        file.flush()
        os.fsync(file.fileno())
