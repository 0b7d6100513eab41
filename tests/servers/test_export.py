"""`preview --export`: pages as files, for a pull request."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import expect

from harness.browser import browser, opened, save
from harness.program import shopwindow

SAMPLE = Path(__file__).parent.parent.parent / "content"
EVENT = "events/windows-light-up.yaml"


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Editor", "-c", "user.email=editor@shop.example")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A content folder in git, changed since its one commit."""
    folder = tmp_path / "shop" / "content"
    shutil.copytree(SAMPLE, folder)
    git(tmp_path, "init", "-b", "main", "shop")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "As it was")
    save(folder / EVENT, "The Windows Light Up", "All <b>the</b> Windows Light Up")
    return folder


def test_a_pull_request_gets_pages_that_need_no_preview(changed: Path, tmp_path: Path) -> None:
    pages, out = tmp_path / "pages", tmp_path / "dist"
    options = ("--content", changed, "--out", out, "--export", pages, "--against", "main")
    ran = shopwindow("preview", *options)
    assert (ran.status, set(map(Path, ran.out.split()))) == (0, set(pages.iterdir()))
    texts = "".join(path.read_text() for path in pages.glob("*.html"))
    assert not re.search(r'<script|hx-|vscode:|(href|src|action)="/', texts)
    with browser() as chromium, opened(chromium, "phone") as page:
        page.goto((pages / "index.html").as_uri())
        expect(page.get_by_text(re.compile("(Nothing wrong|No problems) in [0-9]+ files"))).to_be_visible()
        page.get_by_role("link", name="Compare").click()
        expect(page.get_by_text(re.compile("1 document differs from main, commit"))).to_be_visible()
        expect(page.locator("ins")).to_have_text("All <b>the</b> Windows Light Up")
        page.get_by_role("link", name="Calendar").click()
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_contain_text("Calendar")
        first = heading.inner_text()
        page.get_by_role("link", name="Next month").click()
        expect(heading).not_to_have_text(first)
        page.get_by_role("link", name="Previous month").click()
        expect(heading).to_have_text(first)
    assert not out.exists()


def test_content_with_problems_is_exported_too(changed: Path, tmp_path: Path) -> None:
    save(changed / EVENT, "2026-11-23 19:00", "2026-11-23 7pm")
    ran = shopwindow("preview", "--content", changed, "--out", tmp_path / "dist", "--export", tmp_path / "pages")
    assert ran.status == 0
    assert f"{EVENT}:11:9" in (tmp_path / "pages" / "index.html").read_text()


def test_warnings_stand_apart_from_problems(changed: Path, tmp_path: Path) -> None:
    save(changed / EVENT, "All <b>the</b> Windows Light Up", "“All <b>the</b> Windows”")
    ran = shopwindow("preview", "--content", changed, "--out", tmp_path / "dist", "--export", tmp_path / "pages")
    text = (tmp_path / "pages" / "index.html").read_text()
    assert (ran.status, "No problems in " in text) == (0, True)
    before, warnings = text.split('<section class="warnings"')
    assert EVENT not in before
    assert "the curly quotes around “All &lt;b&gt;the&lt;/b&gt; Windows” are part of the value" in warnings
    assert '<p class="rule">text.quotes</p>' in warnings


@pytest.mark.parametrize("more", [(), ("--export", "pages")], ids=["pages", "files"])
def test_a_revision_that_git_does_not_have_is_one_sentence(changed: Path, more: tuple[str, ...]) -> None:
    ran = shopwindow("preview", "--bind", "127.0.0.1:0", "--against", "mian", *more, cwd=changed.parent)
    assert (ran.status, ran.out, ran.err) == (4, "", "shopwindow: git has no revision mian of content\n")
    assert not (changed.parent / "pages").exists()


def test_nothing_is_exported_into_the_content_folder(changed: Path) -> None:
    ran = shopwindow("preview", "--content", changed, "--export", changed / "pages")
    assert (ran.status, "whose every file is content" in ran.err) == (2, True)
    assert not (changed / "pages").exists()
