"""Releases of later instants that a build writes ahead: what each is, what they share, and what ends them."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.content import AT, promotion, site, small, store, write
from harness.program import Ran, Releases, build, built, checked, current, history, manifest, shopwindow, tree

WINDOWS = {
    "2026-11-25": promotion(1, publish={"from": "2026-11-25 06:00"}),
    "2026-11-26": promotion(2, publish={"from": "2026-11-26", "until": "2026-11-26"}),
}
"""Promotions whose windows begin or end at three instants after AT."""


@pytest.fixture
def content(tmp_path: Path) -> Path:
    files = {f"promotions/{day}.yaml": value for day, value in WINDOWS.items()}
    return write(tmp_path / "content", {**small(), **files})


def chain(out: Path) -> list[Mapping[str, str]]:
    links: list[Mapping[str, str]] = history(out)[-1].get("chain", [])
    return links


def test_each_release_ahead_is_what_a_build_at_its_instant_writes(content: Path, tmp_path: Path) -> None:
    out = tmp_path / "ahead"
    ran = build(content, out, "--ahead", "30")
    assert ran.status == 0
    links = chain(out)
    assert len(links) >= 4
    assert links[0]["id"] == current(out)
    previous = None
    for link in links:
        alone = tmp_path / "alone" / link["id"]
        assert built(content, alone, at=link["from"]) == link["id"]
        assert tree(out / "releases" / link["id"] / "files") == tree(alone / "current/files")
        if previous:
            assert manifest(out / "releases" / previous)["nextChange"] == link["from"]
            assert f"ahead: release {link['id'][:12]}, in force from" in ran.out
        previous = link["id"]


def test_equal_files_are_one_on_the_disk(content: Path, tmp_path: Path) -> None:
    built(content, tmp_path, "--ahead", "30")
    first, second, *_ = (tmp_path / "releases" / link["id"] / "files" for link in chain(tmp_path))
    same = [path for path in tree(first) if tree(second).get(path) == tree(first)[path]]
    assert same
    assert all(os.path.samefile(first / path, second / path) for path in same)


def test_without_ahead_nothing_follows(content: Path, tmp_path: Path) -> None:
    first = built(content, tmp_path, "--ahead", "30")
    built(content, tmp_path)
    assert current(tmp_path) == first
    assert chain(tmp_path) == []
    assert len(history(tmp_path)) == 2
    built(content, tmp_path)
    assert len(history(tmp_path)) == 2  # the same chain


def test_another_build_lengthens_the_chain(content: Path, tmp_path: Path) -> None:
    built(content, tmp_path, "--ahead", "1.5")
    before = [link["id"] for link in chain(tmp_path)]
    ran = build(content, tmp_path, "--ahead", "30")
    assert "it is current already: nothing to do" in ran.out
    after = [link["id"] for link in chain(tmp_path)]
    assert after[: len(before)] == before
    assert len(after) > len(before) > 1


def test_no_more_than_twenty(content: Path, tmp_path: Path) -> None:
    many = {
        f"promotions/day-{day}.yaml": promotion(100 + day, publish={"from": f"2026-11-25 {day:02}:00"})
        for day in range(24)
    }
    ran = build(write(content, many), tmp_path, "--ahead")
    assert (ran.status, len(chain(tmp_path))) == (0, 20)
    last = manifest(tmp_path / "releases" / chain(tmp_path)[-1]["id"])["nextChange"]
    assert "build again at 2026-11-25 19:00" in ran.out, last


def test_the_list_says_what_comes_and_when_the_last_one_first(content: Path, tmp_path: Path) -> None:
    built(content, tmp_path, "--ahead", "30")
    ran = shopwindow("releases", "--out", tmp_path)
    current, *following = chain(tmp_path)
    listed = [(line.split()[0], line.partition(" ahead, from ")[2]) for line in ran.out.splitlines()]
    expected = [(link["id"][:12], link["from"]) for link in reversed(following)]
    assert ([line for line in listed if line[1]], ran.err) == (expected, "")
    assert [id for id, _ in listed].index(current["id"][:12]) > len(following) - 1


def test_a_pinned_release_is_followed_by_none(content: Path, tmp_path: Path) -> None:
    built(content, tmp_path)
    assert shopwindow("rollback", "current", "--out", tmp_path).status == 0
    assert build(content, tmp_path, "--ahead", "30").status == 0
    assert chain(tmp_path) == []


# -- what ends it ------------------------------------------------------------------------------------------------

CONTRACT = {
    "app": "phone",
    "version": "2.0",
    "reads": [
        {
            "request": "v3/promotions?show=promotions",
            "fields": [{"path": "promotionDetailsResponse[].promoId", "enum": ["1", "5", "7"]}],
        }
    ],
}
"""It does not know promotion 2, which is live from the 26th on."""

SINCE = "from 2026-11-26 00:00 (America/New_York) on: "


@pytest.fixture
def breaking(content: Path) -> Path:
    return write(content, {"contracts/phone.yaml": CONTRACT})


def test_what_breaks_later_is_a_warning_of_a_build_and_the_chain_ends_before_it(breaking: Path, tmp_path: Path) -> None:
    ran = shopwindow("build", "--content", breaking, "--out", tmp_path, "--at", AT, "--ahead", "30")
    assert ran.status == 0
    assert [link["from"][:10] for link in chain(tmp_path)[1:]] == ["2026-11-25"]
    assert f"the releases ahead end there: {SINCE}1 broken contract\n" in ran.out
    assert f"{SINCE}this breaks phone 2.0" in ran.out
    assert "build again at 2026-11-26 00:00" in ran.out
    listed = shopwindow("releases", "--out", tmp_path)
    assert listed.err == f"the releases ahead end there: {SINCE}1 broken contract\n"
    assert shopwindow("activate", "current", "--out", tmp_path).status == 0
    assert shopwindow("releases", "--out", tmp_path).err == ""


def test_what_breaks_later_is_a_problem_of_a_check_ahead(breaking: Path) -> None:
    assert shopwindow("check", "--content", breaking, "--at", AT).status == 0
    assert shopwindow("check", "--content", breaking, "--at", AT, "--ahead", "1").status == 0
    ran = shopwindow("check", "--content", breaking, "--at", AT, "--ahead")
    assert (ran.status, f"{SINCE}this breaks phone 2.0" in ran.out) == (1, True)


MORNING = "from 2026-11-25 06:00 (America/New_York) on: "


def test_a_limit_that_a_later_instant_passes_ends_the_chain_before_it(content: Path, tmp_path: Path) -> None:
    files = len(manifest(tmp_path / "now" / "releases" / built(content, tmp_path / "now"))["files"])
    later = store(3, publish={"from": "2026-11-25 06:00"})
    write(content, {"site.yaml": site(max_files=files), "stores/later.yaml": later})
    ran = shopwindow("build", "--content", content, "--out", tmp_path / "dist", "--at", AT, "--ahead", "30")
    assert (ran.status, chain(tmp_path / "dist")) == (0, [])
    too_many = rf"{re.escape(MORNING)}[0-9]+ files would be written, and {files} are allowed; "
    assert re.search(f"the releases ahead end there: {too_many}", ran.out)
    assert re.search(f"warning: {too_many}", ran.out)
    ran = shopwindow("check", "--content", content, "--at", AT, "--ahead", "0.5", "--format", "lines")
    assert ran.status == 0
    ran = shopwindow("check", "--content", content, "--at", AT, "--ahead", "--format", "lines")
    assert re.search(rf"/content/: {too_many}", ran.out)
    assert (ran.status, "1 problem, " in ran.err, "explains ahead.unbuilt" in ran.err) == (1, True, True)


FAILING = """
from dataclasses import replace
from shopwindow.shop import INTERFACE as SHOP

whole = SHOP.operation["promotions_v2"]

def view(published, call):
    if published.document("promotion", "promoId", 1):
        raise ZeroDivisionError("a fault of the view")
    return whole.source.view(published, call)

own = replace(whole, source=replace(whole.source, view=view))
INTERFACE = replace(SHOP, operations=tuple(own if each is whole else each for each in SHOP.operations))
"""
"""An interface with a view that fails once promotion 1 is live: from the morning of the 25th on."""


@pytest.fixture
def failing(tmp_path: Path) -> dict[str, str]:
    """The environment of a command with that interface."""
    (tmp_path / "failing.py").write_text(FAILING)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    return {"SHOPWINDOW_INTERFACE": "failing:INTERFACE", "PYTHONPATH": path}


def test_an_answer_that_fails_later_is_a_warning_of_a_build_and_the_chain_ends_before_it(
    content: Path, tmp_path: Path, failing: dict[str, str]
) -> None:
    ran = shopwindow("build", "--content", content, "--out", tmp_path, "--at", AT, "--ahead", "30", env=failing)
    assert (ran.status, chain(tmp_path)) == (0, [])
    assert f"the releases ahead end there: {MORNING}promotions_v2: its view failed for " in ran.out
    assert f"warning: {MORNING}promotions_v2: its view failed for " in ran.out
    assert "build again at 2026-11-25 06:00" in ran.out


def test_an_answer_that_fails_later_is_a_problem_of_a_check_ahead(content: Path, failing: dict[str, str]) -> None:
    def check(*more: str) -> Ran:
        return shopwindow("check", "--content", content, "--at", AT, "--format", "lines", *more, env=failing)

    assert (check().status, check("--ahead", "0.5").status) == (0, 0)
    ran = check("--ahead")
    assert (ran.status, "1 problem" in ran.err) == (1, True)
    assert f"/content/: {MORNING}promotions_v2: its view failed for " in ran.out
    assert shopwindow("check", "--content", content, "--at", AT, "--ahead").status == 0  # with the shop's own view


# -- pruning -----------------------------------------------------------------------------------------------------


def test_what_never_became_current_is_no_reason_to_delete_what_was(content: Path, tmp_path: Path) -> None:
    past = built(write(content, {"promotions/2026-11-25.yaml": promotion(1, description="past")}), tmp_path)
    for name in ("one", "two"):
        value = promotion(1, publish={"from": "2026-11-25 06:00"}, description=name)
        built(write(content, {"promotions/2026-11-25.yaml": value}), tmp_path, "--ahead", "30")
    dropped = {link["id"] for link in history(tmp_path)[1]["chain"][1:]} - {link["id"] for link in chain(tmp_path)}
    assert dropped
    lines = (tmp_path / "history.jsonl").read_text()
    (tmp_path / "history.jsonl").write_text(lines.replace('"when":"2026', '"when":"2016'))
    assert shopwindow("prune", "--keep", "3", "--out", tmp_path).status == 0
    left = set(Releases(tmp_path).ids())
    assert past in left
    assert {link["id"] for link in chain(tmp_path)} <= left
    assert not dropped & left


def test_a_check_ahead_of_sound_content_finds_nothing(content: Path) -> None:
    assert shopwindow("check", "--content", content, "--at", AT, "--ahead").status == 0
    assert checked(content).problems == []
