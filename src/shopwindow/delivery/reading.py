"""Reads objects of a source, again where their bytes are not right."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from shopwindow.delivery.bucket import Bucket
from shopwindow.delivery.source import PullFault, faults

READINGS = 4
"""How often bytes are asked for that come shortened or changed. A request that fails or
breaks off is repeated by the library (`bucket`). Of a source that spoils every fifth
answer, one object in 600 fails, and then the next attempt of a host goes on.
"""


@dataclass(frozen=True)
class Fetched:
    """What was read from a source: requests, and the bytes that they returned."""

    requests: int = 0
    size: int = 0

    def __add__(self, other: "Fetched") -> "Fetched":
        return Fetched(self.requests + other.requests, self.size + other.size)


def read_right(
    bucket: Bucket,
    key: str,
    read: Callable[[], bytes | None],
    is_right: Callable[[bytes], bool],
) -> bytes:
    """Return bytes of an object that are right, after several readings at most.

    The pause before the second reading is the bucket's; it doubles. ``read`` returns
    None where there is no such object. Raises PullFault.
    """
    for reading in range(READINGS):
        if reading:
            time.sleep(bucket.pause * 2 ** (reading - 1))
        with faults("source"):
            data = read()
        if data is None:
            raise PullFault("damaged", f"{bucket.where}: {key} is missing")
        if is_right(data):
            return data
    raise PullFault("damaged", f"{bucket.where}: {key} is not what was sent")
