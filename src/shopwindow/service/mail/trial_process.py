"""The process that `service.mail.trial` starts: it renders a mail's samples within limits.

It reads a task from standard input: the names ``text`` and ``html`` of the templates,
the ``folders`` that are searched for them, and the ``variables`` of each sample. It
prints the first error, where there is one: the path in the first folder, the line (or
null), and words. It imports no Interface, so it starts fast.
"""

import json
import resource
import sys
import traceback
from pathlib import Path

from shopwindow.problems import Failure, cut
from shopwindow.service.mail.templates import environment_of, render

CPU_SECONDS = 2
"""Processor time, at which the system ends the process. Its start takes 0.2 s, and a
mail of ours 1 ms.
"""

MAX_MEMORY_BYTES = 1024**3
"""Address space of the process. Python with Jinja2 has 0.1 GiB, most of it shared
libraries.
"""


def _main() -> None:
    task = json.load(sys.stdin)
    folders = [Path(folder) for folder in task["folders"]]
    environment = environment_of(folders)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    try:
        for variables in task["variables"]:
            render(environment, task["text"], task["html"], variables)
    except Exception as error:
        place: tuple[str, int | None] = task["text"], None
        for frame in traceback.extract_tb(error.__traceback__):
            # Jinja2 puts the lines of its templates into the traceback.
            path = Path(frame.filename)
            if path.is_relative_to(folders[0]):
                place = str(path.relative_to(folders[0])), frame.lineno
        print(json.dumps([*place, _words(error)]))


def _words(error: Exception) -> str:
    if isinstance(error, Failure):
        return str(error)
    if isinstance(error, MemoryError):
        return f"it needs more than {MAX_MEMORY_BYTES >> 30} GiB of memory"
    return cut(f"{type(error).__name__}: {error}", 300)


if __name__ == "__main__":
    _main()
