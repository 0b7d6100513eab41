"""The OpenAPI document: valid, whole, true to what the service does."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from facts.conformance import AT, PHONE, documents
from harness.content import ROOT, SAMPLE, Json, write_files
from harness.databases import open_database
from harness.program import Application, built, called, served, shopwindow
from shopwindow.interface.declaring.operation import AnyOf, FromContent
from shopwindow.shop import INTERFACE

KEY = {"x-svc-webservice-client-id": PHONE}


@pytest.fixture(scope="module")
def document(out: Path) -> Json:
    """What `shopwindow schemas --openapi` prints."""
    ran = shopwindow("schemas", "--openapi", "--out", out)
    assert (ran.status, ran.err) == (0, "")
    return json.loads(ran.out)


@pytest.fixture(scope="module")
def sample_document(sample_out: Path) -> Json:
    """What `shopwindow schemas --openapi` prints for the sample's release."""
    return json.loads(shopwindow("schemas", "--openapi", "--out", sample_out).out)


def sample_key(application: str) -> str:
    lines = (SAMPLE / "sample-keys.txt").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(f"{application} "))


@pytest.fixture(scope="module")
def service(out: Path) -> Iterator[Application]:
    database = open_database(f"sqlite:///{out}/store.sqlite", INTERFACE.tables)
    database.migrate()
    yield served(out, database, out / "log")
    database.close()


# -- the document ------------------------------------------------------------------------------------------------


def test_the_document_is_valid(document: Json) -> None:
    assert list(OpenAPIV31SpecValidator(document).iter_errors()) == []


def test_every_operation_and_parameter_is_there(document: Json) -> None:
    told = {
        (method.upper(), path.removeprefix("/"), operation["operationId"]): {
            (parameter["name"], parameter["in"]) for parameter in operation["parameters"]
        }
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert told == {
        (operation.method, operation.path, operation.name): {
            *((each.name, "path" if each.name in operation.in_path else "query") for each in operation.parameters),
            *([("others", "query")] if operation.others else ()),
            *([("Idempotency-Key", "header")] if operation.method == "POST" else []),
            *([("If-Match", "header")] if operation.tagged else []),
            *([("If-None-Match", "header")] if isinstance(operation.source, FromContent) else []),
        }
        for operation in INTERFACE.operations
    }


DESCRIBED = {  # interface 4.4, 4.5, 4.9, 4.10 and 4.11, W2, W4
    "/v2/utility/mobileapp": "callback",
    "/store/v1/events": "storeId storeNumber locationNumber startDate finishDate _fields callback",
    "/v2/store/event": "storeId storeNumber eventFrom eventTo callback",
    "/store/v2/stores/{locationNumber}": "locationNumber feature _fields upcNumber productId callback",
    "/store/v2/stores": (
        "storeNumber searchAddress latitude longitude radius feature _limit _fields upcNumber productId callback"
    ),
    "/v2/promotions": "promoid global sourcecode type promo_code callback",
    "/v3/promotions": (
        "show promoid global promotionsourcecode promotype promocode channel coupontype couponnumber callback"
    ),
    "/v3/promotions/sorted": "channel callback",
    "/v3/catalog/category/index": "category depth callback",
    "/v3/catalog/category/{categoryId}": "categoryId show callback",
    "/v3/catalog/category/{categoryId}/browseproducts": (
        "categoryId resultsperpage currentpage show sortby sortorder imagewidth imagequality upcimagewidth "
        "swatchimagewidth PRICE CATEGORY UPC_BOPS_PURCHASABLE callback others"
    ),
    "/v4/catalog/category/brandindex/{categoryId}": "categoryId refcatid callback",
    "/v4/catalog/category/brandindex": "refcatid callback",
    "/v3/catalog/product/index": "since category callback",
    "/v3/catalog/product/{productId}": (
        "productId show imagewidth imagequality upcimagewidth swatchimagewidth numOfReviews callback"
    ),
    "/v3/catalog/product": "upc show upcimagewidth swatchimagewidth numOfReviews callback",
    "/v4/catalog/product/{productId}": "productId callback",
    "/v4/catalog/product/upc/{upcId}": "upcId callback",
    "/v4/recommendations/product/{productId}": "productId maxprods callback",
    "/v3/catalog/reviews": "productId numOfReviews numberOfReviewsRequested pageNumber callback",
    "/v4/catalog/search": (
        "searchphrase show sortorderby perpage page facetexpandall imagewidth imagequality upcimagewidth "
        "swatchimagewidth PRICE CATEGORY UPC_BOPS_PURCHASABLE callback others"
    ),
    "/v4/catalog/bops/product/{productId}": (
        "productId locationNumber latitude longitude zipCode city state distance numberOfStores callback"
    ),
    "/v4/catalog/bops/upc/{upcId}": (
        "upcId locationNumber latitude longitude zipCode city state distance numberOfStores callback"
    ),
}


def reads(document: Json) -> dict[str, Json]:
    """Path → what a GET of it is, for what is answered from content."""
    found = {path: methods["get"] for path, methods in document["paths"].items() if "get" in methods}
    return {path: read for path, read in found.items() if {"304", "412"} & set(read["responses"]) == {"304"}}


def test_the_parameters_are_those_of_the_interface(document: Json) -> None:
    told = {path: {each["name"] for each in asked(read)} for path, read in reads(document).items()}
    assert {path: told.get(path) for path in DESCRIBED} == {
        path: set(names.split()) for path, names in DESCRIBED.items()
    }


def asked(operation: Json) -> list[Json]:
    """The parameters of its path and query."""
    return [each for each in operation["parameters"] if each["in"] in ("path", "query")]


BOTH = {"application/json", "application/xml"}


def test_answers_errors_and_the_key_are_described(document: Json) -> None:
    statuses = {"200", "304", "400", "401", "406", "414", "431", "500", "503"}
    described = [set(read["responses"]) - {"404"} for read in reads(document).values()]
    medias = [set(read["responses"]["200"]["content"]) for read in reads(document).values()]
    assert described == [statuses] * len(described)
    assert medias == [BOTH] * len(medias)
    assert len(described) == len(medias) >= len(DESCRIBED)
    refusals = {name: set(each.get("content", ())) for name, each in document["components"]["responses"].items()}
    assert refusals == {name: BOTH if name != "head_too_large" else set() for name in refusals}
    assert "HEAD is answered wherever GET is" in document["info"]["description"]
    assert document["components"]["securitySchemes"]["key"] == {
        "type": "apiKey",
        "in": "header",
        "name": "x-svc-webservice-client-id",
    }
    assert document["servers"] == [{"url": "https://api.shop.example"}]


def test_both_formats_of_an_answer_and_of_a_body_have_one_schema(document: Json) -> None:
    bodies = [
        part["content"]
        for operation in operations(document)
        for part in (operation["responses"]["200"], operation.get("requestBody"))
        if part
    ]
    plain = [
        [{key: value for key, value in media["schema"].items() if key != "xml"} for media in body.values()]
        for body in bodies
    ]
    assert [set(body) for body in bodies] == [BOTH] * len(bodies)
    assert [as_json for as_json, _ in plain] == [as_xml for _, as_xml in plain]


def test_answers_are_open_and_bodies_are_closed(document: Json) -> None:
    schemas = document["components"]["schemas"]
    of_bodies = {name for name in schemas if "Request" in name}
    closed = {name for name, schema in schemas.items() if schema.get("additionalProperties") is False}
    inner = [part for schema in schemas.values() for pointer, part in parts(schema) if pointer]
    assert (closed, [part for part in inner if part.get("additionalProperties") is False]) == (of_bodies, [])
    with_words = {
        name
        for name, schema in schemas.items()
        if any("enum" in part and part.get("type") == "string" for _, part in parts(schema))
    }
    assert with_words == {"MobilelogRequestEntry", "MobileoptinoutRequest", "ShareRequest", "SupcRequest"}
    status = schemas["BopsUpcsUpcAvailability"]["properties"]["storeAvailabilityStatus"]
    assert (status["type"], status["description"].partition(" Words so far: ")[2]) == (
        "string",
        "AVAILABLE, LIMITED, UNAVAILABLE.",
    )


def test_a_whole_number_that_may_need_64_bits_says_so(document: Json) -> None:
    numbers = [
        part
        for tree in (document["components"]["schemas"], document["paths"])
        for _, part in parts(tree)
        if part.get("type") == "integer"
    ]
    wide = [number for number in numbers if "maximum" not in number or number["maximum"] >= 2**31]
    headers = {"type": "integer"}  # seconds of Retry-After
    assert len(wide) > 100
    assert [number for number in wide if number.get("format") != "int64" and number != headers] == []
    assert [number for number in numbers if number.get("format") == "int64" and number not in wide] == []


def test_an_operations_own_refusals_name_what_it_has(document: Json) -> None:
    """A 400 names one of its parameters or members; that of a code says why it is not expired."""
    supc = document["paths"]["/v3/order/supc"]["put"]["responses"]
    reasons = ["INVALID_CODE", "SUPC_USED", "PROMOTION_NOT_STARTED", "PROMOTION_EXPIRED", "PROMOTION_WITHDRAWN"]
    examples = supc["400"]["content"]["application/json"]["examples"]
    assert {name: each["value"]["errorMessage"] for name, each in examples.items()} == {
        reason: f"Error processing request: {reason}" for reason in reasons
    }
    assert list(supc) == ["200", "400", "401", "406", "408", "413", "414", "415", "429", "500", "431"]
    for operation in operations(document):
        if operation["operationId"] == "supc":
            continue
        names = {each["name"] for each in operation["parameters"]}
        if body := operation.get("requestBody"):
            reference = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            names |= set(document["components"]["schemas"][reference]["properties"])
        examples = operation["responses"]["400"]["content"]["application/json"]["examples"]
        details = [detail for each in examples.values() for detail in each["value"]["errorDetail"]]
        assert details, operation["operationId"]
        assert {detail.partition(":")[0] for detail in details} <= names


def test_no_description_repeats_the_summary(document: Json) -> None:
    assert [each["operationId"] for each in operations(document) if each.get("description") == each["summary"]] == []


def test_a_write_tells_the_statuses_of_its_own(document: Json) -> None:
    some = {"408", "412", "422", "429"}
    bags = "/order/v1/bags"
    expected = {
        ("post", "/v2/utility/mobileoptinout"): "408 422 429",
        ("get", "/v2/utility/mobilelog"): "429",
        ("post", "/v2/utility/mobilelog"): "408 422 429",
        ("post", "/v3/promotions/share"): "408 422 429",
        ("get", bags): "412",
        ("post", bags): "408 412 422 429",
        ("patch", f"{bags}/{{bagGuid}}/items"): "408 412",
        ("delete", f"{bags}/{{bagGuid}}/items/{{sequenceNumber}}"): "408 412",
        ("get", "/store/v1/events"): "",
    }
    described = {each: document["paths"][each[1]][each[0]]["responses"] for each in expected}
    assert {each: " ".join(sorted(some & set(codes))) for each, codes in described.items()} == expected
    responses = document["components"]["responses"]
    waits = {name for name, response in responses.items() if "Retry-After" in response.get("headers", {})}
    assert waits == {"unavailable", "too_many"}


def test_the_path_of_base_url_is_honoured(tmp_path: Path) -> None:
    content = write_files(tmp_path / "content", documents("/mobile/api"))
    built(content, tmp_path / "dist", at=AT)
    printed = json.loads(shopwindow("schemas", "--openapi", "--out", tmp_path / "dist").out)
    assert printed["servers"] == [{"url": "https://api.shop.example/mobile/api"}]


def test_a_schema_of_the_content_folder_is_told(out: Path, tmp_path: Path) -> None:
    schema = {**json.loads((ROOT / "schemas" / "config.json").read_bytes()), "description": "Of this shop."}
    write_files(tmp_path, {"schemas/config.json": json.dumps(schema)})
    printed = json.loads(shopwindow("schemas", "--openapi", "--out", out, "--content", tmp_path).out)
    assert printed["components"]["schemas"]["Config"]["description"] == "Of this shop."


def test_the_document_has_the_title_and_the_version_of_the_interface(document: Json) -> None:
    assert (document["info"]["title"], document["info"]["version"]) == (INTERFACE.title, INTERFACE.version)


def test_no_schema_has_a_title_since_generators_name_classes_by_it(document: Json) -> None:
    def titles(value: Json, place: str) -> Iterator[str]:
        items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
        for key, part in items:
            if key == "title" and isinstance(part, str):
                yield place
            yield from titles(part, f"{place}/{key}")

    assert "appVersionNumber" in json.dumps(document["components"]["schemas"]), "an answer is described by a kind"
    found = [place for place in titles(document, "") if "/example" not in place]
    assert found == ["/info"]


def test_everything_has_a_description(document: Json) -> None:
    silent = [
        (path, parameter["name"])
        for path, methods in document["paths"].items()
        for operation in methods.values()
        for parameter in operation["parameters"]
        if not parameter.get("description")
    ]
    assert silent == []


def texts(parameter: Json, value: Json) -> str:
    """An example as the parameter's style writes it: an array by commas, of an object the first member's text."""
    if isinstance(value, dict):
        return str(next(iter(value.values())))
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


@pytest.fixture(scope="module")
def examples(sample_document: Json) -> dict[str, dict[str, str]]:
    """Path → parameter → its example as it is written, for the sample's release."""
    return {
        path: {each["name"]: texts(each, each["example"]) for each in asked(read) if "example" in each}
        for path, read in reads(sample_document).items()
    }


def without_example() -> set[tuple[str, str]]:
    """Operation and parameter: what changes an answer's form, and the same thing said in another way."""
    forms = {
        (operation.name, each.name)
        for operation in INTERFACE.operations
        for each in operation.parameters
        if each.name in ("callback", "_fields") or each.alternative
    }
    others = {
        (operation.name, name)
        for operation in INTERFACE.operations
        for rule in operation.rules
        if isinstance(rule, AnyOf)
        for name in (rule.names[1:] if rule.required else rule.names)
    }
    return forms | others


def test_every_parameter_has_an_example_that_its_schema_admits(document: Json) -> None:
    missing = {
        (operation["operationId"], each["name"])
        for operation in operations(document)
        for each in asked(operation)
        if "example" not in each
    }
    odd = [
        (operation["operationId"], each["name"], each["example"])
        for operation in operations(document)
        for each in asked(operation)
        if "example" in each and not valid(each["example"], each["schema"])
    ]
    expected = without_example()
    assert (missing - expected, expected - missing, odd) == (set(), set(), [])


def operations(document: Json) -> list[Json]:
    return [operation for methods in document["paths"].values() for operation in methods.values()]


def test_every_reference_leads_to_a_named_component(document: Json) -> None:
    text = json.dumps(document["paths"]) + json.dumps(document["components"])
    references = set(re.findall(r'"\$ref": "([^"]*)"', text))
    components = {
        f"#/components/{sort}/{name}" for sort in ("schemas", "responses") for name in document["components"][sort]
    }
    names = set(document["components"]["schemas"])
    assert (references - components, {name for name in names if not re.fullmatch("[A-Z][A-Za-z0-9]*", name)}) == (
        set(),
        set(),
    )


def test_every_object_with_listed_properties_is_a_component(document: Json) -> None:
    nameless = [
        (name, pointer)
        for name, schema in document["components"]["schemas"].items()
        for pointer, part in parts(schema)
        if pointer and part.get("type") == "object" and "properties" in part
    ]
    assert nameless == []


def parts(schema: Json, pointer: str = "") -> Iterator[tuple[str, Json]]:
    """Every object in a schema, the schema itself first."""
    if isinstance(schema, dict):
        yield pointer, schema
        for key, part in schema.items():
            yield from parts(part, f"{pointer}/{key}")
    elif isinstance(schema, list):
        for number, part in enumerate(schema):
            yield from parts(part, f"{pointer}/{number}")


def test_no_schema_for_editors_is_in_the_document(document: Json) -> None:
    whole = {"apiKeys", "extends", "publish"}  # an application's digests, its bases, a window
    shown = [name for name, schema in document["components"]["schemas"].items() if whole & set(schema["properties"])]
    assert shown == []


def test_operations_are_tagged_with_their_families(document: Json) -> None:
    told = {operation["operationId"]: operation["tags"] for operation in operations(document)}
    assert told == {operation.name: [operation.family] for operation in INTERFACE.operations}
    assert [tag["name"] for tag in document["tags"]] == list(
        dict.fromkeys(operation.family for operation in INTERFACE.operations)
    )


def test_examples_of_answers_and_bodies_are_of_their_schemas(sample_document: Json) -> None:
    document = sample_document
    medias = [
        (operation["operationId"], part["content"]["application/json"])
        for operation in operations(document)
        for part in (operation["responses"]["200"], operation.get("requestBody"))
        if part
    ]
    without = [name for name, media in medias if "example" not in media]
    odd = [
        (name, error.message)
        for name, media in medias
        if "example" in media
        for error in Draft202012Validator({**media["schema"], "components": document["components"]}).iter_errors(
            media["example"]
        )
    ]
    assert (without, odd) == ([], [])


def valid(value: Json, schema: Json) -> bool:
    checker = Draft202012Validator.FORMAT_CHECKER
    return Draft202012Validator(schema, format_checker=checker).is_valid(value)


CATEGORY = "no category has an id that was asked for"
PRODUCT = "productId: no product has such an id"
BAG = "bagGuid: there is no bag 9f1c2e7a-5b0d-4c3e-8a6f-0d1e2f3a4b5c of this application"
NOT_FOUND = {
    "share": "promoId: there is no such promotion",
    **dict.fromkeys(("bag", "bag_add", "bag_update", "bag_remove"), BAG),
    **dict.fromkeys(("category_index", "product_index"), f"category: {CATEGORY}"),
    **dict.fromkeys(("category", "browse_products", "brand_index"), f"categoryId: {CATEGORY}"),
    "brand_index_of_reference": f"refcatid: {CATEGORY}",
    **dict.fromkeys(("product_v3", "product_v4", "recommendations", "reviews", "bops_by_product"), PRODUCT),
    "product_v3_by_upc": "upc: no UPC has a number that was asked for",
    **dict.fromkeys(("product_v4_by_upc", "bops_by_upc"), "upcId: no UPC has a number that was asked for"),
    "banner_by_id": "bannerId: there is no banner with this bannerId",
}
"""What the operations say of an id that nobody has. The others find something for every request."""


def test_an_operation_has_a_404_in_its_own_words_or_none(sample_document: Json) -> None:
    refusals = {
        operation["operationId"]: operation["responses"]["404"]["content"]["application/json"]["examples"]
        for operation in operations(sample_document)
        if "404" in operation["responses"]
    }
    details = {name: examples["no_data"]["value"]["errorDetail"] for name, examples in refusals.items()}
    assert details == {name: [words] for name, words in NOT_FOUND.items()}


def test_the_roots_of_xml_are_told(document: Json) -> None:
    schemas = "#/components/schemas"

    def body(path: str, method: str = "get") -> Json:
        operation = document["paths"][path][method]
        described = operation["responses"]["200"] if method == "get" else operation["requestBody"]
        return described["content"]["application/xml"]["schema"]

    item = "/order/v1/bags/{bagGuid}/items/{sequenceNumber}"
    told = [body("/store/v1/events"), body("/v2/store/event"), body(item, "delete"), body("/v3/order/supc", "put")]
    assert told == [
        {"$ref": f"{schemas}/EventsV1", "xml": {"name": "events"}},
        {"$ref": f"{schemas}/EventsV2", "xml": {"name": "response"}},
        {"$ref": f"{schemas}/BagRemoveRequest", "xml": {"name": "deleteitemsrequest"}},
        {"$ref": f"{schemas}/SupcRequest", "xml": {"name": "request"}},
    ]


NEEDED = ("storeId", "locationNumber", "latitude", "longitude", "city", "state", "upc", "searchphrase", "productId")
"""Without one of these some operation answers nothing, or not without the other."""


def queries(given: dict[str, str]) -> list[dict[str, str]]:
    """Each parameter alone, beside what it cannot do without, and all of them."""
    needed = [name for name in NEEDED if name in given]
    alone = [{name: given[name] for name in dict.fromkeys((*needed, each))} for each in given]
    return [*alone, given]


@pytest.fixture(scope="module")
def sampled(sample_out: Path) -> Application:
    """The service over the sample content, which the examples are of."""
    return served(sample_out)


def test_examples_are_answered(examples: dict[str, dict[str, str]], sampled: Application) -> None:
    answered = []
    key = {"x-svc-webservice-client-id": sample_key("iphone")}
    for path, given in examples.items():
        located = path
        for name in re.findall(r"{(\w+)}", path):
            located = located.replace(f"{{{name}}}", given[name])
        for chosen in queries({name: text for name, text in given.items() if f"{{{name}}}" not in path}):
            query = "&".join(f"{name}={quote(text)}" for name, text in chosen.items())
            answered.append((f"{located}?{query}", called(sampled, f"{located}?{query}", key).status))
    assert ([each for each in answered if each[1] != 200], len(answered) > 50) == ([], True)


def test_the_examples_of_a_read_are_together_a_request_that_has_an_answer(
    examples: dict[str, dict[str, str]], sampled: Application
) -> None:
    key = {"x-svc-webservice-client-id": sample_key("iphone")}
    empty = []
    for operation in INTERFACE.operations:
        if f"/{operation.path}" not in examples or not isinstance(operation.source, FromContent):
            continue
        texts = examples[f"/{operation.path}"]
        path = operation.path.format(**texts)
        query = {name: text for name, text in texts.items() if name not in operation.in_path}
        if operation.others:
            query[operation.others.example[0]] = query.pop("others")
        value = json.loads(called(sampled, f"{path}?{urlencode(query)}", key).body)
        for name in operation.items:
            value = value.get(name)
        if not value:
            empty.append(operation.name)
    assert empty == []


# -- the service against the document ----------------------------------------------------------------------------


ORDERS = "orders.shop.example"
ON_THE_ORDER_HOST = {f"/{operation.path}" for operation in INTERFACE.operations if operation.order_host}


def test_operations_of_the_order_host_are_at_its_url(document: Json) -> None:
    told = {
        path: operation["servers"]
        for path, methods in document["paths"].items()
        for operation in methods.values()
        if "servers" in operation
    }
    assert (told, ON_THE_ORDER_HOST) == ({"/v3/order/supc": [{"url": f"https://{ORDERS}"}]}, {"/v3/order/supc"})


def test_a_cookie_is_told_where_site_yaml_names_one(tmp_path: Path) -> None:
    texts = documents()
    site = {**json.loads(texts["site.yaml"]), "code_cookie": "supc"}
    built(write_files(tmp_path / "content", {**texts, "site.yaml": json.dumps(site)}), tmp_path / "dist", at=AT)
    told = json.loads(shopwindow("schemas", "--openapi", "--out", tmp_path / "dist").out)
    cookies = [(each["name"], each["in"]) for each in told["paths"]["/v3/order/supc"]["put"]["parameters"]]
    assert list(OpenAPIV31SpecValidator(told).iter_errors()) == []
    assert (cookies, told["components"]["schemas"]["SupcRequest"]["required"]) == (
        [("supc", "cookie")],
        ["orderNumber", "reservationId"],
    )


def test_what_a_body_admits_in_several_types_has_the_plain_one(document: Json) -> None:
    schemas = document["components"]["schemas"]
    items = schemas["BagAddRequest"]["properties"]["item"]
    assert (items["type"], items["items"]) == ("array", {"$ref": "#/components/schemas/BagAddRequestItem"})
    assert schemas["BagAddRequestItem"]["properties"]["quantity"] == {
        "description": "How many of it to add.",
        "type": "integer",
        "minimum": 1,
        "maximum": 100000,
    }
    assert schemas["SupcRequest"]["properties"]["reservationId"]["type"] == "string"
    assert [name for name, schema in schemas.items() if any("anyOf" in part for _, part in parts(schema))] == []
