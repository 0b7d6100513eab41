"""`why`, `uses` and `retire`: where a value comes from, what names a document, and its
end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson

from shopwindow import library
from shopwindow.cli import aside
from shopwindow.cli.options import CONTENT_DIR, format_option
from shopwindow.problems import number_of, one_line

if TYPE_CHECKING:
    from shopwindow.content.lookup.history import Commit
    from shopwindow.content.lookup.uses import Uses
    from shopwindow.content.lookup.why import Explanation, Statement
    from shopwindow.library import AnsweredValue, OpenedContent

COMMIT_DIGITS = 10
"""Digits of a commit's id: git prints 7 to 10, and finds it by these in any
repository of content.
"""

MOST_READ = 50
"""Documents that are listed: an answer with all stores read all of them, and nobody
looks for one among a thousand lines.
"""

EXPLAINED_AS = format_option(["text", "json"], "Lines for people, or JSON.")


@click.command()
@click.argument("names", metavar="[KIND] ID|REQUEST POINTER", nargs=-1, required=True)
@CONTENT_DIR
@EXPLAINED_AS
def why(names: tuple[str, ...], content: Path, form: str) -> None:
    """Say which file sets a value, since which commit, and what that hides.

    `why iphone config/poorNetwork/poorWifiMaxSecsLatency` asks about an app. Before the
    ID of anything else stands its KIND: `why store 403 hours/sunday`. For site.yaml it
    is `why site POINTER`. A POINTER is the way to the value, with slashes between keys
    and positions, which count from 0.

    `why 'v2/store/event?storeId=101' storeEvents/0/name` asks about a value of the JSON
    answer to a request, now and to the first app. Where the program computes it, these
    are the documents that the answer read.
    """
    if len(names) not in (2, 3):
        raise click.UsageError(
            "why needs an ID and a POINTER, and a KIND before them where it is no app"
        )
    from shopwindow.cli.steps import opened

    if len(names) == 2 and any(mark in names[0] for mark in "/?"):
        _why_answered(opened(content), *names, content, form)
        return
    explained = library.why(opened(content), *names)
    if form == "json":
        click.echo(orjson.dumps(explained, option=INDENTED))
        return
    click.echo("\n\n".join("\n".join(_lines(one, content)) for one in explained))


INDENTED = orjson.OPT_INDENT_2
"""How JSON is printed for people who read it before a program does."""


def _lines(explanation: Explanation, content: Path) -> Iterator[str]:
    from shopwindow.content.lookup.shelf import value_text

    yield f"{_name(explanation)}: {value_text(explanation.value)}"
    yield from _stated_in(explanation, content)


def _why_answered(
    opened: OpenedContent, request: str, pointer: str, content: Path, form: str
) -> None:
    answered = library.why_answered(opened, request, pointer)
    if form == "json":
        click.echo(orjson.dumps(answered, option=INDENTED))
    else:
        click.echo("\n".join(_of_answer(answered, request, pointer, content)))


def _of_answer(
    answered: AnsweredValue, request: str, pointer: str, content: Path
) -> Iterator[str]:
    from shopwindow.content.lookup.shelf import value_text

    yield f"{one_line(f'{pointer} of {request}')}: {value_text(answered.value)}"
    if answered.set_by:
        yield f"  {'is':<12}{_name(answered.set_by)}"
        yield from _stated_in(answered.set_by, content, with_column=True)
        return
    yield f"  {'computed':<12}from what the answer reads"
    for read in answered.read[:MOST_READ]:
        line = f":{read.line}" if read.line else ""
        place = f"{content}/{read.path}{line}"
        named = "site" if read.id == read.path else f"{read.kind} {read.id}"
        yield one_line(f"  {'reads':<12}{place}  ({named})")
    if len(answered.read) > MOST_READ:
        yield f"  and {number_of(len(answered.read) - MOST_READ, 'document')} more"


def _name(explanation: Explanation) -> str:
    place = explanation.place
    named = [explanation.kind, explanation.id, place]
    if place != explanation.pointer:  # in words
        named = [place, "of", explanation.kind, explanation.id]
    return one_line(" ".join(filter(None, named)))


def _stated_in(
    explanation: Explanation, content: Path, *, with_column: bool = False
) -> Iterator[str]:
    first = "merged from" if explanation.is_merged else "set by"
    further = "merged from" if explanation.is_merged else "hides"
    for number, statement in enumerate(explanation.statements):
        label = further if number else first
        column = f":{statement.column}" if with_column else ""
        place = f"{content}/{statement.path}:{statement.line}{column}"
        yield _stated(label, statement, place, hidden=label == "hides")
        if statement.expression:
            yield f"  {'written as':<12}{one_line(statement.expression)}"
    if explanation.about:
        yield f"  {'means':<12}{one_line(explanation.about)}"


def _stated(label: str, statement: Statement, place: str, *, hidden: bool) -> str:
    from shopwindow.content.documents.finding import shown

    line = f"  {label:<12}{place}"
    if hidden:
        line += f": {one_line(shown(statement.value))}"
    return line + (f"  ({_committed(statement.commit)})" if statement.commit else "")


def _committed(commit: Commit) -> str:
    if not commit.id:
        return commit.subject
    by = f"{commit.id[:COMMIT_DIGITS]}, {commit.time:%Y-%m-%d}, {commit.author}"
    return one_line(f"{by}: {commit.subject}")


# -- uses ------------------------------------------------------------------------------


@click.command()
@click.argument("what", metavar="KIND|setting|attribute")
@click.argument("name", metavar="ID|NAME")
@CONTENT_DIR
@EXPLAINED_AS
def uses(what: str, name: str, content: Path, form: str) -> None:
    """List every place that names a document, and count the lines of feeds that do.

    `uses store 403` takes any of the kind's ids. `uses setting NAME` lists the texts
    that use a name of site.yaml, and `uses attribute NAME` the documents that have an
    attribute.
    """
    from shopwindow.cli.steps import opened

    listed = library.uses(opened(content), what, name)
    if form == "json":
        click.echo(orjson.dumps(listed, option=INDENTED))
    else:
        click.echo("\n".join(_grouped(listed, content)))


def _grouped(uses: Uses, content: Path) -> Iterator[str]:
    if not uses.counts:
        yield one_line(f"nothing names {uses.name}")
        return
    yield one_line(f"{uses.name}: {uses.counts}")
    by_kind: dict[str, list[str]] = {}
    for use in uses.places:
        named = " ".join(dict.fromkeys(filter(None, (use.id, use.title))))
        place = f"  {content}/{use.path}:{use.line}: {use.place}"
        line = one_line(place + (f"  ({named})" if named else ""))
        by_kind.setdefault(use.kind, []).append(line)
    for feed in uses.feeds:
        lines = number_of(feed.lines, "line")
        by_kind.setdefault(feed.kind, []).append(f"  {content}/{feed.path}: {lines}")
    for kind, places in by_kind.items():
        yield kind
        yield from places


# -- retire ----------------------------------------------------------------------------


@click.command()
@click.argument("kind")
@click.argument("id")
@click.option(
    "--on",
    required=True,
    metavar="DAY",
    help="The last day, as 2026-12-31, or the instant of the end: 2026-12-31 18:00.",
)
@click.option("--yes", is_flag=True, help="Write the change without asking.")
@CONTENT_DIR
def retire(kind: str, id: str, on: str, yes: bool, content: Path) -> None:
    """End a document on a day: write its publish window, and those of what needs it.

    `retire store 403 --on 2026-12-31` shows the change as a diff, and asks before it is
    written. Where nobody can be asked, it is written with --yes only. A document that
    names nothing else gets the same end; one that also names others is left as it is.
    """
    from shopwindow.cli.steps import opened

    retired = library.retire(opened(content), kind, id, on)
    click.echo("".join(edit.diff(str(content)) for edit in retired.edits), nl=False)
    for note in retired.notes:
        aside(one_line(note))
    can_ask = sys.stdin.isatty() and sys.stdout.isatty()
    if not (yes or (can_ask and click.confirm("Write this?"))):
        aside("nothing was written; --yes writes it")
        return
    for path in library.write_edits(content, retired):
        aside(f"{path}: written")
