"""Checked documents → a release: freeze, stage, settle, rename into place, switch."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from vitrine.content import model
from vitrine.content.listing import KINDS
from vitrine.content.model import Content, Documents
from vitrine.content.processes import Ended, Progress, counted, give_back, processors, share, turns
from vitrine.content.schema import Schemas
from vitrine.interface.formats import FORMATS
from vitrine.problems import Failure
from vitrine.release import catalog, freeze, manifest
from vitrine.release.changes import documents_changed
from vitrine.release.freeze import FEW, Asking, File, Known
from vitrine.release.manifest import Manifest
from vitrine.release.publish import Releases
from vitrine.release.stage import Stage, fsync_folder, staging

CONTENT = "content.json"
MANY = 200_000
"""So many files a release may have unless more are asked for: whoever freezes a million products shall know it."""

Queue = Callable[[], Iterator[Sequence[Asking]]]


@dataclass(frozen=True)
class Order:
    """What to build, and from what. ``fresh``: nothing is taken over from an earlier release.

    ``documents`` loses its events to the build, which reads them from content.json's bytes and has no room for both.
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

    ``paths``: digest → a path with these bytes; empty where only the manifest is here. ``known``: what needs no
    answering beyond the first format, because this very program made it from the same value. ``index``: its catalog.
    """

    manifest: Manifest | None = None
    content: bytes = b""
    files: Path | None = None
    paths: Mapping[str, str] = field(default_factory=dict)
    gzip: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    known: Known = field(default_factory=dict)
    index: catalog.Before | None = None


def build(order: Order, releases: Releases) -> Built:
    """Write a release beside the others; ``current`` stays. Raises Failure; then nothing has changed.

    The caller holds the lock.
    """
    content = model.live(order.documents, order.moment)
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
        data, sources = content.pack(), orjson.dumps(_sources(order.documents))
        order.documents.event.clear()  # a third of all memory
        give_back()

        def meanwhile() -> None:
            """What of the release is no answer, while other processes freeze the answers."""
            stage.begin_to_settle()
            own = _private(data, last, order.edge(content))
            stage.write(CONTENT, data, own.digest)
            stage.add("sources.json", sources)
            written.append(own)

        records = _files(order, content, last, stage, meanwhile)
        (own,) = written
        private = {CONTENT: {"size": len(data), "sha256": own.digest}, **made.private}
        encoded = manifest.encode({record.path: record.line for record in records}, private, next_change, own.edge)
        id = manifest.release_id(encoded)
        existed = releases.complete(id) and not _replaceable(order, releases, id)
        if not existed:
            stage.write("manifest.json", encoded, id)
            gzip = {f"{record.path}.gz": record.gzip for record in records if record.gzip}
            note = {**order.note, **made.note, "at": order.moment.isoformat(), "program": order.program, "gzip": gzip}
            if order.clock:
                note["ended"] = order.clock().isoformat(timespec="milliseconds")
            stage.add("build.json", orjson.dumps({**note, "schemas": order.schemas.digest}))
            _into_place(releases, stage, id)
    before = last.manifest.files.keys() if last.manifest else set()
    return Built(
        id,
        len(records),
        0 if existed else len({record.digest for record in records if record.written}),
        existed,
        len(before - {record.path for record in records}),
        {**own.changed, **made.changed},
        next_change,
        edge_changed=last.manifest is None or last.manifest.edge != own.edge,
    )


class _Private(NamedTuple):
    """What is found out about content.json: its digest, what changed; and the digest of the edge."""

    digest: str
    changed: Mapping[str, Sequence[str]]
    edge: str


def _private(data: bytes, last: _Last, edge: str) -> _Private:
    changed = documents_changed(last.content, data) if last.content else {}
    return _Private(sha256(data).hexdigest(), changed, edge)


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
        folder, listed, note = releases.path(id), releases.manifest(id), releases.note(id)
    except Failure:  # `vitrine verify` tells what is wrong with it; this build takes nothing from it
        return _Last()
    content = (folder / CONTENT).read_bytes() if (folder / CONTENT).is_file() else b""
    if order.fresh or not releases.complete(id):
        return _Last(listed, content)
    paths = {entry["sha256"]: path for path, entry in listed.files.items()}
    gzip = {path: (digest, size) for path, (digest, size) in note.get("gzip", {}).items()}
    known: Known = {}
    if "gzip" in note and (note.get("program"), note.get("schemas")) == (order.program, order.schemas.digest):
        known = {path: (e["sha256"], e["size"], gzip.get(f"{path}.gz")) for path, e in listed.files.items()}
    private = listed.private.get(catalog.NAME)
    before = catalog.Before(folder / catalog.NAME, private, note.get("catalog", {})) if private else None
    return _Last(listed, content, folder / "files", paths, gzip, known, before)


class _Record(NamedTuple):
    """A file of the release: its line of the manifest, its compressed form, whether it was written."""

    path: str
    digest: str
    line: bytes
    gzip: tuple[str, int] | None
    written: bool


def _files(order: Order, content: Content, last: _Last, stage: Stage, meanwhile: Callable[[], None]) -> list[_Record]:
    """Every answer; bytes that the last release has not are written. Raises Failure where two have one name."""
    lists = freeze.askings(content)
    count = sum(map(len, lists)) * len(FORMATS)
    if count > order.allowed:
        found = f"{count:,} files would be written, and {order.allowed:,} are allowed"
        raise Failure(
            f"{found}; --allow-files {count} allows them, or freeze fewer products (featured, catalog.freeze)"
        )
    for schema in {asking.operation.schema for asked in lists for asking in asked}:
        order.schemas.validator(schema)  # compiled before the fork, for all
    with ExitStack() as stack:
        queues = [stack.enter_context(turns(asked, FEW if number else 1)) for number, asked in enumerate(lists)]

        def work(number: int, step: Callable[[], None]) -> list[_Record]:
            return list(_freeze_part(_asked(queues, number), order, content, last, stage, step))

        try:
            progress = counted(order.progress, sum(map(len, lists)))
            results = share(work, order.jobs or processors(), progress, meanwhile)
        except Ended as error:
            raise Failure(str(error)) from None
    records = [record for result in results for record in result]
    folded: dict[str, str] = {}
    for record in records:
        other = folded.setdefault(record.path.lower(), record.path)
        if other is not record.path:
            raise Failure(f"two answers have one file name: {other} and {record.path}")
    _store_once(records, stage)
    return records


def _asked(queues: Sequence[Queue], number: int) -> Iterator[Asking]:
    """All queues, from another one in each process: so they fill different directories, each of which has one lock."""
    start = number % len(queues)
    for take in (*queues[start:], *queues[:start]):
        for run in take():
            yield from run
        give_back()  # an answer that holds all stores is large


def _freeze_part(
    asked: Iterable[Asking], order: Order, content: Content, last: _Last, stage: Stage, step: Callable[[], None]
) -> Iterator[_Record]:
    """One process's share: bytes that exist, in the last release or in this one, are linked; others are written."""
    staged: dict[str, str] = {}  # by this process: digest → name
    for file in freeze.freeze(asked, content, order.schemas, last.known, step):
        digest, path = file.entry["sha256"], file.entry["path"]
        name, source = f"files/{path}", staged.get(digest)
        if source is not None:
            stage.link(name, source)
            if file.gzip:
                stage.link(f"{name}.gz", f"{source}.gz")
        else:
            staged[digest] = name
            _bring(file, name, last, stage)
        yield _Record(
            path, digest, b"%b" % orjson.dumps(file.entry), file.gzip, source is None and digest not in last.paths
        )


def _bring(file: File, name: str, last: _Last, stage: Stage) -> None:
    """Bytes that this process has not staged yet: from the last release where that has them."""
    digest = file.entry["sha256"]
    held = last.paths.get(digest)
    if held is None:
        stage.write(name, file.body or b"", digest)
    else:
        stage.take(name, f"{last.files}/{held}", digest)
    if file.gzip and file.compressed and (held is None or last.gzip.get(f"{held}.gz") != file.gzip):
        stage.write(f"{name}.gz", file.compressed, file.gzip[0])  # anew, too, where another program compressed it
    elif file.gzip:
        stage.take(f"{name}.gz", f"{last.files}/{held}.gz", file.gzip[0])


def _store_once(records: Sequence[_Record], stage: Stage) -> None:
    """Bytes that several processes wrote, and linked to what they wrote, are kept once."""
    first: dict[str, str] = {}
    several: set[str] = set()
    for record in records:
        if record.written and first.setdefault(record.digest, record.path) != record.path:
            several.add(record.digest)
    for record in records:
        if record.digest in several:
            for ending in ("", ".gz") if record.gzip else ("",):
                stage.relink(f"files/{record.path}{ending}", f"files/{first[record.digest]}{ending}")


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
        of_kind = found.setdefault(kind.name, {})
        for document in getattr(documents, kind.name):
            paths = of_kind.setdefault(str(document.value[kind.ids[-1]]), [])
            paths += [layer.path for layer in document.layers if layer.path not in paths]
    return found
