"""`mail`."""

import os
import signal
import sys
import threading
from pathlib import Path

import click
import orjson

from shopwindow.cli import audit
from shopwindow.cli.database import database_option, opened, require, templates_option
from shopwindow.cli.steps import interface
from shopwindow.interface.outbox import OUTBOX
from shopwindow.problems import Failure
from shopwindow.service.letters import Letters
from shopwindow.service.mail import Patience, Senders
from shopwindow.service.smtp import smtp_server


@click.command()
@database_option
@templates_option
@click.option(
    "--connections",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="To the mail server.",
)
@click.option(
    "--lease",
    type=click.FloatRange(1, 86400),
    default=900,
    show_default=True,
    metavar="SECONDS",
    help="After this long another sender takes what one that was killed had begun.",
)
@click.option("--once", is_flag=True, help="Send what is due, and end.")
@click.option(
    "--list-dead",
    is_flag=True,
    help="Print the mails that were given up, a line of JSON each, and why.",
)
@click.option(
    "--retry-dead",
    multiple=True,
    metavar="ID|all",
    help="Try mails again that were given up; repeatable.",
)
def mail(
    database: str,
    templates: str,
    connections: int,
    lease: float,
    once: bool,
    list_dead: bool,
    retry_dead: tuple[str, ...],
) -> None:
    """Send the mails of the outbox until SIGTERM; several senders share the work.

    The server is named by SHOPWINDOW_SMTP_HOST, and SHOPWINDOW_SMTP_PORT, _TLS (starttls,
    implicit or none), _USER, _PASSWORD and _CA.
    """
    if not (retry_dead or list_dead):
        _send(database, templates, connections, lease, once=once)
        return
    with opened(database) as data:
        require(data, OUTBOX)
        if retry_dead:
            ids = None if "all" in retry_dead else retry_dead
            now = data.now()
            number = data.write(lambda tables: tables[OUTBOX].retry(ids, now))
            audit.record("mail --retry-dead", mails=number)
            click.echo(f"{number} to be tried again")
        else:
            for each in data.read(lambda tables: tables[OUTBOX].dead()):
                sys.stdout.buffer.write(orjson.dumps(each) + b"\n")
            audit.record("mail --list-dead")


def _send(database: str, templates: str, connections: int, lease: float, *, once: bool) -> None:
    server = smtp_server(os.environ)
    if server is None:
        raise Failure("SHOPWINDOW_SMTP_HOST is not set: it names the mail server")
    letters = Letters(interface(), [Path(templates)])
    with opened(database) as data:
        require(data, OUTBOX)
        senders = Senders(data, server, letters, connections, Patience(lease=lease))
        if not once:
            _until_told(senders)
        elif not senders.send_what_is_due():
            raise Failure("what is due was not sent; `shopwindow mail` tries again later")


def _until_told(senders: Senders) -> None:
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    senders.start()
    ended.wait()
    senders.stop()
