"""Holding checked content to the contracts of apps, now and at the instants ahead."""

from dataclasses import replace
from datetime import timedelta

from shopwindow.content.check.folder import Check, Checked
from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Documents
from shopwindow.content.reading.scratch import scratch
from shopwindow.content.reading.steps import Steps
from shopwindow.interface.declaring.collections import Declared
from shopwindow.library.opening import live_at
from shopwindow.release.ahead import build_chain
from shopwindow.release.contracts import ContractsBroken, hold
from shopwindow.release.indexes import index_state, on_demand
from shopwindow.release.order import BuildInputs, BuildOrder
from shopwindow.release.releases import Releases


def ordered(
    inputs: BuildInputs, declared: Declared, check: Check, steps: Steps
) -> BuildOrder:
    """Return the order to build checked documents that break no contract."""
    # Not the check itself: it has the sources, which the processes of a build would copy.
    folder, memory, most = check.folder, check.memory, check.most
    return BuildOrder(
        inputs=inputs,
        moment=schedule.moment_of(check.at, inputs.documents.zone),
        jobs=check.jobs,
        steps=steps,
        accept=lambda asking, digests: hold(
            asking, digests, declared, folder, memory, most=most
        ),
    )


def held(
    declared: Declared,
    check: Check,
    checked: Checked,
    documents: Documents,
    ahead: timedelta,
    *,
    steps: Steps,
) -> Checked:
    """Return the outcome of a check with what breaks contracts, or with what ends the
    releases that a build would write ahead.
    """
    try:
        if ahead:
            inputs = BuildInputs(
                declared.interface, documents, declared.schemas, check.memory.program
            )
            order = ordered(inputs, declared, check, steps)
            with scratch() as folder:
                built = build_chain(order, Releases(folder), ahead)
            if built.broken:
                raise built.broken
        else:
            _hold_now(declared, check, documents)
    except ContractsBroken as broken:
        return refused_by_contracts(checked, broken)
    return checked


def _hold_now(declared: Declared, check: Check, documents: Documents) -> None:
    """Raise ContractsBroken where documents break a contract at the check's instant."""
    interface, feeds = declared.interface, documents.feeds
    published = live_at(interface, documents, check.at)
    digests = {
        index.name: index_state(index, feeds[index.name], published, "")
        for index in interface.indexes
        if index.name in feeds and check.memory.folder is not None
    }
    with on_demand(interface, documents, published, jobs=check.jobs) as asking:
        hold(asking, digests, declared, check.folder, check.memory, most=check.most)


def refused_by_contracts(checked: Checked, broken: ContractsBroken) -> Checked:
    """Return the outcome of a check with what breaks contracts."""
    return replace(checked, documents=None, problems=broken.problems, more=broken.more)
