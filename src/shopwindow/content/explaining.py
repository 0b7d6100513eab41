"""Validators that explain what a schema refuses, safe for schemas that editors write.

jsonschema names the place and the keyword of every fault, but an editor's schema could
keep it busy for hours. Three measures prevent that. Keywords that could take long are
decided by the fast validator (jsonschema-rs), whose regular expressions take linear
time. Keywords that jsonschema can only evaluate by repeating work are left out. And
each explanation may look at a limited number of keywords; then it raises Enough.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

import orjson

from shopwindow.content.yaml import Json

MAX_KEYWORDS = 200_000
"""Keywords that one explanation may look at: half a second's work.

A configuration of 1 MB needs some 100,000.
"""

_ENTRIES_A_KEYWORD = 64
"""Entries in the value of a keyword, such as `enum`, that cost as much as a keyword."""

_DECIDED = ("pattern", "uniqueItems", "multipleOf")
"""Keywords that the fast validator decides here as well.

jsonschema would match a pattern with Python's `re`, which can take exponential time.
"""

_UNEXPLAINED = ("unevaluatedProperties", "unevaluatedItems", "$dynamicRef")
"""Keywords for which jsonschema looks at everything again and again.

They are not explained; only the fast validator evaluates them.
"""

_keywords_left: ContextVar[int | None] = ContextVar("keywords left", default=None)
"""What remains for the current explanation; None: there is no limit."""


class Enough(Exception):
    """One explanation has looked at as many keywords as it may."""


@contextmanager
def counted(keywords: int = MAX_KEYWORDS) -> Iterator[None]:
    """Within the block, a validator raises Enough after so many keywords."""
    token = _keywords_left.set(keywords)
    try:
        yield
    finally:
        _keywords_left.reset(token)


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that says whether a text contains a match of a pattern.

    It uses the engine that takes linear time. That engine has no lookahead, which the
    program's own patterns may use; those run on the fast validator's other engine.
    """
    from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

    try:
        validator = Draft202012Validator(
            {"pattern": pattern}, pattern_options=RegexOptions()
        )
    except ValidationError:
        validator = Draft202012Validator({"pattern": pattern})
    is_valid: Callable[[str], bool] = validator.is_valid
    return is_valid


def fits(keyword: str, wanted: Json, value: Json) -> bool:
    """Return whether a value satisfies one keyword, by the fast validator.

    ``wanted`` is the keyword's value in the schema.
    """
    if keyword == "pattern":
        return not isinstance(value, str) or matcher(wanted)(value)
    validator = _keyword_validator(keyword, orjson.dumps(wanted))
    return bool(validator.is_valid(value))


@lru_cache(maxsize=1024)
def _keyword_validator(keyword: str, wanted: bytes) -> Any:
    """Return a validator of one keyword; ``wanted`` is JSON, which can be cached."""
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator({keyword: orjson.loads(wanted)}, validate_formats=True)


def extras(schema: Any, value: Any) -> list[str]:
    """Return an object's keys that a schema does not name.

    A schema names keys in `properties` and `patternProperties`.
    """
    matchers = [matcher(pattern) for pattern in schema.get("patternProperties", ())]
    properties = schema.get("properties", {})
    return [
        name
        for name in value
        if name not in properties and not any(matches(name) for matches in matchers)
    ]


@cache
def explaining() -> Any:
    """Return the class of jsonschema's validators that explain safely.

    It is built once, at the first problem: a check without problems does not import
    jsonschema.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend

    def decided(keyword: str) -> Any:
        def decide(
            validator: Any, wanted: Any, value: Any, schema: Any
        ) -> Iterator[Any]:
            if not fits(keyword, wanted, value):
                yield ValidationError(f"does not satisfy {keyword}")

        return decide

    def by_format(
        validator: Any, wanted: Any, value: Any, schema: Any
    ) -> Iterator[Any]:
        """Ask both validators.

        Only jsonschema refuses the year 0, and only the fast validator checks every
        format. `regex` is checked by the fast one alone, whose patterns are used.
        """
        checker = Draft202012Validator.FORMAT_CHECKER
        refused = wanted != "regex" and not checker.conforms(value, wanted)
        if refused or not fits("format", wanted, value):
            yield ValidationError("does not satisfy format")

    def additional(
        validator: Any, inner: Any, value: Any, schema: Any
    ) -> Iterator[Any]:
        if not validator.is_type(value, "object"):
            return
        names = extras(schema, value)
        if isinstance(inner, dict):
            for name in names:
                yield from validator.descend(value[name], inner, path=name)
        elif not inner and names:
            yield ValidationError("keys that are not known here")

    def by_pattern(
        validator: Any, patterns: Any, value: Any, schema: Any
    ) -> Iterator[Any]:
        if not validator.is_type(value, "object"):
            return
        for pattern, inner in patterns.items():
            matches = matcher(pattern)
            for name, item in value.items():
                if matches(name):
                    yield from validator.descend(
                        item, inner, path=name, schema_path=pattern
                    )

    def counting(keyword: Any) -> Any:
        def count(
            validator: Any, wanted: Any, value: Any, schema: Any
        ) -> Iterator[Any]:
            left = _keywords_left.get()
            if left is not None:
                if left <= 0:
                    raise Enough
                entries = len(wanted) if isinstance(wanted, (list, dict)) else 0
                _keywords_left.set(left - 1 - entries // _ENTRIES_A_KEYWORD)
            yield from keyword(validator, wanted, value, schema) or ()

        return count

    keywords: dict[str, Any] = dict(Draft202012Validator.VALIDATORS)
    keywords |= {keyword: decided(keyword) for keyword in _DECIDED}
    keywords |= {
        "format": by_format,
        "additionalProperties": additional,
        "patternProperties": by_pattern,
    }
    counted_keywords = {
        name: counting(keyword)
        for name, keyword in keywords.items()
        if name not in _UNEXPLAINED
    }
    explaining_class: Any = extend(Draft202012Validator, counted_keywords)  # type: ignore[no-untyped-call]
    for name in _UNEXPLAINED:  # `extend` adds to the keywords of the class it extends
        explaining_class.VALIDATORS.pop(name, None)
    return explaining_class
