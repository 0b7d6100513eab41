"""Edits of YAML files that leave comments and layout as they are.

How this works: the places of the values say where a text is to be cut (`yaml.locate`).
An Edit puts other text in the place of some characters; all else stays, to the byte. A
Fix is the edits that mend a problem, and what the file says afterwards. A FileEdit is a
whole file before and after, which can be shown as a diff, and which is written only
while the file is still what it was.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from functools import cached_property
from pathlib import Path
from typing import Any

from shopwindow.content.reading import yaml
from shopwindow.content.reading.feed import FeedSpots
from shopwindow.content.reading.files import read_text, replace_file
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.syntax import LINE_END
from shopwindow.content.reading.yaml import (
    BYTE_ORDER_MARK,
    JSON_NUMBER,
    Json,
    Malformed,
    Spot,
    at,
)
from shopwindow.problems import Failure, Place, Pointer


@dataclass(frozen=True, slots=True)
class Edit:
    """Other text for a stretch of a file. An empty stretch: the text is inserted."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What mends a problem.

    ``title``: what to do, in an editor's words, such as `put 5.10 in quotes`.
    ``edits``: other text for some places of the file. Afterwards ``value`` stands at
    ``pointer`` in the file, below the key ``key`` where that is not empty.
    """

    title: str
    edits: tuple[Edit, ...]
    pointer: Pointer
    value: Json
    key: str = ""

    @property
    def goal(self) -> Pointer:
        """Where the value stands afterwards."""
        return (*self.pointer[:-1], self.key) if self.key else self.pointer


class Overlapping(Exception):
    """Two edits of one text want the same characters."""


@dataclass(frozen=True)
class YamlText:
    """The text of a file, without a byte order mark, and what stands where in it.

    ``value`` and ``spots`` read the text. ``value`` raises Malformed where it has a fault
    that reading cannot go beyond. ``is_feed``: its lines are documents, and pointers
    begin with their numbers; lines with faults count for nothing.
    """

    text: str
    is_feed: bool = False

    @property
    def value(self) -> Json:
        """What the file says, as far as it can be read."""
        if self.stop:
            raise self.stop
        return self._loaded[0]

    @property
    def stop(self) -> Malformed | None:
        """The fault that reading cannot go beyond, which hides the rest of the file."""
        value, faults = self._loaded
        return faults[-1] if faults and value is None else None

    @property
    def faults(self) -> Sequence[Malformed]:
        """The faults of its YAML, up to the first that reading cannot go beyond."""
        return self._loaded[1]

    @cached_property
    def _loaded(self) -> tuple[Json, Sequence[Malformed]]:
        if self.is_feed:  # its lines are read one by one
            return None, ()
        try:
            return yaml.load(self.text), ()
        except Malformed as fault:
            return fault.value, (fault, *fault.more)

    @cached_property
    def spots(self) -> Mapping[Pointer, Spot]:
        """Where every value stands; nothing where a fault hides the rest of the file."""
        if self.is_feed:
            return FeedSpots(self.text)
        try:
            return yaml.locate(self.text)
        except Malformed:
            return {}

    @cached_property
    def lines(self) -> Sequence[str]:
        """The lines, without their ends."""
        return LINE_END.split(self.text)

    @cached_property
    def line_end(self) -> str:
        """How the lines end: as the first one does."""
        first = LINE_END.search(self.text)
        return first.group() if first else "\n"

    @cached_property
    def has_aliases(self) -> bool:
        """Whether a value may stand at several places, by an alias."""
        return bool(_ALIAS.search(self.text))

    @cached_property
    def _line_starts(self) -> Sequence[int]:
        return [0, *(match.end() for match in LINE_END.finditer(self.text))]

    # -- places ------------------------------------------------------------------------

    def start(self, place: Place) -> int:
        """Return how many characters stand before a place."""
        return self._line_starts[place.line - 1] + place.column - 1

    def end(self, place: Place) -> int:
        """Return how many characters stand before the end of a place."""
        return self._line_starts[place.end_line - 1] + place.end_column - 1

    def at(self, place: Place) -> str:
        """Return the text at a place."""
        return self.text[self.start(place) : self.end(place)]

    def written(self, pointer: Pointer) -> str:
        """Return the text of a value; empty where it has no place of its own."""
        spot = self.spots.get(pointer)
        return self.at(spot.value) if spot else ""

    def number(self, pointer: Pointer) -> str | None:
        """Return a number as it is written; None where an alias stands there."""
        *_, found = ["", *self.written(pointer).split()]  # behind an anchor
        return found if JSON_NUMBER.fullmatch(found) else None

    def sign(self, pointer: Pointer) -> str:
        """Return the first character of a value: what it is written as."""
        start = self.start(self.spots[pointer].value)
        return self.text[start : start + 1]

    def last_leaf(self, outer: Pointer) -> Pointer:
        """Return the last value within an object or list that ends where it is written
        to end.

        An object or a list without brackets ends only where the next value begins.
        """
        leaves = [
            pointer
            for pointer in self.spots
            if len(pointer) > len(outer)
            and pointer[: len(outer)] == outer
            and self._is_leaf(pointer)
        ]
        return max(leaves, key=lambda leaf: self.end(self.spots[leaf].value))

    def _is_leaf(self, pointer: Pointer) -> bool:
        value: Any = at(self.value, pointer)
        return not isinstance(value, dict | list) or self.sign(pointer) in "{[*"

    def last_line(self, leaf: Pointer) -> int:
        """Return the number of the last line of a value.

        libyaml ends a block of text where the next value begins, or at the end.
        """
        place = self.spots[leaf].value
        if self.sign(leaf) not in "|>":
            return place.end_line
        number = place.end_line
        if not self.lines[number - 1][: place.end_column - 1].strip():
            number -= 1
        while number > place.line and not self.lines[number - 1].strip():
            number -= 1
        return number

    # -- edits -------------------------------------------------------------------------

    def with_edits(self, edits: Iterable[Edit]) -> str:
        """Return the text with edits. Raises Overlapping."""
        pieces: list[str] = []
        position = 0
        for edit in sorted(edits, key=lambda edit: self.start(edit.place)):
            start = self.start(edit.place)
            if start < position:
                raise Overlapping
            pieces += (self.text[position:start], edit.text)
            position = self.end(edit.place)
        return "".join(pieces) + self.text[position:]

    def lines_after(self, number: int, *lines: str) -> Edit:
        """Return the edit that adds lines after a line, which end as the file's do."""
        new = "".join(line + self.line_end for line in lines)
        if number < len(self.lines):
            return Edit(Place(number + 1, 1, number + 1, 1), new)
        column = len(self.lines[number - 1]) + 1
        last = Place(number, column, number, column)
        return Edit(last, self.line_end + new.removesuffix(self.line_end))


def text_of(folder: Path, source: Source) -> YamlText:
    """Return the text of a file of documents. Raises Malformed where it has none."""
    return YamlText(read_text(folder, source), source.is_feed)


_ALIAS = re.compile(r"[\s\[,]\*[\w-]")


def beginning(place: Place) -> Place:
    """Return the empty stretch where a place begins."""
    return Place(place.line, place.column, place.line, place.column)


def ending(place: Place) -> Place:
    """Return the empty stretch where a place ends."""
    return Place(place.end_line, place.end_column, place.end_line, place.end_column)


# -- files -----------------------------------------------------------------------------


@dataclass(frozen=True)
class FileEdit:
    """A file as it is and as it will be. ``path`` is below the content folder."""

    path: str
    before: bytes
    after: bytes

    @classmethod
    def of_text(cls, path: str, before: bytes, text: str) -> "FileEdit":
        """Return the edit that gives a file another text; a byte order mark stays."""
        mark = BYTE_ORDER_MARK if before.startswith(BYTE_ORDER_MARK) else b""
        return cls(path, before, mark + text.encode())

    def diff(self, content: str) -> str:
        """Return the change as a unified diff of a file below ``content``."""
        path = f"{content}/{self.path}"
        before, after = (
            data.decode("utf-8-sig").splitlines(keepends=True)
            for data in (self.before, self.after)
        )
        lines = unified_diff(before, after, path, path)
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        )


def write(folder: Path, edits: Iterable[FileEdit]) -> None:
    """Write the edits of files below a content folder.

    Raises Failure, before anything is written, where a file has changed since, or leads
    out of the folder.
    """
    edits = list(edits)
    root = folder.resolve()
    for edit in edits:
        file = folder / edit.path
        if not file.resolve().is_relative_to(root):
            raise Failure(f"{edit.path} leads out of {folder}; nothing was written")
        if file.read_bytes() != edit.before:
            raise Failure(f"{edit.path} was changed meanwhile; nothing was written")
    for edit in edits:
        file = (folder / edit.path).resolve()
        replace_file(file, edit.after, file.stat().st_mode)
