"""The factory of the WSGI callable, for `serve` and for any other server.

It stands above the service, which answers, and the edge, which describes the interface:
neither knows the other.
"""

import os

from shopwindow.edge import openapi
from shopwindow.service import wsgi
from shopwindow.service.settings import Settings
from shopwindow.service.wsgi import Front


def make(settings: Settings | None = None) -> Front:
    """Return the WSGI callable of a worker process, with `/openapi.json` and `/docs`.

    Without ``settings`` the environment has them. Raises Failure.
    """
    return wsgi.make(settings or Settings.from_environ(os.environ), openapi.document)
