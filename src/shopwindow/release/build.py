"""A build turns checked documents into a release.

1. The documents that are live at the build's instant are the content.
2. Its indexes are built, before anything else, because answers are rendered from them
   (`indexes`).
3. The order may refuse the content, such as for a contract that it breaks (`accept`).
4. A plan says which answers to render, and which files of the previous release to reuse
   (`plan`, `previous`).
5. The answers are rendered into a staging directory, where bytes that the previous
   release holds are linked (`render`, `stage`).
6. The manifest lists every file with its digest. The manifest's own digest is the
   release id, so equal content gives an equal id on any host (`manifest`, `unserved`).
7. One syncfs brings everything to disk, a rename puts it among the releases, and the
   directories are synced.

The order is forced by the id. It follows from the digests of all files, so a build
knows only after step 5 whether its release exists already. Where the plan reuses every
file, the build knows that before step 5, and skips it if the release exists.

A build never moves `current`: `activation` does. So a build that fails, or is killed,
leaves every release as it was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shopwindow.content.documents import documents
from shopwindow.content.documents.documents import Content
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Failure
from shopwindow.release import indexes, manifest, reads
from shopwindow.release.chain import Chain, Link
from shopwindow.release.changes import documents_changed
from shopwindow.release.contracts import ContractsBroken
from shopwindow.release.order import Asking, BuildOrder
from shopwindow.release.plan import planned
from shopwindow.release.previous import Previous, previous_release, record_path
from shopwindow.release.releases import Releases
from shopwindow.release.render import StagedFiles, render
from shopwindow.release.stage import staging
from shopwindow.release.unserved import Unserved, stage_content, stage_notes
from shopwindow.release.verify import verify
from shopwindow.release.waiting import Waiting, edited, noted, waiting


@dataclass(frozen=True)
class Built:
    """What a build did.

    ``files``, ``written`` and ``removed`` count files below files/: all of the release,
    those whose bytes were written rather than linked, and those of the previous release
    that this one lacks. ``existed``: the release was there already, so nothing was
    written. ``documents``: kind → ids of the documents that differ from the previous
    release; of indexes alone where its content.json is not here. ``next_change``: when
    the same documents would give another release (RFC 3339). ``waiting``: the documents
    that were edited since the previous release, and that no file shows.

    ``chain``: this release and those that were built ahead; ``next_change`` is then that
    of the last one. ``cut``: why the chain ends before an instant, and ``broken`` what
    is wrong with the content from then on.
    """

    id: str
    files: int
    written: int
    existed: bool
    removed: int
    documents: Mapping[str, Sequence[str]]
    next_change: str
    chain: Chain
    waiting: Sequence[Waiting] = ()
    cut: str = ""
    broken: ContractsBroken | None = None


def build(order: BuildOrder, releases: Releases, *, after: str | None = None) -> Built:
    """Write a release beside the others, and leave ``current`` where it is.

    ``after``: the release that was built just before as a part of the same chain, to
    build upon; None: the current one. The caller holds the lock of the output directory.
    Raises Failure where the release cannot be built; then no release has changed.
    """
    inputs = order.inputs
    interface, checked = inputs.interface, inputs.documents
    live = documents.live(checked, order.moment, interface.kinds, interface.clocks)
    fresh = order.fresh and after is None
    previous = previous_release(releases, inputs, after=after, fresh=fresh)
    previous_note = releases.note(previous.id) if previous.id else {}
    hidden = list(waiting(checked, interface.kinds, order.moment))

    with (
        staging(releases.out) as stage,
        indexes.damage_reported(previous.indexes),
    ):
        built_indexes = indexes.build(
            inputs, live, previous.indexes, stage, jobs=order.jobs, steps=order.steps
        )
        digests = indexes.digests_of(built_indexes.files)
        asking = Asking(interface, checked, live, built_indexes.open)
        order.accept(asking, digests)
        content = asking.indexed()
        unserved = stage_content(order, content, built_indexes.files, previous, stage)
        plan = planned(
            inputs,
            content,
            previous,
            digests,
            is_same=previous.has_content(unserved.private),
        )

        # Without an answer to render, the reused files are all files of the release.
        files = StagedFiles(plan.reused)
        manifest_bytes = unserved.manifest(files.lines)
        existed = not plan.answers and _exists(order, releases, manifest_bytes)
        if existed:
            stage.drop()
        else:
            files = render(order, plan, content, previous, stage)
            manifest_bytes = unserved.manifest(files.lines)
            existed = _exists(order, releases, manifest_bytes)

        release_id = manifest.release_id(manifest_bytes)
        if not existed:
            stage_notes(
                order, built_indexes.files, manifest_bytes, noted(hidden), stage
            )
            releases.add(stage, release_id)

        # Even where the release existed: what its answers have read may differ now.
        path = record_path(releases, release_id)
        reads.save(path, (release_id, *plan.state), plan.record)

    changed = _documents_changed(previous, unserved, content, interface)
    return Built(
        id=release_id,
        files=len(files.lines),
        written=0 if existed else len(files.written),
        existed=existed,
        removed=len(previous.lines.keys() - files.lines.keys()),
        documents={**changed, **built_indexes.changed},
        next_change=unserved.next_change,
        chain=Chain((Link(release_id, order.moment),)),
        waiting=edited(hidden, previous_note),
    )


def _documents_changed(
    previous: Previous, unserved: Unserved, content: Content, interface: Interface
) -> Mapping[str, Sequence[str]]:
    """Return kind → ids of the documents that differ from the previous release.

    It is empty where there is none to compare with, or its content.json is the same.
    """
    ours = unserved.private[manifest.CONTENT_FILE]
    if previous.private.get(manifest.CONTENT_FILE) == ours:
        return {}
    before = previous.read_content(interface)
    return documents_changed(before, content, interface) if before else {}


def _exists(order: BuildOrder, releases: Releases, manifest_bytes: bytes) -> bool:
    """Return whether the release with this manifest exists and is intact.

    A ``fresh`` build returns False for a damaged release, and so replaces it. Any other
    build raises Failure for one, and takes the current release, and those that follow
    it, for intact without a look at their files, since every build links to such unread.
    """
    release_id = manifest.release_id(manifest_bytes)
    if not releases.complete(release_id):
        return False
    followed = [link.id for link in releases.chain().links]
    if release_id in followed and not order.fresh:
        return True

    damage = verify(releases, release_id)
    if damage and not order.fresh:
        first_three = "; ".join(damage[:3])
        raise Failure(
            f"release {release_id} exists and is damaged: {first_three}; "
            "build with --no-cache to replace it"
        )
    return not damage
