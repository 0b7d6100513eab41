"""A page for each rule of the engine: what it wants and why, a mistake, and the fix.

`check` names the rule of each problem, and the rule leads here. Families have pages of
their own, in their packages (`Interface.pages`); both become the commands' answers,
docs/editors/rules.md and the preview's pages. The engine's examples are notices: a
collection, which any interface admits (FOLDER_OF_EXAMPLES). A test checks every example: the
mistake is a problem or a warning of this very rule, and the fix is none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class RulePage:
    """What there is to know about one rule.

    ``title``: what is wrong, in a few words. ``why``: a sentence or two; a family that
    only has an example of an engine's rule leaves both out. ``wrong`` and ``right``: the
    mistake and the fix, as a part of the file ``path``: of the file that the example's
    folder has, at its end if ``right`` is not in it yet. Without a path, they are a whole YAML file of any kind.
    ``beside``: other files of the example, each with its path and text. ``advice``: what
    to do where no file shows the mistake or the fix: the rule is about names of files,
    or about sizes.
    """

    name: str
    title: str = ""
    why: str = ""
    wrong: str = ""
    right: str = ""
    path: str = ""
    beside: tuple[tuple[str, str], ...] = ()
    advice: str = ""

    @property
    def has_example(self) -> bool:
        """Whether the page shows a mistake: leaving something out may be one."""
        return bool(self.wrong or self.right)


Pages = Mapping[str, RulePage]
"""Pages by the names of their rules, in their order."""


def by_name(pages: Iterable[RulePage]) -> Pages:
    """Return the engine's pages and those of families, by name.

    A family's page of an engine's rule takes its place. Where it has no title, it is an
    example in the family's documents, and the engine's words stay.
    """
    by_rule = {page.name: page for page in ENGINE_PAGES}
    for page in pages:
        by_rule[page.name] = page if page.title else _shown_by(by_rule[page.name], page)
    return dict(sorted(by_rule.items()))


def _shown_by(page: RulePage, example: RulePage) -> RulePage:
    return replace(example, title=page.title, why=page.why)


def document(pages: Pages) -> str:
    """Return all pages as one Markdown document: docs/editors/rules.md."""
    files = "\n\n".join(
        f"`{path}`:\n\n{_block(text, path)}"
        for path, text in FOLDER_OF_EXAMPLES.items()
    )
    parts = (_INTRODUCTION, *map(markdown, pages.values()), _FOLDER_SECTION, files)
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = """\
# Rules

What each rule of `shopwindow check` wants, why, a mistake, and the fix. `shopwindow rule NAME` prints one of these
pages, and the preview leads from each problem to its page. `shopwindow rule --format markdown` writes this file.

Rules that hold for documents of every kind are shown with notices, a collection that
[the end of this page](#the-notices-of-the-examples) has in full."""

_FOLDER_SECTION = """\
## The notices of the examples

A content folder with one collection. Examples in `notices/`, `collections.yaml` and `schemas/` are parts of it."""


def markdown(page: RulePage, heading: str = "##") -> str:
    """Return a page as Markdown, with the rule's name as its heading."""
    parts = [f"{heading} {page.name}", f"{page.title}. {page.why}"]
    for path, text in page.beside:
        parts += [f"With `{path}`:", _block(text, path)]
    where = f" in `{page.path}`" if page.path else ""
    for word, text in texts(page):
        parts.append(f"{word}{where}:" if text else f"{word}{where}: without it.")
        parts += [_block(text, page.path)] if text else []
    parts += [f"What to do: {page.advice}"] if page.advice else []
    return "\n\n".join(parts)


def texts(page: RulePage) -> list[tuple[str, str]]:
    """Return the mistake and the fix, each with its heading; empty text: without it.

    Where the fix is no text, but advice, the mistake stands alone.
    """
    if not page.has_example:
        return []
    right = [("Right", page.right)] if page.right or not page.advice else []
    return [("Wrong", page.wrong), *right]


def remark(page: RulePage) -> str:
    """Return what a reader has to know about the example of a single page; "" if nothing."""
    return REMARK if page.path.startswith("notices") else ""


def _block(text: str, path: str) -> str:
    language = "json" if path.endswith((".json", ".jsonl")) else "yaml"
    return f"```{language}\n{text.rstrip()}\n```"


FOLDER_OF_EXAMPLES: Mapping[str, str] = {
    "site.yaml": """\
base_url: https://api.shop.example
order_base_url: https://orders.shop.example
time_zone: America/New_York
lifetimes:
  default: {maxAge: 300}
names:
  brand: Your Shop
""",
    "collections.yaml": """\
notice:
  folder: notices
  schema: notice.json
  id: noticeId
  path: v1/notices
  filters: [tone]
""",
    "schemas/notice.json": """\
{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "properties": {
    "noticeId": {"type": "integer"},
    "title": {"type": "string", "minLength": 1, "maxLength": 40},
    "day": {"type": "string", "format": "date"},
    "tone": {"type": "string", "enum": ["calm", "urgent"]},
    "draft": {"type": "boolean", "const": false},
    "width": {
      "type": "integer",
      "exclusiveMinimum": 0,
      "exclusiveMaximum": 100,
      "multipleOf": 10
    },
    "screens": {
      "type": "array",
      "items": {"type": "string"},
      "minItems": 1,
      "maxItems": 3,
      "uniqueItems": true
    },
    "languages": {
      "type": "array",
      "items": {"type": "string"},
      "minItems": 1,
      "contains": {"const": "en"}
    },
    "colors": {
      "type": "array",
      "items": {"type": "string"},
      "minItems": 1,
      "contains": {"pattern": "^dark "},
      "minContains": 2,
      "maxContains": 3
    },
    "texts": {
      "type": "object",
      "additionalProperties": {"type": "string"},
      "minProperties": 1,
      "maxProperties": 2
    },
    "flags": {
      "type": "object",
      "properties": {"accessible": {"type": "boolean"}},
      "additionalProperties": {"type": "boolean"}
    },
    "icon": {"type": "string", "not": {"const": "none"}},
    "place": {
      "type": "string",
      "oneOf": [{"const": "hall"}, {"pattern": "^room [0-9]+$"}]
    },
    "contact": {
      "type": "string",
      "anyOf": [{"pattern": "@"}, {"pattern": "^[0-9-]+$"}]
    },
    "link": {"type": "string"},
    "linkText": {"type": "string"}
  },
  "required": ["noticeId", "title"],
  "dependentRequired": {"link": ["linkText"]},
  "additionalProperties": false
}
""",
    "notices/spring.yaml": """\
noticeId: 1
title: Spring opening
day: 2027-05-01
tone: calm
publish:
  until: 2027-05-02
""",
}
"""The files of a content folder that has one collection, of notices. The engine knows no
kind of document, and any interface admits a collection.
"""

REMARK = "Notices stand for documents of any kind."

_SITE, _COLLECTIONS = "site.yaml", "collections.yaml"
_SCHEMA, _NOTICE = "schemas/notice.json", "notices/spring.yaml"
_LATE = "notices/late.yaml"

ENGINE_PAGES = (
    # -- YAML
    RulePage(
        "yaml.syntax",
        "The text is no YAML",
        "YAML is read line by line: `key: value`, with the same indentation for the keys"
        " of one object. The place is where the text stops making sense.",
        "name: Open House\nfinish 18:00\n",
        'name: Open House\nfinish: "18:00"\n',
    ),
    RulePage(
        "yaml.quote",
        "A quote opens and is not closed",
        "Everything up to the next quote of that sort is text then, often many lines."
        " What follows means nothing, so this is the one problem of the file.",
        'name: "Open House\nplace: "Main Street"\n',
        'name: "Open House"\nplace: "Main Street"\n',
    ),
    RulePage(
        "yaml.duplicate",
        "A key stands twice in one object",
        "Only one of the values could count, and nobody can see which. Where the first"
        " key of an entry stands twice, its `- ` is missing.",
        "name: Open House\nname: Late Opening\n",
        "name: Open House\n",
    ),
    RulePage(
        "yaml.strict",
        "Some readers of YAML read this otherwise",
        "It would be another value, or no YAML, to the next program that reads the file.",
        "name: Open House# in spring\nplace: [a]# here\n",
        "name: Open House\nplace: [a]  # here\n",
    ),
    RulePage(
        "yaml.key",
        "A key is no text",
        "Keys are texts. A number or true needs quotes; text that begins with {{ does, too.",
        "1: first\n",
        '"1": first\n',
    ),
    RulePage(
        "yaml.number",
        "A number is too large",
        "Whole numbers of more than 18 digits lose digits on their way to phones."
        " A number that nobody calculates with, such as a card's, is text.",
        "number: 1234567890123456789\n",
        'number: "1234567890123456789"\n',
    ),
    RulePage(
        "yaml.alias",
        "An alias has no anchor before it",
        "`*name` repeats what `&name` marks further up. Text that begins with * needs"
        " quotes. Aliases of aliases may not unfold without end.",
        "note: *new\n",
        'note: "*new"\n',
    ),
    RulePage(
        "yaml.tag",
        "A tag stands before a value",
        "Tags such as !!int change what a value is, and are not read here. Text that"
        " begins with ! needs quotes.",
        "note: !new\n",
        'note: "!new"\n',
    ),
    RulePage(
        "yaml.second",
        "A second document begins in the file",
        "`---` ends a document. Several documents are a list instead.",
        "name: a\n---\nname: b\n",
        "- name: a\n- name: b\n",
    ),
    RulePage(
        "yaml.empty",
        "The file holds no document",
        "A file with nothing but comments is most often one that was not finished.",
        "# Open House\n",
        "name: Open House\n",
    ),
    RulePage(
        "yaml.character",
        "A character that YAML does not admit",
        "It cannot be seen, and came from another program. In double quotes it can be"
        " written as an escape.",
        "name: Open\u2028House\n",
        "name: Open House\n",
    ),
    RulePage(
        "yaml.encoding",
        "The file is not UTF-8",
        "Save it as UTF-8 in your editor.",
        advice="Choose UTF-8 where your editor saves the file.",
    ),
    RulePage(
        "yaml.depth",
        "Lists and objects are nested too deeply",
        "No document needs more than 64 levels.",
        "a: " + "[" * 66 + "]" * 66 + "\n",
        "a: []\n",
    ),
    RulePage(
        "yaml.surrogate",
        "Half a character",
        "JSON writes some characters in two halves, \\ud83d\\ude00. One half is none.",
        '{"noticeId": 2, "title": "Open \\ud83d"}\n',
        '{"noticeId": 2, "title": "Open \\ud83d\\ude00"}\n',
        "notices.jsonl",
    ),
    # -- schemas
    RulePage(
        "schema.additionalProperties",
        "A key is not known here",
        "It is misspelled, or stands in the wrong object. Nobody would read it.",
        "time_zones: America/New_York",
        "time_zone: America/New_York",
        _SITE,
    ),
    RulePage(
        "schema.required",
        "A key is missing",
        "Apps rely on it. The problem names what belongs there.",
        "",
        "time_zone: America/New_York\n",
        _SITE,
    ),
    RulePage(
        "schema.type",
        "The value is of another type",
        "A number, a text, a list and an object are different things to an app."
        " The message names the right form with your own value.",
        "time_zone: [America/New_York]",
        "time_zone: America/New_York",
        _SITE,
    ),
    RulePage(
        "schema.pattern",
        "The text does not have the right form",
        "Apps and programs take it apart, so it must be written as they expect it.",
        "base_url: api.shop.example",
        "base_url: https://api.shop.example",
        _SITE,
    ),
    RulePage(
        "schema.maximum",
        "The number is too large",
        "The limit stands in the message.",
        "default: {maxAge: 99999999999}",
        "default: {maxAge: 300}",
        _SITE,
    ),
    RulePage(
        "schema.minimum",
        "The number is too small",
        "The limit stands in the message.",
        "default: {maxAge: -1}",
        "default: {maxAge: 300}",
        _SITE,
    ),
    RulePage(
        "schema.fraction",
        "A whole number has a fraction",
        "7.0 is a whole number to a person, and not to every app.",
        "default: {maxAge: 300.0}",
        "default: {maxAge: 300}",
        _SITE,
    ),
    RulePage(
        "schema.enum",
        "The value is none of those allowed",
        "The message lists them.",
        "tone: loud",
        "tone: calm",
        _NOTICE,
    ),
    RulePage(
        "schema.const",
        "Only one value may stand here",
        "The message names it.",
        "noticeId: 2\ntitle: Late opening\ndraft: true\n",
        "noticeId: 2\ntitle: Late opening\ndraft: false\n",
        _LATE,
    ),
    RulePage(
        "schema.format",
        "The text does not have the right form",
        "It is a day, a time or an address of a certain form.",
        "day: 2027-05",
        "day: 2027-05-01",
        _NOTICE,
    ),
    RulePage(
        "schema.minLength",
        "The text is too short",
        "Where nothing shall be said, leave the key out.",
        'title: ""',
        "title: Spring opening",
        _NOTICE,
    ),
    RulePage(
        "schema.maxLength",
        "The text is too long",
        "It would not fit where apps show it.",
        "title: Spring opening, with coffee, cake and a band",
        "title: Spring opening",
        _NOTICE,
    ),
    RulePage(
        "schema.minItems",
        "The list is too short",
        "Where it would be empty, leave the key out.",
        "noticeId: 2\ntitle: Late opening\nscreens: []\n",
        "noticeId: 2\ntitle: Late opening\nscreens: [home]\n",
        _LATE,
    ),
    RulePage(
        "schema.maxItems",
        "The list is too long",
        "The limit stands in the message.",
        "noticeId: 2\ntitle: Late opening\nscreens: [home, map, help, news]\n",
        "noticeId: 2\ntitle: Late opening\nscreens: [home, map, help]\n",
        _LATE,
    ),
    RulePage(
        "schema.uniqueItems",
        "An entry stands in the list twice",
        "Delete one of the two.",
        "noticeId: 2\ntitle: Late opening\nscreens: [home, map, home]\n",
        "noticeId: 2\ntitle: Late opening\nscreens: [home, map]\n",
        _LATE,
    ),
    RulePage(
        "schema.minProperties",
        "The object has too few keys",
        "The message says how many it needs.",
        "noticeId: 2\ntitle: Late opening\ntexts: {}\n",
        "noticeId: 2\ntitle: Late opening\ntexts: {en: Welcome}\n",
        _LATE,
    ),
    RulePage(
        "schema.maxProperties",
        "The object has too many keys",
        "The message says how many it may have.",
        "noticeId: 2\n"
        "title: Late opening\n"
        "texts: {en: Welcome, es: Bienvenidos, fr: Bienvenue}\n",
        "noticeId: 2\ntitle: Late opening\ntexts: {en: Welcome, es: Bienvenidos}\n",
        _LATE,
    ),
    RulePage(
        "schema.exclusiveMinimum",
        "The number is too small",
        "It must be larger than the limit.",
        "noticeId: 2\ntitle: Late opening\nwidth: 0\n",
        "noticeId: 2\ntitle: Late opening\nwidth: 10\n",
        _LATE,
    ),
    RulePage(
        "schema.exclusiveMaximum",
        "The number is too large",
        "It must be less than the limit.",
        "noticeId: 2\ntitle: Late opening\nwidth: 100\n",
        "noticeId: 2\ntitle: Late opening\nwidth: 90\n",
        _LATE,
    ),
    RulePage(
        "schema.multipleOf",
        "The number is between two steps",
        "The schema allows only multiples of a number.",
        "noticeId: 2\ntitle: Late opening\nwidth: 25\n",
        "noticeId: 2\ntitle: Late opening\nwidth: 20\n",
        _LATE,
    ),
    RulePage(
        "schema.dependentRequired",
        "A key needs another one",
        "One key has no meaning without the other.",
        "noticeId: 2\ntitle: Late opening\nlink: https://www.shop.example/spring\n",
        "noticeId: 2\n"
        "title: Late opening\n"
        "link: https://www.shop.example/spring\n"
        "linkText: Come and see\n",
        _LATE,
    ),
    RulePage(
        "schema.oneOf",
        "The value has none of several forms, or two at once",
        "The message describes the forms.",
        "noticeId: 2\ntitle: Late opening\nplace: cellar\n",
        "noticeId: 2\ntitle: Late opening\nplace: room 7\n",
        _LATE,
    ),
    RulePage(
        "schema.anyOf",
        "The value has none of several forms",
        "The message describes the forms.",
        "noticeId: 2\ntitle: Late opening\ncontact: Anna\n",
        "noticeId: 2\ntitle: Late opening\ncontact: anna@shop.example\n",
        _LATE,
    ),
    RulePage(
        "schema.not",
        "The value is one that may not stand here",
        "The message says what is allowed.",
        "noticeId: 2\ntitle: Late opening\nicon: none\n",
        "noticeId: 2\ntitle: Late opening\nicon: flower\n",
        _LATE,
    ),
    RulePage(
        "schema.contains",
        "The list lacks an entry that it must have",
        "The message describes it.",
        "noticeId: 2\ntitle: Late opening\nlanguages: [es, fr]\n",
        "noticeId: 2\ntitle: Late opening\nlanguages: [en, es, fr]\n",
        _LATE,
    ),
    RulePage(
        "schema.minContains",
        "The list has too few entries of a sort",
        "The message describes them.",
        "noticeId: 2\ntitle: Late opening\ncolors: [dark red, white]\n",
        "noticeId: 2\ntitle: Late opening\ncolors: [dark red, dark blue, white]\n",
        _LATE,
    ),
    RulePage(
        "schema.maxContains",
        "The list has too many entries of a sort",
        "The message describes them.",
        "noticeId: 2\n"
        "title: Late opening\n"
        "colors: [dark red, dark blue, dark green, dark gray]\n",
        "noticeId: 2\ntitle: Late opening\ncolors: [dark red, dark blue, dark green]\n",
        _LATE,
    ),
    RulePage(
        "schema.false",
        "Nothing may stand here",
        "The schema has closed this place.",
        advice="Delete it.",
    ),
    RulePage(
        "schema.other",
        "The value does not satisfy its schema",
        "The words are the validator's own.",
        advice="Compare the value with the schema that the file belongs to.",
    ),
    RulePage(
        "schema.budget",
        "There is more to look at than is explained at once",
        "Mend what is reported, and check again.",
        advice="Mend what is reported, and check again.",
    ),
    # -- schemas of the content folder
    RulePage(
        "schema.file",
        "A schema of the content folder cannot be read",
        "It must be one JSON object.",
        '"type": "object"\n  "properties": {\n    "noticeId"',
        '"type": "object",\n  "properties": {\n    "noticeId"',
        _SCHEMA,
    ),
    RulePage(
        "schema.keyword",
        "A schema has a keyword that means nothing here",
        "It would check nothing: its value is none that JSON Schema knows, or it is not"
        " read here.",
        '"minLength": "1", "maxLength"',
        '"minLength": 1, "maxLength"',
        _SCHEMA,
    ),
    RulePage(
        "schema.dialect",
        "A schema is written in another version of JSON Schema",
        "Only draft 2020-12 is read.",
        '"$schema": "http://json-schema.org/draft-07/schema#"',
        '"$schema": "https://json-schema.org/draft/2020-12/schema"',
        _SCHEMA,
    ),
    RulePage(
        "schema.ref",
        "A $ref leads nowhere, or back to itself",
        "Name a schema of the folder, or a part of this one.",
        '"noticeId": {"$ref": "number.json"}',
        '"noticeId": {"type": "integer"}',
        _SCHEMA,
    ),
    RulePage(
        "schema.size",
        "A schema is too large, or looks at one value too often",
        "It would make every check slow.",
        advice="Split the schema, or look at each value in one place.",
    ),
    # -- the folder
    RulePage(
        "tree.unclaimed",
        "No kind of document has this file or folder",
        "It would be read by nobody. Its name is misspelled, or it belongs elsewhere.",
        "noticeId: 2\ntitle: Late opening\n",
        path="notcies/late.yaml",
        advice="Rename the folder: `notices/`.",
    ),
    RulePage(
        "tree.site",
        "site.yaml is missing",
        "Every content folder has one: `shopwindow init` writes it.",
        advice="Write one with `shopwindow init`, or copy that of another folder.",
    ),
    RulePage(
        "tree.kind",
        "A document stands in the folder of another kind",
        "The folder says what a document is.",
        "placeId: 7\nplace: hall\n",
        path="notices/hall.yaml",
        beside=(
            (
                _COLLECTIONS,
                """\
notice:
  folder: notices
  schema: notice.json
  id: noticeId
  path: v1/notices
place:
  folder: places
  schema: place.json
  id: placeId
  path: v1/places
""",
            ),
            (
                "schemas/place.json",
                """\
{
  "type": "object",
  "properties": {
    "placeId": {"type": "integer"},
    "place": {"type": "string"}
  },
  "required": ["placeId", "place"],
  "additionalProperties": false
}
""",
            ),
        ),
        advice="Move the file: to `places/hall.yaml`.",
    ),
    RulePage(
        "tree.size",
        "A file is too large",
        "Large sets of documents are feeds of a document a line: .jsonl.",
        advice="Split the file, or make it a feed with a document a line.",
    ),
    RulePage(
        "tree.unreadable",
        "A file cannot be read",
        "The message has the system's reason, such as missing permission.",
        advice="Give yourself permission to read it: `chmod u+r FILE`.",
    ),
    RulePage(
        "tree.link",
        "A link leads out of the folder, or nowhere",
        "A release must not depend on other folders.",
        advice="Put the file itself in the place of the link.",
    ),
    RulePage(
        "tree.name",
        "A file's name is not UTF-8",
        "Give it another name.",
        advice="Rename the file, with letters, digits and hyphens alone.",
    ),
    RulePage(
        "tree.depth",
        "Folders are nested too deeply",
        "Move the documents further up.",
        advice="Move the documents further up: eight folders are enough.",
    ),
    RulePage(
        "tree.file",
        "This is no file",
        "A device, a socket or a pipe holds no document.",
        advice="Delete it, or put a regular file in its place.",
    ),
    RulePage(
        "tree.sparse",
        "A file has holes",
        "It was not copied completely.",
        advice="Copy the file again, from where it is complete.",
    ),
    RulePage(
        "feed.syntax",
        "A line of a feed is no JSON",
        "A feed has one JSON object a line.",
        '{"noticeId": 2, "title": "Late opening"\n',
        '{"noticeId": 2, "title": "Late opening"}\n',
        "notices.jsonl",
    ),
    RulePage(
        "feed.line",
        "A line of a feed is too long",
        "One document has at most 1 MiB.",
        advice="Look for a missing line end between two documents.",
    ),
    RulePage(
        "feed.compressed",
        "A compressed feed cannot be unpacked",
        "It was cut off or damaged on its way, or holds more than --max-unpacked allows.",
        advice="Compress and copy the feed again; `gzip -t FILE` says whether it is intact.",
    ),
    # -- documents
    RulePage(
        "expression",
        "An expression cannot be evaluated",
        "`{{ name }}` stands for a name of site.yaml. A misspelled name in many places"
        " is one problem.",
        'title: "{{ brnd }} opens in spring"',
        "title: Spring opening",
        _NOTICE,
    ),
    RulePage(
        "site.name",
        "A name is taken",
        "Expressions use it for something else.",
        "  brand: Your Shop\n  base_url: x",
        "  brand: Your Shop",
        _SITE,
    ),
    RulePage(
        "site.lifetime",
        "No operation has this name",
        "A lifetime counts for an operation; `default` for all others.",
        "  default: {maxAge: 300}\n  notcie: {maxAge: 60}",
        "  default: {maxAge: 300}",
        _SITE,
    ),
    RulePage(
        "time.zone",
        "The time zone does not exist",
        "Zones are named as the IANA database does: a continent and a town.",
        "time_zone: America/NewYork",
        "time_zone: America/New_York",
        _SITE,
    ),
    RulePage(
        "time.exists",
        "A day or a time that does not exist",
        "The calendar has no such day, or clocks skip that hour in spring.",
        "until: 2027-02-30",
        "until: 2027-05-02",
        _NOTICE,
    ),
    RulePage(
        "window.order",
        "A publish window ends before it begins",
        "The document would never be shown.",
        "publish:\n  from: 2027-06-01\n",
        "publish:\n",
        _NOTICE,
    ),
    RulePage(
        "unique",
        "Two documents have the same number",
        "Apps and other documents could not tell them apart. They may share it if their"
        " publish windows do not overlap.",
        "noticeId: 1\ntitle: Late opening\n",
        "noticeId: 2\ntitle: Late opening\n",
        _LATE,
    ),
    RulePage(
        "reference",
        "A document names another that does not exist",
        "It was deleted, or its number is mistyped. A deleted document is one problem,"
        " however many places name it.",
        advice="Correct the number, or write the document that it names.",
    ),
    RulePage(
        "reference.live",
        "A document is live while what it names is not",
        "Apps would show something that they do not know. Its publish window lies within"
        " those of what it names.",
        advice="Narrow its publish window, or widen that of what it names.",
    ),
    RulePage(
        "file.name",
        "A file does not have the name of its document",
        "Documents of this kind are found by their file's name.",
        advice="Rename the file as the message says.",
    ),
    # -- contracts
    RulePage(
        "contract.request",
        "A contract names a request that the content does not answer",
        "A contract holds reads alone. What writes, or needs the running service, is no"
        " matter of content.",
        advice="Name a read by its path and query, as `shopwindow show` takes it.",
    ),
    RulePage(
        "contract.path",
        "A contract reads what no answer has",
        "The path is mistyped, or the interface has no such field. Nobody could keep the"
        " promise.",
        advice="Look at the answer with `shopwindow show`, and write the way to the value.",
    ),
    RulePage(
        "contract.version",
        "A contract is of a version that is not supported",
        "Nobody is held to it: the version has come to its end, or is mistyped. This is a"
        " warning.",
        advice="Correct the version, or delete the file.",
    ),
    RulePage(
        "contract.gone",
        "A value is gone that a shipped app needs",
        "Phones with this version would fail. The contract says which value, and the"
        " message where it was.",
        advice="Put the value back, or wait until no such version is supported.",
    ),
    RulePage(
        "contract.type",
        "A value is not of the type that a shipped app reads",
        "An app that reads a number stops at a text.",
        advice="Write a value of that type.",
    ),
    RulePage(
        "contract.enum",
        "A shipped app does not know a value",
        "It was built when there were only the values that its contract lists.",
        advice="Write one that it knows, or wait until no such version is supported.",
    ),
    RulePage(
        "contract.refused",
        "A request that a shipped app sends is refused",
        "What it names does not exist any more, or is not live.",
        advice="Bring back what the request names; or delete the request from the"
        " contract, if the app sends it no more.",
    ),
    RulePage(
        "text.xml",
        "A character that XML cannot hold",
        "Apps may ask for XML. The character cannot be seen; delete it.",
        '  brand: "Your\\u0001 Shop"',
        "  brand: Your Shop",
        _SITE,
    ),
    RulePage(
        "extends.base",
        "A base is no object",
        "A file whose name begins with _ is merged with others, key by key.",
        advice="Write its keys without `- ` before them.",
    ),
    RulePage(
        "extends.cycle",
        "Two files build on each other",
        "Nobody could say which of them comes first.",
        advice="Delete the `extends` of one of them.",
    ),
    RulePage(
        "extends.missing",
        "The base does not exist",
        "`extends` names a file of the same folder whose name begins with _.",
        advice="Name a file that is there, or write it.",
    ),
    RulePage(
        "extends.forgotten",
        "A document lacks what a base has, and does not build on it",
        "The line with `extends` was lost.",
        advice="Write the line again.",
    ),
    RulePage(
        "extends.null",
        "A null removes nothing",
        "null removes what the base says. The base does not say this, so the key is"
        " misspelled, or the line is left over.",
        advice="Correct the key, or delete the line.",
    ),
    RulePage(
        "extends.unused",
        "Nothing builds on this base",
        "What stands in it is shown nowhere.",
        advice="Delete it, or name it in `extends`.",
    ),
    RulePage(
        "collection.folder",
        "The folder of a collection is taken or missing",
        "Each collection has a folder of its own.",
        "folder: schemas",
        "folder: notices",
        _COLLECTIONS,
    ),
    RulePage(
        "collection.id",
        "The id of a collection's documents cannot identify them",
        "It is a required property: a text or a whole number.",
        "noticeId: -1",
        "noticeId: 1",
        _NOTICE,
    ),
    RulePage(
        "collection.name",
        "The name of a collection is taken",
        "Another kind has it.",
        "site:\n  folder",
        "notice:\n  folder",
        _COLLECTIONS,
    ),
    RulePage(
        "collection.path",
        "The path of a collection is taken",
        "Another operation answers there.",
        """\
place:
  folder: places
  schema: notice.json
  id: noticeId
  path: v1/notices
""",
        """\
place:
  folder: places
  schema: notice.json
  id: noticeId
  path: v1/places
""",
        _COLLECTIONS,
    ),
    RulePage(
        "collection.property",
        "A collection names a property that its schema lacks",
        "Its schema has every property by which it is filtered and ordered.",
        "filters: [tune]",
        "filters: [tone]",
        _COLLECTIONS,
    ),
    RulePage(
        "collection.schema",
        "A collection's schema is missing",
        "It stands in schemas/ of the content folder.",
        "schema: notices.json",
        "schema: notice.json",
        _COLLECTIONS,
    ),
    RulePage(
        "collection.shape",
        "A collection's schema describes no documents",
        "It describes an object with properties.",
        '"noticeId": {}',
        '"noticeId": {"type": "integer"}',
        _SCHEMA,
    ),
    RulePage(
        "group.empty",
        "Nothing is in a group",
        "A group without members selects nothing.",
        advice="Name values that some document has together, or delete the group.",
    ),
    RulePage(
        "group.value",
        "A group names a value that nothing has",
        "It would select nothing.",
        advice="Name a value that some document has: the message lists them.",
    ),
    RulePage(
        "template",
        "A template cannot be rendered",
        "It would fail when a mail is sent.",
        advice="Mend the template at the line that the message names; `shopwindow mail` renders it.",
    ),
    # -- warnings
    RulePage(
        "text.quotes",
        "Curly quotes around a value, or in an address",
        "A word processor made them of straight ones, and apps show them. This is a warning.",
        "title: “Spring opening”",
        "title: Spring opening",
        _NOTICE,
    ),
    RulePage(
        "text.invisible",
        "A text holds a character that nobody sees",
        "It was pasted along with the text. This is a warning.",
        "title: Spring\u200b opening  # U+200B stands behind Spring",
        "title: Spring opening",
        _NOTICE,
    ),
    RulePage(
        "text.comment",
        "A text is cut at a #",
        "What follows a space and # is a comment, so apps get what stands before it. This is a warning.",
        "noticeId: 2\ntitle: Spring #1\n",
        'noticeId: 2\ntitle: "Spring #1"\n',
        _LATE,
    ),
    RulePage(
        "text.anchor",
        "A text that YAML takes for an anchor",
        "What begins with & is a mark, and is not shown. This is a warning.",
        "noticeId: 2\ntitle: &more Spring\n",
        'noticeId: 2\ntitle: "&more Spring"\n',
        _LATE,
    ),
    RulePage(
        "name.near",
        "A name is like one that other documents have",
        "It is probably misspelled. This is a warning.",
        "noticeId: 2\ntitle: Late opening\nflags: {accesible: true}\n",
        "noticeId: 2\ntitle: Late opening\nflags: {accessible: true}\n",
        _LATE,
    ),
    RulePage(
        "against.unread",
        "What --against names cannot be read",
        "Nothing is compared with it. This is a warning.",
        advice="Name a release or revision that has no problems itself.",
    ),
    RulePage(
        "window.past",
        "A publish window is over",
        "The document is never shown again. This is a warning.",
        "until: 2017-05-02",
        "until: 2027-05-02",
        _NOTICE,
    ),
    RulePage(
        "allow.unused",
        "A comment allows a warning that is not there",
        "Delete the comment. This is a warning.",
        "title: Spring opening  # shopwindow: allow text.quotes",
        "title: Spring opening",
        _NOTICE,
    ),
)
"""The engine's pages. Families show those in their documents that need a kind which no
collection can be: layered, grouped, referred to.
"""
