"""The edge's rules, printed as a configuration for Varnish, in VCL.

How this works. The template varnish.vcl compares a request with the rules, and gives
it the name of the file that answers it. Varnish reads no files: it fetches the answer
from the service, or from an nginx before that, and stores it by the file's name, the
format and the application. So every spelling of a question is one entry of the cache,
and a key is part of none.

VCL has no tables, so the rules become expressions and conditions. A text is written as
`{"…"}`, in which VCL reads no escapes.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path

from shopwindow.edge.printing import rendered
from shopwindow.edge.rules import (
    APPLICATION,
    MAX_DROPPED,
    SERVICE_TIMEOUT_SECONDS,
    Route,
    Rules,
    place,
)

VARNISH_TEMPLATE = "varnish.vcl"

_BACKEND = re.compile(
    r"unix:(?P<path>/[A-Za-z0-9._/-]+)"
    r"|(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9.-]+)):(?P<port>[0-9]+)",
    re.ASCII,
)

_NAME_AS_IS = "[A-Za-z0-9._~-]*"
"""A parameter's name that means the same before and after it is decoded."""


@dataclass(frozen=True)
class _Expression:
    """A target as Varnish compares it, and its file's stem."""

    pattern: str
    stem: str
    by_application: bool


@dataclass(frozen=True)
class _RoutePlace:
    """A route as Varnish compares it.

    ``place`` matches the URLs of its path. ``unread`` matches the parameters that the
    operation does not read; empty where none may be dropped.
    """

    operation: str
    place: str
    unread: str
    targets: tuple[_Expression, ...]


def configuration(
    rules: Rules,
    service: str,
    purgers: Sequence[str] = (),
    templates: Sequence[Path] = (),
    timeout: int = SERVICE_TIMEOUT_SECONDS,
) -> str:
    """Return the configuration, a whole VCL file.

    ``service``: `HOST:PORT` or `unix:PATH` of `shopwindow serve`, or of an nginx that
    has its files. ``purgers``: addresses or networks that may send PURGE.
    ``templates``: the folders in which the template is looked for, by default the
    program's own. ``timeout``: seconds that Varnish waits for the service.

    Raises ValueError for an address that cannot be one, and Failure for a template that
    cannot be rendered.
    """
    address = _BACKEND.fullmatch(service)
    if not address:
        must_be = "must be HOST:PORT or unix:PATH"
        raise ValueError(f"service: {service!r} is not an address: {must_be}")
    errors = {error.code: error for error in rules.errors}
    own_errors = {error.code: error for error in rules.own_errors}
    return rendered(
        VARNISH_TEMPLATE,
        templates,
        {"text": text},
        {
            "rules": rules,
            "service": [
                ("host" if name == "v6" else name, value)
                for name, value in address.groupdict().items()
                if value
            ],
            "purgers": [_network(each) for each in purgers],
            "accepts": list(_accepts(rules)),
            "no_accept": dict(rules.accepts).get("", ""),
            "media_types": dict(rules.media_types),
            "routes": [_place(rules, route) for route in rules.routes],
            "order_host": rf"(?i)^{re.escape(rules.order_host)}\.?(?::[0-9]*)?$",
            "open_paths": _any_of(rules.open_paths),
            "own_paths": _any_of(rules.own_paths),
            "errors": errors,
            "own_errors": own_errors,
            "patience": timeout,
        },
    )


def text(value: str) -> str:
    """Write a text as VCL does, which ends it at the first `"}` and has no escape."""
    return '{"' + value.replace('"}', '""} {"}') + '"}'


# -- the tables that the template prints -----------------------------------------------


def _network(address: str) -> str:
    """Return an address or a network as an entry of an acl. Raises ValueError."""
    try:
        network = ip_network(address)
    except ValueError as error:
        raise ValueError(f"purge-from: {error}") from None
    return f'"{network.network_address}"/{network.prefixlen}'


def _accepts(rules: Rules) -> Iterator[tuple[str, str]]:
    """Yield each format with an expression for the values of Accept that get it."""
    for format, _ in rules.media_types:
        values = [value for value, name in rules.accepts if name == format and value]
        yield format, f"(?i)^(?:{'|'.join(map(re.escape, values))})$"


def _any_of(paths: Sequence[str]) -> str:
    """Return an expression for the URLs of some paths; empty where there are none."""
    alternatives = "|".join(map(re.escape, paths))
    return rf"^(?:{alternatives})/?(?:\?|$)" if alternatives else ""


def _place(rules: Rules, route: Route) -> _RoutePlace:
    base = re.escape(f"{rules.base_path}/")
    return _RoutePlace(
        route.operation,
        rf"^{base}{place(route)}(?:\?.{{0,{MAX_DROPPED}}})?$",
        "" if route.query is None else _unread(route.query),
        tuple(
            _Expression(
                f"^{base}{target.pattern}$", target.stem, APPLICATION in target.stem
            )
            for target in route.targets
        ),
    )


def _unread(names: Sequence[str]) -> str:
    """Return an expression for a parameter with another name, and the `&` behind it.

    A name with an escape may be one of these names, so it is not matched.
    """
    read = "|".join(map(re.escape, names))
    return rf"(?<=[?&])(?!(?:{read})(?:[=&]|$)){_NAME_AS_IS}(?:=[^&]*)?(?:&|$)"
