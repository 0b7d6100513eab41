"""From a saved file to the findings on the screen, at 1,565 stores and 10,000 events.

    python -m benchmarks.preview [--events N] [--runs N] [--profile] [--work DIR]

A preview's workspace checks the content again after one event was saved: with nothing
wrong, and with a mistake. The median of the runs is printed beside the first check. The
data is that of `benchmarks.real_content`.
"""

import argparse
import cProfile
import pstats
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks import real_content
from shopwindow.preview.server import keep_out_of_collections
from shopwindow.preview.workspace import Workspace
from shopwindow.shop import INTERFACE

GOAL = 0.3
"""Seconds from a saved file to its findings, of which a person says: at once."""

OLD_SECONDS = 3.0
"""Files that changed less than two seconds ago are always read again."""


def seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def measured(workspace: Workspace, file: Path, runs: int) -> dict[str, float]:
    """Return the medians of checks after a file was saved, by what was saved."""
    text = file.read_text(encoding="utf-8")
    times: dict[str, list[float]] = {"a sound edit": [], "a mistake": []}
    for number in range(runs):
        file.write_text(f"{text}# edit {number}\n", encoding="utf-8")
        times["a sound edit"].append(seconds(workspace.refresh))
        assert workspace.snapshot.checked.problems == []
        file.write_text(text + f"mistaken: {number}\n", encoding="utf-8")
        times["a mistake"].append(seconds(workspace.refresh))
        assert len(workspace.snapshot.checked.problems) == 1
    file.write_text(text, encoding="utf-8")
    return {what: median(taken) for what, taken in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="where the time goes")
    parser.add_argument("--work", type=Path, help="keeps the content here")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = (options.work or Path(temporary)) / "content"
        if not folder.exists():
            data = real_content.read(real_content.data_folder())
            real_content.convert(data, folder, options.events, raw=False)
        time.sleep(OLD_SECONDS)
        out, cache = Path(temporary) / "dist", Path(temporary) / "cache"
        started = time.perf_counter()
        workspace = Workspace(INTERFACE, folder, out, cache)
        first = time.perf_counter() - started
        assert workspace.snapshot.checked.problems == []
        keep_out_of_collections()  # as the preview does
        file = sorted((folder / "events").glob("*.yaml"))[0]
        workspace.refresh()

        print("| What was saved | Seconds until the findings are there |")
        print("|---|---|")
        print(f"| (the first check) | {first:.2f} |")
        for what, taken in measured(workspace, file, options.runs).items():
            print(f"| {what} | {taken:.2f}{'' if taken < GOAL else f', over {GOAL}'} |")
        if options.profile:
            profile = cProfile.Profile()
            profile.runcall(workspace.refresh)
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
