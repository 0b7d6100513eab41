"""`build`, and what lists, activates, compares, verifies and deletes releases."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from shopwindow import library
from shopwindow.cli import NOT_ACTIVATED, PROBLEMS, aside, audit
from shopwindow.cli.options import (
    AHEAD,
    AT,
    CONTENT_DIR,
    DEFAULT_OUT,
    JOBS,
    OUT,
    PATH,
    REASON,
    format_option,
    interface,
)
from shopwindow.cli.places import SIGNING_KEYS, TARGET_OPTION, place_of
from shopwindow.problems import number_of

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from shopwindow.interface.declaring.operation import Operation
    from shopwindow.library import Build
    from shopwindow.release.build import Built
    from shopwindow.release.releases import Release
    from shopwindow.release.waiting import Waiting

LISTED_IDS = 10
"""Ids of changed documents that a build prints for each kind: a line of a terminal
holds ten.
"""


@click.command()
@CONTENT_DIR
@OUT
@click.option(
    "--site",
    type=PATH,
    metavar="FILE",
    help="Lay FILE over site.yaml, as for staging: what FILE says counts, and null takes an entry away.",
)
@AT
@JOBS
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="Only print each operation: how many files are pre-rendered of it, or why it is dynamic.",
)
@click.option(
    "--no-cache",
    is_flag=True,
    help="Take nothing over from earlier builds; the release is the same.",
)
@AHEAD
def build(
    content: Path,
    out: Path,
    site: Path | None,
    at: str | None,
    ahead: timedelta,
    jobs: int | None,
    listing: bool,
    no_cache: bool,
) -> None:
    """Check the content, write a release and activate it.

    With --ahead also those of later instants, which follow it by themselves where
    `activate --follow` or `pull --follow` runs. What is wrong with the content from an
    instant on is a warning, and they end before it.

    Exit status 0: the release is current; 1: the content has problems, and nothing was
    written; 3: the release was written, but a rollback has pinned `current`.
    """
    from shopwindow.cli import steps

    # A build creates many objects and drops few: the collector would walk them over and
    # over.
    gc.disable()
    if listing:
        _list_operations(content, at, jobs)
        return
    started = time.perf_counter()
    done = library.build(
        interface(),
        content,
        out,
        site=site,
        at=at,
        ahead=ahead,
        jobs=jobs,
        fresh=no_cache,
        memory=steps.memory_of(content),
        steps=steps.progress_bar,
    )
    if done.built is None:
        steps.print_problems(done.checked, content, "text")
        sys.exit(PROBLEMS)
    _print_built(done, done.built)
    _print_next(done, done.built, out)
    steps.print_warnings(done.checked, content)
    steps.print_placeholders(done.checked, content)
    click.echo(f"{time.perf_counter() - started:.2f} s")
    if done.current != done.built.id:
        sys.exit(NOT_ACTIVATED)


def outcome(done: Build, built: Built) -> str:
    """Return which release was built, and what became of `current`, in one line."""
    files = number_of(built.files, "file")
    return f"release {built.id[:12]}: {files}, {_activation(done, built)}"


def _activation(done: Build, built: Built) -> str:
    """Return what became of `current`, and what the operator has to do about that."""
    if done.activated:
        return "current"
    if done.current == built.id:
        what = (
            "nothing to do" if built.existed else "it was damaged, and is written again"
        )
        unpins = "builds activate nothing until `shopwindow activate` does"
        pin = f"; `current` is pinned, {unpins}" if done.pinned else ""
        return f"it is current already: {what}{pin}"
    unpins = f"`shopwindow activate {built.id[:12]}` activates and unpins"
    return (
        f"not activated: `current` is pinned to {(done.current or '')[:12]}; {unpins}"
    )


def _print_built(done: Build, built: Built) -> None:
    click.echo(outcome(done, built))
    if not built.existed:
        linked = built.files - built.written
        click.echo(
            f"  {built.written} written, {linked} linked, {built.removed} removed"
        )
    for kind, ids in built.documents.items():
        more = f" and {len(ids) - LISTED_IDS} more" if len(ids) > LISTED_IDS else ""
        noun = kind if len(ids) == 1 else _plural(kind)
        click.echo(f"  changed: {noun} {', '.join(ids[:LISTED_IDS])}{more}")


def _plural(kind: str) -> str:
    """Return what several documents of a kind are called: stores, categories, surveys."""
    is_with_ies = kind.endswith("y") and kind[-2:-1] not in "aeiou"
    return f"{kind[:-1]}ies" if is_with_ies else f"{kind}s"


def _print_next(done: Build, built: Built, out: Path) -> None:
    """Print where the files are, and what a person does next, and when."""
    release = "current" if done.current == built.id else f"releases/{built.id}"
    click.echo(f"  files: {out / release / 'files'}")
    where = "" if out == Path(DEFAULT_OUT) else f" --out {quote(str(out))}"
    if done.previous is None:
        click.echo(f"  next: `shopwindow serve{where}` answers from it")
    elif done.previous != built.id:
        ids = f"{done.previous[:8]} {built.id[:8]}"
        click.echo(
            f"  next: `shopwindow diff{where} {ids}` lists what apps get and the URLs to purge"
        )
    if done.checked.documents is not None:
        zone = done.checked.documents.zone
        _print_waiting(built.waiting, zone)
        for link in built.chain.links[1:]:
            starts = f"{link.start.astimezone(zone):%Y-%m-%d %H:%M} ({zone.key})"
            click.echo(f"  ahead: release {link.id[:12]}, in force from {starts} on")
        if built.cut:
            click.echo(f"  the releases ahead end there: {built.cut}")
        at = datetime.fromisoformat(built.next_change).astimezone(zone)
        click.echo(
            f"  build again at {at:%Y-%m-%d %H:%M} ({zone.key}): content changes by itself then"
        )
    for edge in done.edges:
        click.echo(f"  {edge.again}")


def _print_waiting(waiting: Sequence[Waiting], zone: ZoneInfo) -> None:
    """Print which edited documents no file shows, and when they are live."""
    for one in waiting[:LISTED_IDS]:
        live = f"{one.moment.astimezone(zone):%Y-%m-%d %H:%M} ({zone.key})"
        verb = "is" if one.live == "from" else "was"
        click.echo(
            f"  edited, and in no file: {one.kind} {one.name}, which {verb} live {one.live} {live}"
        )
    if len(waiting) > LISTED_IDS:
        click.echo(f"  and {number_of(len(waiting) - LISTED_IDS, 'other document')}")


def _list_operations(content: Path, at: str | None, jobs: int | None) -> None:
    from shopwindow.cli.steps import opened

    for operation, files in library.counted(opened(content), at=at, jobs=jobs):
        where = (
            _why_dynamic(operation)
            if files is None
            else f"pre-rendered, {number_of(files, 'file')}"
        )
        click.echo(f"{operation.method} {operation.path}  {where}")


def _why_dynamic(operation: Operation) -> str:
    from shopwindow.interface.declaring.operation import FromContent, FromStore

    if isinstance(operation.source, FromContent):
        return "dynamic: it names no entries to pre-render"
    if isinstance(operation.source, FromStore):
        return "dynamic: it is in the database"
    return "dynamic: only the running service knows"


@click.command()
@OUT
@CONTENT_DIR
@TARGET_OPTION
def releases(out: Path, content: Path, target: str) -> None:
    """List the releases, the newest first: id, when it was built, files, size.

    Marks say which one is current, which is pinned and which is damaged, and from when
    on one that was built ahead is current.
    """
    from shopwindow.release.releases import Releases

    place = place_of(out, target, content=content)
    listed = place.listing()
    if not listed:
        makes = f"`shopwindow {'publish' if target else 'build'}` makes one"
        aside(f"{place.where}: there is no release; {makes}")
    for release in listed:
        print_release(release)
    if not target and (cut := Releases(out).cut()):
        aside(f"the releases ahead end there: {cut}")


def print_release(release: Release) -> None:
    """Print the line of a release in a list."""
    marks = " current" * release.current + " pinned" * release.pinned
    marks += f" ahead, from {release.start}" if release.start else ""
    size = f"{release.files:>7} files  {f'{release.size / 1024:,.0f} KiB':>12}"
    holds = f"{'damaged':>{len(size)}}" if release.damaged else size
    built = f"{release.built[:19]}Z" if release.built else "(not recorded)      "
    click.echo(f"{release.id[:12]}  {built}  {holds}{marks}")


@click.command()
@click.argument("id", required=False)
@OUT
@CONTENT_DIR
@TARGET_OPTION
@SIGNING_KEYS
@REASON
def rollback(id: str | None, reason: str, **at: Any) -> None:
    """Make an earlier release the current one, and pin it.

    Without ID it is the newest release that was never rolled back from; `current` only
    pins. While it is pinned, builds and publications activate nothing; `shopwindow
    activate` ends that.
    """
    place_of(**at).activate(id, reason, pin=True)


@click.command()
@click.argument("id", required=False)
@OUT
@CONTENT_DIR
@TARGET_OPTION
@SIGNING_KEYS
@REASON
@click.option("--latest", is_flag=True, help="Take the release of the last build.")
@click.option(
    "--follow",
    is_flag=True,
    help="Go on until SIGTERM: make each release that was built ahead current at its instant.",
)
def activate(
    id: str | None, reason: str, latest: bool, follow: bool, **at: Any
) -> None:
    """Make release ID the current one, and unpin.

    ID is the beginning of a release's id, of 8 digits or more, `previous`, the release
    that was current before, or `current`, which only unpins. No other one follows it by
    itself until the next build. Where there is no target, --follow moves `current` of
    DIR along what `build --ahead` has written.
    Exit status 0; 4: the release is damaged, and nothing has changed.
    """
    if follow:
        if id or latest or at["target"]:
            raise click.UsageError(
                "--follow takes what was built ahead, and no release"
            )
        _follow(at["out"])
        return
    if (id is None) != latest:
        raise click.UsageError("name a release, or say --latest")
    if latest and at["target"]:
        raise click.UsageError("--latest is of builds, not of a target")
    place_of(**at).activate(id, reason, pin=False)


def _follow(out: Path) -> None:
    from functools import partial

    from shopwindow.release.moving import Log, follow, stopped_by_signals
    from shopwindow.release.releases import Releases
    from shopwindow.service import journal

    log = Log(partial(journal.info, "activate"), partial(journal.error, "activate"))
    with stopped_by_signals() as stopped:
        log.inform(f"following what was built ahead in {out}")
        follow(Releases(out), log, stopped)


@click.command()
@click.argument("a", default="previous")
@click.argument("b", default="current")
@OUT
@click.option(
    "--urls",
    "only_urls",
    is_flag=True,
    help="Only print the URLs to purge, one a line; this reads only the manifests.",
)
@format_option(
    ["text", "markdown", "html", "json"],
    "For people, for a pull request's comment, as a page, or as JSON.",
)
def diff(a: str, b: str, out: Path, only_urls: bool, form: str) -> None:
    """Print what changes from release A to release B, and the URLs to purge from
    caches.

    A and B are ids of releases, `current`, or `previous`. Without B it is the current
    release, and without both A is the previous one.
    """
    from shopwindow.cli.differences import DIFFERENCE_FORMATS

    if only_urls:
        for url in library.urls_to_purge(out, a, b):
            click.echo(url)
        return
    differing = library.difference(interface(), out, a, b)
    for line in DIFFERENCE_FORMATS[form](differing):
        click.echo(line)


@click.command()
@OUT
@CONTENT_DIR
@TARGET_OPTION
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    required=True,
    metavar="N",
    help="How many of the newest releases stay.",
)
def prune(out: Path, content: Path, target: str, keep: int) -> None:
    """Delete old releases.

    The current one stays, and so does one that was current in the last hour; at a
    target, nothing younger than a day is deleted.
    """
    place = place_of(out, target, content=content)
    deleted, outcome = place.prune(keep)
    audit.record("prune", out=place.where, deleted=list(deleted))
    click.echo(outcome)


@click.command()
@click.argument("id", required=False, default="current")
@OUT
@CONTENT_DIR
@TARGET_OPTION
@SIGNING_KEYS
def verify(id: str, out: Path, content: Path, target: str, folder: str) -> None:
    """Compare every file of release ID with what was built; default: the current one.

    At a target every object is read back, of the current release also those of what
    follows it; and where it is signed, signatures are compared, too.
    Exit status 0: the release is intact; 1: it is not, and each line names a file.
    """
    place = place_of(out, target, content=content, folder=folder)
    release, wrong, advice = place.verify(id)
    for line in wrong:
        click.echo(line)
    if wrong:
        aside(advice)
        sys.exit(PROBLEMS)
    at = f" at {place.where}" if target else ""
    click.echo(f"release {release[:12]} is intact{at}")
