"""Facts about the catalog's content. Each case is an edit of a small valid catalog, with a mark where it is faulty."""

import gzip
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from harness.content import (
    MINIMAL,
    SITE,
    check,
    declared,
    edit,
    found,
    problems,
    program_schemas,
    scan,
    unmark,
    write_files,
)
from harness.program import Checked, Schemas, shopwindow
from shopwindow.catalog.feeds import rules as catalog_rules
from shopwindow.catalog.index.known_lines import CheckedCatalog
from shopwindow.catalog.operations import categories
from shopwindow.content.check import records
from shopwindow.problems import Problem
from shopwindow.shop import INTERFACE

CATEGORIES = """\
- id: 1
  name: Shoes
  url: https://www.example/shoes
  categories:
    - {id: 2, name: Boots, url: https://www.example/boots}
    - {id: 3, name: Loafers, url: https://www.example/loafers}
- {id: 4, name: Sale, url: https://www.example/sale, type: GoTo, overrideUrl: https://www.example/all}
"""
BRANDS = "- {name: Cobbold, id: 7, url: https://www.example/cobbold}\n"
PRODUCTS = """\
- id: 501
  name: Paddock Boot
  description: A boot.
  typeName: SHOE
  brand: Cobbold
  categories: [2, 1]
  images: {primary: paddock.jpg}
  colors: [{id: 1, name: Chestnut, normal: BROWN}, {id: 2, name: Jet, normal: BLACK}]
  sizes: [{id: 11, name: "8", normal: "8"}]
  price: {regular: {low: 100, high: 120}, sale: 90, finalPrice: {value: 80, display: Always Show, promotions: [8]}}
  upcs:
    - {upc: "036000291452", sku: 9001, color: 1, size: 11, price: {regular: 100, sale: 90}}
    - {upc: "4006381333931", sku: 9002, color: 2, size: 11}
  promotions: [8]
  badges: [{badge: Half Price, selectColor: false, promotionId: 8}]
  rebates: [{id: 1, description: A shoe tree}]
  updated: 2026-11-20T06:00:00-05:00
- id: 502
  name: Boot and Tree
  description: A boot, and what keeps it.
  typeName: SHOE
  brand: Cobbold
  categories: [2]
  images: {primary: both.jpg}
  price: {regular: 150}
  members: [501]
"""
INVENTORY = '{"upc":"4006381333931","site":3,"stores":{"100":2}}\n'
REVIEW = (
    '{"id":"r1","product":501,"rating":5,"title":"Dry","text":"Feet.",'
    '"date":"2026-10-01","name":"A","recommended":true}'
)
RECOMMENDATIONS = "- {product: 501, products: [502]}\n"
SETTINGS = "catalog: {image_url: https://i.example, product_url: 'https://www.example/p?ID={id}'}\n"

SMALL: Mapping[str, str] = {
    **MINIMAL,
    "site.yaml": SITE + SETTINGS,
    "catalog/categories.yaml": CATEGORIES,
    "catalog/brands.yaml": BRANDS,
    "catalog/products.yaml": PRODUCTS,
    "catalog/inventory.jsonl": INVENTORY,
    "catalog/reviews.jsonl": REVIEW + "\n",
    "catalog/recommendations.yaml": RECOMMENDATIONS,
}
FILES = {
    "categories": "catalog/categories.yaml",
    "brands": "catalog/brands.yaml",
    "products": "catalog/products.yaml",
    "inventory": "catalog/inventory.jsonl",
    "reviews": "catalog/reviews.jsonl",
    "recommendations": "catalog/recommendations.yaml",
    "promotion": "promotions/one.yaml",
    "site": "site.yaml",
}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A content folder with a small catalog of every kind, to be changed at will."""
    return write_files(tmp_path / "content", SMALL)


def checked(folder: Path, schemas: Schemas, **options: Any) -> Checked:
    known = declared(folder, INTERFACE, program_schemas(INTERFACE).under(folder / "schemas"))
    chosen = known.schemas if known.interface.collections else schemas
    return check(folder, chosen, known.interface, **options)


def catalog(folder: Path, schemas: Schemas, **options: Any) -> CheckedCatalog:
    """The catalog of a content folder without fault."""
    done = checked(folder, schemas, **options)
    assert done.documents is not None, done.problems
    made = done.documents.feeds.get("catalog")
    assert isinstance(made, CheckedCatalog)
    return made


def read(made: CheckedCatalog, kind: str) -> list[Any]:
    """The documents of a kind that has many, as the check reads them."""
    reader = made.feeds.reader
    return [
        document for part in made.feeds.batches[kind] for document in reader.documents(part, list(reader.lines(part)))
    ]


# -- mistakes at their places ------------------------------------------------------------------------------------

PRICE = "price: {regular: {low: 100, high: 120}, sale: 90,"
LOAFERS = "{id: 3, name: Loafers,"
SALE = "{id: 4, name: Sale, url: https://www.example/sale, type: GoTo, overrideUrl: https://www.example/all}"
WITHIN_SHOES = SALE.replace("name: Sale,", "name: Sale, parent: 1,")
OWN = "price: {regular: 100, sale: 90}}"

# The file, what stands there, what to put instead, and what is found at each mark: rule and pointer.
CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    # categories
    ("categories", LOAFERS, "{id: ‸2, name: Loafers,", ("unique 0/categories/1/id",)),
    ("categories", LOAFERS, "{id: 3, ‸parent: 4, name: Loafers,", ("category.parent 0/categories/1/parent",)),
    ("categories", "name: Sale,", "name: Sale, parent: 2,", ()),
    ("categories", "name: Sale,", "name: Sale, parent: ‸9,", ("reference 1/parent",)),
    ("categories", "name: Sale,", "name: Sale, parent: ‸4,", ("category.ring 1/parent",)),
    ("categories", "name: Sale,", "name: Sale, parent: ‸[1],", ("schema.type 1/parent",)),
    ("categories", SALE, WITHIN_SHOES + "\n- " + WITHIN_SHOES.replace("4,", "‸4,").replace("parent: 1", "parent: 4"),
     ("unique 2/id",)),
    ("categories", "name: Sale,", "name: Sale, overrideCategoryId: ‸9,", ("reference 1/overrideCategoryId",)),
    ("categories", SALE, "{id: 4, name: Sale, url: https://www.example/sale, ‸overrideUrl: 'https://b.example'}",
     ("schema.not 1/overrideUrl",)),
    ("categories", "  name: Shoes\n  url", "  name: Shoes\n  parent: ‸5\n  url", ("reference 0/parent",)),
    # brands
    ("brands", "- {name: Cobbold, id: 7,", "- {name: Other, id: 7, url: https://a.example}\n- {name: Cobbold, id: ‸7,",
     ("unique 1/id",)),
    ("brands", "- {name: Cobbold,", "- {name: Cobbold, id: 8, url: https://a.example}\n- {name: ‸Cobbold,",
     ("unique 1/name",)),
    ("products", "name: Paddock Boot", 'name: ‸"Paddock\\x01Boot"', ("text.xml 0/name",)),
    # products: what they refer to
    ("products", "categories: [2, 1]", "categories: [2, ‸77]", ("reference 0/categories/1",)),
    ("products", "promotions: [8]\n", "promotions: [‸9]\n", ("reference 0/promotions/0",)),
    ("products", "promotionId: 8", "promotionId: ‸9", ("reference 0/badges/0/promotionId",)),
    ("products", "promotions: [8]}", "promotions: [‸9]}", ("reference 0/price/finalPrice/promotions/0",)),
    ("products", "members: [501]", "members: [501, ‸503]", ("reference 1/members/1",)),
    ("products", "members: [501]", "members: [‸502]", ("product.ring 1/members/0",)),
    ("products", "- id: 502", "- id: ‸501", ("product.ring 1/members/0", "reference 0/products/0", "unique 1/id")),
    # products: prices
    ("products", PRICE, "price: {regular: {low: 100, high: 120}, sale: ‸130,", ("price.sale 0/price/sale",)),
    ("products", PRICE, "price: {regular: 90, sale: ‸90,", ("price.sale 0/price/sale",)),
    ("products", PRICE, "price: {regular: 100, sale: {low: 80, high: 100},", ()),
    ("products", PRICE, "price: {regular: 100, sale: ‸{low: 80, high: 101},", ("price.sale 0/price/sale",)),
    ("products", PRICE, "price: {regular: {low: 100, high: 120}, sale: {low: 100, high: 110},", ()),
    ("products", PRICE, "price: {regular: {low: ‸120, high: 120}, sale: 90,", ("price.range 0/price/regular/low",)),
    ("products", PRICE, "price: {regular: 100, sale: ‸-1,", ("schema.minimum 0/price/sale",)),
    ("products", PRICE, "price: {regular: ‸cheap, sale: 90,", ("schema.type 0/price/regular",)),
    ("products", PRICE, "price: {regular: {low: 1, high: 2, ‸mid: 1}, sale: 1,",
     ("schema.additionalProperties 0/price/regular/mid",)),
    ("products", OWN, "price: {regular: 100, sale: ‸100}}", ("price.sale 0/upcs/0/price/sale",)),
    # products: what is sold of them
    ("products", '"036000291452"', '‸"036000291453"', ("product.upc 0/upcs/0/upc",)),
    ("products", '"036000291452"', '‸"0036000291453"', ("product.upc 0/upcs/0/upc",)),
    ("products", '"036000291452"', '"0036000291452"', ()),
    ("products", '"036000291452"', '‸"03600029145"', ("schema.pattern 0/upcs/0/upc",)),
    ("products", '"4006381333931"', '‸"00036000291452"', ("reference upc", "unique 0/upcs/1/upc")),
    ("products", "sku: 9002", "sku: ‸9001", ("unique 0/upcs/1/sku",)),
    ("products", "color: 2", "color: ‸3", ("product.color 0/upcs/1/color",)),
    ("products", "sku: 9002, color: 2, size: 11", "sku: 9002, color: 2, size: ‸8", ("product.size 0/upcs/1/size",)),
    ("products", "{id: 2, name: Jet", "{id: ‸1, name: Jet", ("product.color 0/upcs/1/color", "unique 0/colors/1/id")),
    ("products", "A shoe tree}", "A shoe tree}, {id: ‸1, description: Laces}", ("unique 0/rebates/1/id",)),
    ("products", "2026-11-20T06", "‸2026-02-30T06", ("time.exists 0/updated",)),
    ("products", "categories: [2]", "categories: []", ("schema.minItems 1/categories",)),
    # an entry that the schema refuses hides no other entry of its list
    ("products", "categories: [2, 1]", "categories: [‸two, ‸77]",
     ("reference 0/categories/1", "schema.type 0/categories/0")),
    ("products", "promotions: [8]\n", "promotions: [‸x, ‸9]\n",
     ("reference 0/promotions/1", "schema.type 0/promotions/0")),
    ("products", 'sku: 9001, color: 1, size: 11, price: {regular: 100, sale: 90}}\n    - {upc: "4006381333931"',
     'sku: ‸x, color: 1, size: 11}\n    - {upc: ‸"4006381333932"',
     ("product.upc 0/upcs/1/upc", "schema.type 0/upcs/0/sku")),
    ("products", "selectColor: false, promotionId: 8}", "selectColor: false, promotionId: ‸9}, {badge: ‸5}",
     ("reference 0/badges/0/promotionId", "schema.type 0/badges/1/badge", "schema.required 0/badges/1",
      "schema.required 0/badges/1")),
    ("products", "members: [501]", "members: [‸x, ‸503]", ("reference 1/members/1", "schema.type 1/members/0")),
    ("inventory", '"100":2', '"100":‸-2,‸"101":2', ("reference stores/101", "schema.minimum stores/100")),
    ("recommendations", "products: [502]", "products: [‸x, ‸99]",
     ("reference 0/products/1", "schema.type 0/products/0")),
    # inventory
    ("inventory", '"upc":"4006381333931"', '"upc":‸"96385074"', ("reference upc",)),
    ("inventory", '"upc":"4006381333931"', '"upc":"04006381333931"', ()),
    ("inventory", '"100":2', '‸"101":2', ("reference stores/101",)),
    ("inventory", '"100":2', '"100":‸-2', ("schema.minimum stores/100",)),
    ("inventory", '"site":3', '"site":‸3.0', ("schema.fraction site",)),
    ("inventory", '"site":3,', '"site":3,‸"site":4,', ("yaml.duplicate site",)),
    ("inventory", '"site":3,', '"site":3 ‸', ("feed.syntax",)),
    # reviews
    ("reviews", '"product":501', '"product":‸500', ("reference product",)),
    ("reviews", '"rating":5', '"rating":‸6', ("schema.maximum rating",)),
    ("reviews", '"2026-10-01"', '‸"2026-10-32"', ("schema.format date",)),
    ("reviews", '"text":"Feet."', '"text":‸"\\u0007"', ("text.xml text",)),
    ("reviews", '"name":"A",', "", ("schema.required",)),
    # recommendations
    ("recommendations", "products: [502]", "products: [502, ‸99]", ("reference 0/products/1",)),
    ("recommendations", "products: [502]", "products: [502, ‸501]", ("recommendation.itself 0/products/1",)),
    ("recommendations", "- {product: 501", "- {product: ‸500", ("reference 0/product",)),
    ("recommendations", "- {product: 501,", "- {product: 501, products: [502]}\n- {product: ‸501,",
     ("unique 1/product",)),
    # what promotions and the site say of the catalog
    ("promotion", "categories: [Men]", "categories: [Men]\nproducts: [501, 502]\ncategoryIds: [4]", ()),
    ("promotion", "categories: [Men]", "categories: [Men]\nproducts: [501, ‸503]", ("reference products/1",)),
    ("promotion", "categories: [Men]", "categories: [Men]\ncategoryIds: [‸5]", ("reference categoryIds/0",)),
    ("site", SETTINGS, "", ("site.catalog",)),
    ("site", "image_url: https://i.example", "image_url: ‸https://i.example/", ("schema.pattern catalog/image_url",)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "old", "new", "expected"), CASES, ids=[f"{case[0]}-{case[2][:40]}" for case in CASES])
def test_a_mistake_is_found_at_its_place(
    small: Path, schemas: Schemas, kind: str, old: str, new: str, expected: tuple[str, ...]
) -> None:
    places = edit(small, (FILES[kind], old, new))
    told = found(small, schemas)
    assert sorted(each.partition(" ")[2] for each in told) == sorted(expected)
    assert set(places) <= {each.partition(" ")[0] for each in told}


def test_a_number_is_told_as_its_file_writes_it(small: Path, schemas: Schemas) -> None:
    edit(small, (FILES["products"], "name: Paddock Boot", "name: 5.10"), (FILES["reviews"], '"Dry"', "5.10"))
    assert [(each.path, each.found, each.allowed) for each in problems(small, schemas)] == [
        (FILES["products"], "5.10 is not text", 'text: put it in quotes, "5.10"'),
        (FILES["reviews"], "5.10 is not text", 'text: put it in quotes, "5.10"'),
    ]


def test_a_small_catalog_is_handed_out_as_it_is_written(small: Path, schemas: Schemas) -> None:
    made = catalog(small, schemas)
    url = "https://www.example"
    assert made.feeds.categories == [
        {"id": 1, "name": "Shoes", "url": f"{url}/shoes"},
        {"id": 2, "name": "Boots", "url": f"{url}/boots", "parent": 1},
        {"id": 3, "name": "Loafers", "url": f"{url}/loafers", "parent": 1},
        {"id": 4, "name": "Sale", "url": f"{url}/sale", "type": "GoTo", "overrideUrl": f"{url}/all"},
    ]
    assert made.feeds.brands == [{"name": "Cobbold", "id": 7, "url": f"{url}/cobbold"}]
    assert [product["id"] for product in read(made, "product")] == [501, 502]
    assert read(made, "inventory") == [{"upc": "4006381333931", "site": 3, "stores": {"100": 2}}]
    assert read(made, "review") == [json.loads(REVIEW)]
    assert read(made, "recommendation") == [{"product": 501, "products": [502]}]


def test_without_a_catalog_there_is_none(minimal: Path, schemas: Schemas) -> None:
    done = checked(minimal, schemas)
    assert done.documents is not None
    assert done.documents.feeds.get("catalog") is None


def test_a_finding_says_what_was_found_and_what_is_allowed(small: Path, schemas: Schemas) -> None:
    edit(
        small,
        (FILES["products"], '"036000291452"', '"036000291455"'),
        (FILES["products"], PRICE, "price: {regular: {low: 100, high: 120}, sale: 150,"),
        (FILES["products"], "color: 2", "color: 3"),
        (FILES["inventory"], INVENTORY, INVENTORY * 2),
        (FILES["categories"], "name: Sale,", "name: Sale, parent: 4,"),
    )
    assert [(each.path, each.found, each.allowed) for each in problems(small, schemas)] == [
        (FILES["categories"], "the category 4 stands within itself", "a category outside of it, or no parent"),
        (
            FILES["inventory"],
            "the UPC 4006381333931 is also that of the inventory in catalog/inventory.jsonl:1",
            "each once",
        ),
        (
            FILES["products"],
            "the sale price 150 is not below the regular price 100 to 120",
            "a lower price; without a sale, no sale",
        ),
        (
            FILES["products"],
            "the check digit of 036000291455 is wrong: with these digits before it, it is 2",
            "a bar code as it is printed (GS1)",
        ),
        (FILES["products"], "the product has no color with the id 3", "one of its colors: 1, 2"),
    ]


def test_nothing_is_said_of_references_to_what_cannot_be_read(small: Path, schemas: Schemas) -> None:
    edit(small, (FILES["products"], "- id: 501", "- id: ‸old"))
    assert found(small, schemas) == ["catalog/products.yaml:1:7 schema.type 0/id"]
    (small / FILES["products"]).write_text("- {")
    assert [each.partition(" ")[2] for each in found(small, schemas)] == ["yaml.syntax"]


def test_collections_that_hold_each_other_are_told(small: Path, schemas: Schemas) -> None:
    third = PRODUCTS[PRODUCTS.index("- id: 502") :].replace("502", "503").replace("[501]", "[501, ‸502]")
    edit(small, (FILES["products"], "members: [501]\n", f"members: [501, ‸503]\n{third}"))
    told = problems(small, schemas)
    assert [(each.rule, each.found) for each in told] == [
        ("product.ring", "the collection 502 stands within itself, by way of its member 503"),
        ("product.ring", "the collection 503 stands within itself, by way of its member 502"),
    ]


def test_a_category_that_leads_back_to_itself_is_told_with_the_way(small: Path, schemas: Schemas) -> None:
    feed = [{"id": 10 + n, "name": f"N{n}", "url": "https://a.example/", "parent": 10 + (n + 1) % 3} for n in range(3)]
    write_files(small, {"catalog/categories/more.jsonl": "\n".join(map(json.dumps, feed))})
    assert [each.found for each in problems(small, schemas)] == [
        "the category 10 stands within itself, by way of 11, 12",
        "the category 11 stands within itself, by way of 12, 10",
        "the category 12 stands within itself, by way of 10, 11",
    ]


def test_expressions_are_evaluated_in_yaml_and_a_name_that_is_missing_is_told(small: Path, schemas: Schemas) -> None:
    edit(small, (FILES["products"], "name: Paddock Boot", 'name: Paddock Boot\n  url: "{{ www }}/paddock"'))
    (paddock, _) = read(catalog(small, schemas), "product")
    assert paddock["url"] == "https://www.example/paddock"
    (place,) = edit(small, (FILES["products"], '"{{ www }}/paddock"', '‸"{{ wwww }}/paddock"'))
    assert found(small, schemas) == [f"{place} expression 0/url"]


# -- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("catalog/products.yaml", "product"),
        ("catalog/products/2026/shoes.yml", "product"),
        ("catalog/products/nightly.jsonl", "product"),
        ("catalog/products.jsonl.gz", "product"),
        ("catalog/inventory/a.jsonl.zst", "inventory"),
        ("catalog/categories/tree.yaml", "category"),
        ("catalog/synonyms.yaml", "synonym"),
    ],
)
def test_a_file_of_the_catalog_belongs_to_its_kind(tmp_path: Path, path: str, kind: str) -> None:
    write_files(tmp_path, {"site.yaml": SITE, path: ""})
    sources, wrong = scan(tmp_path, INTERFACE.kinds)
    assert ([(source.path, source.kind.name) for source in sources if source.path == path], wrong) == (
        [(path, kind)],
        [],
    )


@pytest.mark.parametrize(
    ("path", "place", "nearest"),
    [
        ("catalog/product.yaml", "catalog/product.yaml", "products.yaml"),
        ("catalog/products.json", "catalog/products.json", ""),
        ("catalog/review/a.yaml", "catalog/review", "reviews"),
        ("catalog/catalog/products.yaml", "catalog/catalog", ""),
        ("catalogue/products.yaml", "catalogue", "catalog/"),
        ("products.yaml", "products.yaml", ""),
        ("stores/a.jsonl.gz", "stores/a.jsonl.gz", ""),
    ],
)
def test_another_file_is_told_with_the_name_that_may_be_meant(
    tmp_path: Path, path: str, place: str, nearest: str
) -> None:
    write_files(tmp_path, {"site.yaml": SITE, path: ""})
    assert [(each.path, each.nearest) for each in scan(tmp_path, INTERFACE.kinds)[1]] == [(place, nearest)]


def lines(count: int, **more: Any) -> list[Any]:
    """So many reviews."""
    return [{**json.loads(REVIEW), "id": f"n{number}", **more} for number in range(count)]


def feed(documents: list[Any]) -> bytes:
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def packed(data: bytes, ending: str) -> bytes:
    if ending == ".zst":
        done: bytes = zstandard.ZstdCompressor().compress(data)
        return done
    return gzip.compress(data) if ending == ".gz" else data


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_a_feed_is_read_alike_however_it_is_packed_and_shared(
    small: Path, schemas: Schemas, tmp_path: Path, ending: str
) -> None:
    documents = lines(9000, text="Feet. " * 150)
    data = feed(documents) + b"\n  \n"
    assert len(data) > 2 * records.BATCH_BYTES
    (small / FILES["reviews"]).unlink()
    write_files(small, {f"catalog/reviews.jsonl{ending}": packed(data, ending)})
    made = catalog(small, schemas, jobs=3)
    assert read(made, "review") == documents
    rows = tmp_path / "rows"
    made.write(rows, None, None)
    with closing(sqlite3.connect(rows)) as database:
        stored = database.execute("SELECT document FROM review ORDER BY rowid").fetchall()
    assert [json.loads(document) for (document,) in stored] == documents


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("jobs", [1, 3])
def test_faults_deep_in_a_feed_have_their_lines(small: Path, schemas: Schemas, ending: str, jobs: int) -> None:
    documents = lines(9000, text="Feet. " * 150)
    documents[4567]["rating"] = 9
    documents[8000]["id"] = "n5"
    documents[8999]["product"] = 5
    data = feed(documents).replace(b'{"id": "n7000"', b'{"id": "n7000",')
    (small / FILES["reviews"]).unlink()
    path = f"catalog/reviews.jsonl{ending}"
    write_files(small, {path: packed(data, ending)})
    told = problems(small, schemas, jobs=jobs)
    assert [(each.place and each.place.line, each.rule) for each in told] == [
        (4568, "schema.maximum"),
        (7001, "feed.syntax"),
        (8001, "unique"),
        (9000, "reference"),
    ]
    assert f"{path}:6" in told[2].found


@pytest.mark.parametrize("data", [b"", b"\n\n", b"  \r\n"])
def test_a_feed_may_be_empty(small: Path, schemas: Schemas, data: bytes) -> None:
    write_files(small, {FILES["reviews"]: data})
    assert read(catalog(small, schemas), "review") == []


def test_a_line_that_is_too_long_is_told_and_the_next_one_is_read(small: Path, schemas: Schemas) -> None:
    long = json.dumps({"id": "x" * (1024 * 1024)})
    write_files(small, {FILES["reviews"]: f"{REVIEW}\n{long}\n{REVIEW}\n"})
    assert [each.split(" ", 1) for each in found(small, schemas)] == [
        ["catalog/reviews.jsonl:2:1", "feed.line"],
        ["catalog/reviews.jsonl:3:7", "unique id"],
    ]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_damaged_compressed_feed_is_told(small: Path, schemas: Schemas, ending: str) -> None:
    data = packed(feed(lines(3000)), ending)
    (small / FILES["reviews"]).unlink()
    path = f"catalog/reviews.jsonl{ending}"
    for damaged in (data[: len(data) // 2], data[:-1], b"", b"plainly no archive", data + b"no archive either"):
        write_files(small, {path: damaged})
        assert [each.rule for each in problems(small, schemas) if each.rule != "feed.syntax"] == ["feed.compressed"]


# -- many problems -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_only_so_many_problems_are_listed_and_the_others_counted(small: Path, schemas: Schemas, jobs: int) -> None:
    documents = lines(12_000, product=99, text="Feet. " * 150)
    write_files(small, {FILES["reviews"]: feed(documents)})
    done = checked(small, schemas, most=10, jobs=jobs)
    assert [(each.place and each.place.line, each.found.partition(",")[2]) for each in done.problems] == [
        (
            1,
            "000 lines of 1 feed name a product with the id 99, which does not exist; such as "
            "catalog/reviews.jsonl:1, catalog/reviews.jsonl:2, catalog/reviews.jsonl:3",
        )
    ]
    assert done.problems[0].found.startswith("12,000 lines of 1 feed ")
    assert (done.more, done.at_least) == (0, False)


@pytest.mark.parametrize("jobs", [1, 2])
def test_many_values_of_a_feed_that_do_not_exist_are_one_problem(small: Path, schemas: Schemas, jobs: int) -> None:
    unknown = [{**review, "product": 1000 + number} for number, review in enumerate(lines(30))]
    write_files(small, {FILES["reviews"]: feed(unknown)})
    done = checked(small, schemas, most=10, jobs=jobs)
    assert [each.found for each in done.problems] == [
        "30 places in 1 feed name products with the id 1000, 1001, 1002 and 27 more, which do not exist; "
        "such as catalog/reviews.jsonl:1, catalog/reviews.jsonl:2, catalog/reviews.jsonl:3"
    ]
    assert (done.more, done.at_least) == (0, False)


@pytest.mark.parametrize("jobs", [1, 2])
def test_very_many_lines_of_one_cause_are_one_problem_and_counted(small: Path, schemas: Schemas, jobs: int) -> None:
    write_files(small, {FILES["reviews"]: feed(lines(12_000, rating=6, title="", text="Feet. " * 150))})
    done = checked(small, schemas, most=10, jobs=jobs)
    lines_of = "; the same in 12,000 lines, such as " + ", ".join(f"catalog/reviews.jsonl:{n}" for n in (1, 2, 3))
    assert [(each.rule, each.place and each.place.line, each.found) for each in done.problems] == [
        ("schema.maximum", 1, "6 is too large" + lines_of),
        ("schema.minLength", 1, "nothing is written here" + lines_of),
    ]
    assert (done.more, done.at_least) == (0, False)


def test_lines_with_other_faults_are_no_lines_of_that_cause(small: Path, schemas: Schemas) -> None:
    faulty = lines(12_000, rating=6)
    faulty[5_000] |= {"rating": "6"}
    faulty[6_000] |= {"title": ""}
    faulty[7_000].pop("rating")
    write_files(small, {FILES["reviews"]: feed(faulty)})
    done = checked(small, schemas)
    shown = [(each.rule, each.place and each.place.line, each.found.partition(", such")[0]) for each in done.problems]
    assert shown == [
        ("schema.maximum", 1, "6 is too large; the same in 11,998 lines"),
        ("schema.type", 5_001, "'6' is not a whole number"),
        ("schema.minLength", 6_001, "nothing is written here"),
        ("schema.required", 7_001, "'rating' is missing"),
    ]


def test_every_output_format_tells_that_there_is_more(small: Path) -> None:
    faulty = [{**review, f"unknown{number}": 1} for number, review in enumerate(lines(1030))]
    write_files(small, {FILES["reviews"]: feed(faulty)})
    allowed = "categories: [Men] # shopwindow: allow promotion.category"
    edit(small, ("promotions/one.yaml", "categories: [Men]", allowed))
    words = "and at least 30 more problems"

    def ran(form: str) -> str:
        done = shopwindow("check", "--content", small, "--format", form)
        assert done.status == 1
        return done.out

    assert ran("text").splitlines()[1000:] == [words]
    told = json.loads(ran("json"))
    assert (len(told["problems"]), told["more"], told["moreAtLeast"]) == (1000, 30, True)
    assert ran("github").splitlines()[-1:] == [f"::notice title=shopwindow::{words}"]
    (run,) = json.loads(ran("sarif"))["runs"]
    assert len(run["results"]) == 1000
    assert [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]] == [words]


def test_problems_of_all_content_count_together(small: Path, schemas: Schemas) -> None:
    write_files(small, {FILES["reviews"]: feed(lines(30, product=99))})
    edit(small, ("stores/one.yaml", "divisionId: 7", "divisionId: x"), ("events/one.yaml", "name: Opening", "name: 5"))
    done = checked(small, schemas, most=2)
    assert [each.path for each in done.problems] == [FILES["reviews"], "events/one.yaml"]
    assert done.more == 1


# -- the parts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    ["96385074", "73513537", "036000291452", "012345678905", "4006381333931", "5901234123457", "10012345678902"],
)
def test_the_check_digit_is_that_of_gs1(code: str) -> None:
    assert catalog_rules.check_digit(code[:-1]) == code[-1]


@given(st.text("0123456789", min_size=7, max_size=13))
def test_the_check_digit_does_not_depend_on_zeros_in_front(digits: str) -> None:
    weighted = sum(int(digit) * (3, 1)[place % 2] for place, digit in enumerate(reversed(digits)))
    assert catalog_rules.check_digit(digits) == str((10 - weighted % 10) % 10)
    assert catalog_rules.check_digit(digits) == catalog_rules.check_digit("00" + digits)


numbers = st.lists(st.lists(st.integers(0, 2**62) | st.integers(0, 30), max_size=20), max_size=5)


def test_the_sample_catalog_has_what_a_department_store_has(sample: Path, schemas: Schemas) -> None:
    made = catalog(sample, schemas)
    products = read(made, "product")
    assert len(products) >= 200
    assert len({product["name"] for product in products}) == len(products)
    assert len({product["description"] for product in products}) == len(products)
    of = {
        "collections": [each for each in products if "members" in each],
        "sales": [each for each in products if "sale" in each["price"]],
        "ranges": [each for each in products if isinstance(each["price"]["regular"], dict)],
        "colors": [each for each in products if "colors" in each],
        "sizes": [each for each in products if "sizes" in each],
        "rebates": [each for each in products if "rebates" in each],
        "promotions": [each for each in products if "promotions" in each],
        "featured": [each for each in products if each.get("featured")],
    }
    assert [name for name, found_ones in of.items() if len(found_ones) < 3] == []
    assert sum(len(product.get("upcs", ())) for product in products) == len(read(made, "inventory"))
    assert len(read(made, "review")) > 100
    files = (sample / "catalog").rglob("*.*")
    assert {file.name.partition(".")[2] for file in files} == {"yaml", "jsonl", "jsonl.gz"}


def rules_of(told: list[Problem]) -> list[str]:
    return [each.rule for each in told]


def test_one_mark_in_a_list_of_a_thousand_products_is_found(small: Path, schemas: Schemas) -> None:
    one = PRODUCTS[PRODUCTS.index("- id: 502") :].replace("  members: [501]\n", "")
    many = "".join(one.replace("502", str(1000 + number)) for number in range(1000)).replace(
        "categories: [2]", "categories: [‸22]", 1
    )
    write_files(small, {"catalog/products/many.yaml": many})
    (place,) = unmark(small, "catalog/products/many.yaml")
    assert found(small, schemas) == [f"{place} reference 0/categories/0"]
    assert rules_of(problems(small, schemas)) == ["reference"]


URL = "url: https://www.example/c"


def nested(levels: int) -> str:
    """Categories each within the other, the first of them on the second level; a mark at the ninth."""
    text = ""
    for level in range(levels):
        indent, mark = "  " * (level + 1), "‸" * (level == 7)
        text += f"{indent}categories:\n{indent}- id: {mark}{100 + level}\n{indent}  name: Level\n{indent}  {URL}\n"
    return text


@pytest.mark.parametrize(("levels", "found"), [(7, 0), (8, 1), (10, 1)])
def test_categories_stand_at_most_eight_levels_deep(small: Path, schemas: Schemas, levels: int, found: int) -> None:
    path = FILES["categories"]
    write_files(small, {path: CATEGORIES + f"- id: 50\n  name: Deep\n  {URL}\n" + nested(levels)})
    places = unmark(small, path)
    done = checked(small, schemas)
    told = [f"{each.path}:{each.place.line}:{each.place.column}" for each in done.problems if each.place]
    assert (told, [each.rule for each in done.problems]) == (places, ["category.depth"] * found)


def test_flat_categories_stand_at_most_eight_levels_deep(small: Path, schemas: Schemas) -> None:
    feed = [{"id": 200 + n, "name": "L", "url": "https://l.example", "parent": 199 + n} for n in range(1, 2000)]
    (first, *_) = feed
    del first["parent"]
    write_files(small, {FILES["categories"]: CATEGORIES, "catalog/categories.jsonl": b"".join(map(_line, feed))})
    done = checked(small, schemas)
    assert [(each.rule, each.place and each.place.line, each.pointer) for each in done.problems] == [
        ("category.depth", 9, ("parent",))
    ]
    assert done.problems[0].found == "the category 209 stands 9 levels deep"


def _line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def test_the_category_index_tells_as_many_levels_as_there_may_be() -> None:
    assert categories.MAX_DEPTH == catalog_rules.MAX_CATEGORY_DEPTH
