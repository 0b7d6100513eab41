"""`build` and what operates releases."""

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from vitrine.cli.steps import (
    AT,
    CONTENT,
    JOBS,
    MAX_PROBLEMS,
    NOT_SWITCHED,
    OUT,
    PROBLEMS,
    checked_of,
    documents_of,
    moment_of,
    print_problems,
    progress_bar,
    say_placeholders,
    scanning,
    schemas_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from vitrine.content.check import Checked, Scanned
    from vitrine.content.listing import Source
    from vitrine.content.schema import Schemas
    from vitrine.interface.operation import Operation
    from vitrine.release.build import Built
    from vitrine.release.changes import Change
    from vitrine.release.publish import Releases
    from vitrine.release.unchanged import Last


@click.command()
@CONTENT
@OUT
@AT
@JOBS
@MAX_PROBLEMS
@click.option(
    "--list", "listing", is_flag=True, help="Each operation: frozen, with its number of files, or live. Writes nothing."
)
@click.option("--no-cache", is_flag=True, help="Read and write everything anew; the release is the same.")
@click.option(
    "--allow-files",
    "allowed",
    type=click.IntRange(min=1),
    default=200_000,
    show_default=True,
    metavar="N",
    help="How many files the release may have.",
)
def build(
    content: str, out: str, at: str | None, jobs: int | None, most: int, listing: bool, no_cache: bool, allowed: int
) -> None:
    """Check the content, write a release and switch to it. Exit 0; 1: problems; 3: written, but `current` is pinned."""
    import gc
    from datetime import UTC, datetime
    from pathlib import Path

    gc.disable()  # a build makes much and throws away little; the collector would only walk it again and again
    asked = _Asked(content, Path(out), at, jobs, most, no_cache, allowed, time.perf_counter(), datetime.now(UTC))
    scanned = None
    if listing:
        _list_operations(content, at, jobs)
        return
    if not no_cache:
        last, scanned = _nothing_to_do(Path(content), Path(out), at)
        if last:
            click.echo(f"release {last.id[:12]} is current already: nothing to do{_pin(Path(out))}")
            click.echo(f"  changes by itself next at {last.end}")
            click.echo(f"{asked.seconds:.2f} s")
            _note_done(asked, last.id)
            return
    sys.exit(_build(asked, (lambda: scanned) if scanned else scanning(content)))


class _Asked(NamedTuple):
    """What a build was asked for, and when."""

    content: str
    out: "Path"
    at: str | None
    jobs: int | None
    most: int
    fresh: bool
    allowed: int
    started: float
    begun: "datetime"

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    @property
    def done(self) -> bool:
        """Whether this build is noted as done: what fails later, such as a reader that has gone, undoes no release."""
        from vitrine.release.publish import Releases

        last = Releases(self.out).last_build()
        return (last.get("started"), last.get("status")) == (self.begun.isoformat(timespec="milliseconds"), "SUCCESS")

    def tell(self, status: str, description: str = "", cause: str = "", release: str = "") -> None:
        """Note beside the releases how this build ended."""
        from datetime import UTC, datetime

        from vitrine.release.publish import Releases

        Releases(self.out).tell(self.begun, datetime.now(UTC), status, description, cause, release)


def _read(path: "Path") -> bytes:
    """A file, or nothing where there is none: looked at before anything is imported that understands it."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _note_done(asked: _Asked, id: str) -> None:
    """There is nothing to do: so the content is as good as the release, whatever became of the build before."""
    told = _read(asked.out / "last-build.json")
    if b'"FAILED"' in told or id.encode() not in told or (asked.out / "building.json").exists():
        from vitrine.release.publish import Releases

        with Releases(asked.out).at_work(asked.begun):
            asked.tell("SUCCESS", release=id)


def _pin(out: "Path") -> str:
    """What a build that switches nothing says of a pin, which no one shall forget."""
    if b"pinned" in _read(out / "current.json"):
        from vitrine.release.publish import Releases

        if Releases(out).pinned():
            return "; `current` is pinned, builds do not switch until `vitrine switch` does"
    return ""


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


def _build(asked: _Asked, scanned: "Callable[[], Scanned]") -> int:
    """Check and build; how that ended is noted beside the releases."""
    from pathlib import Path

    from vitrine.problems import Failure
    from vitrine.release.publish import CONTENT, Busy, Releases

    if asked.out.absolute().is_relative_to(Path(asked.content).absolute()):
        raise click.UsageError(f"--out {asked.out} lies within --content {asked.content}, whose every file is content")
    with Releases(asked.out).at_work(asked.begun):
        try:
            status, failed = _check_and_make(asked, scanned)
        except Busy:
            raise  # another build is at work, and notes its own end
        except (Failure, OSError) as failure:
            if not asked.done:
                asked.tell("FAILED", str(failure))
            raise
        if failed:
            asked.tell("FAILED", failed, CONTENT)
    return status


def _check_and_make(asked: _Asked, scanned: "Callable[[], Scanned]") -> tuple[int, str]:
    """The exit status of a build, and what is wrong with the content, if anything is."""
    from datetime import UTC, datetime
    from pathlib import Path

    content, out = asked.content, asked.out
    from vitrine.content import listing, model
    from vitrine.content.check import Options
    from vitrine.problems import failures
    from vitrine.release import unchanged

    note: dict[str, Any] = {}
    before: list[unchanged.Fingerprint] = []

    def meanwhile(sources: "list[Source]") -> None:
        """What takes its time and needs no document, while other processes read them."""
        note.update(_note(content))
        before.append(unchanged.fingerprint(Path(content), listing.shipped("schemas"), sources, program))
        _prepare(schemas)

    program = unchanged.program_digest()
    cached = None if asked.fresh else out / ".cache" / "documents"
    bar = progress_bar("checking")
    options = Options(asked.jobs, bar, cached, program, scanned=scanned, most=asked.most, meanwhile=meanwhile)
    schemas = schemas_of(content)
    with failures(out):
        checked = checked_of(content, options, schemas)
    if checked.documents is None:
        print_problems(checked, Path(content), "text")
        return PROBLEMS, _wrong(checked)
    from vitrine.edge.rules import digest, rules
    from vitrine.release.build import Order
    from vitrine.release.build import build as make
    from vitrine.release.publish import Releases

    documents = checked.documents
    checked.sources.clear()  # nobody asks for them any more, and all processes of the build would have them
    moment = moment_of(asked.at, documents)
    stretch = model.interval(documents, moment)
    releases = Releases(out)
    with releases.lock(make=True):
        releases.reconcile()
        order = Order(
            documents,
            schemas,
            moment,
            lambda live: digest(rules(live, schemas)),
            program,
            note | {"started": asked.begun.isoformat(timespec="milliseconds")},
            asked.jobs,
            asked.fresh,
            progress_bar("freezing"),
            asked.allowed,
            lambda: datetime.now(UTC),
        )
        built = make(order, releases)
        status, outcome = _switch_after_build(built, releases)
        asked.tell("SUCCESS", release=built.id)
    (state,) = before
    if state.settled:
        last = unchanged.Last(state.digest, built.id, stretch.start.isoformat(), stretch.end.isoformat())
        unchanged.remember(out / ".cache" / "last.json", last)
    _say_built(built, outcome)
    say_placeholders(checked, content)
    click.echo(f"{asked.seconds:.2f} s")
    return status, ""


def _prepare(schemas: "Schemas") -> None:
    """Import what builds, and compile what it compares answers with."""
    import vitrine.edge.rules
    import vitrine.release.build  # noqa: F401
    from vitrine.interface.bind import OPERATIONS
    from vitrine.problems import Failure

    with suppress(Failure):  # told when the schema is needed
        for operation in OPERATIONS:
            if operation.frozen:
                schemas.validator(operation.schema)


def _wrong(checked: "Checked") -> str:
    """The problems of a content folder in one sentence."""
    from vitrine import report

    first, count = checked.problems[0], len(checked.problems) + checked.more
    where = f"{first.path}:{first.place.line}" if first.place else first.path
    return f"{count} problem{'s' * (count > 1)} in the content, the first in {where}: {report.sentence(first)}"


def _switch_after_build(built: "Built", releases: "Releases") -> tuple[int, str]:
    from datetime import UTC, datetime

    if releases.current() == built.id:
        releases.point(built.id)
        done = "nothing to do" if built.existed else "its files were written anew"
        return 0, f"it is current already: {done}{_pin(releases.out)}"
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


def _list_operations(content: str, at: str | None, jobs: int | None) -> None:
    from vitrine.content import model
    from vitrine.content.check import Options
    from vitrine.interface.bind import OPERATIONS
    from vitrine.release.catalog import tried
    from vitrine.release.freeze import questions

    documents, _ = documents_of(content, Options())
    live = model.live(documents, moment_of(at, documents))
    with tried(live, documents.catalog, jobs):
        files = {each.operation: each.files for each in questions(live)}
    for operation in OPERATIONS:
        count = files.get(operation)
        where = f"live: {_why_live(operation)}" if count is None else f"frozen, {count} files"
        click.echo(f"{operation.method} {operation.path}  {where}")


def _why_live(operation: "Operation") -> str:
    from vitrine.interface.operation import FromContent, FromStore

    if isinstance(operation.source, FromContent):
        return "it names no entries to freeze"
    return "it is in the store" if isinstance(operation.source, FromStore) else "only the running service knows"


@click.command()
@OUT
def releases(out: str) -> None:
    """List the releases, the newest first."""
    from pathlib import Path

    from vitrine.release.publish import Releases

    listed = Releases(Path(out)).listing()
    if not listed:
        click.echo(f"{out}: there is no release; `vitrine build` makes one", err=True)
    for release in listed:
        marks = " current" * release.current + " pinned" * release.pinned
        size = f"{release.files:>7} files  {f'{release.size / 1024:,.0f} KiB':>12}"
        holds = f"{'damaged':>{len(size)}}" if release.damaged else size
        built = f"{release.built[:19]}Z" if release.built else "(not known when)    "
        click.echo(f"{release.id[:12]}  {built}  {holds}{marks}")


@click.command()
@click.argument("id", required=False)
@OUT
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


@click.command()
@click.argument("id", required=False)
@OUT
@click.option("--latest", is_flag=True, help="The release of the last build.")
@click.option("--reason", default="", help="Why, for the history.")
def switch(id: str | None, out: str, latest: bool, reason: str) -> None:
    """Make release ID, or that of the last build, the current one, and unpin."""
    from pathlib import Path

    from vitrine.release.publish import Releases

    if (id is None) != latest:
        raise click.UsageError("name a release, or say --latest")
    releases = Releases(Path(out))
    with releases.lock():
        releases.reconcile()
        _switch(releases, releases.find(id) if id else releases.latest(), "switch", reason or "switch")


def _switch(releases: "Releases", id: str, action: str, reason: str) -> None:
    from datetime import UTC, datetime

    from vitrine.problems import Failure

    before = releases.current()
    if wrong := releases.verify(id):
        raise Failure(f"release {id[:12]} is damaged, nothing was switched: {'; '.join(wrong[:3])}")
    edge_changed = before is not None and _edge(releases, before) != _edge(releases, id)
    releases.switch(id, action, reason, datetime.now(UTC), pin=action == "rollback")
    click.echo(f"current is {id[:12]}" + (f", was {before[:12]}" if before else ""))
    if edge_changed:
        click.echo("the edge's configuration must be written and reloaded (vitrine edge nginx)")


def _edge(releases: "Releases", id: str) -> str | None:
    """What a release's manifest says of the edge's configuration; None where that cannot be read."""
    from vitrine.problems import Failure

    try:
        return releases.manifest(id).edge
    except Failure:
        return None


@click.command()
@click.argument("a")
@click.argument("b")
@OUT
@click.option("--urls", "only_urls", is_flag=True, help="Only the URLs to purge, one a line; needs only the manifests.")
def diff(a: str, b: str, out: str, only_urls: bool) -> None:
    """What changes from release A to release B, by document, and the URLs to purge."""
    from pathlib import Path

    from vitrine.release.changes import changes, longest_lifetime, purged
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
    if urls and not only_urls:
        kept = f"within {longest_lifetime(old)} s"
        click.echo(f"answers to other queries, which are made live, leave the caches by themselves {kept}")


def _sentence(change: "Change") -> str:
    from vitrine.problems import pointer_text

    name = f"{change.kind} {change.id}"
    if isinstance(change.old, dict) and isinstance(change.new, dict):
        return ": ".join((name, *filter(None, [pointer_text(change.pointer)]), "its keys stand in another order"))
    if not change.pointer:
        return f"{name}: {'appears' if change.old is None else 'disappears'}"
    return f"{name}: {pointer_text(change.pointer)}: {_value(change.old)} -> {_value(change.new)}"


def _value(value: Any) -> str:
    """A value as `diff` prints it; what is not there says so, for null never stands in content."""
    import json

    text = "(not there)" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:199] + "…"


@click.command()
@OUT
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


@click.command()
@click.argument("id", required=False, default="current")
@OUT
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


def _say_built(built: "Built", outcome: str) -> None:
    click.echo(f"release {built.id[:12]}: {built.files} files, {outcome}")
    if not built.existed:
        click.echo(f"  {built.written} written, {built.files - built.written} linked, {built.removed} removed")
    for kind, ids in built.documents.items():
        shown = ", ".join(ids[:10]) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
        click.echo(f"  changed: {kind}{'s' * (len(ids) > 1)} {shown}")
    click.echo(f"  changes by itself next at {built.next_change}")
