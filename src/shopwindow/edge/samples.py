"""Example requests, responses and refusals for documents, from a release.

An operation declares examples of its parameters, which the sample content answers. A
shop of its own has other stores and products. So the request that a document shows is
the declared one where this release answers it, and else the first request that the
release has a file for.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.answering.answer import value_of
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.kinds import MAX_ID, Callback, FieldMask
from shopwindow.interface.declaring.operation import (
    AnyOf,
    FromContent,
    Operation,
    Parameter,
    Together,
)
from shopwindow.interface.formats import JSON
from shopwindow.interface.request import SAFE, Request, quoted
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import Refusal

SHOWN_ITEMS = 2
"""Entries of a list in an example: enough to see that it is a list, and short."""

TRIED_ENTRIES = 20
"""Pre-rendered Calls that are tried for an example. The first one nearly always answers
with content; a category without products may stand first.
"""

_UNKNOWN = str(MAX_ID)
"""An id that nothing has: the greatest."""


@dataclass(frozen=True)
class Sample:
    """An example of one operation.

    ``texts``: examples of its parameters, as a client writes them: those of the request,
    and of the others that may go with it. ``value``: the response, its lists shortened;
    None where this release has no example.
    """

    texts: Mapping[str, str]
    value: Json = None


def sample(interface: Interface, operation: Operation, content: Content) -> Sample:
    """Return an example of a request, and its response from a release's content."""
    declared = _declared(operation)
    others = _others(operation)
    if isinstance(operation.source, FromContent):
        for texts in (declared, *_prerendered(operation, content)):
            value = _response(interface, operation, content, texts)
            if value is not None:
                return Sample(others | texts, _shortened(value))
    return Sample(others | declared)


def _others(operation: Operation) -> dict[str, str]:
    """Return the declared examples of the parameters that a request may have beside.

    Of parameters that say the same in several ways it has one, so a document shows no
    example of the others; nor of any where a request may do without all of them.
    """
    groups = [rule.names for rule in operation.rules if isinstance(rule, AnyOf)]
    return {
        parameter.name: example(parameter)
        for parameter in operation.parameters
        if not parameter.alternative
        and _is_plain(parameter)
        and not any(parameter.name in group for group in groups)
    }


def _needed(operation: Operation) -> set[str]:
    """Return the parameters that a request cannot do without: those of the path, the
    first of each group of which one is required, and what goes with it.
    """
    needed = set(operation.in_path)
    for rule in operation.rules:
        if isinstance(rule, AnyOf) and rule.required:
            needed.add(rule.names[0])
    for rule in operation.rules:
        if isinstance(rule, Together) and needed.intersection(rule.names):
            needed.update(rule.names)
    return needed


def _declared(operation: Operation) -> dict[str, str]:
    """Return the declared examples of the parameters that a request needs."""
    examples = {name: example(operation.named[name]) for name in _needed(operation)}
    return {name: text for name, text in examples.items() if text}


def example(parameter: Parameter) -> str:
    """Return a declared example of a parameter, as it is written in a request.

    It is the parameter's own example, its default, the first word that is allowed, or
    the least number; empty where there is none of these.
    """
    if parameter.example:
        return parameter.example
    if parameter.default is not None:
        return parameter.kind.format(parameter.default)
    schema = parameter.kind.schema()
    words = schema.get("items", schema).get("enum", ())
    if words:
        return str(words[0])
    return str(schema.get("minimum", ""))


def _is_plain(parameter: Parameter) -> bool:
    """Return whether an answer with the parameter still has its usual form.

    A callback makes it JavaScript, and a mask leaves out what the schema requires.
    """
    return not isinstance(parameter.kind, Callback | FieldMask)


def _prerendered(operation: Operation, content: Content) -> Iterator[dict[str, str]]:
    """Yield the parameters of the first Calls that the release has files for."""
    for arguments in islice(operation.entries(content), TRIED_ENTRIES):
        yield {
            name: operation.kind(name).format(value)
            for name, value in arguments.items()
            if name in operation.named and _is_plain(operation.named[name])
        }


def refusal(
    code: str,
    interface: Interface,
    operation: Operation,
    content: Content,
    schemas: Schemas,
) -> Refusal | None:
    """Return a refusal that a request of an operation meets, with the words it gets.

    ``code``: `invalid` or `no_data`. None: nothing that was tried is refused so.
    """
    tried = _with_a_wrong_text if code == "invalid" else _with_unknown_ids
    for texts in tried(operation):
        try:
            _value(interface, operation, content, texts, schemas)
        except Refusal as refusal:
            if refusal.code == code:
                return refusal
    return None


def _with_a_wrong_text(operation: Operation) -> Iterator[dict[str, str]]:
    """Yield parameters of which one is none of its kind; the last time, all are right."""
    declared = _declared(operation)
    for parameter in operation.parameters:
        yield {**declared, parameter.name: "?"}
    yield declared


def _with_unknown_ids(operation: Operation) -> Iterator[dict[str, str]]:
    """Yield parameters whose ids no release has, and last those that are declared."""
    declared = _declared(operation)
    unknown = {
        parameter.name: re.sub("[0-9]+", _UNKNOWN, example(parameter)) or _UNKNOWN
        for parameter in operation.parameters
    }
    yield {name: unknown[name] for name in (*operation.in_path, *declared)}
    for name, text in unknown.items():
        yield {**declared, name: text}
    yield declared


def _value(
    interface: Interface,
    operation: Operation,
    content: Content,
    texts: Mapping[str, str],
    schemas: Schemas | None = None,
) -> Json:
    """Return the answer to a request as a JSON value; None where it is another's.

    A body is an empty object; ``schemas`` describe it. Raises Refusal.
    """
    path = operation.path
    for name in operation.in_path:
        path = path.replace(f"{{{name}}}", texts.get(name, ""))
    query = "&".join(
        f"{quoted(name, '')}={quoted(text, SAFE)}"
        for name, text in texts.items()
        if name not in operation.in_path
    )
    request = Request(path, query, method=operation.method)
    if operation.body:
        headers = {"content-type": JSON.media_type}
        request = request._replace(headers=headers, length=2, body=b"{}")
    application = next(iter(interface.application_names(content)), None)
    call = bind(request, application, interface, content=content, schemas=schemas)
    if call.operation != operation:  # the path of the list, where an id is empty
        return None
    is_read = isinstance(operation.source, FromContent)
    return value_of(call, content) if is_read else None


def _response(
    interface: Interface,
    operation: Operation,
    content: Content,
    texts: Mapping[str, str],
) -> Json:
    """Return the response to a request as a JSON value; None where it is refused or has
    no items.
    """
    try:
        value = _value(interface, operation, content, texts)
    except Refusal:
        return None
    items: Any = value
    for name in operation.items:
        items = items.get(name, ()) if items else ()
    return value if items else None


def _shortened(value: Json) -> Json:
    """Return a value with the first entries of every list."""
    if isinstance(value, dict):
        return {name: _shortened(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_shortened(item) for item in value[:SHOWN_ITEMS]]
    return value
