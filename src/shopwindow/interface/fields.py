"""Masks, by which clients select fields of items (interface 4.4).

Such is `_fields=id,attributes(attribute(name))`. `parse` reads a mask, `format` writes
its one canonical text, and `select` applies it. Names are sorted and each stands once.
So masks that select the same fields are equal, and caches store one response for them.
"""

import re
from collections.abc import Iterator

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
    tokens = list(_tokens(text))
    mask, rest = _names(tokens, 0, 1)
    if rest != len(tokens):
        raise ValueError(
            f"has a closing parenthesis too many at character {tokens[rest][1] + 1}"
        )
    return mask


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _MASK_TOKEN.match(text, position)
        if match is None:
            raise ValueError(
                f"must be names, commas and parentheses, not {text[position:].strip()[:20]!r}"
            )
        yield match[1], match.start(1)
        position = match.end()


def _names(tokens: list[tuple[str, int]], index: int, depth: int) -> tuple[Mask, int]:
    """Return the names from ``index`` on, and the index of the token that ends them.

    That is a closing parenthesis, or the end of all tokens.
    """
    if depth > MAX_MASK_DEPTH:
        raise ValueError(f"must be nested at most {MAX_MASK_DEPTH} deep")
    names: dict[str, Mask | None] = {}
    while True:
        if index == len(tokens) or tokens[index][0] in "(),":
            where = "at the end"
            if index < len(tokens):
                where = f"at character {tokens[index][1] + 1}"
            raise ValueError(
                f"lacks a name {where}; write names as id,attributes(attribute(name))"
            )
        name, inner = tokens[index][0], None
        index += 1
        if index < len(tokens) and tokens[index][0] == "(":
            inner, index = _names(tokens, index + 1, depth + 1)
            if index == len(tokens):
                raise ValueError("lacks a closing parenthesis at the end")
            index += 1
        names[name] = _union(names[name], inner) if name in names else inner
        if index == len(tokens) or tokens[index][0] == ")":
            return tuple(sorted(names.items())), index
        if tokens[index][0] != ",":
            raise ValueError(f"lacks a comma at character {tokens[index][1] + 1}")
        index += 1


def _union(one: Mask | None, other: Mask | None) -> Mask | None:
    """Return the mask that selects what either selects; None is the whole value."""
    if one is None or other is None:
        return None
    merged = dict(one)
    for name, inner in other:
        merged[name] = _union(merged[name], inner) if name in merged else inner
    return tuple(sorted(merged.items()))


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
