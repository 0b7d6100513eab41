"""A Call has one canonical spelling and many others; what is no Call is refused with every fault."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import unquote

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from facts.conformance import xml
from harness.content import SAMPLE, Shape, live
from harness.program import Content, program_schemas
from shopwindow.catalog.operations.parameters import (
    FacetValues,
    IdsSelected,
    IdsWithMask,
    Phrase,
    Quality,
    Ranges,
    ZipCode,
)
from shopwindow.interface import fields
from shopwindow.interface.declaring.kinds import (
    MAX_ELEMENTS,
    MAX_ID,
    Callback,
    Count,
    Day,
    FieldMask,
    Guid,
    Ids,
    Instant,
    Number,
    ParameterKind,
    Radius,
    Text,
    TextualDay,
    Word,
    Words,
    list_order,
)
from shopwindow.interface.declaring.operation import AnyOf, Call, FromContent, Operation, Ordered, Parameter, Together
from shopwindow.interface.declaring.routes import Routes
from shopwindow.interface.fields import Mask
from shopwindow.interface.formats import JSON, RESPONSE_FORMATS, XML, sayable
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import Fault, Refusal
from shopwindow.release.prerender import planned_answers, planned_operations
from shopwindow.shop import INTERFACE


def requested(target: str, method: str = "GET", accept: str | None = None) -> Request:
    path, _, query = target.partition("?")
    return Request(unquote(path), query, {} if accept is None else {"accept": accept}, method)


def request_of(call: Call) -> Request:
    """The canonical request of a call, with its body in JSON."""
    request = requested(call.target, call.operation.method, call.format.media_type)
    headers = dict(request.headers)
    if call.if_match is not None:
        headers["if-match"] = call.if_match
    if call.body is None:
        return request._replace(headers=headers)
    body = orjson.dumps(call.body)
    return request._replace(headers={**headers, "content-type": "application/json"}, body=body, length=len(body))


# -- every pre-rendered Call -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def content() -> Content:
    return live(SAMPLE)


@pytest.fixture(scope="module")
def prerendered(content: Content) -> list[Call]:
    """Every Call that a release of the sample content answers."""
    return [
        call
        for asking in planned_answers(planned_operations(INTERFACE, content))
        for format in RESPONSE_FORMATS
        for call in asking.calls(format)
    ]


def test_every_read_that_has_entries_is_prerendered(prerendered: list[Call], content: Content) -> None:
    reads = [(each.name, each.source.entries) for each in READS if isinstance(each.source, FromContent)]
    with_entries = {name for name, entries in reads if entries is not None and list(entries(content))}
    assert {call.operation.name for call in prerendered} == with_entries


def test_a_read_is_prerendered_for_each_store_and_application(prerendered: list[Call], content: Content) -> None:
    stores, applications = len(content.documents("store")), len(INTERFACE.application_names(content))
    expected = {
        ("mobileapp", ()): applications,
        ("events_v1", ("storeId",)): stores,
        ("events_v1", ("storeNumber",)): stores,
        ("events_v1", ("locationNumber",)): stores,
        ("events_v2", ("storeId",)): stores,
        ("events_v2", ("storeNumber",)): stores,
        ("stores_by_location", ("locationNumber",)): stores,
        ("stores", ()): 1,
        ("promotions_v2", ()): 1,
        ("promotions_v3", ("show",)): 3,
        ("promotions_sorted", ()): 1,
        ("promotions_sorted", ("channel",)): 2,
    }
    operations = {name for name, _ in expected}
    counted: dict[tuple[str, tuple[str, ...]], int] = dict.fromkeys(expected, 0)
    for call in prerendered:
        if call.operation.name in operations:
            counted[call.operation.name, tuple(name for name, _ in call.arguments)] += 1
    assert counted == {key: count * len(RESPONSE_FORMATS) for key, count in expected.items()}


def test_the_canonical_request_of_a_prerendered_call_asks_for_that_call(prerendered: list[Call]) -> None:
    assert [bind(request_of(call), call.application, INTERFACE) for call in prerendered] == prerendered


def test_file_names_are_unique_without_case_and_fit_for_any_file_system(prerendered: list[Call]) -> None:
    names = [str(call.filename()) for call in prerendered]
    assert len({name.lower() for name in names}) == len(names)
    assert [name for name in names if not re.fullmatch(r"[A-Za-z0-9._/=;,-]+", name)] == []
    assert [name for name in names if max(map(len, name.split("/"))) > 200] == []


def test_no_file_stands_where_another_needs_a_folder(prerendered: list[Call]) -> None:
    names = {str(call.filename()) for call in prerendered}
    folders = {name[: match.start()] for name in names for match in re.finditer("/", name)}
    assert names & folders == set()


def test_file_names_tell_path_application_and_parameters() -> None:
    named = {
        "v2/utility/mobileapp": "v2/utility/mobileapp/phone.json",
        "store/v1/events?storeId=212": "store/v1/events;storeId=212.json",
        "store/v1/events?storeId=1,2&locationNumber=7": "store/v1/events;storeId=1,2;locationNumber=7.json",
        "v2/store/event?storeNumber=4001": "v2/store/event;storeNumber=4001.json",
        "store/v2/stores": "store/v2/stores.json",
        "store/v2/stores/10118": "store/v2/stores/10118.json",
        "v2/promotions": "v2/promotions.json",
        "v3/promotions": "v3/promotions;show=promotions,coupons.json",
        "v3/promotions?show=coupons": "v3/promotions;show=coupons.json",
        "v3/promotions/sorted": "v3/promotions/sorted.json",
        "v3/promotions/sorted?channel=MOBILE": "v3/promotions/sorted;channel=MOBILE.json",
        "v3/catalog/category/index": "v3/catalog/category/index.json",
        "v3/catalog/category/118": "v3/catalog/category/118.json",
        "v3/catalog/product/520910": "v3/catalog/product/520910.json",
        "v4/catalog/product/520910": "v4/catalog/product/520910.json",
        "v4/catalog/product/520910(upcs)": None,
        "v4/catalog/search?searchphrase=red&COLOR=[BLUE,RED]": None,
    }
    assert {target: bind(requested(target), "phone", INTERFACE).filename() for target in named} == named


def test_a_name_of_more_than_200_bytes_is_none() -> None:
    ten = ",".join(str(9_000_000_000_000_000 + count) for count in range(10))
    lengths = {}
    for last in (1_000_000_000, 10_000_000_000):
        for format in RESPONSE_FORMATS:
            call = bind(requested(f"store/v1/events?storeId={last},{ten}", accept=format.media_type), None, INTERFACE)
            name = call.filename()
            lengths[last, format.name] = name and len(name.rpartition("/")[2])
    assert lengths == {
        (1_000_000_000, "json"): 200,
        (1_000_000_000, "xml"): 199,
        (10_000_000_000, "json"): None,
        (10_000_000_000, "xml"): None,  # a Call has files in every format, or none
    }


# -- any Call ----------------------------------------------------------------------------------------------------

DAYS = st.dates().map(date.isoformat)
TEXT = st.characters(codec="utf-8")
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,5}", fullmatch=True)


def decimals(least: float, most: float) -> st.SearchStrategy[float]:
    """Numbers that can be written with at most 15 places after the point."""
    return st.tuples(st.floats(least, most), st.integers(0, 15)).map(lambda drawn: round(*drawn) + 0.0)


def masks_of(inner: st.SearchStrategy[Mask]) -> st.SearchStrategy[Mask]:
    names = st.dictionaries(NAMES, st.none() | inner, min_size=1, max_size=3)
    return names.map(lambda found: tuple(sorted(found.items())))


MASKS: st.SearchStrategy[Mask] = st.recursive(masks_of(st.nothing()), masks_of, max_leaves=4).filter(
    lambda mask: len(fields.format(mask)) <= fields.MAX_MASK_LENGTH
)

LOWER_NAMES = st.from_regex(r"[a-z_][a-z0-9_.-]{0,5}", fullmatch=True)


def selectors(words: tuple[str, ...]) -> st.SearchStrategy[Mask]:
    """Masks whose outermost names are some of a few words; all names in lower case."""
    inner = st.dictionaries(LOWER_NAMES, st.none(), min_size=1, max_size=3).map(
        lambda found: tuple(sorted(found.items()))
    )
    found = st.dictionaries(st.sampled_from(words), st.none() | inner, min_size=1, max_size=3)
    return found.map(lambda found: tuple(sorted(found.items())))


def values() -> st.SearchStrategy[tuple[str, ...]]:
    """One text, which may hold commas, or several, which may not."""
    texts = st.text(TEXT, min_size=1, max_size=20).map(str.strip).filter(bool)
    alone = texts.filter(lambda text: not (text[0] == "[" and text[-1] == "]")).map(lambda text: (text,))
    several = st.sets(texts.filter(lambda text: "," not in text), min_size=2, max_size=4)
    return alone | several.map(lambda found: tuple(sorted(found, key=list_order)))


AMOUNTS: st.SearchStrategy[Any] = st.none() | st.integers(0, 99_999_999).map(lambda cents: cents / 100)


def ranges(kind: Ranges) -> st.SearchStrategy[Any]:
    pairs = st.tuples(AMOUNTS, AMOUNTS).map(lambda pair: pair if None in pair else tuple(sorted(map(float, pair))))
    return st.lists(pairs, min_size=1, max_size=3).map(lambda found: kind.parse(kind.format(tuple(found))))  # type: ignore[arg-type]


IN_XML = st.characters(
    codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"
) | st.sampled_from("\t\n\r")

INSTANTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)).map(
    lambda moment: f"{moment.isoformat(timespec='milliseconds')}Z"
)

KINDS: dict[type, Callable[[Any], st.SearchStrategy[Any]]] = {
    Ids: lambda kind: st.sets(st.integers(1, MAX_ID), min_size=1, max_size=kind.limit).map(
        lambda ids: tuple(sorted(ids))
    ),
    Words: lambda kind: st.sets(st.sampled_from(kind.choices), min_size=1).map(
        lambda words: tuple(word for word in kind.choices if word in words)
    ),
    Word: lambda kind: st.sampled_from(kind.choices),
    Day: lambda kind: DAYS,
    TextualDay: lambda kind: DAYS,
    Number: lambda kind: decimals(kind.minimum, kind.maximum),
    Radius: lambda kind: decimals(0, kind.maximum).filter(bool),
    Count: lambda kind: st.integers(1, kind.maximum),
    Guid: lambda kind: st.uuids().map(str),
    Instant: lambda kind: INSTANTS,
    Text: lambda kind: (
        st.text(IN_XML, min_size=kind.minimum, max_size=kind.maximum)
        if kind.verbatim
        else st.text(TEXT, min_size=1, max_size=kind.maximum).map(str.strip).filter(bool)
    ),
    FieldMask: lambda kind: MASKS,
    IdsSelected: lambda kind: st.builds(IdsWithMask, kind_values(Ids()), st.none() | selectors(kind.words)),
    FacetValues: lambda kind: values(),
    Ranges: ranges,
    Phrase: lambda kind: (
        st.text(TEXT, min_size=1, max_size=kind.maximum).map(lambda text: sayable(" ".join(text.split()))).filter(bool)
    ),
    ZipCode: lambda kind: st.from_regex("[0-9]{5}", fullmatch=True),
    Quality: lambda kind: st.integers(1, 100),
    Callback: lambda kind: st.from_regex(
        r"[A-Za-z_$][A-Za-z0-9_$]{0,20}(\.[A-Za-z_$][A-Za-z0-9_$]{0,20}){0,5}", fullmatch=True
    ),
}


def kind_values(kind: ParameterKind) -> st.SearchStrategy[Any]:
    return KINDS[type(kind)](kind)


# -- any Call with a body ----------------------------------------------------------------------------------------

SCHEMAS = program_schemas()
ACTIONS = [operation for operation in INTERFACE.operations if not isinstance(operation.source, FromContent)]


def bodies_of(shape: Shape) -> st.SearchStrategy[Any]:
    """Values that a schema admits, every place of its one type."""
    told = shape.keyword
    if shape.type == "object":
        parts = {
            name: bodies_of(place)
            for name in shape.properties
            if (place := shape.property(name)) and not place.keyword("x-ignored")
        }
        required = {name: parts.pop(name) for name in shape.required}
        return st.fixed_dictionaries(required, optional=parts)
    if shape.type == "array":
        assert shape.items
        return st.lists(bodies_of(shape.items), min_size=told("minItems") or 0, max_size=min(told("maxItems") or 5, 5))
    if shape.type == "integer":
        return st.integers(told("minimum"), told("maximum"))
    if told("enum"):
        return st.sampled_from(told("enum"))
    if told("format"):
        assert told("format") == "date-time"
        return INSTANTS
    if told("pattern"):
        return st.from_regex(re.compile(told("pattern"), re.ASCII), fullmatch=True).filter(
            lambda text: len(text) <= (told("maxLength") or 1000)
        )
    assert shape.type == "string"
    return st.text(IN_XML, min_size=told("minLength") or 0, max_size=min(told("maxLength") or 60, 60))


@st.composite
def acting_calls(draw: st.DrawFn) -> Call:
    operation = draw(st.sampled_from(ACTIONS))
    body: Any = None
    if operation.body and not (operation.body_optional and draw(st.booleans())):
        body = draw(bodies_of(SCHEMAS.shape(operation.request_schema)))
    wanted = {each.name for each in operation.parameters if draw(st.booleans())} | set(operation.in_path)
    for rule in operation.rules:
        if isinstance(rule, AnyOf) and not rule.several:
            wanted -= set(rule.names)
            wanted |= {draw(st.sampled_from(rule.names)) for _ in range(rule.required or draw(st.integers(0, 1)))}
        elif isinstance(rule, AnyOf) and not wanted & set(rule.names):
            wanted.add(draw(st.sampled_from(rule.names)))
    format = draw(st.sampled_from(RESPONSE_FORMATS))
    if format is not JSON:
        wanted.discard("callback")
    arguments = {each.name: draw(kind_values(each.kind)) for each in operation.parameters if each.name in wanted}
    tags = draw(st.none() | st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20))
    return operation.call(format, arguments, "phone", body, tags)


@given(acting_calls())
@settings(deadline=None)
def test_the_canonical_request_of_any_action_asks_for_it_in_json_and_in_xml(content: Content, call: Call) -> None:
    request = request_of(call)
    assert bind(request, call.application, INTERFACE, content=content, schemas=SCHEMAS) == call
    if call.body is None:
        return
    names = list(call.body)
    whole = len(names) == 1 and isinstance(call.body[names[0]], dict)  # then that is the root itself
    data = xml(call.body[names[0]], names[0]) if whole else xml(call.body, "anything")
    headers = {**request.headers, "content-type": "application/xml"}
    in_xml = request._replace(headers=headers, body=data, length=len(data))
    assert bind(in_xml, call.application, INTERFACE, content=content, schemas=SCHEMAS) == call


READS = [operation for operation in INTERFACE.operations if isinstance(operation.source, FromContent)]


@st.composite
def calls(draw: st.DrawFn) -> Call:
    operation = draw(st.sampled_from(READS))
    format = draw(st.sampled_from(RESPONSE_FORMATS))
    wanted = {parameter.name for parameter in operation.parameters if draw(st.booleans())} | set(operation.in_path)
    for rule in operation.rules:
        if isinstance(rule, AnyOf) and not wanted & set(rule.names):
            wanted.add(draw(st.sampled_from(rule.names)))
        if isinstance(rule, Together) and wanted & set(rule.names):
            wanted |= set(rule.names)
    if format is not JSON:
        wanted.discard("callback")
    arguments = {each.name: draw(kind_values(each.kind)) for each in operation.parameters if each.name in wanted}
    if operation.others and draw(st.booleans()):
        names = st.from_regex(operation.others.names, fullmatch=True).filter(lambda name: name not in operation.named)
        arguments |= draw(st.dictionaries(names, kind_values(operation.others.kind), max_size=2))
    for rule in operation.rules:
        if isinstance(rule, Ordered) and {rule.start, rule.finish} <= wanted:
            arguments[rule.start], arguments[rule.finish] = sorted((arguments[rule.start], arguments[rule.finish]))
    return operation.call(format, arguments, draw(st.from_regex("[a-z0-9-]{1,40}", fullmatch=True)))


@given(calls())
def test_the_canonical_request_of_any_call_asks_for_that_call(call: Call) -> None:
    assert bind(request_of(call), call.application, INTERFACE) == call


@given(calls())
def test_the_file_name_of_any_call_is_fit_or_there_is_none(call: Call) -> None:
    name = call.filename()
    assert name is None or all(re.fullmatch(r"[A-Za-z0-9._=;,-]{1,200}", part) for part in name.split("/"))


EVERY_KIND = [
    *(parameter.kind for operation in INTERFACE.operations for parameter in operation.parameters),
    *(operation.others.kind for operation in INTERFACE.operations if operation.others),
]


@given(st.sampled_from(EVERY_KIND), st.data())
def test_a_kind_reads_what_it_writes(kind: ParameterKind, data: st.DataObject) -> None:
    value = data.draw(kind_values(kind))
    assert kind.parse(kind.format(value)) == value


# -- many spellings ----------------------------------------------------------------------------------------------

SPELLINGS = {
    "v2/utility/mobileapp": [
        "v2/utility/mobileapp/",
        "v2/util%69ty/mobileapp",
        "v2%2Futility/mobileapp",  # WSGI hands on a path that is decoded already
        "v2/utility/mobileapp?",
        "v2/utility/mobileapp?unknown=1&unknown=2&_=1699",
    ],
    "store/v1/events?storeId=101,102": [
        "store/v1/events/?storeId=101,102",
        "store/v1/events?storeId=101%2C102",
        "store/v1/events?storeId=101%2c102",
        "store/v1/events?storeId=%31%30%31,102",
        "store/v1/events?store%49d=101,102",
        "store/v1/events?storeId=102,101",
        "store/v1/events?storeId=101&storeId=102",  # openapi-python-client
        "store/v1/events?storeId=102&storeId=101,102&storeId=",
        "store/v1/events?storeId=101,102,101",
        "store/v1/events?storeId=0101,000000000000000000102",
        f"store/v1/events?storeId=101,{'0' * 997}102",
        "store/v1/events?storeId=101,%20102",
        "store/v1/events?storeId=101,+102",
        "store/v1/events?&storeId=101,102&",
        "store/v1/events?unknown=x&storeId=101,102",
        "store/v1/events?storeid=9&storeId=101,102",
    ],
    "store/v1/events?storeId=1&storeNumber=2&locationNumber=3": [
        "store/v1/events?locationNumber=3&storeNumber=2&storeId=1",
        "store/v1/events?storeNumber=2&locationNumber=3&storeId=1",
    ],
    "v2/store/event?storeNumber=4001": ["v2/store/event/?storeNumber=04001"],
    "store/v2/stores": ["store/v2/stores/", "store/v2/stores?unknown=1"],
    "store/v2/stores/10118,10124": [
        "store/v2/stores/10118,10124/",
        "store/v2/stores/10118%2C10124",
        "store/v2/stores/10118%2c10124/",
        "store/v2/stores/10124,10118",
        "store/v2/stores/010118,10124,10118",
        "store/v2/stores/10118,%2010124",
    ],
    "v3/promotions?show=promotions,coupons": [
        "v3/promotions",
        "v3/promotions/",
        "v3/promotions?show=coupons,promotions",
        "v3/promotions?show=promotions%2Ccoupons",
        "v3/promotions?show=coupons%2cpromotions",
        "v3/promotions?show=promotions,coupons,coupons",
        "v3/promotions?show=coupons,%20promotions",
    ],
    "v3/promotions?show=coupons": ["v3/promotions/?show=coupons", "v3/promotions?show=coupons,coupons"],
    "store/v1/events?storeId=1&startDate=2026-12-01&_fields=attributes(attribute(name)),id": [
        "store/v1/events?_fields=id,attributes(attribute(name))&startDate=2026-12-01&storeId=1",
        "store/v1/events?storeId=1&startDate=2026%2D12%2D01&_fields=id%2Cattributes%28attribute%28name%29%29",
        "store/v1/events?storeId=1&startDate=2026-12-01&_fields=%20id%20,%20attributes(attribute(name),attribute(name))",
    ],
    "store/v1/events?storeId=1&_fields=attributes,id": [
        "store/v1/events?storeId=1&_fields=id,attributes,attributes(attribute(name))",
    ],
    "v2/store/event?storeId=1&eventFrom=Jun%2021,%202013": [
        "v2/store/event?storeId=1&eventFrom=Jun+21,+2013",
        "v2/store/event?storeId=1&eventFrom=jun%2021%202013",
        "v2/store/event?storeId=1&eventFrom=JUNE%2021%2C2013",
        "v2/store/event?storeId=1&eventFrom=Jun.%2021,%202013",
        "v2/store/event?storeId=1&eventFrom=%20June,%2021,%202013%20",
    ],
    "store/v2/stores?latitude=40.75&longitude=-74&radius=M25.5": [
        "store/v2/stores?radius=M25.50&longitude=-74.000&latitude=040.750",
    ],
    "store/v2/stores?latitude=0&longitude=0": ["store/v2/stores?latitude=-0&longitude=0.0&radius=M200"],
    "store/v2/stores?feature=BOPS,RESTAURANT&_limit=5": ["store/v2/stores?_limit=05&feature=RESTAURANT,%20BOPS,BOPS"],
    "store/v2/stores?searchAddress=Boston,%20MA": ["store/v2/stores?searchAddress=+Boston%2C+MA+"],
    "v2/promotions?promoid=1,2&global=Y": ["v2/promotions?global=Y&promoid=2,1,2"],
    "v3/promotions/sorted": ["v3/promotions/sorted/"],
    "v3/promotions/sorted?channel=SITE": ["v3/promotions/sorted/?channel=SITE", "v3/promotions/sorted?channel=%53ITE"],
    "v3/catalog/category/index": ["v3/catalog/category/index/", "v3/catalog/category/index?depth=8"],
    "v3/catalog/category/118": ["v3/catalog/category/118?show=product,facet"],
    "v3/catalog/category/118/browseproducts?COLOR=%5BPINK,YELLOW%5D&SIZE=8.5": [
        "v3/catalog/category/118/browseproducts/?SIZE=8.5&COLOR=[YELLOW,PINK]",
        "v3/catalog/category/118/browseproducts?COLOR=[YELLOW,%20PINK,YELLOW]&SIZE=[8.5]&resultsperpage=12&currentpage=1",
        "v3/catalog/category/118/browseproducts?_=1699&size=9&Color=RED&SIZE=8.5&COLOR=%5BPINK%2CYELLOW%5D",
    ],
    "v4/catalog/search?searchphrase=red%20shoes&PRICE=%5B%2ATO50,100TO149.5%5D&BRAND=Smith,%20Jones": [
        "v4/catalog/search?BRAND=Smith,+Jones&PRICE=[100.00TO149.50,*TO50]&searchphrase=+red++shoes",
        "v4/catalog/search?searchphrase=red%20shoes&PRICE=*TO50,100TO149.5&BRAND=%20Smith,%20Jones&show=facet,product",
    ],
    "v4/catalog/product/520910,520911(productdetails(price,summary),upcs(upcdetails))": [
        "v4/catalog/product/520911,520910(upcs(upcdetails),productdetails(summary,price))/",
        "v4/catalog/product/520910%2C520911%28upcs%28upcdetails%29%2Cproductdetails%28summary%2Cprice%29%29",
        "v4/catalog/product/520910,520911(ProductDetails(Price,Summary),UPCs(upcDetails))",
    ],
    "v3/catalog/product?upc=12345678905": [
        "v3/catalog/product?upc=012345678905",
        "v3/catalog/product?upc=0012345678905",
    ],
    "v3/catalog/product/index?since=2026-11-24T05%3A30%3A00.000Z": [
        "v3/catalog/product/index?since=2026-11-24T00:30:00-05:00",
        "v3/catalog/product/index?since=2026-11-24T06:30%2B01:00",
        "v3/catalog/product/index?since=2026-11-24T06:30:00.0+01:00",
    ],
    "v3/catalog/product/index?since=2026-11-24T00%3A00%3A00.000Z": ["v3/catalog/product/index?since=2026-11-24"],
    "v4/catalog/bops/product/520910?zipCode=02116&distance=25.5": [
        "v4/catalog/bops/product/520910?distance=025.50&zipCode=2116&numberOfStores=15",
        "v4/catalog/bops/product/520910?zipCode=02116-1234&distance=25.5",
    ],
}


@pytest.mark.parametrize(
    ("canonical", "spelling"),
    [(canonical, spelling) for canonical, all in SPELLINGS.items() for spelling in (canonical, *all)],
)
def test_many_spellings_ask_for_one_call(canonical: str, spelling: str) -> None:
    call = bind(requested(spelling), "phone", INTERFACE)
    assert (call, call.target) == (bind(requested(canonical), "phone", INTERFACE), canonical)


def test_accept_is_part_of_the_call() -> None:
    asked = {
        accept: bind(requested("v2/promotions", accept=accept), None, INTERFACE).format
        for accept in ("application/xml", "*/*")
    }
    assert asked == {"application/xml": XML, "*/*": JSON}


def test_the_key_is_no_part_of_the_canonical_request() -> None:
    call = bind(requested("v2/utility/mobileapp", accept="application/xml"), "phone", INTERFACE)
    assert (call.application, call.target) == ("phone", "v2/utility/mobileapp")


def test_an_answer_that_is_the_same_for_all_applications_is_one_call() -> None:
    asked = {bind(requested("v2/promotions"), application, INTERFACE) for application in ("phone", "tablet", None)}
    assert [call.application for call in asked] == [None]


def test_a_head_request_asks_for_the_call_of_its_get() -> None:
    assert bind(requested("v2/promotions", "HEAD"), None, INTERFACE) == bind(
        requested("v2/promotions"), None, INTERFACE
    )


def test_an_absent_argument_is_the_default() -> None:
    call = bind(requested("v3/promotions"), None, INTERFACE)
    assert (call.arguments, call["show"], call.texts) == (
        (("show", ("promotions", "coupons")),),
        ("promotions", "coupons"),
        {"show": "promotions,coupons"},
    )


# -- what is refused ---------------------------------------------------------------------------------------------

NO_MAPPING = (Fault("path", "is not one of the interface"),)
EVENTS_NEED = "one of storeId, storeNumber, locationNumber is required"


def not_ids(text: str) -> str:
    return f"must be whole numbers from 1 to 9007199254740991, separated by commas, not {text!r}"


def too_long(most: int, length: int, where: str = "") -> str:
    return f"must be at most {most} characters{where}, not {length}"


@dataclass(frozen=True)
class Refused:
    request: Request
    code: str
    faults: tuple[Fault, ...]
    headers: tuple[tuple[str, str], ...] = ()


def invalid(target: str, *faults: tuple[str, str]) -> Refused:
    return Refused(requested(target), "invalid", tuple(Fault(*fault) for fault in faults))


ALLOW = (("Allow", "GET, HEAD, OPTIONS"),)
HUNDRED_AND_ONE = ",".join(map(str, range(1, 102)))
REFUSED = [
    *(
        Refused(requested(path, method, "text/html"), "no_mapping", NO_MAPPING)
        for path in (
            "",
            "/",
            "v2",
            "v2/utility",
            "v2/utility/mobileapp/x",
            "v2/utility/mobileapp//",
            "/v2/utility/mobileapp",
            "V2/utility/mobileapp",
            "v2/utility/mobileApp",
            "v2/utility/mobileapp.json",
            "store/v2/stores/1/2",
            "store/v2/stores/1/..",
        )
        for method in ("GET", "POST")
    ),
    *(
        Refused(
            requested("v2/utility/mobileapp/", method, "text/html"),
            "method",
            (Fault("method", f"must be GET, HEAD, OPTIONS, not {method}"),),
            ALLOW,
        )
        for method in ("POST", "PUT", "DELETE", "PATCH", "TRACE", "get", "")
    ),
    Refused(
        requested("store/v1/events?storeId=x", accept="text/html, image/png"),
        "not_acceptable",
        (Fault("Accept", "must admit application/json or application/xml, not 'text/html, image/png'"),),
    ),
    Refused(
        requested("v2/promotions", accept="a/" + "b" * 5000),
        "not_acceptable",
        (Fault("Accept", f"must admit application/json or application/xml, not 'a/{'b' * 98}'"),),
    ),
    *(
        invalid(f"store/v1/events{query}", ("storeId", EVENTS_NEED))
        for query in ("", "?storeID=1", "?storeId=", "?storeId", "?storeId=&storeId=&locationNumber=")
    ),
    invalid("v2/store/event?locationNumber=1", ("storeId", "one of storeId, storeNumber is required")),
    invalid("store/v1/events?storeId=0", ("storeId", not_ids("0"))),
    invalid("store/v1/events?storeId=-1", ("storeId", not_ids("-1"))),
    invalid("store/v1/events?storeId=1.0", ("storeId", not_ids("1.0"))),
    invalid("store/v1/events?storeId=1e3", ("storeId", not_ids("1e3"))),
    invalid("store/v1/events?storeId=1,,2", ("storeId", not_ids(""))),
    invalid("store/v1/events?storeId=1,2,", ("storeId", not_ids(""))),
    invalid("store/v1/events?storeId=1;2", ("storeId", not_ids("1;2"))),
    invalid("store/v1/events?storeId=9007199254740992", ("storeId", not_ids("9007199254740992"))),
    invalid("store/v1/events?storeId=" + "9" * 1000, ("storeId", not_ids("9" * 40))),
    invalid("store/v1/events?storeId=7," + "9" * 1001, ("storeId", too_long(1000, 1001, " in each element"))),
    invalid("store/v1/events?storeId=" + "7," * 1000 + "7", ("storeId", "must be at most 100 elements, not 1001")),
    invalid("v3/promotions?show=" + "x" * 1001, ("show", too_long(1000, 1001, " in each element"))),
    invalid("v3/catalog/product/520100?imagequality=" + "0" * 8000 + "x", ("imagequality", too_long(1000, 8001))),
    invalid(f"v4/catalog/product/7(upcs({'x' * 1000}))", ("productId", too_long(1000, 1009, " in each element"))),
    invalid(
        "v4/catalog/search?searchphrase=a&COLOR=" + "x," * 1000, ("COLOR", "must be at most 1000 elements, not 1001")
    ),
    invalid("v2/promotions?promo_code=" + "x" * 1001, ("promo_code", too_long(200, 1001))),
    invalid("store/v1/events?storeId=%D9%A1", ("storeId", not_ids("\u0661"))),
    invalid("store/v1/events?storeId=%FF", ("storeId", not_ids("\ufffd"))),
    invalid("store/v1/events?storeId=1_0", ("storeId", not_ids("1_0"))),
    invalid(f"store/v1/events?storeId={HUNDRED_AND_ONE}", ("storeId", "must be at most 100 numbers, not 101")),
    invalid("store/v1/events?storeId=1&storeId=x", ("storeId", not_ids("x"))),
    invalid(
        f"store/v1/events?storeId=1&storeId={HUNDRED_AND_ONE}", ("storeId", "must be at most 100 numbers, not 101")
    ),
    invalid("store/v1/events?storeId=1,&storeId=2", ("storeId", not_ids(""))),
    invalid("v3/promotions/sorted?channel=SITE&channel=SITE", ("channel", "is given more than once")),
    invalid("store/v1/events?storeId=1&_fields=a&_fields=b", ("_fields", "is given more than once")),
    invalid(
        "store/v1/events?locationNumber=x&storeId=y&startDate=2026-12-05&startDate=2026-12-06",
        ("startDate", "is given more than once"),
        ("storeId", not_ids("y")),
        ("locationNumber", not_ids("x")),
    ),
    invalid("store/v2/stores/x", ("locationNumber", not_ids("x"))),
    invalid("store/v2/stores//", ("locationNumber", not_ids(""))),
    Refused(requested("store/v2/stores/1%2F2"), "no_mapping", NO_MAPPING),
    invalid("store/v2/stores/..", ("locationNumber", not_ids(".."))),
    invalid(
        "v3/promotions?show=coupon", ("show", "must be one of promotions, coupons, not 'coupon'; did you mean coupons?")
    ),
    invalid("v3/promotions?show=coupons,x", ("show", "must be one of promotions, coupons, not 'x'")),
    invalid(
        "v3/promotions/sorted?channel=sit", ("channel", "must be one of SITE, MOBILE, not 'sit'; did you mean SITE?")
    ),
    invalid("v3/promotions/sorted?channel=WEB", ("channel", "must be one of SITE, MOBILE, not 'WEB'")),
]


@pytest.mark.parametrize(
    "refused",
    REFUSED,
    ids=lambda refused: f"{refused.request.method} {refused.request.path}?{refused.request.query[:60]}",
)
def test_what_is_no_call_is_refused_with_every_fault(refused: Refused) -> None:
    with pytest.raises(Refusal) as raised:
        bind(refused.request, None, INTERFACE)
    refusal = raised.value
    assert (refusal.code, refusal.faults, refusal.headers) == (refused.code, refused.faults, refused.headers)


def test_as_many_elements_of_1000_characters_as_a_kind_takes_are_read() -> None:
    ids = ",".join(str(number).zfill(16) for number in range(1, 101))
    assert bind(requested(f"v4/catalog/product/{ids}"), None, INTERFACE)["productId"].ids == tuple(range(1, 101))
    repeated = bind(requested("store/v1/events?storeId=" + "7," * 999 + "7"), None, INTERFACE)
    assert repeated["storeId"] == (7,)
    message = "x" * 4000
    query = f"deviceId=a&platform=iPhone&logLevel=INFO&logMessage={message}"
    assert bind(requested(f"v2/utility/mobilelog?{query}"), None, INTERFACE)["logMessage"] == message


def test_no_kind_takes_a_longer_list_than_is_read() -> None:
    kinds = [parameter.kind for each in INTERFACE.operations for parameter in each.parameters]
    longest = {kind.schema().get("maxItems", 0) for kind in kinds}
    assert (max(longest), max(longest) < MAX_ELEMENTS) == (250, True)


def test_a_parameter_of_the_path_is_not_read_from_the_query() -> None:
    assert bind(requested("store/v2/stores/1?locationNumber=x"), None, INTERFACE)["locationNumber"] == (1,)


# -- routes ------------------------------------------------------------------------------------------------------


def operation(name: str, path: str, method: str = "GET") -> Operation:
    names = re.findall(r"\{(\w+)\}", path)
    parameters = tuple(Parameter(name, Ids(), "An id.") for name in names)
    return Operation(name, path, FromContent(lambda content, call: {}), "error", "", parameters, method=method)


BY_ID, INDEX, CHANGE = (
    operation("by_id", "a/{id}"),
    operation("index", "a/index"),
    operation("change", "a/{id}", "PATCH"),
)
OF_TWO, OF_ONE = operation("of_two", "b/{x}/{y}"), operation("of_one", "b/all/{y}")


@pytest.mark.parametrize("operations", [(BY_ID, INDEX, CHANGE, OF_TWO, OF_ONE), (OF_ONE, OF_TWO, CHANGE, INDEX, BY_ID)])
def test_a_literal_segment_wins_over_a_parameter(operations: tuple[Operation, ...]) -> None:
    gets = [requested(target) for target in ("a/index", "b/all/5", "b/any/5")]
    asked = [*gets, requested("a/5/", "HEAD"), requested("a/5", "PATCH")]
    assert [Routes(operations).route(request) for request in asked] == [
        (INDEX, {}),
        (OF_ONE, {"y": "5"}),
        (OF_TWO, {"x": "any", "y": "5"}),
        (BY_ID, {"id": "5"}),
        (CHANGE, {"id": "5"}),
    ]


def test_a_literal_segment_wins_whatever_the_method() -> None:
    with pytest.raises(Refusal) as raised:
        Routes((BY_ID, INDEX, CHANGE)).route(requested("a/index", "PATCH"))
    assert raised.value.headers == (("Allow", "GET, HEAD, OPTIONS"),)


def test_a_path_allows_the_methods_of_all_its_operations() -> None:
    with pytest.raises(Refusal) as raised:
        Routes((BY_ID, INDEX, CHANGE)).route(requested("a/5", "DELETE"))
    assert (raised.value.code, raised.value.headers) == ("method", (("Allow", "GET, HEAD, OPTIONS, PATCH"),))


def test_only_what_can_be_read_allows_head() -> None:
    with pytest.raises(Refusal) as raised:
        Routes((CHANGE,)).route(requested("a/5", "GET"))
    assert raised.value.headers == (("Allow", "OPTIONS, PATCH"),)


def test_a_call_with_an_argument_that_its_operation_does_not_have_is_a_fault_of_the_program() -> None:
    operation = next(each for each in ACTIONS if each.others is None and each.parameters)
    name = operation.parameters[0].name
    with pytest.raises(KeyError, match="misspelled"):
        operation.call(JSON, {name: "x", "misspelled": "x"})
