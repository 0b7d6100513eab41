"""The conformance table holds over a real server and nginx; pre-rendered files are live answers."""

import os
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from facts.conformance import OLD_TABLET, PHONE, TABLET, differing
from harness import servers
from harness.content import SAMPLE, Json
from harness.program import manifest, nginx_configuration
from harness.servers import ADDRESS, AS_INSTALLED, Server, ask, free_port, own_server
from interface.test_conformance import BASES, base, outputs

__all__ = ["base", "outputs"]


@pytest.fixture(scope="module")
def live(outputs: dict[str, Path], base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real `serve`, as customers have it."""
    with own_server(tmp_path_factory.mktemp("own_server"), outputs[base], "--workers", "1", **AS_INSTALLED) as server:
        yield server


@pytest.fixture(scope="module")
def edge(outputs: dict[str, Path], base: str, live: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a real nginx in front of it."""
    keys = {PHONE: "phone", TABLET: "tablet", OLD_TABLET: "tablet"}
    port = free_port()
    written = nginx_configuration(outputs[base], keys, f"{ADDRESS}:{live.port}", f"{ADDRESS}:{port}")
    with servers.running_nginx(tmp_path_factory.mktemp("nginx"), written, port):
        yield port


def test_over_serve(live: Server, base: str) -> None:
    assert differing(live.port, base, BASES[base]) == []


def test_through_nginx(edge: int, base: str) -> None:
    cases = [case for case in BASES[base] if "%00" not in case.target.partition("?")[0]]  # nginx's own 400
    assert (len(cases) > 100, differing(edge, base, cases)) == (True, [])


def test_nginx_tells_no_client_whether_the_service_is_ready(edge: int, live: Server) -> None:
    def status(port: int, path: str, **headers: str) -> int:
        connection = HTTPConnection(ADDRESS, port)
        try:
            return ask(connection, path, headers).status
        finally:
            connection.close()

    for path in ("/healthz", "/readyz"):
        through = status(edge, path), status(edge, path, **{"X-SVC-Webservice-Client-Id": PHONE})
        assert (status(live.port, path), through) == (200, (401, 404)), path


# -- pre-rendered files are live answers -------------------------------------------------------------------------------


def keys_of_the_sample() -> dict[str, str]:
    lines = [line.split() for line in (SAMPLE / "sample-keys.txt").read_text().splitlines()]
    return {line[0]: line[1] for line in lines if line and line[0] != "#"}


def test_every_prerendered_file_of_the_sample_is_the_live_answer(sample_out: Path, tmp_path: Path) -> None:
    keys, release = keys_of_the_sample(), sample_out / "current"
    files = manifest(release)["files"]
    with own_server(tmp_path / "server", sample_out, "--workers", "1") as server:
        connection = server.connect()
        other = [
            entry["path"] for entry in files if live_answer(connection, entry, keys) != prerendered(release, entry)
        ]
    assert (len(files) > 200, other) == (True, [])


def prerendered(release: Path, entry: Json) -> tuple[int, str, str, bytes]:
    """What nginx makes of a file: status, media type, ETag of its time and size, bytes."""
    path = release / "files" / entry["path"]
    status = os.stat(path)
    return 200, entry["mediaType"], f'"{int(status.st_mtime):x}-{status.st_size:x}"', path.read_bytes()


def live_answer(connection: HTTPConnection, entry: Json, keys: dict[str, str]) -> tuple[int, str, str, bytes]:
    key = keys[entry.get("application") or next(iter(keys))]
    target = entry["url"].removeprefix("https://api.larkspurvane.example")
    came = ask(connection, target, {"x-svc-webservice-client-id": key, "accept": entry["mediaType"]})
    return came.status, came.headers["content-type"], came.headers["etag"], came.body
