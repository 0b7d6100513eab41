"""A build turns checked documents into a release.

1. The documents that are live at the build's instant are the content.
2. Its indexes are built, before anything else, because answers are rendered from them
   (`indexes`).
3. A plan says which answers to render, and which files of the previous release to keep (`plan`,
   `previous`).
4. The answers are rendered into a staging directory, where bytes that the previous release
   holds are linked (`render`).
5. The manifest lists every file with its digest. The manifest's own digest is the release id,
   so equal content gives an equal id on any host.
6. One syncfs brings everything to disk, a rename puts it among the releases, and the
   directories are synced.

The id follows from the digests of all files, so a build knows only after step 4 whether its
release exists already. It knows that before step 4 where nothing is left to render, and then
stages nothing. A build never moves `current`: `publish` does. So a build that fails, or is
killed, leaves every release as it was.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from shopwindow.content import collections, documents, schedule
from shopwindow.content.documents import Content, Documents
from shopwindow.content.processes import Progress, processors
from shopwindow.content.schema import Schemas
from shopwindow.interface.interface import Interface
from shopwindow.problems import Failure
from shopwindow.release import indexes, manifest, reads, stored
from shopwindow.release.changes import documents_changed
from shopwindow.release.indexes import BuiltIndexes
from shopwindow.release.plan import planned
from shopwindow.release.previous import Previous, previous_release, record_path
from shopwindow.release.publish import Releases
from shopwindow.release.render import Files, merged, render
from shopwindow.release.stage import Stage, fsync_folder, staging
from shopwindow.release.verify import verify

MAX_FILES = 200_000
"""Files that a release may have unless an option allows more: nobody shall pre-render a million
products unawares.
"""


@dataclass(frozen=True)
class BuildOrder:
    """What to build, and from what.

    ``moment``: the instant at which documents must be live. ``edge`` returns the digest of the
    edge's configuration. ``program``: a digest of this program. ``note``: what else build.json
    shall say. ``jobs``: how many processes share the work; None: one a processor. ``fresh``:
    take nothing over from the previous release. ``allowed``: the most files that there may be.
    ``clock`` returns the time when the build ends; None: build.json does not say it.
    """

    interface: Interface
    documents: Documents
    schemas: Schemas
    moment: datetime
    edge: Callable[[Content], str]
    program: str
    note: Mapping[str, Any]
    jobs: int | None = None
    fresh: bool = False
    progress: Progress | None = None
    allowed: int = MAX_FILES
    clock: Callable[[], datetime] | None = None


@dataclass(frozen=True)
class Built:
    """What a build did.

    ``files``, ``written`` and ``removed`` count files below files/: all of the release, those
    whose bytes were written, and those of the previous release that this one lacks.
    ``existed``: the release was there already. ``documents``: kind → ids of the documents that
    differ from the previous release, where its content.json is here. ``next_change``: when the
    same documents would give another release (RFC 3339).
    """

    id: str
    files: int
    written: int
    existed: bool
    removed: int
    documents: Mapping[str, Sequence[str]]
    next_change: str
    edge_changed: bool


def build(order: BuildOrder, releases: Releases) -> Built:
    """Write a release beside the others, and leave ``current`` where it is.

    The caller holds the lock of the output directory. Raises Failure; then nothing has changed.
    """
    interface = order.interface
    live = documents.live(order.documents, order.moment, interface.kinds, interface.clocks)
    previous = previous_release(
        releases, interface, order.program, order.schemas.digest, fresh=order.fresh
    )
    jobs = order.jobs or processors()
    with staging(releases.out) as stage:
        built = indexes.build(
            interface.indexes,
            order.documents.feeds,
            live,
            stage,
            previous.indexes,
            order.program,
            jobs,
            order.progress,
        )
        content = live.with_indexes(built.opened)
        beside = _beside(order, content, previous, built, stage)
        state = order.program, order.schemas.digest
        plan = planned(interface, content, previous, state, built.digests, order.allowed)

        files = Files(plan.kept)
        listed = beside.manifest(files.lines)
        nothing_to_render = not any(plan.answers)
        existed = nothing_to_render and _exists(order, releases, listed)
        if existed:
            stage.drop()
        else:
            files = render(plan, content, order.schemas, previous, stage, jobs, order.progress)
            listed = beside.manifest(files.lines)
            existed = _exists(order, releases, listed)

        id = manifest.release_id(listed)
        if not existed:
            _write(order, stage, built, listed)
            _put_in_place(releases, stage, id)
        reads.save(
            record_path(releases), (id, *plan.state), merged(plan.records, files.records)
        )
    removed = previous.lines.keys() - files.lines.keys()
    return Built(
        id=id,
        files=len(files.lines),
        written=0 if existed else len(files.written),
        existed=existed,
        removed=len(removed),
        documents=beside.changed,
        next_change=beside.next_change,
        edge_changed=previous.edge != beside.edge,
    )


@dataclass(frozen=True)
class _Beside:
    """What a release holds beside the answers below files/.

    ``private``: the manifest's entries of files that are not served. ``changed``: kind → ids of
    the documents that differ from the previous release. ``edge``: the digest of the edge's
    configuration. ``next_change``: when the same documents would give another release (RFC
    3339).
    """

    private: Mapping[str, Mapping[str, Any]]
    changed: Mapping[str, Sequence[str]]
    edge: str
    next_change: str

    def manifest(self, lines: Mapping[str, bytes]) -> bytes:
        """Return the bytes of manifest.json, given the lines of all answers by path."""
        return manifest.encode(lines, self.private, self.next_change, self.edge)


def _beside(
    order: BuildOrder, content: Content, previous: Previous, built: BuiltIndexes, stage: Stage
) -> _Beside:
    """Stage content.json, and return what the release holds beside its answers.

    That comes before rendering, so that no process has the bytes of content.json in memory
    while it renders.
    """
    data = content.encode()
    private: dict[str, Mapping[str, Any]] = {
        manifest.CONTENT_FILE: {
            "size": len(data),
            "sha256": stage.add(manifest.CONTENT_FILE, data),
        }
    }
    if order.interface.collections:
        stored_collections = collections.encode(order.interface.collections)
        size, digest = len(stored_collections), stage.add(stored.FILE, stored_collections)
        private[stored.FILE] = {"size": size, "sha256": digest}
    changed: Mapping[str, Sequence[str]] = {}
    if previous.content:
        changed = documents_changed(previous.content, content, order.interface)
    zone, kinds = order.documents.zone, order.interface.kinds
    boundaries = documents.boundaries(order.documents, kinds)
    next_change = schedule.next_change(boundaries, order.interface.clocks, zone, order.moment)
    private |= built.private
    changed = {**changed, **built.changed}
    return _Beside(
        private, changed, order.edge(content), next_change.isoformat(timespec="seconds")
    )


def _exists(order: BuildOrder, releases: Releases, listed: bytes) -> bool:
    """Return whether the release with this manifest exists and is intact.

    The current release counts as intact without a look at its files, since every build links to
    them unread. A ``fresh`` build verifies that one too, and replaces a damaged release; any
    other build raises Failure for it.
    """
    id = manifest.release_id(listed)
    if not releases.complete(id):
        return False
    if id == releases.current() and not order.fresh:
        return True
    wrong = verify(releases, id)
    if wrong and not order.fresh:
        shown = "; ".join(wrong[:3])
        raise Failure(
            f"release {id} exists and is damaged: {shown}; build with --no-cache to replace it"
        )
    return not wrong


def _write(order: BuildOrder, stage: Stage, built: BuiltIndexes, listed: bytes) -> None:
    """Stage the files beside files/: the manifest, and what only operators and later builds
    read.
    """
    stage.add("sources.json", orjson.dumps(_sources(order)))
    stage.add("manifest.json", listed)
    note = {
        **order.note,
        **built.notes,
        "at": order.moment.isoformat(),
        "program": order.program,
    }
    if order.clock:
        note["ended"] = order.clock().isoformat(timespec="milliseconds")
    stage.add("build.json", orjson.dumps({**note, "schemas": order.schemas.digest}))


def _put_in_place(releases: Releases, stage: Stage, id: str) -> None:
    """Rename the staged directory to releases/<id>. Its files are on disk before that, so the
    name never lacks one.
    """
    if releases.path(id).is_dir():  # damaged, or only its manifest is here
        releases.discard(id)
    stage.settle()
    releases.folder.mkdir(exist_ok=True)
    os.rename(stage.folder, releases.path(id))
    fsync_folder(releases.folder)
    fsync_folder(releases.out)


def _sources(order: BuildOrder) -> dict[str, dict[str, list[str]]]:
    """Return the paths of the YAML files that each document comes from, by its kind and
    identity.
    """
    sources: dict[str, dict[str, list[str]]] = {}
    for kind in order.interface.kinds:
        if kind.streamed or kind.identity is None:
            continue
        by_identity = sources.setdefault(kind.name, {})
        for document in order.documents.of(kind.name):
            paths = (layer.path for layer in document.layers)
            by_identity[str(document.value[kind.identity])] = list(dict.fromkeys(paths))
    return sources
