"""A page for each rule of the engine: what it wants and why, a mistake, and the fix.

`check` names the rule of each problem, and the rule leads here. Families have pages of
their own, in their packages (`Interface.pages`); both become the commands' answers,
docs/editors/rules.md and the preview's pages. The engine's examples are notices: a
collection, which any interface admits (FOLDER_OF_EXAMPLES). A test checks every example: the
mistake is a problem or a warning of this very rule, and the fix is none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from shopwindow.content.rule_pages.declared import DECLARATION_PAGES
from shopwindow.content.rule_pages.documents import DOCUMENT_PAGES
from shopwindow.content.rule_pages.folders import FOLDER_PAGES
from shopwindow.content.rule_pages.notices import FOLDER_OF_EXAMPLES
from shopwindow.content.rule_pages.page import RulePage
from shopwindow.content.rule_pages.schemas import SCHEMA_PAGES
from shopwindow.content.rule_pages.syntax import YAML_PAGES
from shopwindow.content.rule_pages.warnings import WARNING_PAGES

__all__ = [
    "ENGINE_PAGES",
    "FOLDER_OF_EXAMPLES",
    "Pages",
    "RulePage",
    "by_name",
    "document",
    "markdown",
    "remark",
    "texts",
]

ENGINE_PAGES = (
    *YAML_PAGES,
    *SCHEMA_PAGES,
    *FOLDER_PAGES,
    *DOCUMENT_PAGES,
    *DECLARATION_PAGES,
    *WARNING_PAGES,
)
"""The engine's pages. Families show those in their documents that need a kind which no
collection can be: layered, grouped, referred to.
"""

Pages = Mapping[str, RulePage]
"""Pages by the names of their rules, in their order."""


def by_name(pages: Iterable[RulePage]) -> Pages:
    """Return the engine's pages and those of families, by name.

    A family's page of an engine's rule takes its place. Where it has no title, it is an
    example in the family's documents, and the engine's words stay.
    """
    by_rule = {page.name: page for page in ENGINE_PAGES}
    for page in pages:
        by_rule[page.name] = page if page.title else _shown_by(by_rule[page.name], page)
    return dict(sorted(by_rule.items()))


def _shown_by(page: RulePage, example: RulePage) -> RulePage:
    return replace(example, title=page.title, why=page.why)


def document(pages: Pages) -> str:
    """Return all pages as one Markdown document: docs/editors/rules.md."""
    files = "\n\n".join(
        f"`{path}`:\n\n{_block(text, path)}"
        for path, text in FOLDER_OF_EXAMPLES.items()
    )
    parts = (_INTRODUCTION, *map(markdown, pages.values()), _FOLDER_SECTION, files)
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
# Rules

What each rule of `shopwindow check` wants, why, a mistake, and the fix. `shopwindow rule NAME` prints one of these
pages, and the preview leads from each problem to its page. `shopwindow rule --format markdown` writes this file.

Rules that hold for documents of every kind are shown with notices, a collection that
[the end of this page](#the-notices-of-the-examples) has in full."""


_FOLDER_SECTION = """\
## The notices of the examples

A content folder with one collection. Examples in `notices/`, `collections.yaml` and `schemas/` are parts of it."""


def markdown(page: RulePage, heading: str = "##") -> str:
    """Return a page as Markdown, with the rule's name as its heading."""
    parts = [f"{heading} {page.name}", f"{page.title}. {page.why}"]
    for path, text in page.beside:
        parts += [f"With `{path}`:", _block(text, path)]
    where = f" in `{page.path}`" if page.path else ""
    for word, text in texts(page):
        parts.append(f"{word}{where}:" if text else f"{word}{where}: without it.")
        parts += [_block(text, page.path)] if text else []
    parts += [f"What to do: {page.advice}"] if page.advice else []
    return "\n\n".join(parts)


def texts(page: RulePage) -> list[tuple[str, str]]:
    """Return the mistake and the fix, each with its heading; empty text: without it.

    Where the fix is no text, but advice, the mistake stands alone.
    """
    if not page.has_example:
        return []
    right = [("Right", page.right)] if page.right or not page.advice else []
    return [("Wrong", page.wrong), *right]


def remark(page: RulePage) -> str:
    """Return what a reader has to know about the example of a single page; "" if nothing."""
    return REMARK if page.path.startswith("notices") else ""


def _block(text: str, path: str) -> str:
    language = "json" if path.endswith((".json", ".jsonl")) else "yaml"
    return f"```{language}\n{text.rstrip()}\n```"


REMARK = "Notices stand for documents of any kind."
