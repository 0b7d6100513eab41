"""Names in open maps that look like a slip for another name.

An open map is an object whose schema names some properties and admits others: the
attributes of a store, say. A misspelt name is valid there, and apps ask for the right
one in vain. Two sorts of names are known: those of the schema, and those that many
documents of the kind use.

What is near, and why no nearer or farther: names that differ in case or underscores
alone; names of FIVE letters or more that differ by one letter; and from a schema's
name of TEN or more, by two. Names that differ in a digit are none: FLOOR_1 and FLOOR_2
are meant.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from shopwindow.content.case import Case
from shopwindow.content.finding import Finding
from shopwindow.content.kinds import EACH, Kind, values_at
from shopwindow.content.rules import RuleFindings
from shopwindow.content.schema import Schemas
from shopwindow.content.shape import Shape
from shopwindow.problems import Pointer, cut

RULE = "name.near"

FIVE, TEN = 5, 10
"""Letters from which one letter, or two, may be a slip: among short names, one letter
makes another word.
"""

MANY = 10
"""Documents that use a name which the schema does not have, and which thereby is known:
beside so many, a name that stands in one document alone is the odd one.
"""

MAX_NAMES = 1000
"""Names that stand once and are compared with those of many documents. More are no
slips, but ids: they differ by a letter as a matter of course.
"""

MAX_DEPTH = 8
"""Levels of a schema below which open maps are sought. The program's have four; a schema
that refers to itself has no end.
"""


def near_names(case: Case, schemas: Schemas) -> RuleFindings:
    """Yield the names of open maps that are near a known one."""
    for kind in case.kinds:
        known: dict[Pointer, set[str]] = {}
        for shape in schemas.shapes(kind.schema):
            for pointer, properties in _open_maps(shape, ()):
                known.setdefault(pointer, set()).update(properties)
        for pointer, names in known.items():
            yield from _in_maps(case, kind, pointer, names)


def _open_maps(
    shape: Shape, pointer: Pointer
) -> Iterator[tuple[Pointer, tuple[str, ...]]]:
    """Yield the pointers of the open maps of a schema, with the names that it has."""
    if shape.properties and shape.keyword("additionalProperties") is not False:
        yield pointer, shape.properties
    if len(pointer) == MAX_DEPTH:
        return
    for name in shape.properties:
        below = shape.property(name)
        if below is not None:
            yield from _open_maps(below, (*pointer, name))
    if shape.items is not None:
        yield from _open_maps(shape.items, (*pointer, EACH))


def _in_maps(case: Case, kind: Kind, pointer: Pointer, names: set[str]) -> RuleFindings:
    """Yield the slips in the maps at one place of all documents of a kind."""
    documents = case.having(kind.name)
    maps = [
        (document, place, entries)
        for document in documents
        for place, entries in values_at(document.value, pointer)
        if isinstance(entries, dict)
    ]
    if names.issuperset(chain.from_iterable(entries for _, _, entries in maps)):
        return  # nearly always
    uses = Counter(name for _, _, entries in maps for name in entries)
    meant = _meant(uses, names)
    for document, place, entries in maps if meant else ():
        for name in entries:
            if name in meant and case.sound(document, (*place, name)):
                yield document, _slip((*place, name), name, meant[name], uses)


def _slip(pointer: Pointer, name: str, meant: str, uses: Mapping[str, int]) -> Finding:
    used = uses.get(meant, 0)
    others = f", which {used} documents have" if used > 1 else ", which has a meaning"
    return Finding(
        RULE,
        pointer,
        f"{cut(name)!r} is like {meant}{others}",
        "any name; apps ask for what they know",
        nearest=meant,
        on_key=True,
    )


def _meant(uses: Mapping[str, int], names: set[str]) -> dict[str, str]:
    """Return by each name that looks like a slip the one that was meant.

    ``uses``: how many documents have a name. ``names``: those of the schema.
    """
    unknown = [name for name in uses if name not in names]
    common = [name for name in unknown if uses[name] >= MANY]
    once = [name for name in unknown if uses[name] == 1]
    meant: dict[str, str] = {}
    if len(once) <= MAX_NAMES:
        meant |= _nearest(once, common, edits=1)
    return meant | _nearest(unknown, names, edits=2)


def _nearest(odd: Iterable[str], known: Iterable[str], *, edits: int) -> dict[str, str]:
    ordered = sorted(known)
    near = {}
    for name in odd:
        for other in ordered:
            if is_near(name, other, edits):
                near[name] = other
                break
    return near


def is_near(name: str, other: str, edits: int = 1) -> bool:
    """Return whether one name looks like a slip for the other.

    ``edits``: how many letters may differ where both names have TEN letters or more.
    """
    one, two = _letters(name), _letters(other)
    if one == two:
        return True
    shorter = min(len(one), len(two))
    if shorter < FIVE or abs(len(one) - len(two)) > edits:
        return False
    if any(char.isdigit() for char in one + two) and _digits(one) != _digits(two):
        return False
    return _distance(one, two) <= (edits if shorter >= TEN else 1)


def _letters(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")


def _digits(name: str) -> str:
    return "".join(filter(str.isdigit, name))


def _distance(one: str, two: str) -> int:
    """Return how many letters have to be added, left out, replaced or swapped with the
    next one (Damerau and Levenshtein's distance, optimal string alignment).
    """
    before: list[int] = []
    last = list(range(len(two) + 1))
    for row, char in enumerate(one, 1):
        current = [row]
        for column, other in enumerate(two, 1):
            cost = min(
                last[column] + 1,
                current[column - 1] + 1,
                last[column - 1] + (char != other),
            )
            swapped = (
                row > 1
                and column > 1
                and (char, one[row - 2])
                == (
                    two[column - 2],
                    other,
                )
            )
            if swapped:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, last = last, current
    return last[-1]
