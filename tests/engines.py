"""Both engines of the store, real ones: a SQLite file, and a PostgreSQL server that the tests start for themselves."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from signal import SIGCONT, SIGINT, SIGQUIT, SIGSTOP, Signals
from typing import Any

import pytest

from nginx import ADDRESS, free_port
from vitrine.service.sql.database import Database, open_database

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
        return open_database(self.url)


def engine_of(request: pytest.FixtureRequest, name: str, folder: Path) -> Engine:
    """An empty database: a file in ``folder``, or one of this run's server."""
    if name == "sqlite":
        return Engine(name, f"sqlite:///{folder / 'store.sqlite'}")
    server: PostgresServer = request.getfixturevalue("postgresql")
    return Engine(name, server.create_database())


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Engine:
    """A test that asks for this runs on each engine."""
    return engine_of(request, request.param, tmp_path)


@pytest.fixture
def database(engine: Engine) -> Iterator[Database]:
    """The store, brought to this program's form, on each engine."""
    database = engine.open()
    database.migrate()
    yield database
    database.close()


@pytest.fixture(scope="session")
def postgresql() -> Iterator["PostgresServer"]:
    """The one PostgreSQL server of this run. It does not sync: the machine stays up, and no kill loses anything."""
    with postgresql_server({"fsync": "off", "max_connections": "300"}) as server:
        yield server


# -- a PostgreSQL server -----------------------------------------------------------------------------------------


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
        return f"postgresql://vitrine@{ADDRESS}:{self.port}/{name}"

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        settings = [f"--{name}={value}" for name, value in self.settings.items()]
        command = [f"{self.programs}/postgres", "-D", f"{self.folder}/data", "-k", str(self.folder)]
        command += ["-h", ADDRESS, "-p", str(self.port), *settings]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **_account())
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
                os.kill(each, SIGCONT)

    def create_database(self) -> str:
        """A new database; its URL."""
        import psycopg

        name = f"shop{next(self.numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)


@contextmanager
def postgresql_server(settings: Mapping[str, str] | None = None) -> Iterator[PostgresServer]:
    """A server that is stopped and deleted at the end."""
    programs = required()
    folder = Path(tempfile.mkdtemp(prefix="vitrine-postgresql-"))  # not below a test's own, which is root's alone
    server = PostgresServer(programs, folder, free_port(), settings or {})
    try:
        if account := _account():
            os.chown(folder, account["user"], account["group"])
        command = [f"{programs}/initdb", "-D", f"{folder}/data", "-U", "vitrine", "-A", "trust", "-E", "UTF8"]
        options = ["--locale=C", "--no-sync", "--no-instructions"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=folder, **account)
        assert done.returncode == 0, done.stdout + done.stderr
        server.start()
        yield server
    finally:
        server.stop(IMMEDIATE)
        shutil.rmtree(folder, ignore_errors=True)


def required() -> Path:
    """The folder of PostgreSQL's programs. Without them the test is skipped, or fails where everything is tested."""
    missing = [name for name in ("psycopg", "psycopg_pool") if importlib.util.find_spec(name) is None]
    found = next(filter(_runs, _folders()), None)
    if found is not None and not missing:
        return found
    reason = f"{', '.join(missing)} not installed" if missing else "there is no PostgreSQL here"
    if os.environ.get("VITRINE_REQUIRE_ALL") == "1":
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
