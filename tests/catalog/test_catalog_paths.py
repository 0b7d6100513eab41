"""Clients in the field read these paths of these answers (interface W2, W3), and rely on what is left out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from facts.conformance import AT, documents
from facts.conformance_catalog import BLACK, RED, table
from harness.answers import decoded
from harness.catalogs import indexed
from harness.content import live, write_files
from harness.program import Content, Schemas
from shopwindow.interface.answering.answer import answer
from shopwindow.interface.formats import RESPONSE_FORMATS
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import Refusal
from shopwindow.shop import INTERFACE

Json = Any


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> Content:
    folder = tmp_path_factory.mktemp("catalog")
    content = live(write_files(folder / "content", documents()), AT)
    return content.with_indexes({"catalog": indexed(content, folder)})


def said(content: Content, schemas: Schemas, target: str, accept: str) -> Json:
    """What an answer in a format says, decoded with its schema."""
    path, _, query = target.partition("?")
    call = bind(Request(path, query, {"accept": accept}), "phone", INTERFACE)
    return decoded(call.format, answer(call, content, schemas).body, schemas.shape(call.operation.schema))


# -- a path is read ----------------------------------------------------------------------------------------------

TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "number": (int, float),
    "string": (str,),
    "bool": (bool,),
    "object": (dict,),
    "array": (list,),
}


def reached(value: Json, steps: list[str]) -> Iterator[Json]:
    """All values at a path; `name[]` leads to every item of an array. What is left out is None."""
    if not steps:
        yield value
        return
    name, *rest = steps
    inner = value.get(name.removesuffix("[]"))
    if name.endswith("[]") and inner is not None:
        for item in inner:
            yield from reached(item, rest)
    elif inner is None:
        yield None
    else:
        yield from reached(inner, rest)


def misread(value: Json, line: str) -> bool:
    """Whether a path does not lead everywhere to its type; with `?` after the type, anywhere at all."""
    path, kind = line.split()
    found = list(reached(value, path.split(".")))
    allowed = TYPES[kind.removesuffix("?")]
    if kind.endswith("?"):
        found = [each for each in found if each is not None]
    return not found or any(type(each) not in allowed for each in found)


def lines(text: str, prefix: str = "") -> list[str]:
    return [f"{prefix}{line.strip()}" for line in text.strip().splitlines()]


ENVELOPE = """
    resultsperpage int
    currentpage int
    totalresults int
    resptime string
    querydate string
"""
ELEMENT = """
    id int
    summary.name string
    summary.producttype string
    summary.brand string
    summary.onsale bool
    summary.producturl string
    summary.iscollection bool
    summary.available bool
    summary.productstartdays int?
    summary.totalreviews int
    summary.customerrating number?
    image[].imagetype string
    image[].imageurl string?
    image[].imagename string?
    image[].colorized bool?
    image[].sequenceNumber int?
    image[].hasMoreColors bool?
    image[].numberColors int?
    image[].isPrimaryImage bool?
    image[].type string?
    image[].id int?
    image[].colornormal string?
    image[].color string?
    image[].upcprimaryimage.imagetype string?
    image[].upcprimaryimage.imageurl string?
    image[].upcprimaryimage.imagename string?
    image[].upcprimaryimage.sequenceNumber int?
    image[].upcadditionalimage array?
    image[].swatchsequencenumber int?
    image[].swapoutsequencenumber int?
    image[].swatchimage.imagetype string?
    image[].swatchimage.imageurl string?
    image[].swatchimage.imagename string?
    image[].swatchimage.sequenceNumber int?
    price.regular.value number?
    price.regular.label string?
    price.regular.low number?
    price.regular.high number?
    price.sale.value number?
    price.sale.label string?
    price.current.value number?
    price.current.label string?
    price.original.value number?
    price.original.label string?
    price.pricetype string
    price.pricetypeid int
    price.onsale bool
    price.displayText string?
    price.percentageOff int
    price.percentageOffHigh int
    finalPrice.finalPrice number?
    finalPrice.displayFinalPrice string?
    finalPrice.promotions array?
    category[].id int
    category[].type string
    badges.new bool
    badges.Rebate bool
    badges.onsale bool
    badges.promotionbadge array?
    badges.promotionbadges array?
"""
NODE = """
    id int
    name string
    categorytype string
    categorypageurl string
    brandflyout bool
    mobilePublish string
"""
REVIEW = """
    reviewId string
    ratingValue int
    reviewTitle string
    reviewDesc string
    recommended bool
    reviewDate string
    displayName string
    reviewLocation string?
    ageRangeValue string?
    genderValue string?
    positiveFeedbacksOnReview int?
    negativeFeedbacksOnReview int?
"""
V4 = "(productdetails,upcs,productcategory,reviews,rebates,promotions)"
READ: dict[str, list[str]] = {
    "v4/catalog/search?searchphrase=shoe&facetexpandall=true": [
        *lines("""
            searchinput.searchphrase string
            searchinput.sortorderby string
            searchinput.perpage int
            searchinput.page int
            searchinput.imageWidth string
            searchinput.upcimagewidth string
            searchinput.swatchimagewidth string
            totalpages int
            facets[].facetname string
            facets[].displayname string
            facets[].facetvalues[].value string?
            facets[].facetvalues[].productcount int
            facets[].facetvalues[].valuedisplayname string?
            facets[].facetvalues[].range.fromrange string?
            facets[].facetvalues[].range.torange string?
            searchresultgroups[].totalproducts int
        """),
        *lines(ELEMENT, "searchresultgroups[].products.product[]."),
    ],
    "v4/catalog/search?searchphrase=vase": lines("""
        facets[].facetmoreless string?
        facets[].facetmorelessurl string?
    """),
    "v4/catalog/search?searchphrase=pmup": ["searchinput.didyoumean string"],
    "v3/catalog/category/index": [
        *lines(ENVELOPE),
        *lines(NODE, "category[]."),
        *lines(
            NODE.replace("string", "string?").replace("int", "int?").replace("bool", "bool?"), "category[].category[]."
        ),
        *lines("""
            category[].category[].pageType string?
            category[].category[].overrideUrl string?
            category[].category[].overridecatid int?
            category[].category[].clickable bool?
            category[].category[].category[].id int?
        """),
    ],
    "v3/catalog/category/12": [
        *lines(ENVELOPE),
        *lines("""
            category[].id int
            category[].summary.name string
            category[].summary.categorytype string
            category[].summary.categorypageurl string
            category[].summary.categoryHighlight bool
            category[].summary.pageId string
            category[].summary.pageType string
            category[].summary.pageTitle string
            category[].summary.metaDesc string
            category[].parentcategory.id int
            category[].parentcategory.summary.name string
            category[].parentcategory.summary.categorypageurl string
            category[].category[].id int
            category[].category[].summary.name string
            category[].facet[].name string
            category[].product.product[].id int
        """),
    ],
    "v3/catalog/category/12/browseproducts": [
        *lines("""
            resultsperpage int
            currentpage int
            resptime string
            category[].id int
            category[].totalproducts int
            category[].summary.name string
            category[].parentcategory.id int
            category[].facet[].name string
            category[].facet[].displayname string
            category[].facet[].value[].name string?
            category[].facet[].value[].values string
            category[].facet[].value[].productcount int
        """),
        *lines(ELEMENT, "category[].product.product[]."),
    ],
    "v4/catalog/category/brandindex/1": lines("""
        brandIndex[].brandName string
        brandIndex[].brandURL string
    """),
    "v3/catalog/product/100,101?show=summary,price,attribute,promotion,image,category,availability,rebate,upc,review": [
        *lines(ELEMENT, "product[]."),
        *lines("""
            product[].attribute[].name string?
            product[].attribute[].values array?
            product[].availability.available bool
            product[].upc[].upcnumber int?
            product[].upc[].upcdetails.skuid int?
            product[].rebate object?
            product[].promotion array?
            product[].review.averageoverallrating number?
        """),
    ],
    "v3/catalog/product/index": [*lines(ENVELOPE), "product[].id int"],
    f"v4/catalog/product/100{V4}": [
        *lines(
            """
            name string
            productURL string
            description string
            typeName string
            available bool
            productStartDays int
            metricNumberOfReviews int
            metricRating number
            isNew bool
            maxQuantity int
            bullets array
            active bool
            defaultCategoryId int
            giftWrappable bool
            visible bool
            checkInStoreEligibility bool
            productGroup string
            """,
            "product[].productDetails.summary.",
        ),
        *lines(
            """
            collection.incollection bool
            masterProducts[].id int
            masterProducts[].productDetails.summary.name string
            badges.new bool
            badges.onsale bool
            shipping.shippingMethods array
            shipping.returnConstraint array
            shipping.notes array
            shipping.giftWrappable bool
            shipping.giftMessageable bool
            attributes[].name string
            attributes[].values[].value string
            attributes[].values[].seqnum int?
            primaryImage.imagetype string
            primaryImage.imagename string
            primaryImage.sequenceNumber int
            additionalImages array
            brand.brandname string
            brand.brandid int
            corpclass.deptid int
            corpclass.deptcode string
            corpclass.divisionid int
            corpclass.division string
            price.retail.pricevalue.low number
            price.retail.pricelabel string
            price.original.pricevalue.low number
            price.pricetype int
            price.onsale bool
            colorMap[].colorwayid int
            colorMap[].imagetype string
            colorMap[].colornormal string
            colorMap[].color string
            colorMap[].swatchimage object
            colorMap[].upcprimaryimage object?
            SizeMap[].sizeid int
            SizeMap[].sizenormal string
            SizeMap[].sequenceNumber int
            availability.available bool
            urlmetadata.urls[].urltype string
            urlmetadata.urls[].urlformat string
            """,
            "product[].productDetails.",
        ),
        *lines(
            """
            upcnumber int
            upcDetails.skuid int
            upcDetails.active bool
            upcDetails.colorwayid int?
            upcDetails.sizeid int?
            upcDetails.attributes[].name string?
            upcDetails.price.retail.pricevalue.low number
            upcDetails.availability.available bool
            upcDetails.availability.orderMethod string?
            upcDetails.availability.upcId int
            """,
            "product[].upcs[].",
        ),
        *lines("""
            product[].id int
            product[].productCategory[].id int
            product[].productCategory[].name string
            product[].productCategory[].type string
            product[].Reviews.averageOverallRating number
            product[].Reviews.totalReviewCount int
            product[].Reviews.countFor1Star int
            product[].Reviews.countFor2Stars int
            product[].Reviews.countFor3Stars int
            product[].Reviews.countFor4Stars int
            product[].Reviews.countFor5Stars int
            product[].rebates array
            product[].promotions[].promotionID int
            product[].promotions[].promotionType string
            product[].promotions[].description string
            product[].promotions[].offerDescription string?
            product[].promotions[].legalDisclaimer string?
        """),
        *lines(REVIEW, "product[].Reviews.perReviewWrapper[]."),
    ],
    "v4/catalog/product/101,102": lines("""
        product[].productDetails.price.retail.pricevalue.high number
        product[].productDetails.childProducts[].id int?
        product[].productDetails.childProducts[].productDetails.summary.name string?
        product[].productDetails.collection.iscollection bool?
    """),
    "v4/catalog/product/9,100": lines("""
        errors[].errorCode int
        errors[].message string
        errors[].errorDetail array
        errors[].success bool
        errors[].product int
    """),
    f"v4/catalog/product/upc/9,{RED}": lines("""
        product[].id int
        errors[].upc int
    """),
    "v4/recommendations/product/101": lines("""
        recommendedproducts[].productid int
        recommendedproducts[].name string
        recommendedproducts[].primaryimage string
        recommendedproducts[].reviewrating number
        recommendedproducts[].reviewsnumber int
        recommendedproducts[].productURL string
        recommendedproducts[].productprice.original.pricevalue.low number
        recommendedproducts[].productprice.retail.pricelabel string
        recommendedproducts[].productprice.retail.pricevalue.low number
    """),
    f"v4/catalog/bops/upc/{RED},{BLACK}?zipCode=02116": lines("""
        upcs[].upcNumber int
        upcs[].upcAvailability[].locationNumber int
        upcs[].upcAvailability[].bopsEligibilityStatus string
        upcs[].upcAvailability[].bopsAvailabilityStatus string
        upcs[].upcAvailability[].storeAvailabilityStatus string
        stores[].locationNumber int
        stores[].name string
        stores[].address.line1 string
        stores[].address.city string
        stores[].address.state string
        stores[].address.zipCode string
        stores[].phone string
        stores[].distance number
        stores[].units string
        stores[].location.latitude number
        stores[].location.longitude number
        stores[].storeworkinghours[].storeoperationdate string
        stores[].storeworkinghours[].storeopenhour string?
        stores[].storeworkinghours[].storeclosehour string?
        stores[].attributes[].attributeName string
        stores[].attributes[].attributeValue string
    """),
    "v3/catalog/reviews?productId=100": [
        *lines("""
            productId int
            productName string
            description string
            source string
        """),
        *lines(REVIEW, "perReviewWrapper[]."),
    ],
    f"store/v2/stores?latitude=42.35&longitude=-71.075&upcNumber={RED}": lines("""
        stores.store[].name string
        stores.store[].locationNumber int
        stores.store[].storeNumber int
        stores.store[].phoneNumber string
        stores.store[].mapUrl string
        stores.store[].address.line1 string
        stores.store[].address.line2 string?
        stores.store[].address.city string
        stores.store[].address.state string
        stores.store[].address.countryCode string
        stores.store[].address.zipCode string
        stores.store[].location.latitude number
        stores.store[].location.longitude number
        stores.store[].distance number
        stores.store[].units string
        stores.store[].features.feature array
        stores.store[].attributes.attribute[].name string
        stores.store[].attributes.attribute[].values array
        stores.store[].schedule.workingHours[].date string
        stores.store[].schedule.workingHours[].storeopenhour string?
        stores.store[].schedule.workingHours[].storeclosehour string?
        stores.store[].inventories.inventory[].storeInventory.upcNumber int
        stores.store[].inventories.inventory[].storeInventory.storeAvailability string
    """),
}


@pytest.mark.parametrize("format", RESPONSE_FORMATS, ids=[format.name for format in RESPONSE_FORMATS])
@pytest.mark.parametrize("target", READ)
def test_every_path_that_clients_read_is_there(content: Content, schemas: Schemas, target: str, format: Any) -> None:
    value = said(content, schemas, target, format.media_type)
    assert [line for line in READ[target] if misread(value, line)] == []


# -- what is left out --------------------------------------------------------------------------------------------

ABSENT = {
    "v4/catalog/search?searchphrase=nothing+like+this": ["searchresultgroups[].products", "facets"],
    "v4/catalog/search?searchphrase=patent+pump": [
        "facets[].facetmoreless",
        "facets[].facetmorelessurl",
        "searchinput.didyoumean",
        "searchresultgroups[].products.product[].price.regular.low",
    ],
    "v4/catalog/search?searchphrase=vase&show=product": ["facets"],
    "v4/catalog/search?searchphrase=vase&show=facet": ["searchresultgroups[].products"],
    "v3/catalog/category/2/browseproducts": [
        f"category[].product.product[].{name}"
        for name in (
            "summary.customerrating",
            "summary.productstartdays",
            "price.sale",
            "price.original",
            "price.displayText",
            "finalPrice",
            "badges.promotionbadge",
            "badges.promotionbadges",
        )
    ]
    + ["category[].parentcategory"],
    "v3/catalog/category/2/browseproducts?COLOR=NONE": ["category[].facet", "category[].product"],
    "v3/catalog/category/121": ["category[].category"],
    "v3/catalog/product/100": ["product[].promotion", "product[].review", "errors"],
    "v3/catalog/product/101": ["product[].attribute", "product[].upc", "product[].rebate"],
    "v4/catalog/product/100": ["product[].upcs", "product[].Reviews", "product[].productCategory", "errors"],
    "v4/catalog/product/104": [
        "product[].productDetails.price",
        "product[].productDetails.collection",
        "product[].productDetails.corpclass",
        "product[].productDetails.badges.onsale",
        "product[].productDetails.summary.metricRating",
        "product[].productDetails.brand.brandid",
    ],
    f"v4/catalog/product/101{V4}": [f"product[].{name}" for name in ("upcs", "Reviews", "rebates", "promotions")],
    "v4/recommendations/product/104": ["recommendedproducts"],
    "v4/catalog/category/brandindex/11": ["brandIndex"],
    "v3/catalog/reviews?productId=101": ["perReviewWrapper"],
    "v4/catalog/bops/product/100?latitude=0&longitude=0": ["stores", "upcs[].upcAvailability"],
    "v4/catalog/bops/product/101?zipCode=02116": ["upcs"],
    "store/v2/stores": ["stores.store[].inventories", "stores.store[].distance", "stores.store[].units"],
    "store/v2/stores/2001?upcNumber=7": ["stores.store[].inventories"],
}


@pytest.mark.parametrize("target", ABSENT)
def test_what_has_no_value_is_left_out(content: Content, schemas: Schemas, target: str) -> None:
    value = said(content, schemas, target, "application/json")
    assert {
        path: [each for each in reached(value, path.split(".")) if each is not None] for path in ABSENT[target]
    } == {path: [] for path in ABSENT[target]}


def empty(value: Json, path: str = "") -> Iterator[str]:
    """Where a value holds null or an array without items."""
    if value is None or value == []:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from empty(child, f"{path}/{key}")


def test_no_answer_holds_null_or_an_empty_array() -> None:
    told = [case for case in table() if case.value is not None and case.headers["content-type"] == "application/json"]
    held = {case.target: places for case in told if (places := list(empty(orjson.loads(case.body))))}
    assert (held, len(told) > 200) == ({}, True)


def test_the_catalog_says_of_a_sale_the_same_everywhere(content: Content, schemas: Schemas) -> None:
    value = said(content, schemas, "v3/catalog/category/1,2/browseproducts?resultsperpage=96", "application/json")
    products = [each for category in value["category"] for each in category["product"]["product"]]
    told = [
        {each["summary"]["onsale"], each["price"]["onsale"], each["badges"]["onsale"], "sale" in each["price"]}
        for each in products
    ]
    assert (len(products), [each for each in told if len(each) > 1]) == (16, [])


# -- a release without a catalog ---------------------------------------------------------------------------------

ASKED = {
    "category_index": "v3/catalog/category/index",
    "category": "v3/catalog/category/1",
    "browse_products": "v3/catalog/category/1/browseproducts",
    "brand_index": "v4/catalog/category/brandindex/1",
    "brand_index_of_reference": "v4/catalog/category/brandindex?refcatid=1",
    "product_index": "v3/catalog/product/index",
    "product_v3": "v3/catalog/product/100",
    "product_v3_by_upc": "v3/catalog/product?upc=100",
    "product_v4": "v4/catalog/product/100",
    "product_v4_by_upc": "v4/catalog/product/upc/100",
    "recommendations": "v4/recommendations/product/100",
    "reviews": "v3/catalog/reviews?productId=100",
    "search": "v4/catalog/search?searchphrase=a",
    "bops_by_product": "v4/catalog/bops/product/100?zipCode=02116",
    "bops_by_upc": "v4/catalog/bops/upc/100?zipCode=02116",
}


def test_without_a_catalog_there_is_no_data(tmp_path: Path, schemas: Schemas) -> None:
    bare = live(write_files(tmp_path, documents()), AT)
    found = {}
    for name, target in ASKED.items():
        with pytest.raises(Refusal) as raised:
            said(bare, schemas, target, "application/json")
        found[name] = raised.value.code
    assert found == dict.fromkeys(ASKED, "no_data")
    assert {operation.name for operation in INTERFACE.operations if "catalog" in operation.path} <= set(ASKED)
    assert [
        name for name in ASKED for each in INTERFACE.operations if each.name == name and [*each.entries(bare)]
    ] == []
