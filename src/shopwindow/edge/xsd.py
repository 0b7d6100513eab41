"""XML Schemas of the interface's answers: one document for each response.

How this works. XML carries the same value as JSON, by the rules of wire shapes 1.4: an
object is an element with a child for each key, and an array is its element repeated.
So each component of the OpenAPI document (`components`) becomes a complex type, and
each text, number or truth a simple one. XSD 1.0 is what libxml2, .NET and Java read.
Two of its limits show here. Children of an object may come in any order, and an array
may be among them: XSD 1.0 has no group for both, so such an object is described as any
number of its elements, and what is required stands in its documentation. And an object
with keys that nobody can list is described as any elements.

An answer is described without a `_fields` mask, which leaves out what is required.
"""

from collections.abc import Iterable
from xml.etree import ElementTree  # nosec B405: nothing is read with it
from xml.etree.ElementTree import Element, SubElement  # nosec B405

from shopwindow.content.schema import Schemas
from shopwindow.content.yaml import Json
from shopwindow.edge.components import Components
from shopwindow.interface.answer import ERROR_SCHEMA, FAILURE_SCHEMA
from shopwindow.interface.formats import GENERAL_ROOT, root_name
from shopwindow.interface.interface import Interface

_XS = "http://www.w3.org/2001/XMLSchema"

_TRUTH = "truth"
"""The simple type of a boolean. xs:boolean would also admit 0 and 1."""

_SIMPLE_TYPES = {
    "string": "xs:string",
    "integer": "xs:integer",
    "number": "xs:double",  # JSON may write 1e21, which xs:decimal does not admit
    "boolean": _TRUTH,
}

_BOUNDS = {"minimum": "minInclusive", "maximum": "maxInclusive"}
_LENGTHS = {"minLength": "minLength", "maxLength": "maxLength"}
"""Keyword of JSON Schema → facet of XML Schema. Patterns are left out: both languages
have regular expressions, and not the same ones.
"""


def documents(interface: Interface, schemas: Schemas) -> dict[str, str]:
    """Return an XML Schema for each response of an interface, by its file's name.

    Args:
        interface: its operations name the responses.
        schemas: those of the interface, with its collections'.

    Returns:
        File name, such as stores.xsd → the document. Errors are among them.
    """
    responses = {operation.schema for operation in interface.operations}
    if any(operation.own_failures for operation in interface.operations):
        responses.add(FAILURE_SCHEMA)
    return {
        _file_name(response): _document(response, schemas)
        for response in sorted({*responses, ERROR_SCHEMA})
    }


def _file_name(response: str) -> str:
    """`responses/stores.json` → `stores.xsd`, `responses/collections/a.json` →
    `collections.a.xsd`.
    """
    name = response.removeprefix("responses/").removesuffix(".json")
    return name.replace("/", ".") + ".xsd"


def _document(response: str, schemas: Schemas) -> str:
    """Return the XML Schema of one response."""
    components = Components(schemas)
    root = root_name(schemas.shape(response))
    # A root that is the only property of the response is described by its own object.
    pointer = "" if root == GENERAL_ROOT else f"/properties/{root}"
    element = components.reference(response, pointer)

    document = Element(
        "xs:schema", {"xmlns:xs": _XS, "elementFormDefault": "qualified"}
    )
    _describe(document, schemas[response].get("description", ""))
    _add_element(document, root, element, attributes={})
    truth = SubElement(document, "xs:simpleType", {"name": _TRUTH})
    _restrict(truth, "xs:string", [("enumeration", word) for word in ("true", "false")])
    for name, schema in components.schemas.items():
        _add_complex_type(document, name, schema)
    ElementTree.indent(document)
    text = ElementTree.tostring(document, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _add_complex_type(document: Element, name: str, schema: Json) -> None:
    """Add the type of an object to a document."""
    described = SubElement(document, "xs:complexType", {"name": name})
    _describe(described, _about(schema))
    properties = schema["properties"]
    if schema.get("additionalProperties", True) is not False:
        anything = {"minOccurs": "0", "maxOccurs": "unbounded"}
        group = SubElement(described, "xs:sequence")
        SubElement(group, "xs:any", {**anything, "processContents": "skip"})
        return

    has_array = any(part.get("type") == "array" for part in properties.values())
    repeated = {"minOccurs": "0", "maxOccurs": "unbounded"} if has_array else {}
    group = SubElement(described, "xs:choice" if has_array else "xs:all", repeated)
    required = schema.get("required", ())
    for key, part in properties.items():
        is_optional = not has_array and key not in required
        attributes = {"minOccurs": "0"} if is_optional else {}
        _add_element(group, key, part, attributes)


def _about(schema: Json) -> str:
    """Return an object's description, and which of its elements are required."""
    about: str = schema.get("description", "")
    required = ", ".join(schema.get("required", ()))
    return f"{about} Required: {required}." if required else about


def _add_element(
    parent: Element, name: str, schema: Json, attributes: dict[str, str]
) -> None:
    """Add an element of a schema's type; an array is its item's element, repeated."""
    item = schema["items"] if schema.get("type") == "array" else schema
    element = SubElement(parent, "xs:element", {"name": name, **attributes})
    if "$ref" in item:
        element.set("type", item["$ref"].rpartition("/")[2])
        _describe(element, schema.get("description", ""))
        return

    kind = _SIMPLE_TYPES[item.get("type", "string")]
    facets = list(_facets(item))
    if not facets:
        element.set("type", kind)
    _describe(element, schema.get("description", ""))
    if facets:
        _restrict(SubElement(element, "xs:simpleType"), kind, facets)


def _facets(schema: Json) -> Iterable[tuple[str, str]]:
    """Yield the facets that say what a simple value is restricted to."""
    for word in schema.get("enum", ()):
        yield "enumeration", str(word)
    keywords = {"string": _LENGTHS, "boolean": {}}.get(schema["type"], _BOUNDS)
    for keyword, facet in keywords.items():
        if keyword in schema:
            yield facet, str(schema[keyword])


def _restrict(
    simple_type: Element, base: str, facets: Iterable[tuple[str, str]]
) -> None:
    restriction = SubElement(simple_type, "xs:restriction", {"base": base})
    for facet, value in facets:
        SubElement(restriction, f"xs:{facet}", {"value": value})


def _describe(element: Element, about: str) -> None:
    """Put a description into an element, where there is one."""
    if about:
        annotation = SubElement(element, "xs:annotation")
        SubElement(annotation, "xs:documentation").text = about
