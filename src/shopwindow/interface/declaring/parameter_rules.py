"""Rules between the parameters of an operation: which of them must or may be there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shopwindow.problems import Fault


@dataclass(frozen=True)
class AnyOf:
    """At least one of some parameters must be there.

    Without ``required`` there may be none of them; without ``several``, no two.
    """

    names: tuple[str, ...]
    required: bool = True
    several: bool = True

    def fault(self, arguments: Mapping[str, Any]) -> Fault | None:
        """Return what is wrong, at one of the parameters; None where nothing is.

        ``arguments``: the values of the parameters that the request has; None where a
        text could not be parsed.
        """
        names = ", ".join(self.names)
        sent = [name for name in self.names if name in arguments]
        if len(sent) > 1 and not self.several:
            both = " and ".join(sent)
            return Fault(sent[0], f"only one of {names} may be given, not {both}")
        if self.required and not sent:
            alternatives = f"one of {names} " if len(self.names) > 1 else ""
            return Fault(self.names[0], f"{alternatives}is required")
        return None


@dataclass(frozen=True)
class Together:
    """Some parameters mean something only together."""

    names: tuple[str, ...]

    def fault(self, arguments: Mapping[str, Any]) -> Fault | None:
        """Return what is wrong, as `AnyOf.fault` does."""
        missing = [name for name in self.names if name not in arguments]
        if not missing or len(missing) == len(self.names):
            return None
        together = " and ".join(self.names)
        return Fault(missing[0], f"is missing; {together} must be given together")


@dataclass(frozen=True)
class Ordered:
    """A range's end is not before its beginning."""

    start: str
    finish: str

    def fault(self, arguments: Mapping[str, Any]) -> Fault | None:
        """Return what is wrong, as `AnyOf.fault` does."""
        start, finish = arguments.get(self.start), arguments.get(self.finish)
        if start is None or finish is None or start <= finish:
            return None
        return Fault(self.finish, f"{finish} is before {self.start} {start}")


ParameterRule = AnyOf | Together | Ordered
