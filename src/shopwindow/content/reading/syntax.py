"""Explains a text that is no YAML, in an editor's words and where the editor must look.

libyaml reports an error where its reading stops, often lines below the mistake, and in
the words of its grammar. `explain` turns such an error into what was found, what is
allowed, and the place of the mistake. Most of it is tables from libyaml's messages to
ours; functions handle the messages whose place must be searched for in the text.
"""

import re
from typing import Any

from shopwindow.problems import Place

_INDICATORS = frozenset("*&!|>%@`")
"""Characters that no text without quotes may begin with (YAML 1.2 §5.3)."""

TOO_DEEP = "exceeded maximum nesting depth"
NO_VALUE = "did not find expected node content"
_TAB = ("a tab in the indentation", "spaces for indentation")
_IN_QUOTES = "such text in quotes"

_COLON = "mapping values are not allowed in this context"
_NO_KEY = "could not find expected ':'"

_MESSAGES = {
    _COLON: (
        "a colon and a space stand within a text",
        "one `key: value` a line, indented like its neighbors; text that holds a colon and a space in quotes",
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
    "found a tab character that violates indentation": _TAB,
    "found a tab character where an indentation space is expected": _TAB,
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
"""libyaml's message → what was found, what is allowed, at the place that libyaml names.

{char} stands for the character at that place.
"""

_COLON_WITHOUT_SPACE = (
    "a colon without a space after it",
    "`key: value`; text that holds a colon in quotes",
)
_KEY_WITHOUT_COLON = ("a key without a colon", "`key: value`")
_INDENTED_KEY = (
    "a key that is indented further than the one above it",
    "the same indentation for all keys of a block; text that holds a colon and a space in quotes",
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
_SURROGATE_PAIR = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)
_KEY_END = re.compile(":(?:[ \t]|$)")
_INDENTED_FURTHER = re.compile(r"^( *)[^ #\n].*\n\1 +(?=[\w-]+\Z)", re.MULTILINE)
"""The last two lines of a text: of the second only a word, further to the right."""

_KEY_WITHOUT_SPACE = re.compile(
    r"[ ]*+(?:-[ ]+)*+[^:\r\n]+:(?!//)[^ \t\r\n]"
)  # a no-break space does not count
LINE_END = re.compile("\r\n|\r|\n")

_FOLLOWS = (
    "something follows the end of the value",
    "nothing after a closing quote or bracket; a quote within single quotes twice: 'it''s'",
)
"""Something stands behind a complete value, on the same line."""

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
"""libyaml's message → what is said where a line begins that fits nowhere."""

_UNCLOSED = {
    "did not find expected ',' or ']'": ("a list in brackets", "`[a, b]`"),
    "did not find expected ',' or '}'": ("an object in braces", "`{a: 1, b: 2}`"),
}


def explain(error: Any, text: str) -> tuple[str, str, Place]:
    """Return what was found, what is allowed, and the place of the mistake.

    ``error`` is one of libyaml's scanner or parser, for ``text``.
    """
    message, here = str(error.problem), error.problem_mark
    beginning = error.context_mark or here
    char, first = _at(text, here), _at(text, beginning)

    if conflict := _CONFLICT_MARK.search(text):
        return *_CONFLICT, place_after(text[: conflict.start()])
    if "\ufeff" in text[here.index - here.column : here.index + 1]:
        position = text.rindex("\ufeff", 0, here.index + 1)
        return *_SECOND_BOM, place_after(text[:position])

    if message in _UNCLOSED:
        return _unclosed(message, text, here, beginning)
    if message in _MISFITS:
        if _begins_line(text, here):
            return *_MISFITS[message], place_of(here)
        return *_FOLLOWS, place_of(here)

    if message == _NO_KEY:
        return *_words_without_key(text, beginning.index), place_of(beginning)

    if message == _COLON:
        if (start := _line_without_key(text, here)) is not None:
            return *_words_without_key(text, start), place_after(text[:start])
        if key := _INDENTED_FURTHER.search(text, 0, here.index):
            return *_INDENTED_KEY, place_after(text[: key.end()])
    if message in _MESSAGES:
        if pair := _SURROGATE_PAIR.match(text, here.index - 2):
            return _in_halves(pair, here)
        found, allowed = _MESSAGES[message]
        shown = repr(char) if char.strip() else "the end of the line"
        return found.format(char=shown), allowed.format(char=shown), place_of(here)

    if message == "found character that cannot start any token" and char == "\t":
        return *_TAB, place_of(here)
    for character, mark in ((first, beginning), (char, here)):
        if character in _INDICATORS:
            found, allowed = f"a text that begins with {character}", _IN_QUOTES
            if character in "|>":
                allowed = f"the text of a block on the lines below; {_IN_QUOTES}"
            return found, allowed, place_of(mark)
    return f"YAML: {message}", "well-formed YAML", place_of(here)


def _words_without_key(text: str, start: int) -> tuple[str, str]:
    """Return what was found and what is allowed, of a line that should be a key's."""
    if _KEY_WITHOUT_SPACE.match(text, start):
        return _COLON_WITHOUT_SPACE
    return _KEY_WITHOUT_COLON


def _line_without_key(text: str, colon: Any) -> int | None:
    """Return where a line begins that should have been a key's.

    Without a colon, YAML takes such a line and those below it for one text, up to the
    next colon, which is where libyaml stops. Returns None where that text is the value
    of a key, or where the colon stands in its first line.
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
    """Explain two escapes for one character.

    JSON writes a character beyond U+FFFF so (RFC 8259 §7); YAML has one escape for it.
    """
    high, low = int(pair[1], 16) - 0xD800, int(pair[2], 16) - 0xDC00
    code = 0x10000 + high * 0x400 + low
    found = "an escape in two halves, which only JSON has"
    return found, f"the character itself, or \\U{code:08X}", place_of(here)


def _unclosed(
    message: str, text: str, here: Any, beginning: Any
) -> tuple[str, str, Place]:
    """Explain a list in brackets or an object in braces that does not end."""
    value, allowed = _UNCLOSED[message]
    char, before = _at(text, here), text[here.index - 1 : here.index]
    if char and char in "[{" and not before.isspace() and before not in "\"'}],:":
        found = f"a text with {char} in it, within brackets or braces"
        return found, _IN_QUOTES, place_of(here)
    if here.line == beginning.line:
        found = f"{value} goes on without a comma, or is not closed"
        return found, allowed, place_of(here)
    return f"{value} is not closed", allowed, place_of(beginning)


def _at(text: str, mark: Any) -> str:
    return text[mark.index : mark.index + 1]


def _begins_line(text: str, mark: Any) -> bool:
    before = text[max(0, mark.index - mark.column) : mark.index]
    return not before.strip(" -?")


def place_of(mark: Any) -> Place:
    """Return the place of the character at a mark of libyaml's."""
    return Place(mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 2)


def place_after(text: str) -> Place:
    """Return the place of the character that follows a text."""
    lines = LINE_END.split(text)
    line, column = len(lines), len(lines[-1]) + 1
    return Place(line, column, line, column + 1)
