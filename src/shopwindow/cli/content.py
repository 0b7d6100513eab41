"""`check` and `show`: what editors run."""

import gc
import sys
from pathlib import Path

import click

from shopwindow import library
from shopwindow.cli.steps import (
    AT,
    CONTENT,
    JOBS,
    MAX_PROBLEMS,
    MAX_UNPACKED,
    PROBLEMS,
    documents_of,
    interface,
    print_placeholders,
    print_problems,
    progress_bar,
)


@click.command()
@CONTENT
@JOBS
@click.option(
    "--against",
    metavar="RELEASE",
    help="A release, or an archive of one: what changed needs a new configVersion.",
)
@MAX_PROBLEMS
@MAX_UNPACKED
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    show_default=True,
)
def check(
    content: str, jobs: int | None, against: str | None, most: int, unpacked: int, form: str
) -> None:
    """Say everything that is wrong with the content. Exit 0: nothing; 1: problems; 2: wrong
    use.
    """
    gc.disable()  # as in a build
    checked = library.check(
        interface(),
        Path(content),
        against=Path(against) if against else None,
        jobs=jobs,
        most=most,
        unpacked=unpacked * 1024**3,
        steps=progress_bar,
    )
    print_problems(checked, Path(content), form)
    if checked.problems:
        sys.exit(PROBLEMS)
    if form in ("text", "github"):
        print_placeholders(checked, content)
        click.echo(f"{content}: {len(checked.sources)} files, nothing wrong")


@click.command()
@click.argument("request")
@CONTENT
@AT
@click.option("--app", metavar="NAME", help="The application that asks; default: the first.")
@click.option(
    "--as", "form", default="json", show_default=True, metavar="FORMAT", help="json or xml."
)
def show(request: str, content: str, at: str | None, app: str | None, form: str) -> None:
    """Print what an app would get for REQUEST, from the working tree.

    REQUEST is a path and query below the base URL, or the whole URL.
    """
    library.require_format(form)  # before the content is read
    documents = documents_of(content)
    response = library.show(
        interface(), Path(content), documents, request, at=at, app=app, form=form
    )
    click.echo(response.body)
    if response.status != 200:
        click.echo(f"status {response.status}", err=True)
        sys.exit(PROBLEMS)
