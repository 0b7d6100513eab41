"""What an edge must know to answer pre-rendered reads by itself, as one structure.

How this works. An edge, such as nginx, has the request line, the headers and the files,
but it cannot bind a request. So the rules say by regular expressions which requests a
file answers. They follow from the operation's own pre-rendered Calls, in four steps:

1. In a Call's arguments every id is replaced by a stand-in, a number that no document
   has. Calls that differ only in ids are then equal, and one of them is enough.
2. The Call's canonical request is spelled as text, and escaped as an expression. Its
   file name is spelled as well.
3. In both, the stand-ins are replaced: by a group for any id in the expression, and by
   the number of that group in the file name.
4. Other spellings that clients really send become expressions of their own.

What matches no expression goes to the service, which reads every spelling. So a missing
spelling costs time, and a wrong one would be a wrong answer. `nginx` and `worker`
print the structure.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import permutations
from typing import Any
from urllib.parse import urlsplit

import orjson

from shopwindow.content.documents.documents import Content
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.answering.answer import (
    API_KEY_HEADER,
    CHALLENGE,
    cache_control,
    no_key,
    refuse,
    vary,
)
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.kinds import MAX_ID, Words
from shopwindow.interface.declaring.operation import Arguments, Call, Operation
from shopwindow.interface.formats import JSON, RESPONSE_FORMATS, accepted_formats
from shopwindow.problems import Fault, Refusal

APPLICATION = "{application}"
"""Stands in a file's stem for the name of the application that the key belongs to."""

ACCEPTS = (
    "",  # no header: OkHttp and Retrofit, Dart, Go, .NET's HttpClient, Apache HttpClient, urllib, Guzzle
    "*/*",  # curl, fetch, Alamofire and what is below it, requests, httpx, aiohttp, undici, Feign, Java since JDK 19
    "application/json",
    "application/xml",
    "application/json, */*",  # HTTPie, the older
    "application/xml, */*",
    "application/json,*/*",  # Kotlin's Ktor
    "application/xml,*/*",
    "text/xml",
    # Written by hand, against RFC 9110's advice.
    "application/json; charset=utf-8",
    "application/xml; charset=utf-8",
    "application/json;charset=utf-8",
    "application/xml;charset=utf-8",
    "application/json, text/plain, */*",  # axios, Angular
    "application/json, text/javascript, */*; q=0.01",  # jQuery's getJSON
    "application/xml, text/xml, */*; q=0.01",  # jQuery, dataType xml
    "application/json, */*;q=0.5",  # HTTPie
    "*/*; q=0.5, application/xml",  # Ruby's rest-client, the older
    "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",  # Java's HttpURLConnection until JDK 18
    "text/html, image/gif, image/jpeg, */*; q=0.2",  # and in later updates of JDK 11 and 17
    "application/json, application/*+json",  # Spring's RestTemplate and RestClient
    "text/plain, application/json, application/*+json, */*",
    "application/xml, text/xml, application/*+xml",
    "application/xml, text/xml, application/json, application/*+xml, application/*+json",
    "application/json, text/json, text/x-json, text/javascript, application/xml, text/xml",  # RestSharp
    "application/json, text/json, text/x-json, text/javascript, *+json, application/xml, text/xml, *+xml, *",
)
"""Values of Accept that an edge understands: the plain ones, and what common HTTP
libraries send where the program that uses them sets none.
"""

SERVICE_TIMEOUT_SECONDS = 30
"""Seconds that an edge waits for the service before it answers by itself."""

MAX_DROPPED = 1000
"""Characters of the longest query from which an edge drops parameters. Trackers and
cache busters take less, and the service refuses a query that is too long.
"""

_EDGE_REFUSALS = (
    no_key(),
    Refusal(
        "invalid",
        Fault("head", "the request line or a header is malformed or too large"),
    ),
    Refusal("too_large", Fault("body", "is larger than this host takes")),
    Refusal("uri_too_long", Fault("path", "is longer than this host takes")),
    Refusal("too_many", Fault("rate", "this host takes no more for now")),
    Refusal("internal"),
    Refusal("bad_gateway"),
    Refusal("unavailable"),
    Refusal("timeout"),
)
"""What an edge answers by itself. The others are the host's own faults."""

_ID_PATTERN = "[1-9][0-9]{0,15}"
"""An id: MAX_ID has 16 digits."""

_STAND_IN = "application-of-the-key"
"""Stands for the application in a Call, whose file name admits no braces. APPLICATION
replaces it.
"""


@dataclass(frozen=True)
class FileTarget:
    """Spellings of pre-rendered Calls, and the file that answers them.

    ``pattern`` matches whole targets below the base URL, and only those of these Calls.
    ``stem`` is the file's name without its extension, with `\\1` for the pattern's
    first group and APPLICATION. The patterns mean the same to Python, PCRE and RE2.
    """

    pattern: str
    stem: str


@dataclass(frozen=True)
class Route:
    """A pre-rendered operation: its path, its Cache-Control and its targets.

    ``path`` has `{name}` for a parameter. ``query``: the names of all parameters that
    the operation reads in a query; another may be dropped before a target is compared.
    None: nobody can list them, so none may be dropped.
    """

    operation: str
    path: str
    cache_control: str
    query: tuple[str, ...] | None
    targets: tuple[FileTarget, ...]


@dataclass(frozen=True)
class Error:
    """A response that an edge gives by itself.

    ``code`` is a name of `interface.answering.answer.ERROR_CODES`; ``bodies`` are pairs of a
    format's name and the body in it.
    """

    code: str
    status: int
    bodies: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Rules:
    """All that an edge must know.

    ``base_path`` begins with a slash or is empty. ``order_host`` is empty where it is
    the base host. ``key_header`` is the header with the API key, and ``challenge`` the
    WWW-Authenticate of a 401; both are empty where the interface needs no key.

    Three fields are pairs. ``media_types``: a format's name and its media type.
    ``accepts``: a value of Accept and the name of the format that it gets.
    ``applications``: a name and the digests of its keys.

    ``open_paths`` are whole paths that the service answers on the base host without a
    key: those of the documentation. A slash may follow them.

    ``own_paths`` are whole paths of operations that have a form of failures of their
    own, on the order host where there is one. For them ``own_errors`` replace
    ``errors``.
    """

    base_host: str
    base_path: str
    order_host: str
    key_header: str
    challenge: str
    vary: str
    media_types: tuple[tuple[str, str], ...]
    accepts: tuple[tuple[str, str], ...]
    applications: tuple[tuple[str, tuple[str, ...]], ...]
    routes: tuple[Route, ...]
    errors: tuple[Error, ...]
    open_paths: tuple[str, ...]
    own_paths: tuple[str, ...]
    own_errors: tuple[Error, ...]


def rules(interface: Interface, content: Content, schemas: Schemas) -> Rules:
    """Return what an edge must know of a release with this content."""
    base = urlsplit(content.setting("base_url"))
    order = urlsplit(content.setting("order_base_url"))
    base_host, order_host = base.hostname or "", order.hostname or ""
    operations = interface.operations
    own = [operation for operation in operations if operation.own_failures]
    needs_key = interface.applications is not None
    refusals = [
        refusal for refusal in _EDGE_REFUSALS if needs_key or refusal.code != "no_key"
    ]
    applications = sorted(interface.keys(content).items())
    return Rules(
        base_host=base_host,
        base_path=base.path,
        order_host=order_host if order_host != base_host else "",
        key_header=API_KEY_HEADER if needs_key else "",
        challenge=CHALLENGE[1] if needs_key else "",
        vary=vary(content, interface.applications),
        media_types=tuple(
            (format.name, format.media_type) for format in RESPONSE_FORMATS
        ),
        accepts=tuple(  # as the service does
            (value, format.name)
            for value in ACCEPTS
            if (format := accepted_formats(value).answer)
        ),
        applications=tuple(
            (name, tuple(sorted(digests))) for name, digests in applications
        ),
        routes=tuple(
            _route(operation, content)
            for operation in operations
            if operation.prerendered
        ),
        errors=tuple(_error(refusal, schemas) for refusal in refusals),
        open_paths=tuple(f"{base.path}/{path}" for path in interface.routes.open_paths),
        own_paths=tuple(
            f"{(order if operation.order_host else base).path}/{operation.path}"
            for operation in own
        ),
        own_errors=tuple(
            _error(refusal, schemas, own[0]) for refusal in refusals if own
        ),
    )


def digest(rules: Rules) -> str:
    """Return the manifest's `edge`, the SHA-256 (hex) of the rules.

    Where it changes, the edge's configuration must be written and loaded again. It
    covers the digests of keys, since an edge must learn that a key is withdrawn. It
    does not cover documents such as stores: their ids are expressions.
    """
    return sha256(orjson.dumps(rules, option=orjson.OPT_SORT_KEYS)).hexdigest()


def place(route: Route) -> str:
    """Return an expression for the path of a route's targets, below the base URL."""
    return re.sub(r"\\\{.*?\\\}", "[^/?]*", re.escape(route.path))


# -- targets ---------------------------------------------------------------------------


def _route(operation: Operation, content: Content) -> Route:
    lifetime = content.lifetime(operation.name, operation.lifetime)
    caching = cache_control(lifetime, content.setting("stale"))
    query = None if operation.others else tuple(sorted(operation.in_query))
    targets = tuple(_targets(operation, content))
    return Route(operation.name, operation.path, caching, query, targets)


def _targets(operation: Operation, content: Content) -> Iterator[FileTarget]:
    """Yield the spellings of an operation's pre-rendered Calls."""
    stems: dict[str, str] = {}
    for arguments, ids in _shapes(operation, content):
        call = operation.call(JSON, arguments, _STAND_IN)
        name = call.filename()
        if not name:  # no file name can hold these arguments
            continue
        stem = name.removesuffix(JSON.extension).replace(_STAND_IN, APPLICATION)
        for target, pattern in _spellings(call):
            stems[_captured(pattern, ids)] = _numbered(stem, target, ids)
    for pattern, stem in stems.items():
        yield FileTarget(pattern, stem)


def _shapes(
    operation: Operation, content: Content
) -> Iterator[tuple[Arguments, tuple[str, ...]]]:
    """Yield the arguments of pre-rendered Calls with stand-ins for ids, and these.

    A stand-in is spelled as a number, from MAX_ID downwards. Every combination of
    arguments comes once.
    """
    ids = [
        (parameter, stand_in := str(MAX_ID - number), parameter.kind.parse(stand_in))
        for number, parameter in enumerate(operation.parameters)
        if parameter.kind.identifies
    ]
    seen = set()
    for arguments in operation.entries(content):
        shape: dict[str, Any] = dict(arguments)
        stand_ins = []
        for parameter, stand_in, value in ids:
            id = shape.get(parameter.name)
            if id and parameter.kind.format(id).isdigit():
                shape[parameter.name] = value
                stand_ins.append(stand_in)
        key = tuple(shape.items())
        if key not in seen:
            seen.add(key)
            yield shape, tuple(stand_ins)


def _spellings(call: Call) -> Iterator[tuple[str, str]]:
    """Yield targets of a Call, each with its expression: the canonical one, and others.

    Words may stand in any order, and the comma between them may be encoded. A parameter
    that is always written may be left out.
    """
    target = call.target
    yield target, re.escape(target)
    for parameter in call.operation.parameters:
        words = call[parameter.name] if isinstance(parameter.kind, Words) else ()
        if len(words or ()) > 1:
            orders = "|".join(
                "(?:,|%2[Cc])".join(map(re.escape, order))
                for order in permutations(words)
            )
            written = re.escape(parameter.kind.format(words))
            if written in re.escape(target):
                yield target, re.escape(target).replace(written, f"(?:{orders})")

    unneeded = call.operation.always.items()
    needed = tuple(pair for pair in call.arguments if pair not in unneeded)
    shorter = replace(call, arguments=needed).target
    if shorter != target:
        yield shorter, re.escape(shorter)


def _captured(pattern: str, stand_ins: Iterable[str]) -> str:
    """Return an expression in which a group for any id replaces each stand-in."""
    for stand_in in stand_ins:
        pattern = pattern.replace(stand_in, f"({_ID_PATTERN})")
    return pattern


def _numbered(stem: str, target: str, stand_ins: Iterable[str]) -> str:
    """Return a stem in which the numbers of groups replace the stand-ins.

    The groups are numbered in the order in which stand-ins appear in ``target``.
    """
    in_target = sorted(filter(target.__contains__, stand_ins), key=target.index)
    for number, stand_in in enumerate(in_target, 1):
        stem = stem.replace(stand_in, f"\\{number}")
    return stem


# -- errors ----------------------------------------------------------------------------


def _error(
    refusal: Refusal, schemas: Schemas, operation: Operation | None = None
) -> Error:
    """Return a refusal in every format, in the form that an operation gives it."""
    bodies = []
    for format in RESPONSE_FORMATS:
        response = refuse(refusal, format, schemas, operation)
        bodies.append((format.name, response.body.decode()))
    return Error(refusal.code, response.status, tuple(bodies))
