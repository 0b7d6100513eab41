"""The conformance table holds in process, over Granian, gunicorn and nginx; pre-rendered files are live answers."""

import os
import re
from collections.abc import Iterator
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import pytest

import conformance_catalog
import nginx
from conformance import AT, OLD_TABLET, PHONE, TABLET, XML, differing, documents, expected, outside, table, target
from nginx import ADDRESS, ask, free_port
from releases import SAMPLE, Json, built, manifest
from served import AS_INSTALLED, Server, called, granian
from shopwindow.content.listing import shipped
from shopwindow.content.schema import Schemas
from shopwindow.edge.nginx import configuration
from shopwindow.edge.rules import rules
from shopwindow.interface.answer import ERROR_CODES
from shopwindow.release.changes import content_of
from shopwindow.service.serving import Serving, load
from shopwindow.service.wsgi import Application, application
from shopwindow.shop import INTERFACE
from trees import write
from witness import canonical, witnessed

BASE = "/mobile/api"
TABLE = [*table(), *conformance_catalog.table()]
BASES = {"": TABLE, BASE: [*TABLE, *outside()]}


# -- a release of the table's content ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of releases for each path of base_url."""
    folder = tmp_path_factory.mktemp("conformance")
    outputs = {}
    for name, base in (("plain", ""), ("below", BASE)):
        outputs[base] = folder / f"{name}-dist"
        built(write(folder / name, documents(base)), outputs[base], at=AT)
    return outputs


@pytest.fixture(scope="module")
def applications(outputs: dict[str, Path], schemas: Schemas) -> dict[str, Application]:
    served = {base: load(out, INTERFACE, schemas) for base, out in outputs.items()}
    return {base: application(partial(constant, serving)) for base, serving in served.items()}


def constant(serving: Serving, request: object) -> Serving:
    """What one release serves, whatever is asked."""
    return serving


@pytest.fixture(scope="module", params=["", BASE], ids=["plain", "below a path"])
def base(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


@pytest.fixture(scope="module")
def live(outputs: dict[str, Path], base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A real Granian, as customers have it."""
    with granian(tmp_path_factory.mktemp("granian"), outputs[base], "--workers", "1", **AS_INSTALLED) as server:
        yield server


@pytest.fixture(scope="module")
def edge(outputs: dict[str, Path], base: str, live: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a real nginx in front of the Granian."""
    content = content_of((outputs[base] / "current").resolve(), INTERFACE)
    keys = {PHONE: "phone", TABLET: "tablet", OLD_TABLET: "tablet"}
    files, port = outputs[base] / "current" / "files", free_port()
    made = rules(INTERFACE, content, Schemas([shipped("schemas")]))
    written = configuration(made, keys, files, f"{ADDRESS}:{live.port}", f"{ADDRESS}:{port}")
    with nginx.running(tmp_path_factory.mktemp("nginx"), written, port):
        yield port


# -- the table ---------------------------------------------------------------------------------------------------


def test_the_table_is_as_large_as_it_should_be() -> None:
    assert len(set(map(repr, TABLE))) >= 1000


@pytest.mark.quick
@pytest.mark.parametrize("time", ["first", "again, from memory"])
def test_in_process(applications: dict[str, Application], base: str, time: str) -> None:
    found = []
    for case in BASES[base]:
        came = called(applications[base], target(base, case), case.sent, case.method, case.data or b"")
        if came != expected(case):
            found.append((str(case), expected(case), came))
    assert found == []


def test_over_granian(live: Server, base: str) -> None:
    assert differing(live.port, base, BASES[base]) == []


def test_through_nginx(edge: int, base: str) -> None:
    cases = [case for case in BASES[base] if "%00" not in case.target.partition("?")[0]]  # nginx's own 400
    assert (len(cases) > 100, differing(edge, base, cases)) == (True, [])


def test_the_page_of_errors_lists_every_code() -> None:
    page = (SAMPLE.parent / "docs/apps/errors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([0-9, ]+) \| ([0-9, ]+) \| .+ \|$", page, re.MULTILINE)
    printed = {pair for row in rows for pair in zip(*(map(int, cell.split(", ")) for cell in row), strict=True)}
    assert printed == {(code.status, code.error_code) for code in ERROR_CODES.values()}


def test_xml_is_canonically_what_the_witness_writes() -> None:
    told = [case for case in TABLE if case.headers.get("content-type") == XML and case.value is not None]
    told = [case for case in told if b"&#13;" not in case.body]  # the witness loses carriage returns
    odd = [case for case in told if canonical(case.body) != canonical(witnessed(case.value, case.root))]
    assert (len(told) > 300, odd) == (True, [])


# -- pre-rendered files are live answers -------------------------------------------------------------------------------


def keys_of_the_sample() -> dict[str, str]:
    lines = [line.split() for line in (SAMPLE / "sample-keys.txt").read_text().splitlines()]
    return {line[0]: line[1] for line in lines if line and line[0] != "#"}


def test_every_prerendered_file_of_the_sample_is_the_live_answer(sample_out: Path, tmp_path: Path) -> None:
    keys, release = keys_of_the_sample(), sample_out / "current"
    files = manifest(release)["files"]
    with granian(tmp_path / "server", sample_out, "--workers", "1") as server:
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
