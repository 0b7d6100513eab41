"""Objects by key at a target, over the library obstore: what publishing and pulling need.

A Bucket creates what nobody may overwrite, and replaces what somebody may have changed
meanwhile only if nobody has. The store decides both, by a condition in the request: that
the object does not exist, or that it has a certain version, which is the ETag on S3 and
Azure and the generation on Google Cloud Storage. A directory has no such condition, so a
FolderBucket compares under a lock.

The library repeats a request that failed on the way or on the server (5xx). A repeated
request may meet what the first one did after all. So a creation that finds its object has
succeeded, and whoever replaces something compares what is there then with what they wrote.
"""

import fcntl
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import obstore
import urllib3
from obstore import exceptions
from obstore.store import LocalStore, MemoryStore
from urllib3.exceptions import HTTPError

from shopwindow.content.reading.processes import Progress
from shopwindow.problems import Failure, failures
from shopwindow.release.durable import synchronize

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
"""Objects that a prune deletes before it looks at the time: as many as one request of S3
takes (DeleteObjects).
"""

CONNECTIONS = 32
"""Requests under way at once. A store answers one in 10 to 50 ms; with 32 of them
18,800 files take some 20 s, and a store admits thousands.
"""

TIME_SECONDS = 5.0
"""How long the request for the time is good, and how long its answer may take."""

DRAFTS = "objects/drafts"
"""The folder of files that are being written, within a directory that is a target. What
killed publishers leave there, a prune deletes, as any object that no release needs.
"""

_UNCHANGED = "nothing there is half written"

READINGS = 4
"""How often bytes are asked for that come shortened or changed. A request that fails or
breaks off is repeated by the library. Of a source that spoils every fifth answer, one
object in 600 fails, and then the next attempt of a host goes on.
"""

Version = Mapping[str, str]
"""What tells a state of an object from later ones."""

Item = TypeVar("Item")
Returned = TypeVar("Returned")


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
    modified: datetime


class StoreFailure(Failure):
    """A store refuses something, or is away."""


class Bucket:
    """Objects by key. Every method raises StoreFailure where the store refuses it.

    ``store`` is one of the library's. ``hasty`` is the same one, which gives up sooner:
    whole objects are read from it first, and from the other where it is overloaded.
    With such a reading every command begins. ``where`` is what messages call the target.
    """

    pause = 0.2
    """Seconds before an object that came damaged is read a second time: a store or a
    proxy that sent wrong bytes is often right a moment later.
    """

    def __init__(
        self, store: Any, where: str, prefix: str = "", hasty: Any = None
    ) -> None:
        self._store = store
        self._hasty = hasty or store
        self._prefix = f"{prefix}/" if prefix else ""
        self.where = where

    @contextmanager
    def _missing_is_none(self) -> Iterator[None]:
        """Word what the store refuses; an object that does not exist is passed over."""
        with refused(self.where, "read"):
            try:
                yield
            except FileNotFoundError as error:
                _require_bucket(error)

    def read(self, key: str) -> Stored | None:
        """Return an object; None where there is none.

        Raises Failure where it has more than MAX_READ_BYTES.
        """
        with self._missing_is_none():
            result = self._get(self._hasty, key)
            data = _first(result, MAX_READ_BYTES)
            if len(data) > MAX_READ_BYTES:
                raise Failure(
                    f"{self.where}: {key} has more than {MAX_READ_BYTES:,} bytes, so no "
                    "publisher wrote it; publish to a prefix of its own"
                )
            return Stored(data, _version(result.meta), result.meta["last_modified"])
        return None

    def is_still(self, key: str, version: Version) -> bool:
        """Return whether an object is still this version; False where there is none."""
        known = {"if_none_match": version.get("e_tag", "")}
        with self._missing_is_none():
            try:
                self._get(self._hasty, key, known)
            except exceptions.NotModifiedError:
                return True
        return False

    def _get(self, store: Any, key: str, options: Any = None) -> Any:
        """Return a store's answer; where the hasty one is overloaded, the other's."""
        try:
            return obstore.get(store, self._prefix + key, options=options)
        except exceptions.GenericError as error:
            if store is self._store or not re.search(OVERLOADED, str(error)):
                raise
        return obstore.get(self._store, self._prefix + key, options=options)

    def read_range(self, key: str, start: int, size: int) -> bytes | None:
        """Return bytes of an object from ``start`` on; None where there is none."""
        bounds: Any = {"range": (start, start + size)}
        with self._missing_is_none():
            try:
                return _first(self._get(self._store, key, bounds), size)
            except exceptions.GenericError as error:
                if not re.search("416|InvalidRange|range", str(error)):
                    raise
                return b""  # it has become shorter
        return None

    def stream(self, key: str) -> Iterator[bytes] | None:
        """Return the bytes of an object bit by bit; None where there is none."""
        with self._missing_is_none():
            return self._bits(self._get(self._store, key))
        return None

    def _bits(self, result: Any) -> Iterator[bytes]:
        with refused(self.where, "read"):
            for bit in result.stream(min_chunk_size=BIT_BYTES):
                yield bytes(bit)

    def intact(
        self,
        key: str,
        read: Callable[[], Returned | None],
        is_intact: Callable[[Returned], bool],
    ) -> Returned:
        """Return what is read of an object and is intact, after several readings at
        most.

        The pause before the second reading doubles with each more. ``read`` returns
        None where there is no such object. Raises Failure.
        """
        for reading in range(READINGS):
            if reading:
                time.sleep(self.pause * 2 ** (reading - 1))
            data = read()
            if data is None:
                break
            if is_intact(data):
                return data
        what = "missing" if data is None else "not what was sent"
        raise Failure(
            f"{self.where}: {key} is {what}; `shopwindow verify --target` lists what else is"
        )

    def create(self, key: str, body: bytes, headers: Headers) -> bool:
        """Store an object that does not exist; return False where it does."""
        return self._put(key, body, headers, "create")

    def replace(
        self, key: str, data: bytes, headers: Headers, version: Version | None
    ) -> bool:
        """Store an object in the place of the version that was read.

        ``version`` None: there was none. Returns False where the object is another one
        by now; then nothing has changed.
        """
        condition = "create" if version is None else dict(version)
        return self._put(key, data, headers, condition)

    def overwrite(self, key: str, body: bytes, headers: Headers) -> None:
        """Store an object, whatever stands in its place."""
        self._put(key, body, headers, None)

    def time(self) -> datetime | None:
        """Return the time by the store's clock; None where that does not answer. A
        directory never does: it has no clock but this host's.

        The library hands on no Date. Every answer has one, a refusal too, such as of a
        host whose own clock is wrong; so any signed request does.
        """
        with suppress(exceptions.BaseError, HTTPError, KeyError, ValueError, TypeError):
            good = timedelta(seconds=TIME_SECONDS)
            url = obstore.sign(self._hasty, "HEAD", f"{self._prefix}clock", good)
            answer = urllib3.request("HEAD", url, timeout=TIME_SECONDS, retries=False)
            return parsedate_to_datetime(answer.headers["Date"])
        return None

    def _put(self, key: str, body: bytes, headers: Headers, mode: Any) -> bool:
        attributes: Any = {
            "Content-Type": headers.content_type,
            "Cache-Control": headers.cache_control,
        }
        with refused(self.where, "write"):
            try:
                name = self._prefix + key
                obstore.put(self._store, name, body, attributes=attributes, mode=mode)
            except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
                return False
            return True

    def listing(self, prefix: str) -> Iterator[Listed]:
        """Yield the objects below a prefix, which is empty or ends with a slash."""
        with refused(self.where, "list"):
            for batch in obstore.list(self._store, self._prefix + prefix):
                for meta in batch:
                    key = meta["path"].removeprefix(self._prefix)
                    yield Listed(key, meta["last_modified"])

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects, in as many requests as the store needs. One that does not exist
        is no mistake.

        Google refuses to delete what does not exist, and then the library leaves others
        as they are. So each is deleted by itself, and what does not exist is passed over.
        """
        with refused(self.where, "delete from"):
            try:
                obstore.delete(self._store, [self._prefix + key for key in keys])
            except FileNotFoundError as error:
                _require_bucket(error)
                for key in keys if len(keys) > 1 else ():
                    self.delete([key])


class FolderBucket(Bucket):
    """A directory, created with its first object: for a disk that several hosts share,
    and for trying things.

    An object is a file. It is written as a draft, synced, and then renamed, which the
    system refuses where the name is taken. So a reader, and a crash, meet whole files.
    """

    pause = 0.0
    """No network spoils what is read from a disk, so waiting mends nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.where, self._prefix = f"file://{folder}", ""

    @property
    def _store(self) -> Any:
        """The library's store; an empty one while there is no folder yet."""
        return LocalStore(self._folder) if self._folder.is_dir() else MemoryStore()

    _hasty = _store

    def _get(self, store: Any, key: str, options: Any = None) -> Any:
        path = self._folder / key
        # Whoever opens a pipe waits for its writer, perhaps for ever.
        if path.exists() and not path.is_file():
            raise Failure(f"{path}: is no file, so no publisher wrote it; delete it")
        return super()._get(store, key, options)

    def _put(self, key: str, body: bytes, headers: Headers, mode: Any) -> bool:
        path, draft = self._folder / key, f"{DRAFTS}/{uuid4()}"
        if mode == "create" and path.exists():
            return False
        with failures(self._folder, _UNCHANGED), refused(self.where, "write"):
            self._folder.mkdir(parents=True, exist_ok=True)
            store = self._store
            obstore.put(store, draft, body)
            try:
                synchronize(self._folder / draft)
                obstore.rename(store, draft, key, overwrite=mode != "create")
            except exceptions.AlreadyExistsError:
                obstore.delete(store, draft)
                return False
            synchronize(path.parent)
            return True

    def replace(
        self, key: str, data: bytes, headers: Headers, version: Version | None
    ) -> bool:
        with failures(self._folder, _UNCHANGED):
            self._folder.mkdir(parents=True, exist_ok=True)
            with open(self._folder / ".lock", "a", encoding="ascii") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                present = self.read(key)
                if (present.version if present else None) != version:
                    return False
                self.overwrite(key, data, headers)
                return True

    def listing(self, prefix: str) -> Iterator[Listed]:
        return (one for one in super().listing(prefix) if not one.key.startswith("."))


def concurrently(
    work: Callable[[Item], Returned],
    items: Sequence[Item],
    progress: Progress | None = None,
) -> list[Returned]:
    """Call ``work`` with every item, over several connections; return the results, in
    the order of the items.

    ``progress`` is called with how many are done, and of how many. The first exception
    is raised, after the calls that are under way have ended; no others begin.
    """
    results: list[Returned] = []
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        try:
            for result in threads.map(work, items):
                results.append(result)
                if progress:
                    progress(len(results), len(items))
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise
    return results


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


def _version(meta: Any) -> Version:
    parts = {"e_tag": meta["e_tag"], "version": meta["version"]}
    return {name: text for name, text in parts.items() if text}


# -- what stores refuse, in an operator's words ----------------------------------------

CREDENTIALS_NEEDED = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (az: AZURE_STORAGE_ACCOUNT_NAME and "
    "AZURE_STORAGE_ACCOUNT_KEY; gs: GOOGLE_APPLICATION_CREDENTIALS)"
)

OVERLOADED = r"5\d\d (?:Service Unavailable|Internal|Bad Gateway|Gateway)|SlowDown"

_STORE_REFUSALS = (
    (r"NoSuchBucket|ContainerNotFound|InvalidBucketName|bucket does not exist",
     "there is no such bucket; create it, or correct the target's address"),
    (r"RequestTimeTooSkewed|RequestExpired|x-ms-date|date header too old",
     "the store's clock and this machine's differ too much; set this machine's clock"),
    (r"InvalidAccessKeyId|SignatureDoesNotMatch|InvalidAuthenticationInfo|ExpiredToken|InvalidToken",
     f"the store does not accept the credentials; {CREDENTIALS_NEEDED}"),
    (r"169\.254\.|metadata\.google|MissingCredential|Missing(?: access)? key|"
     r"must be specified|invalid_grant",
     f"there are no credentials; {CREDENTIALS_NEEDED}"),
    (r"PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint",
     "the bucket is in another region; set AWS_REGION to it"),
    (r"AccessDenied|AuthorizationFailure|AuthorizationPermissionMismatch|403 Forbidden",
     "the credentials do not permit it; a publisher lists, reads and writes, `prune` deletes, "
     "and a host that pulls lists and reads"),
    (r"AuthenticationFailed|401 Unauthorized",
     f"the store does not accept the credentials; {CREDENTIALS_NEEDED}"),
    (r"kind: Connect|dns error|kind: Timeout|operation timed out|error sending request",
     "the store is not reached; look at AWS_ENDPOINT_URL (az: AZURE_STORAGE_ENDPOINT) and at "
     "the network"),
    (r"builder error",
     "the endpoint is not https://HOST, and plain http lets everybody on the way read and change "
     "what is sent; use https, or set AWS_ALLOW_HTTP=true (az: AZURE_ALLOW_HTTP=true) for a network "
     "of your own"),
    (OVERLOADED,
     "the store is overloaded or out of order; run it again later"),
    (r"NotImplemented|501 Not Implemented",
     "the store cannot do conditional writes, and without them two publishers overwrite "
     "each other; use one that can"),
)  # fmt: skip
"""Pattern of an answer → what is wrong and what to do. The first that fits counts."""


@contextmanager
def refused(where: str, verb: str) -> Iterator[None]:
    """Raise a StoreFailure in an operator's words where a store refuses something.

    ``verb`` completes "cannot …".
    """
    try:
        yield
    except (exceptions.BaseError, FileNotFoundError, ValueError) as error:
        text = str(error)
        for pattern, meaning in _STORE_REFUSALS:
            if re.search(pattern, text):
                raise StoreFailure(f"{where}: cannot {verb} it: {meaning}") from None
        first = text.partition("\n\nDebug source")[0]
        line = " ".join(re.sub(r"<[^>]*>", " ", first).split())
        raise StoreFailure(f"{where}: cannot {verb} it: {line[:300]}") from None


def _require_bucket(error: Exception) -> None:
    """Raise the error again where it is the bucket that does not exist."""
    if re.search(_STORE_REFUSALS[0][0], str(error)):
        raise error
