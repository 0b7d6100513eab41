"""Publishes a chain: sends what a target lacks of its releases, then lets its pointer
lead to it.

The order is what makes it safe to kill:

1. The pointer is read, and its version remembered.
2. Of each release those objects are sent that the one before it does not name. Before
   the first one comes the current release of the target. Each object is created, never
   overwritten; one that exists is as good.
3. `releases/<id>/manifest.json` is created. From now on the release is whole.
4. The pointer is replaced, if it is still the version of step 1.
5. Where somebody signs, the signed metadata is made to name the chain (`signing`).

Killed before the end, the next run finds the objects there, and finishes. The condition
of step 4 covers more than a second publisher: whoever prunes replaces the pointer first,
so no object can have been deleted between steps 2 and 4 without step 4 failing.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from shopwindow.content.reading.processes import Progress
from shopwindow.delivery import layout, pointer, signing
from shopwindow.delivery.bucket import Bucket, Headers, concurrently
from shopwindow.delivery.chunks import Chunk
from shopwindow.delivery.layout import MANIFEST_PART, Published
from shopwindow.delivery.outgoing import (
    PRIVATE_HEADERS,
    Object,
    Outgoing,
    OutgoingRelease,
)
from shopwindow.delivery.pointer import (
    CLOCKS_DIFFER,
    TargetPointer,
    overtaken,
    require_nobody_prunes,
)
from shopwindow.delivery.signing import (
    Signature,
    SignedListing,
    SignedMetadata,
    Signing,
)
from shopwindow.problems import Failure
from shopwindow.release.chain import Chain, Link

MANIFEST_HEADERS = Headers("application/json", PRIVATE_HEADERS.cache_control)


@dataclass(frozen=True)
class PublishOptions:
    """How to publish.

    ``reason``: goes into the history. ``force``: also where a newer build is current;
    what was published without a signature, or signed in the future. ``purges``:
    somebody will purge, so the pointer shall list what is to be purged. ``progress`` is
    called with how many objects are sent, and of how many. ``signing``: who signs;
    None: nobody.
    """

    reason: str = "publish"
    force: bool = False
    purges: bool = False
    progress: Progress | None = None
    signing: Signing | None = None


BY_DEFAULT = PublishOptions()
"""For whoever has no wishes."""


@dataclass(frozen=True)
class Publication:
    """What `publish` did.

    ``id``: the release that is in force now, and ``ahead`` those that follow it.
    ``omitted``: those after them that begin when the signature has ended.
    ``sent``: the bytes of each object that was created. ``previous``: the
    release that was current before, if any. ``activated``: the pointer has moved.
    ``pinned``: it has not, since it is pinned at ``previous``; signatures of that one
    are renewed then.
    """

    id: str
    ahead: Sequence[Link]
    omitted: Sequence[Link]
    sent: Sequence[int]
    previous: str | None
    activated: bool
    pinned: bool
    signature: Signature | None = None


def publish(
    going: Outgoing, bucket: Bucket, options: PublishOptions = BY_DEFAULT
) -> Publication:
    """Send the releases of a chain to a target, and make the chain the current one
    there.

    What begins when the signature has ended is left out: no host would believe it.
    Raises Failure, after which the pointer is as it was or as another publisher has set
    it.
    """
    signs = options.signing
    # Before anything is written, for a place may be somebody else's.
    present = pointer.read(bucket)
    signed = signing.ready(bucket, signs, force=options.force) if signs else None
    now = datetime.now(UTC)
    ends = signing.ends_of_next(signs) if signs else None
    links = going.chain.remaining(now).links
    omitted = [link for link in links[1:] if ends is not None and link.start >= ends]
    chain = Chain(links[: len(links) - len(omitted)])
    ids = list(dict.fromkeys(link.id for link in chain.links))
    id, releases = ids[0], [going.releases[id] for id in ids]

    require_nobody_prunes(bucket, present)
    is_same = present is not None and present.chain.continues(chain, now)
    may_be_older = options.force or is_same or (present is not None and present.pinned)
    _require_newer(releases[0], None if may_be_older else present, bucket.where, now)
    if signed:
        for release in releases:
            _require_right(bucket, release, signed, force=options.force)
    if not signs:
        pointer.require_right_clock(bucket, now)
    previous = present.id(now) if present else None
    sent: list[int] = []
    for before, release in zip((previous, *ids), releases, strict=False):
        sent += send(release, bucket, before, options.progress)

    is_pinned = present is not None and present.pinned and not is_same
    moves = not is_same and not is_pinned
    done = Publication(
        id=id,
        ahead=chain.links[1:],
        omitted=omitted,
        sent=sent,
        previous=previous,
        activated=moves,
        pinned=is_pinned,
    )
    moved = pointer.moved(
        present,
        chain,
        releases[0].last_built,
        now=now,
        action="publish",
        reason=options.reason,
        pin=False,
        purges=options.purges,
    )
    if moves and not pointer.move(bucket, present, moved):
        again = pointer.read(bucket)
        seen = [chain, present.chain] if present else [chain]
        if again is None or not any(again.chain.continues(one, now) for one in seen):
            state = "is there, but not activated"
            raise Failure(overtaken(bucket.where, id, again, state))
        rest = publish(going, bucket, options)  # pinned, pruned or purged meanwhile
        return replace(rest, sent=[*sent, *rest.sent])
    if not signs or not signed:
        return done
    if is_pinned:
        return replace(done, signature=signing.sign(bucket, signs))
    listed = [_require_right(bucket, release, signed) for release in releases]
    named = [one for one in listed if one]
    if len(named) < len(listed):
        raise Failure(
            f"{bucket.where}: somebody deleted what lists a release meanwhile; run it again"
        )
    current = present.chain if present and is_same else chain
    signature = signing.sign(bucket, signs, current, named)
    return replace(done, signature=signature)


# -- what is refused -------------------------------------------------------------------


def require_unsigned(bucket: Bucket) -> None:
    """Raise Failure where hosts follow signatures, which would not move."""
    if bucket.read_range(layout.TIMESTAMP, 0, 1) is not None:
        raise Failure(
            f"{bucket.where}: is signed, so hosts with a root would not follow; say --keys "
            f"DIR. To end that, delete what is below {layout.METADATA} there"
        )


def _require_newer(
    release: OutgoingRelease, present: TargetPointer | None, where: str, now: datetime
) -> None:
    """Raise Failure where a release is older than what is current at the target, or from
    the future. ``present`` None: it may be older.
    """
    built = datetime.fromisoformat(release.last_built)
    if built - now > CLOCKS_DIFFER:
        raise Failure(
            f"release {release.id[:12]} was built at {release.last_built[:19]}Z, which is in "
            "the future: set this machine's clock, and build again"
        )
    if present and built < datetime.fromisoformat(present.built):
        raise Failure(
            f"{where}: a newer build is current, {present.id(now)[:12]} of "
            f"{present.built[:19]}Z; release {release.id[:12]} is of "
            f"{release.last_built[:19]}Z. Publish it with --force, or go back with `rollback`"
        )


def _require_right(
    bucket: Bucket,
    release: OutgoingRelease,
    signed: SignedMetadata,
    *,
    force: bool = False,
) -> SignedListing | None:
    """Return the digest and size of what lists a release at a target; None where nothing
    does. Raises Failure where it may not be signed.

    It may, if it has the chunks of this very build, or if it was signed before: another
    build of the release has another build.json, and may have another file of an index.
    With ``force`` it is deleted, so that ours takes its place.
    """
    key = layout.release_key(release.id)
    stored = bucket.read(key)
    listed = signing.listed(key, stored)
    if stored is None or _is_of(stored.data, release, bucket.where):
        return listed
    if signed.listings.get(key) == listed:
        return listed
    if not force:
        raise Failure(
            f"{bucket.where}: release {release.id[:12]} is there, from another build, and "
            "no signature names it, so it may be anybody's; nothing was signed. With "
            "--force, yours takes its place"
        )
    bucket.delete([key])
    return None


def _is_of(data: bytes, release: OutgoingRelease, where: str) -> bool:
    """Return whether what lists a release lists the chunks of this build, and says
    nothing else.
    """
    try:
        published = layout.decode(data, release.id, where)
    except Failure:
        return False
    return release.bundled(_chunks(published))[0] == published


def _chunks(published: Published) -> dict[str, Chunk]:
    """Return the chunks of a release at a target by their digest."""
    return {chunk.digest: chunk for part in published.parts.values() for chunk in part}


# -- sending ---------------------------------------------------------------------------


def send(
    release: OutgoingRelease,
    bucket: Bucket,
    before: str | None,
    progress: Progress | None = None,
) -> list[int]:
    """Create what a release consists of; return the size of each object created.

    ``before``: a release of the target, whose objects are there.
    """
    key = layout.release_key(release.id)
    if bucket.read(key) is not None:
        return []
    objects, chunks = _there(release, bucket, before)
    published, bundles = release.bundled(chunks)
    every = {**release.files, **bundles}.values()
    missing = [item for item in every if item.digest not in objects]

    def create(item: Object) -> int:
        name = layout.object_key(item.digest)
        return bucket.create(name, item.body(), item.headers) * item.size

    sizes = concurrently(create, missing, progress)
    listing = layout.encode(published)
    if bucket.create(key, listing, MANIFEST_HEADERS):
        sizes.append(len(listing))
    return [size for size in sizes if size]


def _there(
    release: OutgoingRelease, bucket: Bucket, before: str | None
) -> tuple[Set[str], Mapping[str, Chunk]]:
    """Return the digests of the objects that a target has, and chunks by their digest:
    those of the release ``before``.

    Most chunks of its manifest are those of ours; only the others are read. Where there
    is none, a killed run may have left objects, which are listed; so they are where
    somebody deleted the list of that release, to have it sent again.
    """
    current = layout.published_or_none(bucket, before) if before else None
    if current is None:
        return layout.present(bucket), {}
    at_hand = {chunk.digest: chunk.read() for chunk in release.parts[MANIFEST_PART]}
    return layout.objects(bucket, current, at_hand), _chunks(current)
