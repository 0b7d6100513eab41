"""`init`, `new` and `schemas`: how a content repository begins, a document, a contract, a
key; what an editor needs to mark mistakes while content is written, and what a generator
of clients needs.
"""

import json
import shlex
import sys
from pathlib import Path

import click

from shopwindow import library
from shopwindow.cli import PROBLEMS, aside, audit
from shopwindow.cli.options import AT, CONTENT_DIR, OUT, PATH, interface
from shopwindow.problems import number_of

CONTRACT, API_KEY = "contract", "key"
"""Words in the place of a kind: what is begun, and is no document of an editor."""


@click.command()
@click.argument("folder", metavar="DIR", type=PATH)
@click.option(
    "--from",
    "start",
    metavar="minimal|sample",
    default="minimal",
    help="The content to start from: one document of each sort, or a whole department store.",
)
@click.option(
    "--ci",
    "pipeline",
    metavar="github|gitlab",
    help="Also a pipeline that checks and builds every change.",
)
@click.option(
    "--editor",
    metavar="vscode",
    help="Also schemas, settings and tasks for an editor.",
)
@click.option(
    "--devcontainer",
    is_flag=True,
    help="Also a container, as for GitHub Codespaces, that shows the preview in a browser.",
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
    devcontainer: bool,
    wheel: str | None,
) -> None:
    """Write a new content repository to DIR.

    Content goes to DIR/content; releases will go to DIR/dist. In DIR, no command needs
    an option. Where DIR holds something that would be written, nothing is.
    """
    from shopwindow.starter.begin import Beginning
    from shopwindow.starter.locked import wheel_of

    named = wheel_of(wheel) if wheel else None
    beginning = Beginning(start, pipeline, editor, named, devcontainer)
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
@click.argument("requests", metavar="[REQUEST]...", nargs=-1)
@CONTENT_DIR
@click.option(
    "--version",
    metavar="VERSION",
    help="Of a contract: the app's version, a supported one.",
)
@AT
def new(
    kind: str,
    name: str | None,
    requests: tuple[str, ...],
    content: Path,
    version: str | None,
    at: str | None,
) -> None:
    """Write a commented skeleton of a KIND into a file of its own.

    KIND is event, store, promotion, app, or any other kind of the content folder. The
    id is the highest of the kind and one more; NAME is what people call the document,
    and goes into it and into the name of its file, <folder>/<id>-<name>.yaml.

    Where ids are no numbers that can be counted on, NAME is the id, and has to be
    given, such as the name of an app.

    `new contract APP --version VERSION REQUEST...` writes a first contract of what a
    version of an app reads: every value of the answers to requests as `show` takes
    them. Delete what the app does not read.

    `new key APP` makes an API key of an app, and prints it this once, with its digest.
    The app and the edge's file of keys need the key; the app's apiKeys need the digest.
    """
    from shopwindow.cli.steps import memory_of, opened

    if kind == CONTRACT:
        if not (name and version and requests):
            raise click.UsageError(
                "a contract needs an app, --version and a REQUEST at least"
            )
        path = library.record_contract(opened(content), name, version, requests, at=at)
        click.echo(path)
        click.echo("delete what the app does not read, then: shopwindow check")
    elif version or at or requests:
        raise click.UsageError("--version, --at and REQUEST are of `new contract`")
    elif kind == API_KEY:
        if not name:
            raise click.UsageError("a key needs an app: shopwindow new key APP")
        _print_new_key(name, content)
    else:
        memory = memory_of(content)
        click.echo(library.new(interface(), content, kind, name, memory=memory))


def _print_new_key(app: str, content: Path) -> None:
    made = library.new_key(interface(), content, app)
    if not made.application_checked:
        not_looked_up = f"{app!r} was not looked up among the applications"
        problems = "the content has problems (`shopwindow check`)"
        aside(f"shopwindow: {problems}, so {not_looked_up}")
    audit.record("new key", application=app)
    click.echo(f"{app} {made.key}")
    give = "give the key to the app and to the edge's keys file"
    aside(f"{give}; add its digest to apiKeys in the content:")
    aside(f"  - {made.digest}")


# -- schemas ---------------------------------------------------------------------------


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
