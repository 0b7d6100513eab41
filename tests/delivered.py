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
from shopwindow.delivery import layout, released
from shopwindow.delivery.bucket import Bucket, ObjectBucket
from shopwindow.delivery.folder import FolderBucket
from shopwindow.release.build_notes import record_build
from shopwindow.release.publish import Releases

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
