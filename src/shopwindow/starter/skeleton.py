"""A new document to fill in: what its kind requires, and the rest as comments.

How this works. The writer goes through the places of a kind's schema (`Places`). Every
required property gets a value: the first of these that there is.

1. A value of this document's own (`ValueAt`), such as its new id, or the id of an
   existing document where the property refers to one.
2. The schema's example, or the first value that it allows.
3. A placeholder. It breaks the schema on purpose, so that `check` reports it until
   somebody writes a value.

Every other property becomes a comment that begins with `#` and no space. Without the
`#` it is a line of the document.
"""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shopwindow.content.kinds import EACH
from shopwindow.content.reading.scalars import scalar
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.shape import Shape, validator
from shopwindow.problems import Pointer
from shopwindow.starter import written

PLACEHOLDER = "TODO"
"""The placeholder for anything but text: `check` reports it as a value of a wrong type."""

OF_TEXTS = ("minLength", "format", "pattern")
"""Keywords that may refuse an empty text."""

COMMENT_WIDTH = 100
"""Columns of a comment."""

DEEPEST_SKELETON = 12
"""Levels of a schema that are written out: one may hold itself, as categories do."""

UNSTATED = object()
"""Says that a new document has no value of its own. None would mean YAML's null."""

ValueAt = Callable[[Pointer], Any]
"""The value that a new document has of its own at a place, or UNSTATED."""


@dataclass(frozen=True)
class Places:
    """One place of a schema.

    ``shapes``: usually one. Where a content folder has a schema of its own on top of
    the program's, the place in both: a document must satisfy both, so what either
    requires is required.
    """

    shapes: tuple[Shape, ...]

    def keyword(self, name: str) -> Any:
        """Return the value of a keyword in the first shape that has it; None: in none."""
        values = (shape.keyword(name) for shape in self.shapes)
        return next((value for value in values if value is not None), None)

    @property
    def type(self) -> str:
        return self.shapes[0].type

    @property
    def description(self) -> str:
        return str(self.keyword("description") or "")

    @property
    def properties(self) -> tuple[str, ...]:
        names = (name for shape in self.shapes for name in shape.properties)
        return tuple(dict.fromkeys(names))

    @property
    def required(self) -> tuple[str, ...]:
        """The properties that must be there.

        Where an object needs some property, but none by name, this is its first one.
        """
        names = (name for shape in self.shapes for name in shape.required)
        first = self.properties[:1] if self.keyword("minProperties") else ()
        return tuple(dict.fromkeys(names)) or first

    def below(self, name: str) -> "Places | None":
        return _places(shape.property(name) for shape in self.shapes)

    @property
    def items(self) -> "Places | None":
        return _places(shape.items for shape in self.shapes)


def _places(shapes: Iterator[Shape | None]) -> "Places | None":
    present = tuple(shape for shape in shapes if shape is not None)
    return Places(present) if present else None


def skeleton(
    places: Places,
    value_at: ValueAt,
    base: Json = None,
    about: Sequence[str] = (),
) -> str:
    """Return the text of a new document.

    ``value_at`` knows the values that this document has of its own. ``base`` is what
    the document builds on: what stands there is not required again. ``about`` are
    the paragraphs of the first comment.
    """
    paragraphs = (places.description, *about)
    comment = [line for text in paragraphs for line in _comment(text)]
    writer = _SkeletonWriter(value_at)
    if places.type == "object":
        body = writer.object(places, (), base)
    else:
        value = writer.value(places, ())
        # A list in a file stands for several documents. So a document that is a list
        # itself stands in a list.
        is_list = places.type == "array"
        body = list(written.lines([value] if is_list else value))
    return "\n".join([*comment, "", *body]) + "\n"


class _SkeletonWriter:
    """Writes the lines of one document, depth first."""

    def __init__(self, value_at: ValueAt) -> None:
        self._value_at = value_at

    def object(self, places: Places, pointer: Pointer, base: Json) -> list[str]:
        """Return the lines of an object.

        Properties that are required, or that have a value of the document's own, come
        first; otherwise the order is the schema's. ``base``: what the object's base
        has, which is not written again. Blank lines separate top-level properties.
        """
        required, lines = places.required, list[str]()
        inherited = base if isinstance(base, Mapping) else {}
        values = (
            (name, self._value_at((*pointer, name))) for name in places.properties
        )
        own = {name: value for name, value in values if value is not UNSTATED}
        first = {*required, *own}
        for name in sorted(places.properties, key=lambda name: name not in first):
            place = places.below(name)
            if place is None:
                continue
            inside = (*pointer, name)
            if name in own:
                lines += [*_about(place), *written.entry(name, own[name])]
            elif name in required:
                lines += self._required(name, place, inside, inherited.get(name))
            elif name not in inherited:
                lines += self._optional(name, place, inside)
            if not pointer and lines and lines[-1]:
                lines.append("")
        return lines[:-1] if lines and not lines[-1] else lines

    def _required(
        self, name: str, place: Places, pointer: Pointer, base: Json
    ) -> list[str]:
        """Return the lines of a required property; none where the base has all of it.

        ``base``: the property's value in the base; None: the base lacks it.
        """
        in_parts = _is_object(place) and place.keyword("examples") is None
        if in_parts and len(pointer) < DEEPEST_SKELETON:
            inner = self.object(place, pointer, base)
            if base is not None and all(
                line.lstrip().startswith("#") for line in inner
            ):
                return []
            return [
                *_about(place),
                f"{scalar(name)}:",
                *(_indented(line) for line in inner),
            ]
        if base is not None:
            return []
        return [*_about(place), *written.entry(name, self.value(place, pointer))]

    def _optional(self, name: str, place: Places, pointer: Pointer) -> list[str]:
        """Return the lines of an optional property, each one behind a `#`."""
        lines = written.entry(name, self.value(place, pointer))
        return [*_about(place), *(f"#{line}" for line in lines)]

    def value(self, place: Places, pointer: Pointer, deep: int = 0) -> Json:
        """Return a value for a place: its own, an example, or a placeholder.

        ``deep``: how many levels of values have been entered.
        """
        own = self._value_at(pointer)
        if own is not UNSTATED:
            return own
        in_parts = place.keyword("examples") is None and deep < DEEPEST_SKELETON
        if in_parts and _is_object(place):
            names = place.required or place.properties[:1]
            inner = ((name, place.below(name)) for name in names)
            return {
                name: self.value(part, (*pointer, name), deep + 1)
                for name, part in inner
                if part is not None
            }
        if place.type == "array" and (items := place.items) is not None:
            own = self._value_at((*pointer, EACH))
            if own is not UNSTATED:
                return [own]
            if in_parts:
                return [self.value(items, (*pointer, EACH), deep + 1)]
        return example(place)


def example(place: Places) -> Json:
    """Return a value that a place takes, or a placeholder that it refuses."""
    if examples := place.keyword("examples"):
        return examples[0]
    if choices := place.keyword("enum"):
        return choices[0]
    if place.keyword("const") is not None:
        return place.keyword("const")
    if place.type == "boolean":
        return False
    if place.type != "string":
        return PLACEHOLDER
    # Where an empty text would do, only null is sure to be reported.
    rules = {name: place.keyword(name) for name in OF_TEXTS}
    stated = {name: value for name, value in rules.items() if value is not None}
    return None if validator(stated).is_valid("") else ""


def _is_object(place: Places) -> bool:
    return place.type == "object" and bool(place.properties)


def _about(place: Places) -> list[str]:
    """Return the comment above a property: its description, and what is allowed.

    The second part is left out where nothing more than the type is required.
    """
    choices = place.keyword("enum") or (place.items and place.items.keyword("enum"))
    allowed = place.keyword("x-allowed")
    if choices:
        allowed = ", ".join(map(scalar, choices[:20]))
    return [
        *_comment(place.description),
        *(_comment(f"Allowed: {allowed}.") if allowed else ()),
    ]


def _comment(text: str) -> list[str]:
    plain = " ".join(text.split())
    return [
        f"# {line}"
        for line in textwrap.wrap(plain, COMMENT_WIDTH - 2, break_on_hyphens=False)
    ]


def _indented(line: str) -> str:
    """Return a line one level further in; the `#` of a comment stays before its text."""
    return written.INDENT + line if line else line
