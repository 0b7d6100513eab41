"""`catalog explain`: why a phrase finds what it finds, in this order; what is lacking."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from shopwindow import library
from shopwindow.cli.explain import INDENTED
from shopwindow.cli.options import CONTENT_DIR, OUT, interface
from shopwindow.problems import Failure

if TYPE_CHECKING:
    from shopwindow.content.documents.documents import Content

MOST_EXPLAINED = 1000
"""Products that are explained, at most: ten pages of the most that a client asks for."""

UNBUILT = click.option(
    "--unbuilt",
    is_flag=True,
    help="Take the content folder as it is, instead of the current release; builds an index for this.",
)


@contextmanager
def catalog_content(out: Path, content: Path, unbuilt: bool) -> Iterator[Content]:
    """Yield content that answers from a catalog: the current release's, or the content
    folder's as it is. Raises Failure for a file that is damaged.
    """
    from shopwindow.cli.steps import opened, progress_bar
    from shopwindow.release.damage import is_damaged

    if not unbuilt:
        try:
            yield library.released_content(interface(), out)
        except sqlite3.Error as error:
            if not is_damaged(error):
                raise
            raise Failure(
                f"{out}: the catalog of the current release is damaged: {error}; "
                f"{library.remedy(out)}"
            ) from None
        return
    with library.indexed_content(opened(content), steps=progress_bar) as answering:
        yield answering


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
@UNBUILT
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

    with catalog_content(out, content, unbuilt) as answering:
        explanation = explained(
            interface(), answering, phrase, filters, limit, product=product
        )
    click.echo(orjson.dumps(explanation, option=INDENTED))
