"""Publishing: what lies at a target, which release is current there, and what is refused."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Barrier

import orjson
import pytest

from harness.content import SAMPLE, write
from harness.program import built, shopwindow
from harness.stores import (
    Bucket,
    Headers,
    PublishOptions,
    TargetPointer,
    Version,
    current,
    documents,
    folder,
    in_force,
    memory,
    on_disk,
    outgoing,
    publish,
    read,
    release,
)
from harness.waits import PATIENCE
from shopwindow.delivery import layout, pointer
from shopwindow.delivery.bucket import Listed
from shopwindow.problems import Failure
from shopwindow.release.chain import Chain, Link
from shopwindow.release.manifest import MANIFEST_FORMAT
from shopwindow.starter import begin

TEXT = Headers("text/plain", "no-cache")


@pytest.fixture(params=["memory", "file"])
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Bucket:
    """A target of each sort that needs no server."""
    return memory() if request.param == "memory" else folder(tmp_path / "target")


def objects(bucket: Bucket) -> dict[str, Listed]:
    """What lies under digests, beside the object that tells the store's time."""
    return {listed.key: listed for listed in bucket.listing(layout.OBJECTS) if listed.key != layout.CLOCK}


# -- what lies at the target -----------------------------------------------------------------------------------------


def test_a_published_release_is_read_back_byte_by_byte(bucket: Bucket, tmp_path: Path) -> None:
    id = release(tmp_path)
    done = publish(outgoing(tmp_path / "dist"), bucket)
    assert (done.id, done.previous, done.activated, done.pinned) == (id, None, True, False)
    assert read(bucket, id) == on_disk(tmp_path / "dist", id)
    pointed = current(bucket)
    assert (pointed["format"], pointed["id"], "pinned" in pointed) == (pointer.POINTER_FORMAT, id, False)
    assert [(entry["id"], entry["from"], entry["action"]) for entry in pointed["history"]] == [(id, None, "publish")]


KNOWN_KEYS = [
    sha256(line.split()[1].encode()).hexdigest()
    for path in (SAMPLE / "sample-keys.txt", Path(begin.__file__).parent / "minimal" / "sample-keys.txt")
    for line in path.read_text().splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize("digest", [*KNOWN_KEYS, "0" * 64])
def test_a_key_that_everybody_knows_is_not_published(tmp_path: Path, digest: str) -> None:
    written = documents("First")
    written["apps/tablet.yaml"]["apiKeys"] = ["ab" * 32, digest]
    id = built(write(tmp_path / "content", written), tmp_path / "dist")
    ran = shopwindow("publish", f"file://{tmp_path}/target", "--out", tmp_path / "dist")
    assert (ran.status, ran.out, ran.err) == (
        4,
        "",
        f"shopwindow: release {id[:12]}: everybody knows the key of tablet whose digest is {digest[:8]}…, for it is an "
        "example; nothing was published. `shopwindow new key tablet` prints a key of your own, and the digest to put "
        "in its place\n",
    )
    assert not (tmp_path / "target").exists()


def test_publishing_again_sends_nothing(bucket: Bucket, tmp_path: Path) -> None:
    release(tmp_path)
    publish(outgoing(tmp_path / "dist"), bucket)
    before = current(bucket)
    done = publish(outgoing(tmp_path / "dist"), bucket)
    assert (done.sent, done.activated) == ([], False)
    assert current(bucket) == before


def test_a_change_sends_what_differs_and_overwrites_nothing(bucket: Bucket, tmp_path: Path) -> None:
    first = release(tmp_path)
    publish(outgoing(tmp_path / "dist"), bucket)
    before = objects(bucket)
    second = release(tmp_path, "Second")
    done = publish(outgoing(tmp_path / "dist"), bucket)
    new = objects(bucket).keys() - before.keys()
    bodies = {
        entry["sha256"] for entry in orjson.loads(on_disk(tmp_path / "dist", second)["manifest.json"])["files"]
    } - {entry["sha256"] for entry in orjson.loads(on_disk(tmp_path / "dist", first)["manifest.json"])["files"]}
    assert len(done.sent) == len(new) + 1  # and releases/<id>/manifest.json
    assert len(new) == len(bodies) + 1  # what changed of the parts is one object
    assert {key: listed for key, listed in objects(bucket).items() if key in before} == before
    for id in (first, second):
        assert read(bucket, id) == on_disk(tmp_path / "dist", id)


def test_files_have_their_media_type_and_lifetime_and_parts_are_private(tmp_path: Path) -> None:
    import obstore

    bucket = memory()
    id = release(tmp_path)
    publish(outgoing(tmp_path / "dist"), bucket)
    listed = orjson.loads(on_disk(tmp_path / "dist", id)["manifest.json"])["files"]
    served = {entry["sha256"]: (entry["mediaType"], f"max-age={entry['lifetime']}") for entry in reversed(listed)}
    for key in objects(bucket):
        attributes = obstore.get(bucket._store, bucket._prefix + key).attributes
        sent = (attributes["Content-Type"], attributes["Cache-Control"])
        private = ("application/octet-stream", "private, max-age=31536000, immutable")
        assert sent == served.get(key.rpartition("/")[2], private)


def test_the_name_of_a_target_is_no_part_of_a_release(tmp_path: Path) -> None:
    first = built(write(tmp_path / "content", documents("First")), tmp_path / "dist")
    named = documents("First", targets={"here": f"file://{tmp_path}/target"})
    assert built(write(tmp_path / "content", named), tmp_path / "dist") == first
    done = shopwindow("publish", "here", "--content", tmp_path / "content", "--out", tmp_path / "dist")
    assert (done.status, done.err) == (0, "")
    assert current(folder(tmp_path / "target"))["id"] == first


# -- which release is current ----------------------------------------------------------------------------------------


def test_a_killed_run_is_finished_by_the_next(bucket: Bucket, tmp_path: Path) -> None:
    release(tmp_path)
    publish(outgoing(tmp_path / "dist"), bucket)
    second = release(tmp_path, "Second")
    going = outgoing(tmp_path / "dist")
    half = list(in_force(going).files.values())[::2]
    for item in half:
        bucket.create(layout.object_key(item.digest), item.body(), item.headers)
    publish(going, bucket)
    assert current(bucket)["id"] == second
    assert read(bucket, second) == on_disk(tmp_path / "dist", second)


def test_content_that_returns_is_published_again(bucket: Bucket, tmp_path: Path) -> None:
    first = release(tmp_path)
    publish(outgoing(tmp_path / "dist"), bucket)
    release(tmp_path, "Second")
    publish(outgoing(tmp_path / "dist"), bucket)
    assert release(tmp_path) == first
    assert publish(outgoing(tmp_path / "dist"), bucket).activated
    assert current(bucket)["id"] == first


def test_an_older_build_replaces_a_newer_one_only_by_force(bucket: Bucket, tmp_path: Path) -> None:
    older = release(tmp_path, "Older", out="older")
    newer = release(tmp_path, "Newer", out="newer")
    publish(outgoing(tmp_path / "newer"), bucket)
    before = {listed.key for listed in bucket.listing("")}
    with pytest.raises(Failure, match=rf"a newer build is current, {newer[:12]}.*--force"):
        publish(outgoing(tmp_path / "older"), bucket)
    assert {listed.key for listed in bucket.listing("")} == before
    assert publish(outgoing(tmp_path / "older"), bucket, PublishOptions(force=True)).activated
    assert current(bucket)["id"] == older


def test_of_two_publishers_one_wins_and_the_other_says_so(bucket: Bucket, tmp_path: Path) -> None:
    release(tmp_path)
    publish(outgoing(tmp_path / "dist"), bucket)
    start = pointer.required(bucket)
    second = release(tmp_path, "Second")
    publish(outgoing(tmp_path / "dist"), bucket)
    other = moved_elsewhere(start)
    assert not pointer.move(bucket, start, other)
    assert current(bucket)["id"] == second


def test_of_many_who_replace_the_same_version_one_wins(bucket: Bucket) -> None:
    for attempt in range(11):
        stored = bucket.read("current.json")
        version, together = stored.version if stored else None, Barrier(8)
        bodies = [b"%d of %d" % (number, attempt) for number in range(8)]
        with ThreadPoolExecutor(8) as threads:
            won = list(threads.map(partial(replace_together, bucket, version, together), bodies))
        assert sorted(won) == [False] * 7 + [True]


def replace_together(bucket: Bucket, version: Version | None, together: Barrier, body: bytes) -> bool:
    together.wait(PATIENCE)
    return bucket.replace("current.json", body, TEXT, version)


def moved_elsewhere(present: TargetPointer) -> TargetPointer:
    """The pointer after another publisher has moved it."""
    now = datetime.now(UTC)
    chain = Chain((Link("f" * 64, now),))
    return pointer.moved(present, chain, "", now=now, action="publish", reason="", pin=False, purges=False)


class Overtaken:
    """A target where another publisher moves the pointer just before we do."""

    def __init__(self, bucket: Bucket, other: TargetPointer) -> None:
        self._bucket, self._other = bucket, other

    def __getattr__(self, name: str) -> object:
        return getattr(self._bucket, name)

    def replace(self, key: str, data: bytes, headers: Headers, version: object) -> bool:
        present = pointer.read(self._bucket)
        if present != self._other:
            assert pointer.move(self._bucket, present, self._other)
        return self._bucket.replace(key, data, headers, version)  # type: ignore[arg-type] # as it came


def test_who_is_overtaken_says_by_whom(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release(tmp_path)
    publish(outgoing(tmp_path / "dist"), bucket)
    monkeypatch.setenv("SHOPWINDOW_ACTOR", "Robin")
    other = moved_elsewhere(pointer.required(bucket))
    late = release(tmp_path, "Second")
    with pytest.raises(Failure, match=rf"Robin was faster, and f{{12}} is current; {late[:12]} is there"):
        publish(outgoing(tmp_path / "dist"), Overtaken(bucket, other))  # type: ignore[arg-type] # all else is the same
    assert current(bucket)["id"] == "f" * 64


# -- what is refused -------------------------------------------------------------------------------------------------


def everything(bucket: Bucket) -> dict[str, bytes]:
    stored = {listed.key: bucket.read(listed.key) for listed in bucket.listing("")}
    return {key: each.data for key, each in stored.items() if each is not None}


def refusal(bucket: Bucket, out: Path) -> str:
    """The sentence with which a publication is refused; nothing at the target has changed."""
    before = everything(bucket)
    with pytest.raises(Failure) as failure:
        publish(outgoing(out), bucket)
    assert everything(bucket) == before
    return str(failure.value)


def test_a_target_that_holds_something_else_is_refused(bucket: Bucket, tmp_path: Path) -> None:
    release(tmp_path)
    bucket.create("photos/2026/bag.jpg", b"a bag", TEXT)
    assert "holds something else (photos); publish to a prefix of its own" in refusal(bucket, tmp_path / "dist")


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"format": 1}', b'{"format": "x"}', b"<html>", b'"current"'])
def test_a_pointer_of_somebody_else_is_refused(bucket: Bucket, tmp_path: Path, text: bytes) -> None:
    release(tmp_path)
    bucket.create("current.json", text, TEXT)
    assert "current.json is not what a publisher writes" in refusal(bucket, tmp_path / "dist")


def test_newer_formats_are_refused(bucket: Bucket, tmp_path: Path) -> None:
    id = release(tmp_path)
    publish(outgoing(tmp_path / "dist"), bucket)
    release(tmp_path, "Second")
    bucket.overwrite(layout.release_key(id), b'{"format": 2}', TEXT)
    assert "has format 2; this program reads up to 1: update it" in refusal(bucket, tmp_path / "dist")
    bucket.overwrite("current.json", b'{"format": 3}', TEXT)
    assert "current.json has format 3; this program reads up to 2" in refusal(bucket, tmp_path / "dist")
    path = tmp_path / "dist/current/manifest.json"
    data = path.read_bytes().replace(b'{"format":1,', b'{"format":%d,' % (MANIFEST_FORMAT + 1))
    path.chmod(0o644)
    path.write_bytes(data)
    assert "not the manifest of release" in refusal(bucket, tmp_path / "dist")


def test_a_build_from_the_future_is_refused(bucket: Bucket, tmp_path: Path) -> None:
    release(tmp_path)
    build = tmp_path / "dist/current/build.json"
    note = orjson.loads(build.read_bytes())
    build.chmod(0o644)
    build.write_bytes(orjson.dumps({**note, "built": (datetime.now(UTC) + timedelta(days=1)).isoformat()}))
    assert "in the future: set this machine's clock, and build again" in refusal(bucket, tmp_path / "dist")


def test_a_damaged_release_never_becomes_current(bucket: Bucket, tmp_path: Path) -> None:
    id = release(tmp_path)
    going = outgoing(tmp_path / "dist")
    file = tmp_path / "dist/current/files" / next(iter(in_force(going).lines.files))
    file.chmod(0o644)
    file.write_bytes(b"{}")
    with pytest.raises(Failure, match=r"not what was built, so nothing leads to this release"):
        publish(going, bucket)
    assert (current(bucket), bucket.read(layout.release_key(id))) == (None, None)


def test_a_folder_without_a_release_is_refused(tmp_path: Path) -> None:
    ran = shopwindow("publish", f"file://{tmp_path}/target", "--out", tmp_path / "nothing")
    assert (ran.status, ran.out) == (4, "")
    assert "no release is current; `shopwindow build` makes one" in ran.err
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("production", "'production' is no address (s3://BUCKET/PREFIX, "),
        ("http://shop.example", "http://shop.example: a target is s3://BUCKET/PREFIX"),
        ("s3://", "s3://: a target is s3://BUCKET/PREFIX"),
        ("s3://key:secret@bucket", "a target's address holds no secret"),
        ("file://relative", "file://relative: a directory's address is file:///PATH"),
        ("s3://bucket/a b", "; PREFIX has letters, digits and . _ = - / only"),
    ],
)
def test_what_is_no_target_is_refused(tmp_path: Path, target: str, sentence: str) -> None:
    ran = shopwindow("publish", target, cwd=tmp_path)
    assert (ran.status, ran.out) == (2, "")
    assert sentence in ran.err


@pytest.mark.parametrize(
    ("target", "endpoint", "allowing"),
    [
        ("s3://shop/a", "AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP"),
        ("az://shop/a", "AZURE_STORAGE_ENDPOINT", "AZURE_ALLOW_HTTP"),
    ],
)
def test_plain_http_beyond_this_machine_is_refused(tmp_path: Path, target: str, endpoint: str, allowing: str) -> None:
    release(tmp_path)
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY")
    environment = {**dict.fromkeys(names, "a2V5"), endpoint: "http://192.0.2.1:9000"}
    ran = shopwindow("publish", target, "--out", tmp_path / "dist", env=environment)
    assert (ran.status, ran.out) == (4, "")
    assert "plain http lets everybody on the way read and change what is sent; use https" in ran.err
    assert f"{allowing}=true" in ran.err
