"""The work on an index that many can share: the rows of products, and their words.

Both are functions of a part of the products (`content.executor`). Who does them reads
two files that the writer of the index has finished: all products, one after the other,
and a database of what the other feeds say of each. Nothing is written here.
"""

import os
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import orjson

from shopwindow.catalog.index.file import reading
from shopwindow.catalog.index.previous import PreviousCatalog
from shopwindow.catalog.index.rows import (
    IndexRow,
    ProductRows,
    Referred,
    Runs,
    make_product,
    words_of,
)
from shopwindow.catalog.index.wording import Worded
from shopwindow.content.yaml import Json

PRODUCTS_FILE, FACTS_FILE = "products", "facts"


class Chunk(NamedTuple):
    """Products whose ranks follow each other: where each stands in the file, and its
    bytes.
    """

    ranks: range
    starts: "array[int]"
    sizes: "array[int]"


WordBatch = Sequence[tuple[Chunk, Runs]]
"""Chunks whose words are counted together, and which of their products are new."""


@dataclass(frozen=True)
class ProductWork:
    """What the work on products needs, whichever they are.

    ``folder``: that of the two files. ``previous``: a catalog whose rows may be copied.
    """

    folder: Path
    shop: Referred
    previous: PreviousCatalog | None

    def rows(self, chunks: Sequence[Chunk]) -> Iterator[ProductRows]:
        """Yield the rows of each chunk."""
        with closing(reading(self.folder / FACTS_FILE)) as facts:

            def fact_of(statement: str, number: int) -> IndexRow | None:
                row: IndexRow | None = facts.execute(statement, (number,)).fetchone()
                return row

            for chunk in chunks:
                rows = ProductRows()
                products = zip(chunk.ranks, self._products(chunk), strict=True)
                for rank, product in products:
                    make_product(self.shop, fact_of, rank, product, rows, self.previous)
                yield rows

    def words(self, batches: Sequence[WordBatch]) -> Iterator[Worded]:
        """Yield the words of each batch."""
        for batch in batches:
            worded = Worded()
            for chunk, runs in batch:
                self._word(chunk, runs, worded)
            yield worded

    def _word(self, chunk: Chunk, runs: Runs, worded: Worded) -> None:
        products = zip(chunk.ranks, self._texts(chunk), strict=True)
        for count, was in runs:
            some = islice(products, count)
            if was is not None and self.previous:
                words_before = self.previous.words(was, count)
                for (rank, _), words in zip(some, words_before, strict=True):
                    worded.add(rank, *words)
                continue
            for rank, text in some:
                product = orjson.loads(text)
                worded.make(self.shop, rank, product)
                if self.previous:
                    self.forget(self.previous, product["id"], worded)

    def forget(self, previous: PreviousCatalog, id: int, worded: Worded) -> None:
        """Count off the words that a product had before, if it was active."""
        was = previous.product(id)
        if was and was.rank <= previous.active:
            shop = replace(self.shop, categories=previous.categories)
            worded.count(words_of(shop, orjson.loads(was.document)), -1)

    def _products(self, chunk: Chunk) -> Iterator[Json]:
        return map(orjson.loads, self._texts(chunk))

    def _texts(self, chunk: Chunk) -> Iterator[bytes]:
        """Yield the products of a chunk in JSON. The file is not mapped: its pages
        would count as the build's memory.
        """
        with open(self.folder / PRODUCTS_FILE, "rb") as file:
            for start, size in zip(chunk.starts, chunk.sizes, strict=True):
                yield os.pread(file.fileno(), size, start)
