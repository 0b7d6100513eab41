"""A chain at a target: which release is current when, what is sent of it, and what looks after it."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.program import shopwindow
from harness.stores import (
    FolderBucket,
    Outgoing,
    PublishOptions,
    Signing,
    chained,
    current,
    folder,
    keys_in,
    on_disk,
    publish,
    read,
    release,
    signing,
)
from shopwindow.delivery import layout, pointer, purging, upkeep
from shopwindow.release.chain import Chain, Link

Json = Any
HOUR = timedelta(hours=1)
NAMES = ("First", "Second", "Third")


@pytest.fixture
def target(tmp_path: Path) -> FolderBucket:
    return folder(tmp_path / "target")


def following(work: Path, *names: str, apart: timedelta = HOUR) -> Outgoing:
    """A chain of releases that are built where they are not there yet."""
    for name in names:
        if not (work / name).is_dir():
            release(work, name, out=name)
    return chained([work / name for name in names], apart)


def ids_of(going: Outgoing) -> list[str]:
    return [link.id for link in going.chain.links]


def pointed(target: FolderBucket) -> Json:
    """The bytes of current.json, decoded."""
    stored = target.read(layout.POINTER)
    assert stored is not None
    return orjson.loads(stored.data)


def later(target: FolderBucket, hours: float) -> None:
    """Let so many hours pass for what the pointer says."""

    def earlier(instant: str) -> str:
        return (datetime.fromisoformat(instant) - hours * HOUR).isoformat(timespec="microseconds")

    value = pointed(target)
    value["chain"] = [{**link, "from": earlier(link["from"])} for link in value["chain"]]
    value["history"] = [{**entry, "when": earlier(entry["when"])} for entry in value["history"]]
    value["switched"] = earlier(value["switched"])
    target.overwrite(layout.POINTER, orjson.dumps(value), pointer.POINTER_HEADERS)


def test_a_chain_is_sent_once_and_stands_in_the_pointer_alone(tmp_path: Path, target: FolderBucket) -> None:
    going = following(tmp_path, *NAMES)
    done = publish(going, target)
    assert (done.id, [link.id for link in done.ahead], done.activated) == (
        ids_of(going)[0],
        ids_of(going)[1:],
        True,
    )
    value = pointed(target)
    instants = [link.start.isoformat() for link in going.chain.links]
    assert value["chain"] == [{"id": id, "from": instant} for id, instant in zip(ids_of(going), instants, strict=True)]
    assert (value["format"], "id" in value) == (2, False)
    for name, id in zip(NAMES, ids_of(going), strict=True):
        assert read(target, id) == on_disk(tmp_path / name, id)
    listed = [item for item in target.listing("") if item.key != layout.CLOCK]
    assert done.sent == len(listed) - 1  # each object and listing was created once; the pointer is no object
    again = publish(going, target)
    assert (again.sent, again.activated, pointed(target)) == (0, False, value)


def test_what_differs_ahead_is_another_chain(tmp_path: Path, target: FolderBucket) -> None:
    publish(following(tmp_path, *NAMES), target)
    going = following(tmp_path, "First", "Third")
    done = publish(going, target)
    assert (done.activated, done.previous, current(target)["id"]) == (True, ids_of(going)[0], ids_of(going)[0])
    assert [link["id"] for link in pointed(target)["chain"]] == ids_of(going)


def test_a_pointer_of_format_1_is_a_chain_of_one(tmp_path: Path, target: FolderBucket) -> None:
    first = publish(following(tmp_path, "First"), target).id
    value = pointed(target)
    (link,) = value.pop("chain")
    earlier = {**value, "format": 1, "id": link["id"]}
    target.overwrite(layout.POINTER, orjson.dumps(earlier), pointer.POINTER_HEADERS)
    present = pointer.read(target).pointer
    assert present is not None
    assert present.chain == Chain((Link(first, datetime.fromisoformat(value["switched"])),))
    assert [(one.id, one.current) for one in upkeep.listing(target)] == [(first, True)]
    second = publish(following(tmp_path, "Second"), target)
    assert (second.previous, pointed(target)["format"], "id" in pointed(target)) == (first, 2, False)
    assert upkeep.activate(target, None, pin=True).id == first


def test_the_release_in_force_is_current_at_its_instant_without_anybody(tmp_path: Path, target: FolderBucket) -> None:
    first, second, third = ids_of(going := following(tmp_path, *NAMES))
    publish(going, target)
    for hours, id in ((0.5, first), (1, second), (1, third)):
        later(target, hours)
        listed = shopwindow("releases", "--target", target.where)
        marked = [line[:12] for line in listed.out.splitlines() if " current" in line]
        assert marked == [id[:12]]
        assert upkeep.verify(target) == (id, [])


def test_a_rollback_between_two_instants_is_a_chain_of_one(tmp_path: Path, target: FolderBucket) -> None:
    first, second, third = ids_of(going := following(tmp_path, *NAMES))
    publish(going, target)
    later(target, 1.5)
    assert upkeep.activate(target, None, pin=True) == upkeep.MovedPointer(first, second)
    later(target, 1.5)
    assert (current(target)["id"], len(pointed(target)["chain"])) == (first, 1)
    assert [(entry["id"], entry["from"], entry["action"]) for entry in pointed(target)["history"]] == [
        (first, None, "publish"),
        (second, first, "ahead"),
        (first, second, "rollback"),
    ]
    pinned = publish(following(tmp_path, "First", "Third"), target)
    assert (pinned.pinned, pinned.activated, len(pointed(target)["chain"])) == (True, False, 1)
    assert upkeep.activate(target, third[:12], pin=False).id == third


def test_who_only_unpins_leaves_what_follows(tmp_path: Path, target: FolderBucket) -> None:
    publish(going := following(tmp_path, *NAMES), target)
    upkeep.activate(target, "current", pin=False)
    assert [link["id"] for link in pointed(target)["chain"]] == ids_of(going)
    upkeep.activate(target, "current", pin=True)
    assert [link["id"] for link in pointed(target)["chain"]] == ids_of(going)[:1]


def test_what_begins_when_the_signature_has_ended_is_left_out(tmp_path: Path, target: FolderBucket) -> None:
    keys = keys_in(tmp_path)
    going = following(tmp_path, *NAMES, apart=timedelta(days=2))
    signs: Signing = signing(keys)
    done = publish(going, target, PublishOptions(signing=signs))
    assert [link.id for link in done.omitted] == ids_of(going)[2:]
    assert [link["id"] for link in pointed(target)["chain"]] == ids_of(going)[:2]
    assert ids_of(going)[2] not in layout.ids(target)


def test_what_became_current_by_the_chain_is_purged_with_the_next_purge(tmp_path: Path, target: FolderBucket) -> None:
    first, second, third = ids_of(going := following(tmp_path, *NAMES))
    publish(going, target, PublishOptions(purges=True))
    purged: list[str] = []
    assert purging.purge(target, [purged.extend]) == purging.Purged(0, 0)
    later(target, 2.5)
    assert purging.purge(target, [purged.extend]) == purging.Purged(len(purged), 2)
    assert len(purged) > 0
    assert [link["id"] for link in pointed(target)["chain"]] == [third]
    assert purging.purge(target, [purged.extend]) == purging.Purged(0, 0)
    assert {first, second} <= set(layout.ids(target))
