"""`preview`: pages over the content folder, for editors."""

import tempfile
from functools import partial
from pathlib import Path

import click

from shopwindow.cli.options import CONTENT_DIR, OUT, PATH, interface
from shopwindow.problems import Failure, Misuse


@click.command()
@CONTENT_DIR
@OUT
@click.option(
    "--bind",
    default="127.0.0.1:4000",
    metavar="ADDRESS:PORT",
    help="Where the pages are. One that others reach is printed with a secret, without which it shows nothing.",
)
@click.option(
    "--allow-host",
    "forwarded",
    metavar="NAME",
    help="Answer at this forwarded address, too, such as a codespace's. Who may open it sees all, and may write fixes.",
)
@click.option(
    "--export",
    "exported",
    type=PATH,
    metavar="DIR",
    help="Only write Problems, Compare and Calendar into DIR, as files for a pull request.",
)
@click.option(
    "--against",
    default="",
    show_default=False,
    metavar="REV",
    help="Compare with this git revision instead of the current release.",
)
def preview(
    content: Path,
    out: Path,
    bind: str,
    forwarded: str | None,
    exported: Path | None,
    against: str,
) -> None:
    """Show the content folder in a browser, and every change as soon as it is saved.

    Nothing is built or sent anywhere. Nothing is written, except a fix in the content
    folder whose change you have seen, and on loopback alone, which --allow-host may
    forward.
    """
    from shopwindow.cli.steps import cache_of
    from shopwindow.preview import server
    from shopwindow.preview.export import export
    from shopwindow.preview.workspace import Workspace
    from shopwindow.service.settings import address

    if not content.is_dir():
        raise Misuse("content", f"{content}: there is no such folder")

    if forwarded and "/" in forwarded:
        wanted = "the name alone, as in a Host header, such as shop-4000.app.github.dev"
        raise Misuse("allow-host", f"{forwarded}: {wanted}")
    # What can be made again goes to the user's cache, else to a new folder.
    cache = cache_of(content) or Path(tempfile.mkdtemp(prefix="shopwindow-"))
    workspace = partial(Workspace, interface(), content, out, cache, against)
    if exported is not None:
        _require_outside(content, exported)
        checked = workspace()
        try:
            for path in export(checked, exported):
                click.echo(path)
        except OSError as error:
            raise Failure(f"{exported} cannot be written: {error.strerror}") from None
        return

    def ready(address: str) -> None:
        click.echo(f"{content}: {address} (Ctrl-C ends it)")

    name = forwarded.lower() if forwarded else None
    try:
        place = address("--bind", bind)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    server.run(workspace, place, ready, name)


def _require_outside(content: Path, folder: Path) -> None:
    """Raise Misuse where pages cannot be written into a folder."""
    if folder.absolute().is_relative_to(content.absolute()):
        lies_within = f"{folder} lies within --content {content}"
        raise Misuse("export", f"{lies_within}, whose every file is content")
    if folder.exists() and not folder.is_dir():
        raise Misuse("export", f"{folder} is a file, and no folder")
