"""`serve`: the service that answers from the current release."""

import os

import click

from shopwindow.cli.options import (
    DEFAULT_DATABASE,
    LOG_DIR,
    TEMPLATES_DIR,
    interface_name,
    setting,
)


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
    help="How many requests a worker handles at once.",
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
@TEMPLATES_DIR
@setting(
    "--docs/--no-docs",
    default=True,
    help="Answer /openapi.json and /docs, which describe the interface and need no API key.",
)
@click.option(
    "--clients",
    type=click.IntRange(1, 65536),
    default=4096,
    metavar="N",
    help="How many connections a worker keeps open at most; others are closed.",
)
def serve(
    out: str,
    bind: str,
    admin: str,
    workers: int | None,
    threads: int,
    database: str,
    log_dir: str,
    templates: str,
    docs: bool,
    clients: int,
) -> None:
    """Answer requests from the current release until SIGTERM.

    A release that becomes the current one meanwhile is served from then on. The mails
    of the outbox are sent where SHOPWINDOW_SMTP names a mail server.
    """
    from shopwindow.edge import openapi
    from shopwindow.interface.declaring.loading import VARIABLE
    from shopwindow.service.processors import processors
    from shopwindow.service.serve import Processes
    from shopwindow.service.serve import serve as run
    from shopwindow.service.settings import Settings, address

    given = {
        VARIABLE: interface_name(),
        "SHOPWINDOW_OUT": out,
        "SHOPWINDOW_DATABASE": database,
        "SHOPWINDOW_LOG_DIR": log_dir,
        "SHOPWINDOW_TEMPLATES": templates,
        "SHOPWINDOW_DOCS": str(int(docs)),
    }
    try:
        public = address("--bind", bind)
        private = address("--admin", admin) if admin else None
        if private and private[1] == public[1]:
            raise ValueError("--admin must have another port than --bind")
        settings = Settings.from_environ(os.environ | given)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    processes = Processes(
        bind=public,
        admin=private,
        workers=workers or processors(),
        threads=threads,
        clients=clients,
    )
    run(settings, processes, openapi.document)
