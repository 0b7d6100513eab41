"""The rules as a configuration for nginx, and the file of API keys that it is made with."""

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from shopwindow.content.documents import Content
from shopwindow.content.listing import shipped
from shopwindow.edge.rules import APPLICATION, Error, Route, Rules
from shopwindow.interface.interface import Interface
from shopwindow.problems import Failure, failures

TEMPLATE = "nginx.conf"
SERVICE_TIMEOUT_SECONDS = 30
"""Seconds that nginx waits for the service before it answers 504."""


@dataclass(frozen=True)
class EdgeLimits:
    """What one client may ask of the service through nginx. Files are not counted.

    ``rate``: requests a second; 0 is no limit. ``burst``: how many more are let through at
    once. ``requests``: how many are at work at the same time; 0 is no limit. The reasons for
    the numbers stand in the template.
    """

    rate: int = 50
    burst: int = 200
    requests: int = 64


NO_LIMITS = EdgeLimits(0, 0, 0)

# nginx's own status → the code that is answered. 494 is a header that is too large; it is sent
# as 400.
_STATUSES = {
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
_API_KEY = re.compile(r"[A-Za-z0-9]{24}", re.ASCII)
_LISTEN = re.compile(r"[A-Za-z0-9.:*_/=\[\] -]+", re.ASCII)
_SERVICE = re.compile(r"[A-Za-z0-9.:_/\[\]-]+", re.ASCII)
_PROTOCOLS = ("ssl", "http2", "quic", "proxy_protocol")
"""Parameters of `listen` that each server of an address repeats; the others may stand once."""

_HASHED = 40
"""The longest text for nginx's hashes: a bucket is a cache line of 64 bytes, and widening it is
the operator's.
"""


def read_keys(
    text: str, interface: Interface, content: Content
) -> tuple[dict[str, str], list[str]]:
    """Lines `<application> <key>` → applications by key, and warnings about the keys that are
    left out.

    Left out is a key whose digest the content does not list: that is how a release withdraws
    one. Blank lines and those that begin with `#` mean nothing. Raises ValueError with the
    number of a malformed line. No message shows what may be a key.
    """
    digests = {name: frozenset(keys) for name, keys in interface.keys(content).items()}
    keys: dict[str, str] = {}
    warnings = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        application, *rest = line.split()
        if len(rest) != 1 or not _API_KEY.fullmatch(rest[0]):
            raise ValueError(
                f"line {number}: must be an application and a key of 24 letters and digits"
            )
        if application not in digests:
            warnings.append(f"line {number}: left out, the content has no such application")
        elif sha256(rest[0].encode()).hexdigest() not in digests[application]:
            warnings.append(
                f"line {number}: left out, not among the apiKeys of {application} in the content"
            )
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
    patience: int = SERVICE_TIMEOUT_SECONDS,
    limits: EdgeLimits = NO_LIMITS,
) -> str:
    """Content for nginx's http context. ``files`` is absolute and goes through `current`, the
    link that a switch moves.

    ``service`` is `HOST:PORT` or `unix:PATH`; ``listen`` is nginx's, with its parameters.
    ``templates`` are the folders that are searched for its template, by default the program's
    own; what they hold runs in a sandbox. Raises ValueError, and Failure for a template that cannot be
    rendered.
    """
    if not files.is_absolute():
        raise ValueError(f"the files' path must be absolute, not {str(files)!r}")
    for name, value, form in (("service", service, _SERVICE), ("listen", listen, _LISTEN)):
        if not form.fullmatch(value):
            raise ValueError(f"{name}: {value!r} is not an address")
    from jinja2 import TemplateError

    values = {
        "rules": rules,
        "key_variable": rules.key_header.replace("-", "_"),
        "keys": _keys(keys),
        "locations": {route.operation: _location(rules, route) for route in rules.routes},
        "targets": {route.operation: list(_targets(rules, route)) for route in rules.routes},
        "lifetimes": sorted({route.cache_control for route in rules.routes}),
        "errors": list(_errors(rules.errors)),
        "own_errors": list(_errors(rules.own_errors)),
        "own_paths": [
            quoted(unquote(path) + end) for path in rules.own_paths for end in ("", "/")
        ],
        "files": files.as_posix(),
        "service": service,
        "listen": listen,
        "listen_again": " ".join(
            word for at, word in enumerate(listen.split()) if not at or word in _PROTOCOLS
        ),
        "patience": patience,
        "limits": limits,
    }
    try:
        rendered: str = (
            _environment(templates or [shipped("templates")])
            .get_template(TEMPLATE)
            .render(values)
        )
    except TemplateError as error:
        raise Failure(
            f"the template {TEMPLATE} cannot be rendered: {type(error).__name__}: {error}"
        ) from None
    return rendered


def write(path: Path, text: str) -> None:
    """Put a configuration in a file's place, whole or not at all, readable by its owner alone:
    it holds API keys.

    nginx reads its configuration as root, so nobody else needs to. A link is followed, as in
    sites-enabled. Raises Failure.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise Failure(
            f"{path} is not a file; --write needs one, and without it the configuration is printed"
        )
    with failures(target, f"{path} is as it was"):
        descriptor, draft = tempfile.mkstemp(
            prefix=f".{target.name}-", dir=target.parent
        )  # of mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, target)
        except BaseException:
            os.unlink(draft)
            raise
        _settle(target.parent)


def _settle(folder: Path) -> None:
    """A rename in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _environment(templates: Sequence[Path]) -> Any:
    """Sandboxed: a template of somebody else may print what it likes, and run nothing, where
    root calls this.
    """
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(templates),
        undefined=StrictUndefined,
        autoescape=False,  # it is no HTML: `quoted` and `expanded` escape
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"quoted": quoted, "expanded": expanded, "key": key, "host": host}
    return environment


# -- how nginx reads text ----------------------------------------------------------------------


def quoted(text: str) -> str:
    """Text as one token, where nginx expands no variables."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def expanded(text: str) -> str:
    """Text as one token, where nginx does expand variables: it has no escape for `$` but a
    variable that holds it.
    """
    return quoted(text.replace("$", "${shopwindow_dollar}"))


def key(text: str) -> str:
    """An entry of a map that compares without case, as nginx's hashes do; an expression where
    the hash has no room.
    """
    return quoted(text if len(text) <= _HASHED else f"~*^{re.escape(text)}$")


def exact(text: str) -> str:
    """An entry of a map that compares with case."""
    return quoted(f"~^{re.escape(text)}$")


def host(name: str) -> str:
    """A server's name, or an entry of a map of hosts."""
    return name if len(name) <= _HASHED else quoted(f"~^{re.escape(name)}$")


# -- tables ------------------------------------------------------------------------------------


def _keys(keys: Mapping[str, str]) -> list[tuple[str, str]]:
    """Entries of the map of keys. The hash finds a key without case; two that differ in case
    alone need expressions.
    """
    folded = Counter(each.lower() for each in keys)
    return [
        (
            quoted(each) if folded[each.lower()] == 1 else exact(each),
            quoted(f"{application} {each}"),
        )
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
    """The expressions of an operation's targets, after the application's name, each with its
    file's place.
    """
    base = re.escape(f"{rules.base_path}/")
    for target in route.targets:
        file = re.sub(r"\\([0-9])", r"$\1", target.stem).replace(
            APPLICATION, "$shopwindow_application"
        )
        yield (
            quoted(f"~^[^/]+{base}{target.pattern}$"),
            quoted(f"/.shopwindow/{route.cache_control}/{file}.$shopwindow_format"),
        )
