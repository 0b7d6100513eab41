"""Asking a worker for a read, as the admin address does: through the same socket, server and
thread as any client.

Who knows the token of this service's environment is answered; for anybody else the header does
not exist.
"""

import hmac
import os
from contextlib import closing
from http.client import HTTPConnection, HTTPException

from shopwindow.service.serving import Serving

TOKEN = "SHOPWINDOW_PROBE"
"""The environment variable that hands a token of this run to the workers. Nobody sets it by
hand.
"""

HEADER, ENVIRON = "X-Service-Probe", "HTTP_X_SERVICE_PROBE"

PATIENCE_SECONDS = 3.0
"""How long a worker may take to answer: Kubernetes and HAProxy wait 1 to 5 s for a check."""

Address = tuple[str, int]


def begin() -> None:
    """Make the token that workers of this process will know."""
    os.environ[TOKEN] = os.urandom(16).hex()


def is_probe(given: str | None) -> bool:
    """Whether a request is the admin address's own. ``given``: its header, if it has one."""
    token = os.environ.get(TOKEN) if given is not None else None
    return (
        bool(token)
        and given is not None
        and hmac.compare_digest(given.encode(), str(token).encode())
    )


def read(serving: Serving | None) -> str:
    """Read from a release as requests do: why that fails; empty where it succeeds. Raises what
    reading raises.
    """
    if serving is None:
        return "no release is being served yet"
    serving.content.setting("base_url")
    for index in serving.interface.indexes:
        opened = serving.content.index(index.name)
        if opened is not None:
            index.probe(opened)
    return ""


def ask(address: Address) -> str:
    """Why no worker answers a read at an address that a service was bound to; empty where one
    does.
    """
    host, port = address
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # nosec B104 # nothing is bound here
    headers = {HEADER: os.environ.get(TOKEN, "")}
    with closing(HTTPConnection(host, port, timeout=PATIENCE_SECONDS)) as connection:
        try:
            connection.request("GET", "/", headers=headers)
            response = connection.getresponse()
            said = response.read(1000).decode(errors="replace").strip()
        except TimeoutError:
            return f"no worker answered a read within {PATIENCE_SECONDS:g} s"
        except (OSError, HTTPException) as error:
            return f"no worker can be asked: {error or type(error).__name__}"
    return "" if response.status == 200 else f"a worker that was asked says: {said}"
