"""Purging caches: what is sent to them, and that nothing is forgotten.

The caches are servers on loopback, and one is a real Varnish.
"""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import datetime
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from facts.negotiation import HOST, KEY_HEADER
from harness.content import ROOT, write
from harness.program import PHONE, Answer, Ran, built, documents_of_writes, manifest, shopwindow
from harness.servers import ADDRESS, ask, environment, follower, free_port, own_server, varnish
from harness.stores import Bucket, PublishOptions, current, folder, outgoing, publish, published, release
from harness.waits import PATIENCE, awaited
from shopwindow.delivery import purging, upkeep
from shopwindow.delivery.purging import purge, purger_of, surrogate_key
from shopwindow.problems import Failure, Misuse

Json = Any


class Cache:
    """A server that notes every request, and answers with ``status``; several: one after the other."""

    def __init__(self, *statuses: int) -> None:
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self._statuses = list(statuses)
        cache = self

        class Answering(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): text for name, text in self.headers.items()}
                cache.requests.append((self.command, self.path, headers, body))
                status = cache._statuses.pop(0) if len(cache._statuses) > 1 else cache._statuses[0]
                data = b'{"success": true}' if status == 200 else b"no"
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_PURGE = answer  # noqa: N815 -- the library's names

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def cache() -> Iterator[Cache]:
    cache = Cache(200)
    yield cache
    cache.close()


@pytest.fixture
def target(tmp_path: Path) -> Bucket:
    """A target with two releases, the second of which is current, and what differs is not purged yet."""
    bucket = folder(tmp_path / "target")
    release(tmp_path)
    publish(outgoing(tmp_path / "dist"), bucket, PublishOptions(purges=True))
    release(tmp_path, "Second")
    publish(outgoing(tmp_path / "dist"), bucket, PublishOptions(purges=True))
    return bucket


def differing(work: Path, old: str, new: str) -> list[str]:
    """The URLs that differ between two releases of a work folder, by their manifests."""
    before, after = (
        {entry["path"]: entry for entry in manifest(work / "dist/releases" / id)["files"]} for id in (old, new)
    )
    paths = [path for path in before | after if before.get(path) != after.get(path)]
    return sorted({(after.get(path) or before[path])["url"] for path in paths})


def ids(bucket: Bucket) -> tuple[str, str]:
    return current(bucket)["unpurged"][0], current(bucket)["id"]


# -- protocols -------------------------------------------------------------------------------------------------------


def test_fastly_is_sent_the_surrogate_keys_of_the_urls(cache: Cache, target: Bucket, tmp_path: Path) -> None:
    urls = differing(tmp_path, *ids(target))
    env = {"FASTLY_API_URL": cache.address, "FASTLY_API_TOKEN": "token", "FASTLY_SERVICE_ID": "SU1Z"}
    done = purge(target, [purger_of("fastly", env)])
    assert (done.urls, done.releases, len(urls) > 1) == (len(urls), 1, True)
    ((method, path, headers, body),) = cache.requests
    assert (method, path, headers["fastly-key"]) == ("POST", "/service/SU1Z/purge", "token")
    assert json.loads(body) == {"surrogate_keys": [surrogate_key(url) for url in urls]}


def test_cloudflare_is_sent_the_urls(cache: Cache, target: Bucket, tmp_path: Path) -> None:
    urls = differing(tmp_path, *ids(target))
    env = {"CLOUDFLARE_API_URL": cache.address, "CLOUDFLARE_API_TOKEN": "token", "CLOUDFLARE_ZONE_ID": "023e"}
    purge(target, [purger_of("cloudflare", env)])
    ((method, path, headers, body),) = cache.requests
    assert (method, path, headers["authorization"]) == ("POST", "/client/v4/zones/023e/purge_cache", "Bearer token")
    assert json.loads(body) == {"files": urls}


@pytest.mark.parametrize(("way", "most"), [("fastly", 256), ("cloudflare", 30)])
def test_many_urls_are_sent_in_requests_of_the_size_that_an_api_takes(cache: Cache, way: str, most: int) -> None:
    names = ("API_URL", "API_TOKEN", "SERVICE_ID", "ZONE_ID")
    env = {f"{way.upper()}_{name}": cache.address for name in names}
    urls = [f"https://api.shop.example/{number}" for number in range(2 * most + 1)]
    purger_of(way, env)(urls)
    sizes = [len(next(iter(json.loads(body).values()))) for *_, body in cache.requests]
    assert sizes == [most, most, 1]


def test_a_cache_of_http_is_sent_purge_for_each_url(cache: Cache, target: Bucket, tmp_path: Path) -> None:
    urls = differing(tmp_path, *ids(target))
    purge(target, [purger_of(cache.address, {})])
    sent = sorted(
        f"https://{headers['host']}{path}" for method, path, headers, _ in cache.requests if method == "PURGE"
    )
    assert sent == urls


VCL = re.search("```vcl\n(.*?)```", (ROOT / "docs/operate/edges.md").read_text(encoding="utf-8"), re.DOTALL)
KEYS = {
    line.split()[1]: line.split()[0]
    for line in (ROOT / "content/sample-keys.txt").read_text().splitlines()
    if line and not line.startswith("#")
}


def asked(port: int, target: str, key: str, format: str, method: str = "GET") -> Answer:
    """One request for a format on the base host."""
    headers = {"Host": HOST, KEY_HEADER: key, "Accept": f"application/{format}"}
    with closing(HTTPConnection(ADDRESS, port, timeout=PATIENCE)) as connection:
        return ask(connection, target, headers, method)


def is_stored(answer: Answer) -> bool:
    """Whether Varnish had the answer: it then names the request, too, that fetched it."""
    return len(answer.headers["x-varnish"].split()) == 2


def test_varnish_stores_answers_by_their_own_headers_until_a_publication_purges_them(
    sample: Path, tmp_path: Path
) -> None:
    out, target, port = tmp_path / "dist", folder(tmp_path / "target"), free_port()
    files = out / "current" / "files"
    built(sample, out)
    publish(outgoing(out), target, PublishOptions(purges=True))
    assert VCL is not None
    with own_server(tmp_path / "service", out, "--workers", "1") as server:
        vcl = VCL[1].replace('"8000"', f'"{server.port}"')
        with varnish(tmp_path, vcl, port):
            own = "/v2/utility/mobileapp"
            for known in (False, True):  # the second time from what is stored
                for key, app in KEYS.items():
                    for format in ("json", "xml"):
                        answer = asked(port, own, key, format)
                        assert (answer.status, is_stored(answer)) == (200, known)
                        assert answer.body == (files / f"{own[1:]}/{app}.{format}").read_bytes()
                refused = asked(port, own, "no-key-of-anybody", "json")
                assert (refused.status, is_stored(refused)) == (401, False)

            key = next(iter(KEYS))
            former = {format: asked(port, "/v2/promotions", key, format).body for format in ("json", "xml")}
            for path in sample.glob("promotions/*.yaml"):
                path.write_text(path.read_text().replace("promotionName: ", "promotionName: Again "))
            built(sample, out)
            renewed = {format: (files / f"v2/promotions.{format}").read_bytes() for format in former}
            awaited(lambda: asked(server.port, "/v2/promotions", key, "json").body == renewed["json"])
            assert {format: asked(port, "/v2/promotions", key, format).body for format in former} == former
            publish(outgoing(out), target, PublishOptions(purges=True))
            assert purge(target, [purger_of(f"http://{ADDRESS}:{port}", {})]).urls > 0
            assert {format: asked(port, "/v2/promotions", key, format).body for format in former} == renewed
            assert is_stored(asked(port, own, key, "json"))  # which did not change


TWO_HOSTS = """
vcl 4.1;
import directors;
backend one { .host = "127.0.0.1"; .port = "%d"; }
backend two { .host = "127.0.0.1"; .port = "%d"; }
sub vcl_init {
    new hosts = directors.round_robin();
    hosts.add_backend(one);
    hosts.add_backend(two);
}
sub vcl_recv {
    set req.backend_hint = hosts.backend();
    if (req.method == "PURGE") {
        return (purge);
    }
}
"""


def test_varnish_is_purged_when_both_hosts_that_pull_serve_the_release_and_a_late_one_is_named(tmp_path: Path) -> None:
    target, port = tmp_path / "target", free_port()
    documents = documents_of_writes(base_url=f"https://{HOST}")
    for name in ("first", "second", "third"):
        documents["promotions/always.yaml"] |= {"promotionName": name}
        built(write(tmp_path / "shop", documents), tmp_path / "dist")
        shutil.copytree(tmp_path / "dist", tmp_path / f"dist-{name}", symlinks=True)
    hosts = [tmp_path / "one", tmp_path / "two"]

    def run(*command: str) -> Ran:
        return shopwindow(*command, "--content", tmp_path / "content", cwd=tmp_path)

    with ExitStack() as stack:
        assert shopwindow("publish", f"file://{target}", "--out", tmp_path / "dist-first").status == 0
        pulls = [
            stack.enter_context(follower(out / "pull", out / "dist", f"file://{target}", "--every", "0.2"))
            for out in hosts
        ]
        awaited(lambda: all((out / "dist/current").exists() for out in hosts))
        servers = [stack.enter_context(own_server(out, out / "dist")) for out in hosts]
        stack.enter_context(varnish(tmp_path, TWO_HOSTS % (servers[0].port, servers[1].port), port))
        named = [f"http://{ADDRESS}:{server.admin}" for server in servers]
        place = {"to": f"file://{target}", "purge": f"http://{ADDRESS}:{port}", "follow": "0.2s", "hosts": named}
        write(tmp_path / "content", {"site.yaml": {"targets": {"production": place}}})

        def promotions() -> tuple[str, int]:
            """Which release the cache answers from, and for how many seconds it has had the answer."""
            answer = asked(port, "/v2/promotions", PHONE, "json")
            name = next(name for name in ("first", "second", "third") if f'"{name}"'.encode() in answer.body)
            return name, int(answer.headers["age"])

        promotions()
        awaited(lambda: promotions() == ("first", 2))  # from what is stored
        pulls[1].send_signal(signal.SIGSTOP)
        second = [sys.executable, "-m", "shopwindow", "publish", "production", "--out", "dist-second"]
        publishing = subprocess.Popen(second, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment())
        awaited(lambda: current(folder(target))["id"] == json.loads(servers[0].told("/readyz").body)["id"])
        assert [promotions()[0] for _ in range(4)] == ["first"] * 4  # one host has it, and the other would spoil that
        pulls[1].send_signal(signal.SIGCONT)
        out, _ = publishing.communicate(timeout=PATIENCE)
        assert (publishing.returncode, "URLs purged" in out) == (0, True), out
        assert promotions()[0] == "second"
        assert promotions()[1] < 2

        rolled = run("rollback", "--target", "production")
        assert (rolled.status, rolled.err, promotions()[0]) == (0, "", "first"), rolled
        assert run("activate", "previous", "--target", "production").status == 0
        assert promotions()[0] == "second"

        pulls[1].send_signal(signal.SIGSTOP)
        late = run("publish", "production", "--out", "dist-third")
        pulls[1].send_signal(signal.SIGCONT)
        assert (late.status, late.err.count("\n"), late.err.startswith(f"{named[1]} does not serve")) == (1, 1, True)
        assert len(current(folder(target))["unpurged"]) == 1
        again = run("publish", "production", "--out", "dist-third")
        assert (again.status, "URLs purged" in again.out) == (0, True), again
        assert promotions()[0] == "third"
        assert "unpurged" not in current(folder(target))


def test_a_command_reads_the_urls(target: Bucket, tmp_path: Path) -> None:
    urls = differing(tmp_path, *ids(target))
    script = f"import sys; open({str(tmp_path / 'urls')!r}, 'w').write(sys.stdin.read())"
    purge(target, [purger_of(shlex.join([f"command:{sys.executable}", "-c", script]), {})])
    assert (tmp_path / "urls").read_text().splitlines() == urls


@pytest.mark.parametrize("statuses", [(503, 200), (429, 200), (500, 502, 200)])
def test_a_cache_that_is_out_of_order_for_a_moment_is_asked_again(target: Bucket, statuses: tuple[int, ...]) -> None:
    cache = Cache(*statuses)
    env = {"CLOUDFLARE_API_URL": cache.address, "CLOUDFLARE_API_TOKEN": "token", "CLOUDFLARE_ZONE_ID": "023e"}
    purge(target, [purger_of("cloudflare", env)])
    assert len(cache.requests) == len(statuses)
    assert "unpurged" not in current(target)
    cache.close()


def test_a_cache_that_does_not_hold_a_url_has_purged_it(target: Bucket) -> None:
    cache = Cache(404)
    purge(target, [purger_of(cache.address, {})])
    assert "unpurged" not in current(target)
    cache.close()


# -- until it is done ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [403, 405, 503])
def test_what_a_cache_refuses_is_purged_by_the_next_run(target: Bucket, tmp_path: Path, status: int) -> None:
    refusing, old, new = Cache(status), *ids(target)
    with pytest.raises(Failure, match=f"{new[:12]} is current, but not everything was purged: .* answers {status}"):
        purge(
            target,
            [
                purger_of(
                    refusing.address,
                    {},
                )
            ],
        )
    refusing.close()
    third = release(tmp_path, "Third")
    publish(outgoing(tmp_path / "dist"), target, PublishOptions(purges=True))
    assert current(target)["unpurged"] == [old, new]
    cache = Cache(200)
    assert purge(target, [purger_of(cache.address, {})]).releases == 2
    assert {path for _, path, *_ in cache.requests} == {
        "/" + url.split("/", 3)[3] for url in {*differing(tmp_path, old, new), *differing(tmp_path, new, third)}
    }
    assert purge(target, [purger_of(cache.address, {})]) == purging.Purged(0, 0)
    cache.close()


def test_a_cache_that_is_away_is_a_sentence(target: Bucket) -> None:
    with pytest.raises(Failure, match=r"http://127.0.0.1:9 is not reached: .*; the next run tries again"):
        purge(target, [purger_of("http://127.0.0.1:9", {})])
    assert len(current(target)["unpurged"]) == 1


def test_who_purges_nothing_continues_the_list_of_others_and_begins_none(target: Bucket, tmp_path: Path) -> None:
    waiting = current(target)["unpurged"]
    second = current(target)["id"]
    release(tmp_path, "Third")
    publish(outgoing(tmp_path / "dist"), target)
    assert current(target)["unpurged"] == [*waiting, second]
    other = folder(tmp_path / "other")
    publish(outgoing(tmp_path / "dist"), other)
    release(tmp_path, "Fourth")
    publish(outgoing(tmp_path / "dist"), other)
    assert "unpurged" not in current(other)


def test_what_another_publisher_adds_meanwhile_stays_listed(target: Bucket, tmp_path: Path) -> None:
    second = current(target)["id"]

    def slow(urls: object) -> None:
        release(tmp_path, "Third")
        publish(outgoing(tmp_path / "dist"), target, PublishOptions(purges=True))

    purge(target, [slow])
    assert current(target)["unpurged"] == [second]


def test_a_rollback_is_purged(target: Bucket, cache: Cache) -> None:
    purge(target, [purger_of(cache.address, {})])
    sent = {path for _, path, *_ in cache.requests}
    cache.requests.clear()
    upkeep.activate(target, None, purges=True, pin=True)
    purge(target, [purger_of(cache.address, {})])
    assert {path for _, path, *_ in cache.requests} == sent


# -- the command -----------------------------------------------------------------------------------------------------


def configure(work: Path, purge: str, follow: str) -> None:
    """Let site.yaml say of the target `production` how its caches are purged, and how often hosts look."""
    place = f"{{to: 'file://{work}/target', purge: '{purge}', follow: {follow}}}"
    (work / "content").mkdir(exist_ok=True)
    (work / "content/site.yaml").write_text(f"targets: {{production: {place}}}\n")


def test_the_command_purges_and_repeats_until_it_is_done(tmp_path: Path) -> None:
    def purging_by(purge: str) -> Ran:
        configure(tmp_path, purge, "0s")
        return shopwindow("publish", "production", cwd=tmp_path)

    release(tmp_path)
    assert purging_by("command:cat").status == 0
    second = release(tmp_path, "Second")
    failed = purging_by("command:false")
    assert (failed.status, failed.err) == (
        4,
        f"shopwindow: {second[:12]} is current, but not everything was purged: false ended with 1; "
        "the next run tries again\n",
    )
    done = purging_by("command:cat")
    said, *urls, last = done.out.splitlines()
    assert (done.status, last, said.endswith("it is current already")) == (0, f"{len(urls)} URLs purged", True)
    assert purging_by("command:cat").out.splitlines() == [said]


@pytest.mark.parametrize("command", [["publish"], ["rollback", "--target"]])
def test_hosts_that_pull_have_twice_their_interval_before_caches_are_purged(tmp_path: Path, command: list[str]) -> None:
    target = folder(tmp_path / "target")
    published(tmp_path, target)
    published(tmp_path, target, "Second")
    release(tmp_path, "Third")
    configure(tmp_path, "command:date +%s.%N", "0.5s")
    ran = shopwindow(*command, "production", cwd=tmp_path)
    assert ran.status == 0
    purged = next(float(line) for line in ran.out.splitlines() if line.replace(".", "").isdigit())
    assert purged - datetime.fromisoformat(current(target)["switched"]).timestamp() >= 1.0


@pytest.mark.parametrize("way", ["akamai", "command:", "ftp://cache", "http://", ""])
def test_what_is_no_way_to_purge_is_refused(way: str) -> None:
    with pytest.raises(Misuse, match="must be fastly, cloudflare, http://HOST:PORT, or command:PROGRAM ARGUMENTS"):
        purger_of(way, {})


def test_an_api_without_its_token_is_refused() -> None:
    with pytest.raises(Failure, match="purging by fastly needs the variable FASTLY_API_TOKEN"):
        purger_of("fastly", {})
