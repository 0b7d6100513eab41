"""What systemd and the service say to each other: sd_notify(3), and sockets that systemd
listens on (sd_listen_fds(3)).

Both are a few variables of the environment, and no library is needed. Without systemd there are
none, and nothing is said.
"""

import os
import socket
import time
from contextlib import suppress

from shopwindow.problems import Failure

FIRST_SOCKET = 3
"""The file descriptor of the first socket (SD_LISTEN_FDS_START)."""

READY, STOPPING, WATCHDOG = "READY=1", "STOPPING=1", "WATCHDOG=1"


def reloading() -> str:
    """That the service reloads, and since when: a unit of Type=notify-reload wants to know
    both.
    """
    return f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}"


def notify(state: str) -> None:
    """Tell systemd, or whoever set NOTIFY_SOCKET, a ``state`` such as READY. Nobody waits for
    an answer.
    """
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path:
        return
    address = f"\0{path[1:]}" if path.startswith("@") else path  # an abstract socket (unix(7))
    with (
        suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notifier,
    ):
        notifier.sendto(state.encode(), socket.MSG_DONTWAIT, address)


def inherited_socket() -> socket.socket | None:
    """The listening socket that systemd handed to this process; None where there is none.
    Raises Failure.

    The variables that say so are removed: workers do not inherit what they say.
    """
    process, number = os.environ.pop("LISTEN_PID", ""), os.environ.pop("LISTEN_FDS", "")
    os.environ.pop("LISTEN_FDNAMES", None)
    if process != str(os.getpid()) or not number:
        return None
    if number != "1":
        raise Failure(
            f"LISTEN_FDS={number}: the service takes one socket; name one ListenStream= in the unit"
        )
    try:
        listener = socket.socket(fileno=FIRST_SOCKET)
        is_listening = listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise Failure(
            f"LISTEN_FDS=1: file descriptor {FIRST_SOCKET} is no socket: {error.strerror}"
        ) from None
    if not is_listening or listener.type != socket.SOCK_STREAM:
        raise Failure(
            f"LISTEN_FDS=1: file descriptor {FIRST_SOCKET} does not listen; the unit needs ListenStream="
        )
    return listener
