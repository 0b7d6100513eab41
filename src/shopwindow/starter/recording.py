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
from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading.scalars import quoted, scalar
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.content.schemas.shape import Shape
from shopwindow.interface.answer_paths import (
    ANYTHING,
    Every,
    PathStep,
    PathSteps,
    text_of,
)
from shopwindow.interface.contracts import CONTRACT, read_or_finding
from shopwindow.interface.interface import Interface
from shopwindow.problems import Misuse, Refusal, sentence
from shopwindow.release.breaches import answer_of, refused
from shopwindow.starter.written import in_brackets, write_new

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


def write_contract(folder: Path, recording: Recording, requests: Sequence[str]) -> Path:
    """Write a contract to a file of its own, with what has to be done with it; return
    the file.

    ``folder``: the content folder. ``requests``: paths and queries below base_url.
    Raises Misuse for a request that cannot be meant, or that the content refuses, and
    Failure where such a file is there. What is said of the version is the check's to
    judge.
    """
    if CONTRACT not in recording.interface.kind:
        raise Misuse("", f"{recording.interface.title} has no contracts")
    lines = [
        f"app: {scalar(recording.app)}",
        f"version: {quoted(recording.version)}",
        "reads:",
    ]
    for request in dict.fromkeys(requests):
        lines += [f"  - request: {scalar(request)}", "    fields:"]
        lines += [
            f"      - {in_brackets(field)}" for field in _fields(recording, request)
        ]
    name = _NO_FILE_NAME.sub("-", f"{recording.app}-{recording.version}")
    return write_new(
        folder / recording.interface.kind[CONTRACT].folder / f"{name.strip('.-')}.yaml",
        _WHERE_TO_READ_ON + "\n".join(lines) + "\n",
        ", and is not replaced; add to it, or delete it first",
    )


def _fields(recording: Recording, request: str) -> Iterator[dict[str, Json]]:
    """Yield the fields of the answers to a request. Raises Misuse."""
    interface, app = recording.interface, recording.app
    operation = read_or_finding(interface, request, app, ())
    if isinstance(operation, Finding):
        raise Misuse("", f"{request}: {sentence(operation.problem('', (), None))}")
    answers = []
    for content in recording.contents:
        try:
            answers.append(answer_of(interface, request, app, content))
        except Refusal as refusal:
            if not answers:  # later on, what the request names may have ended
                raise Misuse("", f"{request} {refused(refusal)}") from None
    yield from _below(recording.schemas.shape(operation.schema), (), answers, False)


def _below(
    place: Shape, steps: PathSteps, values: Sequence[Json], may_lack: bool
) -> Iterator[dict[str, Json]]:
    """Yield the fields at a path and below it.

    ``place``: what the schema says of it. ``values``: all that stand there, in the
    answers of all instants. ``may_lack``: an application has to do without one.
    """
    field = _field(place, steps, values, may_lack)
    if not isinstance(values[0], dict | list) or not any(values):
        yield field
    elif isinstance(values[0], list):
        items = [item for value in values for item in value]
        # A list of objects is one of documents, of which the last may go.
        is_of_words = not isinstance(items[0], dict)
        if is_of_words and all(values) and not (may_lack or Every.ITEM in steps):
            yield field | {"minItems": 1}
        yield from _below(place.items or ANYTHING, (*steps, Every.ITEM), items, False)
    else:
        if may_lack:
            yield field
        yield from _in_object(place, steps, values)


def _in_object(
    place: Shape, steps: PathSteps, values: Sequence[dict[str, Json]]
) -> Iterator[dict[str, Json]]:
    """Yield the fields below a path to objects. What all values of a map have is one."""
    is_map = _is_map(place)
    parts: dict[PathStep, list[Json]] = defaultdict(list)
    for value in values:
        for name, part in value.items():
            parts[Every.VALUE if is_map else name].append(part)
    for step, inside in parts.items():
        is_optional = step in place.properties and step not in place.required
        is_leaf = not isinstance(inside[0], dict)
        may_lack = len(inside) < len(values) or (is_leaf and is_optional)
        inner = place.property(str(step)) or ANYTHING
        yield from _below(inner, (*steps, step), inside, may_lack and not is_map)


def _field(
    place: Shape, steps: PathSteps, values: Sequence[Json], may_lack: bool
) -> dict[str, Json]:
    """Return a field, with what the schema says of its place.

    Where it names the word for what is not set yet, and everything is set, that word
    would break the application.
    """
    field: dict[str, Json] = {"path": text_of(steps)}
    for keyword in ("type", "enum", "const"):
        if keyword in place.schema:
            field[keyword] = place.schema[keyword]
    unset = place.keyword(UNSET)
    if unset is not None and unset not in values:
        field["not"] = {"const": unset}
    if may_lack:
        field["required"] = False
    return field


def _is_map(place: Shape) -> bool:
    """Return whether an object's names are of the content, and not of the interface."""
    return not place.properties and isinstance(
        place.keyword("additionalProperties"), dict
    )
