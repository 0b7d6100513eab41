"""One request → one response: the order of the checks (design 3), and what HTTP asks for around
an answer.

Most of the checks need the head of a request alone. ``at_once`` makes these, so that a server
which has not yet received the body can refuse the request without waiting for it; ``exchange``
makes all of them.
"""

import sqlite3
from collections.abc import Mapping

from shopwindow.interface.answer import (
    API_KEY_HEADER,
    VARY,
    Response,
    answer,
    cache_control,
    refuse,
    respond_to_action,
)
from shopwindow.interface.bind import admit, bind
from shopwindow.interface.body import Bodies
from shopwindow.interface.call import Call, Request
from shopwindow.interface.formats import JSON, MEDIA_TYPES, Format, negotiate
from shopwindow.interface.operation import FromContent, Operation
from shopwindow.interface.routes import METHODS
from shopwindow.interface.validators import etag
from shopwindow.problems import Failure, Fault, Refusal
from shopwindow.service import journal, requestid
from shopwindow.service.database.database import RETRY_AFTER
from shopwindow.service.running import Backstage
from shopwindow.service.serving import Exchange, Serving, shipped_schemas

MAX_QUERY = 8 * 1024
MAX_BODY = 1024 * 1024
PREFLIGHT_SECONDS = 600
EXPOSED = f"ETag, Retry-After, {requestid.HEADER}"
ALLOWED_HEADERS = ", ".join(
    (
        API_KEY_HEADER,
        "Accept",
        "Content-Type",
        "If-None-Match",
        "If-Match",
        "Idempotency-Key",
        requestid.HEADER,
    )
)

DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR}
"""What SQLite says of a file whose bytes are not its own, or that the disk does not give."""


def exchange(request: Request, serving: Serving | None, backstage: Backstage) -> Exchange:
    """The answer to a request whose body is there, headers and all. Never raises a Refusal."""
    done = _exchange(request, serving, backstage)
    if done is None:
        raise TypeError("a request is answered or refused once its body is there")
    return done


def at_once(request: Request, serving: Serving | None) -> Exchange | None:
    """The answer to a request of which only the head is there, ``body`` left empty.

    It is a refusal for what the head says, an answer from the cache, or that to OPTIONS; the
    same that ``exchange`` gives, whatever the body holds. None where the body, or work that
    takes time, decides.
    """
    return _exchange(request, serving, None)


def malformed(hosts: int, version: str, coding: str) -> Fault | None:
    """What makes a message one that HTTP/1.1 servers must not answer, though many parsers let
    it pass.

    ``hosts``: how many Host lines the head has. ``version``: as in `HTTP/1.1`. ``coding``:
    Transfer-Encoding, or nothing. Two servers that read such a message differently take parts
    of one body for requests of their own.
    """
    if hosts > 1 or (hosts == 0 and version == "HTTP/1.1"):  # RFC 9112 §3.2
        return Fault("Host", f"must be given exactly once, not {hosts} times")
    if (
        coding and coding.strip().lower() != "chunked"
    ):  # RFC 9112 §6.1: we decode no other coding
        return Fault("Transfer-Encoding", f"must be chunked, not {coding[:100]}")
    return None


def refused(code: str, fault: Fault, request: Request, serving: Serving | None) -> Exchange:
    """A refusal that comes of how a request arrives, whatever it asks for."""
    format = negotiate(request.headers.get("accept")) or JSON
    refusal = Refusal(code, (fault,))
    varies = serving.vary if serving else ", ".join(VARY)
    schemas = serving.schemas if serving else shipped_schemas()
    response = _complete(refuse(refusal, format, schemas), varies)
    return Exchange(_with_cors(response, request, serving) if serving else response)


def _exchange(
    request: Request, serving: Serving | None, backstage: Backstage | None
) -> Exchange | None:
    """The answer; None where it takes the body or the backstage, and there is no backstage."""
    if request.malformed:
        return refused("invalid", request.malformed, request, serving)
    format = negotiate(request.headers.get("accept")) or JSON
    if serving is None:
        return Exchange(_unserved(format))
    if request.method == "OPTIONS":
        return Exchange(_with_cors(_options(), request, serving), "options")
    done = _asked(request, serving, format, backstage)
    if done is None:
        return None
    response = _with_cors(_conditional(done.response, request), request, serving)
    return done if response is done.response else done._replace(response=response)


def _unserved(format: Format) -> Response:
    refusal = Refusal("unavailable", (Fault("", "no release is being served yet"),))
    return _complete(refuse(refusal, format, shipped_schemas()), ", ".join(VARY))


def _asked(
    request: Request, serving: Serving, format: Format, backstage: Backstage | None
) -> Exchange | None:
    application = serving.clients.application(request.headers.get(API_KEY_HEADER))
    order_host = serving.on_order_host(request.headers.get("host"))
    question = (request.path, request.query, request.headers.get("accept"), application)
    admitted = (
        application is not None or serving.interface.applications is None
    )  # then nobody needs a key
    reads = request.method in ("GET", "HEAD") and not request.length and not order_host
    if admitted and reads:
        known = serving.memo.get(question)
        if known:
            return known
    operation: Operation | None = None
    asked: Operation | None = None  # what the path is of, though the method may be another's
    try:
        inner, order_host = _placed(request, serving)
        asked = serving.interface.routes.owner(inner, order_host) if order_host else None
        operation, texts = serving.interface.routes.route(inner, order_host=order_host)
        if not admitted:
            raise Refusal("no_key")
        _sizes(request)
        admit(inner, operation)
        if backstage is None:
            return None
        _whole(request)
        call = bind(
            inner,
            application,
            serving.interface,
            (operation, texts),
            Bodies(serving.schemas, serving.content),
        )
        response = _complete(_answer(call, inner, serving, backstage), serving.vary)
        done = Exchange(response, operation.name, application)
        if reads and isinstance(operation.source, FromContent):
            serving.memo.keep(question, done)
        return done
    except Refusal as refused:
        refusal = (
            refused if admitted else Refusal("no_key")
        )  # whatever the path: nothing is learned without a key
        response = _complete(
            refuse(refusal, format, serving.schemas, operation or asked), serving.vary
        )
    except (
        Exception
    ) as error:  # a fault of ours: told to the log whole, to the client without details
        response = _complete(
            refuse(_blamed(error, serving), format, serving.schemas, operation or asked),
            serving.vary,
        )
    return Exchange(response, operation.name if operation and admitted else "none", application)


def _blamed(error: Exception, serving: Serving) -> Refusal:
    """What a client is told of a fault that is not its own; the log has all of it."""
    if is_damaged(error):  # of the release's catalog: the database's faults come as Refusals
        serving.leave(str(error))
        return Refusal(
            "unavailable", (Fault("", "the catalog cannot be read now"),), RETRY_AFTER
        )
    if isinstance(error, Failure):  # of whoever set the service up, in words for them
        journal.error("setup", str(error))
    else:
        journal.failure(error)
    return Refusal("internal")


def is_damaged(error: Exception) -> bool:
    """Whether SQLite says that a file is not in order, or cannot be read from its disk."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.Error) and code is not None and code & 0xFF in DAMAGED


def _answer(call: Call, request: Request, serving: Serving, backstage: Backstage) -> Response:
    if isinstance(call.operation.source, FromContent):
        return answer(call, serving.content, serving.schemas)
    return respond_to_action(
        call, backstage.perform(call, request, serving.content, serving.status), serving.schemas
    )


def _placed(request: Request, serving: Serving) -> tuple[Request, bool]:
    """The request as seen from the URL that it came to, and whether that is the order host's.
    Raises Refusal.
    """
    urls = serving.urls(request.headers.get("host"))
    for order_host, base in urls:
        if base and not request.path.startswith(f"{base}/"):
            continue
        inner = request._replace(path=request.path[len(base) + 1 :]) if base else request
        if len(urls) == 1 or serving.interface.routes.of(
            inner.path.removesuffix("/"), order_host
        ):
            return inner, order_host
    raise Refusal("no_mapping", (Fault("", "the path is not one of the interface"),))


def _sizes(request: Request) -> None:
    if len(request.query.encode()) > MAX_QUERY:
        raise Refusal(
            "uri_too_long", (Fault("", f"the query may have at most {MAX_QUERY} bytes"),)
        )
    if request.length > MAX_BODY:
        raise Refusal("too_large", (Fault("", f"the body may have at most {MAX_BODY} bytes"),))
    if request.length and not request.headers.get("content-type"):
        raise Refusal("media_type", (Fault("Content-Type", f"must be {MEDIA_TYPES}"),))


def _whole(request: Request) -> None:
    """Refuse a body that ended early (RFC 9112 §8: the message is incomplete)."""
    if request.method not in ("GET", "HEAD") and len(request.body) < request.length:
        raise Refusal(
            "invalid",
            (Fault("body", f"ended after {len(request.body)} of {request.length} bytes"),),
        )


def _complete(response: Response, varies: str) -> Response:
    """A response with the headers that every reader of it gets."""
    status, media_type, body, lifetime, own = response
    if status == 200 and lifetime is not None:
        own = (("ETag", etag(body)), *own)
    common = (
        ("Content-Type", media_type),
        ("Cache-Control", cache_control(lifetime)),
        ("Vary", varies),
    )
    return Response(status, media_type, body, lifetime, common + own)


def _conditional(response: Response, request: Request) -> Response:
    """304 where the client has the answer already (RFC 9110 §13.1.2).

    Never where nobody may keep it: a bag's ETag is of the bag's state, not of prices, format
    and options.
    """
    condition = request.headers.get("if-none-match")
    if condition is None or response.status != 200 or response.lifetime is None:
        return response
    tag = dict(response.headers)["ETag"]
    tags = [part.strip().removeprefix("W/") for part in condition.split(",")]
    if "*" not in tags and tag not in tags:
        return response
    kept = tuple((name, value) for name, value in response.headers if name != "Content-Type")
    return response._replace(status=304, body=b"", headers=kept)


def _options() -> Response:
    """OPTIONS, alike for every path and before the key is looked at: nothing is learned from
    it.
    """
    return Response(
        204, "", b"", headers=(("Allow", ", ".join(METHODS)), ("Cache-Control", "no-store"))
    )


def _with_cors(response: Response, request: Request, serving: Serving) -> Response:
    """What a browser needs to hand the answer to a page of a listed origin (Fetch §3.2)."""
    origin = request.headers.get("origin")
    if origin is None or origin not in serving.origins:
        return response
    headers: Mapping[str, str] = {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": EXPOSED,
    }
    if request.method == "OPTIONS":
        headers = {
            **headers,
            "Access-Control-Allow-Methods": ", ".join(METHODS),
            "Access-Control-Allow-Headers": ALLOWED_HEADERS,
            "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
            "Vary": "Origin",
        }
    return response._replace(headers=(*response.headers, *headers.items()))
