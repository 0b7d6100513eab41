"""The response to one request, answered from checked documents where no release was
built.

An editor who asks what an app would get has changed a file and not built yet. The
request takes the way that it takes in the service: it is bound to a Call, and its view
answers that. Two things differ. A pasted address may have the base URL in front, which
is taken off. And an index takes a while to build, so it is opened only once a view asks
it something (`indexes.on_demand`).

Who asks why a value is what it is, is led to the place of a document that it was taken
from. Views are pure functions of plain values, and do not say what they took from where.
But what a view hands on unchanged is the very object that the document holds, so it is
recognized by its Python id, while the documents are alive. It is recorded which
documents the view reads, so among ten thousand only the ten that matter are looked
through.

Some values have no id of their own, such as `true`, null, small numbers and texts of one
letter, and some a view computes. For those the values around them tell: an object that
is handed on as a whole, else the object of which most values beside them were taken.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from shopwindow.content.documents.documents import Document
from shopwindow.content.reading.yaml import Json, at, walked
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.answering.answer import (
    Response,
    refuse,
    respond,
    selected,
    value_of,
)
from shopwindow.interface.answering.contracts import as_request
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.operation import Call, FromContent
from shopwindow.interface.formats import JSON, Format
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import Misuse, Pointer, Refusal
from shopwindow.release.documents_read import SITE_DOCUMENT, DocumentsRead, Named
from shopwindow.release.order import Asking


class ValueOrigin(NamedTuple):
    """A place of a document, as views see it: without what the file says otherwise."""

    document: Document
    pointer: Pointer


@dataclass(frozen=True)
class AnswerOrigins:
    """The answer to a call as a JSON value, and what it was made from.

    ``read``: the documents that the view read. ``sources``: site.yaml, and those of
    ``read`` that are in no index, by their names; some may share one.
    """

    call: Call
    answer: Json
    read: frozenset[Named]
    sources: Sequence[tuple[Named, Document]]

    @cached_property
    def _by_id(self) -> Mapping[int, ValueOrigin]:
        """The places of all values of the sources, by Python's id."""
        by_id: dict[int, ValueOrigin] = {}
        for _, document in self.sources:
            for pointer, value in walked(document.value):
                if not _has_one_object(value):
                    by_id.setdefault(id(value), ValueOrigin(document, pointer))
        return by_id

    def stated(self, value: Json) -> ValueOrigin | None:
        """Return where a value of the answer stands that the view has handed on."""
        return self._by_id.get(id(value))

    def origin(self, pointer: Pointer) -> ValueOrigin | None:
        """Return where the value at a place of the answer was taken from; None where
        the view computed it.

        `true` has no origin. It was taken where what stands beside it was taken, if the
        same stands there under the same name.
        """
        value = at(self.answer, pointer)
        for origin in self.origins(pointer):
            stated = at(origin.document.value, origin.pointer)
            if type(stated) is type(value) and stated == value:
                return origin
        return None

    def origins(self, pointer: Pointer) -> Iterator[ValueOrigin]:
        """Yield where the value at a place may come from, the surest first.

        There need not be a value at ``pointer``: then an origin is that of as much of
        the way to it as the answer has.
        """
        parts = [self.answer]
        for step in pointer:
            try:
                parts.append(at(parts[-1], (step,)))
            except (KeyError, IndexError):
                break
        for depth in reversed(range(len(parts))):
            origin = self.stated(parts[depth])
            if origin is None:
                yield from self._around(parts[depth], pointer[depth : depth + 1])
            else:
                below = pointer[depth : len(parts) - 1]
                yield ValueOrigin(origin.document, (*origin.pointer, *below))

    def _around(self, value: Json, step: Pointer) -> Iterator[ValueOrigin]:
        """Yield the origin of an object that a view has put together, by what it holds.

        It is the place of a document from which most of its values were taken. Where
        the document has the same name there, as ``step``, it is that name's place.
        """
        parts = map(self.stated, value.values() if isinstance(value, dict) else ())
        origins = [origin for origin in parts if origin]
        around = [(id(origin.document), origin.pointer[:-1]) for origin in origins]
        for most, _ in Counter(around).most_common(1):
            document, pointer = origins[around.index(most)].document, most[1]
            try:
                at(document.value, (*pointer, *step))
            except (KeyError, IndexError):
                yield ValueOrigin(document, pointer)
            else:
                yield ValueOrigin(document, (*pointer, *step))


def _has_one_object(value: Json) -> bool:
    """Return whether Python has one object for all values like this one."""
    if isinstance(value, str):
        return len(value) < 2
    return value is None or (isinstance(value, int) and -6 < value < 257)


def answer_origins(
    asking: Asking, request: str, application: str | None, format: Format = JSON
) -> AnswerOrigins:
    """Return the answer to a request, with the origins of its values.

    ``request`` is a path and query below base_url, or a whole URL. Raises Refusal, and
    Misuse for an operation that only the running service answers, and for a URL of
    another host.
    """
    interface, documents = asking.interface, asking.documents
    below = below_base_url(request, interface, documents.site.value)
    parsed = as_request(below, format)
    operation, _ = interface.routes.route(parsed)
    if not isinstance(operation.source, FromContent):
        what = f"{operation.path} is answered by the running service only"
        raise Misuse("", f"{what} (`shopwindow serve`)")
    reads = DocumentsRead(asking.content, asking.opened)
    call = bind(parsed, application, interface, content=reads.recorded)
    answer = selected(call, value_of(call, reads.recorded))
    read = frozenset(reads.take())
    sources = [(SITE_DOCUMENT, documents.site)]
    sources += [
        (named, document)
        for kind in interface.kinds
        for document in documents.of(kind.name)
        if (named := (kind.name, str(kind.named(document.value)))) in read
    ]
    return AnswerOrigins(call, answer, read, sources)


def show(
    asking: Asking,
    schemas: Schemas,
    request: str,
    application: str | None,
    format: Format,
) -> tuple[Response, AnswerOrigins | None]:
    """Return the response to a request, and where its values come from; a Refusal
    becomes the response that a client would get, whose values come from nowhere.

    ``request`` is as for `answer_origins`, and so is the Misuse that is raised.
    """
    try:
        origins = answer_origins(asking, request, application, format)
    except Refusal as refusal:
        return refuse(refusal, format, schemas), None
    return respond(origins.call, origins.answer, asking.content, schemas), origins


def below_base_url(request: str, interface: Interface, site: Mapping[str, Any]) -> str:
    """Return the path and query of a request below the base URL, or below the order
    host's.

    Both hosts may have the same address: then the one counts that has such a path.
    Raises Misuse for a whole URL that is below neither.
    """
    target = re.sub(
        "^https?://", "//", request.strip().partition("#")[0], flags=re.IGNORECASE
    )
    has_host = target.startswith("//")
    matches = []
    for order_host, setting in ((False, "base_url"), (True, "order_base_url")):
        base = urlsplit(site[setting])
        host = f"//{base.netloc}" if has_host else ""
        prefix = f"{host}{base.path}/"
        if target.lower().startswith(prefix.lower()):
            matches.append((order_host, target[len(prefix) :]))

    if has_host and not matches:
        base, order = (
            f"base_url, {site['base_url']}",
            f"order_base_url, {site['order_base_url']}",
        )
        both = (
            base
            if site["order_base_url"] == site["base_url"]
            else f"{base}, and not below {order}"
        )
        raise Misuse("", f"{request}: not below {both}")
    for order_host, rest in matches:
        path, _, _ = rest.partition("?")
        if interface.routes.of(path, order_host):
            return rest
    return matches[0][1] if matches else target
