"""What runs beside the release: the database and what else actions need; the way from a Call to
its Outcome.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import Any

from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.interface.body import encoded
from shopwindow.interface.call import Call, Request
from shopwindow.interface.digests import keyed
from shopwindow.interface.limits import LIMITS
from shopwindow.interface.operation import (
    FromRunning,
    FromStore,
    Moment,
    OperationSource,
    Outcome,
)
from shopwindow.interface.origins import origins
from shopwindow.interface.running import LogWriter
from shopwindow.interface.table import Tables
from shopwindow.problems import Failure, Fault, Refusal
from shopwindow.service import journal
from shopwindow.service.allowances import Allowances, Counted, Spending, counted
from shopwindow.service.database.database import Database, lacking, unavailable
from shopwindow.service.database.rates import RATES, Taken
from shopwindow.service.database.retries import RETRIES, Retry
from shopwindow.service.proxies import NOBODY, Proxies

KEY_HEADER = "idempotency-key"
MAX_KEY = 255


@dataclass(frozen=True)
class Parts:
    """The port Running (interface.running): what only the running service knows."""

    writer: LogWriter | None
    told: Callable[[], dict[str, Any]]

    @property
    def log(self) -> LogWriter:
        if self.writer is None:
            raise unavailable("this service has no mobile log")
        return self.writer

    def status(self) -> dict[str, Any]:
        return self.told()


@dataclass(frozen=True)
class Backstage:
    """What a service process keeps: the database, and the mobile log's writer. Either may be
    missing.

    ``secret``: what digests of single-use codes are made with; empty where there is none.
    ``trusted``: the proxies and the shop's own servers.
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
        status: Callable[[], dict[str, Any]] = dict,
    ) -> Outcome:
        """Do what a Call asks for, once, however often it is asked under one Idempotency-Key.
        Raises Refusal.

        ``status``: of the build of the release being served.
        """
        try:
            return self._performed(call, request, content, status)
        except (Refusal, Failure):
            raise
        except (
            Exception
        ) as error:  # such as of a missing table: only `shopwindow serve` migrates by itself
            reason = lacking(self.database) if self.database else ""
            if not reason:
                raise
            journal.error("database_not_ready", reason)
            raise unavailable("the database is not ready for this service") from error

    def _performed(
        self,
        call: Call,
        request: Request,
        content: Content,
        status: Callable[[], dict[str, Any]],
    ) -> Outcome:
        source, retry = call.operation.source, _retry(call, request)
        names = counted(call, content, request.address, keeps_answer=retry is not None)
        if (
            retry is None
        ):  # with a key it may be a repeated request, whose answer is there already
            self.allowances.refuse_at_once(names)
        spending = self.allowances.begin(names)
        moment = self._moment(
            request, in_database=isinstance(source, FromStore) or retry is not None
        )
        if isinstance(source, FromStore) and not source.writes:
            return self._writable.read(
                lambda tables: source.action(tables, content, call, moment)
            )
        if isinstance(source, FromRunning) and retry is None:
            self._spend(spending)
            return self._view(source, content, call, moment, status)

        done: list[Outcome] = []

        def act(tables: Tables) -> Outcome:
            if isinstance(source, FromStore):
                return source.action(tables, content, call, moment)
            if (
                not done
            ):  # a transaction may be repeated; what is done outside the database is done once
                done.append(self._view(source, content, call, moment, status))
            return done[0]

        def work(tables: Tables) -> Outcome:
            own = retry and replace(retry, sender=keyed(retry.sender, self._key(tables)))
            stored = tables[RETRIES].begin(own, moment.now) if own else None
            if stored is not None:
                return stored
            spending.spend(partial(self._take, tables, moment.now))
            outcome = act(tables)
            if own and outcome.refusal is None:
                tables[RETRIES].finish(own, outcome)
            return outcome

        outcome = self._writable.write(
            work, repeatable=retry is not None or call.operation.method == "PUT"
        )
        spending.settle()
        return outcome

    def _moment(self, request: Request, *, in_database: bool) -> Moment:
        """When and where a request is looked at. What the database keeps has its time: all
        hosts share that.
        """
        now = self.database.now() if self.database and in_database else datetime.now(UTC)
        return Moment(
            now, os.urandom, request.address, self.secret, self.trusted.trusts(request.address)
        )

    def _spend(self, spending: Spending) -> None:
        """Spend what an action costs that has no transaction. Where the database is away, each
        process counts alone.
        """
        database = self.database

        def taking(each: Counted, least: int, wanted: int) -> Taken:
            if database is not None:
                with suppress(Refusal):  # it is away, and has said so
                    return database.write(
                        lambda tables: self._take(tables, database.now(), each, least, wanted)
                    )
            return self.allowances.take_alone(each, least, wanted)

        spending.spend(taking)
        spending.settle()

    def _take(
        self, tables: Tables, at: datetime, each: Counted, least: int, wanted: int
    ) -> Taken:
        name = keyed(each.name, self._key(tables))
        return tables[RATES].take(name, least, wanted, each.rate.most, each.seconds, at)

    def _key(self, tables: Tables) -> bytes:
        """What digests in the database are made with: the secret, or without one a key of the
        database's own.
        """
        return self.secret or tables[LIMITS].key(os.urandom)

    def _view(
        self,
        source: OperationSource,
        content: Content,
        call: Call,
        moment: Moment,
        status: Callable[[], dict[str, Any]],
    ) -> Outcome:
        if not isinstance(source, FromRunning):
            raise TypeError(f"{call.operation.name} is no action")
        return source.view(Parts(self.log, status), content, call, moment)

    @property
    def _writable(self) -> Database:
        if self.database is None:
            raise unavailable("this service has no database")
        return self.database


def _retry(call: Call, request: Request) -> Retry | None:
    """What tells a repeated request from another. Raises Refusal for a key that is none."""
    key = request.headers.get(KEY_HEADER)
    if key is None or call.operation.method != "POST":
        return None
    if not 0 < len(key) <= MAX_KEY or not key.isascii() or not key.isprintable():
        raise Refusal(
            "invalid",
            (Fault("Idempotency-Key", f"must be 1 to {MAX_KEY} visible ASCII characters"),),
        )
    asked = [[name, str(value)] for name, value in call.arguments]
    digest = sha256(encoded([asked, call.body, call.if_match])).hexdigest()
    path = request.path.removesuffix("/")  # both spellings are one path
    device = _named(call.body, "deviceID", "deviceId") or _logged_device(call.body)
    user = _named(call.body, "svcUID", "svcUid", "userId")
    sender = _sender(call, device, user, request.address)
    return Retry(
        str(call.application), call.operation.method, path, key, digest, device, user, sender
    )


_PERSONS = ("userId", "bagId", "bagGuid")
"""Parameters that name a guest user: each has one bag."""


def _sender(call: Call, device: str | None, user: str | None, address: str) -> str:
    """Whom an Idempotency-Key holds for: the device or user that a request names; else the
    address that it came from.

    Who shares a promotion is named by the sender's mail address.
    """
    if device is not None:
        return f"device {device}"
    if user is not None:
        return f"user {user}"
    for name, value in call.arguments:
        if name in _PERSONS:
            return f"{name} {value}"
    mail = _named(call.body, "senderEmailAddress")
    if mail is not None:
        return f"mail {mail.strip().lower()}"
    return f"address {origins(address)[0].name}"


def _named(body: Json, *names: str) -> str | None:
    """The first of some properties that a body has."""
    found = (
        [body[name] for name in names if body.get(name) is not None]
        if isinstance(body, dict)
        else []
    )
    return str(found[0]) if found else None


def _logged_device(body: Json) -> str | None:
    """The device that all entries of a mobile log's body name, if they name one."""
    entries = body.get("entry") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        return None
    devices = {entry.get("deviceId") for entry in entries}
    return str(devices.pop()) if len(devices) == 1 and None not in devices else None
