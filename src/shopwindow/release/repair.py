"""Sets the times and modes of a release's files again, after a copy that has lost them.

A file's modification time follows from its digest (`interface.validators`), and nginx
makes the ETag of time and size. `cp` without -p and `rsync` without -t set the time of
copying instead. Then each host would have other ETags for the same bytes, and caches
would fetch everything again. Nothing is lost for good by such a copy, since the bytes
say what their time is.
"""

import os
import stat
from hashlib import file_digest
from pathlib import Path

from shopwindow.interface.validators import modified
from shopwindow.problems import failures
from shopwindow.release.stage import FILE_MODE


def repair(release: Path) -> int:
    """Set the time and the mode of a release's files again, and return how many were
    wrong.

    This includes the files that are not served, because a build links no index whose
    time differs from what its bytes give. No file's bytes are changed. What is no
    regular file is left alone, as is what a link leads to; `verify` names them. Raises
    Failure, such as for a folder of another user.
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
    """Set a file's time and mode where they are wrong, and return whether one of them
    was.
    """
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        return False
    with open(path, "rb") as file:
        moment = modified(file_digest(file, "sha256").digest())
    wrong_time = int(status.st_mtime) != moment
    if wrong_time:
        os.utime(path, (moment, moment), follow_symlinks=False)
    wrong_mode = stat.S_IMODE(status.st_mode) != FILE_MODE
    if wrong_mode:
        os.chmod(path, FILE_MODE)
    return wrong_time or wrong_mode
