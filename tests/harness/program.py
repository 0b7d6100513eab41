"""The doors by which tests reach the program, beside its own: the library, HTTP and the command.

A test that speaks to these says nothing of the rooms behind them, and stays when a room is rebuilt.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nginx import Answer
from releases import AT, built
from served import called
from shopwindow import library
from shopwindow.content.check import Checked
from shopwindow.content.documents import Content
from shopwindow.content.schema import Schemas
from shopwindow.edge.nginx import NO_LIMITS, EdgeLimits
from shopwindow.interface.interface import Interface
from shopwindow.service.database.database import Database
from shopwindow.service.logfile import LogFile
from shopwindow.service.running import Backstage
from shopwindow.service.serving import load
from shopwindow.service.wsgi import Application, application
from shopwindow.shop import INTERFACE

__all__ = ["Application", "Checked", "Database", "Schemas"]  # types that tests name and do not look into

NOWHERE = Path("/dev/null/content")
"""For what is to be the program's own: a content folder that cannot be there."""


def program_schemas(interface: Interface = INTERFACE) -> Schemas:
    """The schemas of an interface without those of a content folder."""
    return library.schemas(interface, NOWHERE)


@dataclass(frozen=True)
class Request:
    """What a client sends: the target is a path, and a query where there is one."""

    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"
    body: bytes = b""


def checked(folder: Path, interface: Interface = INTERFACE, **options: Any) -> Checked:
    """A check of a content folder in this process. ``options`` are the library's."""
    return library.check(interface, folder, **{"jobs": 1, **options})


def released(folder: Path, out: Path | None = None, *, at: str = AT) -> Path:
    """A folder of releases with one of a content folder: ``out``, or `dist` beside the content."""
    out = out or folder.parent / "dist"
    built(folder, out, at=at)
    return out


def served(
    release: Path,
    database: Database | None = None,
    logs: Path | None = None,
    *,
    secret: bytes = b"",
    content: Content | None = None,
    interface: Interface = INTERFACE,
    describe: Callable[..., Any] | None = None,
) -> Application:
    """The WSGI callable of the service on the current release of a folder, loaded once and for all.

    ``content``: what it answers from in place of the release's.
    """
    loaded = load(release, interface, program_schemas(interface))
    loaded = replace(loaded, content=content or loaded.content, describe=describe)
    backstage = Backstage(database, LogFile(logs) if logs else None, secret)
    return application(lambda request: loaded, backstage=backstage)


def answered(release: Path | Application, request: Request | str) -> Answer:
    """What the service answers to a request from a folder of releases, or where it runs already."""
    asked = Request(request) if isinstance(request, str) else request
    service = served(release) if isinstance(release, Path) else release
    return called(service, asked.target, asked.headers, asked.method, asked.body)


def nginx_configuration(
    release: Path, keys: Mapping[str, str], service: str, listen: str, limits: EdgeLimits = NO_LIMITS
) -> str:
    """What `edge nginx` prints for the current release of a folder. ``keys``: applications by their keys."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("".join(f"{application} {key}\n" for key, application in keys.items()))
        file.flush()
        printed = library.nginx_configuration(
            INTERFACE, NOWHERE, release, Path(file.name), service=service, listen=listen, limits=limits
        )
    text, warnings = printed
    assert warnings == []
    return text
