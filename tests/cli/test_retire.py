"""`retire`: ends a document, and what cannot be live without it; comments and layout stay."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest

from harness.content import event, small, write
from harness.program import shopwindow
from harness.servers import environment
from harness.waits import PATIENCE
from shopwindow import library
from shopwindow.shop import INTERFACE

SAMPLE = Path(__file__).parent.parent.parent / "content"
YEARS = 3
LAST_DAY = f"{date.today().year + YEARS}-12-31"
"""Years from now: a document can be retired in time to come only."""


def texts(content: Path) -> Mapping[str, str]:
    return {str(path.relative_to(content)): path.read_text() for path in content.rglob("*.yaml")}


def lines_added(before: str, after: str) -> list[str]:
    """The lines that a text has more than it had; nothing else may differ."""
    remaining = before.splitlines()
    added = []
    for line in after.splitlines():
        if remaining and remaining[0] == line:
            remaining.pop(0)
        else:
            added.append(line)
    assert remaining == []
    return added


@pytest.fixture
def content(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "content"))


def test_a_store_beside_others_gets_an_end_and_nothing_else_changes(content: Path) -> None:
    before = texts(content)
    ran = shopwindow("retire", "store", "403", "--on", LAST_DAY, "--yes", "--content", content)
    assert ran.status == 0, ran
    after = texts(content)
    assert [path for path in after if after[path] != before[path]] == ["stores/west.yaml"]
    added = lines_added(before["stores/west.yaml"], after["stores/west.yaml"])
    assert added == ["  publish:", f"    until: {LAST_DAY}"]
    assert "11 documents more name it" in ran.err
    assert "746 lines of 2 feeds name it" in ran.err
    assert library.check(INTERFACE, content).problems == []
    store = library.check(INTERFACE, content).documents.of("store")  # type: ignore[union-attr]
    ends = {each.value["storeId"]: each.value.get("publish") for each in store}
    assert ends[403] == {"until": LAST_DAY}


def test_events_at_this_store_alone_get_the_same_end(content: Path) -> None:
    before = texts(content)
    ran = shopwindow("retire", "store", "40155", "--on", LAST_DAY, "--yes", "--content", content)
    assert ran.status == 0, ran
    after = texts(content)
    changed = {path: lines_added(before[path], after[path]) for path in after if after[path] != before[path]}
    assert changed == {
        "events/rosewater-opening.yaml": [f"    until: {LAST_DAY}"] * 2,
        "stores/rosewater-landing.yaml": [f"  until: {LAST_DAY}"],
    }
    assert "event 540002, Coffee with the Roasters ends with it" in ran.err
    assert library.check(INTERFACE, content).problems == []


def test_without_consent_the_change_is_shown_and_not_written(content: Path) -> None:
    before = texts(content)
    ran = shopwindow("retire", "store", "403", "--on", LAST_DAY, "--content", content)
    assert (ran.status, texts(content)) == (0, before)
    assert ran.out.startswith(f"--- {content}/stores/west.yaml\n+++ {content}/stores/west.yaml\n@@ ")
    assert f"\n+    until: {LAST_DAY}\n" in ran.out
    assert ran.err.endswith("nothing was written; --yes writes it\n")


def answered(content: Path, answer: bytes) -> tuple[int, str]:
    """Run the command in a terminal and answer what it asks; its status, and all that the terminal shows."""
    ours, its = os.openpty()
    arguments = ["retire", "store", "403", "--on", LAST_DAY, "--content", str(content)]
    command = [sys.executable, "-m", "shopwindow", *arguments]
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment(), start_new_session=True)
    os.close(its)
    shown, asked = b"", False
    with os.fdopen(ours, "r+b", buffering=0) as terminal:
        while True:
            try:
                data = terminal.read(65536)
            except OSError:  # the command has ended, and its side of the terminal is closed
                break
            if not data:
                break
            shown += data
            if not asked and b"Write this?" in shown:
                asked = True
                terminal.write(answer)
    return process.wait(PATIENCE), shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("answer", "status", "last", "is_written"),
    [
        (b"y\n", 0, "stores/west.yaml: written", True),
        (b"n\n", 0, "nothing was written; --yes writes it", False),
        (b"\n", 0, "nothing was written; --yes writes it", False),
        (b"\x04", 1, "Aborted!", False),
    ],
    ids=["yes", "no", "return", "end of input"],
)
def test_in_a_terminal_the_change_is_shown_and_asked_about_before_it_is_written(
    content: Path, answer: bytes, status: int, last: str, is_written: bool
) -> None:
    before = texts(content)
    ended, shown = answered(content, answer)
    asked_at = shown.index("Write this? [y/N]:")
    assert (ended, shown.endswith(f"{last}\n")) == (status, True), shown
    assert f"\n+    until: {LAST_DAY}\n" in shown[:asked_at]
    assert "11 documents more name it" in shown[:asked_at]
    assert (texts(content) != before) == is_written


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("stor 403 --on {day}", "'stor' is no kind; the kinds are app, store, "),
        ("store 406 --on {day}", "no store has the locationNumber, storeNumber or storeId 406; did you mean 405?"),
        ("store 403 --on 2020-01-01", "--on 2020-01-01 is past"),
        ("store 403 --on {yesterday}", "is past; a document can be retired from today on"),
        ("store 403 --on soon", "--on 'soon' is no day and no instant; write 2026-11-27, "),
        (
            "store 403 --on 2031-02-30",
            "--on 2031-02-30: '2031-02-30' does not exist in the calendar; write 2026-11-27, ",
        ),
        ("app iphone --on {day}", "no app can be retired: it has no publish window"),
        ("product 520100 --on {day}", "no product can be retired: its documents come in feeds"),
        ("event 540001 --on {day}", "event 540001 ends already, on 2027-03-07"),
        ("store 403", "Missing option '--on'"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(arguments: str, words: str) -> None:
    yesterday = (date.today() - timedelta(days=2)).isoformat()
    words_of = arguments.format(day=LAST_DAY, yesterday=yesterday).split()
    ran = shopwindow("retire", *words_of, "--content", SAMPLE)
    assert (ran.status, words in ran.err, ran.out) == (2, True, ""), ran.err


def test_what_needs_a_choice_is_said_and_nothing_is_written(tmp_path: Path) -> None:
    year = date.today().year + YEARS
    later = event(77, [1], f"{year + 1}-05-01 10:00", f"{year + 1}-05-01 12:00")
    later["publish"] = {"from": f"{year + 1}-01-01"}
    content = write(tmp_path / "content", small() | {"events/later.yaml": later})
    before = texts(content)
    ran = shopwindow("retire", "store", "1", "--on", LAST_DAY, "--yes", "--content", content)
    assert (ran.status, texts(content)) == (2, before), ran
    assert f"goes live on {year + 1}-01-01, when nothing that it names is live" in ran.err


def test_a_file_that_changed_meanwhile_is_left_alone(content: Path) -> None:
    retired = library.retire(library.opened(INTERFACE, content), "store", "403", LAST_DAY)
    (content / "stores/west.yaml").write_text("[]\n")
    with pytest.raises(Exception, match=r"stores/west\.yaml was changed meanwhile; nothing was written"):
        library.write_edits(content, retired)
