"""What has to be done again and again: build, mail, back up, prune, prune the database.

How this works. Each job is a command of this program, run in a process of its own. So a
job that crashes, hangs or needs too much memory does not affect the others, and a job
does exactly what its command does. A job that has nothing to do is skipped, so a timer
may run all of them as often as it likes. Two runs take turns, by a lock beside the
releases.
"""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from shopwindow.problems import Failure, cut
from shopwindow.release.releases import Releases
from shopwindow.service.database.address import sqlite_path
from shopwindow.service.smtp import smtp_server

PROBLEMS = 1
"""The build's exit status for content with problems; its first line is the first of
them.
"""

NOT_ACTIVATED = 3
"""The build's exit status where the release was written and not activated, for
`current` is pinned.
"""

MAX_JOB_LINE = 300
"""Characters of a job's line in a report. A terminal and a journal show that many well.
"""

LOCK_FILE = ".maintain"
"""Its name, in the folder of the releases."""

LOCK_POLL_SECONDS = 0.2
"""How often a run that waits for another one tries the lock, which costs one system
call.
"""


@dataclass(frozen=True)
class Plan:
    """How the jobs are done.

    ``content`` and ``out`` are the folders of the content and of the releases,
    ``templates`` and ``backups`` those of mail templates and of copies. ``database`` is
    a URL. An empty ``database``, ``log_dir`` or ``backups`` says that there is none.

    ``build`` is "due" (build once nextChange has passed, or where there is no release)
    or "always" (look at the content each time). ``keep`` is how many releases stay, and
    ``copies`` how many backups. ``lifetimes`` is for how many days rows of tables stay,
    by the option of their Aging, where an operator wants another time than their table
    has; ``logs`` is for how many days the mobile log stays. A job may take ``seconds``,
    and another run is waited for during ``wait`` seconds: the build of a large catalog
    takes minutes.
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
    lifetimes: Mapping[str, int] = field(default_factory=dict)
    logs: int = 30
    seconds: float = 3600
    wait: float = 600


@dataclass(frozen=True)
class Report:
    """What became of a job.

    ``outcome`` is "done", "not due", "not set up" or "failed", and ``line`` says more
    in one line. ``printed`` is all that a failed job printed.
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
    """A job has nothing to do: the outcome and the line of its report."""

    outcome: str
    line: str


JobArguments = Callable[[Plan, datetime], Sequence[str]]
"""Returns the arguments of this program that do a job now. Raises Skipped or Failure.
"""


def maintain(plan: Plan, jobs: Sequence[str], now: datetime) -> Iterator[Report]:
    """Do some jobs, in the order of MAINTENANCE_JOBS, and yield the report of each when
    it ends.

    A job that fails does not stop the others. Raises Failure where another run does not
    end in time.
    """
    with _turn(plan):
        for job, command in MAINTENANCE_JOBS.items():
            if job in jobs:
                yield _report(job, command, plan, now)


def _report(job: str, arguments_of: JobArguments, plan: Plan, now: datetime) -> Report:
    """Do one job, and report it."""
    started = time.monotonic()
    try:
        arguments = arguments_of(plan, now)
        status, printed = _run(arguments, plan)
        if status == 0 and job == "backup":
            _drop_old_backups(plan)
    except Skipped as skipped:
        return Report(job, skipped.outcome, skipped.line, time.monotonic() - started)
    except (Failure, OSError) as failure:
        return Report(
            job, "failed", _one_line([str(failure)]), time.monotonic() - started
        )

    seconds = time.monotonic() - started
    lines = [line for line in printed.splitlines() if line.strip()]
    is_done = status == 0 or (job == "build" and status == NOT_ACTIVATED)
    line = _summary(lines, status, is_done=is_done) or f"exit status {status}"
    if is_done:
        return Report(job, "done", line, seconds)
    return Report(job, "failed", line, seconds, printed)


def _summary(lines: Sequence[str], status: int, *, is_done: bool) -> str:
    """What a command printed, in one line: what it did, the first problem of the
    content, or what stopped it.
    """
    if is_done:
        return _one_line(
            [line for line in lines if not line.startswith(" ")]
        )  # no details
    return _one_line(lines[:1] if status == PROBLEMS else lines[-1:])


def _one_line(lines: Sequence[str]) -> str:
    return cut("; ".join(" ".join(line.split()) for line in lines), MAX_JOB_LINE)


def _run(arguments: Sequence[str], plan: Plan) -> tuple[int, str]:
    """Run a command of this program, and return its exit status and all that it
    printed.

    The database's address may hold a password, so it goes by the environment: all users
    can read a process's arguments. Raises Failure where the command takes too long, and
    ends it.
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
        start_new_session=True,  # so that the processes it starts can be ended with it
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
    """Hold the lock of maintenance. Raises Failure where another run does not end in
    time.
    """
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
                        f"{plan.out}: another `shopwindow maintain` is not done"
                        f" after {plan.wait:g} s; nothing was done"
                    ) from None
                time.sleep(LOCK_POLL_SECONDS)
        yield


# -- the jobs --------------------------------------------------------------------------


def _build(plan: Plan, now: datetime) -> Sequence[str]:
    """Build once the content changes by itself. In between, a pipeline or an editor
    builds.
    """
    releases = Releases(plan.out)
    id = releases.current()
    if plan.build == "due" and id is not None:
        due = releases.manifest(id).next_change
        if now < datetime.fromisoformat(due):
            raise Skipped("not due", f"release {id[:12]} changes by itself at {due}")
    if not plan.content.is_dir():
        raise Failure(
            f"{plan.content}: there is no such folder; --content names the content"
        )
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
    arguments = ["prune-database", "--logs", str(plan.logs)]
    for option, days in plan.lifetimes.items():
        arguments += ["--keep", f"{option}={days}"]
    return arguments


def _backup(plan: Plan, now: datetime) -> Sequence[str]:
    """Write one file a day; a second run on the same day replaces it by a newer copy."""
    if not plan.backups:
        raise Skipped("not set up", "--backups names no folder")
    _needs_database(plan)
    if sqlite_path(plan.database) is None:
        raise Skipped(
            "not set up",
            "the database is PostgreSQL's: have pg_dump --format=custom run by a timer",
        )
    Path(plan.backups).mkdir(mode=0o700, parents=True, exist_ok=True)
    name = f"{BACKUP_PREFIX}{now.astimezone(UTC):%Y-%m-%d}{BACKUP_ENDING}"
    return ["backup", "--to", str(Path(plan.backups) / name)]


def _needs_database(plan: Plan) -> None:
    """Raise Skipped where there is no database yet."""
    if not plan.database:
        raise Skipped("not set up", "SHOPWINDOW_DATABASE names no database")
    path = sqlite_path(plan.database)
    if path is not None and not path.exists():
        raise Skipped("not set up", f"{path} is not there yet; the service makes it")


BACKUP_PREFIX, BACKUP_ENDING = "shopwindow-", ".sqlite"
"""A copy is called by its day: shopwindow-2026-11-27.sqlite."""


def _drop_old_backups(plan: Plan) -> None:
    """Delete all but the newest copies. Their names sort by day; no other file is
    deleted.
    """
    day = "[0-9]" * 4 + "-[0-9][0-9]" * 2
    copies = sorted(Path(plan.backups).glob(f"{BACKUP_PREFIX}{day}{BACKUP_ENDING}"))
    for old in copies[: -plan.copies]:
        old.unlink(missing_ok=True)


MAINTENANCE_JOBS: Mapping[str, JobArguments] = {
    "build": _build,
    "mail": _mail,
    "backup": _backup,
    "prune": _prune,
    "prune-database": _prune_database,
}
"""The jobs in their order: what apps see comes first, and the database is copied before
anything is removed from it.
"""


# -- for Prometheus --------------------------------------------------------------------


def write_metrics(path: Path, reports: Sequence[Report], now: datetime) -> None:
    """Write how the jobs ended to a file for node_exporter's textfile collector.

    A job that was not run this time keeps its lines, for the timers run different jobs.
    The file is replaced in one step. Raises OSError.
    """
    values = _metrics_of(path)
    for report in reports:
        values[JOB_FAILED, report.job] = float(report.failed)
        if report.outcome in ("done", "not due"):
            values[JOB_SUCCEEDED, report.job] = round(now.timestamp())

    lines = []
    for name, about in JOB_METRICS.items():
        lines += [f"# HELP {name} {about}", f"# TYPE {name} gauge"]
        by_job = sorted(
            (job, value) for (metric, job), value in values.items() if metric == name
        )
        lines += [f'{name}{{task="{job}"}} {value:.0f}' for job, value in by_job]

    draft = path.with_name(f".{path.name}-{os.getpid()}")
    draft.write_text("\n".join(lines) + "\n", encoding="ascii")
    draft.chmod(0o644)  # node_exporter runs as another user
    os.replace(draft, path)


def _metrics_of(path: Path) -> dict[tuple[str, str], float]:
    """The values in the file, by metric and job; none where it is not there, or not
    ours.
    """
    values: dict[tuple[str, str], float] = {}
    with suppress(OSError, ValueError):
        for line in path.read_text(encoding="ascii").splitlines():
            name, _, rest = line.partition('{task="')
            job, _, value = rest.partition('"} ')
            if name in JOB_METRICS and job in MAINTENANCE_JOBS:
                values[name, job] = float(value)
    return values


JOB_FAILED = "shopwindow_job_failed"
JOB_SUCCEEDED = "shopwindow_job_last_success_timestamp_seconds"
JOB_METRICS = {
    JOB_FAILED: "1 where the last run of a job of `shopwindow maintain` failed, else 0.",
    JOB_SUCCEEDED: "When a job of `shopwindow maintain` was last done, or not due.",
}
"""The metrics of the jobs, and what their HELP lines say."""
