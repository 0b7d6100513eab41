"""`catalog explain`: why a phrase finds what it finds, in this order; what is lacking."""

from __future__ import annotations

import sqlite3
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import orjson

from shopwindow import library
from shopwindow.cli.explain import INDENTED
from shopwindow.cli.options import CONTENT_DIR, OUT, interface
from shopwindow.problems import Failure

MOST_EXPLAINED = 1000
"""Products that are explained, at most: ten pages of the most that a client asks for."""


def _named(ctx: click.Context, param: click.Parameter, filters: Any) -> Any:
    """Return (name, value) pairs of NAME=VALUE."""
    for text in filters:
        if "=" not in text:
            raise click.BadParameter(f"{text}: write NAME=VALUE, such as COLOR=Red")
    return [tuple(text.split("=", 1)) for text in filters]


@click.command()
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
