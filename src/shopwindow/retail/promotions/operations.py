"""Promotions and coupons (interface 4.10, W4.1, W4.2, W4.3).

Version 3 spells some parameters of version 2 differently, so the table of filters has
both spellings. A view selects with that table, and renders each promotion with or
without its coupon.
"""

from collections.abc import Sequence
from typing import Any

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import Ids, Text, Word, Words
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    Call,
    FromContent,
    Operation,
    Parameter,
)

PROMOTION_PARTS = ("promotions", "coupons")
"""What version 3 shows: one of them, or both."""

CHANNELS = ("SITE", "MOBILE")


def promotions_v2(content: Content, call: Call) -> Json:
    """Return promotions without their coupons."""
    return _answer([_promotion(promotion) for promotion in _selected(content, call)])


def promotions_v3(content: Content, call: Call) -> Json:
    """Return promotions alone, those that have a coupon, or all with their coupons."""
    parts = call["show"]
    promotions = _selected(content, call)
    if parts == ("promotions",):
        return _answer([_promotion(promotion) for promotion in promotions])
    if parts == ("coupons",):
        promotions = [promotion for promotion in promotions if "coupon" in promotion]
    return _answer([_with_coupon(promotion) for promotion in promotions])


def promotions_sorted(content: Content, call: Call) -> Json:
    """Return promotions by product category; one with several categories stands in each
    group.
    """
    by_category: dict[str, list[Json]] = {}
    for promotion in _selected(content, call):
        for category in promotion["categories"]:
            by_category.setdefault(category, []).append(_with_coupon(promotion))
    groups = [
        {"fob": category, "promotions": by_category[category]}
        for category in sorted(by_category)
    ]
    return {"sortedPromotions": groups} if groups else {}


def _selected(content: Content, call: Call) -> list[Json]:
    """Return the promotions that satisfy every filter of the Call, by id."""
    filters = [
        (_PROMOTION_FILTERS[name], value)
        for name, value in call.arguments
        if name in _PROMOTION_FILTERS
    ]
    return [
        promotion
        for promotion in content.documents("promotion")
        if all(_satisfies(promotion, *wanted) for wanted in filters)
    ]


_PROMOTION_FILTERS = {
    "promoid": "promoId",
    "global": "global",
    "channel": "channels",
    "sourcecode": "promotionSourceCode",
    "promotionsourcecode": "promotionSourceCode",
    "type": "promotionType",
    "promotype": "promotionType",
    "promo_code": "promotionCode",
    "promocode": "promotionCode",
    "coupontype": "couponType",
    "couponnumber": "couponNumber",
}
"""The property, of the promotion or of its coupon, that a parameter filters by."""


def _satisfies(promotion: Json, property: str, wanted: Any) -> bool:
    match property:
        case "promoId":
            return promotion[property] in wanted
        case "channels":
            return wanted in promotion[property]
        case "global":
            return bool(promotion[property] == (wanted == "Y"))
        case "couponType" | "couponNumber":
            promotion = promotion.get("coupon", {})
    return bool(promotion.get(property) == wanted)


# -- the response ----------------------------------------------------------------------


def _answer(rendered: Sequence[Json]) -> Json:
    return {"promotionDetailsResponse": rendered} if rendered else {}


def _promotion(promotion: Json) -> Json:
    value = {
        "promotionName": promotion["promotionName"],
        "description": promotion["description"],
        "global": promotion["global"],
        "promoId": str(promotion["promoId"]),
        "promotionType": promotion["promotionType"],
        **_day("effective", promotion["effective"]),
        **_day("expiration", promotion.get("expiry")),
    }
    optional = _present(
        promotion,
        "promotionCode",
        "promotionCodeIds",
        "promotionSources",
        "promotionSourceCode",
        "legalDisclaimer",
        "offerDescription",
    )
    return value | optional


def _with_coupon(promotion: Json) -> Json:
    value = _promotion(promotion)
    coupon = promotion.get("coupon")
    if not coupon:
        return value
    texts = _present(
        coupon,
        "couponUrl",
        "couponHeading",
        "couponSubHeading",
        "couponDescription",
        "couponShortCode",
        "couponNumber",
        "couponType",
    )
    first_day = _day("couponEffective", coupon["effective"])
    last_day = _day("couponExpiration", coupon.get("expiry"))
    display = _present(coupon, "displayStartDate", "displayEndDate", "couponAttributes")
    return value | {"coupon": texts | first_day | last_day | display}


def _present(source: Json, *names: str) -> dict[str, Json]:
    """Return the properties of these names; absent ones and empty lists are left out.

    The order of ``names`` is the order in the response (interface W1.2).
    """
    return {
        name: source[name] for name in names if name in source and source[name] != []
    }


def _day(name: str, text: str | None) -> dict[str, int]:
    """Return `2026-11-27` as three numbers; without a day they are 0 (interface W4.1)."""
    year, month, day = map(int, text.split("-")) if text else (0, 0, 0)
    return {f"{name}Day": day, f"{name}Month": month, f"{name}Year": year}


# -- operations ------------------------------------------------------------------------

_CHANNEL = Parameter("channel", Word(CHANNELS), "Only promotions of this channel.")


def _both_versions(source: str, type: str, code: str) -> tuple[Parameter, ...]:
    """Return the filters that both versions have, three of them by these names."""
    return (
        Parameter(
            "promoid",
            Ids(),
            "Only the promotions with these ids, comma-separated.",
            example="880103",
        ),
        Parameter(
            "global",
            Word(("Y", "N")),
            "Only promotions that are global (Y), or that are not (N).",
        ),
        Parameter(
            source,
            Word(("B", "Z", "D")),
            "Only promotions from this source.",
            example="D",
        ),
        Parameter(
            type, Text(), "Only promotions of this type.", example="FREE_SHIPPING"
        ),
        Parameter(code, Text(), "Only the promotion with this code.", example="SLEIGH"),
    )


OPERATIONS = (
    Operation(
        "promotions_v2",
        "v2/promotions",
        FromContent(promotions_v2, lambda content: ({},)),
        "promotions_v2",
        "Promotions.",
        (
            *_both_versions("sourcecode", "type", "promo_code"),
            CALLBACK,
        ),
    ),
    Operation(
        "promotions_v3",
        "v3/promotions",
        FromContent(
            promotions_v3,
            lambda content: (
                {"show": shown}
                for shown in (PROMOTION_PARTS[:1], PROMOTION_PARTS[1:], PROMOTION_PARTS)
            ),
        ),
        "promotions_v3",
        "Promotions, coupons or both.",
        (
            Parameter(
                "show",
                Words(PROMOTION_PARTS),
                "What to show; without it, both.",
                default=PROMOTION_PARTS,
                always=True,
            ),
            *_both_versions("promotionsourcecode", "promotype", "promocode"),
            _CHANNEL,
            Parameter(
                "coupontype",
                Text(),
                "Only promotions with a coupon of this type.",
                example="STORE_AND_ONLINE",
            ),
            Parameter(
                "couponnumber",
                Text(),
                "Only the promotion with this coupon.",
                example="400010000155",
            ),
            CALLBACK,
        ),
    ),
    Operation(
        "promotions_sorted",
        "v3/promotions/sorted",
        FromContent(
            promotions_sorted,
            lambda content: ({}, *({"channel": channel} for channel in CHANNELS)),
        ),
        "promotions_sorted",
        "Promotions grouped and sorted by product category.",
        (_CHANNEL, CALLBACK),
    ),
)
