"""A Kind says everything about one sort of document; no other list of kinds exists.

Publish windows, boundaries, uniqueness, references, the order of answers, the lines of
content.json and what `diff` names all follow from these values. A kind that is added to
an Interface therefore takes part in all of it at once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from shopwindow.problems import Level, Pointer


@dataclass(frozen=True)
class Rule:
    """What no schema can state, and the function that finds where it does not hold.

    ``names`` are what its findings are called; each of them has a page (`rule_pages`).
    ``find``: a kind's own yields findings in one document, ``find(case, document)``; one
    across kinds yields pairs of a document and a finding in it, ``find(case)``.
    ``level``: of what it finds; None: that is no mistake, and listed apart.
    """

    names: tuple[str, ...]
    find: Callable[..., Iterable[Any]]
    level: Level | None = Level.ERROR


DatesOf = Callable[[Mapping[str, Any], ZoneInfo], Iterable[tuple[str, datetime]]]
"""A document's value and its time zone → (label, instant) pairs for the calendar.

The publish window is in the calendar without them.
"""

EACH = "*"
"""In a Reference's pointer: every item of an array."""

KEY = "{key}"
"""At the end of a Reference's pointer: every key of an object, instead of its value."""


@dataclass(frozen=True)
class Reference:
    """Where a document names documents of another kind.

    ``pointer`` leads to one value, or through EACH to every item of an array. ``kind``
    is the kind of the documents that are named. ``property`` is the one of that kind's
    ``ids`` that the value is compared with; by default it is the identity.
    """

    pointer: Pointer
    kind: str
    property: str = ""

    def compared_with(self, target: "Kind") -> str:
        """Return the property of the documents that are named, which are of ``target``."""
        return self.property or str(target.identity)


@dataclass(frozen=True)
class Grouping:
    """How site.yaml puts documents of a kind into groups.

    ``setting`` is the entry of site.yaml that holds the groups by name. A group lists
    values of ``properties``, which are pairs of a name and a pointer to the value in a
    document. A document is in a group that lists its values of all properties which
    the group has.
    """

    setting: str
    properties: tuple[tuple[str, Pointer], ...]


@dataclass(frozen=True)
class Selection:
    """Where a document names documents of another kind by a group, or all of them.

    At ``pointer`` stands an object with lists of ids, to each of which a Reference
    leads. Beside them or in their place it may have `group`, with the name of a group;
    and instead of the object there may stand `all`. The other kind has `groups`.
    """

    pointer: Pointer
    kind: str


@dataclass(frozen=True)
class Kind:
    """A sort of document: where editors store it, what identifies it, when it is live.

    Everything that the engine does with documents follows from this value.

    ``name`` stands in messages, differences and content.json; ``folder`` lies below the
    content folder, ``schema`` below schemas/.

    ``ids`` are properties whose values are unique, and the last of them identifies a
    document; without ids, the values of ``order`` do so together, and a document without
    both is compared as a whole. ``named_by_file``: each
    document has a file of its own, which has its identity as its name. ``order`` names
    the properties by which answers and content.json are sorted, by default the
    identity; no two documents may have the same values of all of them. ``title`` leads
    to what people call a document. ``parts`` are values within a document by which
    others name it, too: what such a value is called, and where it stands.

    A ``scheduled`` kind may have a publish window, whose ends are boundaries. A
    ``layered`` kind may build on bases by `extends`. A ``streamed`` kind is read one
    document at a time, for there may be millions; only an Index holds it.

    ``references`` are checked, and followed by `uses` and `retire`. ``groups`` says how
    site.yaml puts documents of this kind into groups. ``selections`` are where a
    document names others by such a group, or all of them (`groups`).

    ``zone`` is a property with the time zone of a document. Who refers to it has that
    zone, too: a publish window may end with the kind's name in place of a zone, and
    ``dates``, which are for the calendar, are read on its clocks. Without a zone they
    are read on the site's. ``clocks`` lead to times of day, which may be written with
    one digit for the hour; a publish window needs no entry. ``instants`` lead to instants
    that may be written as the ends of a publish window are, each with whether a bare
    day means its end; they are served with their offset.

    ``rules`` state what no schema can of single documents.
    """

    name: str
    folder: str
    schema: str
    ids: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    title: Pointer | None = None
    parts: tuple[tuple[str, Pointer], ...] = ()
    scheduled: bool = True
    layered: bool = False
    named_by_file: bool = False
    streamed: bool = False
    references: tuple[Reference, ...] = ()
    dates: DatesOf | None = None
    zone: str = ""
    clocks: tuple[Pointer, ...] = ()
    instants: tuple[tuple[Pointer, bool], ...] = ()
    groups: Grouping | None = None
    selections: tuple[Selection, ...] = ()
    rules: tuple[Rule, ...] = ()

    @property
    def identity(self) -> str | None:
        """The property that identifies a document; None where there are no ids."""
        return self.ids[-1] if self.ids else None

    def id(self, value: Mapping[str, Any]) -> str:
        """Return what identifies a document, as text; empty for a kind without ids."""
        return str(value.get(self.identity, "")) if self.identity else ""

    @property
    def is_named(self) -> bool:
        """Whether something shorter than the whole document tells it from the others."""
        return bool(self.ids or self.order)

    def named(self, value: Mapping[str, Any]) -> Any:
        """Return what tells a document from the others of its kind.

        It is the identity; without ids, the values of ``order`` together, such as
        `iphone 5.8`; without both, the whole document as JSON.
        """
        if self.identity is not None:
            return value[self.identity]
        if self.order:
            return " ".join(str(value[name]) for name in self.order)
        return orjson.dumps(value).decode()

    def place(self, value: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return what a document is sorted by: values of ``order``, or its identity."""
        order = self.order or self.ids[-1:]
        return tuple(value[name] for name in order)


SITE = Kind("site", "", "site.json", scheduled=False)
"""site.yaml: one document of settings, at the top of every content folder."""


def values_at(value: Any, pointer: Pointer) -> Iterator[tuple[Pointer, Any]]:
    """Yield the values that a Reference's pointer leads to, each with its own pointer."""
    reached: list[tuple[Pointer, Any]] = [((), value)]
    for step in pointer:
        below: list[tuple[Pointer, Any]] = []
        for place, part in reached:
            if step == EACH:
                if isinstance(part, list):
                    below += [
                        ((*place, index), item) for index, item in enumerate(part)
                    ]
            elif isinstance(part, dict):
                if step == KEY:
                    below += [((*place, key), key) for key in part]
                elif step in part:
                    below.append(((*place, step), part[step]))
        if not below:
            return
        reached = below
    yield from reached


def titled(kind: Kind, value: Mapping[str, Any]) -> str:
    """Return what people call a document.

    It is the title, else the identity, else the first value.
    """
    part: Any = value
    for step in kind.title or ():
        part = part.get(step) if isinstance(part, dict) else None
    if isinstance(part, str) and kind.title:
        return part
    if kind.identity or kind.order:
        return str(kind.named(value))
    return str(next(iter(value.values()), ""))
