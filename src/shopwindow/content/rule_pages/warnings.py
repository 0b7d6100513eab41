"""Pages of warnings."""

from shopwindow.content.rule_pages.notices import LATE_NOTICE, NOTICE_FILE
from shopwindow.content.rule_pages.page import RulePage

WARNING_PAGES = (
    RulePage(
        "text.quotes",
        "Curly quotes around a value, or in an address",
        "A word processor made them of straight ones, and apps show them. This is a warning.",
        "title: “Spring opening”",
        "title: Spring opening",
        NOTICE_FILE,
    ),
    RulePage(
        "text.invisible",
        "A text holds a character that nobody sees",
        "It was pasted along with the text. This is a warning.",
        "title: Spring\u200b opening  # U+200B stands behind Spring",
        "title: Spring opening",
        NOTICE_FILE,
    ),
    RulePage(
        "text.comment",
        "A text is cut at a #",
        "What follows a space and # is a comment, so apps get what stands before it. This is a warning.",
        "noticeId: 2\ntitle: Spring #1\n",
        'noticeId: 2\ntitle: "Spring #1"\n',
        LATE_NOTICE,
    ),
    RulePage(
        "text.anchor",
        "A text that YAML takes for an anchor",
        "What begins with & is a mark, and is not shown. This is a warning.",
        "noticeId: 2\ntitle: &more Spring\n",
        'noticeId: 2\ntitle: "&more Spring"\n',
        LATE_NOTICE,
    ),
    RulePage(
        "text.skeleton",
        "A document is as `new` wrote it",
        "Its values are examples, and would go live. This is a warning.",
        "# Fill in what follows, and delete this line: until then `check` warns of it.\n"
        "noticeId: 2\ntitle: An example\n",
        "noticeId: 2\ntitle: Late opening\n",
        LATE_NOTICE,
    ),
    RulePage(
        "name.near",
        "A name is like one that other documents have",
        "It is probably misspelled. This is a warning.",
        "noticeId: 2\ntitle: Late opening\nflags: {accesible: true}\n",
        "noticeId: 2\ntitle: Late opening\nflags: {accessible: true}\n",
        LATE_NOTICE,
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
        NOTICE_FILE,
    ),
    RulePage(
        "allow.unused",
        "A comment allows a warning that is not there",
        "Delete the comment. This is a warning.",
        "title: Spring opening  # shopwindow: allow text.quotes",
        "title: Spring opening",
        NOTICE_FILE,
    ),
)
