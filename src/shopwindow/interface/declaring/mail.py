"""The mails of an Interface: which there are, and how a row of the outbox becomes one.

How this works. An action promises a mail: it puts a document, the name of a
MailTemplate and one recipient into the outbox (`interface.declaring.outbox`), in its own
transaction. Later a sender reads that row, perhaps in another process. It looks the
MailTemplate up in the Interface, and ``letter`` turns the document into a Letter: what
stands in the headers, and the variables for the templates. The service renders the
templates and sends the mail; it knows nothing of what the mail is about.

The templates are files, so editors can bring their own. ``samples`` are documents with
which `shopwindow check`, and a sender that starts, try them before a customer's mail
depends on them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shopwindow.content.reading.yaml import Json


@dataclass(frozen=True)
class Mailbox:
    """Whom a mail is from, or who gets the answers (RFC 5322 §3.4).

    ``name`` is what people read, in any characters that print; empty: the address
    alone.
    """

    address: str
    name: str = ""


@dataclass(frozen=True)
class Letter:
    """One mail, but for its recipient and its date.

    ``variables`` are what the templates may use, JSON values by name. ``unsubscribe``
    is a URL for people who want no more of these mails (RFC 2369 §3.2); empty: the mail
    names none.
    """

    sent_by: Mailbox
    variables: Mapping[str, Any]
    reply_to: Mailbox | None = None
    unsubscribe: str = ""


@dataclass(frozen=True)
class MailTemplate:
    """A sort of mail that actions of an Interface promise.

    ``name`` names the template files, NAME.txt and NAME.html, and the list in the
    header List-Id (RFC 2919); rows of the outbox hold it, so it stays as it is once
    mails have been promised. ``title`` says in messages what the mail is: "the
    templates of TITLE". ``allowed`` tells editors what a template of their own must be
    able to do.

    ``letter`` makes a Letter of a document from the outbox. It escapes nothing, but
    passes text that customers wrote through `unlinked`. ``samples`` are such documents,
    one for each thing that a template may do differently; a template that renders all
    of them is used.
    """

    name: str
    title: str
    allowed: str
    letter: Callable[[Json], Letter]
    samples: tuple[Json, ...]

    @property
    def text(self) -> str:
        """The file of the plain text, whose first line is the subject."""
        return f"{self.name}.txt"

    @property
    def html(self) -> str:
        """The file of the HTML."""
        return f"{self.name}.html"


_LINKS = re.compile(
    r"(?<=\S):(?=\S)(?!(?<=\d:)\d)"  # a scheme: `https:`, `tel:`
    # a name of a host, with any dot of IDNA (RFC 3490 §3.1)
    r"|(?<=\S)[.\u3002\uff0e\uff61](?=\w)(?!(?<=\d.)\d)"
)


def unlinked(text: str) -> str:
    """Return a customer's text in which no mail program sees a link.

    Mail programs make links of what looks like one, even where the mail says that it is
    text. So a space goes after each colon and each dot that would make one. Amounts
    (`10.50`), times (`10:30`) and sentences stay as they are.
    """
    return _LINKS.sub(lambda match: f"{match[0]} ", text)
