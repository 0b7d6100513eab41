"""Promotions and coupons (interface 4.10, wire shapes §4)."""

from collections.abc import Callable, Sequence
from typing import Any

from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Call
from shopwindow.interface.kinds import Ids, Text, Word, Words
from shopwindow.interface.operation import CALLBACK, FromContent, Operation, Parameter

PROMOTION_PARTS = ("promotions", "coupons")
CHANNELS = ("SITE", "MOBILE")


def promotions_v2(content: Content, call: Call) -> Json:
    """Promotions, without coupons."""
    return _answer([_promotion(promotion) for promotion in _found(content, call)])


def promotions_v3(content: Content, call: Call) -> Json:
    """Promotions alone, those with a coupon, or all with their coupons."""
    shown = call["show"]
    promotions = _found(content, call)
    if shown == ("promotions",):
        return _answer([_promotion(promotion) for promotion in promotions])
    if shown == ("coupons",):
        promotions = [promotion for promotion in promotions if "coupon" in promotion]
    return _answer([_with_coupon(promotion) for promotion in promotions])


def promotions_sorted(content: Content, call: Call) -> Json:
    """Promotions by product category; one of several categories stands in each of their groups."""
    groups: dict[str, list[Json]] = {}
    for promotion in _found(content, call):
        for category in promotion["categories"]:
            groups.setdefault(category, []).append(_with_coupon(promotion))
    found = [{"fob": category, "promotions": groups[category]} for category in sorted(groups)]
    return {"sortedPromotions": found} if found else {}


def _found(content: Content, call: Call) -> list[Json]:
    """The promotions that satisfy every filter of the Call, by id."""
    tests = [
        (_PROMOTION_FILTERS[name], value)
        for name, value in call.arguments
        if name in _PROMOTION_FILTERS
    ]
    return [
        promotion
        for promotion in content.documents("promotion")
        if all(test(promotion, value) for test, value in tests)
    ]


# Parameter → whether a promotion satisfies it. The two versions spell some of them differently.
_PROMOTION_FILTERS: dict[str, Callable[[Json, Any], bool]] = {
    "promoid": lambda promotion, ids: promotion["promoId"] in ids,
    "global": lambda promotion, flag: promotion["global"] == (flag == "Y"),
    "sourcecode": lambda promotion, code: promotion["promotionSourceCode"] == code,
    "type": lambda promotion, text: promotion["promotionType"] == text,
    "promo_code": lambda promotion, text: promotion.get("promotionCode") == text,
    "channel": lambda promotion, channel: channel in promotion["channels"],
    "coupontype": lambda promotion, text: promotion.get("coupon", {}).get("couponType") == text,
    "couponnumber": lambda promotion, text: (
        promotion.get("coupon", {}).get("couponNumber") == text
    ),
}
_PROMOTION_FILTERS["promotionsourcecode"] = _PROMOTION_FILTERS["sourcecode"]
_PROMOTION_FILTERS["promotype"] = _PROMOTION_FILTERS["type"]
_PROMOTION_FILTERS["promocode"] = _PROMOTION_FILTERS["promo_code"]

_PROMOTION_IDS = Parameter(
    "promoid", Ids(), "Only the promotions with these ids, comma-separated.", example="880102"
)
_GLOBAL = Parameter(
    "global", Word(("Y", "N")), "Only promotions that are global (Y), or that are not (N)."
)
_CHANNEL = Parameter("channel", Word(CHANNELS), "Only promotions of this channel.")
_SOURCE, _TYPE, _CODE = Word(("B", "Z", "D")), Text(), Text()


def _answer(found: Sequence[Json]) -> Json:
    return {"promotionDetailsResponse": found} if found else {}


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
    for name in (
        "promotionCode",
        "promotionCodeIds",
        "promotionSources",
        "promotionSourceCode",
    ):
        _keep(value, promotion, name)
    for name in ("legalDisclaimer", "offerDescription"):
        _keep(value, promotion, name)
    return value


def _with_coupon(promotion: Json) -> Json:
    value = _promotion(promotion)
    if coupon := promotion.get("coupon"):
        rendered: dict[str, Json] = {}
        for name in (
            "couponUrl",
            "couponHeading",
            "couponSubHeading",
            "couponDescription",
            "couponShortCode",
        ):
            _keep(rendered, coupon, name)
        for name in ("couponNumber", "couponType"):
            _keep(rendered, coupon, name)
        rendered.update(_day("couponEffective", coupon["effective"]))
        rendered.update(_day("couponExpiration", coupon.get("expiry")))
        for name in ("displayStartDate", "displayEndDate", "couponAttributes"):
            _keep(rendered, coupon, name)
        value["coupon"] = rendered
    return value


def _keep(value: dict[str, Json], source: Json, name: str) -> None:
    """Absent means left out, and so does an empty list (wire shapes §1)."""
    if name in source and source[name] != []:
        value[name] = source[name]


def _day(name: str, text: str | None) -> dict[str, int]:
    """`2026-11-27` as three numbers; 0, 0, 0 without one (wire shapes §4)."""
    year, month, day = map(int, text.split("-")) if text else (0, 0, 0)
    return {f"{name}Day": day, f"{name}Month": month, f"{name}Year": year}


OPERATIONS = (
    Operation(
        "promotions_v2",
        "v2/promotions",
        FromContent(promotions_v2, lambda content: ({},)),
        "promotions_v2",
        "Promotions.",
        (
            _PROMOTION_IDS,
            _GLOBAL,
            Parameter("sourcecode", _SOURCE, "Only promotions from this source.", example="Z"),
            Parameter("type", _TYPE, "Only promotions of this type.", example="PERCENT_OFF"),
            Parameter(
                "promo_code", _CODE, "Only the promotion with this code.", example="SAVE10"
            ),
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
            _PROMOTION_IDS,
            _GLOBAL,
            Parameter(
                "promotionsourcecode", _SOURCE, "Only promotions from this source.", example="Z"
            ),
            Parameter(
                "promotype", _TYPE, "Only promotions of this type.", example="PERCENT_OFF"
            ),
            Parameter(
                "promocode", _CODE, "Only the promotion with this code.", example="SAVE10"
            ),
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
                example="400010000148",
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
