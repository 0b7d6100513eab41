"""What systemd does for a service, done by tests: it hears how the service is, and hands it a socket."""

import socket
import subprocess
import sys
from pathlib import Path

from nginx import ADDRESS
from served import environment


class Notified:
    """A socket that a service tells of itself, as systemd's is."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{path[1:]}" if path.startswith("@") else path)

    def __enter__(self) -> "Notified":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def next(self, seconds: float = 30) -> str:
        """What is said next, but for the words that it is alive."""
        self._socket.settimeout(seconds)
        while (said := self._socket.recv(4096).decode()) == "WATCHDOG=1":
            pass
        return said

    def is_alive(self) -> bool:
        """Whether the service says that it lives, which it says at every turn, also before and after other words."""
        self._socket.settimeout(5)
        return any(self._socket.recv(4096) == b"WATCHDOG=1" for _ in range(2))


_HANDED = 'import os, sys; os.environ["LISTEN_PID"] = str(os.getpid()); os.execv(sys.executable, sys.argv[1:])'


def handed(listener: socket.socket | None, out: Path, folder: Path, **env: str) -> "subprocess.Popen[bytes]":
    """A service that gets ``listener`` as file descriptor 3, as systemd hands it over."""
    serve = [sys.executable, "-m", "shopwindow", "serve", "--out", str(out), "--admin", "", "--workers", "1"]
    serve += ["--bind", f"{ADDRESS}:1", "--database", f"sqlite:///{folder}/store.sqlite", "--log-dir", ""]
    put = "import os; os.dup2(int(os.environ.pop('FROM')), 3); " if listener else ""
    command = [sys.executable, "-c", put + _HANDED, *serve]
    passed = (listener.fileno(),) if listener else ()
    more = {"FROM": str(passed[0])} if passed else {}
    with (folder / "stderr").open("ab") as stderr:
        return subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=passed,
            env=environment(**{"LISTEN_FDS": "1", **more, **env}),
            start_new_session=True,
        )
