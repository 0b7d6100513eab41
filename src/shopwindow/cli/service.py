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
    hand_on_interface,
    setting,
)
from shopwindow.interface.secret import SECRET, read_secret
from shopwindow.problems import Failure
from shopwindow.release.releases import Releases
from shopwindow.service import server
from shopwindow.service.processors import processors

FACTORY = "shopwindow.wsgi:make"
"""What each worker makes its WSGI callable with."""


@click.command()
@setting(
    "--out",
    default="dist",
    metavar="DIR",
    help="The output directory, whose current release is served.",
)
@setting(
    "--bind",
    default="127.0.0.1:8000",
    metavar="HOST:PORT",
    help="The address that requests come to.",
)
@setting(
    "--admin",
    may_be_empty=True,
    default="127.0.0.1:8001",
    metavar="HOST:PORT",
    help="The address of /healthz, /readyz and /metrics; empty: there is none.",
)
@setting(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    help="How many processes answer; default: one for each processor that this process and its "
    "cgroup may use.",
)
@setting(
    "--threads",
    type=click.IntRange(1, 256),
    default=32,
    metavar="N",
    help="How many requests a worker handles at once. Writes that wait at the same time are "
    "written to the disk together.",
)
@setting(
    "--database",
    may_be_empty=True,
    default=DEFAULT_DATABASE,
    metavar="URL",
    help="The database that writes go to: sqlite:///PATH or postgresql://…; empty: there is "
    "none, and writes are refused.",
)
@LOG_DIR
@setting(
    "--mail/--no-mail",
    default=True,
    help="Also send the mails of the outbox, where SHOPWINDOW_SMTP_HOST names a mail server "
    "(see `shopwindow mail`).",
)
@TEMPLATES_DIR
@setting(
    "--docs/--no-docs",
    default=True,
    help="Answer /openapi.json and /docs, which describe the interface and need no API key.",
)
@setting(
    "--pin/--no-pin",
    default=False,
    help="Keep each worker on a processor of its own; for a machine that does little else.",
)
@setting(
    "--http",
    type=click.Choice(["1", "2", "auto"]),
    default="1",
    help="The version of HTTP; auto: both. With 2 or auto the service itself closes no silent "
    "connections, so a proxy must stand in front.",
)
@setting(
    "--clients",
    type=click.IntRange(1, 65536),
    default=4096,
    metavar="N",
    help="How many connections a worker keeps open at most; others wait. Each takes an open "
    "file and some memory.",
)
@setting(
    "--from",
    "source",
    may_be_empty=True,
    default="",
    metavar="SOURCE",
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
    database: str,
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
            database,
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
        install = (
            "install shopwindow with the extra serve (in a checkout: "
            "pip install -e '.[serve]')"
        )
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
