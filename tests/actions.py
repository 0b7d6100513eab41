"""What the tests of writes share: a small shop's release, the service on it, and one request to it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import orjson

from harness.program import Application, Database, released
from harness.program import served as application_of
from nginx import ADDRESS, Answer, ask
from releases import app, coupon, promotion, site, store, write
from served import Server, called
from shopwindow.retail.mobilelog.line import LogEntry

Json = Any
PHONE, TABLET, SILENT = "PhonePhonePhonePhone1234", "TabletTabletTablet123456", "SilentSilentSilent123456"
JSON, XML = "application/json", "application/xml"
AT = "2026-11-24T12:00:00-05:00"


def shop(**settings: Json) -> dict[str, Json]:
    """Content: three applications that may log this much, and promotions; ``settings`` of site.yaml."""

    def logging(name: str, key: str, levels: str, remote: str, count: str) -> Json:
        info = {"logLevel": levels, "localEnabled": "FALSE", "remoteEnabled": remote, "maxLogCount": count}
        return {**app(name, loggingInfo=info), "apiKeys": [sha256(key.encode()).hexdigest()]}

    return {
        "site.yaml": site(**settings),
        "apps/phone.yaml": logging("phone", PHONE, "ERROR|WARN", "TRUE", "3"),
        "apps/tablet.yaml": logging("tablet", TABLET, "ERROR|INFO|DEBUG|WARN", "TRUE", "2000"),
        "apps/silent.yaml": logging("silent", SILENT, "ERROR", "FALSE", "10"),
        "stores/one.yaml": store(1),
        "promotions/always.yaml": promotion(7, effective="2020-01-01", promotionCode="SAVE10"),
        "promotions/mobile.yaml": promotion(8, effective="2020-01-01", channels=["MOBILE"]),
        "promotions/past.yaml": promotion(9, effective="2020-01-01", expiry="2020-12-31"),
        "promotions/future.yaml": promotion(10, effective="2999-01-01"),
        "promotions/coupon.yaml": promotion(
            11,
            effective="2020-01-01",
            offerDescription="10 % off <all>",
            legalDisclaimer="While it lasts & longer.",
            coupon=coupon("4001", effective="2020-01-01", expiry="2999-12-31"),
        ),
        "promotions/old-coupon.yaml": promotion(
            12, effective="2020-01-01", coupon=coupon("4002", effective="2020-01-01", expiry="2020-12-31")
        ),
    }


def release(folder: Path, **settings: Json) -> Path:
    """The output directory of a build of that content."""
    return released(write(folder / "content", shop(**settings)), at=AT)


@dataclass(frozen=True)
class Service:
    """The service in this process: its folder of releases, its store and the folder of its log, where it has them."""

    release: Path
    database: Database | None = None
    logs: Path | None = None
    application: Application = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "application", application_of(self.release, self.database, self.logs))

    def ask(self, target: str, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
        """An answer; header names have `_` for `-`. Without others the key is the phone's, and all is JSON."""
        sent: Mapping[str, str] = {name.replace("_", "-"): value for name, value in headers.items()}
        usual = {"x-svc-webservice-client-id": PHONE, "accept": JSON}
        if body:
            usual["content-type"] = JSON
        return called(self.application, target, {**usual, **sent}, method, body)

    def post(self, target: str, value: Json, **headers: str) -> Answer:
        return self.ask(target, "POST", orjson.dumps(value), **headers)


def service(folder: Path, database: Database | None = None, **settings: Json) -> Service:
    """A service on a release of its own, with a mobile log in ``folder``."""
    return Service(release(folder, **settings), database, folder / "log")


LOG_LINE = re.compile(
    r"(?P<timestamp>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z)"
    r"\|clientApp=(?P<client_app>[^|]*)\|deviceId (?P<platform>[^| ]*) (?P<device_id>[^| ]*)"
    r"\|svcUid=(?P<svc_uid>[^|]*)\|logLevel=(?P<log_level>[^|]*)\|logMessage=(?P<log_message>[^|]*)",
    re.ASCII,
)


def entry_of(line: str) -> LogEntry:
    """The entry of the mobile log that a line was written from."""
    match = LOG_LINE.fullmatch(line)
    assert match, line
    timestamp, *values = match.groups()
    return LogEntry(timestamp, *(json.loads(f'"{value}"') for value in values))


def said(answer: Answer) -> Json:
    """A body of JSON."""
    return orjson.loads(answer.body)


def reasons(answer: Answer) -> tuple[int, list[str]]:
    """Status and details of an error."""
    return answer.status, said(answer)["errorDetail"]


def opted_in(server: Server) -> int:
    """The status of an opt-in that a running service is sent."""
    body = json.dumps({"deviceID": "D1", "optInOrOptOut": "IN"}).encode()
    headers = {"x-svc-webservice-client-id": PHONE, "content-type": JSON}
    connection = HTTPConnection(ADDRESS, server.port, timeout=30)  # a write waits 10 s for a server that is away
    return ask(connection, "/v2/utility/mobileoptinout", headers, "POST", body).status
