"""The service killed (SIGKILL) under load, all or a worker, PostgreSQL restarted under
it: what is left is right.

    python -m benchmarks.killed_service [--database sqlite|postgresql] [--kills N] [--clients N] [--workers N]

Clients opt devices in, with and without an Idempotency-Key, make bags of two items
under a key, and compete for single-use codes; what has a key, and each PUT, they repeat
until it is answered. Afterwards all that was acknowledged is in the store, what was
repeated is there once, each code has one winner and no other was told that it won, and
nothing is there in part. A kill loses nothing that the system holds in memory: what a
power failure does is not tried.
"""

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import orjson

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from harness.commands import ends_with_us
from harness.databases import FAST, IMMEDIATE, PostgresServer, postgresql_server
from harness.program import ORDERS, PHONE, SECRET, SECRET_TEXT, UNLIMITED
from harness.program import release_of_codes as shop_release
from harness.servers import ADDRESS, free_port
from shopwindow.retail.codes.issuing import keep
from shopwindow.retail.codes.text import digest
from shopwindow.service.database.database import Database, open_database
from shopwindow.shop import INTERFACE

CHECKOUT = Path(__file__).resolve().parents[1]
OPT_IN, BAGS, CODES = "/v2/utility/mobileoptinout", "/order/v1/bags", "/v3/order/supc"
UP_SECONDS = 30
CLIENT_SECONDS = 15
ISSUED = 3000
"""Codes that each pair of clients competes for."""


# -- the service -----------------------------------------------------------------------


@dataclass
class Service:
    """`shopwindow serve` in a process group of its own. It can be killed and started
    again, on the same port. ``is_up``: a worker has answered since it was started.
    """

    folder: Path
    out: Path
    database: str
    workers: int
    port: int
    process: subprocess.Popen[bytes] | None = None
    is_up: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        command = [
            sys.executable,
            "-m",
            "shopwindow",
            "serve",
            "--out",
            str(self.out),
            "--database",
            self.database,
        ]
        command += [
            "--bind",
            f"{ADDRESS}:{self.port}",
            "--admin",
            "",
            "--workers",
            str(self.workers),
        ]
        environment = {
            **os.environ,
            "PYTHONPATH": str(CHECKOUT / "src"),
            "SHOPWINDOW_ACCESS_LOG": "0",
        }
        environment["SHOPWINDOW_CODE_SECRET"] = SECRET_TEXT
        with (self.folder / "service.log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=environment,
                start_new_session=True,
                preexec_fn=ends_with_us,
            )

    def await_up(self) -> None:
        deadline = time.monotonic() + UP_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError, HTTPException):
                connection = HTTPConnection(ADDRESS, self.port, timeout=5)
                connection.request("OPTIONS", "/")
                connection.getresponse().read()
                connection.close()
                self.is_up.set()
                return
            time.sleep(0.02)
        raise RuntimeError(
            f"nobody answers: {(self.folder / 'service.log').read_text()[-3000:]}"
        )

    def children(self) -> list[int]:
        if self.process is None:
            return []
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return [int(child) for child in Path(path).read_text(encoding="ascii").split()]

    def kill(self) -> None:
        """All of it at once, and start anew."""
        self.is_up.clear()
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.await_port()
        self.start()

    def await_port(self) -> None:
        """Wait until nobody listens. A killed worker ends once the system has synced its file."""
        deadline = time.monotonic() + UP_SECONDS
        while time.monotonic() < deadline:
            with (
                contextlib.closing(socket.socket()) as probe,
                contextlib.suppress(OSError),
            ):
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((ADDRESS, self.port))
                return
            time.sleep(0.01)
        raise RuntimeError(f"port {self.port} is still listened at")

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


# -- the load --------------------------------------------------------------------------


@dataclass
class Load:
    """Clients that ask until they are told to stop, and what they were told.

    They wait while no worker ``is_up``: the parent of a service listens long before one
    answers.
    """

    is_up: threading.Event
    port: int
    key: str
    clients: int
    chosen: set[str] = field(default_factory=set)
    """Devices whose choice was acknowledged."""
    keyed: set[str] = field(default_factory=set)
    """Devices whose requests bear a key, and are repeated."""
    bags: set[str] = field(default_factory=set)
    tried_bags: int = 0
    won: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Code → the orders that were told that they have it."""
    told: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    @property
    def acknowledged(self) -> int:
        return len(self.chosen) + len(self.bags) + len(self.won)

    def start(self) -> None:
        self._threads = [
            threading.Thread(target=self._ask, args=(number,))
            for number in range(self.clients)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        self.is_up.set()
        for thread in self._threads:
            thread.join(60)

    def _ask(self, client: int) -> None:
        connection = HTTPConnection(ADDRESS, self.port, timeout=CLIENT_SECONDS)
        number = 0
        while not self._stop.is_set():
            number += 1
            name = f"{client}-{number}"
            kinds = (self._choose, self._choose_with_key, self._fill_bag, self._expire)
            kinds[number % 4](connection, client, number, name)
        connection.close()

    def _choose(
        self, connection: HTTPConnection, client: int, number: int, name: str
    ) -> None:
        if self._once(
            connection,
            "POST",
            OPT_IN,
            {"deviceID": name, "optInOrOptOut": "IN", "svcUID": "user"},
        ):
            self.chosen.add(name)

    def _choose_with_key(
        self, connection: HTTPConnection, client: int, number: int, name: str
    ) -> None:
        self.keyed.add(name)
        if self._until_told(
            connection, "POST", OPT_IN, {"deviceID": name, "optInOrOptOut": "OUT"}, name
        ):
            self.chosen.add(name)

    def _fill_bag(
        self, connection: HTTPConnection, client: int, number: int, name: str
    ) -> None:
        items = [
            {"upcId": client + 1, "quantity": 1},
            {"upcId": client + 2, "quantity": 2},
        ]
        self.tried_bags += 1
        if told := self._until_told(connection, "POST", BAGS, {"item": items}, name):
            (guid,) = re.findall(rb'"bagGUID":"([^"]+)"', told)
            self.bags.add(guid.decode())

    def _expire(
        self, connection: HTTPConnection, client: int, number: int, name: str
    ) -> None:
        if (code := _code(client // 2, number // 4)) is None:
            return
        body = {
            "promoCode": code,
            "orderNumber": f"order-{client}",
            "reservationId": "1",
        }
        told = self._until_told(connection, "PUT", CODES, body, "")
        if told and b"SUPC_USED" not in told:
            self.won[code].add(f"order-{client}")

    def _until_told(
        self, connection: HTTPConnection, method: str, path: str, body: object, key: str
    ) -> bytes:
        """What is answered at last; nothing where the load is stopped before that."""
        while (
            not (told := self._once(connection, method, path, body, key))
            and not self._stop.is_set()
        ):
            time.sleep(0.02)
        return told

    def _once(
        self,
        connection: HTTPConnection,
        method: str,
        path: str,
        body: object,
        key: str = "",
    ) -> bytes:
        """One request; what was answered, or nothing where it is to be repeated."""
        headers = {
            "Content-Type": "application/json",
            "X-SVC-Webservice-Client-Id": self.key,
        }
        if key:
            headers["Idempotency-Key"] = key
        if path == CODES:
            headers["Host"] = ORDERS
        self.is_up.wait()
        try:
            connection.request(method, path, orjson.dumps(body), headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, HTTPException) as error:
            connection.close()
            self.told[type(error).__name__] += 1
            if isinstance(error, TimeoutError):
                self.wrong.append(
                    f"{path} {key} was not answered within {CLIENT_SECONDS} s"
                )
            time.sleep(0.01)
            return b""
        self.told[str(response.status)] += 1
        if response.status == 200 or b"SUPC_USED" in text:
            return text
        if response.headers.get("Retry-After") is None or b"INVALID_CODE" in text:
            self.wrong.append(f"{path} {key}: {response.status} {text[:300]!r}")
        return b""


def _code(pair: int, number: int) -> str | None:
    """A code that two clients compete for; None where they have had them all."""
    return f"KILL-{pair:03}-{number:06}" if number < ISSUED else None


# -- what is left ----------------------------------------------------------------------


def prepared(url: str, clients: int) -> None:
    """The store before the service starts: the codes are issued."""
    database = open_database(url, INTERFACE.tables)
    database.migrate()
    codes = [
        f"KILL-{pair:03}-{number:06}"
        for pair in range((clients + 1) // 2)
        for number in range(ISSUED)
    ]
    keep(
        database,
        {1: [digest(code, SECRET) for code in codes]},
        SECRET,
        datetime.now(UTC),
    )
    database.close()


def faults(url: str, load: Load) -> Iterator[str]:
    """What is wrong with the store after all that."""
    database = open_database(url, INTERFACE.tables)
    try:
        for what, sql in _HALVES.items():
            if (number := _rows(database, sql)[0][0]) != 0:
                yield f"{number} {what}"
        found = Counter(
            row[0] for row in _rows(database, "SELECT device FROM consent_history")
        )
        yield from (
            f"{device} was acknowledged and is lost"
            for device in sorted(load.chosen - found.keys())
        )
        yield from (
            f"{device} is there {found[device]} times"
            for device in sorted(load.keyed)
            if found[device] > 1
        )
        bags = {row[0] for row in _rows(database, "SELECT guid FROM bags")}
        yield from (
            f"bag {guid} was acknowledged and is lost"
            for guid in sorted(load.bags - bags)
        )
        if len(bags) > load.tried_bags:
            yield f"{len(bags)} bags were made by {load.tried_bags} requests"
        kept = dict(
            _rows(
                database,
                "SELECT digest, order_number FROM codes WHERE order_number IS NOT NULL",
            )
        )
    finally:
        database.close()
    for code, orders in load.won.items():
        if orders != {kept.get(digest(code, SECRET))}:
            yield f"{code}: {sorted(orders)} were told that they won, the store says {kept.get(digest(code, SECRET))}"


def _rows(database: Database, sql: str) -> list[Any]:
    return database.read(lambda shop: shop.session.run(sql))


_HALVES = {
    "choices of the history without a current one": "SELECT count(*) FROM consent_history WHERE NOT EXISTS"
    " (SELECT 1 FROM consents WHERE consents.device = consent_history.device)",
    "current choices without a history": "SELECT count(*) FROM consents WHERE NOT EXISTS"
    " (SELECT 1 FROM consent_history WHERE consent_history.device = consents.device)",
    "bags without their two items": "SELECT count(*) FROM bags WHERE"
    " (SELECT count(*) FROM bag_lines WHERE bag_lines.bag = bags.guid) <> 2",
    "kept answers that are empty": "SELECT count(*) FROM retries WHERE outcome = ''",
    "kept answers without their choice": f"SELECT count(*) FROM retries WHERE path = '{OPT_IN[1:]}' AND NOT EXISTS"
    " (SELECT 1 FROM consent_history WHERE consent_history.device = retries.device)",
    "bags more or less than kept answers for them": "SELECT (SELECT count(*) FROM bags) -"
    f" (SELECT count(*) FROM retries WHERE path = '{BAGS[1:]}')",
}


@dataclass
class Summary:
    """How often what was killed, what clients were told meanwhile, and what was wrong."""

    kills: Counter[str]
    told: Counter[str]
    acknowledged: int
    wrong: list[str]

    def __str__(self) -> str:
        kills = ", ".join(
            f"{count} of {what}" for what, count in sorted(self.kills.items())
        )
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
    """Kill what ``kinds`` names, one after the other: all, worker, or (with ``server``)
    server and server-at-once.
    """
    chance = random.Random(seed)
    service = Service(work, out, url, workers, free_port())
    load = Load(service.is_up, service.port, key, clients)
    prepared(url, clients)
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
        before = load.acknowledged
        deadline = time.monotonic() + UP_SECONDS
        while load.acknowledged < before + 100 and time.monotonic() < deadline:
            time.sleep(0.05)
        recovered = load.acknowledged >= before + 100
        load.stop()
    finally:
        load.stop()
        service.stop()
    wrong = [*load.wrong, *faults(url, load)] + (
        [] if recovered else ["the service did not recover by itself"]
    )
    return Summary(Counter(kinds), load.told, load.acknowledged, wrong)


def sample(work: Path) -> tuple[Path, str]:
    """A release of the sample content, which lets one address write as fast as it can:
    output directory and a key.
    """
    out, content = (
        work / "dist",
        Path(shutil.copytree(CHECKOUT / "content", work / "content")),
    )
    with (content / "site.yaml").open("ab") as site:
        site.write(b"\nlimits: " + orjson.dumps(UNLIMITED) + b"\n")
    command = [
        sys.executable,
        "-m",
        "shopwindow",
        "build",
        "--content",
        str(content),
        "--out",
        str(out),
    ]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "src")}
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return out, (CHECKOUT / "content" / "sample-keys.txt").read_text(
        encoding="utf-8"
    ).split()[1]


def main() -> int:
    parser = argparse.ArgumentParser(
        description="The service killed under load: every acknowledged write is there."
    )
    parser.add_argument("--kills", type=int, default=200, metavar="N")
    parser.add_argument("--clients", type=int, default=16, metavar="N")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    parser.add_argument(
        "--database", choices=["sqlite", "postgresql"], default="sqlite"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    given = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="shopwindow-killed-"))
    kinds = ["all", "worker"] + (
        ["server", "server-at-once"] if given.database == "postgresql" else []
    )
    many = [kinds[number % len(kinds)] for number in range(given.kills)]
    options = {"clients": given.clients, "workers": given.workers, "seed": given.seed}
    try:
        out, key = shop_release(work / "shop", limits=UNLIMITED), PHONE
        if given.database == "sqlite":
            summary = killed(
                work, out, key, f"sqlite:///{work / 'store.sqlite'}", many, **options
            )
        else:
            with postgresql_server(
                {"fsync": "off", "max_connections": "300"}
            ) as server:
                summary = killed(
                    work,
                    out,
                    key,
                    server.create_database(),
                    many,
                    **options,
                    server=server,
                )
    finally:
        shutil.rmtree(work)
    print(f"{given.database}: {summary}")
    return 1 if summary.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
