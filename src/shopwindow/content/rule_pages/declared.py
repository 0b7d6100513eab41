"""Pages of rules on what builds on something else: bases, collections, groups."""

from shopwindow.content.rule_pages.notices import (
    COLLECTIONS_PATH,
    NOTICE_FILE,
    NOTICE_SCHEMA_PATH,
)
from shopwindow.content.rule_pages.page import RulePage

DECLARATION_PAGES = (
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
        COLLECTIONS_PATH,
    ),
    RulePage(
        "collection.id",
        "The id of a collection's documents cannot identify them",
        "It is a required property: a text or a whole number.",
        "noticeId: -1",
        "noticeId: 1",
        NOTICE_FILE,
    ),
    RulePage(
        "collection.name",
        "The name of a collection is taken",
        "Another kind has it.",
        "site:\n  folder",
        "notice:\n  folder",
        COLLECTIONS_PATH,
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
        COLLECTIONS_PATH,
    ),
    RulePage(
        "collection.property",
        "A collection names a property that its schema lacks",
        "Its schema has every property by which it is filtered and ordered.",
        "filters: [tune]",
        "filters: [tone]",
        COLLECTIONS_PATH,
    ),
    RulePage(
        "collection.schema",
        "A collection's schema is missing",
        "It stands in schemas/ of the content folder.",
        "schema: notices.json",
        "schema: notice.json",
        COLLECTIONS_PATH,
    ),
    RulePage(
        "collection.shape",
        "A collection's schema describes no documents",
        "It describes an object with properties.",
        '"noticeId": {}',
        '"noticeId": {"type": "integer"}',
        NOTICE_SCHEMA_PATH,
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
)
