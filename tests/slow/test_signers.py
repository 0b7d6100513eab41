"""Publishers that sign, on a real S3 and a directory: their whole life, races, kills and wrong clocks."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness import mortal_signer
from harness.program import Releases
from harness.stores import (
    BUCKET,
    Outgoing,
    PullFault,
    Store,
    bucket_at,
    chained,
    current,
    keys_in,
    live,
    pulled,
    race,
    reached,
    release,
    s3,
    signed_and_pulled,
    stored,
    wrongly,
)
from shopwindow.delivery import layout, pointer

KILLS = int(os.environ.get("SHOPWINDOW_KILLS", "100"))
"""Publishers that are killed at a directory; a tenth as many at the store, where each takes ten times as long."""

NAMES = ("First", "Second", "Third", "Fourth", "Older")

RACES = int(os.environ.get("SHOPWINDOW_RACES", "10"))
"""Races for each of the two objects that are replaced; a hundred of them take a minute or two."""


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The store; in this process, its variables are set, too."""
    with reached(s3(tmp_path_factory.mktemp("s3"))) as store:
        yield store


def test_a_signed_release_over_its_life(there: Store, tmp_path: Path) -> None:
    live(f"s3://{BUCKET}/life", tmp_path)


@pytest.mark.parametrize("key", [layout.POINTER, layout.TIMESTAMP])
def test_of_two_signers_one_wins_and_hosts_always_verify(there: Store, tmp_path: Path, key: str) -> None:
    race(f"s3://{BUCKET}/race-for-{key}", key, RACES, tmp_path)


# -- killed ----------------------------------------------------------------------------------------------------------


@contextmanager
def publishers() -> Iterator[Callable[..., dict[str, Any]]]:
    """A process that starts publishers: a function that orders one, and returns what became of it."""
    command = [sys.executable, mortal_signer.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout

        def ordered(**order: object) -> dict[str, Any]:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps(order, default=str) + "\n")
            process.stdin.flush()
            outcome: dict[str, Any] = json.loads(process.stdout.readline())
            return outcome

        yield ordered
        process.stdin.close()


def kill_signers(address: str, work: Path, kills: int) -> set[int]:
    """Kill so many publishers of a target; return the numbers of the operations around which."""
    chance = random.Random(17)
    keys, names = keys_in(work), ("First", "Second", "Third", "Fourth")
    points: set[int] = set()
    killed = run = 0
    with publishers() as publish:
        release(work, "Older")
        longest = publish(target=f"{address}/counted", out=work / "dist", keys=keys)["operations"]
        release(work)
        shortest = publish(target=f"{address}/counted", out=work / "dist", keys=keys)["operations"]
        while killed < kills:
            run += 1
            assert run < 3 * kills, "most publishers were done before they were killed"
            target, host = f"{address}/{run // 8}", work / "hosts" / str(run // 8)  # both are new, for every eighth
            bucket, before = bucket_at(target), Releases(host).current()
            id = release(work, names[run % len(names)])
            order: dict[str, object] = {"target": target, "out": work / "dist", "keys": keys}
            point = chance.randint(1, longest if current(bucket) is None else shortest)
            if chance.random() < 0.75:
                order |= {"point": point, "passes": chance.random() < 0.5}
            else:
                order |= {"after": chance.uniform(0.001, 0.08)}
            if "killed" in publish(**order):
                killed += 1
                points |= {point} if "point" in order else set()
            if before is None and bucket.read(layout.TIMESTAMP) is None:
                with pytest.raises(PullFault, match="nothing is signed there"):
                    pulled(bucket, keys, host)
            else:
                assert pulled(bucket, keys, host) in (before, id)
            if run % 4 == 3:
                publish(target=target, out=work / "dist", keys=keys)
                assert pulled(bucket, keys, host) == current(bucket)["id"] == id
    return points


def test_a_signer_that_is_killed_anywhere_leaves_what_hosts_can_verify(tmp_path: Path) -> None:
    points = kill_signers(f"file://{tmp_path}/target", tmp_path, KILLS)
    assert len(points) > min(15, KILLS // 4), points


def test_a_signer_that_is_killed_at_a_store_leaves_what_hosts_can_verify(there: Store, tmp_path: Path) -> None:
    kill_signers(f"s3://{BUCKET}/kills", tmp_path, KILLS // 10)


# -- clocks that are a day off ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("off", "published", "pulled", "unsigned"),
    [
        (
            "-1d",
            "set this machine's clock. If it is right",
            "; set the clock of this host, or of the publisher",
            "which is in the future: set this machine's clock, and build again",
        ),
        (
            "+1d",
            "so nothing was changed; set the one that is wrong",
            "if this host's clock is right, which says",
            "so nothing was changed; set the one that is wrong",
        ),
    ],
    ids=["behind", "ahead"],
)
def test_a_clock_that_is_a_day_off_changes_nothing(
    tmp_path: Path, off: str, published: str, pulled: str, unsigned: str
) -> None:
    target, other = f"file://{tmp_path}/target", f"file://{tmp_path}/unsigned"
    publish, pull = signed_and_pulled(target, tmp_path)
    before = stored(target), Releases(tmp_path / "host").current()
    assert published in wrongly(off, *publish)
    assert pulled in wrongly(off, *pull)
    assert unsigned in wrongly(off, "publish", other, "--out", tmp_path / "dist")
    assert (stored(target), Releases(tmp_path / "host").current()) == before
    assert stored(other).keys() <= {layout.CLOCK}


def test_a_store_refuses_a_clock_that_is_a_day_off_itself(there: Store, tmp_path: Path) -> None:
    target = f"s3://{BUCKET}/clocks"
    publish, pull = signed_and_pulled(target, tmp_path)
    before = stored(target), Releases(tmp_path / "host").current()
    for off in ("-1d", "+1d"):
        for command in (publish, pull):
            said = wrongly(off, *command)
            assert "the store's clock and this machine's differ too much; set this machine's clock" in said
    assert (stored(target), Releases(tmp_path / "host").current()) == before


def test_who_publishes_a_chain_and_is_killed_at_any_step_leaves_the_old_chain_or_the_new(tmp_path: Path) -> None:
    """Before and after each operation on the target: for who reads the pointer, and for a host that verifies."""
    keys, out = keys_in(tmp_path), tmp_path / "dist"
    for name in NAMES:
        release(tmp_path, name, out=name)
    release(tmp_path)
    hour = timedelta(hours=1)
    old, new = (chained([tmp_path / name for name in names], hour) for names in (NAMES[:3], NAMES[::2]))

    def lead(going: Outgoing) -> list[str]:
        first = going.chain.links[0].id
        Releases(out).activate(first, "build", "build", datetime.now(UTC), going.chain)
        return [link.id for link in going.chain.links]

    left = []
    with publishers() as publish:
        olds = lead(old)
        publish(target=f"file://{tmp_path}/counted", out=out, keys=keys)
        news = lead(new)
        operations = publish(target=f"file://{tmp_path}/counted", out=out, keys=keys)["operations"]
        for point in range(1, operations + 1):
            address, host = f"file://{tmp_path}/{point}", tmp_path / "hosts" / str(point)
            lead(old)
            publish(target=address, out=out, keys=keys)
            pulled(bucket_at(address), keys, host)
            lead(new)
            outcome = publish(target=address, out=out, keys=keys, point=point, passes=point % 2 == 0)
            assert outcome == {"killed": True}
            present = pointer.read(bucket_at(address))
            assert present is not None
            pulled(bucket_at(address), keys, host)
            chain = Releases(host).chain()
            assert chain is not None
            both = [[link.id for link in one.links] for one in (present.chain, chain)]
            assert all(one in (olds, news) for one in both), point
            left += both
            publish(target=address, out=out, keys=keys)
            pulled(bucket_at(address), keys, host)
            chain = Releases(host).chain()
            assert chain is not None
            assert [link.id for link in chain.links] == news
    assert {tuple(one) for one in left} == {tuple(olds), tuple(news)}
