"""Client applications: the API key of a request → the application, by digest."""

from hashlib import sha256

from shopwindow.content.documents import Content
from shopwindow.interface.interface import Interface


class Clients:
    """The keys of one release. Keys themselves are nowhere; a key that is not 24 characters is
    simply unknown.
    """

    def __init__(self, interface: Interface, content: Content) -> None:
        self._by_digest = {
            digest: name
            for name, digests in interface.keys(content).items()
            for digest in digests
        }

    def application(self, key: str | None) -> str | None:
        """The application that a key belongs to, or None."""
        if not key:
            return None
        return self._by_digest.get(sha256(key.encode("utf-8", "surrogateescape")).hexdigest())
