"""A schema that admits some faults, and no others.

It is the schema itself, in which a keyword is left out at the place of each fault: a
missing key is not required, an unknown one may stand there. With the compiled validator
of such a schema one call says whether a value has faults beside these.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urljoin

from shopwindow.content.kinds import EACH
from shopwindow.content.schema import Schemas
from shopwindow.content.shape import Shape
from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer

AdmittedFault = tuple[Pointer, str, str]
"""Where a fault is, with EACH for positions in lists; the keyword that refuses it; and
the key that is missing, or empty text.
"""


def admitting(
    schemas: Schemas, name: str, faults: Iterable[AdmittedFault]
) -> Callable[[Json], bool] | None:
    """Return whether a value satisfies the schema ``name`` but for some faults.

    None where that cannot be said: a content folder's own schema holds as well, or a
    fault is no keyword's of a place that can be reached.
    """
    if len(schemas.levels(name)) > 1:
        return None
    schema = _without(schemas.shape(name), list(faults))
    if schema is None:
        return None
    is_valid: Callable[[Json], bool] = schemas.compiled(schema).is_valid
    return is_valid


def _without(shape: Shape, faults: list[AdmittedFault]) -> dict[str, Any] | None:
    """Return the schema of a place without the keywords of faults at and below it."""
    schema: dict[str, Any] = _absolute(shape.schema, shape.base)
    below: dict[str | int, list[AdmittedFault]] = defaultdict(list)
    for pointer, keyword, missing in faults:
        if missing and not pointer:
            required = schema.get("required", [])
            schema["required"] = [key for key in required if key != missing]
        elif keyword == "additionalProperties" and len(pointer) == 1:
            schema["properties"] = {**schema.get("properties", {}), pointer[0]: True}
        elif pointer:
            below[pointer[0]].append((pointer[1:], keyword, missing))
        elif keyword not in schema:
            return None
        else:
            del schema[keyword]
            if keyword == "enum":  # which speaks for `type` as well
                schema.pop("type", None)
    for step, inner in below.items():
        place = shape.items if step == EACH else shape.property(str(step))
        part = _without(place, inner) if place is not None else None
        if part is None:
            return None
        if step == EACH:
            schema["items"] = part
        else:
            schema["properties"] = {**schema.get("properties", {}), step: part}
    return schema


def _absolute(schema: Any, base: str) -> Any:
    """Return a copy of a schema whose references hold anywhere."""
    if isinstance(schema, list):
        return [_absolute(part, base) for part in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: _absolute(part, base) for key, part in schema.items() if key != "$id"}
    if isinstance(schema.get("$ref"), str):
        copy["$ref"] = urljoin(base, schema["$ref"])
    return copy
