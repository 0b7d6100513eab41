"""What the answers of a release have read: the next build asks again only what would read something else."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from vitrine.content.model import Content, Packed
from vitrine.content.yaml import Json

Read = tuple[Any, ...]
"""A verb of Content and what it was asked for; or the name of something else of it that was looked at."""

VERBS = (
    "setting",
    "lifetime",
    "applications",
    "application",
    "stores",
    "store",
    "near",
    "events",
    "has_events",
    "promotions",
    "published",
    "promotion",
    "days",
)
CATALOG: Read = ("catalog",)
DIGITS = 32
"""Of a digest: 128 bits tell any two values apart that anybody ever writes."""


class Reading(Content):
    """The same content, which notes in ``seen`` what it is asked: whatever an answer is made from."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self.seen: set[Read] = set()

    def __getattr__(self, name: str) -> Any:
        """What is no verb: the catalog; and what no view should look at."""
        self.seen.add((name,))
        return getattr(self._content, name)


def _noted(verb: str) -> Any:
    """A verb that is noted when it is asked, though it may raise."""

    def noted(self: Reading, *arguments: Any) -> Any:
        self.seen.add((verb, *arguments))
        return getattr(self._content, verb)(*arguments)

    return noted


for _verb in VERBS:
    setattr(Reading, _verb, _noted(_verb))


class Digests:
    """Digests of what the verbs of a content hand out. ``catalog``: that of its catalog."""

    def __init__(self, content: Content, catalog: str) -> None:
        self._content = content
        self._catalog = catalog
        self._known: dict[int, tuple[Json, str]] = {}  # with the value, so that its id stays its own

    def of(self, read: Read) -> str:
        """That of one verb's answer; empty where nobody can tell, which is never the same."""
        verb, *arguments = read
        if read == CATALOG:
            return self._catalog
        if verb not in VERBS:
            return ""
        try:
            value = getattr(self._content, verb)(*arguments)
        except KeyError:
            return ""
        if id(value) not in self._known:
            data = value.encode() if isinstance(value, Packed) else orjson.dumps(value)
            self._known[id(value)] = value, sha256(data).hexdigest()[:DIGITS]
        return self._known[id(value)][1]


class Record:
    """What some answers have read.

    ``reads``: everything that was read, numbered; ``digests``: what that was; ``readers``: the numbers of some reads →
    the numbers of the questions whose answers have read just these.
    """

    def __init__(self) -> None:
        self.reads: dict[Read, int] = {}
        self.digests: list[str] = []
        self.readers: dict[tuple[int, ...], list[int]] = {}

    @staticmethod
    def decode(data: bytes) -> "Record":
        """A record from what `encode` gave."""
        record = Record()
        reads, record.digests, readers = orjson.loads(data)
        record.reads = {tuple(read): number for number, read in enumerate(reads)}
        record.readers = {tuple(numbers): questions for numbers, questions in readers}
        return record

    def encode(self) -> bytes:
        """A record as a line."""
        return orjson.dumps([list(self.reads), self.digests, list(self.readers.items())])

    def clear(self) -> None:
        """Begin anew."""
        self.reads.clear()
        self.digests.clear()
        self.readers.clear()

    def note(self, question: int, seen: Iterable[Read], digests: Digests) -> None:
        """What the answer to a question has read."""
        numbers = [self.reads[read] if read in self.reads else self._add(read, digests.of(read)) for read in seen]
        self.readers.setdefault(tuple(sorted(numbers)), []).append(question)

    def merge(self, other: "Record") -> None:
        """What answers to other questions have read, of the same content."""
        numbers = [self._add(read, other.digests[number]) for read, number in other.reads.items()]
        for theirs, questions in other.readers.items():
            self.readers.setdefault(tuple(sorted([numbers[number] for number in theirs])), []).extend(questions)

    def _add(self, read: Read, digest: str) -> int:
        number = self.reads.setdefault(read, len(self.digests))
        self.digests[number : number + 1] = [digest]
        return number

    def forget(self, digests: Digests) -> set[int]:
        """The questions whose answers would read something else in another content; they are forgotten here."""
        known = self.digests
        same = {number for read, number in self.reads.items() if known[number] and digests.of(read) == known[number]}
        doomed = [numbers for numbers in self.readers if not same.issuperset(numbers)]
        return {question for numbers in doomed for question in self.readers.pop(numbers)}


# -- between two builds ------------------------------------------------------------------------------------------


def save(path: Path, state: Sequence[str], records: Iterable[bytes]) -> None:
    """Keep the records of a release, encoded. What cannot be kept means a slower build, no failure."""
    data = b"\n".join([orjson.dumps(state), *records])
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(b"%b\n%b" % (sha256(data).hexdigest().encode(), data))
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            draft.unlink()


def load(path: Path, state: Sequence[str]) -> list[Record]:
    """The records that were kept under this state: a release, and all else that numbers and answers depend on."""
    try:
        digest, _, data = path.read_bytes().partition(b"\n")
    except OSError:
        return []
    if sha256(data).hexdigest().encode() != digest:  # cut off, or damaged
        return []
    found, *records = data.split(b"\n")
    return [Record.decode(record) for record in records] if found == orjson.dumps(state) else []
