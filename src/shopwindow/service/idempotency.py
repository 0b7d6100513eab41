"""Idempotency-Key: what makes a repeated POST the same request as the first one.

A key holds for one sender. Two phones behind one application may choose the same key, and
neither may get the response of the other. The sender is who the request names: a device, a
user, a bag's owner, or the mail address of who shares a promotion. A request that names nobody
is of its network address.

The stored responses are a table of the database (service.database.retries).
"""

from hashlib import sha256

from shopwindow.content.yaml import Json
from shopwindow.interface.body import encoded
from shopwindow.interface.call import Call, Request
from shopwindow.interface.origins import origins
from shopwindow.problems import Fault, Refusal
from shopwindow.service.database.retries import Retry

IDEMPOTENCY_HEADER = "idempotency-key"

MAX_KEY = 255
"""Characters of a key: many times a UUID (36), and few enough to be a part of a primary key."""

GUEST_PARAMETERS = ("userId", "bagId", "bagGuid")
"""Parameters of a path or query that name a guest: each guest has one bag."""


def retry_of(call: Call, request: Request) -> Retry | None:
    """Return what identifies a request that may be repeated; None for one without a key.

    Only a POST may have a key; with other methods the header means nothing. ``sender`` of the
    result is a text, of which the caller makes a keyed digest. Raises Refusal for a key that is
    malformed.
    """
    key = request.headers.get(IDEMPOTENCY_HEADER)
    if key is None or call.operation.method != "POST":
        return None
    if not 0 < len(key) <= MAX_KEY or not key.isascii() or not key.isprintable():
        fault = Fault("Idempotency-Key", f"must be 1 to {MAX_KEY} visible ASCII characters")
        raise Refusal("invalid", (fault,))

    arguments = [[name, str(value)] for name, value in call.arguments]
    digest = sha256(encoded([arguments, call.body, call.if_match])).hexdigest()
    # a path may end with a slash; both spellings are one path
    path = request.path.removesuffix("/")
    device = _first_property(call.body, "deviceID", "deviceId") or _logged_device(call.body)
    user = _first_property(call.body, "svcUID", "svcUid", "userId")
    sender = _sender(call, device, user, request.address)
    return Retry(
        str(call.application), call.operation.method, path, key, digest, device, user, sender
    )


def _sender(call: Call, device: str | None, user: str | None, address: str) -> str:
    """Return whom a key holds for: who the request names, or the address it came from."""
    if device is not None:
        return f"device {device}"
    if user is not None:
        return f"user {user}"
    for name, value in call.arguments:
        if name in GUEST_PARAMETERS:
            return f"{name} {value}"
    mail = _first_property(call.body, "senderEmailAddress")
    if mail is not None:
        return f"mail {mail.strip().lower()}"
    return f"address {origins(address)[0].name}"


def _first_property(body: Json, *names: str) -> str | None:
    """Return the first of some properties that a body has, as text."""
    if not isinstance(body, dict):
        return None
    for name in names:
        if body.get(name) is not None:
            return str(body[name])
    return None


def _logged_device(body: Json) -> str | None:
    """Return the device that all entries of a mobile log's body name, if it is one device."""
    entries = body.get("entry") if isinstance(body, dict) else None
    if not isinstance(entries, list):
        return None
    devices = {entry.get("deviceId") for entry in entries}
    return str(devices.pop()) if len(devices) == 1 and None not in devices else None
