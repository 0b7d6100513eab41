"""The few operations on an object store that publishing and pulling need, over the
library obstore.

A Bucket creates what nobody may overwrite, and replaces what somebody may have changed
meanwhile only if nobody has. Both are decided by the store, by a condition in the
request: that the object does not exist, or that it has a certain version, which is the
ETag on S3 and Azure and the generation on Google Cloud Storage. `folder` has the same
operations for a directory.

The library repeats a request that failed on the way or on the server (5xx), and waits
longer each time. A repeated request may meet what the first one did after all. So a
creation that finds its object has succeeded, and whoever replaces something compares
what is there then with what they wrote.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import obstore
from obstore import exceptions

from shopwindow.delivery.clocks import time_at
from shopwindow.delivery.store_refusals import OVERLOADED, refused, require_bucket
from shopwindow.problems import Failure

LARGE_BYTES = 64 * 1024 * 1024
"""Files from this size on are sent in parts, without being read into memory. The
library holds smaller ones in memory, as many as there are connections.
"""

MAX_READ_BYTES = 64 * 1024 * 1024
"""Bytes that are read of an object at once. The largest is what lists the chunks of a
release: of a catalog of 10 GB 52 MB, of a manifest of 200,000 files 200 KB. A store that
sends more is not to fill this machine's memory.
"""

BIT_BYTES = 1024 * 1024
"""Bytes that the library collects before it hands them on. Its default of 10 MB would
be 320 MB with all connections at work.
"""

DELETED_AT_ONCE = 1000
"""Objects that one request deletes: the most that S3 takes (DeleteObjects)."""

Version = Mapping[str, str]
"""What tells a state of an object from later ones."""

SentBody = bytes | Path
"""What is sent: bytes, or a file."""


def size_of(body: SentBody) -> int:
    """Return how many bytes are sent."""
    return len(body) if isinstance(body, bytes) else body.stat().st_size


@dataclass(frozen=True)
class Headers:
    """How an object is served: its Content-Type and its Cache-Control."""

    content_type: str
    cache_control: str


@dataclass(frozen=True)
class Stored:
    """An object that was read: its bytes, the version that they are, and when they were
    stored, by the store's clock.
    """

    data: bytes
    version: Version
    modified: datetime


@dataclass(frozen=True)
class Listed:
    """An object in a listing. ``modified`` is by the store's clock."""

    key: str
    size: int
    modified: datetime


class Bucket(Protocol):
    """Objects by key. Every method raises Failure where the store refuses it."""

    @property
    def where(self) -> str:
        """What messages call the target: its address."""

    @property
    def pause(self) -> float:
        """Seconds before an object that came damaged is read a second time."""

    def read(self, key: str) -> Stored | None:
        """Return an object; None where there is none.

        Raises Failure where it has more than MAX_READ_BYTES.
        """

    def is_still(self, key: str, version: Version) -> bool:
        """Return whether an object is still this version; False where there is none."""

    def read_range(self, key: str, start: int, size: int) -> bytes | None:
        """Return bytes of an object from ``start`` on; None where there is none."""

    def stream(self, key: str) -> Iterator[bytes] | None:
        """Return the bytes of an object bit by bit; None where there is none."""

    def create(self, key: str, body: SentBody, headers: Headers) -> bool:
        """Store an object that does not exist; return False where it does."""

    def replace(
        self, key: str, data: bytes, headers: Headers, version: Version | None
    ) -> bool:
        """Store an object in the place of the version that was read.

        ``version`` None: there was none. Returns False where the object is another one
        by now; then nothing has changed.
        """

    def overwrite(self, key: str, body: SentBody, headers: Headers) -> None:
        """Store an object, whatever stands in its place."""

    def listing(self, prefix: str) -> Iterator[Listed]:
        """Yield the objects below a prefix, which is empty or ends with a slash."""

    def folders(self, prefix: str) -> list[str]:
        """Return the names that follow a prefix before the next slash, sorted."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects. One that does not exist is no mistake."""

    def clock(self) -> datetime | None:
        """Return the time at the store; None: it cannot say, or compares clocks itself,
        as S3 does with each request.
        """


class ObjectBucket:
    """A Bucket in an object store.

    ``store`` is one of the library's. ``hasty`` is the same one, which gives up sooner:
    whole objects are read from it first, and from the other where it is overloaded.
    With such a reading every command begins. ``address``: whose answers say what time
    it is there; empty: the store compares clocks itself.
    """

    pause = 0.2
    """A store or a proxy that sent wrong bytes is often right a moment later."""

    def __init__(
        self,
        store: Any,
        where: str,
        prefix: str = "",
        hasty: Any = None,
        address: str = "",
    ) -> None:
        self._store = store
        self._address = address
        self._hasty = hasty or store
        self._prefix = f"{prefix}/" if prefix else ""
        self.where = where

    def read(self, key: str) -> Stored | None:
        with refused(self.where, "read"):
            try:
                result = self._get(key)
            except FileNotFoundError as error:
                require_bucket(error)
                return None
            data = _first(result, MAX_READ_BYTES)
            if len(data) > MAX_READ_BYTES:
                raise Failure(too_large(self.where, key))
            return Stored(data, _version(result.meta), result.meta["last_modified"])

    def is_still(self, key: str, version: Version) -> bool:
        if "e_tag" not in version:
            return False
        condition: Any = {"if_none_match": version["e_tag"]}
        with refused(self.where, "read"):
            try:
                self._get(key, condition)
            except exceptions.NotModifiedError:
                return True
            except FileNotFoundError as error:
                require_bucket(error)
            return False

    def _get(self, key: str, options: Any = None) -> Any:
        """Return the answer to a reading that a store may be away from."""
        try:
            return obstore.get(self._hasty, self._prefix + key, options=options)
        except exceptions.GenericError as error:
            if not re.search(OVERLOADED, str(error)):
                raise
        return obstore.get(self._store, self._prefix + key, options=options)

    def read_range(self, key: str, start: int, size: int) -> bytes | None:
        bounds: Any = {"range": (start, start + size)}
        with refused(self.where, "read"):
            try:
                name = self._prefix + key
                result = obstore.get(self._store, name, options=bounds)
            except FileNotFoundError as error:
                require_bucket(error)
                return None
            return _first(result, size)

    def stream(self, key: str) -> Iterator[bytes] | None:
        with refused(self.where, "read"):
            try:
                result = obstore.get(self._store, self._prefix + key)
            except FileNotFoundError as error:
                require_bucket(error)
                return None
        return self._bits(result)

    def _bits(self, result: Any) -> Iterator[bytes]:
        with refused(self.where, "read"):
            for bit in result.stream(min_chunk_size=BIT_BYTES):
                yield bytes(bit)

    def create(self, key: str, body: SentBody, headers: Headers) -> bool:
        if isinstance(body, Path) and body.stat().st_size >= LARGE_BYTES:
            return self._create_large(key, body, headers)
        data = body.read_bytes() if isinstance(body, Path) else body
        return self._put(key, data, headers, "create")

    def replace(
        self, key: str, data: bytes, headers: Headers, version: Version | None
    ) -> bool:
        condition = "create" if version is None else dict(version)
        return self._put(key, data, headers, condition)

    def overwrite(self, key: str, body: SentBody, headers: Headers) -> None:
        self._put(key, body, headers, None)

    def _create_large(self, key: str, path: Path, headers: Headers) -> bool:
        """Send a file in parts, unless it is there.

        The library sends parts without a condition. Two publishers that do so at once
        store the same bytes, since keys are digests.
        """
        with refused(self.where, "write"):
            try:
                obstore.head(self._store, self._prefix + key)
            except FileNotFoundError:
                return self._put(key, path, headers, None)
            return False

    def _put(self, key: str, body: SentBody, headers: Headers, mode: Any) -> bool:
        attributes = {
            "Content-Type": headers.content_type,
            "Cache-Control": headers.cache_control,
        }
        with refused(self.where, "write"):
            try:
                obstore.put(
                    self._store,
                    self._prefix + key,
                    body,
                    attributes=attributes,
                    mode=mode,
                )
            except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
                return False
            return True

    def listing(self, prefix: str) -> Iterator[Listed]:
        with refused(self.where, "list"):
            for batch in obstore.list(self._store, self._prefix + prefix):
                for meta in batch:
                    key = meta["path"].removeprefix(self._prefix)
                    yield Listed(key, meta["size"], meta["last_modified"])

    def folders(self, prefix: str) -> list[str]:
        with refused(self.where, "list"):
            result = obstore.list_with_delimiter(
                self._store, (self._prefix + prefix) or None
            )
            paths = [str(path) for path in result["common_prefixes"]]
            paths += [meta["path"] for meta in result["objects"]]
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    def delete(self, keys: Iterable[str]) -> None:
        remaining = iter(keys)
        while batch := list(islice(remaining, DELETED_AT_ONCE)):
            self._delete([self._prefix + key for key in batch])

    def _delete(self, names: list[str]) -> None:
        """Delete objects in one request, or in as many as the store needs.

        Google refuses to delete what does not exist, and then the library leaves others
        as they are. So each is deleted by itself, and what does not exist is passed over.
        """
        with refused(self.where, "delete from"):
            try:
                obstore.delete(self._store, names)
            except FileNotFoundError as error:
                require_bucket(error)
                for name in names if len(names) > 1 else ():
                    self._delete([name])

    def clock(self) -> datetime | None:
        return time_at(self._address) if self._address else None


def _first(result: Any, limit: int) -> bytes:
    """Return the bytes of an answer; where they are more than ``limit``, some more.

    They are read bit by bit, since a store may send other than it announces.
    """
    data = bytearray()
    for bit in result.stream(min_chunk_size=BIT_BYTES):
        data += bit
        if len(data) > limit:
            break
    return bytes(data)


def too_large(where: str, key: str) -> str:
    """Return what is said of an object that has more than MAX_READ_BYTES."""
    return (
        f"{where}: {key} has more than {MAX_READ_BYTES:,} bytes, so no publisher wrote it; "
        "publish to a prefix of its own"
    )


def _version(meta: Any) -> Version:
    parts = {"e_tag": meta["e_tag"], "version": meta["version"]}
    return {name: text for name, text in parts.items() if text}
