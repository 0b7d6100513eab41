"""Calls every operation through a client that openapi-python-client has generated, and prints what came of it.

It runs in an environment of its own, with what the generated package needs. Its standard input is JSON:
`{package, base_url, key, header, hosts, calls}`, a call being `[tag, operation, texts, body]`; its output is an object
of operation → empty, or what went wrong.
"""

import importlib
import inspect
import json
import re
import sys
import types
import typing
from datetime import date, datetime
from enum import Enum
from typing import Any, cast

import attr

told = json.load(sys.stdin)
package = importlib.import_module(told["package"])
UNSET = importlib.import_module(f"{told['package']}.types").Unset
remembered: dict[str, object] = {}


def snake(name: str) -> str:
    """The generator's spelling of a name: `Single-use codes` → `single_use_codes`, `bagGuid` → `bag_guid`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_").lower()


def parts(annotation: object) -> list[object]:
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return [part for each in typing.get_args(annotation) for part in parts(each)]
    return [annotation]


def converted(value: object, annotation: object) -> object:
    """A JSON value as the parameter's type wants it."""
    for part in parts(annotation):
        if typing.get_origin(part) is list:
            items = value if isinstance(value, list) else [value]
            return [converted(item, typing.get_args(part)[0]) for item in items]
        if inspect.isclass(part) and issubclass(part, Enum):
            return part(value)
        if part is date:
            return date.fromisoformat(str(value))
        if part is datetime:
            return datetime.fromisoformat(str(value))
        if hasattr(part, "from_dict"):
            return part.from_dict(value)
    return value


def untyped(value: object, place: str) -> list[str]:
    """Places of a parsed answer that have no type of their own."""
    if isinstance(value, list):
        return [line for item in value for line in untyped(item, f"{place}[]")]
    if isinstance(value, str | int | float | bool | date | datetime | Enum | UNSET):
        return []
    if hasattr(type(value), "from_dict"):
        own = {field.name: getattr(value, field.name) for field in attr.fields(cast(Any, type(value)))}
        more = own.pop("additional_properties", {})
        inner = [line for name, item in own.items() for line in untyped(item, f"{place}.{name}")]
        open_map = not own
        beside = [line for name, item in more.items() for line in untyped(item, f"{place}[{name}]")]
        return [*inner, *beside] if open_map or not more else [*inner, f"{place}: unlisted {sorted(more)[:3]}"]
    return [f"{place}: {type(value).__name__}"]


def call(tag: str, operation: str, texts: dict[str, object], body: object) -> str:
    module = importlib.import_module(f"{told['package']}.api.{snake(tag)}.{operation}")
    hints = typing.get_type_hints(module.sync_detailed)
    given = {}
    for name, value in {**texts, **{k: v for k, v in remembered.items() if k in texts}}.items():
        spellings = (snake(name), f"{snake(name)}_", f"field_{snake(name)}")  # `global_`, `field_limit`
        known = next(each for each in spellings if each in hints)
        given[known] = converted(value, hints[known])
    if body is not None:
        given["body"] = converted(body, hints["body"])
    client = package.AuthenticatedClient(
        base_url=told["base_url"], token=told["key"], prefix="", auth_header_name=told["header"]
    )
    if operation in told["hosts"]:
        client = client.with_headers({"Host": told["hosts"][operation]})
    response = module.sync_detailed(client=client, **given)
    if response.status_code != 200:
        return f"{response.status_code} {response.content[:300]!r}"
    if response.parsed is None:
        return f"not parsed: {response.content[:200]!r}"
    if operation == "bag_add":
        remembered.update(bagGuid=response.parsed.bag.bag_guid, userId=response.parsed.bag.owner.user_id)
    return "; ".join(untyped(response.parsed, operation)[:5])


results = {}
for tag, operation, texts, body in told["calls"]:
    try:
        results[operation] = call(tag, operation, texts, body)
    except ModuleNotFoundError:
        results[operation] = "not generated"
    except Exception as error:
        results[operation] = f"{type(error).__name__}: {error}"
json.dump(results, sys.stdout)
