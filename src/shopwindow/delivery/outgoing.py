"""A release of an output directory, as what has to lie at a target: its objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest, sha256
from pathlib import Path

import orjson

from shopwindow.delivery.bucket import LARGE_BYTES, Headers, SentBody
from shopwindow.delivery.chunks import chunks, stretches
from shopwindow.delivery.layout import BUILD_PART, MANIFEST_PART
from shopwindow.interface.answer import cache_control
from shopwindow.interface.interface import Interface
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.build_notes import last_build
from shopwindow.release.changes import content_of
from shopwindow.release.manifest import ManifestLines
from shopwindow.release.recorded_digests import index_note
from shopwindow.release.releases import Releases
from shopwindow.starter.begin import public_keys

PRIVATE_HEADERS = Headers(
    "application/octet-stream", "private, max-age=31536000, immutable"
)
"""How parts are served. They are for service hosts, so no shared cache keeps them;
under their names, which are digests, they never change.
"""

LINES = (MANIFEST_PART, manifest.CONTENT_FILE)
"""Parts that are cut by their lines: both have a line an entry. Any other part, such as
an index, is cut as a file of pages.
"""


@dataclass(frozen=True)
class Extract:
    """Bytes of a file, which are read when they are sent."""

    path: Path
    offset: int
    size: int

    def read(self) -> bytes:
        """Return the bytes; fewer where the file has become shorter."""
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            return file.read(self.size)


@dataclass(frozen=True)
class OutgoingChunk:
    """A chunk of a part: its digest (SHA-256, hex), its size, and its bytes or where
    they are.
    """

    digest: str
    size: int
    body: bytes | Extract

    def read(self) -> bytes:
        """Return the bytes."""
        return self.body if isinstance(self.body, bytes) else self.body.read()


@dataclass(frozen=True)
class Object:
    """What is to be stored under a digest (SHA-256, hex), and how it is served.

    ``body``: bytes, a file, or pieces that are stored one after the other.
    """

    digest: str
    body: SentBody | Sequence[OutgoingChunk]
    headers: Headers

    def checked(self) -> SentBody:
        """Return what to send. Raises Failure where a file is not what was built."""
        if isinstance(self.body, bytes):
            return self.body
        if not isinstance(self.body, Path):
            joined = b"".join(piece.read() for piece in self.body)
            if sha256(joined).hexdigest() != self.digest:
                raise Failure("the release was changed while it was read; run it again")
            return joined
        try:
            with open(self.body, "rb") as file:
                if self.body.stat().st_size >= LARGE_BYTES:
                    body: SentBody = self.body
                    digest = file_digest(file, "sha256").hexdigest()
                else:
                    body = file.read()
                    digest = sha256(body).hexdigest()
        except FileNotFoundError:
            digest = ""
        if digest != self.digest:
            raise Failure(
                f"{self.body}: missing, or not what was built, so nothing leads to this "
                "release; `shopwindow verify` lists all that is damaged"
            )
        return body


def require_secret_keys(out: Path, interface: Interface) -> None:
    """Raise Failure where the current release has an API key that everybody knows."""
    if interface.applications is None:
        return
    releases = Releases(out)
    id = releases.find("current")
    known = public_keys()
    for name, digests in interface.keys(
        content_of(releases.path(id), interface)
    ).items():
        for digest in known.intersection(digests):
            raise Failure(
                f"release {id[:12]}: everybody knows the key of {name} whose digest is "
                f"{digest[:8]}…, for it is an example; nothing was published. `shopwindow "
                f"key new {name}` prints a key of your own, and the digest to put in its place"
            )


@dataclass(frozen=True)
class Outgoing:
    """A release that is to be published.

    ``folder``: where it lies. ``built``: when it was built (RFC 3339). ``last_built``: when it was built again, at
    the last: content that returns gives the release that exists. ``lines``: its
    manifest. ``files``: the objects of the files below files/, by digest, and ``size``
    their bytes. ``parts``: the pieces of its other files, by name.
    """

    id: str
    folder: Path
    built: str
    last_built: str
    lines: ManifestLines
    files: Mapping[str, Object]
    size: int
    parts: Mapping[str, Sequence[OutgoingChunk]]

    def path(self, path: str) -> Path:
        """Return the file at a path below files/."""
        return self.folder / "files" / path

    def manifest_bytes(self) -> bytes:
        """Return the bytes of its manifest."""
        pieces = self.parts[MANIFEST_PART]
        return b"".join(piece.body for piece in pieces if isinstance(piece.body, bytes))


def outgoing(out: Path) -> Outgoing:
    """Return the current release of an output directory.

    Raises Failure where there is none, or it is not complete.
    """
    releases = Releases(out)
    id = releases.find("current")
    folder, note = releases.path(id), releases.note(id)
    listed = releases.lines(id)
    if not releases.complete(id) or "built" not in note:
        raise Failure(
            f"release {id[:12]} is not complete in {out}: build it there, or copy all of it"
        )
    parts = {
        name: _pieces(folder / name, _digest(name, listed, note))
        for name in (MANIFEST_PART, *listed.private, BUILD_PART)
    }
    files: dict[str, Object] = {}
    size = 0
    for path, line in listed.files.items():
        digest = manifest.digest_of(line)
        if digest not in files:
            files[digest] = Object(digest, folder / "files" / path, headers(line))
            size += manifest.size_of(line)
    last_built = _last_built(out, id, note)
    built = str(note["built"])
    return Outgoing(id, folder, built, last_built, listed, files, size, parts)


def _pieces(path: Path, digest: str | None) -> list[OutgoingChunk]:
    """Return the pieces of a part.

    ``digest``: that of the file; None: nothing says it. Raises Failure where the file
    has another one.
    """
    if path.name in LINES:
        data = path.read_bytes()
        actual = sha256(data)
        pieces = [OutgoingChunk(sha256(c).hexdigest(), len(c), c) for c in chunks(data)]
    else:
        actual = sha256()
        pieces = []
        for offset, size in stretches(path.stat().st_size):
            extract = Extract(path, offset, size)
            data = extract.read()
            actual.update(data)
            pieces.append(OutgoingChunk(sha256(data).hexdigest(), size, extract))
    if digest not in (None, actual.hexdigest()):
        raise Failure(
            f"{path}: not what was built; `shopwindow verify` lists all that is damaged"
        )
    return pieces


def _digest(name: str, listed: ManifestLines, note: Mapping[str, object]) -> str | None:
    """Return the digest that a part was built with; None where nothing says it."""
    if name not in listed.private:
        return None
    stated = listed.private[name].get("sha256")
    return stated or index_note(dict(note), Path(name).stem).get("sha256")


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
    instants = [datetime.fromisoformat(text).astimezone(UTC) for text in built]
    return max(instants).isoformat(timespec="microseconds")
