"""`serve`."""

import click

from vitrine.cli.steps import Setting
from vitrine.cli.store import DATABASE, log_dir_option, templates_option


@click.command()
@click.option("--out", default="dist", show_default=True, metavar="DIR", envvar="VITRINE_OUT", show_envvar=True)
@click.option(
    "--bind", default="127.0.0.1:8000", show_default=True, metavar="HOST:PORT", envvar="VITRINE_BIND", show_envvar=True
)
@click.option(
    "--admin",
    cls=Setting,
    default="127.0.0.1:8001",
    show_default=True,
    metavar="HOST:PORT",
    envvar="VITRINE_ADMIN",
    show_envvar=True,
    help="Where /healthz, /readyz and /metrics are; empty: nowhere.",
)
@click.option(
    "--workers", type=click.IntRange(1, 256), metavar="N", envvar="VITRINE_WORKERS", show_envvar=True, help="Processes."
)
@click.option(
    "--threads",
    type=click.IntRange(1, 256),
    default=32,
    show_default=True,
    metavar="N",
    envvar="VITRINE_THREADS",
    show_envvar=True,
    help="Of a worker, at most. A write waits in one; what waits together is brought to the disk together.",
)
@click.option(
    "--memo",
    type=click.IntRange(0, 4096),
    default=32,
    show_default=True,
    metavar="MIB",
    envvar="VITRINE_MEMO",
    show_envvar=True,
    help="Memory of a worker for answers that it has given; 0: none.",
)
@click.option(
    "--database",
    cls=Setting,
    default=DATABASE,
    show_default=True,
    metavar="URL",
    envvar="VITRINE_DATABASE",
    show_envvar=True,
    help="Where writes are kept: sqlite:///PATH or postgresql://…; empty: nowhere, and writes are refused.",
)
@click.option(
    "--connections",
    type=click.IntRange(1, 1000),
    default=16,
    show_default=True,
    metavar="N",
    envvar="VITRINE_CONNECTIONS",
    show_envvar=True,
    help="Of a worker to PostgreSQL, at most.",
)
@log_dir_option
@click.option(
    "--mail/--no-mail",
    default=True,
    show_default=True,
    envvar="VITRINE_MAIL",
    show_envvar=True,
    help="Send shared promotions, where VITRINE_SMTP_HOST names a mail server (see `vitrine mail`).",
)
@templates_option
@click.option(
    "--pin/--no-pin",
    default=False,
    show_default=True,
    envvar="VITRINE_PIN",
    show_envvar=True,
    help="Keep each worker on a processor of its own: for a machine that does little else.",
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
) -> None:
    """Answer requests from the current release, following switches, until SIGTERM."""
    import os
    from pathlib import Path

    from vitrine.content.processes import processors
    from vitrine.interface.codes import SECRET, read_secret
    from vitrine.problems import Failure
    from vitrine.service import server

    try:
        addresses = server.address(bind), server.address(admin) if admin else None
        if os.environ.get(SECRET):
            read_secret(os.environ[SECRET])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    try:
        options = server.Options(
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
        )
        server.serve(options)
    except ModuleNotFoundError as error:
        raise Failure(f"{error.name} is not installed; the service needs `pip install 'vitrine[serve]'`") from None
