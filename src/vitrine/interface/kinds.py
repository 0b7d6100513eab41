"""Kinds of parameter: each turns text into a value and the value back into its one canonical text."""

import re
from dataclasses import dataclass
from typing import Any, Protocol

from vitrine.problems import nearest

MAX_ID = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact (RFC 8259 §6)."""


class Kind(Protocol):
    """``parse`` raises ValueError with what was found and what is allowed; ``parse(format(value)) == value``."""

    def parse(self, text: str) -> Any: ...

    def format(self, value: Any) -> str: ...


@dataclass(frozen=True)
class Ids:
    """Whole numbers by comma: kept ascending and each once, as answers list them (wire shapes §1)."""

    limit: int = 100

    def parse(self, text: str) -> tuple[int, ...]:
        found = set()
        for part in text.split(","):
            if not re.fullmatch(r"\s*0*[0-9]{1,16}\s*", part, re.ASCII) or not 0 < int(part) <= MAX_ID:
                raise ValueError(f"must be whole numbers from 1 to {MAX_ID}, separated by commas, not {part[:40]!r}")
            found.add(int(part))
        if len(found) > self.limit:
            raise ValueError(f"must be at most {self.limit} numbers, not {len(found)}")
        return tuple(sorted(found))

    def format(self, value: tuple[int, ...]) -> str:
        return ",".join(map(str, value))


@dataclass(frozen=True)
class Words:
    """Some of a few words by comma: kept in the order in which the kind declares them, each once."""

    choices: tuple[str, ...]

    def parse(self, text: str) -> tuple[str, ...]:
        found = {_choice(part.strip(), self.choices) for part in text.split(",")}
        return tuple(word for word in self.choices if word in found)

    def format(self, value: tuple[str, ...]) -> str:
        return ",".join(value)


@dataclass(frozen=True)
class Word:
    """One of a few words."""

    choices: tuple[str, ...]

    def parse(self, text: str) -> str:
        return _choice(text, self.choices)

    def format(self, value: str) -> str:
        return value


def _choice(word: str, choices: tuple[str, ...]) -> str:
    if word not in choices:
        close = nearest(word, choices)
        hint = f"; did you mean {close}?" if close else ""
        raise ValueError(f"must be one of {', '.join(choices)}, not {word[:40]!r}{hint}")
    return word
