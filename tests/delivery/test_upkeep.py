"""A target over time: roll back, pin, list, verify, prune."""

import os
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from harness.program import shopwindow
from harness.stores import (
    Bucket,
    FolderBucket,
    Headers,
    PublishOptions,
    current,
    folder,
    in_force,
    memory,
    on_disk,
    outgoing,
    publish,
    read,
    release,
)
from shopwindow.delivery import layout, pointer, upkeep
from shopwindow.delivery.pointer import PRUNING_LASTS
from shopwindow.problems import Failure

TEXT = Headers("text/plain", "no-cache")


def published(work: Path, bucket: Bucket, *names: str) -> list[str]:
    """Publish releases one after the other; return their ids."""
    ids = []
    for name in names:
        ids.append(release(work, name))
        publish(outgoing(work / "dist"), bucket)
    return ids


@pytest.fixture(params=["memory", "file"])
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Bucket:
    """A target of each sort that needs no server."""
    return memory() if request.param == "memory" else folder(tmp_path / "target")


# -- roll back, pin --------------------------------------------------------------------------------------------------


def test_a_rollback_leads_to_the_release_before_and_holds(bucket: Bucket, tmp_path: Path) -> None:
    first, second = published(tmp_path, bucket, "First", "Second")
    moved = upkeep.activate(bucket, None, "wrong price", pin=True)
    assert (moved.id, moved.previous) == (first, second)
    assert (current(bucket)["id"], current(bucket)["pinned"]) == (first, True)
    assert current(bucket)["history"][-1]["why"] == "wrong price"
    third = release(tmp_path, "Third")
    done = publish(outgoing(tmp_path / "dist"), bucket)
    assert (done.activated, done.pinned, done.previous) == (False, True, first)
    assert read(bucket, third) == on_disk(tmp_path / "dist", third)  # sent all the same
    upkeep.activate(bucket, "current", pin=False)
    assert publish(outgoing(tmp_path / "dist"), bucket).activated
    assert current(bucket)["id"] == third


def test_a_second_rollback_does_not_return_to_what_was_rolled_back(bucket: Bucket, tmp_path: Path) -> None:
    first, second, _ = published(tmp_path, bucket, "First", "Second", "Third")
    assert upkeep.activate(bucket, None, pin=True).id == second
    assert upkeep.activate(bucket, None, pin=True).id == first
    with pytest.raises(Failure, match="the history names no release to roll back to"):
        upkeep.activate(bucket, None, pin=True)


def test_after_a_rollback_no_build_returns_that_is_older_than_what_was_rolled_back(
    bucket: Bucket, tmp_path: Path
) -> None:
    release(tmp_path, "Older", out="older")
    published(tmp_path, bucket, "First", "Second")
    upkeep.activate(bucket, None, pin=True)
    upkeep.activate(bucket, "current", pin=False)
    with pytest.raises(Failure, match="a newer build is current"):
        publish(outgoing(tmp_path / "older"), bucket)


def test_a_rollback_by_its_id(bucket: Bucket, tmp_path: Path) -> None:
    first, second = published(tmp_path, bucket, "First", "Second")
    assert upkeep.activate(bucket, first[:8], pin=True).id == first
    assert upkeep.activate(bucket, second, pin=True).id == second
    for id, sentence in (("f" * 12, "no release has this id"), ("ab", "an id needs at least 8 digits")):
        with pytest.raises(Failure, match=sentence):
            upkeep.activate(bucket, id, pin=True)


def test_previous_is_what_was_current_before_at_a_target_too(bucket: Bucket, tmp_path: Path) -> None:
    first, second = published(tmp_path, bucket, "First", "Second")
    assert (upkeep.verify(bucket)[0], upkeep.verify(bucket, "previous")[0]) == ([second], [first])
    assert upkeep.activate(bucket, "previous", pin=False).id == first
    assert upkeep.activate(bucket, "previous", pin=False).id == second


def test_where_nothing_was_current_before_previous_names_no_release(bucket: Bucket, tmp_path: Path) -> None:
    published(tmp_path, bucket, "First")
    with pytest.raises(Failure, match="names no release that was current before"):
        upkeep.verify(bucket, "previous")


def test_a_release_that_lacks_an_object_is_not_rolled_back_to(bucket: Bucket, tmp_path: Path) -> None:
    first, second = published(tmp_path, bucket, "First", "Second")
    firsts = _objects(bucket, first) - _objects(bucket, second)
    served = firsts - layout.holding(layout.published(bucket, first))
    key = layout.object_key(sorted(served)[0])
    bucket.delete([key])
    with pytest.raises(Failure, match=f"release {first[:12]} lacks 1 object, and nothing was changed: {key}"):
        upkeep.activate(bucket, None, pin=True)
    assert current(bucket)["id"] == second
    assert upkeep.verify(bucket, first[:8]) == ([first], [f"{key}: missing"])
    assert upkeep.verify(bucket) == ([second], [])


def test_a_chunk_that_comes_cut_off_is_read_again(tmp_path: Path) -> None:
    first, _ = published(tmp_path, folder(tmp_path / "target"), "First", "Second")
    cut: set[tuple[str, int]] = set()

    class Cutting(FolderBucket):
        def read_range(self, key: str, start: int, size: int) -> bytes | None:
            data = super().read_range(key, start, size)
            if (key, start) in cut:
                return data
            cut.add((key, start))
            return data and data[:-1]

    assert upkeep.activate(Cutting(tmp_path / "target"), None, pin=True).id == first
    assert cut


def _objects(bucket: Bucket, id: str) -> set[str]:
    return layout.objects(bucket, layout.published(bucket, id), {})


def test_nothing_is_changed_where_nothing_was_published(bucket: Bucket) -> None:
    for id in (None, "current"):
        with pytest.raises(Failure, match="nothing was published there yet"):
            upkeep.activate(bucket, id, pin=True)
    assert upkeep.listing(bucket) == []


# -- list, verify ----------------------------------------------------------------------------------------------------


def test_releases_are_listed_the_newest_first(bucket: Bucket, tmp_path: Path) -> None:
    ids = published(tmp_path, bucket, "First", "Second", "Third")
    upkeep.activate(bucket, ids[0], pin=True)
    listed = upkeep.listing(bucket)
    assert [(one.id, one.current, one.pinned) for one in listed] == [
        (ids[2], False, False),
        (ids[1], False, False),
        (ids[0], True, True),
    ]
    assert {one.files for one in listed} == {len(in_force(outgoing(tmp_path / "dist")).lines.files)}


def test_every_changed_and_missing_object_is_named(bucket: Bucket, tmp_path: Path) -> None:
    (id,) = published(tmp_path, bucket, "First")
    release = layout.published(bucket, id)
    served = _objects(bucket, id) - layout.holding(release)
    changed, missing = map(layout.object_key, sorted(served)[:2])
    bucket.overwrite(changed, b"changed", TEXT)
    bucket.delete([missing])
    assert upkeep.verify(bucket) == ([id], sorted([f"{changed}: not what was sent", f"{missing}: missing"]))
    (bundle,) = map(layout.object_key, layout.holding(release))
    bucket.delete([bundle])
    assert upkeep.verify(bucket) == ([id], [f"{bundle}: missing"])


def test_what_is_gone_is_sent_again_once_the_list_of_the_release_is_deleted(bucket: Bucket, tmp_path: Path) -> None:
    (id,) = published(tmp_path, bucket, "First")
    bucket.delete([*list(map(layout.object_key, layout.holding(layout.published(bucket, id)))), layout.release_key(id)])
    publish(outgoing(tmp_path / "dist"), bucket)
    assert read(bucket, id) == on_disk(tmp_path / "dist", id)
    assert upkeep.verify(bucket) == ([id], [])


# -- prune -----------------------------------------------------------------------------------------------------------


def grown_old(target: Path, *but: str) -> None:
    """Make everything at a target two days old, but for some releases."""
    before = time.time() - 2 * 24 * 3600
    for path in target.rglob("*"):
        if path.is_file() and path.parent.name not in but:
            os.utime(path, (before, before))
    data = (target / "current.json").read_text()
    today, earlier = (datetime.now(UTC) - timedelta(days=days) for days in (0, 2))
    (target / "current.json").write_text(data.replace(f"{today:%Y-%m-%d}", f"{earlier:%Y-%m-%d}"))


def test_prune_keeps_what_the_remaining_releases_need(tmp_path: Path) -> None:
    bucket = folder(tmp_path / "target")
    ids = published(tmp_path, bucket, "First", "Second", "Third", "Fourth")
    grown_old(tmp_path / "target")
    for number, id in enumerate(ids):
        os.utime(tmp_path / "target" / layout.release_key(id), (1e9 + number, 1e9 + number))
    upkeep.activate(bucket, ids[1], pin=True)
    grown_old(tmp_path / "target", *ids)
    done = upkeep.prune(bucket, 1)
    assert (done.deleted, done.remaining, done.ended) == ([ids[2], ids[0]], 2, True)
    assert done.objects > 0
    assert layout.ids(bucket) == sorted([ids[1], ids[3]])
    for id in (ids[1], ids[3]):
        assert read(bucket, id) == on_disk(tmp_path / "dist", id)
    needed = set.union(*(_objects(bucket, id) for id in (ids[1], ids[3])))
    assert layout.present(bucket) == needed
    assert "pruning" not in current(bucket)
    assert upkeep.prune(bucket, 1).objects == 0


def test_of_releases_that_were_sent_in_one_second_the_current_one_stays(tmp_path: Path) -> None:
    bucket = folder(tmp_path / "target")
    by_id = {release(tmp_path, name): name for name in ("First", "Second", "Third")}
    ids = sorted(by_id, reverse=True)
    published(tmp_path, bucket, *map(by_id.__getitem__, ids))
    grown_old(tmp_path / "target")
    assert upkeep.prune(bucket, 1).deleted == [ids[1]]  # the newest by name stays, too
    assert layout.ids(bucket) == sorted([ids[0], ids[2]])


def test_prune_spares_what_is_younger_than_a_day(bucket: Bucket, tmp_path: Path) -> None:
    ids = published(tmp_path, bucket, "First", "Second", "Third")
    bucket.create(layout.object_key("a" * 64), b"of a publisher at work", TEXT)
    done = upkeep.prune(bucket, 1)
    assert (done.deleted, done.objects) == ([], 0)
    assert layout.ids(bucket) == sorted(ids)
    assert "a" * 64 in layout.present(bucket)


def test_prune_spares_a_release_that_was_sent_within_a_day_though_it_was_last_current_before(tmp_path: Path) -> None:
    bucket = folder(tmp_path / "target")
    ids = published(tmp_path, bucket, "First", "Second", "Third")
    grown_old(tmp_path / "target", *ids[1:])
    assert upkeep.prune(bucket, 1).deleted == ids[:1]
    assert layout.ids(bucket) == sorted(ids[1:])


def test_prune_spares_what_was_current_within_a_day_and_what_is_to_be_purged(tmp_path: Path) -> None:
    bucket = folder(tmp_path / "target")
    release(tmp_path, "First")
    publish(outgoing(tmp_path / "dist"), bucket, PublishOptions(purges=True))
    release(tmp_path, "Second")
    publish(outgoing(tmp_path / "dist"), bucket, PublishOptions(purges=True))
    before = time.time() - 2 * 24 * 3600
    for path in (tmp_path / "target").rglob("*"):
        os.utime(path, (before, before))
    assert upkeep.prune(bucket, 1).deleted == []  # by the history
    grown_old(tmp_path / "target")
    assert upkeep.prune(bucket, 1).deleted == []  # by what is unpurged
    assert len(pointer.required(bucket).unpurged) == 1


def test_a_listing_that_lacks_the_current_release_is_not_believed(bucket: Bucket, tmp_path: Path) -> None:
    _, id = published(tmp_path, bucket, "First", "Second")
    stored = bucket.read(layout.release_key(id))
    assert stored is not None
    bucket.delete([layout.release_key(id)])
    with pytest.raises(Failure, match="the store does not list the current release, so nothing is deleted"):
        upkeep.prune(bucket, 1)
    assert "pruning" not in current(bucket)


def test_while_somebody_prunes_nobody_moves_the_pointer(bucket: Bucket, tmp_path: Path) -> None:
    published(tmp_path, bucket, "First")
    start = pointer.required(bucket)
    upkeep._mark(bucket, datetime.now(UTC).isoformat())
    release(tmp_path, "Second")
    assert not pointer.move(bucket, start, start)  # who began before it fails, too
    for change in (
        lambda: publish(outgoing(tmp_path / "dist"), bucket),
        lambda: upkeep.activate(bucket, "current", pin=True),
        lambda: upkeep.prune(bucket, 1),
    ):
        with pytest.raises(Failure, match=r"somebody has been pruning since .*; run it again when that is done"):
            change()


def test_who_was_killed_while_pruning_hinders_nobody_for_long(bucket: Bucket, tmp_path: Path) -> None:
    published(tmp_path, bucket, "First")
    upkeep._mark(bucket, (datetime.now(UTC) - PRUNING_LASTS).isoformat())
    second = release(tmp_path, "Second")
    assert publish(outgoing(tmp_path / "dist"), bucket).activated
    assert (current(bucket)["id"], "pruning" in current(bucket)) == (second, False)
    assert PRUNING_LASTS.total_seconds() > upkeep.PRUNES_FOR


# -- the command -----------------------------------------------------------------------------------------------------


def test_what_verify_advises_mends_a_target(tmp_path: Path) -> None:
    folder = tmp_path / "target"
    address = f"file://{folder}"

    def run(*arguments: str) -> tuple[int, str, str]:
        ran = shopwindow("publish", address, "--out", tmp_path / "dist", *arguments)
        return ran.status, ran.out, ran.err

    def other(*arguments: str) -> tuple[int, str, str]:
        ran = shopwindow(*arguments, "--target", address)
        return ran.status, ran.out, ran.err

    id = release(tmp_path)
    run()
    described_by = orjson.loads((folder / "releases" / id / "manifest.json").read_bytes())["objects"]
    objects = (path for path in (folder / "objects").rglob("*") if path.is_file())
    changed, missing = sorted(path for path in objects if path.name not in described_by)[:2]
    changed.chmod(0o644)
    changed.write_bytes(b"changed")
    missing.unlink()
    status, listed, advice = other("verify")
    names = [line.partition(":")[0] for line in listed.splitlines()]
    assert (status, names) == (1, [str(path.relative_to(folder)) for path in (changed, missing)])
    assert advice == (
        f"to mend it, delete what is listed and releases/{id}/manifest.json there, and publish release "
        f"{id[:12]} again: objects that exist are never overwritten\n"
    )
    for name in (*names, f"releases/{id}/manifest.json"):
        (folder / name).unlink(missing_ok=True)
    assert run()[0] == 0
    assert other("verify") == (0, f"release {id[:12]} is intact at {address}\n", "")


def test_the_command_from_the_first_publication_to_the_last(tmp_path: Path) -> None:
    address = f"file://{tmp_path}/target"

    def run(*arguments: str) -> tuple[int, str]:
        ran = shopwindow("publish", address, "--out", tmp_path / "dist", *arguments)
        return ran.status, ran.out + ran.err

    def other(*arguments: str) -> tuple[int, str]:
        ran = shopwindow(*arguments, "--target", address)
        return ran.status, ran.out + ran.err

    first = release(tmp_path)
    assert other("releases") == (0, f"{address}: there is no release; `shopwindow publish` makes one\n")
    status, said = run()
    assert (status, said.startswith(f"release {first[:12]}: "), said.endswith(", current\n")) == (0, True, True)
    assert run() == (0, f"release {first[:12]}: 0 objects sent, 0 KiB, it is current already\n")
    second = release(tmp_path, "Second")
    status, said = run("--reason", "a name")
    assert (status, said.endswith(f", current, previous {first[:12]}\n")) == (0, True)
    assert other("verify") == (0, f"release {second[:12]} is intact at {address}\n")
    assert other("rollback") == (
        0,
        f"current is {first[:12]}, previous {second[:12]}\npinned: publications activate nothing until "
        "`shopwindow activate` does\n",
    )
    assert run() == (
        3,
        f"release {second[:12]}: 0 objects sent, 0 KiB, not activated: {address} is pinned to {first[:12]}; "
        "`shopwindow activate current --target` ends that\n",
    )
    assert other("activate", "current") == (0, f"current is {first[:12]}\nthe next publication activates its own\n")
    assert other("rollback", "current")[0] == 0
    status, said = other("releases")
    lines = [re.sub("  .* KiB", "", line) for line in said.splitlines()]
    assert [line for line in lines if line[:12] in (first[:12], second[:12])] == [
        second[:12],
        f"{first[:12]} current pinned",
    ]
    assert other("prune", "--keep", "1") == (
        0,
        "0 releases and 0 objects deleted, 2 releases kept; nothing younger than a day is deleted\n",
    )
