"""`catalog import`: a foreign feed becomes documents of the catalog."""

import os
import sys
from pathlib import Path

import click
import orjson

from shopwindow import library
from shopwindow.catalog import mapping as mappings
from shopwindow.catalog.importing import FeedImport
from shopwindow.catalog.mapping import Mapped, UnusableMapping
from shopwindow.cli.steps import CONTENT_DIR, LISTED_PROBLEMS, PROBLEMS, interface
from shopwindow.content import yaml
from shopwindow.content.yaml import Malformed
from shopwindow.problems import pointer_text


@click.group()
def catalog() -> None:
    """Convert feeds of the product catalog."""


@catalog.command("import")
@click.argument("feed", metavar="FEED")
@click.option(
    "--map",
    "mapping",
    required=True,
    metavar="FILE",
    help="The mapping file: which columns of a row become which properties of a document.",
)
@click.option("--out", required=True, metavar="FILE", help="The .jsonl file to write.")
@click.option(
    "--skip-bad", is_flag=True, help="Write the good rows, even where others are bad."
)
@CONTENT_DIR
@LISTED_PROBLEMS
def import_(
    feed: str, mapping: str, out: str, skip_bad: bool, content: str, most: int
) -> None:
    """Convert the rows of FEED to documents of the catalog, in a .jsonl file.

    FEED has JSON lines, a list in JSON or YAML, or CSV; the ending of its name says
    which. Each bad row is reported with its line. Where --content has schemas,
    documents are held against these, too. Exit status 0; 1: there are bad rows, and
    nothing was written; 2: wrong use.
    """
    if not out.endswith(".jsonl"):
        raise click.UsageError(
            f"--out {out}: the name of what is written ends in .jsonl"
        )
    mapped = _mapping(Path(mapping))
    schemas = library.schemas(interface(), Path(content))

    def print_bad_row(where: str, fault: str) -> None:
        if importing.bad <= most:
            click.echo(f"{feed}: {where}: {fault}")

    importing = FeedImport(Path(feed), mapped, schemas, print_bad_row)
    target = Path(out)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}-{os.getpid()}")
    try:
        with open(draft, "wb") as file:
            for document in importing.documents():
                file.write(orjson.dumps(document) + b"\n")
        if importing.bad > most:
            click.echo(f"and {importing.bad - most:,} more bad rows")
        if importing.bad and not skip_bad:
            would_write = f"--skip-bad writes the {importing.written:,} good rows"
            click.echo(f"{feed}: nothing was written; {would_write}", err=True)
            sys.exit(PROBLEMS)
        os.replace(draft, target)
        click.echo(_summary(importing, out))
    except UnusableMapping as unfit:
        raise click.UsageError(
            f"{mapping}: {unfit.found}; allowed: {unfit.allowed}"
        ) from None
    finally:
        draft.unlink(missing_ok=True)


def _summary(importing: FeedImport, out: str) -> str:
    """Return how many rows became what."""
    parts = [f"{importing.read:,} rows read", f"{importing.written:,} written to {out}"]
    if importing.skipped:
        parts.append(f"{importing.skipped:,} skipped as the mapping says")
    if importing.bad:
        parts.append(f"{importing.bad:,} bad ones left out")
    return ", ".join(parts)


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
        spots = yaml.locate(text)
        spot = spots.get(unfit.pointer) or spots.get(unfit.pointer[:-1])
        where = f"{path}:{spot.value.line}:{spot.value.column}" if spot else str(path)
        name = f"{pointer_text(unfit.pointer)}: " if unfit.pointer else ""
        close = f"; did you mean {unfit.nearest}?" if unfit.nearest else ""
        allowed = f"allowed: {unfit.allowed}{close}"
        raise click.UsageError(f"{where}: {name}{unfit.found}; {allowed}") from None
