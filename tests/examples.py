"""How often hypothesis tries a test that says so itself, in the profile of the run."""

from hypothesis import settings

USUAL = 100
"""Examples of a test in the profile `ci`, hypothesis' own number; what a test says is meant beside this."""


def examples(number: int) -> int:
    """How many examples a test has that has ``number`` in the profile `ci`: ten times as many in `nightly`."""
    return number * settings().max_examples // USUAL
