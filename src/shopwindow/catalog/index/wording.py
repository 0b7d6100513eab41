"""What products are found by: the text index, and how many products have each word.

`text` is FTS5's index of stems; `word` and `stem` count the products that have them. A
product's row of the table `words` has the words of its own line. The words of its
categories' names stand behind its type in the text index, and are looked up when
products are scored.

FTS5 stores no texts: a product that leaves it must be given as it came. So the row in
`words` of a product that has changed stays until its new one comes. Where both are
equal, as with another price, the text index stays as it is.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from shopwindow.catalog.feeds.rows import IndexRow
from shopwindow.catalog.feeds.words import stem

TABLES = """
CREATE VIRTUAL TABLE text USING fts5
  (name, brand, kind, attributes, description, content='', columnsize=0, detail=column, tokenize='ascii');
CREATE TABLE word (word TEXT PRIMARY KEY, stem TEXT, products INTEGER) WITHOUT ROWID;
CREATE TABLE stem (stem TEXT PRIMARY KEY, products INTEGER) WITHOUT ROWID;
"""
TEXT_COLUMNS = "rowid, name, brand, kind, attributes, description"

TEXT_MEMORY = 16 * 1024 * 1024
"""Bytes of the text index that FTS5 collects before it writes them. With its own 1 MiB
it merges more often, and takes half as long again.
"""

AT_ONCE = 500
"""Products whose rows are read together. SQLite took at most 999 placeholders before its
release 3.32.
"""


@dataclass
class Texts:
    """What some products are found by: rows of `text`, and how many products have each
    word.
    """

    rows: list[IndexRow] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)


def texts_of(rows: Iterable[IndexRow], of_categories: Mapping[int, str]) -> Texts:
    """Return what products are found by, from their rows of `words`, and the words of
    categories by id.
    """
    texts = Texts()
    for id, name, brand, type, attributes, description, categories in rows:
        names = (of_categories.get(one, "") for one in orjson.loads(categories))
        kind = " ".join((type, *names))
        values = (name, brand, kind, attributes, description)
        fields = [text.split() for text in values]
        texts.words.update(set().union(*fields))
        *stems, described = [list(map(stem, words)) for words in fields]
        stems.append(list(dict.fromkeys(described)))
        texts.rows.append((id, *map(" ".join, stems)))
    return texts


class Wording:
    """The text index of a catalog that is being written.

    Products come by `enter`, in any order; `close` removes those that are gone, and
    gives those whose categories have other names their new words.
    """

    def __init__(
        self, out: sqlite3.Connection, of_categories: Mapping[int, str]
    ) -> None:
        """Begin. ``of_categories``: the words of each category now."""
        self._out, self._now = out, of_categories
        self._before = dict(out.execute("SELECT id, words FROM category"))
        self._counts: Counter[str] = Counter()
        self._entered: set[int] = set()
        out.execute(f"INSERT INTO text(text, rank) VALUES ('hashsize', {TEXT_MEMORY})")

    def enter(self, rows: Sequence[IndexRow], texts: Texts) -> None:
        """Give products the words that they have now; ``texts`` are those of all rows."""
        ids = [row[0] for row in rows]
        before = {row[0]: row for some in self._rows(ids) for row in some}
        if before:
            differing = [row for row in rows if before.get(row[0]) != row]
            texts = texts_of(differing, self._now)
            rows = differing
            self._leave([before[row[0]] for row in rows if row[0] in before])
        self._entered.update(row[0] for row in rows)
        self._out.executemany("INSERT INTO words VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self._come(texts)

    def close(self) -> None:
        """Remove the products that are gone, and count words and stems."""
        gone = (
            "SELECT id FROM words WHERE id NOT IN (SELECT id FROM listed WHERE active)"
        )
        ids = [id for (id,) in self._out.execute(gone)]
        for rows in self._rows(ids):
            self._leave(rows)
        self._rename()
        if self._counts:
            self._count()

    def _rename(self) -> None:
        """Give products of categories with other names, or places, their new words."""
        differing = {
            id
            for id in self._before.keys() | self._now.keys()
            if self._before.get(id, "") != self._now.get(id, "")
        }
        if not differing or not self._before:
            return
        query = (
            "SELECT DISTINCT words.id FROM words, json_each(categories) WHERE value IN"
            " (SELECT value FROM json_each(?))"
        )
        named = self._out.execute(query, (orjson.dumps(list(differing)).decode(),))
        ids = sorted({id for (id,) in named} - self._entered)
        for rows in self._rows(ids):
            self._forget(texts_of(rows, self._before))
            self._come(texts_of(rows, self._now))

    def _rows(self, ids: Sequence[int]) -> Iterator[list[IndexRow]]:
        """Yield the rows of products, so many at a time."""
        for start in range(0, len(ids), AT_ONCE):
            some = ids[start : start + AT_ONCE]
            query = f"SELECT * FROM words WHERE id IN ({','.join('?' * len(some))})"
            yield self._out.execute(query, some).fetchall()

    def _leave(self, rows: Sequence[IndexRow]) -> None:
        self._forget(texts_of(rows, self._before))
        ids = ((row[0],) for row in rows)
        self._out.executemany("DELETE FROM words WHERE id = ?", ids)

    def _forget(self, texts: Texts) -> None:
        self._out.executemany(
            f"INSERT INTO text (text, {TEXT_COLUMNS})"
            " VALUES ('delete', ?, ?, ?, ?, ?, ?)",
            sorted(texts.rows),
        )
        self._counts.subtract(texts.words)

    def _come(self, texts: Texts) -> None:
        # FTS5 writes what it has collected where a row comes before the one before.
        self._out.executemany(
            f"INSERT INTO text ({TEXT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
            sorted(texts.rows),
        )
        self._counts.update(texts.words)

    def _count(self) -> None:
        """Write how many products have each word and, by FTS5 itself, each stem."""
        counts = sorted(self._counts.items())
        words = ((word, stem(word), count) for word, count in counts if count)
        rises = (
            "ON CONFLICT (word) DO UPDATE SET products = products + excluded.products"
        )
        self._out.executemany(f"INSERT INTO word VALUES (?, ?, ?) {rises}", words)
        self._out.execute("DELETE FROM word WHERE products <= 0")
        self._out.execute("DELETE FROM stem")
        vocabulary = (
            "CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, text, row)"
        )
        self._out.execute(vocabulary)
        self._out.execute("INSERT INTO stem SELECT term, doc FROM vocabulary")
        self._out.execute("DROP TABLE vocabulary")
        if not self._before:
            self._out.execute("INSERT INTO text(text) VALUES ('optimize')")
