"""`edge`: the configuration of what serves the files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from shopwindow import library
from shopwindow.cli import aside
from shopwindow.cli.options import CONTENT_DIR, OUT, PATH, interface
from shopwindow.problems import Misuse


@click.command()
@click.argument("kind", type=click.Choice(["nginx", "worker"]))
@CONTENT_DIR
@OUT
@click.option(
    "--api-keys",
    type=PATH,
    metavar="FILE",
    help="A file with a line `<application> <key>` for each API key; keep it out of git. "
    "Needed unless the interface asks for no keys.",
)
@click.option(
    "--service",
    default="127.0.0.1:8000",
    metavar="HOST:PORT",
    help="The address of `shopwindow serve`, which answers what no file does.",
)
@click.option(
    "--listen",
    default="80",
    metavar="ADDRESS",
    help="The address and parameters of nginx's `listen`.",
)
@click.option(
    "--rate",
    type=click.IntRange(0, 100_000),
    default=50,
    metavar="N",
    help="Requests a second that one client may send to the service; 0: no limit. Requests for "
    "files are not counted.",
)
@click.option(
    "--burst",
    type=click.IntRange(0, 100_000),
    default=200,
    metavar="N",
    help="How many requests above the rate are let through at once.",
)
@click.option(
    "--requests",
    type=click.IntRange(0, 65_535),
    default=64,
    metavar="N",
    help="Requests of one client that the service handles at the same time; 0: no limit.",
)
@click.option(
    "--templates",
    metavar="DIR",
    help="A folder of yours whose template is used instead of the program's own: "
    "nginx.conf or worker.js. One in the content is never used.",
)
@click.option(
    "--write",
    "target",
    type=PATH,
    metavar="FILE",
    help="Replace this file, which for nginx only its owner can read; without this option the "
    "configuration is printed.",
)
def edge(
    kind: str,
    content: Path,
    out: Path,
    api_keys: Path | None,
    templates: str | None,
    target: Path | None,
    **options: Any,
) -> None:
    """Print nginx's configuration for the current release, or a JavaScript worker; or
    write it to a file.

    nginx's belongs into its http context, such as conf.d/. It holds API keys: with --write
    only its owner can read it.

    The worker runs on Cloudflare's Workers and in workerd. It holds digests of API keys
    only, and takes none of nginx's options.
    """
    from shopwindow.edge.nginx import EdgeLimits
    from shopwindow.edge.printing import OWNERS_MODE, PUBLIC_MODE, write

    folder = Path(templates) if templates else None
    where = (interface(), content, out)
    if kind == "nginx":
        _warn_of_unused(content, folder)
        limits = {name: options.pop(name) for name in ("rate", "burst", "requests")}
        text, warnings = library.nginx_configuration(
            *where, api_keys, limits=EdgeLimits(**limits), templates=folder, **options
        )
        for warning in warnings:
            aside(f"shopwindow: {api_keys}: {warning}")
        mode, load = OWNERS_MODE, "nginx takes it with `nginx -t && nginx -s reload`"
    else:
        source_of = click.get_current_context().get_parameter_source
        for name in ("api_keys", *options):
            if source_of(name) is ParameterSource.COMMANDLINE:
                raise Misuse(
                    name.replace("_", "-"), "is of nginx, and a worker has none"
                )
        text = library.worker_module(*where, templates=folder)
        mode, load = PUBLIC_MODE, "Cloudflare takes it with `wrangler deploy`"
    if target is None:
        click.echo(text, nl=False)
    else:
        write(target, text, mode)
        click.echo(f"{target}: written; {load}")
    library.record_edge(out, kind, target)


def _warn_of_unused(content: Path, templates: Path | None) -> None:
    from shopwindow.edge.nginx import NGINX_TEMPLATE

    own = content / "templates" / NGINX_TEMPLATE
    if own.exists() and not templates:
        from_option = "a template for nginx comes from --templates DIR alone"
        aside(f"shopwindow: {own} is not used: {from_option}")
