"""Idempotency-Key: the answers that are stored for repeated requests, in a table of the
engine's own.

How this works. A client that got no answer repeats its request under the same
Idempotency-Key. What the first request writes and its answer are committed in one
transaction, so a repetition meets either both or neither. It gets the stored answer, or
it is carried out as if it were the first.

In that transaction `Retries.find` comes before the action, and `Retries.store` after
it. What an action does outside the database comes between two transactions.

A key holds for one sender. Two phones behind one application may choose the same key,
and neither may get the response of the other. The operation knows where its requests
name their sender (Operation.sender). A request that names nobody is of its network
address.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

import orjson

from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.limits import keyed, origins
from shopwindow.interface.declaring.operation import Call, Outcome, Sender
from shopwindow.interface.declaring.table import (
    Aging,
    Column,
    Personal,
    Session,
    Table,
    written,
)
from shopwindow.interface.request import Request
from shopwindow.interface.requests.body import encoded
from shopwindow.problems import Fault, Refusal

IDEMPOTENCY_HEADER = "idempotency-key"

MAX_KEY = 255
"""Characters of a key: many times a UUID (36), and few enough to be a part of a primary
key.
"""

ANSWERS_STORED_FOR = timedelta(hours=24)
"""How long an answer is stored. An older key counts as new even before its answer has
been pruned, so that what a client sees does not depend on when an operator prunes.
"""


@dataclass(frozen=True)
class Retry:
    """A request that may be repeated.

    ``scope`` is the primary key of its row: the application, the method, the path, and
    its Idempotency-Key behind a digest of who sent it, for the same key of another
    sender is another key. ``digest``: of its contents, which a repetition must share.
    ``device`` and ``user``: the person that the request names, so that the answer can
    be removed with the person's rows.
    """

    scope: tuple[str, str, str, str]
    digest: str
    device: str | None = None
    user: str | None = None


def key_of(call: Call, request: Request) -> str | None:
    """Return the Idempotency-Key of a request that may be repeated; None for one without
    a key.

    Only a POST may have a key; with other methods the header means nothing. Raises
    Refusal for a key that is malformed.
    """
    key = request.headers.get(IDEMPOTENCY_HEADER)
    if key is None or call.operation.method != "POST":
        return None
    if not 0 < len(key) <= MAX_KEY or not key.isascii() or not key.isprintable():
        fault = Fault(
            "Idempotency-Key", f"must be 1 to {MAX_KEY} visible ASCII characters"
        )
        raise Refusal("invalid", fault)
    return key


def retry_of(call: Call, request: Request, key: str, digest_key: bytes) -> Retry:
    """Return what identifies a request with a key, once for all its repetitions.
    ``digest_key`` is the key of the digest of its sender.
    """
    arguments = [[name, str(value)] for name, value in call.arguments]
    digest = sha256(encoded([arguments, call.body, call.if_match])).hexdigest()
    path, _, _ = call.target.partition("?")  # below the base URL, in one spelling
    sender = call.operation.sender(call) if call.operation.sender else Sender()
    whose = keyed(_name(sender, request.address), digest_key)
    scope = str(call.application), call.operation.method, path, f"{whose} {key}"
    return Retry(scope, digest, sender.device, sender.user)


def _name(sender: Sender, address: str) -> str:
    """Return whom a key holds for, as one text.

    That is the device, the user or the name of the sender, or else the network address.
    """
    if sender.device is not None:
        return f"device {sender.device}"
    if sender.user is not None:
        return f"user {sender.user}"
    return sender.name or f"address {origins(address)[0].name}"


class Retries:
    """The stored answers, in the transaction in which the action runs."""

    def __init__(self, session: Session) -> None:
        self._run = session.run

    def find(self, retry: Retry, at: datetime) -> Outcome | None:
        """Return the stored answer; None for the first request under its key.

        A repetition that comes before an answer is stored is performed as well, as after
        a crash. Raises Refusal where the key was used for another request.
        """
        # a former version stored an empty answer before it performed a request
        rows = self._run(
            "SELECT digest, outcome FROM retries"
            " WHERE application = ? AND method = ? AND path = ? AND idempotency_key = ?"
            " AND at > ? AND outcome <> ''",
            *retry.scope,
            written(at - ANSWERS_STORED_FOR),
        )
        if not rows:
            return None
        ((digest, outcome),) = rows
        if digest != retry.digest:
            fault = Fault(
                "Idempotency-Key",
                "was used with another body; use a new key for another request",
            )
            raise Refusal("repeated_otherwise", fault)
        value: dict[str, Json] = orjson.loads(outcome)
        return Outcome(value["value"], value["etag"], is_replayed=True)

    def store(self, retry: Retry, outcome: Outcome, at: datetime) -> None:
        """Store the answer of a request for which `find` returned None, in place of one
        that is too old. A refusal is not stored: the request is performed again where
        it is repeated.
        """
        if outcome.refusal:
            return
        text = orjson.dumps({"value": outcome.value, "etag": outcome.etag}).decode()
        self._run(
            "INSERT INTO retries"
            " (application, method, path, idempotency_key, digest, outcome, device, user_id, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (application, method, path, idempotency_key) DO UPDATE"
            " SET digest = excluded.digest, outcome = excluded.outcome,"
            " device = excluded.device, user_id = excluded.user_id, at = excluded.at",
            *(*retry.scope, retry.digest, text, retry.device, retry.user, written(at)),
        )

    def remove_naming(self, text: str) -> int:
        """Remove the stored answers in which a text occurs; return how many.

        It is for answers that name a person although their requests did not.
        """
        # unlike a pattern of LIKE, the text matches only itself
        sql = "DELETE FROM retries WHERE replace(outcome, ?, '') <> outcome RETURNING 1"
        return len(self._run(sql, text))


STORED_RESPONSES = Table(
    name="retries",
    steps=(
        """
        -- First answers to requests with an Idempotency-Key, and whose requests they were.
        CREATE TABLE retries (
            application TEXT NOT NULL,
            method TEXT NOT NULL,
            path TEXT NOT NULL,
            idempotency_key TEXT NOT NULL,
            digest TEXT NOT NULL,
            outcome TEXT NOT NULL,
            device TEXT,
            user_id TEXT,
            at TEXT NOT NULL,
            PRIMARY KEY (application, method, path, idempotency_key)
        );
        CREATE INDEX retries_at ON retries (at);
        """,
    ),
    verbs=Retries,
    personal=(
        Personal("retries", Column("device"), Column("user_id"), called="kept answers"),
    ),
    aging=(Aging("retries", "at", ANSWERS_STORED_FOR, called="kept answers"),),
)
