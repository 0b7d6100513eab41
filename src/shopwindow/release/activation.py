"""Which release becomes the current one: activate, roll back, and what follows a build
or a pull.

All three are done under the lock of the output directory, after `reconcile` has cleared
up what a killed command left. A release is verified before `activate` or `rollback`
makes it the current one, for it may be old, or a copy. A release that was just built is
not: its bytes were written or linked a moment ago, and `build` has looked at one that
existed.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

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
    releases: Releases, id: str | None, reason: str, *, pin: bool
) -> Activated:
    """Make a release the current one, and unpin; or ``pin`` it, so that no build
    replaces it.

    ``id`` is the beginning of an id; None: the release of the last build, or, to be
    pinned, the newest in the history that was never rolled back from. ``reason`` goes
    into the history. Where the last line about the current release says the very same,
    there is nothing to do. Raises Failure, such as for a damaged release; then nothing
    has changed.
    """
    action = "rollback" if pin else "activate"
    with releases.lock():
        releases.reconcile()
        by_default = releases.to_roll_back_to if pin else releases.latest
        chosen = releases.find(id) if id else by_default()
        previous, faults = releases.current(), verify(releases, chosen)
        if faults:
            listed = "; ".join(faults[:LISTED_FAULTS])
            raise Failure(
                f"release {chosen[:12]} is damaged, nothing was activated: {listed}"
            )
        last, why = releases.last_about(chosen), reason or action
        if (previous, last.get("action"), last.get("why")) != (chosen, action, why):
            releases.activate(chosen, action, why, datetime.now(UTC))
        return Activated(chosen, previous, stale_edges(releases, chosen))


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
