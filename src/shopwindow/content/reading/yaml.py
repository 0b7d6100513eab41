"""Reads one YAML text as a JSON value; what is no scalar of JSON is text.

How this works: libyaml parses the text into events, and `_ValueReader` builds the value
from them. libyaml's tree of nodes would cost twice as much. A first reading keeps no
pointers and no places, and ends at the first fault, because nearly every file is sound.
Only for a text at fault a second reading collects every fault with its pointer. Places
of values are needed even less often; `locate` reads the text again for them.

Anchors and aliases are admitted, within limits: an alias is the very value of its
anchor, so a few lines could otherwise stand for a value of any size.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from shopwindow.content.reading import quotes, syntax
from shopwindow.problems import Place, Pointer, Problem

Json = Any
"""A JSON value: dict, list, str, int, float, bool or None."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

MAX_NESTING = 64
"""Levels of lists and objects, which bound the recursion here and wherever values are
walked.
"""

TOO_DEEP = f"nested more than {MAX_NESTING} levels deep"

MAX_VALUES = 500_000
"""Values of one file, which take three seconds to be read; twenty thousand events have
as many. Larger sets of documents are feeds.
"""

MAX_ALIASED_NODES = 100_000
"""Values that the aliases of one file may stand for. Aliases of aliases multiply: ten
lines of ten aliases each would stand for ten thousand million values.
"""

CHARACTERS_A_NODE = 64
"""Characters of text that count as one more value towards MAX_ALIASED_NODES, so that
aliases of long texts are bounded, too.
"""

JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""A number as JSON writes it (RFC 8259 §6). All other plain text except CONSTANTS stays
text.
"""

JSON_NUMBER_STARTS = frozenset("-0123456789")
CONSTANTS = {"null": None, "true": True, "false": False}

MAX_INTEGER_DIGITS = 18
"""Digits of a whole number: all of 18 digits fit into 64 bits, which is what orjson
encodes.
"""

ENTRY_KEYS = 3
"""Keys of an object that stand in it again, its first one among them, where they are
the next entry of a list. Two may have been copied by mistake.
"""

MAX_FAULTS = 1000
"""Faults that are reported of one file. Once they are mended, the next check reports
the rest.
"""


@dataclass(eq=False)
class Malformed(Exception):
    """A text that cannot be read as one JSON value: its first fault.

    ``rule``: the fault's name, such as yaml.tag. ``found`` and ``allowed``: in an
    editor's words. ``more``: the faults that follow, up to the first that reading
    cannot go beyond. ``value``: what was read despite them; None where reading could
    not go on to the end. What stands in it at the pointers of the faults means nothing.
    """

    rule: str
    found: str
    allowed: str
    place: Place
    pointer: Pointer = ()
    more: "tuple[Malformed, ...]" = ()
    value: Json = None

    def problem(self, path: str) -> Problem:
        """Return it as the problem of a file."""
        return Problem(
            self.rule, path, self.found, self.place, self.pointer, self.allowed
        )


class Spot(NamedTuple):
    """Where a value stands in its file, and its key, where it has one."""

    value: Place
    key: Place | None = None


Marks = dict[Pointer, tuple[Any, ...]]
"""libyaml's marks of where each value starts and ends, and then of its key, if it has
one.
"""


def decode(data: bytes) -> str:
    """Return the text of UTF-8 bytes, without a byte order mark. Raises Malformed."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = syntax.place_after(error.object[: error.start].decode())
        byte = error.object[error.start]
        found = f"the byte 0x{byte:02X} is not UTF-8 text"
        allowed = "text in UTF-8; choose UTF-8 where you save the file"
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            found = "UTF-16 text, not UTF-8"
        elif letter := bytes([byte]).decode("cp1252", "ignore").strip():
            found += f"; in Windows-1252 it is {letter}"
        raise Malformed("yaml.encoding", found, allowed, place) from None
    return text


def load(text: str) -> Json:
    """Return the JSON value of a YAML text. Raises Malformed, with all faults that can
    be met.
    """
    try:
        return _ValueReader(text, thorough=False).document()
    except Malformed as fault:
        if fault.rule == "tree.size":
            raise
        raise _every_fault(text) or fault from None


def _every_fault(text: str) -> Malformed | None:
    """Return the first fault of a text, with its pointer, the faults after it and the
    value.
    """
    reader, value = _ValueReader(text, thorough=True), None
    faults = reader.faults
    try:
        value = reader.document()
    except Malformed as last:
        if last.rule == "yaml.quote":  # what stands behind the quote means nothing
            faults = [one for one in faults if one.place[:2] < last.place[:2]]
        # On the line of the fault before it, it is a consequence of that.
        if not faults or faults[-1].place.line != last.place.line:
            faults.append(last)
    return replace(faults[0], more=tuple(faults[1:]), value=value) if faults else None


def locate(text: str) -> Mapping[Pointer, Spot]:
    """Return where every value of a YAML text stands.

    Raises Malformed at a fault that reading cannot go beyond.
    """
    reader = _ValueReader(text, thorough=True)
    reader.document()
    return _MarkedSpots(reader.marks)


class _MarkedSpots(Mapping[Pointer, Spot]):
    """Where values stand, by libyaml's marks.

    A spot is made when somebody asks for it. Few are asked for, and to make all of them
    takes a third longer.
    """

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def __getitem__(self, pointer: Pointer) -> Spot:
        start, end, *key = self._marks[pointer]
        return Spot(_place(start, end), _place(*key) if key else None)

    def __iter__(self) -> Iterator[Pointer]:
        return iter(self._marks)

    def __len__(self) -> int:
        return len(self._marks)


def spot(spots: Mapping[Pointer, Spot], pointer: Pointer) -> Spot | None:
    """Return where a value stands.

    A value that the text does not hold itself, such as one within an alias, has the
    place of the innermost value around it that the text holds.
    """
    for end in range(len(pointer), -1, -1):
        if pointer[:end] in spots:
            return spots[pointer[:end]]
    return None


def place_at(
    spots: Mapping[Pointer, Spot], pointer: Pointer, *, on_key: bool = False
) -> Place | None:
    """Return the place of a value as `spot` finds it; with ``on_key``, of its key."""
    stated = spot(spots, pointer)
    if stated is None:
        return None
    return stated.key if on_key and stated.key else stated.value


def _place(start: Any, end: Any) -> Place:
    return Place(start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def too_large(number: str) -> tuple[str, str]:
    """Return what was found and what is allowed, of a number that JSON readers refuse."""
    count = len(number)
    shown = number if count <= 24 else f"{number[:20]}… ({count} characters)"
    allowed = f"at most {MAX_INTEGER_DIGITS} digits; text in quotes"
    return f"the number {shown} is too large", allowed


def _tag(event: Any) -> tuple[str, str]:
    name = event.tag.replace("tag:yaml.org,2002:", "!!")
    return f"the tag {name}", "no tags; text that begins with ! in quotes"


@cache
def libyaml() -> tuple[Any, Any, type[Exception]]:
    """Return PyYAML's C parser, its events and its error.

    They are imported here because that takes 14 ms, and a build with nothing to do
    reads no YAML.
    """
    from yaml import YAMLError, _yaml, events

    return _yaml.CParser, events, YAMLError


_AMBIGUOUS_KEYS = frozenset((*CONSTANTS, "<<"))
_MERGE = (
    "the merge key <<, which is not read here",
    "the keys themselves; for applications, `extends`",
)
_ANCHOR_WITH_MORE = re.compile(r"&[\w-]+[^\w\s,\]}-]", re.ASCII)
_ANCHOR = (
    "a character directly behind the name of an anchor",
    "a space behind the name; other text in quotes",
)
_QUESTION = ("text that begins with ?, in brackets or braces", "such text in quotes")
_TEXT_KEY = "text as a key, in quotes"


class _ValueReader:
    """Builds one value from libyaml's events.

    A ``thorough`` reading collects the ``marks`` of each value, and the ``faults`` that
    reading can go beyond. Any other records no pointers, and ends at the first fault.
    """

    def __init__(self, text: str, *, thorough: bool) -> None:
        parser, events, self._error = libyaml()
        if not text.isascii() and _LINE_ENDS.search(text):
            raise unprintable(text)
        self._events = events
        self._text = text
        self._thorough = thorough
        self.marks: Marks = {}
        self.faults: list[Malformed] = []
        # Anchor → its value, how many values that is and how many levels; None while
        # the value is still being read, so that an alias within it is recognized.
        self._anchors: dict[str, tuple[Json, int, int] | None] = {}
        self._count = 0  # of the values so far, aliased ones included
        self._deepest = 0  # the level that was checked against MAX_NESTING
        self._aliased = 0  # of the values that aliases stand for
        self._parser = parser
        self._next = parser(text).get_event
        self._has_long_quotes = False
        self._may_hold_question = "?" in text

    def document(self) -> Json:
        """Return the value of the one document that the text must hold. Raises
        Malformed.
        """
        try:
            return self._document()
        except self._error as error:
            raise self._syntax(error) from None

    def _document(self) -> Json:
        events = self._events
        self._next()  # the stream's start
        first = self._next()
        if isinstance(first, events.StreamEndEvent):
            raise Malformed(
                "yaml.empty",
                "the file holds no document",
                "one document or a list",
                Place(1, 1, 1, 1),
            )
        value = self._node(self._next(), (), (), 0)
        self._next()  # the document's end
        extra = self._next()
        if not isinstance(extra, events.StreamEndEvent):
            raise self._malformed(
                "yaml.second",
                extra,
                "a second document begins here",
                "one document a file, or a list",
            )
        if self._has_long_quotes and (quote := self._open_quote(len(self._text))):
            raise quote
        return value

    def _node(
        self, event: Any, pointer: Pointer, key: tuple[Any, ...], depth: int
    ) -> Json:
        """Return the value that begins with an event. ``key``: the marks of its key, if
        it has one and marks are kept.
        """
        kind = event.__class__
        events = self._events
        self._count += 1
        if self._count - self._aliased > MAX_VALUES:
            found = f"the file holds more than {MAX_VALUES:,} values"
            raise self._malformed(
                "tree.size", event, found, "larger sets as a .jsonl feed"
            )
        if kind is events.AliasEvent:
            value = self._alias(event, pointer, depth)
            if self._thorough:
                self.marks[pointer] = event.start_mark, event.end_mark, *key
            return value
        if event.tag is not None:
            self._report("yaml.tag", event, *_tag(event), pointer)
        anchor, count_before, deepest_outside = event.anchor, self._count, self._deepest
        if anchor is not None:
            self._check_anchor(event, pointer)
            self._anchors[anchor] = None
            self._deepest = depth
        if depth > self._deepest:
            self._check_depth(event, pointer, depth)
        end = event.end_mark
        if kind is events.ScalarEvent:
            value = event.value
            if self._anchors:
                self._count += len(value) // CHARACTERS_A_NODE
            if event.implicit[0]:  # plain: no quotes, no block
                value = self._scalar(value, event, pointer)
            elif end.line != event.start_mark.line and event.style in quotes.STYLES:
                self._has_long_quotes = True  # perhaps up to the next quote
        elif kind is events.MappingStartEvent:
            value, end = self._mapping(pointer, depth)
        else:
            value, end = self._sequence(pointer, depth)
        if self._thorough:
            self.marks[pointer] = event.start_mark, end, *key
        if anchor is not None:
            self._anchors[anchor] = (
                value,
                self._count - count_before + 1,
                self._deepest - depth,
            )
            self._deepest = max(self._deepest, deepest_outside)
        return value

    def _check_anchor(self, event: Any, pointer: Pointer) -> None:
        """Report a value that libyaml begins within the name of an anchor: YAML 1.2
        takes `&b:c` for the anchor `b:c`, and libyaml for the anchor b of the text `:c`.
        """
        if _ANCHOR_WITH_MORE.match(self._text, event.start_mark.index):
            self._report("yaml.strict", event, *_ANCHOR, pointer)

    def _check_depth(self, event: Any, pointer: Pointer, depth: int) -> None:
        if depth > MAX_NESTING:
            raise self._malformed(
                "yaml.depth", event, TOO_DEEP, "fewer levels", pointer[:1]
            )
        self._deepest = depth

    def _mapping(self, pointer: Pointer, depth: int) -> tuple[Json, Any]:
        ending = self._events.MappingEndEvent
        keeps = self._thorough
        following, node = self._next, self._node
        value: dict[str, Json] = {}
        repeated: list[Malformed] = []
        while True:
            key_event = following()
            if key_event.__class__ is ending:
                if len(repeated) >= ENTRY_KEYS:
                    self._unite(repeated, pointer, next(iter(value)))
                return value, key_event.end_mark
            key = self._key(key_event, pointer)
            if key is None:
                self._skip(following(), pointer)
                continue
            if key in value:
                found, below = f"the key {key!r} a second time", (*pointer, key)
                fault = self._report(
                    "yaml.duplicate", key_event, found, "each key once", below
                )
                repeated.append(fault)
            value[key] = node(
                following(),
                (*pointer, key) if keeps else pointer,
                (key_event.start_mark, key_event.end_mark) if keeps else (),
                depth + 1,
            )

    def _unite(
        self, repeated: list[Malformed], pointer: Pointer, first_key: str
    ) -> None:
        """Report keys of an object that stand in it again as one fault, where its first
        key is among them: then the next entry of a list begins there, without its
        hyphen.
        """
        first = repeated[0]
        if first.pointer[-1] != first_key:
            return
        found = f"{first.found}, and {len(repeated) - 1} more keys after it"
        allowed = "each key once; where another entry begins, `- ` before its first key"
        position = self.faults.index(first)
        others = [fault for fault in self.faults[position:] if fault not in repeated]
        united = replace(first, found=found, allowed=allowed, pointer=pointer)
        self.faults[position:] = [united, *others]

    def _sequence(self, pointer: Pointer, depth: int) -> tuple[Json, Any]:
        ending = self._events.SequenceEndEvent
        value: list[Json] = []
        while True:
            event = self._next()
            if event.__class__ is ending:
                return value, event.end_mark
            value.append(
                self._node(
                    event,
                    (*pointer, len(value)) if self._thorough else pointer,
                    (),
                    depth + 1,
                )
            )

    def _key(self, event: Any, pointer: Pointer) -> str | None:
        """Return the text of a key; None where it is no text, and its value is left
        out.
        """
        events = self._events
        if event.__class__ is events.AliasEvent:
            below = (*pointer, f"*{event.anchor}")
            named = self._alias(event, below, 0)
            if isinstance(named, str):
                return named
            found = "the key by alias is not text"
            self._report("yaml.key", event, found, _TEXT_KEY, below)
            return None
        if event.__class__ is not events.ScalarEvent:
            self._report_unusable_key(event, pointer)
            self._skip(event, pointer)
            return None
        key: str = event.value
        start = event.start_mark.index
        # In brackets `?x` is that text in YAML 1.2, and the key x to libyaml.
        if self._may_hold_question and self._text[max(0, start - 1) : start] == "?":
            self._report("yaml.strict", event, *_QUESTION, pointer)
        if event.tag is not None:
            self._report("yaml.tag", event, *_tag(event), (*pointer, key))
        if event.implicit[0] and (
            key in _AMBIGUOUS_KEYS
            or (key[:1] in JSON_NUMBER_STARTS and JSON_NUMBER.fullmatch(key))
        ):
            if key == "<<":
                self._report("yaml.key", event, *_MERGE, pointer)
                return None
            found = f"the key {key} is not text"
            self._report("yaml.key", event, found, _TEXT_KEY, (*pointer, key))
        if event.anchor is not None:
            self._check_anchor(event, (*pointer, key))
            self._anchors[event.anchor] = (key, 1 + len(key) // CHARACTERS_A_NODE, 0)
        elif self._anchors:
            self._count += len(key) // CHARACTERS_A_NODE
        return key

    def _report_unusable_key(self, event: Any, pointer: Pointer) -> None:
        """Report a list or an object as a key.

        Most often it is an expression without quotes: libyaml takes each of its two
        braces for the start of an object, and the inner one for a key.
        """
        start = event.start_mark.index
        is_second_brace = self._text.startswith("{{", start - 1) and start > 0
        if is_second_brace or self._text.startswith("{{", start):
            found = "text that begins with '{{', without quotes"
            allowed = 'quotes around it, as in "{{ base_url }}/logo.png"'
        else:
            found, allowed = "a list or an object as a key", "text as a key"
        self._report("yaml.key", event, found, allowed, pointer, is_second_brace)

    def _skip(self, event: Any, pointer: Pointer) -> None:
        """Read to the end of a node whose value is not needed, whatever is wrong within
        it.
        """
        opening = (self._events.MappingStartEvent, self._events.SequenceStartEvent)
        closing = (self._events.MappingEndEvent, self._events.SequenceEndEvent)
        depth = 0
        while depth := depth + isinstance(event, opening) - isinstance(event, closing):
            if depth > MAX_NESTING:
                self._check_depth(event, pointer, depth)
            event = self._next()

    def _scalar(self, value: str, event: Any, pointer: Pointer) -> Json:
        """Return the value of plain text: a number, a constant, or the text."""
        if value[:1] not in JSON_NUMBER_STARTS:
            return CONSTANTS.get(value, value)
        match = JSON_NUMBER.fullmatch(value)
        if match is None:
            return value
        if match.end(1) == match.end():  # neither a fraction nor an exponent
            if len(value.lstrip("-")) <= MAX_INTEGER_DIGITS:
                return int(value)
        elif abs(number := float(value)) != float("inf"):
            return number
        self._report("yaml.number", event, *too_large(value), pointer)
        return value

    def _alias(self, event: Any, pointer: Pointer, depth: int) -> Json:
        """Return the value that an alias stands for; its own text where there is no
        such anchor.
        """
        if event.anchor not in self._anchors:
            found = f"the alias *{event.anchor} without an anchor before it"
            allowed = f"text that begins with * in quotes; &{event.anchor} first where an alias is meant"
            self._report("yaml.alias", event, found, allowed, pointer)
            return f"*{event.anchor}"
        target = self._anchors[event.anchor]
        if target is None:
            found = f"the alias *{event.anchor} holds itself"
            raise self._malformed(
                "yaml.alias", event, found, "values that end", pointer
            )
        value, size, height = target
        if depth + height > self._deepest:
            self._check_depth(event, pointer, depth + height)
        self._count += size
        self._aliased += size
        if self._aliased > MAX_ALIASED_NODES:
            raise self._malformed(
                "yaml.alias",
                event,
                "aliases that unfold to more and more",
                f"at most {MAX_ALIASED_NODES:,} values by alias",
                pointer,
            )
        return value

    def _report(
        self,
        rule: str,
        event: Any,
        found: str,
        allowed: str,
        pointer: Pointer,
        before: int = 0,
    ) -> Malformed:
        """Add a fault that reading can go beyond, and return it. ``before``: how many
        characters it begins before the event.

        Raises it where the first fault is enough, or MAX_FAULTS are there already.
        """
        fault = self._malformed(rule, event, found, allowed, pointer)
        column = fault.place.column - before
        fault.place = fault.place._replace(column=column)
        if not self._thorough or len(self.faults) == MAX_FAULTS:
            raise fault
        self.faults.append(fault)
        return fault

    def _malformed(
        self, rule: str, event: Any, found: str, allowed: str, pointer: Pointer = ()
    ) -> Malformed:
        place = _place(event.start_mark, event.end_mark)
        return Malformed(rule, found, allowed, place, pointer)

    def _syntax(self, error: Any) -> Malformed:
        if getattr(error, "problem_mark", None) is None:
            # libyaml's character reader raised it: a character that YAML does not
            # admit.
            return unprintable(self._text)
        if error.problem == syntax.TOO_DEEP:
            # libyaml reads ahead, and stands beyond MAX_NESTING.
            place = _place(error.problem_mark, error.problem_mark)
            return Malformed("yaml.depth", TOO_DEEP, "fewer levels", place)
        if (
            error.problem == syntax.NO_VALUE
            and not self._text[error.problem_mark.index :]
        ):
            # A bracket is not closed. With one more value behind it, libyaml says
            # which.
            try:
                _ValueReader(self._text + "\nx", thorough=True).document()
            except Malformed as fault:
                return fault
        if quote := self._open_quote(error.problem_mark.index):
            return quote
        return Malformed("yaml.syntax", *syntax.explain(error, self._text))

    def _open_quote(self, limit: int) -> Malformed | None:
        """Return the fault of a quote before an offset that is not closed, or None."""
        quote = quotes.unclosed(
            self._text, self._parser(self._text), self._error, limit
        )
        return Malformed("yaml.quote", *quote) if quote else None


_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]"
)
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


def unprintable(text: str) -> Malformed:
    """Return the fault for the first character that YAML does not admit (YAML 1.1
    §5.1).

    Line ends that no editor shows as such are not admitted either: YAML 1.2 §5.4 takes
    them for text, and libyaml does not.
    """
    match = _FORBIDDEN.search(text)
    offset = match.start() if match else 0
    found = "a character that YAML does not admit"
    if match:
        found = f"the character U+{ord(match.group()):04X}"
    if match and _LINE_ENDS.match(match.group()):
        found += ", an invisible line end"
    allowed = "printable text; other characters as escapes in double quotes"
    return Malformed(
        "yaml.character", found, allowed, syntax.place_after(text[:offset])
    )


def walked(value: Json, pointer: Pointer = ()) -> Iterator[tuple[Pointer, Json]]:
    """Yield a value and every value in it, each with its pointer."""
    yield pointer, value
    parts: Iterable[tuple[Any, Json]] = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for step, part in parts:
        yield from walked(part, (*pointer, step))


def part(value: Json, pointer: Pointer) -> Json:
    """Return the part of ``value`` that ``pointer`` leads to, or None."""
    try:
        return at(value, pointer)
    except (KeyError, IndexError):
        return None


def at(value: Json, pointer: Pointer) -> Json:
    """Return the part of ``value`` that ``pointer`` leads to. Raises KeyError or
    IndexError.
    """
    for step in pointer:
        if (
            isinstance(value, dict)
            if isinstance(step, str)
            else isinstance(value, list)
        ):
            value = value[step]
        else:
            raise KeyError(step)
    return value
