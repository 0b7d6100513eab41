"""The mail that shares a promotion or coupon: its templates are share.txt and
share.html.

`outbox_document` is what the operation promises. `letter` is what a sender renders from
it later. The two stand side by side, because a row of the outbox may wait for days
between them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.mail import Letter, Mailbox, MailTemplate, unlinked

PROMOTION_FIELDS = (
    "promotionName",
    "description",
    "offerDescription",
    "promotionCode",
    "legalDisclaimer",
    "effective",
    "expiry",
)
"""What templates may use of a promotion."""

COUPON_FIELDS = (
    "couponUrl",
    "couponHeading",
    "couponSubHeading",
    "couponDescription",
    "couponShortCode",
    "couponNumber",
    "effective",
    "expiry",
)
"""What templates may use of a coupon."""


def outbox_document(
    *,
    sent_by: Mapping[str, str],
    sender: Mapping[str, str],
    message: str,
    promotion: Json,
    coupon: Json | None,
    link: str,
    unsubscribe: str,
) -> Json:
    """Return what the outbox holds of one shared promotion.

    ``sent_by`` (the shop) and ``sender`` (the customer) have an ``address`` and a
    ``name``. ``coupon`` is None where the promotion itself is shared; ``link`` may be
    empty.
    """
    return {
        "from": dict(sent_by),
        "sender": dict(sender),
        "message": message,
        "promotion": _fields(promotion, PROMOTION_FIELDS),
        "coupon": _fields(coupon, COUPON_FIELDS) if coupon else None,
        "link": link,
        "unsubscribe": unsubscribe,
    }


def _fields(source: Json, names: Sequence[str]) -> dict[str, Json]:
    """Return the fields that templates may use.

    An absent one is empty text, so that only a misspelled name is an error.
    """
    return {name: source.get(name, "") for name in names}


def letter(document: Json) -> Letter:
    """Return the mail of a document.

    The mail is from the shop, and its answers go to the customer. Templates see the
    customer's message, name and address unlinked: an address, too, may begin with
    `www.`.
    """
    sent_by, sender = document["from"], document["sender"]
    variables: dict[str, Any] = {
        **document,
        "sender": {name: unlinked(text) for name, text in sender.items()},
        "message": unlinked(document["message"]),
    }
    return Letter(
        sent_by=Mailbox(sent_by["address"], " ".join(sent_by["name"].split())),
        reply_to=Mailbox(sender["address"], sender["name"]),
        unsubscribe=document["unsubscribe"],
        variables=variables,
    )


_SAMPLE_DAYS = dict.fromkeys(("effective", "expiry"), "2026-11-27")
_SAMPLE = outbox_document(
    sent_by={"address": "offers@shop.example", "name": "Shop"},
    sender={"address": "ann@mail.example", "name": "Ann"},
    message="Look:\nfor you.",
    promotion={**dict.fromkeys(PROMOTION_FIELDS, "x"), **_SAMPLE_DAYS},
    coupon=None,
    link="",
    unsubscribe="mailto:offers@shop.example",
)
_SAMPLE_COUPON = {**dict.fromkeys(COUPON_FIELDS, "x"), **_SAMPLE_DAYS}

SHARED_PROMOTION = MailTemplate(
    name="share",
    title="shared promotions",
    allowed="a Jinja2 template that says something of every promotion, with and without a coupon",
    letter=letter,
    samples=(
        _SAMPLE,
        {**_SAMPLE, "coupon": _SAMPLE_COUPON},
        # as many lines as a message may have: 2,000 characters (requests/share.json)
        {**_SAMPLE, "message": "x\n" * 1000},
    ),
)
