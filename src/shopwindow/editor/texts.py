"""Schemas of texts for a YAML language server, so that it accepts what `check` accepts.

How this works: our reader takes YAML as JSON, and renders `{{ }}` before a schema
looks. A language server does neither. It reads TRUE as a boolean and 02116 as the
number 2116, and it sees the braces. So each text is also allowed to be what the server
makes of it, and every rule about its form holds only where no expression stands. A rule
becomes a pattern with words beside it, for nobody can read a regular expression in an
editor.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shopwindow.content.schemas.shape import validator

EditorSchema = dict[str, Any]

HOLDS_EXPRESSION = r"\{\{"
"""Part of a pattern: the text has an expression, so its form cannot be checked."""

QUOTE_NUMBERS = "text; put what looks like a number in quotes"

_KEYWORDS = ("enum", "const", "format", "minLength", "maxLength", "pattern")

_FORMAT_RULES = {
    "uri": (
        r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s]*$",
        "a URL, such as https://www.shop.example/page",
    ),
    "date": (
        r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$",
        "a day as YYYY-MM-DD",
    ),
    "date-time": (
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"
        r"(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$",
        "a time as YYYY-MM-DDTHH:MM:SS+HH:MM",
    ),
    "email": (r"^[^@\s]+@[^@\s]+$", "a mail address"),
}
"""Format → a pattern for it, and the words. Other formats are left to `check`."""

_FOREIGN = re.compile(r"\(\?[^:=!<]|\(\?P|\[\[:|\\[AzZ]|\(\?<[^=!]")
"""What some engines read in a pattern and an editor's does not (ECMA-262 §22.2)."""

_UNQUOTED_TRUTH = ("TRUE", "FALSE", "True", "False")
"""Plain text for us, and a boolean in YAML 1.2's core schema, §10.3.2."""

LONGEST_ZERO = 18
"""Digits of a text such as 02116 that is tried: more than any zip code, bar code or
number.
"""


def text(schema: Mapping[str, Any]) -> EditorSchema:
    """Return the schema of a place that holds text, for a language server.

    The annotations are the caller's. ``schema`` may have any keyword that JSON Schema
    knows for text; those of numbers, arrays and objects are left out.
    """
    types = ["string"]
    keywords = {key: schema[key] for key in _KEYWORDS if key in schema}
    admits: Callable[[str], bool] = validator(keywords).is_valid
    if any(map(admits, _UNQUOTED_TRUTH)):
        types.append("boolean")
    choices = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    if choices is not None:
        return _one_of(choices, takes_truth="boolean" in types)
    result: EditorSchema = {
        "type": types,
        "errorMessage": schema.get("x-allowed") or QUOTE_NUMBERS,
    }
    if schema.get("minLength"):
        result["minLength"] = 1
    if "pattern" in schema and (zeros := _leading_zeros(admits)):
        result["type"] = [*types, "integer"]
        result["if"] = {"type": "integer", "minimum": zeros + 1}
        result["then"] = {"type": "string", "errorMessage": QUOTE_NUMBERS}
    rules = list(_rules(schema))
    if len(rules) == 1:
        result |= _pattern(*rules[0])
    elif rules:
        result["allOf"] = [_pattern(*rule) for rule in rules]
    return result


def form(schema: Mapping[str, Any]) -> EditorSchema:
    """Return what a text has to look like, where something else may stand as well."""
    rules = list(_rules(schema))
    return _pattern(*rules[0]) if len(rules) == 1 else {}


def name(schema: Mapping[str, Any]) -> EditorSchema:
    """Return the schema of the names of an object's properties, which hold no
    expression.
    """
    parts = [
        {"pattern": pattern, "patternErrorMessage": words}
        for pattern, words in _rules(schema)
    ]
    result: EditorSchema = {"allOf": parts} if parts else {}
    if "enum" in schema:
        result["enum"] = schema["enum"]
    return result


def _one_of(choices: list[Any], *, takes_truth: bool) -> EditorSchema:
    """Return the schema of a text that is one of some, or an expression.

    What a server makes of TRUE is described by what it is not: of a boolean, the server
    would offer true and false, which are no texts.
    """
    words = "one of: " + ", ".join(str(choice) for choice in choices)
    parts: list[EditorSchema] = [
        {"enum": list(choices), "errorMessage": words},
        {
            "type": "string",
            "pattern": HOLDS_EXPRESSION,
            "errorMessage": words,
            "patternErrorMessage": words,
        },
    ]
    if takes_truth:
        parts.append({"not": {"type": ["string", "number", "null", "object", "array"]}})
    return {"anyOf": parts}


def _rules(schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a text has to look like: a pattern and the words for it."""
    words = schema.get("x-allowed")
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not _FOREIGN.search(pattern):
        yield pattern, words or f"text of the form {pattern}"
    if (form := schema.get("format")) in _FORMAT_RULES:
        usual, usual_words = _FORMAT_RULES[form]
        yield usual, words or usual_words
    if (most := schema.get("maxLength")) is not None:
        yield rf"^[\s\S]{{0,{most}}}$", f"at most {most} characters"
    if (least := schema.get("minLength", 0)) > 1:
        yield rf"^[\s\S]{{{least},}}$", f"at least {least} characters"


def _pattern(pattern: str, words: str) -> EditorSchema:
    return {
        "pattern": f"(?:{pattern})|{HOLDS_EXPRESSION}",
        "patternErrorMessage": words,
    }


def _leading_zeros(admits: Callable[[str], bool]) -> int:
    """Return the largest number that a server may read where a text such as 02116
    stands.

    A text of n digits that begins with 0 is below 10 to the power of n-1. Larger
    numbers stay a mistake, for those our reader takes for numbers as well. 0: no such
    text is allowed, or any text is, and then a number is far more likely to lack its
    quotes.
    """
    lengths = range(2, LONGEST_ZERO + 1)
    admitted = [length for length in lengths if admits("0" + "1" * (length - 1))]
    is_any = admits("any text at all")
    return 0 if is_any or not admitted else 10 ** (max(admitted) - 1) - 1
