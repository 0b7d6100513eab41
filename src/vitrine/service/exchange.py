"""One request → one response: the order of the checks (design 3), and what HTTP asks for around an answer."""

import sys
import traceback
from collections.abc import Mapping

from vitrine.interface.answer import (
    KEY_HEADER,
    VARY,
    Response,
    answer,
    cache_control,
    refuse,
    respond_to_action,
)
from vitrine.interface.bind import METHODS, ROUTES, bind, owner, route
from vitrine.interface.body import Bodies
from vitrine.interface.call import Call, Request
from vitrine.interface.formats import JSON, MEDIA_TYPES, Format, negotiate
from vitrine.interface.operation import FromContent, Operation
from vitrine.interface.validators import etag
from vitrine.problems import Failure, Fault, Refusal
from vitrine.service.running import Backstage
from vitrine.service.serving import Exchange, Serving, shipped_schemas

MAX_QUERY = 8 * 1024
MAX_BODY = 1024 * 1024
PREFLIGHT_SECONDS = 600
EXPOSED = "ETag, Retry-After"
ALLOWED_HEADERS = f"{KEY_HEADER}, Accept, Content-Type, If-None-Match, If-Match, Idempotency-Key"


def exchange(request: Request, serving: Serving | None, backstage: Backstage) -> Exchange:
    """The answer to a request, headers and all. Never raises a Refusal."""
    format = negotiate(request.headers.get("accept")) or JSON
    if serving is None:
        return Exchange(_unserved(format))
    if request.method == "OPTIONS":
        return Exchange(_with_cors(_options(), request, serving), "options")
    done = _asked(request, serving, format, backstage)
    response = _with_cors(_conditional(done.response, request), request, serving)
    return done if response is done.response else done._replace(response=response)


def _unserved(format: Format) -> Response:
    refusal = Refusal("unavailable", (Fault("", "no release is being served yet"),))
    return _complete(refuse(refusal, format, shipped_schemas()), ", ".join(VARY))


def _asked(request: Request, serving: Serving, format: Format, backstage: Backstage) -> Exchange:
    application = serving.clients.application(request.headers.get(KEY_HEADER))
    order_host = serving.on_order_host(request.headers.get("host"))
    question = (request.path, request.query, request.headers.get("accept"), application)
    reads = request.method in ("GET", "HEAD") and not request.length and not order_host
    if application and reads:
        known = serving.memo.get(question)
        if known:
            return known
    operation: Operation | None = None
    asked: Operation | None = None  # what the path is of, though the method may be another's
    try:
        inner, order_host = _placed(request, serving)
        asked = owner(inner, order_host) if order_host else None
        operation, texts = route(inner, order_host=order_host)
        if application is None:
            raise Refusal("no_key")
        _sizes(request)
        call = bind(inner, application, (operation, texts), Bodies(serving.schemas, serving.content))
        response = _complete(_answer(call, inner, serving, backstage), serving.vary)
        done = Exchange(response, operation.name, application)
        if reads and isinstance(operation.source, FromContent):
            serving.memo.keep(question, done)
        return done
    except Refusal as refused:
        refusal = refused if application else Refusal("no_key")  # whatever the path: nothing is learned without a key
        response = _complete(refuse(refusal, format, serving.schemas, operation or asked), serving.vary)
    except Exception as error:  # a fault of ours: told to the log whole, to the client without details
        if isinstance(error, Failure):  # of whoever set the service up, in words for them
            print(f"vitrine: {error}", file=sys.stderr, flush=True)
        else:
            traceback.print_exception(error, file=sys.stderr)
        response = _complete(refuse(Refusal("internal"), format, serving.schemas, operation or asked), serving.vary)
    return Exchange(response, operation.name if operation and application else "none", application)


def _answer(call: Call, request: Request, serving: Serving, backstage: Backstage) -> Response:
    if isinstance(call.operation.source, FromContent):
        return answer(call, serving.content, serving.schemas)
    return respond_to_action(call, backstage.perform(call, request, serving.content, serving.status), serving.schemas)


def _placed(request: Request, serving: Serving) -> tuple[Request, bool]:
    """The request as seen from the URL that it came to, and whether that is the order host's. Raises Refusal."""
    urls = serving.urls(request.headers.get("host"))
    for order_host, base in urls:
        if base and not request.path.startswith(f"{base}/"):
            continue
        inner = request._replace(path=request.path[len(base) + 1 :]) if base else request
        if len(urls) == 1 or ROUTES.of(inner.path.removesuffix("/"), order_host):
            return inner, order_host
    raise Refusal("no_mapping", (Fault("", "the path is not one of the interface"),))


def _sizes(request: Request) -> None:
    if len(request.query.encode()) > MAX_QUERY:
        raise Refusal("uri_too_long", (Fault("", f"the query may have at most {MAX_QUERY} bytes"),))
    if request.length > MAX_BODY:
        raise Refusal("too_large", (Fault("", f"the body may have at most {MAX_BODY} bytes"),))
    if request.length and not request.headers.get("content-type"):
        raise Refusal("media_type", (Fault("Content-Type", f"must be {MEDIA_TYPES}"),))
    if request.method not in ("GET", "HEAD") and len(request.body) < request.length:  # RFC 9112 §8: it is incomplete
        raise Refusal("invalid", (Fault("body", f"ended after {len(request.body)} of {request.length} bytes"),))


def _complete(response: Response, varies: str) -> Response:
    """A response with the headers that every reader of it gets."""
    status, media_type, body, lifetime, own = response
    if status == 200 and lifetime is not None:
        own = (("ETag", etag(body)), *own)
    common = (("Content-Type", media_type), ("Cache-Control", cache_control(lifetime)), ("Vary", varies))
    return Response(status, media_type, body, lifetime, common + own)


def _conditional(response: Response, request: Request) -> Response:
    """304 where the client has the answer already (RFC 9110 §13.1.2).

    Never where nobody may keep it: a bag's ETag is of the bag's state, not of prices, format and options.
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
    """OPTIONS, alike for every path and before the key is looked at: nothing is learned from it."""
    return Response(204, "", b"", headers=(("Allow", ", ".join(METHODS)), ("Cache-Control", "no-store")))


def _with_cors(response: Response, request: Request, serving: Serving) -> Response:
    """What a browser needs to hand the answer to a page of a listed origin (Fetch §3.2)."""
    origin = request.headers.get("origin")
    if origin is None or origin not in serving.origins:
        return response
    headers: Mapping[str, str] = {"Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": EXPOSED}
    if request.method == "OPTIONS":
        headers = {
            **headers,
            "Access-Control-Allow-Methods": ", ".join(METHODS),
            "Access-Control-Allow-Headers": ALLOWED_HEADERS,
            "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
            "Vary": "Origin",
        }
    return response._replace(headers=(*response.headers, *headers.items()))
