"""The mail server: where it is, and how one mail is handed over to it (RFC 5321).

How this works. A mail ends in one of three ways. The server accepts it. It declines
this very mail (Declined), for good or for now. Or it cannot be reached, or takes
nothing from us at all (Unreachable), which is not the mail's fault and must not count
against it. What a server answers to MAIL FROM is about the sender, which is the same
for all mails: so that is never for good.

Each mail has a deadline, which cuts off even a server that sends a byte now and then.
"""

import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote, urlsplit

from shopwindow.problems import Failure

STEP_SECONDS = 60.0
"""How long the server may take to connect, or to answer a command. For a mail with its
sender and recipient it has until the deadline. RFC 5321 §4.5.3.2 recommends 5 minutes
for most commands, but a sender of ours claims a mail for 15 minutes in all.
"""

MAX_ANSWER = 300
"""Characters of a server's answer that are stored with a mail and logged; a server may
send more.
"""

SMTP = "SHOPWINDOW_SMTP"
"""The environment variable that names the mail server."""

_PORTS = {"smtp": 587, "smtps": 465, "smtp+plain": 25}
"""By the scheme of its URL: submission with STARTTLS (RFC 6409), with TLS from the
beginning (RFC 8314 §7.3), and SMTP without TLS.
"""


@dataclass(frozen=True)
class SmtpServer:
    """A mail server.

    ``scheme`` is one of _PORTS. ``user`` is empty where no login is needed. ``ca`` is a
    file of certificate authorities to trust; empty: the system's.
    """

    host: str
    port: int
    scheme: str = "smtp"
    user: str = ""
    password: str = ""
    ca: str = ""


def smtp_server(environ: Mapping[str, str]) -> SmtpServer | None:
    """Return the server that the environment names; None: it names none.

    Raises Failure for a value that is malformed. The message shows none of it, for it
    may hold a password.
    """
    url = environ.get(SMTP, "")
    if not url:
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    option, _, ca = parts.query.partition("=")
    is_odd = "&" in ca or (parts.query and option != "ca")
    is_more = parts.path.strip("/") or parts.fragment or is_odd
    if parts.scheme not in _PORTS or not parts.hostname or port == 0 or is_more:
        raise Failure(
            f"{SMTP} must be smtp://USER:PASSWORD@HOST:PORT, smtps://… or"
            " smtp+plain://HOST, with ?ca=FILE at the end; login, port and file may be"
            " left out, and a mark such as / or @ in a password is percent-encoded"
        )
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if user and parts.scheme == "smtp+plain":
        raise Failure(f"{SMTP} has a login: a password is not sent without TLS")
    port = port or _PORTS[parts.scheme]
    return SmtpServer(parts.hostname, port, parts.scheme, user, password, unquote(ca))


@dataclass
class Declined(Exception):
    """The server does not take this mail: not now (4yz), or never (``for_good``, 5yz)."""

    reason: str
    for_good: bool


class Unreachable(Exception):
    """The server cannot be reached, or takes nothing from us: it is not this mail's
    fault.
    """


def deliver(
    server: SmtpServer, sender: str, recipient: str, data: bytes, deadline: float
) -> None:
    """Hand over one mail before ``deadline`` (time.monotonic), on a connection of its
    own. Raises Declined or Unreachable.
    """
    try:
        with closing(_client(server)) as smtp, _cut_off(smtp, deadline):
            _begin(smtp, server)
            _hand_over(smtp, sender, recipient, data, deadline)
    except smtplib.SMTPResponseException as error:
        code, reason = error.smtp_code, _answer(error.smtp_code, error.smtp_error)
        if isinstance(error, smtplib.SMTPDataError) and code >= 400:
            raise Declined(reason, for_good=code >= 500) from None
        # 530: a login is required (RFC 4954 §6). Any other is about whom the mail is
        # from, which an operator can set right: not for good.
        if isinstance(error, smtplib.SMTPSenderRefused) and code >= 500 and code != 530:
            raise Declined(reason, for_good=False) from None
        raise Unreachable(reason) from error
    except OSError as error:  # all of smtplib's are
        raise Unreachable(str(error) or type(error).__name__) from error


def _client(server: SmtpServer) -> smtplib.SMTP:
    """Return a client that has yet to connect: with a host it would wait for the
    server's greeting, and nothing could cut it off.
    """
    here = "", 0, _own_name()
    if server.scheme == "smtps":
        trust = _trust(server.ca)
        smtp: smtplib.SMTP = smtplib.SMTP_SSL(
            *here, timeout=STEP_SECONDS, context=trust
        )
    else:
        smtp = smtplib.SMTP(*here, STEP_SECONDS)
    # whose certificate is expected, which smtplib sets where it is given a host
    smtp._host = server.host  # type: ignore[attr-defined]
    return smtp


def _begin(smtp: smtplib.SMTP, server: SmtpServer) -> None:
    """Connect, with TLS and a login where the server is to have them."""
    code, answer = smtp.connect(server.host, server.port)
    if code != 220:
        raise smtplib.SMTPConnectError(code, answer)
    if server.scheme == "smtp":
        smtp.starttls(context=_trust(server.ca))
    if server.user:
        smtp.login(server.user, server.password)


def _hand_over(
    smtp: smtplib.SMTP, sender: str, recipient: str, data: bytes, deadline: float
) -> None:
    """Send a mail on a connection. Raises SMTPSenderRefused where the server declines
    the sender, and SMTPDataError where it declines the recipient or the mail.
    """
    rest = deadline - time.monotonic()
    if rest <= 0:
        raise TimeoutError("the server took too long before the mail itself")
    # RFC 5321 §4.5.3.2: a server may take five minutes over each of the two, and ten
    # over the end of a mail
    if smtp.sock is not None:
        smtp.sock.settimeout(rest)
    try:
        smtp.sendmail(sender, [recipient], data)
    except smtplib.SMTPRecipientsRefused as refused:
        ((code, answer),) = refused.recipients.values()
        raise smtplib.SMTPDataError(code, answer) from None
    # the mail is the server's: what it answers to QUIT changes nothing (§4.1.1.10)
    if smtp.sock is not None:
        smtp.sock.settimeout(STEP_SECONDS)
    with suppress(OSError):
        smtp.quit()


@contextmanager
def _cut_off(smtp: smtplib.SMTP, deadline: float) -> Iterator[None]:
    """Cut the connection off at the deadline.

    A socket's timeout alone does not help against a server that answers byte by byte,
    for each byte starts it again.
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
    """What verifies the server's certificate. Raises Unreachable for a file of no use."""
    try:
        return ssl.create_default_context(cafile=ca or None)
    except OSError as error:  # its own text does not name the file
        raise Unreachable(f"{SMTP}: ca={ca}: {error.strerror or error}") from error


@cache
def _own_name() -> str:
    """How we introduce ourselves (RFC 5321 §4.1.1.1). Cached, for it may need a look
    into DNS.
    """
    name = socket.getfqdn()
    return name if "." in name and name.isascii() else "[127.0.0.1]"


def _answer(code: int, text: bytes | str) -> str:
    """A server's answer in one line, with at most MAX_ANSWER characters of its text."""
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return f"{code} {' '.join(words.split())[:MAX_ANSWER]}"
