"""`key` and `edge`: keys, and what stands in front of the files."""

import click

from vitrine.cli.steps import (
    CONTENT,
    OUT,
    checked_of,
    schemas_of,
)


@click.group()
def key() -> None:
    """API keys."""


@key.command("new")
@click.argument("app")
@CONTENT
def new_key(app: str, content: str) -> None:
    """Make an API key for the application APP. It is printed once; content holds only its digest."""
    import secrets
    import string
    from hashlib import sha256

    from vitrine.content.check import Options
    from vitrine.problems import nearest

    checked = checked_of(content, Options())
    names = [document.value["name"] for document in checked.documents.app] if checked.documents else None
    if names is None:  # as it is while an application's first key is lacking
        words = f"the content has problems (`vitrine check`), so nobody looked whether {app!r} is an application"
        click.echo(f"vitrine: {words}", err=True)
    elif app not in names:
        close = nearest(app, names)
        known = ", ".join(names)
        raise click.UsageError(f"{app!r}: the applications are {known}" + f"; did you mean {close}?" * bool(close))
    made = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(24))
    click.echo(f"{app} {made}")
    click.echo(
        "give the key to the app and to the edge's keys file; add its digest to apiKeys in the content:", err=True
    )
    click.echo(f"  - {sha256(made.encode()).hexdigest()}", err=True)


@click.group()
def edge() -> None:
    """What stands in front of the files."""


@edge.command("nginx")
@CONTENT
@OUT
@click.option("--keys", required=True, metavar="FILE", help="A line `<application> <key>` each; kept out of git.")
@click.option(
    "--service", default="127.0.0.1:8000", show_default=True, metavar="HOST:PORT", help="What answers the rest."
)
@click.option("--listen", default="80", show_default=True, metavar="ADDRESS", help="Where nginx listens.")
def edge_nginx(content: str, out: str, keys: str, service: str, listen: str) -> None:
    """Print nginx's configuration for the current release (for its http context).

    Templates and schemas of the content folder, where it is there, come before the program's own.
    """
    from pathlib import Path

    from vitrine.content.listing import shipped
    from vitrine.edge.nginx import configuration, read_keys
    from vitrine.edge.rules import rules
    from vitrine.problems import Failure
    from vitrine.release.changes import content_of
    from vitrine.release.publish import Releases

    releases = Releases(Path(out))
    live = content_of(releases.path(releases.find("current")))
    try:
        known, warnings = read_keys(Path(keys).read_text(encoding="utf-8-sig"), live)
    except (OSError, ValueError) as error:
        raise Failure(f"{keys}: {error}") from None
    for warning in warnings:
        click.echo(f"vitrine: {keys}: {warning}", err=True)
    templates = [Path(content) / "templates", shipped("templates")]
    files = releases.link.absolute() / "files"
    try:
        printed = configuration(rules(live, schemas_of(content)), known, files, service, listen, templates)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    click.echo(printed, nl=False)


@edge.command("openapi")
@CONTENT
@OUT
def edge_openapi(content: str, out: str) -> None:
    """Print the interface as an OpenAPI 3.1 document, with examples from the current release.

    Schemas of the content folder, where it is there, come before the program's own.
    """
    import json
    from pathlib import Path

    from vitrine.edge.openapi import document
    from vitrine.release.changes import content_of
    from vitrine.release.publish import Releases

    releases = Releases(Path(out))
    live = content_of(releases.path(releases.find("current")))
    click.echo(json.dumps(document(live, schemas_of(content)), indent=1, ensure_ascii=False))
