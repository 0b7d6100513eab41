"""Documents as the index stores them: compressed with a dictionary, and unpacked one by one."""

import random
import sqlite3
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.catalogs import index, product
from shopwindow.catalog.feeds.packing import (
    FEWEST_SAMPLES,
    LONGEST_SAMPLE,
    DamagedRow,
    Packing,
    trained,
)
from shopwindow.release.damage import is_damaged

WORDS = ["wool", "oak", "linen", "silk", "brass", "pine", "slate", "amber", "cotton", "leather"]


def documents(count: int) -> list[dict[str, Any]]:
    source = random.Random(5)
    return [product(id, " ".join(source.choices(WORDS, k=4)), typeName="SHOE") for id in range(1, count + 1)]


SAMPLES = [orjson.dumps(document) for document in documents(FEWEST_SAMPLES + 100)]


def test_what_was_packed_is_unpacked_with_a_dictionary_and_without() -> None:
    for dictionary in (b"", trained(SAMPLES)):
        packing = Packing(dictionary)
        again = Packing(packing.dictionary)
        assert [again.unpack(packing.pack(sample)) for sample in SAMPLES[:9]] == SAMPLES[:9]


def test_a_dictionary_makes_documents_shorter() -> None:
    sizes = [sum(len(Packing(dictionary).pack(each)) for each in SAMPLES) for dictionary in (b"", trained(SAMPLES))]
    assert sizes[1] < sizes[0] / 2


def test_the_same_samples_give_the_same_dictionary() -> None:
    assert trained(SAMPLES) == trained(list(SAMPLES)) != b""
    assert trained(SAMPLES[1:]) != trained(SAMPLES)


def test_few_samples_long_ones_and_empty_ones_give_none() -> None:
    long = [b"x" * (LONGEST_SAMPLE + 1)] * FEWEST_SAMPLES
    assert [trained(some) for some in (SAMPLES[: FEWEST_SAMPLES - 1], long, [b""] * FEWEST_SAMPLES)] == [b"", b"", b""]


def test_only_a_catalog_that_is_large_enough_has_a_dictionary(tmp_path: Path) -> None:
    few, many = documents(FEWEST_SAMPLES - 1), documents(FEWEST_SAMPLES + 100)
    indexes = [index(tmp_path, *few), index(tmp_path, *many)]
    assert [bool(each.file.meta["dictionary"]) for each in indexes] == [False, True]
    for found, some in zip(indexes, (few, many), strict=True):
        stored = found.products([document["id"] for document in some])
        assert {id: document["name"] for id, document in stored.items()} == {each["id"]: each["name"] for each in some}


@pytest.mark.parametrize("stored", [b"", b"{}", b"\x28\xb5\x2f\xfd", None, "text"])
def test_a_document_that_cannot_be_unpacked_is_a_damaged_file(stored: Any) -> None:
    with pytest.raises(DamagedRow) as raised:
        Packing(b"").unpack(stored)
    assert is_damaged(raised.value)


def test_a_document_that_is_no_json_is_a_damaged_file() -> None:
    packing = Packing(b"")
    with pytest.raises(DamagedRow) as raised:
        packing.load(packing.pack(b'{"id": 5'))
    assert is_damaged(raised.value)


def test_a_reader_of_a_damaged_document_learns_so(tmp_path: Path) -> None:
    found = index(tmp_path, *documents(3))
    with sqlite3.connect(next(tmp_path.iterdir())) as database:
        database.execute("UPDATE product SET document = x'00'")
    with pytest.raises(DamagedRow):
        found.product(2)


def test_a_reader_of_a_lost_column_learns_so(tmp_path: Path) -> None:
    found = index(tmp_path, *documents(3))
    with sqlite3.connect(next(tmp_path.iterdir())) as database:
        database.execute("DELETE FROM col WHERE name = 'id'")
    with pytest.raises(DamagedRow) as raised:
        found.lists.column("id")
    assert is_damaged(raised.value)
