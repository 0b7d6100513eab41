"""A search address → a point: zip codes, cities, counties and states, and the stores' own
addresses.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.retail.places.distance import Point
from shopwindow.retail.places.zipcodes import ZipCodes, zip_codes

_ZIP = re.compile(r"\b([0-9]{5})(?:-[0-9]{4})?\b", re.ASCII)
_STATES = (
    "AL Alabama,AK Alaska,AZ Arizona,AR Arkansas,CA California,CO Colorado,CT Connecticut,DE Delaware,"
    "DC District of Columbia,FL Florida,GA Georgia,HI Hawaii,ID Idaho,IL Illinois,IN Indiana,IA Iowa,KS Kansas,"
    "KY Kentucky,LA Louisiana,ME Maine,MD Maryland,MA Massachusetts,MI Michigan,MN Minnesota,MS Mississippi,"
    "MO Missouri,MT Montana,NE Nebraska,NV Nevada,NH New Hampshire,NJ New Jersey,NM New Mexico,NY New York,"
    "NC North Carolina,ND North Dakota,OH Ohio,OK Oklahoma,OR Oregon,PA Pennsylvania,RI Rhode Island,"
    "SC South Carolina,SD South Dakota,TN Tennessee,TX Texas,UT Utah,VT Vermont,VA Virginia,WA Washington,"
    "WV West Virginia,WI Wisconsin,WY Wyoming,PR Puerto Rico,GU Guam,VI Virgin Islands"
)
STATES = {
    name.casefold(): entry[:2]
    for entry in _STATES.split(",")
    for name in (entry[:2], entry[3:])
}
"""Codes and names in lower case → the two letters."""
_COUNTRIES = re.compile(r"[\s,]+(U\.?S\.?(A\.?)?|United States( of America)?)$", re.IGNORECASE)


@dataclass(frozen=True)
class Gazetteer:
    """Where places are: by the addresses of the live stores, and by zip codes and towns where
    those are installed.
    """

    content: Content
    zip_codes: ZipCodes | None

    def find(self, text: str) -> Point | None:
        """Return the point of the place that a text names: latitude and longitude in degrees;
        None for an unknown one.

        Tried in turn: a store's own address, a zip code, a city with its state, a city, a
        county, a state, and a zip code in front of a city.
        """
        text = _COUNTRIES.sub("", " ".join(text.split()).strip(" ,."))
        place, code = _apart(text)
        return (
            self._store(text)
            or self._zip(code)
            or self._city_and_state(place)
            or self._area(place)
            or self._zip_and_city(text)
        )

    def _store(self, text: str) -> Point | None:
        """A text that holds a store's street and city."""
        folded = text.casefold()
        for store in self.content.documents("store"):
            address = store["address"]
            if (
                folded.startswith(address["line1"].casefold())
                and address["city"].casefold() in folded
            ):
                return point_of(store)
        return None

    def _zip(self, code: str) -> Point | None:
        if not code:
            return None
        own = [
            store
            for store in self.content.documents("store")
            if store["address"]["zipCode"][:5] == code
        ]
        return (self.zip_codes and self.zip_codes.find_zip(code)) or _middle(own)

    def _zip_and_city(self, text: str) -> Point | None:
        """`02116 Boston`, `02116 MA`; before a street it is a house's number."""
        match = _ZIP.match(text)
        if match is None:
            return None
        rest = text[match.end() :].strip(" ,")
        return self._zip(match[1]) if _state(rest) or self._city(rest, None) else None

    def _city_and_state(self, text: str) -> Point | None:
        """`Boston, MA`, `Boston Massachusetts`, `1 Main St, Boston, MA`; without commas the
        longest end that fits.
        """
        for rest, state in _states(text):
            last = rest.rpartition(",")[2].split()
            for start in range(len(last)):
                city = self._city(" ".join(last[start:]), state)
                if city:
                    return city
            county = self._county(" ".join(last), state)
            if county:
                return county
        return None

    def _area(self, text: str) -> Point | None:
        """A state, a city or a county alone. New York is the city in the state of that name;
        Virginia is no city.
        """
        state = _state(text)
        if state is None:
            return self._city(text, None) or self._county(text, None)
        city = self._city(text, state) if len(text) > 2 else None
        return (
            city
            or (self.zip_codes and self.zip_codes.find_state(state))
            or _middle(self._in("state", state))
        )

    def _county(self, text: str, state: str | None) -> Point | None:
        return self.zip_codes.find_county(text, state) if self.zip_codes else None

    def _city(self, city: str, state: str | None) -> Point | None:
        own = [
            store
            for store in self._in("city", city)
            if state in (None, store["address"]["state"])
        ]
        return (self.zip_codes and self.zip_codes.find_city(city, state)) or _middle(own)

    def _in(self, name: str, value: str) -> list[Json]:
        stores = self.content.documents("store")
        return [
            store for store in stores if store["address"][name].casefold() == value.casefold()
        ]


def find(text: str, content: Content) -> Point | None:
    """Return the point of the place that a text names, as `Gazetteer.find` does, with all that
    is installed.
    """
    return Gazetteer(content, zip_codes()).find(text)


def _apart(text: str) -> tuple[str, str]:
    """What a text says before its zip code, and that: it comes after a state, or last where
    none is named before it.

    Any other number may be a house's, a suite's, a box's or a road's, and be a zip code of
    another state.
    """
    found = [(text[: match.start()].strip(" ,"), match) for match in _ZIP.finditer(text)]
    after_states = ((place, match[1]) for place, match in found if any(_states(place)))
    last = ((place, match[1]) for place, match in found[-1:] if match.end() == len(text))
    alone = (
        (place, code) for place, code in last if not any(_states(place.rpartition(",")[0]))
    )
    return next(chain(after_states, alone), (text, ""))


def _states(text: str) -> Iterator[tuple[str, str]]:
    """The states that a text may end with, each with what comes before it: `Charleston, West
    Virginia` has two.
    """
    parts = re.split(r"[\s,]+", text)
    for words in (1, 2, 3):
        state = _state(" ".join(parts[-words:]))
        if state is not None and len(parts) > words:
            yield (
                re.sub(rf"[\s,]*{'[ ,]+'.join(map(re.escape, parts[-words:]))}$", "", text),
                state,
            )


def _state(text: str) -> str | None:
    """The two letters of a state, however it is written."""
    return STATES.get(text.replace(".", "").casefold())


def _middle(stores: list[Json]) -> Point | None:
    if not stores:
        return None
    points = [point_of(store) for store in stores]
    return sum(point[0] for point in points) / len(points), sum(
        point[1] for point in points
    ) / len(points)


def point_of(store: Json) -> Point:
    """Where a store is."""
    return store["location"]["latitude"], store["location"]["longitude"]
