"""Which parts of a catalog an answer has read, so that a build knows which answers stay.

While a build renders an answer, `PartsRead` stands for the opened catalog, and reports
each question that it is asked (`interface.index.OpenedByParts`). `part_digest` asks the
same of this catalog, or of a later one. A new price of one product so leaves the answers
about categories and brands as they are.

The lists of all categories are compared without being counted again: a build that
renders thousands of them would spend as long on that as on all else.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from shopwindow.catalog.protocol import Catalog, Page, ProductQuery

LISTED = "listed"
"""The first word of the name of a category's list, without a filter or another order."""


class PartsRead:
    """A catalog that reports what it is asked.

    ``report`` is called with the name of each part that it returns something of.
    """

    def __init__(self, opened: Catalog, report: Callable[[str], None]) -> None:
        self._opened, self._report = opened, report

    def __getattr__(self, verb: str) -> Any:
        answer = getattr(self._opened, verb)

        def recorded(*arguments: Any, **named: Any) -> Any:
            self._report(json.dumps([verb, arguments, named], default=asdict))
            return answer(*arguments, **named)

        return recorded

    def browse(self, category: int, query: ProductQuery) -> Page:
        narrowed = query.filters or query.price or query.pick_up is not None
        if narrowed or query.sort:
            narrowed_page: Page = self.__getattr__("browse")(category, query)
            return narrowed_page
        self._report(f"{LISTED} {category}")
        return self._opened.browse(category, query)


def part_digest(opened: Catalog, part: str) -> str:
    """Return a digest of what a catalog answers to a question that was reported."""
    verb, arguments, named = json.loads(part)
    values = (
        ProductQuery(**one) if isinstance(one, dict) else one for one in arguments
    )
    answer = getattr(opened, verb)(*values, **named)
    return sha256(repr(answer).encode()).hexdigest()
