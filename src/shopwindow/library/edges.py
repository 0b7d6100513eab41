"""What is printed from an interface and its current release: configurations of edges, documents
for client developers, keys of applications.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shopwindow.content.documents.documents import Content
from shopwindow.content.schemas.schema import Schemas
from shopwindow.edge import keys as api_keys
from shopwindow.edge import nginx, openapi, worker
from shopwindow.edge.nginx import EdgeLimits
from shopwindow.edge.rules import rules
from shopwindow.interface.declaring.collections import schemas_with
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.loading import template_folders
from shopwindow.library.checking import check
from shopwindow.library.opening import live_at, schemas
from shopwindow.library.operating import opened_release
from shopwindow.library.showing import require_application
from shopwindow.problems import (
    Failure,
    Misuse,
)


@dataclass(frozen=True)
class NewKey:
    """A new API key, and its digest for the content (SHA-256, hex).

    ``application_checked``: False where the content has problems, so that nobody could
    look the application up.
    """

    key: str
    digest: str
    application_checked: bool


def new_key(interface: Interface, content: Path, application: str) -> NewKey:
    """Generate an API key for an application.

    While the content has problems, nobody can say which applications it has. One of
    the problems may be that this application lacks its first key, so a key is generated
    all the same. Raises Misuse where the content has no such application.
    """
    documents = check(interface, content).documents
    if documents:
        published = live_at(interface, documents, None)
        require_application(application, interface.application_names(published))
    return NewKey(*api_keys.new_key(), application_checked=documents is not None)


def nginx_configuration(
    interface: Interface,
    content: Path,
    out: Path,
    keys: Path | None,
    *,
    service: str = "127.0.0.1:8000",
    listen: str = "80",
    limits: EdgeLimits | None = None,
    templates: Path | None = None,
) -> tuple[str, list[str]]:
    """Return nginx's configuration for the current release, for its http context, and
    warnings about the keys.

    ``keys`` is a file with a line `<application> <key>` each; None only where the
    interface asks for no key. The configuration holds these keys, so nobody else may
    read it. ``service`` is the address of what answers the rest, ``listen`` where nginx
    listens. ``templates`` is a folder whose nginx.conf is used instead of the program's
    own.

    Raises Failure for keys that cannot be read, and Misuse for an address or a template
    that cannot be used.
    """
    folders = _edge_templates(interface, nginx.NGINX_TEMPLATE, templates)
    # an empty argument is a path without a name
    if not (keys and keys.name) and interface.applications:
        raise Misuse(
            "api-keys",
            "is needed: a file with a line `<application> <key>` for each key",
        )
    current = _current_release(interface, content, out)
    try:
        text = keys.read_text(encoding="utf-8-sig") if keys else ""
        applications, warnings = api_keys.read_keys(text, *current[:2])
    except (OSError, ValueError) as error:
        raise Failure(f"{keys}: {error}") from None

    files = (out / "current" / "files").absolute()
    try:
        configuration = nginx.configuration(
            rules(*current),
            applications,
            files,
            service,
            listen,
            templates=folders,
            limits=limits or EdgeLimits(),
        )
    except ValueError as error:
        raise Misuse("", str(error)) from None
    return configuration, warnings


def worker_module(
    interface: Interface, content: Path, out: Path, *, templates: Path | None = None
) -> str:
    """Return the worker for the current release, a JavaScript module for Cloudflare or
    workerd.

    ``templates`` is a folder whose worker.js is used instead of the program's own.
    Raises Failure, and Misuse for a template that cannot be used.
    """
    folders = _edge_templates(interface, worker.WORKER_TEMPLATE, templates)
    current = _current_release(interface, content, out)
    return worker.module(rules(*current), folders)


def _edge_templates(
    interface: Interface, name: str, templates: Path | None
) -> list[Path]:
    """Return the folders to search for an edge's template. Raises Misuse."""
    if templates and not (templates / name).is_file():
        raise Misuse("templates", f"{templates}: there is no {name} in it")
    return template_folders(interface, *filter(None, [templates]))


def openapi_document(interface: Interface, content: Path, out: Path) -> dict[str, Any]:
    """Return the interface as an OpenAPI 3.1 document, with examples from the current
    release.

    Raises Failure.
    """
    return dict(openapi.document(*_current_release(interface, content, out)))


def _current_release(
    interface: Interface, content: Path, out: Path
) -> tuple[Interface, Content, Schemas]:
    """Read the current release: return the interface with its collections, its content,
    and its schemas. Raises Failure.

    Schemas of the folder ``content``, where it is there, come before the program's own.
    """
    current = opened_release(interface, out, "current")
    extended_schemas = schemas_with(schemas(interface, content), current.interface)
    return current.interface, current.content, extended_schemas
