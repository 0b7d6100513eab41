"""What the tests of delivery share: releases to publish, targets, and what a reader makes of a target."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
from obstore.store import MemoryStore

from releases import built, small, write
from shopwindow.delivery import layout, released
from shopwindow.delivery.bucket import Bucket, ObjectBucket
from shopwindow.delivery.folder import FolderBucket
from shopwindow.release.publish import Releases

Json = Any


def memory() -> ObjectBucket:
    """A target in the memory of this process."""
    return ObjectBucket(MemoryStore(), "memory://shop", "releases-of/shop")


def folder(path: Path) -> FolderBucket:
    """A target in a directory."""
    return FolderBucket(path)


def release(work: Path, name: str = "First", out: str = "dist", **settings: Json) -> str:
    """Build a small shop whose event has this name, and return the release's id."""
    documents = small()
    documents["events/first.yaml"]["name"] = name
    documents["site.yaml"] |= settings
    return built(write(work / "content", documents), work / out)


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
