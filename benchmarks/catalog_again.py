"""A catalog built again after a part of it changed, by the command and with its check:
beside one built from nothing.

`python -m benchmarks.catalog --again` runs it. A feed is written whole each time, as a
nightly job does, with a few lines changed. The release built with the help of the last
must be the one that `--no-cache` makes.
"""

import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from benchmarks.measure import Run, run

SETTLED = 2.2
"""Seconds after which a changed file is no longer always read again."""

ONE = 100
"""Which product changes where one does: there is such a one in a catalog of any size."""

Products = Iterator[dict[str, Any]]


@dataclass(frozen=True)
class Again:
    """What was changed, the build after it, and one from nothing."""

    what: str
    again: Run
    anew: Run


def content(folder: Path, feeds: Path, settings: dict[str, Any], stores: int) -> None:
    """A content folder around the feeds."""
    (folder / "catalog").mkdir(parents=True)
    site: dict[str, Any] = {
        "base_url": "https://api.example.com",
        "order_base_url": "https://orders.example.com",
    }
    site |= {"time_zone": "UTC", "lifetimes": {"default": {"maxAge": 300}}}
    (folder / "site.yaml").write_bytes(orjson.dumps(site | settings))
    hours = {"monday": {"open": "10:00", "close": "20:00"}}
    address = {
        "line1": "1 First Street",
        "city": "Boston",
        "state": "MA",
        "countryCode": "US",
        "zipCode": "02108",
    }
    with (folder / "stores.jsonl").open("wb") as file:
        for number in range(1, stores + 1):
            store: dict[str, Any] = dict.fromkeys(
                ("storeId", "storeNumber", "locationNumber"), number
            )
            store |= {"divisionId": 1}
            store |= {
                "name": f"Store {number}",
                "phoneNumber": "212-555-0101",
                "mapUrl": "https://www.example.com/m",
            }
            store |= {
                "address": address,
                "location": {"latitude": 42.36, "longitude": -71.06},
            }
            file.write(
                orjson.dumps(store | {"timeZone": "America/New_York", "hours": hours})
                + b"\n"
            )
    for kind in ("categories", "products", "inventory", "reviews"):
        shutil.copy(feeds / f"{kind}.jsonl", folder / "catalog")


def _priced(products: Products, share: float) -> Products:
    """New prices for some of the products, or for one of them."""
    source = random.Random(1)
    for number, product in enumerate(products, 1):
        chosen = source.random() < share if share else number == ONE
        if chosen:
            product["price"] = {"regular": round(source.uniform(1, 100), 2)}
        yield product


def _stocked(inventory: Products) -> Products:
    """Another quantity of every UPC in every store; one UPC in fifty is sold out at the
    site, or there is some again.
    """
    source = random.Random(2)
    for document in inventory:
        stores = document["stores"]
        document["stores"] = {number: (stores[number] + 1) % 7 for number in stores}
        if source.random() < 0.02:
            document["site"] = 0 if document["site"] else 5
        yield document


def _added(products: Products, share: float) -> Products:
    """New products beside some of the others, or beside one of them."""
    source = random.Random(3)
    for number, product in enumerate(products, 1):
        yield product
        chosen = source.random() < share if share else number == ONE
        if chosen:
            more = {
                key: value
                for key, value in product.items()
                if key not in ("upcs", "members", "bestSeller")
            }
            yield more | {"id": product["id"] + 1, "name": "Something Else"}


def _sold_better(products: Products) -> Products:
    """Some products become best sellers, or stand elsewhere among these."""
    source = random.Random(4)
    for product in products:
        if source.random() < 0.001:
            product["bestSeller"] = source.randrange(1, 1000)
        yield product


def _renamed(categories: Products) -> Products:
    """The category with the most of others below it gets another name."""
    held = list(categories)
    below = [category.get("parent", 0) for category in held]
    most = max(set(below) - {0}, key=below.count)
    yield from (
        each | {"name": "Else Altogether"} if each["id"] == most else each
        for each in held
    )


EDITS: dict[str, tuple[str, Callable[[Products], Products]]] = {
    "A price": ("products", lambda products: _priced(products, 0)),
    "A product added": ("products", lambda products: _added(products, 0)),
    "A product in a hundred added": (
        "products",
        lambda products: _added(products, 0.01),
    ),
    "A best seller in a thousand products": ("products", _sold_better),
    "A category's name": ("categories", _renamed),
    "A price in a hundred": ("products", lambda products: _priced(products, 0.01)),
    "The stock of all UPCs": ("inventory", _stocked),
    "Every price": ("products", lambda products: _priced(products, 1)),
}


def measured(
    folder: Path, out: Path, jobs: int | None, edits: Sequence[str], *, compares: bool
) -> Iterator[Again]:
    """Each edit: the release before built, then the edit made, and built with its help.

    With ``compares`` it is built from nothing as well, and has to be the same release.
    Else the first build from nothing stands for all.
    """
    command = [
        sys.executable,
        "-m",
        "shopwindow",
        "build",
        "--content",
        str(folder),
        "--out",
        str(out),
    ]
    command += ["--jobs", str(jobs)] if jobs else []
    time.sleep(SETTLED)
    anew = run([*command, "--no-cache"])
    run(command)
    yield Again("Nothing", run(command), anew)
    for what in edits:
        kind, edit = EDITS[what]
        path = folder / "catalog" / f"{kind}.jsonl"
        before = folder.with_name("before")
        path.rename(before)
        with before.open("rb") as lines, path.open("wb") as file:
            file.writelines(
                orjson.dumps(each) + b"\n" for each in edit(map(orjson.loads, lines))
            )
        time.sleep(SETTLED)
        again, built = run(command), (out / "current").resolve()
        if compares:
            anew = run([*command, "--no-cache"])
            if (out / "current").resolve() != built:
                raise RuntimeError(f"{what}: not the release made from nothing")
        yield Again(what, again, anew)
        before.rename(path)
        time.sleep(SETTLED)
        run(command)
        for release in (out / "releases").iterdir():
            if release != (out / "current").resolve():
                shutil.rmtree(release)


def table(found: Sequence[Again]) -> Iterator[str]:
    yield "| Changed | Build | Processor time | Anew | Processor time | Ratio |"
    yield "|---|---|---|---|---|---|"
    for each in found:
        ratio = each.again.processor / each.anew.processor
        times = " | ".join(
            f"{one.wall:.1f} s | {one.processor:.1f} s"
            for one in (each.again, each.anew)
        )
        yield f"| {each.what} | {times} | {ratio:.2f} |"
