"""The factory of the WSGI callable, for `serve` and for any other server.

It stands above the service, which answers, and the edge, which describes the interface:
neither knows the other.
"""

from shopwindow.edge import openapi
from shopwindow.service import wsgi
from shopwindow.service.wsgi import Front


def make() -> Front:
    """Return the WSGI callable of a worker process, with `/openapi.json` and `/docs`.

    Environment variables set it up, as `shopwindow.service.wsgi.make` lists them.
    """
    return wsgi.make(openapi.document)
