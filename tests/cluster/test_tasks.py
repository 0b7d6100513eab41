"""Facts about what a worker does, without a cluster: whether it fits, and the files that it leaves."""

import os
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from shopwindow.cluster import tasks
from shopwindow.cluster.tasks import Run
from shopwindow.problems import Failure


def doubled(numbers: Sequence[int]) -> Iterator[int]:
    return (2 * number for number in numbers)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run whose workers are this process, and read the folder `content`."""
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "site.yaml").write_text("name: Shop\n")
    folder = tmp_path / "seen"
    folder.mkdir()
    (folder / tasks.TOKEN_FILE).write_text("t1")
    read = ((str(tmp_path / "content"), tasks.listing(tmp_path / "content")),)
    return Run(str(folder), "t1", tasks.versions(), read)


def test_a_worker_that_has_and_sees_the_same_fits(run: Run) -> None:
    assert tasks.misfit(run) == ""


def test_a_worker_says_what_it_has_or_sees_otherwise(run: Run, tmp_path: Path) -> None:
    older = (("shopwindow", "0"), *run.versions[1:])
    present = dict(run.versions)
    assert tasks.misfit(replace(run, versions=older)) == (
        f"has another version of shopwindow, {present['shopwindow']} instead of 0: install the same on every worker"
    )
    unseen = "--cluster-folder names a folder that all workers see under the same path, as on a network file system"
    assert tasks.misfit(replace(run, token="t2")) == f"does not see {run.folder}: {unseen}"
    nowhere = replace(run, folder=str(tmp_path / "nowhere"))
    assert tasks.misfit(nowhere) == f"does not see {tmp_path}/nowhere: {unseen}"
    for folder in (tmp_path / "seen", tmp_path / "nowhere"):
        (_, digest), *_ = run.read
        assert tasks.misfit(replace(run, read=((str(folder), digest),))) == (
            f"sees other files in {folder} than this program: it has to be one folder that all workers see, and "
            "nobody may change it meanwhile"
        )


def test_a_listing_changes_with_names_sizes_and_times_of_files_that_are_not_hidden(tmp_path: Path) -> None:
    file = tmp_path / "a" / "feed.jsonl"
    file.parent.mkdir()
    file.write_text("{}\n")
    os.utime(file, (1, 1))
    first = tasks.listing(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_text("")
    assert tasks.listing(tmp_path) == first
    os.utime(file, (2, 2))
    later = tasks.listing(tmp_path)
    file.write_text("{ }\n")
    os.utime(file, (1, 1))
    longer = tasks.listing(tmp_path)
    file.rename(file.with_name("other.jsonl"))
    assert len({first, later, longer, tasks.listing(tmp_path)}) == 4


def test_a_task_done_twice_leaves_two_files_with_the_same_results(run: Run) -> None:
    folder = Path(run.folder)
    work = tasks.write(folder, "doubled-work", iter([pickle.dumps(doubled)]))
    first, second = (tasks.work_on(run, work, "doubled", [1, 2, 3]) for _ in range(2))
    assert first.name != second.name
    assert first.digest == second.digest
    assert list(tasks.results_in(run, second, 3)) == [2, 4, 6]
    assert list(tasks.results_in(run, first, 3)) == [2, 4, 6]
    assert sorted(path.name for path in folder.iterdir()) == ["doubled-work", "token"]  # what was read is deleted


def test_nothing_is_written_over_and_nothing_is_read_that_was_not_written(run: Run) -> None:
    folder = Path(run.folder)
    written = tasks.write(folder, "rows", iter([b"ab", b"c"]))
    with pytest.raises(FileExistsError):
        tasks.write(folder, "rows", iter([b"d"]))
    assert tasks.read(folder, written) == b"abc"
    (folder / "rows").write_bytes(b"abd")
    with pytest.raises(Failure, match=f"{folder}/rows: is not what was written there"):
        tasks.read(folder, written)
    (folder / "rows").unlink()
    with pytest.raises(Failure, match=f"{folder}/rows: is not what was written there"):
        tasks.read(folder, written)


def test_a_worker_that_does_not_fit_does_nothing(run: Run) -> None:
    folder = Path(run.folder)
    work = tasks.write(folder, "doubled-work", iter([pickle.dumps(doubled)]))
    with pytest.raises(Failure, match="does not see"):
        tasks.work_on(replace(run, token="t2"), work, "doubled", [1])
    assert sorted(path.name for path in folder.iterdir()) == ["doubled-work", "token"]
