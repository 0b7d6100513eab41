"""The parent of the workers: it starts them, watches them, replaces them and ends them.

How this works. All workers accept connections from one socket, on which the parent
listens without SO_REUSEPORT. So a second service on the port is refused, and a waiting
connection is lost with no worker: whichever worker is ready accepts it.

Each worker (service.worker) is a new Python process and not a fork, because the parent
has threads, and a fork would copy the locks that they hold. A channel, which is a pair
of sockets, joins it to the parent. Once a second the worker sends a byte that says how
it is. It ends when the parent's end of the channel is closed, however the parent ended.

A byte on a channel proves more than a process that exists, and less than a request that
is answered. But a request over the socket would reach whichever worker accepts it
first, and would be a line in every log.

The parent's loop (`Supervisor.run`) is one thread. It waits for signals and channels,
and looks at every worker twice a second. Its steps are in this order: signals, then all
that workers have sent, then workers that have ended, and only then does it judge who is
silent or late.
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
from shopwindow.service.companion import Companion

READY, WELL, STUCK = b"R", b".", b"!"
"""What a worker sends: it begins to answer requests; it is well; it has answered
nothing for some seconds (worker.STUCK_SECONDS).
"""

STOP = b"S"
"""What the parent sends: accept no more, answer what is in flight, and end."""

TRACEBACKS_SIGNAL = signal.SIGUSR1
"""At which a worker writes the tracebacks of all its threads to standard error, even
while Python stands still.
"""

TICK_SECONDS = 0.5
"""Time between two looks at the workers, at most: a signal or a byte comes sooner."""

MAX_SILENCE_SECONDS = 5.0
"""How long a worker may be silent. One that is well sends a byte a second."""

START_SECONDS = 120.0
"""How long a worker may take to be ready. A large release is loaded in seconds, but not
on a machine that swaps.
"""

DRAIN_SECONDS = 30.0
"""How long requests in flight may take. A write waits 10 s at most (database.database), and systemd
kills the service after 40 s (TimeoutStopSec of our unit).
"""

SILENT_DRAIN_SECONDS = 2.0
"""How long requests in flight of a silent worker may take. Its tracebacks are written
meanwhile, and a worker that was only late may still answer.
"""

RESTART_PAUSES = (0.0, 0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before a worker is started again, by how many in a row have ended early. A
worker that ends once is replaced at once; one that ends again and again costs little
processor time.
"""

STEADY_SECONDS = 60.0
"""A worker that ends after this time has not ended early."""

GROUP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that systemd and terminals send to all processes of a service. Only the
parent acts upon them.
"""

WATCHED_SIGNALS = (*GROUP_SIGNALS, signal.SIGCHLD)
"""Signals that wake the parent's loop. SIGCHLD does no more than that: a process has
ended.
"""

WorkerCommand = Callable[[int, int, int], Sequence[str]]
"""Returns a worker's command line, by its number, the listener and the channel (both as
file descriptors).
"""


@dataclass(eq=False)
class WorkerProcess:
    """A worker's process, with what it has sent and when it must have ended."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    """The parent's end of the channel."""
    began: float
    last_heard: float
    """When it last sent a byte (time.monotonic)."""
    is_ready: bool = False
    is_stuck: bool = False
    ends_by: float | None = None
    """When the process is killed (time.monotonic); None: it is to stay."""

    def stop(self, seconds: float) -> None:
        """Order the worker to end, once. Its requests in flight may take ``seconds``."""
        if self.ends_by is None:
            self.ends_by = time.monotonic() + seconds
            with suppress(OSError):  # it has ended
                self.channel.send(STOP, socket.MSG_DONTWAIT)


@dataclass(eq=False)
class Slot:
    """A worker's place: the process that answers, and in a reload the one that will."""

    number: int
    """It counts from 0; messages count from 1."""
    worker: WorkerProcess | None = None
    successor: WorkerProcess | None = None
    """Takes the place of ``worker`` once it is ready."""
    failures: int = 0
    """How many processes in a row have ended early."""
    next_start: float = 0.0
    """Before which no process is started (time.monotonic)."""

    def processes(self) -> list[WorkerProcess]:
        return [
            worker for worker in (self.worker, self.successor) if worker is not None
        ]


@dataclass(eq=False)
class Supervisor:
    """Runs ``number`` workers on ``listener``.

    ``report`` takes a sentence about what an operator should look at, ``inform`` one
    about what goes as it should.
    """

    listener: socket.socket
    command: WorkerCommand
    number: int
    report: Callable[[str], None]
    inform: Callable[[str], None]
    companion: Companion | None = None
    """What runs beside the workers, if anything does."""

    slots: list[Slot] = field(init=False)
    retired: list[WorkerProcess] = field(init=False, default_factory=list)
    """Processes that have been ordered to end, or are no longer waited for."""
    to_reload: list[Slot] = field(init=False, default_factory=list)
    """Whose workers a reload has still to replace."""
    was_ready: bool = field(init=False, default=False)
    """Whether any worker has ever been ready."""
    is_serving: bool = field(init=False, default=False)
    """Whether all workers have been ready at one moment."""
    is_reloading: bool = field(init=False, default=False)
    is_stopping: bool = field(init=False, default=False)
    checked: float = field(init=False, default_factory=time.monotonic)
    """When the workers were last judged (time.monotonic)."""

    def __post_init__(self) -> None:
        self.slots = [Slot(number) for number in range(self.number)]

    @property
    def address(self) -> str:
        """Where the service listens: `host:port`, or a path."""
        name = self.listener.getsockname()
        return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else str(name)

    def run(self, signals: socket.socket) -> None:
        """Run the workers until SIGTERM or SIGINT; SIGHUP replaces them one by one.

        ``signals`` is the socket of watched_signals. Raises Failure where the first
        worker cannot start.
        """
        watchdog = "WATCHDOG_USEC" in os.environ
        try:
            while not self.is_stopping or self._processes():
                channels = [worker.channel for worker in self._processes()]
                select.select([signals, *channels], [], [], TICK_SECONDS)
                self._obey(signals)
                self._listen()
                self._remove_ended()
                self._check()
                if watchdog:
                    systemd.notify(systemd.WATCHDOG)
        finally:
            if self.companion:
                self.companion.end()
            # Some are left only after a fault of the parent's own.
            for worker in self._processes():
                worker.process.kill()
                worker.process.wait()
                worker.channel.close()

    # -- a step of the loop ------------------------------------------------------------

    def _obey(self, signals: socket.socket) -> None:
        """Act upon the signals that have come."""
        with suppress(BlockingIOError):
            for number in signals.recv(64):
                if number in (signal.SIGTERM, signal.SIGINT):
                    self._stop()
                elif number == signal.SIGHUP and not self.is_stopping:
                    self._reload()

    def _listen(self) -> None:
        """Receive all that workers have sent.

        It comes before any worker is judged: where the parent itself was late, bytes of
        workers that are well are waiting here.
        """
        now = time.monotonic()
        for worker in self._processes():
            with suppress(OSError):  # it has sent nothing, or has ended
                while states := worker.channel.recv(4096, socket.MSG_DONTWAIT):
                    worker.last_heard = now
                    worker.is_ready = worker.is_ready or READY in states
                    self.was_ready = self.was_ready or worker.is_ready
                    worker.is_stuck = states.endswith(STUCK)

    def _remove_ended(self) -> None:
        """Remove processes that have ended, whether they were ordered to or not."""
        ended = [
            worker for worker in self._processes() if worker.process.poll() is not None
        ]
        for worker in ended:
            worker.channel.close()
            if worker in self.retired:
                self.retired.remove(worker)
                continue
            slot = next(slot for slot in self.slots if worker in slot.processes())
            if not self.is_stopping:
                self._report_end(slot, worker)
            if slot.successor is worker:
                slot.successor = None
            else:
                slot.worker = None

    def _report_end(self, slot: Slot, worker: WorkerProcess) -> None:
        """Report that a worker ended by itself, and set when the next one is started.

        Raises Failure where no worker was ever ready and this one exited by itself: the
        next one would do the same. A worker that was killed says nothing about the next
        one.
        """
        how = _describe_end(worker.process.returncode)
        if not self.was_ready and worker.process.returncode > 0:
            raise Failure(
                f"worker {slot.number + 1} ended while it started ({how}); its reason stands above"
            )
        if slot.successor is worker and slot.worker is not None:
            self.to_reload.clear()
            self.report(
                f"worker {slot.number + 1} cannot be replaced ({how}); the one before it goes on"
            )
            return
        is_steady = time.monotonic() - worker.began > STEADY_SECONDS
        slot.failures = 0 if is_steady else slot.failures + 1
        pause = RESTART_PAUSES[min(slot.failures, len(RESTART_PAUSES) - 1)]
        slot.next_start = time.monotonic() + pause
        when = f"in {pause:g} s" if pause else "now"
        self.report(
            f"worker {slot.number + 1} ended ({how}); another is started {when}"
        )

    def _check(self) -> None:
        """Kill workers that should have ended, replace sick ones, continue a reload."""
        now = time.monotonic()
        # Where the parent was late, the machine stood still or was overloaded. The
        # workers were late as well, and are given that time.
        late = max(0.0, now - self.checked - 2 * TICK_SECONDS)
        self.checked = now
        for worker in self._processes():
            worker.last_heard += late

        for worker in self._processes():
            if worker.ends_by is not None and now > worker.ends_by:
                self.report(
                    f"a worker (process {worker.process.pid}) did not end in time and is killed"
                )
                worker.process.kill()
                # a process that the kernel holds survives this, and is killed again
                worker.ends_by = now + DRAIN_SECONDS

        if self.is_stopping:
            return
        if self.companion:
            self.companion.look()
        for slot in self.slots:
            self._check_slot(slot, now)
        if not self.is_serving:
            self._begin_serving()
        self._continue_reload()

    def _begin_serving(self) -> None:
        """Inform the operator and systemd once all workers are ready."""
        if all(slot.worker and slot.worker.is_ready for slot in self.slots):
            self.is_serving = True
            answer = "workers answer" if self.number > 1 else "worker answers"
            self.inform(f"{self.number} {answer} at {self.address}")
            systemd.notify(systemd.READY)

    def _check_slot(self, slot: Slot, now: float) -> None:
        """Retire sick processes of a slot, promote a ready successor, fill the slot."""
        for worker in slot.processes():
            self._check_health(slot, worker, now)

        if slot.successor is not None and slot.successor.is_ready:
            previous, slot.worker, slot.successor = slot.worker, slot.successor, None
            if previous is not None:
                previous.stop(DRAIN_SECONDS)
                self.retired.append(previous)

        if slot.worker is None and slot.successor is None and now >= slot.next_start:
            slot.worker = self._try_to_start(slot)

    def _check_health(self, slot: Slot, worker: WorkerProcess, now: float) -> None:
        """Retire a worker that is stuck, silent, or not ready in time."""
        limit = MAX_SILENCE_SECONDS if worker.is_ready else START_SECONDS
        is_silent = now - worker.last_heard > limit
        if not worker.is_stuck and not is_silent:
            return

        fault = (
            f"has answered nothing for {MAX_SILENCE_SECONDS:g} s"
            if worker.is_ready
            else "does not get ready"
        )
        self.report(
            f"worker {slot.number + 1} (process {worker.process.pid}) {fault}; another takes its place"
        )
        worker.process.send_signal(TRACEBACKS_SIGNAL)
        worker.stop(SILENT_DRAIN_SECONDS if is_silent else DRAIN_SECONDS)
        self.retired.append(worker)
        if slot.worker is worker:
            slot.worker = None
        else:
            slot.successor = None

    # -- starting, reloading, stopping -------------------------------------------------

    def _try_to_start(self, slot: Slot) -> WorkerProcess | None:
        """Return a new worker; None where the system cannot start one.

        Then the slot has the time of the next try.
        """
        try:
            return self._start(slot)
        except OSError as error:
            pause = RESTART_PAUSES[-1] if self.is_serving else RESTART_PAUSES[2]
            slot.next_start = time.monotonic() + pause
            self.report(
                f"worker {slot.number + 1} cannot be started ({error}); it is tried again in {pause:g} s"
            )
            return None

    def _start(self, slot: Slot) -> WorkerProcess:
        ours, theirs = socket.socketpair()
        passed = (self.listener.fileno(), theirs.fileno())
        command = self.command(slot.number, *passed)
        # A worker inherits the block. It lifts it once it ignores these signals, so
        # that none ends it before.
        signal.pthread_sigmask(signal.SIG_BLOCK, GROUP_SIGNALS)
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, pass_fds=passed
            )
        except OSError:
            ours.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, GROUP_SIGNALS)
            theirs.close()
        now = time.monotonic()
        return WorkerProcess(process, ours, began=now, last_heard=now)

    def _reload(self) -> None:
        """Begin to replace every worker by a process that loads the program again.

        They are replaced one after another, so memory is needed for only one process
        more.
        """
        if self.is_serving:
            systemd.notify(systemd.reloading())
            self.is_reloading = True
            self.to_reload = list(self.slots)

    def _continue_reload(self) -> None:
        """Start the next successor once the one before it has taken its place."""
        if not self.is_reloading or any(slot.successor for slot in self.slots):
            return
        if self.to_reload:
            slot = self.to_reload.pop(0)
            slot.successor = self._try_to_start(slot)
        else:
            self.is_reloading = False
            systemd.notify(systemd.READY)

    def _stop(self) -> None:
        """Order all workers to end.

        With the last one the address becomes free, unless systemd listens there itself.
        """
        if not self.is_stopping:
            self.is_stopping = True
            systemd.notify(systemd.STOPPING)
            self.listener.close()
            if self.companion:
                self.companion.stop()
            for worker in self._processes():
                worker.stop(DRAIN_SECONDS)

    def _processes(self) -> list[WorkerProcess]:
        at_work = [worker for slot in self.slots for worker in slot.processes()]
        return at_work + self.retired


def _describe_end(status: int) -> str:
    """Describe how a process ended. ``status``: subprocess's; below 0 is a signal."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:  # a real-time signal
        return f"signal {-status}"


@contextmanager
def watched_signals() -> Iterator[socket.socket]:
    """Receive signals as bytes on a socket, each with its number
    (signal.set_wakeup_fd).

    So a select notices every signal, even one that comes just before it.

    Afterwards the signals that end a service are ignored. The service is ending
    already, and Python restores their default while it closes down: a second signal
    would then turn a normal end into a failure.
    """
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    writing.setblocking(False)
    previous = {
        number: signal.signal(number, lambda *_: None) for number in WATCHED_SIGNALS
    }
    signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(-1)
        for number, handler in previous.items():
            signal.signal(
                number, signal.SIG_IGN if number in GROUP_SIGNALS else handler
            )
        reading.close()
        writing.close()
