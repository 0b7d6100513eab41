"""Environment variables of the project's former name are refused.

A variable that is silently ignored would start a service with other settings than its
operator wrote. The former name stands in this module and its test, and nowhere else.
"""

from collections.abc import Mapping

from shopwindow.problems import Failure

FORMER = "VITRINE_"
PREFIX = "SHOPWINDOW_"


def refuse_former_variables(environment: Mapping[str, str]) -> None:
    """Raise Failure if any variable has the former name; it lists the new name of each."""
    former = sorted(name for name in environment if name.startswith(FORMER))
    if not former:
        return
    renamed = ", ".join(
        f"{name} is now {PREFIX}{name.removeprefix(FORMER)}" for name in former
    )
    raise Failure(
        f"the project has a new name, and so have its variables: {renamed}; rename them"
    )
