"""A Finding: something wrong in one document, and how messages quote a value."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import orjson

from shopwindow.content.reading.yaml import Json
from shopwindow.problems import LONGEST, Absent, Level, Place, Pointer, Problem, cut

UNKNOWN_KEY = "schema.additionalProperties"
"""The rule of a key that a schema does not name."""

NOTHING = "nothing is written here"
"""What is found where an editor wrote a key and no value."""

LISTED_VALUES = 40
"""Values or names that a message lists, which are a few lines of a terminal."""

NumberAt = Callable[[Pointer], str | None]
"""Returns the digits of the number at a place, such as 5.10, as its file has them.

It returns None where the file cannot be read again.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong in one document, not yet located in a file.

    ``rule``: its name, such as schema.type. ``found`` and ``allowed``: in an editor's
    words. ``about``: what the schema says of the property. ``nearest``: an allowed
    value or key like the one that was found. ``on_key``: the key is at fault, not the
    value. ``missing``: the key that is missing at ``pointer``. ``beside``: another
    place that has to do with it, whose file ``found`` ends with: the file, and the
    pointer from its root on. ``absent``: what is named and does not exist. ``meant``:
    the value that is certainly meant, or the key, where the key is at fault; None where
    there is a doubt. ``follows``: another finding of the document has the same cause
    and is reported in its place; only what rules may look at depends on this one.
    ``stands_for``: the key that an unknown one was meant to be, which its object lacks.
    """

    rule: str
    pointer: Pointer
    found: str
    allowed: str = ""
    about: str = ""
    nearest: str = ""
    on_key: bool = False
    missing: str | None = None
    beside: tuple[str, Pointer] | None = None
    absent: Absent | None = field(default=None, compare=False)
    meant: Json = field(default=None, compare=False)
    follows: bool = False
    stands_for: str = ""

    @property
    def following(self) -> "Finding":
        """It, where another finding has the same cause and is reported in its place."""
        return replace(self, follows=True)

    def problem(
        self,
        path: str,
        pointer: Pointer,
        place: Place | None,
        level: Level = Level.ERROR,
    ) -> Problem:
        """Return it as the problem of a file. ``pointer``: from the file's root on."""
        return Problem(
            self.rule,
            path,
            self.found,
            place,
            pointer,
            self.allowed,
            self.about,
            self.nearest,
            absent=self.absent,
            level=level,
            meant=self.meant,
        )


def shown(value: Json, limit: int = LONGEST) -> str:
    """Return a value as a message quotes it: text in quotes, a scalar as JSON, cut to a
    line.
    """
    if isinstance(value, str):
        text = repr(value)
    elif isinstance(value, dict):
        return "an object"
    elif isinstance(value, list):
        return "a list"
    else:
        text = orjson.dumps(value).decode()
    return cut(text, limit)


def joined(names: Sequence[str], word: str) -> str:
    """Return names as a sentence has them: `a, b or c`."""
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


def listed(values: Iterable[Json]) -> str:
    """Return values or names, separated by commas, as many as a message may hold."""
    values = list(values)
    text = ", ".join(cut(str(value)) for value in values[:LISTED_VALUES])
    return text + f", … ({len(values):,} in all)" * (len(values) > LISTED_VALUES)
