"""Each parameter against an oracle: brute force over the documents, by other means than the program's."""

import json
import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from itertools import pairwise
from math import acos, asin, atan2, cos, degrees, pi, radians, sin, sqrt
from operator import itemgetter
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.answers import decoded
from harness.content import Json, app, as_content, coupon, event, examples, promotion, site, store
from harness.program import Content, program_schemas
from shopwindow.interface.answering.answer import answer
from shopwindow.interface.formats import RESPONSE_FORMATS
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import Refusal
from shopwindow.shop import INTERFACE

SCHEMAS = program_schemas()
MONDAY = "2026-11-23"


def content(**kinds: Iterable[Json]) -> Content:
    """Live content of some documents, in the order in which a release holds them."""
    keys = {"stores": "locationNumber", "events": "id", "promotions": "promoId"}
    found = {kind: sorted(kinds.get(kind, ()), key=itemgetter(key)) for kind, key in keys.items()}
    return as_content({"monday": MONDAY, "site": site(), "apps": [app("phone")], **found})


def asked(live: Content, path: str, **parameters: str | None) -> Json:
    """The answer as a value, which both formats must agree on."""
    query = urlencode({name: text for name, text in parameters.items() if text is not None})
    values = []
    for format in RESPONSE_FORMATS:
        call = bind(Request(path, query, {"accept": format.media_type}), "phone", INTERFACE)
        body = answer(call, live, SCHEMAS).body
        shape = SCHEMAS.shape(call.operation.schema)
        values.append(decoded(format, body, shape, call.operation.items, call["_fields"] if has_fields(call) else None))
    assert values[0] == values[1]
    return values[0]


def has_fields(call: Any) -> bool:
    return any(parameter.name == "_fields" for parameter in call.operation.parameters)


# -- days and lists of ids ---------------------------------------------------------------------------------------

FIRST = date(2026, 12, 1)
days = st.integers(-3, 12).map(lambda number: FIRST + timedelta(days=number))
clocks = st.sampled_from(["00:00", "09:30", "12:00", "23:59"])


@st.composite
def event_lists(draw: st.DrawFn) -> list[Json]:
    events = []
    for id in draw(st.lists(st.integers(1, 60), unique=True, max_size=8)):
        start, length = draw(days), draw(st.integers(0, 4))
        begin, end = f"{start} {draw(clocks)}", f"{start + timedelta(days=length)} {draw(clocks)}"
        begin, end = sorted((begin, end))
        events.append(event(id, draw(st.sets(st.integers(1, 5), min_size=1)), begin, end))
    return events


SHOPS = [store(number, locationNumber=2010 - number, storeNumber=1000 + number * 3 % 7) for number in range(1, 6)]
NUMBERS = ("storeId", "storeNumber", "locationNumber")
selectors = st.dictionaries(
    st.sampled_from(NUMBERS), st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=3
)


def days_of(each: Json) -> set[date]:
    """Every calendar day on which an event goes on."""
    first, last = (datetime.strptime(each[name], "%Y-%m-%d %H:%M").date() for name in ("start", "finish"))
    return {first + timedelta(days=number) for number in range((last - first).days + 1)}


def going_on(
    events: list[Json], chosen: dict[str, set[int]], first: date | None, last: date | None
) -> list[tuple[int, int]]:
    """Event ids with store ids, by start, id and location number."""
    wide = {date(2026, 11, 1) + timedelta(days=number) for number in range(90)}
    wanted = {day for day in wide if (first is None or day >= first) and (last is None or day <= last)}
    found = [
        (each["start"], each["id"], shop["locationNumber"], shop["storeId"])
        for each in events
        for shop in SHOPS
        if shop["storeId"] in each["stores"]["storeId"]
        and all(shop[name] in values for name, values in chosen.items())
        and days_of(each) & wanted
    ]
    return [(id, shop) for _, id, _, shop in sorted(found)]


def written(day: date | None, form: str) -> str | None:
    return day.strftime(form) if day else None


@settings(max_examples=examples(150), deadline=None)
@given(event_lists(), selectors, st.none() | days, st.none() | days)
def test_events_of_a_range_at_some_stores(
    events: list[Json], picked: dict[str, list[int]], first: date | None, last: date | None
) -> None:
    live = content(stores=SHOPS, events=events)
    chosen = {name: [SHOPS[number][name] for number in numbers] for name, numbers in picked.items()}
    texts: dict[str, str | None] = {name: ",".join(map(str, values)) for name, values in chosen.items()}
    sets = {name: set(values) for name, values in chosen.items()}
    backwards = first is not None and last is not None and last < first
    dates = {"startDate": written(first, "%Y-%m-%d"), "finishDate": written(last, "%Y-%m-%d")}
    if backwards:
        with pytest.raises(Refusal):
            asked(live, "store/v1/events", **texts, **dates)
        return
    shop_of = {shop["locationNumber"]: shop["storeId"] for shop in SHOPS}
    told = asked(live, "store/v1/events", **texts, **dates)["events"]["event"]
    assert [(each["id"], shop_of[each["locationNumber"]]) for each in told] == going_on(events, sets, first, last)
    if "locationNumber" not in texts:
        textual = {"eventFrom": written(first, "%b %d, %Y"), "eventTo": written(last, "%B %d %Y")}
        told = asked(live, "v2/store/event", **texts, **textual)["storeEvents"]
        assert [(each["eventId"], each["storeId"]) for each in told] == going_on(events, sets, first, last)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(2000, 2012), min_size=1, max_size=20))
def test_location_numbers_come_in_order_and_once(numbers: list[int]) -> None:
    live = content(stores=SHOPS)
    told = asked(live, f"store/v2/stores/{','.join(map(str, numbers))}")["stores"].get("store", [])
    known = [shop["locationNumber"] for shop in SHOPS]
    assert [each["locationNumber"] for each in told] == [
        number for number in range(2000, 2013) if number in numbers and number in known
    ]


# -- distances ---------------------------------------------------------------------------------------------------

EARTH = 3958.7613


def apart(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Miles between two points: the angle between two vectors, by cross and dot product."""
    (x, y, z), (u, v, w) = vector(*one), vector(*other)
    cross = sqrt((y * w - z * v) ** 2 + (z * u - x * w) ** 2 + (x * v - y * u) ** 2)
    return EARTH * atan2(cross, x * u + y * v + z * w)


def vector(latitude: float, longitude: float) -> tuple[float, float, float]:
    north, east = radians(latitude), radians(longitude)
    return cos(north) * cos(east), cos(north) * sin(east), sin(north)


latitudes = st.one_of(
    st.integers(-900000, 900000).map(lambda number: number / 10000),
    st.sampled_from([0.0, 90.0, -90.0, 89.9999, -89.9, 42.35]),
)
longitudes = st.one_of(
    st.integers(-1800000, 1800000).map(lambda number: number / 10000),
    st.sampled_from([0.0, 180.0, -180.0, 179.9999, -179.5, -71.0]),
)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[tuple[float, float], list[tuple[float, float]]]:
    """A place, and points most of which are within a few hundred miles of it, over poles and the 180th meridian too."""
    place = draw(latitudes), draw(longitudes)
    points = []
    for _ in range(draw(st.integers(1, 12))):
        distance, bearing = draw(st.floats(0, 300)) / EARTH, draw(st.floats(0, 2 * pi))
        north = asin(
            max(
                -1,
                min(1, sin(radians(place[0])) * cos(distance) + cos(radians(place[0])) * sin(distance) * cos(bearing)),
            )
        )
        east = radians(place[1]) + atan2(
            sin(bearing) * sin(distance) * cos(radians(place[0])), cos(distance) - sin(radians(place[0])) * sin(north)
        )
        points.append((round(degrees(north), 4), round((degrees(east) + 540) % 360 - 180, 4)))
    return place, points + draw(st.lists(st.tuples(latitudes, longitudes), max_size=3))


radii = st.one_of(st.none(), st.integers(1, 20000).map(lambda number: number / 100), st.sampled_from([200.0, 0.01]))
FEATURES = ("BOPS", "BRIDAL", "MATTRESS", "RESTAURANT")


@settings(max_examples=examples(200), deadline=None)
@given(
    neighbours(),
    radii,
    st.none() | st.integers(1, 5),
    st.lists(st.sets(st.sampled_from(FEATURES)), min_size=15, max_size=15),
    st.sets(st.sampled_from((*FEATURES, "HAS_EVENTS")), max_size=3),
    st.none() | st.sets(st.integers(1001, 1015), min_size=1),
)
@example(((89.99, 0.0), [(89.99, 180.0), (89.5, -90.0), (87.0, 10.0)]), 200.0, None, [set()] * 15, set(), None)
@example(((0.0, 180.0), [(0.0, -180.0), (0.5, -179.5), (0.0, 177.2)]), None, 2, [set()] * 15, set(), None)
def test_stores_near_a_place_come_nearest_first(
    around: tuple[tuple[float, float], list[tuple[float, float]]],
    radius: float | None,
    limit: int | None,
    features: list[set[str]],
    wanted: set[str],
    numbers: set[int] | None,
) -> None:
    place, points = around
    shops = [
        store(number, location={"latitude": latitude, "longitude": longitude}, features=sorted(features[number - 1]))
        for number, (latitude, longitude) in enumerate(points, 1)
    ]
    busy = {number for number in range(1, len(shops) + 1) if number % 2}
    live = content(stores=shops, events=[event(1, busy, "2026-12-05 10:00", "2026-12-05 12:00")])
    told = asked(
        live,
        "store/v2/stores",
        latitude=f"{place[0]:.4f}",
        longitude=f"{place[1]:.4f}",
        radius=f"M{radius}" if radius else None,
        _limit=str(limit) if limit else None,
        feature=",".join(wanted) or None,
        storeNumber=",".join(map(str, numbers)) if numbers else None,
    )["stores"].get("store", [])
    distances = {shop["storeId"]: apart(place, point) for shop, point in zip(shops, points, strict=True)}
    fit = {
        shop["storeId"]
        for shop in shops
        if wanted <= {*shop["features"], *(["HAS_EVENTS"] if shop["storeId"] in busy else [])}
        and (numbers is None or shop["storeNumber"] in numbers)
    }
    reach, breath = radius or 200.0, 1e-6
    inside = {number for number in fit if distances[number] <= reach - breath}
    perhaps = {number for number in fit if distances[number] <= reach + breath}
    found = [each["storeId"] for each in told]
    if limit is None:
        assert inside <= set(found) <= perhaps
    else:
        assert min(limit, len(inside)) <= len(found) <= min(limit, len(perhaps))
        assert set(found) <= perhaps
    assert all(distances[one] <= distances[other] + breath for one, other in pairwise(found))
    left_out = inside - set(found)
    assert all(distances[number] >= distances[found[-1]] - breath for number in left_out)
    assert all(abs(each["distance"] - distances[each["storeId"]]) <= 0.005 + breath for each in told)
    assert {each["units"] for each in told} <= {"mi"}


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.sets(st.sampled_from(FEATURES)), min_size=1, max_size=10),
    st.sets(st.sampled_from(FEATURES)),
    st.none() | st.integers(1, 12),
)
def test_stores_without_a_place_come_by_location_number(
    features: list[set[str]], wanted: set[str], limit: int | None
) -> None:
    shops = [
        store(number, features=sorted(has), locationNumber=3000 - number) for number, has in enumerate(features, 1)
    ]
    live = content(stores=shops)
    told = asked(live, "store/v2/stores", feature=",".join(wanted) or None, _limit=str(limit) if limit else None)
    fit = sorted(3000 - number for number, has in enumerate(features, 1) if wanted <= has)
    assert [each["locationNumber"] for each in told["stores"].get("store", [])] == fit[:limit]
    assert all("distance" not in each and "units" not in each for each in told["stores"].get("store", []))


# -- _fields -----------------------------------------------------------------------------------------------------

Tree = dict[str, "Tree | None"]


def tree_of(mask: str) -> Tree:
    """A mask by rewriting it as JSON; a name alone keeps the whole, and wins."""
    text = re.sub(r"\s+", "", mask)
    text = re.sub(r"([A-Za-z_][\w.-]*)\(", r'["\1",[', text).replace(")", "]]")
    text = re.sub(r'(?<!")\b([A-Za-z_][\w.-]*)(?=[,\]]|$)', r'["\1",null]', text)
    return merged(json.loads(f"[{text}]"))


def merged(pairs: list[Any]) -> Tree:
    kept: dict[str, Any] = {}
    for name, inner in pairs:
        if inner is None or kept.get(name, ()) is None:
            kept[name] = None
        else:
            kept.setdefault(name, []).extend(inner)
    return {name: None if inner is None else merged(inner) for name, inner in kept.items()}


def pruned(value: Json, tree: Tree) -> Json:
    """What a tree keeps of an object; of texts and numbers it keeps nothing, of an array of objects each."""
    kept = {}
    for name, inner in value.items():
        if name not in tree:
            continue
        below = tree[name]
        if below is None:
            kept[name] = inner
        elif isinstance(inner, dict):
            kept[name] = pruned(inner, below)
        elif isinstance(inner, list) and not any(isinstance(each, str) for each in inner):
            kept[name] = [pruned(each, below) for each in inner]
    return kept


NAMES: tuple[str, ...] = (
    "id",
    "name",
    "attributes",
    "attribute",
    "link",
    "href",
    "locationNumber",
    "address",
    "city",
    "features",
    "feature",
)
NAMES += ("schedule", "workingHours", "date", "values", "nothing", "distance")


@st.composite
def masks(draw: st.DrawFn, depth: int = 1) -> str:
    parts = []
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4)):
        inner = f"({draw(masks(depth + 1))})" if depth < 4 and draw(st.integers(0, 2)) == 0 else ""
        blank = " " * draw(st.integers(0, 1))
        parts.append(f"{blank}{name}{blank}{inner}")
    return ",".join(parts)


LINKED = event(
    3,
    [1, 2],
    "2026-12-05 10:00",
    "2026-12-05 12:00",
    links=[{"href": "https://shop.example/a", "rel": "details"}, {"href": "https://shop.example/b"}],
)
FEW = content(
    stores=[store(1, features=["BOPS"], attributes={"WIFI": ["TRUE", "FREE"]}), store(2)],
    events=[LINKED, event(2, [1], "2026-12-05 10:00", "2026-12-05 12:00")],
)


@settings(max_examples=examples(300), deadline=None)
@given(masks())
@example("attributes(nothing),attributes")
@example("features(feature(nothing)),attributes(attribute(values(nothing)))")
@example("id(name),link(href)")
def test_a_mask_keeps_what_it_names(mask: str) -> None:
    tree = tree_of(mask)
    whole = asked(FEW, "store/v1/events", storeId="1,2")
    kept = {"events": {"event": [pruned(each, tree) for each in whole["events"]["event"]]}}
    assert asked(FEW, "store/v1/events", storeId="1,2", _fields=mask) == kept
    for path, place in (
        ("store/v2/stores", {}),
        ("store/v2/stores/2001,2002", {}),
        ("store/v2/stores", {"latitude": "42", "longitude": "-71"}),
    ):
        whole = asked(FEW, path, **place)
        kept = {"stores": {"store": [pruned(each, tree) for each in whole["stores"]["store"]]}}
        assert asked(FEW, path, **place, _fields=mask) == kept


# -- promotions --------------------------------------------------------------------------------------------------

KINDS, CODES, SOURCES, CHANNELS = (
    ("PERCENT_OFF", "DOLLAR_OFF", "GIFT"),
    ("A1", "a1", "B-2"),
    ("B", "Z", "D"),
    ("SITE", "MOBILE"),
)


@st.composite
def promotion_lists(draw: st.DrawFn) -> list[Json]:
    found = []
    for id in draw(st.lists(st.integers(1, 9), unique=True, max_size=6)):
        more: dict[str, Json] = {"global": draw(st.booleans())}
        if draw(st.booleans()):
            more["promotionCode"] = draw(st.sampled_from(CODES))
        if draw(st.booleans()):
            more["coupon"] = coupon(str(4000 + id), couponType=draw(st.sampled_from(("STORE", "ONLINE"))))
        found.append(
            promotion(
                id,
                promotionType=draw(st.sampled_from(KINDS)),
                promotionSourceCode=draw(st.sampled_from(SOURCES)),
                channels=sorted(draw(st.sets(st.sampled_from(CHANNELS), min_size=1))),
                categories=sorted(draw(st.sets(st.sampled_from(("Home", "Men", "Women")), min_size=1))),
                **more,
            )
        )
    return found


ids = st.lists(st.integers(1, 11), min_size=1, max_size=5).map(lambda found: ",".join(map(str, found)))
FILTERS: dict[str, tuple[st.SearchStrategy[str], Callable[[Json, str], bool]]] = {
    "promoid": (ids, lambda each, text: str(each["promoId"]) in text.split(",")),
    "global": (st.sampled_from(("Y", "N")), lambda each, text: ("Y" if each["global"] else "N") == text),
    "source": (st.sampled_from(SOURCES), lambda each, text: each["promotionSourceCode"] == text),
    "type": (st.sampled_from((*KINDS, "gift")), lambda each, text: each["promotionType"] == text),
    "code": (st.sampled_from((*CODES, "C")), lambda each, text: each.get("promotionCode", "") == text),
    "channel": (st.sampled_from(CHANNELS), lambda each, text: text in each["channels"]),
    "coupontype": (
        st.sampled_from(("STORE", "ONLINE", "NONE")),
        lambda each, text: "coupon" in each and each["coupon"]["couponType"] == text,
    ),
    "couponnumber": (
        st.integers(4000, 4010).map(str),
        lambda each, text: "coupon" in each and each["coupon"]["couponNumber"] == text,
    ),
}
SECOND = {"promoid": "promoid", "global": "global", "source": "sourcecode", "type": "type", "code": "promo_code"}
THIRD = {
    "promoid": "promoid",
    "global": "global",
    "source": "promotionsourcecode",
    "type": "promotype",
    "code": "promocode",
}
THIRD |= {name: name for name in ("channel", "coupontype", "couponnumber")}
filters = st.fixed_dictionaries({}, optional={name: texts for name, (texts, _) in FILTERS.items()})
SHOW = (None, "promotions", "coupons", "promotions,coupons", "coupons,promotions")


def passing(promotions: list[Json], given: dict[str, str]) -> list[Json]:
    found = [each for each in promotions if all(FILTERS[name][1](each, text) for name, text in given.items())]
    return sorted(found, key=lambda each: int(each["promoId"]))


@settings(max_examples=examples(200), deadline=None)
@given(promotion_lists(), filters, st.sampled_from(SHOW))
def test_promotions_pass_every_filter(promotions: list[Json], given: dict[str, str], show: str | None) -> None:
    live = content(promotions=promotions)
    second = {name: text for name, text in given.items() if name in SECOND}
    told = asked(live, "v2/promotions", **{SECOND[name]: text for name, text in second.items()})
    assert numbers(told.get("promotionDetailsResponse", [])) == [
        (each["promoId"], False) for each in passing(promotions, second)
    ]
    told = asked(live, "v3/promotions", show=show, **{THIRD[name]: text for name, text in given.items()})
    found = passing(promotions, given)
    if show == "coupons":
        found = [each for each in found if "coupon" in each]
    expected = [(each["promoId"], "coupon" in each and show != "promotions") for each in found]
    assert (numbers(told.get("promotionDetailsResponse", [])), told == {}) == (expected, not expected)


def numbers(told: list[Json]) -> list[tuple[int, bool]]:
    """Ids, each with whether a coupon is shown."""
    return [(int(each["promoId"]), "coupon" in each) for each in told]


@settings(max_examples=examples(80), deadline=None)
@given(promotion_lists(), st.none() | st.sampled_from(CHANNELS))
def test_sorted_promotions_stand_in_every_one_of_their_categories(promotions: list[Json], channel: str | None) -> None:
    told = asked(content(promotions=promotions), "v3/promotions/sorted", channel=channel)
    found = passing(promotions, {"channel": channel} if channel else {})
    groups = [
        (name, [(each["promoId"], "coupon" in each) for each in found if name in each["categories"]])
        for name in ("Home", "Men", "Women")
    ]
    assert [(group["fob"], numbers(group["promotions"])) for group in told.get("sortedPromotions", [])] == [
        group for group in groups if group[1]
    ]


def test_the_two_formulas_agree() -> None:
    """The oracle itself against a third formula, where that is exact enough."""
    one, other = (42.35, -71.075), (40.7536, -73.9889)
    a, b = radians(one[0]), radians(other[0])
    third = EARTH * acos(sin(a) * sin(b) + cos(a) * cos(b) * cos(radians(other[1] - one[1])))
    assert [apart(one, other), third] == pytest.approx([186.70802, 186.70802])
