"""Zip codes and cities of the United States, from the package zipcodes."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from threading import Lock
from typing import Any
from unicodedata import combining, normalize

from shopwindow.retail.places.distance import Point

_SPELT_OUT = {
    "st": "saint",
    "ft": "fort",
    "mt": "mount",
    "n": "north",
    "s": "south",
    "e": "east",
    "w": "west",
}


class ZipCodes:
    """Where a place is. The data live in the package's compiled module; only what is asked for
    becomes Python.
    """

    def find_zip(self, code: str) -> Point | None:
        """The middle of a zip code, five digits, leading zero kept."""
        return _zip(code)

    def find_city(self, city: str, state: str | None) -> Point | None:
        """The middle of a city; without a state, of the city of that name that has the most zip
        codes.
        """
        return _city(" ".join(_plain(city).replace("'", " ").replace(".", " ").split()), state)

    def find_county(self, county: str, state: str | None) -> Point | None:
        """The middle of a county; without a state, of the county of that name that has the most
        zip codes.
        """
        name = _plain(county).removesuffix(" county").strip()
        return _county(name, state)

    def find_state(self, state: str) -> Point | None:
        """The middle of a state's zip codes, by its two letters."""
        return _middle(_filter(state=state))


@cache
def zip_codes() -> ZipCodes | None:
    """Return the places of the package zipcodes; None where it is not installed, and stores'
    addresses must do.
    """
    return ZipCodes() if find_spec("zipcodes") else None


def load() -> None:
    """Read what the first search for a place would wait for: the package's data, and the names
    of suburbs.

    It takes 1.1 s of processor time and 55 MiB in each process, measured with zipcodes 3.
    """
    _known("00501")
    with _MAKING:
        _suburbs()


@lru_cache(maxsize=4096)
def _zip(code: str) -> Point | None:
    return _middle(_known(code)) if re.fullmatch(r"[0-9]{5}", code, re.ASCII) else None


@lru_cache(maxsize=4096)
def _city(city: str, state: str | None) -> Point | None:
    first, _, rest = city.partition(" ")
    names = dict.fromkeys((city, f"{_SPELT_OUT.get(first, first)} {rest}".strip()))
    for name in names:
        for spelling in _spellings(name):
            found = _filter(city=spelling, **({"state": state} if state else {}))
            if found:
                return _largest(found)
    with _MAKING:  # or each thread that asks first would make them, all more slowly
        suburbs = _suburbs()
    codes = (code for name in names for code in suburbs.get(_letters(name), ()))
    return _largest(
        [entry for code in codes for entry in _known(code) if state in (None, entry["state"])]
    )


_MAKING = Lock()


@cache
def _suburbs() -> Mapping[str, list[str]]:
    """Places with the zip codes that the package has under a city near by: Davie is in those of
    Fort Lauderdale.

    The entries are taken in ten parts. All of them at once take 100 MiB as Python values; a
    thousand parts take four times as long (1.5 s), for the package looks through all entries
    for each.
    """
    codes: dict[str, list[str]] = {}
    for digit in "0123456789":
        for entry in _beginning(digit):
            for city in entry["acceptable_cities"]:
                codes.setdefault(_letters(_plain(city)), []).append(entry["zip_code"])
    return codes


def _plain(name: str) -> str:
    """In small letters without accents."""
    return "".join(char for char in normalize("NFKD", name.casefold()) if not combining(char))


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name))


@lru_cache(maxsize=4096)
def _county(county: str, state: str | None) -> Point | None:
    for spelling in _spellings(county):
        found = _filter(county=f"{spelling} County", **({"state": state} if state else {}))
        if found:
            return _largest(found)
    return None


def _spellings(name: str) -> Iterable[str]:
    """How the package may write a name, as post offices do: Mc Lean, McAllen, Winston-salem,
    Wilkes Barre.
    """
    title = name.title()
    gaelic = re.sub(r"\bMc(\w)", _capital, title)
    apart = re.sub(r"\bMc\B", "Mc ", gaelic)
    return dict.fromkeys(
        (
            title,
            gaelic,
            apart,
            re.sub(r"-\w", lambda match: match[0].lower(), title),
            title.replace("-", " "),
        )
    )


def _capital(match: re.Match[str]) -> str:
    return f"Mc{match[1].upper()}"


def _known(code: str) -> list[dict[str, Any]]:
    import zipcodes

    matching: Callable[[str], list[dict[str, Any]]] = zipcodes.matching
    return matching(code)


def _beginning(prefix: str) -> list[dict[str, Any]]:
    import zipcodes

    similar_to: Callable[[str], list[dict[str, Any]]] = zipcodes.similar_to
    return similar_to(prefix)


def _filter(**wanted: str) -> list[dict[str, Any]]:
    import zipcodes

    filter_by: Callable[..., list[dict[str, Any]]] = zipcodes.filter_by
    return filter_by(**wanted)


def _largest(entries: list[dict[str, Any]]) -> Point | None:
    """The middle of the entries of the state that has most of them (of the first by letters,
    where some have).
    """
    states = sorted({entry["state"] for entry in entries})
    counts = {state: sum(entry["state"] == state for entry in entries) for state in states}
    best = max(states, key=lambda state: counts[state], default=None)
    return _middle([entry for entry in entries if entry["state"] == best])


def _middle(entries: list[dict[str, Any]]) -> Point | None:
    places = ((float(entry["lat"] or 0), float(entry["long"] or 0)) for entry in entries)
    points = [
        place for place in places if place != (0, 0)
    ]  # 872 entries, military ones and such, are nowhere
    if not points:
        return None
    return sum(point[0] for point in points) / len(points), sum(
        point[1] for point in points
    ) / len(points)
