"""Facts about real stores, coupons and campaigns as content: every flaw is found at its place, and mended it builds."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.content import ROOT, check
from harness.program import program_schemas
from shopwindow.problems import Pointer, Problem
from shopwindow.shop import INTERFACE

sys.path.append(str(ROOT))
from benchmarks import real_content
from benchmarks.real_content import Data, Record

EVENTS = 300
FOLDER = real_content.data_folder()
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the real data is not in {FOLDER} (SHOPWINDOW_DATA)")

Found = tuple[str, str, Pointer, str]
"""A problem: its rule, its path, where in the file, and the very text that stands at its place."""


@pytest.fixture(scope="module")
def data() -> Data:
    return real_content.read(FOLDER)


@pytest.fixture(scope="module")
def raw(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw") / "content"
    real_content.convert(data, folder, EVENTS, raw=True)
    return folder


def problems(folder: Path) -> list[Problem]:
    return check(folder, program_schemas(), INTERFACE, most=10_000).problems


@pytest.fixture(scope="module")
def at_fault(raw: Path) -> list[Problem]:
    return problems(raw)


def found(folder: Path, problem: Problem) -> Found:
    assert problem.place is not None
    place = problem.place
    assert place.line == place.end_line
    line = (folder / problem.path).read_text(encoding="utf-8").split("\n")[place.line - 1]
    return (problem.rule, problem.path, problem.pointer, line[place.column - 1 : place.end_column - 1])


def in_stores(data: Data) -> list[Found]:
    """Zip codes that lost their leading zero, and second address lines that are empty or missing."""
    expected: list[Found] = []
    for number, store in enumerate(data.stores):
        if store["address2"] == "":
            expected.append(("schema.minLength", "stores.jsonl", (number, "address", "line2"), '""'))
        if store["address2"] is None:
            expected.append(("schema.type", "stores.jsonl", (number, "address", "line2"), "null"))
        if len(store["zip"]) == 4:
            expected.append(("schema.pattern", "stores.jsonl", (number, "address", "zipCode"), f'"{store["zip"]}"'))
    return expected


def in_promotions(data: Data) -> list[Found]:
    """A product number that a program wrote as 9e+05, a category without a name, coupon numbers used twice.

    What its schema refuses is not looked at by the rules: its coupon number is free for another.
    """
    expected: list[Found] = []
    used: set[str] = set()
    for campaign, promotions in real_content.by_campaign(data, raw=True).items():
        path = f"promotions/campaign-{campaign:0>2}.yaml"
        for number, promotion in enumerate(promotions):
            refused: list[Found] = [
                ("schema.pattern", path, (number, "promotionCodeIds", index), f'"{code}"')
                for index, code in enumerate(promotion["promotionCodeIds"])
                if not code.isdigit()
            ]
            if None in promotion["categories"]:
                refused.append(("schema.type", path, (number, "categories", 0), "null"))
            expected += refused
            coupon = promotion["coupon"]["couponNumber"]
            if not refused and coupon in used:
                expected.append(("unique", path, (number, "coupon", "couponNumber"), f'"{coupon}"'))
            if not refused:
                used.add(coupon)
    return expected


def in_events(data: Data) -> list[Found]:
    """Stores that do not exist: always the last one named."""
    known = {store["id"] for store in data.stores}
    events: list[Record] = list(real_content.made_events(data, EVENTS, raw=True))
    return [
        ("reference", f"events/{event['id']}.yaml", ("stores", "storeId", index), str(value))
        for event in events
        for index, value in enumerate(event["stores"].get("storeId", ()))
        if value not in known
    ]


def test_every_flaw_of_the_data_is_a_problem_at_its_place_and_nothing_else_is(
    data: Data, raw: Path, at_fault: list[Problem]
) -> None:
    expected = in_stores(data) + in_promotions(data) + in_events(data)
    assert sorted(found(raw, problem) for problem in at_fault) == sorted(first_of_lines(expected))


def first_of_lines(expected: list[Found]) -> list[Found]:
    """The first of the faults that lines of a feed have at one place: the problem that stands for all."""
    firsts: dict[Any, Found] = {}
    for flaw in expected:
        rule, path, pointer, _ = flaw
        firsts.setdefault((rule, path, pointer[1:] if path.endswith(".jsonl") else pointer), flaw)
    return list(firsts.values())


def test_the_flaws_of_the_data_are_those_that_are_known(at_fault: list[Problem]) -> None:
    counted: Counter[tuple[str, str]] = Counter()
    for problem in at_fault:
        lines = re.search("; the same in ([0-9,]+) lines", problem.found)
        place = problem.path.partition("/")[0].partition(".")[0]
        counted[problem.rule, place] += int(lines[1].replace(",", "")) if lines else 1
    assert counted == {
        ("schema.minLength", "stores"): 1008,
        ("schema.type", "stores"): 189,
        ("schema.pattern", "stores"): 19,
        ("schema.pattern", "promotions"): 2,
        ("schema.type", "promotions"): 1,
        ("unique", "promotions"): 216,
        ("reference", "events"): 6,
    }


def test_a_store_that_does_not_exist_comes_with_the_nearest_that_does(data: Data, at_fault: list[Problem]) -> None:
    known = {str(store["id"]) for store in data.stores}
    assert {problem.nearest in known for problem in at_fault if problem.rule == "reference"} == {True}


def test_mended_data_checks_clean_and_builds(data: Data, tmp_path: Path) -> None:
    content, out = tmp_path / "content", tmp_path / "out"
    real_content.convert(data, content, EVENTS)
    assert problems(content) == []
    command = [sys.executable, "-m", "shopwindow", "build", "--content", str(content), "--out", str(out)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    # six addresses a store, the list of all stores, seven lists of promotions, two applications; each in two formats
    assert f"{(6 * len(data.stores) + 1 + 7 + 2) * 2:,} files, current" in built.stdout


def test_the_same_data_gives_the_same_content(data: Data, tmp_path: Path) -> None:
    for name in ("one", "another"):
        real_content.convert(data, tmp_path / name, EVENTS)

    def tree(folder: Path) -> dict[str, bytes]:
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    assert tree(tmp_path / "one") == tree(tmp_path / "another")
