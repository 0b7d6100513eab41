"""A page for each rule of the engine: what it wants and why, a mistake, and the fix.

`check` names the rule of each problem, and the rule leads here. Families have pages of
their own, in their packages (`Interface.pages`); both become the commands' answers,
docs/editors/rules.md and the preview's pages. The engine's examples are notices: a
collection, which any interface admits (FOLDER). A test checks every example: the
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
    by_rule = {page.name: page for page in PAGES}
    for page in pages:
        by_rule[page.name] = page if page.title else _shown_by(by_rule[page.name], page)
    return dict(sorted(by_rule.items()))


def _shown_by(page: RulePage, example: RulePage) -> RulePage:
    return replace(example, title=page.title, why=page.why)


def document(pages: Pages) -> str:
    """Return all pages as one Markdown document: docs/editors/rules.md."""
    files = "\n\n".join(
        f"`{path}`:\n\n{_block(text, path)}" for path, text in FOLDER.items()
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


FOLDER: Mapping[str, str] = {
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

_Y = RulePage
REMARK = "Notices stand for documents of any kind."

_SITE, _COLLECTIONS = "site.yaml", "collections.yaml"
_SCHEMA, _NOTICE = "schemas/notice.json", "notices/spring.yaml"
_LATE = "notices/late.yaml"

PAGES = (
    # -- YAML
    _Y(
        "yaml.syntax",
        "The text is no YAML",
        "YAML is read line by line: `key: value`, with the same indentation for the keys"
        " of one object. The place is where the text stops making sense.",
        "name: Open House\nfinish 18:00\n",
        'name: Open House\nfinish: "18:00"\n',
    ),
    _Y(
        "yaml.quote",
        "A quote opens and is not closed",
        "Everything up to the next quote of that sort is text then, often many lines."
        " What follows means nothing, so this is the one problem of the file.",
        'name: "Open House\nplace: "Main Street"\n',
        'name: "Open House"\nplace: "Main Street"\n',
    ),
    _Y(
        "yaml.duplicate",
        "A key stands twice in one object",
        "Only one of the values could count, and nobody can see which. Where the first"
        " key of an entry stands twice, its `- ` is missing.",
        "name: Open House\nname: Late Opening\n",
        "name: Open House\n",
    ),
    _Y(
        "yaml.strict",
        "Some readers of YAML read this otherwise",
        "It would be another value, or no YAML, to the next program that reads the file.",
        "name: Open House# in spring\nplace: [a]# here\n",
        "name: Open House\nplace: [a]  # here\n",
    ),
    _Y(
        "yaml.key",
        "A key is no text",
        "Keys are texts. A number or true needs quotes; text that begins with {{ does, too.",
        "1: first\n",
        '"1": first\n',
    ),
    _Y(
        "yaml.number",
        "A number is too large",
        "Whole numbers of more than 18 digits lose digits on their way to phones."
        " A number that nobody calculates with, such as a card's, is text.",
        "number: 1234567890123456789\n",
        'number: "1234567890123456789"\n',
    ),
    _Y(
        "yaml.alias",
        "An alias has no anchor before it",
        "`*name` repeats what `&name` marks further up. Text that begins with * needs"
        " quotes. Aliases of aliases may not unfold without end.",
        "note: *new\n",
        'note: "*new"\n',
    ),
    _Y(
        "yaml.tag",
        "A tag stands before a value",
        "Tags such as !!int change what a value is, and are not read here. Text that"
        " begins with ! needs quotes.",
        "note: !new\n",
        'note: "!new"\n',
    ),
    _Y(
        "yaml.second",
        "A second document begins in the file",
        "`---` ends a document. Several documents are a list instead.",
        "name: a\n---\nname: b\n",
        "- name: a\n- name: b\n",
    ),
    _Y(
        "yaml.empty",
        "The file holds no document",
        "A file with nothing but comments is most often one that was not finished.",
        "# Open House\n",
        "name: Open House\n",
    ),
    _Y(
        "yaml.character",
        "A character that YAML does not admit",
        "It cannot be seen, and came from another program. In double quotes it can be"
        " written as an escape.",
        "name: Open\u2028House\n",
        "name: Open House\n",
    ),
    _Y(
        "yaml.encoding",
        "The file is not UTF-8",
        "Save it as UTF-8 in your editor.",
        advice="Choose UTF-8 where your editor saves the file.",
    ),
    _Y(
        "yaml.depth",
        "Lists and objects are nested too deeply",
        "No document needs more than 64 levels.",
        "a: " + "[" * 66 + "]" * 66 + "\n",
        "a: []\n",
    ),
    _Y(
        "yaml.surrogate",
        "Half a character",
        "JSON writes some characters in two halves, \\ud83d\\ude00. One half is none.",
        '{"noticeId": 2, "title": "Open \\ud83d"}\n',
        '{"noticeId": 2, "title": "Open \\ud83d\\ude00"}\n',
        "notices.jsonl",
    ),
    # -- schemas
    _Y(
        "schema.additionalProperties",
        "A key is not known here",
        "It is misspelled, or stands in the wrong object. Nobody would read it.",
        "time_zones: America/New_York",
        "time_zone: America/New_York",
        _SITE,
    ),
    _Y(
        "schema.required",
        "A key is missing",
        "Apps rely on it. The problem names what belongs there.",
        "",
        "time_zone: America/New_York\n",
        _SITE,
    ),
    _Y(
        "schema.type",
        "The value is of another type",
        "A number, a text, a list and an object are different things to an app."
        " The message names the right form with your own value.",
        "time_zone: [America/New_York]",
        "time_zone: America/New_York",
        _SITE,
    ),
    _Y(
        "schema.pattern",
        "The text does not have the right form",
        "Apps and programs take it apart, so it must be written as they expect it.",
        "base_url: api.shop.example",
        "base_url: https://api.shop.example",
        _SITE,
    ),
    _Y(
        "schema.maximum",
        "The number is too large",
        "The limit stands in the message.",
        "default: {maxAge: 99999999999}",
        "default: {maxAge: 300}",
        _SITE,
    ),
    _Y(
        "schema.minimum",
        "The number is too small",
        "The limit stands in the message.",
        "default: {maxAge: -1}",
        "default: {maxAge: 300}",
        _SITE,
    ),
    _Y(
        "schema.fraction",
        "A whole number has a fraction",
        "7.0 is a whole number to a person, and not to every app.",
        "default: {maxAge: 300.0}",
        "default: {maxAge: 300}",
        _SITE,
    ),
    _Y(
        "schema.enum",
        "The value is none of those allowed",
        "The message lists them.",
        "tone: loud",
        "tone: calm",
        _NOTICE,
    ),
    _Y(
        "schema.const",
        "Only one value may stand here",
        "The message names it.",
        "noticeId: 2\ntitle: Late opening\ndraft: true\n",
        "noticeId: 2\ntitle: Late opening\ndraft: false\n",
        _LATE,
    ),
    _Y(
        "schema.format",
        "The text does not have the right form",
        "It is a day, a time or an address of a certain form.",
        "day: 2027-05",
        "day: 2027-05-01",
        _NOTICE,
    ),
    _Y(
        "schema.minLength",
        "The text is too short",
        "Where nothing shall be said, leave the key out.",
        'title: ""',
        "title: Spring opening",
        _NOTICE,
    ),
    _Y(
        "schema.maxLength",
        "The text is too long",
        "It would not fit where apps show it.",
        "title: Spring opening, with coffee, cake and a band",
        "title: Spring opening",
        _NOTICE,
    ),
    _Y(
        "schema.minItems",
        "The list is too short",
        "Where it would be empty, leave the key out.",
        "noticeId: 2\ntitle: Late opening\nscreens: []\n",
        "noticeId: 2\ntitle: Late opening\nscreens: [home]\n",
        _LATE,
    ),
    _Y(
        "schema.maxItems",
        "The list is too long",
        "The limit stands in the message.",
        "noticeId: 2\ntitle: Late opening\nscreens: [home, map, help, news]\n",
        "noticeId: 2\ntitle: Late opening\nscreens: [home, map, help]\n",
        _LATE,
    ),
    _Y(
        "schema.uniqueItems",
        "An entry stands in the list twice",
        "Delete one of the two.",
        "noticeId: 2\ntitle: Late opening\nscreens: [home, map, home]\n",
        "noticeId: 2\ntitle: Late opening\nscreens: [home, map]\n",
        _LATE,
    ),
    _Y(
        "schema.minProperties",
        "The object has too few keys",
        "The message says how many it needs.",
        "noticeId: 2\ntitle: Late opening\ntexts: {}\n",
        "noticeId: 2\ntitle: Late opening\ntexts: {en: Welcome}\n",
        _LATE,
    ),
    _Y(
        "schema.maxProperties",
        "The object has too many keys",
        "The message says how many it may have.",
        "noticeId: 2\n"
        "title: Late opening\n"
        "texts: {en: Welcome, es: Bienvenidos, fr: Bienvenue}\n",
        "noticeId: 2\ntitle: Late opening\ntexts: {en: Welcome, es: Bienvenidos}\n",
        _LATE,
    ),
    _Y(
        "schema.exclusiveMinimum",
        "The number is too small",
        "It must be larger than the limit.",
        "noticeId: 2\ntitle: Late opening\nwidth: 0\n",
        "noticeId: 2\ntitle: Late opening\nwidth: 10\n",
        _LATE,
    ),
    _Y(
        "schema.exclusiveMaximum",
        "The number is too large",
        "It must be less than the limit.",
        "noticeId: 2\ntitle: Late opening\nwidth: 100\n",
        "noticeId: 2\ntitle: Late opening\nwidth: 90\n",
        _LATE,
    ),
    _Y(
        "schema.multipleOf",
        "The number is between two steps",
        "The schema allows only multiples of a number.",
        "noticeId: 2\ntitle: Late opening\nwidth: 25\n",
        "noticeId: 2\ntitle: Late opening\nwidth: 20\n",
        _LATE,
    ),
    _Y(
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
    _Y(
        "schema.oneOf",
        "The value has none of several forms, or two at once",
        "The message describes the forms.",
        "noticeId: 2\ntitle: Late opening\nplace: cellar\n",
        "noticeId: 2\ntitle: Late opening\nplace: room 7\n",
        _LATE,
    ),
    _Y(
        "schema.anyOf",
        "The value has none of several forms",
        "The message describes the forms.",
        "noticeId: 2\ntitle: Late opening\ncontact: Anna\n",
        "noticeId: 2\ntitle: Late opening\ncontact: anna@shop.example\n",
        _LATE,
    ),
    _Y(
        "schema.not",
        "The value is one that may not stand here",
        "The message says what is allowed.",
        "noticeId: 2\ntitle: Late opening\nicon: none\n",
        "noticeId: 2\ntitle: Late opening\nicon: flower\n",
        _LATE,
    ),
    _Y(
        "schema.contains",
        "The list lacks an entry that it must have",
        "The message describes it.",
        "noticeId: 2\ntitle: Late opening\nlanguages: [es, fr]\n",
        "noticeId: 2\ntitle: Late opening\nlanguages: [en, es, fr]\n",
        _LATE,
    ),
    _Y(
        "schema.minContains",
        "The list has too few entries of a sort",
        "The message describes them.",
        "noticeId: 2\ntitle: Late opening\ncolors: [dark red, white]\n",
        "noticeId: 2\ntitle: Late opening\ncolors: [dark red, dark blue, white]\n",
        _LATE,
    ),
    _Y(
        "schema.maxContains",
        "The list has too many entries of a sort",
        "The message describes them.",
        "noticeId: 2\n"
        "title: Late opening\n"
        "colors: [dark red, dark blue, dark green, dark gray]\n",
        "noticeId: 2\ntitle: Late opening\ncolors: [dark red, dark blue, dark green]\n",
        _LATE,
    ),
    _Y(
        "schema.false",
        "Nothing may stand here",
        "The schema has closed this place.",
        advice="Delete it.",
    ),
    _Y(
        "schema.other",
        "The value does not satisfy its schema",
        "The words are the validator's own.",
        advice="Compare the value with the schema that the file belongs to.",
    ),
    _Y(
        "schema.budget",
        "There is more to look at than is explained at once",
        "Mend what is reported, and check again.",
        advice="Mend what is reported, and check again.",
    ),
    # -- schemas of the content folder
    _Y(
        "schema.file",
        "A schema of the content folder cannot be read",
        "It must be one JSON object.",
        '"type": "object"\n  "properties": {\n    "noticeId"',
        '"type": "object",\n  "properties": {\n    "noticeId"',
        _SCHEMA,
    ),
    _Y(
        "schema.keyword",
        "A schema has a keyword that means nothing here",
        "It would check nothing: its value is none that JSON Schema knows, or it is not"
        " read here.",
        '"minLength": "1", "maxLength"',
        '"minLength": 1, "maxLength"',
        _SCHEMA,
    ),
    _Y(
        "schema.dialect",
        "A schema is written in another version of JSON Schema",
        "Only draft 2020-12 is read.",
        '"$schema": "http://json-schema.org/draft-07/schema#"',
        '"$schema": "https://json-schema.org/draft/2020-12/schema"',
        _SCHEMA,
    ),
    _Y(
        "schema.ref",
        "A $ref leads nowhere, or back to itself",
        "Name a schema of the folder, or a part of this one.",
        '"noticeId": {"$ref": "number.json"}',
        '"noticeId": {"type": "integer"}',
        _SCHEMA,
    ),
    _Y(
        "schema.size",
        "A schema is too large, or looks at one value too often",
        "It would make every check slow.",
        advice="Split the schema, or look at each value in one place.",
    ),
    # -- the folder
    _Y(
        "tree.unclaimed",
        "No kind of document has this file or folder",
        "It would be read by nobody. Its name is misspelled, or it belongs elsewhere.",
        "noticeId: 2\ntitle: Late opening\n",
        path="notcies/late.yaml",
        advice="Rename the folder: `notices/`.",
    ),
    _Y(
        "tree.site",
        "site.yaml is missing",
        "Every content folder has one: `shopwindow init` writes it.",
        advice="Write one with `shopwindow init`, or copy that of another folder.",
    ),
    _Y(
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
    _Y(
        "tree.size",
        "A file is too large",
        "Large sets of documents are feeds of a document a line: .jsonl.",
        advice="Split the file, or make it a feed with a document a line.",
    ),
    _Y(
        "tree.unreadable",
        "A file cannot be read",
        "The message has the system's reason, such as missing permission.",
        advice="Give yourself permission to read it: `chmod u+r FILE`.",
    ),
    _Y(
        "tree.link",
        "A link leads out of the folder, or nowhere",
        "A release must not depend on other folders.",
        advice="Put the file itself in the place of the link.",
    ),
    _Y(
        "tree.name",
        "A file's name is not UTF-8",
        "Give it another name.",
        advice="Rename the file, with letters, digits and hyphens alone.",
    ),
    _Y(
        "tree.depth",
        "Folders are nested too deeply",
        "Move the documents further up.",
        advice="Move the documents further up: eight folders are enough.",
    ),
    _Y(
        "tree.file",
        "This is no file",
        "A device, a socket or a pipe holds no document.",
        advice="Delete it, or put a regular file in its place.",
    ),
    _Y(
        "tree.sparse",
        "A file has holes",
        "It was not copied completely.",
        advice="Copy the file again, from where it is complete.",
    ),
    _Y(
        "feed.syntax",
        "A line of a feed is no JSON",
        "A feed has one JSON object a line.",
        '{"noticeId": 2, "title": "Late opening"\n',
        '{"noticeId": 2, "title": "Late opening"}\n',
        "notices.jsonl",
    ),
    _Y(
        "feed.line",
        "A line of a feed is too long",
        "One document has at most 1 MiB.",
        advice="Look for a missing line end between two documents.",
    ),
    _Y(
        "feed.compressed",
        "A compressed feed cannot be unpacked",
        "It was cut off or damaged on its way, or holds more than --max-unpacked allows.",
        advice="Compress and copy the feed again; `gzip -t FILE` says whether it is intact.",
    ),
    # -- documents
    _Y(
        "expression",
        "An expression cannot be evaluated",
        "`{{ name }}` stands for a name of site.yaml. A misspelled name in many places"
        " is one problem.",
        'title: "{{ brnd }} opens in spring"',
        "title: Spring opening",
        _NOTICE,
    ),
    _Y(
        "site.name",
        "A name is taken",
        "Expressions use it for something else.",
        "  brand: Your Shop\n  base_url: x",
        "  brand: Your Shop",
        _SITE,
    ),
    _Y(
        "site.lifetime",
        "No operation has this name",
        "A lifetime counts for an operation; `default` for all others.",
        "  default: {maxAge: 300}\n  notcie: {maxAge: 60}",
        "  default: {maxAge: 300}",
        _SITE,
    ),
    _Y(
        "time.zone",
        "The time zone does not exist",
        "Zones are named as the IANA database does: a continent and a town.",
        "time_zone: America/NewYork",
        "time_zone: America/New_York",
        _SITE,
    ),
    _Y(
        "time.exists",
        "A day or a time that does not exist",
        "The calendar has no such day, or clocks skip that hour in spring.",
        "until: 2027-02-30",
        "until: 2027-05-02",
        _NOTICE,
    ),
    _Y(
        "window.order",
        "A publish window ends before it begins",
        "The document would never be shown.",
        "publish:\n  from: 2027-06-01\n",
        "publish:\n",
        _NOTICE,
    ),
    _Y(
        "unique",
        "Two documents have the same number",
        "Apps and other documents could not tell them apart. They may share it if their"
        " publish windows do not overlap.",
        "noticeId: 1\ntitle: Late opening\n",
        "noticeId: 2\ntitle: Late opening\n",
        _LATE,
    ),
    _Y(
        "reference",
        "A document names another that does not exist",
        "It was deleted, or its number is mistyped. A deleted document is one problem,"
        " however many places name it.",
        advice="Correct the number, or write the document that it names.",
    ),
    _Y(
        "reference.live",
        "A document is live while what it names is not",
        "Apps would show something that they do not know. Its publish window lies within"
        " those of what it names.",
        advice="Narrow its publish window, or widen that of what it names.",
    ),
    _Y(
        "file.name",
        "A file does not have the name of its document",
        "Documents of this kind are found by their file's name.",
        advice="Rename the file as the message says.",
    ),
    _Y(
        "text.xml",
        "A character that XML cannot hold",
        "Apps may ask for XML. The character cannot be seen; delete it.",
        '  brand: "Your\\u0001 Shop"',
        "  brand: Your Shop",
        _SITE,
    ),
    _Y(
        "extends.base",
        "A base is no object",
        "A file whose name begins with _ is merged with others, key by key.",
        advice="Write its keys without `- ` before them.",
    ),
    _Y(
        "extends.cycle",
        "Two files build on each other",
        "Nobody could say which of them comes first.",
        advice="Delete the `extends` of one of them.",
    ),
    _Y(
        "extends.missing",
        "The base does not exist",
        "`extends` names a file of the same folder whose name begins with _.",
        advice="Name a file that is there, or write it.",
    ),
    _Y(
        "extends.forgotten",
        "A document lacks what a base has, and does not build on it",
        "The line with `extends` was lost.",
        advice="Write the line again.",
    ),
    _Y(
        "extends.null",
        "A null removes nothing",
        "null removes what the base says. The base does not say this, so the key is"
        " misspelled, or the line is left over.",
        advice="Correct the key, or delete the line.",
    ),
    _Y(
        "extends.unused",
        "Nothing builds on this base",
        "What stands in it is shown nowhere.",
        advice="Delete it, or name it in `extends`.",
    ),
    _Y(
        "collection.folder",
        "The folder of a collection is taken or missing",
        "Each collection has a folder of its own.",
        "folder: schemas",
        "folder: notices",
        _COLLECTIONS,
    ),
    _Y(
        "collection.id",
        "The id of a collection's documents cannot identify them",
        "It is a required property: a text or a whole number.",
        "noticeId: -1",
        "noticeId: 1",
        _NOTICE,
    ),
    _Y(
        "collection.name",
        "The name of a collection is taken",
        "Another kind has it.",
        "site:\n  folder",
        "notice:\n  folder",
        _COLLECTIONS,
    ),
    _Y(
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
    _Y(
        "collection.property",
        "A collection names a property that its schema lacks",
        "Its schema has every property by which it is filtered and ordered.",
        "filters: [tune]",
        "filters: [tone]",
        _COLLECTIONS,
    ),
    _Y(
        "collection.schema",
        "A collection's schema is missing",
        "It stands in schemas/ of the content folder.",
        "schema: notices.json",
        "schema: notice.json",
        _COLLECTIONS,
    ),
    _Y(
        "collection.shape",
        "A collection's schema describes no documents",
        "It describes an object with properties.",
        '"noticeId": {}',
        '"noticeId": {"type": "integer"}',
        _SCHEMA,
    ),
    _Y(
        "group.empty",
        "Nothing is in a group",
        "A group without members selects nothing.",
        advice="Name values that some document has together, or delete the group.",
    ),
    _Y(
        "group.value",
        "A group names a value that nothing has",
        "It would select nothing.",
        advice="Name a value that some document has: the message lists them.",
    ),
    _Y(
        "template",
        "A template cannot be rendered",
        "It would fail when a mail is sent.",
        advice="Mend the template at the line that the message names; `shopwindow mail` renders it.",
    ),
    # -- warnings
    _Y(
        "text.quotes",
        "Curly quotes around a value, or in an address",
        "A word processor made them of straight ones, and apps show them. This is a warning.",
        "title: “Spring opening”",
        "title: Spring opening",
        _NOTICE,
    ),
    _Y(
        "text.invisible",
        "A text holds a character that nobody sees",
        "It was pasted along with the text. This is a warning.",
        "title: Spring\u200b opening  # U+200B stands behind Spring",
        "title: Spring opening",
        _NOTICE,
    ),
    _Y(
        "text.comment",
        "A text is cut at a #",
        "What follows a space and # is a comment, so apps get what stands before it. This is a warning.",
        "noticeId: 2\ntitle: Spring #1\n",
        'noticeId: 2\ntitle: "Spring #1"\n',
        _LATE,
    ),
    _Y(
        "text.anchor",
        "A text that YAML takes for an anchor",
        "What begins with & is a mark, and is not shown. This is a warning.",
        "noticeId: 2\ntitle: &more Spring\n",
        'noticeId: 2\ntitle: "&more Spring"\n',
        _LATE,
    ),
    _Y(
        "name.near",
        "A name is like one that other documents have",
        "It is probably misspelled. This is a warning.",
        "noticeId: 2\ntitle: Late opening\nflags: {accesible: true}\n",
        "noticeId: 2\ntitle: Late opening\nflags: {accessible: true}\n",
        _LATE,
    ),
    _Y(
        "against.unread",
        "What --against names cannot be read",
        "Nothing is compared with it. This is a warning.",
        advice="Name a release or revision that has no problems itself.",
    ),
    _Y(
        "window.past",
        "A publish window is over",
        "The document is never shown again. This is a warning.",
        "until: 2017-05-02",
        "until: 2027-05-02",
        _NOTICE,
    ),
    _Y(
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
