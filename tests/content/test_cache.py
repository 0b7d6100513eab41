"""The memory of a content folder: with it and without it a check finds the same, whatever became of the files and of
the memory.
"""

import os
import shutil
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.content import EVENT, EVERYWHERE, MINIMAL, ROOT, Memory, check, edit, scan, write_files
from harness.program import Schemas
from shopwindow.content.check.memory import FILES
from shopwindow.content.kinds import SITE
from shopwindow.shop import INTERFACE


def aged(folder: Path, seconds: float = 10) -> None:
    """Make every file look as if it had been changed some time ago."""
    then = time.time() - seconds
    for path in folder.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (then, then))


@pytest.fixture
def remembered(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "memory"


def outcome(folder: Path, schemas: Schemas, remembered: Path | None = None, program: str = "1") -> tuple[Any, ...]:
    """A check by a process of its own, as far as its memory goes."""
    checked = check(folder, schemas, INTERFACE, memory=Memory(remembered, program))
    return checked.documents, checked.problems, checked.warnings, checked.placeholders, checked.sources


def kept(remembered: Path) -> set[str]:
    """The files of which the memory has what was read."""
    _, files = (remembered / FILES).read_bytes().splitlines()
    return {state[0] for state, *_ in orjson.loads(files)}


def test_with_and_without_the_memory_a_check_is_the_same(sample: Path, schemas: Schemas, remembered: Path) -> None:
    aged(sample)
    plain = outcome(sample, schemas)
    assert outcome(sample, schemas, remembered) == plain
    assert kept(remembered) == {
        source.path
        for source in scan(sample, INTERFACE.kinds)[0]
        if source.kind is not SITE and not source.kind.streamed
    }
    assert outcome(sample, schemas, remembered) == plain
    path = "events/windows-light-up.yaml"
    for old, new in (("finish: 2026-11-23 19:00", "finish: 2026-11-23 10:00"), ("id: 510101", "id: 5101x1")):
        edit(sample, (path, old, new))
        aged(sample, 5)
        plain = outcome(sample, schemas)
        assert plain[1]
        assert outcome(sample, schemas, remembered) == plain
        assert outcome(sample, schemas, remembered) == plain


def test_what_is_found_in_a_file_is_found_again_with_the_memory(
    minimal: Path, schemas: Schemas, remembered: Path
) -> None:
    edit(minimal, *EVERYWHERE)
    aged(minimal)
    plain = outcome(minimal, schemas)
    assert [outcome(minimal, schemas, remembered) for _ in range(2)] == [plain, plain]


def test_another_file_of_the_same_size_and_time_is_read(minimal: Path, schemas: Schemas, remembered: Path) -> None:
    aged(minimal)
    outcome(minimal, schemas, remembered)
    path = minimal / "events/one.yaml"
    before = path.stat()
    draft = write_files(minimal, {"events/draft.tmp": EVENT.replace("Opening", "Closing")}) / "events/draft.tmp"
    os.utime(draft, ns=(before.st_atime_ns, before.st_mtime_ns))
    draft.replace(path)
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_size == before.st_size
    documents, *_ = outcome(minimal, schemas, remembered)
    assert documents.of("event")[0].value["name"] == "Closing"


@pytest.mark.parametrize("damaged", ["Half Price", "storeNumber", "events/one.yaml", "Opening"])
def test_a_damaged_memory_is_none(damaged: str, minimal: Path, schemas: Schemas, remembered: Path) -> None:
    aged(minimal)
    plain = outcome(minimal, schemas, remembered)
    before = (remembered / FILES).read_bytes()
    (remembered / FILES).write_bytes(before.replace(damaged.encode(), damaged[::-1].encode()))  # JSON still
    assert (remembered / FILES).read_bytes() != before
    assert outcome(minimal, schemas, remembered) == plain


def test_a_file_younger_than_two_seconds_is_read_again(minimal: Path, schemas: Schemas, remembered: Path) -> None:
    aged(minimal)
    path = minimal / "events/one.yaml"
    os.utime(path, (soon := time.time() + 3600, soon))  # and it stays young, however long this takes
    outcome(minimal, schemas, remembered)
    assert kept(remembered) == MINIMAL.keys() - {"site.yaml", "events/one.yaml"}
    moment = path.stat()
    with path.open("r+b") as file:  # within the same tick of the clock, in place
        file.write(EVENT.replace("Opening", "Closing").encode())
    os.utime(path, ns=(moment.st_atime_ns, moment.st_mtime_ns))
    documents, *_ = outcome(minimal, schemas, remembered)
    assert documents.of("event")[0].value["name"] == "Closing"


def test_what_is_read_again_takes_its_former_place_in_the_memory(
    minimal: Path, schemas: Schemas, remembered: Path
) -> None:
    aged(minimal)
    outcome(minimal, schemas, remembered)
    for number in range(3):
        write_files(minimal, {"events/one.yaml": EVENT.replace("Opening", f"Opening {number}")})
        os.utime(minimal / "events/one.yaml", (time.time() - 9 + number,) * 2)
        plain = outcome(minimal, schemas)
        assert [outcome(minimal, schemas, remembered) for _ in range(2)] == [plain, plain]
    assert (remembered / FILES).read_bytes().count(b'"Opening') == 1


@pytest.mark.parametrize("change", ["program", "names", "schemas"])
def test_the_memory_holds_for_one_program_its_schemas_and_the_names(
    minimal: Path, schemas: Schemas, remembered: Path, tmp_path: Path, change: str
) -> None:
    edit(minimal, ("events/one.yaml", "name: Opening", 'name: "{{ www }}"'))
    aged(minimal)
    outcome(minimal, schemas, remembered)
    before = (remembered / FILES).read_bytes()
    program = "2" if change == "program" else "1"
    if change == "names":
        edit(minimal, ("site.yaml", "https://www.example", "https://shop.example"))
    elif change == "schemas":
        (tmp_path / "own").mkdir()
        shutil.copyfile(ROOT / "schemas/event.json", tmp_path / "own/event.json")
        schemas = Schemas(ROOT / "schemas").under(tmp_path / "own")
    assert outcome(minimal, schemas, remembered, program) == outcome(minimal, schemas)
    assert (remembered / FILES).read_bytes().split(b"\n")[0] != before.split(b"\n")[0]


@pytest.mark.parametrize("damage", ["gone", "empty", "half", "other", "folder", "list"])
def test_a_damaged_memory_is_read_as_none(minimal: Path, schemas: Schemas, remembered: Path, damage: str) -> None:
    aged(minimal)
    plain = outcome(minimal, schemas, remembered)
    path = remembered / FILES
    data = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "gone":
        path.write_bytes({"empty": b"", "half": data[:-50], "other": b"\x80" * 50, "list": b"[]\n" + data}[damage])
    assert outcome(minimal, schemas, remembered) == plain
