"""Pages of rules on the text of a file: what YAML admits, and what is YAML and not clear."""

from shopwindow.content.rule_pages.page import RulePage

YAML_PAGES = (
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
)
