"""Events and promotions as a customer reads them: cards, by what is live, to come and
ended.

Pages for the kinds `event` and `promotion` of a retailer (interface 2.4, 2.5, 4.10).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.schedule import Window
from shopwindow.content.documents.zones import Zones
from shopwindow.content.kinds import titled
from shopwindow.preview import drawing
from shopwindow.preview.pages.documents import PER_PAGE, in_name, number
from shopwindow.preview.visit import Page, Visit
from shopwindow.retail.storefront import STORE_NUMBERS

OFFER_STATES = ("live", "to come", "ended")


@dataclass(frozen=True)
class Card:
    """An event or a promotion. ``start`` and ``end`` are in ``zone``; an open end is
    None.

    At stores of several zones the same is read from the clocks of each: ``clocks`` are
    those zones' letters, in the order in which it starts there. ``state`` is that of its
    dates, live as long as it is live at some store; ``stay`` that of its publish window.
    """

    id: str
    document: Document
    start: datetime | None
    end: datetime | None
    zone: ZoneInfo
    clocks: tuple[str, ...]
    state: str
    stay: drawing.Stay

    @property
    def value(self) -> dict[str, Any]:
        return self.document.value


def events(visit: Visit) -> Page:
    """Return the page of events. Parameters: ``store`` is any of a store's three
    numbers, ``state`` is live, to come or ended.
    """
    return _page(visit, "event", "id", _event_dates, "events.html", "Events")


def promotions(visit: Visit) -> Page:
    """Return the page of promotions, with their coupons. Parameters: ``store`` is not
    one of them; ``state`` is live, to come or ended.
    """
    return _page(
        visit, "promotion", "promoId", _promotion_dates, "promotions.html", "Promotions"
    )


def _page(
    visit: Visit, kind: str, identity: str, dates: Any, template: str, title: str
) -> Page:
    store, state = visit.query.get("store", "").strip(), visit.query.get("state", "")
    words = visit.query.get("q", "").casefold().split()
    numbers = store_numbers(visit, store)
    cards = [
        card
        for card in _cards(visit, kind, identity, dates)
        if (not state or card.state == state)
        and (numbers is None or takes_place_at(card.value, numbers))
        and all(word in str(card.value).casefold() for word in words)
    ]
    described = visit.snapshot.interface.kind[kind]
    order = {name: place for place, name in enumerate(OFFER_STATES)}
    cards.sort(
        key=lambda card: (
            not in_name(words, titled(described, card.value)),
            order[card.state],
            card.start or schedule.BEGINNING,
            card.id,
        )
    )
    pages = max(1, -(-len(cards) // PER_PAGE))
    page = min(max(1, number(visit.query.get("page", "1"))), pages)
    first = (page - 1) * PER_PAGE
    values = {
        "cards": list(islice(cards, first, first + PER_PAGE)),
        "count": len(cards),
        "page": page,
        "pages": pages,
        "store": store,
        "state": state,
        "states": OFFER_STATES,
        "q": visit.query.get("q", ""),
    }
    return Page(template, title, values)


def _cards(visit: Visit, kind: str, identity: str, dates: Any) -> Iterator[Card]:
    documents = visit.snapshot.documents
    if documents is None:
        return
    interface = visit.snapshot.interface
    zones = Zones(interface.kind[kind], interface.kinds, documents.of)
    for document in documents.of(kind):
        spans = [
            (*dates(document.value, zone), zone)
            for zone in zones.of(document.value, documents.zone)
        ]
        spans.sort(key=lambda span: span[0] or schedule.BEGINNING)
        start, end, zone = spans[0]
        last_end = max(end or schedule.END for _, end, _ in spans)
        window = Window(start or schedule.BEGINNING, last_end)
        state = "live" if visit.moment in window else "ended"
        if visit.moment < window.start:
            state = "to come"
        yield Card(
            str(document.value[identity]),
            document,
            start,
            end,
            zone,
            tuple(dict.fromkeys(_letters(start, zone) for start, _, zone in spans)),
            state,
            drawing.stay(document.value, documents.zone, visit.moment),
        )


def _letters(moment: datetime | None, zone: ZoneInfo) -> str:
    """Return the letters of a zone's clocks at an instant, such as EST."""
    return str((moment or schedule.BEGINNING).astimezone(zone).tzname())


def _event_dates(value: dict[str, Any], zone: ZoneInfo) -> tuple[datetime, datetime]:
    return schedule.local_time(value["start"], zone), schedule.local_time(
        value["finish"], zone
    )


def _promotion_dates(
    value: dict[str, Any], zone: ZoneInfo
) -> tuple[datetime | None, datetime | None]:
    start = value.get("effective")
    end = value.get("expiry")
    return (
        schedule.instant(start, zone) if start else None,
        schedule.instant(end, zone, ends=True) if end else None,
    )


def store_numbers(visit: Visit, text: str) -> dict[str, Any] | None:
    """Return the three numbers of the store that a text names; None where it names
    none.
    """
    documents = visit.snapshot.documents
    if not text or documents is None:
        return None
    for store in documents.of("store"):
        if any(str(store.value.get(name)) == text for name in STORE_NUMBERS):
            return {name: store.value.get(name) for name in STORE_NUMBERS}
    return {}


def takes_place_at(value: dict[str, Any], numbers: dict[str, Any]) -> bool:
    """Return whether a document names a store by any of its numbers."""
    stores = value.get("stores", {})
    if not isinstance(stores, dict):
        return False
    return any(number in stores.get(name, ()) for name, number in numbers.items())
