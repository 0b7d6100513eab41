"""Calls every operation through a client that openapi-generator has generated, and prints what came of it.

It runs in an environment of its own, with what the generated package needs. Its standard input is JSON:
`{package, base_url, key, header, hosts, calls}`, a call being `[tag, operation, texts, body]`; its output is an object
of operation → empty, or what went wrong.
"""

import importlib
import inspect
import json
import re
import sys
from datetime import date, datetime
from enum import Enum

from pydantic import BaseModel

told = json.load(sys.stdin)
package = importlib.import_module(told["package"])
remembered: dict[str, object] = {}


def words(name: str) -> list[str]:
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.sub(r"[^A-Za-z0-9]+", " ", split).split()


def snake(name: str) -> str:
    """The generator's spelling of a parameter: `bagGuid` → `bag_guid`, `_fields` → `fields`."""
    return "_".join(words(name)).lower()


def untyped(value: object, place: str) -> list[str]:
    """Places of a parsed answer that have no type of their own."""
    if isinstance(value, list):
        return [line for item in value for line in untyped(item, f"{place}[]")]
    if isinstance(value, BaseModel):
        values = {name: getattr(value, name) for name in type(value).model_fields}
        return [line for name, item in values.items() for line in untyped(item, f"{place}.{name}")]
    if isinstance(value, dict):
        return [line for name, item in value.items() for line in untyped(item, f"{place}[{name}]")]
    plain = str | int | float | bool | date | datetime | Enum | None
    return [] if isinstance(value, plain) else [f"{place}: {type(value).__name__}"]


def call(tag: str, operation: str, texts: dict[str, object], body: object) -> str:
    configuration = package.Configuration(host=told["base_url"], api_key={"key": told["key"]})
    with package.ApiClient(configuration) as client:
        if operation in told["hosts"]:
            client.set_default_header("Host", told["hosts"][operation])
        api = getattr(package, "".join(word.capitalize() for word in words(tag)) + "Api")(client)
        method = getattr(api, f"{operation}_with_http_info")
        names = list(inspect.signature(method).parameters)
        given = {}
        for name, value in texts.items():
            spellings = (snake(name), f"var_{snake(name)}")  # `var_global`: a word of Python's own
            given[next(each for each in spellings if each in names)] = remembered.get(name, value)
        if body is not None:
            name = next(each for each in names if each.endswith("_request"))
            model = getattr(package, "".join(word.capitalize() for word in words(name)))
            given[name] = model.from_dict(body)
        response = method(**given)
    if operation == "bag_add":
        bag = response.data.bag
        remembered.update(bagGuid=bag.bag_guid, userId=bag.owner.user_id)
    if response.status_code != 200 or not isinstance(response.data, BaseModel):
        return f"{response.status_code} {type(response.data).__name__}"
    sent = json.loads(response.raw_data)
    parsed = response.data.model_dump(by_alias=True)
    lost = sorted(set(sent) - set(parsed))
    return "; ".join([*([f"lost {lost}"] if lost else []), *untyped(response.data, operation)[:5]])


results = {}
for tag, operation, texts, body in told["calls"]:
    try:
        results[operation] = call(tag, operation, texts, body)
    except Exception as error:
        results[operation] = f"{type(error).__name__}: {str(error)[:1500]}"
json.dump(results, sys.stdout)
