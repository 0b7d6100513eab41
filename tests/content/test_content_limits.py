"""What a content folder may make the program read is limited before it is read."""

import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.content import edit, problems, scan, write_files
from harness.program import Schemas
from shopwindow.cli import main
from shopwindow.content.check import records
from shopwindow.content.check.records import FeedBatch, FeedLines, batches
from shopwindow.content.documents import expressions
from shopwindow.content.documents.expressions import MAX_COMPILED, MAX_EXPRESSION, MAX_IN_TEXT, Unreadable, evaluate
from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading.files import MAX_LINE
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.yaml import Malformed
from shopwindow.release.released import NoRelease, documents
from shopwindow.retail.sharing.addresses import address
from shopwindow.shop import INTERFACE

NAMES = {"base_url": "https://api.example"}


def quick(limit: float) -> Callable[[], None]:
    """Fails where more processor time was used since: each of these took 20 seconds to minutes."""
    started = time.process_time()

    def done() -> None:
        assert time.process_time() - started < limit

    return done


# -- expressions -------------------------------------------------------------------------------------------------


def test_an_expression_has_a_length() -> None:
    done = quick(1)
    fitting = "x" * (MAX_EXPRESSION - 4)
    assert evaluate("{{ '" + fitting + "' }}", NAMES) == fitting
    for text in ("{{ '" + "x" * 10_000_000 + "' }}", "{{ " + "(" * 10_000_000, "{{ '" + "\\" * 10_000_000):
        with pytest.raises(Unreadable) as raised:
            evaluate(text, NAMES)
        assert raised.value.allowed == "'}}' after at most 4,096 characters"
        assert len(raised.value.found) < 200
    done()


def test_an_expression_that_is_not_closed_is_said_to_be_so() -> None:
    with pytest.raises(Unreadable) as raised:
        evaluate("{{ base_url", NAMES)
    assert raised.value.found == "'{{' without its '}}'"


def test_nested_parentheses_are_no_traceback() -> None:
    depth = MAX_EXPRESSION // 2 - 10
    with pytest.raises(Unreadable):
        evaluate("{{ " + "(" * depth + "base_url" + ")" * depth + " }}", NAMES)


def test_a_text_has_a_number_of_expressions() -> None:
    assert evaluate("{{ base_url }}" * MAX_IN_TEXT, NAMES) == NAMES["base_url"] * MAX_IN_TEXT
    with pytest.raises(Unreadable) as raised:
        evaluate("{{ base_url }}" * (MAX_IN_TEXT + 1), NAMES)
    assert (raised.value.found, raised.value.allowed) == (
        "a text with too many expressions",
        "at most 1,000 in one text",
    )


def test_a_file_has_a_number_of_expressions_that_must_be_compiled() -> None:
    value = [f"{{{{ base_url ~ '{number}' }}}}" for number in range(20 * MAX_COMPILED)]
    faults: list[Finding] = []
    done = quick(10)
    rendered = expressions.render(value, NAMES, faults.append)
    done()
    assert rendered[MAX_COMPILED - 1] == f"https://api.example{MAX_COMPILED - 1}"
    assert [fault.pointer for fault in faults] == [(number,) for number in range(MAX_COMPILED, len(value))]
    assert {fault.found for fault in faults} == {"the file has too many different expressions"}
    same = ["{{ base_url ~ 'x' }}"] * (2 * MAX_COMPILED)
    assert expressions.render(same, NAMES, faults.append) == ["https://api.examplex"] * len(same)


# -- feeds -------------------------------------------------------------------------------------------------------


def source(path: Path) -> Source:
    return Source(path.name, INTERFACE.kind["product"], path.stat().st_size, 0, 0)


def read(path: Path, *, shared: bool = True) -> list[tuple[int, Any]]:
    """Every line of a feed in its batches: its number there, and its bytes or what is wrong with it."""
    lines = [
        line
        for batch in (batches([source(path)]) if shared else [FeedBatch(source(path))])
        for line in FeedLines(path.parent, batch)
    ]
    return [(number, line.found if isinstance(line, Malformed) else line) for number, line in lines]


def test_a_feed_may_hold_so_many_bytes(tmp_path: Path) -> None:
    path = tmp_path / "products.jsonl"
    with open(path, "wb") as file:
        file.truncate(records.MAX_UNPACKED_BYTES + 1)
    assert read(path) == [(1, "the feed holds 17,179,869,185 bytes")]


def test_a_feed_that_is_too_much_is_a_problem(minimal: Path, schemas: Schemas) -> None:
    write_files(minimal, {"catalog/brands.jsonl.gz": gzip.compress(b" " * 128 * 1024 * 1024)})
    (long, problem) = sorted(problems(minimal, schemas), key=lambda each: each.rule, reverse=True)
    assert (long.rule, problem.rule, problem.path) == ("feed.line", "feed.compressed", "catalog/brands.jsonl.gz")
    assert problem.allowed.startswith("at most 17,179,869,184 bytes, and at most 200 times")


@pytest.mark.parametrize(
    "length", [MAX_LINE - 1, MAX_LINE, MAX_LINE + 1, records.BATCH_BYTES - 1, records.BATCH_BYTES + 1]
)
@pytest.mark.parametrize("before", [0, 1, 100])
def test_lines_of_any_length_are_each_in_one_block(tmp_path: Path, length: int, before: int) -> None:
    path = tmp_path / "products.jsonl"
    path.write_bytes(b"{}\n" * before + b"x" * (length - 1) + b"\n" + b"[]\n" * 3)
    found = [words for _, words in read(path)]
    long = b"x" * (length - 1) + b"\n" if length <= MAX_LINE else "a line that is too long"
    assert found == [b"{}\n"] * before + [long] + [b"[]\n"] * 3
    assert [words for _, words in read(path, shared=False)] == found


def test_a_file_of_holes_is_not_read(minimal: Path, schemas: Schemas) -> None:
    write_files(minimal, {"catalog/products.jsonl": ""})
    with open(minimal / "catalog" / "products.jsonl", "r+b") as file:
        file.truncate(10 * 1024**4)
    done = quick(5)
    (problem,) = problems(minimal, schemas)
    done()
    assert (problem.path, problem.rule) == ("catalog/products.jsonl", "tree.sparse")
    assert problem.found == "a file of 10,995,116,277,760 bytes, of which 0 are there"


def test_content_is_regular_files(minimal: Path) -> None:
    os.mkfifo(minimal / "events" / "two.yaml")
    (minimal / "events" / "three.yaml").symlink_to("/dev/zero")
    _, found = scan(minimal, INTERFACE.kinds)
    assert sorted((problem.path, problem.rule) for problem in found) == [
        ("events/three.yaml", "tree.link"),
        ("events/two.yaml", "tree.file"),
    ]


# -- check --against ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/random"])
def test_a_release_is_a_folder_or_a_regular_file(minimal: Path, path: str) -> None:
    ended = CliRunner().invoke(main, ["check", "--content", str(minimal), "--against", path])
    assert ended.exit_code == 2
    assert "it is neither a folder nor a file" in ended.output


def test_no_more_is_read_than_a_file_of_a_release_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "release"
    folder.mkdir()
    with open(folder / "manifest.json", "wb") as file:
        file.truncate(10 * 1024**3)
    with pytest.raises(NoRelease, match=r"manifest.json holds more than 67,108,864 bytes"):
        documents(folder, INTERFACE)


# -- addresses ---------------------------------------------------------------------------------------------------

GOOD = [
    "https://a.example/b",
    "https://a.example/b/.well-known/..x/...",
    "http://a.example:8080/%20b/%C3%A9",
    "http://a",
]
BAD = [
    "/%00",
    "/%0a",
    "/%0D",
    "/%1f",
    "/%7F",
    "/..",
    "/.",
    "/../b",
    "/b/./c",
    "/b/..",
    "/%2e%2E/b",
    "/%2F",
    "/%5c",
    "/%2",
]


@pytest.mark.parametrize("address", GOOD)
@pytest.mark.parametrize("name", ["base_url", "order_base_url"])
def test_base_url_may_have_a_path(schemas: Schemas, name: str, address: str) -> None:
    assert not [each for each in schemas.findings("site.json", {name: address}) if each.pointer == (name,)]


@pytest.mark.parametrize("path", BAD)
@pytest.mark.parametrize("name", ["base_url", "order_base_url"])
def test_base_url_has_no_path_that_proxies_read_in_two_ways(schemas: Schemas, name: str, path: str) -> None:
    found = schemas.findings("site.json", {name: f"https://a.example{path}"})
    (finding,) = (each for each in found if each.pointer == (name,))
    assert finding.allowed.startswith("an http or https URL without a trailing slash, query or fragment")


def test_base_url_is_a_problem_at_its_place(minimal: Path, schemas: Schemas) -> None:
    (text,) = (line for line in (minimal / "site.yaml").read_text().splitlines() if line.startswith("base_url"))
    edit(minimal, ("site.yaml", text, "base_url: https://a.example/%0a"))
    assert ("site.yaml", ("base_url",)) in [(each.path, each.pointer) for each in problems(minimal, schemas)]


def test_an_address_has_64_characters_before_the_at(schemas: Schemas) -> None:
    assert address("a" * 64 + "@shop.example.com") == "a" * 64 + "@shop.example.com"
    with pytest.raises(ValueError, match="must have at most 64 characters before the @, not 65"):
        address("a" * 65 + "@shop.example.com")
    for length in (64, 65):
        site = {"share": {"fromAddress": "a" * length + "@shop.example.com"}}
        found = [each for each in schemas.findings("site.json", site) if "fromAddress" in each.pointer]
        assert len(found) == length - 64
