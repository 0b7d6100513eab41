"""Notes: small files of JSON beside the releases of an output directory."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson


def read(path: Path) -> dict[str, Any]:
    """Return the object that a note holds; empty where there is none to be read."""
    try:
        value = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write(path: Path, value: dict[str, Any]) -> None:
    """Put a note in the place of the one before, by one rename. Raises OSError."""
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        draft.write_bytes(orjson.dumps(value) + b"\n")
        # A command that takes the lock meanwhile clears drafts up; the next attempt
        # writes the note.
        with suppress(FileNotFoundError):
            os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
