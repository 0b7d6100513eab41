"""Masks, by which clients select fields of items (interface 4.4).

Such is `_fields=id,attributes(attribute(name))`. `parse` reads a mask, `format` writes
its one canonical text, and `select` applies it. Names are sorted and each stands once.
So masks that select the same fields are equal, and caches store one response for them.
"""

import re
from collections.abc import Iterator, Sequence

from shopwindow.content.reading.yaml import Json

Mask = tuple[tuple[str, "Mask | None"], ...]
"""Names in order, each once, with a mask where only parts of the value are selected."""

MAX_MASK_LENGTH = 1000
"""Characters of a mask."""

MAX_MASK_DEPTH = 8
"""Levels of a mask, which bound the recursion that a client can cause.

The deepest response of the department store that has `_fields`, that of stores, has
four.
"""

_MASK_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]*|[(),])", re.ASCII)


def parse(text: str) -> Mask:
    """Return the mask of a text.

    Raises ValueError, whose message continues a sentence that begins with the name of
    the parameter.
    """
    if len(text) > MAX_MASK_LENGTH:
        raise ValueError(
            f"must be at most {MAX_MASK_LENGTH} characters, not {len(text)}"
        )
    tokens = [*_tokens(text), _END]
    names: _Names = {}
    rest = _read(tokens, 0, 1, names)
    if tokens[rest] != _END:
        raise ValueError(f"has a closing parenthesis too many {tokens[rest][1]}")
    return _mask(names)


_Names = dict[str, "_Names | None"]
"""A mask while it is read."""

_END = ("", "at the end")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield the tokens of a mask, each with where it is, for a message."""
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _MASK_TOKEN.match(text, position)
        if match is None:
            raise ValueError(
                f"must be names, commas and parentheses, not {text[position:].strip()[:20]!r}"
            )
        yield match[1], f"at character {match.start(1) + 1}"
        position = match.end()


def _read(
    tokens: Sequence[tuple[str, str]], index: int, depth: int, names: _Names
) -> int:
    """Add the names from ``index`` on, and return the index of the token that ends them.

    That is a closing parenthesis, or the end of all tokens. A name that stands there
    twice selects what either selects.
    """
    if depth > MAX_MASK_DEPTH:
        raise ValueError(f"must be nested at most {MAX_MASK_DEPTH} deep")
    while True:
        name, where = tokens[index]
        if name in ("", *"(),"):
            raise ValueError(
                f"lacks a name {where}; write names as id,attributes(attribute(name))"
            )
        index += 1
        if tokens[index][0] == "(":
            inner = names.setdefault(name, {})
            unused: _Names = {}  # of a name that is selected as a whole already
            index = _read(
                tokens, index + 1, depth + 1, unused if inner is None else inner
            )
            if tokens[index] == _END:
                raise ValueError("lacks a closing parenthesis at the end")
            index += 1
        else:
            names[name] = None
        token, where = tokens[index]
        if token in ("", ")"):
            return index
        if token != ",":
            raise ValueError(f"lacks a comma {where}")
        index += 1


def _mask(names: _Names) -> Mask:
    return tuple(
        (name, None if inner is None else _mask(inner))
        for name, inner in sorted(names.items())
    )


def format(mask: Mask) -> str:
    """Return the canonical text of a mask."""
    return ",".join(
        name if inner is None else f"{name}({format(inner)})" for name, inner in mask
    )


def select(item: Json, mask: Mask, folded: bool = False) -> Json:
    """Return the parts of an item that a mask names, in the item's order.

    Names that the item lacks are ignored. ``folded``: the mask's names are in lower
    case, and the item's may be in any.
    """
    wanted = dict(mask)
    selected = {}
    for key, value in item.items():
        name = key.lower() if folded else key
        if name in wanted:
            part = _part(value, wanted[name], folded)
            if part is not None:
                selected[key] = part
    return selected


def _part(value: Json, mask: Mask | None, folded: bool) -> Json | None:
    """Return the parts of a value that a mask names.

    Text, a number or an array of them has no parts, so the result is None.
    """
    if mask is None:
        return value
    if isinstance(value, dict):
        return select(value, mask, folded)
    if isinstance(value, list):
        objects = [item for item in value if isinstance(item, dict)]
        if value and not objects:
            return None
        return [select(item, mask, folded) for item in objects]
    return None
