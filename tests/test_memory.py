"""One memory of a content folder: whatever it has, every question has the answer that it has without it."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from harness.content import Document, Memory, edit, event, small, write
from harness.program import shopwindow
from shopwindow import library
from shopwindow.cli.steps import MOST_CACHES
from shopwindow.content.check.memory import FILES, SOUND
from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import Rule
from shopwindow.content.rules.case import Case
from shopwindow.problems import sentence
from shopwindow.shop import INTERFACE

SAMPLE = Path(__file__).parent.parent / "content"


def aged(folder: Path, seconds: float = 10) -> None:
    """Make every file look as if it had been changed some time ago."""
    then = time.time() - seconds
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


@pytest.fixture(scope="module")
def shared_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path_factory.mktemp("memory") / "content"))


@pytest.fixture
def sample(shared_sample: Path) -> Iterator[Path]:
    aged(shared_sample)
    yield shared_sample
    shutil.rmtree(shared_sample)
    shutil.copytree(SAMPLE, shared_sample)


def problems(folder: Path, memory: Memory | None = None, interface: Any = INTERFACE) -> list[str]:
    checked = library.check(interface, folder, jobs=1, memory=memory)
    return [f"{one.path}: {sentence(one)}" for one in checked.problems]


QUESTIONS: dict[str, Callable[[library.OpenedContent], Any]] = {
    "show": lambda content: library.show(content, "v2/store/event?storeId=403").body,
    "show the catalog": lambda content: library.show(content, "v3/catalog/category").body,
    "why": lambda content: [asdict(one) for one in library.why(content, "store", "403", "name")],
    "uses": lambda content: library.uses(content, "store", "403"),
    "uses setting": lambda content: library.uses(content, "setting", "www"),
    "uses attribute": lambda content: library.uses(content, "attribute", "WC_EVENT"),
    "calendar": lambda content: library.calendar(content, start="2026-11-20"),
}


def test_every_question_has_the_same_answer_with_and_without_a_memory(sample: Path, tmp_path: Path) -> None:
    def answer(memory: Memory | None = None) -> dict[str, Any]:
        content = library.opened(INTERFACE, sample, jobs=1, memory=memory)
        return {name: question(content) for name, question in QUESTIONS.items()}

    cold, held = answer(), Memory(tmp_path / "memory")
    assert [answer(Memory(tmp_path / "memory")), answer(held), answer(held)] == [cold] * 3
    assert (tmp_path / "memory" / SOUND).is_file()
    edit(
        sample,
        ("stores/west.yaml", "name: Silver Spur", "name: Golden Spur"),
        ("events/windows-light-up.yaml", "finish: 2026-11-23 19:00", "finish: 2026-11-23 19:30"),
    )
    cold = answer()
    assert [answer(Memory(tmp_path / "memory")), answer(held)] == [cold] * 2


def test_a_new_document_is_the_same_with_and_without_a_memory(sample: Path, tmp_path: Path) -> None:
    def begun(memory: Memory | None = None) -> tuple[str, str]:
        path = library.new(INTERFACE, sample, "event", "Late opening", memory=memory)
        text = path.read_text()
        path.unlink()
        return path.name, text

    cold = begun()
    assert [begun(Memory(tmp_path / "memory")) for _ in range(2)] == [cold] * 2
    (sample / "events/windows-light-up.yaml").rename(sample / "events/other.yaml")
    edit(sample, ("events/other.yaml", "id: 510101", "id: 990101"))
    assert begun(Memory(tmp_path / "memory")) == begun() != cold
    edit(sample, ("site.yaml", "www:", "www: ]"))  # nobody knows what {{www}} stands for, and the ids are there
    assert begun(Memory(tmp_path / "memory")) == begun()


def folder_of(tmp_path: Path) -> Path:
    folder = write(tmp_path / "content", small())
    aged(folder)
    return folder


def test_what_nothing_was_wrong_with_is_judged_again_once_it_is_another(tmp_path: Path) -> None:
    judged = []

    def rule(case: Case) -> Iterator[tuple[Document, Finding]]:
        judged.append(1)
        yield from ()

    interface = replace(INTERFACE, rules=(*INTERFACE.rules, Rule(("unique",), rule)))
    folder, memory = folder_of(tmp_path), tmp_path / "memory"
    for expected in (1, 1, 1):
        library.opened(interface, folder, jobs=1, memory=Memory(memory))
        assert len(judged) == expected
    library.opened(interface, folder, jobs=1, memory=Memory(memory, "another program"))
    assert len(judged) == 2
    write(folder, {"events/lost.yaml": event(77, [999], "2026-12-01 10:00", "2026-12-01 12:00")})
    for _ in range(2):
        with pytest.raises(library.ContentAtFault, match="no store has the storeId 999"):
            library.opened(interface, folder, jobs=1, memory=Memory(memory))
    assert len(judged) == 4


def test_a_template_that_is_changed_is_tried_again(tmp_path: Path) -> None:
    folder, memory = folder_of(tmp_path), tmp_path / "memory"
    assert problems(folder, Memory(memory)) == []
    (folder / "templates").mkdir()
    (folder / "templates/share.txt").write_text("{{ nothing.like.it")
    found = problems(folder)
    assert found
    assert [problems(folder, Memory(memory)) for _ in range(2)] == [found] * 2


def test_without_a_place_to_write_everything_is_read_again(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for _ in range(2):
        assert problems(sample, Memory(tmp_path / "file" / "memory")) == []
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_checks_at_once_and_a_killed_one_leave_a_memory_that_is_intact(sample: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    for age, name in ((9000, "files.1"), (0, "files.2")):  # what killed ones left
        (memory / name).write_text("half of i")
        os.utime(memory / name, (time.time() - age,) * 2)
    both = [threading.Thread(target=problems, args=(sample, Memory(memory))) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert (memory / FILES).is_file()
    assert {path.name for path in memory.glob("files*")} == {FILES, "files.2"}
    assert problems(sample, Memory(memory)) == []


def test_of_many_content_folders_those_used_last_are_remembered(tmp_path: Path) -> None:
    caches = tmp_path / "cache" / "shopwindow"
    for number in range(MOST_CACHES + 5):
        (caches / f"{number}").mkdir(parents=True)
        os.utime(caches / f"{number}", (number, number))
    ran = shopwindow("check", "--content", folder_of(tmp_path), env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert ran.status == 0, ran
    left = {path.name for path in caches.iterdir()}
    assert (len(left), left & {"5", "6"}) == (MOST_CACHES, {"6"})
