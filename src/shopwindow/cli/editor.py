"""`schemas`: what an editor needs to mark mistakes in content while it is written, and
what a generator of clients needs.
"""

import json
import sys
from pathlib import Path

import click

from shopwindow import library
from shopwindow.cli import PROBLEMS
from shopwindow.cli.options import CONTENT_DIR, OUT, interface
from shopwindow.problems import number_of


@click.command()
@click.option(
    "--editor",
    metavar="vscode|DIR",
    help="vscode: schemas and settings below .vscode; DIR: the schemas alone, for any editor.",
)
@click.option(
    "--openapi",
    is_flag=True,
    help="Print the interface as an OpenAPI 3.1 document, with examples from the current release.",
)
@CONTENT_DIR
@OUT
def schemas(editor: str | None, openapi: bool, content: Path, out: Path) -> None:
    """Write schemas that a YAML language server understands; or the OpenAPI document
    that generators of clients take.

    The schemas know the folder's collections and its own schemas. What settings.json
    says of other things stays. In DIR, associations.json says which files each schema
    is for.
    """
    if openapi == bool(editor):
        raise click.UsageError("say --editor vscode, --editor DIR, or --openapi")
    if not editor:
        document = library.openapi_document(interface(), content, out)
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
        return
    from shopwindow.editor.vscode import SETTINGS

    written, problems = library.editor_schemas(interface(), content, editor)
    if problems:
        from shopwindow.cli.steps import print_problems
        from shopwindow.content.check.folder import Checked

        print_problems(Checked(None, problems), content, "text")
        sys.exit(PROBLEMS)
    where = SETTINGS if editor == "vscode" else editor
    click.echo(f"{where}: {number_of(len(written), 'file')} written")
