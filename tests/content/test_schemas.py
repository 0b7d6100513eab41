"""Facts about schemas/: what editors, both validators and the XML decoder rely on."""

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from harness.content import ROOT, SCHEMA_NAMES
from harness.program import Schemas

FOLDER = ROOT / "schemas"
BASE = "https://shopwindow.example/schemas/"
TYPES = {"object", "array", "string", "integer", "number", "boolean"}
# interface W1.5
XML_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")

Schema = dict[str, Any]
LOADED = Schemas(FOLDER)
SCHEMAS: dict[str, Schema] = {name: LOADED[name] for name in SCHEMA_NAMES}  # site.json with every family's part
RESOURCES = [(schema["$id"], DRAFT202012.create_resource(schema)) for schema in SCHEMAS.values()]
REGISTRY: Registry[Any] = Registry().with_resources(RESOURCES)
RUST_REGISTRY = jsonschema_rs.Registry([(schema["$id"], schema) for schema in SCHEMAS.values()])

# A price is an amount or a range. Editors write it; in answers, which XML carries, each has a place of its own.
AMOUNT = SCHEMAS["catalog/product.json"]["$defs"]["amount"]

# The stores of an event are listed, or all of them.
STORES = SCHEMAS["event.json"]["properties"]["stores"]

# A target is an address, or an object with the address; what purges it is one way, or several.
TARGET = SCHEMAS["site.json"]["properties"]["targets"]["additionalProperties"]
PURGE = TARGET["properties"]["purge"]

# What a field of a contract says beside these two is JSON Schema itself, and judged as such.
FIELD = SCHEMAS["contract.json"]["properties"]["reads"]["items"]["properties"]["fields"]["items"]["properties"]
KEYWORDS = [schema for keyword, schema in FIELD.items() if keyword not in ("path", "required")]

SEVERAL = (AMOUNT, STORES, TARGET, PURGE, *KEYWORDS)

every_schema = pytest.mark.parametrize("name", SCHEMAS)
# mobileapp.json is config.json by another name
every_response = pytest.mark.parametrize("name", ["config.json", *(n for n in SCHEMAS if n.startswith("responses/"))])


def python(name: str) -> Any:
    return Draft202012Validator(SCHEMAS[name], registry=REGISTRY, format_checker=Draft202012Validator.FORMAT_CHECKER)


def rust(name: str) -> Any:
    return jsonschema_rs.Draft202012Validator(SCHEMAS[name], registry=RUST_REGISTRY, validate_formats=True)


def nodes(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Every JSON value below `value`, with its pointer."""
    if value is not FIELD:
        yield pointer, value
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from nodes(child, f"{pointer}/{key}")


def places(schema: Schema, pointer: str = "") -> Iterator[tuple[str, Schema]]:
    """Every subschema that describes a value of its own; conditions and propertyNames describe none."""
    yield pointer, schema
    for keyword in ("properties", "$defs"):
        for name, child in schema.get(keyword, {}).items():
            yield from places(child, f"{pointer}/{keyword}/{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from places(schema[keyword], f"{pointer}/{keyword}")


def followed(name: str, schema: Schema) -> Schema:
    """What a place's `$ref` leads to in the end."""
    resolver = REGISTRY.resolver(BASE + name)
    while "$ref" in schema:
        found = resolver.lookup(schema["$ref"])
        schema, resolver = found.contents, found.resolver
    return schema


@every_schema
def test_a_schema_is_valid_against_the_metaschema(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@every_schema
def test_a_schema_is_named_after_its_file(name: str) -> None:
    assert SCHEMAS[name]["$id"] == BASE + name


@every_schema
def test_a_schema_is_written_with_two_spaces(name: str) -> None:
    for path in (FOLDER / name, *(FOLDER.glob("site/*.json") if name == "site.json" else ())):
        text = path.read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


@every_schema
def test_both_validators_compile_a_schema(name: str) -> None:
    assert not python(name).is_valid(None)
    assert not rust(name).is_valid(None)


@every_schema
def test_every_reference_resolves_and_is_relative(name: str) -> None:
    resolver = REGISTRY.resolver(BASE + name)
    references = [node["$ref"] for _, node in nodes(SCHEMAS[name]) if isinstance(node, dict) and "$ref" in node]
    assert [r for r in references if "://" in r] == []
    for reference in references:
        resolver.lookup(reference)


@every_schema
def test_the_document_and_every_property_are_described(name: str) -> None:
    schema = SCHEMAS[name]
    properties = {p: s for p, s in places(schema) if p.split("/")[-2:-1] == ["properties"]}
    assert [p for p, s in {"": schema, **properties}.items() if not s.get("description")] == []


@every_schema
def test_every_property_of_a_kind_has_a_title_of_a_word_or_two(name: str) -> None:
    """Editors read it beside the name. Requests and responses have none: generators of clients name classes by it."""
    properties = {p: s for p, s in places(SCHEMAS[name]) if p.split("/")[-2:-1] == ["properties"]}
    titles = {p: s.get("title") for p, s in properties.items()}
    if name.startswith(("requests/", "responses/")):
        assert set(titles.values()) <= {None}
    else:
        wrong = {p: title for p, title in titles.items() if len((title or "").split()) not in (1, 2)}
        assert wrong == {}, "say in a word or two what an editor calls it"


@every_schema
def test_every_place_has_exactly_one_type(name: str) -> None:
    types = {p: followed(name, s).get("type") for p, s in places(SCHEMAS[name]) if followed(name, s) not in SEVERAL}
    assert {p: t for p, t in types.items() if not isinstance(t, str) or t not in TYPES} == {}


@every_schema
def test_there_is_no_union_and_no_mixed_array(name: str) -> None:
    unions = {"anyOf", "oneOf", "allOf", "prefixItems", "patternProperties", "unevaluatedProperties"}
    assert [p for p, s in places(SCHEMAS[name]) if unions & s.keys()] == []
    assert [p for p, s in places(SCHEMAS[name]) if s.get("type") == "array" and "items" not in s] == []


@every_schema
def test_every_object_is_closed(name: str) -> None:
    objects = [(p, s) for p, s in places(SCHEMAS[name]) if s.get("type") == "object"]
    maps = [(p, s) for p, s in objects if isinstance(s.get("additionalProperties"), dict)]
    assert [p for p, s in maps if "pattern" not in s.get("propertyNames", {})] == []
    assert [p for p, s in objects if (p, s) not in maps and s.get("additionalProperties") is not False] == []


@every_schema
def test_a_pattern_means_the_same_in_python_and_rust(name: str) -> None:
    patterns = {p: s["pattern"] for p, s in nodes(SCHEMAS[name]) if isinstance(s, dict) and "pattern" in s}
    for pointer, pattern in patterns.items():
        re.compile(pattern)
        assert pattern.startswith("^"), pointer
        # Python's `$` also matches before a last newline; the engines differ on `.`, `\d` and their like
        outside_classes = re.sub(r"\[(?:\\.|[^\]\\])*\]|\\.", "", pattern)
        assert outside_classes.count("$") == pattern.endswith(r"(?!\n)$"), pointer
        assert "." not in outside_classes, pointer
        assert not re.search(r"\\[dDwWsSbB]", pattern), pointer


@every_schema
def test_what_a_person_cannot_read_is_said_in_words(name: str) -> None:
    unreadable = [(p, s) for p, s in nodes(SCHEMAS[name]) if isinstance(s, dict) and {"pattern", "format"} & s.keys()]
    assert [p for p, s in unreadable if not s.get("x-allowed")] == []


@every_schema
def test_no_multiple_is_a_fraction(name: str) -> None:
    multiples = [s["multipleOf"] for _, s in nodes(SCHEMAS[name]) if isinstance(s, dict) and "multipleOf" in s]
    assert [m for m in multiples if not isinstance(m, int)] == []


@every_response
def test_the_keys_of_an_answer_are_xml_names(name: str) -> None:
    keys = {key for _, s in places(SCHEMAS[name]) for key in s.get("properties", ())}
    assert {key for key in keys if not XML_NAME.fullmatch(key)} == set()


@every_response
def test_an_array_of_an_answer_is_required_or_never_empty(name: str) -> None:
    for pointer, schema in places(SCHEMAS[name]):
        for key, child in schema.get("properties", {}).items():
            target = followed(name, child)
            if target["type"] == "array" and key not in schema.get("required", ()):
                assert target.get("minItems") == 1, f"{pointer}/{key}"


# interface W1.1: a single property that is an object is the root
@pytest.mark.parametrize(
    ("name", "root"),
    [
        ("responses/events_v1.json", "events"),
        ("responses/stores.json", "stores"),
        ("responses/mobileapp.json", "response"),
        ("responses/events_v2.json", "response"),
        ("responses/promotions_v2.json", "response"),
        ("responses/promotions_v3.json", "response"),
        ("responses/promotions_sorted.json", "response"),
        ("responses/category_index.json", "response"),
        ("responses/category.json", "response"),
        ("responses/browse_products.json", "response"),
        ("responses/brand_index.json", "response"),
        ("responses/product_index.json", "response"),
        ("responses/product_v3.json", "response"),
        ("responses/product_v4.json", "response"),
        ("responses/recommendations.json", "response"),
        ("responses/reviews.json", "response"),
        ("responses/search.json", "response"),
        ("responses/bops.json", "response"),
        ("responses/refresh_status.json", "response"),
        ("responses/error.json", "response"),
    ],
)
def test_the_xml_root_of_an_answer(name: str, root: str) -> None:
    properties = followed(name, SCHEMAS[name])["properties"]
    objects = [key for key, child in properties.items() if followed(name, child)["type"] == "object"]
    assert (objects if len(properties) == 1 and objects else ["response"]) == [root]


TEXTS: list[tuple[str, str, list[str], list[str]]] = [
    (
        "config.json",
        "/$defs/url",
        ["https://a.example", "http://a.example:8080/b/c%20d?e=f&g=[h]#i"],
        [
            "https://a.example\n",
            "ftp://a.example",
            "https://",
            "https:///b",
            "//a.example",
            "https://a.example/b c",
            "TBD",
        ],
    ),
    ("config.json", "/$defs/urlOrUnset", ["TBD", "https://a.example/"], ["TBD\n", "tbd", "", "TBDhttps://a.example"]),
    (
        "config.json",
        "/$defs/landingUrl",
        ["https://a.example/b", "shopapp://home", "shop.app:home"],
        ["javascript:alert(1)", "data:text/html,x", "http:home", "shopapp:", "TBD", "/home", "shopapp://home\n"],
    ),
    ("config.json", "/$defs/path", ["/", "/a/b?c=d"], ["", "a", "/a b", "/a\n"]),
    (
        "config.json",
        "/properties/webServletEndPoints/properties/search",
        ["https://a.example/search?keyword=", "https://a.example/s?x=1&keyword=", "https://a.example?keyword="],
        ["https://a.example/search?keyword=coat", "https://a.example/s?xkeyword=", "https://a.example/keyword=", "TBD"],
    ),
    (
        "config.json",
        "/properties/loggingInfo/properties/logLevel",
        ["ERROR", "ERROR|INFO|DEBUG|WARN", "WARN|ERROR"],
        ["", "ERROR|", "|ERROR", "ERROR|ERROR", "INFO|WARN|INFO", "ERROR,INFO", "error", "ERROR\n"],
    ),
    (
        "config.json",
        "/properties/loggingInfo/properties/maxLogCount",
        ["0", "500"],
        ["", "05", "-1", "5.0", "\u0665", "5\n"],
    ),
    ("app.json", "/properties/name", ["iphone", "a", "0-a"], ["", "-a", "iPhone", "a" * 41, "a\n"]),
    ("app.json", "/properties/extends", ["_shared.yaml", "_a-b.yml"], ["shared.yaml", "_shared.json", "../_a.yaml"]),
    (
        "app.json",
        "/properties/apiKeys/items",
        ["0123456789abcdef" * 4],
        ["0123456789ABCDEF" * 4, "a" * 63, "a" * 64 + "\n"],
    ),
    (
        "site.json",
        "/$defs/base",
        ["https://a.example", "http://a:80/b/c"],
        ["https://a.example/", "https://a.example?b", "a"],
    ),
    ("site.json", "/$defs/zone", ["UTC", "America/New_York", "Etc/GMT+5"], ["", "America/", "New York", "UTC\n"]),
    (
        "site.json",
        "/properties/origins/items",
        ["https://a.example:8080"],
        ["https://a.example/", "https://A.example", "*"],
    ),
    (
        "store.json",
        "/$defs/zip",
        ["02134", "02134-1001"],
        ["2134", "021345", "02134-", "02134\n", "\u0660\u0662\u0661\u0663\u0664"],
    ),
    ("store.json", "/$defs/clock", ["00:00", "09:30", "23:59"], ["9:30", "24:00", "09:60", "09:30\n"]),
    (
        "store.json",
        "/$defs/writtenClock",
        ["00:00", "09:30", "9:30", "0:00", "23:59"],
        ["24:00", "09:60", "9:3", "9", "9:30pm", "009:30", "9:30\n"],
    ),
    (
        "store.json",
        "/$defs/day",
        ["2026-11-26", "2028-02-29"],
        ["2026-02-29", "2026-13-01", "20261126", "2026-W48-4", "2026-11-26\n", "0000-01-01"],
    ),
    (
        "event.json",
        "/$defs/localTime",
        ["2026-11-27 06:00", "2026-11-27 6:00"],
        ["2026-11-27", "2026-11-27T06:00", "2026-11-27 006:00", "2026-11-27 6:0", "2026-13-01 06:00"],
    ),
    (
        "event.json",
        "/$defs/clockText/items",
        ["10AM", "10:30AM", "12PM", "By Appointment"],
        ["10", "13PM", "0AM", "10 AM", "10:5AM"],
    ),
    (
        "publish.json",
        "/$defs/moment",
        [
            "2026-11-27",
            "2026-11-27 06:00",
            "2026-11-27 6:00",
            "2026-11-27T06:00:00-05:00",
            "2026-11-27T11:00:00.5Z",
            "2026-11-27 06:00 America/Los_Angeles",
            "2026-11-27 America/Argentina/Buenos_Aires",
            "2026-11-27 6:00 Etc/GMT+5",
            "2026-11-27 6:00 store",
        ],
        [
            "2026-11-27T06:00:00",
            "2026-11-27T6:00:00Z",
            "2026-11-27T06:00:00Z store",
            "2026-11-27 06:00:00",
            "2026-11-27 6:0",
            "2026-11-27 06:00 ",
            "2026-11-27 06:00  store",
            "2026-11-27 06:00 -05:00",
            "2026-11-27 06:00 Los Angeles",
            "2026-11-27\n",
            "2026-11-27T06:00:00-0500",
            "",
        ],
    ),
    (
        "promotion.json",
        "/$defs/instant",
        ["2026-11-27T06:00:00-05:00"],
        ["2026-11-27", "2026-11-27T06:00:00", "2026-11-27 06:00"],
    ),
    (
        "catalog/product.json",
        "/$defs/upc",
        ["01234565", "012345678905", "4006381333931", "10012345678902"],
        ["0123456", "012345678", "0123456789", "01234567890", "100123456789021", "O12345678905", "012345678905\n"],
    ),
    (
        "catalog/product.json",
        "/$defs/image",
        ["a.jpg", "shoes/loafer_1-a.jpg", "_", "6579c22f.jpg"],
        ["", "/a.jpg", "../a.jpg", "a..jpg", "a//b", "a b.jpg", "a.jpg?x", "a.jpg\n", ".a"],
    ),
    (
        "site.json",
        "/properties/catalog/properties/product_url",
        ["https://a.example/p?ID={id}", "https://a.example/{id}/view"],
        ["https://a.example/p", "https://a.example/{name}", "https://a.example/{id}/{id}", "{id}", "https://{id}/"],
    ),
    (
        "responses/events_v2.json",
        "/$defs/stamp",
        ["11/27/2026 06:00 AM"],
        ["11/27/2026 13:00 PM", "27/11/2026 06:00 AM", "2026-11-27"],
    ),
]


@pytest.mark.parametrize(
    ("name", "pointer", "good", "bad"), TEXTS, ids=[f"{name}#{pointer}" for name, pointer, *_ in TEXTS]
)
def test_both_validators_accept_and_refuse_the_same_texts(
    name: str, pointer: str, good: list[str], bad: list[str]
) -> None:
    schema: Schema = {"$ref": f"{BASE}{name}#{pointer}"}
    mine = Draft202012Validator(schema, registry=REGISTRY, format_checker=Draft202012Validator.FORMAT_CHECKER)
    theirs = jsonschema_rs.Draft202012Validator(schema, registry=RUST_REGISTRY, validate_formats=True)
    assert [t for t in good if not (mine.is_valid(t) and theirs.is_valid(t))] == []
    assert [t for t in bad if mine.is_valid(t) or theirs.is_valid(t)] == []


@pytest.mark.parametrize(
    ("part", "valid"),
    [
        ({"promotionCode": "A", "promotionCodeIds": ["1"]}, True),
        ({"promotionCode": "A", "singleUse": False}, True),
        ({"singleUse": True}, True),
        ({"singleUse": True, "promotionCode": "A"}, False),
        ({"singleUse": True, "promotionCodeIds": ["1"]}, False),
    ],
)
def test_a_single_use_promotion_has_no_code(part: Schema, valid: bool) -> None:
    promotion = {
        "promoId": 1,
        "promotionName": "a",
        "description": "b",
        "global": True,
        "promotionType": "c",
        "effective": "2026-11-27",
        "promotionSourceCode": "B",
        "channels": ["SITE"],
        "categories": ["d"],
    }
    for validator in (python("promotion.json"), rust("promotion.json")):
        assert validator.is_valid(promotion | part) == valid


@pytest.mark.parametrize(
    ("amount", "valid"),
    [
        (49.99, True),
        (0, True),
        ({"low": 1, "high": 2.5}, True),
        (-0.01, False),
        ("49.99", False),
        ([1], False),
        (None, False),
        ({"low": 1}, False),
        ({"low": 1, "high": -2}, False),
        ({"low": 1, "high": 2, "mid": 1.5}, False),
    ],
)
def test_a_price_is_an_amount_or_a_range(amount: Any, valid: bool) -> None:
    schema = {"$ref": f"{BASE}catalog/product.json#/$defs/amount"}
    mine = Draft202012Validator(schema, registry=REGISTRY)
    theirs = jsonschema_rs.Draft202012Validator(schema, registry=RUST_REGISTRY)
    assert [mine.is_valid(amount), theirs.is_valid(amount)] == [valid, valid]


@pytest.mark.parametrize(
    ("part", "valid"),
    [
        ({}, True),
        ({"type": "Browse"}, True),
        ({"type": "GoTo", "overrideUrl": "https://a.example/sale"}, True),
        ({"type": "GoTo"}, False),
        ({"type": "Browse", "overrideUrl": "https://a.example/sale"}, False),
        ({"overrideUrl": "https://a.example/sale"}, False),
        ({"categories": [{"id": 2, "name": "b", "url": "https://a.example/2", "type": "GoTo"}]}, False),
        ({"categories": []}, False),
    ],
)
def test_exactly_a_category_that_leads_elsewhere_says_where(part: Schema, valid: bool) -> None:
    category = {"id": 1, "name": "a", "url": "https://a.example/1"}
    for validator in (python("catalog/category.json"), rust("catalog/category.json")):
        assert validator.is_valid(category | part) == valid


@pytest.mark.parametrize(
    ("exception", "valid"),
    [
        ({"date": "2026-11-26"}, True),
        ({"date": "2026-11-27", "open": "06:00", "close": "22:00"}, True),
        ({"date": "2026-11-27", "open": "06:00"}, False),
        ({"date": "2026-11-27", "close": "22:00"}, False),
    ],
)
def test_a_dated_exception_has_both_hours_or_none(exception: Schema, valid: bool) -> None:
    schema = {"$ref": f"{BASE}store.json#/properties/exceptions/items"}
    mine = Draft202012Validator(schema, registry=REGISTRY)
    theirs = jsonschema_rs.Draft202012Validator(schema, registry=RUST_REGISTRY)
    assert [mine.is_valid(exception), theirs.is_valid(exception)] == [valid, valid]
