"""The database of a process, on either engine: requests that wait share a commit.

How this works. Requests that write take turns (`turns`): one leads. It writes in one
transaction what all of those have to write who wait by then, each action under a
savepoint. One process at a time has the database's turn, so an action may be written as
if it were alone.

A database is opened when it is first used, and brought to the form of its tables if it
lacks steps of theirs. So a service starts without its database, answers what it can,
and uses the database once it is there.

A request waits for `DATABASE_SECONDS` at most until its turn comes. Who leads tries for
as long as that: whatever passes, such as a restart of the server, is tried again. Then
everybody who waits is refused. For a while after that one request at a time tries to
read the database, and other reads of it are refused at once, for threads that wait
cannot answer reads of the release.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from shopwindow.interface.declaring.table import Result, Table, Tables
from shopwindow.problems import Failure, Refusal
from shopwindow.service import journal
from shopwindow.service.database.address import server_address, sqlite_path
from shopwindow.service.database.engine import (
    DATABASE_SECONDS,
    Engine,
    Lost,
    OutcomeUnknown,
    Transaction,
    unavailable,
)
from shopwindow.service.database.rates import RATES
from shopwindow.service.database.sqlite import SQLite
from shopwindow.service.database.tables import (
    TablesByName,
    declared,
    lacking,
    migrate,
    reached,
)
from shopwindow.service.database.turns import (
    Steps,
    Turns,
    Waiting,
    completed,
)

OUTAGE_WAIT_SECONDS = 0.5
"""How long who leads tries where the database was out of reach a moment ago."""

TRY_AGAIN_SECONDS = 0.1
"""The pause between two tries: short beside a restart, long beside a refused connection."""

OUTCOME_UNKNOWN = "it is not known whether this was kept"
"""The reason in a response where the transaction may have been committed or not."""


class OutOfUse(Failure):
    """The database cannot be used now, and may be later."""


@dataclass(frozen=True)
class Load:
    """How much a process waits for its database.

    ``waiting`` counts the actions that wait or are being written; ``oldest`` is for how
    many seconds the first of them has waited.
    """

    waiting: int = 0
    oldest: float = 0.0


class Meter:
    """What is notified of each transaction; this one counts nothing.

    Its methods never raise: a broken metric must not make a write fail.
    """

    def wrote(self, actions: int, seconds: float) -> None:
        """Count a committed transaction of so many actions."""

    def failed(self) -> None:
        """Count an action that is not stored, because the database could not store it."""


def open_database(
    url: str, tables: Iterable[Table[Any]], meter: Meter | None = None
) -> "Database":
    """Return the database of a URL: `sqlite:///path` or `postgresql://…`.

    ``tables`` are what actions write there (Interface.tables); the engine's own are
    added.

    Raises Failure for a malformed address, and for a file on a network file system.
    """
    path = sqlite_path(url)
    engine = SQLite(path) if path else _server(url)
    return Database(engine, declared(tables), meter)


def _server(url: str) -> Engine:
    try:
        from shopwindow.service.database.postgresql import PostgreSQL
    except ModuleNotFoundError as error:
        install = "`pip install -e '.[postgresql]'` in a checkout installs it"
        raise Failure(
            f"{error.name} is not installed, and PostgreSQL needs it: {install}"
        ) from None
    return PostgreSQL(server_address(url))


class Database:
    """The database of a process, shared by its threads.

    ``patience``: seconds that a request waits for its turn. Whoever forks does it before
    the database is used, or after `close`: SQLite counts its locks by process, and a
    connection has one user.
    """

    def __init__(
        self,
        engine: Engine,
        tables: TablesByName,
        meter: Meter | None = None,
        patience: float = DATABASE_SECONDS,
    ) -> None:
        self.tables = tables
        self._engine = engine
        self._meter = meter or Meter()
        self._patience = patience
        self._is_closed = False
        self._turns = Turns()
        self._has_form = False
        self._away_until = 0.0  # until then the database counts as out of reach
        self._writing = threading.Lock()
        self._tries = threading.Lock()  # held by the one that reads meanwhile

    # -- writing -----------------------------------------------------------------------

    def write(self, work: Callable[[Tables], Result]) -> Result:
        """Run ``work`` in a transaction, and return what it returns once its writes are
        durable.

        What ``work`` raises rolls its writes back, and is raised here. ``work`` is
        called again where its transaction is certain to be rolled back.

        Raises Refusal ``unavailable`` where the database cannot store anything now, or
        nobody knows whether it has.
        """
        return completed(self.writing(work), self.refuse_late)

    def writing(
        self, work: Callable[[Tables], Result], rates: Collection[str] = ()
    ) -> Steps[Result]:
        """Take the steps of ``write``. ``rates`` are the names of those from which
        ``work`` may take. Whoever has no thread wait for the steps calls `refuse_late`
        at times.
        """
        if self._is_closed:
            raise unavailable("the service is stopping")
        waiting = Waiting(work, rates)
        yield partial(self._turns.join, waiting)
        if waiting.leads:
            self._lead()
        if isinstance(waiting.error, Lost):
            self._meter.failed()
            raise self._refusal(waiting.error, "written to")
        if waiting.error is not None:
            raise waiting.error
        result: Result = waiting.result
        return result

    def refuse_late(self) -> None:
        """Refuse whoever has waited too long for its turn."""
        for waiting in self._turns.dismiss(self._patience):
            waiting.error = Lost("no turn in time", passes=True)
            waiting.wake()

    def _lead(self) -> None:
        """Write a batch, answer everybody in it, and hand on the lead.

        Where that fails, nobody who waits is stored, not even those whose own statements
        have succeeded. After a bug that is not certain.
        """
        try:
            self._tried(self._write_batch)
        except (Lost, Failure) as error:
            _fail(self._turns.take(), Lost(error, passes=False))
        except BaseException as error:
            journal.failure(error)
            _fail(self._turns.take(), OutcomeUnknown(error, passes=False))
            if not isinstance(error, Exception):  # Ctrl-C is of who leads
                raise
        finally:
            self._turns.hand_on()

    def _write_batch(self, until: float) -> None:
        """Write what waits in one transaction.

        Raises Lost, Failure, and whatever is a bug.
        """
        try:
            with self._writing, self._engine.turn(until) as session:
                started = time.perf_counter()
                batch = self._turns.take()
                tables = Tables(session, self.tables)
                rates = tables[RATES]
                rates.read({name for waiting in batch for name in waiting.rates})
                for waiting in batch:
                    self._act(session, waiting, tables)
                rates.store()
        except OutcomeUnknown as error:
            _fail(batch, error)
        else:
            self._meter.wrote(len(batch), time.perf_counter() - started)

    def _act(self, session: Transaction, waiting: Waiting, tables: Tables) -> None:
        """Run an action of the batch. Its own error is its answer, takes back what it has
        written, and gives back what it has taken.
        """
        full_at = tables[RATES].full_at
        waiting.error = session.failed = None
        session.run("SAVEPOINT action")
        try:
            waiting.result = waiting.work(tables)
            if session.failed:  # the action has hidden it
                raise session.failed
        except Lost:
            raise
        except Exception as error:
            waiting.error = error
            session.run("ROLLBACK TO action")
            tables[RATES].full_at = full_at
        session.run("RELEASE action")

    # -- reading -----------------------------------------------------------------------

    def read(self, work: Callable[[Tables], Result]) -> Result:
        """Return what ``work`` returns, from one consistent state of the database.

        Raises Refusal ``unavailable``.
        """
        if self._is_closed:
            raise unavailable("the service is stopping")

        def attempt(until: float) -> Result:
            with self._engine.reading(until) as session:
                return work(Tables(session, self.tables))

        is_away = time.monotonic() < self._away_until
        if is_away and not self._tries.acquire(blocking=False):
            raise unavailable("the database cannot be read now")
        try:
            return self._tried(attempt)
        except (Lost, Failure) as error:
            raise self._refusal(error, "read") from error
        finally:
            if is_away:
                self._tries.release()

    def now(self) -> datetime:
        """Return the time by the database's clock, which all hosts share.

        It is this host's time while the database is out of reach.
        """
        if not self._has_form:
            with suppress(Refusal):  # out of reach, which has been logged
                self.read(lambda tables: None)
        return self._engine.now()

    def fault(self) -> str:
        """Return why the database cannot be used now, in words; empty where it can."""
        try:
            self._prepare(time.monotonic() + self._patience)
        except Lost as error:
            return f"{self._engine}: {error}"
        except Failure as failure:
            return str(failure)
        return ""

    # -- the form of its tables --------------------------------------------------------

    def migrate(self) -> list[str]:
        """Bring the database to the form of its tables: all steps or none. Return those
        taken.

        Raises OutOfUse, and Failure where the database is newer than this program.
        """
        try:
            return self._migrated(time.monotonic() + self._patience)
        except Lost as error:
            raise OutOfUse(f"{self._engine} cannot be migrated: {error}") from None

    def _migrated(self, until: float) -> list[str]:
        with self._writing, self._engine.turn(until) as session:
            try:
                return migrate(session, self.tables)
            except (Lost, Failure):
                raise
            except Exception as error:  # such as a right that the database's user lacks
                words = f"{self._engine} cannot be migrated: {error}"
                raise OutOfUse(words) from error

    def _prepare(self, until: float) -> None:
        """Look at the form of the database. When it is first used, bring it to that of
        its tables; raise Failure where it is newer than this program. Later, raise Lost
        where its tables have gone.
        """
        try:
            with self._engine.reading(until) as session:
                steps = reached(session)
        except (Lost, Failure):
            raise
        except Exception as error:  # each engine's own, for a table that is not there
            if self._has_form:
                raise Lost(error, passes=False) from error
            steps = {}
        if not self._has_form:
            if lacking(steps, self.tables):
                self._migrated(until)
            self._has_form = True

    # -- the rest ----------------------------------------------------------------------

    def load(self) -> Load:
        """Return how much waits in this process now."""
        waiting = self._turns.waiting()
        oldest = time.monotonic() - waiting[0].since if waiting else 0.0
        return Load(len(waiting), oldest)

    def close(self) -> None:
        """Finish what waits, and close all connections. Later requests are refused."""
        self._is_closed = True
        deadline = time.monotonic() + 2 * self._patience
        while self._turns.waiting() and time.monotonic() < deadline:
            time.sleep(0.01)
        self._engine.close()

    def _tried(self, attempt: Callable[[float], Result]) -> Result:
        """Return what ``attempt`` returns, which is called until it is not Lost, or the
        time is over that it is handed. The database has the form of its tables then.
        """
        now = time.monotonic()
        is_away = now < self._away_until
        until = now + (OUTAGE_WAIT_SECONDS if is_away else self._patience)
        while True:
            try:
                if not self._has_form:
                    self._prepare(until)
                result = attempt(until)
            except Lost as lost:
                if not lost.passes:
                    raise
                now = time.monotonic()
                if now >= until:
                    self._away_until = now + self._patience
                    raise
                time.sleep(TRY_AGAIN_SECONDS)
            else:
                self._away_until = 0.0
                return result

    def _refusal(self, error: BaseException, what: str) -> Refusal:
        """Log an error, and return the refusal. ``what``: cannot be done, as `read`."""
        if isinstance(error, OutcomeUnknown):
            journal.error("write_unknown", f"{self._engine}: {error}")
            return unavailable(OUTCOME_UNKNOWN)
        text = f"{self._engine} cannot be {what}: {error}"
        journal.error("database_unavailable", text)
        return unavailable(f"the database cannot be {what} now")


def _fail(batch: Iterable[Waiting], error: Lost) -> None:
    """Answer those who wait by one error, which ends the transaction of all of them."""
    for waiting in batch:
        waiting.error = error
