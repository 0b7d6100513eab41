"""Facts about `catalog explain`: its order and its scores are those of the search, and its reasons are true."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from plain_catalog import category, index, product
from releases import SAMPLE, built, shopwindow
from shopwindow import library
from shopwindow.catalog.explaining import explained
from shopwindow.catalog.index.clauses import Clause, clause_of, satisfying
from shopwindow.catalog.index.explaining import explain
from shopwindow.catalog.index.opened import OpenedCatalog
from shopwindow.catalog.index.reasons import (
    ClauseReason,
    ProductReason,
    SearchExplanation,
)
from shopwindow.catalog.index.searching import MAX_SCORED, MAX_WORDS
from shopwindow.catalog.index.words import STOP_WORDS
from shopwindow.catalog.protocol import ProductQuery
from shopwindow.cli.catalog_explain import explanation_lines
from shopwindow.problems import Misuse
from shopwindow.shop import INTERFACE
from test_search import shop as shop

GROUPS = ("direct", "score", "widened", "rank")
"""In the order in which their products stand."""


@pytest.fixture(scope="module")
def sample_catalog(sample_out: Path) -> OpenedCatalog:
    catalog = library.released_content(INTERFACE, sample_out).index("catalog")
    assert isinstance(catalog, OpenedCatalog)
    return catalog


@pytest.fixture(scope="module")
def sample_words(sample_catalog: OpenedCatalog) -> list[str]:
    return [word for (word,) in sample_catalog.rows("SELECT word FROM word ORDER BY word")]


def placed(reason: ProductReason) -> tuple[int, float, int]:
    """What a product of a search is ordered by."""
    total = reason.score.total if reason.score else 0.0
    return GROUPS.index(reason.group), -total, reason.rank


def check_explanation(catalog: OpenedCatalog, phrase: str, query: ProductQuery, limit: int) -> SearchExplanation:
    """Explain a search, and hold what is said against the search itself."""
    explanation = explain(catalog, phrase, query, limit)
    page = catalog.search(phrase, replace(query, perpage=limit + 1))
    shown = [*explanation.products, *([explanation.next] if explanation.next else [])]
    assert tuple(reason.id for reason in shown) == page.ids
    assert (explanation.total, explanation.corrected) == (page.total, page.corrected)
    assert [reason.place for reason in shown] == list(range(1, len(shown) + 1))
    assert shown == sorted(shown, key=placed)
    assert (explanation.next is not None) == (page.total > limit)
    searched_clauses = catalog.searched(phrase).result.clauses
    for clause, searched in zip(explanation.clauses, searched_clauses, strict=True):
        check_count(catalog, clause, searched)
        rarity = math.log(1 + catalog.active / (1 + clause.products))
        assert clause.weight == pytest.approx(rarity * (1.5 if clause.is_head else 1.0), abs=0.001)
    for reason in shown:
        assert (reason.score is None) == (reason.group in ("direct", "rank"))
        if reason.score:
            check_score(explanation, reason)
    return explanation


def check_count(catalog: OpenedCatalog, clause: ClauseReason, searched: Clause) -> None:
    """The products of a clause are as many as are shown, and as the word has that is meant."""
    count = len(satisfying(catalog, [searched]))
    if "longer" not in clause.products_text:
        assert count <= clause.products
    if clause.products_text[0].isdigit() and "longer" not in clause.products_text:
        assert count == clause.products
    if clause.corrected:
        meant = clause_of(catalog, clause.corrected)
        assert meant is not None
        assert clause.products == meant.products
        assert count == len(satisfying(catalog, [meant]))


def check_score(explanation: SearchExplanation, reason: ProductReason) -> None:
    """The parts of a score add up, from the worth of each word on."""
    score = reason.score
    assert score is not None
    parts = score.by_words + score.side_by_side + score.filled_name + score.name_end
    assert score.total == pytest.approx(parts, abs=0.002)
    assert [clause.words for clause in score.clauses] == [clause.words for clause in explanation.clauses]
    for clause in score.clauses:
        assert clause.best == max([1.0, *(match.worth for match in clause.matches)])
    weights = [clause.weight for clause in explanation.clauses]
    worths = [clause.best + 0.25 * clause.further for clause in score.clauses]
    mean = sum(worth * weight for worth, weight in zip(worths, weights, strict=True)) / (sum(weights) or 1)
    assert score.by_words == pytest.approx(mean, abs=0.02)


def typo(word: str, place: int) -> str:
    """A word with two letters swapped."""
    at = place % max(1, len(word) - 1)
    return word[:at] + word[at : at + 2][::-1] + word[at + 2 :]


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data())
def test_the_order_and_the_scores_are_those_of_the_search(
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
    check_explanation(sample_catalog, phrase, ProductQuery(filters=filters), data.draw(st.sampled_from([1, 5, 100])))


def test_the_order_is_that_of_the_operation(sample_out: Path) -> None:
    content = library.released_content(INTERFACE, sample_out)
    documents = library.check(INTERFACE, SAMPLE).documents
    assert documents is not None
    response = library.show(
        INTERFACE, SAMPLE, documents, "v4/catalog/search?searchphrase=black+coat&perpage=20&COLOR=BLACK"
    )
    answered = json.loads(response.body)["searchresultgroups"][0]["products"]["product"]
    explanation = explained(INTERFACE, content, "black coat", [("COLOR", "BLACK")], 20)
    assert [reason.id for reason in explanation.products] == [int(one["id"]) for one in answered]


# -- reasons -----------------------------------------------------------------------------------------------------


def uses(explanation: SearchExplanation) -> dict[str, list[str]]:
    by_use: dict[str, list[str]] = {}
    for word in explanation.words:
        by_use.setdefault(word.use, []).append(word.word)
    return by_use


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("perl necklace", {"searched": ["perl", "necklace"]}),
        ("the for with", {"says nothing": ["the", "for", "with"]}),
        ("zxcvb qwrtp", {"unknown": ["zxcvb", "qwrtp"]}),
        ("oak trampoline", {"searched": ["oak"], "unknown": ["trampoline"]}),
        ("I'm looking for a leather desk", {"opening": ["im", "looking", "for"], "says nothing": ["a"],
                                            "left out": ["leather"], "searched": ["desk"]}),
        ("hiking socks under $1,000", {"searched": ["hiking", "socks"]}),
        ("", {}),
        ("8", {"number": ["8"]}),
        ("012345678905", {"number": ["012345678905"]}),
        ("10", {"unknown": ["10"]}),
    ],
)  # fmt: skip
def test_each_word_has_its_use(shop: OpenedCatalog, phrase: str, expected: dict[str, list[str]]) -> None:
    explanation = check_explanation(shop, phrase, ProductQuery(), 5)
    assert uses(explanation) == expected
    assert bool(explanation.products) == ("searched" in expected or "number" in expected)


@pytest.mark.parametrize("phrase", ["11", "012345678905", " 770011 "])
def test_a_number_names_the_product_that_it_finds(shop: OpenedCatalog, phrase: str) -> None:
    explanation = check_explanation(shop, phrase, ProductQuery(), 5)
    assert (explanation.direct, explanation.scored, explanation.by_rank) == (11, 0, 0)
    assert list(explanation_lines(explanation)) == [
        f"phrase      {phrase}",
        f"number      {phrase.strip()}: is the number of product 11",
        "finds       1 product",
        "",
        "   1  11  Cotton T-Shirt (Larkspur)",
        "      first, for the phrase is its number, rank 10",
    ]


def test_a_number_that_is_a_word_as_well_finds_both(tmp_path: Path) -> None:
    catalog = index(tmp_path, product(3), product(4, "Set of 3"))
    explanation = check_explanation(catalog, "3", ProductQuery(), 5)
    assert [(one.id, one.group) for one in explanation.products] == [(3, "direct"), (4, "score")]
    assert (uses(explanation), explanation.direct, explanation.by_rank) == ({"searched": ["3"]}, 3, 0)


def test_a_typo_says_what_it_was_taken_for(shop: OpenedCatalog) -> None:
    (perl, _) = check_explanation(shop, "perl necklace", ProductQuery(), 5).clauses
    assert (perl.words, perl.corrected, [(one.stems, one.way) for one in perl.alternatives]) == (
        ("perl",),
        "pearl",
        [(("pearl",), "corrected")],
    )


def test_a_corrected_word_stands_for_all_that_the_word_meant_stands_for(tmp_path: Path) -> None:
    names = ["Wool Sweater", "Knitted Sweaters", "Linen Pullover", "Plain Lamp"]
    products = [product(id, name) for id, name in enumerate(names, 1)]
    catalog = index(tmp_path, *products, synonyms=[["sweater", "pullover"]])
    right, typo = (check_explanation(catalog, word, ProductQuery(), 5) for word in ("sweater", "swetaer"))
    assert sorted(one.id for one in typo.products) == sorted(one.id for one in right.products) == [1, 2, 3]
    assert [(clause.products, clause.weight) for clause in typo.clauses] == [
        (clause.products, clause.weight) for clause in right.clauses
    ]
    (clause,) = typo.clauses
    assert clause.alternatives_text == "corrected to sweater; a synonym's stem pullover"
    assert clause.products_text == "at most 3 products"


def test_a_count_that_is_added_up_says_so(shop: OpenedCatalog) -> None:
    def counts(phrase: str) -> list[str]:
        return [clause.products_text for clause in explain(shop, phrase, ProductQuery(), 5).clauses]

    assert counts("oak desk") == ["2 products", "2 products"]
    assert counts("office light") == ["at most 4 products"]  # it finds 3
    assert counts("rin") == ["at most 2 products"]
    assert counts("leg") == ["1 product without longer words"]


def test_synonyms_joined_words_and_beginnings_say_so(shop: OpenedCatalog) -> None:
    def ways(phrase: str) -> list[tuple[tuple[str, ...], str]]:
        clauses = check_explanation(shop, phrase, ProductQuery(), 5).clauses
        return [(one.stems, one.way) for clause in clauses for one in clause.alternatives]

    assert ways("rucksack") == [(("backpack",), "synonym")]
    assert ways("back pack") == [(("backpack",), "itself")]
    assert ways("neckl") == [(("necklac",), "begun")]
    leg = check_explanation(shop, "leg", ProductQuery(), 5)
    assert (leg.is_widened, leg.before_widening, [one.group for one in leg.products]) == (True, 1, ["score", "widened"])


def test_what_matched_where(shop: OpenedCatalog) -> None:
    (desk, lamp) = check_explanation(shop, "oak desk", ProductQuery(), 5).products
    assert desk.score
    assert lamp.score
    assert [(clause.words, clause.fields) for clause in desk.score.clauses] == [
        (("oak",), ("name",)),
        (("desk",), ("name",)),
    ]
    assert [(clause.words, clause.fields) for clause in lamp.score.clauses] == [
        (("oak",), ("description",)),
        (("desk",), ("name",)),
    ]
    assert (desk.score.name_end, lamp.score.name_end) == (0.5, 0.0)


def test_a_phrase_of_1000_characters_is_searched_for_by_its_first_words(shop: OpenedCatalog) -> None:
    phrase = " ".join(["backpack", *(f"w{number}" for number in range(400))])
    explanation = check_explanation(shop, phrase[:1000], ProductQuery(), 5)
    assert explanation.ignored_characters == 0
    assert len(uses(explanation)["unknown"]) == MAX_WORDS - 1
    assert uses(explanation)["beyond"]
    assert explain(shop, phrase, ProductQuery(), 5).ignored_characters == len(phrase) - 1000


def test_products_that_tie_stand_by_their_rank(tmp_path: Path) -> None:
    catalog = index(tmp_path, *(product(id, "Plain Lamp", bestSeller=9 - id) for id in range(1, 6)))
    explanation = check_explanation(catalog, "lamp", ProductQuery(), 5)
    assert len({one.score.total for one in explanation.products if one.score}) == 1
    assert [one.rank for one in explanation.products] == [1, 2, 3, 4, 5]
    assert [one.id for one in explanation.products] == list(catalog.search("lamp", ProductQuery()).ids)


def test_beyond_the_products_that_are_scored_the_rank_decides(tmp_path: Path) -> None:
    count = MAX_SCORED + 30
    products = (product(id, f"Thing {id}", description="A lamp.") for id in range(1, count + 1))
    catalog = index(tmp_path, *products)
    explanation = check_explanation(catalog, "lamp", ProductQuery(), count)
    assert (explanation.total, explanation.scored) == (count, MAX_SCORED)
    assert [one.group for one in explanation.products] == ["score"] * MAX_SCORED + ["rank"] * 30


# -- why a product is not there ----------------------------------------------------------------------------------


def why(catalog: OpenedCatalog, phrase: str, id: int, limit: int = 10, **query: Any) -> str:
    absent = explain(catalog, phrase, ProductQuery(**query), limit, id).product
    assert absent is not None
    return absent.why


def test_why_a_product_is_not_found(shop: OpenedCatalog) -> None:
    assert why(shop, "desk", 999) == "the catalog has no such product"
    assert why(shop, "desk", 10) == "it is not active, and only active ones are found"
    assert why(shop, "8", 7) == "the phrase is only the number of product 8"
    assert why(shop, "desk", 1) == "it is found, at place 1"
    assert why(shop, "desk", 7, limit=1) == "it is found, at place 2"
    assert why(shop, "oak desk", 8) == "it has nothing for oak, desk"
    assert why(shop, "zxcvb", 8) == "no word of the phrase stands for anything that products have"
    assert why(shop, "hiking socks under $60", 14) == "left out by the price limit of the phrase"
    assert why(shop, "backpack", 3, filters={"BRAND": ("Nobody",)}) == "left out by BRAND=Nobody"
    assert why(shop, "backpack", 3, filters={"CATEGORY": ("2",)}) == "left out by the category"
    assert why(shop, "backpack", 3, price=((500.0, None),)) == "left out by the price"
    assert why(shop, "backpack", 3, pick_up=(1,)) == "left out by where it can be picked up"


def test_every_product_is_found_or_lacks_something(sample_catalog: OpenedCatalog) -> None:
    ids = sample_catalog.product_ids()[1][::7]
    found = set(sample_catalog.search("black leather", ProductQuery(perpage=1000)).ids)
    for id in ids:
        absent = explain(sample_catalog, "black leather", ProductQuery(), 1, id).product
        assert absent is not None
        assert (absent.reason is not None) == (id in found)
        assert bool(absent.lacks) == (id not in found)


def test_a_product_without_words_in_fields_of_its_own_lacks_the_category(tmp_path: Path) -> None:
    catalog = index(tmp_path, product(1, categories=[2]), categories=[category(1), category(2, "Lamps")])
    (only,) = check_explanation(catalog, "lamps", ProductQuery(), 5).products
    assert only.score
    assert only.score.clauses[0].fields == ("kind",)


# -- the command -------------------------------------------------------------------------------------------------


def test_the_command_says_why_in_words_and_in_json(sample_out: Path) -> None:
    arguments = ["catalog", "explain", "marlow coat", "--out", str(sample_out), "--limit", "2", "--product", "529100"]
    ran = shopwindow(*arguments)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == "phrase      marlow coat"
    assert "   1  520100  Marlowe Wrap Coat (Harrow & Finch)" in ran.out.splitlines()
    assert ran.out.splitlines()[-1].startswith("product 529100: it has nothing for ")
    written = json.loads(shopwindow(*arguments, "--format", "json").out)
    assert (written["phrase"], written["products"][0]["id"], written["product"]["id"]) == (
        "marlow coat",
        520100,
        529100,
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x" * 1001], "1000 characters"),
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


def test_a_phrase_without_a_word_says_why_it_finds_nothing(sample_out: Path) -> None:
    finds = "finds       0 products; the phrase has no word to search for"
    for phrase in ("!!!", "$ \u2013 %"):
        ran = shopwindow("catalog", "explain", phrase, "--out", sample_out)
        assert (ran.status, ran.out.splitlines()[-1]) == (0, finds)


COMMANDS = pytest.mark.parametrize("arguments", [["explain", "coat"], ["stats"]], ids=["explain", "stats"])


@COMMANDS
def test_where_there_is_no_catalog_a_build_is_advised(minimal: Path, tmp_path: Path, arguments: list[str]) -> None:
    built(minimal, tmp_path / "dist")
    ran = shopwindow("catalog", *arguments, "--out", tmp_path / "dist")
    sentence = "there is no catalog; `shopwindow build` writes one where content/catalog has files"
    assert (ran.status, ran.err) == (2, f"Error: {sentence}\n")


@COMMANDS
def test_where_a_catalog_is_lost_it_is_said_what_brings_it_back(
    sample_out: Path, tmp_path: Path, arguments: list[str]
) -> None:
    out = tmp_path / "dist"
    shutil.copytree(sample_out, out, symlinks=True)
    path = (out / "current").resolve() / "catalog.sqlite"
    path.unlink()
    ran = shopwindow("catalog", *arguments, "--out", out)
    build = "`shopwindow build` writes it again"
    pull = "where releases are pulled, `shopwindow pull SOURCE --repair` fetches it again"
    assert (ran.status, ran.err) == (4, f"shopwindow: {path}: is missing; {build}; {pull}\n")
    built(SAMPLE, out)
    assert shopwindow("catalog", *arguments, "--out", out).status == 0


def test_an_interface_without_a_catalog_has_nothing_to_explain(sample_out: Path) -> None:
    content = library.released_content(INTERFACE, sample_out)
    with pytest.raises(Misuse, match="no catalog"):
        explained(replace(INTERFACE, operations=()), content, "coat", [], 5)
