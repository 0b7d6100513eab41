"""How often hypothesis tries a test that says so itself, in the profile of the run."""

from hypothesis import settings

USUAL = 100
"""Examples of a test that says nothing, by hypothesis' own choice."""


def examples(number: int) -> int:
    """How many examples a test gets that wants ``number``: a quarter of them in every run, ten times in `nightly`."""
    return number * settings().max_examples // USUAL
