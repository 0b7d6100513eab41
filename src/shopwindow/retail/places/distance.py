"""Distances on the earth, in miles."""

from collections.abc import Iterable
from math import asin, cos, degrees, floor, pi, radians, sin, sqrt
from typing import Any

Point = tuple[float, float]
"""Latitude and longitude in degrees."""

EARTH_RADIUS = 3958.7613
"""Mean radius (IUGG) in miles."""

DEGREE = EARTH_RADIUS * radians(1)
"""Miles of one degree of latitude."""

_HALF = radians(0.5)
"""Half a degree."""


def miles(
    latitude: float, longitude: float, other_latitude: float, other_longitude: float
) -> float:
    """The great-circle distance between two points in degrees (haversine)."""
    north, east = (
        sin((other_latitude - latitude) * _HALF),
        sin((other_longitude - longitude) * _HALF),
    )
    cosines = cos(radians(latitude)) * cos(radians(other_latitude))
    return 2 * EARTH_RADIUS * asin(min(1.0, sqrt(north * north + cosines * east * east)))


class Grid:
    """Things at points, by the whole degrees of these: each with a number that tells it from
    others at its point.
    """

    def __init__(self, things: Iterable[tuple[float, float, int, Any]]) -> None:
        """``things``: latitude, longitude, number, thing."""
        self._cells: dict[tuple[int, int], list[tuple[float, float, float, int, Any]]] = {}
        for latitude, longitude, number, thing in things:
            cell = self._cells.setdefault((floor(latitude), floor(longitude)), [])
            cell.append((latitude, longitude, cos(radians(latitude)), number, thing))

    def near(self, latitude: float, longitude: float, radius: float) -> list[tuple[float, Any]]:
        """The things within ``radius`` miles of a point, each after its distance: nearest
        first, then by number.

        Distances are told in hundredths of a mile, without `round`, which takes four times as
        long.
        """
        reach, breadth = _box(latitude, radius)  # the exact distance decides
        south, north, west, east = (
            latitude - reach,
            latitude + reach,
            longitude - breadth,
            longitude + breadth,
        )
        if (
            west < -180 or east > 180
        ):  # around the other side of the earth, too: the distance is left to decide
            west, east = -180, 180
        cells, cosine, most = (
            self._cells,
            cos(radians(latitude)),
            sin(min(radius / EARTH_RADIUS, pi) / 2) ** 2,
        )
        columns = range(floor(west), floor(east) + 1)
        found = []
        for row in range(floor(south), floor(north) + 1):
            for column in columns:
                for other, place, width, number, thing in cells.get((row, column), ()):
                    if west <= place <= east and south <= other <= north:
                        # as in `miles`, written out: a call for each takes as long as all the
                        # rest
                        up, along = (
                            sin((other - latitude) * _HALF),
                            sin((place - longitude) * _HALF),
                        )
                        haversine = up * up + cosine * width * along * along
                        if haversine <= most:
                            found.append((haversine, number, thing))
        found.sort()
        return [
            (int(200 * EARTH_RADIUS * asin(sqrt(away)) + 0.5) / 100, thing)
            for away, _, thing in found
        ]


def _box(latitude: float, radius: float) -> tuple[float, float]:
    """How many degrees of latitude and of longitude a circle around a point reaches; a breath
    more than it does.
    """
    reach = radius / DEGREE * 1.0001
    if abs(latitude) + reach >= 90:
        return reach, 180.0
    sine = sin(radians(reach)) / cos(radians(latitude))
    return reach, degrees(asin(min(1.0, sine))) * 1.0001
