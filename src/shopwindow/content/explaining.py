"""jsonschema, which says what is wrong where, made safe for schemas that editors write.

It decides nothing that could take long: whether a text fits a pattern, or a list holds
something twice, the fast validator says, whose engine is linear. It counts its steps,
too, and ends when they are used up.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

import orjson

from shopwindow.content.yaml import Json

MAX_KEYWORDS = 200_000
"""Keywords that one explanation may look at: half a second. A configuration of 1 MB
needs some 100,000.
"""

_WEIGHT = 64
"""So many entries of an enum or a list cost as much as one more keyword."""

_DECIDED = ("pattern", "uniqueItems", "multipleOf")
"""Keywords that the fast validator decides here as well. jsonschema would run a pattern
by Python's `re`.
"""

_LEFT_OUT = ("unevaluatedProperties", "unevaluatedItems", "$dynamicRef")
"""Keywords for which jsonschema looks at everything again and again. Of these the fast
validator speaks alone.
"""

_left: ContextVar[int | None] = ContextVar("steps left", default=None)


class Enough(Exception):
    """The steps of one explanation are used up."""


@contextmanager
def counted(steps: int = MAX_KEYWORDS) -> Iterator[None]:
    """Within, explaining raises Enough after so many steps."""
    token = _left.set(steps)
    try:
        yield
    finally:
        _left.reset(token)


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a pattern is in a text: by the linear engine.

    The program's own patterns may look ahead, which that engine does not know; those
    are run by the other one.
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
    """Whether a value satisfies one keyword, as the fast validator has it."""
    if keyword == "pattern":
        return not isinstance(value, str) or matcher(wanted)(value)
    return bool(_alone(keyword, orjson.dumps(wanted)).is_valid(value))


@lru_cache(maxsize=1024)
def _alone(keyword: str, wanted: bytes) -> Any:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator({keyword: orjson.loads(wanted)}, validate_formats=True)


def extras(schema: Any, value: Any) -> list[str]:
    """The keys of an object that neither `properties` nor `patternProperties` of a
    schema name.
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
    """The class of validators that explain."""
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

    def form(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[Any]:
        """By both: only jsonschema's calendar lacks the year 0, only the fast validator
        reads every form.
        """
        checker = Draft202012Validator.FORMAT_CHECKER
        if (wanted != "regex" and not checker.conforms(value, wanted)) or not fits(
            "format", wanted, value
        ):
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
            left = _left.get()
            if left is not None:
                if left <= 0:
                    raise Enough
                weight = (
                    len(wanted) if isinstance(wanted, (list, dict)) else 0
                ) // _WEIGHT
                _left.set(left - 1 - weight)
            yield from keyword(validator, wanted, value, schema) or ()

        return count

    keywords: dict[str, Any] = dict(Draft202012Validator.VALIDATORS)
    keywords |= {keyword: decided(keyword) for keyword in _DECIDED}
    keywords |= {
        "format": form,
        "additionalProperties": additional,
        "patternProperties": by_pattern,
    }
    counted_keywords = {
        name: counting(keyword)
        for name, keyword in keywords.items()
        if name not in _LEFT_OUT
    }
    kept: Any = extend(Draft202012Validator, counted_keywords)  # type: ignore[no-untyped-call]
    for name in _LEFT_OUT:
        kept.VALIDATORS.pop(name, None)
    return kept
