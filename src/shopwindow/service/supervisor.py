"""The parent of the workers: starts them, listens to how they are, replaces those that are not
well, ends them.

All workers accept connections from one socket, on which the parent listens without
SO_REUSEPORT. So a second service on the port is refused, and what waits to be accepted is lost
with no worker: whichever is ready takes it.

Each worker (service.worker) is a new Python process, not a fork: the parent has threads, and a
fork copies the locks that they hold. A channel joins it to the parent, a socket pair. The
worker says a word a second on it, and ends when the parent's end is closed, however the parent
ended. A channel asks more of a worker than a live process, and less than a request: a request
over the socket would come to whichever worker accepts first, and be a line in every log.

The parent's loop is one thread that waits for signals and channels, and looks at every worker
twice a second.
"""

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from shopwindow.problems import Failure
from shopwindow.service import systemd

READY, WELL, STUCK = b"R", b".", b"!"
"""What a worker says: it answers requests from now on; it is well; no thread of it has ended a
request lately.
"""

STOP = b"S"
"""What a parent says: accept no more, answer what is in flight, and end."""

TRACEBACKS = signal.SIGUSR1
"""At which a worker writes the tracebacks of all its threads to standard error, though Python
stands still.
"""

TICK_SECONDS = 0.5
"""Between two looks at the workers."""

SILENCE_SECONDS = 5.0
"""Of a worker that is well, at most: it says a word a second."""

START_SECONDS = 120.0
"""For a worker to be ready: a large release is loaded in seconds, though not on a machine that
swaps.
"""

DRAIN_SECONDS = 30.0
"""For requests in flight: a write waits 10 s at most (database.database), and systemd's
TimeoutStopSec is 40.
"""

HOPELESS_SECONDS = 2.0
"""For a worker that says nothing: its tracebacks are written meanwhile, and one that was only
late may still answer.
"""

PAUSES = (0.0, 0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before a worker is started again, by how many in a row have ended early."""

STEADY_SECONDS = 60.0
"""After which a worker's end says nothing about the next one's."""

OF_THE_GROUP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that systemd and terminals send to all processes of a service. They are the parent's
to act upon.
"""

WATCHED = (*OF_THE_GROUP, signal.SIGCHLD)

Command = Callable[[int, int, int], Sequence[str]]
"""What starts a worker, given its number and the file descriptors of the listener and the
channel.
"""


@dataclass(eq=False)
class Worker:
    """A process, what it said last, and until when it may stay."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    began: float
    heard: float
    is_ready: bool = False
    is_stuck: bool = False
    ends_by: float | None = None
    """When the process is killed (time.monotonic); None: it is to stay."""

    def stop(self, seconds: float) -> None:
        """Ask it to end, once; what it is doing may take so long."""
        if self.ends_by is None:
            self.ends_by = time.monotonic() + seconds
            with suppress(OSError):  # it has ended
                self.channel.send(STOP, socket.MSG_DONTWAIT)


@dataclass(eq=False)
class Slot:
    """A worker's place: the one that answers, and the one that is to answer in its stead once
    it is ready.
    """

    number: int
    worker: Worker | None = None
    newcomer: Worker | None = None
    failures: int = 0
    next_start: float = 0.0


@dataclass(eq=False)
class Supervisor:
    """Keeps the workers of a service at work on ``listener``.

    ``report`` takes a line about what an operator should look at, ``inform`` one about what
    goes as it should.
    """

    listener: socket.socket
    command: Command
    number: int
    report: Callable[[str], None]
    inform: Callable[[str], None]

    slots: list[Slot] = field(init=False)
    leaving: list[Worker] = field(init=False, default_factory=list)
    to_reload: list[Slot] = field(init=False, default_factory=list)
    was_ready: bool = field(init=False, default=False)
    """Whether any worker ever was."""
    is_serving: bool = field(init=False, default=False)
    """Whether all workers have been ready."""
    is_reloading: bool = field(init=False, default=False)
    is_stopping: bool = field(init=False, default=False)
    looked: float = field(init=False, default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.slots = [Slot(number) for number in range(self.number)]

    @property
    def address(self) -> str:
        """Where the service listens: an address and a port, or a path."""
        name = self.listener.getsockname()
        return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else str(name)

    def run(self, signals: socket.socket) -> None:
        """Keep the workers at work until a signal ends them; SIGHUP replaces them one by one.

        ``signals``: what watched_signals gave. Raises Failure where no worker can be started at
        all.
        """
        watchdog = "WATCHDOG_USEC" in os.environ
        try:
            while not self.is_stopping or self._all():
                channels = [worker.channel for worker in self._all()]
                select.select([signals, *channels], [], [], TICK_SECONDS)
                self._obey(signals)
                self._listen()
                self._bury()
                self._look()
                if watchdog:
                    systemd.notify(systemd.WATCHDOG)
        finally:
            for worker in self._all():  # after a failure of the parent's own
                worker.process.kill()
                worker.process.wait()
                worker.channel.close()

    # -- a step of the loop --------------------------------------------------------------------

    def _obey(self, signals: socket.socket) -> None:
        with suppress(BlockingIOError):
            for number in signals.recv(64):
                if number in (signal.SIGTERM, signal.SIGINT):
                    self._stop()
                elif number == signal.SIGHUP and not self.is_stopping:
                    self._reload()

    def _listen(self) -> None:
        """Take what the workers have said. All is taken before any is judged: the parent itself
        may have been late.
        """
        now = time.monotonic()
        for worker in self._all():
            with suppress(OSError):  # nothing was said, or the worker has ended
                while words := worker.channel.recv(4096, socket.MSG_DONTWAIT):
                    worker.heard = now
                    worker.is_ready = worker.is_ready or READY in words
                    self.was_ready = self.was_ready or worker.is_ready
                    worker.is_stuck = words.endswith(STUCK)

    def _bury(self) -> None:
        """Let go of workers that have ended, whether they were to or not."""
        for worker in [worker for worker in self._all() if worker.process.poll() is not None]:
            worker.channel.close()
            if worker in self.leaving:
                self.leaving.remove(worker)
                continue
            slot = next(slot for slot in self.slots if worker in (slot.worker, slot.newcomer))
            if not self.is_stopping:
                self._mourn(slot, worker)
            if slot.newcomer is worker:
                slot.newcomer = None
            else:
                slot.worker = None

    def _mourn(self, slot: Slot, worker: Worker) -> None:
        """Say that a worker ended by itself, and when the next is started.

        Raises Failure where none was ever ready and this one gave up by itself: the next would,
        too. One that was killed says nothing about the next.
        """
        how = _how_it_ended(worker.process.returncode)
        if not self.was_ready and worker.process.returncode > 0:
            raise Failure(
                f"worker {slot.number + 1} ended while it started ({how}); its reason stands above"
            )
        if slot.newcomer is worker and slot.worker is not None:
            self.to_reload.clear()
            self.report(
                f"worker {slot.number + 1} cannot be replaced ({how}); the one before it goes on"
            )
            return
        is_steady = time.monotonic() - worker.began > STEADY_SECONDS
        slot.failures = 0 if is_steady else slot.failures + 1
        pause = PAUSES[min(slot.failures, len(PAUSES) - 1)]
        slot.next_start = time.monotonic() + pause
        when = f"in {pause:g} s" if pause else "now"
        self.report(f"worker {slot.number + 1} ended ({how}); another is started {when}")

    def _look(self) -> None:
        """Replace who is not well, go on with a reload, and kill who was to end by now."""
        now = time.monotonic()
        late = max(0.0, now - self.looked - 2 * TICK_SECONDS)
        self.looked = now
        for worker in self._all():
            worker.heard += late  # the machine stood still, or was overloaded: the workers were late as well
        for worker in self._all():
            if worker.ends_by is not None and now > worker.ends_by:
                self.report(
                    f"a worker (process {worker.process.pid}) did not end in time and is killed"
                )
                worker.process.kill()
                worker.ends_by = (
                    now + DRAIN_SECONDS
                )  # a process that the kernel holds is killed again
        if self.is_stopping:
            return
        for slot in self.slots:
            self._look_at(slot, now)
        if not self.is_serving and all(
            slot.worker and slot.worker.is_ready for slot in self.slots
        ):
            self.is_serving = True
            self.inform(
                f"{self.number} {'workers answer' if self.number > 1 else 'worker answers'} at {self.address}"
            )
            systemd.notify(systemd.READY)
        self._go_on_reloading()

    def _look_at(self, slot: Slot, now: float) -> None:
        for worker in [worker for worker in (slot.worker, slot.newcomer) if worker is not None]:
            silent = now - worker.heard
            limit = SILENCE_SECONDS if worker.is_ready else START_SECONDS
            if worker.is_stuck or silent > limit:
                why = (
                    f"has answered nothing for {SILENCE_SECONDS:g} s"
                    if worker.is_ready
                    else "does not get ready"
                )
                self.report(
                    f"worker {slot.number + 1} (process {worker.process.pid}) {why}; another takes its place"
                )
                worker.process.send_signal(TRACEBACKS)
                worker.stop(HOPELESS_SECONDS if silent > limit else DRAIN_SECONDS)
                self._leave(slot, worker)
        if slot.newcomer is not None and slot.newcomer.is_ready:
            before, slot.worker, slot.newcomer = slot.worker, slot.newcomer, None
            if before is not None:
                before.stop(DRAIN_SECONDS)
                self.leaving.append(before)
        if slot.worker is None and slot.newcomer is None and now >= slot.next_start:
            slot.worker = self._started(slot)

    def _leave(self, slot: Slot, worker: Worker) -> None:
        self.leaving.append(worker)
        if slot.worker is worker:
            slot.worker = None
        else:
            slot.newcomer = None

    # -- starting, reloading, stopping ---------------------------------------------------------

    def _started(self, slot: Slot) -> Worker | None:
        """A new worker; None where the system lacks what a process needs. It is tried again."""
        try:
            return self._start(slot)
        except OSError as error:
            pause = PAUSES[-1] if self.is_serving else PAUSES[2]
            slot.next_start = time.monotonic() + pause
            self.report(
                f"worker {slot.number + 1} cannot be started ({error}); it is tried again in {pause:g} s"
            )
            return None

    def _start(self, slot: Slot) -> Worker:
        ours, theirs = socket.socketpair()
        passed = (self.listener.fileno(), theirs.fileno())
        command = self.command(slot.number, *passed)
        signal.pthread_sigmask(
            signal.SIG_BLOCK, OF_THE_GROUP
        )  # which the worker inherits, until it ignores them
        try:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=passed)
        except OSError:
            ours.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, OF_THE_GROUP)
            theirs.close()
        now = time.monotonic()
        return Worker(process, ours, began=now, heard=now)

    def _reload(self) -> None:
        """Replace every worker by one that reads the program anew. One after another: two at
        once need more memory.
        """
        if self.is_serving:
            systemd.notify(systemd.reloading())
            self.is_reloading = True
            self.to_reload = list(self.slots)

    def _go_on_reloading(self) -> None:
        if not self.is_reloading or any(slot.newcomer for slot in self.slots):
            return
        if self.to_reload:
            slot = self.to_reload.pop(0)
            slot.newcomer = self._started(slot)
        else:
            self.is_reloading = False
            systemd.notify(systemd.READY)

    def _stop(self) -> None:
        """Let the workers end. With the last of them nobody listens any more, unless systemd
        does.
        """
        if not self.is_stopping:
            self.is_stopping = True
            systemd.notify(systemd.STOPPING)
            self.listener.close()
            for worker in self._all():
                worker.stop(DRAIN_SECONDS)

    def _all(self) -> list[Worker]:
        at_work = [
            worker
            for slot in self.slots
            for worker in (slot.worker, slot.newcomer)
            if worker is not None
        ]
        return at_work + self.leaving


def _how_it_ended(status: int) -> str:
    """The end of a process, as subprocess has it: its status, or a signal's number below zero."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:  # a real-time signal
        return f"signal {-status}"


@contextmanager
def watched_signals() -> Iterator[socket.socket]:
    """A socket on which the number of each signal comes as a byte (signal.set_wakeup_fd): none
    is missed by a wait.

    Afterwards the signals that end a service are ignored. It is ending already, and Python
    would put back their default while it closes down: one that came again would then make a
    failure of a normal end.
    """
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    writing.setblocking(False)
    before = {number: signal.signal(number, lambda *_: None) for number in WATCHED}
    signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if number in OF_THE_GROUP else handler)
        reading.close()
        writing.close()
