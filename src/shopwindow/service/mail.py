"""The outbox's sender: claims mails one by one, hands them to the server, notes what became of
them.
"""

import os
import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from shopwindow.interface.outbox import OUTBOX, ClaimedMail
from shopwindow.interface.table import Tables
from shopwindow.problems import Refusal
from shopwindow.service import journal
from shopwindow.service.database.database import Database
from shopwindow.service.letters import Letters
from shopwindow.service.smtp import Declined, SmtpConnection, SmtpServer, Unreachable

_ADDRESS = re.compile(r"\S*@\S*")


@dataclass(frozen=True)
class Patience:
    """How long things are waited for, in seconds; how often a server may put a mail off.

    ``lease``: how long a mail is its sender's alone; what a sender that was killed had claimed
    is tried again then. A mail is cut off well before. ``first`` and ``longest``: the first and
    longest pause before it is tried again; each is twice as long as the one before, give or
    take a quarter: sixteen take a day and a half. ``poll``: how often the database is asked for
    what is due. ``outage``: the longest pause while the server cannot be had.
    """

    lease: float = 900
    first: float = 60
    longest: float = 4 * 3600
    deferred: int = 16
    poll: float = 1
    outage: float = 60

    def pause(self, attempt: int) -> float:
        """Seconds before the next attempt. The jitter keeps mails that failed together from
        coming together again.
        """
        return min(self.longest, self.first * 2.0**attempt) * random.uniform(0.75, 1.25)


class Senders:
    """Some threads that send what is due, each on a connection of its own, until they are
    stopped.

    Senders of other processes and hosts share the work: a mail is claimed before it is sent.
    """

    def __init__(
        self,
        database: Database,
        server: SmtpServer,
        letters: Letters,
        threads: int = 2,
        patience: Patience | None = None,
    ) -> None:
        self._database = database
        self._server = server
        self._letters = letters
        self._patience = patience or Patience()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name=f"mail-{n}", daemon=True)
            for n in range(threads)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float = 30) -> None:
        """Claim no more, and wait for the mails that are being sent, though no longer than
        this.
        """
        self._stop.set()
        last = time.monotonic() + seconds
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0, last - time.monotonic()))

    def send_what_is_due(self) -> bool:
        """Send until nothing is due, in this thread; whether the server could be had."""
        connection = SmtpConnection(self._server)
        try:
            while not self._stop.is_set() and (reached := self._send_one(connection)):
                pass
            return reached is None
        finally:
            connection.quit()

    def _run(self) -> None:
        connection, outage = SmtpConnection(self._server), 0.0
        while not self._stop.is_set():
            try:
                reached = self._send_one(connection)
            except Refusal:  # the database cannot be had, and has said so
                reached = False
            except Exception as error:  # a fault of ours, which must not end the sending
                journal.failure(error)
                reached = False
            if reached is None:
                outage = 0.0
                connection.quit()
                self._stop.wait(self._patience.poll)
            elif reached:
                outage = 0.0
            else:
                outage = min(self._patience.outage, max(self._patience.poll, 2 * outage))
                self._stop.wait(outage * random.uniform(0.75, 1.25))
        connection.quit()

    # -- one mail ------------------------------------------------------------------------------

    def _send_one(self, connection: SmtpConnection) -> bool | None:
        """Send a mail that is due; whether the server could be had. None: there is no such
        mail.
        """
        claimed = self._claimed()
        if claimed is None:
            return None
        mail, lease, deadline = claimed
        try:
            sender, data = self._letters.encoded(mail)
        except (
            Exception
        ) as error:  # a template, or what stands in a document: not the server's fault
            self._failed(mail, lease, f"{type(error).__name__}: {error}", deferred=True)
            return True
        try:
            connection.deliver(sender, mail.recipient, data, deadline)
        except Declined as declined:
            self._failed(mail, lease, str(declined), for_good=declined.for_good, deferred=True)
            return True
        except Unreachable as error:
            self._failed(mail, lease, str(error), deferred=False)
            self._say_unreachable(str(error))
            return False
        self._noted(lambda tables: tables[OUTBOX].sent(mail.id))
        _tell(mail, "sent")
        return True

    def _claimed(self) -> tuple[ClaimedMail, str, float] | None:
        """A mail, its lease, and until when it must be sent (time.monotonic)."""
        while due := self._due(self._database.now()):
            lease, deadline = (
                os.urandom(16).hex(),
                time.monotonic() + 0.75 * self._patience.lease,
            )
            mail = self._database.write(
                partial(self._claim, random.choice(due), lease, self._database.now())
            )
            if mail is not None:
                return mail, lease, deadline
        return None

    def _due(self, now: datetime) -> list[str]:
        if OUTBOX.name not in self._database.tables:  # the interface promises no mail
            return []
        return self._database.read(lambda tables: tables[OUTBOX].due(now))

    def _claim(self, id: str, lease: str, now: datetime, tables: Tables) -> ClaimedMail | None:
        return tables[OUTBOX].claim(
            id, lease, now, now + timedelta(seconds=self._patience.lease)
        )

    def _failed(
        self,
        mail: ClaimedMail,
        lease: str,
        reason: str,
        *,
        for_good: bool = False,
        deferred: bool,
    ) -> None:
        """Try a mail again later, or give it up."""
        now, patience = self._database.now(), self._patience
        if for_good or (deferred and mail.deferred + 1 >= patience.deferred):
            self._noted(lambda tables: tables[OUTBOX].give_up(mail.id, lease, reason))
            _tell(mail, "dead", reason)
            return
        due = now + timedelta(
            seconds=patience.pause(mail.deferred) if deferred else patience.poll
        )
        self._noted(
            lambda tables: tables[OUTBOX].postpone(
                mail.id, lease, due, reason, deferred=deferred
            )
        )
        _tell(mail, "postponed", reason)

    def _say_unreachable(self, reason: str) -> None:
        """Tell the operator why. What a server said may hold an address."""
        said = _ADDRESS.sub("…", reason)
        server = f"{self._server.host}:{self._server.port}"
        journal.error("mail_server", f"the mail server {server} cannot be had: {said}")

    def _noted(self, work: Callable[[Tables], None]) -> None:
        """Note what became of a mail; while the database cannot be had, again. Noted twice it
        is as good as once.
        """
        while True:
            try:
                return self._database.write(work, repeatable=True)
            except Refusal:
                if self._stop.wait(self._patience.poll):
                    return self._database.write(work, repeatable=True)


def _tell(mail: ClaimedMail, outcome: str, reason: str = "") -> None:
    """A line on standard output. What a server said may hold an address, so it has only its
    code.
    """
    code = {"code": reason[:3]} if reason[:3].isdecimal() else {}
    line = {"mail": mail.id, "outcome": outcome, "deferred": mail.deferred, **code}
    journal.write(journal.OUT, "info", "mail", line)


class Counts:
    """How many mails wait, are dead, were sent: asked of the database now and then, never by
    who wants to know.
    """

    def __init__(self, database: Database, seconds: float = 5) -> None:
        self._database = database
        self._seconds = seconds
        self._known: dict[str, int] = {}
        if OUTBOX.name in database.tables:
            threading.Thread(target=self._run, name="mail-counts", daemon=True).start()

    def __call__(self) -> dict[str, int]:
        """Return the last counts; none before the first, while the database cannot be had, and
        without an outbox.
        """
        return self._known

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            try:
                self._known = self._database.read(lambda tables: tables[OUTBOX].counts())
            except Refusal:
                self._known = {}
            pause.wait(self._seconds)
