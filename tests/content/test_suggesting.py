"""Facts about what is suggested in place of a value of the wrong type: the editor's own, in the right form."""

from typing import Any

import pytest

from harness.content import Shape
from shopwindow.content.documents.finding import NumberAt
from shopwindow.content.reading import yaml
from shopwindow.content.schemas.meant import Readings
from shopwindow.content.schemas.shape import SchemaFiles
from shopwindow.problems import Pointer


def suggested(value: Any, wanted: str, place: Shape | None, pointer: Pointer, written: NumberAt) -> str:
    """The words for what is meant by a value."""
    return Readings(value, place, pointer, written).meant(wanted).words


NUMBERS = {"type": "array", "items": {"type": "integer"}}
NAMES = {"type": "array", "items": {"type": "string"}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "stores": {"type": "object", "properties": {"storeId": NUMBERS}},
        "places": {"type": "object", "properties": {"storeId": NUMBERS, "number": NUMBERS, "names": NAMES}},
        "tags": NAMES,
        "prices": {"type": "array", "items": {"type": "number"}},
        "links": {"type": "array", "items": {"type": "object", "properties": {"href": {"type": "string"}}}},
        "link": {
            "type": "object",
            "required": ["href"],
            "properties": {"href": {"type": "string"}, "rel": {"type": "string"}},
        },
        "address": {
            "type": "object",
            "required": ["street", "town"],
            "properties": {"street": {"type": "string"}, "town": {"type": "string"}},
        },
        "open": {"type": "boolean"},
        "count": {"type": "integer"},
        "name": {"type": "string"},
    },
}


@pytest.mark.parametrize(
    ("line", "suggestion"),
    [
        # a list where an object is meant
        ("stores: [1, 2]", "an object: `stores: {storeId: [1, 2]}`"),
        ("stores:\n  - 1\n  - 2", "an object: `stores: {storeId: [1, 2]}`"),
        ("stores: [1, 2, 3, 4, 5, 6]", "an object: `stores: {storeId: [1, 2, 3, 4, …]}`"),
        ("stores: ['1']", "an object: `stores: {storeId: [1]}`"),
        ("stores: [x]", ""),
        ("places: [1]", "an object: `places: {storeId: [1]}` (by storeId, or number, or names)"),
        ("places: [x]", "an object: `places: {names: [x]}`"),
        ("link: [{href: /a}]", "one object: its keys without `- ` or brackets before them"),
        ("link:\n- href: /a\n- rel: b", "an object: its keys without `- ` before them"),
        ("address: [x, y]", ""),
        # one value where an object is meant
        ("stores: 1", "an object: `stores: {storeId: [1]}`"),
        ("link: /a", "an object: `link: {href: /a}`"),
        ("address: 5 Main St", ""),
        # one value where a list is meant
        ("tags: new", "a list: `tags: [new]`"),
        ("tags: 'a, b'", "a list: `tags: [a, b]`"),
        ("tags: 5", 'a list: `tags: ["5"]`'),
        ("tags: 'null'", 'a list: `tags: ["null"]`'),
        ("prices: 5.10", "a list: `prices: [5.10]`"),
        ("prices: x", "a list; each entry: a number"),
        ("tags: null", ""),
        # an object where a list is meant
        ("tags: {names: [a, b]}", "a list: `tags: [a, b]`, without names"),
        ("links: {href: /a}", "a list: `- ` before the first key of each object"),
        ("tags: {a: 1}", ""),
        # values
        ("open: yes", "true or false: `open: true`"),
        ("open: 'False'", "true or false, in small letters and without quotes"),
        ("count: '012'", "a whole number, without leading zeros: 12"),
        ("name: 5.10", 'text: put it in quotes, "5.10"'),
        ("name: [a]", ""),
        ("count: {a: 1}", ""),
    ],
)
def test_the_right_form_holds_what_the_editor_wrote(line: str, suggestion: str) -> None:
    ((name, value),) = yaml.load(line).items()
    place = Shape(SchemaFiles({}), "", SCHEMA).property(name)
    assert place is not None
    written: dict[Pointer, str] = {("prices",): "5.10", ("name",): "5.10"}
    assert suggested(value, place.type, place, (name,), written.get) == suggestion
