"""A ReleaseSource that believes signatures only: a client of The Update Framework.

A host is given a root once (`--root FILE`), on a way that an attacker of the bucket
does not control. From it the library follows the versions of the root, the timestamp,
the snapshot and the targets, and refuses what is not signed by enough keys, is older
than what this host has seen, has expired, or does not fit together. What it believed
last, it stores in the output directory.

The targets name the chain. What lists the objects of a release must have the digest
that stands there; of all other bytes `fetching` compares the digests that follow from it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tuf.api import exceptions
from tuf.api.metadata import Metadata, TargetFile, Targets, Timestamp
from tuf.ngclient import FetcherInterface, Updater, UpdaterConfig

from shopwindow.delivery import layout, roots
from shopwindow.delivery.bucket import Bucket, Version
from shopwindow.delivery.fetching import PullFault, faults
from shopwindow.delivery.layout import Published
from shopwindow.delivery.pointer import CLOCKS_DIFFER
from shopwindow.delivery.pulling import WantedChain
from shopwindow.delivery.signing import chain_in, minute_of, signed_at
from shopwindow.problems import Failure

TRUSTED = "trusted"
"""The folder in the output directory with what this host has believed last."""

KIND = {
    exceptions.BadVersionNumberError: "stale",
    exceptions.DownloadHTTPError: "damaged",
}
"""Exception of the library → kind of fault, where it is not `unsigned`."""

CLIENT_LIMITS = UpdaterConfig(prefix_targets_with_hash=False)
"""The library's limits: 256 new roots at once, 16 KB of a timestamp, 2 MB of a
snapshot, 5 MB of targets. A source that sends more is interrupted.
"""


class MetadataReader(FetcherInterface):
    """Reads metadata of a bucket for the library, bit by bit, so that it can stop.

    The library words what fails before the first bit, and nothing after that. So the
    request is sent with it, and a Failure of the bucket comes out as it is.
    """

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def _fetch(self, url: str) -> Iterator[bytes]:
        bits = self._bucket.stream(url)
        if bits is None:
            raise exceptions.DownloadHTTPError(f"{url} is missing", 404)
        yield from bits


@dataclass
class SignedSource:
    """A target that is believed as far as it is signed.

    ``root``: the bytes of the root that this host was given. ``state``: the folder with
    what it has believed. ``floor``: the lowest number of targets that it believes.
    ``clock`` returns the present instant.
    """

    bucket: Bucket
    root: bytes
    state: Path
    floor: int = 0
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _ends: datetime | None = None
    _targets: Mapping[str, TargetFile] = field(default_factory=dict)

    def is_still(self, version: Version) -> bool:
        """Return whether the timestamp is the one that was read, and still good."""
        if self._ends is None or self.clock() >= self._ends:
            return False
        return self.bucket.is_still(layout.TIMESTAMP, version)

    def current(self, memory: Mapping[str, Any]) -> WantedChain:
        """Return the chain that the signed targets name. Raises Failure."""
        self._ends, self._targets = None, {}
        stored = self.bucket.read(layout.TIMESTAMP)
        if stored is None:
            raise PullFault(
                "unsigned",
                f"{self.bucket.where}: nothing is signed there; publish with --keys, or "
                "pull without --root",
            )
        targets = self._refreshed(stored.data)
        if targets.version < self.floor:
            raise PullFault(
                "stale",
                f"{self.bucket.where}: its targets have the number {targets.version}, and "
                f"this host believes none below {self.floor}",
            )
        chain = chain_in(targets)
        if chain is None:
            raise PullFault(
                "unsigned", f"{self.bucket.where}: what is signed there is no release"
            )
        self._targets = targets.targets
        return WantedChain(chain, stored.version, {})

    def published(self, id: str) -> Published:
        """Return what a release consists of, whose list has the signed digest."""
        path = layout.release_key(id)
        target = self._targets.get(path)
        if target is None:
            raise PullFault("unsigned", f"{self.bucket.where}: {path} is not signed")
        with faults("unsigned"):
            stored = self.bucket.read(path)
        if stored is None:
            raise PullFault("damaged", f"{self.bucket.where}: {path} is missing")
        try:
            target.verify_length_and_hashes(stored.data)
        except exceptions.LengthOrHashMismatchError:
            raise PullFault(
                "unsigned", f"{self.bucket.where}: {path} is not what was signed"
            ) from None
        return layout.decode(stored.data, id, self.bucket.where)

    def _refreshed(self, timestamp: bytes) -> Targets:
        """Verify what is signed at the target; return the targets.

        ``timestamp``: as it was just read, for messages. Raises Failure.
        """
        try:
            reader = MetadataReader(self.bucket)
            refresh(self.state, self.root, reader, layout.METADATA)
            believed = (
                Metadata[Timestamp].from_file(f"{self.state}/timestamp.json").signed
            )
            targets = Metadata[Targets].from_file(f"{self.state}/targets.json").signed
        except exceptions.ExpiredMetadataError as error:
            raise PullFault("expired", self._expired(str(error), timestamp)) from None
        except (exceptions.RepositoryError, exceptions.DownloadError) as error:
            kind = KIND.get(type(error), "unsigned")
            said = f"{self.bucket.where}: what is signed there is refused: {error}"
            raise PullFault(kind, f"{said}; {_REMEDY[kind]}") from None
        except OSError as error:
            said = error.strerror or str(error)
            raise PullFault("host", f"{self.state}: {said}") from None
        self._require_past(believed)
        root = roots.read(self.state)
        self._ends = min(part.expires for part in (root.signed, believed, targets))
        return targets

    def _require_past(self, timestamp: Timestamp) -> None:
        """Raise PullFault where a timestamp is from the future, by this host's clock."""
        signed, now = signed_at(timestamp), self.clock()
        if signed is not None and signed - now > CLOCKS_DIFFER:
            raise PullFault(
                "expired",
                f"{self.bucket.where}: was signed at {minute_of(signed)}, and this host's clock "
                f"says {minute_of(now)}, so it would not notice what has expired; set the "
                "clock of this host, or of the publisher",
            )

    def _expired(self, said: str, timestamp: bytes) -> str:
        """Return what to say of metadata that has expired; ``said``: by the library."""
        with suppress(exceptions.RepositoryError):
            end = Metadata[Timestamp].from_bytes(timestamp).signed.expires
            if "timestamp" in said:
                said = f"{said}, since {minute_of(end)}"
        return (
            f"{self.bucket.where}: {said}, if this host's clock is right, which says "
            f"{minute_of(self.clock())}. Somebody holds newer metadata back, or nobody renews "
            "it: `shopwindow publish TARGET --keys DIR --renew`"
        )


_REMEDY = {
    "stale": "a cache in between, an old copy of the store, or somebody who replays it",
    "damaged": "publish again with --keys",
    "unsigned": "look who has written there, and whether --root is of this shop",
}


def refresh(
    state: Path, root: bytes | None, reader: FetcherInterface, base: str
) -> Updater:
    """Verify what is signed under an address, and store it in a folder.

    ``root``: what is trusted at the beginning; None: the folder has it. Raises the
    library's errors and OSError, after which the folder has what was verified before.
    """
    state.mkdir(parents=True, exist_ok=True)
    updater = Updater(
        str(state), base, fetcher=reader, config=CLIENT_LIMITS, bootstrap=root
    )
    updater.refresh()
    return updater


def trusted_root(path: Path) -> bytes:
    """Return the root that a host was given. Raises Failure where it is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Failure(
            f"{path}: {error.strerror}; --root names the root.json of `keys init`"
        ) from None
    roots.decode(data, str(path))
    return data
