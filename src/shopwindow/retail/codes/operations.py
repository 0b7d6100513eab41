"""The order host: single-use promotion codes, each expired by one order (interface 2.6 and 4.7,
wire shapes §5).

Who guesses codes is slowed down three times. An address may be wrong so often in a while. The
more wrong codes an application gets from wherever, the fewer every address of it may send. And
beyond a last limit, nobody of the application is answered before some time has passed: even a
million addresses try no more than 432,000 codes a day.

A server of the shop's own (SHOPWINDOW_TRUSTED_PROXIES) that names no customer's address speaks
for all of its customers. There wrong codes are counted by reservation, which the shop gives out
itself, and the last limit does not apply: of one customer's wrong codes the next one notices
nothing.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from shopwindow.content.documents import Content
from shopwindow.content.schedule import zone
from shopwindow.interface.call import Call
from shopwindow.interface.digests import counted
from shopwindow.interface.limits import LIMITS
from shopwindow.interface.operation import Cookie, FromStore, Moment, Operation, Outcome
from shopwindow.interface.origins import origins
from shopwindow.interface.secret import SECRET
from shopwindow.interface.table import Tables
from shopwindow.problems import Failure, Fault, Refusal
from shopwindow.retail.codes.table import CODES
from shopwindow.retail.codes.text import digest, mark


class _Guesses(NamedTuple):
    """From so many wrong codes of the application on, each address may be wrong so often in so
    many seconds.
    """

    of_application: int
    most: int
    seconds: int


TOGETHER_SECONDS = 600
"""The time in which an application's wrong codes are added up."""

MOST_TOGETHER = 3000
"""The last limit, 5 a second. Customers mistype some; a store with 100,000 orders a day gets
perhaps one a minute.
"""

_SLOWER = (
    _Guesses(1000, 1, TOGETHER_SECONDS),
    _Guesses(200, 5, 60),
    _Guesses(
        0, 20, 60
    ),  # a person types a code again and again, and several may share an address
)

EXPIRED = Outcome({"success": True})


class _Guesser(NamedTuple):
    """Under what a wrong code is counted, how often in how many seconds that may be."""

    name: str
    most: int
    seconds: int


def supc(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Give a code to the order that asks first. The order and reservation that have it are told
    so again.

    Who has guessed too often is told nothing, of right codes neither: else guessing could go
    on.
    """
    body, application = call.body, str(call.application)
    together = _together(tables, application, moment)
    guessers = _guessers(tables, application, str(body["reservationId"]), together, moment)
    for guesser in guessers if moment.is_trusted else (*guessers, together):
        if wait := tables[LIMITS].wait(*guesser, moment.now):
            raise _too_many(wait)
    known = digest(body["promoCode"], moment.secret)
    code = tables[CODES].find(known) if moment.secret else None
    if code is None:
        return _unknown(tables, guessers, together, moment)
    asking = body["orderNumber"], body["reservationId"]
    if code.order is None:
        _in_its_days(content, code.promotion, moment.now)
        if tables[CODES].use(known, *asking, application, moment.now):
            return EXPIRED
        code = tables[CODES].find(known) or code  # another order was faster
    if (code.order, code.reservation) != asking:
        raise _refused("SUPC_USED")
    return EXPIRED


def _together(tables: Tables, application: str, moment: Moment) -> _Guesser:
    """Under what all wrong codes of an application count."""
    name = counted(f"wrong codes of {application}", tables, moment)
    return _Guesser(name, MOST_TOGETHER, TOGETHER_SECONDS)


def _guessers(
    tables: Tables, application: str, reservation: str, together: _Guesser, moment: Moment
) -> Sequence[_Guesser]:
    """Whose wrong code one of this request would be: the reservation's at a trusted server,
    else the address's.
    """
    number = tables[LIMITS].number(together.name, together.seconds, moment.now)
    _, most, seconds = next(level for level in _SLOWER if number >= level.of_application)

    def guesser(who: str, times: int = 1) -> _Guesser:
        return _Guesser(
            counted(f"wrong codes of {application} from {who}", tables, moment),
            most * times,
            seconds,
        )

    if moment.is_trusted:
        return (guesser(f"reservation {reservation}"),)
    return [guesser(name, times) for name, times in origins(moment.address)]


def _unknown(
    tables: Tables, guessers: Sequence[_Guesser], together: _Guesser, moment: Moment
) -> Outcome:
    """Count a wrong code and say so; unless it may be right under the secret that this service
    should have.

    Always in the same order, or two requests would wait for each other.
    """
    kept = tables[CODES].mark()
    if kept is not None and (not moment.secret or kept != mark(moment.secret)):
        raise Failure(
            f"{SECRET} is missing, or not the one that the database's single-use codes were issued under"
        )
    for guesser in guessers:
        if wait := tables[LIMITS].count(*guesser, moment.now):
            raise _too_many(wait)
    wait = tables[LIMITS].count(*together, moment.now)
    if wait and not moment.is_trusted:
        raise _too_many(wait)
    return Outcome(refusal=_refused("INVALID_CODE"))


def _in_its_days(content: Content, id: int, now: datetime) -> None:
    """Raises Refusal outside the promotion's days, which are days of site.yaml's zone, the
    first and the last included.

    Nobody can say of a promotion that is no longer in content whether it holds: its codes are
    declined.
    """
    promotion = content.document("promotion", "promoId", id)
    if promotion is None:
        raise _refused("PROMOTION_WITHDRAWN")
    today = (
        now.astimezone(UTC)
        .astimezone(zone(str(content.setting("time_zone"))))
        .date()
        .isoformat()
    )
    if today < promotion["effective"]:
        raise _refused("PROMOTION_NOT_STARTED")
    if today > promotion.get("expiry", today):
        raise _refused("PROMOTION_EXPIRED")


def _refused(reason: str) -> Refusal:
    return Refusal("invalid", (Fault("", reason),))


def _too_many(wait: int) -> Refusal:
    return Refusal(
        "too_many", (Fault("", "TOO_MANY_INVALID_CODES"),), (("Retry-After", str(wait)),)
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
        own_failures=True,
        limited=True,
    ),
)
