"""What runs beside the release, and how an action is performed with it.

How this works. `Backstage.perform` takes a Call to its Outcome in these steps:

1. It computes what the request costs (service.allowances). A sender who was refused a
   moment ago is refused again at once, but not with an Idempotency-Key: the request may
   be a repeated one, whose response is stored.
2. An action that only reads the database is performed in a transaction that reads, and
   costs nothing.
3. One that writes to the database is one transaction, which returns the stored response
   of a repeated request. For a new request it takes the cost, performs the action and
   stores the response. All of it is committed, or nothing is.
4. One outside the database (FromRunning), such as a line of the mobile log, is performed
   between two transactions where it has a key, for others wait for a transaction: the
   first looks for a stored response, and the second stores this one. Where that fails,
   the client gets the response all the same, for what it asked for is done.
5. What the response says beside, from the release, is added after the transaction, for
   which others wait.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from shopwindow.content.documents.documents import Content
from shopwindow.interface.declaring.limits import LIMITS, keyed
from shopwindow.interface.declaring.operation import (
    Call,
    FromRunning,
    FromStore,
    LogWriter,
    Moment,
    Outcome,
)
from shopwindow.interface.declaring.table import Tables
from shopwindow.interface.request import Request
from shopwindow.problems import Refusal
from shopwindow.service.allowances import Allowances, charges_of
from shopwindow.service.database.database import Database
from shopwindow.service.database.engine import unavailable
from shopwindow.service.database.rates import RATES, Charge
from shopwindow.service.database.retries import (
    STORED_RESPONSES,
    Retry,
    key_of,
    retry_of,
)
from shopwindow.service.database.turns import Steps
from shopwindow.service.message import LOOPBACK, Proxies, proxies

ReadStatus = Callable[[], dict[str, Any]]
"""Returns how the last build ended (service.refresh)."""


@dataclass
class Backstage:
    """What a service process has beside the release. It may lack a database and a
    mobile log.

    ``secret`` keys the digests of single-use codes; empty: there is none. ``trusted``
    are the proxies, whose X-Forwarded-For is believed, and the shop's own servers.
    """

    database: Database | None = None
    log: LogWriter | None = None
    secret: bytes = b""
    trusted: Proxies = field(default_factory=partial(proxies, LOOPBACK))
    allowances: Allowances = field(default_factory=Allowances)
    _drawn_key: bytes = field(default=b"", init=False)

    def perform(
        self,
        source: FromStore | FromRunning,
        call: Call,
        request: Request,
        content: Content,
        status: ReadStatus,
    ) -> Steps[Outcome]:
        """Perform the action of a Call, once for all requests with the same
        Idempotency-Key.

        ``source`` is that of its operation, ``content`` that of the release being
        served, and ``status`` returns how its build ended. Raises Refusal, and Failure
        where the operator has to act.
        """
        retry = None
        key = key_of(call, request)
        if key is not None:
            digest_key = yield from self._digest_key()
            retry = retry_of(call, request, key, digest_key)
        charges = charges_of(
            call, content, request.address, stores_response=retry is not None
        )
        # what is stored has the database's time, because all hosts share that
        is_stored = retry is not None or isinstance(source, FromStore)
        clock = self.database if is_stored else None
        now = clock.now() if clock else datetime.now(UTC)
        moment = Moment(
            now,
            os.urandom,
            self._required_log,
            status,
            request.address,
            self.secret,
            self.trusted.trusts(request.address),
        )

        if isinstance(source, FromRunning):
            if retry:
                stored = yield from self._required_database.writing(
                    lambda tables: tables[STORED_RESPONSES].find(retry, now)
                )
                if stored:
                    return stored
            self.allowances.take(charges)
            outcome = source.view(content, call, moment)
            if retry:
                with suppress(Refusal):  # which the log has
                    yield from self._required_database.writing(
                        lambda tables: tables[STORED_RESPONSES].store(
                            retry, outcome, now
                        )
                    )
            return outcome

        def act(tables: Tables) -> Outcome:
            return source.action(tables, content, call, moment)

        if source.writes:
            outcome = yield from self._write(act, retry, charges, now)
        else:
            outcome = self._required_database.read(act)
        if not source.complete or outcome.refusal:
            return outcome
        return replace(outcome, value=source.complete(outcome.value, content, call))

    def _write(
        self,
        act: Callable[[Tables], Outcome],
        retry: Retry | None,
        charges: Sequence[Charge],
        now: datetime,
    ) -> Steps[Outcome]:
        """Perform an action in a transaction, unless its response is stored."""
        if retry is None:
            self.allowances.refuse_at_once(charges)
        digest_key = yield from self._digest_key()
        by_name = {keyed(each.name, digest_key): each for each in charges}

        def act_once(tables: Tables) -> Outcome:
            stored = tables[STORED_RESPONSES].find(retry, now) if retry else None
            if stored:
                return stored
            if refused := tables[RATES].take(by_name, now):
                raise self.allowances.refusal(*refused)
            outcome = act(tables)
            if retry:
                tables[STORED_RESPONSES].store(retry, outcome, now)
            return outcome

        return (yield from self._required_database.writing(act_once, by_name))

    def _digest_key(self) -> Steps[bytes]:
        """Return the key of digests in the database: the secret, or a key that it
        stores.

        The stored one is drawn or read in a transaction of its own, once a process: what
        a failed action had drawn would be rolled back with it.
        """
        if self.secret:
            return self.secret
        if not self._drawn_key:
            self._drawn_key = yield from self._required_database.writing(
                lambda tables: tables[LIMITS].key(os.urandom)
            )
        return self._drawn_key

    def _required_log(self) -> LogWriter:
        if self.log is None:
            raise unavailable("this service has no mobile log")
        return self.log

    def refuse_late(self) -> None:
        """Refuse requests that have waited too long for the database."""
        if self.database:
            self.database.refuse_late()

    @property
    def _required_database(self) -> Database:
        if self.database is None:
            raise unavailable("this service has no database")
        return self.database
