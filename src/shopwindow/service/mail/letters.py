"""A mail of the outbox as bytes: its templates rendered, and the headers around them.

How this works. The Interface says which mails there are and what of a document its
templates may use (`interface.declaring.mail`). Here the two templates of a mail are rendered,
plain text and HTML, and become a MIME message (RFC 5322, RFC 2046).

Anybody who edits content may bring a template, and customers write names and messages.
So the templates run in a sandbox (`service.mail.templates`), they are tried before
anything is sent (`service.mail.trial`), and people's text goes into headers as encoded words
only (`_words`).
"""

import re
from collections.abc import Sequence
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

import orjson
from jinja2 import TemplateError

from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.loading import template_folders
from shopwindow.interface.declaring.mail import TEMPLATE_KEY, ClaimedMail, Mailbox
from shopwindow.interface.declaring.table import read_instant
from shopwindow.problems import Failure
from shopwindow.service.mail import trial
from shopwindow.service.mail.templates import environment_of, render


class Letters:
    """Makes the mails of an Interface from their templates.

    ``folders`` are searched before the Interface's own and the program's. What they
    hold is tried in a process of its own first, because an endless template must not
    stop a service.

    Raises Failure for a template that does not render every sample of its mail.
    """

    def __init__(self, interface: Interface, folders: Sequence[Path] = ()) -> None:
        for folder in folders:
            for problem in trial.problems(interface, folder):
                file = folder / problem.path.removeprefix("templates/")
                line = problem.place.line if problem.place else 1
                raise Failure(f"{file}:{line}: {problem.found}")
        self._interface = interface
        self._environment = environment_of(template_folders(interface, *folders))
        for mail in interface.mails:  # now from every folder
            try:
                for sample in mail.samples:
                    variables = mail.letter(sample).variables
                    render(self._environment, mail.text, mail.html, variables)
            except (TemplateError, OSError) as error:
                raise Failure(
                    f"the templates of {mail.title}: {type(error).__name__}: {error}"
                ) from None

    def encoded(self, claimed: ClaimedMail) -> tuple[str, bytes]:
        """Return the address that a mail is sent from, and the mail with its headers
        (RFC 5322).

        The same mail is always the same bytes, so that a receiver can tell that one
        which comes twice is a repetition. Raises Failure where the Interface has no such
        mail, and whatever a template or a damaged row raises.
        """
        document = orjson.loads(claimed.document)
        name = document.pop(TEMPLATE_KEY, "")
        mail = self._interface.mail.get(name)
        if mail is None:
            raise Failure(f"the interface has no mail that is called {name!r}")
        letter = mail.letter(document)
        subject, text, html = render(
            self._environment, mail.text, mail.html, letter.variables
        )

        sender = letter.sent_by.address
        host = sender.rpartition("@")[2]
        message = EmailMessage(policy=_AS_THEY_STAND)
        message.set_raw("From", _mailbox("From", letter.sent_by))
        claimed.recipient.encode("ascii")  # any other needs SMTPUTF8 (RFC 6531)
        message["To"] = Address(addr_spec=claimed.recipient)
        if letter.reply_to is not None:
            message.set_raw("Reply-To", _mailbox("Reply-To", letter.reply_to))
        message.set_raw(
            "Subject", _words("Subject", subject, _SHORT.fullmatch(subject))
        )
        message["Date"] = read_instant(claimed.at)
        message["Message-ID"] = f"<{claimed.id}@{host}>"
        # nobody answers automatically (RFC 3834 §5)
        message["Auto-Submitted"] = "auto-generated"
        message["X-Auto-Response-Suppress"] = "All"
        # the list that it is of, and how to leave that (RFC 2919, RFC 2369 §3.2)
        message["List-Id"] = f"<{mail.name}.{host}>"
        if letter.unsubscribe:
            message["List-Unsubscribe"] = f"<{letter.unsubscribe}>"

        message.set_content(text, cte="quoted-printable")
        message.add_alternative(html, subtype="html", cte="quoted-printable")
        message.set_boundary(f"={claimed.id}=")
        return sender, message.as_bytes()


# -- headers ---------------------------------------------------------------------------

_AS_THEY_STAND = SMTP.clone(refold_source="none")
"""Headers that are set raw go into the mail as they stand.

If the email package were handed people's text itself, it would decode encoded words in
it, and a line end in one of those begins another header. It also writes long names
without their quotes, so that an address within a name becomes a recipient of its own.
"""

_ATOMS = re.compile("[A-Za-z0-9 ]{0,60}")
"""A name that needs neither quotes nor encoding (RFC 5322 §3.2.3), and fits on the
line.
"""

_SHORT = re.compile(r"(?!.*=\?)[ -~]{0,60}")
"""A text that needs no encoding, and in which nobody reads an encoded word."""


def _mailbox(header: str, mailbox: Mailbox) -> str:
    words = _words(header, mailbox.name, _ATOMS.fullmatch(mailbox.name))
    return f"{words}\r\n <{mailbox.address}>" if words else mailbox.address


def _words(header: str, text: str, plain: re.Match[str] | None) -> str:
    """Return a text that is ``plain``, and any other as encoded words (RFC 2047)."""
    if plain:
        return text
    return Header(text, "utf-8", header_name=header).encode(linesep="\r\n")
