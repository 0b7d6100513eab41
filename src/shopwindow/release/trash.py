"""Deleted directories of an output directory, such as releases, wait in `.trash`.

A rename is one step, while the deletion of a hundred thousand files takes long. So
whoever deletes a directory renames it, and `prune` deletes the files when there is
time.
"""

import os
import shutil
import tempfile
import time
from pathlib import Path

TRASH = ".trash"

FILES_BEFORE_PAUSE = 200
PAUSE_SECONDS = 0.02
"""How long `empty` pauses after so many files. On ext4 a mass delete slows down the
creation of files for a while, for other processes and other folders, too.
"""


def discard(folder: Path, out: Path) -> None:
    """Move a directory below ``out`` into the trash. Raises OSError."""
    trash = out / TRASH
    trash.mkdir(exist_ok=True)
    os.rename(folder, tempfile.mkdtemp(prefix=f"{folder.name[:12]}-", dir=trash))


def empty(out: Path) -> None:
    """Delete what is in the trash, with pauses. Raises OSError."""
    trash = out / TRASH
    if not trash.is_dir():
        return
    count = 0
    for directory, _, names in os.walk(trash, topdown=False):
        for name in names:
            os.unlink(os.path.join(directory, name))
            count += 1
            if count % FILES_BEFORE_PAUSE == 0:
                time.sleep(PAUSE_SECONDS)
    shutil.rmtree(trash)
