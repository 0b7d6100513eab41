"""`catalog`: feeds of other systems become documents; what the catalog holds and finds."""

import sys
from pathlib import Path

import click
import orjson

from shopwindow import library
from shopwindow.catalog import mapping as mappings
from shopwindow.catalog.applying import ChangesImport
from shopwindow.catalog.feed_files import FEED_ENDINGS, FeedFiles, replacing
from shopwindow.catalog.importing import FeedImport
from shopwindow.catalog.mapping import Mapped
from shopwindow.catalog.mapping_checks import UnusableMapping
from shopwindow.catalog.marks import FeedMarks
from shopwindow.catalog.rewriting import AppliedCounts
from shopwindow.cli.catalog_explain import explain
from shopwindow.cli.catalog_stats import stats
from shopwindow.cli.steps import (
    CONTENT_DIR,
    LISTED_PROBLEMS,
    PROBLEMS,
    interface,
    row_counter,
)
from shopwindow.content import yaml
from shopwindow.content.schema import Schemas
from shopwindow.content.yaml import Malformed
from shopwindow.problems import Failure, failures, number_of, one_line, pointer_text


@click.group()
def catalog() -> None:
    """Convert feeds of the product catalog; say what it finds, and what it lacks."""


catalog.add_command(explain)
catalog.add_command(stats)


@catalog.command("import")
@click.argument("feeds", metavar="FEED...", nargs=-1, required=True)
@click.option(
    "--map",
    "mapping",
    metavar="FILE",
    help="The mapping file: which columns of a row become which properties of a document.",
)
@click.option(
    "--out",
    required=True,
    metavar="FILE",
    help="The .jsonl file to write; with --changes the feed to change, a file or a folder of files.",
)
@click.option(
    "--changes",
    is_flag=True,
    help="Each FEED has what changed since a mark: apply it to --out.",
)
@click.option(
    "--added-to",
    metavar="NAME",
    default="",
    help="With --changes, where --out is a folder: its file that new documents go to; default: the last by name.",
)
@click.option(
    "--skip-bad", is_flag=True, help="Write the good rows, even where others are bad."
)
@CONTENT_DIR
@LISTED_PROBLEMS
def import_(
    feeds: tuple[str, ...],
    mapping: str | None,
    out: str,
    changes: bool,
    added_to: str,
    skip_bad: bool,
    content: str,
    most: int,
) -> None:
    """Convert the rows of FEED to documents of the catalog, in a .jsonl file.

    FEED has JSON lines, a list in JSON or YAML, or CSV; the ending of its name says
    which. Each bad row is reported with its line. Where --content has schemas,
    documents are held against these, too. With --changes, FEEDs are JSON lines of
    upserts and deletes since a mark, and are applied to --out in this order. Exit
    status 0; 1: there are bad rows, or changes that do not fit, and nothing was written;
    2: wrong use.
    """
    mapped = _mapping(Path(mapping)) if mapping else None
    schemas = library.schemas(interface(), Path(content))
    try:
        if changes:
            if skip_bad:
                message = "--skip-bad: changes are applied together or not at all"
                raise click.UsageError(message)
            files = [Path(feed) for feed in feeds]
            _apply(files, Path(out), added_to, mapped, schemas, most)
        elif added_to:
            raise click.UsageError("--added-to goes with --changes")
        elif mapped is None:
            raise click.UsageError("Missing option '--map'.")
        elif len(feeds) > 1:
            raise click.UsageError("several FEEDs; without --changes there is one")
        else:
            _convert(feeds[0], out, mapped, schemas, skip_bad, most)
    except UnusableMapping as unfit:
        raise _unusable(Path(str(mapping)), unfit) from None


def _convert(
    feed: str, out: str, mapped: Mapped, schemas: Schemas, skip_bad: bool, most: int
) -> None:
    """Write the documents of a whole feed."""
    if not out.endswith(".jsonl"):
        raise click.UsageError(
            f"--out {out}: the name of what is written ends in .jsonl"
        )

    def print_bad_row(where: str, fault: str) -> None:
        if importing.bad <= most:
            click.echo(f"{feed}: {where}: {fault}")

    # What a link leads to is replaced, and not the link.
    target = Path(out).resolve()
    with failures(out, f"{out} is as it was"):
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as file:
            with row_counter("importing") as progress:
                importing = FeedImport(
                    Path(feed), mapped, schemas, print_bad_row, progress
                )
                for document in importing.documents():
                    file.write(orjson.dumps(document) + b"\n")
            if importing.bad > most:
                click.echo(f"and {importing.bad - most:,} more bad rows")
            if importing.bad and not skip_bad:
                would_write = f"--skip-bad writes the {importing.written:,} good rows"
                click.echo(f"{feed}: nothing was written; {would_write}", err=True)
                sys.exit(PROBLEMS)
    click.echo(_summary(importing, out))


def _summary(importing: FeedImport, out: str) -> str:
    """Return how many rows became what."""
    parts = [
        f"{number_of(importing.read, 'row')} read",
        f"{importing.written:,} written to {out}",
    ]
    if importing.skipped:
        parts.append(f"{importing.skipped:,} skipped as the mapping says")
    if importing.bad:
        parts.append(f"{importing.bad:,} bad ones left out")
    return ", ".join(parts)


# -- changes ---------------------------------------------------------------------------


def _apply(
    files: list[Path],
    feed: Path,
    added_to: str,
    mapped: Mapped | None,
    schemas: Schemas,
    most: int,
) -> None:
    """Apply changes to a feed."""
    _require_feed(feed)
    if added_to:
        _require_name(feed, added_to)

    def print_fault(file: Path, line: int, fault: str) -> None:
        if importing.bad <= most:
            click.echo(f"{file}: line {line}: {fault}")

    with row_counter("importing changes") as progress:
        importing = ChangesImport(
            feed, mapped, schemas, print_fault, progress, added_to
        )
        counts = importing.apply(files)
    if importing.bad > most:
        click.echo(f"and {importing.bad - most:,} more faults")
    if importing.bad:
        click.echo(f"{feed}: nothing was written", err=True)
        sys.exit(PROBLEMS)
    if counts is None:
        click.echo(f"{feed}: has these changes already; nothing was written")
    else:
        added_to = importing.added_to if feed.is_dir() else ""
        click.echo(one_line(f"{feed}: {_applied(counts, added_to)}"))


def _applied(counts: AppliedCounts, added_to: str) -> str:
    """Return what changes have done; ``added_to``: the file of a folder that got what
    is new.
    """
    added = f"{counts.added:,} added"
    if added_to and counts.added:
        added += f" to {added_to}"
    changed = f"{added}, {counts.replaced:,} replaced, {counts.deleted:,} deleted"
    documents = number_of(counts.documents, "document")
    return f"{changed}; {documents}, up to the mark {counts.mark}"


@catalog.command()
@click.argument("feed", metavar="FEED")
@click.argument("name", metavar="[MARK]", required=False)
def mark(feed: str, name: str | None) -> None:
    """Record up to which mark of another system FEED goes, or print it.

    `catalog import --changes` applies changes since that mark. Record it whenever a
    whole feed was put in place. Exit status 0; 1: FEED has no mark, or was changed since.
    """
    path = Path(feed)
    _require_feed(path)
    if name == "":
        raise click.UsageError("MARK is empty; allowed: text, such as a date")
    marks = FeedMarks(path.resolve())
    with failures(feed, "its mark is as it was"):
        if name:
            with marks.locked():
                marks.add(name, marks.files.digest())
        current = marks.current()
    if not current:
        click.echo(f"{feed}: no mark, or it was changed since it had one", err=True)
        sys.exit(PROBLEMS)
    click.echo(one_line(f"{feed}: {current[-1]}"))


def _require_feed(feed: Path) -> None:
    """Raises UsageError for a name that is no feed's, and Failure where there is none."""
    if feed.is_dir():
        if not FeedFiles(feed).names():
            found = f"no file in it ends in {', '.join(FEED_ENDINGS)}"
            raise Failure(f"{feed}: {found}; put the whole feed there first")
        return
    if not feed.name.endswith(FEED_ENDINGS):
        message = f"{feed}: the name of a feed ends in {', '.join(FEED_ENDINGS)}"
        raise click.UsageError(f"{message}, or it is a folder of such files")
    if not feed.is_file():
        raise Failure(f"{feed}: there is no such feed; put the whole one there first")


def _require_name(feed: Path, name: str) -> None:
    """Raises UsageError where new documents cannot go to a file of this name."""
    if not feed.is_dir():
        raise click.UsageError(f"--added-to: {feed} is one file, which gets all")
    parts = Path(name).parts
    is_hidden = any(part.startswith(".") for part in parts)
    if Path(name).is_absolute() or is_hidden or not name.endswith(FEED_ENDINGS):
        allowed = f"a name below {feed} that ends in {', '.join(FEED_ENDINGS)}"
        raise click.UsageError(f"--added-to {name}: allowed: {allowed}")


# -- the mapping -----------------------------------------------------------------------


def _mapping(path: Path) -> Mapped:
    """Read the mapping file. Raises UsageError with the place of what is wrong in it."""
    try:
        text = yaml.decode(path.read_bytes())
        value = yaml.load(text)
    except OSError as error:
        raise click.UsageError(f"--map {path}: {error.strerror}") from None
    except Malformed as fault:
        where = f"{path}:{fault.place.line}:{fault.place.column}"
        raise click.UsageError(
            f"{where}: {fault.found}; allowed: {fault.allowed}"
        ) from None
    try:
        return mappings.read(value)
    except UnusableMapping as unfit:
        raise _unusable(path, unfit) from None


def _unusable(path: Path, unfit: UnusableMapping) -> click.UsageError:
    """Return the error for a mapping that cannot be used, with the place in its file."""
    spots = yaml.locate(yaml.decode(path.read_bytes()))
    spot = spots.get(unfit.pointer) or spots.get(unfit.pointer[:-1])
    where = f"{path}:{spot.value.line}:{spot.value.column}" if spot else str(path)
    name = f"{pointer_text(unfit.pointer)}: " if unfit.pointer else ""
    close = f"; did you mean {unfit.nearest}?" if unfit.nearest else ""
    allowed = f"allowed: {unfit.allowed}{close}"
    return click.UsageError(f"{where}: {name}{unfit.found}; {allowed}")
