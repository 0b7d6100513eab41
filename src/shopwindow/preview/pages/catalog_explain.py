"""Why a search of the catalog finds what it finds, and why in this order."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from shopwindow.catalog.index.explaining import explain
from shopwindow.catalog.index.reasons import (
    GROUP_WORDS,
    NO_WORDS,
    ClauseReason,
    SearchExplanation,
)
from shopwindow.catalog.protocol import CATEGORY_FILTER, ProductQuery
from shopwindow.preview.pages.catalog import KIND, ShownCatalog, drawn
from shopwindow.preview.pages.documents import number
from shopwindow.preview.visit import Page, Visit

EXPLAINED_PRODUCTS = 12
"""Products that the page explains: those of a client's first page (wire-shapes 2)."""


@dataclass(frozen=True)
class PhraseRow:
    """Words of a phrase that stand side by side, and what became of them.

    ``clause``: what was searched for; None: they were not searched for, and ``use``
    says what became of them.
    """

    text: str
    clause: ClauseReason | None
    use: str


def page(visit: Visit) -> Page | None:
    """Return the page; None where the interface has no catalog. Parameters: ``q`` is the
    phrase, ``category`` the id of one that narrows it, ``product`` the id of a product
    whose place or absence is explained.
    """
    if KIND not in visit.snapshot.interface.kind:
        return None
    return drawn(visit, partial(_page, visit))


def _page(visit: Visit, shown: ShownCatalog) -> Page:
    phrase = visit.query.get("q", "").strip()
    product = number(visit.query.get("product", "").strip())
    values: dict[str, Any] = {
        **shown.values,
        "q": phrase,
        "product": product or "",
        "category": None,
        "explanation": None,
        "group_words": GROUP_WORDS,
        "no_words": NO_WORDS,
        "rows": (),
    }
    if shown.catalog is not None and phrase:
        category = shown.catalog.category(number(visit.query.get("category", "")))
        filters = {CATEGORY_FILTER: (str(category["id"]),)} if category else {}
        query = ProductQuery(filters=filters)
        values["category"] = category
        explanation = explain(
            shown.catalog, phrase, query, EXPLAINED_PRODUCTS, product or None
        )
        values |= {"explanation": explanation, "rows": list(_rows(explanation))}
    return Page("catalog_explain.html", "Why this is found", values)


def _rows(explanation: SearchExplanation) -> Iterator[PhraseRow]:
    """Yield the words in their order: those of a clause together, and neighbors of which
    the same became.
    """
    waiting = list(explanation.clauses)
    for use, neighbors in groupby(explanation.words, key=lambda word: word.use):
        if use != "searched":
            text = " ".join(one.word for one in neighbors)
            yield PhraseRow(text, None, explanation.use_text(use))
            continue
        for one in neighbors:
            clause = next((each for each in waiting if one.word in each.words), None)
            if clause is not None and clause.words[0] == one.word:
                waiting.remove(clause)
                yield PhraseRow(" ".join(clause.words), clause, "")
