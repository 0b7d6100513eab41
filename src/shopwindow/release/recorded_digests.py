"""The digests in a release's build.json, of files that its manifest does not list."""

import re
from typing import Any


def index_note(note: dict[str, Any], index: str) -> dict[str, Any]:
    """Return what a release's build.json says of an index; empty where it names no
    digest.

    Its ``sha256`` (hex) is the digest of the index's file. That stands here and not in
    the manifest, because the bytes depend on the SQLite that wrote them.
    """
    part = note.get(index)
    return part if isinstance(part, dict) and _is_digest(part.get("sha256")) else {}


def compressed_digests(note: dict[str, Any]) -> dict[str, str]:
    """Return the digests (hex) of a release's .gz files, by path below files/.

    Only releases of older programs have such files; their build.json lists them, each
    with its digest and size. A list that is damaged counts as none.
    """
    part = note.get("gzip")
    if not isinstance(part, dict) or not all(map(_is_digest_and_size, part.values())):
        return {}
    return {path: digest for path, (digest, _) in part.items()}


def _is_digest_and_size(value: Any) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    return _is_digest(value[0]) and isinstance(value[1], int)


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None
