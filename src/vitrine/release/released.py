"""Reading a release that may be a directory or an archive of one: what `check --against` compares with."""

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from vitrine.content.yaml import Json
from vitrine.problems import Failure
from vitrine.release.manifest import FORMAT


class NoRelease(Failure):
    """What was named is no release."""


Reader = Callable[[str], bytes]
_NO_RELEASE: tuple[type[Exception], ...] = (OSError, ValueError, KeyError, TypeError)
_DAMAGED: tuple[type[Exception], ...] = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError)


def configurations(release: Path) -> dict[str, Json]:
    """Each application's configuration in a release, by name. Raises Failure, or NoRelease."""
    try:
        with _reader(release) as read:
            listed = orjson.loads(read("manifest.json"))
            if listed["format"] > FORMAT:
                message = f"a manifest of format {listed['format']}; this program reads up to {FORMAT}: update it"
                raise Failure(f"{release}: {message}")
            return {
                entry["application"]: orjson.loads(read(f"files/{entry['path']}"))
                for entry in listed["files"]
                if entry["operation"] == "mobileapp" and entry["mediaType"] == "application/json"
            }
    except (*_NO_RELEASE, *_DAMAGED) as error:
        reason = " ".join(str(error).split())
        raise NoRelease(f"{release}: cannot be read as a release, a directory or an archive of one: {reason}") from None


@contextmanager
def _reader(release: Path) -> Iterator[Reader]:
    """Reads a file of the release by its path within it."""
    if release.is_dir():
        yield lambda name: (release / name).read_bytes()
    elif zipfile.is_zipfile(release):
        with zipfile.ZipFile(release) as archive:
            prefix = _prefix(archive.namelist())
            yield lambda name: archive.read(prefix + name)
    else:
        with tarfile.open(release) as tar:
            start = _prefix(tar.getnames())

            def read(name: str) -> bytes:
                member = tar.extractfile(start + name)
                if member is None:
                    raise KeyError(name)
                return member.read()

            yield read


def _prefix(names: list[str]) -> str:
    """The folder of an archive in which the release lies."""
    found = [name for name in names if name == "manifest.json" or name.endswith("/manifest.json")]
    if not found:
        raise KeyError("manifest.json is not in the archive")
    return min(found, key=len).removesuffix("manifest.json")
