"""Facts about time: which instant a text means, and which documents are live when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vitrine.content import geo, model
from vitrine.content.model import BEGINNING, END, Document, Documents, Layer, Window

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
    # where the clock jumps over midnight, the day begins at the jump
    ("2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00", "2018-11-05T02:00:00"),
    ("2018-11-03", "America/Sao_Paulo", "2018-11-03T03:00:00", "2018-11-04T03:00:00"),
    # where midnight occurs twice, with the first
    ("2020-11-01", "America/Havana", "2020-11-01T04:00:00", "2020-11-02T05:00:00"),
]


@pytest.mark.parametrize(("text", "zone", "start", "end"), INSTANTS)
def test_which_instant_a_text_means(text: str, zone: str, start: str, end: str) -> None:
    where = model.zone(zone)
    assert model.instant(text, where).replace(tzinfo=None).isoformat() == start
    assert model.instant(text, where, ends=True).replace(tzinfo=None).isoformat() == end


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
        "",
    ],
)
def test_what_does_not_exist_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        model.instant(text, model.zone(NEW_YORK))


@pytest.mark.parametrize("name", ["America/Boston", "America", "", "/etc/localtime", "UTC\0", "tzdata.zi"])
def test_a_zone_is_one_of_the_iana_database(name: str) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        model.zone(name)


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
    return Documents(site, store=made, **kinds)


def moment(text: str) -> datetime:
    return model.instant(text, model.zone(NEW_YORK))


def test_content_is_what_is_live_in_a_stated_order_without_its_windows() -> None:
    live = model.live(
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
    assert live.value == {
        "format": 1,
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
    }


def test_views_reach_content_by_verbs() -> None:
    live = model.live(documents(None, None, app=[document("app", name="a")]), moment("2026-11-27"))
    assert live.setting("time_zone") == NEW_YORK
    assert live.setting("origins") is None
    assert (live.lifetime("stores"), live.lifetime("mobileapp")) == (9, 60)
    assert list(live.applications()) == ["a"]
    assert live.application("a") == {"name": "a"}
    assert [store["storeId"] for store in live.stores()] == [2, 1]
    assert live.store("locationNumber", 999) == live.store("storeId", 1) == live.store("storeNumber", 10)
    assert live.store("storeId", 10) is None
    assert live.days()[0] == ("2026-11-23", "monday")


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
    assert model.live(documents(), moment(text)).value["monday"] == monday


def test_boundaries_are_the_ends_of_the_windows_each_once_in_order() -> None:
    found = model.boundaries(
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
    ("text", "start", "end"),
    [
        ("2026-11-24 12:00", "2026-11-23", "2026-11-25 18:00"),
        ("2026-11-25 18:00", "2026-11-25 18:00", "2026-11-27"),
        ("2026-11-26 23:59", "2026-11-25 18:00", "2026-11-27"),
        ("2026-11-27 00:00", "2026-11-27", "2026-11-30"),
        ("2026-12-25", "2026-12-21", "2026-12-28"),
    ],
)
def test_content_stays_as_it_is_from_one_boundary_or_monday_to_the_next(text: str, start: str, end: str) -> None:
    stores = documents({"from": "2026-11-25 18:00"}, {"until": "2026-11-26"})
    assert model.interval(stores, moment(text)) == Window(moment(start), moment(end))


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
    stretch = model.interval(made, early)
    assert early in stretch
    assert not [boundary for boundary in model.boundaries(made) if stretch.start < boundary < stretch.end]
    if late in stretch:
        assert model.live(made, early).value == model.live(made, late).value
    if stretch.end != END:
        assert model.interval(made, stretch.end).start == stretch.end
    if stretch.start != BEGINNING:
        assert model.interval(made, stretch.start - timedelta(microseconds=1)).end == stretch.start


@given(st.lists(windows, max_size=6), zones, moments)
def test_a_document_is_live_in_its_window_and_at_no_other_time(stores: list[Any], zone: str, at: datetime) -> None:
    made = documents(*stores, zone=zone)
    live = {store["storeId"] for store in model.live(made, at).stores()}
    where = model.zone(zone)
    for number, window in enumerate(stores, 1):
        start, end = (window or {}).get("from"), (window or {}).get("until")
        begun = start is None or model.instant(start, where) <= at
        ended = end is not None and model.instant(end, where, ends=True) <= at
        assert (number in live) == (begun and not ended)


# -- parts of answers --------------------------------------------------------------------------------------------


def part(content: model.Content, document: Any, number: float | None = None) -> Any:
    """A part as views make them: of a document, what the content says of it, and a number."""
    return {"name": document["name"], "away": number, "events": list(content.events(document["locationNumber"]))}


@given(
    st.lists(st.text(), max_size=4, unique=True),
    st.lists(st.floats(0, 300).map(lambda each: round(each, 2)), min_size=4),
)
def test_parts_in_json_are_those_that_are_values(names: list[str], away: list[float]) -> None:
    ids = ("storeId", "storeNumber", "locationNumber")
    stores = [{"name": name} | dict.fromkeys(ids, number) for number, name in enumerate(names)]
    content = model.Content({"stores": stores, "events": []})
    in_json = model.InJson(content)
    for _ in range(2):  # made, and found again
        distances = away[: len(stores)]
        values = [
            [part(content, store, number) for store, number in zip(stores, distances, strict=True)],
            [part(content, store) for store in stores],
        ]
        told = [
            [given.parts(part, stores, distances), [given.part(part, store) for store in stores]]
            for given in (content, in_json)
        ]
        assert told[0] == values
        assert orjson.dumps(told[1]) == orjson.dumps(values)
        away = away[::-1]


# -- distances ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("latitude", "longitude"), [(0.0, 0.0), (42.3, -71.1), (-60.5, 179.0)])
def test_what_is_equally_far_comes_by_number(latitude: float, longitude: float) -> None:
    step = 0.375
    east, west = longitude + step, longitude - step
    grid = geo.Grid([(latitude, east, 3, "east"), (latitude, west, 1, "west"), (latitude, east, 2, "there, too")])
    far = round(geo.miles(latitude, longitude, latitude, east), 2)
    assert grid.near(latitude, longitude, 30) == [(far, "west"), (far, "there, too"), (far, "east")]
