"""/docs in a real browser: Redoc draws the document and searches in it, under the policy that the page sends."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from harness.browser import SIZES, browser, fits, is_blank
from harness.servers import ADDRESS, Server, own_server


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def server(sample_out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with own_server(tmp_path_factory.mktemp("service"), sample_out, "--workers", "1") as running:
        yield running


@pytest.mark.parametrize("size", SIZES)
def test_redoc_draws_and_searches_every_operation_and_loads_nothing_from_elsewhere(
    server: Server, chromium: Browser, size: str, tmp_path: Path
) -> None:
    width, height = SIZES[size]
    page = chromium.new_page(viewport={"width": width, "height": height})
    complaints: list[str] = []
    reached: set[str] = set()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("response", lambda response: reached.add(response.url.partition("/docs")[0]))

    page.goto(f"http://{ADDRESS}:{server.port}/docs")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Retail Mobile")
    expect(page.get_by_role("heading", name="Bags").first).to_be_attached()
    assert fits(page)
    page.screenshot(path=tmp_path / "page.png")
    assert not is_blank(tmp_path / "page.png")
    assert page.locator("img").count() == 0

    if size == "desktop":  # on a phone the search is behind a button
        page.get_by_placeholder("Search").fill("shopping bag")
        expect(page.get_by_role("menuitem", name=re.compile("Take an item out")).first).to_be_visible()
    page.close()

    address = f"http://{ADDRESS}:{server.port}"
    assert {url for url in reached if not url.startswith((address, "blob:", "data:"))} == set()
    assert complaints == []


def test_without_documentation_the_page_is_an_unknown_path(sample_out: Path, tmp_path: Path) -> None:
    with own_server(tmp_path, sample_out, "--workers", "1", "--no-docs") as silent:
        answers = [silent.ask(path) for path in ("/docs", "/openapi.json", "/nowhere")]
    assert [each.status for each in answers] == [401] * 3
    assert len({each.body for each in answers}) == 1
