"""What a program calls: check content, build and operate releases, print the edge's
configuration, answer requests.

Each function takes an Interface and plain arguments, and returns what it did; the commands
parse, call one function, print and end with a status. Problems of content are returned. What an
operator has to mend is raised as a Failure, and an argument that cannot be meant as Misuse.
Nothing here prints, reads the environment for settings, or ends a process.
"""

import os
import re
import secrets
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from functools import cached_property, partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from string import ascii_letters, digits
from typing import Any
from urllib.parse import unquote, urlsplit

from shopwindow.content.check import MOST, Checked
from shopwindow.content.check import Options as CheckOptions
from shopwindow.content.check import check as check_folder
from shopwindow.content.documents import Content, Documents, live
from shopwindow.content.listing import COLLECTIONS
from shopwindow.content.processes import Progress
from shopwindow.content.records import MAX_UNPACKED_BYTES
from shopwindow.content.remembered import Remembered
from shopwindow.content.schedule import instant
from shopwindow.content.schema import Schemas
from shopwindow.edge import nginx, openapi
from shopwindow.edge.nginx import EdgeLimits
from shopwindow.edge.rules import digest, rules
from shopwindow.interface.answer import Response, answer, refuse
from shopwindow.interface.bind import bind
from shopwindow.interface.call import Request
from shopwindow.interface.collections import Declared, schemas_with
from shopwindow.interface.collections import declared as declared_in
from shopwindow.interface.formats import RESPONSE_FORMATS, Format
from shopwindow.interface.interface import Interface
from shopwindow.interface.loading import program_schemas, template_folders
from shopwindow.interface.operation import FromContent, Operation
from shopwindow.interface.secret import read_secret
from shopwindow.problems import Failure, Misuse, Problem, Refusal, failures, nearest, sentence
from shopwindow.release import build_notes
from shopwindow.release.build import Built
from shopwindow.release.build import build as build_release
from shopwindow.release.changes import Change, changes, content_of, longest_lifetime, purged
from shopwindow.release.indexes import temporary
from shopwindow.release.order import MAX_FILES, BuildOrder
from shopwindow.release.prerender import planned_operations
from shopwindow.release.program import program_digest
from shopwindow.release.publish import OutputBusy, Release, Releases
from shopwindow.release.released import NoRelease, documents
from shopwindow.release.repair import repair as repair_release
from shopwindow.release.stored import interface_of
from shopwindow.release.verify import verify as verify_release
from shopwindow.service import trial
from shopwindow.starter import begin, document
from shopwindow.starter.begin import Beginning

Steps = Callable[[str], Progress | None]
"""Called with the name of a step, "checking" or "rendering"; returns what is called as the step
goes on, or None.
"""


KEY_LENGTH = 24
"""Characters of an API key (interface 2.1): 143 bits of chance, of letters and digits."""


def _no_steps(step: str) -> None:
    return None


# -- a content repository ----------------------------------------------------------------------


def start(interface: Interface, folder: Path, beginning: Beginning) -> list[str]:
    """Write the files of a new content repository below ``folder``; return their paths in it.

    Raises Misuse where something stands in their way, where ``beginning`` names what there is
    not, and where the content to start from is none of this interface: it is checked first.
    """
    source = begin.content_of(beginning.start)
    checked = check(interface, source)
    if checked.problems:
        problem = sentence(checked.problems[0])
        raise Misuse("from", f"{beginning.start} is no content of this interface: {problem}")
    prepared = declared(interface, source)
    files = begin.files_of(beginning, prepared.interface, prepared.schemas)
    begin.write(folder, files)
    return list(files)


def new(interface: Interface, content: Path, kind: str, name: str | None = None) -> Path:
    """Write a commented skeleton of a document into a file of its own; return its path.

    Its id is the highest of its ``kind`` and one more, and ``name`` is what people call it.
    Where ids are text, or name another document, ``name`` is the id. A kind may be one of the
    folder's collections. Raises Misuse for a kind that does not exist, and for an id that is
    missing or taken; Failure where a file of the same name is there.
    """
    if not content.is_dir():
        raise Misuse("content", f"{content}: there is no such folder")
    prepared = declared(interface, content)
    named = document.kind_named(prepared.interface, kind)
    begun = document.new_document(prepared.interface, prepared.schemas, content, named, name)
    return document.write(content, begun)


# -- content -----------------------------------------------------------------------------------


def schemas(interface: Interface, content: Path) -> Schemas:
    """Return the schemas of an interface, with those of a content folder on top, where it is
    there.

    Raises Failure for a fault in the interface's schemas; one in the folder's is among the
    problems of `check`.
    """
    return program_schemas(interface, content / "schemas")


def declared(interface: Interface, content: Path) -> Declared:
    """Return an interface and its schemas with the collections that a content folder declares.

    What is wrong with a declaration is among the problems of `check`.
    """
    return declared_in(content, interface, schemas(interface, content))


def _released(interface: Interface, release: Path, content: Path) -> tuple[Interface, Schemas]:
    """Return an interface and its schemas with the collections of a release. Raises Failure."""
    extended = interface_of(release, interface)
    return extended, schemas_with(schemas(interface, content), extended)


def check(
    interface: Interface,
    content: Path,
    *,
    against: Path | None = None,
    jobs: int | None = None,
    most: int = MOST,
    unpacked: int = MAX_UNPACKED_BYTES,
    steps: Steps = _no_steps,
    remembered: Remembered | None = None,
) -> Checked:
    """Return everything that is wrong with a content folder, or its documents.

    ``against`` is a release, or an archive of one: what changed since is held to the rules for
    revisions. ``jobs`` is the number of processes, by default one a processor. At most ``most``
    problems are listed; the others are counted. A feed may hold ``unpacked`` bytes. A program
    that checks the same folder again and again hands in what is ``remembered`` of its files.

    Raises Misuse where there is no such folder or release.
    """
    released = None
    if against is not None:
        try:
            released = documents(against, interface)
        except NoRelease as failure:
            raise Misuse("against", str(failure)) from None
    options = CheckOptions(
        jobs,
        steps("checking"),
        released=released,
        most=most,
        unpacked=unpacked,
        remembered=remembered,
    )
    if not content.is_dir():
        raise Misuse("content", f"{content}: there is no such folder")
    return _checked(declared(interface, content), content, options)


def _checked(declared: Declared, content: Path, options: CheckOptions) -> Checked:
    """Check a folder's documents, and its own templates of mails, where it has some."""
    if not content.is_dir():
        raise Misuse("content", f"{content}: there is no such folder")
    options = replace(options, problems=declared.problems, unread=declared.unread)
    checked = check_folder(content, declared.schemas, declared.interface, options)
    templates = content / "templates"
    problems = trial.problems(declared.interface, templates) if templates.is_dir() else []
    if not problems:
        return checked
    problems = sorted([*checked.problems, *problems], key=Problem.order)
    return replace(checked, documents=None, problems=problems)


def moment_of(at: str | None, documents: Documents) -> datetime:
    """Return the instant that a text names: RFC 3339, or a local time or a day in the content's
    time zone.

    None is now, in whole seconds. Raises Misuse for any other text, and for the first and last
    year that Python has, for the weeks around an instant must exist, too.
    """
    if at is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        moment = instant(at, documents.zone)
        if not MINYEAR < moment.year < MAXYEAR:
            raise ValueError(f"must be after the year {MINYEAR} and before the year {MAXYEAR}")
        return moment
    except (ValueError, OverflowError) as error:
        examples = "write 2026-11-27T06:00:00-05:00, 2026-11-27 06:00 or 2026-11-27"
        raise Misuse("at", f"{at}: {error}; {examples}") from None


def live_at(interface: Interface, documents: Documents, at: str | None) -> Content:
    """Return the documents that are live at an instant, as `moment_of` reads it, without their
    indexes.
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
    """Return the response to a request, answered from checked documents instead of a release.

    ``request`` is a path and query below the base URL, or the whole URL. ``app`` names the
    application that asks, by default the first; ``form`` the format: json or xml. A Refusal
    becomes the response that a client would get.

    Raises Misuse, also for an operation that only the running service answers.
    """
    format = require_format(form)
    prepared = declared(interface, content)
    interface, folder_schemas = prepared.interface, prepared.schemas
    published = live_at(interface, documents, at)
    applications = interface.application_names(published)
    if app is not None and app not in applications:
        raise Misuse("app", unknown_application(app, applications))
    path, _, query = _below(interface, request, documents.site.value).partition("?")
    try:
        asked = Request(unquote(path), query, {"accept": format.media_type})
        call = bind(asked, app or next(iter(applications), None), interface)
        if not isinstance(call.operation.source, FromContent):
            path = call.operation.path
            raise Misuse(
                "", f"{path} is answered by the running service only (`shopwindow serve`)"
            )
        with ExitStack() as stack:

            def opened(name: str) -> Any:
                indexes = temporary(interface.indexes, documents.feeds, published)
                return stack.enter_context(indexes).index(name)

            later = {name: _Later(partial(opened, name)) for name in documents.feeds}
            return answer(call, published.with_indexes(later), folder_schemas)
    except Refusal as refusal:
        return refuse(refusal, format, folder_schemas)


def require_format(name: str) -> Format:
    """Return the format of that name. Raises Misuse."""
    formats = {format.name: format for format in RESPONSE_FORMATS}
    if name not in formats:
        raise Misuse("as", f"{name!r}: the formats are {', '.join(formats)}")
    return formats[name]


def unknown_application(name: str, applications: Sequence[str]) -> str:
    """Return a sentence that names the applications there are, and the nearest."""
    close = nearest(name, applications)
    meant = f"; did you mean {close}?" if close else ""
    return f"{name!r}: the applications are {', '.join(applications)}{meant}"


def applications(interface: Interface, content: Path) -> list[str] | None:
    """Return the names of the applications that a content folder configures; None while it has
    problems.
    """
    kind, checked = interface.applications, check(interface, content)
    if checked.documents is None:
        return None
    if kind is None:
        return []
    identity = str(interface.kind[kind].identity)
    return [str(document.value[identity]) for document in checked.documents.of(kind)]


def new_key() -> tuple[str, str]:
    """Return a new API key, which nobody can guess, and the digest of it that content holds
    (SHA-256, hex).
    """
    key = "".join(secrets.choice(ascii_letters + digits) for _ in range(KEY_LENGTH))
    return key, sha256(key.encode()).hexdigest()


def _below(interface: Interface, request: str, site: Mapping[str, Any]) -> str:
    """Return the path and query below the base URL or the order host's, which a pasted address
    has in front.
    """
    target = re.sub("^https?://", "//", request.strip().partition("#")[0], flags=re.IGNORECASE)
    below = []
    for order_host, name in ((False, "base_url"), (True, "order_base_url")):
        base = urlsplit(site[name])
        host = f"//{base.netloc}" if target.startswith("//") else ""
        start = f"{host}{base.path}/"
        if target.lower().startswith(start.lower()):
            below.append((order_host, target[len(start) :]))
    if not below and target.startswith("//"):
        bases = f"base_url, {site['base_url']}, and not below order_base_url, {site['order_base_url']}"
        raise Misuse("", f"{request}: not below {bases}")
    for order_host, rest in below:
        path = rest.partition("?")[0].removesuffix("/")
        if interface.routes.of(path, order_host):
            return rest
    return below[0][1] if below else target


class _Later:
    """An index, which takes a while to build: that is done once a view asks it something."""

    def __init__(self, build: Callable[[], Any]) -> None:
        self._build = build

    @cached_property
    def _opened(self) -> Any:
        return self._build()

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._opened, verb)


# -- building ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Build:
    """What `build` did.

    ``checked`` holds the problems; where there are any, ``built`` is None and nothing was
    written. ``activated``: the new release became the current one in this build. ``current`` is
    the release that is current now, and ``pinned`` whether it stays so until somebody activates
    another.
    """

    checked: Checked
    built: Built | None = None
    activated: bool = False
    current: str | None = None
    pinned: bool = False


def build(
    interface: Interface,
    content: Path,
    out: Path,
    *,
    at: str | None = None,
    jobs: int | None = None,
    most: int = MOST,
    unpacked: int = MAX_UNPACKED_BYTES,
    fresh: bool = False,
    allowed: int = MAX_FILES,
    steps: Steps = _no_steps,
) -> Build:
    """Check a content folder, write a release to ``out`` and activate it, unless `current` is
    pinned.

    ``at`` is the instant whose content counts, as `moment_of` reads it. A ``fresh`` build reads
    and writes everything again; the release is the same. ``allowed`` is how many files there
    may be; the other arguments are those of `check`. How the build ended is recorded in
    last-build.json, and while it is at work, in building.json.

    Raises Misuse, Failure (a full disk, a damaged release) or OutputBusy, where another process
    changes ``out``.
    """
    if out.absolute().is_relative_to(content.absolute()):
        raise Misuse(
            "out", f"{out} lies within --content {content}, whose every file is content"
        )
    begun, releases = datetime.now(UTC), Releases(out)
    program = program_digest(interface, content / COLLECTIONS, without=(content, out))
    cached = None if fresh else out / ".cache" / "documents"
    options = CheckOptions(
        jobs, steps("checking"), cached, program, most=most, unpacked=unpacked
    )

    def ordered(checked: Documents, declared: Declared) -> BuildOrder:
        return BuildOrder(
            declared.interface,
            checked,
            declared.schemas,
            moment_of(at, checked),
            lambda live: digest(rules(declared.interface, live, declared.schemas)),
            program,
            _note(content) | {"started": begun.isoformat(timespec="milliseconds")},
            jobs,
            fresh,
            steps("rendering"),
            allowed,
            lambda: datetime.now(UTC),
        )

    def record(status: str, description: str = "", cause: str = "", release: str = "") -> None:
        build_notes.record_build(
            out, begun, datetime.now(UTC), status, description, cause, release
        )

    with build_notes.at_work(out, begun):
        try:
            prepared = declared(interface, content)
            with failures(out):
                checked = _checked(prepared, content, options)
            if checked.documents is None:
                record("FAILED", _first_problem(checked), build_notes.CONTENT_AT_FAULT)
                return Build(checked)
            checked.sources.clear()  # nothing reads them any more, and every process of the build would have them
            with releases.lock(make=True):
                releases.reconcile()
                built = build_release(ordered(checked.documents, prepared), releases)
                done = _activated_after(Build(checked, built), built, releases)
                record("SUCCESS", release=built.id)
        except OutputBusy:
            raise  # another build is at work, and records its own end
        except (Failure, OSError) as failure:
            record("FAILED", str(failure))
            raise
    return done


def _activated_after(build: Build, built: Built, releases: Releases) -> Build:
    """Activate a release that was built, unless it is current already or `current` is pinned."""
    current, pinned = releases.current(), releases.pinned()
    if current == built.id:
        if not releases.link.is_symlink():  # a host that was given current.json alone
            releases.point(built.id)
        return replace(build, current=current, pinned=pinned)
    if pinned:
        return replace(build, current=current, pinned=True)
    releases.activate(built.id, "build", "build", datetime.now(UTC))
    return replace(build, current=built.id, activated=True)


def _first_problem(checked: Checked) -> str:
    """Return the problems of a content folder in one sentence."""
    first, count = checked.problems[0], len(checked.problems) + checked.more
    where = f"{first.path}:{first.place.line}" if first.place else first.path
    return f"{count} problem{'s' * (count > 1)} in the content, the first in {where}: {sentence(first)}"


def _note(content: Path) -> dict[str, Any]:
    """Return what build.json says beside the release: when, from what commit, by which version."""
    commit = os.environ.get("GITHUB_SHA") or os.environ.get("CI_COMMIT_SHA")
    if not commit:
        try:
            command = ["git", "-C", str(content), "rev-parse", "HEAD"]
            commit = subprocess.run(
                command, capture_output=True, text=True, check=True
            ).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            commit = None
    return {
        "built": datetime.now(UTC).isoformat(timespec="microseconds"),
        "commit": commit,
        "version": version("shopwindow"),
    }


def counted(
    interface: Interface,
    content: Path,
    documents: Documents,
    *,
    at: str | None = None,
    jobs: int | None = None,
) -> Iterator[tuple[Operation, int | None]]:
    """Yield every operation with the number of files that a build would render of it; None: it
    is dynamic.
    """
    interface = declared(interface, content).interface
    with temporary(
        interface.indexes, documents.feeds, live_at(interface, documents, at), jobs
    ) as published:
        files = {
            planned.operation.name: planned.files
            for planned in planned_operations(interface, published)
        }
    for operation in interface.operations:
        yield operation, files.get(operation.name)


# -- releases ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Activated:
    """A release that was activated. ``previous`` was current before, if any.

    ``edge_changed``: the edge's configuration differs between the two, and must be written and
    reloaded.
    """

    id: str
    previous: str | None
    edge_changed: bool


def releases(out: Path) -> list[Release]:
    """Return the releases of an output directory, the newest first."""
    return Releases(out).listing()


def activate(out: Path, id: str | None = None, reason: str = "") -> Activated:
    """Make a release the current one, and unpin.

    ``id`` is the beginning of its id, of 8 digits or more; None: the release of the last build.
    ``reason`` goes into the history. Raises Failure, such as for a damaged release; then
    nothing has changed.
    """
    directory = Releases(out)
    with directory.lock():
        directory.reconcile()
        chosen = directory.find(id) if id else directory.latest()
        return _activate(directory, chosen, "activate", reason or "activate")


def roll_back(out: Path, id: str | None = None, reason: str = "") -> Activated:
    """Make an earlier release the current one, and pin it, so that builds activate nothing
    until `activate` does.

    Without ``id`` it is the newest in the history that was never rolled back from. Raises
    Failure, as `activate`.
    """
    directory = Releases(out)
    with directory.lock():
        directory.reconcile()
        chosen = directory.find(id) if id else directory.to_roll_back_to()
        return _activate(directory, chosen, "rollback", reason or "rollback")


def _activate(directory: Releases, id: str, action: str, reason: str) -> Activated:
    previous = directory.current()
    wrong = verify_release(directory, id)
    if wrong:
        raise Failure(
            f"release {id[:12]} is damaged, nothing was activated: {'; '.join(wrong[:3])}"
        )
    edge_changed = previous is not None and _edge(directory, previous) != _edge(directory, id)
    directory.activate(id, action, reason, datetime.now(UTC), pin=action == "rollback")
    return Activated(id, previous, edge_changed)


def _edge(directory: Releases, id: str) -> str | None:
    """Return the manifest's digest of the edge's configuration; None where the manifest cannot
    be read.
    """
    try:
        return directory.manifest(id).edge
    except Failure:
        return None


@dataclass(frozen=True)
class Difference:
    """What differs between two releases: values of documents, and the URLs of the files that
    differ.

    ``lifetime``: the seconds after which caches have dropped the responses to other queries by
    themselves.
    """

    changes: Sequence[Change]
    urls: Sequence[str]
    lifetime: int


def difference(interface: Interface, out: Path, old: str, new: str) -> Difference:
    """Return what changes from one release to another, by document. Raises Failure.

    ``old`` and ``new`` are beginnings of ids, of 8 digits or more, or "current".
    """
    directory = Releases(out)
    before, after = directory.path(directory.find(old)), directory.path(directory.find(new))
    listed = changes(before, after, interface)
    return Difference(listed, purged(before, after), longest_lifetime(before, interface))


def urls_to_purge(out: Path, old: str, new: str) -> list[str]:
    """Return the URLs of the files that differ between two releases, from their manifests
    alone. Raises Failure.
    """
    directory = Releases(out)
    return purged(directory.path(directory.find(old)), directory.path(directory.find(new)))


def prune(out: Path, keep: int) -> tuple[list[str], int]:
    """Delete all but the newest ``keep`` releases, and return the ids of those deleted and how
    many are left.

    The current release stays, and one that was current in the last hour. Raises Failure.
    """
    directory = Releases(out)
    with directory.lock():
        deleted = directory.prune(keep, datetime.now(UTC))
    return deleted, len(directory.ids())


def verify(out: Path, id: str = "current") -> tuple[str, list[str]]:
    """Return a release's whole id, and a line for each of its files that is not as it was
    built. Raises Failure.
    """
    directory = Releases(out)
    release = directory.find(id)
    return release, verify_release(directory, release)


def repair(out: Path, id: str = "current") -> int:
    """Set the times and modes again that a copy of a release has lost; return of how many
    files. Raises Failure.
    """
    directory = Releases(out)
    release = directory.find(id)
    with directory.lock():
        return repair_release(directory.path(release))


# -- the edge ----------------------------------------------------------------------------------


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
    """Return nginx's configuration for the current release, for its http context, and warnings
    about the keys.

    ``keys`` is a file with a line `<application> <key>` each; None only where the interface
    asks for no key. The configuration holds these keys, so nobody else may read it.
    ``service`` is the address of what answers the rest, ``listen`` where nginx listens.
    ``templates`` is a folder whose nginx.conf is used instead of the program's own.

    Raises Failure for keys that cannot be read, and Misuse for an address or a template that
    cannot be used.
    """
    if templates and not (templates / nginx.TEMPLATE).is_file():
        raise Misuse("templates", f"{templates}: there is no {nginx.TEMPLATE} in it")
    if keys is None and interface.applications:
        raise Misuse("keys", "is needed: a file with a line `<application> <key>` for each key")
    directory = Releases(out)
    release = directory.path(directory.find("current"))
    interface, folder_schemas = _released(interface, release, content)
    published = content_of(release, interface)
    try:
        text = keys.read_text(encoding="utf-8-sig") if keys else ""
        known, warnings = nginx.read_keys(text, interface, published)
    except (OSError, ValueError) as error:
        raise Failure(f"{keys}: {error}") from None
    edge_rules = rules(interface, published, folder_schemas)
    files = directory.link.absolute() / "files"
    folders = template_folders(interface, *([templates] if templates else []))
    try:
        text = nginx.configuration(
            edge_rules, known, files, service, listen, folders, limits=limits or EdgeLimits()
        )
    except ValueError as error:
        raise Misuse("", str(error)) from None
    return text, warnings


def openapi_document(interface: Interface, content: Path, out: Path) -> dict[str, Any]:
    """Return the interface as an OpenAPI 3.1 document, with examples from the current release.
    Raises Failure.
    """
    directory = Releases(out)
    release = directory.path(directory.find("current"))
    interface, folder_schemas = _released(interface, release, content)
    published = content_of(release, interface)
    document: dict[str, Any] = openapi.document(interface, published, folder_schemas)
    return document


# -- the service -------------------------------------------------------------------------------


def application(
    interface: Interface,
    out: Path,
    *,
    database: str = "",
    log_dir: Path | None = None,
    secret: str = "",
    trusted: str | None = None,
) -> Callable[..., Any]:
    """Return the WSGI callable (PEP 3333) that answers from the current release, following
    activations.

    ``database`` is the address of what writes go to, `sqlite:///PATH` or `postgresql://…`;
    empty: writes are refused. ``log_dir`` is the folder of the mobile log, if there is one.
    ``secret`` keys the digests that the database holds; without one they have a key of the
    database's own, and single-use codes are refused. ``trusted`` lists the networks of proxies
    whose X-Forwarded-For is believed, by default those on loopback.

    While no release is current, requests are refused with status 503. Raises Failure for a
    database that waiting does not mend, and ValueError for a secret that is too short. The
    imports stand here, for they need the extra `serve`, which whoever checks and builds may
    lack.
    """
    from shopwindow.service import wsgi
    from shopwindow.service.database.late import late_database
    from shopwindow.service.logfile import LogFile
    from shopwindow.service.proxies import LOOPBACK, proxies
    from shopwindow.service.running import Backstage
    from shopwindow.service.serving import Watch

    backstage = Backstage(
        late_database(database, interface.tables) if database else None,
        LogFile(log_dir) if log_dir else None,
        read_secret(secret) if secret else b"",
    )
    watch = Watch(out, interface)
    for prepare in interface.prepare:
        prepare()
    return wsgi.application(
        lambda request: watch(), None, backstage, proxies(trusted or LOOPBACK)
    )
