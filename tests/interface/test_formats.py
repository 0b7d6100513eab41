"""JSON and XML carry one value (interface W1): what is written, what is read back, what is refused."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from harness.answers import decoded
from harness.content import Shape
from harness.program import Schemas
from shopwindow.interface.formats import JSON, XML, Undecodable

Json = Any
Schema = dict[str, Any]
ShapeOf = Callable[[Schema], Shape]

DECLARATION = b"<?xml version='1.0' encoding='UTF-8'?>\n"
TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}


def array(items: Schema, **more: Json) -> Schema:
    return {"type": "array", "items": items, **more}


def some(items: Schema) -> Schema:
    """An array that is left out when it is empty."""
    return array(items, minItems=1)


def an_object(*required: str, **properties: Schema) -> Schema:
    closed = {"properties": properties, "required": list(required), "additionalProperties": False}
    return {"type": "object", **closed}


@pytest.fixture(scope="module")
def shape_of(tmp_path_factory: pytest.TempPathFactory) -> ShapeOf:
    """The shape of a schema, by way of a folder of schemas as the program reads them."""
    folder = tmp_path_factory.mktemp("schemas")

    def shape(schema: Schema) -> Shape:
        (folder / "shape.json").write_text(json.dumps(schema))
        return Schemas(folder).shape("shape.json")

    return shape


# -- the convention ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A value by its schema, and its XML without the declaration."""

    schema: Schema
    value: Json
    xml: str


ONE_EVENT = an_object("events", events=an_object("event", event=array(TEXT)))
NOTE = an_object(a=TEXT, b=TEXT)

CASES = {
    "an array is its element repeated, without a wrapper": Case(
        ONE_EVENT, {"events": {"event": ["a", "b"]}}, "<events><event>a</event><event>b</event></events>"
    ),
    "an array of one has one element": Case(
        ONE_EVENT, {"events": {"event": ["a"]}}, "<events><event>a</event></events>"
    ),
    "a required array that is empty has no element": Case(ONE_EVENT, {"events": {"event": []}}, "<events/>"),
    "an array that is left out has no element": Case(
        an_object("stores", stores=an_object(store=some(TEXT))), {"stores": {}}, "<stores/>"
    ),
    "an array of one empty text has one element": Case(
        ONE_EVENT, {"events": {"event": [""]}}, "<events><event></event></events>"
    ),
    "a required array within an array's items may be empty": Case(
        an_object("e", e=array(an_object("name", "link", name=TEXT, link=array(TEXT)))),
        {"e": [{"name": "x", "link": []}, {"name": "y", "link": ["u", "v"]}]},
        "<response><e><name>x</name></e><e><name>y</name><link>u</link><link>v</link></e></response>",
    ),
    "the root is the only property if that is an object": Case(
        an_object("bag", bag=an_object(bagId=INTEGER)), {"bag": {"bagId": 7}}, "<bag><bagId>7</bagId></bag>"
    ),
    "the root is response if the only property is an array": Case(
        an_object("product", product=array(TEXT)), {"product": ["p"]}, "<response><product>p</product></response>"
    ),
    "the root is response if the only property is text": Case(
        an_object(a=TEXT), {"a": "x"}, "<response><a>x</a></response>"
    ),
    "the root is response with two properties, whichever the value has": Case(
        an_object(bag=an_object(id=INTEGER), other=TEXT),
        {"bag": {"id": 7}},
        "<response><bag><id>7</id></bag></response>",
    ),
    "an empty object is an empty root": Case(NOTE, {}, "<response/>"),
    "an empty text and an empty object are empty elements": Case(
        an_object(text=TEXT, thing=an_object()), {"text": "", "thing": {}}, "<response><text></text><thing/></response>"
    ),
    "an array of objects keeps an empty one": Case(
        an_object(thing=some(an_object(n=INTEGER))),
        {"thing": [{}, {"n": 1}, {}]},
        "<response><thing/><thing><n>1</n></thing><thing/></response>",
    ),
    "children stand in the order of the keys": Case(
        NOTE, {"b": "2", "a": "1"}, "<response><b>2</b><a>1</a></response>"
    ),
    "an absent key has no element": Case(NOTE, {"b": "2"}, "<response><b>2</b></response>"),
    "truth is true and false": Case(
        an_object(b=some(BOOLEAN)), {"b": [True, False]}, "<response><b>true</b><b>false</b></response>"
    ),
    "whole numbers have no fraction": Case(
        an_object(n=some(INTEGER)),
        {"n": [0, -1, 9007199254740991]},
        "<response><n>0</n><n>-1</n><n>9007199254740991</n></response>",
    ),
    "numbers have the digits of the JSON": Case(
        an_object(n=some(NUMBER)),
        {"n": [0.1, 40.7536, -122.4, 3.0, 5]},
        "<response><n>0.1</n><n>40.7536</n><n>-122.4</n><n>3.0</n><n>5</n></response>",
    ),
    "text that looks like a number stays text": Case(
        an_object(t=some(TEXT)),
        {"t": ["02134", "1.0", "true"]},
        "<response><t>02134</t><t>1.0</t><t>true</t></response>",
    ),
    "text is not trimmed": Case(
        NOTE, {"a": "  x \n", "b": " \t\n "}, "<response><a>  x \n</a><b> \t\n </b></response>"
    ),
    "a carriage return is written as a reference": Case(
        NOTE, {"a": "one\r\ntwo\rthree", "b": "\r"}, "<response><a>one&#13;\ntwo&#13;three</a><b>&#13;</b></response>"
    ),
    "markup in text is escaped": Case(
        NOTE, {"a": "<b> & ]]> \"'"}, "<response><a>&lt;b&gt; &amp; ]]&gt; \"'</a></response>"
    ),
    "text is UTF-8": Case(
        NOTE,
        {"a": "é\u00a0\u2028\ufffd", "b": "\U0001f381\U0010fffd"},
        "<response><a>é\u00a0\u2028\ufffd</a><b>\U0001f381\U0010fffd</b></response>",
    ),
    "names may hold dots, hyphens and underscores": Case(
        an_object(**{"_a.b-c": TEXT}), {"_a.b-c": "x"}, "<response><_a.b-c>x</_a.b-c></response>"
    ),
    "a reference is followed": Case(
        {**an_object(a={"$ref": "#/$defs/n"}, b={"$ref": "#/$defs/s"}), "$defs": {"n": INTEGER, "s": some(INTEGER)}},
        {"a": 1, "b": [2]},
        "<response><a>1</a><b>2</b></response>",
    ),
    "names that the schema leaves open have the type it gives them": Case(
        {"type": "object", "additionalProperties": some(INTEGER)}, {"x": [1]}, "<response><x>1</x></response>"
    ),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@every_case
def test_a_value_is_written_as_xml(case: Case, shape_of: ShapeOf) -> None:
    assert XML.encode(case.value, shape_of(case.schema)) == DECLARATION + case.xml.encode()


@every_case
def test_xml_is_read_as_the_value(case: Case, shape_of: ShapeOf) -> None:
    assert exactly(decoded(XML, case.xml.encode(), shape_of(case.schema))) == exactly(case.value)


@every_case
def test_what_is_written_is_read_back(case: Case, shape_of: ShapeOf) -> None:
    shape = shape_of(case.schema)
    for format in (JSON, XML):
        assert exactly(decoded(format, format.encode(case.value, shape), shape)) == exactly(case.value)


@every_case
def test_json_is_compact_utf_8_in_the_order_of_the_keys(case: Case, shape_of: ShapeOf) -> None:
    expected = json.dumps(case.value, ensure_ascii=False, separators=(",", ":")).encode()
    assert JSON.encode(case.value, shape_of(case.schema)) == expected


def exactly(value: Json) -> str:
    """A value as text in which 1, 1.0 and true differ, and the order of keys does not count."""
    return json.dumps(value, sort_keys=True)


# -- any value ---------------------------------------------------------------------------------------------------

# XML 1.0 §2.2
CHARACTERS = st.characters(
    min_codepoint=0x20, exclude_categories=["Cs"], exclude_characters="\ufffe\uffff", include_characters="\t\n\r"
)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True)
SCALARS: dict[str, st.SearchStrategy[Json]] = {
    "string": st.text(CHARACTERS),
    "integer": st.integers(-(2**53), 2**53),
    "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
    "boolean": st.booleans(),
}


@st.composite
def objects(draw: st.DrawFn, depth: int = 3) -> Schema:
    """A schema of an object, as interface W1.3 allows it: no null, no union, no array within an array."""
    properties = draw(st.dictionaries(NAMES, places(depth - 1), max_size=4))
    required = [name for name in properties if draw(st.booleans())]
    if len(properties) == 1:  # its root would say that it is there
        required = list(properties)
    for name, place in properties.items():
        if place["type"] == "array" and name not in required:
            properties[name] = place | {"minItems": 1}
    return an_object(*required, **properties)


def places(depth: int) -> st.SearchStrategy[Schema]:
    items = st.sampled_from([{"type": name} for name in SCALARS])
    if depth > 0:
        items = items | objects(depth)
    return items | items.map(array)


def values(schema: Schema) -> st.SearchStrategy[Json]:
    """Values that satisfy a schema."""
    if schema["type"] == "array":
        return st.lists(values(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)
    if schema["type"] != "object":
        return SCALARS[schema["type"]]
    known = {name: values(place) for name, place in schema["properties"].items()}
    required = {name: value for name, value in known.items() if name in schema["required"]}
    optional = {name: value for name, value in known.items() if name not in schema["required"]}
    return st.fixed_dictionaries(required, optional=optional)


@settings(deadline=None)
@given(st.data())
def test_any_value_survives_both_formats(shape_of: ShapeOf, data: st.DataObject) -> None:
    schema = data.draw(objects())
    value = data.draw(values(schema))
    shape = shape_of(schema)
    for format in (JSON, XML):
        assert exactly(decoded(format, format.encode(value, shape), shape)) == exactly(value)


@settings(deadline=None)
@given(text=st.text(CHARACTERS))
def test_any_text_is_verbatim_for_any_reader_of_xml(shape_of: ShapeOf, text: str) -> None:
    data = XML.encode({"a": text}, shape_of(NOTE))
    assert etree.fromstring(data).findtext("a") == text


@settings(deadline=None)
@given(number=SCALARS["number"])
def test_any_number_has_the_digits_of_the_json(shape_of: ShapeOf, number: float) -> None:
    shape = shape_of(an_object(a=NUMBER))
    digits = JSON.encode({"a": number}, shape).removeprefix(b'{"a":').removesuffix(b"}")
    assert XML.encode({"a": number}, shape) == DECLARATION + b"<response><a>" + digits + b"</a></response>"


# -- what is refused ---------------------------------------------------------------------------------------------

FORM = an_object("a", a=TEXT, n=INTEGER, x=NUMBER, b=BOOLEAN, list=some(TEXT), thing=an_object(a=TEXT))
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))

REFUSED = {
    "a document type": ("<!DOCTYPE response><response><a/></response>", "document type declaration"),
    "a document type with an entity": (
        '<!DOCTYPE r [<!ENTITY e "x">]><response><a>&e;</a></response>',
        "document type declaration",
    ),
    "an external entity": (
        '<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/hostname">]><response><a>&e;</a></response>',
        "document type declaration",
    ),
    "entities that multiply": (
        f'<!DOCTYPE r [<!ENTITY l0 "ha">{LAUGHS}]><response><a>&l9;</a></response>',
        "no XML|document type declaration",
    ),
    "entities that multiply in an attribute": (
        f'<!DOCTYPE r [<!ENTITY l0 "ha">{LAUGHS}]><response a="&l9;"/>',
        "no XML|document type declaration",
    ),
    "an entity that nobody declared": (
        "<response><a>&e;</a></response>",
        "no XML: Entity 'e' not defined, line 1, column [0-9]+$",
    ),
    "an attribute of the root": ('<response id="1"><a/></response>', "<response> has attributes"),
    "an attribute of text": ('<response><a type="str">x</a></response>', "<a> has attributes"),
    "an attribute of a namespace": ('<response xml:lang="en"><a/></response>', "<response> has attributes"),
    "text before elements": ("<response>x<a/></response>", "<response> holds text beside elements"),
    "text after elements": ("<response><a/>x</response>", "<response> holds text beside elements"),
    "a blank that XML takes for text, first": (
        "<response>\u00a0<a/></response>",
        "<response> holds text beside elements",
    ),
    "a blank that XML takes for text": ("<response><a/>\u00a0</response>", "<response> holds text beside elements"),
    "elements in text": ("<response><a><b/></a></response>", "<a> holds elements where string is expected"),
    "text for an object": ("<response><a/><thing>x</thing></response>", "<thing> holds text beside elements"),
    "an unknown element": ("<response><a/><c/></response>", "<response> holds <c>, which is not known here"),
    "an element in capitals": ("<response><A/></response>", "<response> holds <A>, which is not known here"),
    "an unknown element below": (
        "<response><a/><thing><z/></thing></response>",
        "<thing> holds <z>, which is not known",
    ),
    "an element twice": ("<response><a>1</a><a>2</a></response>", "<response> holds <a> twice"),
    "elements without end": ("<response><a></response>", "no XML"),
    "two roots": ("<response><a/></response><response/>", "no XML"),
    "nothing": ("", "no XML"),
    "blanks": ("  \n", "no XML"),
    "JSON": ('{"a": "x"}', "no XML"),
    "a character that XML cannot carry": ("<response><a>&#1;</a></response>", "no XML"),
    "a nest without end": ("<response>" + "<thing>" * 100_000, "no XML"),
}


@pytest.mark.parametrize(("xml", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_xml_is_refused(xml: str, said: str, shape_of: ShapeOf) -> None:
    with pytest.raises(Undecodable, match=said):
        XML.read(xml.encode(), shape_of(FORM))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b'{"a": NaN}',
        b"{'a': 1}",
        b'{"a": 1} x',
        b'{"a": "\xff"}',
        b'{"a": "\\ud800"}',
        b"<response/>",
    ],
)
def test_what_is_no_json_is_refused(data: bytes, shape_of: ShapeOf) -> None:
    with pytest.raises(Undecodable, match="no JSON"):
        JSON.read(data, shape_of(FORM))


@pytest.mark.parametrize(
    "xml",
    [
        b"<response xmlns='urn:x'><a>x</a></response>",
        b"<y:response xmlns:y='urn:x'><y:a>x</y:a></y:response>",
        b"<response xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance'><a>x</a></response>",
        b"<?xml version='1.0'?>\n<response>\n  <a>x</a>\r\n\t</response>\n",
        b"<?xml version='1.0' encoding='ISO-8859-1'?><response><a>x</a></response>",
        b"\xef\xbb\xbf<response><a>x</a></response>",
        b"<response><a><![CDATA[x]]></a></response>",
        b"<response><a>&#x78;</a></response>",
    ],
)
def test_one_value_has_many_spellings_in_xml(xml: bytes, shape_of: ShapeOf) -> None:
    assert XML.read(xml, shape_of(FORM)) == {"a": "x"}


def test_xml_is_utf_8_whatever_it_declares(shape_of: ShapeOf) -> None:
    document = "<?xml version='1.0' encoding='{}'?><response><a>caf\xe9</a></response>"
    for declared in ("UTF-8", "ISO-8859-1", "UTF-16", "nonsense"):
        assert XML.read(document.format(declared).encode(), shape_of(FORM)) == {"a": "caf\xe9"}
    for encoding in ("ISO-8859-1", "UTF-16", "UTF-32"):
        with pytest.raises(Undecodable, match="no XML"):
            XML.read(document.format(encoding).encode(encoding), shape_of(FORM))


def test_the_root_is_the_only_property_where_that_holds_others_and_else_stands_around_it(shape_of: ShapeOf) -> None:
    def read(xml: str, schema: Json) -> Json:
        return XML.read(xml.encode(), shape_of({"type": "object", "properties": {"mail": schema}}))

    text, listed = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
    assert read("<mail><mail>x</mail></mail>", text) == {"mail": "x"}
    with pytest.raises(Undecodable, match="holds text beside elements"):
        read("<mail>x</mail>", text)
    assert read("<mail>x</mail>", listed) == {"mail": ["x"]}
    assert read("<mails><mail>x</mail><mail>y</mail></mails>", listed) == {"mail": ["x", "y"]}
    assert read("<mails><mail>x</mail></mails>", {"type": "array"}) == {"mail": []}
