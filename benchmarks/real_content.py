"""Real stores, coupons and campaigns as a content folder, with their flaws or mended;
then a release of it.

    python -m benchmarks.real_content FOLDER [--events N] [--raw] [--build OUT]

`SHOPWINDOW_DATA` names the folder of the data (default: ../shared/data beside the
checkout). The same arguments give the same bytes. The data has no events: they are
made, with the prose of real products, and spread over the stores.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shopwindow.content.reading import yaml

Record = dict[str, Any]
CHECKOUT = Path(__file__).resolve().parents[1]
WEEKDAYS = {
    "Mon": "monday",
    "Tue": "tuesday",
    "Wed": "wednesday",
    "Thurs": "thursday",
    "Fri": "friday",
}
WEEKDAYS |= {"Sat": "saturday", "Sun": "sunday"}
NUMBERS = (("storeId", 0), ("storeNumber", 20_000), ("locationNumber", 40_000))
"""A store's numbers, and what is added to the one in the data to make them."""

DANGLING = 6
"""Raw, so many events also name a store that does not exist: two digits of a real one
exchanged.
"""

DIVISIONS = {"BigBox": 1, "Mobile": 2, "Express": 3}
OFFERS = {"Type A": "20% off", "Type B": "10 dollars off", "Type C": "A gift with"}
# The zone in which most of the state lies; the data names none.
_ZONES = {
    "America/New_York": "CT DC DE FL GA MA MD ME MI NC NH NJ NY OH PA RI SC VA VT WV KY",
    "America/Chicago": "AL AR IA IL KS LA MN MO MS ND NE OK SD TN TX WI",
    "America/Denver": "CO ID MT NM UT WY",
    "America/Los_Angeles": "CA NV OR WA",
    "America/Indiana/Indianapolis": "IN",
    "America/Phoenix": "AZ",
    "America/Anchorage": "AK",
    "America/Puerto_Rico": "PR",
    "Pacific/Honolulu": "HI",
}
ZONES = {state: zone for zone, states in _ZONES.items() for state in states.split()}


@dataclass(frozen=True)
class Data:
    """The files of the data folder that content is made of, as they are."""

    stores: list[Record]
    coupons: list[Record]
    campaigns: dict[str, Record]
    categories: list[Record]
    products: list[Record]


def data_folder() -> Path:
    """Where the data is, or would be."""
    return Path(
        os.environ.get("SHOPWINDOW_DATA") or CHECKOUT.parent / "shared" / "data"
    )


def read(folder: Path) -> Data:
    """The data. Raises OSError where a file of it is absent."""

    def text(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    coupons, campaigns = (
        [json.loads(line) for line in text(f"{name}.jsonl").splitlines()]
        for name in FEEDS
    )
    by_id = {campaign["campaign_id"]: campaign for campaign in campaigns}
    stores, categories = (
        json.loads(text("stores.json")),
        json.loads(text("categories.json")),
    )
    return Data(stores, coupons, by_id, categories, yaml.load(text("products.yaml")))


FEEDS = ("coupons", "campaigns")


def convert(
    data: Data,
    folder: Path,
    events: int = 10_000,
    *,
    raw: bool = False,
    promotions: bool = True,
) -> None:
    """Write the content folder ``folder``, which must not exist. ``raw``: every flaw of
    the data stays as it is.
    """
    shutil.copytree(CHECKOUT / "content" / "apps", folder / "apps")
    shutil.copy(CHECKOUT / "content" / "site.yaml", folder / "site.yaml")
    feed = (
        json.dumps(store(record, raw=raw), ensure_ascii=False) for record in data.stores
    )
    (folder / "stores.jsonl").write_text(
        "".join(f"{line}\n" for line in feed), encoding="utf-8"
    )
    (folder / "promotions").mkdir()
    for campaign, listed in by_campaign(data, raw=raw).items() if promotions else ():
        path = folder / "promotions" / f"campaign-{campaign:0>2}.yaml"
        path.write_text(
            "\n".join(f"- {block(promotion, 2)}" for promotion in listed),
            encoding="utf-8",
        )
    (folder / "events").mkdir()
    for event in made_events(data, events, raw=raw):
        (folder / "events" / f"{event['id']}.yaml").write_text(
            block(event), encoding="utf-8"
        )


# -- stores ----------------------------------------------------------------------------


def store(record: Record, *, raw: bool) -> Record:
    """A store. The data has one number, no telephone and no map: made of that number."""
    number = record["id"]
    address = {
        "line1": record["address"],
        "line2": record["address2"],
        "city": record["city"],
    }
    address |= {"state": record["state"], "countryCode": "US", "zipCode": record["zip"]}
    if not raw:
        address["zipCode"] = re.sub(
            r"^\d+", lambda digits: digits[0].zfill(5), record["zip"]
        )
        if not record["address2"]:
            del address["line2"]
    return {
        "storeId": number,
        "storeNumber": number + 20_000,
        "locationNumber": number + 40_000,
        "divisionId": DIVISIONS[record["type"]],
        "name": record["name"],
        "phoneNumber": f"800-555-{number:04}",
        "mapUrl": f"https://maps.larkspurvane.example/stores/{number}",
        "address": address,
        "location": {
            "latitude": record["location"]["lat"],
            "longitude": record["location"]["lon"],
        },
        "timeZone": ZONES[record["state"]],
        "features": ["BOPS", "MATTRESS"] if record["type"] == "BigBox" else ["BOPS"],
        "attributes": {"SERVICES": record["services"]} if record["services"] else {},
        "hours": dict(hours(record["hours"])),
    }


def hours(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """`Mon: 10-9:30; …` → the opening hours by weekday. A store that opens at 1 opens
    after noon, as all close.
    """
    for part in text.split("; "):
        weekday, _, span = part.partition(": ")
        opens, closes = span.split("-")
        yield (
            WEEKDAYS[weekday],
            {
                "open": _clock(opens, opens[:2] in ("1", "1:")),
                "close": _clock(closes, True),
            },
        )


def _clock(text: str, after_noon: bool) -> str:
    hour, _, minute = text.partition(":")
    return f"{int(hour) + 12 * after_noon:02}:{minute or '00'}"


# -- promotions ------------------------------------------------------------------------


def by_campaign(data: Data, *, raw: bool) -> dict[str, list[Record]]:
    """One promotion a coupon, by campaign. One is listed under the category whose name
    is missing.
    """
    tops = [
        category["name"] for category in data.categories if len(category["path"]) == 1
    ]
    nameless = next(
        category for category in data.categories if category["name"] is None
    )
    found: dict[str, list[Record]] = {campaign: [] for campaign in data.campaigns}
    for number, coupon in enumerate(data.coupons):
        names = [tops[number % len(tops)], tops[(number * 7 + 3) % len(tops)]]
        if number == len(data.coupons) // 2:
            names = [None if raw else nameless["path"][-2]["name"]]
        campaign = data.campaigns[coupon["campaign_id"]]
        found[coupon["campaign_id"]].append(
            promotion(number, coupon, campaign, list(dict.fromkeys(names)), raw=raw)
        )
    return found


def promotion(
    number: int, coupon: Record, campaign: Record, categories: list[Any], *, raw: bool
) -> Record:
    """A promotion with its coupon; the codes' identifiers are the first products' and
    those that a program spoiled.

    One bar code is used by several campaigns; a coupon number must not be, so the
    campaign is put behind it.
    """
    products, days = (
        coupon["product_ids"],
        (campaign["start_date"], campaign["end_date"]),
    )
    codes = list(
        dict.fromkeys(
            [*products[:5], *(name for name in products if not name.isdigit())]
        )
    )
    bar_code = coupon["coupon_upc"]
    offer, many = (
        f"{OFFERS[campaign['campaign_type']]} {len(products):,} products",
        len(products) > 1000,
    )
    return {
        "promoId": 900_000 + number,
        "promotionName": f"{offer} of campaign {campaign['campaign_id']}",
        "description": f"{offer}: {'nearly everything' if many else 'some favorites'}, from {days[0]} to {days[1]}.",
        "global": many,
        "promotionType": campaign["campaign_type"].upper().replace(" ", "_"),
        "effective": days[0],
        "expiry": days[1],
        "promotionCodeIds": codes
        if raw
        else [code if code.isdigit() else f"{float(code):.0f}" for code in codes],
        "promotionSourceCode": "BZD"[number % 3],
        "offerDescription": offer,
        "channels": [["SITE"], ["MOBILE"], ["SITE", "MOBILE"]][number % 3],
        "categories": categories,
        "coupon": {
            "couponUrl": f"https://www.larkspurvane.example/offers/{900_000 + number}",
            "couponHeading": offer,
            "couponDescription": "Show this coupon at any register. One coupon a customer.",
            "couponShortCode": f"C{campaign['campaign_id']}N{number}",
            "couponNumber": bar_code
            if raw
            else f"{bar_code}-{campaign['campaign_id']}",
            "couponType": "STORE_AND_ONLINE",
            "effective": days[0],
            "expiry": days[1],
            "displayStartDate": f"{days[0]}T00:00:00-05:00",
            "displayEndDate": f"{days[1]}T23:59:59-05:00",
            "couponAttributes": [
                {"attributeName": "PRODUCTS", "attributeValue": str(len(products))}
            ],
        },
    }


# -- events ----------------------------------------------------------------------------


def made_events(data: Data, count: int, *, raw: bool) -> Iterator[Record]:
    """``count`` events; the first at each store in turn, each at one store, two or
    three.
    """
    chance = random.Random(20261123)
    dangling = (
        {count * number // DANGLING: number for number in range(DANGLING)}
        if raw and count >= DANGLING
        else {}
    )
    unknown = _unknown([record["id"] for record in data.stores])
    for number in range(count):
        event = _event(number, data, chance)
        if number in dangling:
            event["stores"].setdefault("storeId", []).append(unknown[dangling[number]])
        yield event


def _unknown(known: list[int]) -> list[int]:
    """Numbers near to real ones that no store has."""
    exchanged = (
        int(f"{number}"[:-2] + f"{number}"[:-3:-1]) for number in known if number > 1000
    )
    return [number for number in exchanged if number not in known][: DANGLING * 7 : 7]


def _pick(chance: random.Random, count: int) -> int:
    """A number below ``count``: of all methods only ``random`` stays the same in later
    Pythons.
    """
    return int(chance.random() * count)


def _event(number: int, data: Data, chance: random.Random) -> Record:
    products = [
        data.products[_pick(chance, len(data.products))]
        for _ in range(1 + _pick(chance, 4))
    ]
    day, hour = _pick(chance, 120), 9 + _pick(chance, 9)
    date = f"{2026 + (day >= 60)}-{(11, 12, 1, 2)[day // 30]:02}-{1 + day % 28:02}"
    links = [
        {"href": f"https://www.larkspurvane.example/events/{number}", "rel": "details"}
    ]
    flags = {
        "EVENT_DETAIL_ENABLED": ["FALSE" if number % 3 else "TRUE"],
        "WC_EVENT": ["FALSE"],
    }
    kinds = dict.fromkeys(product["category"].capitalize() for product in products[:2])
    event = {
        "id": 700_000 + number,
        "stores": _places(number, data.stores, chance),
        "name": f"{('Meet', 'First Look:', 'A Day with', 'Workshop:')[_pick(chance, 4)]} {products[0]['name']}",
        "shortDesc": ("\n" if number % 2 else " ").join(
            product["description"] for product in products
        ),
        "start": f"{date} {hour:02}:{('00', '30')[_pick(chance, 2)]}",
        "finish": f"{date} {hour + 1 + _pick(chance, 4):02}:45",
        "links": links,
        "attributes": {**flags, "STORE_EVENT_TYPE": list(kinds)},
    }
    if number % 4 == 0:
        del event["links"]
    return event


def _places(number: int, stores: list[Record], chance: random.Random) -> Record:
    """The stores of an event: one for most, by the number that the editor had at hand."""
    more = (0, 0, 0, 0, 0, 0, 1, 1, 1, 2)[_pick(chance, 10)]
    places = [
        stores[number % len(stores)],
        *(stores[_pick(chance, len(stores))] for _ in range(more)),
    ]
    ids = list(dict.fromkeys(place["id"] for place in places))
    kind, offset = NUMBERS[number % 8 if number % 8 < len(NUMBERS) else 0]
    return {kind: [id + offset for id in ids]}


# -- YAML as people write it -----------------------------------------------------------

_PLAIN = re.compile(r"(?:[A-Za-z]|[0-9]{4}-)(?:[\w ,.'/%&()+-]|:(?=\S)){5,}(?<! )")
"""Text that every reader of YAML takes for text, without quotes; the words for true and
false are shorter.
"""


def block(value: Record, indent: int = 0) -> str:
    """An object as block-style YAML, its first line without indentation."""
    lines = []
    for key, item in value.items():
        if isinstance(item, dict) and item:
            lines.append(
                f"{key}:\n{' ' * (indent + 2)}{block(item, indent + 2).rstrip()}"
            )
        elif isinstance(item, list) and item and isinstance(item[0], dict):
            entries = "".join(
                f"\n{' ' * (indent + 2)}- {block(entry, indent + 4).rstrip()}"
                for entry in item
            )
            lines.append(f"{key}:{entries}")
        elif isinstance(item, str) and "\n" in item:
            lines.append(
                f"{key}: |-\n"
                + "\n".join(" " * (indent + 2) + line for line in item.split("\n"))
            )
        else:
            lines.append(f"{key}: {_flow(item)}")
    return f"\n{' ' * indent}".join(lines) + "\n"


def _flow(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(json.dumps(item, ensure_ascii=False) for item in value)}]"
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)


# -- the command -----------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Real stores, coupons and campaigns as a content folder."
    )
    parser.add_argument(
        "folder", type=Path, help="the content folder to write; it must not exist"
    )
    parser.add_argument(
        "--events",
        type=int,
        default=10_000,
        metavar="N",
        help="how many events (default: 10,000)",
    )
    parser.add_argument(
        "--raw", action="store_true", help="leave the flaws of the data as they are"
    )
    parser.add_argument(
        "--build", type=Path, metavar="OUT", help="then build a release into OUT"
    )
    given = parser.parse_args()
    try:
        data = read(data_folder())
    except OSError as error:
        parser.exit(
            2,
            f"{error.filename}: {error.strerror}; set SHOPWINDOW_DATA to the folder of the data\n",
        )
    convert(data, given.folder, given.events, raw=given.raw)
    print(
        f"{given.folder}: {len(data.stores):,} stores, {given.events:,} events, {len(data.coupons):,} promotions"
    )
    if given.build is None:
        return 0
    command = [
        sys.executable,
        "-m",
        "shopwindow",
        "build",
        "--content",
        str(given.folder),
        "--out",
        str(given.build),
    ]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
