"""Objects at a target that the machines of one build pass on to each other
(`cluster.relay.RunObjects`).

They are for a run alone: nobody serves them, and nobody names them in a release.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from shopwindow.delivery.bucket import Bucket, Headers
from shopwindow.delivery.opening import opened
from shopwindow.delivery.targets import DeliveryTarget

_PASSED_HEADERS = Headers("application/octet-stream", "private, no-store")


@dataclass(frozen=True)
class TargetObjects:
    """Objects at a target, as a value that can be pickled.

    Each process opens the target when it needs it, with the credentials in its own
    environment, so that no secret travels.
    """

    target: DeliveryTarget

    @property
    def where(self) -> str:
        return str(self.target)

    def read(self, key: str) -> bytes | None:
        stored = self._bucket.read(key)
        return stored.data if stored else None

    def stream(self, key: str) -> Iterator[bytes] | None:
        return self._bucket.stream(key)

    def create(self, key: str, body: bytes | Path) -> None:
        """Store bytes, or a file. The store refuses a key that is taken; since nobody
        else uses it, an earlier attempt of this request has stored them then.
        """
        self._bucket.create(key, body, _PASSED_HEADERS)

    def delete(self, keys: Iterable[str]) -> None:
        self._bucket.delete(keys)

    def folders(self) -> list[str]:
        return self._bucket.folders("")

    def listing(self, prefix: str) -> Iterator[tuple[str, datetime]]:
        return ((one.key, one.modified) for one in self._bucket.listing(prefix))

    @property
    def _bucket(self) -> Bucket:
        return _opened_once(self.target)


@lru_cache(maxsize=4)
def _opened_once(target: DeliveryTarget) -> Bucket:
    return opened(target, os.environ)
