"""A small core for programs that call a shopwindow service: copies of reads, writes that are done once, the mobile log.

It knows no operation. Types of answers come from the service's OpenAPI document, by a generator: hand `read` the
function that makes such a type of a JSON object.
"""

import json
import os
import queue
import re
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import httpx

KEY_HEADER = "x-svc-webservice-client-id"
SECONDS = 3.0
"""How long one attempt may take: longer, and somebody looks at an empty screen."""
ATTEMPTS = 3
"""Requests in a row for one write: enough for a service that restarts, few for a battery."""
LONGEST_WAIT = 10.0
"""Seconds. Where Retry-After asks for more, the caller decides whether to wait."""
AWAY = frozenset({429, 500, 502, 503, 504})
"""Statuses by which the service says that it is not there for this request."""
TEMPORARY = AWAY - {500}
"""Statuses after which the same write may succeed."""
OLDEST_COPY = 7 * 24 * 3600.0
"""Seconds. An older copy is worse than an error: offers have ended, and stores have moved."""
BATCH = 20
"""Log entries in a request. An application's loggingInfo may admit fewer (maxLogCount)."""
WAITING = 1000
"""Log entries that wait for the service; beyond it the oldest are dropped."""
LONGEST_MESSAGE = 4000
"""Characters of a log message that the service takes."""

NOT_AS_PROMISED = (ValueError, TypeError, LookupError, AttributeError)
"""What a generated type raises for a JSON value of another form."""

Json = dict[str, Any]
Query = Mapping[str, str | int | float]


class Unreachable(Exception):
    """There is no answer of the service, and no copy that may stand for it."""


@dataclass
class Refused(Exception):
    """The service refused a request. A 401's ``message`` names the header of the key.

    ``request_id``: what to name when asking the service's operators. ``retry_after``: seconds to wait; None: repeating
    the request does not help.
    """

    status: int
    code: int
    message: str
    request_id: str = ""
    retry_after: float | None = None

    def __str__(self) -> str:
        return f"{self.status}: {self.message} (request {self.request_id})"


@dataclass(frozen=True)
class Answer:
    """``etag``: of this state; empty: it has none. ``is_copy``: nobody answered, and this was the last answer."""

    value: Any
    etag: str
    is_copy: bool = False


class Client:
    """A service, as one application sees it.

    Args:
        base_url: the address of the interface, such as https://api.example.com.
        key: the application's API key.
        copies: a folder for copies of reads.
        transport: how requests are sent; by default over the network.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        copies: Path,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._copies, self._clock, self._key = copies, clock, key
        headers = {KEY_HEADER: key, "Accept": "application/json"}
        address = base_url.rstrip("/") + "/"
        self._http = httpx.Client(
            base_url=address, headers=headers, timeout=SECONDS, transport=transport
        )
        self._waiting: list[Json] = []
        self._batch: tuple[str, list[Json]] | None = None
        self.dropped = 0
        """Log entries that were lost: too many waited, or the service does not want them."""

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def read(
        self, path: str, query: Query | None = None, form: Callable[[Json], Any] = dict
    ) -> Answer:
        """Return the answer to a public read, such as store/v2/stores.

        A copy needs no request for as long as the service's max-age allows. After that there is one attempt. Where it
        brings nothing of the promised form, such as a login page, the copy stands for the answer. Of an answer that is
        not public (no-store), such as a bag, there is no copy.

        Args:
            path: below the base address.
            query: its parameters.
            form: makes the answer's type of a JSON object, and raises where it is another's.

        Raises Refused; Unreachable where there is no copy of the last seven days.
        """
        name = f"{self._http.base_url}{_target(path, query)}\0{self._key}"
        file = self._copies / f"{sha256(name.encode()).hexdigest()[:32]}.json"
        copy = _loaded(file, form)
        now = self._clock()
        if copy and copy["at"] <= now < copy["until"]:
            return Answer(form(copy["value"]), copy["etag"])
        known = {"If-None-Match": copy["etag"]} if copy and copy["etag"] else {}
        try:
            received = self._sent("GET", path, query, None, known)
            value = (
                copy["value"] if copy and received.status == 304 else _object(received)
            )
            typed = form(value)
        except (Refused, Unreachable, *NOT_AS_PROMISED) as error:
            if isinstance(error, Refused) and error.status not in AWAY:
                raise
            if copy and abs(now - copy["at"]) <= OLDEST_COPY:
                return Answer(form(copy["value"]), copy["etag"], is_copy=True)
            age = "the copy is older than seven days" if copy else "there is no copy"
            raise Unreachable(f"{path}: {error}; {age}") from error
        etag = received.headers.get("ETag", "")
        if "no-store" not in received.headers.get("Cache-Control", ""):
            until = now + _fresh(received)
            _store(file, {"etag": etag, "at": now, "until": until, "value": value})
        return Answer(typed, etag)

    def write(
        self,
        method: str,
        path: str,
        body: Json,
        query: Query | None = None,
        *,
        if_match: str = "",
        key: str = "",
    ) -> Answer:
        """Send a write, and return its answer.

        A POST has an Idempotency-Key: it is sent again where its answer is lost or the service asks to wait, and is
        done once. Another method is sent once.

        Args:
            if_match: the ETag of what it changes.
            key: the Idempotency-Key of a POST that an earlier call sent in vain; by default a new one.

        Raises Refused; Unreachable where it may or may not have been done.
        """
        headers = {"If-Match": if_match} if if_match else {}
        if method == "POST":
            headers["Idempotency-Key"] = key or str(uuid.uuid4())
        for attempt in range(ATTEMPTS):
            wait = 0.5 * 2**attempt
            is_last = method != "POST" or attempt == ATTEMPTS - 1
            try:
                received = self._sent(method, path, query, body, headers)
                return Answer(_object(received), received.headers.get("ETag", ""))
            except Refused as refusal:
                wait = max(wait, refusal.retry_after or 0)
                if is_last or refusal.status not in TEMPORARY or wait > LONGEST_WAIT:
                    raise
            except (Unreachable, ValueError) as error:
                if is_last:
                    raise Unreachable(f"{method} {path}: {error}") from error
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def log(self, level: str, message: str, device_id: str, platform: str) -> None:
        """Add an entry to the mobile log. It is sent by `flush`."""
        phone = {"deviceId": device_id, "platform": platform}
        self._waiting.append(
            {**phone, "logLevel": level, "logMessage": message[:LONGEST_MESSAGE] or " "}
        )
        if len(self._waiting) > WAITING:
            del self._waiting[0]
            self.dropped += 1

    def flush(self) -> int:
        """Send the log in batches, and return how many entries the service has stored.

        A batch whose answer is lost is sent again under its key, so no entry is stored twice. Raises Refused and
        Unreachable; the entries then wait for the next call, unless they would be refused again.
        """
        stored = 0
        while self._batch or self._waiting:
            key, entries = self._batch or (str(uuid.uuid4()), self._waiting[:BATCH])
            if not self._batch:
                self._batch = key, entries
                del self._waiting[:BATCH]
            try:
                answer = self.write(
                    "POST", "v2/utility/mobilelog", {"entry": entries}, key=key
                )
                is_stored = bool(answer.value["logPostResponse"]["success"])
            except (TypeError, LookupError) as error:
                raise Unreachable("the answer has another form") from error
            except Refused as refusal:
                if refusal.status not in TEMPORARY:
                    self._batch = None
                    self.dropped += len(entries)
                raise
            self._batch = None
            if is_stored:
                stored += len(entries)
            else:
                self.dropped += len(entries)
        return stored

    def _sent(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: Json | None,
        headers: Mapping[str, str],
    ) -> "_Received":
        """Send a request once; the answer has 200 or 304. Raises Refused, and Unreachable for what nobody promised."""
        request = self._http.build_request(
            method, _target(path, query), json=body, headers=headers
        )
        received = _in_time(lambda: self._received(request))
        if received.status not in (200, 304):
            raise _refusal(received)
        return received

    def _received(self, request: httpx.Request) -> "_Received":
        try:
            response = self._http.send(request)
        except httpx.RequestError as error:
            raise Unreachable(str(error) or type(error).__name__) from error
        return _Received(response.status_code, response.headers, response.content)


def _target(path: str, query: Query | None) -> str:
    """Return a path with its query. Commas are not encoded: files of a release have these addresses."""
    return f"{path}?{urlencode(query, safe=',()', quote_via=quote)}" if query else path


class _Received(NamedTuple):
    status: int
    headers: httpx.Headers
    data: bytes


def _in_time(work: Callable[[], _Received]) -> _Received:
    """Return what work returns, within SECONDS. Raises what it raises, and Unreachable.

    httpx bounds each step of a request, but not their sum: a name that is looked up, a connection, each part of a head.
    """
    done: queue.SimpleQueue[_Received | Exception] = queue.SimpleQueue()

    def run() -> None:
        try:
            done.put(work())
        except Exception as error:
            done.put(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        outcome = done.get(timeout=SECONDS)
    except queue.Empty:
        raise Unreachable(f"no whole answer in {SECONDS:.0f} s") from None
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _object(received: _Received) -> Json:
    """Return the JSON object that was received. Raises ValueError."""
    if not received.headers.get("Content-Type", "").startswith("application/json"):
        raise ValueError("the answer is not JSON")
    value = json.loads(received.data)
    if not isinstance(value, dict):
        raise ValueError("the answer is not an object")
    return value


def _refusal(received: _Received) -> Exception:
    """Return what an answer with an error says, if it is the service's: a login page may have any status."""
    wait = received.headers.get("Retry-After", "")
    try:
        said = _object(received)
        message = (
            "; ".join(said.get("errorDetail", ()))
            or said.get("errorMessage")
            or said["message"]
        )
        code = said["errorCode"]
    except (ValueError, TypeError, LookupError):
        return Unreachable(f"status {received.status}, not of the service")
    request_id = received.headers.get("X-Request-Id", "")
    return Refused(
        received.status,
        code,
        message,
        request_id,
        float(wait) if wait.isdigit() else None,
    )


def _fresh(received: _Received) -> int:
    """Return for how many seconds an answer needs no request: its max-age, less the time that it lay in a CDN."""
    found = re.search(
        r"max-age=([0-9]{1,9})", received.headers.get("Cache-Control", "")
    )
    age = received.headers.get("Age", "")
    return (int(found[1]) if found else 0) - (int(age) if age.isdigit() else 0)


def _loaded(file: Path, form: Callable[[Json], Any]) -> Json | None:
    """Return a copy; None where there is none, or it is damaged."""
    try:
        copy: Json = json.loads(file.read_bytes())
        form(copy["value"])
        return copy if {"etag", "at", "until"} <= copy.keys() else None
    except (OSError, *NOT_AS_PROMISED):
        return None


def _store(file: Path, copy: Json) -> None:
    """Replace a copy by one rename, so that no reader sees half of it. A disk that is full makes no answer an error."""
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(dir=file.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as open_file:
                json.dump(copy, open_file)
            os.replace(draft, file)
        except OSError:
            os.unlink(draft)
