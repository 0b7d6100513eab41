"""`init` and `new`: how a content repository begins, and a document."""

import shlex
from pathlib import Path

import click

from shopwindow import library
from shopwindow.cli.steps import CONTENT_DIR, interface, memory_of
from shopwindow.problems import number_of
from shopwindow.starter.begin import EDITORS, PIPELINES, STARTS, Beginning
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
    "--editor",
    type=click.Choice(EDITORS),
    help="Also schemas, settings and tasks for an editor.",
)
@click.option(
    "--wheel",
    metavar="URL#sha256=…",
    help="Where the program's wheel is, and its hash; for requirements.txt.",
)
def init(
    folder: Path,
    start: str,
    pipeline: str | None,
    editor: str | None,
    wheel: str | None,
) -> None:
    """Write a new content repository to DIR.

    Content goes to DIR/content; releases will go to DIR/dist. In DIR, no command needs
    an option. Where DIR holds something that would be written, nothing is.
    """
    beginning = Beginning(start, pipeline, editor, wheel_of(wheel) if wheel else None)
    files = library.start(interface(), folder, beginning)
    click.echo(f"{folder}: {number_of(len(files), 'file')} written")
    if folder.resolve() != Path.cwd():
        click.echo(f"  cd {shlex.quote(str(folder))}")
    click.echo("  shopwindow check")
    click.echo("  shopwindow build")
    click.echo("  shopwindow preview")


@click.command()
@click.argument("kind")
@click.argument("name", required=False)
@CONTENT_DIR
def new(kind: str, name: str | None, content: str) -> None:
    """Write a commented skeleton of a KIND into a file of its own.

    KIND is event, store, promotion, app, or any other kind of the content folder. The
    id is the highest of the kind and one more; NAME is what people call the document,
    and goes into it and into the name of its file, <folder>/<id>-<name>.yaml.

    Where ids are no numbers that can be counted on, NAME is the id, and has to be
    given: the name of an app, the bar code of an inventory, the product that a
    recommendation is for.
    """
    path = library.new(
        interface(), Path(content), kind, name, memory=memory_of(content)
    )
    click.echo(path)
