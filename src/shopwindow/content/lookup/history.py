"""The commit that last changed some lines of a file, where the file lies in a git
repository.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from shopwindow.content.reading.git import GitFailed, git

NOT_COMMITTED = "0" * 40
"""What `git blame` calls the commit of a line that is changed and not committed."""


@dataclass(frozen=True)
class Commit:
    """A commit as people recognize it. ``id`` is empty for lines that are changed and
    not committed yet.
    """

    id: str
    author: str
    time: datetime
    subject: str


def last_commit(file: Path, first: int, last: int) -> Commit | None:
    """Return the newest commit among those of some lines, counted from 1.

    Args:
        file: which must be where git has it: a link is not followed.
        first: the first of the lines.
        last: the last of the lines, included.

    Returns:
        None where there is no git, no repository, or none that holds the file.
    """
    lines = f"-L{first},{max(first, last)}"
    try:
        blamed = git(file.parent, "blame", "--porcelain", lines, "--", file.name)
    except GitFailed:
        return None
    commits = _commits(blamed.decode("utf-8", "replace"))
    return max(commits, key=lambda commit: commit.time, default=None)


def _commits(porcelain: str) -> Iterator[Commit]:
    """Yield each commit of `git blame --porcelain`, which describes it at its first
    line.
    """
    id, about = "", dict[str, str]()
    for line in porcelain.split("\n"):
        if line.startswith("\t"):  # the line of the file itself ends an entry
            if "author-time" in about:
                yield _commit(id, about)
            id, about = "", {}
        elif not id:
            id = line.partition(" ")[0]
        else:
            name, _, value = line.partition(" ")
            about[name] = value


def _commit(id: str, about: dict[str, str]) -> Commit:
    zone = datetime.strptime(about.get("author-tz", "+0000"), "%z").tzinfo
    time = datetime.fromtimestamp(int(about["author-time"]), UTC).astimezone(zone)
    if id == NOT_COMMITTED:
        return Commit("", "", time, "not committed yet")
    return Commit(id, about.get("author", ""), time, about.get("summary", ""))
