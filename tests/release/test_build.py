"""A build: what it writes, that the same content gives the same bytes, and that a failed one changes nothing."""

import fcntl
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from harness.content import AT, ROOT, SAMPLE, app, event, promotion, site, small, store, write
from harness.program import aged, build, built, copied, current, history, manifest, program_schemas, shopwindow, tree
from shopwindow.catalog.index.file import INDEX_FORMAT
from shopwindow.interface.answering.answer import answer
from shopwindow.interface.declaring.collections import schemas_with
from shopwindow.interface.declaring.operation import FromContent, FromRunning, FromStore, Operation
from shopwindow.interface.formats import RESPONSE_FORMATS
from shopwindow.problems import Failure
from shopwindow.release.changes import opened
from shopwindow.release.prerender import planned_answers, planned_operations
from shopwindow.release.render import StagedFiles
from shopwindow.release.stage import Stage
from shopwindow.shop import INTERFACE

Json = Any


@pytest.fixture
def content(tmp_path: Path) -> Path:
    """A small content folder, whose files were last changed an hour ago."""
    return aged(write(tmp_path / "content", small()))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "dist"


@pytest.fixture(scope="module")
def sampled(sample_out: Path) -> Path:
    """A release of the sample content, in a fresh output directory."""
    return sample_out / "releases" / current(sample_out)


@pytest.fixture(scope="module")
def of_each(each_out: Path) -> Path:
    """A release of two files of each kind, in a fresh output directory."""
    return each_out / "releases" / current(each_out)


def mtime(digest: str) -> int:
    """The modification time of a file with this SHA-256 (design 4, ETag)."""
    return int(digest[:8], 16) >> 1


def files_of(release: Path) -> list[Path]:
    return [path for path in (release / "files").rglob("*") if path.is_file()]


# -- what is written ---------------------------------------------------------------------------------------------


def test_the_output_directory_holds_releases_and_what_leads_to_them(content: Path, out: Path) -> None:
    id = built(content, out)
    assert {path.name for path in out.iterdir() if not path.name.startswith(".")} == {
        "current",
        "history.jsonl",
        "last-build.json",
        "releases",
    }
    assert os.readlink(out / "current") == f"releases/{id}"
    assert [path.name for path in (out / "releases").iterdir()] == [id]
    assert {path.name for path in (out / "releases" / id).iterdir()} == {
        "manifest.json",
        "files",
        "content.json",
        "build.json",
    }


def test_the_id_is_the_digest_of_the_manifest(sampled: Path) -> None:
    assert sha256((sampled / "manifest.json").read_bytes()).hexdigest() == sampled.name


def test_the_manifest_lists_every_file_and_what_is_private(sampled: Path) -> None:
    listed = manifest(sampled)
    content = (sampled / "content.json").read_bytes()
    rows = listed["private"]["catalog.sqlite"]["rows"]
    private = {"content.json": {"size": len(content), "sha256": sha256(content).hexdigest()}}
    private["catalog.sqlite"] = {"format": INDEX_FORMAT, "rows": rows}
    collections = (sampled / "collections.json").read_bytes()
    private["collections.json"] = {"size": len(collections), "sha256": sha256(collections).hexdigest()}
    assert {key: listed[key] for key in ("format", "private", "nextChange")} == {
        "format": 1,
        "private": private,
        "nextChange": "2026-11-25T23:00:00+00:00",
    }
    assert sorted(listed) == ["edge", "files", "format", "nextChange", "private"]
    paths = [entry["path"] for entry in listed["files"]]
    assert paths == sorted(paths)
    assert {entry["path"]: (entry["size"], entry["sha256"]) for entry in listed["files"]} == {
        path: (len(data), sha256(data).hexdigest()) for path, data in tree(sampled / "files").items()
    }


def test_each_switch_is_a_line_of_the_history(content: Path, out: Path) -> None:
    first = built(content, out, env={"SHOPWINDOW_ACTOR": "somebody"})
    write(content, {"stores/one.yaml": store(1, name="Renamed")})
    second = built(content, out, env={"SHOPWINDOW_ACTOR": "somebody else"})
    lines = history(out)
    moments = [line.pop("when") for line in lines]
    assert lines == [
        {"id": first, "from": None, "who": "somebody", "why": "build", "action": "build"},
        {"id": second, "from": first, "who": "somebody else", "why": "build", "action": "build"},
    ]
    assert moments == sorted(moments)


def test_build_json_tells_when_and_by_what(sampled: Path) -> None:
    note = json.loads((sampled / "build.json").read_bytes())
    assert (note["at"], note["version"], "commit" in note) == ("2026-11-24T17:00:00+00:00", version("shopwindow"), True)
    assert datetime.fromisoformat(note["built"]).utcoffset() is not None


def test_the_commit_that_ci_builds_is_noted(content: Path, out: Path) -> None:
    id = built(content, out, env={"GITHUB_SHA": "0123abcd"})
    assert json.loads((out / "releases" / id / "build.json").read_bytes())["commit"] == "0123abcd"


def test_content_json_holds_what_is_live_by_kind_and_id(content: Path, out: Path) -> None:
    later = promotion(9, publish={"from": "2026-12-01"})
    now = promotion(2, publish={"until": "2026-12-01"})
    write(content, {"promotions/more.yaml": [later, now]})
    id = built(content, out)
    documents = small()
    expected = {kind.name: [] for kind in INTERFACE.kinds if not kind.streamed} | {
        "app": [documents["apps/phone.yaml"], documents["apps/tablet.yaml"]],
        "store": [documents["stores/one.yaml"], documents["stores/two.yaml"]],
        "event": [documents[f"events/{name}.yaml"] for name in ("second", "first", "both")],
        "promotion": [promotion(2), documents["promotions/coupon.yaml"], documents["promotions/plain.yaml"]],
    }
    assert json.loads((out / "releases" / id / "content.json").read_bytes()) == {
        "format": 2,
        "site": documents["site.yaml"],
        "clocks": {"week": "2026-11-23", "published": "1970-01-01T00:00:00.000+00:00"},
        "documents": expected,
    }


def test_every_file_is_an_answer_from_content_json_and_the_catalog_alone(sampled: Path) -> None:
    release = opened(sampled, INTERFACE)
    interface, content = release.interface, release.content
    schemas = schemas_with(program_schemas(), interface)
    asked = planned_answers(planned_operations(interface, content))
    calls = [call for asking in asked for format in RESPONSE_FORMATS for call in asking.calls(format)]
    assert tree(sampled / "files") == {str(call.filename()): answer(call, content, schemas).body for call in calls}


def test_no_key_is_in_a_release_and_no_digest_of_one_among_the_files(sampled: Path) -> None:
    keys = [line.split()[1].encode() for line in (SAMPLE / "sample-keys.txt").read_text().splitlines()]
    digests = [sha256(key).hexdigest().encode() for key in keys]
    content = (sampled / "content.json").read_bytes()
    assert [digest for digest in digests if digest not in content] == []
    everything, files = b"".join(tree(sampled).values()), b"".join(tree(sampled / "files").values())
    assert [secret for secret in keys if secret in everything] + [digest for digest in digests if digest in files] == []


def test_files_are_read_only_with_a_time_from_their_bytes(sampled: Path, content: Path, out: Path) -> None:
    mask = os.umask(0o077)
    try:
        private = out / "releases" / built(content, out)
    finally:
        os.umask(mask)
    for release in (sampled, private):
        found = {path: (path.stat().st_mode & 0o7777, path.stat().st_mtime) for path in files_of(release)}
        digests = {path: sha256(path.read_bytes()).hexdigest() for path in found}
        assert found == {path: (0o444, mtime(digest)) for path, digest in digests.items()}
        assert {(release / name).stat().st_mode & 0o7777 for name in ("manifest.json", "content.json")} == {0o444}
        folders = [release, *(path for path in release.rglob("*") if path.is_dir())]
        assert {path.stat().st_mode & 0o7777 for path in folders} == {0o755}


def test_a_field_is_added_in_schemas_and_content_alone(content: Path, out: Path) -> None:
    config = json.loads((ROOT / "schemas" / "config.json").read_bytes())
    config["properties"]["theme"] = {"description": "Colors of the app.", "type": "string", "enum": ["light", "dark"]}
    write(content, {"schemas/config.json": config, "apps/phone.yaml": app("phone", theme="dark")})
    built(content, out)
    files = out / "current/files/v2/utility/mobileapp"
    assert json.loads((files / "phone.json").read_bytes())["theme"] == "dark"
    assert b"<theme>dark</theme></response>" in (files / "phone.xml").read_bytes()
    assert "theme" not in json.loads((files / "tablet.json").read_bytes())


# -- the same content gives the same bytes -----------------------------------------------------------------------

SAME: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "one process": (("--jobs", "1"), {}),
    "four processes": (("--jobs", "4"), {}),
    "without the cache": (("--no-cache",), {}),
    "another order of hashing": ((), {"PYTHONHASHSEED": "1"}),
    "yet another order of hashing": (("--jobs", "1"), {"PYTHONHASHSEED": "4294967295"}),
    "far in the east": ((), {"TZ": "Asia/Tokyo"}),
    "far in the west": ((), {"TZ": "Pacific/Pago_Pago"}),
    "another locale": ((), {"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"}),
    "no locale": ((), {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    "in CI": ((), {"CI": "true", "GITHUB_SHA": "0123abcd", "HOME": "/nonexistent", "USER": "nobody"}),
    "the same instant, written otherwise": (("--at", "2026-11-24T17:00:00Z"), {}),
    "the same instant in the site's zone": (("--at", "2026-11-24 12:00"), {}),
    "the first instant of the week": (("--at", "2026-11-23"), {}),
    "the last instant before a boundary": (("--at", "2026-11-25T22:59:59Z"), {}),
}


@pytest.mark.parametrize(("more", "env"), SAME.values(), ids=SAME.keys())
def test_the_same_content_gives_the_same_release(
    each: Path, of_each: Path, out: Path, more: tuple[str, ...], env: dict[str, str]
) -> None:
    same_release(of_each, out / "releases" / built(each, out, *more, env=env))


def same_release(expected: Path, release: Path) -> None:
    """Two releases are the same but for build.json, in names, bytes, modes and times."""
    found, wanted = tree(release), tree(expected)
    del found["build.json"], wanted["build.json"]
    assert (release.name, found) == (expected.name, wanted)
    looks = [
        {path.relative_to(folder): (path.stat().st_mode, path.stat().st_mtime) for path in files_of(folder)}
        for folder in (release, expected)
    ]
    assert looks[0] == looks[1]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder of a file system that lists files in the order in which they were made, where there is one."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else tmp_path) as folder:
        yield Path(folder)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_copy_of_the_content_gives_the_same_release(
    each: Path, of_each: Path, out: Path, memory: Path, backwards: bool
) -> None:
    copy = copied(each, memory / "a copy", backwards=backwards)
    same_release(of_each, out / "releases" / built(copy, out))


def test_where_it_is_built_makes_no_difference(each: Path, of_each: Path, tmp_path: Path) -> None:
    copied(each, tmp_path / "content")
    assert shopwindow("build", "--at", AT, cwd=tmp_path).status == 0
    same_release(of_each, tmp_path / "dist" / "releases" / current(tmp_path / "dist"))


def test_what_was_built_before_makes_no_difference(each: Path, of_each: Path, tmp_path: Path, out: Path) -> None:
    content = copied(each, tmp_path / "content")
    event_file = content / "events" / "first.yaml"
    text = event_file.read_text()
    event_file.write_text(text.replace('"name": "', '"name": "Not yet '))
    before = built(content, out)
    event_file.write_text(text)
    after = built(content, out, "--jobs", "3")
    assert before != after
    same_release(of_each, out / "releases" / after)


def test_build_py_is_the_command(each: Path, of_each: Path, out: Path) -> None:
    script = SAMPLE.parent / "build.py"
    command = [sys.executable, str(script), "--content", str(each), "--out", str(out), "--at", AT]
    subprocess.run(command, check=True, capture_output=True)
    same_release(of_each, out / "releases" / current(out))


def test_nothing_of_clock_host_or_path_is_in_a_release(sampled: Path) -> None:
    note = json.loads((sampled / "build.json").read_bytes())
    telltale = [note["built"][:16], str(sampled.parents[1]), str(SAMPLE), os.path.expanduser("~/")]
    telltale += [socket.gethostname()] if len(socket.gethostname()) > 4 else []
    said = b"".join(data for path, data in tree(sampled).items() if path != "build.json")
    assert [text for text in telltale if text.encode() in said] == []


BOUNDARIES = {
    "before a promotion is published": ("2026-11-25T22:59:59Z", "2026-11-25T23:00:00+00:00"),
    "as it is published": ("2026-11-25T23:00:00Z", "2026-11-27T11:00:00+00:00"),
    "as it ends, after its last day": ("2026-11-28T05:00:00Z", "2026-11-30T05:00:00+00:00"),
    "as another week begins": ("2026-11-30T05:00:00Z", "2026-12-01T05:00:00+00:00"),
}


def test_another_side_of_a_boundary_is_another_release(tmp_path: Path) -> None:
    content = copied(SAMPLE, tmp_path / "content")
    told, ids = {}, []
    for name, (at, _) in BOUNDARIES.items():
        ids.append(built(content, tmp_path / "dist", at=at))
        told[name] = (at, manifest(tmp_path / "dist" / "current")["nextChange"])
    assert (told, len(set(ids))) == (BOUNDARIES, len(BOUNDARIES))


def test_without_an_instant_a_build_is_of_now(content: Path, out: Path) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    assert shopwindow("build", "--content", content, "--out", out).status == 0
    at = datetime.fromisoformat(json.loads((out / "current/build.json").read_bytes())["at"])
    assert before <= at <= datetime.now(UTC)


# -- links -------------------------------------------------------------------------------------------------------


def inodes(release: Path) -> dict[str, int]:
    return {path.relative_to(release / "files").as_posix(): path.stat().st_ino for path in files_of(release)}


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_identical_bytes_are_stored_once(each: Path, out: Path, jobs: str) -> None:
    release = out / "releases" / built(each, out, "--jobs", jobs)
    by_bytes: dict[bytes, set[int]] = {}
    for path in files_of(release):
        by_bytes.setdefault(path.read_bytes(), set()).add(path.stat().st_ino)
    assert [found for found in by_bytes.values() if len(found) != 1] == []
    assert len(by_bytes) < len(files_of(release))


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_unchanged_files_are_links_to_the_last_release(tmp_path: Path, out: Path, jobs: str) -> None:
    content = copied(SAMPLE, tmp_path / "content")
    first = out / "releases" / built(content, out)
    stores = content / "stores" / "foundry-square.yaml"
    stores.write_text(stores.read_text().replace("1 Foundry Square", "2 Foundry Square"))
    second = out / "releases" / built(content, out, "--jobs", jobs)
    before, after = inodes(first), inodes(second)
    changed = {f"store/v2/stores{path}" for path in (".json", ".xml", "/10118.json", "/10118.xml")}
    assert {path for path in after if after[path] != before.get(path)} == changed


def test_a_build_without_the_cache_takes_nothing_over(content: Path, out: Path) -> None:
    first = out / "releases" / built(content, out)
    write(content, {"promotions/plain.yaml": promotion(7, description="Another")})
    second = out / "releases" / built(content, out, "--no-cache")
    assert set(inodes(first).values()) & set(inodes(second).values()) == set()


def replace(path: Path, data: bytes, moment: int | None = None) -> None:
    """Other bytes under a file's name; the file's links keep theirs."""
    path.unlink()
    path.write_bytes(data)
    if moment is not None:
        os.utime(path, (moment, moment))
    path.chmod(0o444)


def test_a_link_that_is_refused_is_written_as_a_file(tmp_path: Path) -> None:
    here, others = tmp_path.stat().st_dev, (Path("/dev/shm"), Path(tempfile.gettempdir()), Path("/var/tmp"))
    other = next((folder for folder in others if folder.is_dir() and folder.stat().st_dev != here), None)
    if other is None:
        pytest.skip("there is no second file system to link from")
    source = other / f"shopwindow-{os.getpid()}"
    source.write_bytes(b"bytes")
    try:
        digest = sha256(b"bytes").hexdigest()
        os.utime(source, (mtime(digest), mtime(digest)))
        Stage(tmp_path).take("files/a/b.json", str(source), digest)
    finally:
        source.unlink()
    written = tmp_path / "files/a/b.json"
    found = (written.read_bytes(), written.stat().st_mode & 0o7777, written.stat().st_mtime, written.stat().st_nlink)
    assert found == (b"bytes", 0o444, mtime(digest), 1)


def test_a_file_of_the_last_release_that_was_changed_or_is_gone_stops_a_build_that_would_link_it(
    content: Path, out: Path
) -> None:
    first = out / "releases" / built(content, out)
    file = first / "files/store/v2/stores/2001.json"
    kept = file.read_bytes()
    write(content, {"events/first.yaml": event(20, [2], "2026-12-04 18:00", "2026-12-04 19:00")})
    for damage in (file.unlink, lambda: file.write_bytes(kept)):
        damage()
        ran = build(content, out)
        assert (ran.status, current(out)) == (4, first.name)
        assert "gone or changed since it was built; `shopwindow build --no-cache` writes every file again" in ran.err
    assert build(content, out, "--no-cache").status == 0
    assert current(out) != first.name


def test_orphans_vanish_with_the_release_that_no_longer_has_them(content: Path, out: Path) -> None:
    first = out / "releases" / built(content, out)
    (content / "stores/two.yaml").unlink()
    write(content, {"events/second.yaml": event(10, [1], "2026-12-06 09:00", "2026-12-06 10:00")})
    write(content, {"events/both.yaml": event(30, [1], "2026-12-05 10:00", "2026-12-05 12:00")})
    (content / "apps/tablet.yaml").unlink()
    second = out / "releases" / built(content, out)
    gone = {path for path in tree(first / "files") if path not in tree(second / "files")}
    stems = (
        "store/v1/events;storeId=2",
        "store/v1/events;storeNumber=1002",
        "store/v1/events;locationNumber=2002",
        "v2/store/event;storeId=2",
        "v2/store/event;storeNumber=1002",
        "store/v2/stores/2002",
        "v2/utility/mobileapp/tablet",
    )
    assert gone == {f"{stem}.{format}" for stem in stems for format in ("json", "xml")}
    assert shopwindow("verify", first.name, "--out", out).status == 0


# -- the cache, and nothing to do --------------------------------------------------------------------------------


def state(out: Path) -> dict[str, tuple[int, int, int]]:
    """Everything in an output directory but the cache, the lock and the last build's note: inode, size and time."""
    found = {}
    for path in out.rglob("*"):
        name = path.relative_to(out).as_posix()
        if not name.startswith((".cache", ".lock", "last-build.json")):
            stat = path.lstat()
            found[name] = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    return found


def nothing_to_do(ran: Any) -> bool:
    words = r"release [0-9a-f]{12}: \d+ files, it is current already: nothing to do\n"
    rest = r"  files: \S+/current/files\n  build again at [-0-9]+ [:0-9]+ \(\S+\): content changes by itself then\n"
    return ran.status == 0 and re.fullmatch(words + rest + r"[0-9.]+ s\n", ran.out) is not None


def test_an_unchanged_content_is_nothing_to_do(content: Path, out: Path) -> None:
    built(content, out)
    before = state(out)
    ran = build(content, out)
    assert (nothing_to_do(ran), state(out)) == (True, before)


def test_until_the_next_boundary_there_is_nothing_to_do(content: Path, out: Path) -> None:
    first = built(content, out)
    boundary = manifest(out / "current")["nextChange"]
    assert nothing_to_do(build(content, out, at="2026-11-29T23:59:59-05:00"))
    assert (boundary, built(content, out, at=boundary) == first) == ("2026-11-30T05:00:00+00:00", False)


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file is edited": lambda content: write(content, {"stores/one.yaml": store(1, name="Edited")}),
    "a file is added": lambda content: write(content, {"stores/more.yaml": store(3)}),
    "a file is deleted": lambda content: (content / "events/second.yaml").unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_there_is_something_to_do(content: Path, out: Path, change: Callable[[Path], object]) -> None:
    built(content, out)
    change(content)
    assert not nothing_to_do(build(content, out))


def test_after_another_switch_there_is_something_to_do(content: Path, out: Path) -> None:
    first = built(content, out)
    write(content, {"stores/one.yaml": store(1, name="Edited")})
    second = built(aged(content), out)
    assert shopwindow("activate", first, "--out", out).status == 0
    ran = build(content, out)
    assert (nothing_to_do(ran), current(out)) == (False, second)


def test_a_release_that_was_deleted_is_built_again(content: Path, out: Path) -> None:
    id = built(content, out)
    shutil.rmtree(out / "releases")
    assert (build(content, out).status, current(out)) == (0, id)
    assert shopwindow("verify", "--out", out).status == 0


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"[]\n", b"\xff\0garbage", b'{"key": 1, "files": 5}\n', None])
def test_a_cache_that_is_deleted_or_damaged_makes_no_difference(content: Path, out: Path, damage: bytes | None) -> None:
    id = built(content, out)
    if damage is None:
        shutil.rmtree(out / ".cache")
    else:
        for path in (out / ".cache").iterdir():
            path.write_bytes(damage)
    assert built(content, out) == id


def test_a_file_that_was_replaced_is_read_though_size_and_time_are_the_same(content: Path, out: Path) -> None:
    built(content, out)
    path = content / "stores/one.yaml"
    stat = path.stat()
    draft = path.with_suffix(".draft")
    draft.write_text(path.read_text().replace("Store 1", "Store X"))
    os.replace(draft, path)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_size == stat.st_size
    built(content, out)
    assert b"Store X" in (out / "current/files/store/v2/stores/2001.json").read_bytes()


def test_a_file_that_was_changed_just_now_is_always_read(content: Path, out: Path) -> None:
    path = content / "stores/one.yaml"
    soon = path.stat().st_mtime + 7200  # in the future, so that no pause makes it old
    os.utime(path, (soon, soon))
    built(content, out)
    path.write_text(path.read_text().replace("Store 1", "Store X"))
    os.utime(path, (soon, soon))
    built(content, out)
    assert b"Store X" in (out / "current/files/store/v2/stores/2001.json").read_bytes()


# -- a release that exists ---------------------------------------------------------------------------------------


@pytest.fixture
def two(content: Path, out: Path) -> tuple[str, str]:
    """Two releases, the second current; the content is that of the first again."""
    first = built(content, out)
    write(content, {"stores/one.yaml": store(1, name="Edited")})
    second = built(content, out)
    write(content, {"stores/one.yaml": store(1)})
    return first, second


def test_a_release_that_exists_is_activated(content: Path, out: Path, two: tuple[str, str]) -> None:
    first, second = two
    before = inodes(out / "releases" / first)
    ran = build(content, out)
    assert (ran.status, current(out), inodes(out / "releases" / first)) == (0, first, before)
    assert sorted(path.name for path in (out / "releases").iterdir()) == sorted(two)
    assert [(line["from"], line["id"]) for line in history(out)] == [(None, first), (first, second), (second, first)]


def damaged(release: Path) -> Path:
    """A release of which one file has other bytes."""
    path = release / "files/store/v2/stores.json"
    path.chmod(0o644)
    path.write_bytes(path.read_bytes().replace(b"Store", b"STORE"))
    return path


def test_a_damaged_release_is_not_activated(content: Path, out: Path, two: tuple[str, str]) -> None:
    first, second = two
    damaged(out / "releases" / first)
    before = state(out / "releases")
    ran = build(content, out)
    assert (ran.status, current(out), state(out / "releases")) == (4, second, before)
    assert "files/store/v2/stores.json: not the bytes that were built" in ran.err
    assert f"release {first} exists and is damaged" in ran.err
    assert "--no-cache" in ran.err


def test_a_damaged_release_is_replaced_without_the_cache(content: Path, out: Path, two: tuple[str, str]) -> None:
    first, _ = two
    damaged(out / "releases" / first)
    assert (build(content, out, "--no-cache").status, current(out)) == (0, first)
    assert shopwindow("verify", first, "--out", out).status == 0
    assert sorted(path.name for path in (out / "releases").iterdir()) == sorted(two)


def test_a_damaged_current_release_is_replaced_without_the_cache(content: Path, out: Path) -> None:
    id = built(content, out)
    damaged(out / "releases" / id)
    mended = build(content, out, "--no-cache")
    assert (mended.status, current(out)) == (0, id)
    assert mended.out.splitlines()[0].endswith(" files, it is current already: it was damaged, and is written again")
    assert shopwindow("verify", "--out", out).status == 0
    again = build(content, out, "--no-cache")
    assert again.out.splitlines()[0].endswith(" files, it is current already: nothing to do")


# -- what fails changes nothing ----------------------------------------------------------------------------------


def test_problems_end_with_1_and_nothing_is_written(content: Path, out: Path) -> None:
    write(content, {"stores/one.yaml": store(1, name=7), "events/x.yaml": []})
    ran = build(content, out)
    assert (ran.status, "stores/one.yaml:1:" in ran.out) == (1, True)
    assert not out.exists() or {path.name for path in out.iterdir()} <= {".cache", "last-build.json"}


def test_problems_leave_the_last_release_as_it_was(content: Path, out: Path) -> None:
    built(content, out)
    before = state(out)
    write(content, {"stores/one.yaml": store(1, name=7)})
    assert (build(content, out).status, state(out)) == (1, before)


def test_a_failure_is_noted_though_the_output_directory_has_a_name_that_is_no_text(
    content: Path, tmp_path: Path
) -> None:
    out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/dist-\xff"))
    out.write_bytes(b"")
    assert build(content, out).status == 4
    out.unlink()
    write(content, {"site.yaml": site(max_files=1)})
    ran = build(content, out)
    told = json.loads((out / "last-build.json").read_bytes())
    assert (ran.status, told["status"], "`max_files: 44` in site.yaml allows them" in told["description"]) == (
        4,
        "FAILED",
        True,
    )
    write(content, {"site.yaml": site(max_files=44)})
    assert build(content, out).status == 0


def test_wrong_use_ends_with_2(content: Path, out: Path, tmp_path: Path) -> None:
    ran = [
        build(tmp_path / "nowhere", out),
        build(content, out, at="tomorrow"),
        build(content, out, at="2026-02-30"),
        build(content, out, at="9999-12-31"),
        build(content, out, at="0001-01-01T00:00:00Z"),
        build(content, out, "--jobs", "0"),
        build(content, out, "--unknown"),
    ]
    assert ([one.status for one in ran], (out / "releases").exists()) == ([2] * 7, False)
    assert ran[3].err.splitlines()[-1].startswith("Error: --at 9999-12-31: must be after the year 1 and before ")


COMMANDS = (["build", "--at", AT], ["rollback"], ["activate", "--latest"], ["prune", "--keep", "1"])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_second_command_at_the_same_time_is_refused(content: Path, out: Path, command: list[str]) -> None:
    built(content, out)
    write(content, {"stores/one.yaml": store(1, name="Edited")})
    before = state(out)
    folders = ["--content", str(content)] if command[0] == "build" else []
    with open(out / ".lock", "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)  # shared: a build wants it alone
        ran = shopwindow(*command, *folders, "--out", out)
    assert (ran.status, state(out)) == (4, before)
    assert re.search(r"another build or activation is at work \(process [0-9]+\); try again when it is done", ran.err)
    again = shopwindow(*command, *folders, "--out", out)
    assert (again.status, "at work" in again.err) == (4 if command[0] == "rollback" else 0, False)


def test_what_a_killed_build_left_is_cleaned_up(content: Path, out: Path) -> None:
    left = out / ".staging" / "killed" / "files" / "a"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    left.chmod(0o444)
    built(content, out)
    assert not (out / ".staging").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_permission_is_a_clear_error(content: Path, out: Path) -> None:
    built(content, out)
    write(content, {"stores/one.yaml": store(1, name="Edited")})
    before = state(out)
    out.chmod(0o555)
    try:
        ran = build(content, out)
    finally:
        out.chmod(0o755)
    assert (ran.status, "no permission to write" in ran.err, state(out)) == (4, True, before)


def test_a_file_in_place_of_the_output_directory_is_a_clear_error(content: Path, out: Path) -> None:
    out.write_text("a file")
    ran = build(content, out)
    assert (ran.status, str(out) in ran.err, out.read_text()) == (4, True, "a file")


# -- what it says ------------------------------------------------------------------------------------------------


AGAIN = "  build again at 2026-11-30 00:00 (America/New_York): content changes by itself then\n"


def test_a_build_says_what_it_made_what_changed_and_what_to_do_next_and_when(content: Path, out: Path) -> None:
    first = build(content, out)
    id = current(out)
    assert re.sub(r"[0-9.]+ s\n$", "… s\n", first.out) == (
        f"release {id[:12]}: 44 files, current\n"
        "  26 written, 18 linked, 0 removed\n"
        f"  files: {out}/current/files\n"
        f"  next: `shopwindow serve --out {out}` answers from it\n"
        f"{AGAIN}"
        "… s\n"
    )
    write(content, {"events/first.yaml": event(20, [1], "2026-12-04 17:30", "2026-12-04 19:00", name="Renamed")})
    write(content, {"promotions/more.yaml": promotion(9, publish={"from": "2026-12-01", "until": "2026-12-02"})})
    (content / "events/second.yaml").unlink()
    second = build(content, out, at="2026-11-27T12:00:00-05:00")
    former, id = id, current(out)
    assert re.sub(r"[0-9.]+ s\n$", "… s\n", second.out) == (
        f"release {id[:12]}: 44 files, current\n"
        "  8 written, 36 linked, 0 removed\n"
        "  changed: events 10, 20\n"
        f"  files: {out}/current/files\n"
        f"  next: `shopwindow diff --out {out} {former[:8]} {id[:8]}` lists what apps get and the URLs to purge\n"
        "  edited, and in no file: promotion 9, which is live from 2026-12-01 00:00 (America/New_York)\n"
        f"{AGAIN}"
        "… s\n"
    )


def test_a_build_of_another_week_says_that_opening_hours_are_told_from_another_monday(content: Path, out: Path) -> None:
    built(content, out)
    ran = build(content, out, at="2026-11-30T12:00:00-05:00")
    changed = [line for line in ran.out.splitlines() if line.startswith("  changed:")]
    assert changed == ["  changed: opening hours from 2026-11-30"]


def test_a_build_says_that_a_publish_boundary_has_passed(content: Path, out: Path) -> None:
    built(content, out)
    first = event(20, [1], "2026-12-04 17:30", "2026-12-04 19:00", publish={"from": "2026-11-24"})
    ran = build(write(content, {"events/first.yaml": first}), out)
    changed = [line for line in ran.out.splitlines() if line.startswith("  changed:")]
    assert changed == ["  changed: latest publish boundary 2026-11-24T05:00:00.000+00:00"]


def test_a_build_counts_what_was_removed(content: Path, out: Path) -> None:
    built(content, out)
    (content / "apps/tablet.yaml").unlink()
    ran = build(content, out)
    assert "  0 written, 42 linked, 2 removed\n  changed: app tablet\n" in ran.out


def test_what_a_build_says_to_do_next_can_be_typed(content: Path, out: Path) -> None:
    built(content, out)
    write(content, {"events/first.yaml": event(20, [1], "2026-12-04 17:30", "2026-12-04 19:00", name="Renamed")})
    (line,) = re.findall(r"next: `shopwindow (.*)`", build(content, out).out)
    ran = shopwindow(*line.split())
    assert (ran.status, ran.out.splitlines()[0]) == (0, 'event 20: name: "Event 20" -> "Renamed"')


def test_a_build_that_is_not_activated_names_its_own_files(content: Path, out: Path) -> None:
    first = built(content, out)
    write(content, {"promotions/more.yaml": promotion(9)})
    built(content, out)
    assert shopwindow("rollback", "--out", out).status == 0
    write(content, {"promotions/more.yaml": promotion(9, publish={"from": "2026-11-01"})})
    ran = build(content, out)
    id = json.loads((out / "last-build.json").read_bytes())["release"]
    assert (ran.status, f"  files: {out}/releases/{id}/files\n" in ran.out, id != first) == (3, True, True)


WITHOUT_NGINX = ("nginx", "edge", "worker")


def test_a_build_says_nothing_of_an_edge_where_none_is_configured(content: Path, out: Path) -> None:
    first = build(content, out)
    write(content, {"site.yaml": site(lifetimes={"default": {"maxAge": 61}})})
    second = build(content, out)
    assert [word for word in WITHOUT_NGINX if word in first.out + second.out] == []


def test_a_build_says_which_configured_edges_must_be_written_again_until_they_are(
    content: Path, out: Path, tmp_path: Path
) -> None:
    built(content, out)
    target, keys = tmp_path / "an edge.conf", tmp_path / "keys.txt"
    keys.write_text("")
    nginx = ("edge", "nginx", "--out", out, "--content", content, "--api-keys", keys, "--write", target)
    assert shopwindow(*nginx).status == 0
    assert shopwindow("edge", "worker", "--out", out, "--content", content).status == 0
    before = build(content, out)

    write(content, {"site.yaml": site(lifetimes={"default": {"maxAge": 61}})})
    again = "'s configuration is of another release: write it again, `shopwindow edge"
    said = [f"  nginx{again} nginx … --write '{target}'`, with its options of then, and load it"]
    said += [f"  worker{again} worker …`, with its options of then, and load it"]
    for _ in range(2):  # a second build does not take it as done
        assert build(content, out).out.splitlines()[-3:-1] == said

    assert shopwindow(*nginx).status == 0
    after = build(content, out).out
    assert (again in before.out, f"nginx{again}" in after, f"worker{again}" in after) == (False, False, True)


FILES_OF_SMALL = {
    "mobileapp": 4,
    "events_v1": 12,
    "events_v2": 8,
    "stores_by_location": 4,
    "stores": 2,
    "promotions_v2": 2,
    "promotions_v3": 6,
    "promotions_sorted": 6,
}
"""Operation → files of a release of `small`; every other one has none."""


def listed(operation: Operation) -> str:
    """What `build --list` says of an operation, for a release of `small`."""
    how = f"pre-rendered, {FILES_OF_SMALL.get(operation.name, 0)} files"
    match operation.source:
        case FromStore():
            how = "dynamic: it is in the database"
        case FromRunning():
            how = "dynamic: only the running service knows"
        case FromContent(entries=None):
            how = "dynamic: it names no entries to pre-render"
    return f"{operation.method} {operation.path}  {how}\n"


def test_the_list_of_operations_counts_the_files_and_writes_nothing(content: Path, out: Path) -> None:
    ran = build(content, out, "--list")
    assert (ran, out.exists()) == (type(ran)(0, "".join(map(listed, INTERFACE.operations)), ""), False)


# -- files as processes tell of them -----------------------------------------------------------------------------

ONE, OTHER = "a" * 64, "b" * 64


def told(path: str, digest: str, written: str = "") -> tuple[str, bytes, str]:
    return path, b'{"path":"%b","sha256":"%b"}' % (path.encode(), digest.encode()), written


def together(files: StagedFiles, paths: Sequence[str], stage: Stage) -> None:
    files.take([told(path, ONE) for path in paths])
    files.end(stage)


@pytest.mark.parametrize("paths", [("one.json", "one.json"), ("one.json", "ONE.json")])
def test_two_answers_never_have_one_file_name(paths: tuple[str, str], tmp_path: Path) -> None:
    for kept, taken in (([], paths), (paths[:1], paths[1:])):
        files = StagedFiles({path: told(path, ONE)[1] for path in kept})
        with pytest.raises(Failure, match=f"two answers have one file name: {paths[0]} and {paths[1]}"):
            together(files, taken, Stage(tmp_path))


def test_bytes_that_several_processes_wrote_are_kept_once_with_all_their_links(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    files = StagedFiles({})
    for name, other in (("one", "two"), ("three", "four")):
        stage.write(f"files/{name}", b"same", ONE)
        stage.link(f"files/{other}", f"files/{name}")
        files.take([told(name, ONE, ONE), told(other, ONE)])
    stage.write("files/five", b"else", OTHER)
    files.take([told("five", OTHER, OTHER)])
    files.end(stage)
    inodes = {name: (tmp_path / "files" / name).stat().st_ino for name in files.lines}
    assert len({inodes[name] for name in ("one", "two", "three", "four")}) == 1
    assert inodes["five"] != inodes["one"]
    assert files.written == {ONE: "one", OTHER: "five"}
