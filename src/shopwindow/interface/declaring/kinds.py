"""Kinds of parameter: from text to a value, and back to its one canonical text.

Clients may write the same value in several ways, such as `2,1` and `01,2`. Parsing
accepts all of them and formatting returns one, so that all requests for the same thing
lead to one Call, one file and one cache entry.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, ClassVar, Protocol

from shopwindow.did_you_mean import suggestion
from shopwindow.interface import fields
from shopwindow.interface.declaring.table import written

MAX_ID = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact (RFC 8259 §6)."""


Schema = Mapping[str, Any]
"""A JSON Schema that describes a parameter's canonical text, for OpenAPI."""


class ParameterKind(Protocol):
    """What a parameter's text may be, and what it means.

    ``parse`` raises ValueError, whose message says what is allowed and what was found.
    ``parse(format(value)) == value`` holds for every value that ``parse`` returns.

    ``identifies``: its values are ids, of which one stands for any other in the
    configuration of an edge. ``has_elements``: it is no list by its schema and yet has
    elements.
    """

    identifies: ClassVar[bool] = False
    has_elements: ClassVar[bool] = False

    def parse(self, text: str) -> Any: ...

    def format(self, value: Any) -> str:
        """Return the value's one canonical text; commas join the items of a list."""
        items = value if isinstance(value, tuple) else (value,)
        return ",".join(map(str, items))

    def schema(self) -> Schema: ...


QUOTED_CHARACTERS = 40
"""Characters of a client's text that a message repeats: enough to recognize it."""


def refused(allowed: str, text: str) -> ValueError:
    """Return the error of a text that is not what is allowed.

    ``allowed``: what it must be, such as `must be a day that exists`.
    """
    return ValueError(f"{allowed}, not {text[:QUOTED_CHARACTERS]!r}")


def is_list(kind: ParameterKind) -> bool:
    """Return whether a parameter is a list, whose items commas separate."""
    return kind.schema().get("type") == "array"


MAX_VALUE_LENGTH = 1000
"""Characters of a value, and of each element of a list, where the kind's schema has no
`maxLength`.

Nothing that an operation takes is longer, but a message of the mobile log. A query of
8 KiB would give a kind that works by the square of the length 64 times as much to do.
"""

MAX_ELEMENTS = 1000
"""Elements of a list, each as often as it stands there.

The longest list that an operation takes has 250 ids (interface W1.7). Four times as many
leave room for clients that repeat ids, and for the kind to say what it takes.
"""


def check_size(kind: ParameterKind, text: str) -> None:
    """Raise ValueError where a text is too long for its kind to look at.

    The kind's own limits are often smaller, and are its own to check.
    """
    if len(text) <= MAX_VALUE_LENGTH:
        return
    schema = kind.schema()
    is_several = is_list(kind) or kind.has_elements
    elements = list_items(text) if is_several else [text]
    if len(elements) > MAX_ELEMENTS:
        most = schema.get("maxItems", MAX_ELEMENTS)
        raise ValueError(f"must be at most {most} elements, not {len(elements)}")

    most = schema.get("items", schema).get("maxLength", MAX_VALUE_LENGTH)
    longest = max(map(len, elements))
    if longest > most:
        where = " in each element" if is_several else ""
        raise ValueError(f"must be at most {most} characters{where}, not {longest}")


def list_items(text: str) -> list[str]:
    """Split a list at its commas, except those within parentheses.

    So `Black (Matte, Gloss),White` has two items. Where parentheses do not match, they
    are plain characters, and every comma separates.
    """
    items, depth, start = [], 0, 0
    for place, character in enumerate(text):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth < 0:
                return text.split(",")
        elif character == "," and not depth:
            items.append(text[start:place])
            start = place + 1
    return text.split(",") if depth else [*items, text[start:]]


def list_order(item: str) -> tuple[bool, str]:
    """Return a key by which the items of a list are sorted before they are joined.

    An item that closes more parentheses than it opens comes first. Otherwise `(b` and
    `a)` would be joined to `(b,a)`, which `list_items` does not split.
    """
    depth = 0
    for character in item:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False, item
    return True, item


_ID = re.compile(r"\s*0*([1-9][0-9]{0,15})\s*", re.ASCII)
"""An id, with zeros and spaces that mean nothing. MAX_ID has 16 digits."""


@dataclass(frozen=True)
class Ids(ParameterKind):
    """Ids, which are whole numbers, separated by commas.

    The value is ascending and has each id once, as answers list them (interface W1.7).
    ``limit`` is the largest number of ids.
    """

    limit: int = 100
    identifies: ClassVar[bool] = True

    def parse(self, text: str) -> tuple[int, ...]:
        ids = set()
        for part in list_items(text):
            match = _ID.fullmatch(part)
            if match is None or int(match[1]) > MAX_ID:
                raise refused(
                    f"must be whole numbers from 1 to {MAX_ID}, separated by commas",
                    part,
                )
            ids.add(int(match[1]))
        if len(ids) > self.limit:
            raise ValueError(f"must be at most {self.limit} numbers, not {len(ids)}")
        return tuple(sorted(ids))

    def schema(self) -> Schema:
        return _list_of(Count().schema(), self.limit)


@dataclass(frozen=True)
class Texts(ParameterKind):
    """Any texts, separated by commas.

    The value is sorted and has each text once, so that it has one canonical text. A
    text has commas within parentheses only (`list_items`), and spaces around it are not
    part of it. ``limit`` is
    the largest number of texts, as many as ids (interface W1.7); ``maximum`` is that of
    the characters of each. Both are small so that a URL holds all of them,
    percent-encoded.
    """

    limit: int = 100
    maximum: int = 100

    def parse(self, text: str) -> tuple[str, ...]:
        parts = {part.strip() for part in list_items(text)}
        for part in sorted(parts):
            if not 1 <= len(part) <= self.maximum:
                raise refused(
                    f"must be texts of 1 to {self.maximum} characters, separated by commas",
                    text,
                )
        if len(parts) > self.limit:
            raise ValueError(f"must be at most {self.limit} texts, not {len(parts)}")
        return tuple(sorted(parts, key=list_order))

    def schema(self) -> Schema:
        return _list_of(Text(self.maximum).schema(), self.limit)


def _list_of(items: Schema, limit: int) -> Schema:
    """Return the schema of a list with these items, at most so many."""
    return {"type": "array", "items": items, "minItems": 1, "maxItems": limit}


@dataclass(frozen=True)
class Words(ParameterKind):
    """Some of a few words in any case, separated by commas.

    The value has each word once, in the order of ``choices``.
    """

    choices: tuple[str, ...]

    def parse(self, text: str) -> tuple[str, ...]:
        chosen = {_choice(part.strip(), self.choices) for part in list_items(text)}
        return tuple(word for word in self.choices if word in chosen)

    def schema(self) -> Schema:
        return {
            "type": "array",
            "items": Word(self.choices).schema(),
            "minItems": 1,
        }


@dataclass(frozen=True)
class Word(ParameterKind):
    """One of a few words, in any case.

    ``aliases``: other spellings that clients send, each with the word that it stands
    for. They are understood, and not documented.
    """

    choices: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...] = ()

    def parse(self, text: str) -> str:
        word = dict(self.aliases).get(text.casefold(), text)
        return _choice(word, self.choices)

    def schema(self) -> Schema:
        return {"type": "string", "enum": list(self.choices)}


@dataclass(frozen=True)
class Number(ParameterKind):
    """A decimal number within limits, such as a latitude in degrees."""

    minimum: float
    maximum: float

    def parse(self, text: str) -> float:
        value = float(text) if _DECIMAL.fullmatch(text) else None
        if value is not None and self.minimum <= value <= self.maximum:
            return value + 0.0  # -0.0 becomes 0.0
        raise refused(
            f"must be a number from {self.minimum:g} to {self.maximum:g}", text
        )

    def format(self, value: float) -> str:
        return plain(value)

    def schema(self) -> Schema:
        return {"type": "number", "minimum": self.minimum, "maximum": self.maximum}


_DECIMAL = re.compile(r"-?[0-9]{1,3}(\.[0-9]{1,15})?", re.ASCII)


def plain(value: float) -> str:
    """Return a number as text without an exponent, and without a fraction of zero."""
    text = repr(value)
    if "e" in text:
        text = f"{value:.15f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text


@dataclass(frozen=True)
class Radius(ParameterKind):
    """Miles, written as the letter M and a number above 0 (interface 4.11)."""

    maximum: float

    def parse(self, text: str) -> float:
        is_radius = text[:1] == "M" and _DECIMAL.fullmatch(text, 1)
        miles = float(text[1:]) if is_radius else 0
        if 0 < miles <= self.maximum:
            return miles
        raise refused(f"must be above M0 and at most M{self.maximum:g}", text)

    def format(self, value: float) -> str:
        return f"M{plain(value)}"

    def schema(self) -> Schema:
        return {"type": "string", "pattern": r"^M[0-9]{1,3}(\.[0-9]{1,15})?$"}


@dataclass(frozen=True)
class Count(ParameterKind):
    """A whole number from 1."""

    maximum: int = MAX_ID

    def parse(self, text: str) -> int:
        number = int(text) if re.fullmatch("[0-9]{1,16}", text, re.ASCII) else 0
        if 1 <= number <= self.maximum:
            return number
        raise refused(f"must be a whole number from 1 to {self.maximum}", text)

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": 1, "maximum": self.maximum}


@dataclass(frozen=True)
class Guid(ParameterKind):
    """A GUID; its canonical text has lower-case letters."""

    def parse(self, text: str) -> str:
        if not re.fullmatch(_GUID_PATTERN, text.lower(), re.ASCII):
            raise refused(
                "must be a GUID such as 9f1c2e7a-5b0d-4c3e-8a6f-0d1e2f3a4b5c", text
            )
        return text.lower()

    def schema(self) -> Schema:
        return {"type": "string", "pattern": f"^{_GUID_PATTERN}$"}


_GUID_PATTERN = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


@dataclass(frozen=True)
class Text(ParameterKind):
    """Any text of ``minimum`` to ``maximum`` characters, without the spaces around it;
    ``verbatim``: with these.
    """

    maximum: int = 200
    minimum: int = 1
    verbatim: bool = False

    def parse(self, text: str) -> str:
        if not self.verbatim:
            text = text.strip()
        if not self.minimum <= len(text) <= self.maximum:
            raise ValueError(
                f"must be text of {self.minimum} to {self.maximum} characters, not of {len(text)}"
            )
        return text

    def schema(self) -> Schema:
        return {"type": "string", "minLength": self.minimum, "maxLength": self.maximum}


@dataclass(frozen=True)
class FieldMask(ParameterKind):
    """Names of fields to return (interface 4.4)."""

    def parse(self, text: str) -> fields.Mask:
        return fields.parse(text)

    def format(self, value: fields.Mask) -> str:
        return fields.format(value)

    def schema(self) -> Schema:
        return Text(fields.MAX_MASK_LENGTH).schema()


@dataclass(frozen=True)
class Callback(ParameterKind):
    """The name of a JavaScript function: ASCII identifiers with dots between them."""

    maximum: int = 128

    def parse(self, text: str) -> str:
        if len(text) > self.maximum or not re.fullmatch(
            r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*", text, re.ASCII
        ):
            raise refused(
                f"must be a JavaScript name of at most {self.maximum} characters", text
            )
        return text

    def schema(self) -> Schema:
        name = "[A-Za-z_$][A-Za-z0-9_$]*"
        return {
            "type": "string",
            "maxLength": self.maximum,
            "pattern": rf"^{name}(\.{name})*$",
        }


def _choice(word: str, choices: tuple[str, ...]) -> str:
    """Return the choice that is the word, whatever its case. Raises ValueError."""
    choice = in_any_case(word, choices)
    if choice is None:
        sent = f"{word[:QUOTED_CHARACTERS]!r}{suggestion(word, choices)}"
        raise ValueError(f"must be one of {', '.join(choices)}, not {sent}")
    return choice


def in_any_case(word: str, choices: Iterable[str]) -> str | None:
    """Return the choice that a word is, or is but for its case; None where it is none."""
    folded = word.casefold()
    return next((choice for choice in choices if choice.casefold() == folded), None)


# -- days and instants -----------------------------------------------------------------


@dataclass(frozen=True)
class Day(ParameterKind):
    """A calendar day as YYYY-MM-DD.

    The value is that text, because the days of events are compared as texts.
    """

    def parse(self, text: str) -> str:
        return _existing(text, "as YYYY-MM-DD", text)

    def schema(self) -> Schema:
        return {"type": "string", "format": "date"}


def _existing(day: str, form: str, text: str) -> str:
    """Return a day as YYYY-MM-DD. Raises ValueError where it does not exist.

    ``text``: as it was written, and ``form``: how it is to be written.
    """
    try:
        if date.fromisoformat(day).isoformat() == day:  # not 20260131, nor 2026-W05-6
            return day
    except ValueError:
        pass
    raise refused(f"must be a day that exists, {form}", text)


_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


_MONTH_NUMBERS = {
    name: number
    for number, month in enumerate(_MONTHS, 1)
    for name in (month, month[:3])
} | {"Sept": 9}
"""The number of a month by its names: the full one, and the one of three letters."""


@dataclass(frozen=True)
class TextualDay(ParameterKind):
    """A calendar day such as `Jun 21, 2013` (interface 4.5).

    Full names of months and a missing comma are accepted. The value is YYYY-MM-DD.
    """

    def parse(self, text: str) -> str:
        match = re.fullmatch(
            r"\s*([A-Za-z]{3,9})\.?[\s,]+([0-9]{1,2})[\s,]+([0-9]{4})\s*",
            text,
            re.ASCII,
        )
        day = ""
        if match:
            month = _MONTH_NUMBERS.get(match[1].capitalize(), 0)
            day = f"{match[3]}-{month:02}-{match[2]:0>2}"
        return _existing(day, "such as Jun 21, 2013", text)

    def format(self, value: str) -> str:
        year, month, day = map(int, value.split("-"))
        return f"{_MONTHS[month - 1][:3]} {day}, {year:04}"

    def schema(self) -> Schema:
        return {"type": "string", "pattern": "^[A-Z][a-z]{2} [0-9]{1,2}, [0-9]{4}$"}


_INSTANT_PATTERN = re.compile(
    r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?(Z|[+ -][0-9]{2}:?[0-9]{2}))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Instant(ParameterKind):
    """An instant with its offset (ISO 8601), in the years 1000 to 2999.

    The value is a text in UTC with milliseconds; smaller fractions are cut off. With
    ``days`` a day without a time is accepted and stands for its first instant in UTC. A
    space is read as `+`, because a query decodes to a space where a client did not
    percent-encode the plus sign.
    """

    days: bool = False

    def parse(self, text: str) -> str:
        text = text.strip()
        upper = text.upper()
        try:
            if _INSTANT_PATTERN.fullmatch(upper) and (self.days or "T" in upper):
                moment = datetime.fromisoformat(upper.replace(" ", "+"))
                if moment.tzinfo is None:
                    moment = moment.replace(tzinfo=UTC)
                moment = moment.astimezone(UTC)
                if 1000 <= moment.year < 3000:  # the offset may have moved it out
                    return written(moment)
        except (ValueError, OverflowError):
            pass
        allowed = "a day or an instant" if self.days else "an instant"
        raise refused(f"must be {allowed}, such as 2026-11-27T06:00:00-05:00", text)

    def schema(self) -> Schema:
        if self.days:
            # a format for each would be two types, which no client of Java's has
            return {
                "type": "string",
                "pattern": "^[12][0-9]{3}-[0-9]{2}-[0-9]{2}(T.+)?$",
            }
        return {"type": "string", "format": "date-time"}
