"""The work on an index that processes share: the rows of products, and their words.

Both are functions of a part of the products. Who does them reads
files that are finished (`staging`): those of all products, and a database of what the
other feeds say of each. Nothing is written here.
"""

from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import orjson

from shopwindow.catalog.index.file import reading
from shopwindow.catalog.index.rows import (
    IndexRow,
    ProductRows,
    Referred,
    make_product,
)
from shopwindow.catalog.index.staging import FACTS_FILE, ProductFiles
from shopwindow.catalog.index.wording import Worded
from shopwindow.content.reading.yaml import Json

MOST_COUNTED = 50_000
"""Words that are counted before their counts are sent, which bounds the memory that they
take to some 20 MB. The catalog's bytes do not depend on this number, and larger or
smaller ones work as well.
"""


class Chunk(NamedTuple):
    """Products in the order of their ranks: where each stands in the files, and its
    bytes.
    """

    ranks: "array[int]"
    starts: "array[int]"
    sizes: "array[int]"


@dataclass(frozen=True)
class ProductWork:
    """What the work on products needs, whichever they are.

    ``folder``: that of the facts.
    """

    folder: Path
    products: ProductFiles
    shop: Referred

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
                    make_product(self.shop, fact_of, rank, product, rows)
                yield rows

    def words(self, chunks: Sequence[Chunk]) -> Iterator[Worded]:
        """Yield the words of each chunk, whose products are active.

        Chunks that are worked on together are counted together, for they share most of
        their words: the counts of some chunks stand with the last of them.
        """
        counts = Worded()
        for chunk in chunks:
            worded = Worded(words=counts.words, stems=counts.stems)
            products = zip(chunk.ranks, self._products(chunk), strict=True)
            for rank, product in products:
                worded.make(self.shop, rank, product)
            if chunk is chunks[-1] or len(counts.words) >= MOST_COUNTED:
                yield worded
                counts = Worded()
            else:
                yield Worded(worded.text, worded.short, worded.described)

    def _products(self, chunk: Chunk) -> Iterator[Json]:
        """Yield the products of a chunk."""
        return map(orjson.loads, self.products.read(chunk.starts, chunk.sizes))
