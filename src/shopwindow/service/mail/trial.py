"""Whether a folder's templates of mails can be rendered, tried where they can do no
harm.

How this works. Whoever edits content may bring templates of mails. Jinja2's sandbox
lets a template reach nothing but its variables. It does not keep one from looping for
ever, or from filling the memory: `'x' * 10 ** 10` is a single step. So the samples of
each mail are rendered in a short process of its own (`service.mail.trial_process`), whose
memory and processor time the system limits. A template has nothing to wait for, so
that ends every process; a busy machine takes longer, and refuses no more.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.loading import template_folders
from shopwindow.problems import Place, Problem

TEMPLATE_RULE = "template"


def problems(interface: Interface, folder: Path) -> Iterator[Problem]:
    """Yield what is wrong with the templates that a folder holds of an Interface's
    mails: the first thing of each mail.

    The paths of the problems begin with `templates/`. Files of other names are not
    looked at.
    """
    for mail in interface.mails:
        if not (folder / mail.text).exists() and not (folder / mail.html).exists():
            continue
        task = {
            "folders": [str(path) for path in template_folders(interface, folder)],
            "text": mail.text,
            "html": mail.html,
            "variables": [mail.letter(sample).variables for sample in mail.samples],
        }
        process = subprocess.run(
            [sys.executable, "-m", "shopwindow.service.mail.trial_process"],
            input=json.dumps(task).encode(),
            stdout=subprocess.PIPE,
        )
        if process.stdout:
            name, line, words = json.loads(process.stdout)
        elif process.returncode:  # the system ended it
            name, line = mail.text, None
            words = (
                f"this template, or {mail.html}, takes too much time for one mail:"
                " a loop that is too long, or has no end"
            )
        else:
            continue
        place = Place(line, 1, line, 2) if line else None
        path = f"templates/{name}"
        yield Problem(TEMPLATE_RULE, path, words, place, allowed=mail.allowed)
