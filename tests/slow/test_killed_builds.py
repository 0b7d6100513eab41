"""Facts about builds that are killed: at twenty points here, at hundreds by `python -m benchmarks.killed_builds`."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))
from benchmarks.killed_builds import Case, Summary, at_events, at_random, cases, events, spaced

SAMPLE = Path(__file__).resolve().parents[2] / "content"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("killed")


@pytest.fixture(scope="module")
def both(work: Path) -> list[Case]:
    return cases(SAMPLE, work)


@pytest.mark.parametrize(("index", "points"), [(0, 6), (1, 10)], ids=["first build", "second build"])
def test_a_build_killed_at_any_step_leaves_a_whole_release_and_the_next_one_cleans_up(
    both: list[Case], work: Path, index: int, points: int
) -> None:
    case = both[index]
    count = events(case, work)
    assert count > 100
    summary = at_events(case, work, spaced(count, points))
    assert summary == Summary(case.name, summary.left, [])
    assert summary.left.total() == points


def test_a_build_killed_at_any_time_leaves_a_whole_release_and_the_next_one_cleans_up(
    both: list[Case], work: Path
) -> None:
    assert at_random(both[1], work, 4).wrong == []
