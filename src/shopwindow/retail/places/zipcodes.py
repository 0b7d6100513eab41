"""Zip codes, cities, counties and states of the United States, from the package
zipcodes.

The package is imported when a search first needs it. Its data live in its compiled
module, and only the entries that a search needs become Python values. Two things are
added to it here: spellings that customers use and post offices do not, and the suburbs
that the package lists only under a larger city. Every `find_…` returns the middle of
the points that it finds.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from threading import Lock
from typing import Any
from unicodedata import combining, normalize

from shopwindow.retail.places.distance import Point, middle

_ABBREVIATIONS = {
    "st": "saint",
    "ft": "fort",
    "mt": "mount",
    "n": "north",
    "s": "south",
    "e": "east",
    "w": "west",
}


Entry = Mapping[str, Any]
"""What the package has of a zip code: zip_code, city, acceptable_cities, county, state,
lat, long.
"""

CACHED_NAMES = 4096
"""Names whose points a process caches: so many zip codes, cities and counties each.

A name that is not cached costs a search through all of the package's entries. The bound
keeps a client that sends ever new names from filling the memory; larger or smaller ones
work as well.
"""


def find_city(city: str, state: str | None) -> Point | None:
    """Return the point of a city; without a state, of the largest city of that name.

    The largest is the one with the most zip codes.
    """
    words = _plain(city).replace("'", " ").replace(".", " ").split()
    return _city(" ".join(words), state)


def find_county(county: str, state: str | None) -> Point | None:
    """Return the point of a county; without a state, of the largest of that name."""
    name = _plain(county).removesuffix(" county").strip()
    return _county(name, state)


def find_state(state: str) -> Point | None:
    """Return the point of a state, by its two letters."""
    return _middle(_package().filter_by(state=state))


def load() -> None:
    """Read what the first search would wait for: the package's data and the names of
    suburbs.

    It takes 1.1 s of processor time and 55 MiB in each process, measured with zipcodes
    3.
    """
    find_zip("00501")
    with _SUBURBS_LOCK:
        _suburbs()


@lru_cache(maxsize=CACHED_NAMES)
def find_zip(code: str) -> Point | None:
    """Return the point of a zip code: five digits, with its leading zero."""
    return _middle(_package().matching(code))


@lru_cache(maxsize=CACHED_NAMES)
def _city(city: str, state: str | None) -> Point | None:
    first, _, rest = city.partition(" ")
    names = dict.fromkeys((city, f"{_ABBREVIATIONS.get(first, first)} {rest}".strip()))
    for name in names:
        for spelling in _spellings(name):
            entries = _package().filter_by(city=spelling, **_in_state(state))
            if entries:
                return _largest(entries)

    with _SUBURBS_LOCK:
        suburbs = _suburbs()
    codes = [code for name in names for code in suburbs.get(_letters(name), ())]
    entries = [entry for code in codes for entry in _package().matching(code)]
    return _largest([entry for entry in entries if state in (None, entry["state"])])


_SUBURBS_LOCK = Lock()
"""Without it, each thread that needs the suburbs first would read them, all of them
slowly.
"""


@cache
def _suburbs() -> Mapping[str, list[str]]:
    """Return zip codes by the name of a place that the package lists under a larger
    city.

    Davie, for example, is among the zip codes of Fort Lauderdale.

    The entries are read in ten parts, by their first digit. All of them at once take
    100 MiB as Python values. A thousand parts take four times as long (1.5 s), since
    the package searches all entries for each part.
    """
    codes: dict[str, list[str]] = {}
    for digit in "0123456789":
        for entry in _package().similar_to(digit):
            for city in entry["acceptable_cities"]:
                codes.setdefault(_letters(_plain(city)), []).append(entry["zip_code"])
    return codes


def _plain(name: str) -> str:
    """Return a name in lower case without accents."""
    return "".join(
        char for char in normalize("NFKD", name.casefold()) if not combining(char)
    )


def _letters(name: str) -> str:
    """Return a name without spaces and punctuation: suburbs are compared by it."""
    return "".join(filter(str.isalnum, name))


@lru_cache(maxsize=CACHED_NAMES)
def _county(county: str, state: str | None) -> Point | None:
    for spelling in _spellings(county):
        entries = _package().filter_by(county=f"{spelling} County", **_in_state(state))
        if entries:
            return _largest(entries)
    return None


def _spellings(name: str) -> Iterable[str]:
    """Return how the package, like post offices, may spell a name.

    It has Mc Lean and McAllen, Winston-salem and Wilkes Barre.
    """
    title = name.title()
    capital_after_mc = re.sub(r"\bMc(\w)", lambda match: f"Mc{match[1].upper()}", title)
    space_after_mc = re.sub(r"\bMc\B", "Mc ", capital_after_mc)
    small_after_hyphen = re.sub(r"-\w", lambda match: match[0].lower(), title)
    without_hyphen = title.replace("-", " ")
    return dict.fromkeys(
        (title, capital_after_mc, space_after_mc, small_after_hyphen, without_hyphen)
    )


# -- the package -----------------------------------------------------------------------


def _package() -> Any:
    """Return the package, whose functions look through all of its entries."""
    import zipcodes

    return zipcodes


def _in_state(state: str | None) -> dict[str, str]:
    return {"state": state} if state else {}


def _largest(entries: list[Entry]) -> Point | None:
    """Return the middle of the entries of the state that has most of them.

    Of states with equally many, the first in the alphabet counts.
    """
    counts = Counter(entry["state"] for entry in entries)
    state = min(counts, key=lambda state: (-counts[state], state), default=None)
    return _middle([entry for entry in entries if entry["state"] == state])


def _middle(entries: list[Entry]) -> Point | None:
    """Return the mean of the entries' points.

    872 entries, military ones for example, have no place: theirs is empty or 0, 0.
    """
    places = (
        (float(entry["lat"] or 0), float(entry["long"] or 0)) for entry in entries
    )
    points = [place for place in places if place != (0, 0)]
    return middle(points)
