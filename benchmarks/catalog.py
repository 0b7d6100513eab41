"""A catalog of a million products: how long its index takes to build, and what it answers a second.

    python -m benchmarks.catalog [--sizes 10000,100000,1000000] [--phrases 1000] [--cpus 0,1] [--work DIR]

Everything is made from a seed: a vocabulary whose words are as unevenly frequent as those of a language (Zipf),
products with colors, sizes and UPCs, reviews, inventory of stores. The feeds are written first; what is timed reads
them.
"""

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import orjson

from vitrine.content.model import Content
from vitrine.release.index import Sources, renderer, write

SEED = 20130621
VOCABULARY = 40_000
CATEGORIES = 8_400
STORES = 850
BRANDS = 3_000
COLORS = "BLACK WHITE GRAY BLUE NAVY RED PINK PURPLE GREEN BROWN BEIGE YELLOW ORANGE GOLD SILVER MULTI"
SIZES = ("XS", "S", "M", "L", "XL", "XXL", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "16", "TWIN", "QUEEN")
ATTRIBUTES = {
    "GENDER": ("Men", "Women", "Boys", "Girls"),
    "MATERIAL": ("Cotton", "Wool", "Leather", "Linen", "Polyester", "Steel", "Glass", "Oak", "Silk", "Down"),
    "PATTERN": ("Solid", "Striped", "Plaid", "Floral", "Dotted"),
    "OCCASION": ("Casual", "Work", "Evening", "Wedding", "Outdoor"),
}
SITE = {"catalog": {"image_url": "https://images.example.com/is", "product_url": "https://www.example.com/product/{id}",
                    "brand_url": "https://www.example.com/brand/{name}"}}  # fmt: skip
READS = 20_000
ROUNDS = 5


# -- the feeds ---------------------------------------------------------------------------------------------------


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
        syllables = (source.choice(parts[0]) + source.choice(parts[1]) for _ in range(source.choice((1, 2, 2, 3))))
        words["".join(syllables) + source.choice(parts[2])] = None
    return Language(list(words), list(accumulate(1 / place for place in range(1, VOCABULARY + 1))))


def categories(source: random.Random, speech: Language) -> Iterator[dict[str, Any]]:
    """8,400 of them, up to five levels deep."""
    for id in range(1, CATEGORIES + 1):
        found = {"id": id, "name": " ".join(speech.take(source, 2)).title(), "url": f"https://www.example.com/c/{id}"}
        yield found if id <= 20 else found | {"parent": source.randrange(1, min(id, 2500))}


def product(source: random.Random, speech: Language, id: int) -> dict[str, Any]:
    """One product: four colors, four sizes and three UPCs in the mean; a fifth is on sale."""
    colors = source.sample(COLORS.split(), source.choice((1, 1, 2, 3, 4, 5, 8)))
    first = source.randrange(len(SIZES))
    sizes = SIZES[first : first + source.choice((1, 1, 3, 5, 7))]
    regular = round(min(5000, source.lognormvariate(3.9, 0.9)) + 1, 2)
    price: dict[str, Any] = {"regular": regular}
    if source.random() < 0.2:
        price["sale"] = round(regular * 0.75, 2)
    pairs = [(color, size) for color in range(1, len(colors) + 1) for size in range(1, len(sizes) + 1)]
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
        "startDays": source.randrange(2000),
        "updated": f"2013-{source.randrange(1, 13):02}-{source.randrange(1, 29):02}T12:00:00Z",
    }  # fmt: skip
    return found | ({"bestSeller": source.randrange(1, 100_000)} if source.random() < 0.1 else {})


def gtin(number: int) -> str:
    """A UPC-A with its check digit (GS1)."""
    digits = f"{number:011}"
    total = sum(map(int, digits[::2])) * 3 + sum(map(int, digits[1::2]))
    return f"{digits}{-total % 10}"


def feeds(folder: Path, size: int) -> None:
    """The catalog's feeds as JSON lines."""
    source, speech = random.Random(SEED + size), language()
    folder.mkdir(parents=True)
    (folder / "categories").write_bytes(b"\n".join(map(orjson.dumps, categories(source, speech))))
    with (folder / "products").open("wb") as products, (folder / "inventory").open("wb") as inventory:
        for id in range(1, size + 1):
            made = product(source, speech, id)
            products.write(orjson.dumps(made) + b"\n")
            for entry in made["upcs"]:
                start, step = source.randrange(STORES), source.randrange(5, 120)
                stores = {str(number): number % 7 for number in range(start + 1, STORES, step)}
                site = source.choice((0, 2, 50))
                inventory.write(orjson.dumps({"upc": entry["upc"], "site": site, "stores": stores}) + b"\n")
    with (folder / "reviews").open("wb") as reviews:
        for number in range(size):
            about = min(int(source.paretovariate(0.7)), size) * 7 + 100_000
            reviews.write(orjson.dumps(review(source, speech, number, about)) + b"\n")


def review(source: random.Random, speech: Language, number: int, about: int) -> dict[str, Any]:
    return {
        "id": f"r{number}", "product": about, "rating": source.choice((1, 3, 4, 5, 5)),
        "title": " ".join(speech.take(source, 4)), "text": " ".join(speech.take(source, 25)),
        "date": f"2013-{source.randrange(1, 13):02}-{source.randrange(1, 29):02}", "name": "Someone",
        "recommended": True,
    }  # fmt: skip


def lines(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        yield from map(orjson.loads, file)


def build(folder: Path, out: Path, jobs: int | None) -> None:
    """What is timed, in a process of its own."""
    sources = Sources(
        SITE,
        lines(folder / "categories"),
        (),
        lines(folder / "products"),
        lines(folder / "inventory"),
        lines(folder / "reviews"),
    )
    content = Content({"site": SITE, "promotions": []})
    write(out, sources, renderer(content), jobs)


if __name__ == "__main__":
    if sys.argv[1] == "feeds":
        feeds(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        build(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else None)
