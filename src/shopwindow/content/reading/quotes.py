"""Finds the quote that an editor forgot to close.

YAML takes everything up to the next quote of that sort for text, often many lines, and
every quote after it for the opposite of what it is. So libyaml stops far below the
mistake, or at the end of the file; or nowhere, where another quote closes the text by
chance. Here its scanner reads the text once more, and each quoted text is looked at in
the order of the file: the first that swallows what looks like lines of YAML was never
closed. That is done only for a text that was refused.
"""

import re
from typing import Any

from shopwindow.content.reading.syntax import place_of
from shopwindow.problems import Place

CLOSING_QUOTE = "a closing quote like the opening one"
_DOUBLED = f"{CLOSING_QUOTE}; a quote within single quotes twice: 'it''s'"

STYLES = ("'", '"')
_ENDLESS = ("found unexpected end of stream", "found unexpected document indicator")
"""What libyaml says of a quoted text that nothing closes."""

_YAML_LINE = re.compile(
    r"""(?:\r\n|\r|\n)([ ]*)          # where a line begins
        (?:-(?:[ ]|(?=[\r\n]))        # an entry of a list, or
        |(?:[\w.$-]+|"[^"\r\n]*"|'[^'\r\n]*')[ ]*:(?=[ \r\n])  # a key
        )""",
    re.VERBOSE,
)
_LINE_START = re.compile(r"[ ]*(?:-[ ]+)*")
_ENDS_VALUE = re.compile(r"[ \t]*(?:[,\]}:\r\n]|$|[ \t]\#)")
_SEPARATOR_BEFORE_QUOTE = re.compile(r"[,:\[{][ ]?$")


OpenQuote = tuple[str, str, Place]
"""A quote that is not closed: what was found, what is allowed, and its place."""


def unclosed(
    text: str, parser: Any, error: type[Exception], limit: int
) -> OpenQuote | None:
    """Return the first quote of a text that is not closed, or None.

    Args:
        text: a whole file that was refused.
        parser: a new one of libyaml's, of this text.
        error: what it raises.
        limit: an offset; quotes from there on are behind the fault that was met, and
            cannot be its cause.
    """
    brackets = 0
    while True:
        try:
            token = parser.get_token()
        except error as fault:
            return _at_end(text, fault, limit)
        if token is None or token.start_mark.index > limit:
            return None
        name = type(token).__name__
        if name.startswith("Flow") and not name.startswith("FlowEntry"):
            brackets += 1 if name.endswith("StartToken") else -1
        if name != "ScalarToken" or token.style not in STYLES:
            continue
        start, end = token.start_mark, token.end_mark
        if start.line != end.line:
            if _holds_lines(text, start, end.index):
                return _quote(start, end.line)
            if not _ENDS_VALUE.match(text, end.index):
                found = f"quoted text that begins here ends in line {end.line + 1}, and something follows it"
                return found, _DOUBLED, place_of(start)
        elif brackets and _opens(text, start.index, end.index):
            return _quote(start)


def _at_end(text: str, fault: Any, limit: int) -> OpenQuote | None:
    """Return the quote whose text the scanner was reading when it stopped, if it was."""
    start, here = fault.context_mark, fault.problem_mark
    if start is None or here is None or start.index > limit:
        return None
    if text[start.index : start.index + 1] not in STYLES:
        return None
    if str(fault.problem) in _ENDLESS or _holds_lines(text, start, here.index):
        return _quote(start)
    return None


def _quote(start: Any, last_line: int = 0) -> OpenQuote:
    found = "quoted text is not closed"
    if last_line > start.line:
        found += f": the next quote is in line {last_line + 1}"
    return found, CLOSING_QUOTE, place_of(start)


def _holds_lines(text: str, start: Any, end: int) -> bool:
    """Return whether a quoted text holds a line of the block around it.

    Such a line has a key or begins an entry, and is indented no further than what
    stands first in the line of the quote.
    """
    first = _LINE_START.match(text, start.index - start.column)
    column = first.end() - first.start() if first else 0
    column = min(column, start.column)
    inner = text[start.index : end]
    return any(len(line[1]) <= column for line in _YAML_LINE.finditer(inner))


def _opens(text: str, start: int, end: int) -> bool:
    """Return whether the quote that ends a text in brackets begins the next one:
    `["a, "b"]`.
    """
    content = text[start + 1 : end - 1]
    return (
        _SEPARATOR_BEFORE_QUOTE.search(content) is not None
        and _ENDS_VALUE.match(text, end) is None
    )
