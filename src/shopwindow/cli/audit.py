"""A line for every administrative action: who did what to the service's data, and how much of
it.

It goes to the system's log where there is one (journald and syslogd listen at /dev/log), which
outlasts the terminal; else, as in a container, to standard error, which the container's log
keeps. It never holds keys, codes or people's ids.
"""

import os
import syslog
from pathlib import Path
from typing import Any

from shopwindow.release.publish import who
from shopwindow.service import journal

SYSTEM_LOG = Path("/dev/log")


def record(action: str, **fields: Any) -> None:
    """Write the line once an action is done. ``action``: the command, as it is typed;
    ``fields``: what it did.
    """
    values = {"action": action, "who": _actor(), "process": os.getpid(), **fields}
    if not SYSTEM_LOG.is_socket():
        journal.write(journal.ERR, "info", "administration", values)
        return
    line = journal.encoded("info", "administration", values).decode().rstrip("\n")
    syslog.openlog(
        "shopwindow", 0, syslog.LOG_AUTHPRIV
    )  # the facility that syslogd keeps from other users
    syslog.syslog(syslog.LOG_NOTICE, line)


def _actor() -> str:
    """The person or pipeline; behind sudo the person that called it, and whom they became."""
    user, person = who(), os.environ.get("SUDO_USER")
    return f"{person} as {user}" if person and person != user else user
