"""The files of a release: each is the response to a Call, rendered before anyone asks.

`planned_operations` lists what an interface pre-renders of a content, operation by
operation. `planned_answers` numbers the single answers. Recorded reads refer to these
numbers (`reads`), and `digest_of_answers` tells whether the numbers still mean the same
answers. `prerender` then goes through the same `interface.answering.answer` as the service does,
which is why a file and a dynamic response are the same bytes. Nothing here touches a
disk: `render` stages what `prerender` yields.

Several calls may be spellings of one answer, and every answer comes in every format.
Its view runs once for all of them.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from typing import Any, NamedTuple

import orjson

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.answering.answer import respond, value_of
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.operation import Arguments, Call, Operation
from shopwindow.interface.formats import RESPONSE_FORMATS, Format
from shopwindow.problems import Failure, Refusal
from shopwindow.release.manifest import ManifestEntry, digest_of, size_of

MAX_CACHED_ANSWERS = 240
"""Digests of so many recent answers a process keeps, so that its memory does not grow
with the release. Equal answers follow each other closely, because an entry is answered
for one application after another, so few are missed.
"""


class PlannedAnswer(NamedTuple):
    """One answer to pre-render.

    ``spellings``: the arguments of every Call that it answers. ``application``: whose
    API key the Calls have; None: the answer depends on none. ``number``: its place
    among all answers of the release.
    """

    operation: Operation
    spellings: Sequence[Arguments]
    application: str | None
    number: int

    def calls(self, format: Format) -> list[Call]:
        """Return its Calls in one format. They all have the same response."""
        return [
            self.operation.call(format, arguments, self.application)
            for arguments in self.spellings
        ]


class File(NamedTuple):
    """A file of the release.

    ``entry``: what the manifest says of it. ``body``: its bytes; None where the
    previous release, or a file yielded before, has the same bytes.
    """

    entry: ManifestEntry
    body: bytes | None


@dataclass(frozen=True, slots=True)
class PlannedOperation:
    """What is pre-rendered of an operation: every entry for every application.

    An entry is the arguments of its spellings.
    """

    operation: Operation
    entries: Sequence[Sequence[Arguments]]
    applications: Sequence[str | None]

    def __len__(self) -> int:
        return len(self.entries) * len(self.applications)

    @property
    def files(self) -> int:
        """How many files its answers are."""
        spellings = sum(map(len, self.entries))
        return spellings * len(self.applications) * len(RESPONSE_FORMATS)


def planned_operations(
    interface: Interface, content: Content
) -> list[PlannedOperation]:
    """Return what to pre-render of a content, in the order of the interface's
    operations.
    """
    planned = []
    for operation in interface.operations:
        if not operation.prerendered:
            continue
        applications: Sequence[str | None] = (None,)
        if operation.by_application:
            applications = interface.application_names(content)
        planned.append(
            PlannedOperation(
                operation, operation.grouped_entries(content), applications
            )
        )
    return planned


def digest_of_answers(operations: Sequence[PlannedOperation]) -> str:
    """Return a digest of which answers there are and of their order.

    While it stays, a number means the same answer.
    """
    parts = [
        (planned.operation.name, planned.entries, planned.applications)
        for planned in operations
    ]
    return sha256(orjson.dumps(parts, default=repr)).hexdigest()


def planned_answers(
    operations: Sequence[PlannedOperation], chosen: Container[int] | None = None
) -> list[PlannedAnswer]:
    """Return the answers to pre-render, operation by operation.

    ``chosen``: the numbers of the answers wanted; None: all.
    """
    every = (
        (planned.operation, entry, application)
        for planned in operations
        for entry, application in product(planned.entries, planned.applications)
    )
    return [
        PlannedAnswer(*asked, number)
        for number, asked in enumerate(every)
        if chosen is None or number in chosen
    ]


AnswerCache = dict[tuple[str, bytes], Sequence["_Encoded"]]
"""Response schema and digest of the JSON → that answer in every format, without its
bytes.
"""


def prerender(
    answers: Iterable[PlannedAnswer],
    content: Content,
    schemas: Schemas,
    previous: Mapping[str, bytes],
    cache: AnswerCache,
) -> Iterator[File]:
    """Yield the files of some answers, each in every format.

    The JSON of every answer is encoded. Only where that is new, the answer is validated
    and the other formats are encoded. ``previous``: path → line of the manifest of files
    that this very program built with these schemas, so equal JSON there was validated and
    has the same other formats. ``cache`` does the same for answers of this build; new ones
    are added to it.

    A Call that fits into no file name has no file; the service answers it. Raises
    Failure where an answer does not satisfy its response schema, and ViewFailed where a
    view raised something.
    """
    for answer in answers:
        calls = [(call, call.filenames()) for call in answer.calls(RESPONSE_FORMATS[0])]
        named = [(call, paths) for call, paths in calls if paths]
        if not named:
            continue
        encoded = _encoded_answer(
            answer, *named[0], content, schemas, previous=previous, cache=cache
        )
        base = content.setting("base_url")
        lifetime = content.lifetime(answer.operation.name, answer.operation.lifetime)
        for call, paths in named:
            common = _entry(call, base, lifetime)
            for format, path, form in zip(
                RESPONSE_FORMATS, paths, encoded, strict=True
            ):
                entry = {
                    "path": path,
                    **common,
                    "mediaType": format.media_type,
                    "size": form.size,
                    "sha256": form.digest,
                }
                yield File(entry, form.body)
            # Files of the other spellings are links to these, and need no bytes.
            encoded = [_Encoded(form.digest, form.size) for form in encoded]


def _encoded_answer(
    answer: PlannedAnswer,
    call: Call,
    paths: Sequence[str],
    content: Content,
    schemas: Schemas,
    *,
    previous: Mapping[str, bytes],
    cache: AnswerCache,
) -> Sequence["_Encoded"]:
    """Return an answer in every format, with bytes where nobody has them yet.

    ``call``: the first of its spellings that has files. ``paths``: these files, in the
    order of RESPONSE_FORMATS.
    """
    value = _value(call, content)
    body = respond(call, value, content, schemas).body
    digest = sha256(body).digest()
    same = [previous[path] for path in paths if path in previous]
    if len(same) == len(paths) and digest_of(same[0]) == digest.hex():
        return [_Encoded(digest_of(line), size_of(line)) for line in same]
    key = (answer.operation.schema, digest)
    if key in cache:
        return cache[key]
    encoded = _in_every_format(call, value, body, content, schemas)
    if len(cache) >= MAX_CACHED_ANSWERS:
        cache.clear()
    cache[key] = [_Encoded(form.digest, form.size) for form in encoded]
    return encoded


class _Encoded(NamedTuple):
    """An answer in one format: its digest (hex), its size, and its bytes unless a file
    has them.
    """

    digest: str
    size: int
    body: bytes | None = None


class ViewFailed(Exception):
    """A view raised something for a Call of checked content.

    That is a fault of the program, which a traceback shows best. Editors are never at
    fault here: what a view needs of a document, its schema requires or a rule checks.
    """


def _value(call: Call, content: Content) -> Json:
    """Return the value of the answer to a Call.

    Raises ViewFailed from what its view raised, and the view's own Refusal or Failure.
    """
    try:
        return value_of(call, content)
    except (Refusal, Failure):
        raise
    except Exception as error:
        by = f" by {call.application}" if call.application else ""
        raise ViewFailed(
            f"{call.operation.name}: its view failed for {call.target}{by}"
        ) from error


def _entry(call: Call, base: str, lifetime: int) -> ManifestEntry:
    """Return what the manifest says of a Call in every format.

    ``base``: the base URL. ``lifetime``: seconds for which a CDN may cache the answer.
    """
    entry: ManifestEntry = {
        "url": f"{base}/{call.target}",
        "operation": call.operation.name,
    }
    if call.application is not None:
        entry["application"] = call.application
    entry["arguments"] = call.texts
    entry["lifetime"] = lifetime
    return entry


def _in_every_format(
    call: Call, value: Json, body: bytes, content: Content, schemas: Schemas
) -> list[_Encoded]:
    """Return an answer in every format; ``body`` is the first of them, which is JSON.

    Raises Failure where its response schema refuses it.
    """
    if not schemas.valid(call.operation.schema, value):
        raise Failure(_refused(call, value, schemas))
    others = (replace(call, format=format) for format in RESPONSE_FORMATS[1:])
    bodies = [body, *(respond(other, value, content, schemas).body for other in others)]
    return [_Encoded(sha256(data).hexdigest(), len(data), data) for data in bodies]


def _refused(call: Call, value: Any, schemas: Schemas) -> str:
    """Return where and why an answer does not satisfy its response schema, in a line."""
    findings = schemas.findings(call.operation.schema, value)
    where = "/".join(map(str, findings[0].pointer)) if findings else ""
    what = findings[0].found if findings else ""
    return f"{call.target}: the answer does not satisfy {call.operation.schema}: {where}: {what}"
