"""Content of tests: small documents of each kind, edits with marks in them, and what a check finds."""

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import settings

from shopwindow import library
from shopwindow.content.check.folder import Check, Checked
from shopwindow.content.check.memory import Memory
from shopwindow.content.documents.documents import Content, Document, Documents, Layer
from shopwindow.content.documents.documents import live as live_documents
from shopwindow.content.documents.schedule import NEVER, PUBLISHED
from shopwindow.content.reading.listing import scan
from shopwindow.content.rules.rule_pages import by_name
from shopwindow.content.schemas.schema import Schemas
from shopwindow.content.schemas.shape import Shape
from shopwindow.interface.declaring.collections import Declared, declared
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.loading import program_schemas
from shopwindow.problems import Level, Problem, pointer_text
from shopwindow.shop import INTERFACE

# The room's own doors, for what the library does not take: other schemas, a cache, bytes that are not saved.
__all__ = [
    "Document",
    "Documents",
    "Layer",
    "Memory",
    "Shape",
    "check",
    "declared",
    "live_documents",
    "program_schemas",
    "scan",
]

ROOT = Path(__file__).resolve().parents[2]
PAGES = by_name(INTERFACE.pages)
"""Each rule has one: a check that reports another ends its test."""


USUAL = 100
"""Examples of a test that says nothing, by hypothesis' own choice."""


def examples(number: int) -> int:
    """How many examples a test gets that wants ``number``: a quarter of them in every run, ten times in `nightly`."""
    return number * settings().max_examples // USUAL


# -- documents of each kind, and a small folder of them ----------------------------------------------------------------


SCHEMA_NAMES = sorted(
    str(path.relative_to(ROOT / "schemas")) for path in (ROOT / "schemas").rglob("*.json") if path.parent.name != "site"
)
"""The program's schemas, by the names that Schemas has for them: families' parts of site.json are in site.json."""

SAMPLE = Path(__file__).parent.parent.parent / "content"
AT = "2026-11-24T12:00:00-05:00"
"""A Tuesday; the week begins on 23 November. The sample's next boundary is on the evening of the day after."""

Json = Any


def linked(out: Path, folder: Path) -> Path:
    """A folder of releases that shares the files of another: for a test that adds to it, or only reads."""
    return Path(shutil.copytree(out, folder, symlinks=True, copy_function=os.link))


# -- content -----------------------------------------------------------------------------------------------------


def write(folder: Path, documents: Mapping[str, Json]) -> Path:
    """A content folder of documents by path, written as JSON, which YAML reads too."""
    for path, value in documents.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return folder


def documents(folder: Path) -> Documents:
    """The checked documents of a content folder, which must be without fault."""
    checked = library.check(INTERFACE, folder, jobs=1)
    assert checked.documents is not None, checked.problems
    return checked.documents


def live(folder: Path, at: str = AT) -> Content:
    """What is live of a content folder at an instant."""
    return library.live_at(INTERFACE, documents(folder), at)


def as_content(value: Mapping[str, Json], catalog: Any = None) -> Content:
    """Content of these documents, by kind with an s, as of the week of a `monday`; perhaps with a catalog."""
    clocks = {"week": value.get("monday", NEVER), PUBLISHED: value.get(PUBLISHED, NEVER)}
    kinds = {kind.name: value[f"{kind.name}s"] for kind in INTERFACE.kinds if f"{kind.name}s" in value}
    content = Content(value["site"], clocks, kinds, INTERFACE.kinds)
    return content.with_indexes({"catalog": catalog}) if catalog is not None else content


def as_value(content: Content) -> dict[str, Json]:
    """The documents of a content, as `as_content` takes them."""
    kinds = {f"{kind.name}s": list(content.documents(kind.name)) for kind in INTERFACE.kinds if not kind.streamed}
    return {"monday": content.clock("week"), "published": content.clock("published"), "site": content.site, **kinds}


def site(**more: Json) -> Json:
    return {
        "base_url": "https://api.shop.example",
        "order_base_url": "https://orders.shop.example",
        "time_zone": "America/New_York",
        "lifetimes": {"default": {"maxAge": 60}},
        **more,
    }


def app(name: str, **config: Json) -> Json:
    """An application, with as little as its schema allows."""
    sections = ["shop", "offers", "registry", "messages", "stores", "myAccount", "settings", "scan", "bag", "billpay"]
    features = ["shop", "scan", "registry", "categories", "offers", "checkout", "bag", "search", "stores", "myAccount"]
    url = "https://www.shop.example"
    return {
        "name": name,
        "platform": "iPhone",
        "apiKeys": [f"{sum(name.encode()):064x}"],
        "config": {
            "configVersion": "1",
            "appVersionInfo": {"appVersionNumber": "2.0", "appStoreLink": f"{url}/app", "supportedVersions": ["2.0"]},
            "appLayout": ["shop"],
            "appConfig": {key: {"appDisplayName": key, "appIcon": f"{url}/i", "featureLayout": []} for key in sections},
            "featureConfig": {key: _feature(key, url) for key in features},
            "extraAssets": dict.fromkeys(("appNavImage", "appNavBGImage", "homeContentBGImage", "appIcon"), f"{url}/i"),
            "serviceEndPoints": dict.fromkeys(("signin", "analyticsUrl", "scan", "coupons", "mobilelogs"), url),
            "webServletEndPoints": {"search": f"{url}/search?keyword=", "addToBag": url},
            "urlInterception": {"singleSignIn": [], "forcedSignOn": ["/account"]},
            "poorNetwork": {
                "poorWifiMaxSecsLatency": 5,
                "poorNonWifiMaxSecsLatency": 9,
                "networkTimeIntervalCheck": 30,
            },
            "loggingInfo": {"logLevel": "ERROR", "localEnabled": "TRUE", "remoteEnabled": "FALSE", "maxLogCount": "10"},
            "errorMessages": dict.fromkeys(("poorNetworkError", "noNetworkError", "configFileError"), "Sorry"),
            **config,
        },
    }


def _feature(name: str, url: str) -> Json:
    tabs = {"defaultTab": f"{url}/t", "highlightedTab": f"{url}/t", "landingUrl": f"shop://{name}"}
    return {"pageTitle": name, **tabs, "analyticsPageTag": "", "urlPatternMatch": f"/{name}"}


def store(number: int, **more: Json) -> Json:
    """A store whose numbers are ``number`` (storeId), 1000 more (storeNumber) and 2000 more (locationNumber)."""
    return {
        "storeId": number,
        "storeNumber": 1000 + number,
        "locationNumber": 2000 + number,
        "divisionId": 1,
        "name": f"Store {number}",
        "phoneNumber": "212-555-0100",
        "mapUrl": f"https://maps.shop.example/{number}",
        "address": {"line1": "1 Main St", "city": "Boston", "state": "MA", "countryCode": "US", "zipCode": "02116"},
        "location": {"latitude": 42.35, "longitude": -71},
        "timeZone": "America/New_York",
        "hours": {"monday": {"open": "10:00", "close": "21:00"}},
        **more,
    }


def event(id: int, stores: Iterable[int], start: str, finish: str, **more: Json) -> Json:
    """An event at some stores, by storeId."""
    named = {"name": f"Event {id}", "shortDesc": f"About {id}"}
    return {"id": id, "stores": {"storeId": list(stores)}, **named, "start": start, "finish": finish, **more}


def promotion(id: int, **more: Json) -> Json:
    return {
        "promoId": id,
        "promotionName": f"Promotion {id}",
        "description": f"About {id}",
        "global": False,
        "promotionType": "PERCENT_OFF",
        "effective": "2026-11-09",
        "promotionSourceCode": "B",
        "channels": ["SITE", "MOBILE"],
        "categories": ["Home"],
        **more,
    }


def coupon(number: str, **more: Json) -> Json:
    return {
        "couponUrl": f"https://www.shop.example/coupon/{number}",
        "couponHeading": "Heading",
        "couponDescription": "About the coupon",
        "couponShortCode": "SHORT",
        "couponNumber": number,
        "couponType": "STORE_ONLY",
        "effective": "2026-11-10",
        "expiry": "2026-12-31",
        "displayStartDate": "2026-11-10T00:00:00-05:00",
        "displayEndDate": "2026-12-31T23:59:59-05:00",
        **more,
    }


def small() -> dict[str, Json]:
    """A small content folder: two applications, two stores, three events, two promotions, one with a coupon."""
    return {
        "site.yaml": site(),
        "apps/phone.yaml": app("phone"),
        "apps/tablet.yaml": app("tablet", configVersion="2"),
        "stores/one.yaml": store(1),
        "stores/two.yaml": store(2),
        "events/both.yaml": event(30, [1, 2], "2026-12-05 10:00", "2026-12-05 12:00"),
        "events/first.yaml": event(20, [1], "2026-12-04 17:30", "2026-12-04 19:00"),
        "events/second.yaml": event(10, [2], "2026-12-06 09:00", "2026-12-06 10:00"),
        "promotions/plain.yaml": promotion(7),
        "promotions/coupon.yaml": promotion(5, expiry="2026-12-24", coupon=coupon("4001")),
    }


# -- the smallest valid content, edits with marks in them, and what a check finds --------------------------------------


MARK = "‸"
"""Stands in an edit where a problem is to be found; it is not written."""

DIGEST = "a" * 64
SECTIONS = ("shop", "offers", "registry", "messages", "stores", "myAccount", "settings", "scan", "bag", "billpay")
FEATURES = ("shop", "scan", "registry", "categories", "offers", "checkout", "bag", "search", "stores", "myAccount")

_sections = "\n".join(
    f"    {name}: {{appDisplayName: {name}, appIcon: https://i.example/{name}.png, featureLayout: [shop]}}"
    for name in SECTIONS
)
_features = "\n".join(
    f"    {name}:\n"
    f"      pageTitle: {name}\n"
    f"      defaultTab: https://i.example/{name}.png\n"
    f"      highlightedTab: https://i.example/{name}-on.png\n"
    f"      landingUrl: shopapp://{name}\n"
    '      analyticsPageTag: ""\n'
    f"      urlPatternMatch: /{name}"
    for name in FEATURES
)

CONFIG = f"""\
config:
  configVersion: "1"
  appVersionInfo: {{appVersionNumber: "2.0", appStoreLink: https://apps.example/one, supportedVersions: ["2.0"]}}
  appLayout: [shop, bag]
  appConfig:
{_sections}
  featureConfig:
{_features}
  extraAssets:
    appNavImage: https://i.example/nav.png
    appNavBGImage: https://i.example/linen.png
    homeContentBGImage: https://i.example/home.jpg
    appIcon: https://i.example/icon.png
  serviceEndPoints: {{signin: https://www.example/in, analyticsUrl: TBD, scan: TBD, coupons: TBD, mobilelogs: TBD}}
  webServletEndPoints: {{search: "https://www.example/search?keyword=", addToBag: TBD}}
  urlInterception:
    singleSignIn: [/account]
    forcedSignOn: []
  poorNetwork:
    poorWifiMaxSecsLatency: 6
    poorNonWifiMaxSecsLatency: 10
    networkTimeIntervalCheck: 30
  loggingInfo: {{logLevel: ERROR|WARN, localEnabled: TRUE, remoteEnabled: FALSE, maxLogCount: "500"}}
  errorMessages: {{poorNetworkError: Slow., noNetworkError: Offline., configFileError: TBD}}
"""

APP = f"name: one\nplatform: iPhone\napiKeys: [{DIGEST}]\n{CONFIG}"

SITE = """\
base_url: https://api.example
order_base_url: https://orders.example
time_zone: America/New_York
lifetimes:
  default: {maxAge: 300}
names:
  www: https://www.example
"""

STORE = """\
storeId: 1
storeNumber: 10
locationNumber: 100
divisionId: 7
name: First
phoneNumber: 212-555-0101
mapUrl: https://maps.example/1
address: {line1: 1 First Street, city: Boston, state: MA, countryCode: US, zipCode: 02108}
location: {latitude: 42.36, longitude: -71.06}
timeZone: America/New_York
hours:
  monday: {open: 10:00, close: 20:00}
  friday: {open: 09:00, close: 21:00}
"""

EVENT = """\
id: 5
stores:
  storeId: [1]
name: Opening
shortDesc: The doors open.
start: 2026-11-27 06:00
finish: 2026-11-27 12:00
"""

PROMOTION = """\
promoId: 8
promotionName: Half Price
description: Half off.
global: true
promotionType: PERCENT_OFF
effective: 2026-11-01
expiry: 2026-12-31
promotionSourceCode: B
channels: [SITE]
categories: [Men]
coupon:
  couponUrl: https://www.example/half
  couponHeading: Half
  couponDescription: Half off.
  couponShortCode: HALF
  couponNumber: "4000"
  couponType: STORE
  effective: 2026-11-01
  expiry: 2026-12-31
  displayStartDate: 2026-11-01T00:00:00-04:00
  displayEndDate: 2026-12-31T23:59:59-05:00
"""

MINIMAL: Mapping[str, str] = {
    "site.yaml": SITE,
    "apps/one.yaml": APP,
    "stores/one.yaml": STORE,
    "events/one.yaml": EVENT,
    "promotions/one.yaml": PROMOTION,
}

Edit = tuple[str, str, str]
"""A path, text that stands there once, and what to put instead, with marks."""

EVERYWHERE = (
    ("site.yaml", "maxAge: 300", "maxAge: ‸often"),
    ("apps/one.yaml", "networkTimeIntervalCheck: 30", "networkTimeIntervalCheck: ‸often"),
    ("apps/one.yaml", "appLayout: [shop, bag]", "appLayout: [shop, ‸bga]"),
    ("events/one.yaml", "storeId: [1]", "storeId: [1, ‸9]"),
    ("events/one.yaml", "name: Opening", "name: ‸*Opening*"),
    ("promotions/one.yaml", "promotionSourceCode: B", "promotionSourceCode: ‸C"),
    ("promotions/one.yaml", '"4000"', "‸4000"),
    ("stores/one.yaml", "name: First", "name: ‸'{{ first }}'"),
    ("stores/one.yaml", "state: MA", "state: ‸Massachusetts"),
)


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def marks(text: str) -> list[tuple[int, int]]:
    """Where the marks of a text stand once they are taken out: line and column."""
    places = []
    for number, line in enumerate(text.split("\n"), 1):
        pieces = line.split(MARK)
        columns = [sum(map(len, pieces[:count])) + 1 for count in range(1, len(pieces))]
        places += [(number, column) for column in columns]
    return places


def edit(folder: Path, *edits: Edit) -> list[str]:
    """Make edits, then take the marks out of the files; where they stood, as `path:line:column`, sorted."""
    for path, old, new in edits:
        text = (folder / path).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{path} holds {old!r} {text.count(old)} times"
        (folder / path).write_text(text.replace(old, new), encoding="utf-8")
    return unmark(folder, *(path for path, _, _ in edits))


def unmark(folder: Path, *paths: str) -> list[str]:
    """Take the marks out of files; where they stood, as `path:line:column`, sorted."""
    expected = []
    for path in sorted(set(paths)):
        text = (folder / path).read_bytes().decode()
        expected += [f"{path}:{line}:{column}" for line, column in marks(text)]
        (folder / path).write_bytes(text.replace(MARK, "").encode())
    return expected


def check(folder: Path, schemas: Schemas, interface: Interface, **how: Any) -> Checked:
    """A check of a folder, whatever its collections.yaml says. ``how``: as `Check` has it."""
    return Check(folder, Declared(interface, schemas), **how).run()


def problems(folder: Path, schemas: Schemas, **how: Any) -> list[Problem]:
    """What a check of a folder finds; documents if and only if it finds nothing."""
    return checked(folder, schemas, **how).problems


def warnings(folder: Path, schemas: Schemas, **how: Any) -> list[Problem]:
    """What a check of a folder warns of."""
    return checked(folder, schemas, **how).warnings


def checked(folder: Path, schemas: Schemas, **how: Any) -> Checked:
    """A check of a folder, with its collections; it has documents if and only if it has no problems."""
    known = Declared(INTERFACE, schemas)
    if (folder / "collections.yaml").is_file():
        known = declared(folder, INTERFACE, program_schemas(INTERFACE).under(folder / "schemas"))
    outcome = Check(folder, known, **how).run()
    assert (outcome.documents is None) == bool(outcome.problems)
    assert {problem.level for problem in outcome.problems} <= {Level.ERROR}
    assert {warning.level for warning in outcome.warnings} <= {Level.WARNING}
    assert {problem.rule for problem in (*outcome.problems, *outcome.warnings)} <= PAGES.keys()
    return outcome


def place(problem: Problem) -> str:
    """`path:line:column`, or the path alone."""
    where = problem.place
    return f"{problem.path}:{where.line}:{where.column}" if where else problem.path


def found(folder: Path, schemas: Schemas, **how: Any) -> list[str]:
    """What a check of a folder finds, in short: `path:line:column rule pointer`."""
    return short(problems(folder, schemas, **how))


def warned(folder: Path, schemas: Schemas, **how: Any) -> list[str]:
    """What a check of a folder warns of, in short."""
    return short(warnings(folder, schemas, **how))


def short(told: Iterable[Problem]) -> list[str]:
    """Problems as `path:line:column rule pointer`."""
    return [f"{place(each)} {each.rule} {pointer_text(each.pointer)}".rstrip() for each in told]
