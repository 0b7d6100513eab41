"""The rows of the mobile log and of sharing hold in process, over `serve` and through nginx, on both engines."""

from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from facts.conformance import JSON, KEY
from facts.conformance_log_and_share import LOG, SETTINGS, SHARE, UNREADABLE, Action, table
from harness import servers
from harness.databases import Engine
from harness.program import (
    PHONE,
    SILENT,
    TABLET,
    Answer,
    Database,
    Service,
    called,
    nginx_configuration,
    release_of_writes,
)
from harness.servers import ADDRESS, Server, ask, free_port, own_server
from harness.waits import PATIENCE
from shopwindow.interface.declaring.mail import OUTBOX

ROWS = table()
KEPT = {path: sum(row.kept for row in ROWS if row.case.target.startswith(path)) for path in (LOG, SHARE)}


def owed(action: Action, came: Answer) -> Answer:
    """What is owed; seconds may have passed of those after which to try again."""
    headers = dict(action.case.headers)
    if "retry-after" in headers and 3500 < int(came.headers.get("retry-after", 0)) <= 3600:
        headers["retry-after"] = came.headers["retry-after"]
    return Answer(action.case.status, headers, action.case.body)


def differing(port: int) -> list[tuple[str, Answer, Answer]]:
    """The rows that a server answers otherwise."""
    found = []
    for row in ROWS:
        connection = HTTPConnection(ADDRESS, port, timeout=PATIENCE)
        came = ask(connection, f"/{row.case.target}", row.case.sent, row.case.method, row.case.data)
        connection.close()
        if came != owed(row, came):
            found.append((str(row), owed(row, came), came))
    return found


def left(database: Database, log: Path) -> dict[str, int]:
    """How many lines and mails there are."""
    waiting = database.read(lambda shop: shop[OUTBOX].counts())["waiting"]
    return {LOG: len((log / "mobile.log").read_bytes().splitlines()), SHARE: waiting}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release_of_writes(tmp_path_factory.mktemp("rows"), **SETTINGS)


@pytest.fixture
def live(engine: Engine, dist: Path, tmp_path: Path) -> Iterator[Server]:
    more = {"SHOPWINDOW_DATABASE": engine.url, "SHOPWINDOW_LOG_DIR": str(tmp_path / "log")}
    with own_server(tmp_path / "server", dist, "--workers", "2", **more) as server:
        yield server


def test_there_are_rows_enough() -> None:
    assert (len(ROWS) > 150, len(set(map(repr, ROWS)))) == (True, len(ROWS))


def test_in_process(dist: Path, database: Database, tmp_path: Path) -> None:
    service = Service(dist, database, tmp_path / "log")
    found = []
    for row in ROWS:
        case = row.case
        came = called(service.application, f"/{case.target}", case.sent, case.method, case.data or b"")
        came = Answer(came.status, came.headers, b"" if case.method == "HEAD" else came.body)
        if came != owed(row, came):
            found.append((str(row), owed(row, came), came))
    assert (found, left(database, tmp_path / "log")) == ([], KEPT)


def test_over_serve(live: Server, engine: Engine, tmp_path: Path) -> None:
    found = differing(live.port)
    database = engine.open()
    kept = left(database, tmp_path / "log")
    database.close()
    assert (found, kept) == ([], KEPT)


def test_through_nginx(live: Server, engine: Engine, dist: Path, tmp_path: Path) -> None:
    keys, port = {PHONE: "phone", TABLET: "tablet", SILENT: "silent"}, free_port()
    written = nginx_configuration(dist, keys, f"{ADDRESS}:{live.port}", f"{ADDRESS}:{port}")
    with servers.running_nginx(tmp_path / "nginx", written, port):
        found = differing(port)
    database = engine.open()
    kept = left(database, tmp_path / "log")
    database.close()
    assert (found, kept) == ([], KEPT)


@pytest.mark.parametrize("data", UNREADABLE)
@pytest.mark.parametrize("path", [LOG, SHARE])
def test_what_cannot_be_read_is_a_400_that_leaves_nothing(dist: Path, tmp_path: Path, path: str, data: bytes) -> None:
    service = Service(dist, None, tmp_path / "log")
    came = called(service.application, f"/{path}", {KEY: PHONE, "content-type": JSON}, "POST", data)
    assert (came.status, b'"errorCode":400' in came.body, (tmp_path / "log").exists()) == (400, True, False)
