"""General areas that customers name: regions, coasts, the surroundings of large cities.

No list of zip codes has them, and several are also the name of a small town: New
England is one of North Dakota. So areas.csv has the names, each with the point near
which its stores are looked for: where most of its people live, rather than the middle
of its land. The names are those of everyday language; one that is missing may be added.
"""

import csv
import re
from collections.abc import Mapping
from pathlib import Path

from shopwindow.retail.places.distance import Point

with open(Path(__file__).with_name("areas.csv"), encoding="utf-8") as _file:
    _ROWS = list(csv.reader(_file))[1:]

_POINTS: Mapping[str, Point] = {
    name: (float(latitude), float(longitude)) for name, latitude, longitude in _ROWS
}

_AROUND = re.compile(
    r"(?:the\s+)?(?:greater\s+)?(?P<place>.+?)"
    r"(?:(?<!\s)\s+metro(?:politan)?)?(?:(?<!\s)\s+(?:area|region))?",
    re.IGNORECASE,
)
"""What may stand around the name of a place: `Greater Boston`, `the Chicago area`.

Spaces are tried from the first of them only, so many of them take no longer.
"""


def find(text: str) -> Point | None:
    """Return the point of the general area that a text names, or None."""
    words = " ".join(text.replace("-", " ").casefold().split())
    for name in (words, words.removeprefix("the ")):
        if name in _POINTS:
            return _POINTS[name]
    return _POINTS.get(without_surroundings(words))


def without_surroundings(text: str) -> str:
    """Return the place in a text such as `Greater Boston area`; any other text as it
    is.
    """
    match = _AROUND.fullmatch(text)
    return match["place"] if match else text
