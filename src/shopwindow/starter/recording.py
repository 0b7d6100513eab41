"""A first contract of an application, recorded from the answers of today.

Every value that an answer has becomes a field. What all items of a list have is one path,
and so is what all values of an open map have. What a field says comes from the answer's
schema, and not from the values of a day: its type, the words where they are closed, and
whether its object may lack it. What a schema leaves open, the answers of today and of
all later instants show, because no window that opens or closes must break an
application: whether an object is always there, and a list never empty. Which of the
fields the application reads, only its developers can say: they delete the others.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.scalars import quoted, scalar
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.content.schemas.shape import Shape
from shopwindow.interface.answer_paths import Every, PathStep, PathSteps, text_of
from shopwindow.interface.contracts import (
    CONTRACT,
    as_request,
    request_finding,
)
from shopwindow.interface.interface import Interface
from shopwindow.problems import Misuse, Refusal, sentence, suggestion
from shopwindow.release.breaches import answer_of, refused
from shopwindow.starter.written import write_new

UNSET = "x-unset"
"""The keyword of a schema with the word for a value that is not set yet."""

_NO_FILE_NAME = re.compile(r"[^A-Za-z0-9._-]+")

_WHERE_TO_READ_ON = """\
# Recorded from the content as it was. Delete the fields that the app does not read: what is not
# listed here may change. Where the app knows certain values only, add `enum: [...]` to a field;
# where it needs a value that has `required: false`, delete that.
"""


@dataclass(frozen=True)
class Recording:
    """Who reads, and from which content a contract is recorded.

    ``contents``: what is live, with its indexes: first at the instant of the recording,
    then later on.
    """

    interface: Interface
    schemas: Schemas
    contents: Sequence[Content]
    app: str
    version: str


def text_of_contract(recording: Recording, requests: Sequence[str]) -> str:
    """Return a contract as YAML, with what has to be done with it.

    ``requests``: paths and queries below base_url. Raises Misuse for an application or a
    request that cannot be meant, or that the content refuses. What is said of the version
    is the check's to judge.
    """
    _require_reader(recording)
    lines = [
        f"app: {scalar(recording.app)}",
        f"version: {quoted(recording.version)}",
        "reads:",
    ]
    for request in dict.fromkeys(requests):
        lines += [f"  - request: {scalar(request)}", "    fields:"]
        lines += [f"      - {_flow(field)}" for field in _fields(recording, request)]
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
    """Raise Misuse where there is no such application."""
    interface, app = recording.interface, recording.app
    if CONTRACT not in interface.kind:
        raise Misuse("", f"{interface.title} has no contracts")
    names = interface.application_names(recording.contents[0])
    if interface.applications is not None and app not in names:
        listed, meant = ", ".join(names), suggestion(app, names)
        raise Misuse("", f"{app!r}: the applications are {listed}{meant}")


def _fields(recording: Recording, request: str) -> Iterator[dict[str, Json]]:
    """Yield the fields of the answers to a request. Raises Misuse."""
    interface, app = recording.interface, recording.app
    if finding := request_finding(interface, request, app, ()):
        raise Misuse("", f"{request}: {sentence(finding.problem('', (), None))}")
    answers = []
    for content in recording.contents:
        try:
            answers.append(answer_of(interface, request, app, content))
        except Refusal as refusal:
            if not answers:  # later on, what the request names may have ended
                raise Misuse("", f"{request} {refused(refusal)}") from None
    operation, _ = interface.routes.route(as_request(request))
    yield from _below(recording.schemas.shape(operation.schema), (), answers, False)


def _below(
    place: Shape | None, steps: PathSteps, values: Sequence[Json], may_lack: bool
) -> Iterator[dict[str, Json]]:
    """Yield the fields at a path and below it.

    ``place``: what the schema says of it. ``values``: all that stand there, in the
    answers of all instants. ``may_lack``: an application has to do without one.
    """
    field = _field(place, steps, values, may_lack)
    if isinstance(values[0], list):
        items = [item for value in values for item in value]
        # A list of objects is one of documents, of which the last may go.
        is_of_words = bool(items) and not isinstance(items[0], dict)
        if is_of_words and all(values) and not (may_lack or Every.ITEM in steps):
            yield field | {"minItems": 1}
        elif not items:
            yield field
        if items:
            inner = place.items if place else None
            yield from _below(inner, (*steps, Every.ITEM), items, False)
        return
    if not isinstance(values[0], dict) or not any(values):
        yield field
        return
    if may_lack:
        yield field
    parts: dict[PathStep, list[Json]] = defaultdict(list)
    is_map = place is not None and _is_open_map(place)
    for value in values:
        for name, part in value.items():
            parts[Every.VALUE if is_map else name].append(part)
    for step, inside in parts.items():
        is_optional = place is not None and step not in place.required
        lacks = not is_map and len(inside) < len(values)
        is_leaf = not isinstance(inside[0], dict)
        optional = not is_map and (lacks or (is_leaf and is_optional))
        inner = place.property(str(step)) if place else None
        yield from _below(inner, (*steps, step), inside, optional)


def _field(
    place: Shape | None, steps: PathSteps, values: Sequence[Json], may_lack: bool
) -> dict[str, Json]:
    """Return a field, with what the schema says of its place.

    Where it names the word for what is not set yet, and everything is set, that word
    would break the application.
    """
    field: dict[str, Json] = {"path": text_of(steps)}
    for keyword in ("type", "enum", "const"):
        if place is not None and place.keyword(keyword) is not None:
            field[keyword] = place.keyword(keyword)
    unset = place.keyword(UNSET) if place else None
    if unset is not None and unset not in values:
        field["not"] = {"const": unset}
    if may_lack:
        field["required"] = False
    return field


def _is_open_map(place: Shape) -> bool:
    """Return whether an object's names are of the content, and not of the interface."""
    return not place.properties and isinstance(
        place.keyword("additionalProperties"), dict
    )


def _flow(value: Json) -> str:
    """Return a value as YAML writes it in a line."""
    if isinstance(value, dict):
        parts = [f"{key}: {_flow(part)}" for key, part in value.items()]
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    return scalar(value, in_brackets=True)
