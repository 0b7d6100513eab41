"""Contracts: what one version of an application reads, as a kind of documents.

An app that was shipped stays on phones for years. A contract names the requests that
one of its versions sends, and the fields of each answer that it needs. Whoever checks or
builds content answers these requests from it (`release.contracts`).

This module has what needs no content: the kind, a contract's value as `ReadRequest`s and
`ReadField`s, and the rules that hold a contract to the interface. A request must be a read
that the content answers, and a path one that the answer's schema admits.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import unquote

from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import Kind, Reference, Rule
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.content.rules.unique import once
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface import answer_paths
from shopwindow.interface.answer_paths import Every, PathSteps
from shopwindow.interface.bind import bind
from shopwindow.interface.call import Request
from shopwindow.interface.formats import JSON
from shopwindow.interface.interface import Interface
from shopwindow.interface.operation import CALLBACK, FromContent, FromStore, Operation
from shopwindow.problems import Level, Pointer, Refusal, cut, nearest

CONTRACT = "contract"
"""The name of the kind."""

LISTED_FIELDS = 40
"""Names of fields that a message lists: three lines of a terminal hold them."""


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
class ReadField:
    """What an application reads at one path of an answer.

    ``steps``: those of the path. ``type``: one of the schema's types; empty: anything.
    ``choices``: the texts of the values that the application knows; empty: any.
    ``pointer``: the field's place in the contract.
    """

    steps: PathSteps
    type: str
    nullable: bool
    choices: tuple[str, ...]
    required: bool
    pointer: Pointer


@dataclass(frozen=True)
class ReadRequest:
    """A request of a contract, with the fields that are read of its answer.

    ``pointer``: the place of the request's text in the contract.
    """

    text: str
    fields: tuple[ReadField, ...]
    pointer: Pointer


def title_of(contract: Mapping[str, Any]) -> str:
    """Return what messages call the reader: the application and its version."""
    return f"{contract['app']} {contract['version']}"


def read_requests(
    interface: Interface, contract: Mapping[str, Any]
) -> list[ReadRequest]:
    """Return the requests of a contract that has no problem, in their order."""
    requests = []
    for number, read in enumerate(contract["reads"]):
        place: Pointer = ("reads", number)
        operation, _ = interface.routes.route(as_request(read["request"]))
        fields = tuple(
            _field(operation, field, (*place, "fields", index))
            for index, field in enumerate(read["fields"])
        )
        requests.append(ReadRequest(read["request"], fields, (*place, "request")))
    return requests


def _field(
    operation: Operation, field: Mapping[str, Any], pointer: Pointer
) -> ReadField:
    return ReadField(
        steps=steps_of(operation, field["path"]),
        type=field.get("type", ""),
        nullable=field.get("nullable", False),
        choices=tuple(field.get("enum", ())),
        required=field.get("required", True),
        pointer=pointer,
    )


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


def is_supported(
    interface: Interface,
    contract: Mapping[str, Any],
    applications: Iterable[Mapping[str, Any]],
) -> bool:
    """Return whether a contract counts: its version is one that its application
    supports.

    ``applications``: the documents of all applications. An interface that does not say
    which versions are supported supports all.
    """
    versions = supported_versions(interface, contract["app"], applications)
    return versions is None or contract["version"] in versions


def supported_versions(
    interface: Interface, name: str, applications: Iterable[Mapping[str, Any]]
) -> Sequence[str] | None:
    """Return the versions of an application that are supported; None where that is not
    said.
    """
    if interface.applications is None or interface.supported_versions is None:
        return None
    named = interface.kind[interface.applications].named
    for application in applications:
        if named(application) == name:
            return interface.supported_versions(application)
    return None


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
            Rule(
                ("contract.path", "contract.request", "unique"),
                partial(faults, interface, schemas, is_complete),
            ),
            Rule(("contract.version",), partial(unsupported, interface), Level.WARNING),
        ),
    )


def faults(
    interface: Interface, schemas: Schemas, is_complete: bool, case: Case
) -> RuleFindings:
    """Yield what is wrong with contracts, whatever the content is.

    Two contracts are of one version; a request is none of the interface's reads; a path
    cannot be read, or leads where no answer has anything.
    """
    kind = interface.kind[CONTRACT]
    named = case.having(CONTRACT, ("app",), ("version",))
    versions = ((each, ("version",), title_of(each.value)) for each in named)
    yield from once(case, kind, "version", versions)
    for document in case.having(CONTRACT, ("app",)):
        for number, _ in case.entries(document, ("reads",)):
            place: Pointer = ("reads", number)
            request = as_request(document.value["reads"][number]["request"])
            if is_complete or operations_at(interface, request):
                for finding in _of_read(interface, schemas, document, place):
                    yield document, finding


def _of_read(
    interface: Interface, schemas: Schemas, document: Document, place: Pointer
) -> Iterator[Finding]:
    """Yield what is wrong with one request of a contract, whose schema finds nothing."""
    read = document.value["reads"][place[1]]
    pointer = (*place, "request")
    finding = request_finding(
        interface, read["request"], document.value["app"], pointer
    )
    if finding is not None:
        yield finding
        return
    operation, _ = interface.routes.route(as_request(read["request"]))
    for index, field in enumerate(read["fields"]):
        path_pointer = (*place, "fields", index, "path")
        finding = _of_path(schemas, operation, field["path"], path_pointer)
        if finding is not None:
            yield finding


def request_finding(
    interface: Interface, text: str, application: str, pointer: Pointer
) -> Finding | None:
    """Return what is wrong with the text of a request, or None."""
    rule, request = "contract.request", as_request(text)
    reads = "a read that the content answers, as `shopwindow build --list` names them"
    operations = operations_at(interface, request)
    if not operations:
        paths = [each.path for each in interface.operations if _is_read(each)]
        found = f"no operation has the path {cut(request.path)!r}"
        close = nearest(request.path, paths)
        return Finding(rule, pointer, found, reads, nearest=close)
    if not any(_is_read(operation) for operation in operations):
        only = operations[0]
        found = f"{only.method} {only.path} {_why_no_read(only)}"
        return Finding(rule, pointer, found, reads)
    try:
        call = bind(request, application, interface)
    except Refusal as refusal:
        found = "; ".join(map(str, refusal.faults))
        return Finding(rule, pointer, found, "a request that the interface admits")
    if CALLBACK.name in dict(call.arguments):
        found = "a script is no answer that a contract could look into"
        allowed = f"the request without {CALLBACK.name}"
        return Finding(rule, pointer, found, allowed)
    return None


def operations_at(interface: Interface, request: Request) -> list[Operation]:
    """Return the operations of a request's path, whatever their methods."""
    routed = interface.routes.of(request.path.removesuffix("/"), None)
    return [operation for operation, _ in routed]


def _is_read(operation: Operation) -> bool:
    return isinstance(operation.source, FromContent)


def _why_no_read(operation: Operation) -> str:
    source = operation.source
    writes = isinstance(source, FromStore) and source.writes
    if writes or operation.method != "GET" or not operation.safe:
        return "writes"
    return "is answered by the running service alone"


def _of_path(
    schemas: Schemas, operation: Operation, path: str, pointer: Pointer
) -> Finding | None:
    """Return what is wrong with a path into the answers of an operation, or None."""
    rule = "contract.path"
    try:
        steps = steps_of(operation, path)
    except ValueError as error:
        found = f"the path {cut(path)!r} {error}"
        return Finding(rule, pointer, found, answer_paths.PATH_FORM)
    unknown = answer_paths.unknown(schemas.shape(operation.schema), steps)
    if unknown is None:
        return None
    step = steps[unknown.number]
    above = answer_paths.text_of(steps[: unknown.number])
    where = f"{above} in answers of {operation.path}" if above else operation.path
    if isinstance(step, Every):
        sort = "list" if step is Every.ITEM else "object"
        return Finding(rule, pointer, f"{where} is no {sort}", "a path without it")
    if not unknown.names:
        found = f"{where} is no object, so it has no {cut(step)!r}"
        return Finding(rule, pointer, found, "[] behind a list; nothing behind a value")
    found = f"{where} has no {cut(step)!r}"
    listed = ", ".join(unknown.names[:LISTED_FIELDS])
    close = nearest(step, unknown.names)
    return Finding(rule, pointer, found, listed, nearest=close)


def unsupported(interface: Interface, case: Case) -> RuleFindings:
    """Yield the contracts of versions that their applications do not support.

    They are warnings: nobody breaks such a version, and a mistyped one is not held to.
    """
    if interface.applications is None:
        return
    applications = [each.value for each in case.documents.of(interface.applications)]
    for document in case.documents.of(CONTRACT):
        value = document.value
        versions = supported_versions(interface, value["app"], applications)
        if versions is not None and value["version"] not in versions:
            found = f"{title_of(value)} is not supported, so nobody is held to this"
            allowed = (
                ", ".join(versions) + "; delete the contract of a version that is gone"
            )
            close = nearest(value["version"], versions)
            finding = Finding(
                "contract.version", ("version",), found, allowed, nearest=close
            )
            yield document, finding
