"""Checking a content folder: its files, its rules, and, where it has some, the contracts of apps."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from shopwindow.content.check.folder import MAX_PROBLEMS, Check, Checked
from shopwindow.content.check.memory import Memory
from shopwindow.content.reading.processes import Steps, no_steps
from shopwindow.content.reading.revision import commit_of, exported
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.answering.contracts import CONTRACT
from shopwindow.interface.declaring.interface import Interface
from shopwindow.library.opening import (
    checked_content,
    declared,
    opened,
    require_folder,
)
from shopwindow.problems import Failure, Level, Misuse, Problem
from shopwindow.release.released import NoRelease
from shopwindow.release.released import documents as released_documents


def check(
    interface: Interface,
    content: Path,
    *,
    against: Path | str | None = None,
    at: str | None = None,
    ahead: timedelta = timedelta(),
    jobs: int | None = None,
    most: int = MAX_PROBLEMS,
    steps: Steps = no_steps,
    memory: Memory | None = None,
) -> Checked:
    """Return everything that is wrong with a content folder, or its documents.

    ``against`` is a release, a .tar of one, or a git revision of the folder: what
    changed since is held to the rules for revisions. Windows that are past at the
    instant ``at``, as `live_at` reads it, are warnings. ``ahead``: the releases of this
    instant, and of those within this time after it at which content changes, are built
    into a temporary folder, as `build` does; what it cannot build is a problem. ``jobs``
    is the number of processes, by default one a processor. At most ``most`` problems are
    listed; the others are counted. ``memory`` is that of the folder; without one, all
    files are read.

    Raises Misuse where there is no such folder, release or revision, and Failure where
    no release of the first instant can be built ahead.
    """
    require_folder(content)
    released: Mapping[str, Mapping[Any, Json]] | None = None
    incomparable: list[Problem] = []
    if against is not None and Path(against).exists():
        try:
            released = released_documents(Path(against), interface)
        except NoRelease as failure:
            raise Misuse("against", str(failure)) from None
    elif against is not None:
        try:
            released = _of_revision(interface, content, str(against), jobs)
        except Failure as failure:
            found = f"nothing is compared with {against}: {failure}"
            warning = Problem("against.unread", "", found, level=Level.WARNING)
            incomparable.append(warning)
    prepared = declared(interface, content)
    work = Check(
        content,
        prepared,
        jobs=jobs,
        progress=steps("checking"),
        released=released,
        most=most,
        memory=memory or Memory(),
        at=at,
    )
    checked = checked_content(prepared, work)
    documents = checked.documents
    if documents is not None and (ahead or documents.of(CONTRACT)):
        # Here, because few folders have contracts, and what builds takes 16 ms.
        from shopwindow.library.building import held

        checked = held(prepared, work, checked, documents, ahead, steps=steps)
    return replace(checked, warnings=[*incomparable, *checked.warnings])


def _of_revision(
    interface: Interface, content: Path, revision: str, jobs: int | None
) -> Mapping[str, Mapping[Any, Json]]:
    """Return the documents of a git revision of a content folder, by kind and identity.

    Raises Misuse where there is no such revision, and Failure where it has problems, or
    no such folder: the change that is checked may be what mends it.
    """
    try:
        commit = commit_of(content, revision)
    except Failure as failure:
        raise Misuse(
            "against",
            f"{revision}: there is no such release (a folder or .tar), "
            f"and it is no git revision: {failure}",
        ) from None
    with exported(content, commit) as folder:
        content_then = opened(interface, folder, jobs=jobs)
    return {
        kind.name: {
            document.value[kind.identity]: document.value
            for document in content_then.documents.of(kind.name)
        }
        for kind in content_then.interface.kinds
        if kind.identity is not None and not kind.streamed
    }
