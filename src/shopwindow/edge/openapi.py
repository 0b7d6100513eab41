"""The interface as an OpenAPI 3.1 document.

How this works. An operation describes its parameters, its rules and the schemas of its
body and response, so the document needs no list of its own. Its
schemas become components (`components`). Responses with an error are described once
for each status, and referred to.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.edge.components import Components
from shopwindow.edge.samples import Sample, alternatives, example, is_plain, sample
from shopwindow.interface.answer import (
    API_KEY_HEADER,
    ERROR_CODES,
    ERROR_SCHEMA,
    FAILURE_SCHEMA,
    JAVASCRIPT,
    no_key,
)
from shopwindow.interface.formats import (
    GENERAL_ROOT,
    JSON,
    MEDIA_TYPES,
    RESPONSE_FORMATS,
    XML,
    root_name,
)
from shopwindow.interface.interface import Interface
from shopwindow.interface.kinds import Schema
from shopwindow.interface.operation import FromContent, Operation, Others, Parameter
from shopwindow.interface.parameter_rules import AnyOf, OnlyOne, Together

CODES_OF_ALL = (
    "invalid",
    "no_key",
    "no_mapping",
    "no_data",
    "method",
    "not_acceptable",
    "too_large",
    "uri_too_long",
    "media_type",
    "internal",
    "unavailable",
)
"""The codes that every operation may be answered with. `method` and `no_mapping` (405
and 101) answer a request whose method or path is not quite the operation's.
"""

_CODES_OF_SOME: Mapping[str, Callable[[Operation], bool]] = {
    "slow": lambda operation: operation.body is not None,
    "precondition": lambda operation: operation.tagged,
    "repeated_otherwise": lambda operation: operation.method == "POST",
    "too_many": lambda operation: operation.allowance is not None,
}
"""The codes that only some operations may be answered with, and which operations these
are.
"""

_HEAD_TOO_LARGE = "431"
"""The status of a request whose headers are too large or too many."""

_REFUSED_HEAD = {
    "description": "The headers are too large or too many. The HTTP server refuses them"
    " before the service reads anything, so there is no body. Behind nginx it is a 400."
}

_WITH_RETRY_AFTER = ("unavailable", "too_many")


_LENIENT = (
    "Parameters not named here are ignored, and so are empty ones. "
    "Words of an enumeration may be in any case. "
    "A list may be one text with commas, or a parameter for each item. "
    "HEAD is answered wherever GET is, with the headers alone."
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
    codes = [
        name
        for name in (*CODES_OF_ALL, *_CODES_OF_SOME)
        if asks_for_key or name != "no_key"
    ]
    paths: dict[str, Json] = {}
    needs_key = (
        "Every operation needs an application's API key. " if asks_for_key else ""
    )
    for operation in operations:
        sampled = sample(interface, operation, content)
        paths.setdefault(f"/{operation.path}", {})[operation.method.lower()] = (
            _operation(operation, codes, content, components, sampled)
        )
    families = dict.fromkeys(each.family for each in operations if each.family)
    errors = {
        names[0]: _error(names, components) for names in _by_status(codes).values()
    }
    errors["head_too_large"] = _REFUSED_HEAD
    _relieve_of_cookies(components, operations, content)
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
            "responses": errors,
        },
    }


def _relieve_of_cookies(
    components: Components, operations: Iterable[Operation], content: Content
) -> None:
    """Let a body do without a property that a cookie may give."""
    for operation in operations:
        if operation.cookie and content.setting(operation.cookie.setting):
            schema = components.schemas[components.name(operation.request_schema)]
            by_cookie = operation.cookie.property
            schema["required"] = [
                name for name in schema["required"] if name != by_cookie
            ]


def _by_status(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the codes of each HTTP status: a status is described once."""
    codes: dict[str, list[str]] = {}
    for name in names:
        codes.setdefault(str(ERROR_CODES[name].status), []).append(name)
    return codes


_API_KEY = {"type": "apiKey", "in": "header", "name": API_KEY_HEADER}


def _operation(
    operation: Operation,
    codes: Iterable[str],
    content: Content,
    components: Components,
    sampled: Sample,
) -> Json:
    without_example = alternatives(operation)
    parameters = []
    for parameter in operation.parameters:
        text = sampled.texts.get(parameter.name, "")
        if not text and parameter.name not in without_example and is_plain(parameter):
            text = example(parameter)
        parameters.append(_parameter(operation, parameter, text))
    is_read = isinstance(operation.source, FromContent)
    responses: dict[str, Json] = {"200": _success(operation, components, sampled.value)}
    if is_read:
        responses["304"] = {
            "description": "The client has this answer already (If-None-Match)."
        }
    own_codes = (
        name
        for name in codes
        if name not in _CODES_OF_SOME or _CODES_OF_SOME[name](operation)
    )
    for status, names in _by_status(own_codes).items():
        responses[status] = {"$ref": f"#/components/responses/{names[0]}"}
    refused_head = {"$ref": "#/components/responses/head_too_large"}
    responses[_HEAD_TOO_LARGE] = refused_head
    if operation.own_failures:
        failure = {
            "description": "Why not.",
            "content": _media(FAILURE_SCHEMA, components),
        }
        responses = {
            "200": responses["200"],
            _HEAD_TOO_LARGE: refused_head,
            "default": failure,
        }
    value = {
        "operationId": operation.name,
        **({"tags": [operation.family]} if operation.family else {}),
        "summary": operation.about,
        "description": " ".join(_rules(operation)) or operation.about,
        "parameters": [
            *parameters,
            *([_others(operation.others)] if operation.others else []),
            *([_IDEMPOTENCY_KEY] if operation.method == "POST" else []),
            *([_IF_MATCH] if operation.tagged else []),
            *([_IF_NONE_MATCH] if is_read else []),
            *_cookies(operation, content),
        ],
        "responses": responses,
    }
    if operation.body:
        media = _media(operation.request_schema, components, root="request")
        value["requestBody"] = {
            "required": not operation.body_optional,
            "content": media,
        }
    if operation.order_host:
        value["servers"] = [{"url": content.setting("order_base_url")}]
    return value


def _cookies(operation: Operation, content: Content) -> Iterator[Json]:
    """Yield the cookie that may give a property of the body, if site.yaml names one."""
    cookie = operation.cookie
    if cookie and (name := content.setting(cookie.setting)):
        about = f"Stands for {cookie.property} where the body has none."
        schema = {
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "pattern": "^[0-9A-Za-z-]+$",
        }
        yield {
            "name": name,
            "in": "cookie",
            "description": about,
            "required": False,
            "schema": schema,
        }


_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A request repeated under the same key is answered as the first time, and done once.",
    "required": False,
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": "^[ -~]+$",
    },
}

_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "description": "An ETag of an earlier answer: nothing is done if something was changed since.",
    "required": False,
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": 1000,
        "pattern": "^[ -~]+$",
    },
}

_IF_NONE_MATCH = {
    **_IF_MATCH,
    "name": "If-None-Match",
    "description": "ETags of earlier answers: one of these is not sent again.",
}


def _media(
    file: str, components: Components, root: str = GENERAL_ROOT
) -> dict[str, Json]:
    """Return a body in every format.

    The root of XML is the schema's only property if that is an object, else ``root``.
    """
    whole = components.reference(file)
    name = root_name(components.shape(file))
    inner = {**whole, "xml": {"name": root}}
    if name != GENERAL_ROOT:
        only = components.reference(file, f"/properties/{name}")
        inner = {**only, "xml": {"name": name}}
    media: dict[str, Json] = {
        format.media_type: {"schema": inner if format is XML else whole}
        for format in RESPONSE_FORMATS
    }
    if examples := components.examples(file):
        media[JSON.media_type]["example"] = examples[0]
    return media


def _rules(operation: Operation) -> Iterable[str]:
    for rule in operation.rules:
        if isinstance(rule, AnyOf):
            if len(rule.names) > 1:
                yield f"One of {', '.join(rule.names)} is required."
        elif isinstance(rule, Together):
            yield f"{' and '.join(rule.names)} are given together."
        elif isinstance(rule, OnlyOne):
            yield f"{'Exactly' if rule.required else 'At most'} one of {', '.join(rule.names)} is given."
        else:
            yield f"{rule.finish} is not before {rule.start}."


def _parameter(operation: Operation, parameter: Parameter, text: str) -> Json:
    """Describe a parameter; ``text``: its example as a client writes it, or empty."""
    in_path = parameter.name in operation.in_path
    schema = parameter.kind.schema()
    if in_path and schema["type"] == "array":
        schema = _as_text(schema)
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
    media = _media(operation.schema, components)
    if value is not None:
        media[JSON.media_type]["example"] = value
    headers = {
        "Cache-Control": {
            "description": "How long the answer may be stored.",
            "schema": {"type": "string"},
        },
        **_REQUEST_ID,
    }
    if isinstance(operation.source, FromContent):
        headers = {
            "ETag": {
                "description": "Of this very form; that of any form gives 304.",
                "schema": {"type": "string"},
            },
            **headers,
        }
    elif operation.tagged:
        headers = {
            "ETag": {
                "description": "Of this state, in any format.",
                "schema": {"type": "string"},
            },
            **headers,
        }
    if "callback" in operation.named:
        media[JAVASCRIPT] = {
            "schema": {
                "type": "string",
                "description": "The JSON as the argument of `callback`.",
            }
        }
    return {"description": operation.about, "headers": headers, "content": media}


def _error(names: Sequence[str], components: Components) -> Json:
    """Describe the responses with the codes of one status, with an example of each
    code.
    """
    codes = [ERROR_CODES[name] for name in names]
    values = (
        {
            "errorCode": code.error_code,
            "message": code.message,
            "errorDetail": [_DETAILS.get(name, f"service: {code.message}")],
            "success": False,
        }
        for name, code in zip(names, codes, strict=True)
    )
    media = _media(ERROR_SCHEMA, components)
    media[JSON.media_type]["examples"] = {
        name: {"value": value} for name, value in zip(names, values, strict=True)
    }
    wait = {
        "Retry-After": {
            "description": "Seconds after which to come again.",
            "schema": {"type": "integer"},
        }
    }
    challenge = {
        "WWW-Authenticate": {
            "description": "The header that holds the API key.",
            "schema": {"type": "string"},
        }
    }
    return {
        "description": ", or: ".join(code.message for code in codes),
        "headers": {
            **_REQUEST_ID,
            **(wait if set(names) & set(_WITH_RETRY_AFTER) else {}),
            **(challenge if "no_key" in names else {}),
        },
        "content": media,
    }


_REQUEST_ID = {
    "X-Request-Id": {
        "description": "The request's own where it is sane, else one of the service's; its log has it.",
        "schema": {"type": "string"},
    }
}

_DETAILS = {
    "invalid": "page: must be a whole number from 1 to 100, not 'x'",
    "no_key": str(no_key().faults[0]),
    "no_mapping": "path: is not one of the interface",
    "no_data": "id: nothing has such an id",
    "method": "method: must be GET, HEAD, OPTIONS, not POST",
    "not_acceptable": f"Accept: must admit {MEDIA_TYPES}, not 'text/html'",
    "too_large": "body: must have at most 1048576 bytes",
    "uri_too_long": "query: must have at most 8192 bytes, not 8193",
    "media_type": f"Content-Type: must be {MEDIA_TYPES}; it is missing",
    "slow": "body: did not arrive within 14 s; it may be sent again",
    "precondition": 'If-Match: is "x-1", but it is at "x-2"',
    "repeated_otherwise": "Idempotency-Key: was used for another request",
    "too_many": "rate: at most 300 requests from one address in 10 minutes",
}
"""An entry of `errorDetail` by its code. The other codes are the service's own faults."""
