"""Holding checked content to the contracts of apps, now and at the instants ahead."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from shopwindow.content.check.folder import MAX_PROBLEMS, Check, Checked
from shopwindow.content.check.memory import Memory
from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Documents
from shopwindow.content.reading.scratch import scratch
from shopwindow.content.reading.steps import Steps
from shopwindow.interface.declaring.collections import Declared
from shopwindow.library.opening import live_at
from shopwindow.release.ahead import build_chain
from shopwindow.release.contracts import ContractsBroken, hold
from shopwindow.release.indexes import index_state, on_demand
from shopwindow.release.order import BuildOrder
from shopwindow.release.releases import Releases


def ordered(
    declared: Declared,
    content: Path,
    documents: Documents,
    memory: Memory,
    *,
    at: str | None,
    jobs: int | None,
    steps: Steps,
    most: int = MAX_PROBLEMS,
) -> BuildOrder:
    """Return the order to build checked documents that break no contract."""
    return BuildOrder(
        interface=declared.interface,
        documents=documents,
        schemas=declared.schemas,
        moment=schedule.moment_of(at, documents.zone),
        program=memory.program,
        jobs=jobs,
        steps=steps,
        accept=lambda asking, digests: hold(
            asking, digests, declared, content, memory, most
        ),
    )


def held(
    declared: Declared,
    check: Check,
    checked: Checked,
    documents: Documents,
    ahead: timedelta,
    steps: Steps,
) -> Checked:
    """Return the outcome of a check with what breaks contracts, or with what ends the
    releases that a build would write ahead.
    """
    try:
        if ahead:
            order = ordered(
                declared,
                check.folder,
                documents,
                check.memory,
                at=check.at,
                jobs=check.jobs,
                steps=steps,
                most=check.most,
            )
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
        hold(asking, digests, declared, check.folder, check.memory, check.most)


def refused_by_contracts(checked: Checked, broken: ContractsBroken) -> Checked:
    """Return the outcome of a check with what breaks contracts."""
    return replace(checked, documents=None, problems=broken.problems, more=broken.more)
