"""The senders of the outbox: they claim mails one by one, hand them to the mail server,
and record what became of them.

How this works. A sender claims the mail that has been due longest, with a lease until
which no other sender may have it (`interface.declaring.mail`). It makes the mail of its
templates, and hands it to the server before three quarters of the lease are over. Then
it records the outcome:

- accepted: the mail is deleted;
- declined for good, or put off too many times: the mail is dead-lettered;
- put off, or its template failed: it is tried again after a pause that doubles each
  time;
- the server cannot be reached: the mail is due again a moment later and nothing counts
  against it, but the sender pauses.

If a sender dies between the server's acceptance and its record, the mail is sent twice
with the same Message-ID; a promised mail is never lost.
"""

import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from shopwindow.interface.declaring.mail import OUTBOX, ClaimedMail
from shopwindow.interface.declaring.table import Tables
from shopwindow.problems import Refusal
from shopwindow.service import journal
from shopwindow.service.database.database import Database
from shopwindow.service.mail.letters import Letters
from shopwindow.service.mail.smtp import (
    Declined,
    SmtpServer,
    Unreachable,
    deliver,
)

_ADDRESS = re.compile(r"(?<!\S)\S*@\S*")
"""An address in a server's answer, which the log does not get."""

STOP_SECONDS = 30
"""How long a stop waits for a mail. A worker that is told to end lasts no longer; what it
could not send, another sender claims once the lease has ended.
"""

SENDING_SHARE = 0.75
"""The part of its lease in which a mail must be sent. The rest is for recording the
outcome, so that no other sender has claimed the mail by then.
"""

MAIL_JITTER = (0.75, 1.25)
"""Pauses are longer or shorter by up to a quarter, so that mails which failed together,
and senders whose server was away, do not come again together.
"""


@dataclass(frozen=True)
class Patience:
    """How long senders wait for things, in seconds.

    ``lease`` is how long a mail is its sender's alone; when a sender was killed,
    another one tries its mail after that. A server may take ten minutes to confirm one
    (RFC 5321 §4.5.3.2.6), which is less than SENDING_SHARE of it. ``first`` and ``longest`` are the first and
    the longest pause before a mail that was put off is tried again; each pause is twice
    as long as the one before. After so many times, ``deferred``, the mail is
    dead-lettered: sixteen take a day and a half. ``poll`` is the pause between two
    queries for mails that are due, and ``outage`` the longest pause while the server
    cannot be reached.
    """

    lease: float = 900
    first: float = 60
    longest: float = 4 * 3600
    deferred: int = 16
    poll: float = 1
    outage: float = 60

    def pause(self, attempt: int) -> float:
        """Return the seconds before the next attempt; ``attempt`` counts from 0."""
        return min(self.longest, self.first * 2.0**attempt) * random.uniform(
            *MAIL_JITTER
        )


class Sender:
    """A thread that sends what is due, until it is stopped.

    Those of other workers and hosts share the work, for a mail is claimed before it is
    sent.
    """

    def __init__(
        self,
        database: Database,
        server: SmtpServer,
        letters: Letters,
        patience: Patience | None = None,
    ) -> None:
        self._database = database
        self._server = server
        self._letters = letters
        self._patience = patience or Patience()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mail", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Claim no more mails, and wait for the one that is being sent."""
        self._stop.set()
        self._thread.join(STOP_SECONDS)

    def send_what_is_due(self) -> int:
        """Send in this thread until nothing is due. Return how many mails were tried.

        Raises Unreachable, and Refusal where the database is out of reach.
        """
        tried = 0
        while self._send_one():
            tried += 1
        return tried

    def _run(self) -> None:
        """Send what is due until the sender is stopped."""
        patience, outage = self._patience, 0.0
        while not self._stop.is_set():
            try:
                pause = 0.0 if self._send_one() else patience.poll
                outage = 0.0
            except Exception as error:
                # those two have been logged; a bug of ours must not end the sending
                if not isinstance(error, Unreachable | Refusal):
                    journal.failure(error)
                outage = min(patience.outage, max(patience.poll, 2 * outage))
                pause = outage * random.uniform(*MAIL_JITTER)
            self._stop.wait(pause)

    # -- one mail ----------------------------------------------------------------------

    def _send_one(self) -> bool:
        """Send a mail that is due, and record what became of it. Return False where none
        is due.

        Raises Unreachable, and Refusal where the database is out of reach.
        """
        deadline = time.monotonic() + SENDING_SHARE * self._patience.lease
        mail = self._claimed()
        if mail is None:
            return False
        try:
            sender, data = self._letters.encoded(mail)
        except Exception as error:
            # the fault of a template or of a document, and not of the server
            self._decline(mail, f"{type(error).__name__}: {error}")
            return True
        try:
            deliver(self._server, sender, mail.recipient, data, deadline)
        except Unreachable as error:
            server = f"{self._server.host}:{self._server.port}"
            answer = _ADDRESS.sub("…", str(error))
            words = f"the mail server {server} cannot be used: {answer}"
            journal.error("mail_server", words)
            self._postpone(mail, str(error), self._patience.poll, deferred=False)
            raise
        except Declined as declined:
            self._decline(mail, declined.reason, for_good=declined.for_good)
        else:
            self._record(mail, "sent", lambda tables: tables[OUTBOX].sent(mail.id))
        return True

    def _claimed(self) -> ClaimedMail | None:
        """Claim a mail that is due. A look before takes no turn from those who write."""
        if OUTBOX.name not in self._database.tables:  # the interface promises no mail
            return None
        now = self._database.now()
        until = now + timedelta(seconds=self._patience.lease)
        if not self._database.read(lambda tables: tables[OUTBOX].is_due(now)):
            return None
        return self._database.write(lambda tables: tables[OUTBOX].claim(now, until))

    def _decline(
        self, mail: ClaimedMail, reason: str, *, for_good: bool = False
    ) -> None:
        """Put a mail off, or dead-letter it, since it was this mail that failed."""
        if for_good or mail.deferred + 1 >= self._patience.deferred:
            self._record(
                mail,
                "dead",
                lambda tables: tables[OUTBOX].give_up(mail, reason),
                reason,
            )
        else:
            pause = self._patience.pause(mail.deferred)
            self._postpone(mail, reason, pause, deferred=True)

    def _postpone(
        self, mail: ClaimedMail, reason: str, pause: float, *, deferred: bool
    ) -> None:
        """Have a mail tried again after a pause. ``deferred``: it counts against it."""
        due = self._database.now() + timedelta(seconds=pause)
        self._record(
            mail,
            "postponed",
            lambda tables: tables[OUTBOX].postpone(
                mail, due, reason, deferred=deferred
            ),
            reason,
        )

    def _record(
        self,
        mail: ClaimedMail,
        outcome: str,
        work: Callable[[Tables], None],
        reason: str = "",
    ) -> None:
        """Log what became of a mail, and record it, again and again until the database
        has stored it, or the sender is stopped. To record it twice does no harm.

        Of a server's answer the log has the code alone, for the text may hold an
        address.
        """
        code = {"code": reason[:3]} if reason[:3].isdecimal() else {}
        line = {"mail": mail.id, "outcome": outcome, "deferred": mail.deferred, **code}
        journal.write(journal.OUT, "info", "mail", line)
        while True:
            try:
                return self._database.write(work)
            except Refusal:
                if self._stop.wait(self._patience.poll):
                    raise
