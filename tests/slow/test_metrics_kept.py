"""What other servers' workers have noted of requests is written and counted when they end."""

from collections import Counter
from http.client import HTTPConnection
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest, multiprocess

from facts.conformance import PHONE
from harness.servers import ADDRESS, Server, ask, gunicorn, noted, own_server, printed
from harness.waits import PATIENCE
from shopwindow.service.metrics import FLUSH_NOTES

KEY = {"x-svc-webservice-client-id": PHONE}


EVENTS, NOWHERE = "/store/v1/events?storeId=1", "/nowhere"


def merged(folder: Path) -> dict[str, float]:
    """The metrics of requests that processes left in a folder."""
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry, path=str(folder))  # type: ignore[no-untyped-call]
    lines = [line.rpartition(" ") for line in generate_latest(registry).decode().splitlines() if line[0] != "#"]
    return {name: float(value) for name, _, value in lines if name.startswith("shopwindow_request")}


THREE = ("M0", "M1", "M2")


@pytest.mark.parametrize(
    ("how", "methods"),
    [("a process", ("M0",)), ("workers", THREE), ("its threads", THREE)],
    ids=lambda value: str(value),
)
@pytest.mark.parametrize("number", [3, FLUSH_NOTES * 20 + 5])
def test_all_that_was_noted_is_written_in_whole_lines_and_counted_when_a_process_ends(
    tmp_path: Path, how: str, methods: tuple[str, ...], number: int
) -> None:
    assert noted(tmp_path / "metrics", how, number) == {method: [*range(number)] for method in methods}
    counted = {name: value for name, value in merged(tmp_path / "metrics").items() if value}
    total, over = number * len(methods), ("0.003", "0.01", "0.03", "0.1", "0.3", "1.0", "3.0", "+Inf")
    assert counted == {
        'shopwindow_requests_total{operation="events_v1",status="200"}': total,
        'shopwindow_request_seconds_sum{operation="events_v1"}': pytest.approx(total * 0.002),
        'shopwindow_request_seconds_count{operation="events_v1"}': total,
        **{f'shopwindow_request_seconds_bucket{{le="{bound}",operation="events_v1"}}': total for bound in over},
    }


def asked(server: Server) -> None:
    """A hundred requests on ten connections, the server ended as soon as the last is answered."""
    connections = [HTTPConnection(ADDRESS, server.port, timeout=PATIENCE) for _ in range(10)]
    for number in range(100):
        ask(connections[number % 10], EVENTS if number % 4 else NOWHERE, KEY)
    server.process.terminate()
    server.process.wait(PATIENCE)


def logged(server: Server) -> Counter[tuple[str, int]]:
    """How many lines tell of an operation and status."""
    lines = [line for line in printed(server) if line["operation"] != "options"]
    return Counter((line["operation"], line["status"]) for line in lines)


ALL = {("events_v1", 200): 75, ("none", 404): 25}


def test_sigterm_loses_no_line_of_the_access_log(tmp_path: Path, out: Path) -> None:
    with own_server(tmp_path / "server", out, "--workers", "2") as server:
        asked(server)
        assert logged(server) == ALL


def test_sigterm_loses_no_line_and_no_count_of_another_server(tmp_path: Path, out: Path) -> None:
    folder = tmp_path / "counts"
    folder.mkdir()
    with gunicorn(tmp_path / "server", out, PROMETHEUS_MULTIPROC_DIR=str(folder), WEB_CONCURRENCY="2") as server:
        asked(server)
        assert logged(server) == ALL
    counts = merged(folder)
    counted = {pair: counts[f'shopwindow_requests_total{{operation="{pair[0]}",status="{pair[1]}"}}'] for pair in ALL}
    assert counted == ALL
