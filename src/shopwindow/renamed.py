"""The project's former name, as far as anything still meets it: environment variables of that
name are refused.

A variable that is silently ignored would start a service with other settings than its operator
wrote. This module and its test are the one place where the former name stands.
"""

from collections.abc import Mapping

from shopwindow.problems import Failure

FORMER = "VITRINE_"
PREFIX = "SHOPWINDOW_"


def refuse_former_variables(environment: Mapping[str, str]) -> None:
    """Raise Failure where the environment has variables of the former name, with what they are
    called now.
    """
    former = sorted(name for name in environment if name.startswith(FORMER))
    if former:
        renamed = ", ".join(
            f"{name} is now {PREFIX}{name.removeprefix(FORMER)}" for name in former
        )
        raise Failure(
            f"the project has a new name, and so have its variables: {renamed}; rename them"
        )
