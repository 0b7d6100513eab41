"""The pages that say how to begin: what their blocks of commands do is what the pages say."""

import re
import shlex
from pathlib import Path

from harness.content import SAMPLE
from harness.program import current, shopwindow

PAGE = SAMPLE.parent / "docs/editors/begin.md"


def block(name: str) -> list[str]:
    """Return the lines of the page's block of commands below a mark."""
    match = re.search(rf"^<!-- {name} -->\n```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert match is not None, name
    return match[1].splitlines()


def typed(lines: list[str], folder: Path) -> Path:
    """Run commands as somebody types them in a folder; return the folder at the end."""
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        if program == "cd":
            folder = folder / arguments[0]
            continue
        assert program == "shopwindow"
        ran = shopwindow(*arguments, cwd=folder)
        assert ran.status == 0, (line, ran)
    return folder


def test_the_commands_of_the_page_begin_a_shop(tmp_path: Path) -> None:
    shop = typed(block("begin"), tmp_path)
    assert shop == tmp_path / "shop"
    assert len(current(shop / "dist")) == 64
    rows = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert {path.name for path in shop.iterdir()} - {"dist"} == {row.rstrip("/") for row in rows}

    typed(block("new"), shop)
    assert (shop / "content/events/2-tree-lighting.yaml").is_file()
    assert (shop / "content/stores/10002-elm-street.yaml").is_file()

    typed(block("editor"), shop)
    assert (shop / ".vscode/settings.json").is_file()


def test_the_readme_that_init_writes_shows_commands_that_exist(tmp_path: Path) -> None:
    shopwindow("init", tmp_path, "--editor", "vscode")
    readme = (tmp_path / "README.md").read_text()
    shown = re.findall(r"(?:^|`)shopwindow ([a-z]+)", readme, re.MULTILINE)
    assert {"check", "build", "preview", "new", "schemas"} <= set(shown)
    for command in set(shown):
        assert shopwindow(command, "--help").status == 0
