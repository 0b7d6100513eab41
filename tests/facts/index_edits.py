"""What may happen to a catalog between two builds: each edit as a function that changes its documents."""

from collections.abc import Callable

from harness.catalogs import DRAWN_BRANDS, LOCATIONS, NEW_LOCATIONS, SITES, EditedCatalog, category

Edit = Callable[[EditedCatalog], None]
EDITS: dict[str, Edit] = {}
"""Every edit, by its name."""

VALUES_OF_MANY = 1100
"""Values of an attribute: so many that it is no facet."""

MOST_CATEGORIES = 8
"""Categories of an edited catalog. However they stand below each other, that is no deeper than the check allows."""


def edit(function: Edit) -> Edit:
    EDITS[function.__name__] = function
    return function


@edit
def nothing(shop: EditedCatalog) -> None:
    """The documents of the build before."""


# -- prices


@edit
def price(shop: EditedCatalog) -> None:
    shop.some()["price"] = shop.price()


@edit
def many_prices(shop: EditedCatalog) -> None:
    for _ in range(20):
        price(shop)


@edit
def sale(shop: EditedCatalog) -> None:
    shop.some()["price"] |= {"sale": 1.5}


@edit
def end_of_sale(shop: EditedCatalog) -> None:
    for each in shop.products.values():
        each["price"].pop("sale", None)


# -- what products are called and found by


@edit
def name(shop: EditedCatalog) -> None:
    shop.some()["name"] = shop.text(3)


@edit
def unheard_name(shop: EditedCatalog) -> None:
    shop.some()["name"] = f"Xylophone{shop.source.randrange(50)} {shop.text(1)}"


@edit
def same_name(shop: EditedCatalog) -> None:
    """Two products that only their ids tell apart in an order of names."""
    shop.some()["name"] = shop.some()["name"]


@edit
def name_with_marks(shop: EditedCatalog) -> None:
    shop.some()["name"] = f"Ångström’s {shop.text(1)} T-shirt, 8½ café"


@edit
def description(shop: EditedCatalog) -> None:
    shop.some()["description"] = shop.text(9)


@edit
def bullets(shop: EditedCatalog) -> None:
    shop.some()["bullets"] = [shop.text(2), shop.text(3)]


@edit
def type_name(shop: EditedCatalog) -> None:
    shop.some()["typeName"] = shop.source.choice(("LAMP", "THING", "SCARF"))


@edit
def other_synonyms(shop: EditedCatalog) -> None:
    shop.synonyms = [[f"{shop.text(1)} set", shop.text(2)]]


@edit
def no_synonyms(shop: EditedCatalog) -> None:
    shop.synonyms = []


# -- brands


@edit
def brand(shop: EditedCatalog) -> None:
    shop.some()["brand"] = shop.source.choice(DRAWN_BRANDS)


@edit
def brand_document(shop: EditedCatalog) -> None:
    """A brand gets a document."""
    named = {each["name"] for each in shop.brands}
    for name in DRAWN_BRANDS:
        if name not in named:
            id = 1 + max((each["id"] for each in shop.brands), default=0)
            shop.brands.insert(shop.source.randrange(len(shop.brands) + 1), shop.brand(id, name))
            return


@edit
def no_brand_document(shop: EditedCatalog) -> None:
    if shop.brands:
        shop.brands.pop(shop.source.randrange(len(shop.brands)))


@edit
def id_of_brand(shop: EditedCatalog) -> None:
    if shop.brands:
        shop.source.choice(shop.brands)["id"] = 1 + max(each["id"] for each in shop.brands)


@edit
def url_of_brand(shop: EditedCatalog) -> None:
    if shop.brands:
        shop.source.choice(shop.brands)["url"] += "/new"


@edit
def name_of_brand(shop: EditedCatalog) -> None:
    """A brand is renamed, and so are its products."""
    if not shop.brands:
        return
    renamed = shop.source.choice(shop.brands)
    free = sorted({*DRAWN_BRANDS, "Elm", "Fir"} - {each["name"] for each in shop.brands})
    before, renamed["name"] = renamed["name"], shop.source.choice(free)
    for each in shop.products.values():
        if each["brand"] == before:
            each["brand"] = renamed["name"]


# -- facets


@edit
def facet_values(shop: EditedCatalog) -> None:
    changed = shop.some()
    changed["colors"] = changed["colors"][:1]
    changed["attributes"] = {"Material": [f"Rare{shop.source.randrange(9)}"]}


@edit
def sizes(shop: EditedCatalog) -> None:
    letters = shop.source.sample("SMLX", 2)
    shop.some()["sizes"] = [{"id": n, "name": letter, "normal": letter} for n, letter in enumerate(letters, 1)]


@edit
def no_attributes(shop: EditedCatalog) -> None:
    shop.some().pop("attributes", None)


@edit
def attribute_in_other_letters(shop: EditedCatalog) -> None:
    """A product has one facet's values under two names."""
    changed = shop.some()
    changed["attributes"] = {**changed.get("attributes", {}), "MATERIAL": [shop.text(1)], "fit": ["Wide"]}


@edit
def attribute_becomes_common(shop: EditedCatalog) -> None:
    """So many products have it that it is a facet."""
    for id in shop.others(0, len(shop.products) // 2):
        values = [shop.source.choice(("Matt", "Gloss"))]
        shop.products[id]["attributes"] = {**shop.products[id].get("attributes", {}), "Finish": values}


@edit
def attribute_becomes_rare(shop: EditedCatalog) -> None:
    """All but one of the products that have it lose it, so it is no facet."""
    having = {
        name: [each for each in shop.products.values() if name in each.get("attributes", ())]
        for name in ("Finish", "Fit")
    }
    attribute = max(having, key=lambda name: len(having[name]))
    for each in having[attribute][1:]:
        del each["attributes"][attribute]


@edit
def attribute_of_many_values(shop: EditedCatalog) -> None:
    attribute = shop.source.choice(("Material", "Finish"))
    values = [f"Shade {number}" for number in range(VALUES_OF_MANY)]
    changed = shop.some()
    changed["attributes"] = {**changed.get("attributes", {}), attribute: values}


@edit
def attribute_of_few_values(shop: EditedCatalog) -> None:
    for each in shop.products.values():
        for attribute, values in each.get("attributes", {}).items():
            each["attributes"][attribute] = values[:3]


# -- where products stand, and whether they are sold


@edit
def start_days(shop: EditedCatalog) -> None:
    shop.some()["startDays"] = shop.source.randrange(9)


@edit
def updated(shop: EditedCatalog) -> None:
    shop.some()["updated"] = shop.instant()


@edit
def flags(shop: EditedCatalog) -> None:
    shop.some()["featured"] = shop.source.random() < 0.5
    shop.some()["storeEligible"] = shop.source.random() < 0.5


@edit
def best_seller(shop: EditedCatalog) -> None:
    shop.some()["bestSeller"] = shop.source.randrange(1, 99)


@edit
def no_best_seller(shop: EditedCatalog) -> None:
    best = [each for each in shop.products.values() if "bestSeller" in each]
    if best:
        del shop.source.choice(best)["bestSeller"]


@edit
def best_of_all(shop: EditedCatalog) -> None:
    """Several products, each to the very front of the one before."""
    for _ in range(12):
        shop.some()["bestSeller"] = 1


@edit
def best_sellers_again(shop: EditedCatalog) -> None:
    for each in shop.products.values():
        each.pop("bestSeller", None)
        if shop.source.random() < 0.4:
            each["bestSeller"] = shop.source.randrange(1, 99)


@edit
def active(shop: EditedCatalog) -> None:
    shop.some()["active"] = shop.source.random() < 0.5


@edit
def sold_again(shop: EditedCatalog) -> None:
    for each in shop.products.values():
        each.pop("active", None)


@edit
def sold_no_longer(shop: EditedCatalog) -> None:
    for id in shop.others(0, 9):
        shop.products[id]["active"] = False


# -- products that come and go


@edit
def add(shop: EditedCatalog) -> None:
    id = shop.new_id()
    shop.products[id] = shop.product(id)


@edit
def add_several(shop: EditedCatalog) -> None:
    """So many that the catalog has its first size again, and some more."""
    for _ in range(max(10, shop.size - len(shop.products))):
        add(shop)


@edit
def add_in_one_place(shop: EditedCatalog) -> None:
    """Several products between two others."""
    best = shop.source.randrange(1, 99)
    for _ in range(14):
        id = shop.new_id()
        shop.products[id] = {**shop.product(id), "bestSeller": best, "active": True}


@edit
def remove(shop: EditedCatalog) -> None:
    shop.drop(shop.some()["id"])


@edit
def remove_many(shop: EditedCatalog) -> None:
    """Three of ten products."""
    for id in shop.others(0, len(shop.products) * 3 // 10):
        shop.drop(id)


@edit
def remove_best(shop: EditedCatalog) -> None:
    """The products that stand first."""
    best = sorted(shop.products.values(), key=lambda each: (each.get("bestSeller", 100), each["id"]))
    for each in best[:5]:
        shop.drop(each["id"])


@edit
def bring_back(shop: EditedCatalog) -> None:
    shop.bring_back()


@edit
def other_id(shop: EditedCatalog) -> None:
    """A product that has another id and else is what it was, UPCs included."""
    changed = shop.some()
    entries, stock = changed.get("upcs", []), dict(shop.stock)
    shop.drop(changed["id"])
    shop.gone.pop()
    id = shop.new_id()
    shop.products[id] = {**changed, "id": id}
    shop.set_list(shop.products[id], "members", [])
    shop.stock |= {entry["upc"]: stock[entry["upc"]] for entry in entries if entry["upc"] in stock}


@edit
def products_in_another_order(shop: EditedCatalog) -> None:
    ids = list(shop.products)
    shop.source.shuffle(ids)
    shop.products = {id: shop.products[id] for id in ids}


# -- UPCs and stock


@edit
def upc(shop: EditedCatalog) -> None:
    """A UPC is sold no longer, or again."""
    for entry in shop.some().get("upcs", []):
        entry["active"] = shop.source.random() < 0.5


@edit
def upc_added(shop: EditedCatalog) -> None:
    changed, entry = shop.some(), shop.entry()
    changed["upcs"] = [entry, *changed.get("upcs", ())]
    shop.stock[entry["upc"]] = shop.quantities()


@edit
def upc_removed(shop: EditedCatalog) -> None:
    changed, entry = shop.source.choice(list(shop.upcs()))
    shop.set_upcs(changed, [each for each in changed["upcs"] if each is not entry])


@edit
def upc_moved(shop: EditedCatalog) -> None:
    """A UPC goes from one product to another, with its sku and its stock."""
    changed, entry = shop.source.choice(list(shop.upcs()))
    shop.set_list(changed, "upcs", [each for each in changed["upcs"] if each is not entry])
    other = shop.some()
    other["upcs"] = [*other.get("upcs", ()), entry]


@edit
def upcs_swapped(shop: EditedCatalog) -> None:
    """Each of two products has the UPCs of the other now."""
    one, other = shop.some(), shop.some()
    entries = one.get("upcs", []), other.get("upcs", [])
    shop.set_list(other, "upcs", entries[0])
    shop.set_list(one, "upcs", entries[1])


@edit
def skus_swapped(shop: EditedCatalog) -> None:
    (_, one), (_, other) = shop.source.choices(list(shop.upcs()), k=2)
    one["sku"], other["sku"] = other["sku"], one["sku"]


@edit
def upc_in_other_digits(shop: EditedCatalog) -> None:
    """A UPC is written with another zero in front, which does not count."""
    short = [(each, entry) for each, entry in shop.upcs() if len(entry["upc"]) < 14]
    if short:
        _, entry = shop.source.choice(short)
        before, entry["upc"] = entry["upc"], f"0{entry['upc']}"
        shop.stock = {entry["upc"] if upc == before else upc: quantities for upc, quantities in shop.stock.items()}


@edit
def other_sku(shop: EditedCatalog) -> None:
    _, entry = shop.source.choice(list(shop.upcs()))
    entry["sku"] = shop.entry()["sku"]


@edit
def all_stock(shop: EditedCatalog) -> None:
    shop.stock = {upc: shop.quantities() for upc in shop.stock}


@edit
def one_stock(shop: EditedCatalog) -> None:
    if shop.stock:
        shop.stock[shop.source.choice(list(shop.stock))] = shop.quantities()


@edit
def stock_of_another_order(shop: EditedCatalog) -> None:
    upcs = list(shop.stock)
    shop.source.shuffle(upcs)
    shop.stock = {upc: shop.stock[upc] for upc in upcs}


@edit
def stock_known(shop: EditedCatalog) -> None:
    for _, entry in shop.upcs():
        shop.stock.setdefault(entry["upc"], shop.quantities())


@edit
def no_stock(shop: EditedCatalog) -> None:
    if shop.stock:
        del shop.stock[shop.source.choice(list(shop.stock))]


@edit
def store_opened(shop: EditedCatalog) -> None:
    """Two stores have something for the first time; their numbers are no neighbors of the others."""
    for location in NEW_LOCATIONS:
        if shop.stock:
            shop.stock[shop.source.choice(list(shop.stock))]["stores"][str(location)] = 7


@edit
def store_closed(shop: EditedCatalog) -> None:
    location = str(shop.source.choice((*LOCATIONS, *NEW_LOCATIONS)))
    for quantities in shop.stock.values():
        quantities["stores"].pop(location, None)


# -- collections, reviews and recommendations


@edit
def members(shop: EditedCatalog) -> None:
    """A product becomes a collection, or has other members. Those have greater ids, so there is no ring."""
    changed = shop.some()
    shop.set_list(changed, "members", shop.others(changed["id"], 3, above=changed["id"]))


@edit
def member_added(shop: EditedCatalog) -> None:
    for changed in shop.products.values():
        more = set(shop.others(changed["id"], 5, above=changed["id"])) - {*changed.get("members", ())}
        if "members" in changed and more:
            changed["members"].insert(0, more.pop())
            return


@edit
def member_removed(shop: EditedCatalog) -> None:
    for changed in shop.products.values():
        shop.set_list(changed, "members", changed.get("members", [])[1:])


@edit
def members_in_another_order(shop: EditedCatalog) -> None:
    for changed in shop.products.values():
        shop.source.shuffle(changed.get("members", []))


@edit
def collection_removed(shop: EditedCatalog) -> None:
    for changed in list(shop.products.values()):
        if "members" in changed:
            shop.drop(changed["id"])
            return


@edit
def reviewed(shop: EditedCatalog) -> None:
    for _ in range(3):
        shop.reviews.append(shop.review(shop.next_review))
        shop.next_review += 1


@edit
def unreviewed(shop: EditedCatalog) -> None:
    if shop.reviews:
        shop.reviews.pop(shop.source.randrange(len(shop.reviews)))


@edit
def reviewed_otherwise(shop: EditedCatalog) -> None:
    if shop.reviews:
        changed = shop.source.choice(shop.reviews)
        changed |= {"rating": shop.source.randrange(1, 6), "text": shop.text(5)}


@edit
def review_of_another_product(shop: EditedCatalog) -> None:
    if shop.reviews:
        shop.source.choice(shop.reviews)["product"] = shop.some()["id"]


@edit
def reviews_in_another_order(shop: EditedCatalog) -> None:
    shop.source.shuffle(shop.reviews)


@edit
def recommended(shop: EditedCatalog) -> None:
    id = shop.some()["id"]
    chosen = shop.others(id, 4)
    if chosen:
        shop.recommendations[id] = chosen


@edit
def recommended_no_longer(shop: EditedCatalog) -> None:
    shop.recommendations = dict(list(shop.recommendations.items())[1:])


# -- categories


@edit
def categories(shop: EditedCatalog) -> None:
    shop.some()["categories"] = shop.some_categories(2)


@edit
def category_name(shop: EditedCatalog) -> None:
    shop.source.choice(shop.tree)["name"] = shop.text(1)


@edit
def category_url(shop: EditedCatalog) -> None:
    shop.source.choice(shop.tree)["url"] += "/new"


@edit
def category_moved(shop: EditedCatalog) -> None:
    """A category stands below another, or below none, with all that it holds."""
    moved = shop.source.choice(shop.tree)
    inside = shop.below(moved["id"])
    parents = [each["id"] for each in shop.tree if each["id"] not in inside]
    moved.pop("parent", None)
    if parents and shop.source.random() < 0.8:
        moved["parent"] = shop.source.choice(parents)


@edit
def category_added(shop: EditedCatalog) -> None:
    """A category with products in it, whose home it becomes, and with another category below it."""
    if len(shop.tree) >= MOST_CATEGORIES:
        return
    id = 1 + max(each["id"] for each in shop.tree)
    parent = shop.source.choice(shop.tree)["id"]
    below = shop.source.choice(shop.tree)
    shop.tree.insert(shop.source.randrange(len(shop.tree) + 1), category(id, shop.text(1), parent=parent))
    if parent not in shop.below(below["id"]):
        below["parent"] = id
    for product in shop.others(0, 5):
        shop.products[product]["categories"] = [id, *shop.products[product]["categories"]]


@edit
def category_removed(shop: EditedCatalog) -> None:
    """What it held, categories and products, goes to where it stood, or to a category that is left."""
    if len(shop.tree) < 3:
        return
    removed = shop.tree.pop(shop.source.randrange(len(shop.tree)))
    heir = removed.get("parent", shop.tree[0]["id"])
    for each in shop.tree:
        if each.get("parent") == removed["id"]:
            each.pop("parent")
            if "parent" in removed:
                each["parent"] = removed["parent"]
    for each in shop.products.values():
        if removed["id"] in each["categories"]:
            each["categories"] = [id for id in each["categories"] if id != removed["id"]] or [heir]


@edit
def categories_in_another_order(shop: EditedCatalog) -> None:
    shop.source.shuffle(shop.tree)


# -- and


@edit
def settings(shop: EditedCatalog) -> None:
    shop.site = shop.source.choice(SITES)


@edit
def everything(shop: EditedCatalog) -> None:
    """All other edits, in any order."""
    names = [name for name in EDITS if name != "everything"]
    for name in shop.source.sample(names, len(names)):
        EDITS[name](shop)


def empty(shop: EditedCatalog) -> None:
    """No edit may follow but one that adds products."""
    for id in list(shop.products):
        shop.drop(id)


def hide(shop: EditedCatalog) -> None:
    for each in shop.products.values():
        each["active"] = False


TABLE: dict[str, tuple[Edit, ...]] = {
    **{name: (edit,) for name, edit in EDITS.items()},
    "emptied, and filled again": (empty, add_several),
    "hidden, and sold again": (hide, sold_again),
}
"""What happens to a catalog, with a build after each edit."""
