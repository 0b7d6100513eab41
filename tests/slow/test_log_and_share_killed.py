"""The service is killed under load: every line and every mail that it acknowledged is there, whole, once."""

import json
import os
import random
import signal
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from harness.databases import Engine
from harness.program import PHONE, UNLIMITED, entry_of, release_of_writes
from harness.servers import ADDRESS, Server, ask, own_server
from harness.waits import PATIENCE, awaited
from shopwindow.interface.declaring.mail import OUTBOX

HEADERS = {"x-svc-webservice-client-id": PHONE, "content-type": "application/json"}
MANY = {"most": 10_000, "minutes": 60}
SETTINGS = {
    "share": {"limits": dict.fromkeys(("address", "sender", "recipient", "application"), MANY)},
    "limits": UNLIMITED,
    "mobile_log": {"maxMegabytes": 1},
}


LINES = 120
"""Acknowledged before each kill, at least: those of five runs take more than the MiB of one file."""


def load(port: int, name: str, lines: list[str], mails: list[str]) -> None:
    """Write lines and share promotions until the service is gone; what was acknowledged is noted."""
    connection = HTTPConnection(ADDRESS, port, timeout=PATIENCE)
    try:
        for number in range(100_000):
            body: dict[str, Any]
            if number % 4:
                message = f"{name}-{number} {'x' * 2000}"
                entry = {"deviceId": "d", "platform": "p", "logLevel": "ERROR", "logMessage": message}
                target, body, noted = "/v2/utility/mobilelog", {"entry": entry}, lines
            else:
                message = f"{name}-{number}@mail.example"
                target, noted = "/v3/promotions/share", mails
                body = {"promoId": "7", "recipientEmailAddress": message, "senderEmailAddress": "ann@mail.example"}
            answer = ask(connection, target, HEADERS, "POST", json.dumps(body).encode())
            if answer.status != 200:
                return
            noted.append(message)
    except (OSError, HTTPException):
        return
    finally:
        connection.close()


def kill(server: Server) -> None:
    """All processes of a service, at once."""
    pid = server.process.pid
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    for each in (pid, *children):
        with suppress(ProcessLookupError):  # a worker whose parent was killed ends by itself
            os.kill(each, signal.SIGKILL)
    server.process.wait()


def test_what_the_service_acknowledged_is_there_after_it_was_killed(engine: Engine, tmp_path: Path) -> None:
    dist, log, chance = release_of_writes(tmp_path, **SETTINGS), tmp_path / "log", random.Random(7)
    lines: list[str] = []
    mails: list[str] = []
    where = {"SHOPWINDOW_DATABASE": engine.url, "SHOPWINDOW_LOG_DIR": str(log)}
    for run in range(5):
        with own_server(tmp_path / f"server{run}", dist, "--workers", "2", "--threads", "4", **where) as server:
            names = [f"{run}-{number}" for number in range(8)]
            threads = [threading.Thread(target=load, args=(server.port, name, lines, mails)) for name in names]
            for thread in threads:
                thread.start()
            awaited(lambda goal=(run + 1) * LINES: len(lines) >= goal)  # type: ignore[misc]
            time.sleep(chance.random())
            kill(server)
            for thread in threads:
                thread.join()
    with own_server(tmp_path / "last", dist, "--workers", "1", **where) as server:
        load_one = {"entry": {"deviceId": "d", "platform": "p", "logLevel": "ERROR", "logMessage": "last"}}
        assert server.ask("/v2/utility/mobilelog", HEADERS, "POST", json.dumps(load_one).encode()).status == 200
    files = [path.read_text() for path in log.glob("mobile*.log")]
    written = [entry_of(line).log_message for text in files for line in text.split("\n")[:-1]]
    assert [text[-40:] for text in files if not text.endswith("\n")] == []
    assert (len(files) > 1, set(lines) - set(written), len(set(written))) == (True, set(), len(written))
    database = engine.open()
    promised = [to for (to,) in database.read(lambda shop: shop[OUTBOX]._run("SELECT recipient FROM outbox"))]
    database.close()
    assert (len(mails) > 20, set(mails) - set(promised), len(set(promised))) == (True, set(), len(promised))
