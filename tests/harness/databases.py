"""What a service keeps: both engines, opt-ins, and mails, with a server that takes them."""

import asyncio
import fcntl
import importlib.util
import json
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGQUIT, SIGSTOP, Signals
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from facts.conformance import PHONE
from harness.commands import ends_with_us
from harness.program import Answer, Database
from harness.servers import ADDRESS, Server, environment, free_port
from shopwindow.interface.operation import Outcome
from shopwindow.interface.outbox import OUTBOX
from shopwindow.interface.table import Tables
from shopwindow.retail.consents.table import CONSENTS, Choice
from shopwindow.service.database.opening import open_database
from shopwindow.service.database.retries import STORED_RESPONSES, Retry
from shopwindow.service.letters import Letters
from shopwindow.service.mail import Patience, Senders
from shopwindow.service.smtp import SmtpServer
from shopwindow.shop import INTERFACE

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


def engine_of(request: pytest.FixtureRequest, name: str, folder: Path, *, migrated: bool = False) -> Engine:
    """An empty database: a file in ``folder``, or one of this run's server, there ``migrated`` if that is wanted."""
    if name == "sqlite":
        return Engine(name, f"sqlite:///{folder / 'store.sqlite'}")
    server: PostgresServer = request.getfixturevalue("postgresql")
    return Engine(name, server.create_migrated() if migrated else server.create_database())


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A test that asks for this runs on each engine."""
    engine = engine_of(request, request.param, tmp_path, migrated="database" in request.fixturenames)
    yield engine
    if engine.name == "postgresql":  # 7 MB each, and the server keeps its files in memory where it can
        server: PostgresServer = request.getfixturevalue("postgresql")
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

    def url(self, name: str = "postgres") -> str:
        return f"postgresql://shopwindow@{ADDRESS}:{self.port}/{name}"

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        settings = [f"--{name}={value}" for name, value in self.settings.items()]
        command = [f"{self.programs}/postgres", "-D", f"{self.folder}/data", "-k", str(self.folder)]
        command += ["-h", ADDRESS, "-p", str(self.port), *settings]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, preexec_fn=ends_with_us, **_account()
            )
        self.process = process
        ready = [f"{self.programs}/pg_isready", "-q", "-h", ADDRESS, "-p", str(self.port)]
        deadline = time.monotonic() + 60
        while subprocess.run(ready).returncode:
            assert process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < deadline, "PostgreSQL does not answer"
            time.sleep(0.02)

    def stop(self, how: Signals = FAST) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(60)

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

    def create_migrated(self) -> str:
        """A new database in this program's form, on the server of a run; its URL."""
        return self.create_database(template=TEMPLATE)


@contextmanager
def postgresql_server(settings: Mapping[str, str] | None = None) -> Iterator[PostgresServer]:
    """A server that is stopped and deleted at the end."""
    programs = required_postgresql()
    # not below a test's own folder, which is root's alone
    folder = Path(tempfile.mkdtemp(prefix="shopwindow-postgresql-", dir=_memory()))
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


MEMORY = Path("/dev/shm")
"""A file system in memory, as Linux has it: a database of some hundred files is copied and deleted quickly there."""


def _memory() -> Path | None:
    """Where a server's files go: into memory, where there is room for a hundred databases."""
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 2_000_000_000 else None


def required_postgresql() -> Path:
    """The folder of PostgreSQL's programs. Without them the test is skipped, or fails where everything is tested."""
    missing = [name for name in ("psycopg", "psycopg_pool") if importlib.util.find_spec(name) is None]
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
RETRY = Retry("phone", "POST", "v2/path", "key", "digest")
ANSWER = Outcome({"success": True, "text": "ünï"}, '"etag"')


def choose(
    database: Database, device: str, choice: str = "IN", user: str | None = None, at: datetime = NOW, key: str = ""
) -> None:
    """Record one choice of the phone application."""
    key = key or os.urandom(16).hex()
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
        known = shop[STORED_RESPONSES].begin(retry, at)
        if known is None:
            shop[STORED_RESPONSES].finish(retry, ANSWER)
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
    connection = HTTPConnection(ADDRESS, server.port, timeout=30)
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


# -- a real SMTP server on loopback, which takes mails, refuses, delays and drops them as it is told -------------------


DROP, DROP_AFTER_ACCEPTING = "drop", "drop after accepting"


@dataclass
class MailServer:
    """What came, and what shall come of it: for each recipient the answers to RCPT and to DATA, one an attempt."""

    port: int = 0
    rcpt: dict[str, list[str]] = field(default_factory=dict)
    data: dict[str, list[str]] = field(default_factory=dict)
    mail: list[str] = field(default_factory=list)
    delay: float = 0
    taken: list[tuple[str, bytes]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    """The recipient of each attempt."""
    changed: threading.Condition = field(default_factory=threading.Condition)

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.mail:
            return self.mail.pop(0)
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self.seen.append(address)
        answers = self.rcpt.get(address)
        if answers:
            return self._answered(server, answers.pop(0))
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.delay:
            await asyncio.sleep(self.delay)
        (recipient,) = envelope.rcpt_tos
        answers = self.data.get(recipient)
        answer = answers.pop(0) if answers else "250 OK"
        if answer.startswith("250") or answer == DROP_AFTER_ACCEPTING:
            assert isinstance(envelope.content, bytes)
            with self.changed:
                self.taken.append((recipient, envelope.content))
                self.changed.notify_all()
        return self._answered(server, answer)

    def _answered(self, server: SMTP, answer: str) -> str:
        if answer.startswith(DROP):
            assert isinstance(server.transport, asyncio.Transport)
            server.transport.abort()
        return answer

    def ids(self) -> Counter[str]:
        """How often each Message-ID came."""
        return Counter(str(message_from_bytes(data)["Message-ID"]) for _, data in self.taken)

    def wait(self, number: int, seconds: float = 20) -> bool:
        """Until so many mails were taken."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self.taken) >= number, seconds)


class _Controller(Controller):
    """aiosmtpd's, which connects to itself to see whether it listens: without TLS, even where that comes first."""

    def _trigger_server(self) -> None:
        socket.create_connection((self.hostname, self.port), 5).close()


@contextmanager
def mail_server(
    port: int = 0, tls: str = "none", trust: tuple[Path, Path] | None = None, login: tuple[str, str] | None = None
) -> Iterator[MailServer]:
    """A server that listens; ``trust``: its certificate and key."""
    server = MailServer(port or free_port())
    more: dict[str, Any] = {}
    context = None
    if trust is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*trust)
    if tls == "starttls":
        more |= {"tls_context": context, "require_starttls": True}
    if login is not None:

        def known(
            server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword
        ) -> AuthResult:
            is_known = (data.login, data.password) == tuple(map(str.encode, login))
            return AuthResult(success=is_known, handled=False)

        more |= {"authenticator": known, "auth_required": True, "auth_require_tls": tls == "starttls"}
    implicit = context if tls == "implicit" else None
    controller = _Controller(server, hostname=ADDRESS, port=server.port, ssl_context=implicit, **more)
    controller.start()
    try:
        yield server
    finally:
        controller.stop()


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for the loopback address that its own key has signed, and the key."""
    made = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=loopback", "-addext", f"subjectAltName=IP:{ADDRESS}", "-days", "2"]
    try:
        subprocess.run([*command, "-out", made[0], "-keyout", made[1]], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not there to make a certificate")
    return made


# -- mails put into an outbox, and the senders that take them out ------------------------------------------------------


QUICK = Patience(lease=20, first=0.05, longest=0.2, deferred=4, poll=0.05, outage=0.2)


def promise(database: Database, *recipients: str) -> None:
    """Put mails into the outbox, in one transaction. They have been due for a while, whosever clock is asked."""
    due = datetime.now(UTC) - timedelta(seconds=10)

    def add(shop: Tables) -> None:
        for recipient in recipients:
            shop[OUTBOX].add(os.urandom(16).hex(), "share", recipient, DOCUMENT, due)

    database.write(add)


def counts(database: Database) -> dict[str, int]:
    return {name: number for name, number in database.read(lambda shop: shop[OUTBOX].counts()).items() if number}


@contextmanager
def sending(database: Database, server: SmtpServer, patience: Patience = QUICK, threads: int = 2) -> Iterator[Senders]:
    senders = Senders(database, server, Letters(INTERFACE), threads, patience)
    senders.start()
    try:
        yield senders
    finally:
        senders.stop()


def plain(server: MailServer) -> SmtpServer:
    return SmtpServer(ADDRESS, server.port, "none")


def command(*more: str) -> list[str]:
    return [sys.executable, "-m", "shopwindow", "mail", *more]


def surroundings(engine: Engine, server: MailServer) -> dict[str, str]:
    smtp = {"SHOPWINDOW_SMTP_HOST": ADDRESS, "SHOPWINDOW_SMTP_PORT": str(server.port), "SHOPWINDOW_SMTP_TLS": "none"}
    return environment(SHOPWINDOW_DATABASE=engine.url, **smtp)
