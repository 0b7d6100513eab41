"""Faults to put into the program, each with the test that sees it. `python tests/nightly/mutants.py` tries them all.

A case of the suite may be merged or removed only while every one of these still dies. A mutant is one text in one file
of the package, what stands in its place, and a test. That the texts still stand there, once, is a test of its own
(tests/test_mutants.py).
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
NO_PART = (".git", ".venv", ".mypy_cache", ".ruff_cache", ".hypothesis", "dist", "__pycache__")


class Mutant(NamedTuple):
    """``path``: below src/shopwindow. ``before`` becomes ``after``, and ``test`` fails."""

    path: str
    before: str
    after: str
    test: str


MUTANTS = (
    Mutant(
        "content/schedule.py",
        "self.start <= moment < self.end",
        "self.start <= moment <= self.end",
        "tests/content/test_schedule.py::test_a_window_is_half_open",
    ),
    Mutant(
        "content/documents.py",
        "sorted(map(_shown, live_ones), key=kind.place)",
        "list(map(_shown, live_ones))",
        "tests/content/test_schedule.py::test_content_is_what_is_live_in_a_stated_order_without_its_windows",
    ),
    Mutant(
        "content/listing.py",
        "return sorted(\n        os.path.join(at, name)[start:]",
        "return list(\n        os.path.join(at, name)[start:]",
        "tests/content/test_followed_folder.py::test_files_below_a_folder_are_in_the_order_of_their_paths",
    ),
    Mutant(
        "interface/formats.py",
        "return max(matching)[1] if matching",
        "return min(matching)[1] if matching",
        "tests/interface/test_negotiation.py::test_accept_decides_the_format",
    ),
    Mutant(
        "interface/limits.py",
        "if len(times) < limit:",
        "if len(times) <= limit:",
        "tests/retail/test_share.py",
    ),
    Mutant(
        "retail/consents/table.py",
        "consents.at <= excluded.at",
        "consents.at < excluded.at",
        "tests/service/test_database.py::test_of_two_choices_at_one_instant_the_one_that_is_written_last_counts",
    ),
    Mutant(
        "service/allowances.py",
        "            rate,\n            min(cost, rate.most),",
        "            rate,\n            cost,",
        "tests/service/test_limits.py::test_what_costs_more_than_a_rate_takes_all_of_it_and_no_more",
    ),
    Mutant(
        "preview/guard.py",
        'if host == "localhost":',
        'if host.endswith("localhost"):',
        "tests/servers/test_served_pages.py::test_only_an_address_of_this_machine_alone_is_shown_without_a_secret",
    ),
    Mutant(
        "release/indexes.py",
        'file_digest(file, "sha256").hexdigest() == self.note["sha256"]',
        "True",
        "tests/catalog/test_catalog_release.py::test_nothing_is_built_upon_a_catalog_whose_bytes_a_disk_changed",
    ),
    Mutant(
        "retail/bags/operations.py",
        '        unlimited="It takes rows away.",\n',
        "",
        "tests/interface/test_declared.py",
    ),
)


def dies(mutant: Mutant) -> bool:
    """Return whether the mutant's test fails in a copy of the checkout that has the mutant."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "shopwindow"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*NO_PART), symlinks=True)
        file = copy / "src/shopwindow" / mutant.path
        file.write_text(file.read_text(encoding="utf-8").replace(mutant.before, mutant.after), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", mutant.test]
        environment = {**os.environ, "PYTHONPATH": str(copy / "src")}
        ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    # 1: a test failed. Any other status says that none ran.
    return ended.returncode == 1


def main(words: list[str]) -> int:
    """Try every mutant, or those whose path has one of these words."""
    alive = 0
    for mutant in MUTANTS:
        if words and not any(word in mutant.path for word in words):
            continue
        is_dead = dies(mutant)
        alive += not is_dead
        print("dies " if is_dead else "LIVES", mutant.path, repr(mutant.after), flush=True)
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
