"""The service killed (SIGKILL) under load, all or a worker, PostgreSQL restarted under it: what is left is right.

    python -m benchmarks.killed_service [--database sqlite|postgresql] [--kills N] [--clients N] [--workers N]

Clients opt devices in, half of them under an Idempotency-Key, which they repeat until they are answered. Afterwards
every choice that was acknowledged is in the store, one that was repeated is there once, and nothing is there in part:
each choice has its place in the history and among the current ones, each kept answer its action. A kill loses nothing
that the system holds in memory: what a power failure does is not tried here.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import orjson

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from engines import FAST, IMMEDIATE, PostgresServer, postgresql_server
from vitrine.service.sql.database import open_database

CHECKOUT = Path(__file__).resolve().parents[1]
ADDRESS = "127.0.0.1"
PATH = "/v2/utility/mobileoptinout"
UP_SECONDS = 30
CLIENT_SECONDS = 15


# -- the service -------------------------------------------------------------------------------------------------


@dataclass
class Service:
    """`vitrine serve` in a process group of its own. It can be killed and started again, on the same port."""

    folder: Path
    out: Path
    database: str
    workers: int
    port: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "vitrine", "serve", "--out", str(self.out), "--database", self.database]
        command += ["--bind", f"{ADDRESS}:{self.port}", "--admin", "", "--workers", str(self.workers)]
        environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "src"), "VITRINE_ACCESS_LOG": "0"}
        with (self.folder / "service.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, env=environment, start_new_session=True
            )

    def await_up(self) -> None:
        deadline = time.monotonic() + UP_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, HTTPException):
                connection = HTTPConnection(ADDRESS, self.port, timeout=5)
                connection.request("OPTIONS", "/")
                connection.getresponse().read()
                connection.close()
                return
            time.sleep(0.02)
        raise RuntimeError(f"nobody listens: {(self.folder / 'service.log').read_text()[-3000:]}")

    def children(self) -> list[int]:
        if self.process is None:
            return []
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return [int(child) for child in Path(path).read_text(encoding="ascii").split()]

    def kill(self) -> None:
        """All of it at once, and start anew."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.start()

    def kill_worker(self, chance: random.Random) -> None:
        """One worker; its parent starts another."""
        if children := self.children():
            with contextlib.suppress(ProcessLookupError):  # it was killed a moment ago
                os.kill(chance.choice(children), signal.SIGKILL)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(UP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)


# -- the load ----------------------------------------------------------------------------------------------------


@dataclass
class Load:
    """Clients that opt devices in until they are told to stop, and what they were told."""

    port: int
    key: str
    clients: int
    acknowledged: set[str] = field(default_factory=set)
    keyed: set[str] = field(default_factory=set)
    """Devices whose requests bear a key, and are repeated."""
    told: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(self.clients)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)

    def _ask(self, client: int) -> None:
        connection = HTTPConnection(ADDRESS, self.port, timeout=CLIENT_SECONDS)
        number = 0
        while not self._stop.is_set():
            number += 1
            device = f"{client}-{number}"
            headers = {"Content-Type": "application/json", "X-SVC-Webservice-Client-Id": self.key}
            if number % 2:
                self.keyed.add(device)
                headers["Idempotency-Key"] = device
            while not self._once(connection, device, headers) and number % 2 and not self._stop.is_set():
                time.sleep(0.02)
        connection.close()

    def _once(self, connection: HTTPConnection, device: str, headers: dict[str, str]) -> bool:
        """One request; whether it was answered with success."""
        body = orjson.dumps({"deviceID": device, "optInOrOptOut": "IN", "svcUID": "user"})
        try:
            connection.request("POST", PATH, body, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, HTTPException) as error:
            connection.close()
            self.told[type(error).__name__] += 1
            if isinstance(error, TimeoutError):
                self.wrong.append(f"{device} was not answered within {CLIENT_SECONDS} s")
            time.sleep(0.01)
            return False
        self.told[str(response.status)] += 1
        if response.status == 200 and text == b'{"success":true}':
            self.acknowledged.add(device)
            return True
        if response.status != 503 or response.headers.get("Retry-After") is None:
            self.wrong.append(f"{device}: {response.status} {text[:300]!r}")
        return False


# -- what is left ------------------------------------------------------------------------------------------------


def faults(url: str, load: Load) -> Iterator[str]:
    """What is wrong with the store after all that."""
    database = open_database(url)
    try:
        for what, sql in _HALVES.items():
            ((number,),) = database.read(lambda shop, sql=sql: shop._session.run(sql))  # type: ignore[misc]
            if number:
                yield f"{number} {what}"
        devices: list[tuple[str]] = database.read(lambda shop: shop._session.run("SELECT device FROM consent_history"))
    finally:
        database.close()
    found = Counter(device for (device,) in devices)
    yield from (f"{device} was acknowledged and is lost" for device in sorted(load.acknowledged - found.keys()))
    yield from (f"{device} is there {found[device]} times" for device in sorted(load.keyed) if found[device] > 1)


_HALVES = {
    "choices of the history without a current one": "SELECT count(*) FROM consent_history WHERE NOT EXISTS"
    " (SELECT 1 FROM consents WHERE consents.device = consent_history.device)",
    "current choices without a history": "SELECT count(*) FROM consents WHERE NOT EXISTS"
    " (SELECT 1 FROM consent_history WHERE consents.device = consent_history.device)",
    "kept answers that are empty": "SELECT count(*) FROM retries WHERE outcome = ''",
    "kept answers without their action": "SELECT count(*) FROM retries WHERE NOT EXISTS"
    " (SELECT 1 FROM consent_history WHERE consent_history.device = retries.idempotency_key)",
}


@dataclass
class Summary:
    """How often what was killed, what clients were told meanwhile, and what was wrong."""

    kills: Counter[str]
    told: Counter[str]
    acknowledged: int
    wrong: list[str]

    def __str__(self) -> str:
        kills = ", ".join(f"{count} of {what}" for what, count in sorted(self.kills.items()))
        told = ", ".join(f"{count:,} {what}" for what, count in self.told.most_common())
        line = f"{self.kills.total()} kills ({kills}); {self.acknowledged:,} acknowledged; told: {told};"
        return "\n  ".join([f"{line} {len(self.wrong)} wrong", *self.wrong[:20]])


def killed(
    work: Path,
    out: Path,
    key: str,
    url: str,
    kinds: Sequence[str],
    *,
    clients: int = 16,
    workers: int = 2,
    seed: int = 1,
    server: PostgresServer | None = None,
) -> Summary:
    """Kill what ``kinds`` names, one after the other: all, worker, or (with ``server``) server and server-at-once."""
    chance = random.Random(seed)
    service = Service(work, out, url, workers, _free_port())
    load = Load(service.port, key, clients)
    service.start()
    try:
        service.await_up()
        load.start()
        for kind in kinds:
            time.sleep(chance.uniform(0.05, 0.6))
            if kind == "all":
                service.kill()
                service.await_up()
            elif kind == "worker":
                service.kill_worker(chance)
            elif server is not None:
                server.stop(FAST if kind == "server" else IMMEDIATE)
                time.sleep(chance.uniform(0, 0.5))
                server.start()
        before = len(load.acknowledged)
        deadline = time.monotonic() + UP_SECONDS
        while len(load.acknowledged) < before + 100 and time.monotonic() < deadline:
            time.sleep(0.05)
        recovered = len(load.acknowledged) >= before + 100
        load.stop()
    finally:
        load.stop()
        service.stop()
    wrong = [*load.wrong, *faults(url, load)] + ([] if recovered else ["the service did not recover by itself"])
    return Summary(Counter(kinds), load.told, len(load.acknowledged), wrong)


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind((ADDRESS, 0))
        port: int = probe.getsockname()[1]
        return port


def sample(work: Path) -> tuple[Path, str]:
    """A release of the sample content: its output directory, and a key."""
    out = work / "dist"
    command = [sys.executable, "-m", "vitrine", "build", "--content", str(CHECKOUT / "content"), "--out", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "src")}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return out, (CHECKOUT / "content" / "sample-keys.txt").read_text(encoding="utf-8").split()[1]


def main() -> int:
    parser = argparse.ArgumentParser(description="The service killed under load: every acknowledged write is there.")
    parser.add_argument("--kills", type=int, default=200, metavar="N")
    parser.add_argument("--clients", type=int, default=16, metavar="N")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    given = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="vitrine-killed-"))
    kinds = ["all", "worker"] + (["server", "server-at-once"] if given.database == "postgresql" else [])
    many = [kinds[number % len(kinds)] for number in range(given.kills)]
    options = {"clients": given.clients, "workers": given.workers, "seed": given.seed}
    try:
        out, key = sample(work)
        if given.database == "sqlite":
            summary = killed(work, out, key, f"sqlite:///{work / 'store.sqlite'}", many, **options)
        else:
            with postgresql_server({"fsync": "off", "max_connections": "300"}) as server:
                summary = killed(work, out, key, server.create_database(), many, **options, server=server)
    finally:
        shutil.rmtree(work)
    print(f"{given.database}: {summary}")
    return 1 if summary.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
