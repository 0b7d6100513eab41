"""One request → one response: the checks in their order, and the headers that HTTP asks
for.

The steps, and why in this order:

1. Is the message well formed? If two servers can read it differently, nothing else in
   it can be believed.
2. Is a release being served? Without one there is nothing to answer from.
3. Is it OPTIONS? A browser sends that before the request itself, and without the key.
4. Is the response in the cache? Most reads end here, so no path is compared before. A
   client that lacks an API key gets nothing from there.
5. Is it a page that describes the interface (service.documentation)? That needs no key.
6. Path and method: which operation is it?
7. API key. A client without one gets the same 401 for every path, whether or not the
   path exists: whatever step 6 refuses becomes this 401.
8. Sizes; then Accept and Content-Type, of which the operation says what it takes.
9. Is the body complete? Then body and parameters become a Call, and a refusal has all
   their faults.
10. The operation itself; then headers and content coding. A response from content is
    cached.
11. What depends on when and who asks, and so comes after the cache: how long the
    response may be stored, If-None-Match, and Origin.

The steps up to 8 need only the head of a request. ``at_once`` takes these, so that a
server that has not yet received the body can refuse the request without waiting for it.
``exchange`` takes all of them. Both go through ``_exchange``, so they cannot disagree
about the order.

Every response is compressed by what the client accepts (codings), a cached one before
it is stored: so the cache holds what was sent, and each form by itself.
"""

from collections.abc import Sequence
from typing import NamedTuple

from shopwindow.interface.answering.answer import (
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
from shopwindow.interface.answering.validators import etag
from shopwindow.interface.declaring.operation import FromContent, Operation
from shopwindow.interface.declaring.routes import (
    Routed,
    methods,
    no_mapping,
    wrong_method,
)
from shopwindow.interface.formats import JSON, AcceptedFormats, Format, accepted_formats
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import admit, bind, callback_of
from shopwindow.interface.requests.body import Bodies
from shopwindow.problems import SERVICE, Failure, Fault, Refusal
from shopwindow.release.damage import is_damaged
from shopwindow.service import journal
from shopwindow.service.codings import Accepted, accepted, encoded, plain_tag
from shopwindow.service.cors import options, with_cors
from shopwindow.service.database.engine import RETRY_AFTER
from shopwindow.service.documentation import Documentation
from shopwindow.service.message import check_body_complete, check_sizes
from shopwindow.service.running import Backstage
from shopwindow.service.serving import (
    CacheKey,
    Exchange,
    Serving,
    shipped_schemas,
)

DOCUMENTATION_METHODS = ("GET", "HEAD", "OPTIONS")
"""Methods of a page that describes the interface."""

AWAITED_SECONDS = 60.0
"""How long after its last instant a release's responses are not stored: the next one
becomes current within a second, and large ones take some more to be loaded.
"""

DOCUMENTATION = "documentation"
"""What the log and the metrics call a request for a page of the documentation."""


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


def refuse_arrival(
    code: str, fault: Fault, request: Request, serving: Serving | None
) -> Exchange:
    """Refuse a request for how it arrives (malformed, slow, cut off), whatever it asks
    for.
    """
    format = accepted_formats(request.headers.get("accept")).refusal
    refusal = Refusal(code, (fault,))
    varies = serving.vary if serving else VARY
    schemas = serving.schemas if serving else shipped_schemas()
    response = _with_common_headers(refuse(refusal, format, schemas), varies)
    return Exchange(with_cors(response, request, serving) if serving else response)


# -- the order of a request ------------------------------------------------------------


def _exchange(
    request: Request, serving: Serving | None, backstage: Backstage | None
) -> Exchange | None:
    """Take all steps, the first five and the last one here.

    Returns None where body or database decide and ``backstage`` is None.
    """
    if request.malformed:
        return refuse_arrival("invalid", request.malformed, request, serving)
    if serving is None:
        return Exchange(_no_release(request))
    if request.method == "OPTIONS":
        allowed = _methods_to_tell(request, serving)
        return Exchange(with_cors(options(allowed), request, serving), "options")

    arrival = _arrival(request, serving)
    key = arrival.cache_key
    result = serving.cache.get(key) if key else None
    if result is None:
        result = _admit_and_answer(arrival, _place(request, serving), backstage)
    if result is None:
        return None

    response = _not_beyond(serving.next_change - serving.clock(), result.response)
    response = with_cors(_not_modified(response, request), request, serving)
    return result if response is result.response else result._replace(response=response)


class _Arrival(NamedTuple):
    """A request, and what its headers say whatever its path is.

    Attributes:
        request: as it came.
        serving: what it is answered from.
        formats: what Accept gets.
        codings: what Accept-Encoding gets.
        application: whose API key was sent; None: no valid one was.
        is_admitted: whether the client has a key, or needs none.
        cache_key: of its response; None: the cache has no response for such a request.
    """

    request: Request
    serving: Serving
    formats: AcceptedFormats
    codings: Accepted
    application: str | None
    is_admitted: bool
    cache_key: CacheKey | None


def _arrival(request: Request, serving: Serving) -> _Arrival:
    headers = request.headers
    formats = accepted_formats(headers.get("accept"))
    application = serving.clients.application(headers.get(API_KEY_HEADER))
    is_admitted = application is not None or serving.interface.applications is None
    is_read = request.method in ("GET", "HEAD") and not request.length
    codings = accepted(headers.get("accept-encoding"))
    cache_key = None
    # The key of the cache does not name the host, and the order host has paths of its
    # own.
    if is_admitted and is_read and not serving.on_order_host(headers.get("host")):
        cache_key = CacheKey(
            request.path, request.query, formats.name, application, codings
        )
    return _Arrival(
        request, serving, formats, codings, application, is_admitted, cache_key
    )


class _Place(NamedTuple):
    """Where a request lies.

    Attributes:
        path: below its base URL.
        order_host: whether that is the order host's.
        documentation: has this page; None: an operation is asked for.
    """

    path: str
    order_host: bool
    documentation: Documentation | None


def _admit_and_answer(
    arrival: _Arrival, place: _Place | None, backstage: Backstage | None
) -> Exchange | None:
    """Take the steps from 5 to 10: from the path to the response, or to the refusal.

    The response does not depend on If-None-Match and Origin yet, so it can be cached.
    Returns None where the head is in order and ``backstage`` is None.
    """
    request, serving = arrival.request, arrival.serving
    routes = serving.interface.routes
    operation: Operation | None = None
    # An operation of this path: its form of failures holds for other methods as well.
    owner: Operation | None = None
    pages = place.documentation if place else None
    try:
        if place is None:
            raise no_mapping()
        if pages:
            if request.method not in ("GET", "HEAD"):
                raise wrong_method(DOCUMENTATION_METHODS, request.method)
            if backstage is None:
                return None
            response = pages.response(place.path, arrival.codings)
            return Exchange(response, DOCUMENTATION)

        inner = request._replace(path=place.path)
        owner = routes.owner(inner, True) if place.order_host else None
        operation, texts = routes.route(inner, order_host=place.order_host)
        if not arrival.is_admitted:
            raise no_key()
        check_sizes(request)
        format = admit(inner, operation, arrival.formats)
        if backstage is None:
            return None

        check_body_complete(request)
        arrival = arrival._replace(request=inner)
        return _answered(arrival, (operation, texts), format, backstage)
    except Refusal as raised:
        # Without a key nobody learns whether a path exists, or what is wrong with it.
        refusal = raised if arrival.is_admitted or pages else no_key()
        if refusal.code == "no_mapping":
            refusal = _unmapped(request, serving)
    except Exception as error:
        # Our own fault: the log gets all of it, and the client no details.
        refusal = _refusal_for(error, serving)
    result = _refused(refusal, arrival, operation, owner)
    return result._replace(operation=DOCUMENTATION) if pages else result


def _answered(
    arrival: _Arrival, routed: Routed, format: Format, backstage: Backstage
) -> Exchange:
    """Take the steps 9 and 10 with a complete body: bind the request, then answer the
    Call from content, or perform its action.

    ``arrival`` has the request below its base URL. Raises Refusal.
    """
    request, serving = arrival.request, arrival.serving
    call = bind(
        request,
        arrival.application,
        serving.interface,
        routed,
        Bodies(serving.schemas, serving.content),
        serving.content,
        format,
    )
    is_from_content = isinstance(call.operation.source, FromContent)
    if is_from_content:
        response = answer(call, serving.content, serving.schemas)
    else:
        outcome = backstage.perform(call, request, serving.content, serving.status)
        response = respond_to_action(call, outcome, serving.schemas)

    stale = serving.content.setting("stale")
    response = _with_common_headers(response, serving.vary, stale)
    response = encoded(response, arrival.codings)
    name, application = call.operation.name, arrival.application
    result = Exchange(response, name, application, ignored=call.ignored)
    if is_from_content and arrival.cache_key:
        serving.cache.add(arrival.cache_key, result)
    return result


def _refused(
    refusal: Refusal,
    arrival: _Arrival,
    operation: Operation | None,
    owner: Operation | None,
) -> Exchange:
    """Return the response that says a Refusal, in the form that the operation has for
    it.

    ``operation`` is the one that was reached, and ``owner`` the one whose form holds if
    none was. A client without a key does not learn which one it reached.
    """
    reached = operation if arrival.is_admitted else None
    callback = _callback_for_refusal(arrival, reached) if reached else None
    refused = refuse(
        refusal,
        JSON if callback else arrival.formats.refusal,
        arrival.serving.schemas,
        operation or owner,
        callback,
    )
    response = _with_common_headers(refused, arrival.serving.vary)
    return Exchange(
        encoded(response, arrival.codings),
        reached.name if reached else "none",
        arrival.application,
        refused=ERROR_CODES[refusal.code].status if callback else None,
    )


def _callback_for_refusal(arrival: _Arrival, operation: Operation) -> str | None:
    """Return the function that gets a refusal, because a page waits for it.

    Its name must be valid, and Accept must admit a script; a client that asks for XML
    gets the refusal in XML.
    """
    if arrival.formats.script is not JSON:
        return None
    return callback_of(operation, arrival.request.query)


# -- faults of ours --------------------------------------------------------------------


def _no_release(request: Request) -> Response:
    """Return the 503 of a service that has no release yet."""
    format = accepted_formats(request.headers.get("accept")).refusal
    fault = Fault(SERVICE, "no release is being served yet")
    refused = refuse(Refusal("unavailable", (fault,)), format, shipped_schemas())
    return _with_common_headers(refused, VARY)


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


# -- the path --------------------------------------------------------------------------


def _place(request: Request, serving: Serving) -> _Place | None:
    """Return where a request lies; None where that is below no base URL.

    Where both base URLs have one host and paths inside each other, it is the first one
    that has something there.
    """
    urls = serving.urls(request.headers.get("host"))
    for order_host, base in urls:
        path = _below(base, request.path)
        if path is None:
            continue
        name = path.removesuffix("/")
        pages = serving.documentation
        if pages and not order_host and name in pages.paths:
            return _Place(name, order_host, pages)
        if len(urls) == 1 or serving.interface.routes.of(name, order_host):
            return _Place(path, order_host, None)
    return None


def _methods_to_tell(request: Request, serving: Serving) -> Sequence[str]:
    """Return the methods of a request's path, as the OpenAPI document tells them, too.

    Returns none where no such path exists, and where the service has no documentation:
    then nobody without a key learns which paths there are.
    """
    place = _place(request, serving) if serving.documentation else None
    if place is None:
        return ()
    if place.documentation:
        return DOCUMENTATION_METHODS
    path = place.path.removesuffix("/")
    operations = serving.interface.routes.of(path, place.order_host)
    return methods(operations) if operations else ()


def _unmapped(request: Request, serving: Serving) -> Refusal:
    """Return the refusal of a path that the request's host does not have.

    The address at which the service listens is no order host, so whoever tries an
    operation of the order host there learns which Host header to send.
    """
    host = request.headers.get("host")
    if not serving.order_host or serving.on_order_host(host):
        return no_mapping()
    for base in (serving.base_path, serving.order_path):
        path = _below(base, request.path)
        if path is not None and serving.interface.routes.of(
            path.removesuffix("/"), True
        ):
            return no_mapping(serving.order_host)
    return no_mapping()


def _below(base: str, path: str) -> str | None:
    """Return what a path says below a base URL's path; None where it is not below it."""
    if not base:
        return path
    return path[len(base) + 1 :] if path.startswith(f"{base}/") else None


# -- the headers of a response ---------------------------------------------------------


def _with_common_headers(
    response: Response, varies: str, stale: int | None = None
) -> Response:
    """Add the headers that do not depend on who asks: type, caching and, with 200, the
    ETag.
    """
    status, media_type, body, lifetime, own = response
    if status == 200 and lifetime is not None:
        own = (("ETag", etag(body)), *own)
    common = (
        ("Content-Type", media_type),
        ("Cache-Control", cache_control(lifetime, stale)),
        ("Vary", varies),
    )
    return Response(status, media_type, body, lifetime, common + own)


def _not_beyond(left: float, response: Response) -> Response:
    """Return a response that no cache stores beyond the instant at which content changes
    by itself, which comes in ``left`` seconds.

    Some time after it, the lifetime is the operation's again: whoever should have moved
    to the next release has not, nobody knows when somebody will, and caches that store
    nothing would send every read to this service until then.
    """
    lifetime = response.lifetime
    if lifetime is None or left >= lifetime or left < -AWAITED_SECONDS:
        return response
    shorter = max(0, int(left))
    headers = tuple(
        (name, text.replace(cache_control(lifetime), cache_control(shorter)))
        for name, text in response.headers
    )
    return response._replace(lifetime=shorter, headers=headers)


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
