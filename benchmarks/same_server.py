"""Other callables on the server of `shopwindow serve`: gunicorn, uvicorn and our
connection, but none of the service.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from shopwindow.service.serve import Service

Work = Callable[[bytes], bytes]
"""Returns the body of a response, 200 and JSON, by the body of its request."""


class Bare:
    """An ASGI application that does ``work``: in a number of threads, or with none of
    them on the event loop.
    """

    def __init__(self, work: Work, threads: int = 0) -> None:
        self._work = work
        self._threads = ThreadPoolExecutor(threads) if threads else None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request (ASGI 3.0, HTTP)."""
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if self._threads is None:
            answer = self._work(body)
        else:
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(self._threads, self._work, body)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(answer)),
        ]
        start = {"type": "http.response.start", "status": 200, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": answer})

    def is_stuck(self) -> bool:
        """Return False: nobody replaces this worker."""
        return False

    def stop(self) -> None:
        """Have the threads end once they have answered."""
        if self._threads:
            self._threads.shutdown()


def serve(make: Callable[[], Any], port: int, workers: int) -> None:
    """Serve what ``make`` makes in each worker, until SIGTERM."""
    Service(make, bind=[f"127.0.0.1:{port}"], workers=workers).run()
