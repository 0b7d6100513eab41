"""What an index is built from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from shopwindow.content.reading.yaml import Json

LIMITED_QUANTITY = 3
"""Stock up to which a store's status is LIMITED, unless site.yaml says otherwise."""


@dataclass(frozen=True)
class Sources:
    """The documents of a catalog, and what their rows depend on.

    Attributes:
        site: site.yaml.
        categories: trees, or a list of which each names its `parent`.
        products, inventory, reviews, recommendations: iterables that may be read more
            than once. `Records` are read in parts, by several processes.
        stores: the location numbers of all stores that may have stock.
        digests: of the files of a kind, by its name: equal ones mean equal documents. A
            kind that is not among them is read.
    """

    site: Mapping[str, Json] = field(default_factory=dict)
    categories: Iterable[Json] = ()
    brands: Iterable[Json] = ()
    products: Iterable[Json] = ()
    inventory: Iterable[Json] = ()
    reviews: Iterable[Json] = ()
    recommendations: Iterable[Json] = ()
    synonyms: Sequence[Sequence[str]] = ()
    stores: Iterable[int] = ()
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> Mapping[str, Json]:
        """What site.yaml says of the catalog."""
        return self.site.get("catalog") or {}

    def lines(self) -> Mapping[str, Iterable[Json]]:
        """Return the documents of the kinds that have a row for each line, by kind."""
        return {
            "product": self.products,
            "inventory": self.inventory,
            "review": self.reviews,
            "recommendation": self.recommendations,
        }
