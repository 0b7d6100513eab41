"""One request → one response: the checks in their order, and the headers that HTTP asks
for.

How this works. The steps are: is the message well formed, is a release being served,
API key, route, sizes, Accept and Content-Type; then body and parameters, the operation
itself, headers. The steps before the semicolon need only the head of a request.
``at_once`` carries these out, so that a server that has not yet received the body can
refuse the request without waiting for it. ``exchange`` carries out all of them. Both go
through ``_exchange``, so they cannot disagree about the order.

A client without a key learns nothing: it gets the same 401 for every path, whether or
not the path exists. What describes the interface (service.documentation) needs no key,
and is answered before anybody looks at one.

Responses from content are cached (serving.ResponseCache) and looked up before the
route. Every response is compressed by what the client accepts (codings), a cached one
before it is stored: so the cache holds what was sent, and no form that nobody asked
for.
"""

from shopwindow.interface.answer import (
    API_KEY_HEADER,
    ERROR_CODES,
    VARY,
    Response,
    answer,
    cache_control,
    no_key,
    refuse,
    respond_to_action,
)
from shopwindow.interface.bind import admit, bind, callback_of
from shopwindow.interface.body import Bodies
from shopwindow.interface.call import Call, Request
from shopwindow.interface.formats import JSON, MEDIA_TYPES, Format, negotiate
from shopwindow.interface.operation import FromContent, Operation
from shopwindow.interface.routes import no_mapping, wrong_method
from shopwindow.interface.validators import etag
from shopwindow.problems import SERVICE, Failure, Fault, Refusal
from shopwindow.release.damage import is_damaged
from shopwindow.service import journal
from shopwindow.service.codings import Accepted, accepted, encoded, is_coded, plain_tag
from shopwindow.service.cors import options, with_cors
from shopwindow.service.database.database import RETRY_AFTER
from shopwindow.service.running import Backstage
from shopwindow.service.serving import (
    CacheKey,
    Exchange,
    Serving,
    formats_of,
    shipped_schemas,
)

MAX_QUERY = 8 * 1024
"""Bytes of a query. RFC 9112 §3 recommends that everybody support request lines of
8,000.
"""

MAX_BODY = 1024 * 1024
"""Bytes of a body: nginx's default (client_max_body_size). Apps send less than 64 KiB.
"""


def exchange(
    request: Request, serving: Serving | None, backstage: Backstage
) -> Exchange:
    """Return the response to a request whose body has been received, with all headers.

    ``serving`` is the release being served, or None before there is one. A Refusal
    becomes a response; so does any other exception, with status 500.
    """
    result = _exchange(request, serving, backstage)
    if result is None:
        raise TypeError("a request is answered or refused once its body is there")
    return result


def at_once(request: Request, serving: Serving | None) -> Exchange | None:
    """Return the response to a request of which only the head is there; ``body`` is
    empty.

    It is a refusal for what the head says, a cached response, or the one to OPTIONS.
    That is the same response that ``exchange`` returns, whatever the body holds.
    Returns None where the body, or work that takes time, decides.
    """
    return _exchange(request, serving, None)


def malformed(hosts: int, version: str, coding: str) -> Fault | None:
    """Return why a message must be answered with 400, though many parsers let it pass.

    ``hosts`` is the number of Host lines, ``version`` is as in `HTTP/1.1`, and
    ``coding`` is Transfer-Encoding, or empty. Two servers in a row that read such a
    message differently take parts of one body for requests of their own (request
    smuggling).
    """
    if hosts > 1 or (hosts == 0 and version == "HTTP/1.1"):  # RFC 9112 §3.2
        return Fault("Host", f"must be given exactly once, not {hosts} times")
    if coding and coding.strip().lower() != "chunked":
        # RFC 9112 §6.1: we decode no other coding
        return Fault("Transfer-Encoding", f"must be chunked, not {coding[:100]}")
    return None


def refuse_arrival(
    code: str, fault: Fault, request: Request, serving: Serving | None
) -> Exchange:
    """Refuse a request for how it arrives (malformed, slow, cut off), whatever it asks
    for.
    """
    format = negotiate(request.headers.get("accept")) or JSON
    refusal = Refusal(code, (fault,))
    varies = serving.vary if serving else ", ".join(VARY)
    schemas = serving.schemas if serving else shipped_schemas()
    response = _with_common_headers(refuse(refusal, format, schemas), varies)
    return Exchange(with_cors(response, request, serving) if serving else response)


def _exchange(
    request: Request, serving: Serving | None, backstage: Backstage | None
) -> Exchange | None:
    """Return the response; None where it takes body or database and ``backstage`` is
    None.
    """
    if request.malformed:
        return refuse_arrival("invalid", request.malformed, request, serving)
    format = negotiate(request.headers.get("accept")) or JSON
    if serving is None:
        return Exchange(_no_release(format))
    if request.method == "OPTIONS":
        return Exchange(with_cors(options(), request, serving), "options")
    result = _admit_and_answer(request, serving, format, backstage)
    if result is None:
        return None
    response = with_cors(_not_modified(result.response, request), request, serving)
    return result if response is result.response else result._replace(response=response)


def _no_release(format: Format) -> Response:
    """Return the 503 of a service that has no release yet."""
    refusal = Refusal(
        "unavailable", (Fault(SERVICE, "no release is being served yet"),)
    )
    return _with_common_headers(
        refuse(refusal, format, shipped_schemas()), ", ".join(VARY)
    )


def _admit_and_answer(
    request: Request, serving: Serving, format: Format, backstage: Backstage | None
) -> Exchange | None:
    """Take a request from its API key to its response.

    The response does not depend on If-None-Match and Origin yet, so it can be cached.
    Returns None where the head is in order and ``backstage`` is None.
    """
    application = serving.clients.application(request.headers.get(API_KEY_HEADER))
    order_host = serving.on_order_host(request.headers.get("host"))
    accept = accepted(request.headers.get("accept-encoding"))
    cache_key = CacheKey(
        request.path,
        request.query,
        formats_of(request.headers.get("accept")),
        application,
    )

    needs_key = serving.interface.applications is not None
    admitted = application is not None or not needs_key
    # The key of the cache does not name the host, and the order host has paths of its
    # own.
    is_read = (
        request.method in ("GET", "HEAD") and not request.length and not order_host
    )
    if admitted and is_read:
        cached = _from_cache(serving, cache_key, accept, may_work=backstage is not None)
        if cached:
            return cached

    if page := _page_of_documentation(request, serving):
        may_work = backstage is not None
        return _document(page, request, serving, accept, may_work=may_work)

    operation: Operation | None = None
    # An operation of this path: its form of failures holds for other methods as well.
    owner: Operation | None = None
    try:
        inner, order_host = _below_base_url(request, serving)
        owner = (
            serving.interface.routes.owner(inner, order_host) if order_host else None
        )
        operation, texts = serving.interface.routes.route(inner, order_host=order_host)
        if not admitted:
            raise no_key()
        _check_sizes(request)
        admit(inner, operation)
        if backstage is None:
            return None

        _check_body_complete(request)
        call = bind(
            inner,
            application,
            serving.interface,
            (operation, texts),
            Bodies(serving.schemas, serving.content),
            serving.content,
        )
        response = _with_common_headers(
            _response(call, inner, serving, backstage), serving.vary
        )
        result = Exchange(response, operation.name, application, ignored=call.ignored)
        if is_read and isinstance(operation.source, FromContent):
            return _into_cache(serving, cache_key, result, accept)
        return result._replace(response=encoded(response, accept))
    except Refusal as raised:
        # Without a key nobody learns whether a path exists, or what is wrong with it.
        refusal = raised if admitted else no_key()
    except Exception as error:
        # Our own fault: the log gets all of it, and the client no details.
        refusal = _refusal_for(error, serving)

    callback = None
    if operation and admitted:
        callback = _callback_for_refusal(request, operation)
    refused = refuse(
        refusal,
        JSON if callback else format,
        serving.schemas,
        operation or owner,
        callback,
    )
    return Exchange(
        encoded(_with_common_headers(refused, serving.vary), accept),
        operation.name if operation and admitted else "none",
        application,
        refused=ERROR_CODES[refusal.code].status if callback else None,
    )


def _from_cache(
    serving: Serving, key: CacheKey, accept: Accepted, *, may_work: bool
) -> Exchange | None:
    """Return a cached response in the form that the client accepts, or None.

    ``may_work``: compress it if only the body as it is is there. The event loop may not.
    """
    coded = serving.cache.get(_in_form(key, accept)) if accept.coding else None
    if coded:
        return coded
    plain = serving.cache.get(key)
    if plain is None or not is_coded(plain.response, accept):
        return plain
    return _into_cache(serving, key, plain, accept) if may_work else None


def _into_cache(
    serving: Serving, key: CacheKey, plain: Exchange, accept: Accepted
) -> Exchange:
    """Store a response in the form that the client accepts, and return it."""
    coded = plain._replace(response=encoded(plain.response, accept))
    is_plain = coded.response is plain.response
    serving.cache.add(key if is_plain else _in_form(key, accept), coded)
    return coded


def _in_form(key: CacheKey, accept: Accepted) -> CacheKey:
    return key._replace(coding=accept.coding.name if accept.coding else "")


def _callback_for_refusal(request: Request, operation: Operation) -> str | None:
    """Return the function that gets a refusal, because a page waits for it.

    Its name must be valid, and Accept must admit a script; a client that asks for XML
    gets the refusal in XML.
    """
    if negotiate(request.headers.get("accept"), script=True) is not JSON:
        return None
    return callback_of(operation, request.query)


def _refusal_for(error: Exception, serving: Serving) -> Refusal:
    """Return the Refusal for an error that is not the client's. The log gets all of it."""
    # A file of the release, its catalog: faults of the database come as Refusals.
    if is_damaged(error):
        serving.report_damage(str(error))
        return Refusal(
            "unavailable",
            (Fault(SERVICE, "the catalog cannot be read now"),),
            RETRY_AFTER,
        )
    if isinstance(error, Failure):  # the operator's, in words for them: no traceback
        journal.error("setup", str(error))
    else:
        journal.failure(error)
    return Refusal("internal")


def _response(
    call: Call, request: Request, serving: Serving, backstage: Backstage
) -> Response:
    """Answer a Call from content, or perform its action. Raises Refusal."""
    if isinstance(call.operation.source, FromContent):
        return answer(call, serving.content, serving.schemas)
    outcome = backstage.perform(call, request, serving.content, serving.status)
    return respond_to_action(call, outcome, serving.schemas)


def _below_base_url(request: Request, serving: Serving) -> tuple[Request, bool]:
    """Return the request with its path below a base URL, and whether that is the order
    host's.

    Where both base URLs have one host and paths inside each other, the first one that
    has an operation there is taken. Raises Refusal where the path lies below none.
    """
    urls = serving.urls(request.headers.get("host"))
    for order_host, base in urls:
        path = _below(base, request.path)
        if path is None:
            continue
        inner = request._replace(path=path) if base else request
        if len(urls) == 1 or serving.interface.routes.of(
            inner.path.removesuffix("/"), order_host
        ):
            return inner, order_host
    raise no_mapping()


def _below(base: str, path: str) -> str | None:
    """Return what a path says below a base URL's path; None where it is not below it."""
    if not base:
        return path
    return path[len(base) + 1 :] if path.startswith(f"{base}/") else None


def _page_of_documentation(request: Request, serving: Serving) -> str | None:
    """Return the path below the base URL of a page of the documentation; None for any
    other request.
    """
    if serving.documentation is None:
        return None
    for order_host, base in serving.urls(request.headers.get("host")):
        path = (_below(base, request.path) or "").removesuffix("/")
        if not order_host and path in serving.documentation.paths:
            return path
    return None


def _document(
    page: str, request: Request, serving: Serving, accept: Accepted, *, may_work: bool
) -> Exchange | None:
    """Answer a request for the documentation, which needs no key.

    Returns None where it is printed or compressed, and this thread may do no work.
    """
    if serving.documentation is None:
        raise TypeError(f"{page}: this service has no documentation")
    try:
        if request.method not in ("GET", "HEAD"):
            raise wrong_method(("GET", "HEAD", "OPTIONS"), request.method)
        if not may_work:
            return None
        response = serving.documentation.response(page, accept)
        return Exchange(response, "documentation")
    except Refusal as raised:
        refusal = raised
    except Exception as error:
        refusal = _refusal_for(error, serving)
    format = negotiate(request.headers.get("accept")) or JSON
    refused = refuse(refusal, format, serving.schemas)
    response = encoded(_with_common_headers(refused, serving.vary), accept)
    return Exchange(response, "documentation")


def _check_sizes(request: Request) -> None:
    """Refuse a query or a body that is too large, and a body without a Content-Type."""
    if len(request.query.encode()) > MAX_QUERY:
        raise Refusal(
            "uri_too_long",
            (
                Fault(
                    "query",
                    f"must have at most {MAX_QUERY} bytes, not {len(request.query.encode())}",
                ),
            ),
        )
    if request.length > MAX_BODY:
        allowed = f"must have at most {MAX_BODY} bytes"
        raise Refusal("too_large", (Fault("body", allowed),))
    if request.length and not request.headers.get("content-type"):
        missing = f"must be {MEDIA_TYPES}; it is missing"
        raise Refusal("media_type", (Fault("Content-Type", missing),))


def _check_body_complete(request: Request) -> None:
    """Refuse a body that ended early (RFC 9112 §8: the message is incomplete)."""
    if request.method not in ("GET", "HEAD") and len(request.body) < request.length:
        raise Refusal(
            "invalid",
            (
                Fault(
                    "body", f"ended after {len(request.body)} of {request.length} bytes"
                ),
            ),
        )


def _with_common_headers(response: Response, varies: str) -> Response:
    """Add the headers that do not depend on who asks: type, caching and, with 200, the
    ETag.
    """
    status, media_type, body, lifetime, own = response
    if status == 200 and lifetime is not None:
        own = (("ETag", etag(body)), *own)
    common = (
        ("Content-Type", media_type),
        ("Cache-Control", cache_control(lifetime)),
        ("Vary", varies),
    )
    return Response(status, media_type, body, lifetime, common + own)


def _not_modified(response: Response, request: Request) -> Response:
    """Return 304 where the client has this response already, in any form (RFC 9110
    §13.1.2).

    A response that no cache may store stays as it is: a bag's ETag stands for the state
    of the bag, not for the prices, the format and the options of this response.
    """
    condition = request.headers.get("if-none-match")
    if condition is None or response.status != 200 or response.lifetime is None:
        return response
    tag = plain_tag(dict(response.headers)["ETag"])
    tags = [plain_tag(part) for part in condition.split(",")]
    if "*" not in tags and tag not in tags:
        return response
    headers = tuple(
        (name, value)
        for name, value in response.headers
        if name not in ("Content-Type", "Content-Encoding")
    )
    return response._replace(status=304, body=b"", headers=headers)
