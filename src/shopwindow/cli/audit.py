"""A line for every administrative action: who did what to the service's data, and how
much.

Where the system has a log, the line goes there, since that outlasts the terminal:
journald and syslogd listen at /dev/log. Elsewhere, as in a container, it goes to
standard error, which the container's log stores. A person at a terminal gets words
instead of JSON. A line never holds keys, codes or people's ids.
"""

import os
import syslog
from pathlib import Path
from typing import Any

from shopwindow.cli import aside
from shopwindow.release.history import who
from shopwindow.service import journal

SYSTEM_LOG = Path("/dev/log")
"""Where the system's log listens (systemd-journald.service(8), syslog(3))."""


def record(action: str, **fields: Any) -> None:
    """Write the line of an action, once it is done.

    ``action``: the command, as it is typed; ``fields``: what it did.
    """
    values = {"action": action, "who": _actor(), "process": os.getpid(), **fields}
    if SYSTEM_LOG.is_socket():
        line = journal.encoded("info", "administration", values).decode()
        # The facility that syslogd keeps from other users.
        syslog.openlog("shopwindow", 0, syslog.LOG_AUTHPRIV)
        syslog.syslog(syslog.LOG_NOTICE, line)
    elif os.isatty(journal.ERR):
        aside(f"{action} by {values['who']}; this machine has no log to record it")
    else:
        journal.write(journal.ERR, "info", "administration", values)


def _actor() -> str:
    """Return the person or pipeline; behind sudo, who called it and whom they became."""
    user, person = who(), os.environ.get("SUDO_USER")
    return f"{person} as {user}" if person and person != user else user
