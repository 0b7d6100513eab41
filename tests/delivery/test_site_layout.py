"""`--layout site`: the files of the current release under their own paths."""

from pathlib import Path

import obstore
import orjson
import pytest

from harness.content import write
from harness.program import built, manifest, shopwindow, tree
from harness.stores import current, documents, folder, memory, release
from shopwindow.delivery import pointer, site_upkeep
from shopwindow.delivery.bucket import Bucket, Headers, SentBody
from shopwindow.delivery.outgoing import outgoing
from shopwindow.delivery.publishing import PublishOptions, publish
from shopwindow.delivery.purging import purge
from shopwindow.delivery.site_layout import manifest_key, publish_site
from shopwindow.problems import Failure
from shopwindow.release.releases import Releases

TEXT = Headers("text/plain", "no-cache")


@pytest.fixture(params=["memory", "file"])
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Bucket:
    """A target of each sort that needs no server."""
    return memory() if request.param == "memory" else folder(tmp_path / "target")


def files(bucket: Bucket) -> dict[str, bytes]:
    """What a static host serves: everything but what publishers keep for themselves."""
    keys = [listed.key for listed in bucket.listing("") if not listed.key.startswith(("manifests/", "current.json"))]
    stored = {key: bucket.read(key) for key in keys}
    return {key: each.data for key, each in stored.items() if each is not None}


def of_release(work: Path, id: str) -> dict[str, bytes]:
    return tree(work / "dist/releases" / id / "files")


class Dying:
    """A target whose publisher dies after so many files."""

    def __init__(self, bucket: Bucket, number: int) -> None:
        self._bucket, self.number = bucket, number

    def __getattr__(self, name: str) -> object:
        return getattr(self._bucket, name)

    def overwrite(self, key: str, body: SentBody, headers: Headers) -> None:
        if self.number == 0:
            raise KeyboardInterrupt
        self.number -= 1
        self._bucket.overwrite(key, body, headers)


def test_a_site_has_the_files_of_a_release_at_their_paths(bucket: Bucket, tmp_path: Path) -> None:
    id = release(tmp_path)
    done = publish_site(outgoing(tmp_path / "dist"), bucket)
    assert files(bucket) == of_release(tmp_path, id)
    assert (done.sent, done.activated) == (len(files(bucket)), True)
    assert (current(bucket)["id"], current(bucket)["layout"]) == (id, "site")


def test_files_of_a_site_have_their_media_type_and_lifetime(tmp_path: Path) -> None:
    bucket = memory()
    id = release(tmp_path)
    publish_site(outgoing(tmp_path / "dist"), bucket)
    for entry in manifest(tmp_path / "dist/releases" / id)["files"]:
        attributes = obstore.get(bucket._store, bucket._prefix + entry["path"]).attributes
        sent = (attributes["Content-Type"], attributes["Cache-Control"])
        assert sent == (entry["mediaType"], f"max-age={entry['lifetime']}")


def test_only_changed_files_are_sent_and_the_pointer_comes_last(bucket: Bucket, tmp_path: Path) -> None:
    first = release(tmp_path)
    publish_site(outgoing(tmp_path / "dist"), bucket)
    second = release(tmp_path, "Second")
    before, after = of_release(tmp_path, first), of_release(tmp_path, second)
    changed = [path for path in after if after[path] != before.get(path)]
    with pytest.raises(KeyboardInterrupt):
        publish_site(outgoing(tmp_path / "dist"), Dying(bucket, len(changed) - 1))  # type: ignore[arg-type] # all else is the same
    assert (current(bucket)["id"], current(bucket)["begun"]) == (first, [second])
    done = publish_site(outgoing(tmp_path / "dist"), bucket, PublishOptions(force=True))
    assert (done.sent, 0 < len(changed) < len(after) / 2) == (len(changed), True)
    assert files(bucket) == after
    assert current(bucket)["id"] == second
    assert bucket.read(manifest_key(first)) is None
    assert publish_site(outgoing(tmp_path / "dist"), bucket).sent == 0


def test_after_a_killed_run_another_release_leaves_nothing_of_it(bucket: Bucket, tmp_path: Path) -> None:
    first = release(tmp_path)
    publish_site(outgoing(tmp_path / "dist"), bucket)
    release(tmp_path, "Second")
    with pytest.raises(KeyboardInterrupt):
        publish_site(outgoing(tmp_path / "dist"), Dying(bucket, 2))  # type: ignore[arg-type] # all else is the same
    assert files(bucket) != of_release(tmp_path, first)
    release(tmp_path, "First")  # as if it was never changed
    publish_site(outgoing(tmp_path / "dist"), bucket, PublishOptions(force=True))
    assert files(bucket) == of_release(tmp_path, first)
    assert "begun" not in current(bucket)


def test_files_that_a_release_lacks_are_deleted(bucket: Bucket, tmp_path: Path) -> None:
    release(tmp_path)
    publish_site(outgoing(tmp_path / "dist"), bucket)
    id = release(tmp_path, "Second")
    path = tmp_path / "dist/current/manifest.json"
    listed = orjson.loads(path.read_bytes())
    gone = listed["files"][0]["path"]
    going = outgoing(tmp_path / "dist")
    del going.lines.files[gone]  # type: ignore[attr-defined] # a dict
    publish_site(going, bucket)
    assert files(bucket).keys() == of_release(tmp_path, id).keys() - {gone}


@pytest.mark.parametrize("data", [b"", b"{}", b"\x1f\x8b\x08\x00cut off"])
def test_a_manifest_that_is_damaged_is_a_sentence(tmp_path: Path, data: bytes) -> None:
    bucket = memory()
    first = release(tmp_path)
    publish_site(outgoing(tmp_path / "dist"), bucket)
    bucket.overwrite(manifest_key(first), data, Headers("application/gzip", "no-cache"))
    release(tmp_path, "Second")
    with pytest.raises(Failure, match="memory://shop: "):
        publish_site(outgoing(tmp_path / "dist"), bucket)


def test_while_another_publisher_is_at_work_nothing_is_sent(bucket: Bucket, tmp_path: Path) -> None:
    release(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        publish_site(outgoing(tmp_path / "dist"), Dying(bucket, 0))  # type: ignore[arg-type] # all else is the same
    with pytest.raises(Failure, match=r"somebody has been publishing since .*, or with --force where it was killed"):
        publish_site(outgoing(tmp_path / "dist"), bucket)
    assert files(bucket) == {}


def test_one_layout_is_not_published_over_the_other(bucket: Bucket, tmp_path: Path) -> None:
    release(tmp_path)
    publish_site(outgoing(tmp_path / "dist"), bucket)
    with pytest.raises(Failure, match="was published in another layout; say --layout site, or publish to another"):
        publish(outgoing(tmp_path / "dist"), bucket)
    other = memory()
    publish(outgoing(tmp_path / "dist"), other)
    with pytest.raises(Failure, match="was published in another layout; leave --layout site out"):
        publish_site(outgoing(tmp_path / "dist"), other)


def test_a_site_is_purged_too(bucket: Bucket, tmp_path: Path) -> None:
    ids = []
    for name in ("First", "Second"):
        ids.append(release(tmp_path, name))
        publish_site(outgoing(tmp_path / "dist"), bucket, PublishOptions(purges=True))
    first, second = ({e["url"]: e for e in manifest(tmp_path / "dist/releases" / id)["files"]} for id in ids)
    sent: list[str] = []
    purge(bucket, [sent.extend], pointer.SITE)
    assert sent == sorted(url for url in second if first.get(url) != second[url])
    assert "unpurged" not in current(bucket)


# -- looking after it ------------------------------------------------------------------------------------------------


def test_a_site_lists_its_release(bucket: Bucket, tmp_path: Path) -> None:
    assert site_upkeep.listing(bucket) == []
    for name in ("First", "Second"):
        id = release(tmp_path, name)
        publish_site(outgoing(tmp_path / "dist"), bucket)
        (listed,) = site_upkeep.listing(bucket)
        (same,) = [one for one in Releases(tmp_path / "dist").listing() if one.id == id]
        assert (listed.id, listed.files, listed.size, listed.current) == (id, same.files, same.size, True)


def test_a_site_is_verified_and_sent_again(bucket: Bucket, tmp_path: Path) -> None:
    id = release(tmp_path)
    publish_site(outgoing(tmp_path / "dist"), bucket)
    assert site_upkeep.verify(bucket) == (id, [])
    changed, missing, *_ = sorted(files(bucket))
    bucket.overwrite(changed, b"by hand", TEXT)
    bucket.delete([missing])
    assert site_upkeep.verify(bucket) == (id, sorted([f"{changed}: not what was sent", f"{missing}: missing"]))
    assert publish_site(outgoing(tmp_path / "dist"), bucket).sent == 0
    publish_site(outgoing(tmp_path / "dist"), bucket, PublishOptions(force=True))
    assert site_upkeep.verify(bucket) == (id, [])
    assert files(bucket) == of_release(tmp_path, id)


def test_a_site_that_a_killed_publisher_left_is_not_verified(bucket: Bucket, tmp_path: Path) -> None:
    with pytest.raises(Failure, match="nothing was published there yet"):
        site_upkeep.verify(bucket)
    release(tmp_path)
    publish_site(outgoing(tmp_path / "dist"), bucket)
    release(tmp_path, "Second")
    with pytest.raises(KeyboardInterrupt):
        publish_site(outgoing(tmp_path / "dist"), Dying(bucket, 1))  # type: ignore[arg-type] # all else is the bucket's
    with pytest.raises(Failure, match="a publication has begun and not ended"):
        site_upkeep.verify(bucket)


def test_the_command_looks_after_a_site(tmp_path: Path) -> None:
    address = f"file://{tmp_path}/target"
    id = release(tmp_path)
    ran = shopwindow("publish", address, "--layout", "site", "--out", tmp_path / "dist")
    assert (ran.status, ran.out.endswith(", current\n"), " files sent, " in ran.out) == (0, True, True)
    assert files(folder(tmp_path / "target")) == of_release(tmp_path, id)
    ran = shopwindow("publish", address, "--layout", "site", "--list")
    assert (ran.status, ran.out[:12], ran.out.endswith(" current\n")) == (0, id[:12], True)
    ran = shopwindow("publish", address, "--layout", "site", "--verify")
    assert (ran.status, ran.out) == (0, f"release {id[:12]} is intact at {address}\n")
    file = next(path for path in files(folder(tmp_path / "target")))
    (tmp_path / "target" / file).unlink()
    ran = shopwindow("publish", address, "--layout", "site", "--verify")
    advice = f"`shopwindow publish {address} --layout site --force` sends every file again"
    assert (ran.status, ran.out, ran.err) == (1, f"{file}: missing\n", f"to mend it, {advice}\n")
    shopwindow("publish", address, "--layout", "site", "--force", "--out", tmp_path / "dist")
    assert shopwindow("publish", address, "--layout", "site", "--verify").status == 0
    (tmp_path / "target" / "manifests" / f"{id}.json.gz").unlink()
    ran = shopwindow("publish", address, "--layout", "site", "--verify")
    assert (ran.status, "is gone; publish to another prefix" in ran.err) == (4, True)


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        ("--verify=1234567", "say it without ID"),
        ("--rollback", "roll back where releases are built (shopwindow rollback), and publish that"),
        ("--pin", "shopwindow rollback pins what is current where releases are built"),
        ("--unpin", "shopwindow activate ends the one where releases are built"),
        ("--prune=3", "shopwindow prune deletes releases where they are built"),
        ("--keys=keys", "browsers and CDNs read it, and verify nothing"),
    ],
)
def test_what_a_site_cannot_have_says_what_to_do_instead(tmp_path: Path, option: str, instead: str) -> None:
    ran = shopwindow("publish", f"file://{tmp_path}/target", "--layout", "site", option)
    assert (ran.status, ran.out, instead in ran.err.replace("\n", " ")) == (2, "", True), ran
    assert not (tmp_path / "target").exists()


def test_a_site_that_is_rolled_back_where_it_is_built_follows_with_force(tmp_path: Path) -> None:
    """As the sentence says."""
    address, site = f"file://{tmp_path}/target", ("--layout", "site", "--out", tmp_path / "dist")
    content = documents("First")
    first = built(write(tmp_path / "content", content), tmp_path / "dist")
    assert shopwindow("publish", address, *site).status == 0
    content["events/first.yaml"]["name"] = "Second"
    built(write(tmp_path / "content", content), tmp_path / "dist")
    assert shopwindow("publish", address, *site).status == 0
    assert shopwindow("rollback", "--out", tmp_path / "dist").status == 0
    assert shopwindow("publish", address, *site).status == 4  # a newer build is current
    assert shopwindow("publish", address, *site, "--force").status == 0
    assert files(folder(tmp_path / "target")) == of_release(tmp_path, first)
