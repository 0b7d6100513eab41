"""Facts about the rules' pages: each rule has one, each mistake breaks its rule, and each fix breaks none."""

import re
import shutil
from pathlib import Path

import pytest

from checkout import ROOT
from releases import shopwindow
from shopwindow import library
from shopwindow.content import rule_pages, yaml
from shopwindow.content.rule_pages import RulePage
from shopwindow.content.yaml import Malformed
from shopwindow.shop import INTERFACE

MINIMAL = ROOT / "src/shopwindow/starter/minimal"
SOURCE = ROOT / "src/shopwindow"
ALL = library.rule_pages(INTERFACE)
IN_FILES = [page for page in ALL.values() if page.path]
ALONE = [page for page in ALL.values() if page.wrong and not page.path]


def names(page: RulePage) -> str:
    return page.name


def rules_broken(folder: Path) -> list[str]:
    checked = library.check(INTERFACE, folder)
    return [problem.rule for problem in (*checked.problems, *checked.warnings)]


@pytest.mark.parametrize("page", IN_FILES, ids=names)
def test_the_mistake_of_a_page_breaks_its_rule_alone(tmp_path: Path, page: RulePage) -> None:
    folder = tmp_path / "content"
    shutil.copytree(MINIMAL, folder)
    file = folder / page.path
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    assert page.right in before
    file.parent.mkdir(exist_ok=True)
    file.write_text(before.replace(page.right, page.wrong, 1) if before else page.wrong, encoding="utf-8")
    assert rules_broken(folder) == [page.name]


def test_the_content_with_every_fix_breaks_no_rule() -> None:
    assert rules_broken(MINIMAL) == []


@pytest.mark.parametrize("page", ALONE, ids=names)
def test_a_yaml_mistake_is_refused_by_its_rule_and_the_fix_is_read(page: RulePage) -> None:
    with pytest.raises(Malformed) as refused:
        yaml.load(page.wrong)
    assert refused.value.rule == page.name
    yaml.load(page.right)


PREFIXES = {name.partition(".")[0] for name in ALL if "." in name}
IN_SOURCE = re.compile(rf'"((?:{"|".join(sorted(PREFIXES))})\.[a-zA-Z]+)"')
NO_RULES = re.compile(r"\.(json|yaml|yml|html|jsonl|sqlite|schemas|py)$")


def test_every_rule_of_the_source_has_a_page() -> None:
    named = {
        name
        for path in SOURCE.rglob("*.py")
        for name in IN_SOURCE.findall(path.read_text(encoding="utf-8"))
        if not NO_RULES.search(name)
    }
    assert named - ALL.keys() == set()


def test_every_page_has_a_title_and_a_reason() -> None:
    assert [page.name for page in ALL.values() if not (page.title and page.why)] == []
    assert [page.name for page in ALL.values() if page.title.endswith(".") or not page.why.endswith(".")] == []


def test_the_document_of_all_rules_is_the_one_that_is_written() -> None:
    written = (ROOT / "docs/editors/rules.md").read_text(encoding="utf-8")
    assert written == rule_pages.document(ALL), "shopwindow rule --format markdown > docs/editors/rules.md"


def test_a_rule_is_explained_and_a_misspelled_one_names_the_nearest() -> None:
    explained = shopwindow("rule", "time.order")
    assert explained.status == 0
    assert explained.out.startswith("time.order: Something ends before it begins.\n")
    assert "Wrong in events/1-open-house.yaml:\n    finish: 2027-05-01 09:00" in explained.out
    unknown = shopwindow("rule", "time.ordr")
    assert (unknown.status, unknown.out) == (2, "")
    assert "no rule is called 'time.ordr'; did you mean time.order?" in unknown.err
    listed = shopwindow("rule").out.splitlines()
    assert [line.split()[0] for line in listed] == [*ALL]
