"""Facts about `shopwindow catalog import`: which rows become which documents, and what is said of the others."""

import fcntl
import gzip
import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from checkout import ROOT
from releases import Ran, shopwindow
from shopwindow.catalog import mapping
from shopwindow.catalog.mapping import BadRow
from shopwindow.catalog.mapping_checks import UnusableMapping
from shopwindow.catalog.rules import check_digit
from shopwindow.content.check import CheckOptions, check
from shopwindow.content.listing import shipped
from shopwindow.content.schema import Schemas
from shopwindow.shop import INTERFACE
from test_catalog_content import SETTINGS
from trees import SITE, write

EXAMPLES = ROOT / "examples" / "import"
DATA = Path(os.environ.get("SHOPWINDOW_DATA", ROOT.parent / "shared" / "data"))
real_data = pytest.mark.skipif(
    not (DATA / "products.yaml").is_file(), reason="no real data: SHOPWINDOW_DATA is not set"
)

Json = Any
NOBODY: frozenset[Json] = frozenset()


def made(field: Json, row: Json, known: frozenset[Json] = NOBODY) -> Json:
    """What one property becomes."""
    mapped = mapping.read({"kind": "product", "fields": {"id": {"from": "id"}, "name": field}})
    document = mapped.document(row, known)
    return (document or {}).get("name")


# What stands in the mapping, the row, and what comes of it; None: nothing.
FIELDS: list[tuple[Json, Json, Json]] = [
    # what stands for itself
    ("Cobbold", {}, "Cobbold"),
    (7, {}, 7),
    (False, {}, False),
    ({"low": 1, "high": {"from": "p"}}, {"p": 2}, {"low": 1, "high": 2}),
    ({"high": {"from": "p"}}, {}, None),
    (["a", {"from": "b"}], {"b": "c"}, ["a", "c"]),
    (["a", {"from": "b"}], {"b": ""}, ["a"]),
    # paths
    ({"from": "a"}, {"a": "x"}, "x"),
    ({"from": "a"}, {"a": None}, None),
    ({"from": "a"}, {}, None),
    ({"from": "a.b"}, {"a": {"b": 1}}, 1),
    ({"from": "a.b"}, {"a": "b"}, None),
    ({"from": "Unit Price"}, {"Unit Price": "1"}, "1"),
    ({"from": "a[0]"}, {"a": ["x", "y"]}, "x"),
    ({"from": "a[-1].b"}, {"a": [{"b": 1}, {"b": 2}]}, 2),
    ({"from": "a[2]"}, {"a": ["x", "y"]}, None),
    ({"from": "a[].b"}, {"a": [{"b": 1}, {}, {"b": 3}]}, [1, 3]),
    ({"from": "a[].b[].c"}, {"a": [{"b": [{"c": 1}, {"c": 2}]}]}, [[1, 2]]),
    ({"from": ["a", "b"]}, {"a": "", "b": "y"}, "y"),
    ({"from": "a", "default": "none"}, {}, "none"),
    ({"from": "a", "default": {"from": "b"}}, {"b": 4}, 4),
    # steps
    ({"from": "a", "split": ","}, {"a": "x, y,,z "}, ["x", "y", "z"]),
    ({"from": "a", "split": "|", "as": "number"}, {"a": "1|2.5"}, [1, 2.5]),
    ({"from": "a", "map": {"M": "men", "F": "women"}}, {"a": "F"}, "women"),
    ({"from": "a", "map": {"M": "men", "else": "people"}}, {"a": "X"}, "people"),
    ({"from": "a", "map": {"M": "men", "else": None}}, {"a": "X"}, None),
    ({"from": "a", "map": {"1": "one"}}, {"a": 1}, "one"),
    ({"from": "a", "map": {"true": "yes"}}, {"a": True}, "yes"),
    ({"from": "a", "split": ";", "map": {"M": "men", "else": None}}, {"a": "X;M"}, ["men"]),
    ({"from": "a", "as": "integer"}, {"a": "012"}, 12),
    ({"from": "a", "as": "integer"}, {"a": 12.0}, 12),
    ({"from": "a", "as": "number"}, {"a": "$1,299.50"}, 1299.5),
    ({"from": "a", "as": "number"}, {"a": 3}, 3),
    ({"from": "a", "as": "boolean"}, {"a": "Yes"}, True),
    ({"from": "a", "as": "boolean"}, {"a": 0}, False),
    ({"from": "a", "as": "text"}, {"a": 10.5}, "10.5"),
    ({"from": "a", "style": "upper"}, {"a": "shoe"}, "SHOE"),
    ({"from": "a", "style": "slug"}, {"a": "Boots & Co."}, "boots-co"),
    ({"from": "a", "style": "line"}, {"a": " two\n lines "}, "two lines"),
    ({"from": "a", "template": "https://a.example/{}.jpg"}, {"a": 5}, "https://a.example/5.jpg"),
    ({"from": "a", "cut": 5}, {"a": "four letters"}, "four…"),
    ({"from": "a", "cut": 5}, {"a": "fives"}, "fives"),
    ({"from": "a", "list": True}, {"a": "x"}, ["x"]),
    ({"from": "a", "list": True}, {"a": ["x", "y", "x"]}, ["x", "y"]),
    ({"from": "a", "template": "k{}", "style": "upper"}, {"a": "x"}, "KX"),
    ({"from": "a", "style": "upper", "template": "k{}"}, {"a": "x"}, "kX"),
    ({"from": "a", "each": {"id": {"from": "n"}, "normal": "X"}}, {"a": [{"n": 1}, {"n": 2}]},
     [{"id": 1, "normal": "X"}, {"id": 2, "normal": "X"}]),
]  # fmt: skip


@pytest.mark.parametrize(("field", "row", "value"), FIELDS, ids=[json.dumps(field)[:60] for field, *_ in FIELDS])
def test_a_property_is_made_of_a_row(field: Json, row: Json, value: Json) -> None:
    assert json.dumps(made(field, row)) == json.dumps(value)


def test_a_row_may_name_another_row_that_is_there() -> None:
    field = {"from": ["path[-2].id", "path[-3].id"], "known": True}
    row = {"path": [{"id": "a"}, {"id": "b"}, {"id": "c"}]}
    assert [made(field, row, frozenset(known)) for known in (["a", "b"], ["a"], ["c"])] == ["b", "a", None]


@given(st.text(min_size=1), st.integers(6, 15))
def test_an_id_is_the_same_for_the_same_text_and_has_so_many_digits(text: str, digits: int) -> None:
    first, again = (made({"from": "a", "id": digits}, {"a": text}) for _ in range(2))
    assert first == again
    assert 1 <= first < 10**digits


def test_an_id_does_not_change_from_one_release_of_the_program_to_the_next() -> None:
    uuid = {"a": "6579c22f-be2b-444c-a52b-0116dd82df6c"}
    assert made({"from": "a", "id": 12}, uuid) == 428840418998
    assert made({"from": "a", "barcode": True}, uuid) == "2288344217249"


@given(st.text(min_size=1))
def test_a_bar_code_is_one_that_stores_may_use_by_themselves(text: str) -> None:
    code = made({"from": "a", "barcode": True}, {"a": text})
    assert (len(code), code[0], code[-1]) == (13, "2", check_digit(code[:-1]))


@pytest.mark.parametrize(
    ("field", "row", "words"),
    [
        ({"map": {"M": "men", "F": "women"}}, "f", "name: 'f' is not in the map; it has M, F; did you mean F?"),
        ({"as": "integer"}, "1.5", "name: '1.5' is not a whole number"),
        ({"as": "number"}, "on request", "name: 'on request' is not a number"),
        ({"as": "number"}, True, "name: true is not a number"),
        ({"as": "boolean"}, "perhaps", "name: 'perhaps' is neither true nor false"),
    ],
)
def test_a_value_that_does_not_fit_is_told(field: Json, row: Json, words: str) -> None:
    with pytest.raises(BadRow) as caught:
        made({"from": "a", **field}, {"a": row})
    assert str(caught.value) == words


PLAIN = {"kind": "brand", "fields": {"name": {"from": "n"}}}


@pytest.mark.parametrize(
    ("value", "pointer", "found", "nearest"),
    [
        ([], (), "a list does not fit", ""),
        ({"kind": "brand"}, (), "'fields' is missing", ""),
        (PLAIN | {"kind": "prodcut"}, ("kind",), "'prodcut' is no kind", "product"),
        (PLAIN | {"feilds": {}}, ("feilds",), "'feilds' is not known here", "fields"),
        (PLAIN | {"limit": 0}, ("limit",), "0 does not fit", ""),
        (PLAIN | {"delimiter": ", "}, ("delimiter",), "', ' is not one character", ""),
        (PLAIN | {"once": "a..b"}, ("once",), "'a..b' is not a path", ""),
        (PLAIN | {"skip": [{"from": "a"}]}, ("skip", 0), "a condition that tests nothing, or two things", ""),
        (PLAIN | {"fields": []}, ("fields",), "a list does not fit", ""),
    ],
)
def test_a_mapping_that_cannot_be_used_is_told(value: Json, pointer: Json, found: str, nearest: str) -> None:
    with pytest.raises(UnusableMapping) as caught:
        mapping.read(value)
    assert (caught.value.pointer, caught.value.found, caught.value.nearest) == (pointer, found, nearest)


@pytest.mark.parametrize(
    ("field", "step", "found", "nearest"),
    [
        ({"from": "a", "spilt": ","}, "spilt", "'spilt' is not known here", "split"),
        ({"from": "a[x]"}, "from", "'a[x]' is not a path", ""),
        ({"from": 5}, "from", "5 is not a path", ""),
        ({"from": "a", "as": "int"}, "as", "'int' is no type", "integer"),
        ({"from": "a", "as": ["integer"]}, "as", "a list is no type", "integer"),
        ({"from": "a", "style": "shout"}, "style", "'shout' is no style", ""),
        ({"from": "a", "style": {}}, "style", "an object is no style", ""),
        ({"from": "a", "template": "no place"}, "template", "'no place' has no place for the value", ""),
        ({"from": "a", "id": True}, "id", "true does not fit", ""),
        ({"from": "a", "id": 20}, "id", "20 does not fit", ""),
        ({"from": "a", "barcode": 13}, "barcode", "13 is not true", ""),
        ({"from": "a", "map": ["M"]}, "map", "a list does not fit", ""),
        ({"from": "a", "split": 1}, "split", "1 does not fit", ""),
        ({"from": "a", "list": False}, "list", "false is not true", ""),
        ({"from": "a", "cut": 0}, "cut", "0 does not fit", ""),
    ],
)
def test_a_step_that_cannot_be_taken_is_told(field: Json, step: str, found: str, nearest: str) -> None:
    with pytest.raises(UnusableMapping) as caught:
        made(field, {})
    assert caught.value.pointer == ("fields", "name", step)
    assert (caught.value.found, caught.value.nearest) == (found, nearest)


# -- the command -------------------------------------------------------------------------------------------------

BRANDS = """\
kind: brand
skip:
  - {from: state, is: [closed, sold]}
  - {from: name, missing: true}
once: name
fields:
  id: {from: number, as: integer}
  name: {from: name}
  url: {from: name, style: slug, template: "https://www.example/{}"}
"""
ROWS = [
    {"number": "1", "name": "Cobbold", "state": "open"},
    {"number": "2", "name": "Ottoline", "state": "closed"},
    {"number": "3", "name": "", "state": "open"},
    {"number": "4", "name": "Cobbold", "state": "open"},
    {"number": "5", "name": "Tallis & Son", "state": "open"},
]
DOCUMENTS = [
    {"id": 1, "name": "Cobbold", "url": "https://www.example/cobbold"},
    {"id": 5, "name": "Tallis & Son", "url": "https://www.example/tallis-son"},
]


def table(rows: Sequence[Mapping[str, str]], delimiter: str = ",") -> str:
    names = list(rows[0])
    return "\r\n".join(delimiter.join(cells) for cells in (names, *(list(row.values()) for row in rows))) + "\r\n"


FEEDS: dict[str, bytes] = {
    "b.jsonl": "\n".join(map(json.dumps, ROWS)).encode(),
    "b.ndjson": ("\n\n".join(map(json.dumps, ROWS)) + "\n").encode(),
    "b.jsonl.gz": gzip.compress("\n".join(map(json.dumps, ROWS)).encode(), mtime=0),
    "b.json": json.dumps(ROWS, indent=1).encode(),
    "b.yaml": "".join(f"- {json.dumps(row)}\n" for row in ROWS).encode(),
    "b.csv": b"\xef\xbb\xbf" + table(ROWS).encode(),
    "b.tsv": table(ROWS, "\t").encode(),
}


def imported(folder: Path, name: str, data: bytes | str, mapping: str = BRANDS, *more: str) -> tuple[Ran, list[Json]]:
    """Import a feed; how the command ended, with what it names made short, and what it wrote."""
    write(folder, {name: data, "map.yaml": mapping})
    ran = shopwindow("catalog", "import", name, "--map", "map.yaml", "--out", "out/a.jsonl", *more, cwd=folder)
    out = folder / "out" / "a.jsonl"
    return ran, [json.loads(line) for line in out.read_text().splitlines()] if out.is_file() else []


@pytest.mark.parametrize("name", FEEDS)
def test_a_feed_becomes_the_same_documents_in_every_format(tmp_path: Path, name: str) -> None:
    ran, documents = imported(tmp_path, name, FEEDS[name])
    assert documents == DOCUMENTS
    said = "5 rows read, 2 written to out/a.jsonl, 3 skipped as the mapping says\n"
    assert ran == Ran(0, said, "")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.jsonl"]


def test_rows_may_lie_within_a_file_and_be_limited(tmp_path: Path) -> None:
    data = json.dumps({"data": {"items": ROWS}})
    _, documents = imported(tmp_path, "b.json", data, BRANDS + "rows: data.items\nlimit: 1\n")
    assert documents == DOCUMENTS[:1]


def test_a_table_may_have_another_delimiter_and_cells_of_several_lines(tmp_path: Path) -> None:
    data = 'number;name;state\n1;"Cob\n""bold""";open\n'
    _, documents = imported(
        tmp_path, "b.csv", data, BRANDS.replace("{from: name}", "{from: name, style: line}") + "delimiter: ;\n"
    )
    assert documents == [{"id": 1, "name": 'Cob "bold"', "url": "https://www.example/cob-bold"}]


def test_a_schema_of_the_content_folder_counts(tmp_path: Path) -> None:
    schema = json.loads((shipped("schemas") / "catalog/brand.json").read_bytes())
    schema["properties"]["founded"] = {"description": "The year.", "type": "integer"}
    write(tmp_path, {"shop/schemas/catalog/brand.json": json.dumps(schema)})
    ran, documents = imported(tmp_path, "b.csv", FEEDS["b.csv"], BRANDS + "  founded: 1907\n", "--content", "shop")
    assert (ran.status, documents) == (0, [{**document, "founded": 1907} for document in DOCUMENTS])


BAD = [{"number": "x", "name": "A"}, {"number": "1", "name": "B"}, {"number": "-3", "name": "C\u0007"}, {"number": "2"}]


def test_every_bad_row_is_told_and_then_nothing_is_written(tmp_path: Path) -> None:
    data = "\n".join(map(json.dumps, BAD)) + "\n{no json\n"
    ran, documents = imported(tmp_path, "b.jsonl", data, BRANDS.replace("  - {from: name, missing: true}\n", ""))
    assert ran.status == 1
    assert ran.out.splitlines() == [
        "b.jsonl: line 1: id: 'x' is not a whole number",
        "b.jsonl: line 3: id: -3 is too small (Identifier of the brand); allowed: at least 1; "
        "name: the character U+0007, which XML cannot carry",
        "b.jsonl: line 4: 'name' is missing (Name of the brand, as products give it); allowed: text; "
        "'url' is missing (Address of the brand's page); allowed: an http or https URL",
        "b.jsonl: line 5: no JSON: a key in double quotes is missing here; allowed: one JSON object a line",
    ]
    assert ran.err == "b.jsonl: nothing was written; --skip-bad writes the 1 good rows\n"
    assert documents == []


def test_the_good_rows_are_written_where_that_is_wanted(tmp_path: Path) -> None:
    data = "\n".join(map(json.dumps, BAD))
    ran, documents = imported(tmp_path, "b.jsonl", data, BRANDS, "--skip-bad", "--max-problems", "1")
    assert ran.out.splitlines() == [
        "b.jsonl: line 1: id: 'x' is not a whole number",
        "and 1 more bad rows",
        "4 rows read, 1 written to out/a.jsonl, 1 skipped as the mapping says, 2 bad ones left out",
    ]
    assert (ran.status, documents) == (0, [{"id": 1, "name": "B", "url": "https://www.example/b"}])


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("b.csv", "number,name,state\n1,A,open,x\n", "line 2: 4 cells, and the first line names 3; allowed: as many"),
        ("b.yaml", "- {number: 0x1, name: A}\n", "row 1: id: '0x1' is not a whole number"),
        ("b.json", '[{"number": null, "name": "A"}]', "row 1: 'id' is missing (Identifier of the brand)"),
        ("b.jsonl", '\n\n[1]\n', "line 3: a list where an object should be"),
    ],
)  # fmt: skip
def test_a_row_is_named_by_its_line_or_its_number(tmp_path: Path, name: str, data: str, line: str) -> None:
    ran, _ = imported(tmp_path, name, data, BRANDS.replace("  - {from: name, missing: true}\n", ""))
    assert ran.status == 1
    assert ran.out.startswith(f"{name}: {line}")


@pytest.mark.parametrize(
    ("name", "data", "mapping", "status", "words"),
    [
        ("b.txt", "", BRANDS, 4, "b.txt: a feed that nothing here reads; its name must end in .jsonl, .jsonl.gz, "),
        ("b.json", "[1,", BRANDS, 4, "b.json:1:4: no JSON: "),
        ("b.yaml", "- [", BRANDS, 4, "b.yaml:1:3: "),
        (
            "b.json",
            "{}",
            BRANDS,
            2,
            "map.yaml:1:1: rows: there is an object in the file where the rows should be; ",
        ),
        ("b.csv", b"name\n\xff\n", BRANDS, 4, "b.csv:2:1: the byte 0xFF is not UTF-8 text; save the table as UTF-8"),
        ("b.csv", 'name\n"a"b\n', BRANDS, 4, "b.csv: line 2: "),
        (
            "b.json",
            "[]",
            BRANDS.replace("skip:", "skpi:"),
            2,
            "map.yaml:3:3: skpi: 'skpi' is not known here; allowed: ",
        ),
        (
            "b.json",
            "[]",
            BRANDS.replace("as: integer", "as: int"),
            2,
            "map.yaml:7:26: fields/id/as: 'int' is no type; ",
        ),
        ("b.json", "[]", "kind: [", 2, "map.yaml:1:7: "),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(
    tmp_path: Path, name: str, data: bytes | str, mapping: str, status: int, words: str
) -> None:
    ran, documents = imported(tmp_path, name, data, mapping)
    assert (ran.status, documents) == (status, [])
    assert words in ran.err


def test_what_stood_there_before_stays_when_an_import_fails(tmp_path: Path) -> None:
    write(tmp_path, {"out/a.jsonl": '{"before": 1}\n'})
    _, documents = imported(tmp_path, "b.jsonl", '{"number": "x", "name": "A"}\n')
    assert documents == [{"before": 1}]


def test_what_a_link_leads_to_is_replaced(tmp_path: Path) -> None:
    write(tmp_path, {"elsewhere/b.jsonl": "", "out/README": ""})
    (tmp_path / "out/a.jsonl").symlink_to("../elsewhere/b.jsonl")
    _, documents = imported(tmp_path, "b.jsonl", FEEDS["b.jsonl"])
    assert documents == DOCUMENTS
    assert (tmp_path / "out/a.jsonl").is_symlink()


def test_a_full_disk_is_a_sentence_and_what_stood_there_stays(tmp_path: Path) -> None:
    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    rows = ({"number": str(number), "name": f"Brand {number}", "state": "open"} for number in range(1, 400))
    write(tmp_path, {"b.jsonl": "\n".join(map(json.dumps, rows)), "map.yaml": BRANDS, "out/a.jsonl": "before\n"})
    command = ["catalog", "import", "b.jsonl", "--map", "map.yaml", "--out", "out/a.jsonl"]
    # Python would cut off the files of compiled modules, too, and others would read these.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [sys.executable, "-m", "shopwindow", *command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        preexec_fn=full,
        check=False,
    )
    found = "a file would be larger than this process may write; out/a.jsonl is as it was"
    assert (ran.returncode, ran.stdout, ran.stderr) == (4, "", f"shopwindow: out/a.jsonl: {found}\n")
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {"a.jsonl": "before\n"}


def test_the_draft_of_an_import_that_was_killed_goes_with_the_next_one(tmp_path: Path) -> None:
    rows = ({"number": str(number), "name": f"Brand {number}", "state": "open"} for number in range(1, 300_000))
    write(tmp_path, {"many.jsonl": "\n".join(map(json.dumps, rows)), "map.yaml": BRANDS, "out/a.jsonl": "before\n"})
    command = [sys.executable, "-m", "shopwindow", "catalog", "import"]
    with subprocess.Popen(
        [*command, "many.jsonl", "--map", "map.yaml", "--out", "out/a.jsonl"], cwd=tmp_path
    ) as killed:
        while not list((tmp_path / "out").glob(".a.jsonl-*")):
            assert killed.poll() is None
        killed.kill()
    (left,) = (tmp_path / "out").glob(".a.jsonl-*")
    assert (tmp_path / "out/a.jsonl").read_text() == "before\n"

    # Another process is still at work on one of these, and the other is nobody's draft.
    write(tmp_path, {"out/.a.jsonl-1": "", "out/.a.jsonl-notes": ""})
    with open(tmp_path / "out/.a.jsonl-1", "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        _, documents = imported(tmp_path, "b.jsonl", FEEDS["b.jsonl"])
    assert (documents, left.exists()) == (DOCUMENTS, False)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"a.jsonl", ".a.jsonl-1", ".a.jsonl-notes"}


def test_a_pipe_is_no_feed(tmp_path: Path) -> None:
    """To which perhaps nobody writes: whoever opens it waits forever."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    write(tmp_path, {"map.yaml": BRANDS, "out.jsonl": json.dumps(DOCUMENTS[0])})
    assert shopwindow("catalog", "mark", "out.jsonl", "m1", cwd=tmp_path).status == 0
    for more in (["--map", "map.yaml"], ["--changes"]):
        ran = shopwindow("catalog", "import", "pipe.jsonl", *more, "--out", "out.jsonl", cwd=tmp_path)
        assert ran == Ran(4, "", "shopwindow: pipe.jsonl: no file; a feed is a regular file\n")


def test_the_mapping_of_the_page_makes_a_document(tmp_path: Path) -> None:
    page = (EXAMPLES.parents[1] / "docs/reference/foreign-feeds.md").read_text(encoding="utf-8")
    example = page.partition("```yaml\n")[2].partition("```")[0]
    row = {"uuid": "6579c22f", "sku": "7", "text": "Of\nfelt.", "photo": "hat.jpg", "price": "9.50", "sex": "M"}
    path = [{"id": "all", "name": "All"}, {"id": "hats", "name": "Hats"}]
    items = [{**row, "path": path, "tags": "warm;new"}]
    ran, documents = imported(tmp_path, "b.json", json.dumps({"data": {"items": items}}), example)
    assert (ran.status, documents) == (
        0,
        [
            {
                "brand": "House Brand",
                "id": 826693509405,
                "reference": "6579c22f",
                "name": "7",
                "typeName": "HATS",
                "description": "Of felt.",
                "categories": [287696239],
                "images": {"primary": "hat.jpg"},
                "price": {"regular": 9.5},
                "attributes": {"GENDER": ["Men"], "ALSO": ["warm", "new"]},
            }
        ],
    )


PACKED = gzip.compress(FEEDS["b.jsonl"], mtime=0)
DAMAGED = {
    PACKED[: len(PACKED) // 2]: "Compressed file ended before the end-of-stream marker was reached",
    PACKED + b"more": "Not a gzipped file (b'mo')",
    b"": "it is empty",
}


@pytest.mark.parametrize("data", DAMAGED)
def test_damage_of_a_compressed_feed_is_no_bad_row_to_be_skipped(tmp_path: Path, data: bytes) -> None:
    write(tmp_path, {"out/a.jsonl": '{"before": 1}\n'})
    ran, documents = imported(tmp_path, "b.jsonl.gz", data, BRANDS, "--skip-bad")
    said = f"shopwindow: b.jsonl.gz: the compressed feed is damaged: {DAMAGED[data]}\n"
    assert (ran, documents) == (Ran(4, "", said), [{"before": 1}])


# -- real feeds --------------------------------------------------------------------------------------------------


def brought(folder: Path, feed: str, name: str, place: str) -> list[Json]:
    """A real feed, by one of the mappings that come as examples."""
    out = folder / "catalog" / place
    ran = shopwindow("catalog", "import", DATA / feed, "--map", EXAMPLES / name, "--out", out)
    assert (ran.status, ran.err) == (0, "")
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


@real_data
def test_every_product_of_a_real_store_is_imported_and_without_fault(tmp_path: Path, schemas: Schemas) -> None:
    with open(DATA / "products.yaml", encoding="utf-8") as file:
        items = yaml.load(file, yaml.CSafeLoader)
    departments = brought(tmp_path, "products.yaml", "departments.yaml", "categories/departments.jsonl")
    styles = brought(tmp_path, "products.yaml", "styles.yaml", "categories/styles.jsonl")
    products = brought(tmp_path, "products.yaml", "products.yaml", "products.jsonl")
    stock = brought(tmp_path, "products.yaml", "stock.yaml", "inventory.jsonl")
    assert (len(departments), len(styles), len(products), len(stock)) == (20, 84, 2465, 2465)
    assert [product["reference"] for product in products] == [item["id"] for item in items]
    assert [product["price"]["regular"] for product in products] == [item["price"] for item in items]
    women = [item["id"] for item in items if item.get("gender_affinity") == "F"]
    assert [each["reference"] for each in products if each["attributes"].get("GENDER") == ["Women"]] == women
    assert [each["site"] for each in stock] == [item["current_stock"] for item in items]
    write(tmp_path, {"site.yaml": SITE + SETTINGS})
    assert check(tmp_path, schemas, INTERFACE, CheckOptions()).problems == []


@real_data
def test_every_category_of_a_real_store_is_imported_and_without_fault(tmp_path: Path, schemas: Schemas) -> None:
    rows = json.loads((DATA / "categories.json").read_bytes())
    categories = brought(tmp_path, "categories.json", "categories.yaml", "categories.jsonl")
    assert len(categories) == len(rows) == 4584
    ids = {row["id"]: category["id"] for row, category in zip(rows, categories, strict=True)}
    names = {row["id"]: row["name"] for row in rows}
    for row, category in zip(rows, categories, strict=True):
        above = [step["id"] for step in row["path"][:-1] if step["id"] in ids]
        assert category.get("parent") == (ids[above[-1]] if above else None)
        assert category["name"] == (names[row["id"]] or row["id"])
    write(tmp_path, {"site.yaml": SITE})
    assert check(tmp_path, schemas, INTERFACE, CheckOptions()).problems == []
