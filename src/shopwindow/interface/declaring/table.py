"""A Table describes what actions write.

That is its SQL, its verbs (what may be done with its rows), which of its rows are a
person's, and which age out. The engine carries tables out: it takes their steps,
removes a person's rows from all of them and prunes all of them. It knows no table but
its own. So whoever adds a table says here what must happen to its rows, and no command
can overlook it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Row = tuple[Any, ...]
Verbs = TypeVar("Verbs")
Result = TypeVar("Result")


class Session(Protocol):
    """An open transaction."""

    def run(self, sql: str, *values: Any) -> list[Row]:
        """Run one statement and return its rows. ``?`` stands for each of the values,
        on either engine.
        """


def written(moment: datetime) -> str:
    """Return an instant as it is stored: UTC, ISO 8601 with milliseconds.

    Such texts sort by time, so that SQL can compare them.
    """
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def read_instant(text: str) -> datetime:
    """Return the instant that ``written`` wrote."""
    return datetime.fromisoformat(text).astimezone(UTC)


def microseconds(moment: datetime) -> int:
    """Return an instant as microseconds since 1970, for tables that reckon with
    instants.
    """
    since = moment - _UNIX_EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


@dataclass(frozen=True)
class Column:
    """A column that names a person.

    ``value`` returns what the column holds for the text by which an operator names the
    person; None: no row can hold it. ``quoted`` is for tables whose stored answers name
    a person although the request did not: how such an answer does so, with `{}` for the
    value in JSON.
    """

    name: str
    value: Callable[[str], object] = str
    quoted: str = ""


@dataclass(frozen=True)
class Personal:
    """Rows that are a person's, whom a device, a user or either identifies.

    ``rows`` is the SQL table. ``called`` is what removed rows are reported as; empty:
    they are not reported, because they only repeat what other rows say.
    """

    rows: str
    device: Column | None = None
    user: Column | None = None
    called: str = ""

    def column(self, by: str) -> Column | None:
        """Return the column that names a person by `device` or by `user`, or None."""
        return self.device if by == "device" else self.user


@dataclass(frozen=True)
class Aging:
    """Rows that are removed some time after the instant in one of their columns.

    ``rows`` is the SQL table. ``column`` holds the instant, as ``stored`` writes it;
    few rows share one, since those are removed together. A row stays for ``lifetime`` after its instant; an operator
    may set another time where there is an ``option``, a name for `maintain --rows
    NAME=DAYS`. ``where`` is SQL that narrows the rows, and ``called`` is what removed
    rows are reported as.
    """

    rows: str
    column: str
    lifetime: timedelta
    called: str
    option: str = ""
    where: str = ""
    stored: Callable[[datetime], object] = written


@dataclass(frozen=True)
class Table(Generic[Verbs]):
    """What actions write, as one value.

    ``name`` is unique among the tables of a database. ``steps`` bring a database to
    this form; the first has number 1. They go forward only, and never take away what an
    older program uses. Each is SQL in the spelling that SQLite and PostgreSQL share; no
    statement has a semicolon, `?` or `%` within. Only SQLite heeds WITHOUT ROWID.
    ``verbs`` makes the object whose methods run the table's statements in an open
    transaction.

    One Table may have several SQL tables. One that holds a person's rows stands in
    ``personal``, unless its rows go with such a row by ON DELETE CASCADE; one whose
    rows age out stands in ``aging``.
    """

    name: str
    steps: tuple[str, ...]
    verbs: Callable[[Session], Verbs]
    personal: tuple[Personal, ...] = ()
    aging: tuple[Aging, ...] = ()


def by_name(tables: Iterable[Table[Any]]) -> Mapping[str, Table[Any]]:
    """Return tables by their names. Raises ValueError where two have one name."""
    named: dict[str, Table[Any]] = {}
    for table in tables:
        if table.name in named:
            raise ValueError(
                f"two tables are called {table.name};"
                " a database tells its tables apart by their names"
            )
        named[table.name] = table
    return named


class Tables:
    """The tables of one open transaction: ``tables[BAGS]`` is what may be done with
    bags.

    There are only the tables that the database was opened with. So an action cannot
    write rows of which `optins forget` and `prune-database` know nothing.
    """

    def __init__(self, session: Session, declared: Mapping[str, Table[Any]]) -> None:
        self.session = session
        self.declared = declared
        self._verbs: dict[str, Any] = {}

    def __getitem__(self, table: Table[Verbs]) -> Verbs:
        verbs: Verbs | None = self._verbs.get(table.name)
        if verbs is None:
            if self.declared.get(table.name) is not table:
                raise LookupError(
                    f"the Interface does not list the table {table.name} among its tables"
                )
            verbs = self._verbs[table.name] = table.verbs(self.session)
        return verbs


class Writer(Protocol):
    """A database, as far as a shop needs to know it: it runs work in a transaction."""

    def write(self, work: Callable[[Tables], Result]) -> Result:
        """Run ``work``, and return what it returns once its writes are durable.

        What it raises rolls them back, and is raised here.
        """
