"""Schemas as files, and which files of content each of them is for."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from shopwindow.editor.schemas import Association

ASSOCIATIONS_FILE = "associations.json"
"""Beside the schemas: what the setting `yaml.schemas` of a language server has to say.
"""


def schema_files(listed: Iterable[Association]) -> dict[str, bytes]:
    """Return the files of some schemas: name → bytes."""
    return {f"{each.name}.json": orjson.dumps(each.schema) + b"\n" for each in listed}


def patterns(
    listed: Iterable[Association], folder: str, content: str
) -> dict[str, list[str]]:
    """Return the setting `yaml.schemas`: a schema's path, relative to the repository,
    and the files that it is for.
    """
    result = {}
    for each in listed:
        globs = [
            f"!{content}/{pattern[1:]}"
            if pattern.startswith("!")
            else f"{content}/{pattern}"
            for pattern in each.patterns
        ]
        result[f"./{folder}/{each.name}.json"] = globs
    return result


def encoded(value: Any) -> bytes:
    """Return JSON as a person reads it."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def write_schemas(
    folder: Path, listed: Iterable[Association], root: Path, content: str
) -> list[Path]:
    """Write schemas and ASSOCIATIONS_FILE to a folder; return the paths.

    Paths in ASSOCIATIONS_FILE are relative to ``root``, the folder that an editor
    opens, and ``content`` is the name of the content folder in it.
    """
    listed = list(listed)
    relative = os.path.relpath(folder.absolute(), root).replace(os.sep, "/")
    files = schema_files(listed)
    files[ASSOCIATIONS_FILE] = encoded(patterns(listed, relative, content))
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]
