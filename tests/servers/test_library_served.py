"""examples/library and the write that docs/contribute shows, over real servers."""

import json
from http.client import HTTPConnection
from pathlib import Path

from harness import servers
from harness.program import shopwindow
from harness.servers import own_server
from harness.waits import PATIENCE
from test_contribute import Copy, touches_one_place
from test_library_example import AT, EXAMPLE, USING, out

__all__ = ["out"]


def test_a_server_is_given_the_interface_by_its_name(out: Path, tmp_path: Path) -> None:
    body = json.dumps({"readingId": 11, "email": "ann@example.com", "seats": 3}).encode()
    with own_server(tmp_path / "server", out, "--workers", "1", **USING) as server:
        listed = server.ask("/v1/readings?branch=1")
        assert (listed.status, len(json.loads(listed.body)["readings"])) == (200, 1)
        taken = server.ask("/v1/registrations", {"content-type": "application/json"}, "POST", body)
        assert (taken.status, json.loads(taken.body)["seatsLeft"]) == (200, 37)


def test_nginx_asks_for_no_key(out: Path, tmp_path: Path) -> None:
    """A client with any key or none gets the files, and what no file holds comes from the service."""
    port = servers.free_port()
    with servers.echo() as service:
        listen = f"{servers.ADDRESS}:{port}"
        options = ("--service", service, "--listen", listen, "--write", tmp_path / "edge.conf")
        ran = shopwindow("edge", "nginx", "--content", EXAMPLE / "content", "--out", out, *options, env=USING)
        assert (ran.status, ran.err) == (0, "")
        configuration = (tmp_path / "edge.conf").read_text()
        with servers.running_nginx(tmp_path / "nginx", configuration, port):
            connection = HTTPConnection(servers.ADDRESS, port, timeout=PATIENCE)
            host = {"Host": "api.library.example"}
            for headers in (host, {**host, "x-svc-webservice-client-id": "x" * 24}):
                listed = servers.ask(connection, "/v1/readings?branch=2", headers)
                assert (listed.status, json.loads(listed.body)["readings"][0]["readingId"]) == (200, 11)
                assert listed.headers["cache-control"] == "max-age=300"
                for target in ("/v1/readings?branch=1,2", "/v1/nowhere"):
                    assert servers.ask(connection, target, headers).told["target"] == target
            taken = servers.ask(connection, "/v1/registrations", host, "POST", b"{}")
            assert taken.told["method"] == "POST"
            connection.close()


def test_the_write_that_the_page_shows_touches_one_place_and_works(tmp_path: Path) -> None:
    touches_one_place("A write")
    copy = Copy(tmp_path, "A write")
    assert copy.run("build", "--out", str(tmp_path / "out"), "--at", AT).status == 0
    body = json.dumps({"readingId": 10, "email": "ann@example.com", "seats": 2}).encode()
    with own_server(tmp_path / "server", tmp_path / "out", "--workers", "1", **copy.environment) as server:
        taken = server.ask("/v1/registrations", {"content-type": "application/json"}, "POST", body)
        path = f"/v1/registrations/{json.loads(taken.body)['registrationId']}"
        assert [server.ask(path, method="DELETE").status for _ in range(2)] == [200, 404]
