"""Whether a worker can read: what /healthz and /readyz say, on any address and server.

They need no API key, and say no more than anybody may know. A request with
X-Forwarded-For comes through a proxy, and so from a client: it gets what every unknown
path gets.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from shopwindow.interface.answering.answer import Response
from shopwindow.release.damage import is_damaged
from shopwindow.service.serving import Serving

HEALTH = "/healthz"
"""Whether the process answers at all."""

PATHS = (HEALTH, "/readyz")
"""The other one: whether it answers reads."""


def is_asked(path: str, headers: Mapping[str, str]) -> bool:
    """Return whether a request asks for readiness, and not through a proxy."""
    return path in PATHS and "x-forwarded-for" not in headers


def read_fault(serving: Serving | None) -> str:
    """Read from a release as requests do. Return why that fails; empty: it does not."""
    if serving is None:
        return "no release is being served yet"
    try:
        serving.content.setting("base_url")
        for index in serving.interface.indexes:
            opened = serving.content.index(index.name)
            if opened is not None:
                index.probe(opened)
    except Exception as error:  # such as sqlite3.Error for a damaged index
        if is_damaged(error):
            serving.report_damage(str(error))
        return f"{type(error).__name__}: {error}"
    return ""


def readiness(path: str, serving: Serving | None) -> Response:
    """Return the response to one of PATHS: the release's id, and whether reads are
    answered from it.
    """
    if path == HEALTH:
        return uncached(200, "text/plain", b"ok\n")
    is_ready = not read_fault(serving)
    return checked(is_ready, {"ready": is_ready, "id": serving.id if serving else ""})


def checked(is_well: bool, value: Mapping[str, Any]) -> Response:
    """Return the result of a check: 200 where all is well, else 503."""
    body = orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)
    return uncached(200 if is_well else 503, "application/json", body)


def uncached(status: int, media_type: str, body: bytes) -> Response:
    """Return a response to an operator, which no cache may store."""
    headers = (("Content-Type", media_type), ("Cache-Control", "no-store"))
    return Response(status, media_type, body, headers=headers)
