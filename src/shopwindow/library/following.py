"""Follows a content folder: something is done again whenever a file in it is saved."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from watchfiles import watch

from shopwindow.content.check.folder import Checked
from shopwindow.content.reading.listing import is_outdated, is_readable_again
from shopwindow.interface.declaring.interface import Interface
from shopwindow.library.opening import declared
from shopwindow.problems import Failure, Misuse

SETTLE_MILLISECONDS = 50
"""Without a change, before the folder is looked at: editors write a file in several
steps.
"""

FIRST_LOOK_MILLISECONDS = 500
"""After the watch began, and between two looks whether it shall end."""

AWAY_SECONDS = 1.0
"""Between two looks for a folder that is not there, or cannot be read."""


def follow(
    interface: Interface,
    content: Path,
    changed: Callable[[], object],
    checked: Callable[[], Checked],
    ended: threading.Event,
) -> None:
    """Call ``changed`` whenever something in a content folder changes, until ``ended``.

    ``checked`` returns what the last check of the folder returned. So ``changed`` is
    also called for what was saved after that and before the watch began, and where a
    file may be read now that the check could not read: no watch reports that. A folder
    that is removed, or cannot be read, is looked for again once a second, and
    ``changed`` is called when it goes, when it cannot be read for another reason, and
    when it comes. What ``changed`` raises ends all of it, and so does an interrupt.
    """
    reason: type[OSError] | None = None
    while not ended.is_set():
        try:
            # The system watches a folder, not its name: it is followed while it is the
            # one that was watched from the beginning.
            watched, is_first = _identity(content), True
            if reason is not None:
                reason = None
                changed()
            for changes in watch(
                content,
                stop_event=ended,
                debounce=10 * SETTLE_MILLISECONDS,
                step=SETTLE_MILLISECONDS,
                rust_timeout=FIRST_LOOK_MILLISECONDS,
                yield_on_timeout=True,
                raise_interrupt=True,
                # of folders in it: what is checked names them
                ignore_permission_denied=True,
            ):
                if _identity(content) != watched:
                    raise FileNotFoundError(content)
                is_other = changes or (
                    is_first and _is_outdated(interface, content, checked())
                )
                if is_other or is_readable_again(content, checked().problems):
                    changed()
                is_first = False
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            if type(error) is not reason:
                reason = type(error)
                changed()
            ended.wait(AWAY_SECONDS)


def _is_outdated(interface: Interface, content: Path, checked: Checked) -> bool:
    """Return whether the files are others than those that were checked."""
    try:
        prepared = declared(interface, content)
    except (Failure, Misuse, OSError):
        return True
    kinds = prepared.interface.kinds
    return is_outdated(content, kinds, prepared.unread, checked.sources)


def _identity(folder: Path) -> tuple[int, int]:
    """Return what tells a folder from another of its name.

    Raises FileNotFoundError, NotADirectoryError where a file has its name, and
    PermissionError where it cannot be read.
    """
    os.scandir(folder).close()
    status = folder.stat()
    return status.st_dev, status.st_ino
