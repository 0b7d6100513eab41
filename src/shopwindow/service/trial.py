"""Whether a folder's templates of mails can be rendered, tried where they can do no
harm.

How this works. Whoever edits content may bring templates of mails. Jinja2's sandbox
lets a template reach nothing but its variables. It does not keep one from looping for
ever, or from filling the memory: `'x' * 10 ** 10` is a single step. So the samples of
each mail are rendered in a process of its own (`service.trial_process`) with two kinds
of limits. The process counts the lines of the templates as they are carried out, so
that an endless loop is reported at its line, and on every machine alike. And the system
limits the process's memory and processor time, for what is one long step.
"""

import json
import subprocess
import sys
from pathlib import Path

from shopwindow.interface.interface import Interface
from shopwindow.interface.loading import template_folders
from shopwindow.interface.mail import MailTemplate
from shopwindow.problems import Failure, Place, Problem

TEMPLATE_RULE = "template"

MAX_STEPS = 1_000_000
"""Lines of templates that one mail may carry out. Ours carry out 60, and 3,000 for a
message of 1,000 lines.
"""

CPU_SECONDS = 5
"""Processor time of the process, its start included. A million lines, counted, take 1
s; a start takes 0.3 s.
"""

MAX_MEMORY_BYTES = 1024 * 1024 * 1024
"""Address space of the process. Python with Jinja2 has 0.1 GiB, most of it shared
libraries.
"""

TRIAL_SECONDS = 60
"""How long the process is waited for. A busy machine may be slow to give it its
processor time.
"""


def problems(interface: Interface, folder: Path) -> list[Problem]:
    """Return what is wrong with the templates that a folder holds of an Interface's
    mails.

    The paths of the problems begin with `templates/`. Files of other names are not
    looked at.
    """
    mails = [mail for mail in interface.mails if _has_template(folder, mail)]
    return [problem for mail in mails for problem in _problems(interface, mail, folder)]


def refuse(interface: Interface, folder: Path) -> None:
    """Raise Failure, with the first problem, where templates in a folder cannot be
    rendered.
    """
    for mail in interface.mails:
        if not _has_template(folder, mail):
            continue
        for problem in _problems(interface, mail, folder):
            file = folder / Path(problem.path).name
            where = f"{file}:{problem.place.line}" if problem.place else f"{file}"
            raise Failure(f"the templates of {mail.title}: {where}: {problem.found}")


def _has_template(folder: Path, mail: MailTemplate) -> bool:
    return (folder / mail.text).exists() or (folder / mail.html).exists()


def _problems(interface: Interface, mail: MailTemplate, folder: Path) -> list[Problem]:
    """What is wrong with one mail's templates, rendered in a process of its own."""
    command = [sys.executable, "-m", "shopwindow.service.trial_process"]
    task = {
        "folder": str(folder),
        "folders": [str(path) for path in template_folders(interface, folder)],
        "text": mail.text,
        "html": mail.html,
        "variables": [mail.letter(sample).variables for sample in mail.samples],
        "steps": MAX_STEPS,
        "memory": MAX_MEMORY_BYTES,
        "cpu": CPU_SECONDS,
    }
    try:
        done = subprocess.run(
            command,
            input=json.dumps(task).encode(),
            capture_output=True,
            timeout=TRIAL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return [
            _problem(mail, mail.text, None, f"not rendered after {TRIAL_SECONDS} s")
        ]

    try:
        reported = json.loads(done.stdout)
    except ValueError:  # the system ended the process, within one long step
        limits = f"{CPU_SECONDS} s of processor time and {MAX_MEMORY_BYTES >> 30} GiB of memory"
        words = f"this template, or {mail.html}, takes more than {limits} for one mail"
        return [_problem(mail, mail.text, None, words)]
    return [_problem(mail, name, line, words) for name, line, words in reported]


def _problem(mail: MailTemplate, name: str, line: int | None, words: str) -> Problem:
    place = Place(line, 1, line, 2) if line else None
    return Problem(
        TEMPLATE_RULE, f"templates/{name}", words, place, allowed=mail.allowed
    )
