"""A process that belongs to the service beside its workers, such as what pulls releases.

It is started with the service, started again when it ends, and ends with the service:
the service holds the only open end of its standard input, so it notices even a service
that is killed.
"""

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

COMPANION_PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before it is started again, by how often in a row it has ended early."""

STEADY_COMPANION_SECONDS = 60.0
"""Ending after this time is not early."""

END_SECONDS = 5.0
"""How long it may take to end. It is killed then, which must harm nothing."""


@dataclass(eq=False)
class Companion:
    """A companion's command line, and its process. ``report`` takes a sentence for the
    log.
    """

    command: Sequence[str]
    report: Callable[[str], None]

    process: subprocess.Popen[bytes] | None = field(init=False, default=None)
    began: float = field(init=False, default=0.0)
    failures: int = field(init=False, default=0)
    next_start: float = field(init=False, default=0.0)
    """Before which it is not started (time.monotonic)."""

    def look(self) -> None:
        """Start the process where it is due; report one that has ended."""
        now = time.monotonic()
        if self.process is not None and self.process.poll() is not None:
            status = self.process.returncode
            self._close()
            is_steady = now - self.began > STEADY_COMPANION_SECONDS
            self.failures = 0 if is_steady else self.failures + 1
            pause = COMPANION_PAUSES[min(self.failures, len(COMPANION_PAUSES) - 1)]
            self.next_start = now + pause
            self.report(
                f"{self.name} ended (exit status {status}); it is started again in {pause:g} s"
            )
        if self.process is None and now >= self.next_start:
            self._start(now)

    @property
    def name(self) -> str:
        """What messages call it: the command's name, behind `python -m package`."""
        return f"`{self.command[3]}`"

    def _start(self, now: float) -> None:
        self.began = now
        try:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE)
        except OSError as error:
            self.next_start = now + COMPANION_PAUSES[-1]
            self.report(f"{self.name} cannot be started: {error}")

    def stop(self) -> None:
        """Ask the process to end, without waiting for it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)

    def end(self) -> None:
        """Wait until the process has ended; kill it after END_SECONDS."""
        if self.process is None:
            return
        self.stop()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._close()

    def _close(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
        self.process = None
