"""What editors write about a promotion and its coupon (interface 4.10, W4)."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.finding import Finding
from shopwindow.content.documents.schedule import END, Window, first_instant
from shopwindow.content.kinds import EACH, Kind, Reference, Rule
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.content.rules.unique import once
from shopwindow.content.rules.window_rules import instant_at
from shopwindow.problems import Level, Pointer


def days(case: Case, promotion: Document) -> Iterator[Finding]:
    """A promotion and its coupon expire on the day on which they take effect, or later."""
    for pointer in ((), ("coupon",)):
        ends = [(*pointer, name) for name in ("effective", "expiry")]
        if not all(case.sound(promotion, end) for end in ends):
            continue

        effective, expiry = (case.at(promotion, end) for end in ends)
        if effective and expiry and effective > expiry:  # as text, which sorts by day
            found = f"expiry {expiry} is before effective {effective}"
            yield Finding("time.order", ends[1], found, "the same day or a later one")


DISPLAYED: tuple[tuple[Pointer, bool], ...] = (
    (("coupon", "displayStartDate"), False),
    (("coupon", "displayEndDate"), True),
)
"""Between which instants a coupon is displayed; a bare day belongs to that time."""


def display(case: Case, promotion: Document) -> Iterator[Finding]:
    """The times between which a coupon is displayed exist, and come in order."""
    if case.zone is None:
        return
    instants = list[tuple[str, datetime]]()
    for pointer, ends in DISPLAYED:
        text = case.at(promotion, pointer)
        if text is None or not case.sound(promotion, pointer):
            continue
        moment = instant_at(pointer, text, case.zone, ends=ends)
        if isinstance(moment, Finding):
            yield moment
        else:
            instants.append((text, moment))

    if len(instants) == len(DISPLAYED):
        (first, start), (last, end) = instants
        if start >= end:
            found = f"displayEndDate {last} is not after displayStartDate {first}"
            yield Finding(
                "time.order", ("coupon", "displayEndDate"), found, "a later time"
            )


BEGINS, ENDS = "takes effect", "expires"
"""The labels of a promotion's dates. Before those of its coupon stands `coupon`."""


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
                label + BEGINS,
                first_instant(date.fromisoformat(value["effective"]), zone),
            )
        if "expiry" in value:
            day_after = date.fromisoformat(value["expiry"]) + timedelta(days=1)
            yield label + ENDS, first_instant(day_after, zone)


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
    instants=DISPLAYED,
    rules=(
        Rule(("time.order",), days),
        Rule(("time.exists", "time.order", "time.zone"), display),
    ),
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


def shown_while_it_holds(case: Case) -> RuleFindings:
    """Warn of a promotion that is live when it has expired, of one that is live only
    before it takes effect, and of a coupon that ends before its promotion.
    """
    if case.zone is None:
        return
    for promotion in case.having(PROMOTION.name, ("effective",), ("expiry",)):
        alone = {**promotion.value, "coupon": {}}
        try:
            instants = dict(dates(alone, case.zone))
        except ValueError:
            continue  # a problem already: there is no such day
        effective, after = instants[BEGINS], instants.get(ENDS)
        window = case.window(promotion)
        if window is not None and after is not None:
            yield from _expired(case, promotion, window, after)
        if window is not None and window.end <= effective:
            until = promotion.value["publish"]["until"]
            first = promotion.value["effective"]
            found = f"the promotion is live until {until}, and takes effect on {first}"
            allowed = f"an end after {first}"
            place = ("publish", "until")
            yield promotion, Finding("promotion.early", place, found, allowed)
        yield from _coupon_ends_first(case, promotion)


def _expired(
    case: Case, promotion: Document, window: Window, after: datetime
) -> RuleFindings:
    """Warn of a window that ends later than its promotion; of one without an end once
    the promotion has expired, for until then nothing is wrong.

    ``after``: when the promotion has expired.
    """
    expiry, moment = promotion.value["expiry"], case.moment
    if moment is None or not after < window.end or window.end <= moment:
        return
    place: Pointer = ("publish", "until")
    if window.end < END:
        until = promotion.value["publish"]["until"]
        found = f"the promotion expires on {expiry}, and is live until {until}"
    elif after <= moment:
        place = ("expiry",)
        found = f"the promotion expired on {expiry}, and is live still"
    else:
        return
    allowed = f"publish until {expiry}; a document that is over may be deleted"
    yield promotion, Finding("promotion.expired", place, found, allowed)


def _coupon_ends_first(case: Case, promotion: Document) -> RuleFindings:
    """Days are `YYYY-MM-DD`, so text compares as time does."""
    pointer: Pointer = ("coupon", "expiry")
    coupon, expiry = case.at(promotion, pointer), promotion.value.get("expiry")
    if case.sound(promotion, pointer) and coupon and expiry and coupon < expiry:
        found = f"the coupon ends on {coupon}, and its promotion on {expiry}"
        allowed = f"{expiry} or later, or a promotion until {coupon}"
        yield promotion, Finding("promotion.coupon", pointer, found, allowed)


RULES = (
    Rule(("unique",), coupon_numbers_once),
    Rule(
        ("promotion.coupon", "promotion.early", "promotion.expired"),
        shown_while_it_holds,
        Level.WARNING,
    ),
)
"""The rules that look at several promotions together, or at the day of the check."""
