"""What a request may end with instead of an answer."""

from dataclasses import dataclass

import httpx


class Unreachable(Exception):
    """The service did not answer in time, or could not: try again later."""


@dataclass
class Refused(Exception):
    """The service refused a request.

    Attributes:
        status: the HTTP status.
        code: the service's errorCode; 0 where the body has none.
        details: one sentence for each fault.
        request_id: what to name when asking the service's operators.
        retry_after: seconds to wait before the next attempt; None: repeating it does not help.
    """

    status: int
    code: int
    message: str
    details: tuple[str, ...] = ()
    request_id: str = ""
    retry_after: float | None = None

    def __str__(self) -> str:
        reasons = "; ".join(self.details) or self.message
        return f"{self.status}: {reasons} (request {self.request_id})"


def refused(response: httpx.Response) -> Refused:
    """Return what an answer with an error says, whoever has sent it."""
    try:
        body = response.json()
    except ValueError:
        body = None
    said = body if isinstance(body, dict) else {}
    message = said.get("message") or said.get("errorMessage") or response.reason_phrase
    wait = response.headers.get("Retry-After", "")
    return Refused(
        status=response.status_code,
        code=int(said.get("errorCode", 0)),
        message=str(message),
        details=tuple(map(str, said.get("errorDetail", ()))),
        request_id=response.headers.get("X-Request-Id", ""),
        retry_after=float(wait) if wait.isdigit() else None,
    )
