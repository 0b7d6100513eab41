"""`edge`: the configuration of what serves the files."""

import json
from pathlib import Path

import click

from shopwindow import library
from shopwindow.cli.steps import CONTENT_DIR, OUT, interface
from shopwindow.edge.nginx import NGINX_TEMPLATE, EdgeLimits
from shopwindow.edge.printing import OWNERS_MODE, PUBLIC_MODE, write


@click.group()
def edge() -> None:
    """Print the configuration of what serves the files."""


EDGE_TEMPLATES = click.option(
    "--templates",
    metavar="DIR",
    help="A folder of yours whose template is used instead of the program's own: "
    "nginx.conf or worker.js. One in the content is never used.",
)


@edge.command("nginx")
@CONTENT_DIR
@OUT
@click.option(
    "--keys",
    metavar="FILE",
    help="A file with a line `<application> <key>` for each API key; keep it out of git. "
    "Needed unless the interface asks for no keys.",
)
@click.option(
    "--service",
    default="127.0.0.1:8000",
    show_default=True,
    metavar="HOST:PORT",
    help="The address of `shopwindow serve`, which answers what no file does.",
)
@click.option(
    "--listen",
    default="80",
    show_default=True,
    metavar="ADDRESS",
    help="The address and parameters of nginx's `listen`.",
)
@click.option(
    "--rate",
    type=click.IntRange(0, 100_000),
    default=50,
    show_default=True,
    metavar="N",
    help="Requests a second that one client may send to the service; 0: no limit. Requests for "
    "files are not counted.",
)
@click.option(
    "--burst",
    type=click.IntRange(0, 100_000),
    default=200,
    show_default=True,
    metavar="N",
    help="How many requests above the rate are let through at once.",
)
@click.option(
    "--requests",
    type=click.IntRange(0, 65_535),
    default=64,
    show_default=True,
    metavar="N",
    help="Requests of one client that the service handles at the same time; 0: no limit.",
)
@EDGE_TEMPLATES
@click.option(
    "--write",
    "target",
    metavar="FILE",
    help="Replace this file, which only its owner can read; without this option the "
    "configuration is printed.",
)
def edge_nginx(
    content: str,
    out: str,
    keys: str | None,
    service: str,
    listen: str,
    rate: int,
    burst: int,
    requests: int,
    templates: str | None,
    target: str | None,
) -> None:
    """Print nginx's configuration for the current release, or write it to a file.

    It belongs into nginx's http context, such as conf.d/. It holds API keys: use
    --write, or make sure that nobody else can read what it is printed to.
    """
    own = Path(content) / "templates" / NGINX_TEMPLATE
    if own.exists() and not templates:
        from_option = "a template for nginx comes from --templates DIR alone"
        click.echo(f"shopwindow: {own} is not used: {from_option}", err=True)
    text, warnings = library.nginx_configuration(
        interface(),
        Path(content),
        Path(out),
        Path(keys) if keys else None,
        service=service,
        listen=listen,
        limits=EdgeLimits(rate, burst, requests),
        templates=Path(templates) if templates else None,
    )
    for warning in warnings:
        click.echo(f"shopwindow: {keys}: {warning}", err=True)
    if _printed("nginx", text, out, target, OWNERS_MODE):
        return
    click.echo(f"{target}: written; nginx takes it with `nginx -t && nginx -s reload`")


@edge.command("worker")
@CONTENT_DIR
@OUT
@EDGE_TEMPLATES
@click.option(
    "--write",
    "target",
    metavar="FILE",
    help="Replace this file; without this option the worker is printed.",
)
def edge_worker(
    content: str, out: str, templates: str | None, target: str | None
) -> None:
    """Print a JavaScript worker for the current release, or write it to a file.

    It runs on Cloudflare's Workers and in workerd, and holds digests of API keys only.
    """
    text = library.worker_module(
        interface(),
        Path(content),
        Path(out),
        templates=Path(templates) if templates else None,
    )
    if _printed("worker", text, out, target, PUBLIC_MODE):
        return
    click.echo(f"{target}: written; Cloudflare takes it with `wrangler deploy`")


def _printed(edge: str, text: str, out: str, target: str | None, mode: int) -> bool:
    """Print a configuration, or write it to the file ``target``; return whether it was
    printed.
    """
    if target is None:
        click.echo(text, nl=False)
    else:
        write(Path(target), text, mode)
    library.edge_configured(Path(out), edge, Path(target) if target else None)
    return target is None


@edge.command("openapi")
@CONTENT_DIR
@OUT
def edge_openapi(content: str, out: str) -> None:
    """Print the interface as an OpenAPI 3.1 document, with examples from the current
    release.

    Where --content has schemas, they come before the program's own.
    """
    document = library.openapi_document(interface(), Path(content), Path(out))
    click.echo(json.dumps(document, indent=1, ensure_ascii=False))
