"""Distances on the earth, in miles, and a grid that finds what is near.

How the grid works: each thing stands in a cell of one degree of latitude by one of
longitude. A search computes the rectangle of degrees around its circle, looks only into
the cells that the rectangle touches, and lets the exact distance decide about each
thing in them.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from math import asin, cos, degrees, floor, pi, radians, sin, sqrt
from typing import Any

Point = tuple[float, float]
"""Latitude and longitude in degrees."""

EARTH_RADIUS = 3958.7613
"""Mean radius (IUGG) in miles."""

DEGREE = EARTH_RADIUS * radians(1)
"""Miles of one degree of latitude."""

_HALF = radians(0.5)
"""Radians of half a degree: the haversine takes half of each difference."""


def miles(
    latitude: float, longitude: float, other_latitude: float, other_longitude: float
) -> float:
    """Return the great-circle distance of two points in degrees, by the haversine
    formula.
    """
    north = sin((other_latitude - latitude) * _HALF)
    east = sin((other_longitude - longitude) * _HALF)
    cosines = cos(radians(latitude)) * cos(radians(other_latitude))
    return (
        2 * EARTH_RADIUS * asin(min(1.0, sqrt(north * north + cosines * east * east)))
    )


def middle(points: Sequence[Point]) -> Point | None:
    """Return the mean of some points; None where there are none."""
    if not points:
        return None
    latitudes, longitudes = zip(*points, strict=True)
    return sum(latitudes) / len(points), sum(longitudes) / len(points)


class Grid:
    """Things at points. A number tells each thing from others at the same point."""

    def __init__(self, things: Iterable[tuple[float, float, int, Any]]) -> None:
        """Put each thing into its cell.

        Args:
            things: (latitude, longitude, number, thing), in degrees; the numbers are unique.
        """
        self._cells: dict[
            tuple[int, int], list[tuple[float, float, float, int, Any]]
        ] = {}
        for latitude, longitude, number, thing in things:
            cell = self._cells.setdefault((floor(latitude), floor(longitude)), [])
            cell.append((latitude, longitude, cos(radians(latitude)), number, thing))

    def near(
        self, latitude: float, longitude: float, radius: float
    ) -> list[tuple[float, Any]]:
        """Return the things within ``radius`` miles of a point, each as (miles, thing).

        The nearest comes first; equal distances are ordered by number. Distances are
        rounded to hundredths of a mile.
        """
        height, width = _half_sizes(latitude, radius)
        south, north = latitude - height, latitude + height
        west, east = longitude - width, longitude + width
        if (
            west < -180 or east > 180
        ):  # the circle crosses the date line: look all around
            west, east = -180, 180

        cosine = cos(radians(latitude))
        limit = (
            sin(min(radius / EARTH_RADIUS, pi) / 2) ** 2
        )  # the radius as a haversine
        rows = range(floor(south), floor(north) + 1)
        columns = range(floor(west), floor(east) + 1)
        within = []
        for cell in product(rows, columns):
            for (
                other_latitude,
                other_longitude,
                other_cosine,
                number,
                thing,
            ) in self._cells.get(cell, ()):
                if not (
                    west <= other_longitude <= east and south <= other_latitude <= north
                ):
                    continue
                # the formula of `miles`, written out: calling it would double the time
                up = sin((other_latitude - latitude) * _HALF)
                along = sin((other_longitude - longitude) * _HALF)
                haversine = up * up + cosine * other_cosine * along * along
                if haversine <= limit:
                    within.append((haversine, number, thing))
        within.sort()
        # `round` would take four times as long
        return [
            (int(200 * EARTH_RADIUS * asin(sqrt(haversine)) + 0.5) / 100, thing)
            for haversine, _, thing in within
        ]


_MARGIN = 1.0001
"""The rectangle is this much larger than the circle, so that rounding loses nothing at
its rim.
"""


def _half_sizes(latitude: float, radius: float) -> tuple[float, float]:
    """Return how far a circle reaches from its center, in degrees of latitude and
    longitude.
    """
    height = radius / DEGREE * _MARGIN
    if abs(latitude) + height >= 90:  # the circle holds a pole, and so every longitude
        return height, 180.0
    sine = sin(radians(height)) / cos(radians(latitude))
    return height, degrees(asin(min(1.0, sine))) * _MARGIN
