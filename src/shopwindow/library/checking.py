"""Checking a content folder: its files, its rules, and the contracts of apps that it must keep."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from shopwindow.content.check.folder import MAX_PROBLEMS, Checked, CheckOptions
from shopwindow.content.check.folder import check as check_folder
from shopwindow.content.check.remembered import RememberedFiles
from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Documents, live
from shopwindow.content.reading.revision import commit_of, exported
from shopwindow.content.reading.steps import Steps, no_steps
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.collections import Declared
from shopwindow.interface.collections import declared as declared_in
from shopwindow.interface.contracts import CONTRACT, with_rules
from shopwindow.interface.interface import Interface
from shopwindow.interface.loading import program_schemas
from shopwindow.problems import (
    Failure,
    Level,
    Misuse,
    Problem,
    sentence,
)
from shopwindow.release.contracts import (
    ContractsBroken,
    Examined,
    hold,
    kept_in_memory,
    not_kept,
)
from shopwindow.release.indexes import index_state, on_demand
from shopwindow.release.released import NoRelease
from shopwindow.release.released import documents as released_documents
from shopwindow.service import trial


def schemas(interface: Interface, content: Path) -> Schemas:
    """Return the schemas of an interface, with those of a content folder, if any, on
    top.

    Raises Failure for a fault in the interface's schemas; one in the folder's is among
    the problems of `check`.
    """
    return program_schemas(interface, content / "schemas")


def declared(interface: Interface, content: Path) -> Declared:
    """Return an interface and its schemas with the collections that a content folder
    declares.

    What is wrong with a declaration is among the problems of `check`.
    """
    return declared_in(content, interface, schemas(interface, content))


def check(
    interface: Interface,
    content: Path,
    *,
    against: Path | str | None = None,
    at: str | None = None,
    jobs: int | None = None,
    most: int = MAX_PROBLEMS,
    steps: Steps = no_steps,
    remembered: RememberedFiles | None = None,
    contracts: bool = True,
) -> Checked:
    """Return everything that is wrong with a content folder, or its documents.

    ``against`` is a release, a .tar of one, or a git revision of the folder: what
    changed since is held to the rules for revisions. Windows that are past at the instant ``at``, as `moment_of`
    reads it, are warnings. ``jobs`` is the number of processes, by default one a
    processor. At most ``most`` problems are listed; the others are counted. A program that checks the same folder
    again and again hands in what is ``remembered`` of its files. Without
    ``contracts``, content that breaks one is no problem: for whoever only looks at it.

    Raises Misuse where there is no such folder, release or revision.
    """
    _require_folder(content)
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
    options = CheckOptions(
        jobs,
        steps("checking"),
        released=released,
        most=most,
        remembered=remembered,
        at=at,
    )
    prepared = declared(interface, content)
    checked = checked_content(prepared, content, options)
    if contracts and checked.documents is not None:
        checked = _held(prepared, content, checked, checked.documents, options)
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
        checked = check(interface, folder, jobs=jobs, contracts=False)
        kinds = declared(interface, folder).interface.kinds
    if checked.documents is None:
        raise Failure(first_problem(checked))
    return {
        kind.name: {
            document.value[kind.identity]: document.value
            for document in checked.documents.of(kind.name)
        }
        for kind in kinds
        if kind.identity is not None and not kind.streamed
    }


def checked_content(
    declared: Declared, content: Path, options: CheckOptions
) -> Checked:
    """Check a folder's documents, and its own templates of mails, where it has some."""
    _require_folder(content)
    options = replace(options, problems=declared.problems, unread=declared.unread)
    interface = with_contract_rules(declared)
    checked = check_folder(content, declared.schemas, interface, options)

    templates = content / "templates"
    problems = (
        trial.problems(declared.interface, templates) if templates.is_dir() else []
    )
    if not problems:
        return checked
    all_problems = sorted([*checked.problems, *problems], key=Problem.order)
    return replace(checked, documents=None, problems=all_problems)


def with_contract_rules(declared: Declared) -> Interface:
    """Return the interface of a content folder with the rules of its contracts."""
    is_complete = not (declared.problems or declared.schemas.problems)
    return with_rules(declared.interface, declared.schemas, is_complete=is_complete)


def _held(
    declared: Declared,
    content: Path,
    checked: Checked,
    documents: Documents,
    options: CheckOptions,
) -> Checked:
    """Hold checked documents to the contracts; return the outcome of the check with
    what breaks one.
    """
    if not documents.of(CONTRACT):
        return checked
    interface, remembered = declared.interface, options.remembered
    moment = moment_of(options.at, documents)
    published = live(documents, moment, interface.kinds, interface.clocks)
    digests: dict[str, str] = {}
    if remembered is not None:
        for index in interface.indexes:
            if index.name in documents.feeds:
                feeds = documents.feeds[index.name]
                _, digests[index.name] = index_state(index, feeds, published, "")
    with on_demand(
        interface.indexes, documents.feeds, published, jobs=options.jobs
    ) as opened:
        examined = Examined(
            interface,
            declared.schemas,
            content,
            declared.unread,
            documents,
            moment,
            published.with_indexes(opened(None)),
            digests,
            opened,
            program="",  # this process: what it remembers ends with it
            kept=kept_in_memory(remembered) if remembered else not_kept(),
            most=options.most,
        )
        try:
            hold(examined)
        except ContractsBroken as broken:
            return refused_by_contracts(checked, broken)
    return checked


def refused_by_contracts(checked: Checked, broken: ContractsBroken) -> Checked:
    """Return the outcome of a check with what breaks contracts."""
    return replace(checked, documents=None, problems=broken.problems, more=broken.more)


def _require_folder(content: Path) -> None:
    if not content.is_dir():
        raise Misuse("content", f"{content}: there is no such folder")


def moment_of(at: str | None, documents: Documents) -> datetime:
    """Return the instant that a text names, in the content's time zone.

    ``at`` is RFC 3339, or a local time or a day; None is now. Raises Misuse for any
    other text.
    """
    return schedule.moment_of(at, documents.zone)


def first_problem(checked: Checked) -> str:
    """Return the problems of a content folder in one sentence."""
    first, count = checked.problems[0], len(checked.problems) + checked.more
    where = f"{first.path}:{first.place.line}" if first.place else first.path
    problems = f"{count} problem{'s' * (count > 1)} in the content"
    return f"{problems}, the first in {where}: {sentence(first)}"
