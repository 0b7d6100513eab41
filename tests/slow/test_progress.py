"""What takes long shows on a terminal how far it has come, and elsewhere nothing."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from harness.content import AT, ROOT, write_files
from harness.program import copied, shopwindow

CONTENT = ROOT / "content"
SQL = "SELECT upc, site FROM rows"

COUNTED = r"\[[# ]{30}\] [0-9,]+ of [0-9,]+"

COMMANDS: list[tuple[list[str], list[str]]] = [
    (["check", "--at", AT], [f"checking {COUNTED}"]),
    (["build"], [f"checking {COUNTED}", "indexing …", f"rendering {COUNTED}"]),
    (["catalog", "explain", "--unbuilt"], [f"checking {COUNTED}", "indexing …"]),
    (["catalog", "explain", "coat", "--unbuilt"], [f"checking {COUNTED}", "indexing …"]),
    (["catalog", "import", "inventory.sql", "rows.jsonl"], [r"importing: [0-9,]+ rows"]),
]


def rows(count: int) -> str:
    return "".join(f'{{"upc": "{number:012}", "site": 1}}\n' for number in range(count))


def prepared(folder: Path) -> Path:
    """The sample, and a feed that takes many times as long to read as a drawing lasts, on any machine."""
    copied(CONTENT, folder / "content")
    write_files(folder, {"rows.jsonl": rows(200_000), "inventory.sql": SQL})
    return folder


def on_a_terminal(folder: Path, arguments: Sequence[str]) -> tuple[int, str]:
    """Return the exit status of a command, and what it drew on the terminal of its errors."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "shopwindow", *arguments]
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    drawn = b""
    with suppress(OSError):  # how Linux says that nobody writes any more
        while data := os.read(ours, 4096):
            drawn += data
    os.close(ours)
    return process.wait(), drawn.decode()


NAMES = [" ".join(arguments[:3]) for arguments, _ in COMMANDS]


@pytest.mark.parametrize(("arguments", "drawings"), COMMANDS, ids=NAMES)
def test_a_terminal_shows_each_step_and_is_cleared(tmp_path: Path, arguments: list[str], drawings: list[str]) -> None:
    status, drawn = on_a_terminal(prepared(tmp_path), arguments)
    assert status == 0
    at = 0
    for drawing in drawings:
        match = re.compile(rf"\r{drawing}\x1b\[K").search(drawn, at)
        assert match, (drawing, drawn[at:])
        at = match.end()
    # What a command says in the end stands on a line of its own.
    _, cleared, said = drawn.rpartition("\r\x1b[K")
    assert (cleared, "\x1b" in said) == ("\r\x1b[K", False)


@pytest.mark.parametrize(("arguments", "drawings"), COMMANDS[:3], ids=NAMES[:3])
def test_what_is_no_terminal_gets_no_drawing(tmp_path: Path, arguments: list[str], drawings: list[str]) -> None:
    ran = shopwindow(*arguments, cwd=prepared(tmp_path))
    assert (ran.status, ran.err) == (0, "")
    assert "\r" not in ran.out
    assert re.search("|".join(drawings), ran.out) is None
