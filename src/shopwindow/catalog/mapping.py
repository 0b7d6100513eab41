"""A mapping file: what of a foreign feed becomes which part of our documents. Pure.

A mapping says what kind of document a row becomes (`kind`), which rows are left out (`skip`,
`once`, `limit`), and of what each property is made (`fields`). There a text, a number or a list
stands for itself; an object with `from` takes a value out of the row, and what stands beside
`from` says what is done with it, one after the other.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from shopwindow.catalog.kinds import KINDS
from shopwindow.catalog.rules import check_digit
from shopwindow.content.finding import shown
from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer, nearest, pointer_text

FeedRow = Any
"""A row as its feed has it: most often an object."""

MAX_NUMBER_DIGITS = 15


class UnusableMapping(Exception):
    """A mapping that cannot be used: where, what was found, what is allowed."""

    def __init__(self, pointer: Pointer, found: str, allowed: str, nearest: str = "") -> None:
        super().__init__(found)
        self.pointer, self.found, self.allowed, self.nearest = pointer, found, allowed, nearest


class BadRow(Exception):
    """A row of which no document can be made: which property, and why."""


@dataclass(frozen=True)
class Mapped:
    """A mapping file, ready for rows. ``rows``: where in the file the rows are. ``own``: the
    path of what a row calls itself; ``references``: whether a property names other rows by
    that, which must then be known first.
    """

    kind: str
    rows: str
    delimiter: str
    limit: int | None
    skip: "Sequence[Callable[[FeedRow], bool]]"
    once: "Callable[[FeedRow], Json] | None"
    fields: "Make"
    own: str
    references: bool

    def document(self, row: FeedRow, known: frozenset[Json]) -> Json:
        """The document of a row. Raises BadRow."""
        return self.fields(row, known)

    def skipped(self, row: FeedRow) -> bool:
        return any(test(row) for test in self.skip)


Make = Callable[[FeedRow, frozenset[Json]], Json]
"""What a property is made of a row: None where there is nothing to say."""


def read(value: Json) -> Mapped:
    """A mapping file's value → what it means. Raises UnusableMapping."""
    _keys(value, (), _TOP, ("kind", "fields"))
    kinds = [kind.name for kind in KINDS]
    if value["kind"] not in kinds:
        raise UnusableMapping(
            ("kind",),
            f"{shown(value['kind'])} is no kind",
            ", ".join(kinds),
            nearest(str(value["kind"]), kinds),
        )
    skip = value.get("skip", [])
    _typed(skip, list, ("skip",), "a list of conditions")
    _typed(value["fields"], dict, ("fields",), "an object: property and what it is made of")
    once = value.get("once")
    return Mapped(
        value["kind"],
        _typed(value.get("rows", ""), str, ("rows",), "a path, such as data.items"),
        _delimiter(value.get("delimiter", ",")),
        _number(value["limit"], ("limit",), 1) if "limit" in value else None,
        [_condition(test, ("skip", index)) for index, test in enumerate(skip)],
        None if once is None else _all_of(once, ("once",)),
        _make(value["fields"], ("fields",)),
        _own(value["fields"]),
        _names_rows(value["fields"]),
    )


_TOP = ("kind", "rows", "delimiter", "skip", "once", "limit", "fields")


def _delimiter(text: Json) -> str:
    if not isinstance(text, str) or len(text) != 1:
        raise UnusableMapping(
            ("delimiter",),
            f"{shown(text)} is not one character",
            'one character, such as ";" or "\\t"',
        )
    return text


def _own(fields: Mapping[str, Any]) -> str:
    """The path that `id` is made from."""
    given = fields.get("id", {}).get("from", "") if isinstance(fields.get("id"), dict) else ""
    own: str = given[0] if isinstance(given, list) else given
    if not own and _names_rows(fields):
        raise UnusableMapping(
            ("fields", "id"),
            "an id that is not of the row, and other rows are named by it",
            "id: {from: …}",
        )
    return own


def _names_rows(value: Json) -> bool:
    if isinstance(value, dict):
        return ("from" in value and bool(value.get("known"))) or any(
            map(_names_rows, value.values())
        )
    return isinstance(value, list) and any(map(_names_rows, value))


# -- paths -------------------------------------------------------------------------------------

_PATH_STEP = re.compile(r"([^.\[\]]+)|\[(-?[0-9]+)?\]")


def path(text: Json, pointer: Pointer) -> Callable[[FeedRow], Json]:
    """`a.b[0].c` → what leads there; `[]` goes to every item of a list. Raises UnusableMapping."""
    steps = _PATH_STEP.findall(text) if isinstance(text, str) else []
    rebuilt = "".join(
        f".{name}" if name else f"[{index}]" for name, index in steps
    ).removeprefix(".")
    if not steps or rebuilt != text:
        raise UnusableMapping(
            pointer,
            f"{shown(text)} is not a path",
            "names with dots between them; [0], [-1] or [] for lists",
        )
    return lambda row: _follow(row, steps)


def _follow(value: Json, steps: Sequence[tuple[str, str]]) -> Json:
    for number, (name, index) in enumerate(steps):
        if name:
            value = value.get(name) if isinstance(value, dict) else None
        elif not isinstance(value, list):
            return None
        elif index:
            place = int(index)
            value = value[place] if -len(value) <= place < len(value) else None
        else:
            found = [_follow(item, steps[number + 1 :]) for item in value]
            return [item for item in found if not _nothing(item)] or None
        if value is None:
            return None
    return value


def _nothing(value: Json) -> bool:
    return value is None or value == "" or value == [] or value == {}


def _all_of(text: Json, pointer: Pointer) -> Callable[[FeedRow], Json]:
    """One path, or several: what stands there."""
    if isinstance(text, list):
        ways = [path(each, (*pointer, index)) for index, each in enumerate(text)]
        return lambda row: [way(row) for way in ways]
    return path(text, pointer)


# -- properties --------------------------------------------------------------------------------


def _make(value: Json, pointer: Pointer) -> Make:
    if isinstance(value, dict) and "from" in value:
        return _taken(value, pointer)
    if isinstance(value, dict):
        parts = {key: _make(part, (*pointer, key)) for key, part in value.items()}

        def whole(row: FeedRow, known: frozenset[Json]) -> Json:
            made = ((key, part(row, known)) for key, part in parts.items())
            return {key: item for key, item in made if not _nothing(item)} or None

        return whole
    if isinstance(value, list):
        items = [_make(item, (*pointer, index)) for index, item in enumerate(value)]
        return lambda row, known: (
            [made for item in items if not _nothing(made := item(row, known))] or None
        )
    return lambda row, known: value


def _taken(value: Mapping[str, Any], pointer: Pointer) -> Make:
    """A value out of the row, and what is done with it."""
    _keys(value, pointer, ("from", "known", "each", "default", *MAPPING_STEPS), ("from",))
    given = value["from"]
    ways = [
        path(each, (*pointer, "from"))
        for each in (given if isinstance(given, list) else [given])
    ]
    steps = [
        (name, MAPPING_STEPS[name](value[name], (*pointer, name)))
        for name in value
        if name in MAPPING_STEPS
    ]
    each = _make(value["each"], (*pointer, "each")) if "each" in value else None
    default = _make(value["default"], (*pointer, "default")) if "default" in value else None
    where = pointer_text(pointer[1:])

    def take(row: FeedRow, known: frozenset[Json]) -> Json:
        found = (way(row) for way in ways)
        taken = next(
            (item for item in found if not _nothing(item) and _is_known(item, known)), None
        )
        if each and isinstance(taken, list):
            taken = [made for item in taken if not _nothing(made := each(item, known))]
        for name, step in steps:
            if _nothing(taken):
                break
            try:
                taken = _applied(step, taken, name)
            except ValueError as error:
                raise BadRow(f"{where}: {error}") from None
        return default(row, known) if _nothing(taken) and default else taken

    def _is_known(item: Json, known: frozenset[Json]) -> bool:
        return not value.get("known") or item in known

    return take


def _applied(step: "MappingStep", value: Json, name: str) -> Json:
    """A step on a value, or on each item of a list; what gives nothing is left out of the list."""
    if isinstance(value, list) and name != "list":
        made = [step(item) for item in value]
        return [item for item in made if not _nothing(item)]
    return step(value)


MappingStep = Callable[[Json], Json]


def _split(argument: Json, pointer: Pointer) -> MappingStep:
    mark = _typed(argument, str, pointer, 'the text between the parts, such as ","')
    return lambda value: [part.strip() for part in str(value).split(mark) if part.strip()]


def _replaced(argument: Json, pointer: Pointer) -> MappingStep:
    """One value for another; `else` for all others, and `else: null` leaves them out."""
    _typed(argument, dict, pointer, "an object: what the feed says, and what we say")
    others, table = (
        "else" in argument,
        {key: item for key, item in argument.items() if key != "else"},
    )

    def step(value: Json) -> Json:
        key = value if isinstance(value, str) else shown(value)
        if key in table:
            return table[key]
        if others:
            return argument["else"]
        close = nearest(key, table)
        meant = f"; did you mean {close}?" if close else ""
        raise ValueError(
            f"{shown(value)} is not in the map; it has {', '.join(table) or 'nothing'}{meant}"
        )

    return step


def _read_as(argument: Json, pointer: Pointer) -> MappingStep:
    if argument not in _CONVERSIONS:
        raise UnusableMapping(
            pointer,
            f"{shown(argument)} is no type",
            ", ".join(_CONVERSIONS),
            nearest(str(argument), _CONVERSIONS),
        )
    return _CONVERSIONS[argument]


def _integer(value: Json) -> Json:
    if isinstance(value, bool) or not re.fullmatch(r"-?[0-9]{1,15}(\.0*)?", str(value).strip()):
        raise ValueError(f"{shown(value)} is not a whole number")
    return int(float(str(value)))


def _decimal(value: Json) -> Json:
    text = re.sub(r"^[$€£]\s*|(?<=[0-9]),(?=[0-9]{3}(?:\D|$))", "", str(value).strip())
    if isinstance(value, bool) or not re.fullmatch(r"-?[0-9]{1,15}(\.[0-9]+)?", text):
        raise ValueError(f"{shown(value)} is not a number")
    number = float(text)
    return int(number) if number.is_integer() else number


def _truth(value: Json) -> Json:
    word = str(value).strip().lower()
    if word not in ("true", "false", "yes", "no", "y", "n", "1", "0"):
        raise ValueError(f"{shown(value)} is neither true nor false")
    return word in ("true", "yes", "y", "1")


def _text(value: Json) -> Json:
    return value if isinstance(value, str) else shown(value, 10_000)


_CONVERSIONS: Mapping[str, MappingStep] = {
    "integer": _integer,
    "number": _decimal,
    "boolean": _truth,
    "text": _text,
}


def _identified(argument: Json, pointer: Pointer) -> MappingStep:
    """A whole number made of a text: the same for the same text in any feed, on any day."""
    digits = _number(argument, pointer, 6, MAX_NUMBER_DIGITS)
    return lambda value: 1 + _hashed(value) % (10**digits - 1)


def _barcode(argument: Json, pointer: Pointer) -> MappingStep:
    """An EAN-13 made of a text, of the numbers that GS1 leaves to each store for its own use
    (they begin with 2).
    """
    if argument is not True:
        raise UnusableMapping(pointer, f"{shown(argument)} is not true", "true")

    def step(value: Json) -> Json:
        body = f"2{_hashed(value) % 10**11:011}"
        return body + check_digit(body)

    return step


def _hashed(value: Json) -> int:
    return int.from_bytes(sha256(str(value).encode()).digest()[:8])


def _styled(argument: Json, pointer: Pointer) -> MappingStep:
    if argument not in _STYLES:
        raise UnusableMapping(
            pointer,
            f"{shown(argument)} is no style",
            ", ".join(_STYLES),
            nearest(str(argument), _STYLES),
        )
    style = _STYLES[argument]
    return lambda value: style(str(value))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


_STYLES: Mapping[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "title": str.title,
    "slug": _slug,
    "line": lambda text: " ".join(text.split()),
}


def _filled(argument: Json, pointer: Pointer) -> MappingStep:
    if not isinstance(argument, str) or argument.count("{}") != 1:
        raise UnusableMapping(
            pointer,
            f"{shown(argument)} has no place for the value",
            "a text with {} in it, once",
        )
    return lambda value: argument.replace("{}", str(value))


def _cut(argument: Json, pointer: Pointer) -> MappingStep:
    length = _number(argument, pointer, 1)
    return lambda value: (
        value if len(str(value)) <= length else str(value)[: length - 1].rstrip() + "…"
    )


def _listed(argument: Json, pointer: Pointer) -> MappingStep:
    if argument is not True:
        raise UnusableMapping(pointer, f"{shown(argument)} is not true", "true")
    return lambda value: list(dict.fromkeys(value)) if isinstance(value, list) else [value]


MAPPING_STEPS: Mapping[str, Callable[[Json, Pointer], MappingStep]] = {
    "split": _split,
    "map": _replaced,
    "as": _read_as,
    "id": _identified,
    "barcode": _barcode,
    "style": _styled,
    "template": _filled,
    "cut": _cut,
    "list": _listed,
}
"""What is done with a value, in the order in which it is written."""


# -- conditions --------------------------------------------------------------------------------


def _condition(value: Json, pointer: Pointer) -> Callable[[FeedRow], bool]:
    """`{from: price, missing: true}`, or `{from: state, is: [draft, deleted]}`."""
    _keys(value, pointer, ("from", "missing", "is"), ("from",))
    way = path(value["from"], (*pointer, "from"))
    if ("missing" in value) == ("is" in value):
        raise UnusableMapping(
            pointer,
            "a condition that tests nothing, or two things",
            "missing: true, or is: a value or several",
        )
    if "missing" in value:
        return lambda row: _nothing(way(row)) == value["missing"]
    wanted = value["is"] if isinstance(value["is"], list) else [value["is"]]
    return lambda row: way(row) in wanted


# -- what a mapping may say --------------------------------------------------------------------


def _keys(value: Json, pointer: Pointer, known: Sequence[str], needed: Sequence[str]) -> None:
    _typed(value, dict, pointer, "an object with " + ", ".join(known))
    for key in value:
        if key not in known:
            raise UnusableMapping(
                (*pointer, key),
                f"{key!r} is not known here",
                ", ".join(known),
                nearest(key, known),
            )
    for key in needed:
        if key not in value:
            raise UnusableMapping(pointer, f"{key!r} is missing", ", ".join(known))


def _typed(value: Json, kind: type, pointer: Pointer, allowed: str) -> Any:
    if not isinstance(value, kind):
        raise UnusableMapping(pointer, f"{shown(value)} does not fit", allowed)
    return value


def _number(value: Json, pointer: Pointer, least: int, most: int = 10**15) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise UnusableMapping(
            pointer, f"{shown(value)} does not fit", f"a whole number from {least} to {most}"
        )
    return value


def rows_in(value: Json, where: str) -> Iterator[FeedRow]:
    """The rows of a file that is one value: the list at the path ``where``, or itself. Raises
    UnusableMapping.
    """
    found = path(where, ("rows",))(value) if where else value
    if not isinstance(found, list):
        raise UnusableMapping(
            ("rows",),
            f"there is {shown(found)} in the file where the rows should be",
            "a path to a list",
        )
    yield from found
