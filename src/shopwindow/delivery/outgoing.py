"""The releases of an output directory that are to be published, as what has to lie at a
target: their objects.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import orjson

from shopwindow import library
from shopwindow.delivery.bucket import Headers
from shopwindow.delivery.chunks import Chunk, cut, groups
from shopwindow.delivery.layout import BUILD_PART, MANIFEST_PART, Published, size_of
from shopwindow.interface.answering.answer import cache_control
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.build_notes import last_build
from shopwindow.release.chain import Chain
from shopwindow.release.manifest import ManifestLines
from shopwindow.release.releases import Releases, private_digest
from shopwindow.release.stage import has_bytes
from shopwindow.starter.begin import public_keys

PRIVATE_HEADERS = Headers(
    "application/octet-stream", "private, max-age=31536000, immutable"
)
"""How parts are served. They are for service hosts, so no shared cache keeps them;
under their names, which are digests, they never change.
"""

BUNDLE_BYTES = 8 * 1024 * 1024
"""Bytes of a bundle of chunks. The first publication of 20 MB sends three of them, over
several connections. A larger one would stay at the target longer for the sake of one
chunk.
"""


@dataclass(frozen=True)
class Object:
    """What is to be stored under a digest (SHA-256, hex): chunks of files, one after the
    other; and how it is served.
    """

    digest: str
    chunks: Sequence[Chunk]
    headers: Headers

    @property
    def size(self) -> int:
        """Bytes of all chunks."""
        return size_of(self.chunks)

    def body(self) -> bytes:
        """Return what to send: an answer, which its build has held in memory, too, or
        BUNDLE_BYTES at most. Raises Failure where a file is not what was built.
        """
        data = b""
        with suppress(FileNotFoundError):
            data = b"".join(chunk.read() for chunk in self.chunks)
        if sha256(data).hexdigest() != self.digest:
            raise _not_built(self.chunks[0].holder)
        return data


def _not_built(path: str | Path) -> Failure:
    return Failure(
        f"{path}: missing, or not what was built, so nothing leads to this release; "
        "`shopwindow verify` lists all that is damaged"
    )


def require_secret_keys(out: Path, interface: Interface) -> None:
    """Raise Failure where the current release has an API key that everybody knows."""
    if interface.applications is None:
        return
    id, known = Releases(out).find("current"), public_keys()
    content = library.released_content(interface, out)
    for name, digests in interface.keys(content).items():
        for digest in known.intersection(digests):
            raise Failure(
                f"release {id[:12]}: everybody knows the key of {name} whose digest is "
                f"{digest[:8]}…, for it is an example; nothing was published. `shopwindow "
                f"new key {name}` prints a key of your own, and the digest to put in its place"
            )


@dataclass(frozen=True)
class OutgoingRelease:
    """A release that is to be published.

    ``built``: when it was built (RFC 3339). ``last_built``: when it was built again, at
    the last: content that returns gives the release that exists. ``lines``: its
    manifest. ``files``: the objects of the files below files/, by digest. ``parts``: the
    chunks of its other files, by name.
    """

    id: str
    built: str
    last_built: str
    lines: ManifestLines
    files: Mapping[str, Object]
    parts: Mapping[str, Sequence[Chunk]]

    def bundled(
        self, there: Mapping[str, Chunk]
    ) -> tuple[Published, dict[str, Object]]:
        """Return what a target will say of it, and the objects of its new chunks.

        ``there``: the chunks that the target has, by digest. The objects are by digest,
        too.
        """
        places = {digest: chunk[2:] for digest, chunk in there.items()}
        every = {chunk.digest: chunk for part in self.parts.values() for chunk in part}
        new = [chunk for digest, chunk in every.items() if digest not in there]
        bundles = {}
        for group in groups(new, BUNDLE_BYTES, adjacent=False):
            whole = sha256()
            for chunk in group:
                whole.update(chunk.read())
            digest = whole.hexdigest()
            bundles[digest] = Object(digest, group, PRIVATE_HEADERS)
            offset = 0
            for chunk in group:
                places[chunk.digest] = digest, offset
                offset += chunk.size
        parts = {
            name: tuple(Chunk(*chunk[:2], *places[chunk.digest]) for chunk in chunks)
            for name, chunks in self.parts.items()
        }
        files = len(self.lines.files)
        size = sum(one.size for one in self.files.values())
        return Published(self.id, self.built, files, size, parts), bundles


@dataclass(frozen=True)
class Outgoing:
    """A chain that is to be published. ``releases``: those of the chain, by id."""

    chain: Chain
    releases: Mapping[str, OutgoingRelease]


def outgoing(out: Path) -> Outgoing:
    """Return the current release of an output directory, and those that follow it.

    Raises Failure where there is none, or one is not complete.
    """
    releases = Releases(out)
    releases.find("current")  # a Failure where there is none
    chain = releases.chain()
    ids = {link.id for link in chain.links}
    intact: dict[str, list[Chunk]] = {}
    return Outgoing(chain, {id: _outgoing_release(releases, id, intact) for id in ids})


def _outgoing_release(
    releases: Releases, id: str, intact: dict[str, list[Chunk]]
) -> OutgoingRelease:
    """Return a release as it is to be published. Raises Failure.

    ``intact``: the chunks of files that were compared with their digests, by these: an
    index that the releases of a chain share is read once. New ones are added.
    """
    out = releases.out
    folder, note = releases.path(id), releases.note(id)
    listed = releases.lines(id)
    if not releases.complete(id) or "built" not in note:
        raise Failure(
            f"release {id[:12]} is not complete in {out}: build it there, or copy all of it"
        )
    parts = {name: cut(folder / name) for name in (MANIFEST_PART, BUILD_PART)}
    for name, entry in listed.private.items():
        stated, file = private_digest(name, entry, note) or "", folder / name
        if stated not in intact:
            if not (file.is_file() and has_bytes(file, stated)):
                raise _not_built(file)
            intact[stated] = cut(file)
        parts[name] = intact[stated]
    files: dict[str, Object] = {}
    for path, line in listed.files.items():
        digest, size = manifest.digest_of(line), manifest.size_of(line)
        chunk = Chunk(digest, size, f"{folder}/files/{path}", 0)
        files.setdefault(digest, Object(digest, [chunk], headers(line)))
    last_built = _last_built(out, id, note)
    return OutgoingRelease(
        id, str(note["built"]), last_built, listed, files, parts=parts
    )


def headers(line: bytes) -> Headers:
    """Return how a file is served: its media type and its lifetime.

    An object stands for all files with its bytes. The first of them decides, and what
    knows the manifest, such as a host of the service, has the lifetime of each.
    """
    entry = orjson.loads(line)
    return Headers(entry["mediaType"], cache_control(entry["lifetime"]))


def _last_built(out: Path, id: str, note: Mapping[str, object]) -> str:
    built = [str(note["built"])]
    last = last_build(out)
    if last.get("release") == id and last.get("status") == "SUCCESS":
        built.append(str(last["ended"]))
    latest = max(map(datetime.fromisoformat, built))
    return latest.astimezone(UTC).isoformat(timespec="microseconds")
