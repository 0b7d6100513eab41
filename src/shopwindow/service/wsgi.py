"""The WSGI callable (PEP 3333): it turns the environment into a Request, a Response
into HTTP.

How this works. Nothing is decided here: service.exchange has the checks and their
order. The parts of the callable are public methods of ``Front``, because `serve` does
the same steps in other threads (service.intake). ``make`` puts the callable
together from environment variables, for a server that starts worker processes by a
factory.
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
from shopwindow.interface.formats import accepted_formats
from shopwindow.interface.loading import from_environment
from shopwindow.interface.secret import SECRET, read_secret
from shopwindow.problems import Fault, Refusal
from shopwindow.service import journal, requestid
from shopwindow.service import metrics as metric_counts
from shopwindow.service.codings import BODILESS_STATUSES
from shopwindow.service.database.database import Load
from shopwindow.service.database.late import late_database
from shopwindow.service.documentation import Describe
from shopwindow.service.exchange import (
    at_once,
    exchange,
    refuse_arrival,
)
from shopwindow.service.logfile import LogFile
from shopwindow.service.message import MAX_BODY, malformed
from shopwindow.service.metrics import DatabaseMeter, Metrics
from shopwindow.service.proxies import LOOPBACK, Proxies, proxies
from shopwindow.service.readiness import PATHS, readiness
from shopwindow.service.running import Backstage
from shopwindow.service.serving import Exchange, Serving, shipped_schemas
from shopwindow.service.watch import Watch

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
FindServing = Callable[[Environ], Serving | None]
"""Returns what a request is answered from: usually the release that a Watch serves."""

_HEADER_NAMES = {
    "HTTP_ACCEPT": "accept",
    "HTTP_ACCEPT_ENCODING": "accept-encoding",
    "HTTP_X_SVC_WEBSERVICE_CLIENT_ID": "x-svc-webservice-client-id",
    "HTTP_IF_NONE_MATCH": "if-none-match",
    "HTTP_ORIGIN": "origin",
    "CONTENT_TYPE": "content-type",
    "HTTP_HOST": "host",
    "HTTP_IF_MATCH": "if-match",
}
"""Variables of the environment that hold headers, and the names that a Request gives
these.
"""

_HEADER_NAMES_OF_WRITES = {
    "HTTP_COOKIE": "cookie",
    "HTTP_IDEMPOTENCY_KEY": "idempotency-key",
}
"""Further headers, of requests by a method in BODY_METHODS only."""

BODY_METHODS = ("POST", "PUT", "PATCH", "DELETE")
"""Methods whose body an operation may read. The body of any other is received and
dropped.
"""

_STATUS_LINES = {
    status.value: f"{status.value} {status.phrase}" for status in HTTPStatus
}

MAX_UNWANTED = 2 * 1024 * 1024
"""Bytes of a body that are received although no operation reads them. The nginx
configuration that we print lets no more through (client_max_body_size).
"""


@dataclass(frozen=True)
class Front:
    """The WSGI callable, and its steps for a server with another interface
    (service.intake).

    ``serving`` is called with the WSGI environment, or with an empty one by
    service.intake. None of the steps raises: an error becomes a response with status
    500. Each line that a step writes to the log has the request's id.
    """

    serving: FindServing
    metrics: Metrics | None
    backstage: Backstage
    trusted: Proxies
    fault: Callable[[], str] = str
    """Returns why no newer release is served; empty: there is none."""

    def __call__(
        self, environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request as PEP 3333 asks a callable to."""
        started = time.perf_counter()
        id = requestid.of(environ.get(requestid.ENVIRON))
        journal.request_id.set(id)
        trace = requestid.trace_of(environ.get(requestid.TRACEPARENT_ENVIRON))
        journal.traceparent.set(trace)
        method = environ["REQUEST_METHOD"]
        path = environ.get("PATH_INFO", "")
        if path in PATHS and "HTTP_X_FORWARDED_FOR" not in environ:
            response = self.readiness(path).response
            start_response(_STATUS_LINES[response.status], headers_of(response, id))
            return [] if method == "HEAD" else [response.body]
        self.begin()
        try:
            request = _request(environ, self.trusted)
            result = exchange(request, self.serving(environ), self.backstage)
            if request.length and not request.body:
                _drain(environ, request.length)
        except Exception as error:
            result = _internal_error(error, environ.get("HTTP_ACCEPT"))
        finally:
            self.end()
        start_response(
            _STATUS_LINES[result.response.status], headers_of(result.response, id)
        )
        self.note(result, method, started)
        return [] if method == "HEAD" else [result.response.body]

    def at_once(self, request: Request) -> Exchange | None:
        """Answer a request by its head, where that is enough (exchange.at_once)."""
        try:
            return at_once(request, self.serving({}))
        except Exception as error:
            return _internal_error(error, request.headers.get("accept"))

    def refuse_arrival(self, code: str, fault: Fault, request: Request) -> Exchange:
        """Refuse a request for how it arrived (exchange.refuse_arrival)."""
        return refuse_arrival(code, fault, request, self.serving({}))

    def answer(self, request: Request, id: str, trace: str | None) -> Exchange:
        """Answer a request whose body has been received, in the current thread.

        ``id`` and ``trace`` are as in service.requestid.
        """
        journal.request_id.set(id)
        journal.traceparent.set(trace)
        self.begin()
        try:
            return exchange(request, self.serving({}), self.backstage)
        except Exception as error:
            return _internal_error(error, request.headers.get("accept"))
        finally:
            self.end()

    def readiness(self, path: str) -> Exchange:
        """Answer /healthz or /readyz (service.readiness).

        Neither the metrics nor the access log have such a request.
        """
        return Exchange(readiness(path, self.serving({})))

    def begin(self) -> None:
        """Note that the current thread begins to answer a request."""
        if self.metrics:
            self.metrics.begin()

    def end(self) -> None:
        """Note that the current thread has answered it."""
        if self.metrics:
            self.metrics.end()

    def note(self, result: Exchange, method: str, started: float) -> None:
        """Count a response and write its line of the access log.

        ``started`` is the time.perf_counter() at which the request came.
        """
        if self.metrics:
            self.metrics.note(result, method, time.perf_counter() - started)


def headers_of(response: Response, id: str) -> list[tuple[str, str]]:
    """Return the headers to send, with the request's id and the length of the body."""
    headers = [*response.headers, (requestid.HEADER, id)]
    if response.status not in BODILESS_STATUSES:
        headers.append(("Content-Length", str(len(response.body))))
    return headers


def application(
    serving: FindServing,
    metrics: Metrics | None = None,
    backstage: Backstage | None = None,
    trusted: Proxies | None = None,
) -> Front:
    """Return the WSGI callable that answers from what ``serving`` returns for a
    request.

    ``metrics``: None counts nothing. ``backstage``: None refuses every write.
    ``trusted``: the proxies whose X-Forwarded-For is believed; None stands for those on
    loopback.
    """
    trusted = trusted or proxies(LOOPBACK)
    return Front(
        serving, metrics, replace(backstage or Backstage(), trusted=trusted), trusted
    )


def make(describe: Describe | None = None) -> Front:
    """Return the WSGI callable of a worker process, set up by environment variables.

    ``describe`` prints the OpenAPI document of a release; None: the service has neither
    `/openapi.json` nor `/docs`. `shopwindow.wsgi` hands it in.

    | Variable | Is |
    |---|---|
    | SHOPWINDOW_INTERFACE | `module:NAME` of the interface |
    | SHOPWINDOW_OUT | the output directory; default: dist |
    | SHOPWINDOW_DATABASE | the database's address; empty: none |
    | SHOPWINDOW_LOG_DIR | the folder of the mobile log; empty: none |
    | SHOPWINDOW_TRUSTED_PROXIES | networks whose X-Forwarded-For is believed |
    | SHOPWINDOW_CODE_SECRET | the secret that keys digests; empty: none |
    | SHOPWINDOW_ACCESS_LOG | 0: no access log |
    | SHOPWINDOW_DOCS | 0: no /openapi.json and no /docs |
    | PROMETHEUS_MULTIPROC_DIR | the folder of metrics, where several processes count |

    Raises Failure for a wrong interface.
    """
    # before anything else takes file descriptors
    metric_counts.open_files()

    interface = from_environment(os.environ)
    watch = Watch(
        Path(os.environ.get("SHOPWINDOW_OUT", "dist")),
        interface,
        on_change=metric_counts.record_release,
        on_failure=metric_counts.count_load_failure,
        describe=describe if os.environ.get("SHOPWINDOW_DOCS", "1") != "0" else None,
    )

    address = os.environ.get("SHOPWINDOW_DATABASE", "")
    database = (
        late_database(address, interface.tables, DatabaseMeter(), migrate=True)
        if address
        else None
    )
    metrics = Metrics(
        log=os.environ.get("SHOPWINDOW_ACCESS_LOG", "1") != "0",
        load=database.load if database else Load,
    )

    trusted = proxies(os.environ.get("SHOPWINDOW_TRUSTED_PROXIES", LOOPBACK))
    logs = os.environ.get("SHOPWINDOW_LOG_DIR", "")
    secret = read_secret(os.environ[SECRET]) if os.environ.get(SECRET) else b""
    backstage = Backstage(database, LogFile(Path(logs)) if logs else None, secret)
    interface.prepare_process()
    front = application(lambda request: watch(), metrics, backstage, trusted)
    return replace(front, fault=watch.fault)


def _request(environ: Environ, trusted: Proxies) -> Request:
    """Read a request from the WSGI environment, with a body of up to MAX_BODY bytes."""
    headers = {
        name: environ[key] for key, name in _HEADER_NAMES.items() if key in environ
    }
    method = environ["REQUEST_METHOD"]
    length = _length(environ)
    coding = environ.get("HTTP_TRANSFER_ENCODING", "")
    body = b""
    if method in BODY_METHODS:
        headers |= {
            name: environ[key]
            for key, name in _HEADER_NAMES_OF_WRITES.items()
            if key in environ
        }
        if not length and "HTTP_TRANSFER_ENCODING" in environ:
            body = environ["wsgi.input"].read(MAX_BODY + 1)
            length = len(body)
        elif length <= MAX_BODY:
            body = environ["wsgi.input"].read(length) if length else b""

    address = environ.get("REMOTE_ADDR", "")
    if "HTTP_X_FORWARDED_FOR" in environ:
        address = trusted.client(address, environ["HTTP_X_FORWARDED_FOR"])

    # servers join two Host lines by a comma, which no host contains
    host = headers.get("host")
    hosts = 0 if host is None else 1 + host.count(",")
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
    """Read a body that no operation wants.

    A proxy that is still sending it would take our response for a failure.
    """
    if length <= MAX_UNWANTED:
        environ["wsgi.input"].read(length)


MAX_LENGTH_DIGITS = 18
"""Digits of a Content-Length: a length of 18 digits fits in 64 bits, as servers count.
"""


def _length(environ: Environ) -> int:
    """Return the bytes of the body; 0 without a Content-Length, or where it is no
    number.
    """
    length: str = environ.get("CONTENT_LENGTH") or ""
    is_number = (
        length.isascii() and length.isdecimal() and len(length) <= MAX_LENGTH_DIGITS
    )
    return int(length) if is_number else 0


def _text(native: str) -> str:
    """Return the text of what a server hands on as bytes in a string (PEP 3333)."""
    return (
        native
        if native.isascii()
        else native.encode("latin-1").decode("utf-8", "replace")
    )


def _internal_error(error: Exception, accept: str | None) -> Exchange:
    """Return the response to a fault of ours: the log gets all of it, the client no
    details.
    """
    journal.failure(error)
    format = accepted_formats(accept).refusal
    response = refuse(Refusal("internal"), format, shipped_schemas())
    headers = (("Content-Type", response.media_type), ("Cache-Control", "no-store"))
    return Exchange(response._replace(headers=headers))
