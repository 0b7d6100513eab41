"""The response to one request, answered from checked documents where no release was
built.

An editor who asks what an app would get has changed a file and not built yet. The
request takes the way that it takes in the service: it is bound to a Call, and `answer`
answers that. Two things differ. A pasted address may have the base URL in front, which
is taken off. And an index takes a while to build, so it is opened only once a view asks
it something: by default it is then built in a temporary folder.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shopwindow.content.documents.documents import Content, Documents
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.answering.answer import Response, answer, refuse
from shopwindow.interface.answering.contracts import as_request
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.operation import FromContent, Operation
from shopwindow.interface.formats import Format
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import Misuse, Refusal
from shopwindow.release.indexes import on_demand


def show(
    interface: Interface,
    schemas: Schemas,
    documents: Documents,
    content: Content,
    request: str,
    application: str | None,
    format: Format,
    index_file: Callable[[str], Path] | None = None,
) -> Response:
    """Return the response to a request; a Refusal becomes the response that a client
    would get.

    ``content`` holds those of ``documents`` that are live. ``request`` is a path and
    query below the base URL, or a whole URL. ``index_file`` returns the file of an index of these
    documents, by its name; what it raises, `show` raises. Raises Misuse for an
    operation that only the running service answers, and for a URL of another host.
    """
    below = below_base_url(request, interface, documents.site.value)
    parsed = as_request(below, format)
    try:
        with on_demand(
            interface.indexes, documents.feeds, content, index_file
        ) as opened:
            indexed_content = content.with_indexes(opened(None))
            call = bind(parsed, application, interface, content=indexed_content)
            require_from_content(call.operation)
            return answer(call, indexed_content, schemas)
    except Refusal as refusal:
        return refuse(refusal, format, schemas)


def require_from_content(operation: Operation) -> None:
    """Raise Misuse for an operation that no content answers."""
    if not isinstance(operation.source, FromContent):
        what = f"{operation.path} is answered by the running service only"
        raise Misuse("", f"{what} (`shopwindow serve`)")


def below_base_url(request: str, interface: Interface, site: Mapping[str, Any]) -> str:
    """Return the path and query of a request below the base URL, or below the order
    host's.

    Both hosts may have the same address: then the one counts that has such a path.
    Raises Misuse for a whole URL that is below neither.
    """
    target = re.sub(
        "^https?://", "//", request.strip().partition("#")[0], flags=re.IGNORECASE
    )
    has_host = target.startswith("//")
    matches = []
    for order_host, setting in ((False, "base_url"), (True, "order_base_url")):
        base = urlsplit(site[setting])
        host = f"//{base.netloc}" if has_host else ""
        prefix = f"{host}{base.path}/"
        if target.lower().startswith(prefix.lower()):
            matches.append((order_host, target[len(prefix) :]))

    if has_host and not matches:
        base, order = (
            f"base_url, {site['base_url']}",
            f"order_base_url, {site['order_base_url']}",
        )
        both = (
            base
            if site["order_base_url"] == site["base_url"]
            else f"{base}, and not below {order}"
        )
        raise Misuse("", f"{request}: not below {both}")
    for order_host, rest in matches:
        path = rest.partition("?")[0].removesuffix("/")
        if interface.routes.of(path, order_host):
            return rest
    return matches[0][1] if matches else target
