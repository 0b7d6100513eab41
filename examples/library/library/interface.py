"""A public library: its branches, its readings, and who has seats at them.

It is an example of an Interface beside the shop's: two kinds of documents that editors
write, three operations that read them, one operation that writes, and its table. The
Interface at the end puts these together.
"""

from collections.abc import Iterator
from pathlib import Path

from shopwindow.content.documents.documents import Content
from shopwindow.content.kinds import Kind, Reference
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.kinds import Ids
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    FIELDS,
    Arguments,
    Call,
    FromContent,
    FromStore,
    Moment,
    Operation,
    Outcome,
    Parameter,
)
from shopwindow.interface.declaring.table import (
    Column,
    Personal,
    Session,
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
    """Return every branch."""
    return {"branches": list(content.documents(BRANCH.name))}


def readings(content: Content, call: Call) -> Json:
    """Return the readings of some branches, or of all, by their start."""
    documents = content.documents("reading")
    branch_ids = call["branch"]
    if branch_ids:
        documents = [
            reading for reading in documents if reading["branchId"] in branch_ids
        ]
    return {"readings": list(documents)}


def readings_of_each_branch(content: Content) -> Iterator[Arguments]:
    """Pre-render the readings of all branches together, and of each branch."""
    yield {}
    for branch in content.identities("branch"):
        yield {"branch": (branch,)}


def readings_by_id(content: Content, call: Call) -> Json:
    """Return some readings, in the order of their ids."""
    by_ids = [content.document("reading", "readingId", id) for id in call["readingId"]]
    documents = [reading for reading in by_ids if reading is not None]
    if not documents:
        raise Refusal("no_data", Fault("readingId", "there is no such reading"))
    return {"readings": documents}


def each_reading(content: Content) -> Iterator[Arguments]:
    """Pre-render every reading."""
    for reading in content.identities("reading"):
        yield {"readingId": (reading,)}


# -- what is written -------------------------------------------------------------------


class Registrations:
    """Who has seats at which reading: the verbs of the table, within a transaction."""

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
        """Store that a person has seats."""
        self._run(
            "INSERT INTO registrations (id, reading, email, seats, at) VALUES (?, ?, ?, ?, ?)",
            *(id, reading, email, seats, at),
        )


REGISTRATIONS = Table(
    name="registrations",
    steps=(
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
        """,
    ),
    verbs=Registrations,
    personal=(Personal("registrations", user=Column("email"), called="registrations"),),
)


def register(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Take seats at a reading that is live, if enough are left.

    The seats are counted and taken in one transaction, so no seat is taken twice.
    """
    body = call.body
    id, seats = body["readingId"], body["seats"]
    reading = content.document("reading", "readingId", id)
    if reading is None:
        raise Refusal("no_data", Fault("readingId", "there is no such reading"))

    registrations = tables[REGISTRATIONS]
    left = reading["seats"] - registrations.seats(id)
    if seats > left:
        fault = Fault("seats", f"must be at most {left}, which are left")
        raise Refusal("invalid", fault)

    registration = moment.random(16).hex()
    registrations.take(registration, id, body["email"], seats, written(moment.now))
    return Outcome({"registrationId": registration, "seatsLeft": left - seats})


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
        unlimited="A reading has few seats.",
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
