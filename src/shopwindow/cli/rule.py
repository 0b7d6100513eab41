"""`rule`: what a rule wants and why, a mistake, and the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from shopwindow.cli.options import format_option, interface
from shopwindow.did_you_mean import suggestion
from shopwindow.problems import Misuse

if TYPE_CHECKING:
    from shopwindow.content.rules.rule_pages import Pages, RulePage

NAME_WIDTH = 28
"""Columns of a rule's name in the list: the longest has 27 characters."""

EXAMPLE_INDENT = "    "

LINE_WIDTH = 80
"""Columns of a sentence: those of the narrowest terminals that people still open."""

_COLORS_OF_PARTS = {"Wrong": "red", "Right": "green"}


@click.command()
@click.argument("name", required=False)
@format_option(
    ["text", "markdown"],
    "For a terminal, or as Markdown: all pages make docs/editors/rules.md.",
)
def rule(name: str | None, form: str) -> None:
    """Say what a rule of `check` wants and why, with a mistake and its fix.

    NAME is the rule's, such as time.order; without it, all rules are listed.
    """
    from shopwindow.content.rules import rule_pages

    pages = rule_pages.by_name(interface().pages)
    if name is None:
        shown = rule_pages.document(pages) if form == "markdown" else _list(pages)
    elif name in pages:
        page = pages[name]
        shown = rule_pages.markdown(page, "#") if form == "markdown" else _page(page)
    else:
        unknown = f"no rule is called {name!r}; `shopwindow rule` lists all"
        raise Misuse("", f"{unknown}{suggestion(name, pages)}")
    click.echo(shown.rstrip("\n"))


def _list(pages: Pages) -> str:
    return "\n".join(
        f"{page.name:<{NAME_WIDTH}}{page.title}" for page in pages.values()
    )


def _page(page: RulePage) -> str:
    """Return a page for a terminal: the name, why, the mistake and the fix."""
    from shopwindow.cli.terminal import styled
    from shopwindow.content.rules import rule_pages

    parts = [f"{styled(page.name, bold=True)}: {page.title}."]
    parts += click.wrap_text(page.why, LINE_WIDTH).splitlines()
    for path, text in page.beside:
        parts += ["", f"With {path}:", *_indented(text)]
    where = f" in {page.path}" if page.path else ""
    for word, text in rule_pages.texts(page):
        parts += ["", f"{word}{where}:" if text else f"{word}{where}: without it"]
        parts += [styled(line, fg=_COLORS_OF_PARTS[word]) for line in _indented(text)]
    if remark := rule_pages.remark(page):
        parts += ["", remark]
    if page.advice:
        advice = f"What to do: {page.advice}"
        parts += ["", *click.wrap_text(advice, LINE_WIDTH).splitlines()]
    return "\n".join(parts)


def _indented(text: str) -> list[str]:
    return [EXAMPLE_INDENT + line for line in text.rstrip().splitlines()]
