"""A page for each rule of the engine: what it wants and why, a mistake, and the fix.

`check` names the rule of each problem, and the rule leads here. Families have pages of
their own, in their packages (`Interface.pages`); both become the commands' answers,
docs/editors/rules.md and the preview's pages. A test checks every example: the mistake
is a problem of this very rule, and the fix is none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class RulePage:
    """What there is to know about one rule.

    ``title``: what is wrong, in a few words. ``why``: a sentence or two. ``wrong`` and
    ``right``: the mistake and the fix, as a part of the file ``path``; without a path,
    a whole YAML file of any kind. Without ``wrong`` there is no example: the rule is
    about files, or about sizes.
    """

    name: str
    title: str
    why: str
    wrong: str = ""
    right: str = ""
    path: str = ""


Pages = Mapping[str, RulePage]
"""Pages by the names of their rules, in their order."""


def by_name(pages: Iterable[RulePage]) -> Pages:
    """Return the engine's pages and those of families, by name; theirs come first."""
    own = {page.name: page for page in (*PAGES, *pages)}
    return dict(sorted(own.items()))


def document(pages: Pages) -> str:
    """Return all pages as one Markdown document: docs/editors/rules.md."""
    return "\n\n".join([_INTRODUCTION, *map(markdown, pages.values())]) + "\n"


_INTRODUCTION = """\
# Rules

What each rule of `shopwindow check` wants, why, a mistake, and the fix. `shopwindow rule NAME` prints one of these
pages, and the preview leads from each problem to its page. `shopwindow rule --format markdown` writes this file."""


def markdown(page: RulePage, heading: str = "##") -> str:
    """Return a page as Markdown, with the rule's name as its heading."""
    parts = [f"{heading} {page.name}", f"{page.title}. {page.why}"]
    where = f" in `{page.path}`" if page.path else ""
    for word, text in (("Wrong", page.wrong), ("Right", page.right)):
        if text:
            parts += [f"{word}{where}:", _block(text, page.path)]
        elif page.wrong or page.right:
            parts.append(f"{word}{where}: without it.")
    return "\n\n".join(parts)


def _block(text: str, path: str) -> str:
    language = "json" if path.endswith((".json", ".jsonl")) else "yaml"
    return f"```{language}\n{text.rstrip()}\n```"


_Y = RulePage
_SITE = "site.yaml"

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
    _Y("yaml.encoding", "The file is not UTF-8", "Save it as UTF-8 in your editor."),
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
    _Y("schema.enum", "The value is none of those allowed", "The message lists them."),
    _Y("schema.const", "Only one value may stand here", "The message names it."),
    _Y(
        "schema.format",
        "The text does not have the right form",
        "It is a day, a time or an address of a certain form.",
    ),
    _Y(
        "schema.minLength",
        "The text is too short",
        "Where nothing shall be said, leave the key out.",
    ),
    _Y(
        "schema.maxLength",
        "The text is too long",
        "It would not fit where apps show it.",
    ),
    _Y(
        "schema.minItems",
        "The list is too short",
        "Where it would be empty, leave the key out.",
    ),
    _Y("schema.maxItems", "The list is too long", "The limit stands in the message."),
    _Y(
        "schema.uniqueItems",
        "An entry stands in the list twice",
        "Delete one of the two.",
    ),
    _Y(
        "schema.minProperties",
        "The object has too few keys",
        "The message says how many it needs.",
    ),
    _Y(
        "schema.maxProperties",
        "The object has too many keys",
        "The message says how many it may have.",
    ),
    _Y(
        "schema.exclusiveMinimum",
        "The number is too small",
        "It must be larger than the limit.",
    ),
    _Y(
        "schema.exclusiveMaximum",
        "The number is too large",
        "It must be less than the limit.",
    ),
    _Y(
        "schema.multipleOf",
        "The number is between two steps",
        "The schema allows only multiples of a number.",
    ),
    _Y(
        "schema.dependentRequired",
        "A key needs another one",
        "One key has no meaning without the other.",
    ),
    _Y(
        "schema.oneOf",
        "The value has none of several forms, or two at once",
        "The message describes the forms.",
    ),
    _Y(
        "schema.anyOf",
        "The value has none of several forms",
        "The message describes the forms.",
    ),
    _Y(
        "schema.not",
        "The value is one that may not stand here",
        "The message says what is allowed.",
    ),
    _Y(
        "schema.contains",
        "The list lacks an entry that it must have",
        "The message describes it.",
    ),
    _Y(
        "schema.minContains",
        "The list has too few entries of a sort",
        "The message describes them.",
    ),
    _Y(
        "schema.maxContains",
        "The list has too many entries of a sort",
        "The message describes them.",
    ),
    _Y("schema.false", "Nothing may stand here", "Delete it."),
    _Y(
        "schema.other",
        "The value does not satisfy its schema",
        "The words are the validator's own.",
    ),
    _Y(
        "schema.budget",
        "There is more to look at than is explained at once",
        "Mend what is reported, and check again.",
    ),
    # -- schemas of the content folder
    _Y(
        "schema.file",
        "A schema of the content folder cannot be read",
        "It must be one JSON object.",
    ),
    _Y(
        "schema.keyword",
        "A schema has a keyword that means nothing here",
        "A misspelled keyword would check nothing.",
    ),
    _Y(
        "schema.dialect",
        "A schema is written in another version of JSON Schema",
        "Only draft 2020-12 is read.",
    ),
    _Y(
        "schema.ref",
        "A $ref leads nowhere, or back to itself",
        "Name a schema of the folder, or a part of this one.",
    ),
    _Y(
        "schema.size",
        "A schema is too large, or looks at one value too often",
        "It would make every check slow.",
    ),
    # -- the folder
    _Y(
        "tree.unclaimed",
        "No kind of document has this file or folder",
        "It would be read by nobody. Its name is misspelled, or it belongs elsewhere.",
        "id: 1\n",
        "",
        "evnts/one.yaml",
    ),
    _Y(
        "tree.site",
        "site.yaml is missing",
        "Every content folder has one: `shopwindow init` writes it.",
    ),
    _Y(
        "tree.kind",
        "A document stands in the folder of another kind",
        "The folder says what a document is. Move the file.",
    ),
    _Y(
        "tree.size",
        "A file is too large",
        "Large sets of documents are feeds of a document a line: .jsonl.",
    ),
    _Y(
        "tree.unreadable",
        "A file cannot be read",
        "The message has the system's reason, such as missing permission.",
    ),
    _Y(
        "tree.link",
        "A link leads out of the folder, or nowhere",
        "A release must not depend on other folders.",
    ),
    _Y("tree.name", "A file's name is not UTF-8", "Give it another name."),
    _Y("tree.depth", "Folders are nested too deeply", "Move the documents further up."),
    _Y(
        "tree.file",
        "This is no file",
        "A device, a socket or a pipe holds no document.",
    ),
    _Y("tree.sparse", "A file has holes", "It was not copied completely."),
    _Y(
        "feed.syntax",
        "A line of a feed is no JSON",
        "A feed has one JSON object a line.",
    ),
    _Y("feed.line", "A line of a feed is too long", "One document has at most 1 MiB."),
    _Y(
        "feed.compressed",
        "A compressed feed cannot be unpacked",
        "It was cut off or damaged on its way, or holds more than --max-unpacked allows.",
    ),
    _Y(
        "table.width",
        "A row of a table has another number of cells than its header",
        "A separator within a value needs quotes.",
    ),
    # -- documents
    _Y(
        "expression",
        "An expression cannot be evaluated",
        "`{{ name }}` stands for a name of site.yaml. A misspelled name in many places"
        " is one problem.",
        'image_url: "{{ imgs }}/products"',
        'image_url: "{{ images }}/products"',
        _SITE,
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
        "  default: {maxAge: 300}\n  storse: {maxAge: 60}",
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
    ),
    _Y(
        "extends.cycle",
        "Two files build on each other",
        "Nobody could say which of them comes first.",
    ),
    _Y(
        "extends.unused",
        "Nothing builds on this base",
        "Delete it, or name it in `extends`.",
    ),
    _Y(
        "collection.folder",
        "The folder of a collection is taken or missing",
        "Each collection has a folder of its own.",
    ),
    _Y(
        "collection.id",
        "The id of a collection's documents cannot identify them",
        "It is a required property: a text or a whole number.",
    ),
    _Y("collection.name", "The name of a collection is taken", "Another kind has it."),
    _Y(
        "collection.path",
        "The path of a collection is taken",
        "Another operation answers there.",
    ),
    _Y(
        "collection.property",
        "A collection names a property that its schema lacks",
        "Its schema has every property by which it is filtered and ordered.",
    ),
    _Y(
        "collection.schema",
        "A collection's schema is missing",
        "It stands in schemas/ of the content folder.",
    ),
    _Y(
        "collection.shape",
        "A collection's schema describes no documents",
        "It describes an object with properties.",
    ),
    _Y(
        "group.empty",
        "No store is in a group",
        "A group without members selects nothing.",
    ),
    _Y(
        "group.value",
        "A group names a value that nothing has",
        "It would select nothing.",
    ),
    _Y(
        "template",
        "A template cannot be rendered",
        "It would fail when a mail is sent.",
    ),
    # -- warnings
    _Y(
        "text.quotes",
        "Curly quotes around a value, or in an address",
        "A word processor made them of straight ones, and apps show them. This is a warning.",
    ),
    _Y(
        "text.invisible",
        "A text holds a character that nobody sees",
        "It was pasted along with the text. This is a warning.",
    ),
    _Y(
        "text.comment",
        "A text is cut at a #",
        "What follows a space and # is a comment, so apps get what stands before it. This is a warning.",
    ),
    _Y(
        "text.anchor",
        "A text that YAML takes for an anchor",
        "What begins with & is a mark, and is not shown. This is a warning.",
    ),
    _Y(
        "name.near",
        "A name is like one that other documents have",
        "It is probably misspelled. This is a warning.",
    ),
    _Y(
        "against.unread",
        "What --against names cannot be read",
        "Nothing is compared with it. This is a warning.",
    ),
    _Y(
        "window.past",
        "A publish window is over",
        "The document is never shown again. This is a warning.",
    ),
    _Y(
        "allow.unused",
        "A comment allows a warning that is not there",
        "Delete the comment. This is a warning.",
    ),
)
"""The engine's pages. Those of rules that need documents of some kind have an example
beside that kind."""
