"""A content folder as a git revision has it: exported into a temporary folder, so that
it can be checked like any other.

Git is called without a shell, and what a person typed is never an option of it: a
revision is first resolved to the id of a commit, and only the id goes on.
"""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shopwindow.content.reading.git import GitFailed, git
from shopwindow.content.reading.scratch import scratch
from shopwindow.problems import Failure

EXPORT_SECONDS = 60
"""For one command of git, after which it counts as stuck: exporting the whole history's
largest folders takes some seconds.
"""


def commit_of(content: Path, revision: str) -> str:
    """Return the id of the commit that a revision names, such as `main` or `HEAD~2`.

    Raises Failure where the folder is in no repository of git, where git has no such
    revision, and where git is not there.
    """
    if not revision.isprintable() or revision.startswith("-"):
        raise Failure(f"{revision!r} is no git revision")
    _git(
        content,
        "rev-parse",
        "--git-dir",
        failure=f"{content} lies in no git repository",
    )
    resolved = _git(
        content,
        "rev-parse",
        "--verify",
        "--quiet",
        f"{revision}^{{commit}}",
        failure=f"git has no revision {revision} of {content}",
    )
    return resolved.decode().strip()


@contextmanager
def exported(content: Path, commit: str) -> Iterator[Path]:
    """Yield the content folder as a commit has it; it is deleted at the end.

    ``commit`` is what `commit_of` returned. Raises Failure where the commit has no such
    folder.
    """
    missing = f"commit {commit[:12]} has no folder {content.name}"
    with scratch() as folder:
        archive, exported_content = folder / "content.tar", folder / "content"
        # Within a folder of a repository, git archives that folder alone.
        _git(
            content,
            "archive",
            "--format=tar",
            f"--output={archive}",
            commit,
            failure=missing,
        )
        exported_content.mkdir()
        try:
            with tarfile.open(archive) as tar:
                tar.extractall(exported_content, filter="data")
        except tarfile.TarError as error:
            raise Failure(f"commit {commit[:12]} cannot be exported: {error}") from None
        archive.unlink()
        yield exported_content


def _git(content: Path, *arguments: str, failure: str) -> bytes:
    """Return what git prints. Raises Failure: ``failure`` where git refuses."""
    try:
        return git(content, *arguments, seconds=EXPORT_SECONDS)
    except GitFailed as error:
        raise Failure(str(error) or failure) from None
