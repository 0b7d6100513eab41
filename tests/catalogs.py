"""A small catalog by hand, as the files of a content folder; and the index that is made of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shopwindow.catalog.index.indexing import write
from shopwindow.catalog.index.opened import open_index
from shopwindow.catalog.index.sources import Sources
from shopwindow.catalog.protocol import Catalog
from shopwindow.content.documents import Content

Json = Any

SETTINGS = {
    "image_url": "https://images.shop.example",
    "product_url": "https://www.shop.example/product/{id}",
    "brand_url": "https://www.shop.example/brand/{name}",
}
"""site.yaml's `catalog`."""

CATEGORIES = [
    {
        "id": 1,
        "name": "Women",
        "url": "https://www.shop.example/women",
        "categories": [
            {
                "id": 12,
                "name": "Shoes & Boots",
                "url": "https://www.shop.example/shoes",
                "brandFlyout": True,
                "pageType": "Dynamic",
                "pageId": "p12",
                "pageTitle": "Shoes",
                "metaDescription": "All shoes",
                "highlight": True,
                "clickable": True,
                "categories": [{"id": 121, "name": "Pumps", "url": "https://www.shop.example/pumps"}],
            },
            {
                "id": 11,
                "name": "Sale",
                "type": "GoTo",
                "url": "https://www.shop.example/sale",
                "overrideUrl": "https://www.shop.example/sale/shoes",
                "overrideCategoryId": 12,
                "mobilePublish": "N",
                "clickable": False,
            },
        ],
    },
    {"id": 2, "name": "Home", "type": "Splash", "url": "https://www.shop.example/home"},
]
BRANDS = [{"name": "Anne Field", "id": 500, "url": "https://www.shop.example/anne-field"}]

RED, BLACK, OLD = "036000291452", "012345678905", "4006381333931"
"""UPCs of the pump: the red one, a black one that is not available, and one that is sold no more."""
LAMP = "96385074"

PUMP = {
    "id": 100,
    "name": "Patent Pump",
    "description": "A pump of patent leather <shiny>.",
    "typeName": "SHOE",
    "brand": "Anne Field",
    "categories": [121, 12],
    "images": {"primary": "pump.jpg", "additional": ["pump-side.jpg", "pump-top.jpg"]},
    "colors": [
        {
            "id": 7,
            "name": "Cherry",
            "normal": "RED",
            "swatch": "cherry.jpg",
            "image": "pump-red.jpg",
            "additional": ["pump-red-side.jpg"],
        },
        {"id": 8, "name": "Night", "normal": "BLACK"},
    ],
    "sizes": [{"id": 71, "name": "8 M", "normal": "8"}, {"id": 72, "name": "8½ M", "normal": "8.5"}],
    "price": {
        "regular": 100,
        "sale": 69.99,
        "type": "Clearance",
        "typeId": 4,
        "displayText": "Limited time",
        "finalPrice": {"value": 59.99, "display": "Always Show", "promotions": [7, 5]},
    },
    "upcs": [
        {"upc": RED, "sku": 9001, "color": 7, "size": 71, "attributes": {"WIDTH": ["M"]}},
        {"upc": BLACK, "sku": 9002, "color": 8, "size": 72, "price": {"regular": 110}, "orderMethod": "VENDOR DIRECT"},
        {"upc": OLD, "sku": 9003, "active": False},
    ],
    "attributes": {"HEEL_HEIGHT": ["High"], "MATERIAL": ["Leather", "Rubber"]},
    "bullets": ["Leather upper", "Made by hand"],
    "promotions": [11, 5],
    "rebates": [
        {"id": 2, "description": "$5 back", "url": "https://www.shop.example/rebate/2"},
        {"id": 1, "description": "$1 back"},
    ],
    "new": True,
    "giftWrappable": True,
    "giftMessageable": True,
    "shipping": {"methods": ["Ground"], "returnConstraint": ["30 days"], "notes": ["Ships boxed"]},
    "maxQuantity": 6,
    "productGroup": "Shoes",
    "startDays": 12,
    "bestSeller": 2,
    "corpclass": {"deptid": 31, "deptcode": "31A", "divisionid": 3, "division": "Footwear"},
    "updated": "2026-11-20T10:00:00-05:00",
    "featured": True,
    "badges": [{"badge": "Extra 10%", "selectColor": False, "promotionId": 7}],
}
FLAT = {
    "id": 101,
    "name": "Café Flat",
    "description": "A flat shoe.",
    "typeName": "SHOE",
    "brand": "Anne Field",
    "url": "https://www.shop.example/cafe-flat",
    "categories": [12],
    "images": {"primary": "flat.jpg"},
    "price": {"regular": {"low": 50, "high": 80}, "sale": {"low": 30, "high": 60}},
    "bestSeller": 1,
    "updated": "2026-11-22T00:00:00Z",
}
SET = {
    "id": 102,
    "name": "Evening Set",
    "description": "Shoes for an evening.",
    "typeName": "SET",
    "brand": "Zoë",
    "categories": [1],
    "images": {"primary": "set.jpg"},
    "price": {"regular": {"low": 30, "high": 110}},
    "members": [101, 100],
    "updated": "2026-11-01T00:00:00Z",
}
WITHDRAWN = {
    "id": 103,
    "name": "Withdrawn Pump",
    "description": "It was a pump.",
    "typeName": "SHOE",
    "brand": "Anne Field",
    "categories": [12],
    "images": {"primary": "gone.jpg"},
    "price": {"regular": 20},
    "active": False,
    "visible": False,
}
SOLD_OUT = {
    "id": 104,
    "name": "Desk Lamp",
    "description": "A lamp.",
    "typeName": "LAMP",
    "brand": "Lumen",
    "categories": [2],
    "images": {"primary": "lamp.jpg"},
    "price": {"regular": 25.5},
    "upcs": [{"upc": LAMP, "sku": 9004}],
    "storeEligible": False,
}
VASES = [
    {
        "id": 200 + number,
        "name": f"Vase {number}",
        "description": "A vase.",
        "typeName": "VASE",
        "brand": f"Maker {number:02}",
        "categories": [2],
        "images": {"primary": "vase.jpg"},
        "price": {"regular": 10 * number},
    }
    for number in range(1, 13)
]
"""Twelve brands: more than a facet tells at first."""
PRODUCTS = [PUMP, FLAT, SET, WITHDRAWN, SOLD_OUT, *VASES]

INVENTORY = [
    {"upc": RED, "site": 50, "stores": {"2001": 2, "2002": 10, "2003": 0}},
    {"upc": BLACK, "site": 0, "stores": {"2002": 4}},
    {"upc": LAMP, "site": 0, "stores": {"2001": 9}},
]
REVIEWS = [
    {
        "id": "r2",
        "product": 100,
        "rating": 5,
        "title": "Love them",
        "text": "Danced all night.",
        "date": "2026-10-02",
        "name": "Kim",
        "recommended": True,
        "location": "Hartford, CT",
        "ageRange": "35to44",
        "gender": "Female",
        "positive": 3,
        "negative": 0,
    },
    {
        "id": "r1",
        "product": 100,
        "rating": 4,
        "title": "Good",
        "text": "A little high.",
        "date": "2026-10-03",
        "name": "Sam",
        "recommended": False,
    },
]
RECOMMENDATIONS = [{"product": 100, "products": [102]}]

FILES = {
    "categories.yaml": CATEGORIES,
    "brands.yaml": BRANDS,
    "products.yaml": PRODUCTS,
    "inventory.yaml": INVENTORY,
    "reviews.yaml": REVIEWS,
    "recommendations.yaml": RECOMMENDATIONS,
}


def files() -> Iterator[tuple[str, Json]]:
    """The catalog's part of a content folder."""
    for name, documents in FILES.items():
        yield f"catalog/{name}", documents


def indexed(content: Content, folder: Path, **more: Json) -> Catalog:
    """The catalog as a release of ``content`` has it. ``more``: other documents than the ones above, by kind."""
    given: dict[str, Json] = {name.removesuffix(".yaml"): documents for name, documents in FILES.items()} | more
    path = folder / "catalog.sqlite"
    write(path, Sources(site={"catalog": content.setting("catalog") or {}}, **given), jobs=1)
    return open_index(path)
