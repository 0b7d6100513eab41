"""Stores: a list, and a map of points; the week's hours, and the circle of a search by
radius.

A page for the kind `store` of a retailer (interface 4.11). The map has no tiles, for a
preview asks nobody on the network: points lie where they are, and states are told by
their stores.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any

from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Document
from shopwindow.preview import drawing
from shopwindow.preview.pages.documents import has_words, paged
from shopwindow.preview.visit import Page, Visit
from shopwindow.retail.places.distance import EARTH_RADIUS
from shopwindow.retail.places.distance import miles as miles_between
from shopwindow.retail.places.states import lies_in
from shopwindow.retail.storefront import STORE_NUMBERS, WEEKDAYS

KIND = "store"

Place = tuple[float, float]
"""A latitude and a longitude."""

MAP_WIDTH = 1000.0
"""Units of the drawing's width; the browser scales it."""

MARGIN_DEGREES = 1.0
"""Around the outermost stores, so that a point is not cut off, and one store alone has
a map.
"""

MAX_MILES = 12_500.0
"""Half way around the earth."""


@dataclass(frozen=True)
class Hours:
    """One day of a store. Closed all day: ``open`` is empty. ``is_exception``: not as
    usual.
    """

    date: date
    open: str
    close: str
    is_exception: bool


@dataclass(frozen=True)
class Shop:
    """A store as the page shows it. ``local``: the chosen instant on its clocks.
    ``miles``: from the center of a search.
    """

    document: Document
    stay: drawing.Stay
    local: datetime
    miles: float | None

    @property
    def value(self) -> dict[str, Any]:
        return self.document.value

    @property
    def is_open(self) -> bool:
        """Whether it is open now. Hours end on the day on which they begin (time.order)."""
        hours = _day(self.value, self.local.date())
        return hours.open <= f"{self.local:%H:%M}" < hours.close

    @cached_property
    def is_outside(self) -> bool:
        """Whether it lies in another state than its address says."""
        return not lies_in(self.value["address"]["state"], *_place(self.value))

    @property
    def week(self) -> tuple[Hours, ...]:
        """The hours of the week that the instant lies in, from Monday."""
        today = self.local.date()
        monday = today - timedelta(days=today.weekday())
        days = (monday + timedelta(days=count) for count in range(7))
        return tuple(_day(self.value, day) for day in days)


@dataclass(frozen=True)
class MapPoint:
    """A point of the map."""

    x: float
    y: float
    shop: Shop


@dataclass(frozen=True)
class Map:
    """The drawing: ``height`` for MAP_WIDTH, points, and the ellipse of a search."""

    height: float
    points: tuple[MapPoint, ...]
    circle: tuple[float, float, float, float] | None


def page(visit: Visit) -> Page:
    """Return the page of stores. Parameters: ``q`` finds words, ``near`` is the center
    of a search, a store's number or `latitude, longitude`, and ``miles`` its radius.
    """
    near = visit.query.get("near", "").strip()
    center = _center(visit, near)
    miles = _miles(visit.query.get("miles", ""))
    words = visit.words
    shops = [
        shop
        for shop in _shops(visit, center, words)
        if shop.miles is None or miles is None or shop.miles <= miles
    ]
    shops.sort(
        key=lambda shop: (not has_words(words, shop.value["name"]), shop.miles or 0.0)
    )
    shown, values = paged(visit, shops)
    values |= {
        "map": _map(shops, center, miles) if shops else None,
        "shops": shown,
        "outside": [shop for shop in shops if shop.is_outside],
        "near": near,
        "miles": visit.query.get("miles", ""),
        "is_lost": bool(near) and center is None,
    }
    return Page("stores.html", "Stores", values)


def _text(value: dict[str, Any]) -> str:
    address = value["address"]
    parts = [value["name"], *(value[name] for name in STORE_NUMBERS), *address.values()]
    return " ".join(map(str, [*parts, *value.get("features", ())]))


def _shops(visit: Visit, center: Place | None, words: Sequence[str]) -> Iterator[Shop]:
    """Yield the stores that a search for words finds."""
    for document in visit.documents.of(KIND):
        value = document.value
        if words and not has_words(words, _text(value)):
            continue
        local = visit.moment.astimezone(schedule.zone(value["timeZone"]))
        miles = miles_between(*center, *_place(value)) if center else None
        yield Shop(document, visit.stay(value), local, miles)


def _place(value: dict[str, Any]) -> Place:
    """Return where a store is."""
    return value["location"]["latitude"], value["location"]["longitude"]


# -- hours -----------------------------------------------------------------------------


def _day(value: dict[str, Any], day: date) -> Hours:
    usual = value["hours"].get(WEEKDAYS[day.weekday()], {})
    exceptions = {one["date"]: one for one in value.get("exceptions", ())}
    hours = exceptions.get(day.isoformat(), usual)
    open, close = hours.get("open", ""), hours.get("close", "")
    return Hours(day, open, close, is_exception=hours is not usual)


# -- the map ---------------------------------------------------------------------------


def _center(visit: Visit, text: str) -> Place | None:
    """Return the place that ``near`` means; None where it is empty or means none."""
    if store := store_named(visit, text):
        return _place(store)
    parts = text.split(",")
    try:
        latitude, longitude = (float(part) for part in parts)
    except ValueError:
        return None
    return (
        (latitude, longitude) if abs(latitude) <= 90 and abs(longitude) <= 180 else None
    )


def store_named(visit: Visit, text: str) -> dict[str, Any] | None:
    """Return the store of which a text is any of its three numbers, or None."""
    for store in visit.documents.of(KIND) if text else ():
        if any(str(store.value.get(name)) == text for name in STORE_NUMBERS):
            return store.value
    return None


def _miles(text: str) -> float | None:
    try:
        miles = float(text)
    except ValueError:
        return None
    return miles if 0 < miles <= MAX_MILES else None


def _map(shops: list[Shop], center: Place | None, miles: float | None) -> Map:
    """Return the drawing of stores and of a search's circle.

    Degrees of longitude are narrower in the north: they are drawn as long as they are
    in the middle of the map, so that distances look alike in both directions there.
    """
    places = [_place(shop.value) for shop in shops]
    reach = math.degrees(miles / EARTH_RADIUS) if center and miles else 0.0
    shown = list(places)
    if center:
        latitude, longitude = center
        wide = reach / max(0.1, math.cos(math.radians(latitude)))
        shown += [
            (latitude - reach, longitude - wide),
            (latitude + reach, longitude + wide),
        ]
    latitudes, longitudes = zip(*shown, strict=True)
    south, north = min(latitudes) - MARGIN_DEGREES, max(latitudes) + MARGIN_DEGREES
    west, east = min(longitudes) - MARGIN_DEGREES, max(longitudes) + MARGIN_DEGREES
    shrink = max(0.1, math.cos(math.radians((south + north) / 2)))
    scale = MAP_WIDTH / ((east - west) * shrink)

    def drawn(place: Place) -> tuple[float, float]:
        latitude, longitude = place
        return round((longitude - west) * shrink * scale, 1), round(
            (north - latitude) * scale, 1
        )

    points = tuple(
        MapPoint(*drawn(place), shop) for place, shop in zip(places, shops, strict=True)
    )
    circle = None
    if center and reach:
        circle = (
            *drawn(center),
            round(wide * shrink * scale, 1),
            round(reach * scale, 1),
        )
    return Map(round((north - south) * scale, 1), points, circle)
