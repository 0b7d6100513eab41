"""Reviews: a page of those of one product, and how product details show them.

Source of the shapes: interface 4.9, W2.12.
"""

from shopwindow.catalog.operations.answers import nothing, of
from shopwindow.catalog.operations.parts_v3 import lowered
from shopwindow.catalog.protocol import Reviews
from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import Count
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    AnyOf,
    Call,
    FromContent,
    Operation,
    Parameter,
)

MAX_REVIEWS = 100
"""Reviews of one product in one response.

The interface names no limit. This one bounds how many a request reads; larger or
smaller numbers work as well.
"""

REVIEWS_PER_PAGE = 10
"""Reviews of a request that names no number (interface W2.12)."""

SOURCE = "CUSTOMER"
"""Who wrote the reviews. The interface leaves the value open, and feeds do not say."""

# -- a page of reviews -----------------------------------------------------------------


def reviews(content: Content, call: Call) -> Json:
    """Return a page of a product's reviews.

    Raises Refusal if there is no such product.
    """
    catalog, id = of(content), call["productId"]
    product = catalog.products((id,)).get(id)
    if product is None:
        raise nothing("productId", "no product has such an id")

    number = (
        call["numOfReviews"] or call["numberOfReviewsRequested"] or REVIEWS_PER_PAGE
    )
    summary = {
        "productId": id,
        "productName": product["name"],
        "description": product["description"],
        "source": SOURCE,
    }
    return summary | _list_of_reviews(catalog.reviews(id, call["pageNumber"], number))


# -- reviews beside a product ----------------------------------------------------------


def reviews_v3(content: Content, id: int, number: int) -> Json:
    """Return the members that version 3 adds to a product: none without reviews."""
    page = of(content).reviews(id, 1, number)
    return {"review": lowered(_with_counts(page))} if page.total else {}


def reviews_v4(content: Content, id: int) -> Json:
    """Return the value of `Reviews` of a product in version 4: empty without reviews."""
    page = of(content).reviews(id, 1, MAX_REVIEWS)
    return _with_counts(page) if page.total else {}


def _with_counts(page: Reviews) -> Json:
    """Return a page of reviews below the average and the counts of all pages."""
    counts = {
        f"countFor{stars}Star{'' if stars == 1 else 's'}": count
        for stars, count in enumerate(page.counts, 1)
    }
    summary = {
        "averageOverallRating": page.average,
        "totalReviewCount": page.total,
        **counts,
    }
    return summary | _list_of_reviews(page)


def _list_of_reviews(page: Reviews) -> Json:
    """Return the list of a page's reviews as a member; an empty list is left out."""
    if not page.reviews:
        return {}
    return {"perReviewWrapper": [_review(review) for review in page.reviews]}


def _review(review: Json) -> Json:
    rendered = {
        "reviewId": review["id"],
        "ratingValue": review["rating"],
        "reviewTitle": review["title"],
        "reviewDesc": review["text"],
        "recommended": review["recommended"],
        "reviewDate": review["date"],
        "displayName": review["name"],
    }
    optional = {
        key: review[name] for key, name in _OPTIONAL_OF_REVIEW if name in review
    }
    return rendered | optional


_OPTIONAL_OF_REVIEW = (
    ("reviewLocation", "location"),
    ("ageRangeValue", "ageRange"),
    ("genderValue", "gender"),
    ("positiveFeedbacksOnReview", "positive"),
    ("negativeFeedbacksOnReview", "negative"),
)
"""(the response's key, the document's) of what a review may lack."""

# -- the operation ---------------------------------------------------------------------

OPERATIONS = (
    Operation(
        "reviews",
        "v3/catalog/reviews",
        FromContent(reviews),
        "reviews",
        "What customers think of a product.",
        (
            Parameter("productId", Count(), "Id of the product.", example="520100"),
            Parameter(
                "numOfReviews", Count(MAX_REVIEWS), "Reviews on a page; else 10."
            ),
            Parameter(
                "numberOfReviewsRequested",
                Count(MAX_REVIEWS),
                "The same by another name, where that is not given.",
                alternative=True,
            ),
            Parameter("pageNumber", Count(), "Which page.", default=1),
            CALLBACK,
        ),
        (AnyOf(("productId",)),),
    ),
)
