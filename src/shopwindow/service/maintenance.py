"""What has to be done again and again: build, mail, prune, prune the database, back up.

Each job is a command of this program, run in a process of its own: one that crashes, hangs or
needs too much memory takes none of the others with it, and what it does is what the command
does. A job that was done already does nothing the next time, so a timer may come as often as it
likes. Two runs take turns, by a lock beside the releases.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from shopwindow.problems import Failure, cut
from shopwindow.release.publish import Releases
from shopwindow.service.database.address import sqlite_path
from shopwindow.service.smtp import smtp_server

PROBLEMS = 1
"""The build's exit status for content that has problems: its first line is the first of them.
"""

NOT_ACTIVATED = 3
"""The build's exit status for a release that was written, but not made current: `current` is
pinned.
"""

ONE_LINE = 300
"""Characters of a job's line. A terminal and a journal show that many without trouble."""

LOCK_FILE = ".maintain"
LOCK_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Plan:
    """How the jobs are done. Folders as paths; ``database`` is a URL, ``log_dir`` and
    ``backups`` may be empty: none.

    ``build``: "due" builds once nextChange has passed, or where there is no release; "always"
    looks at the content each time. ``keep``: releases; ``copies``: backups; ``bags``, ``mails``
    and ``logs``: days; None: what their tables say. ``seconds``: how long a job may take;
    ``wait``: how long another run is waited for.
    """

    content: Path
    out: Path
    database: str
    log_dir: str
    templates: str
    backups: str
    build: str = "due"
    keep: int = 10
    copies: int = 14
    bags: int | None = None
    mails: int | None = None
    logs: int = 30
    seconds: float = 3600
    wait: float = 600


@dataclass(frozen=True)
class Report:
    """What became of a job: "done", "not due", "not set up" or "failed", one line on it, and
    all that it printed.
    """

    job: str
    outcome: str
    line: str
    seconds: float
    printed: str = ""

    @property
    def failed(self) -> bool:
        return self.outcome == "failed"

    def __str__(self) -> str:
        return f"{self.job}: {self.outcome}: {self.line} ({self.seconds:.1f} s)"


@dataclass(frozen=True)
class Skipped(Exception):
    """A job that has nothing to do: why, in the two parts of a report."""

    outcome: str
    line: str


JobArguments = Callable[[Plan, datetime], Sequence[str]]
"""The arguments for this program, or Skipped."""


def maintain(plan: Plan, jobs: Sequence[str], now: datetime) -> Iterator[Report]:
    """Do the jobs in the order of MAINTENANCE_JOBS, and report each when it is done. A job that fails does
    not stop the others.

    Raises Failure where another run is not done in time.
    """
    with _turn(plan):
        for job, command in MAINTENANCE_JOBS.items():
            if job in jobs:
                yield _report(job, command, plan, now)


def _report(job: str, command: JobArguments, plan: Plan, now: datetime) -> Report:
    started = time.monotonic()
    try:
        arguments = command(plan, now)
        status, printed = _run(arguments, plan)
        if status == 0 and job == "backup":
            _drop_old_backups(plan)
    except Skipped as skipped:
        return Report(job, skipped.outcome, skipped.line, time.monotonic() - started)
    except (Failure, OSError) as failure:
        return Report(job, "failed", _one_line([str(failure)]), time.monotonic() - started)
    lines = [line for line in printed.splitlines() if line.strip()]
    good = status == 0 or (job == "build" and status == NOT_ACTIVATED)
    line = _said(lines, status, good=good) or f"exit status {status}"
    return Report(
        job,
        "done" if good else "failed",
        line,
        time.monotonic() - started,
        "" if good else printed,
    )


def _said(lines: Sequence[str], status: int, *, good: bool) -> str:
    """What a command said, in one line: what it did, the first problem of the content, or what
    stopped it.
    """
    if good:
        return _one_line(
            [line for line in lines if not line.startswith(" ")]
        )  # what is indented are details
    return _one_line(lines[:1] if status == PROBLEMS else lines[-1:])


def _one_line(lines: Sequence[str]) -> str:
    return cut("; ".join(" ".join(line.split()) for line in lines), ONE_LINE)


def _run(arguments: Sequence[str], plan: Plan) -> tuple[int, str]:
    """Run a command of this program; its exit status and all that it printed. Raises Failure
    where it takes too long.

    The database's address, which may hold a password, goes by the environment: arguments can be
    read by all users.
    """
    environment = {
        **os.environ,
        "SHOPWINDOW_DATABASE": plan.database,
        "SHOPWINDOW_LOG_DIR": plan.log_dir,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "shopwindow", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,  # so that what it starts can be ended with it
    )
    try:
        printed, _ = process.communicate(timeout=plan.seconds)
    except subprocess.TimeoutExpired:
        raise Failure(
            f"not done after {plan.seconds:g} s, and ended; --timeout SECONDS gives it longer"
        ) from None
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    text = printed.decode(errors="replace")
    if process.returncode < 0:
        text += f"\nended by signal {signal.Signals(-process.returncode).name}"
    return process.returncode, text


@contextmanager
def _turn(plan: Plan) -> Iterator[None]:
    """While no other run is at work. Raises Failure."""
    import fcntl

    if not plan.out.is_dir():
        plan.out.mkdir(parents=True)
    deadline = time.monotonic() + plan.wait
    with open(plan.out / LOCK_FILE, "a", encoding="ascii") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Failure(
                        f"{plan.out}: another `shopwindow maintain` is not done after {plan.wait:g} s; nothing was done"
                    ) from None
                time.sleep(LOCK_POLL_SECONDS)
        yield


# -- the jobs ----------------------------------------------------------------------------------


def _build(plan: Plan, now: datetime) -> Sequence[str]:
    """A build, once the content changes by itself; in between others build: a pipeline, or an
    editor.
    """
    releases = Releases(plan.out)
    id = releases.current()
    if plan.build == "due" and id is not None:
        due = releases.manifest(id).next_change
        if now < datetime.fromisoformat(due):
            raise Skipped("not due", f"release {id[:12]} changes by itself at {due}")
    if not plan.content.is_dir():
        raise Failure(f"{plan.content}: there is no such folder; --content names the content")
    return ["build", "--content", str(plan.content), "--out", str(plan.out)]


def _mail(plan: Plan, now: datetime) -> Sequence[str]:
    if smtp_server(os.environ) is None:
        raise Skipped("not set up", "SHOPWINDOW_SMTP_HOST names no mail server")
    _needs_database(plan)
    return ["mail", "--once", "--templates", plan.templates]


def _prune(plan: Plan, now: datetime) -> Sequence[str]:
    if not (plan.out / "releases").is_dir():
        raise Skipped("not set up", f"{plan.out}: there is no release yet")
    return ["prune", "--keep", str(plan.keep), "--out", str(plan.out)]


def _prune_database(plan: Plan, now: datetime) -> Sequence[str]:
    _needs_database(plan)
    days = {"--bags": plan.bags, "--mails": plan.mails, "--logs": plan.logs}
    given = {name: number for name, number in days.items() if number is not None}
    return [
        "prune-database",
        *(word for name, number in given.items() for word in (name, str(number))),
    ]


def _backup(plan: Plan, now: datetime) -> Sequence[str]:
    """One file a day: a second run on the same day puts a newer copy in its place."""
    if not plan.backups:
        raise Skipped("not set up", "--backups names no folder")
    _needs_database(plan)
    if sqlite_path(plan.database) is None:
        raise Skipped(
            "not set up",
            "the database is PostgreSQL's: have pg_dump --format=custom run by a timer",
        )
    Path(plan.backups).mkdir(mode=0o700, parents=True, exist_ok=True)
    return [
        "backup",
        "--to",
        str(Path(plan.backups) / f"{BACKUP}{now.astimezone(UTC):%Y-%m-%d}{ENDING}"),
    ]


def _needs_database(plan: Plan) -> None:
    if not plan.database:
        raise Skipped("not set up", "SHOPWINDOW_DATABASE names no database")
    path = sqlite_path(plan.database)
    if path is not None and not path.exists():
        raise Skipped("not set up", f"{path} is not there yet; the service makes it")


BACKUP, ENDING = "shopwindow-", ".sqlite"


def _drop_old_backups(plan: Plan) -> None:
    """Delete all but the newest copies. Their names sort by day; no other file is touched."""
    day = "[0-9]" * 4 + "-[0-9][0-9]" * 2
    copies = sorted(Path(plan.backups).glob(f"{BACKUP}{day}{ENDING}"))
    for old in copies[: -plan.copies]:
        old.unlink(missing_ok=True)


MAINTENANCE_JOBS: Mapping[str, JobArguments] = {
    "build": _build,
    "mail": _mail,
    "backup": _backup,
    "prune": _prune,
    "prune-database": _prune_database,
}
"""In this order: what apps see first, and a copy of the database before anything is removed
from it.
"""


# -- for Prometheus ----------------------------------------------------------------------------


def write_metrics(path: Path, reports: Sequence[Report], now: datetime) -> None:
    """Put how the jobs ended into a file for node_exporter's textfile collector, whole or not
    at all.

    A job that was not run this time keeps its lines: the timers run different jobs. Raises
    OSError.
    """
    kept = _metrics_of(path)
    for report in reports:
        kept["shopwindow_job_failed", report.job] = float(report.failed)
        if report.outcome in ("done", "not due"):
            kept["shopwindow_job_last_success_timestamp_seconds", report.job] = round(
                now.timestamp()
            )
    lines = []
    for name, about in METRICS.items():
        lines += [f"# HELP {name} {about}", f"# TYPE {name} gauge"]
        values = sorted((job, value) for (which, job), value in kept.items() if which == name)
        lines += [f'{name}{{task="{job}"}} {value:.0f}' for job, value in values]
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    draft.write_text("\n".join(lines) + "\n", encoding="ascii")
    draft.chmod(0o644)  # node_exporter is another user's
    os.replace(draft, path)


def _metrics_of(path: Path) -> dict[tuple[str, str], float]:
    """What the file says until now; nothing where it is not there, or is not ours."""
    kept: dict[tuple[str, str], float] = {}
    with suppress(OSError, ValueError):
        for line in path.read_text(encoding="ascii").splitlines():
            name, _, rest = line.partition('{task="')
            job, _, value = rest.partition('"} ')
            if name in METRICS and job in MAINTENANCE_JOBS:
                kept[name, job] = float(value)
    return kept


METRICS = {
    "shopwindow_job_failed": "1 where the last run of a job of `shopwindow maintain` failed, else 0.",
    "shopwindow_job_last_success_timestamp_seconds": "When a job of `shopwindow maintain` was last done, or not due.",
}
