"""What the tests of codes and bags share: a small shop, its release, and ways to ask it."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.program import Database, program_schemas, served
from nginx import Answer
from releases import app, built, promotion, site, write
from served import called
from shopwindow import library
from shopwindow.content.documents import Content
from shopwindow.interface.bind import bind
from shopwindow.interface.body import Bodies
from shopwindow.interface.call import Request as Sent
from shopwindow.interface.operation import FromStore, Moment, Outcome
from shopwindow.shop import INTERFACE

Json = Any
PHONE, TABLET = "PhonePhonePhonePhone1234", "TabletTabletTablet123456"
KEY = "x-svc-webservice-client-id"
ORDERS = "orders.shop.example"
SECRET_TEXT = "a secret of the tests, and of nothing else"
SECRET = SECRET_TEXT.encode()
NOW = datetime(2026, 11, 24, 17, tzinfo=UTC)
JSON, XML = "application/json", "application/xml"


_MANY = {"most": 1_000_000_000, "minutes": 1}
UNLIMITED = {name: {"address": _MANY, "application": _MANY} for name in ("optIns", "logLines", "newBags")}
"""Limits of site.yaml that no test of many writes reaches."""


def documents(**settings: Json) -> dict[str, Json]:
    """Two applications; promotions 1 (live whenever a test runs), 2 (over), 3 (to come), 4 (days of a week), 5."""
    keys = {name: [sha256(key.encode()).hexdigest()] for name, key in (("phone", PHONE), ("tablet", TABLET))}
    return {
        "site.yaml": site(**{"code_cookie": "supc", **settings}),
        **{f"apps/{name}.yaml": {**app(name), "apiKeys": digests} for name, digests in keys.items()},
        "promotions/all.yaml": [
            promotion(1, effective="2020-01-01", singleUse=True),
            promotion(2, effective="2020-01-01", expiry="2020-01-31", singleUse=True),
            promotion(3, effective="2999-01-01", singleUse=True),
            promotion(4, effective="2026-11-24", expiry="2026-11-30", singleUse=True),
            promotion(5, effective="2020-01-01", promotionCode="PLAIN"),
        ],
    }


def release(folder: Path, **settings: Json) -> Path:
    """A folder of releases with one of the shop."""
    built(write(folder / "content", documents(**settings)), folder / "dist")
    return folder / "dist"


@dataclass(frozen=True)
class Shopping:
    """A shop on a store, without a server: its actions at any time, and the callable of the service."""

    database: Database
    release: Path
    content: Content
    secret: bytes = SECRET
    app: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "app", served(self.release, self.database, secret=self.secret, content=self.content))

    def act(
        self,
        method: str,
        target: str,
        body: Json = None,
        *,
        at: datetime = NOW,
        application: str = "phone",
        address: str = "192.0.2.1",
        random: Callable[[int], bytes] = os.urandom,
        **headers: str,
    ) -> Outcome:
        """What comes of a request at a time. Raises its Refusal, that of the Outcome too."""
        path, _, query = target.partition("?")
        data = b"" if body is None else json.dumps(body).encode()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent |= {"content-type": JSON} if data else {}
        request = Sent(path, query, sent, method, len(data), data, address)
        call = bind(request, application, INTERFACE, bodies=Bodies(program_schemas(), self.content))
        source = call.operation.source
        assert isinstance(source, FromStore)
        run = self.database.write if source.writes else self.database.read
        moment = Moment(at, random, address, self.secret)
        outcome = run(lambda shop: source.action(shop, self.content, call, moment))
        if outcome.refusal:
            raise outcome.refusal
        return outcome

    def ask(
        self, method: str, target: str, body: Json = None, headers: Mapping[str, str] | None = None, key: str = PHONE
    ) -> Answer:
        """What the service answers to a request now. ``body``: bytes as they are, anything else as JSON."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {KEY: key, **({"content-type": JSON} if data else {}), **(headers or {})}
        return called(self.app, target, {name: value for name, value in given.items() if value}, method, data)


def shopping(database: Database, out: Path, **more: Any) -> Shopping:
    return Shopping(database, out, library.released_content(INTERFACE, out), **more)
