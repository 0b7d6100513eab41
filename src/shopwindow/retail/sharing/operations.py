"""Sharing a promotion or coupon by mail (interface 2.8, 4.10, W4.4).

The action checks the people and the promotion, counts the mails against four limits,
and puts a row for each recipient into the outbox. The service's worker renders and
sends them later (`mail` says how). Nothing else of this interface reaches strangers, so
the limits matter most here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from shopwindow.content.documents.documents import Content
from shopwindow.content.documents.schedule import zone
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.limits import LIMITS, Limit, origins
from shopwindow.interface.declaring.mail import OUTBOX
from shopwindow.interface.declaring.operation import (
    Call,
    CountedByAction,
    FromStore,
    Moment,
    Operation,
    Outcome,
    Rate,
    Sender,
)
from shopwindow.interface.declaring.table import Tables
from shopwindow.problems import Fault, Refusal
from shopwindow.retail.sharing.addresses import address, addresses
from shopwindow.retail.sharing.mail import SHARED_PROMOTION, outbox_document

MAIL_LIMITS = {
    # A person shares with a few friends. A network address is all that an abuser has to
    # pay for.
    "address": Rate(10, 60),
    # Anybody may name any sender, from any network address: this protects the one who
    # is named.
    "sender": Rate(20, 60),
    # More would be a nuisance to whoever gets them, whoever sends them.
    "recipient": Rate(10, 24 * 60),
    # So many a mail server sends for a shop without taking it for an open relay.
    "application": Rate(1000, 60),
}
"""How many mails in how many minutes, unless site.yaml sets other limits; counted in
this order.

A refusal takes back what was counted before it. So one network address uses up no more
of the application's limit than its own 10: it takes a hundred of them to use it up for
all customers.
"""

MAX_RECIPIENTS = 10
"""Recipients of one request, unless site.yaml says otherwise.

It is what `MAIL_LIMITS` admits from a network address: that limit would refuse a
request with more recipients at any time.
"""


class _People(NamedTuple):
    """Who shares, and with whom."""

    sender: str
    name: str
    recipients: Sequence[str]


def share(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Put a mail for each recipient into the outbox: for all of them, or for none."""
    body = {name: text for name, text in call.body.items() if text.strip()}
    settings = content.setting("share") or {}
    own_rates = {
        kind: Rate(**rate) for kind, rate in settings.get("limits", {}).items()
    }
    rates = MAIL_LIMITS | own_rates
    # a request with more recipients than a limit would be refused at any time
    most = min(rates[kind].most for kind in ("application", "sender", "address"))
    people = _people(body, min(most, settings.get("maxRecipients", MAX_RECIPIENTS)))

    today = moment.now.astimezone(zone(content.setting("time_zone"))).date().isoformat()
    promotion, coupon = _shared(content, body, today)
    _count_mails(tables, rates, str(call.application), people, moment)

    sent_by = _sent_by(content, settings)
    promised = outbox_document(
        sent_by=sent_by,
        sender={"address": people.sender, "name": people.name},
        message=body.get("message", ""),
        promotion=promotion,
        coupon=coupon,
        link=settings.get("link", ""),
        unsubscribe=settings.get(
            "unsubscribe", f"mailto:{sent_by['address']}?subject=stop"
        ),
    )
    outbox = tables[OUTBOX]
    for recipient in people.recipients:
        id = moment.random(16).hex()
        outbox.add(id, SHARED_PROMOTION.name, recipient, promised, moment.now)
    return Outcome({"success": True})


def _sent_by(content: Content, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return address and name of the shop, whom the mail is from.

    A receiver would refuse the customer's own address from the shop's server (DMARC,
    RFC 7489).
    """
    host = urlsplit(content.setting("base_url")).hostname
    return {
        "address": settings.get("fromAddress", f"no-reply@{host}"),
        "name": settings.get("fromName", ""),
    }


# -- who -------------------------------------------------------------------------------


def _people(body: Mapping[str, str], most: int) -> _People:
    """Return who shares with whom. Raises Refusal, with every fault."""
    faults: list[Fault] = []
    sender, recipients = "", list[str]()
    name = body.get("senderName", "").strip()
    if (
        not name.isprintable()
    ):  # it stands in a header, where a line end would begin another
        faults.append(
            Fault("senderName", "must be of characters that print, in one line")
        )
    try:
        sender = address(body.get("senderEmailAddress", "").strip())
    except ValueError as error:
        faults.append(Fault("senderEmailAddress", str(error)))
    try:
        recipients = addresses(body.get("recipientEmailAddress", ""), most)
    except ValueError as error:
        faults.append(Fault("recipientEmailAddress", str(error)))
    if "promoId" not in body and "couponId" not in body:
        faults.append(Fault("promoId", "one of promoId, couponId is required"))
    if faults:
        raise Refusal("invalid", *faults)
    return _People(sender, name, recipients)


class _CountedMail(NamedTuple):
    """One mail counted once: under which limit, for whom, and where a fault would be.

    ``times``: a network may have the limit of a single address so many times.
    """

    kind: str
    who: str
    where: str
    times: int = 1


def _count_mails(
    tables: Tables,
    rates: Mapping[str, Rate],
    application: str,
    people: _People,
    moment: Moment,
) -> None:
    """Count the mails of the address, the sender, each recipient and the application.

    Always in the same order, or two requests could wait for each other for ever. Raises
    Refusal for one mail too many.
    """
    number = len(people.recipients)
    counts = [
        _CountedMail("address", origin, "rate", times)
        for origin, times in origins(moment.address)
    ] * number
    counts += [
        _CountedMail("sender", people.sender.lower(), "senderEmailAddress")
    ] * number
    counts += [
        _CountedMail("recipient", recipient, "recipientEmailAddress")
        for recipient in sorted(map(str.lower, people.recipients))
    ]
    counts += [_CountedMail("application", application, "rate")] * number

    for kind, who, where, times in counts:
        most, minutes = rates[kind].most * times, rates[kind].minutes
        limit = Limit(f"share {kind} {who}", most, minutes * 60)
        if wait := tables[LIMITS].count(limit, moment):
            limited = kind if times == 1 else "network"
            message = f"at most {most} mails in {minutes} minutes for one {limited}"
            raise Refusal(
                "too_many", Fault(where, message), headers=(("Retry-After", str(wait)),)
            )


# -- what ------------------------------------------------------------------------------


def _shared(
    content: Content, body: Mapping[str, str], today: str
) -> tuple[Json, Json | None]:
    """Return the promotion that is shared, and its coupon if that is shared.

    Raises Refusal if there is no such promotion or coupon, or if it is not shared
    today. The order of the checks decides which of several faults a client learns of.
    """
    promotion, coupon = _look_up(content, body)
    channel = body.get("channel", "SITE")
    if channel not in promotion["channels"]:
        raise _not_found("channel", f"the promotion is not for {channel}")
    _check_days(promotion, "promoId", today)
    if coupon is not None:
        _check_days(coupon, "couponId", today)
    if "promoCode" in body and body["promoCode"].strip() != promotion.get(
        "promotionCode"
    ):
        raise Refusal("invalid", Fault("promoCode", "is not the code of the promotion"))
    return promotion, coupon


def _look_up(content: Content, body: Mapping[str, str]) -> tuple[Json, Json | None]:
    """Return the promotion and coupon that a body names; it names one of them at least."""
    promotion, coupon = None, None
    if "promoId" in body:
        promotion = content.document("promotion", "promoId", int(body["promoId"]))
        if promotion is None:
            raise _not_found("promoId", "there is no such promotion")
    if "couponId" in body:
        number = body["couponId"].strip()
        candidates = [promotion] if promotion else content.documents("promotion")
        with_coupon = [
            candidate
            for candidate in candidates
            if candidate.get("coupon", {}).get("couponNumber") == number
        ]
        if not with_coupon:
            raise _not_found("couponId", "there is no such coupon")
        promotion = with_coupon[0]
        coupon = promotion["coupon"]
    return promotion, coupon


def _check_days(document: Json, where: str, today: str) -> None:
    """Raise Refusal outside the days of a promotion or coupon; the first and last are
    included.
    """
    if today < document["effective"]:
        raise _not_found(where, f"begins on {document['effective']} only")
    if today > document.get("expiry", today):
        raise _not_found(where, f"ended on {document['expiry']}")


def _not_found(where: str, words: str) -> Refusal:
    return Refusal("no_data", Fault(where, words))


def sharing_customer(call: Call) -> Sender:
    """Return the mail address of who shares; spellings that differ in case are one
    address.
    """
    address = call.body["senderEmailAddress"].strip().lower()
    return Sender(name=f"mail {address}")


OPERATIONS = (
    Operation(
        "share",
        "v3/promotions/share",
        FromStore(share),
        "success",
        "Send somebody a promotion or coupon by mail.",
        by_application=True,
        method="POST",
        body="share",
        missing=Fault("promoId", "there is no such promotion"),
        allowance=CountedByAction("mails"),
        sender=sharing_customer,
    ),
)
