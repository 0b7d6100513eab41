"""The Operation: what may be asked, described once for binding, freezing, the edge and documents."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vitrine.content.model import Content
from vitrine.content.yaml import Json
from vitrine.interface.kinds import Kind

if TYPE_CHECKING:
    from vitrine.interface.call import Call

Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Parameter:
    """One parameter of the path or the query.

    ``default`` is the value of a parameter that is absent; the canonical spelling leaves it out, unless ``always``.
    """

    name: str
    kind: Kind
    about: str
    default: Any = None
    always: bool = False


@dataclass(frozen=True)
class FromContent:
    """A pure read. ``entries`` yields the arguments of the Calls to freeze; without it the operation is live only."""

    view: Callable[[Content, "Call"], Json]
    entries: Callable[[Content], Iterable[Arguments]] | None = None


@dataclass(frozen=True)
class AnyOf:
    """At least one of some parameters must be given."""

    names: tuple[str, ...]

    def fault(self, given: Arguments) -> str:
        """What is wrong with the given arguments, or nothing."""
        return "" if any(name in given for name in self.names) else f"one of {', '.join(self.names)} is required"


@dataclass(frozen=True)
class Operation:
    """One operation of the interface. ``path`` has no leading slash; ``{name}`` in it is a parameter.

    ``response`` names a schema in schemas/responses/. ``by_application``: the answer depends
    on the API key's application.
    """

    name: str
    path: str
    source: FromContent
    response: str
    about: str
    parameters: tuple[Parameter, ...] = ()
    rules: tuple[AnyOf, ...] = ()
    by_application: bool = False
    method: str = "GET"

    @property
    def schema(self) -> str:
        """The file of the response's schema."""
        return f"responses/{self.response}.json"

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        """The names of the parameters that stand in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))
