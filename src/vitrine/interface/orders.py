"""The order host: single-use promotion codes, each expired by one order (interface 2.6 and 4.7, wire shapes §5)."""

from datetime import UTC, datetime
from ipaddress import ip_address, ip_network

from vitrine.content.model import Content, zone
from vitrine.interface.call import Call
from vitrine.interface.codes import SECRET, digest, mark
from vitrine.interface.operation import Cookie, FromStore, Moment, Operation, Outcome
from vitrine.interface.ports import Store
from vitrine.problems import Failure, Fault, Refusal

GUESSES, GUESS_SECONDS = 20, 60
"""How often, in how long, an application and address may be told that a code is none."""

EXPIRED = Outcome({"success": True})


def supc(store: Store, content: Content, call: Call, moment: Moment) -> Outcome:
    """Give a code to the order that asks first. The order and reservation that have it are told so again.

    Who has guessed too often is told nothing, of right codes neither: else guessing could go on.
    """
    body, application = call.body, str(call.application)
    guesser = f"INVALID_CODE {application} {origin(moment.address)}"
    if wait := store.limits.wait(guesser, GUESSES, GUESS_SECONDS, moment.now):
        raise _too_many(wait)
    known = digest(body["promoCode"], moment.secret)
    code = store.codes.find(known) if moment.secret else None
    if code is None:
        return _unknown(store, guesser, moment)
    asking = body["orderNumber"], body["reservationId"]
    if code.order is None:
        _in_its_days(content, code.promotion, moment.now)
        if store.codes.use(known, *asking, application, moment.now):
            return EXPIRED
        code = store.codes.find(known) or code  # another order was faster
    if (code.order, code.reservation) != asking:
        raise _refused("SUPC_USED")
    return EXPIRED


def origin(address: str) -> str:
    """Whom an address stands for: of IPv6 the network of 64 bits, for one customer has all of its addresses."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))


def _unknown(store: Store, guesser: str, moment: Moment) -> Outcome:
    """Count a wrong code and say so; unless it may be right under the secret that this service should have."""
    kept = store.codes.mark()
    if kept is not None and (not moment.secret or kept != mark(moment.secret)):
        raise Failure(f"{SECRET} is missing, or not the one that the store's single-use codes were issued under")
    if wait := store.limits.count(guesser, GUESSES, GUESS_SECONDS, moment.now):
        raise _too_many(wait)
    return Outcome(refusal=_refused("INVALID_CODE"))


def _in_its_days(content: Content, id: int, now: datetime) -> None:
    """Raises Refusal outside the promotion's days, which are days of site.yaml's zone, the first and the last included.

    Nobody can say of a promotion that is no longer in content whether it holds: its codes are declined.
    """
    promotion = content.promotion(id)
    if promotion is None:
        raise _refused("PROMOTION_WITHDRAWN")
    today = now.astimezone(UTC).astimezone(zone(str(content.setting("time_zone")))).date().isoformat()
    if today < promotion["effective"]:
        raise _refused("PROMOTION_NOT_STARTED")
    if today > promotion.get("expiry", today):
        raise _refused("PROMOTION_EXPIRED")


def _refused(reason: str) -> Refusal:
    return Refusal("invalid", (Fault("", reason),))


def _too_many(wait: int) -> Refusal:
    return Refusal("too_many", (Fault("", "TOO_MANY_INVALID_CODES"),), (("Retry-After", str(wait)),))


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
