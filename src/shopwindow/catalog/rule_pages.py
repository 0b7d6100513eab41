"""The pages of the catalog's rules."""

from shopwindow.content.rule_pages import RulePage

_Y = RulePage

PAGES = (
    _Y(
        "category.depth",
        "A category stands too deep",
        "The menus of the apps show eight levels.",
    ),
    _Y(
        "category.parent",
        "A category has two places",
        "It stands within another one and names a `parent` as well. One of them is enough.",
    ),
    _Y(
        "category.ring",
        "A category stands within itself",
        "By way of its parents it leads back to itself, and no menu ends.",
    ),
    _Y(
        "price.range",
        "A price range does not go from low to high",
        "One price is a number, not a range.",
    ),
    _Y(
        "price.sale",
        "A sale price is not below the regular one",
        "Customers would see a sale that is none.",
    ),
    _Y(
        "product.color",
        "A UPC names a color that its product lacks",
        "The product's `colors` declare the ids.",
    ),
    _Y(
        "product.size",
        "A UPC names a size that its product lacks",
        "The product's `sizes` declare the ids.",
    ),
    _Y(
        "product.ring",
        "A collection of products holds itself",
        "Its page would show itself without end.",
    ),
    _Y(
        "product.upc",
        "The check digit of a bar code is wrong",
        "A digit is mistyped: no scanner would find the product.",
    ),
    _Y(
        "recommendation.itself",
        "A product is recommended with itself",
        "Its page would show it twice.",
    ),
    _Y(
        "site.catalog",
        "site.yaml does not say where images and pages of products are",
        "Answers name both for each product.",
    ),
)
