"""An Operation is what may be asked, described once for all that follows from it; a Call is one
asking.

Both stand here, for an operation's source takes Calls, and a Call is of an operation.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.interface.formats import JSON, RESPONSE_FORMATS, Format
from shopwindow.interface.kinds import Callback, FieldMask, ParameterKind
from shopwindow.interface.request import SAFE, Request, quoted
from shopwindow.interface.running import Running
from shopwindow.interface.table import Tables
from shopwindow.problems import Refusal

Arguments = Mapping[str, Any]

_FILE_NAME = re.compile(r"[A-Za-z0-9._=;,-]{1,200}(/[A-Za-z0-9._=;,-]{1,200})*", re.ASCII)
"""Names that every file system and object store takes as they are; 200 leaves room for an
extension below 255.
"""


@dataclass(frozen=True)
class Parameter:
    """One parameter of the path or the query.

    ``default`` is the value of a parameter that is absent; the canonical spelling leaves it
    out, unless ``always``. ``example``: a text as a client writes it, which the sample content
    answers with 200. Without one it is the default, the first word that its kind admits, or its
    kind's least number.
    """

    name: str
    kind: ParameterKind
    about: str
    default: Any = None
    always: bool = False
    example: str = ""


@dataclass(frozen=True)
class Others:
    """Parameters of the query that nobody can list, such as filters by facet: those whose whole
    name fits ``names``.

    ``example``: one of them, by its name, as a client writes it.
    """

    names: str
    kind: ParameterKind
    about: str
    example: tuple[str, str]

    def admit(self, name: str) -> bool:
        return re.fullmatch(self.names, name, re.ASCII) is not None


@dataclass(frozen=True)
class FromContent:
    """A pure read.

    ``entries`` yields the arguments of the Calls to pre-render; without it, every response is
    dynamic. ``spellings``: how many entries in a row are spellings of one question and share a
    response.
    """

    view: Callable[[Content, "Call"], Json]
    entries: Callable[[Content], Iterable[Arguments]] | None = None
    spellings: int = 1


@dataclass(frozen=True)
class Moment:
    """What an action knows beside its Call: the time (UTC), a source of random bytes, the
    client's address.

    ``secret``: what digests of single-use codes are made with; empty where the service was
    given none. ``is_trusted``: the address is a server of the shop's own, and not a customer's.
    """

    now: datetime
    random: Callable[[int], bytes]
    address: str = ""
    secret: bytes = b""
    is_trusted: bool = False


@dataclass(frozen=True)
class Outcome:
    """What came of an action: the answer's value, and its ETag where it has one.

    ``refusal``: the request is declined all the same, though what was written stays (an attempt
    is counted).
    """

    value: Json = None
    etag: str | None = None
    refusal: Refusal | None = None


@dataclass(frozen=True)
class FromStore:
    """An action in one transaction of the database; a Refusal rolls it back. ``writes`` False:
    it only reads.
    """

    action: Callable[[Tables, Content, "Call", Moment], Outcome]
    writes: bool = True


@dataclass(frozen=True)
class FromRunning:
    """What only the running service knows, or does outside the database. Never pre-rendered."""

    view: Callable[[Running, Content, "Call", Moment], Outcome]


OperationSource = FromContent | FromStore | FromRunning


@dataclass(frozen=True)
class AnyOf:
    """At least one of some parameters must be given."""

    names: tuple[str, ...]

    def fault(self, given: Collection[str], arguments: Arguments) -> str:
        """What is wrong, or nothing. ``given`` names what was sent, ``arguments`` what of it
        could be read.
        """
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
            return (
                f"only one of {', '.join(self.names)} may be given, not {' and '.join(found)}"
            )
        return (
            f"one of {', '.join(self.names)} is required" if self.required and not found else ""
        )


ParameterRule = AnyOf | Together | Ordered | OnlyOne


@dataclass(frozen=True)
class Cookie:
    """A property of the body that a cookie may give where the body does not; ``setting`` of
    site.yaml is its name.
    """

    property: str
    setting: str


class Rate(NamedTuple):
    """So many in so many minutes."""

    most: int
    minutes: int


@dataclass(frozen=True)
class Allowance:
    """How much of an operation is allowed, by address and by application.

    ``setting`` of site.yaml's `limits` overrides the two rates; ``words`` say what is counted.
    ``cost``: what a Call counts as, 0 for nothing; its second argument says whether the answer
    is stored for repeated requests.
    """

    setting: str
    words: str
    address: Rate
    application: Rate
    cost: Callable[["Call", bool], int]


@dataclass(frozen=True)
class Operation:
    """One operation of the interface. ``path`` has no leading slash; ``{name}`` in it is a
    parameter.

    ``response`` names a schema in schemas/responses/. ``items`` leads to the items of the
    answer that a `_fields` mask applies to. ``by_application``: the answer depends on the API
    key's application. ``others``: what it knows in the query beside its parameters.

    ``body`` names the schema of the request's body in schemas/requests/; ``body_optional``: it
    may be missing; ``cookie``: what a cookie may give of it. ``order_host``: it is served on
    the order host alone. ``own_failures``: it answers failures in the form of single-use codes
    (interface 7.2). ``safe`` False: a GET that writes, so there is no HEAD. ``tagged``: its
    answers have an ETag of what is asked for, and If-Match is honoured. ``limited``: it may be
    asked so often in a while; ``allowance``: how often, where the service counts before the
    action. ``lifetime``: seconds for which caches may keep an answer where site.yaml does not
    name the operation; None: site.yaml's default.
    """

    name: str
    path: str
    source: OperationSource
    response: str
    about: str
    parameters: tuple[Parameter, ...] = ()
    rules: tuple[ParameterRule, ...] = ()
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
    allowance: Allowance | None = None
    lifetime: int | None = None

    @property
    def schema(self) -> str:
        """The file of the response's schema."""
        return f"responses/{self.response}.json"

    @property
    def request_schema(self) -> str:
        """The file of the body's schema."""
        return f"requests/{self.body}.json"

    @property
    def prerendered(self) -> bool:
        """Whether some of its answers are files."""
        return isinstance(self.source, FromContent) and self.source.entries is not None

    def entries(self, content: Content) -> Iterable[Arguments]:
        """Return the arguments of the Calls to pre-render."""
        source = self.source
        return (
            source.entries(content)
            if isinstance(source, FromContent) and source.entries
            else ()
        )

    def grouped_entries(self, content: Content) -> list[Sequence[Arguments]]:
        """Return the entries, grouped: those of a group are spellings of one Call."""
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
        return name in self.in_query or (
            self.others is not None and name not in self.named and self.others.admit(name)
        )

    def kind(self, name: str) -> ParameterKind:
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


@dataclass(frozen=True)
class Call:
    """One asking. ``arguments`` holds what differs from its default, in the declared order;
    then others, by name.

    ``body`` is the checked body, every place of its schema's one type. ``if_match``: that
    header (RFC 9110 §13.1.1).
    """

    operation: Operation
    format: Format
    arguments: tuple[tuple[str, Any], ...] = ()
    application: str | None = None
    body: Json = None
    if_match: str | None = None

    def __getitem__(self, name: str) -> Any:
        """An argument, or the parameter's default."""
        for key, value in self.arguments:
            if key == name:
                return value
        return self.operation.defaults[name]

    def others(self) -> dict[str, Any]:
        """The arguments that the operation's description does not name (Operation.others)."""
        return {
            name: value for name, value in self.arguments if name not in self.operation.named
        }

    def texts(self) -> dict[str, str]:
        """The arguments as text: those of the path, those that differ from their default, those
        always written.
        """
        return dict(self._texts)

    @cached_property
    def _texts(self) -> dict[str, str]:
        given = dict(self.arguments)
        texts = {}
        for parameter in self.operation.parameters:
            if parameter.name in given or parameter.always:
                texts[parameter.name] = parameter.kind.format(
                    given.get(parameter.name, parameter.default)
                )
        if self.operation.others:
            texts |= {
                name: self.operation.others.kind.format(value)
                for name, value in self.others().items()
            }
        return texts

    def request(self) -> Request:
        """The canonical spelling, without a key."""
        texts = self.texts()
        path = self._path(texts)
        query = "&".join(
            [f"{quoted(name, '')}={quoted(text, SAFE)}" for name, text in texts.items()]
        )
        headers = {"accept": self.format.media_type}
        if self.if_match is not None:
            headers["if-match"] = self.if_match
        if self.body is None:
            return Request(path, query, headers, self.operation.method)
        body = orjson.dumps(self.body)
        headers["content-type"] = JSON.media_type
        return Request(path, query, headers, self.operation.method, len(body), body)

    def filename(self) -> str | None:
        """The file that holds the answer, relative to the release's files/; None where no file
        name can.
        """
        name = self._stem() + self.format.extension
        return name if _FILE_NAME.fullmatch(name) else None

    def filenames(self) -> list[str]:
        """The files that hold the answer in every format; none where one of them has no file
        name.
        """
        stem = self._stem()
        names = [stem + format.extension for format in RESPONSE_FORMATS]
        return names if all(map(_FILE_NAME.fullmatch, names)) else []

    def _stem(self) -> str:
        texts = self.texts()
        name = self._path(texts)
        if self.operation.by_application:
            name += f"/{self.application}"
        return name + "".join([f";{key}={text}" for key, text in texts.items()])

    def _path(self, texts: dict[str, str]) -> str:
        """The path with its parameters written into it; they are taken out of ``texts``."""
        path = self.operation.path
        for name in self.operation.in_path:
            path = path.replace(f"{{{name}}}", texts.pop(name))
        return path


CALLBACK = Parameter(
    "callback",
    Callback(),
    "Name of a JavaScript function: the answer is JSON as its argument (JSONP).",
    example="receive",
)
FIELDS = Parameter(
    "_fields",
    FieldMask(),
    "Fields to return, comma-separated; those within a field in parentheses. Others are left out, required or not.",
    example="name",
)
