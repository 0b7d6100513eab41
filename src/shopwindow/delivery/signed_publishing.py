"""Publishes and signs: what is current at a target, becomes what its metadata names.

`publishing` and `activation` decide which release is current, as they do where nobody
signs. Before that, it is made sure that there are keys, and that what lists the
objects of the release is right: it may have been written by somebody else. After that,
`signing` signs it.
"""

from dataclasses import dataclass
from pathlib import Path

from tuf.api.metadata import Root, TargetFile

from shopwindow.delivery import activation, layout, pointer, publishing, released, roots
from shopwindow.delivery import signing as signatures
from shopwindow.delivery.activation import MovedPointer, require_pointer
from shopwindow.delivery.bucket import Bucket
from shopwindow.delivery.outgoing import Outgoing
from shopwindow.delivery.publishing import BY_DEFAULT, Publication, PublishOptions
from shopwindow.delivery.signed_metadata import Chain, chain, id_of, proven
from shopwindow.delivery.signing import Signature, Signing
from shopwindow.problems import Failure


@dataclass(frozen=True)
class _Known:
    """What is signed at a target, and by which root."""

    chain: Chain
    root: Root

    def target(self, bucket: Bucket, id: str) -> TargetFile | None:
        """Return what lists a release, as it was signed earlier."""
        return proven(bucket, self.root, self.chain, id)


def publish(
    release: Outgoing,
    bucket: Bucket,
    signing: Signing,
    options: PublishOptions = BY_DEFAULT,
) -> tuple[Publication, Signature]:
    """Send a release to a target, make it the current one there, and sign that.

    With ``options.force`` also where a newer build is current, where somebody published
    this release without a signature, or where the target was signed in the future.
    Where the target is pinned to another release, that one's signatures are renewed.
    Raises Failure.
    """
    signed = _ready(bucket, signing, force=options.force)
    if not options.force:
        _require_right(bucket, release, signed)
    elif _target_of(bucket, release, signed) is None:
        _make_room(bucket, release)
    done = publishing.publish(release, bucket, options)
    if done.pinned:
        return done, signatures.renew(bucket, signing)
    target = _require_right(bucket, release, signed)
    if target is None:
        raise Failure(
            f"{bucket.where}: somebody deleted {layout.release_key(release.id)} meanwhile; "
            "run it again"
        )
    return done, signatures.sign(bucket, signing, target)


def roll_back(
    bucket: Bucket,
    id: str | None,
    signing: Signing,
    reason: str = "",
    *,
    force: bool = False,
    purges: bool = False,
) -> tuple[MovedPointer, Signature]:
    """Make an earlier release current, and sign new metadata that names it.

    ``force``: also where the target was signed in the future, because the clock of the
    last publisher was wrong. The rest is as for `activation.roll_back`. Raises Failure where no signature
    of today's keys names the release.
    """
    signed = _ready(bucket, signing, force=force)
    present = require_pointer(bucket, pointer.read(bucket).pointer)
    chosen = released.find(bucket, id) if id else present.to_roll_back_to()
    if chosen is None:
        raise Failure(
            f"{bucket.where}: the history names no release to roll back to; "
            "`--list` lists what there is"
        )
    target = signed.target(bucket, chosen)
    if target is None:
        raise Failure(
            f"{bucket.where}: no metadata that today's keys have signed names release "
            f"{chosen[:12]}, so it may be anybody's, and nothing was changed; build it "
            "again, and publish it with --force"
        )
    moved = activation.roll_back(bucket, chosen, reason, purges=purges)
    return moved, signatures.sign(bucket, signing, target)


def faults(bucket: Bucket, id: str, folder: Path) -> list[str]:
    """Return a line for each signature of a release at a target that is not as it
    should be.

    ``folder``: has the root; private keys are not needed. Raises Failure where it has
    none, and where nothing was published.
    """
    root = roots.read(folder).signed
    present = chain(bucket, root)
    target = proven(bucket, root, present, id)
    path = layout.release_key(id)
    stored = bucket.read(path)
    lines = []
    if target is None:
        lines.append(f"{path}: no metadata that these keys have signed names it")
    elif stored is None or target != _target(path, stored.data):
        lines.append(f"{path}: not what was signed")
    current = require_pointer(bucket, pointer.read(bucket).pointer).id
    if id == current and (present.target is None or id_of(present.target) != id):
        lines.append(
            f"{layout.TIMESTAMP}: does not lead to the current release; `shopwindow "
            f"publish TARGET --keys {folder}` signs it"
        )
    return lines


def _target(path: str, data: bytes) -> TargetFile:
    """Return the digest and size of what lists a release, as targets have them."""
    return TargetFile.from_data(path, data, ["sha256"])


def _make_room(bucket: Bucket, release: Outgoing) -> None:
    """Delete what lists a release at a target and may not be signed, if there is such.

    What would refuse the publication, refuses that as well. Raises Failure.
    """
    read = pointer.read(bucket)
    publishing.require_nobody_prunes(bucket, read)
    publishing.require_newer(release, read.pointer, bucket.where, force=True)
    bucket.delete([layout.release_key(release.id)])


def _ready(bucket: Bucket, signing: Signing, *, force: bool) -> _Known:
    present = signatures.ready(bucket, signing, force=force)
    return _Known(present, roots.read(signing.folder).signed)


def _require_right(
    bucket: Bucket, release: Outgoing, signed: _Known
) -> TargetFile | None:
    """Return what lists the release at a target; None where nothing does yet.

    Raises Failure where somebody else has written it, and nobody has signed that.
    """
    stored = bucket.read(layout.release_key(release.id))
    if stored is None:
        return None
    target = _target_of(bucket, release, signed)
    if target is None:
        raise Failure(
            f"{bucket.where}: release {release.id[:12]} is there, from another build, and "
            "no signature names it, so it may be anybody's; nothing was signed. With "
            "--force, yours takes its place"
        )
    return target


def _target_of(bucket: Bucket, release: Outgoing, signed: _Known) -> TargetFile | None:
    """Return what lists a release at a target, if that may be signed.

    It may, if it has the chunks of this very build, or if it was signed before: another
    build of the release has another build.json, and may have another file of an index.
    """
    path = layout.release_key(release.id)
    stored = bucket.read(path)
    if stored is None:
        return None
    actual = _target(path, stored.data)
    if _is_of(stored.data, release, bucket.where):
        return actual
    earlier = signed.target(bucket, release.id)
    return actual if earlier == actual else None


def _is_of(data: bytes, release: Outgoing, where: str) -> bool:
    """Return whether what lists a release lists the chunks of this build, and says
    nothing else.
    """
    try:
        published = layout.decode(data, release.id, where)
    except Failure:
        return False
    chunks = {
        name: [(chunk.digest, chunk.size) for chunk in part.chunks]
        for name, part in published.parts.items()
    }
    pieces = {
        name: [(piece.digest, piece.size) for piece in parts]
        for name, parts in release.parts.items()
    }
    said = (published.built, published.files, published.size)
    return chunks == pieces and said == (
        release.built,
        len(release.lines.files),
        release.size,
    )
