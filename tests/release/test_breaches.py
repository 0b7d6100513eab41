"""What breaks a field of a contract, value by value."""

from typing import Any

import pytest

from harness.content import Document, Layer
from shopwindow.interface.answer_paths import parse
from shopwindow.interface.contracts import ReadField, ReadRequest
from shopwindow.release.breaches import Asked, breaches_in

Json = Any

VALUES: dict[str, list[Json]] = {
    "text": ["", "red"],
    "integer": [0, -3, 10**17],
    "number": [0, -3, 10**17, 1.5, 3.0],
    "boolean": [True, False],
    "object": [{}, {"a": 1}],
    "list": [[], [1]],
}
EVERY: list[Json] = ["", "red", 0, -3, 10**17, 1.5, 3.0, True, False, {}, {"a": 1}, [], [1], None]


def broken(answer: Json, *fields: Json) -> list[str]:
    """Return the rules that an answer breaks, with the pointers."""
    read = tuple(
        ReadField(
            steps=parse(field["path"]),
            type=field.get("type", ""),
            nullable=field.get("nullable", False),
            choices=tuple(field.get("enum", ())),
            required=field.get("required", True),
            pointer=(),
        )
        for field in fields
    )
    contract = Document("contract", {"app": "phone", "version": "1"}, (Layer("contracts/a.yaml", None, {}),))
    asked = Asked(contract, ReadRequest("v1/a", read, ()))
    return [f"{one.rule} {'/'.join(map(str, one.pointer or ()))}" for one in breaches_in(answer, asked)]


@pytest.mark.parametrize("type", VALUES)
def test_a_type_admits_its_values_and_no_others(type: str) -> None:
    fitting = [value for value in EVERY if not broken({"a": value}, {"path": "a", "type": type})]
    assert list(map(repr, fitting)) == list(map(repr, VALUES[type]))


def test_null_is_a_value_where_the_contract_says_so() -> None:
    assert broken({"a": None}, {"path": "a", "type": "text"}) == ["contract.type a"]
    assert broken({"a": None}, {"path": "a", "type": "text", "nullable": True}) == []
    assert broken({"a": None}, {"path": "a", "enum": ["x"]}) == ["contract.enum a"]
    assert broken({"a": None}, {"path": "a", "enum": ["x"], "nullable": True}) == []
    assert broken({"a": None}, {"path": "a"}) == []


def test_below_null_something_is_needed_unless_the_contract_takes_the_null() -> None:
    below = {"path": "a.b", "type": "text"}
    assert broken({"a": None}, below) == ["contract.type a"]
    assert broken({"a": None}, {"path": "a", "nullable": True}, below) == []
    assert broken({"a": {}}, {"path": "a", "nullable": True}, below) == ["contract.gone a"]


def test_a_value_is_compared_with_the_texts_of_an_enum() -> None:
    known = {"path": "a", "enum": ["1", "1.5", "true", "red"]}
    assert [broken({"a": value}, known) for value in (1, 1.5, True, "red", "1")] == [[]] * 5
    assert [broken({"a": value}, known) for value in (2, 1.0, False, "Red", [1])] == [["contract.enum a"]] * 5


def test_what_is_optional_is_held_to_its_type_where_it_is_there() -> None:
    optional = {"path": "a[].b", "type": "integer", "required": False}
    assert broken({"a": [{}, {"b": 1}, {"b": "x"}]}, optional) == ["contract.type a/2/b"]
    assert broken({}, optional) == []


def test_every_place_that_breaks_a_field_is_one() -> None:
    answer = {"a": [{"b": "x"}, {}, {"b": 2}], "c": {"d": {"e": 1}, "f": {}}}
    assert broken(answer, {"path": "a[].b", "type": "text"}, {"path": "c.*.e", "enum": ["2"]}) == [
        "contract.gone a/1",
        "contract.type a/2/b",
        "contract.gone c/f",
        "contract.enum c/d/e",
    ]
