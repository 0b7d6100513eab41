"""Facts about `catalog explain`: its order is that of the search, and what it says is true."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.test_search import shop as shop
from harness.catalogs import OpenedCatalog, ProductQuery, category, explain, index, product
from harness.content import SAMPLE, examples
from harness.program import built, shopwindow
from shopwindow import library
from shopwindow.catalog.feeds.words import STOP_WORDS
from shopwindow.catalog.operations.explaining import explained
from shopwindow.catalog.search.searching import MAX_SCORED
from shopwindow.problems import Misuse
from shopwindow.shop import INTERFACE

Json = Any


@pytest.fixture(scope="module")
def sample_catalog(sample_out: Path) -> OpenedCatalog:
    catalog = library.released_content(INTERFACE, sample_out).index("catalog")
    assert isinstance(catalog, OpenedCatalog)
    return catalog


@pytest.fixture(scope="module")
def sample_words(sample_catalog: OpenedCatalog) -> list[str]:
    return [word for (word,) in sample_catalog.file.rows("SELECT word FROM word ORDER BY word")]


def check_explanation(catalog: OpenedCatalog, phrase: str, query: ProductQuery | None = None, limit: int = 5) -> Json:
    """Explain a search, and hold what is said against the search itself."""
    query = query or ProductQuery()
    explanation = explain(catalog, phrase, query, limit)
    page = catalog.search(phrase, replace(query, perpage=limit))
    products = explanation["products"]
    assert tuple(one["id"] for one in products) == page.ids
    assert (explanation["filtered"], explanation["corrected"]) == (page.total, page.corrected)
    assert [one["place"] for one in products] == list(range(1, len(products) + 1))
    assert json.loads(json.dumps(explanation, default=list))["phrase"] == phrase
    used = {word for term in explanation["terms"] for word in term["words"]}
    assert used.isdisjoint(explanation["unused"])
    return explanation


def typo(word: str, place: int) -> str:
    """A word with two letters swapped."""
    at = place % max(1, len(word) - 1)
    return word[:at] + word[at : at + 2][::-1] + word[at + 2 :]


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data())
def test_the_order_is_that_of_the_search(
    sample_catalog: OpenedCatalog, sample_words: list[str], data: st.DataObject
) -> None:
    word = st.sampled_from(sample_words)
    written = st.one_of(
        word,
        st.builds(typo, word, st.integers(0, 20)),
        st.builds(lambda word, end: word[:end], word, st.integers(1, 6)),
        st.sampled_from(sorted(STOP_WORDS)),
        st.sampled_from(["zxqv", "under", "$60", "pair of", "show me", "530147"]),
    )
    phrase = " ".join(data.draw(st.lists(written, min_size=1, max_size=5)))
    filters: dict[str, tuple[str, ...]] = data.draw(
        st.sampled_from([{}, {"COLOR": ("BLACK",)}, {"BRAND": ("Northmoor",)}])
    )
    limit = data.draw(st.sampled_from([1, 5, 100]))
    explanation = check_explanation(sample_catalog, phrase, ProductQuery(filters=filters), limit)
    if not explanation["widened"]:
        scores = [one["score"] for one in explanation["products"] if one["score"] is not None]
        assert scores == sorted(scores, reverse=True)


def test_the_order_is_that_of_the_operation(sample_out: Path) -> None:
    content = library.released_content(INTERFACE, sample_out)
    opened = library.opened(INTERFACE, SAMPLE)
    response = library.show(opened, "v4/catalog/search?searchphrase=black+coat&perpage=20&COLOR=BLACK")
    answered = json.loads(response.body)["searchresultgroups"][0]["products"]["product"]
    explanation = explained(INTERFACE, content, "black coat", [("COLOR", "BLACK")], 20)
    assert [one["id"] for one in explanation["products"]] == [int(one["id"]) for one in answered]


@pytest.mark.parametrize(
    ("phrase", "terms", "unused"),
    [
        ("the for with", [], ["the", "for", "with"]),
        ("zxcvb qwrtp", [], ["zxcvb", "qwrtp"]),
        ("oak trampoline", ["oak"], ["trampoline"]),
        ("I'm looking for a leather desk", ["desk"], ["a", "leather"]),
        ("hiking socks under $1,000", ["hiking", "socks"], []),
        ("!!!", [], []),
        ("8", [], ["8"]),
    ],
)
def test_each_word_is_used_or_not(shop: OpenedCatalog, phrase: str, terms: list[str], unused: list[str]) -> None:
    explanation = check_explanation(shop, phrase)
    assert [" ".join(term["words"]) for term in explanation["terms"]] == terms
    assert explanation["unused"] == unused


@pytest.mark.parametrize("phrase", ["11", "012345678905", " 770011 "])
def test_a_number_finds_its_product_without_a_score(shop: OpenedCatalog, phrase: str) -> None:
    (only,) = check_explanation(shop, phrase)["products"]
    assert only == {
        "place": 1, "id": 11, "name": "Cotton T-Shirt", "brand": "Larkspur", "rank": 10, "score": None, "matches": {}
    }  # fmt: skip


def test_terms_say_what_stands_for_them_and_how(shop: OpenedCatalog) -> None:
    def ways(phrase: str) -> list[Json]:
        terms = check_explanation(shop, phrase)["terms"]
        return [(term["corrected"], one["stems"], one["way"]) for term in terms for one in term["standsFor"]]

    assert ways("rucksack") == [(None, ("backpack",), "synonym")]
    assert ways("back pack") == [(None, ("backpack",), "itself")]
    assert ways("neckl") == [(None, ("necklac",), "begun")]
    assert ways("perl") == [("pearl", ("pearl",), "corrected")]
    assert check_explanation(shop, "leg")["widened"]


def test_what_matched_where(shop: OpenedCatalog) -> None:
    desk, lamp = check_explanation(shop, "oak desk")["products"]
    assert (desk["matches"]["name"], lamp["matches"]["name"]) == (["oak", "desk"], ["desk"])
    assert desk["score"] > lamp["score"]


def test_products_that_tie_stand_by_their_rank(tmp_path: Path) -> None:
    catalog = index(tmp_path, *(product(id, "Plain Lamp", bestSeller=9 - id) for id in range(1, 6)))
    products = check_explanation(catalog, "lamp")["products"]
    assert len({one["score"] for one in products}) == 1
    assert [one["rank"] for one in products] == [1, 2, 3, 4, 5]


def test_beyond_the_products_that_are_scored_the_rank_decides(tmp_path: Path) -> None:
    count = MAX_SCORED + 30
    catalog = index(tmp_path, *(product(id, f"Thing {id}", description="A lamp.") for id in range(1, count + 1)))
    explanation = check_explanation(catalog, "lamp", limit=count)
    assert [one["score"] is None for one in explanation["products"]] == [False] * MAX_SCORED + [True] * 30


def test_what_became_of_a_product_that_is_named(shop: OpenedCatalog) -> None:
    def became(phrase: str, id: int, **query: Any) -> Json:
        named = explain(shop, phrase, ProductQuery(**query), 1, id)["product"]
        assert named.pop("id") == id
        shown = named.pop("product")
        assert (shown and shown["place"]) == named["place"]
        return named

    absent: Json = {"exists": True, "active": True, "found": False, "place": None, "lacks": []}
    left_out = absent | {"found": True}
    assert became("desk", 999) == absent | {"exists": False, "active": False}
    assert became("desk", 10) == absent | {"active": False}
    assert became("8", 7) == absent
    assert became("desk", 1) == left_out | {"place": 1}
    assert became("desk", 7) == left_out | {"place": 2}
    assert became("oak desk", 8) == absent | {"lacks": ["oak", "desk"]}
    assert became("zxcvb", 8) == absent
    assert became("hiking socks under $60", 14) == left_out
    assert became("backpack", 3, filters={"BRAND": ("Nobody",)}) == left_out


def test_every_product_is_found_or_lacks_something(sample_catalog: OpenedCatalog) -> None:
    found = set(sample_catalog.search("black leather", ProductQuery(perpage=1000)).ids)
    for id in sample_catalog.product_ids()[1][::7]:
        named = explain(sample_catalog, "black leather", ProductQuery(), 1, id)["product"]
        assert (named["found"], not named["lacks"]) == (id in found, id in found)


def test_the_kind_is_the_category(tmp_path: Path) -> None:
    catalog = index(tmp_path, product(1, categories=[2]), categories=[category(1), category(2, "Lamps")])
    (only,) = check_explanation(catalog, "lamps")["products"]
    assert only["matches"] == {"kind": ["lamps"]}


# -- the command -------------------------------------------------------------------------------------------------


def test_the_command_prints_the_value_as_json(sample_out: Path, sample_catalog: OpenedCatalog) -> None:
    ran = shopwindow("catalog", "explain", "marlow coat", "--out", sample_out, "--limit", "2", "--product", "529100")
    explanation = explain(sample_catalog, "marlow coat", ProductQuery(), 2, 529100)
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out) == json.loads(json.dumps(explanation))
    assert explanation["products"][0]["id"] == 520100


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x" * 1001], "1000 characters"),
        (["--product", "529100"], "a filter and a product go with a PHRASE"),
        (["coat", "--filter", "COLOR"], "write NAME=VALUE, such as COLOR=Red"),
        (["coat", "--filter", "page=2"], "page: is no filter, such as CATEGORY or COLOR"),
        (["coat", "--filter", "PRICE=cheap"], "PRICE"),
        (
            ["coat", "--filter", "color=Red"],
            "color: no facet of this catalog, so the search ignores it; facets: AGE, ",
        ),
        (["coat", "--filter", "COLR=Red"], "; did you mean COLOR?"),
        (["coat", "--limit", "0"], "--limit"),
    ],
)
def test_what_cannot_be_explained_is_refused_in_a_sentence(sample_out: Path, arguments: list[str], words: str) -> None:
    ran = shopwindow("catalog", "explain", "--out", sample_out, *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert words in ran.err


def test_where_there_is_no_catalog_a_build_is_advised(minimal: Path, tmp_path: Path) -> None:
    built(minimal, tmp_path / "dist")
    ran = shopwindow("catalog", "explain", "--out", tmp_path / "dist")
    sentence = "there is no catalog; `shopwindow build` writes one where content/catalog has files"
    assert (ran.status, ran.err) == (2, f"Error: {sentence}\n")


def test_where_a_catalog_is_lost_it_is_said_what_brings_it_back(sample_out: Path, tmp_path: Path) -> None:
    out = tmp_path / "dist"
    shutil.copytree(sample_out, out, symlinks=True)
    path = (out / "current").resolve() / "catalog.sqlite"
    path.unlink()
    ran = shopwindow("catalog", "explain", "coat", "--out", out)
    build = "`shopwindow build --no-cache` writes it again"
    pull = "where releases are pulled, `shopwindow pull SOURCE` fetches it again"
    assert (ran.status, ran.err) == (4, f"shopwindow: {path}: is missing; {build}; {pull}\n")
    built(SAMPLE, out, "--no-cache")
    assert shopwindow("catalog", "explain", "coat", "--out", out).status == 0


@pytest.mark.parametrize("arguments", [[], ["black coat"]], ids=["without a phrase", "with one"])
def test_a_damaged_catalog_is_a_sentence(sample_out: Path, tmp_path: Path, arguments: list[str]) -> None:
    out = shutil.copytree(sample_out, tmp_path / "dist", symlinks=True)
    file = (out / "current" / "catalog.sqlite").resolve()
    data = bytearray(file.read_bytes())
    half = len(data) // 2
    data[half // 2 : half + half // 2] = b"\xff" * half
    file.unlink()
    file.write_bytes(data)
    ran = shopwindow("catalog", "explain", *arguments, "--out", out)
    assert (ran.status, ran.out) == (4, "")
    assert "`shopwindow build --no-cache` writes every file again" in ran.err


def test_an_interface_without_a_catalog_has_nothing_to_explain(sample_out: Path) -> None:
    content = library.released_content(INTERFACE, sample_out)
    with pytest.raises(Misuse, match="no catalog"):
        explained(replace(INTERFACE, operations=()), content, "coat", [], 5)
