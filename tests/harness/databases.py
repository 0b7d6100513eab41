"""What a service keeps: both engines, opt-ins, and the mails that it has promised."""

import fcntl
import importlib.util
import json
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGQUIT, SIGSTOP, Signals
from typing import Any

import pytest

from facts.conformance import PHONE
from harness.commands import ends_with_us
from harness.program import Answer, Database, shopwindow
from harness.run import memory, run_name
from harness.servers import ADDRESS, Server, free_port
from harness.waits import PATIENCE, awaited
from shopwindow.interface.declaring.mail import TEMPLATE_KEY, ClaimedMail
from shopwindow.interface.declaring.operation import Outcome
from shopwindow.interface.declaring.table import Tables
from shopwindow.retail.consents.table import CONSENTS, Choice
from shopwindow.service.database.database import open_database
from shopwindow.service.database.prune import prune
from shopwindow.service.database.removals import By, forget
from shopwindow.service.database.retries import STORED_RESPONSES, Retry
from shopwindow.service.database.tables import (
    ENGINE_TABLES,
    STEPS_TABLE,
    declared,
    left_alone,
    reached,
    statements,
)
from shopwindow.service.mail.letters import Letters
from shopwindow.shop import INTERFACE

# The room's own doors: a database is opened, brought to a form, and looked after by these alone.
__all__ = [
    "ENGINE_TABLES",
    "STORED_RESPONSES",
    "By",
    "Letters",
    "Retry",
    "declared",
    "forget",
    "left_alone",
    "open_database",
    "prune",
    "reached",
    "statements",
]

# -- both engines of the store, real ones: a SQLite file, and a PostgreSQL server that the tests start for themselves --


ENGINES = ("sqlite", "postgresql")
FAST, IMMEDIATE = SIGINT, SIGQUIT
"""How a server is asked to stop: it cuts the connections; it ends at once, and recovers when it is started again."""


@dataclass(frozen=True)
class Engine:
    """A database of a test's own, empty at first."""

    name: str
    url: str

    def open(self) -> Database:
        """A connection to it, as another process would have one."""
        return open_database(self.url, INTERFACE.tables)


def backed_up(url: str, folder: Path) -> Path:
    """The copy of a database that the day's backup wrote to a folder."""
    ran = shopwindow("maintain", "backup", "--database", url, "--backups", folder)
    (copy,) = folder.iterdir()
    assert (ran.status, f"{copy}: {copy.stat().st_size:,} bytes" in ran.out) == (0, True), ran
    return copy


def engine_of(request: pytest.FixtureRequest, name: str, folder: Path) -> Engine:
    """An empty database: a file in ``folder``, or one of this run's server."""
    if name == "sqlite":
        return Engine(name, f"sqlite:///{folder / 'store.sqlite'}")
    server: PostgresServer = request.getfixturevalue("postgresql")
    return Engine(name, server.create_database())


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A test that asks for this runs on each engine. A migrated database of PostgreSQL is lent, others are its own."""
    if request.param == "postgresql" and "database" in request.fixturenames:
        server: PostgresServer = request.getfixturevalue("postgresql")
        lent = server.lend()
        yield Engine("postgresql", lent.url)
        server.take_back(lent)
        return
    engine = engine_of(request, request.param, tmp_path)
    yield engine
    if engine.name == "postgresql":  # 7 MB each, and the server keeps its files in memory where it can
        server = request.getfixturevalue("postgresql")
        server.drop_database(engine.url)


@pytest.fixture
def database(engine: Engine) -> Iterator[Database]:
    """The store, brought to this program's form, on each engine."""
    database = engine.open()
    database.migrate()
    yield database
    database.close()


SHARED = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off", "max_connections": "300"}
"""How the server of a run is started. It does not sync: the machine stays up, and no kill loses anything."""


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator["PostgresServer"]:
    """The one PostgreSQL server of this run, whichever process of the run wants it first."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with shared_server(folder) as server:
        yield server


# -- one server for several processes ----------------------------------------------------------------------------


@contextmanager
def shared_server(folder: Path) -> Iterator["PostgresServer"]:
    """The server that the processes of a run share by files in ``folder``; the first to come starts and stops it.

    Whoever uses it holds a shared lock of one file, which the kernel gives back for a process that is killed. So the
    process that started the server knows when nobody uses it any more.
    """
    with (folder / "postgresql.turn").open("w") as turn, (folder / "postgresql.users").open("w") as users:
        where = folder / "postgresql.json"
        fcntl.flock(turn, fcntl.LOCK_EX)  # one at a time looks whether there is a server, and starts it
        fcntl.flock(users, fcntl.LOCK_SH)  # waits while the server stops
        if where.exists():
            fcntl.flock(turn, fcntl.LOCK_UN)
            programs, data, port = json.loads(where.read_text())
            yield PostgresServer(Path(programs), Path(data), port)
            return
        with postgresql_server(SHARED) as server:
            migrated = open_database(server.create_database(TEMPLATE), INTERFACE.tables)
            migrated.migrate()
            migrated.close()
            where.write_text(json.dumps([str(server.programs), str(server.folder), server.port]))
            fcntl.flock(turn, fcntl.LOCK_UN)
            try:
                yield server
                fcntl.flock(users, fcntl.LOCK_EX)  # until all others have given theirs back
            finally:
                where.unlink()


# -- a PostgreSQL server -----------------------------------------------------------------------------------------

TEMPLATE = "migrated"
"""The database that others are copied from, on the server of a run: it has this program's form and holds nothing."""


@dataclass
class PostgresServer:
    """A server with a data directory of its own, on loopback. ``settings`` go on its command line."""

    programs: Path
    folder: Path
    port: int
    settings: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    spare: "LentDatabase | None" = None

    def url(self, name: str = "postgres") -> str:
        return f"postgresql://shopwindow@{ADDRESS}:{self.port}/{name}"

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        settings = [f"--{name}={value}" for name, value in self.settings.items()]
        command = [f"{self.programs}/postgres", "-D", f"{self.folder}/data", "-k", str(self.folder)]
        # processes share what is in files of its folder, which are gone with it: those in memory outlive a kill
        command += ["-h", ADDRESS, "-p", str(self.port), "--dynamic_shared_memory_type=mmap", *settings]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, preexec_fn=ends_with_us, **_account()
            )
        self.process = process
        ready = [f"{self.programs}/pg_isready", "-q", "-h", ADDRESS, "-p", str(self.port)]

        def is_ready() -> bool:
            assert process.poll() is None, (self.folder / "log").read_text()
            return subprocess.run(ready).returncode == 0

        awaited(is_ready, (self.folder / "log").read_text)

    def stop(self, how: Signals = FAST) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(PATIENCE)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """While its processes are stopped, and the kernel goes on: connections stay, and new ones are taken."""
        assert self.process is not None
        parent, stopped = self.process.pid, [self.process.pid]
        os.kill(parent, SIGSTOP)
        try:
            listed = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
            stopped += [int(line.split()[0]) for line in listed.splitlines() if line.split()[1] == str(parent)]
            for each in stopped:
                os.kill(each, SIGSTOP)
            yield
        finally:
            for each in stopped:
                with suppress(ProcessLookupError):  # one that was about to end has ended
                    os.kill(each, SIGCONT)

    def create_database(self, name: str = "", template: str = "template1") -> str:
        """A new database, by another name than those that other processes give; its URL."""
        import psycopg

        name = name or f"shop_{os.getpid()}_{next(self.numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Delete a database with all that is connected to it, if its server still answers."""
        import psycopg

        with suppress(psycopg.OperationalError), psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {url.rpartition('/')[2]} WITH (FORCE)".encode())

    def lend(self) -> "LentDatabase":
        """A database in this program's form that holds nothing: the one that was given back, or a new one."""
        lent, self.spare = self.spare, None
        return lent or LentDatabase(self.create_database(template=TEMPLATE))

    def take_back(self, lent: "LentDatabase") -> None:
        """Keep a database for the next test, or drop it, if it is no longer as it was lent."""
        if lent.is_as_new():
            self.spare = lent
        else:
            lent.close()
            self.drop_database(lent.url)


FORM = f"""
SELECT relname, attname, atttypid::regtype::text || attnotnull
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'step', steps::text, '' FROM {STEPS_TABLE} AS steps
ORDER BY 1, 2, 3
"""
"""The columns and indexes of a database, and the steps that its tables have taken."""

DISCONNECT = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

MANY = 2_000
"""Rows. A database that had more is dropped: what is deleted goes on taking room, and is read over."""


class LentDatabase:
    """A database that tests of one process use one after the other, emptied and compared with a new one in between.

    To create one and drop it takes 80 ms of processor time where this takes 3 (measured; TRUNCATE takes 20, since it
    makes new files, and a connection for it 20).
    """

    def __init__(self, url: str) -> None:
        import psycopg

        self.url = url
        options = "-c session_replication_role=replica"  # tables are emptied in any order
        self._connection = psycopg.connect(url, autocommit=True, options=options)
        self._form = self._connection.execute(FORM.encode()).fetchall()
        tables = {table for table, _, _ in self._form} - {"step", STEPS_TABLE}
        self._empty = "; ".join(f"DELETE FROM {table}" for table in sorted(tables)).encode()

    def is_as_new(self) -> bool:
        """Whether it has the columns, indexes and steps of a new one, when all rows are deleted and nobody uses it."""
        import psycopg

        try:
            self._connection.execute(DISCONNECT.encode())
            emptied = self._connection.execute(self._empty)
            rows = emptied.rowcount
            while emptied.nextset():
                rows += emptied.rowcount
            return rows < MANY and self._connection.execute(FORM.encode()).fetchall() == self._form
        except psycopg.Error:  # a table is gone, or somebody holds it
            return False

    def close(self) -> None:
        """Let the database be dropped."""
        self._connection.close()


@contextmanager
def postgresql_server(settings: Mapping[str, str] | None = None, below: Path | None = None) -> Iterator[PostgresServer]:
    """A server that is stopped and deleted at the end. Its files lie ``below`` a folder, by default in memory."""
    programs = required_postgresql()
    # not below a test's own folder, which is root's alone
    folder = Path(tempfile.mkdtemp(prefix=f"{run_name()}-postgresql-", dir=below or memory()))
    server = PostgresServer(programs, folder, free_port(), settings or {})
    try:
        if account := _account():
            os.chown(folder, account["user"], account["group"])
        command = [f"{programs}/initdb", "-D", f"{folder}/data", "-U", "shopwindow", "-A", "trust", "-E", "UTF8"]
        options = ["--locale=C", "--no-sync", "--no-instructions"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=folder, **account)
        assert done.returncode == 0, done.stdout + done.stderr
        server.start()
        yield server
    finally:
        server.stop(IMMEDIATE)
        shutil.rmtree(folder, ignore_errors=True)


def required_postgresql() -> Path:
    """The folder of PostgreSQL's programs. Without them the test is skipped, or fails where everything is tested."""
    missing = [] if importlib.util.find_spec("psycopg") else ["psycopg"]
    found = next(filter(_runs, _folders()), None)
    if found is not None and not missing:
        return found
    reason = f"{', '.join(missing)} not installed" if missing else "there is no PostgreSQL here"
    if os.environ.get("SHOPWINDOW_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _folders() -> Iterator[Path]:
    """Where PostgreSQL may be: on the path, where Debian puts it, in the package pgserver."""
    if on_path := shutil.which("initdb"):
        yield Path(on_path).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    package = importlib.util.find_spec("pgserver")
    if package is not None and package.origin is not None:
        yield Path(package.origin).parent / "pginstall" / "bin"


def _runs(folder: Path) -> bool:
    """Whether its programs are there for the account that they run under."""
    try:
        command = [f"{folder}/initdb", "--version"]
        return subprocess.run(command, capture_output=True, cwd="/", **_account()).returncode == 0
    except OSError:
        return False


def _account() -> dict[str, Any]:
    """Under which account PostgreSQL's programs run: they refuse to be root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


# -- opt-ins written to a database and read back, and answers stored under a key ---------------------------------------


NOW = datetime(2026, 11, 24, 17, tzinfo=UTC)
RETRY = Retry(("phone", "POST", "v2/path", "key"), "digest")
ANSWER = Outcome({"success": True, "text": "ünï"}, '"etag"')


def choose(
    database: Database, device: str, choice: str = "IN", user: str | None = None, at: datetime = NOW, key: str = ""
) -> None:
    """Record one choice of the phone application; the history lists those of one instant in the order of their keys."""
    key = key or f"{time.monotonic_ns():020}{os.urandom(6).hex()}"
    database.write(lambda shop: shop[CONSENTS].record("phone", device, choice, user, at, key))


def history(database: Database, since: str = "") -> list[tuple[str, str, str | None]]:
    choices: list[Choice] = database.read(lambda shop: shop[CONSENTS].history(since))
    return [(choice.device, choice.choice, choice.user) for choice in choices]


def devices(url: str) -> list[str]:
    """The devices of all choices, in their order."""
    database = open_database(url, INTERFACE.tables)
    try:
        return [device for device, _, _ in history(database)]
    finally:
        database.close()


def begun(database: Database, at: datetime = NOW, retry: Retry = RETRY) -> Outcome | None:
    """What is found under a key; where nothing is, the answer is kept."""

    def work(shop: Tables) -> Outcome | None:
        known = shop[STORED_RESPONSES].find(retry, at)
        if known is None:
            shop[STORED_RESPONSES].store(retry, ANSWER, at)
        return known

    return database.write(work)


# -- opt-ins and opt-outs sent to a running service, and those that its database has -----------------------------------


PATH = "/v2/utility/mobileoptinout"


def post(
    server: Server,
    device: str = "device",
    choice: Any = "IN",
    headers: Mapping[str, str] | None = None,
    key: str = PHONE,
    path: str = PATH,
) -> Answer:
    """One opt-in or opt-out, on a connection of its own."""
    connection = HTTPConnection(ADDRESS, server.port, timeout=PATIENCE)
    sent = {"x-svc-webservice-client-id": key, "Content-Type": "application/json", **(headers or {})}
    try:
        connection.request("POST", path, json.dumps({"deviceID": device, "optInOrOptOut": choice}), sent)
        response = connection.getresponse()
        received = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, received, response.read())
    finally:
        connection.close()


def devices_of(engine: Engine) -> Counter[str]:
    """How often each device chose."""
    database = engine.open()
    try:
        return Counter(
            device for (device,) in database.read(lambda shop: shop.session.run("SELECT device FROM consent_history"))
        )
    finally:
        database.close()


PROMOTION = {
    "promotionName": "Winter <sale>",
    "description": "All & more.",
    "offerDescription": "",
    "promotionCode": "SAVE10",
    "legalDisclaimer": "",
    "effective": "2026-11-20",
    "expiry": "2026-12-24",
}
DOCUMENT = {
    "from": {"address": "offers@shop.example", "name": "Caf\u00e9 \u6771\u4eac, Inc."},
    "sender": {"address": "ann@mail.example", "name": 'Ann "O" <x@y.example>, \u00c5sa'},
    "message": "<b>Look</b> & see:\nhttps://mail.example/?a=1&b=2",
    "promotion": PROMOTION,
    "coupon": None,
    "link": "https://www.shop.example/offers",
    "unsubscribe": "https://www.shop.example/stop",
}


MAIL_ID = "0123456789abcdef" * 2


def claimed(document: Any, template: str = "share") -> ClaimedMail:
    """A mail to Bob, promised on November 24, as a sender claims it."""
    text = json.dumps({TEMPLATE_KEY: template, **document})
    return ClaimedMail(MAIL_ID, "", "bob@mail.example", text, "2026-11-24T17:00:00.000Z", 0)
