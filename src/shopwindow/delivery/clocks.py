"""What time it is at a store, as each of its answers says.

S3 refuses requests that were signed a quarter of an hour ago, or in the future. Azure
refuses old ones only, and Google looks at tokens, not at requests. So their time is
asked for.
"""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

ANSWER_SECONDS = 3.0
"""How long an answer may take. Without one, clocks are not compared: whatever comes
next says that the store is not reached.
"""


def time_at(address: str) -> datetime | None:
    """Return the time in the `Date` of an answer (RFC 9110 §6.6.1); None: there is none.

    ``address``: begins with https: or http:. No credentials are sent, for an answer that
    refuses has a date, too.
    """
    parts = urlsplit(address)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    try:
        connection = kind(parts.netloc, timeout=ANSWER_SECONDS)
        try:
            connection.request("HEAD", parts.path or "/")
            date = connection.getresponse().headers["Date"]
        finally:
            connection.close()
        return parsedate_to_datetime(date).astimezone(UTC)
    except (OSError, HTTPException, ValueError, TypeError):
        return None
