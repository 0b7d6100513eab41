"""What the tests of releases share: the command, small content, and how a tree is looked at."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commands import Ended, can_fork, forked
from shopwindow import library
from shopwindow.content.documents import Content, Documents
from shopwindow.content.schedule import NEVER, PUBLISHED
from shopwindow.shop import INTERFACE

SAMPLE = Path(__file__).parent.parent / "content"
AT = "2026-11-24T12:00:00-05:00"
"""A Tuesday; the week begins on 23 November. The sample's next boundary is on the evening of the day after."""

Json = Any
Tree = dict[str, bytes]

# -- the command -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    """How a command ended: its exit status and what it printed."""

    status: int
    out: str
    err: str


def shopwindow(*arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ran:
    """Run the command as a shell would, in a process of its own; without the audit log's line (test_audit)."""
    given, more = list(map(str, arguments)), dict(env or {})
    environment = {**os.environ, **more}
    if can_fork(more):
        ended = forked(given, str(cwd or Path.cwd()), environment)
    else:
        command = [sys.executable, "-m", "shopwindow", *given]
        done = subprocess.run(command, capture_output=True, cwd=cwd, env=environment)
        ended = Ended(done.returncode, done.stdout, done.stderr)
    out, err = (data.decode().replace("\r\n", "\n") for data in (ended.out, ended.err))
    assert "Traceback" not in err, err
    said = [line for line in err.splitlines(keepends=True) if '"event":"administration"' not in line]
    return Ran(ended.status, out, "".join(said))


def build(content: Path, out: Path, *more: str, at: str = AT, env: Mapping[str, str] | None = None) -> Ran:
    """Build ``content`` into ``out`` at a fixed instant, and leave warnings to their own tests."""
    ran = shopwindow("build", "--content", content, "--out", out, "--at", at, *more, env=env)
    kept = [line for line in ran.out.splitlines(keepends=True) if ": warning: " not in line]
    return Ran(ran.status, "".join(kept), ran.err)


def built(content: Path, out: Path, *more: str, at: str = AT, env: Mapping[str, str] | None = None) -> str:
    """Build, which must succeed and switch; the id of the release."""
    ran = build(content, out, *more, at=at, env=env)
    assert ran.status == 0, ran
    return current(out)


def linked(out: Path, folder: Path) -> Path:
    """A folder of releases that shares the files of another: for a test that adds to it, or only reads."""
    return Path(shutil.copytree(out, folder, symlinks=True, copy_function=os.link))


def current(out: Path) -> str:
    """The id of the release that `current` leads to."""
    return os.path.basename(os.readlink(out / "current"))


def history(out: Path) -> list[Json]:
    """The lines of the history."""
    return [json.loads(line) for line in (out / "history.jsonl").read_text().splitlines()]


def manifest(release: Path) -> Json:
    return json.loads((release / "manifest.json").read_bytes())


# -- trees -------------------------------------------------------------------------------------------------------


def tree(folder: Path) -> Tree:
    """Every file below a folder, by its path: its bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def copied(source: Path, target: Path, *, backwards: bool = False) -> Path:
    """A copy of a folder; ``backwards``: its files made in the opposite order, so that the folder lists them so."""
    paths = sorted(path for path in source.rglob("*") if path.is_file())
    for path in reversed(paths) if backwards else paths:
        place = target / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return target


def aged(folder: Path, seconds: int = 3600) -> Path:
    """A folder whose files were last changed some time ago."""
    for path in folder.rglob("*"):
        if path.is_file():
            changed = path.stat().st_mtime - seconds
            os.utime(path, (changed, changed))
    return folder


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
