"""The response to one request, answered from checked documents where no release was
built.

An editor who asks what an app would get has changed a file and not built yet. The
request takes the way that it takes in the service: it is bound to a Call, and `answer`
answers that. Two things differ. A pasted address may have the base URL in front, which
is taken off. And an index takes a while to build, so it is opened only once a view asks
it something (`indexes.on_demand`).
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.answering.answer import Response, refuse, respond
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.formats import Format
from shopwindow.problems import Misuse, Refusal
from shopwindow.release.answer_origins import AnswerOrigins, answer_origins
from shopwindow.release.order import Asking


def show(
    asking: Asking,
    schemas: Schemas,
    request: str,
    application: str | None,
    format: Format,
) -> tuple[Response, AnswerOrigins | None]:
    """Return the response to a request, and where its values come from; a Refusal
    becomes the response that a client would get, whose values come from nowhere.

    ``request`` is a path and query below the base URL, or a whole URL. Raises Misuse for
    an operation that only the running service answers, and for a URL of another host.
    """
    below = below_base_url(request, asking.interface, asking.documents.site.value)
    try:
        origins = answer_origins(asking, below, application, format)
    except Refusal as refusal:
        return refuse(refusal, format, schemas), None
    return respond(origins.call, origins.answer, asking.content, schemas), origins


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
