"""The pass over the lines of feeds: each is checked and becomes rows, once.

A line is known by its digest. How the pass works: a copy of the rows of an earlier pass
is opened, or a new file. Each feed is cut into batches, which several processes share.
They first look up the digest of every line: a line that the earlier pass has is *known*,
so it was checked, and its rows are there. The rows of lines that are gone are deleted.
Then the batches with new lines are read again; these are checked, and become rows (`rows`)
and words (`wording`). This process writes the rows in the order of the batches, so they do
not depend on which process made them. A pass from nothing is a pass after an empty file;
there is no second way.

The pass ends at the first line that is at fault (`Faulty`): whoever called it then looks
for everything that is wrong. Ids that a line refers to are no part of what is known,
because they may be gone though the line is the same. All lines are compared once they
are written.
"""

import sqlite3
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import orjson

from shopwindow.catalog.feeds import rows
from shopwindow.catalog.feeds.packing import SAMPLES, Packing, trained
from shopwindow.catalog.feeds.rows import (
    BY_PRODUCT,
    DIGEST_BYTES,
    KINDS,
    IndexRow,
    RowMaker,
)
from shopwindow.catalog.index import sums, wording
from shopwindow.catalog.index.file import copied, writing
from shopwindow.catalog.index.lines import Faulty, Feeds, LineReader, digest_of
from shopwindow.catalog.index.row_digests import kind_digest
from shopwindow.catalog.index.wording import Texts, Wording, texts_of
from shopwindow.content.reading.processes import Progress, shared

SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE brand (name TEXT PRIMARY KEY, id INTEGER, url TEXT) WITHOUT ROWID;
{rows.TABLES}{wording.TABLES}{sums.TABLES}
"""


def take(
    path: Path,
    feeds: Feeds,
    start: BinaryIO | None = None,
    agree: Callable[[sqlite3.Connection], bool] = lambda out: True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Write the rows of all lines into a file.

    Args:
        path: of the file, which must not exist.
        feeds: the lines.
        start: the intact file of an earlier pass, open.
        agree: returns whether the lines agree with each other, once they are written.
        jobs: worker processes; None: one for each processor.
        progress: is called with (batches done, all batches).

    Raises Faulty where a line is at fault, and sqlite3.Error or OSError where the disk
    does not take the file.
    """
    if start:
        copied(start, path)
    with closing(writing(path, "" if start else SCHEMA)) as out:
        _Pass(out, feeds, jobs, progress).run()
        if not agree(out):
            raise Faulty
        out.execute("COMMIT")


class _Pass:
    """One pass, which writes to ``out``."""

    def __init__(
        self,
        out: sqlite3.Connection,
        feeds: Feeds,
        jobs: int | None,
        progress: Progress | None,
    ) -> None:
        self.out, self.feeds = out, feeds
        self.jobs, self.progress = jobs, progress
        self.words = {id: category.words for id, category in feeds.tree.items()}
        self.wording = Wording(out, self.words)
        self.meta: dict[str, Any] = dict(out.execute("SELECT name, value FROM meta"))

    def run(self) -> None:
        """Give all lines the rows that they have now."""
        # By kind: what its lines follow from beside them, the digest of its files, and
        # that of its rows.
        stored = orjson.loads(self.meta.get("kinds", b"{}"))
        digests = self.feeds.digests()
        now = {kind: [self.feeds.basis(kind), digests.get(kind)] for kind in KINDS}
        before = {kind: stored.get(kind, [None, None])[:2] for kind in KINDS}
        changed = {
            kind: self.feeds.batches.get(kind, ())
            for kind in KINDS
            if kind not in digests or before[kind] != now[kind]
        }
        if "dictionary" not in self.meta:
            self.meta["dictionary"] = trained(self._samples(changed["product"]))
        self.batches_done, self.all_batches = 0, sum(map(len, changed.values()))
        maker = self._row_maker()
        for kind, batches in changed.items():
            knows = before[kind][0] == now[kind][0]
            self._take(kind, batches, maker, knows_lines=knows)
        self.wording.close()
        sums.write_categories(self.out, self.feeds.tree)
        for statement in rows.INDEXES.split(";"):
            self.out.execute(statement)
        if "review" in changed:
            sums.write_ratings(self.out)
        for kind in changed:
            stored[kind] = [*now[kind], kind_digest(self.out, kind)]
        self.meta["kinds"] = orjson.dumps(stored)
        sums.write_meta(self.out, self.meta)

    def _samples(self, of_products: Sequence[Any]) -> Iterator[bytes]:
        """Yield the products that a dictionary is trained on: the first of each batch."""
        count = -(-SAMPLES // max(1, len(of_products)))
        lines = (islice(self.feeds.reader.lines(batch), count) for batch in of_products)
        return (line.data for line in islice(chain.from_iterable(lines), SAMPLES))

    def _row_maker(self) -> RowMaker:
        places = {str(number): place for place, number in enumerate(self.feeds.stores)}
        return RowMaker(Packing(self.meta["dictionary"]), places, self.feeds.limited)

    # -- the lines of a kind ---------------------------------------------------------------

    def _take(
        self, kind: str, batches: Sequence[Any], maker: RowMaker, knows_lines: bool
    ) -> None:
        """Give the lines of a kind the rows that they have now.

        ``knows_lines``: what their check and rows follow from is what it was before.
        """
        earlier = _EarlierLines(self.out, KINDS[kind], self.feeds.reader)
        if not knows_lines:
            earlier.forget()
        new = batches
        if len(earlier.digests):
            with shared(earlier.look_up, batches, self.jobs) as results:
                looked_up = zip(batches, results, strict=True)
                new = [batch for batch, lines in looked_up if earlier.keep(lines)]
        self._delete(kind, earlier.gone())
        self._advance(len(batches) - len(new))

        work = partial(
            _new_rows, kind, self.feeds.reader, maker, earlier.digests, self.words
        )
        with shared(work, new, self.jobs) as results:
            for of_batch in results:
                for table, rows_of_table in of_batch.rows.items():
                    self._insert(table, rows_of_table, of_batch.texts)
                self._advance(1)

    def _delete(self, kind: str, keys: Sequence[int]) -> None:
        """Delete the rows of lines that are gone, by their rowids."""
        tables = BY_PRODUCT if kind == "product" else {KINDS[kind]: "rowid"}
        for table, column in tables.items():
            self.out.executemany(
                f"DELETE FROM {table} WHERE {column} = ?", ((key,) for key in keys)
            )

    def _insert(self, table: str, of_table: Sequence[IndexRow], texts: Texts) -> None:
        """Insert rows. Raises Faulty where one has the key of another."""
        if table == "words":
            self.wording.enter(of_table, texts)
            return
        marks = ", ".join("?" * len(of_table[0]))
        inserted = self.out.executemany(
            f"INSERT OR IGNORE INTO {table} VALUES ({marks})", of_table
        )
        if inserted.rowcount < len(of_table):
            raise Faulty

    def _advance(self, count: int) -> None:
        self.batches_done += count
        if self.progress and count:
            self.progress(self.batches_done, self.all_batches)


# -- which lines are known -------------------------------------------------------------

Digests = npt.NDArray[np.bytes_]


class _EarlierLines:
    """The lines of a kind that an earlier pass has.

    They are arrays, for processes share these without a copy.

    Attributes:
        digests: those of the lines, in order.
    """

    def __init__(self, out: sqlite3.Connection, table: str, reader: LineReader) -> None:
        lines = out.execute(f"SELECT line, rowid FROM {table}")
        digests, keys = bytearray(), array("q")
        for digest, key in lines:
            digests += digest
            keys.append(key)
        own = np.frombuffer(bytes(digests), f"S{DIGEST_BYTES}")
        order = np.argsort(own)
        self.digests: Digests = own[order]
        self._keys = np.array(keys, np.int64)[order]
        self._uses = np.zeros(len(keys), np.int32)
        self._reader = reader

    def forget(self) -> None:
        """Let no line be known, because all rows are to be made again."""
        self.digests = self.digests[:0]

    def look_up(
        self, batches: Sequence[Any]
    ) -> Iterator[tuple[npt.NDArray[np.intp], bool]]:
        """Yield, for each batch, the places of its known lines, and whether it has new
        ones.
        """
        for batch in batches:
            lines = self._reader.lines(batch)
            places = _places(self.digests, [digest_of(line.data) for line in lines])
            yield places[places >= 0], bool((places < 0).any())

    def keep(self, lines: tuple[npt.NDArray[np.intp], bool]) -> bool:
        """Note the known lines of a batch, as `look_up` yields them. Return whether it
        has new ones.

        Raises Faulty where a line stands there twice.
        """
        places, has_new = lines
        np.add.at(self._uses, places, 1)
        if (self._uses[places] > 1).any():
            raise Faulty
        return has_new

    def gone(self) -> list[int]:
        """Return the rowids of the lines that no batch has."""
        gone: list[int] = self._keys[self._uses == 0].tolist()
        return gone


def _places(earlier: Digests, digests: Sequence[bytes]) -> npt.NDArray[np.intp]:
    """Return the places of digests among earlier ones, which are in order; -1: it is new."""
    if not len(earlier):
        return np.full(len(digests), -1)
    own = np.frombuffer(b"".join(digests), f"S{DIGEST_BYTES}")
    places = np.searchsorted(earlier, own).clip(max=len(earlier) - 1)
    return np.where(earlier[places] == own, places, -1)


# -- what new lines become -------------------------------------------------------------


@dataclass
class _NewRows:
    """What the new lines of a batch become: rows by table, and what the products among
    them are found by.
    """

    rows: dict[str, list[IndexRow]] = field(default_factory=dict)
    texts: Texts = field(default_factory=Texts)


def _new_rows(
    kind: str,
    reader: LineReader,
    maker: RowMaker,
    earlier: Digests,
    of_categories: Mapping[int, str],
    batches: Sequence[Any],
) -> Iterator[_NewRows]:
    """Yield what the new lines of each batch become. Runs in several processes.

    Raises Faulty where a line is at fault.
    """
    for batch in batches:
        lines = list(reader.lines(batch))
        digests = [digest_of(line.data) for line in lines]
        new = np.flatnonzero(_places(earlier, digests) < 0).tolist()
        documents = reader.documents(batch, [lines[number] for number in new])
        of_batch = _NewRows()
        for number, document in zip(new, documents, strict=True):
            for table, row in maker.rows(kind, digests[number], document):
                of_batch.rows.setdefault(table, []).append(row)
        words = of_batch.rows.get("words", ())
        of_batch.texts = texts_of(words, of_categories)
        yield of_batch
