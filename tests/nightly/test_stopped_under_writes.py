"""A service that is stopped again and again while clients write: it ends well, and stores what it acknowledged."""

import json
import os
import random
import signal
import threading
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from harness.databases import Engine, devices_of
from harness.program import JSON, PHONE, UNLIMITED, release_of_writes
from harness.servers import ADDRESS, ask, in_a_group
from harness.waits import PATIENCE

STOPS, WRITERS = 100, 32
HEADERS = {"x-svc-webservice-client-id": PHONE, "content-type": JSON}


def write(port: int, name: str, acknowledged: list[str]) -> None:
    """Opt devices in on one connection until the service ends."""
    connection = HTTPConnection(ADDRESS, port, timeout=PATIENCE)
    try:
        while True:
            device = f"{name}-{len(acknowledged)}"
            body = json.dumps({"deviceID": device, "optInOrOptOut": "IN"}).encode()
            if ask(connection, "/v2/utility/mobileoptinout", HEADERS, "POST", body).status == 200:
                acknowledged.append(device)
    except (OSError, HTTPException):
        return
    finally:
        connection.close()


def test_a_hundred_stops_under_writes_are_normal_ends_and_lose_nothing(tmp_path: Path) -> None:
    out = release_of_writes(tmp_path, limits=UNLIMITED)
    folder, kept = tmp_path / "server", set()
    for number in range(STOPS):
        with in_a_group(folder, out, "--workers", "2") as server:
            written: list[list[str]] = [[] for _ in range(WRITERS)]
            threads = [
                threading.Thread(target=write, args=(server.port, f"{number}-{writer}", acknowledged))
                for writer, acknowledged in enumerate(written)
            ]
            for thread in threads:
                thread.start()
            time.sleep(random.uniform(0.1, 1))
            os.killpg(server.process.pid, signal.SIGTERM)
            status = server.process.wait(PATIENCE)
            for thread in threads:
                thread.join()
        kept |= {device for acknowledged in written for device in acknowledged}
        said = server.err.read_text().splitlines()
        assert (number, status, [line for line in said if not line.startswith("{")]) == (number, 0, [])
        assert {json.loads(line)["level"] for line in said} <= {"info"}, said
    assert kept
    assert kept - set(devices_of(Engine("sqlite", f"sqlite:///{folder}/store.sqlite"))) == set()
