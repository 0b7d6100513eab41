"""What an editor meant by a value that a schema refuses: one that it admits in its place.

How this works: a few readings turn what is written into a value of the type that is
wanted, such as a list of the one value, or the text of a number. The schema decides
which of them would do. A message shows the reading as the editor would write it; where
nobody could mean another, it is certain, and `check --fix` writes it (`fixing`).
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import product

import orjson

from shopwindow.content.documents.finding import NumberAt, listed
from shopwindow.content.reading.scalars import scalar
from shopwindow.content.reading.yaml import (
    JSON_NUMBER,
    MAX_INTEGER_DIGITS,
    Json,
)
from shopwindow.content.schemas.shape import Shape
from shopwindow.did_you_mean import is_slip
from shopwindow.problems import LONGEST, Pointer

TYPES = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}

_MOST_PROPERTIES = 3
"""Properties that may be meant. Of more, any choice would be a guess."""

_MOST_ITEMS = 4
"""Items of a list that a suggestion repeats; `…` stands for the others."""

_DECIMAL_COMMA = re.compile(r"-?(?![1-9][0-9]{0,2},[0-9]{3}$)[0-9]+,[0-9]+")
"""A number with a comma for the decimal point. 1,195 may as well be a thousand and more,
which 0,195 and 1195,125 cannot be.
"""

_YES_AND_NO = {"yes": True, "on": True, "no": False, "off": False}

SHORTEST_KEY = 3
"""Letters of a key that may have one letter wrong: of two letters, one wrong leaves
little to recognize.
"""

_ORDERS = ("%Y-%m-%d", "%m-%d-%Y", "%d-%m-%Y")
_CLOCKS = ("", " %H:%M", " %I:%M %p", " %I:%M%p")
"""How a person may write a day, and a time on the clock of 12 or 24 hours."""

_SEVERAL = re.compile(r"[,;\r\n]\s*")
"""What a person may have written between several entries of a list."""


@dataclass(frozen=True)
class Meant:
    """What may be meant. ``words``: what to write, as a message says it; empty where
    none can guess. ``certain``: the value that is certainly meant; None: in doubt.
    """

    words: str = ""
    certain: Json = None


class Readings:
    """How a value of the wrong type may be read.

    ``place``: what the schema says of it. ``pointer``: the way to it. ``written``
    returns how a number is written in the file.
    """

    def __init__(
        self,
        value: Json,
        place: Shape | None,
        pointer: Pointer,
        written: NumberAt,
    ) -> None:
        self._value, self._place = value, place
        self._key = f"{pointer[-1]}: " if isinstance([0, *pointer][-1], str) else ""
        items = enumerate(value) if isinstance(value, list) else ()
        places = [(pointer, value), *(((*pointer, n), item) for n, item in items)]
        self._spelled = {
            item: text
            for at, item in places
            if isinstance(item, float) and (text := written(at))
        }

    def meant(self, wanted: str) -> Meant:
        """Return what is meant where the JSON type ``wanted`` has to stand."""
        if wanted == "object":
            return Meant(self._as_object())
        if wanted == "array":
            return self._as_list()
        if isinstance(self._value, dict | list) or self._value in (None, ""):
            return Meant()
        if wanted == "string":
            return self._as_text()
        text = str(self._value) if isinstance(self._value, str) else ""
        if len(text) > LONGEST:
            return Meant()
        return (
            _as_truth(text, self._key) if wanted == "boolean" else _number(text, wanted)
        )

    def _as_text(self) -> Meant:
        texts = [text for text in self._scalars(self._value) if isinstance(text, str)]
        fitting = [text for text in texts if _fits(self._place, text)]
        if not fitting or len(fitting[0]) > LONGEST:
            return Meant()
        certain = fitting[0] if len(fitting) == 1 else None
        return Meant(f'text: put it in quotes, "{fitting[0]}"', certain)

    def _as_list(self) -> Meant:
        value, place = self._value, self._place
        items = place.items if place else None
        if isinstance(value, dict):
            lists = [name for name, part in value.items() if isinstance(part, list)]
            if len(value) == 1 and lists and _fits(place, value[lists[0]]):
                part = self._flow(value[lists[0]])
                return Meant(f"a list: `{self._key}{part}`, without {lists[0]}")
            if items is None or items.type != "object":
                return Meant()
            certain = [value] if value and _fits(place, [value]) else None
            return Meant("a list: `- ` before the first key of each object", certain)
        if value is None or value == "":
            return Meant()
        fitting = [one for one in self._scalars(self._value) if _fits(items, one)]
        if not fitting or len(str(fitting[0])) > LONGEST:
            each = wanted_at(items)
            return Meant(f"a list; each entry: {each}" if each else "")
        entry = fitting[0]
        entries = _SEVERAL.split(entry) if isinstance(entry, str) else [entry]
        is_certain = (
            len(fitting) == len(entries) == 1
            and _fits(place, entries)
            and not (isinstance(entry, int) and isinstance(value, str))
        )
        return Meant(
            f"a list: `{self._key}{self._flow(entries)}`",
            entries if is_certain else None,
        )

    def _as_object(self) -> str:
        value, place = self._value, self._place
        if place is None:
            return ""
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            if len(value) == 1:
                return "one object: its keys without `- ` or brackets before them"
            if value and all(
                len(one) == 1 and {*one} <= {*place.properties} for one in value
            ):
                return "an object: its keys without `- ` before them"
            return ""
        forms = [
            (name, part)
            for name in place.properties
            if {name}.issuperset(place.required)
            and (part := self._within(place.property(name))) is not None
        ]
        if not 0 < len(forms) <= _MOST_PROPERTIES:
            return ""
        name, part = forms[0]
        others = "".join(f", or {other}" for other, _ in forms[1:])
        by = f" (by {name}{others})" if others else ""
        return f"an object: `{self._key}{{{name}: {self._flow(part)}}}`{by}"

    def _within(self, inner: Shape | None) -> Json:
        """Return the value as a property of an object may hold it, or None."""
        if inner is None or not inner.keyword("type"):
            return None
        values = self._value if isinstance(self._value, list) else [self._value]
        read = [self._entry(inner.items, value) for value in values]
        if inner.type == "array" and None not in read and _fits(inner, read):
            return read
        is_same = inner.type != "string" or isinstance(self._value, str)
        return self._value if is_same and _fits(inner, self._value) else None

    def _entry(self, items: Shape | None, value: Json) -> Json:
        return next((one for one in self._scalars(value) if _fits(items, one)), None)

    def _scalars(self, value: Json) -> Iterator[Json]:
        """Yield what a scalar may be read as: itself, its text, its number.

        Truth as a text may be TRUE or true (interface W3).
        """
        yield value
        if isinstance(value, bool):
            yield from (str(value).upper(), str(value).lower())
        elif isinstance(value, int | float):
            yield self._spelled.get(value) or orjson.dumps(value).decode()
        elif isinstance(value, str) and re.fullmatch("-?[0-9]{1,15}", value):
            yield int(value)

    def _flow(self, value: Json) -> str:
        """Return a value as it is written on one line."""
        if isinstance(value, list):
            more = ", …" * (len(value) > _MOST_ITEMS)
            return f"[{', '.join(map(self._flow, value[:_MOST_ITEMS]))}{more}]"
        return self._spelled.get(value) or scalar(value, in_brackets=True)


def _fits(place: Shape | None, value: Json) -> bool:
    return place is not None and place.admits(value)


def _as_truth(text: str, key: str) -> Meant:
    kind = TYPES["boolean"]
    if text.lower() in ("true", "false"):
        words = f"{kind}, in small letters and without quotes"
        return Meant(words, text.lower() == "true")
    truth = _YES_AND_NO.get(text.lower())
    return Meant("" if truth is None else f"{kind}: `{key}{str(truth).lower()}`")


def _number(text: str, wanted: str) -> Meant:
    """Return the number that a text looks like."""
    kind, is_short = TYPES[wanted], len(text) <= MAX_INTEGER_DIGITS
    if re.fullmatch(r"0+[0-9]+", text):
        return Meant(
            f"{kind}, without leading zeros: {int(text)}" if is_short else kind
        )
    if _DECIMAL_COMMA.fullmatch(text) and wanted == "number":
        return Meant(f"{kind}, with a decimal point: {text.replace(',', '.')}")
    if not (is_short and JSON_NUMBER.fullmatch(text)):
        return Meant()
    if text.lstrip("-").isdigit():
        return Meant(f"{kind}, without quotes: {text}", int(text))
    return Meant(certain=float(text) if wanted == "number" else None)


def wanted_at(place: Shape | None) -> str:
    """Return what may stand at a place where nothing does."""
    if place is None:
        return ""
    named, choices = place.keyword("x-allowed"), place.keyword("enum")
    return str(named or (choices and listed(choices)) or TYPES.get(place.type, ""))


def choice(value: Json, choices: Iterable[Json]) -> str | None:
    """Return the one allowed text that differs from a value in the case of its letters
    alone.
    """
    text = str(value).casefold()
    alike = [c for c in choices if isinstance(c, str) and c.casefold() == text]
    return alike[0] if len(alike) == 1 else None


def key(word: str, names: Iterable[str]) -> str | None:
    """Return the one name that a misspelled key stands for.

    One letter is inserted, left out or replaced, two neighbors are swapped, or the case
    of letters differs. Where two names are so near, neither is certain.
    """
    folded = word.casefold()
    alike = [
        name
        for name in names
        if name.casefold() == folded
        or (min(len(word), len(name)) >= SHORTEST_KEY and is_slip(word, name))
    ]
    return alike[0] if len(alike) == 1 else None


def day(text: str) -> str | None:
    """Return a day, or a day and a time, as YYYY-MM-DD HH:MM.

    The year has four digits, and stands first or last. Where it stands last, day and
    month must not be taken for one another: one is more than 12, or they are the same.
    """
    sign = next((sign for sign in "./" if sign in text), "-")
    days = set()
    for order, clock in product(_ORDERS, _CLOCKS):
        with suppress(ValueError):
            moment = datetime.strptime(text.strip(), order.replace("-", sign) + clock)
            days.add(moment.isoformat(" ", "minutes")[: 16 if clock else 10])
    return days.pop() if len(days) == 1 else None
