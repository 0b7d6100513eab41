"""`mail`: sends the mails of the outbox, and looks after those that could not be sent."""

import os
import signal
import sys
import threading
from pathlib import Path

import click
import orjson

from shopwindow.cli import audit
from shopwindow.cli.database import opened, require
from shopwindow.cli.steps import DATABASE_URL, TEMPLATES_DIR, interface
from shopwindow.interface.outbox import OUTBOX
from shopwindow.problems import Failure
from shopwindow.service.letters import Letters
from shopwindow.service.mail import Senders
from shopwindow.service.smtp import smtp_server


@click.command()
@DATABASE_URL
@TEMPLATES_DIR
@click.option("--once", is_flag=True, help="Send the mails that are due, and end.")
@click.option(
    "--list-dead",
    is_flag=True,
    help="Send nothing; print each dead-lettered mail, and why it was given up, as a line of "
    "JSON.",
)
@click.option(
    "--retry-dead",
    multiple=True,
    metavar="ID|all",
    help="Send nothing; put a dead-lettered mail, or all of them, back among those that are "
    "due; repeatable.",
)
def mail(
    database: str,
    templates: str,
    once: bool,
    list_dead: bool,
    retry_dead: tuple[str, ...],
) -> None:
    """Send the mails of the outbox until SIGTERM.

    Several of these may run: they share the work. Environment variables name the mail
    server: SHOPWINDOW_SMTP_HOST, SHOPWINDOW_SMTP_PORT, SHOPWINDOW_SMTP_TLS (starttls,
    implicit or none), SHOPWINDOW_SMTP_USER, SHOPWINDOW_SMTP_PASSWORD and
    SHOPWINDOW_SMTP_CA.
    """
    if not (retry_dead or list_dead):
        _send(database, templates, once=once)
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
            for letter in data.read(lambda tables: tables[OUTBOX].dead()):
                sys.stdout.buffer.write(orjson.dumps(letter) + b"\n")
            audit.record("mail --list-dead")


def _send(database: str, templates: str, *, once: bool) -> None:
    server = smtp_server(os.environ)
    if server is None:
        raise Failure("SHOPWINDOW_SMTP_HOST is not set: it names the mail server")
    letters = Letters(interface(), [Path(templates)])
    with opened(database) as data:
        require(data, OUTBOX)
        senders = Senders(data, server, letters)
        if not once:
            _send_until_stopped(senders)
        elif not senders.send_what_is_due():
            raise Failure(
                "what is due was not sent; `shopwindow mail` tries again later"
            )


def _send_until_stopped(senders: Senders) -> None:
    """Send until a signal comes; what a sender has begun it ends first."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    senders.start()
    stopped.wait()
    senders.stop()
