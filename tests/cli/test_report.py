"""Facts about printed problems: lines with excerpts, JSON, GitHub's annotations, SARIF."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from harness.content import ROOT
from shopwindow.cli import report, terminal
from shopwindow.cli.report import ProblemReport
from shopwindow.content.check.folder import Checked
from shopwindow.content.reading.text import Edit, Fix
from shopwindow.content.rules.rule_pages import RulePage
from shopwindow.did_you_mean import nearest
from shopwindow.problems import Level, Place, Problem, pointer_text, sentence

FULL = Problem(
    "app.layout",
    "apps/_a.yaml",
    "'shp' is not a key of appConfig",
    Place(3, 5, 3, 8),
    ("config", "appLayout", 0),
    "shop, bag",
    "Top-level sections of the app.",
    "shop",
    ("apps/android.yaml", "apps/iphone.yaml"),
)
BARE = Problem("tree.link", "stores/x.yaml", "a link to a folder")
WARNING = Problem("text.quotes", "stores/x.yaml", "odd quotes", Place(2, 7, 2, 9), level=Level.WARNING)
FOLDER = Path("content")
PAGES = {FULL.rule: RulePage(FULL.rule, "A section is not described", "The app could not show it.")}
FIXES = {FULL: Fix("write shop", (Edit(Place(3, 5, 3, 8), "shop"),), FULL.pointer, "shop")}


def checked(told: list[Problem], **more: Any) -> Checked:
    errors = [each for each in told if each.level is Level.ERROR]
    return Checked(None, errors, warnings=[each for each in told if each.level is Level.WARNING], **more)


def reported(told: list[Problem], root: Path, more: dict[str, Any] | None = None, **pages: Any) -> ProblemReport:
    return ProblemReport(checked(told, **(more or {})), root, **pages)


def problem(found: str = "something", place: Place | None = None, path: str = "a.yaml", **more: Any) -> Problem:
    return Problem("rule", path, found, place, **more)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (
            FULL,
            "the 1st entry of config/appLayout: 'shp' is not a key of appConfig (Top-level sections of the app); "
            "allowed: shop, bag; "
            "did you mean shop?; apps/android.yaml, apps/iphone.yaml build on this",
        ),
        (BARE, "a link to a folder"),
        (problem(used_by=("apps/a.yaml",)), "something; apps/a.yaml builds on this"),
        (problem("two\nlines\x1b[31m\u2028"), "two\\nlines\\x1b[31m\\u2028"),
        (problem(pointer=("a/b", "c~d", "", 0)), "the 1st entry of a~1b/c~0d/: something"),
        (problem(pointer=("k" * 61, "k" * 60)), f"{'k' * 59}…/{'k' * 60}: something"),
    ],
)
def test_a_problem_in_words_is_one_line(told: Problem, words: str) -> None:
    assert sentence(told) == words


def test_text_is_a_line_a_problem() -> None:
    assert report.text(reported([FULL, BARE, problem(path="x\ny.yaml")], FOLDER)).split("\n") == [
        f"content/apps/_a.yaml:3:5: {sentence(FULL)}",
        "content/stores/x.yaml: a link to a folder",
        "content/x\\ny.yaml: something",
    ]
    assert report.text(reported([], FOLDER)) == ""


def test_a_warning_says_so() -> None:
    assert report.text(reported([BARE, WARNING], FOLDER)).split("\n") == [
        "content/stores/x.yaml: a link to a folder",
        "content/stores/x.yaml:2:7: warning: odd quotes",
    ]


@pytest.mark.parametrize(
    ("listed", "more", "words"),
    [
        ([], {}, "no problems"),
        ([WARNING], {}, "no problems, 1 warning"),
        ([BARE], {}, "1 problem"),
        ([FULL, BARE, WARNING, WARNING], {}, "2 problems, 2 warnings"),
        ([BARE, WARNING], {"more": 1999, "at_least": True, "more_warnings": 2}, "at least 2,000 problems, 3 warnings"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_summary_counts_problems_and_warnings(listed: list[Problem], more: dict[str, Any], words: str) -> None:
    assert report.summary(checked(listed, **more)) == words


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"more": 1}, "1 more problem"),
        ({"more": 2, "at_least": True}, "at least 2 more problems"),
        ({"more_warnings": 1}, "1 more warning"),
        ({"more": 1, "more_warnings": 2}, "1 more problem and 2 more warnings"),
    ],
    ids=str,
)
def test_what_is_not_listed_is_counted_in_every_format(more: dict[str, Any], words: str) -> None:
    line = f"and {words}"
    assert report.text(reported([], FOLDER, more)) == line
    assert report.github(reported([], FOLDER, more)) == f"::notice title=shopwindow::{line}"
    (run,) = json.loads(report.sarif(reported([], FOLDER, more)))["runs"]
    (notice,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notice == {"level": "warning", "message": {"text": line}}
    counted = json.loads(report.as_json(reported([], FOLDER, more)))
    names = {"more": "more", "moreAtLeast": "at_least", "moreWarnings": "more_warnings"}
    assert {names[name]: count for name, count in counted.items() if name != "problems" and count} == more


# -- excerpts ----------------------------------------------------------------------------------------------------


def excerpt(folder: Path, content: str | bytes, place: Place, path: str = "a.yaml") -> list[str]:
    (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    first, *lines = laid_out([problem(place=place, path=path)], folder)
    assert first.startswith(f"{folder}/{path}:{place.line}:{place.column}: error ")
    return [line for line in lines if " | " in line]


def laid_out(problems: list[Problem], folder: Path) -> list[str]:
    """The lines of the layout, without colors, in a terminal of 80 columns."""
    return re.sub("\x1b[^m]*m", "", terminal.layout(reported(problems, folder), width=80)).split("\n")


EXCERPTS: list[tuple[str, Place, list[str]]] = [
    ("a: b\nc: word\n", Place(2, 4, 2, 8), ["        2 | c: word", "          |    ^^^^"]),
    ("c: word", Place(1, 1, 1, 2), ["        1 | c: word", "          | ^"]),
    # an empty value stands behind the colon
    ("c:\n", Place(1, 3, 1, 3), ["        1 | c:", "          |   ^"]),
    # a value of several lines: to the end of the first
    ("c: [a,\n  b]\n", Place(1, 4, 2, 5), ["        1 | c: [a,", "          |    ^^^"]),
    # a tab is as wide as it is above; wide characters take two columns, combining ones none
    ("\tc:\tword", Place(1, 5, 1, 9), ["        1 | \tc:\tword", "          | \t  \t^^^^"]),
    ("c: 値段 word", Place(1, 7, 1, 11), ["        1 | c: 値段 word", "          |         ^^^^"]),
    ("c: 値段", Place(1, 4, 1, 6), ["        1 | c: 値段", "          |    ^^^^"]),
    ("c: e\u0301é 🎁 x", Place(1, 10, 1, 11), ["        1 | c: e\u0301é 🎁 x", "          |          ^"]),
    # what would move the cursor is not printed
    ("c: a\x1b[31mb\x00 word", Place(1, 13, 1, 17), ["        1 | c: a�[31mb� word", "          |             ^^^^"]),
    ("\ufeffc: word\r\nd: e\r\n", Place(1, 4, 1, 8), ["        1 | c: word", "          |    ^^^^"]),
    ("a: b\r\nc: word\r\n", Place(2, 4, 2, 8), ["        2 | c: word", "          |    ^^^^"]),
    ("a: b\rc: word\r", Place(2, 4, 2, 8), ["        2 | c: word", "          |    ^^^^"]),
    # of a long line the part around the place
    ("x" * 500, Place(1, 1, 1, 501), ["        1 | " + "x" * 66 + "…", "          | " + "^" * 66]),
    (
        "x" * 200 + "word" + "y" * 200,
        Place(1, 201, 1, 205),
        ["        1 | …" + "x" * 33 + "word" + "y" * 29 + "…", "          |  " + " " * 33 + "^^^^"],
    ),
    (
        "x" * 200 + "word",
        Place(1, 201, 1, 205),
        ["        1 | …" + "x" * 33 + "word", "          |  " + " " * 33 + "^^^^"],
    ),
    # a file that has changed since
    ("c: word", Place(2, 1, 2, 2), []),
    ("c: word", Place(1, 99, 1, 100), []),
    ("", Place(1, 1, 1, 1), []),
]


@pytest.mark.parametrize(("content", "place", "lines"), EXCERPTS)
def test_an_excerpt_shows_the_line_and_a_caret_below_the_place(
    tmp_path: Path, content: str, place: Place, lines: list[str]
) -> None:
    assert excerpt(tmp_path, content, place) == lines


def test_a_byte_that_is_not_utf_8_is_shown_as_one_character(tmp_path: Path) -> None:
    assert excerpt(tmp_path, "é: caf".encode() + b"\xe9 x", Place(1, 7, 1, 8)) == [
        "        1 | é: caf� x",
        "          |       ^",
    ]


def test_the_lines_of_a_feed_end_with_a_line_feed_alone(tmp_path: Path) -> None:
    assert excerpt(tmp_path, '{"a":\r1}\n{"b": 2}\n', Place(2, 7, 2, 8), "a.jsonl") == [
        '        2 | {"b": 2}',
        "          |       ^",
    ]


def test_a_file_that_is_not_there_has_no_excerpt(tmp_path: Path) -> None:
    assert not any(" | " in line for line in laid_out([problem(place=Place(1, 1, 1, 2))], tmp_path))


def test_of_a_huge_line_only_the_beginning_is_read(tmp_path: Path) -> None:
    with (tmp_path / "a.yaml").open("wb") as file:
        file.write(b"c: word")
        file.truncate(2**30)
    told = [
        problem(place=Place(1, 4, 1, 8)),
        problem(place=Place(1, 2**29, 1, 2**29 + 1)),
        problem(place=Place(9, 1, 9, 2)),
    ]
    lines = laid_out(told, tmp_path)
    shown, caret = lines[1:3]
    assert [line for line in lines if " | " in line] == [shown, caret]
    assert shown.startswith("        1 | c: word�")
    assert caret == "          |    ^^^^"


@given(
    st.text(st.sampled_from("ab\t値🎁\u0301\x1b\r\u2028é"), max_size=300),
    st.integers(1, 400),
    st.integers(0, 400),
)
def test_any_excerpt_is_two_short_lines(line: str, column: int, length: int) -> None:
    colored = terminal._excerpt(Place(1, column, 1, column + length), line, "red", 80)
    lines = [re.sub("\x1b[^m]*m", "", part) for part in colored]
    assert len(lines) in (0, 2)
    assert all(len(printed) <= 300 for printed in lines)
    assert all(char.isprintable() or char == "\t" for printed in lines for char in printed)


# -- for programs ------------------------------------------------------------------------------------------------


def test_json_has_everything_that_is_known() -> None:
    assert json.loads(report.as_json(reported([FULL, BARE], FOLDER, fixes=FIXES, pages=PAGES))) == {
        "problems": [
            {
                "level": "error",
                "rule": "app.layout",
                "path": "content/apps/_a.yaml",
                "line": 3,
                "column": 5,
                "endLine": 3,
                "endColumn": 8,
                "pointer": "/config/appLayout/0",
                "found": "'shp' is not a key of appConfig",
                "allowed": "shop, bag",
                "about": "Top-level sections of the app.",
                "nearest": "shop",
                "usedBy": ["apps/android.yaml", "apps/iphone.yaml"],
                "fix": {
                    "title": "write shop",
                    "edits": [{"line": 3, "column": 5, "endLine": 3, "endColumn": 8, "text": "shop"}],
                },
                "page": "shopwindow rule app.layout",
            },
            {
                "level": "error",
                "rule": "tree.link",
                "path": "content/stores/x.yaml",
                "line": None,
                "column": None,
                "endLine": None,
                "endColumn": None,
                "pointer": "",
                "found": "a link to a folder",
                "allowed": "",
                "about": "",
                "nearest": "",
                "usedBy": [],
                "fix": None,
                "page": None,
            },
        ]
    }
    assert json.loads(report.as_json(reported([], FOLDER))) == {"problems": []}
    levels = [problem["level"] for problem in json.loads(report.as_json(reported([FULL, WARNING], FOLDER)))["problems"]]
    assert levels == ["error", "warning"]


@pytest.mark.parametrize(
    ("pointer", "document", "words"),
    [
        (("categories", 1), "promotion 880301", "the 2nd category of promotion 880301"),
        (("attributes", 2, "value"), "event 510101", "the value of the 3rd attribute of event 510101"),
        (("stores", "storeId", 10), "event 5", "the 11th entry of stores/storeId of event 5"),
        (("coupon", 20, "a", "b"), "", "a/b of the 21st entry of coupon"),
        ((3, "publish", "until"), "event 5", "publish/until of event 5"),
        ((3, "name"), "", "the name of the 4th document"),
        (("categories", 0, "categories", 102), "", "the 103rd category of the 1st category"),
        (("boxes", 1, 0), "", "the 1st entry of the 2nd entry of boxes"),
        (("config", "shop/ping"), "app iphone", "config/shop~1ping"),
        ((), "app iphone", ""),
    ],
)
def test_a_place_in_a_list_is_read_in_words_and_key_paths_stay(
    pointer: tuple[str | int, ...], document: str, words: str
) -> None:
    told = problem(pointer=pointer, document=document)
    assert sentence(told) == (f"{words}: something" if words else "something")
    if pointer:
        printed = terminal.layout(reported([told], FOLDER), width=120).splitlines()
        plain = [re.sub("\x1b[^m]*m", "", line) for line in printed]
        assert [line.split("at  ")[1] for line in plain if "at  " in line] == [words]


@pytest.mark.parametrize(
    ("pointer", "text"), [((), ""), (("a", 0), "/a/0"), (("",), "/"), (("a/b", "~"), "/a~1b/~0"), (("", ""), "//")]
)
def test_a_pointer_is_one_of_rfc_6901(pointer: tuple[str | int, ...], text: str) -> None:
    assert json.loads(report.as_json(reported([problem(pointer=pointer)], FOLDER)))["problems"][0]["pointer"] == text
    assert pointer_text(pointer) == text[1:]


def test_github_marks_the_place_in_the_file() -> None:
    assert report.github(reported([FULL, BARE, WARNING], FOLDER)).split("\n") == [
        "::error file=content/apps/_a.yaml,line=3,col=5,endLine=3,endColumn=7,title=app.layout::" + sentence(FULL),
        "::error file=content/stores/x.yaml,title=tree.link::a link to a folder",
        "::warning file=content/stores/x.yaml,line=2,col=7,endLine=2,endColumn=8,title=text.quotes::odd quotes",
    ]
    assert report.github(reported([], FOLDER)) == ""


def test_a_place_of_several_lines_is_marked_by_its_beginning() -> None:
    assert report.github(reported([problem(place=Place(3, 5, 9, 1))], FOLDER)).startswith(
        "::error file=content/a.yaml,line=3,col=5,title=rule::"
    )


def test_what_github_would_read_as_its_own_is_escaped() -> None:
    told = problem("100% of\r\n::error::a,b:c", path="a,b:c%\nd\x1b[31m.yaml")
    assert report.github(reported([told], FOLDER)) == (
        "::error file=content/a%2Cb%3Ac%25%0Ad\\x1b[31m.yaml,title=rule::100%25 of\\r\\n::error::a,b:c"
    )


@pytest.mark.parametrize(
    ("count", "annotations", "more"),
    [(0, 0, None), (1, 1, None), (10, 10, None), (11, 10, "1 more"), (300, 10, "290 more")],
)
@pytest.mark.parametrize("level", list(Level))
def test_github_folds_what_is_beyond_ten(count: int, annotations: int, more: str | None, level: Level) -> None:
    told = [problem(f"number {number}", Place(1, 1, 1, 2), level=level) for number in range(count)]
    noun, mark = ("problem", "") if level is Level.ERROR else ("warning", "warning: ")
    lines = [line for line in report.github(reported(told, FOLDER)).split("\n") if line]
    assert [line.split(" ")[0] for line in lines[:annotations]] == [f"::{level}"] * annotations
    rest = lines[annotations:]
    words = f"::notice title=shopwindow::{more} {noun}{'s' * (count > 11)}: see this step's log"
    assert rest[:1] == ([words] if more else [])
    assert rest[1:] == [f"content/a.yaml:1:1: {mark}number {number}" for number in range(annotations, count)]


def test_github_shows_ten_of_either_level() -> None:
    told = [problem(f"number {number}") for number in range(11)]
    told += [problem(f"number {number}", level=Level.WARNING) for number in range(11)]
    commands = [line for line in report.github(reported(told, FOLDER)).split("\n") if line.startswith("::")]
    levels = [line.split("::")[1].split(" ")[0] for line in commands]
    assert levels == [*["error"] * 10, "notice", *["warning"] * 10, "notice"]


SARIF_SCHEMA = Path(os.environ.get("SHOPWINDOW_DATA", ROOT.parent / "shared/data")) / "sarif-schema-2.1.0.json"


def test_sarif_has_a_result_for_each_problem() -> None:
    (run,) = json.loads(report.sarif(reported([FULL, BARE, BARE], FOLDER)))["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["app.layout", "tree.link"]
    assert run["columnKind"] == "unicodeCodePoints"
    region = {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 8}
    first = {"artifactLocation": {"uri": "content/apps/_a.yaml"}, "region": region}
    assert run["results"][0] == {
        "ruleId": "app.layout",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": sentence(FULL)},
        "locations": [{"physicalLocation": first}],
    }
    assert run["results"][1] == run["results"][2]
    (warned,) = json.loads(report.sarif(reported([WARNING], FOLDER)))["runs"][0]["results"]
    assert (warned["level"], warned["ruleId"]) == ("warning", "text.quotes")
    assert run["results"][1]["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": "content/stores/x.yaml"}}}
    ]


def test_sarif_has_the_fix_of_a_problem() -> None:
    full, bare = json.loads(report.sarif(reported([FULL, BARE], FOLDER, fixes=FIXES)))["runs"][0]["results"]
    (fix,) = full["fixes"]
    (change,) = fix["artifactChanges"]
    region = {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 8}
    assert fix["description"] == {"text": "write shop"}
    assert change["artifactLocation"] == full["locations"][0]["physicalLocation"]["artifactLocation"]
    assert change["replacements"] == [{"deletedRegion": region, "insertedContent": {"text": "shop"}}]
    assert "fixes" not in bare


def test_sarif_names_files_by_uri_references() -> None:
    (result,) = json.loads(report.sarif(reported([problem(path="a b:c%é\n.yaml")], Path("/x y"))))["runs"][0]["results"]
    (location,) = result["locations"]
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "/x%20y/a%20b%3Ac%25%C3%A9%0A.yaml"


@pytest.mark.skipif(
    not SARIF_SCHEMA.is_file(), reason=f"{SARIF_SCHEMA} is not there (SHOPWINDOW_DATA names its folder)"
)
@pytest.mark.parametrize(
    "told",
    [
        [],
        [FULL, BARE, WARNING],
        [problem("two\nlines", Place(1, 1, 1, 1), "a b\n%é.yaml")],
        [problem(f"number {number}", Place(number + 1, 1, number + 2, 1)) for number in range(100)],
    ],
    ids=["none", "two", "odd", "many"],
)
def test_sarif_satisfies_its_schema(told: list[Problem]) -> None:
    validator = Draft4Validator(json.loads(SARIF_SCHEMA.read_bytes()), format_checker=Draft4Validator.FORMAT_CHECKER)
    log = json.loads(report.sarif(reported(told, FOLDER, fixes=FIXES)))
    assert [error.message for error in validator.iter_errors(log)] == []
    assert [error.message for error in validator.iter_errors(log | {"version": "2.0.0"})] != []


# -- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "known", "close"),
    [
        ("shp", ["shop", "ship", "bag"], "shop"),
        ("SHOP", ["shop", "bag"], "shop"),
        ("shop", [], ""),
        ("zzz", ["shop", "bag"], ""),
        ("", ["shop"], ""),
        ("x" * 10_000_000, ["shop"], ""),
        ("abcd", ["abce", "abcf"], "abcf"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_the_nearest_known_name(word: str, known: list[str], close: str) -> None:
    assert nearest(word, known) == close
    assert nearest(word, reversed(known)) == close
