"""Facts about time: which instant a text means, and which documents are live when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.content import Document, Documents, Layer, as_value
from harness.program import Content
from shopwindow.content.documents import documents as content_documents
from shopwindow.content.documents import schedule
from shopwindow.content.documents.schedule import END, Window
from shopwindow.content.kinds import Kind
from shopwindow.retail.places import distance as geo
from shopwindow.retail.storefront import days as days_shown
from shopwindow.shop import INTERFACE

NEW_YORK = "America/New_York"

# A text, its zone, and the instant that it means as a beginning, as an end.
INSTANTS: list[tuple[str, str, str, str]] = [
    ("2026-11-27T06:00:00-05:00", "Asia/Tokyo", "2026-11-27T11:00:00", "2026-11-27T11:00:00"),
    ("2026-11-27T06:00:00.25Z", NEW_YORK, "2026-11-27T06:00:00.250000", "2026-11-27T06:00:00.250000"),
    ("2026-11-27 06:00", NEW_YORK, "2026-11-27T11:00:00", "2026-11-27T11:00:00"),
    ("2026-07-04 06:00", NEW_YORK, "2026-07-04T10:00:00", "2026-07-04T10:00:00"),
    # a bare day is its first instant, or the end of the day
    ("2026-11-27", NEW_YORK, "2026-11-27T05:00:00", "2026-11-28T05:00:00"),
    ("2026-12-31", NEW_YORK, "2026-12-31T05:00:00", "2027-01-01T05:00:00"),
    ("2028-02-28", "UTC", "2028-02-28T00:00:00", "2028-02-29T00:00:00"),
    # of 23 hours and of 25
    ("2027-03-14", NEW_YORK, "2027-03-14T05:00:00", "2027-03-15T04:00:00"),
    ("2027-11-07", NEW_YORK, "2027-11-07T04:00:00", "2027-11-08T05:00:00"),
    # a time that occurs twice is the first of them
    ("2027-11-07 01:30", NEW_YORK, "2027-11-07T05:30:00", "2027-11-07T05:30:00"),
    ("2027-11-07 02:00", NEW_YORK, "2027-11-07T07:00:00", "2027-11-07T07:00:00"),
    ("2027-03-14 01:59", NEW_YORK, "2027-03-14T06:59:00", "2027-03-14T06:59:00"),
    ("2027-03-14 03:00", NEW_YORK, "2027-03-14T07:00:00", "2027-03-14T07:00:00"),
    # a zone behind it counts instead; the hour may have one digit
    ("2026-11-27 06:00 America/Los_Angeles", NEW_YORK, "2026-11-27T14:00:00", "2026-11-27T14:00:00"),
    ("2026-11-27 6:00 America/Los_Angeles", NEW_YORK, "2026-11-27T14:00:00", "2026-11-27T14:00:00"),
    ("2026-11-27 6:00", NEW_YORK, "2026-11-27T11:00:00", "2026-11-27T11:00:00"),
    ("2026-11-27 America/Los_Angeles", NEW_YORK, "2026-11-27T08:00:00", "2026-11-28T08:00:00"),
    ("2026-11-27 06:00 UTC", NEW_YORK, "2026-11-27T06:00:00", "2026-11-27T06:00:00"),
    ("2027-03-14 02:30 America/Phoenix", NEW_YORK, "2027-03-14T09:30:00", "2027-03-14T09:30:00"),
    ("2027-11-07 00:59 America/New_York", "UTC", "2027-11-07T04:59:00", "2027-11-07T04:59:00"),
    ("2027-11-07 02:00 America/New_York", "UTC", "2027-11-07T07:00:00", "2027-11-07T07:00:00"),
    ("2027-11-07 America/New_York", "UTC", "2027-11-07T04:00:00", "2027-11-08T05:00:00"),
    # where the clock jumps over midnight, the day begins at the jump
    ("2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00", "2018-11-05T02:00:00"),
    ("2018-11-03", "America/Sao_Paulo", "2018-11-03T03:00:00", "2018-11-04T03:00:00"),
    # where midnight occurs twice, with the first
    ("2020-11-01", "America/Havana", "2020-11-01T04:00:00", "2020-11-02T05:00:00"),
]


@pytest.mark.parametrize(("text", "zone", "start", "end"), INSTANTS)
def test_which_instant_a_text_means(text: str, zone: str, start: str, end: str) -> None:
    where = schedule.zone(zone)
    assert schedule.instant(text, where).replace(tzinfo=None).isoformat() == start
    assert schedule.instant(text, where, ends=True).replace(tzinfo=None).isoformat() == end


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-29",
        "2026-02-29 10:00",
        "2026-02-29T10:00:00Z",
        "2026-11-31",
        "2027-03-14 02:00",
        "2027-03-14 02:59",
        "2026-11-27T06:00:00",  # in whose zone?
        "2026-11-27 24:00",
        "2026-11-27 06:00 America/Boston",
        "2026-11-27 06:00 store",
        "2026-11-27 06:00  UTC",
        "2026-11-27T06:00:00Z UTC",
        "2027-03-14 02:30 America/Chicago",
        "",
    ],
)
def test_what_does_not_exist_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        schedule.instant(text, schedule.zone(NEW_YORK))


@pytest.mark.parametrize("text", ["soon", "27.11.2026", "2026-13-40", "2026-13-40 06:00", "2026-11-27 06:60"])
def test_what_no_calendar_has_is_said_in_our_words(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^'{text}' does not exist in the calendar$"):
        schedule.instant(text, schedule.zone(NEW_YORK))


ZONES = st.sampled_from([*schedule.zone_names()])
MINUTES = st.datetimes(datetime(1973, 1, 1), datetime(2037, 12, 31)).map(lambda at: at.replace(second=0, microsecond=0))


@given(ZONES, MINUTES, st.booleans())
def test_a_minute_on_the_clocks_of_a_zone_is_read_back(name: str, at: datetime, two_digits: bool) -> None:
    """Unless it occurs twice there: then its two instants are named."""
    where = schedule.zone(name)
    local = at.replace(tzinfo=UTC).astimezone(where)
    text = f"{local:%Y-%m-%d} {local.hour:{'02' if two_digits else ''}}:{local:%M} {name}"
    try:
        assert schedule.instant(text, schedule.zone("UTC")) == local
    except schedule.OccursTwice as twice:
        both = [schedule.instant(instant, where) for instant in (twice.first, twice.second)]
        assert local.astimezone(UTC) in both
        assert both[0] < both[1]
        assert {f"{instant.astimezone(where):%Y-%m-%d %H:%M}" for instant in both} == {f"{local:%Y-%m-%d %H:%M}"}


@given(MINUTES)
def test_an_hour_has_two_digits_and_nothing_else_changes(at: datetime) -> None:
    for day in ("", "2026-11-27 "):
        for zone in ("", " store", " America/New_York"):
            assert schedule.full_clock(f"{day}{at.hour}:{at:%M}{zone}") == f"{day}{at:%H:%M}{zone}"
            assert schedule.full_clock(f"{day}{at:%H:%M}{zone}") == f"{day}{at:%H:%M}{zone}"


@pytest.mark.parametrize("text", ["9", "9:0", "9:60", "9am", "19:00:00", "at 9:00", "2026-11-27", "2026-11-27T9:00"])
def test_what_is_no_time_of_day_stays_as_it_is(text: str) -> None:
    assert schedule.full_clock(text) == text


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Los_Angeles", "America/Los_Angeles"),
        ("america/new_york", NEW_YORK),
        ("America/New_Yrok", NEW_YORK),
        ("EDT", NEW_YORK),
        ("Pacific", "America/Los_Angeles"),
        ("stor", "store"),
        ("qqq", ""),
    ],
)
def test_the_zone_that_was_meant(name: str, near: str) -> None:
    assert schedule.nearest_zone(name, ["store"]) == near


@pytest.mark.parametrize("name", ["America/Boston", "America", "", "/etc/localtime", "UTC\0", "tzdata.zi"])
def test_a_zone_is_one_of_the_iana_database(name: str) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        schedule.zone(name)


@pytest.mark.parametrize(
    ("offset", "within"), [(-1, False), (0, True), (1, True), (59, True), (60, False), (61, False)]
)
def test_a_window_is_half_open(offset: int, within: bool) -> None:
    start = datetime(2026, 11, 27, tzinfo=UTC)
    window = Window(start, start + timedelta(seconds=60))
    assert (start + timedelta(seconds=offset) in window) == within


# -- content at an instant ---------------------------------------------------------------------------------------


def document(kind: str, **value: Any) -> Document:
    return Document(kind, value, (Layer(f"{kind}s/one.yaml", None, value),))


def documents(*stores: Any, zone: str = NEW_YORK, **kinds: list[Document]) -> Documents:
    """Documents with these stores, each given by its publish window."""
    site = document("site", time_zone=zone, lifetimes={"default": {"maxAge": 60}, "stores": {"maxAge": 9}})
    made = [
        document("store", storeId=number, storeNumber=number * 10, locationNumber=1000 - number)
        if window is None
        else document("store", storeId=number, storeNumber=number * 10, locationNumber=1000 - number, publish=window)
        for number, window in enumerate(stores, 1)
    ]
    return Documents(site, {"store": made, **kinds})


def live_at(documents: Documents, at: datetime) -> Content:
    return content_documents.live(documents, at, INTERFACE.kinds, INTERFACE.clocks)


def boundaries(documents: Documents) -> list[datetime]:
    return content_documents.boundaries(documents, INTERFACE.kinds)


def next_change(documents: Documents, at: datetime) -> datetime:
    return schedule.next_change(boundaries(documents), INTERFACE.clocks, documents.zone, at)


def moment(text: str) -> datetime:
    return schedule.instant(text, schedule.zone(NEW_YORK))


def test_content_is_what_is_live_in_a_stated_order_without_its_windows() -> None:
    live = live_at(
        documents(
            None,
            {"from": "2026-11-27"},
            {"until": "2026-11-26"},
            {"from": "2026-11-27 00:01"},
            app=[document("app", name="b"), document("app", name="a")],
            event=[document("event", id=7), document("event", id=5, publish={"from": "2026-01-01"})],
            promotion=[document("promotion", promoId=10), document("promotion", promoId=9)],
        ),
        moment("2026-11-27"),
    )
    assert as_value(live) == {
        "monday": "2026-11-23",
        "published": "2026-11-27T05:00:00.000+00:00",
        "site": {"time_zone": NEW_YORK, "lifetimes": {"default": {"maxAge": 60}, "stores": {"maxAge": 9}}},
        "apps": [{"name": "a"}, {"name": "b"}],
        "stores": [
            {"storeId": 2, "storeNumber": 20, "locationNumber": 998},
            {"storeId": 1, "storeNumber": 10, "locationNumber": 999},
        ],
        "events": [{"id": 5}, {"id": 7}],
        "promotions": [{"promoId": 9}, {"promoId": 10}],
        "contracts": [],
    }


def test_views_reach_content_by_verbs() -> None:
    live = live_at(documents(None, None, app=[document("app", name="a")]), moment("2026-11-27"))
    assert live.setting("time_zone") == NEW_YORK
    assert live.setting("origins") is None
    assert (live.lifetime("stores"), live.lifetime("mobileapp")) == (9, 60)
    assert list(INTERFACE.application_names(live)) == ["a"]
    assert live.document("app", "name", "a") == {"name": "a"}
    assert [store["storeId"] for store in live.documents("store")] == [2, 1]
    assert live.document("store", "locationNumber", 999) == live.document("store", "storeId", 1)
    assert live.document("store", "storeId", 10) is None
    assert live.derived_whole(days_shown)[0] == ("2026-11-23", "monday")


@pytest.mark.parametrize(
    ("text", "monday"),
    [
        ("2026-11-23 00:00", "2026-11-23"),
        ("2026-11-29 23:59", "2026-11-23"),
        ("2026-11-30T04:59:59Z", "2026-11-23"),
        ("2026-11-30T05:00:00Z", "2026-11-30"),
    ],
)
def test_the_week_is_that_of_the_site(text: str, monday: str) -> None:
    assert live_at(documents(), moment(text)).clock("week") == monday


def test_boundaries_are_the_ends_of_the_windows_each_once_in_order() -> None:
    found = boundaries(
        documents(
            None,
            {"from": "2026-12-01", "until": "2026-11-30"},
            {"until": "2026-11-30"},
            {"from": "2026-11-01T00:00:00Z"},
            event=[document("event", id=1, publish={"from": "2026-12-24 06:00"})],
            promotion=[document("promotion", promoId=1, publish={"until": "2026-11-30"})],
        )
    )
    assert [boundary.isoformat() for boundary in found] == [
        "2026-11-01T00:00:00+00:00",
        "2026-12-01T05:00:00+00:00",
        "2026-12-24T11:00:00+00:00",
    ]


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("2026-11-24 12:00", "2026-11-25 18:00"),
        ("2026-11-25 18:00", "2026-11-27"),
        ("2026-11-26 23:59", "2026-11-27"),
        ("2026-11-27 00:00", "2026-11-30"),
        ("2026-12-25", "2026-12-28"),
    ],
)
def test_content_changes_next_at_a_boundary_or_a_monday(text: str, end: str) -> None:
    stores = documents({"from": "2026-11-25 18:00"}, {"until": "2026-11-26"})
    assert next_change(stores, moment(text)) == moment(end)


@pytest.mark.parametrize(
    "kind", [kind for kind in INTERFACE.kinds if not kind.streamed], ids=lambda kind: str(kind.name)
)
def test_a_window_of_any_scheduled_kind_is_a_boundary(kind: Kind) -> None:
    window = {"from": "2026-12-01T00:00:00Z", "until": "2026-12-02T00:00:00Z"}
    value = dict.fromkeys(kind.ids, 1) | {"publish": window}
    made = Documents(documents().site, {kind.name: [document(kind.name, **value)]})
    ends = [datetime(2026, 12, day, tzinfo=UTC) for day in (1, 2)]
    assert boundaries(made) == (ends if kind.scheduled else [])


# -- for all windows ---------------------------------------------------------------------------------------------

FIRST = datetime(2026, 10, 1, tzinfo=UTC)
moments = st.integers(0, 100 * 24 * 4).map(lambda quarters: FIRST + timedelta(minutes=15 * quarters))
instants = moments.map(lambda found: found.isoformat().replace("+00:00", "Z"))
days = moments.map(lambda found: found.date().isoformat())
windows = st.none() | st.fixed_dictionaries({}, optional={"from": instants | days, "until": instants | days})
zones = st.sampled_from([NEW_YORK, "UTC", "Australia/Lord_Howe", "Asia/Kolkata"])


@given(st.lists(windows, max_size=6), zones, moments, moments)
def test_content_is_equal_at_two_instants_with_no_boundary_between_them(
    stores: list[Any], zone: str, one: datetime, other: datetime
) -> None:
    made = documents(*stores, zone=zone)
    early, late = sorted([one, other])
    end = next_change(made, early)
    assert early < end
    assert not [boundary for boundary in boundaries(made) if early < boundary < end]
    if late < end:
        assert live_at(made, early).encode() == live_at(made, late).encode()
    if end != END:
        assert live_at(made, end).clocks != live_at(made, end - timedelta(microseconds=1)).clocks


@given(st.lists(windows, max_size=6), zones, moments)
def test_a_document_is_live_in_its_window_and_at_no_other_time(stores: list[Any], zone: str, at: datetime) -> None:
    made = documents(*stores, zone=zone)
    live = {store["storeId"] for store in live_at(made, at).documents("store")}
    where = schedule.zone(zone)
    for number, window in enumerate(stores, 1):
        start, end = (window or {}).get("from"), (window or {}).get("until")
        begun = start is None or schedule.instant(start, where) <= at
        ended = end is not None and schedule.instant(end, where, ends=True) <= at
        assert (number in live) == (begun and not ended)


# -- distances ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("latitude", "longitude"), [(0.0, 0.0), (42.3, -71.1), (-60.5, 179.0)])
def test_what_is_equally_far_comes_by_number(latitude: float, longitude: float) -> None:
    step = 0.375
    east, west = longitude + step, longitude - step
    grid = geo.Grid([(latitude, east, 3, "east"), (latitude, west, 1, "west"), (latitude, east, 2, "there, too")])
    far = round(geo.miles(latitude, longitude, latitude, east), 2)
    assert grid.near(latitude, longitude, 30) == [(far, "west"), (far, "there, too"), (far, "east")]
