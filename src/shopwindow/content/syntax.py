"""What libyaml says of a text that is no YAML, in an editor's words and at the place
where the editor must look.
"""

import re
from typing import Any

from shopwindow.problems import Place

# What may begin no text without quotes: alias, anchor, tag, block, directive.
_INDICATORS = frozenset("*&!|>%@`")

NO_VALUE = "did not find expected node content"
_INDENTED = "spaces for indentation"
_IN_QUOTES = "such text in quotes"

_COLON = "mapping values are not allowed in this context"
_NO_KEY = "could not find expected ':'"

# libyaml's problem → what was found, what is allowed. {char} stands at the place.
_PLACED_MESSAGES = {
    _COLON: (
        "a colon and a space stand within a text",
        "one `key: value` a line, indented like its neighbours; text that holds a colon and a space in quotes",
    ),
    "mapping keys are not allowed in this context": (
        "a text that begins with ?",
        _IN_QUOTES,
    ),
    "block sequence entries are not allowed in this context": (
        "a list entry stands where no list can be",
        "the first `- ` on a line of its own below its key; text that begins with a hyphen and a space in quotes",
    ),
    "found unexpected ':'": (
        "a colon without a space, within brackets or braces",
        "`key: value`; text that holds a colon in quotes",
    ),
    NO_VALUE: (
        "a value is missing before {char}",
        "a value; text with {char} in quotes",
    ),
    "found a tab character that violates indentation": (
        "a tab in the indentation",
        _INDENTED,
    ),
    "found a tab character where an indentation space is expected": (
        "a tab in the indentation",
        _INDENTED,
    ),
    "found unknown escape character": (
        "a backslash in double quotes before a character that needs none",
        "two backslashes for one; or single quotes, in which a backslash is only itself",
    ),
    "did not find expected hexdecimal number": (
        "an escape without its hexadecimal digits",
        "\\x and two digits, \\u and four, \\U and eight; two backslashes for one",
    ),
    "found invalid Unicode character escape code": (
        "an escape that is no character (a lone surrogate)",
        "the character itself, or \\U and its eight digits",
    ),
}

# The same where what is told began earlier, and is to be looked at there.
_WHERE_IT_BEGAN = {
    _NO_KEY: ("a key without a colon", "`key: value`"),
    "found unexpected end of stream": (
        "quoted text is not closed",
        "a closing quote like the opening one",
    ),
    "found unexpected document indicator": (
        "quoted text is not closed",
        "a closing quote like the opening one",
    ),
}

_COLON_WITHOUT_SPACE = (
    "a colon without a space after it",
    "`key: value`; text that holds a colon in quotes",
)
_LATE_END = (
    "a closing quote like the opening one; a quote within single quotes twice: 'it''s'"
)
_CONFLICT = (
    "a mark of git's: two versions of these lines are in conflict",
    "one of them, without the lines that begin with <<<<<<<, ======= and >>>>>>>",
)
_SECOND_BOM = (
    "a byte order mark (U+FEFF), which no editor shows",
    "none, or one at the beginning of the file",
)

_CONFLICT_MARK = re.compile("^<{7} ", re.MULTILINE)
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_KEY_END = re.compile(":(?:[ \t]|$)")
_KEY_WITHOUT_SPACE = re.compile(
    r"[ ]*(?:-[ ]+)*+[^:\r\n]+:(?!//)[^ \t\r\n]"
)  # a no-break space does not count
LINE_END = re.compile("\r\n|\r|\n")

# What follows on the same line as something whole, and what begins a line that fits
# nowhere.
_FOLLOWS = (
    "something follows the end of the value",
    "nothing after a closing quote or bracket; a quote within single quotes twice: 'it''s'",
)
_MISFITS = {
    "did not find expected key": (
        "this line does not fit into the block around it",
        "the same indentation for all keys of a block",
    ),
    "did not find expected '-' indicator": (
        "this line does not fit into the list around it",
        "each entry of a list begins with `- ` at the same indentation",
    ),
    "did not find expected <document start>": (
        "this line does not belong to the document above it",
        "one document a file, its keys at the same indentation",
    ),
}
_UNCLOSED = {
    "did not find expected ',' or ']'": ("a list in brackets", "`[a, b]`"),
    "did not find expected ',' or '}'": ("an object in braces", "`{a: 1, b: 2}`"),
}


def explain(error: Any, text: str) -> tuple[str, str, Place]:
    """What was found, what is allowed, and where, for an error of libyaml's scanner or
    parser.
    """
    said, here = str(error.problem), error.problem_mark
    began = error.context_mark or here
    char, first = _at(text, here), _at(text, began)
    if conflict := _CONFLICT_MARK.search(text):
        return *_CONFLICT, place_after(text[: conflict.start()])
    if "\ufeff" in text[here.index - here.column : here.index + 1]:
        return *_SECOND_BOM, place_after(
            text[: text.rindex("\ufeff", 0, here.index + 1)]
        )
    if said in _UNCLOSED:
        return _unclosed(said, here, began)
    if said in _MISFITS:
        return (
            (*_MISFITS[said], _place(here))
            if _begins_line(text, here)
            else _follows(text, here)
        )
    if said in _WHERE_IT_BEGAN:
        words = (
            _COLON_WITHOUT_SPACE
            if said == _NO_KEY and _KEY_WITHOUT_SPACE.match(text, began.index)
            else _WHERE_IT_BEGAN[said]
        )
        return *words, _place(began)
    if said in _PLACED_MESSAGES:
        found, allowed = _PLACED_MESSAGES[said]
        if said == _COLON and (start := _line_without_key(text, here)) is not None:
            words = (
                _COLON_WITHOUT_SPACE
                if _KEY_WITHOUT_SPACE.match(text, start)
                else _WHERE_IT_BEGAN[_NO_KEY]
            )
            return *words, place_after(text[:start])
        if pair := _PAIR.match(text, here.index - 2):
            return _in_halves(pair, here)
        shown = repr(char) if char.strip() else "the end of the line"
        return found.format(char=shown), allowed.format(char=shown), _place(here)
    if said == "found character that cannot start any token" and char == "\t":
        return "a tab in the indentation", _INDENTED, _place(here)
    for sign, mark in ((first, began), (char, here)):
        if sign in _INDICATORS:
            block = "the text of a block on the lines below; " * (sign in "|>")
            return f"a text that begins with {sign}", block + _IN_QUOTES, _place(mark)
    return f"YAML: {said}", "well-formed YAML", _place(here)


def _follows(text: str, here: Any) -> tuple[str, str, Place]:
    """What is said of something behind a value; of quotes that are closed on another
    line, where they begin.
    """
    before = text[: here.index].rstrip(" ")
    quote, start = before[-1:], len(before) - 1
    while quote in ("'", '"') and (start := before.rfind(quote, 0, start)) >= 0:
        if quote == "'" and before[start - 1 : start] == quote:
            start -= 1  # twice: a quote within
        elif before[start - 1 : start] != "\\" or quote == "'":
            place = place_after(before[:start])
            if place.line == here.line + 1:
                break
            return (
                f"quoted text that begins here ends in line {here.line + 1}, and something follows it",
                _LATE_END,
                place,
            )
    return *_FOLLOWS, _place(here)


def _line_without_key(text: str, colon: Any) -> int | None:
    """Where the line begins that should have been a key's, and has made one text with
    what is before a colon.

    None where that text is the value of a key, or the colon is in its first line.
    """
    lines = text[: colon.index].splitlines(keepends=True)
    first = number = len(lines) - 1
    while number and not lines[first].lstrip(" ").startswith("- "):
        number -= 1
        line = lines[number].strip()
        if not line:
            continue
        if line[0] == "#" or line[-1] == ":":
            break
        if _KEY_END.search(line):
            return None
        first = number
    if first == len(lines) - 1:
        return None
    start = sum(map(len, lines[:first]))
    return start + len(lines[first]) - len(lines[first].lstrip(" -"))


def _in_halves(pair: re.Match[str], here: Any) -> tuple[str, str, Place]:
    """JSON writes a character beyond U+FFFF as two escapes; YAML has one."""
    whole = 0x10000 + (int(pair[1], 16) - 0xD800) * 0x400 + int(pair[2], 16) - 0xDC00
    return (
        "an escape in two halves, which only JSON has",
        f"the character itself, or \\U{whole:08X}",
        _place(here),
    )


def _unclosed(said: str, here: Any, began: Any) -> tuple[str, str, Place]:
    what, allowed = _UNCLOSED[said]
    if here.line == began.line:
        return (
            f"{what} goes on without a comma, or is not closed",
            allowed,
            _place(here),
        )
    return f"{what} is not closed", allowed, _place(began)


def _at(text: str, mark: Any) -> str:
    return text[mark.index : mark.index + 1]


def _begins_line(text: str, mark: Any) -> bool:
    before = text[max(0, mark.index - mark.column) : mark.index]
    return not before.strip(" -?")


def _place(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 2)


def place_after(text: str) -> Place:
    """The place of what follows a text."""
    lines = LINE_END.split(text)
    line, column = len(lines), len(lines[-1]) + 1
    return Place(line, column, line, column + 1)
