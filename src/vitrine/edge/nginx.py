"""The rules as a configuration for nginx, and the file of API keys that it is made with."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from vitrine.content.listing import shipped
from vitrine.content.model import Content
from vitrine.edge.rules import APPLICATION, Error, Route, Rules

TEMPLATE = "nginx.conf"
PATIENCE = 30
"""Seconds that nginx waits for the service before it answers 504."""

# nginx's own status → the code that is answered. 494 is a header that is too large; it is sent as 400.
_STATUSES = {
    400: "invalid",
    401: "no_key",
    413: "too_large",
    414: "uri_too_long",
    500: "internal",
    501: "invalid",
    502: "bad_gateway",
    503: "unavailable",
    504: "timeout",
    505: "invalid",
}
_KEY = re.compile(r"[A-Za-z0-9]{24}", re.ASCII)
_LISTEN = re.compile(r"[A-Za-z0-9.:*_/=\[\] -]+", re.ASCII)
_SERVICE = re.compile(r"[A-Za-z0-9.:_/\[\]-]+", re.ASCII)
_PROTOCOLS = ("ssl", "http2", "quic", "proxy_protocol")
"""Parameters of `listen` that each server of an address repeats; the others may stand once."""

_HASHED = 40
"""The longest text for nginx's hashes: a bucket is a cache line of 64 bytes, and widening it is the operator's."""


def read_keys(text: str, content: Content) -> tuple[dict[str, str], list[str]]:
    """Lines `<application> <key>` → applications by key, and warnings about the keys that are left out.

    Left out is a key whose digest the content does not list: that is how a release withdraws one. Blank lines and
    those that begin with `#` mean nothing. Raises ValueError with the number of a malformed line. No message shows
    what may be a key.
    """
    digests = {name: frozenset(content.application(name)["apiKeys"]) for name in content.applications()}
    keys: dict[str, str] = {}
    warnings = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        application, *rest = line.split()
        if len(rest) != 1 or not _KEY.fullmatch(rest[0]):
            raise ValueError(f"line {number}: must be an application and a key of 24 letters and digits")
        if application not in digests:
            warnings.append(f"line {number}: left out, the content has no such application")
        elif sha256(rest[0].encode()).hexdigest() not in digests[application]:
            warnings.append(f"line {number}: left out, not among the apiKeys of {application} in the content")
        else:
            keys[rest[0]] = application
    return keys, warnings


def configuration(
    rules: Rules,
    keys: Mapping[str, str],
    files: Path,
    service: str,
    listen: str,
    templates: Sequence[Path] = (),
    patience: int = PATIENCE,
) -> str:
    """Content for nginx's http context. ``files`` is absolute and goes through `current`, the link that a switch moves.

    ``service`` is `HOST:PORT` or `unix:PATH`; ``listen`` is nginx's, with its parameters. ``templates`` are folders,
    searched in order; without any, the program's own. Raises ValueError.
    """
    if not files.is_absolute():
        raise ValueError(f"the files' path must be absolute, not {str(files)!r}")
    for name, value, form in (("service", service, _SERVICE), ("listen", listen, _LISTEN)):
        if not form.fullmatch(value):
            raise ValueError(f"{name}: {value!r} is not an address")
    template = _environment(templates or [shipped("templates")]).get_template(TEMPLATE)
    rendered: str = template.render(
        rules=rules,
        key_variable=rules.key_header.replace("-", "_"),
        keys=_keys(keys),
        locations={route.operation: _location(rules, route) for route in rules.routes},
        targets={route.operation: list(_targets(rules, route)) for route in rules.routes},
        lifetimes=sorted({route.cache_control for route in rules.routes}),
        errors=list(_errors(rules.errors)),
        own_errors=list(_errors(rules.own_errors)),
        own_paths=[quoted(unquote(path) + end) for path in rules.own_paths for end in ("", "/")],
        files=files.as_posix(),
        service=service,
        listen=listen,
        listen_again=" ".join(word for at, word in enumerate(listen.split()) if not at or word in _PROTOCOLS),
        patience=patience,
    )
    return rendered


def _environment(templates: Sequence[Path]) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(templates),
        undefined=StrictUndefined,
        autoescape=False,  # it is no HTML: `quoted` and `expanded` escape
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"quoted": quoted, "expanded": expanded, "key": key, "host": host}
    return environment


# -- how nginx reads text ----------------------------------------------------------------------------------------


def quoted(text: str) -> str:
    """Text as one token, where nginx expands no variables."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def expanded(text: str) -> str:
    """Text as one token, where nginx does expand variables: it has no escape for `$` but a variable that holds it."""
    return quoted(text.replace("$", "${vitrine_dollar}"))


def key(text: str) -> str:
    """An entry of a map that compares without case, as nginx's hashes do; an expression where the hash has no room."""
    return quoted(text if len(text) <= _HASHED else f"~*^{re.escape(text)}$")


def exact(text: str) -> str:
    """An entry of a map that compares with case."""
    return quoted(f"~^{re.escape(text)}$")


def host(name: str) -> str:
    """A server's name, or an entry of a map of hosts."""
    return name if len(name) <= _HASHED else quoted(f"~^{re.escape(name)}$")


# -- tables ------------------------------------------------------------------------------------------------------


def _keys(keys: Mapping[str, str]) -> list[tuple[str, str]]:
    """Entries of the map of keys. The hash finds a key without case; two that differ in case alone need expressions."""
    folded = Counter(each.lower() for each in keys)
    return [
        (quoted(each) if folded[each.lower()] == 1 else exact(each), quoted(f"{application} {each}"))
        for each, application in sorted(keys.items())
    ]


def _errors(errors: Iterable[Error]) -> Iterator[tuple[int, Error]]:
    """nginx's own statuses, each with the error that is answered."""
    by_code = {error.code: error for error in errors}
    return ((status, by_code[code]) for status, code in _STATUSES.items() if code in by_code)


def _location(rules: Rules, route: Route) -> str:
    """Where nginx looks for an operation's targets, by the path as it has decoded it."""
    literal, parameter, _ = route.path.partition("{")
    return ("^~ " if parameter else "= ") + quoted(unquote(f"{rules.base_path}/") + literal)


def _targets(rules: Rules, route: Route) -> Iterator[tuple[str, str]]:
    """The expressions of an operation's targets, after the application's name, each with its file's place."""
    base = re.escape(f"{rules.base_path}/")
    for target in route.targets:
        file = re.sub(r"\\([0-9])", r"$\1", target.stem).replace(APPLICATION, "$vitrine_application")
        yield (
            quoted(f"~^[^/]+{base}{target.pattern}$"),
            quoted(f"/.vitrine/{route.cache_control}/{file}.$vitrine_format"),
        )
