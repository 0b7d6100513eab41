"""How tests run, and what each may ask for: schemas, sample content, the smallest valid content, both engines."""

import gc
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from facts import conformance
from harness.content import MINIMAL, USUAL, write_files
from harness.databases import database, engine, postgresql
from harness.program import Schemas, aged, built, program_schemas
from harness.run import adopt_orphans, begin, left_in_memory, left_running, memory

__all__ = ["database", "engine", "postgresql"]

SAMPLE = Path(__file__).parent.parent / "content"

QUICK = {
    "test_bind",
    "test_catalog_conformance",
    "test_catalog_paths",
    "test_catalog_views",
    "test_conformance",
    "test_expressions",
    "test_feed",
    "test_fields",
    "test_formats",
    "test_kinds",
    "test_layers",
    "test_negotiation",
    "test_openapi",
    "test_report",
    "test_rules",
    "test_schema_findings",
    "test_schemas",
    "test_views",
    "test_words",
    "test_yaml",
}
"""Modules that start no server and take a second or two each: what `pytest -m quick` collects and runs."""

BOUND = 120
"""Seconds after which a test is taken for one that hangs: thirty times what the longest takes of a processor."""

BOUNDS = {"servers": BOUND, "slow": 900, "nightly": 7200}
"""The folders that run only where they are named, and the bounds of their tests."""

LEAST_BOUND = int(os.environ.get("SHOPWINDOW_BOUND", "0"))
"""A night tries forty times as many examples, and ten times as many kills and races: it gives each test this long."""

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
"""Every process that tests start would otherwise compile the program again, for 0.2 s of processor time."""

settings.register_profile("usual", deadline=None, max_examples=USUAL // 4, derandomize=True)  # no run fails by chance
settings.register_profile("nightly", deadline=None, max_examples=10 * USUAL, print_blob=True)  # each run tries others
settings.load_profile("usual")  # another one by `--hypothesis-profile`


@pytest.fixture(scope="session", autouse=True)
def user_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Commands remember content in a cache of the tests, and not in that of the user."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("user-cache"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffled",
        type=int,
        metavar="SEED",
        help="run the modules, and the tests of each, in an order that is drawn with this number",
    )


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """With `-n auto`: as many processes as processors where everything runs, none where files or tests are named.

    Somebody who names a test wants its output, or a debugger; and a process more costs two seconds of start, which
    the quick subset would not win back.
    """
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS or _is_quick(config):
        return 0
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


LEFT = pytest.StashKey[list[str]]()
FOLDER = pytest.StashKey[Path]()


@pytest.hookimpl(tryfirst=True)  # before pytest chooses a folder
def pytest_configure(config: pytest.Config) -> None:
    """Begin the run: its folder is in memory, unless another one is named by `--basetemp`."""
    _keep_to_a_processor()
    adopt_orphans()
    config.stash[LEFT] = []
    if not hasattr(config, "workerinput"):
        name, there = begin(), memory()
        if there and config.option.basetemp is None:
            config.stash[FOLDER] = there / name
            config.option.basetemp = str(there / name)


def _keep_to_a_processor() -> None:
    """With `-n auto`, keep each process, and what it starts, to a processor of its own.

    Commands so share their work only where a test says `--jobs`: the other processors have tests to run.
    """
    worker, workers = (os.environ.get(f"PYTEST_XDIST_WORKER{end}", "") for end in ("", "_COUNT"))
    if worker and hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        if len(processors) == int(workers):
            os.sched_setaffinity(0, {processors[int(worker.removeprefix("gw"))]})


def _is_quick(config: pytest.Config) -> bool:
    return str(config.option.markexpr) == "quick"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m quick`, leave alone what has no quick test: to import it takes as long as to run what has some."""
    if _is_quick(config) and collection_path.suffix == ".py" and collection_path.stem not in QUICK:
        return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Mark the tests of the modules in ``QUICK``, bound each, and put them in another order where that is asked for."""
    for item in items:
        if item.path.stem in QUICK:
            item.add_marker(pytest.mark.quick)
        bound = BOUNDS.get(item.path.parent.name, BOUND)
        item.add_marker(pytest.mark.timeout(max(bound, LEAST_BOUND)))
    if (seed := config.getoption("shuffled")) is not None:
        drawn = random.Random(seed)
        order = {item.path: drawn.random() for item in items}  # a module's tests together, for they share fixtures
        items.sort(key=lambda item: (order[item.path], drawn.random()))


def pytest_collection_finish() -> None:
    """Leave what was collected out of what Python searches for garbage: a twentieth of the run's processor time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)  # when fixtures have given back what they had, and workers have ended
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that leaves a process, a port or a file in memory: the next one would meet it."""
    config = session.config
    if folder := config.stash.get(FOLDER, None):
        shutil.rmtree(folder, ignore_errors=True)
    left = config.stash[LEFT]
    left += (*left_running(), *left_in_memory())
    if hasattr(config, "workeroutput"):
        config.workeroutput["left"] = left
    elif left and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_testnodedown(node: Any) -> None:
    """A worker has ended: take from it what it saw left."""
    node.config.stash[LEFT] += getattr(node, "workeroutput", {}).get("left", [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left := config.stash[LEFT]:
        terminalreporter.section("FAILED: this run has left", red=True)
        for line in left:
            terminalreporter.line(line)


@pytest.fixture(scope="module")
def schemas() -> Schemas:
    """The schemas that come with the program."""
    return program_schemas()


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the sample content, to be changed at will."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "content"))


@pytest.fixture
def minimal(tmp_path: Path) -> Path:
    """A content folder with one small document of each kind, to be changed at will."""
    return write_files(tmp_path / "content", MINIMAL)


def lent(out: Path) -> Iterator[Path]:
    """A folder of releases for all who only read. At the end of the session its releases must be as they were."""

    def look() -> dict[Path, tuple[int, int, int, int]]:
        looks = {path: path.lstat() for path in (out / "releases").rglob("*")}
        return {path: (now.st_ino, now.st_mode, now.st_size, now.st_mtime_ns) for path, now in looks.items()}

    before = look()
    yield out
    assert look() == before


@pytest.fixture(scope="session")
def out(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of releases with one of the conformance table's content; modules may have another."""
    folder = tmp_path_factory.mktemp("out")
    built(write_files(folder / "content", conformance.documents()), folder / "dist", at=conformance.AT)
    yield from lent(folder / "dist")


@pytest.fixture(scope="session")
def each(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A content folder with two files of each kind, of a collection and of the catalog. Nobody changes it.

    A build of it takes a fifth of what one of the sample takes, and its order, chunks and merges are those of several.
    """
    content = write_files(tmp_path_factory.mktemp("each") / "content", conformance.in_several_files())
    shutil.copy(SAMPLE / "collections.yaml", content)
    shutil.copytree(SAMPLE / "schemas", content / "schemas")
    return aged(content)


@pytest.fixture(scope="session")
def each_out(each: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of releases with one of that content, at the instant AT."""
    folder = tmp_path_factory.mktemp("each") / "dist"
    built(each, folder)
    yield from lent(folder)


@pytest.fixture(scope="session")
def sample_out(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of releases with one of the sample content, at the instant AT."""
    folder = tmp_path_factory.mktemp("sample") / "dist"
    built(SAMPLE, folder)
    yield from lent(folder)
