"""The Operation: what may be asked, described once for binding, freezing, the edge and documents."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vitrine.content.model import Content
from vitrine.content.yaml import Json
from vitrine.interface.kinds import Callback, FieldMask, Kind
from vitrine.interface.ports import Running, Store
from vitrine.problems import Refusal

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
class Others:
    """Parameters of the query that nobody can list, such as filters by facet: those whose whole name fits ``names``."""

    names: str
    kind: Kind
    about: str

    def admit(self, name: str) -> bool:
        return re.fullmatch(self.names, name, re.ASCII) is not None


@dataclass(frozen=True)
class FromContent:
    """A pure read. ``entries`` yields the arguments of the Calls to freeze; without it the operation is live only.

    ``spellings``: so many of them, one after another, ask the same in other words, and have one answer.
    """

    view: Callable[[Content, "Call"], Json]
    entries: Callable[[Content], Iterable[Arguments]] | None = None
    spellings: int = 1


@dataclass(frozen=True)
class Moment:
    """What an action knows beside its Call: the time (UTC), a source of random bytes, the client's address.

    ``secret``: what digests of single-use codes are made with; empty where the service was given none.
    """

    now: datetime
    random: Callable[[int], bytes]
    address: str = ""
    secret: bytes = b""


@dataclass(frozen=True)
class Outcome:
    """What came of an action: the answer's value, and its ETag where it has one.

    ``refusal``: the request is declined all the same, though what was written stays (an attempt is counted).
    """

    value: Json = None
    etag: str | None = None
    refusal: Refusal | None = None


@dataclass(frozen=True)
class FromStore:
    """An action in one transaction of the store; a Refusal rolls it back. ``writes`` False: it only reads."""

    action: Callable[[Store, Content, "Call", Moment], Outcome]
    writes: bool = True


@dataclass(frozen=True)
class FromRunning:
    """What only the running service knows, or does outside the store. Never frozen."""

    view: Callable[[Running, Content, "Call", Moment], Outcome]


Source = FromContent | FromStore | FromRunning


@dataclass(frozen=True)
class AnyOf:
    """At least one of some parameters must be given."""

    names: tuple[str, ...]

    def fault(self, given: Collection[str], arguments: Arguments) -> str:
        """What is wrong, or nothing. ``given`` names what was sent, ``arguments`` what of it could be read."""
        for name in self.names:
            if name in given:
                return ""
        return f"{'' if len(self.names) == 1 else 'one of '}{', '.join(self.names)} is required"


@dataclass(frozen=True)
class Together:
    """Some parameters mean something only together."""

    names: tuple[str, ...]

    def fault(self, given: Collection[str], arguments: Arguments) -> str:
        missing = [name for name in self.names if name not in given]
        if not missing or len(missing) == len(self.names):
            return ""
        return f"{' and '.join(self.names)} must be given together; {', '.join(missing)} is missing"


@dataclass(frozen=True)
class Ordered:
    """A range's end is not before its beginning."""

    start: str
    finish: str

    def fault(self, given: Collection[str], arguments: Arguments) -> str:
        start, finish = arguments.get(self.start), arguments.get(self.finish)
        if start is None or finish is None or start <= finish:
            return ""
        return f"{self.finish} {finish} is before {self.start} {start}"


@dataclass(frozen=True)
class OnlyOne:
    """Of some parameters not more than one is given; exactly one where that is ``required``."""

    names: tuple[str, ...]
    required: bool = True

    def fault(self, given: Collection[str], arguments: Arguments) -> str:
        found = [name for name in self.names if name in given]
        if len(found) > 1:
            return f"only one of {', '.join(self.names)} may be given, not {' and '.join(found)}"
        return f"one of {', '.join(self.names)} is required" if self.required and not found else ""


Rule = AnyOf | Together | Ordered | OnlyOne


@dataclass(frozen=True)
class Cookie:
    """A property of the body that a cookie may give where the body does not; ``setting`` of site.yaml is its name."""

    property: str
    setting: str


@dataclass(frozen=True)
class Operation:
    """One operation of the interface. ``path`` has no leading slash; ``{name}`` in it is a parameter.

    ``response`` names a schema in schemas/responses/. ``items`` leads to the items of the answer that a `_fields` mask
    applies to. ``by_application``: the answer depends on the API key's application. ``others``: what it knows in the
    query beside its parameters.

    ``body`` names the schema of the request's body in schemas/requests/; ``body_optional``: it may be missing;
    ``cookie``: what a cookie may give of it.
    ``order_host``: it is served on the order host alone. ``own_failures``: it answers failures in the form of
    single-use codes (interface 7.2). ``safe`` False: a GET that writes, so there is no HEAD. ``tagged``: its answers
    have an ETag of what is asked for, and If-Match is honoured. ``limited``: it may be asked so often in a while.
    """

    name: str
    path: str
    source: Source
    response: str
    about: str
    parameters: tuple[Parameter, ...] = ()
    rules: tuple[Rule, ...] = ()
    items: tuple[str, ...] = ()
    by_application: bool = False
    method: str = "GET"
    others: Others | None = None
    body: str | None = None
    body_optional: bool = False
    cookie: Cookie | None = None
    order_host: bool = False
    own_failures: bool = False
    safe: bool = True
    tagged: bool = False
    limited: bool = False

    @property
    def schema(self) -> str:
        """The file of the response's schema."""
        return f"responses/{self.response}.json"

    @property
    def request_schema(self) -> str:
        """The file of the body's schema."""
        return f"requests/{self.body}.json"

    @property
    def frozen(self) -> bool:
        """Whether some of its answers are files."""
        return isinstance(self.source, FromContent) and self.source.entries is not None

    def entries(self, content: Content) -> Iterable[Arguments]:
        """The arguments of the Calls to freeze."""
        source = self.source
        return source.entries(content) if isinstance(source, FromContent) and source.entries else ()

    def questions(self, content: Content) -> list[Sequence[Arguments]]:
        """The same, with all that ask the same together."""
        entries = list(self.entries(content))
        size = self.source.spellings if isinstance(self.source, FromContent) else 1
        return [entries[start : start + size] for start in range(0, len(entries), size)]

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """The HTTP methods that ask for it."""
        return ("GET", "HEAD") if self.method == "GET" and self.safe else (self.method,)

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        """The names of the parameters that stand in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))

    @cached_property
    def named(self) -> Mapping[str, Parameter]:
        """The parameters of path and query by name."""
        return {parameter.name: parameter for parameter in self.parameters}

    @cached_property
    def in_query(self) -> frozenset[str]:
        """The names of the parameters that stand in the query."""
        return frozenset(self.named) - set(self.in_path)

    def knows(self, name: str) -> bool:
        """Whether a parameter of the query is one of the operation's."""
        return name in self.in_query or (self.others is not None and name not in self.named and self.others.admit(name))

    def kind(self, name: str) -> Kind:
        """The kind of a parameter that the operation knows."""
        if self.others is not None and name not in self.named:
            return self.others.kind
        return self.named[name].kind

    def ordered(self, names: Collection[str]) -> Iterable[str]:
        """Names that the operation knows in their declared order; others after them, by name."""
        if len(names) < 2:
            return names
        places = self._places
        if self.others is None:
            return sorted(names, key=places.__getitem__)
        return sorted(names, key=lambda name: (places.get(name, len(places)), name))

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {parameter.name: place for place, parameter in enumerate(self.parameters)}

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """What the parameters are where they are absent, by name."""
        return {parameter.name: parameter.default for parameter in self.parameters}


CALLBACK = Parameter(
    "callback", Callback(), "Name of a JavaScript function: the answer is JSON as its argument (JSONP)."
)
FIELDS = Parameter(
    "_fields",
    FieldMask(),
    "Fields to return, comma-separated; those within a field in parentheses. Others are left out, required or not.",
)
