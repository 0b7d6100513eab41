"""Falcon in front: an HTTP request becomes a Request, a Response becomes HTTP. Decides nothing."""

import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import falcon

from vitrine.interface.answer import refuse
from vitrine.interface.call import Request
from vitrine.interface.codes import SECRET, read_secret
from vitrine.interface.formats import JSON, negotiate
from vitrine.problems import Refusal
from vitrine.service.exchange import MAX_BODY, exchange
from vitrine.service.metrics import Metrics
from vitrine.service.proxies import LOCAL, Proxies, read_proxies
from vitrine.service.running import Backstage
from vitrine.service.serving import MEMO_BYTES, Exchange, Serving, Watch, shipped_schemas
from vitrine.service.sql.database import open_database

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Source = Callable[[falcon.Request], Serving | None]
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


MAX_UNWANTED = 2 * 1024 * 1024
"""Bytes of a body that are read though nobody asks for them; our configuration of nginx lets no more through."""


def application(
    source: Source,
    metrics: Metrics | None = None,
    backstage: Backstage | None = None,
    proxies: Proxies | None = None,
) -> Application:
    """The WSGI callable that answers from what ``source`` gives for a request.

    ``proxies``: whom to believe where a request comes from; None: nobody but the connection.
    """
    app = falcon.App(middleware=[_Front(source, metrics, backstage or Backstage(), proxies or read_proxies(""))])
    app.add_error_handler(Exception, _failed)
    made: Application = app
    return made


def make() -> Application:
    """The callable for a server's factory, by the environment.

    VITRINE_OUT, VITRINE_DATABASE (empty: none), VITRINE_MEMO (MiB a worker), VITRINE_PROXIES, VITRINE_CODE_SECRET and
    VITRINE_ACCESS_LOG.
    """
    memo = int(os.environ["VITRINE_MEMO"]) << 20 if "VITRINE_MEMO" in os.environ else MEMO_BYTES
    watch = Watch(Path(os.environ.get("VITRINE_OUT", "dist")), memo)
    metrics = Metrics(log=os.environ.get("VITRINE_ACCESS_LOG", "1") != "0")
    url = os.environ.get("VITRINE_DATABASE", "")
    secret = read_secret(os.environ[SECRET]) if os.environ.get(SECRET) else b""
    backstage = Backstage(open_database(url) if url else None, secret=secret)
    proxies = read_proxies(os.environ.get("VITRINE_PROXIES", LOCAL))
    return application(lambda request: watch(), metrics, backstage, proxies)


class _Front:
    """Answers every path and method before Falcon looks for a route, which would take 1 µs to find the only one."""

    def __init__(self, source: Source, metrics: Metrics | None, backstage: Backstage, proxies: Proxies) -> None:
        self._source = source
        self._metrics = metrics
        self._backstage = backstage
        self._proxies = proxies

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        started = time.perf_counter()
        request = _request(req, self._proxies)
        done = exchange(request, self._source(req), self._backstage)
        _send(done, req, resp)
        if request.length and not request.body:
            _drain(req)
        if self._metrics:
            self._metrics.note(done, req.method, time.perf_counter() - started)


def _request(req: falcon.Request, proxies: Proxies) -> Request:
    environ = req.env
    address = environ.get("REMOTE_ADDR", "")
    headers = {name: environ[key] for key, name in _HEADERS.items() if key in environ}
    method, length, body = environ["REQUEST_METHOD"], _length(environ), b""
    if method in _WITH_BODY:
        address = proxies.client(address, environ.get("HTTP_X_FORWARDED_FOR"))
        headers |= {name: environ[key] for key, name in _OF_WRITES.items() if key in environ}
        if not length and "HTTP_TRANSFER_ENCODING" in environ:
            body = environ["wsgi.input"].read(MAX_BODY + 1)
            length = len(body)
        elif length <= MAX_BODY:
            body = environ["wsgi.input"].read(length) if length else b""
    return Request(
        _text(environ.get("PATH_INFO", "")).removeprefix("/"),
        _text(environ.get("QUERY_STRING", "")),
        headers,
        method,
        length,
        body,
        address,
    )


def _drain(req: falcon.Request) -> None:
    """Read a body that nobody wanted: a proxy that is still sending it takes our answer for a failure."""
    if 0 < (length := _length(req.env)) <= MAX_UNWANTED:
        req.env["wsgi.input"].read(length)


def _length(environ: dict[str, Any]) -> int:
    """Bytes of the body; 0 where nothing is said, or nothing that is a number."""
    length = environ.get("CONTENT_LENGTH") or "0"
    return int(length) if re.fullmatch("[0-9]{1,18}", length) else 0


def _text(native: str) -> str:
    """What a server hands on as bytes in a string (PEP 3333)."""
    return native if native.isascii() else native.encode("latin-1").decode("utf-8", "replace")


def _send(done: Exchange, req: falcon.Request, resp: falcon.Response) -> None:
    response = done.response
    resp.status = response.status
    resp.data = response.body
    resp.set_headers(response.headers)
    resp.complete = True


def _failed(req: falcon.Request, resp: falcon.Response, error: Exception, params: dict[str, Any]) -> None:
    """A fault of ours: told to the log whole, to the client without details."""
    traceback.print_exception(error, file=sys.stderr)
    format = negotiate(req.env.get("HTTP_ACCEPT")) or JSON
    response = refuse(Refusal("internal"), format, shipped_schemas())
    resp.status = response.status
    resp.data = response.body
    resp.set_headers((("Content-Type", response.media_type), ("Cache-Control", "no-store")))
