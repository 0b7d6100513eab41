"""What the conformance table of the catalog lacks: windows, pre-rendering, phrases as data, facets of many values."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from catalog.test_catalog_paths import said
from facts.conformance import AT, documents
from harness.catalogs import PUMP, SETTINGS, indexed
from harness.content import app, as_content, as_value, live, promotion, site, store, write_files
from harness.content import write as write_tree
from harness.program import Content, Schemas, built, manifest
from shopwindow import library
from shopwindow.interface.answering.answer import value_of
from shopwindow.interface.formats import JSON
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.release.prerender import planned_answers, planned_operations
from shopwindow.shop import INTERFACE

Json = Any


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Content:
    folder = tmp_path_factory.mktemp("catalog")
    content = live(write_files(folder / "content", documents()), AT)
    return content.with_indexes({"catalog": indexed(content, folder)})


def asked(content: Content, target: str) -> Json:
    path, _, query = target.partition("?")
    return value_of(bind(Request(path, query), "phone", INTERFACE), content)


# -- search ------------------------------------------------------------------------------------------------------

SEARCH = "https://api.shop.example/v4/catalog/search"


def test_a_facet_of_many_values_tells_ten_and_the_way_to_all_and_back(content: Content) -> None:
    def brands(query: str) -> tuple[list[str], Json]:
        (found,) = [each for each in asked(content, query)["facets"] if each["facetname"] == "BRAND"]
        return [each["value"] for each in found.pop("facetvalues")], found

    question = "searchphrase=vase&perpage=5&imagewidth=90&PRICE=%5B0TO500%5D&BRAND=%5BA,B%5D"
    wider = "searchphrase=vase&perpage=5&facetexpandall=true&imagewidth=90&PRICE=%5B0TO500%5D&BRAND=%5BA,B%5D"
    all = [f"Maker {number:02}" for number in range(1, 13)]
    head = {"facetname": "BRAND", "displayname": "Brand"}
    few, more = brands(f"v4/catalog/search?{question}")
    assert (few, more) == (all[:10], {**head, "facetmoreless": "More", "facetmorelessurl": f"{SEARCH}?{wider}"})
    many, less = brands(more["facetmorelessurl"].removeprefix("https://api.shop.example/") + "&callback=show")
    assert (many, less) == (all, {**head, "facetmoreless": "Less", "facetmorelessurl": f"{SEARCH}?{question}"})


PHRASES = ['"', '""', "'", "pump' OR 1=1 --", "name:pump", "pump*", "NEAR(pump flat)", "a AND b", "NOT pump", "%", "_"]
PHRASES += [
    "*",
    "(",
    ")",
    "[]",
    "\\",
    "{}",
    "^pump",
    "-pump",
    "+pump",
    "pump;",
    "\ufffd",
    "😀",
    "ß",
    "İ",
    "0",
    "9" * 200,
]


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_data_whatever_it_holds(content: Content, schemas: Schemas, phrase: str) -> None:
    value = said(content, schemas, f"v4/catalog/search?searchphrase={quote(phrase)}", "application/xml")
    assert value["searchinput"]["searchphrase"] == phrase
    assert value["searchresultgroups"][0]["totalproducts"] <= 17


def test_pages_are_counted_upwards(content: Content) -> None:
    pages = {
        perpage: asked(content, f"v4/catalog/search?searchphrase=vase&perpage={perpage}")["totalpages"]
        for perpage in (1, 5, 6, 11, 12, 13, 100)
    }
    assert pages == {1: 12, 5: 3, 6: 2, 11: 2, 12: 1, 13: 1, 100: 1}


# -- what the rest of the content says of products ---------------------------------------------------------------


def test_a_promotion_that_is_not_live_is_told_nowhere(tmp_path: Path) -> None:
    later = promotion(7, publish={"from": "2026-12-01"})
    given = {"promotions/all.yaml": [later, promotion(5), promotion(11, publish={"until": "2026-11-01"})]}
    folder = write_tree(write_files(tmp_path / "content", documents()), given)
    content = live(folder, AT)
    content = content.with_indexes({"catalog": indexed(content, tmp_path)})
    (product,) = asked(content, "v3/catalog/product/100?show=summary,price,promotion")["product"]
    (selected,) = asked(content, "v4/catalog/product/100(promotions)")["product"]
    assert product["finalPrice"]["promotions"] == [{"promotionId": 5, "global": False, "promotionName": "Promotion 5"}]
    assert (product["badges"], [each["promotionid"] for each in product["promotion"]]) == (
        {"new": True, "Rebate": True, "onsale": True},
        [5],
    )
    assert [each["promotionID"] for each in selected["promotions"]] == [5]


def test_a_bag_may_hold_fewer_of_a_product_than_that_allows(tmp_path: Path) -> None:
    content = live(write_files(tmp_path / "content", documents()), AT)
    as_value(content)["site"]["bags"] = {"max_quantity": 4}
    content = content.with_indexes({"catalog": indexed(content, tmp_path)})
    told = asked(content, "v4/catalog/product/100,101(productdetails(summary(maxquantity)))")["product"]
    assert [each["productDetails"]["summary"]["maxQuantity"] for each in told] == [4, 4]


@pytest.mark.parametrize(
    ("product", "told"),
    [
        (100, [5, 8, 11, 12, 14]),  # names 5 and 11, is named by 8 and 11, stands in Pumps, in Shoes and below Women
        (102, [12]),  # stands in Women
        (104, [13]),
        (201, [13]),
    ],
)
def test_a_product_has_the_promotions_that_name_it_or_its_categories(
    tmp_path: Path, product: int, told: list[int]
) -> None:
    naming = {8: {"products": [100]}, 11: {"products": [100]}, 12: {"categoryIds": [1]}, 13: {"categoryIds": [2]}}
    naming[14] = {"categoryIds": [121, 12]}
    given = [promotion(5), promotion(7), *(promotion(id, **names) for id, names in naming.items())]
    content = live(write_tree(write_files(tmp_path / "content", documents()), {"promotions/all.yaml": given}), AT)
    content = content.with_indexes({"catalog": indexed(content, tmp_path)})
    (third,) = asked(content, f"v3/catalog/product/{product}?show=promotion")["product"]
    (fourth,) = asked(content, f"v4/catalog/product/{product}(promotions)")["product"]
    assert [each["promotionid"] for each in third["promotion"]] == told
    assert [each["promotionID"] for each in fourth["promotions"]] == told


@pytest.mark.parametrize(
    ("at", "querydate"),
    [
        ("2026-11-24T12:00:00-05:00", "1970-01-01T00:00:00.000+00:00"),
        ("2026-11-27T06:00:00-05:00", "2026-11-27T11:00:00.000+00:00"),
        ("2026-11-30T12:00:00-05:00", "2026-11-27T11:00:00.000+00:00"),
        ("2026-12-01T00:00:00-05:00", "2026-12-01T05:00:00.000+00:00"),
    ],
)
def test_the_query_date_is_the_last_boundary_of_a_window(tmp_path: Path, at: str, querydate: str) -> None:
    window = {"from": "2026-11-27 06:00", "until": "2026-11-30"}
    content = live(
        write_tree(
            tmp_path / "content",
            {
                "site.yaml": site(catalog=SETTINGS),
                "apps/phone.yaml": app("phone"),
                "stores/one.yaml": store(1),
                "promotions/one.yaml": promotion(7, publish=window),
            },
        ),
        at,
    )
    content = content.with_indexes({"catalog": indexed(content, tmp_path)})
    targets = ["category/index", "category/1", "category/1/browseproducts", "product/index"]
    dates = {asked(content, f"v3/catalog/{target}")["querydate"] for target in targets}
    assert (dates, asked(content, "v3/catalog/category/index")["resptime"]) == ({querydate}, "0ms")


# -- what is pre-rendered--------------------------------------------------------------------------------------------


def prerendered(content: Content) -> list[str]:
    """The targets of the catalog's files."""
    asked = [
        asking
        for asking in planned_answers(planned_operations(INTERFACE, content))
        if "catalog" in asking.operation.path
    ]
    return sorted(call.target for asking in asked for call in asking.calls(JSON))


CATEGORIES = [
    *(f"v3/catalog/category/{id}" for id in (1, 11, 12, 121, 2)),
    "v3/catalog/category/index",
]
BRANDS = [f"v4/catalog/category/brandindex/{id}" for id in (1, 11, 12, 121, 2)]


def test_categories_and_featured_products_are_prerendered(content: Content) -> None:
    assert prerendered(content) == [*CATEGORIES, "v3/catalog/product/100", *BRANDS, "v4/catalog/product/100"]


def test_no_product_is_prerendered_unless_it_is_featured(content: Content, tmp_path: Path) -> None:
    plain = {key: value for key, value in PUMP.items() if key != "featured"}
    other = as_content(as_value(content))
    other = other.with_indexes(
        {"catalog": indexed(content, tmp_path, products=[plain], inventory=(), reviews=(), recommendations=())}
    )
    assert prerendered(other) == [*CATEGORIES, *BRANDS]


def test_all_active_products_are_prerendered_where_site_yaml_says_so(content: Content, tmp_path: Path) -> None:
    settings = {**SETTINGS, "prerender": "all"}
    every = as_content({**as_value(content), "site": {**as_value(content)["site"], "catalog": settings}})
    every = every.with_indexes({"catalog": content.index("catalog")})
    ids = sorted((100, 101, 102, 104, *range(201, 213)), key=str)
    products = [f"v3/catalog/product/{id}" for id in ids], [f"v4/catalog/product/{id}" for id in ids]
    assert prerendered(every) == [*CATEGORIES, *products[0], *BRANDS, *products[1]]


def test_a_release_holds_the_catalogs_files_as_they_are_answered(tmp_path: Path) -> None:
    built(write_files(tmp_path / "content", documents()), tmp_path / "dist", at=AT)
    release = (tmp_path / "dist" / "current").resolve()
    entries = [entry for entry in manifest(release)["files"] if "catalog" in entry["path"]]
    content = library.released_content(INTERFACE, tmp_path / "dist")
    assert sorted(entry["path"] for entry in entries if entry["path"].endswith(".json")) == sorted(
        f"{target}.json" for target in prerendered(content)
    )
    lifetimes = {entry["operation"]: entry["lifetime"] for entry in entries}
    assert lifetimes == {
        **dict.fromkeys(("category_index", "category", "brand_index", "product_v3"), 60),
        "product_v4": 300,
    }
