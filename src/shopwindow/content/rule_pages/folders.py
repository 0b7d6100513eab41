"""Pages of rules on files and folders, and on feeds."""

from shopwindow.content.rule_pages.notices import COLLECTIONS_PATH
from shopwindow.content.rule_pages.page import RulePage

FOLDER_PAGES = (
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
                COLLECTIONS_PATH,
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
        "It was cut off or damaged on its way, or holds more than 16 GiB once it is unpacked.",
        advice="Compress and copy the feed again; `gzip -t FILE` says whether it is intact.",
    ),
)
