"""Facts about the rules' pages: each rule has one, each mistake breaks its rule, and each fix breaks none."""

import shutil
import sys
from pathlib import Path

import pytest

from harness.content import ROOT, write_files
from harness.program import Interface, shopwindow
from shopwindow import library
from shopwindow.content.reading import yaml
from shopwindow.content.reading.yaml import Malformed
from shopwindow.content.rules import rule_pages
from shopwindow.content.rules.engine_rules import ENGINE_RULES
from shopwindow.content.rules.rule_pages import RulePage, by_name
from shopwindow.interface.declaring.loading import load
from shopwindow.shop import INTERFACE

sys.path.insert(0, str(ROOT / "examples/library"))
LIBRARY = load("library.interface:INTERFACE")
sys.path.pop(0)

MINIMAL = ROOT / "src/shopwindow/starter/minimal"
ALL = by_name(INTERFACE.pages)
OF_ENGINE = rule_pages.pages_of(rule_pages.ENGINE_PAGES)
OF_FAMILIES = [page for file in INTERFACE.pages for page in rule_pages.pages_of(file)]
IN_NOTICES = [page for page in OF_ENGINE if page.path]
IN_THE_SHOP = [page for page in OF_FAMILIES if page.has_example]
ALONE = [page for page in ALL.values() if page.has_example and not page.path]

NOTICES = yaml.load(Path(__file__).with_name("rule_examples.yaml").read_text(encoding="utf-8"))
"""The files of a content folder that has one collection, of notices: any interface admits it."""

AT = "2026-11-22"
"""The instant of the examples' checks: which windows are past follows from it."""


def names(page: RulePage) -> str:
    return page.name


def rules_broken(folder: Path, interface: Interface = INTERFACE) -> list[str]:
    checked = library.check(interface, folder, at=AT, jobs=1)
    return [problem.rule for problem in (*checked.problems, *checked.warnings)]


def check_example(folder: Path, page: RulePage, interface: Interface) -> None:
    """Check a folder with the fix of a page, and then with its mistake in the same place."""
    write_files(folder, dict(page.beside))
    file = folder / page.path
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    right = before if page.right in before else before + page.right
    if right:
        write_files(folder, {page.path: right})
    assert rules_broken(folder, interface) == []
    wrong = right.replace(page.right, page.wrong, 1) if page.right else before + page.wrong
    write_files(folder, {page.path: wrong})
    assert rules_broken(folder, interface) == [page.name]


@pytest.mark.parametrize("page", IN_NOTICES, ids=names)
@pytest.mark.parametrize("interface", [INTERFACE, LIBRARY], ids=["shop", "library"])
def test_a_mistake_in_a_notice_breaks_its_rule_alone_in_any_interface(
    tmp_path: Path, page: RulePage, interface: Interface
) -> None:
    check_example(write_files(tmp_path, NOTICES), page, interface)


@pytest.mark.parametrize("page", IN_THE_SHOP, ids=names)
def test_a_mistake_in_the_shop_breaks_its_rule_alone(tmp_path: Path, page: RulePage) -> None:
    folder = tmp_path / "content"
    shutil.copytree(MINIMAL, folder)
    check_example(folder, page, INTERFACE)


@pytest.mark.parametrize("page", ALONE, ids=names)
def test_a_yaml_mistake_is_refused_by_its_rule_and_the_fix_is_read(page: RulePage) -> None:
    with pytest.raises(Malformed) as refused:
        yaml.load(page.wrong)
    assert refused.value.rule == page.name
    yaml.load(page.right)


@pytest.mark.parametrize("interface", [INTERFACE, LIBRARY], ids=["shop", "library"])
def test_every_rule_has_a_page(interface: Interface) -> None:
    of_kinds = [rule for kind in interface.kinds for rule in kind.rules]
    rules = (*ENGINE_RULES, *interface.rules, *of_kinds)
    assert {name for rule in rules for name in rule.names} - by_name(interface.pages).keys() == set()


def test_an_interface_without_pages_has_those_of_the_engine() -> None:
    assert LIBRARY.pages == ()
    pages = by_name(LIBRARY.pages)
    assert list(pages) == sorted(names(page) for page in OF_ENGINE)
    assert [name for name in pages if not pages[name].title] == []


def test_a_family_has_examples_of_the_engine_s_rules_and_the_words_are_the_engine_s() -> None:
    in_engine = {page.name: page for page in OF_ENGINE}
    shared = [page for page in OF_FAMILIES if page.name in in_engine]
    assert {page.name for page in shared if page.title or page.why} == set()
    assert {page.name for page in shared if in_engine[page.name].has_example} == set()
    assert ALL["reference"].why == in_engine["reference"].why
    assert ALL["reference"].path == "events/1-open-house.yaml"


WITHOUT_EXAMPLE = {
    *("against.unread", "ahead.unbuilt", "app.TBD", "app.configVersion"),
    *("feed.compressed", "feed.line", "file.name", "table.width"),
    *("schema.false", "schema.other", "schema.size"),
    *("template", "tree.depth", "tree.file", "tree.link", "tree.name", "tree.site", "tree.size", "tree.sparse"),
    *("tree.unreadable", "yaml.encoding"),
}
"""Rules that no small file can show: they are about sizes, names, the file system, other releases, later instants, or
templates.
"""


def test_a_page_has_an_example_or_says_what_to_do() -> None:
    assert {page.name for page in ALL.values() if not page.has_example} == WITHOUT_EXAMPLE
    for interface in (INTERFACE, LIBRARY):
        pages = by_name(interface.pages).values()
        assert [page.name for page in pages if not page.has_example and not page.advice] == []


def test_every_page_has_a_title_and_a_reason_in_sentences() -> None:
    pages = ALL.values()
    assert [page.name for page in pages if not (page.title and page.why)] == []
    assert [page.name for page in pages if page.title.endswith(".") or not page.why.endswith(".")] == []
    assert [page.name for page in pages if page.advice and not page.advice.endswith(".")] == []


def test_the_document_of_all_rules_is_the_one_that_is_written() -> None:
    written = (ROOT / "docs/editors/rules.md").read_text(encoding="utf-8")
    assert written == rule_pages.document(ALL), "shopwindow rule --format markdown > docs/editors/rules.md"


def test_a_page_in_markdown_shows_what_differs_between_the_mistake_and_the_fix() -> None:
    assert rule_pages.markdown(ALL["category.depth"]).count("url:") == 2
    assert "```diff\n--- events/1-open-house.yaml\n" in rule_pages.markdown(ALL["time.order"])
    assert "```yaml\n" in rule_pages.markdown(ALL["price.sale"])  # a file beside it, whole


def test_a_rule_is_explained_and_a_misspelled_one_names_the_nearest() -> None:
    explained = shopwindow("rule", "time.order")
    assert explained.status == 0
    assert explained.out.startswith("time.order: Something ends before it begins.\n")
    assert "Wrong in events/1-open-house.yaml:\n    finish: 2027-05-01 09:00" in explained.out
    advised = shopwindow("rule", "tree.size").out
    assert advised.endswith("\nWhat to do: Split the file, or make it a feed with a document a line.\n")
    beside = shopwindow("rule", "price.sale").out
    assert "With catalog/categories.yaml:\n    - id: 10\n" in beside
    unknown = shopwindow("rule", "time.ordr")
    assert (unknown.status, unknown.out) == (2, "")
    assert "no rule is called 'time.ordr'; `shopwindow rule` lists all; did you mean time.order?" in unknown.err
    listed = shopwindow("rule").out.splitlines()
    assert [line.split()[0] for line in listed] == [*ALL]
