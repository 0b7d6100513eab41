"""Holding checked content to the contracts of apps, now and at the instants ahead."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from shopwindow.content.check.folder import Checked, CheckOptions
from shopwindow.content.documents.documents import Documents, live
from shopwindow.content.reading.scratch import scratch
from shopwindow.content.reading.steps import Steps
from shopwindow.interface.declaring.collections import Declared
from shopwindow.library.opening import moment_of
from shopwindow.release.ahead import build_chain
from shopwindow.release.contracts import ContractsBroken, hold
from shopwindow.release.indexes import index_state, on_demand
from shopwindow.release.order import Asking, BuildOrder
from shopwindow.release.releases import Releases


def held(
    declared: Declared,
    content: Path,
    checked: Checked,
    documents: Documents,
    options: CheckOptions,
    ahead: timedelta,
    steps: Steps,
) -> Checked:
    """Return the outcome of a check with what breaks contracts, or with what ends the
    releases that a build would write ahead.
    """
    interface, moment = declared.interface, moment_of(options.at, documents)
    try:
        if ahead:
            order = BuildOrder(
                interface,
                documents,
                declared.schemas,
                moment,
                edge=lambda live: "",
                program=options.memory.program,
                note={},
                jobs=options.jobs,
                steps=steps,
                accept=lambda asking, digests: hold(
                    asking, digests, declared, content, options
                ),
            )
            with scratch() as folder:
                built = build_chain(order, Releases(folder), ahead)
            if built.broken:
                raise built.broken
        else:
            published = live(documents, moment, interface.kinds, interface.clocks)
            feeds = documents.feeds
            digests = {
                index.name: index_state(index, feeds[index.name], published, "")
                for index in interface.indexes
                if index.name in feeds and options.memory.folder is not None
            }
            with on_demand(
                interface.indexes, feeds, published, jobs=options.jobs
            ) as opened:
                asking = Asking(interface, documents, published, opened)
                hold(asking, digests, declared, content, options)
    except ContractsBroken as broken:
        return refused_by_contracts(checked, broken)
    return checked


def refused_by_contracts(checked: Checked, broken: ContractsBroken) -> Checked:
    """Return the outcome of a check with what breaks contracts."""
    return replace(checked, documents=None, problems=broken.problems, more=broken.more)
