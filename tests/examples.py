"""How often hypothesis tries a test that says so itself, in the profile of the run."""

from hypothesis import settings

USUAL = 100
"""Examples of a test in the profile `usual`, hypothesis' own number; what a test says is meant beside this."""


def examples(number: int) -> int:
    """How many examples a test has that has ``number`` in `usual`: six of ten in `ci`, ten times in `nightly`."""
    return number * settings().max_examples // USUAL
