"""Client applications: the API key of a request → the application, by digest."""

from hashlib import sha256

from vitrine.content.model import Content


class Clients:
    """The keys of one release. Keys themselves are nowhere; a key that is not 24 characters is simply unknown."""

    def __init__(self, content: Content) -> None:
        self._by_digest = {
            digest: name for name in content.applications() for digest in content.application(name)["apiKeys"]
        }

    def application(self, key: str | None) -> str | None:
        """The application that a key belongs to, or None."""
        if not key:
            return None
        return self._by_digest.get(sha256(key.encode("utf-8", "surrogateescape")).hexdigest())
