"""`/openapi.json` and `/docs`: what describes the interface, for programs and for people.

How this works. The document follows from the release that is served, so each release
has a Documentation of its own. Somebody hands in what prints the document, because the
service itself knows no edge. It is printed for the first request and not at the start
of a worker: most workers are never asked. Each body is then held as it is and in each
coding that a client asked for.

The page is Redoc, vendored in `static`: it loads nothing from elsewhere, so it works
without the internet, and nobody else learns who reads it.
"""

import threading
from collections.abc import Callable
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import quote

import orjson

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.answering.answer import Response, cache_control
from shopwindow.interface.answering.validators import etag
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.routes import DOCS_PATH, DOCUMENT_PATH, REDOC_PATH
from shopwindow.interface.formats import JSON
from shopwindow.service.codings import Accepted, encoded

Describe = Callable[[Interface, Content, Schemas], Json]
"""Returns an interface as an OpenAPI document, with examples from a release."""

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


class Documentation:
    """The documentation of one release, below its base URL.

    ``base``: the base URL's path, unquoted, without slashes around it. ``varies``:
    the names of the headers on which its responses depend.
    """

    def __init__(
        self,
        interface: Interface,
        describe: Callable[[], Json],
        base: str,
        varies: str,
    ) -> None:
        self.paths = frozenset(interface.routes.open_paths)
        """The paths below the base URL that are answered here."""
        self._title = f"{interface.title} {interface.version}"
        self._describe = describe
        self._base = base
        self._varies = varies
        self._printed = cache(self._print)
        self._coded = cache(lambda path, accept: encoded(self._printed(path), accept))
        self._lock = threading.Lock()

    def response(self, path: str, accept: Accepted) -> Response:
        """Return the response to GET of a page, in the coding that a client accepts.

        It is printed and compressed once, while other threads wait for it.
        """
        with self._lock:
            return self._coded(path, accept)

    def _print(self, path: str) -> Response:
        """Return a response as it is, with all its headers."""
        lifetime = RELEASE_SECONDS
        policy: tuple[tuple[str, str], ...] = ()
        if path == DOCUMENT_PATH:
            media_type = JSON.media_type
            body = orjson.dumps(self._describe())
        elif path == DOCS_PATH:
            media_type = "text/html; charset=utf-8"
            page = _PAGE.format(
                title=escape(self._title),
                document=escape(self._url(DOCUMENT_PATH)),
                script=escape(self._url(REDOC_PATH)),
            )
            body = page.encode()
            policy = (("Content-Security-Policy", DOCS_SECURITY_POLICY),)
        else:
            is_script = path == REDOC_PATH
            media_type = "text/javascript" if is_script else "text/plain"
            media_type += "; charset=utf-8"
            body = (REDOC_FOLDER / Path(path).name).read_bytes()
            body = body.replace(MAKERS_IMAGE, NO_IMAGE)
            lifetime = REDOC_SECONDS
        headers = (
            ("Content-Type", media_type),
            ("Cache-Control", cache_control(lifetime)),
            ("Vary", self._varies),
            ("ETag", etag(body)),
            ("X-Content-Type-Options", "nosniff"),
            *policy,
        )
        return Response(200, media_type, body, lifetime, headers)

    def _url(self, path: str) -> str:
        return quote(f"/{self._base}/{path}" if self._base else f"/{path}")
