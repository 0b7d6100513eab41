"""One request → one response: the checks in their order.

The steps, and why in this order:

1. Is the message well formed? If two servers can read it differently, nothing else in
   it can be believed.
2. Is a release being served? Without one there is nothing to answer from.
3. Is it OPTIONS? A browser sends that before the request itself, and without the key.
4. Is the response in the cache? Most reads end here, so no path is compared before. A
   client that lacks an API key gets nothing from there.
5. Path and method: which operation is it? The pages that describe the interface
   (service.documentation) are operations of their own, which need no key.
6. API key. A client without one gets 401 for every path, whether or not the path exists:
   whatever step 5 refuses becomes this 401. Its form is the path's own where that has
   one (Operation.own_failures).
7. Sizes; then Accept and Content-Type, of which the operation says what it takes. A page
   takes all.
8. Body and parameters become a Call, and a refusal has all their faults.
9. The operation itself; then headers and content coding. A response from content is
   cached.
10. What depends on when and who asks, and so comes after the cache: how long the
    response may be stored, If-None-Match, and Origin (service.headers).

The steps up to 7 need only the head of a request. ``at_once`` takes these, so that a
server that has not yet received the body can refuse the request without waiting for it.
``finish`` takes 8 and 9 with what ``at_once`` has learned. It looks into the cache
again, for an equal request may have been answered meanwhile, and compares the size of a
chunked body, which no head says. Each of the two ends with step 10 where it has the
response.

Every response is compressed by what the client accepts (codings), a cached one before
it is stored: so the cache holds what was sent, and each form by itself.
"""

from contextlib import suppress

from shopwindow.interface.answering.answer import (
    API_KEY_HEADER,
    ERROR_CODES,
    VARY,
    answer,
    no_key,
    refuse,
    respond_to_action,
)
from shopwindow.interface.declaring.operation import FromContent, Operation, Page
from shopwindow.interface.declaring.routes import Routed, methods, with_method
from shopwindow.interface.formats import JSON, accepted_formats
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import admit, bind, callback_of
from shopwindow.problems import SERVICE, Failure, Fault, Refusal
from shopwindow.release.damage import is_damaged
from shopwindow.service import journal
from shopwindow.service.codings import accepted, encoded
from shopwindow.service.database.engine import unavailable
from shopwindow.service.database.turns import Steps
from shopwindow.service.headers import (
    not_beyond,
    not_modified,
    options,
    with_common_headers,
    with_cors,
)
from shopwindow.service.message import check_sizes
from shopwindow.service.running import Backstage
from shopwindow.service.serving import CacheKey, Exchange, Serving, shipped_schemas

NOWHERE = Operation("none", "", FromContent(lambda content, call: None), "", "")
"""Stands for the operation of a request until that is known."""


class Arrival:
    """A request on its way through the steps, and what its head says."""

    def __init__(self, request: Request, serving: Serving) -> None:
        """Read the head of a request, before it is known what it asks for."""
        headers = request.headers
        self.request = request
        """As it came."""
        self.serving = serving
        """What it is answered from, to the end."""
        formats = accepted_formats(headers.get("accept"))
        self.codings = accepted(headers.get("accept-encoding"))
        """What Accept-Encoding gets."""
        self.application = serving.application_of(headers.get(API_KEY_HEADER))
        """Whose API key was sent; None: no valid one was."""
        self.is_admitted = bool(self.application) or not serving.interface.applications
        """Whether the client has a key, or needs none."""
        self.owner = NOWHERE
        """An operation of its path, whose form of failures holds for other methods as
        well.
        """
        self.routed: Routed = (NOWHERE, {})
        """Its operation, once the client is admitted, and the texts of the path's
        parameters.
        """
        self.cache_key: CacheKey | None = None
        """Of its response; None: the cache has no response for such a request."""
        is_read = request.method in ("GET", "HEAD") and not request.length
        # The key of the cache does not name the host, and the order host has paths of
        # its own.
        on_order_host = serving.on_order_host(headers.get("host"))
        if self.is_admitted and is_read and not on_order_host:
            self.cache_key = CacheKey(
                request.path,
                request.query,
                formats.name,
                self.application,
                self.codings,
            )


def at_once(request: Request, serving: Serving | None) -> "Exchange | Arrival":
    """Return the response to a request, where its head is enough; ``body`` may still be
    empty.

    That is a refusal for what the head says, a cached response, or the one to OPTIONS.
    Where the body, or work that takes time, decides, an Arrival is returned for
    ``finish``. ``serving`` is the release being served, or None before there is one.
    """
    arrival = None
    try:
        if request.malformed:
            raise Refusal("invalid", request.malformed)
        if serving is None:
            none_yet = Fault(SERVICE, "no release is being served yet")
            raise Refusal("unavailable", none_yet)
        if request.method == "OPTIONS":
            return _options(request, serving)
        arrival = Arrival(request, serving)
        result = serving.cache.get(arrival.cache_key)
        if result is None:
            _route(arrival)
            return arrival
        return _adapted(result, arrival)
    except Exception as error:
        return refuse_arrival(error, request, serving, arrival)


def finish(arrival: Arrival, request: Request, backstage: Backstage) -> Steps[Exchange]:
    """Return the response to a request whose body has been received, with all headers.

    A Refusal becomes a response; so does any other exception, with status 500.
    """
    try:
        # an equal request may have been answered since this one came
        result = arrival.serving.cache.get(arrival.cache_key)
        if result is None:
            result = yield from _answered(arrival, request, backstage)
        return _adapted(result, arrival)
    except Exception as error:
        return refuse_arrival(error, request, arrival.serving, arrival)


def refuse_arrival(
    error: Exception,
    request: Request,
    serving: Serving | None,
    arrival: Arrival | None = None,
) -> Exchange:
    """Return the response to what a step has raised.

    ``arrival``: the request, once somebody knows what it asks for: then the response has
    the form that the operation has for it. ``serving``: None before there is a release.
    """
    refusal = _refusal_of(error, serving)
    formats = accepted_formats(request.headers.get("accept"))
    if serving is None:
        response = refuse(refusal, formats.refusal, shipped_schemas())
        return Exchange(with_common_headers(response, VARY))

    operation = owner = NOWHERE
    application = callback = None
    if arrival:
        application, owner = arrival.application, arrival.owner
        operation, _ = arrival.routed
        # without a key nobody learns whether a path exists, or what is wrong with it
        refusal = refusal if arrival.is_admitted else no_key()
    # a page waits for the refusal, and Accept admits a script: one that asks for XML
    # gets the refusal in XML
    if formats.script is JSON:
        callback = callback_of(operation, request.query)
    format = JSON if callback else formats.refusal
    response = refuse(refusal, format, serving.schemas, owner, callback)
    response = with_common_headers(response, serving.vary)
    response = encoded(response, accepted(request.headers.get("accept-encoding")))
    return Exchange(
        with_cors(response, request, serving.origins),
        operation.name,
        application,
        refused=ERROR_CODES[refusal.code].status if callback else None,
    )


# -- the order of a request ------------------------------------------------------------


def _options(request: Request, serving: Serving) -> Exchange:
    """Return the response to OPTIONS. It names the methods of the request's path, which
    the OpenAPI document has as well.

    It names none where no such path exists, and where the service has no documentation:
    then nobody without a key learns which paths there are.
    """
    allowed = ""
    if serving.pages:
        with suppress(Refusal):
            allowed = methods(serving.operations(request))
    response = with_cors(options(allowed), request, serving.origins)
    return Exchange(response, "options")


def _route(arrival: Arrival) -> None:
    """Take the steps from 5 to 7: note in the arrival where its request goes. Raises
    Refusal.
    """
    request = arrival.request
    operations = arrival.serving.operations(request)
    arrival.owner, _ = operations[0]
    is_page = isinstance(arrival.owner.source, Page)
    if is_page:
        arrival.is_admitted, arrival.routed = True, operations[0]
    routed = with_method(operations, request.method)
    arrival.owner, _ = routed
    if not arrival.is_admitted:
        raise no_key()
    arrival.routed = routed
    if not is_page:
        check_sizes(request)
        admit(request, arrival.owner)


def _answered(
    arrival: Arrival, request: Request, backstage: Backstage
) -> Steps[Exchange]:
    """Answer with a page, where one was requested. Else take the steps 8 and 9 with a
    complete body: bind the request, then answer the Call from content, or perform its
    action.

    The response does not depend on If-None-Match and Origin yet, so it can be cached.
    Raises Refusal.
    """
    serving, application = arrival.serving, arrival.application
    operation, _ = arrival.routed
    source = operation.source
    if isinstance(source, Page):
        return Exchange(source.respond(arrival.codings), operation.name)
    check_sizes(request)  # of a chunked body, which its head does not say
    call = bind(
        request,
        application,
        serving.interface,
        arrival.routed,
        serving.content,
        serving.schemas,
    )
    if isinstance(source, FromContent):
        response = answer(call, serving.content, serving.schemas)
    else:
        outcome = yield from backstage.perform(
            source, call, request, serving.content, serving.status
        )
        response = respond_to_action(call, outcome, serving.schemas)

    stale = serving.content.setting("stale")
    response = with_common_headers(response, serving.vary, stale)
    response = encoded(response, arrival.codings)
    result = Exchange(response, operation.name, application, ignored=call.ignored)
    if arrival.cache_key and response.lifetime is not None:
        serving.cache.add(arrival.cache_key, result)
    return result


def _adapted(result: Exchange, arrival: Arrival) -> Exchange:
    """Take the last step: what depends on when and who asks."""
    request, serving = arrival.request, arrival.serving
    left = serving.next_change - serving.clock()
    response = not_modified(not_beyond(left, result.response), request)
    response = with_cors(response, request, serving.origins)
    return result if response is result.response else result._replace(response=response)


def _refusal_of(error: Exception, serving: Serving | None) -> Refusal:
    """Return what the client is told of an error. Of a fault of ours it gets no details,
    and the log all of it.
    """
    if isinstance(error, Refusal):
        return error
    # A file of the release, its catalog: faults of the database come as Refusals.
    if serving and is_damaged(error):
        serving.report_damage(str(error))
        return unavailable("the catalog cannot be read now")
    if isinstance(error, Failure):  # the operator's, in words for them: no traceback
        journal.error("setup", str(error))
    else:
        journal.failure(error)
    return Refusal("internal")
