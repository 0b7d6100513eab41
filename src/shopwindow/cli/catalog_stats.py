"""`catalog stats`: what a catalog consists of, and what it lacks."""

from collections.abc import Iterator
from dataclasses import asdict

import click
import orjson

from shopwindow.catalog.explaining import NO_CATALOG
from shopwindow.catalog.index.opened import OpenedCatalog
from shopwindow.catalog.index.stats import CatalogStats, Lacking, stats_of
from shopwindow.cli.catalog_explain import UNBUILT, catalog_content
from shopwindow.cli.explain import EXPLAINED_AS, INDENTED
from shopwindow.cli.steps import CONTENT_DIR, OUT, progress_bar
from shopwindow.problems import Misuse, number_of, one_line


@click.command()
@EXPLAINED_AS
@OUT
@CONTENT_DIR
@UNBUILT
def stats(form: str, out: str, content: str, unbuilt: bool) -> None:
    """Print what the catalog consists of, and what its products lack.

    The catalog is the current release's: products, sizes by table, facets and how many
    products have them, products without image, price or category, UPCs that are nowhere
    in stock, and words.
    """
    with catalog_content(out, content, unbuilt) as answering:
        catalog: OpenedCatalog | None = answering.index("catalog")
        if catalog is None:
            raise Misuse("", NO_CATALOG)
        counted = stats_of(catalog, progress_bar("counting"))
    if form == "json":
        click.echo(orjson.dumps(asdict(counted), option=INDENTED))
    else:
        click.echo("\n".join(map(one_line, stats_lines(counted))))


def stats_lines(stats: CatalogStats) -> Iterator[str]:
    """Yield the lines for a terminal."""
    yield f"products    {stats.active:,} active, {stats.inactive:,} inactive"
    for name, lacking in stats.lacking.items():
        products = number_of(lacking.count, "product")
        yield f"            {products} without {_ARTICLES[name]}{_examples(lacking)}"
    empty = stats.empty_categories
    without = f"{empty.count:,} without a product{_examples(empty)}"
    yield f"categories  {stats.categories:,}, {without}"
    yield f"brands      {stats.brands:,}, reviews {stats.reviews:,}"
    stock = stats.stock
    stores = number_of(stock.stores, "store")
    yield f"stock       {number_of(stock.upcs, 'UPC')} that are sold, at {stores}"
    nowhere = number_of(stock.nowhere.count, "UPC")
    yield f"            {nowhere} that cannot be sent and that no store has{_examples(stock.nowhere)}"
    sold_out = number_of(stock.sold_out.count, "product")
    yield f"            {sold_out} of which nothing is left{_examples(stock.sold_out)}"
    yield f"file        {megabytes(stats.bytes)}"
    if stats.tables is None:
        yield "            this SQLite does not count the pages of tables (dbstat)"
    for table in stats.tables or ():
        yield f"            {table.name:<16}{megabytes(table.bytes):>14}"
    dictionary = f"{stats.dictionary:,} bytes" if stats.dictionary else "none"
    yield f"dictionary  {dictionary}"
    words = stats.words
    yield f"words       {words.words:,} of {number_of(words.stems, 'stem')}"
    yield f"            {number_of(words.synonyms, 'word')} with synonyms, {words.forms:,} forms for misspelled ones"
    yield "facets"
    for facet in stats.facets:
        values = number_of(facet.values, "value")
        having = f"{facet.coverage:.0%} of products"
        yield f"            {facet.name:<20}{values:>16}{having:>18}"


_ARTICLES = {"image": "an image", "price": "a price", "category": "a category"}


def _examples(lacking: Lacking) -> str:
    """Return the first of what lacks something, to be read after how many there are."""
    if not lacking.examples:
        return ""
    more = ", …" if lacking.count > len(lacking.examples) else ""
    return f": {', '.join(map(str, lacking.examples))}{more}"


def megabytes(size: int) -> str:
    """Return bytes as people read them."""
    return f"{size / 1_000_000:,.2f} MB"
