"""The calendar of content: what happens when, gaps, overlaps, and nothing after."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from harness.content import Document, Documents, Layer
from shopwindow.content.kinds import EACH, Kind, Reference
from shopwindow.content.lookup.calendar import Happening, Stretch, calendar

NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)
DECEMBER = datetime(2026, 12, 1, tzinfo=UTC)


def nine(value: Mapping[str, Any], zone: ZoneInfo) -> Iterator[tuple[str, datetime]]:
    if "day" in value:
        yield "opens", datetime.fromisoformat(f"{value['day']} 09:00").replace(tzinfo=zone).astimezone(UTC)


SHOP = Kind("shop", "shops", "shop.json", ids=("id",), scheduled=False, zone="zone")
SALE = Kind(
    "sale",
    "sales",
    "sale.json",
    ids=("id",),
    title=("name",),
    references=(Reference(("shops", EACH), "shop", "id"),),
    dates=nine,
)
KINDS = (SHOP, SALE)


def of(*sales: dict[str, Any], shops: tuple[dict[str, Any], ...] = ()) -> Documents:
    site = {"time_zone": "UTC"}
    documents = Documents(Document("site", site, (Layer("site.yaml", None, site),)))
    for kind, values in ((SHOP, shops), (SALE, sales)):
        documents.of(kind.name).extend(Document(kind.name, value, ()) for value in values)
    return documents


def window(start: str, until: str) -> dict[str, str]:
    return {"from": f"{start}T00:00:00Z", "until": f"{until}T00:00:00Z"}


def day(number: int) -> datetime:
    return NOVEMBER + timedelta(days=number - 1)


def test_both_ends_of_a_window_happen_in_the_sites_zone() -> None:
    sale = {"id": 1, "name": "Coats", "publish": window("2026-11-05", "2026-11-09")}
    listed = calendar(of(sale), KINDS, NOVEMBER, DECEMBER)
    assert list(listed.happenings) == [
        Happening(day(5), "sale", "1", "Coats", "goes live", "UTC"),
        Happening(day(9), "sale", "1", "Coats", "goes off", "UTC"),
    ]
    assert listed.last == listed.happenings[-1]


def test_the_first_instant_belongs_to_a_calendar_and_the_end_does_not() -> None:
    sale = {"id": 1, "name": "Coats", "publish": window("2026-11-01", "2026-12-01")}
    listed = calendar(of(sale), KINDS, NOVEMBER, DECEMBER)
    assert [each.label for each in listed.happenings] == ["goes live"]
    assert listed.last is not None
    assert listed.last.moment == DECEMBER


def test_a_date_happens_once_in_each_zone_of_the_shops() -> None:
    shops = (
        {"id": 1, "zone": "America/New_York"},
        {"id": 2, "zone": "America/Los_Angeles"},
        {"id": 3, "zone": "America/New_York"},
        {"id": 4, "zone": "America/Chicago"},
    )
    sale = {"id": 7, "name": "Doors", "day": "2026-11-27", "shops": [1, 2, 3]}
    listed = calendar(of(sale, shops=shops), KINDS, NOVEMBER, DECEMBER)
    assert list(listed.happenings) == [
        Happening(day(27) + timedelta(hours=14), "sale", "7", "Doors", "opens", "America/New_York"),
        Happening(day(27) + timedelta(hours=17), "sale", "7", "Doors", "opens", "America/Los_Angeles"),
    ]


@pytest.mark.parametrize("shops", [[], [9]], ids=["no shop", "a shop that there is not"])
def test_a_date_at_no_shop_is_read_in_the_sites_zone(shops: list[int]) -> None:
    sale = {"id": 7, "name": "Doors", "day": "2026-11-27", "shops": shops}
    listed = calendar(of(sale), KINDS, NOVEMBER, DECEMBER)
    assert [(each.moment, each.zone) for each in listed.happenings] == [(day(27) + timedelta(hours=9), "UTC")]


def test_stretches_without_any_and_with_several_at_once_are_named() -> None:
    first = {"id": 1, "name": "Coats", "publish": window("2026-11-05", "2026-11-12")}
    second = {"id": 2, "name": "Boots", "publish": window("2026-11-09", "2026-11-20")}
    listed = calendar(of(first, second), KINDS, NOVEMBER, DECEMBER)
    assert (list(listed.gaps), list(listed.overlaps)) == (
        [Stretch(NOVEMBER, day(5), "sale"), Stretch(day(20), DECEMBER, "sale")],
        [Stretch(day(9), day(12), "sale", ("1", "2"))],
    )


def test_a_kind_of_which_one_is_always_live_has_no_gap() -> None:
    always, sale = {"id": 1, "name": "Always"}, {"id": 2, "name": "C", "publish": window("2026-11-05", "2026-11-12")}
    assert list(calendar(of(always, sale), KINDS, NOVEMBER, DECEMBER).gaps) == []


def test_nothing_is_scheduled_in_content_without_windows_and_dates() -> None:
    listed = calendar(of({"id": 1, "name": "Always"}), KINDS, NOVEMBER, DECEMBER)
    assert (list(listed.happenings), listed.last) == ([], None)


def test_what_reaches_over_the_range_is_cut_off_and_what_only_touches_it_is_not_there() -> None:
    over = {"id": 1, "name": "Coats", "publish": window("2026-10-05", "2026-12-12")}
    ended = {"id": 2, "name": "Boots", "publish": window("2026-10-09", "2026-11-01")}
    to_come = {"id": 3, "name": "Bags", "publish": window("2026-12-01", "2026-12-24")}
    began = {"id": 4, "name": "Hats", "publish": window("2026-10-09", "2026-11-20")}
    listed = calendar(of(over, ended, to_come, began), KINDS, NOVEMBER, DECEMBER)
    assert [(each.id, each.label) for each in listed.happenings] == [("2", "goes off"), ("4", "goes off")]
    assert (list(listed.gaps), list(listed.overlaps)) == ([], [Stretch(NOVEMBER, day(20), "sale", ("1", "4"))])
    assert listed.last is not None
    assert (listed.last.id, calendar(of(over), KINDS, NOVEMBER, DECEMBER, looks_beyond=False).last) == ("3", None)
