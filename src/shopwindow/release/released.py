"""Reads the documents of a release that may be a directory or a .tar of one: `check
--against` compares with them.

The archive comes from elsewhere, such as a pipeline's artifact store. So what is read
from it is bounded, and whatever is wrong with it is one failure, NoRelease.
"""

import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from shopwindow.content.documents.documents import decode
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Failure
from shopwindow.release import stored
from shopwindow.release.documents_read import by_identity
from shopwindow.release.manifest import MANIFEST_FORMAT


class NoRelease(Failure):
    """What a command was handed is no release."""


ReadMember = Callable[[str], bytes]
"""Reads a file of the release by its path within it."""

MAX_MEMBER = 64 * 1024 * 1024
"""Bytes that a file of a release may have to be read here. The manifest of 100,000
files has some 30 MB, as has the content.json of 30,000 events.
"""

_NOT_A_RELEASE: tuple[type[Exception], ...] = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    tarfile.TarError,
)


def documents(release: Path, interface: Interface) -> dict[str, dict[Any, Json]]:
    """Return the documents of a release by kind and identity.

    Raises NoRelease where ``release`` is none, and Failure where a later program wrote
    it.
    """
    try:
        with _reader(release) as read:
            listed = orjson.loads(read("manifest.json"))
            if listed["format"] > MANIFEST_FORMAT:
                raise Failure(
                    f"{release}: a manifest of format {listed['format']}; "
                    f"this program reads up to {MANIFEST_FORMAT}: update it"
                )
            if stored.COLLECTIONS_FILE in listed["private"]:
                interface = stored.decoded(read(stored.COLLECTIONS_FILE), interface)
            content = decode(orjson.loads(read("content.json")), interface.kinds)
        kinds = [kind.name for kind in interface.kinds if not kind.streamed]
        return {name: by_identity(content, name) for name in kinds}
    except _NOT_A_RELEASE as error:
        reason = " ".join(str(error).split())
        raise NoRelease(
            f"{release}: cannot be read as a release, a folder or an uncompressed .tar of one: {reason}"
        ) from None


@contextmanager
def _reader(release: Path) -> Iterator[ReadMember]:
    """Open a release, and yield what reads its files. Raises what opening and reading
    raise.
    """
    if release.is_dir():
        yield lambda name: _bounded((release / name).open("rb"), name)
    elif release.exists() and not release.is_file():
        raise ValueError("it is neither a folder nor a file")
    else:
        with tarfile.open(release, "r:") as tar:
            prefix = _prefix(tar.getnames())

            def read(name: str) -> bytes:
                member = tar.extractfile(prefix + name)
                if member is None:  # a folder of that name
                    raise KeyError(name)
                return _bounded(member, name)

            yield read


def _bounded(stream: IO[bytes], name: str) -> bytes:
    """Return the bytes of a file. Raises ValueError where they are more than
    MAX_MEMBER.
    """
    with stream:
        data = stream.read(MAX_MEMBER + 1)
    if len(data) > MAX_MEMBER:
        raise ValueError(f"{name} holds more than {MAX_MEMBER:,} bytes")
    return data


def _prefix(names: Iterable[str]) -> str:
    """Return the folder of an archive in which the release lies, empty or with a slash.

    That is where the manifest.json with the shortest path stands. Raises KeyError
    without any.
    """
    manifests = [name for name in names if f"/{name}".endswith("/manifest.json")]
    if not manifests:
        raise KeyError("manifest.json is not in the archive")
    return min(manifests, key=len).removesuffix("manifest.json")
