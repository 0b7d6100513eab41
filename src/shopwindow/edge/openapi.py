"""The interface as an OpenAPI 3.1 document.

How this works. An operation describes its parameters, its rules and the schemas of its
body and response, so the document needs no list of its own. Its
schemas become components (`components`), and so do refusals whose words are the same
everywhere (`refusals`).
"""

from collections.abc import Callable, Iterable

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.edge.components import Components, wide
from shopwindow.edge.refusals import REQUEST_ID, Refusals, header
from shopwindow.edge.samples import Sample, sample
from shopwindow.interface.answering.answer import API_KEY_HEADER
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.kinds import Schema
from shopwindow.interface.declaring.operation import (
    AnyOf,
    FromContent,
    Operation,
    Others,
    Parameter,
    Together,
)
from shopwindow.interface.formats import JSON

_LENIENT = (
    "Parameters not named here are ignored, and so are empty ones. "
    "Words of an enumeration may be in any case. "
    "A list may be one text with commas, or a parameter for each item. "
    "HEAD is answered wherever GET is, with the headers alone. "
    "Answers may get members and words that are not named here: ignore what you do not know. "
    "XML has the same members as elements; where an answer has one member, which is an object, that is its root."
)


def document(interface: Interface, content: Content, schemas: Schemas) -> Json:
    """Return the whole document: every operation with its parameters, responses and
    errors.

    ``content`` gives the base URLs and the settings of site.yaml; ``schemas`` are those
    of the interface.
    """
    operations = interface.operations
    components = Components(schemas)
    asks_for_key = interface.applications is not None
    refusals = Refusals(interface, content, components)
    paths: dict[str, Json] = {}
    needs_key = (
        "Every operation needs an application's API key. " if asks_for_key else ""
    )
    for operation in operations:
        sampled = sample(interface, operation, content)
        paths.setdefault(f"/{operation.path}", {})[operation.method.lower()] = (
            _operation(operation, refusals, content, components, sampled)
        )
    families = dict.fromkeys(each.family for each in operations if each.family)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": interface.title,
            "version": interface.version,
            "description": needs_key + _LENIENT,
        },
        "servers": [{"url": content.setting("base_url")}],
        **({"security": [{"key": []}]} if asks_for_key else {}),
        "tags": [{"name": name} for name in families],
        "paths": paths,
        "components": {
            **({"securitySchemes": {"key": _API_KEY}} if asks_for_key else {}),
            "schemas": dict(sorted(components.schemas.items())),
            "responses": dict(sorted(refusals.shared.items())),
        },
    }


_API_KEY = {"type": "apiKey", "in": "header", "name": API_KEY_HEADER}


def _operation(
    operation: Operation,
    refusals: Refusals,
    content: Content,
    components: Components,
    sampled: Sample,
) -> Json:
    parameters = [
        _parameter(operation, each, sampled.texts.get(each.name, ""))
        for each in operation.parameters
    ]
    is_read = isinstance(operation.source, FromContent)
    responses: dict[str, Json] = {"200": _success(operation, components, sampled.value)}
    if is_read:
        responses["304"] = {
            "description": "The client has this answer already (If-None-Match)."
        }
    responses |= refusals.of(operation)
    rules = " ".join(_rules(operation))
    by_cookie = _cookie(operation, content)
    value = {
        "operationId": operation.name,
        **({"tags": [operation.family]} if operation.family else {}),
        "summary": operation.about,
        **({"description": rules} if rules else {}),
        "parameters": [
            *parameters,
            *([_others(operation.others)] if operation.others else []),
            *([_IDEMPOTENCY_KEY] if operation.method == "POST" else []),
            *([_IF_MATCH] if operation.tagged else []),
            *([_IF_NONE_MATCH] if is_read else []),
            *by_cookie,
        ],
        "responses": responses,
    }
    if operation.body:
        value["requestBody"] = {
            "required": not operation.body_optional,
            "content": components.media(operation.request_schema, of_body=True),
        }
        if operation.cookie and by_cookie:  # then the body may do without
            name, needless = operation.request_schema, operation.cookie.property
            schema = components.schemas[components.name_of_body(name)]
            schema["required"] = [
                each for each in schema["required"] if each != needless
            ]
    if operation.order_host:
        value["servers"] = [{"url": content.setting("order_base_url")}]
    return value


def _cookie(operation: Operation, content: Content) -> list[Json]:
    """Return the cookie that may give a property of the body, if site.yaml names one."""
    cookie = operation.cookie
    name = content.setting(cookie.setting) if cookie else None
    if not cookie or not name:
        return []
    about = f"Stands for {cookie.property} where the body has none."
    return [_optional(name, "cookie", about, 100, "^[0-9A-Za-z-]+$")]


def _optional(
    name: str, place: str, about: str, most: int, pattern: str = "^[ -~]+$"
) -> Json:
    """Describe a text beside path and query that a request may do without.

    ``most``: its greatest length, in characters.
    """
    schema = {"type": "string", "minLength": 1, "maxLength": most, "pattern": pattern}
    return {
        "name": name,
        "in": place,
        "description": about,
        "required": False,
        "schema": schema,
    }


_IDEMPOTENCY_KEY = _optional(
    "Idempotency-Key",
    "header",
    "A request repeated under the same key is answered as the first time, and done once.",
    255,
)
_IF_MATCH = _optional(
    "If-Match",
    "header",
    "An ETag of an earlier answer: nothing is done if something was changed since.",
    1000,
)
_IF_NONE_MATCH = _optional(
    "If-None-Match",
    "header",
    "ETags of earlier answers: one of these is not sent again.",
    1000,
)


def _rules(operation: Operation) -> Iterable[str]:
    for rule in operation.rules:
        if isinstance(rule, AnyOf) and not rule.several:
            yield f"{'Exactly' if rule.required else 'At most'} one of {', '.join(rule.names)} is given."
        elif isinstance(rule, AnyOf):
            if len(rule.names) > 1:
                yield f"One of {', '.join(rule.names)} is required."
        elif isinstance(rule, Together):
            yield f"{' and '.join(rule.names)} are given together."
        else:
            yield f"{rule.finish} is not before {rule.start}."


def _parameter(operation: Operation, parameter: Parameter, text: str) -> Json:
    """Describe a parameter; ``text``: its example as a client writes it, or empty."""
    in_path = parameter.name in operation.in_path
    schema = wide(parameter.kind.schema())
    if "items" in schema:
        schema = (
            _as_text(schema) if in_path else {**schema, "items": wide(schema["items"])}
        )
    if parameter.default is not None:
        default = _typed(parameter.kind.format(parameter.default), schema)
        schema = {**schema, "default": default}
    value: dict[str, Json] = {
        "name": parameter.name,
        "in": "path" if in_path else "query",
        "description": parameter.about,
        "required": in_path or AnyOf((parameter.name,)) in operation.rules,
        "schema": schema,
    }
    if schema["type"] == "array":
        value |= {"style": "form", "explode": False}
    if text:
        value["example"] = _typed(text, schema)
    return value


def _as_text(schema: Schema) -> Schema:
    """Return a list in the path as the text that it is there.

    OpenAPI can describe it as an array. Several generators of clients write an array
    into a path in their own language's form then, such as `[1, 2]`.
    """
    is_number = schema["items"]["type"] == "integer"
    item = "[1-9][0-9]{0,15}" if is_number else "[^,/]+"
    most = schema["maxItems"] - 1
    return {"type": "string", "pattern": f"^{item}(,{item}){{0,{most}}}$"}


def _others(others: Others) -> Json:
    """Describe parameters that nobody can list: an object whose members are parameters."""
    schema = {
        "type": "object",
        "propertyNames": {"pattern": f"^{others.names}$"},
        "additionalProperties": others.kind.schema(),
    }
    return {
        "name": "others",
        "in": "query",
        "description": others.about,
        "schema": schema,
        "style": "form",
        "explode": True,
        "example": dict([others.example]),
    }


def _typed(text: str, schema: Schema) -> Json:
    """Return a text as the JSON value that OpenAPI takes it for."""
    if schema["type"] == "array":
        return [_typed(part, schema["items"]) for part in text.split(",")]
    types: dict[str, Callable[[str], Json]] = {"integer": int, "number": float}
    return types.get(schema["type"], str)(text)


def _success(operation: Operation, components: Components, value: Json) -> Json:
    """Describe the response; ``value``: an example, or None."""
    media = components.media(operation.schema)
    if value is not None:
        media[JSON.media_type]["example"] = value
    headers = {
        "Cache-Control": header("How long the answer may be stored."),
        **REQUEST_ID,
    }
    if isinstance(operation.source, FromContent):
        headers["ETag"] = header("Of this very form; that of any form gives 304.")
    elif operation.tagged:
        headers["ETag"] = header("Of this state, in any format.")
    return {"description": "The answer.", "headers": headers, "content": media}
