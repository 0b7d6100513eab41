"""How long caches may store an answer: its operation's lifetime, never beyond the next instant, and `stale` more."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from harness.content import Json, promotion, write
from harness.program import (
    PHONE,
    Answer,
    Application,
    called,
    documents_of_writes,
    manifest,
    released,
    served,
)

SECOND = timedelta(seconds=1)
LIFETIME = 300
READ = "/v2/promotions"


def release(folder: Path, **settings: Json) -> tuple[Path, datetime]:
    """A folder of releases, and the instant at which its content changes by itself."""
    lifetimes = {"default": {"maxAge": LIFETIME}}
    files = {
        **documents_of_writes(lifetimes=lifetimes, **settings),
        "promotions/to-come.yaml": promotion(1, publish={"from": "2026-11-25 06:00"}),
    }
    out = released(write(folder / "content", files))
    return out, datetime.fromisoformat(manifest(out / "current")["nextChange"])


@pytest.fixture
def chain(tmp_path: Path) -> tuple[Path, datetime]:
    return release(tmp_path)


def asked(service: Application, target: str = READ, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return called(service, target, {"x-svc-webservice-client-id": PHONE, **named})


def caching(out: Path, at: datetime, target: str = READ) -> str:
    text: str = asked(served(out, clock=at.timestamp), target).headers["cache-control"]
    return text


@pytest.mark.parametrize(
    ("left", "age"),
    [
        (86400.0, LIFETIME),
        (LIFETIME, LIFETIME),
        (LIFETIME - 0.25, LIFETIME - 1),
        (20.0, 20),
        (1.5, 1),
        (0.5, 0),
        (0.0, 0),
        (-59.0, 0),
        (-61.0, LIFETIME),  # nobody has moved: the service shall not get every read until somebody does
        (-86400.0, LIFETIME),
    ],
)
def test_no_answer_is_stored_beyond_the_next_instant(chain: tuple[Path, datetime], left: float, age: int) -> None:
    out, instant = chain
    service = served(out, clock=(instant - left * SECOND).timestamp)
    first, cached = asked(service), asked(service)
    assert first.headers["cache-control"] == f"max-age={age}"
    assert cached == first
    same = asked(service, if_none_match=first.headers["etag"])
    assert (same.status, same.headers["cache-control"]) == (304, f"max-age={age}")


def test_a_cached_answer_lasts_as_long_as_the_clock_says_each_time(chain: tuple[Path, datetime]) -> None:
    out, instant = chain
    times = iter([instant - 400 * SECOND, instant - 30 * SECOND, instant - 10 * SECOND])
    service = served(out, clock=lambda: next(times).timestamp())
    assert [asked(service).headers["cache-control"] for _ in range(3)] == [
        f"max-age={age}" for age in (LIFETIME, 30, 10)
    ]


def test_what_is_never_stored_stays_so(chain: tuple[Path, datetime]) -> None:
    out, instant = chain
    for left in (400, 10, -10):
        at = instant - left * SECOND
        assert caching(out, at, "/v2/nothing") == "no-store"
        assert caching(out, at, "/v3/job/refreshjobstatus") == "no-store"


# -- stale -------------------------------------------------------------------------------------------------------

STALE = "stale-while-revalidate=60, stale-if-error=60"


def test_reads_say_how_stale_they_may_be_and_others_do_not(tmp_path: Path) -> None:
    out, instant = release(tmp_path, stale=60)
    far, near = instant - 86400 * SECOND, instant - 20 * SECOND
    assert caching(out, far) == f"max-age={LIFETIME}, {STALE}"
    assert caching(out, near) == f"max-age=20, {STALE}"
    assert caching(out, far, "/v2/nothing") == "no-store"
    assert caching(out, far, "/v3/job/refreshjobstatus") == "no-store"


def test_zero_is_as_none(tmp_path: Path) -> None:
    out, instant = release(tmp_path, stale=0)
    assert caching(out, instant - 86400 * SECOND) == f"max-age={LIFETIME}"
