"""Building a release of a content folder, and holding content to the contracts of apps, as
a build does.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from shopwindow.content.check.folder import Check, Checked
from shopwindow.content.check.memory import Memory
from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Content, Documents
from shopwindow.content.kinds import SITE
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.processes import Steps, no_steps
from shopwindow.content.reading.scratch import scratch
from shopwindow.interface.declaring.collections import Declared
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.operation import Operation
from shopwindow.library.opening import (
    OpenedContent,
    checked_content,
    declared,
    first_problem,
    live_at,
)
from shopwindow.problems import Failure, Level, Misuse, failures
from shopwindow.release import activation, build_notes
from shopwindow.release.ahead import build_chain
from shopwindow.release.build import Built
from shopwindow.release.contracts import ContractsBroken, hold
from shopwindow.release.edge_notes import ConfiguredEdge, stale_edges
from shopwindow.release.indexes import index_state, on_demand
from shopwindow.release.order import BuildInputs, BuildOrder
from shopwindow.release.origin import origin
from shopwindow.release.prerender import planned_operations
from shopwindow.release.program import program_digest
from shopwindow.release.releases import OutputBusy, Releases

OVERLAY_ADVICE = (
    "write what differs from site.yaml into it, as `base_url: https://staging.example`"
)
"""What to do where there is no file to be laid over site.yaml."""


@dataclass(frozen=True)
class Build:
    """What `build` did.

    ``checked`` holds the problems; where there are any, ``built`` is None and nothing
    was written. ``activated``: the new release became the current one in this build.
    ``current`` is the release that is current now, and ``pinned`` whether it stays so
    until somebody activates another. ``previous`` was current before. ``edges``: those
    whose configuration is of other rules than the current release's.
    """

    checked: Checked
    built: Built | None = None
    activated: bool = False
    current: str | None = None
    pinned: bool = False
    previous: str | None = None
    edges: tuple[ConfiguredEdge, ...] = ()


def build(
    interface: Interface,
    content: Path,
    out: Path,
    *,
    site: Path | None = None,
    at: str | None = None,
    ahead: timedelta = timedelta(),
    jobs: int | None = None,
    fresh: bool = False,
    memory: Memory | None = None,
    steps: Steps = no_steps,
) -> Build:
    """Check a content folder, write a release to ``out`` and activate it, unless
    `current` is pinned.

    ``site`` is a file that is laid over site.yaml, wherever it is. ``at`` is the instant
    whose content counts, as `live_at` reads it. ``ahead``: the releases of the instants
    within this time after it, at which content changes by itself, are written as well, and
    follow the first one at their instants. A ``fresh`` build reads and writes everything
    again; the release is the same. The other arguments are those of `check`; without a
    stored ``memory`` there is one in ``out``. How the build ended is recorded in
    last-build.json, and while it is at work, in building.json.

    Raises Misuse, Failure (a full disk, a damaged release) or OutputBusy, where another
    process changes ``out``.
    """
    from shopwindow.edge.rules import digest, rules  # here: what only checks needs none

    if out.absolute().is_relative_to(content.absolute()):
        raise Misuse(
            "out", f"{out} lies within --content {content}, whose every file is content"
        )
    started = datetime.now(UTC)
    program = program_digest(interface, content, out)
    if fresh or memory is None or memory.folder is None:
        memory = Memory(None if fresh else out / ".cache", program)
    over = [_overlay(site)] if site else []
    with build_notes.at_work(out, started), _failure_recorded(out, started):
        prepared = declared(interface, content)
        with failures(out):
            check = Check(
                content,
                prepared,
                jobs=jobs,
                progress=steps("checking"),
                memory=memory,
                over=over,
                at=at,
            )
            checked = checked_content(prepared, check)
        if checked.documents is None:
            return _refused(checked, out, started)

        extended, schemas = prepared.interface, prepared.schemas
        inputs = BuildInputs(extended, checked.documents, schemas, program)
        order = replace(
            ordered(inputs, prepared, check, steps),
            edge=lambda live: digest(rules(extended, live, schemas)),
            note={
                "built": datetime.now(UTC).isoformat(timespec="microseconds"),
                **origin(content),
                "started": started.isoformat(timespec="milliseconds"),
            },
            fresh=fresh,
        )
        # Nothing reads the sources any more, and every process of the build would have
        # them.
        del check
        checked.sources.clear()
        try:
            return _released(checked, order, Releases(out), ahead, started)
        except ContractsBroken as broken:
            return _refused(refused_by_contracts(checked, broken), out, started)


def _overlay(path: Path) -> Source:
    """Return a file that is laid over site.yaml. Raises Failure where it cannot be read."""
    with failures(path, OVERLAY_ADVICE):
        status, data = path.stat(), path.read_bytes()
    changed = status.st_mtime_ns
    return Source(
        str(path.absolute()), SITE, len(data), changed, status.st_ino, unsaved=data
    )


@contextmanager
def _failure_recorded(out: Path, started: datetime) -> Iterator[None]:
    """Record in last-build.json what a build fails of."""
    try:
        yield
    except OutputBusy:
        raise  # another build is at work, and records its own end
    except (Failure, OSError) as failure:
        build_notes.record_build(out, started, "FAILED", str(failure))
        raise


def _refused(checked: Checked, out: Path, started: datetime) -> Build:
    """Record that the content is at fault, and return what is wrong with it."""
    fault, cause = first_problem(checked), build_notes.CONTENT_AT_FAULT
    build_notes.record_build(out, started, "FAILED", fault, cause)
    return Build(checked)


def _released(
    checked: Checked,
    order: BuildOrder,
    releases: Releases,
    ahead: timedelta,
    started: datetime,
) -> Build:
    """Build a release and those ahead, activate the chain and record that."""
    with releases.lock(make=True):
        releases.reconcile()
        previous = releases.current()
        built = build_chain(order, releases, ahead)
        moment = datetime.now(UTC)
        activated = activation.activate_chain(releases, built.chain, moment)
        build_notes.record_build(
            releases.out, started, "SUCCESS", built.cut, release=built.id
        )
        current = releases.current()
        later = built.broken.problems if built.broken else ()
        warnings = [replace(problem, level=Level.WARNING) for problem in later]
        return Build(
            checked=replace(checked, warnings=[*checked.warnings, *warnings]),
            built=built,
            activated=activated,
            current=current,
            pinned=releases.pinned(),
            previous=previous,
            edges=stale_edges(releases, current) if current else (),
        )


@contextmanager
def indexed_content(
    content: OpenedContent,
    *,
    at: str | None = None,
    jobs: int | None = None,
    steps: Steps = no_steps,
) -> Iterator[Content]:
    """Yield documents that are live, answering from indexes that are built for this and
    deleted at the end.

    The arguments are those of `show` and `check`.
    """
    interface, documents = content.interface, content.documents
    published = live_at(interface, documents, at)
    with on_demand(interface, documents, published, jobs=jobs, steps=steps) as asking:
        yield asking.indexed()


def counted(
    content: OpenedContent, *, at: str | None = None, jobs: int | None = None
) -> Iterator[tuple[Operation, int | None]]:
    """Yield every operation with the number of files that a build would render of it.

    None: the operation is dynamic. The arguments are those of `show` and `check`.
    """
    interface = content.interface
    with indexed_content(content, at=at, jobs=jobs) as indexed:
        files = {
            each.operation.name: each.files
            for each in planned_operations(interface, indexed)
        }
    for operation in interface.operations:
        yield operation, files.get(operation.name)


# -- contracts -------------------------------------------------------------------------


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
