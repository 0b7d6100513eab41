"""The edge's rules, printed as a configuration for nginx.

How this works. The template nginx.conf is text with a few tables to fill in: keys,
values of Accept, targets with their files, errors. This module turns the rules into
those tables and escapes every text for nginx, so that the template holds no logic but
loops. A request is looked up in nginx's maps. One that matches all of them is answered
with a file; every other goes to the service, which decides by itself.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from shopwindow.edge.printing import rendered
from shopwindow.edge.rules import (
    APPLICATION,
    SERVICE_TIMEOUT_SECONDS,
    Error,
    Route,
    Rules,
)

NGINX_TEMPLATE = "nginx.conf"


@dataclass(frozen=True)
class EdgeLimits:
    """What one client may ask of the service through nginx. Files are not counted.

    ``rate``: requests a second; 0 is no limit. ``burst``: how many more are let through
    at once. ``requests``: how many are at work at the same time; 0 is no limit. The
    reasons for the numbers stand in the template.
    """

    rate: int = 50
    burst: int = 200
    requests: int = 64


_CODE_BY_STATUS = {
    400: "invalid",
    401: "no_key",
    413: "too_large",
    414: "uri_too_long",
    429: "too_many",
    500: "internal",
    501: "invalid",
    502: "bad_gateway",
    503: "unavailable",
    504: "timeout",
    505: "invalid",
}
"""nginx's own status → the code that is answered. Its 494, a header that is too large,
is sent as 400; the template does that.
"""

_LISTEN = re.compile(r"[A-Za-z0-9.:*_/=\[\] -]+", re.ASCII)
_UPSTREAM = re.compile(r"[A-Za-z0-9.:_/\[\]-]+", re.ASCII)

_PROTOCOLS = ("ssl", "http2", "quic", "proxy_protocol")
"""Parameters of `listen` that each server of an address repeats; the others may stand
once.
"""

_MAX_HASHED = 40
"""Characters of the longest text for nginx's hashes. A bucket is a cache line of 64
bytes; widening it is the operator's decision.
"""


def configuration(
    rules: Rules,
    keys: Mapping[str, str],
    files: Path,
    service: str,
    listen: str,
    *,
    limits: EdgeLimits,
    templates: Sequence[Path],
) -> str:
    """Return the configuration, for nginx's http context.

    ``keys``: application by key. ``files``: where the files are, an absolute path
    through the link `current`, which an activation moves. ``service``: `HOST:PORT` or
    `unix:PATH`. ``listen``: nginx's own, with its parameters. ``templates``: the
    folders in which the template is looked for; it runs in a sandbox.

    Raises ValueError for a path or an address that cannot be one, and Failure for a
    template that cannot be rendered.
    """
    if not files.is_absolute():
        raise ValueError(f"the files' path must be absolute, not {str(files)!r}")
    for name, address, pattern in (
        ("service", service, _UPSTREAM),
        ("listen", listen, _LISTEN),
    ):
        if not pattern.fullmatch(address):
            raise ValueError(f"{name}: {address!r} is not an address")

    return rendered(
        NGINX_TEMPLATE,
        templates,
        {"quoted": quoted, "expanded": expanded, "key": key, "host": host},
        {
            "rules": rules,
            "key_variable": rules.key_header.replace("-", "_"),
            "keys": list(_keys(keys)),
            "locations": {
                route.operation: _location(rules, route) for route in rules.routes
            },
            "targets": {
                route.operation: list(_targets(rules, route)) for route in rules.routes
            },
            "lifetimes": sorted({route.cache_control for route in rules.routes}),
            "errors": list(_errors(rules.errors)),
            "own_errors": list(_errors(rules.own_errors)),
            "open_paths": list(_exact_paths(rules.open_paths)),
            "own_paths": list(_exact_paths(rules.own_paths)),
            "files": files.as_posix(),
            "service": service,
            "listen": listen,
            "listen_again": _listen_again(listen),
            "patience": SERVICE_TIMEOUT_SECONDS,
            "limits": limits,
        },
    )


# -- how nginx reads text --------------------------------------------------------------


def quoted(text: str) -> str:
    """Write a text as one token, for a place where nginx expands no variables."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def expanded(text: str) -> str:
    """Write a text as one token, for a place where nginx does expand variables.

    It has no escape for `$` but a variable that holds it.
    """
    return quoted(text.replace("$", "${shopwindow_dollar}"))


def key(text: str) -> str:
    """Write an entry of a map that compares without case, as nginx's hashes do.

    A text that is too long for the hash becomes an expression.
    """
    return quoted(text if len(text) <= _MAX_HASHED else f"~*^{re.escape(text)}$")


def host(name: str) -> str:
    """Write a server's name, or an entry of a map of hosts."""
    return name if len(name) <= _MAX_HASHED else quoted(f"~^{re.escape(name)}$")


# -- the tables that the template prints -----------------------------------------------


def _keys(keys: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the entries of the map of keys: an entry, and `application key` as its
    value.

    The hash finds a key without case. Two keys that differ in case alone need
    expressions.
    """
    spellings = Counter(each.lower() for each in keys)
    for api_key, application in sorted(keys.items()):
        is_only = spellings[api_key.lower()] == 1
        entry = api_key if is_only else f"~^{api_key}$"
        yield quoted(entry), quoted(f"{application} {api_key}")


def _errors(errors: Iterable[Error]) -> Iterator[tuple[int, Error]]:
    """Yield nginx's own statuses, each with the error that is answered."""
    by_code = {error.code: error for error in errors}
    for status, code in _CODE_BY_STATUS.items():
        if code in by_code:
            yield status, by_code[code]


def _exact_paths(paths: Iterable[str]) -> Iterator[str]:
    """Yield paths as nginx has decoded them, without and with a slash."""
    for path in paths:
        yield from (quoted(unquote(path) + end) for end in ("", "/"))


def _listen_again(listen: str) -> str:
    """Return `listen` for a second server of the address, with what that must repeat."""
    address, *parameters = listen.split()
    return " ".join([address, *(word for word in parameters if word in _PROTOCOLS)])


def _location(rules: Rules, route: Route) -> str:
    """Return where nginx looks for an operation's targets, by the path as it has
    decoded it.
    """
    literal, parameter, _ = route.path.partition("{")
    return ("^~ " if parameter else "= ") + quoted(
        unquote(f"{rules.base_path}/") + literal
    )


def _targets(rules: Rules, route: Route) -> Iterator[tuple[str, str]]:
    """Yield the expressions of an operation's targets, each with the place of its file.

    An expression begins with the application's name, as the template looks it up.
    """
    base = re.escape(f"{rules.base_path}/")
    for target in route.targets:
        stem = re.sub(r"\\([0-9])", r"$\1", target.stem)
        stem = stem.replace(APPLICATION, "$shopwindow_application")
        expression = quoted(f"~^[^/]+{base}{target.pattern}$")
        file = f"/.shopwindow/{route.cache_control}/{stem}.$shopwindow_format"
        yield expression, quoted(file)
