"""`serve`: the service that answers from the current release."""

import os
import sys
from pathlib import Path

import click

from shopwindow.cli.pulling import EVERY, FLOOR, ROOT_OPTION, opened_source
from shopwindow.cli.steps import (
    DEFAULT_CONTENT,
    DEFAULT_DATABASE,
    LOG_DIR,
    TEMPLATES_DIR,
    Setting,
    hand_on_interface,
)
from shopwindow.interface.secret import SECRET, read_secret
from shopwindow.problems import Failure
from shopwindow.release.publish import Releases
from shopwindow.service import server
from shopwindow.service.processors import processors

FACTORY = "shopwindow.wsgi:make"
"""What each worker makes its WSGI callable with."""


@click.command()
@click.option(
    "--out",
    default="dist",
    show_default=True,
    metavar="DIR",
    envvar="SHOPWINDOW_OUT",
    show_envvar=True,
    help="The output directory, whose current release is served.",
)
@click.option(
    "--bind",
    default="127.0.0.1:8000",
    show_default=True,
    metavar="HOST:PORT",
    envvar="SHOPWINDOW_BIND",
    show_envvar=True,
    help="The address that requests come to.",
)
@click.option(
    "--admin",
    cls=Setting,
    default="127.0.0.1:8001",
    show_default=True,
    metavar="HOST:PORT",
    envvar="SHOPWINDOW_ADMIN",
    show_envvar=True,
    help="The address of /healthz, /readyz and /metrics; empty: there is none.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    envvar="SHOPWINDOW_WORKERS",
    show_envvar=True,
    help="How many processes answer; default: one for each processor that this process and its "
    "cgroup may use.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 256),
    default=32,
    show_default=True,
    metavar="N",
    envvar="SHOPWINDOW_THREADS",
    show_envvar=True,
    help="How many requests a worker handles at once. Writes that wait at the same time are "
    "written to the disk together.",
)
@click.option(
    "--memo",
    type=click.IntRange(0, 4096),
    default=32,
    show_default=True,
    metavar="MIB",
    envvar="SHOPWINDOW_MEMO",
    show_envvar=True,
    help="Memory in which a worker caches responses; 0: none.",
)
@click.option(
    "--database",
    cls=Setting,
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    envvar="SHOPWINDOW_DATABASE",
    show_envvar=True,
    help="The database that writes go to: sqlite:///PATH or postgresql://…; empty: there is "
    "none, and writes are refused.",
)
@click.option(
    "--connections",
    type=click.IntRange(1, 1000),
    default=16,
    show_default=True,
    metavar="N",
    envvar="SHOPWINDOW_CONNECTIONS",
    show_envvar=True,
    help="How many connections to PostgreSQL a worker opens at most.",
)
@LOG_DIR
@click.option(
    "--mail/--no-mail",
    default=True,
    show_default=True,
    envvar="SHOPWINDOW_MAIL",
    show_envvar=True,
    help="Also send the mails of the outbox, where SHOPWINDOW_SMTP_HOST names a mail server "
    "(see `shopwindow mail`).",
)
@TEMPLATES_DIR
@click.option(
    "--docs/--no-docs",
    default=True,
    show_default=True,
    envvar="SHOPWINDOW_DOCS",
    show_envvar=True,
    help="Answer /openapi.json and /docs, which describe the interface and need no API key.",
)
@click.option(
    "--pin/--no-pin",
    default=False,
    show_default=True,
    envvar="SHOPWINDOW_PIN",
    show_envvar=True,
    help="Keep each worker on a processor of its own; for a machine that does little else.",
)
@click.option(
    "--http",
    type=click.Choice(["1", "2", "auto"]),
    default="1",
    show_default=True,
    envvar="SHOPWINDOW_HTTP",
    show_envvar=True,
    help="The version of HTTP; auto: both. With 2 or auto the service itself closes no silent "
    "connections, so a proxy must stand in front.",
)
@click.option(
    "--clients",
    type=click.IntRange(1, 65536),
    default=4096,
    show_default=True,
    metavar="N",
    envvar="SHOPWINDOW_CLIENTS",
    show_envvar=True,
    help="How many connections a worker keeps open at most; others wait. Each takes an open "
    "file and some memory.",
)
@click.option(
    "--from",
    "source",
    cls=Setting,
    default="",
    metavar="SOURCE",
    envvar="SHOPWINDOW_FROM",
    show_envvar=True,
    help="Also do `pull SOURCE --follow`: a target (s3://…, az://…, gs://…, file:///PATH) whose "
    "current release is brought to this host and served.",
)
@ROOT_OPTION
@FLOOR
@EVERY
def serve(
    out: str,
    bind: str,
    admin: str,
    workers: int | None,
    threads: int,
    memo: int,
    database: str,
    connections: int,
    log_dir: str,
    mail: bool,
    templates: str,
    docs: bool,
    pin: bool,
    http: str,
    clients: int,
    source: str,
    root: str,
    floor: int,
    every: float,
) -> None:
    """Answer requests from the current release until SIGTERM.

    A release that becomes the current one meanwhile is served from then on. Writes need
    a database, which `shopwindow migrate` makes.
    """
    hand_on_interface()  # to the workers
    try:
        addresses = server.address(bind), server.address(admin) if admin else None
        if os.environ.get(SECRET):
            read_secret(os.environ[SECRET])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    try:
        options = server.ServiceOptions(
            Path(out),
            *addresses,
            workers or processors(),
            threads,
            memo,
            database,
            connections,
            log_dir,
            mail,
            Path(templates),
            pin,
            http,
            clients,
            _puller(source, out, root, floor, every) if source else (),
            FACTORY,
            docs,
        )
        server.serve(options)
    except ModuleNotFoundError as error:
        install = "install shopwindow with the extra serve, as the README says"
        is_missing = f"{error.name} is not installed, and the service needs it"
        raise Failure(f"{is_missing}: {install}") from None


def _puller(
    source: str, out: str, root: str, floor: int, every: float
) -> tuple[str, ...]:
    """Return the command line of what pulls from a source beside the service.

    Raises Misuse or Failure where the source cannot be meant, before anything starts.
    """
    opened_source(source, Path(DEFAULT_CONTENT), Releases(Path(out)), root, floor)
    command = (sys.executable, "-m", "shopwindow", "pull", source, "--out", out)
    verified = ("--root", root, "--floor", str(floor))
    return (
        *command,
        *verified,
        "--follow",
        "--every",
        str(every),
        "--while-stdin-is-open",
    )
