"""Where a host learns which release it is to serve, and what that consists of.

A ReleaseSource answers these two questions, and whoever pulls believes it. `UnsignedSource`
believes `current.json` and `releases/<id>/manifest.json`, as they lie at a target. A
source that verifies signatures has the same methods. All other bytes are compared with
digests that follow from these answers, so where they come from is no matter of trust.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from shopwindow.delivery import layout, pointer, released
from shopwindow.delivery.bucket import Bucket, Version
from shopwindow.delivery.layout import Published
from shopwindow.delivery.pointer import TargetPointer
from shopwindow.problems import Failure
from shopwindow.release.manifest import NewerFormat


class PullFault(Failure):
    """Why a release was not pulled. ``kind`` is a key of `pull_notes.FAULT_KINDS`."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@contextmanager
def faults(kind: str) -> Iterator[None]:
    """Raise a Failure within as a PullFault of this kind, unless it has one."""
    try:
        yield
    except PullFault:
        raise
    except NewerFormat as failure:
        raise PullFault("newer", str(failure)) from None
    except Failure as failure:
        raise PullFault(kind, str(failure)) from None


@dataclass(frozen=True)
class WantedRelease:
    """The release that a host is to serve.

    ``version``: of what says so, to ask whether it still does. ``memory``: what the
    source wants to be reminded of when it is asked again; it is stored as JSON.
    """

    id: str
    version: Version
    memory: Mapping[str, Any]


class ReleaseSource(Protocol):
    """What `pulling` asks. Every method raises Failure."""

    @property
    def bucket(self) -> Bucket:
        """Where the objects lie. Its bytes are compared with their digests."""

    def is_still(self, version: Version) -> bool:
        """Return whether nothing has changed since. It is cheap, and may say no."""

    def current(self, memory: Mapping[str, Any]) -> WantedRelease:
        """Return the release that is current. ``memory``: that of the last answer."""

    def published(self, id: str) -> Published:
        """Return what a release consists of."""


class UnsignedSource:
    """A target that is believed as it is."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket

    def is_still(self, version: Version) -> bool:
        return self.bucket.is_still(layout.POINTER, version)

    def current(self, memory: Mapping[str, Any]) -> WantedRelease:
        where = self.bucket.where
        read = pointer.read(self.bucket)
        if read.pointer is None or read.version is None:
            raise PullFault(
                "source",
                f"{where}: nothing was published there yet; publish to it, or correct "
                "the address",
            )
        if not layout.is_digest(read.pointer.id):
            raise PullFault("damaged", f"{where}: {layout.POINTER} names no release")
        if memory and not _follows(read.pointer, memory):
            raise PullFault(
                "stale",
                f"{where}: {layout.POINTER} is older than the one that this host has "
                f"followed, of {memory['switched'][:19]}Z; a cache in between, or an "
                "old copy of the store? To follow it all the same, delete pulled.json",
            )
        return WantedRelease(read.pointer.id, read.version, _memory(read.pointer))

    def published(self, id: str) -> Published:
        return released.published(self.bucket, id)


def _memory(present: TargetPointer) -> dict[str, Any]:
    last = present.history[-1] if present.history else {}
    return {
        "built": present.built,
        "switched": present.switched,
        "last": [last.get("when"), last.get("id")],
    }


def _follows(present: TargetPointer, memory: Mapping[str, Any]) -> bool:
    """Return whether a pointer is the remembered one, or a later one.

    A later one lists the remembered one's last activation in its history, whatever the
    clocks of publishers say. A host that was away for longer than the history goes
    back, compares times.
    """
    activations = [[entry["when"], entry["id"]] for entry in present.history]
    if memory["last"] in activations:
        return True
    times = (present.built, present.switched)
    return times >= (memory["built"], memory["switched"])
