"""What systemd and the service exchange: states (sd_notify(3)) and sockets
(sd_listen_fds(3)).

Both need only a few variables of the environment and no library. Without systemd the
variables are missing, and nothing is exchanged.
"""

import os
import socket
import time
from contextlib import suppress

from shopwindow.problems import Failure

FIRST_SOCKET = 3
"""The file descriptor of the first socket (SD_LISTEN_FDS_START)."""

READY, STOPPING, WATCHDOG = "READY=1", "STOPPING=1", "WATCHDOG=1"
"""States for ``notify``. WATCHDOG has to come again and again, or systemd restarts the
service.
"""


def reloading() -> str:
    """Return the state of a service that reloads; Type=notify-reload needs its time as
    well.
    """
    return f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}"


def notify(state: str) -> None:
    """Send a state such as READY to systemd, if it has set NOTIFY_SOCKET. Never raises."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path:
        return
    address = (
        f"\0{path[1:]}" if path.startswith("@") else path
    )  # an abstract socket (unix(7))
    with (
        suppress(OSError),
        socket.socket(
            socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
        ) as notifier,
    ):
        notifier.sendto(state.encode(), socket.MSG_DONTWAIT, address)


def inherited_socket() -> socket.socket | None:
    """Return the listening socket that systemd handed to this process, or None.

    The variables are removed, because workers inherit the environment but not the
    socket's number. Raises Failure for several sockets, and for one that does not
    listen.
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
