"""Pages that families of the shop have of their own: applications, stores, events and promotions."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import zipcodes
from playwright.sync_api import Browser, expect

from harness.browser import Preview, browser, opened, preview, save
from harness.program import shopwindow
from shopwindow.retail.places.states import STATES, lies_in

SAMPLE = Path(__file__).parent.parent.parent / "content"
AT, INSTANT = "2026-11-23T17:00", "2026-11-23 17:00"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    """A preview of a copy of the sample, which has been released; tests change what no other one reads."""
    folder, out = tmp_path_factory.mktemp("pages") / "content", tmp_path_factory.mktemp("pages") / "dist"
    shutil.copytree(SAMPLE, folder)
    assert shopwindow("build", "--content", folder, "--out", out, "--at", INSTANT).status == 0
    with preview(folder, "--out", str(out)) as started:
        yield started


def test_a_phone_shows_its_sections_in_their_order_and_where_each_value_is_set(
    shown: Preview, chromium: Browser
) -> None:
    with opened(chromium) as page:
        page.goto(f"{shown.address}/applications")
        phone = page.get_by_role("region", name="iphone")
        titles = [text.split("\n") for text in phone.locator(".sections summary").all_inner_texts()]
        assert titles[:3] == [["Shop own", "shop.png"], ["Offers own", "offers.png"], ["Scan own", "scan.png"]]
        phone.locator("summary", has_text="Stores").click()
        stores = phone.locator("li", has=page.locator("summary", has_text="Stores")).locator("ul")
        expect(stores).to_contain_text("larkspur://stores/nearby?radius=M50 apps/iphone.yaml:")
        expect(stores).to_contain_text("own")

        save(shown.folder / "apps/iphone.yaml", "larkspur://stores/nearby?radius=M50", "larkspur://stores/all")
        expect(stores).to_contain_text("larkspur://stores/all")
        expect(stores).to_contain_text("not released yet")
        expect(stores).to_contain_text("before: larkspur://stores/nearby?radius=M50")
        expect(phone.locator("summary", has_text="Stores")).to_contain_text("not released yet")
        expect(phone.locator("summary", has_text="messages.png")).not_to_contain_text("not released yet")


def test_events_of_a_store_are_read_as_its_customers_read_them(shown: Preview, chromium: Browser) -> None:
    with opened(chromium) as page:
        page.goto(f"{shown.address}/events?at={AT}")
        page.get_by_label("Store").fill("4001")
        card = page.get_by_role("article").filter(has_text="The Windows Light Up")
        expect(card).to_contain_text("Mon 23 Nov 2026, 4:30 PM EST")
        expect(card.locator(".state")).to_have_text("live")
        page.get_by_label("State").select_option("to come")
        expect(card).to_have_count(0)
        page.get_by_label("Store").fill("1")
        expect(page.get_by_text("0 events")).to_be_visible()


def test_a_promotion_shows_its_coupon(shown: Preview, chromium: Browser) -> None:
    with opened(chromium) as page:
        page.goto(f"{shown.address}/promotions?at={AT}")
        page.get_by_label("Search").fill("winter pouch")
        expect(page.get_by_role("article")).to_have_count(1)
        expect(page.locator(".coupon")).to_contain_text("POUCH7 400030000312")


def test_stores_within_a_radius_are_in_its_circle_the_nearest_first(shown: Preview, chromium: Browser) -> None:
    with opened(chromium) as page:
        page.goto(f"{shown.address}/stores?at={AT}&near=4001&miles=300")
        names = page.get_by_role("article").get_by_role("heading")
        assert (names.count(), names.first.inner_text().partition(" open")[0]) == (
            page.locator(".point").count(),
            "Foundry Square",
        )
        inside = page.evaluate(
            """() => { const box = document.querySelector(".circle").getBBox();
            return [...document.querySelectorAll(".point")].map(point => point.getBBox()).every(
              one => one.x > box.x && one.y > box.y && one.x < box.x + box.width && one.y < box.y + box.height) }"""
        )
        assert inside is True


def test_a_store_beyond_its_state_stands_out_and_hours_are_those_of_the_chosen_week(
    shown: Preview, chromium: Browser
) -> None:
    with opened(chromium) as page:
        page.goto(f"{shown.address}/stores?at={AT}&q=foundry")
        card = page.get_by_role("article")
        card.locator("summary").click()
        expect(card.get_by_role("row").nth(3)).to_have_text("Thu 26closed")
        expect(card.get_by_role("row").nth(4)).to_have_text("Fri 2705:00 to 23:00")
        file = shown.folder / "stores/foundry-square.yaml"
        save(file, "latitude: 40.7536", "latitude: 47.7536")
        expect(page.locator(".notice.bad")).to_contain_text("Foundry Square lies outside NY")
        save(file, "latitude: 47.7536", "latitude: 40.7536")
        expect(page.locator(".notice.bad")).to_have_count(0)


def test_a_store_is_open_from_its_first_minute_to_its_last_of_the_day(shown: Preview, chromium: Browser) -> None:
    instants = ("11-26T12:00", "11-27T04:59", "11-27T05:00", "11-27T22:59", "11-27T23:00", "11-28T00:30", "11-28T10:00")
    states = []
    with opened(chromium) as page:
        for instant in instants:
            page.goto(f"{shown.address}/stores?at=2026-{instant}&q=foundry")
            states.append(page.get_by_role("article").locator(".state").first.inner_text())
    assert states == ["closed", "closed", "open", "open", "closed", "closed", "open"]


def test_every_zip_code_lies_in_its_state() -> None:
    listed = zipcodes.list_all()  # type: ignore[no-untyped-call]
    places = [place for place in listed if place["state"] in STATES and place["zip_code_type"] != "MILITARY"]
    assert len(places) > 30_000
    outside = {
        (place["state"], place["lat"], place["long"])
        for place in places
        if float(place["lat"] or 0) and not lies_in(place["state"], float(place["lat"]), float(place["long"]))
    }
    assert sorted(outside) == []
