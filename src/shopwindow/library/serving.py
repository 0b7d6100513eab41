"""Answering requests from the current release."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from shopwindow.edge import openapi
from shopwindow.interface.declaring.interface import Interface


def application(
    interface: Interface, out: Path, *, docs: bool = True
) -> Callable[..., Any]:
    """Return the WSGI callable (PEP 3333) that answers reads from the current release,
    following activations. Writes are refused: `shopwindow.wsgi.make` takes them, too,
    with a database.

    ``docs``: whether `/openapi.json` and `/docs` are answered, which describe the
    interface and need no key. While no release is current, requests are refused with
    status 503. The imports stand here: whoever checks and builds does not wait for them.
    """
    from shopwindow.service.watch import Watch
    from shopwindow.service.wsgi import Front

    watch = Watch(out, interface, describe=openapi.document if docs else None)
    interface.prepare_process()
    return Front(watch)
