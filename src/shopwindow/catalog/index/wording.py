"""What a catalog is searched by, being written: the text index, the words, and what misspelt
words are known by.

Of what the catalog before has, only what changed is made: nothing at all where every product
has the words and the rank that it had there.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from shopwindow.catalog.index.file import create
from shopwindow.catalog.index.rows import IndexRow, Referred, words_of
from shopwindow.catalog.index.words import forms, stem
from shopwindow.content.yaml import Json

MAX_CORRECTIONS = 100_000
"""How many words, the most frequent ones, spelling is corrected to."""

TABLES = """
CREATE TABLE short (rank INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE described (rank INTEGER PRIMARY KEY, stems TEXT);
CREATE TABLE word (word TEXT PRIMARY KEY, stem TEXT, products INTEGER) WITHOUT ROWID;
CREATE TABLE stem (stem TEXT PRIMARY KEY, products INTEGER) WITHOUT ROWID;
CREATE TABLE form (form TEXT, word TEXT, PRIMARY KEY (form, word)) WITHOUT ROWID;
"""
"""`short`: words of name, brand, kind and attributes, a line each; `described`, for the next
build: stems beside.
"""

WORD_ORDERS = {"stem": "stem", "word": "word", "form": "form, word"}
TEXT = """
CREATE VIRTUAL TABLE text USING fts5
  (name, brand, kind, attributes, description, content='', columnsize=0, detail=column, tokenize='ascii');
"""
SHADOWS = {"text_data": "id", "text_idx": "segid, term"}
"""The tables that FTS5 keeps for `text`, and their order; `text_config` is as it was made."""

COUNTS = """
CREATE TABLE word (word TEXT, stem TEXT, products INTEGER);
CREATE TABLE stem (stem TEXT, products INTEGER);
"""
CHANGED = (
    "CREATE TEMP TABLE gone (word TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TEMP TABLE come (form TEXT, word TEXT)",
)


@dataclass(frozen=True)
class Worded:
    """What some products are found by: rows of the tables `text`, `short` and `described`.

    ``words``: how many products more than before have which words and stems, or fewer.
    """

    text: list[IndexRow] = field(default_factory=list)
    short: list[IndexRow] = field(default_factory=list)
    described: list[IndexRow] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)
    stems: Counter[str] = field(default_factory=Counter)

    def add(self, rank: int, short: str, described: str) -> None:
        """A product, from its rows."""
        stems = (" ".join(map(stem, line.split())) for line in short.split("\n"))
        self.text.append((rank, *stems, described))
        self.short.append((rank, short))
        self.described.append((rank, described))

    def make(self, shop: Referred, rank: int, product: Json) -> None:
        """A product, from its document."""
        found = words_of(shop, product)
        self.count(found, 1)
        self.add(
            rank,
            "\n".join(map(" ".join, found[:4])),
            " ".join(dict.fromkeys(map(stem, found[4]))),
        )

    def count(self, found: Iterable[Sequence[str]], by: int) -> None:
        """A product's words come, or go."""
        every = set(chain.from_iterable(found))
        for counts, those in ((self.words, every), (self.stems, set(map(stem, every)))):
            if by > 0:
                counts.update(those)
            else:
                counts.subtract(those)


def take(out: sqlite3.Connection, runs: Iterable[range]) -> None:
    """All of it is as in the catalog before, which ``out`` knows as `old`. ``runs``: of ranks,
    as they are made.
    """
    for ranks in runs:
        for table in ("short", "described"):
            taken = f"INSERT INTO {table} SELECT * FROM old.{table} WHERE rank BETWEEN ? AND ?"
            out.execute(taken, (ranks[0], ranks[-1]))
    for (
        table,
        order,
    ) in (
        WORD_ORDERS.items()
    ):  # without an order SQLite would fill pages more tightly than row by row
        out.execute(f"INSERT INTO {table} SELECT * FROM old.{table} ORDER BY {order}")
    for table, order in SHADOWS.items():
        out.execute(
            f"INSERT OR REPLACE INTO {table} SELECT * FROM old.{table} ORDER BY {order}"
        )


def make(out: sqlite3.Connection, folder: Path, worded: Iterable[Worded], *, old: bool) -> None:
    """What ``worded`` tells by rank is written; ``old``: its words are counted beside those of
    the catalog before.

    ``folder``: for files beside.
    """
    text, counts = create(folder / "text", TEXT), create(folder / "counts", COUNTS)
    if old:
        counts.executemany(
            "INSERT INTO stem VALUES (?, ?)", out.execute("SELECT * FROM old.stem")
        )
        counts.executemany(
            "INSERT INTO word VALUES (?, ?, ?)", out.execute("SELECT * FROM old.word")
        )
    for each in worded:
        out.executemany("INSERT INTO short VALUES (?, ?)", each.short)
        out.executemany("INSERT INTO described VALUES (?, ?)", each.described)
        names = "(rowid, name, brand, kind, attributes, description)"
        text.executemany(f"INSERT INTO text {names} VALUES (?, ?, ?, ?, ?, ?)", each.text)
        counts.executemany("INSERT INTO stem VALUES (?, ?)", each.stems.items())
        words = ((word, stem(word), products) for word, products in each.words.items())
        counts.executemany("INSERT INTO word VALUES (?, ?, ?)", words)
    rows = counts.execute(
        "SELECT stem, sum(products) FROM stem GROUP BY stem HAVING sum(products) > 0 ORDER BY stem"
    )
    out.executemany("INSERT INTO stem VALUES (?, ?)", rows)
    grouped = "SELECT word, stem, sum(products) FROM word GROUP BY word HAVING sum(products) > 0 ORDER BY word"
    out.executemany("INSERT INTO word VALUES (?, ?, ?)", counts.execute(grouped))
    counts.close()
    _forms(out, old=old)
    text.execute("INSERT INTO text(text) VALUES ('optimize')")
    for table, order in SHADOWS.items():  # FTS5 leaves room that it used meanwhile
        rows = text.execute(f"SELECT * FROM {table} ORDER BY {order}")
        marks = ", ".join("?" * len(rows.description))
        out.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)
    text.close()


def _forms(out: sqlite3.Connection, *, old: bool) -> None:
    """What misspelt words are known by: of the words that come and go, and as it was of the
    others.
    """
    spelt = _spelt(out, "main")
    before = _spelt(out, "old") if old else set()
    for statement in CHANGED:
        out.execute(statement)
    out.executemany("INSERT INTO gone VALUES (?)", ((word,) for word in before - spelt))
    come = ((form, word) for word in spelt - before for form in forms(word, 2))
    out.executemany("INSERT INTO come VALUES (?, ?)", come)
    kept = (
        "SELECT form, word FROM old.form WHERE word NOT IN (SELECT word FROM gone) UNION ALL "
        if old
        else ""
    )
    out.execute(f"INSERT INTO form {kept}SELECT form, word FROM come ORDER BY form, word")


def _spelt(out: sqlite3.Connection, catalog: str) -> set[str]:
    frequent = f"SELECT word FROM {catalog}.word WHERE length(word) BETWEEN 3 AND 30"
    frequent += " ORDER BY products DESC, word LIMIT ?"
    return {
        word
        for (word,) in out.execute(frequent, (MAX_CORRECTIONS,))
        if word.isalpha() and word.isascii()
    }
