"""The pages of docs/: Sphinx builds them without a warning, and they load nothing from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def built(source: Path, target: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(source), str(target)]
    return subprocess.run(command, capture_output=True, text=True)


def test_sphinx_builds_every_page_without_a_warning_and_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    ran = built(DOCS, tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    pages = {page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")}
    assert {page for page in pages if not (tmp_path / page).exists()} == set()
    loaded = re.compile(r'(?:<script|<link|<img|<iframe)[^>]*(?:src|href)="((?:https?:)?//[^"]*)"')
    elsewhere = {
        (str(page), address) for page in pages for address in loaded.findall((tmp_path / page).read_text("utf-8"))
    }
    assert elsewhere == set()


def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    source = tmp_path / "docs"
    source.mkdir()
    (source / "conf.py").write_text((DOCS / "conf.py").read_text())
    (source / "index.md").write_text("# One page\n\n[gone](gone.md)\n")
    ran = built(source, tmp_path / "built")
    assert (ran.returncode, "gone.md" in ran.stderr) == (1, True)
