"""What a schema refuses, in an editor's words.

jsonschema-rs says which keyword refused which value. `explained` makes that a Finding:
what was found, what is allowed, the nearest allowed value where it may be a typing
error, and what to write instead where that can be guessed. A schema's own `x-allowed`
is preferred to anything that could be derived from its keywords.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from shopwindow.content.documents.finding import (
    NOTHING,
    Finding,
    NumberAt,
    listed,
    shown,
)
from shopwindow.content.reading.yaml import Json, at, walked
from shopwindow.content.schemas import meant
from shopwindow.content.schemas.meant import (
    TYPES,
    Meant,
    Readings,
    wanted_at,
)
from shopwindow.content.schemas.shape import Shape, placed, validator
from shopwindow.did_you_mean import nearest
from shopwindow.problems import Pointer, cut

LAYOUTS = {
    "object": "lines of `key: value` below, indented",
    "array": "entries in brackets, `[a, b]`, or below with `- `",
}
"""How YAML writes what is wanted. This is advice for editors; a client that sends JSON
gets none of it.
"""

_FORMAT_WORDS = {
    "date": "a day as YYYY-MM-DD",
    "date-time": "a time as YYYY-MM-DDTHH:MM:SS+HH:MM",
    "uri": "a URL",
}
_BOUND_WORDS = {
    "minimum": ("{0} is too small", "at least {0}"),
    "maximum": ("{0} is too large", "at most {0}"),
    "exclusiveMinimum": ("{0} is too small", "more than {0}"),
    "exclusiveMaximum": ("{0} is too large", "less than {0}"),
    "minLength": ("{0} is too short", "at least {0} characters"),
    "maxLength": ("{0} is too long: {1} characters", "at most {0}"),
    "minItems": ("a list of {1} is too short", "at least {0}"),
    "maxItems": ("a list of {1} is too long", "at most {0}"),
    "minProperties": ("an object of {1} keys is too small", "at least {0}"),
    "maxProperties": ("an object of {1} keys is too large", "at most {0}"),
}
"""Keyword → what was found ({0} is the value, {1} its size), and what is allowed
instead ({0} is the keyword's value).
"""

_LEAST = {
    "minLength": "some text",
    "minItems": "at least {0} in the list",
    "minProperties": "at least {0} of its keys",
}
"""Keyword → what is wanted where an editor wrote nothing at all."""

_NUMBER = re.compile(r"\+?[0-9]{1,1000}")
"""A key that jsonschema-rs takes for a position."""

_DAY_FORM = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")


def fractions(whole: Shape, document: Json, written: NumberAt) -> Iterator[Finding]:
    """Yield where a whole number is written with a fraction of zero."""
    for pointer, value, shape in placed(whole, document):
        if isinstance(value, float) and shape.type == "integer" and value.is_integer():
            certain = int(value) if abs(value) < 1e15 else None
            allowed = "a whole number without a fraction"
            yield Finding(
                "schema.fraction",
                pointer,
                f"{written(pointer) or shown(value)} has a fraction",
                allowed if certain is None else f"{allowed}: {certain}",
                shape.description,
                meant=certain,
            )


def about_of(shape: Shape, pointer: Pointer) -> str:
    """Return the description of a place, or of the nearest around it that has one."""
    for length in range(len(pointer), 0, -1):
        place = shape.at(pointer[:length])
        if place is not None and place.description:
            return place.description
    return ""


def explained(
    error: Any,
    document: Json,
    shape: Shape,
    written: NumberAt,
) -> Iterator[Finding]:
    """Yield one error of jsonschema-rs in an editor's words.

    ``document`` holds it; ``shape``: the place of the
    whole document. ``written`` returns how a number is written.
    """
    inner = error.kind.error if error.kind.name == "propertyNames" else error
    address, _, keyword = inner.absolute_keyword_location.rpartition("/")
    if keyword.isdigit():  # one of the names under `dependentRequired`
        address, _, keyword = address.rpartition("/")
    if inner.kind.name == "falseSchema":  # its address is the schema's own
        keyword, schema = "", {"": False}
    else:
        schema = shape.files.target(address)[1]
    refused = _Refused(
        keyword,
        schema[keyword],
        schema,
        inner.instance,
        pointer_of(error, document),
        inner is not error,
        inner,
        shape,
        written,
    )
    if not keyword or (keyword == "not" and refused.wanted == {}):
        yield from _forbidden(refused)
    elif keyword in _EXPLAINED:
        yield from _EXPLAINED[keyword](refused)
    else:
        yield refused.finding(inner.message[:200], refused.named)


def pointer_of(error: Any, document: Json) -> Pointer:
    """Return where an error is in a document.

    jsonschema-rs gives a key such as "100" as the number 100, and leaves out the key "".
    So several places may be meant; the one with the refused value is.
    """
    reported: Pointer = tuple(error.instance_path)
    with suppress(LookupError):
        if at(document, reported) == error.instance:
            return reported
    places = [place for place, _ in walked(document) if _as_reported(place) == reported]
    meant = [place for place in places if at(document, place) == error.instance]
    return [*meant, *places, ()][0]


def _as_reported(pointer: Pointer) -> Pointer:
    """Return a pointer as jsonschema-rs gives it."""
    return tuple(
        int(step) if _NUMBER.fullmatch(str(step)) else step
        for step in pointer
        if step != ""
    )


@dataclass(frozen=True)
class _Refused:
    """A value that a keyword of a schema refuses.

    ``wanted``: what the schema says with the keyword; ``schema``: the one around it.
    ``in_name``: the value is a key of the object at ``pointer``. ``error``: what
    jsonschema-rs says. ``document``: the place of the whole document. ``written`` returns
    how a number is written.
    """

    keyword: str
    wanted: Json
    schema: Mapping[str, Json]
    value: Json
    pointer: Pointer
    in_name: bool
    error: Any
    document: Shape
    written: NumberAt

    @property
    def rule(self) -> str:
        if self.keyword.startswith("unevaluated"):
            return "schema.other"
        return f"schema.{self.keyword or 'false'}"

    @property
    def seen(self) -> str:
        """The value as a message quotes it; a number as the editor wrote it."""
        number = self.written(self.pointer) if isinstance(self.value, float) else None
        return cut(number) if number else shown(self.value)

    @property
    def where(self) -> Pointer:
        is_key = self.in_name and isinstance(self.value, str)
        return (*self.pointer, self.value) if is_key else self.pointer

    @property
    def place(self) -> Shape | None:
        """What the schemas say of the place of the value."""
        return self.document.at(self.pointer)

    @property
    def about(self) -> str:
        return about_of(self.document, self.pointer)

    @property
    def named(self) -> str:
        """What the schema itself says to be allowed; empty where it does not."""
        return str(self.schema.get("x-allowed", ""))

    def meant(
        self, value: Json, wanted: Json, place: Shape | None, written: NumberAt
    ) -> Meant:
        """Return what is meant by a value where one type, or several, are wanted."""
        first = wanted if isinstance(wanted, str) else [*(wanted or ()), ""][0]
        read = Readings(value, place, self.pointer, written).meant(first)
        return read if isinstance(wanted, str) else Meant(read.words)

    def finding(
        self, found: str, allowed: str, near: str = "", certain: Json = None
    ) -> Finding:
        """Return a Finding at the value. ``near``: an allowed value like this one;
        ``certain``: the value that is meant.
        """
        return Finding(
            self.rule,
            self.where,
            found,
            allowed,
            self.about,
            near,
            self.in_name,
            meant=certain,
        )


def _wrong_type(refused: _Refused) -> Iterator[Finding]:
    if "enum" in refused.schema:  # which says what is allowed
        return
    value, place = refused.value, refused.place
    is_list = isinstance(refused.wanted, list)
    types: list[str] = refused.wanted if is_list else [refused.wanted]
    kind, wanted = " or ".join(TYPES.get(name, name) for name in types), types[0]
    found = NOTHING if value == "" else f"{refused.seen} is not {kind}"
    allowed = f"{kind}: {LAYOUTS[wanted]}" if wanted in LAYOUTS else kind
    named = refused.named or str((place and place.keyword("x-allowed")) or "")
    read = refused.meant(value, refused.wanted, place, refused.written)
    allowed = read.words or named or allowed
    yield refused.finding(found, allowed, certain=read.certain)


def _absent(refused: _Refused) -> Iterator[Finding]:
    name = refused.error.kind.property
    pointer = (*refused.pointer, name)
    yield Finding(
        refused.rule,
        refused.pointer,
        f"{shown(name)} is missing",
        wanted_at(refused.document.at(pointer)),
        about_of(refused.document, pointer),
        on_key=True,
        missing=name,
    )


def _unknown_keys(refused: _Refused) -> Iterator[Finding]:
    names = tuple(refused.schema.get("properties", ()))
    free = [name for name in names if name not in refused.value]
    for name in refused.error.kind.unexpected:
        yield Finding(
            refused.rule,
            (*refused.pointer, name),
            f"{shown(name)} is not known here",
            listed(names) or "nothing",
            refused.about,
            _nearest(name, free) or _nearest(name, names),
            True,
            meant=_meant_key(refused, name, names),
        )


def _no_choice(refused: _Refused) -> Iterator[Finding]:
    value, seen = refused.value, refused.seen
    choices = refused.wanted if refused.keyword == "enum" else [refused.wanted]
    near = _nearest(value if isinstance(value, str) else seen, choices)
    found = NOTHING if value == "" else f"{seen} is not one of the allowed values"
    certain = None if refused.in_name else meant.choice(value, choices)
    yield refused.finding(found, listed(choices), near, certain)


def _wrong_form(refused: _Refused) -> Iterator[Finding]:
    text, place, wanted = refused.value, refused.place, str(refused.wanted)

    def admits(other: str) -> bool:
        return not refused.in_name and place is not None and place.admits(other)

    misfit, day = "does not have the right form", meant.day(text)
    is_no_day = _DAY_FORM.match(text) and meant.day(text[:10]) is None
    if is_no_day and (wanted == "date" or admits(f"2000-01-01{text[10:]}")):
        misfit = "does not exist in the calendar"
    found = NOTHING if text == "" else f"{refused.seen} {misfit}"
    form = _FORMAT_WORDS.get(wanted, f"text of the form {cut(wanted, 200)}")
    certain = day if day and admits(day) else None
    yield refused.finding(found, refused.named or form, certain=certain)


def _twice(refused: _Refused) -> Iterator[Finding]:
    second = _second(refused.value)
    entry = shown(refused.value[second[0]]) if second else "an entry"
    yield Finding(
        refused.rule,
        (*refused.pointer, *second),
        f"{entry} stands in the list a second time",
        "each entry once",
        refused.about,
    )


def _out_of_bounds(refused: _Refused) -> Iterator[Finding]:
    value, keyword = refused.value, refused.keyword
    if value in ("", [], {}) and keyword in _LEAST:
        allowed = refused.named or _LEAST[keyword].format(refused.wanted)
        yield refused.finding(NOTHING, allowed)
        return
    found, bound = _BOUND_WORDS[keyword]
    size = f"{len(value):,}" if isinstance(value, str | list | dict) else ""
    allowed = ", ".join(filter(None, (refused.named, bound.format(refused.wanted))))
    yield refused.finding(found.format(refused.seen, size), allowed)


def _misfits(refused: _Refused) -> Iterator[Finding]:
    """Explain a keyword that holds schemas: what does not fit them, and these."""
    wanted = refused.wanted
    is_const = isinstance(wanted, dict) and wanted.keys() == {"const"}
    what = shown(wanted["const"]) if is_const else orjson.dumps(wanted).decode()
    found, allowed = f"{refused.seen} does not fit", "one of {0}"
    if refused.keyword == "contains":
        found, allowed = "no entry of the list fits", "at least one entry like {0}"
    elif refused.keyword == "not":
        found, allowed = f"{refused.seen} may not stand here", "anything but {0}"
    yield refused.finding(found, refused.named or allowed.format(cut(what, 200)))


def _forbidden(refused: _Refused) -> Iterator[Finding]:
    """Explain `false` and `not: {}`: whatever stands here is too much."""
    here = refused.pointer[-1] if refused.pointer else refused.value
    yield Finding(
        refused.rule,
        refused.pointer,
        f"{shown(here)} may not stand here",
        refused.named,
        refused.about,
        on_key=True,
    )


_EXPLAINED: Mapping[str, Callable[[_Refused], Iterator[Finding]]] = {
    "type": _wrong_type,
    "required": _absent,
    "dependentRequired": _absent,
    "additionalProperties": _unknown_keys,
    "enum": _no_choice,
    "const": _no_choice,
    "pattern": _wrong_form,
    "format": _wrong_form,
    "uniqueItems": _twice,
    **dict.fromkeys(("contains", "not", "anyOf", "oneOf"), _misfits),
    **dict.fromkeys(_BOUND_WORDS, _out_of_bounds),
}
"""Keyword → the function that explains what it refuses."""


def _nearest(word: str, choices: Sequence[Json]) -> str:
    """Return the choice that is most like a word."""
    scalars = (one for one in choices if not isinstance(one, dict | list))
    return nearest(word, map(str, scalars))


def _meant_key(refused: _Refused, name: str, names: Sequence[str]) -> str | None:
    """Return the key that is meant by an unknown one, if it may hold the value."""
    key, value, place = meant.key(name, names), refused.value[name], refused.place
    inner = place.property(key) if place and key else None
    wanted = inner.keyword("type") if inner else None
    if wanted is None or validator({"type": wanted}).is_valid(value):
        return key
    read = refused.meant(value, wanted, inner, lambda _: str(value))
    return key if read.certain is not None else None


def _second(items: list[Json]) -> Pointer:
    """Return where the first item stands that equals one before it."""
    seen: set[bytes] = set()
    for index, item in enumerate(items):
        written = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        if written in seen:
            return (index,)
        seen.add(written)
    return ()  # 1 and 1.0, which are equal in JSON Schema and not in JSON text
