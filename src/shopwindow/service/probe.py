"""A probe: the admin address asks a worker whether it can read, as a client would.

The request goes through the same socket, server and threads as any other, so the
response proves that all of these work. Its header holds a token that only processes of
this service know. For anybody else the header means nothing.
"""

import hmac
import os
from contextlib import closing
from http.client import HTTPConnection, HTTPException

from shopwindow.service.serving import Serving

TOKEN_VARIABLE = "SHOPWINDOW_PROBE"
"""The environment variable by which workers get the token. Nobody sets it by hand."""

HEADER, ENVIRON = "X-Service-Probe", "HTTP_X_SERVICE_PROBE"
"""The header's name, and its name in the WSGI environment."""

PROBE_SECONDS = 3.0
"""For the response of a worker: Kubernetes and HAProxy wait 1 to 5 s for a check."""

ProbedAddress = tuple[str, int]


def set_token() -> None:
    """Make the token of this run, for the workers that this process will start."""
    os.environ[TOKEN_VARIABLE] = os.urandom(16).hex()


def is_probe(header: str | None) -> bool:
    """Return whether a request with this header, or None without it, is a probe."""
    if header is None:
        return False
    token = os.environ.get(TOKEN_VARIABLE, "")
    return token != "" and hmac.compare_digest(header.encode(), token.encode())


def read(serving: Serving | None) -> str:
    """Read from a release as requests do. Return why that fails; empty: it does not.

    Raises what reading raises, such as sqlite3.Error for a damaged index.
    """
    if serving is None:
        return "no release is being served yet"
    serving.content.setting("base_url")
    for index in serving.interface.indexes:
        opened = serving.content.index(index.name)
        if opened is not None:
            index.probe(opened)
    return ""


def ask(address: ProbedAddress) -> str:
    """Send a probe to the address of a service. Return why it fails; empty: it does
    not.
    """
    host, port = address
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # nosec B104 # nothing is bound here
    headers = {HEADER: os.environ.get(TOKEN_VARIABLE, "")}
    with closing(HTTPConnection(host, port, timeout=PROBE_SECONDS)) as connection:
        try:
            connection.request("GET", "/", headers=headers)
            response = connection.getresponse()
            reason = response.read(1000).decode(errors="replace").strip()
        except TimeoutError:
            return f"no worker answered a read within {PROBE_SECONDS:g} s"
        except (OSError, HTTPException) as error:
            return f"no worker can be reached: {error or type(error).__name__}"
    return "" if response.status == 200 else f"a worker answers: {reason}"
