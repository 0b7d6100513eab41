"""The conformance table: requests with the answers that the interface owes them, written out by hand.

Nothing here is computed by the program: bodies are values written as JSON by the standard library, and as XML by the
few lines of ``xml`` below; distances come from another formula; ETags from the rule in the design.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

from harness.catalogs import SETTINGS, files
from harness.content import app, coupon, event, promotion, site, store
from harness.program import UNLIMITED, Answer
from harness.servers import ADDRESS, ask
from harness.waits import PATIENCE

Json = Any
AT = "2026-11-24T12:00:00-05:00"
"""The instant of the release: a Tuesday; the week begins on 23 November."""

# -- content -----------------------------------------------------------------------------------------------------

PHONE, TABLET, OLD_TABLET = "PhonePhonePhonePhone1234", "TabletTabletTablet123456", "TabletTabletTablet000000"
PAGE, MOBILE_PAGE = "https://www.shop.example", "https://m.shop.example"


def digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()


def documents(base: str = "") -> dict[str, str]:
    """The content folder as texts by path. ``base``: the path of base_url."""
    return _texts(_documents(base))


def in_several_files() -> dict[str, str]:
    """The same documents with those of each kind in two files, of which the second has the first half, and banners.

    Those are a collection, whose schema is the sample's; the last one is published in the evening of the next day.
    """
    files: dict[str, Json] = {
        "banners/first.yaml": [_banner(1), _banner(2, applications=["phone"])],
        "banners/second.yaml": [_banner(11), _banner(12, publish={"from": "2026-11-25 18:00"})],
    }
    for path, value in _documents("").items():
        if not isinstance(value, list):
            files[path] = value
            continue
        folder, half = path.removesuffix("/all.yaml").removesuffix(".yaml"), len(value) // 2
        files |= {f"{folder}/first.yaml": value[half:], f"{folder}/second.yaml": value[:half]}
    return _texts(files)


def _banner(id: int, **more: Json) -> Json:
    image, link = f"https://i.example/{id}.png", f"https://www.example/{id}"
    words = {"headline": f"Gift {id}", "placement": "home", "image": image, "link": link}
    return {"bannerId": id, "priority": -id % 5, **words, **more}


def _texts(documents: Mapping[str, Json]) -> dict[str, str]:
    texts = {path: json.dumps(value, ensure_ascii=False) for path, value in documents.items()}
    return {path: text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029") for path, text in texts.items()}


def _documents(base: str) -> dict[str, Json]:
    """Two applications, four stores, four events, three promotions, a catalog."""
    lifetimes = {
        "default": {"maxAge": 60},
        "mobileapp": {"maxAge": 120},
        "events_v1": {"maxAge": 900},
        "stores": {"maxAge": 3600},
        "stores_by_location": {"maxAge": 1800},
        "promotions_sorted": {"maxAge": 600},
        "product_v4": {"maxAge": 300},
    }
    url = f"https://api.shop.example{base}"
    return {
        "site.yaml": site(
            base_url=url, origins=[PAGE, MOBILE_PAGE], lifetimes=lifetimes, catalog=SETTINGS, limits=UNLIMITED
        ),
        "apps/phone.yaml": {**app("phone", appLayout=["shop", "bag"]), "apiKeys": [digest(PHONE)]},
        "apps/tablet.yaml": {**app("tablet", appLayout=[]), "apiKeys": [digest(TABLET), digest(OLD_TABLET)]},
        "stores/all.yaml": list(_STORES),
        "events/all.yaml": list(_EVENTS),
        "promotions/all.yaml": list(_PROMOTIONS),
        **dict(files()),
    }


_MONDAYS = {"monday": {"open": "10:00", "close": "21:00"}}
_STORES = (
    store(
        3,
        storeNumber=1011,
        locationNumber=2001,
        name="Back Bay",
        address={
            "line1": "450 Boylston Street",
            "city": "Boston",
            "state": "MA",
            "countryCode": "US",
            "zipCode": "02116",
        },
        location={"latitude": 42.35, "longitude": -71.075},
        features=["BOPS", "RESTAURANT"],
        attributes={"SL_RESTAURANT": ["TRUE"]},
        hours=_MONDAYS,
    ),
    store(
        1,
        storeNumber=1012,
        locationNumber=2002,
        name="Foundry & Square",
        address={
            "line1": "1 Foundry Square",
            "line2": "Level 2",
            "city": "New York",
            "state": "NY",
            "countryCode": "US",
            "zipCode": "10018-1234",
        },
        location={"latitude": 40.7536, "longitude": -73.9889},
        features=["BRIDAL", "BOPS"],
        hours=_MONDAYS,
        exceptions=[{"date": "2026-11-27", "open": "06:00", "close": "22:00"}, {"date": "2026-11-30"}],
    ),
    store(
        2,
        storeNumber=1013,
        locationNumber=2003,
        name="Asylum Street",
        address={
            "line1": "60 Asylum Street",
            "city": "Hartford",
            "state": "CT",
            "countryCode": "US",
            "zipCode": "06103",
        },
        location={"latitude": 41.765, "longitude": -72.675},
        hours=_MONDAYS,
    ),
    store(
        4,
        storeNumber=1014,
        locationNumber=2004,
        name="Hale Koa",
        address={
            "line1": "9 Bishop Street",
            "city": "Honolulu",
            "state": "HI",
            "countryCode": "US",
            "zipCode": "96813",
        },
        location={"latitude": 21.3, "longitude": -157.85},
        features=["MATTRESS"],
        timeZone="Pacific/Honolulu",
        hours=_MONDAYS,
    ),
)
_EVENTS = (
    event(20, [3], "2026-12-04 17:30", "2026-12-04 19:00"),
    event(30, [1, 3], "2026-12-05 10:00", "2026-12-05 12:00", attributes={"STORE_EVENT_TYPE": ["Beauty", "Gifts"]}),
    event(
        10,
        [1],
        "2026-12-06 00:15",
        "2026-12-08 12:00",
        name='Tea & <Cake> "for" all',
        shortDesc="Caf\u00e9:\ncome in\r\n \U0001f370",
        links=[{"href": "https://www.shop.example/tea?a=1&b=2", "rel": "details"}],
        attributes={"START_TIME": ["By Appointment"]},
    ),
    {
        **event(40, [], "2026-12-31 20:00", "2027-01-01 01:00"),
        "stores": {"locationNumber": [2003], "storeNumber": [1011]},
    },
)
_PROMOTIONS = (
    promotion(7, categories=["Home", "Beauty"]),
    promotion(
        5,
        **{"global": True, "promotionType": "DOLLAR_OFF", "promotionSourceCode": "Z", "promotionCode": "SAVE10"},
        expiry="2026-12-24",
        channels=["SITE"],
        promotionCodeIds=["A-1", "A-2"],
        promotionSources=["Catalog"],
        legalDisclaimer="While it lasts.",
        offerDescription="$10 off",
        coupon=coupon(
            "4001", couponSubHeading="Sub", couponAttributes=[{"attributeName": "BARCODE", "attributeValue": "1"}]
        ),
    ),
    promotion(
        11,
        description="Two\u2028lines \u2029",
        promotionSourceCode="D",
        promotionCode="mobile-1",
        channels=["MOBILE"],
        coupon=coupon("4002", couponType="ONLINE"),
    ),
)

# -- what the documents look like in answers ---------------------------------------------------------------------

_WEEKS = (  # 21 days from the Monday, in three weeks
    ("2026-11-23", "2026-11-24", "2026-11-25", "2026-11-26", "2026-11-27", "2026-11-28", "2026-11-29"),
    ("2026-11-30", "2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04", "2026-12-05", "2026-12-06"),
    ("2026-12-07", "2026-12-08", "2026-12-09", "2026-12-10", "2026-12-11", "2026-12-12", "2026-12-13"),
)


def _schedule(**others: Json) -> Json:
    days = {day: {"date": day} for week in _WEEKS for day in week}
    for day in ("2026-11-23", "2026-11-30", "2026-12-07"):
        days[day] = {"date": day, "storeopenhour": "10:00", "storeclosehour": "21:00"}
    return {"workingHours": list((days | others).values())}


BOSTON = {
    "name": "Back Bay",
    "locationNumber": 2001,
    "storeNumber": 1011,
    "storeId": 3,
    "phoneNumber": "212-555-0100",
    "mapUrl": "https://maps.shop.example/3",
    "address": {
        "line1": "450 Boylston Street",
        "city": "Boston",
        "state": "MA",
        "countryCode": "US",
        "zipCode": "02116",
    },
    "location": {"latitude": 42.35, "longitude": -71.075},
    "features": {"feature": ["BOPS", "RESTAURANT", "HAS_EVENTS"]},
    "attributes": {
        "attribute": [
            {"name": "SL_RESTAURANT", "values": ["TRUE"]},
            {"name": "TIMEZONE", "values": ["America/New_York"]},
        ]
    },
    "schedule": _schedule(),
}
NEW_YORK = {
    "name": "Foundry & Square",
    "locationNumber": 2002,
    "storeNumber": 1012,
    "storeId": 1,
    "phoneNumber": "212-555-0100",
    "mapUrl": "https://maps.shop.example/1",
    "address": {
        "line1": "1 Foundry Square",
        "line2": "Level 2",
        "city": "New York",
        "state": "NY",
        "countryCode": "US",
        "zipCode": "10018-1234",
    },
    "location": {"latitude": 40.7536, "longitude": -73.9889},
    "features": {"feature": ["BRIDAL", "BOPS", "HAS_EVENTS"]},
    "attributes": {"attribute": [{"name": "TIMEZONE", "values": ["America/New_York"]}]},
    "schedule": _schedule(
        **{
            "2026-11-27": {"date": "2026-11-27", "storeopenhour": "06:00", "storeclosehour": "22:00"},
            "2026-11-30": {"date": "2026-11-30"},
        }
    ),
}
HARTFORD = {
    "name": "Asylum Street",
    "locationNumber": 2003,
    "storeNumber": 1013,
    "storeId": 2,
    "phoneNumber": "212-555-0100",
    "mapUrl": "https://maps.shop.example/2",
    "address": {
        "line1": "60 Asylum Street",
        "city": "Hartford",
        "state": "CT",
        "countryCode": "US",
        "zipCode": "06103",
    },
    "location": {"latitude": 41.765, "longitude": -72.675},
    "features": {"feature": ["HAS_EVENTS"]},
    "attributes": {"attribute": [{"name": "TIMEZONE", "values": ["America/New_York"]}]},
    "schedule": _schedule(),
}
HONOLULU = {
    "name": "Hale Koa",
    "locationNumber": 2004,
    "storeNumber": 1014,
    "storeId": 4,
    "phoneNumber": "212-555-0100",
    "mapUrl": "https://maps.shop.example/4",
    "address": {"line1": "9 Bishop Street", "city": "Honolulu", "state": "HI", "countryCode": "US", "zipCode": "96813"},
    "location": {"latitude": 21.3, "longitude": -157.85},
    "features": {"feature": ["MATTRESS"]},
    "attributes": {"attribute": [{"name": "TIMEZONE", "values": ["Pacific/Honolulu"]}]},
    "schedule": _schedule(),
}


def at(distance: float, shop: Json) -> Json:
    """A store as it is told when a place was given: its distance after its location."""
    entries = []
    for name, value in shop.items():
        entries.append((name, value))
        if name == "location":
            entries += [("distance", distance), ("units", "mi")]
    return dict(entries)


def _v1(id: int, location: int, *attributes: str, name: str = "", link: Json = ()) -> Json:
    return {
        "id": id,
        "name": name or f"Event {id}",
        "locationNumber": location,
        "attributes": {"attribute": [{"name": each} for each in attributes]},
        "link": list(link),
    }


_CLOCKS = ("SHORT_DESC", "START_TIME", "END_TIME")
_LINK = {"href": "https://www.shop.example/tea?a=1&b=2", "rel": "details"}
E20 = _v1(20, 2001, *_CLOCKS)
E30BOSTON = _v1(30, 2001, "STORE_EVENT_TYPE", *_CLOCKS)
E30NEW_YORK = _v1(30, 2002, "STORE_EVENT_TYPE", *_CLOCKS)
E10 = _v1(10, 2002, "START_TIME", "SHORT_DESC", name='Tea & <Cake> "for" all', link=[_LINK])
E40BOSTON = _v1(40, 2001, *_CLOCKS)
E40HARTFORD = _v1(40, 2003, *_CLOCKS)


def _v2(first: Json, store: tuple[int, int], text: str, days: tuple[str, str], **attributes: list[str]) -> Json:
    return {
        "eventId": first["id"],
        "storeId": store[0],
        "storeNumber": store[1],
        "name": first["name"],
        "shortDesc": text,
        "startDate": days[0],
        "finishDate": days[1],
        "attributes": [{"name": name, "values": values} for name, values in attributes.items()],
    }


_IN_BOSTON, _IN_NEW_YORK, _IN_HARTFORD = (3, 1011), (1, 1012), (2, 1013)
_MORNING = ("12/05/2026 10:00 AM", "12/05/2026 12:00 PM")
_EVE = ("12/31/2026 08:00 PM", "01/01/2027 01:00 AM")
_TEA = "Caf\u00e9:\ncome in\r\n \U0001f370"
S20 = _v2(
    E20,
    _IN_BOSTON,
    "About 20",
    ("12/04/2026 05:30 PM", "12/04/2026 07:00 PM"),
    SHORT_DESC=["About 20"],
    START_TIME=["5:30PM"],
    END_TIME=["7PM"],
)
_TYPED = {
    "STORE_EVENT_TYPE": ["Beauty", "Gifts"],
    "SHORT_DESC": ["About 30"],
    "START_TIME": ["10AM"],
    "END_TIME": ["12PM"],
}
S30BOSTON = _v2(E30BOSTON, _IN_BOSTON, "About 30", _MORNING, **_TYPED)
S30NEW_YORK = _v2(E30NEW_YORK, _IN_NEW_YORK, "About 30", _MORNING, **_TYPED)
S10 = _v2(
    E10,
    _IN_NEW_YORK,
    _TEA,
    ("12/06/2026 12:15 AM", "12/08/2026 12:00 PM"),
    START_TIME=["By Appointment"],
    SHORT_DESC=[_TEA],
)
_LATE = {"SHORT_DESC": ["About 40"], "START_TIME": ["8PM"], "END_TIME": ["1AM"]}
S40BOSTON = _v2(E40BOSTON, _IN_BOSTON, "About 40", _EVE, **_LATE)
S40HARTFORD = _v2(E40HARTFORD, _IN_HARTFORD, "About 40", _EVE, **_LATE)

P7 = {
    "promotionName": "Promotion 7",
    "description": "About 7",
    "global": False,
    "promoId": "7",
    "promotionType": "PERCENT_OFF",
    "effectiveDay": 9,
    "effectiveMonth": 11,
    "effectiveYear": 2026,
    "expirationDay": 0,
    "expirationMonth": 0,
    "expirationYear": 0,
    "promotionSourceCode": "B",
}
P5 = {
    "promotionName": "Promotion 5",
    "description": "About 5",
    "global": True,
    "promoId": "5",
    "promotionType": "DOLLAR_OFF",
    "effectiveDay": 9,
    "effectiveMonth": 11,
    "effectiveYear": 2026,
    "expirationDay": 24,
    "expirationMonth": 12,
    "expirationYear": 2026,
    "promotionCode": "SAVE10",
    "promotionCodeIds": ["A-1", "A-2"],
    "promotionSources": ["Catalog"],
    "promotionSourceCode": "Z",
    "legalDisclaimer": "While it lasts.",
    "offerDescription": "$10 off",
}
P11 = {
    "promotionName": "Promotion 11",
    "description": "Two\u2028lines \u2029",
    "global": False,
    "promoId": "11",
    "promotionType": "PERCENT_OFF",
    "effectiveDay": 9,
    "effectiveMonth": 11,
    "effectiveYear": 2026,
    "expirationDay": 0,
    "expirationMonth": 0,
    "expirationYear": 0,
    "promotionCode": "mobile-1",
    "promotionSourceCode": "D",
}


def _coupon(number: str, kind: str, heading: Json, attributes: Json) -> Json:
    return {
        "couponUrl": f"https://www.shop.example/coupon/{number}",
        "couponHeading": "Heading",
        **heading,
        "couponDescription": "About the coupon",
        "couponShortCode": "SHORT",
        "couponNumber": number,
        "couponType": kind,
        "couponEffectiveDay": 10,
        "couponEffectiveMonth": 11,
        "couponEffectiveYear": 2026,
        "couponExpirationDay": 31,
        "couponExpirationMonth": 12,
        "couponExpirationYear": 2026,
        "displayStartDate": "2026-11-10T00:00:00-05:00",
        "displayEndDate": "2026-12-31T23:59:59-05:00",
        **attributes,
    }


_BARCODE = {"couponAttributes": [{"attributeName": "BARCODE", "attributeValue": "1"}]}
C5 = {**P5, "coupon": _coupon("4001", "STORE_ONLY", {"couponSubHeading": "Sub"}, _BARCODE)}
C11 = {**P11, "coupon": _coupon("4002", "ONLINE", {}, {})}

# -- cases -------------------------------------------------------------------------------------------------------

KEY = "x-svc-webservice-client-id"
VARY = "Accept, Accept-Encoding, x-svc-webservice-client-id, Origin"
JSON, XML = "application/json", "application/xml"


@dataclass(frozen=True)
class Case:
    """A request, and the answer with all its headers but those of the connection; names in lower case."""

    target: str
    status: int
    body: bytes
    headers: Mapping[str, str]
    sent: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"
    data: bytes | None = None
    absolute: bool = False
    """Whether ``target`` is meant as it is, without the path of base_url before it."""
    value: Json = None
    root: str = ""
    """What the body says, and the root element where it is XML."""

    def __str__(self) -> str:
        sent = " ".join(f"{name}={value[:40]}" for name, value in self.sent.items() if name != KEY)
        return f"{self.method} {self.target[:90]} {sent}".strip()


def json_bytes(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def xml(value: Json, root: str) -> bytes:
    """An object below a root element, by the convention of interface W1.1."""
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{_element(root, value)}".encode()


def _element(name: str, value: Json) -> str:
    if isinstance(value, dict):
        parts = [(key, each) for key, of in value.items() for each in (of if isinstance(of, list) else [of])]
        inner = "".join(_element(key, each) for key, each in parts)
        return f"<{name}>{inner}</{name}>" if inner else f"<{name}/>"
    text = value if isinstance(value, str) else json.dumps(value)
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        text = text.replace(char, entity)
    return f"<{name}>{text}</{name}>"


def etag(body: bytes) -> str:
    """The first 31 bits of the SHA-256 and the length, as nginx writes a file's time and size."""
    return f'"{int(sha256(body).hexdigest()[:8], 16) >> 1:x}-{len(body):x}"'


def _headers(body: bytes, media_type: str, lifetime: int | None, **more: str) -> dict[str, str]:
    found = {
        "content-type": media_type,
        "cache-control": "no-store" if lifetime is None else f"max-age={lifetime}",
        "vary": VARY,
        "content-length": str(len(body)),
    }
    return found | ({} if lifetime is None else {"etag": etag(body)}) | more


def read(target: str, value: Json, root: str, lifetime: int, key: str = PHONE) -> Iterator[Case]:
    """A read in both formats."""
    for accept in (JSON, XML):
        body = json_bytes(value) if accept == JSON else xml(value if root == "response" else value[root], root)
        sent = {KEY: key, "accept": accept}
        inner = value if root == "response" else value[root]
        yield Case(target, 200, body, _headers(body, accept, lifetime), sent, value=inner, root=root)


def v1(query: str, *found: Json) -> Iterator[Case]:
    yield from read(f"store/v1/events?{query}", {"events": {"event": list(found)}}, "events", 900)


def v2(query: str, *found: Json) -> Iterator[Case]:
    yield from read(f"v2/store/event?{query}", {"storeEvents": list(found), "success": True}, "response", 60)


def _shops(found: tuple[Json, ...]) -> Json:
    return {"stores": {"store": list(found)} if found else {}}


def stores(query: str, *found: Json) -> Iterator[Case]:
    yield from read(f"store/v2/stores{query}", _shops(found), "stores", 3600)


def located(path: str, *found: Json) -> Iterator[Case]:
    yield from read(f"store/v2/stores/{path}", _shops(found), "stores", 1800)


def promotions(target: str, *found: Json) -> Iterator[Case]:
    yield from read(target, {"promotionDetailsResponse": list(found)} if found else {}, "response", 60)


def sorted_promotions(query: str, **groups: list[Json]) -> Iterator[Case]:
    found = [{"fob": name, "promotions": members} for name, members in groups.items()]
    yield from read(f"v3/promotions/sorted{query}", {"sortedPromotions": found} if found else {}, "response", 600)


NO_KEY = (
    "x-svc-webservice-client-id: is missing, or holds no key that is in use; allowed: the API key of an application"
)
CHALLENGE = {"www-authenticate": 'ApiKey header="x-svc-webservice-client-id"'}


def details_of(code: str, *details: str) -> list[str]:
    """What `errorDetail` says: ``details``, or what is always said with a code."""
    return list(details) or [NO_KEY if code == "no_key" else f"service: {CODES[code][2]}"]


CODES = {  # status, errorCode, message
    "invalid": (400, 400, "The request is not valid"),
    "no_key": (401, 401, "The API key is missing or unknown"),
    "no_data": (404, 409, "No data for search criteria"),
    "no_mapping": (404, 101, "There is no mapping for request"),
    "method": (405, 102, "The method is not allowed for this path"),
    "not_acceptable": (406, 103, "None of the accepted formats is available"),
    "too_large": (413, 104, "The body is too large"),
    "uri_too_long": (414, 105, "The address is too long"),
    "media_type": (415, 106, "The body's Content-Type is missing or not supported"),
}


def refused(
    code: str, target: str, *details: str, sent: Mapping[str, str] | None = None, **more: Any
) -> Iterator[Case]:
    """An error in both formats; ``sent``: other headers than the key."""
    for accept in (JSON, XML):
        headers = {KEY: PHONE, "accept": accept, **(sent or {})}
        yield error(code, target, *details, accept=accept, sent=headers, **more)


def error(code: str, target: str, *details: str, accept: str = JSON, sent: Mapping[str, str], **more: Any) -> Case:
    status, number, message = CODES[code]
    value = {"errorCode": number, "message": message, "errorDetail": details_of(code, *details), "success": False}
    body = json_bytes(value) if accept == JSON else xml(value, "response")
    challenge = CHALLENGE if code == "no_key" else {}
    headers = _headers(body, accept, None, **challenge, **more.pop("more", {}))
    kept = {name: text for name, text in sent.items() if text}
    return Case(target, status, body, headers, kept, value=value, root="response", **more)


def invalid(target: str, *details: str) -> Iterator[Case]:
    yield from refused("invalid", target, *details)


# -- the table ---------------------------------------------------------------------------------------------------

ALL_EVENTS = "storeId=1,2,3,4"
MAX_ID = 9007199254740991
NOT_IDS = f"must be whole numbers from 1 to {MAX_ID}, separated by commas, not"
NO_DAY = "must be a day that exists, as YYYY-MM-DD, not"
NO_DATE = "must be a day that exists, such as Jun 21, 2013, not"
NO_NAME = "must be a JavaScript name of at most 128 characters, not"
NO_FEATURE = (
    "must be one of BOPS, BRIDAL, HAS_EVENTS, MATTRESS, FURNITURE_GALLERY, VISITOR_CENTER, PERSONAL_SHOPPER, "
    "RESTAURANT, not"
)
ESCAPES = "must have two hexadecimal digits after each %, and not %00"
ONE_OF_THREE = "storeId: one of storeId, storeNumber, locationNumber is required"
NOT_ADMITTED = "Accept: must admit application/json or application/xml, not"
ONE_OF_TWO = "storeId: one of storeId, storeNumber is required"
METHODS = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
"""Of the whole interface."""

READABLE = "GET, HEAD, OPTIONS"
"""Of a path that can only be read."""
PATHS = (
    "v2/utility/mobileapp",
    "store/v1/events?storeId=3",
    "v2/store/event?storeId=3",
    "store/v2/stores",
    "store/v2/stores/2001",
    "v2/promotions",
    "v3/promotions",
    "v3/promotions/sorted",
)
CATALOG_PATHS = (
    "v3/catalog/category/index",
    "v3/catalog/category/12",
    "v3/catalog/category/12/browseproducts",
    "v4/catalog/category/brandindex/12",
    "v3/catalog/product/index",
    "v3/catalog/product/100",
    "v3/catalog/product?upc=036000291452",
    "v4/catalog/product/100",
    "v4/catalog/product/upc/036000291452",
    "v4/recommendations/product/100",
    "v4/catalog/bops/product/100?zipCode=02116",
    "v4/catalog/bops/upc/036000291452?zipCode=02116",
    "v4/catalog/search?searchphrase=pump",
    "v3/catalog/reviews?productId=100",
)


def table() -> list[Case]:
    """Every case."""
    parts: tuple[Callable[[], Iterator[Case]], ...] = (
        _apps,
        _events_v1,
        _fields,
        _events_v2,
        _stores,
        _places,
        _promotions,
        _keys,
        _routes,
        _negotiated,
    )
    parts += (_sizes, _callbacks, _heads, _conditions, _options, _origins)
    return [case for part in parts for case in part()]


def _apps() -> Iterator[Case]:
    path = "v2/utility/mobileapp"
    phone, tablet = app("phone", appLayout=["shop", "bag"])["config"], app("tablet", appLayout=[])["config"]
    yield from read(path, phone, "response", 120)
    yield from read(path, tablet, "response", 120, TABLET)
    yield from read(path, tablet, "response", 120, OLD_TABLET)
    for target in (f"{path}/", f"{path}?", f"{path}?unknown=1&unknown=2", "v2/util%69ty/mobileapp"):
        yield from read(target, phone, "response", 120)


def _events_v1() -> Iterator[Case]:
    boston, new_york, hartford = (E20, E30BOSTON, E40BOSTON), (E30NEW_YORK, E10), (E40HARTFORD,)
    everything = (E20, E30BOSTON, E30NEW_YORK, E10, E40BOSTON, E40HARTFORD)
    for query in ("storeId=3", "storeNumber=1011", "locationNumber=2001"):
        yield from v1(query, *boston)
    for query in ("storeId=1", "storeNumber=1012", "locationNumber=2002"):
        yield from v1(query, *new_york)
    yield from v1("storeId=2", *hartford)
    for query in ("storeId=4", "storeId=99", "storeId=9007199254740991", "storeNumber=3", "locationNumber=3"):
        yield from v1(query)
    for query in (ALL_EVENTS, "storeNumber=1011,1012,1013", "locationNumber=2003,2001,2002", "storeId=3,99,1,2"):
        yield from v1(query, *everything)
    for query in (
        "storeId=3,2",
        "storeId=2,3,2,3",
        "storeId=2%2C3",
        "storeId=0003,%202",
        "storeId=3,+2&unknown=x",
        "storeId=3&storeId=2",
    ):
        yield from v1(query, E20, E30BOSTON, E40BOSTON, E40HARTFORD)
    yield from read("store/v1/events/?storeId=4", {"events": {"event": []}}, "events", 900)
    yield from v1("storeId=1,3&storeNumber=1011,1013", *boston)
    yield from v1("storeId=1,2,3&storeNumber=1012&locationNumber=2002", *new_york)
    yield from v1("storeId=3&storeNumber=1012")
    yield from v1("storeId=3&locationNumber=2001&storeNumber=1011", *boston)
    yield from v1(f"storeId={','.join(map(str, range(1, 101)))}", *everything)
    # days: both ends included, an event counts that overlaps; one end alone leaves the other open
    yield from v1(f"{ALL_EVENTS}&startDate=2026-12-05&finishDate=2026-12-05", E30BOSTON, E30NEW_YORK)
    yield from v1(f"{ALL_EVENTS}&startDate=2026-12-07&finishDate=2026-12-07", E10)
    yield from v1(f"{ALL_EVENTS}&startDate=2026-12-08&finishDate=2026-12-30", E10)
    yield from v1(f"{ALL_EVENTS}&startDate=2026-12-09&finishDate=2026-12-30")
    yield from v1(f"{ALL_EVENTS}&startDate=2026-12-08", E10, E40BOSTON, E40HARTFORD)
    yield from v1(f"{ALL_EVENTS}&startDate=2027-01-01", E40BOSTON, E40HARTFORD)
    yield from v1(f"{ALL_EVENTS}&startDate=2027-01-02")
    yield from v1(f"{ALL_EVENTS}&finishDate=2026-12-04", E20)
    yield from v1(f"{ALL_EVENTS}&finishDate=2026-12-03")
    yield from v1(f"{ALL_EVENTS}&startDate=0001-01-01&finishDate=9999-12-31", *everything)
    yield from v1("startDate=2026-12-05&storeId=3", E30BOSTON, E40BOSTON)
    yield from v1("storeId=3&startDate=2026-12-05&finishDate=2026%2D12%2D05", E30BOSTON)
    # what is no call
    path = "store/v1/events"
    yield from invalid(path, ONE_OF_THREE)
    yield from invalid(f"{path}?startDate=2026-12-05", ONE_OF_THREE)
    yield from invalid(f"{path}?storeid=3", ONE_OF_THREE)
    for nothing in ("storeId=", "storeId", "storeId=&storeNumber=&locationNumber=", "storeId=&storeId="):
        yield from invalid(f"{path}?{nothing}", ONE_OF_THREE)
    yield from v1("storeNumber=&storeId=3&startDate=2026-12-05&finishDate=2026-12-05&_fields=&callback=", E30BOSTON)
    yield from invalid(f"{path}?storeId=0", f"storeId: {NOT_IDS} '0'")
    yield from invalid(f"{path}?storeId=-3", f"storeId: {NOT_IDS} '-3'")
    yield from invalid(f"{path}?storeId=3.0", f"storeId: {NOT_IDS} '3.0'")
    yield from invalid(f"{path}?storeId=3,", f"storeId: {NOT_IDS} ''")
    yield from invalid(f"{path}?storeId=9007199254740992", f"storeId: {NOT_IDS} '9007199254740992'")
    yield from invalid(
        f"{path}?storeId={'9' * 5000}", "storeId: must be at most 1000 characters in each element, not 5000"
    )
    yield from invalid(f"{path}?storeId=%D9%A3", f"storeId: {NOT_IDS} '\u0663'")
    yield from invalid(f"{path}?storeId=%FF", f"storeId: {NOT_IDS} '\ufffd'")
    yield from invalid(f"{path}?storeId=%00", f"query: {ESCAPES}; '%00' was found", rf"storeId: {NOT_IDS} '\x00'")
    yield from invalid(f"{path}?storeId=%3C%26%3E", f"storeId: {NOT_IDS} '<&>'")
    yield from invalid(
        f"{path}?storeId={','.join(map(str, range(1, 102)))}", "storeId: must be at most 100 numbers, not 101"
    )
    day = "startDate=2026-12-05"
    yield from invalid(f"{path}?storeId=3&{day}&{day}", "startDate: is given more than once")
    yield from invalid(f"{path}?storeId=3&storeId=x", f"storeId: {NOT_IDS} 'x'")
    yield from invalid(f"{path}?storeId=3&startDate=2026-02-30", f"startDate: {NO_DAY} '2026-02-30'")
    yield from invalid(f"{path}?storeId=3&startDate=2026-2-3", f"startDate: {NO_DAY} '2026-2-3'")
    yield from invalid(f"{path}?storeId=3&startDate=20260203", f"startDate: {NO_DAY} '20260203'")
    yield from invalid(f"{path}?storeId=3&finishDate=0000-01-01", f"finishDate: {NO_DAY} '0000-01-01'")
    yield from invalid(f"{path}?storeId=3&finishDate=12/05/2026", f"finishDate: {NO_DAY} '12/05/2026'")
    backwards = "finishDate: 2026-12-04 is before startDate 2026-12-05"
    yield from invalid(f"{path}?storeId=3&startDate=2026-12-05&finishDate=2026-12-04", backwards)
    yield from invalid(
        f"{path}?storeId=x&callback=1&callback=1&startDate=soon&finishDate=then&_fields=(",
        "callback: is given more than once",
        f"storeId: {NOT_IDS} 'x'",
        f"startDate: {NO_DAY} 'soon'",
        f"finishDate: {NO_DAY} 'then'",
        "_fields: lacks a name at character 1; write names as id,attributes(attribute(name))",
        f"callback: {NO_NAME} '1'",
    )


def _fields() -> Iterator[Case]:
    names = {"attribute": [{"name": "SHORT_DESC"}, {"name": "START_TIME"}, {"name": "END_TIME"}]}
    whole = {"id": 40, "name": "Event 40", "locationNumber": 2003, "attributes": names, "link": []}
    kept: dict[str, Json] = {
        "id": {"id": 40},
        "id,name": {"id": 40, "name": "Event 40"},
        "name,id,name": {"id": 40, "name": "Event 40"},
        "link": {"link": []},
        "attributes": {"attributes": names},
        "attributes(attribute)": {"attributes": names},
        "attributes(attribute(name))": {"attributes": names},
        "id,attributes(attribute(name))": {"id": 40, "attributes": names},
        "attributes(attribute(nothing))": {"attributes": {"attribute": [{}, {}, {}]}},
        "attributes(nothing)": {"attributes": {}},
        "id(nothing)": {},
        "nothing": {},
        "nothing,id": {"id": 40},
        "attributes(nothing),attributes": {"attributes": names},
        "attributes(nothing),attributes(attribute(name))": {"attributes": names},
        "id,name,locationNumber,attributes,link": whole,
        "%20id%20,%20name%20": {"id": 40, "name": "Event 40"},
        "a(b(c(d(e(f(g(h)))))))": {},
    }
    for mask, item in kept.items():
        yield from v1(f"storeId=2&_fields={mask}", item)
    yield from v1("storeId=4&_fields=id")
    yield from v1(
        "storeId=1,3&_fields=id,locationNumber&finishDate=2026-12-05",
        *({"id": id, "locationNumber": location} for id, location in ((20, 2001), (30, 2001), (30, 2002))),
    )
    write = "write names as id,attributes(attribute(name))"
    broken = {
        " ": f"lacks a name at the end; {write}",
        ",": f"lacks a name at character 1; {write}",
        "id,": f"lacks a name at the end; {write}",
        "id,,name": f"lacks a name at character 4; {write}",
        "(id)": f"lacks a name at character 1; {write}",
        "attributes()": f"lacks a name at character 12; {write}",
        "attributes(attribute": "lacks a closing parenthesis at the end",
        "id)": "has a closing parenthesis too many at character 3",
        "id name": "lacks a comma at character 4",
        "attributes(attribute)id": "lacks a comma at character 22",
        "id;name": "must be names, commas and parentheses, not ';name'",
        "1d": "must be names, commas and parentheses, not '1d'",
        "a/b": "must be names, commas and parentheses, not '/b'",
        "a(b(c(d(e(f(g(h(i))))))))": "must be nested at most 8 deep",
        "a" * 1001: "must be at most 1000 characters, not 1001",
    }
    for mask, fault in broken.items():
        yield from invalid(f"store/v1/events?storeId=2&_fields={quote(mask)}", f"_fields: {fault}")
    yield from stores(
        "?_fields=name,address(city,nothing)",
        {"name": "Back Bay", "address": {"city": "Boston"}},
        {"name": "Foundry & Square", "address": {"city": "New York"}},
        {"name": "Asylum Street", "address": {"city": "Hartford"}},
        {"name": "Hale Koa", "address": {"city": "Honolulu"}},
    )
    yield from located(
        "2003?_fields=features,schedule(nothing)", {"features": {"feature": ["HAS_EVENTS"]}, "schedule": {}}
    )
    yield from located("2003?_fields=features(feature(nothing)),name(nothing)", {"features": {}})
    yield from stores("?latitude=42.35&longitude=-71.075&radius=M1&_fields=distance", {"distance": 0.0})
    yield from located(
        "2001?_fields=inventories,mapUrl,phoneNumber",
        {
            "phoneNumber": "212-555-0100",
            "mapUrl": "https://maps.shop.example/3",
        },
    )


def _events_v2() -> Iterator[Case]:
    boston, new_york, everything = (
        (S20, S30BOSTON, S40BOSTON),
        (S30NEW_YORK, S10),
        (S20, S30BOSTON, S30NEW_YORK, S10, S40BOSTON, S40HARTFORD),
    )
    for query in ("storeId=3", "storeNumber=1011"):
        yield from v2(query, *boston)
    yield from v2("storeId=1", *new_york)
    yield from v2("storeNumber=1013,1012,1011", *everything)
    yield from v2("storeId=99")
    yield from v2("storeId=4")
    yield from v2("storeId=1,3&storeNumber=1012", *new_york)
    for written in (
        "Dec%205,%202026",
        "Dec+5,+2026",
        "dec%205%202026",
        "DECEMBER%205,2026",
        "December%2005%202026",
        "Dec.%205,%202026",
        "%20Dec,5,2026%20",
    ):
        yield from v2(f"storeId=1,3&eventFrom={written}&eventTo={written}", S30BOSTON, S30NEW_YORK)
    yield from v2("storeId=1,2,3&eventTo=Dec%204,%202026", S20)
    yield from v2("storeId=1,2,3&eventFrom=Dec%209,%202026", S40BOSTON, S40HARTFORD)
    yield from v2("storeId=1,2,3&eventFrom=Jan%202,%202027")
    yield from v2("storeId=1&_fields=nothing&locationNumber=x", *new_york)  # not parameters of this version
    path = "v2/store/event"
    yield from invalid(path, ONE_OF_TWO)
    yield from invalid(f"{path}?locationNumber=2001", ONE_OF_TWO)
    yield from invalid(f"{path}?storeId=x,3", f"storeId: {NOT_IDS} 'x'")
    for written in (
        "2026-12-05",
        "Dec 2026",
        "Foo 5, 2026",
        "Dec 32, 2026",
        "Feb 29, 2026",
        "Sun Dec 5 2026",
        "De 5, 2026",
    ):
        yield from invalid(f"{path}?storeId=3&eventFrom={quote(written)}", f"eventFrom: {NO_DATE} '{written}'")
    backwards = "eventTo: 2026-12-04 is before eventFrom 2026-12-05"
    yield from invalid(f"{path}?storeId=3&eventFrom=Dec%205,%202026&eventTo=Dec%204,%202026", backwards)
    yield from invalid(
        f"{path}?eventFrom=x&eventTo=y", f"eventFrom: {NO_DATE} 'x'", f"eventTo: {NO_DATE} 'y'", ONE_OF_TWO
    )


def _stores() -> Iterator[Case]:
    everything = (BOSTON, NEW_YORK, HARTFORD, HONOLULU)
    for query in (
        "",
        "/",
        "?",
        "?unknown=1",
        "?radius=M5",
        "?_limit=4",
        "?_limit=9007199254740991",
        "?upcNumber=5&productId=6",
    ):
        yield from stores(query, *everything)
    yield from stores("?_limit=2", BOSTON, NEW_YORK)
    yield from stores("?storeNumber=1013,1011", BOSTON, HARTFORD)
    yield from stores("?storeNumber=1013,1011&_limit=1", BOSTON)
    yield from stores("?storeNumber=5")
    yield from stores("?feature=BOPS", BOSTON, NEW_YORK)
    yield from stores("?feature=BOPS,BRIDAL", NEW_YORK)
    yield from stores("?feature=BRIDAL,%20BOPS,BRIDAL", NEW_YORK)
    yield from stores("?feature=HAS_EVENTS", BOSTON, NEW_YORK, HARTFORD)
    yield from stores("?feature=HAS_EVENTS&_limit=1", BOSTON)
    yield from stores("?feature=MATTRESS", HONOLULU)
    yield from stores("?feature=VISITOR_CENTER")
    yield from stores("?feature=BOPS,MATTRESS")
    for path in ("2001", "2001/", "02001", "2001?productId=5", "2001?upcNumber=5"):
        yield from located(path, BOSTON)
    for path in ("2003,2001", "2001,2003,2001", "2003%2C2001", "2003,%202001/", "1,2001,2003,4"):
        yield from located(path, BOSTON, HARTFORD)
    yield from located("9")
    yield from located("2001,2002,2003,2004?feature=BOPS", BOSTON, NEW_YORK)
    yield from located("2001,2002?feature=BOPS,RESTAURANT", BOSTON)
    yield from located("2001,2002?feature=MATTRESS")
    yield from located("2001?locationNumber=2002", BOSTON)  # a parameter of the path is not one of the query
    path = "store/v2/stores"
    yield from invalid(f"{path}/x", f"locationNumber: {NOT_IDS} 'x'")
    yield from invalid(f"{path}/0", f"locationNumber: {NOT_IDS} '0'")
    yield from invalid(f"{path}/%00", f"path: {ESCAPES}; '%00' was found")
    yield from invalid(f"{path}/%EF%BF%BF", rf"locationNumber: {NOT_IDS} '\uffff'")
    yield from invalid(f"{path}/%FF%FE", f"locationNumber: {NOT_IDS} '\ufffd\ufffd'")
    yield from invalid(f"{path}/%C3%A9", f"locationNumber: {NOT_IDS} '\u00e9'")
    yield from invalid(
        f"{path}/{','.join(map(str, range(1, 102)))}", "locationNumber: must be at most 100 numbers, not 101"
    )
    yield from located("2001,2002?feature=bops,Restaurant", BOSTON)
    yield from invalid(f"{path}/2001?feature=bop", f"feature: {NO_FEATURE} 'bop'; did you mean BOPS?")
    yield from stores(
        "?feature=&latitude=&longitude=&radius=&searchAddress=&_limit=&productId=", BOSTON, NEW_YORK, HARTFORD, HONOLULU
    )
    yield from invalid(f"{path}?feature=BOPS,POOL", f"feature: {NO_FEATURE} 'POOL'")
    for name in ("_limit", "upcNumber", "productId"):
        for text in ("0", "-1", "ten", "1,2", "9007199254740992"):
            yield from invalid(
                f"{path}?{name}={text}", f"{name}: must be a whole number from 1 to {MAX_ID}, not '{text}'"
            )
    yield from invalid(f"{path}?storeNumber=0", f"storeNumber: {NOT_IDS} '0'")


def _places() -> Iterator[Case]:
    boston, new_york, honolulu = (
        "latitude=42.35&longitude=-71.075",
        "latitude=40.75&longitude=-74",
        "latitude=21.3&longitude=-157.85",
    )
    near_boston = (at(0.0, BOSTON), at(91.49, HARTFORD), at(186.71, NEW_YORK))
    yield from stores(f"?{boston}", *near_boston)
    yield from stores(f"?{boston}&radius=M200", *near_boston)
    yield from stores(f"?{boston}&radius=M186.71", *near_boston)
    yield from stores(f"?{boston}&radius=M186.7", *near_boston[:2])
    yield from stores(f"?{boston}&radius=M91.49", *near_boston[:1])
    yield from stores(f"?{boston}&radius=M0.000001", *near_boston[:1])
    yield from stores(f"?{boston}&_limit=2", *near_boston[:2])
    yield from stores(f"?{boston}&feature=BOPS", near_boston[0], near_boston[2])
    yield from stores(f"?{boston}&feature=BOPS&_limit=1", near_boston[0])
    yield from stores(f"?{boston}&storeNumber=1012,1013", *near_boston[1:])
    yield from stores(f"?{boston}&storeNumber=1014")
    yield from stores(f"?{new_york}", at(0.63, NEW_YORK), at(98.26, HARTFORD), at(187.32, BOSTON))
    yield from stores("?longitude=-74.000&radius=M1.0&latitude=040.75", at(0.63, NEW_YORK))
    yield from stores(f"?{honolulu}", at(0.0, HONOLULU))
    for nowhere in (
        "latitude=0&longitude=0",
        "latitude=-0&longitude=0.0",
        "latitude=90&longitude=180",
        "latitude=-90&longitude=-180",
    ):
        yield from stores(f"?{nowhere}")
    near_zip = (at(0.11, BOSTON), at(91.38, HARTFORD), at(186.6, NEW_YORK))
    for text in ("02116", "02116-1234", "Boston, MA 02116", "77 Nowhere Street, Boston, MA 02116", "%2002116%20"):
        yield from stores(f"?searchAddress={quote(text, safe='%')}", *near_zip)
    yield from stores("?searchAddress=02116&radius=M1", *near_zip[:1])
    for text in ("450 Boylston Street, Boston", "450 boylston street, BOSTON, MA 02116"):
        yield from stores(f"?searchAddress={quote(text)}", *near_boston)
    for text in ("Honolulu, HI", "Honolulu HI", "honolulu hawaii", "Honolulu County", "Hawaii", "HI", "Honolulu"):
        yield from stores(f"?searchAddress={quote(text)}&_fields=locationNumber", {"locationNumber": 2004})
    yield from stores(f"?searchAddress=96813&{boston}&_limit=1", near_boston[0])  # coordinates come first
    path = "store/v2/stores"
    ask = "give a zip code, a city and its state, or a full address"
    for text in ("Nowhere, MA", "99999", ".,;!?", "Caf\u00e9", "Boston, XX", "<&>"):
        yield from invalid(
            f"{path}?searchAddress={quote(text)}", f"searchAddress: no place is known by '{text}'; {ask}"
        )
    yield from invalid(f"{path}?searchAddress={'x' * 200}", f"searchAddress: no place is known by '{'x' * 80}'; {ask}")
    for length, text in ((0, "%20%20"), (201, "x" * 201)):
        yield from invalid(
            f"{path}?searchAddress={text}", f"searchAddress: must be text of 1 to 200 characters, not of {length}"
        )
    yield from invalid(f"{path}?searchAddress={'x' * 8000}", "searchAddress: must be at most 200 characters, not 8000")
    for name, other, most in (("latitude", "longitude=0", 90), ("longitude", "latitude=0", 180)):
        for text in (f"{most}.1", f"-{most + 1}", "north", "1e1", "nan", "1.", ".5", "1,5", "99999999999"):
            yield from invalid(
                f"{path}?{name}={text}&{other}", f"{name}: must be a number from -{most} to {most}, not '{text}'"
            )
    yield from invalid(f"{path}?latitude=1", "longitude: is missing; latitude and longitude must be given together")
    yield from invalid(f"{path}?longitude=1", "latitude: is missing; latitude and longitude must be given together")
    yield from invalid(
        f"{path}?latitude=1&longitude=", "longitude: is missing; latitude and longitude must be given together"
    )
    for text in ("M0", "M0.000", "M201", "M200.1", "200", "m5", "M", "M-1", "M1e2", "K5", "M99999999"):
        yield from invalid(f"{path}?radius={text}", f"radius: must be above M0 and at most M200, not '{text}'")
    yield from invalid(
        f"{path}?storeNumber=x&latitude=91&radius=M0&feature=POOL&_limit=0&_fields=,&upcNumber=x&productId=x",
        f"storeNumber: {NOT_IDS} 'x'",
        "latitude: must be a number from -90 to 90, not '91'",
        "radius: must be above M0 and at most M200, not 'M0'",
        f"feature: {NO_FEATURE} 'POOL'",
        f"_limit: must be a whole number from 1 to {MAX_ID}, not '0'",
        "_fields: lacks a name at character 1; write names as id,attributes(attribute(name))",
        f"upcNumber: must be a whole number from 1 to {MAX_ID}, not 'x'",
        f"productId: must be a whole number from 1 to {MAX_ID}, not 'x'",
        "longitude: is missing; latitude and longitude must be given together",
    )


def _promotions() -> Iterator[Case]:
    two, three = "v2/promotions", "v3/promotions"
    for query in ("", "/", "?unknown=1", "?show=x", "?channel=x"):
        yield from promotions(f"{two}{query}", P5, P7, P11)
    yield from promotions(f"{two}?promoid=5", P5)
    yield from promotions(f"{two}?promoid=11,5,99,5", P5, P11)
    yield from promotions(f"{two}?promoid=6")
    yield from promotions(f"{two}?global=Y", P5)
    yield from promotions(f"{two}?global=N", P7, P11)
    yield from promotions(f"{two}?sourcecode=B", P7)
    yield from promotions(f"{two}?sourcecode=Z", P5)
    yield from promotions(f"{two}?sourcecode=D", P11)
    yield from promotions(f"{two}?type=PERCENT_OFF", P7, P11)
    yield from promotions(f"{two}?type=%20DOLLAR_OFF%20", P5)
    yield from promotions(f"{two}?type=percent_off")
    yield from promotions(f"{two}?promo_code=SAVE10", P5)
    yield from promotions(f"{two}?promo_code=save10")
    yield from promotions(f"{two}?global=N&type=PERCENT_OFF&promoid=5,7", P7)
    for query in ("", "/", "?show=promotions,coupons", "?show=coupons,promotions", "?show=coupons%2Cpromotions"):
        yield from promotions(f"{three}{query}", C5, P7, C11)
    yield from promotions(f"{three}?show=promotions", P5, P7, P11)
    yield from promotions(f"{three}?show=coupons", C5, C11)
    yield from promotions(f"{three}?show=coupons,coupons", C5, C11)
    yield from promotions(f"{three}?promoid=7,11", P7, C11)
    yield from promotions(f"{three}?global=Y", C5)
    yield from promotions(f"{three}?promotionsourcecode=D", C11)
    yield from promotions(f"{three}?promotype=DOLLAR_OFF", C5)
    yield from promotions(f"{three}?promocode=mobile-1", C11)
    yield from promotions(f"{three}?channel=SITE", C5, P7)
    yield from promotions(f"{three}?channel=MOBILE", P7, C11)
    yield from promotions(f"{three}?coupontype=ONLINE", C11)
    yield from promotions(f"{three}?couponnumber=4001", C5)
    yield from promotions(f"{three}?couponnumber=4001&show=promotions", P5)
    yield from promotions(f"{three}?couponnumber=4001&channel=MOBILE")
    yield from promotions(f"{three}?show=coupons&global=N&channel=MOBILE", C11)
    yield from sorted_promotions("", Beauty=[P7], Home=[C5, P7, C11])
    yield from sorted_promotions("/", Beauty=[P7], Home=[C5, P7, C11])
    for channel in ("SITE", "site", "Site"):
        yield from sorted_promotions(f"?channel={channel}", Beauty=[P7], Home=[C5, P7])
    yield from sorted_promotions("?channel=", Beauty=[P7], Home=[C5, P7, C11])
    yield from sorted_promotions("?channel=MOBILE", Beauty=[P7], Home=[P7, C11])
    for path in (two, three):
        yield from invalid(f"{path}?promoid=x", f"promoid: {NOT_IDS} 'x'")
        yield from invalid(f"{path}?global=TRUE", "global: must be one of Y, N, not 'TRUE'")
    yield from invalid(f"{two}?sourcecode=X", "sourcecode: must be one of B, Z, D, not 'X'")
    yield from invalid(f"{two}?type=%20", "type: must be text of 1 to 200 characters, not of 0")
    yield from invalid(f"{two}?promo_code={'c' * 300}", "promo_code: must be text of 1 to 200 characters, not of 300")
    yield from invalid(f"{three}?promotionsourcecode=c", "promotionsourcecode: must be one of B, Z, D, not 'c'")
    shown = "show: must be one of promotions, coupons, not"
    yield from invalid(f"{three}?show=coupon", f"{shown} 'coupon'; did you mean coupons?")
    for name in ("promotype", "promocode", "coupontype", "couponnumber"):
        yield from invalid(f"{three}?{name}=+", f"{name}: must be text of 1 to 200 characters, not of 0")
    for path in (three, f"{three}/sorted"):
        yield from invalid(f"{path}?channel=WEB", "channel: must be one of SITE, MOBILE, not 'WEB'")
        yield from invalid(f"{path}?channel=SITE&channel=MOBILE", "channel: is given more than once")


def _keys() -> Iterator[Case]:
    unknown = ("", "UnknownUnknownUnknown123", PHONE.lower(), PHONE[:-1], f"{PHONE}1", f"{PHONE},{PHONE}", "a" * 500)
    for key in unknown:
        yield from refused("no_key", "v2/promotions", sent={KEY: key})
    for target in (*PATHS, *CATALOG_PATHS, "", "nowhere", "v2", "admin/metrics", "store/v1/events?storeId=x"):
        yield from refused("no_key", target, sent={KEY: ""})
    yield from refused("no_key", f"v2/promotions?{KEY}={PHONE}&key={PHONE}", sent={KEY: ""})
    yield from refused("no_key", "v2/promotions", sent={KEY: ""}, method="POST", data=b"")
    yield error("no_key", "v2/promotions", sent={"accept": "image/png"})
    body = json_bytes({"promotionDetailsResponse": [P5, P7, P11]})
    yield Case("v2/promotions", 200, body, _headers(body, JSON, 60), {KEY.upper(): PHONE, "ACCEPT": JSON})


def _routes() -> Iterator[Case]:
    fault = "path: is not one of the interface"
    unknown: tuple[str, ...] = (
        "",
        "v2",
        "v2/utility",
        "v2/utility/mobileapp/x",
        "v2/utility/mobileapp//",
        "V2/promotions",
        "v2/promotions.json",
    )
    unknown += (
        "v1/promotions",
        "v2/store/events",
        "v2/store/v1/events",
        "store/v2/stores/1/2",
        "store/v2/stores/1%2F2",
    )
    unknown += (
        "store/v2/stores;storeNumber=1",
        "v2/promotions%FF",
        "nowhere?storeId=x",
        "checks",
        "metrics",
    )
    for target in unknown:
        yield from refused("no_mapping", target, fault)
    yield from refused("no_mapping", "nowhere", fault, method="POST", data=b"x")
    for path in ("v2/promotions", "nowhere"):
        # nginx refuses it before it looks for a key, and so does the service
        for sent in ({KEY: PHONE}, {KEY: ""}):
            yield from refused("invalid", f"{path}%00", f"path: {ESCAPES}; '%00' was found", sent=sent)
    for query in ("promoid=5&x=%zz", "%=", "promoid=5&x=%", "x=%2", "=%0g", "x=%%35", "x=%00"):
        unreadable = query[query.index("%") :][:3]
        yield from invalid(f"v2/promotions?{query}", f"query: {ESCAPES}; '{unreadable}' was found")
    yield from refused("no_key", "v2/promotions?promoid=5&x=%zz", sent={KEY: ""})
    for target in (*PATHS, *CATALOG_PATHS):
        allow = {"more": {"allow": READABLE}}
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            wrong = f"method: must be {READABLE}, not {method}"
            accept = XML if method in ("PUT", "PATCH") else JSON
            sent = {KEY: PHONE, "accept": accept}
            yield error("method", target, wrong, accept=accept, sent=sent, method=method, data=b"", **allow)


def _negotiated() -> Iterator[Case]:
    value = {"sortedPromotions": [{"fob": "Beauty", "promotions": [P7]}, {"fob": "Home", "promotions": [P7, C11]}]}
    asked = {
        JSON: (
            "",
            "*/*",
            "application/*",
            "Application/JSON",
            "text/html, */*;q=0.1",
            "application",
            "application/xml;q=2",
        ),
        XML: ("APPLICATION/XML", "application/xml;q=0.9, application/json;q=0.8", "application/json;q=0, */*"),
        "neither": ("text/html", "text/x-json", "application/json;q=0", "image/png, application/pdf", "*/*;q=0"),
    }
    asked[JSON] += ("application/json, application/xml", "application/json;q=0.5, application/xml;q=0.5")
    asked[JSON] += ("application/json;charset=utf-8", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2")
    asked[XML] += ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/xml; charset=utf-8")
    asked[XML] += ("*/*;q=1, application/*;q=0.2, application/xml;q=0.3", "application/xml, */*; q=0.01")
    for accept, values in asked.items():
        for each in values:
            sent = {KEY: PHONE, **({"accept": each} if each else {})}
            if accept == "neither":
                fault = f"Accept: must admit {JSON} or {XML}, not '{each}'"
                yield error("not_acceptable", "v3/promotions/sorted?channel=MOBILE", fault, sent=sent)
                continue
            body = json_bytes(value) if accept == JSON else xml(value, "response")
            yield Case("v3/promotions/sorted?channel=MOBILE", 200, body, _headers(body, accept, 600), sent)


def _sizes() -> Iterator[Case]:
    yield from promotions(f"v2/promotions?promoid=5&x={'x' * (8192 - 12)}", P5)
    too_long = f"v2/promotions?promoid=5&x={'x' * (8193 - 12)}"
    by_one = "query: must have at most 8192 bytes, not 8193"
    yield from refused("uri_too_long", too_long, by_one)
    # sizes come before Accept, which no form is admitted by here
    yield error("uri_too_long", too_long, by_one, sent={KEY: PHONE, "accept": "image/png"})
    typed = {"content-type": JSON}
    for length in (1024 * 1024 + 1, 1_500_000):
        fault = "body: must have at most 1048576 bytes"
        yield from refused("too_large", "v2/promotions", fault, sent=typed, data=b" " * length)
    fault = "Content-Type: must be application/json or application/xml; it is missing"
    yield from refused("media_type", "v2/promotions", fault, data=b"{}")
    yield from refused("media_type", "store/v1/events", fault, data=b"x")


def _callbacks() -> Iterator[Case]:
    values: dict[str, tuple[Json, int]] = {
        "store/v1/events?storeId=2": ({"events": {"event": [E40HARTFORD]}}, 900),
        "store/v1/events?storeId=2&_fields=id": ({"events": {"event": [{"id": 40}]}}, 900),
        "v2/store/event?storeId=4": ({"storeEvents": [], "success": True}, 60),
        "store/v2/stores?storeNumber=1013": (_shops((HARTFORD,)), 3600),
        "store/v2/stores/9?feature=BOPS": ({"stores": {}}, 1800),
        "v2/utility/mobileapp?x=1": (app("phone", appLayout=["shop", "bag"])["config"], 120),
        "v2/promotions?promoid=11": ({"promotionDetailsResponse": [P11]}, 60),
        "v3/promotions?promoid=11": ({"promotionDetailsResponse": [C11]}, 60),
        "v3/promotions/sorted?channel=MOBILE": (
            {"sortedPromotions": [{"fob": "Beauty", "promotions": [P7]}, {"fob": "Home", "promotions": [P7, C11]}]},
            600,
        ),
    }
    for target, (value, lifetime) in values.items():
        for name in ("cb", "jQuery1124_17.$.done"):
            text = json_bytes(value).decode().replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
            body = f"/**/{name}({text});".encode()
            headers = _headers(
                body, "application/javascript; charset=utf-8", lifetime, **{"x-content-type-options": "nosniff"}
            )
            yield Case(f"{target}&callback={name}", 200, body, headers, {KEY: PHONE})
            fault = "callback: can be had as application/json only, not as application/xml"
            sent = {KEY: PHONE, "accept": XML}
            yield error("invalid", f"{target}&callback={name}", fault, accept=XML, sent=sent)
    longest = "c" * 128
    body = f"/**/{longest}({{}});".encode()
    headers = _headers(body, "application/javascript; charset=utf-8", 60, **{"x-content-type-options": "nosniff"})
    yield Case(f"v2/promotions?promoid=6&callback={longest}", 200, body, headers, {KEY: PHONE})
    only_json = {KEY: PHONE, "accept": JSON}
    for name in (
        "1a",
        "a b",
        "a-b",
        "a..b",
        ".a",
        "a.",
        "a()",
        "alert(1)",
        "a[0]",
        "caf\u00e9",
        "a;b",
        "<script>",
        "\u2028",
    ):
        shown = repr(name)
        yield error("invalid", f"v2/promotions?callback={quote(name)}", f"callback: {NO_NAME} {shown}", sent=only_json)
    long_name = f"callback: {NO_NAME} '{'c' * 40}'"
    yield error("invalid", f"v2/promotions?callback={'c' * 129}", long_name, sent=only_json)
    # a fault reaches a valid callback, with 200, once there is a key and an operation that has callbacks
    for accept in ("", JSON, "*/*", "application/javascript", "text/javascript, */*; q=0.01"):
        sent = {KEY: PHONE, "accept": accept}
        yield _to_callback("invalid", "store/v1/events?callback=cb", ONE_OF_THREE, sent)
        yield _to_callback("no_data", "v3/catalog/product/9?callback=cb", "productId: no product has such an id", sent)
    wrong = {KEY: PHONE, "accept": "application/javascript"}
    yield error("not_acceptable", "v2/promotions", f"{NOT_ADMITTED} 'application/javascript'", sent=wrong)
    yield error("not_acceptable", "v2/promotions?callback=", f"{NOT_ADMITTED} 'application/javascript'", sent=wrong)
    yield error("not_acceptable", "v2/promotions?callback=a-b", f"{NOT_ADMITTED} 'application/javascript'", sent=wrong)
    # without a callback there is no script, so a fault comes in the other form that the client takes
    script_or_xml = {KEY: PHONE, "accept": "text/javascript, application/xml;q=0.5"}
    yield error("invalid", "store/v1/events", ONE_OF_THREE, accept=XML, sent=script_or_xml)
    yield error("no_key", "v2/promotions?callback=cb", sent={"accept": JSON})
    yield error("no_mapping", "nowhere?callback=cb", "path: is not one of the interface", sent=only_json)


def _to_callback(code: str, target: str, detail: str, sent: Mapping[str, str]) -> Case:
    """An error as the argument of the callback `cb`."""
    _, number, message = CODES[code]
    value = {"errorCode": number, "message": message, "errorDetail": [detail], "success": False}
    body = b"/**/cb(" + json_bytes(value) + b");"
    script = {"x-content-type-options": "nosniff"}
    headers = _headers(body, "application/javascript; charset=utf-8", None, **script)
    return Case(target, 200, body, headers, {name: text for name, text in sent.items() if text})


def _heads() -> Iterator[Case]:
    """What GET answers, without the body: Content-Length stays that of the body."""
    targets = (
        *PATHS,
        "store/v1/events",
        "store/v2/stores/x",
        "v2",
        "store/v2/stores?feature=BOPS",
        "v2/promotions?promoid=5",
    )
    asked = (case for part in _READS for case in part() if case.method == "GET" and case.sent.get(KEY) == PHONE)
    known = {(case.target, case.sent.get("accept")): case for case in asked}
    for target in targets:
        for accept in (JSON, XML):
            yield replace(known[target, accept], method="HEAD", body=b"", value=None)
    yield replace(next(refused("no_key", "v2/promotions", sent={KEY: ""})), method="HEAD", body=b"", value=None)


_READS = (_apps, _events_v1, _events_v2, _stores, _promotions, _routes)


def _conditions() -> Iterator[Case]:
    value = {"promotionDetailsResponse": [P5]}
    for accept, target in (
        (JSON, "v2/promotions?promoid=5"),
        (XML, "v2/promotions?promoid=5"),
        (JSON, "v2/promotions"),
    ):
        found = value if "?" in target else {"promotionDetailsResponse": [P5, P7, P11]}
        body = json_bytes(found) if accept == JSON else xml(found, "response")
        tag, whole = etag(body), _headers(body, accept, 60)
        kept = {name: whole[name] for name in ("cache-control", "vary", "etag")}
        for method in ("GET", "HEAD"):
            for condition in (tag, f"W/{tag}", "*", f'"a", {tag}', f'"a",W/{tag} , "b"'):
                sent = {KEY: PHONE, "accept": accept, "if-none-match": condition}
                yield Case(target, 304, b"", kept, sent, method)
            for condition in ('"a"', tag.strip('"'), tag.upper() + "x", 'W/"a"', etag(b"{}")):
                sent = {KEY: PHONE, "accept": accept, "if-none-match": condition}
                yield Case(target, 200, body if method == "GET" else b"", whole, sent, method)
    # the two formats and a callback's answer have tags of their own
    other = etag(xml(value, "response"))
    body = json_bytes(value)
    yield Case(
        "v2/promotions?promoid=5",
        200,
        body,
        _headers(body, JSON, 60),
        {KEY: PHONE, "accept": JSON, "if-none-match": other},
    )
    script = b"/**/cb(" + body + b");"
    kept = {"cache-control": "max-age=60", "vary": VARY, "etag": etag(script), "x-content-type-options": "nosniff"}
    sent = {KEY: PHONE, "if-none-match": etag(script)}
    yield Case("v2/promotions?promoid=5&callback=cb", 304, b"", kept, sent)
    # errors know no conditions, and files have no dates
    yield from refused("invalid", "store/v1/events", ONE_OF_THREE, sent={"if-none-match": "*"})
    yield from refused("no_key", "v2/promotions", sent={KEY: "", "if-none-match": "*"})
    dated = {KEY: PHONE, "accept": JSON, "if-modified-since": "Fri, 31 Dec 2100 23:59:59 GMT"}
    yield Case("v2/promotions?promoid=5", 200, body, _headers(body, JSON, 60), dated)


def _options() -> Iterator[Case]:
    """The methods of the path, with or without a key, in any format; none where there is no such path."""
    answer = {"allow": READABLE, "cache-control": "no-store"}
    for target in ("", "nowhere"):
        yield Case(target, 204, b"", {"cache-control": "no-store"}, {}, "OPTIONS")
    for target in (*PATHS, *CATALOG_PATHS, "v2/promotions?callback=1", "store/v1/events", "docs"):
        yield Case(target, 204, b"", answer, {}, "OPTIONS")
    yield Case("order/v1/bags", 204, b"", {**answer, "allow": "GET, HEAD, OPTIONS, POST"}, {}, "OPTIONS")
    yield Case("order/v1/bags/5/items/", 204, b"", {**answer, "allow": "OPTIONS, PATCH"}, {}, "OPTIONS")
    yield Case("v2/promotions", 204, b"", answer, {KEY: PHONE, "accept": "text/html"}, "OPTIONS")
    yield Case("v2/promotions", 204, b"", answer, {KEY: "unknown"}, "OPTIONS")


def _origins() -> Iterator[Case]:
    body = json_bytes({"promotionDetailsResponse": [P5, P7, P11]})
    for origin in (PAGE, MOBILE_PAGE):
        readable = {
            "access-control-allow-origin": origin,
            "access-control-expose-headers": "ETag, Idempotent-Replayed, Retry-After, X-Request-Id",
        }
        preflight = {
            "cache-control": "no-store",
            **readable,
            "access-control-allow-methods": METHODS,
            "access-control-allow-headers": (
                "x-svc-webservice-client-id, Accept, Content-Type, If-None-Match, If-Match, Idempotency-Key,"
                " X-Request-Id, traceparent"
            ),
            "access-control-max-age": "600",
            "vary": "Origin",
        }
        sent = {KEY: PHONE, "origin": origin}
        whole = {**_headers(body, JSON, 60), **readable}
        yield Case("v2/promotions", 200, body, whole, sent)
        yield Case("v2/promotions", 200, b"", whole, sent, "HEAD")
        kept = {name: text for name, text in whole.items() if not name.startswith("content-")}
        yield Case("v2/promotions", 304, b"", kept, {**sent, "if-none-match": "*"})
        yield from refused("no_key", "v2/promotions", sent={KEY: "", "origin": origin}, more=readable)
        yield from refused("invalid", "store/v1/events", ONE_OF_THREE, sent={"origin": origin}, more=readable)
        fault = "path: is not one of the interface"
        yield from refused("no_mapping", "nowhere", fault, sent={"origin": origin}, more=readable)
        wrong = f"method: must be {READABLE}, not POST"
        yield from refused(
            "method",
            "v2/promotions",
            wrong,
            sent={"origin": origin},
            method="POST",
            data=b"",
            more={"allow": READABLE} | readable,
        )
        asked = {"access-control-request-method": "GET", "access-control-request-headers": KEY}
        for target, allowed in (("v2/promotions", {"allow": READABLE}), ("nowhere", {})):
            yield Case(target, 204, b"", allowed | preflight, {"origin": origin, **asked}, "OPTIONS")
    for origin in (
        "https://evil.example",
        "http://www.shop.example",
        f"{PAGE}.evil.example",
        f"{PAGE}:8443",
        "null",
        PAGE.upper(),
    ):
        yield Case("v2/promotions", 200, body, _headers(body, JSON, 60), {KEY: PHONE, "origin": origin})
        yield error("no_key", "v2/promotions", sent={"accept": JSON, "origin": origin})
        yield Case(
            "v2/promotions", 204, b"", {"allow": READABLE, "cache-control": "no-store"}, {"origin": origin}, "OPTIONS"
        )


OUTSIDE = ("", "v2/promotions", "mobile", "mobile/", "mobile/ap", "mobile/apiv2/promotions", "Mobile/api/v2/promotions")
"""Targets that are nothing where base_url has the path /mobile/api."""


def outside() -> Iterator[Case]:
    for target in OUTSIDE:
        yield from refused("no_mapping", target, "path: is not one of the interface", absolute=True)
    yield from refused("no_mapping", "mobile/api", "path: is not one of the interface", absolute=True)
    yield from refused("no_key", "v2/promotions", sent={KEY: ""}, absolute=True)


# -- asking a server -------------------------------------------------------------------------------------------------


def target(base: str, case: Case) -> str:
    return f"/{case.target}" if case.absolute else f"{base}/{case.target}"


def expected(case: Case) -> Answer:
    return Answer(case.status, dict(case.headers), case.body)


def differing(port: int, base: str, cases: list[Case]) -> list[tuple[str, Answer, Answer]]:
    """The cases that a server answers otherwise, with what is owed and what came."""
    found = []
    connection = HTTPConnection(ADDRESS, port, timeout=PATIENCE)
    for case in cases:
        came = ask(connection, target(base, case), case.sent, case.method, case.data)
        if came != expected(case):
            found.append((str(case), expected(case), came))
        if case.data:  # nobody reads it, so the server may hang up
            connection.close()
    connection.close()
    return found
