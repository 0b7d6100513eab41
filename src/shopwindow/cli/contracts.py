"""`contract`: what versions of an application read."""

import click

from shopwindow import library
from shopwindow.cli.steps import AT, CONTENT_DIR, opened


@click.group()
def contract() -> None:
    """Record what a version of an app reads, so that no content breaks it."""


@contract.command()
@click.argument("requests", metavar="REQUEST...", nargs=-1, required=True)
@click.option("--app", required=True, metavar="NAME", help="The application.")
@click.option(
    "--version", required=True, metavar="VERSION", help="Its version, a supported one."
)
@CONTENT_DIR
@AT
def record(
    requests: tuple[str, ...], app: str, version: str, content: str, at: str | None
) -> None:
    """Write a first contract of an app's version to contracts/<app>-<version>.yaml.

    Each REQUEST is a path and query below the base URL, as `shopwindow show` takes it.
    It is answered from the content, and every value of the answer becomes a field.
    Delete those that the app does not read. A file that is there is never replaced.

    Exit status 0; 1: the content has problems; 2: wrong use, such as a request that
    writes; 4: the file is there already.
    """
    path = library.record_contract(opened(content), app, version, requests, at=at)
    click.echo(path)
    click.echo("delete what the app does not read, then: shopwindow check")
