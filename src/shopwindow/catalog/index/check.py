"""The check of the catalog: its files are read as streams, and handed on as rows.

How the check works. The small kinds come first: categories, brands and synonyms are
read whole (`catalog.feeds.small`), because the large ones refer to them. The lines of the
large ones are then checked and become rows in one pass (`catalog.index.known_lines`). Only
where something is wrong in one of them, all are read for everything that is
(`catalog.index.large`).
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from hashlib import file_digest, sha256
from itertools import chain
from pathlib import Path

import orjson

from shopwindow.catalog.feeds import rows
from shopwindow.catalog.feeds.entries import RecordEntry, RecordPlaces
from shopwindow.catalog.feeds.rules import Referable, inside
from shopwindow.catalog.feeds.small import Categories, once, small_of
from shopwindow.catalog.index.agreement import (
    agree,
    named_by_promotions,
    unknown_to_promotions,
)
from shopwindow.catalog.index.known_lines import CheckedCatalog, CheckedLines
from shopwindow.catalog.index.large import LargeCheck
from shopwindow.catalog.index.lines import Faulty, Feeds
from shopwindow.catalog.kinds import CATEGORY, KINDS
from shopwindow.content.check import gone, records
from shopwindow.content.check.feeds import FeedReport, RecordBasis
from shopwindow.content.check.memory import Memory, state_of
from shopwindow.content.documents.finding import Finding, shown
from shopwindow.content.reading.listing import Source
from shopwindow.content.reading.processes import Progress
from shopwindow.content.rules.case import Case
from shopwindow.did_you_mean import nearest


def digests_of(
    folder: Path, sources: Iterable[Source], names: Sequence[tuple[str, str | None]]
) -> Mapping[str, str]:
    """Return a digest of what the documents of each kind follow from, by the kind's name:
    its files, and the names that expressions may use where one of them is YAML. It is
    the same on any machine. ``names``: each with its text, sorted.

    All files are read for it: 0.15 s of the 6 s of a build of 100,000 products with one
    changed price. To remember the digests of files by size, time and inode would save
    0.05 s, for the file with the products is another one.
    """
    digests = {kind.name: sha256() for kind in KINDS}
    used = orjson.dumps(names)
    for source in sources:
        digest = digests[source.kind.name]
        if not source.is_feed:
            digest.update(used)
        digest.update(f"{source.path}\0{source.size}\0".encode())
        if source.unsaved is not None:
            digest.update(source.unsaved)
            continue
        with open(folder / source.path, "rb") as file:
            digest.update(file_digest(file, "sha256").digest())
    return {name: digest.hexdigest() for name, digest in digests.items()}


def check(
    sources: Sequence[Source],
    basis: RecordBasis,
    case: Case,
    memory: Memory,
    jobs: int | None,
    progress: Progress | None,
) -> tuple[CheckedCatalog | None, FeedReport]:
    """Check the catalog's files.

    Returns the catalog, None if there are no files or something is wrong, and what is
    wrong. `content.check.feeds.Feeds` says what the arguments are.
    """
    sources_of: dict[str, list[Source]] = {kind.name: [] for kind in KINDS}
    for source in sources:
        sources_of[source.kind.name].append(source)

    folder, report = basis.folder, FeedReport()
    places = RecordPlaces(folder)
    entries = small_of(sources_of["category"], basis, report)
    categories = Categories(entries, places, report)
    brands = small_of(sources_of["brand"], basis, report)
    _check_brands(brands, places, report)
    synonyms = small_of(sources_of["synonym"], basis, report)
    _check_site(sources, case, report)
    _check_names_of_categories(categories, case, folder, report)
    if categories.ids is not None:  # they are in memory; products wait for their rows
        report.findings += unknown_to_promotions(
            case, "categoryIds", "category", categories.ids
        )

    stores = case.ids("store", "locationNumber")
    referable: Referable = {
        "category": categories.ids,
        "promotion": case.ids("promotion", "promoId"),
        "store": None if stores is None else frozenset(map(str, stores)),
    }
    batches = {kind: records.batches(sources_of[kind]) for kind in rows.KINDS}
    names = sorted((basis.names or {}).items())
    feeds = Feeds(
        batches=batches,
        reader=CheckedLines(basis, referable),
        categories=categories.flat,
        stores=sorted(stores or ()),
        limited=_limited(case),
        digests=cache(partial(digests_of, folder, sources, names)),
        checked_by=[memory.program, basis.schemas.digest, names],
        brands=[entry.value for entry in brands],
        synonyms=[entry.value for entry in synonyms],
    )
    named = named_by_promotions(case)
    state = _state(sources, feeds, referable, named)
    agreement = partial(agree, referable=referable, named=named)
    catalog = CheckedCatalog(feeds, agreement, memory, state)
    has_all = basis.names is not None and None not in referable.values()
    is_good = False
    if sources and has_all and not report.has_problems:
        # Raised where something is wrong with a line of the large kinds.
        with suppress(Faulty):
            is_good = catalog.check(jobs, progress)
    if not is_good:
        large = list(chain.from_iterable(batches.values()))
        LargeCheck(large, basis, case, referable, report).run(jobs, progress)

    if not sources or report.has_problems or basis.names is None:
        return None, report
    return catalog, report


def _limited(case: Case) -> int:
    """Return the stock up to which a store has few."""
    for site in case.having("site", ("catalog", "limited_quantity")):
        settings = site.value.get("catalog") or {}
        limited: int = settings.get("limited_quantity", rows.LIMITED_QUANTITY)
        return limited
    return rows.LIMITED_QUANTITY


def _check_brands(
    brands: Sequence[RecordEntry], places: RecordPlaces, report: FeedReport
) -> None:
    """Check that names of brands are unique, and ids as well."""
    for name in ("name", "id"):
        uses = (
            (entry, (name,), entry.value[name])
            for entry in brands
            if entry.sound((name,))
        )
        once("brand", name, uses, places, report)


def _check_site(sources: Sequence[Source], case: Case, report: FeedReport) -> None:
    """Check that site.yaml says where pages and images of products are, if any are."""
    if all(source.kind.name != "product" for source in sources):
        return
    for site in case.having("site", ("catalog",)):
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
    categories: Categories, case: Case, folder: Path, report: FeedReport
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
        for promotion in case.having("promotion")
        for index, name in case.entries(promotion, ("categories",))
        if name not in names
    ]
    renamed = _renamed(categories, folder) if unnamed else {}
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
        for _, category in inside(document.value):
            id, name = category.get("id"), category.get("name")
            now = present.get(id)
            if isinstance(name, str) and isinstance(now, str) and now != name:
                former.setdefault(name, {})[id] = now
    return {
        name: next(iter(of_ids.items()))
        for name, of_ids in former.items()
        if len(of_ids) == 1
    }


def _state(
    sources: Sequence[Source], feeds: Feeds, referable: Referable, named: Sequence[int]
) -> str:
    """Return a digest of everything that the check of the large kinds reads; ``named``
    are products.

    It is empty where a file was changed just now.
    """
    ids = [
        None if part is None else sorted(map(str, part)) for part in referable.values()
    ]
    beside = [named, ids, feeds.checked_by, feeds.limited]
    return state_of(sources, time.time_ns(), beside)
