"""Kinds of parameter that only the catalog's operations have."""

import re
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from shopwindow.catalog.protocol import Range
from shopwindow.did_you_mean import suggestion
from shopwindow.interface import fields
from shopwindow.interface.declaring.kinds import (
    MAX_VALUE_LENGTH,
    QUOTED_CHARACTERS,
    Ids,
    ParameterKind,
    Schema,
    Text,
    list_items,
    list_order,
    plain,
    refused,
)
from shopwindow.interface.formats import sayable

# -- ids with a selector (product detail v4) -------------------------------------------


@dataclass(frozen=True)
class IdsWithMask:
    """Ids, and the names that the client wants of each, in lower case; None: all of
    them.
    """

    ids: tuple[int, ...]
    mask: fields.Mask | None = None


@dataclass(frozen=True)
class IdsSelected(ParameterKind):
    """Ids by comma, and perhaps a selection: `520910(productdetails(price),upcs)`.

    ``words`` may stand outermost. Names further in mean what they mean to `_fields`.
    """

    words: tuple[str, ...]
    identifies: ClassVar[bool] = True
    has_elements: ClassVar[bool] = True

    def parse(self, text: str) -> IdsWithMask:
        before, opened, rest = text.partition("(")
        ids = Ids().parse(before)
        if not opened:
            return IdsWithMask(ids)
        if not rest.rstrip().endswith(")"):
            raise ValueError("lacks a closing parenthesis at the end")
        mask = fields.parse(rest.rstrip()[:-1].lower())
        for word, _ in mask:
            if word not in self.words:
                sent = f"{word[:QUOTED_CHARACTERS]!r}{suggestion(word, self.words)}"
                raise ValueError(f"may select {', '.join(self.words)}, not {sent}")
        return IdsWithMask(ids, mask)

    def format(self, value: IdsWithMask) -> str:
        ids = Ids().format(value.ids)
        return ids if value.mask is None else f"{ids}({fields.format(value.mask)})"

    def schema(self) -> Schema:
        return {
            "type": "string",
            "pattern": r"^[0-9]{1,16}(,[0-9]{1,16})*(\([a-z0-9,()]+\))?$",
        }


# -- filters by facet ------------------------------------------------------------------

MAX_PARAMETER_VALUES = 100
"""Values or ranges of one parameter.

The price of every product of a list is compared with the ranges one after the other, so
this bounds what a request costs. Larger or smaller numbers work as well.
"""

MAX_FACET_LENGTH = MAX_VALUE_LENGTH - len("[]")
"""Characters of one value. In brackets it is as long as any element of a list may be."""


@dataclass(frozen=True)
class FacetValues(ParameterKind):
    """One value, or several in brackets: `PINK`, `[PINK,YELLOW]`.

    A value may hold commas within parentheses; without brackets, anywhere.
    """

    has_elements: ClassVar[bool] = True

    def parse(self, text: str) -> tuple[str, ...]:
        inner = (
            list_items(text[1:-1])
            if len(text) > 1 and text[0] == "[" and text[-1] == "]"
            else [text]
        )
        found = sorted({part.strip() for part in inner}, key=list_order)
        if not all(0 < len(value) <= MAX_FACET_LENGTH for value in found):
            raise refused("must be a value, or several as [PINK,YELLOW]", text)
        if len(found) > MAX_PARAMETER_VALUES:
            raise ValueError(
                f"must be at most {MAX_PARAMETER_VALUES} values, not {len(found)}"
            )
        return tuple(found)

    def format(self, value: tuple[str, ...]) -> str:
        alone = len(value) == 1 and not (value[0][0] == "[" and value[0][-1] == "]")
        return value[0] if alone else f"[{','.join(value)}]"

    def schema(self) -> Schema:
        return {"type": "string", "minLength": 1}


_AMOUNT = r"\s*(\*|[0-9]{1,9}(?:\.[0-9]{1,2})?)\s*"
_PRICE_RANGE = re.compile(rf"{_AMOUNT}TO{_AMOUNT}", re.ASCII)


@dataclass(frozen=True)
class Ranges(ParameterKind):
    """Ranges of prices, both ends included, with `*` for no limit: `[0TO50]`,
    `[*TO10,100TO*]`.
    """

    has_elements: ClassVar[bool] = True

    def parse(self, text: str) -> tuple[Range, ...]:
        inner = text[1:-1] if text[:1] == "[" and text[-1:] == "]" else text
        found = set()
        for part in inner.split(","):
            match = _PRICE_RANGE.fullmatch(part)
            if match is None:
                raise refused(
                    "must be prices from one to another, such as [0TO50] or [500TO*]",
                    text,
                )
            low, high = (
                None if amount == "*" else float(amount) for amount in match.groups()
            )
            if low is not None and high is not None and low > high:
                raise refused("must be from the lower price to the higher", part)
            found.add((low, high))
        if len(found) > MAX_PARAMETER_VALUES:
            raise ValueError(
                f"must be at most {MAX_PARAMETER_VALUES} ranges, not {len(found)}"
            )
        return tuple(sorted(found, key=_order))

    def format(self, value: tuple[Range, ...]) -> str:
        return (
            f"[{','.join(f'{_amount(low)}TO{_amount(high)}' for low, high in value)}]"
        )

    def schema(self) -> Schema:
        amount = r"(\*|[0-9]{1,9}(\.[0-9]{1,2})?)"
        return {
            "type": "string",
            "pattern": rf"^\[{amount}TO{amount}(,{amount}TO{amount})*\]$",
        }


def _order(range: Range) -> tuple[float, float]:
    low, high = range
    return -1 if low is None else low, inf if high is None else high


def _amount(value: float | None) -> str:
    return "*" if value is None else plain(value)


# -- others ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Phrase(Text):
    """What a shopper types. The response repeats it, so what XML cannot hold becomes
    U+FFFD.
    """

    maximum: int = 1000

    def parse(self, text: str) -> str:
        return super().parse(sayable(" ".join(text.split())))


MAX_QUALITY = 100
"""Percent. Clients send more, such as 180; URLs of images have no more than this."""

_NUMBER = re.compile(r"\s*+(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)\s*+", re.ASCII)
"""No part gives anything back (`*+`), since digits can be divided between two parts in as
many ways as there are of them.
"""


@dataclass(frozen=True)
class Quality(ParameterKind):
    """The quality of images: any positive number, which means a whole one of percents.

    A fraction is cut off, but nothing becomes less than 1 or more than MAX_QUALITY.
    """

    def parse(self, text: str) -> int:
        number = float(text) if _NUMBER.fullmatch(text) else 0.0
        if number == 0:
            raise refused("must be a number above 0", text)
        return max(1, int(min(MAX_QUALITY, number)))

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": 1}


@dataclass(frozen=True)
class ZipCode(ParameterKind):
    """Five digits, or ZIP+4, of which the first five count.

    Leading zeros that a client lost, as in 2116, come back.
    """

    def parse(self, text: str) -> str:
        match = re.fullmatch(r"\s*([0-9]{3,5})(-?[0-9]{4})?\s*", text, re.ASCII)
        if match is None or (match[2] and len(match[1]) < 5):
            raise refused("must be a zip code of five digits", text)
        return match[1].zfill(5)

    def schema(self) -> Schema:
        return {"type": "string", "pattern": "^[0-9]{5}$"}
