"""The process that service.trial starts: it renders a folder's templates within limits, and
prints what is wrong.
"""

import json
import resource
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from jinja2 import Environment, TemplateError, TemplateSyntaxError

from shopwindow.problems import Failure, cut
from shopwindow.service.letters import EXAMPLES, environment_of, parts
from shopwindow.service.trial import CPU_SECONDS, MEMORY, STEPS, TEXT


class _TooManySteps(Exception):
    """A template carried out more lines than STEPS."""


def _main(folder: Path) -> None:
    """Print what is wrong: `[[template, line or null, words], …]`."""
    environment = environment_of([folder])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(json.dumps(list(dict.fromkeys(_faults(environment, folder)))))


def _faults(environment: Environment, folder: Path) -> Iterator[tuple[str, int | None, str]]:
    for example in EXAMPLES:
        try:
            _counted(environment, example, folder)
        except Exception as error:
            yield (*_where(error, folder), _words(error))


def _counted(environment: Environment, example: Any, folder: Path) -> None:
    """Render a mail; raises _TooManySteps at the line that is one too many."""
    steps = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal steps
        if event == "line":
            steps += 1
            if steps > STEPS:
                raise _TooManySteps
        return count

    def entered(frame: FrameType, event: str, argument: object) -> Any:
        return count if _name(frame.f_code, folder) else None

    sys.settrace(entered)
    try:
        parts(environment, example)
    finally:
        sys.settrace(None)


@cache
def _name(code: CodeType, folder: Path) -> str | None:
    """The template that code was made from, as its path in the folder; None for any other code.

    It is asked at every call, and each time that a template has written something.
    """
    path = Path(code.co_filename)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else None


def _where(error: Exception, folder: Path) -> tuple[str, int | None]:
    """The template and the line at which it could not go on; Jinja2 puts its lines into the
    traceback.
    """
    if isinstance(error, TemplateSyntaxError):
        return error.name or TEXT, error.lineno
    where: tuple[str, int | None] = (TEXT, None)
    step = error.__traceback__
    while step is not None:
        if name := _name(step.tb_frame.f_code, folder):
            where = name, step.tb_lineno
        step = step.tb_next
    return where


def _words(error: Exception) -> str:
    if isinstance(error, _TooManySteps):
        return f"more than {STEPS:,} lines are carried out for one mail: a loop that is too long, or has no end"
    if isinstance(error, MemoryError):
        return f"more than {MEMORY >> 30} GiB of memory is needed for one mail"
    if isinstance(error, Failure):
        return str(error)
    if isinstance(error, TemplateError):
        return cut(f"{type(error).__name__}: {error}", 300)
    return cut(f"it cannot be rendered: {type(error).__name__}: {error}", 300)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
