"""Facts about what the schemas find: each finding's words and place, and that both validators say the same."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from jsonschema_rs import Draft202012Validator as FastValidator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from content.test_yaml import pointers, values
from harness.content import (
    EVENT,
    MINIMAL,
    ROOT,
    SCHEMA_NAMES,
    check,
    declared,
    edit,
    examples,
    place,
    problems,
    unmark,
    write_files,
)
from harness.program import Schemas, program_schemas
from shopwindow.content.reading import yaml
from shopwindow.content.reading.yaml import at
from shopwindow.content.schemas.schema import BASE
from shopwindow.content.schemas.wording import pointer_of as error_place
from shopwindow.problems import Failure, pointer_text
from shopwindow.shop import INTERFACE

OBJECT = "an object: lines of `key: value` below, indented"
FEATURES = "BOPS, BRIDAL, MATTRESS, FURNITURE_GALLERY, VISITOR_CENTER, PERSONAL_SHOPPER, RESTAURANT"
MOMENT = (
    "a day as 2026-11-27 or a time as 2026-11-27 06:00, in the site's zone or in one behind it, as 2026-11-27 06:00 "
    "America/Los_Angeles; or an instant with its offset as 2026-11-27T06:00:00-05:00; in the years 1000 to 2999"
)
STORE_KEYS = (
    "storeId, storeNumber, locationNumber, divisionId, name, phoneNumber, mapUrl, address, location, timeZone, "
    "features, attributes, hours, exceptions, publish"
)

# What stands in stores/one.yaml, and what to put instead; the pointer, what is found at the mark, what is allowed,
# and what may have been meant.
CASES: list[tuple[str, str, str, str, str, str]] = [
    ("storeId: 1\n", "storeId: ‸one\n", "storeId", "'one' is not a whole number", "a whole number", ""),
    ("storeId: 1\n", "storeId: ‸1.5\n", "storeId", "1.5 is not a whole number", "a whole number", ""),
    ("storeId: 1\n", "storeId: ‸1.0\n", "storeId", "1.0 has a fraction", "a whole number without a fraction: 1", ""),
    ("storeId: 1\n", "storeId: ‸1e3\n", "storeId", "1e3 has a fraction", "a whole number without a fraction: 1000", ""),
    ("storeId: 1\n", "storeId:‸\n", "storeId", "nothing is written here", "a whole number", ""),
    ("storeId: 1\n", "storeId: ‸true\n", "storeId", "true is not a whole number", "a whole number", ""),
    (
        "storeId: 1\n",
        "storeId: ‸'1'\n",
        "storeId",
        "'1' is not a whole number",
        "a whole number, without quotes: 1",
        "",
    ),
    (
        "storeId: 1\n",
        "storeId: ‸0101\n",
        "storeId",
        "'0101' is not a whole number",
        "a whole number, without leading zeros: 101",
        "",
    ),
    (
        "latitude: 42.36",
        "latitude: ‸'42,36'",
        "location/latitude",
        "'42,36' is not a number",
        "a number, with a decimal point: 42.36",
        "",
    ),
    (
        "latitude: 42.36",
        "latitude: ‸'0,125'",
        "location/latitude",
        "'0,125' is not a number",
        "a number, with a decimal point: 0.125",
        "",
    ),
    (
        "latitude: 42.36",
        "latitude: ‸'1,195'",  # which may be a thousand and more
        "location/latitude",
        "'1,195' is not a number",
        "a number",
        "",
    ),
    (
        "hours:",
        "attributes: {SL_BRIDAL: ‸true}\nhours:",
        "attributes/SL_BRIDAL",
        "true is not a list",
        "a list: `SL_BRIDAL: [TRUE]`",
        "",
    ),
    (
        "hours:",
        "publish: {from: ‸2027}\nhours:",
        "publish/from",
        "2027 is not text",
        MOMENT,
        "",
    ),
    (
        "hours:",
        "publish: {until: ‸9999-12-31}\nhours:",
        "publish/until",
        "'9999-12-31' does not have the right form",
        MOMENT,
        "",
    ),
    ("name: First", "name: ‸1.0", "name", "1.0 is not text", 'text: put it in quotes, "1.0"', ""),
    ("name: First", "name: ‸5.10", "name", "5.10 is not text", 'text: put it in quotes, "5.10"', ""),
    ("name: First", "name: ‸1e3", "name", "1e3 is not text", 'text: put it in quotes, "1e3"', ""),
    ("name: First", "name: ‸&a 5.10", "name", "5.10 is not text", 'text: put it in quotes, "5.10"', ""),
    ("name: First", f"name: ‸0.{'1' * 99}", "name", f"0.{'1' * 57}… is not text", "text", ""),
    ("name: First", "name: ‸null", "name", "null is not text", "text", ""),
    ("name: First", "name: ‸{a: b}", "name", "an object is not text", "text", ""),
    ("name: First", "name:\n  ‸- a\n  - b", "name", "a list is not text", "text", ""),
    (
        "zipCode: 02108",
        "zipCode: ‸10018",
        "address/zipCode",
        "10018 is not text",
        'text: put it in quotes, "10018"',
        "",
    ),
    (
        "zipCode: 02108",
        "zipCode: ‸null",
        "address/zipCode",
        "null is not text",
        "five digits, or ZIP+4 such as 02134-1001",
        "",
    ),
    (
        "02108",
        "‸[02108, 02109]",
        "address/zipCode",
        "a list is not text",
        "five digits, or ZIP+4 such as 02134-1001",
        "",
    ),
    (
        "hours:",
        "exceptions: [{date: ‸20261126}]\nhours:",
        "exceptions/0/date",
        "20261126 is not text",
        "a day as YYYY-MM-DD",
        "",
    ),
    (
        "hours:",
        "exceptions: [{date: ‸0000-01-01}]\nhours:",
        "exceptions/0/date",
        "'0000-01-01' does not exist in the calendar",
        "a day as YYYY-MM-DD",
        "",
    ),
    (
        "hours:",
        "attributes: {SL_BRIDAL: ‸yes}\nhours:",
        "attributes/SL_BRIDAL",
        "'yes' is not a list",
        "a list; each entry: TRUE, FALSE",
        "",
    ),
    (
        "hours:",
        "attributes: {OTHER: ‸5.10}\nhours:",
        "attributes/OTHER",
        "5.10 is not a list",
        'a list: `OTHER: ["5.10"]`',
        "",
    ),
    ("latitude: 42.36", "latitude: ‸420.360", "location/latitude", "420.360 is too large", "at most 90", ""),
    ("latitude: 42.36", "latitude: ‸north", "location/latitude", "'north' is not a number", "a number", ""),
    (
        "location: {latitude: 42.36, longitude: -71.06}",
        "location: ‸42.36",
        "location",
        "42.36 is not an object",
        OBJECT,
        "",
    ),
    ("hours:", "features: ‸BOPS\nhours:", "features", "'BOPS' is not a list", "a list: `features: [BOPS]`", ""),
    (
        "hours:",
        "features: ‸{BOPS: 1}\nhours:",
        "features",
        "an object is not a list",
        "a list: entries in brackets, `[a, b]`, or below with `- `",
        "",
    ),
    ("storeId: 1\n", "storeId: ‸0\n", "storeId", "0 is too small", "at least 1", ""),
    (
        "storeId: 1\n",
        "storeId: ‸9007199254740992\n",
        "storeId",
        "9007199254740992 is too large",
        "at most 9007199254740991",
        "",
    ),
    ("longitude: -71.06", "longitude: ‸-180.5", "location/longitude", "-180.5 is too small", "at least -180", ""),
    ("name: First", "name: ‸''", "name", "nothing is written here", "some text", ""),
    ("name: First", f"name: ‸{'x' * 201}", "name", f"'{'x' * 58}… is too long: 201 characters", "at most 200", ""),
    (
        "open: 10:00",
        "open: ‸9am",
        "hours/monday/open",
        "'9am' does not have the right form",
        "a time of day on the 24-hour clock as HH:MM",
        "",
    ),
    (
        "02108",
        "‸2108a",
        "address/zipCode",
        "'2108a' does not have the right form",
        "five digits, or ZIP+4 such as 02134-1001",
        "",
    ),
    (
        "hours:",
        "exceptions: [{date: ‸2026-02-30}]\nhours:",
        "exceptions/0/date",
        "'2026-02-30' does not exist in the calendar",
        "a day as YYYY-MM-DD",
        "",
    ),
    (
        "hours:",
        "publish: {from: ‸2026-13-40 06:00 America/New_York}\nhours:",
        "publish/from",
        "'2026-13-40 06:00 America/New_York' does not exist in the calendar",
        MOMENT,
        "",
    ),
    (
        "hours:",
        "publish: {from: ‸3026-12-31}\nhours:",
        "publish/from",
        "'3026-12-31' does not have the right form",
        MOMENT,
        "",
    ),
    (
        "hours:",
        "exceptions: [{date: ‸26-2-3}]\nhours:",
        "exceptions/0/date",
        "'26-2-3' does not have the right form",
        "a day as YYYY-MM-DD",
        "",
    ),
    (
        "hours:",
        "exceptions: [{date: ‸''}]\nhours:",
        "exceptions/0/date",
        "nothing is written here",
        "a day as YYYY-MM-DD",
        "",
    ),
    (
        "hours:",
        "features: [BOPS, ‸Resturant]\nhours:",
        "features/1",
        "'Resturant' is not one of the allowed values",
        FEATURES,
        "RESTAURANT",
    ),
    (
        "hours:",
        "features: [‸HAS_EVENTS]\nhours:",
        "features/0",
        "'HAS_EVENTS' is not one of the allowed values",
        FEATURES,
        "",
    ),
    ("hours:", "features: [‸7]\nhours:", "features/0", "7 is not one of the allowed values", FEATURES, ""),
    (
        "hours:",
        "attributes: {SL_BRIDAL: [‸true]}\nhours:",
        "attributes/SL_BRIDAL/0",
        "true is not one of the allowed values",
        "TRUE, FALSE",
        "TRUE",
    ),
    ("hours:", "features: [‸'']\nhours:", "features/0", "nothing is written here", FEATURES, ""),
    (
        "hours:",
        "features:\n- BOPS\n- BRIDAL\n- ‸BOPS\nhours:",
        "features/2",
        "'BOPS' stands in the list a second time",
        "each entry once",
        "",
    ),
    (
        "hours:",
        "attributes: {SL_BRIDAL: ‸[TRUE, FALSE]}\nhours:",
        "attributes/SL_BRIDAL",
        "a list of 2 is too long",
        "at most 1",
        "",
    ),
    (
        "hours:",
        "attributes: {OTHER: ‸[]}\nhours:",
        "attributes/OTHER",
        "nothing is written here",
        "at least 1 in the list",
        "",
    ),
    (
        "phoneNumber:",
        "phoneNumber: '212-555-0101'\n‸phoneNumer:",
        "phoneNumer",
        "'phoneNumer' is not known here",
        STORE_KEYS,
        "phoneNumber",
    ),
    (
        "hours:",
        f"‸{'k' * 99}: 1\nhours:",
        "k" * 99,
        f"'{'k' * 58}… is not known here",
        STORE_KEYS,
        "",
    ),
    ("hours:", "‸__proto__: {a: 1}\nhours:", "__proto__", "'__proto__' is not known here", STORE_KEYS, ""),
    (
        "  monday:",
        "  ‸mondy: {open: 10:00, close: 11:00}\n  monday:",
        "hours/mondy",
        "'mondy' is not known here",
        "monday, tuesday, wednesday, thursday, friday, saturday, sunday",
        "monday",
    ),
    (
        "hours:",
        "attributes: {‸is-new: [TRUE]}\nhours:",
        "attributes/is-new",
        "'is-new' does not have the right form",
        "a name of letters, digits and underscores, beginning with a letter",
        "",
    ),
    ("hours:", "publish: ‸{}\nhours:", "publish", "nothing is written here", "at least 1 of its keys", ""),
    ("hours:", "publish:‸\nhours:", "publish", "nothing is written here", OBJECT, ""),
    ("storeId: 1\nstoreNumber", "‸storeNumber", "", "'storeId' is missing", "a whole number", ""),
    ("address: {line1: 1 First Street, ", "‸address: {", "address", "'line1' is missing", "text", ""),
    (
        "hours:\n  monday: {open: 10:00, close: 20:00}",
        "hours:\n  ‸monday: {open: 10:00}",
        "hours/monday",
        "'close' is missing",
        "a time of day on the 24-hour clock as HH:MM",
        "",
    ),
    (
        "hours:",
        "exceptions:\n- ‸open: 10:00\n  date: 2026-11-26\nhours:",
        "exceptions/0",
        "'close' is missing",
        "a time of day on the 24-hour clock as HH:MM",
        "",
    ),
]


def told(folder: Path, schemas: Schemas) -> list[tuple[str, ...]]:
    return [
        (place(each), pointer_text(each.pointer), each.found, each.allowed, each.nearest)
        for each in problems(folder, schemas)
    ]


@pytest.mark.parametrize(
    ("old", "new", "pointer", "what", "allowed", "nearest"), CASES, ids=[new.strip()[:40] for _, new, *_ in CASES]
)
def test_what_is_found_and_what_is_allowed(
    minimal: Path, schemas: Schemas, old: str, new: str, pointer: str, what: str, allowed: str, nearest: str
) -> None:
    (expected,) = edit(minimal, ("stores/one.yaml", old, new))
    assert told(minimal, schemas) == [(expected, pointer, what, allowed, nearest)]


def test_every_finding_of_a_document_is_told_with_what_the_property_is_about(minimal: Path, schemas: Schemas) -> None:
    edit(
        minimal,
        ("stores/one.yaml", "name: First", "name: 5"),
        ("stores/one.yaml", "phoneNumber: 212-555-0101", "phoneNumber: call us"),
        ("stores/one.yaml", "city: Boston, ", ""),
        ("stores/one.yaml", "  monday: {open: 10:00, close: 20:00}", "  mon: {open: 10:00}"),
    )
    about = "Opening hours by weekday, in the store's time zone. A weekday that is not named is closed."
    assert [(problem.rule, problem.found, problem.about) for problem in problems(minimal, schemas)] == [
        ("schema.type", "5 is not text", "Name of the store as the customer reads it."),
        ("schema.pattern", "'call us' does not have the right form", "Telephone number of the store."),
        ("schema.required", "'city' is missing", "City."),
        ("schema.additionalProperties", "'mon' is not known here", about),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("‸just text", [("", "'just text' is not an object")]),
        ("# nothing yet\n‸null", [("", "null is not an object")]),
        ("- ‸a\n- ‸- b\n", [("0", "'a' is not an object"), ("1", "a list is not an object")]),
        ("[]", []),
    ],
)
def test_a_document_is_an_object(minimal: Path, schemas: Schemas, text: str, expected: list[tuple[str, str]]) -> None:
    places = unmark(write_files(minimal, {"events/one.yaml": text}), "events/one.yaml")
    assert told(minimal, schemas) == [
        (at, pointer, what, OBJECT, "") for at, (pointer, what) in zip(places, expected, strict=True)
    ]


def test_a_place_in_a_list_of_documents_begins_with_its_number(minimal: Path, schemas: Schemas) -> None:
    entry = "- " + (minimal / "events/one.yaml").read_text().replace("\n", "\n  ").rstrip(" ")
    write_files(minimal, {"events/one.yaml": entry + "\n" + entry.replace("id: 5", "id: ‸six")})
    (expected,) = unmark(minimal, "events/one.yaml")
    assert told(minimal, schemas) == [(expected, "1/id", "'six' is not a whole number", "a whole number", "")]


def test_a_place_in_a_feed_is_its_line(minimal: Path, schemas: Schemas) -> None:
    event = json.dumps(yaml.load((minimal / "events/one.yaml").read_text()))
    second = event.replace('"id": 5', '"id": ‸"6"')
    write_files(minimal, {"events/one.yaml": "[]", "events.jsonl": f"{event}\n\n  {second}\n"})
    assert unmark(minimal, "events.jsonl") == ["events.jsonl:3:10"]
    allowed = "a whole number, without quotes: 6"
    assert told(minimal, schemas) == [("events.jsonl:3:10", "1/id", "'6' is not a whole number", allowed, "")]


def test_a_number_is_told_as_its_file_writes_it(minimal: Path, schemas: Schemas) -> None:
    event = (minimal / "events/one.yaml").read_text().replace("name: Opening", "name: 5.10")
    feed = json.dumps(yaml.load(event)).replace("5.1", "5.100").replace('"id": 5', '"id": 6')
    listed = "- " + event.replace("id: 5\n", "id: 7\n").replace("\n", "\n  ").rstrip(" ")
    write_files(minimal, {"events/one.yaml": event, "events.jsonl": f"\n{feed}\n"})
    write_files(minimal, {"events/two.yaml": listed.replace("\n", "\r\n")})
    assert [(each.path, each.found, each.allowed) for each in problems(minimal, schemas)] == [
        ("events.jsonl", "5.100 is not text", 'text: put it in quotes, "5.100"'),
        ("events/one.yaml", "5.10 is not text", 'text: put it in quotes, "5.10"'),
        ("events/two.yaml", "5.10 is not text", 'text: put it in quotes, "5.10"'),
    ]


def test_a_text_may_be_too_long_and_of_the_wrong_form(minimal: Path, schemas: Schemas) -> None:
    edit(minimal, ("promotions/one.yaml", "couponShortCode: HALF", f"couponShortCode: {'é' * 41}"))
    assert [(each.found, each.allowed) for each in problems(minimal, schemas)] == [
        (f"'{'é' * 41}' is too long: 41 characters", "letters, digits and hyphens, at most 40"),
        (f"'{'é' * 41}' does not have the right form", "letters, digits and hyphens"),
    ]


def test_what_is_wrong_with_an_alias_is_told_wherever_it_stands(minimal: Path, schemas: Schemas) -> None:
    week = "  monday: &day {open: ‸9am, close: 20:00}\n  saturday: ‸*day\n"
    expected = edit(minimal, ("stores/one.yaml", "  monday: {open: 10:00, close: 20:00}\n", week))
    assert [(place(problem), pointer_text(problem.pointer)) for problem in problems(minimal, schemas)] == [
        (expected[0], "hours/monday/open"),
        (expected[1], "hours/saturday/open"),
    ]


@pytest.mark.parametrize("stores", ["x", "[x, y]"])
def test_many_documents_of_a_list_with_one_mistake_are_one_problem(
    minimal: Path, schemas: Schemas, stores: str
) -> None:
    event = EVENT.replace("storeId: [1]", f"storeId: {stores}").replace("\n", "\n  ").rstrip()
    start = 1 + event[: event.index("storeId")].count("\n")
    write_files(minimal, {"events/one.yaml": f"- {event}\n" * 1000})
    (problem,) = (problem for problem in problems(minimal, schemas) if problem.rule == "schema.type")
    lines = [start + number * (event.count("\n") + 1) for number in range(3)]
    such = ", ".join(f"events/one.yaml:{line}" for line in lines)
    assert problem.found.endswith(f"; the same in 1,000 documents, such as {such}")


# -- both validators ---------------------------------------------------------------------------------------------

SAMPLE = ROOT / "content"
SHIPPED = program_schemas()
WITNESSED = Registry().with_resources(
    [(BASE + name, DRAFT202012.create_resource(SHIPPED[name])) for name in SCHEMA_NAMES]
)


def _documents() -> list[tuple[str, Any]]:
    known = declared(SAMPLE, INTERFACE, Schemas(ROOT / "schemas").under(SAMPLE / "schemas"))
    documents = check(SAMPLE, known.schemas, known.interface).documents
    assert documents is not None
    kinds = (
        documents.of("app"),
        documents.of("store"),
        documents.of("event"),
        documents.of("promotion"),
        [documents.site],
    )
    return [(f"{document.kind}.json", document.value) for kind in kinds for document in kind]


DOCUMENTS = _documents()


def witnessed(name: str, value: Any) -> set[tuple[str | int, ...]]:
    """Where jsonschema finds a fault in a value."""
    schema = {"$ref": BASE + name}
    witness = Draft202012Validator(schema, registry=WITNESSED, format_checker=Draft202012Validator.FORMAT_CHECKER)
    return {tuple(error.absolute_path) for error in witness.iter_errors(value)}


def agreed(name: str, value: Any) -> bool:
    """Whether a value is valid: by jsonschema as well, which finds its faults at the same places."""
    valid, places = SHIPPED.valid(name, value), witnessed(name, value)
    assert valid == (not places)
    assert {error_place(error, value) for error in SHIPPED.refusals(name, value)} == places
    findings = SHIPPED.findings(name, value)
    assert valid == all(finding.rule == "schema.fraction" for finding in findings)
    for finding in findings:
        at(value, finding.pointer if finding.missing is None else ())  # every finding is about something there
        assert finding.found
    return valid


@pytest.mark.parametrize("key", ["", "0", "00", "+1", "007", "18446744073709551615", "-1", "²", "a/b", "~0", "%25"])
def test_a_fault_below_any_key_is_found_at_its_place(key: str) -> None:
    schema = {"additionalProperties": {"additionalProperties": {"type": "array", "items": {"type": "string"}}}}
    value: dict[str, Any] = {"0": {"1": ["a"]}, "": {key: ["a", 5]}, key: {key: ["a", "b", 6]}}
    errors = FastValidator(schema).iter_errors(value)
    assert {error_place(error, value) for error in errors} == {("", key, 1), (key, key, 2)} - (
        {("", key, 1)} if key == "" else set()
    )


ODD: list[Any] = ["", " ", "\n", "a\n", "0", "TRUE", "TBD", "2026-02-30", "https://", "https://a", "ERROR|ERROR"]
ODD += [0, -1, 1.0, 0.5, 10**17, True, None, [], {}, [None], {"a": {}}]
odd = st.sampled_from(ODD)


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_both_validators_agree_on_documents_with_a_part_replaced_removed_or_added(data: st.DataObject) -> None:
    name, original = data.draw(st.sampled_from(DOCUMENTS))
    value = copy.deepcopy(original)
    pointer = data.draw(st.sampled_from(sorted(pointers(value) - {()}, key=repr)))
    *way, last = pointer
    holder = at(value, tuple(way))
    change = data.draw(st.sampled_from(["replace", "remove", "add", "repeat"]))
    if change == "replace":
        holder[last] = data.draw(odd | values)
    elif change == "remove":
        del holder[last]
    elif isinstance(holder, dict):
        holder[data.draw(st.text(max_size=5) | st.just("__proto__"))] = data.draw(odd)
    else:
        holder.append(holder[last] if change == "repeat" else data.draw(odd))
    agreed(name, value)


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(["app.json", "store.json", "event.json", "promotion.json", "site.json"]), values)
def test_both_validators_agree_on_any_value(name: str, value: Any) -> None:
    assert not agreed(name, value)


# -- schemas of one's own ----------------------------------------------------------------------------------------


def test_a_content_folder_may_bring_its_own_schema(tmp_path: Path) -> None:
    own = copy.deepcopy(SHIPPED["store.json"])
    own["properties"]["parking"] = {"description": "Number of cars.", "type": "integer"}
    write_files(tmp_path, {"store.json": json.dumps(own)})
    both = Schemas(ROOT / "schemas").under(tmp_path)
    (store, *_) = (value | {"parking": 5} for name, value in DOCUMENTS if name == "store.json")
    assert (SHIPPED.valid("store.json", store), both.valid("store.json", store)) == (False, True)
    assert both.digest != SHIPPED.digest


def test_a_schema_of_ones_own_adds_keys_and_asks_for_more(minimal: Path) -> None:
    own = copy.deepcopy(SHIPPED["store.json"])
    own["properties"]["parking"] = {"description": "Number of cars.", "type": ["integer", "null"]}
    own["properties"]["name"]["maxLength"] = 4
    own["required"].append("parking")
    write_files(minimal, {"schemas/store.json": json.dumps(own)})
    both = Schemas(ROOT / "schemas").under(minimal / "schemas")
    assert [(pointer_text(each.pointer), each.found, each.allowed) for each in problems(minimal, both)] == [
        ("", "'parking' is missing", "a whole number"),
        ("name", "'First' is too long: 5 characters", "at most 4"),
    ]
    edit(minimal, ("stores/one.yaml", "name: First", "name: One\nparking: 5"))
    assert problems(minimal, both) == []
    edit(minimal, ("stores/one.yaml", "parking: 5", "parking: five"))
    assert [(each.found, each.allowed) for each in problems(minimal, both)] == [
        ("'five' is not a whole number or null", "a whole number or null")
    ]


# A schema of one's own that says less, at a pointer; an edit that it admits, and what is told of that.
LESS: list[tuple[str, str, Any, tuple[str, str, str], list[tuple[str, str]]]] = [
    ("store.json", "required", [], ("stores/one.yaml", "storeNumber: 10\n", ""), [("", "'storeNumber' is missing")]),
    (
        "event.json",
        "required",
        [],
        ("events/one.yaml", "finish: 2026-11-27 12:00\n", ""),
        [("", "'finish' is missing")],
    ),
    (
        "promotion.json",
        "required",
        [],
        ("promotions/one.yaml", "effective: 2026-11-01\nexpiry: 2026-12-31\npromotion", "promotion"),
        [("", "'effective' is missing")],
    ),
    (
        "config.json",
        "properties/appVersionInfo/required",
        [],
        ("apps/one.yaml", ', supportedVersions: ["2.0"]', ""),
        [("config/appVersionInfo", "'supportedVersions' is missing")],
    ),
    (
        "store.json",
        "$defs/day",
        {"type": "string"},
        ("promotions/one.yaml", "expiry: 2026-12-31\npromotion", "expiry: never\npromotion"),
        [("expiry", "'never' does not have the right form")],
    ),
    (
        "publish.json",
        "$defs/moment",
        {"type": "string"},
        ("stores/one.yaml", "hours:", "publish: {until: 9999-12-31}\nhours:"),
        [("publish/until", "'9999-12-31' does not have the right form")],
    ),
    ("event.json", "", {}, ("events/one.yaml", MINIMAL["events/one.yaml"], "5"), [("", "5 is not an object")]),
    (
        "event.json",
        "",
        {"type": "object"},
        ("events/one.yaml", "id: 5\n", "id: 5.0\npublish: 5\n"),
        [("id", "5.0 has a fraction"), ("publish", "5 is not an object")],
    ),
]


@pytest.mark.parametrize(("name", "pointer", "less", "change", "expected"), LESS)
def test_a_schema_of_ones_own_asks_for_no_less(
    minimal: Path, name: str, pointer: str, less: Any, change: tuple[str, str, str], expected: list[tuple[str, str]]
) -> None:
    own = copy.deepcopy(SHIPPED[name]) if pointer else less
    if pointer:
        *way, last = pointer.split("/")
        at(own, tuple(way))[last] = less
    write_files(minimal, {f"schemas/{name}": json.dumps(own)})
    edit(minimal, change)
    told = problems(minimal, Schemas(ROOT / "schemas").under(minimal / "schemas"))
    assert [(pointer_text(each.pointer), each.found) for each in told] == expected


def test_a_folder_named_like_a_schema_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "store.json").mkdir()
    with pytest.raises(Failure, match="a schema is a file"):
        Schemas(tmp_path)
