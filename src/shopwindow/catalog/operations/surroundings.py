"""What a product's responses depend on beside its document, and what both versions take
from it: images, its own URL, and live promotions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.retail.articles import MAX_QUANTITY, most_of_one


@dataclass(frozen=True)
class Images:
    """What goes into the URLs of images: widths in pixels, and ``quality`` in percent,
    or None.
    """

    width: int = 164
    upc_width: int = 164
    swatch_width: int = 24
    quality: int | None = None


DEFAULT_IMAGES = Images()
"""The images of a request that names no widths."""


@dataclass(frozen=True)
class Surroundings:
    """What a product's responses depend on beside its document.

    The URLs are of site.yaml's `catalog`; ``promotion`` returns a live one by its id, or
    None; ``max_quantity`` is how many of one item a bag may hold; ``images`` are those
    that the request wants.
    """

    image_url: str
    product_url: str
    promotion: Callable[[int], Json | None]
    max_quantity: int = MAX_QUANTITY
    images: Images = DEFAULT_IMAGES


def surroundings(content: Content, images: Images = DEFAULT_IMAGES) -> Surroundings:
    """Return the surroundings of a release's products."""
    settings = content.setting("catalog") or {}
    return Surroundings(
        settings.get("image_url", ""),
        settings.get("product_url", ""),
        partial(content.document, "promotion", "promoId"),
        most_of_one(content),
        images,
    )


def image_url(name: str, width: int, around: Surroundings) -> str:
    """Return the URL of an image in some width."""
    percent = around.images.quality
    quality = "" if percent is None else f"&qlt={percent}"
    return f"{around.image_url}/{name}?wid={width}{quality}"


def live_promotions(named: Json, around: Surroundings) -> list[Json]:
    """Return the live promotions that a document names, by id."""
    promotions = map(around.promotion, sorted(named.get("promotions", ())))
    return [promotion for promotion in promotions if promotion is not None]


def product_url(product: Json, around: Surroundings) -> str:
    """Return the product's own URL, or the one that site.yaml has a pattern for."""
    url: str = product.get("url") or around.product_url.replace(
        "{id}", str(product["id"])
    )
    return url
