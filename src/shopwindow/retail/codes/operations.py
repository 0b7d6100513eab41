"""The order host: single-use promotion codes, each expired by one order.

How guessing is slowed down, by three limits. First, an address may send a few wrong
codes a minute. Second, the more wrong codes an application gets from all addresses
together, the fewer each address may send. Third, beyond `MAX_WRONG_CODES` the whole
application waits: even a million addresses try no more than 432,000 codes a day.

A server of the shop's own (SHOPWINDOW_TRUSTED_PROXIES) that names no customer's address
speaks for all of its customers. Its wrong codes are counted by reservation, a number
that the shop gives out itself, and the third limit does not apply. So one customer's
wrong codes do not slow down the next customer.

Source of the rules: interface 2.6 and 4.7, W5.1.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from shopwindow.content.documents.documents import Content
from shopwindow.content.documents.schedule import zone
from shopwindow.interface.declaring.limits import LIMITS, Limit, origins
from shopwindow.interface.declaring.operation import (
    Call,
    Cookie,
    CountedByAction,
    FromStore,
    Moment,
    Operation,
    Outcome,
)
from shopwindow.interface.declaring.secret import SECRET
from shopwindow.interface.declaring.table import Tables
from shopwindow.problems import Failure, Fault, Refusal
from shopwindow.retail.codes.table import SINGLE_USE_CODES
from shopwindow.retail.codes.text import digest, mark


class _Guesses(NamedTuple):
    """How many wrong codes an address may send in how many seconds.

    The limit holds once the application got ``of_application`` wrong codes from all
    addresses.
    """

    of_application: int
    most: int
    seconds: int


WRONG_CODES_SECONDS = 600
"""An application's wrong codes are added up over this time."""

MAX_WRONG_CODES = 3000
"""The third limit: an application's wrong codes in that time, 5 a second. A shop with
100,000 orders a day gets perhaps one mistyped code a minute, which is 10.
"""

_GUESSES = (
    _Guesses(of_application=1000, most=1, seconds=WRONG_CODES_SECONDS),
    _Guesses(of_application=200, most=5, seconds=60),
    # a person types a code again and again, and several people may share an address
    _Guesses(of_application=0, most=20, seconds=60),
)
"""The first two limits, the strictest first: the first whose ``of_application`` is
reached holds.
"""

FAILURES = (
    ("invalid", "INVALID_CODE"),
    ("invalid", "SUPC_USED"),
    ("invalid", "PROMOTION_NOT_STARTED"),
    ("invalid", "PROMOTION_EXPIRED"),
    ("invalid", "PROMOTION_WITHDRAWN"),
    ("too_many", "TOO_MANY_INVALID_CODES"),
)
"""Why a code is not expired: the refusal's code, and the reason that the client reads."""

EXPIRED = Outcome({"success": True})
"""The response to the order that has the code."""


def supc(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Give a code to the first order that sends it.

    The order and reservation that have it get the same response again, since a client
    repeats a request whose response it lost. Whoever guessed too often learns nothing,
    not even that a code is right; otherwise guessing could go on.
    """
    body = call.body
    application = str(call.application)
    of_application = Limit(
        f"wrong codes of {application}", MAX_WRONG_CODES, WRONG_CODES_SECONDS
    )
    limits = _sender_limits(tables, of_application, str(body["reservationId"]), moment)
    for limit in limits if moment.is_trusted else (*limits, of_application):
        if wait := tables[LIMITS].wait(limit, moment):
            raise _too_many(wait)

    code_digest = digest(body["promoCode"], moment.secret)
    code = tables[SINGLE_USE_CODES].find(code_digest) if moment.secret else None
    if code is None:
        return _wrong_code(tables, limits, of_application, moment)

    order = body["orderNumber"], body["reservationId"]
    if code.order is None:
        _check_days(content, code.promotion, moment.now)
        if tables[SINGLE_USE_CODES].use(code_digest, *order, application, moment.now):
            return EXPIRED
        code = (
            tables[SINGLE_USE_CODES].find(code_digest) or code
        )  # another order was faster
    if (code.order, code.reservation) != order:
        raise _refused("SUPC_USED")
    return EXPIRED


def _sender_limits(
    tables: Tables, of_application: Limit, reservation: str, moment: Moment
) -> Sequence[Limit]:
    """Return the limits of this request's sender.

    The sender is the reservation at a trusted server, else the address and its network.
    """
    number = tables[LIMITS].number(of_application, moment)
    guesses = next(each for each in _GUESSES if number >= each.of_application)

    def limit(sender: str, times: int = 1) -> Limit:
        counted = f"{of_application.counted} from {sender}"
        return Limit(counted, guesses.most * times, guesses.seconds)

    if moment.is_trusted:
        return (limit(f"reservation {reservation}"),)
    return [limit(*origin) for origin in origins(moment.address)]


def _wrong_code(
    tables: Tables, limits: Sequence[Limit], of_application: Limit, moment: Moment
) -> Outcome:
    """Count a wrong code and refuse it.

    The service may itself be wrong: without the secret of the stored codes every code
    looks wrong. That is a Failure, and the customer's attempt is not counted. The
    limits are always counted in the same order, or two requests could wait for each
    other for ever.
    """
    database_mark = tables[SINGLE_USE_CODES].mark()
    lacks_secret = not moment.secret or database_mark != mark(moment.secret)
    if database_mark is not None and lacks_secret:
        raise Failure(
            f"{SECRET} is missing, or not the one that the database's single-use codes were issued under"
        )
    for limit in limits:
        if wait := tables[LIMITS].count(limit, moment):
            raise _too_many(wait)
    wait = tables[LIMITS].count(of_application, moment)
    if wait and not moment.is_trusted:
        raise _too_many(wait)
    return Outcome(refusal=_refused("INVALID_CODE"))


def _check_days(content: Content, id: int, now: datetime) -> None:
    """Raise Refusal outside the promotion's days, of which the first and last are
    included.

    They are days of site.yaml's time zone. A promotion that is no longer in content may
    have been withdrawn, so its codes are refused.
    """
    promotion = content.document("promotion", "promoId", id)
    if promotion is None:
        raise _refused("PROMOTION_WITHDRAWN")
    here = zone(str(content.setting("time_zone")))
    today = now.astimezone(UTC).astimezone(here).date().isoformat()
    if today < promotion["effective"]:
        raise _refused("PROMOTION_NOT_STARTED")
    if today > promotion.get("expiry", today):
        raise _refused("PROMOTION_EXPIRED")


def _refused(reason: str) -> Refusal:
    return Refusal("invalid", Fault("", reason))


def _too_many(wait: int) -> Refusal:
    return Refusal(
        "too_many",
        Fault("", "TOO_MANY_INVALID_CODES"),
        headers=(("Retry-After", str(wait)),),
    )


OPERATIONS = (
    Operation(
        "supc",
        "v3/order/supc",
        FromStore(supc),
        "success",
        "Expire a single-use promotion code for the order that used it.",
        by_application=True,
        method="PUT",
        body="supc",
        cookie=Cookie("promoCode", "code_cookie"),
        order_host=True,
        own_failures=FAILURES,
        allowance=CountedByAction("wrong codes"),
    ),
)
