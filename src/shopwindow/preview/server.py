"""Runs the preview: one process, which watches the folder and answers a browser."""

import errno
import gc
import os
import socket
import threading
import traceback
from collections.abc import Callable

import uvicorn

from shopwindow import library
from shopwindow.preview.application import application
from shopwindow.preview.guard import SECRET_PARAMETER, Guard
from shopwindow.preview.workspace import Workspace
from shopwindow.problems import Failure

OUTSIDE = ("192.0.2.1", 9)
"""An address that is nobody's (RFC 5737), beyond this machine's own network."""

CLOSE_SECONDS = 1
"""For open pages when the preview ends: they wait for changes and have nothing to lose.
"""

RETRY_SECONDS = 1.0
"""Before the folder is followed again after a fault of ours."""


def run(
    checked: Callable[[], Workspace],
    bind: tuple[str, int],
    ready: Callable[[str], None],
    forwarded: str | None = None,
) -> None:
    """Show a content folder at an address until a signal ends it.

    ``checked`` checks the folder, which takes a while, and returns its workspace.
    ``ready`` takes the address, once it answers, with its secret where it has one.
    ``forwarded`` is the name of a forwarded address, in lower case. Raises Failure where
    the address cannot be used, and what ``checked`` raises.
    """
    listener = _listener(bind)
    host, port = listener.getsockname()[:2]
    workspace = checked()
    keep_out_of_collections()
    door = Guard(bind[0], port, forwarded)
    config = uvicorn.Config(
        application(workspace, door),
        log_level="error",
        timeout_graceful_shutdown=CLOSE_SECONDS,
        server_header=False,
        ws="none",
    )
    ended = threading.Event()
    threading.Thread(target=_follow, args=(workspace, ended), daemon=True).start()
    host = _reached_at(host)
    shown = f"[{host}]" if ":" in host else host
    secret = f"?{SECRET_PARAMETER}={door.secret}" if door.secret else ""
    ready(f"http://{shown}:{port}/{secret}")
    try:
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        ended.set()


def keep_out_of_collections() -> None:
    """Take what was read so far out of Python's garbage collections.

    It is some hundred objects a document and lives as long as the preview, and each
    full collection would walk over all of it, mostly in the middle of a check.
    """
    gc.collect()
    gc.freeze()


def _listener(bind: tuple[str, int]) -> socket.socket:
    """Return a socket that listens at an address. Raises Failure where it cannot be
    had.
    """
    host, port = bind
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            advice = "is another preview running? Choose another port with --bind"
        else:
            advice = "choose another address with --bind"
        # of an error of the resolver the number is negative, and of no use
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else error.strerror
        raise Failure(f"{host}:{port} cannot be used: {reason}; {advice}") from None


def _reached_at(host: str) -> str:
    """Return the address by which others reach a socket that listens at ``host``.

    It differs where that means all addresses of this machine: then it is the one from
    which packets go out. Connecting a datagram socket sends nothing.
    """
    if host != "0.0.0.0":  # nosec B104 # compared, not listened at
        return host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outwards:
        try:
            outwards.connect(OUTSIDE)
            return str(outwards.getsockname()[0])
        except OSError:  # no network: nobody else reaches it
            return host


def _follow(workspace: Workspace, ended: threading.Event) -> None:
    """Check the folder whenever something in it changes, until ``ended``.

    A fault of ours in one check is printed, and the next change is checked all the same.
    """

    def refresh() -> None:
        try:
            workspace.refresh()
        except Exception:
            traceback.print_exc()

    while not ended.is_set():
        try:
            library.follow(
                workspace.interface,
                workspace.folder,
                refresh,
                lambda: workspace.snapshot.checked,
                ended,
            )
        except Exception:
            traceback.print_exc()
            ended.wait(RETRY_SECONDS)
