"""Mails put into an outbox, the senders that take them out, and a real SMTP server on loopback."""

import asyncio
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from harness.databases import DOCUMENT, Engine, Letters
from harness.program import Database
from harness.servers import ADDRESS, environment, free_port
from harness.waits import PATIENCE
from shopwindow.interface.declaring.mail import OUTBOX
from shopwindow.interface.declaring.table import Tables
from shopwindow.service.mail.senders import Patience, Sender
from shopwindow.service.mail.smtp import SmtpServer, smtp_server
from shopwindow.shop import INTERFACE

__all__ = ["Patience", "Sender", "SmtpServer", "smtp_server"]  # the room's own doors

# -- a real SMTP server on loopback, which takes mails, refuses, delays and drops them as it is told -------------------


DROP, DROP_AFTER_ACCEPTING = "drop", "drop after accepting"


@dataclass
class MailServer:
    """What came, and what shall come of it: for each recipient the answers to RCPT and to DATA, one an attempt."""

    port: int = 0
    rcpt: dict[str, list[str]] = field(default_factory=dict)
    data: dict[str, list[str]] = field(default_factory=dict)
    mail: list[str] = field(default_factory=list)
    delay: float = 0
    taken: list[tuple[str, bytes]] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    """The recipient of each attempt."""
    changed: threading.Condition = field(default_factory=threading.Condition)

    async def handle_MAIL(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.mail:
            return self.mail.pop(0)
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        self.seen.append(address)
        answers = self.rcpt.get(address)
        if answers:
            return self._answered(server, answers.pop(0))
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.delay:
            await asyncio.sleep(self.delay)
        (recipient,) = envelope.rcpt_tos
        answers = self.data.get(recipient)
        answer = answers.pop(0) if answers else "250 OK"
        if answer.startswith("250") or answer == DROP_AFTER_ACCEPTING:
            assert isinstance(envelope.content, bytes)
            with self.changed:
                self.taken.append((recipient, envelope.content))
                self.changed.notify_all()
        return self._answered(server, answer)

    def _answered(self, server: SMTP, answer: str) -> str:
        if answer.startswith(DROP):
            assert isinstance(server.transport, asyncio.Transport)
            server.transport.abort()
        return answer

    def ids(self) -> Counter[str]:
        """How often each Message-ID came."""
        return Counter(str(message_from_bytes(data)["Message-ID"]) for _, data in self.taken)

    def wait(self, number: int) -> bool:
        """Until so many mails were taken."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self.taken) >= number, PATIENCE)


class _Controller(Controller):
    """aiosmtpd's, which connects to itself to see whether it listens: without TLS, even where that comes first."""

    def _trigger_server(self) -> None:
        socket.create_connection((self.hostname, self.port), PATIENCE).close()


@contextmanager
def mail_server(
    port: int = 0, tls: str = "none", trust: tuple[Path, Path] | None = None, login: tuple[str, str] | None = None
) -> Iterator[MailServer]:
    """A server that listens; ``trust``: its certificate and key."""
    server = MailServer(port or free_port())
    more: dict[str, Any] = {}
    context = None
    if trust is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*trust)
    if tls == "starttls":
        more |= {"tls_context": context, "require_starttls": True}
    if login is not None:

        def known(
            server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: LoginPassword
        ) -> AuthResult:
            is_known = (data.login, data.password) == tuple(map(str.encode, login))
            return AuthResult(success=is_known, handled=False)

        more |= {"authenticator": known, "auth_required": True, "auth_require_tls": tls == "starttls"}
    implicit = context if tls == "implicit" else None
    controller = _Controller(server, hostname=ADDRESS, port=server.port, ssl_context=implicit, **more)
    controller.start()
    try:
        yield server
    finally:
        controller.stop()


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for the loopback address that its own key has signed, and the key."""
    made = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=loopback", "-addext", f"subjectAltName=IP:{ADDRESS}", "-days", "2"]
    try:
        subprocess.run([*command, "-out", made[0], "-keyout", made[1]], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not there to make a certificate")
    return made


# -- mails put into an outbox, and the senders that take them out ------------------------------------------------------


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
def sending(database: Database, server: SmtpServer, patience: Patience = QUICK, senders: int = 2) -> Iterator[None]:
    """While several senders share the work."""
    started = [Sender(database, server, Letters(INTERFACE), patience) for _ in range(senders)]
    for sender in started:
        sender.start()
    try:
        yield
    finally:
        for sender in started:
            sender.stop()


def plain(server: MailServer) -> SmtpServer:
    return SmtpServer(ADDRESS, server.port, "smtp+plain")


def command(*more: str) -> list[str]:
    return [sys.executable, "-m", "shopwindow", "maintain", *more]


def surroundings(engine: Engine, server: MailServer) -> dict[str, str]:
    return environment(SHOPWINDOW_DATABASE=engine.url, SHOPWINDOW_SMTP=f"smtp+plain://{ADDRESS}:{server.port}")
