"""What runs beside the release, and how an action is performed with it.

How this works. `Backstage.perform` takes a Call to its Outcome in these steps:

1. It computes what the request costs (service.allowances). A sender who was refused a
   moment ago is refused again at once, but not with an Idempotency-Key: the request may
   be a repeated one, whose response is stored.
2. An action that only reads the database is performed in a transaction that reads, and
   costs nothing. One that does not use the database (FromRunning) spends its cost
   first.
3. Anything else is one transaction, which returns the stored response of a repeated
   request. For a new request it spends the cost, performs the action and stores the
   response. All of it is committed, or nothing is.
4. What the response says beside, from the release, is added after the transaction, for
   which others wait.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

from shopwindow.content.documents.documents import Content
from shopwindow.interface.call import Call, Request
from shopwindow.interface.digests import keyed
from shopwindow.interface.limits import LIMITS
from shopwindow.interface.operation import (
    FromContent,
    FromRunning,
    Moment,
    Outcome,
)
from shopwindow.interface.running import LogWriter
from shopwindow.interface.table import Tables
from shopwindow.problems import Refusal
from shopwindow.service.allowances import Allowances, Charge, Spending, charges_of
from shopwindow.service.database.database import Database
from shopwindow.service.database.engine import unavailable
from shopwindow.service.database.rates import RATES, Taken
from shopwindow.service.database.retries import STORED_RESPONSES, Retry
from shopwindow.service.idempotency import retry_of
from shopwindow.service.proxies import NOBODY, Proxies

ReadStatus = Callable[[], dict[str, Any]]
"""Returns how the last build ended (service.refresh)."""


@dataclass(frozen=True)
class Backstage:
    """What a service process has beside the release. It may lack a database and a
    mobile log.

    ``secret`` keys the digests of single-use codes; empty: there is none. ``trusted``
    are the proxies and the shop's own servers.
    """

    database: Database | None = None
    log: LogWriter | None = None
    secret: bytes = b""
    trusted: Proxies = NOBODY
    allowances: Allowances = field(default_factory=Allowances)

    def perform(
        self,
        call: Call,
        request: Request,
        content: Content,
        status: ReadStatus = dict,
    ) -> Outcome:
        """Perform the action of a Call, once for all requests with the same
        Idempotency-Key.

        ``content`` is that of the release being served, and ``status`` returns how its
        build ended. Raises Refusal, and Failure where the operator has to act.
        """
        source = call.operation.source
        if isinstance(source, FromContent):
            raise TypeError(f"{call.operation.name} is no action")
        retry = retry_of(call, request)
        charges = charges_of(
            call, content, request.address, stores_response=retry is not None
        )
        if retry is None:
            self.allowances.refuse_at_once(charges)
        spending = self.allowances.begin(charges)
        is_viewed = isinstance(source, FromRunning)
        moment = self._moment(request, status, in_database=not is_viewed or bool(retry))

        if isinstance(source, FromRunning):
            view = cache(partial(source.view, content, call, moment))
            if retry is None:
                self._spend(spending)
                return view()
            # a transaction may be tried again; what is done outside it is done once
            return self._write(lambda tables: view(), call, retry, spending, moment.now)

        def act(tables: Tables) -> Outcome:
            return source.action(tables, content, call, moment)

        if source.writes:
            outcome = self._write(act, call, retry, spending, moment.now)
        else:
            outcome = self._required_database.read(act)
        if not source.complete or outcome.refusal:
            return outcome
        return replace(outcome, value=source.complete(outcome.value, content, call))

    def _write(
        self,
        act: Callable[[Tables], Outcome],
        call: Call,
        retry: Retry | None,
        spending: Spending,
        now: datetime,
    ) -> Outcome:
        """Perform an action in a transaction, unless its response is stored."""

        def work(tables: Tables) -> Outcome:
            keyed_retry = None
            if retry:
                keyed_retry = replace(
                    retry, sender=keyed(retry.sender, self._key(tables))
                )
                stored = tables[STORED_RESPONSES].begin(keyed_retry, now)
                if stored is not None:
                    return stored

            spending.spend(partial(self._take, tables, now))
            outcome = act(tables)
            if keyed_retry and outcome.refusal is None:
                tables[STORED_RESPONSES].finish(keyed_retry, outcome)
            return outcome

        outcome = self._required_database.write(
            work, repeatable=retry is not None or call.operation.method == "PUT"
        )
        spending.settle()
        return outcome

    def _moment(
        self, request: Request, status: ReadStatus, *, in_database: bool
    ) -> Moment:
        """Return when and from where a request is performed.

        What is stored has the database's time, because all hosts share that.
        """
        now = (
            self.database.now() if self.database and in_database else datetime.now(UTC)
        )
        return Moment(
            now,
            os.urandom,
            self._required_log,
            status,
            request.address,
            self.secret,
            self.trusted.trusts(request.address),
        )

    def _spend(self, spending: Spending) -> None:
        """Spend what an action without a transaction costs.

        Where the database cannot be reached, each process counts for itself.
        """
        database = self.database

        def take(charge: Charge, least: int, wanted: int) -> Taken:
            if database is not None:
                at = database.now()  # not within the turn, for it may have to read
                with suppress(Refusal):  # the database is away, and reports that itself
                    return database.write(
                        lambda tables: self._take(tables, at, charge, least, wanted)
                    )
            return self.allowances.take_alone(charge, least, wanted)

        spending.spend(take)
        spending.settle()

    def _take(
        self, tables: Tables, at: datetime, charge: Charge, least: int, wanted: int
    ) -> Taken:
        name = keyed(charge.name, self._key(tables))
        return tables[RATES].take(
            name, least, wanted, charge.rate.most, charge.seconds, at
        )

    def _key(self, tables: Tables) -> bytes:
        """Return the key of digests in the database: the secret, or a key that it
        stores.
        """
        return self.secret or tables[LIMITS].key(os.urandom)

    def _required_log(self) -> LogWriter:
        if self.log is None:
            raise unavailable("this service has no mobile log")
        return self.log

    @property
    def _required_database(self) -> Database:
        if self.database is None:
            raise unavailable("this service has no database")
        return self.database
