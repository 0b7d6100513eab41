"""A catalog that reports what it is asked, so that a build knows which answers stay.

While a build renders an answer, `RecordedCatalog` stands for the opened catalog, and
reports each question (`interface.declaring.index.OpenedByParts`). `part_digest` asks the
same of this catalog, or of a later one. A new price of one product so leaves the answers
about categories and brands as they are.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from shopwindow.catalog.protocol import Catalog, Page, ProductQuery
from shopwindow.content.reading.yaml import Json

LISTED = "listed"
"""How the name begins of a category's list without a filter or another order. A build
compares thousands of these, so `opened.part_digest` does not ask for their pages.
"""


class RecordedCatalog:
    """A catalog that reports what it is asked.

    ``report`` is called with the name of each part that it returns something of: the
    verb and its arguments, in JSON.
    """

    def __init__(self, opened: Catalog, report: Callable[[str], None]) -> None:
        self._opened, self._report = opened, report

    def __getattr__(self, verb: str) -> Any:
        answer = getattr(self._opened, verb)

        def recorded(*arguments: Any, **named: Any) -> Any:
            self._report(json.dumps([verb, arguments, named], default=asdict))
            return answer(*arguments, **named)

        return recorded

    def products(self, ids: Sequence[int]) -> Mapping[int, Json]:
        for id in ids:
            self._report(json.dumps(["product", [id], {}]))
        return self._opened.products(ids)

    def browse(self, category: int, query: ProductQuery) -> Page:
        narrowed = query.filters or query.price or query.pick_up is not None
        if narrowed or query.sort:
            page: Page = self.__getattr__("browse")(category, query)
            return page
        self._report(f"{LISTED} {category}")
        return self._opened.browse(category, query)


def answer_digest(opened: Catalog, part: str) -> str:
    """Return a digest of what a catalog answers to a question that was reported."""
    verb, arguments, named = json.loads(part)
    values = (
        ProductQuery(**one) if isinstance(one, dict) else one for one in arguments
    )
    answer = getattr(opened, verb)(*values, **named)
    return sha256(repr(answer).encode()).hexdigest()
