"""Slips of the keyboard: what YAML reads without a fault, as something else than was
meant.

Each becomes a warning, since each may be meant. They stand in the text alone, not in
the values, so a file's text is looked at when it is read (`tree`). `possible` costs
next to nothing; `slips_in` reads the text a second time, and only where a slip is
possible.

What counts, and why no more than this:

- Curly quotes are how good prose is set: `Macy’s`, `“Fa la la” sing-along`. They are a
  slip around a whole value or key that has no straight quotes, where somebody's word
  processor turned `"` into them; within an address; and behind an equals sign, as in
  `href=”…”`.
- Characters that nobody sees are a slip anywhere: searches and comparisons fail for no
  visible reason. A joiner between two characters beyond ASCII is none, since emoji and
  some scripts need it.
- Spaces that do not break are good prose, too. They are a slip in keys, in addresses
  and codes, and at either end of a value.
- ` #` begins a comment. People put a space behind the sign of a comment, and none into
  `#1` or `#winter`, so text before such a sign was cut off.
- `&x` in front of a value names it, for `*x` elsewhere. Where no `*x` follows, it was
  meant as text.
- `# Fill in what follows` begins every document that `new` writes. Who has done so
  deletes the line; else the examples of the schema would go live.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator

from shopwindow.content.reading.text import YamlText
from shopwindow.content.reading.yaml import CONSTANTS, JSON_NUMBER
from shopwindow.problems import Level, Place, Problem, cut

QUOTES, INVISIBLE = "text.quotes", "text.invisible"
COMMENT, ANCHOR = "text.comment", "text.anchor"
SKELETON = "text.skeleton"

RULES = (QUOTES, INVISIBLE, COMMENT, ANCHOR, SKELETON)
"""The names of these warnings."""

SKELETON_LINE = "Fill in what follows"
"""How the comment of a document begins that nobody has filled in."""

_ALIAS = re.compile(r"(?<![^\s\[{,:])\*([\w-]+)")

_SKELETON = re.compile(f"^# {SKELETON_LINE}.*", re.MULTILINE)

_DOUBLE, _SINGLE = "“”„‟", "‘’‚‛"
_CURLY = _DOUBLE + _SINGLE

_HIDDEN = (
    "\u00ad\u034f\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069"
    "\u3164\ufeff\ufff9-\ufffb"
)
"""Soft hyphens, zero-width spaces, marks and controls of direction, fillers, and byte
order marks within a text.
"""

_JOINERS = "\u200c\u200d"
_SPACES = "\u00a0\u2000-\u200a\u202f\u205f\u3000"
"""Spaces that look like the one of the keyboard, and are another character."""

_UNSEEN = re.compile(
    f"[{_HIDDEN}]|(?<![^\x00-\x7f])[{_JOINERS}]|[{_JOINERS}](?![^\x00-\x7f])"
)
_ODD_SPACE = re.compile(f"[{_SPACES}]")
_SPACE_AT_AN_END = re.compile(f"^[{_SPACES}]|[{_SPACES}]$")
_CODE_OF_CAPITALS = re.compile(r"[A-Z0-9_.:/#@+-]+")
"""A code, or a time of day such as 10AM, once its odd spaces are left out."""

_ENCLOSED = re.compile(f"[{_DOUBLE}][^{_DOUBLE}]*[{_DOUBLE}]|[‘‚‛][^‘‚‛]*[‘’]")
_QUOTED_ADDRESS = re.compile(rf"://\S*[{_CURLY}](?=[\w/])|=[{_CURLY}]")

_NOTABLE = re.compile(f"[{_CURLY}{_HIDDEN}{_JOINERS}{_SPACES}]")

_ODD = re.compile(
    f"{_UNSEEN.pattern}|{_ODD_SPACE.pattern}|{_QUOTED_ADDRESS.pattern}"
    rf"|(?:^|[\[{{,:-])[ \t]*(?:{_ENCLOSED.pattern})[ \t]*(?:$|[\]}},:]|[ \t]\#)",
    re.MULTILINE,
)
"""What a text without a slip of a character rarely has. It is slow beside _NOTABLE,
which most texts do not have at all.
"""

_CUT = re.compile(r"\#(?<=[ \t]\#)(?=[^\s#!=-])(?!shopwindow:)")
"""The sign of a comment between a space and the comment's first character. Commented
lines of signs, such as `#----`, have none.
"""

_CUT_OFF = re.compile(rf"[ \t]+({_CUT.pattern}.*)")
_NAMED = re.compile(r"&(?<![^\s\[{,:]&)[\w-]+")
_NAME_IN_FRONT = re.compile(r"&([\w-]+)(?=\s|$)\s*")


def possible(text: str) -> bool:
    """Return whether a text may hold a slip.

    The texts and patterns that are searched for begin with a character that few texts
    have.
    """
    return (
        ("#" in text and _CUT.search(text) is not None)
        or ("&" in text and _NAMED.search(text) is not None)
        or SKELETON_LINE in text
        or (
            not text.isascii()
            and _NOTABLE.search(text) is not None
            and _ODD.search(text) is not None
        )
    )


def slips_in(path: str, text: str) -> list[Problem]:
    """Return the slips in the text of a YAML file, which has no fault, as warnings."""
    if not possible(text):
        return []
    file = YamlText(text)
    aliases = frozenset(_ALIAS.findall(text))
    around = {pointer[:-1] for pointer in file.spots if pointer}
    problems = list(skeleton(path, text))
    for pointer, spot in file.spots.items():
        slips = list(_in_key(file, spot.key)) if spot.key else []
        if pointer not in around:
            slips += _in_value(file, aliases, spot.value)
        problems += [
            Problem(rule, path, found, place, pointer, allowed, level=Level.WARNING)
            for rule, found, allowed, place in slips
        ]
    return problems


def skeleton(path: str, text: str) -> Iterator[Problem]:
    """Yield a warning where a document is as `new` wrote it, by the line that says so."""
    if match := _SKELETON.search(text):
        line = text.count("\n", 0, match.start()) + 1
        place = Place(line, 1, line, len(match[0].rstrip()) + 1)
        found = "as long as this line is here, the values are the examples of `new`"
        allowed = "values of your own, and then no such line"
        yield Problem(
            SKELETON, path, found, place, allowed=allowed, level=Level.WARNING
        )


_Slip = tuple[str, str, str, Place]
"""The rule, what was found, what is allowed, and the place."""


def _in_key(file: YamlText, place: Place) -> Iterator[_Slip]:
    key = file.at(place)
    yield from _enclosed(key, place, "key")
    yield from _invisible(key, place)
    yield from _odd_space(_ODD_SPACE.search(key), place)


def _in_value(
    file: YamlText, aliases: Collection[str], place: Place
) -> Iterator[_Slip]:
    """Yield the slips of a value that is neither a list nor an object.

    ``aliases``: the names that some `*name` of the text repeats.
    """
    value = file.at(place)
    if match := _NAME_IN_FRONT.match(value):
        name, value = match[1], value[match.end() :]
        if value[:1] in ("[", "{"):
            return
        if name not in aliases:
            found = (
                f"'&{name}' is read as a name for the value, and *{name} stands nowhere"
            )
            allowed = "quotes around text that begins with &"
            yield ANCHOR, f"{found}: {_left(value)}", allowed, place
    is_block = value[:1] in ("|", ">")
    is_plain = (not is_block and value[:1] not in ('"', "'")) or not value
    if is_plain and not (JSON_NUMBER.fullmatch(value) or value in CONSTANTS):
        yield from _cut_off(file, value, place)
    if is_plain:
        yield from _enclosed(value, place, "value")
    if match := _QUOTED_ADDRESS.search(value):
        found = f"a curly quote in {_around(match)}"
        allowed = "straight quotes, \" or '; a curly one in an address as %E2%80%99"
        yield QUOTES, found, allowed, place
    yield from _invisible(value, place)
    inner = value if is_plain else value[1:-1]
    match = None if is_block else _SPACE_AT_AN_END.search(inner)
    if "://" in inner or _CODE_OF_CAPITALS.fullmatch(_ODD_SPACE.sub("", inner)):
        match = match or _ODD_SPACE.search(inner)
    yield from _odd_space(match, place)


def _cut_off(file: YamlText, value: str, place: Place) -> Iterator[_Slip]:
    line = file.lines[place.end_line - 1]
    if match := _CUT_OFF.match(line, place.end_column - 1):
        start, end = match.start(1) + 1, match.end(1) + 1
        found = f"{cut(match[1])!r} is read as a comment: {_left(value)}"
        allowed = "quotes around the whole text; a space behind the # of a comment"
        comment = Place(place.end_line, start, place.end_line, end)
        yield COMMENT, found, allowed, comment


def _enclosed(text: str, place: Place, noun: str) -> Iterator[_Slip]:
    if _ENCLOSED.fullmatch(text):
        found = f"the curly quotes around {cut(text)} are part of the {noun}"
        allowed = (
            "straight quotes, or none; these in straight ones where they are meant"
        )
        yield QUOTES, found, allowed, place


def _invisible(text: str, place: Place) -> Iterator[_Slip]:
    if match := _UNSEEN.search(text):
        found = f"the invisible character {_name(match[0])} in {_around(match)}"
        allowed = "text without it; an escape in double quotes where it is meant"
        yield INVISIBLE, found, allowed, place


def _odd_space(match: re.Match[str] | None, place: Place) -> Iterator[_Slip]:
    if match:
        found = (
            f"the space {_name(match[0])} in {_around(match)}, which looks like another"
        )
        allowed = (
            "the space of the keyboard; an escape in double quotes where it is meant"
        )
        yield INVISIBLE, found, allowed, place


def _left(value: str) -> str:
    if not value:
        return "nothing is left as the value"
    return f"the value is {cut(' '.join(value.split()))!r}"


def _name(character: str) -> str:
    """Return a character as people look it up: `U+200B ZERO WIDTH SPACE`."""
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X} {name}".rstrip()


def _around(match: re.Match[str]) -> str:
    """Return the word around a match, in quotes and with what is invisible escaped."""
    before = match.string[: match.start()].split()
    behind = match.string[match.end() :].split()
    word = "".join((*before[-1:], match[0], *behind[:1]))
    return repr(cut(word))
