"""`diff`: what changes from one release to another, in each format."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from harness.content import Json, write
from harness.program import built, copied, shopwindow
from shopwindow.cli import differences
from shopwindow.library import ReleaseDifference
from shopwindow.release.changes import ValueChange

EVENTS = "events/first.yaml"
NASTY = "All | <b>Windows</b> @everyone `*light*` [up](http://x)"


@pytest.fixture(scope="module")
def event(each: Path) -> Json:
    """An event of the first release, as its file has it."""
    return json.loads((each / EVENTS).read_text())[0]


@pytest.fixture(scope="module")
def releases(each: Path, event: Json, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """Where two releases are, and their ids: the event has another name in the second one."""
    folder = tmp_path_factory.mktemp("shop")
    content, out = copied(each, folder / "content"), folder / "dist"
    _, *others = json.loads((content / EVENTS).read_text())
    write(content, {EVENTS: [{**event, "name": NASTY}, *others]})
    return out, built(each, out), built(content, out)


def diff(releases: tuple[Path, str, str], *options: str) -> str:
    out, first, second = releases
    ran = shopwindow("diff", first, second, "--out", out, *options)
    assert ran.status == 0, ran
    return ran.out


def test_json_holds_each_change_and_the_urls(releases: tuple[Path, str, str], event: Json) -> None:
    value = json.loads(diff(releases, "--format", "json"))
    urls = diff(releases, "--urls").splitlines()
    (change,) = value["changes"]
    assert set(change.pop("urls")) <= set(urls)
    assert (change, value["urls"]) == (
        {"kind": "event", "id": str(event["id"]), "pointer": "name", "old": event["name"], "new": NASTY},
        urls,
    )


def test_markdown_shows_values_as_they_are(releases: tuple[Path, str, str]) -> None:
    printed = diff(releases, "--format", "markdown")
    (row,) = [line for line in printed.splitlines() if line.startswith("| name")]
    assert row.count("|") == 4
    assert not re.search("[<>@`*\\[]", row)
    assert all(f"- `{url}`" in printed for url in diff(releases, "--urls").splitlines())


def test_markdown_fits_into_a_comment() -> None:
    changes = [ValueChange("event", str(number), ("name",), "*" * 500, "!" * 500) for number in range(500)]
    urls = [f"https://api.example/v2/event/{number}" for number in range(10_000)]
    printed = "\n".join(differences.markdown(ReleaseDifference(changes, urls, 60)))
    assert len(printed) < 65_536
    assert "more documents." in printed
    assert "more URLs" in printed


def test_html_is_a_page_by_itself_with_everything_escaped(releases: tuple[Path, str, str]) -> None:
    cells: list[str] = []
    tags: set[str] = set()

    class Cells(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.add(tag)

        def handle_data(self, data: str) -> None:
            cells.append(data.strip())

    Cells().feed(diff(releases, "--format", "html"))
    assert json.dumps(NASTY) in cells
    assert tags.isdisjoint({"b", "script", "link", "img"})
