"""Writes the end of a publish window into the text of a YAML file, and nothing else.

How this works: the places of the values say where the text is to be cut (`yaml.locate`).
A value is inserted or replaced there, so that comments and layout stay. Then the new
text is read again, and its value must be the old one with that end. YAML that is
written in a way not foreseen here is thus refused, and never changed by mistake.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shopwindow.content import yaml
from shopwindow.content.documents import at
from shopwindow.content.syntax import LINE_END
from shopwindow.content.yaml import Json, Malformed, Spot
from shopwindow.problems import Place, Pointer

STEP = "  "
"""Of `until` below `publish`, as the sample's files have it."""


class Unwritable(Exception):
    """The text is written in a way that is edited by hand only."""


def with_end(text: str, document: Pointer, until: str) -> str:
    """Return the text of a YAML file in which a document ends at ``until``.

    Args:
        text: of the file, without a byte order mark.
        document: where the document stands in it: its number, or nothing.
        until: what `publish.until` is to be: a day or a time that needs no quotes.

    Raises:
        Unwritable: an alias stands there, or the outcome would not be what is meant.
    """
    try:
        value, spots = yaml.load(text), yaml.locate(text)
        edited = _FileText(text, spots, value).with_end(document, until)
        outcome = yaml.load(edited)
    except Malformed as fault:
        raise Unwritable(fault.found) from None
    if outcome != _with_end(value, document, until):
        raise Unwritable("the document is written in an unusual way")
    return edited


def _with_end(value: Json, pointer: Pointer, until: str) -> Json:
    """Return a file's value in which the document at ``pointer`` ends at ``until``."""
    if not pointer:
        return {**value, "publish": {**value.get("publish", {}), "until": until}}
    (index,) = pointer
    return [
        _with_end(part, (), until) if number == index else part
        for number, part in enumerate(value)
    ]


@dataclass(frozen=True)
class _FileText:
    """A text, where its values stand, and its value."""

    text: str
    spots: Mapping[Pointer, Spot]
    value: Json

    def with_end(self, document: Pointer, until: str) -> str:
        publish = (*document, "publish")
        if (*publish, "until") in self.spots:
            return self._replaced(self.spots[*publish, "until"].value, until)
        if publish not in self.spots:
            return self._with_window(document, until)
        if self._is_alias(publish) or self._sign(publish) == "&":
            raise Unwritable("its publish window is shared by an alias")
        begins = (*publish, "from")
        if begins not in self.spots:
            raise Unwritable("its publish window has no `from`, and no `until`")
        if self._sign(publish) == "{":
            return self._inserted(
                self._end(self.spots[begins].value), f", until: {until}"
            )
        line = " " * self._key_column(begins) + f"until: {until}"
        return self._with_lines(self.spots[begins].value.line, line)

    def _with_window(self, document: Pointer, until: str) -> str:
        """Return the text with a window at the end of a document that has none."""
        last = self._last_leaf(document)
        if self._sign(document) == "{":
            window = f", publish: {{until: {until}}}"
            return self._inserted(self._end(self.spots[last].value), window)
        first_key = next(iter(at(self.value, document)))
        indent = " " * self._key_column((*document, first_key))
        lines = (f"{indent}publish:", f"{indent}{STEP}until: {until}")
        return self._with_lines(self._last_line(last), *lines)

    # -- where values stand ------------------------------------------------------------

    def _sign(self, pointer: Pointer) -> str:
        """Return the first character of a value: what it is written as."""
        start = self._start(self.spots[pointer].value)
        return self.text[start : start + 1]

    def _is_alias(self, pointer: Pointer) -> bool:
        return self._sign(pointer) == "*"

    def _last_leaf(self, document: Pointer) -> Pointer:
        """Return the last value of a document that ends where it is written to end.

        An object or a list without brackets ends only where the next value begins.
        """
        leaves = [
            pointer
            for pointer in self.spots
            if len(pointer) > len(document)
            and pointer[: len(document)] == document
            and self._is_leaf(pointer)
        ]
        return max(leaves, key=lambda leaf: self._end(self.spots[leaf].value))

    def _is_leaf(self, pointer: Pointer) -> bool:
        value: Any = at(self.value, pointer)
        return not isinstance(value, dict | list) or self._sign(pointer) in "{[*"

    def _last_line(self, leaf: Pointer) -> int:
        """Return the number of the last line of a value.

        libyaml ends a block of text where the next value begins, or at the end.
        """
        place = self.spots[leaf].value
        if self._sign(leaf) not in "|>":
            return place.end_line
        number = place.end_line
        lines = self._lines
        if not lines[number - 1][: place.end_column - 1].strip():
            number -= 1
        while number > place.line and not lines[number - 1].strip():
            number -= 1
        return number

    def _key_column(self, pointer: Pointer) -> int:
        """Return how many characters stand before the key of a value."""
        key = self.spots[pointer].key
        if key is None:
            raise Unwritable("its keys stand by alias")
        return key.column - 1

    # -- cutting -----------------------------------------------------------------------

    @property
    def _lines(self) -> list[str]:
        return LINE_END.split(self.text)

    def _offset(self, line: int, column: int) -> int:
        """Return how many characters stand before a place."""
        ends = [match.end() for match in LINE_END.finditer(self.text)]
        return [0, *ends][line - 1] + column - 1

    def _start(self, place: Place) -> int:
        return self._offset(place.line, place.column)

    def _end(self, place: Place) -> int:
        return self._offset(place.end_line, place.end_column)

    def _replaced(self, place: Place, new: str) -> str:
        return self.text[: self._start(place)] + new + self.text[self._end(place) :]

    def _inserted(self, offset: int, new: str) -> str:
        return self.text[:offset] + new + self.text[offset:]

    def _with_lines(self, after: int, *lines: str) -> str:
        """Return the text with lines after a line, which ends as the file's lines do."""
        ends = list(LINE_END.finditer(self.text))
        line_end = ends[0].group() if ends else "\n"
        new = "".join(line + line_end for line in lines)
        if after <= len(ends):
            return self._inserted(ends[after - 1].end(), new)
        return self.text + line_end + new.removesuffix(line_end)
