"""Facts about `shopwindow catalog import`: the documents that SQL makes of feeds, and what is said of faults."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from catalog.test_catalog_content import SETTINGS
from harness.catalogs import check_digit
from harness.content import ROOT, SITE, write_files
from harness.program import Ran, checked, shopwindow

EXAMPLES = ROOT / "examples" / "import"
DATA = Path(os.environ.get("SHOPWINDOW_DATA", ROOT.parent / "shared" / "data"))
real_data = pytest.mark.skipif(
    not (DATA / "products.yaml").is_file(), reason="no real data: SHOPWINDOW_DATA is not set"
)

Json = Any

BRANDS = """\
SELECT number::BIGINT AS id, name, 'https://www.example/' || slug(name) AS url
FROM feed
WHERE state = 'open'
ORDER BY number::BIGINT DESC
"""
ROWS = [
    {"number": "1", "name": "Cobbold", "state": "open"},
    {"number": "2", "name": "Ottoline", "state": "closed"},
    {"number": "5", "name": "Tallis & Son", "state": "open"},
]
DOCUMENTS = [
    {"id": 5, "name": "Tallis & Son", "url": "https://www.example/tallis-son"},
    {"id": 1, "name": "Cobbold", "url": "https://www.example/cobbold"},
]


def table(delimiter: str) -> str:
    lines = [list(ROWS[0]), *(list(row.values()) for row in ROWS)]
    return "\r\n".join(map(delimiter.join, lines)) + "\r\n"


LINES = "\n".join(map(json.dumps, ROWS)).encode()
FEEDS: dict[str, bytes] = {
    "feed.jsonl": LINES,
    "feed.ndjson": LINES.replace(b"\n", b"\n\n"),
    "feed.jsonl.gz": gzip.compress(LINES, mtime=0),
    "feed.json": json.dumps(ROWS, indent=1).encode(),
    "feed.csv": b"\xef\xbb\xbf" + table(",").encode(),
    "feed.2026-11-22.csv": table(";").encode(),
    "feed.tsv": table("\t").encode(),
}


def imported(folder: Path, name: str, data: bytes | str, sql: str = BRANDS, *more: str) -> tuple[Ran, list[Json]]:
    """Import a feed as brands; how the command ended, and the documents that it printed."""
    write_files(folder, {name: data, "brands.sql": sql})
    ran = shopwindow("catalog", "import", "brands.sql", name, *more, cwd=folder)
    return ran, [json.loads(line) for line in ran.out.splitlines()]


def values(folder: Path, name: str, data: bytes | str, select: str) -> list[Json]:
    """The names that a query makes of a feed; each is the name of a brand."""
    sql = f"SELECT row_number() OVER () AS id, {select} AS name, 'https://www.example/' AS url FROM feed"
    ran, documents = imported(folder, name, data, sql)
    assert ran.status == 0, ran
    return [document["name"] for document in documents]


@pytest.mark.parametrize("name", FEEDS)
def test_a_feed_becomes_the_same_documents_in_every_format(tmp_path: Path, name: str) -> None:
    ran, documents = imported(tmp_path, name, FEEDS[name])
    assert (documents, ran.status, ran.err) == (DOCUMENTS, 0, "brands.sql: 2 documents\n")


def test_several_feeds_are_joined_by_statements_that_build_on_each_other(tmp_path: Path) -> None:
    sql = """\
CREATE MACRO address(text) AS 'https://www.example/' || slug(text);
CREATE TEMP TABLE sold AS FROM "brands-2026" WHERE state = 'open'; -- and no others
WITH named AS (SELECT sold.number, names.name FROM sold JOIN names USING (number))
SELECT number AS id, name, address(name) AS url FROM named; -- that is all
"""
    feeds = {
        "brands-2026.jsonl": '{"number": 7, "state": "open"}\n{"number": 8, "state": "sold"}\n',
        "names.json": '[{"number": 7, "name": "Cobbold"}, {"number": 8, "name": "Ottoline"}]',
    }
    write_files(tmp_path, {**feeds, "brands-of-names.sql": sql})
    ran = shopwindow("catalog", "import", "brands-of-names.sql", *feeds, cwd=tmp_path)
    line = '{"id":7,"name":"Cobbold","url":"https://www.example/cobbold"}\n'
    assert ran == Ran(0, line, "brands-of-names.sql: 1 document\n")


def test_rows_may_lie_within_an_object(tmp_path: Path) -> None:
    sql = BRANDS.replace("FROM feed", "FROM (SELECT unnest(data.items, recursive := true) FROM feed)")
    _, documents = imported(tmp_path, "feed.json", json.dumps({"data": {"items": ROWS}}), sql)
    assert documents == DOCUMENTS


def test_what_is_null_or_empty_is_left_out_and_whole_numbers_are_whole(tmp_path: Path) -> None:
    select = "id + 0.0 AS id, 'A' AS name, '' AS empty, {note: NULL, tags: []} AS nothing, [NULL, ''] AS blank"
    ran, _ = imported(tmp_path, "feed.jsonl", '{"id": 7}', f"SELECT {select}, 'https://www.example/' AS url FROM feed")
    assert ran.out == '{"id":7,"name":"A","url":"https://www.example/"}\n'


def test_functions_make_the_same_numbers_on_every_day(tmp_path: Path) -> None:
    select = "to_json([shop_id(uuid, 12)::VARCHAR, shop_barcode(uuid), slug(t), one_line(t), title(t), t])::VARCHAR"
    row = {"uuid": "6579c22f-be2b-444c-a52b-0116dd82df6c", "t": " Boots\n &  Co. "}
    (text,) = values(tmp_path, "feed.jsonl", json.dumps(row), select)
    assert json.loads(text) == [
        "428840418998",
        "2288344217249",
        "boots-co",
        "Boots & Co.",
        " Boots\n &  Co. ",
        row["t"],
    ]


def test_a_bar_code_has_its_check_digit(tmp_path: Path) -> None:
    rows = [{"uuid": f"row {number}"} for number in range(50)]
    codes = values(tmp_path, "feed.json", json.dumps(rows), "shop_barcode(uuid)")
    assert [(len(code), code[0], code[-1]) for code in codes] == [(13, "2", check_digit(code[:-1])) for code in codes]


def test_a_schema_of_the_content_folder_counts(tmp_path: Path) -> None:
    schema = json.loads((ROOT / "schemas" / "catalog/brand.json").read_bytes())
    schema["properties"]["founded"] = {"description": "The year.", "type": "integer"}
    write_files(tmp_path, {"shop/schemas/catalog/brand.json": json.dumps(schema)})
    sql = BRANDS.replace(" AS url", " AS url, 1907 AS founded")
    ran, documents = imported(tmp_path, "feed.csv", FEEDS["feed.csv"], sql, "--content", "shop")
    assert (ran.status, documents) == (0, [{**document, "founded": 1907} for document in DOCUMENTS])


# -- nothing is lost without an error ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("row", "cells"), [("1,A,open,x", 4), ("1,A", 2)])
def test_a_small_table_with_a_row_too_wide_or_too_narrow_is_an_error(tmp_path: Path, row: str, cells: int) -> None:
    ran, _ = imported(tmp_path, "feed.csv", f"number,name,state\n5,B,open\n{row}\n")
    found = f"Original Line: {row} Expected Number of Columns: 3 Found: {cells}"
    assert ran == Ran(4, "", f"shopwindow: feed.csv:3: {found}\n")


def test_a_key_that_only_the_last_of_many_rows_has_is_a_column(tmp_path: Path) -> None:
    rows = '{"a": "x"}\n' * 30_000 + '{"a": "x", "late": {"b": "found"}}\n'
    sql = "SELECT 1 AS id, late.b AS name, 'https://www.example/' AS url FROM feed WHERE late IS NOT NULL"
    _, documents = imported(tmp_path, "feed.jsonl", rows, sql)
    assert documents == [{"id": 1, "name": "found", "url": "https://www.example/"}]


def test_text_stays_as_it_is_written(tmp_path: Path) -> None:
    """Guessed types would make a uuid small, and dates and numbers of text."""
    texts = ["6579C22F-BE2B-444C-A52B-0116DD82DF6C", "2026-01-02T03:04:05Z", "2026-01-02", "007", "1e3", "true"]
    rows = json.dumps([{"a": text} for text in texts])
    assert values(tmp_path, "feed.json", rows, "a") == texts
    assert values(tmp_path, "feed.csv", "a\n" + "\n".join(texts), "a") == texts


def test_a_member_has_one_type_whatever_single_rows_have(tmp_path: Path) -> None:
    rows = [
        {"a": 1, "o": {}, "l": []},
        {"a": -2.5, "o": {"it's": 3}, "l": [None, "x"]},
        {"a": None, "e": {}, "n": None},
    ]
    select = """concat_ws('|', a, o."it's", l[2], e, n, 'end')"""
    assert values(tmp_path, "feed.json", json.dumps(rows), select) == ["1.0|end", "-2.5|3|x|end", "{}|end"]


PACKED = gzip.compress(LINES, mtime=0)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("feed.json", '[{"number": "1"},', "feed.json:1:18: no JSON: "),
        ("feed.jsonl", '{"number": "1"}\n{"number": \n', "feed.jsonl:2:11: no JSON: a value is missing here; "),
        ("feed.jsonl", '{"a": 1, "a": 2}\n', "feed.jsonl:1:10: "),
        ("feed.json", '[\n {"a": 1, "a": 2}\n]', "feed.json:2:11: the key 'a' a second time; allowed: each key once"),
        ("feed.json", '[{"a": 12345678901234567890}]', "feed.json:1:8: the number 12345678901234567890 is too large"),
        ("feed.jsonl", '{"a": 1}\n5\n', "feed.jsonl:2: 5 where an object should be"),
        ("feed.json", '[{"a": 1}, []]', "feed.json: row 2: a list where an object should be"),
        ("feed.jsonl.gz", PACKED[: len(PACKED) // 2], "the compressed feed is damaged: Compressed file ended"),
        ("feed.jsonl.gz", PACKED[:-8] + b"abcd" + PACKED[-4:], "the compressed feed is damaged: CRC check failed"),
        ("feed.json", "[]", "feed.json: it has no rows, so nothing says what its columns are"),
        ("feed.csv", "", "feed.csv:1: a column without a name, or two with one; allowed: "),
        ("feed.csv", "a,b,A\n1,2,3\n", "feed.csv:1: a column without a name, or two with one; allowed: "),
        ("feed.csv", b"a,b\n1,\xff\n", "feed.csv:2: Original Line: 1,? Invalid unicode"),
        ("feed.csv", b"\xff,b\n1,2\n", "feed.csv:1: the byte 0xFF is not UTF-8 text"),
        ("feed.csv", 'a,b\n1,"x\n', "feed.csv:2: "),
        ("feed.yaml", "- {a: 1}\n", "YAML is not read; convert it: yq -o json feed.yaml > feed.json"),
        ("feed.txt", "", "feed.txt: no feed; its name must end in .jsonl, .jsonl.gz, .jsonl.zst, .ndjson, "),
    ],
)
def test_a_feed_that_cannot_be_read_whole_is_an_error(tmp_path: Path, name: str, data: bytes | str, words: str) -> None:
    ran, _ = imported(tmp_path, name, data)
    assert (ran.status, ran.out) == (4, "")
    assert words in ran.err


def test_a_list_in_json_has_a_size(tmp_path: Path) -> None:
    write_files(tmp_path, {"brands.sql": BRANDS})
    with open(tmp_path / "feed.json", "wb") as file:
        file.truncate(512 * 1024 * 1024 + 1)
    ran = shopwindow("catalog", "import", "brands.sql", "feed.json", cwd=tmp_path)
    found = "536,870,913 bytes; at most 536,870,912, and larger feeds as .jsonl"
    assert ran == Ran(4, "", f"shopwindow: feed.json: {found}\n")


def test_a_pipe_is_no_feed(tmp_path: Path) -> None:
    """To which perhaps nobody writes: whoever opens it waits forever."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    write_files(tmp_path, {"brands.sql": BRANDS})
    ran = shopwindow("catalog", "import", "brands.sql", "pipe.jsonl", cwd=tmp_path)
    assert ran == Ran(4, "", "shopwindow: pipe.jsonl: there is no such file\n")


# -- the SQL -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT 1;\nSELECT a b c\nFROM feed", 'brands.sql:2: Parser Error: syntax error at or near "c"'),
        ("SELECT 1;\n\nSELECT nmae\nFROM feed", 'brands.sql:3: Binder Error: Referenced column "nmae" not found'),
        ("SELECT 1 AS id\nFROM fede", "brands.sql:2: Catalog Error: Table with name fede does not exist!"),
        ("SELECT\n name::INT AS id\nFROM feed", "brands.sql:2: Conversion Error: Could not convert string 'Cobbold'"),
        ("SELECT 'nan'::DOUBLE AS id FROM feed", "brands.sql: row 1: a number that JSON lacks, such as NaN"),
        ("CREATE TABLE a (b INT)", "brands.sql: no query; its last statement is a SELECT or WITH"),
        ("-- later", "brands.sql: no query; its last statement is a SELECT or WITH"),
    ],
)
def test_a_mistake_in_the_sql_is_reported_with_its_line(tmp_path: Path, sql: str, words: str) -> None:
    ran, _ = imported(tmp_path, "feed.csv", FEEDS["feed.csv"], sql)
    assert (ran.status, ran.out) == (4, "")
    assert ran.err.startswith(f"shopwindow: {words}")


@pytest.mark.parametrize(
    "sql",
    [
        "FROM 'other.jsonl'",
        "FROM read_text('other.jsonl')",
        "FROM read_csv('https://127.0.0.1:1/feed.csv')",
        "COPY feed TO 'written.csv'; SELECT 1",
        "ATTACH 'written.db'; SELECT 1",
        "INSTALL httpfs; SELECT 1",
        "LOAD httpfs; SELECT 1",
        "SET enable_external_access = true; FROM 'other.jsonl'",
        "SET memory_limit = '64GB'; SELECT 1",
        "FROM rows",  # a name of Python's
    ],
)
def test_sql_reaches_nothing_but_the_feeds_that_are_named(tmp_path: Path, sql: str) -> None:
    write_files(tmp_path, {"other.jsonl": '{"a": 1}\n'})
    ran, _ = imported(tmp_path, "feed.csv", FEEDS["feed.csv"], sql)
    assert (ran.status, ran.out) == (4, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["brands.sql", "feed.csv", "other.jsonl"]


def test_a_table_that_no_feed_is_called_as_is_reported_with_the_name_that_feeds_have(tmp_path: Path) -> None:
    ran, _ = imported(tmp_path, "feed.csv", FEEDS["feed.csv"], "FROM products")
    assert ran.err.endswith("; each feed is a table, called as its file is, up to the first dot\n")


def test_an_sql_file_is_named_for_what_it_makes(tmp_path: Path) -> None:
    write_files(tmp_path, {"brnads.sql": BRANDS, "feed.csv": FEEDS["feed.csv"]})
    ran = shopwindow("catalog", "import", "brnads.sql", "feed.csv", cwd=tmp_path)
    allowed = "brands.sql, categories.sql, inventory.sql, products.sql, recommendations.sql, reviews.sql, synonyms.sql"
    assert (ran.status, ran.out) == (2, "")
    found = "brnads.sql: its name says no kind of document"
    assert f"Error: {found}; allowed: {allowed}, or a name such as products-shoes.sql\n" in ran.err


def test_without_duckdb_the_extra_is_named(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"brands.sql": BRANDS, "feed.csv": FEEDS["feed.csv"], "missing/duckdb.py": "import no_duckdb"}
    )
    ran = subprocess.run(
        [sys.executable, "-m", "shopwindow", "catalog", "import", "brands.sql", "feed.csv"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "missing")},
        capture_output=True,
        text=True,
        check=False,
    )
    found = "no_duckdb is not installed, and imports need it"
    words = f"shopwindow: {found}: in a checkout pip install -e '.[import]'\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (4, "", words)


def test_the_sql_of_the_page_makes_a_document(tmp_path: Path) -> None:
    page = (ROOT / "docs/reference/foreign-feeds.md").read_text(encoding="utf-8")
    sql = page.partition("```sql\n")[2].partition("```")[0]
    names = "uuid;title;sku;text;department;photo;sex;tags;state"
    row = "6579c22f;;7;Of  felt.;hats;hat.jpg;M;warm,new;new"
    prices = '{"uuid": "6579c22f", "amount": "950"}\n'
    write_files(tmp_path, {"products.sql": sql, "export.csv": f"{names}\n{row}\n", "prices.jsonl": prices})
    ran = shopwindow("catalog", "import", "products.sql", "export.csv", "prices.jsonl", cwd=tmp_path)
    assert (ran.status, json.loads(ran.out)) == (
        0,
        {
            "id": 826693509405,
            "reference": "6579c22f",
            "name": "7",
            "description": "Of felt.",
            "typeName": "HATS",
            "brand": "House Brand",
            "categories": [287696239],
            "images": {"primary": "hat.jpg"},
            "price": {"regular": 9.5},
            "attributes": {"GENDER": ["Men"], "ALSO": ["warm", "new"]},
        },
    )


# -- rows that are no documents ----------------------------------------------------------------------------------------

BAD = [
    {"number": "x", "name": "A", "state": "open"},
    {"number": "1", "name": "B", "state": "open"},
    {"number": "-3", "name": "C\u0007", "state": "open"},
    {"number": "2", "state": "open"},
]


def test_every_row_that_is_no_document_is_reported_and_then_nothing_is_printed(tmp_path: Path) -> None:
    sql = "SELECT TRY_CAST(number AS INT) AS id, name, 'https://www.example/' || slug(name) AS url FROM feed"
    ran, documents = imported(tmp_path, "feed.json", json.dumps(BAD), sql)
    assert (ran.status, documents) == (1, [])
    assert ran.err.splitlines() == [
        "brands.sql: row 1: 'id' is missing (Identifier of the brand); allowed: a whole number",
        "brands.sql: row 3, id -3: id: -3 is too small (Identifier of the brand); allowed: at least 1; "
        "name: the character U+0007, which XML cannot carry; allowed: text without control characters",
        "brands.sql: row 4, id 2: 'name' is missing (Name of the brand, as products give it); allowed: text; "
        "'url' is missing (Address of the brand's page); allowed: an http or https URL",
        "brands.sql: nothing was printed",
    ]


def test_of_many_bad_rows_the_first_are_listed(tmp_path: Path) -> None:
    ran, _ = imported(tmp_path, "feed.csv", FEEDS["feed.csv"], "SELECT range AS id FROM range(1, 1304)")
    lines = ran.err.splitlines()
    assert lines[0].startswith("brands.sql: row 1, id 1: 'name' is missing")
    assert (len(lines), lines[-2:]) == (1002, ["and 303 more bad rows", "brands.sql: nothing was printed"])


# -- real feeds --------------------------------------------------------------------------------------------------------


def brought(folder: Path, feed: str, name: str, place: str) -> list[Json]:
    """A real feed, by one of the SQL files that come as examples."""
    ran = shopwindow("catalog", "import", EXAMPLES / name, feed, cwd=folder)
    assert ran.status == 0, ran
    write_files(folder, {f"content/catalog/{place}": ran.out})
    return [json.loads(line) for line in ran.out.splitlines()]


@real_data
def test_every_product_of_a_real_store_is_imported_and_without_fault(tmp_path: Path) -> None:
    with open(DATA / "products.yaml", encoding="utf-8") as file:
        items = yaml.load(file, yaml.CSafeLoader)
    write_files(tmp_path, {"products.json": json.dumps(items)})
    departments = brought(tmp_path, "products.json", "categories-departments.sql", "categories/departments.jsonl")
    styles = brought(tmp_path, "products.json", "categories-styles.sql", "categories/styles.jsonl")
    products = brought(tmp_path, "products.json", "products.sql", "products.jsonl")
    stock = brought(tmp_path, "products.json", "inventory.sql", "inventory.jsonl")
    assert (len(departments), len(styles), len(products), len(stock)) == (20, 84, 2465, 2465)
    assert [product["reference"] for product in products] == [item["id"] for item in items]
    assert [product["price"]["regular"] for product in products] == [item["price"] for item in items]
    women = [item["id"] for item in items if item.get("gender_affinity") == "F"]
    assert [each["reference"] for each in products if each["attributes"].get("GENDER") == ["Women"]] == women
    assert [each["site"] for each in stock] == [item["current_stock"] for item in items]
    write_files(tmp_path / "content", {"site.yaml": SITE + SETTINGS})
    assert checked(tmp_path / "content").problems == []


@real_data
def test_every_category_of_a_real_store_is_imported_and_without_fault(tmp_path: Path) -> None:
    rows = json.loads((DATA / "categories.json").read_bytes())
    write_files(tmp_path, {"categories.json": json.dumps(rows)})
    categories = brought(tmp_path, "categories.json", "categories.sql", "categories.jsonl")
    assert len(categories) == len(rows) == 4584
    ids = {row["id"]: category["id"] for row, category in zip(rows, categories, strict=True)}
    names = {row["id"]: row["name"] for row in rows}
    for row, category in zip(rows, categories, strict=True):
        above = [step["id"] for step in row["path"][:-1] if step["id"] in ids]
        assert category.get("parent") == (ids[above[-1]] if above else None)
        assert category["name"] == (names[row["id"]] or row["id"])
    write_files(tmp_path / "content", {"site.yaml": SITE})
    assert checked(tmp_path / "content").problems == []
