"""The index against a plain program over the documents: lists, facets, filters, availability."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.catalogs import (
    ABOVE,
    QUESTIONS,
    TREE,
    WORDS,
    Document,
    Page,
    ProductQuery,
    category,
    facets,
    index,
    ordered,
    passes,
    product,
    products,
    review,
)
from harness.content import examples

REVIEWS = st.lists(st.tuples(st.integers(0, 29), st.integers(1, 5)), max_size=20)


@settings(max_examples=examples(60), deadline=None)
@given(products(), REVIEWS, st.lists(QUESTIONS, min_size=1, max_size=6), st.integers(1, 5))
def test_browse_answers_as_a_plain_program_does(
    documents: list[Document], opinions: list[tuple[int, int]], questions: list[ProductQuery], at: int
) -> None:
    reviews = [review(n, documents[of]["id"], stars) for n, (of, stars) in enumerate(opinions) if of < len(documents)]
    ratings = {
        id: sum(each["rating"] for each in reviews if each["product"] == id) / count
        for id, count in Counter(each["product"] for each in reviews).items()
    }
    rounded = {id: int(rating * 10 + 0.5 + 1e-9) / 10 for id, rating in ratings.items()}
    with TemporaryDirectory() as folder:
        found = index(Path(folder), *documents, categories=TREE, reviews=reviews)
        inside = [
            each
            for each in documents
            if each["active"] and any(at in ABOVE[category] for category in each["categories"])
        ]
        for question in questions:
            passing = [each for each in inside if passes(each, question)]
            ids = ordered(passing, question.sort, rounded)
            start = (question.page - 1) * question.perpage
            shown = tuple(ids[start : start + question.perpage])
            assert found.browse(at, question) == Page(len(passing), shown, facets(inside, question))


@settings(max_examples=examples(60), deadline=None)
@given(products(), QUESTIONS, st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True))
def test_search_finds_filters_and_counts_as_a_plain_program_does(
    documents: list[Document], question: ProductQuery, words: list[str]
) -> None:
    matching = [
        each
        for each in documents
        if each["active"] and all(word in f"{each['name']} {each['description']}".split() for word in words)
    ]
    with TemporaryDirectory() as folder:
        found = index(Path(folder), *documents, categories=TREE)
        page = found.search(" ".join(words), question)
        if matching:  # else the largest part of the words is asked for
            passing = [each for each in matching if passes(each, question)]
            assert (page.total, page.facets) == (len(passing), facets(matching, question))
            if question.sort:
                ids = ordered(passing, question.sort, {})
                start = (question.page - 1) * question.perpage
                assert page.ids == tuple(ids[start : start + question.perpage])


@settings(max_examples=examples(40), deadline=None)
@given(products(), QUESTIONS, st.lists(st.sampled_from(WORDS), max_size=3))
def test_paging_to_the_end_visits_each_product_once(
    documents: list[Document], question: ProductQuery, words: list[str]
) -> None:
    with TemporaryDirectory() as folder:
        found = index(Path(folder), *documents, categories=TREE)
        size, phrase = question.perpage, " ".join(words)

        def asked(number: int) -> list[Page]:
            page = replace(question, page=number, facets=False)
            return [found.search(phrase, page), found.browse(1, page)]

        for place, first in enumerate(asked(1)):
            pages = [asked(number)[place].ids for number in range(1, first.total // size + 3)]
            visited = [id for ids in pages for id in ids]
            assert (len(visited), len(set(visited)), pages[-1]) == (first.total, first.total, ())


STOCK = st.dictionaries(
    st.integers(1, 8),
    st.tuples(st.none() | st.integers(0, 5), st.dictionaries(st.integers(1, 40), st.integers(0, 9), max_size=30)),
)


def gtin(number: int) -> str:
    digits = f"{number:011}"
    total = sum(map(int, digits[::2])) * 3 + sum(map(int, digits[1::2]))
    return f"{digits}{-total % 10}"


@settings(max_examples=examples(60), deadline=None)
@given(STOCK, st.integers(1, 6))
def test_stores_and_the_site_have_what_the_inventory_says(
    stock: dict[int, tuple[int | None, dict[int, int]]], limit: int
) -> None:
    inventory = []
    for number, (site, stores) in stock.items():
        entry: Document = {"upc": gtin(number), "stores": {str(store): many for store, many in stores.items()}}
        inventory.append(entry if site is None else entry | {"site": site})
    document = product(1, upcs=[{"upc": gtin(number), "sku": number} for number in range(1, 7)])
    upcs, locations = [gtin(number) for number in range(1, 10)], list(range(1, 45))
    expected = {
        (gtin(number), store): "LIMITED" if many <= limit else "AVAILABLE"
        for number, (_, stores) in stock.items()
        for store, many in stores.items()
        if many and number < 7  # the product's own
    }
    with TemporaryDirectory() as folder:
        found = index(
            Path(folder),
            document,
            categories=[category(1)],
            inventory=inventory,
            settings={"limited_quantity": limit},
        )
        online = [number not in stock or stock[number][0] != 0 for number in range(1, 7)]
        assert found.availability(upcs, locations) == expected
        made = found.products((1,))[1]
        assert ([entry["available"] for entry in made["upcs"]], made["available"]) == (online, any(online))
