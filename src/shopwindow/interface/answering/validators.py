"""The validators of a response (RFC 9110 §8.8), by which a cache asks whether it has
changed.

They follow from the bytes alone, so nginx, which serves a file, and the service, on any
host, send the same ones.
"""

from hashlib import sha256


def modified(digest: bytes) -> int:
    """Return the modification time of a file with this SHA-256: its first 31 bits, as
    seconds.
    """
    return int.from_bytes(digest[:4], "big") >> 1


def etag(body: bytes) -> str:
    """Return the ETag that nginx makes of a file's modification time and size."""
    return f'"{modified(sha256(body).digest()):x}-{len(body):x}"'
