"""A mapping file: which part of a foreign feed becomes which property of our documents.

A mapping says what kind of document a row becomes (`kind`), which rows are left out
(`skip`, `once`, `limit`), and where each property comes from (`fields`). In `fields` a
text, a number or a list stands for itself. An object with `from` takes a value out of
the row (`mapping_paths`); the other keys beside `from` are steps that change the value
(`mapping_steps`), carried out in the order in which they stand.

`read` turns a mapping into functions once, and every row runs through them. All of it
is pure.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shopwindow.catalog.kinds import KINDS
from shopwindow.catalog.mapping_checks import (
    UnusableMapping,
    require_keys,
    require_number,
    require_type,
)
from shopwindow.catalog.mapping_paths import FeedRow, all_of, is_empty, path
from shopwindow.catalog.mapping_steps import MAPPING_STEPS, MappingStep
from shopwindow.content.finding import shown
from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer, nearest, pointer_text


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
    skip: Sequence[Callable[[FeedRow], bool]]
    once: Callable[[FeedRow], Json] | None
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

    def require_rows_alone(self) -> None:
        """Raise UnusableMapping where what becomes of a row depends on other rows, for
        changes are only some of the rows of a feed.
        """
        named = {
            "once": (bool(self.once), ("once",)),
            "limit": (self.limit is not None, ("limit",)),
            "known": (self.references, ("fields",)),
        }
        places = {key: place for key, (is_used, place) in named.items() if is_used}
        if not places:
            return
        *others, last = places
        keys = f"{', '.join(others)} and {last} need" if others else f"{last} needs"
        them = "these" if others else last
        raise UnusableMapping(
            next(iter(places.values())),
            f"{keys} all rows of a feed, and changes are only some of them",
            "the whole feed without --changes, and then `shopwindow catalog mark` for its mark; "
            f"or a mapping without {them}, for the whole feed as well",
        )


Maker = Callable[[FeedRow, frozenset[Json]], Json]
"""(row, what all rows call themselves) → a property's value; None: the property is left
out.
"""


def read(value: Json) -> Mapped:
    """Return what the value of a mapping file means. Raises UnusableMapping."""
    require_keys(value, (), _TOP, ("kind", "fields"))
    kinds = [kind.name for kind in KINDS]
    if value["kind"] not in kinds:
        raise UnusableMapping(
            ("kind",),
            f"{shown(value['kind'])} is no kind",
            ", ".join(kinds),
            nearest(str(value["kind"]), kinds),
        )
    skip = value.get("skip", [])
    require_type(skip, list, ("skip",), "a list of conditions")
    require_type(
        value["fields"], dict, ("fields",), "an object: property and what it is made of"
    )
    once = value.get("once")
    return Mapped(
        kind=value["kind"],
        rows=require_type(
            value.get("rows", ""), str, ("rows",), "a path, such as data.items"
        ),
        delimiter=_delimiter(value.get("delimiter", ",")),
        limit=require_number(value["limit"], ("limit",), 1)
        if "limit" in value
        else None,
        skip=[_condition(test, ("skip", index)) for index, test in enumerate(skip)],
        once=None if once is None else all_of(once, ("once",)),
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
                key: item for key, item in values.items() if not is_empty(item)
            } or None

        return make_object
    if isinstance(value, list):
        item_makers = [
            _maker(item, (*pointer, index)) for index, item in enumerate(value)
        ]

        def make_list(row: FeedRow, known: frozenset[Json]) -> Json:
            items = [make(row, known) for make in item_makers]
            return [item for item in items if not is_empty(item)] or None

        return make_list
    return lambda row, known: value


def _taker(value: Mapping[str, Any], pointer: Pointer) -> Maker:
    """Return the function that takes a value out of a row and carries out its steps.

    Of several paths in `from`, the first that leads to something counts. `each` maps
    the items of a list before the steps. `default` stands in for a value that is empty
    in the end.
    """
    require_keys(
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
            if not is_empty(candidate) and (not must_be_known or candidate in known):
                taken = candidate
                break
        if make_item and isinstance(taken, list):
            items = [make_item(item, known) for item in taken]
            taken = [item for item in items if not is_empty(item)]
        for name, step in steps:
            if is_empty(taken):
                break
            try:
                taken = _applied(step, taken, name)
            except ValueError as error:
                raise BadRow(f"{where}: {error}") from None
        return default(row, known) if is_empty(taken) and default else taken

    return take


def _applied(step: MappingStep, value: Json, name: str) -> Json:
    """Return what a step makes of a value, or of each item of a list; empty items are
    left out.
    """
    if isinstance(value, list) and name != "list":
        items = [step(item) for item in value]
        return [item for item in items if not is_empty(item)]
    return step(value)


# -- conditions ------------------------------------------------------------------------


def _condition(value: Json, pointer: Pointer) -> Callable[[FeedRow], bool]:
    """Return a test of rows: `{from: price, missing: true}` or `{from: state, is:
    [draft]}`.
    """
    require_keys(value, pointer, ("from", "missing", "is"), ("from",))
    follow = path(value["from"], (*pointer, "from"))
    if ("missing" in value) == ("is" in value):
        raise UnusableMapping(
            pointer,
            "a condition that tests nothing, or two things",
            "missing: true, or is: a value or several",
        )
    if "missing" in value:
        return lambda row: is_empty(follow(row)) == value["missing"]
    wanted = value["is"] if isinstance(value["is"], list) else [value["is"]]
    return lambda row: follow(row) in wanted
