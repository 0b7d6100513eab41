"""What an editor offers to write at once: a whole document, with the places to fill in."""

from typing import Any

from shopwindow.content.kinds import Kind
from shopwindow.content.schemas.schema import Schemas
from shopwindow.content.schemas.shape import Shape

DEEPEST_SNIPPET = 6
"""Levels of a snippet: what is deeper has its example, or is left out."""


def snippet(kind: Kind, schemas: Schemas) -> list[dict[str, Any]]:
    """Return the snippets of a kind: a document with what is required, in the schema's
    order.

    The id is the first place to fill in, for only a person or `shopwindow new` knows
    it.
    """
    shape = schemas.shape(kind.schema)
    body = _SnippetBody().value(shape, 0)
    about = f"A {kind.name} with what is required. `shopwindow new {kind.name}` knows the next id."
    return [{"label": f"new {kind.name}", "description": about, "body": body}]


class _SnippetBody:
    """The value of a snippet; its stops are numbered from 1."""

    def __init__(self) -> None:
        self._stop = 0

    def value(self, shape: Shape, deep: int) -> Any:
        """Return the part of the snippet for a place."""
        examples = shape.keyword("examples")
        if (
            shape.type == "object"
            and shape.properties
            and deep < DEEPEST_SNIPPET
            and not examples
        ):
            names = shape.required or shape.properties[:1]
            inner = ((name, shape.property(name)) for name in names)
            return {name: self.value(part, deep + 1) for name, part in inner if part}
        if examples:
            return self._marked(examples[0])
        if shape.type == "array" and shape.items is not None and deep < DEEPEST_SNIPPET:
            return [self.value(shape.items, deep + 1)]
        choices = shape.keyword("enum")
        return self._marked(choices[0] if choices else "")

    def _marked(self, value: Any) -> Any:
        """Return a value in which every scalar is a stop, with the value as what stands
        there.
        """
        if isinstance(value, dict):
            return {key: self._marked(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self._marked(part) for part in value]
        self._stop += 1
        if isinstance(value, bool):
            value = str(value).lower()
        text = str(value).replace("\\", "\\\\").replace("$", "\\$").replace("}", "\\}")
        return f"${{{self._stop}:{text}}}" if text else f"${self._stop}"
