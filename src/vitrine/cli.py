"""The commands: each parses, calls one function and returns a status. What one needs, it imports itself."""

import sys
import time
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from vitrine.content.check import Checked
    from vitrine.content.listing import Source
    from vitrine.content.model import Documents
    from vitrine.content.processes import Progress
    from vitrine.content.schema import Schemas
    from vitrine.problems import Problem
    from vitrine.release.build import Built
    from vitrine.release.changes import Change
    from vitrine.release.publish import Releases
    from vitrine.release.unchanged import Last

    Scanned = tuple[list[Source], list[Problem]]

PROBLEMS, NOT_SWITCHED, FAILED = 1, 3, 4
"""Exit statuses beside 0, and 2 for wrong use, which is click's. A Failure (a full disk, a lock, an unknown release)
is 4."""


class _Commands(click.Group):
    """Commands in the order of use; a Failure is a sentence, not a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        from vitrine.problems import Failure

        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # click's to handle: the reader has gone
        except (Failure, OSError) as failure:
            click.echo(f"vitrine: {failure}", err=True)
            ctx.exit(FAILED)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="vitrine")
def main() -> None:
    """Check content written in YAML and publish it as releases of JSON and XML files."""


_content = click.option("--content", default="content", show_default=True, metavar="DIR", help="The content folder.")
_out = click.option("--out", default="dist", show_default=True, metavar="DIR", help="Where the releases are.")
_jobs = click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Processes; default: one a processor.")
_at = click.option(
    "--at", metavar="INSTANT", help="The instant whose content counts (RFC 3339, or a day); default: now."
)


# -- content -----------------------------------------------------------------------------------------------------


@main.command()
@_content
@_jobs
@click.option(
    "--against", metavar="RELEASE", help="A release, or an archive of one: what changed needs a new configVersion."
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "github", "sarif"]), default="text", show_default=True
)
def check(content: str, jobs: int | None, against: str | None, form: str) -> None:
    """Say everything that is wrong with the content. Exit 0: nothing; 1: problems; 2: wrong use."""
    import gc
    from pathlib import Path

    from vitrine.content.check import Options
    from vitrine.release.released import NoRelease, configurations

    gc.disable()  # as in a build
    try:
        released = configurations(Path(against)) if against else None
    except NoRelease as failure:
        raise click.UsageError(f"--against {failure}") from None
    checked = _checked(content, Options(jobs, _progress("checking"), released=released))
    _print_problems(checked.problems, Path(content), form)
    if checked.problems:
        sys.exit(PROBLEMS)
    if form in ("text", "github"):
        _say_placeholders(checked, content)
        click.echo(f"{content}: {len(checked.sources)} files, nothing wrong")


@main.command()
@click.argument("request")
@_content
@_at
@click.option("--app", metavar="NAME", help="The application that asks; default: the first.")
@click.option("--as", "form", type=click.Choice(["json", "xml"]), default="json", show_default=True)
def show(request: str, content: str, at: str | None, app: str | None, form: str) -> None:
    """Print what an app would get for REQUEST (a path and query below the base URL), from the working tree."""
    from urllib.parse import unquote

    from vitrine.content import model
    from vitrine.content.check import Options
    from vitrine.interface.answer import answer, refuse
    from vitrine.interface.bind import bind
    from vitrine.interface.call import Request
    from vitrine.interface.formats import FORMATS
    from vitrine.problems import Refusal, nearest

    documents, schemas = _documents(content, Options())
    live = model.live(documents, _moment(at, documents))
    live.places = _places()
    known = live.applications()
    if app is not None and app not in known:
        close = nearest(app, known)
        raise click.UsageError(
            f"--app {app!r}: the applications are {', '.join(known)}" + f"; did you mean {close}?" * bool(close)
        )
    format = next(candidate for candidate in FORMATS if candidate.name == form)
    path, _, query = request.removeprefix("/").partition("?")
    try:
        call = bind(Request(unquote(path), query, {"accept": format.media_type}), app or next(iter(known), None))
        response = answer(call, live, schemas)
    except Refusal as refusal:
        response = refuse(refusal, format, schemas)
    click.echo(response.body)
    if response.status != 200:
        click.echo(f"status {response.status}", err=True)
        sys.exit(PROBLEMS)


# -- releases ----------------------------------------------------------------------------------------------------


@main.command()
@_content
@_out
@_at
@_jobs
@click.option(
    "--list", "listing", is_flag=True, help="Each operation: frozen, with its number of files, or live. Writes nothing."
)
@click.option("--no-cache", is_flag=True, help="Read and write everything anew; the release is the same.")
def build(content: str, out: str, at: str | None, jobs: int | None, listing: bool, no_cache: bool) -> None:
    """Check the content, write a release and switch to it. Exit 0; 1: problems; 3: written, but `current` is pinned."""
    import gc
    from pathlib import Path

    gc.disable()  # a build makes much and throws away little; the collector would only walk it again and again
    started = time.perf_counter()
    scanned = None
    if not listing and not no_cache:
        last, scanned = _nothing_to_do(Path(content), Path(out), at)
        if last:
            click.echo(f"release {last.id[:12]} is current already: nothing to do")
            click.echo(f"  changes by itself next at {last.end}")
            click.echo(f"{time.perf_counter() - started:.2f} s")
            return
    if listing:
        _list_operations(content, at)
        return
    sys.exit(_build(content, Path(out), at, jobs, no_cache, scanned, started))


def _nothing_to_do(content: "Path", out: "Path", at: str | None) -> "tuple[Last | None, Scanned | None]":
    """The last build, where file times tell that this one would make the same release, and that it is current.

    Also what the folder holds, where it had to be looked at.
    """
    import os
    from datetime import UTC, datetime

    from vitrine.content.listing import scan, shipped
    from vitrine.release import unchanged

    last = unchanged.recall(out / ".cache" / "last.json")
    if last is None or not content.is_dir() or (at and "T" not in at):
        return None, None
    try:
        moment = datetime.fromisoformat(at) if at else datetime.now(UTC)
        if os.path.basename(os.readlink(out / "current")) != last.id or moment.tzinfo is None:
            return None, None
    except (OSError, ValueError):
        return None, None
    sources, problems = scanned = scan(content)
    now = unchanged.fingerprint(content, shipped("schemas"), sources, unchanged.program_digest())
    return (last if not problems and last.holds(now, moment) else None), scanned


def _build(
    content: str,
    out: "Path",
    at: str | None,
    jobs: int | None,
    fresh: bool,
    scanned: "Scanned | None",
    started: float,
) -> int:
    from pathlib import Path

    from vitrine.content import listing, model
    from vitrine.content.check import Options
    from vitrine.edge.rules import digest, rules
    from vitrine.release import unchanged
    from vitrine.release.build import Order
    from vitrine.release.build import build as make
    from vitrine.release.publish import Releases

    if out.absolute().is_relative_to(Path(content).absolute()):
        raise click.UsageError(f"--out {out} lies within --content {content}, whose every file is content")
    program = unchanged.program_digest()
    cached = None if fresh else out / ".cache" / "documents"
    options = Options(jobs, _progress("checking"), cached, program, scanned=scanned)
    schemas = _schemas(content)
    checked = _checked(content, options, schemas)
    before = unchanged.fingerprint(Path(content), listing.shipped("schemas"), checked.sources, program)
    if checked.documents is None:
        _print_problems(checked.problems, Path(content), "text")
        return PROBLEMS
    documents = checked.documents
    moment = _moment(at, documents)
    releases = Releases(out)
    with releases.lock(make=True):
        releases.reconcile()
        order = Order(
            documents,
            schemas,
            moment,
            lambda live: digest(rules(live, schemas)),
            program,
            _note(content),
            jobs,
            fresh,
            _progress("freezing"),
        )
        built = make(order, releases)
        status, outcome = _switch_after_build(built, releases)
    if before.settled:
        stretch = model.interval(documents, moment)
        last = unchanged.Last(before.digest, built.id, stretch.start.isoformat(), stretch.end.isoformat())
        unchanged.remember(out / ".cache" / "last.json", last)
    _say_built(built, outcome)
    _say_placeholders(checked, content)
    click.echo(f"{time.perf_counter() - started:.2f} s")
    return status


def _switch_after_build(built: "Built", releases: "Releases") -> tuple[int, str]:
    from datetime import UTC, datetime

    if releases.current() == built.id:
        releases.point(built.id)
        return 0, "it is current already: nothing to do"
    if releases.pinned():
        current = releases.current() or ""
        words = (
            f"not switched: `current` is pinned to {current[:12]}; `vitrine switch {built.id[:12]}` switches and unpins"
        )
        return NOT_SWITCHED, words
    releases.switch(built.id, "build", "build", datetime.now(UTC))
    words = "current; the edge's configuration must be written and reloaded (vitrine edge nginx)"
    return 0, words if built.edge_changed else "current"


def _note(content: str) -> dict[str, Any]:
    """What build.json tells beside the release: when, from what commit, by which version."""
    import os
    import subprocess
    from datetime import UTC, datetime
    from importlib.metadata import version

    commit = os.environ.get("GITHUB_SHA") or os.environ.get("CI_COMMIT_SHA")
    if not commit:
        try:
            command = ["git", "-C", content, "rev-parse", "HEAD"]
            commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            commit = None
    return {
        "built": datetime.now(UTC).isoformat(timespec="microseconds"),
        "commit": commit,
        "version": version("vitrine"),
    }


def _list_operations(content: str, at: str | None) -> None:
    from vitrine.content import model
    from vitrine.content.check import Options
    from vitrine.interface.bind import OPERATIONS
    from vitrine.interface.formats import FORMATS
    from vitrine.release.freeze import askings

    documents, _ = _documents(content, Options())
    live = model.live(documents, _moment(at, documents))
    asked = [asking for run in askings(live) for asking in run]
    for operation in OPERATIONS:
        count = sum(asking.operation is operation for asking in asked) * len(FORMATS)
        where = f"frozen, {count} files" if operation.source.entries else "live: it names no entries to freeze"
        click.echo(f"{operation.method} {operation.path}  {where}")


@main.command("releases")
@_out
def list_releases(out: str) -> None:
    """List the releases, the newest first."""
    from pathlib import Path

    from vitrine.release.publish import Releases

    listed = Releases(Path(out)).listing()
    if not listed:
        click.echo(f"{out}: there is no release; `vitrine build` makes one", err=True)
    for release in listed:
        marks = " current" * release.current + " pinned" * release.pinned
        size = f"{release.size / 1024:,.0f} KiB"
        click.echo(f"{release.id[:12]}  {release.built[:19]}Z  {release.files:>7} files  {size:>12}{marks}")


@main.command()
@click.argument("id", required=False)
@_out
@click.option("--reason", default="", help="Why, for the history.")
def rollback(id: str | None, out: str, reason: str) -> None:
    """Switch back to release ID, or to the newest that was never rolled back from, and pin it there."""
    from pathlib import Path

    from vitrine.release.publish import Releases

    releases = Releases(Path(out))
    with releases.lock():
        releases.reconcile()
        _switch(releases, releases.find(id) if id else releases.before(), "rollback", reason or "rollback")
    click.echo("pinned: builds do not switch until `vitrine switch` does")


@main.command()
@click.argument("id", required=False)
@_out
@click.option("--latest", is_flag=True, help="The newest release.")
@click.option("--reason", default="", help="Why, for the history.")
def switch(id: str | None, out: str, latest: bool, reason: str) -> None:
    """Make release ID, or the newest, the current one, and unpin."""
    from pathlib import Path

    from vitrine.problems import Failure
    from vitrine.release.publish import Releases

    if (id is None) != latest:
        raise click.UsageError("name a release, or say --latest")
    releases = Releases(Path(out))
    with releases.lock():
        releases.reconcile()
        ids = releases.ids()
        if latest and not ids:
            raise Failure(f"{out}: there is no release; `vitrine build` makes one")
        _switch(releases, releases.find(id) if id else ids[0], "switch", reason or "switch")


def _switch(releases: "Releases", id: str, action: str, reason: str) -> None:
    from datetime import UTC, datetime

    from vitrine.problems import Failure

    before = releases.current()
    if wrong := releases.verify(id):
        raise Failure(f"release {id[:12]} is damaged, nothing was switched: {'; '.join(wrong[:3])}")
    releases.switch(id, action, reason, datetime.now(UTC), pin=action == "rollback")
    click.echo(f"current is {id[:12]}" + (f", was {before[:12]}" if before else ""))
    known = before is not None and (releases.path(before) / "manifest.json").is_file()
    if before and known and releases.manifest(before).edge != releases.manifest(id).edge:
        click.echo("the edge's configuration must be written and reloaded (vitrine edge nginx)")


@main.command()
@click.argument("a")
@click.argument("b")
@_out
@click.option("--urls", "only_urls", is_flag=True, help="Only the URLs to purge, one a line; needs only the manifests.")
def diff(a: str, b: str, out: str, only_urls: bool) -> None:
    """What changes from release A to release B, by document, and the URLs to purge."""
    from pathlib import Path

    from vitrine.release.changes import changes, purged
    from vitrine.release.publish import Releases

    releases = Releases(Path(out))
    old, new = releases.path(releases.find(a)), releases.path(releases.find(b))
    urls = purged(old, new)
    if not only_urls:
        for change in changes(old, new):
            click.echo(_sentence(change))
        click.echo(f"{len(urls)} URLs to purge" + ":" * bool(urls))
    for url in urls:
        click.echo(url if only_urls else f"  {url}")


def _sentence(change: "Change") -> str:
    from vitrine.problems import pointer_text

    name = f"{change.kind} {change.id}"
    if not change.pointer:
        return f"{name}: {'appears' if change.old is None else 'disappears'}"
    return f"{name}: {pointer_text(change.pointer)}: {_value(change.old)} -> {_value(change.new)}"


def _value(value: Any) -> str:
    """A value as `diff` prints it; what is not there says so, for null never stands in content."""
    import json

    text = "(not there)" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:199] + "…"


@main.command()
@_out
@click.option("--keep", type=click.IntRange(min=1), required=True, metavar="N", help="How many of the newest to keep.")
def prune(out: str, keep: int) -> None:
    """Delete old releases; never the current one, nor one that was current in the last hour."""
    from datetime import UTC, datetime
    from pathlib import Path

    from vitrine.release.publish import Releases

    releases = Releases(Path(out))
    with releases.lock():
        doomed = releases.prune(keep, datetime.now(UTC))
    click.echo(f"{len(doomed)} releases deleted, {len(releases.ids())} kept")


@main.command()
@click.argument("id", required=False, default="current")
@_out
def verify(id: str, out: str) -> None:
    """Compare every file of a release (default: the current one) with its digest."""
    from pathlib import Path

    from vitrine.release.publish import Releases

    releases = Releases(Path(out))
    found = releases.find(id)
    wrong = releases.verify(found)
    for line in wrong:
        click.echo(line)
    if wrong:
        sys.exit(PROBLEMS)
    click.echo(f"release {found[:12]} is whole")


# -- the service -------------------------------------------------------------------------------------------------


@main.command()
@click.option("--out", default="dist", show_default=True, metavar="DIR", envvar="VITRINE_OUT", show_envvar=True)
@click.option(
    "--bind", default="127.0.0.1:8000", show_default=True, metavar="HOST:PORT", envvar="VITRINE_BIND", show_envvar=True
)
@click.option(
    "--admin",
    default="127.0.0.1:8001",
    show_default=True,
    metavar="HOST:PORT",
    envvar="VITRINE_ADMIN",
    show_envvar=True,
    help="Where /healthz, /readyz and /metrics are; empty: nowhere.",
)
@click.option(
    "--workers", type=click.IntRange(1, 256), metavar="N", envvar="VITRINE_WORKERS", show_envvar=True, help="Processes."
)
@click.option(
    "--threads", type=click.IntRange(1, 256), default=1, show_default=True, envvar="VITRINE_THREADS", show_envvar=True
)
@click.option(
    "--memo",
    type=click.IntRange(0, 4096),
    default=32,
    show_default=True,
    metavar="MIB",
    envvar="VITRINE_MEMO",
    show_envvar=True,
)
def serve(out: str, bind: str, admin: str, workers: int | None, threads: int, memo: int) -> None:
    """Answer requests from the current release, following switches, until SIGTERM."""
    from pathlib import Path

    from vitrine.content.processes import processors
    from vitrine.problems import Failure
    from vitrine.service import server

    try:
        addresses = server.address(bind), server.address(admin) if admin else None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    try:
        server.serve(server.Options(Path(out), *addresses, workers or processors(), threads, memo))
    except ModuleNotFoundError as error:
        raise Failure(f"{error.name} is not installed; the service needs `pip install 'vitrine[serve]'`") from None


# -- keys and the edge -------------------------------------------------------------------------------------------


@main.group()
def key() -> None:
    """API keys."""


@key.command("new")
@click.argument("app")
@_content
def new_key(app: str, content: str) -> None:
    """Make an API key for the application APP. It is printed once; content holds only its digest."""
    import secrets
    import string
    from hashlib import sha256

    from vitrine.content.check import Options
    from vitrine.problems import nearest

    checked = _checked(content, Options())
    names = [document.value["name"] for document in checked.documents.app] if checked.documents else [app]
    if app not in names:
        close = nearest(app, names)
        known = ", ".join(names)
        raise click.UsageError(f"{app!r}: the applications are {known}" + f"; did you mean {close}?" * bool(close))
    made = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(24))
    click.echo(f"{app} {made}")
    click.echo(
        "give the key to the app and to the edge's keys file; add its digest to apiKeys in the content:", err=True
    )
    click.echo(f"  - {sha256(made.encode()).hexdigest()}", err=True)


@main.group()
def edge() -> None:
    """What stands in front of the files."""


@edge.command("nginx")
@_content
@_out
@click.option("--keys", required=True, metavar="FILE", help="A line `<application> <key>` each; kept out of git.")
@click.option(
    "--service", default="127.0.0.1:8000", show_default=True, metavar="HOST:PORT", help="What answers the rest."
)
@click.option("--listen", default="80", show_default=True, metavar="ADDRESS", help="Where nginx listens.")
def edge_nginx(content: str, out: str, keys: str, service: str, listen: str) -> None:
    """Print nginx's configuration for the current release (for its http context).

    Templates and schemas of the content folder, where it is there, come before the program's own.
    """
    from pathlib import Path

    from vitrine.content.listing import shipped
    from vitrine.edge.nginx import configuration, read_keys
    from vitrine.edge.rules import rules
    from vitrine.problems import Failure
    from vitrine.release.changes import content_of
    from vitrine.release.publish import Releases

    releases = Releases(Path(out))
    live = content_of(releases.path(releases.find("current")))
    try:
        known, warnings = read_keys(Path(keys).read_text(encoding="utf-8"), live)
    except (OSError, ValueError) as error:
        raise Failure(f"{keys}: {error}") from None
    for warning in warnings:
        click.echo(f"vitrine: {keys}: {warning}", err=True)
    templates = [Path(content) / "templates", shipped("templates")]
    files = releases.link.absolute() / "files"
    try:
        printed = configuration(rules(live, _schemas(content)), known, files, service, listen, templates)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    click.echo(printed, nl=False)


@edge.command("openapi")
@_out
def edge_openapi(out: str) -> None:
    """Print the interface as an OpenAPI 3.1 document, with examples from the current release."""
    import json
    from pathlib import Path

    from vitrine.content.listing import shipped
    from vitrine.content.schema import Schemas
    from vitrine.edge.openapi import document
    from vitrine.release.changes import content_of
    from vitrine.release.publish import Releases

    releases = Releases(Path(out))
    live = content_of(releases.path(releases.find("current")))
    click.echo(json.dumps(document(live, Schemas([shipped("schemas")])), indent=1, ensure_ascii=False))


# -- what the commands share -------------------------------------------------------------------------------------


def _schemas(content: str) -> "Schemas":
    """The schemas: those of the program, and the content folder's own on top."""
    from pathlib import Path

    from vitrine.content.listing import shipped
    from vitrine.content.schema import Schemas

    return Schemas([shipped("schemas"), Path(content) / "schemas"])


def _places() -> Any:
    """Zip codes and cities, where the service is installed; else the stores' own addresses must do."""
    from importlib.util import find_spec

    from vitrine.service.places import ZipCodes

    return ZipCodes() if find_spec("zipcodes") else None


def _checked(content: str, options: Any, schemas: "Schemas | None" = None) -> "Checked":
    from pathlib import Path

    from vitrine.content.check import check as run

    if not Path(content).is_dir():
        raise click.UsageError(f"--content {content}: there is no such folder")
    return run(Path(content), schemas or _schemas(content), options)


def _documents(content: str, options: Any) -> "tuple[Documents, Schemas]":
    """The checked documents, or every problem and the end."""
    from pathlib import Path

    schemas = _schemas(content)
    checked = _checked(content, options, schemas)
    if checked.documents is None:
        _print_problems(checked.problems, Path(content), "text")
        sys.exit(PROBLEMS)
    return checked.documents, schemas


def _moment(at: str | None, documents: "Documents") -> "datetime":
    from datetime import UTC, datetime

    from vitrine.content import model

    if at is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        return model.instant(at, documents.zone)
    except (ValueError, OverflowError) as error:
        raise click.UsageError(
            f"--at {at}: {error}; write 2026-11-27T06:00:00-05:00, 2026-11-27 06:00 or 2026-11-27"
        ) from None


def _print_problems(problems: "list[Problem]", root: "Path", form: str) -> None:
    from vitrine import report

    if form == "text" and sys.stdout.isatty():
        printed = report.lines(problems, root, excerpts=True)
    else:
        printed = report.FORMATS[form](problems, root)
    if printed:
        click.echo(printed)
    if problems and form == "text":
        click.echo(f"{len(problems)} problem{'s' * (len(problems) > 1)}", err=True)


def _say_placeholders(checked: "Checked", content: str) -> None:
    from vitrine.problems import pointer_text

    if checked.placeholders:
        count = len(checked.placeholders)
        click.echo(f"{count} value{'s' * (count > 1)} still say{'s' * (count == 1)} TBD:")
        for path, pointer in checked.placeholders:
            click.echo(f"  {content}/{path}: {pointer_text(pointer)}")


def _say_built(built: "Built", outcome: str) -> None:
    click.echo(f"release {built.id[:12]}: {built.files} files, {outcome}")
    if not built.existed:
        click.echo(f"  {built.written} written, {built.files - built.written} linked, {built.removed} removed")
    for kind, ids in built.documents.items():
        shown = ", ".join(ids[:10]) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
        click.echo(f"  changed: {kind}{'s' * (len(ids) > 1)} {shown}")
    click.echo(f"  changes by itself next at {built.next_change}")


def _progress(word: str) -> "Progress | None":
    """A bar on a terminal that tells how far a step has come; nothing in CI."""
    if not sys.stderr.isatty():
        return None
    shown = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if done >= total:
            click.echo("\r\x1b[K", nl=False, err=True)
        elif now - shown > 0.1:
            shown = now
            bar = "#" * (30 * done // total)
            click.echo(f"\r{word} [{bar:<30}] {done:,} of {total:,}\x1b[K", nl=False, err=True)

    return progress
