"""A public library's branches and reading events: two kinds, four operations of which
one writes, and its table.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from shopwindow.content.documents import Content
from shopwindow.content.kinds import Kind, Reference
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Call
from shopwindow.interface.interface import Interface
from shopwindow.interface.kinds import Ids
from shopwindow.interface.operation import (
    CALLBACK,
    FIELDS,
    Arguments,
    FromContent,
    FromStore,
    Moment,
    Operation,
    Outcome,
    Parameter,
)
from shopwindow.interface.table import (
    Column,
    Personal,
    Session,
    Step,
    Table,
    Tables,
    written,
)
from shopwindow.problems import Fault, Refusal

# -- what editors write ----------------------------------------------------------------

BRANCH = Kind(
    "branch",
    "branches",
    "branch.json",
    ids=("branchId",),
    title=("name",),
    scheduled=False,
)

READING = Kind(
    "reading",
    "readings",
    "reading.json",
    ids=("readingId",),
    order=("start", "readingId"),
    title=("title",),
    references=(Reference(("branchId",), "branch"),),
)


# -- what is read ----------------------------------------------------------------------


def branches(content: Content, call: Call) -> Json:
    """Every branch."""
    return {"branches": list(content.documents(BRANCH.name))}


def readings(content: Content, call: Call) -> Json:
    """The readings of all branches or of some, by start."""
    wanted = call["branch"]
    return {
        "readings": [
            each
            for each in content.documents("reading")
            if not wanted or each["branchId"] in wanted
        ]
    }


def readings_of_each_branch(content: Content) -> Iterator[Arguments]:
    """Pre-render the readings of all branches, and of each alone."""
    yield {}
    yield from ({"branch": (branch,)} for branch in content.identities("branch"))


def readings_by_id(content: Content, call: Call) -> Json:
    """Some readings, in the order of their ids."""
    named = [content.document("reading", "readingId", id) for id in call["readingId"]]
    if not any(named):
        raise Refusal("no_data", (Fault("readingId", "there is no such reading"),))
    return {"readings": [reading for reading in named if reading]}


def each_reading(content: Content) -> Iterable[Arguments]:
    """Pre-render every reading."""
    return ({"readingId": (reading,)} for reading in content.identities("reading"))


# -- what is written -------------------------------------------------------------------


class Registrations:
    """Who has a seat at which reading."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def seats(self, reading: int) -> int:
        """Return how many seats of a reading are taken."""
        ((taken,),) = self._run(
            "SELECT COALESCE(SUM(seats), 0) FROM registrations WHERE reading = ?",
            reading,
        )
        return int(taken)

    def take(self, id: str, reading: int, email: str, seats: int, at: str) -> None:
        """Take seats for a person."""
        self._run(
            "INSERT INTO registrations (id, reading, email, seats, at) VALUES (?, ?, ?, ?, ?)",
            *(id, reading, email, seats, at),
        )


REGISTRATIONS = Table(
    name="registrations",
    steps=(
        Step(
            """
            CREATE TABLE registrations (
                id TEXT PRIMARY KEY,
                reading BIGINT NOT NULL,
                email TEXT NOT NULL,
                seats BIGINT NOT NULL,
                at TEXT NOT NULL
            );
            CREATE INDEX registrations_reading ON registrations (reading);
            CREATE INDEX registrations_email ON registrations (email)
            """
        ),
    ),
    verbs=Registrations,
    personal=(Personal("registrations", user=Column("email"), called="registrations"),),
)


def register(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Take seats at a reading that is announced, as long as there are some."""
    body = call.body
    reading = content.document("reading", "readingId", body["readingId"])
    if reading is None:
        raise Refusal("no_data", (Fault("readingId", "there is no such reading"),))
    left = reading["seats"] - tables[REGISTRATIONS].seats(body["readingId"])
    if body["seats"] > left:
        raise Refusal(
            "invalid", (Fault("seats", f"must be at most {left}, which are left"),)
        )
    id = moment.random(16).hex()
    tables[REGISTRATIONS].take(
        id, body["readingId"], body["email"], body["seats"], written(moment.now)
    )
    return Outcome({"registrationId": id, "seatsLeft": left - body["seats"]})


# -- all of it -------------------------------------------------------------------------

_BRANCH = Parameter(
    "branch", Ids(), "Only readings at these branches, comma-separated.", example="1"
)
_READING = Parameter("readingId", Ids(), "The readings, comma-separated.", example="10")
_ITEMS = ("readings",)

OPERATIONS = (
    Operation(
        "branches",
        "v1/branches",
        FromContent(branches, lambda content: [{}]),
        "branches",
        "Every branch of the library.",
        (FIELDS, CALLBACK),
        items=("branches",),
    ),
    Operation(
        "readings",
        "v1/readings",
        FromContent(readings, readings_of_each_branch),
        "readings",
        "The readings that are announced now.",
        (_BRANCH, FIELDS, CALLBACK),
        items=_ITEMS,
    ),
    Operation(
        "readings_by_id",
        "v1/readings/{readingId}",
        FromContent(readings_by_id, each_reading),
        "readings",
        "Some readings, by their ids.",
        (_READING, FIELDS, CALLBACK),
        items=_ITEMS,
    ),
    Operation(
        "register",
        "v1/registrations",
        FromStore(register),
        "registration",
        "Take seats at a reading.",
        method="POST",
        body="registration",
    ),
)

INTERFACE = Interface(
    title="Harborview Public Library",
    version="1",
    kinds=(BRANCH, READING),
    operations=OPERATIONS,
    tables=(REGISTRATIONS,),
    schemas=Path(__file__).parent / "schemas",
)
