"""Jinja2's templates of mails: rendered in a sandbox, to a subject, a plain text and
HTML.

Anybody who edits content may bring a template. So a template reaches nothing but its
variables, and it is stopped once it has written too much. Against one that loops for
ever or fills the memory, this module does nothing: `service.mail.trial` tries templates in a
process of its own first.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from shopwindow.problems import Failure

MAX_SUBJECT = 200
"""Characters of a subject; the rest is cut off. RFC 5322 §2.1.1 wants lines below 78
characters, and programs that list mails show no more than about one line.
"""

MAX_LETTER = 1024 * 1024
"""Characters of a mail's text, and of its HTML. Ours have 2,000; mail servers take 10
MiB and up, readers no more.
"""

_SUBJECT = "Subject:"


def environment_of(folders: Sequence[Path]) -> Environment:
    """Return what renders the templates of some folders, searched in this order.

    It is sandboxed and changes no value, for whoever edits content may bring a
    template. A name that is not defined is an error, and HTML is escaped.
    """
    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folders),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["day"] = _day
    return environment


def render(
    environment: Environment, text: str, html: str, variables: Mapping[str, Any]
) -> tuple[str, str, str]:
    """Return what the templates ``text`` and ``html`` write, which are names of files:
    the subject, the plain text and the HTML.

    Raises Failure for a template without a subject or that writes too much; and
    whatever a template raises, jinja2's TemplateError or any other.
    """
    head, _, body = _rendered(environment, text, variables).partition("\n")
    if not head.startswith(_SUBJECT):
        raise Failure(f"the template {text} must begin with a line `{_SUBJECT} …`")

    subject = " ".join(head.removeprefix(_SUBJECT).split())[:MAX_SUBJECT]
    return subject, body.lstrip("\n"), _rendered(environment, html, variables)


def _rendered(environment: Environment, name: str, variables: Mapping[str, Any]) -> str:
    """What one template writes. It is stopped once that is too long. Raises Failure."""
    pieces, size = [], 0
    for piece in environment.get_template(name).generate(variables):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_LETTER:
            raise Failure(
                f"the template {name} writes more than {MAX_LETTER:,} characters for one mail"
            )
    return "".join(pieces)


def _day(text: str) -> str:
    """The filter `day`: `2026-11-27` as people write it."""
    day = date.fromisoformat(text)
    return f"{day:%B} {day.day}, {day.year}"
