"""Which release becomes the current one: activate, roll back, and what follows a build
or a pull.

All three are done under the lock of the output directory, after `reconcile` has cleared
up what a killed command left. A release is verified before `activate` or `rollback`
makes it the current one, for it may be old, or a copy. A release that was just built is
not: its bytes were written or linked a moment ago, and `build` has looked at one that
existed.
"""

from dataclasses import dataclass
from datetime import datetime

from shopwindow.problems import Failure
from shopwindow.release.chain import Chain
from shopwindow.release.edge_notes import ConfiguredEdge, stale_edges
from shopwindow.release.releases import Releases
from shopwindow.release.verify import verify

LISTED_FAULTS = 3
"""Files of a damaged release that the refusal to activate it names: `verify` lists all
of them.
"""


@dataclass(frozen=True)
class Activated:
    """A release that was activated. ``previous`` was current before, if any.

    ``edges``: those whose configuration is of other rules, so it must be written and
    loaded again.
    """

    id: str
    previous: str | None
    edges: tuple[ConfiguredEdge, ...] = ()


def activate(
    releases: Releases, id: str | None, reason: str, moment: datetime
) -> Activated:
    """Make a release the current one, and unpin.

    ``id`` is the beginning of an id; None: the release of the last build. ``reason``
    goes into the history. Raises Failure, such as for a damaged release; then nothing
    has changed.
    """
    with releases.lock():
        releases.reconcile()
        chosen = releases.find(id) if id else releases.latest()
        return _verified(releases, chosen, "activate", reason or "activate", moment)


def roll_back(
    releases: Releases, id: str | None, reason: str, moment: datetime
) -> Activated:
    """Make an earlier release the current one, and pin it, so that no build replaces
    it.

    ``id`` is the beginning of an id; None: the newest in the history that was never
    rolled back from. Raises Failure, as `activate`.
    """
    with releases.lock():
        releases.reconcile()
        chosen = releases.find(id) if id else releases.to_roll_back_to()
        return _verified(releases, chosen, "rollback", reason or "rollback", moment)


def activate_chain(
    releases: Releases,
    chain: Chain,
    moment: datetime,
    action: str = "build",
    reason: str = "build",
) -> bool:
    """Activate a release that was just built or pulled, with those that follow it;
    return whether that moved ``current``.

    It does not where the release is current already, or where a rollback has pinned
    another. ``action`` and ``reason`` go into the history. The caller holds the lock.
    """
    if releases.pinned():
        return False
    id, following = chain.links[0].id, chain.links[1:]
    is_current = releases.current() == id
    if not (is_current and releases.chain().links[1:] == following):
        releases.activate(id, action, reason, moment, chain)
    return not is_current


def _verified(
    releases: Releases, id: str, action: str, reason: str, moment: datetime
) -> Activated:
    """Activate a release if every file of it is as it was built. Raises Failure.

    Where the history's last line about the current release says the very same, there is
    nothing to do.
    """
    previous = releases.current()
    faults = verify(releases, id)
    if faults:
        listed = "; ".join(faults[:LISTED_FAULTS])
        raise Failure(f"release {id[:12]} is damaged, nothing was activated: {listed}")
    last = releases.last_about(id)
    if (previous, last.get("action"), last.get("why")) != (id, action, reason):
        releases.activate(id, action, reason, moment)
    return Activated(id, previous, stale_edges(releases, id))
