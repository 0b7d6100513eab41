"""What outlasts a power cut."""

import os
from pathlib import Path


def synchronize(path: Path) -> None:
    """Bring a file's bytes to disk, or a folder's names, so that a rename in it lasts.

    Raises OSError.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
