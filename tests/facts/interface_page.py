"""The page of the interface: its numbers, its paths, the fields of each answer, and examples that the sample answers.

A block of the page is written by the program where an HTML comment stands before it:

    fields of FILE [DEFINITION]   the names and types of a schema in schemas/
    example                       a request, then what the service on the sample answers

In an example a list ends after its first item and a long text after some words, both with `…`. So does an object in
which each name has the same fields. A refusal is whole. What is another in every run is `…` as well.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from facts.reference_pages import ROOT, SCHEMAS, Schema, load, resolved
from harness.program import Answer, Application, called

PAGE = ROOT / "docs/reference/interface.md"

WIDTH = 104
"""Columns of a block: more would be scrolled on most screens."""

LONGEST_TEXT = 48
"""Characters of a text that an example shows; more of a sample's prose teaches nothing."""

MARK = re.compile(
    r"^<!-- (?:fields of (?P<file>\S+?)(?: (?P<definition>\w+))?|example) -->\n```text\n(?P<text>.*?)^```$", re.M | re.S
)

# -- fields ------------------------------------------------------------------------------------------------------------

ELSEWHERE = {
    "product_v3.json#/$defs/element": "the product element, W2.1",
    "promotions_v3.json#/$defs/promotion": "as in W4.2",
}
"""Definitions that the page shows once, by the reference to them."""

TYPES = {"string": "", "integer": "int", "number": "number", "boolean": "bool"}
"""What a field's type is called; most are texts, and need no word."""

GLUE = "\N{NO-BREAK SPACE}"
"""Keeps a name and its type in one line until the lines are wrapped."""


@dataclass(frozen=True)
class Fields:
    """The fields of an object. ``within``: names of objects, with their fields or where the page has these."""

    plain: tuple[str, ...]
    within: tuple[tuple[str, "Fields | str"], ...]


def fields_of(schema: Schema, path: Path, above: tuple[str, ...] = ()) -> Fields:
    """Return the fields of a schema's object. ``above``: references that lead here, of which none is followed again."""
    plain: list[str] = []
    within: dict[Fields | str, list[str]] = {}  # names by their fields: ten sections of an app have the same
    schema, path = resolved(schema, path)
    for name, part in schema["properties"].items():
        inner, place = resolved(part, path)
        reference, shown = part.get("$ref", ""), name
        if inner["type"] == "array":
            reference, shown = inner["items"].get("$ref", ""), f"{name}[]"
            inner, place = resolved(inner["items"], place)
        shown += "" if name in schema.get("required", ()) else "?"
        if inner["type"] != "object":
            words = (shown, TYPES[inner["type"]], *choices(inner))
            plain.append(GLUE.join(word for word in words if word))
            continue
        below: Fields | str = ELSEWHERE.get(reference, "")
        if reference and reference in above:
            below = f"as the {reference.rpartition('/')[2]} above, and so on"
        within.setdefault(below or fields_of(inner, place, (*above, reference)), []).append(shown)
    return Fields(tuple(plain), tuple((", ".join(names), below) for below, names in within.items()))


def choices(schema: Schema) -> tuple[str, ...]:
    """Return the values that a text may have, where they are few enough for its line; the page lists others."""
    return ("|".join(schema["enum"]),) if schema["type"] == "string" and 1 < len(schema.get("enum", ())) <= 5 else ()


def printed(fields: Fields | str, indent: str = "", name: str = "") -> Iterator[str]:
    """Yield the lines of an object's fields: the plain ones behind its name, then each object within it."""
    first = f"{indent}{name}: " if name else indent
    text = fields if isinstance(fields, str) else ", ".join(fields.plain)
    if text or name:
        lines = wrap(text, WIDTH, initial_indent=first, subsequent_indent=f"{indent}    ") or [first.rstrip()]
        yield from (line.replace(GLUE, " ") for line in lines)
    if isinstance(fields, Fields):
        for names, below in fields.within:
            yield from printed(below, f"{indent}  " if name else indent, names)


def block_of_fields(file: str, definition: str | None) -> str:
    """Return the block of a schema in schemas/, or of one of its definitions."""
    path = SCHEMAS / file
    schema = load(path)
    schema = schema["$defs"][definition] if definition else schema
    return "\n".join(printed(fields_of(schema, path))) + "\n"


# -- examples ----------------------------------------------------------------------------------------------------------


def shortened(value: Any) -> Any:
    """Return a value as an example shows it: one item of a list, the first words of a text."""
    if isinstance(value, list):
        most = 1 if any(isinstance(item, dict) for item in value) else 3
        return [shortened(item) for item in value[:most]] + [...] * (len(value) > most)
    if isinstance(value, dict):
        alike = len(value) > 3 and len({tuple(item) if isinstance(item, dict) else () for item in value.values()}) == 1
        shown = list(value.items())[:1] if alike and isinstance(next(iter(value.values())), dict) else value.items()
        return {name: shortened(item) for name, item in shown} | ({...: ...} if len(shown) < len(value) else {})
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return value[:LONGEST_TEXT] + "…"
    return value


def as_json(value: Any, indent: str = "", behind: int = 0) -> str:
    """Return a shortened value as JSON: in one line where it fits, else an item a line.

    ``behind``: columns that stand before it in its line.
    """
    if value is ...:
        return "…"
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    deeper = f"{indent}  "
    if isinstance(value, dict):
        names = ["" if name is ... else f"{json.dumps(name)}: " for name in value]
        items = [
            name + as_json(item, deeper, len(deeper) + len(name))
            for name, item in zip(names, value.values(), strict=True)
        ]
    else:
        items = [as_json(item, deeper, len(deeper)) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    line = opening + ", ".join(items) + closing
    if "\n" not in line and behind + len(line) < WIDTH:
        return line
    lines = [f"{deeper}{line}" for line in filled(items, WIDTH - len(deeper))]
    return f"{opening}\n" + ",\n".join(lines) + f"\n{indent}{closing}"


def filled(items: list[str], width: int) -> Iterator[str]:
    """Yield items, joined by commas as far as a line holds them; an object or list stands alone."""
    line: list[str] = []
    for item in items:
        alone = item[-1] in "}]"
        if line and (alone or sum(map(len, line)) + 2 * len(line) + len(item) >= width):
            yield ", ".join(line)
            line = []
        if alone:
            yield item
        else:
            line.append(item)
    if line:
        yield ", ".join(line)


VARIES = re.compile(
    r'(?<="bagId": )\d+|(?<="userId": )\d+'
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r'|(?<=Time": ")[^"]+|(?<="jobName": ")[^"]+'
)
"""What is another in every run: ids that are drawn, and when a build took place."""


@dataclass
class Reader:
    """Sends the page's requests to a service. ``key``: of an application. ``guid``: of the last bag."""

    service: Application
    key: str
    guid: str = ""

    def example(self, block: str) -> str:
        """Return a block with the answer to its request: method and target, headers, and perhaps a body.

        An empty line parts the request from the answer, which is a status and a body.
        """
        request = block.partition("\n\n")[0].splitlines()
        method, target = request[0].split(" ", 1)
        headers = {"x-svc-webservice-client-id": self.key}
        body = ""
        for line in request[1:]:
            if named := re.fullmatch(r"([A-Za-z-]+): (.+)", line):
                headers[named[1].lower()] = named[2]
            else:
                body += line
        if body:
            headers.setdefault("content-type", "application/json")
        target = target.replace("{bagGUID}", self.guid)
        answer = called(self.service, target, headers, method, body.encode())
        if found := re.search(rb'"bagGUID":"([^"]+)"', answer.body):
            self.guid = found[1].decode()
        return "\n".join(request) + f"\n\n{answer.status}\n{self.shown(answer)}\n"

    def shown(self, answer: Answer) -> str:
        """Return the body of an answer as the page has it."""
        text = answer.body.decode()
        if answer.headers["content-type"] == "application/json":
            value = json.loads(text)
            return VARIES.sub("…", as_json(shortened(value) if answer.status == 200 else value))
        return "\n".join(line if len(line) <= WIDTH else line[:WIDTH] + "…" for line in text.splitlines())


def page_of_interface(reader: Reader) -> str:
    """Return the page with each marked block as the program has it."""

    def block(found: re.Match[str]) -> str:
        text = block_of_fields(found["file"], found["definition"]) if found["file"] else reader.example(found["text"])
        return found[0].removesuffix(found["text"] + "```") + text + "```"

    return MARK.sub(block, PAGE.read_text(encoding="utf-8"))
