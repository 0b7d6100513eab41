"""Releases that were built: which there are, which is current, what differs, what is intact."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from shopwindow.content.documents.documents import Content
from shopwindow.interface.declaring.interface import Interface
from shopwindow.release import activation
from shopwindow.release.activation import Activated
from shopwindow.release.changes import (
    OpenedRelease,
    TouchedContract,
    ValueChange,
    changes,
    longest_lifetime,
    opened,
    purged,
    touched,
)
from shopwindow.release.damage import remedy as remedy_of_release
from shopwindow.release.releases import Release, Releases
from shopwindow.release.verify import verify as verify_release


def releases(out: Path) -> list[Release]:
    """Return the releases of an output directory, the newest first."""
    return Releases(out).listing()


def activate(out: Path, id: str | None = None, reason: str = "") -> Activated:
    """Make a release the current one, and unpin.

    ``id`` is the beginning of its id, of 8 digits or more; None: the release of the
    last build. ``reason`` goes into the history. Raises Failure, such as for a damaged
    release; then nothing has changed.
    """
    return activation.activate(Releases(out), id, reason, pin=False)


def roll_back(out: Path, id: str | None = None, reason: str = "") -> Activated:
    """Make an earlier release the current one, and pin it until `activate` is called.

    While it is pinned, builds activate nothing. Without ``id`` it is the newest in the
    history that was never rolled back from. Raises Failure, as `activate`.
    """
    return activation.activate(Releases(out), id, reason, pin=True)


@dataclass(frozen=True)
class ReleaseDifference:
    """What differs between two releases: values of documents, and the URLs of the files
    that differ.

    ``lifetime``: the seconds after which caches have dropped the responses to other
    queries by themselves. ``contracts``: what differs that a contract reads.
    """

    changes: Sequence[ValueChange]
    urls: Sequence[str]
    lifetime: int
    contracts: Sequence[TouchedContract] = ()


def difference(
    interface: Interface, out: Path, old: str, new: str
) -> ReleaseDifference:
    """Return what changes from one release to another, by document. Raises Failure.

    ``old`` and ``new`` are beginnings of ids, of 8 digits or more, "current", or
    "previous": the release that was current before.
    """
    before, after = (opened_release(interface, out, id) for id in (old, new))
    return ReleaseDifference(
        changes(before, after),
        purged(before.folder, after.folder),
        longest_lifetime(before),
        touched(before, after),
    )


def urls_to_purge(out: Path, old: str, new: str) -> list[str]:
    """Return the URLs of the files that differ between two releases. Raises Failure.

    It reads nothing but their manifests. ``old`` and ``new`` are as for `difference`.
    """
    return purged(folder_of_release(out, old), folder_of_release(out, new))


def folder_of_release(out: Path, id: str) -> Path:
    """Return the folder of the release whose id begins so. Raises Failure."""
    releases = Releases(out)
    return releases.path(releases.find(id))


def prune(out: Path, keep: int) -> tuple[list[str], int]:
    """Delete all but the newest ``keep`` releases; return the ids of those deleted, and
    how many are left.

    The current release stays, and one that was current in the last hour. Raises
    Failure.
    """
    releases = Releases(out)
    with releases.lock():
        deleted = releases.prune(keep, datetime.now(UTC))
    return deleted, len(releases.ids())


def verify(
    out: Path, id: str = "current", interface: Interface | None = None
) -> tuple[str, list[str]]:
    """Return a release's whole id, and a line for each of its files that is not as it
    was built.

    ``id`` is as for `difference`. ``interface``: whose indexes are compared row by row,
    too; None: only their bytes are. Raises Failure.
    """
    releases = Releases(out)
    release = releases.find(id)
    indexes = interface.indexes if interface else ()
    return release, verify_release(releases, release, indexes)


def remedy(out: Path, id: str = "current") -> str:
    """Return what to do about a damaged release, for the end of a sentence.

    ``id`` is as for `difference`. Raises Failure.
    """
    releases = Releases(out)
    return remedy_of_release(releases, releases.find(id))


def released_content(interface: Interface, out: Path, id: str = "current") -> Content:
    """Return the content of a release, which answers from its indexes.

    ``id`` is as for `difference`. Raises Failure.
    """
    return opened_release(interface, out, id).content


def opened_release(interface: Interface, out: Path, id: str) -> OpenedRelease:
    """Return the release whose id begins so, with its content. Raises Failure."""
    return opened(folder_of_release(out, id), interface)
