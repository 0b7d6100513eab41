"""Facts about the templates of mails that a content folder brings: they are tried with limits, and run nothing."""

from email import message_from_bytes
from email.policy import default
from pathlib import Path
from typing import Any

import pytest

from harness.content import ROOT
from harness.databases import DOCUMENT, Letters, claimed
from harness.program import Interface, Ran, shopwindow
from shopwindow.interface.declaring.mail import Letter, Mailbox, MailTemplate
from shopwindow.problems import Failure
from shopwindow.service.mail.trial import problems
from shopwindow.shop import INTERFACE

TEXT = "Subject: for you\n\nHello\n"
HTML = "<p>Hello</p>\n"


def with_templates(minimal: Path, text: str = TEXT, html: str = HTML) -> Path:
    folder = minimal / "templates"
    folder.mkdir()
    (folder / "share.txt").write_text(text)
    (folder / "share.html").write_text(html)
    return minimal


def check(content: Path) -> Ran:
    return shopwindow("check", "--content", content)


def test_templates_that_render_are_no_problem(minimal: Path) -> None:
    ran = check(with_templates(minimal))
    assert (ran.status, ran.err) == (0, "")


ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% if a == b %}{% endif %}{% endfor %}{% endfor %}\n"
FAULTS = {
    "endless": (TEXT + ENDLESS, HTML, "share.txt", "or share.html, takes too much time for one mail: a loop"),
    "recursive": (TEXT + "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", HTML, "share.txt:4:1", "RecursionError"),
    "large": (TEXT + "{{ 'x' * 9000000 }}", HTML, "share.txt", "more than 1,048,576 characters"),
    "written for ever": (
        TEXT + "{% for a in range(99999) %}0123456789abcdef{% endfor %}",
        HTML,
        "share.txt",
        "writes more",
    ),
    "of all memory": (TEXT + "{% set a = 'x' * 9999999999 %}", HTML, "share.txt:4:1", "more than 1 GiB of memory"),
    "one endless step": (TEXT + "{% set a = 9 %}{% set a = a ** 99999999 %}", HTML, "share.txt", "takes too much time"),
    "an attack": (TEXT + "{{ cycler.__init__.__globals__.os }}", HTML, "share.txt:4:1", "SecurityError"),
    "a change of values": (TEXT + "{{ promotion.update({'a': 1}) }}", HTML, "share.txt:4:1", "SecurityError"),
    "an unknown name": (TEXT + "{{ promotionn.description }}", HTML, "share.txt:4:1", "'promotionn' is undefined"),
    "malformed": (TEXT + "\n{% if %}", HTML, "share.txt:5:1", "TemplateSyntaxError"),
    "without a subject": ("Hello\n", HTML, "share.txt", "must begin with a line `Subject: …`"),
    "only with a coupon": (TEXT + "{% if coupon %}{{ coupon.nothing }}{% endif %}", HTML, "share.txt:4:1", "nothing"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_template_that_cannot_be_rendered_is_a_problem_at_its_place(minimal: Path, case: str) -> None:
    expect_problem(minimal, *FAULTS[case])


def expect_problem(minimal: Path, text: str, html: str, where: str, words: str) -> None:
    """Check content with these templates, one of which has the one problem."""
    ran = check(with_templates(minimal, text, html))
    assert (ran.status, ran.err.splitlines()[0]) == (1, "1 problem"), ran
    assert ran.out.startswith(f"{minimal}/templates/{where}")
    assert words in ran.out


def test_a_build_publishes_nothing_with_such_a_template(minimal: Path, tmp_path: Path) -> None:
    content = with_templates(minimal, TEXT, "<p>\n\n{{ promotionn }}")
    ran = shopwindow("build", "--content", content, "--out", tmp_path / "dist")
    assert ran.status == 1
    assert "templates/share.html:3:1" in ran.out
    assert "'promotionn' is undefined" in ran.out
    assert not (tmp_path / "dist/current").exists()


def test_a_sender_refuses_to_start_with_such_a_template(tmp_path: Path) -> None:
    content = with_templates(tmp_path, TEXT + "{{ promotionn.description }}")
    with pytest.raises(Failure, match=r"share\.txt:4: UndefinedError: 'promotionn' is undefined"):
        Letters(INTERFACE, [content / "templates"])


def test_the_programs_own_templates_keep_to_the_limits(tmp_path: Path) -> None:
    """The limits are far above what a template needs: ours, brought by a content folder, are no problem."""
    own = ROOT / "templates"
    with_templates(tmp_path, (own / "share.txt").read_text(), (own / "share.html").read_text())
    assert [*problems(INTERFACE, tmp_path / "templates")] == []


def test_a_mail_that_grows_with_its_message_is_given_up(tmp_path: Path) -> None:
    """What no trial can know: the text of a customer."""
    content = with_templates(tmp_path, "Subject: x\n\n{{ sender.name * 100000 }}")
    letters = Letters(INTERFACE, [content / "templates"])
    document = {**DOCUMENT, "sender": {"name": "Ann" * 10, "address": "ann@mail.example"}}
    with pytest.raises(Failure, match="more than 1,048,576 characters"):
        letters.encoded(claimed(document))


# -- an interface of its own --------------------------------------------------------------------


def reminder(document: Any) -> Letter:
    return Letter(Mailbox("desk@library.example"), {"title": document["reading"].upper()})


REMINDER = MailTemplate("reminder", "reminders", "a template of a reading", reminder, ({"reading": "x"},))


@pytest.fixture
def library(tmp_path: Path) -> Interface:
    """An interface that sends a mail of its own, with the templates that it brings."""
    brought = tmp_path / "brought"
    brought.mkdir()
    (brought / "reminder.txt").write_text("Subject: {{ title }}\n\nCome to {{ title }}.\n")
    (brought / "reminder.html").write_text("<p>{{ title }}</p>")
    return Interface("Library", "1", (), (), mails=(REMINDER,), templates=brought)


def test_an_interface_of_its_own_sends_its_own_mail(library: Interface) -> None:
    sender, data = Letters(library).encoded(claimed({"reading": "Emma & I"}, "reminder"))
    message = message_from_bytes(data, policy=default)
    headers = {name: str(message[name]) for name in ("From", "To", "Subject", "List-Id")}
    assert (sender, headers, message["Reply-To"], message["List-Unsubscribe"]) == (
        "desk@library.example",
        {
            "From": "desk@library.example",
            "To": "bob@mail.example",
            "Subject": "EMMA & I",
            "List-Id": "<reminder.library.example>",
        },
        None,
        None,
    )
    parts = [part.get_content().strip() for part in message.iter_parts()]
    assert parts == ["Come to EMMA & I.", "<p>EMMA &amp; I</p>"]


def test_a_sender_refuses_to_start_with_a_broken_template_of_the_interface(library: Interface, tmp_path: Path) -> None:
    (tmp_path / "brought/reminder.html").write_text("<p>{{ titel }}</p>")
    words = "the templates of reminders: UndefinedError: 'titel' is undefined"
    with pytest.raises(Failure, match=f"^{words}$"):
        Letters(library)


def test_a_content_folder_is_tried_for_the_mails_of_the_interface_alone(library: Interface, tmp_path: Path) -> None:
    with_templates(tmp_path, TEXT + "{{ nothing }}")
    assert [*problems(library, tmp_path / "templates")] == []
    (tmp_path / "templates/reminder.txt").write_text("Subject: {{ titel }}\n")
    (problem,) = problems(library, tmp_path / "templates")
    where = (problem.path, problem.place.line if problem.place else None, problem.allowed)
    assert where == ("templates/reminder.txt", 1, "a template of a reading")
    with pytest.raises(Failure, match=r"^/.*/reminder\.txt:1: UndefinedError"):
        Letters(library, [tmp_path / "templates"])


@pytest.mark.parametrize("name", ["share", ""])
def test_a_row_of_a_mail_that_the_interface_lacks_is_named(library: Interface, name: str) -> None:
    with pytest.raises(Failure, match=f"the interface has no mail that is called '{name}'"):
        Letters(library).encoded(claimed({"reading": "Emma"}, name))
