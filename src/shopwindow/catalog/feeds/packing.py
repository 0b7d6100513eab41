"""How the index stores documents: as JSON that zstandard compresses with a dictionary.

Documents of one catalog are short and alike: each has the same keys, and many of the
same words. Compressed by itself, such a document shrinks to half. A dictionary of what
many of them share makes that a quarter, and a reader still unpacks one document alone,
in a few microseconds. The dictionary is trained on products of the catalog itself and
is a row of the index (`meta`).

Neither the dictionary nor the compressed bytes mean anything by themselves: two
indexes with equal documents hold the same, whatever dictionaries they have.
"""

import sqlite3
from collections.abc import Iterable
from functools import cached_property

import orjson
import zstandard

from shopwindow.content.reading.yaml import Json

LEVEL = 3
"""zstandard's effort. Its level 9 saves another 8 percent for six times the time."""

DICTIONARY_BYTES = 64 * 1024
"""Bytes of a dictionary. Of 16 KiB documents take 5 percent more, of 112 KiB 1 percent
less.
"""

SAMPLES = 1000
"""Products that a dictionary is trained on. Three thousand make a document 0.1 percent
shorter and take three times as long.
"""

FEWEST_SAMPLES = 500
"""A catalog with fewer products has no dictionary: what it saves is no more than its own
size, and to train it is a seventh of their check.
"""

LONGEST_SAMPLE = 16 * 1024
"""Bytes of a product that a dictionary may be trained on, which bounds the memory that
this takes. A usual product has one to three thousand.
"""


class DamagedRow(sqlite3.DatabaseError):
    """A row is missing, or its document cannot be unpacked: for its readers the file is
    as damaged as if SQLite itself could not read it.
    """

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


class Packing:
    """Packs and unpacks the documents of one index.

    ``dictionary`` is that of the index; empty: it has none. A thread needs a Packing of
    its own, because neither half of the library may be used by two at one time.
    """

    def __init__(self, dictionary: bytes) -> None:
        self.dictionary = dictionary

    def pack(self, document: bytes) -> bytes:
        """Return a document's bytes in JSON as the index stores them."""
        return self._compressor.compress(document)

    def unpack(self, stored: bytes) -> bytes:
        """Return a document's bytes in JSON. Raises DamagedRow."""
        try:
            return self._decompressor.decompress(stored)
        except (zstandard.ZstdError, TypeError) as error:  # damaged, or no bytes at all
            raise DamagedRow(f"a document cannot be unpacked: {error}") from None

    def load(self, stored: bytes) -> Json:
        """Return a stored document. Raises DamagedRow."""
        document = self.unpack(stored)
        try:
            return orjson.loads(document)
        except orjson.JSONDecodeError as error:
            raise DamagedRow(f"a document is no JSON: {error}") from None

    @cached_property
    def _shared(self) -> zstandard.ZstdCompressionDict | None:
        if not self.dictionary:
            return None
        return zstandard.ZstdCompressionDict(
            self.dictionary, dict_type=zstandard.DICT_TYPE_FULLDICT
        )

    @cached_property
    def _compressor(self) -> zstandard.ZstdCompressor:
        # each document would repeat the dictionary's number
        if self._shared:
            self._shared.precompute_compress(level=LEVEL)
        return zstandard.ZstdCompressor(
            LEVEL, dict_data=self._shared, write_dict_id=False
        )

    @cached_property
    def _decompressor(self) -> zstandard.ZstdDecompressor:
        return zstandard.ZstdDecompressor(dict_data=self._shared)


def trained(samples: Iterable[bytes]) -> bytes:
    """Return a dictionary for documents like these; empty where they are too few.

    Equal samples in the same order give an equal dictionary.
    """
    usable: list[bytes | bytearray | memoryview[int]]
    usable = [sample for sample in samples if len(sample) <= LONGEST_SAMPLE]
    if len(usable) < FEWEST_SAMPLES:
        return b""
    try:
        return zstandard.train_dictionary(DICTIONARY_BYTES, usable).as_bytes()
    except zstandard.ZstdError:  # samples that have nothing in common
        return b""
