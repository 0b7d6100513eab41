"""The mails of an Interface, and the outbox, in which they wait.

How this works. An action promises a mail: it inserts a row a recipient into the outbox,
in its own transaction, so a mail is promised if and only if the action's other writes
are. A row has a document and the name of a MailTemplate. Any number of senders, on any
hosts, then share the rows: each claims the one that has been due longest, with a lease
until which no other sender may have it. It looks the MailTemplate up in the
Interface, and ``letter`` turns the document into a Letter: what stands in the headers,
and the variables for the templates. The service renders the templates and sends the
mail; it knows nothing of what the mail is about.

What became of the mail goes back into the row: it is deleted once a server has accepted
it, put off with a later `due`, or dead-lettered. A sender that is killed leaves nothing
to repair: the row is due again when its lease has ended.

The templates are files, so editors can bring their own. ``samples`` are documents with
which `shopwindow check`, and a sender that starts, try them before a customer's mail
depends on them.

An Interface whose actions promise mail lists OUTBOX among its tables, and the mails
themselves among its ``mails``. Both stand in this package because a family that
promises a mail needs them as well as the service that sends it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.table import (
    Aging,
    Session,
    Table,
    read_instant,
    written,
)


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


# -- the outbox ------------------------------------------------------------------------

DEAD_LETTERS_FOR = timedelta(days=30)
"""How long a dead-lettered mail stays: time enough to learn why, and to try it again
(docs/operate/configure.md#sending-mail).
"""

TEMPLATE_KEY = "mailTemplate"
"""Where a row's document names its MailTemplate."""


@dataclass(frozen=True)
class ClaimedMail:
    """A mail that a sender has claimed, as its row has it: nothing is parsed within the
    transaction, or a row that is damaged would keep its turn before all others.

    ``lease`` is until when the mail is that sender's alone. ``document`` is what `add`
    wrote, ``at`` when the mail was promised, and ``deferred`` how many times a server
    has put it off.
    """

    id: str
    lease: str
    recipient: str
    document: str
    at: str
    deferred: int


class Outbox:
    """The outbox within one transaction. Actions call `add`, and the senders everything
    else.
    """

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def add(
        self, id: str, template: str, recipient: str, document: Json, at: datetime
    ) -> None:
        """Promise a mail to one recipient.

        ``id`` is unique and cannot be guessed, for it becomes the Message-ID.
        ``template`` names a MailTemplate of the Interface; its ``letter`` is handed
        ``document``, a JSON object, when the mail is sent. ``at`` is now.
        """
        when = written(at)
        text = orjson.dumps({TEMPLATE_KEY: template, **document}).decode()
        self._run(
            "INSERT INTO outbox (id, recipient, document, state, due, deferred, at)"
            " VALUES (?, ?, ?, 'waiting', ?, 0, ?)",
            *(id, recipient, text, when, when),
        )

    def is_due(self, at: datetime) -> bool:
        """Return whether a mail may be tried."""
        sql = "SELECT 1 FROM outbox WHERE state = 'waiting' AND due <= ? LIMIT 1"
        return bool(self._run(sql, written(at)))

    def claim(self, at: datetime, until: datetime) -> ClaimedMail | None:
        """Claim the mail that has been due longest, for one sender until an instant;
        None where none is due.

        Nobody else can claim it before then. So no two leases of a mail end at the same
        instant, and by it a sender finds out later whether the mail is still its own.
        """
        lease = written(until)
        rows = self._run(
            "UPDATE outbox SET lease = ?, due = ? WHERE id = (SELECT id FROM outbox"
            " WHERE state = 'waiting' AND due <= ? ORDER BY due LIMIT 1)"
            " RETURNING id, recipient, document, at, deferred",
            *(lease, lease, written(at)),
        )
        for id, *others in rows:
            return ClaimedMail(id, lease, *others)
        return None

    def sent(self, id: str) -> None:
        """Delete a mail that a server has accepted. Another sender that has claimed it
        meanwhile finds it gone.
        """
        if self._run("DELETE FROM outbox WHERE id = ? RETURNING 1", id):
            self._count("sent")

    def postpone(
        self, mail: ClaimedMail, due: datetime, reason: str, *, deferred: bool
    ) -> None:
        """Let a mail be tried again at ``due``, where nobody else has claimed it
        since.

        ``deferred`` says that a server has put off this very mail, which counts against
        it; False where the server could not be reached.
        """
        self._run(
            "UPDATE outbox SET due = ?, reason = ?, deferred = deferred + ?, lease = NULL"
            " WHERE id = ? AND lease = ?",
            *(written(due), reason, int(deferred), mail.id, mail.lease),
        )

    def give_up(self, mail: ClaimedMail, reason: str) -> None:
        """Dead-letter a mail, where nobody else has claimed it since: it stays, and
        nobody tries it until `retry`.
        """
        changed = self._run(
            "UPDATE outbox SET state = 'dead', reason = ?, lease = NULL"
            " WHERE id = ? AND lease = ? RETURNING 1",
            *(reason, mail.id, mail.lease),
        )
        if changed:
            self._count("dead")

    def dead(self) -> list[dict[str, Any]]:
        """Return the dead-lettered mails, the oldest first, without what they say."""
        names = ("id", "recipient", "at", "deferred", "reason")
        rows = self._run(
            f"SELECT {', '.join(names)} FROM outbox WHERE state = 'dead' ORDER BY at, id"
        )
        return [dict(zip(names, row, strict=True)) for row in rows]

    def retry(self, ids: Iterable[str] | None, at: datetime) -> int:
        """Let dead-lettered mails be tried again: these, or all (None). Return their
        number.
        """
        when = written(at)
        sql = "UPDATE outbox SET state = 'waiting', due = ?, deferred = 0 WHERE state = 'dead'"
        if ids is None:
            return len(self._run(f"{sql} RETURNING 1", when))
        return sum(
            len(self._run(f"{sql} AND id = ? RETURNING 1", when, id)) for id in ids
        )

    def counts(self) -> dict[str, int]:
        """Return how many mails are "waiting" and "dead" now, and how many ever "ended
        sent" and "ended dead".
        """
        numbers = dict.fromkeys(("waiting", "dead", "ended sent", "ended dead"), 0)
        numbers |= dict(self._run("SELECT state, count(*) FROM outbox GROUP BY state"))
        numbers |= dict(self._run("SELECT 'ended ' || state, number FROM outbox_ends"))
        return numbers

    def oldest(self) -> datetime | None:
        """Return when the mail that has waited longest was promised; None where none
        waits.
        """
        ((at,),) = self._run("SELECT min(at) FROM outbox WHERE state = 'waiting'")
        return read_instant(at) if at else None

    def _count(self, state: str) -> None:
        self._run(
            "INSERT INTO outbox_ends (state, number) VALUES (?, 1)"
            " ON CONFLICT (state) DO UPDATE SET number = outbox_ends.number + 1",
            state,
        )


OUTBOX = Table(
    name="outbox",
    steps=(
        """
        -- Mail that is to be sent: a row a recipient, deleted once a server has accepted it.
        -- `due`: when it may be tried, and while a sender has it, until when nobody else may.
        -- `lease` is that sender's. `deferred`: how many times it was put off.
        CREATE TABLE outbox (
            id TEXT NOT NULL PRIMARY KEY,
            recipient TEXT NOT NULL,
            document TEXT NOT NULL,
            state TEXT NOT NULL,
            due TEXT NOT NULL,
            lease TEXT,
            deferred INTEGER NOT NULL,
            reason TEXT,
            at TEXT NOT NULL
        );
        CREATE INDEX outbox_due ON outbox (state, due);
        -- How many mails ended how: sent, dead.
        CREATE TABLE outbox_ends (
            state TEXT NOT NULL PRIMARY KEY,
            number BIGINT NOT NULL
        );
        """,
    ),
    verbs=Outbox,
    aging=(
        Aging(
            "outbox",
            "at",
            DEAD_LETTERS_FOR,
            called="dead mails",
            option="mails",
            where="state = 'dead'",
        ),
    ),
)
