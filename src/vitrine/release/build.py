"""Checked documents → a release: freeze, stage, settle, rename into place, switch."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from vitrine.content import model
from vitrine.content.listing import KINDS
from vitrine.content.model import Content, Documents
from vitrine.content.processes import Progress, counted, give_back, processors, stream, turns
from vitrine.content.schema import Schemas
from vitrine.interface.formats import JSON
from vitrine.problems import Failure
from vitrine.release import catalog, freeze, manifest, reads
from vitrine.release.changes import documents_changed
from vitrine.release.freeze import FEW, Asking, File, Known
from vitrine.release.publish import Releases
from vitrine.release.reads import Digests, Reading, Record
from vitrine.release.stage import Stage, fsync_folder, staging

CONTENT = "content.json"
RUN = 16
"""Questions that a process takes at once: few, so that all of them end at the same time."""

MANY = 200_000
"""So many files a release may have unless more are asked for: whoever freezes a million products shall know it."""

Item = TypeVar("Item")
Queue = Callable[[], Iterator[Sequence[Item]]]


@dataclass(frozen=True)
class Order:
    """What to build, and from what. ``fresh``: nothing is taken over from an earlier release.

    ``documents`` loses its events to the build, which reads them from their JSON and has no room for both.
    ``program``: a digest of this program; ``note``: what else build.json shall say. ``allowed``:
    how many files there may be. ``clock`` tells when the build ends.
    """

    documents: Documents
    schemas: Schemas
    moment: datetime
    edge: Callable[[Content], str]
    program: str
    note: Mapping[str, Any]
    jobs: int | None = None
    fresh: bool = False
    progress: Progress | None = None
    allowed: int = MANY
    clock: Callable[[], datetime] | None = None


@dataclass(frozen=True)
class Built:
    """What a build did. ``files``, ``written`` and ``removed`` count files of files/, without their compressed forms.

    ``documents``: kind → ids of the documents that differ from the last release, where its content.json is here.
    """

    id: str
    files: int
    written: int
    existed: bool
    removed: int
    documents: Mapping[str, Sequence[str]]
    next_change: str
    edge_changed: bool


@dataclass(frozen=True)
class _Last:
    """The release that this one may take files from: what of it is here.

    ``lines``: of its manifest, by path. ``files``: where they are; None where only the manifest is here. ``gzip``:
    digest and size of what stands compressed. ``same``: made by this very program with these schemas, so that what it
    answers from the same value is known. ``index``: its catalog.
    """

    id: str = ""
    lines: Mapping[str, bytes] = field(default_factory=dict)
    edge: str | None = None
    content: bytes = b""
    files: Path | None = None
    gzip: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    same: bool = False
    index: catalog.Before | None = None

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """Digest → a path with these bytes, of the files that are here."""
        return {manifest.digest_of(line): path for path, line in self.lines.items()} if self.files else {}

    def compressed(self, path: str) -> tuple[str, int] | None:
        """Digest and size of a file's compressed form."""
        found = self.gzip.get(f"{path}.gz")
        return (found[0], found[1]) if found else None

    def known(self, paths: Iterable[str]) -> Known:
        """What of some files needs no answering beyond the first format."""
        return {
            path: (manifest.digest_of(line), manifest.size_of(line), self.compressed(path))
            for path in paths
            if self.same and (line := self.lines.get(path))
        }


def build(order: Order, releases: Releases) -> Built:
    """Write a release beside the others; ``current`` stays. Raises Failure; then nothing has changed.

    The caller holds the lock.
    """
    content = model.live(order.documents, order.moment, packed=True)
    last = _last(order, releases)
    next_change = model.interval(order.documents, order.moment).end.isoformat(timespec="seconds")
    with staging(releases.out) as stage:
        made = catalog.bring(
            order.documents.catalog,
            content,
            stage,
            last.index,
            order.program,
            order.jobs,
            order.progress,
        )
        written: list[_Private] = []
        sources = orjson.dumps(_sources(order.documents))
        order.documents.event.clear()  # a third of all memory
        give_back()

        def meanwhile() -> None:
            """What of the release is no answer, while other processes freeze the answers."""
            stage.begin_to_settle()
            data = content.encode()
            own = _private(data, last, order.edge(content))
            stage.write(CONTENT, data, own.digest)
            stage.add("sources.json", sources)
            written.append(own)
            del data
            give_back()

        plan = _plan(order, content, last, made, releases)
        files = _files(plan, order, content, last, stage, meanwhile)
        (own,) = written
        private = {CONTENT: {"size": own.size, "sha256": own.digest}, **made.private}
        encoded = manifest.encode(files.lines, private, next_change, own.edge)
        id = manifest.release_id(encoded)
        existed = releases.complete(id) and not _replaceable(order, releases, id)
        if not existed:
            stage.write("manifest.json", encoded, id)
            note = {**order.note, **made.note, "at": order.moment.isoformat(), "program": order.program}
            note["gzip"] = files.gzip
            if order.clock:
                note["ended"] = order.clock().isoformat(timespec="milliseconds")
            stage.add("build.json", orjson.dumps({**note, "schemas": order.schemas.digest}))
            _into_place(releases, stage, id)
        reads.save(_record_path(releases), (id, *plan.state), _together(plan.records, files.records))
    return Built(
        id,
        len(files.lines),
        0 if existed else len(files.written),
        existed,
        len(last.lines.keys() - files.lines.keys()),
        {**own.changed, **made.changed},
        next_change,
        edge_changed=last.edge != own.edge,
    )


class _Private(NamedTuple):
    """What is found out about content.json: its size and digest, what changed; and the digest of the edge."""

    size: int
    digest: str
    changed: Mapping[str, Sequence[str]]
    edge: str


def _private(data: bytes, last: _Last, edge: str) -> _Private:
    changed = documents_changed(last.content, data) if last.content else {}
    return _Private(len(data), sha256(data).hexdigest(), changed, edge)


def _replaceable(order: Order, releases: Releases, id: str) -> bool:
    """Whether a release that exists already gives way to this build. Raises Failure where it is damaged and may not.

    The current one is believed, as any other build believes it; ``fresh`` builds look at that one too.
    """
    if id == releases.current() and not order.fresh:
        return False
    wrong = releases.verify(id)
    if wrong and not order.fresh:
        shown = "; ".join(wrong[:3])
        raise Failure(f"release {id} exists and is damaged: {shown}; build with --no-cache to replace it")
    return bool(wrong)


def _last(order: Order, releases: Releases) -> _Last:
    """The current release, or the newest. One of which only the manifest is here is compared with, not linked to."""
    id = releases.current() or next(iter(releases.ids()), None)
    if id is None or not (releases.path(id) / "manifest.json").is_file():
        return _Last()
    try:
        folder, listed, note = releases.path(id), releases.lines(id), releases.checked_note(id)
    except Failure:  # `vitrine verify` tells what is wrong with it; this build takes nothing from it
        return _Last()
    content = (folder / CONTENT).read_bytes() if (folder / CONTENT).is_file() else b""
    if order.fresh or not releases.complete(id):
        return _Last(id, listed.files, listed.edge, content)
    gzip, by = note.get("gzip", {}), (note.get("program"), note.get("schemas"))
    same = "gzip" in note and by == (order.program, order.schemas.digest)
    private = listed.private.get(catalog.NAME)
    before = catalog.Before(folder / catalog.NAME, private, note.get("catalog", {})) if private else None
    return _Last(id, listed.files, listed.edge, content, folder / "files", gzip, same, before)


# -- what is asked -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """What a build asks, and what it takes over unasked.

    ``state``: digests of the program, the schemas and which questions there are; ``kept``: lines of the last manifest,
    by path, for answers that have read nothing that is another now; ``records``: what these have read.
    """

    state: Sequence[str]
    asked: Sequence[Sequence[Asking]]
    kept: Mapping[str, bytes]
    records: Sequence[Record]
    digests: Digests


def _record_path(releases: Releases) -> Path:
    return releases.out / ".cache" / "reads"


def _plan(order: Order, content: Content, last: _Last, made: catalog.Made, releases: Releases) -> _Plan:
    """Where it is known what the last release's answers read: only those that would read something else are asked.

    Raises Failure where there are too many files.
    """
    listed = freeze.questions(content)
    count, files = sum(map(len, listed)), sum(each.files for each in listed)
    if files > order.allowed:
        found = f"{files:,} files would be written, and {order.allowed:,} are allowed"
        allows = f"--allow-files {files} allows them"
        raise Failure(f"{found}; {allows}, or freeze fewer products (featured, catalog.freeze)")
    digests = Digests(content, made.note["catalog"]["sha256"] if made.note else "none")
    state = order.program, order.schemas.digest, freeze.digest(listed)
    records = reads.load(_record_path(releases), (last.id, *state)) if last.same else []
    chosen = {number for record in records for number in record.forget(digests)}
    if not records or len(chosen) > count // 2:
        return _Plan(state, freeze.asked_of(listed), {}, (), digests)
    asked = freeze.asked_of(listed, chosen)
    again = {name for run in asked for asking in run for call in asking.calls(JSON) for name in call.filenames()}
    kept = {path: line for path, line in last.lines.items() if path not in again}
    return _Plan(state, asked, kept, records, digests)


_Made = tuple[str, bytes, tuple[str, int] | None, str]
"""A file that was made: its path, its line of the manifest, its compressed form; its digest where it was written."""


class _Files:
    """Every file, taken as processes tell of them: its line of the manifest, by path.

    ``gzip``: digest and size of the compressed forms; ``written``: digest → the first path that was told of, of bytes
    that were written; ``records``: what the answers have read.
    """

    def __init__(self, kept: Mapping[str, bytes]) -> None:
        self.lines = dict(kept)
        self.gzip: dict[str, Sequence[Any]] = {}
        self.written: dict[str, str] = {}
        self.records: list[bytes] = []
        self._several: set[str] = set()

    def take(self, told: list[_Made] | bytes) -> None:
        """Files that a process made, or a record of what their answers have read."""
        if isinstance(told, bytes):
            self.records.append(told)
            return
        for path, line, gzip, written in told:
            if self.lines.setdefault(path, line) is not line:
                raise Failure(_same_name(path, path))
            if gzip:
                self.gzip[f"{path}.gz"] = gzip
            if written and self.written.setdefault(written, path) is not path:
                self._several.add(written)

    def end(self, stage: Stage) -> None:
        """Once all have been told of. Raises Failure where two are one on a file system that knows no case."""
        if len(set(map(str.lower, self.lines))) != len(self.lines):
            folded: dict[str, str] = {}
            for path in self.lines:
                if (other := folded.setdefault(path.lower(), path)) is not path:
                    raise Failure(_same_name(other, path))
        if self._several:
            self._store_once(stage)

    def _store_once(self, stage: Stage) -> None:
        """Bytes that several processes wrote, and linked to what they wrote, are kept once."""
        for path, line in self.lines.items():
            if (digest := manifest.digest_of(line)) in self._several:
                for ending in ("", ".gz") if f"{path}.gz" in self.gzip else ("",):
                    stage.relink(f"files/{path}{ending}", f"files/{self.written[digest]}{ending}")


def _same_name(path: str, other: str) -> str:
    return f"two answers have one file name: {path} and {other}"


def _files(
    plan: _Plan, order: Order, content: Content, last: _Last, stage: Stage, meanwhile: Callable[[], None]
) -> _Files:
    """Every answer; bytes that the last release has not are written. Raises Failure where two have one name."""
    for schema in {asking.operation.schema for asked in plan.asked for asking in asked}:
        order.schemas.validator(schema)  # compiled before the fork, for all
    jobs = order.jobs or processors()
    kept = _parts(list(plan.kept), jobs)
    known = last.known(last.lines.keys() - plan.kept.keys())
    with ExitStack() as stack:
        queues = [stack.enter_context(turns(asked, RUN if number else 1)) for number, asked in enumerate(plan.asked)]

        def work(number: int, step: Callable[[], None]) -> Iterator[list[_Made] | bytes]:
            reading, record, staged = Reading(content), Record(), _Staged(last, stage)
            asked = _noted(_asked(queues, number), reading, record, plan.digests)
            files: list[_Made] = []
            for file in freeze.freeze(asked, reading, order.schemas, known, step):
                files.append(staged.made(file))
                if len(files) == FEW:  # told at once, as what was read is: kept until the end they take much memory
                    yield files
                    files = []
                    if len(record.readers) >= FEW:
                        yield record.encode()
                        record.clear()
            for path in kept[number]:
                staged.bring(path, manifest.digest_of(plan.kept[path]), last.compressed(path))
                step()
            yield files
            yield record.encode()

        files = _Files(plan.kept)
        progress = counted(order.progress, sum(map(len, plan.asked)) + len(plan.kept))
        stream(work, jobs, files.take, progress, meanwhile)
    files.gzip.update((name, last.gzip[name]) for path in plan.kept if (name := f"{path}.gz") in last.gzip)
    files.end(stage)
    return files


def _parts(items: Sequence[Item], count: int) -> list[Sequence[Item]]:
    """So many stretches of about the same length: who links one is alone in most of its directories."""
    size = len(items) // count + 1
    return [items[number * size : (number + 1) * size] for number in range(count)]


def _together(kept: Sequence[Record], new: Sequence[bytes]) -> Iterable[bytes]:
    """What answers have read that were kept, and that each process has made."""
    if not kept:
        return new
    for record in new:
        kept[0].merge(Record.decode(record))
    return [record.encode() for record in kept]


def _asked(queues: Sequence[Queue[Asking]], number: int) -> Iterator[Asking]:
    """All queues: first what there is once, which takes longest, then from another queue in each process.

    So they fill different directories, each of which has one lock.
    """
    single, *lists = queues
    start = number % max(1, len(lists))
    large = False
    for run in single():
        yield from run
        large = True
    for take in (*lists[start:], *lists[:start]):
        for run in take():
            yield from run
            if large:  # by now the last answer of the first queue is forgotten, which may have held all stores
                give_back()
                large = False


def _noted(asked: Iterable[Asking], reading: Reading, record: Record, digests: Digests) -> Iterator[Asking]:
    """Each question; when the next one is wanted, what the answer to it has read is noted."""
    for asking in asked:
        reading.seen = set()
        yield asking
        record.note(asking.number, reading.seen, digests)


class _Staged:
    """What one process brings: bytes that exist, in the last release or in this one, are linked; others are written."""

    def __init__(self, last: _Last, stage: Stage) -> None:
        self._last = last
        self._stage = stage
        self._names: dict[str, str] = {}  # by this process: digest → name

    def made(self, file: File) -> _Made:
        """A file that an answer was made for."""
        path, digest = file.entry["path"], file.entry["sha256"]
        written = digest not in self._names and digest not in self._last.paths
        self.bring(path, digest, file.gzip, file.body, file.compressed)
        return path, b"%b" % orjson.dumps(file.entry), file.gzip, digest if written else ""

    def bring(
        self,
        path: str,
        digest: str,
        gzip: tuple[str, int] | None,
        body: bytes | None = None,
        compressed: bytes | None = None,
    ) -> None:
        """A file, and its compressed form where it has one; their bytes where they may have to be written."""
        name, source, stage = f"files/{path}", self._names.get(digest), self._stage
        if source is not None:
            stage.link(name, source)
            if gzip:
                stage.link(f"{name}.gz", f"{source}.gz")
            return
        self._names[digest] = name
        held = self._last.paths.get(digest)
        if held is None:
            stage.write(name, body or b"", digest)
        else:
            stage.take(name, f"{self._last.files}/{held}", digest)
        if gzip and compressed and (held is None or self._last.compressed(held) != gzip):
            stage.write(f"{name}.gz", compressed, gzip[0])  # anew, too, where another program compressed it
        elif gzip:
            stage.take(f"{name}.gz", f"{self._last.files}/{held}.gz", gzip[0])


def _into_place(releases: Releases, stage: Stage, id: str) -> None:
    """The staged directory becomes releases/<id>, on disk before anything names it."""
    if releases.path(id).is_dir():  # damaged, or only its manifest is here
        releases.discard(id)
    stage.settle()
    releases.folder.mkdir(exist_ok=True)
    os.rename(stage.folder, releases.path(id))
    fsync_folder(releases.folder)
    fsync_folder(releases.out)


def _sources(documents: Documents) -> dict[str, dict[str, list[str]]]:
    """Kind and id → the files that say it."""
    found: dict[str, dict[str, list[str]]] = {}
    for kind in KINDS:
        of_kind, name = found.setdefault(kind.name, {}), kind.ids[-1]
        for document in getattr(documents, kind.name):
            paths = of_kind.setdefault(str(document.value[name]), [])
            for layer in document.layers:
                if layer.path not in paths:
                    paths.append(layer.path)
    return found
