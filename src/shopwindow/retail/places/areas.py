"""General areas that customers name: regions, coasts, the surroundings of large cities.

No list of zip codes has them, and several are also the name of a small town: New
England is one of North Dakota. So the names stand here, each with the point near which
its stores are looked for: where most of its people live, rather than the middle of its
land. The names are those of everyday language; one that is missing may be added.
"""

import re
from collections.abc import Mapping

from shopwindow.retail.places.distance import Point

_POINTS: Mapping[str, Point] = {
    # regions
    "new england": (42.5, -71.5),
    "northeast": (41.0, -74.0),
    "mid atlantic": (39.9, -75.5),
    "east coast": (40.2, -74.8),
    "southeast": (33.7, -84.4),
    "deep south": (32.8, -87.0),
    "appalachia": (37.8, -81.5),
    "gulf coast": (30.2, -89.5),
    "midwest": (41.6, -87.8),
    "great lakes": (42.3, -84.5),
    "great plains": (41.0, -97.5),
    "rocky mountains": (39.7, -105.2),
    "rockies": (39.7, -105.2),
    "southwest": (33.5, -112.0),
    "west coast": (37.0, -121.0),
    "pacific northwest": (47.0, -122.5),
    # parts of a state, or of several
    "upstate new york": (42.9, -75.5),
    "hudson valley": (41.6, -73.9),
    "finger lakes": (42.7, -76.9),
    "long island": (40.8, -73.2),
    "cape cod": (41.7, -70.3),
    "berkshires": (42.4, -73.2),
    "lehigh valley": (40.6, -75.4),
    "poconos": (41.1, -75.3),
    "delmarva": (38.5, -75.6),
    "hampton roads": (36.9, -76.3),
    "research triangle": (35.9, -78.8),
    "florida panhandle": (30.5, -86.5),
    "central florida": (28.5, -81.4),
    "south florida": (26.1, -80.2),
    "florida keys": (24.7, -81.1),
    "ozarks": (36.6, -93.3),
    "quad cities": (41.5, -90.5),
    "twin cities": (44.97, -93.2),
    "chicagoland": (41.9, -87.8),
    "texas hill country": (30.0, -98.7),
    "rio grande valley": (26.2, -98.2),
    "dfw": (32.85, -97.0),
    "metroplex": (32.85, -97.0),
    "inland empire": (34.0, -117.4),
    "southern california": (33.9, -118.0),
    "socal": (33.9, -118.0),
    "central valley": (36.8, -119.8),
    "northern california": (38.3, -121.8),
    "norcal": (38.3, -121.8),
    "bay area": (37.7, -122.2),
    "san francisco bay area": (37.7, -122.2),
    "silicon valley": (37.4, -122.0),
    "puget sound": (47.5, -122.3),
    "tri state area": (40.75, -73.95),
    "tri state": (40.75, -73.95),
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
