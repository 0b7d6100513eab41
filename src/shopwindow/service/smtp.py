"""The mail server: where it is, and how one mail is handed to it (RFC 5321)."""

import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache

from shopwindow.problems import Failure

STEP_SECONDS = 60.0
"""How long the server may take to connect, or to answer a command. For the mail itself it has
until the deadline.
"""

_PORTS = {"starttls": 587, "implicit": 465, "none": 25}


@dataclass(frozen=True)
class SmtpServer:
    """A mail server. ``tls``: starttls, implicit or none; ``ca``: a file of authorities to
    trust, or the system's.
    """

    host: str
    port: int
    tls: str = "starttls"
    user: str = ""
    password: str = ""
    ca: str = ""


def smtp_server(environ: Mapping[str, str]) -> SmtpServer | None:
    """The server that the environment names (SHOPWINDOW_SMTP_…), or None. Raises Failure."""
    host, tls = (
        environ.get("SHOPWINDOW_SMTP_HOST", ""),
        environ.get("SHOPWINDOW_SMTP_TLS", "starttls"),
    )
    if not host:
        return None
    if tls not in _PORTS:
        raise Failure(f"SHOPWINDOW_SMTP_TLS must be {', '.join(_PORTS)}, not {tls!r}")
    port = environ.get("SHOPWINDOW_SMTP_PORT", str(_PORTS[tls]))
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise Failure(f"SHOPWINDOW_SMTP_PORT must be a port, not {port!r}")
    user, password = (
        environ.get("SHOPWINDOW_SMTP_USER", ""),
        environ.get("SHOPWINDOW_SMTP_PASSWORD", ""),
    )
    if user and tls == "none":
        raise Failure(
            "SHOPWINDOW_SMTP_USER is set, and SHOPWINDOW_SMTP_TLS is none: a password is not sent without TLS"
        )
    return SmtpServer(
        host, int(port), tls, user, password, environ.get("SHOPWINDOW_SMTP_CA", "")
    )


@dataclass
class Declined(Exception):
    """The server does not take this mail: ``for_good`` (5yz), or now (4yz)."""

    code: int
    words: str
    for_good: bool

    def __str__(self) -> str:
        return f"{self.code} {self.words}"


class Unreachable(Exception):
    """The server cannot be had, or takes nothing from us: it is not this mail's fault."""


class SmtpConnection:
    """A connection to the server, made when it is needed and kept from mail to mail."""

    def __init__(self, server: SmtpServer) -> None:
        self._server = server
        self._smtp: smtplib.SMTP | None = None

    def deliver(self, sender: str, recipient: str, data: bytes, deadline: float) -> None:
        """Hand over one mail before ``deadline`` (time.monotonic). Raises Declined or
        Unreachable.
        """
        try:
            smtp = self._begun(sender, deadline)
            with _cut_off(smtp, deadline):
                self._handed(smtp, recipient, data, deadline)
        except Declined as declined:
            self._begin_anew(keep=declined.code != 421)
            raise
        except (OSError, smtplib.SMTPException, Unreachable) as error:
            self.close()
            raise Unreachable(_words(error)) from error

    def close(self) -> None:
        smtp, self._smtp = self._smtp, None
        if smtp is not None:
            smtp.close()

    def quit(self) -> None:
        """Close it as RFC 5321 §4.1.1.10 asks."""
        try:
            if self._smtp is not None:
                self._smtp.quit()
        except (OSError, smtplib.SMTPException):
            pass
        self._smtp = None

    def _begun(self, sender: str, deadline: float) -> smtplib.SMTP:
        """A connection on which the mail's sender was taken. One that was left open may have
        been closed meanwhile.
        """
        kept = self._smtp
        if kept is not None:
            try:
                with _cut_off(kept, deadline):
                    if kept.mail(sender)[0] == 250:
                        return kept
            except (OSError, smtplib.SMTPException):
                pass
            self.close()
        smtp = self._smtp = self._connected(deadline)
        with _cut_off(smtp, deadline):
            code, said = smtp.mail(sender)
        if code == 250:
            return smtp
        if code < 500 or code == 530:  # 530: it wants a login (RFC 4954 §6)
            raise Unreachable(f"{code} {_decoded(said)}")
        raise Declined(
            code, _decoded(said), for_good=False
        )  # about whom the mail is from; that may be set right

    def _connected(self, deadline: float) -> smtplib.SMTP:
        server, timeout = self._server, max(0.1, min(STEP_SECONDS, deadline - time.monotonic()))
        name = _own_name()
        smtp: smtplib.SMTP
        if server.tls == "implicit":
            context = _trust(server.ca)
            smtp = smtplib.SMTP_SSL(
                server.host, server.port, name, timeout=timeout, context=context
            )
        else:
            smtp = smtplib.SMTP(server.host, server.port, name, timeout)
        try:
            with _cut_off(smtp, deadline):
                if server.tls == "starttls":
                    smtp.starttls(context=_trust(server.ca))
                smtp.ehlo_or_helo_if_needed()
                if server.user:
                    smtp.login(server.user, server.password)
        except BaseException:
            smtp.close()
            raise
        return smtp

    def _handed(self, smtp: smtplib.SMTP, recipient: str, data: bytes, deadline: float) -> None:
        code, said = smtp.rcpt(recipient)
        if code not in (250, 251):
            raise _declined(code, said)
        if time.monotonic() >= deadline:
            raise TimeoutError("the server took too long before the mail itself")
        if (
            smtp.sock is not None
        ):  # RFC 5321 §4.5.3.2.6: a server may take ten minutes over the end of a mail
            smtp.sock.settimeout(max(0.1, deadline - time.monotonic()))
        try:
            code, said = smtp.data(data)
        except smtplib.SMTPDataError as error:
            raise _declined(error.smtp_code, error.smtp_error) from None
        if smtp.sock is not None:
            smtp.sock.settimeout(STEP_SECONDS)
        if code != 250:
            raise _declined(code, said)

    def _begin_anew(self, *, keep: bool) -> None:
        """Forget the mail that was begun, on the same connection if the server keeps it."""
        try:
            if keep and self._smtp is not None and self._smtp.rset()[0] == 250:
                return
        except (OSError, smtplib.SMTPException):
            pass
        self.close()


def _declined(code: int, said: bytes | str) -> Exception:
    if code < 400:
        return Unreachable(f"{code} {_decoded(said)}")
    return Declined(code, _decoded(said), for_good=code >= 500)


@contextmanager
def _cut_off(smtp: smtplib.SMTP, deadline: float) -> Iterator[None]:
    """Cuts the connection at the deadline: a server that answers drop by drop would reset every
    timeout.
    """

    def cut() -> None:
        if smtp.sock is not None:
            with suppress(OSError):
                smtp.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _trust(ca: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca or None)
    except OSError as error:  # which does not name the file
        raise Unreachable(f"SHOPWINDOW_SMTP_CA {ca}: {error.strerror or error}") from error


@cache
def _own_name() -> str:
    """What we call ourselves (RFC 5321 §4.1.1.1). Asked once: it may take a look into DNS."""
    name = socket.getfqdn()
    return name if "." in name and name.isascii() else "[127.0.0.1]"


def _words(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{error.smtp_code} {_decoded(error.smtp_error)}"
    return str(error) or type(error).__name__


def _decoded(said: bytes | str) -> str:
    """What a server said, in one line of moderate length."""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return " ".join(text.split())[:300]
