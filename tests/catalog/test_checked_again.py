"""A feed of which a part changed: a build upon earlier checks finds what a check of everything finds."""

import json
import random
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from catalog.test_catalog_content import FILES, SMALL
from harness.catalogs import check_digit
from harness.content import AT, edit, write_files
from shopwindow import library
from shopwindow.shop import INTERFACE

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


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the content, and with what a build of it left."""
    folder = tmp_path_factory.mktemp("checked")
    files = {path: text for path, text in SMALL.items() if path.startswith(("catalog/cat", "catalog/br"))}
    rest = {path: text for path, text in SMALL.items() if not path.startswith("catalog/")}
    feeds = {path: lines(records) for path, records in FEEDS.items()}
    write_files(folder / "content", {**files, **rest, **feeds})
    assert library.build(INTERFACE, folder / "content", folder / "dist", at=AT, jobs=1).built is not None
    return folder


@pytest.fixture
def content(checked: Path, tmp_path: Path) -> Path:
    """The content, to be changed at will, beside what the build left."""
    return Path(shutil.copytree(checked, tmp_path / "shop", symlinks=True)) / "content"


def found(content: Path) -> Json:
    """The problems that a build finds upon earlier checks; a check of everything finds the same."""
    again = library.build(INTERFACE, content, content.parent / "dist", at=AT, jobs=1).checked
    anew = library.check(INTERFACE, content, at=AT, jobs=1)
    assert (again.problems, again.more, again.at_least) == (anew.problems, anew.more, anew.at_least)
    return again.problems


def places(problems: Json) -> list[str]:
    return [f"{each.rule}:{each.place.line}" for each in problems]


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
    content: Path, path: str, change: Callable[[list[Json]], object], expected: list[str]
) -> None:
    changed(content, path, change)
    assert places(found(content)) == expected
    assert places(found(content)) == expected
    write_files(content, {path: lines(FEEDS[path])})
    assert found(content) == []


def test_what_refers_to_something_that_is_gone_is_looked_at_again(content: Path) -> None:
    categories = FILES["categories"]
    edit(content, (categories, "    - {id: 3, name: Loafers, url: https://www.example/loafers}\n", ""))
    (problem,) = found(content)
    assert problem.found.startswith(
        f"{COUNT // 2} lines of 1 feed name a category with the id 3, which does not exist; "
    )
    edit(
        content,
        (categories, "    - {id: 2,", "    - {id: 3, name: Flats, url: https://www.example/flats}\n    - {id: 2,"),
    )
    assert found(content) == []


def test_what_stands_outside_of_the_catalog_is_compared_again(content: Path) -> None:
    edit(content, ("stores/one.yaml", "locationNumber: 100", "locationNumber: 101"))
    assert [each.rule for each in found(content)] == ["reference"]
    edit(content, ("stores/one.yaml", "locationNumber: 101", "locationNumber: 100"))
    assert found(content) == []


def test_lines_of_one_cause_are_one_problem(content: Path) -> None:
    changed(content, PRODUCTS, lambda records: [record.update(brand=7) for record in records[100:300]])
    (problem,) = found(content)
    assert "the same in 200 lines" in problem.found


@pytest.mark.parametrize("seed", range(6))
def test_any_changes_are_found(content: Path, seed: int) -> None:
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
    found(content)


HARMS: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda data: b"",
    "cut off": lambda data: data[: len(data) // 2],
    "another beginning": lambda data: b"[]\n" + data,
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_cache_of_checks_is_none(content: Path, harm: str) -> None:
    """A fault that checks taken over would hide: a product's id is taken twice."""
    for path in (content.parent / "dist" / ".cache").iterdir():
        if path.is_file():
            path.write_bytes(HARMS[harm](path.read_bytes()))
    changed(content, PRODUCTS, lambda records: records.insert(0, product(300)))
    assert [each.place.line for each in found(content)] == [301]
