"""`check --fix`, `check --diff` and `check --watch`: what is written, shown and left, and how they end."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.commands import SOURCES, ends_with_us
from harness.content import edit
from harness.program import shopwindow
from harness.servers import AS_INSTALLED, environment
from harness.waits import PATIENCE, awaited
from shopwindow import library
from shopwindow.problems import Failure
from shopwindow.shop import INTERFACE

EVENT = "events/one.yaml"


@pytest.fixture
def wrong(minimal: Path) -> Path:
    """A folder with two mistakes that are certain and one that is not."""
    edit(
        minimal,
        (EVENT, "name: Opening", "nmae: Opening  # of the doors"),
        (EVENT, "start: 2026-11-27 06:00", "start: 27/11/2026 06:00"),
        (EVENT, "storeId: [1]", "storeId: [1, 9]"),
    )
    return minimal


def texts(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_certain_is_written_and_the_rest_is_reported(wrong: Path) -> None:
    before = texts(wrong)
    ran = shopwindow("check", "--fix", "--content", wrong)
    fixed, *rest = ran.out.partition(f"{wrong}/{EVENT}:3:16: ")
    assert fixed == (f"{wrong}/{EVENT}:4:1: write name in place of nmae\n{wrong}/{EVENT}:6:8: write 2026-11-27 06:00\n")
    assert (ran.status, len(rest[1].splitlines())) == (1, 1), ran
    assert ran.err == "2 fixes in 1 file written\n1 problem\n`shopwindow rule NAME` explains reference\n"
    meant = before[EVENT].replace(b"nmae", b"name").replace(b"27/11/2026", b"2026-11-27")
    assert texts(wrong) == before | {EVENT: meant}


def test_once_nothing_is_left_the_status_is_0(wrong: Path) -> None:
    edit(wrong, (EVENT, "[1, 9]", "[1]"))
    assert shopwindow("check", "--fix", "--content", wrong).status == 0
    again = shopwindow("check", "--fix", "--content", wrong)
    assert (again.status, again.err, "nothing wrong" in again.out) == (0, "", True)


def test_a_diff_is_shown_that_patch_can_apply_and_nothing_is_written(wrong: Path) -> None:
    before = texts(wrong)
    ran = shopwindow("check", "--diff", "--content", wrong)
    assert ran == shopwindow("check", "--fix", "--diff", "--content", wrong)
    assert (ran.status, texts(wrong)) == (1, before)
    assert ran.err == "2 fixes in 1 file; nothing was written; check --fix writes them\n"
    done = subprocess.run(["git", "apply", "-p0", "--unsafe-paths", "-"], input=ran.out.encode(), cwd="/")
    assert done.returncode == 0
    assert texts(wrong)[EVENT] != before[EVENT]
    assert shopwindow("check", "--diff", "--content", wrong).err == "no fix is certain\n"


def test_mode_line_ends_and_byte_order_mark_stay(wrong: Path) -> None:
    file = wrong / EVENT
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    file.chmod(0o640)
    before = file.read_bytes()
    shopwindow("check", "--fix", "--content", wrong)
    assert file.read_bytes() == before.replace(b"nmae", b"name").replace(b"27/11/2026", b"2026-11-27")
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(file.parent)) == ["one.yaml"]


def test_programs_get_the_problems_and_people_the_fixes(wrong: Path) -> None:
    ran = shopwindow("check", "--fix", "--format", "json", "--content", wrong)
    assert [problem["rule"] for problem in json.loads(ran.out)["problems"]] == ["reference"]
    assert f"{wrong}/{EVENT}:4:1: write name in place of nmae\n" in ran.err


def test_a_file_that_changed_since_it_was_checked_is_not_written(wrong: Path) -> None:
    repair = library.fixes(INTERFACE, wrong, library.check(INTERFACE, wrong))
    edit(wrong, (EVENT, "The doors open.", "The doors are open."))
    before = texts(wrong)
    with pytest.raises(Failure, match=r"events/one\.yaml was changed meanwhile; nothing was written"):
        library.write_edits(wrong, repair)
    assert texts(wrong) == before


def test_a_link_that_leads_out_of_the_folder_is_neither_read_nor_written(wrong: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    (wrong / EVENT).rename(outside)
    (wrong / EVENT).symlink_to(outside)
    before = outside.read_bytes()
    assert shopwindow("check", "--fix", "--content", wrong).status == 1
    assert outside.read_bytes() == before


def test_a_link_that_was_turned_outwards_since_is_not_followed(wrong: Path, tmp_path: Path) -> None:
    repair = library.fixes(INTERFACE, wrong, library.check(INTERFACE, wrong))
    outside = tmp_path / "outside.yaml"
    (wrong / EVENT).rename(outside)
    (wrong / EVENT).symlink_to(outside)
    before = outside.read_bytes()
    with pytest.raises(Failure, match="leads out of"):
        library.write_edits(wrong, repair)
    assert outside.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--diff", "--format", "json"], "--diff it prints a diff, and nothing as json"),
        (["--watch", "--fix"], "--watch it does not go with --fix: run that by itself"),
        (["--watch", "--format", "sarif"], "--watch it does not go with --format sarif"),
        (["--watch", "--content", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_meant_together_is_one_sentence(options: list[str], words: str, wrong: Path) -> None:
    ran = shopwindow("check", "--content", wrong, *options)
    assert (ran.status, words in ran.err, ran.out) == (2, True, ""), ran


# -- --watch ---------------------------------------------------------------------------------------------------------


AS_AN_EDITOR = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
"""Before a command: the modes of files and folders hold for it, as they do for everybody but root."""


def with_interrupts() -> None:
    """As in a terminal: whoever starts tests in the background may ignore Ctrl-C, and processes inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ends_with_us()


@contextmanager
def watching(folder: Path, output: int, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [*AS_AN_EDITOR, sys.executable, "-m", "shopwindow", "check", "--watch"]
    command += ["--content", str(folder), *options]
    variables = environment(**{**AS_INSTALLED, "PYTHONPATH": str(SOURCES)})
    process = subprocess.Popen(command, stdout=output, stderr=output, env=variables, preexec_fn=with_interrupts)
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)


def until(pattern: str, log: Path, begin: int = 0) -> int:
    """Wait until a log holds a pattern behind a place; return where the pattern ends."""
    found = awaited(
        lambda: re.compile(pattern).search(log.read_text(), begin),
        lambda: f"{pattern!r} is not in {log.read_text()[begin:]!r}",
    )
    return found.end()


def test_every_save_is_checked_until_ctrl_c(minimal: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with open(log, "wb") as output, watching(minimal, output.fileno()) as process:
        end = until(r"--- \d\d:\d\d:\d\d\n(?s:.*)nothing wrong\n", log)
        edit(minimal, (EVENT, "name: Opening", "name: 5"))
        end = until(r"--- \d\d:\d\d:\d\d\n.*one.yaml:4:7: name: 5 is not text.*\n1 problem\n", log, end)
        (minimal / EVENT).write_text('name: "half')
        end = until("one.yaml:1:7: .*not closed", log, end)
        minimal.rename(tmp_path / "away")
        end = until("shopwindow: .*no such folder", log, end)
        (tmp_path / "away").rename(minimal)
        end = until("one.yaml:1:7: .*not closed", log, end)
        (minimal / EVENT).unlink()
        until("nothing wrong\n", log, end)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    assert "Traceback" not in log.read_text()


def test_a_folder_that_may_not_be_read_is_reported_once_and_the_others_are_followed(
    minimal: Path, tmp_path: Path
) -> None:
    log, closed = tmp_path / "log", minimal / "events/closed"
    closed.mkdir(mode=0)
    with open(log, "wb") as output, watching(minimal, output.fileno()):
        end = until("events/closed.*cannot be read.*\n1 problem\n.*explains.*\n", log)
        time.sleep(2.5)  # long enough for two more looks
        assert log.read_text()[end:].strip() == ""
        edit(minimal, (EVENT, "name: Opening", "name: 5"))
        end = until("one.yaml:4:7: name: 5 is not text.*\n(?s:.*)2 problems\n", log, end)
        closed.chmod(0o755)
        until("one.yaml:4:7: name: 5 is not text.*\n1 problem\n", log, end)


def test_every_state_says_whether_strict_would_stop_at_its_warnings(minimal: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with open(log, "wb") as output, watching(minimal, output.fileno(), "--strict") as process:
        end = until("nothing wrong\n", log)
        edit(minimal, (EVENT, "name: Opening", "name: “Opening”"))
        end = until("warning: name: .*\n(?s:.*)no problems, 1 warning\nwith --strict, warnings count", log, end)
        edit(minimal, (EVENT, "name: “Opening”", "name: Opening"))
        until("nothing wrong\n", log, end)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def test_a_terminal_is_cleared_before_every_state(minimal: Path) -> None:
    ours, terminal = pty.openpty()
    with watching(minimal, terminal) as process:
        os.close(terminal)
        shown = b""
        while b"Ctrl-C ends this" not in shown:
            shown += os.read(ours, 4096)
        assert shown.startswith(b"\x1b[2J\x1b[1;1H")
        assert b"nothing wrong" in shown
        assert b"---" not in shown
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    os.close(ours)
