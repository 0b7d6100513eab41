"""A page for each rule of the engine: what it wants and why, a mistake, and the fix.

`check` names the rule of each problem, and the rule leads here. The engine's pages are
in rules.yaml, families' in a file of that name each (`Interface.pages`); all become the
commands' answers, docs/editors/rules.md and the preview's pages. The engine's examples
are notices: a collection, which any interface admits. A test checks every example: the
mistake is a problem or a warning of this very rule, and the fix is none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import unified_diff
from functools import cache
from pathlib import Path

from shopwindow.content.reading import yaml


@dataclass(frozen=True)
class RulePage:
    """What there is to know about one rule.

    ``title``: what is wrong, in a few words. ``why``: a sentence or two; a family that
    only has an example of an engine's rule leaves both out. ``wrong`` and ``right``:
    the mistake and the fix, as a part of the file ``path``: of the file that the
    example's folder has, at its end if ``right`` is not in it yet. Without a path, they
    are a whole YAML file of any kind. ``beside``: other files of the example, each with
    its path and text. ``advice``: what to do where no file shows the mistake or the
    fix: the rule is about names of files, or about sizes.
    """

    name: str
    title: str = ""
    why: str = ""
    wrong: str = ""
    right: str = ""
    path: str = ""
    beside: tuple[tuple[str, str], ...] = ()
    advice: str = ""

    @property
    def has_example(self) -> bool:
        """Whether the page shows a mistake: leaving something out may be one."""
        return bool(self.wrong or self.right)


@cache
def pages_of(file: Path) -> tuple[RulePage, ...]:
    """Return the pages in a file: a list in YAML, each with the names of RulePage."""
    return tuple(
        RulePage(**{**page, "beside": tuple(page.get("beside", {}).items())})
        for page in yaml.load(file.read_text(encoding="utf-8"))
    )


ENGINE_PAGES = Path(__file__).with_name("rules.yaml")
"""The engine's pages. Families show those in their documents that need a kind which no
collection can be: layered, grouped, referred to.
"""


Pages = Mapping[str, RulePage]
"""Pages by the names of their rules, in their order."""


def by_name(files: Iterable[Path]) -> Pages:
    """Return the engine's pages and those in families' ``files``, by name.

    A family's page of an engine's rule takes its place. Where it has no title, it is an
    example in the family's documents, and the engine's words stay.
    """
    by_rule = {page.name: page for page in pages_of(ENGINE_PAGES)}
    for page in (page for file in files for page in pages_of(file)):
        if not page.title:
            words = by_rule[page.name]
            page = replace(page, title=words.title, why=words.why)
        by_rule[page.name] = page
    return dict(sorted(by_rule.items()))


def document(pages: Pages) -> str:
    """Return all pages as one Markdown document: docs/editors/rules.md."""
    parts = (_INTRODUCTION, *map(markdown, pages.values()))
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
# Rules

What each rule of `shopwindow check` wants, why, and what mends a mistake: lines with `-` are wrong, those with `+` are
right. `shopwindow rule NAME` prints one of these pages.

Rules that hold for documents of every kind are shown with notices: a collection with an id, a title and
some more properties."""


def markdown(page: RulePage, heading: str = "##") -> str:
    """Return a page as Markdown, with the rule's name as its heading."""
    parts = [f"{heading} {page.name}", f"{page.title}. {page.why}"]
    for path, text in page.beside:
        parts += [f"With `{path}`:", _block(text, path)]
    shown = texts(page)
    if len(shown) == 1:
        parts.append(_block(page.wrong, page.path))
    elif shown:
        parts.append(_change(page))
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
    is_example = page.path.startswith("notices")
    return "Notices stand for documents of any kind." if is_example else ""


def _change(page: RulePage) -> str:
    """Return what turns the mistake into the fix, with two lines before and after."""
    wrong, right = page.wrong.splitlines(), page.right.splitlines()
    lines = list(unified_diff(wrong, right, n=2, lineterm=""))
    headings = 3  # two names of files, and where the first part stands
    shown = [" …" if line.startswith("@@") else line for line in lines[headings:]]
    file = [f"--- {page.path}"] if page.path else []
    return "\n".join(("```diff", *file, *shown, "```"))


def _block(text: str, path: str) -> str:
    language = "json" if path.endswith((".json", ".jsonl")) else "yaml"
    return f"```{language}\n{text.rstrip()}\n```"
