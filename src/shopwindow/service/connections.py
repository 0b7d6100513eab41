"""The connections of clients: how many a worker may have, how long it waits, how many
are open.
"""

import resource
from contextlib import suppress
from pathlib import Path

from shopwindow.service import journal

HEAD_SECONDS = 14
"""For receiving a whole head, and for the next head on an open connection: hyper,
Granian's HTTP library, has one deadline for both.

Together with the deadline of a body (intake.BODY_SECONDS) it stays below 30 s, so no
connection of an inactive client is open for longer.
"""

MAX_CLIENTS = 4096
"""Connections of a worker. An open one takes about 10 KiB, one whose body is half
received up to 64 KiB more.

1,500 silent connections of one client leave room for others until the deadline closes
them.
"""

BACKLOG = 4096
"""Connections that wait to be accepted. Beyond it the kernel drops them, and clients
try again a second later.

4,096 is the most that Linux admits by default (net.core.somaxconn). 1,800 silent
clients that came at once filled a queue of 1,024, and the next client waited that
second.
"""

OTHER_FILES = 256
"""Files that a worker opens beside its connections: the release, the database with its
readers, the log, metrics.
"""

_ESTABLISHED, _SYN_RECV, _CLOSE_WAIT, _LISTENING = "01", "03", "08", "0A"
"""States of a socket in /proc/net/tcp (Linux, include/net/tcp_states.h)."""


def make_room(clients: int) -> int:
    """Raise this process's limit of open files, and return how many connections that
    admits.

    ``clients`` connections are wanted. Where the hard limit admits fewer, the log gets
    a line.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = clients + OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return clients

    fewer = max(1, soft - OTHER_FILES) if soft > 2 * OTHER_FILES else max(1, soft // 2)
    journal.error(
        "service",
        f"the limit of open files, {soft}, leaves a worker {fewer} connections, not {clients};"
        f" `ulimit -n {wanted}` or LimitNOFILE={wanted} would leave all",
    )
    return fewer


def count_connections(port: int) -> dict[str, int]:
    """Return how many connections to ``port`` are `open`, and how many are `waiting`.

    Open ones belong to any worker; waiting ones have not been accepted. The kernel's
    table counts them, because Granian does not, and because a stuck worker could not.
    The result is empty on a system without /proc.
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
        is_accepted = (
            inode != "0"
        )  # the kernel gives a socket its inode when it is accepted
        if is_accepted and state != _LISTENING:
            counts["open"] += 1
        elif state in (_ESTABLISHED, _SYN_RECV, _CLOSE_WAIT):
            counts["waiting"] += 1
    return counts
