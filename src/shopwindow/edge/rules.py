"""All that an edge needs to answer pre-rendered reads, as one structure from the operations;
printers write it down.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import permutations
from typing import Any
from urllib.parse import urlsplit

import orjson

from shopwindow.content.documents import Content
from shopwindow.content.schema import Schemas
from shopwindow.interface.answer import API_KEY_HEADER, cache_control, refuse, vary
from shopwindow.interface.call import Call, make
from shopwindow.interface.formats import JSON, RESPONSE_FORMATS, negotiate
from shopwindow.interface.interface import Interface
from shopwindow.interface.kinds import MAX_ID, Words
from shopwindow.interface.operation import Arguments, Operation
from shopwindow.problems import Fault, Refusal

APPLICATION = "{application}"
"""Stands in a file's stem for the name of the application that the key belongs to."""

ACCEPTS = (
    "",  # no header: OkHttp and Retrofit, Dart, Go, .NET's HttpClient, Apache HttpClient, urllib, Guzzle
    "*/*",  # curl, fetch, Alamofire and what is below it, requests, httpx, aiohttp, undici, Feign, Java since JDK 19
    *(format.media_type for format in RESPONSE_FORMATS),
    *(f"{format.media_type}, */*" for format in RESPONSE_FORMATS),  # HTTPie, the older
    *(f"{format.media_type},*/*" for format in RESPONSE_FORMATS),  # Kotlin's Ktor
    *(
        f"{format.media_type}; charset=utf-8" for format in RESPONSE_FORMATS
    ),  # written by hand, against RFC 9110's advice
    *(f"{format.media_type};charset=utf-8" for format in RESPONSE_FORMATS),
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
"""Values of Accept that an edge understands: the plain ones, and what common HTTP libraries
send when nobody says.
"""

# What an edge says of its own accord. Without a fault the detail is the code's message.
_REFUSALS = (
    Refusal("no_key"),
    Refusal("invalid", (Fault("", "the request line or a header is malformed or too large"),)),
    Refusal("too_large"),
    Refusal("uri_too_long"),
    Refusal("too_many"),
    Refusal("internal"),
    Refusal("bad_gateway"),
    Refusal("unavailable"),
    Refusal("timeout"),
)

_ID_PATTERN = "[1-9][0-9]{0,15}"
_STAND_IN = "application-of-the-key"


@dataclass(frozen=True)
class Target:
    """Spellings of pre-rendered Calls: ``pattern`` matches their whole target below the base
    URL, and no other.

    ``stem`` is the file's name without its extension, with `\\1` for the pattern's first group
    and APPLICATION. The patterns mean the same to Python, PCRE and RE2.
    """

    pattern: str
    stem: str


@dataclass(frozen=True)
class Route:
    """A pre-rendered operation: its path (with `{name}` for a parameter), its lifetime and its
    targets.
    """

    operation: str
    path: str
    cache_control: str
    targets: tuple[Target, ...]


@dataclass(frozen=True)
class Error:
    """An answer that an edge gives itself: the code's name, its status and a body for each
    format's name.
    """

    code: str
    status: int
    bodies: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Rules:
    """``applications`` are names with the digests of their keys, ``accepts`` values of Accept
    with format names.

    ``key_header`` is the header with the API key; empty where the interface asks for no key.
    ``base_path`` begins with a slash or is empty. ``order_host`` is empty where it is the base
    host. ``own_paths`` are whole paths, of the order host where there is one: of operations
    that answer failures in a form of their own, for which ``own_errors`` stand in place of
    ``errors``.
    """

    base_host: str
    base_path: str
    order_host: str
    key_header: str
    vary: str
    media_types: tuple[tuple[str, str], ...]
    accepts: tuple[tuple[str, str], ...]
    applications: tuple[tuple[str, tuple[str, ...]], ...]
    routes: tuple[Route, ...]
    errors: tuple[Error, ...]
    own_paths: tuple[str, ...]
    own_errors: tuple[Error, ...]


def rules(interface: Interface, content: Content, schemas: Schemas) -> Rules:
    """What an edge has to know of a release with this content."""
    base = urlsplit(content.setting("base_url"))
    order = urlsplit(content.setting("order_base_url"))
    operations = interface.operations
    own = [operation for operation in operations if operation.own_failures]
    refusals = [
        refusal for refusal in _REFUSALS if interface.applications or refusal.code != "no_key"
    ]
    base_host, order_host = base.hostname or "", order.hostname or ""
    applications = sorted(interface.keys(content).items())
    return Rules(
        base_host,
        base.path,
        order_host if order_host != base_host else "",
        API_KEY_HEADER if interface.applications else "",
        vary(content),
        tuple((format.name, format.media_type) for format in RESPONSE_FORMATS),
        tuple(_accepts(ACCEPTS)),
        tuple((name, tuple(sorted(digests))) for name, digests in applications),
        tuple(_route(operation, content) for operation in operations if operation.prerendered),
        tuple(_error(refusal, schemas) for refusal in refusals),
        tuple(
            f"{(order if operation.order_host else base).path}/{operation.path}"
            for operation in own
        ),
        tuple(_error(refusal, schemas, own[0]) for refusal in refusals if own),
    )


def digest(rules: Rules) -> str:
    """The manifest's `edge`: it changes when the edge's configuration has to be written and
    loaded again.

    Digests of keys are part of it, for an edge must hear of a key that is withdrawn; stores and
    their like are not.
    """
    return sha256(orjson.dumps(rules, option=orjson.OPT_SORT_KEYS)).hexdigest()


# -- targets -----------------------------------------------------------------------------------


def _route(operation: Operation, content: Content) -> Route:
    lifetime = cache_control(content.lifetime(operation.name, operation.lifetime))
    return Route(operation.name, operation.path, lifetime, tuple(_targets(operation, content)))


def _targets(operation: Operation, content: Content) -> Iterator[Target]:
    """Yield the spellings of an operation's pre-rendered Calls, from Calls with stand-ins for
    ids and for the application.

    Queries that stand in their files' names as they are share one expression: an edge tries
    expressions in turn.
    """
    verbatim: dict[tuple[str, str], list[str]] = {}
    others: dict[str, str] = {}
    for arguments, ids in _shapes(operation, content):
        call = make(operation, JSON, arguments, _STAND_IN)
        stem = (
            (call.filename() or "").removesuffix(JSON.extension).replace(_STAND_IN, APPLICATION)
        )
        if not stem:  # no file name can hold it
            continue
        asked = call.request()
        head, _, tail = stem.partition(";")
        if tail == asked.query:
            place = _captured(re.escape(asked.path), ids), _numbered(head, asked.path, ids)
            verbatim.setdefault(place, []).append(_any_id(re.escape(asked.query), ids))
        else:
            others[_captured(re.escape(asked.target), ids)] = _numbered(stem, asked.target, ids)
        for target, pattern in _other_spellings(call):
            others[_captured(pattern, ids)] = _numbered(stem, target, ids)
    for (path, head), queries in verbatim.items():
        yield from _joined(path, head, queries)
    for pattern, stem in others.items():
        yield Target(pattern, stem)


def _shapes(
    operation: Operation, content: Content
) -> Iterator[tuple[Arguments, tuple[str, ...]]]:
    """The arguments of the pre-rendered Calls, each shape once, and the ids in them that stand for
    any other.
    """
    seen = set()
    for arguments in operation.entries(content):
        shape: dict[str, Any] = dict(arguments)
        ids = []
        for number, parameter in enumerate(operation.parameters):
            given, stand_in = shape.get(parameter.name), str(MAX_ID - number)
            if (
                given
                and getattr(parameter.kind, "identifies", False)
                and parameter.kind.format(given).isdigit()
            ):
                shape[parameter.name] = parameter.kind.parse(stand_in)
                ids.append(stand_in)
        if (key := tuple(shape.items())) not in seen:
            seen.add(key)
            yield shape, tuple(ids)


def _other_spellings(call: Call) -> Iterator[tuple[str, str]]:
    """Targets that ask the same, each with its expression: words in any order, their comma
    encoded, none at all.
    """
    target = call.request().target
    for parameter in call.operation.parameters:
        words = call[parameter.name] if isinstance(parameter.kind, Words) else ()
        if len(words or ()) > 1:
            orders = "|".join(
                "(?:,|%2[Cc])".join(map(re.escape, order)) for order in permutations(words)
            )
            written = re.escape(parameter.kind.format(words))
            if written in re.escape(target):
                yield target, re.escape(target).replace(written, f"(?:{orders})")
    optional = tuple(
        replace(parameter, always=False) for parameter in call.operation.parameters
    )
    brief = (
        replace(call, operation=replace(call.operation, parameters=optional)).request().target
    )
    if brief != target:
        yield brief, re.escape(brief)


def _joined(path: str, head: str, queries: Iterable[str]) -> Iterator[Target]:
    if "" in queries:
        yield Target(path, head)
    if given := "|".join(filter(None, queries)):
        yield Target(rf"{path}\?({given})", rf"{head};\{re.compile(path).groups + 1}")


def _any_id(pattern: str, ids: Iterable[str]) -> str:
    for each in ids:
        pattern = pattern.replace(each, _ID_PATTERN)
    return pattern


def _captured(pattern: str, ids: Iterable[str]) -> str:
    for each in ids:
        pattern = pattern.replace(each, f"({_ID_PATTERN})")
    return pattern


def _numbered(stem: str, target: str, ids: Iterable[str]) -> str:
    """A stem whose ids are groups, counted as they come in the target."""
    for number, each in enumerate(
        sorted(filter(target.__contains__, ids), key=target.index), 1
    ):
        stem = stem.replace(each, f"\\{number}")
    return stem


# -- Accept and errors -------------------------------------------------------------------------


def _accepts(values: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each value that asks for a format, with the name of that format. The service decides
    likewise.
    """
    for value in dict.fromkeys(values):
        if format := negotiate(value):
            yield value, format.name


def _error(refusal: Refusal, schemas: Schemas, operation: Operation | None = None) -> Error:
    answers = [
        (format.name, refuse(refusal, format, schemas, operation))
        for format in RESPONSE_FORMATS
    ]
    return Error(
        refusal.code,
        answers[0][1].status,
        tuple((name, told.body.decode()) for name, told in answers),
    )
