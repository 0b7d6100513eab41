"""A catalog checked and indexed by several workers: what each more of them wins, and what
the one process that writes leaves to them.

    python -m benchmarks.catalog_cluster [--size 50000] [--rounds 3]
        [--workers 1,local:2] [--cluster-folder s3://BUCKET/PREFIX]

The workers are processes of this machine, forked ones and those of a Dask cluster, and
take turns. Those of a cluster share a folder; with a target, they are measured a second
time, and share that alone. Only what they share is measured: no files are rendered. Processor time says
more than the clock where the machine has other things to do.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.catalog import SITE, STORES, feeds
from benchmarks.catalog_again import content
from benchmarks.measure import spread
from shopwindow import library
from shopwindow.catalog.index.building import CATALOG
from shopwindow.cluster.connected import connect
from shopwindow.content.executor import Executor, Processes
from shopwindow.delivery.passing import TargetObjects
from shopwindow.delivery.targets import parse
from shopwindow.shop import INTERFACE

WORKERS = ("1", "2", "local:1", "local:2")
"""Numbers of forked processes, and addresses of clusters."""

NAMES = {
    "1": "1 process",
    "2": "2 forked processes",
    "local:1": "1 worker of a cluster",
    "local:2": "2 workers of a cluster",
}
AT = "2026-11-24T12:00:00Z"
MEASURED = ("seconds", "writer", "workers")


Sharing = Callable[[], AbstractContextManager[Executor]]
"""Opens an Executor."""


@contextmanager
def executor_of(workers: str, content: Path) -> Iterator[Executor]:
    """Who shares the work.

    ``workers``: one of WORKERS; an address of a cluster may have a target behind it.
    """
    if workers.isdigit():
        yield Processes(int(workers))
        return
    address, _, target = workers.partition(" ")
    objects = TargetObjects(parse(target)) if target else None
    with connect(
        address, None, [content], lambda sentence: None, objects=objects
    ) as cluster:
        yield cluster


def one(folder: Path, out: Path, workers: str) -> dict[str, dict[str, float]]:
    """What the check and the index take, in this process and in the workers.

    Runs in a process of its own.
    """
    sharing = partial(executor_of, workers, folder)
    checked, check = _timed(
        sharing,
        lambda executor: library.check(INTERFACE, folder, at=AT, executor=executor),
    )
    assert checked.documents is not None, checked.problems[:3]
    live = library.live_at(INTERFACE, checked.documents, AT)
    given = checked.documents.feeds["catalog"]
    rows, index = _timed(
        sharing, lambda executor: CATALOG.build(given, live, out, executor=executor)
    )
    (out.parent / "rows").write_text(rows)
    return {"check": check, "index": index}


def _timed(
    sharing: Sharing, work: Callable[[Executor], Any]
) -> tuple[Any, dict[str, float]]:
    """Work with an Executor, and return the result and what it took, in seconds.

    The time of the workers has that of their start.
    """
    of_workers = _processor(resource.RUSAGE_CHILDREN)
    with sharing() as executor:
        own, started = _processor(resource.RUSAGE_SELF), time.perf_counter()
        result = work(executor)
        took = time.perf_counter() - started
        own = _processor(resource.RUSAGE_SELF) - own
    of_workers = _processor(resource.RUSAGE_CHILDREN) - of_workers
    return result, {"seconds": took, "writer": own, "workers": of_workers}


def _processor(whose: int) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def measured(folder: Path, work: Path, workers: str) -> dict[str, dict[str, float]]:
    """One round, in a process of its own; with the digest of the rows."""
    out = work / "catalog.sqlite"
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.catalog_cluster", "--one", workers]
    command += ["--folder", str(folder), "--out", str(out)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=50_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--workers", default=",".join(WORKERS), metavar="LIST")
    parser.add_argument("--cluster-folder", default="", metavar="TARGET")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.folder, given.out, given.one)))
        return 0
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        feeds(work / "feeds", given.size)
        content(work / "content", work / "feeds", SITE, STORES)
        cases = cases_of(given.workers.split(","), given.cluster_folder)
        report(given.size, given.rounds, work, cases)
    return 0


def cases_of(workers: Sequence[str], target: str) -> dict[str, str]:
    """What is measured, with a name of each; clusters a second time with a target."""
    cases = {who: NAMES[who] for who in workers}
    for who in workers:
        if target and not who.isdigit():
            cases[f"{who} {target}"] = f"{NAMES[who]}, through a target"
    return cases


def report(size: int, rounds: int, work: Path, cases: Mapping[str, str]) -> None:
    """Measure, taking turns, and print a Markdown table.

    Speed-ups are over the first case, and compare the least times: what else the machine does only adds to them.
    """
    took: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    rows = set()
    for _ in range(rounds):
        for workers in cases:
            for step, values in measured(work / "content", work, workers).items():
                for name, value in values.items():
                    took[step, workers, name].append(value)
            rows.add((work / "rows").read_text())
    print(f"{size:,} products, {rounds} rounds; the same rows: {len(rows) == 1}\n")
    print(
        "| Step | Workers | Seconds | Speed-up | Processor: writer | Processor: workers | Writer's share |"
    )
    print("|---|---|--:|--:|--:|--:|--:|")
    for step in ("check", "index"):
        alone = min(took[step, next(iter(cases)), "seconds"])
        for workers, words in cases.items():
            clock, writer, others = (took[step, workers, name] for name in MEASURED)
            share = median(writer) / (median(writer) + median(others))
            print(
                f"| {step} | {words} | {spread(clock, 1)} | {alone / min(clock):.2f} "
                f"| {spread(writer, 1)} | {spread(others, 1)} | {share:.2f} |"
            )


if __name__ == "__main__":
    sys.exit(main())
