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

import re
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, product

from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import EACH, Kind, Rule, values_at
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.content.schemas.schema import Schemas
from shopwindow.content.schemas.shape import Shape
from shopwindow.did_you_mean import is_slip
from shopwindow.problems import Level, Pointer, cut

NEAR_NAME = "name.near"

FIVE, TEN = 5, 10
"""Letters from which one letter, or two, may be a slip: among short names, one letter
makes another word.
"""

MANY = 10
"""Documents that use a name which the schema does not have, and which thereby is known:
beside so many, a name that stands in one document alone is the odd one.
"""

MAX_COMPARED_NAMES = 200
"""Names beside those of the schema, of which any is compared with any. More are no names
that people know, but ids: they differ by a letter as a matter of course.
"""

MAX_DEPTH, MAX_PLACES = 8, 2000
"""Levels and places of a schema that are looked at, the outer ones first. The largest of
the program's has five levels and some hundred places; a schema that refers to itself has
no end.
"""


def near_names(schemas: Schemas) -> Rule:
    """Return the rule that no name of an open map is near a known one."""

    def near(case: Case) -> RuleFindings:
        for kind in case.kinds:
            for pointer, names in _open_maps(schemas, kind.schema).items():
                yield from _in_maps(case, kind, pointer, names)

    return Rule((NEAR_NAME,), near, Level.WARNING)


def _open_maps(schemas: Schemas, schema: str) -> dict[Pointer, set[str]]:
    """Return the pointers of the open maps of a schema, with the names that it has.

    Where a content folder has a schema of its own, that one says what is open; the
    names are also those of the program's below it.
    """
    own, *below = schemas.shapes(schema)
    maps = {
        pointer: set(shape.properties)
        for pointer, shape in _objects(own)
        if shape.keyword("additionalProperties") is not False
    }
    for whole in below:
        for pointer, shape in _objects(whole):
            if pointer in maps:
                maps[pointer].update(shape.properties)
    return maps


def _objects(whole: Shape) -> Iterator[tuple[Pointer, Shape]]:
    """Yield the places of a schema that are objects with named properties."""
    places: deque[tuple[Pointer, Shape]] = deque([((), whole)])
    for _ in range(MAX_PLACES):
        if not places:
            return
        pointer, shape = places.popleft()
        if shape.properties:
            yield pointer, shape
        if len(pointer) == MAX_DEPTH:
            continue
        below = [(name, shape.property(name)) for name in shape.properties]
        for step, part in (*below, (EACH, shape.items)):
            if part is not None:
                places.append(((*pointer, step), part))


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
                yield document, _slip((*place, name), meant[name], uses, names)


def _slip(
    pointer: Pointer, meant: str, uses: Mapping[str, int], names: Collection[str]
) -> Finding:
    name = cut(str(pointer[-1]))
    if meant in names:
        found = f"{name!r} is a name of your own, and nearly {meant}"
    else:
        others = f"which {uses[meant]:,} others of its kind have"
        found = (
            f"{name!r} stands in this document alone, and is nearly {meant}, {others}"
        )
    allowed = "a name that is known, or one that is less like it"
    return Finding(NEAR_NAME, pointer, found, allowed, nearest=meant, on_key=True)


def _meant(uses: Mapping[str, int], names: set[str]) -> dict[str, str]:
    """Return by each name that looks like a slip the one that was meant.

    ``uses``: how many documents have a name. ``names``: those of the schema.
    """
    unknown = [name for name in uses if name not in names]
    if len(unknown) > MAX_COMPARED_NAMES:
        return {}
    once = [name for name in unknown if uses[name] == 1]
    common = [name for name in unknown if uses[name] >= MANY]
    return _nearest(once, common, edits=1) | _nearest(unknown, names, edits=2)


def _nearest(odd: Iterable[str], known: Iterable[str], *, edits: int) -> dict[str, str]:
    ordered = sorted(known, reverse=True)
    pairs = product(odd, ordered)
    return {name: other for name, other in pairs if is_near(name, other, edits)}


def is_near(name: str, other: str, edits: int = 1) -> bool:
    """Return whether one name looks like a slip for the other.

    ``edits``: how many letters may differ where both names have TEN letters or more.
    """
    one, two = _letters(name), _letters(other)
    if one == two:
        return True
    shorter = min(len(one), len(two))
    if shorter < FIVE or _DIGIT.findall(one) != _DIGIT.findall(two):
        return False
    return is_slip(one, two, edits if shorter >= TEN else 1)


def _letters(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")


_DIGIT = re.compile(r"\d")
