"""Fixes of what hides the rest of a file: tabs, and expressions without quotes.

How this works: the file is changed and read again, until nothing is hidden any more.
Each reading shows the faults up to one that hides the rest. All such lines of a file
have one fix, whose value is that of the last reading.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import orjson

from shopwindow.content.documents.expressions import EXPRESSION_START
from shopwindow.content.reading.text import Edit, Fix, YamlText
from shopwindow.content.reading.yaml import Json
from shopwindow.problems import Place, Problem, cut

MAX_REREAD = 256 * 1024
"""Characters of a file that is read again for each way in which its tabs may be meant,
and for each line that hides the rest. To read it once takes some 50 ms.
"""

TAB_WIDTHS = (2, 4, 8, 3, 5, 6, 7)
"""Columns that a tab may stand for in an editor, the most usual first. None draws it as
one.
"""

MAX_MENDED_LINES = 100
"""Lines of a file that are mended one by one, each by reading the file again. Lines that
begin with a tab are mended at once.
"""


def same_value(one: Json, other: Json) -> bool:
    """Return whether two values are the same, their types and the order of keys too."""
    return orjson.dumps(one) == orjson.dumps(other)


Mended = tuple[YamlText, Mapping[int, Edit]]
"""A file that can be read on, and its edits by line."""


def _read_on(
    file: YamlText,
    edits: dict[int, Edit],
    wrong_lines: Callable[[YamlText], Sequence[int]],
    edit_of: Callable[[int], Edit | None],
) -> Mended | None:
    """Return the file with ``edits``, and with one for each line that is wrong then.

    None where a line has no edit, or is wrong with it; or where something else hides
    the rest. Lines without a fault stay: a line of a block of text may look the same.
    """
    for _ in range(MAX_MENDED_LINES):
        reading = YamlText(file.with_edits(edits.values()))
        numbers = wrong_lines(reading)
        if not numbers:
            return None if reading.stop else (reading, edits)
        for number in numbers:
            edit = edit_of(number)
            if edit is None or number in edits:
                return None
            edits[number] = edit
    return None


def _fix(
    problem: Problem,
    file: YamlText,
    mend: Callable[[YamlText], Mended | None],
    title: str,
) -> Fix | None:
    """Return the fix of the file as ``mend`` mends it, if that changes the line of a
    problem.
    """
    if problem.place is None or len(file.text) > MAX_REREAD:
        return None
    reading, edits = mend(file) or (file, {})
    if problem.place.line not in edits:
        return None
    return Fix(title, tuple(edits.values()), (), reading.value)


# -- expressions -----------------------------------------------------------------------


_EXPRESSION_LINE = re.compile(
    r"""[ ]*(?:-[ ]+)*(?:[\w-]+:[ ]+)?(?P<text>\{\{[^"\\#]*\}\}[^"\\#]*?)[ ]*(?:[ ]\#.*)?"""
)
"""A key or a hyphen, a text that begins with an expression, and perhaps a comment."""


def expression(problem: Problem, file: YamlText) -> Fix | None:
    """Put a text in quotes that begins with an expression.

    YAML takes the braces for an object, and mostly cannot read on. So all such texts of
    a file have one fix.
    """
    fix = _fix(problem, file, _with_quotes, "put texts that begin with {{ in quotes")
    if fix is None or len(fix.edits) > 1:
        return fix
    return replace(fix, title=f"put {cut(fix.edits[0].text[1:-1])} in quotes")


@lru_cache(maxsize=1)
def _with_quotes(file: YamlText) -> Mended | None:
    """Return a file with quotes around such texts."""

    def wrong_lines(reading: YamlText) -> list[int]:
        return [
            fault.place.line
            for fault in reading.faults
            if fault.rule == "yaml.key"
            and reading.text.startswith(EXPRESSION_START, reading.start(fault.place))
        ]

    return _read_on(file, {}, wrong_lines, lambda number: _quoted_line(file, number))


def _quoted_line(file: YamlText, number: int) -> Edit | None:
    """Return the edit that puts a key's or an entry's text of this line in quotes.

    The text begins with an expression, holds no quotes and ends with the line, or
    before a comment.
    """
    match = _EXPRESSION_LINE.fullmatch(file.lines[number - 1])
    if match is None:
        return None
    start, end = match.start("text") + 1, match.end("text") + 1
    return Edit(Place(number, start, number, end), f'"{match["text"]}"')


# -- tabs ------------------------------------------------------------------------------


_INDENTATION = re.compile(r"[ \t]*(?:[-?][ \t]+)*")


def tabs(problem: Problem, file: YamlText) -> Fix | None:
    """Indent by spaces where tabs are, if all widths of a tab say the same.

    A tab may be meant as wide as any editor draws it. With most widths the text cannot
    be read at all, or says the same; where two of them say different things, only a
    person knows. All lines of a file have one fix.
    """
    title = "indent by spaces in place of tabs"
    return _fix(problem, file, _without_tabs, title)


@lru_cache(maxsize=1)
def _without_tabs(file: YamlText) -> Mended | None:
    """Return a file with spaces in place of tabs, of the width that fits best; None
    where widths say different things.

    A width that leaves more faults than others, such as a key that stands twice, is not
    meant. The last file is remembered: each of its lines may be a problem.
    """
    if "\t" not in file.text:
        return None
    readings = [
        reading
        for width in (_step(file), *TAB_WIDTHS)
        if (reading := _with_spaces(file, width))
    ]
    if not readings:
        return None
    least = min(len(reading.faults) for reading, _ in readings)
    best = [one for one in readings if len(one[0].faults) == least]
    values = [reading.value for reading, _ in best]
    return best[0] if all(same_value(values[0], value) for value in values) else None


def _with_spaces(file: YamlText, width: int) -> Mended | None:
    """Return the file with spaces in place of tabs, each up to the next multiple of a
    width, as an editor draws it; None where it cannot be read so.

    Lines that begin with a tab are changed at once: no text of a block can begin so.
    Other lines may be such text, and are changed only once a fault is found there.
    """

    def wrong_lines(reading: YamlText) -> list[int]:
        return [reading.stop.place.line] if reading.stop else []

    def edit_of(number: int) -> Edit | None:
        tabs = _indentation(file.lines[number - 1])
        place = Place(number, 1, number, len(tabs) + 1)
        return Edit(place, tabs.expandtabs(width)) if "\t" in tabs else None

    edits = {
        number: edit
        for number, line in enumerate(file.lines, 1)
        if line.startswith("\t") and line.strip() and (edit := edit_of(number))
    }
    return _read_on(file, edits, wrong_lines, edit_of)


def _indentation(line: str) -> str:
    """Return what stands before the first key or value of a line, hyphens included."""
    match = _INDENTATION.match(line)
    return match.group() if match else ""


def _step(file: YamlText) -> int:
    """Return how many spaces the file indents by: the fewest that a line begins with."""
    counts = (len(line) - len(line.lstrip(" ")) for line in file.lines if line.strip())
    return min(filter(None, counts), default=TAB_WIDTHS[0])
