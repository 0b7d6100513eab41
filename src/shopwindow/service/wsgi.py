"""The WSGI callable (PEP 3333): it turns the environment into a Request, a Response
into HTTP.

How this works. Nothing is decided here: service.exchange has the checks and their
order. `serve` takes the same steps in other threads (service.intake), with what a
``Front`` has. ``make`` puts the callable together.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from shopwindow.interface.request import Request
from shopwindow.problems import Fault
from shopwindow.service import metrics as metric_counts
from shopwindow.service.codings import BODILESS_STATUSES
from shopwindow.service.database.database import Load, open_database
from shopwindow.service.database.turns import completed
from shopwindow.service.documentation import Describe
from shopwindow.service.exchange import Arrival, at_once, finish, refuse_arrival
from shopwindow.service.logfile import LogFile
from shopwindow.service.message import (
    MAX_BODY,
    REQUEST_ID_HEADER,
    Proxies,
    begin_request,
    head,
)
from shopwindow.service.metrics import DatabaseMeter, Metrics
from shopwindow.service.readiness import is_asked, readiness
from shopwindow.service.running import Backstage
from shopwindow.service.serving import Exchange, Serving
from shopwindow.service.settings import Settings
from shopwindow.service.watch import Watch

Environ = dict[str, Any]
FindServing = Callable[[], Serving | None]
"""Returns what a request is answered from: usually the release that a Watch serves."""

_CONTENT = ("CONTENT_TYPE", "CONTENT_LENGTH")
"""Headers whose variables do not begin with HTTP_ (RFC 3875 §4.1)."""

BODY_METHODS = ("POST", "PUT", "PATCH", "DELETE")
"""Methods whose body an operation may read. The body of any other is received and
dropped.
"""

MAX_UNWANTED = 2 * 1024 * 1024
"""Bytes of a body that are received although no operation reads them. The nginx
configuration that we print lets no more through (client_max_body_size).
"""


@dataclass(frozen=True)
class Front:
    """The WSGI callable, and what it answers from, for a server with another interface
    (service.intake).

    An error becomes a response with status 500. Each line of the log that a request
    leads to has its id.
    """

    serving: FindServing
    metrics: Metrics | None = None
    """None: nothing is counted."""
    backstage: Backstage = field(default_factory=Backstage)
    fault: Callable[[], str] = str
    """Returns why no newer release is served; empty: there is none."""

    def __call__(
        self, environ: Environ, start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request as PEP 3333 asks a callable to."""
        started = time.perf_counter()
        headers = _headers(environ)
        id = begin_request(headers)
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
        is_probe = is_asked(path, headers)
        try:
            result = (
                Exchange(readiness(path, self.serving()))
                if is_probe
                else self._answer(environ, headers)
            )
        except Exception as error:
            result = refuse_arrival(error, Request("", headers=headers), None)
        response = result.response
        sent = [*response.headers, (REQUEST_ID_HEADER, id)]
        if response.status not in BODILESS_STATUSES:
            sent.append(("Content-Length", str(len(response.body))))
        status = HTTPStatus(response.status)
        start_response(f"{status} {status.phrase}", sent)
        if not is_probe:  # neither the metrics nor the access log have one
            self.note(result, method, started)
        return [] if method == "HEAD" else [response.body]

    def _answer(self, environ: Environ, headers: Mapping[str, str]) -> Exchange:
        """Receive a request and answer it. Raises what a server raises that breaks
        PEP 3333.
        """
        request = _request(environ, headers, self.backstage.trusted)
        result = at_once(request, self.serving())
        if isinstance(result, Arrival):
            steps = finish(result, request, self.backstage)
            result = completed(steps, self.backstage.refuse_late)
        # A proxy that is still sending a body that no operation wants would take our
        # response for a failure.
        if 0 < request.length <= MAX_UNWANTED and not request.body:
            _received(environ, request.length)
        return result

    def note(self, result: Exchange, method: str, started: float) -> None:
        """Count a response and write its line of the access log.

        ``started`` is the time.perf_counter() at which the request came.
        """
        if self.metrics:
            self.metrics.note(result, method, time.perf_counter() - started)


def make(settings: Settings, describe: Describe) -> Front:
    """Return the WSGI callable of a worker process.

    ``describe`` prints the OpenAPI document of a release; `shopwindow.wsgi` hands it
    in. Where several processes count, PROMETHEUS_MULTIPROC_DIR names the folder of
    metrics. Raises Failure.
    """
    # before anything else takes file descriptors
    metric_counts.open_files()

    interface = settings.interface
    watch = Watch(settings.out, interface, describe=describe if settings.docs else None)
    database = None
    if settings.database:
        database = open_database(settings.database, interface.tables, DatabaseMeter())
    metrics = Metrics(log=settings.access_log, load=database.load if database else Load)
    log = LogFile(Path(settings.log_dir)) if settings.log_dir else None
    backstage = Backstage(database, log, settings.secret, settings.trusted)
    interface.prepare_process()
    return Front(watch, metrics, backstage, watch.fault)


def _headers(environ: Environ) -> dict[str, str]:
    """Return the headers of the WSGI environment; their names are in lower case."""
    return {
        name.removeprefix("HTTP_").replace("_", "-").lower(): value
        for name, value in environ.items()
        if name.startswith("HTTP_") or (name in _CONTENT and value)
    }


def _request(environ: Environ, headers: Mapping[str, str], trusted: Proxies) -> Request:
    """Read a request from the WSGI environment, with a body of up to MAX_BODY bytes."""
    path = _text(environ.get("PATH_INFO", ""))
    request = head(
        method=environ["REQUEST_METHOD"],
        path=path,
        sent_path=_sent_path(environ, path),
        query=_text(environ.get("QUERY_STRING", "")),
        version=environ.get("SERVER_PROTOCOL", ""),
        peer=environ.get("REMOTE_ADDR", ""),
        headers=headers,
        trusted=trusted,
    )
    if request.method not in BODY_METHODS or request.length > MAX_BODY:
        return request
    size = request.length
    if not size and "transfer-encoding" in headers:
        size = MAX_BODY + 1
    body = _received(environ, size)
    if body is None or len(body) < request.length:
        why = "ended early, or its chunks cannot be read; it may be sent again"
        return request._replace(malformed=Fault("body", why))
    return request._replace(length=len(body), body=body)


def _sent_path(environ: Environ, path: str) -> str:
    """Return a path with the escapes that the client sent.

    PEP 3333 hands it on decoded alone. gunicorn has it as RAW_URI, uWSGI and mod_wsgi
    as REQUEST_URI. With another server only a NUL can be seen.
    """
    target: str = environ.get("RAW_URI") or environ.get("REQUEST_URI") or ""
    return target.partition("?")[0] or quote(path)


def _received(environ: Environ, size: int) -> bytes | None:
    """Return what comes of a body; None where the server says that it is none, or that
    the client has gone. Then nothing of it counts: a part may be whole by itself.
    """
    try:
        body: bytes = environ["wsgi.input"].read(size)
    except Exception:  # each server has its own
        return None
    return body


def _text(native: str) -> str:
    """Return the text of what a server hands on as bytes in a string (PEP 3333)."""
    return native.encode("latin-1").decode("utf-8", "replace")
