"""The check of the catalog: its files are read as streams, and handed on as streams.

How the check works. The small kinds come first: categories, brands and synonyms are
read whole (`catalog.small`), because the large ones refer to them. The large ones are
then read by several processes (`catalog.large`). That takes long, so the state of everything
that it reads (`_state`) is noted once there was no problem, and the next check with the
same state leaves it out.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import orjson

from shopwindow.catalog.entries import RecordEntry, RecordPlaces
from shopwindow.catalog.kinds import CATEGORY, KINDS
from shopwindow.catalog.large import LargeCheck
from shopwindow.catalog.rules import Referable, inside
from shopwindow.catalog.small import Categories, once, small_of
from shopwindow.content.check import gone, records
from shopwindow.content.check.feeds import FeedReport, Unstreamed
from shopwindow.content.check.memory import state_of
from shopwindow.content.check.records import Records
from shopwindow.content.documents.finding import Finding, shown
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.yaml import Json
from shopwindow.problems import nearest

SMALL = ("category", "brand", "synonym")
"""Kinds with so few records that all of them are in memory at once."""

NOTE = "catalog"
"""The note of the state of feeds in which nothing was wrong."""

READ_AT_ONCE = 1 << 20
"""Bytes that are read from a file at a time."""


@dataclass(frozen=True)
class CheckedCatalog:
    """A catalog without problems, from which the index is built.

    ``categories`` are flat, in their order: each has its `parent`, and not those within
    it. ``stores`` are the location numbers of all stores, and ``names`` those that
    expressions in YAML files may use.
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
    stores: frozenset[int]
    names: Mapping[str, str | None]

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """A digest of what the documents of each kind follow from, by the kind's name: its
        files, and the names where one of them is YAML. It is the same on any machine.

        All files are read for it: 0.15 s of the 6 s of a build of 100,000 products with
        one changed price. To remember the digests of files by size, time and inode
        would save 0.05 s, for the file with the products is another one.
        """
        digests = {kind.name: sha256() for kind in KINDS}
        names = orjson.dumps(sorted(self.names.items()))
        for source in self.sources:
            digest = digests[source.kind.name]
            if not source.is_feed:
                digest.update(names)
            digest.update(f"{source.path}\0{source.size}\0".encode())
            with open(self.folder / source.path, "rb") as file:
                while data := file.read(READ_AT_ONCE):
                    digest.update(data)
        return {name: digest.hexdigest() for name, digest in digests.items()}

    def digest(self) -> str:
        """Return a digest of what all documents follow from, the same on any machine."""
        follows_from = [sorted(self.digests.items()), sorted(self.stores)]
        return sha256(orjson.dumps(follows_from)).hexdigest()


def check(
    sources: Sequence[Source], around: Unstreamed
) -> tuple[CheckedCatalog | None, FeedReport]:
    """Check the catalog's files.

    Returns the catalog, None if there are no files or something is wrong, and what is
    wrong.
    """
    sources_of: dict[str, list[Source]] = {kind.name: [] for kind in KINDS}
    for source in sources:
        sources_of[source.kind.name].append(source)

    report = FeedReport()
    entries = small_of(sources_of["category"], around, report)
    categories = Categories(entries, around, report)
    brands = small_of(sources_of["brand"], around, report)
    _check_brands(brands, around, report)
    synonyms = small_of(sources_of["synonym"], around, report)
    _check_site(sources, around, report)
    _check_names_of_categories(categories, around, report)

    referable = _referable(categories, around)
    state = _state(sources, around, referable)
    if not state or state != around.memory.noted(NOTE):
        large = [
            source
            for kind in KINDS
            if kind.name not in SMALL
            for source in sources_of[kind.name]
        ]
        LargeCheck(records.blocks(large), around, referable, report).run()

    is_good = report.extent() == (0, 0, 0) and not report.findings
    if not sources or not is_good or around.names is None:
        return None, report

    around.memory.note(NOTE, state)
    streams = {
        kind: Records(around.folder, kind_sources, around.names)
        for kind, kind_sources in sources_of.items()
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
        frozenset(map(int, referable.stores or ())),
        around.names,
    )
    return catalog, report


def _check_brands(
    brands: Sequence[RecordEntry], around: Unstreamed, report: FeedReport
) -> None:
    """Check that names of brands are unique, and ids as well."""
    places = RecordPlaces(around.folder)
    for name in ("name", "id"):
        uses = (
            (entry, (name,), entry.value[name])
            for entry in brands
            if entry.sound((name,))
        )
        once("brand", name, uses, places, report)


def _check_site(
    sources: Sequence[Source], around: Unstreamed, report: FeedReport
) -> None:
    """Check that site.yaml says where pages and images of products are, if any are."""
    if all(source.kind.name != "product" for source in sources):
        return
    for site in around.case.having("site", ("catalog",)):
        if "catalog" in site.value:
            continue
        finding = Finding(
            "site.catalog",
            (),
            "'catalog' is missing, and there are products",
            "image_url and product_url below it:"
            " where the images and the pages of products are",
            on_key=True,
            missing="catalog",
        )
        report.findings.append((site, finding))


def _check_names_of_categories(
    categories: Categories, around: Unstreamed, report: FeedReport
) -> None:
    """Warn of promotions that are listed under the name of no category.

    Apps list a promotion under these names (interface W4.3), which are no references:
    without a catalog any name may be meant.
    """
    if not categories.flat or categories.ids is None:
        return
    names = {str(category.get("name")) for category in categories.flat}
    unnamed = [
        (promotion, index, name)
        for promotion in around.case.having("promotion")
        for index, name in around.case.entries(promotion, ("categories",))
        if name not in names
    ]
    renamed = _renamed(categories, around.folder) if unnamed else {}
    for promotion, index, name in unnamed:
        found, similar, meant = f"no category has the name {shown(name)}", "", None
        if name in renamed:
            id, meant = renamed[name]
            found = f"category {id} is called {shown(meant)} now, and not {shown(name)}"
        else:
            similar = nearest(name, names)
        finding = Finding(
            "promotion.category",
            ("categories", index),
            found,
            "the name of a category, exactly as the catalog has it",
            nearest=similar or meant or "",
            absent=(CATEGORY.name, "name", name),
            meant=meant,
        )
        report.warnings.append((promotion, finding))


def _renamed(categories: Categories, folder: Path) -> dict[str, tuple[int, str]]:
    """Return former names of categories, each with the category's id and present name.

    The last commit has the former ones. A name that several categories had, of which
    each has another name now, is left out.
    """
    present = {category["id"]: category.get("name") for category in categories.flat}
    former: dict[str, dict[int, str]] = {}
    for document in gone.of_last_commit(folder, [CATEGORY]):
        value = document.value
        for category in (value, *(inner for _, inner in inside(value))):
            id, name = category.get("id"), category.get("name")
            now = present.get(id)
            if isinstance(name, str) and isinstance(now, str) and now != name:
                former.setdefault(name, {})[id] = now
    return {
        name: next(iter(of_ids.items()))
        for name, of_ids in former.items()
        if len(of_ids) == 1
    }


def _referable(categories: Categories, around: Unstreamed) -> Referable:
    stores = around.ids("store", "locationNumber")
    return Referable(
        categories.ids,
        around.ids("promotion", "promoId"),
        # inventory has them as the keys of an object, which are text
        None if stores is None else frozenset(map(str, stores)),
    )


def _state(sources: Sequence[Source], around: Unstreamed, referable: Referable) -> str:
    """Return a digest of everything that the check of the large kinds reads.

    It is empty where a file was changed just now.
    """
    promotions = [
        [document.value.get(part) for part in ("products", "categoryIds")]
        for document in around.case.having("promotion")
        if isinstance(document.value, dict)  # a faulty one may be anything
    ]
    id_sets = (referable.categories, referable.promotions, referable.stores)
    ids = [None if part is None else sorted(map(str, part)) for part in id_sets]
    program = [around.memory.program, around.schemas.digest]
    names = sorted((around.names or {}).items())
    return state_of(sources, time.time_ns(), promotions, ids, program, names)
