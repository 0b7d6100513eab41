"""What editors write about a promotion and its coupon (interface 4.10, wire-shapes 4)."""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.content.case import Case, RuleFindings
from shopwindow.content.documents import Document
from shopwindow.content.finding import Finding
from shopwindow.content.kinds import EACH, Kind, Reference
from shopwindow.content.schedule import first_instant
from shopwindow.content.unique import once
from shopwindow.problems import Pointer


def days(case: Case, promotion: Document) -> Iterator[Finding]:
    """A promotion and its coupon expire on the day on which they take effect, or later."""
    for pointer in ((), ("coupon",)):
        ends = [(*pointer, name) for name in ("effective", "expiry")]
        if not all(case.sound(promotion, end) for end in ends):
            continue

        effective, expiry = (case.at(promotion, end) for end in ends)
        if (
            effective
            and expiry
            and date.fromisoformat(effective) > date.fromisoformat(expiry)
        ):
            found = f"expiry {expiry} is before effective {effective}"
            yield Finding("time.order", ends[1], found, "the same day or a later one")


def display(case: Case, promotion: Document) -> Iterator[Finding]:
    """The times between which a coupon is displayed exist, and come in order."""
    instants: dict[str, tuple[str, datetime]] = {}
    for name in ("displayStartDate", "displayEndDate"):
        pointer: Pointer = ("coupon", name)
        text = case.at(promotion, pointer)
        if text is None or not case.sound(promotion, pointer):
            continue
        try:
            instants[name] = text, datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError):
            yield Finding(
                "time.exists",
                pointer,
                f"{text!r} does not exist in the calendar",
                "a time that exists",
            )

    if len(instants) == 2:
        first, start = instants["displayStartDate"]
        last, end = instants["displayEndDate"]
        if start >= end:
            found = f"displayEndDate {last} is not after displayStartDate {first}"
            yield Finding(
                "time.order", ("coupon", "displayEndDate"), found, "a later time"
            )


def dates(
    promotion: Mapping[str, Any], zone: ZoneInfo
) -> Iterator[tuple[str, datetime]]:
    """Yield when a promotion and its coupon begin and end, as (label, instant), for the
    calendar.

    The day of expiry is included, so the end is the first instant of the day after it.
    """
    for label, value in (("", promotion), ("coupon ", promotion.get("coupon", {}))):
        if "effective" in value:
            yield (
                f"{label}takes effect",
                first_instant(date.fromisoformat(value["effective"]), zone),
            )
        if "expiry" in value:
            day_after = date.fromisoformat(value["expiry"]) + timedelta(days=1)
            yield f"{label}expires", first_instant(day_after, zone)


PROMOTION = Kind(
    name="promotion",
    folder="promotions",
    schema="promotion.json",
    ids=("promoId",),
    title=("promotionName",),
    references=(
        Reference(("products", EACH), "product"),
        Reference(("categoryIds", EACH), "category"),
    ),
    dates=dates,
    rules=(days, display),
)


def coupon_numbers_once(case: Case) -> RuleFindings:
    """No two promotions that are live at one time have a coupon of one number."""
    pointer: Pointer = ("coupon", "couponNumber")
    uses = [
        (promotion, pointer, number)
        for promotion in case.having(PROMOTION.name)
        if case.sound(promotion, pointer)
        and (number := case.at(promotion, pointer)) is not None
    ]
    yield from once(case, PROMOTION, "couponNumber", uses)


RULES = (coupon_numbers_once,)
"""The rules that look at several promotions together."""
