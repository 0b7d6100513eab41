"""From a search address to a point: stores' own addresses, general areas, zip codes,
cities, counties, states.

Customers type anything: `02116`, `Boston, MA`, `1 Main St, Boston`. `Gazetteer.find`
tries one reading after another, the most specific first, and takes the first that names
a place. A number of five digits is a zip code only where a zip code would stand, since
it may as well be a house's number.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.operation import Call
from shopwindow.problems import Fault, Refusal
from shopwindow.retail.places import areas, zipcodes
from shopwindow.retail.places.distance import Point, middle
from shopwindow.retail.places.states import STATE_NAMES

_ZIP = re.compile(r"\b([0-9]{5})(?:-[0-9]{4})?\b", re.ASCII)
_COUNTRIES = re.compile(
    r"(?<![\s,])[\s,]++(U\.?S\.?(A\.?)?|United States( of America)?)$", re.IGNORECASE
)
"""The country at the end of an address, which tells nothing here."""


@dataclass(frozen=True)
class Gazetteer:
    """Where places are, by the package of zip codes and by the addresses of the live
    stores.
    """

    content: Content

    def find(self, text: str) -> Point | None:
        """Return the point of the place that a text names, or None.

        It tries a store's own address, a general area, a zip code, a city or county with
        its state, a state, city or county alone, a zip code in front of a city, and the
        surroundings of a city, in this order.
        """
        text = _COUNTRIES.sub("", " ".join(text.split()).strip(" ,."))
        place, code = _split_off_zip(text)
        return (
            self._store(text)
            or areas.find(text)
            or self._zip(code)
            or self._city_and_state(place)
            or self._area(place)
            or self._zip_and_city(text)
            or self._surroundings(place)
        )

    def _store(self, text: str) -> Point | None:
        """Return the point of the store whose street begins the text and whose city is
        in it.
        """
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
        stores = [
            point_of(store)
            for store in self.content.documents("store")
            if store["address"]["zipCode"][:5] == code
        ]
        return zipcodes.find_zip(code) or middle(stores)

    def _zip_and_city(self, text: str) -> Point | None:
        """`02116 Boston` or `02116 MA`. Before a street, the number is a house's."""
        match = _ZIP.match(text)
        if match is None:
            return None
        rest = text[match.end() :].strip(" ,")
        names_a_place = _state(rest) or self._city(rest, None)
        return self._zip(match[1]) if names_a_place else None

    def _city_and_state(self, text: str) -> Point | None:
        """`Boston, MA`, `Boston Massachusetts` or `1 Main St, Boston, MA`.

        Where no comma says where the city begins, it is the longest end that is a
        city's name.
        """
        for rest, state in _ends_in_state(text):
            words = rest.rpartition(",")[2].split()
            for start in range(len(words)):
                city = self._city(" ".join(words[start:]), state)
                if city:
                    return city
            county = zipcodes.find_county(" ".join(words), state)
            if county:
                return county
        return None

    def _area(self, text: str) -> Point | None:
        """A state, a city or a county alone.

        A name of a state that is also one of its cities is the city, such as New York;
        two letters are always the state.
        """
        state = _state(text)
        if state is None:
            return self._city(text, None) or zipcodes.find_county(text, None)
        city = self._city(text, state) if len(text) > 2 else None
        return city or zipcodes.find_state(state)

    def _surroundings(self, text: str) -> Point | None:
        """`Greater Boston`, `Boston, MA area`: the city in their middle."""
        place = areas.without_surroundings(text)
        if place == text:
            return None
        return self._city_and_state(place) or self._area(place)

    def _city(self, city: str, state: str | None) -> Point | None:
        stores = [
            point_of(store)
            for store in self.content.documents("store")
            if store["address"]["city"].casefold() == city.casefold()
            and state in (None, store["address"]["state"])
        ]
        return zipcodes.find_city(city, state) or middle(stores)


def place_of(
    content: Content, call: Call, selectors: Iterable[Sequence[str]], hint: str
) -> Point | None:
    """Return the point that a Call is about, or None where it names none.

    Coordinates come before texts. Raises Refusal for an unknown place.

    Args:
        content: its stores name places.
        call: may have `latitude`, and `longitude` with it.
        selectors: the parameters of the texts, the first that the Call has counts. Each
            is one name, or several that say together where the place is.
        hint: what to send in place of an unknown place.
    """
    if call["latitude"] is not None:
        return call["latitude"], call["longitude"]
    for names in selectors:
        if call[names[0]] is None:
            continue
        text = ", ".join(call[name] for name in names)
        point = Gazetteer(content).find(text)
        if point is None:
            message = f"no place is known by {text[:80]!r}; give {hint}"
            raise Refusal("invalid", Fault(names[0], message))
        return point
    return None


def _split_off_zip(text: str) -> tuple[str, str]:
    """Return (the text before its zip code, the zip code), or (the text, empty text).

    A zip code follows a state, or stands last in a text that names no state before it.
    Any other number of five digits may be a house's, a suite's, a box's or a road's,
    and a zip code of another state by chance.
    """
    for match in _ZIP.finditer(text):
        place = text[: match.start()].strip(" ,")
        follows_state = any(_ends_in_state(place))
        if follows_state:
            return place, match[1]
        is_last = match.end() == len(text)
        if is_last and not any(_ends_in_state(place.rpartition(",")[0])):
            return place, match[1]
    return text, ""


def _ends_in_state(text: str) -> Iterator[tuple[str, str]]:
    """Yield (the text before the state, the state) for each state that a text may end
    with.

    `Charleston, West Virginia` may end with two: Virginia and West Virginia.
    """
    words = re.split(r"[\s,]+", text)
    for count in (1, 2, 3):  # District of Columbia has three words
        name = words[-count:]
        state = _state(" ".join(name))
        if state is not None and len(words) > count:
            pattern = "[ ,]+".join(map(re.escape, name))
            yield re.sub(rf"[\s,]*{pattern}$", "", text), state


def _state(text: str) -> str | None:
    """Return the two letters of a state, whether the text has them or its name."""
    return STATE_NAMES.get(text.replace(".", "").casefold())


def point_of(store: Json) -> Point:
    """Return where a store is."""
    return store["location"]["latitude"], store["location"]["longitude"]
