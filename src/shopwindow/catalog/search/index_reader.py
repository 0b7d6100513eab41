"""What a search reads of a catalog: the words of its products, and of its editors."""

from collections.abc import Mapping, Sequence
from functools import cached_property

import orjson

from shopwindow.catalog.feeds.words import stem
from shopwindow.catalog.stored.lists import ProductLists
from shopwindow.catalog.stored.opened_file import OpenedFile

SPELLABLE_WORDS = 100_000
"""Spelling is corrected to so many words, the most frequent ones. A misspelled one is
compared with all of them, which takes some 5 ms.
"""

DIRECT = """
SELECT coalesce(
  (SELECT id FROM listed WHERE active AND id = ?1),
  (SELECT id FROM listed WHERE active AND id IN (SELECT product FROM upc WHERE upc = ?1)),
  (SELECT id FROM listed WHERE active AND id IN (SELECT product FROM upc WHERE sku = ?1)))
"""
"""The active product with a number: its id, or that of one of its UPCs, or a sku."""


class IndexReader:
    """What a search reads of one catalog.

    Attributes:
        file: the rows; `text`, `stem` and `word` are about active products.
        lists: from ids to ranks, and back.
    """

    def __init__(self, file: OpenedFile, lists: ProductLists) -> None:
        self.file, self.lists = file, lists

    def direct(self, phrase: str) -> int | None:
        """Return the id of the active product whose id, UPC or sku a phrase is, or
        None.
        """
        number = phrase.strip()
        if not (number.isascii() and number.isdigit() and len(number) <= 16):
            return None
        id: int | None = self.file.one(DIRECT, int(number))
        return id

    def texts(self, ids: Sequence[int]) -> Mapping[int, Sequence[str]]:
        """Return the words of products in name, brand, kind and attributes, by id."""
        statement = (
            "SELECT id, name, brand, type, attributes, categories FROM words"
            " WHERE id IN (?)"
        )
        texts = {}
        for id, name, brand, type, attributes, categories in self.file.many(
            statement, ids
        ):
            above = (self._words_of.get(one, "") for one in orjson.loads(categories))
            texts[id] = name, brand, " ".join((type, *above)), attributes
        return texts

    @cached_property
    def _words_of(self) -> Mapping[int, str]:
        """The words of each category's name, and of those above it."""
        return dict(self.file.rows("SELECT id, words FROM category"))

    @cached_property
    def synonyms(self) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
        """The stems of a word, or of a name of several words → those of each of its
        synonyms.
        """
        synonyms: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for group in orjson.loads(self.file.meta["synonyms"]):
            names = [tuple(map(stem, text.split())) for text in group]
            for name in names:
                synonyms.setdefault(name, []).extend(
                    other for other in names if other != name
                )
        return synonyms

    @cached_property
    def spellable(self) -> Mapping[str, str]:
        """The words that spelling is corrected to, the most frequent first, with their
        stems; of words with one stem only the first.
        """
        statement = (
            "SELECT word, stem FROM word WHERE length(word) BETWEEN 3 AND 30"
            " ORDER BY products DESC, word LIMIT ?"
        )
        by_stem: dict[str, str] = {}
        for word, word_stem in self.file.rows(statement, (SPELLABLE_WORDS,)):
            if word.isascii() and word.isalpha():
                by_stem.setdefault(word_stem, word)
        return {word: word_stem for word_stem, word in by_stem.items()}
