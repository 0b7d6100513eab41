"""Contracts: what one version of an application reads, as a kind of documents.

An app that was shipped stays on phones for years. A contract names the requests that
one of its versions sends, and the fields of each answer that it needs. A field is a path
and keywords of JSON Schema for what stands there. Whoever checks or builds content
answers these requests from it, and judges each answer by one schema (`release.contracts`).

This module has what needs no content: the kind, a contract's value as `ReadRequest`s with
their schemas, and the rules that hold a contract to the interface. A request must be a
read that the content answers, and a path one that the answer's schema admits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import unquote

import orjson

from shopwindow.content.documents.finding import Finding, listing_of
from shopwindow.content.kinds import Kind, Reference, Rule
from shopwindow.content.reading.yaml import Json
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.content.rules.unique import once
from shopwindow.content.schemas.own_schemas import schema_faults
from shopwindow.content.schemas.schema import Schemas
from shopwindow.content.schemas.shape import Shape
from shopwindow.interface import answer_paths
from shopwindow.interface.answer_paths import (
    Every,
    NoSuchPlace,
    PathSteps,
    optional_steps,
)
from shopwindow.interface.bind import bind
from shopwindow.interface.call import Request
from shopwindow.interface.formats import JSON
from shopwindow.interface.interface import Interface
from shopwindow.interface.operation import FromContent, Operation
from shopwindow.problems import Pointer, Refusal, cut, nearest

CONTRACT = "contract"
"""The name of the kind."""

RULES = (
    "contract.keyword",
    "contract.path",
    "contract.request",
    "contract.version",
    "unique",
)
"""What `faults` calls its findings."""

OWN_KEYWORDS = ("path", "required")
"""What a field of a contract says beside the keywords of JSON Schema."""

EVERY = frozenset(Every)


def contract_kind(applications: Kind | None = None) -> Kind:
    """Return the kind of contracts, for an Interface to list among its kinds.

    ``applications``: the kind of the documents that `app` names; None: an interface
    without applications, where `app` is any text.
    """
    references = (Reference(("app",), applications.name),) if applications else ()
    return Kind(
        name=CONTRACT,
        folder="contracts",
        schema="contract.json",
        order=("app", "version"),
        scheduled=False,
        references=references,
    )


# -- a contract as a value -------------------------------------------------------------


@dataclass(frozen=True)
class ReadRequest:
    """A request of a contract, with the fields that are read of its answer.

    ``operation`` answers it. ``fields``: by the steps of their paths, in their order.
    ``place``: where the request stands in the contract.
    """

    text: str
    operation: Operation
    fields: Mapping[PathSteps, Mapping[str, Any]]
    place: Pointer

    def schemas(self, schemas: Schemas) -> list[Json]:
        """Return what each field says of the whole answer.

        ``schemas``: those of the interface, of which one describes the answer.
        """
        shape = schemas.shape(self.operation.schema)
        return [_schema_of(shape, steps, self.fields) for steps in self.fields]


def title_of(contract: Mapping[str, Any]) -> str:
    """Return what messages call the reader: the application and its version."""
    return f"{contract['app']} {contract['version']}"


def read_requests(
    interface: Interface, contract: Mapping[str, Any]
) -> Iterator[ReadRequest]:
    """Yield the requests of a contract that has no problem, in their order.

    One that the interface lacks is left out: another program may have had it.
    """
    for number, read in enumerate(contract["reads"]):
        text = read["request"]
        operation = read_at(interface, as_request(text))
        if operation is not None:
            fields = {
                steps_of(operation, each["path"]): each for each in read["fields"]
            }
            yield ReadRequest(text, operation, fields, ("reads", number))


def keywords_of(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a field of a contract says in JSON Schema."""
    return {name: said for name, said in field.items() if name not in OWN_KEYWORDS}


def _schema_of(
    shape: Shape, steps: PathSteps, stated: Mapping[PathSteps, Mapping[str, Any]]
) -> Json:
    """Return the schema of an answer that one field of a contract is about.

    ``shape`` is the place of the answer; ``stated`` has the request's fields by their
    steps, and what one of them says of an object around the value holds. Otherwise the
    value has to be reached, except that lists may be absent where the answer's schema
    makes them optional: they come and go with the documents in them.
    """
    schema = keywords_of(stated[steps])
    optional = optional_steps(shape, steps)
    for end in range(len(steps) - 1, -1, -1):
        step, inner = steps[end], stated.get(steps[: end + 1])
        if step is Every.ITEM:
            schema = {"items": schema}
        elif step is Every.VALUE:
            schema = {"additionalProperties": schema}
        else:
            is_of_list = optional[end] and not EVERY.isdisjoint(steps[end:])
            needed = inner.get("required", True) if inner else not is_of_list
            schema = {"properties": {step: schema}, "required": [step] * needed}
        if "type" not in stated.get(steps[:end], ()):
            schema["type"] = "array" if step is Every.ITEM else "object"
    return schema


def steps_of(operation: Operation, path: str) -> PathSteps:
    """Return the steps of a path in the answers of an operation.

    What the interface calls the answer may stand first (`Operation.subject`). Raises
    ValueError, as `answer_paths.parse`.
    """
    steps = answer_paths.parse(path)
    if operation.subject and len(steps) > 1 and steps[0] == operation.subject:
        return steps[1:]
    return steps


def as_request(text: str) -> Request:
    """Return the request that a contract's text means: a path and query below base_url."""
    path, _, query = text.removeprefix("/").partition("?")
    return Request(unquote(path), query, {"accept": JSON.media_type})


# -- rules -----------------------------------------------------------------------------


def with_rules(
    interface: Interface, schemas: Schemas, *, is_complete: bool
) -> Interface:
    """Return an Interface whose contracts are checked: with the rules below.

    ``is_complete``: every collection of the content folder could be declared. Otherwise
    an operation that does not exist may be that of one that could not.
    """
    if CONTRACT not in interface.kind:
        return interface
    return replace(
        interface,
        rules=(
            *interface.rules,
            Rule(RULES, partial(faults, interface, schemas, is_complete)),
        ),
    )


def faults(
    interface: Interface, schemas: Schemas, is_complete: bool, case: Case
) -> RuleFindings:
    """Yield what is wrong with contracts, whatever the content is.

    Two contracts are of one version; one is of a version that is not supported; a
    request is none of the interface's reads; a path cannot be read, or leads where no
    answer has anything; what stands beside it is no JSON Schema.
    """
    kind = interface.kind[CONTRACT]
    named = case.having(CONTRACT, ("app",), ("version",))
    readers = ((each, ("version",), title_of(each.value)) for each in named)
    yield from once(case, kind, "version", readers)
    for document in case.having(CONTRACT, ("app",)):
        contract = document.value
        for number, _ in case.entries(document, ("reads",)):
            read, place = contract["reads"][number], ("reads", number)
            request = as_request(read["request"])
            if is_complete or operations_at(interface, request):
                for finding in _of_read(
                    interface, schemas, contract["app"], read, place
                ):
                    yield document, finding
    supported = interface.supported_versions
    if interface.applications is None or supported is None:
        return
    name_of = interface.kind[interface.applications].named
    applications = case.documents.of(interface.applications)
    versions = {name_of(each.value): supported(each.value) for each in applications}
    for document in case.having(CONTRACT, ("app",), ("version",)):
        contract = document.value
        of_app = versions.get(contract["app"])
        if of_app is not None and contract["version"] not in of_app:
            yield document, _unsupported(contract, of_app)


def _unsupported(contract: Mapping[str, Any], versions: Sequence[str]) -> Finding:
    """Return that a contract's application does not support its version.

    Somebody ended the support, and the contract would go on to hold editors back; or
    the version is mistyped, and nobody is held to it.
    """
    found = f"{title_of(contract)} is not supported, and its contract is here"
    allowed = ", ".join(versions) + "; or delete this file"
    close = nearest(contract["version"], versions)
    return Finding("contract.version", ("version",), found, allowed, nearest=close)


def _of_read(
    interface: Interface,
    schemas: Schemas,
    application: str,
    read: Mapping[str, Any],
    place: Pointer,
) -> Iterator[Finding]:
    """Yield what is wrong with one request of a contract, whose schema finds nothing."""
    pointer = (*place, "request")
    operation = read_or_finding(interface, read["request"], application, pointer)
    if isinstance(operation, Finding):
        yield operation
        return
    for index, field in enumerate(read["fields"]):
        pointer, keywords = (*place, "fields", index), keywords_of(field)
        yield from _of_path(schemas, operation, field["path"], (*pointer, "path"))
        for _, below, found, allowed in schema_faults(keywords):
            yield Finding("contract.keyword", (*pointer, *below), found, allowed)
        if b'"$ref":' in orjson.dumps(keywords):
            found = "a $ref, which is not read here"
            yield Finding("contract.keyword", pointer, found, "the schema itself")


def read_or_finding(
    interface: Interface, text: str, application: str, pointer: Pointer
) -> Operation | Finding:
    """Return the operation that answers a request, or what is wrong with its text."""
    rule, request = "contract.request", as_request(text)
    allowed = "a read that the content answers, as `shopwindow build --list` names them"
    operations = operations_at(interface, request)
    if not operations:
        paths = [each.path for each in interface.operations if _is_read(each)]
        found = f"no operation has the path {cut(request.path)!r}"
        close = nearest(request.path, paths)
        return Finding(rule, pointer, found, allowed, nearest=close)
    operation = read_at(interface, request)
    if operation is None:
        found = f"{operations[0].path} is no read, or only the running service has it"
        return Finding(rule, pointer, found, allowed)
    try:
        bind(request, application, interface)
    except Refusal as refusal:
        found = "; ".join(map(str, refusal.faults))
        return Finding(rule, pointer, found, "a request that the interface admits")
    return operation


def read_at(interface: Interface, request: Request) -> Operation | None:
    """Return the operation that answers a request from content; None: there is none."""
    return next(filter(_is_read, operations_at(interface, request)), None)


def operations_at(interface: Interface, request: Request) -> list[Operation]:
    """Return the operations of a request's path, whatever their methods."""
    routed = interface.routes.of(request.path.removesuffix("/"), None)
    return [operation for operation, _ in routed]


def _is_read(operation: Operation) -> bool:
    return isinstance(operation.source, FromContent)


def _of_path(
    schemas: Schemas, operation: Operation, path: str, pointer: Pointer
) -> Iterator[Finding]:
    """Yield what is wrong with a path into the answers of an operation."""
    rule = "contract.path"
    try:
        steps = steps_of(operation, path)
        optional_steps(schemas.shape(operation.schema), steps)
    except ValueError as error:
        found = f"the path {cut(path)!r} {error}"
        yield Finding(rule, pointer, found, answer_paths.PATH_FORM)
    except NoSuchPlace as nowhere:
        step, names = steps[nowhere.number], nowhere.names
        above = answer_paths.text_of(steps[: nowhere.number])
        where = f"{above} in answers of {operation.path}" if above else operation.path
        name = step.value if isinstance(step, Every) else step
        found = f"{where} has no {cut(name)!r}"
        allowed = listing_of(names) or "[] behind a list; nothing behind a value"
        yield Finding(rule, pointer, found, allowed, nearest=nearest(name, names))
