"""`current` moves along its chain at the instants of the next releases, and no clock in doubt moves it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.content import small, store, write
from harness.program import Releases, build, built, current, history, shopwindow
from shopwindow.problems import Failure
from shopwindow.release.chain import Chain, Link
from shopwindow.release.moving import Mover

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
SECOND, MINUTE, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)


@dataclass
class Host:
    """An output directory with a chain of three releases, made at NOW, and its mover. ``ids``: of A, B and C."""

    out: Path
    ids: tuple[str, str, str]
    now: datetime = NOW
    elapsed: float = 0.0
    target: datetime | None = None
    mover: Mover = field(init=False)

    def __post_init__(self) -> None:
        self.mover = Mover(Releases(self.out), lambda: self.target, lambda: self.now, lambda: self.elapsed)

    def pass_by(self, time: timedelta) -> str | None:
        """Look after some time: the id that became current."""
        self.now += time
        self.elapsed += time.total_seconds()
        return self.mover.look()

    def set_clock(self, by: timedelta) -> None:
        self.now += by


@pytest.fixture
def host(tmp_path: Path) -> Host:
    content, out = tmp_path / "content", tmp_path / "dist"
    write(content, small())
    first, second, third = (built(write(content, {"stores/one.yaml": store(1, name=n)}), out) for n in "ABC")
    chain = Chain((Link(first, NOW), Link(second, NOW + MINUTE), Link(third, NOW + 2 * MINUTE)))
    Releases(out).activate(first, "build", "build", NOW, chain)
    return Host(out, (first, second, third))


def test_it_moves_at_each_instant_and_not_before(host: Host) -> None:
    first, second, third = host.ids
    assert host.pass_by(MINUTE - SECOND / 1000) is None
    assert current(host.out) == first
    assert host.pass_by(SECOND / 1000) == second
    assert host.pass_by(SECOND) is None
    assert host.pass_by(MINUTE) == third
    assert current(host.out) == third
    assert host.pass_by(300 * DAY) is None


def test_who_was_away_moves_to_what_is_in_force_now(host: Host) -> None:
    assert host.pass_by(2 * MINUTE) == host.ids[2]
    assert [line["action"] for line in history(host.out)[-2:]] == ["build", "ahead"]


def test_a_move_writes_what_remains_and_pins_nothing(host: Host) -> None:
    _, second, third = host.ids
    host.pass_by(MINUTE)
    line = history(host.out)[-1]
    assert [link["id"] for link in line["chain"]] == [second, third]
    assert (line["action"], line["from"], Releases(host.out).pinned()) == ("ahead", host.ids[0], False)
    host.pass_by(MINUTE)
    assert "chain" not in history(host.out)[-1]


def test_a_rollback_between_two_instants_ends_the_chain(host: Host) -> None:
    first, second, _ = host.ids
    host.pass_by(MINUTE)
    assert shopwindow("rollback", first, "--out", host.out).status == 0
    assert host.pass_by(MINUTE) is None
    assert (current(host.out), Releases(host.out).pinned()) == (first, True)
    assert shopwindow("activate", second, "--out", host.out).status == 0
    assert host.pass_by(MINUTE) is None
    assert current(host.out) == second


def test_a_build_of_other_content_ends_the_chain(host: Host, tmp_path: Path) -> None:
    edited = built(write(tmp_path / "content", {"stores/one.yaml": store(1, name="D")}), host.out)
    assert host.pass_by(5 * MINUTE) is None
    assert current(host.out) == edited


def test_it_moves_while_a_build_holds_the_directory(host: Host) -> None:
    with Releases(host.out).lock():
        assert host.pass_by(MINUTE) == host.ids[1]


def test_what_follows_is_never_pruned(host: Host) -> None:
    assert shopwindow("prune", "--keep", "1", "--out", host.out).status == 0
    assert host.pass_by(2 * MINUTE) == host.ids[2]


def test_a_release_that_is_not_here_leaves_the_old_one(host: Host) -> None:
    first, second, _ = host.ids
    (host.out / "releases" / second / "files").rename(host.out / "gone")
    with pytest.raises(Failure, match=f"release {second[:12]}, which follows in the chain, is not here"):
        host.pass_by(MINUTE)
    assert current(host.out) == first


def test_a_killed_activation_leaves_the_chain(host: Host, tmp_path: Path) -> None:
    first, second, third = host.ids
    with open(host.out / "history.jsonl", "ab") as file:
        line = b'{"when":"%s","id":"%s","from":"%s","who":"","why":"","action":"build"}\n'
        file.write(line % (NOW.isoformat().encode(), third.encode(), first.encode()))
    Releases(host.out).reconcile()
    assert current(host.out) == first
    chain = Releases(host.out).chain()
    assert chain
    assert [link.id for link in chain.links] == [first, second, third]


# -- clocks ------------------------------------------------------------------------------------------------------


def doubted(host: Host, look: Callable[[], object], words: str) -> None:
    with pytest.raises(Failure, match=words):
        look()
    assert current(host.out) == host.ids[0]


def test_a_clock_that_reads_earlier_than_the_chain_moves_nothing(host: Host) -> None:
    host.set_clock(-2 * MINUTE)
    doubted(host, host.mover.look, "clock reads earlier than 2026-11-24T12:00:00")
    assert host.pass_by(3 * MINUTE) == host.ids[1]  # it reads later by now, and was late at most


@pytest.mark.parametrize("days", [-2, 2])
def test_a_clock_that_jumps_by_more_than_a_day_moves_nothing(host: Host, days: int) -> None:
    host.pass_by(10 * SECOND)
    host.set_clock(days * DAY)
    doubted(host, host.mover.look, "clock")
    host.set_clock(-days * DAY)  # whichever of the two was right
    doubted(host, lambda: host.pass_by(MINUTE), r"clock has jumped by [+-]2.0 days")


@pytest.mark.parametrize("hours", [-1, 1])
def test_an_hour_is_no_jump(host: Host, hours: int) -> None:
    host.pass_by(10 * SECOND)
    host.set_clock(timedelta(hours=hours))
    if hours == 1:
        assert host.mover.look() == host.ids[2]
    else:
        doubted(host, host.mover.look, "clock reads earlier than")


def test_days_of_sleep_are_no_jump(host: Host) -> None:
    assert host.pass_by(3 * DAY) == host.ids[2]


def test_a_target_that_agrees_ends_the_doubt(host: Host) -> None:
    host.set_clock(2 * DAY)
    doubted(host, host.mover.look, r"has jumped by \+2.0 days; nothing moves until")
    host.target = host.now - 2 * MINUTE
    doubted(host, host.mover.look, "has jumped")
    host.target = host.now - SECOND
    assert host.mover.look() == host.ids[2]


def test_a_target_that_is_days_apart_is_a_doubt(host: Host) -> None:
    host.target = host.now - 2 * DAY
    doubted(host, lambda: host.pass_by(MINUTE), "are more than a day apart")


def test_an_operator_ends_the_doubt(host: Host, tmp_path: Path) -> None:
    host.set_clock(2 * DAY)
    doubted(host, host.mover.look, "has jumped")
    assert shopwindow("activate", "current", "--out", host.out).status == 0
    assert host.mover.look() is None
    build(tmp_path / "content", host.out)
    chain = Chain((Link(host.ids[2], NOW), Link(host.ids[1], host.now + SECOND)))
    Releases(host.out).activate(host.ids[2], "build", "build", host.now, chain)
    assert host.pass_by(SECOND) == host.ids[1]


def test_following_takes_no_release(host: Host) -> None:
    ran = shopwindow("activate", host.ids[0], "--follow", "--out", host.out)
    assert (ran.status, "--follow takes what was built ahead" in ran.err) == (2, True)
