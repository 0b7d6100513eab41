"""Builds the releases of later instants ahead: those at which content changes by itself.

Each has exactly the id that a build at its instant gives, since a build follows from
the documents and the instant alone. The documents were checked before, once. Each
release is built upon the one before it, so it writes only what the instant changes.

What cannot be built at an instant ends the chain before it: the releases until then are
good, and somebody has time to mend the content. `build` and `check` both learn of it
here, the one as warnings and the other as problems.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from shopwindow.content.documents import documents, schedule
from shopwindow.problems import Failure, Problem
from shopwindow.release.build import Built, build
from shopwindow.release.chain import Chain
from shopwindow.release.contracts import ContractsBroken
from shopwindow.release.order import BuildInputs, BuildOrder
from shopwindow.release.prerender import ViewFailed
from shopwindow.release.previous import keep_records
from shopwindow.release.releases import Releases

MOST_RELEASES = 20
"""Releases of a chain. A busy shop has some six instants a day, so these are three days;
at 10,000 events they take the disk of a few releases.
"""

UNBUILT = "ahead.unbuilt"
"""The rule that a content breaks of which no release can be built from an instant on,
though it breaks no contract: an answer fails, or a limit is passed.
"""


def instants(
    inputs: BuildInputs, moment: datetime, ahead: timedelta
) -> Iterator[datetime]:
    """Yield the instants within ``ahead`` after ``moment`` at which content changes by
    itself, as many as a chain has room for.
    """
    checked, interface = inputs.documents, inputs.interface
    boundaries = documents.boundaries(checked, interface.kinds)
    end = moment + ahead
    for _ in range(MOST_RELEASES - 1):
        moment = schedule.next_change(
            boundaries, interface.clocks, checked.zone, moment
        )
        if moment > end:
            return
        yield moment


def build_chain(order: BuildOrder, releases: Releases, ahead: timedelta) -> Built:
    """Write the release of the order's instant, and those of the instants within
    ``ahead`` after it.

    Returns what the build of the first one did, with the whole chain. The caller holds
    the lock of the output directory. Raises Failure, or what the order's ``accept``
    raises, where the first one cannot be built.
    """
    first = last = build(order, releases)
    links = [*first.chain.links]
    cut, broken = "", None
    for moment in instants(order.inputs, order.moment, ahead):
        try:
            last = build(replace(order, moment=moment), releases, after=last.id)
        except (ContractsBroken, Failure, ViewFailed) as fault:
            zone = order.inputs.documents.zone
            since = f"from {moment.astimezone(zone):%Y-%m-%d %H:%M} ({zone.key}) on"
            cut = f"{since}: {fault}"
            broken = (
                fault
                if isinstance(fault, ContractsBroken)
                else ContractsBroken([Problem(UNBUILT, "", str(fault))], 0)
            )
            broken.problems = [
                replace(problem, found=f"{since}: {problem.found}")
                for problem in broken.problems
            ]
            break
        links += last.chain.links
    chain = Chain(tuple(links))
    keep_records(releases, chain)
    return replace(
        first,
        chain=chain,
        next_change=last.next_change,
        cut=cut,
        broken=broken,
    )
