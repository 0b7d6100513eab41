"""One cause in a document is one finding.

A schema looks at every object by itself. So a misspelled key is an unknown one and a
missing one to it, and a line that is indented too little is missing in one object and
unknown in another. Here such findings are recognized, and one of them stands for all.
The others stay in the document's list, marked as following: the rules must not look at
the parts that they are about.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from shopwindow.content.documents.finding import UNKNOWN_KEY, Finding, joined
from shopwindow.content.reading.yaml import Json, at, part
from shopwindow.content.schemas.shape import Shape
from shopwindow.problems import Pointer, place_words

_ENOUGH = 2
"""Missing keys that one other key must hold to be what they all stand in. One may be
there by chance.
"""


def united(findings: Sequence[Finding], value: Json, shape: Shape) -> list[Finding]:
    """Return a document's findings, of which some follow from others.

    Args:
        findings: what the schema finds.
        value: the document.
        shape: the place of the whole document.
    """
    if not any(one.rule == UNKNOWN_KEY for one in findings):
        return list(findings)
    return _DocumentInFile(findings, value, shape).united()


class _DocumentInFile:
    """One document's findings, and for some of them what is said instead."""

    def __init__(self, findings: Sequence[Finding], value: Json, shape: Shape) -> None:
        self._findings = findings
        self._value, self._shape = value, shape
        self._instead: dict[Finding, Finding] = {}

    def united(self) -> list[Finding]:
        for step in (
            self._wrapped,
            self._outdented,
            self._moved,
            self._indented,
            self._misspelt,
        ):
            for place, keys in self._unknown().items():
                step(place, keys)
        return [self._meant(self._instead.get(one, one)) for one in self._findings]

    # -- what is left to be explained

    def _unknown(self) -> dict[Pointer, list[Finding]]:
        """Return the unknown keys that nothing else is said of yet, by their objects."""
        by_object: dict[Pointer, list[Finding]] = defaultdict(list)
        for finding in self._findings:
            if finding.rule == UNKNOWN_KEY and finding not in self._instead:
                by_object[finding.pointer[:-1]].append(finding)
        return by_object

    def _missing(self) -> Iterator[Finding]:
        for finding in self._findings:
            if finding.missing and finding not in self._instead:
                yield finding

    def _follow(self, findings: Collection[Finding]) -> None:
        self._instead |= {one: one.following for one in findings}

    def _say(self, finding: Finding, found: str, allowed: str) -> None:
        self._instead[finding] = replace(
            finding, found=found, allowed=allowed, nearest=""
        )

    def _at(self, pointer: Pointer) -> Json:
        return at(self._value, pointer)

    # -- causes

    def _wrapped(self, place: Pointer, keys: list[Finding]) -> None:
        """All that the document lacks stands below one key that is too much."""
        if place or len(keys) != 1:
            return
        (key,) = keys
        held = self._at(key.pointer)
        if isinstance(held, list) and held:
            held = held[0]
        lacking = [one for one in self._missing() if one.pointer == ()]
        names = {one.missing for one in lacking}
        if not isinstance(held, dict) or len(names) < _ENOUGH or not names <= set(held):
            return
        found = f"{_quoted(key)} is not known here, and holds what belongs at the top"
        self._say(key, found, f"its keys without `{key.pointer[0]}:` above them")
        self._follow(lacking)

    def _outdented(self, place: Pointer, keys: list[Finding]) -> None:
        """An object is empty, and its keys stand beside it."""
        for empty in self._findings:
            if (
                not empty.pointer
                or empty.pointer[:-1] != place
                or empty.missing
                or empty.on_key
                or self._at(empty.pointer) not in (None, "")
            ):
                continue
            inner = self._shape.at(empty.pointer)
            below = [
                key for key in keys if inner and key.pointer[-1] in inner.properties
            ]
            if not below:
                continue
            found = f"nothing is written here, and {_listed(below)} beside it"
            name = empty.pointer[-1]
            self._say(empty, found, f"{_these(below)} indented, below `{name}:`")
            self._follow(below)

    def _moved(self, place: Pointer, keys: list[Finding]) -> None:
        """A key is missing in one object and too much in another."""
        for lack in self._missing():
            if lack.pointer == place:
                continue
            home = self._shape.at(lack.pointer)
            keys = [key for key in keys if key not in self._instead]
            if home is None or lack.missing not in {key.pointer[-1] for key in keys}:
                continue
            moved = [key for key in keys if key.pointer[-1] in home.properties]
            where = place_words(lack.pointer)
            of_object = f"in {where}" if where else "at the top"
            found = f"{_listed(moved)} here, and belong{'s' * (len(moved) == 1)} {of_object}"
            allowed = f"{_these(moved)} indented like the other keys {of_object}"
            self._say(moved[0], found, allowed)
            self._follow(moved[1:])
            names = {key.pointer[-1] for key in moved}
            self._follow(
                [
                    other
                    for other in self._missing()
                    if other.pointer == lack.pointer and other.missing in names
                ]
            )

    def _indented(self, place: Pointer, keys: list[Finding]) -> None:
        """Keys are indented too far, and so stand in the object above them."""
        if not place or not isinstance(place[-1], str):
            return
        outer = self._shape.at(place[:-1])
        around = self._at(place[:-1])
        inner = [
            key
            for key in keys
            if not key.nearest
            and outer is not None
            and key.pointer[-1] in outer.properties
            and key.pointer[-1] not in around
        ]
        if not inner:
            return
        name = place[-1]
        verb = "belongs" if len(inner) == 1 else "belong"
        found = f"{_listed(inner)} in {name}, and {verb} beside it"
        self._say(inner[0], found, f"{_these(inner)} indented like `{name}:`")
        self._follow(inner[1:])

    def _misspelt(self, place: Pointer, keys: list[Finding]) -> None:
        """A missing key was meant by an unknown one that is like it, or by the only
        unknown one, where the value would do. The message then names both.
        """
        near = {key.nearest for key in keys if key.nearest}
        self._follow(
            [
                lack
                for lack in self._missing()
                if (lack.pointer == place and lack.missing in near)
                or any(self._holds(key, lack) for key in keys)
            ]
        )
        lacking = [one for one in self._missing() if one.pointer == place]
        if len(keys) != 1 or len(lacking) != 1:
            return
        (key,), (lack,) = keys, lacking
        if any(
            (one.missing, one.pointer) == (key.nearest, place) for one in self._findings
        ):
            return
        right = self._shape.at((*place, str(lack.missing)))
        if right and right.admits(self._at(key.pointer)):
            found = f"{key.found}, and {lack.found}"
            self._instead[key] = replace(key, found=found, nearest=str(lack.missing))
            self._follow([lack])

    def _holds(self, key: Finding, lack: Finding) -> bool:
        """Return whether a misspelled key holds what is missing below the right one.

        The right one may be there all the same, in another layer.
        """
        right = (*key.pointer[:-1], key.nearest)
        if not key.nearest or lack.pointer[: len(right)] != right:
            return False
        held = part(self._value, (*key.pointer, *lack.pointer[len(right) :]))
        return isinstance(held, dict) and lack.missing in held

    def _meant(self, finding: Finding) -> Finding:
        """Return a finding about an unknown key with the key that it was meant to be,
        where that one is not there.
        """
        if finding.rule != UNKNOWN_KEY or not finding.nearest:
            return finding
        around = self._at(finding.pointer[:-1])
        return (
            finding
            if finding.nearest in around
            else replace(finding, stands_for=finding.nearest)
        )


def _quoted(finding: Finding) -> str:
    return repr(finding.pointer[-1])


def _listed(findings: Sequence[Finding]) -> str:
    """Return the keys of findings as the subject of a sentence, with its verb."""
    keys = joined([_quoted(one) for one in findings], "and")
    return f"{keys} stand{'s' * (len(findings) == 1)}"


def _these(findings: Collection[Finding]) -> str:
    return "that line" if len(findings) == 1 else "those lines"
