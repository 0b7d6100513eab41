"""`catalog explain`: why a phrase finds what it finds, in this order."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import orjson

from shopwindow import library
from shopwindow.catalog.explaining import explained
from shopwindow.catalog.index.reasons import (
    GROUP_WORDS,
    NO_WORDS,
    ClauseReason,
    ProductReason,
    ScoreReason,
    SearchExplanation,
    WordUse,
)
from shopwindow.cli.explain import EXPLAINED_AS, INDENTED
from shopwindow.cli.steps import (
    CONTENT_DIR,
    OUT,
    documents_of,
    interface,
    progress_bar,
)
from shopwindow.content.documents import Content
from shopwindow.problems import Failure, number_of, one_line
from shopwindow.release.damage import is_damaged

MOST_EXPLAINED = 1000
"""Products that are explained, at most: ten pages of the most that a client asks for."""

UNBUILT = click.option(
    "--unbuilt",
    is_flag=True,
    help="Take the content folder as it is, instead of the current release; builds an index for this.",
)


@contextmanager
def catalog_content(out: str, content: str, unbuilt: bool) -> Iterator[Content]:
    """Yield content that answers from a catalog: the current release's, or the content
    folder's as it is. Raises Failure for a file that is damaged.
    """
    if not unbuilt:
        try:
            yield library.released_content(interface(), Path(out))
        except sqlite3.Error as error:
            if not is_damaged(error):
                raise
            raise Failure(
                f"{out}: the catalog of the current release is damaged: {error}; "
                f"{library.remedy(Path(out))}"
            ) from None
        return
    documents = documents_of(content)
    with library.indexed_content(
        interface(), Path(content), documents, steps=progress_bar
    ) as answering:
        yield answering


def _named(ctx: click.Context, param: click.Parameter, filters: Any) -> Any:
    """Return (name, value) pairs of NAME=VALUE."""
    for text in filters:
        if "=" not in text:
            raise click.BadParameter(f"{text}: write NAME=VALUE, such as COLOR=Red")
    return [tuple(text.split("=", 1)) for text in filters]


@click.command()
@click.argument("phrase")
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
    show_default=True,
    metavar="N",
    help="Explain the first N products.",
)
@EXPLAINED_AS
@OUT
@CONTENT_DIR
@UNBUILT
def explain(
    phrase: str,
    product: int | None,
    filters: list[tuple[str, str]],
    limit: int,
    form: str,
    out: str,
    content: str,
    unbuilt: bool,
) -> None:
    """Say why a search for PHRASE finds what it finds, and why in this order.

    It shows what became of each word, what matched where, the parts of the score of the
    first products, and which product is the first that is cut off. The catalog is the
    current release's.
    """
    with catalog_content(out, content, unbuilt) as answering:
        explanation = explained(interface(), answering, phrase, filters, limit, product)
    if form == "json":
        click.echo(orjson.dumps(asdict(explanation), option=INDENTED))
    else:
        click.echo("\n".join(map(one_line, explanation_lines(explanation))))


# -- text ------------------------------------------------------------------------------


def explanation_lines(explanation: SearchExplanation) -> Iterator[str]:
    """Yield the lines for a terminal."""
    yield f"phrase      {explanation.phrase}"
    if explanation.ignored_characters:
        yield f"ignored     the last {explanation.ignored_characters:,} characters"
    if explanation.corrected:
        yield f"corrected   {explanation.corrected}"
    if explanation.limit:
        yield f"price       {_limit(explanation.limit)}"
    yield from _word_lines(explanation)
    for clause in explanation.clauses:
        yield f"searched    {clause_text(clause)}"
    yield f"finds       {_counts(explanation)}"
    for reason in explanation.products:
        yield ""
        yield from _product_lines(reason)
    if explanation.next:
        yield ""
        yield "cut off here; the next would be"
        yield from _product_lines(explanation.next)
    if explanation.product:
        named = explanation.product
        yield ""
        yield f"product {named.id}: {named.why}"
        if named.reason and named.reason not in explanation.products:
            yield from _product_lines(named.reason)


def _limit(limit: tuple[float | None, float | None]) -> str:
    low, high = limit
    return f"at least ${low:,.2f}" if low is not None else f"at most ${high:,.2f}"


def _word_lines(explanation: SearchExplanation) -> Iterator[str]:
    """Yield what became of the words that are not searched for."""
    by_use: dict[WordUse, list[str]] = {}
    for one in explanation.words:
        if one.use != "searched":
            by_use.setdefault(one.use, []).append(one.word)
    for use, words in by_use.items():
        label = "number" if use == "number" else "not used"
        yield f"{label:<12}{', '.join(words)}: {explanation.use_text(use)}"


def clause_text(clause: ClauseReason) -> str:
    """Return what words stand for, and how much they count."""
    words = " ".join(clause.words)
    head = ", names the thing" * clause.is_head
    counts = f"{clause.products_text}, weight {clause.weight:g}{head}"
    return f"{words}: {clause.alternatives_text} ({counts})"


def _counts(explanation: SearchExplanation) -> str:
    """Return how many products are found, and how."""
    parts = [number_of(explanation.total, "product")]
    if not explanation.words:
        parts.append(NO_WORDS)
    if explanation.before_filters != explanation.total:
        parts.append(f"{explanation.before_filters:,} before filters")
    if explanation.by_rank:
        parts.append(f"{explanation.scored:,} have a score, the others follow by rank")
    if explanation.is_part:
        parts.append("of the largest part of the phrase, since the whole finds nothing")
    if explanation.is_widened:
        few = f"the phrase alone finds {explanation.before_widening}"
        parts.append(f"{few}, so words also stand for longer ones, which come behind")
    return "; ".join(parts)


def _product_lines(reason: ProductReason) -> Iterator[str]:
    brand = f" ({reason.brand})" * bool(reason.brand)
    yield f"{reason.place:>4}  {reason.id}  {reason.name}{brand}"
    if reason.score is None:
        yield f"      {GROUP_WORDS[reason.group]}, rank {reason.rank:,}"
        return
    yield f"      {score_text(reason.score)}, rank {reason.rank:,}"
    if reason.group == "widened":
        yield f"      {GROUP_WORDS[reason.group]}"
    for clause in reason.score.clauses:
        words = dict.fromkeys(match.word for match in clause.matches)
        has = f" has {', '.join(words)}" if words else ""
        fields = ", ".join(clause.fields)
        yield f"      {' '.join(clause.words)}:{has} in {fields}, {clause.best:g}"


def score_text(score: ScoreReason) -> str:
    """Return a score and its parts."""
    parts = [
        (score.by_words, "for its words"),
        (score.side_by_side, "side by side"),
        (score.filled_name, "for the part of the name that they fill"),
        (score.name_end, "at its end"),
    ]
    listed = " + ".join(f"{worth:g} {label}" for worth, label in parts if worth)
    return f"score {round(score.total, 3):g} = {listed}"
