"""What a program calls: check content, build and operate releases, print the edge's
configuration, answer requests.

Each function takes an Interface where it needs one, and plain arguments, and returns
what it did. Every command of the command line parses, calls one of them, prints and
ends with a status. Problems of content are returned. What an operator has to mend is
raised as a Failure, and an argument that cannot be meant as Misuse. Nothing here
prints, reads settings from the environment, or ends a process.

The work is done in the rooms below: `content` checks, `release` builds and activates,
`edge` prints, `service` answers. Where a function here has more than one line of its
own, it says in which order these are called.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from shopwindow.content import schedule
from shopwindow.content.calendar import Calendar
from shopwindow.content.calendar import calendar as calendar_of
from shopwindow.content.check import MAX_PROBLEMS, Checked, CheckOptions
from shopwindow.content.check import check as check_folder
from shopwindow.content.documents import Content, Documents, live
from shopwindow.content.editing import write
from shopwindow.content.executor import Executor, Processes
from shopwindow.content.kinds import SITE
from shopwindow.content.listing import COLLECTIONS
from shopwindow.content.lookup import Shelf
from shopwindow.content.mending import Repair
from shopwindow.content.mending import repair as repair_of
from shopwindow.content.processes import Progress
from shopwindow.content.records import MAX_UNPACKED_BYTES
from shopwindow.content.remembered import RememberedFiles
from shopwindow.content.retiring import Retirement, retirement
from shopwindow.content.revision import commit_of, exported
from shopwindow.content.rule_pages import Pages, by_name
from shopwindow.content.schema import Schemas
from shopwindow.content.uses import (
    Uses,
    uses_of_attribute,
    uses_of_document,
    uses_of_setting,
)
from shopwindow.content.why import Explanation, explanations
from shopwindow.content.yaml import Json
from shopwindow.edge import keys as api_keys
from shopwindow.edge import nginx, openapi, varnish, worker, xsd
from shopwindow.edge.nginx import EdgeLimits
from shopwindow.edge.rules import digest, rules
from shopwindow.editor import vscode
from shopwindow.editor.files import write_schemas
from shopwindow.editor.schemas import associations
from shopwindow.interface.answer import Response
from shopwindow.interface.collections import Declared, schemas_with
from shopwindow.interface.collections import declared as declared_in
from shopwindow.interface.contracts import CONTRACT, with_rules
from shopwindow.interface.formats import RESPONSE_FORMATS, Format
from shopwindow.interface.interface import Interface
from shopwindow.interface.loading import program_schemas, template_folders
from shopwindow.interface.operation import Operation
from shopwindow.interface.secret import read_secret
from shopwindow.problems import (
    Failure,
    Level,
    Misuse,
    Problem,
    failures,
    nearest,
    sentence,
)
from shopwindow.release import activation, build_notes
from shopwindow.release.activation import Activated
from shopwindow.release.build import Built
from shopwindow.release.build import build as build_release
from shopwindow.release.changes import (
    Change,
    changes,
    content_of,
    longest_lifetime,
    purged,
)
from shopwindow.release.contracts import (
    ContractsBroken,
    Examined,
    hold,
    kept_in_file,
    kept_in_memory,
    not_kept,
)
from shopwindow.release.edge_notes import ConfiguredEdge, record_edge, stale_edges
from shopwindow.release.indexes import index_state, on_demand, temporary
from shopwindow.release.order import MAX_FILES, BuildOrder, BuiltIndexes
from shopwindow.release.origin import origin
from shopwindow.release.prerender import planned_operations
from shopwindow.release.program import program_digest
from shopwindow.release.publish import OutputBusy, Release, Releases
from shopwindow.release.released import NoRelease
from shopwindow.release.released import documents as released_documents
from shopwindow.release.repair import repair as repair_release
from shopwindow.release.show import below_base_url
from shopwindow.release.show import show as show_unbuilt
from shopwindow.release.stored import interface_of
from shopwindow.release.touched import TouchedContract, touched
from shopwindow.release.verify import verify as verify_release
from shopwindow.service import trial
from shopwindow.starter import begin, document
from shopwindow.starter.begin import Beginning
from shopwindow.starter.recording import Recording, text_of_contract, write_contract

Steps = Callable[[str], Progress | None]
"""Called with the name of a step, "checking" or "rendering"; returns what is called as
the step goes on, or None.
"""


CALENDAR_DAYS = 90
"""Days that a calendar covers unless another end is named: a season of a department
store.
"""


MAX_CHECKED_AGAIN = 100_000
"""Problems that are listed where fixes are tried, a hundred times what a person reads:
that a problem is gone shows only where all of its file are listed.
"""


SETTING, ATTRIBUTE = "setting", "attribute"
"""What `uses` looks for beside documents, which a kind's name says."""


def no_steps(step: str) -> None:
    """Follow no step."""
    return


# -- a content repository --------------------------------------------------------------


def start(interface: Interface, folder: Path, beginning: Beginning) -> list[str]:
    """Write the files of a new content repository below ``folder``; return their paths
    in it.

    Raises Misuse where something stands in their way, where ``beginning`` names what
    there is not, and where the content to start from is none of this interface: it is
    checked first.
    """
    source = begin.content_of(beginning.start)
    checked = check(interface, source)
    if checked.problems:
        problem = sentence(checked.problems[0])
        raise Misuse(
            "from", f"{beginning.start} is no content of this interface: {problem}"
        )
    prepared = declared(interface, source)
    files = begin.files_of(beginning, prepared.interface, prepared.schemas)
    begin.write(folder, files)
    return list(files)


def new(
    interface: Interface, content: Path, kind: str, name: str | None = None
) -> Path:
    """Write a commented skeleton of a document into a file of its own; return its path.

    Its id is the highest of its ``kind`` and one more, and ``name`` is what people call
    it. Where ids are text, or name another document, ``name`` is the id. A kind may be
    one of the folder's collections. Raises Misuse for a kind that does not exist, and
    for an id that is missing or taken; Failure where a file of the same name is there.
    """
    if not content.is_dir():
        raise Misuse("content", f"{content}: there is no such folder")
    prepared = declared(interface, content)
    has_faults = bool(prepared.problems or prepared.schemas.problems)
    named = document.kind_named(prepared.interface, kind, has_faults=has_faults)
    begun = document.new_document(
        prepared.interface, prepared.schemas, content, named, name
    )
    return document.write(content, begun)


def editor_schemas(
    interface: Interface, content: Path, editor: str
) -> tuple[list[Path], list[Problem]]:
    """Write schemas for an editor's YAML language server; return the files, or the
    problems.

    ``editor`` is "vscode", for schemas and settings below .vscode beside the content
    folder, or a folder for the schemas alone. With them stands associations.json, the
    setting `yaml.schemas`. The problems are those of `collections.yaml` and of the
    folder's own schemas: where there are any, nothing is written. Raises Misuse where
    there is no such content folder, and Failure where settings.json is not plain JSON.
    """
    if not content.is_dir():
        raise Misuse("content", f"{content}: there is no such folder")
    prepared = declared(interface, content)
    if problems := [*prepared.schemas.problems, *prepared.problems]:
        return [], problems
    root = content.absolute().parent
    name = content.absolute().name
    if editor == "vscode":
        files = vscode.files(prepared.interface, prepared.schemas, name)
        return vscode.write(root, files), []
    listed = associations(prepared.interface, prepared.schemas)
    return write_schemas(Path(editor), listed, root, name), []


# -- content ---------------------------------------------------------------------------


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
    unpacked: int = MAX_UNPACKED_BYTES,
    steps: Steps = no_steps,
    remembered: RememberedFiles | None = None,
    executor: Executor | None = None,
    contracts: bool = True,
) -> Checked:
    """Return everything that is wrong with a content folder, or its documents.

    ``against`` is a release, an archive of one, or a git revision of the folder: what
    changed since is held to the rules for revisions. Windows that are past at the instant ``at``, as `moment_of`
    reads it, are warnings. ``jobs`` is the number of processes, by default one a
    processor. At most ``most`` problems are listed; the others are counted. A feed may
    hold ``unpacked`` bytes, once it is unpacked. A program that checks the same folder
    again and again hands in what is ``remembered`` of its files. The work on streamed
    kinds is shared by the ``executor``, by default these processes. Without
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
        unpacked=unpacked,
        remembered=remembered,
        at=at,
        executor=executor,
    )
    prepared = declared(interface, content)
    checked = _checked(prepared, content, options)
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
            f"{revision}: there is no such release (a folder, .zip or .tar), "
            f"and it is no git revision: {failure}",
        ) from None
    with exported(content, commit) as folder:
        checked = check(interface, folder, jobs=jobs, contracts=False)
        kinds = declared(interface, folder).interface.kinds
    if checked.documents is None:
        raise Failure(_first_problem(checked))
    return {
        kind.name: {
            document.value[kind.identity]: document.value
            for document in checked.documents.of(kind.name)
        }
        for kind in kinds
        if kind.identity is not None and not kind.streamed
    }


def _checked(declared: Declared, content: Path, options: CheckOptions) -> Checked:
    """Check a folder's documents, and its own templates of mails, where it has some."""
    _require_folder(content)
    options = replace(options, problems=declared.problems, unread=declared.unread)
    interface = _with_rules(declared)
    checked = check_folder(content, declared.schemas, interface, options)

    templates = content / "templates"
    problems = (
        trial.problems(declared.interface, templates) if templates.is_dir() else []
    )
    if not problems:
        return checked
    all_problems = sorted([*checked.problems, *problems], key=Problem.order)
    return replace(checked, documents=None, problems=all_problems)


def _with_rules(declared: Declared) -> Interface:
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
    executor = options.executor or Processes(options.jobs)
    with on_demand(
        interface.indexes, documents.feeds, published, executor=executor
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
            return _refused(checked, broken)
    return checked


def _refused(checked: Checked, broken: ContractsBroken) -> Checked:
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


def live_at(interface: Interface, documents: Documents, at: str | None) -> Content:
    """Return the documents that are live at an instant, without their indexes.

    ``at`` is what `moment_of` reads.
    """
    return live(documents, moment_of(at, documents), interface.kinds, interface.clocks)


def show(
    interface: Interface,
    content: Path,
    documents: Documents,
    request: str,
    *,
    at: str | None = None,
    app: str | None = None,
    form: str = "json",
) -> Response:
    """Return the response to a request, answered from checked documents instead of a
    release.

    ``documents`` are those that `check` returned for ``content``. ``request`` is a path
    and query below the base URL, or the whole URL. ``at`` is what `moment_of` reads.
    ``app`` names the application that asks, by default the first; ``form`` the format:
    json or xml. A Refusal becomes the response that a client would get.

    Raises Misuse, also for an operation that only the running service answers.
    """
    format = require_format(form)
    prepared = declared(interface, content)
    published = live_at(prepared.interface, documents, at)
    names = prepared.interface.application_names(published)
    if app is not None and app not in names:
        raise Misuse("app", _unknown_application(app, names))
    application = app or next(iter(names), None)
    return show_unbuilt(
        prepared.interface,
        prepared.schemas,
        documents,
        published,
        request,
        application,
        format,
    )


def record_contract(
    interface: Interface,
    content: Path,
    documents: Documents,
    app: str,
    version: str,
    requests: Sequence[str],
    *,
    at: str | None = None,
) -> Path:
    """Write a first contract of an application's version; return the file.

    ``documents`` and ``at`` are as for `show`, and so is each of the ``requests``. Every
    value of their answers becomes a field. Raises Misuse for an application, a version
    or a request that cannot be meant, and Failure where the file is there.
    """
    prepared = declared(interface, content)
    extended = prepared.interface
    published = live_at(extended, documents, at)
    below = [below_base_url(each, extended, documents.site.value) for each in requests]
    with on_demand(extended.indexes, documents.feeds, published) as opened:
        recording = Recording(
            extended,
            prepared.schemas,
            documents,
            published.with_indexes(opened(None)),
            app,
            version,
        )
        text = text_of_contract(recording, below)
    return write_contract(content, recording, text)


def calendar(
    interface: Interface,
    content: Path,
    documents: Documents,
    *,
    start: str | None = None,
    end: str | None = None,
) -> Calendar:
    """Return what goes live, ends, starts and expires in checked documents.

    ``start`` and ``end`` are instants, as `moment_of` reads them; by default now, and
    CALENDAR_DAYS after the start. Raises Misuse where the end is not after the start.
    """
    first = moment_of(start, documents)
    last = (
        first + timedelta(days=CALENDAR_DAYS)
        if end is None
        else moment_of(end, documents)
    )
    if last <= first:
        raise Misuse("to", f"{end}: must be after {start or 'now'}")
    kinds = declared(interface, content).interface.kinds
    return calendar_of(documents, kinds, first, last)


def rule_pages(interface: Interface) -> Pages:
    """Return what there is to know about each rule, by its name."""
    return by_name(interface.pages)


def why(
    interface: Interface, content: Path, checked: Checked, *names: str
) -> list[Explanation]:
    """Return why a value of a checked document is what it is.

    ``checked`` is what `check` returned for ``content``, without a problem. ``names``
    are a kind, an id and a pointer; without the kind, the id is an application's, or
    "site" for site.yaml. There is more than one answer only where documents share an id
    in turn, by their publish windows. Raises Misuse for a name that does not exist.
    """
    prepared = declared(interface, content)
    *kinds, id, pointer = names
    extended = prepared.interface
    if kinds:
        kind = document.kind_named(extended, kinds[0])
    elif id == SITE.name:
        kind = SITE
    elif extended.applications is None:
        raise Misuse("", f"{id}: a KIND has to stand before it")
    else:
        kind = extended.kind[extended.applications]
    return explanations(_shelf(content, checked, prepared), kind, id, pointer)


def uses(
    interface: Interface, content: Path, checked: Checked, what: str, name: str
) -> Uses:
    """Return every place that names something.

    ``what`` is a kind, and ``name`` one of its ids; or "setting" and a name of
    site.yaml; or "attribute" and a key of an open map. ``checked`` is as for `why`.
    Raises Misuse for what does not exist.
    """
    prepared = declared(interface, content)
    kinds, shelf = prepared.interface.kinds, _shelf(content, checked, prepared)
    if what == SETTING:
        return uses_of_setting(shelf, name)
    if what == ATTRIBUTE:
        return uses_of_attribute(shelf, kinds, name)
    kind = document.kind_named(prepared.interface, what)
    return uses_of_document(shelf, kinds, kind, name)


def retire(
    interface: Interface,
    content: Path,
    checked: Checked,
    kind: str,
    id: str,
    on: str,
    now: datetime | None = None,
) -> Retirement:
    """Return the edits that end a document's publish window, and those of documents
    that cannot be live without it. Nothing is written; `write_edits` does that.

    ``on`` is the last day, or the instant of the end. ``now`` is what it must come
    after, by default the present. ``checked`` is as for `why`; after the edits a check
    finds nothing, too. Raises Misuse for what cannot be meant or needs a person's
    choice, and Failure for a file that has to be edited by hand.
    """
    prepared = declared(interface, content)
    extended = prepared.interface
    return retirement(
        _shelf(content, checked, prepared),
        extended.kinds,
        extended.rules,
        document.kind_named(extended, kind),
        id,
        on,
        now or datetime.now(UTC),
    )


def fixes(
    interface: Interface,
    content: Path,
    checked: Checked,
    *,
    jobs: int | None = None,
    only: Callable[[Problem], bool] = lambda problem: True,
) -> Repair:
    """Return what mends a content folder as far as that is certain: the edits of its
    files, and the fixes that they consist of. Nothing is written; `write_edits` does
    that.

    ``checked`` is what `check` returned for ``content``. ``only`` chooses problems. A
    fix stays only where a check of the fixed text finds its problem no more, and
    nothing else wrong with what is written. Feeds, files that git marks as in conflict,
    collections.yaml, schemas and templates are left as they are.
    """
    prepared = declared(interface, content)
    kinds = {source.path: source.kind.name for source in checked.sources}
    remembered = RememberedFiles()

    def again(unsaved: Mapping[str, bytes]) -> Checked:
        changed = {kinds[path] for path in unsaved}
        indexes = tuple(
            index
            for index in prepared.interface.indexes
            if changed.intersection(kind.name for kind in index.kinds)
        )
        options = CheckOptions(
            jobs,
            most=MAX_CHECKED_AGAIN,
            problems=prepared.problems,
            unread=prepared.unread,
            remembered=remembered,
            unsaved=unsaved,
        )
        interface = _with_rules(prepared)
        without_feeds = replace(interface, indexes=indexes)
        return check_folder(content, prepared.schemas, without_feeds, options)

    return repair_of(content, checked, again, only)


def write_edits(content: Path, planned: Retirement | Repair) -> list[Path]:
    """Write what `retire` or `fixes` returned; return the files.

    Raises Failure where one of them has changed since; then nothing is written.
    """
    with failures(content, "files that come before it are written already"):
        write(content, planned.edits)
    return [content / edit.path for edit in planned.edits]


def _shelf(content: Path, checked: Checked, declared: Declared) -> Shelf:
    """Return a content folder to look into. Raises Misuse where it has problems."""
    if checked.documents is None:
        raise Misuse("content", f"{content}: it has problems, which `check` reports")
    return Shelf(content, checked.sources, checked.documents, declared.schemas)


def require_format(name: str) -> Format:
    """Return the format of that name. Raises Misuse."""
    formats = {format.name: format for format in RESPONSE_FORMATS}
    if name not in formats:
        raise Misuse("as", f"{name!r}: the formats are {', '.join(formats)}")
    return formats[name]


def _unknown_application(name: str, names: Sequence[str]) -> str:
    """Return a sentence that lists the applications that there are, and names the
    nearest.
    """
    close = nearest(name, names)
    suggestion = f"; did you mean {close}?" if close else ""
    return f"{name!r}: the applications are {', '.join(names)}{suggestion}"


# -- building --------------------------------------------------------------------------


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
    at: str | None = None,
    jobs: int | None = None,
    most: int = MAX_PROBLEMS,
    unpacked: int = MAX_UNPACKED_BYTES,
    fresh: bool = False,
    allowed: int = MAX_FILES,
    steps: Steps = no_steps,
    executor: Executor | None = None,
) -> Build:
    """Check a content folder, write a release to ``out`` and activate it, unless
    `current` is pinned.

    ``at`` is the instant whose content counts, as `moment_of` reads it. A ``fresh``
    build reads and writes everything again; the release is the same. ``allowed`` is how
    many files there may be; the other arguments are those of `check`. How the build
    ended is recorded in last-build.json, and while it is at work, in building.json.

    Raises Misuse, Failure (a full disk, a damaged release) or OutputBusy, where another
    process changes ``out``.
    """
    if out.absolute().is_relative_to(content.absolute()):
        lies_within = f"{out} lies within --content {content}"
        raise Misuse("out", f"{lies_within}, whose every file is content")
    started = datetime.now(UTC)
    releases = Releases(out)
    program = program_digest(interface, content / COLLECTIONS, without=(content, out))
    cached = None if fresh else out / ".cache" / "documents"
    options = CheckOptions(
        jobs,
        steps("checking"),
        cached,
        program,
        most=most,
        unpacked=unpacked,
        at=at,
        executor=executor,
    )

    def ordered(documents: Documents, declared: Declared) -> BuildOrder:
        note = {
            "built": datetime.now(UTC).isoformat(timespec="microseconds"),
            **origin(content),
            "started": started.isoformat(timespec="milliseconds"),
        }
        return BuildOrder(
            declared.interface,
            documents,
            declared.schemas,
            moment_of(at, documents),
            lambda live: digest(rules(declared.interface, live, declared.schemas)),
            program,
            note,
            jobs,
            fresh,
            steps("rendering"),
            allowed,
            lambda: datetime.now(UTC),
            executor,
            partial(hold_build, declared.unread),
        )

    def hold_build(
        unread: Sequence[str],
        order: BuildOrder,
        published: Content,
        indexes: BuiltIndexes,
    ) -> None:
        examined = Examined(
            order.interface,
            order.schemas,
            content,
            unread,
            order.documents,
            order.moment,
            published,
            indexes.digests,
            indexes.open,
            program,
            not_kept() if fresh else kept_in_file(out / ".cache" / "contracts"),
            most,
        )
        hold(examined)

    def record(
        status: str, description: str = "", cause: str = "", release: str = ""
    ) -> None:
        ended = datetime.now(UTC)
        build_notes.record_build(
            out, started, ended, status, description, cause, release
        )

    with build_notes.at_work(out, started):
        try:
            prepared = declared(interface, content)
            with failures(out):
                checked = _checked(prepared, content, options)
            if checked.documents is None:
                record("FAILED", _first_problem(checked), build_notes.CONTENT_AT_FAULT)
                return Build(checked)

            # Nothing reads the sources any more, and every process of the build would
            # have them.
            checked.sources.clear()
            with releases.lock(make=True):
                releases.reconcile()
                previous = releases.current()
                built = build_release(ordered(checked.documents, prepared), releases)
                activated = activation.activate_built(
                    releases, built.id, datetime.now(UTC)
                )
                record("SUCCESS", release=built.id)
                current = releases.current()
                return Build(
                    checked,
                    built,
                    activated,
                    current,
                    releases.pinned(),
                    previous,
                    stale_edges(releases, current) if current else (),
                )
        except ContractsBroken as broken:
            refused = _refused(checked, broken)
            record("FAILED", _first_problem(refused), build_notes.CONTENT_AT_FAULT)
            return Build(refused)
        except OutputBusy:
            raise  # another build is at work, and records its own end
        except (Failure, OSError) as failure:
            record("FAILED", str(failure))
            raise


def _first_problem(checked: Checked) -> str:
    """Return the problems of a content folder in one sentence."""
    first, count = checked.problems[0], len(checked.problems) + checked.more
    where = f"{first.path}:{first.place.line}" if first.place else first.path
    problems = f"{count} problem{'s' * (count > 1)} in the content"
    return f"{problems}, the first in {where}: {sentence(first)}"


@contextmanager
def indexed_content(
    interface: Interface,
    content: Path,
    documents: Documents,
    *,
    at: str | None = None,
    jobs: int | None = None,
) -> Iterator[Content]:
    """Yield checked documents that are live, answering from indexes that are built for
    this and deleted at the end.

    The arguments are those of `show` and `check`.
    """
    prepared = declared(interface, content).interface
    published = live_at(prepared, documents, at)
    with temporary(prepared.indexes, documents.feeds, published, jobs) as answering:
        yield answering


def counted(
    interface: Interface,
    content: Path,
    documents: Documents,
    *,
    at: str | None = None,
    jobs: int | None = None,
) -> Iterator[tuple[Operation, int | None]]:
    """Yield every operation with the number of files that a build would render of it.

    None: the operation is dynamic. The arguments are those of `show` and `check`.
    """
    interface = declared(interface, content).interface
    published = live_at(interface, documents, at)
    with temporary(interface.indexes, documents.feeds, published, jobs) as indexed:
        planned = planned_operations(interface, indexed)
        files = {each.operation.name: each.files for each in planned}
    for operation in interface.operations:
        yield operation, files.get(operation.name)


# -- releases --------------------------------------------------------------------------


def releases(out: Path) -> list[Release]:
    """Return the releases of an output directory, the newest first."""
    return Releases(out).listing()


def activate(out: Path, id: str | None = None, reason: str = "") -> Activated:
    """Make a release the current one, and unpin.

    ``id`` is the beginning of its id, of 8 digits or more; None: the release of the
    last build. ``reason`` goes into the history. Raises Failure, such as for a damaged
    release; then nothing has changed.
    """
    return activation.activate(Releases(out), id, reason, datetime.now(UTC))


def roll_back(out: Path, id: str | None = None, reason: str = "") -> Activated:
    """Make an earlier release the current one, and pin it until `activate` is called.

    While it is pinned, builds activate nothing. Without ``id`` it is the newest in the
    history that was never rolled back from. Raises Failure, as `activate`.
    """
    return activation.roll_back(Releases(out), id, reason, datetime.now(UTC))


@dataclass(frozen=True)
class ReleaseDifference:
    """What differs between two releases: values of documents, and the URLs of the files
    that differ.

    ``lifetime``: the seconds after which caches have dropped the responses to other
    queries by themselves. ``contracts``: what differs that a contract reads.
    """

    changes: Sequence[Change]
    urls: Sequence[str]
    lifetime: int
    contracts: Sequence[TouchedContract] = ()


def difference(
    interface: Interface, out: Path, old: str, new: str
) -> ReleaseDifference:
    """Return what changes from one release to another, by document. Raises Failure.

    ``old`` and ``new`` are beginnings of ids, of 8 digits or more, or "current".
    """
    before, after = _folder(out, old), _folder(out, new)
    return ReleaseDifference(
        changes(before, after, interface),
        purged(before, after),
        longest_lifetime(before, interface),
        touched(before, after, interface),
    )


def urls_to_purge(out: Path, old: str, new: str) -> list[str]:
    """Return the URLs of the files that differ between two releases. Raises Failure.

    It reads nothing but their manifests. ``old`` and ``new`` are as for `difference`.
    """
    return purged(_folder(out, old), _folder(out, new))


def _folder(out: Path, id: str) -> Path:
    """Return the folder of the release whose id begins so. Raises Failure."""
    releases = Releases(out)
    return releases.path(releases.find(id))


def prune(out: Path, keep: int) -> tuple[list[str], int]:
    """Delete all but the newest ``keep`` releases; return the ids of those deleted, and
    how many are left.

    The current release stays, and one that was current in the last hour. Raises
    Failure.
    """
    releases = Releases(out)
    with releases.lock():
        deleted = releases.prune(keep, datetime.now(UTC))
    return deleted, len(releases.ids())


def verify(
    out: Path, id: str = "current", interface: Interface | None = None
) -> tuple[str, list[str]]:
    """Return a release's whole id, and a line for each of its files that is not as it
    was built.

    ``id`` is as for `difference`. ``interface``: whose indexes are compared row by row,
    too; None: only their bytes are. Raises Failure.
    """
    releases = Releases(out)
    release = releases.find(id)
    indexes = interface.indexes if interface else ()
    return release, verify_release(releases, release, indexes)


def repair(out: Path, id: str = "current") -> int:
    """Set the times and modes again that a copy of a release has lost; return of how
    many files.

    Both follow from a file's bytes. ``id`` is as for `difference`. Raises Failure.
    """
    releases = Releases(out)
    release = releases.find(id)
    with releases.lock():
        return repair_release(releases.path(release))


def released_content(interface: Interface, out: Path, id: str = "current") -> Content:
    """Return the content of a release, which answers from its indexes.

    ``id`` is as for `difference`. Raises Failure.
    """
    folder = _folder(out, id)
    return content_of(folder, interface_of(folder, interface))


# -- the edge --------------------------------------------------------------------------


@dataclass(frozen=True)
class NewKey:
    """A new API key, and its digest for the content (SHA-256, hex).

    ``application_checked``: False where the content has problems, so that nobody could
    look the application up.
    """

    key: str
    digest: str
    application_checked: bool


def new_key(interface: Interface, content: Path, application: str) -> NewKey:
    """Generate an API key for an application.

    While the content has problems, nobody can say which applications it has. One of
    the problems may be that this application lacks its first key, so a key is generated
    all the same. Raises Misuse where the content has no such application.
    """
    documents = check(interface, content).documents
    if documents is None:
        return NewKey(*api_keys.new_key(), application_checked=False)
    names = []
    if interface.applications is not None:
        identity = str(interface.kind[interface.applications].identity)
        kind_documents = documents.of(interface.applications)
        names = [str(document.value[identity]) for document in kind_documents]
    if application not in names:
        raise Misuse("", _unknown_application(application, names))
    return NewKey(*api_keys.new_key(), application_checked=True)


def nginx_configuration(
    interface: Interface,
    content: Path,
    out: Path,
    keys: Path | None,
    *,
    service: str = "127.0.0.1:8000",
    listen: str = "80",
    limits: EdgeLimits | None = None,
    templates: Path | None = None,
) -> tuple[str, list[str]]:
    """Return nginx's configuration for the current release, for its http context, and
    warnings about the keys.

    ``keys`` is a file with a line `<application> <key>` each; None only where the
    interface asks for no key. The configuration holds these keys, so nobody else may
    read it. ``service`` is the address of what answers the rest, ``listen`` where nginx
    listens. ``templates`` is a folder whose nginx.conf is used instead of the program's
    own.

    Raises Failure for keys that cannot be read, and Misuse for an address or a template
    that cannot be used.
    """
    folders = _edge_templates(interface, nginx.NGINX_TEMPLATE, templates)
    if keys is None and interface.applications:
        raise Misuse(
            "keys", "is needed: a file with a line `<application> <key>` for each key"
        )
    current = _current_release(interface, content, out)
    try:
        text = keys.read_text(encoding="utf-8-sig") if keys else ""
        applications, warnings = api_keys.read_keys(
            text, current.interface, current.content
        )
    except (OSError, ValueError) as error:
        raise Failure(f"{keys}: {error}") from None

    edge_rules = rules(current.interface, current.content, current.schemas)
    files = (out / "current" / "files").absolute()
    try:
        configuration = nginx.configuration(
            edge_rules,
            applications,
            files,
            service,
            listen,
            folders,
            limits=limits or EdgeLimits(),
        )
    except ValueError as error:
        raise Misuse("", str(error)) from None
    return configuration, warnings


def varnish_configuration(
    interface: Interface,
    content: Path,
    out: Path,
    *,
    service: str = "127.0.0.1:8000",
    purgers: Sequence[str] = ("127.0.0.1", "::1"),
    templates: Path | None = None,
) -> str:
    """Return Varnish's configuration for the current release, a whole VCL file.

    ``service`` is the address of what Varnish fetches from: `shopwindow serve`, or an
    nginx before it. ``purgers`` are addresses or networks that may send PURGE.
    ``templates`` is a folder whose varnish.vcl is used instead of the program's own.

    Raises Failure, and Misuse for an address or a template that cannot be used.
    """
    folders = _edge_templates(interface, varnish.VARNISH_TEMPLATE, templates)
    current = _current_release(interface, content, out)
    edge_rules = rules(current.interface, current.content, current.schemas)
    try:
        return varnish.configuration(edge_rules, service, purgers, folders)
    except ValueError as error:
        raise Misuse("", str(error)) from None


def worker_module(
    interface: Interface, content: Path, out: Path, *, templates: Path | None = None
) -> str:
    """Return the worker for the current release, a JavaScript module for Cloudflare or
    workerd.

    ``templates`` is a folder whose worker.js is used instead of the program's own.
    Raises Failure, and Misuse for a template that cannot be used.
    """
    folders = _edge_templates(interface, worker.WORKER_TEMPLATE, templates)
    current = _current_release(interface, content, out)
    edge_rules = rules(current.interface, current.content, current.schemas)
    return worker.module(edge_rules, folders)


def _edge_templates(
    interface: Interface, name: str, templates: Path | None
) -> list[Path]:
    """Return the folders to search for an edge's template. Raises Misuse."""
    if templates and not (templates / name).is_file():
        raise Misuse("templates", f"{templates}: there is no {name} in it")
    return template_folders(interface, *([templates] if templates else []))


def edge_configured(out: Path, edge: str, file: Path | None = None) -> None:
    """Note that an edge was configured for the current release.

    ``edge``: nginx, varnish or worker. ``file``: where its configuration was written;
    None: it was printed. Builds and activations then say when it must be written again.
    Raises nothing.
    """
    record_edge(out, edge, file)


def openapi_document(interface: Interface, content: Path, out: Path) -> dict[str, Any]:
    """Return the interface as an OpenAPI 3.1 document, with examples from the current
    release.

    Raises Failure.
    """
    current = _current_release(interface, content, out)
    document: dict[str, Any] = openapi.document(
        current.interface, current.content, current.schemas
    )
    return document


def xml_schemas(interface: Interface, content: Path, out: Path) -> dict[str, str]:
    """Return an XML Schema (XSD 1.0) for each XML response, by its file's name.

    ``content`` and ``out`` are as for `openapi_document`. Raises Failure.
    """
    current = _current_release(interface, content, out)
    return xsd.documents(current.interface, current.schemas)


@dataclass(frozen=True)
class _CurrentRelease:
    """The content of the current release; interface and schemas have its collections."""

    interface: Interface
    schemas: Schemas
    content: Content


def _current_release(interface: Interface, content: Path, out: Path) -> _CurrentRelease:
    """Read the current release. Raises Failure.

    Schemas of the folder ``content``, where it is there, come before the program's own.
    """
    release = _folder(out, "current")
    extended = interface_of(release, interface)
    return _CurrentRelease(
        extended,
        schemas_with(schemas(interface, content), extended),
        content_of(release, extended),
    )


# -- the service -----------------------------------------------------------------------


def application(
    interface: Interface,
    out: Path,
    *,
    database: str = "",
    log_dir: Path | None = None,
    secret: str = "",
    trusted: str | None = None,
    docs: bool = True,
) -> Callable[..., Any]:
    """Return the WSGI callable (PEP 3333) that answers from the current release,
    following activations.

    ``database`` is the address of what writes go to, `sqlite:///PATH` or
    `postgresql://…`; empty: writes are refused. ``log_dir`` is the folder of the mobile
    log, if there is one. ``secret`` keys the digests that the database holds; without
    one they have a key of the database's own, and single-use codes are refused.
    ``trusted`` lists the networks of proxies whose X-Forwarded-For is believed, by
    default those on loopback. ``docs``: whether `/openapi.json` and `/docs` are
    answered, which describe the interface and need no key.

    While no release is current, requests are refused with status 503. Raises Failure
    for a database that waiting does not mend, and ValueError for a secret that is too
    short. The imports stand here, for they need the extra `serve`, which whoever checks
    and builds may lack.
    """
    from shopwindow.service import wsgi
    from shopwindow.service.database.late import late_database
    from shopwindow.service.logfile import LogFile
    from shopwindow.service.proxies import LOOPBACK, proxies
    from shopwindow.service.running import Backstage
    from shopwindow.service.watch import Watch

    backstage = Backstage(
        late_database(database, interface.tables) if database else None,
        LogFile(log_dir) if log_dir else None,
        read_secret(secret) if secret else b"",
    )
    watch = Watch(out, interface, describe=openapi.document if docs else None)
    interface.prepare_process()
    return wsgi.application(
        lambda request: watch(), None, backstage, proxies(trusted or LOOPBACK)
    )
