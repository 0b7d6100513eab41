"""An Operation says what may be called; a Call is one use of it, with its arguments.

Routing, binding, pre-rendering, the edge's configuration and OpenAPI all follow from
the value that describes an operation. Its ``source`` decides where it is answered:
`FromContent` by a file or by the service, `FromStore` and `FromRunning` by the service
alone.

What a declaration needs stands here together: parameters and the rules between them,
sources, what an action knows and returns, how often a client may call. So does the
Call, because an operation's source takes Calls, and a Call belongs to an operation.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import Callback, FieldMask, ParameterKind
from shopwindow.interface.declaring.table import Tables
from shopwindow.interface.formats import RESPONSE_FORMATS, Format
from shopwindow.interface.request import SAFE, quoted
from shopwindow.problems import Fault, Refusal

Arguments = Mapping[str, Any]
"""Parameter name → value, as the parameter's kind parses it."""

_FILE_NAME = re.compile(
    r"[A-Za-z0-9._=;,-]{1,200}(/[A-Za-z0-9._=;,-]{1,200})*", re.ASCII
)
"""Names that every file system and object store accepts. File systems admit 255 bytes a
segment; 200 leaves room for an extension.
"""


@dataclass(frozen=True)
class Parameter:
    """One parameter of the path or the query.

    ``about``: its description for the documentation. ``default``: its value where it is
    absent; the canonical spelling leaves it out, unless ``always``. ``example``: a text
    as a client writes it, which the sample content answers with 200; without one it is
    the default, the first word that the kind admits, or the kind's least number.
    ``alternative``: it says in another way what a parameter before it says, so that a
    request has one of both.
    """

    name: str
    kind: ParameterKind
    about: str
    default: Any = None
    always: bool = False
    example: str = ""
    alternative: bool = False


@dataclass(frozen=True)
class Others:
    """Parameters of the query that nobody can list, such as filters by facet.

    ``names``: a pattern that their whole names match. ``example``: the name of one, and
    its text as a client writes it. ``exists``: whether the content knows a name; one
    that it does not know is ignored, as unknown parameters are.
    """

    names: str
    kind: ParameterKind
    about: str
    example: tuple[str, str]
    exists: Callable[[Content, str], bool] = lambda content, name: True


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


@dataclass(frozen=True)
class FromContent:
    """A read that depends on the content and the Call alone.

    ``view`` returns the value of the response. ``entries`` yields the arguments of the
    Calls to pre-render; without it, every response is dynamic. ``spellings``: how many
    entries in a row mean the same and share a response.
    """

    view: Callable[[Content, "Call"], Json]
    entries: Callable[[Content], Iterable[Arguments]] | None = None
    spellings: int = 1


LOG_MEGABYTES, LOG_HOURS = 64, 24
"""How large and how old a file of a log becomes, unless something else is said."""


@dataclass(frozen=True)
class LogKeeping:
    """How a log is stored.

    With ``durable``, lines are on the disk before they are acknowledged; otherwise the
    operating system has them and may lose them when power fails. A new file begins
    before one grows above ``max_bytes``, and once one is ``max_seconds`` old.
    """

    durable: bool = True
    max_bytes: int = LOG_MEGABYTES << 20
    max_seconds: int = LOG_HOURS * 3600


class LogWriter(Protocol):
    """A log that operations append lines to."""

    def write(self, lines: Sequence[str], keeping: LogKeeping) -> None:
        """Append lines, which are stored when this returns.

        Raises Refusal where they cannot be stored.
        """

    def count_refused(self, application: str, reason: str, number: int) -> None:
        """Count lines that an operation refused.

        ``reason`` is a word that the operation chooses, for metrics.
        """


@dataclass(frozen=True)
class Moment:
    """What an action knows beside its Call.

    ``now``: the time (UTC). ``random``: returns so many random bytes. ``log``: returns
    the service's log, and raises Refusal where it has none. ``status``: returns how the
    last build ended, as jobName, startTime, endTime and status (interface W2.13).
    ``address``: the client's. ``secret``: keys the digests of single-use codes; empty
    where the service has none. ``is_trusted``: the address is a server of the shop's
    own, and not a customer's.
    """

    now: datetime
    random: Callable[[int], bytes]
    log: Callable[[], LogWriter]
    status: Callable[[], dict[str, Any]]
    address: str = ""
    secret: bytes = b""
    is_trusted: bool = False


@dataclass(frozen=True)
class Outcome:
    """The result of an action: the response's value, and its ETag where it has one.

    ``refusal``: the request is refused, and yet what was written stays, such as the
    count of an attempt. A Refusal that the action raises takes back what it wrote.
    ``is_replayed``: it is the stored one of an earlier request under its
    Idempotency-Key.
    """

    value: Json = None
    etag: str | None = None
    refusal: Refusal | None = None
    is_replayed: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class FromStore:
    """An action in one transaction of the database, which a Refusal rolls back.

    Whoever else writes waits for the transaction. So what only the response says beside,
    from the release, is added after it, by ``complete``: it returns the response's
    value for that of the Outcome. A repeated request gets the stored Outcome, completed
    from the release of that time.

    ``writes``: False where it only reads.
    """

    action: Callable[[Tables, Content, "Call", Moment], Outcome]
    writes: bool = True
    complete: Callable[[Json, Content, "Call"], Json] | None = None


@dataclass(frozen=True)
class FromRunning:
    """What only the running service knows, or does outside the database."""

    view: Callable[[Content, "Call", Moment], Outcome]


@dataclass(frozen=True)
class Page:
    """A page that describes the interface, for everybody. The service adds operations
    with such a source to those of an interface.

    ``respond`` returns the response, in a content coding.
    """

    respond: Callable[[Any], Any]


OperationSource = FromContent | FromStore | FromRunning | Page


@dataclass(frozen=True)
class Cookie:
    """A property of the body that a cookie may hold where the body does not.

    ``setting``: the entry of site.yaml that names the cookie.
    """

    property: str
    setting: str


class Rate(NamedTuple):
    """At most so many in so many minutes."""

    most: int
    minutes: int


@dataclass(frozen=True)
class Allowance:
    """How much of an operation is allowed, by address and by application.

    ``setting``: the entry of site.yaml's `limits` that overrides the two rates.
    ``words``: what is counted. ``cost``: returns what a Call counts as, 0 for nothing;
    its second argument says whether the answer is stored for repeated requests.
    """

    setting: str
    words: str
    address: Rate
    application: Rate
    cost: Callable[["Call", bool], int]


@dataclass(frozen=True)
class CountedByAction:
    """The action itself counts, in the table of limits, and refuses what is too much.

    ``words``: what it counts.
    """

    words: str


@dataclass(frozen=True)
class Sender:
    """Who sent a request, as far as the request says.

    ``device`` and ``user`` are stored with the response of a request that may be
    repeated, so that it is forgotten together with the person. ``name`` tells other
    senders apart, such as `bagId 7`.
    """

    device: str | None = None
    user: str | None = None
    name: str = ""


@dataclass(frozen=True)
class Operation:
    """One operation of the interface.

    The request. ``path``: without a leading slash; ``{name}`` in it is a parameter.
    ``rules``: what must hold between parameters. ``others``: parameters of the query
    beside those that are listed. ``safe``: False for a GET that writes, of which there
    is no HEAD. ``order_host``: it is served on the order host alone.

    The body. ``body``: the name of its schema in schemas/requests/; None: the operation
    has none. ``body_optional``: it may be missing. ``cookie``: a property of it that a
    cookie may hold.

    The response. ``response``: the name of its schema in schemas/responses/.
    ``subject``: what the interface calls the object that the response is, where it
    stands in no property of this name; contracts' paths may begin with it. ``items``:
    the properties that lead to the list of items, which a `_fields` mask applies to.
    ``by_application``: it depends on the API key's application. ``own_failures``:
    failures have the form of single-use codes (interface 7.2); the code and
    the reason of each that is the operation's own. ``missing``: what an action says of
    an id that nobody has, for documents; a view is asked. ``tagged``: it has an
    ETag of what it shows, and If-Match is honored. ``lifetime``: seconds for which
    caches may store it where site.yaml does not name the operation; None: site.yaml's
    default.

    ``family``: the heading below which documents list it; an interface that is put
    together of families says which (`in_family`).

    How often. ``allowance``: how often clients may call it. ``unlimited``: why a write
    needs no allowance.
    ``sender`` returns who a request that may be repeated (Idempotency-Key) is from;
    without it, that is its network address.
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
    own_failures: tuple[tuple[str, str], ...] = ()
    missing: Fault | None = None
    safe: bool = True
    tagged: bool = False
    allowance: Allowance | CountedByAction | None = None
    unlimited: str = ""
    lifetime: int | None = None
    sender: Callable[["Call"], Sender] | None = None
    family: str = ""
    subject: str = ""

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
        if not isinstance(source, FromContent) or source.entries is None:
            return ()
        return source.entries(content)

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
        return tuple(
            part[1:-1] for part in self.path.split("/") if part.startswith("{")
        )

    @cached_property
    def named(self) -> Mapping[str, Parameter]:
        """The parameters of path and query by name."""
        return {parameter.name: parameter for parameter in self.parameters}

    @cached_property
    def in_query(self) -> frozenset[str]:
        """The names of the parameters that stand in the query."""
        return frozenset(self.named) - set(self.in_path)

    def knows(self, name: str) -> bool:
        """Return whether a parameter of the query is one of the operation's."""
        if name in self.named or not self.others:
            return name in self.in_query
        return re.fullmatch(self.others.names, name, re.ASCII) is not None

    def kind(self, name: str) -> ParameterKind:
        """Return the kind of a parameter of the operation."""
        if self.others is not None and name not in self.named:
            return self.others.kind
        return self.named[name].kind

    def ordered(self, names: Collection[str]) -> Iterable[str]:
        """Return names of parameters as declared; those of `others` after them, by name.

        Raises KeyError for a name that the operation does not have.
        """
        if len(names) < 2:
            return names
        listed = [name for name in self.named if name in names]
        others = sorted(set(names).difference(listed))
        if others and self.others is None:
            raise KeyError(others[0])
        return [*listed, *others]

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """The values of the parameters where they are absent, by name."""
        return {parameter.name: parameter.default for parameter in self.parameters}

    @cached_property
    def always(self) -> Mapping[str, Any]:
        """Of these, the ones that are always written."""
        return {
            parameter.name: parameter.default
            for parameter in self.parameters
            if parameter.always
        }

    def call(
        self,
        format: Format,
        arguments: Arguments,
        application: str | None = None,
        body: Json = None,
        if_match: str | None = None,
    ) -> "Call":
        """Return a Call of parsed arguments, which it brings into order; those at their
        default are left out, unless they are always written.
        """
        values = {**self.always, **arguments}
        written = [
            (name, values[name])
            for name in self.ordered(values)
            if name in self.always or values[name] != self.defaults.get(name)
        ]
        asking = application if self.by_application else None
        # If-Match concerns only operations whose responses have an ETag
        guard = if_match if self.tagged else None
        return Call(self, format, tuple(written), asking, body, guard)


def in_family(heading: str, operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Return operations with the heading below which documents list them."""
    return tuple(replace(operation, family=heading) for operation in operations)


@dataclass(frozen=True)
class Call:
    """One call of an operation.

    ``arguments``: those that the canonical spelling has (`Operation.call`), in the
    declared order; then others, by name. So two Calls that mean the same are equal.
    ``application``: whose API key was sent, where the response depends on it. ``body``:
    checked, every value of its schema's one type. ``if_match``: that header (RFC 9110
    §13.1.1). ``ignored``: names in the request that look like `Operation.others` and are
    none; the log has them. They do not tell Calls apart.
    """

    operation: Operation
    format: Format
    arguments: tuple[tuple[str, Any], ...] = ()
    application: str | None = None
    body: Json = None
    if_match: str | None = None
    ignored: tuple[str, ...] = field(default=(), compare=False)

    def __getitem__(self, name: str) -> Any:
        """Return an argument, or the parameter's default."""
        for key, value in self.arguments:
            if key == name:
                return value
        return self.operation.defaults[name]

    def others(self) -> dict[str, Any]:
        """Return the arguments that the operation does not list (`Operation.others`)."""
        return {
            name: value
            for name, value in self.arguments
            if name not in self.operation.named
        }

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Parameter name → text of what the canonical spelling has."""
        return {
            name: self.operation.kind(name).format(value)
            for name, value in self.arguments
        }

    @property
    def target(self) -> str:
        """Its canonical path and query below the base URL, percent-encoded."""
        path, texts = self._path()
        path = quoted(path, SAFE + "/")
        query = "&".join(
            [f"{quoted(name, '')}={quoted(text, SAFE)}" for name, text in texts.items()]
        )
        return f"{path}?{query}" if query else path

    def filename(self) -> str | None:
        """Return the name of the file that holds the response, below files/.

        It follows from the Call alone. None where it would be no valid file name; then
        only the service answers.
        """
        names = zip(RESPONSE_FORMATS, self.filenames(), strict=False)
        return dict(names).get(self.format)

    def filenames(self) -> list[str]:
        """Return the files that hold the response in every format.

        There are none where one of them would have no valid file name.
        """
        stem, texts = self._path()
        if self.operation.by_application:
            stem += f"/{self.application}"
        stem += "".join([f";{key}={text}" for key, text in texts.items()])
        names = [stem + format.extension for format in RESPONSE_FORMATS]
        return names if all(map(_FILE_NAME.fullmatch, names)) else []

    def _path(self) -> tuple[str, dict[str, str]]:
        """Return the path with its parameters in it, and the texts of all others, which
        belong into the query, or after the file's stem.
        """
        path, texts = self.operation.path, dict(self.texts)
        for name in self.operation.in_path:
            path = path.replace(f"{{{name}}}", texts.pop(name))
        return path, texts


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
