"""A mapping file: which part of a foreign feed becomes which property of our documents.

A mapping says what kind of document a row becomes (`kind`), which rows are left out
(`skip`, `once`, `limit`), and where each property comes from (`fields`). In `fields` a
text, a number or a list stands for itself. An object with `from` takes a value out of
the row; the other keys beside `from` are steps that change the value, carried out in
the order in which they stand.

`read` turns a mapping into functions once, and every row runs through them. All of it
is pure.
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
"""Digits of an id that is made of a text: it stays below 2**53, which JSON numbers hold
exactly.
"""


class UnusableMapping(Exception):
    """A mapping cannot be used. It has where, what was found, what is allowed and a
    near name.
    """

    def __init__(
        self, pointer: Pointer, found: str, allowed: str, nearest: str = ""
    ) -> None:
        super().__init__(found)
        self.pointer, self.found, self.allowed, self.nearest = (
            pointer,
            found,
            allowed,
            nearest,
        )


class BadRow(Exception):
    """A row cannot become a document. The text says which property is wrong, and why."""


@dataclass(frozen=True)
class Mapped:
    """A mapping file, ready for rows.

    Attributes:
        kind: of the documents.
        rows: the path to the rows in a file that is one value.
        delimiter: between the columns of a CSV file.
        limit: the most documents that are made; None: no limit.
        skip: a row that satisfies one of these conditions is left out.
        once: of rows with an equal value of this, only the first counts.
        fields: makes the document of a row.
        identity: makes what identifies it; None: the mapping does not say.
        own: the path of what a row calls itself.
        references: whether a property names other rows by that; all rows are then read once
            before, to know which exist.
    """

    kind: str
    rows: str
    delimiter: str
    limit: int | None
    skip: "Sequence[Callable[[FeedRow], bool]]"
    once: "Callable[[FeedRow], Json] | None"
    fields: "Maker"
    identity: "Maker | None"
    own: str
    references: bool

    def document(self, row: FeedRow, known: frozenset[Json]) -> Json:
        """Return the document of a row. Raises BadRow.

        ``known``: what all rows call themselves, if the mapping has ``references``.
        """
        return self.fields(row, known)

    def id_of(self, row: FeedRow) -> Json:
        """Return what identifies the document of a row. Raises BadRow."""
        id = self.identity(row, frozenset()) if self.identity else None
        if id is None:
            raise BadRow("nothing in it identifies a document, as the mapping has it")
        return id

    def skipped(self, row: FeedRow) -> bool:
        """Whether a row is left out by a condition."""
        return any(test(row) for test in self.skip)


Maker = Callable[[FeedRow, frozenset[Json]], Json]
"""(row, what all rows call themselves) → a property's value; None: the property is left
out.
"""


def read(value: Json) -> Mapped:
    """Return what the value of a mapping file means. Raises UnusableMapping."""
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
    _typed(
        value["fields"], dict, ("fields",), "an object: property and what it is made of"
    )
    once = value.get("once")
    return Mapped(
        kind=value["kind"],
        rows=_typed(
            value.get("rows", ""), str, ("rows",), "a path, such as data.items"
        ),
        delimiter=_delimiter(value.get("delimiter", ",")),
        limit=_number(value["limit"], ("limit",), 1) if "limit" in value else None,
        skip=[_condition(test, ("skip", index)) for index, test in enumerate(skip)],
        once=None if once is None else _all_of(once, ("once",)),
        fields=_maker(value["fields"], ("fields",)),
        identity=_identity(value["kind"], value["fields"]),
        own=_own(value["fields"]),
        references=_names_rows(value["fields"]),
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
    """Return the path that `id` is made from, or empty text."""
    id = fields.get("id")
    paths = id.get("from", "") if isinstance(id, dict) else ""
    own: str = paths[0] if isinstance(paths, list) else paths
    if not own and _names_rows(fields):
        raise UnusableMapping(
            ("fields", "id"),
            "an id that is not of the row, and other rows are named by it",
            "id: {from: …}",
        )
    return own


def _identity(kind: str, fields: Mapping[str, Any]) -> "Maker | None":
    """Return what makes the identity of documents; None for a kind that has none."""
    name = next(known.identity for known in KINDS if known.name == kind)
    if name is None or name not in fields:
        return None
    return _maker(fields[name], ("fields", name))


def _names_rows(value: Json) -> bool:
    """Whether a property is `known`: it may only name rows that exist."""
    if isinstance(value, dict):
        is_reference = "from" in value and bool(value.get("known"))
        return is_reference or any(map(_names_rows, value.values()))
    return isinstance(value, list) and any(map(_names_rows, value))


# -- paths -----------------------------------------------------------------------------

_STEP_OF_A_ROW = re.compile(r"([^.\[\]]+)|\[(-?[0-9]+)?\]")


def path(text: Json, pointer: Pointer) -> Callable[[FeedRow], Json]:
    """Return the function that follows a path, such as `a.b[0].c`, in a row.

    `[]` goes to every item of a list. Raises UnusableMapping.
    """
    steps = _STEP_OF_A_ROW.findall(text) if isinstance(text, str) else []
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
            items = [_follow(item, steps[number + 1 :]) for item in value]
            return [item for item in items if not _is_empty(item)] or None
        if value is None:
            return None
    return value


def _is_empty(value: Json) -> bool:
    """Whether a value says nothing, and the property is left out. 0 and false say
    something.
    """
    return value is None or value == "" or value == [] or value == {}


def _all_of(text: Json, pointer: Pointer) -> Callable[[FeedRow], Json]:
    """Return the function that follows a path, or that returns a list for several of
    them.
    """
    if isinstance(text, list):
        follows = [path(part, (*pointer, index)) for index, part in enumerate(text)]
        return lambda row: [follow(row) for follow in follows]
    return path(text, pointer)


# -- properties ------------------------------------------------------------------------


def _maker(value: Json, pointer: Pointer) -> Maker:
    """Return the function that makes a value of a row, as a mapping describes it."""
    if isinstance(value, dict) and "from" in value:
        return _taker(value, pointer)
    if isinstance(value, dict):
        makers = {key: _maker(part, (*pointer, key)) for key, part in value.items()}

        def make_object(row: FeedRow, known: frozenset[Json]) -> Json:
            values = {key: make(row, known) for key, make in makers.items()}
            return {
                key: item for key, item in values.items() if not _is_empty(item)
            } or None

        return make_object
    if isinstance(value, list):
        item_makers = [
            _maker(item, (*pointer, index)) for index, item in enumerate(value)
        ]

        def make_list(row: FeedRow, known: frozenset[Json]) -> Json:
            items = [make(row, known) for make in item_makers]
            return [item for item in items if not _is_empty(item)] or None

        return make_list
    return lambda row, known: value


def _taker(value: Mapping[str, Any], pointer: Pointer) -> Maker:
    """Return the function that takes a value out of a row and carries out its steps.

    Of several paths in `from`, the first that leads to something counts. `each` maps
    the items of a list before the steps. `default` stands in for a value that is empty
    in the end.
    """
    _keys(
        value, pointer, ("from", "known", "each", "default", *MAPPING_STEPS), ("from",)
    )
    sources = value["from"] if isinstance(value["from"], list) else [value["from"]]
    follows = [path(source, (*pointer, "from")) for source in sources]
    must_be_known = bool(value.get("known"))
    steps = [
        (name, MAPPING_STEPS[name](value[name], (*pointer, name)))
        for name in value
        if name in MAPPING_STEPS
    ]
    make_item = _maker(value["each"], (*pointer, "each")) if "each" in value else None
    default = (
        _maker(value["default"], (*pointer, "default")) if "default" in value else None
    )
    where = pointer_text(pointer[1:])

    def take(row: FeedRow, known: frozenset[Json]) -> Json:
        taken = None
        for follow in follows:
            candidate = follow(row)
            if not _is_empty(candidate) and (not must_be_known or candidate in known):
                taken = candidate
                break
        if make_item and isinstance(taken, list):
            items = [make_item(item, known) for item in taken]
            taken = [item for item in items if not _is_empty(item)]
        for name, step in steps:
            if _is_empty(taken):
                break
            try:
                taken = _applied(step, taken, name)
            except ValueError as error:
                raise BadRow(f"{where}: {error}") from None
        return default(row, known) if _is_empty(taken) and default else taken

    return take


def _applied(step: "MappingStep", value: Json, name: str) -> Json:
    """Return what a step makes of a value, or of each item of a list; empty items are
    left out.
    """
    if isinstance(value, list) and name != "list":
        items = [step(item) for item in value]
        return [item for item in items if not _is_empty(item)]
    return step(value)


MappingStep = Callable[[Json], Json]
"""Changes a value. Raises ValueError for one that it cannot change."""


def _split(argument: Json, pointer: Pointer) -> MappingStep:
    mark = _typed(argument, str, pointer, 'the text between the parts, such as ","')
    return lambda value: [
        part.strip() for part in str(value).split(mark) if part.strip()
    ]


def _replaced(argument: Json, pointer: Pointer) -> MappingStep:
    """One value for another. `else` stands for all others, and `else: null` leaves them
    out.
    """
    _typed(argument, dict, pointer, "an object: what the feed says, and what we say")
    table = {key: item for key, item in argument.items() if key != "else"}

    def step(value: Json) -> Json:
        key = value if isinstance(value, str) else shown(value)
        if key in table:
            return table[key]
        if "else" in argument:
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
    if isinstance(value, bool) or not re.fullmatch(
        r"-?[0-9]{1,15}(\.0*)?", str(value).strip()
    ):
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
    """A whole number made of a text, the same for the same text in any feed, on any
    day.
    """
    digits = _number(argument, pointer, 6, MAX_NUMBER_DIGITS)
    return lambda value: 1 + _hashed(value) % (10**digits - 1)


def _barcode(argument: Json, pointer: Pointer) -> MappingStep:
    """An EAN-13 made of a text. It begins with 2: GS1 leaves those numbers to each
    retailer.
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
    if argument not in _TEXT_STYLES:
        raise UnusableMapping(
            pointer,
            f"{shown(argument)} is no style",
            ", ".join(_TEXT_STYLES),
            nearest(str(argument), _TEXT_STYLES),
        )
    style = _TEXT_STYLES[argument]
    return lambda value: style(str(value))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


_TEXT_STYLES: Mapping[str, Callable[[str], str]] = {
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
    return lambda value: (
        list(dict.fromkeys(value)) if isinstance(value, list) else [value]
    )


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
"""The steps by their names in a mapping; each takes its argument and the pointer to it.
"""


# -- conditions ------------------------------------------------------------------------


def _condition(value: Json, pointer: Pointer) -> Callable[[FeedRow], bool]:
    """Return a test of rows: `{from: price, missing: true}` or `{from: state, is:
    [draft]}`.
    """
    _keys(value, pointer, ("from", "missing", "is"), ("from",))
    follow = path(value["from"], (*pointer, "from"))
    if ("missing" in value) == ("is" in value):
        raise UnusableMapping(
            pointer,
            "a condition that tests nothing, or two things",
            "missing: true, or is: a value or several",
        )
    if "missing" in value:
        return lambda row: _is_empty(follow(row)) == value["missing"]
    wanted = value["is"] if isinstance(value["is"], list) else [value["is"]]
    return lambda row: follow(row) in wanted


# -- what a mapping may say ------------------------------------------------------------


def _keys(
    value: Json, pointer: Pointer, allowed: Sequence[str], needed: Sequence[str]
) -> None:
    _typed(value, dict, pointer, "an object with " + ", ".join(allowed))
    for key in value:
        if key not in allowed:
            raise UnusableMapping(
                (*pointer, key),
                f"{key!r} is not known here",
                ", ".join(allowed),
                nearest(key, allowed),
            )
    for key in needed:
        if key not in value:
            raise UnusableMapping(pointer, f"{key!r} is missing", ", ".join(allowed))


def _typed(value: Json, kind: type, pointer: Pointer, allowed: str) -> Any:
    if not isinstance(value, kind):
        raise UnusableMapping(pointer, f"{shown(value)} does not fit", allowed)
    return value


def _number(value: Json, pointer: Pointer, least: int, most: int = 10**15) -> int:
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or not least <= value <= most
    ):
        raise UnusableMapping(
            pointer,
            f"{shown(value)} does not fit",
            f"a whole number from {least} to {most}",
        )
    return value


def rows_in(value: Json, where: str) -> Iterator[FeedRow]:
    """Yield the rows of a file that is one value: the list at the path ``where``, or
    itself.

    Raises UnusableMapping.
    """
    rows = path(where, ("rows",))(value) if where else value
    if not isinstance(rows, list):
        raise UnusableMapping(
            ("rows",),
            f"there is {shown(rows)} in the file where the rows should be",
            "a path to a list",
        )
    yield from rows
