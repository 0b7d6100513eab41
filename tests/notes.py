"""Requests noted by processes, threads and forked workers, and the log that they leave."""

import json
import subprocess
import sys
from pathlib import Path

from served import environment

NOTE = """
import sys
from multiprocessing import get_context
from threading import Thread
from shopwindow.interface.answer import Response
from shopwindow.service.metrics import Metrics
from shopwindow.service.serving import Exchange

def note(metrics, number, method):
    for length in range(number):
        metrics.note(Exchange(Response(200, "application/json", bytes(length)), "events_v1", "phone"), method, 0.002)

def fork(count, target):
    workers = [get_context("fork").Process(target=target, args=(f"M{worker}",)) for worker in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

how, number = sys.argv[1], int(sys.argv[2])
if how == "a process":
    note(Metrics(), number, "M0")
elif how == "its threads":
    metrics = Metrics()
    for thread in range(3):
        Thread(target=note, args=(metrics, number, f"M{thread}")).start()
elif how == "workers":
    fork(3, lambda method: note(Metrics(), number, method))
elif how == "workers forked afterwards":
    metrics = Metrics()
    note(metrics, 2, "M")
    fork(3, lambda method: note(metrics, number, method))
"""


def noted(folder: Path, how: str, number: int) -> dict[str, list[int]]:
    """The log of so many requests each, noted in some way, with one pipe for all: their bytes, by their method."""
    folder.mkdir()
    command = [sys.executable, "-c", NOTE, how, str(number)]
    env = environment(PROMETHEUS_MULTIPROC_DIR=str(folder))
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
    bytes_by_method: dict[str, list[int]] = {}
    for line in done.stdout.splitlines():
        line_of_log = json.loads(line)
        bytes_by_method.setdefault(line_of_log["method"], []).append(line_of_log["bytes"])
    return bytes_by_method
