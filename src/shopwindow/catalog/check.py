"""The catalog's documents: read as streams, checked, and handed out as streams."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import orjson

from shopwindow.catalog.entries import RecordPlaces
from shopwindow.catalog.kinds import KINDS
from shopwindow.catalog.large import Large
from shopwindow.catalog.rules import Referable
from shopwindow.catalog.small import Categories, once, small_of
from shopwindow.content import records
from shopwindow.content.feeds import FeedReport, Unstreamed
from shopwindow.content.finding import Finding
from shopwindow.content.listing import RACY_NS, Source
from shopwindow.content.records import Records
from shopwindow.content.yaml import Json

SMALL = ("category", "brand", "synonym")
"""Kinds of which there are few enough to be held in memory, all at once."""


@dataclass(frozen=True)
class CheckedCatalog:
    """A checked catalog. ``categories`` is flat: each with its `parent` and without
    those inside it, in their order.

    ``names``: what the expressions in its YAML files were evaluated with.
    """

    folder: Path
    sources: tuple[Source, ...]
    categories: list[Json]
    brands: list[Json]
    products: Records
    inventory: Records
    reviews: Records
    recommendations: Records
    synonyms: list[list[str]]
    names: Mapping[str, str | None]

    def digest(self) -> str:
        """A digest of the files themselves, the same on any machine."""
        digest = sha256()
        for source in self.sources:
            digest.update(f"{source.path}\0{source.size}\0".encode())
            with open(self.folder / source.path, "rb") as file:
                while data := file.read(1 << 20):
                    digest.update(data)
        return digest.hexdigest()


def check(
    sources: Sequence[Source], around: Unstreamed
) -> tuple[CheckedCatalog | None, FeedReport]:
    """Everything that is wrong with the catalog; the catalog itself where there is one,
    and nothing wrong with it.

    Where nothing was wrong the last time, and all is as it was, the long feeds are not
    read again.
    """
    of_kind: dict[str, list[Source]] = {kind.name: [] for kind in KINDS}
    for source in sources:
        of_kind[source.kind.name].append(source)
    told = FeedReport()
    entries = small_of(of_kind["category"], around, told)
    categories = Categories(entries, around, told)
    brands = small_of(of_kind["brand"], around, told)
    for name in ("name", "id"):
        uses = (
            (entry, (name,), entry.value[name])
            for entry in brands
            if entry.sound((name,))
        )
        once("brand", name, uses, RecordPlaces(around.folder), told)
    synonyms = small_of(of_kind["synonym"], around, told)
    _settings(sources, around, told)
    stores = around.ids("store", "locationNumber")
    numbers = None if stores is None else frozenset(map(str, stores))
    known = Referable(categories.ids, around.ids("promotion", "promoId"), numbers)
    large = [
        source
        for kind in KINDS
        if kind.name not in SMALL
        for source in of_kind[kind.name]
    ]
    state = _state(sources, around, known) if around.cached else ""
    if not (state and _noted(around) == state):
        Large(records.blocks(large), around, known, told).check()
    if (
        not sources
        or told.problems
        or told.findings
        or told.more
        or around.names is None
    ):
        return None, told
    if state:
        _note(around, state)
    streams = {
        kind: Records(around.folder, of_kind[kind], around.names) for kind in of_kind
    }
    catalog = CheckedCatalog(
        around.folder,
        tuple(sources),
        categories.flat,
        [entry.value for entry in brands],
        streams["product"],
        streams["inventory"],
        streams["review"],
        streams["recommendation"],
        [entry.value for entry in synonyms],
        around.names,
    )
    return catalog, told


def _state(sources: Sequence[Source], around: Unstreamed, known: Referable) -> str:
    """A digest of everything that the check of the long feeds reads; empty where a file
    was changed just now.
    """
    if any(source.changed >= time.time_ns() - RACY_NS for source in sources):
        return ""
    files = [
        (source.path, source.size, source.changed, source.inode) for source in sources
    ]
    promotions = [
        [each.value.get(part) for part in ("products", "categoryIds")]
        for each in around.case.having("promotion")
    ]
    others = [known.categories, known.promotions, known.stores]
    ids = [None if each is None else sorted(map(str, each)) for each in others]
    rest = [around.program, around.schemas.digest, sorted((around.names or {}).items())]
    return sha256(orjson.dumps([files, promotions, ids, rest])).hexdigest()


def _noted(around: Unstreamed) -> str:
    try:
        return around.cached.read_text(encoding="ascii") if around.cached else ""
    except (OSError, ValueError):
        return ""


def _note(around: Unstreamed, state: str) -> None:
    """Keep what was found without fault; where that cannot be kept, the next check
    reads it again.
    """
    if around.cached:
        draft = around.cached.with_name(f"{around.cached.name}.{os.getpid()}")
        with suppress(OSError):
            around.cached.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(state, encoding="ascii")
            os.replace(draft, around.cached)


def _settings(sources: Sequence[Source], around: Unstreamed, told: FeedReport) -> None:
    """Where there are products, site.yaml says where their pages and images are."""
    for site in around.case.having("site", ("catalog",)):
        if "catalog" not in site.value and any(
            source.kind.name == "product" for source in sources
        ):
            found = "'catalog' is missing, and there are products"
            allowed = "image_url and product_url below it: where the images and the pages of products are"
            told.findings.append(
                (
                    site,
                    Finding(
                        "site.catalog",
                        (),
                        found,
                        allowed,
                        on_key=True,
                        missing="catalog",
                    ),
                )
            )
