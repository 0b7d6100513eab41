"""Events and promotions as a customer reads them: cards, by what is live, to come and
ended.

Pages for the kinds `event` and `promotion` of a retailer (interface 2.4, 2.5, 4.10).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.schedule import Window
from shopwindow.content.documents.zones import Zones
from shopwindow.content.kinds import Kind, titled
from shopwindow.preview import drawing
from shopwindow.preview.pages.documents import has_words, paged
from shopwindow.preview.pages.stores import store_named
from shopwindow.preview.visit import Page, Visit
from shopwindow.retail.events import kind as events_kind
from shopwindow.retail.events.kind import EVENT
from shopwindow.retail.promotions import kind as promotions_kind
from shopwindow.retail.promotions.kind import PROMOTION
from shopwindow.retail.storefront import STORE_NUMBERS

OFFER_STATES = ("live", "to come", "ended")

BEGINS_AND_ENDS = {
    EVENT.name: (events_kind.BEGINS, events_kind.ENDS),
    PROMOTION.name: (promotions_kind.BEGINS, promotions_kind.ENDS),
}
"""What the kinds call the dates that cards show."""


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
    return _page(visit, "event", "events.html", "Events")


def promotions(visit: Visit) -> Page:
    """Return the page of promotions, with their coupons. Parameters: ``store`` is not
    one of them; ``state`` is live, to come or ended.
    """
    return _page(visit, "promotion", "promotions.html", "Promotions")


def _page(visit: Visit, name: str, template: str, title: str) -> Page:
    kind = visit.interface.kind[name]
    store, state = visit.query.get("store", "").strip(), visit.query.get("state", "")
    words = visit.words
    numbers = store_numbers(visit, store)
    cards = [
        card
        for card in _cards(visit, kind)
        if state in ("", card.state)
        and takes_place_at(card.value, numbers)
        and has_words(words, str(card.value))
    ]
    cards.sort(
        key=lambda card: (
            not has_words(words, titled(kind, card.value)),
            OFFER_STATES.index(card.state),
            card.start or schedule.BEGINNING,
            card.id,
        )
    )
    shown, values = paged(visit, cards)
    values |= {"cards": shown, "store": store, "state": state, "states": OFFER_STATES}
    return Page(template, title, values)


def _cards(visit: Visit, kind: Kind) -> Iterator[Card]:
    documents = visit.documents
    zones = Zones(kind, visit.interface.kinds, documents.of)
    for document in documents.of(kind.name):
        spans = [
            _span(kind, document.value, zone)
            for zone in zones.of(document.value, documents.zone)
        ]
        spans.sort(key=lambda span: span[0] or schedule.BEGINNING)
        start, end, zone = spans[0]
        last_end = max(end or schedule.END for _, end, _ in spans)
        window = Window(start or schedule.BEGINNING, last_end)
        letters = (_letters(start, zone) for start, _, zone in spans)
        yield Card(
            id=str(kind.named(document.value)),
            document=document,
            start=start,
            end=end,
            zone=zone,
            clocks=tuple(dict.fromkeys(letters)),
            state=drawing.state_of(window, visit.moment),
            stay=visit.stay(document.value),
        )


def _letters(moment: datetime | None, zone: ZoneInfo) -> str:
    """Return the letters of a zone's clocks at an instant, such as EST."""
    return str((moment or schedule.BEGINNING).astimezone(zone).tzname())


def _span(
    kind: Kind, value: dict[str, Any], zone: ZoneInfo
) -> tuple[datetime | None, datetime | None, ZoneInfo]:
    """Return when an event or a promotion begins and ends on a zone's clocks; None where
    it does not say.
    """
    dates = dict(kind.dates(value, zone)) if kind.dates else {}
    begins, ends = BEGINS_AND_ENDS[kind.name]
    return dates.get(begins), dates.get(ends), zone


def store_numbers(visit: Visit, text: str) -> dict[str, Any] | None:
    """Return the three numbers of the store that a text names; None where it names
    none.
    """
    if not text:
        return None
    store = store_named(visit, text)
    return {name: store.get(name) for name in STORE_NUMBERS} if store else {}


def takes_place_at(value: dict[str, Any], numbers: dict[str, Any] | None) -> bool:
    """Return whether a document names a store by any of its numbers; None: any store."""
    if numbers is None:
        return True
    stores = value.get("stores", {})
    if not isinstance(stores, dict):
        return False
    return any(number in stores.get(name, ()) for name, number in numbers.items())
