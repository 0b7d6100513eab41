"""An application's configuration, and a copy of it for when the service is away."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Configuration:
    """An application's configuration.

    Attributes:
        value: the whole answer of v2/utility/mobileapp.
        etag: identifies this state of it; empty: the service sent none.
        is_copy: it was read from the copy, for the service is away.
    """

    value: Mapping[str, Any]
    etag: str
    is_copy: bool

    def __getitem__(self, path: str) -> Any:
        """Return a value by its path, such as `poorNetwork/poorWifiMaxSecsLatency`. Raises KeyError."""
        part: Any = self.value
        for step in path.split("/"):
            if not isinstance(part, Mapping) or step not in part:
                raise KeyError(path)
            part = part[step]
        return part


class Copy:
    """The file that holds the last configuration of one application at one address."""

    def __init__(self, folder: Path, base_url: str, key: str) -> None:
        name = sha256(f"{base_url}\0{key}".encode()).hexdigest()[:20]
        self._file = folder / f"configuration-{name}.json"

    def load(self) -> Configuration | None:
        """Return the copy; None where there is none, or it is damaged."""
        try:
            stored = json.loads(self._file.read_bytes())
            return Configuration(stored["value"], stored["etag"], is_copy=True)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def store(self, configuration: Configuration) -> None:
        """Replace the copy by one rename, so that no reader sees half of it."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        stored = json.dumps({"etag": configuration.etag, "value": configuration.value})
        descriptor, draft = tempfile.mkstemp(dir=self._file.parent)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(stored)
        os.replace(draft, self._file)
