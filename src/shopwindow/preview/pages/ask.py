"""Any read of the interface, asked of the working tree: the answer, and what it was
made from.
"""

import shlex
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from shopwindow import library
from shopwindow.interface.answer import API_KEY_HEADER, Response
from shopwindow.interface.formats import RESPONSE_FORMATS, indented
from shopwindow.interface.operation import FromContent, Operation, Parameter
from shopwindow.preview.visit import Page, Visit
from shopwindow.problems import Misuse

FIELD_PREFIX = "p."
"""Before the names of an operation's parameters in the page's own query."""

MAX_SHOWN = 200_000
"""Characters of an answer that the page shows: some 5,000 lines."""


@dataclass(frozen=True)
class Field:
    """A field of the form: a parameter, and what was entered. ``words`` are all values
    it takes.
    """

    parameter: Parameter
    name: str
    text: str
    words: tuple[str, ...]
    in_path: bool


@dataclass(frozen=True)
class Answer:
    """An answer: its status and headers, its body for reading, and the same request for
    curl.
    """

    request: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: str
    is_cut: bool
    curl: str


def page(visit: Visit) -> Page:
    """Return the page of all reads. Parameters: ``operation`` names one, and `p.` with
    the name of one of its parameters is what was entered for that.
    """
    operations = [
        operation
        for operation in visit.snapshot.interface.operations
        if isinstance(operation.source, FromContent)
    ]
    by_name = {operation.name: operation for operation in operations}
    chosen = by_name.get(visit.query.get("operation", ""))
    values: dict[str, Any] = {"operations": operations, "chosen": chosen, "failure": ""}
    if chosen is None:
        return Page("ask.html", "Ask", values)
    fields = _fields(visit, chosen)
    values |= {"fields": fields, "answer": None}
    is_complete = all(field.text for field in fields if field.in_path)
    if visit.snapshot.documents is not None and is_complete and "send" in visit.query:
        try:
            values["answer"] = _answer(visit, chosen, fields)
        except Misuse as error:
            values["failure"] = str(error)
    return Page("ask.html", f"Ask: {chosen.about.rstrip('.')}", values)


def _fields(visit: Visit, operation: Operation) -> list[Field]:
    fields = []
    for parameter in operation.parameters:
        name = FIELD_PREFIX + parameter.name
        in_path = parameter.name in operation.in_path
        example = parameter.example if in_path and "send" not in visit.query else ""
        text = visit.query.get(name, example)
        schema = parameter.kind.schema()
        words = tuple(str(word) for word in schema.get("enum", ()))
        fields.append(Field(parameter, name, text, words, in_path))
    return fields


def _request(operation: Operation, fields: list[Field]) -> str:
    """Return the path and query of the request that a form means."""
    path = operation.path
    for field in fields:
        if field.in_path:
            path = path.replace(
                f"{{{field.parameter.name}}}", quote(field.text, safe=",;")
            )
    query = [
        (field.parameter.name, field.text)
        for field in fields
        if field.text and not field.in_path
    ]
    return path + (f"?{urlencode(query)}" if query else "")


def _answer(visit: Visit, operation: Operation, fields: list[Field]) -> Answer:
    documents = visit.snapshot.documents
    assert documents is not None  # nosec B101 # `page` asks only where there are some
    request = _request(operation, fields)
    response = library.show(
        visit.workspace.interface,
        visit.workspace.folder,
        documents,
        request,
        at=visit.moment.isoformat(),
        app=visit.app,
        form=visit.format,
    )
    text = indented(response.body, response.media_type)
    site = documents.site.value
    base = site["order_base_url" if operation.order_host else "base_url"]
    accept = next(
        each.media_type for each in RESPONSE_FORMATS if each.name == visit.format
    )
    curl = (
        f"curl {shlex.quote(f'{base}/{request}')} -H {shlex.quote(f'Accept: {accept}')}"
    )
    if visit.snapshot.interface.applications:
        curl += f" -H '{API_KEY_HEADER}: YOUR-KEY'"
    return Answer(
        request,
        response.status,
        _headers(response),
        text[:MAX_SHOWN],
        len(text) > MAX_SHOWN,
        curl,
    )


def _headers(response: Response) -> tuple[tuple[str, str], ...]:
    lifetime = response.lifetime
    caching = "no-store" if lifetime is None else f"max-age={lifetime}"
    return (
        ("Content-Type", response.media_type),
        ("Cache-Control", caching),
        *response.headers,
    )
