"""A search address → a point: zip codes, cities, counties and states, and the stores' own addresses."""

import re

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
_COUNTRIES = re.compile(r"[\s,]+(USA|US|United States)\.?$", re.IGNORECASE)


def find(text: str, content: Content) -> Point | None:
    """Where the place is that a text names, or None where nobody knows it.

    Tried in turn: a store's own address, a zip code (the last one), a city with its state, a city, a county, a state,
    and a zip code at the beginning, which may be a house number.
    """
    text = _COUNTRIES.sub("", " ".join(text.split()).strip(" ,."))
    house, zips = _codes(text)
    return (
        _store(text, content)
        or _zip(zips, content)
        or _city_and_state(text, content)
        or _area(text, content)
        or _zip(house, content)
    )


def _codes(text: str) -> tuple[list[str], list[str]]:
    """What begins an address of several words and may be a house number, and all other zip codes."""
    found = list(_ZIP.finditer(text))
    house = [match[1] for match in found if match.start() == 0 and match.end() < len(text)]
    return house, [match[1] for match in found][len(house) :]


def _store(text: str, content: Content) -> Point | None:
    """A text that holds a store's street and city."""
    folded = text.casefold()
    for store in content.stores():
        address = store["address"]
        if folded.startswith(address["line1"].casefold()) and address["city"].casefold() in folded:
            return _point(store)
    return None


def _zip(codes: list[str], content: Content) -> Point | None:
    if not codes:
        return None
    own = [store for store in content.stores() if store["address"]["zipCode"][:5] == codes[-1]]
    places = _places(content)
    return (places and places.find_zip(codes[-1])) or _middle(own)


def _city_and_state(text: str, content: Content) -> Point | None:
    """`Boston, MA`, `Boston Massachusetts`, `1 Main St, Boston, MA 02134`; without commas the longest known end."""
    text = _ZIP.sub("", text).strip(" ,")
    for words in (1, 2, 3):
        parts = re.split(r"[\s,]+", text)
        state = STATES.get(" ".join(parts[-words:]).casefold())
        if state is None or len(parts) <= words:
            continue
        rest = re.sub(rf"[\s,]*{'[ ,]+'.join(map(re.escape, parts[-words:]))}$", "", text)
        last = rest.rpartition(",")[2].split()
        for start in range(len(last)):
            if found := _city(" ".join(last[start:]), state, content):
                return found
        if found := _county(" ".join(last), state, content):
            return found
    return None


def _area(text: str, content: Content) -> Point | None:
    """A state, a city or a county alone. New York is the city in the state of that name; Virginia is no city."""
    state = STATES.get(text.casefold())
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
    points = [_point(store) for store in stores]
    return sum(point[0] for point in points) / len(points), sum(point[1] for point in points) / len(points)


def _point(store: Json) -> Point:
    return store["location"]["latitude"], store["location"]["longitude"]


def _places(content: Content) -> Places | None:
    places: Places | None = content.places
    return places
