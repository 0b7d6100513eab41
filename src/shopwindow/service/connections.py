"""How many connections a worker keeps, for how long it waits on them, and how many are open
now.
"""

import resource
from contextlib import suppress
from pathlib import Path

from shopwindow.service import journal

HEAD_SECONDS = 14
"""For a whole head, and for the next one on an open connection (hyper has one deadline for
both).

With the deadline of a body (intake.BODY_SECONDS) it stays below 30 s: no connection of a client
that does nothing is open for longer.
"""

MOST = 4096
"""Connections of a worker. An open one takes about 10 KiB; one whose body is half sent up to 64
KiB more.

1,500 connections that say nothing, from one client, then leave room for others until the
deadline closes them.
"""

BACKLOG = 4096
"""Connections that wait to be accepted. Beyond it the kernel drops them, and clients try again
a second later.

4,096 is the most that Linux admits by default (net.core.somaxconn). 1,800 silent clients that
came at once filled a queue of 1,024, and the next client waited that second.
"""

OTHER_FILES = 256
"""Files that a worker has open beside connections: a release, the database with its readers,
the log, metrics.
"""

_ESTABLISHED, _SYN_RECV, _CLOSE_WAIT, _LISTENING = "01", "03", "08", "0A"
"""States of a socket in /proc/net/tcp (Linux, include/net/tcp_states.h)."""


def room(most: int) -> int:
    """How many connections of ``most`` a process may open; its limit of open files is raised
    for that.

    Where the hard limit allows fewer, the log gets a line.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return most

    fewer = max(1, soft - OTHER_FILES) if soft > 2 * OTHER_FILES else max(1, soft // 2)
    journal.error(
        "service",
        f"the limit of open files, {soft}, leaves a worker {fewer} connections, not {most};"
        f" `ulimit -n {wanted}` or LimitNOFILE={wanted} would leave all",
    )
    return fewer


def count(port: int) -> dict[str, int]:
    """The connections to ``port`` that all workers have `open`, and those `waiting` to be
    accepted.

    The kernel counts them: Granian does not, and a worker that is stuck could not. Nothing on a
    system without /proc.
    """
    lines: list[str] = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with suppress(OSError):
            lines += Path(table).read_text(encoding="ascii").splitlines()[1:]
    if not lines:
        return {}

    counts = {"open": 0, "waiting": 0}
    for line in lines:
        _, local, _, state, _, _, _, _, _, inode, *_ = line.split()
        if not local.endswith(f":{port:04X}"):
            continue
        if inode != "0" and state != _LISTENING:
            counts["open"] += 1
        elif state in (
            _ESTABLISHED,
            _SYN_RECV,
            _CLOSE_WAIT,
        ):  # a socket that nobody has accepted has no inode
            counts["waiting"] += 1
    return counts
