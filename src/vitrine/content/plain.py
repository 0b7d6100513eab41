"""The YAML that most files are written in, read line by line: in two fifths of the time that libyaml's events take.

Objects and lists in block style, plain and double-quoted text on one line, lists and objects of such in brackets, and
text after `|`, `>`, `|-` and `>-`. Whatever else a file holds, and all that is wrong with it, is left to `yaml`: here
nothing is ever told.
"""

import re
from typing import Any

import orjson

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
WORDS = {"null": None, "true": True, "false": False}
NUMBER_STARTS = frozenset("-0123456789")

_MAX_LENGTH = 15
"""Of a number: what is longer may be too large."""

_MAX_DEPTH = 32
_MAX_TEXT = 1024 * 1024
"""Characters: the lines of a longer text would take much memory at once."""

_KEY = r"[A-Za-z_][A-Za-z0-9_]{0,99}+"
_QUOTED = r'"[^"\\\n]*+"'
_START = r"(?:[A-Za-z0-9]|-[0-9])"
_PLAIN = rf"{_START} [^\n:\#]*+ (?: :[^\s:\#][^\n:\#]*+ )*+ (?<![ ])"
_INNER = rf"{_START} [^\n:\#,?\[\]{{}}]*+ (?: :[^\s:\#,?\[\]{{}}]++ )*+ (?<![ ])"
_ITEM = rf"(?:{_KEY}:[ ])? (?:{_QUOTED}|{_INNER})"
_JSON = rf"(?:{_QUOTED}|-?(?:0|[1-9][0-9]{{0,{_MAX_LENGTH - 2}}}+))"
_ITEMS = re.compile(rf"(?:({_KEY}):[ ])? ({_QUOTED}|{_INNER}) (?:,[ ])?", re.VERBOSE)
_LINE = re.compile(
    rf"""
    [ ]*+ (?:\#[^\n]*+)? \n                                    # nothing, or a comment
    | ([ ]*+) (-[ ])? (?: ({_KEY}) : (?:[ ]|(?=\n)) )?         # where, item, key; then the value:
      (?: ({_PLAIN}) \n
        | ({_QUOTED}) \n
        | (\[{_JSON} (?:,[ ]{_JSON})*+ \]) \n
        | (\[{_ITEM} (?:,[ ]{_ITEM})*+ \] | {{{_ITEM} (?:,[ ]{_ITEM})*+ }}) \n
        | ([|>]-?) \n (\1[ ]++) ([^\n]++ (?:\n\9[^\n]++)*+) \n  # its style, margin and text
        | (\n) )                                               # it is below
    | ([^\n]++)
    """,
    re.VERBOSE,
)
_NOTHING = object()


def load(text: str) -> Any:
    """The object or list that a text says; None where that is not for this module to tell."""
    if text[-1:] != "\n" or len(text) > _MAX_TEXT or not text.replace("\n", "").isprintable():
        return None
    root: Any = None
    frames: list[tuple[int, Any]] = []  # the objects and lists that are open, the outermost first, with their columns
    pending = ""  # the key whose value is on the lines below
    after_block = False
    for indent, dash, key, plain, quoted, listed, flow, style, margin, block, below, other in _LINE.findall(text):
        if not (dash or key):
            if indent or plain or quoted or listed or flow or style or other or after_block:
                return None  # after a block, an empty line or a comment may be part of it
            continue
        column = len(indent)
        if pending or root is None:
            inner: Any = [] if dash else {}
            if root is None:
                root = inner
                if column:
                    return None
            elif column > frames[-1][0] and len(frames) < _MAX_DEPTH:
                frames[-1][1][pending] = inner
                pending = ""
            else:
                return None
            frames.append((column, inner))
        else:
            while frames[-1][0] > column:
                frames.pop()
            inner = frames[-1][1]
            if frames[-1][0] != column or (inner.__class__ is list) != (dash != ""):
                return None
        if dash and key:
            item: dict[str, Any] = {}
            inner.append(item)
            inner = item
            frames.append((column + 2, item))
        if key and (key in inner or key in WORDS):
            return None
        after_block = bool(style)
        if plain:
            value = _scalar(plain)
        elif quoted:
            value = quoted[1:-1]
        elif listed:
            value = orjson.loads(listed)
        elif flow:
            value = _flow(flow)
        elif style and key and not dash:
            value = _block(style, margin, block)
        elif below and key:
            pending = key
            continue
        else:
            return None
        if value is _NOTHING:
            return None
        if key:
            inner[key] = value
        else:
            inner.append(value)
    return None if pending else root


def _scalar(text: str) -> Any:
    """What text without quotes says."""
    if text[0] not in NUMBER_STARTS or (match := NUMBER.fullmatch(text)) is None:
        return WORDS.get(text, text)
    if len(text) > _MAX_LENGTH:
        return _NOTHING
    number = int(text) if match.end(1) == match.end() else float(text)
    return _NOTHING if number in (float("inf"), float("-inf")) else number


def _block(style: str, margin: str, text: str) -> Any:
    """The lines after `|`, `>`, `|-` or `>-`; not where blanks end them, or some that shall be folded are indented."""
    if " \n" in text or text[-1] == " " or (style[0] == ">" and f"\n{margin} " in text):
        return _NOTHING
    return text.replace("\n" + margin, "\n" if style[0] == "|" else " ") + ("" if style[1:] else "\n")


def _flow(text: str) -> Any:
    """A list or an object in brackets, each with at least one item."""
    found = [
        (key, item[1:-1] if item[0] == '"' else _scalar(item)) for key, item in _ITEMS.findall(text, 1, len(text) - 1)
    ]
    if any(item is _NOTHING or (key != "") != (text[0] == "{") or key in WORDS for key, item in found):
        return _NOTHING
    if text[0] == "[":
        return [item for _, item in found]
    value = dict(found)
    return value if len(value) == len(found) else _NOTHING
