"""What views need and do not make themselves: the protocols, implemented above this package."""

from typing import Protocol

Point = tuple[float, float]
"""Latitude and longitude in degrees."""


class Places(Protocol):
    """Where zip codes, cities, counties and states are; None for what is not known."""

    def find_zip(self, code: str) -> Point | None: ...

    def find_city(self, city: str, state: str | None) -> Point | None: ...

    def find_county(self, county: str, state: str | None) -> Point | None: ...

    def find_state(self, state: str) -> Point | None: ...
