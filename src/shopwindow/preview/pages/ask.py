"""Any read of the interface, answered from the working tree, with what it reads."""

import shlex
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from shopwindow import library
from shopwindow.content.documents.documents import Content
from shopwindow.content.kinds import SITE, titled
from shopwindow.interface.answering.answer import (
    API_KEY_HEADER,
    cache_control,
)
from shopwindow.interface.declaring.operation import FromContent, Operation, Parameter
from shopwindow.interface.formats import JSON, RESPONSE_FORMATS, indented
from shopwindow.library import DocumentRead
from shopwindow.preview.index_builds import IndexOfTree
from shopwindow.preview.pages.indexes import MAX_PRODUCTS, index_of_tree
from shopwindow.preview.visit import Page, Visit
from shopwindow.problems import Misuse
from shopwindow.release.damage import is_damaged
from shopwindow.release.indexes import on_demand
from shopwindow.release.show import AnswerOrigins, show

FIELD_PREFIX = "p."
"""Before the names of an operation's parameters in the page's own query."""

MAX_SHOWN = 200_000
"""Characters of an answer that the page shows: some 5,000 lines."""

MAX_SOURCES = 50
"""Documents of one kind that stand beside an answer: a list of all stores reads all of
them, and nobody looks for one among a thousand lines.
"""


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
class SourceKind:
    """The documents of one kind that an answer reads: ``count``, of which some are
    shown, each with its title. One without a page of its own has none.
    """

    name: str
    count: int
    shown: list[tuple[DocumentRead, str]]


@dataclass(frozen=True)
class Answer:
    """An answer: its status and headers, its body for reading, and the same request for
    curl.

    ``value`` is the body as a JSON value, to be folded; None for other formats, and for
    one that is too long. ``origins`` knows where its parts come from; None: there is no
    success. ``sources`` are the documents that it reads.
    """

    request: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: str
    value: Any
    is_cut: bool
    curl: str
    origins: AnswerOrigins | None
    sources: tuple[SourceKind, ...]


def page(visit: Visit) -> Page:
    """Return the page of all reads. Parameters: ``operation`` names one, and `p.` with
    the name of one of its parameters is what was entered for that.
    """
    operations = [
        operation
        for operation in visit.interface.operations
        if isinstance(operation.source, FromContent)
    ]
    by_name = {operation.name: operation for operation in operations}
    chosen = by_name.get(visit.query.get("operation", ""))
    values: dict[str, Any] = {"operations": operations, "chosen": chosen, "failure": ""}
    if chosen is None:
        return Page("ask.html", "Ask", values)
    fields = _fields(visit, chosen)
    values |= {
        "fields": fields,
        "answer": None,
        "index": IndexOfTree(),
        "max_products": MAX_PRODUCTS,
    }
    is_complete = all(field.text for field in fields if field.in_path)
    if visit.snapshot.good_at and is_complete and "send" in visit.query:
        try:
            values["answer"] = _answer(visit, chosen, fields)
        except Misuse as error:
            values["failure"] = str(error)
        except _NoIndex as error:
            values["index"] = error.index
    return Page("ask.html", f"Ask: {chosen.about.rstrip('.')}", values)


class _NoIndex(Exception):
    """An answer asks an index that is not there. ``index`` says why."""

    def __init__(self, index: IndexOfTree) -> None:
        super().__init__(index.failure)
        self.index = index


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
    documents, content = visit.documents, visit.content
    request = _request(operation, fields)
    format = next(each for each in RESPONSE_FORMATS if each.name == visit.format)
    used: dict[str, Path] = {}

    def index_file(name: str) -> Path:
        index = index_of_tree(visit, name)
        if index.file is None:
            raise _NoIndex(index)
        used[name] = index.file
        return index.file

    interface, schemas = visit.interface, visit.snapshot.declared.schemas
    try:
        with on_demand(interface, documents, content, index_file) as asking:
            response, origins = show(asking, schemas, request, visit.app, format)
    except sqlite3.Error as error:
        if not is_damaged(error):
            raise
        for name, file in used.items():
            visit.workspace.index_builds[name].discard(file)
        raise _NoIndex(IndexOfTree(is_building=True)) from None
    text = indented(response.body, response.media_type)
    is_cut = len(text) > MAX_SHOWN
    value = None
    if response.media_type == JSON.media_type and not is_cut:
        value = origins.answer if origins else orjson.loads(response.body)
    headers = (
        ("Content-Type", response.media_type),
        ("Cache-Control", cache_control(response.lifetime, content.setting("stale"))),
        *response.headers,
    )
    return Answer(
        request=request,
        status=response.status,
        headers=headers,
        body=text[:MAX_SHOWN],
        value=value,
        is_cut=is_cut,
        curl=_curl(visit, content, operation, request, format.media_type),
        origins=origins,
        sources=tuple(_sources(visit, origins)) if origins else (),
    )


def _curl(
    visit: Visit, content: Content, operation: Operation, request: str, accept: str
) -> str:
    """Return the same request, to the real service, as a line for a terminal."""
    base = content.setting("order_base_url" if operation.order_host else "base_url")
    address, header = shlex.quote(f"{base}/{request}"), shlex.quote(f"Accept: {accept}")
    key = f" -H '{API_KEY_HEADER}: YOUR-KEY'"
    has_keys = visit.interface.applications
    return f"curl {address} -H {header}{key if has_keys else ''}"


def _sources(visit: Visit, origins: AnswerOrigins) -> Iterator[SourceKind]:
    """Yield the documents of an answer by kind, in the order of the kinds."""
    interface = visit.interface
    for name in (SITE.name, *interface.kind):
        ids = sorted(
            (id for kind, id in origins.read if kind == name),
            key=lambda id: (len(id), id),
        )
        if ids:
            shown = [(name, id) for id in ids[:MAX_SOURCES]]
            read = library.documents_read(interface, origins, shown, visit.files)
            titles = [(one, _title(visit, one)) for one in read]
            yield SourceKind(name, len(ids), titles)


def _title(visit: Visit, read: DocumentRead) -> str:
    document = visit.snapshot.by_id.get((read.kind, read.id))
    if document is None:
        return ""
    return titled(visit.interface.kind[read.kind], document.value)
