"""What an editor certainly meant where a schema refuses what is written.

A message may guess; here is only what nobody could mean in another way. Every function
returns None where there is a doubt. `check --fix` writes these values without a
question (`fixing`).
"""

import re
from collections.abc import Iterable
from datetime import date

from shopwindow.content.explaining import matcher
from shopwindow.content.shape import Shape
from shopwindow.content.yaml import JSON_NUMBER, MAX_INTEGER_DIGITS, Json

SHORTEST_KEY = 3
"""Letters of a key that may have one letter wrong: of two letters, one wrong leaves
little to recognize.
"""

_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")

_WRITTEN_DAY = re.compile(
    r"""(?P<first>[0-9]{1,4})(?P<sign>[./-])(?P<second>[0-9]{1,2})(?P=sign)(?P<third>[0-9]{1,4})
        (?:[ ]+(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})[ ]*(?P<half>[AaPp][Mm])?)?""",
    re.VERBOSE,
)
"""Three numbers, and perhaps a time on the clock of 12 or 24 hours."""

_SEVERAL = re.compile("[,;\r\n]")
"""What a person may have written between several entries of a list."""

_JSON_TYPES: tuple[tuple[type, tuple[str, ...]], ...] = (
    (bool, ("boolean",)),  # before int, of which bool is one
    (int, ("integer", "number")),
    (float, ("number",)),
    (str, ("string",)),
    (dict, ("object",)),
    (list, ("array",)),
)


def fits(text: str, place: Shape | None) -> bool:
    """Return whether a text has the form that a place wants, as far as that can be
    decided.
    """
    if place is None:
        return True
    choices, pattern = place.keyword("enum"), place.keyword("pattern")
    form = place.keyword("format")
    if form is not None and not (form == "date" and _DAY.fullmatch(text)):
        return False
    if choices and text not in choices:
        return False
    return not pattern or bool(matcher(pattern)(text))


def of_type(wanted: str, value: Json, written: str | None, place: Shape | None) -> Json:
    """Return the value of another type that is meant by one of the wrong type.

    Args:
        wanted: the JSON type that the schema wants.
        value: what the file says instead.
        written: a number as its file has it, such as 5.10.
        place: of the value in the schema.
    """
    if wanted == "string":
        return _text(value, written, place)
    if wanted == "array":
        several = place is None or (place.keyword("minItems") or 0) > 1
        entry = None if several else _entry(value, written, place and place.items)
        return None if entry is None else [entry]
    if not isinstance(value, str):
        return None
    if wanted == "boolean":
        return {"true": True, "false": False}.get(value.lower())
    is_short = len(value) <= MAX_INTEGER_DIGITS and JSON_NUMBER.fullmatch(value)
    if wanted == "integer" and is_short and value.lstrip("-").isdigit():
        return int(value)
    return float(value) if wanted == "number" and is_short else None


def _text(value: Json, written: str | None, place: Shape | None) -> str | None:
    """Return the text that is meant by a number, or by true or false.

    As a text, truth may be true or TRUE (wire shapes §3). Which it is, only a schema
    can tell that admits one of them.
    """
    if isinstance(value, bool):
        text = str(value).lower()
        admitted = [form for form in (text, text.upper()) if fits(form, place)]
        return admitted[0] if len(admitted) == 1 else None
    if isinstance(value, int | float) and written and fits(written, place):
        return written
    return None


def _entry(value: Json, written: str | None, items: Shape | None) -> Json:
    """Return the only entry of a list for which a value was written."""
    if items is None or value in ("", {}, []):
        return None
    if isinstance(value, dict):
        names = items.properties
        is_entry = set(items.required) <= set(value) <= set(names)
        return value if items.type == "object" and is_entry else None
    if items.type == "string" and isinstance(value, str):
        return value if fits(value, items) and not _SEVERAL.search(value) else None
    if items.type == "string":
        return _text(value, written, items)
    return value if items.keyword("type") and may_hold(items, value) else None


def may_hold(place: Shape | None, value: Json) -> bool:
    """Return whether a value has a type that a place of a schema admits."""
    named = place.keyword("type") if place else None
    if named is None:
        return True
    admitted = named if isinstance(named, list) else [named]
    names = next((names for kind, names in _JSON_TYPES if isinstance(value, kind)), ())
    return any(name in admitted for name in names)


def choice(value: Json, choices: Iterable[Json]) -> str | None:
    """Return the one allowed text that differs from a value in the case of its letters
    alone.
    """
    text = str(value).casefold()
    alike = [c for c in choices if isinstance(c, str) and c.casefold() == text]
    return alike[0] if len(alike) == 1 else None


def key(word: str, names: Iterable[str]) -> str | None:
    """Return the one name that a misspelled key stands for.

    One letter is inserted, left out or replaced, two neighbors are swapped, or the case
    of letters differs. Where two names are so near, neither is certain.
    """
    alike = [name for name in names if _is_one_letter_off(word, name)]
    return alike[0] if len(alike) == 1 else None


def _is_one_letter_off(word: str, name: str) -> bool:
    if word.casefold() == name.casefold():
        return True
    if min(len(word), len(name)) < SHORTEST_KEY:
        return False
    same = 0
    for one, other in zip(word, name, strict=False):
        if one != other:
            break
        same += 1
    rest, wanted = word[same:], name[same:]
    return (
        rest[1:] == wanted  # inserted
        or rest == wanted[1:]  # left out
        or rest[1:] == wanted[1:]  # replaced
        or (rest[:2] == wanted[1::-1] and rest[2:] == wanted[2:])  # swapped
    )


def day(text: str) -> str | None:
    """Return a day, or a day and a time, as YYYY-MM-DD HH:MM.

    The year has four digits, and stands first or last. Where it stands last, day and
    month must not be taken for one another: one is more than 12, or they are the same.
    """
    match = _WRITTEN_DAY.fullmatch(text.strip())
    if match is None:
        return None
    first, second, third = match["first"], match["second"], match["third"]
    if len(first) == 4 and len(third) <= 2:
        orders = {(first, second, third)}
    elif len(third) == 4 and len(first) <= 2:
        orders = {(third, second, first), (third, first, second)}
    else:
        return None
    days = {day for order in orders if (day := _day(*map(int, order)))}
    if len(days) != 1:
        return None
    (only,) = days
    if match["hour"] is None:
        return only
    time = _time(int(match["hour"]), match["minute"], match["half"] or "")
    return f"{only} {time}" if time else None


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def _time(hour: int, minute: str, half: str) -> str | None:
    """Return a time of day on the clock of 24 hours. ``half``: AM, PM or nothing."""
    if half and not 1 <= hour <= 12:
        return None
    if half:
        hour = hour % 12 + 12 * (half.upper() == "PM")
    return f"{hour:02}:{minute}" if hour < 24 and minute < "60" else None
