"""What a program calls: the functions of shopwindow.library, without a command around them."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from harness.content import AT, event, small, write
from harness.program import called
from harness.run import apart
from shopwindow import library
from shopwindow.problems import Misuse
from shopwindow.release.activation import Activated
from shopwindow.shop import INTERFACE


@pytest.fixture
def content(tmp_path: Path) -> Path:
    return write(tmp_path / "content", small())


def test_a_program_builds_compares_rolls_back_and_activates(content: Path, tmp_path: Path) -> None:
    out = tmp_path / "dist"
    first = library.build(INTERFACE, content, out, at=AT)
    write(content, {"events/more.yaml": event(77, [1], "2026-12-01 10:00", "2026-12-01 12:00")})
    second = library.build(INTERFACE, content, out, at=AT)
    assert first.built is not None
    assert second.built is not None
    one, two = first.built.id, second.built.id
    assert (first.activated, second.activated, second.current) == (True, True, two)
    changed = library.difference(INTERFACE, out, one, two)
    assert ("event", "77") in {(change.kind, change.id) for change in changed.changes}
    assert (library.roll_back(out).id, library.build(INTERFACE, content, out, at=AT).pinned) == (one, True)
    assert library.activate(out) == Activated(two, one)
    assert library.verify(out) == (two, [])


def test_problems_are_returned_and_nothing_is_written(content: Path, tmp_path: Path) -> None:
    (content / "site.yaml").write_text("nonsense: true\n")
    done = library.build(INTERFACE, content, tmp_path / "dist", at=AT)
    assert (done.built, done.checked.documents, bool(done.checked.problems)) == (None, None, True)
    assert not (tmp_path / "dist" / "releases").exists()


def test_an_argument_that_cannot_be_meant_is_named(content: Path, tmp_path: Path) -> None:
    with pytest.raises(Misuse) as misuse:
        library.build(INTERFACE, content, tmp_path / "dist", at="noon")
    assert misuse.value.argument == "at"


@apart
def test_the_application_answers_from_the_current_release(content: Path, tmp_path: Path) -> None:
    out = tmp_path / "dist"
    library.build(INTERFACE, content, out, at=AT)
    described, silent = library.application(INTERFACE, out), library.application(INTERFACE, out, docs=False)
    document = called(described, "openapi.json", {})
    assert (document.status, json.loads(document.body)["openapi"][:2]) == (200, "3.")
    refused = called(silent, "openapi.json", {})
    assert (refused.status, json.loads(refused.body)["success"]) == (401, False)


def test_a_program_that_imports_all_gets_the_names_of_all_chapters_and_no_others() -> None:
    taken: dict[str, Any] = {}
    exec("from shopwindow.library import *", taken)
    del taken["__builtins__"]
    assert {"application", "build", "check", "show"} <= set(taken)
    assert {name: value for name, value in taken.items() if value is not getattr(library, name)} == {}
    assert set(taken) & {"Any", "TYPE_CHECKING", "import_module", "require_folder"} == set()


def test_the_type_checker_sees_the_names_that_exist_at_run_time() -> None:
    """What is imported for the checker alone are the promised names, each from the chapter that has it."""
    assert library.__file__ is not None
    (block,) = (each for each in ast.parse(Path(library.__file__).read_text()).body if isinstance(each, ast.If))
    seen = {alias.name: each.module for each in block.body if isinstance(each, ast.ImportFrom) for alias in each.names}
    assert seen == {name: getattr(library, name).__module__ for name in library.__all__}
