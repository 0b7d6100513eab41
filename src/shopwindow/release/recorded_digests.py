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


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None
