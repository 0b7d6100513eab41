"""Distances on the earth, in miles."""

from collections.abc import Callable
from math import asin, cos, degrees, radians, sin, sqrt

EARTH_RADIUS = 3958.7613
"""Mean radius (IUGG) in miles."""

DEGREE = EARTH_RADIUS * radians(1)
"""Miles of one degree of latitude."""


def miles(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """The great-circle distance between two points in degrees (haversine)."""
    other = radians(other_latitude)
    return miles_from(latitude, longitude)(other, cos(other), other_longitude)


def miles_from(latitude: float, longitude: float) -> Callable[[float, float, float], float]:
    """The distance of other points: each by its latitude in radians, the cosine of that, and its longitude in degrees.

    For asking about many points of which the two are known: it takes half the time.
    """
    one = radians(latitude)
    cosine = cos(one)

    def miles(other: float, other_cosine: float, other_longitude: float) -> float:
        north, east = sin((other - one) / 2), sin(radians(other_longitude - longitude) / 2)
        return 2 * EARTH_RADIUS * asin(min(1.0, sqrt(north * north + cosine * other_cosine * east * east)))

    return miles


def box(latitude: float, radius: float) -> tuple[float, float]:
    """How many degrees of latitude and of longitude a circle around a point reaches; a breath more than it does."""
    reach = radius / DEGREE * 1.0001
    if abs(latitude) + reach >= 90:
        return reach, 180.0
    sine = sin(radians(reach)) / cos(radians(latitude))
    return reach, degrees(asin(min(1.0, sine))) * 1.0001
