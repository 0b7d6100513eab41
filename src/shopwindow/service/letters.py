"""A mail of the outbox as bytes: the templates share.txt and share.html, and the headers around
them.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from email.header import Header
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, Policy
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from shopwindow.content.listing import shipped
from shopwindow.interface.outbox import Mail
from shopwindow.problems import Failure
from shopwindow.service import trial
from shopwindow.service.trial import HTML, TEXT

MAX_SUBJECT = 200
_SUBJECT = "Subject:"


MAX_LETTER = 1024 * 1024
"""Characters of a mail's text, and of its HTML. Ours have 2,000; mail servers take 10 MiB and
up, readers no more.
"""


def environment_of(folders: Sequence[Path]) -> Environment:
    """What renders the templates: sandboxed, for whoever edits content may bring some. The
    program's own come last.
    """
    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader([*folders, shipped("templates")]),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["day"] = _day
    return environment


def parts(environment: Environment, document: Mapping[str, Any]) -> tuple[str, str, str]:
    """Subject, text and HTML. Raises Failure, or what a template raises: jinja2's
    TemplateError, or any other.
    """
    head, _, text = _rendered(environment, TEXT, document).partition("\n")
    if not head.startswith(_SUBJECT):
        raise Failure(f"the template {TEXT} must begin with a line `{_SUBJECT} …`")
    subject = " ".join(head.removeprefix(_SUBJECT).split())[:MAX_SUBJECT]
    return subject, text.lstrip("\n"), _rendered(environment, HTML, document)


def _rendered(environment: Environment, name: str, document: Mapping[str, Any]) -> str:
    """A template's text, which is given up once it is too long. Raises Failure."""
    pieces, size = [], 0
    for piece in environment.get_template(name).generate(document):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_LETTER:
            raise Failure(
                f"the template {name} writes more than {MAX_LETTER:,} characters for one mail"
            )
    return "".join(pieces)


class Letters:
    """Makes mails from templates. ``folders`` are searched in order, the program's own last.
    Raises Failure.

    Templates of a folder are tried in a process of its own first, for an endless one must end
    no service.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        for folder in folders:
            trial.refuse(folder)
        self._environment = environment_of(folders)
        try:
            for example in EXAMPLES:
                self.parts(example)
        except (TemplateError, OSError) as error:
            raise Failure(
                f"the templates of shared promotions: {type(error).__name__}: {error}"
            ) from None

    def parts(self, document: Mapping[str, Any]) -> tuple[str, str, str]:
        """Subject, text and HTML. Raises Failure, or jinja2's TemplateError."""
        document = {
            **document,
            "sender": _by_people(document["sender"]),
            "message": unlinked(document["message"]),
        }
        return parts(self._environment, document)

    def letter(self, mail: Mail) -> bytes:
        """The mail with its headers (RFC 5322). The same mail is always the same bytes, so a
        repeated one is known.
        """
        document = mail.document
        sent_by, sender = document["from"], document["sender"]
        subject, text, html = self.parts(document)
        message = EmailMessage(policy=SMTP)
        message["From"] = _Written.person(
            "From", " ".join(sent_by["name"].split()), sent_by["address"]
        )
        message["To"] = Address(addr_spec=mail.recipient)
        message["Reply-To"] = _Written.person("Reply-To", sender["name"], sender["address"])
        message["Subject"] = _Written.text("Subject", subject)
        for name, value in _headers(mail).items():
            message[name] = value
        message.set_content(text, cte="quoted-printable")
        message.add_alternative(html, subtype="html", cte="quoted-printable")
        message.set_boundary(f"={mail.id}=")
        return message.as_bytes()


class _Written(str):
    """A header that goes into the mail as it stands here, with people's text as encoded words
    (RFC 2047).

    Given the text itself, the email package would read encoded words in it, and a line end in
    one of those begins another header; and it writes long names without their quotes, so that
    an address in a name becomes one.
    """

    name: str

    @classmethod
    def person(cls, name: str, who: str, address: str) -> "_Written":
        words = who if _ATOMS.fullmatch(who) else _encoded(name, who)
        return cls._named(name, f"{words}\r\n <{address}>" if words else address)

    @classmethod
    def text(cls, name: str, text: str) -> "_Written":
        return cls._named(name, text if _SHORT.fullmatch(text) else _encoded(name, text))

    @classmethod
    def _named(cls, name: str, value: str) -> "_Written":
        written = cls(value)
        written.name = name  # by which the email package knows a header from a text
        return written

    def fold(self, *, policy: "Policy[Any]") -> str:
        return f"{self.name}: {self}{policy.linesep}"


_ATOMS = re.compile("[A-Za-z0-9 ]{0,60}")
_SHORT = re.compile(r"(?!.*=\?)[ -~]{0,60}")


def _encoded(name: str, text: str) -> str:
    return Header(text, "utf-8", header_name=name).encode(linesep="\r\n")


_LINKS = re.compile(
    r"(?<=\S):(?=\S)(?!(?<=\d:)\d)"  # a scheme: `https:`, `tel:`
    r"|(?<=\S)[.\u3002\uff0e\uff61](?=\w)(?!(?<=\d.)\d)"  # a name of a host, with any dot of IDNA (RFC 3490 §3.1)
)


def unlinked(text: str) -> str:
    """People's text in which no program sees a link: a space comes after each colon and dot
    that makes one.

    Mail programs make links of what looks like one, also where the mail says it is text.
    Amounts (`10.50`), times (`10:30`) and sentences stay as they are.
    """
    return _LINKS.sub(lambda match: f"{match[0]} ", text)


def _by_people(sender: Mapping[str, str]) -> dict[str, str]:
    """The sender as templates see it; an address is people's text too, and may begin with
    `www.`.
    """
    return {name: unlinked(text) for name, text in sender.items()}


def _headers(mail: Mail) -> dict[str, str]:
    """What a receiver's programs read: RFC 5322 §3.6.1 and §3.6.4, RFC 3834 §5, RFC 2919, RFC
    2369 §3.2.
    """
    host = mail.document["from"]["address"].rpartition("@")[2]
    return {
        "Date": format_datetime(mail.at),
        "Message-ID": f"<{mail.id}@{host}>",
        "Auto-Submitted": "auto-generated",
        "X-Auto-Response-Suppress": "All",
        "List-Id": f"<share.{host}>",
        "List-Unsubscribe": f"<{mail.document['unsubscribe']}>",
    }


def _day(text: str) -> str:
    """`2026-11-27` as people write it."""
    day = date.fromisoformat(text)
    return f"{day:%B} {day.day}, {day.year}"


_PROMOTION = {
    "from": {"address": "offers@shop.example", "name": "Shop"},
    "sender": {"address": "ann@mail.example", "name": "Ann"},
    "message": "Look:\nfor you.",
    "promotion": {
        **dict.fromkeys(
            (
                "promotionName",
                "description",
                "offerDescription",
                "promotionCode",
                "legalDisclaimer",
            ),
            "x",
        ),
        **dict.fromkeys(("effective", "expiry"), "2026-11-27"),
    },
    "coupon": None,
    "link": "",
    "unsubscribe": "mailto:offers@shop.example",
}
_COUPON = {
    **dict.fromkeys(
        ("couponUrl", "couponHeading", "couponSubHeading", "couponDescription"), "x"
    ),
    **dict.fromkeys(("couponShortCode", "couponNumber"), "x"),
    **dict.fromkeys(("effective", "expiry"), "2026-11-27"),
}
EXAMPLES: tuple[Mapping[str, Any], ...] = (
    _PROMOTION,
    {**_PROMOTION, "coupon": _COUPON},
    {
        **_PROMOTION,
        "message": "x\n" * 1000,
    },  # as many lines as a message may have (interface.sharing)
)
"""With these the templates are tried before anything is sent."""
