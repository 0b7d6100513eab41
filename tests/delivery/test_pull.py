"""Pulling: what comes to a host, which release is current there, and what is refused."""

import errno
import os
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, cast

import orjson
import pytest

from harness.catalogs import CATALOG
from harness.content import SAMPLE, site, write
from harness.program import OutputBusy, Releases, built, copied, history, point, shopwindow, verify
from harness.stores import (
    Bucket,
    FolderBucket,
    Outgoing,
    PullFault,
    current,
    folder,
    in_force,
    on_disk,
    outgoing,
    publish,
    published,
    pull,
    release,
)
from shopwindow.delivery import layout, upkeep
from shopwindow.delivery.chunks import PAGES_BYTES
from shopwindow.delivery.fetching import MANIFEST_BYTES
from shopwindow.delivery.pulling import UnsignedSource
from shopwindow.problems import Failure
from shopwindow.release import pull_notes
from shopwindow.release.damage import remedy
from shopwindow.release.manifest import MANIFEST_FORMAT

Json = Any

NOTHING = "nothing was published there yet; publish to it, or correct the address"


@pytest.fixture
def target(tmp_path: Path) -> FolderBucket:
    return folder(tmp_path / "target")


@pytest.fixture
def host(tmp_path: Path) -> Releases:
    return Releases(tmp_path / "host")


def pulled(target: FolderBucket, host: Releases) -> str | None:
    """Pull, and return what is current on the host."""
    pull(UnsignedSource(target), host)
    return host.current()


def fault(target: FolderBucket, host: Releases) -> PullFault:
    """The fault of a pull, after which the host is as it was, and says why."""
    before = host.current()
    with pytest.raises(PullFault) as raised:
        pull(UnsignedSource(target), host)
    note = pull_notes.read(host.out)
    assert note is not None
    assert (note.kind, note.fault) == (raised.value.kind, str(raised.value))
    assert host.current() == before
    assert host.ids() == ([before] if before else [])
    return raised.value


# -- what comes to a host --------------------------------------------------------------------------------------------


def test_a_new_host_has_the_release_byte_by_byte(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    id = published(tmp_path, target)
    assert pulled(target, host) == id
    assert on_disk(host.out, id) == on_disk(tmp_path / "dist", id)
    assert verify(host, id) == []
    assert [(entry["id"], entry["from"], entry["action"]) for entry in history(host.out)] == [(id, None, "pull")]
    note = pull_notes.read(host.out)
    assert note is not None
    assert (note.source, note.release, note.fault) == (target.where, id, "")


def test_what_a_pull_left_that_was_killed_as_it_activated_is_cleared_up(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    first = published(tmp_path, target)
    pulled(target, host)
    second = published(tmp_path, target, "Second")
    pulled(target, host)
    point(host.out, first)  # the history had its line, and the link had not moved
    (host.out / ".current-3789").symlink_to(f"releases/{second}")
    assert pull(UnsignedSource(target), host).fetched == []
    assert (host.current(), host.pinned(), list(host.out.glob(".current-*"))) == (second, False, [])
    assert [(entry["from"], entry["id"]) for entry in history(host.out)] == [
        (None, first),
        (first, second),
        (first, first),  # it stayed current
        (first, second),
    ]


def test_what_a_host_has_is_not_fetched_again(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    first = published(tmp_path, target)
    every = pull(UnsignedSource(target), host).fetched
    assert pull(UnsignedSource(target), host).fetched == []
    second = published(tmp_path, target, "Second")
    done = pull(UnsignedSource(target), host)
    assert (done.id, done.previous, done.activated) == (second, first, True)
    bodies = {e["sha256"]: e["path"] for e in orjson.loads(on_disk(host.out, first)["manifest.json"])["files"]}
    new = {e["sha256"]: e["path"] for e in orjson.loads(on_disk(host.out, second)["manifest.json"])["files"]}
    assert len(new.keys() - bodies.keys()) < len(done.fetched) < len(every)
    for digest in new.keys() & bodies.keys():
        files = (host.path(first) / "files" / bodies[digest], host.path(second) / "files" / new[digest])
        assert os.path.samefile(*files)
    assert on_disk(host.out, second) == on_disk(tmp_path / "dist", second)
    assert verify(host, second) == []


def test_a_release_that_is_here_is_activated_without_a_request_for_it(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    first = published(tmp_path, target)
    pulled(target, host)
    published(tmp_path, target, "Second")
    pulled(target, host)
    upkeep.activate(target, first, pin=True)
    done = pull(UnsignedSource(target), host)
    assert (done.id, done.fetched, done.activated, host.current()) == (first, [], True, first)


def test_a_damaged_release_on_the_host_is_fetched_again(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    first = published(tmp_path, target)
    pulled(target, host)
    published(tmp_path, target, "Second")
    pulled(target, host)
    content = host.path(first) / "content.json"
    content.chmod(0o644)
    content.write_bytes(b"{}")
    upkeep.activate(target, first, pin=True)
    assert pulled(target, host) == first
    assert verify(host, first) == []


def test_a_damaged_current_release_is_fetched_again_as_verify_advises(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    id = published(tmp_path, target)
    pulled(target, host)
    content = host.path(id) / "content.json"
    content.chmod(0o644)
    content.write_bytes(b"{}")
    content.chmod(0o444)
    ran = shopwindow("verify", "--out", host.out)
    advice = f"`shopwindow pull {target.where}`, with the other options that this host pulls with,"
    assert (ran.status, ran.out) == (1, "content.json: not the bytes that were built\n")
    assert ran.err == f"release {id[:12]} is damaged: {advice} fetches again what is damaged\n"

    mended = shopwindow("pull", target.where, "--out", host.out)
    assert (mended.status, mended.out.startswith(f"release {id[:12]}: ")) == (0, True), mended
    assert on_disk(host.out, id) == on_disk(tmp_path / "dist", id)
    assert shopwindow("verify", "--out", host.out).status == 0
    (host.path(id) / "content.json").touch()  # a time that verify refuses, and no other bytes
    assert shopwindow("pull", target.where, "--out", host.out).status == 0
    assert verify(host, id) == []


def test_a_release_that_was_built_here_is_mended_by_a_build_or_a_copy_with_times(
    tmp_path: Path, target: FolderBucket
) -> None:
    id = published(tmp_path, target)
    host = Releases(tmp_path / "dist")
    (host.path(id) / "content.json").chmod(0o600)
    assert len(verify(host, id)) == 1
    assert remedy(host, id) == (
        "`shopwindow build --no-cache` writes every file again; what was copied here, copy again with times and "
        "modes (`rsync -a`)"
    )
    published(tmp_path, target, "Second")
    assert remedy(host, id).startswith("it is not current; do not roll back to it")


def test_a_damaged_file_of_the_current_release_is_not_linked(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    first = published(tmp_path, target)
    pulled(target, host)
    for path in sorted((host.path(first) / "files").rglob("*")):
        if path.is_file():
            status = path.stat()
            path.chmod(0o644)
            path.write_bytes(b"x" * status.st_size)
            os.utime(path, (status.st_atime, status.st_mtime))
            path.chmod(0o444)
    second = published(tmp_path, target, "Second")
    assert pulled(target, host) == second
    assert verify(host, second) == []


# -- which release is current ----------------------------------------------------------------------------------------


def test_a_rollback_at_the_target_is_followed(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    first = published(tmp_path, target)
    pulled(target, host)
    second = published(tmp_path, target, "Second")
    assert pulled(target, host) == second
    upkeep.activate(target, None, pin=True)
    assert pulled(target, host) == first


def test_a_pin_of_the_host_holds(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    first = published(tmp_path, target)
    pulled(target, host)
    host.activate(first, "rollback", "wait", datetime.now(UTC))
    second = published(tmp_path, target, "Second")
    ran = shopwindow("pull", target.where, "--out", host.out)
    assert (ran.status, ran.err) == (3, "")
    assert f"not activated: this host is pinned to {first[:12]}; `shopwindow activate` ends that" in ran.out
    assert host.current() == first
    assert verify(host, second) == []


def test_an_older_copy_of_the_pointer_is_not_followed(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    published(tmp_path, target)
    older = (tmp_path / "target" / layout.POINTER).read_bytes()
    newer = published(tmp_path, target, "Second")
    assert pulled(target, host) == newer
    (tmp_path / "target" / layout.POINTER).write_bytes(older)
    raised = fault(target, host)
    assert raised.kind == "stale"
    assert "current.json is older than the one that this host has followed" in str(raised)
    (host.out / pull_notes.PULLED).unlink()
    assert pulled(target, host) != newer


def test_publishers_with_other_clocks_are_followed_in_their_order(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    first = published(tmp_path, target)
    published(tmp_path, target, "Second")
    pointer = tmp_path / "target" / layout.POINTER
    ahead = orjson.loads(pointer.read_bytes())
    ahead["switched"] = (datetime.now(UTC) + timedelta(minutes=9)).isoformat(timespec="microseconds")
    ahead["history"][-1]["when"] = ahead["switched"]
    pointer.write_bytes(orjson.dumps(ahead))
    pulled(target, host)
    upkeep.activate(target, first, pin=True)
    assert current(target)["switched"] < ahead["switched"]
    assert pulled(target, host) == first


# -- a source that is not as it should be ----------------------------------------------------------------------------


def test_a_source_without_a_release_is_refused(target: FolderBucket, host: Releases) -> None:
    raised = fault(target, host)
    assert (raised.kind, str(raised)) == ("source", f"{target.where}: {NOTHING}")


def stored(tmp_path: Path) -> list[Path]:
    return sorted(path for path in (tmp_path / "target").rglob("*") if path.is_file() and path.name != ".lock")


def test_whatever_is_missing_changed_or_cut_off_the_old_release_stays(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    """Each object that the second release needs, and its list, is damaged in each way."""
    first = published(tmp_path, target)
    pulled(target, host)
    before = stored(tmp_path)
    second = published(tmp_path, target, "Second")
    new = [path for path in stored(tmp_path) if path not in before]
    assert len(new) > 3
    for path in new:
        data = path.read_bytes()
        for wrong in (None, b"", data[:-2], data + b" ", b"x" + data[1:]):
            if wrong is None:
                path.unlink()
            else:
                path.write_bytes(wrong)
            if wrong == data + b" " and path.name == "manifest.json":  # white space at the end of a list
                continue
            if wrong == data + b" " and path.name not in bodies(tmp_path, second):  # chunks lie before it
                continue
            shutil.rmtree(host.out / ".staging", ignore_errors=True)  # what an attempt before had fetched
            raised = fault(target, host)
            assert raised.kind == "damaged", (path, wrong and wrong[:20])
        path.write_bytes(data)
    assert host.current() == first
    assert pulled(target, host) == second


def bodies(tmp_path: Path, id: str) -> set[str]:
    """The digests of the files of a release."""
    listed = orjson.loads((tmp_path / "dist" / "releases" / id / "manifest.json").read_bytes())
    return {entry["sha256"] for entry in listed["files"]}


def listing(tmp_path: Path, id: str) -> tuple[Path, Json]:
    """The file that lists the objects of a release, and what it says."""
    path = tmp_path / "target" / layout.release_key(id)
    return path, orjson.loads(path.read_bytes())


@pytest.mark.parametrize("name", ["../../escaped", "/escaped", "files", "..", "a/b", "", "a\0b", "x" * 300])
def test_a_part_that_leads_out_of_the_release_is_refused(
    tmp_path: Path, target: FolderBucket, host: Releases, name: str
) -> None:
    path, value = listing(tmp_path, published(tmp_path, target))
    value["parts"][name] = value["parts"]["build.json"]
    path.write_bytes(orjson.dumps(value))
    raised = fault(target, host)
    assert raised.kind == "damaged"
    assert "is no name of a part" in str(raised)


@pytest.mark.parametrize("extra", ["", "sources.json"])
def test_parts_that_the_manifest_does_not_list_are_refused(
    tmp_path: Path, target: FolderBucket, host: Releases, extra: str
) -> None:
    path, value = listing(tmp_path, published(tmp_path, target))
    if extra:
        value["parts"][extra] = value["parts"]["build.json"]
    else:
        del value["parts"]["content.json"]
    path.write_bytes(orjson.dumps(value))
    assert "names other files than its manifest" in str(fault(target, host))


def test_a_manifest_whose_paths_lead_elsewhere_is_refused(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    """Its id is right: somebody who may write to the target can make one."""
    for path in ("../escaped", "/escaped", "a//b", "a/../../../b", "."):
        out = tmp_path / "forged"
        shutil.rmtree(out, ignore_errors=True)
        id = release(tmp_path)
        shutil.copytree(tmp_path / "dist", out, symlinks=True)
        data = (out / "releases" / id / "manifest.json").read_bytes()
        first = orjson.loads(data)["files"][0]["path"]
        forged = data.replace(f'"path":"{first}"'.encode(), f'"path":"{path}"'.encode(), 1)
        id = forge(out, id, forged)
        shutil.rmtree(tmp_path / "target", ignore_errors=True)
        publish_unchecked(out, id, target)
        raised = fault(target, host)
        assert (raised.kind, "its path leads elsewhere" in str(raised)) == ("damaged", True), raised
    assert not list(tmp_path.rglob("escaped"))


def forge(out: Path, id: str, manifest: bytes) -> str:
    """Give a release another manifest, and the id that belongs to it."""
    forged = sha256(manifest).hexdigest()
    folder = out / "releases" / forged
    shutil.copytree(out / "releases" / id, folder)
    (folder / "manifest.json").chmod(0o644)
    (folder / "manifest.json").write_bytes(manifest)
    return forged


def publish_unchecked(out: Path, id: str, target: FolderBucket) -> None:
    """Publish a release whose files need not be there: those of the manifest alone are sent."""
    (out / "current").unlink()
    (out / "current").symlink_to(f"releases/{id}")
    going = outgoing(out)
    release = replace(in_force(going), files={})
    publish(Outgoing(going.chain, {release.id: release}), target)


def forged_at_target(tmp_path: Path, id: str, name: str, data: bytes) -> None:
    """Give a release at the target other bytes of a part, as somebody can who may write there: digests and id fit."""
    path, value = listing(tmp_path, id)
    digest = sha256(data).hexdigest()
    value["objects"].append(digest)
    value["parts"][name]["chunks"] = [[digest, len(data), len(value["objects"]) - 1, 0]]
    chunk = tmp_path / "target" / layout.object_key(digest)
    chunk.parent.mkdir(exist_ok=True)
    chunk.write_bytes(data)
    if name == "manifest.json":
        value["id"] = digest
        path = tmp_path / "target" / layout.release_key(digest)
        path.parent.mkdir()
        pointer = tmp_path / "target" / layout.POINTER
        chain = [{"id": digest, "from": "2026-11-01T00:00:00+00:00"}]
        pointer.write_bytes(orjson.dumps({**orjson.loads(pointer.read_bytes()), "chain": chain}))
    path.write_bytes(orjson.dumps(value))


ENTRY = {"when": "2026-11-01T00:00:00+00:00", "id": "0" * 64, "from": None, "who": "somebody", "why": "", "action": ""}
LINK = {"id": "0" * 64, "from": "2026-11-01T00:00:00+00:00"}

ODD_MEMBERS: dict[str, dict[str, list[Json]]] = {
    layout.POINTER: {
        "format": [None, "1", []],
        "chain": [None, 7, "x", ["x"], [], {}, [{}], [LINK, LINK]]
        + [[{**LINK, "id": id}] for id in (None, 7, "x", ["x"], "0" * 63)]
        + [[{**LINK, "from": instant}] for instant in (None, 5, "noon", "2026-11-01T00:00:00")],
        "switched": [None, 5, "noon", "2026-11-01T00:00:00"],
        "built": [None, 5, "noon", "2026-11-01"],
        "pinned": [None, 1, "yes"],
        "unpurged": [None, 5, "x", ["x"], [7]],
        "pruning": [None, 5, "now"],
        "history": [None, 5, "x", ["x"], [7], [[]], [{}], {"when": 1}]
        + [[{**ENTRY, **odd}] for odd in ({"when": "noon"}, {"id": 7}, {"from": "x"}, {"who": None})],
    },
    "manifest.json": {
        "format": [None, "1", []],
        "id": [None, 7, "0" * 64],
        "built": [None, 5, "noon"],
        "files": [None, "1", -1, 1.5],
        "size": [None, "1", -1, True],
        "parts": [None, [], {}, {"manifest.json": []}, {"manifest.json": {"chunks": [["0" * 64, 1.5, 0, 0]]}}],
        "objects": [None, [], {}, [7], "x"],
    },
}


@pytest.mark.parametrize("name", ODD_MEMBERS)
def test_what_a_publisher_says_is_refused_in_a_sentence_with_each_member_odd(
    tmp_path: Path, target: FolderBucket, host: Releases, name: str
) -> None:
    id = published(tmp_path, target)
    path = tmp_path / "target" / (name if name == layout.POINTER else layout.release_key(id))
    value = orjson.loads(path.read_bytes())
    pulls = 0
    for member, values in ODD_MEMBERS[name].items():
        for odd in values:
            path.write_bytes(orjson.dumps({**value, member: odd}))
            said = str(fault(target, host))
            assert f"{path.relative_to(tmp_path / 'target')} is not what a publisher writes (" in said, (member, odd)
            pulls += 1
    path.write_bytes(orjson.dumps(value))
    assert (pulls >= 25, pulled(target, host)) == (True, id)


WHOLE = [b"", b"\xff", b"null", b"[]", b"7", b'"x"', b"{}", b'{"format":1}', b"[" * 100_000]


@pytest.mark.parametrize("data", WHOLE)
def test_a_file_that_is_none_of_a_publisher_is_refused_in_a_sentence(
    tmp_path: Path, target: FolderBucket, host: Releases, data: bytes
) -> None:
    id = published(tmp_path, target)
    for key in (layout.POINTER, layout.release_key(id)):
        path = tmp_path / "target" / key
        before = path.read_bytes()
        path.write_bytes(data)
        assert "is not what a publisher writes" in str(fault(target, host)), key
        path.write_bytes(before)
    ran = shopwindow("pull", target.where, "--out", host.out)
    assert (ran.status, ran.err) == (0, "")


ODD_MANIFESTS = [
    (b'"private":{', b'"private":{"catalog":7,'),
    (b'"private":{', b'"private":{"catalog":{"format":"x"},'),
    (b'"private":{', b'"private":[],"other":{'),
    (b'"edge":"', b'"edge":7,"other":"'),
    (b'"size":', b'"size":-'),
]


@pytest.mark.parametrize(("written", "odd"), ODD_MANIFESTS)
def test_a_manifest_that_no_build_wrote_is_refused_in_a_sentence(
    tmp_path: Path, target: FolderBucket, host: Releases, written: bytes, odd: bytes
) -> None:
    id = published(tmp_path, target)
    data = (tmp_path / "dist" / "releases" / id / "manifest.json").read_bytes()
    assert written in data
    forged_at_target(tmp_path, id, "manifest.json", data.replace(written, odd, 1))
    assert fault(target, host).kind in ("damaged", "source")


def test_a_manifest_with_a_file_in_the_place_of_a_folder_is_refused_in_a_sentence(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    id = published(tmp_path, target)
    data = (tmp_path / "dist" / "releases" / id / "manifest.json").read_bytes()
    first, second, *_ = (entry["path"] for entry in orjson.loads(data)["files"])
    odd = data.replace(f'"path":"{first}"'.encode(), f'"path":"{second}/x"'.encode(), 1)
    forged_at_target(tmp_path, id, "manifest.json", odd)
    assert fault(target, host).kind in ("damaged", "host")


@pytest.mark.parametrize("data", [b"null", b"[]", b"{}", b"x", b'{"built":7}', b'{"built":"x","catalog":7}'])
def test_a_build_note_that_no_build_wrote_is_refused_in_a_sentence(
    tmp_path: Path, target: FolderBucket, host: Releases, data: bytes
) -> None:
    id = published(tmp_path, target)
    forged_at_target(tmp_path, id, "build.json", data)
    assert fault(target, host).kind == "damaged"


def test_only_files_are_opened_at_a_target(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    """A pipe has no writer, and whoever opened it would wait for one."""
    id = published(tmp_path, target)
    for key in (layout.POINTER, layout.release_key(id), chunk_of_manifest(tmp_path, id)):
        path = tmp_path / "target" / key
        path.rename(tmp_path / "away")
        os.mkfifo(path)
        assert str(path) in str(fault(target, host)), key
        path.unlink()
        path.mkdir()
        assert fault(target, host).kind in ("damaged", "source")
        path.rmdir()
        (tmp_path / "away").rename(path)
    assert pulled(target, host) == id


def chunk_of_manifest(tmp_path: Path, id: str) -> str:
    """The name of the object that holds the beginning of a release's manifest."""
    _, value = listing(tmp_path, id)
    return layout.object_key(value["objects"][value["parts"]["manifest.json"]["chunks"][0][2]])


def test_a_manifest_of_a_newer_format_is_refused(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    path, value = listing(tmp_path, published(tmp_path, target))
    path.write_bytes(orjson.dumps({**value, "format": layout.LISTING_FORMAT + 1}))
    raised = fault(target, host)
    assert (raised.kind, "this program reads up to 1: update it" in str(raised)) == ("newer", True)
    pointer = tmp_path / "target" / layout.POINTER
    pointer.write_bytes(orjson.dumps({**orjson.loads(pointer.read_bytes()), "format": 3}))
    raised = fault(target, host)
    assert (raised.kind, "current.json has format 3" in str(raised)) == ("newer", True)


def test_a_release_of_a_newer_format_is_refused(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    id = release(tmp_path)
    data = (tmp_path / "dist" / "releases" / id / "manifest.json").read_bytes()
    newer = data.replace(b'"format":%d' % MANIFEST_FORMAT, b'"format":%d' % (MANIFEST_FORMAT + 1), 1)
    published(tmp_path, target)
    forged_at_target(tmp_path, id, "manifest.json", newer)
    raised = fault(target, host)
    assert (raised.kind, f"this program reads up to {MANIFEST_FORMAT}: update it" in str(raised)) == ("newer", True)


@pytest.mark.parametrize(
    "chunk",
    [["x", 1, 0, 0], ["0" * 64, 0, 0, 0], ["0" * 64, 1 << 40, 0, 0], ["0" * 64, 1, 9, 0], ["0" * 64, 1, 0, -1], [1]],
)
def test_a_chunk_that_cannot_be_one_is_refused(
    tmp_path: Path, target: FolderBucket, host: Releases, chunk: Json
) -> None:
    path, value = listing(tmp_path, published(tmp_path, target))
    value["parts"]["content.json"]["chunks"] = [chunk]
    path.write_bytes(orjson.dumps(value))
    raised = fault(target, host)
    assert (raised.kind, "is not what a publisher writes" in str(raised)) == ("damaged", True)


def test_a_release_that_is_larger_than_the_disk_is_refused_at_once(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    path, value = listing(tmp_path, published(tmp_path, target))
    chunk = ["0" * 64, 8 << 20, 0, 0]
    value["parts"]["content.json"]["chunks"] = [chunk] * 400_000
    path.write_bytes(orjson.dumps(value))
    raised = fault(target, host)
    assert (raised.kind, "are free; `shopwindow prune --keep N`" in str(raised)) == ("host", True)
    value["parts"]["manifest.json"]["chunks"] = [chunk] * (MANIFEST_BYTES // (8 << 20) + 1)
    path.write_bytes(orjson.dumps(value))
    assert "are the most that are read" in str(fault(target, host))


def test_a_pointer_that_names_a_path_is_refused(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    published(tmp_path, target)
    chain = [{"id": "../../etc", "from": "2026-11-01T00:00:00+00:00"}]
    pointer = tmp_path / "target" / layout.POINTER
    pointer.write_bytes(orjson.dumps({**orjson.loads(pointer.read_bytes()), "chain": chain}))
    assert "current.json is not what a publisher writes ('../../etc' is no digest)" in str(fault(target, host))


# -- an attempt that fails -------------------------------------------------------------------------------------------


class Interrupted:
    """A target that is away after so many reads of objects. ``read``: what was asked for, and came."""

    def __init__(self, target: FolderBucket, readings: int, error: Exception) -> None:
        self._target, self._left, self._error = target, readings, error
        self._lock, self.read_objects = Lock(), set[Json]()

    def __getattr__(self, name: str) -> Json:
        return getattr(self._target, name)

    def _count(self, what: Json) -> None:
        with self._lock:
            if self._left == 0:
                raise self._error
            self._left -= 1
            self.read_objects.add(what)

    def stream(self, key: str) -> Json:
        self._count(key)
        return self._target.stream(key)

    def read_range(self, key: str, start: int, size: int) -> bytes | None:
        self._count((key, start, size))
        return self._target.read_range(key, start, size)


def interrupted(target: FolderBucket, host: Releases, readings: int, error: Exception | None = None) -> set[Json]:
    """Pull from a target that goes away after some reads; return what was read."""
    bucket = Interrupted(target, readings, error or Failure("away"))
    with pytest.raises(PullFault):
        pull(UnsignedSource(cast("Bucket", bucket)), host)
    return bucket.read_objects


def continued(target: FolderBucket, host: Releases) -> set[Json]:
    """Pull from a target that stays; return what was read."""
    bucket = Interrupted(target, -1, Failure(""))
    pull(UnsignedSource(cast("Bucket", bucket)), host)
    return bucket.read_objects


def test_the_next_attempt_fetches_the_rest(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    id = published(tmp_path, target)
    whole = continued(target, Releases(tmp_path / "other"))
    fetched: set[Json] = set()
    for readings in (0, 1, len(whole) // 4, 1, len(whole) // 2):  # 0 and 1: not even the parts are here
        now = interrupted(target, host, readings)
        assert (len(now), now & fetched, host.ids()) == (readings, set(), [])
        fetched |= now
    rest = continued(target, host)
    assert (fetched | rest, fetched & rest) == (whole, set())
    assert on_disk(host.out, id) == on_disk(tmp_path / "dist", id)
    assert (verify(host, id), (host.out / ".staging").exists()) == ([], False)


def test_what_was_fetched_serves_another_release(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    published(tmp_path, target)
    fetched = interrupted(target, host, len(continued(target, Releases(tmp_path / "other"))) - 1)
    (host.out / ".staging" / "pull" / "files" / "left over").write_bytes(b"by another release")
    second = published(tmp_path, target, "Second")
    rest = continued(target, host)
    objects = {one for one in fetched if isinstance(one, str)}
    assert (rest & objects, len(rest) < len(objects)) == (set(), True)
    assert on_disk(host.out, second) == on_disk(tmp_path / "dist", second)
    assert verify(host, second) == []


@pytest.mark.parametrize("way", ["changed", "cut off", "touched", "emptied"])
def test_what_was_damaged_meanwhile_is_fetched_again(
    tmp_path: Path, target: FolderBucket, host: Releases, way: str
) -> None:
    """By a kill in the middle of a write, or a power cut."""
    id = published(tmp_path, target)
    interrupted(target, host, len(continued(target, Releases(tmp_path / "other"))) - 1)
    for path in (host.out / ".staging").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            path.chmod(0o644)
            if way == "touched":
                os.utime(path, (1, 1))
            else:
                path.write_bytes({"changed": b"x" + data[1:], "cut off": data[:-1], "emptied": b""}[way])
    assert pulled(target, host) == id
    assert on_disk(host.out, id) == on_disk(tmp_path / "dist", id)
    assert verify(host, id) == []


def test_what_fills_a_disk_is_deleted(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    published(tmp_path, target)
    interrupted(target, host, 9, OSError(errno.ENOSPC, "No space left on device"))
    note = pull_notes.read(host.out)
    assert note is not None
    assert (note.kind, list((host.out / ".staging").glob("*"))) == ("host", [])


# -- the host --------------------------------------------------------------------------------------------------------


def test_a_pull_beside_another_command_says_so(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    id = published(tmp_path, target)
    host.out.mkdir()
    with host.lock():
        raised = fault(target, host)
        assert (raised.kind, "another build or activation is at work" in str(raised)) == ("host", True)
    assert pulled(target, host) == id
    with pytest.raises(OutputBusy), host.lock(), host.lock():
        pass


def test_old_releases_are_pruned(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    for name in ("First", "Second", "Third"):
        published(tmp_path, target, name)
        ran = shopwindow("pull", target.where, "--out", host.out, "--keep", "1")
        assert (ran.status, ran.err) == (0, "")
        entries = [{**entry, "when": "2026-01-01T00:00:00+00:00"} for entry in history(host.out)]
        (host.out / "history.jsonl").write_bytes(b"".join(orjson.dumps(entry) + b"\n" for entry in entries))
    assert len(host.ids()) == 2  # the newest by its build, and the one before, which was just current


def test_a_host_hears_that_its_edge_must_be_configured_again(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    published(tmp_path, target)
    assert shopwindow("pull", target.where, "--out", host.out).status == 0
    assert shopwindow("edge", "worker", "--out", host.out).status == 0
    write(tmp_path / "content", {"site.yaml": site(lifetimes={"default": {"maxAge": 61}})})
    id = built(tmp_path / "content", tmp_path / "dist")
    publish(outgoing(tmp_path / "dist"), target)
    ran = shopwindow("pull", target.where, "--out", host.out)
    again = "write it again, `shopwindow edge worker …`, with its options of then, and load it"
    assert (ran.status, host.current()) == (0, id)
    assert ran.out.splitlines()[1:] == [f"  worker's configuration is of another release: {again}"]


def test_the_command_says_what_it_did(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    id = published(tmp_path, target)
    ran = shopwindow("pull", target.where, "--out", host.out)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"release {id[:12]}: ")
    assert ran.out.endswith(" KiB, current\n")
    ran = shopwindow("pull", target.where, "--out", host.out)
    assert ran.out == f"release {id[:12]}: 0 objects fetched, 0 KiB, it is current already\n"
    ran = shopwindow("pull", f"file://{tmp_path}/elsewhere", "--out", tmp_path / "new")
    assert (ran.status, ran.out) == (4, "")
    assert ran.err == f"shopwindow: file://{tmp_path}/elsewhere: {NOTHING}\n"


# -- the catalog -----------------------------------------------------------------------------------------------------


def test_of_a_catalogs_index_the_pages_that_differ_are_fetched(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    content = copied(SAMPLE, tmp_path / "content")
    first = built(content, tmp_path / "dist")
    publish(outgoing(tmp_path / "dist"), target)
    assert pulled(target, host) == first
    feed = content / "catalog" / "products" / "active.yaml"
    feed.write_text(feed.read_text().replace("Stride Running Tight", "Stride Running Pants", 1))
    second = built(content, tmp_path / "dist")
    publish(outgoing(tmp_path / "dist"), target)

    done = pull(UnsignedSource(target), host)
    assert (done.id, host.current(), verify(host, second)) == (second, second, [])
    assert on_disk(host.out, second) == on_disk(tmp_path / "dist", second)
    index = (host.path(second) / "catalog.sqlite").read_bytes()
    before = (host.path(first) / "catalog.sqlite").read_bytes()
    pages = {before[at : at + PAGES_BYTES] for at in range(0, len(before), PAGES_BYTES)}
    new = {index[at : at + PAGES_BYTES] for at in range(0, len(index), PAGES_BYTES)} - pages
    others = sum(len(data) for name, data in on_disk(host.out, second).items() if name != "catalog.sqlite")
    assert 0 < len(new) < len(index) / PAGES_BYTES / 2
    assert sum(done.fetched) < len(new) * PAGES_BYTES + others


def test_the_index_of_the_first_publisher_stays(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    """Another SQLite lays the same rows out otherwise: the id is the same, the bytes are not."""
    id = built(copied(SAMPLE, tmp_path / "content"), tmp_path / "dist")
    publish(outgoing(tmp_path / "dist"), target)
    first = on_disk(tmp_path / "dist", id)
    folder = tmp_path / "dist" / "releases" / id
    for name, data in (("catalog.sqlite", first["catalog.sqlite"] + bytes(PAGES_BYTES)), ("build.json", b"")):
        note = orjson.loads(first["build.json"])
        note["catalog"]["sha256"] = sha256(first["catalog.sqlite"] + bytes(PAGES_BYTES)).hexdigest()
        (folder / name).chmod(0o644)
        (folder / name).write_bytes(data or orjson.dumps(note))
    assert on_disk(tmp_path / "dist", id) != first
    assert publish(outgoing(tmp_path / "dist"), target).sent == []
    assert pulled(target, host) == id
    assert on_disk(host.out, id) == first
    assert verify(host, id) == []


# -- the rows of the index -------------------------------------------------------------------------------------------


def with_another_index(out: Path, id: str, statement: str) -> None:
    """Alter a row of a release's index, and let build.json have the digest of the altered file."""
    index, note = out / "releases" / id / "catalog.sqlite", out / "releases" / id / "build.json"
    for path in (index, note):
        path.chmod(0o644)
    with closing(sqlite3.connect(index)) as database:
        assert database.execute(statement).rowcount > 0
        database.commit()
    value = orjson.loads(note.read_bytes())
    value["catalog"]["sha256"] = sha256(index.read_bytes()).hexdigest()
    note.write_bytes(orjson.dumps(value))
    for path in (index, note):
        path.chmod(0o444)


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("UPDATE recommendation SET products = x''", "not the rows that the release id covers"),
        ("UPDATE product SET document = (SELECT max(document) FROM product)", " is not what was built"),
        ("DELETE FROM product WHERE id = (SELECT max(id) FROM product)", " is not what was built"),
        ("INSERT INTO product SELECT id + 1, document FROM product LIMIT 1", " is not what was built"),
    ],
)
def test_an_index_whose_rows_are_not_those_of_the_id_is_refused(
    tmp_path: Path, target: FolderBucket, host: Releases, statement: str, wrong: str
) -> None:
    id = built(copied(SAMPLE, tmp_path / "content"), tmp_path / "dist")
    with_another_index(tmp_path / "dist", id, statement)
    ran = shopwindow("verify", "--out", tmp_path / "dist")
    assert (ran.status, ran.out.startswith("catalog.sqlite: "), wrong in ran.out) == (1, True, True), ran
    publish(outgoing(tmp_path / "dist"), target)
    ran = shopwindow("pull", target.where, "--out", host.out)
    assert (ran.status, ran.out, ran.err.count("\n")) == (4, "", 1), ran
    assert ran.err.startswith(f"shopwindow: release {id[:12]}: catalog.sqlite: ")
    assert wrong in ran.err
    note = pull_notes.read(host.out)
    assert note is not None
    assert (note.kind, host.current()) == ("damaged", None)


def test_an_index_of_a_newer_format_is_refused(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    id = built(copied(SAMPLE, tmp_path / "content"), tmp_path / "dist")
    manifest = (tmp_path / "dist" / "releases" / id / "manifest.json").read_bytes()
    newer = manifest.replace(b'"format":%d,"rows"' % CATALOG.format, b'"format":%d,"rows"' % (CATALOG.format + 1), 1)
    publish_unchecked(tmp_path / "dist", forge(tmp_path / "dist", id, newer), target)
    ran = shopwindow("pull", target.where, "--out", host.out)
    assert (ran.status, f"this program reads up to {CATALOG.format}: update it" in ran.err) == (4, True), ran
    note = pull_notes.read(host.out)
    assert note is not None
    assert note.kind == "newer"
