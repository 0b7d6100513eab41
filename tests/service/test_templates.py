"""Facts about the templates of mails that a content folder brings: they are tried with limits, and run nothing."""

import time
from pathlib import Path

import pytest

from checkout import ROOT
from releases import Ran, shopwindow
from shopwindow.problems import Failure
from shopwindow.service.letters import Letters
from shopwindow.service.trial import STEPS, problems

TEXT = "Subject: for you\n\nHello\n"
HTML = "<p>Hello</p>\n"
SECONDS = 60
"""Longer than any trial takes on a busy machine, and shorter than an endless one."""


def with_templates(minimal: Path, text: str = TEXT, html: str = HTML) -> Path:
    folder = minimal / "templates"
    folder.mkdir()
    (folder / "share.txt").write_text(text)
    (folder / "share.html").write_text(html)
    return minimal


def check(content: Path) -> Ran:
    started = time.monotonic()
    ran = shopwindow("check", "--content", content)
    assert time.monotonic() - started < SECONDS
    return ran


def test_templates_that_render_are_no_problem(minimal: Path) -> None:
    ran = check(with_templates(minimal))
    assert (ran.status, ran.err) == (0, "")


ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% if a == b %}{% endif %}{% endfor %}{% endfor %}\n"
FAULTS = {
    "endless": (TEXT + ENDLESS, HTML, "share.txt:4:1", f"more than {STEPS:,} lines"),
    "endless HTML": (TEXT, "<p>\n\n" + ENDLESS, "share.html:3:1", f"more than {STEPS:,} lines"),
    "recursive": (TEXT + "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", HTML, "share.txt:4:1", "RecursionError"),
    "large": (TEXT + "{{ 'x' * 9000000 }}", HTML, "share.txt", "more than 1,048,576 characters"),
    "written for ever": (
        TEXT + "{% for a in range(99999) %}0123456789abcdef{% endfor %}",
        HTML,
        "share.txt",
        "writes more",
    ),
    "of all memory": (TEXT + "{% set a = 'x' * 9999999999 %}", HTML, "share.txt:4:1", "more than 1 GiB of memory"),
    "one long step": (
        TEXT + "{% set a = 9 ** (9 ** 9) %}",
        HTML,
        "share.txt",
        "takes more than 5 s of processor time",
    ),
    "an attack": (TEXT + "{{ cycler.__init__.__globals__.os }}", HTML, "share.txt:4:1", "SecurityError"),
    "a change of values": (TEXT + "{{ promotion.update({'a': 1}) }}", HTML, "share.txt:4:1", "SecurityError"),
    "an unknown name": (TEXT + "{{ promotionn.description }}", HTML, "share.txt:4:1", "'promotionn' is undefined"),
    "malformed": (TEXT + "\n{% if %}", HTML, "share.txt:5:1", "TemplateSyntaxError"),
    "without a subject": ("Hello\n", HTML, "share.txt", "must begin with a line `Subject: …`"),
    "only with a coupon": (TEXT + "{% if coupon %}{{ coupon.nothing }}{% endif %}", HTML, "share.txt:4:1", "nothing"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_template_that_cannot_be_rendered_is_a_problem_at_its_place(minimal: Path, case: str) -> None:
    text, html, where, words = FAULTS[case]
    ran = check(with_templates(minimal, text, html))
    assert (ran.status, ran.err) == (1, "1 problem\n"), ran
    assert ran.out.startswith(f"{minimal}/templates/{where}")
    assert words in ran.out


def test_a_build_publishes_nothing_with_such_a_template(minimal: Path, tmp_path: Path) -> None:
    content = with_templates(minimal, TEXT + ENDLESS)
    ran = shopwindow("build", "--content", content, "--out", tmp_path / "dist")
    assert ran.status == 1
    assert "templates/share.txt:4:1" in ran.out
    assert not (tmp_path / "dist/current").exists()


def test_a_sender_refuses_to_start_with_such_a_template(tmp_path: Path) -> None:
    content = with_templates(tmp_path, TEXT + ENDLESS)
    with pytest.raises(Failure, match=r"share\.txt:4: more than 1,000,000 lines"):
        Letters([content / "templates"])


def test_the_programs_own_templates_carry_out_few_steps(tmp_path: Path) -> None:
    """The limit is far above what a template needs: ours, brought by a content folder, are no problem."""
    own = ROOT / "templates"
    with_templates(tmp_path, (own / "share.txt").read_text(), (own / "share.html").read_text())
    assert problems(tmp_path / "templates") == []


def test_a_mail_that_grows_with_its_message_is_given_up(tmp_path: Path) -> None:
    """What no trial can know: the text of a customer."""
    content = with_templates(tmp_path, "Subject: x\n\n{{ sender.name * 100000 }}")
    letters = Letters([content / "templates"])
    document = {"sender": {"name": "Ann" * 10, "address": "ann@mail.example"}, "message": "Hello"}
    with pytest.raises(Failure, match="more than 1,048,576 characters"):
        letters.parts(document)
