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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.scalars import quoted, scalar
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.content.schemas.shape import Shape
from shopwindow.interface.answering.answer import refused
from shopwindow.interface.answering.contracts import (
    ANYTHING,
    CONTRACT,
    Every,
    PathSteps,
    Unusable,
    answer_of,
    require_read,
    text_of,
)
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Misuse, Refusal, sentence
from shopwindow.starter.written import in_brackets, write_new

UNSET = "x-unset"
"""The keyword of a schema with the word for a value that is not set yet."""

Seen = dict[PathSteps, tuple[Shape, list[Json]]]
"""What stands at each path of some answers: its place in their schema, and the values."""

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
    for request in requests:
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
    try:
        operation = require_read(interface, request, app)
    except Unusable as unusable:
        why = sentence(unusable.finding.problem("", (), None))
        raise Misuse("", f"{request}: {why}") from None
    seen: Seen = {}
    for content in recording.contents:
        try:
            answer = answer_of(interface, request, app, content)
        except Refusal as refusal:
            if not seen:  # later on, what the request names may have ended
                raise Misuse("", f"{request} {refused(refusal)}") from None
        else:
            _see(recording.schemas.shape(operation.schema), (), answer, seen)
    for steps in sorted(filter(None, seen), key=text_of):
        yield from _of_path(steps, seen)


def _see(place: Shape, steps: PathSteps, value: Json, seen: Seen) -> None:
    """Note a value of an answer, and all that it holds, at their paths.

    What all values of a map have is one path: its names are of the content, and not of
    the interface.
    """
    seen.setdefault(steps, (place, []))[1].append(value)
    if isinstance(value, list):
        for item in value:
            _see(place.items or ANYTHING, (*steps, Every.ITEM), item, seen)
    elif isinstance(value, dict):
        others = place.keyword("additionalProperties")
        is_map = not place.properties and isinstance(others, dict)
        for name, part in value.items():
            step = Every.VALUE if is_map else name
            _see(place.property(name) or ANYTHING, (*steps, step), part, seen)


def _of_path(steps: PathSteps, seen: Seen) -> Iterator[dict[str, Json]]:
    """Yield the field of a path, where it says something that those below it do not.

    Where the schema names the word for what is not set yet, and everything is set, that
    word would break the application.
    """
    (around, objects), (place, values) = seen[steps[:-1]], seen[steps]
    step, is_object = steps[-1], isinstance(values[0], dict)
    may_lack = isinstance(step, str) and len(values) < len(objects)
    if step in around.properties and not is_object:
        may_lack |= step not in around.required
    field: dict[str, Json] = {"path": text_of(steps)}
    for keyword in ("type", "enum", "const"):
        if keyword in place.schema:
            field[keyword] = place.schema[keyword]
    unset = place.keyword(UNSET)
    if unset is not None and unset not in values:
        field["not"] = {"const": unset}
    if may_lack:
        field["required"] = False
    if isinstance(values[0], list) and any(values):
        # A list of objects is one of documents, of which the last may go.
        is_of_words = not isinstance(seen[*steps, Every.ITEM][1][0], dict)
        if may_lack or Every.ITEM in steps or not (is_of_words and all(values)):
            return
        field["minItems"] = 1
    elif is_object and any(values) and not may_lack:
        return
    yield field
