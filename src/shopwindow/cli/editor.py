"""`schemas`: what an editor needs to mark mistakes in content while it is written."""

import sys
from pathlib import Path

import click

from shopwindow import library
from shopwindow.cli.steps import CONTENT_DIR, PROBLEMS, interface, print_problems
from shopwindow.content.check.folder import Checked
from shopwindow.editor.vscode import SETTINGS
from shopwindow.problems import number_of


@click.command()
@click.option(
    "--editor",
    required=True,
    metavar="vscode|DIR",
    help="vscode: schemas and settings below .vscode; DIR: the schemas alone, for any editor.",
)
@CONTENT_DIR
def schemas(editor: str, content: str) -> None:
    """Write schemas that a YAML language server understands.

    They know the folder's collections and its own schemas. What settings.json says of
    other things stays. In DIR, associations.json says which files each schema is for.
    """
    written, problems = library.editor_schemas(interface(), Path(content), editor)
    if problems:
        print_problems(Checked(None, problems), Path(content), "text")
        sys.exit(PROBLEMS)
    where = SETTINGS if editor == "vscode" else editor
    click.echo(f"{where}: {number_of(len(written), 'file')} written")
