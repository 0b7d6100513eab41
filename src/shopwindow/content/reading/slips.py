"""Slips of the keyboard: what YAML reads without a fault, as something else than was
meant.

Each becomes a warning, since each may be meant. They stand in the text alone, not in
the values, so a file's text is looked at when it is read (`tree`). `possible` costs
next to nothing; `slips` reads the text a second time, and only where a slip is
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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from shopwindow.content.reading.yaml import CONSTANTS, JSON_NUMBER, Spot
from shopwindow.problems import Level, Place, Pointer, Problem, cut

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

_END_OF_LINE = re.compile("\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class _Slip:
    """What is wrong at a stretch of the text, in an editor's words."""

    rule: str
    found: str
    allowed: str
    place: Place


def possible(text: str) -> bool:
    """Return whether a text may hold a slip.

    The texts and patterns that are searched for begin with a character that few texts
    have.
    """
    return (
        ("#" in text and _CUT.search(text) is not None)
        or ("&" in text and _NAMED.search(text) is not None)
        or SKELETON_LINE in text
        or (not text.isascii() and _is_odd(text))
    )


def _is_odd(text: str) -> bool:
    return _NOTABLE.search(text) is not None and _ODD.search(text) is not None


def slips(path: str, text: str, spots: Mapping[Pointer, Spot]) -> Iterator[Problem]:
    """Yield the slips of a file as warnings.

    Args:
        path: the file's, which the warnings have.
        text: of the file, which YAML reads without a fault.
        spots: where its values stand, as `yaml.locate` returns it.
    """
    yield from skeleton(path, text)
    written = _Passage(text)
    around = {pointer[:-1] for pointer in spots if pointer}
    for pointer, spot in spots.items():
        found = list(written.of_key(spot.key)) if spot.key else []
        if pointer not in around:
            found += written.of_value(spot.value)
        for slip in found:
            yield Problem(
                slip.rule,
                path,
                slip.found,
                slip.place,
                pointer,
                slip.allowed,
                level=Level.WARNING,
            )


def skeleton(path: str, text: str) -> Iterator[Problem]:
    """Yield a warning where a document is as `new` wrote it, by the line that says so."""
    if match := _SKELETON.search(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Problem(
            SKELETON,
            path,
            "as long as this line is here, the values are the examples of `new`",
            Place(line, 1, line, len(match[0].rstrip()) + 1),
            allowed="values of your own, and then no such line",
            level=Level.WARNING,
        )


class _Passage:
    """The text of a file, by lines and columns."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = _END_OF_LINE.split(text)

    @cached_property
    def _aliases(self) -> frozenset[str]:
        """The names that some `*name` of the text repeats."""
        return frozenset(_ALIAS.findall(self._text))

    def of_key(self, place: Place) -> Iterator[_Slip]:
        key = self._at(place)
        yield from _enclosed(key, place, "key")
        yield from _unseen(key, place)
        if match := _ODD_SPACE.search(key):
            yield _odd_space(match, place)

    def of_value(self, place: Place) -> Iterator[_Slip]:
        """Yield the slips of a value that is neither a list nor an object."""
        value = self._at(place)
        if match := _NAME_IN_FRONT.match(value):
            name, value = match[1], value[match.end() :]
            if value[:1] in ("[", "{"):
                return
            if name not in self._aliases:
                yield _unused_name(name, value, place)
        is_plain = value[:1] not in ('"', "'", "|", ">") or not value
        if is_plain and not (JSON_NUMBER.fullmatch(value) or value in CONSTANTS):
            yield from self._cut_off(value, place)
        if is_plain:
            yield from _enclosed(value, place, "value")
        if match := _QUOTED_ADDRESS.search(value):
            yield _Slip(
                QUOTES,
                f"a curly quote in {_around(match)}",
                "straight quotes, \" or '; a curly one in an address as %E2%80%99",
                place,
            )
        yield from _unseen(value, place)
        is_block = value[:1] in ("|", ">")
        inner = value if is_plain else value[1:-1]
        match = None if is_block else _SPACE_AT_AN_END.search(inner)
        is_address_or_code = "://" in inner or _CODE_OF_CAPITALS.fullmatch(
            _ODD_SPACE.sub("", inner)
        )
        if match is None and is_address_or_code:
            match = _ODD_SPACE.search(inner)
        if match:
            yield _odd_space(match, place)

    def _cut_off(self, value: str, place: Place) -> Iterator[_Slip]:
        line = self._lines[place.end_line - 1]
        match = _CUT_OFF.match(line, place.end_column - 1)
        if match is None:
            return
        left = _left(value)
        yield _Slip(
            COMMENT,
            f"{cut(match[1])!r} is read as a comment: {left}",
            "quotes around the whole text; a space behind the # of a comment",
            Place(place.end_line, match.start(1) + 1, place.end_line, match.end(1) + 1),
        )

    def _at(self, place: Place) -> str:
        lines = self._lines[place.line - 1 : place.end_line]
        lines[-1] = lines[-1][: place.end_column - 1]
        lines[0] = lines[0][place.column - 1 :]
        return "\n".join(lines)


def _enclosed(text: str, place: Place, noun: str) -> Iterator[_Slip]:
    if _ENCLOSED.fullmatch(text):
        found = f"the curly quotes around {cut(text)} are part of the {noun}"
        allowed = (
            "straight quotes, or none; these in straight ones where they are meant"
        )
        yield _Slip(QUOTES, found, allowed, place)


def _unseen(text: str, place: Place) -> Iterator[_Slip]:
    if match := _UNSEEN.search(text):
        yield _Slip(
            INVISIBLE,
            f"the invisible character {_name(match[0])} in {_around(match)}",
            "text without it; an escape in double quotes where it is meant",
            place,
        )


def _odd_space(match: re.Match[str], place: Place) -> _Slip:
    return _Slip(
        INVISIBLE,
        f"the space {_name(match[0])} in {_around(match)}, which looks like another",
        "the space of the keyboard; an escape in double quotes where it is meant",
        place,
    )


def _unused_name(name: str, value: str, place: Place) -> _Slip:
    return _Slip(
        ANCHOR,
        f"'&{name}' is read as a name for the value, and *{name} stands nowhere: "
        f"{_left(value)}",
        "quotes around text that begins with &",
        place,
    )


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
