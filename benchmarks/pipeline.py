"""Minutes a month of the pipeline that `init --ci github` writes, beside another
program's: its steps as scripts, each job on a fresh clone, at a target that is a folder.

    python -m benchmarks.pipeline [--content DIR] [--pushes N] [--beside PYTHON]

PYTHON is the interpreter of an environment that has the other program. A job is timed
by the clock, once at a push and once by the schedule, where nothing has changed, and
multiplied by how often it runs in 30 days. GitHub counts each job as whole minutes. What
a runner does before is not measured: checkout, setup-python, and the installation, which
`--installs` names in seconds.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).resolve().parents[1]
WHEEL = f"https://files.example/shopwindow-0.3.0-py3-none-any.whl#sha256={'0123456789abcdef' * 4}"
DAYS = 30


@dataclass(frozen=True)
class Job:
    """A job: ``times`` in 30 days, so many seconds each."""

    name: str
    times: int
    seconds: float

    @property
    def minutes(self) -> int:
        return self.times * ceil(self.seconds / 60)


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Editor", "-c", "user.email=editor@shop.example")
    subprocess.run(
        ["git", "-C", folder, *who, *arguments], check=True, capture_output=True
    )


def hashed(digest: re.Match[str]) -> str:
    """Return another digest: everybody knows the keys of the sample."""
    return sha256(digest[0].encode()).hexdigest()


class Pipeline:
    """A repository that a program has begun, and the environment of its jobs."""

    def __init__(self, work: Path, python: str, content: Path | None) -> None:
        self.work, self.python = work, python
        self.origin = work / "origin"
        (work / "programs").mkdir(parents=True)
        for name, text in (
            ("pip", ""),
            ("shopwindow", f'exec {python} -m shopwindow "$@"'),
        ):
            (work / "programs" / name).write_text(f"#!/bin/sh\n{text}\n")
            (work / "programs" / name).chmod(0o755)
        begin = ["init", str(self.origin), "--ci", "github", "--wheel", WHEEL]
        subprocess.run(
            [python, "-m", "shopwindow", *begin], check=True, capture_output=True
        )
        if content:
            shutil.rmtree(self.origin / "content")
            shutil.copytree(content, self.origin / "content")
        for app in (self.origin / "content/apps").iterdir():  # keys of its own
            text = re.sub("(?<=- )[0-9a-f]{64}", hashed, app.read_text())
            app.write_text(text)
        git(self.origin, "init", "-b", "main")
        git(self.origin, "add", ".")
        git(self.origin, "commit", "-m", "Begin")
        path = self.origin / ".github/workflows/content.yml"
        paths = [path, *self.origin.glob(".github/workflows/*.yml")]
        self.text = next(each for each in paths if each.is_file()).read_text()
        self.jobs: dict[str, Any] = yaml.safe_load(self.text)["jobs"]

    def seconds(self, name: str) -> float:
        """Run a job in a fresh clone, and return how long it took without installing."""
        copy = self.work / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        environment = {
            **os.environ,
            "PATH": f"{self.work / 'programs'}:{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(copy / "home"),  # a runner remembers nothing
            "TARGET": f"file://{self.work / 'target'}",
            "ROLLBACK": "",
        }
        started = time.perf_counter()
        git(self.work, "clone", "--depth", "1", f"file://{self.origin}", str(copy))
        for step in self.jobs[name]["steps"]:
            if "run" not in step or "pull_request" in step.get("if", ""):
                continue
            done = subprocess.run(
                ["bash", "-eo", "pipefail", "-c", step["run"]],
                cwd=copy,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode and "named" not in step.get("name", ""):
                raise RuntimeError(f"{name}: {done.stdout[-900:]}{done.stderr[-900:]}")
        return time.perf_counter() - started

    def pushed(self) -> None:
        """Change the name of an event, as an editor does."""
        event = sorted((self.origin / "content/events").iterdir())[0]
        lines = event.read_text().splitlines(keepends=True)
        changed = [line.replace("name: ", "name: New ", 1) for line in lines]
        event.write_text("".join(changed))
        git(self.origin, "commit", "-am", "Edit")


def measured(pipeline: Pipeline, pushes: int, installs: float) -> Iterator[Job]:
    """Yield the jobs of a month, after a first publication."""
    often = "7-59/15 * * * *" in pipeline.text
    pipeline.seconds("publish")
    scheduled = pipeline.seconds("publish")
    pipeline.pushed()
    yield Job("release, at a push", pushes, installs + pipeline.seconds("release"))
    yield Job("publish, at a push", pushes, installs + pipeline.seconds("publish"))
    runs = DAYS * (24 * 4 + 1 if often else 1)
    yield Job("publish, by the schedule", runs, installs + scheduled)
    yield Job("renew, once a day", DAYS, installs + pipeline.seconds("renew"))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--content", type=Path, metavar="DIR")
    parser.add_argument("--pushes", type=int, default=100, metavar="N")
    parser.add_argument("--installs", type=float, default=30, metavar="SECONDS")
    parser.add_argument("--beside", metavar="PYTHON")
    given = parser.parse_args()
    programs = {"this": sys.executable}
    if given.beside:
        programs["other"] = given.beside
    what = "content" if given.content else "the sample content"
    print(f"{what}; {given.pushes} pushes in {DAYS} days\n")
    print("| Program | Job | Seconds | Runs | Minutes, whole a job |")
    print("|---|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory(prefix="shopwindow-pipeline-") as name:
        for program, python in programs.items():
            pipeline = Pipeline(Path(name, program), python, given.content)
            jobs = list(measured(pipeline, given.pushes, given.installs))
            for job in jobs:
                cells = f"{job.seconds:.1f} | {job.times:,} | {job.minutes:,}"
                print(f"| {program} | {job.name} | {cells} |")
            runs, minutes = (
                sum(getattr(job, each) for job in jobs) for each in ("times", "minutes")
            )
            print(f"| {program} | **all** | | {runs:,} | **{minutes:,}** |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
