"""Whose turn a thread's is: a write that has waited goes on before requests that have not begun."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.program import PHONE, release_of_writes, served
from harness.run import apart
from shopwindow.interface.answering.answer import Response
from shopwindow.service.connection import ANSWER
from shopwindow.service.database.database import open_database
from shopwindow.service.intake import Intake
from shopwindow.shop import INTERFACE


def scope(method: str, path: str, query: str = "", length: int = 0) -> dict[str, Any]:
    headers = [(b"host", b"localhost"), (b"x-svc-webservice-client-id", PHONE.encode())]
    if length:
        headers += [(b"content-type", b"application/json"), (b"content-length", b"%d" % length)]
    return {
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "client": ("127.0.0.1", 1),
        "headers": headers,
    }


async def ask(
    intake: Intake, name: str, order: list[tuple[str, int]], asked: dict[str, Any], body: bytes = b""
) -> None:
    """Ask, and note under a name, in the order of the answers, the status of this one."""

    async def receive() -> Mapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def answer(response: Response, id: str, *, wants_rest: bool) -> None:
        order.append((name, response.status))

    await intake({**asked, ANSWER: answer}, receive, None)


@apart  # the thread of an Intake never ends
def test_a_write_that_has_waited_goes_on_before_reads_that_have_not_begun(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'store.sqlite'}", INTERFACE.tables)
    database.migrate()
    intake = Intake(served(release_of_writes(tmp_path), database, secret=b"s" * 32), threads=1)
    body = json.dumps({"deviceID": "d", "optInOrOptOut": "IN"}).encode()
    order: list[tuple[str, int]] = []

    def read(number: int) -> Any:
        return ask(intake, f"read {number}", order, scope("GET", "/v2/promotions", f"x={number}"))

    async def all_at_once() -> None:
        write = ask(intake, "write", order, scope("POST", "/v2/utility/mobileoptinout", length=len(body)), body)
        await asyncio.gather(*map(read, range(5)), write, *map(read, range(5, 50)))

    asyncio.run(all_at_once())
    before, after = (
        [(f"read {number}", 200) for number in range(5)],
        [(f"read {number}", 200) for number in range(5, 50)],
    )
    assert order == [*before, ("write", 200), *after]
    database.close()
