"""Client applications: from the API key of a request to the application's name.

A release has only digests of the keys, so this module never knows a key that no client
sends.
"""

from hashlib import sha256

from shopwindow.content.documents.documents import Content
from shopwindow.interface.declaring.interface import Interface


class Clients:
    """The digests of all keys of one release, each with its application."""

    def __init__(self, interface: Interface, content: Content) -> None:
        self._by_digest = {
            digest: name
            for name, digests in interface.keys(content).items()
            for digest in digests
        }

    def application(self, key: str | None) -> str | None:
        """Return the application that a key belongs to; None for a missing or unknown
        key.
        """
        if not key:
            return None
        return self._by_digest.get(
            sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
        )
