"""The conformance table holds behind gunicorn, and what its workers say of a body is believed."""

import socket
from collections.abc import Iterator

import pytest

from facts import conformance_catalog
from facts.conformance import AT, PHONE, differing, documents, table
from harness.content import write_files
from harness.program import built
from harness.servers import ADDRESS, Server, gunicorn
from harness.waits import PATIENCE

ITEM = "/order/v1/bags/00000000-0000-4000-8000-000000000001/items/1"


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("gunicorn")
    built(write_files(folder / "content", documents()), folder / "dist", at=AT)
    with gunicorn(folder, folder / "dist") as server:
        yield server


def test_over_gunicorn(behind: Server) -> None:
    assert differing(behind.port, "", [*table(), *conformance_catalog.table()]) == []


@pytest.mark.parametrize("body", [b"40\r\n{}", b"zz\r\n{}\r\n0\r\n\r\n", b"2\r\n{}\r\n"])
def test_a_chunked_body_that_breaks_off_is_refused(behind: Server, body: bytes) -> None:
    head = f"DELETE {ITEM} HTTP/1.1\r\nHost: x\r\nx-svc-webservice-client-id: {PHONE}\r\n"
    head += "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    with socket.create_connection((ADDRESS, behind.port), PATIENCE) as connection:
        connection.sendall(head.encode() + body)
        connection.shutdown(socket.SHUT_WR)
        came = connection.makefile("rb").read()
    assert (came.split()[1], b"body: ended early" in came) == (b"400", True), came
