"""Puts the chunks that a target lacks one after the other into objects."""

from collections.abc import Mapping
from hashlib import sha256

from shopwindow.delivery.layout import PartChunk, Published, ReleasePart
from shopwindow.delivery.outgoing import (
    PRIVATE_HEADERS,
    Object,
    Outgoing,
    OutgoingChunk,
)

BUNDLE_BYTES = 8 * 1024 * 1024
"""Bytes of a bundle. The first publication of 20 MB sends three of them, over several
connections. A larger one would stay at the target longer for the sake of one chunk.
"""


def bundled(
    release: Outgoing, there: Mapping[str, PartChunk]
) -> tuple[Published, dict[str, Object]]:
    """Return what a target will say of a release, and the objects of its new chunks.

    ``there``: the chunks that the target has, by digest. The objects are by digest, too.
    """
    located = dict(there)
    new = {
        piece.digest: piece
        for pieces in release.parts.values()
        for piece in pieces
        if piece.digest not in there
    }
    bundles = {}
    for pieces in _groups(list(new.values())):
        bundle = _bundle(pieces)
        bundles[bundle.digest] = bundle
        offset = 0
        for piece in pieces:
            located[piece.digest] = PartChunk(
                piece.digest, piece.size, bundle.digest, offset
            )
            offset += piece.size
    parts = {
        name: ReleasePart(tuple(located[piece.digest] for piece in pieces))
        for name, pieces in release.parts.items()
    }
    files = len(release.lines.files)
    published = Published(release.id, release.built, files, release.size, parts)
    return published, bundles


def _groups(pieces: list[OutgoingChunk]) -> list[list[OutgoingChunk]]:
    """Return the pieces in groups of BUNDLE_BYTES at most."""
    groups: list[list[OutgoingChunk]] = []
    group: list[OutgoingChunk] = []
    size = 0
    for piece in pieces:
        if group and size + piece.size > BUNDLE_BYTES:
            groups.append(group)
            group, size = [], 0
        group.append(piece)
        size += piece.size
    return [*groups, group] if group else groups


def _bundle(pieces: list[OutgoingChunk]) -> Object:
    """Return the object of some pieces, whose bytes are read again when it is sent."""
    digest = sha256()
    for piece in pieces:
        digest.update(piece.read())
    return Object(digest.hexdigest(), pieces, PRIVATE_HEADERS)
