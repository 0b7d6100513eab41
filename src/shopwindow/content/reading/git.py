"""Running git in a content folder: without a shell, and never for longer than a person
waits.
"""

import subprocess
from enum import Enum, auto
from pathlib import Path

READ_SECONDS = 20
"""After which nobody waits for what git knows of files; the answer is then left out."""


class GitFault(Enum):
    """Why git returned nothing."""

    MISSING = auto()
    """Git is not installed, or must not be run."""

    SLOW = auto()
    """Git took longer than it may."""

    REFUSED = auto()
    """Git ended with a status of failure: there is no repository, say, or no such
    revision.
    """


class GitFailed(Exception):
    """Git returned nothing: ``fault`` says why."""

    def __init__(self, fault: GitFault) -> None:
        super().__init__(fault.name)
        self.fault = fault


def git(folder: Path, *arguments: str, seconds: int = READ_SECONDS) -> bytes:
    """Return what git prints when it runs in a folder.

    Args:
        folder: where git runs; it may lie anywhere in a repository, or in none.
        arguments: the subcommand and its arguments. A caller makes sure that nothing
            that a person typed is taken as an option.
        seconds: after which git is ended.

    Raises:
        GitFailed: git is missing, is slow, or ends with a status of failure.
    """
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=True, timeout=seconds)
    except OSError:
        raise GitFailed(GitFault.MISSING) from None
    except subprocess.TimeoutExpired:
        raise GitFailed(GitFault.SLOW) from None
    except subprocess.CalledProcessError:
        raise GitFailed(GitFault.REFUSED) from None
    return done.stdout
