"""Writing what a catalog is searched by: the text index and the words.

`text` is FTS5's index. `word` and `stem` count the products of each word and stem.
`make` writes all of it. In a copy of an index, `forget` and `add`
change what one product is found by, and `recount` what is counted over all.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from shopwindow.catalog.index.file import create
from shopwindow.catalog.index.rows import IndexRow, Referred, words_of
from shopwindow.catalog.index.words import stem
from shopwindow.content.reading.yaml import Json

TABLES = """
CREATE TABLE short (rank INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE described (rank INTEGER PRIMARY KEY, stems TEXT);
CREATE TABLE word (word TEXT PRIMARY KEY, stem TEXT, products INTEGER) WITHOUT ROWID;
CREATE TABLE stem (stem TEXT PRIMARY KEY, products INTEGER) WITHOUT ROWID;
"""
"""`short` has the words of name, brand, kind and attributes, a line each: scores are
computed from them. `described` has the stems of the description, for the next build.
"""

TEXT_INDEX = """
CREATE VIRTUAL TABLE text USING fts5
  (name, brand, kind, attributes, description, content='', columnsize=0, detail=column, tokenize='ascii');
"""
TEXT_COLUMNS = "rowid, name, brand, kind, attributes, description"

TEXT_MEMORY = 16 * 1024 * 1024
"""Bytes of the text index that FTS5 collects before it writes them. With its own 1 MiB
it merges more often, and takes half as long again. A reader's index does not have this
setting.
"""

SHADOWS = {"text_data": "id", "text_idx": "segid, term"}
"""The tables in which FTS5 stores `text`, and their order. `text_config` never changes.
"""

COUNTS = """
CREATE TABLE word (word TEXT, products INTEGER);
CREATE TABLE stem (stem TEXT, products INTEGER);
"""


@dataclass(frozen=True)
class Worded:
    """What some products are found by: rows of the tables `text`, `short` and
    `described`.

    ``words`` and ``stems`` say by how much the number of products that have them rises;
    a negative number says that it falls.
    """

    text: list[IndexRow] = field(default_factory=list)
    short: list[IndexRow] = field(default_factory=list)
    described: list[IndexRow] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)
    stems: Counter[str] = field(default_factory=Counter)

    def add(self, rank: int, short: str, described: str) -> None:
        """Add a product by its rows."""
        stems = (" ".join(map(stem, line.split())) for line in short.split("\n"))
        self.text.append((rank, *stems, described))
        self.short.append((rank, short))
        self.described.append((rank, described))

    def make(self, shop: Referred, rank: int, product: Json) -> None:
        """Add a product by its document."""
        *fields, description = words_of(shop, product)
        self.count((*fields, description), 1)
        short = "\n".join(map(" ".join, fields))
        described = " ".join(dict.fromkeys(map(stem, description)))
        self.add(rank, short, described)

    def count(self, fields: Iterable[Sequence[str]], by: int) -> None:
        """Count a product's words: 1 if it has them now, -1 if it had them before."""
        own_words = set(chain.from_iterable(fields))
        own_stems = set(map(stem, own_words))
        for counts, own in ((self.words, own_words), (self.stems, own_stems)):
            if by > 0:
                counts.update(own)
            else:
                counts.subtract(own)


def make(out: sqlite3.Connection, folder: Path, worded: Iterable[Worded]) -> None:
    """Write what products are found by.

    Args:
        out: the catalog.
        folder: for files that are read again.
        worded: of all products, in order of ranks.
    """
    text, counts = (
        create(folder / "text", TEXT_INDEX),
        create(folder / "counts", COUNTS),
    )
    text.execute("INSERT INTO text(text, rank) VALUES ('hashsize', ?)", (TEXT_MEMORY,))
    for batch in worded:
        out.executemany("INSERT INTO short VALUES (?, ?)", batch.short)
        out.executemany("INSERT INTO described VALUES (?, ?)", batch.described)
        text.executemany(
            f"INSERT INTO text ({TEXT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", batch.text
        )
        counts.executemany("INSERT INTO stem VALUES (?, ?)", batch.stems.items())
        counts.executemany("INSERT INTO word VALUES (?, ?)", batch.words.items())

    rows = counts.execute("SELECT stem, sum(products) FROM stem GROUP BY 1 ORDER BY 1")
    out.executemany("INSERT INTO stem VALUES (?, ?)", rows)
    rows = counts.execute("SELECT word, sum(products) FROM word GROUP BY 1 ORDER BY 1")
    words = ((word, stem(word), products) for word, products in rows)
    out.executemany("INSERT INTO word VALUES (?, ?, ?)", words)
    counts.close()
    text.execute("INSERT INTO text(text) VALUES ('optimize')")
    text.execute("COMMIT")  # FTS5 writes how many rows it has, which `forget` needs
    # FTS5 leaves unused pages in its file, so its tables are copied out of it
    for table, order in SHADOWS.items():
        rows = text.execute(f"SELECT * FROM {table} ORDER BY {order}")
        marks = ", ".join("?" * len(rows.description))
        out.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)
    text.close()


def forget(
    out: sqlite3.Connection, shop: Referred, rank: int, product: Json, worded: Worded
) -> None:
    """Remove what a product is found by, and count its words off.

    The text index stores no texts, so it has to be given the ones that it was given before.
    """
    ((short,),) = out.execute("SELECT text FROM short WHERE rank = ?", (rank,))
    ((described,),) = out.execute("SELECT stems FROM described WHERE rank = ?", (rank,))
    before = Worded()
    before.add(rank, short, described)
    out.executemany(
        f"INSERT INTO text (text, {TEXT_COLUMNS}) VALUES ('delete', ?, ?, ?, ?, ?, ?)",
        before.text,
    )
    for table in ("short", "described"):
        out.execute(f"DELETE FROM {table} WHERE rank = ?", (rank,))
    worded.count(words_of(shop, product), -1)


def add(out: sqlite3.Connection, worded: Worded) -> None:
    """Write the rows of ``worded``. They leave it, and their counts stay."""
    out.executemany(
        f"INSERT INTO text ({TEXT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", worded.text
    )
    out.executemany("INSERT INTO short VALUES (?, ?)", worded.short)
    out.executemany("INSERT INTO described VALUES (?, ?)", worded.described)
    for rows in (worded.text, worded.short, worded.described):
        rows.clear()


def recount(out: sqlite3.Connection, worded: Worded) -> None:
    """Change the numbers of products by words and stems."""
    stems = worded.stems.items()
    words = [(word, stem(word), products) for word, products in worded.words.items()]
    rises = "DO UPDATE SET products = products + excluded.products"
    out.executemany(f"INSERT INTO stem VALUES (?, ?) ON CONFLICT (stem) {rises}", stems)
    out.executemany(
        f"INSERT INTO word VALUES (?, ?, ?) ON CONFLICT (word) {rises}", words
    )
    for table in ("stem", "word"):
        out.execute(f"DELETE FROM {table} WHERE products <= 0")
