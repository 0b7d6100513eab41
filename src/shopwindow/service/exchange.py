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
``finish`` takes 9 and 10 with what ``at_once`` has learned. It looks into the cache
again, for an equal request may have been answered meanwhile, and compares the size of a
chunked body, which no head says. Each of the two ends with step 11 where it has the
response.

Every response is compressed by what the client accepts (codings), a cached one before
it is stored: so the cache holds what was sent, and each form by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
from shopwindow.problems import SERVICE, Failure, Fault, Refusal
from shopwindow.release.damage import is_damaged
from shopwindow.service import journal
from shopwindow.service.codings import Accepted, accepted, encoded, plain_tag
from shopwindow.service.cors import options, with_cors
from shopwindow.service.database.engine import unavailable
from shopwindow.service.database.turns import Steps
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

NO_RELEASE = Refusal("unavailable", Fault(SERVICE, "no release is being served yet"))
"""Of a service that has no release yet."""

DOCUMENTATION = "documentation"
"""What the log and the metrics call a request for a page of the documentation."""


@dataclass(slots=True)
class Arrival:
    """A request on its way through the steps, and what its head says.

    Its first fields are there from the beginning. Step 5 adds ``path`` and
    ``documentation``, steps 6 to 8 the rest; a request for a page lacks it.
    """

    request: Request
    """As it came."""
    serving: Serving
    """What it is answered from, to the end."""
    formats: AcceptedFormats
    """What Accept gets."""
    codings: Accepted
    """What Accept-Encoding gets."""
    application: str | None
    """Whose API key was sent; None: no valid one was."""
    is_admitted: bool
    """Whether the client has a key, or needs none."""
    cache_key: CacheKey | None
    """Of its response; None: the cache has no response for such a request."""
    path: str = ""
    """Its path below its base URL."""
    documentation: Documentation | None = None
    """Has the page that was requested; None: an operation was."""
    owner: Operation | None = None
    """An operation of this path: its form of failures holds for other methods as well."""
    routed: Routed | None = None
    """The operation, and the texts of its path's parameters."""
    format: Format | None = None
    """Of the answer."""


def at_once(request: Request, serving: Serving | None) -> "Exchange | Arrival":
    """Return the response to a request, where its head is enough; ``body`` may still be
    empty.

    That is a refusal for what the head says, a cached response, or the one to OPTIONS.
    Where the body, or work that takes time, decides, an Arrival is returned for
    ``finish``. ``serving`` is the release being served, or None before there is one.
    """
    if request.malformed:
        malformed = Refusal("invalid", request.malformed)
        return refuse_arrival(malformed, request, serving)
    if serving is None:
        return refuse_arrival(NO_RELEASE, request, None)
    if request.method == "OPTIONS":
        allowed = _methods_to_tell(request, serving)
        return Exchange(with_cors(options(allowed), request, serving), "options")

    arrival = _arrival(request, serving)
    result = _cached(arrival)
    if result is None:
        try:
            _route(arrival)
        except Exception as error:
            result = _refused(error, arrival)
    return arrival if result is None else _adapted(result, arrival)


def finish(arrival: Arrival, request: Request, backstage: Backstage) -> Steps[Exchange]:
    """Return the response to a request whose body has been received, with all headers.

    A Refusal becomes a response; so does any other exception, with status 500.
    """
    # an equal request may have been answered since this one came
    result = _cached(arrival)
    if result is None:
        try:
            result = yield from _answered(arrival, request, backstage)
        except Exception as error:
            result = _refused(error, arrival)
    return _adapted(result, arrival)


def refuse_arrival(
    refusal: Refusal, request: Request, serving: Serving | None
) -> Exchange:
    """Refuse a request before anybody knows what it asks for, such as one that is
    malformed or slow.

    ``serving``: None before there is a release, and after a fault of ours, which may be
    a fault of the release.
    """
    format = accepted_formats(request.headers.get("accept")).refusal
    varies = serving.vary if serving else VARY
    schemas = serving.schemas if serving else shipped_schemas()
    response = _with_common_headers(refuse(refusal, format, schemas), varies)
    return Exchange(with_cors(response, request, serving) if serving else response)


# -- the order of a request ------------------------------------------------------------


def _arrival(request: Request, serving: Serving) -> Arrival:
    headers = request.headers
    formats = accepted_formats(headers.get("accept"))
    application = serving.application_of(headers.get(API_KEY_HEADER))
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
    return Arrival(
        request=request,
        serving=serving,
        formats=formats,
        codings=codings,
        application=application,
        is_admitted=is_admitted,
        cache_key=cache_key,
    )


def _cached(arrival: Arrival) -> Exchange | None:
    key = arrival.cache_key
    return arrival.serving.cache.get(key) if key else None


def _route(arrival: Arrival) -> None:
    """Take the steps from 5 to 8: note in the arrival where its request goes. Raises
    Refusal.
    """
    request, routes = arrival.request, arrival.serving.interface.routes
    place = _place(request, arrival.serving)
    if place is None:
        raise no_mapping()
    arrival.path, order_host, arrival.documentation = place
    if arrival.documentation:
        if request.method not in ("GET", "HEAD"):
            raise wrong_method(DOCUMENTATION_METHODS, request.method)
        return

    inner = request._replace(path=arrival.path)
    arrival.owner = routes.owner(inner) if order_host else None
    arrival.routed = routes.route(inner, order_host=order_host)
    arrival.owner = operation = arrival.routed[0]
    if not arrival.is_admitted:
        raise no_key()
    check_sizes(request)
    arrival.format = admit(inner, operation, arrival.formats)


def _answered(
    arrival: Arrival, request: Request, backstage: Backstage
) -> Steps[Exchange]:
    """Answer with a page, where one was requested. Else take the steps 9 and 10 with a
    complete body: bind the request, then answer the Call from content, or perform its
    action.

    The response does not depend on If-None-Match and Origin yet, so it can be cached.
    Raises Refusal.
    """
    serving = arrival.serving
    if arrival.documentation:
        page = arrival.documentation.response(arrival.path, arrival.codings)
        return Exchange(page, DOCUMENTATION)
    check_sizes(request)  # of a chunked body, which its head does not say
    check_body_complete(request)
    request = request._replace(path=arrival.path)
    call = bind(
        request,
        arrival.application,
        serving.interface,
        arrival.routed,
        serving.content,
        serving.schemas,
        arrival.format,
    )
    is_from_content = isinstance(call.operation.source, FromContent)
    if is_from_content:
        response = answer(call, serving.content, serving.schemas)
    else:
        outcome = yield from backstage.perform(
            call, request, serving.content, serving.status
        )
        response = respond_to_action(call, outcome, serving.schemas)

    stale = serving.content.setting("stale")
    response = _with_common_headers(response, serving.vary, stale)
    response = encoded(response, arrival.codings)
    name, application = call.operation.name, arrival.application
    result = Exchange(response, name, application, ignored=call.ignored)
    if is_from_content and arrival.cache_key:
        serving.cache.add(arrival.cache_key, result)
    return result


def _adapted(result: Exchange, arrival: Arrival) -> Exchange:
    """Take the last step: what depends on when and who asks."""
    request, serving = arrival.request, arrival.serving
    response = _not_beyond(serving.next_change - serving.clock(), result.response)
    response = with_cors(_not_modified(response, request), request, serving)
    return result if response is result.response else result._replace(response=response)


def _refused(error: Exception, arrival: Arrival) -> Exchange:
    """Return the response to what a step has raised, in the form that the operation has
    for it. A client without a key does not learn which one it reached.
    """
    refusal = _refusal_of(error, arrival)
    is_reached = arrival.routed and arrival.is_admitted
    operation = arrival.owner if is_reached else None
    # a page waits for the refusal, and Accept admits a script: one that asks for XML
    # gets the refusal in XML
    callback = None
    if operation and arrival.formats.script is JSON:
        callback = callback_of(operation, arrival.request.query)
    refused = refuse(
        refusal,
        JSON if callback else arrival.formats.refusal,
        arrival.serving.schemas,
        arrival.owner,
        callback,
    )
    response = _with_common_headers(refused, arrival.serving.vary)
    name = DOCUMENTATION if arrival.documentation else "none"
    return Exchange(
        encoded(response, arrival.codings),
        operation.name if operation else name,
        arrival.application,
        refused=ERROR_CODES[refusal.code].status if callback else None,
    )


def _refusal_of(error: Exception, arrival: Arrival) -> Refusal:
    """Return what the client is told of an error. Of a fault of ours it gets no details,
    and the log all of it.
    """
    request, serving = arrival.request, arrival.serving
    if isinstance(error, Refusal):
        # Without a key nobody learns whether a path exists, or what is wrong with it.
        is_open = arrival.is_admitted or arrival.documentation
        refusal = error if is_open else no_key()
        is_unmapped = refusal.code == "no_mapping"
        return _unmapped(request, serving) if is_unmapped else refusal
    # A file of the release, its catalog: faults of the database come as Refusals.
    if is_damaged(error):
        serving.report_damage(str(error))
        return unavailable("the catalog cannot be read now")
    if isinstance(error, Failure):  # the operator's, in words for them: no traceback
        journal.error("setup", str(error))
    else:
        journal.failure(error)
    return Refusal("internal")


# -- the path --------------------------------------------------------------------------


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
    """Return the methods of a request's path. The OpenAPI document has them as well.

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
