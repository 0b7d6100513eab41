"""Pages of rules that hold between documents, for times, and for contracts."""

from shopwindow.content.rule_pages.notices import LATE_NOTICE, NOTICE_FILE, SITE_PATH
from shopwindow.content.rule_pages.page import RulePage

DOCUMENT_PAGES = (
    RulePage(
        "expression",
        "An expression cannot be evaluated",
        "`{{ name }}` stands for a name of site.yaml. A misspelled name in many places"
        " is one problem.",
        'title: "{{ brnd }} opens in spring"',
        "title: Spring opening",
        NOTICE_FILE,
    ),
    RulePage(
        "site.name",
        "A name is taken",
        "Expressions use it for something else.",
        "  brand: Your Shop\n  base_url: x",
        "  brand: Your Shop",
        SITE_PATH,
    ),
    RulePage(
        "site.lifetime",
        "No operation has this name",
        "A lifetime counts for an operation; `default` for all others.",
        "  default: {maxAge: 300}\n  notcie: {maxAge: 60}",
        "  default: {maxAge: 300}",
        SITE_PATH,
    ),
    RulePage(
        "time.zone",
        "The time zone does not exist",
        "Zones are named as the IANA database does: a continent and a town.",
        "time_zone: America/NewYork",
        "time_zone: America/New_York",
        SITE_PATH,
    ),
    RulePage(
        "time.exists",
        "A day or a time that does not exist",
        "The calendar has no such day, or clocks skip that hour in spring.",
        "until: 2027-02-30",
        "until: 2027-05-02",
        NOTICE_FILE,
    ),
    RulePage(
        "window.order",
        "A publish window ends before it begins",
        "The document would never be shown.",
        "publish:\n  from: 2027-06-01\n",
        "publish:\n",
        NOTICE_FILE,
    ),
    RulePage(
        "unique",
        "Two documents have the same number",
        "Apps and other documents could not tell them apart. They may share it if their"
        " publish windows do not overlap.",
        "noticeId: 1\ntitle: Late opening\n",
        "noticeId: 2\ntitle: Late opening\n",
        LATE_NOTICE,
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
        SITE_PATH,
    ),
    RulePage(
        "template",
        "A template cannot be rendered",
        "It would fail when a mail is sent.",
        advice="Mend the template at the line that the message names; `shopwindow mail` renders it.",
    ),
)
