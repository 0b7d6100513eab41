"""The process that `service.trial` starts: it renders a mail's samples within limits.

It reads a task from standard input and prints what is wrong, both as JSON. A task names
the files ``text`` and ``html``, the ``folders`` that are searched for them, the
``folder`` among these whose templates are tried, the ``variables`` of each sample, and
the limits: ``steps`` (lines of templates), ``memory`` (bytes) and ``cpu`` (seconds). So
this process imports no Interface, and starts fast.
"""

import json
import resource
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from jinja2 import Environment, TemplateError, TemplateSyntaxError

from shopwindow.problems import Failure, cut
from shopwindow.service.mail_templates import environment_of, render


class _TooManySteps(Exception):
    """A template carried out more lines than it may."""


@dataclass(frozen=True)
class _Trial:
    """What is rendered, and the limits that messages name; see above."""

    environment: Environment
    folder: Path
    text: str
    html: str
    max_steps: int
    max_memory: int

    def errors(
        self, samples: list[Mapping[str, Any]]
    ) -> Iterator[tuple[str, int | None, str]]:
        """Yield what is wrong with some samples.

        Each entry has the template, the line (None where there is none) and words.
        """
        for variables in samples:
            try:
                self._render_counted(variables)
            except Exception as error:
                yield (*self._where(error), self._words(error))

    def _render_counted(self, variables: Mapping[str, Any]) -> None:
        """Render a mail; raise _TooManySteps at the line that is one too many."""
        steps = 0

        def count(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal steps
            if event == "line":
                steps += 1
                if steps > self.max_steps:
                    raise _TooManySteps
            return count

        def enter(frame: FrameType, event: str, argument: object) -> Any:
            return count if _template_of(frame.f_code, self.folder) else None

        sys.settrace(enter)
        try:
            render(self.environment, self.text, self.html, variables)
        finally:
            sys.settrace(None)

    def _where(self, error: Exception) -> tuple[str, int | None]:
        """The template and the line at which it could not go on.

        Jinja2 puts the lines of its templates into the traceback; the innermost one
        counts.
        """
        if isinstance(error, TemplateSyntaxError):
            return error.name or self.text, error.lineno
        where: tuple[str, int | None] = (self.text, None)
        step = error.__traceback__
        while step is not None:
            if name := _template_of(step.tb_frame.f_code, self.folder):
                where = name, step.tb_lineno
            step = step.tb_next
        return where

    def _words(self, error: Exception) -> str:
        if isinstance(error, _TooManySteps):
            return (
                f"more than {self.max_steps:,} lines are carried out for one mail:"
                " a loop that is too long, or has no end"
            )
        if isinstance(error, MemoryError):
            return f"more than {self.max_memory >> 30} GiB of memory is needed for one mail"
        if isinstance(error, Failure):
            return str(error)
        if isinstance(error, TemplateError):
            return cut(f"{type(error).__name__}: {error}", 300)
        return cut(f"it cannot be rendered: {type(error).__name__}: {error}", 300)


@cache
def _template_of(code: CodeType, folder: Path) -> str | None:
    """The template that code was compiled from, as its path in the folder; None: other
    code.

    Cached, for it is called at every call of a function, and each time that a template
    has written something.
    """
    path = Path(code.co_filename)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else None


def _main() -> None:
    """Print what is wrong: `[[template, line or null, words], …]`, each once."""
    task = json.load(sys.stdin)
    trial = _Trial(
        environment_of([Path(path) for path in task["folders"]]),
        Path(task["folder"]),
        task["text"],
        task["html"],
        max_steps=task["steps"],
        max_memory=task["memory"],
    )
    resource.setrlimit(resource.RLIMIT_AS, (task["memory"], task["memory"]))
    resource.setrlimit(resource.RLIMIT_CPU, (task["cpu"], task["cpu"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    errors = dict.fromkeys(trial.errors(task["variables"]))
    print(json.dumps(list(errors)))


if __name__ == "__main__":
    _main()
