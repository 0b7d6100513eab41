"""`init`: how a content repository begins."""

import shlex
from pathlib import Path

import click

from shopwindow import library
from shopwindow.cli.steps import interface
from shopwindow.starter.begin import PIPELINES, STARTS, Beginning
from shopwindow.starter.locked import wheel_of


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "start",
    type=click.Choice(STARTS),
    default=STARTS[0],
    show_default=True,
    help="The content to start from: one document of each sort, or a whole department store.",
)
@click.option(
    "--ci",
    "pipeline",
    type=click.Choice(list(PIPELINES)),
    help="Also a pipeline that checks and builds every change.",
)
@click.option(
    "--wheel",
    metavar="URL#sha256=…",
    help="Where the program's wheel is, and its hash; for requirements.txt.",
)
def init(folder: Path, start: str, pipeline: str | None, wheel: str | None) -> None:
    """Write a new content repository to DIR.

    Content goes to DIR/content; releases will go to DIR/dist. In DIR, no command needs an
    option. Where DIR holds something that would be written, nothing is.
    """
    beginning = Beginning(start, pipeline, wheel=wheel_of(wheel) if wheel else None)
    files = library.start(interface(), folder, beginning)
    click.echo(f"{folder}: {len(files)} files written")
    if folder.resolve() != Path.cwd():
        click.echo(f"  cd {shlex.quote(str(folder))}")
    click.echo("  shopwindow check")
    click.echo("  shopwindow build")
