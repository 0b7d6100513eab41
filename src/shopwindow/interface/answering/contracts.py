"""Contracts: what one version of an application reads, as a kind of documents.

An app that was shipped stays on phones for years. A contract names the requests that
one of its versions sends, and the fields of each answer that it needs. A field is a path
and keywords of JSON Schema for what stands there. Whoever checks or builds content
answers these requests from it, and judges each answer by one schema (`release.contracts`).

A path is names with dots between them: `config.poorNetwork.poorWifiMaxSecsLatency`. `[]`
stands for every item of a list, `*` for every value of an object: `events[].id`,
`featureConfig.*.landingUrl`. A name that has a dot, a bracket, a quote, a star or a space in it
is a string of JSON, in quotes: `prices."4.99".text`.

There are no positions of lists: an order may change without breaking anybody. So a path
means a set of values, and two lists with the same items give the same set.

This module has what needs no content: the kind, a contract's value as `ReadRequest`s with
their schemas, and the rules that hold a contract to the interface. A request must be a
read that the content answers, and a path one that the answer's schema admits.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any
from urllib.parse import unquote

import orjson

from shopwindow.content.documents.documents import Content, Document
from shopwindow.content.documents.finding import Finding, listed
from shopwindow.content.kinds import Kind, Reference, Rule
from shopwindow.content.reading.yaml import Json
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.content.rules.unique import once
from shopwindow.content.schemas.own_schemas import schema_faults
from shopwindow.content.schemas.schema import Schemas
from shopwindow.content.schemas.shape import SchemaFiles, Shape
from shopwindow.did_you_mean import nearest
from shopwindow.interface.answering.answer import selected, value_of
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.operation import FromContent, Operation
from shopwindow.interface.formats import JSON, Format
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import Pointer, Refusal, cut

# -- paths ---------------------------------------------------------------------------


class Every(Enum):
    """A step of a path to everything that a list or an object holds."""

    ITEM = "[]"
    VALUE = "*"


PathStep = str | Every
"""A step of a path: a name, or every item or value."""

PathSteps = tuple[PathStep, ...]

PATH_RULE = "contract.path"

PATH_FORM = 'names with dots between them, [] for items, * for values: events[].id, sections.*.title, "a.b".c'
"""What a path looks like, for messages."""

ANYTHING = Shape(SchemaFiles({}), "", {})
"""A place of which no schema says anything."""

_NAME = r'[^\s.\[\]*"]+|"(?:[^"\\]|\\.)+"'
_PATH_STEP = re.compile(rf"{_NAME}|\*|\[\]")
_PATH = re.compile(rf"(?:{_NAME}|\*|\[\])(?:\.(?:{_NAME}|\*)|\[\])*")
_BARE = re.compile(r'[^\s.\[\]*"]+')

_OPEN_KEYWORDS = frozenset(("allOf", "anyOf", "oneOf", "if", "patternProperties"))
"""Keywords under which a place may have more properties than it lists."""


class Unusable(Exception):
    """What a contract names cannot be meant. ``finding`` says why, at no place yet."""

    def __init__(self, rule: str, found: str, allowed: str, nearest: str = "") -> None:
        self.finding = Finding(rule, (), found, allowed, nearest=nearest)


def parse_path(text: str) -> PathSteps:
    """Return the steps of a path. Raises Unusable."""
    match = _PATH.match(text)
    end = match.end() if match else 0
    if not match or end < len(text):
        found = f"the path {cut(text)!r} cannot be read from character {end + 1} on"
        raise Unusable(PATH_RULE, found, PATH_FORM)
    return tuple(map(_step, _PATH_STEP.findall(text)))


def _step(text: str) -> PathStep:
    if text.startswith('"'):
        return str(orjson.loads(text))
    return {each.value: each for each in Every}.get(text, text)


def text_of(steps: Iterable[PathStep]) -> str:
    """Return the text of a path, the reverse of `parse_path`."""
    text = ""
    for step in steps:
        if isinstance(step, Every):
            name = step.value
        else:
            is_bare = _BARE.fullmatch(step)
            name = step if is_bare else orjson.dumps(step).decode()
        text += name if step is Every.ITEM or not text else f".{name}"
    return text


def reached(answer: Json, steps: PathSteps) -> list[Json]:
    """Return every value of an answer that a path leads to."""
    values = [answer]
    for step in steps:
        values = [part for value in values for part in _parts(value, step)]
    return values


def _parts(value: Json, step: PathStep) -> Iterable[Json]:
    match value, step:
        case list(), Every.ITEM:
            return value
        case dict(), Every.VALUE:
            return value.values()
        case dict(), str() if step in value:
            return [value[step]]
    return ()


def optional_steps(place: Shape, steps: PathSteps) -> tuple[bool, ...]:
    """Return for each step of a path whether an answer may lack what it leads to.

    ``place`` is that of the answer. Where a schema leaves open what stands at a place,
    any path may lead on. Raises Unusable where no answer has what the path leads to.
    """
    optional: list[bool] = []
    places = [place]
    for number, step in enumerate(steps):
        if any(map(_is_open, places)):
            break
        type = "array" if step is Every.ITEM else "object"
        # One type, or a list of types: a name of a type is part of no other.
        around = [each for each in places if type in (each.keyword("type") or "object")]
        places = [below for each in around for below in _below(each, step)]
        if not places:
            names = dict.fromkeys(name for each in around for name in each.properties)
            above = text_of(steps[:number]) or "the answer"
            allowed = listed(names) or "[] behind a list; nothing behind a value"
            name = text_of((step,))
            raise Unusable(
                PATH_RULE,
                f"{above} has no {cut(name)!r}",
                allowed,
                nearest(name, names),
            )
        is_name = isinstance(step, str)
        optional.append(is_name and any(step not in each.required for each in around))
    return (*optional, *[True] * (len(steps) - len(optional)))


def _below(place: Shape, step: PathStep) -> list[Shape]:
    """Return the places that a step leads to."""
    if step is Every.ITEM:
        return [place.items or ANYTHING]
    names = (*place.properties, step.value) if isinstance(step, Every) else (step,)
    is_closed = place.keyword("additionalProperties") is False
    listed = [name for name in names if name in place.properties or not is_closed]
    return [place.property(name) or ANYTHING for name in listed]


def _is_open(place: Shape) -> bool:
    """Return whether a place may hold more than its own keywords say."""
    is_typed = "type" in place.schema or place.properties
    return not is_typed or not _OPEN_KEYWORDS.isdisjoint(place.schema)


# -- the kind --------------------------------------------------------------------------

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

READS = "a read that the content answers, as `shopwindow build --list` names them"
"""What a request of a contract is, for messages."""

OWN_KEYWORDS = ("path", "required")
"""What a field of a contract says beside the keywords of JSON Schema."""

EVERY = {Every.ITEM: "items", Every.VALUE: "additionalProperties"}
"""The keyword of JSON Schema for what a step of a path leads to."""


def contract_kind(applications: Kind) -> Kind:
    """Return the kind of contracts, for an Interface to list among its kinds.

    ``applications``: the kind of the documents that `app` names.
    """
    return Kind(
        name=CONTRACT,
        folder="contracts",
        schema="contract.json",
        order=("app", "version"),
        scheduled=False,
        references=(Reference(("app",), applications.name),),
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
        try:
            operation = require_read(interface, text, contract["app"])
        except Unusable:
            continue
        fields = {steps_of(operation, each["path"]): each for each in read["fields"]}
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
    leads_to_list = False
    for end in reversed(range(len(steps))):
        step = steps[end]
        if isinstance(step, Every):
            leads_to_list = True
            schema = {EVERY[step]: schema}
        else:
            field = stated.get(steps[: end + 1], {})
            needed = field.get("required", not (leads_to_list and optional[end]))
            schema = {"properties": {step: schema}, "required": [step] * needed}
        if "type" not in stated.get(steps[:end], ()):
            schema["type"] = "array" if step is Every.ITEM else "object"
    return schema


def steps_of(operation: Operation, path: str) -> PathSteps:
    """Return the steps of a path in the answers of an operation. Raises Unusable.

    What the interface calls the answer may stand first (`Operation.subject`).
    """
    steps = parse_path(path)
    is_named = len(steps) > 1 and steps[0] == operation.subject
    return steps[1:] if is_named else steps


def as_request(text: str, format: Format = JSON) -> Request:
    """Return the request that a text means: a path and query below base_url."""
    path, _, query = text.removeprefix("/").partition("?")
    return Request(unquote(path), query, {"accept": format.media_type})


def answer_of(
    interface: Interface, request: str, application: str | None, content: Content
) -> Json:
    """Return the JSON answer to a request of a contract. Raises Refusal."""
    call = bind(as_request(request), application, interface, content=content)
    return selected(call, value_of(call, content))


# -- rules -----------------------------------------------------------------------------


def with_rules(interface: Interface, schemas: Schemas) -> Interface:
    """Return an Interface whose contracts are checked: with the rules below."""
    if CONTRACT not in interface.kind:
        return interface
    rule = Rule(RULES, partial(faults, interface, schemas))
    return replace(interface, rules=(*interface.rules, rule))


def faults(interface: Interface, schemas: Schemas, case: Case) -> RuleFindings:
    """Yield what is wrong with contracts, whatever the content is.

    Two contracts are of one version; one is of a version that is not supported; a
    request is none of the interface's reads; a path cannot be read, or leads where no
    answer has anything; what stands beside it is no JSON Schema.
    """
    contracts = case.having(CONTRACT, ("app",), ("version",))
    readers = ((each, ("version",), title_of(each.value)) for each in contracts)
    yield from once(case, interface.kind[CONTRACT], "version", readers)
    yield from _unsupported(interface, case, contracts)
    for document in contracts:
        for number, read in case.entries(document, ("reads",)):
            for finding in _of_read(
                interface, schemas, document.value["app"], read, ("reads", number)
            ):
                yield document, finding


def _unsupported(
    interface: Interface, case: Case, contracts: Iterable[Document]
) -> RuleFindings:
    """Yield the contracts of versions that their application does not support.

    Somebody ended the support, and the contract would go on to hold editors back; or
    the version is mistyped, and nobody is held to it.
    """
    versions_of = interface.supported_versions
    if not interface.applications or not versions_of:
        return
    name_of = interface.kind[interface.applications].named
    applications = case.documents.of(interface.applications)
    supported = {name_of(each.value): versions_of(each.value) for each in applications}
    for document in contracts:
        contract = document.value
        version, versions = contract["version"], supported.get(contract["app"])
        if versions is not None and version not in versions:
            found = f"{title_of(contract)} is not supported, and its contract is here"
            allowed = ", ".join(versions) + "; or delete this file"
            near = nearest(version, versions)
            yield (
                document,
                Finding("contract.version", ("version",), found, allowed, nearest=near),
            )


def _of_read(
    interface: Interface,
    schemas: Schemas,
    application: str,
    read: Mapping[str, Any],
    place: Pointer,
) -> Iterator[Finding]:
    """Yield what is wrong with one request of a contract, whose schema finds nothing."""
    try:
        operation = require_read(interface, read["request"], application)
    except Unusable as unusable:
        yield replace(unusable.finding, pointer=(*place, "request"))
        return
    shape = schemas.shape(operation.schema)
    for index, field in enumerate(read["fields"]):
        pointer, keywords = (*place, "fields", index), keywords_of(field)
        try:
            optional_steps(shape, steps_of(operation, field["path"]))
        except Unusable as unusable:
            yield replace(unusable.finding, pointer=(*pointer, "path"))
        for _, below, found, allowed in schema_faults(keywords):
            yield Finding("contract.keyword", (*pointer, *below), found, allowed)
        if b'"$ref":' in orjson.dumps(keywords):
            found = "a $ref, which is not read here"
            yield Finding("contract.keyword", pointer, found, "the schema itself")


def require_read(interface: Interface, text: str, application: str) -> Operation:
    """Return the operation that answers a request from content. Raises Unusable."""
    rule, request = "contract.request", as_request(text)
    reads = [
        each for each in interface.operations if isinstance(each.source, FromContent)
    ]
    routed = interface.routes.of(request.path, None)
    operation = next((each for each, _ in routed if each in reads), None)
    if operation is None:
        found = f"the content answers no {cut(request.path)!r}"
        paths = [each.path for each in reads]
        raise Unusable(rule, found, READS, nearest(request.path, paths))
    try:
        bind(request, application, interface)
    except Refusal as refusal:
        found = "; ".join(map(str, refusal.faults))
        raise Unusable(rule, found, "a request that the interface admits") from None
    return operation
