"""`catalog`: feeds of other systems become documents; what the catalog holds and finds."""

import shutil
import sqlite3
import sys
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click
import orjson

from shopwindow import library
from shopwindow.cli import PROBLEMS, aside
from shopwindow.cli.explain import INDENTED
from shopwindow.cli.options import CONTENT_DIR, OUT, interface
from shopwindow.problems import Failure, number_of

MOST_EXPLAINED = 1000
"""Products that are explained, at most: ten pages of the most that a client asks for."""


@click.group()
def catalog() -> None:
    """Convert feeds of the product catalog; explain what it finds, and what it lacks."""


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@catalog.command("import")
@click.argument("sql", metavar="SQL", type=_FILE)
@click.argument("feeds", metavar="FILE...", type=_FILE, nargs=-1, required=True)
@CONTENT_DIR
def import_(sql: Path, feeds: tuple[Path, ...], content: Path) -> None:
    """Print the documents that an SQL file makes of foreign feeds, as JSON lines.

    SQL is a file whose name says what it makes, such as products.sql. Its last query is
    run by DuckDB. Each FILE is a table that is called as it is, up to the first dot:
    JSON lines (also compressed), JSON, CSV or TSV. Rows are held against the schemas of
    the program and of --content. Exit status 0; 1: rows that are no documents, each
    reported, and nothing was printed.
    """
    from shopwindow.cli.steps import progress_bar
    from shopwindow.content.check.folder import MAX_PROBLEMS

    try:
        from shopwindow.catalog import importing
    except ModuleNotFoundError as error:
        install = "pip install -e '.[import]'"
        raise Failure(
            f"{error.name} is not installed, and imports need it: in a checkout {install}"
        ) from None
    kind = importing.kind_of(sql, interface().kinds)
    schemas = library.schemas(interface(), content)
    written = bad = 0
    # Documents are printed once all rows are known to be documents.
    progress = progress_bar("importing") or (lambda done, total: None)
    with TemporaryFile() as lines:
        try:
            for document in importing.documents(sql, feeds):
                progress(written + bad, 0)
                faults = importing.faults(schemas, kind, document)
                if not faults:
                    written += 1
                    lines.write(orjson.dumps(document) + b"\n")
                    continue
                bad += 1
                if bad <= MAX_PROBLEMS:
                    row = f"row {written + bad}"
                    if kind.identity in document:
                        row += f", {kind.identity} {document[kind.identity]}"
                    aside(f"{sql}: {row}: {'; '.join(faults)}")
        finally:
            progress(1, 1)
        if not bad:
            lines.seek(0)
            shutil.copyfileobj(lines, sys.stdout.buffer)
    if bad > MAX_PROBLEMS:
        aside(f"and {bad - MAX_PROBLEMS:,} more bad rows")
    if bad:
        aside(f"{sql}: nothing was printed")
        sys.exit(PROBLEMS)
    aside(f"{sql}: {number_of(written, 'document')}")


# -- explain ---------------------------------------------------------------------------


def _named(ctx: click.Context, param: click.Parameter, filters: Any) -> Any:
    """Return (name, value) pairs of NAME=VALUE."""
    for text in filters:
        if "=" not in text:
            raise click.BadParameter(f"{text}: write NAME=VALUE, such as COLOR=Red")
    return [tuple(text.split("=", 1)) for text in filters]


@catalog.command()
@click.argument("phrase", default="")
@click.option(
    "--product",
    type=int,
    metavar="ID",
    help="Say where this product stands, or why it is not found.",
)
@click.option(
    "--filter",
    "filters",
    multiple=True,
    callback=_named,
    metavar="NAME=VALUE",
    help="A filter, as clients send it: CATEGORY=…, COLOR=…, PRICE=…; may be repeated.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, MOST_EXPLAINED),
    default=10,
    metavar="N",
    help="Explain the first N products.",
)
@OUT
@CONTENT_DIR
@click.option(
    "--unbuilt",
    is_flag=True,
    help="Take the content folder as it is, instead of the current release; builds an index for this.",
)
def explain(
    phrase: str,
    product: int | None,
    filters: list[tuple[str, str]],
    limit: int,
    out: Path,
    content: Path,
    unbuilt: bool,
) -> None:
    """Print why a search for PHRASE finds what it finds, as JSON; without it, what the
    catalog lacks.

    The catalog is the current release's.
    """
    from shopwindow.catalog.operations.explaining import explained
    from shopwindow.cli.steps import opened, progress_bar
    from shopwindow.release.damage import is_damaged

    answered_from = (
        library.indexed_content(opened(content), steps=progress_bar)
        if unbuilt
        else nullcontext(library.released_content(interface(), out))
    )
    try:
        with answered_from as answering:
            explanation = explained(
                interface(), answering, phrase, filters, limit, product=product
            )
    except sqlite3.Error as error:
        if unbuilt or not is_damaged(error):
            raise
        raise Failure(
            f"{out}: the catalog of the current release is damaged: {error}; "
            f"{library.remedy(out)}"
        ) from None
    click.echo(orjson.dumps(explanation, option=INDENTED))
