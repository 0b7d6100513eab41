"""docs/contribute: each change that it shows is applied to a copy, tried there, and touches one place."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from harness.commands import SOURCES
from harness.program import Ran, shopwindow

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "library"
PAGE = (ROOT / "docs" / "contribute" / "README.md").read_text(encoding="utf-8")
AT = "2026-12-01T12:00:00-05:00"

DIFFS: Mapping[str, list[str]] = {
    section.partition("\n")[0]: re.findall(r"^```diff\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
}
FAMILY = "library/interface.py"
FILES = {
    "A field": ["library/schemas/branch.json", "library/schemas/responses/branches.json"],
    "An operation": [FAMILY, "library/schemas/responses/authors.json"],
    "A kind": [FAMILY, "library/schemas/course.json"],
    "A rule": [FAMILY, "library/rules.yaml"],
    "A format": ["formats.py"],
    "A write": [FAMILY],
}
"""What each change touches: the family and its schemas, or the one module of formats."""


class Copy:
    """A copy of the library, with one change, and of the engine where the change is one of that."""

    def __init__(self, folder: Path, section: str) -> None:
        self.library, self.engine = folder / "library", folder / "src"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(EXAMPLE, self.library, ignore=ignored)
        self.paths = f"{SOURCES}:{self.library}"
        place = self.library
        if section == "A format":
            shutil.copytree(ROOT / "src", self.engine, ignore=ignored)
            for name in ("schemas", "templates"):
                shutil.copytree(ROOT / name, folder / name)
            self.paths = f"{self.engine}:{self.library}"
            place = self.engine / "shopwindow" / "interface"
        for diff in DIFFS[section]:
            subprocess.run(["git", "apply", "-"], cwd=place, input=diff.encode(), env=apart(folder), check=True)
        self.environment = {"PYTHONPATH": self.paths, "SHOPWINDOW_INTERFACE": "library.interface:INTERFACE"}

    def run(self, *arguments: str) -> Ran:
        return shopwindow(*arguments, "--content", str(self.library / "content"), env=self.environment)

    def write(self, path: str, old: str, new: str) -> None:
        """Change the content: ``old`` becomes ``new``."""
        place = self.library / "content" / path
        place.parent.mkdir(exist_ok=True)
        text = place.read_text() if old else ""
        assert old in text
        place.write_text(text.replace(old, new, 1) if old else new)


def apart(folder: Path) -> dict[str, str]:
    """An environment in which git does not take a folder above for its repository."""
    return {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}


def field(copy: Copy, folder: Path) -> None:
    copy.write("branches/all.yaml", "  phone: 207-555-0100\n", "  phone: 207-555-0100\n  parking: true\n")
    shown = json.loads(copy.run("show", "v1/branches").out)["branches"]
    assert [branch.get("parking") for branch in shown] == [True, None]


def operation(copy: Copy, folder: Path) -> None:
    assert json.loads(copy.run("show", "v1/authors", "--at", AT).out) == {"authors": ["Ines Calloway", "Tom Abara"]}
    assert copy.run("build", "--out", str(folder / "out"), "--at", AT).status == 0
    assert (folder / "out/current/files/v1/authors.xml").is_file()


def kind(copy: Copy, folder: Path) -> None:
    copy.write("courses/all.yaml", "", "- {courseId: 1, branchId: 1, publish: {from: 2026-12-02}}\n")
    assert copy.run("check").status == 0
    built = copy.run("build", "--out", str(folder / "out"), "--at", AT)
    assert "build again at 2026-12-02 00:00 (America/New_York): content changes by itself then" in built.out
    copy.write("courses/all.yaml", "branchId: 1", "branchId: 7")
    assert "courses/all.yaml:1:" in copy.run("check").out


def rule(copy: Copy, folder: Path) -> None:
    assert copy.run("check").status == 0
    copy.write("readings/winter.yaml", "2026-12-03 19:00", "2026-12-03 23:00")
    assert "readings/winter.yaml:5:10: " in copy.run("check").out
    page = shopwindow("rule", "reading.hour", env=copy.environment).out
    assert page.startswith("reading.hour: A reading begins while the branches are closed.\n")


def format(copy: Copy, folder: Path) -> None:
    assert copy.run("build", "--out", str(folder / "out"), "--at", AT).status == 0
    text = (folder / "out/current/files/v1/branches.text").read_text()
    assert text.startswith('{\n  "branches": [\n')
    assert json.loads(text) == json.loads((folder / "out/current/files/v1/branches.json").read_bytes())


PROBES: Mapping[str, Callable[[Copy, Path], None]] = {
    "A field": field,
    "An operation": operation,
    "A kind": kind,
    "A rule": rule,
    "A format": format,
}
"""What each change does; a write needs a server, so tests/servers tries that one."""


def test_the_page_tells_of_each_change_once() -> None:
    assert list(DIFFS) == list(FILES)
    assert all(DIFFS.values())


def touches_one_place(section: str) -> None:
    touched = [path for diff in DIFFS[section] for path in re.findall(r"^\+\+\+ b/(.*)$", diff, re.MULTILINE)]
    assert touched == FILES[section]


@pytest.mark.parametrize("section", PROBES)
def test_a_change_touches_one_place_and_works(section: str, tmp_path: Path) -> None:
    touches_one_place(section)
    PROBES[section](Copy(tmp_path, section), tmp_path)
