"""site.yaml: its own expressions, and the names that it gives to the other files. Pure."""

from collections.abc import Iterable
from typing import Any

from shopwindow.content.documents import expressions
from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading.yaml import Json
from shopwindow.problems import Pointer

RESERVED_NAMES = ("base_url", "order_base_url", "time_zone")
"""Entries of site.yaml that are names for the other files as they are."""


ORDER_URL, BASE_URL = "order_base_url", "base_url"
"""The address that may be left out, and the one that then stands for it: an interface
without an order host has one address.
"""


def render(
    value: Json, bad: frozenset[str]
) -> tuple[Json, dict[str, str | None], list[Finding]]:
    """Return site.yaml with its expressions evaluated, the names, and the faults.

    An expression may use the names before it. ``bad``: names that have another fault;
    they, and names whose texts use them, have no text.
    """
    names: dict[str, str | None] = dict.fromkeys(bad)
    faults: list[Finding] = []

    def name(value: Json, pointer: Pointer) -> Json:
        before = len(faults)
        rendered = expressions.render(value, names, faults.append, pointer)
        if isinstance(value, str):
            names.setdefault(
                str(pointer[-1]), None if len(faults) > before else rendered
            )
        return rendered

    if not isinstance(value, dict):
        return value, names, faults
    rendered: dict[str, Any] = dict(value)
    left = [key for key in value if key not in RESERVED_NAMES]
    for key in RESERVED_NAMES:
        if key in value:
            rendered[key] = name(value[key], (key,))
    if ORDER_URL not in value:
        names[ORDER_URL] = names.get(BASE_URL)
    if isinstance(given := value.get("names"), dict):
        rendered["names"] = {
            key: name(text, ("names", key)) for key, text in given.items()
        }
        left.remove("names")
    for key in left:
        rendered[key] = expressions.render(value[key], names, faults.append, (key,))
    return rendered, names, faults


def completed(rendered: Json) -> Json:
    """Return a valid site.yaml with the address that may be left out."""
    return {**rendered, ORDER_URL: rendered.get(ORDER_URL, rendered[BASE_URL])}


def names_at_fault(value: Json, found: Iterable[Finding]) -> frozenset[str] | None:
    """Return the names whose texts are refused or missing by the schema.

    None where nobody can say which names there are.
    """
    bad: set[str] = set()
    for finding in found:
        match finding.pointer:
            case ("names", str(name), *_):
                bad.add(name)
            case ("names",):
                return None
            case () if finding.missing is None:
                return None
            case () if finding.missing in RESERVED_NAMES:
                bad.add(str(finding.missing))
            case (str(key), *_) if key in RESERVED_NAMES:
                bad.add(key)
            case (str(key),) if (
                finding.on_key and "names" not in value
            ):  # perhaps `names`, misspelt
                return None
    return frozenset(bad)
