"""Every edge, real, answers the table of requests as the service does, or as the file of differences says.

Each request is sent twice, in shuffled order, so an entry of a cache that answers another question shows.
"""

import gzip
import hashlib
import random
import re
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from http.client import HTTPConnection
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import brotli
import pytest
import zstandard

from facts import conformance, conformance_catalog
from facts.negotiation import HOST, KEY_HEADER, ORDERS, Asked, table
from harness import servers
from harness.commands import SOURCES
from harness.content import ROOT, write_files
from harness.program import (
    Answer,
    Content,
    Interface,
    built,
    for_nginx,
    for_worker,
    manifest,
    program_schemas,
    shopwindow,
)
from harness.servers import ADDRESS, AS_INSTALLED, Server, ask, free_port, own_server
from harness.stores import PublishOptions, chained, outgoing, publish
from harness.stores import folder as in_folder
from harness.waits import PATIENCE, awaited
from shopwindow.edge.keys import read_keys
from shopwindow.edge.rules import Rules, rules
from shopwindow.interface.declaring.collections import schemas_with
from shopwindow.release.changes import opened
from shopwindow.service.codings import plain_tag
from shopwindow.shop import INTERFACE

UNPACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "br": brotli.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body),
}
DIFFERENCES = tomllib.loads((ROOT / "tests/edge/differences.toml").read_text(encoding="utf-8"))["difference"]
COMPARED = (
    "content-type",
    "cache-control",
    "vary",
    "allow",
    "retry-after",
    "x-content-type-options",
    "location",
    "www-authenticate",
    "set-cookie",
    "content-security-policy",
)

AT = "2026-12-01T12:00:00-05:00"
"""The instant of the example's release."""

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


@dataclass(frozen=True)
class Owed:
    """A request, and the service's answer to it."""

    row: Asked
    answer: Answer


def release_of(out: Path) -> Released:
    """The current release of an output folder."""
    release = (out / "current").resolve()
    opened_release = opened(release, INTERFACE)
    interface, content = opened_release.interface, opened_release.content
    schemas = schemas_with(program_schemas(), interface)
    return Released(out, interface, content, rules(interface, content, schemas))


@pytest.fixture(scope="module")
def released(sample_out: Path) -> Released:
    return release_of(sample_out)


@pytest.fixture(scope="module")
def service(released: Released, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with own_server(tmp_path_factory.mktemp("service"), released.out, "--workers", "1") as server:
        yield server


# -- the edges ---------------------------------------------------------------------------------------------------


@contextmanager
def by_nginx(folder: Path, released: Released, service: str) -> Iterator[int]:
    port = free_port()
    keys, _ = read_keys((ROOT / "content/sample-keys.txt").read_text(), released.interface, released.content)
    files = released.out / "current" / "files"
    text = for_nginx(released.rules, keys, files, service, f"{ADDRESS}:{port}")
    servers.required_nginx()
    with servers.running_nginx(folder, text, port):
        yield port


@contextmanager
def by_worker(folder: Path, released: Released, service: str) -> Iterator[int]:
    port = free_port()
    store = servers.store_of_disk((released.out / "current" / "files").resolve(), "files")
    with servers.workerd(folder, for_worker(released.rules), port, service, **store):
        yield port


@contextmanager
def by_worker_of_target(folder: Path, released: Released, service: str) -> Iterator[int]:
    """A worker with what `shopwindow publish` has written."""
    port, target = free_port(), folder / "target"
    publish(outgoing(released.out), in_folder(target))
    with servers.workerd(
        folder, for_worker(released.rules), port, service, **servers.store_of_disk(target, "published")
    ):
        yield port


Started = Callable[[Path, Released, str], Any]
EDGES: Mapping[str, Started] = {
    "nginx": by_nginx,
    "worker": by_worker,
    "worker before a target": by_worker_of_target,
}

# -- the table ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows(released: Released) -> list[Asked]:
    return table(released.interface, released.content, KEYS)


@pytest.fixture(scope="module")
def owed(service: Server, rows: list[Asked]) -> Mapping[str, Owed]:
    return answers_owed(service.port, rows)


def test_the_table_is_as_large_as_it_should_be(rows: list[Asked]) -> None:
    assert (len(rows) > 4000, len({row.name for row in rows})) == (True, len(rows))


@pytest.mark.parametrize("edge", EDGES)
def test_an_edge_answers_as_the_service_does(
    released: Released, service: Server, owed: Mapping[str, Owed], tmp_path: Path, edge: str
) -> None:
    with EDGES[edge](tmp_path, released, f"{ADDRESS}:{service.port}") as port:
        met = list(differences(edge, port, owed))
    unlisted = [f"{row.name}: {part}: {owed!r} is {came!r}" for row, part, owed, came, entry in met if entry is None]
    certain = {
        (number, part) for number, entry in enumerate(DIFFERENCES) for part in entry["parts"] if edge in entry["edges"]
    }
    assert (unlisted[:20], len(unlisted)) == ([], 0)
    assert certain <= {(entry, part) for _, part, _, _, entry in met}


BASES = {
    "below a path": "/mobile/api",
    "below a path of signs": "/a$b'(c)*+;=~&!,%20%24%7B%e2%82%ac",
    "below a long path": f"/{'part/' * 40}end",
}


@pytest.mark.parametrize("base", BASES)
def test_a_worker_answers_the_conformance_table_below_any_path(tmp_path: Path, base: str) -> None:
    """Other content, with every sort of request that the interface says something about, below a path of base_url."""
    out, path = tmp_path / "dist", BASES[base]
    built(write_files(tmp_path / "content", conformance.documents(path)), out, at=conformance.AT)
    cases = [*conformance.table(), *conformance_catalog.table()]
    if base != "below a path":  # where each case is a row of its own
        cases = cases[::10]
    rows = [
        Asked(f"{number} {case}", conformance.target(path, case), case.sent, case.method, case.data)
        for number, case in enumerate(cases)
    ]
    released = release_of(out)
    with (
        own_server(tmp_path / "service", out, "--workers", "1", **AS_INSTALLED) as server,
        by_worker(tmp_path / "edge", released, f"{ADDRESS}:{server.port}") as port,
    ):
        met = list(differences("worker", port, answers_owed(server.port, rows)))
        first = released.rules.routes[0]
        plain = {conformance.KEY: conformance.PHONE}
        came = answer(port, Asked("", f"{path}/{first.path}?utm_source=mail", plain))
        assert came.body == file(out, "v2/utility/mobileapp/phone.json")
    unlisted = [f"{row.name}: {part}: {owed!r} is {came!r}" for row, part, owed, came, entry in met if entry is None]
    assert (unlisted[:20], len(unlisted)) == ([], 0)


def differences(
    edge: str, port: int, owed: Mapping[str, Owed]
) -> Iterator[tuple[Asked, str, object, object, int | None]]:
    """What an edge answers otherwise than the service, with the number of the entry that allows it."""
    twice = [*owed.values(), *owed.values()]
    random.Random(edge).shuffle(twice)
    for each in twice:
        came = answer(port, each.row)
        for part, (right, left) in compared(each.row, each.answer, came).items():
            yield each.row, part, right, left, listed_difference(edge, each.row, part)


def listed_difference(edge: str, row: Asked, part: str) -> int | None:
    for number, entry in enumerate(DIFFERENCES):
        if edge in entry["edges"] and part in entry["parts"] and re.search(entry["requests"], row.name):
            return number
    return None


def answers_owed(service: int, rows: list[Asked]) -> dict[str, Owed]:
    """What the service answers, by the names of the requests; `{etag}` in a header becomes the target's ETag."""
    plain = {"Host": HOST, KEY_HEADER: KEYS["iphone"][1]}
    tags = {
        row.target: answer(service, Asked("", row.target, plain)).headers.get("etag", '"none"')
        for row in rows
        if "{etag}" in "".join(row.headers.values())
    }
    asked = [
        replace(row, headers={k: v.replace("{etag}", tags.get(row.target, "")) for k, v in row.headers.items()})
        for row in rows
    ]
    return {row.name: Owed(row, answer(service, row)) for row in asked}


def answer(port: int, row: Asked) -> Answer:
    """What a server answers, decompressed."""
    with closing(HTTPConnection(ADDRESS, port, timeout=PATIENCE)) as connection:
        came = ask(connection, row.target, row.headers, row.method, row.body)
    unpack = UNPACKED.get(came.headers.get("content-encoding", ""))
    return replace(came, body=unpack(came.body)) if unpack and came.body else came


def compared(row: Asked, owed: Answer, came: Answer) -> dict[str, tuple[object, object]]:
    """Each part of an answer that differs, with what the service says and what the edge says."""
    parts: dict[str, tuple[object, object]] = {
        "status": (owed.status, came.status),
        "body": (owed.body, came.body),
        "ETag": (_strong(owed), _strong(came)),
    }
    if parts["ETag"][0] == parts["ETag"][1]:
        parts["form of the ETag"] = owed.headers.get("etag"), came.headers.get("etag")
    if row.method == "HEAD":
        parts["Content-Length"] = owed.headers.get("content-length"), came.headers.get("content-length")
    cross = {name for name in (*owed.headers, *came.headers) if name.startswith("access-control-")}
    for name in (*COMPARED, *sorted(cross)):
        parts[name] = owed.headers.get(name), came.headers.get(name)
    return {part: both for part, both in parts.items() if both[0] != both[1]}


def _strong(answer: Answer) -> str | None:
    tag = answer.headers.get("etag")
    return plain_tag(tag) if isinstance(tag, str) else tag


# -- keys --------------------------------------------------------------------------------------------------------

OWN = "/v2/utility/mobileapp"
ANDROID, (FORMER, KEY) = KEYS["android"][0], KEYS["iphone"]


def get(port: int, target: str = OWN, key: str = KEY, method: str = "GET", **headers: str) -> Answer:
    """One request on the base host; `_` in a header's name stands for `-`."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    return answer(port, Asked("", target, {"Host": HOST, KEY_HEADER: key, **more}, method))


def file(out: Path, name: str) -> bytes:
    return (out / "current" / "files" / name).read_bytes()


def without_former_key(content: Path) -> None:
    """Retire the first key of the iPhone's application."""
    path = content / "apps/iphone.yaml"
    text = path.read_text()
    digest = hashlib.sha256(FORMER.encode()).hexdigest()
    assert digest in text
    path.write_text(text.replace(f"  - {digest}\n", ""))


def configurations(port: int) -> list[tuple[int, bytes]]:
    """What each key gets, the configuration of its application or a refusal."""
    return [(came.status, came.body) for came in (get(port, key=key) for key in (FORMER, KEY, ANDROID))]


@pytest.mark.parametrize("edge", EDGES)
def test_a_key_is_retired_while_its_successor_works(sample: Path, tmp_path: Path, edge: str) -> None:
    out = tmp_path / "dist"
    built(sample, out)
    iphone, android = (file(out, f"v2/utility/mobileapp/{name}.json") for name in ("iphone", "android"))
    with own_server(tmp_path / "service", out, "--workers", "1") as server:
        service = f"{ADDRESS}:{server.port}"
        before = release_of(out)
        with EDGES[edge](tmp_path / "before", before, service) as port:
            assert configurations(port) == [(200, iphone), (200, iphone), (200, android)]
        without_former_key(sample)
        built(sample, out)
        with EDGES[edge](tmp_path / "after", release_of(out), service) as port:
            for _ in range(2):
                (status, body), *others = configurations(port)
                assert (status, b"401" in body, others) == (401, True, [(200, iphone), (200, android)])


# -- where a worker finds files ----------------------------------------------------------------------------------


class _Files(SimpleHTTPRequestHandler):
    """Serves a folder's files by their paths, and as workerd asks a KV namespace for keys."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # which would wait 40 ms between head and body

    def translate_path(self, path: str) -> str:
        return str(Path(self.directory) / servers.key_of_namespace(path))

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def host_of_files(folder: Path) -> Iterator[str]:
    """The address of a host that serves a folder."""
    with ThreadingHTTPServer((ADDRESS, 0), partial(_Files, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"{ADDRESS}:{server.server_port}"
        server.shutdown()


@contextmanager
def store(kind: str, released: Released, folder: Path) -> Iterator[dict[str, str]]:
    """What workerd's configuration says of a store with a release."""
    if kind == "a target":
        publish(outgoing(released.out), in_folder(folder))
        yield servers.store_of_disk(folder, "published")
    elif kind == "a folder":
        yield servers.store_of_disk((released.out / "current" / "files").resolve(), "files")
    else:
        named = servers.store_of_namespace if kind == "a namespace" else servers.store_of_url
        with host_of_files(released.out) as address:
            yield named(address, "current/files/")


@pytest.mark.parametrize("kind", ["a target", "a folder", "a namespace", "a URL"])
def test_without_the_service_a_worker_serves_files_and_says_so(released: Released, tmp_path: Path, kind: str) -> None:
    port, nowhere = free_port(), f"{ADDRESS}:{free_port()}"
    errors = {error.code: dict(error.bodies) for error in released.rules.errors}
    own = {error.code: dict(error.bodies) for error in released.rules.own_errors}
    module = for_worker(released.rules)
    with (
        store(kind, released, tmp_path / "target") as found,
        servers.workerd(tmp_path, module, port, nowhere, **found) as log,
    ):
        for entry in manifest(released.out / "current")["files"]:
            url = urlsplit(entry["url"])
            target = f"{url.path}?{url.query}" if url.query else url.path
            key = KEYS[entry.get("application", "iphone")][0]
            came = get(port, target, key, Accept=entry["mediaType"])
            assert (came.status, came.body) == (200, file(released.out, entry["path"])), log.read_text()
        for format in ("json", "xml"):
            came = get(port, "/store/v2/stores/999999", Accept=f"application/{format}")
            assert (came.status, came.body.decode()) == (503, errors["unavailable"][format])
            came = get(port, "/v3/order/supc", method="PUT", Host=ORDERS, Accept=f"application/{format}")
            assert (came.status, came.body.decode()) == (500, own["unavailable"][format])


def test_a_worker_follows_the_pointer_of_its_target(sample: Path, tmp_path: Path) -> None:
    out, target = tmp_path / "dist", tmp_path / "target"
    built(sample, out)
    first = release_of(out)
    with by_worker_of_target(tmp_path, first, f"{ADDRESS}:{free_port()}") as port:
        former = get(port, "/v2/promotions").body
        assert former == file(out, "v2/promotions.json")
        for path in sample.glob("promotions/*.yaml"):
            path.write_text(path.read_text().replace("promotionName: ", "promotionName: Again "))
        built(sample, out)
        publish(outgoing(out), in_folder(target))
        time.sleep(11)  # nobody asks meanwhile, and still the first answer is that of the release
        assert get(port, "/v2/promotions").body == file(out, "v2/promotions.json") != former
        assert shopwindow("rollback", "--out", out).status == 0
        publish(outgoing(out), in_folder(target), PublishOptions(force=True))
        time.sleep(11)
        assert get(port, "/v2/promotions").body == former


def test_a_worker_moves_along_the_chain_by_itself_and_serves_on_what_it_has_read(sample: Path, tmp_path: Path) -> None:
    outs, target = [tmp_path / "today", tmp_path / "tomorrow"], tmp_path / "target"
    built(sample, outs[0])
    for path in sample.glob("promotions/*.yaml"):
        path.write_text(path.read_text().replace("promotionName: ", "promotionName: Again "))
    built(sample, outs[1])
    going = chained(outs, timedelta(seconds=15))
    publish(going, in_folder(target))
    start = going.chain.links[1].start.timestamp()
    port, module = free_port(), for_worker(release_of(outs[0]).rules)
    with ExitStack() as host:
        store = servers.store_of_url(host.enter_context(host_of_files(target)), "")
        store["bindings"] = store["bindings"].replace('"files"', '"published"')
        with servers.workerd(tmp_path, module, port, f"{ADDRESS}:{free_port()}", **store) as log:
            former = get(port, "/v2/promotions")
            left = start - time.time()
            assert former.body == file(outs[0], "v2/promotions.json"), log.read_text()
            age = int(former.headers["cache-control"].partition("max-age=")[2])
            assert left - 2 <= age <= left
            time.sleep(max(0.0, start - time.time()))
            assert get(port, "/v2/promotions").body == file(outs[1], "v2/promotions.json") != former.body
            host.close()  # neither the store nor the service is there any more
            assert get(port, "/v2/promotions").body == file(outs[1], "v2/promotions.json")


def test_a_store_that_fails_leaves_the_answer_to_the_service(
    released: Released, service: Server, tmp_path: Path
) -> None:
    address = f"{ADDRESS}:{service.port}"
    empty = tmp_path / "empty"
    empty.mkdir()
    nobody = f"{ADDRESS}:{free_port()}"
    stores = (
        servers.store_of_disk(empty, "published"),
        servers.store_of_disk(empty, "files"),
        servers.store_of_url(nobody, ""),
        servers.store_of_namespace(nobody, ""),
    )
    for number, found in enumerate(stores):
        port = free_port()
        with servers.workerd(tmp_path / str(number), for_worker(released.rules), port, address, **found) as log:
            assert get(port).body == file(released.out, "v2/utility/mobileapp/iphone.json")
            said = "cannot be read from the store"
            if number == 1:  # the file is missing, as one is that a newer release has
                assert said not in log.read_text()
            else:
                awaited(lambda log=log, said=said: said in log.read_text(), log.read_text)  # type: ignore[misc]


def test_an_interface_without_keys_is_served_to_everybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = ROOT / "examples" / "library"
    using = {"PYTHONPATH": f"{SOURCES}:{example}", "SHOPWINDOW_INTERFACE": "library.interface:INTERFACE"}
    monkeypatch.syspath_prepend(str(example))
    out, content = tmp_path / "dist", example / "content"
    assert shopwindow("build", "--content", content, "--out", out, "--at", AT, env=using).status == 0
    target = "/v1/readings?branch=2&utm_source=mail"
    with own_server(tmp_path / "service", out, "--workers", "1", **using) as server:
        address = f"{ADDRESS}:{server.port}"
        owed = answer(server.port, Asked("", target))
        assert owed.status == 200
        files = servers.store_of_disk((out / "current" / "files").resolve(), "files")
        ran = shopwindow("edge", "worker", "--content", content, "--out", out, env=using)
        assert (ran.status, ran.err) == (0, "")
        port = free_port()
        with servers.workerd(tmp_path / "worker", ran.out, port, address, **files):
            for key in ("", "x" * 24):
                for _ in range(2):
                    row = Asked("", target, {KEY_HEADER: key} if key else {})
                    assert compared(row, owed, answer(port, row)) == {}
