"""The WSGI callable (PEP 3333): an HTTP request becomes a Request, a Response becomes HTTP.
Decides nothing.
"""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from shopwindow.interface.answer import Response, refuse
from shopwindow.interface.call import Request
from shopwindow.interface.formats import JSON, negotiate
from shopwindow.interface.loading import from_environment
from shopwindow.interface.secret import SECRET, read_secret
from shopwindow.problems import Fault, Refusal
from shopwindow.renamed import refuse_former_variables
from shopwindow.service import journal, probe, requestid
from shopwindow.service import metrics as counts
from shopwindow.service.database.database import CONNECTIONS, Load
from shopwindow.service.database.late import late_database
from shopwindow.service.exchange import (
    MAX_BODY,
    at_once,
    exchange,
    is_damaged,
    malformed,
    refused,
)
from shopwindow.service.logfile import LogFile
from shopwindow.service.metrics import DatabaseMeter, Metrics
from shopwindow.service.proxies import LOOPBACK, Proxies, proxies
from shopwindow.service.running import Backstage
from shopwindow.service.serving import MEMO_BYTES, Exchange, Serving, Watch, shipped_schemas
from shopwindow.service.worker_notes import Workers

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
Source = Callable[[Environ], Serving | None]
"""What a request is answered from: the current release, or whatever a caller puts there."""

_HEADERS = {
    "HTTP_ACCEPT": "accept",
    "HTTP_X_SVC_WEBSERVICE_CLIENT_ID": "x-svc-webservice-client-id",
    "HTTP_IF_NONE_MATCH": "if-none-match",
    "HTTP_ORIGIN": "origin",
    "CONTENT_TYPE": "content-type",
    "HTTP_HOST": "host",
    "HTTP_IF_MATCH": "if-match",
}
_OF_WRITES = {"HTTP_COOKIE": "cookie", "HTTP_IDEMPOTENCY_KEY": "idempotency-key"}
_WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")


_STATUS_LINES = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}
_BODILESS = (204, 304)
"""Statuses without a body (RFC 9110 §6.4.1)."""

MAX_UNWANTED = 2 * 1024 * 1024
"""Bytes of a body that are received though nobody asks for them; our configuration of nginx
lets no more through.
"""


@dataclass(frozen=True)
class Front:
    """The WSGI callable, and its parts for a server that has another interface
    (service.intake).

    ``source`` is called with the WSGI environment, or with an empty one. The parts write a
    request's ``id`` into each line of the log; none of them raises.
    """

    source: Source
    metrics: Metrics | None
    backstage: Backstage
    trusted: Proxies

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request (PEP 3333)."""
        started = time.perf_counter()
        id = requestid.of(environ.get(requestid.ENVIRON))
        journal.request_id.set(id)
        if probe.is_probe(environ.get(probe.ENVIRON)):
            done = self.probed()
            start_response(_STATUS_LINES[done.response.status], headers_of(done.response, id))
            return [done.response.body]
        method = environ["REQUEST_METHOD"]
        self.begin()
        try:
            request = _request(environ, self.trusted)
            done = exchange(request, self.source(environ), self.backstage)
            if request.length and not request.body:
                _drain(environ, request.length)
        except Exception as error:
            done = _failed(error, environ.get("HTTP_ACCEPT"))
        finally:
            self.end()
        start_response(_STATUS_LINES[done.response.status], headers_of(done.response, id))
        self.note(done, method, started)
        return (
            [] if method == "HEAD" else [done.response.body]
        )  # a list: Granian is fast for no other iterable

    def at_once(self, request: Request) -> Exchange | None:
        """The answer to a request of which the head is there, where that is enough
        (exchange.at_once).
        """
        try:
            return at_once(request, self.source({}))
        except Exception as error:
            return _failed(error, request.headers.get("accept"))

    def refused(self, code: str, fault: Fault, request: Request) -> Exchange:
        """A refusal that comes of how the request arrived."""
        return refused(code, fault, request, self.source({}))

    def answered(self, request: Request, id: str) -> Exchange:
        """The answer to a request that is there as a whole, by the current thread."""
        journal.request_id.set(id)
        self.begin()
        try:
            return exchange(request, self.source({}), self.backstage)
        except Exception as error:
            return _failed(error, request.headers.get("accept"))
        finally:
            self.end()

    def probed(self) -> Exchange:
        """The answer to the admin address, which wants to know whether this worker answers
        reads; counted nowhere.
        """
        serving = self.source({})
        try:
            fault = probe.read(serving)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
            if serving is not None and is_damaged(error):
                serving.leave(str(error))
        body = fault.encode(errors="backslashreplace") or b"ok"
        media_type = "text/plain"
        return Exchange(
            Response(
                503 if fault else 200, media_type, body, headers=(("Content-Type", media_type),)
            )
        )

    def begin(self) -> None:
        """The current thread begins to answer a request."""
        if self.metrics:
            self.metrics.begin()

    def end(self) -> None:
        """The current thread has answered it."""
        if self.metrics:
            self.metrics.end()

    def note(self, done: Exchange, method: str, started: float) -> None:
        """Count an answer, and write its line. ``started``: by time.perf_counter."""
        if self.metrics:
            self.metrics.note(done, method, time.perf_counter() - started)


def headers_of(response: Response, id: str) -> list[tuple[str, str]]:
    """The headers of the response to a request of that id, the body's length among them."""
    headers = [*response.headers, (requestid.HEADER, id)]
    if response.status not in _BODILESS:
        headers.append(("Content-Length", str(len(response.body))))
    return headers


def application(
    source: Source,
    metrics: Metrics | None = None,
    backstage: Backstage | None = None,
    trusted: Proxies | None = None,
) -> Front:
    """The WSGI callable that answers from what ``source`` gives for a request. ``trusted``: by
    default, on loopback.
    """
    trusted = trusted or proxies(LOOPBACK)
    return Front(source, metrics, replace(backstage or Backstage(), trusted=trusted), trusted)


def make() -> Front:
    """The callable for a server's factory, by the environment.

    SHOPWINDOW_INTERFACE, SHOPWINDOW_OUT, SHOPWINDOW_DATABASE and SHOPWINDOW_LOG_DIR (empty:
    none), SHOPWINDOW_CONNECTIONS (to a database server), SHOPWINDOW_MEMO (MiB a worker),
    SHOPWINDOW_TRUSTED_PROXIES, SHOPWINDOW_CODE_SECRET and SHOPWINDOW_ACCESS_LOG. Raises Failure
    for variables of the project's former name.
    """
    refuse_former_variables(os.environ)
    memo = (
        int(os.environ["SHOPWINDOW_MEMO"]) << 20
        if "SHOPWINDOW_MEMO" in os.environ
        else MEMO_BYTES
    )
    shared = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    workers = Workers(Path(shared)) if shared else None
    counts.begin()
    out, tell = (
        Path(os.environ.get("SHOPWINDOW_OUT", "dist")),
        workers.tell if workers else None,
    )
    interface = from_environment(os.environ)
    watch = Watch(out, interface, memo, tell=tell, failed=counts.count_load_failure)
    url, connections = (
        os.environ.get("SHOPWINDOW_DATABASE", ""),
        int(os.environ.get("SHOPWINDOW_CONNECTIONS", CONNECTIONS)),
    )
    database = (
        late_database(url, interface.tables, DatabaseMeter(), connections) if url else None
    )
    metrics = Metrics(
        log=os.environ.get("SHOPWINDOW_ACCESS_LOG", "1") != "0",
        load=database.load if database else Load,
        report=workers.report if workers else None,
    )
    trusted = proxies(os.environ.get("SHOPWINDOW_TRUSTED_PROXIES", LOOPBACK))
    logs = os.environ.get("SHOPWINDOW_LOG_DIR", "")
    secret = read_secret(os.environ[SECRET]) if os.environ.get(SECRET) else b""
    backstage = Backstage(database, LogFile(Path(logs)) if logs else None, secret)
    for prepare in interface.prepare:
        prepare()
    return application(lambda request: watch(), metrics, backstage, trusted)


def _request(environ: Environ, trusted: Proxies) -> Request:
    headers = {name: environ[key] for key, name in _HEADERS.items() if key in environ}
    method, length, body = environ["REQUEST_METHOD"], _length(environ), b""
    if method in _WITH_BODY:
        headers |= {name: environ[key] for key, name in _OF_WRITES.items() if key in environ}
        if not length and "HTTP_TRANSFER_ENCODING" in environ:
            body = environ["wsgi.input"].read(MAX_BODY + 1)
            length = len(body)
        elif length <= MAX_BODY:
            body = environ["wsgi.input"].read(length) if length else b""
    address = environ.get("REMOTE_ADDR", "")
    if "HTTP_X_FORWARDED_FOR" in environ:
        address = trusted.client(address, environ["HTTP_X_FORWARDED_FOR"])
    host = headers.get("host")
    hosts = (
        0 if host is None else 1 + host.count(",")
    )  # servers join two lines with a comma, which no host has
    coding = environ.get("HTTP_TRANSFER_ENCODING", "")
    return Request(
        _text(environ.get("PATH_INFO", "")).removeprefix("/"),
        _text(environ.get("QUERY_STRING", "")),
        headers,
        method,
        length,
        body,
        address,
        malformed(hosts, environ.get("SERVER_PROTOCOL", ""), coding),
    )


def _drain(environ: Environ, length: int) -> None:
    """Read a body that nobody wanted: a proxy that is still sending it takes our answer for a
    failure.
    """
    if length <= MAX_UNWANTED:
        environ["wsgi.input"].read(length)


def _length(environ: Environ) -> int:
    """Bytes of the body; 0 where nothing is said, or nothing that is a number."""
    length: str | None = environ.get("CONTENT_LENGTH")
    return (
        int(length)
        if length and length.isascii() and length.isdecimal() and len(length) <= 18
        else 0
    )


def _text(native: str) -> str:
    """What a server hands on as bytes in a string (PEP 3333)."""
    return native if native.isascii() else native.encode("latin-1").decode("utf-8", "replace")


def _failed(error: Exception, accept: str | None) -> Exchange:
    """The answer to a fault of ours: the log gets all of it, the client no details."""
    journal.failure(error)
    format = negotiate(accept) or JSON
    response = refuse(Refusal("internal"), format, shipped_schemas())
    return Exchange(
        response._replace(
            headers=(("Content-Type", response.media_type), ("Cache-Control", "no-store"))
        )
    )
