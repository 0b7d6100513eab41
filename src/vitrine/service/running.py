"""What runs beside the release: the store and what else actions need; the way from a Call to its Outcome."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from vitrine.content.model import Content
from vitrine.content.yaml import Json
from vitrine.interface.body import encoded
from vitrine.interface.call import Call, Request
from vitrine.interface.operation import FromRunning, FromStore, Moment, Outcome, Source
from vitrine.interface.ports import LogWriter
from vitrine.problems import Failure, Fault, Refusal
from vitrine.service.sql.database import Database, lacking, unavailable
from vitrine.service.sql.retries import Retry
from vitrine.service.sql.shop import Shop

KEY_HEADER = "idempotency-key"
MAX_KEY = 255


@dataclass(frozen=True)
class Parts:
    """The port Running (interface.ports): what only the running service knows."""

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
    """What a service process keeps: the store, and the mobile log's writer. Either may be missing.

    ``secret``: what digests of single-use codes are made with; empty where there is none.
    """

    database: Database | None = None
    log: LogWriter | None = None
    secret: bytes = b""

    def perform(
        self, call: Call, request: Request, content: Content, status: Callable[[], dict[str, Any]] = dict
    ) -> Outcome:
        """Do what a Call asks for, once, however often it is asked under one Idempotency-Key. Raises Refusal.

        ``status``: of the build of the release being served.
        """
        try:
            return self._performed(call, request, content, status)
        except (Refusal, Failure):
            raise
        except Exception as error:  # such as of a missing table: only `vitrine serve` migrates by itself
            reason = lacking(self.database) if self.database else ""
            if not reason:
                raise
            print(f"vitrine: {reason}", file=sys.stderr, flush=True)
            raise unavailable("the store is not ready for this service") from error

    def _performed(
        self, call: Call, request: Request, content: Content, status: Callable[[], dict[str, Any]]
    ) -> Outcome:
        moment = Moment(datetime.now(UTC), os.urandom, request.address, self.secret)
        source, retry = call.operation.source, _retry(call, request)
        if isinstance(source, FromStore) and not source.writes:
            return self._store.read(lambda shop: source.action(shop, content, call, moment))

        done: list[Outcome] = []

        def act(shop: Shop) -> Outcome:
            if isinstance(source, FromStore):
                return source.action(shop, content, call, moment)
            if not done:  # a transaction may be repeated; what is done outside the store is done once
                done.append(self._view(source, content, call, moment, status))
            return done[0]

        def work(shop: Shop) -> Outcome:
            known = shop.retries.begin(retry, moment.now) if retry else None
            if known is not None:
                return known
            outcome = act(shop)
            if retry and outcome.refusal is None:
                shop.retries.finish(retry, outcome)
            return outcome

        if isinstance(source, FromStore) or retry:
            return self._store.write(work, repeatable=retry is not None or call.operation.method == "PUT")
        return self._view(source, content, call, moment, status)

    def _view(
        self, source: Source, content: Content, call: Call, moment: Moment, status: Callable[[], dict[str, Any]]
    ) -> Outcome:
        if not isinstance(source, FromRunning):
            raise TypeError(f"{call.operation.name} is no action")
        return source.view(Parts(self.log, status), content, call, moment)

    @property
    def _store(self) -> Database:
        if self.database is None:
            raise unavailable("this service has no store")
        return self.database


def _retry(call: Call, request: Request) -> Retry | None:
    """What tells a repeated request from another. Raises Refusal for a key that is none."""
    key = request.headers.get(KEY_HEADER)
    if key is None or call.operation.method != "POST":
        return None
    if not 0 < len(key) <= MAX_KEY or not key.isascii() or not key.isprintable():
        raise Refusal("invalid", (Fault("Idempotency-Key", f"must be 1 to {MAX_KEY} visible ASCII characters"),))
    asked = [[name, str(value)] for name, value in call.arguments]
    digest = sha256(encoded([asked, call.body, call.if_match])).hexdigest()
    path = request.path.removesuffix("/")  # both spellings are one path
    person = _named(call.body, "deviceID", "deviceId"), _named(call.body, "svcUID", "svcUid", "userId")
    return Retry(str(call.application), call.operation.method, path, key, digest, *person)


def _named(body: Json, *names: str) -> str | None:
    """The first of some properties that a body has."""
    found = [body[name] for name in names if body.get(name) is not None] if isinstance(body, dict) else []
    return str(found[0]) if found else None
