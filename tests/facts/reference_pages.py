"""Pages of docs/ that follow from the program: every property of a document, every command."""

import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from shopwindow.cli import SECTIONS, main

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "schemas"

Schema = dict[str, Any]

DOCUMENTS = {
    "Site": "site.json",
    "App": "app.json",
    "Store": "store.json",
    "Event": "event.json",
    "Promotion": "promotion.json",
    "Category": "catalog/category.json",
    "Brand": "catalog/brand.json",
    "Product": "catalog/product.json",
    "Inventory": "catalog/inventory.json",
    "Review": "catalog/review.json",
    "Recommendation": "catalog/recommendation.json",
    "Synonym": "catalog/synonym.json",
    "Publish window": "publish.json",
    "Contract": "contract.json",
    "Collections": "collections.json",
}
"""Headings, and the schema that each is about. Parts of site.yaml that a family adds follow the site."""


def load(path: Path) -> Schema:
    loaded: Schema = json.loads(path.read_text(encoding="utf-8"))
    if path.parent.name == "site":  # a part of site.yaml's schema, which may name definitions of the whole
        loaded["$defs"] = load(SCHEMAS / "site.json")["$defs"] | loaded.get("$defs", {})
    return loaded


def resolved(schema: Schema, path: Path) -> tuple[Schema, Path]:
    """Return a schema with what its `$ref` says below what it says itself, and the file that this stands in."""
    while "$ref" in schema:
        file, _, pointer = schema["$ref"].partition("#")
        if file:
            beside = path.parent / file
            path = beside if beside.exists() else SCHEMAS / file  # parts of site.yaml are read as if they stood there
        target = load(path)
        for key in pointer.strip("/").split("/") if pointer.strip("/") else ():
            target = target[key]
        schema = target | {key: value for key, value in schema.items() if key != "$ref"}
    return schema, path


@dataclass(frozen=True)
class Property:
    """One line of a table."""

    name: str
    type: str
    required: bool
    allowed: str
    description: str
    example: str
    default: str


def code(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = text.replace("|", "\\|").replace("\n", "⏎")
    return f"`{shown}`" if shown else ""


def type_of(schema: Schema) -> str:
    types = schema.get("type", "")
    if isinstance(types, list):
        return " or ".join(types)
    if not types and "enum" in schema:
        return "string"
    return str(types) or "any"


def bounds(schema: Schema) -> Iterator[str]:
    words = (
        ("minimum", "at least {}"),
        ("exclusiveMinimum", "more than {}"),
        ("maximum", "at most {}"),
        ("exclusiveMaximum", "less than {}"),
        ("minLength", "{} characters or more"),
        ("maxLength", "{} characters at most"),
        ("minItems", "{} items or more"),
        ("maxItems", "{} items at most"),
    )
    yield from (words_of.format(f"{schema[key]:,}") for key, words_of in words if schema.get(key, 0) not in (0, 1))
    if schema.get("uniqueItems"):
        yield "no item twice"


def allowed(schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(code(value) for value in schema["enum"])
    if "const" in schema:
        return code(schema["const"])
    if "x-allowed" in schema:
        return str(schema["x-allowed"]).replace("|", "\\|")
    return "; ".join(bounds(schema))


LEFT_OUT = re.compile(r" Left out: .*|; \d+ if left out(?=\.)")
"""What a description says where a schema has the same as its default."""


def row(name: str, schema: Schema, required: bool) -> Property:
    examples = schema.get("examples", [])
    description = str(schema.get("description", ""))
    if "default" in schema:
        description = LEFT_OUT.sub("", description)
    return Property(
        name=name,
        type=type_of(schema),
        required=required,
        allowed=allowed(schema),
        description=description.replace("|", "\\|").replace("\n", " "),
        example=code(examples[0]) if examples else "",
        default=code(schema["default"]) if "default" in schema else "",
    )


def properties(schema: Schema, path: Path, prefix: str = "", above: tuple[str, ...] = ()) -> Iterator[Property]:
    """Yield the properties of a schema and, below each, those within it; `[]` stands for an item, `*` for any name."""
    schema, path = resolved(schema, path)
    first: dict[str, str] = {}  # a property by what it refers to, which others of the object may refer to as well
    parts = [schema, *schema.get("allOf", []), *schema.get("anyOf", []), *schema.get("oneOf", [])]
    for part, at in (resolved(part, path) for part in parts):
        within = list(part.get("properties", {}).items())
        if isinstance(part.get("additionalProperties"), dict):
            within.append(("*", part["additionalProperties"]))
        for name, value in within:
            inner, place = resolved(value, at)
            reference = str(value.get("$ref", ""))
            like = first.setdefault(reference, name) if reference and inner.get("properties") else name
            if inner.get("description"):
                shown = row(prefix + name, inner, name in schema.get("required", ()))
                yield shown if like == name else replace(shown, type=f"as `{like}`", allowed="", example="")
            if like != name or (reference and reference in above):
                continue  # such as the categories within a category
            yield from properties(inner, place, f"{prefix}{name}/", (*above, reference))
    items = schema.get("items")
    if isinstance(items, dict):
        inner, place = resolved(items, path)
        reference = str(items.get("$ref", ""))
        if not (reference and reference in above):
            yield from properties(inner, place, prefix.removesuffix("/") + "[]/", (*above, reference))


def listed_once(rows: list[Property]) -> list[Property]:
    """Return properties in the order of the schema, each once, and those within equal objects below the first one."""
    once = {entry.name: entry for entry in reversed(rows)}
    ordered = [entry for entry in rows if once.get(entry.name) is entry]
    first: dict[tuple[Property, ...], str] = {}
    shown: list[Property] = []
    left_out: tuple[str, ...] = ()
    for entry in ordered:
        if entry.name.startswith(left_out):
            continue
        prefix = f"{entry.name}/"
        within = tuple(
            replace(below, name=below.name.removeprefix(prefix)) for below in ordered if below.name.startswith(prefix)
        )
        like = first.setdefault(within, entry.name) if within else entry.name
        if like != entry.name:
            left_out = (*left_out, prefix)
            entry = replace(entry, type=f"as `{like}`", allowed="", example="")
        shown.append(entry)
    return shown


INSTANT = load(SCHEMAS / "publish.json")["$defs"]["moment"]["x-allowed"]
BASE = resolved(load(SCHEMAS / "site.json")["properties"]["base_url"], SCHEMAS / "site.json")[0]["x-allowed"]
MOMENT = "a day and a time on the 24-hour clock as YYYY-MM-DD HH:MM, in the years 1000 to 2999"
LONG = {
    INSTANT: "an instant",
    BASE: "a base address",
    MOMENT: "YYYY-MM-DD HH:MM",
    "a day as YYYY-MM-DD": "YYYY-MM-DD",
    "a time of day on the 24-hour clock as HH:MM": "HH:MM",
}
"""What the page says in place of what it says once, above all lists, or of what is plain to see."""

URL = "an http or https URL"
URL_OR_TBD = f"{URL}, or TBD when not yet set"
WHOLE = f"at most {2**53 - 1:,}"
LONGEST = re.compile(r"([\d,]+) characters at most")


def type_and_bound(entry: Property) -> tuple[str, str]:
    """Return what stands behind a property's name, and what is left to say of what is allowed."""
    if entry.allowed == URL:
        return "URL", ""
    if entry.allowed == URL_OR_TBD:
        return "URL or TBD", ""
    if entry.allowed == WHOLE:
        return entry.type, ""
    if entry.type == "array" and entry.allowed == "no item twice":
        return "set", ""
    longest = LONGEST.fullmatch(entry.allowed)
    shown = "" if entry.type == "string" else entry.type
    return (f"{shown}≤{longest[1]}", "") if longest else (shown, LONG.get(entry.allowed, entry.allowed))


def line(entry: Property) -> str:
    shown, allowed = type_and_bound(entry)
    short = entry.type == "integer" and len(entry.example) < len("`1000`")
    plain = short or shown.startswith(("URL", "≤")) or allowed.startswith(("YYYY", "HH"))
    facts = (("Allowed", allowed), ("Default", entry.default), ("Example", "" if plain else entry.example))
    more = "".join(f"<br>{label}: {text}" for label, text in facts if text)
    return f"- `{entry.name}`{'*' if entry.required else ''}{f' {shown}' if shown else ''}: {entry.description}{more}\n"


LONG_EXAMPLE = 90
"""Characters of an example that is left out where the properties within have examples of their own."""


def without_long_example(entry: Property, rows: list[Property]) -> Property:
    within = any(row.name.startswith((f"{entry.name}/", f"{entry.name}[]")) and row.example for row in rows)
    return replace(entry, example="") if within and len(entry.example) > LONG_EXAMPLE else entry


def list_of(rows: list[Property]) -> str:
    """Return the properties of a document as a list; a publish window has a heading of its own."""
    rows = [without_long_example(entry, rows) for entry in rows]
    shown = [
        replace(entry, type="as [publish window](#publish-window)", allowed="", example="")
        if entry.name == "publish"
        else entry
        for entry in listed_once(rows)
        if not entry.name.startswith("publish/")
    ]
    return "".join(map(line, shown)) or "It is a list, and has no properties.\n"


def page_of_properties() -> str:
    """Return docs/reference/properties.md."""
    text = (
        "# Every property\n\n"
        "What each document may say. `*` behind a name: required. `a/b`: the property `b` within `a`. `[]`: each item "
        "of a list. A `*` as a name: any name of your own. *as* `a`: an object with the properties of `a`. Where no "
        "type is said, it is a text; *≤200*: of at most 200 characters. A *URL* begins with http or https; *TBD* is "
        "one that is not yet set. A *set* is a list in which nothing stands twice. A whole number is at most "
        f"{2**53 - 1:,}. *Default*: what holds where the property is left out.\n\n"
        f"An *instant* is {INSTANT}. A *base address* is {BASE}.\n"
    )
    for heading, file in DOCUMENTS.items():
        path = SCHEMAS / file
        rows = list(properties(load(path), path, above=("#", path.name)))
        if heading == "Site":
            for part in sorted((SCHEMAS / "site").glob("*.json")):
                rows += properties(load(part), part)
        text += f"\n## {heading}\n\n{load(path).get('description', '')}\n\n{list_of(rows)}"
    return text


# -- commands --------------------------------------------------------------------------------------------------------


def commands(group: click.Group, *names: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command that is shown, by its whole name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        elif not command.hidden:
            yield " ".join((*names, name)), command


def default_of(option: click.Option) -> str:
    if option.is_flag and option.default is not True:
        return ""  # off
    if option.is_flag:
        return "on"
    if option.default is None or callable(option.default) or not isinstance(option.default, str | int | float):
        return ""  # what follows from the machine is said in the option's sentence
    return code(option.default)


def line_of(option: click.Option, context: click.Context) -> str:
    """Return an option as a line of a list."""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag else f" {option.make_metavar(context)}"
    variable = f" (`{option.envvar}`)" if isinstance(option.envvar, str) else ""
    meaning = (option.help or "").replace("\n", " ")
    default = f" Default: {default_of(option)}." if default_of(option) else ""
    return f"- {names}{value}{variable}: {meaning}{default}\n"


def options_of(command: click.Command) -> dict[str, str]:
    """Return a command's options by their first names, each as a line of a list."""
    context = click.Context(command)
    return {
        option.opts[0]: line_of(option, context)
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
    }


MANY = 2
"""Commands that have the same option: it is listed once, in front of all commands."""


def options_of_many() -> dict[str, str]:
    """Return the options that several commands have, by their lines."""
    lines = [(line, name) for _, command in commands(main) for name, line in options_of(command).items()]
    counted = Counter(line for line, _ in lines)
    return {line: name for line, name in sorted(lines, key=lambda entry: entry[1]) if counted[line] >= MANY}


MORE = {
    "check": "../editors/check.md",
    "preview": "../editors/preview.md",
    "new": "../editors/contracts.md",
    "retire": "../editors/retire.md",
    "calendar": "../editors/schedule.md",
    "rule": "../editors/rules.md",
    "build": "../editors/releases.md",
    "publish": "../operate/delivery.md",
    "pull": "../operate/delivery.md#on-a-host-that-serves",
    "edge": "../operate/edges.md",
    "keys": "../operate/signing.md",
    "serve": "../operate/configure.md#run-by-hand",
    "maintain": "../operate/production.md#timers",
    "migrate": "../operate/database.md",
    "restore": "../operate/database.md#backup",
    "codes": "../apps/codes.md#issuing",
    "optins": "../operate/database.md#what-is-kept-about-people",
    "init": "../editors/begin.md",
    "catalog explain": "../editors/catalog.md#why-a-search-finds-what-it-finds",
    "catalog import": "foreign-feeds.md",
}
"""By command, the page that shows its use."""


def help_of(command: click.Command) -> str:
    """Return what `--help` says, as Markdown: a paragraph a line, and what click leaves as it is in a block."""
    paragraphs = re.split(r"\n{2,}", inspect.cleandoc(command.help or "").replace("\f", ""))
    shown = [
        f"```text\n{part[2:]}\n```" if part.startswith("\b\n") else " ".join(part.split()).replace("<", "\\<")
        for part in paragraphs
    ]
    return "\n\n".join(shown)


def section_of(name: str, command: click.Command, depth: int, many: dict[str, str]) -> Iterator[str]:
    """Yield the Markdown of a command, and of those below it."""
    yield f"\n{'#' * depth} shopwindow {name}\n"
    context = click.Context(command, info_name=f"shopwindow {name}")
    arguments = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    if not isinstance(command, click.Group) and arguments:
        yield f"\n`{' '.join([context.info_name or '', *arguments])}`\n"
    more = f" [More]({MORE[name]})." if name in MORE else ""
    yield f"\n{help_of(command)}{more}\n"
    lines = options_of(command)
    rows = "".join(line for line in lines.values() if line not in many)
    shared = ", ".join(f"`{name}`" for name, line in lines.items() if line in many)
    if shared:
        rows += f"- [also](#options-of-many-commands) {shared}\n"
    if rows:
        yield f"\n{rows}"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            within = command.get_command(context, below)
            assert within is not None
            yield from section_of(f"{name} {below}", within, depth + 1, many)


def page_of_commands() -> str:
    """Return docs/reference/commands.md."""
    text = (
        "# Commands\n\n"
        "`shopwindow COMMAND --help` says the same. An option comes before its environment variable, which stands "
        "in parentheses; [Configure](../operate/configure.md) has those that have no option. "
        "`--interface MODULE:NAME` (`SHOPWINDOW_INTERFACE`) stands before any command: what is published. "
        "A release's id may be shortened to 8 digits. [Exit codes](exit-codes.md) are the same for all.\n"
    )
    many = options_of_many()
    text += f"\n## Options of many commands\n\n{''.join(many)}"
    context = click.Context(main)
    for title, section in SECTIONS.items():
        text += f"\n## {title}\n"
        for name in section:
            command = main.get_command(context, name)
            assert command is not None
            text += "".join(section_of(name, command, 3, many))
    return text
