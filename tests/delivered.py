"""What the tests of delivery share: releases to publish, targets, and what a reader makes of a target."""

import atexit
import shutil
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import orjson
from obstore.store import MemoryStore

from releases import built, small, write
from shopwindow.delivery import activation, layout, released, upkeep
from shopwindow.delivery.bucket import Bucket, Headers, ObjectBucket
from shopwindow.delivery.folder import FolderBucket
from shopwindow.delivery.outgoing import outgoing
from shopwindow.delivery.publishing import publish
from shopwindow.release.build_notes import record_build
from shopwindow.release.releases import Releases

Json = Any


def memory() -> ObjectBucket:
    """A target in the memory of this process."""
    return ObjectBucket(MemoryStore(), "memory://shop", "releases-of/shop")


def folder(path: Path) -> FolderBucket:
    """A target in a directory."""
    return FolderBucket(path)


NAMES = ("Older", "Newer", "First", "Second", "Third", "Fourth")
"""Names of an event, each of which makes a release."""


def documents(name: str, **settings: Json) -> dict[str, Json]:
    """A small shop whose event has this name."""
    written = small()
    written["events/first.yaml"]["name"] = name
    written["site.yaml"] |= settings
    return written


@cache
def _releases() -> tuple[Path, dict[str, str]]:
    """An output directory with a release for each of NAMES, built once; and their ids by name."""
    work = Path(mkdtemp(prefix="shopwindow-delivered-"))
    atexit.register(shutil.rmtree, work)
    return work / "dist", {name: built(write(work / "content", documents(name)), work / "dist") for name in NAMES}


def release(work: Path, name: str = "First", out: str = "dist") -> str:
    """Do as if a build had just written the release of one of NAMES, and return its id."""
    source, ids = _releases()
    if not (work / out).exists():
        shutil.copytree(source, work / out, symlinks=True)
    (work / out / "current").unlink()
    (work / out / "current").symlink_to(f"releases/{ids[name]}")
    now = datetime.now(UTC)
    record_build(work / out, now, now, "SUCCESS", release=ids[name])
    return ids[name]


def published(work: Path, bucket: Bucket, name: str = "First") -> str:
    """Publish the release of one of NAMES, and return its id."""
    id = release(work, name)
    publish(outgoing(work / "dist"), bucket)
    return id


def read(bucket: Bucket, id: str) -> dict[str, bytes]:
    """Every file of a release, read back from a target as a host would: name → bytes, each compared with its digest."""
    published = released.published(bucket, id)
    files = {}
    for name, part in published.parts.items():
        files[name] = b"".join(released.read_chunk(bucket, chunk) for chunk in part.chunks)
    assert sha256(files["manifest.json"]).hexdigest() == id
    for entry in orjson.loads(files["manifest.json"])["files"]:
        stored = bucket.read(layout.object_key(entry["sha256"]))
        assert stored is not None, entry
        assert sha256(stored.data).hexdigest() == entry["sha256"]
        files[f"files/{entry['path']}"] = stored.data
    return files


def on_disk(out: Path, id: str) -> dict[str, bytes]:
    """The same files of a release of an output directory."""
    path = Releases(out).path(id)
    listed = orjson.loads((path / "manifest.json").read_bytes())
    names = ["manifest.json", "build.json", *listed["private"], *(f"files/{e['path']}" for e in listed["files"])]
    return {name: (path / name).read_bytes() for name in names}


def current(bucket: Bucket) -> Json:
    """What current.json at a target says."""
    stored = bucket.read("current.json")
    return None if stored is None else orjson.loads(stored.data)


# -- what holds at every store ---------------------------------------------------------------------------------------


def assert_decides(bucket: Bucket) -> None:
    """A store decides who creates and who replaces."""
    text = Headers("text/plain", "no-cache")
    assert bucket.read("a/b") is None
    assert bucket.create("a/b", b"1", text)
    assert not bucket.create("a/b", b"2", text)
    first = bucket.read("a/b")
    assert first is not None
    assert (first.data, bucket.replace("a/b", b"3", text, first.version)) == (b"1", True)
    assert not bucket.replace("a/b", b"4", text, first.version)
    assert not bucket.replace("a/b", b"4", text, None)
    assert bucket.read_range("a/b", 0, 1) == b"3"
    assert bucket.replace("a/c", b"5", text, None)
    assert sorted(item.key for item in bucket.listing("a/")) == ["a/b", "a/c"]
    assert (bucket.folders(""), bucket.folders("a/")) == (["a"], ["b", "c"])
    bucket.delete(["a/b", "a/c", "a/gone"])
    assert bucket.read("a/b") is None


def assert_lives(bucket: Bucket, work: Path) -> None:
    """Two releases are published, read back, rolled back, verified, listed and pruned."""
    first = published(work, bucket)
    second = published(work, bucket, "Second")
    for id in (first, second):
        assert read(bucket, id) == on_disk(work / "dist", id)
    assert activation.roll_back(bucket, None).id == first
    assert upkeep.verify(bucket) == (first, [])
    assert [one.id for one in upkeep.listing(bucket)] == [second, first]
    assert upkeep.prune(bucket, 1).deleted == []
    assert (current(bucket)["id"], current(bucket)["pinned"]) == (first, True)
