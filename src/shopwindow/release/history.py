"""The history of activations: which release became current, when, through whom and why.

An output directory has it in history.jsonl, a line an activation; a target has the last
ones in its pointer. Both have entries of the same form.
"""

import getpass
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

Activation = dict[str, Any]
"""An entry: ``when`` (RFC 3339), ``id``, ``from`` (the release before, or None),
``who``, ``why``, and ``action``: build, activate, rollback, publish, pull or ahead.
``chain``: the release and those that follow it, where some do (`chain.as_json`).
"""


def activation(
    moment: datetime,
    id: str,
    previous: str | None,
    why: str,
    action: str,
    *,
    by: str = "",
    precision: str = "seconds",
    chain: Sequence[Mapping[str, str]] = (),
) -> Activation:
    """Return an entry of the history.

    ``by``: who activated the release; by default who runs this. ``precision``: of the
    instant, as `datetime.isoformat` takes it. ``chain``: the release and those that
    follow it, as `chain.as_json` returns them.
    """
    entry: Activation = {
        "when": moment.isoformat(timespec=precision),
        "id": id,
        "from": previous,
        "who": by or who(),
        "why": why,
        "action": action,
    }
    if len(chain) > 1:
        entry["chain"] = chain
    return entry


def who() -> str:
    """Return the person or pipeline behind an activation: a variable names it, or the
    system.
    """
    for name in ("SHOPWINDOW_ACTOR", "GITHUB_ACTOR", "GITLAB_USER_LOGIN"):
        if value := os.environ.get(name):
            return value
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def to_roll_back_to(
    history: Sequence[Activation],
    current: str | None,
    exists: Callable[[str], bool] = lambda id: True,
) -> str | None:
    """Return the newest release of a history that was never rolled back from, or None.

    ``history``: the oldest activation first. ``current``: the release that is to be
    left. ``exists``: whether a release is still there.
    """
    moves = _moves(history, current)
    bad = {entry.get("from") for entry in moves if entry.get("action") == "rollback"}
    bad.add(current)
    for entry in reversed(moves):
        for id in (entry["id"], entry.get("from")):
            if id and id not in bad and exists(id):
                return str(id)
    return None


def before(history: Sequence[Activation], current: str) -> str | None:
    """Return the release that was current before this one; None where none was."""
    for entry in reversed(history):
        if entry["id"] == current and entry.get("from") not in (None, current):
            return str(entry["from"])
    return None


def never_current(history: Sequence[Activation]) -> set[str]:
    """Return the releases that were to follow others, and did not become current."""
    followed = {link["id"] for entry in history for link in entry.get("chain", ())}
    return followed - {entry["id"] for entry in history}


def _moves(history: Sequence[Activation], current: str | None) -> list[Activation]:
    """Return the activations that changed which release is current.

    A command may be killed after it has written its line and before it moves the link.
    Then the next activation leaves another release than that line's.
    """
    # of an empty history `current` is left over, and no move
    left = [*(entry.get("from") for entry in history[1:]), current]
    return [
        entry
        for entry, release in zip(history, left, strict=False)
        if release in (entry["id"], None) and entry["id"] != entry.get("from")
    ]


# -- history.jsonl ---------------------------------------------------------------------


def read(path: Path) -> list[Activation]:
    """Return every activation of a history.jsonl, the oldest first.

    A line that a crash left half written is left out.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    activations = []
    for line in lines:
        with suppress(ValueError):
            entry = orjson.loads(line)
            if _is_activation(entry):
                activations.append(entry)
    return activations


def _is_activation(entry: Any) -> bool:
    """Return whether a value is what a line of the history holds."""
    if not isinstance(entry, dict) or not isinstance(entry.get("from"), str | None):
        return False
    links = entry.get("chain", [])
    if not isinstance(links, list) or not all("id" in link for link in links):
        return False
    return all(isinstance(entry.get(name), str) for name in ("when", "id", "action"))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait for the lock of a history.jsonl, and hold it. Raises OSError.

    Whoever adds a line holds it until the link has followed, which takes milliseconds.
    A build holds the output directory's own lock for minutes; a release that was built
    ahead becomes current meanwhile. Where there is no history, nothing can.
    """
    import fcntl  # here, for it is missing outside POSIX

    try:
        file = open(path, "rb+")  # noqa: SIM115 -- closed below
    except FileNotFoundError:
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def add(path: Path, entry: Activation) -> None:
    """Add a line to a history.jsonl, and sync it to the disk. Raises OSError.

    A line that a crash left half written is ended first.
    """
    line = orjson.dumps(entry) + b"\n"
    with open(path, "ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                line = b"\n" + line
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
