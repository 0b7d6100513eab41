"""The page of the catalog, and the index behind it, which is built while nobody waits."""

import json
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from harness.browser import Preview, browser, first_held, opened, preview, save
from harness.catalogs import CATALOG
from harness.content import documents, live
from harness.program import aged, shopwindow
from harness.waits import PATIENCE, awaited
from shopwindow import library
from shopwindow.preview.index_builds import FILES_KEPT, IndexBuilds, IndexOfTree
from shopwindow.preview.pages.indexes import MAX_PRODUCTS
from shopwindow.problems import Failure
from shopwindow.shop import INTERFACE

SAMPLE = Path(__file__).parent.parent.parent / "content"
PRODUCTS = "catalog/products/active.yaml"
BUTTON = {
    "name": "Button",
    "description": "For a coat.",
    "typeName": "BUTTON",
    "brand": "Harrow & Finch",
    "categories": [111],
    "images": {"primary": "button.jpg"},
    "price": {"regular": 1},
}
AT, INSTANT = "2026-11-22T09:00", "2026-11-22 09:00"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the sample, which has been released to `dist` beside it and changed since."""
    at = tmp_path_factory.mktemp("catalog")
    folder, out = at / "content", at / "dist"
    shutil.copytree(SAMPLE, folder)
    assert shopwindow("build", "--content", folder, "--out", out, "--at", INSTANT).status == 0
    save(folder / PRODUCTS, "name: Stride Running Tight", "name: Gallop Running Tight")
    return at


@pytest.fixture(scope="module")
def shown(released: Path) -> Iterator[Preview]:
    with preview(released / "content", "--out", str(released / "dist")) as started:
        yield started


@pytest.fixture
def fresh(released: Path, tmp_path: Path) -> Iterator[Preview]:
    """A preview that nobody has asked for its catalog, which is built from then on."""
    shutil.copytree(released / "content", tmp_path / "content")
    with preview(tmp_path / "content", "--out", str(released / "dist")) as started:
        yield started


def test_the_release_is_shown_until_the_content_folder_has_an_index(fresh: Preview, chromium: Browser) -> None:
    with opened(chromium) as page:
        answer = page.goto(f"{fresh.address}/catalog?at={AT}&q=running+tight")
        assert answer is not None
        first = answer.text()
        assert "This is release" in first
        assert "Stride Running Tight" in first
        card = page.get_by_role("article").filter(has_text="530100")
        expect(card.get_by_role("heading")).to_have_text("Gallop Running Tight")
        expect(page.get_by_text("This is release")).to_have_count(0)
        expect(card).to_contain_text("Black")
        expect(card).to_contain_text(re.compile(r"\$[0-9]+\.[0-9]{2}"))
        expect(card).to_contain_text(re.compile("can be sent; in [0-9]+ stores?"))
        expect(card.locator("a.file")).to_have_text(f"{PRODUCTS}:3")

        save(fresh.folder / PRODUCTS, "name: Gallop Running Tight", "name: Canter Running Tight")
        expect(card.get_by_role("heading")).to_have_text("Canter Running Tight")
    assert not list(fresh.folder.rglob("*.index"))


def test_what_was_searched_for_stays_found_once_the_index_is_there(fresh: Preview, chromium: Browser) -> None:
    looks: list[Route] = []
    everything = f"/catalog?at={AT}"

    def hold(route: Route) -> None:
        if route.request.is_navigation_request():
            route.continue_()
        else:
            looks.append(route)

    with opened(chromium) as page:
        page.route(re.compile(r"/catalog\?at=[^&]*$"), hold)
        page.goto(fresh.address + everything)
        look = first_held(page, looks)
        page.get_by_label("Search the whole catalog").fill("crewneck")
        expect(page).to_have_url(re.compile("q=crewneck"))
        awaited(lambda: "is being built" not in fresh.get(everything)[1])
        with page.expect_response(re.compile("q=crewneck")):
            look.continue_()
        expect(page.get_by_text("This is release")).to_have_count(0)
        expect(page.get_by_role("article").first).to_contain_text("Crewneck")


def test_a_large_catalog_is_built_and_counted_once_somebody_asks(tmp_path: Path, chromium: Browser) -> None:
    folder = tmp_path / "content"
    shutil.copytree(SAMPLE, folder)
    with open(folder / "catalog/products/many.jsonl", "x", encoding="utf-8") as feed:
        for number in range(MAX_PRODUCTS):
            feed.write(json.dumps(BUTTON | {"id": 900_000 + number}) + "\n")
    with preview(folder, "--out", str(tmp_path / "dist")) as large, opened(chromium, "phone") as page:
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(f"{large.address}/catalog/explain?at={AT}")
        page.get_by_role("button", name="Build their catalog").click()
        page.get_by_role("button", name="Count them").click()
        expect(page.locator("dl.facts dd").first).to_have_text("20,204 active")


def test_what_is_typed_before_the_scripts_are_there_is_searched_for(shown: Preview, chromium: Browser) -> None:
    scripts: list[Route] = []
    with opened(chromium, "phone") as page:
        page.route("**/static/page.js", lambda route: scripts.append(route))
        page.goto(f"{shown.address}/catalog?at={AT}", wait_until="commit")
        page.get_by_label("Search the whole catalog").fill("crewneck")
        expect(page.get_by_role("article").first).not_to_contain_text("Crewneck")
        first_held(page, scripts).continue_()
        expect(page.get_by_role("article").first).to_contain_text("Crewneck")


@pytest.mark.parametrize("script", [True, False], ids=["with JavaScript", "without"])
def test_categories_lead_to_their_products(shown: Preview, chromium: Browser, script: bool) -> None:
    with opened(chromium, "phone", script=script) as page:
        page.goto(f"{shown.address}/catalog?at={AT}")
        tree = page.get_by_role("navigation", name="Categories")
        tree.get_by_role("link", name="Women", exact=True).click()
        tree.get_by_role("link", name="Women's Clothing").click()
        expect(page.locator("#entries > p")).to_contain_text("in Women's Clothing")
        expect(tree.locator("[aria-current]")).to_have_text("Women's Clothing")
        page.get_by_label("Search the whole catalog").fill("wrap coat")
        if not script:
            page.get_by_role("button", name="Search").click()
        expect(page.get_by_role("article").first).to_contain_text("Marlowe Wrap Coat")


@pytest.mark.parametrize("script", [True, False], ids=["with JavaScript", "without"])
def test_a_search_leads_to_why_it_finds_what_it_finds(shown: Preview, chromium: Browser, script: bool) -> None:
    with opened(chromium, "phone", script=script) as page:
        page.goto(f"{shown.address}/catalog?at={AT}&q=do+you+have+wool+coats+for+wmoen")
        page.get_by_role("link", name="Why these, in this order?").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Why this is found")


def test_the_answer_of_a_search_leads_to_its_reasons(shown: Preview, chromium: Browser) -> None:
    with opened(chromium, script=False) as page:
        page.goto(f"{shown.address}/ask?at={AT}&operation=search&p.searchphrase=coat&send=1")
        link = page.get_by_role("link", name="Why these products, in this order?")
        awaited(lambda: link.count() or not page.reload())  # until the catalog is built
        link.click()
        expect(page.get_by_role("article").first).to_contain_text("1. Marlowe Wrap Coat")


def test_the_catalog_leads_to_what_it_has(shown: Preview, chromium: Browser) -> None:
    with opened(chromium, script=False) as page:
        page.goto(f"{shown.address}/catalog?at={AT}")
        page.get_by_role("link", name="What the catalog lacks").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("What the catalog lacks")
        expect(page.get_by_role("navigation", name="Pages").locator("[aria-current]")).to_have_text("Catalog")


def test_every_product_has_a_card(shown: Preview) -> None:
    cards: list[str] = []
    for number in range(1, 20):
        status, text = shown.get(f"/catalog?at={AT}&page={number}")
        assert status == 200
        cards += re.findall('<p class="id">.* ([0-9]+)</p>', text)
    assert (len(cards), len(set(cards))) == (204, 204)


def test_an_answer_waits_for_the_index_that_the_page_builds_and_then_needs_no_other(tmp_path: Path) -> None:
    search = f"/ask?operation=search&p.searchphrase=Running+Tight&send=1&at={AT}"
    with preview(SAMPLE, "--out", str(tmp_path / "dist")) as fresh:
        status, text = fresh.get(search)
        assert (status, "is being built" in text, "Made from" in text) == (200, True, False)
        awaited(lambda: "is being built" not in fresh.get(f"/catalog?at={AT}")[1])
        assert "catalog/products/active.yaml:3" in fresh.get(search)[1]


def test_a_cache_that_is_deleted_meanwhile_is_built_again(tmp_path: Path) -> None:
    """Whoever has a connection to a file that is gone still reads it; a thread without one cannot open it."""
    page = f"/catalog?at={AT}&q=running+tight"
    cache = tmp_path / "cache"
    with preview(SAMPLE, "--out", str(tmp_path / "dist"), XDG_CACHE_HOME=str(cache)) as fresh:
        awaited(lambda: "Stride Running Tight" in fresh.get(page)[1])
        shutil.rmtree(cache)
        with ThreadPoolExecutor(8) as visitors:
            assert {status for status, _ in visitors.map(lambda _: fresh.get(page), range(32))} == {200}
        awaited(lambda: "Stride Running Tight" in fresh.get(page)[1])
        assert "The cached catalog of the content folder was damaged or deleted" in fresh.get(page)[1]
        assert list(cache.rglob("*.index")) != []


# -- the index -------------------------------------------------------------------------


def outcome(
    builds: IndexBuilds, feeds: Any, content: Any, *, is_large: bool = False, requested: bool = False
) -> IndexOfTree:
    """What a build leads to, in the end."""

    def built() -> IndexOfTree | None:
        state = builds.of(feeds, content, "program", lambda feeds: is_large, requested=requested)
        return None if state.is_building else state

    return awaited(built)


def test_many_products_are_indexed_only_on_request(tmp_path: Path) -> None:
    feeds, content = documents(SAMPLE).feeds["catalog"], live(SAMPLE)
    builds = IndexBuilds(CATALOG, tmp_path / "cache")
    assert outcome(builds, feeds, content, is_large=True) == IndexOfTree(is_large=True)
    assert not (tmp_path / "cache").exists()
    assert (
        outcome(builds, feeds, content, is_large=True, requested=True).opened.product(530100)["name"]
        == "Stride Running Tight"
    )
    again = IndexBuilds(CATALOG, tmp_path / "cache")
    assert outcome(again, feeds, content, is_large=True).opened is not None  # the file is there already


def test_a_mistake_in_a_product_leaves_the_catalog_of_the_last_good_check(fresh: Preview) -> None:
    with open(fresh.folder / PRODUCTS, "a", encoding="utf-8") as products:
        products.write("- {\n")
    awaited(lambda: f"{PRODUCTS}:" in fresh.get("/problems")[1])

    def built() -> str:
        text = fresh.get(f"/catalog?at={AT}&q=running+tight")[1]
        return "" if "is being built" in text else text

    text = awaited(built)
    assert ("Gallop Running Tight" in text, "This is release" in text) == (True, False)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_of_ours_ends_one_build_and_no_more(tmp_path: Path) -> None:
    feeds, content = documents(SAMPLE).feeds["catalog"], live(SAMPLE)
    builds = IndexBuilds(CATALOG, tmp_path / "cache")
    assert builds.of(feeds, content, "program", {}.__getitem__, requested=False).is_building
    assert awaited(lambda: outcome(builds, feeds, content).opened) is not None


@pytest.mark.parametrize("changed", [False, True], ids=["nothing changed", "a product changed"])
def test_a_damaged_file_of_the_cache_is_built_again(tmp_path: Path, changed: bool) -> None:
    folder, cache = tmp_path / "content", tmp_path / "cache"
    shutil.copytree(SAMPLE, folder)
    first = IndexBuilds(CATALOG, cache)
    assert outcome(first, documents(folder).feeds["catalog"], live(folder)).opened is not None
    (file,) = cache.iterdir()
    file.write_bytes(b"no catalog")
    if changed:
        save(folder / PRODUCTS, "name: Stride", "name: Gallop")
    again = IndexBuilds(CATALOG, cache)
    built = outcome(again, documents(folder).feeds["catalog"], live(folder))
    assert (built.failure, built.opened.product(530100)["name"][:6]) == ("", "Gallop" if changed else "Stride")
    if not changed:
        assert [path for path in cache.iterdir() if path.read_bytes() == b"no catalog"] == []


def test_a_build_that_fails_is_one_sentence_and_old_files_go(tmp_path: Path) -> None:
    folder, cache = tmp_path / "content", tmp_path / "cache"
    shutil.copytree(SAMPLE, folder)
    builds = IndexBuilds(CATALOG, cache)
    for number in range(FILES_KEPT + 2):
        save(folder / PRODUCTS, "name: Stride", f"name: Stride {number}")
        assert outcome(builds, documents(folder).feeds["catalog"], live(folder)).opened is not None
    assert len(list(cache.iterdir())) == FILES_KEPT

    save(folder / PRODUCTS, "name: Stride", "name: Gallop")
    content, remembered = live(aged(folder)), tmp_path / "memory"
    for _ in range(2):  # the second check knows that nothing is wrong, and the rows of lines are damaged
        checked = library.check(INTERFACE, folder, memory=library.memory_of(INTERFACE, folder, remembered))
        (remembered / "catalog-lines").write_bytes(b"")
    assert checked.documents is not None
    (folder / PRODUCTS).write_text("- {")
    failed = outcome(builds, checked.documents.feeds["catalog"], content)
    changed = "the feeds of the catalog were changed while they were read; try again"
    assert failed == IndexOfTree(failure=str(Failure(changed)))
    assert len(list(cache.iterdir())) == FILES_KEPT
