"""The WSGI callable (PEP 3333): an HTTP request becomes a Request, a Response becomes HTTP. Decides nothing."""

import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from vitrine.interface.answer import Response, refuse
from vitrine.interface.call import Request
from vitrine.interface.codes import SECRET, read_secret
from vitrine.interface.formats import JSON, negotiate
from vitrine.problems import Refusal
from vitrine.service.exchange import MAX_BODY, exchange
from vitrine.service.logfile import LogFile
from vitrine.service.metrics import Metrics, StoreMeter, Workers
from vitrine.service.proxies import LOOPBACK, Proxies, proxies
from vitrine.service.running import Backstage
from vitrine.service.serving import MEMO_BYTES, Exchange, Serving, Watch, shipped_schemas
from vitrine.service.sql.database import CONNECTIONS, open_database

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
"""Bytes of a body that are read though nobody asks for them; our configuration of nginx lets no more through."""


def application(
    source: Source,
    metrics: Metrics | None = None,
    backstage: Backstage | None = None,
    trusted: Proxies | None = None,
) -> Application:
    """The WSGI callable that answers from what ``source`` gives for a request. ``trusted``: by default, on loopback."""
    return _Front(source, metrics, backstage or Backstage(), trusted or proxies(LOOPBACK))


def make() -> Application:
    """The callable for a server's factory, by the environment.

    VITRINE_OUT, VITRINE_DATABASE and VITRINE_LOG_DIR (empty: none), VITRINE_CONNECTIONS (to a database server),
    VITRINE_MEMO (MiB a worker), VITRINE_TRUSTED_PROXIES, VITRINE_CODE_SECRET and VITRINE_ACCESS_LOG.
    """
    memo = int(os.environ["VITRINE_MEMO"]) << 20 if "VITRINE_MEMO" in os.environ else MEMO_BYTES
    shared = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    tell = Workers(Path(shared)).tell if shared else None
    watch = Watch(Path(os.environ.get("VITRINE_OUT", "dist")), memo, tell=tell)
    metrics = Metrics(log=os.environ.get("VITRINE_ACCESS_LOG", "1") != "0")
    url, connections = os.environ.get("VITRINE_DATABASE", ""), int(os.environ.get("VITRINE_CONNECTIONS", CONNECTIONS))
    database = open_database(url, StoreMeter(), connections) if url else None
    trusted = proxies(os.environ.get("VITRINE_TRUSTED_PROXIES", LOOPBACK))
    logs = os.environ.get("VITRINE_LOG_DIR", "")
    secret = read_secret(os.environ[SECRET]) if os.environ.get(SECRET) else b""
    backstage = Backstage(database, LogFile(Path(logs)) if logs else None, secret)
    return application(lambda request: watch(), metrics, backstage, trusted)


class _Front:
    """The callable. A class, so that a request looks nothing up outside itself."""

    def __init__(self, source: Source, metrics: Metrics | None, backstage: Backstage, trusted: Proxies) -> None:
        self._source = source
        self._metrics = metrics
        self._backstage = backstage
        self._trusted = trusted

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        started = time.perf_counter()
        try:
            request = _request(environ, self._trusted)
            done = exchange(request, self._source(environ), self._backstage)
            if request.length and not request.body:
                _drain(environ, request.length)
        except Exception as error:  # a fault of ours: told to the log whole, to the client without details
            traceback.print_exception(error, file=sys.stderr)
            done = Exchange(_failed(environ))
        response, method = done.response, environ["REQUEST_METHOD"]
        headers = list(response.headers)
        if response.status not in _BODILESS:
            headers.append(("Content-Length", str(len(response.body))))
        start_response(_STATUS_LINES[response.status], headers)
        if self._metrics:
            self._metrics.note(done, method, time.perf_counter() - started)
        return [] if method == "HEAD" else [response.body]  # a list: Granian is fast for no other iterable


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
    return Request(
        _text(environ.get("PATH_INFO", "")).removeprefix("/"),
        _text(environ.get("QUERY_STRING", "")),
        headers,
        method,
        length,
        body,
        address,
    )


def _drain(environ: Environ, length: int) -> None:
    """Read a body that nobody wanted: a proxy that is still sending it takes our answer for a failure."""
    if length <= MAX_UNWANTED:
        environ["wsgi.input"].read(length)


def _length(environ: Environ) -> int:
    """Bytes of the body; 0 where nothing is said, or nothing that is a number."""
    length: str | None = environ.get("CONTENT_LENGTH")
    return int(length) if length and length.isascii() and length.isdecimal() and len(length) <= 18 else 0


def _text(native: str) -> str:
    """What a server hands on as bytes in a string (PEP 3333)."""
    return native if native.isascii() else native.encode("latin-1").decode("utf-8", "replace")


def _failed(environ: Environ) -> Response:
    format = negotiate(environ.get("HTTP_ACCEPT")) or JSON
    response = refuse(Refusal("internal"), format, shipped_schemas())
    return response._replace(headers=(("Content-Type", response.media_type), ("Cache-Control", "no-store")))
