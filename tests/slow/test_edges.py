"""Every edge, real, answers the table of requests as the service does, or as the file of differences says.

Each request is sent twice, in shuffled order, so an entry of a cache that answers another question shows.
"""

import gzip
import random
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

import edges
import nginx
from checkout import ROOT
from negotiation import HOST, KEY_HEADER, Asked, table
from nginx import ADDRESS, Answer, ask, free_port
from served import Server, granian
from shopwindow.content.documents import Content
from shopwindow.content.listing import shipped
from shopwindow.content.schema import Schemas
from shopwindow.edge import nginx as for_nginx
from shopwindow.edge import varnish, worker
from shopwindow.edge.rules import Rules, rules
from shopwindow.interface.collections import schemas_with
from shopwindow.interface.interface import Interface
from shopwindow.release.changes import content_of
from shopwindow.release.stored import interface_of
from shopwindow.shop import INTERFACE

DIFFERENCES = tomllib.loads((ROOT / "tests/edge/differences.toml").read_text(encoding="utf-8"))["difference"]
COMPARED = (
    "content-type",
    "cache-control",
    "vary",
    "allow",
    "retry-after",
    "x-content-type-options",
    "location",
    "set-cookie",
)

KEYS: dict[str, list[str]] = {}
for _line in (ROOT / "content/sample-keys.txt").read_text().splitlines():
    if _line and not _line.startswith("#"):
        KEYS.setdefault(_line.split()[0], []).append(_line.split()[1])


@dataclass(frozen=True)
class Released:
    """A release of the sample content, and what an edge must know of it."""

    out: Path
    interface: Interface
    content: Content
    rules: Rules


@pytest.fixture(scope="module")
def released(sample_out: Path) -> Released:
    release = (sample_out / "current").resolve()
    interface = interface_of(release, INTERFACE)
    content = content_of(release, interface)
    schemas = schemas_with(Schemas([shipped("schemas")]), interface)
    return Released(sample_out, interface, content, rules(interface, content, schemas))


@pytest.fixture(scope="module")
def service(released: Released, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with granian(tmp_path_factory.mktemp("service"), released.out, "--workers", "1") as server:
        yield server


# -- the edges ---------------------------------------------------------------------------------------------------


@contextmanager
def by_nginx(folder: Path, released: Released, service: str) -> Iterator[int]:
    port = free_port()
    keys = {key: name for name, all in KEYS.items() for key in all}
    files = released.out / "current" / "files"
    text = for_nginx.configuration(released.rules, keys, files, service, f"{ADDRESS}:{port}")
    nginx.required()
    with nginx.running(folder, text, port):
        yield port


@contextmanager
def by_varnish(folder: Path, released: Released, service: str) -> Iterator[int]:
    port = free_port()
    with edges.varnish(folder, varnish.configuration(released.rules, service, [ADDRESS]), port):
        yield port


@contextmanager
def by_varnish_and_nginx(folder: Path, released: Released, service: str) -> Iterator[int]:
    with (
        by_nginx(folder / "behind", released, service) as behind,
        by_varnish(folder, released, f"{ADDRESS}:{behind}") as port,
    ):
        yield port


@contextmanager
def by_worker(folder: Path, released: Released, service: str) -> Iterator[int]:
    port = free_port()
    files = edges.files_of_disk((released.out / "current" / "files").resolve())
    with edges.workerd(folder, worker.module(released.rules), port, service, **files):
        yield port


Started = Callable[[Path, Released, str], Any]
EDGES: Mapping[str, Started] = {
    "nginx": by_nginx,
    "varnish": by_varnish,
    "varnish before nginx": by_varnish_and_nginx,
    "worker": by_worker,
}

# -- the table ---------------------------------------------------------------------------------------------------


def test_the_table_is_as_large_as_it_should_be(released: Released) -> None:
    rows = table(released.interface, released.content, KEYS)
    assert (len(rows) > 2000, len({row.name for row in rows})) == (True, len(rows))


@pytest.mark.parametrize("edge", EDGES)
def test_an_edge_answers_as_the_service_does(released: Released, service: Server, tmp_path: Path, edge: str) -> None:
    rows = table(released.interface, released.content, KEYS)
    with EDGES[edge](tmp_path, released, f"{ADDRESS}:{service.port}") as port:
        met = list(differences(edge, service.port, port, rows))
    unlisted = [f"{row.name}: {part}: {owed!r} is {came!r}" for row, part, owed, came, entry in met if entry is None]
    listed = {
        (number, part) for number, entry in enumerate(DIFFERENCES) for part in entry["parts"] if edge in entry["edges"]
    }
    assert (unlisted[:20], len(unlisted)) == ([], 0)
    assert listed == {(entry, part) for _, part, _, _, entry in met}


def differences(
    edge: str, service: int, port: int, rows: list[Asked]
) -> Iterator[tuple[Asked, str, object, object, int | None]]:
    """What an edge answers otherwise than the service, with the number of the entry that allows it."""
    tags = tags_of(service, rows)
    twice = [*rows, *rows]
    random.Random(edge).shuffle(twice)
    owed = {row.name: answer(service, row, tags) for row in rows}
    for row in twice:
        came = answer(port, row, tags)
        for part, (right, left) in compared(row, owed[row.name], came).items():
            yield row, part, right, left, listed_difference(edge, row, part)


def listed_difference(edge: str, row: Asked, part: str) -> int | None:
    for number, entry in enumerate(DIFFERENCES):
        if edge in entry["edges"] and part in entry["parts"] and re.search(entry["requests"], row.name):
            return number
    return None


def tags_of(service: int, rows: list[Asked]) -> dict[str, str]:
    """The ETag of each target's plain answer."""
    targets = {row.target: row for row in rows if "{etag}" in "".join(row.headers.values())}
    plain = {"Host": HOST, KEY_HEADER: KEYS["iphone"][1]}
    return {target: answer(service, Asked("", target, plain), {}).headers.get("etag", '"none"') for target in targets}


def answer(port: int, row: Asked, tags: Mapping[str, str]) -> Answer:
    headers = {name: value.replace("{etag}", tags.get(row.target, "")) for name, value in row.headers.items()}
    with closing(HTTPConnection(ADDRESS, port, timeout=10)) as connection:
        came = ask(connection, row.target, headers, row.method, row.body)
    if came.headers.get("content-encoding") == "gzip" and came.body:
        return Answer(came.status, came.headers, gzip.decompress(came.body))
    return came


def compared(row: Asked, owed: Answer, came: Answer) -> dict[str, tuple[object, object]]:
    """Each part of an answer that differs, with what the service says and what the edge says."""
    parts: dict[str, tuple[object, object]] = {
        "status": (owed.status, came.status),
        "body": (owed.body, came.body),
        "ETag": (_strong(owed), _strong(came)),
    }
    if parts["ETag"][0] == parts["ETag"][1]:
        parts["weak ETag"] = owed.headers.get("etag"), came.headers.get("etag")
    if row.method == "HEAD":
        parts["Content-Length"] = owed.headers.get("content-length"), came.headers.get("content-length")
    cross = {name for name in (*owed.headers, *came.headers) if name.startswith("access-control-")}
    for name in (*COMPARED, *sorted(cross)):
        parts[name] = owed.headers.get(name), came.headers.get(name)
    return {part: both for part, both in parts.items() if both[0] != both[1]}


def _strong(answer: Answer) -> str | None:
    tag = answer.headers.get("etag")
    return tag.removeprefix("W/") if isinstance(tag, str) else tag
