"""A catalog index that is damaged behind a readable header: pages build it again, or say what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.program import shopwindow
from harness.waits import awaited
from shopwindow.preview.pages import ask, catalog
from shopwindow.preview.templates import environment
from shopwindow.preview.visit import Page, Visit
from shopwindow.preview.workspace import Workspace
from shopwindow.shop import INTERFACE

SAMPLE = Path(__file__).parent.parent.parent / "content"
AT = "2026-11-22 09:00"
SEARCH = {"operation": "search", "p.searchphrase": "coat", "send": "1"}
ADVICE = "`shopwindow build --no-cache` writes every file again"
SAID = (
    '<p class="notice" role="status">The cached catalog of the content folder was damaged or deleted, '
    "and has been built again.</p>"
)
PAGES: dict[str, tuple[Callable[[Visit], Page | None], dict[str, str]]] = {
    "/catalog": (catalog.page, {"q": "coat"}),
    "/catalog/explain": (catalog.explanation, {"q": "coat"}),
    "/catalog/explain?count=1": (catalog.explanation, {"count": "1"}),
}


def text(workspace: Workspace, path: str, draw: Callable[[Visit], Page | None], query: dict[str, str]) -> str:
    """The HTML of a page."""
    visit = Visit(workspace, workspace.snapshot, path, {"at": AT, **query})
    page = draw(visit)
    assert page is not None
    values = {"layout": "layout.html", "page_title": page.title, "visit": visit, "snapshot": visit.snapshot, "menu": []}
    return environment().get_template(page.template).render(**page.values, **values)


def until_built(workspace: Workspace, path: str, draw: Callable[[Visit], Page | None], query: dict[str, str]) -> str:
    """The HTML of a page once the catalog of the content folder is there."""

    def built() -> str:
        shown = text(workspace, path, draw, query)
        return "" if "is being built" in shown else shown

    return awaited(built)


def main(shown: str) -> str:
    """A page below its heading, where nothing is about the check."""
    return shown.partition("</h1>")[2].partition("</main>")[0]


def damage(file: Path) -> None:
    """Overwrite the middle of a file, where it is, and leave its header."""
    file.chmod(0o644)
    size = file.stat().st_size
    with open(file, "r+b") as opened:
        opened.seek(size // 4)
        opened.write(b"\xff" * (size // 2))


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("running", [True, False], ids=["while the preview runs", "before it starts"])
def test_a_damaged_index_of_the_cache_is_built_again_and_the_page_says_so(
    tmp_path: Path, path: str, running: bool
) -> None:
    draw, query = PAGES[path]
    workspace = Workspace(INTERFACE, SAMPLE, tmp_path / "dist", tmp_path / "cache")
    intact = until_built(workspace, path, draw, query)
    (file,) = (tmp_path / "cache").glob("*.index")
    workspace = Workspace(INTERFACE, SAMPLE, tmp_path / "dist", tmp_path / "cache")
    if running:
        until_built(workspace, "/catalog", catalog.page, {})
    damage(file)
    first = text(workspace, path, draw, query)
    again = until_built(workspace, path, draw, query)
    assert ("is being built" in first, again.count(SAID), intact.count(SAID)) == (True, 1, 0)
    assert main(again).replace(SAID, "").split() == main(intact).split()


def test_an_answer_waits_until_a_damaged_index_is_built_again(tmp_path: Path) -> None:
    workspace = Workspace(INTERFACE, SAMPLE, tmp_path / "dist", tmp_path / "cache")
    intact = until_built(workspace, "/ask", ask.page, SEARCH)
    (file,) = (tmp_path / "cache").glob("*.index")
    damage(file)
    assert "is being built" in text(workspace, "/ask", ask.page, SEARCH)
    assert "Made from" in until_built(workspace, "/ask", ask.page, SEARCH)
    assert "Made from" in intact


def test_of_a_damaged_index_of_the_release_the_page_says_what_to_do(tmp_path: Path) -> None:
    out = tmp_path / "dist"
    assert shopwindow("build", "--content", SAMPLE, "--out", out, "--at", AT).status == 0
    damage((out / "current").resolve() / "catalog.sqlite")
    for path, (draw, query) in PAGES.items():
        workspace = Workspace(INTERFACE, SAMPLE, out, tmp_path / path.replace("/", "-"))
        shown = text(workspace, path, draw, query)  # the content folder's is being built meanwhile
        assert f"is damaged: database disk image is malformed; {ADVICE}; what was copied here" in shown
        until_built(workspace, path, draw, query)
