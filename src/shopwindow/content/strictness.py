"""Refuses what libyaml reads although YAML 1.2 refuses it, or reads it as something
else.

Each of these is either another value than the editor meant, or a file that the next
YAML reader will not take. `faults` finds them in libyaml's events and in the text. That
costs as much as reading does, so it is called only where `doubtful` sees a hint in the
text, or the reader has met a value of several lines in brackets or quotes.

These differences from YAML 1.2 stay, because nobody could mean another value by them:

- a closing bracket or brace at the indentation of its key, or before it, as many
  formatters write it;
- `key:value` in braces after a quoted key, without a space, which JSON has and YAML 1.2
  admits as well;
- a comment directly behind an alias or a tag: tags are refused, and libyaml refuses the
  alias;
- tabs between a `-` or `?` and what follows on the same line, which libyaml refuses
  where they would indent;
- keys of more than 1,024 characters, and other limits of libyaml's own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from shopwindow.problems import Place, Pointer

YamlFault = tuple[str, str, Place, Pointer]
"""What is found, what is allowed, the place, and the pointer."""

_DIALECT_PATTERNS = (
    # A comment directly behind something.
    ("#", re.compile(r"""\#(?<=[\]}"',|>0-9+-]\#)""")),
    # A key behind a question mark, or text that begins with one.
    ("?", re.compile(r"\?(?<![^\s\[{,:-]\?)")),
    # A hyphen alone, in brackets.
    ("-", re.compile(r"-[,\]}:]")),
    # An anchor or alias, and a character directly behind its name.
    ("&", re.compile(r"&(?<![^\s\[{,:]&)[\w-]+[^\w\s,\]}-]")),
    ("*", re.compile(r"\*(?<![^\s\[{,:]\*)[\w-]+[^\w\s,\]}-]")),
    ("%YAML", re.compile("^%YAML", re.MULTILINE)),
    # A block text that begins with an empty line.
    ("|", re.compile(r"\|[-+0-9]*[ \t]*(?:\#.*)?(?:\r\n|\n|\r)[ ]*(?:\r\n|\n|\r)")),
    (">", re.compile(r">[-+0-9]*[ \t]*(?:\#.*)?(?:\r\n|\n|\r)[ ]*(?:\r\n|\n|\r)")),
)
"""Hints at such faults: a text, and a pattern that begins with it and looks back.

Searched so, they take a tenth of the time of one pattern for all, which would take as
long as libyaml does.
"""

_DIRECTIVE = re.compile(r"^%YAML[ \t]+[0-9.]+(\#)", re.MULTILINE)
_ANCHOR_NAME = re.compile(r"[&*][\w-]+", re.ASCII)
_HEADER = re.compile(r"[|>]([-+0-9]*)(\#)?[^\r\n]*(?:\r\n|\n|\r)?")
_LINE = re.compile(r"([ ]*)([^\r\n]*)(?:\r\n|\n|\r|\Z)")
_YAML_COMMENT = re.compile(r"\#[^\r\n]*")

_COMMENT_WITHOUT_SPACE = (
    "a comment without a space before it",
    "a space before #; text that holds # in quotes",
)
_QUESTION = ("text that begins with ?, in brackets or braces", "such text in quotes")
_HYPHEN = ("a hyphen alone, in brackets or braces", '"-" in quotes')
_ANCHOR_REFUSED = (
    "a character directly behind the name of an anchor or alias",
    "a space behind the name; other text in quotes",
)
_OUTDENTED = (
    "a line within brackets, braces or quotes that is not indented",
    "more spaces than its key has before each line; spaces, not tabs",
)
_LAST_SPACES = (
    "a block text that ends with spaces and no line end",
    "a line end behind the last line of the text",
)
_EMPTY_LINES = (
    "empty lines with more spaces than the text below them",
    "empty lines without spaces",
)


def doubtful(text: str) -> bool:
    """Return whether a text may hold such a fault."""
    return text[-1:] in (" ", "\t") or any(
        hint in text and pattern.search(text) for hint, pattern in _DIALECT_PATTERNS
    )


@dataclass(slots=True)
class _OpenLevel:
    """A list or object that is open.

    ``column``: its indentation, which counts where it is not in brackets. ``key``: of
    an object, the key whose value comes next; of a list, the number of its next item.
    """

    is_object: bool
    in_brackets: bool
    column: int
    key: str | int | None


def faults(text: str, parser: Any, events: Any) -> Iterator[YamlFault]:
    """Yield every such fault in a text that libyaml reads. ``parser``: a new one of
    this text.
    """
    if directive := _DIRECTIVE.search(text):
        before = text[: directive.start(1)]
        line = before.count("\n") + 1
        column = directive.start(1) - (before.rfind("\n") + 1) + 1
        yield *_COMMENT_WITHOUT_SPACE, Place(line, column, line, column + 1), ()
    levels: list[_OpenLevel] = []
    end = None  # where the event before ends
    last: Any = None
    while not isinstance(event := parser.get_event(), events.StreamEndEvent):
        kind = event.__class__
        if kind in (
            events.StreamStartEvent,
            events.DocumentStartEvent,
            events.DocumentEndEvent,
        ):
            continue
        start = event.start_mark
        pointer = tuple(level.key for level in levels if level.key is not None)
        is_end = kind in (events.MappingEndEvent, events.SequenceEndEvent)
        if end is not None and (at := _glued(text, end, start.index)) is not None:
            yield *_COMMENT_WITHOUT_SPACE, _after(text, end, at), pointer
            end = None
        indent = next(
            (level.column for level in reversed(levels) if not level.in_brackets), -1
        )
        in_brackets = bool(levels) and levels[-1].in_brackets
        if in_brackets and not is_end:
            yield from _in_brackets(text, event, events, indent, pointer)
        if kind is events.ScalarEvent or kind is events.AliasEvent:
            yield from _scalar(text, event, events, indent, in_brackets, pointer)
            last = event
            end = event.end_mark
            if kind is events.ScalarEvent and event.style in ("|", ">"):
                end = None  # a comment below may stand anywhere
            _count(
                levels,
                event.value if kind is events.ScalarEvent else f"*{event.anchor}",
            )
        elif is_end:
            in_flow = levels.pop().in_brackets
            end = event.end_mark if in_flow else end
            _count(levels, "")
        else:
            if event.anchor and _character_behind(text, start.index):
                yield *_ANCHOR_REFUSED, _place(start), pointer
            is_object = kind is events.MappingStartEvent
            column = (
                event.end_mark.column
                if event.anchor and not event.flow_style
                else start.column
            )
            levels.append(
                _OpenLevel(
                    is_object, bool(event.flow_style), column, None if is_object else 0
                )
            )
            end = event.end_mark if event.flow_style else end
    if end is not None and (at := _glued(text, end, len(text))) is not None:
        yield *_COMMENT_WITHOUT_SPACE, _after(text, end, at), ()
    if (
        last is not None
        and getattr(last, "style", None) in ("|", ">")
        and _ends_with_spaces(text, last)
    ):
        yield *_LAST_SPACES, _place(last.start_mark), ()


def _count(levels: list[_OpenLevel], value: str) -> None:
    """Note that a value or a key has ended, and go on to what comes next."""
    if not levels:
        return
    level = levels[-1]
    if isinstance(level.key, int) and not level.is_object:
        level.key += 1
    else:
        level.key = value if level.key is None else None


def _glued(text: str, end: Any, start: int) -> int | None:
    """Return where, between two events, a comment begins without a space before it.

    The result counts from ``end``, the end of the first event; None: there is none.
    """
    between = text[end.index : start]
    position = 0
    while comment := _YAML_COMMENT.search(between, position):
        before = between[comment.start() - 1 : comment.start()]
        if (before or text[max(0, end.index - 1) : end.index]) not in (
            " ",
            "\t",
            "\n",
            "\r",
            "\ufeff",
            "",
        ):
            return comment.start()
        position = comment.end()
    return None


def _in_brackets(
    text: str, event: Any, events: Any, indent: int, pointer: Pointer
) -> Iterator[YamlFault]:
    """Yield what is wrong with the start of an item, key or value in brackets or
    braces.
    """
    start = event.start_mark
    begin = start.index
    if text[begin - 1 : begin] == "?" and event.end_mark.index > begin:
        yield *_QUESTION, _place(start, -1), pointer
    is_plain = event.__class__ is events.ScalarEvent and event.implicit[0]
    if is_plain and event.value == "-" and event.anchor is None:
        yield *_HYPHEN, _place(start), pointer
    if event.end_mark.index > begin and not _indented(text, start, indent):
        yield *_OUTDENTED, _place(start), pointer


def _indented(text: str, start: Any, indent: int) -> bool:
    """Return whether something has enough spaces before it, or is not the first of its
    line.
    """
    before = text[start.index - start.column : start.index]
    spaces = len(before) - len(before.lstrip(" "))
    return bool(before.strip(" \t")) or spaces > indent


def _scalar(
    text: str, event: Any, events: Any, indent: int, in_brackets: bool, pointer: Pointer
) -> Iterator[YamlFault]:
    """Yield what is wrong with a text or an alias."""
    start, end = event.start_mark, event.end_mark
    if event.anchor and _character_behind(text, start.index):
        yield *_ANCHOR_REFUSED, _place(start), pointer
    if event.__class__ is not events.ScalarEvent:
        return
    if event.style in ("'", '"') and start.line != end.line:
        for number, line in enumerate(_LINE.finditer(text, start.index, end.index)):
            if number and line[2].strip(" \t") and len(line[1]) <= indent:
                where = start.line + number + 1
                column = len(line[1]) + 1
                yield *_OUTDENTED, Place(where, column, where, column + 1), pointer
                break
    elif event.style in ("|", ">"):
        yield from _block(text, event, indent, pointer)


def _block(text: str, event: Any, indent: int, pointer: Pointer) -> Iterator[YamlFault]:
    """Yield what is wrong with the first lines of a block text."""
    begin = text.find(event.style, event.start_mark.index)
    header = _HEADER.match(text, begin)
    if header is None:
        return
    if header[2]:
        column = (
            event.start_mark.column + (header.start(2) - event.start_mark.index) + 1
        )
        line = event.start_mark.line + 1
        yield *_COMMENT_WITHOUT_SPACE, Place(line, column, line, column + 1), pointer
    if any(character.isdigit() for character in header[1]):
        return
    longest = where = 0
    for number, line in enumerate(_LINE.finditer(text, header.end())):
        if line[2] or line.end() == len(text):
            if line[2] and indent < len(line[1]) < longest:
                yield *_EMPTY_LINES, Place(where, 1, where, longest + 1), pointer
            return
        if len(line[1]) > longest:
            longest, where = len(line[1]), event.start_mark.line + number + 2


def _character_behind(text: str, start: int) -> bool:
    """Return whether a character stands directly behind an anchor's or alias's name.

    YAML 1.2 takes it for a part of the name, and libyaml for the next token.
    """
    name = _ANCHOR_NAME.match(text, start)
    return name is not None and text[name.end() : name.end() + 1] not in (
        "",
        " ",
        "\t",
        "\n",
        "\r",
        ",",
        "]",
        "}",
    )


def _ends_with_spaces(text: str, event: Any) -> bool:
    """Return whether a block text is the last value, and only spaces follow its last
    line end.
    """
    tail = text[max(text.rfind("\n"), text.rfind("\r")) + 1 :]
    return (
        bool(tail)
        and not tail.strip(" \t")
        and event.end_mark.index >= len(text) - len(tail)
    )


def _after(text: str, end: Any, offset: int) -> Place:
    """Return the place that is ``offset`` characters behind a mark."""
    between = text[end.index : end.index + offset]
    lines = between.count("\n")
    column = len(between) - (between.rfind("\n") + 1) + (0 if lines else end.column) + 1
    return Place(end.line + lines + 1, column, end.line + lines + 1, column + 1)


def _place(mark: Any, offset: int = 0) -> Place:
    column = mark.column + 1 + offset
    return Place(mark.line + 1, column, mark.line + 1, column + 1)
