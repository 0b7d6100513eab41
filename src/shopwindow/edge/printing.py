"""Prints an edge's configuration from a template, and puts it in a file's place.

A template is text with tables to fill in. It runs in a sandbox: root may print a
configuration, and an operator's own template may print what it likes, but run nothing.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shopwindow.content.reading.files import replace_file
from shopwindow.problems import Failure, failures
from shopwindow.release.durable import synchronize

OWNERS_MODE = 0o600
"""The mode of a file that only its owner can read: it holds API keys."""

PUBLIC_MODE = 0o644
"""The mode of a file that everybody on the host can read."""


def rendered(
    template: str,
    folders: Sequence[Path],
    escapes: Mapping[str, Callable[[str], str]],
    values: Mapping[str, Any],
) -> str:
    """Return the text of a template.

    ``folders``: where the template is looked for. ``escapes``: filters by name, which
    write a text as the edge reads it. ``values``: what the template can name. Raises
    Failure for a template that cannot be rendered.
    """
    from jinja2 import FileSystemLoader, StrictUndefined, TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folders),
        undefined=StrictUndefined,
        autoescape=False,  # it is no HTML: ``escapes`` do that
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= escapes
    try:
        return environment.get_template(template).render(values)
    except TemplateError as error:
        reason = f"{type(error).__name__}: {error}"
        raise Failure(f"the template {template} cannot be rendered: {reason}") from None


def write(path: Path, text: str, mode: int) -> None:
    """Put a configuration in a file's place, with this mode.

    The file is replaced by one rename, so no edge ever reads half of it. An edge reads
    its configuration as root, or as the user that deploys it, so nobody else needs to.
    A link is followed, as in nginx's sites-enabled. Raises Failure; then the file is as
    it was.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise Failure(
            f"{path} is not a file; --write needs one; without it the "
            "configuration is printed"
        )
    if not target.parent.is_dir():
        raise Failure(f"{path} cannot be written: there is no folder {target.parent}")
    with failures(target, f"{path} is as it was"):
        replace_file(target, text.encode(), mode)
        synchronize(target.parent)
