"""Pulls a release: brings what is current at a source to this host, and activates it.

1. The source says which release is current, and what it consists of. Whoever pulls
   believes that. All other bytes are compared with digests that follow from it, so where
   they come from is no matter of trust.
2. What this host lacks of it is fetched into a staging directory (`fetching`).
3. The directory is synced and renamed as a build's is, and then `current`.

Killed at any point, it leaves the release that was served, and what was fetched for the
next attempt. A service follows `current` by itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from shopwindow.content.reading.processes import Progress
from shopwindow.delivery import layout, pointer
from shopwindow.delivery.bucket import Bucket, Version
from shopwindow.delivery.fetching import Fetched, PullFault, faults, fetch
from shopwindow.delivery.layout import Published
from shopwindow.delivery.pointer import TargetPointer
from shopwindow.interface.index import Index
from shopwindow.problems import failures
from shopwindow.release import pull_notes
from shopwindow.release.chain import Chain
from shopwindow.release.pull_notes import PullNote
from shopwindow.release.releases import Releases
from shopwindow.release.stage import staging
from shopwindow.release.verify import verify

KEPT = "pull"
"""The staging directory of a release that is being fetched. It outlasts a failure and a
kill, so that the next attempt fetches the rest. A build or another command that stages
something deletes it.
"""


@dataclass(frozen=True)
class WantedChain:
    """The releases that a host is to serve.

    ``version``: of what says so, to ask whether it still does. ``memory``: what the
    source wants to be reminded of when it is asked again; it is stored as JSON.
    """

    chain: Chain
    version: Version
    memory: Mapping[str, Any]


class ReleaseSource(Protocol):
    """What `pulling` asks. Every method raises Failure."""

    @property
    def bucket(self) -> Bucket:
        """Where the objects lie. Its bytes are compared with their digests."""

    def is_still(self, version: Version) -> bool:
        """Return whether nothing has changed since. It is cheap, and may say no."""

    def current(self, memory: Mapping[str, Any]) -> WantedChain:
        """Return the releases that are current. ``memory``: that of the last answer."""

    def published(self, id: str) -> Published:
        """Return what a release consists of."""


class UnsignedSource:
    """A target that is believed as it is."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket = bucket

    def is_still(self, version: Version) -> bool:
        return self.bucket.is_still(layout.POINTER, version)

    def current(self, memory: Mapping[str, Any]) -> WantedChain:
        where = self.bucket.where
        read = pointer.read(self.bucket)
        if read.pointer is None or read.version is None:
            raise PullFault(
                "source",
                f"{where}: nothing was published there yet; publish to it, or correct "
                "the address",
            )
        if memory and not _follows(read.pointer, memory):
            raise PullFault(
                "stale",
                f"{where}: {layout.POINTER} is older than the one that this host has "
                f"followed, of {memory['switched'][:19]}Z; a cache in between, or an "
                "old copy of the store? To follow it all the same, delete pulled.json",
            )
        return WantedChain(read.pointer.chain, read.version, _memory(read.pointer))

    def published(self, id: str) -> Published:
        return layout.published(self.bucket, id)


def _memory(present: TargetPointer) -> dict[str, Any]:
    return {"built": present.built, "switched": present.switched}


def _follows(present: TargetPointer, memory: Mapping[str, Any]) -> bool:
    """Return whether a pointer is the remembered one, or a later one.

    A later one lists the remembered one's last activation in its history, whatever the
    clocks of publishers say. A host that was away for longer than the history goes
    back, compares times.
    """
    if memory["switched"] in [entry["when"] for entry in present.history]:
        return True
    times = (present.built, present.switched)
    return times >= (memory["built"], memory["switched"])


# -- pulling ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Pulled:
    """What `pull` did.

    ``previous``: the release that was current before, if any. ``activated``: `current`
    has moved. ``pinned``: it has not, since this host is pinned at ``previous``.
    ``version``: of what named the release.
    """

    id: str
    fetched: Fetched
    previous: str | None
    activated: bool
    pinned: bool
    version: Version


def pull(
    source: ReleaseSource,
    releases: Releases,
    *,
    indexes: Sequence[Index] = (),
    last: Pulled | None = None,
    progress: Progress | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Pulled:
    """Bring the current release of a source to an output directory, and activate it.

    ``indexes``: those of the Interface, whose rows are compared with the release id.
    ``last``: what the last call did, where there was one: while the source has not
    changed since, one request is all, and as long as it names the same release, that is
    believed to be intact. Otherwise every byte of the release is compared, even if it is
    current here, and what is damaged is fetched again. ``progress`` is called with how
    many objects are here, and of how many. How it went is recorded in the output
    directory. Raises PullFault, after which what was current still is.
    """
    where = source.bucket.where
    with faults("host"), failures(releases.out):
        releases.out.mkdir(parents=True, exist_ok=True)
    note = pull_notes.read(releases.out) or PullNote()
    if note.source != where:
        note = replace(note, source=where, memory={})
    try:
        with faults("source"):
            if last and _is_here(last, releases) and source.is_still(last.version):
                _record(releases, _succeeded(note, clock(), note.memory))
                return replace(last, fetched=Fetched(), activated=False)
            wanted = source.current(note.memory)
        id = wanted.chain.in_force(clock()).id
        note = replace(note, release=id)
        if last and last.id == id and _is_here(last, releases):
            version = wanted.version
            done = replace(last, fetched=Fetched(), activated=False, version=version)
        else:
            done = _bring(source, wanted, releases, indexes, progress, clock)
    except Exception as error:  # whatever it is, the host's checks say so
        _record(releases, failed(note, error, clock()))
        raise
    _record(releases, _succeeded(note, clock(), wanted.memory))
    return done


def prune(releases: Releases, keep: int, moment: datetime) -> list[str]:
    """Delete all but the newest ``keep`` releases, as `Releases.prune`; return their
    ids.

    Raises PullFault.
    """
    with faults("host"), releases.lock():
        return releases.prune(keep, moment)


def failed(note: PullNote, error: Exception, moment: datetime) -> PullNote:
    """Return the note after an attempt that failed."""
    kind, fault = "program", f"{type(error).__name__}: {error}"
    if isinstance(error, PullFault):
        kind, fault = error.kind, str(error)
    faults = {**note.faults, kind: note.faults.get(kind, 0) + 1}
    since = note.since or moment.isoformat(timespec="seconds")
    return replace(note, kind=kind, fault=fault, since=since, faults=faults)


def _succeeded(note: PullNote, moment: datetime, memory: Mapping[str, Any]) -> PullNote:
    when = moment.isoformat(timespec="seconds")
    return replace(note, succeeded=when, kind="", fault="", since="", memory=memory)


def _is_here(last: Pulled, releases: Releases) -> bool:
    """Return whether what was pulled last is current, or a pin still forbids it."""
    return releases.current() == last.id or (last.pinned and releases.pinned())


def _record(releases: Releases, note: PullNote) -> None:
    with (
        faults("host"),
        failures(releases.out, "the release itself is as it should be"),
    ):
        pull_notes.write(releases.out, note)


def _bring(
    source: ReleaseSource,
    wanted: WantedChain,
    releases: Releases,
    indexes: Sequence[Index],
    progress: Progress | None,
    clock: Callable[[], datetime],
) -> Pulled:
    id, version = wanted.chain.in_force(clock()).id, wanted.version
    with faults("host"), releases.lock(make=True):
        releases.reconcile()
        fetched = Fetched()
        if not releases.complete(id) or verify(releases, id, indexes):
            with staging(releases.out, KEPT) as stage:
                try:
                    with faults("damaged"):
                        release = source.published(id)
                        fetched = fetch(
                            source.bucket, release, releases, stage, indexes, progress
                        )
                except OSError:
                    stage.drop()  # the disk may be full of it
                    raise
                releases.add(stage, id)
        previous = releases.current()
        if previous == id:
            return Pulled(id, fetched, previous, False, False, version)
        if releases.pinned():
            return Pulled(id, fetched, previous, False, True, version)
        reason = f"pulled from {source.bucket.where}"
        releases.activate(id, "pull", reason, clock())
        return Pulled(id, fetched, previous, True, False, version)
