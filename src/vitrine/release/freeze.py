"""Every frozen Call answered: the same answers that the service gives, before anyone asks. Pure."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from typing import Any, NamedTuple

import orjson
from isal import isal_zlib

from vitrine.content.model import Content
from vitrine.content.schema import Schemas
from vitrine.content.yaml import Json
from vitrine.interface.answer import respond, value_of
from vitrine.interface.bind import OPERATIONS
from vitrine.interface.call import Call, make
from vitrine.interface.formats import FORMATS, Format
from vitrine.interface.operation import Arguments, Operation
from vitrine.problems import Failure
from vitrine.release.manifest import Entry

FEW = 60
KEPT = 240
"""So many answers are known again where another question has the same."""

MIN_COMPRESSED = 1024
MAX_RATIO = 0.9
LEVEL = 1
"""Of ISA-L's: a quarter of the time of zlib's level 4 for files a twentieth larger."""


class Asking(NamedTuple):
    """One question that is frozen, in every spelling, before it takes a format; its number among all."""

    operation: Operation
    spellings: Sequence[Arguments]
    application: str | None
    number: int

    def calls(self, format: Format) -> list[Call]:
        """Those of its spellings, which have one answer."""
        return [make(self.operation, format, arguments, self.application) for arguments in self.spellings]


class File(NamedTuple):
    """A file of the release. ``body`` is None where the last release, or a file before it, has the same bytes.

    ``gzip``: digest and size of the compressed form, where there is one; its bytes are in ``compressed``.
    """

    entry: Entry
    body: bytes | None
    gzip: tuple[str, int] | None
    compressed: bytes | None


Known = Mapping[str, tuple[str, int, tuple[str, int] | None]]
"""What the last release holds under a path: digest, size, and digest and size of its compressed form."""


@dataclass(frozen=True, slots=True)
class Questions:
    """What is frozen of an operation: each question in its spellings, by each application."""

    operation: Operation
    entries: Sequence[Sequence[Arguments]]
    applications: Sequence[str | None]

    def __len__(self) -> int:
        return len(self.entries) * len(self.applications)

    @property
    def files(self) -> int:
        """So many files answer them."""
        return sum(map(len, self.entries)) * len(self.applications) * len(FORMATS)


def questions(content: Content) -> list[Questions]:
    """Everything to freeze, by operation; the questions are numbered in this order."""
    found = []
    for operation in OPERATIONS:
        if operation.frozen:
            applications: Sequence[str | None] = content.applications() if operation.by_application else (None,)
            found.append(Questions(operation, operation.questions(content), applications))
    return found


def digest(listed: Sequence[Questions]) -> str:
    """A digest of which questions there are, and of their order."""
    told = [(each.operation.name, each.entries, each.applications) for each in listed]
    return sha256(orjson.dumps(told, default=repr)).hexdigest()


def asked_of(listed: Sequence[Questions], chosen: Container[int] | None = None) -> list[list[Asking]]:
    """The questions, each by itself: first what there is once (all stores, all promotions), then a list an operation.

    ``chosen``: only those with these numbers. What fits into no file name is answered live.
    """
    single: list[Asking] = []
    lists: list[list[Asking]] = []
    start = 0
    for each in listed:
        found = [
            Asking(each.operation, entry, name, number)
            for number, (entry, name) in enumerate(product(each.entries, each.applications), start)
            if chosen is None or number in chosen
        ]
        start += len(each)
        if len(found) < FEW:
            single += found
        else:
            lists.append(found)
    return [single, *lists]


def freeze(
    asked: Iterable[Asking], content: Content, schemas: Schemas, known: Known, step: Callable[[], None] = lambda: None
) -> Iterator[File]:
    """The files of some askings, each in every format.

    Where ``known`` (a release of this very program and these schemas) holds the same JSON, its other formats are the
    same too, and have been checked. Raises Failure where an answer does not satisfy its response schema.
    """
    done: dict[tuple[str, bytes], Sequence[_Form]] = {}
    for asking in asked:
        step()
        named = [(call, names) for call in asking.calls(FORMATS[0]) if (names := call.filenames())]
        if not named:
            continue
        call, names = named[0]
        value = _value(call, content)
        body = respond(call, value, content, schemas).body
        digest = sha256(body).digest()
        key = (asking.operation.schema, digest)
        held = [known[name] for name in names if name in known]
        if len(held) == len(names) and held[0][0] == digest.hex():
            forms: Sequence[_Form] = [_Form(*form) for form in held]
        elif key in done:
            forms = done[key]
        else:
            forms = _forms(call, value, body, content, schemas)
            if len(done) >= KEPT:
                done.clear()
            done[key] = [form.told() for form in forms]
        base, lifetime = content.setting("base_url"), content.lifetime(asking.operation.name)
        for call, names in named:
            common = _entry(call, base, lifetime)
            for format, name, form in zip(FORMATS, names, forms, strict=True):
                sizes = {"size": form.size, "sha256": form.digest}
                entry = {"path": name, **common, "mediaType": format.media_type, **sizes}
                yield File(entry, form.body, form.gzip, form.compressed)
            forms = [form.told() for form in forms]


class _Form(NamedTuple):
    """An answer in one format: its digest and size, those of its compressed form; the bytes, until they are given."""

    digest: str
    size: int
    gzip: tuple[str, int] | None
    body: bytes | None = None
    compressed: bytes | None = None

    def told(self) -> "_Form":
        """The same once its bytes are given."""
        return self if self.body is None else _Form(*self[:3])


def _value(call: Call, content: Content) -> Json:
    try:
        return value_of(call, content)
    except (KeyError, TypeError) as error:
        what = f"the content lacks {error}; does content/schemas not require it?"
        raise Failure(f"{call.request().target}: {what}") from None


def _entry(call: Call, base: str, lifetime: int) -> Entry:
    """What the manifest says of a Call in every format."""
    entry: Entry = {"url": f"{base}/{call.request().target}", "operation": call.operation.name}
    if call.application is not None:
        entry["application"] = call.application
    entry["arguments"] = call.texts()
    entry["lifetime"] = lifetime
    return entry


def _forms(call: Call, value: Json, body: bytes, content: Content, schemas: Schemas) -> list[_Form]:
    """An answer in every format, of which ``body`` is the first. Raises Failure where its schema refuses it."""
    if not schemas.valid(call.operation.schema, value):
        raise Failure(_refused(call, value, schemas))
    others = (replace(call, format=format) for format in FORMATS[1:])
    return [_formed(body), *(_formed(respond(other, value, content, schemas).body) for other in others)]


def _formed(body: bytes) -> _Form:
    digest, size = sha256(body).hexdigest(), len(body)
    if size < MIN_COMPRESSED:
        return _Form(digest, size, None, body)
    compressed = isal_zlib.compress(body, LEVEL, 31)  # 31: a gzip header, without name and time
    if len(compressed) > MAX_RATIO * size:
        return _Form(digest, size, None, body)
    return _Form(digest, size, (sha256(compressed).hexdigest(), len(compressed)), body, compressed)


def _refused(call: Call, value: Any, schemas: Schemas) -> str:
    findings = schemas.findings(call.operation.schema, value)
    where = "/".join(map(str, findings[0].pointer)) if findings else ""
    what = findings[0].found if findings else ""
    return f"{call.request().target}: the answer does not satisfy {call.operation.schema}: {where}: {what}"
