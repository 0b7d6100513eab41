"""The page of the interface has what the program does, and every number that source, tests and pages refer to."""

import os
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from facts.interface_page import MARK, PAGE, Reader, page_of_interface
from facts.reference_pages import ROOT, SCHEMAS, load
from harness.content import SAMPLE
from harness.databases import Engine
from harness.program import SECRET, SECRET_TEXT, served, shopwindow
from shopwindow.interface.declaring.operation import Operation
from shopwindow.interface.declaring.routes import Routes
from shopwindow.shop import INTERFACE

WRITES = os.environ.get("SHOPWINDOW_PAGES") == "write"
TEXT = PAGE.read_text(encoding="utf-8")

NUMBER = r"W?\d+(?:\.\d+)*"
CLAUSE = re.compile(rf"^(?:#+ |\*\*)({NUMBER})\.? ?", re.MULTILINE)
REFERENCE = re.compile(rf"\binterface ({NUMBER}(?:(?:, | and ){NUMBER})*)", re.IGNORECASE)
OTHERWISE = re.compile(r"wire[- _]shapes?\b|\binterface(?:\.md)?,? (?:§|section|clause)", re.IGNORECASE)
REQUEST = re.compile(r"`(GET|POST|PUT|PATCH|DELETE) ([a-z]+[0-9/][^`? ]*)`")
PATH = re.compile(r"(?<=[|,] )`((?:[a-z]+/)?v[0-9]/[^`? ]*)`")

REFERRING = ("src", "tests", "schemas", "docs", "templates", "clients", "examples", "benchmarks", "deploy")
KINDS = {".py", ".md", ".json", ".yaml", ".toml", ".j2", ".html", ".ts", ".conf", ".txt"}


def sections() -> dict[str, str]:
    """Return the text below each numbered heading or clause, by its number."""
    found = list(CLAUSE.finditer(TEXT))
    ends = [*(clause.start() for clause in found[1:]), len(TEXT)]
    return {clause[1]: TEXT[clause.start() : end] for clause, end in zip(found, ends, strict=True)}


def numbers() -> list[str]:
    return CLAUSE.findall(TEXT)


@cache
def referring() -> tuple[tuple[str, str], ...]:
    """Return each file that may refer to the page: its name, and its text with line ends and comment signs removed."""
    paths = [path for folder in REFERRING for path in sorted((ROOT / folder).rglob("*")) if path.suffix in KINDS]
    paths += ROOT.glob("*.md")
    texts = {path: path.read_text(encoding="utf-8") for path in paths if path not in (PAGE, Path(__file__))}
    return tuple((str(path.relative_to(ROOT)), re.sub(r"\s+(?:#\s+)?", " ", text)) for path, text in texts.items())


def references(text: str) -> set[str]:
    return {number for found in REFERENCE.findall(text) for number in re.findall(NUMBER, found)}


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_every_reference_is_a_number_of_the_page() -> None:
    there = set(numbers())
    gone = {name: sorted(references(text) - there) for name, text in referring()}
    assert {name: lacking for name, lacking in gone.items() if lacking} == {}


def test_references_have_one_spelling() -> None:
    assert [name for name, text in referring() if OTHERWISE.search(text)] == []


def test_the_source_names_the_clause_of_each_resource_and_operation() -> None:
    named: set[str] = set()
    for name, text in referring():
        if name.startswith("src/"):
            named |= references(text)
    pages = ("2.9", "4.1")  # which lead to others, or hold for all
    clauses = {number for number in numbers() if re.match(r"(2|4|W2)\.", number)} | {"W1", "W3", "W4", "5.2", "8"}
    assert sorted(clauses - named - set(pages)) == []


def test_the_numbers_follow_one_another_and_each_stands_once() -> None:
    assert [number for number, times in Counter(numbers()).items() if times > 1] == []
    below: dict[str, list[int]] = {}
    for number in numbers():
        above, _, last = number.rpartition(".")
        below.setdefault(above or number[: number.startswith("W")], []).append(int(last.removeprefix("W")))
    assert {above: here for above, here in below.items() if here != list(range(1, len(here) + 1))} == {}


def test_the_page_refers_to_numbers_that_it_has() -> None:
    prose = MARK.sub("", TEXT)
    assert set(re.findall(r"\bW\d+(?:\.\d+)?\b", prose)) - set(numbers()) == set()
    assert set(re.findall(r"(?<=[ (|])[1-9]\.\d+(?=[\s).,;:])", prose)) - set(numbers()) == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("as interface 4.4 says", {"4.4"}),
        ("(interface 2.1, 4.2)", {"2.1", "4.2"}),
        ("interface 4.4, 4.10 and W2, W4.1", {"4.4", "4.10", "W2", "W4.1"}),
        ("Interface 7.2.", {"7.2"}),
        ("an interface of 3 parts, interfaces 4", set()),
    ],
)
def test_a_reference_is_recognized(text: str, found: set[str]) -> None:
    assert references(text) == found


# -- operations --------------------------------------------------------------------------------------------------------


def requests_of(text: str) -> set[tuple[str, str]]:
    """Return the methods and paths that a text names; a path alone in a table is one of GET."""
    return {(method, path) for method, path in REQUEST.findall(text)} | {("GET", path) for path in PATH.findall(text)}


def request_of(operation: Operation) -> tuple[str, str]:
    return operation.method, operation.path


def test_the_page_has_every_operation_and_no_other() -> None:
    assert requests_of(TEXT) == {request_of(operation) for operation in INTERFACE.operations}


def parameters_of(text: str) -> set[str]:
    """Return what stands in the first column of a text's tables of parameters."""
    tables = re.findall(r"^\| Parameter\b.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    cells = [row.split(" | ")[0] for table in tables for row in table.splitlines()]
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_a_clause_has_the_parameters_of_its_operations_and_no_other() -> None:
    lacking, more = {}, {}
    for number, text in sections().items():
        here = [operation for operation in INTERFACE.operations if request_of(operation) in requests_of(text)]
        bodies = {name for operation in here if operation.body for name in body_of(operation)}
        taken = {name for operation in here for name in operation.named}
        if number in ("4.9", "4.10"):  # whose operations have clauses of their own
            continue
        above = sections().get(number.partition(".")[0], "") if number.startswith("W") else ""
        named = set(re.findall(r"`\{?(\w+)\}?`", text + above)) | set(re.findall(r"\{(\w+)\}", text))
        if taken - named:
            lacking[number] = taken - named
        if parameters_of(text) - taken - bodies:
            more[number] = parameters_of(text) - taken - bodies
    assert (lacking, more) == ({}, {})


def body_of(operation: Operation) -> set[str]:
    """Return the properties of a body and of the objects within it, without those of no effect."""
    names: set[str] = set()
    below = [load(SCHEMAS / operation.request_schema)]
    while below:
        schema = below.pop()
        for name, part in schema.get("properties", {}).items():
            if not part.get("x-ignored"):
                names.add(name)
                below.append(part.get("items", part))
    return names


BODIES = {"mobileoptinout": "2.2", "mobilelog": "4.6", "supc": "2.6", "share": "2.8"} | dict.fromkeys(
    ("bag_add", "bag_update", "bag_remove"), "2.7"
)
"""The clause that has a body's properties, by the name of its schema."""


@pytest.mark.parametrize(
    "operation",
    [operation for operation in INTERFACE.operations if operation.body],
    ids=lambda operation: operation.name,
)
def test_a_clause_has_the_properties_of_a_body(operation: Operation) -> None:
    text = sections()[BODIES[str(operation.body)]]
    assert body_of(operation) - set(re.findall(r"`(?:\{\")?(\w+)", text)) == set()


@pytest.mark.parametrize(("name", "number"), [(name, number) for name, number in BODIES.items() if number != "2.7"])
def test_a_clause_says_which_properties_are_needed(name: str, number: str) -> None:
    schema = load(SCHEMAS / f"requests/{name}.json")
    entry = schema["properties"].get("entry", {}).get("items", schema)
    rows = re.findall(r"^\| (`.*?) \| (yes|no) \|", sections()[number], re.MULTILINE)
    said = {name: needed == "yes" for cell, needed in rows for name in re.findall(r"`(\w+)`", cell)}
    assert len(said) > 2
    assert said == {name: name in entry["required"] for name in said}


def test_the_page_has_the_fields_of_every_answer() -> None:
    shown = {found["file"] for found in MARK.finditer(TEXT) if found["file"]}
    assert shown == {f"responses/{path.name}" for path in (SCHEMAS / "responses").iterdir()}


def test_the_page_has_an_example_of_every_operation() -> None:
    routes = Routes(INTERFACE.operations)
    requests = [found["text"].split(maxsplit=2)[:2] for found in MARK.finditer(TEXT) if not found["file"]]
    shown = {
        operation.name
        for method, target in requests
        for operation, _ in routes.of(target.partition("?")[0], None)
        if operation.method == method
    }
    assert shown == {operation.name for operation in INTERFACE.operations}


# -- blocks ------------------------------------------------------------------------------------------------------------


def test_the_blocks_are_what_the_program_says(sample_out: Path, tmp_path: Path) -> None:
    engine = Engine("sqlite", f"sqlite:///{tmp_path}/store.sqlite")
    database = engine.open()
    database.migrate()
    (tmp_path / "codes").write_text("880501 WELCOME-2026-7K3QZX9\n")
    imported = ("codes", "add", tmp_path / "codes", "--database", engine.url, "--out", sample_out)
    assert shopwindow(*imported, env={"SHOPWINDOW_CODE_SECRET": SECRET_TEXT}).status == 0
    key = (SAMPLE / "sample-keys.txt").read_text().split()[1]
    service = served(sample_out, database, tmp_path / "log", secret=SECRET)
    text = page_of_interface(Reader(service, key))
    database.close()
    if WRITES:
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "SHOPWINDOW_PAGES=write writes it"
