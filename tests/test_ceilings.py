"""How much program there is, beside what the table of the architecture page allows.

A page of numbers that nobody counts is wrong in a month, and a program that may always grow is one that nobody can own.
With SHOPWINDOW_PAGES=write the table's tokens and sums are written anew; its ceilings are written by hand.
"""

import ast
import io
import os
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src/shopwindow"
PAGE = ROOT / "docs/explain/architecture.md"
ROW = re.compile(
    r"^\| (`(?P<package>\w+)`|the rest) \|.*"
    r"\| (?P<layer>engine|shop|tools) \| (?P<tokens>[\d,]+) \| (?P<ceiling>[\d,]+) \|$",
    re.M,
)
SUMS = re.compile(
    r"A reader of the engine holds ([\d,]+) tokens, one of the shop ([\d,]+) more, one of the tools ([\d,]+)\."
)
PAGES = re.compile(r"have ceilings too: ([\d,]+) lines of HTML, ([\d,]+) of CSS, ([\d,]+) of JavaScript")
NOT_COUNTED = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.COMMENT,
}
NEAR = 0.05
"""How far a number of the table may be off: a small change need not touch the page."""


def tokens(path: Path) -> int:
    """The names, numbers, strings and operators of a module, without its docstrings."""
    text = path.read_text(encoding="utf-8")
    statements = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    docstrings = {
        (value.lineno, value.col_offset)
        for value in statements
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    }
    return sum(
        token.type not in NOT_COUNTED and token.start not in docstrings
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
    )


def package_of(path: Path) -> str | None:
    """The package that a module belongs to; None: it stands beside the packages."""
    first, *more = path.relative_to(SOURCE).parts
    return first if more else None


@pytest.fixture(scope="module")
def counted() -> dict[str | None, int]:
    sums: dict[str | None, int] = {}
    for path in SOURCE.rglob("*.py"):
        package = package_of(path)
        sums[package] = sums.get(package, 0) + tokens(path)
    return sums


def number(text: str) -> int:
    return int(text.replace(",", ""))


def rows() -> list[re.Match[str]]:
    return list(ROW.finditer(PAGE.read_text(encoding="utf-8")))


def sums_of(counted: dict[str | None, int]) -> list[int]:
    """What a reader of the engine, of the shop and of the tools has to hold."""
    layers = ("engine", "shop", "tools")
    return [sum(counted[row["package"]] for row in rows() if row["layer"] == layer) for layer in layers]


def write_table(counted: dict[str | None, int]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for row in reversed(rows()):
        text = text[: row.start("tokens")] + f"{counted[row['package']]:,}" + text[row.end("tokens") :]
    engine, shop, tools = (f"{layer:,}" for layer in sums_of(counted))
    sums = f"A reader of the engine holds {engine} tokens, one of the shop {shop} more, one of the tools {tools}."
    PAGE.write_text(SUMS.sub(sums, text), encoding="utf-8")


def test_every_package_has_a_row(counted: dict[str | None, int]) -> None:
    assert sorted(map(str, counted)) == sorted(str(row["package"]) for row in rows())


def test_no_package_is_above_its_ceiling(counted: dict[str | None, int]) -> None:
    ceilings = {row["package"]: number(row["ceiling"]) for row in rows()}
    above = {package: (size, ceilings[package]) for package, size in counted.items() if size > ceilings[package]}
    assert above == {}, "remove something first"


def test_the_table_says_how_much_there_is(counted: dict[str | None, int]) -> None:
    if os.environ.get("SHOPWINDOW_PAGES") == "write":
        write_table(counted)
    said = [number(row["tokens"]) for row in rows()]
    assert said == pytest.approx([counted[row["package"]] for row in rows()], rel=NEAR), "SHOPWINDOW_PAGES=write"
    sums = SUMS.search(PAGE.read_text(encoding="utf-8"))
    assert sums
    assert list(map(number, sums.groups())) == pytest.approx(sums_of(counted), rel=NEAR), "SHOPWINDOW_PAGES=write"


@pytest.mark.parametrize(("ending", "place"), [("html", 0), ("css", 1), ("js", 2)])
def test_what_people_see_stays_below_its_ceiling(ending: str, place: int) -> None:
    ceilings = PAGES.search(PAGE.read_text(encoding="utf-8"))
    assert ceilings
    files = [*SOURCE.rglob(f"*.{ending}"), *(ROOT / "templates").rglob(f"*.{ending}")]
    own = [path for path in files if ".min." not in path.name and "standalone" not in path.name]
    assert own
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in own)
    assert lines <= number(ceilings[place + 1])
