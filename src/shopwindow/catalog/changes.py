"""Reads a file of changes: what another system changed since a mark.

The first line says which documents changed, up to which mark, and since which. Then
each line is one change, and the last line counts them, so that a file that broke off is
noticed:

    {"kind": "product", "since": "2026-11-21", "mark": "2026-11-22"}
    {"upsert": {"id": 529100, "name": "Wool Coat", …}}
    {"delete": 529101}
    {"end": 2}

An upsert is the whole document, whether it is new or replaces another. With a mapping it
is a row of the other system, and a delete is as much of a row as its id is made of.

There may be a million changes, so they lie in a temporary file, by the id of what they
change.
"""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from shopwindow.catalog.foreign import NumberedRow, numbered_rows
from shopwindow.catalog.importing import document_faults
from shopwindow.catalog.kinds import KINDS
from shopwindow.catalog.mapping import BadRow, Mapped
from shopwindow.content.finding import shown
from shopwindow.content.kinds import Kind
from shopwindow.content.schema import Schemas
from shopwindow.content.yaml import Json, Malformed
from shopwindow.problems import nearest

CHANGE_FORM = '{"upsert": …}, {"delete": …}, or {"end": N} as the last line'

HEAD_FORM = '{"kind": …, "since": …, "mark": …}'

TABLE = """
CREATE TABLE change (
  id TEXT UNIQUE, line INTEGER PRIMARY KEY, document BLOB, optional INTEGER, met INTEGER DEFAULT 0
);
"""
"""``document``: the new one as a line of JSON, NULL where it is deleted. ``optional``: it
is deleted where it exists. ``met``: the feed has it.
"""

ReportLine = Callable[[int, str], None]
"""Is called for each fault with the number of the line and what is wrong with it."""


class ChangesHead(NamedTuple):
    """The first line: the kind of what changed, since which mark, up to which."""

    kind: Kind
    since: str
    mark: str


@dataclass(frozen=True)
class FeedChange:
    """What becomes of one document.

    ``document``: the new one as a line of JSON; None: it is deleted. ``optional``: what
    is deleted need not exist.
    """

    line: int
    document: bytes | None
    optional: bool = False


def read_head(
    file: Path, mapped: Mapped | None, report: ReportLine
) -> ChangesHead | None:
    """Return the first line of a file; None, and a report, where it cannot be used.

    ``mapped``: makes documents of rows; None: they are documents. Raises Failure where
    the file cannot be read at all.
    """
    line, row = next(numbered_rows(file), (1, {}))
    if isinstance(row, Malformed):
        report(line, f"{row.found}; allowed: {HEAD_FORM}")
        return None
    if not isinstance(row, dict) or set(row) != {"kind", "since", "mark"}:
        report(line, f"not the first line of changes; allowed: {HEAD_FORM}")
        return None
    kinds = {kind.name: kind for kind in KINDS if kind.ids}
    name, since, mark = row["kind"], row["since"], row["mark"]
    faults = [
        f"{label}: {shown(text)}; allowed: text, such as a date or a number in quotes"
        for label, text in (("since", since), ("mark", mark))
        if not (isinstance(text, str) and text)
    ]
    if not faults and since == mark:
        # A feed at that mark would seem to contain the changes, and pass them over.
        found = f"mark: {shown(mark)}, which is the mark that they begin at"
        faults.append(f"{found}; allowed: another one, which they lead to")
    if not isinstance(name, str) or name not in kinds:
        close = nearest(str(name), kinds)
        meant = f"; did you mean {close}?" if close else ""
        faults.append(f"kind: {shown(name)}; allowed: {', '.join(kinds)}{meant}")
    elif mapped and name != mapped.kind:
        faults.append(f"kind: {name}, and the mapping makes a {mapped.kind} of a row")
    if faults:
        report(line, "; ".join(faults))
        return None
    return ChangesHead(kinds[name], since, mark)


class Changes:
    """The changes of one ``file``, by the ids of documents of one ``kind``."""

    def __init__(
        self,
        file: Path,
        kind: Kind,
        table: Path,
        mapped: Mapped | None,
        schemas: Schemas,
        report: ReportLine,
        progress: Callable[[int], None],
    ) -> None:
        """Read a file whose first line `read_head` has accepted.

        Args:
            file: the file of changes.
            kind: that of the documents.
            table: where the temporary file is to be created.
            mapped: makes documents of rows; None: they are documents.
            schemas: what documents are checked by.
            report: is called for each faulty line.
            progress: is called with the number of each line.

        Raises Failure where the file cannot be read to its end.
        """
        self.file, self.kind = file, kind
        self._mapped, self._schemas = mapped, schemas
        self._report = report
        self._database = sqlite3.connect(table, isolation_level=None)
        for pragma in ("journal_mode=OFF", "synchronous=OFF"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.executescript(TABLE)
        self._database.execute("BEGIN")
        rows = numbered_rows(file)
        next(rows, None)
        self._read(rows, progress)

    def close(self) -> None:
        """Close the temporary file, which whoever named it deletes."""
        self._database.close()

    def take(self, id: Json) -> tuple[FeedChange | None, bool]:
        """Return the change of a document that the feed has, if there is one, and
        whether the feed had it before.
        """
        statement = "SELECT line, document, optional, met FROM change WHERE id = ?"
        row = self._database.execute(statement, (_key(id),)).fetchone()
        if row is None:
            return None, False
        line, document, optional, met = row
        if not met:
            self._database.execute("UPDATE change SET met = 1 WHERE line = ?", (line,))
        return FeedChange(line, document, bool(optional)), bool(met)

    def left(self) -> Iterator[tuple[Json, FeedChange]]:
        """Yield the changes of what the feed does not have, in the order of the file."""
        statement = "SELECT id, line, document, optional FROM change WHERE NOT met ORDER BY line"
        for id, line, document, optional in self._database.execute(statement):
            yield orjson.loads(id), FeedChange(line, document, bool(optional))

    # -- reading --

    def _read(
        self, rows: Iterator[NumberedRow], progress: Callable[[int], None]
    ) -> None:
        """Read all lines but the first."""
        count, line, end = 0, 1, None
        for line, row in rows:
            progress(line)
            if end is not None:
                self._report(line, 'something stands after {"end": …}')
                return
            if isinstance(row, dict) and set(row) == {"end"}:
                end = row["end"]
                if end != count:
                    found = (
                        f"the end counts {shown(end)}, and {count:,} stand before it"
                    )
                    self._report(line, f"{found}: something is missing; fetch it again")
                continue
            count += 1
            if isinstance(row, Malformed):
                self._report(line, f"{row.found}; allowed: {row.allowed}")
            elif not isinstance(row, dict) or len(row) != 1:
                self._report(line, f"{shown(row)}; allowed: {CHANGE_FORM}")
            else:
                self._enter(line, *row.items())
        if end is None:
            found = 'the file breaks off behind this line: {"end": …} is missing'
            self._report(line, f"{found}; fetch it again")

    def _enter(self, line: int, member: tuple[str, Json]) -> None:
        """Store a change, or report what is wrong with it."""
        verb, value = member
        if verb not in ("upsert", "delete"):
            close = nearest(verb, ("upsert", "delete", "end"))
            meant = f"; did you mean {close}?" if close else ""
            self._report(line, f"{verb!r} is no change; allowed: {CHANGE_FORM}{meant}")
            return
        try:
            read = self._upsert if verb == "upsert" else self._delete
            id, change = read(line, value)
        except BadRow as bad:
            self._report(line, str(bad))
            return
        insert = "INSERT INTO change (id, line, document, optional) VALUES (?, ?, ?, ?)"
        values = (_key(id), line, change.document, change.optional)
        try:
            self._database.execute(insert, values)
        except sqlite3.IntegrityError:
            statement = "SELECT line FROM change WHERE id = ?"
            ((first,),) = self._database.execute(statement, (_key(id),))
            again = f"{self.kind.name} {shown(id)} a second time"
            self._report(line, f"{again}: line {first:,} changes it already")

    def _upsert(self, line: int, value: Json) -> tuple[Json, FeedChange]:
        """Return a new document's id and its change. Raises BadRow."""
        document = value
        if self._mapped:
            _require_object(value)
            if self._mapped.skipped(value):
                # The mapping leaves it out, so it may be there from before, or not.
                return self._mapped.id_of(value), FeedChange(line, None, optional=True)
            document = self._mapped.document(value, frozenset())
        if faults := document_faults(self._schemas, self.kind.name, document):
            raise BadRow("; ".join(faults))
        return document[self.kind.identity], FeedChange(line, orjson.dumps(document))

    def _delete(self, line: int, value: Json) -> tuple[Json, FeedChange]:
        """Return the id of what is deleted, and the change. Raises BadRow."""
        if self._mapped is None:
            if not isinstance(value, (int, str)) or isinstance(value, bool):
                raise BadRow(
                    f"{shown(value)}; allowed: the {self.kind.identity} itself"
                )
            return value, FeedChange(line, None)
        _require_object(value)
        # Nobody knows whether the mapping left a row out that is deleted now.
        optional = bool(self._mapped.skip)
        return self._mapped.id_of(value), FeedChange(line, None, optional)


def _require_object(value: Any) -> None:
    if not isinstance(value, dict):
        raise BadRow(f"{shown(value)}; allowed: a row, which the mapping reads")


def _key(id: Json) -> str:
    """Return an id as the table has it: 1 and "1" are two."""
    return orjson.dumps(id).decode()
