"""Pulls a chain: brings the release in force at a source to this host, activates it, and
brings those that follow it.

1. The source says which releases are current from when on, and what each consists of.
   Whoever pulls believes that. All other bytes are compared with digests that follow
   from it, so where they come from is no matter of trust.
2. What this host lacks of a release is fetched into a staging directory (`fetching`),
   which is synced and renamed as a build's is.
3. `current` leads to the release in force as soon as that is here. Those that follow it
   are fetched after that, and the history's line names them when all of them are here.

Killed at any point, it leaves the release that was served, and what was fetched for the
next attempt. A service follows `current` by itself. Who moves it to the next release of
the chain, is `moving`.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import pairwise, takewhile
from typing import Any, Protocol

from shopwindow.content.reading.processes import Progress
from shopwindow.delivery import layout, pointer
from shopwindow.delivery.bucket import Bucket, Version
from shopwindow.delivery.fetching import PullFault, faults, fetch
from shopwindow.delivery.layout import Published
from shopwindow.delivery.pointer import TargetPointer
from shopwindow.interface.declaring.index import Index
from shopwindow.problems import failures
from shopwindow.release import pull_notes
from shopwindow.release.activation import activate_chain
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


@dataclass(frozen=True)
class UnsignedSource:
    """A target that is believed as it is."""

    bucket: Bucket

    def is_still(self, version: Version) -> bool:
        return self.bucket.is_still(layout.POINTER, version)

    def current(self, memory: Mapping[str, Any]) -> WantedChain:
        where = self.bucket.where
        present = pointer.read(self.bucket)
        if present is None:
            raise PullFault(
                "source",
                f"{where}: nothing was published there yet; publish to it, or correct "
                "the address",
            )
        if memory and not _follows(present, memory):
            raise PullFault(
                "stale",
                f"{where}: {layout.POINTER} is older than the one that this host has "
                f"followed, of {memory['switched'][:19]}Z; a cache in between, or an "
                "old copy of the store? To follow it all the same, delete pulled.json",
            )
        memory = {"switched": present.switched}
        return WantedChain(present.chain, present.version, memory)

    def published(self, id: str) -> Published:
        return layout.published(self.bucket, id)


def _follows(present: TargetPointer, memory: Mapping[str, Any]) -> bool:
    """Return whether a pointer is the remembered one, or a later one.

    A later one lists the remembered one's last activation in its history, whatever the
    clocks of publishers say. A host that was away for longer than the history goes
    back, compares times.
    """
    switched = memory["switched"]
    listed = [entry["when"] for entry in present.history]
    return switched in listed or present.switched >= switched


# -- pulling ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Pulled:
    """What `pull` did.

    ``id``: the release in force. ``fetched``: how many bytes each request returned.
    ``previous``: the release that was current before, if any. ``activated``: `current`
    has moved. ``pinned``: it has not, since this host is pinned at ``previous``.
    ``wanted``: what the source named. ``intact``: the releases of that which are here,
    every byte compared.
    """

    id: str
    fetched: Sequence[int]
    previous: str | None
    activated: bool
    pinned: bool
    wanted: WantedChain
    intact: Set[str]


def pull(
    source: ReleaseSource,
    releases: Releases,
    *,
    indexes: Sequence[Index] = (),
    last: Pulled | None = None,
    keep: int = 0,
    progress: Progress | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Pulled:
    """Bring the chain of a source to an output directory, and let it be followed there.

    ``indexes``: those of the Interface, whose rows are compared with the release id.
    ``last``: what the last call did, where there was one: while the source has not
    changed since, one request is all, and the releases that it brought are believed to
    be intact. Of all others every byte is compared, also where they are here already,
    and what is damaged is fetched again. ``keep``: how many of the newest releases stay
    after that; 0: all. ``progress`` is called with how
    many objects are here, and of how many. How it went is recorded in the output
    directory. Raises PullFault, after which what was current still is, or the release in
    force, where only what follows it could not be brought.
    """
    where = source.bucket.where
    with faults("host"), failures(releases.out):
        releases.out.mkdir(parents=True, exist_ok=True)
    note = pull_notes.read(releases.out) or PullNote()
    if note.source != where:
        note = replace(note, source=where, memory={})

    def bring(id: str, before: str | None) -> list[int]:
        """Fetch what is not here of a release; ``before`` has most of its files."""
        is_intact = last is not None and id in last.intact
        if releases.complete(id) and (is_intact or not verify(releases, id, indexes)):
            return []
        with staging(releases.out, KEPT) as stage:
            try:
                with faults("damaged"):
                    fetched = fetch(
                        source.bucket,
                        source.published(id),
                        releases,
                        before,
                        stage,
                        indexes=indexes,
                        progress=progress,
                    )
            except OSError:
                stage.drop()  # the disk may be full of it
                raise
            releases.add(stage, id)
        return fetched

    try:
        with faults("source"):
            wanted = (
                last.wanted
                if last and source.is_still(last.wanted.version)
                else source.current(note.memory)
            )
        now = clock()
        note = replace(note, release=wanted.chain.in_force(now).id)
        if last and _is_here(last, wanted.chain, releases, now):
            done = replace(
                last,
                id=note.release,
                fetched=(),
                activated=False,
                wanted=wanted,
            )
        else:
            reason = f"pulled from {where}"
            done = _brought(wanted, releases, bring, clock, keep=keep, reason=reason)
    except Exception as error:  # whatever it is, the host's checks say so
        _record(releases, failed(note, error, clock()))
        raise
    _record(releases, _succeeded(note, clock(), wanted.memory))
    return done


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


def _is_here(last: Pulled, chain: Chain, releases: Releases, now: datetime) -> bool:
    """Return whether all of a chain was pulled, is here, and is followed, unless a pin
    still forbids that.
    """
    present = releases.chain()
    ids = {link.id for link in chain.remaining(now).links}
    is_here = ids <= last.intact and all(map(releases.complete, ids))
    if not present.links or not is_here:
        return False
    if releases.pinned():
        return last.pinned or present.links[0].id == chain.in_force(now).id
    return chain.continues(present, now)


def _record(releases: Releases, note: PullNote) -> None:
    with (
        faults("host"),
        failures(releases.out, "the release itself is as it should be"),
    ):
        pull_notes.write(releases.out, note)


def _brought(
    wanted: WantedChain,
    releases: Releases,
    bring: Callable[[str, str | None], list[int]],
    clock: Callable[[], datetime],
    *,
    keep: int,
    reason: str,
) -> Pulled:
    """Bring a chain and activate it. ``bring`` brings a release, of which the one before
    it has most files.
    """
    links = wanted.chain.remaining(clock()).links

    def activate(chain: Chain) -> None:
        activate_chain(releases, chain, clock(), "pull", reason)

    with faults("host"), releases.lock(make=True):
        releases.reconcile()
        previous = releases.current()
        fetched = bring(links[0].id, previous)
        # What follows by the chain of before, and by this one no more, ends here.
        activate(
            Chain(tuple(takewhile(lambda link: releases.complete(link.id), links)))
        )
        for before, link in pairwise(links):
            fetched += bring(link.id, before.id)
        chain = wanted.chain.remaining(clock())
        activate(chain)
        id, current = chain.links[0].id, releases.current()
        if keep and current == id:
            releases.prune(keep, clock())
    return Pulled(
        id,
        fetched,
        previous,
        activated=current != previous,
        pinned=current != id,
        wanted=wanted,
        intact={link.id for link in links},
    )
