"""Mails put into an outbox, and the senders that take them out."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from engines import Engine
from harness.program import Database
from mailserver import MailServer
from nginx import ADDRESS
from served import environment
from shopwindow.interface.outbox import OUTBOX
from shopwindow.interface.table import Tables
from shopwindow.service.letters import Letters
from shopwindow.service.mail import Patience, Senders
from shopwindow.service.smtp import SmtpServer
from shopwindow.shop import INTERFACE
from test_share import DOCUMENT

QUICK = Patience(lease=20, first=0.05, longest=0.2, deferred=4, poll=0.05, outage=0.2)


def promise(database: Database, *recipients: str) -> None:
    """Put mails into the outbox, in one transaction. They have been due for a while, whosever clock is asked."""
    due = datetime.now(UTC) - timedelta(seconds=10)

    def add(shop: Tables) -> None:
        for recipient in recipients:
            shop[OUTBOX].add(os.urandom(16).hex(), "share", recipient, DOCUMENT, due)

    database.write(add)


def counts(database: Database) -> dict[str, int]:
    return {name: number for name, number in database.read(lambda shop: shop[OUTBOX].counts()).items() if number}


@contextmanager
def sending(database: Database, server: SmtpServer, patience: Patience = QUICK, threads: int = 2) -> Iterator[Senders]:
    senders = Senders(database, server, Letters(INTERFACE), threads, patience)
    senders.start()
    try:
        yield senders
    finally:
        senders.stop()


def plain(server: MailServer) -> SmtpServer:
    return SmtpServer(ADDRESS, server.port, "none")


def command(*more: str) -> list[str]:
    return [sys.executable, "-m", "shopwindow", "mail", *more]


def surroundings(engine: Engine, server: MailServer) -> dict[str, str]:
    smtp = {"SHOPWINDOW_SMTP_HOST": ADDRESS, "SHOPWINDOW_SMTP_PORT": str(server.port), "SHOPWINDOW_SMTP_TLS": "none"}
    return environment(SHOPWINDOW_DATABASE=engine.url, **smtp)
