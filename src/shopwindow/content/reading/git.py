"""Running git in a content folder: without a shell, and never for longer than a person
waits.
"""

import subprocess
from pathlib import Path

READ_SECONDS = 20
"""After which nobody waits for what git knows of files; the answer is then left out."""


class GitFailed(Exception):
    """Git returned nothing. Its text says why; it has none where git ended with a
    status of failure: there is no repository, say, or no such revision.
    """


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
        raise GitFailed("git is not installed") from None
    except subprocess.TimeoutExpired:
        raise GitFailed(f"git takes more than {seconds} seconds") from None
    except subprocess.CalledProcessError:
        raise GitFailed from None
    return done.stdout
