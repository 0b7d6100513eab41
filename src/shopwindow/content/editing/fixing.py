"""The fix of a problem: the few characters to change, where nobody could mean another.

How this works: `fix` looks up the rule that was broken in FIXES. The function there
gets the problem and the text of its file, and returns a Fix, or None where there is a
doubt. Any other rule says itself which value is certainly meant (`meant`); how to write
it here follows from how the file is written.

A Fix says not only which characters change, but also what the file says afterwards. So
`fixed` can read the new text again and compare: YAML that is written in a way not
foreseen here is refused, and never changed by mistake. Whether the problem is gone, and
no other has come, only a check can tell (`mending`).
"""

import re
from collections.abc import Callable, Mapping, Sequence

from shopwindow.content.documents.expressions import EXPRESSION_START, begins_in
from shopwindow.content.editing.rereading import expression, same_value, tabs
from shopwindow.content.reading.scalars import quoted, scalar
from shopwindow.content.reading.text import (
    Edit,
    Fix,
    Overlapping,
    YamlText,
    beginning,
    ending,
)
from shopwindow.content.reading.yaml import (
    CONSTANTS,
    JSON_NUMBER,
    Json,
    Malformed,
    Spot,
    at,
)
from shopwindow.problems import Place, Pointer, Problem, cut


def fix(problem: Problem, file: YamlText) -> Fix | None:
    """Return the fix of a problem that is certain, or None.

    ``file`` is the text of the file that the problem is in, as it was checked.
    """
    fixing = FIXES.get(problem.rule, _value)
    if problem.place is None or problem.path.endswith(".jsonl"):
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
    return text if same_value(outcome, meant) else None


def _with(value: Json, pointer: Pointer, fix: Fix) -> Json:
    """Return a value with what a fix puts at a pointer within it."""
    step, *further = pointer
    if isinstance(value, list):
        number = int(step)
        after = _with(value[number], tuple(further), fix) if further else fix.value
        return [*value[:number], after, *value[number + 1 :]]

    after = _with(value[step], tuple(further), fix) if further else fix.value
    name = step if further else fix.key or step
    return {
        name if key == step else key: after if key == step else item
        for key, item in value.items()
    }


# -- values ----------------------------------------------------------------------------


def _value(problem: Problem, file: YamlText) -> Fix | None:
    """Write the value that is meant in place of the one that is refused."""
    pointer, meant = problem.pointer, problem.meant
    if meant is None:
        return None
    spot = file.spots.get(pointer)
    if spot is None:  # what an alias repeats has no place of its own
        return None
    value = at(file.value, pointer)
    if isinstance(meant, list):
        return _list(file, pointer, spot, value, meant[0])
    place = _behind_anchor(file, spot.value)
    # An expression stands for what it gives.
    if place is None or isinstance(value, dict | list) or begins_in(value):
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
    return place._replace(column=place.column + anchor.end())


def _written(meant: Json, written: str) -> str:
    """Return how a value is written where another stood, in the same quotes if any."""
    if not isinstance(meant, str):
        plain = written.strip("\"'")
        is_number = not isinstance(meant, bool) and JSON_NUMBER.fullmatch(plain)
        is_whole = is_number and (isinstance(meant, float) or plain.isdigit())
        return plain if is_whole else quoted(meant)
    if written[:1] == "'":
        return "'" + meant.replace("'", "''") + "'"
    return quoted(meant) if written[:1] == '"' else scalar(meant, in_brackets=True)


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
    if key is None or written[:1] in ("*", "&", "|", ">", "") or begins_in(value):
        return None
    is_block = isinstance(value, dict) and written[:1] != "{"
    if isinstance(value, dict):
        entry = value  # as the file has it, with its expressions
    before = file.lines[place.line - 1][: place.column - 1]
    if place.line == key.line and not is_block:
        return _in_brackets(file, pointer, place, entry)
    if before.strip(" "):
        return None
    dash = beginning(place)
    if is_block:
        dash = dash._replace(column=place.column - len("- "))
        if dash.column < key.column:
            return None
    edits = [Edit(dash, "- ")]
    if not isinstance(value, dict):
        text = _written(entry, written)
        edits += [Edit(place, text)] * (text != written)
    title = "put `- ` before the only entry of the list"
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
        return expression(problem, file)
    written = file.at(problem.place)
    if written not in CONSTANTS and not JSON_NUMBER.fullmatch(written):
        return None
    if problem.pointer not in file.spots:
        return None
    value = at(file.value, problem.pointer)
    edits = (Edit(problem.place, f'"{written}"'),)
    return Fix(f"put {cut(written)} in quotes", edits, problem.pointer, value, written)


_ANCHOR = re.compile(r"&([^\s,\[\]{}]+)[ \t]+")

FIXES: Mapping[str, Callable[[Problem, YamlText], Fix | None]] = {
    "schema.additionalProperties": _key,
    "yaml.key": _key_in_quotes,
    "yaml.strict": tabs,
    "yaml.syntax": tabs,
}
"""Rule → the function that knows its fix, where that is not the value that is meant."""
