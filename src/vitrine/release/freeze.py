"""Every frozen Call answered: the same answers that the service gives, before anyone asks. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from isal import isal_zlib

from vitrine.content.model import Content
from vitrine.content.schema import Schemas
from vitrine.interface.answer import respond, value_of
from vitrine.interface.bind import OPERATIONS
from vitrine.interface.call import Call, make
from vitrine.interface.formats import FORMATS, Format
from vitrine.interface.operation import Operation
from vitrine.problems import Failure
from vitrine.release.manifest import Entry

FEW = 60
MIN_COMPRESSED = 1024
MAX_RATIO = 0.9
LEVEL = 1
"""Of ISA-L's: a quarter of the time of zlib's level 4 for files a twentieth larger."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One question that is frozen, before it takes a format."""

    operation: Operation
    arguments: Mapping[str, Any]
    application: str | None

    def call(self, format: Format) -> Call:
        return make(self.operation, format, self.arguments, self.application)


@dataclass(frozen=True, slots=True)
class File:
    """A file of the release. ``body`` is None where the last release, or a file before it, has the same bytes.

    ``gzip``: digest and size of the compressed form, where there is one; its bytes are in ``compressed``.
    """

    entry: Entry
    body: bytes | None
    gzip: tuple[str, int] | None
    compressed: bytes | None


Known = Mapping[str, tuple[str, int, tuple[str, int] | None]]
"""What the last release holds under a path: digest, size, and digest and size of its compressed form."""


def askings(content: Content) -> list[list[Asking]]:
    """Everything to freeze: first what there is once (all stores, all promotions), then a list an operation.

    What fits into no file name is answered live.
    """
    single: list[Asking] = []
    lists: list[list[Asking]] = []
    for operation in OPERATIONS:
        entries = operation.source.entries
        if entries is None:
            continue
        applications: Sequence[str | None] = content.applications() if operation.by_application else (None,)
        found = [Asking(operation, entry, name) for entry in entries(content) for name in applications]
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
    base_url: str = content.setting("base_url")
    done: dict[tuple[str, str, bytes], tuple[dict[str, Any], tuple[str, int] | None]] = {}
    for asking in asked:
        step()
        calls = [asking.call(format) for format in FORMATS]
        names = [call.filename() for call in calls]
        if None in names:
            continue
        common = _entry(calls[0], base_url, content)
        try:
            value = value_of(calls[0], content)
        except (KeyError, TypeError) as error:
            target = calls[0].request().target
            raise Failure(f"{target}: the content lacks {error}; does content/schemas not require it?") from None
        first = respond(calls[0], value, content, schemas).body
        digest = sha256(first)
        unchanged = (
            names[0] in known and known[str(names[0])][0] == digest.hexdigest() and all(n in known for n in names)
        )
        if not unchanged and not schemas.valid(asking.operation.schema, value):
            raise Failure(_refused(calls[0], value, schemas))
        for call, name in zip(calls, names, strict=True):
            entry: Entry = {"path": name, **common, "mediaType": call.format.media_type}
            key = (asking.operation.schema, call.format.name, digest.digest())
            if unchanged:
                sha, size, gzip = known[str(name)]
                yield File(entry | {"size": size, "sha256": sha}, None, gzip, None)
            elif key in done:
                sizes, gzip = done[key]
                yield File(entry | sizes, None, gzip, None)
            else:
                body = first if call is calls[0] else respond(call, value, content, schemas).body
                file = _file(entry, body)
                done[key] = ({name: file.entry[name] for name in ("size", "sha256")}, file.gzip)
                yield file


def _entry(call: Call, base_url: str, content: Content) -> Entry:
    """What the manifest says of a Call in every format."""
    entry: Entry = {"url": f"{base_url}/{call.request().target}", "operation": call.operation.name}
    if call.application is not None:
        entry["application"] = call.application
    entry["arguments"] = call.texts()
    entry["lifetime"] = content.lifetime(call.operation.name)
    return entry


def _file(entry: Entry, body: bytes) -> File:
    entry = entry | {"size": len(body), "sha256": sha256(body).hexdigest()}
    if len(body) < MIN_COMPRESSED:
        return File(entry, body, None, None)
    compressed = isal_zlib.compress(body, LEVEL, 31)  # 31: a gzip header, without name and time
    if len(compressed) > MAX_RATIO * len(body):
        return File(entry, body, None, None)
    return File(entry, body, (sha256(compressed).hexdigest(), len(compressed)), compressed)


def _refused(call: Call, value: Any, schemas: Schemas) -> str:
    findings = schemas.findings(call.operation.schema, value)
    where = "/".join(map(str, findings[0].pointer)) if findings else ""
    what = findings[0].found if findings else ""
    return f"{call.request().target}: the answer does not satisfy {call.operation.schema}: {where}: {what}"
