"""How a caller learns of the steps of what takes long."""

from collections.abc import Callable

from shopwindow.content.processes import Progress

Steps = Callable[[str], Progress | None]
"""Called with the name of a step, "checking" or "rendering"; returns what is called as
the step goes on, or None.
"""


def no_steps(step: str) -> None:
    """Follow no step."""
    return
