"""Facts about what a worker does, without a cluster: whether it fits, and what it leaves."""

import os
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from shopwindow.cluster import holders, relay, tasks
from shopwindow.cluster.carrying import Packer, Workplace
from shopwindow.cluster.relay import ObjectPrefix, SharedFolder
from shopwindow.cluster.tasks import Run
from shopwindow.content.executor import own_name
from shopwindow.content.kinds import SITE
from shopwindow.content.listing import Source, below
from shopwindow.delivery.passing import TargetObjects
from shopwindow.delivery.targets import parse
from shopwindow.interface.loading import DEFAULT
from shopwindow.problems import Failure
from shopwindow.release.program import source_digest


def doubled(numbers: Sequence[int]) -> Iterator[int]:
    return (2 * number for number in numbers)


@dataclass(frozen=True)
class Noted:
    """Work that reads a file, and writes down in another what it has done."""

    text: Path
    notes: Path

    def __call__(self, numbers: Sequence[int]) -> Iterator[str]:
        for number in numbers:
            name = f"{number}-{own_name()}"
            (self.notes / name).write_text(f"{self.text.read_text()} {number}")
            yield name


@pytest.fixture
def target(tmp_path: Path) -> TargetObjects:
    """A target as others have one in a bucket: workers share nothing but its objects."""
    return TargetObjects(parse(f"file://{tmp_path}/target"))


@pytest.fixture(params=["a shared folder", "a target"])
def run(tmp_path: Path, target: TargetObjects, request: pytest.FixtureRequest) -> Run:
    """A run whose worker is this process."""
    (tmp_path / "content").mkdir()
    (tmp_path / "content" / "site.yaml").write_text("name: Shop\n")
    folder = tmp_path / "run"
    folder.mkdir()
    is_shared = request.param == "a shared folder"
    place = SharedFolder(str(folder)) if is_shared else ObjectPrefix(target, "shopwindow-t1")
    holder = place.create(holders.HOLDER, b"{}")
    read = ((str(tmp_path / "content"), tasks.listing(tmp_path / "content")),) if is_shared else ()
    return Run(place, str(folder), "t1", holder, tasks.versions(), (DEFAULT, source_digest(DEFAULT)), read)


def packer_of(run: Run, *read: Path) -> Packer:
    return Packer(Path(run.folder), read, run.objects)


def passed(run: Run) -> list[str]:
    """The names of what is passed on."""
    if run.objects:
        return sorted(key.partition("/")[2] for key, _ in run.objects.objects.listing("shopwindow-t1/"))
    return sorted(below(Path(run.folder)))


def test_a_worker_that_has_and_sees_the_same_fits(run: Run) -> None:
    assert tasks.misfit(run) == ""


def test_a_worker_says_what_it_has_or_sees_otherwise(run: Run, tmp_path: Path) -> None:
    older = (("shopwindow", "0"), *run.versions[1:])
    present = dict(run.versions)
    assert tasks.misfit(replace(run, versions=older)) == (
        f"has another version of shopwindow, {present['shopwindow']} instead of 0: install the same on every worker"
    )
    name, digest = run.interface
    assert tasks.misfit(replace(run, interface=(name, "0" * 64))) == (
        f"has another version of {name}, {digest[:12]} instead of 000000000000: install the same on every worker"
    )
    lacking = "there is no module acme to import"
    assert tasks.misfit(replace(run, interface=("acme:INTERFACE", digest))) == (
        f"lacks the interface (--interface acme:INTERFACE: {lacking}): install it on every worker"
    )
    unseen = replace(run, holder=replace(run.holder, digest="0"))
    where = run.relay.where
    if run.objects:
        assert tasks.misfit(unseen) == "does not reach what --cluster-folder names: the run is not there"
    else:
        assert tasks.misfit(unseen) == (
            f"does not see {where}: --cluster-folder names a folder that all workers see under the same path, as on a "
            "network file system"
        )
    for folder in (tmp_path / "run", tmp_path / "nowhere"):
        others = replace(run, read=((str(folder), tasks.listing(tmp_path / "content")),))
        assert tasks.misfit(others) == (
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


def test_a_task_done_twice_leaves_the_same_results_twice_and_what_was_read_is_deleted(run: Run, tmp_path: Path) -> None:
    work = run.relay.create("doubled-work", pickle.dumps(doubled))
    items = packer_of(run).pack([1, 2, 3])
    first, second = (tasks.work_on(run, tmp_path / worker, work, "doubled", items) for worker in ("a", "b"))
    assert first.results.name != second.results.name
    assert first.results.digest == second.results.digest
    assert list(tasks.results_in(run, second.results, 3)) == [2, 4, 6]
    assert passed(run) == sorted(["doubled-work", "holder", first.results.name])
    assert list(tasks.results_in(run, first.results, 3)) == [2, 4, 6]
    assert passed(run) == ["doubled-work", "holder"]


def test_files_that_work_reads_and_writes_are_carried_there_and_back(run: Run, tmp_path: Path) -> None:
    """The file beside the run is another machine's, the folder lies in the run."""
    text, notes = tmp_path / "text", Path(run.folder) / "notes"
    text.write_text("seen")
    notes.mkdir()
    packer, own = packer_of(run), tmp_path / "a"
    data, files = packer.pack(Noted(text, notes))
    work = run.relay.create("noted-work", data)
    if run.objects:
        text.unlink()  # the worker has its own
    names, kept = list[str](), {carried.written.name for carried in files}
    for numbers in ([1], [2, 3]):
        packed, more = packer.pack(numbers)
        done = tasks.work_on(run, own, work, "noted", (packed, files + more))
        if run.objects:
            assert sorted(path.name for path in notes.iterdir()) == sorted(names)  # not yet here
        packer.take(done.files)
        names += tasks.results_in(run, done.results, len(numbers))
        kept |= {carried.written.name for carried in done.files}
    assert {(notes / name).read_text() for name in names} == {"seen 1", "seen 2", "seen 3"}
    if run.objects:
        _, again = packer.pack(notes)
        assert {carried.written.name for carried in again} < kept  # they are stored already
        assert passed(run) == sorted(["holder", "noted-work", *kept])
    else:
        assert passed(run) == sorted(["holder", "noted-work", *(f"notes/{name}" for name in names)])
    fetched = [name for name in below(own) if name.endswith("/text")]
    assert len(fetched) == (1 if run.objects else 0)
    tasks.forget(run.name, own)
    assert below(own) == []


def test_feeds_are_carried_with_the_items_that_have_their_sources(target: TargetObjects, tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.mkdir()
    (content / "stores.jsonl").write_text("{}\n")
    source = Source("stores.jsonl", SITE, 3, 0, 0)
    packer = Packer(tmp_path / "run", [content], ObjectPrefix(target, "shopwindow-t1"))
    assert packer.pack([source])[1] == ()  # work may have the sources of all feeds
    _, (carried,) = packer.pack([source], with_feeds=True)
    assert carried.path == str(content / "stores.jsonl")


def test_a_file_that_does_not_change_is_stored_once_and_one_that_does_is_fetched_again(
    target: TargetObjects, tmp_path: Path
) -> None:
    place, text = ObjectPrefix(target, "shopwindow-t1"), tmp_path / "text"
    text.write_text("one")
    packer = Packer(tmp_path / "run", [], place)
    there = Workplace(place, str(tmp_path / "run"), tmp_path / "worker")
    ((_, first), (_, again)) = packer.pack(text), packer.pack([text, text])
    assert first == again
    there.bring(first)
    text.write_text("other")
    packed, changed = packer.pack(text)
    there.bring(changed)
    seen: Path = there.unpack(packed)
    assert (seen.read_text(), seen.is_relative_to(tmp_path / "worker")) == ("other", True)


def test_nothing_is_written_over_and_nothing_is_read_that_was_not_written(tmp_path: Path) -> None:
    folder = SharedFolder(str(tmp_path))
    written = folder.create("rows", b"abc")
    with pytest.raises(FileExistsError):
        folder.create("rows", b"d")
    assert relay.read(folder, written) == b"abc"
    (tmp_path / "rows").write_bytes(b"abd")
    for _ in range(2):  # another's, then nobody's
        with pytest.raises(Failure, match=f"{tmp_path}/rows: is not what was written there"):
            relay.read(folder, written)
        with pytest.raises(Failure, match=f"{tmp_path}/rows: is not what was written there"):
            relay.fetch(folder, written, tmp_path / "fetched")
        (tmp_path / "rows").unlink(missing_ok=True)
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_does_not_fit_does_nothing(run: Run, tmp_path: Path) -> None:
    work = run.relay.create("doubled-work", pickle.dumps(doubled))
    other = replace(run, interface=("acme:INTERFACE", ""))
    with pytest.raises(Failure, match="lacks the interface"):
        tasks.work_on(other, tmp_path / "a", work, "doubled", packer_of(run).pack([1]))
    assert passed(run) == ["doubled-work", "holder"]


@dataclass(frozen=True)
class Breaks:
    """Work that writes a file, and fails."""

    notes: Path

    def __call__(self, numbers: Sequence[int]) -> Iterator[str]:
        (self.notes / own_name()).touch()
        yield str(1 // 0)


def test_work_that_fails_leaves_no_files_at_the_worker(run: Run, tmp_path: Path) -> None:
    notes = Path(run.folder) / "notes"
    notes.mkdir()
    packer = packer_of(run)
    data, files = packer.pack(Breaks(notes))
    work = run.relay.create("breaks-work", data)
    with pytest.raises(ZeroDivisionError):
        tasks.work_on(run, tmp_path / "a", work, "breaks", (packer.pack([1])[0], files))
    assert below(tmp_path / "a") == []
