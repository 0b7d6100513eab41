"""`serve`."""

import os
from pathlib import Path

import click

from shopwindow.cli.database import DATABASE, log_dir_option, templates_option
from shopwindow.cli.steps import Setting
from shopwindow.interface.loading import DEFAULT as DEFAULT_INTERFACE
from shopwindow.interface.loading import VARIABLE
from shopwindow.interface.secret import SECRET, read_secret
from shopwindow.problems import Failure
from shopwindow.service import server
from shopwindow.service.processors import processors


@click.command()
@click.option(
    "--out",
    default="dist",
    show_default=True,
    metavar="DIR",
    envvar="SHOPWINDOW_OUT",
    show_envvar=True,
)
@click.option(
    "--bind",
    default="127.0.0.1:8000",
    show_default=True,
    metavar="HOST:PORT",
    envvar="SHOPWINDOW_BIND",
    show_envvar=True,
)
@click.option(
    "--admin",
    cls=Setting,
    default="127.0.0.1:8001",
    show_default=True,
    metavar="HOST:PORT",
    envvar="SHOPWINDOW_ADMIN",
    show_envvar=True,
    help="Where /healthz, /readyz and /metrics are; empty: nowhere.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    envvar="SHOPWINDOW_WORKERS",
    show_envvar=True,
    help="Processes; by default as many as the processors that the service may use, by its cgroup's quota, too.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 256),
    default=32,
    show_default=True,
    metavar="N",
    envvar="SHOPWINDOW_THREADS",
    show_envvar=True,
    help="Of a worker, at most. A write waits in one; what waits together is brought to the disk together.",
)
@click.option(
    "--memo",
    type=click.IntRange(0, 4096),
    default=32,
    show_default=True,
    metavar="MIB",
    envvar="SHOPWINDOW_MEMO",
    show_envvar=True,
    help="Memory of a worker for answers that it has given; 0: none.",
)
@click.option(
    "--database",
    cls=Setting,
    default=DATABASE,
    show_default=True,
    metavar="URL",
    envvar="SHOPWINDOW_DATABASE",
    show_envvar=True,
    help="Where writes are kept: sqlite:///PATH or postgresql://…; empty: nowhere, and writes are refused.",
)
@click.option(
    "--connections",
    type=click.IntRange(1, 1000),
    default=16,
    show_default=True,
    metavar="N",
    envvar="SHOPWINDOW_CONNECTIONS",
    show_envvar=True,
    help="Of a worker to PostgreSQL, at most.",
)
@log_dir_option
@click.option(
    "--mail/--no-mail",
    default=True,
    show_default=True,
    envvar="SHOPWINDOW_MAIL",
    show_envvar=True,
    help="Send shared promotions, where SHOPWINDOW_SMTP_HOST names a mail server (see `shopwindow mail`).",
)
@templates_option
@click.option(
    "--pin/--no-pin",
    default=False,
    show_default=True,
    envvar="SHOPWINDOW_PIN",
    show_envvar=True,
    help="Keep each worker on a processor of its own: for a machine that does little else.",
)
@click.option(
    "--http",
    type=click.Choice(["1", "2", "auto"]),
    default="1",
    show_default=True,
    envvar="SHOPWINDOW_HTTP",
    show_envvar=True,
    help="Versions of HTTP; auto: both. With auto or 2, only a proxy in front closes connections that stay silent.",
)
@click.option(
    "--clients",
    type=click.IntRange(1, 65536),
    default=4096,
    show_default=True,
    metavar="N",
    envvar="SHOPWINDOW_CLIENTS",
    show_envvar=True,
    help="Connections that a worker keeps open, at most; further ones wait. Each takes an open file and some memory.",
)
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
    pin: bool,
    http: str,
    clients: int,
) -> None:
    """Answer requests from the current release, following activations, until SIGTERM."""

    os.environ[VARIABLE] = click.get_current_context().meta.get(
        VARIABLE, DEFAULT_INTERFACE
    )  # the workers read it
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
        )
        server.serve(options)
    except ModuleNotFoundError as error:
        install = "install shopwindow with the extra serve, as the README says"
        raise Failure(
            f"{error.name} is not installed, and the service needs it: {install}"
        ) from None
