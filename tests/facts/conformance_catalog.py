"""The conformance table of the catalog: requests with the answers that the interface owes them, written out by hand."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from facts.conformance import (
    BOSTON,
    HARTFORD,
    HONOLULU,
    JSON,
    NEW_YORK,
    NO_NAME,
    NOT_IDS,
    Case,
    at,
    etag,
    invalid,
    located,
    read,
    refused,
    stores,
)

Json = Any

ROOT = "response"
IMAGES = "https://images.shop.example"
SHOP = "https://www.shop.example"
RED, BLACK, OLD, LAMP = 36000291452, 12345678905, 4006381333931, 96385074

# -- products as elements ----------------------------------------------------------------------------------------


def image(kind: str, name: str, number: int, width: int) -> Json:
    return {
        "imagetype": kind,
        "imageurl": f"{IMAGES}/{name}?wid={width}",
        "imagename": name,
        "sequenceNumber": number,
    }


def primary(name: str, colors: int = 0) -> Json:
    return {
        "imagetype": "PRIMARY_IMAGE",
        "imageurl": f"{IMAGES}/{name}?wid=164",
        "imagename": name,
        "colorized": colors > 0,
        "sequenceNumber": 0,
        "hasMoreColors": colors > 1,
        "numberColors": colors,
        "isPrimaryImage": True,
    }


PUMP_SUMMARY = {
    "name": "Patent Pump",
    "producttype": "SHOE",
    "brand": "Anne Field",
    "onsale": True,
    "producturl": f"{SHOP}/product/100",
    "iscollection": False,
    "available": True,
    "productstartdays": 12,
    "totalreviews": 2,
    "customerrating": 4.5,
}
PUMP_IMAGE = [
    primary("pump.jpg", 2),
    image("ADDITIONAL_IMAGE", "pump-side.jpg", 1, 164),
    image("ADDITIONAL_IMAGE", "pump-top.jpg", 2, 164),
    {
        "type": "colorwayImage",
        "imagetype": "COLORWAY",
        "id": 7,
        "colornormal": "RED",
        "color": "Cherry",
        "upcprimaryimage": image("UPC_PRIMARY_IMAGE", "pump-red.jpg", 0, 164),
        "upcadditionalimage": [image("UPC_ADDITIONAL_IMAGE", "pump-red-side.jpg", 1, 164)],
        "swatchsequencenumber": 0,
        "swapoutsequencenumber": 0,
        "swatchimage": image("SWATCH", "cherry.jpg", 0, 24),
    },
    {
        "type": "colorwayImage",
        "imagetype": "COLORWAY",
        "id": 8,
        "colornormal": "BLACK",
        "color": "Night",
        "upcprimaryimage": image("UPC_PRIMARY_IMAGE", "pump.jpg", 0, 164),
        "swatchsequencenumber": 1,
        "swapoutsequencenumber": 1,
        "swatchimage": {},
    },
]
PUMP_PRICE = {
    "regular": {"value": 100, "label": "Reg."},
    "sale": {"value": 69.99, "label": "Sale"},
    "current": {"value": 69.99, "label": "Sale"},
    "original": {"value": 100, "label": "Orig."},
    "pricetype": "Clearance",
    "pricetypeid": 4,
    "onsale": True,
    "displayText": "Limited time",
    "percentageOff": 30,
    "percentageOffHigh": 30,
}
PUMP_FINAL = {
    "finalPrice": 59.99,
    "displayFinalPrice": "Always Show",
    "promotions": [
        {"promotionId": 5, "global": True, "promotionName": "Promotion 5"},
        {"promotionId": 7, "global": False, "promotionName": "Promotion 7"},
    ],
}
PUMP_CATEGORY = [{"id": 121, "type": "homecategory"}]
PUMP_BADGES = {
    "new": True,
    "Rebate": True,
    "onsale": True,
    "promotionbadge": ["Extra 10%"],
    "promotionbadges": [{"badge": "Extra 10%", "selectColor": False, "promotionId": 7}],
}
PUMP = {
    "id": 100,
    "summary": PUMP_SUMMARY,
    "image": PUMP_IMAGE,
    "price": PUMP_PRICE,
    "finalPrice": PUMP_FINAL,
    "category": PUMP_CATEGORY,
    "badges": PUMP_BADGES,
}
NO_BADGES = {"new": False, "Rebate": False, "onsale": False}


def plain(id: int, name: str, kind: str, brand: str, image: str, category: int, price: Json, **more: Json) -> Json:
    """A product without what is optional."""
    onsale, collection, available = "sale" in price, more.get("collection", False), more.get("available", True)
    return {
        "id": id,
        "summary": {
            "name": name,
            "producttype": kind,
            "brand": brand,
            "onsale": onsale,
            "producturl": more.get("url", f"{SHOP}/product/{id}"),
            "iscollection": collection,
            "available": available,
            "totalreviews": 0,
        },
        "image": [primary(image)],
        "price": price,
        "category": [{"id": category, "type": "homecategory"}],
        "badges": NO_BADGES | {"onsale": onsale},
    }


def regular(amount: float) -> Json:
    told = {"value": amount, "label": "Reg."}
    kind = {"pricetype": "Ticket", "pricetypeid": 0, "onsale": False}
    return {"regular": told, "current": told, **kind, "percentageOff": 0, "percentageOffHigh": 0}


FLAT = plain(
    101,
    "Café Flat",
    "SHOE",
    "Anne Field",
    "flat.jpg",
    12,
    {
        "regular": {"low": 50, "high": 80},
        "sale": {"low": 30, "high": 60},
        "pricetype": "Ticket",
        "pricetypeid": 0,
        "onsale": True,
        "percentageOff": 25,
        "percentageOffHigh": 40,
    },
    url=f"{SHOP}/cafe-flat",
)
SET = plain(
    102,
    "Evening Set",
    "SET",
    "Zoë",
    "set.jpg",
    1,
    {
        "regular": {"low": 30, "high": 110},
        "pricetype": "Ticket",
        "pricetypeid": 0,
        "onsale": False,
        "percentageOff": 0,
        "percentageOffHigh": 0,
    },
    collection=True,
)
GONE = plain(103, "Withdrawn Pump", "SHOE", "Anne Field", "gone.jpg", 12, regular(20), available=False)
LAMP_ELEMENT = plain(104, "Desk Lamp", "LAMP", "Lumen", "lamp.jpg", 2, regular(25.5), available=False)
AVAILABLE = {"availability": {"available": True, "instoreeligible": True}}
UNAVAILABLE = {"availability": {"available": False, "instoreeligible": True}}
AT_NO_STORE = {"availability": {"available": False, "instoreeligible": False}}


def in_detail(element: Json, description: str) -> Json:
    """An element as product detail has it."""
    return {**element, "summary": {**element["summary"], "description": description}}


def vase(number: int) -> Json:
    return plain(200 + number, f"Vase {number}", "VASE", f"Maker {number:02}", "vase.jpg", 2, regular(10 * number))


# -- what version 3 tells beside the element ---------------------------------------------------------------------


def price4(low: float, *, was: float | None = None, type: int = 0) -> Json:
    if was is None:
        return {"retail": {"pricevalue": {"low": low}}, "pricetype": type, "onsale": False}
    return {
        "retail": {"pricevalue": {"low": low}, "pricelabel": "Sale"},
        "original": {"pricevalue": {"low": was}, "pricelabel": "Reg."},
        "pricetype": type,
        "onsale": True,
    }


def upcs(number: str, details: str, method: str, sku: str) -> Json:
    """The pump's UPCs; the names that v3 has in lower case."""
    return [
        {
            number: RED,
            details: {
                "skuid": 9001,
                "active": True,
                "colorwayid": 7,
                "sizeid": 71,
                "attributes": [{"name": "WIDTH", "values": [{"value": "M"}]}],
                "price": price4(69.99, was=100, type=4),
                "availability": {"available": True, method: "POOL", sku: 9001},
            },
        },
        {
            number: BLACK,
            details: {
                "skuid": 9002,
                "active": True,
                "colorwayid": 8,
                "sizeid": 72,
                "price": price4(110, type=4),
                "availability": {"available": False, method: "VENDOR DIRECT", sku: 9002},
            },
        },
        {
            number: OLD,
            details: {
                "skuid": 9003,
                "active": False,
                "price": price4(69.99, was=100, type=4),
                "availability": {"available": False, method: "POOL", sku: 9003},
            },
        },
    ]


PUMP_ATTRIBUTE = [
    {"name": "HEEL_HEIGHT", "values": ["High"]},
    {"name": "MATERIAL", "values": ["Leather", "Rubber"]},
]
PUMP_UPC = upcs("upcnumber", "upcdetails", "ordermethod", "upcid")
PUMP_REBATE = {
    "rebates": [
        {"rebateid": 1, "description": "$1 back"},
        {"rebateid": 2, "description": "$5 back", "url": f"{SHOP}/rebate/2"},
    ]
}
PUMP_3 = in_detail(PUMP, "A pump of patent leather <shiny>.")
PUMP_3 = {**PUMP_3, "attribute": PUMP_ATTRIBUTE, **AVAILABLE, "upc": PUMP_UPC, "rebate": PUMP_REBATE}
PUMP_PROMOTION = [
    {
        "promotionid": 5,
        "promotiontype": "DOLLAR_OFF",
        "description": "About 5",
        "offerdescription": "$10 off",
        "legaldisclaimer": "While it lasts.",
    },
    {"promotionid": 11, "promotiontype": "PERCENT_OFF", "description": "Two\u2028lines \u2029"},
]
NEWEST = {
    "reviewId": "r1",
    "ratingValue": 4,
    "reviewTitle": "Good",
    "reviewDesc": "A little high.",
    "recommended": False,
    "reviewDate": "2026-10-03",
    "displayName": "Sam",
}
OLDER = {
    "reviewId": "r2",
    "ratingValue": 5,
    "reviewTitle": "Love them",
    "reviewDesc": "Danced all night.",
    "recommended": True,
    "reviewDate": "2026-10-02",
    "displayName": "Kim",
    "reviewLocation": "Hartford, CT",
    "ageRangeValue": "35to44",
    "genderValue": "Female",
    "positiveFeedbacksOnReview": 3,
    "negativeFeedbacksOnReview": 0,
}


def lowered(review: Json) -> Json:
    return {name.lower(): value for name, value in review.items()}


def review_3(*found: Json) -> Json:
    return {
        "averageoverallrating": 4.5,
        "totalreviewcount": 2,
        "countfor1star": 0,
        "countfor2stars": 0,
        "countfor3stars": 0,
        "countfor4stars": 1,
        "countfor5stars": 1,
        "perreviewwrapper": [lowered(each) for each in found],
    }


# -- version 4 ---------------------------------------------------------------------------------------------------

URLS = [
    {"urltype": "Image", "urlformat": f"{IMAGES}/{{imagename}}?wid={{width}}&qlt={{quality}}"},
    {"urltype": "Swatch", "urlformat": f"{IMAGES}/{{imagename}}?wid={{width}}&qlt={{quality}}"},
]


def named(kind: str, name: str, number: int) -> Json:
    return {"imagetype": kind, "imagename": name, "sequenceNumber": number}


PUMP_4_SUMMARY = {
    "name": "Patent Pump",
    "productURL": f"{SHOP}/product/100",
    "description": "A pump of patent leather <shiny>.",
    "typeName": "SHOE",
    "available": True,
    "productStartDays": 12,
    "metricNumberOfReviews": 2,
    "metricRating": 4.5,
    "isNew": True,
    "maxQuantity": 6,
    "bullets": ["Leather upper", "Made by hand"],
    "active": True,
    "defaultCategoryId": 121,
    "giftWrappable": True,
    "visible": True,
    "checkInStoreEligibility": True,
    "productGroup": "Shoes",
}
PUMP_4_PRICE = price4(69.99, was=100, type=4)
PUMP_4_REST = {
    "badges": {"new": True, "onsale": True},
    "shipping": {
        "shippingMethods": ["Ground"],
        "returnConstraint": ["30 days"],
        "notes": ["Ships boxed"],
        "giftWrappable": True,
        "giftMessageable": True,
    },
    "attributes": [
        {"name": "HEEL_HEIGHT", "values": [{"value": "High"}]},
        {"name": "MATERIAL", "values": [{"value": "Leather", "seqnum": 1}, {"value": "Rubber", "seqnum": 2}]},
    ],
    "primaryImage": named("PRIMARY_IMAGE", "pump.jpg", 0),
    "additionalImages": [
        named("ADDITIONAL_IMAGE", "pump-side.jpg", 1),
        named("ADDITIONAL_IMAGE", "pump-top.jpg", 2),
    ],
    "brand": {"brandname": "Anne Field", "brandid": 500},
    "corpclass": {"deptid": 31, "deptcode": "31A", "divisionid": 3, "division": "Footwear"},
    "price": PUMP_4_PRICE,
    "colorMap": [
        {
            "colorwayid": 7,
            "imagetype": "COLORWAY",
            "colornormal": "RED",
            "color": "Cherry",
            "swatchimage": named("SWATCH", "cherry.jpg", 0),
            "upcprimaryimage": named("UPC_PRIMARY_IMAGE", "pump-red.jpg", 0),
        },
        {"colorwayid": 8, "imagetype": "COLORWAY", "colornormal": "BLACK", "color": "Night", "swatchimage": {}},
    ],
    "SizeMap": [
        {"sizeid": 71, "sizenormal": "8", "sequenceNumber": 0},
        {"sizeid": 72, "sizenormal": "8.5", "sequenceNumber": 1},
    ],
    "availability": {"available": True},
    "urlmetadata": {"urls": URLS},
}


def detail(
    name: str, id: int, description: str, kind: str, brand: Json, image: str, category: int, **more: Json
) -> Json:
    """The details of a product without what is optional."""
    price = more.get("price")
    return {
        "summary": {
            "name": name,
            "productURL": more.get("url", f"{SHOP}/product/{id}"),
            "description": description,
            "typeName": kind,
            "available": price is not None,
            "metricNumberOfReviews": 0,
            "isNew": False,
            "maxQuantity": 99,
            "active": more.get("active", True),
            "defaultCategoryId": category,
            "giftWrappable": False,
            "visible": more.get("active", True),
            "checkInStoreEligibility": more.get("eligible", True),
            "productGroup": kind,
        },
        "badges": {"new": False, **({"onsale": True} if price and price["onsale"] else {})},
        "shipping": {"giftWrappable": False, "giftMessageable": False},
        "primaryImage": named("PRIMARY_IMAGE", image, 0),
        "brand": brand,
        **({"price": price} if price else {}),
        "availability": {"available": price is not None},
        "urlmetadata": {"urls": URLS},
        **more.get("family", {}),
    }


ANNE = {"brandname": "Anne Field", "brandid": 500}


def flat_4(family: Json) -> Json:
    price = {
        "retail": {"pricevalue": {"low": 30, "high": 60}, "pricelabel": "Sale"},
        "original": {"pricevalue": {"low": 50, "high": 80}, "pricelabel": "Reg."},
        "pricetype": 0,
        "onsale": True,
    }
    return detail(
        "Café Flat",
        101,
        "A flat shoe.",
        "SHOE",
        ANNE,
        "flat.jpg",
        12,
        price=price,
        url=f"{SHOP}/cafe-flat",
        family=family,
    )


def set_4(family: Json) -> Json:
    price = {"retail": {"pricevalue": {"low": 30, "high": 110}}, "pricetype": 0, "onsale": False}
    brand, text = {"brandname": "Zoë"}, "Shoes for an evening."
    return detail("Evening Set", 102, text, "SET", brand, "set.jpg", 1, price=price, family=family)


IN_ONE = {
    "collection": {"incollection": True},
    "masterProducts": [{"id": 102, "productDetails": set_4({})}],
}
PUMP_4 = {"summary": PUMP_4_SUMMARY, **PUMP_4_REST, **IN_ONE}
FLAT_4 = flat_4(IN_ONE)
SET_4 = set_4(
    {
        "collection": {"iscollection": True},
        "childProducts": [
            {"id": 101, "productDetails": flat_4({})},
            {"id": 100, "productDetails": {"summary": PUMP_4_SUMMARY, **PUMP_4_REST}},
        ],
    }
)
GONE_4 = detail("Withdrawn Pump", 103, "It was a pump.", "SHOE", ANNE, "gone.jpg", 12, active=False)
LAMP_4 = detail("Desk Lamp", 104, "A lamp.", "LAMP", {"brandname": "Lumen"}, "lamp.jpg", 2, eligible=False)
PUMP_4_UPCS = upcs("upcnumber", "upcDetails", "orderMethod", "upcId")
PUMP_4_CATEGORIES = [
    {"id": 1, "name": "Women", "type": "rootcategory"},
    {"id": 121, "name": "Pumps", "type": "homecategory"},
]
PUMP_4_REVIEWS = {
    "averageOverallRating": 4.5,
    "totalReviewCount": 2,
    "countFor1Star": 0,
    "countFor2Stars": 0,
    "countFor3Stars": 0,
    "countFor4Stars": 1,
    "countFor5Stars": 1,
    "perReviewWrapper": [NEWEST, OLDER],
}
PUMP_4_REBATES = [
    {"rebateId": 1, "description": "$1 back"},
    {"rebateId": 2, "description": "$5 back", "url": f"{SHOP}/rebate/2"},
]
PUMP_4_PROMOTIONS = [
    {
        "promotionID": 5,
        "promotionType": "DOLLAR_OFF",
        "description": "About 5",
        "offerDescription": "$10 off",
        "legalDisclaimer": "While it lasts.",
    },
    {"promotionID": 11, "promotionType": "PERCENT_OFF", "description": "Two\u2028lines \u2029"},
]

# -- categories --------------------------------------------------------------------------------------------------


def envelope(total: int, perpage: int = 0, page: int = 0) -> Json:
    """No document of the table has a publish window."""
    return {
        "resultsperpage": perpage,
        "currentpage": page,
        "totalresults": total,
        "resptime": "0ms",
        "querydate": "1970-01-01T00:00:00.000+00:00",
    }


def node(id: int, name: str, page: str, kind: str = "Browse", **more: Json) -> Json:
    flags = {"brandflyout": more.pop("brandflyout", False), "mobilePublish": more.pop("mobilePublish", "Y")}
    return {"id": id, "name": name, "categorytype": kind, "categorypageurl": f"{SHOP}/{page}", **flags, **more}


PUMPS = node(121, "Pumps", "pumps")
SHOES = node(12, "Shoes & Boots", "shoes", brandflyout=True, pageType="Dynamic", clickable=True)
SALE = node(
    11,
    "Sale",
    "sale",
    "GoTo",
    mobilePublish="N",
    overrideUrl=f"{SHOP}/sale/shoes",
    overridecatid=12,
    clickable=False,
)
WOMEN, HOME = node(1, "Women", "women"), node(2, "Home", "home", "Splash")
SHOES_WITH = {**SHOES, "category": [PUMPS]}


def summary(id: int, name: str, page: str, kind: str = "Browse", highlight: bool = False, **more: Json) -> Json:
    url = f"{SHOP}/{page}"
    told = {"name": name, "categorytype": kind, "categorypageurl": url, "categoryHighlight": highlight}
    return {**told, "pageId": str(id), "pageType": kind, "pageTitle": name, "metaDesc": "", **more}


WOMEN_S, HOME_S = summary(1, "Women", "women"), summary(2, "Home", "home", "Splash")
SHOES_S = summary(
    12,
    "Shoes & Boots",
    "shoes",
    highlight=True,
    pageId="p12",
    pageType="Dynamic",
    pageTitle="Shoes",
    metaDesc="All shoes",
)
PUMPS_S, SALE_S = summary(121, "Pumps", "pumps"), summary(11, "Sale", "sale", "GoTo")
IN_WOMEN = {"parentcategory": {"id": 1, "summary": {"name": "Women", "categorypageurl": f"{SHOP}/women"}}}
IN_SHOES = {"parentcategory": {"id": 12, "summary": {"name": "Shoes & Boots", "categorypageurl": f"{SHOP}/shoes"}}}


def facet(name: str, display: str, *values: tuple[str, int]) -> Json:
    return {
        "name": name,
        "displayname": display,
        "value": [{"values": value, "productcount": count} for value, count in values],
    }


def prices(*ranges: tuple[str, str, int]) -> Json:
    return {
        "name": "PRICE",
        "displayname": "Price",
        "value": [
            {"name": f"[{low} TO {high}]", "values": f"[{low}TO{high}]", "productcount": count}
            for low, high, count in ranges
        ],
    }


def ids(*found: int) -> Json:
    return {"product": {"product": [{"id": id} for id in found]}}


COLORS, SIZES = (
    facet("COLOR", "Color", ("BLACK", 1), ("RED", 1)),
    facet("SIZE", "Size", ("8", 1), ("8.5", 1)),
)
SHOES_F = [
    facet("BRAND", "Brand", ("Anne Field", 2)),
    COLORS,
    SIZES,
    prices(("0", "49.99", 1), ("50", "99.99", 1)),
]
WOMEN_F = [
    facet("BRAND", "Brand", ("Anne Field", 2), ("Zoë", 1)),
    COLORS,
    SIZES,
    prices(("0", "49.99", 2), ("50", "99.99", 1)),
]
PUMPS_F = [facet("BRAND", "Brand", ("Anne Field", 1)), COLORS, SIZES, prices(("50", "99.99", 1))]
HOME_F = [
    facet("BRAND", "Brand", *((name, 1) for name in ("Lumen", *(f"Maker {n:02}" for n in range(1, 13))))),
    prices(("0", "49.99", 5), ("50", "99.99", 5), ("100", "249.99", 3)),
]

# -- pick-up in store --------------------------------------------------------------------------------------------


def has(number: int, *stores: tuple[int, bool, str]) -> Json:
    """A UPC: each store's number, whether it can be picked up there, and what the store has of it."""
    return {
        "upcNumber": number,
        "upcAvailability": [
            {
                "locationNumber": location,
                "bopsEligibilityStatus": "ELIGIBLE" if eligible else "INELIGIBLE",
                "bopsAvailabilityStatus": status if eligible else "UNAVAILABLE",
                "storeAvailabilityStatus": status,
            }
            for location, eligible, status in stores
        ],
    }


# -- the table ---------------------------------------------------------------------------------------------------


def table() -> list[Case]:
    """Every case."""
    parts: tuple[Callable[[], Iterator[Case]], ...] = (
        _index,
        _categories,
        _browse,
        _brands,
        _product_index,
        _version_3,
        _version_4,
        _beside,
        _search,
        _pickup,
        _inventories,
    )
    cases = [case for part in parts for case in part()]
    return [*cases, *_again(cases)]


def _again(cases: list[Case]) -> Iterator[Case]:
    """Some of them by HEAD, for a script, and by those who have the answer already."""
    some: tuple[str, ...] = (
        "v3/catalog/category/12",
        "v3/catalog/product/100",
        "v4/catalog/product/101,100",
        "v3/catalog/product/7",
    )
    some += (
        "v4/catalog/search?searchphrase=patent%20pump",
        "v3/catalog/category/x",
        "v3/catalog/reviews?productId=100",
    )
    for case in cases:
        if case.target in some:
            yield replace(case, method="HEAD", body=b"", value=None)
        if case.target in some and "etag" in case.headers:
            kept = {name: text for name, text in case.headers.items() if name not in ("content-type", "content-length")}
            sent = {**case.sent, "if-none-match": case.headers["etag"]}
            yield replace(case, status=304, headers=kept, sent=sent, body=b"", value=None)
        if case.target in some and case.status == 200 and case.headers["content-type"] == JSON:
            script = b"/**/show.me(%b);" % case.body.replace(b"\xe2\x80\xa8", rb"\u2028").replace(
                b"\xe2\x80\xa9", rb"\u2029"
            )
            media_type = "application/javascript; charset=utf-8"
            more = {"content-type": media_type, "content-length": str(len(script)), "etag": etag(script)}
            headers = {**case.headers, **more, "x-content-type-options": "nosniff"}
            joined = f"{case.target}{'&' if '?' in case.target else '?'}callback=show.me"
            yield replace(case, target=joined, body=script, headers=headers, value=None)


def answered(target: str, value: Json, lifetime: int = 60) -> Iterator[Case]:
    yield from read(target, value, ROOT, lifetime)


def unknown(target: str, detail: str) -> Iterator[Case]:
    yield from refused("no_data", target, detail)


def number(name: str, most: int, text: str) -> str:
    return f"{name}: must be a whole number from 1 to {most}, not {text!r}"


MAX = 9007199254740991
NO_CATEGORY = "no category has an id that was asked for"
NO_PRODUCT = "no product has such an id"
NO_UPC = "no UPC has a number that was asked for"


def _index() -> Iterator[Case]:
    path = "v3/catalog/category/index"
    women = {**WOMEN, "category": [SHOES_WITH, SALE]}
    for query in ("", "/", "?depth=8", "?depth=3", "?unknown=1"):
        yield from answered(f"{path}{query}", {**envelope(2), "category": [women, HOME]})
    yield from answered(f"{path}?depth=1", {**envelope(2), "category": [WOMEN, HOME]})
    yield from answered(f"{path}?depth=2", {**envelope(2), "category": [{**WOMEN, "category": [SHOES, SALE]}, HOME]})
    yield from answered(f"{path}?category=12", {**envelope(1), "category": [SHOES_WITH]})
    yield from answered(f"{path}?category=12&depth=1", {**envelope(1), "category": [SHOES]})
    yield from unknown(f"{path}?category=9", f"category: {NO_CATEGORY}")
    for text in ("0", "9", "x", "-1", "1.5"):
        yield from invalid(f"{path}?depth={text}", number("depth", 8, text))
    for text in ("0", "x", "1,2"):
        yield from invalid(f"{path}?category={text}", number("category", MAX, text))
    yield from invalid(f"{path}?depth=1&depth=1", "depth: is given more than once")


def _categories() -> Iterator[Case]:
    path = "v3/catalog/category"
    children = {"category": [{"id": 12, "summary": SHOES_S}, {"id": 11, "summary": SALE_S}]}
    women = {"id": 1, "summary": WOMEN_S, **children}
    pumps = {"id": 121, "summary": PUMPS_S, **IN_SHOES}
    whole = {**pumps, "facet": PUMPS_F, **ids(100)}
    for target in ("121", "121/", "0121", "121?show=product,facet", "121?show=attribute,facet,product", "121,9"):
        yield from answered(f"{path}/{target}", {**envelope(1), "category": [whole]})
    yield from answered(f"{path}/121?show=attribute", {**envelope(1), "category": [pumps]})
    yield from answered(f"{path}/121?show=facet", {**envelope(1), "category": [{**pumps, "facet": PUMPS_F}]})
    yield from answered(f"{path}/121?show=product", {**envelope(1), "category": [{**pumps, **ids(100)}]})
    yield from answered(f"{path}/1", {**envelope(1), "category": [{**women, "facet": WOMEN_F, **ids(101, 100, 102)}]})
    both = [women, {"id": 11, "summary": SALE_S, **IN_WOMEN}]
    for listed in ("11,1", "1,11,1", "11%2C1", "1,11,9"):
        yield from answered(f"{path}/{listed}?show=attribute", {**envelope(2), "category": both})
    yield from answered(f"{path}/11", {**envelope(1), "category": [both[1]]})
    home = {"id": 2, "summary": HOME_S, "facet": HOME_F, **ids(104, *range(201, 213))}
    yield from answered(f"{path}/2", {**envelope(1), "category": [home]})
    yield from unknown(f"{path}/9", f"categoryId: {NO_CATEGORY}")
    yield from unknown(f"{path}/9,10?show=facet", f"categoryId: {NO_CATEGORY}")
    many = ",".join(map(str, range(1, 251)))
    yield from answered(
        f"{path}/{many}?show=attribute",
        {
            **envelope(5),
            "category": [
                women,
                {"id": 2, "summary": HOME_S},
                both[1],
                {"id": 12, "summary": SHOES_S, **IN_WOMEN, "category": [{"id": 121, "summary": PUMPS_S}]},
                pumps,
            ],
        },
    )
    yield from invalid(f"{path}/{many},251", "categoryId: must be at most 250 numbers, not 251")
    yield from invalid(f"{path}/x", f"categoryId: {NOT_IDS} 'x'")
    yield from invalid(f"{path}/0", f"categoryId: {NOT_IDS} '0'")
    shown = "show: must be one of facet, product, attribute, not"
    yield from invalid(f"{path}/1?show=facets", f"{shown} 'facets'; did you mean facet?")
    yield from invalid(f"{path}/1?callback=1", f"callback: {NO_NAME} '1'")


def _browse() -> Iterator[Case]:
    path = "v3/catalog/category/{}/browseproducts"

    def page(category: Json, total: int, facets: Json, *found: Json, perpage: int = 12, number: int = 1) -> Json:
        listed = {"product": {"product": list(found)}} if found else {}
        told = {"id": category["id"], "totalproducts": total, "summary": category["summary"], **category["in"]}
        told |= {**({"facet": facets} if facets else {}), **listed}
        return {**envelope(total, perpage, number), "category": [told]}

    def browse(query: str, value: Json) -> Iterator[Case]:
        yield from answered(f"{path.format(query.partition('?')[0])}{query[len(query.partition('?')[0]) :]}", value)

    women = {"id": 1, "summary": WOMEN_S, "in": {}}
    shoes = {"id": 12, "summary": SHOES_S, "in": IN_WOMEN}
    home = {"id": 2, "summary": HOME_S, "in": {}}
    for query in ("1", "1?resultsperpage=12&currentpage=1", "1?show=product,facet", "1?size=8&_=5&brand=x"):
        yield from browse(query, page(women, 3, WOMEN_F, FLAT, PUMP, SET))
    yield from browse("1?show=product", page(women, 3, None, FLAT, PUMP, SET))
    yield from browse("1?show=facet", page(women, 3, WOMEN_F))
    yield from browse("1?show=attribute", page(women, 3, None))
    yield from browse("12?show=product", page(shoes, 2, None, FLAT, PUMP))
    # pages
    yield from browse("1?show=product&resultsperpage=2", page(women, 3, None, FLAT, PUMP, perpage=2))
    yield from browse("1?show=product&resultsperpage=2&currentpage=2", page(women, 3, None, SET, perpage=2, number=2))
    yield from browse("1?show=product&resultsperpage=2&currentpage=3", page(women, 3, None, perpage=2, number=3))
    yield from browse(
        f"1?show=product&currentpage={MAX}&resultsperpage=96", page(women, 3, None, perpage=96, number=MAX)
    )
    # orders
    orders = {
        "price": (FLAT, SET, PUMP),
        "price&sortorder=asc": (FLAT, SET, PUMP),
        "price&sortorder=desc": (PUMP, FLAT, SET),
        "customerrating": (PUMP, FLAT, SET),
        "name": (FLAT, SET, PUMP),
        "name&sortorder=desc": (PUMP, SET, FLAT),
        "bestseller": (FLAT, PUMP, SET),
        "bestseller&sortorder=desc": (PUMP, FLAT, SET),
        "newarrival": (PUMP, FLAT, SET),
        "newarrivals": (PUMP, FLAT, SET),
        "NewArrivals&sortorder=ASC": (PUMP, FLAT, SET),
        "PRICE&sortorder=Desc": (PUMP, FLAT, SET),
        "newarrival&sortorder=asc": (PUMP, FLAT, SET),
    }
    for order, found in orders.items():
        yield from browse(f"1?show=product&sortby={order}", page(women, 3, None, *found))
    # filters
    filters: dict[str, tuple[Json, ...]] = {
        "COLOR=RED": (PUMP,),
        "COLOR=[RED,BLACK]": (PUMP,),
        "COLOR=%5BRED%2CPINK%5D": (PUMP,),
        "COLOR=PINK": (),
        "BRAND=Anne+Field": (FLAT, PUMP),
        "BRAND=[Zo%C3%AB,Anne%20Field]": (FLAT, PUMP, SET),
        "BRAND=Anne%20Field&COLOR=RED&SIZE=8.5": (PUMP,),
        "BRAND=Zo%C3%AB&COLOR=RED": (),
        "PRICE=[0TO50]": (FLAT, SET),
        "PRICE=[*TO50]": (FLAT, SET),
        "PRICE=[50TO*]": (PUMP,),
        "PRICE=[69.99TO69.99]": (PUMP,),
        "PRICE=[70TO*]": (),
        "PRICE=[0%20TO%2049.99]": (FLAT, SET),
        "PRICE=[0TO49.99,50TO99.99]": (FLAT, PUMP, SET),
        "PRICE=0TO50&BRAND=Zo%C3%AB": (SET,),
        "WIDTH=M": (FLAT, PUMP, SET),  # no facet of this catalog, so it is ignored
        "WIDTH=M&COLOR=RED&GENDER=[]": (PUMP,),
        "COLOR=&BRAND=&PRICE=&CATEGORY=&UPC_BOPS_PURCHASABLE=": (FLAT, PUMP, SET),
        # by category, by its id or name; those below it count
        "CATEGORY=12": (FLAT, PUMP),
        "CATEGORY=[121]": (PUMP,),
        "CATEGORY=[121,2,9]": (PUMP,),
        "CATEGORY=shoes+%26+BOOTS": (FLAT, PUMP),
        "CATEGORY=[Home,x]": (),
        "CATEGORY=9": (),
        "CATEGORY=12&BRAND=Anne%20Field&PRICE=[*TO50]": (FLAT,),
        # what can be picked up at a store; 2003 and 2004 are none where anything can be
        "UPC_BOPS_PURCHASABLE=2001": (PUMP,),
        "UPC_BOPS_PURCHASABLE=[2002]": (PUMP,),
        "UPC_BOPS_PURCHASABLE=[2001,2003]": (PUMP,),
        "UPC_BOPS_PURCHASABLE=2003": (),
        "UPC_BOPS_PURCHASABLE=[2004,9]": (),
        "UPC_BOPS_PURCHASABLE=true": (),
        "UPC_BOPS_PURCHASABLE=2001&BRAND=Zo%C3%AB": (),
    }
    for query, found in filters.items():
        yield from browse(f"1?show=product&{query}", page(women, len(found), None, *found))
    counted = [
        facet("BRAND", "Brand", ("Anne Field", 2), ("Zoë", 1)),  # its own filter does not count
        prices(("0", "49.99", 1)),
    ]
    yield from browse("1?BRAND=Zo%C3%AB", page(women, 1, counted, SET))
    pumps = [
        facet("BRAND", "Brand", ("Anne Field", 1)),
        facet("COLOR", "Color", ("BLACK", 1), ("RED", 1)),
        facet("SIZE", "Size", ("8", 1), ("8.5", 1)),
        prices(("50", "99.99", 1)),
    ]
    for filter in (
        "CATEGORY=121",
        "UPC_BOPS_PURCHASABLE=2001",
        "NEW=1&UPC_BOPS_PURCHASABLE=2001&CATEGORY=Shoes%20%26%20Boots",
    ):
        yield from browse(f"1?{filter}", page(women, 1, pumps, PUMP))
    yield from browse("2?show=product&UPC_BOPS_PURCHASABLE=2001", page(home, 0, None))  # not the lamp
    # images
    wide = {**SET, "image": [{**primary("set.jpg"), "imageurl": f"{IMAGES}/set.jpg?wid=300&qlt=80"}]}
    yield from browse("1?show=product&BRAND=Zo%C3%AB&imagewidth=300&imagequality=80", page(women, 1, None, wide))
    red = {**PUMP_IMAGE[3], "upcprimaryimage": image("UPC_PRIMARY_IMAGE", "pump-red.jpg", 0, 50)}
    red |= {
        "upcadditionalimage": [image("UPC_ADDITIONAL_IMAGE", "pump-red-side.jpg", 1, 50)],
        "swatchimage": image("SWATCH", "cherry.jpg", 0, 9),
    }
    night = {**PUMP_IMAGE[4], "upcprimaryimage": image("UPC_PRIMARY_IMAGE", "pump.jpg", 0, 50)}
    small = {**PUMP, "image": [*PUMP_IMAGE[:3], red, night]}
    yield from browse("1?show=product&COLOR=RED&upcimagewidth=50&swatchimagewidth=9", page(women, 1, None, small))
    # several categories, each with a page of its own
    several = {
        **envelope(15, 2, 1),
        "category": [
            {"id": 2, "totalproducts": 13, "summary": HOME_S, "product": {"product": [LAMP_ELEMENT, vase(1)]}},
            {
                "id": 12,
                "totalproducts": 2,
                "summary": SHOES_S,
                **IN_WOMEN,
                "product": {"product": [FLAT, PUMP]},
            },
        ],
    }
    yield from browse("12,2,9?show=product&resultsperpage=2", several)
    yield from browse("2?show=product", page(home, 13, None, LAMP_ELEMENT, *(vase(n) for n in range(1, 12))))
    yield from unknown(path.format("9"), f"categoryId: {NO_CATEGORY}")
    yield from invalid(path.format("x"), f"categoryId: {NOT_IDS} 'x'")
    base = path.format("1")
    for text in ("0", "97", "x"):
        yield from invalid(f"{base}?resultsperpage={text}", number("resultsperpage", 96, text))
    yield from invalid(f"{base}?currentpage=0", number("currentpage", MAX, "0"))
    yield from invalid(f"{base}?imagewidth=5001", number("imagewidth", 5000, "5001"))
    for text in ("0", "-1", "0.0", "x", "1e2", "."):
        yield from invalid(f"{base}?imagequality={text}", f"imagequality: must be a number above 0, not '{text}'")
    for text, quality in (
        ("100", 100),
        ("101", 100),
        ("180", 100),
        ("9" * 99, 100),
        ("80.9", 80),
        (".5", 1),
        ("007", 7),
    ):
        shown = [{**primary("set.jpg"), "imageurl": f"{IMAGES}/set.jpg?wid=164&qlt={quality}"}]
        of_quality = page(women, 1, None, {**SET, "image": shown})
        yield from browse(f"1?show=product&BRAND=Zo%C3%AB&imagequality={text}", of_quality)
    yield from invalid(f"{base}?upcimagewidth=0", number("upcimagewidth", 5000, "0"))
    yield from invalid(f"{base}?swatchimagewidth=x", number("swatchimagewidth", 5000, "x"))
    sorts = "sortby: must be one of price, customerrating, name, bestseller, newarrival, not"
    yield from invalid(f"{base}?sortby=colour", f"{sorts} 'colour'")
    yield from invalid(f"{base}?sortorder=up", "sortorder: must be one of asc, desc, not 'up'")
    yield from invalid(f"{base}?COLOR=[]", "COLOR: must be a value, or several as [PINK,YELLOW], not '[]'")
    yield from invalid(f"{base}?COLOR=[RED,]", "COLOR: must be a value, or several as [PINK,YELLOW], not '[RED,]'")
    yield from invalid(f"{base}?COLOR=RED&COLOR=BLACK", "COLOR: is given more than once")
    price = "PRICE: must be prices from one to another, such as [0TO50] or [500TO*], not"
    for text in ("[]", "[50]", "[0-50]", "[0TO50", "[0TO50,]", "[-1TO5]", "[0TO1e3]", "cheap"):
        yield from invalid(f"{base}?PRICE={text}", f"{price} {text!r}")
    yield from invalid(f"{base}?PRICE=[50TO20]", "PRICE: must be from the lower price to the higher, not '50TO20'")


def _brands() -> Iterator[Case]:
    path = "v4/catalog/category/brandindex"
    anne = {"brandName": "Anne Field", "brandURL": f"{SHOP}/anne-field"}
    zoe = {"brandName": "Zoë", "brandURL": f"{SHOP}/brand/Zo%C3%AB"}
    yield from answered(f"{path}/1", {"brandIndex": [anne, zoe]})
    yield from answered(f"{path}/12", {"brandIndex": [anne]})
    yield from answered(f"{path}/121,12,9", {"brandIndex": [anne]})
    yield from answered(f"{path}/1?refcatid=121", {"brandIndex": [anne]})
    yield from answered(f"{path}/11", {})
    yield from answered(f"{path}/1?refcatid=2", {})
    yield from answered(f"{path}/1?refcatid=9", {})
    yield from unknown(f"{path}/9", f"categoryId: {NO_CATEGORY}")
    yield from invalid(f"{path}/1?refcatid=x", number("refcatid", MAX, "x"))
    # without ids in the path: the brands of one category
    for target in ("?refcatid=1", "/?refcatid=1", "?refcatid=001&x=1"):
        yield from answered(f"{path}{target}", {"brandIndex": [anne, zoe]})
    yield from answered(f"{path}?refcatid=121", {"brandIndex": [anne]})
    yield from answered(f"{path}?refcatid=11", {})
    yield from unknown(f"{path}?refcatid=9", f"refcatid: {NO_CATEGORY}")
    for target in ("", "/", "?refcatid="):
        yield from invalid(f"{path}{target}", "refcatid: is required")


def _product_index() -> Iterator[Case]:
    path = "v3/catalog/product/index"

    def listed(*found: int) -> Json:
        return {**envelope(len(found)), **({"product": [{"id": id} for id in found]} if found else {})}

    undated = (104, *range(201, 213))
    yield from answered(path, listed(100, 101, 102, *undated))
    yield from answered(f"{path}?since=2026-11-20T15:00:00Z", listed(100, 101, *undated))
    yield from answered(f"{path}?since=2026-11-20T10:00:00.001-05:00", listed(101, *undated))
    yield from answered(f"{path}?since=2026-11-21", listed(101, *undated))
    yield from answered(f"{path}?since=2026-11-22T01:00:00%2B01:00", listed(101, *undated))
    yield from answered(f"{path}?since=2026-11-22T01:00:00+01:00", listed(101, *undated))
    yield from answered(f"{path}?since=2027-01-01", listed(*undated))
    # by category, those below it too
    for target in ("?category=1", "?category=1,9", "?category=12,1,121", "?category=1&since="):
        yield from answered(f"{path}{target}", listed(100, 101, 102))
    yield from answered(f"{path}?category=121", listed(100))
    yield from answered(f"{path}?category=121,2", listed(100, *undated))
    yield from answered(f"{path}?category=11", listed())
    yield from answered(f"{path}?category=1&since=2026-11-21", listed(101))
    yield from answered(f"{path}?category=&since=2027-01-01", listed(*undated))
    yield from unknown(f"{path}?category=9", f"category: {NO_CATEGORY}")
    yield from invalid(f"{path}?category=x", f"category: {NOT_IDS} 'x'")
    for text in (
        "yesterday",
        "2026-02-30",
        "2026-11-22T01:00:00",
        "2026-11-22T25:00:00Z",
        "20261122",
        "0026-11-22",
    ):
        fault = f"since: must be a day or an instant, such as 2026-11-27T06:00:00-05:00, not {text!r}"
        yield from invalid(f"{path}?since={text}", fault)


def _version_3() -> Iterator[Case]:
    path = "v3/catalog/product"

    def lost(key: str, what: str, number: int) -> Json:
        parameter = "upc" if key == "upc" else "productId"
        return {
            "errorCode": 409,
            "message": "No data for search criteria",
            "errorDetail": [f"{parameter}: no {what} has the {'number' if key == 'upc' else 'id'} {number}"],
            "success": False,
            key: number,
        }

    flat = {**in_detail(FLAT, "A flat shoe."), **AVAILABLE}
    gone = {**in_detail(GONE, "It was a pump."), **UNAVAILABLE}
    lamp = {**in_detail(LAMP_ELEMENT, "A lamp."), **AT_NO_STORE}
    lamp_upc = {
        "upcnumber": LAMP,
        "upcdetails": {
            "skuid": 9004,
            "active": True,
            "price": price4(25.5),
            "availability": {"available": False, "ordermethod": "POOL", "upcid": 9004},
        },
    }
    for target in ("100", "100/", "0100", "100?imagewidth=164", "100?numOfReviews=5", "100?unknown=1"):
        yield from answered(f"{path}/{target}", {"product": [PUMP_3]})
    yield from answered(f"{path}/103", {"product": [gone]})
    yield from answered(f"{path}/104", {"product": [{**lamp, "upc": [lamp_upc]}]})
    for listed in ("101,100", "100,101,100", "101%2C100"):
        yield from answered(f"{path}/{listed}", {"product": [PUMP_3, flat]})
    yield from answered(
        f"{path}/7,101,9,100",
        {"product": [PUMP_3, flat], "errors": [lost("product", "product", 7), lost("product", "product", 9)]},
    )
    shown: dict[str, Json] = {
        "summary": {"summary": PUMP_3["summary"], "badges": PUMP_BADGES},
        "price": {"price": PUMP_PRICE, "finalPrice": PUMP_FINAL},
        "attribute": {"attribute": PUMP_ATTRIBUTE},
        "promotion": {"promotion": PUMP_PROMOTION},
        "image": {"image": PUMP_IMAGE},
        "category": {"category": PUMP_CATEGORY},
        "availability": AVAILABLE,
        "rebate": {"rebate": PUMP_REBATE},
        "upc": {"upc": PUMP_UPC},
        "review": {"review": review_3(NEWEST, OLDER)},
        "review&numOfReviews=1": {"review": review_3(NEWEST)},
        "price,availability": {"price": PUMP_PRICE, "finalPrice": PUMP_FINAL, **AVAILABLE},
        "availability,%20category,availability": {"category": PUMP_CATEGORY, **AVAILABLE},
    }
    for words, value in shown.items():
        yield from answered(f"{path}/100?show={words}", {"product": [{"id": 100, **value}]})
    everything = "summary,price,attribute,promotion,image,category,availability,rebate,upc,review"
    whole = {**PUMP_3, "promotion": PUMP_PROMOTION, "review": review_3(NEWEST, OLDER)}
    yield from answered(f"{path}/100?show={everything}", {"product": [whole]})
    yield from answered(f"{path}/101?show=review,promotion,rebate,upc,attribute", {"product": [{"id": 101}]})
    for query in ("imagewidth=300&imagequality=50", "imagewidth=300&imagequality=50&show=image,summary"):
        wide = [{**primary("flat.jpg"), "imageurl": f"{IMAGES}/flat.jpg?wid=300&qlt=50"}]
        told = {**flat, "image": wide}
        kept = {key: told[key] for key in ("id", "summary", "image", "badges")}
        yield from answered(f"{path}/101?{query}", {"product": [kept if "show" in query else told]})
    # by UPC
    for upc in (str(RED), f"0{RED}", f"000{RED}", f"{RED}%2C{RED}", f"{OLD}", f"{RED},{BLACK}"):
        yield from answered(f"{path}?upc={upc}", {"product": [PUMP_3]})
    yield from answered(
        f"{path}?upc={LAMP},{RED}&show=availability",
        {"product": [{"id": 100, **AVAILABLE}, {"id": 104, **AT_NO_STORE}]},
    )
    yield from answered(
        f"{path}?upc={RED},5&show=availability&imagewidth=x",
        {"product": [{"id": 100, **AVAILABLE}], "errors": [lost("upc", "UPC", 5)]},
    )
    yield from unknown(f"{path}/7", f"productId: {NO_PRODUCT}")
    yield from unknown(f"{path}/7,9?show=summary", f"productId: {NO_PRODUCT}")
    yield from unknown(f"{path}?upc=9001", f"upc: {NO_UPC}")  # a sku
    yield from invalid(path, "upc: is required")
    yield from invalid(f"{path}?upc=x", f"upc: {NOT_IDS} 'x'")
    hundred = ",".join(map(str, range(1, 102)))
    yield from answered(
        f"{path}/{hundred[: hundred.rindex(',')]}?show=availability",
        {
            "product": [{"id": 100, **AVAILABLE}],
            "errors": [lost("product", "product", n) for n in range(1, 100)],
        },
    )
    yield from invalid(f"{path}/{hundred}", "productId: must be at most 100 numbers, not 101")
    yield from invalid(f"{path}?upc={hundred}", "upc: must be at most 100 numbers, not 101")
    yield from invalid(f"{path}/x", f"productId: {NOT_IDS} 'x'")
    words = f"show: must be one of {everything.replace(',', ', ')}, not"
    yield from invalid(f"{path}/100?show=prices", f"{words} 'prices'; did you mean price?")
    yield from invalid(f"{path}/100?numOfReviews=101", number("numOfReviews", 100, "101"))
    yield from invalid(f"{path}/100?imagewidth=0", number("imagewidth", 5000, "0"))
    yield from invalid(f"{path}/100?imagequality=0", "imagequality: must be a number above 0, not '0'")
    yield from invalid(f"{path}/100?upcimagewidth=x", number("upcimagewidth", 5000, "x"))
    yield from invalid(f"{path}/100?swatchimagewidth=-1", number("swatchimagewidth", 5000, "-1"))


def _version_4() -> Iterator[Case]:
    path = "v4/catalog/product"

    def told(target: str, value: Json) -> Iterator[Case]:
        yield from answered(f"{path}/{target}", value, 60 if target.startswith("upc/") else 300)

    def lost(key: str, what: str, number: int) -> Json:
        parameter = "upcId" if key == "upc" else "productId"
        detail = f"{parameter}: no {what} has the {'number' if key == 'upc' else 'id'} {number}"
        common = {"errorCode": 409, "message": "No data for search criteria", "errorDetail": [detail]}
        return {**common, "success": False, key: number}

    pump, flat = {"id": 100, "productDetails": PUMP_4}, {"id": 101, "productDetails": FLAT_4}
    for target in ("100", "100/", "00100", "100(productdetails)", "100%28productdetails%29", "100?unknown=1"):
        yield from told(target, {"product": [pump]})
    yield from told("101,100", {"product": [pump, flat]})
    yield from told("102", {"product": [{"id": 102, "productDetails": SET_4}]})
    yield from told("103", {"product": [{"id": 103, "productDetails": GONE_4}]})
    yield from told("104", {"product": [{"id": 104, "productDetails": LAMP_4}]})
    yield from told("9,101", {"product": [flat], "errors": [lost("product", "product", 9)]})
    brief = {"summary": PUMP_4_SUMMARY, "price": PUMP_4_PRICE}
    selected: dict[str, Json] = {
        "productdetails(price,summary)": {"productDetails": brief},
        "productdetails(summary(name,typename))": {
            "productDetails": {"summary": {"name": "Patent Pump", "typeName": "SHOE"}}
        },
        "productdetails(sizemap,colormap(color))": {
            "productDetails": {
                "colorMap": [{"color": "Cherry"}, {"color": "Night"}],
                "SizeMap": PUMP_4_REST["SizeMap"],
            }
        },
        "productdetails(nothing)": {"productDetails": {}},
        "upcs": {"upcs": PUMP_4_UPCS},
        "upcs(upcdetails)": {"upcs": PUMP_4_UPCS},
        "upcs(upcnumber)": {"upcs": [{"upcnumber": RED}, {"upcnumber": BLACK}, {"upcnumber": OLD}]},
        "upcs(upcdetails(skuid))": {
            "upcs": [
                {"upcnumber": upc, "upcDetails": {"skuid": sku}}
                for upc, sku in ((RED, 9001), (BLACK, 9002), (OLD, 9003))
            ]
        },
        "productcategory": {"productCategory": PUMP_4_CATEGORIES},
        "reviews": {"Reviews": PUMP_4_REVIEWS},
        "rebates": {"rebates": PUMP_4_REBATES},
        "promotions": {"promotions": PUMP_4_PROMOTIONS},
        "categoryids": {"categoryIds": [121, 12]},
        "upcs(upcnumber),categoryids(id)": {
            "upcs": [{"upcnumber": RED}, {"upcnumber": BLACK}, {"upcnumber": OLD}],
            "categoryIds": [121, 12],
        },
        "Promotions,REBATES": {"rebates": PUMP_4_REBATES, "promotions": PUMP_4_PROMOTIONS},
        "productdetails(price,summary),upcs(upcdetails),productcategory,reviews,rebates,promotions": {
            "productDetails": brief,
            "upcs": PUMP_4_UPCS,
            "productCategory": PUMP_4_CATEGORIES,
            "Reviews": PUMP_4_REVIEWS,
            "rebates": PUMP_4_REBATES,
            "promotions": PUMP_4_PROMOTIONS,
        },
    }
    for selector, value in selected.items():
        yield from told(f"100({selector})", {"product": [{"id": 100, **value}]})
        yield from told(f"100{quote(f'({selector})', safe='')}", {"product": [{"id": 100, **value}]})
    yield from told("101(upcs,reviews,rebates,promotions)", {"product": [{"id": 101}]})
    yield from told(
        "104,9,102(productcategory)",
        {
            "product": [
                {"id": 102, "productCategory": [{"id": 1, "name": "Women", "type": kind} for kind in _KINDS]},
                {"id": 104, "productCategory": [{"id": 2, "name": "Home", "type": kind} for kind in _KINDS]},
            ],
            "errors": [lost("product", "product", 9)],
        },
    )
    for upc in (str(RED), f"0{RED}", str(OLD), "9002", f"9001,{RED}"):
        yield from told(f"upc/{upc}", {"product": [pump]})
    yield from told(f"upc/{RED}(upcs(upcnumber))", {"product": [{"id": 100, **selected["upcs(upcnumber)"]}]})
    both = [{"id": 100, "rebates": PUMP_4_REBATES}, {"id": 104}]
    yield from told(f"upc/{LAMP},7,{RED}(rebates)", {"product": both, "errors": [lost("upc", "UPC", 7)]})
    yield from unknown(f"{path}/9", f"productId: {NO_PRODUCT}")
    yield from unknown(f"{path}/9(upcs)", f"productId: {NO_PRODUCT}")
    yield from unknown(f"{path}/upc/7", f"upcId: {NO_UPC}")
    yield from invalid(f"{path}/x", f"productId: {NOT_IDS} 'x'")
    yield from invalid(f"{path}/(upcs)", f"productId: {NOT_IDS} ''")
    yield from invalid(f"{path}/upc/1,(upcs)", f"upcId: {NOT_IDS} ''")
    write = "write names as id,attributes(attribute(name))"
    broken = {
        "100(": "lacks a closing parenthesis at the end",
        "100(upcs": "lacks a closing parenthesis at the end",
        "100()": f"lacks a name at the end; {write}",
        "100(upcs,)": f"lacks a name at the end; {write}",
        "100(upcs))": "has a closing parenthesis too many at character 5",
        "100(upcs)(reviews)": "has a closing parenthesis too many at character 5",
        "100(upc)": f"may select {_WORDS}, not 'upc'; did you mean upcs?",
        "100(summary)": f"may select {_WORDS}, not 'summary'",
    }
    for target, fault in broken.items():
        yield from invalid(f"{path}/{target}", f"productId: {fault}")


_KINDS = ("rootcategory", "homecategory")
_WORDS = "productdetails, upcs, productcategory, reviews, rebates, promotions, categoryids"


def _beside() -> Iterator[Case]:
    """Recommendations and reviews."""
    path = "v4/recommendations/product"

    def product(id: int, name: str, image: str, url: str, price: Json, rating: float = 0, reviews: int = 0) -> Json:
        return {
            "productid": id,
            "name": name,
            "primaryimage": f"{IMAGES}/{image}?wid=164",
            "reviewrating": rating,
            "reviewsnumber": reviews,
            "productURL": f"{SHOP}/{url}",
            **({"productprice": price} if price else {}),
        }

    def price(was: Json, now: Json, label: str = "") -> Json:
        retail = {"pricevalue": now, **({"pricelabel": label} if label else {})}
        return {"original": {"pricevalue": was}, "retail": retail}

    evening = product(102, "Evening Set", "set.jpg", "product/102", price(_SPAN, _SPAN))
    pump = product(100, "Patent Pump", "pump.jpg", "product/100", price({"low": 100}, {"low": 69.99}, "Sale"), 4.5, 2)
    flat_price = price({"low": 50, "high": 80}, {"low": 30, "high": 60}, "Sale")
    flat = product(101, "Café Flat", "flat.jpg", "cafe-flat", flat_price)
    for target in ("100", "100/", "100,9", "100?visitorid=5", "100?maxprods=1"):
        yield from answered(f"{path}/{target}", {"recommendedproducts": [evening]})
    yield from answered(f"{path}/101", {"recommendedproducts": [pump]})
    yield from answered(f"{path}/103", {"recommendedproducts": [flat, pump]})
    yield from answered(f"{path}/103?maxprods=1", {"recommendedproducts": [flat]})
    yield from answered(f"{path}/103,100", {"recommendedproducts": [evening, flat]})
    yield from answered(f"{path}/100,101", {"recommendedproducts": [evening]})
    yield from answered(f"{path}/104", {})
    yield from unknown(f"{path}/9", f"productId: {NO_PRODUCT}")
    yield from invalid(f"{path}/x", f"productId: {NOT_IDS} 'x'")
    yield from invalid(f"{path}/100?maxprods=0", number("maxprods", 100, "0"))
    path = "v3/catalog/reviews"
    head = {
        "productId": 100,
        "productName": "Patent Pump",
        "description": "A pump of patent leather <shiny>.",
        "source": "CUSTOMER",
    }
    both, first, second = [NEWEST, OLDER], [NEWEST], [OLDER]
    pages: dict[str, Json] = {
        "": both,
        "&numOfReviews=2": both,
        "&numOfReviews=1": first,
        "&numberOfReviewsRequested=1": first,
        "&numberOfReviewsRequested=1&numOfReviews=2": both,
        "&numOfReviews=1&pageNumber=2": second,
        "&numOfReviews=1&pageNumber=3": [],
        f"&pageNumber={MAX}": [],
    }
    for query, found in pages.items():
        value = {**head, **({"perReviewWrapper": found} if found else {})}
        yield from answered(f"{path}?productId=100{query}", value)
    lamp = {"productId": 104, "productName": "Desk Lamp", "description": "A lamp.", "source": "CUSTOMER"}
    yield from answered(f"{path}?productId=104", lamp)
    yield from unknown(f"{path}?productId=9", f"productId: {NO_PRODUCT}")
    yield from invalid(path, "productId: is required")
    yield from invalid(f"{path}?productId=100,101", number("productId", MAX, "100,101"))
    yield from invalid(f"{path}?productId=100&numOfReviews=0", number("numOfReviews", 100, "0"))
    yield from invalid(f"{path}?productId=100&numberOfReviewsRequested=x", number("numberOfReviewsRequested", 100, "x"))
    yield from invalid(f"{path}?productId=100&pageNumber=0", number("pageNumber", MAX, "0"))


_SPAN = {"low": 30, "high": 110}


def _search() -> Iterator[Case]:
    path = "v4/catalog/search"

    def told(phrase: str, total: int, facets: Any, *found: Json, **more: Json) -> Json:
        given = {
            "searchphrase": phrase,
            **({"didyoumean": more["meant"]} if "meant" in more else {}),
            "sortorderby": more.get("sort", "default"),
            "perpage": more.get("perpage", 12),
            "page": more.get("page", 1),
            "imageWidth": more.get("width", "164"),
            "upcimagewidth": "164",
            "swatchimagewidth": "24",
        }
        group = {"totalproducts": total, **({"products": {"product": list(found)}} if found else {})}
        pages = -(-total // given["perpage"])
        listed = {"facets": facets} if facets else {}
        return {"searchinput": given, "totalpages": pages, **listed, "searchresultgroups": [group]}

    def values(name: str, display: str, *found: tuple[str, int]) -> Json:
        return {
            "facetname": name,
            "displayname": display,
            "facetvalues": [{"value": value, "productcount": count} for value, count in found],
        }

    def cost(*found: tuple[str, str, int]) -> Json:
        return {
            "facetname": "PRICE",
            "displayname": "Price",
            "facetvalues": [
                {
                    "valuedisplayname": f"[{low} TO {high}]",
                    "range": {"fromrange": low, **({"torange": high} if high != "*" else {})},
                    "productcount": count,
                }
                for low, high, count in found
            ],
        }

    pump = [
        values("BRAND", "Brand", ("Anne Field", 1)),
        values("COLOR", "Color", ("BLACK", 1), ("RED", 1)),
        values("SIZE", "Size", ("8", 1), ("8.5", 1)),
        cost(("50", "99.99", 1)),
    ]
    for query in ("patent%20pump", "+patent++pump+", "patent+pump&show=facet,product&perpage=12", "patent+pump&mode=x"):
        yield from answered(f"{path}?searchphrase={query}", told("patent pump", 1, pump, PUMP))
    yield from answered(f"{path}?searchphrase=100", told("100", 1, pump, PUMP))
    yield from answered(f"{path}?searchphrase={RED}", told(str(RED), 1, pump, PUMP))
    yield from answered(f"{path}?searchphrase=patent+pump&show=product", told("patent pump", 1, None, PUMP))
    yield from answered(f"{path}?searchphrase=patent+pump&show=facet", told("patent pump", 1, pump))
    yield from answered(f"{path}?searchphrase=xyzzy", told("xyzzy", 0, None))
    yield from answered(f"{path}?searchphrase=withdrawn&show=product", told("withdrawn", 0, None))
    vases = [vase(n) for n in range(1, 13)]
    # pages and orders
    shown = f"{path}?searchphrase=vase&show=product"
    yield from answered(f"{shown}&sortorderby=PRICE_ASCENDING", told("vase", 12, None, *vases, sort="PRICE_ASCENDING"))
    yield from answered(
        f"{shown}&sortorderby=PRICE_DESCENDING&perpage=5&page=3",
        told("vase", 12, None, vase(2), vase(1), sort="PRICE_DESCENDING", perpage=5, page=3),
    )
    yield from answered(
        f"{shown}&sortorderby=PRICE_ASCENDING&perpage=100&page=2",
        told("vase", 12, None, sort="PRICE_ASCENDING", perpage=100, page=2),
    )
    yield from answered(
        f"{path}?searchphrase=shoe&show=product&sortorderby=CUSTOMER_RATING",
        told("shoe", 3, None, PUMP, FLAT, SET, sort="CUSTOMER_RATING"),
    )
    listed: tuple[tuple[str, tuple[Json, ...]], ...] = (
        ("NEWNESS", (PUMP, FLAT, SET)),
        ("BEST_SELLERS", (FLAT, PUMP, SET)),
    )
    for sort, found in listed:
        yield from answered(
            f"{path}?searchphrase=shoe&show=product&sortorderby={sort}", told("shoe", 3, None, *found, sort=sort)
        )
    yield from answered(
        f"{path}?searchphrase=patent+pump&show=product&sortorderby=default", told("patent pump", 1, None, PUMP)
    )
    # filters
    narrowed: tuple[tuple[str, tuple[Json, ...]], ...] = (
        ("BRAND=Anne%20Field&PRICE=[*TO50]", (FLAT,)),
        ("COLOR=[RED,BLACK]", (PUMP,)),
        ("SIZE=9", ()),
        ("SPECIAL_OFFERS=[Sale]", (FLAT, PUMP, SET)),
        ("CATEGORY=12", (FLAT, PUMP)),
        ("CATEGORY=[Home]", ()),
        ("UPC_BOPS_PURCHASABLE=2002", (PUMP,)),
        ("UPC_BOPS_PURCHASABLE=2003&CATEGORY=12", ()),
        ("PRICE=[0TO29.99]", ()),
    )
    for query, found in narrowed:
        yield from answered(
            f"{path}?searchphrase=shoe&show=product&sortorderby=BEST_SELLERS&{query}",
            told("shoe", len(found), None, *found, sort="BEST_SELLERS"),
        )
    larger = [{**each, "imageurl": each["imageurl"].replace("wid=164", "wid=300")} for each in PUMP_IMAGE[:3]]
    wide = {**PUMP, "image": [*larger, *PUMP_IMAGE[3:]]}
    yield from answered(
        f"{path}?searchphrase=patent+pump&show=product&imagewidth=300",
        told("patent pump", 1, None, wide, width="300"),
    )
    yield from invalid(path, "searchphrase: is required")
    yield from invalid(f"{path}?searchphrase=", "searchphrase: is required")
    yield from invalid(f"{path}?searchphrase=+", "searchphrase: must be text of 1 to 1000 characters, not of 0")
    yield from invalid(f"{path}?searchphrase={'a' * 1001}", "searchphrase: must be at most 1000 characters, not 1001")
    yield from answered(f"{path}?searchphrase=%02xyzzy%01", told("\ufffdxyzzy\ufffd", 0, None))
    yield from answered(f"{path}?searchphrase={'a' * 1000}", told("a" * 1000, 0, None))
    for text in ("0", "101", "x"):
        yield from invalid(f"{path}?searchphrase=a&perpage={text}", number("perpage", 100, text))
    yield from invalid(f"{path}?searchphrase=a&page=0", number("page", MAX, "0"))
    sorts = "PRICE_ASCENDING, PRICE_DESCENDING, CUSTOMER_RATING, NEWNESS, BEST_SELLERS, default"
    yield from invalid(f"{path}?searchphrase=a&sortorderby=price", f"sortorderby: must be one of {sorts}, not 'price'")
    yield from invalid(f"{path}?searchphrase=a&show=all", "show: must be one of product, facet, not 'all'")
    yield from invalid(f"{path}?searchphrase=a&facetexpandall=Y", "facetexpandall: must be one of true, false, not 'Y'")


def shop(distance: float, store: Json) -> Json:
    """A store as pick-up tells it."""
    address = store["address"]
    return {
        "locationNumber": store["locationNumber"],
        "name": store["name"],
        "address": {name: address[name] for name in ("line1", "city", "state", "zipCode")},
        "phone": store["phoneNumber"],
        "distance": distance,
        "units": "mi",
        "location": store["location"],
        "storeworkinghours": [
            {("storeoperationdate" if name == "date" else name): value for name, value in day.items()}
            for day in store["schedule"]["workingHours"]
        ],
        "attributes": [
            {"attributeName": each["name"], "attributeValue": value}
            for each in store["attributes"]["attribute"]
            for value in each["values"]
        ],
    }


WHERE = {2001: BOSTON, 2002: NEW_YORK, 2003: HARTFORD, 2004: HONOLULU}
STOCK = {  # interface W2.11; three are LIMITED, as site.yaml does not say otherwise
    RED: {2001: "LIMITED", 2002: "AVAILABLE"},
    BLACK: {2002: "AVAILABLE"},
    OLD: {},
    LAMP: {2001: "AVAILABLE"},
}
NEAR_BOSTON = ((2001, 0.0), (2003, 91.49), (2002, 186.71))


def picked(upcs: tuple[int, ...], near: tuple[tuple[int, float], ...]) -> Json:
    """UPCs by number at some stores; not to be picked up are the lamp, what is sold no more, and all at 2003, 2004."""
    told = [
        has(
            upc,
            *(
                (number, upc in (RED, BLACK) and number in (2001, 2002), STOCK[upc].get(number, "UNAVAILABLE"))
                for number, _ in near
            ),
        )
        for upc in upcs
    ]
    shops = [shop(distance, WHERE[number]) for number, distance in near]
    if not shops:
        return {"upcs": [{"upcNumber": upc} for upc in upcs]}
    return {"upcs": told, "stores": shops}


def _pickup() -> Iterator[Case]:
    path, all = "v4/catalog/bops/product/100", (BLACK, RED, OLD)
    here = "latitude=42.35&longitude=-71.075"
    near: dict[str, tuple[tuple[int, float], ...]] = {
        here: NEAR_BOSTON,
        "locationNumber=2001": NEAR_BOSTON,
        f"{here}&distance=200&numberOfStores=15": NEAR_BOSTON,
        f"{here}&numberOfStores=2": NEAR_BOSTON[:2],
        f"{here}&distance=91.49": NEAR_BOSTON[:1],
        f"{here}&distance=91.5": NEAR_BOSTON[:2],
        f"{here}&distance=1": NEAR_BOSTON[:1],
        "zipCode=02116": ((2001, 0.11), (2003, 91.38), (2002, 186.6)),
        "zipCode=2116": ((2001, 0.11), (2003, 91.38), (2002, 186.6)),
        "zipCode=02116-1234&distance=1": ((2001, 0.11),),
        # coordinates come first, then the zip code
        f"{here}&zipCode=96813&city=Honolulu&state=HI": NEAR_BOSTON,
        "zipCode=02116&city=Honolulu&state=HI&distance=1": ((2001, 0.11),),
        # the store that is named comes first, however far; it is one of those that are counted
        f"locationNumber=2002&{here}": ((2002, 186.71), (2001, 0.0), (2003, 91.49)),
        f"locationNumber=2003&{here}&distance=1": ((2003, 91.49), (2001, 0.0)),
        f"locationNumber=2003&{here}&numberOfStores=1": ((2003, 91.49),),
        "locationNumber=2003&distance=1": ((2003, 0.0),),
        "locationNumber=2004": ((2004, 0.0),),
        "latitude=0&longitude=0": (),
    }
    for query, found in near.items():
        yield from answered(f"{path}?{query}", picked(all, found))
    # selectors
    both = picked(all, NEAR_BOSTON)
    numbers = {"upcs": [{"upcNumber": upc} for upc in all]}
    chosen = {
        "(stores)": {"stores": both["stores"]},
        "(upcs)": {"upcs": both["upcs"]},
        "(upcs(upcdetails,storedata))": {"upcs": both["upcs"]},
        "(UPCs(storeData))": {"upcs": both["upcs"]},
        "(upcs(upcdetails))": numbers,
        "(upcs(upcdetails),stores)": {**numbers, "stores": both["stores"]},
        "(stores,upcs(storedata,upcdetails))": both,
        ",101(upcs,stores)": both,
    }
    for selector, value in chosen.items():
        for written in (selector, quote(selector, safe="")):
            yield from answered(f"{path}{written}?{here}", value)
        if selector.startswith("("):
            target = f"v4/catalog/bops/upc/{RED},{BLACK},{OLD}{selector}"
            yield from answered(f"{target}?{here}", value)
    words = "productId: may select upcs, stores, not"
    yield from invalid(f"{path}(store)?{here}", f"{words} 'store'; did you mean stores?")
    yield from invalid(f"{path}(upcs?{here}", "productId: lacks a closing parenthesis at the end")
    for target in ("product/100,101", "product/101,100,100,9", "upc/36000291452,12345678905,4006381333931"):
        yield from answered(f"v4/catalog/bops/{target}?{here}", picked(all, NEAR_BOSTON))
    yield from answered(f"v4/catalog/bops/product/104?{here}", picked((LAMP,), NEAR_BOSTON))
    stores_alone = {"stores": picked((RED,), NEAR_BOSTON)["stores"]}
    yield from answered(f"v4/catalog/bops/product/101?{here}", stores_alone)
    for upc in ("036000291452", "9001", "36000291452,7", "9001,36000291452"):
        yield from answered(f"v4/catalog/bops/upc/{upc}?{here}", picked((RED,), NEAR_BOSTON))
    yield from answered(f"v4/catalog/bops/upc/{RED},{LAMP}?locationNumber=2004", picked((LAMP, RED), ((2004, 0.0),)))
    yield from unknown(f"v4/catalog/bops/product/9?{here}", f"productId: {NO_PRODUCT}")
    yield from unknown(f"v4/catalog/bops/upc/7?{here}", f"upcId: {NO_UPC}")
    yield from unknown(f"{path}?locationNumber=9", "locationNumber: no store has the number 9")
    one_of = "locationNumber: one of locationNumber, latitude, longitude, zipCode, city, state is required"
    latitude = "is missing; latitude and longitude must be given together"
    for target in (path, "v4/catalog/bops/upc/036000291452"):
        yield from invalid(target, one_of)
        yield from invalid(f"{target}?distance=5&numberOfStores=2", one_of)
        yield from invalid(f"{target}?latitude=1", f"longitude: {latitude}")
        yield from invalid(f"{target}?longitude=1&zipCode=02116", f"latitude: {latitude}")
        yield from invalid(f"{target}?city=Boston", "state: is missing; city and state must be given together")
        yield from invalid(f"{target}?state=MA", "city: is missing; city and state must be given together")
        for text in ("0", "200.1", "201", "M5", "x", "-5"):
            yield from invalid(
                f"{target}?{here}&distance={text}", f"distance: must be a number from 1 to 200, not '{text}'"
            )
        for text in ("0", "16", "x"):
            yield from invalid(f"{target}?{here}&numberOfStores={text}", number("numberOfStores", 15, text))
        for text in ("x", "02", "021166", "2116-1234"):
            fault = f"zipCode: must be a zip code of five digits, not '{text}'"
            yield from invalid(f"{target}?zipCode={text}", fault)
        yield from invalid(f"{target}?locationNumber=x", number("locationNumber", MAX, "x"))
        yield from invalid(f"{target}?latitude=91&longitude=0", "latitude: must be a number from -90 to 90, not '91'")
        hint = "give another, or latitude and longitude"
        yield from invalid(f"{target}?zipCode=99999", f"zipCode: no place is known by '99999'; {hint}")
        yield from invalid(f"{target}?city=Nowhere&state=MA", f"city: no place is known by 'Nowhere, MA'; {hint}")
    yield from invalid("v4/catalog/bops/product/x?zipCode=02116", f"productId: {NOT_IDS} 'x'")


def _inventories() -> Iterator[Case]:
    """Availability in store look-up (interface 4.11, W3)."""

    def stocked(upcs: tuple[int, ...], *found: Json) -> list[Json]:
        told = []
        for store in found:
            inventory = [
                {
                    "storeInventory": {
                        "upcNumber": upc,
                        "storeAvailability": STOCK[upc].get(store["locationNumber"], "UNAVAILABLE"),
                    }
                }
                for upc in upcs
            ]
            told.append({**store, "inventories": {"inventory": inventory}})
        return told

    both, all = (BOSTON, NEW_YORK), (BLACK, RED, OLD)
    yield from located(f"2001,2002?upcNumber={RED}", *stocked((RED,), *both))
    yield from located(f"2001,2002?upcNumber=0{RED}", *stocked((RED,), *both))
    yield from located("2001,2002?productId=100", *stocked(all, *both))
    yield from located(f"2001?productId=100&upcNumber={RED}", *stocked((RED,), BOSTON))
    yield from located(f"2001?productId=9&upcNumber={LAMP}", *stocked((LAMP,), BOSTON))
    yield from located("2001?productId=9", BOSTON)
    yield from located("2001?productId=101", BOSTON)
    yield from located("2001?upcNumber=7&productId=100", BOSTON)
    only = [{"inventories": each["inventories"]} for each in stocked((RED,), BOSTON)]
    yield from located(f"2001?upcNumber={RED}&_fields=inventories", *only)
    here = "latitude=42.35&longitude=-71.075"
    near = (at(0.0, BOSTON), at(91.49, HARTFORD), at(186.71, NEW_YORK))
    yield from stores(f"?{here}&upcNumber={RED}", *stocked((RED,), *near))
    yield from stores(f"?{here}&upcNumber={RED}&feature=BOPS&_limit=1", *stocked((RED,), near[0]))
    yield from stores("?productId=104", *stocked((LAMP,), BOSTON, NEW_YORK, HARTFORD, HONOLULU))
