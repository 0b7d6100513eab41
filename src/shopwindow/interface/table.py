"""A Table describes what actions write: its SQL, its verbs, which of its rows are a person's,
and which age out.

The engine carries tables out: it takes their steps, forgets a person in all of them and prunes
all of them. It knows no table but its own. So whoever adds a table says here what must happen
to its rows, and no command can overlook it.
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
        """Return the rows of one statement, none where it gives none. ``?`` stands for each
        value, on either engine.
        """
        ...


def written(moment: datetime) -> str:
    """Return an instant as it is stored: UTC, ISO 8601 with milliseconds; such texts sort by
    time.
    """
    return (
        moment.astimezone(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
    )


def read_instant(text: str) -> datetime:
    """Return the instant that ``written`` wrote."""
    return datetime.fromisoformat(text).astimezone(UTC)


def microseconds(moment: datetime) -> int:
    """Return an instant as microseconds since 1970, for tables that reckon with instants."""
    since = moment - _UNIX_EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


@dataclass(frozen=True)
class Step:
    """One step of a table's form. Steps go forward only, and what an older program uses is
    never taken away.

    ``sql`` holds statements in the spelling that SQLite and PostgreSQL share; none has a
    semicolon, `?` or `%` within. A table WITHOUT ROWID is SQLite's alone. ``formerly`` is the
    number that the step had while all tables shared one list (up to 5); a database that has
    taken that number has taken this step.
    """

    sql: str
    formerly: int | None = None


@dataclass(frozen=True)
class Column:
    """A column that names a person.

    ``value`` returns what stands in the column for the text by which an operator names the
    person; None: no row can have it. ``quoted`` is how an answer that is stored for repeated
    requests says the same, with `{}` for the value in JSON, where the request itself may not
    name the person.
    """

    name: str
    value: Callable[[str], object] = str
    quoted: str = ""


@dataclass(frozen=True)
class Personal:
    """Rows that are a person's, known by a device, by a user or by either.

    ``rows`` is the SQL table. ``called`` is what the number of removed rows is reported as;
    empty: it is not reported, because the rows only repeat what others say.
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

    ``rows`` is the SQL table, ``key`` its primary key, ``column`` holds the instant as
    ``stored`` writes it. ``where`` narrows the rows by SQL. ``kept`` is how long a row is kept
    after its instant. An operator may say otherwise where the rows have an ``option``: a name
    for `prune-database --keep NAME=DAYS`. ``called`` is what they are reported as.
    """

    rows: str
    key: tuple[str, ...]
    column: str
    kept: timedelta
    called: str
    option: str = ""
    where: str = ""
    stored: Callable[[datetime], object] = written


@dataclass(frozen=True)
class Table(Generic[Verbs]):
    """What actions write, as one value.

    ``name`` is unique among the tables of a database. ``steps`` bring a database to this form;
    the first has number 1. ``verbs`` makes the object whose methods run the table's statements
    in an open transaction. One Table may have several SQL tables. Each of them that holds a
    person's rows stands in ``personal``, or its rows go with such a row by ON DELETE CASCADE;
    each whose rows age out stands in ``aging``.
    """

    name: str
    steps: tuple[Step, ...]
    verbs: Callable[[Session], Verbs]
    personal: tuple[Personal, ...] = ()
    aging: tuple[Aging, ...] = ()


def by_name(tables: Iterable[Table[Any]]) -> Mapping[str, Table[Any]]:
    """Return tables by their names. Raises ValueError where two have one name."""
    named: dict[str, Table[Any]] = {}
    for table in tables:
        if table.name in named:
            raise ValueError(
                f"two tables are called {table.name}; a database tells its tables apart by their names"
            )
        named[table.name] = table
    return named


class Tables:
    """The tables of one open transaction: ``tables[BAGS]`` is what may be done with bags.

    Only tables that the database was opened with can be had. An action cannot write rows that
    `optins forget` and `prune-database` do not know.
    """

    def __init__(self, session: Session, declared: Mapping[str, Table[Any]]) -> None:
        self.session = session
        self._declared = declared
        self._verbs: dict[str, Any] = {}

    def __getitem__(self, table: Table[Verbs]) -> Verbs:
        verbs: Verbs | None = self._verbs.get(table.name)
        if verbs is None:
            if self._declared.get(table.name) is not table:
                raise LookupError(
                    f"the Interface does not list the table {table.name} among its tables"
                )
            verbs = self._verbs[table.name] = table.verbs(self.session)
        return verbs


class Writer(Protocol):
    """What runs work in a transaction: a database, for who need not know more of it."""

    def write(self, work: Callable[[Tables], Result]) -> Result:
        """Return what ``work`` returns, once all that it wrote is durable. What it raises rolls
        back what it wrote.
        """
        ...
