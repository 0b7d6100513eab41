"""What to write in place of a value of the wrong type: the editor's own value, in the
form that the schema wants.

A list where an object is meant names the property that takes such a list
(`stores: {storeId: [1, 2]}`), one value where a list is meant stands in brackets, and
text that looks like a number loses its quotes. Where nobody can guess, nothing is
suggested.
"""

import re
from collections.abc import Iterator, Sequence

import orjson

from shopwindow.content.finding import NumberAt
from shopwindow.content.meant import fits
from shopwindow.content.shape import Shape
from shopwindow.content.yaml import CONSTANTS, JSON_NUMBER, Json
from shopwindow.problems import LONGEST, Pointer, cut

TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}

_MOST_CHOICES = 40
"""Allowed values or names that a message lists, which are a few lines of a terminal."""

_MOST_PROPERTIES = 3
"""Properties that may be meant. Of more, any choice would be a guess."""

_MOST_ITEMS = 4
"""Items of a list that a suggestion repeats; `…` stands for the others."""

_PLAIN = re.compile(r"[\w./+][\w ./+-]*")
"""Text that needs no quotes within brackets."""

_YES_AND_NO = {"yes": "true", "on": "true", "no": "false", "off": "false"}


def suggested(
    value: Json, wanted: str, place: Shape | None, pointer: Pointer, written: NumberAt
) -> str:
    """Return what to write, such as "a list: `tags: [new]`"; empty where none can guess.

    Args:
        value: what stands there, which is not of the type ``wanted``.
        wanted: a type of JSON Schema.
        place: what the schema says of the value.
        pointer: the way to it.
        written: returns how a number is written in the file.
    """
    key = f"{pointer[-1]}: " if pointer and isinstance(pointer[-1], str) else ""
    writing = _Writing(pointer, written)
    if wanted == "object" and place is not None:
        return _as_object(value, place, key, writing)
    if wanted == "array":
        return _as_list(value, place, key, writing)
    if isinstance(value, (dict, list)) or value is None:
        return ""
    text = writing.scalar(value, pointer)
    if not 0 < len(text) <= LONGEST:
        return ""
    if wanted == "string":
        return f'text: put it in quotes, "{text}"' if fits(text, place) else ""
    if wanted == "boolean" and isinstance(value, str):
        if text.lower() in ("true", "false"):
            return f"{TYPES[wanted]}, in small letters and without quotes"
        if meant := _YES_AND_NO.get(text.lower()):
            return f"{TYPES[wanted]}: `{key}{meant}`"
    if wanted in ("integer", "number") and isinstance(value, str):
        return _as_number(text, wanted)
    return ""


def _as_object(value: Json, place: Shape, key: str, writing: "_Writing") -> str:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return "one object: its keys without `- ` or brackets before them"
    if isinstance(value, list) and _are_entries(value, place):
        return "an object: its keys without `- ` before them"
    forms = list(_within(value, place, writing))
    if not 0 < len(forms) <= _MOST_PROPERTIES:
        return ""
    name, part = forms[0]
    others = "".join(f", or {other}" for other, _ in forms[1:])
    by = f" (by {name}{others})" if others else ""
    return f"an object: `{key}{{{name}: {part}}}`{by}"


def _are_entries(items: list[Json], place: Shape) -> bool:
    """Return whether each item of a list is an object of one key that the place has."""
    return bool(items) and all(
        isinstance(item, dict)
        and len(item) == 1
        and next(iter(item)) in place.properties
        for item in items
    )


def _within(
    value: Json, place: Shape, writing: "_Writing"
) -> Iterator[tuple[str, str]]:
    """Yield the properties of an object that may take a value alone, each with the
    value as it is written there.
    """
    for name in place.properties:
        if not {name}.issuperset(place.required):
            continue
        inner = place.property(name)
        if inner is not None and inner.type == "string" and not isinstance(value, str):
            continue
        part = writing.part(value, inner, writing.pointer)
        if not part and inner is not None and inner.type == "array":
            item = writing.part(value, inner.items, writing.pointer)
            part = item and f"[{item}]"
        if part and inner is not None and inner.keyword("type"):
            yield name, part


def _as_list(value: Json, place: Shape | None, key: str, writing: "_Writing") -> str:
    items = place.items if place else None
    if isinstance(value, dict):
        lists = [name for name, part in value.items() if isinstance(part, list)]
        if len(value) == 1 and lists and place is not None:
            below = (*writing.pointer, lists[0])
            if part := writing.part(value[lists[0]], place, below):
                return f"a list: `{key}{part}`, without {lists[0]}"
        if items is not None and items.type == "object":
            return "a list: `- ` before the first key of each object"
        return ""
    if value is None or value == "":
        return ""
    item = writing.part(value, items, writing.pointer)
    if item:
        return f"a list: `{key}[{item}]`"
    wanted = wanted_at(items)
    return f"a list; each entry: {wanted}" if wanted else ""


def wanted_at(place: Shape | None) -> str:
    """Return what may stand at a place where nothing does."""
    if place is None:
        return ""
    named, choices = place.keyword("x-allowed"), place.keyword("enum")
    return str(named or (choices and listed(choices)) or TYPES.get(place.type, ""))


def listed(choices: Sequence[Json]) -> str:
    """Return values or names, separated by commas, as many as a message may hold."""
    text = ", ".join(cut(str(choice)) for choice in choices[:_MOST_CHOICES])
    return text + f", … ({len(choices):,} in all)" * (len(choices) > _MOST_CHOICES)


class _Writing:
    """How the values of one place are written as YAML, on one line."""

    def __init__(self, pointer: Pointer, written: NumberAt) -> None:
        self.pointer, self._written = pointer, written

    def scalar(self, value: Json, pointer: Pointer) -> str:
        """Return a scalar as the editor wrote it, without quotes."""
        if isinstance(value, str):
            return value
        number = self._written(pointer) if isinstance(value, float) else None
        return number or orjson.dumps(value).decode()

    def part(self, value: Json, place: Shape | None, pointer: Pointer) -> str:
        """Return a value as it is written at another place; empty where it would be
        refused there, too.
        """
        if isinstance(value, dict):
            return ""
        if isinstance(value, list):
            return self._items(value, place, pointer)
        text = self.scalar(value, pointer)
        return _scalar(value, text, place) if 0 < len(text) <= LONGEST else ""

    def _items(self, values: list[Json], place: Shape | None, pointer: Pointer) -> str:
        if place is None or place.type != "array" or place.items is None or not values:
            return ""
        parts = [
            self.part(item, place.items, (*pointer, number))
            for number, item in enumerate(values[:_MOST_ITEMS])
        ]
        if not all(parts):
            return ""
        more = ", …" * (len(values) > _MOST_ITEMS)
        return f"[{', '.join(parts)}{more}]"


def _scalar(value: Json, text: str, place: Shape | None) -> str:
    """Return a scalar as it is written in a list or an object.

    It is empty where the scalar would be refused there, too. Truth in a list of texts
    is written TRUE and FALSE (wire shapes §3).
    """
    kind = place.type if place and (place.keyword("type") or place.properties) else ""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "string":
        text = text.upper() if isinstance(value, bool) else text
        return _quoted(text) if fits(text, place) else ""
    if kind in ("integer", "number"):
        is_one = is_number and (kind == "number" or isinstance(value, int))
        return text if is_one or re.fullmatch("-?[0-9]{1,15}", text) else ""
    if kind == "boolean":
        return text if isinstance(value, bool) else ""
    return "" if kind else text


def _quoted(text: str) -> str:
    """Return text with the quotes that it needs within brackets."""
    is_other = text in CONSTANTS or JSON_NUMBER.fullmatch(text)
    if _PLAIN.fullmatch(text) and text == text.strip() and not is_other:
        return text
    return orjson.dumps(text).decode()


def _as_number(text: str, wanted: str) -> str:
    """Return how a text that looks like a number is written as one; empty where it does
    not.
    """
    kind = TYPES[wanted]
    if re.fullmatch(r"0+[0-9]+", text):
        return f"{kind}, without leading zeros: {int(text)}" if len(text) < 20 else kind
    if re.fullmatch(r"-?[0-9]{1,15}", text):
        return f"{kind}, without quotes: {text}"
    if wanted == "number" and re.fullmatch(r"-?[0-9]+,[0-9]+", text):
        return f"{kind}, with a decimal point: {text.replace(',', '.')}"
    return ""
