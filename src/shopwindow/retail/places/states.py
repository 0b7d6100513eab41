"""US states and territories: their names, and how far each of them reaches.

states.csv has them. Degrees are rounded outwards to a tenth, some seven miles: a store
beyond its state's box has wrong coordinates, or a wrong state.
"""

import csv
from pathlib import Path

Box = tuple[float, ...]
"""South, north, west, east, in degrees."""

with open(Path(__file__).with_name("states.csv"), encoding="utf-8") as _file:
    _ROWS = list(csv.reader(_file))[1:]

STATES: dict[str, Box] = {code: tuple(map(float, box)) for code, _, *box in _ROWS}
"""By the two letters of a state."""

STATE_NAMES = {
    text.casefold(): code for code, name, *_ in _ROWS for text in (code, name)
}
"""The two letters of each state, by them and by its name, in lower case."""


def lies_in(state: str, latitude: float, longitude: float) -> bool:
    """Return whether a place lies in the box of a state; True where the state is none
    of ours.
    """
    if state not in STATES:
        return True
    south, north, west, east = STATES[state]
    return south <= latitude <= north and west <= longitude <= east
