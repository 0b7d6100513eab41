"""Pages of the preview, in a real browser: load, act, look."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from harness.browser import PATHS, Preview, browser, first_held, fits, holding_back_the_first, opened, preview, save
from harness.content import promotion, small, write
from harness.program import history, shopwindow

SAMPLE = Path(__file__).parent.parent.parent / "content"
EVENT = "events/windows-light-up.yaml"
AT, INSTANT = "2026-11-22T09:00", "2026-11-22 09:00"
LATER_CHECK = re.compile("check [2-9]")
"""Not the first. What is saved just when the watch begins may be checked twice."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Preview]:
    folder = tmp_path / "content"
    shutil.copytree(SAMPLE, folder)
    with preview(folder) as started:
        yield started


def test_what_is_saved_is_on_the_screen_and_a_mistake_leaves_the_last_good_page(
    shown: Preview, chromium: Browser
) -> None:
    with opened(chromium) as page:
        page.goto(f"{shown.address}/documents/event/510101")
        expect(page.get_by_role("heading", level=1)).to_have_text("The Windows Light Up")

        save(shown.folder / EVENT, "The Windows Light Up", "All the Windows Light Up")
        expect(page.get_by_role("heading", level=1)).to_have_text("All the Windows Light Up")

        save(shown.folder / EVENT, "2026-11-23 19:00", "2026-11-23 7pm")
        expect(page.get_by_role("status")).to_contain_text("1 problem. The pages show the content as it was")
        expect(page.get_by_role("heading", level=1)).to_have_text("All the Windows Light Up")

        page.get_by_role("link", name="Problems").click()
        expect(page.locator(".problems h2")).to_have_text(f"{EVENT}:11:9")
        expect(page.locator("pre .here").first).to_contain_text("finish: 2026-11-23 7pm")

        save(shown.folder / EVENT, "2026-11-23 7pm", "2026-11-23 19:30")
        expect(page.locator(".notice.good")).to_have_text(re.compile("in [0-9]+ files"))


def test_the_page_that_is_open_is_in_view_in_the_menu_of_a_phone(shown: Preview, chromium: Browser) -> None:
    with opened(chromium, "phone") as page:
        for name in ("Overview", "Calendar", "Rules"):
            page.goto(f"{shown.address}/{'' if name == 'Overview' else name.lower()}")
            link = page.get_by_role("navigation", name="Pages").get_by_role("link", name=name, exact=True)
            expect(link).to_be_in_viewport(ratio=1)


def test_what_a_person_types_stays_while_a_file_is_saved(shown: Preview, chromium: Browser) -> None:
    with opened(chromium) as page:
        page.goto(f"{shown.address}/compare")
        page.get_by_label("With a git revision").fill("feature/wind")
        save(shown.folder / EVENT, "name: The Windows Light Up", "name: 7")
        expect(page.get_by_role("status").first).to_contain_text("1 problem")
        expect(page.get_by_label("With a git revision")).to_have_value("feature/wind")


def test_what_was_searched_for_stays_found_while_a_file_is_saved(shown: Preview, chromium: Browser) -> None:
    with opened(chromium) as page:
        page.goto(f"{shown.address}/documents/event")
        page.get_by_label("Search", exact=True).fill("coffee roasters")
        expect(page.locator("#entries > p")).to_have_text("1 document")
        save(shown.folder / EVENT, "name: The Windows Light Up", "name: 7")
        expect(page.get_by_role("status").first).to_contain_text("1 problem")
        expect(page.locator("#entries > p")).to_have_text("1 document")
        expect(page.get_by_label("Search", exact=True)).to_have_value("coffee roasters")


def test_the_bar_shows_the_content_of_another_day(shown: Preview, chromium: Browser) -> None:
    with opened(chromium) as page:
        page.goto(f"{shown.address}/documents/banner")
        page.get_by_label("Date and time").fill("2020-01-01T09:00")
        page.get_by_label("Date and time").press("Tab")
        expect(page.locator(".moment")).to_contain_text("Wed 1 Jan 2020, 9:00 AM EST")
        expect(page.locator(".state").first).to_have_text("to come")
        page.get_by_label("Time zone").select_option("America/Los_Angeles")
        expect(page.locator(".moment")).to_contain_text("9:00 AM PST")


@pytest.mark.parametrize("script", [True, False], ids=["with JavaScript", "without"])
def test_a_list_is_searched(shown: Preview, chromium: Browser, script: bool) -> None:
    with opened(chromium, script=script) as page:
        page.goto(f"{shown.address}/documents/event")
        page.get_by_label("Search", exact=True).fill("coffee roasters")
        if not script:
            page.get_by_role("button", name="Search").click()
        expect(page.locator("#entries > p")).to_have_text("1 document")
        page.get_by_role("link", name="Coffee with the Roasters").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Coffee with the Roasters")


@pytest.mark.parametrize(("size", "dark"), [("phone", True), ("desktop", False)], ids=["phone, dark", "desktop, light"])
def test_no_page_is_wider_than_the_screen(sample: Preview, chromium: Browser, size: str, dark: bool) -> None:
    wide = []
    with opened(chromium, size, dark=dark) as page:
        for path in PATHS:
            page.goto(sample.address + path)
            if not fits(page):
                wide.append(path)
    assert wide == []


ODD = "<script>alert(1)</script> 🎄👨‍👩‍👧 " + "schifffahrtsgesellschaft" * 4 + " مرحبا بالعالم שלום"
"""A title with a script, an emoji of several characters, one long word, and letters that run from right to left. Behind
it the sample's event gets U+202E, after which everything runs so."""


@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_whatever_a_title_is_nothing_of_it_runs_and_it_fits(
    tmp_path_factory: pytest.TempPathFactory, chromium: Browser, size: str
) -> None:
    folder, out = tmp_path_factory.mktemp("odd") / "content", tmp_path_factory.mktemp("odd") / "dist"
    shutil.copytree(SAMPLE, folder)
    assert shopwindow("build", "--content", folder, "--out", out, "--at", INSTANT).status == 0
    save(folder / EVENT, "name: The Windows Light Up", f'name: "{ODD}\\u202e"')
    save(folder / "apps/iphone.yaml", "larkspur://shop/home", f"larkspur://{'x' * 300}")
    shown_on = [
        "/documents/event",
        "/documents/event/510101",
        "/events?q=schiff",
        "/calendar?month=2026-11",
        "/compare",
    ]
    asked = "/ask?operation=events_v2&p.storeId=101&send=1"
    dialogs: list[str] = []
    with preview(folder, "--out", str(out)) as shown, opened(chromium, size) as page:
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        for path in [*shown_on, asked, "/applications", "/documents/app/iphone"]:
            page.goto(f"{shown.address}{path}")
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert fits(page), path
            if path in shown_on:
                assert ODD[:20] in (page.locator("main").text_content() or ""), path
    assert dialogs == []


def test_the_slider_is_moved_by_keys_and_keeps_the_focus(sample: Preview, chromium: Browser) -> None:
    with opened(chromium) as page:
        page.goto(f"{sample.address}/documents/event")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        page.get_by_label("Days from today").focus()
        for days in (1, 2):
            page.keyboard.press("ArrowRight")
            expect(page).to_have_url(re.compile(f"day={days}(&|$)"))
            expect(page.locator(".moment")).to_contain_text("12:00 AM")
            assert page.evaluate("document.activeElement.id") == "day"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    """A preview of the sample, with a release of it as it was a day before its first change to come."""
    out = tmp_path_factory.mktemp("preview") / "dist"
    assert shopwindow("build", "--content", SAMPLE, "--out", out, "--at", INSTANT).status == 0
    with preview(SAMPLE, "--out", str(out)) as started:
        yield started


# What a person reaches with the Tab key: each has to show that it has the focus, by an outline that the page draws.
REACHED = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  return {tag: at.tagName, seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0,
          last: document.body === at};
}"""
REACHABLE = """() => [...document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, summary, [tabindex='0']")]
  .filter(one => one.checkVisibility({visibilityProperty: true})).length"""


@pytest.mark.parametrize("path", ["/problems", "/documents/app/iphone", "/stores?q=foundry", "/compare", "/ask"])
def test_all_of_a_page_is_reached_by_keyboard_and_shows_its_focus(
    sample: Preview, chromium: Browser, path: str
) -> None:
    with opened(chromium) as page:
        page.goto(sample.address + path)
        reachable, reached, unseen = page.evaluate(REACHABLE), 0, set()
        while reached < 2 * reachable:
            page.keyboard.press("Tab")
            focus = page.evaluate(REACHED)
            if focus["last"]:
                break
            reached += 1
            if not focus["seen"]:
                unseen.add(focus["tag"])
        # a field for date and time has several parts, each of which takes the key
        assert (reached >= reachable, unseen) == (True, set())


def test_the_calendar_shows_a_month_and_what_happens_there(sample: Preview, chromium: Browser) -> None:
    with opened(chromium) as page:
        page.goto(f"{sample.address}/calendar?month=2026-11")
        page.get_by_role("link", name="November 27, ", exact=False).click()
        there = page.locator("#day-2026-11-27 + ul li", has_text="Black Friday starts at six")
        expect(there).to_contain_text("6:00 AM Black Friday starts at six goes live")
        page.get_by_role("link", name="Next month").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Calendar, December 2026")


def test_what_differs_from_the_release_is_shown_with_its_file_and_urls(tmp_path: Path, chromium: Browser) -> None:
    folder, out = tmp_path / "content", tmp_path / "dist"
    shutil.copytree(SAMPLE, folder)
    assert shopwindow("build", "--content", folder, "--out", out, "--at", INSTANT).status == 0
    with preview(folder, "--out", str(out)) as shown, opened(chromium) as page:
        page.goto(f"{shown.address}/compare?at={AT}")
        expect(page.get_by_text("0 documents differ from release")).to_be_visible()
        save(folder / EVENT, "The Windows Light Up", "All the Windows Light Up")
        expect(page.get_by_text("1 document differs from release")).to_be_visible()
        expect(page.locator("del")).to_have_text("The Windows Light Up")
        expect(page.locator("ins")).to_have_text("All the Windows Light Up")
        line = (folder / EVENT).read_text().split("\n").index("name: All the Windows Light Up") + 1
        expect(page.get_by_role("cell").locator(".file")).to_have_text(f"{EVENT}:{line}")

        page.locator(".purge summary").click()
        shown_urls = page.locator(".purge li").all_inner_texts()
    old = next((out / "releases").iterdir()).name
    assert shopwindow("build", "--content", folder, "--out", out, "--at", INSTANT).status == 0
    assert shown_urls == shopwindow("diff", old, "current", "--out", out, "--urls").out.splitlines()


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Editor", "-c", "user.email=editor@shop.example")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def test_the_working_tree_is_compared_with_a_git_revision(tmp_path: Path, chromium: Browser) -> None:
    folder = tmp_path / "shop" / "content"
    shutil.copytree(SAMPLE, folder)
    git(tmp_path, "init", "-b", "main", "shop")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "As it was")
    (folder / "banners/always.yaml").unlink()
    with preview(folder) as shown, opened(chromium) as page:
        save(folder / EVENT, "The Windows Light Up", "All the Windows Light Up")
        page.goto(f"{shown.address}/compare?at={AT}")
        page.get_by_label("With a git revision").fill("main")
        page.get_by_label("With a git revision").press("Enter")
        expect(page.get_by_text(re.compile("differ from main, commit [0-9a-f]{12}"))).to_be_visible()
        expect(page.locator("ins")).to_have_text("All the Windows Light Up")
        expect(page.locator(".state", has_text="disappears")).not_to_have_count(0)

        for revision, sentence in {
            "nowhere": f"git has no revision nowhere of {folder}.",
            "--output=/tmp/x": "'--output=/tmp/x' is no git revision.",
            "main;ls": f"git has no revision main;ls of {folder}.",
        }.items():
            page.get_by_label("With a git revision").fill(revision)
            page.get_by_role("button", name="Compare").click()
            expect(page.get_by_role("alert")).to_have_text(sentence)


@contextmanager
def comparing_with_main(tmp_path: Path, chromium: Browser) -> Iterator[tuple[Preview, Page]]:
    """A page that compares a content folder with its last commit, from which nothing differs yet."""
    folder = tmp_path / "shop" / "content"
    shutil.copytree(SAMPLE, folder)
    git(tmp_path, "init", "-b", "main", "shop")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "As it was")
    with preview(folder) as shown, opened(chromium) as page:
        page.goto(f"{shown.address}/compare?at={AT}")
        page.get_by_label("With a git revision").fill("main")
        yield shown, page


def test_an_answer_from_before_the_newest_check_does_not_stay(tmp_path: Path, chromium: Browser) -> None:
    with comparing_with_main(tmp_path, chromium) as (shown, page):
        held = holding_back_the_first(page, re.compile("with=main"))
        page.get_by_label("With a git revision").press("Enter")
        route, answer = first_held(page, held)
        save(shown.folder / EVENT, "The Windows Light Up", "All the Windows Light Up")
        expect(page.locator("footer")).to_contain_text(LATER_CHECK)
        route.fulfill(response=answer)
        expect(page.get_by_text(re.compile("1 document differs from main, commit"))).to_be_visible()
        expect(page.locator("ins")).to_have_text("All the Windows Light Up")
        expect(page.locator("footer")).to_contain_text(LATER_CHECK)


def test_an_answer_for_an_address_that_the_browser_has_left_is_not_shown(tmp_path: Path, chromium: Browser) -> None:
    with comparing_with_main(tmp_path, chromium) as (shown, page):
        held = holding_back_the_first(page, re.compile(rf"/compare\?at={re.escape(AT)}$"))
        save(shown.folder / EVENT, "The Windows Light Up", "All the Windows Light Up")
        route, answer = first_held(page, held)
        page.get_by_label("With a git revision").press("Enter")
        expect(page.get_by_text(re.compile("differs from main, commit"))).to_be_visible()
        with page.expect_response(re.compile("with=main")):
            route.fulfill(response=answer)
        expect(page.get_by_text(re.compile("1 document differs from main, commit"))).to_be_visible()
        expect(page.locator("ins")).to_have_text("All the Windows Light Up")


def test_a_revision_may_be_what_all_pages_compare_with(tmp_path: Path, chromium: Browser) -> None:
    folder, out = tmp_path / "shop" / "content", tmp_path / "dist"
    shutil.copytree(SAMPLE, folder)
    git(tmp_path, "init", "-b", "main", "shop")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "As it was")
    save(folder / EVENT, "The Windows Light Up", "All the Windows Light Up")
    assert shopwindow("build", "--content", folder, "--out", out, "--at", INSTANT).status == 0
    save(folder / "apps/iphone.yaml", "larkspur://shop/home", "larkspur://shop/front")
    with preview(folder, "--out", str(out), "--against", "main") as shown, opened(chromium) as page:
        page.goto(f"{shown.address}/compare?at={AT}")
        expect(page.get_by_text(re.compile("2 documents differ from main, commit"))).to_be_visible()
        page.get_by_role("link", name="With the current release").click()
        expect(page.get_by_text(re.compile("1 document differs from release"))).to_be_visible()
        page.goto(f"{shown.address}/documents/event/510101?at={AT}")
        expect(page.get_by_role("row", name="not in main")).to_contain_text("All the Windows Light Up")
        page.goto(f"{shown.address}/applications")
        page.get_by_role("region", name="iphone").locator("summary", has_text="Shop").click()
        expect(page.get_by_role("region", name="iphone")).to_contain_text("own not in main")
        expect(page.get_by_role("region", name="iphone")).to_contain_text("before: larkspur://shop/home")


@pytest.mark.parametrize("form", ["json", "xml"])
def test_an_answer_is_that_of_show(sample: Preview, chromium: Browser, form: str) -> None:
    request = "v2/store/event?storeId=101"
    command = ("show", request, "--content", SAMPLE, "--at", INSTANT, "--format", form)
    said = re.sub(r"\s+", "", shopwindow(*command).out)
    with opened(chromium) as page:
        page.goto(f"{sample.address}/ask?operation=events_v2&as={form}&at={AT}")
        page.get_by_label("storeId").fill("101")
        page.get_by_role("button", name="Ask").click()
        expect(page.get_by_role("heading", name="Answer: 200")).to_be_visible()
        page.wait_for_load_state("load")
        expect(page.get_by_label("The same request for a terminal")).to_contain_text(request)
        assert re.sub(r"\s+", "", page.get_by_label("The answer's body").text_content() or "") == said


@pytest.mark.parametrize("script", [True, False], ids=["with JavaScript", "without"])
def test_beside_an_answer_stand_the_documents_that_it_reads(sample: Preview, chromium: Browser, script: bool) -> None:
    asked = f"{sample.address}/ask?operation=events_v2&p.storeId=101&send=1&at={AT}"
    with opened(chromium, script=script) as page:
        page.goto(asked)
        sources = page.get_by_role("region", name="Made from")
        names = [name.split()[0] for name in sources.get_by_role("heading").all_inner_texts()]
        assert names == ["Made", "site", "store", "event"]
        files = {line.strip() for line in sources.locator("a.file").all_inner_texts()}
        assert {"site.yaml:1", "stores/foundry-square.yaml:1"} <= files

        body = page.get_by_role("region", name="The answer's body")
        folded = body.locator("details:not([open])").first
        first = folded.locator("div.json").first
        expect(first).not_to_be_visible()
        folded.locator("summary").first.press("Enter")
        expect(body.locator("details[open] details[open] details[open] > div.json").first).to_be_visible()


def test_beside_an_answer_of_the_catalog_stand_its_products(sample: Preview, chromium: Browser) -> None:
    with opened(chromium) as page:
        page.goto(f"{sample.address}/ask?operation=search&p.searchphrase=Stride+Running+Tight&send=1&at={AT}")
        sources = page.get_by_role("region", name="Made from")
        expect(sources).to_contain_text("catalog/products/active.yaml:3")


def test_releases_name_the_current_one_and_the_way_back(sample: Preview, chromium: Browser) -> None:
    with opened(chromium) as page:
        page.goto(f"{sample.address}/releases")
        expect(page.get_by_role("row")).to_have_count(2)
        expect(page.get_by_role("row").last).to_contain_text("current")
        expect(page.locator("dl.facts")).to_contain_text("Changes next")


def test_what_was_built_ahead_and_why_it_ends_is_said_on_the_releases_and_on_the_days(
    tmp_path: Path, chromium: Browser
) -> None:
    tomorrow, then = (f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%d}" for days in (1, 2))
    field = {"path": "promotionDetailsResponse[].promoId", "enum": ["1", "5", "7"]}
    reads = {"request": "v3/promotions?show=promotions", "fields": [field]}
    folder = write(
        tmp_path / "content",
        {
            **small(),
            "promotions/one.yaml": promotion(1, publish={"from": tomorrow}),
            "promotions/two.yaml": promotion(2, publish={"from": then}),
            "contracts/phone.yaml": {"app": "phone", "version": "2.0", "reads": [reads]},
        },
    )
    out = tmp_path / "dist"
    assert shopwindow("build", "--content", folder, "--out", out, "--ahead").status == 0
    (link,) = history(out)[-1]["chain"][1:]
    listed = shopwindow("releases", "--out", out)
    assert "the releases ahead end there: " in listed.err
    reason = listed.err.partition("the releases ahead end there: ")[2].strip()
    with preview(folder, "--out", str(out)) as shown, opened(chromium) as page:
        page.goto(f"{shown.address}/releases")
        expect(page.get_by_role("row", name=link["id"][:12])).to_contain_text("ahead, from ")
        expect(page.locator("dl.facts")).to_contain_text("by itself: what follows was built ahead")
        expect(page.locator("dl.facts")).to_contain_text(reason)
        marks = page.locator("nav.days svg a")
        expect(marks.filter(has_text=f"release {link['id'][:12]}, built ahead")).to_have_count(1)
        expect(marks.filter(has_text=reason)).to_have_count(1)

        assert shopwindow("activate", "current", "--out", out).status == 0  # nothing follows what a person chose
        page.goto(f"{shown.address}/releases")
        expect(page.locator("dl.facts")).to_contain_text("at the next build after that")
        expect(page.locator("dl.facts")).not_to_contain_text(reason)
        expect(marks.filter(has_text="built ahead")).to_have_count(0)


def test_an_interface_of_its_own_has_a_preview_too(chromium: Browser) -> None:
    example = SAMPLE.parent / "examples" / "library"
    own = {"SHOPWINDOW_INTERFACE": "library.interface:INTERFACE", "PYTHONPATH": str(example)}
    with preview(example / "content", **own) as shown, opened(chromium) as page:
        page.goto(shown.address)
        page.get_by_role("link", name=re.compile("Readings")).click()
        page.locator("#entries a").first.click()
        expect(page.locator("dl.facts")).to_contain_text("File")
        page.get_by_role("cell").get_by_role("link").first.click()


def test_a_browser_on_another_machine_opens_the_printed_address(chromium: Browser) -> None:
    with preview(SAMPLE, bind="0.0.0.0:0") as shown, opened(chromium, "phone") as page:
        page.goto(shown.address + "/documents/event")
        expect(page.get_by_text("Open the whole address that the preview's terminal prints")).to_be_visible()
        page.goto(shown.address + "/documents/event" + shown.secret)
        expect(page).to_have_url(shown.address + "/documents/event")
        page.get_by_role("link", name="Calendar").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Calendar")
