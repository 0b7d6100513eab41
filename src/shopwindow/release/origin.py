"""Where a release comes from: the commit of its content, and the version of this
program.
"""

import os
from pathlib import Path

from shopwindow.content.reading.git import GitFailed, git

COMMIT_VARIABLES = ("GITHUB_SHA", "CI_COMMIT_SHA")
"""Environment variables in which GitHub's and GitLab's pipelines name the commit."""


def origin(content: Path) -> dict[str, str | None]:
    """Return the commit of a content folder and the version of this program, for
    build.json.
    """
    from importlib.metadata import version  # 9 ms, which a check need not wait for

    return {"commit": _commit(content), "version": version("shopwindow")}


def _commit(content: Path) -> str | None:
    """Return the commit that a pipeline or git names; None where neither does."""
    for name in COMMIT_VARIABLES:
        if commit := os.environ.get(name):
            return commit
    try:
        return git(content, "rev-parse", "HEAD").decode().strip()
    except GitFailed:
        return None
