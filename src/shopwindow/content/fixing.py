"""The fix of a problem: the few characters to change, where nobody could mean another.

How this works: `fix` looks up the rule that was broken in FIXES. The function there
gets the problem and the text of its file, and returns a Fix, or None where there is a
doubt. What a schema refused says itself what is certainly meant (`meant`); how to write
it here follows from how the file is written.

A Fix says not only which characters change, but also what the file says afterwards. So
`fixed` can read the new text again and compare: YAML that is written in a way not
foreseen here is refused, and never changed by mistake. Whether the problem is gone, and
no other has come, only a check can tell (`mending`).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import orjson

from shopwindow.content import yaml
from shopwindow.content.documents import at
from shopwindow.content.editing import (
    Edit,
    Overlapping,
    YamlText,
    beginning,
    ending,
)
from shopwindow.content.expressions import EXPRESSION_START
from shopwindow.content.yaml import CONSTANTS, JSON_NUMBER, Json, Malformed, Spot
from shopwindow.problems import Place, Pointer, Problem, cut

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


def fix(problem: Problem, file: YamlText) -> Fix | None:
    """Return the fix of a problem that is certain, or None.

    ``file`` is the text of the file that the problem is in, as it was checked.
    """
    fixing = FIXES.get(problem.rule)
    if fixing is None or problem.place is None or problem.path.endswith(".jsonl"):
        return None
    if file.is_in_conflict:
        return None
    try:
        found = fixing(problem, file)
    except (Malformed, LookupError):  # the file has changed since it was checked
        return None
    if found and file.has_aliases and fixed(file, [found]) is None:
        return None  # it would change what an alias repeats
    return found


def fixed(file: YamlText, fixes: Sequence[Fix]) -> str | None:
    """Return a file's text with fixes, of which none lies within another.

    None where the outcome would say anything else than what is meant.
    """
    try:
        text = file.with_edits(edit for fix in fixes for edit in fix.edits)
        outcome = YamlText(text).value
        whole = [fix for fix in fixes if not fix.pointer]
        meant = whole[0].value if whole else file.value
        for fix in fixes:
            meant = _with(meant, fix.pointer, fix) if fix.pointer else meant
    except (Malformed, Overlapping, LookupError):
        return None
    return text if _same(outcome, meant) else None


def _with(value: Json, pointer: Pointer, fix: Fix) -> Json:
    """Return a value with what a fix puts at a pointer within it."""
    step, *further = pointer
    is_last = not further
    if isinstance(value, list):
        changed = list(value)
        item = changed[int(step)]
        changed[int(step)] = fix.value if is_last else _with(item, tuple(further), fix)
        return changed
    if is_last and step not in value:
        raise KeyError(step)
    return {
        (fix.key or key) if is_last and key == step else key: item
        if key != step
        else (fix.value if is_last else _with(item, tuple(further), fix))
        for key, item in value.items()
    }


def _same(one: Json, other: Json) -> bool:
    """Return whether two values are the same, their types and the order of keys too."""
    return orjson.dumps(one) == orjson.dumps(other)


# -- values ----------------------------------------------------------------------------


def _value(problem: Problem, file: YamlText) -> Fix | None:
    """Write the value that is meant in place of the one that a schema refuses."""
    pointer, meant = problem.pointer, problem.meant
    spot = file.spots.get(pointer)
    if meant is None or spot is None:  # what an alias repeats has no place of its own
        return None
    value = at(file.value, pointer)
    if isinstance(meant, list):
        return _list(file, pointer, spot, value, meant[0])
    place = _behind_anchor(file, spot.value)
    if place is None or isinstance(value, dict | list) or _is_unwritable(value):
        return None
    written = file.at(place)
    text = _written(meant, written)
    if text == f'"{written}"':
        title = f"put {cut(written)} in quotes"
    elif isinstance(value, str) and not isinstance(meant, str):
        title = f"write {cut(text)} without quotes"
    else:
        title = f"write {cut(text)}"
    return Fix(title, (Edit(place, text),), pointer, meant)


def _is_unwritable(value: Json) -> bool:
    """Return whether a value stands for another, which an expression gives."""
    return isinstance(value, str) and EXPRESSION_START in value


def _behind_anchor(file: YamlText, place: Place) -> Place | None:
    """Return the place of a scalar without its anchor.

    None for an alias, for a block of text, and where an alias repeats the value, which
    would change there as well.
    """
    written = file.at(place)
    if written[:1] in ("*", "|", ">", ""):
        return None
    anchor = _ANCHOR.match(written)
    if anchor is None:
        return place
    if re.search(rf"\*{re.escape(anchor[1])}(?![\w-])", file.text):
        return None
    column = place.column + anchor.end()
    return Place(place.line, column, place.end_line, place.end_column)


def _written(meant: Json, written: str) -> str:
    """Return how a value is written where another stood, in the same quotes if any."""
    if not isinstance(meant, str):
        plain = written.strip("\"'")
        is_number = not isinstance(meant, bool) and JSON_NUMBER.fullmatch(plain)
        is_whole = is_number and (isinstance(meant, float) or plain.isdigit())
        return plain if is_whole else orjson.dumps(meant).decode()
    if written[:1] == "'":
        return "'" + meant.replace("'", "''") + "'"
    if written[:1] != '"' and _is_plain(meant):
        return meant
    return orjson.dumps(meant).decode()


def _is_plain(text: str) -> bool:
    """Return whether a text needs no quotes anywhere, in brackets too."""
    try:
        return bool(yaml.load(f"[{text}]") == [text])
    except Malformed:
        return False


# -- lists -----------------------------------------------------------------------------


def _list(
    file: YamlText, pointer: Pointer, spot: Spot, value: Json, entry: Json
) -> Fix | None:
    """Make a list of its only entry.

    On the line of its key it is put in brackets; on lines of its own, behind `- `. An
    object's first line is moved to the left for that, so that the others stay.
    """
    place, key = spot.value, spot.key
    written = file.at(place)
    if key is None or written[:1] in ("*", "&", "|", ">", "") or _is_unwritable(value):
        return None
    is_block = isinstance(value, dict) and written[:1] != "{"
    if isinstance(value, dict):
        entry = value  # as the file has it, with its expressions
    before = file.lines[place.line - 1][: place.column - 1]
    if place.line == key.line and not is_block:
        return _in_brackets(file, pointer, place, entry)
    if before.strip(" "):
        return None
    title = "put `- ` before the only entry of the list"
    dash = beginning(place)
    if is_block and place.column - len("- ") < key.column:
        return None
    if is_block:
        start = place.column - len("- ")
        dash = Place(place.line, start, place.line, place.column)
    edits = [Edit(dash, "- ")]
    if not isinstance(value, dict):
        text = _written(entry, written)
        edits += [Edit(place, text)] * (text != written)
    return Fix(title, tuple(edits), pointer, [entry])


def _in_brackets(
    file: YamlText, pointer: Pointer, place: Place, entry: Json
) -> Fix | None:
    written = file.at(place)
    if isinstance(entry, dict):
        edits = (Edit(beginning(place), "["), Edit(ending(place), "]"))
        return Fix("put it in brackets", edits, pointer, [entry])
    is_quoted = written[:1] in ("'", '"')
    text = written if is_quoted and isinstance(entry, str) else _written(entry, written)
    edit = Edit(place, f"[{text}]")
    return Fix(f"write {cut(edit.text)}", (edit,), pointer, [entry])


# -- keys ------------------------------------------------------------------------------


def _key(problem: Problem, file: YamlText) -> Fix | None:
    """Write the key that is meant in place of a misspelled one."""
    pointer, meant = problem.pointer, problem.meant
    spot = file.spots.get(pointer)
    if meant is None or spot is None or spot.key is None:
        return None
    outer = at(file.value, pointer[:-1])
    if meant in outer:
        return None
    written = file.at(spot.key)
    if written.strip("\"'") != pointer[-1]:  # an anchor, an alias, or escapes
        return None
    text = _written(meant, written)
    title = f"write {cut(meant)} in place of {cut(str(pointer[-1]))}"
    edits = (Edit(spot.key, text),)
    return Fix(title, edits, pointer, outer[pointer[-1]], meant)


def _key_in_quotes(problem: Problem, file: YamlText) -> Fix | None:
    """Put a key in quotes that would else be a number, or true, false or null."""
    if problem.place is None:
        return None
    if file.text.startswith(EXPRESSION_START, file.start(problem.place)):
        return _expression(problem, file)
    written = file.at(problem.place)
    if written not in CONSTANTS and not JSON_NUMBER.fullmatch(written):
        return None
    if problem.pointer not in file.spots:
        return None
    value = at(file.value, problem.pointer)
    edits = (Edit(problem.place, f'"{written}"'),)
    return Fix(f"put {cut(written)} in quotes", edits, problem.pointer, value, written)


# -- expressions -----------------------------------------------------------------------


def _expression(problem: Problem, file: YamlText) -> Fix | None:
    """Put a text in quotes that begins with an expression.

    YAML takes the braces for an object, and mostly cannot read on. So all such texts of
    a file have one fix.
    """
    if problem.place is None or len(file.text) > MAX_REREAD:
        return None
    found = _with_quotes(file)
    if found is None or problem.place.line not in found[1]:
        return None
    reading, edits = found
    (first, *others) = edits.values()
    title = f"put {cut(first.text[1:-1])} in quotes"
    if others:
        title = "put texts that begin with {{ in quotes"
    return Fix(title, tuple(edits.values()), (), reading.value)


@lru_cache(maxsize=1)
def _with_quotes(file: YamlText) -> tuple[YamlText, Mapping[int, Edit]] | None:
    """Return a file with quotes around such texts, and the edits by line; None where it
    cannot be read so.

    Each reading shows the faults up to one that hides the rest. Lines without a fault
    stay: a line of a block of text may look the same.
    """
    edits: dict[int, Edit] = {}
    reading = file
    for _ in range(MAX_MENDED_LINES):
        faults = [fault for fault in reading.faults if _is_expression(reading, fault)]
        for fault in faults:
            line = fault.place.line
            edit = _quoted_line(line, file.lines[line - 1])
            if edit is None or line in edits:
                return None
            edits[line] = edit
        if not faults:
            break
        reading = YamlText(file.with_edits(edits.values()))
    if not edits or reading.stop:
        return None
    return reading, edits


def _is_expression(file: YamlText, fault: Malformed) -> bool:
    return fault.rule == "yaml.key" and file.text.startswith(
        EXPRESSION_START, file.start(fault.place)
    )


def _quoted_line(number: int, line: str) -> Edit | None:
    """Return the edit that puts a key's or an entry's text of this line in quotes.

    The text begins with an expression, holds no quotes and ends with the line, or
    before a comment.
    """
    match = _EXPRESSION_LINE.fullmatch(line)
    if match is None:
        return None
    start, end = match.start("text") + 1, match.end("text") + 1
    return Edit(Place(number, start, number, end), f'"{match["text"]}"')


# -- tabs ------------------------------------------------------------------------------


def _tabs(problem: Problem, file: YamlText) -> Fix | None:
    """Indent by spaces where tabs are, if all widths of a tab say the same.

    A tab may be meant as wide as any editor draws it. With most widths the text cannot
    be read at all, or says the same; where two of them say different things, only a
    person knows. All lines of a file have one fix.
    """
    if problem.place is None or len(file.text) > MAX_REREAD:
        return None
    if "\t" not in _indentation(file.lines[problem.place.line - 1]):
        return None
    found = _reading(file)
    if found is None or problem.place.line not in found[1]:
        return None
    reading, changed = found
    edits = tuple(_indentation_edits(file, changed))
    return Fix("indent by spaces in place of tabs", edits, (), reading.value)


@lru_cache(maxsize=1)
def _reading(file: YamlText) -> tuple[YamlText, Mapping[int, str]] | None:
    """Return a file with spaces in place of tabs, and its new indentations by line, of
    the width that fits best; None where widths say different things.

    A width that leaves more faults than others, such as a key that stands twice, is not
    meant. The last file is remembered: each of its lines may be a problem.
    """
    readings = [
        reading
        for width in (_step(file), *TAB_WIDTHS)
        for widen in (_to_stops, _each)
        if (reading := _with_spaces(file, width, widen))
    ]
    if not readings:
        return None
    least = min(len(reading.faults) for reading, _ in readings)
    best = [one for one in readings if len(one[0].faults) == least]
    values = [reading.value for reading, _ in best]
    return best[0] if all(_same(values[0], value) for value in values) else None


Widen = Callable[[str, int], str]
"""Returns an indentation with spaces in place of its tabs, of a width."""


def _to_stops(indentation: str, width: int) -> str:
    """Widen each tab up to the next multiple of a width, as an editor draws it."""
    return indentation.expandtabs(width)


def _each(indentation: str, width: int) -> str:
    """Widen each tab by a width, wherever it stands."""
    return indentation.replace("\t", " " * width)


def _with_spaces(
    file: YamlText, width: int, widen: Widen
) -> tuple[YamlText, Mapping[int, str]] | None:
    """Return the file with spaces in place of tabs, and the new indentations by line;
    None where it cannot be read so.

    Lines that begin with a tab are changed at once: no text of a block can begin so.
    Other lines may be such text, and are changed only once a fault is found there.
    """
    changed: dict[int, str] = {}
    wrong = [
        number
        for number, line in enumerate(file.lines, 1)
        if line.startswith("\t") and line.strip()
    ]
    for _ in range(MAX_MENDED_LINES):
        for number in wrong:
            indentation = _indentation(file.lines[number - 1])
            changed[number] = widen(indentation, width)
        reading = YamlText(file.with_edits(_indentation_edits(file, changed)))
        if reading.stop is None:
            return reading, changed
        line = reading.stop.place.line
        if line in changed or "\t" not in _indentation(file.lines[line - 1]):
            return None
        wrong = [line]
    return None


def _indentation_edits(file: YamlText, changed: Mapping[int, str]) -> Iterator[Edit]:
    """Yield the edits that give lines other indentations, by number."""
    for number, spaces in sorted(changed.items()):
        end = len(_indentation(file.lines[number - 1])) + 1
        yield Edit(Place(number, 1, number, end), spaces)


def _indentation(line: str) -> str:
    """Return what stands before the first key or value of a line, hyphens included."""
    match = _INDENTATION.match(line)
    return match.group() if match else ""


def _step(file: YamlText) -> int:
    """Return how many spaces the file indents by: the fewest that a line begins with."""
    counts = (len(line) - len(line.lstrip(" ")) for line in file.lines if line.strip())
    return min(filter(None, counts), default=TAB_WIDTHS[0])


_EXPRESSION_LINE = re.compile(
    r"""[ ]*(?:-[ ]+)*(?:[\w-]+:[ ]+)?(?P<text>\{\{[^"\\#]*\}\}[^"\\#]*?)[ ]*(?:[ ]\#.*)?"""
)
"""A key or a hyphen, a text that begins with an expression, and perhaps a comment."""

_INDENTATION = re.compile(r"[ \t]*(?:[-?][ \t]+)*")
_ANCHOR = re.compile(r"&([^\s,\[\]{}]+)[ \t]+")

FIXES: Mapping[str, Callable[[Problem, YamlText], Fix | None]] = {
    "schema.additionalProperties": _key,
    "schema.enum": _value,
    "schema.format": _value,
    "schema.fraction": _value,
    "schema.pattern": _value,
    "schema.type": _value,
    "yaml.key": _key_in_quotes,
    "yaml.strict": _tabs,
    "yaml.syntax": _tabs,
}
"""Rule → the function that knows its fix."""
