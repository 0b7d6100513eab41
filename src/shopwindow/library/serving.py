"""Answering requests from the current release."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from shopwindow.edge import openapi
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.secret import read_secret


def application(
    interface: Interface,
    out: Path,
    *,
    database: str = "",
    log_dir: Path | None = None,
    secret: str = "",
    trusted: str | None = None,
    docs: bool = True,
) -> Callable[..., Any]:
    """Return the WSGI callable (PEP 3333) that answers from the current release,
    following activations.

    ``database`` is the address of what writes go to, `sqlite:///PATH` or
    `postgresql://…`; empty: writes are refused. ``log_dir`` is the folder of the mobile
    log, if there is one. ``secret`` keys the digests that the database holds; without
    one they have a key of the database's own, and single-use codes are refused.
    ``trusted`` lists the networks of proxies whose X-Forwarded-For is believed, by
    default those on loopback. ``docs``: whether `/openapi.json` and `/docs` are
    answered, which describe the interface and need no key.

    While no release is current, requests are refused with status 503. Raises Failure
    for a database that waiting does not mend, and ValueError for a secret that is too
    short. The imports stand here: whoever checks and builds does not wait for them.
    """
    from shopwindow.service.database.database import open_database
    from shopwindow.service.logfile import LogFile
    from shopwindow.service.proxies import LOOPBACK, proxies
    from shopwindow.service.running import Backstage
    from shopwindow.service.watch import Watch
    from shopwindow.service.wsgi import Front

    backstage = Backstage(
        open_database(database, interface.tables) if database else None,
        LogFile(log_dir) if log_dir else None,
        read_secret(secret) if secret else b"",
        proxies(trusted or LOOPBACK),
    )
    watch = Watch(out, interface, describe=openapi.document if docs else None)
    interface.prepare_process()
    return Front(watch, backstage=backstage)
