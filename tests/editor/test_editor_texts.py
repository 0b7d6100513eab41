"""What a language server is told about a text: what our reader takes for text is accepted."""

import re
from typing import Any

import pytest
from jsonschema import Draft7Validator

from shopwindow.editor.texts import name, text

ZIP = {"type": "string", "pattern": "^[0-9]{5}(?:-[0-9]{4})?(?!\\n)$", "x-allowed": "five digits, or ZIP+4"}
CLOCK = {"type": "string", "pattern": "^(?:[01][0-9]|2[0-3]):[0-5][0-9](?!\\n)$", "x-allowed": "a time as HH:MM"}
FLAG = {"type": "string", "enum": ["TRUE", "FALSE"]}
PLACE = {"type": "string", "enum": ["home", "shop"]}


@pytest.mark.parametrize(
    ("schema", "value", "accepted"),
    [
        (ZIP, "10018", True),
        (ZIP, 2116, True),  # 02116, which a server reads as a number
        (ZIP, 10018, False),  # a number for us as well
        (ZIP, "1001", False),
        (ZIP, "{{ zip }}", True),
        (ZIP, True, False),
        (CLOCK, "09:30", True),
        (CLOCK, "9:30", False),
        (CLOCK, 930, False),
        (FLAG, "TRUE", True),
        (FLAG, True, True),  # TRUE, which a server reads as a boolean
        (FLAG, "yes", False),
        (PLACE, "home", True),
        (PLACE, True, False),
        (PLACE, "{{ place }}", True),
        (PLACE, "hall", False),
        ({"type": "string", "minLength": 1}, "", False),
        ({"type": "string", "minLength": 1}, True, True),
        ({"type": "string"}, 7, False),
        ({"type": "string", "maxLength": 3}, "four", False),
        ({"type": "string", "maxLength": 3}, "{{ n }}", True),
        ({"type": "string", "minLength": 5}, "four", False),
        ({"type": "string", "minLength": 9}, "{{ n }}", True),
        ({"type": "string", "format": "uri"}, "https://a.example/", True),
        ({"type": "string", "format": "uri"}, "{{ www }}/a", True),
        ({"type": "string", "format": "uri"}, "a.example", False),
        ({"type": "string", "format": "date"}, "2027-05-01", True),
        ({"type": "string", "format": "date"}, "1 May", False),
        ({"type": "string", "format": "hostname"}, "anything at all", True),
    ],
)
def test_a_text_is_accepted_as_check_accepts_it(schema: dict[str, Any], value: object, accepted: bool) -> None:
    assert Draft7Validator(text(schema)).is_valid(value) == accepted


def test_a_pattern_has_the_words_of_its_place() -> None:
    assert text(ZIP)["patternErrorMessage"] == "five digits, or ZIP+4"
    assert text({"type": "string", "maxLength": 3})["patternErrorMessage"] == "at most 3 characters"
    assert text(PLACE)["anyOf"][0]["errorMessage"] == "one of: home, shop"


@pytest.mark.parametrize("pattern", ["(?i)a", r"\Aa\z", "(?P<n>a)", "[[:alpha:]]"])
def test_a_pattern_that_no_editor_reads_is_left_to_check(pattern: str) -> None:
    assert "pattern" not in text({"type": "string", "pattern": pattern})


def test_back_references_keep_their_numbers() -> None:
    schema = text({"type": "string", "pattern": r"^(a|b)\1$"})
    assert re.search(schema["pattern"], "aa")
    assert not re.search(schema["pattern"], "ab")


def test_names_hold_no_expression() -> None:
    named = Draft7Validator({"propertyNames": name({"pattern": "^[a-z]+$", "maxLength": 3})})
    assert named.is_valid({"abc": 1})
    assert not named.is_valid({"{{ a }}": 1})
    assert not named.is_valid({"abcd": 1})
