"""One YAML or JSON-lines text read as JSON: only JSON's scalars are resolved, everything else
is text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from shopwindow.content import strictness, syntax
from shopwindow.problems import Place, Pointer

Json = Any
"""A JSON value: dict, list, str, int, float, bool or None."""

MAX_NESTING = 64
MAX_ALIASED_NODES = 100_000
TEXT_NODE = 64
"""So many characters of text weigh as much as one more value, where aliases multiply them."""

JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""A number as JSON writes it (RFC 8259 §6); all other plain text but WORDS stays text."""

JSON_NUMBER_STARTS = frozenset("-0123456789")
CONSTANTS = {"null": None, "true": True, "false": False}

MAX_INTEGER_DIGITS = 18
MAX_FAULTS = 1000
"""So many faults of one file are told, and those that follow when they are mended."""


@dataclass(eq=False)
class Malformed(Exception):
    """A text that cannot be read as one JSON value: the first fault.

    ``more``: those that follow, up to one that reading cannot go beyond. ``value``: what was
    read all the same, where there is none such; nothing follows from what stands at the
    pointers of the faults.
    """

    rule: str
    found: str
    allowed: str
    place: Place
    pointer: Pointer = ()
    more: "tuple[Malformed, ...]" = ()
    value: Json = None


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a value stands in its file, and its key, where it has one."""

    value: Place
    key: Place | None = None


KeepPlace = Callable[[Pointer, Any, Any], None]


def decode(data: bytes) -> str:
    """UTF-8 bytes → text, without a byte order mark. Raises Malformed."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = syntax.place_after(error.object[: error.start].decode())
        found = f"the byte 0x{error.object[error.start]:02X} is not UTF-8 text"
        raise Malformed("yaml.encoding", found, "a text file in UTF-8", place) from None
    return text


def load(text: str) -> Json:
    """The JSON value of a YAML text. Raises Malformed at the first fault."""
    try:
        return _ValueReader(text, None).document()
    except Malformed as fault:
        raise _every_fault(text) or fault from None


def _every_fault(text: str) -> Malformed | None:
    """The first fault of a text, with its pointer, those that follow it, and the value."""
    found: list[Malformed] = []
    value = None
    try:
        value = _ValueReader(text, lambda pointer, key, value: None, found).document()
    except Malformed as last:
        if (
            not found or found[-1].place.line != last.place.line
        ):  # else it comes of the one before
            found.append(last)
    return replace(found[0], more=tuple(found[1:]), value=value) if found else None


def locate(text: str) -> dict[Pointer, Spot]:
    """Where every value of a YAML text stands. Raises Malformed at a fault that reading cannot
    go beyond.
    """
    spots: dict[Pointer, Spot] = {}

    def record(pointer: Pointer, key: Any, value: tuple[Any, Any]) -> None:
        spots[pointer] = Spot(
            _place(*value), _place(key.start_mark, key.end_mark) if key else None
        )

    _ValueReader(text, record, []).document()
    return spots


def spot(spots: Mapping[Pointer, Spot], pointer: Pointer) -> Spot | None:
    """Where a value stands; if it is none that the text has, as within an alias, where that
    stands which it is in.
    """
    return next(
        (spots[pointer[:end]] for end in range(len(pointer), -1, -1) if pointer[:end] in spots),
        None,
    )


def _place(start: Any, end: Any) -> Place:
    return Place(start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def _tag(event: Any) -> tuple[str, str]:
    name = event.tag.replace("tag:yaml.org,2002:", "!!")
    return f"the tag {name}", "no tags; text that begins with ! in quotes"


@cache
def libyaml() -> tuple[Any, Any, type[Exception]]:
    """PyYAML's C parser, its events and its error: 14 ms to import, which a build with nothing
    to do never needs.
    """
    from yaml import YAMLError, _yaml, events

    return _yaml.CParser, events, YAMLError


_NO_KEYS = frozenset((*CONSTANTS, "<<"))
_MERGE = (
    "the merge key <<, which is not read here",
    "the keys themselves; for applications, `extends`",
)
_QUOTED_STYLES = ("'", '"')
_TEXT_KEY = "text as a key, in quotes"


class _ValueReader:
    """Builds one value from libyaml's events; its node tree would cost twice as much.

    ``faults``: where to put those that reading can go beyond; without it, it ends at the first.
    """

    def __init__(
        self, text: str, record: KeepPlace | None, faults: list[Malformed] | None = None
    ) -> None:
        parser, events, self._error = libyaml()
        if not text.isascii() and _LINE_ENDS.search(text):
            raise unprintable(text)
        self._events = events
        self._text = text
        self._record = record
        self._faults = faults
        self._anchors: dict[str, tuple[Json, int, int] | None] = {}
        self._count = 0
        self._deepest = 0
        self._aliased = 0
        self._parser = parser
        self._next = parser(text).get_event
        self._doubtful = strictness.doubtful(text)

    def document(self) -> Json:
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
        value = self._node(self._next(), (), None, 0)
        self._next()  # the document's end
        extra = self._next()
        if not isinstance(extra, events.StreamEndEvent):
            raise self._malformed(
                "yaml.second",
                extra,
                "a second document begins here",
                "one document a file, or a list",
            )
        if self._doubtful:
            for found, allowed, place, pointer in strictness.faults(
                self._text, self._parser(self._text), events
            ):
                self._tell(Malformed("yaml.strict", found, allowed, place, pointer))
        return value

    def _node(self, event: Any, pointer: Pointer, key: Any, depth: int) -> Json:
        kind = event.__class__
        events = self._events
        self._count += 1
        if kind is events.AliasEvent:
            value = self._alias(event, pointer, depth)
            if self._record:
                self._record(pointer, key, (event.start_mark, event.end_mark))
            return value
        if event.tag is not None:
            self._tell(self._malformed("yaml.tag", event, *_tag(event), pointer))
        anchor, before, outside = event.anchor, self._count, self._deepest
        if anchor is not None:
            self._anchors[anchor] = None
            self._deepest = depth
        if depth > self._deepest:
            self._deep(event, pointer, depth)
        end = event.end_mark
        if kind is events.ScalarEvent:
            value = event.value
            if self._anchors:
                self._count += len(value) // TEXT_NODE
            if event.implicit[0]:  # plain: no quotes, no block
                value = self._scalar(value, event, pointer)
            elif end.line != event.start_mark.line and event.style in _QUOTED_STYLES:
                self._doubtful = True
        elif kind is events.MappingStartEvent:
            value, end = self._mapping(pointer, depth)
            self._doubtful |= event.flow_style and end.line != event.start_mark.line
        else:
            value, end = self._sequence(pointer, depth)
            self._doubtful |= event.flow_style and end.line != event.start_mark.line
        if self._record:
            self._record(pointer, key, (event.start_mark, end))
        if anchor is not None:
            self._anchors[anchor] = (value, self._count - before + 1, self._deepest - depth)
            self._deepest = max(self._deepest, outside)
        return value

    def _deep(self, event: Any, pointer: Pointer, depth: int) -> None:
        if depth > MAX_NESTING:
            found = f"nested more than {MAX_NESTING} levels deep"
            raise self._malformed("yaml.depth", event, found, "fewer levels", pointer[:1])
        self._deepest = depth

    def _mapping(self, pointer: Pointer, depth: int) -> tuple[Json, Any]:
        ending = self._events.MappingEndEvent
        record, following, node = self._record, self._next, self._node
        value: dict[str, Json] = {}
        while True:
            key_event = following()
            if key_event.__class__ is ending:
                return value, key_event.end_mark
            key = self._key(key_event, pointer)
            if key is None:
                self._past(following(), pointer)
                continue
            if key in value:
                found = f"the key {key!r} a second time"
                self._tell(
                    self._malformed(
                        "yaml.duplicate", key_event, found, "each key once", (*pointer, key)
                    )
                )
            value[key] = node(
                following(), (*pointer, key) if record else pointer, key_event, depth + 1
            )

    def _sequence(self, pointer: Pointer, depth: int) -> tuple[Json, Any]:
        ending = self._events.SequenceEndEvent
        value: list[Json] = []
        while True:
            event = self._next()
            if event.__class__ is ending:
                return value, event.end_mark
            value.append(
                self._node(
                    event, (*pointer, len(value)) if self._record else pointer, None, depth + 1
                )
            )

    def _key(self, event: Any, pointer: Pointer) -> str | None:
        """The text of a key; None where it has none and its value is left out; lists and
        objects are read past.
        """
        events = self._events
        if event.__class__ is events.AliasEvent:
            return self._key_by_alias(event, (*pointer, f"*{event.anchor}"))
        if event.__class__ is not events.ScalarEvent:
            self._tell(self._no_key(event, pointer))
            self._past(event, pointer)
            return None
        key: str = event.value
        if event.tag is not None:
            self._tell(self._malformed("yaml.tag", event, *_tag(event), (*pointer, key)))
        if event.implicit[0] and (
            key in _NO_KEYS or (key[:1] in JSON_NUMBER_STARTS and JSON_NUMBER.fullmatch(key))
        ):
            if key == "<<":
                self._tell(self._malformed("yaml.key", event, *_MERGE, pointer))
                return None
            self._tell(
                self._malformed(
                    "yaml.key", event, f"the key {key} is not text", _TEXT_KEY, (*pointer, key)
                )
            )
        if event.anchor is not None:
            self._anchors[event.anchor] = (key, 1 + len(key) // TEXT_NODE, 0)
        elif self._anchors:
            self._count += len(key) // TEXT_NODE
        return key

    def _key_by_alias(self, event: Any, pointer: Pointer) -> str | None:
        key = self._alias(event, pointer, 0)
        if isinstance(key, str):
            return key
        self._tell(
            self._malformed(
                "yaml.key", event, "the key by alias is not text", _TEXT_KEY, pointer
            )
        )
        return None

    def _no_key(self, event: Any, pointer: Pointer) -> Malformed:
        """What is wrong with a list or an object as a key: most often an expression lacks its
        quotes.
        """
        start = event.start_mark.index
        second = self._text.startswith("{{", start - 1) and start > 0
        if second or self._text.startswith("{{", start):
            found = "text that begins with '{{', without quotes"
            allowed = 'quotes around it, as in "{{ base_url }}/logo.png"'
            fault = self._malformed("yaml.key", event, found, allowed, pointer)
            return replace(
                fault, place=replace(fault.place, column=fault.place.column - second)
            )
        return self._malformed(
            "yaml.key", event, "a list or an object as a key", "text as a key", pointer
        )

    def _past(self, event: Any, pointer: Pointer) -> None:
        """Read to the end of a node of which nothing is wanted, whatever is wrong in it."""
        opening = (self._events.MappingStartEvent, self._events.SequenceStartEvent)
        closing = (self._events.MappingEndEvent, self._events.SequenceEndEvent)
        depth = 0
        while depth := depth + isinstance(event, opening) - isinstance(event, closing):
            if depth > MAX_NESTING:
                self._deep(event, pointer, depth)
            event = self._next()

    def _scalar(self, value: str, event: Any, pointer: Pointer) -> Json:
        if value[:1] in JSON_NUMBER_STARTS and value:
            match = JSON_NUMBER.fullmatch(value)
            return value if match is None else self._number(value, match, event, pointer)
        return CONSTANTS.get(value, value)

    def _number(self, value: str, match: re.Match[str], event: Any, pointer: Pointer) -> Json:
        if match.end(1) == match.end():
            if len(value) <= MAX_INTEGER_DIGITS or len(value.lstrip("-")) <= MAX_INTEGER_DIGITS:
                return int(value)
        elif abs(number := float(value)) != float("inf"):
            return number
        shown = value if len(value) <= 24 else f"{value[:20]}… ({len(value)} characters)"
        allowed = f"at most {MAX_INTEGER_DIGITS} digits; text in quotes"
        self._tell(
            self._malformed(
                "yaml.number", event, f"the number {shown} is too large", allowed, pointer
            )
        )
        return value

    def _alias(self, event: Any, pointer: Pointer, depth: int) -> Json:
        if event.anchor not in self._anchors:
            found = f"the alias *{event.anchor} without an anchor before it"
            allowed = f"text that begins with * in quotes; &{event.anchor} first where an alias is meant"
            self._tell(self._malformed("yaml.alias", event, found, allowed, pointer))
            return f"*{event.anchor}"
        target = self._anchors[event.anchor]
        if target is None:
            found = f"the alias *{event.anchor} holds itself"
            raise self._malformed("yaml.alias", event, found, "values that end", pointer)
        value, size, height = target
        if depth + height > self._deepest:
            self._deep(event, pointer, depth + height)
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

    def _tell(self, fault: Malformed) -> None:
        """Note a fault that reading can go beyond. Raises it where nobody wants to know what
        follows.
        """
        if self._faults is None or len(self._faults) == MAX_FAULTS:
            raise fault
        self._faults.append(fault)

    def _malformed(
        self, rule: str, event: Any, found: str, allowed: str, pointer: Pointer = ()
    ) -> Malformed:
        return Malformed(
            rule, found, allowed, _place(event.start_mark, event.end_mark), pointer
        )

    def _syntax(self, error: Any) -> Malformed:
        if (
            getattr(error, "problem_mark", None) is None
        ):  # the reader's: a character that YAML does not admit
            return unprintable(self._text)
        if error.problem == syntax.NO_VALUE and not self._text[error.problem_mark.index :]:
            with_value = _ValueReader(
                self._text + "\nx", None, []
            )  # it is a bracket that is not closed: libyaml says which
            try:
                with_value.document()
            except Malformed as fault:
                return fault
        return Malformed("yaml.syntax", *syntax.explain(error, self._text))


_FORBIDDEN = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


def unprintable(text: str) -> Malformed:
    """The Malformed for the first raw character that YAML does not admit (YAML 1.1 §5.1).

    Nor do we admit the line ends that no editor shows as such (YAML 1.2 §5.4 takes them for
    text, libyaml does not).
    """
    match = _FORBIDDEN.search(text)
    offset = match.start() if match else 0
    found = (
        f"the character U+{ord(text[offset]):04X}"
        if match
        else "a character that YAML does not admit"
    )
    if match and _LINE_ENDS.match(match.group()):
        found += ", an invisible line end"
    allowed = "printable text; other characters as escapes in double quotes"
    return Malformed("yaml.character", found, allowed, syntax.place_after(text[:offset]))
