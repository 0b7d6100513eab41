"""Idempotency-Key: what makes a repeated POST the same request as the first one.

A key holds for one sender. Two phones behind one application may choose the same key,
and neither may get the response of the other. The operation knows where its requests
name their sender (Operation.sender). A request that names nobody is of its network
address.

The stored responses are a table of the database (service.database.retries).
"""

from hashlib import sha256

from shopwindow.interface.declaring.limits import origins
from shopwindow.interface.declaring.operation import Call, Sender
from shopwindow.interface.request import Request
from shopwindow.interface.requests.body import encoded
from shopwindow.problems import Fault, Refusal
from shopwindow.service.database.retries import Retry

IDEMPOTENCY_HEADER = "idempotency-key"

MAX_KEY = 255
"""Characters of a key: many times a UUID (36), and few enough to be a part of a primary
key.
"""


def retry_of(call: Call, request: Request) -> Retry | None:
    """Return what identifies a request that may be repeated; None for one without a
    key.

    Only a POST may have a key; with other methods the header means nothing. ``sender``
    of the result is a text, of which the caller makes a keyed digest. Raises Refusal
    for a key that is malformed.
    """
    key = request.headers.get(IDEMPOTENCY_HEADER)
    if key is None or call.operation.method != "POST":
        return None
    if not 0 < len(key) <= MAX_KEY or not key.isascii() or not key.isprintable():
        fault = Fault(
            "Idempotency-Key", f"must be 1 to {MAX_KEY} visible ASCII characters"
        )
        raise Refusal("invalid", fault)

    arguments = [[name, str(value)] for name, value in call.arguments]
    digest = sha256(encoded([arguments, call.body, call.if_match])).hexdigest()
    # a path may end with a slash; both spellings are one path
    path = request.path.removesuffix("/")
    sender = call.operation.sender(call) if call.operation.sender else Sender()
    return Retry(
        str(call.application),
        call.operation.method,
        path,
        key,
        digest,
        sender.device,
        sender.user,
        _name(sender, request.address),
    )


def _name(sender: Sender, address: str) -> str:
    """Return whom a key holds for, as one text.

    That is the device, the user or the name of the sender, or else the network address.
    """
    if sender.device is not None:
        return f"device {sender.device}"
    if sender.user is not None:
        return f"user {sender.user}"
    return sender.name or f"address {origins(address)[0].name}"
