"""A build turns checked documents into a release.

1. The documents that are live at the build's instant are the content.
2. Its indexes are built, before anything else, because answers are rendered from them
   (`indexes`).
3. A plan says which answers to render, and which files of the previous release to keep
   (`plan`, `previous`).
4. The answers are rendered into a staging directory, where bytes that the previous
   release holds are linked (`render`, `stage`).
5. The manifest lists every file with its digest. The manifest's own digest is the
   release id, so equal content gives an equal id on any host (`manifest`, `unserved`).
6. One syncfs brings everything to disk, a rename puts it among the releases, and the
   directories are synced.

The id follows from the digests of all files, so a build knows only after step 4 whether
its release exists already. Where the plan leaves nothing to render it knows that
before, and then stages nothing. A build never moves `current`: `publish` does. So a
build that fails, or is killed, leaves every release as it was.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shopwindow.content import documents
from shopwindow.problems import Failure
from shopwindow.release import indexes, manifest, reads
from shopwindow.release.changes import documents_changed
from shopwindow.release.order import BuildOrder
from shopwindow.release.plan import planned
from shopwindow.release.previous import previous_release, record_path
from shopwindow.release.publish import Releases
from shopwindow.release.render import StagedFiles, merged, render
from shopwindow.release.stage import Stage, fsync_folder, staging
from shopwindow.release.unserved import stage_content, stage_notes
from shopwindow.release.verify import verify


@dataclass(frozen=True)
class Built:
    """What a build did.

    ``files``, ``written`` and ``removed`` count files below files/: all of the release,
    those whose bytes were written, and those of the previous release that this one
    lacks. ``existed``: the release was there already. ``documents``: kind → ids of the
    documents that differ from the previous release, where its content.json is here.
    ``next_change``: when the same documents would give another release (RFC 3339).
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

    The caller holds the lock of the output directory. Raises Failure; then nothing has
    changed.
    """
    interface = order.interface
    live = documents.live(
        order.documents, order.moment, interface.kinds, interface.clocks
    )
    previous = previous_release(releases, interface, order.built_by, fresh=order.fresh)

    with staging(releases.out) as stage:
        built_indexes = indexes.build(order, live, previous.indexes, stage)
        content = live.with_indexes(built_indexes.opened)
        unserved = stage_content(order, content, built_indexes, stage)
        plan = planned(order, content, previous, built_indexes.digests)

        files = StagedFiles(plan.kept)
        listed = unserved.manifest(files.lines)
        existed = not any(plan.answers) and _exists(order, releases, listed)
        if existed:
            stage.drop()
        else:
            files = render(order, plan, content, previous, stage)
            listed = unserved.manifest(files.lines)
            existed = _exists(order, releases, listed)

        id = manifest.release_id(listed)
        if not existed:
            stage_notes(order, built_indexes, listed, stage)
            _put_in_place(releases, stage, id)
        records = merged(plan.records, files.records)
        reads.save(record_path(releases), (id, *plan.state), records)

    changed = {}
    if previous.content:
        changed = documents_changed(previous.content, content, interface)
    return Built(
        id=id,
        files=len(files.lines),
        written=0 if existed else len(files.written),
        existed=existed,
        removed=len(previous.lines.keys() - files.lines.keys()),
        documents={**changed, **built_indexes.changed},
        next_change=unserved.next_change,
        edge_changed=previous.edge != unserved.edge,
    )


def _exists(order: BuildOrder, releases: Releases, listed: bytes) -> bool:
    """Return whether the release with this manifest exists and is intact.

    The current release counts as intact without a look at its files, since every build
    links to them unread. A ``fresh`` build verifies that one too, and replaces a
    damaged release; any other build raises Failure for it.
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


def _put_in_place(releases: Releases, stage: Stage, id: str) -> None:
    """Rename the staged directory to releases/<id>.

    Its files are on disk before that, so the name never lacks one.
    """
    if releases.path(id).is_dir():  # damaged, or only its manifest is here
        releases.discard(id)
    stage.settle()
    releases.folder.mkdir(exist_ok=True)
    os.rename(stage.folder, releases.path(id))
    fsync_folder(releases.folder)
    fsync_folder(releases.out)
