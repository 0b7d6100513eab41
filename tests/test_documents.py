"""The documents: links lead to files, the README stays short, tables are those of the program."""

import re
import subprocess
from pathlib import Path

import click
import pytest

from shopwindow import library
from shopwindow.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "SECURITY.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "benchmarks/README.md",
        *ROOT.glob("docs/**/*.md"),
    ]
)
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CALLED = re.compile(r"(?:^|[$/&] ?)shopwindow ([a-z][^\n|>#&]*)", re.MULTILINE)
MOST_LINES, MOST_LINKS = 100, 12
"""Of the README: who comes for the first time reads it to the end, and chooses one of few ways on."""


def prose(page: Path) -> str:
    """Return a page's text without its blocks of code."""
    return CODE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the fragments of a page's headings, as code hosts spell them."""
    kept = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in HEADING.findall(prose(page)))
    return {text.strip().replace(" ", "-") for text in kept}


def broken(page: Path) -> list[str]:
    """Return the relative links of a page that lead to no file, or to no heading of it."""
    wrong = []
    for link in LINK.findall(prose(page)):
        path, _, fragment = link.partition("#")
        target = page.parent / path if path else page
        if re.match(r"[a-z]+:", link):
            continue
        if not target.exists() or (fragment and fragment not in anchors(target)):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("name", NAMES)
def test_every_relative_link_leads_somewhere(name: str) -> None:
    assert broken(ROOT / name) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_picture_says_in_words_what_it_shows(name: str) -> None:
    """That each exists is what the test of links says; tests/slow/test_preview_pictures.py looks at the pictures."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert [path for words, path in re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", text) if len(words.split()) < 5] == []


def test_a_link_that_leads_nowhere_is_recognized(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# One heading\n")
    page = tmp_path / "page.md"
    page.write_text("[a](there.md) [b](there.md#one-heading) [c](gone.md) [d](there.md#no)\n")
    assert broken(page) == ["gone.md", "there.md#no"]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("docs/")])
def test_a_page_of_the_site_links_to_no_page_outside_of_it(name: str) -> None:
    """Sphinx has a page for each Markdown file in docs/, and knows no other."""
    page = ROOT / name
    linked = [(page.parent / link.partition("#")[0]).resolve() for link in LINK.findall(prose(page)) if ".md" in link]
    outside = [path for path in linked if not path.is_relative_to(ROOT / "docs") and path.is_relative_to(ROOT)]
    assert outside == []


def test_every_page_is_linked_from_another() -> None:
    linked = {
        (page.parent / link.partition("#")[0]).resolve() for page in PAGES for link in LINK.findall(prose(page)) if link
    }
    assert [name for name, page in zip(NAMES, PAGES, strict=True) if page not in linked and name != "README.md"] == []


def test_the_readme_is_short() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) <= MOST_LINES
    assert len(re.findall(r"(?<!!)\[[^\]]*\]\(", readme)) <= MOST_LINKS


def test_the_readme_has_one_command_for_each_of_building_and_testing() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for marker in ("main", "tests"):
        assert len(re.findall(rf"^<!-- {marker} -->\n```sh\n[^\n]+\n```$", readme, re.MULTILINE)) == 1


def test_a_decision_has_a_reason() -> None:
    page = (ROOT / "docs/explain/decisions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?!Decision \|)(.*)\|$", page, re.MULTILINE)
    assert len(rows) > 20
    assert [row for row in rows if not all(row.split("|")[:2])] == []


def test_the_modules_to_begin_with_are_ten_and_none_needs_a_later_one() -> None:
    page = (ROOT / "docs/explain/architecture.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| `([a-z_/]+\.py)` \|", page.partition("## Ten modules to begin with")[2], re.MULTILINE)
    assert len(names) == 10
    for place, name in enumerate(names):
        text = (ROOT / "src/shopwindow" / name).read_text(encoding="utf-8")
        later = [f"shopwindow.{after.removesuffix('.py').replace('/', '.')}" for after in names[place + 1 :]]
        assert [module for module in later if f"from {module} import" in text] == [], name


# -- what follows from the program ---------------------------------------------------------------------------------


def commands(group: click.Group, *names: str) -> dict[str, click.Command]:
    """Return every command by its whole name, without groups."""
    listed: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            listed |= commands(command, *names, name)
        elif not command.hidden:
            listed[" ".join((*names, name))] = command
    return listed


def test_the_page_of_configuration_names_every_variable_of_a_command() -> None:
    page = (ROOT / "docs/operate/configure.md").read_text(encoding="utf-8")
    options = [option for command in (main, *commands(main).values()) for option in command.params]
    variables = {option.envvar for option in options if isinstance(option.envvar, str)}
    assert len(variables) > 10
    assert variables - set(re.findall(r"`(SHOPWINDOW_[A-Z_]+)`", page)) == set()


def test_the_page_of_the_library_names_every_function_of_it() -> None:
    page = (ROOT / "docs/reference/library.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z_]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)))
    assert sorted(named) == sorted(name for name in library.__all__ if name.islower())


def blocks(name: str, language: str) -> list[str]:
    """Return a page's blocks of code in a language."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", NAMES)
def test_a_shell_reads_every_block(name: str) -> None:
    for block in blocks(name, "sh"):
        done = subprocess.run(["sh", "-n"], input=block, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), block


def lines(name: str) -> list[str]:
    """Return what follows `shopwindow` wherever a page shows a command: in its blocks and within its sentences."""
    shown = [block for language in ("sh", "console") for block in blocks(name, language)]
    in_blocks = [
        line for block in shown for line in re.findall(r"(?:^|[$/&] ?)shopwindow ([a-z][^\n|>#&]*)", block, re.M)
    ]
    return in_blocks + re.findall(r"`shopwindow ([a-z][^`]*)`", prose(ROOT / name))


def command_of(line: str) -> click.Command | None:
    """Return the command that a line begins with; for the name of a group, any of it."""
    known = commands(main)
    words = line.split()
    return known.get(" ".join(words[:2])) or known.get(words[0])


@pytest.mark.parametrize("name", NAMES)
def test_every_command_and_option_that_a_page_shows_exists(name: str) -> None:
    for line in lines(name):
        command = command_of(line)
        assert command is not None, line
        options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert set(re.findall(r"(?<=[\s\[])--[a-z-]+", line)) - options == set(), line


def test_commands_are_found_in_pages() -> None:
    assert len([line for name in NAMES for line in lines(name)]) > 100
