"""A chain says which release is in force at an instant, and is read as it was written."""

from datetime import UTC, datetime, timedelta

import pytest

from shopwindow.release.chain import Chain, Link, as_json, chain_of

SIX = datetime(2026, 12, 1, 6, tzinfo=UTC)
SECOND = timedelta(seconds=1)
CHAIN = Chain((Link("a", SIX), Link("b", SIX + 60 * SECOND), Link("c", SIX + 90 * SECOND)))


@pytest.mark.parametrize(
    ("now", "id", "ahead"),
    [
        (SIX - 10 * SECOND, "a", ["b", "c"]),
        (SIX, "a", ["b", "c"]),
        (SIX + 59 * SECOND, "a", ["b", "c"]),
        (SIX + 60 * SECOND, "b", ["c"]),
        (SIX + 90 * SECOND, "c", []),
        (SIX + 9000 * SECOND, "c", []),
    ],
)
def test_the_last_release_that_has_started_is_in_force(now: datetime, id: str, ahead: list[str]) -> None:
    assert CHAIN.in_force(now).id == id
    assert [link.id for link in CHAIN.remaining(now).links[1:]] == ahead
    assert CHAIN.is_due(now) == (id != "a")


def test_a_chain_is_read_as_it_was_written() -> None:
    assert chain_of(as_json(CHAIN)) == CHAIN


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        "a",
        [{"id": "a"}],
        [{"id": "a", "from": "2026-12-01T06:00:00"}],
        [{"id": "a", "from": 1}],
        [{"id": "a", "from": "2026-12-01T06:00:00Z"}, {"id": "b", "from": "2026-12-01T06:00:00Z"}],
        [{"id": "a", "from": "2026-12-01T06:00:00Z"}, {"id": "b", "from": "2026-12-01T05:00:00Z"}],
    ],
)
def test_what_is_no_chain_is_refused(value: object) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        chain_of(value)
