"""Writing catalog.sqlite: the previous one, with other rows for the lines that changed.

A build from nothing is a build after an empty catalog; there is no second way.

How a catalog is written. A copy of the previous one is opened, or a new file. Each feed
is cut into blocks of lines (`lines`), which several processes share. They first look up
the digest of every line: a line that the previous catalog has is *known*, and its rows
are there. The rows of lines that are gone are deleted. Then the blocks with new lines
are read again, and these become rows (`rows`) and words (`wording`). This process
writes the rows in the order of the blocks, so they do not depend on which process made
them. What follows from many lines is then computed from all rows (`sums`).

The rows of a line depend on the program, on the numbers of stores and on what counts as
limited stock. Where one of these is another, the engine or `_beside` sees to it that
no line is known.
"""

import sqlite3
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from shopwindow.catalog.index import rows, sums, wording
from shopwindow.catalog.index.covered import kind_digest, rows_digest
from shopwindow.catalog.index.file import INDEX_FORMAT, copied, writing
from shopwindow.catalog.index.lines import DIGEST_BYTES, LineBlock, blocks, digest_of
from shopwindow.catalog.index.packing import SAMPLES, Packing, trained
from shopwindow.catalog.index.rows import BY_PRODUCT, KINDS, IndexRow, RowMaker
from shopwindow.catalog.index.sources import LIMITED_QUANTITY, Sources
from shopwindow.catalog.index.tree import categories
from shopwindow.catalog.index.wording import Texts, Wording, texts_of
from shopwindow.catalog.index.words import indexed
from shopwindow.content.reading.processes import Progress, shared
from shopwindow.content.reading.yaml import Json
from shopwindow.problems import Failure

SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE brand (name TEXT PRIMARY KEY, id INTEGER, url TEXT) WITHOUT ROWID;
{rows.TABLES}{wording.TABLES}{sums.TABLES}
"""


def write(
    path: Path,
    sources: Sources,
    jobs: int | None = None,
    progress: Progress | None = None,
    previous: Path | None = None,
) -> str:
    """Write a catalog. Return the digest of its rows.

    Args:
        path: of the file, which must not exist.
        sources: the documents.
        jobs: worker processes; None: one for each processor.
        progress: is called with (blocks of lines done, all blocks).
        previous: the intact catalog before, of this format and by this program.
    """
    if previous:
        copied(previous, path)
    with (
        TemporaryDirectory(prefix=".catalog-", dir=path.absolute().parent) as name,
        closing(writing(path, "" if previous else SCHEMA)) as out,
    ):
        return _IndexWriter(out, Path(name), sources, jobs, progress).write()


class _IndexWriter:
    """One catalog being written. ``folder`` takes files that are read again."""

    def __init__(
        self,
        out: sqlite3.Connection,
        folder: Path,
        sources: Sources,
        jobs: int | None,
        progress: Progress | None,
    ) -> None:
        self.out, self.folder, self.sources = out, folder, sources
        self.jobs, self.progress = jobs, progress
        self.tree = categories(sources.categories)
        self.words = {id: category.words for id, category in self.tree.items()}
        self.wording = Wording(out, self.words)
        self.meta: dict[str, Any] = dict(out.execute("SELECT name, value FROM meta"))

    def write(self) -> str:
        """Write all rows. Return the digest of those that a release id covers."""
        changed = self._take_lines()
        self.wording.close()
        for statement in rows.INDEXES.split(";"):
            self.out.execute(statement)
        self.meta |= sums.write(self.out, self.tree, "review" in changed)
        self._write_brands()
        self.meta |= {
            "format": INDEX_FORMAT,
            "locations": orjson.dumps(self._stores()),
            "synonyms": self._synonyms(),
            "brand_url": self.sources.settings.get("brand_url"),
        }
        return self._finish(changed)

    def _take_lines(self) -> Collection[str]:
        """Give all lines the rows that they have now. Return the kinds that were read:
        those of which a file has changed, or what their rows depend on.
        """
        fed_before = orjson.loads(self.meta.get("fed", b"{}"))
        beside_before = orjson.loads(self.meta.get("beside", b"{}"))
        fed, beside = self.sources.digests, self._beside()
        changed = {
            kind: blocks(documents, self.folder, kind)
            for kind, documents in self.sources.lines().items()
            if kind not in fed
            or fed[kind] != fed_before.get(kind)
            or beside[kind] != beside_before.get(kind)
        }
        if "dictionary" not in self.meta:
            self.meta["dictionary"] = trained(_samples(changed["product"]))
        self.blocks_done, self.all_blocks = 0, sum(map(len, changed.values()))
        maker = self._row_maker()
        for kind, of_kind in changed.items():
            knows = beside_before.get(kind) == beside[kind]
            self._take(kind, of_kind, maker, knows_lines=knows)
        self.meta["fed"] = orjson.dumps(dict(sorted(fed.items())))
        self.meta["beside"] = orjson.dumps(beside)
        return changed.keys()

    def _beside(self) -> Mapping[str, Json]:
        """Return, by kind, what its rows depend on beside its lines and the program."""
        stock = {"stores": self._stores(), "limited": self._limited()}
        return {kind: stock if kind == "inventory" else {} for kind in KINDS}

    def _stores(self) -> list[int]:
        """Return all stores in the order of their places in the stock of a UPC.

        That is the order of their numbers, so it does not depend on which feed is read
        first.
        """
        return sorted(self.sources.stores)

    def _limited(self) -> int:
        limited: int = self.sources.settings.get("limited_quantity", LIMITED_QUANTITY)
        return limited

    def _row_maker(self) -> RowMaker:
        places = {str(number): place for place, number in enumerate(self._stores())}
        return RowMaker(Packing(self.meta["dictionary"]), places, self._limited())

    def _write_brands(self) -> None:
        brands = (
            (brand["name"], brand["id"], brand["url"]) for brand in self.sources.brands
        )
        self.out.execute("DELETE FROM brand")
        self.out.executemany("INSERT INTO brand VALUES (?, ?, ?)", sorted(brands))

    def _synonyms(self) -> bytes:
        """Return the synonyms: words as they are indexed."""
        return orjson.dumps(
            [
                [" ".join(indexed(text)) for text in group]
                for group in self.sources.synonyms
            ]
        )

    def _finish(self, changed: Iterable[str]) -> str:
        """Write what stands once in a catalog. Return the digest of its rows.

        Digests of kinds that have not changed are those of the previous catalog.
        """
        digests: dict[str, str] = orjson.loads(self.meta.get("digests", b"{}"))
        digests |= {kind: kind_digest(self.out, kind) for kind in changed}
        self.meta["digests"] = orjson.dumps(dict(sorted(digests.items())))
        self.out.executemany(
            "REPLACE INTO meta VALUES (?, ?)", sorted(self.meta.items())
        )
        digest = rows_digest(self.out, digests)
        self.out.execute("COMMIT")
        return digest

    # -- the lines of a kind ---------------------------------------------------------------

    def _take(
        self,
        kind: str,
        of_kind: Sequence[LineBlock],
        maker: RowMaker,
        knows_lines: bool,
    ) -> None:
        """Give the lines of a kind the rows that they have now.

        ``knows_lines``: what their rows depend on is what it was before.
        """
        known = _KnownLines(self.out, KINDS[kind])
        if not knows_lines:
            known.forget()
        new = of_kind
        if len(known.digests):
            with shared(known.look_up, of_kind, self.jobs) as results:
                looked_up = zip(of_kind, results, strict=True)
                new = [block for block, found in looked_up if known.keep(found)]
        self._delete(kind, known.gone())
        self._advance(len(of_kind) - len(new))

        work = partial(_make, kind, maker, known.digests, self.words)
        with shared(work, new, self.jobs) as made:
            for block in made:
                for table, of_table in block.rows.items():
                    self._insert(table, of_table, block.texts)
                self._advance(1)

    def _delete(self, kind: str, keys: Sequence[int]) -> None:
        """Delete the rows of lines that are gone, by their rowids."""
        tables = BY_PRODUCT if kind == "product" else {KINDS[kind]: "rowid"}
        for table, column in tables.items():
            self.out.executemany(
                f"DELETE FROM {table} WHERE {column} = ?", ((key,) for key in keys)
            )

    def _insert(self, table: str, of_table: Sequence[IndexRow], texts: Texts) -> None:
        if table == "words":
            self.wording.enter(of_table, texts)
            return
        marks = ", ".join("?" * len(of_table[0]))
        self.out.executemany(
            f"INSERT OR IGNORE INTO {table} VALUES ({marks})", of_table
        )

    def _advance(self, count: int) -> None:
        self.blocks_done += count
        if self.progress and count:
            self.progress(self.blocks_done, self.all_blocks)


def _samples(of_products: Sequence[LineBlock]) -> Iterator[bytes]:
    """Yield the products that a dictionary is trained on: the first ones of each block."""
    each = -(-SAMPLES // max(1, len(of_products)))
    lines = (islice(block.lines(), each) for block in of_products)
    return islice(chain.from_iterable(lines), SAMPLES)


# -- which lines are known -------------------------------------------------------------

Digests = npt.NDArray[np.bytes_]


class _KnownLines:
    """The lines of a kind that the previous catalog has.

    They are arrays, for processes share these without a copy.

    Attributes:
        digests: those of the lines, in order.
    """

    def __init__(self, out: sqlite3.Connection, table: str) -> None:
        found = out.execute(f"SELECT line, rowid FROM {table} ORDER BY line")
        digests, keys = bytearray(), array("q")
        for digest, key in found:
            digests += digest
            keys.append(key)
        self.digests: Digests = np.frombuffer(bytes(digests), f"S{DIGEST_BYTES}")
        self._keys = np.array(keys, np.int64)
        self._is_there = np.zeros(len(keys), bool)

    def forget(self) -> None:
        """Let no line be known, because all rows are to be made again."""
        self.digests = self.digests[:0]

    def look_up(
        self, of_kind: Sequence[LineBlock]
    ) -> Iterator[tuple[npt.NDArray[np.intp], bool]]:
        """Yield, for each block, the places of its known lines, and whether it has new
        ones.
        """
        for block in of_kind:
            digests = np.array(list(map(digest_of, block.lines())), self.digests.dtype)
            places = _places(self.digests, digests)
            yield places[places >= 0], bool((places < 0).any())

    def keep(self, found: tuple[npt.NDArray[np.intp], bool]) -> bool:
        """Note the known lines of a block. Return whether it has new ones."""
        places, has_new = found
        self._is_there[places] = True
        return has_new

    def gone(self) -> list[int]:
        """Return the rowids of the lines that no block has."""
        gone: list[int] = self._keys[~self._is_there].tolist()
        return gone


def _places(known: Digests, digests: Digests) -> npt.NDArray[np.intp]:
    """Return the places of digests among known ones, which are in order; -1: it is new."""
    if not len(known):
        return np.full(len(digests), -1)
    places = np.searchsorted(known, digests).clip(max=len(known) - 1)
    return np.where(known[places] == digests, places, -1)


# -- what new lines become -------------------------------------------------------------


@dataclass
class _MadeBlock:
    """What the new lines of a block become: rows by table, and what the products among
    them are found by.
    """

    rows: dict[str, list[IndexRow]] = field(default_factory=dict)
    texts: Texts = field(default_factory=Texts)


def _make(
    kind: str,
    maker: RowMaker,
    known: Digests,
    of_categories: Mapping[int, str],
    of_kind: Sequence[LineBlock],
) -> Iterator[_MadeBlock]:
    """Yield what the new lines of each block become. Runs in several processes.

    Raises Failure where a file was changed since it was checked.
    """
    for block in of_kind:
        made = _MadeBlock()
        lines = list(block.lines())
        digests = np.array(list(map(digest_of, lines)), f"S{DIGEST_BYTES}")
        is_known = (_places(known, digests) >= 0).tolist()
        try:
            for line, is_there in zip(lines, is_known, strict=True):
                for table, row in () if is_there else maker.rows(kind, line):
                    made.rows.setdefault(table, []).append(row)
        except ValueError:
            raise Failure(
                f"{block.name}: was changed while it was read; try again"
            ) from None
        made.texts = texts_of(made.rows.get("words", ()), of_categories)
        yield made
