"""What no schema can state: references, unique ids, windows, dates. Each rule yields what it finds."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from vitrine.content import model
from vitrine.content.case import Case
from vitrine.content.expressions import WORDS
from vitrine.content.listing import KINDS
from vitrine.content.model import ALWAYS, BEGINNING, STORE_NUMBERS, Document, Documents, Window
from vitrine.content.schema import Finding
from vitrine.content.site import RESERVED_NAMES
from vitrine.problems import Pointer, nearest

Found = Iterator[tuple[Document, Finding]]


def findings(case: Case) -> Found:
    """Everything that the rules find."""
    for rule in RULES:
        yield from rule(case)


def _site(case: Case) -> Found:
    for site in case.having("site", ("time_zone",)):
        if finding := _no_zone(("time_zone",), site.value["time_zone"]):
            yield site, finding
    for site in case.having("site"):
        for name in case.keys(site, ("names",)) or ():
            if name in (*RESERVED_NAMES, *WORDS):
                pointer = ("names", name)
                yield site, Finding("site.name", pointer, f"the name {name!r} is taken", "another name", on_key=True)


def _no_zone(pointer: Pointer, name: str) -> Finding | None:
    try:
        model.zone(name)
    except ValueError as error:
        return Finding("time.zone", pointer, str(error), "a zone of the IANA database, such as America/New_York")
    return None


def _windows(case: Case) -> Found:
    documents = [document for kind in KINDS for document in case.having(kind.name)]
    zone = case.zone
    if zone is None:
        return
    for document in documents:
        if not isinstance(document.value, dict) or "publish" not in document.value:
            continue
        publish, moments = dict(case.entries(document, ("publish",))), {}
        for end, text in publish.items():
            try:
                moments[end] = model.instant(text, zone, ends=end == "until")
            except ValueError as error:
                yield (
                    document,
                    Finding("time.exists", ("publish", end), _no_time(text, error), "a time that exists"),
                )
        if len(moments) == 2 and moments["from"] >= moments["until"]:
            found = f"from {publish['from']} is not before until {publish['until']}"
            yield document, Finding("window.order", ("publish", "from"), found, "from before until")


def _no_time(text: str, error: ValueError) -> str:
    return str(error) if "clock" in str(error) else f"{text!r} does not exist in the calendar"


def _unique(case: Case) -> Found:
    for kind in KINDS:
        for name in kind.ids:
            documents = case.having(kind.name, (name,))
            if len({document.value[name] for document in documents}) == len(documents):  # as nearly always
                continue
            yield from _once(
                case, kind.name, name, ((document, (name,), document.value[name]) for document in documents)
            )


def _once(case: Case, kind: str, name: str, uses: Iterable[tuple[Document, Pointer, Any]]) -> Found:
    """Each value at most once at any time."""
    first: dict[Any, tuple[Document, Pointer]] = {}
    several: dict[Any, list[tuple[Document, Pointer]]] = {}
    for document, pointer, value in uses:
        if first.setdefault(value, use := (document, pointer)) is not use:
            several.setdefault(value, [first[value]]).append(use)
    for value, users in several.items():
        for number, (document, pointer) in enumerate(users):
            for other, there in users[:number]:
                live, others = case.window(document), case.window(other)
                if live and others and live.overlaps(others):
                    layer = other.layers[-1]
                    found = f"the {name} {value} is also that of the {kind} in {layer.path}"
                    allowed = "each once; two documents may share one if their publish windows do not overlap"
                    if kind == "app":
                        allowed = "each once"
                    yield document, Finding("unique", pointer, found, allowed, beside=(layer.path, layer.index, there))
                    break


def _references(case: Case) -> Found:
    windows: dict[str, dict[int, list[Window]]] = {number: defaultdict(list) for number in STORE_NUMBERS}
    unknown = set(STORE_NUMBERS) if "store" in case.unknown else set()
    for store in case.having("store"):
        for number in STORE_NUMBERS:
            if case.sound(store, (number,)):
                windows[number][store.value[number]].append(case.window(store) or ALWAYS)
            else:  # any number may be that of this store
                unknown.add(number)
    always = {number: {value for value, found in at.items() if ALWAYS in found} for number, at in windows.items()}
    for event in case.having("event"):
        known: list[Window] = []
        whole = case.sound(event, ("stores",))
        if whole and all(always[number].issuperset(values) for number, values in event.value["stores"].items()):
            continue  # as nearly always
        dangling = not whole
        for number in event.value["stores"] if whole else STORE_NUMBERS:
            values = enumerate(event.value["stores"][number]) if whole else case.entries(event, ("stores", number))
            for index, value in values:
                if value in windows[number]:
                    known += windows[number][value]
                    continue
                dangling = True
                if number not in unknown:
                    close = nearest(str(value), map(str, windows[number]))
                    found = f"no store has the {number} {value}"
                    pointer = ("stores", number, index)
                    yield event, Finding("reference", pointer, found, "a store's number", nearest=close)
        live = case.window(event)
        if live and not dangling and (gap := _uncovered(live, known)):
            found = f"from {_moment(gap, case.zone)} the event is live while none of its stores is"
            yield event, Finding("reference.live", ("stores",), found, "a publish window within those of its stores")


def _uncovered(whole: Window, parts: list[Window]) -> datetime | None:
    """The first instant of ``whole`` that no part covers."""
    if ALWAYS in parts:
        return None
    reached = whole.start
    for part in sorted(parts, key=lambda part: part.start):
        if part.start > reached:
            break
        reached = max(reached, part.end)
    return reached if reached < whole.end else None


def _moment(moment: datetime, where: ZoneInfo | None) -> str:
    return "the beginning" if moment == BEGINNING else moment.astimezone(where).strftime("%Y-%m-%d %H:%M")


def _applications(case: Case) -> Found:
    layout, sections, features = ("config", "appLayout"), ("config", "appConfig"), ("config", "featureConfig")
    for app in case.having("app"):
        known, known_features = case.keys(app, sections), case.keys(app, features)
        if known is not None:
            yield from _named(case, app, layout, known, "appConfig")
        for section in known or () if known_features is not None else ():
            yield from _named(case, app, (*sections, section, "featureLayout"), known_features or [], "featureConfig")
    versions = ("config", "appVersionInfo", "supportedVersions")
    for app in case.having("app", versions, ("config", "appVersionInfo", "appVersionNumber")):
        info = app.value["config"]["appVersionInfo"]
        if info["appVersionNumber"] not in info["supportedVersions"]:
            found = f"the appVersionNumber {info['appVersionNumber']!r} is not among the supported versions"
            yield app, Finding("app.version", versions, found, "a list that holds appVersionNumber")
    digests = [
        (app, ("apiKeys", index), digest)
        for app in case.having("app")
        for index, digest in case.entries(app, ("apiKeys",))
    ]
    yield from _once(case, "app", "API key digest", digests)


def _named(case: Case, app: Document, pointer: Pointer, known: list[str], where: str) -> Found:
    for index, name in case.entries(app, pointer):
        if name not in known:
            found = f"{name!r} is not a key of {where}"
            yield app, Finding("app.layout", (*pointer, index), found, ", ".join(known), nearest=nearest(name, known))


def _events(case: Case) -> Found:
    dateless: set[int] = set()
    for name in ("start", "finish"):
        for event in case.having("event", (name,)):
            text = event.value[name]
            try:
                datetime.fromisoformat(text)
            except ValueError:
                dateless.add(id(event))
                yield (
                    event,
                    Finding("time.exists", (name,), f"{text!r} does not exist in the calendar", "a day that exists"),
                )
    for event in case.having("event", ("start",), ("finish",)):
        start, finish = event.value["start"], event.value["finish"]
        if start >= finish and id(event) not in dateless:
            yield (
                event,
                Finding("time.order", ("finish",), f"finish {finish} is not after start {start}", "a later time"),
            )


def _stores(case: Case) -> Found:
    for store in case.having("store", ("timeZone",)):
        if finding := _no_zone(("timeZone",), store.value["timeZone"]):
            yield store, finding
    for store in case.having("store"):
        for day, hours in case.entries(store, ("hours",)):
            yield from _hours(store, ("hours", day), hours)
        days: set[str] = set()
        exceptions = store.value.get("exceptions") if isinstance(store.value, dict) else None
        for index in range(len(exceptions) if isinstance(exceptions, list) else 0):
            exception = dict(case.entries(store, ("exceptions", index)))
            yield from _hours(store, ("exceptions", index), exception)
            if (day := exception.get("date")) in days:
                found = f"the day {day} a second time"
                yield store, Finding("unique", ("exceptions", index, "date"), found, "each day once")
            days |= {day} if day else set()


def _hours(store: Document, pointer: Pointer, hours: Mapping[str, str]) -> Found:
    if {"open", "close"} <= hours.keys() and hours["open"] >= hours["close"]:
        found = f"close {hours['close']} is not after open {hours['open']}"
        yield store, Finding("time.order", (*pointer, "close"), found, "a later time of the same day")


def _promotions(case: Case) -> Found:
    for promotion in case.having("promotion", ("effective",), ("expiry",)):
        yield from _days(promotion, (), promotion.value)
    coupons = [promotion for promotion in case.having("promotion") if _has_coupon(promotion)]
    for promotion in coupons:
        coupon = promotion.value["coupon"]
        if case.sound(promotion, ("coupon", "effective")) and case.sound(promotion, ("coupon", "expiry")):
            yield from _days(promotion, ("coupon",), coupon)
        yield from _display(case, promotion, coupon)
    numbered = [promotion for promotion in coupons if case.sound(promotion, ("coupon", "couponNumber"))]
    uses = ((each, ("coupon", "couponNumber"), each.value["coupon"]["couponNumber"]) for each in numbered)
    yield from _once(case, "promotion", "couponNumber", uses)


def _has_coupon(promotion: Document) -> bool:
    return isinstance(promotion.value, dict) and isinstance(promotion.value.get("coupon"), dict)


def _days(promotion: Document, pointer: Pointer, value: Mapping[str, Any]) -> Found:
    """The schema sees to the days' existence (`format: date`); both ends are included."""
    effective, expiry = value["effective"], value.get("expiry")
    if expiry and date.fromisoformat(effective) > date.fromisoformat(expiry):
        found = f"expiry {expiry} is before effective {effective}"
        yield promotion, Finding("time.order", (*pointer, "expiry"), found, "the same day or a later one")


def _display(case: Case, promotion: Document, coupon: Mapping[str, Any]) -> Found:
    moments = {}
    for name in ("displayStartDate", "displayEndDate"):
        if not case.sound(promotion, ("coupon", name)):
            continue
        try:
            moments[name] = datetime.fromisoformat(coupon[name]).astimezone(UTC)
        except (ValueError, OverflowError):
            found = f"{coupon[name]!r} does not exist in the calendar"
            yield promotion, Finding("time.exists", ("coupon", name), found, "a time that exists")
    if len(moments) == 2 and moments["displayStartDate"] >= moments["displayEndDate"]:
        found = f"displayEndDate {coupon['displayEndDate']} is not after displayStartDate {coupon['displayStartDate']}"
        yield promotion, Finding("time.order", ("coupon", "displayEndDate"), found, "a later time")


RULES: tuple[Callable[[Case], Found], ...] = (
    _site,
    _windows,
    _unique,
    _references,
    _applications,
    _stores,
    _events,
    _promotions,
)


def placeholders(documents: Documents) -> list[tuple[Document, Pointer]]:
    """Where an application's configuration still says TBD."""

    def walk(value: Any, pointer: Pointer) -> Iterator[Pointer]:
        if value == "TBD":
            yield pointer
        elif isinstance(value, dict):
            for key, item in value.items():
                yield from walk(item, (*pointer, key))

    return [(app, pointer) for app in documents.app for pointer in walk(app.value["config"], ("config",))]


def unbumped(case: Case, released: Mapping[str, Any]) -> Found:
    """Applications whose configuration differs from the released one (by application) under the same configVersion.

    As apps get it: the order of its keys is part of it.
    """
    for app in case.having("app", ("name",), ("config",)):
        old = released.get(app.value["name"])
        new = app.value["config"]
        if old is None or old.get("configVersion") != new["configVersion"]:
            continue
        if orjson.dumps(old) != orjson.dumps(new):
            found = f"the configuration changed, and configVersion is still {new['configVersion']!r}"
            yield app, Finding("app.configVersion", ("config", "configVersion"), found, "a version not released before")
