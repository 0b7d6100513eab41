"""Reading a release that may be a directory or an archive of one: what `check --against`
compares with.
"""

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import orjson

from shopwindow.content.documents import decode
from shopwindow.content.yaml import Json
from shopwindow.interface.interface import Interface
from shopwindow.problems import Failure
from shopwindow.release import stored
from shopwindow.release.manifest import MANIFEST_FORMAT


class NoRelease(Failure):
    """What was named is no release."""


ReadMember = Callable[[str], bytes]

MAX_MEMBER = 64 * 1024 * 1024
"""Bytes of a file of a release that is read here: manifests of 100,000 files have some 30 MB,
as has the content.json of 30,000 events.
"""

MAX_ARCHIVE = 16 * 1024**3
"""Bytes that an archive may unpack to: to find the manifest in a .tar.gz, all that stands
before it is unpacked.
"""

_NO_RELEASE: tuple[type[Exception], ...] = (OSError, ValueError, KeyError, TypeError)
_UNREADABLE: tuple[type[Exception], ...] = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
)


def documents(release: Path, interface: Interface) -> dict[str, dict[Any, Json]]:
    """Return the documents of a release by kind and identity. Raises Failure, or NoRelease."""
    try:
        with _reader(release) as read:
            listed = orjson.loads(read("manifest.json"))
            if listed["format"] > MANIFEST_FORMAT:
                raise Failure(
                    f"{release}: a manifest of format {listed['format']}; "
                    f"this program reads up to {MANIFEST_FORMAT}: update it"
                )
            if stored.FILE in listed["private"]:
                interface = stored.read(read, interface)
            content = decode(
                orjson.loads(read("content.json")), interface.kinds, interface.clocks
            )
        kinds = [kind.name for kind in interface.kinds if not kind.streamed]
        return {
            name: dict(zip(content.identities(name), content.documents(name), strict=True))
            for name in kinds
        }
    except (*_NO_RELEASE, *_UNREADABLE) as error:
        reason = " ".join(str(error).split())
        raise NoRelease(
            f"{release}: cannot be read as a release, a directory or an archive of one: {reason}"
        ) from None


@contextmanager
def _reader(release: Path) -> Iterator[ReadMember]:
    """Reads a file of the release by its path within it."""
    if release.is_dir():
        yield lambda name: _bounded((release / name).open("rb"), name)
    elif release.exists() and not release.is_file():
        raise ValueError("it is neither a folder nor a file")
    elif zipfile.is_zipfile(release):
        with zipfile.ZipFile(release) as archive:
            prefix = _prefix(archive.namelist())
            yield lambda name: _bounded(archive.open(prefix + name), name)
    else:
        with tarfile.open(release) as tar:
            start = _prefix(list(_names(tar)))

            def read(name: str) -> bytes:
                member = tar.extractfile(start + name)
                if member is None:
                    raise KeyError(name)
                return _bounded(member, name)

            yield read


def _bounded(stream: IO[bytes], name: str) -> bytes:
    """What a file of a release holds. Raises ValueError where that is too much."""
    with stream:
        data = stream.read(MAX_MEMBER + 1)
    if len(data) > MAX_MEMBER:
        raise ValueError(f"{name} holds more than {MAX_MEMBER:,} bytes")
    return data


def _names(tar: tarfile.TarFile) -> Iterator[str]:
    """The names in an archive. Raises ValueError before more is unpacked than any release has."""
    unpacked = 0
    for member in tar:
        unpacked += member.size
        if unpacked > MAX_ARCHIVE:
            raise ValueError(f"it unpacks to more than {MAX_ARCHIVE:,} bytes")
        yield member.name


def _prefix(names: list[str]) -> str:
    """The folder of an archive in which the release lies."""
    found = [
        name for name in names if name == "manifest.json" or name.endswith("/manifest.json")
    ]
    if not found:
        raise KeyError("manifest.json is not in the archive")
    return min(found, key=len).removesuffix("manifest.json")
