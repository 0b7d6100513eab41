"""A chain at a target: which release is current when, what is sent and pulled of it, and what looks after it."""

import shutil
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import orjson
import pytest

from harness.program import Releases, history, shopwindow, verify
from harness.servers import ADDRESS
from harness.stores import (
    FolderBucket,
    Outgoing,
    PublishOptions,
    PullFault,
    Signing,
    chained,
    current,
    folder,
    keys_in,
    on_disk,
    outgoing,
    publish,
    pull,
    read,
    release,
    signing,
)
from shopwindow.delivery import layout, pointer, purging, upkeep
from shopwindow.delivery.pulling import UnsignedSource
from shopwindow.delivery.targets import opened, parse
from shopwindow.release.chain import Chain, Link
from shopwindow.release.moving import TargetClock

Json = Any
SAMPLE = Path(__file__).parent.parent.parent / "content"
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
    assert len(done.sent) == len(listed) - 1  # each object and listing was created once; the pointer is no object
    again = publish(going, target)
    assert (again.sent, again.activated, pointed(target)) == ([], False, value)


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
    assert pointer.required(target).chain == Chain((Link(first, datetime.fromisoformat(value["switched"])),))
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
        left = [first, second, third]
        assert upkeep.verify(target) == (left[left.index(id) :], [])


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


# -- an output directory's chain, published --------------------------------------------------------------------------


def lead(out: Path, going: Outgoing) -> None:
    """Let the releases of a chain follow each other in an output directory, as `build --ahead` does."""
    first = going.chain.links[0]
    Releases(out).activate(first.id, "build", "build", datetime.now(UTC), going.chain)


def test_publish_sends_the_whole_chain_of_the_output_directory(tmp_path: Path, target: FolderBucket) -> None:
    going = following(tmp_path, *NAMES)
    first, second, third = ids_of(going)
    out = tmp_path / "First"  # it has every release
    lead(out, going)
    assert outgoing(out).chain == going.chain
    ran = shopwindow("publish", target.where, "--out", out)
    assert (ran.status, ran.out.splitlines()[1:]) == (
        0,
        [f"  {link.id[:12]} from {link.start:%Y-%m-%d %H:%M:%SZ}" for link in going.chain.links[1:]],
    )
    assert [link["id"] for link in pointed(target)["chain"]] == [first, second, third]
    listed = shopwindow("releases", "--target", target.where).out
    assert {line[:12]: line.partition(" ahead, from ")[2] for line in listed.splitlines()} == {
        first[:12]: "",
        second[:12]: going.chain.links[1].start.isoformat(),
        third[:12]: going.chain.links[2].start.isoformat(),
    }


def test_a_file_that_the_releases_of_a_chain_share_is_cut_into_chunks_once(tmp_path: Path) -> None:
    options = ("--at", "2026-11-22 09:00", "--ahead", "1.5")
    assert shopwindow("build", "--content", SAMPLE, "--out", tmp_path, *options).status == 0
    first, *others = (one.parts for one in outgoing(tmp_path).releases.values())
    assert len(others) > 0
    for parts in others:
        assert parts["catalog.sqlite"] is first["catalog.sqlite"]
        assert parts["content.json"] != first["content.json"]


def test_verify_reads_every_release_of_the_chain_and_says_what_mends_it(tmp_path: Path, target: FolderBucket) -> None:
    going = following(tmp_path, *NAMES)
    first, second, third = ids_of(going)
    publish(going, target)
    (bundle,) = layout.holding(layout.published(target, third)) - layout.holding(layout.published(target, second))
    target.delete([layout.object_key(bundle)])
    missing = [f"{layout.object_key(bundle)}: missing"]
    every = [first, second, third]
    assert (upkeep.verify(target), upkeep.verify(target, second)) == ((every, missing), ([second], []))
    ran = shopwindow("verify", "--target", target.where)
    assert (ran.status, [id for id in every if layout.release_key(id) in ran.err]) == (1, every)
    target.delete(list(map(layout.release_key, every)))
    publish(going, target)
    assert upkeep.verify(target) == (every, [])


# -- pulled ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def host(tmp_path: Path) -> Releases:
    return Releases(tmp_path / "host")


def chain_of(host: Releases) -> list[str]:
    chain = host.chain()
    return [link.id for link in chain.links] if chain else []


def test_a_host_has_the_chain_byte_by_byte_and_follows_it(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    first, second, third = ids_of(going := following(tmp_path, *NAMES))
    publish(going, target)
    done = pull(UnsignedSource(target), host)
    assert (done.id, done.activated, chain_of(host)) == (first, True, [first, second, third])
    for name, id in zip(NAMES, (first, second, third), strict=True):
        assert on_disk(host.out, id) == on_disk(tmp_path / name, id)
        assert verify(host, id) == []
    assert len(history(host.out)) == 2  # the release in force, and then what follows it
    again = pull(UnsignedSource(target), host, last=done)
    assert (again.fetched, again.activated, len(history(host.out))) == ((), False, 2)
    start = going.chain.links[1].start
    assert host.move_ahead(start) == second  # as the thread beside does
    moved = pull(UnsignedSource(target), host, last=again, clock=lambda: start + timedelta(minutes=1))
    assert (moved.id, moved.activated, host.current(), chain_of(host)) == (second, False, second, [second, third])


def test_of_what_follows_only_what_the_instant_changes_is_fetched_and_on_the_disk(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    first, second, third = ids_of(going := following(tmp_path, *NAMES))
    publish(going, target)
    fetched = pull(UnsignedSource(target), host).fetched
    alone = pull(UnsignedSource(target), Releases(tmp_path / "new"), clock=lambda: going.chain.links[2].start).fetched
    assert len(fetched) < 2 * len(alone)
    for id, before in ((second, first), (third, second)):
        same = [
            path for path in host.lines(id).files if host.lines(before).files.get(path) == host.lines(id).files[path]
        ]
        assert len(same) > 0
        assert all((host.path(id) / "files" / path).samefile(host.path(before) / "files" / path) for path in same)


def test_what_is_missing_here_is_fetched_though_the_pointer_stays(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    first, second, third = ids_of(going := following(tmp_path, *NAMES))
    publish(going, target)
    done = pull(UnsignedSource(target), host)
    shutil.rmtree(host.path(second))
    again = pull(UnsignedSource(target), host, last=done)
    assert (len(again.fetched) > 0, again.activated, chain_of(host)) == (True, False, [first, second, third])
    assert verify(host, second) == []


def test_what_follows_no_more_at_the_target_follows_no_more_here_whether_or_not_the_rest_can_be_fetched(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    publish(following(tmp_path, *NAMES), target)
    pull(UnsignedSource(target), host)
    first, third, fourth = ids_of(going := following(tmp_path, "First", "Third", "Fourth"))
    publish(going, target)
    target.delete([layout.release_key(fourth)])
    with pytest.raises(PullFault):
        pull(UnsignedSource(target), host)
    assert (host.current(), chain_of(host)) == (first, [first, third])
    publish(going, target)
    target.delete([layout.release_key(third)])  # it is here
    pull(UnsignedSource(target), host)
    assert chain_of(host) == [first, third, fourth]


def test_the_release_in_force_is_current_here_although_what_follows_cannot_be_fetched(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    first, second, _ = ids_of(going := following(tmp_path, *NAMES))
    publish(going, target)
    target.delete([layout.release_key(second)])
    with pytest.raises(PullFault) as raised:
        pull(UnsignedSource(target), host)
    assert (raised.value.kind, host.current(), chain_of(host)) == ("damaged", first, [first])


def test_a_pin_at_the_target_ends_what_follows_here(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    publish(going := following(tmp_path, *NAMES), target)
    done = pull(UnsignedSource(target), host)
    upkeep.activate(target, "current", pin=True)
    pull(UnsignedSource(target), host, last=done)
    assert (chain_of(host), host.pinned()) == (ids_of(going)[:1], False)


def test_on_a_pinned_host_nothing_follows_until_it_is_unpinned(
    tmp_path: Path, target: FolderBucket, host: Releases
) -> None:
    first, second, third = ids_of(going := following(tmp_path, *NAMES))
    publish(going, target)
    done = pull(UnsignedSource(target), host)
    host.activate(first, "rollback", "wrong price", datetime.now(UTC))
    later = pull(UnsignedSource(target), host, last=done, clock=lambda: going.chain.links[1].start)
    assert (later.id, later.pinned, chain_of(host)) == (second, True, [first])
    host.activate(first, "activate", "mended", datetime.now(UTC))
    pull(UnsignedSource(target), host, last=later)
    assert (host.current(), chain_of(host)) == (first, [first, second, third])


def test_a_prune_spares_what_follows(tmp_path: Path, target: FolderBucket, host: Releases) -> None:
    publish(going := following(tmp_path, *NAMES), target)
    pull(UnsignedSource(target), host, keep=1)
    assert {*ids_of(going)} <= {*host.ids()}


# -- the clock of a target -------------------------------------------------------------------------------------------


def test_the_clock_of_a_target_is_that_of_its_answers_also_of_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = datetime(2031, 5, 4, 3, 2, 1, tzinfo=UTC)

    class Refusing(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response_only(403)
            self.send_header("Date", format_datetime(stated, usegmt=True))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer((ADDRESS, 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        environment = {
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "nobody",
            "AWS_ENDPOINT_URL": f"http://{ADDRESS}:{server.server_port}",
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        bucket = opened(parse("s3://releases"), environment)
        assert bucket.time() == stated
        clock = TargetClock(bucket.time)
        assert clock() is None
        clock.ask()
        server.shutdown()
    assert bucket.time() is None
    clock.ask()
    time = clock()
    assert time is not None
    assert stated <= time < stated + timedelta(minutes=5)  # it goes on while the target is away


def test_a_directory_has_no_clock_that_could_agree(target: FolderBucket, tmp_path: Path) -> None:
    publish(following(tmp_path, "First"), target)
    assert target.time() is None
