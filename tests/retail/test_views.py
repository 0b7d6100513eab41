"""What each operation answers, as whole values, for a small content (interface 2.1, 2.4, 2.5, W3, W4)."""

from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.content import AT, app, as_value, coupon, event, live, promotion, site, small, store, write
from harness.program import Content
from shopwindow.interface.answering.answer import value_of
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import Refusal
from shopwindow.shop import INTERFACE

Json = Any


def asked(content: Content, target: str, application: str = "phone") -> Json:
    """The value that answers a request."""
    path, _, query = target.partition("?")
    return value_of(bind(Request(path, query), application, INTERFACE), content)


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Content:
    return live(write(tmp_path_factory.mktemp("content"), small()))


def content_with(folder: Path, documents: Mapping[str, Json], at: str = AT) -> Content:
    """A content of a site, an application and what a test is about."""
    return live(write(folder, {"site.yaml": site(), "apps/phone.yaml": app("phone"), **documents}), at)


# -- applications ------------------------------------------------------------------------------------------------


def test_each_application_gets_its_own_configuration_as_written(content: Content) -> None:
    answers = [asked(content, "v2/utility/mobileapp", name) for name in ("phone", "tablet")]
    assert answers == [app("phone")["config"], app("tablet", configVersion="2")["config"]]
    assert [list(answer) for answer in answers] == [list(app("phone")["config"])] * 2


@pytest.mark.parametrize("application", ["unknown", ""])
def test_without_an_application_there_is_no_configuration(content: Content, application: str) -> None:
    with pytest.raises(Refusal) as raised:
        asked(content, "v2/utility/mobileapp", application)
    assert raised.value.code == "no_key"


# -- events ------------------------------------------------------------------------------------------------------


def version_1(id: int, location: int, *attributes: str, link: Json = ()) -> Json:
    named = [{"name": name} for name in attributes or ("SHORT_DESC", "START_TIME", "END_TIME")]
    return {
        "id": id,
        "name": f"Event {id}",
        "locationNumber": location,
        "attributes": {"attribute": named},
        "link": list(link),
    }


def version_2(id: int, store: int, start: str, finish: str, start_time: str, end_time: str) -> Json:
    return {
        "eventId": id,
        "storeId": store,
        "storeNumber": 1000 + store,
        "name": f"Event {id}",
        "shortDesc": f"About {id}",
        "startDate": start,
        "finishDate": finish,
        "attributes": [
            {"name": "SHORT_DESC", "values": [f"About {id}"]},
            {"name": "START_TIME", "values": [start_time]},
            {"name": "END_TIME", "values": [end_time]},
        ],
    }


FIRST = version_2(20, 1, "12/04/2026 05:30 PM", "12/04/2026 07:00 PM", "5:30PM", "7PM")
BOTH_AT_1 = version_2(30, 1, "12/05/2026 10:00 AM", "12/05/2026 12:00 PM", "10AM", "12PM")
BOTH_AT_2 = version_2(30, 2, "12/05/2026 10:00 AM", "12/05/2026 12:00 PM", "10AM", "12PM")
SECOND = version_2(10, 2, "12/06/2026 09:00 AM", "12/06/2026 10:00 AM", "9AM", "10AM")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("storeId=1", [(20, 2001), (30, 2001)]),
        ("storeNumber=1001", [(20, 2001), (30, 2001)]),
        ("locationNumber=2001", [(20, 2001), (30, 2001)]),
        ("storeId=2", [(30, 2002), (10, 2002)]),
        ("storeId=1,2", [(20, 2001), (30, 2001), (30, 2002), (10, 2002)]),
        ("locationNumber=2001,2002", [(20, 2001), (30, 2001), (30, 2002), (10, 2002)]),
        ("storeId=1,2,3", [(20, 2001), (30, 2001), (30, 2002), (10, 2002)]),
        ("storeId=1,2&storeNumber=1002", [(30, 2002), (10, 2002)]),
        ("storeId=1&storeNumber=1001&locationNumber=2001", [(20, 2001), (30, 2001)]),
        ("storeId=1&storeNumber=1002", []),
        ("storeId=3", []),
        ("storeId=1001", []),
    ],
)
def test_events_version_1_of_the_stores_that_are_asked_for(
    content: Content, query: str, found: list[tuple[int, int]]
) -> None:
    assert asked(content, f"store/v1/events?{query}") == {"events": {"event": [version_1(*event) for event in found]}}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("storeId=1", [FIRST, BOTH_AT_1]),
        ("storeNumber=1001", [FIRST, BOTH_AT_1]),
        ("storeNumber=1002", [BOTH_AT_2, SECOND]),
        ("storeId=1,2", [FIRST, BOTH_AT_1, BOTH_AT_2, SECOND]),
        ("storeId=2&storeNumber=1001", []),
        ("storeId=3", []),
    ],
)
def test_events_version_2_of_the_stores_that_are_asked_for(content: Content, query: str, found: list[Json]) -> None:
    assert asked(content, f"v2/store/event?{query}") == {"storeEvents": found, "success": True}


def test_events_stand_by_start_then_id_then_location_number(tmp_path: Path) -> None:
    early, late = ("2026-12-05 10:00", "2026-12-05 11:00"), ("2026-12-05 10:01", "2026-12-05 11:00")
    events = [event(4, [2, 1], *late), event(9, [1, 2], *early), event(3, [2, 1], *early), event(1, [1], *late)]
    stores = [store(1, locationNumber=2009), store(2, locationNumber=2003)]
    content = content_with(tmp_path, {"stores/all.yaml": stores, "events/all.yaml": events})
    found = asked(content, "store/v1/events?storeId=1,2")["events"]["event"]
    assert [(entry["id"], entry["locationNumber"]) for entry in found] == [
        (3, 2003),
        (3, 2009),
        (9, 2003),
        (9, 2009),
        (1, 2009),
        (4, 2003),
        (4, 2009),
    ]


def test_an_event_names_its_stores_by_any_of_their_numbers_and_is_there_once(tmp_path: Path) -> None:
    by_all = event(1, [], "2026-12-05 10:00", "2026-12-05 11:00")
    by_all["stores"] = {"locationNumber": [2001], "storeNumber": [1002, 1001], "storeId": [1]}
    content = content_with(tmp_path, {"stores/all.yaml": [store(1), store(2)], "events/one.yaml": by_all})
    assert asked(content, "store/v1/events?storeId=1,2") == {
        "events": {"event": [version_1(1, 2001), version_1(1, 2002)]}
    }


# The attributes as written, start and finish; then what version 2 tells.
ATTRIBUTES: dict[str, tuple[Json, str, str, Json]] = {
    "nothing is written": (
        {},
        "10:00",
        "17:30",
        {"SHORT_DESC": ["About 1"], "START_TIME": ["10AM"], "END_TIME": ["5:30PM"]},
    ),
    "those written come first": (
        {"WC_EVENT": ["TRUE"], "EVENT_DETAIL_ENABLED": ["FALSE"], "STORE_EVENT_TYPE": ["Bridal", "Registry"]},
        "10:00",
        "11:00",
        {
            "WC_EVENT": ["TRUE"],
            "EVENT_DETAIL_ENABLED": ["FALSE"],
            "STORE_EVENT_TYPE": ["Bridal", "Registry"],
            "SHORT_DESC": ["About 1"],
            "START_TIME": ["10AM"],
            "END_TIME": ["11AM"],
        },
    ),
    "those written stay where they are and as they are": (
        {"END_TIME": ["9PM"], "X": ["y"], "SHORT_DESC": ["Another"], "START_TIME": ["8:15AM"]},
        "10:00",
        "11:00",
        {"END_TIME": ["9PM"], "X": ["y"], "SHORT_DESC": ["Another"], "START_TIME": ["8:15AM"]},
    ),
    "another start leaves the end as it is": (
        {"START_TIME": ["9AM"]},
        "10:00",
        "11:00",
        {"START_TIME": ["9AM"], "SHORT_DESC": ["About 1"], "END_TIME": ["11AM"]},
    ),
    "by appointment has no end": (
        {"START_TIME": ["By Appointment"]},
        "10:00",
        "11:00",
        {"START_TIME": ["By Appointment"], "SHORT_DESC": ["About 1"]},
    ),
    "by appointment may be given an end": (
        {"START_TIME": ["By Appointment"], "END_TIME": ["6PM"]},
        "10:00",
        "11:00",
        {"START_TIME": ["By Appointment"], "END_TIME": ["6PM"], "SHORT_DESC": ["About 1"]},
    ),
    "midnight is 12AM, noon is 12PM": (
        {},
        "00:00",
        "12:00",
        {"SHORT_DESC": ["About 1"], "START_TIME": ["12AM"], "END_TIME": ["12PM"]},
    ),
    "minutes have two digits, hours one": (
        {},
        "00:05",
        "12:30",
        {"SHORT_DESC": ["About 1"], "START_TIME": ["12:05AM"], "END_TIME": ["12:30PM"]},
    ),
    "the hours beside noon": (
        {},
        "11:59",
        "13:00",
        {"SHORT_DESC": ["About 1"], "START_TIME": ["11:59AM"], "END_TIME": ["1PM"]},
    ),
    "the hours beside midnight": (
        {},
        "01:01",
        "23:59",
        {"SHORT_DESC": ["About 1"], "START_TIME": ["1:01AM"], "END_TIME": ["11:59PM"]},
    ),
}


@pytest.mark.parametrize(("written", "start", "finish", "told"), ATTRIBUTES.values(), ids=ATTRIBUTES.keys())
def test_attributes_come_as_written_then_from_the_events_fields(
    tmp_path: Path, written: Json, start: str, finish: str, told: Json
) -> None:
    one = event(1, [1], f"2026-12-05 {start}", f"2026-12-05 {finish}", attributes=written)
    content = content_with(tmp_path, {"stores/one.yaml": store(1), "events/one.yaml": one})
    (version_2,) = asked(content, "v2/store/event?storeId=1")["storeEvents"]
    (version_1,) = asked(content, "store/v1/events?storeId=1")["events"]["event"]
    assert version_2["attributes"] == [{"name": name, "values": values} for name, values in told.items()]
    assert version_1["attributes"] == {"attribute": [{"name": name} for name in told]}


@pytest.mark.parametrize(
    ("local", "told"),
    [
        ("2026-12-05 00:00", "12/05/2026 12:00 AM"),
        ("2026-12-05 00:59", "12/05/2026 12:59 AM"),
        ("2026-12-05 01:00", "12/05/2026 01:00 AM"),
        ("2026-12-05 11:59", "12/05/2026 11:59 AM"),
        ("2026-12-05 12:00", "12/05/2026 12:00 PM"),
        ("2026-12-05 13:05", "12/05/2026 01:05 PM"),
        ("2026-12-05 23:59", "12/05/2026 11:59 PM"),
        ("2028-02-29 09:00", "02/29/2028 09:00 AM"),
    ],
)
def test_version_2_writes_the_local_time_of_the_store(tmp_path: Path, local: str, told: str) -> None:
    here = store(1, timeZone="America/Los_Angeles")
    content = content_with(
        tmp_path, {"stores/one.yaml": here, "events/one.yaml": event(1, [1], local, "2028-03-01 00:00")}
    )
    (found,) = asked(content, "v2/store/event?storeId=1")["storeEvents"]
    assert (found["startDate"], found["finishDate"]) == (told, "03/01/2028 12:00 AM")


def test_links_are_told_by_version_1_and_descriptions_keep_their_lines(tmp_path: Path) -> None:
    links = [{"href": "https://www.shop.example/a", "rel": "details"}, {"href": "https://www.shop.example/b"}]
    text = "One line.\nAnother.\r\n  A third, indented.\n"
    one = event(1, [1], "2026-12-05 10:00", "2026-12-05 11:00", links=links, shortDesc=text)
    content = content_with(tmp_path, {"stores/one.yaml": store(1), "events/one.yaml": one})
    assert asked(content, "store/v1/events?storeId=1") == {"events": {"event": [version_1(1, 2001, link=links)]}}
    (found,) = asked(content, "v2/store/event?storeId=1")["storeEvents"]
    assert (found["shortDesc"], found["attributes"][0]) == (text, {"name": "SHORT_DESC", "values": [text]})


def test_an_event_is_told_at_its_live_stores_while_it_is_live(tmp_path: Path) -> None:
    window = {"from": "2026-11-20", "until": "2026-12-10"}
    opening = store(2, publish={"from": "2026-12-01"})
    both = event(1, [1, 2], "2026-12-05 10:00", "2026-12-05 11:00", publish=window)
    documents = {"stores/all.yaml": [store(1), opening], "events/one.yaml": both}
    told = {}
    for day in ("11-19", "11-20", "11-30", "12-01", "12-10", "12-11"):
        content = content_with(tmp_path / day, documents, f"2026-{day}T00:00:00-05:00")
        found = asked(content, "store/v1/events?storeId=1,2")["events"]["event"]
        told[day] = [entry["locationNumber"] for entry in found]
    assert told == {
        "11-19": [],
        "11-20": [2001],
        "11-30": [2001],
        "12-01": [2001, 2002],
        "12-10": [2001, 2002],
        "12-11": [],
    }


# -- stores ------------------------------------------------------------------------------------------------------


def days(monday: str, count: int = 21) -> list[str]:
    return [(date.fromisoformat(monday) + timedelta(days=number)).isoformat() for number in range(count)]


def hours(days: list[str], told: Mapping[str, tuple[str, str]]) -> list[Json]:
    """One entry a day; ``told`` has the open ones."""
    return [
        {"date": day, "storeopenhour": told[day][0], "storeclosehour": told[day][1]} if day in told else {"date": day}
        for day in days
    ]


DAY = ("10:00", "21:00")
MONDAYS = {"2026-11-23": DAY, "2026-11-30": DAY, "2026-12-07": DAY}


def told_store(number: int, **more: Json) -> Json:
    """A store of the small content as it is told."""
    return {
        "name": f"Store {number}",
        "locationNumber": 2000 + number,
        "storeNumber": 1000 + number,
        "storeId": number,
        "phoneNumber": "212-555-0100",
        "mapUrl": f"https://maps.shop.example/{number}",
        "address": {"line1": "1 Main St", "city": "Boston", "state": "MA", "countryCode": "US", "zipCode": "02116"},
        "location": {"latitude": 42.35, "longitude": -71},
        "features": {"feature": ["HAS_EVENTS"]},
        "attributes": {"attribute": [{"name": "TIMEZONE", "values": ["America/New_York"]}]},
        "schedule": {"workingHours": hours(days("2026-11-23"), MONDAYS)},
        **more,
    }


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("store/v2/stores", [1, 2]),
        ("store/v2/stores/2001", [1]),
        ("store/v2/stores/2002,2001", [1, 2]),
        ("store/v2/stores/2002,2003", [2]),
    ],
)
def test_stores_are_told_by_location_number(content: Content, target: str, found: list[int]) -> None:
    assert asked(content, target) == {"stores": {"store": [told_store(number) for number in found]}}


def test_without_a_store_found_the_array_is_left_out(content: Content, tmp_path: Path) -> None:
    none = content_with(tmp_path, {})
    assert [asked(content, "store/v2/stores/1,2,1001"), asked(none, "store/v2/stores")] == [{"stores": {}}] * 2


def test_a_store_is_told_with_all_that_it_has(tmp_path: Path) -> None:
    full = store(
        1,
        address={**store(1)["address"], "line2": "Level 2"},
        location={"latitude": 40.7536, "longitude": -73.9889},
        features=["RESTAURANT", "BOPS"],
        attributes={"SL_BRIDAL": ["FALSE"], "LANGUAGES": ["English", "Spanish"]},
        timeZone="America/Chicago",
    )
    content = content_with(tmp_path, {"stores/one.yaml": full})
    attributes = {"SL_BRIDAL": ["FALSE"], "LANGUAGES": ["English", "Spanish"], "TIMEZONE": ["America/Chicago"]}
    assert asked(content, "store/v2/stores/2001") == {
        "stores": {
            "store": [
                told_store(
                    1,
                    address={**store(1)["address"], "line2": "Level 2"},
                    location={"latitude": 40.7536, "longitude": -73.9889},
                    features={"feature": ["RESTAURANT", "BOPS"]},
                    attributes={"attribute": [{"name": key, "values": values} for key, values in attributes.items()]},
                )
            ]
        }
    }


@pytest.mark.parametrize(
    ("features", "events", "told"),
    [
        ([], False, {}),
        (["BOPS"], False, {"feature": ["BOPS"]}),
        ([], True, {"feature": ["HAS_EVENTS"]}),
        (["RESTAURANT", "BOPS"], True, {"feature": ["RESTAURANT", "BOPS", "HAS_EVENTS"]}),
    ],
)
def test_has_events_is_worked_out_and_comes_last(tmp_path: Path, features: Json, events: bool, told: Json) -> None:
    at = [1] if events else [2]
    documents = {
        "stores/all.yaml": [store(1, features=features), store(2)],
        "events/one.yaml": event(1, at, "2026-12-05 10:00", "2026-12-05 11:00"),
    }
    (found,) = asked(content_with(tmp_path, documents), "store/v2/stores/2001")["stores"]["store"]
    assert found["features"] == told


def test_has_events_holds_while_an_event_is_live(tmp_path: Path) -> None:
    window = {"from": "2026-11-25", "until": "2026-11-25"}
    documents = {
        "stores/one.yaml": store(1),
        "events/one.yaml": event(1, [1], "2026-12-05 10:00", "2026-12-05 11:00", publish=window),
    }
    told = {}
    for day in (24, 25, 26):
        content = content_with(tmp_path / str(day), documents, f"2026-11-{day}T12:00:00-05:00")
        told[day] = asked(content, "store/v2/stores/2001")["stores"]["store"][0]["features"]
    assert told == {24: {}, 25: {"feature": ["HAS_EVENTS"]}, 26: {}}


def test_a_time_zone_that_is_written_as_an_attribute_stays(tmp_path: Path) -> None:
    one = store(1, attributes={"TIMEZONE": ["Eastern"], "X": ["y"]})
    (found,) = asked(content_with(tmp_path, {"stores/one.yaml": one}), "store/v2/stores")["stores"]["store"]
    told = [{"name": "TIMEZONE", "values": ["Eastern"]}, {"name": "X", "values": ["y"]}]
    assert found["attributes"] == {"attribute": told}


def test_exceptions_replace_the_hours_of_their_day(tmp_path: Path) -> None:
    week = {name: {"open": "10:00", "close": "20:00"} for name in ("tuesday", "thursday", "friday", "saturday")}
    exceptions = [
        {"date": "2026-11-26"},
        {"date": "2026-11-27", "open": "05:00", "close": "23:00"},
        {"date": "2026-12-13", "open": "12:00", "close": "17:00"},
        {"date": "2026-12-14", "open": "12:00", "close": "17:00"},
        {"date": "2026-11-22", "open": "12:00", "close": "17:00"},
    ]
    content = content_with(tmp_path, {"stores/one.yaml": store(1, hours=week, exceptions=exceptions)})
    (found,) = asked(content, "store/v2/stores")["stores"]["store"]
    usual = ("10:00", "20:00")
    assert found["schedule"]["workingHours"] == hours(
        days("2026-11-23"),
        {
            "2026-11-24": usual,
            "2026-11-27": ("05:00", "23:00"),
            "2026-11-28": usual,
            "2026-12-01": usual,
            "2026-12-03": usual,
            "2026-12-04": usual,
            "2026-12-05": usual,
            "2026-12-08": usual,
            "2026-12-10": usual,
            "2026-12-11": usual,
            "2026-12-12": usual,
            "2026-12-13": ("12:00", "17:00"),
        },
    )


def test_a_store_without_hours_is_closed_on_every_day(tmp_path: Path) -> None:
    content = content_with(tmp_path, {"stores/one.yaml": store(1, hours={})})
    (found,) = asked(content, "store/v2/stores")["stores"]["store"]
    assert found["schedule"] == {"workingHours": [{"date": day} for day in days("2026-11-23")]}


@pytest.mark.parametrize(
    ("at", "zone", "monday"),
    [
        ("2026-11-23T00:00:00-05:00", "America/New_York", "2026-11-23"),
        ("2026-11-29T23:59:59-05:00", "America/New_York", "2026-11-23"),
        ("2026-11-30T04:59:59+00:00", "America/New_York", "2026-11-23"),
        ("2026-11-30T05:00:00+00:00", "America/New_York", "2026-11-30"),
        ("2026-11-30T04:59:59+00:00", "UTC", "2026-11-30"),
        ("2026-11-29T15:00:00+00:00", "Asia/Tokyo", "2026-11-30"),
    ],
)
def test_the_days_begin_with_the_monday_of_the_week_in_the_sites_zone(
    tmp_path: Path, at: str, zone: str, monday: str
) -> None:
    documents = {"site.yaml": site(time_zone=zone), "stores/one.yaml": store(1, timeZone="America/Los_Angeles")}
    (found,) = asked(content_with(tmp_path, documents, at), "store/v2/stores")["stores"]["store"]
    assert [entry["date"] for entry in found["schedule"]["workingHours"]] == days(monday)


# -- promotions --------------------------------------------------------------------------------------------------


def told_promotion(id: int, **more: Json) -> Json:
    """A promotion of the small content as it is told."""
    return {
        "promotionName": f"Promotion {id}",
        "description": f"About {id}",
        "global": False,
        "promoId": str(id),
        "promotionType": "PERCENT_OFF",
        "effectiveDay": 9,
        "effectiveMonth": 11,
        "effectiveYear": 2026,
        "expirationDay": 0,
        "expirationMonth": 0,
        "expirationYear": 0,
        "promotionSourceCode": "B",
        **more,
    }


COUPON = {
    "couponUrl": "https://www.shop.example/coupon/4001",
    "couponHeading": "Heading",
    "couponDescription": "About the coupon",
    "couponShortCode": "SHORT",
    "couponNumber": "4001",
    "couponType": "STORE_ONLY",
    "couponEffectiveDay": 10,
    "couponEffectiveMonth": 11,
    "couponEffectiveYear": 2026,
    "couponExpirationDay": 31,
    "couponExpirationMonth": 12,
    "couponExpirationYear": 2026,
    "displayStartDate": "2026-11-10T00:00:00-05:00",
    "displayEndDate": "2026-12-31T23:59:59-05:00",
}
CHRISTMAS_EVE = {"expirationDay": 24, "expirationMonth": 12, "expirationYear": 2026}
FIVE = told_promotion(5, **CHRISTMAS_EVE)
FIVE_WITH_COUPON = told_promotion(5, **CHRISTMAS_EVE, coupon=COUPON)
SEVEN = told_promotion(7)


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("v2/promotions", [FIVE, SEVEN]),
        ("v3/promotions?show=promotions", [FIVE, SEVEN]),
        ("v3/promotions?show=coupons", [FIVE_WITH_COUPON]),
        ("v3/promotions?show=promotions,coupons", [FIVE_WITH_COUPON, SEVEN]),
        ("v3/promotions", [FIVE_WITH_COUPON, SEVEN]),
    ],
)
def test_promotions_are_told_by_id_with_or_without_coupons(content: Content, target: str, found: list[Json]) -> None:
    assert asked(content, target) == {"promotionDetailsResponse": found}


def test_promotions_stand_by_number_not_by_text(tmp_path: Path) -> None:
    content = content_with(tmp_path, {"promotions/all.yaml": [promotion(id) for id in (100, 9, 20)]})
    assert asked(content, "v2/promotions") == {"promotionDetailsResponse": [told_promotion(id) for id in (9, 20, 100)]}


def test_a_promotion_is_told_with_all_that_it_has(tmp_path: Path) -> None:
    texts = {
        "promotionCode": "BOOTS35",
        "promotionCodeIds": ["4410302", "4410303"],
        "promotionSources": ["Newsletter", "App"],
        "legalDisclaimer": "While stocks last.",
        "offerDescription": "$35 off",
    }
    facts = [{"attributeName": "MINIMUM_PURCHASE", "attributeValue": "120"}]
    offer = coupon("4001", couponSubHeading="Below", couponAttributes=facts)
    full = promotion(1, **{"global": True}, **texts, coupon=offer, publish={"from": "2026-11-01"}, singleUse=False)
    content = content_with(tmp_path, {"promotions/one.yaml": full})
    told = {"promotionDetailsResponse": [told_promotion(1, **{"global": True}, **texts)]}
    told_coupon = {**COUPON, "couponSubHeading": "Below", "couponAttributes": facts}
    with_coupon = {"promotionDetailsResponse": [told_promotion(1, **{"global": True}, **texts, coupon=told_coupon)]}
    assert [asked(content, "v2/promotions"), asked(content, "v3/promotions")] == [told, with_coupon]


def test_a_single_use_promotion_is_told_without_a_code(tmp_path: Path) -> None:
    content = content_with(tmp_path, {"promotions/one.yaml": promotion(1, singleUse=True)})
    assert asked(content, "v2/promotions") == {"promotionDetailsResponse": [told_promotion(1)]}


def test_promotions_are_sorted_into_their_categories(tmp_path: Path) -> None:
    site_only = promotion(3, channels=["SITE"], categories=["Shoes", "Home"])
    mobile_only = promotion(1, channels=["MOBILE"], categories=["Home"], coupon=coupon("4001"))
    both = promotion(2, categories=["Bed & Bath"])
    content = content_with(tmp_path, {"promotions/all.yaml": [site_only, mobile_only, both]})
    one, two, three = told_promotion(1, coupon=COUPON), told_promotion(2), told_promotion(3)
    bath = {"fob": "Bed & Bath", "promotions": [two]}
    told = {
        target: asked(content, target)
        for target in (
            "v3/promotions/sorted",
            "v3/promotions/sorted?channel=SITE",
            "v3/promotions/sorted?channel=MOBILE",
        )
    }
    shoes = {"fob": "Shoes", "promotions": [three]}
    groups = {
        "v3/promotions/sorted": [bath, {"fob": "Home", "promotions": [one, three]}, shoes],
        "v3/promotions/sorted?channel=SITE": [bath, {"fob": "Home", "promotions": [three]}, shoes],
        "v3/promotions/sorted?channel=MOBILE": [bath, {"fob": "Home", "promotions": [one]}],
    }
    assert told == {target: {"sortedPromotions": found} for target, found in groups.items()}


def test_without_a_promotion_the_array_is_left_out(tmp_path: Path) -> None:
    none = content_with(tmp_path / "none", {})
    plain = content_with(tmp_path / "plain", {"promotions/one.yaml": promotion(1, channels=["SITE"])})
    targets = ["v2/promotions", "v3/promotions", "v3/promotions?show=promotions", "v3/promotions?show=coupons"]
    answers = [asked(none, target) for target in (*targets, "v3/promotions/sorted")]
    answers += [asked(plain, "v3/promotions?show=coupons"), asked(plain, "v3/promotions/sorted?channel=MOBILE")]
    assert answers == [{}] * 7


def test_a_publish_window_is_never_told(tmp_path: Path) -> None:
    window = {"from": "2026-11-01", "until": "2026-12-31"}
    documents = {
        "stores/one.yaml": store(1, publish=window),
        "events/one.yaml": event(1, [1], "2026-12-05 10:00", "2026-12-05 11:00", publish=window),
        "promotions/one.yaml": promotion(1, publish=window),
    }
    with_windows = content_with(tmp_path / "a", documents)
    for document in documents.values():
        del document["publish"]
    without = content_with(tmp_path / "b", documents)
    assert as_value(with_windows) == as_value(without) | {"published": "2026-11-01T04:00:00.000+00:00"}
