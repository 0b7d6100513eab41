"""Sharing a promotion or coupon by mail (interface 2.8, 4.10, wire shapes §4)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from shopwindow.content.documents import Content
from shopwindow.content.schedule import zone
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Call
from shopwindow.interface.digests import counted
from shopwindow.interface.limits import LIMITS
from shopwindow.interface.operation import FromStore, Moment, Operation, Outcome
from shopwindow.interface.origins import origins
from shopwindow.interface.outbox import OUTBOX
from shopwindow.interface.table import Tables
from shopwindow.problems import Fault, Refusal
from shopwindow.retail.sharing.addresses import address, addresses
from shopwindow.retail.sharing.mail import SHARED_PROMOTION, outbox_document


class Limit(NamedTuple):
    """So many mails in so many minutes."""

    most: int
    minutes: int


MAIL_LIMITS = {
    "address": Limit(
        10, 60
    ),  # a person shares with a few friends; an address is the one thing that costs money
    "sender": Limit(
        20, 60
    ),  # whatever address it is named from, for anybody may name any sender
    "recipient": Limit(
        10, 24 * 60
    ),  # more would be a nuisance to who gets them, whoever sends them
    "application": Limit(
        1000, 60
    ),  # what a mail server sends for a shop without taking it for a relay
}
"""How many mails in how many minutes, where site.yaml says nothing else; counted in this order.

Each refusal takes back what was counted before it. So one address can use up no more than its
own limit of what all customers of an application share: it takes a hundred of them to use up
all.
"""

MAX_RECIPIENTS = 10


@dataclass(frozen=True)
class _People:
    """Who shares, and with whom."""

    sender: str
    name: str
    recipients: Sequence[str]


def share(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Put a mail for each recipient into the outbox: for all of them, or for none."""
    body = {name: text for name, text in call.body.items() if text.strip()}
    settings = content.setting("share") or {}
    limits = MAIL_LIMITS | {
        kind: Limit(**limit) for kind, limit in settings.get("limits", {}).items()
    }
    # more at once would be too many at any time
    most = min(limits["application"].most, limits["sender"].most, limits["address"].most)
    people = _people(body, min(most, settings.get("maxRecipients", MAX_RECIPIENTS)))
    today = moment.now.astimezone(zone(content.setting("time_zone"))).date().isoformat()
    promotion, coupon = _shared(content, body, today)
    _limit(tables, limits, str(call.application), people, moment)
    sent_by = _sent_by(content, settings)
    promised = outbox_document(
        sent_by=sent_by,
        sender={"address": people.sender, "name": people.name},
        message=body.get("message", ""),
        promotion=promotion,
        coupon=coupon,
        link=settings.get("link", ""),
        unsubscribe=settings.get("unsubscribe", f"mailto:{sent_by['address']}?subject=stop"),
    )
    outbox = tables[OUTBOX]
    for recipient in people.recipients:
        id = moment.random(16).hex()
        outbox.add(id, SHARED_PROMOTION.name, recipient, promised, moment.now)
    return Outcome({"success": True})


def _sent_by(content: Content, settings: Mapping[str, Any]) -> dict[str, str]:
    """Whom the mail is from: the shop. A receiver would refuse the sender's own address from
    our server (DMARC).
    """
    host = urlsplit(content.setting("base_url")).hostname
    return {
        "address": settings.get("fromAddress", f"no-reply@{host}"),
        "name": settings.get("fromName", ""),
    }


# -- who ---------------------------------------------------------------------------------------


def _people(body: Mapping[str, str], most: int) -> _People:
    """Who shares with whom. Raises Refusal, with every fault."""
    faults, sender, recipients = [], "", list[str]()
    name = body.get("senderName", "").strip()
    if not name.isprintable():  # it stands in headers, where a line end would begin another
        faults.append(Fault("senderName", "must be of characters that print, in one line"))
    try:
        sender = address(body.get("senderEmailAddress", "").strip())
    except ValueError as error:
        faults.append(Fault("senderEmailAddress", str(error)))
    try:
        recipients = addresses(body.get("recipientEmailAddress", ""), most)
    except ValueError as error:
        faults.append(Fault("recipientEmailAddress", str(error)))
    if "promoId" not in body and "couponId" not in body:
        faults.append(Fault("", "one of promoId, couponId is required"))
    if faults:
        raise Refusal("invalid", tuple(faults))
    return _People(sender, name, recipients)


class _CountedMail(NamedTuple):
    """What one mail is counted as: ``times`` the limit of a kind, for whom; ``where`` a fault
    would be.
    """

    kind: str
    who: str
    where: str
    times: int = 1


def _limit(
    tables: Tables,
    limits: Mapping[str, Limit],
    application: str,
    people: _People,
    moment: Moment,
) -> None:
    """Count the mails from the address, of the sender, to each recipient, of the application.

    Always in the same order, or two requests would wait for each other. Raises Refusal for one
    too many.
    """
    number = len(people.recipients)
    mails = [
        _CountedMail("address", origin, "", times) for origin, times in origins(moment.address)
    ] * number
    mails += [_CountedMail("sender", people.sender.lower(), "senderEmailAddress")] * number
    mails += [
        _CountedMail("recipient", who, "recipientEmailAddress")
        for who in sorted(map(str.lower, people.recipients))
    ]
    mails += [_CountedMail("application", application, "")] * number
    for kind, who, where, times in mails:
        most, minutes = limits[kind].most * times, limits[kind].minutes
        name = counted(f"share {kind} {who}", tables, moment)
        if wait := tables[LIMITS].count(name, most, minutes * 60, moment.now):
            words = f"at most {most} mails in {minutes} minutes for one {kind if times == 1 else 'network'}"
            raise Refusal("too_many", (Fault(where, words),), (("Retry-After", str(wait)),))


# -- what --------------------------------------------------------------------------------------


def _shared(content: Content, body: Mapping[str, str], today: str) -> tuple[Json, Json | None]:
    """The promotion that is shared, and its coupon where that is. Raises Refusal unless both
    are live.
    """
    promotion, coupon = _found(content, body)
    channel = body.get("channel", "SITE")
    if channel not in promotion["channels"]:
        raise _not_found("channel", f"the promotion is not for {channel}")
    _is_open(promotion, "promoId", today)
    if coupon is not None:
        _is_open(coupon, "couponId", today)
    if "promoCode" in body and body["promoCode"].strip() != promotion.get("promotionCode"):
        raise Refusal("invalid", (Fault("promoCode", "is not the code of the promotion"),))
    return promotion, coupon


def _found(content: Content, body: Mapping[str, str]) -> tuple[Json, Json | None]:
    promotion, coupon = None, None
    if "promoId" in body:
        promotion = content.document("promotion", "promoId", int(body["promoId"]))
        if promotion is None:
            raise _not_found("promoId", "there is no such promotion")
    if "couponId" in body:
        number = body["couponId"].strip()
        among = [promotion] if promotion else content.documents("promotion")
        found = [each for each in among if each.get("coupon", {}).get("couponNumber") == number]
        if not found:
            raise _not_found("couponId", "there is no such coupon")
        promotion, coupon = found[0], found[0]["coupon"]
    return promotion, coupon


def _is_open(document: Json, where: str, today: str) -> None:
    """Whether a day is within a promotion's or coupon's days, both ends included (design 4,
    Time).
    """
    if today < document["effective"]:
        raise _not_found(where, f"begins on {document['effective']} only")
    if today > document.get("expiry", today):
        raise _not_found(where, f"ended on {document['expiry']}")


def _not_found(where: str, words: str) -> Refusal:
    return Refusal("not_found", (Fault(where, words),))


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
        limited=True,
    ),
)
