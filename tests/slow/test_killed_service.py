"""Facts about services that are killed: ten times here, two hundred by `python -m benchmarks.killed_service`."""

import sys
from pathlib import Path

import pytest

from harness.databases import postgresql_server
from harness.program import PHONE, UNLIMITED
from harness.program import release_of_codes as shop_release

sys.path.append(str(Path(__file__).resolve().parents[2]))
from benchmarks.killed_service import Summary, killed


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    return shop_release(tmp_path_factory.mktemp("release"), limits=UNLIMITED), PHONE


def whole(summary: Summary) -> bool:
    """Whether anything was done, and nothing is wrong."""
    assert summary.wrong == [], summary
    return summary.acknowledged > 100


def test_a_service_killed_on_sqlite_keeps_what_it_acknowledged(release: tuple[Path, str], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    assert whole(killed(tmp_path, *release, url, ["all", "worker"] * 5))


def test_a_service_killed_on_postgresql_and_its_server_restarted_keeps_what_it_acknowledged(
    release: tuple[Path, str], tmp_path: Path
) -> None:
    with postgresql_server({"fsync": "off"}) as server:
        kinds = ["all", "server", "worker", "server-at-once"] * 2 + ["server", "server-at-once"]
        assert whole(killed(tmp_path, *release, server.create_database(), kinds, server=server))
