"""The doors by which tests reach the program, beside its own: the library, HTTP and the command.

A test that speaks to these says nothing of the rooms behind them, and stays when a room is rebuilt.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from harness.commands import Ended, can_fork, forked
from harness.content import AT, Json, app, coupon, promotion, site, store, write
from harness.inside import can_run_inside, inside
from shopwindow import library
from shopwindow.content.check.folder import Checked
from shopwindow.content.documents.documents import Content
from shopwindow.content.rules.rule_pages import by_name
from shopwindow.content.schemas.schema import Schemas
from shopwindow.edge import nginx, worker
from shopwindow.edge.nginx import EdgeLimits
from shopwindow.edge.rules import Rules
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.loading import template_folders
from shopwindow.interface.declaring.operation import FromStore, Moment, Outcome
from shopwindow.interface.request import Request as Sent
from shopwindow.interface.requests.bind import bind
from shopwindow.release.releases import OutputBusy, Releases
from shopwindow.release.verify import verify
from shopwindow.service.admin import Admin
from shopwindow.service.database.database import Database
from shopwindow.service.logfile import LogFile
from shopwindow.service.running import Backstage
from shopwindow.service.serving import Serving, load_release
from shopwindow.service.settings import Settings
from shopwindow.service.watch import Watch
from shopwindow.service.wsgi import Front
from shopwindow.shop import INTERFACE

__all__ = [
    "Application",
    "Checked",
    "Content",
    "Database",
    "Interface",
    "LogFile",
    "OutputBusy",
    "Releases",
    "Schemas",
    "Serving",
    "Watch",
    "verify",
]  # types that tests name and do not look into


BESIDE_THE_POINT = ("date", "server", "connection", "x-request-id")
"""Headers that say nothing about an answer: its own time, server, connection and name."""


@dataclass(frozen=True)
class Answer:
    """What came back; header names in lower case, those of the connection left out. A header sent twice is a list."""

    status: int
    headers: dict[str, Any]
    body: bytes

    @property
    def told(self) -> Any:
        """What the stand-in service tells of the request."""
        assert self.status == 203, self
        return json.loads(self.body)


Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
"""A WSGI callable, such as a Front."""

NOWHERE = Path("/dev/null/content")
"""For what is to be the program's own: a content folder that cannot be there."""


def program_schemas(interface: Interface = INTERFACE) -> Schemas:
    """The schemas of an interface without those of a content folder."""
    return library.schemas(interface, NOWHERE)


@dataclass(frozen=True)
class Request:
    """What a client sends: the target is a path, and a query where there is one."""

    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"
    body: bytes = b""


def checked(folder: Path, interface: Interface = INTERFACE, **options: Any) -> Checked:
    """A check of a content folder in this process. ``options`` are the library's."""
    outcome = library.check(interface, folder, **{"jobs": 1, **options})
    rules = {problem.rule for problem in (*outcome.problems, *outcome.warnings)}
    assert rules <= by_name(interface.pages).keys()
    return outcome


def released(folder: Path, out: Path | None = None, *, at: str = AT) -> Path:
    """A folder of releases with one of a content folder: ``out``, or `dist` beside the content."""
    out = out or folder.parent / "dist"
    built(folder, out, at=at)
    return out


def current_loaded(out: Path, interface: Interface = INTERFACE) -> Serving:
    """The current release of a folder, as a service loads it."""
    releases = Releases(out)
    id, schemas = releases.find("current"), program_schemas(interface)
    return load_release(releases, id, interface, schemas, report_damage=print)


def served(
    release: Path,
    database: Database | None = None,
    logs: Path | None = None,
    *,
    secret: bytes = b"",
    content: Content | None = None,
    interface: Interface = INTERFACE,
    describe: Callable[..., Any] | None = None,
    clock: Callable[[], float] = time.time,
) -> Front:
    """The WSGI callable of the service on the current release of a folder, loaded once and for all.

    ``content``: what it answers from in place of the release's. ``clock``: its time, in seconds since 1970.
    """
    loaded = current_loaded(release, interface)
    loaded = replace(loaded, content=content or loaded.content, describe=describe, clock=clock)
    backstage = Backstage(database, LogFile(logs) if logs else None, secret)
    return Front(lambda: loaded, backstage=backstage)


def admin_of(front: Front, out: Path, shared: Path) -> Admin:
    """What the admin address of a service on an output directory answers; ``shared`` has the workers' metrics."""
    return Admin(front, 0, Settings.from_environ({"SHOPWINDOW_OUT": str(out)}), shared)


def answered(release: Path | Application, request: Request | str) -> Answer:
    """What the service answers to a request from a folder of releases, or where it runs already."""
    asked = Request(request) if isinstance(request, str) else request
    service = served(release) if isinstance(release, Path) else release
    return called(service, asked.target, asked.headers, asked.method, asked.body)


NO_LIMITS = EdgeLimits(0, 0, 0)


def for_nginx(rules: Rules, keys: Mapping[str, str], files: Path, service: str, listen: str) -> str:
    """What the program's own template makes of rules for nginx."""
    folders = template_folders(INTERFACE)
    return nginx.configuration(rules, keys, files, service, listen, limits=NO_LIMITS, templates=folders)


def for_worker(rules: Rules) -> str:
    """What the program's own template makes of rules for a worker."""
    return worker.module(rules, template_folders(INTERFACE))


def nginx_configuration(
    release: Path, keys: Mapping[str, str], service: str, listen: str, limits: EdgeLimits = NO_LIMITS
) -> str:
    """What `edge nginx` prints for the current release of a folder. ``keys``: applications by their keys."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("".join(f"{application} {key}\n" for key, application in keys.items()))
        file.flush()
        printed = library.nginx_configuration(
            INTERFACE, NOWHERE, release, Path(file.name), service=service, listen=listen, limits=limits
        )
    text, warnings = printed
    assert all(warning.startswith("no key of ") for warning in warnings), warnings
    return text


# -- the command, what it leaves, and how a tree is looked at ----------------------------------------------------------


Tree = dict[str, bytes]

# -- the command -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    """How a command ended: its exit status and what it printed."""

    status: int
    out: str
    err: str


def run_command(*arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ended:
    """Run the command as a shell would, with ``env`` added to the environment; how it ended.

    In this process where that makes no difference, else in a process of its own. Where ``env`` has what an interpreter
    reads only when it starts, one is started.
    """
    given, more = list(map(str, arguments)), dict(env or {})
    environment = {**os.environ, **more}
    if can_run_inside(given, more):
        return inside(given, str(cwd or Path.cwd()), environment)
    if can_fork(more):
        return forked(given, str(cwd or Path.cwd()), environment)
    command = [sys.executable, "-m", "shopwindow", *given]
    done = subprocess.run(command, capture_output=True, cwd=cwd, env=environment)
    return Ended(done.returncode, done.stdout, done.stderr)


def shopwindow(*arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ran:
    """Run the command as `run_command` does; what it printed, as text and without the audit log's line (test_audit)."""
    ended = run_command(*arguments, cwd=cwd, env=env)
    out, err = (data.decode().replace("\r\n", "\n") for data in (ended.out, ended.err))
    assert "Traceback" not in err, err
    said = [line for line in err.splitlines(keepends=True) if '"event":"administration"' not in line]
    return Ran(ended.status, out, "".join(said))


def build(content: Path, out: Path, *more: str, at: str = AT, env: Mapping[str, str] | None = None) -> Ran:
    """Build ``content`` into ``out`` at a fixed instant, and leave warnings to their own tests."""
    ran = shopwindow("build", "--content", content, "--out", out, "--at", at, *more, env=env)
    kept = [line for line in ran.out.splitlines(keepends=True) if ": warning: " not in line]
    return Ran(ran.status, "".join(kept), ran.err)


def built(content: Path, out: Path, *more: str, at: str = AT, env: Mapping[str, str] | None = None) -> str:
    """Build, which must succeed and switch; the id of the release."""
    ran = build(content, out, *more, at=at, env=env)
    assert ran.status == 0, ran
    return current(out)


def current(out: Path) -> str:
    """The id of the release that `current` leads to."""
    return os.path.basename(os.readlink(out / "current"))


def point(out: Path, id: str) -> None:
    """Let `current` lead to a release by one rename, without a line of the history."""
    draft = out / ".current-of-a-test"
    draft.symlink_to(f"releases/{id}")
    draft.rename(out / "current")


def history(out: Path) -> list[Json]:
    """The lines of the history."""
    return [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]


def manifest(release: Path) -> Json:
    return json.loads((release / "manifest.json").read_bytes())


# -- trees -------------------------------------------------------------------------------------------------------


def tree(folder: Path) -> Tree:
    """Every file below a folder, by its path: its bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def copied(source: Path, target: Path, *, backwards: bool = False) -> Path:
    """A copy of a folder; ``backwards``: its files made in the opposite order, so that the folder lists them so."""
    paths = sorted(path for path in source.rglob("*") if path.is_file())
    for path in reversed(paths) if backwards else paths:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return target


def aged(folder: Path, seconds: int = 3600) -> Path:
    """A folder whose files were last changed some time ago."""
    for path in folder.rglob("*"):
        if path.is_file():
            changed = path.stat().st_mtime - seconds
            os.utime(path, (changed, changed))
    return folder


def called(application: Any, target: str, headers: Mapping[str, str], method: str = "GET", body: bytes = b"") -> Answer:
    """What a WSGI callable answers, by PEP 3333 alone."""
    import io
    from urllib.parse import unquote_to_bytes

    path, _, query = target.partition("?")
    environ = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "localhost",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": False,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in headers.items():
        key = name.upper().replace("-", "_")
        environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
    if body:
        environ["CONTENT_LENGTH"] = str(len(body))
    started: list[Any] = []
    parts = application(environ, lambda status, found, *_: started.extend((status, found)))
    data = b"".join(parts)
    found: dict[str, Any] = {}
    for name, value in started[1]:
        if (key := name.lower()) not in BESIDE_THE_POINT:
            found[key] = [found[key], value] if key in found else value
    return Answer(int(started[0].split()[0]), found, data)


# -- a small shop whose applications write: its release, the service on it, and one request to it ----------------------


PHONE, TABLET, SILENT = "PhonePhonePhonePhone1234", "TabletTabletTablet123456", "SilentSilentSilent123456"
JSON, XML = "application/json", "application/xml"


def documents_of_writes(**settings: Json) -> dict[str, Json]:
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


def release_of_writes(folder: Path, **settings: Json) -> Path:
    """The output directory of a build of that content."""
    return released(write(folder / "content", documents_of_writes(**settings)), at=AT)


@dataclass(frozen=True)
class Service:
    """The service in this process: its folder of releases, its store and the folder of its log, where it has them."""

    release: Path
    database: Database | None = None
    logs: Path | None = None
    application: Application = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "application", served(self.release, self.database, self.logs))

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
    return Service(release_of_writes(folder, **settings), database, folder / "log")


LOG_LINE = re.compile(
    r"(?P<timestamp>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z)"
    r"\|clientApp=(?P<client_app>[^|]*)\|deviceId (?P<platform>[^| ]*) (?P<device_id>[^| ]*)"
    r"\|svcUid=(?P<svc_uid>[^|]*)\|logLevel=(?P<log_level>[^|]*)\|logMessage=(?P<log_message>[^|]*)",
    re.ASCII,
)


class LogEntry(NamedTuple):
    """An entry of the mobile log: when it was written, whose it is, and what its client sent."""

    timestamp: str
    client_app: str
    platform: str
    device_id: str
    svc_uid: str
    log_level: str
    log_message: str


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


# -- a small shop with codes and bags: its release, and ways to ask it at any time -------------------------------------


KEY = "x-svc-webservice-client-id"
ORDERS = "orders.shop.example"
SECRET_TEXT = "a secret of the tests, and of nothing else"
SECRET = SECRET_TEXT.encode()
NOW = datetime(2026, 11, 24, 17, tzinfo=UTC)


_MANY = {"most": 1_000_000_000, "minutes": 1}
UNLIMITED = {name: {"address": _MANY, "application": _MANY} for name in ("optIns", "logLines", "newBags")}
"""Limits of site.yaml that no test of many writes reaches."""


def documents_of_codes(**settings: Json) -> dict[str, Json]:
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


def release_of_codes(folder: Path, **settings: Json) -> Path:
    """A folder of releases with one of the shop."""
    built(write(folder / "content", documents_of_codes(**settings)), folder / "dist")
    return folder / "dist"


def moment_of(at: datetime) -> Moment:
    """What an action knows at a time, in a service with a secret and without a mobile log."""

    def log() -> LogFile:
        raise AssertionError("there is no mobile log")

    return Moment(at, os.urandom, log, dict, secret=SECRET)


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
        call = bind(request, application, INTERFACE, content=self.content, schemas=program_schemas())
        source = call.operation.source
        assert isinstance(source, FromStore)
        run = self.database.write if source.writes else self.database.read
        moment = Moment(at, random, lambda: LogFile(self.release), dict, address, self.secret)
        outcome = run(lambda shop: source.action(shop, self.content, call, moment))
        if outcome.refusal:
            raise outcome.refusal
        if source.complete is None:
            return outcome
        return replace(outcome, value=source.complete(outcome.value, self.content, call))

    def ask(
        self, method: str, target: str, body: Json = None, headers: Mapping[str, str] | None = None, key: str = PHONE
    ) -> Answer:
        """What the service answers to a request now. ``body``: bytes as they are, anything else as JSON."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {KEY: key, **({"content-type": JSON} if data else {}), **(headers or {})}
        return called(self.app, target, {name: value for name, value in given.items() if value}, method, data)


def shopping(database: Database, out: Path, **more: Any) -> Shopping:
    return Shopping(database, out, library.released_content(INTERFACE, out), **more)
