"""What is built ahead lies where hosts read, and is answered to nobody before its instant."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest

from harness import servers
from harness.content import app, event, small, write
from harness.program import Answer, Releases, nginx_configuration, shopwindow
from harness.servers import ADDRESS, free_port, own_server
from harness.stores import folder
from harness.waits import PATIENCE
from shopwindow.delivery import layout, pointer

KEY = "a4key4of4the4phone4alone"
HEADERS = {"x-svc-webservice-client-id": KEY, "Host": "api.shop.example"}
SECRET = "An event that nobody may know of today"


@dataclass(frozen=True)
class Shop:
    """An output directory with a release of now and one of tomorrow, a host that has pulled both, and the target.

    ``later``: the id of tomorrow's.
    ``private``: what a reader of the target meets on the way from the pointer to the objects of tomorrow's release:
    keys and bytes. ``urls``: those of its files that are not in today's.
    """

    host: Path
    target: Path
    later: str
    private: Mapping[str, bytes]
    urls: list[str]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    work = tmp_path_factory.mktemp("embargo")
    tomorrow = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%d %H:%M}"
    start, finish = (f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%d %H:%M}" for days in (5, 6))
    documents = small()
    documents["apps/phone.yaml"] = {**app("phone"), "apiKeys": [sha256(KEY.encode()).hexdigest()]}
    documents["events/secret.yaml"] = event(99, [1], start, finish, name=SECRET, publish={"from": tomorrow})
    content = write(work / "content", documents)
    out, host, target = work / "dist", work / "host", f"file://{work}/target"
    for command in (
        ("build", "--content", content, "--out", out, "--ahead", "2"),
        ("publish", target, "--out", out),
        ("pull", target, "--out", host),
    ):
        ran = shopwindow(*command)
        assert ran.status == 0, ran.err
    links = Releases(host).chain().links
    today, later = links[0].id, links[-1].id
    assert today != later
    files, now = Releases(host).lines(later).files, Releases(host).lines(today).files
    urls = [orjson.loads(line)["url"] for path, line in files.items() if now.get(path) != line]
    assert any(SECRET.encode() in (Releases(host).path(later) / "files" / path).read_bytes() for path in files)
    return Shop(host, work / "target", later, dict(_private(work / "target", later)), urls)


def _private(target: Path, id: str) -> Iterator[tuple[str, bytes]]:
    """The way of who may read the target: pointer, listing, objects."""
    bucket = folder(target)
    release = layout.published(bucket, id)
    objects = layout.objects(bucket, release, {})
    for key in (layout.POINTER, layout.release_key(id), *map(layout.object_key, objects)):
        stored = bucket.read(key)
        assert stored is not None
        yield key, stored.data
    present = pointer.read(bucket)
    assert present is not None
    assert id in [link.id for link in present.chain.links]


Asking = Callable[[str], Answer]


@pytest.fixture(scope="module", params=["service", "nginx", "worker"])
def asking(request: pytest.FixtureRequest, shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    """Each way on which the public is answered."""
    work = tmp_path_factory.mktemp(request.param)
    with ExitStack() as stack:
        port = stack.enter_context(own_server(work / "service", shop.host, "--workers", "1")).port
        service = f"{ADDRESS}:{port}"
        if request.param == "nginx":
            servers.required_nginx()
            port = free_port()
            text = nginx_configuration(shop.host, {KEY: "phone"}, service, f"{ADDRESS}:{port}")
            stack.enter_context(servers.running_nginx(work / "nginx", text, port))
        if request.param == "worker":
            port = free_port()
            module = shopwindow("edge", "worker", "--out", shop.host).out
            store = servers.store_of_disk(shop.target, "published")
            stack.enter_context(servers.workerd(work / "worker", module, port, service, **store))

        def asked(target: str) -> Answer:
            connection = HTTPConnection(ADDRESS, port, timeout=PATIENCE)
            stack.callback(connection.close)
            return servers.ask(connection, target, HEADERS)

        yield asked


def test_no_document_of_tomorrow_is_answered(shop: Shop, asking: Asking) -> None:
    statuses = set()
    for url in (*shop.urls, "/openapi.json", "/docs", "/v2/event/99", "/v2/events?storeId=1"):
        parts = urlsplit(url)
        answer = asking(parts.path + f"?{parts.query}" * bool(parts.query))
        statuses.add(answer.status)
        assert SECRET.encode() not in answer.body, url
        assert shop.later.encode() not in answer.body, url
    assert 200 in statuses  # such as the list of events, without this one


def test_nothing_of_the_target_is_answered(shop: Shop, asking: Asking) -> None:
    """By the names that things have at the target and in the output directory, and by ways around."""
    there = [*shop.private, "content.json", "manifest.json", f"releases/{shop.later}/content.json", "history.jsonl"]
    for name in there:
        for target in (f"/{name}", f"/../{name}", f"/v2/%2e%2e/{name}", f"/v2/..%2f{name}"):
            answer = asking(target)
            assert answer.status in (400, 401, 403, 404, 405), target
            assert SECRET.encode() not in answer.body
            assert answer.body != shop.private.get(name)
