"""A release that was copied without its files' times and modes gets them again.

A file's modification time is made from its digest (interface.validators), and nginx makes the
ETag of the two. `cp` without -p and `rsync` without -t give the time of copying instead: each
host would then name the same bytes differently, and caches would fetch everything anew. Nothing
is lost by that, for the bytes say what their time is.
"""

import os
import stat
from hashlib import file_digest
from pathlib import Path

from shopwindow.interface.validators import modified
from shopwindow.problems import failures

MODE = 0o444
"""As a build leaves every file: what is published is not edited."""


def repair(release: Path) -> int:
    """Set the time and the mode of a release's files again, and say how many were not as they
    should be.

    Also of those that are not served: a build links no catalog whose time is another than its
    bytes give. The bytes of a file are never changed. What is no regular file is left alone,
    and so is what a link leads to; `verify` names them. Raises Failure, such as for a folder of
    another user.
    """
    repaired = 0
    with failures(
        release, "what was mended before is mended; run it as the owner of the release"
    ):
        for folder, _, names in os.walk(release):
            for name in sorted(names):
                repaired += _repaired(f"{folder}/{name}")
    return repaired


def _repaired(path: str) -> bool:
    """Whether a file's time or mode had to be set again."""
    kept = os.lstat(path)
    if not stat.S_ISREG(kept.st_mode):
        return False
    with open(path, "rb") as file:
        moment = modified(file_digest(file, "sha256").digest())
    changed = int(kept.st_mtime) != moment
    if changed:
        os.utime(path, (moment, moment), follow_symlinks=False)
    if stat.S_IMODE(kept.st_mode) != MODE:
        os.chmod(path, MODE)
        changed = True
    return changed
