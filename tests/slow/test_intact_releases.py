"""A release is served when all of it is there and is what was built; what a damaged catalog answers is a 503."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from catalog.test_catalog_content import FILES, SMALL
from harness.content import DIGEST, edit, write_files
from harness.program import Releases, Watch, built, called, point
from harness.run import apart
from harness.servers import Server, own_server
from harness.waits import awaited
from shopwindow.content.documents.documents import Content
from shopwindow.problems import Failure
from shopwindow.release.verify import require_intact
from shopwindow.service.wsgi import Front
from shopwindow.shop import INTERFACE

PHONE = "PhonePhonePhonePhone1234"
KEYED = SMALL["apps/one.yaml"].replace(DIGEST, sha256(PHONE.encode()).hexdigest())
CONTENT = {**SMALL, "apps/one.yaml": KEYED}
CHANGE = (FILES["products"], "price: {regular: 150}", "price: {regular: 140}")


@pytest.fixture(scope="module")
def built_twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder of two releases with a catalog, which nobody changes, and their ids."""
    folder = tmp_path_factory.mktemp("intact")
    content, out = write_files(folder / "content", CONTENT), folder / "dist"
    ids = [built(content, out)]
    edit(content, CHANGE, ("stores/one.yaml", "name: First", "name: Second"))
    ids.append(built(content, out))
    return out, ids


def copy_of(built_twice: tuple[Path, list[str]], out: Path) -> Releases:
    """A folder of releases that share their files as those do that it is copied from."""
    subprocess.run(["cp", "--archive", str(built_twice[0]), str(out)], check=True)
    return Releases(out)


@pytest.fixture
def two(built_twice: tuple[Path, list[str]], tmp_path: Path) -> tuple[Releases, list[str]]:
    """Two releases with a catalog, the second of which is current."""
    return copy_of(built_twice, tmp_path / "dist"), built_twice[1]


def served(watch: Watch) -> str:
    serving = watch()
    return serving.id if serving else ""


def replaced(path: Path, data: bytes) -> None:
    """Other bytes under a name: the file that other releases share stays as it is."""
    times = path.stat().st_mtime_ns
    path.unlink()
    path.write_bytes(data)
    os.utime(path, ns=(times, times))


def _missing(path: Path) -> None:
    path.unlink()


def _cut(path: Path) -> None:
    replaced(path, path.read_bytes()[:-7])


def _holed(path: Path) -> None:
    """As a copy that writes into its place leaves it: in its size, with a hole in the middle."""
    data = path.read_bytes()
    half = len(data) // 2
    replaced(path, data[:half] + bytes(len(data) - half))


SPOILED = [("catalog.sqlite", _missing), ("catalog.sqlite", _cut), ("catalog.sqlite", _holed)]
SPOILED += [("content.json", _missing), ("content.json", _cut), ("content.json", _holed)]
SPOILED += [("manifest.json", _missing), ("manifest.json", _cut), ("manifest.json", _holed)]
SPOILED += [("files", _missing), ("files", _cut), ("files", _holed)]


@dataclass
class Followed:
    """A folder of releases, the file of the second that is spoiled, its bytes before, and who follows the folder."""

    releases: Releases
    path: Path
    intact: Path
    reports: list[str]
    watch: Watch


def followed(releases: Releases, ids: list[str], name: str) -> Followed:
    """Follow a folder whose first release is current."""
    path = releases.path(ids[1]) / name
    if name == "files":  # one that only this release has
        shared = {file.stat().st_ino for file in releases.path(ids[0]).rglob("*")}
        path = next(file for file in sorted(path.rglob("*.json")) if file.stat().st_ino not in shared)
    intact = Path(shutil.copy2(path, releases.out.with_suffix(".intact")))
    point(releases.out, ids[0])
    reports: list[str] = []
    return Followed(releases, path, intact, reports, Watch(releases.out, INTERFACE, report=reports.append))


@apart
def test_a_release_that_is_not_intact_is_not_served_until_it_is(
    built_twice: tuple[Path, list[str]], tmp_path: Path
) -> None:
    """Spoiled in each of the ways at once: a release is looked at again after 2 s, or ten times what a look took."""
    first, second = ids = built_twice[1]
    follows = {}
    for number, (name, spoil) in enumerate(SPOILED):
        releases = copy_of(built_twice, tmp_path / str(number))
        follows[f"{name} {spoil.__name__}"] = spoil, followed(releases, ids, name)
    for spoil, follow in follows.values():
        spoil(follow.path)
        point(follow.releases.out, second)
    awaited(lambda: all(follow.reports for _, follow in follows.values()))
    found = {
        name: (served(follow.watch), len(follow.reports), follow.path.name in follow.reports[0])
        for name, (_, follow) in follows.items()
    }
    assert found == dict.fromkeys(follows, (first, 1, True))
    for _, follow in follows.values():
        os.replace(follow.intact, follow.path)
    awaited(lambda: all(served(follow.watch) == second for _, follow in follows.values()))


@apart
def test_a_service_that_starts_with_a_release_that_is_not_intact_serves_the_last_good_one(
    two: tuple[Releases, list[str]],
) -> None:
    releases, ids = two
    _missing(releases.path(ids[1]) / "catalog.sqlite")
    said: list[str] = []
    watch = Watch(releases.out, INTERFACE, report=said.append)
    assert (served(watch), len(said)) == (ids[0], 1)


def test_what_is_new_to_the_host_is_compared_by_its_bytes_and_what_is_shared_is_not_read(
    two: tuple[Releases, list[str]],
) -> None:
    releases, ids = two
    require_intact(releases, ids[1])
    shared = {file.stat().st_ino: file for file in (releases.path(ids[0]) / "files").rglob("*.json")}
    ours = sorted((releases.path(ids[1]) / "files").rglob("*.json"))
    both = next(file for file in ours if file.stat().st_ino in shared)
    os.chmod(both, 0o644)
    both.write_bytes(both.read_bytes()[:-1] + b" ")  # in both releases at once
    with pytest.raises(Failure, match="not the bytes that were built"):
        require_intact(releases, ids[1])
    require_intact(releases, ids[1], previous=ids[0])


def count_failures() -> float:
    return REGISTRY.get_sample_value("shopwindow_release_load_failures_total") or 0.0


@apart
def test_a_catalog_that_turns_out_to_be_damaged_is_a_503_until_it_is_mended(
    two: tuple[Releases, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    releases, ids = two
    path = releases.path(ids[1]) / "catalog.sqlite"
    whole = shutil.copy2(path, tmp_path / "whole")
    said: list[str] = []
    failures = count_failures()
    watch = Watch(releases.out, INTERFACE, report=said.append)
    assert served(watch) == ids[1]
    data = path.read_bytes()
    os.chmod(path, 0o644)
    with open(path, "r+b") as file:  # in its place, as a failing disk does: the mapped pages change
        file.seek(16384)
        file.write(b"\xff" * (len(data) - 16384))
    service = Front(watch)
    key = {"x-svc-webservice-client-id": PHONE}

    def statuses() -> set[int]:
        return {called(service, f"/v3/catalog/product/{id}", key).status for id in (100, 101, 102)}

    assert 503 in statuses()
    awaited(lambda: bool(said))
    assert (said[0].startswith(f"an index of release {ids[1][:12]} is damaged: "), count_failures() - failures) == (
        True,
        1,
    )
    assert (served(watch), "is damaged" in watch.fault()) == (ids[1], True)
    assert called(service, "/v2/promotions", key).status == 200
    assert "Traceback" not in capfd.readouterr().err
    os.replace(whole, path)
    awaited(lambda: watch.fault() == "")
    assert (served(watch), 503 in statuses()) == (ids[1], False)


@apart
def test_damage_that_passes_is_counted_as_well(two: tuple[Releases, list[str]]) -> None:
    """Such as a disk that fails once: the release is loaded again, and served."""
    failures = count_failures()
    serving = Watch(two[0].out, INTERFACE, report=lambda words: None)()
    assert serving
    serving.report_damage("disk I/O error")
    assert count_failures() - failures == 1


@apart
def test_each_release_that_cannot_be_loaded_counts_also_where_the_words_are_the_same(
    two: tuple[Releases, list[str]],
) -> None:
    def refused(content: Content) -> int:
        raise ValueError("no")

    releases, ids = two
    failures, said = count_failures(), list[str]()
    watch = Watch(releases.out, replace(INTERFACE, derived=(*INTERFACE.derived, refused)), report=said.append)
    point(releases.out, ids[0])
    awaited(lambda: len(said) == 2)
    words = "the release that current leads to cannot be served, there is none yet: ValueError: no"
    assert (said, watch(), count_failures() - failures) == ([words, words], None, 2)


def asked(server: Server, path: str) -> tuple[int, dict[str, object]]:
    came = server.told(path)
    return came.status, json.loads(came.body)


def test_each_worker_says_which_release_it_serves_and_why_not_the_newer(
    two: tuple[Releases, list[str]], tmp_path: Path
) -> None:
    releases, ids = two
    point(releases.out, ids[0])
    path = releases.path(ids[1]) / "catalog.sqlite"
    shutil.copy2(path, tmp_path / "whole")
    path.unlink()
    with own_server(tmp_path / "server", releases.out, "--workers", "2") as server:
        awaited(lambda: len(server.workers()) == 2)
        awaited(lambda: asked(server, "/checks/release")[0] == 200)
        point(releases.out, ids[1])
        fault = f"release {ids[1][:12]} is not complete on this host: catalog.sqlite: No such file or directory"
        behind = {"ok": False, "current": ids[1], "id": ids[0], "fault": fault}
        awaited(lambda: asked(server, "/checks/release") == (503, behind), lambda: asked(server, "/checks/release"))
        assert asked(server, "/readyz")[0] == 200  # reads are answered
        expected = {'shopwindow_workers{state="behind"} 2.0', "shopwindow_release_load_failures_total 2.0"}
        awaited(lambda: expected <= set(server.told("/metrics").body.decode().splitlines()))
        (tmp_path / "whole").rename(path)
        awaited(lambda: asked(server, "/checks/release")[0] == 200)
