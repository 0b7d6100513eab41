"""Whether a folder's templates of shared promotions can be rendered, tried where they can do no
harm.

Whoever edits content may bring share.txt and share.html. Jinja2's sandbox keeps a template from
everything but its values, but not from looping for ever, nor from filling the memory (`'x' * 10
** 10` is one step). So they are rendered in a process of its own: it counts the template's
lines as they are carried out, so that an endless loop is found at its line and on every machine
alike; and the system limits its memory and processor time, for what is one long step.
"""

import json
import subprocess
import sys
from pathlib import Path

from shopwindow.problems import Failure, Place, Problem

TEXT, HTML = "share.txt", "share.html"
RULE = "template"

STEPS = 1_000_000
"""Lines of templates that one mail may carry out. Ours carry out 60, and 3,000 for a message of
1,000 lines.
"""

CPU_SECONDS = 5
"""Of the process, its start included. A million lines, counted, take 1 s; a start takes 0.3 s.
"""

MEMORY = 1024 * 1024 * 1024
"""Bytes of address space. Python with Jinja2 has 0.1 GiB, most of it shared libraries."""

PATIENCE = 60
"""Seconds until an answer is given up: a busy machine may be slow to give the process its
processor time.
"""


def problems(folder: Path) -> list[Problem]:
    """What is wrong with the templates in a folder; nothing where it has none. Paths are
    `templates/…`.
    """
    if not any((folder / name).exists() for name in (TEXT, HTML)):
        return []
    command = [sys.executable, "-m", "shopwindow.service.trial_process", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return [_problem(TEXT, None, f"not rendered after {PATIENCE} s")]
    try:
        found = json.loads(done.stdout)
    except ValueError:  # the process was ended within one long step
        limits = f"{CPU_SECONDS} s of processor time and {MEMORY >> 30} GiB of memory"
        return [
            _problem(
                TEXT, None, f"this template, or {HTML}, takes more than {limits} for one mail"
            )
        ]
    return [_problem(*fault) for fault in found]


def refuse(folder: Path) -> None:
    """Raises Failure where the templates in a folder cannot be rendered."""
    if found := problems(folder):
        first = found[0]
        where = f"{folder / Path(first.path).name}" + (
            f":{first.place.line}" if first.place else ""
        )
        raise Failure(f"the templates of shared promotions: {where}: {first.found}")


def _problem(name: str, line: int | None, found: str) -> Problem:
    place = Place(line, 1, line, 2) if line else None
    return Problem(RULE, f"templates/{name}", found, place, allowed=ALLOWED)


ALLOWED = "a Jinja2 template that says something of every promotion, with and without a coupon"
