"""A Kind says everything about one sort of document; the engine has no other list of
kinds.

Publish windows, boundaries, uniqueness, references, the order of answers, the lines of
content.json and what `diff` names all follow from these values. A kind that is added to
an Interface therefore takes part in all of it at once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.problems import Pointer

Rule = Callable[..., Iterable[Any]]
"""What no schema can state about one document: ``rule(case, document)`` yields its
findings.
"""

DatesOf = Callable[[Mapping[str, Any], ZoneInfo], Iterable[tuple[str, datetime]]]
"""A document's value and its zone → (label, instant) pairs for the calendar, beside its
publish window.
"""

EACH = "*"
"""In a Reference's pointer: every item of an array."""


@dataclass(frozen=True)
class Reference:
    """Where a document names documents of another kind.

    ``pointer`` leads to one value, or through EACH to every item of an array. ``kind``
    is the kind that is named, and ``property`` the one of its ids that the value is
    compared with; without it, the kind's identity.
    """

    pointer: Pointer
    kind: str
    property: str = ""


@dataclass(frozen=True)
class Kind:
    """A sort of document: where editors keep it, what identifies it, how it is shown
    and when.

    Everything that the engine does with documents follows from this value; no other
    list of kinds exists.

    ``name`` stands in messages, differences and content.json; ``folder`` lies below the
    content folder, ``schema`` below schemas/. ``ids`` are properties whose values are
    unique, and the last of them identifies a document; a kind without ids is compared
    as a whole. ``order`` is the total order of answers and of content.json, by default
    the identity. ``title`` leads to what people call a document. A ``scheduled`` kind
    may have a publish window, whose ends are boundaries. A ``layered`` kind may build
    on bases by `extends`. ``named_by_file``: the identity is the file's name. A
    ``streamed`` kind is read one by one, for there may be millions; only an Index holds
    it.

    ``dates`` are read on the clocks of the zone that a document names in the property
    ``zone_of_dates`` of the documents it refers to; without it, on the site's.

    ``rules`` find what no schema can state about one document: ``rule(case,
    document)``. ``revisions`` compare it with its value in a release: ``rule(case,
    document, released)``. ``notices`` point at what is no problem, but worth reporting,
    such as values that are still to be filled in.
    """

    name: str
    folder: str
    schema: str
    ids: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    title: Pointer | None = None
    scheduled: bool = True
    layered: bool = False
    named_by_file: bool = False
    streamed: bool = False
    references: tuple[Reference, ...] = ()
    dates: DatesOf | None = None
    zone_of_dates: str = ""
    rules: tuple[Rule, ...] = ()
    revisions: tuple[Rule, ...] = ()
    notices: tuple[Rule, ...] = ()

    @property
    def identity(self) -> str | None:
        """The property that identifies a document; None where documents are compared as
        a whole.
        """
        return self.ids[-1] if self.ids else None

    def place(self, value: Mapping[str, Any]) -> tuple[Any, ...]:
        """Where a document stands among those of its kind: the values of ``order``, or
        its identity.
        """
        order = self.order or self.ids[-1:]
        return tuple(value[name] for name in order)


SITE = Kind("site", "", "site.json", scheduled=False)
"""site.yaml, which every content folder has: one document of settings, without a folder
of its own.
"""


def values_at(value: Any, pointer: Pointer) -> Iterator[tuple[Pointer, Any]]:
    """Yield the values that a Reference's pointer leads to, each with its own pointer."""
    reached: list[tuple[Pointer, Any]] = [((), value)]
    for step in pointer:
        below: list[tuple[Pointer, Any]] = []
        for place, part in reached:
            if step == EACH and isinstance(part, list):
                below += [((*place, number), item) for number, item in enumerate(part)]
            elif step != EACH and isinstance(part, dict) and step in part:
                below.append(((*place, step), part[step]))
        reached = below
    yield from reached


def titled(kind: Kind, value: Mapping[str, Any]) -> str:
    """Return what people call a document: its title, else its identity, else its first
    value.
    """
    part: Any = value
    for step in kind.title or ():
        part = part.get(step) if isinstance(part, dict) else None
    if isinstance(part, str) and kind.title:
        return part
    return (
        str(value[kind.identity])
        if kind.identity
        else str(next(iter(value.values()), ""))
    )
