"""Facts about the rules' pages: each rule has one, each mistake breaks its rule, and each fix breaks none."""

import ast
import re
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
from shopwindow.content.rules.rule_pages import RulePage
from shopwindow.interface.loading import load
from shopwindow.shop import INTERFACE

sys.path.insert(0, str(ROOT / "examples/library"))
LIBRARY = load("library.interface:INTERFACE")
sys.path.pop(0)

MINIMAL = ROOT / "src/shopwindow/starter/minimal"
SOURCE = ROOT / "src/shopwindow"
ALL = library.rule_pages(INTERFACE)
OF_ENGINE = rule_pages.pages_of(rule_pages.ENGINE_PAGES)
OF_FAMILIES = [page for file in INTERFACE.pages for page in rule_pages.pages_of(file)]
IN_NOTICES = [page for page in OF_ENGINE if page.path]
IN_THE_SHOP = [page for page in OF_FAMILIES if page.has_example]
ALONE = [page for page in ALL.values() if page.has_example and not page.path]

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


@pytest.mark.parametrize("interface", [INTERFACE, LIBRARY], ids=["shop", "library"])
@pytest.mark.parametrize("page", IN_NOTICES, ids=names)
def test_a_mistake_in_a_notice_breaks_its_rule_alone_in_any_interface(
    tmp_path: Path, page: RulePage, interface: Interface
) -> None:
    check_example(write_files(tmp_path, dict(rule_pages.folder_of_examples())), page, interface)


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


def rules_in(*folders: str) -> set[str]:
    """Return the names of rules that stand in the source of some packages."""
    paths = (path for folder in folders for path in (SOURCE / folder).rglob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in paths if "rule_pages" not in path.as_posix()]
    return {name for text in texts for name in IN_SOURCE.findall(text) if not NO_RULES.search(name)}


PREFIXES = {name.partition(".")[0] for name in ALL if "." in name}
BARE = ["expression", "reference", "template", "unique"]
IN_SOURCE = re.compile(rf'"((?:{"|".join(sorted(PREFIXES))})\.[a-zA-Z]+|{"|".join(BARE)})"')
NO_RULES = re.compile(r"\.(json|yaml|yml|html|jsonl|sqlite|schemas|py)$")


def test_every_rule_of_the_source_has_a_page() -> None:
    assert rules_in("") - ALL.keys() == set()


def taken(node: ast.AST) -> list[str]:
    """The names of what a function or class takes, in their order."""
    if isinstance(node, ast.FunctionDef):
        return [each.arg for each in node.args.args if each.arg not in ("self", "cls")]
    if isinstance(node, ast.ClassDef):
        made = next((each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
        members = [ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)]
        return taken(made) if made else members
    return []


def called(node: ast.Call) -> str:
    """The name of what is called, without what it is a part of."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def pattern(value: ast.expr, constants: dict[str, str]) -> str:
    """An expression for the texts that a value can be; empty where the source does not say."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return re.escape(value.value)
    if isinstance(value, ast.Name) and value.id in constants:
        return re.escape(constants[value.id])
    if isinstance(value, ast.JoinedStr):
        return "".join(pattern(part, constants) or "[a-zA-Z]+" for part in value.values)
    return ""


SPEAKS_OF_RULES = re.compile(
    r"\b(Finding|Problem|Malformed|Breach)\(|\brule\b.*[:=]|^\w+ = \"[a-z]+\.[a-zA-Z]+\"$", re.MULTILINE
)
"""Only such files are parsed: to parse all takes seconds."""


def rules_given() -> set[tuple[str, str]]:
    """What the source gives to whatever takes a `rule`: the file's name, and an expression for the rule."""
    texts = {str(file.relative_to(SOURCE)): file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py")}
    trees = {file: ast.parse(text) for file, text in texts.items() if SPEAKS_OF_RULES.search(text)}
    parts = (ast.Assign, ast.FunctionDef, ast.ClassDef, ast.Call)
    nodes = [(file, node) for file, tree in trees.items() for node in ast.walk(tree) if isinstance(node, parts)]
    constants: dict[str, str] = {}
    places: dict[str, int] = {}
    for _, node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            constants |= {ast.unparse(target): node.value.value for target in node.targets}
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and "rule" in taken(node):
            places[node.name] = taken(node).index("rule")
    found = set()
    for file, node in nodes:
        if isinstance(node, ast.Call) and (place := places.get(called(node))) is not None:
            values = node.args[place : place + 1] + [each.value for each in node.keywords if each.arg == "rule"]
            found |= {(file, pattern(value, constants)) for value in values}
    # Of functions of one name not all take a rule; a rule's name is one word, or two with a dot.
    return {(file, rule) for file, rule in found if "\\." in rule and " " not in rule}


def test_every_rule_that_a_finding_can_have_has_a_page_whatever_its_name_begins_with() -> None:
    given = rules_given()
    assert len(given) > 80
    assert {(file, rule) for file, rule in given if not any(re.fullmatch(rule, name) for name in ALL)} == set()


def test_an_interface_without_pages_has_one_for_every_rule_of_the_engine() -> None:
    assert LIBRARY.pages == ()
    pages = library.rule_pages(LIBRARY)
    assert rules_in("content", "interface", "service") - pages.keys() == set()
    assert [name for name in pages if not pages[name].title] == []


def test_a_family_has_examples_of_the_engine_s_rules_and_the_words_are_the_engine_s() -> None:
    in_engine = {page.name: page for page in OF_ENGINE}
    shared = [page for page in OF_FAMILIES if page.name in in_engine]
    assert {page.name for page in shared if page.title or page.why} == set()
    assert {page.name for page in shared if in_engine[page.name].has_example} == set()
    assert ALL["reference"].why == in_engine["reference"].why
    assert ALL["reference"].path == "events/1-open-house.yaml"


WITHOUT_EXAMPLE = {
    *("against.unread", "app.TBD", "app.configVersion"),
    *("feed.compressed", "feed.line", "file.name", "table.width"),
    *("schema.false", "schema.other", "schema.size"),
    *("template", "tree.depth", "tree.file", "tree.link", "tree.name", "tree.site", "tree.size", "tree.sparse"),
    *("tree.unreadable", "yaml.encoding"),
}
"""Rules that no small file can show: they are about sizes, names, the file system, other releases, or templates."""


def test_a_page_has_an_example_or_says_what_to_do() -> None:
    assert {page.name for page in ALL.values() if not page.has_example} == WITHOUT_EXAMPLE
    for interface in (INTERFACE, LIBRARY):
        pages = library.rule_pages(interface).values()
        assert [page.name for page in pages if not page.has_example and not page.advice] == []


def test_every_page_has_a_title_and_a_reason_in_sentences() -> None:
    pages = ALL.values()
    assert [page.name for page in pages if not (page.title and page.why)] == []
    assert [page.name for page in pages if page.title.endswith(".") or not page.why.endswith(".")] == []
    assert [page.name for page in pages if page.advice and not page.advice.endswith(".")] == []


def test_the_document_of_all_rules_is_the_one_that_is_written() -> None:
    written = (ROOT / "docs/editors/rules.md").read_text(encoding="utf-8")
    assert written == rule_pages.document(ALL), "shopwindow rule --format markdown > docs/editors/rules.md"


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
    assert "no rule is called 'time.ordr'; did you mean time.order?" in unknown.err
    listed = shopwindow("rule").out.splitlines()
    assert [line.split()[0] for line in listed] == [*ALL]
