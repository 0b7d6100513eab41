"""A search address → a point: zip codes, cities, counties and states, and the stores' own addresses."""

import re
from collections.abc import Iterator
from itertools import chain

from vitrine.content.model import Content
from vitrine.content.yaml import Json
from vitrine.interface.ports import Places, Point

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
STATES = {name.casefold(): entry[:2] for entry in _STATES.split(",") for name in (entry[:2], entry[3:])}
"""Codes and names in lower case → the two letters."""
_COUNTRIES = re.compile(r"[\s,]+(U\.?S\.?(A\.?)?|United States( of America)?)$", re.IGNORECASE)


def find(text: str, content: Content) -> Point | None:
    """Where the place is that a text names, or None where nobody knows it.

    Tried in turn: a store's own address, a zip code, a city with its state, a city, a county, a state, and a zip code
    in front of a city.
    """
    text = _COUNTRIES.sub("", " ".join(text.split()).strip(" ,."))
    place, code = _apart(text)
    return (
        _store(text, content)
        or _zip(code, content)
        or _city_and_state(place, content)
        or _area(place, content)
        or _zip_and_city(text, content)
    )


def _apart(text: str) -> tuple[str, str]:
    """What a text says before its zip code, and that: it comes after a state, or last where none is named before it.

    Any other number may be a house's, a suite's, a box's or a road's, and be a zip code of another state.
    """
    found = [(text[: match.start()].strip(" ,"), match) for match in _ZIP.finditer(text)]
    after_states = ((place, match[1]) for place, match in found if any(_states(place)))
    last = ((place, match[1]) for place, match in found[-1:] if match.end() == len(text))
    alone = ((place, code) for place, code in last if not any(_states(place.rpartition(",")[0])))
    return next(chain(after_states, alone), (text, ""))


def _store(text: str, content: Content) -> Point | None:
    """A text that holds a store's street and city."""
    folded = text.casefold()
    for store in content.stores():
        address = store["address"]
        if folded.startswith(address["line1"].casefold()) and address["city"].casefold() in folded:
            return point_of(store)
    return None


def _zip(code: str, content: Content) -> Point | None:
    if not code:
        return None
    own = [store for store in content.stores() if store["address"]["zipCode"][:5] == code]
    places = _places(content)
    return (places and places.find_zip(code)) or _middle(own)


def _zip_and_city(text: str, content: Content) -> Point | None:
    """`02116 Boston`, `02116 MA`; before a street it is a house's number."""
    match = _ZIP.match(text)
    rest = text[match.end() :].strip(" ,") if match else ""
    return _zip(match[1], content) if match and (_state(rest) or _city(rest, None, content)) else None


def _city_and_state(text: str, content: Content) -> Point | None:
    """`Boston, MA`, `Boston Massachusetts`, `1 Main St, Boston, MA`; without commas the longest known end."""
    for rest, state in _states(text):
        last = rest.rpartition(",")[2].split()
        for start in range(len(last)):
            if found := _city(" ".join(last[start:]), state, content):
                return found
        if found := _county(" ".join(last), state, content):
            return found
    return None


def _states(text: str) -> Iterator[tuple[str, str]]:
    """The states that a text may end with, each with what comes before it: `Charleston, West Virginia` has two."""
    parts = re.split(r"[\s,]+", text)
    for words in (1, 2, 3):
        state = _state(" ".join(parts[-words:]))
        if state is not None and len(parts) > words:
            yield re.sub(rf"[\s,]*{'[ ,]+'.join(map(re.escape, parts[-words:]))}$", "", text), state


def _state(text: str) -> str | None:
    """The two letters of a state, however it is written."""
    return STATES.get(text.replace(".", "").casefold())


def _area(text: str, content: Content) -> Point | None:
    """A state, a city or a county alone. New York is the city in the state of that name; Virginia is no city."""
    state = _state(text)
    if state is None:
        return _city(text, None, content) or _county(text, None, content)
    places = _places(content)
    city = _city(text, state, content) if len(text) > 2 else None
    return city or (places and places.find_state(state)) or _middle(_in(content, "state", state))


def _county(text: str, state: str | None, content: Content) -> Point | None:
    places = _places(content)
    return places.find_county(text, state) if places else None


def _city(city: str, state: str | None, content: Content) -> Point | None:
    places = _places(content)
    own = [store for store in _in(content, "city", city) if state in (None, store["address"]["state"])]
    return (places and places.find_city(city, state)) or _middle(own)


def _in(content: Content, name: str, value: str) -> list[Json]:
    return [store for store in content.stores() if store["address"][name].casefold() == value.casefold()]


def _middle(stores: list[Json]) -> Point | None:
    if not stores:
        return None
    points = [point_of(store) for store in stores]
    return sum(point[0] for point in points) / len(points), sum(point[1] for point in points) / len(points)


def point_of(store: Json) -> Point:
    """Where a store is."""
    return store["location"]["latitude"], store["location"]["longitude"]


def _places(content: Content) -> Places | None:
    places: Places | None = content.places
    return places
