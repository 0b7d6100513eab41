"""`/openapi.json` and `/docs`: what describes the interface, for programs and for people.

How this works. The document follows from the release that is served, so each release
has pages of its own. Somebody hands in what prints the document, because the
service itself knows no edge. It is printed for the first request and not at the start
of a worker: most workers are never asked. Each body is then held as it is and in each
coding that a client asked for.

The page is Redoc, vendored in `static`: it loads nothing from elsewhere, so it works
without the internet, and nobody else learns who reads it.
"""

import threading
from collections.abc import Callable
from functools import cache, partial
from html import escape
from pathlib import Path
from urllib.parse import quote

import orjson

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.answering.answer import Response
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.operation import Operation, Page
from shopwindow.interface.declaring.routes import DOCS_PATH, DOCUMENT_PATH, REDOC_PATH
from shopwindow.interface.formats import JSON
from shopwindow.service.codings import Accepted, encoded
from shopwindow.service.headers import with_common_headers

Describe = Callable[[Interface, Content, Schemas], Json]
"""Returns an interface as an OpenAPI document, with examples from a release."""

DOCUMENTATION = "documentation"
"""What the log and the metrics call a request for a page."""

REDOC_FOLDER = Path(__file__).parent / "static"

RELEASE_SECONDS = 300
"""For which caches may store what follows from a release. An app's configuration is
stored as long.
"""

REDOC_SECONDS = 24 * 60 * 60
"""For which caches may store what changes with the program alone. A page works with the
Redoc of the day before.
"""


DOCS_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; "
    # Redoc searches in a worker, which it makes of a text
    "worker-src blob:; "
    # Redoc writes its styles into the page
    "style-src 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""What Redoc needs and nothing else: no script but the vendored one, nothing from
elsewhere.
"""

MAKERS_IMAGE, NO_IMAGE = b"https://cdn.redoc.ly/redoc/logo-mini.svg", b"data:,"
"""The address of its maker's logo in redoc.standalone.js 2.5.4, and what is sent in its
place. Redoc has no setting for it. Every browser would report that the policy refuses
it; an image that is empty is left out in silence.
"""

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>body {{ margin: 0 }}</style>
</head>
<body>
<noscript>This page needs JavaScript. The same in one document: <a href="{document}">openapi.json</a></noscript>
<redoc spec-url="{document}"></redoc>
<script src="{script}"></script>
</body>
</html>
"""


def documentation(
    interface: Interface, describe: Callable[[], Json], base: str, varies: str
) -> list[Operation]:
    """Return the pages that describe an interface, as operations of its base URL.

    Args:
        interface: whose paths come before those of the pages.
        describe: returns the OpenAPI document.
        base: what the paths below the base URL begin with, unquoted.
        varies: the names of the headers on which the responses depend.
    """
    lock = threading.Lock()

    @cache
    def printed(path: str) -> Response:
        """Return a response as it is, with all its headers."""
        lifetime = RELEASE_SECONDS
        headers = [("X-Content-Type-Options", "nosniff")]
        if path == DOCUMENT_PATH:
            media_type = JSON.media_type
            body = orjson.dumps(describe())
        elif path == DOCS_PATH:
            media_type = "text/html; charset=utf-8"
            page = _PAGE.format(
                title=escape(f"{interface.title} {interface.version}"),
                document=quote(f"/{base}{DOCUMENT_PATH}"),
                script=quote(f"/{base}{REDOC_PATH}"),
            )
            body = page.encode()
            headers.append(("Content-Security-Policy", DOCS_SECURITY_POLICY))
        else:
            kind = "javascript" if path == REDOC_PATH else "plain"
            media_type = f"text/{kind}; charset=utf-8"
            body = (REDOC_FOLDER / Path(path).name).read_bytes()
            body = body.replace(MAKERS_IMAGE, NO_IMAGE)
            lifetime = REDOC_SECONDS
        response = Response(200, media_type, body, lifetime, tuple(headers))
        return with_common_headers(response, varies)

    @cache
    def coded(path: str, accept: Accepted) -> Response:
        return encoded(printed(path), accept)

    def respond(path: str, accept: Accepted) -> Response:
        # it is printed and compressed once, while other threads wait for it
        with lock:
            return coded(path, accept)

    return [
        Operation(DOCUMENTATION, path, Page(partial(respond, path)), "", "")
        for path in interface.routes.open_paths
    ]
