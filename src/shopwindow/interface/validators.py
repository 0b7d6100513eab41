"""By what a cache knows an answer again (validators, RFC 9110 §8.8): the same from file and
service, on every host.
"""

from hashlib import sha256


def modified(digest: bytes) -> int:
    """The modification time of a file with this SHA-256, in seconds: its first 31 bits."""
    return int.from_bytes(digest[:4], "big") >> 1


def etag(body: bytes) -> str:
    """What nginx makes of a file's modification time and size."""
    return f'"{modified(sha256(body).digest()):x}-{len(body):x}"'
