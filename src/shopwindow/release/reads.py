"""What the answers of a release have read, so that the next build renders only those
that would read something else.

While a Call is answered, `Recorded` stands in for the Content and notes each thing that
the view asks it for: a Read. After the build, each Read is stored with a digest of what
it returned. The next build computes the digests of its own content. A Call for which no
digest has changed has the same answer, since views are pure, and keeps its files.

Derived tables are recorded by key, so one changed event leads to new answers about the
stores that it is at, and no others. A derivation that is no table is recorded as
everything that it is derived from. An index is recorded by the parts that it tells
apart (`interface.declaring.index.OpenedByParts`).

A ReadRecord holds this in numbers, for the Reads and for the answers. `prerender`
numbers the answers, so a record is void as soon as a number means another answer: see
``state`` of `save`. Every process that renders has one of its own; a build merges them.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import orjson

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.index import OpenedByParts

Read = tuple[Any, ...]
"""One thing that a view asked a Content for: the verb's name, then its arguments, all
of them JSON values.
"""

_EXISTS = "exists"
"""The part of an index that whoever asks for it has read: that there is one."""

DerivedKey = TypeVar("DerivedKey")
DerivedValue = TypeVar("DerivedValue")

DIGEST_DIGITS = 32
"""Length of a stored digest. 128 bits tell apart all values that a content folder will
ever hold, and the record takes half the space of whole SHA-256 digests.
"""


def name_of(function: Callable[..., Any]) -> str:
    """Return the name by which a derivation is stored: its module and its name there."""
    return f"{function.__module__}:{function.__qualname__}"


def _function(name: str) -> Callable[[Content], Any]:
    """Return the derivation with this stored name, the reverse of `name_of`."""
    module, _, attribute = name.partition(":")
    function: Callable[[Content], Any] = getattr(import_module(module), attribute)
    return function


class Recorded(Content):
    """A Content that records in ``seen`` every Read, and passes it on to another."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self.seen: set[Read] = set()

    def setting(self, name: str) -> Json:
        self.seen.add(("setting", name))
        return self._content.setting(name)

    def lifetime(self, operation: str, declared: int | None = None) -> int:
        self.seen.add(("lifetime", operation))
        return self._content.lifetime(operation, declared)

    def documents(self, kind: str) -> Sequence[Json]:
        self.seen.add(("documents", kind))
        return self._content.documents(kind)

    def document(self, kind: str, name: str, value: Any) -> Json | None:
        self.seen.add(("document", kind, name, value))
        return self._content.document(kind, name, value)

    def derived(
        self, derive: Callable[[Content], Mapping[DerivedKey, DerivedValue]]
    ) -> Mapping[DerivedKey, DerivedValue]:
        return _RecordedTable(self._content.derived(derive), name_of(derive), self.seen)

    def derived_whole(self, derive: Callable[[Content], DerivedValue]) -> DerivedValue:
        self.seen |= self._content.derived_whole(_ReadsOf(derive))
        return self._content.derived_whole(derive)

    def clock(self, name: str) -> str:
        self.seen.add(("clock", name))
        return self._content.clock(name)

    def index(self, name: str) -> Any:
        opened = self._content.index(name)
        # Of the class, for one that is opened when asked would be opened by a look at it.
        follow = getattr(type(opened), "following", None)
        if follow is None:
            self.seen.add(("index", name))
            return opened
        self.seen.add(("index", name, _EXISTS))
        return follow(opened, partial(self._read_part, name))

    def _read_part(self, name: str, part: str) -> None:
        self.seen.add(("index", name, part) if part else ("index", name))


class _RecordedTable(Mapping[DerivedKey, DerivedValue]):
    """A derived table that records which of its keys are looked up.

    A lookup reads one key, absent or not. Iteration and length read the whole table.
    """

    def __init__(
        self, table: Mapping[DerivedKey, DerivedValue], name: str, seen: set[Read]
    ) -> None:
        self._table, self._name, self._seen = table, name, seen

    def __getitem__(self, key: DerivedKey) -> DerivedValue:
        self._seen.add(("derived", self._name, key))
        return self._table[key]

    def __contains__(self, key: object) -> bool:
        self._seen.add(("has", self._name, key))
        return key in self._table

    def get(self, key: DerivedKey, default: Any = None) -> Any:
        self._seen.add(("derived", self._name, key))
        return self._table.get(key, default)

    def __iter__(self) -> Iterator[DerivedKey]:
        self._seen.add(("table", self._name))
        return iter(self._table)

    def __len__(self) -> int:
        self._seen.add(("table", self._name))
        return len(self._table)


@dataclass(frozen=True)
class _ReadsOf:
    """A derivation whose result is the set of Reads of another derivation.

    A content computes each derivation once, and compares derivations by equality. Two
    of these are equal where they are about one function, so it runs for them once.
    """

    derive: Callable[[Content], Any]

    def __call__(self, content: Content) -> set[Read]:
        recorded = Recorded(content)
        self.derive(recorded)
        return recorded.seen


class Digests:
    """Digests of what a content returns for Reads, each computed once.

    ``indexes``: index name → digest of its file, for a Read of an index as a whole.
    """

    def __init__(self, content: Content, indexes: Mapping[str, str]) -> None:
        self._content = content
        self._indexes = indexes
        self._digests: dict[Read, str] = {}

    def of(self, read: Read) -> str:
        """Return the digest of what a Read returns.

        It is empty where the Read cannot be repeated, as after its derivation was
        removed. `ReadRecord.forget` takes an empty digest for a changed one.
        """
        if read not in self._digests:
            self._digests[read] = self._digest(read)
        return self._digests[read]

    def _digest(self, read: Read) -> str:
        if read[0] == "index":
            return self._index_digest(*read[1:])
        try:
            value = returned(self._content, read)
        except (KeyError, ImportError, AttributeError):
            return ""
        data = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
        return sha256(data).hexdigest()[:DIGEST_DIGITS]

    def _index_digest(self, name: str, part: str | None = None) -> str:
        """Return the digest of an index, or of a part of it."""
        if name not in self._indexes:
            return "none"
        if part is None:
            return self._indexes[name]
        if part == _EXISTS:
            return part
        opened: OpenedByParts = self._content.index(name)
        try:
            return opened.part_digest(part)[:DIGEST_DIGITS]
        except (KeyError, AttributeError):  # another program had such a part
            return ""


def returned(content: Content, read: Read) -> Json:
    """Return what a content returns for a Read, of anything but an index.

    Raises KeyError where there is no such verb or setting, ImportError or
    AttributeError where there is no such derivation.
    """
    verb, *arguments = read
    if verb in ("derived", "has", "table"):
        table = content.derived(_function(arguments[0]))
        if verb == "derived":
            return table.get(arguments[1])
        return dict(table) if verb == "table" else arguments[1] in table
    if verb not in ("setting", "lifetime", "documents", "document", "clock"):
        raise KeyError(verb)
    return getattr(content, verb)(*arguments)


class ReadRecord:
    """What some answers have read.

    ``reads``: Read → its number. ``digests``: number of a Read → digest of what it
    returned. ``readers``: sorted numbers of Reads → numbers of the answers that have
    read exactly these. Many answers share one set of Reads, so a set is stored once.
    """

    def __init__(self) -> None:
        self.reads: dict[Read, int] = {}
        self.digests: list[str] = []
        self.readers: dict[tuple[int, ...], list[int]] = {}

    @staticmethod
    def decode(data: bytes) -> "ReadRecord":
        """Return the record that `encode` returned as bytes."""
        record = ReadRecord()
        reads, record.digests, readers = orjson.loads(data)
        record.reads = {tuple(read): number for number, read in enumerate(reads)}
        record.readers = {tuple(numbers): answers for numbers, answers in readers}
        return record

    def encode(self) -> bytes:
        """Return the record as one line of JSON."""
        return orjson.dumps(
            [list(self.reads), self.digests, list(self.readers.items())]
        )

    def note(self, answer: int, seen: Iterable[Read], digests: Digests) -> None:
        """Record what the answer with this number has read."""
        numbers = []
        for read in seen:
            number = self.reads.get(read)
            if number is None:
                number = self._add(read, digests.of(read))
            numbers.append(number)
        self.readers.setdefault(tuple(sorted(numbers)), []).append(answer)

    def merge(self, other: "ReadRecord") -> None:
        """Add the record of other answers from the same content."""
        own_numbers = [  # by the numbers that the other record gives the Reads
            self._add(read, other.digests[number])
            for read, number in other.reads.items()
        ]
        for other_numbers, answers in other.readers.items():
            numbers = sorted([own_numbers[number] for number in other_numbers])
            self.readers.setdefault(tuple(numbers), []).extend(answers)

    def _add(self, read: Read, digest: str) -> int:
        """Set the digest of a Read, and return its number, a new one where it has none."""
        number = self.reads.setdefault(read, len(self.digests))
        self.digests[number : number + 1] = [digest]  # replaces, or appends at the end
        return number

    def forget(self, digests: Digests) -> set[int]:
        """Drop the answers that would read something else now; return their numbers.

        ``digests``: those of the content that is built now. The record has them from
        then on, so that more answers can be noted in it.
        """
        unchanged = set()
        for read, number in self.reads.items():
            recorded = self.digests[number]
            self.digests[number] = digests.of(read)
            if recorded and digests.of(read) == recorded:
                unchanged.add(number)
        outdated = [
            numbers for numbers in self.readers if not unchanged.issuperset(numbers)
        ]
        return {answer for numbers in outdated for answer in self.readers.pop(numbers)}


# -- between two builds ----------------------------------------------------------------


def save(path: Path, state: Sequence[str], record: ReadRecord) -> None:
    """Store the record of a release.

    ``state``: the release's id, and digests of the program, of the schemas and of which
    answers there are. Raises nothing where the disk refuses: then the next build
    renders everything.
    """
    data = b"%b\n%b" % (orjson.dumps(state), record.encode())
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(b"%b\n%b" % (sha256(data).hexdigest().encode(), data))
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            draft.unlink()


def load(path: Path, state: Sequence[str]) -> ReadRecord | None:
    """Return the record that was stored under this state; None where it is of another
    state, damaged or missing.
    """
    try:
        digest, _, data = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if sha256(data).hexdigest().encode() != digest:  # cut off, or damaged
        return None
    stored_state, _, record = data.partition(b"\n")
    if stored_state != orjson.dumps(state):
        return None
    return ReadRecord.decode(record)
