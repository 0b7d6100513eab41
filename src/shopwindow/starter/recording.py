"""A first contract of an application, recorded from the answers of today.

Every value that an answer has becomes a field, with its type. What all items of a list
have is one path, and so is what all values of an open map have. A field is required
where the answer's schema requires it and every object has it. Which of the fields the
application reads, and which values it knows, only its developers can say: they delete
the other fields, and add `enum`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shopwindow.content.documents.documents import Content, Documents
from shopwindow.content.reading.scalars import quoted, scalar
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.content.schemas.shape import Shape
from shopwindow.interface.answer import ERROR_CODES, selected, value_of
from shopwindow.interface.answer_paths import Every, PathSteps, text_of
from shopwindow.interface.bind import bind
from shopwindow.interface.contracts import (
    CONTRACT,
    as_request,
    request_finding,
    supported_versions,
    title_of,
)
from shopwindow.interface.interface import Interface
from shopwindow.problems import Misuse, Refusal, suggestion
from shopwindow.starter.written import write_new

MOST_REQUESTS = 200
"""Requests of a contract, as schemas/contract.json has it: an app that sends more on its
own wants a contract for each part.
"""

MOST_FIELDS = 1000
"""Fields of a request, as schemas/contract.json has it."""

_TYPE_NAMES: Mapping[type, str] = {
    str: "text",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "list",
}

_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]+")

_WHERE_TO_READ_ON = """\
# Recorded from the content as it was. Delete the fields that the app does not read: what is not
# listed here may change. Where the app knows certain values only, add `enum: [...]` to a field;
# where it does without a value, `required: false`.
"""


@dataclass
class _Seen:
    """What answers have at one path: how often, and of which types."""

    count: int = 0
    types: set[str] = field(default_factory=set)
    is_null: bool = False
    is_optional: bool = False


@dataclass(frozen=True)
class Recording:
    """Who reads, and from which content a contract is recorded.

    ``content``: what is live of ``documents``, with its indexes.
    """

    interface: Interface
    schemas: Schemas
    documents: Documents
    content: Content
    app: str
    version: str


def text_of_contract(recording: Recording, requests: Sequence[str]) -> str:
    """Return a contract as YAML, with what has to be done with it.

    ``requests``: paths and queries below base_url. Raises Misuse for an application, a
    version or a request that cannot be meant, or that the content refuses.
    """
    _require_reader(recording)
    if len(requests) > MOST_REQUESTS:
        found = f"{len(requests)} requests, and a contract has at most {MOST_REQUESTS}"
        raise Misuse("", found)
    lines = [
        f"app: {scalar(recording.app)}",
        f"version: {quoted(recording.version)}",
        "reads:",
    ]
    for request in dict.fromkeys(requests):
        lines += [f"  - request: {scalar(request)}", "    fields:"]
        fields = list(_fields(recording, request))
        if len(fields) > MOST_FIELDS:
            found = (
                f"{request}: {len(fields)} fields, and at most {MOST_FIELDS} are held"
            )
            raise Misuse("", found)
        lines += [f"      - {{{line}}}" for line in fields]
    return _WHERE_TO_READ_ON + "\n".join(lines) + "\n"


def write_contract(content: Path, recording: Recording, text: str) -> Path:
    """Write a contract to a file of its own; return the path. Raises Failure where one
    is there.
    """
    folder = content / recording.interface.kind[CONTRACT].folder
    name = _NO_FILE_NAME.sub("-", f"{recording.app}-{recording.version}")
    advice = ", and is not replaced; add to it, or delete it first"
    return write_new(folder / f"{name.strip('.-')}.yaml", text, advice)


def _require_reader(recording: Recording) -> None:
    """Raise Misuse where there is no such application or version, or it has a contract."""
    interface, app, version = recording.interface, recording.app, recording.version
    if CONTRACT not in interface.kind:
        raise Misuse("", f"{interface.title} has no contracts")
    names = interface.application_names(recording.content)
    if interface.applications is not None and app not in names:
        listed, meant = ", ".join(names), suggestion(app, names)
        raise Misuse("", f"{app!r}: the applications are {listed}{meant}")
    named = interface.applications
    applications = recording.content.documents(named) if named else ()
    versions = supported_versions(interface, app, applications)
    if versions is not None and version not in versions:
        listed = ", ".join(versions)
        raise Misuse(
            "version", f"{version!r}: the supported ones of {app} are {listed}"
        )
    for document in recording.documents.of(CONTRACT):
        if title_of(document.value) == f"{app} {version}":
            path = document.layers[-1].path
            raise Misuse(
                "version", f"{path} is the contract of {app} {version} already"
            )


def _fields(recording: Recording, request: str) -> Iterator[str]:
    """Yield the fields of the answer to a request, as YAML. Raises Misuse."""
    interface, content, app = recording.interface, recording.content, recording.app
    finding = request_finding(interface, request, app, ())
    if finding is not None:
        close = f"; did you mean {finding.nearest}?" if finding.nearest else ""
        allowed = f"; allowed: {finding.allowed}"
        raise Misuse("", f"{request}: {finding.found}{allowed}{close}")
    try:
        call = bind(as_request(request), app, interface, content=content)
        answer = selected(call, value_of(call, content))
    except Refusal as refusal:
        code = ERROR_CODES[refusal.code]
        faults = "; ".join(map(str, refusal.faults)) or code.message
        raise Misuse("", f"{request} is refused with {code.status}: {faults}") from None
    shape = recording.schemas.shape(call.operation.schema)
    for steps, seen in _seen(answer, shape).items():
        yield _line(steps, seen)


def _line(steps: PathSteps, seen: _Seen) -> str:
    """Return a field without its braces."""
    parts = [f"path: {scalar(text_of(steps))}"]
    types = seen.types
    if types == {"integer", "number"}:
        types = {"number"}
    if len(types) == 1:
        parts.append(f"type: {next(iter(types))}")
    if seen.is_null:
        parts.append("nullable: true")
    if seen.is_optional:
        parts.append("required: false")
    return ", ".join(parts)


def _seen(answer: Json, shape: Shape) -> dict[PathSteps, _Seen]:
    """Return what an answer has, by the paths that lead to values without parts.

    An object or a list counts as one only where it is empty wherever it stands.
    """
    at: dict[PathSteps, _Seen] = {}
    objects: Counter[PathSteps] = Counter()

    def visit(
        value: Json, steps: PathSteps, place: Shape | None, optional: bool
    ) -> None:
        seen = at.setdefault(steps, _Seen())
        seen.count += 1
        seen.is_optional |= optional
        if value is None:
            seen.is_null = True
        else:
            seen.types.add(_TYPE_NAMES[type(value)])
        if isinstance(value, list):
            for item in value:
                below = place.items if place else None
                visit(item, (*steps, Every.ITEM), below, optional)
        elif isinstance(value, dict):
            objects[steps] += 1
            is_map = place is not None and _is_open_map(place)
            for name, part in value.items():
                step = Every.VALUE if is_map else name
                below = place.property(name) if place else None
                may_lack = (
                    not is_map and place is not None and name not in place.required
                )
                visit(part, (*steps, step), below, optional or may_lack)

    visit(answer, (), shape, False)
    holding = {steps[:-1] for steps in at if steps}
    for steps, seen in at.items():
        if steps and isinstance(steps[-1], str):
            seen.is_optional |= seen.count < objects[steps[:-1]]
    return {
        steps: _inherited(at, steps)
        for steps in at
        if steps and (steps not in holding or not at[steps].types <= {"object", "list"})
    }


def _inherited(at: Mapping[PathSteps, _Seen], steps: PathSteps) -> _Seen:
    """Return what was seen at a path, optional where something above it is."""
    seen = at[steps]
    seen.is_optional |= any(at[steps[:end]].is_optional for end in range(len(steps)))
    return seen


def _is_open_map(place: Shape) -> bool:
    """Return whether an object's names are of the content, and not of the interface."""
    return not place.properties and isinstance(
        place.keyword("additionalProperties"), dict
    )
