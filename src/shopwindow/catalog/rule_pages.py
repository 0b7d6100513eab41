"""The pages of the catalog's rules."""

from shopwindow.content.rules.rule_pages import RulePage

_CATEGORIES, _PRODUCTS = "catalog/categories.yaml", "catalog/products.yaml"
_URL = 'url: "{{ www }}/shop"'

_PRODUCT_LINE = """\
- id: 1
  name: Wool Coat
  description: Warm, and long enough.
  typeName: COAT
  brand: Northmoor
  categories: [10]
  images: {primary: coat.jpg}
  price: {regular: 120}
"""
"""A product without colors, sizes and bar codes."""

_MENU = f"- id: 10\n  name: Everything\n  {_URL}\n"
_MENU_FILE = (_CATEGORIES, _MENU)
_PRODUCT_FILE = (_PRODUCTS, _PRODUCT_LINE)

_UPC_LINE = """\
  {colors}
  upcs:
    - {{upc: "{upc}", sku: 1, {variant}}}
"""
_RED = "colors: [{id: 1, name: Red, normal: RED}]"
_SIZE_MAPPING = "sizes: [{id: 1, name: S, normal: S}]"


def _with_upc(declared: str, variant: str, upc: str = "036000291452") -> str:
    """Return a product with one bar code, after what its variants are declared by."""
    return _PRODUCT_LINE + _UPC_LINE.format(colors=declared, variant=variant, upc=upc)


def _nested(levels: int) -> str:
    """Return categories within each other, so many levels deep."""
    lines = []
    for level in range(levels):
        indent = "    " * level
        lines += [
            f"{indent}- id: {level + 1}",
            f"{indent}  name: {'Everything' if not level else f'Level {level + 1}'}",
            f"{indent}  {_URL}",
            f"{indent}  categories:",
        ]
    return "\n".join(lines[:-1]) + "\n"


def _priced(price: str) -> str:
    return _PRODUCT_LINE.replace("{regular: 120}", price)


CATALOG_PAGES = (
    RulePage(
        "category.depth",
        "A category stands too deep",
        "The menus of the apps show eight levels.",
        _nested(9),
        _nested(8),
        _CATEGORIES,
    ),
    RulePage(
        "category.parent",
        "A category has two places",
        "It stands within another one and names a `parent` as well. One of them is enough.",
        f"{_MENU}  categories:\n    - id: 11\n      name: Long Coats\n      {_URL}\n      parent: 10\n",
        f"{_MENU}  categories:\n    - id: 11\n      name: Long Coats\n      {_URL}\n",
        _CATEGORIES,
    ),
    RulePage(
        "category.ring",
        "A category stands within itself",
        "By way of its parents it leads back to itself, and no menu ends.",
        f"{_MENU}  parent: 10\n",
        _MENU,
        _CATEGORIES,
    ),
    RulePage(
        "price.range",
        "A price range does not go from low to high",
        "One price is a number, not a range.",
        _priced("{regular: {low: 120, high: 120}}"),
        _priced("{regular: 120}"),
        _PRODUCTS,
        (_MENU_FILE,),
    ),
    RulePage(
        "price.sale",
        "A sale price is not below the regular one",
        "Customers would see a sale that is none.",
        _priced("{regular: 120, sale: 120}"),
        _priced("{regular: 120, sale: 90}"),
        _PRODUCTS,
        (_MENU_FILE,),
    ),
    RulePage(
        "product.color",
        "A UPC names a color that its product lacks",
        "The product's `colors` declare the ids.",
        _with_upc(_RED, "color: 2"),
        _with_upc(_RED, "color: 1"),
        _PRODUCTS,
        (_MENU_FILE,),
    ),
    RulePage(
        "product.size",
        "A UPC names a size that its product lacks",
        "The product's `sizes` declare the ids.",
        _with_upc(_SIZE_MAPPING, "size: 2"),
        _with_upc(_SIZE_MAPPING, "size: 1"),
        _PRODUCTS,
        (_MENU_FILE,),
    ),
    RulePage(
        "product.ring",
        "A collection of products holds itself",
        "Its page would show itself without end.",
        f"{_PRODUCT_LINE}  members: [1]\n",
        _PRODUCT_LINE,
        _PRODUCTS,
        (_MENU_FILE,),
    ),
    RulePage(
        "product.upc",
        "The check digit of a bar code is wrong",
        "A digit is mistyped: no scanner would find the product.",
        _with_upc(_RED, "color: 1", "036000291453"),
        _with_upc(_RED, "color: 1", "036000291452"),
        _PRODUCTS,
        (_MENU_FILE,),
    ),
    RulePage(
        "promotion.category",
        "A promotion names a category that the catalog lacks",
        "It may be misspelled. This is a warning.",
        "categories: [Everythin]",
        "categories: [Everything]",
        "promotions/1-welcome.yaml",
        (_MENU_FILE,),
    ),
    RulePage(
        "recommendation.itself",
        "A product is recommended with itself",
        "Its page would show it twice.",
        "- product: 1\n  products: [1]\n",
        path="catalog/recommendations.yaml",
        beside=(_MENU_FILE, _PRODUCT_FILE),
        advice="Name other products, or delete the entry.",
    ),
    RulePage(
        "site.catalog",
        "site.yaml does not say where images and pages of products are",
        "Answers name both for each product.",
        "",
        'catalog:\n  image_url: "{{ images }}/products"\n  product_url: "{{ www }}/product?ID={id}"\n',
        "site.yaml",
        (_MENU_FILE, _PRODUCT_FILE),
    ),
    RulePage(
        "table.width",
        "A row of a table has another number of cells than its header",
        "A separator within a value needs quotes.",
        advice="Count the separators of the row, and put quotes around a cell that holds one.",
    ),
)
