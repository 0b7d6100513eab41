"""Follows a content folder: something is done again whenever a file in it is saved."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from watchfiles import watch

SETTLE_MILLISECONDS = 50
"""Without a change, before the folder is looked at: editors write a file in several
steps.
"""

FIRST_LOOK_MILLISECONDS = 500
"""After the watch began, and between two looks whether it shall end."""

AWAY_SECONDS = 1.0
"""Between two looks for a folder that is not there, or cannot be read."""


def follow(
    folder: Path,
    changed: Callable[[], object],
    is_outdated: Callable[[], bool],
    ended: threading.Event,
    is_readable_again: Callable[[], bool] = lambda: False,
) -> None:
    """Call ``changed`` whenever something in a folder changes, until ``ended``.

    ``is_outdated`` is asked when a watch has begun: something may have been saved
    before. ``is_readable_again`` is asked twice a second: no watch reports that a file
    may be read now. A folder that is removed, or cannot be read, is looked for again once a
    second, and ``changed`` is called when it goes, when it cannot be read for another
    reason, and when it comes. What ``changed`` raises ends all of it, and so does an
    interrupt.
    """
    reason: type[OSError] | None = None
    while not ended.is_set():
        try:
            # The system watches a folder, not its name: it is followed while it is the
            # one that was watched from the beginning.
            watched, is_first = _identity(folder), True
            if reason is not None:
                reason = None
                changed()
            for changes in watch(
                folder,
                stop_event=ended,
                debounce=10 * SETTLE_MILLISECONDS,
                step=SETTLE_MILLISECONDS,
                rust_timeout=FIRST_LOOK_MILLISECONDS,
                yield_on_timeout=True,
                raise_interrupt=True,
                # of folders in it: what is checked names them
                ignore_permission_denied=True,
            ):
                if _identity(folder) != watched:
                    raise FileNotFoundError(folder)
                if changes or (is_first and is_outdated()) or is_readable_again():
                    changed()
                is_first = False
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            if type(error) is not reason:
                reason = type(error)
                changed()
            ended.wait(AWAY_SECONDS)


def _identity(folder: Path) -> tuple[int, int]:
    """Return what tells a folder from another of its name.

    Raises FileNotFoundError, NotADirectoryError where a file has its name, and
    PermissionError where it cannot be read.
    """
    os.scandir(folder).close()
    status = folder.stat()
    return status.st_dev, status.st_ino
