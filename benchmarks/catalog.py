"""A catalog of a million products: how long its index takes to build, and what it
answers a second.

    python -m benchmarks.catalog [--sizes 10000,100000,1000000] [--phrases 1000] [--cpus 0,1] [--work DIR]
    python -m benchmarks.catalog --read FILE
    python -m benchmarks.catalog --again [--sizes 10000,100000] [--edits EDIT,EDIT]

Everything is made from a seed: a vocabulary whose words are as unevenly frequent as
those of a language (Zipf), products with colors, sizes and UPCs, reviews, inventory of
stores. The feeds are written first; what is timed reads them.
"""

import argparse
import math
import os
import platform
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from benchmarks import catalog_again
from benchmarks.measure import Run, watched
from shopwindow.catalog.index.known_lines import CheckedLines
from shopwindow.catalog.index.lines import Feeds
from shopwindow.catalog.index.sums import complete
from shopwindow.catalog.index.taking import take
from shopwindow.catalog.kinds import INVENTORY, PRODUCT, REVIEW
from shopwindow.catalog.protocol import ProductQuery
from shopwindow.catalog.reading.opened import OpenedCatalog
from shopwindow.content.check import records
from shopwindow.content.check.feeds import RecordBasis
from shopwindow.content.check.records import FeedBatch
from shopwindow.content.documents.documents import Content
from shopwindow.content.kinds import Kind
from shopwindow.content.reading.listing import Source, shipped
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.answering.answer import answer
from shopwindow.interface.declaring.operation import Call
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.shop import INTERFACE

SEED = 20130621
VOCABULARY = 40_000
CATEGORIES = 8_400
STORES = 850
BRANDS = 3_000
COLORS = "BLACK WHITE GRAY BLUE NAVY RED PINK PURPLE GREEN BROWN BEIGE YELLOW ORANGE GOLD SILVER MULTI"
SIZES = (
    "XS",
    "S",
    "M",
    "L",
    "XL",
    "XXL",
    "5",
    "6",
    "7",
    "8",
    "9",
    "10",
    "11",
    "12",
    "13",
    "14",
    "16",
    "TWIN",
    "QUEEN",
)
ATTRIBUTES = {
    "GENDER": ("Men", "Women", "Boys", "Girls"),
    "MATERIAL": (
        "Cotton",
        "Wool",
        "Leather",
        "Linen",
        "Polyester",
        "Steel",
        "Glass",
        "Oak",
        "Silk",
        "Down",
    ),
    "PATTERN": ("Solid", "Striped", "Plaid", "Floral", "Dotted"),
    "OCCASION": ("Casual", "Work", "Evening", "Wedding", "Outdoor"),
}
SITE = {"catalog": {"image_url": "https://images.example.com/is", "product_url": "https://www.example.com/product/{id}",
                    "brand_url": "https://www.example.com/brand/{name}"}}  # fmt: skip
SETTINGS = SITE | {"name": "Benchmark", "base_url": "https://api.example.com", "time_zone": "UTC",
                   "lifetimes": {"default": {"maxAge": 300}}}  # fmt: skip
READS = 20_000
ROUNDS = 5


# -- the feeds -------------------------------------------------------------------------


@dataclass(frozen=True)
class Language:
    """Words, the most frequent first, and the sums of their weights."""

    words: Sequence[str]
    sums: Sequence[float]

    def take(self, source: random.Random, count: int) -> list[str]:
        return source.choices(self.words, cum_weights=self.sums, k=count)


def language() -> Language:
    """Pronounceable words that Zipf's law gives their frequencies."""
    source, words = random.Random(SEED), dict[str, None]()
    starts, vowels, ends = (
        "b br c ch d dr f fl g gr h j k l m n p pl r s sh st t tr v w",
        "a e i o u ai ea ou",
        "l m n r t ck nd",
    )
    parts = starts.split(), vowels.split(), ends.split()
    while len(words) < VOCABULARY:
        syllables = (
            source.choice(parts[0]) + source.choice(parts[1])
            for _ in range(source.choice((1, 2, 2, 3)))
        )
        words["".join(syllables) + source.choice(parts[2])] = None
    return Language(
        list(words), list(accumulate(1 / place for place in range(1, VOCABULARY + 1)))
    )


def categories(source: random.Random, speech: Language) -> Iterator[dict[str, Any]]:
    """8,400 of them, up to five levels deep."""
    parents: dict[int, int] = {}
    levels: dict[int, int] = {}
    for id in range(1, CATEGORIES + 1):
        found = {
            "id": id,
            "name": " ".join(speech.take(source, 2)).title(),
            "url": f"https://www.example.com/c/{id}",
        }
        parent = source.randrange(1, min(id, 2500)) if id > 20 else 0
        while levels.get(parent) == 5:
            parent = parents[parent]
        parents[id], levels[id] = parent, levels.get(parent, 0) + 1
        yield found | {"parent": parent} if parent else found


def product(source: random.Random, speech: Language, id: int) -> dict[str, Any]:
    """One product: four colors, four sizes and three UPCs in the mean; a fifth is on
    sale.
    """
    colors = source.sample(COLORS.split(), source.choice((1, 1, 2, 3, 4, 5, 8)))
    first = source.randrange(len(SIZES))
    sizes = SIZES[first : first + source.choice((1, 1, 3, 5, 7))]
    regular = round(min(5000, source.lognormvariate(3.9, 0.9)) + 1, 2)
    price: dict[str, Any] = {"regular": regular}
    if source.random() < 0.2:
        price["sale"] = round(regular * 0.75, 2)
    pairs = [
        (color, size)
        for color in range(1, len(colors) + 1)
        for size in range(1, len(sizes) + 1)
    ]
    found: dict[str, Any] = {
        "id": id * 7 + 100_000,
        "name": " ".join(speech.take(source, source.randrange(3, 7))).title(),
        "description": " ".join(speech.take(source, source.randrange(25, 50))).capitalize() + ".",
        "typeName": speech.words[100 + source.randrange(300)].upper(),
        "brand": f"{speech.words[500 + int(source.paretovariate(1)) % BRANDS]} & co".title(),
        "categories": sorted({source.randrange(21, CATEGORIES + 1) for _ in range(source.choice((1, 1, 2)))}),
        "images": {"primary": f"{id}.jpg", "additional": [f"{id}_{n}.jpg" for n in range(1, source.randrange(2, 5))]},
        "colors": [
            {"id": n, "name": f"{speech.take(source, 1)[0]} {normal}".title(), "normal": normal,
             "swatch": f"{id}_s{n}.jpg", "image": f"{id}_c{n}.jpg"}
            for n, normal in enumerate(colors, 1)
        ],
        "sizes": [{"id": n, "name": size, "normal": size} for n, size in enumerate(sizes, 1)],
        "price": price,
        "upcs": [
            {"upc": gtin(id * 8 + n), "sku": id * 8 + n, "color": color, "size": size}
            for n, (color, size) in enumerate(source.sample(pairs, min(len(pairs), source.randrange(1, 7))))
        ],
        "attributes": {name: [source.choice(values)] for name, values in ATTRIBUTES.items() if source.random() < 0.6},
        "bullets": [" ".join(speech.take(source, 6)) for _ in range(3)],
        **({"members": sorted({source.randrange(1, id) * 7 + 100_000 for _ in range(3)})} if id % 50 == 0 else {}),
        "startDays": source.randrange(2000),
        "updated": f"2013-{source.randrange(1, 13):02}-{source.randrange(1, 29):02}T12:00:00Z",
    }  # fmt: skip
    return found | (
        {"bestSeller": source.randrange(1, 100_000)} if source.random() < 0.1 else {}
    )


def gtin(number: int) -> str:
    """A UPC-A with its check digit (GS1)."""
    digits = f"{number:011}"
    total = sum(map(int, digits[::2])) * 3 + sum(map(int, digits[1::2]))
    return f"{digits}{-total % 10}"


def feeds(folder: Path, size: int) -> None:
    """The catalog's feeds as JSON lines."""
    source, speech = random.Random(SEED + size), language()
    folder.mkdir(parents=True)
    (folder / "categories.jsonl").write_bytes(
        b"\n".join(map(orjson.dumps, categories(source, speech)))
    )
    with (
        (folder / "products.jsonl").open("wb") as products,
        (folder / "inventory.jsonl").open("wb") as inventory,
    ):
        for id in range(1, size + 1):
            made = product(source, speech, id)
            products.write(orjson.dumps(made) + b"\n")
            for entry in made["upcs"]:
                start, step = source.randrange(STORES), source.randrange(5, 120)
                stores = {
                    str(number): number % 7 for number in range(start + 1, STORES, step)
                }
                site = source.choice((0, 2, 50))
                inventory.write(
                    orjson.dumps({"upc": entry["upc"], "site": site, "stores": stores})
                    + b"\n"
                )
    with (folder / "reviews.jsonl").open("wb") as reviews:
        for number in range(size):
            about = min(int(source.paretovariate(0.7)), size) * 7 + 100_000
            reviews.write(orjson.dumps(review(source, speech, number, about)) + b"\n")


def review(
    source: random.Random, speech: Language, number: int, about: int
) -> dict[str, Any]:
    return {
        "id": f"r{number}", "product": about, "rating": source.choice((1, 3, 4, 5, 5)),
        "title": " ".join(speech.take(source, 4)), "text": " ".join(speech.take(source, 25)),
        "date": f"2013-{source.randrange(1, 13):02}-{source.randrange(1, 29):02}", "name": "Someone",
        "recommended": True,
    }  # fmt: skip


def batches(folder: Path, name: str, kind: Kind) -> list[FeedBatch]:
    """The parts of a feed, which several processes can read."""
    path = folder / f"{name}.jsonl"
    status = path.stat()
    source = Source(path.name, kind, status.st_size, status.st_mtime_ns, status.st_ino)
    return records.batches([source])


def build(folder: Path, out: Path, jobs: int | None) -> None:
    """What is timed, in a process of its own: each line is checked by itself."""
    basis = RecordBasis(folder, Schemas(shipped("schemas")), {}, limit=1)
    parts = {
        "product": batches(folder, "products", PRODUCT),
        "inventory": batches(folder, "inventory", INVENTORY),
        "review": batches(folder, "reviews", REVIEW),
    }
    reader = CheckedLines(basis, {})
    lines = (folder / "categories.jsonl").read_bytes().splitlines()
    of_categories = [*map(orjson.loads, lines)]
    stores = range(1, STORES + 1)
    feeds = Feeds(parts, reader, of_categories, stores)
    take(out, feeds, jobs=jobs)
    complete(out, feeds, SITE["catalog"]["brand_url"])


# -- building --------------------------------------------------------------------------


@dataclass(frozen=True)
class Built:
    """One build: how many products, its run, its peak memory, and the size of its file,
    in bytes.
    """

    products: int
    run: Run
    memory: int
    size: int


def built(work: Path, size: int, jobs: int | None, last: bool) -> Built:
    """Feeds and a build of them, in processes of their own; only the last one's file is
    kept.
    """
    folder, out = work / f"feeds-{size}", work / f"{size}.sqlite"
    here = [sys.executable, "-m", "benchmarks.catalog"]
    subprocess.run([*here, "--feeds", str(folder), "--sizes", str(size)], check=True)
    os.sync()
    command = [
        *here,
        "--build",
        str(folder),
        "--out",
        str(out),
        *(["--jobs", str(jobs)] if jobs else []),
    ]
    run, memory = watched(command, 0.1 if size < 50_000 else 0.5)
    found = Built(size, run, memory, out.stat().st_size)
    shutil.rmtree(folder)
    if not last:
        out.unlink()
    print(
        f"  {size:,} products: {run.wall:.1f} s, processors {run.processor:.1f} s",
        file=sys.stderr,
    )
    return found


# -- reading ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Rates:
    """What is done a second, beside the SQLite statements that it needs alone; a rate a
    round, taking turns.
    """

    what: str
    rates: Sequence[float]
    raw: Sequence[float]
    goal: float | None = None


Reading = Callable[[Any], object]


def beside(
    what: str,
    ours: Reading,
    raw: Reading,
    asked: Sequence[Any],
    goal: float | None = None,
) -> Rates:
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS + 1):
        for rates, read in zip(found, (ours, raw), strict=True):
            started = time.process_time()
            for each in asked:
                read(each)
            if number:  # the first round only fetches the pages
                rates.append(len(asked) / (time.process_time() - started))
    return Rates(what, *found, goal)


def reads(index: OpenedCatalog, source: random.Random) -> Iterator[Rates]:
    """Answers in JSON, from a Call on, beside their statements."""
    content = Content(SETTINGS, {"week": "2013-06-17"}, {}, INTERFACE.kinds)
    content = content.with_indexes({"catalog": index})
    schemas = Schemas(shipped("schemas"))
    database = index.file.database

    def call(path: str, query: str = "") -> Call:
        return bind(Request(path, query), None, INTERFACE)

    def answered(asked: tuple[Call, Any]) -> object:
        return answer(asked[0], content, schemas)

    def rows(statement: str) -> Reading:
        return lambda asked: database.execute(statement, asked[1]).fetchall()

    document = "SELECT document FROM product WHERE id = ?"
    ids = [source.randrange(1, index.active + 1) * 7 + 100_000 for _ in range(READS)]
    details = [(call(f"v4/catalog/product/{id}"), (id,)) for id in ids]
    yield beside("Product detail v4, by id", answered, rows(document), details)

    details = [(call(f"v3/catalog/product/{id}"), (id,)) for id in ids]
    yield beside("Product detail v3, by id", answered, rows(document), details)

    numbers = [
        number
        for number in range(21, CATEGORIES, 3)
        if index.browse(number, ProductQuery(facets=False)).total
    ]
    marks = ",".join("?" * 12)

    def browsed(asked: tuple[Call, Any]) -> object:
        category, products = asked[1]
        document = database.execute(
            "SELECT document, products FROM category WHERE id = ?", category
        )
        found = database.execute(
            f"SELECT id, document FROM product WHERE id IN ({marks})",
            products,
        )
        return document.fetchall(), found.fetchall()

    pages = []
    for number in numbers:
        shown = index.browse(number, ProductQuery(facets=False)).ids
        asked = (*shown, *[0] * (12 - len(shown)))
        pages.append(
            (call(f"v3/catalog/category/{number}/browseproducts"), ((number,), asked))
        )
    yield beside("A page of a category, with its facets", answered, browsed, pages)

    upcs = [gtin(source.randrange(1, index.active + 1) * 8) for _ in range(READS)]
    stores = source.sample(range(1, STORES), 15)
    stock = "SELECT stores FROM stock WHERE upc = ?"
    lookups = [(upc, (int(upc),)) for upc in upcs]
    yield beside(
        "Availability of a UPC in 15 stores (the verb)",
        lambda asked: index.availability((asked[0],), stores),
        rows(stock),
        lookups,
    )


# -- searching -------------------------------------------------------------------------

SHARES = ((0.0, 0.001, 0.5), (0.001, 0.05, 0.4), (0.05, 0.3, 0.1))
"""Of the products that a phrase finds, from and to; and of the phrases: at a million
under 1,000, 50,000, 300,000.
"""


def phrases(index: OpenedCatalog, count: int) -> dict[str, list[str]]:
    """Seeded phrases of one to three words, by how many products they find."""
    source, speech = random.Random(SEED), language()
    limits = [
        (index.active * least, index.active * most, count * share)
        for least, most, share in SHARES
    ]
    found: list[list[str]] = [[] for _ in limits]
    for _ in range(100 * count):
        places = (
            math.exp(source.uniform(0, math.log(VOCABULARY)))
            for _ in range(source.choice((1, 1, 2, 2, 3)))
        )
        phrase = " ".join(speech.words[int(place) - 1] for place in places)
        total = index.search(phrase, ProductQuery(facets=False, products=False)).total
        for kept, (least, most, wanted) in zip(found, limits, strict=True):
            if least < total <= most and len(kept) < wanted:
                kept.append(phrase)
        if all(
            len(kept) >= wanted
            for kept, (_, _, wanted) in zip(found, limits, strict=True)
        ):
            break
    return {
        f"up to {most:,.0f}": kept
        for kept, (_, most, _) in zip(found, limits, strict=True)
    }


def searches(
    index: OpenedCatalog, asked: dict[str, list[str]]
) -> dict[str, list[float]]:
    """Milliseconds of each phrase, facets and twelve products included, by how many
    products it finds.
    """
    times: dict[str, list[float]] = {}
    for name, found in asked.items():
        times[name] = []
        for phrase in found:
            started = time.perf_counter()
            index.search(phrase, ProductQuery())
            times[name].append((time.perf_counter() - started) * 1000)
    return times


# -- the tables ------------------------------------------------------------------------


def build_table(found: Sequence[Built]) -> Iterator[str]:
    yield "| Products | Build | Processor time | Microseconds a product | Peak memory | File |"
    yield "|---|---|---|---|---|---|"
    for each in found:
        a_product = each.run.processor / each.products * 1e6
        yield (
            f"| {each.products:,} | {each.run.wall:.1f} s | {each.run.processor:.1f} s | {a_product:.0f}"
            f" | {each.memory / 2**20:.0f} MiB | {each.size / 1e9:.2f} GB |"
        )


def rate_table(found: Iterable[Rates]) -> Iterator[str]:
    yield "| What | A second | The statements alone | Ratio | Goal | |"
    yield "|---|---|---|---|---|---|"
    for each in found:
        ratio = median(each.rates) / median(each.raw)
        goal, met = (
            ("", "")
            if each.goal is None
            else (f"at least {each.goal}", "met" if ratio >= each.goal else "missed")
        )
        yield f"| {each.what} | {_rates(each.rates)} | {_rates(each.raw)} | {ratio:.2f} | {goal} | {met} |"


def _rates(rates: Sequence[float]) -> str:
    return f"{median(rates):,.0f} ({min(rates):,.0f}–{max(rates):,.0f})"


def search_table(times: dict[str, list[float]]) -> Iterator[str]:
    yield "| Phrases that find | Phrases | Median | p99 | Most | Goal | |"
    yield "|---|---|---|---|---|---|---|"
    for name, found in times.items():
        if found:
            yield f"| {name} | {len(found)} | {_milliseconds(found)} | | |"
    every = [each for found in times.values() for each in found]
    met = "met" if median(every) <= 50 and percentile(every) <= 500 else "missed"
    yield f"| all | {len(every)} | {_milliseconds(every)} | median 50 ms, p99 500 ms | {met} |"


def _milliseconds(times: Sequence[float]) -> str:
    return f"{median(times):.1f} ms | {percentile(times):.0f} ms | {max(times):.0f} ms"


def percentile(values: Sequence[float], share: float = 0.99) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def main() -> int:
    parser = argparse.ArgumentParser(
        description="The catalog's index: built, read and searched."
    )
    parser.add_argument(
        "--sizes",
        default="10000,100000,1000000",
        metavar="N,N",
        help="products; the last is read",
    )
    parser.add_argument("--phrases", type=int, default=1000, metavar="N")
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="processes that make products (default: one a processor)",
    )
    parser.add_argument(
        "--cpus",
        metavar="LIST",
        help="the processors to use, such as 0,1 (default: all)",
    )
    parser.add_argument(
        "--work",
        type=Path,
        metavar="DIR",
        help="where to work; kept (default: temporary, deleted)",
    )
    parser.add_argument(
        "--read",
        type=Path,
        metavar="FILE",
        help="only read and search this file, built before",
    )
    parser.add_argument("--feeds", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    parser.add_argument(
        "--again", action="store_true", help="only build again what changed in part"
    )
    parser.add_argument(
        "--edits",
        metavar="EDIT,EDIT",
        help="with --again: only these changes, such as 'A price', without comparing"
        " each release with one from nothing (default: all, compared)",
    )
    given = parser.parse_args()
    if given.cpus:
        os.sched_setaffinity(0, {int(cpu) for cpu in given.cpus.split(",")})
    sizes = [int(size) for size in given.sizes.split(",")]
    if given.feeds:
        feeds(given.feeds, sizes[0])
        return 0
    if given.build:
        build(given.build, given.out, given.jobs)
        return 0
    work = given.work or Path(tempfile.mkdtemp(prefix="shopwindow-catalog-"))
    work.mkdir(exist_ok=True)
    try:
        if given.again:
            again(given, work, sizes)
        else:
            report(given, work, sizes)
    finally:
        if given.work is None:
            shutil.rmtree(work)
    return 0


def again(given: argparse.Namespace, work: Path, sizes: Sequence[int]) -> None:
    for size in sizes:
        folder = work / f"again-{size}"
        feeds(folder / "feeds", size)
        catalog_again.content(folder / "content", folder / "feeds", SITE, STORES)
        shutil.rmtree(folder / "feeds")
        edits = given.edits.split(",") if given.edits else list(catalog_again.EDITS)
        found = list(
            catalog_again.measured(
                folder / "content",
                folder / "dist",
                given.jobs,
                edits,
                compares=given.edits is None,
            )
        )
        print(f"\n{size:,} products, built again\n")
        print("\n".join(catalog_again.table(found)), flush=True)
        shutil.rmtree(folder)


def report(given: argparse.Namespace, work: Path, sizes: Sequence[int]) -> None:
    print(
        f"{len(os.sched_getaffinity(0))} processors, Python {platform.python_version()}, ",
        end="",
    )
    print(f"SQLite {sqlite3.sqlite_version}\n", flush=True)
    if not given.read:
        print(
            "\n".join(
                build_table(
                    [built(work, size, given.jobs, size == sizes[-1]) for size in sizes]
                )
            ),
            flush=True,
        )
    index = OpenedCatalog(given.read or work / f"{sizes[-1]}.sqlite")
    print(
        f"\n{index.active:,} products, one process; processor time, median (least–most) of {ROUNDS} rounds\n"
    )
    print("\n".join(rate_table(reads(index, random.Random(SEED)))), flush=True)
    print("\nSearch, with all facets and the first page, by the clock\n")
    print("\n".join(search_table(searches(index, phrases(index, given.phrases)))))


if __name__ == "__main__":
    sys.exit(main())
