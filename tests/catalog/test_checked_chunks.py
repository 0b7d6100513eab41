"""A feed of which a part changed is checked in that part, and what is found is what a check of all of it finds."""

import json
import random
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.test_catalog_content import FILES, SMALL, checked
from harness.content import edit, write_files
from harness.program import Checked, Schemas
from shopwindow.catalog.checked_chunks import (
    MAX_CHUNK_LINES,
    NumberedLine,
    chunks_of,
    digest_of,
)
from shopwindow.catalog.rules import check_digit

Json = Any
PRODUCTS, INVENTORY, REVIEWS = "catalog/products.jsonl", "catalog/inventory.jsonl", "catalog/reviews.jsonl"
COUNT = 600


def upc(number: int) -> str:
    digits = f"{number:011}"
    return digits + check_digit(digits)


def product(id: int, **more: Any) -> Json:
    found = {"id": id, "name": f"Boot {id}", "description": "A boot.", "typeName": "SHOE", "brand": "Cobbold"}
    found |= {"categories": [2 + id % 2], "images": {"primary": f"{id}.jpg"}, "price": {"regular": id + 0.25}}
    return found | {"upcs": [{"upc": upc(id), "sku": id}]} | ({"members": [id - 10]} if id % 50 == 20 else {}) | more


def review(id: int, **more: Any) -> Json:
    found = {"id": f"r{id}", "product": id, "rating": 5, "title": "Dry", "text": "Feet.", "date": "2026-10-01"}
    return found | {"name": "A", "recommended": True} | more


def lines(records: list[Json]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


FEEDS: dict[str, list[Json]] = {
    PRODUCTS: [product(id) for id in range(1, COUNT + 1)],
    INVENTORY: [{"upc": upc(id), "site": id % 4, "stores": {"100": id % 9}} for id in range(1, COUNT + 1)],
    REVIEWS: [review(id) for id in range(1, COUNT + 1)],
}


@pytest.fixture
def content(tmp_path: Path) -> Path:
    files = {path: text for path, text in SMALL.items() if path.startswith(("catalog/cat", "catalog/br"))}
    rest = {path: text for path, text in SMALL.items() if not path.startswith("catalog/")}
    return write_files(
        tmp_path / "content", {**files, **rest, **{path: lines(records) for path, records in FEEDS.items()}}
    )


def findings(done: Checked) -> Json:
    return done.problems, done.more, done.at_least


@pytest.fixture
def both(content: Path, schemas: Schemas, tmp_path: Path) -> Callable[[], Json]:
    """Check with the chunks of the check before, and without any; what both find."""
    options = {"cached": tmp_path / "cache" / "documents", "program": "one"}

    def found(**more: Any) -> Json:
        warm, cold = checked(content, schemas, **options, **more), checked(content, schemas, **more)
        assert findings(warm) == findings(cold)
        return warm.problems

    assert found() == []
    assert (tmp_path / "cache" / "catalog-chunks").stat().st_size > COUNT * 8 * 3
    return found


def changed(content: Path, path: str, change: Callable[[list[Json]], object]) -> None:
    records = deepcopy(FEEDS[path])
    change(records)
    write_files(content, {path: lines(records)})


# What is changed in which feed, and the rules and lines of what is then found there.
CASES: list[tuple[str, Callable[[list[Json]], object], list[str]]] = [
    (PRODUCTS, lambda records: records[300].update(price={"regular": 5}), []),
    (PRODUCTS, lambda records: records[300].update(price={"regular": "five"}), ["schema.type:301"]),
    (PRODUCTS, lambda records: records.insert(0, product(9000)), []),
    (PRODUCTS, lambda records: records.insert(0, product(300)), ["unique:301"]),
    (PRODUCTS, lambda records: records.append(product(9000, members=[9001])), ["reference:601"]),
    (PRODUCTS, lambda records: records[9].update(members=[20]), ["product.ring:10", "product.ring:20"]),
    (PRODUCTS, lambda records: records.pop(299), ["reference:300", "reference:300"]),
    (PRODUCTS, lambda records: records.reverse(), []),
    (REVIEWS, lambda records: records.insert(10, review(9000, product=77777)), ["reference:11"]),
    (REVIEWS, lambda records: records.insert(10, review(500)), ["unique:501"]),
    (INVENTORY, lambda records: records[500]["stores"].update({"101": 1}), ["reference:501"]),
    (INVENTORY, lambda records: records.insert(0, records[-1]), ["unique:601"]),
]


@pytest.mark.parametrize(("path", "change", "expected"), CASES)
def test_what_is_found_after_a_change_is_what_a_check_of_everything_finds(
    content: Path, both: Callable[[], Json], path: str, change: Callable[[list[Json]], object], expected: list[str]
) -> None:
    changed(content, path, change)
    assert [f"{each.rule}:{each.place.line}" for each in both()] == expected
    assert [f"{each.rule}:{each.place.line}" for each in both()] == expected
    write_files(content, {path: lines(FEEDS[path])})
    assert both() == []


def test_what_refers_to_something_that_is_gone_is_looked_at_again(content: Path, both: Callable[[], Json]) -> None:
    categories = FILES["categories"]
    edit(content, (categories, "    - {id: 3, name: Loafers, url: https://www.example/loafers}\n", ""))
    (problem,) = both()
    assert problem.found.startswith(
        f"{COUNT // 2} lines of 1 feed name a category with the id 3, which does not exist; "
    )
    edit(
        content,
        (categories, "    - {id: 2,", "    - {id: 3, name: Flats, url: https://www.example/flats}\n    - {id: 2,"),
    )
    assert both() == []


def test_few_problems_of_many_are_told_alike(content: Path, both: Callable[..., Json]) -> None:
    changed(content, PRODUCTS, lambda records: [record.update(brand=7) for record in records[100:300]])
    (problem,) = both(most=3, jobs=1)
    assert "the same in 200 lines" in problem.found


@pytest.mark.parametrize("seed", range(6))
def test_any_changes_are_found(content: Path, both: Callable[[], Json], seed: int) -> None:
    source = random.Random(seed)

    def change(records: list[Json]) -> None:
        for _ in range(source.randrange(1, 12)):
            place = source.randrange(len(records))
            match source.randrange(4):
                case 0:
                    records.pop(place)
                case 1:
                    records.insert(place, dict(source.choice(records)))
                case 2:
                    records[place] = records[place] | {source.choice(list(records[place])): source.choice((7, "x", []))}
                case _:
                    records[place:place] = records[:40]

    changed(content, source.choice(list(FEEDS)), change)
    both()


HARMS: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda data: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "another number": lambda data: data.replace(pack("=q", 300), pack("=q", 301)),
    "no header": lambda data: b"[]\n" + data,
    "another program": lambda data: data.replace(b'"by":"one', b'"by":"two', 1),
}


@pytest.mark.parametrize("harm", HARMS)
def test_damaged_chunks_are_none(content: Path, both: Callable[[], Json], tmp_path: Path, harm: str) -> None:
    """A fault that chunks taken over would hide: a product's id is taken twice."""
    kept = tmp_path / "cache" / "catalog-chunks"
    kept.write_bytes(HARMS[harm](kept.read_bytes()))
    changed(content, PRODUCTS, lambda records: records.insert(0, product(300)))
    assert [each.place.line for each in both()] == [301]


def test_another_program_checks_everything(content: Path, schemas: Schemas, tmp_path: Path) -> None:
    options = {"cached": tmp_path / "cache" / "documents"}
    kept = tmp_path / "cache" / "catalog-chunks"
    headers = []
    for program in ("one", "two"):
        checked(content, schemas, **options, program=program)
        headers.append(json.loads(kept.read_bytes().split(b"\n")[0])["by"].split()[0])
    assert headers == ["one", "two"]


# -- where a chunk begins ----------------------------------------------------------------------------------------

TEXTS = st.lists(st.binary(min_size=1, max_size=3).map(lambda text: text + b"\n"), max_size=200)


def numbered(texts: list[bytes]) -> list[NumberedLine]:
    return list(enumerate(texts, 1))


@given(TEXTS, TEXTS, TEXTS)
def test_a_change_changes_the_chunks_around_it(before: list[bytes], middle: list[bytes], after: list[bytes]) -> None:
    old = [[text for _, text in chunk] for chunk in chunks_of(numbered(before + after))]
    new = [[text for _, text in chunk] for chunk in chunks_of(numbered(before + middle + after))]
    assert [text for chunk in new for text in chunk] == before + middle + after
    first = [[text for _, text in chunk] for chunk in chunks_of(numbered(before))]
    last = [[text for _, text in chunk] for chunk in chunks_of(numbered(after))]
    for made in (old, new):
        assert first[:-1] == made[: max(0, len(first) - 1)]
        assert last[1:] == (made[1 - len(last) :] if last[1:] else [])


def test_a_chunk_ends_at_last() -> None:
    chunks = list(chunks_of(numbered([b"the same\n"] * (2 * MAX_CHUNK_LINES + 1))))
    assert max(map(len, chunks)) <= MAX_CHUNK_LINES


def test_a_digest_does_not_depend_on_where_a_chunk_stands_but_on_what_it_is() -> None:
    chunk = numbered([b"a\n", b"b\n"])
    below = [(number + 7, text) for number, text in chunk]
    assert digest_of("review", chunk) == digest_of("review", below)
    assert digest_of("review", chunk) != digest_of("inventory", chunk)
    assert digest_of("review", chunk) != digest_of("review", chunk[:1])
