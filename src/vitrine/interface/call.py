"""A Request as it arrives; a Call, one asking of an operation, with its canonical spelling and file name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from vitrine.content.yaml import Json
from vitrine.interface.formats import FORMATS, JSON, Format
from vitrine.interface.operation import Arguments, FromContent, Operation

_FILE_NAME = re.compile(r"[A-Za-z0-9._=;,-]{1,200}(/[A-Za-z0-9._=;,-]{1,200})*", re.ASCII)


SAFE = ",()"
"""What the canonical spelling leaves as it is, beside letters, digits and `-._~`."""


def _quoted(text: str, safe: str) -> str:
    """Percent-encoded. Most texts are numbers and names, which need none."""
    return text if text.isascii() and text.isalnum() else _percent_encoded(text, safe)


_percent_encoded = lru_cache(maxsize=256)(quote)


class Request(NamedTuple):
    """An HTTP request below the base URL: ``path`` decoded, without its first slash; header names in lower case."""

    path: str
    query: str = ""
    headers: Mapping[str, str] = MappingProxyType({})
    method: str = "GET"
    length: int = 0
    """Bytes of the body, as its Content-Length says."""
    body: bytes = b""
    """The body, where the method has one and it is not too large."""
    address: str = ""
    """The client's."""

    @property
    def target(self) -> str:
        path = _quoted(self.path, SAFE + "/")
        return f"{path}?{self.query}" if self.query else path


@dataclass(frozen=True)
class Call:
    """One asking. ``arguments`` holds what differs from its default, in the declared order; then others, by name.

    ``body`` is the checked body, every place of its schema's one type. ``if_match``: that header (RFC 9110 §13.1.1).
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
        return {name: value for name, value in self.arguments if name not in self.operation.named}

    def texts(self) -> dict[str, str]:
        """The arguments as text: those of the path, those that differ from their default, those always written."""
        return dict(self._texts)

    @cached_property
    def _texts(self) -> dict[str, str]:
        given = dict(self.arguments)
        texts = {}
        for parameter in self.operation.parameters:
            if parameter.name in given or parameter.always:
                texts[parameter.name] = parameter.kind.format(given.get(parameter.name, parameter.default))
        if self.operation.others:
            texts |= {name: self.operation.others.kind.format(value) for name, value in self.others().items()}
        return texts

    def request(self) -> Request:
        """The canonical spelling, without a key."""
        texts = self.texts()
        path = self._path(texts)
        query = "&".join([f"{_quoted(name, '')}={_quoted(text, SAFE)}" for name, text in texts.items()])
        headers = {"accept": self.format.media_type}
        if self.if_match is not None:
            headers["if-match"] = self.if_match
        if self.body is None:
            return Request(path, query, headers, self.operation.method)
        body = orjson.dumps(self.body)
        headers["content-type"] = JSON.media_type
        return Request(path, query, headers, self.operation.method, len(body), body)

    def filename(self) -> str | None:
        """The file that holds the answer, relative to the release's files/; None where no file name can."""
        name = self._stem() + self.format.extension
        return name if _FILE_NAME.fullmatch(name) else None

    def filenames(self) -> list[str]:
        """The files that hold the answer in every format; none where one of them has no file name."""
        stem = self._stem()
        names = [stem + format.extension for format in FORMATS]
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


def make(
    operation: Operation,
    format: Format,
    arguments: Arguments,
    application: str | None = None,
    body: Json = None,
    if_match: str | None = None,
) -> Call:
    """A Call of parsed arguments, in declared order and without those at their default; then others, by name."""
    ordered = {name: arguments[name] for name in operation.ordered(arguments)}
    return of_ordered(operation, format, ordered, application, body, if_match)


def of_ordered(
    operation: Operation,
    format: Format,
    arguments: Arguments,
    application: str | None,
    body: Json,
    if_match: str | None,
) -> Call:
    """The same, of arguments that are in their order."""
    defaults = operation.defaults
    kept = tuple([given for given in arguments.items() if given[1] != defaults.get(given[0])])
    if isinstance(operation.source, FromContent):
        if_match = None  # it guards what changes; an answer from content is changed by nobody who asks
    return Call(operation, format, kept, application if operation.by_application else None, body, if_match)
